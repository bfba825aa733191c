/*-------------------------------------------------------------------------
 *
 * first.c
 *	  Which groups are wanted, in an engine's terms: HAVING and ORDER BY ... LIMIT.
 *
 * The engine may leave out what is not wanted; HAVING is evaluated and the groups are
 * sorted above all the same.  So a conjunct of HAVING that an engine does not know only
 * means that the first groups are not sought, because those that it leaves are not known
 * before, and a sort key that it does not know ends the keys: what ties is delivered.  Where tests are
 * all of HAVING the node makes them itself, and PostgreSQL need not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "columnar/collation.h"
#include "exec/first.h"
#include "lower/order.h"
#include "plan/plan.h"

/* What of a final is in the order of its datums; 0: nothing. */
static int
by_final(const GpucolFinal *final)
{
	if (final->low_state >= 0)
		return 0;
	switch (final->kind)
	{
		case GPUCOL_FINAL_COUNT:
			return GPUCOL_FIRST_COUNT;
		case GPUCOL_FINAL_DISTINCT:
			return GPUCOL_FIRST_DISTINCT;
		case GPUCOL_FINAL_SUM_INT8:
		case GPUCOL_FINAL_SUM_NUMERIC:
		case GPUCOL_FINAL_SUM_FLOAT4:
		case GPUCOL_FINAL_SUM_FLOAT8:
			return GPUCOL_FIRST_SUM;
		case GPUCOL_FINAL_AVG_NUMERIC:
		case GPUCOL_FINAL_AVG_FLOAT8:
			return GPUCOL_FIRST_AVERAGE;
		case GPUCOL_FINAL_VALUE:
			return final->cls == GPUCOL_CLASS_D || final->cls == GPUCOL_CLASS_F ||
				(final->cls == GPUCOL_CLASS_I && gpucol_order_is_ordinal(final->type)) ?
				GPUCOL_FIRST_VALUE : 0;
		default:
			return 0;
	}
}

/* Is the engine's order of a key that of its type? */
static bool
key_is_ordered(const GpucolGroupKey *key)
{
	Oid			type = exprType((Node *) key->expr);

	if (key->output < 0 || key->labels != NULL)
		return false;
	switch (key->value.cls)
	{
		case GPUCOL_CLASS_B:
		case GPUCOL_CLASS_I:
			return gpucol_order_is_ordinal(type);
		case GPUCOL_CLASS_D:
			return !key->value.packed;
		case GPUCOL_CLASS_F:
			return true;
		case GPUCOL_CLASS_S:
			return (type == TEXTOID || type == VARCHAROID) &&
				gpucol_collation_is_bytewise(exprCollation((Node *) key->expr));
		default:
			return false;
	}
}

/* What the scan tuple's column number `place` is to an engine; false if it is nothing to compare. */
static bool
find_value(const GpucolGroupPlan *plan, int place, uint16 *by, uint16 *number)
{
	const GpucolFinal *final;

	if (place < plan->nkeys)
	{
		*by = GPUCOL_FIRST_KEY;
		*number = (uint16) plan->keys[place].output;
		return key_is_ordered(&plan->keys[place]);
	}
	if (place >= plan->nkeys + plan->naggs)
		return false;
	final = &plan->finals[place - plan->nkeys];
	*by = (uint16) by_final(final);
	*number = (uint16) final->state;
	return *by != 0 && final->host == GPUCOL_HOST_NONE;
}

/* A constant integer. */
static bool
integer_constant(const Node *node, int64 *value)
{
	const Const *constant = (const Const *) node;

	if (!IsA(node, Const) || constant->constisnull)
		return false;
	switch (constant->consttype)
	{
		case INT2OID:
			*value = DatumGetInt16(constant->constvalue);
			return true;
		case INT4OID:
			*value = DatumGetInt32(constant->constvalue);
			return true;
		case INT8OID:
			*value = DatumGetInt64(constant->constvalue);
			return true;
		default:
			return false;
	}
}

/* A constant as the integers that enclose it, which are the same if it is one. */
typedef struct Bound
{
	int64		floor;
	int64		ceil;
} Bound;

/* A constant of type numeric in units of 10^-scale; false if it has too many digits. */
static bool
numeric_constant(const Node *node, int scale, Bound *bound)
{
	const Const *constant = (const Const *) node;
	GpucolNumericDigits counted;
	Datum		product;

	if (!IsA(node, Const) || constant->constisnull || constant->consttype != NUMERICOID)
		return false;
	gpucol_typemap_numeric_digits(constant->constvalue, &counted);
	if (!counted.finite || counted.whole + scale > 17)
		return false;
	product = DirectFunctionCall2(numeric_mul, constant->constvalue,
								  gpucol_typemap_numeric(gpucol_lower_power10(scale), 0));
	bound->floor = DatumGetInt64(DirectFunctionCall1(numeric_int8, DirectFunctionCall1(numeric_floor, product)));
	bound->ceil = DatumGetInt64(DirectFunctionCall1(numeric_int8, DirectFunctionCall1(numeric_ceil, product)));
	return true;
}

/* The values that `strategy` lets pass; false if it is none of the five. */
static bool
set_bounds(int strategy, Bound bound, GpucolFirstTest *test)
{
	test->lo = PG_INT64_MIN;
	test->hi = PG_INT64_MAX;
	switch (strategy)
	{
		case BTLessStrategyNumber:
			test->hi = bound.ceil - 1;
			return bound.ceil > PG_INT64_MIN;
		case BTLessEqualStrategyNumber:
			test->hi = bound.floor;
			return true;
		case BTEqualStrategyNumber:
			test->lo = bound.ceil;
			test->hi = bound.floor;
			return true;
		case BTGreaterEqualStrategyNumber:
			test->lo = bound.ceil;
			return true;
		case BTGreaterStrategyNumber:
			test->lo = bound.floor + 1;
			return bound.floor < PG_INT64_MAX;
		default:
			return false;
	}
}

