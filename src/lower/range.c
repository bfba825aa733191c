/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Conjuncts that compare one column with constants: engines test them on
 *	  packed codes and zone maps.
 *
 * A constant need not be a value of the column's type: an int8 beyond int4, a
 * numeric with more digits than the column, a timestamp against a date.  Each
 * is brought to the column's own 64-bit order by rounding down and remembering
 * whether it was exact, which keeps every comparison exact.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "lower/lower.h"

typedef enum Comparison
{
	CMP_EQ,
	CMP_NE,
	CMP_LT,
	CMP_LE,
	CMP_GT,
	CMP_GE
} Comparison;

/* column OP constant */
typedef struct ColumnTest
{
	Var		   *var;
	Expr	   *constant;
	Comparison	cmp;
	Oid			const_type;		/* type of the constant or array element */
} ColumnTest;

/* Functions that compare a date with a timestamp. */
static const struct
{
	Oid			oid;
	Comparison	cmp;
}			cross_comparisons[] = {
	{F_DATE_EQ_TIMESTAMP, CMP_EQ},
	{F_DATE_NE_TIMESTAMP, CMP_NE},
	{F_DATE_LT_TIMESTAMP, CMP_LT},
	{F_DATE_LE_TIMESTAMP, CMP_LE},
	{F_DATE_GT_TIMESTAMP, CMP_GT},
	{F_DATE_GE_TIMESTAMP, CMP_GE},
	{F_TIMESTAMP_EQ_DATE, CMP_EQ},
	{F_TIMESTAMP_NE_DATE, CMP_NE},
	{F_TIMESTAMP_LT_DATE, CMP_LT},
	{F_TIMESTAMP_LE_DATE, CMP_LE},
	{F_TIMESTAMP_GT_DATE, CMP_GT},
	{F_TIMESTAMP_GE_DATE, CMP_GE},
};

/* Is this a user column of the table that is lowered? */
static Var *
as_column(GpucolLower *l, Expr *expr)
{
	Var		   *var = (Var *) expr;

	if (!IsA(expr, Var) || var->varno != (int) l->varno ||
		var->varlevelsup != 0 || var->varattno <= 0 ||
		TupleDescAttr(l->desc, var->varattno - 1)->attisdropped)
		return NULL;
	return var;
}

/* The comparison that a function makes, seen from its left operand. */
static bool
comparison_of(Oid funcid, Comparison *cmp)
{
	const GpucolFunction *f = gpucol_lower_function(funcid);

	if (f == NULL)
	{
		for (int i = 0; i < (int) lengthof(cross_comparisons); i++)
		{
			if (cross_comparisons[i].oid == funcid)
			{
				*cmp = cross_comparisons[i].cmp;
				return true;
			}
		}
		return false;
	}
	switch (f->op)
	{
		case GPUCOL_OP_EQ_I:
		case GPUCOL_OP_EQ_D:
		case GPUCOL_OP_EQ_F:
			*cmp = CMP_EQ;
			return true;
		case GPUCOL_OP_NE_I:
		case GPUCOL_OP_NE_D:
		case GPUCOL_OP_NE_F:
			*cmp = CMP_NE;
			return true;
		case GPUCOL_OP_LT_I:
		case GPUCOL_OP_LT_D:
		case GPUCOL_OP_LT_F:
			*cmp = f->swap ? CMP_GT : CMP_LT;
			return true;
		case GPUCOL_OP_LE_I:
		case GPUCOL_OP_LE_D:
		case GPUCOL_OP_LE_F:
			*cmp = f->swap ? CMP_GE : CMP_LE;
			return true;
		default:
			return false;
	}
}

/* constant OP column, as column OP constant */
static Comparison
mirror(Comparison cmp)
{
	switch (cmp)
	{
		case CMP_LT:
			return CMP_GT;
		case CMP_LE:
			return CMP_GE;
		case CMP_GT:
			return CMP_LT;
		case CMP_GE:
			return CMP_LE;
		default:
			return cmp;
	}
}

/*
 * Largest multiple of 10^-scale that is not above a numeric, as mantissa.
 * Values beyond every column are cut to 10^37.  NaN and Infinity are above every
 * column's values; NaN counts as exact, so that the column is read although no packed
 * decimal equals it: where it has NaN, the engine cannot answer.
 */
