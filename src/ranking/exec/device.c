/*-------------------------------------------------------------------------
 *
 * device.c
 *	  Rankings on a device: what it is told, and its answers.
 *
 * The device makes groups, label-confidence rows and rankings itself (kernel/shape.h);
 * what is left is to make arrays.  Rankings of all sets are in one list there, set after set.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ranking/exec/state.h"

/* Is the value of this argument known without raising an error? */
static bool
argument_is_simple(GpucolRankNode *node, Expr *expr)
{
	return expr == NULL || gpucol_lower_is_safe_constant(node->exec->lower, expr);
}

/* Is k, or the threshold, one that rankings accept? */
static bool
argument_is_valid(GpucolRankNode *node, const Expr *expr, bool is_k)
{
	Datum		value;
	bool		isnull;

	if (expr == NULL)
		return true;
	gpucol_lower_eval(node->exec->lower, (Expr *) expr, &value, &isnull);
	if (isnull)
		return false;
	if (is_k)
		return DatumGetInt32(value) >= 1;
	return DatumGetFloat8(value) > 0 && DatumGetFloat8(value) <= 1;
}

/* Describe a set and its rankings, behind those that are described. */
static void
add_set(GpucolRowShape *shape, GpucolRankSet *set, const GpucolBatchRanking *rankings)
{
	const GpucolRankingSet *ranked = set->ranked;

	set->first_ranking = shape->nrankings;
	for (int i = 0; i < set->nrankings; i++)
		shape->rankings[shape->nrankings++] = (GpucolShapeRanking)
	{
		.ranking = rankings[i].ranking,.k = rankings[i].k,
			.k_key = set->k_keys[i],.threshold = rankings[i].threshold,
			.set = shape->nsets
	};
	shape->sets[shape->nsets++] = (GpucolShapeSet)
	{
		.filter = ranked->filter_column,.score = ranked->score_column,
			.probability = ranked->probability_column,
			.label = ranked->label_column,.x = ranked->x_column,
			.divisor = (double) gpucol_lower_power10(ranked->probability_value.scale)
	};
}

/* The ranking that an aggregate is, among those of the device. */
static int
device_ranking(const GpucolRankNode *node, int agg)
{
	return node->sets[node->rankings->aggs[agg].set].first_ranking + node->batch_ranking[agg];
}

/* Describe all sets; false, with *why, if they are too many for a request. */
static bool
fill_shape(GpucolRankNode *node, GpucolRowShape *shape, const char **why)
{
	const GpucolRankings *r = node->rankings;
	GpucolBatchRanking *rankings = palloc(sizeof(GpucolBatchRanking) * r->naggs);

	shape->kind = GPUCOL_SHAPE_RANKED;
	shape->nkeys = node->nkeys;
	for (int i = 0; i < r->nsets; i++)
	{
		GpucolRankSet *set = &node->sets[i];

		gpucol_rank_node_make_rankings(set, rankings);
		if (i == GPUCOL_SHAPE_MAX_SETS ||
			shape->nrankings + set->nrankings > GPUCOL_SHAPE_MAX_RANKINGS)
		{
			*why = "too many rankings in one query";
			return false;
		}
		add_set(shape, set, rankings);
	}
	for (int i = 0; i < r->naggs; i++)
		shape->rankings[device_ranking(node, i)].wanted |=
			r->aggs[i].probability ? GPUCOL_WANTED_PROBABILITY : GPUCOL_WANTED_LABELS;
	return true;
}

/*
 * What a device is to make of the rows.  A k or threshold that is out of range is
 * left to the CPU engine, which raises the error if a row calls for it.
 */
bool
gpucol_rank_node_shape(GpucolRankNode *node, GpucolRowShape *shape, const char **why)
{
	const GpucolRankings *r = node->rankings;
	MemoryContext old = MemoryContextSwitchTo(node->context);

	gpucol_rank_node_prepare_sets(node);
	*why = NULL;
	for (int i = 0; i < r->naggs && *why == NULL; i++)
	{
		Expr	   *k = r->aggs[i].k_key < 0 ? r->aggs[i].k : NULL;

		if (!argument_is_simple(node, k) || !argument_is_simple(node, r->aggs[i].threshold))
			*why = "k or threshold is an expression";
		else if (!argument_is_valid(node, k, true) ||
				 !argument_is_valid(node, r->aggs[i].threshold, false))
			*why = "k or threshold is out of range";
	}
	if (*why == NULL)
		fill_shape(node, shape, why);
	MemoryContextSwitchTo(old);
	return *why == NULL;
}

/* Next batch of groups that the device has ranked. */
GpucolStatus
gpucol_rank_node_device_next(GpucolRankNode *node, GpucolResult *groups)
{
	GpucolStatus status = GPUCOL_OK;

	if (node->first.nrows > 0)
		*groups = node->first;
	else
		status = gpucol_run_next(node->exec, groups);
	node->first.nrows = 0;
	if (status != GPUCOL_OK)
		return status;
	node->ranked = groups->ranked;
	node->handed = groups->nrows;
	return status;
}

void
gpucol_rank_node_device_datums(GpucolRankNode *node, int agg, uint32 from, uint32 n, Datum *values,
						  bool *isnull)
{
	const GpucolRanked *ranked = &node->ranked[device_ranking(node, agg)];

	if (!node->rankings->aggs[agg].probability)
	{
		gpucol_rank_node_label_arrays(&node->sets[node->rankings->aggs[agg].set], ranked, from, n,
								 values, isnull);
		return;
	}
	for (uint32 g = 0; g < n; g++)
	{
		isnull[g] = ranked->counts[from + g] < 0;
		values[g] = isnull[g] ? (Datum) 0 : Float8GetDatum(ranked->probabilities[from + g]);
	}
}
