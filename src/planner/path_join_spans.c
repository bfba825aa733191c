/*-------------------------------------------------------------------------
 *
 * path_join_spans.c
 *	  Conditions of a join on the time between two columns, as bounds of one of them.
 *
 *		b.t - a.t <= interval '1 hour'		extract(epoch FROM b.t - a.t) < 3600
 *		abs(extract(epoch FROM b.t - a.t)) / 60 <= 60
 *
 * are tested of pairs of rows, but no search finds these.  Beside each stands what it says of the columns,
 *
 *		b.t <= a.t + interval '1 hour'
 *
 * by which engines search sorted rows (engine/cpu/band.c), b being of the table that they are sorted of.  It need not
 * be exact: the condition itself is still tested, so a bound has some room, and each pair that might raise an error
 * passes.  These have an infinite time, of which there is no difference, or one near the ends of its type, to which
 * nothing can be added:
 *
 *		b.t <= CASE WHEN a.t < low OR a.t > high THEN 'infinity' ELSE a.t + interval '1 hour' END
 *		OR b.t < low OR b.t > high
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "lower/calendar.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "planner/path_join_spans.h"
#include "planner/subquery.h"

/* Times between columns are bounded up to so many seconds, with so much room for how numbers are rounded. */
#define MOST_SECONDS	1e10
#define ROOM_SECONDS	0.001

/* Values of columns that are compared are not farther from the year 2000. */
#define MOST_TIME		(INT64CONST(1000000) * USECS_PER_DAY)

/* b - a, times a factor, perhaps without its sign */
typedef struct Between
{
	Expr	   *a;
	Expr	   *b;
	double		factor;			/* of seconds */
	bool		absolute;
} Between;

/* The column that a time is, perhaps cast to timestamp or timestamptz; or NULL. */
static const Var *
column_of(const Expr *time)
{
	const Expr *value = gpucol_harmless_within_value(time);

	return IsA(value, Var) && !IsA(time, OpExpr) ? (const Var *) value : NULL;
}

/* Is it a difference of two columns that are timestamps? */
static bool
read_difference(Expr *expr, Between *between)
{
	const OpExpr *op = (const OpExpr *) expr;

	if (!IsA(op, OpExpr) || (op->opfuncid != F_TIMESTAMP_MI && op->opfuncid != F_TIMESTAMPTZ_MI) ||
		column_of(linitial(op->args)) == NULL || column_of(lsecond(op->args)) == NULL)
		return false;
	*between = (Between) {.a = lsecond(op->args),.b = linitial(op->args),.factor = 1};
	return true;
}

/* A finite number, or the seconds of an interval. */
static bool
read_number(const Expr *expr, double *number)
{
	const Const *value = (const Const *) expr;
	const Interval *span;

	if (!IsA(value, Const) || value->constisnull)
		return false;
	switch (value->consttype)
	{
		case INT4OID:
			*number = DatumGetInt32(value->constvalue);
			return true;
		case FLOAT8OID:
			*number = DatumGetFloat8(value->constvalue);
			break;
		case NUMERICOID:
			*number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value->constvalue));
			break;
		case INTERVALOID:
			span = DatumGetIntervalP(value->constvalue);
			*number = ((double) span->month * DAYS_PER_MONTH + span->day) * SECS_PER_DAY +
				(double) span->time / USECS_PER_SEC;
			break;
		default:
			return false;
	}
	return isfinite(*number);
}

/* Is it the time between two columns, in what unit ever? */
static bool
read_between(Expr *expr, Between *between)
{
	List	   *args = IsA(expr, FuncExpr) ? ((FuncExpr *) expr)->args :
		IsA(expr, OpExpr) ? ((OpExpr *) expr)->args : NIL;
	Oid			function = IsA(expr, FuncExpr) ? ((FuncExpr *) expr)->funcid :
		IsA(expr, OpExpr) ? ((OpExpr *) expr)->opfuncid : InvalidOid;
	double		number;

	switch (function)
	{
		case F_EXTRACT_TEXT_INTERVAL:
		case F_DATE_PART_TEXT_INTERVAL:
			return gpucol_calendar_field(linitial(args)) == GPUCOL_FIELD_EPOCH &&
				read_difference(lsecond(args), between);
		case F_ABS_NUMERIC:
		case F_ABS_FLOAT8:
		case F_NUMERIC_ABS:
		case F_FLOAT8ABS:
			if (!read_between(linitial(args), between))
				return false;
			between->absolute = true;
			return true;
		case F_NUMERIC_DIV:
		case F_FLOAT8DIV:
			if (!read_number(lsecond(args), &number) || number < 1 || !read_between(linitial(args), between))
				return false;
			between->factor /= number;
			return true;
		default:
			return read_difference(expr, between);
	}
}

/* A time's column is near an end of its type, or infinite. */
static Expr *
is_far(const Expr *time)
{
	Expr	   *column = (Expr *) column_of(time);
	Oid			type = exprType((Node *) column);
	int64		most = type == DATEOID ? MOST_TIME / USECS_PER_DAY : MOST_TIME;

	return make_orclause(list_make2(gpucol_harmless_compare(column, type, BTLessStrategyNumber, -most),
									gpucol_harmless_compare(column, type, BTGreaterStrategyNumber, most)));
}