static __int128
floor_numeric(Datum value, int scale, bool *exact)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
	__int128	limit = gpucol_lower_power10(37);
	__int128	mantissa = 0;
	bool		negative = *text == '-';
	int			fraction = -1;	/* fractional digits seen; -1 = none yet */

	*exact = true;
	for (char *p = text + negative; *p; p++)
	{
		if (*p == '.')
			fraction = 0;
		else if (*p < '0' || *p > '9')
		{
			*exact = *p == 'N';
			mantissa = limit;
			break;
		}
		else if (fraction >= scale)
			*exact &= *p == '0';
		else
		{
			mantissa = Min(mantissa * 10 + (*p - '0'), limit);
			if (fraction >= 0)
				fraction++;
		}
	}
	for (fraction = Max(fraction, 0); fraction < scale; fraction++)
		mantissa = Min(mantissa * 10, limit);
	if (negative)
		mantissa = -mantissa - (*exact ? 0 : 1);
	return mantissa;
}

/* The date on or before a timestamp, as ordinal. */
static int64
floor_date(Timestamp timestamp, bool *exact)
{
	int64		day;

	*exact = true;
	if (TIMESTAMP_IS_NOBEGIN(timestamp))
		return DATEVAL_NOBEGIN;
	if (TIMESTAMP_IS_NOEND(timestamp))
		return DATEVAL_NOEND;
	day = timestamp / USECS_PER_DAY;
	if (timestamp % USECS_PER_DAY != 0)
	{
		*exact = false;
		if (timestamp < 0)
			day--;
	}
	return day;
}

/* Midnight of a date as timestamp ordinal; beyond the range, the infinity. */
static int64
midnight(DateADT date, bool *exact)
{
	*exact = true;
	if (DATE_IS_NOBEGIN(date))
		return DT_NOBEGIN;
	if (DATE_IS_NOEND(date))
		return DT_NOEND;
	if (date >= (TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE))
	{
		*exact = false;			/* above every finite timestamp */
		return DT_NOEND - 1;
	}
	return (int64) date * USECS_PER_DAY;
}

/*
 * Bring a constant to the order of a column: the greatest value of that order
 * that is not above it.
 */
static bool
floor_constant(GpucolLower *l, const GpucolTypeMap *map, Oid type, Datum value,
			   bool known, GpucolConst *c, bool *exact)
{
	int			scale;
	int			digits;

	*exact = true;
	memset(c, 0, sizeof(*c));
	if (map->kind == GPUCOL_KIND_DECIMAL)
	{
		__int128	mantissa = 0;

		if (known)
			mantissa = floor_numeric(value, map->scale, exact);
		c->cls = GPUCOL_CLASS_D;
		c->v.d.lo = (uint64) mantissa;
		c->v.d.hi = (int64) (mantissa >> 64);
		return true;
	}
	if (!gpucol_lower_datum(l, type, value, false, known, c, &scale, &digits))
		return false;
	if (c->cls == GPUCOL_CLASS_B)
		c->cls = GPUCOL_CLASS_I;
	if (known && map->type_oid == DATEOID && type == TIMESTAMPOID)
		c->v.i = floor_date(DatumGetTimestamp(value), exact);
	else if (known && map->type_oid == TIMESTAMPOID && type == DATEOID)
		c->v.i = midnight(DatumGetDateADT(value), exact);
	return true;
}

/* Restrict one end of the column's interval, in an existing range if free. */
static void
add_bound(GpucolLower *l, int column, const GpucolConst *c, bool upper,
		  bool open)
{
	GpucolRange *range = NULL;

	for (int i = 0; i < l->nranges && range == NULL; i++)
	{
		GpucolRange *r = &l->ranges[i];

		if (r->column == column && r->op == GPUCOL_RANGE_BETWEEN &&
			(upper ? r->hi : r->lo) == GPUCOL_NO_REG)
			range = r;
	}
	if (range == NULL)
		range = gpucol_lower_add_range(l, column, GPUCOL_RANGE_BETWEEN);
	if (upper)
		range->hi = gpucol_lower_add_const(l, c);
	else
		range->lo = gpucol_lower_add_const(l, c);
	if (open)
		range->flags |= upper ? GPUCOL_RANGE_HI_OPEN : GPUCOL_RANGE_LO_OPEN;
}

/* Restrict the column to one value, or to the others. */
static void
add_point(GpucolLower *l, int column, const GpucolConst *c, bool equal)
{
	GpucolRange *range;
	uint16		number = gpucol_lower_add_const(l, c);

	range = gpucol_lower_add_range(l, column, equal ? GPUCOL_RANGE_BETWEEN :
								   GPUCOL_RANGE_NOT_BETWEEN);
	range->lo = number;
	range->hi = number;
}

