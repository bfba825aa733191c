/*-------------------------------------------------------------------------
 *
 * result_regression.c
 *	  The final step of aggregates of pairs: corr, covar_... and regr_...
 *
 * An engine has sums and squares of deviations of each argument, over the rows in which
 * neither is NULL, and the products of their deviations.  What is made of them is what
 * PostgreSQL's final functions make.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "exec/result.h"

/* Sums over the pairs of a group. */
typedef struct Pairs
{
	double		n;
	double		sx;
	double		sxx;			/* of deviations, as the next ones */
	double		sy;
	double		syy;
	double		sxy;
} Pairs;

/* Is the result NULL for a group that has pairs? */
static bool
is_undefined(GpucolRegression regression, const Pairs *p)
{
	switch (regression)
	{
		case GPUCOL_REGRESSION_COVAR_SAMP:
			return p->n < 2;
		case GPUCOL_REGRESSION_CORR:
			return p->sxx == 0 || p->syy == 0;
		case GPUCOL_REGRESSION_R2:
		case GPUCOL_REGRESSION_SLOPE:
		case GPUCOL_REGRESSION_INTERCEPT:
			return p->sxx == 0;
		default:
			return false;
	}
}

static double
result_of(GpucolRegression regression, const Pairs *p)
{
	switch (regression)
	{
		case GPUCOL_REGRESSION_SXX:
			return p->sxx;
		case GPUCOL_REGRESSION_SYY:
			return p->syy;
		case GPUCOL_REGRESSION_SXY:
			return p->sxy;
		case GPUCOL_REGRESSION_AVGX:
			return p->sx / p->n;
		case GPUCOL_REGRESSION_AVGY:
			return p->sy / p->n;
		case GPUCOL_REGRESSION_R2:
			return p->syy == 0 ? 1.0 : (p->sxy * p->sxy) / (p->sxx * p->syy);
		case GPUCOL_REGRESSION_SLOPE:
			return p->sxy / p->sxx;
		case GPUCOL_REGRESSION_INTERCEPT:
			return (p->sy - p->sx * p->sxy / p->sxx) / p->n;
		case GPUCOL_REGRESSION_COVAR_POP:
			return p->sxy / p->n;
		case GPUCOL_REGRESSION_COVAR_SAMP:
			return p->sxy / (p->n - 1.0);
		default:
			return p->sxy / sqrt(p->sxx * p->syy);
	}
}

/*
 * The result for one group, or NULL.
 */
Datum
gpucol_final_regression(const GpucolFinal *final, const GpucolAggState *states, bool *isnull)
{
	const GpucolAggState *products = &states[final->state];
	const GpucolAggState *x = &states[final->x_state];
	const GpucolAggState *y = &states[final->y_state];
	Pairs		p = {(double) products->count, x->v.sums[0], x->w.f, y->v.sums[0], y->w.f, products->w.f};

	*isnull = products->count == 0 || is_undefined(final->regression, &p);
	return *isnull ? (Datum) 0 : Float8GetDatum(result_of(final->regression, &p));
}
