/*-------------------------------------------------------------------------
 *
 * ranks.c
 *	  Rankings in the daemon's result, as the executor reads them.
 *
 * The daemon sends the counts of labels of all groups; where each group's labels
 * begin is their running sum.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/gpu/ranks.h"
#include "service/protocol.h"

struct GpucolGpuRanks
{
	uint32_t	n;
	GpucolRanked all[GPUCOL_SHAPE_MAX_RANKINGS];	/* from group 0 */
	GpucolRanked at[GPUCOL_SHAPE_MAX_RANKINGS]; /* from the group asked for */
	uint64_t   *first[GPUCOL_SHAPE_MAX_RANKINGS];
};

/* What is left of the data. */
typedef struct Left
{
	const char *at;
	uint64_t	bytes;
} Left;

/* Take n elements of `size` bytes, padded to 8; NULL if there are fewer. */
static const void *
take(Left *left, uint64_t n, uint64_t size)
{
	const char *at = left->at;
	uint64_t	bytes = (n * size + 7) / 8 * 8;

	if (n > left->bytes || bytes > left->bytes)
		return NULL;
	left->at += bytes;
	left->bytes -= bytes;
	return at;
}

/* Find `total` labels, and which of them are none. */
static bool
find_labels(GpucolRanked *out, bool nulls, uint64_t total, Left *left)
{
	const GpucolWireLabels *header = take(left, 1, sizeof(GpucolWireLabels));
	const void *labels;

	if (header == NULL || (header->width != sizeof(int64_t) && header->width != sizeof(uint32_t)))
		return false;
	labels = take(left, total, header->width);
	if (labels == NULL)
		return false;
	out->base = header->base;
	if (header->width == sizeof(int64_t))
		out->labels = labels;
	else
		out->offsets = labels;
	if (nulls)
		out->nulls = take(left, total, 1);
	return !nulls || out->nulls != NULL;
}

/* Find the arrays of one ranking. */
static GpucolStatus
find_ranking(GpucolGpuRanks *ranks, const GpucolRowShape *shape, uint32_t r,
			 uint64_t ngroups, Left *left)
{
	GpucolRanked *out = &ranks->all[r];
	const GpucolShapeRanking *ranking = &shape->rankings[r];
	bool		chances = ranking->wanted & GPUCOL_WANTED_PROBABILITY;
	uint64_t	total = 0;

	out->counts = take(left, ngroups, sizeof(int32_t));
	if (chances)
		out->probabilities = take(left, ngroups, sizeof(double));
	if (out->counts == NULL || (chances && out->probabilities == NULL))
		return GPUCOL_DEVICE_LOST;
	ranks->first[r] = malloc(sizeof(uint64_t) * (ngroups + 1));
	if (ranks->first[r] == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint64_t g = 0; g < ngroups; g++)
	{
		ranks->first[r][g] = total;
		if (out->counts[g] > 0)
			total += (uint64_t) out->counts[g];
	}
	out->first = ranks->first[r];
	return ngroups == 0 || !(ranking->wanted & GPUCOL_WANTED_LABELS) ||
		find_labels(out, ranking->ranking == GPUCOL_RANK_U_KRANKS, total, left) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

GpucolStatus
gpucol_gpu_ranks_find(const GpucolRowShape *shape, uint64_t ngroups, const char *data,
					  uint64_t bytes, GpucolGpuRanks **ranks)
{
	Left		left = {data, bytes};
	GpucolStatus status = GPUCOL_OK;

	*ranks = calloc(1, sizeof(GpucolGpuRanks));
	if (*ranks == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	(*ranks)->n = shape->nrankings;
	for (uint32_t r = 0; r < shape->nrankings && status == GPUCOL_OK; r++)
		status = find_ranking(*ranks, shape, r, ngroups, &left);
	return status == GPUCOL_OK && left.bytes != 0 ? GPUCOL_DEVICE_LOST : status;
}

void
gpucol_gpu_ranks_free(GpucolGpuRanks *ranks)
{
	if (ranks == NULL)
		return;
	for (uint32_t r = 0; r < ranks->n; r++)
		free(ranks->first[r]);
	free(ranks);
}

void
gpucol_gpu_ranks_set_strings(GpucolGpuRanks *ranks, uint32_t r, const GpucolBytes *strings,
							 uint32_t nstrings)
{
	ranks->all[r].strings = strings;
	ranks->all[r].nstrings = nstrings;
}

const GpucolRanked *
gpucol_gpu_ranks_at(GpucolGpuRanks *ranks, uint64_t from)
{
	for (uint32_t r = 0; r < ranks->n; r++)
	{
		GpucolRanked *at = &ranks->at[r];

		*at = ranks->all[r];
		at->counts += from;
		at->first += from;
		if (at->probabilities != NULL)
			at->probabilities += from;
	}
	return ranks->at;
}