/* Add the range of "column cmp c", c being exact or the value below. */
static void
add_comparison(GpucolLower *l, int column, Comparison cmp, const GpucolConst *c,
			   bool exact)
{
	switch (cmp)
	{
		case CMP_EQ:
			if (exact)
				add_point(l, column, c, true);
			else
				l->never = true;
			break;
		case CMP_NE:
			if (exact)
				add_point(l, column, c, false);
			else
				gpucol_lower_add_range(l, column, GPUCOL_RANGE_IS_NOT_NULL);
			break;
		case CMP_LT:
			add_bound(l, column, c, true, exact);
			break;
		case CMP_LE:
			add_bound(l, column, c, true, false);
			break;
		case CMP_GT:
			add_bound(l, column, c, false, true);
			break;
		case CMP_GE:
			add_bound(l, column, c, false, !exact);
			break;
	}
}

/* The program column of a test; false if its kind has no ranges. */
static bool
test_column(GpucolLower *l, Var *var, int *column)
{
	*column = gpucol_lower_column(l, var->varattno);
	if (l->maps[*column].kind == GPUCOL_KIND_BYTES)
		return gpucol_lower_decline(l, "type %s has no fixed-width values",
									format_type_be(var->vartype));
	return true;
}

/* column OP constant, in either order */
static bool
lower_comparison(GpucolLower *l, OpExpr *op)
{
	ColumnTest	test;
	Expr	   *left = linitial(op->args);
	Expr	   *right;
	GpucolConst c;
	Datum		value;
	bool		isnull;
	bool		known;
	bool		exact;
	int			column;

	if (list_length(op->args) != 2 ||
		!comparison_of(gpucol_lower_enum_function(op->opfuncid, op->args), &test.cmp))
		return false;
	right = lsecond(op->args);
	if ((test.var = as_column(l, left)) != NULL && gpucol_lower_is_constant(right))
		test.constant = right;
	else if ((test.var = as_column(l, right)) != NULL &&
			 gpucol_lower_is_constant(left))
	{
		test.constant = left;
		test.cmp = mirror(test.cmp);
	}
	else
		return false;
	test.const_type = getBaseType(exprType((Node *) test.constant));
	if (!test_column(l, test.var, &column))
		return false;
	known = gpucol_lower_eval(l, test.constant, &value, &isnull);
	if (isnull)
	{
		l->never = true;
		return true;
	}
	if (!floor_constant(l, &l->maps[column], test.const_type, value, known, &c,
						&exact))
		return false;
	add_comparison(l, column, test.cmp, &c, exact);
	return true;
}

static int
compare_consts(const void *a, const void *b)
{
	const GpucolConst *x = a;
	const GpucolConst *y = b;

	switch (x->cls)
	{
		case GPUCOL_CLASS_D:
			if (x->v.d.hi != y->v.d.hi)
				return x->v.d.hi < y->v.d.hi ? -1 : 1;
			return x->v.d.lo < y->v.d.lo ? -1 : x->v.d.lo > y->v.d.lo;
		case GPUCOL_CLASS_F:
			return float8_cmp_internal(x->v.f, y->v.f);
		default:
			return x->v.i < y->v.i ? -1 : x->v.i > y->v.i;
	}
}

/*
 * Collect the non-null elements of an array that the column can equal,
 * ascending and distinct.  Returns their number or -1; *has_null as said.
 */
static int
array_constants(GpucolLower *l, int column, Datum array, GpucolConst **out,
				bool *has_null)
{
	ArrayType  *arr = DatumGetArrayTypeP(array);
	Oid			type = ARR_ELEMTYPE(arr);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;
	int			n = 0;
	int			distinct = 0;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(arr, type, typlen, typbyval, typalign, &values, &nulls,
					  &nvalues);
	*has_null = false;
	*out = palloc(Max(nvalues, 1) * sizeof(GpucolConst));
	for (int i = 0; i < nvalues; i++)
	{
		bool		exact;

		if (nulls[i])
		{
			*has_null = true;
			continue;
		}
		if (!floor_constant(l, &l->maps[column], getBaseType(type), values[i],
							true, &(*out)[n], &exact))
			return -1;
		if (exact)
			n++;
	}
	qsort(*out, n, sizeof(GpucolConst), compare_consts);
	for (int i = 0; i < n; i++)
	{
		if (distinct == 0 ||
			compare_consts(&(*out)[distinct - 1], &(*out)[i]) != 0)
			(*out)[distinct++] = (*out)[i];
	}
	return distinct;
}

/* Number of elements of an array, NULLs included. */
static int
count_elements(Datum array)
{
	ArrayType  *arr = DatumGetArrayTypeP(array);

	return ArrayGetNItems(ARR_NDIM(arr), ARR_DIMS(arr));
}