/*
 * A constant beside an aggregate, in the units of its state.  Averages are about right only
 * and do for an order, but not here.
 */
static bool
find_bound(const GpucolGroupPlan *plan, const Var *var, const Node *constant, Bound *bound)
{
	const GpucolFinal *final = &plan->finals[var->varattno - 1 - plan->nkeys];

	if (var->vartype == NUMERICOID)
		return (final->cls == GPUCOL_CLASS_D || final->cls == GPUCOL_CLASS_I) &&
			(by_final(final) == GPUCOL_FIRST_SUM || by_final(final) == GPUCOL_FIRST_VALUE) &&
			numeric_constant(constant, final->cls == GPUCOL_CLASS_D ? final->scale : 0, bound);
	if (!integer_constant(constant, &bound->floor))
		return false;
	bound->ceil = bound->floor;
	return true;
}

/* The family of a type's comparisons with constants, or InvalidOid. */
static Oid
family_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return INTEGER_BTREE_FAM_OID;
		case NUMERICOID:
			return lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
		default:
			return InvalidOid;
	}
}

/* A conjunct of HAVING as a test: count, a sum of numbers and the like against a constant. */
static bool
make_test(const GpucolGroupPlan *plan, Node *node, GpucolFirstTest *test)
{
	const OpExpr *op = (const OpExpr *) node;
	Oid			opno;
	const Var  *var;
	const Node *constant;
	Bound		bound;

	if (!IsA(node, OpExpr) || list_length(op->args) != 2)
		return false;
	var = linitial(op->args);
	constant = lsecond(op->args);
	opno = op->opno;
	if (!IsA(var, Var))
	{
		var = lsecond(op->args);
		constant = linitial(op->args);
		opno = get_commutator(opno);
	}
	if (!OidIsValid(opno) || !IsA(var, Var) || !OidIsValid(family_of(var->vartype)) ||
		var->varattno <= plan->nkeys ||
		!find_value(plan, var->varattno - 1, &test->by, &test->number) ||
		!find_bound(plan, var, constant, &bound))
		return false;
	return set_bounds(get_op_opfamily_strategy(opno, family_of(var->vartype)), bound, test);
}

/*
 * Add the order; the keys end before the first that an engine cannot compare.  Without any from
 * the start any groups will do.
 */
static bool
add_order(const GpucolGroupPlan *plan, List *wanted, GpucolFirst *first)
{
	List	   *places = list_nth(wanted, GPUCOL_FIRST_PRIVATE_PLACES);

	first->k = intVal(list_nth(wanted, GPUCOL_FIRST_PRIVATE_LIMIT));
	first->all_ties = intVal(list_nth(wanted, GPUCOL_FIRST_PRIVATE_ALL_TIES)) != 0;
	for (int i = 0; i < list_length(places); i++)
	{
		GpucolFirstKey *key = &first->keys[first->nkeys];

		if (first->nkeys == GPUCOL_FIRST_MAX_KEYS ||
			!find_value(plan, list_nth_int(places, i), &key->by, &key->number))
		{
			first->all_ties = true;
			break;
		}
		key->descending = list_nth_int(list_nth(wanted, GPUCOL_FIRST_PRIVATE_DESCENDING), i) != 0;
		key->nulls_first = list_nth_int(list_nth(wanted, GPUCOL_FIRST_PRIVATE_NULLS_FIRST), i) != 0;
		first->nkeys++;
	}
	return first->nkeys > 0 || places == NIL;
}

bool
gpucol_first_make(const GpucolGroupPlan *plan, List *having, List *wanted, GpucolFirst *first)
{
	bool		all_tested = true;
	ListCell   *lc;

	memset(first, 0, sizeof(*first));
	if (plan->regroup || plan->nkeys == 0)
		return false;
	foreach(lc, having)
	{
		if (first->ntests < GPUCOL_FIRST_MAX_TESTS &&
			make_test(plan, lfirst(lc), &first->tests[first->ntests]))
			first->ntests++;
		else
			all_tested = false;
	}
	if (wanted != NIL && all_tested && add_order(plan, wanted, first))
		return true;
	first->k = 0;
	first->nkeys = 0;
	return first->ntests > 0;
}

/*
 * A conjunct with the values of the parameters in it, or as it is.  A query that a parameter stands for is run
 * if PostgreSQL would have to: for the first conjunct of a group.
 */
static Node *
with_values(Node *conjunct, bool is_first, PlanState *ps)
{
	OpExpr	   *op = (OpExpr *) conjunct;
	ListCell   *lc;

	if (!IsA(op, OpExpr))
		return conjunct;
	op = copyObject(op);
	foreach(lc, op->args)
	{
		Param	   *param = lfirst(lc);
		Const	   *value;

		if (!IsA(param, Param) || (!is_first && !gpucol_lower_param_is_known(ps->ps_ExprContext, param)))
			continue;
		value = makeNullConst(param->paramtype, param->paramtypmod, param->paramcollid);
		value->constvalue = ExecEvalExprSwitchContext(gpucol_lower_init((Expr *) param, ps), ps->ps_ExprContext,
													  &value->constisnull);
		lfirst(lc) = value;
	}
	return (Node *) op;
}

bool
gpucol_first_having(const GpucolGroupPlan *plan, PlanState *ps, GpucolFirst *first)
{
	List	   *having = NIL;
	ListCell   *lc;

	foreach(lc, ps->plan->qual)
		having = lappend(having, with_values(lfirst(lc), foreach_current_index(lc) == 0, ps));
	(void) gpucol_first_make(plan, having, NIL, first);
	return first->ntests == list_length(having);
}