/* A time that raises no error: of a column that is cast it is NULL where that is far. */
static Expr *
near_time(const Expr *time)
{
	if (IsA(time, Var))
		return copyObject((Expr *) time);
	return gpucol_make_choice(is_far(time), (Expr *) makeNullConst(exprType((const Node *) time), -1, InvalidOid),
							  copyObject((Expr *) time));
}

/* A sum of a time and seconds, for a time that is far an infinite one of a sign; NULL: it cannot be computed. */
static Expr *
add_seconds(Expr *time, double seconds, int64 infinite)
{
	Oid			type = exprType((Node *) time);
	Interval   *span = palloc0(sizeof(Interval));
	Oid			plus = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString("+")), type, INTERVALOID);
	Expr	   *sum;

	if (!OidIsValid(plus) || !gpucol_subquery_may_call(get_opcode(plus)))
		return NULL;
	span->time = (TimeOffset) rint(seconds * USECS_PER_SEC);
	sum = make_opclause(plus, type, false, copyObject(time),
						(Expr *) makeConst(INTERVALOID, -1, InvalidOid, sizeof(Interval), IntervalPGetDatum(span),
										   false, false), InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) sum);
	return gpucol_make_choice(is_far(time), (Expr *) makeConst(type, -1, InvalidOid, sizeof(int64),
															   Int64GetDatum(infinite), false, FLOAT8PASSBYVAL), sum);
}

/* b is not less (a strategy) or not greater than a and seconds, or far. */
static Expr *
bound(const Between *between, int strategy, double seconds)
{
	Oid			type = exprType((Node *) between->b);
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			compare = get_opfamily_member(family, type, type, strategy);
	Expr	   *sum = add_seconds(between->a, seconds, strategy == BTLessEqualStrategyNumber ? DT_NOEND : DT_NOBEGIN);
	Expr	   *op;

	if (sum == NULL || !OidIsValid(compare) || !gpucol_subquery_may_call(get_opcode(compare)))
		return NULL;
	op = make_opclause(compare, BOOLOID, false, near_time(between->b), sum, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) op);
	return make_orclause(list_make2(op, is_far(between->b)));
}

/* By what strategy of B-trees an operator compares; 0: by none. */
static int
strategy_of(Oid opno, Oid type)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	return OidIsValid(family) ? get_op_opfamily_strategy(opno, family) : 0;
}

/* What bounds a difference from below and above; false: nothing does. */
static bool
find_bounds(const Expr *condition, Between *between, double *low, double *high)
{
	const OpExpr *op = (const OpExpr *) condition;
	Expr	   *left;
	Oid			opno;
	double		seconds;
	int			strategy;
	bool		turned;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	left = linitial(op->args);
	turned = IsA(left, Const);
	opno = turned ? get_commutator(op->opno) : op->opno;
	if (!OidIsValid(opno) || !read_number(turned ? left : lsecond(op->args), &seconds) ||
		!read_between(turned ? lsecond(op->args) : left, between))
		return false;
	seconds /= between->factor;
	strategy = strategy_of(opno, exprType((Node *) left));
	if (strategy == 0 || fabs(seconds) > MOST_SECONDS)
		return false;
	*low = strategy >= BTEqualStrategyNumber && !between->absolute ? seconds - ROOM_SECONDS : -INFINITY;
	*high = strategy <= BTEqualStrategyNumber ? seconds + ROOM_SECONDS : INFINITY;
	if (between->absolute)
		*low = -*high;
	return true;
}

/*
 * What a condition that bounds the time from one column to another says of that of the two that is one of `build`; NIL:
 * nothing.
 */
static List *
span_bounds(const Expr *condition, Relids build)
{
	Between		between;
	double		low;
	double		high;
	List	   *bounds = NIL;

	if (!find_bounds(condition, &between, &low, &high))
		return NIL;
	if (!bms_is_member(column_of(between.b)->varno, build))
	{
		Expr	   *a = between.a;
		double		least = low;

		between.a = between.b;
		between.b = a;
		low = -high;
		high = -least;
	}
	if (!bms_is_member(column_of(between.b)->varno, build) || bms_is_member(column_of(between.a)->varno, build))
		return NIL;
	if (isfinite(low))
		bounds = lappend(bounds, bound(&between, BTGreaterEqualStrategyNumber, low));
	if (isfinite(high))
		bounds = lappend(bounds, bound(&between, BTLessEqualStrategyNumber, high));
	return list_member_ptr(bounds, NULL) ? NIL : bounds;
}

bool
gpucol_join_add_span_bounds(const GpucolJoinSides *sides, GpucolPipeStep *step, const Expr *condition)
{
	List	   *bounds = span_bounds(condition, sides->build_relids);
	ListCell   *lc;

	foreach(lc, bounds)
	{
		if (gpucol_pipe_check_condition(sides->drive, step->build, lfirst(lc)) != NULL)
			return false;
	}
	step->residual = list_concat(step->residual, bounds);
	return bounds != NIL;
}
