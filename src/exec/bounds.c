/*-------------------------------------------------------------------------
 *
 * bounds.c
 *	  HAVING over doubles that enclose a group's results (intervals.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/bounds.h"
#include "kernel/agg_state.h"
#include "kernel/packed_decimal.h"

struct GpucolBounds
{
	const GpucolGroupPlan *plan;
	const GpucolOutput *keys;
	GpucolIntervals *having;
};

/* What is computed for one group. */
typedef struct BoundGroup
{
	const GpucolBounds *bounds;
	const GpucolResultColumn *columns;
	uint32		row;
	const GpucolAggState *states;
} BoundGroup;

/* A sum of integers or decimals. */
static GpucolInterval
sum_range(const GpucolFinal *final, const GpucolAggState *states)
{
	GpucolInterval sum = gpucol_interval_decimal(gpucol_agg_value128(&states[final->state]), final->scale);
	GpucolInterval low;

	if (final->low_state < 0)
		return sum;
	low = gpucol_interval_decimal(gpucol_agg_value128(&states[final->low_state]), GPUCOL_PACKED_LOW);
	return gpucol_interval_sum(sum, low);
}

/* A variance or standard deviation of integers or decimals. */
static GpucolInterval
variance_range(const GpucolFinal *final, const GpucolAggState *states)
{
	GpucolMoments moments = gpucol_final_moments(final, states);

	return gpucol_interval_variance(&moments);
}

/* The least or greatest value. */
static GpucolInterval
value_range(const GpucolFinal *final, const GpucolAggState *state)
{
	if (final->cls == GPUCOL_CLASS_D)
		return gpucol_interval_decimal(gpucol_agg_value128(state), final->scale);
	if (final->cls == GPUCOL_CLASS_F)
		return gpucol_interval_float(state->v.f);
	return gpucol_interval_decimal(state->v.value, 0);
}

/* The result of an aggregate that agg_is_known() lets through. */
static GpucolInterval
agg_range(const GpucolFinal *final, const GpucolAggState *states)
{
	const GpucolAggState *state = &states[final->state];
	int64		least = final->sample ? 2 : 1;
	double		variance;

	if (final->kind == GPUCOL_FINAL_COUNT || final->kind == GPUCOL_FINAL_DISTINCT)
		return gpucol_interval_decimal(final->kind == GPUCOL_FINAL_COUNT ? state->count : state->v.value, 0);
	if (state->count < least)
		return gpucol_interval_null;
	switch (final->kind)
	{
		case GPUCOL_FINAL_SUM_INT8:
			return gpucol_interval_bigint(sum_range(final, states));
		case GPUCOL_FINAL_SUM_NUMERIC:
			return sum_range(final, states);
		case GPUCOL_FINAL_AVG_NUMERIC:
			return gpucol_interval_average(sum_range(final, states), state->count);
		case GPUCOL_FINAL_SUM_FLOAT8:
			return gpucol_interval_float(state->v.f);
		case GPUCOL_FINAL_AVG_FLOAT8:
			return gpucol_interval_float(state->v.f / (double) state->count);
		case GPUCOL_FINAL_VAR_NUMERIC:
			return variance_range(final, states);
		case GPUCOL_FINAL_VAR_FLOAT8:
			variance = state->w.f / ((double) state->count - (final->sample ? 1 : 0));
			return final->root ? gpucol_interval_float_root(variance) : gpucol_interval_float(variance);
		default:
			return value_range(final, state);
	}
}

/* Is an aggregate's result a number whose range agg_range() knows? */
static bool
agg_is_known(const GpucolFinal *final)
{
	if (final->host != GPUCOL_HOST_NONE)
		return false;
	switch (final->kind)
	{
		case GPUCOL_FINAL_COUNT:
		case GPUCOL_FINAL_DISTINCT:
		case GPUCOL_FINAL_SUM_INT8:
		case GPUCOL_FINAL_SUM_NUMERIC:
		case GPUCOL_FINAL_AVG_NUMERIC:
		case GPUCOL_FINAL_SUM_FLOAT8:
		case GPUCOL_FINAL_AVG_FLOAT8:
		case GPUCOL_FINAL_VAR_NUMERIC:
		case GPUCOL_FINAL_VAR_FLOAT8:
			return true;
		case GPUCOL_FINAL_VALUE:
			return final->cls == GPUCOL_CLASS_D || final->cls == GPUCOL_CLASS_F || final->cls == GPUCOL_CLASS_I;
		default:
			return false;
	}
}

/* A key's value. */
static GpucolInterval
key_range(const BoundGroup *group, int number)
{
	const GpucolResultColumn *column = &group->columns[number];

	if (column->nulls != NULL && column->nulls[group->row])
		return gpucol_interval_null;
	if (column->cls == GPUCOL_CLASS_D)
		return gpucol_interval_decimal(column->d[group->row], group->bounds->keys[number].scale);
	if (column->cls == GPUCOL_CLASS_F)
		return gpucol_interval_float(column->f[group->row]);
	return gpucol_interval_decimal(column->i[group->row], 0);
}

/* A key or an aggregate: a column of the scan tuple. */
static int
find_leaf(const void *arg, const Var *var)
{
	const GpucolBounds *bounds = arg;
	const GpucolGroupPlan *plan = bounds->plan;
	int			place = var->varattno - 1;

	if (place < 0 || place >= plan->nkeys + plan->naggs)
		return -1;
	if (place < plan->nkeys)
		return bounds->keys[place].labels != NULL || bounds->keys[place].packed ||
			bounds->keys[place].cls == GPUCOL_CLASS_S ? -1 : place;
	return agg_is_known(&plan->finals[place - plan->nkeys]) ? place : -1;
}

static GpucolInterval
leaf_range(const void *row, int leaf)
{
	const BoundGroup *group = row;
	const GpucolGroupPlan *plan = group->bounds->plan;

	return leaf < plan->nkeys ? key_range(group, leaf) : agg_range(&plan->finals[leaf - plan->nkeys], group->states);
}

GpucolBoundsSays
gpucol_bounds_decide(const GpucolBounds *bounds, const GpucolResultColumn *columns, uint32 row,
					 const GpucolAggState *states)
{
	BoundGroup	group = {bounds, columns, row, states};

	return gpucol_intervals_decide(bounds->having, &group);
}

GpucolBounds *
gpucol_bounds_make(const GpucolGroupPlan *plan, const GpucolOutput *keys, PlanState *ps)
{
	GpucolBounds *bounds = palloc0(sizeof(GpucolBounds));

	if (plan->regroup || plan->nkeys == 0)
		return NULL;
	bounds->plan = plan;
	bounds->keys = keys;
	bounds->having = gpucol_intervals_make(ps->plan->qual, ps, true, find_leaf, bounds, leaf_range);
	return bounds->having == NULL ? NULL : bounds;
}
