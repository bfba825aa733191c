/*-------------------------------------------------------------------------
 *
 * harmless_floats.c
 *	  Sums of floats that overflow for large values only.
 *
 * A sum of floats is an error where finite values add up to more than the greatest float, or
 * the squares of what they are away from their mean do.  Values that are small enough never
 * do, however many there are: 2^64 of less than 10^130 have a sum below 10^150, and PostgreSQL
 * goes no farther than the square of that.  Infinities and NaN raise no error.  So the
 * aggregate is computed of these values, and beside it whether there are others:
 *
 *		sum(x) FILTER (WHERE NOT large), bool_or(large)
 *		large:	abs(x) >= 1e130 AND abs(x) < 'Infinity'
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "lower/harmless_floats.h"
#include "plan/make.h"

/* Sums of real are real, whose greatest value is some 10^38. */
#define LARGE_FLOAT4	1e15
#define LARGE_FLOAT8	1e130

bool
gpucol_harmless_floats(Oid aggfnoid)
{
	switch (aggfnoid)
	{
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
		case F_AVG_FLOAT8:
		case F_VAR_POP_FLOAT8:
		case F_VAR_SAMP_FLOAT8:
		case F_VARIANCE_FLOAT8:
		case F_STDDEV_POP_FLOAT8:
		case F_STDDEV_SAMP_FLOAT8:
		case F_STDDEV_FLOAT8:
			return true;
		default:
			return false;
	}
}

/* abs(x) compared with a constant. */
static Expr *
compare(Expr *x, int strategy, double constant)
{
	Oid			type = exprType((Node *) x);
	bool		narrow = type == FLOAT4OID;
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Datum		value = narrow ? Float4GetDatum((float4) constant) : Float8GetDatum(constant);
	Expr	   *size = (Expr *) makeFuncExpr(narrow ? F_ABS_FLOAT4 : F_ABS_FLOAT8, type, list_make1(copyObject(x)),
											 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	OpExpr	   *op;

	op = (OpExpr *) make_opclause(get_opfamily_member(family, type, type, strategy), BOOLOID, false, size,
								  (Expr *) makeConst(type, -1, InvalidOid, narrow ? sizeof(float4) : sizeof(float8),
													 value, false, narrow || FLOAT8PASSBYVAL),
								  InvalidOid, InvalidOid);
	set_opfuncid(op);
	return (Expr *) op;
}

/* Is a float large? */
static Expr *
make_large(Expr *x)
{
	double		large = exprType((Node *) x) == FLOAT4OID ? LARGE_FLOAT4 : LARGE_FLOAT8;

	return make_andclause(list_make2(compare(x, BTGreaterEqualStrategyNumber, large),
									 compare(x, BTLessStrategyNumber, INFINITY)));
}

static Expr *
argument(const Aggref *agg)
{
	return linitial_node(TargetEntry, agg->args)->expr;
}

Aggref *
gpucol_harmless_floats_within(const Aggref *agg, Aggref **beyond)
{
	Aggref	   *within = (Aggref *) copyObject(agg);
	Expr	   *large = make_large(argument(agg));
	Expr	   *small = make_notclause(copyObject(large));

	within->aggfilter = agg->aggfilter == NULL ? small :
		make_andclause(list_make2(copyObject(agg->aggfilter), small));
	*beyond = gpucol_make_aggregate(F_BOOL_OR, BOOLOID, large);
	(*beyond)->aggfilter = copyObject(agg->aggfilter);
	return within;
}

bool
gpucol_harmless_floats_is_within(const Aggref *agg)
{
	Node	   *filter = (Node *) agg->aggfilter;
	Node	   *small;

	if (filter == NULL || !gpucol_harmless_floats(agg->aggfnoid))
		return false;
	small = (Node *) make_notclause(make_large(argument(agg)));
	return equal(filter, small) || (is_andclause(filter) && list_member(((BoolExpr *) filter)->args, small));
}
