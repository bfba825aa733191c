/*-------------------------------------------------------------------------
 *
 * set_weights.c
 *	  Aggregates over distinct rows, each of which counts several times.
 *
 * With n, how often a row is there:
 *
 *		count(*)	sum(n), or 0		min, max, bool_and, DISTINCT	as they are
 *		count(x)	the same FILTER (WHERE x IS NOT NULL)
 *		sum(x)		sum(x * n)			avg(x)	sum(x * n) / sum(n) FILTER (WHERE x IS NOT NULL)
 *
 * And aggregates of groups that parts of the rows made, which are folded:
 *
 *		count		sum(count), or 0	sum		sum(sum)	avg		sum(sum) / sum(count)	min, ...	min(min), ...
 *
 * Sums are of integers and numerics, whose order of addition does not show.  Types and scales of
 * results are those of the aggregates: avg() divides numerics as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "plan/make.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"

/* What becomes of an aggregate. */
typedef enum Weighing
{
	WEIGH_UNKNOWN,
	WEIGH_NOTHING,				/* how often a value is there makes no difference */
	WEIGH_COUNT,
	WEIGH_SUM,
	WEIGH_AVERAGE
} Weighing;

static Weighing
weighing(const Aggref *agg)
{
	if (agg->aggkind != AGGKIND_NORMAL)
		return WEIGH_UNKNOWN;
	if (agg->aggdistinct != NIL)
		return WEIGH_NOTHING;
	if (agg->aggorder != NIL)
		return WEIGH_UNKNOWN;
	switch (agg->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			return WEIGH_COUNT;
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			return WEIGH_SUM;
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
			return WEIGH_AVERAGE;
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_DATE:
		case F_MIN_TIMESTAMP:
		case F_MIN_TIMESTAMPTZ:
		case F_MIN_TEXT:
		case F_MIN_NUMERIC:
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_DATE:
		case F_MAX_TIMESTAMP:
		case F_MAX_TIMESTAMPTZ:
		case F_MAX_TEXT:
		case F_MAX_NUMERIC:
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
		case F_BOOL_AND:
		case F_BOOL_OR:
		case F_EVERY:
			return WEIGH_NOTHING;
		default:
			return WEIGH_UNKNOWN;
	}
}

bool
gpucol_set_weights_is_blind(const Aggref *agg)
{
	return weighing(agg) == WEIGH_NOTHING;
}

const char *
gpucol_set_weights_decline(const Aggref *agg)
{
	if (weighing(agg) == WEIGH_UNKNOWN)
		return "an aggregate depends on more than how often each value is there";
	if (!gpucol_subquery_may_call(F_SUM_INT8) || !gpucol_subquery_may_call(F_SUM_NUMERIC) ||
		!gpucol_subquery_may_call(F_COUNT_) || !gpucol_subquery_may_call(F_INT8_NUMERIC) ||
		!gpucol_subquery_may_call(F_NUMERIC_INT8) || !gpucol_subquery_may_call(F_NUMERIC_MUL) ||
		!gpucol_subquery_may_call(F_NUMERIC_DIV))
		return "the user may not call what it would need";
	return NULL;
}

