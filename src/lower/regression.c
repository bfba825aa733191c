/*-------------------------------------------------------------------------
 *
 * regression.c
 *	  Aggregates of pairs of floats to engine states: corr, covar_... and regr_...
 *
 * They look at rows in which neither argument is NULL.  Each needs products of deviations of
 * the two arguments, and of each with itself: computed in one way, so that an argument's
 * correlation with itself is 1.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"

#include "lower/agg.h"
#include "lower/calendar.h"

static bool
find_regression(Oid oid, GpucolRegression *regression)
{
	static const struct
	{
		Oid			oid;
		GpucolRegression regression;
	}			known[] = {
		{F_REGR_SXX, GPUCOL_REGRESSION_SXX},
		{F_REGR_SYY, GPUCOL_REGRESSION_SYY},
		{F_REGR_SXY, GPUCOL_REGRESSION_SXY},
		{F_REGR_AVGX, GPUCOL_REGRESSION_AVGX},
		{F_REGR_AVGY, GPUCOL_REGRESSION_AVGY},
		{F_REGR_R2, GPUCOL_REGRESSION_R2},
		{F_REGR_SLOPE, GPUCOL_REGRESSION_SLOPE},
		{F_REGR_INTERCEPT, GPUCOL_REGRESSION_INTERCEPT},
		{F_COVAR_POP, GPUCOL_REGRESSION_COVAR_POP},
		{F_COVAR_SAMP, GPUCOL_REGRESSION_COVAR_SAMP},
		{F_CORR, GPUCOL_REGRESSION_CORR},
	};

	for (int i = 0; i < (int) lengthof(known); i++)
	{
		*regression = known[i].regression;
		if (known[i].oid == oid)
			return true;
	}
	return false;
}

static uint16
emit(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b, uint16 c)
{
	return gpucol_lower_emit(l, op, a, b, c, 0);
}

/* A value where another one is not NULL, else NULL. */
static uint16
value_unless_null(GpucolLower *l, uint16 value, uint16 other)
{
	GpucolValue null;

	gpucol_lower_load(l, FLOAT8OID, (Datum) 0, true, true, &null);
	return emit(l, GPUCOL_OP_CASE_F, emit(l, GPUCOL_OP_IS_NULL_F, other, GPUCOL_NO_REG, GPUCOL_NO_REG),
				null.reg, value);
}

/* Lower both arguments, under the mask of the filter's rows. */
static bool
lower_pair(GpucolLower *l, Aggref *agg, uint16 filter, GpucolValue *y, GpucolValue *x)
{
	GpucolMask	mask;
	bool		ok;

	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter);
		l->conditional++;
	}
	ok = gpucol_lower_expr(l, ((TargetEntry *) linitial(agg->args))->expr, y) &&
		gpucol_lower_expr(l, ((TargetEntry *) lsecond(agg->args))->expr, x);
	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_pop_mask(l);
		l->conditional--;
	}
	if (ok && (x->cls != GPUCOL_CLASS_F || y->cls != GPUCOL_CLASS_F))
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	return ok;
}

/*
 * Add the states.  The final step reads all three of them.
 */
bool
gpucol_lower_regression(GpucolLower *l, Aggref *agg, bool *matched, GpucolFinal *final)
{
	bool		count = agg->aggfnoid == F_REGR_COUNT;
	uint16		filter = GPUCOL_NO_REG;
	GpucolValue x;
	GpucolValue y;
	uint16		xs;
	uint16		ys;

	*matched = count || find_regression(agg->aggfnoid, &final->regression);
	if (!*matched)
		return false;
	if (agg->aggdistinct != NIL || agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0)
		return gpucol_lower_decline(l, "an aggregate of pairs has DISTINCT, or is computed in steps");
	if (agg->aggfilter != NULL && !gpucol_lower_bool(l, agg->aggfilter, &filter))
		return false;
	if (!lower_pair(l, agg, filter, &y, &x))
		return false;
	xs = value_unless_null(l, x.reg, y.reg);
	if (count)
	{
		final->kind = GPUCOL_FINAL_COUNT;
		final->state = gpucol_lower_agg(l, GPUCOL_AGG_COUNT, GPUCOL_CLASS_F, xs, filter);
		return true;
	}
	ys = value_unless_null(l, y.reg, x.reg);
	final->kind = GPUCOL_FINAL_REGRESSION;
	final->cls = GPUCOL_CLASS_F;
	final->state = gpucol_lower_ordered_agg(l, GPUCOL_AGG_PRODUCTS, GPUCOL_CLASS_F, xs, filter, ys);
	final->x_state = gpucol_lower_ordered_agg(l, GPUCOL_AGG_PRODUCTS, GPUCOL_CLASS_F, xs, filter, xs);
	final->y_state = gpucol_lower_ordered_agg(l, GPUCOL_AGG_PRODUCTS, GPUCOL_CLASS_F, ys, filter, ys);
	return true;
}

bool
gpucol_lower_fed_regression(GpucolFed *fed, GpucolFinal *final)
{
	bool		count = fed->agg->aggfnoid == F_REGR_COUNT;

	if ((!count && !find_regression(fed->agg->aggfnoid, &final->regression)) ||
		fed->agg->aggdistinct != NIL || fed->agg->aggorder != NIL || fed->nargs != 2)
		return false;
	for (int i = 0; i < fed->nargs; i++)
	{
		if (fed->args[i].output < 0 || fed->args[i].value.cls != GPUCOL_CLASS_F)
			return false;
	}
	fed->counts = true;
	fed->state.op = count ? GPUCOL_AGG_COUNT : GPUCOL_AGG_PRODUCTS;
	fed->state.cls = GPUCOL_CLASS_F;
	final->kind = count ? GPUCOL_FINAL_COUNT : GPUCOL_FINAL_REGRESSION;
	final->cls = GPUCOL_CLASS_F;
	final->x_state = 1;
	final->y_state = 2;
	return true;
}
