/*-------------------------------------------------------------------------
 *
 * subquery_within.c
 *	  What a correlated subquery is compared with, of values that are not near the ends of their type.
 *
 * `b.n = a.n - 1` would be computed of all rows of `a`, of rows too that the subquery was never executed for, and
 * the least integer less 1 is an error.  It is computed of values with room to the ends; for a row with another
 * one the subquery is executed, as it was, and the join finds nothing:
 *
 *		b.n = CASE WHEN a.n < low OR a.n > high THEN NULL ELSE a.n - 1 END
 *
 * A subquery without aggregates gives the value of its only row.  Where no index says that there is only one, the
 * least value of those with the row's key is it, and for a row of whose key there are several the subquery
 * is executed, which raises PostgreSQL's error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "plan/make.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* Constants are added and subtracted between these, half of a type's greatest value, and their negatives. */
#define MOST_INT2	INT64CONST(16383)
#define MOST_INT4	INT64CONST(1073741823)
#define MOST_INT8	INT64CONST(4611686018427387903)
#define MOST_DAYS	INT64CONST(1000000)
/* each part of an interval among these */
#define MOST_SPAN_DAYS	(MOST_DAYS / 4)

/* How far constants, dates and timestamps may be from 0; 0: the type is not known. */
static int64
most_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return MOST_INT2;
		case INT4OID:
			return MOST_INT4;
		case INT8OID:
			return MOST_INT8;
		case DATEOID:
			return MOST_DAYS;
		case TIMESTAMPOID:
			return MOST_DAYS * USECS_PER_DAY;
		default:
			return 0;
	}
}

static Const *
make_value(Oid type, int64 value)
{
	bool		wide = type == INT8OID || type == TIMESTAMPOID;
	Datum		datum = wide ? Int64GetDatum(value) : type == INT2OID ? Int16GetDatum((int16) value) :
		Int32GetDatum((int32) value);

	return makeConst(type, -1, InvalidOid, get_typlen(type), datum, false, wide ? FLOAT8PASSBYVAL : true);
}

/* Is no part of an interval long? */
static bool
is_short(const Interval *span)
{
	const int64 months = MOST_SPAN_DAYS / 31;
	const int64 time = MOST_SPAN_DAYS * USECS_PER_DAY;

	return span->month >= -months && span->month <= months && span->day >= -MOST_SPAN_DAYS &&
		span->day <= MOST_SPAN_DAYS && span->time >= -time && span->time <= time;
}

/*
 * How far values of a type may be from 0 to which a constant is added, or subtracted: integers as far as there is room;
 * 0: it is no such constant.
 */
static int64
room_for(Node *node, Oid type)
{
	Const	   *value = (Const *) node;
	int64		most = most_of(type);
	int64		number;

	if (!IsA(node, Const) || value->constisnull)
		return 0;
	switch (value->consttype)
	{
		case INT2OID:
			number = DatumGetInt16(value->constvalue);
			break;
		case INT4OID:
			number = DatumGetInt32(value->constvalue);
			break;
		case INT8OID:
			number = DatumGetInt64(value->constvalue);
			break;
		case INTERVALOID:
			return type == TIMESTAMPOID && is_short(DatumGetIntervalP(value->constvalue)) ? most : 0;
		default:
			return 0;
	}
	if (number > most || number < -most)
		return 0;
	return type == DATEOID ? most : 2 * most + 1 - (number < 0 ? -number : number);
}

/* Is a function a sum or a difference that does not leave its type near 0? */
static bool
is_sum(Oid function)
{
	switch (function)
	{
		case F_INT2PL:
		case F_INT2MI:
		case F_INT4PL:
		case F_INT4MI:
		case F_INT8PL:
		case F_INT8MI:
		case F_INT24PL:
		case F_INT24MI:
		case F_INT48PL:
		case F_INT48MI:
		case F_INT84PL:
		case F_INT84MI:
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
			return true;
		default:
			return false;
	}
}