static Expr *
call(Oid function, Oid type, List *args)
{
	return (Expr *) makeFuncExpr(function, type, args, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* A number as a numeric. */
static Expr *
as_numeric(Expr *expr)
{
	switch (exprType((Node *) expr))
	{
		case INT2OID:
			return call(F_NUMERIC_INT2, NUMERICOID, list_make1(expr));
		case INT4OID:
			return call(F_NUMERIC_INT4, NUMERICOID, list_make1(expr));
		case INT8OID:
			return call(F_NUMERIC_INT8, NUMERICOID, list_make1(expr));
		default:
			return expr;
	}
}

/* sum(expr) FILTER (WHERE filter), as a numeric. */
static Expr *
make_sum(const Aggref *agg, Expr *expr, Expr *filter)
{
	Aggref	   *sum = makeNode(Aggref);
	Oid			type = exprType((Node *) expr);

	sum->aggfnoid = type == INT8OID ? F_SUM_INT8 : F_SUM_NUMERIC;
	sum->aggtype = NUMERICOID;
	sum->aggargtypes = list_make1_oid(type);
	sum->args = list_make1(makeTargetEntry(expr, 1, NULL, false));
	sum->aggfilter = filter;
	sum->aggkind = AGGKIND_NORMAL;
	sum->agglevelsup = agg->agglevelsup;
	sum->aggsplit = AGGSPLIT_SIMPLE;
	sum->aggno = sum->aggtransno = -1;
	sum->location = agg->location;
	return (Expr *) sum;
}

/* The filter of an aggregate, and that its argument is there. */
static Expr *
where_not_null(const Aggref *agg)
{
	Expr	   *test;

	if (agg->args == NIL)
		return agg->aggfilter;
	test = gpucol_make_null_test(copyObject(linitial_node(TargetEntry, agg->args)->expr), IS_NOT_NULL);
	return agg->aggfilter == NULL ? test :
		makeBoolExpr(AND_EXPR, list_make2(copyObject(agg->aggfilter), test), -1);
}

/* sum(n) FILTER (WHERE filter), or 0 */
static Node *
sum_counts(const Aggref *agg, Var *weight, Expr *filter)
{
	Expr	   *sum = call(F_INT8_NUMERIC, INT8OID, list_make1(make_sum(agg, (Expr *) weight, filter)));

	return (Node *) gpucol_make_coalesce(sum, (Const *) gpucol_make_int8(0));
}

/* sum(x * n) */
static Expr *
weighted_sum(const Aggref *agg, Var *weight)
{
	Expr	   *value = copyObject(linitial_node(TargetEntry, agg->args)->expr);

	value = call(F_NUMERIC_MUL, NUMERICOID, list_make2(as_numeric(value), as_numeric((Expr *) weight)));
	return make_sum(agg, value, agg->aggfilter);
}

Node *
gpucol_set_weights_apply(Aggref *agg, Var *weight)
{
	Expr	   *sum;

	switch (weighing(agg))
	{
		case WEIGH_COUNT:
			return sum_counts(agg, weight, where_not_null(agg));
		case WEIGH_SUM:
			sum = weighted_sum(agg, weight);
			return (Node *) (agg->aggtype == INT8OID ? call(F_INT8_NUMERIC, INT8OID, list_make1(sum)) : sum);
		case WEIGH_AVERAGE:
			return (Node *) call(F_NUMERIC_DIV, NUMERICOID,
								 list_make2(weighted_sum(agg, weight),
											make_sum(agg, (Expr *) copyObject(weight), where_not_null(agg))));
		default:
			return (Node *) agg;
	}
}

/* ---- parts ---- */

/* Another aggregate of the same rows' values. */
static Aggref *
make_other(Aggref *agg, Oid function, Oid type)
{
	Aggref	   *other = copyObject(agg);

	other->aggfnoid = function;
	other->aggtype = type;
	return other;
}

List *
gpucol_set_weights_parts(Aggref *agg)
{
	Oid			sum = F_SUM_NUMERIC;

	if (weighing(agg) != WEIGH_AVERAGE)
		return list_make1(copyObject(agg));
	if (agg->aggfnoid == F_AVG_INT2)
		sum = F_SUM_INT2;
	else if (agg->aggfnoid == F_AVG_INT4)
		sum = F_SUM_INT4;
	else if (agg->aggfnoid == F_AVG_INT8)
		sum = F_SUM_INT8;
	return list_make2(make_other(agg, sum, sum == F_SUM_INT2 || sum == F_SUM_INT4 ? INT8OID : NUMERICOID),
					  make_other(agg, F_COUNT_ANY, INT8OID));
}

Node *
gpucol_set_weights_fold(Aggref *agg, List *parts)
{
	Var		   *part = linitial(parts);
	Aggref	   *again;
	Expr	   *sum;

	switch (weighing(agg))
	{
		case WEIGH_COUNT:
			return sum_counts(agg, part, NULL);
		case WEIGH_SUM:
			sum = make_sum(agg, (Expr *) part, NULL);
			return (Node *) (agg->aggtype == INT8OID ? call(F_INT8_NUMERIC, INT8OID, list_make1(sum)) : sum);
		case WEIGH_AVERAGE:
			return (Node *) call(F_NUMERIC_DIV, NUMERICOID, list_make2(make_sum(agg, (Expr *) part, NULL),
																	   make_sum(agg, lsecond(parts), NULL)));
		default:
			again = copyObject(agg);
			again->aggargtypes = list_make1_oid(part->vartype);
			again->aggfilter = NULL;
			again->args = list_make1(makeTargetEntry((Expr *) part, 1, NULL, false));
			if (agg->aggdistinct != NIL)
				linitial_node(TargetEntry, again->args)->ressortgroupref =
					linitial_node(TargetEntry, agg->args)->ressortgroupref;
			return (Node *) again;
	}
}