/* The range of "column [NOT] IN (constants)". */
static bool
add_in(GpucolLower *l, int column, bool in, GpucolConst *consts, int n)
{
	GpucolRange *range;

	if (n > GPUCOL_LOWER_MAX_IN)
		return gpucol_lower_decline(l, "IN list has more than %d values",
									GPUCOL_LOWER_MAX_IN);
	if (n == 0)
	{
		if (in)
			l->never = true;
		else
			gpucol_lower_add_range(l, column, GPUCOL_RANGE_IS_NOT_NULL);
		return true;
	}
	range = gpucol_lower_add_range(l, column, in ? GPUCOL_RANGE_IN :
								   GPUCOL_RANGE_NOT_IN);
	range->lo = l->nconsts;
	range->n = n;
	for (int i = 0; i < n; i++)
		gpucol_lower_add_const(l, &consts[i]);
	return true;
}

/*
 * column = ANY (array) and column <> ALL (array).  An empty array decides for
 * every row, NULL ones included; a NULL array or, in NOT IN, a NULL element
 * leaves nothing that is true.
 */
static bool
lower_in(GpucolLower *l, ScalarArrayOpExpr *op)
{
	Var		   *var = as_column(l, linitial(op->args));
	Expr	   *array = lsecond(op->args);
	Comparison	cmp;
	GpucolConst *consts;
	Datum		value;
	bool		isnull;
	bool		has_null;
	int			column;
	int			n;

	if (var == NULL || !gpucol_lower_is_constant(array) ||
		!comparison_of(op->opfuncid, &cmp) ||
		cmp != (op->useOr ? CMP_EQ : CMP_NE))
		return false;
	if (!test_column(l, var, &column))
		return false;
	if (!gpucol_lower_eval(l, array, &value, &isnull))
	{
		GpucolConst placeholder;
		Oid			type = get_element_type(exprType((Node *) array));

		return floor_constant(l, &l->maps[column], getBaseType(type), 0, false,
							  &placeholder, &has_null) &&
			add_in(l, column, op->useOr, &placeholder, 1);
	}
	if (isnull)
	{
		l->never = true;
		return true;
	}
	if (count_elements(value) == 0)
	{
		l->never |= op->useOr;
		return true;
	}
	n = array_constants(l, column, value, &consts, &has_null);
	if (n < 0)
		return false;
	if (has_null && !op->useOr)
	{
		l->never = true;
		return true;
	}
	return add_in(l, column, op->useOr, consts, n);
}

/* column IS [NOT] NULL */
static bool
lower_null_test(GpucolLower *l, NullTest *test)
{
	Var		   *var = as_column(l, test->arg);

	if (var == NULL || test->argisrow)
		return false;
	gpucol_lower_add_range(l, gpucol_lower_column(l, var->varattno),
						   test->nulltesttype == IS_NULL ?
						   GPUCOL_RANGE_IS_NULL : GPUCOL_RANGE_IS_NOT_NULL);
	return true;
}

/* A boolean column, or its negation, as conjunct. */
static bool
lower_bool_column(GpucolLower *l, Expr *expr, bool wanted)
{
	Var		   *var = as_column(l, expr);
	GpucolConst c;
	int			column;

	if (var == NULL || var->vartype != BOOLOID ||
		!test_column(l, var, &column))
		return false;
	memset(&c, 0, sizeof(c));
	c.cls = GPUCOL_CLASS_I;
	c.v.i = wanted;
	add_point(l, column, &c, true);
	return true;
}

/* A conjunct over one BYTES column that PostgreSQL tests for us. */
static bool
lower_host_range(GpucolLower *l, Expr *clause)
{
	int			column;
	int			id;

	if (!gpucol_lower_host(l, clause, &column, &id))
		return false;
	gpucol_lower_add_range(l, column, GPUCOL_RANGE_HOST)->n = id;
	return true;
}

/*
 * Lower a conjunct as a range.  False without a reason of its own if it has
 * another shape.
 */
bool
gpucol_lower_range(GpucolLower *l, Expr *clause)
{
	switch (nodeTag(clause))
	{
		case T_Var:
			return lower_bool_column(l, clause, true);
		case T_BoolExpr:
			if (((BoolExpr *) clause)->boolop == NOT_EXPR &&
				lower_bool_column(l, linitial(((BoolExpr *) clause)->args), false))
				return true;
			break;
		case T_BooleanTest:
			if (((BooleanTest *) clause)->booltesttype == IS_TRUE ||
				((BooleanTest *) clause)->booltesttype == IS_FALSE)
				return lower_bool_column(l, ((BooleanTest *) clause)->arg,
										 ((BooleanTest *) clause)->booltesttype == IS_TRUE);
			return false;
		case T_NullTest:
			if (lower_null_test(l, (NullTest *) clause))
				return true;
			break;
		case T_OpExpr:
			if (lower_comparison(l, (OpExpr *) clause))
				return true;
			break;
		case T_ScalarArrayOpExpr:
			if (lower_in(l, (ScalarArrayOpExpr *) clause))
				return true;
			break;
		default:
			break;
	}
	return lower_host_range(l, clause);
}