/* A comparison with a constant; NULL where the user may not call its function. */
static Expr *
compare(Expr *value, Oid type, int strategy, int64 with)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	OpExpr	   *op = (OpExpr *) make_opclause(get_opfamily_member(family, type, type, strategy), BOOLOID, false,
											  (Expr *) copyObject(value), (Expr *) make_value(type, with),
											  InvalidOid, InvalidOid);

	set_opfuncid(op);
	return gpucol_subquery_may_call(op->opfuncid) ? (Expr *) op : NULL;
}

Node *
gpucol_grouped_within(GpucolGroupedJoin *join, Node *moved)
{
	OpExpr	   *op = (OpExpr *) moved;
	Expr	   *low;
	Expr	   *high;
	Expr	   *beyond;
	Expr	   *value;
	int64		room;
	Oid			type;

	if (!join->may_execute || !IsA(op, OpExpr) || list_length(op->args) != 2 || !is_sum(op->opfuncid))
		return NULL;
	value = linitial(op->args);
	type = exprType((Node *) value);
	if (!IsA(value, Var) || most_of(type) == 0)
		return NULL;
	room = room_for(eval_const_expressions(NULL, copyObject(lsecond(op->args))), type);
	low = room == 0 ? NULL : compare(value, type, BTLessStrategyNumber, -room);
	high = room == 0 ? NULL : compare(value, type, BTGreaterStrategyNumber, room);
	if (low == NULL || high == NULL)
		return NULL;
	beyond = make_orclause(list_make2(low, high));
	join->beyond = list_append_unique(join->beyond, beyond);
	return (Node *) gpucol_make_choice(copyObject(beyond), (Expr *) makeNullConst(op->opresulttype, -1, InvalidOid),
									   (Expr *) op);
}

/* ---- a value of one row ---- */

/* The function that gives the least value of a type, or InvalidOid. */
static Oid
min_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return F_MIN_INT2;
		case INT4OID:
			return F_MIN_INT4;
		case INT8OID:
			return F_MIN_INT8;
		case FLOAT4OID:
			return F_MIN_FLOAT4;
		case FLOAT8OID:
			return F_MIN_FLOAT8;
		case NUMERICOID:
			return F_MIN_NUMERIC;
		case DATEOID:
			return F_MIN_DATE;
		case TIMESTAMPOID:
			return F_MIN_TIMESTAMP;
		case TIMESTAMPTZOID:
			return F_MIN_TIMESTAMPTZ;
		case TEXTOID:
			return F_MIN_TEXT;
		default:
			return InvalidOid;
	}
}

/* An aggregate of a value, or of rows. */
static Aggref *
make_aggregate(Oid function, Oid type, Expr *value)
{
	Aggref	   *agg = makeNode(Aggref);

	agg->aggfnoid = function;
	agg->aggtype = type;
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = -1;
	agg->aggstar = value == NULL;
	agg->location = -1;
	if (value == NULL)
		return agg;
	agg->aggcollid = agg->inputcollid = exprCollation((Node *) value);
	agg->aggargtypes = list_make1_oid(type);
	agg->args = list_make1(makeTargetEntry((Expr *) copyObject(value), 1, NULL, false));
	return agg;
}

Node *
gpucol_grouped_only(GpucolGroupedJoin *join, Node *value)
{
	Oid			type = exprType(value);
	GpucolReferences found = gpucol_subquery_references(value);
	Aggref	   *rows = make_aggregate(F_COUNT_, INT8OID, NULL);
	Expr	   *several = compare((Expr *) rows, INT8OID, BTGreaterStrategyNumber, 1);
	Aggref	   *least;

	if (!join->may_execute || join->groups == NIL || !OidIsValid(min_of(type)) || several == NULL ||
		!gpucol_subquery_may_call(F_COUNT_) || !gpucol_subquery_may_call(min_of(type)) ||
		found.outer || found.farther || checkExprHasSubLink(value))
		return NULL;
	least = make_aggregate(min_of(type), type, (Expr *) value);
	join->inner->hasAggs = true;
	join->beyond = lappend(join->beyond,
						   gpucol_grouped_var(join, gpucol_grouped_column(join, several, "several"), true));
	return (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) least, "only"), true);
}
