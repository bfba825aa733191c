/*-------------------------------------------------------------------------
 *
 * overlaps.c
 *	  (a, b) OVERLAPS (c, d) of timestamps and times.
 *
 * Two bounds may stand in either order, and one of them may be NULL: what is known then is the begin.  With
 * begin = LEAST(a, b), and end = GREATEST(a, b) where both are known, PostgreSQL has
 *
 *		begin1 > begin2		begin1 < end2 OR end1 < end2
 *		begin1 < begin2		begin2 < end1 OR end2 < end1
 *		otherwise			TRUE where both ends are known, else NULL
 *
 * whose second comparisons only tell FALSE from NULL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "lower/array_value.h"
#include "lower/calendar.h"
#include "lower/overlaps.h"

/* One of the two periods, in registers. */
typedef struct Period
{
	uint16		begin;
	uint16		end;
} Period;

static uint16
emit(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 0);
}

static uint16
choose(GpucolLower *l, uint16 condition, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, GPUCOL_OP_CASE_B, condition, a, b, 0);
}

/* Lower two bounds. */
static bool
lower_period(GpucolLower *l, Expr *from, Expr *to, Period *period)
{
	GpucolValue a;
	GpucolValue b;
	GpucolValue null;
	uint16		turned;
	uint16		later;

	if (!gpucol_lower_expr(l, from, &a) || !gpucol_lower_expr(l, to, &b))
		return false;
	if (a.cls != GPUCOL_CLASS_I || b.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &null);
	turned = emit(l, GPUCOL_OP_LT_I, b.reg, a.reg);
	later = gpucol_calendar_choose(l, emit(l, GPUCOL_OP_LE_I, a.reg, b.reg), b.reg, null.reg);
	period->end = gpucol_calendar_choose(l, turned, a.reg, later);
	turned = emit(l, GPUCOL_OP_OR, emit(l, GPUCOL_OP_IS_NULL_I, a.reg, GPUCOL_NO_REG), turned);
	period->begin = gpucol_calendar_choose(l, turned, b.reg, a.reg);
	return true;
}

/* Do two periods overlap, the first of which begins later? */
static uint16
begins_later(GpucolLower *l, const Period *a, const Period *b)
{
	return emit(l, GPUCOL_OP_OR, emit(l, GPUCOL_OP_LT_I, a->begin, b->end), emit(l, GPUCOL_OP_LT_I, a->end, b->end));
}

bool
gpucol_lower_overlaps(GpucolLower *l, List *args, GpucolValue *out)
{
	Period		a;
	Period		b;
	uint16		reg;

	if (!lower_period(l, linitial(args), lsecond(args), &a) || !lower_period(l, lthird(args), lfourth(args), &b))
		return false;
	reg = emit(l, GPUCOL_OP_AND, emit(l, GPUCOL_OP_EQ_I, a.end, a.end), emit(l, GPUCOL_OP_EQ_I, b.end, b.end));
	reg = choose(l, emit(l, GPUCOL_OP_LT_I, a.begin, b.begin), begins_later(l, &b, &a), reg);
	reg = choose(l, emit(l, GPUCOL_OP_LT_I, b.begin, a.begin), begins_later(l, &a, &b), reg);
	return gpucol_lower_set_value(out, GPUCOL_CLASS_B, reg);
}

/* The earlier or the later of two arguments. */
static Expr *
extreme(List *args, int first, MinMaxOp which)
{
	MinMaxExpr *node = makeNode(MinMaxExpr);

	node->minmaxtype = exprType(list_nth(args, first));
	node->op = which;
	node->args = copyObject(list_make2(list_nth(args, first), list_nth(args, first + 1)));
	node->location = -1;
	return (Expr *) node;
}

/* The period at one argument begins before the other one ends, or then. */
static Expr *
begins_before(List *args, int first)
{
	Expr	   *begin = extreme(args, first, IS_LEAST);
	Expr	   *end = extreme(args, 2 - first, IS_GREATEST);
	Oid			type = exprType((Node *) begin);
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	OpExpr	   *op = (OpExpr *) make_opclause(get_opfamily_member(family, type, type, BTLessEqualStrategyNumber),
											  BOOLOID, false, begin, end, InvalidOid, InvalidOid);

	set_opfuncid(op);
	return (Expr *) op;
}

Expr *
gpucol_overlaps_bounded(Expr *condition)
{
	const FuncExpr *call = (const FuncExpr *) condition;

	if (!IsA(condition, FuncExpr) || (call->funcid != F_OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP &&
									  call->funcid != F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ &&
									  call->funcid != F_OVERLAPS_TIME_TIME_TIME_TIME))
		return condition;
	return make_andclause(list_make3(begins_before(call->args, 0), begins_before(call->args, 2), condition));
}
