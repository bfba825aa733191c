/*-------------------------------------------------------------------------
 *
 * batch_compare.c
 *	  Columns of batches compared with constants.
 *
 * `year = 2001 AND kind = 's' AND total > 0` above rows that are kept is evaluated by a loop for each comparison,
 * where PostgreSQL would form datums and interpret an expression for each row.
 *
 * Compared are integers, dates and times as words, decimals as mantissas of the batch's scale, and, for equality,
 * values that are equal only if their bytes are.  These comparisons raise no error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "exec/batch_compare.h"

/* Of which outcomes of a comparison rows pass. */
#define LESS	1
#define EQUAL	2
#define GREATER	4

struct GpucolBatchCompare
{
	int			column;
	int			passing;
	Datum		value;
	GpucolTypeMap map;			/* of its type */
	GpucolClass cls;			/* of columns that it is compared with: */
	int64		word;			/* I; D: the mantissa */
	GpucolBytes bytes;			/* S */
};

/* The column that an expression is, perhaps one of type varchar as text. */
static const Var *
column_of(const Node *expr, int varno)
{
	const Var  *var = (const Var *) expr;

	if (IsA(expr, RelabelType) && exprType(expr) == TEXTOID)
		var = (const Var *) ((const RelabelType *) expr)->arg;
	return IsA(var, Var) && var->varno == varno && var->varattno > 0 &&
		(expr == (const Node *) var || var->vartype == VARCHAROID) ? var : NULL;
}

/* Of which outcomes of a comparison by an operator of a type rows pass; 0: it is no such operator. */
static int
passing_of(Oid operator, Oid type)
{
	const TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_EQ_OPR);

	if (!OidIsValid(cache->btree_opf))
		return 0;
	if (OidIsValid(cache->eq_opr) && get_negator(cache->eq_opr) == operator)
		return LESS | GREATER;
	switch (get_op_opfamily_strategy(operator, cache->btree_opf))
	{
		case BTLessStrategyNumber:
			return LESS;
		case BTLessEqualStrategyNumber:
			return LESS | EQUAL;
		case BTEqualStrategyNumber:
			return EQUAL;
		case BTGreaterEqualStrategyNumber:
			return EQUAL | GREATER;
		case BTGreaterStrategyNumber:
			return GREATER;
		default:
			return 0;
	}
}

/* Is a type's order that of its words? */
static bool
is_of_words(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == DATEOID || type == TIMESTAMPOID ||
		type == TIMESTAMPTZOID;
}

/* Have what a column is compared with; false where it cannot be here. */
static bool
take_constant(GpucolBatchCompare *compare, const Const *constant, Oid collation)
{
	GpucolOutput output;
	GpucolResultColumn column;
	bool		isnull = false;

	gpucol_typemap_init(&compare->map, constant->consttype, -1, collation);
	compare->value = constant->constvalue;
	if (constant->consttype == NUMERICOID)
	{
		compare->cls = GPUCOL_CLASS_D;
		compare->map.kind = GPUCOL_KIND_DECIMAL;
		compare->map.scale = -1;
		return true;
	}
	output.map = compare->map;
	gpucol_result_column_of(&compare->value, &isnull, 1, &output, &column);
	compare->cls = output.cls;
	if (output.cls == GPUCOL_CLASS_I)
	{
		compare->word = column.i[0];
		return is_of_words(constant->consttype);
	}
	compare->bytes = column.s[0];
	return output.cls == GPUCOL_CLASS_S && compare->map.bytewise_equal &&
		(compare->passing == EQUAL || compare->passing == (LESS | GREATER));
}

GpucolBatchCompare *
gpucol_batch_compare_of(const Expr *condition, int varno)
{
	const OpExpr *op = (const OpExpr *) condition;
	GpucolBatchCompare *compare;
	const Var  *var;
	const Const *constant;
	Oid			operator;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	operator = op->opno;
	var = column_of(linitial(op->args), varno);
	constant = lsecond(op->args);
	if (var == NULL)
	{
		operator = get_commutator(operator);
		var = column_of(lsecond(op->args), varno);
		constant = linitial(op->args);
	}
	if (var == NULL || !OidIsValid(operator) || !IsA(constant, Const) || constant->constisnull ||
		exprType(linitial(op->args)) != exprType(lsecond(op->args)))
		return NULL;
	compare = palloc0(sizeof(GpucolBatchCompare));
	compare->column = var->varattno - 1;
	compare->passing = passing_of(operator, constant->consttype);
	return compare->passing != 0 && take_constant(compare, constant, op->inputcollid) ? compare : NULL;
}

bool
gpucol_batch_compare_fits(GpucolBatchCompare *compare, const GpucolBatch *batch)
{
	const GpucolOutput *output = &batch->outputs[compare->column];

	if (output->cls != compare->cls || output->labels != NULL || output->scale > PG_INT8_MAX)
		return false;
	if (output->cls != GPUCOL_CLASS_D || output->scale == compare->map.scale)
		return true;
	compare->map.scale = output->scale;
	if (gpucol_typemap_to_int64(&compare->map, compare->value, &compare->word))
		return true;
	compare->map.scale = -1;
	return false;
}

/* One loop for each kind of values; `outcome` compares value i with the constant. */
#define CHOOSE(outcome) \
	for (uint32 at = 0; at < n; at++) \
	{ \
		uint32		i = rows[at]; \
\
		rows[passed] = i; \
		passed += (nulls == NULL || !nulls[i]) && (compare->passing & (outcome)) != 0; \
	}

/* LESS, EQUAL or GREATER. */
#define OUTCOME(value, bound) \
	(1 << (((value) > (bound)) - ((value) < (bound)) + 1))

uint32
gpucol_batch_compare(const GpucolBatchCompare *compare, const GpucolBatch *batch, uint32 *rows, uint32 n)
{
	const GpucolResultColumn *column = &batch->columns[compare->column];
	const uint8_t *nulls = column->nulls;
	int64		word = compare->word;
	GpucolBytes bytes = compare->bytes;
	uint32		passed = 0;

	if (compare->cls == GPUCOL_CLASS_I)
		CHOOSE(OUTCOME(column->i[i], word))
	else if (compare->cls == GPUCOL_CLASS_D)
		CHOOSE(OUTCOME(column->d[i], word))
	else
		CHOOSE(column->s[i].len == bytes.len && memcmp(column->s[i].data, bytes.data, bytes.len) == 0 ? EQUAL : LESS)
	return passed;
}
