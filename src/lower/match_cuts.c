/*-------------------------------------------------------------------------
 *
 * match_cuts.c
 *	  Conditions that are decided by the order of values' bytes alone: the places at which they
 *	  turn from false to true and back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "kernel/bytes_order.h"
#include "lower/match_kinds.h"
#include "lower/match_numeric.h"

static int
compare_items(const void *a, const void *b)
{
	return gpucol_bytes_compare(a, b);
}

/* Values that are one of n ascending ones, or begin with them, each as `behind` says; or the rest. */
static GpucolCuts *
cut_values(const GpucolBytes *values, int n, const GpucolCutPlace *behind, bool negate)
{
	GpucolCuts *cuts = palloc(sizeof(GpucolCuts));
	GpucolCut  *places = palloc(Max(n, 1) * 2 * sizeof(GpucolCut));

	for (int i = 0; i < n; i++)
	{
		places[i * 2] = (GpucolCut) {values[i], GPUCOL_CUT_BEFORE};
		places[i * 2 + 1] = (GpucolCut) {values[i], behind[i]};
	}
	*cuts = (GpucolCuts) {negate, false, n * 2, places};
	return cuts;
}

/* Values on one side of a constant. */
static GpucolCuts *
cut_order(const GpucolMatch *match)
{
	GpucolCuts *cuts = palloc(sizeof(GpucolCuts));
	GpucolCut  *place = palloc(sizeof(GpucolCut));
	bool		before = match->order == ORDER_LT || match->order == ORDER_GE;

	*place = (GpucolCut) {match->bytes[0], before ? GPUCOL_CUT_BEFORE : GPUCOL_CUT_BEHIND};
	*cuts = (GpucolCuts) {match->order == ORDER_LT || match->order == ORDER_LE, false, 1, place};
	return cuts;
}

static GpucolCuts *
cut_like(const GpucolMatch *match)
{
	GpucolBytes empty = {"", 0};
	GpucolCutPlace behind = match->whole ? GPUCOL_CUT_BEHIND : GPUCOL_CUT_BEHIND_PREFIX;

	if (match->whole)
		return cut_values(match->nbytes > 0 ? match->bytes : &empty, 1, &behind, match->negate);
	if (match->nbytes == 0)
		return cut_values(NULL, 0, NULL, !match->negate);
	if (match->nbytes > 1 || !match->starts || match->ends)
		return NULL;
	return cut_values(match->bytes, 1, &behind, match->negate);
}

/* A list, of parts perhaps. */
static GpucolCuts *
cut_list(const GpucolMatch *match)
{
	GpucolBytes *sorted = palloc(Max(match->nbytes, 1) * sizeof(GpucolBytes));
	GpucolCutPlace *behind = palloc(Max(match->nbytes, 1) * sizeof(GpucolCutPlace));
	int			n = 0;

	if (match->has_null)
		return NULL;
	memcpy(sorted, match->bytes, match->nbytes * sizeof(GpucolBytes));
	qsort(sorted, match->nbytes, sizeof(GpucolBytes), compare_items);
	for (int i = 0; i < match->nbytes; i++)
	{
		int64		characters;

		behind[n] = GPUCOL_CUT_BEHIND;
		if (match->steps != NULL)
		{
			if (!gpucol_match_is_beginning(match->steps, sorted[i], &characters))
				return NULL;
			if (characters > match->steps->part.count)
				continue;
			if (characters == match->steps->part.count)
				behind[n] = GPUCOL_CUT_BEHIND_PREFIX;
		}
		sorted[n++] = sorted[i];
	}
	return cut_values(sorted, n, behind, match->negate);
}

/* Of conditions on numerics that are combined. */
static GpucolCuts *
cut_combined(const GpucolMatch *match)
{
	GpucolCuts *cuts = gpucol_match_cuts(match->args[0]);

	for (int i = 1; i < match->nargs && cuts != NULL; i++)
	{
		const GpucolCuts *other = gpucol_match_cuts(match->args[i]);

		cuts = other != NULL && cuts->numbers && other->numbers ?
			gpucol_match_numeric_combine(cuts, other, match->kind == MATCH_AND) : NULL;
	}
	return cuts != NULL && cuts->numbers ? cuts : NULL;
}

GpucolCuts *
gpucol_match_cuts(const GpucolMatch *match)
{
	GpucolCuts *cuts;

	switch (match->kind)
	{
		case MATCH_EQUAL:
		case MATCH_IN:
			return cut_list(match);
		case MATCH_ORDER:
			return match->steps == NULL ? cut_order(match) : NULL;
		case MATCH_LIKE:
			return match->steps == NULL ? cut_like(match) : NULL;
		case MATCH_IS_NULL:
			return match->steps == NULL ? cut_values(NULL, 0, NULL, match->negate) : NULL;
		case MATCH_NUMERIC:
			cuts = palloc(sizeof(GpucolCuts));
			*cuts = *match->turns;
			return cuts;
		case MATCH_AND:
		case MATCH_OR:
			return cut_combined(match);
		case MATCH_NOT:
			cuts = gpucol_match_cuts(match->args[0]);
			if (cuts != NULL)
				cuts->first = !cuts->first;
			return cuts;
		default:
			return NULL;
	}
}
