/*-------------------------------------------------------------------------
 *
 * same_generation_sparse_join.c
 *	  A round of the same-generation kernel over sets of ids: the delta to new rows.
 *
 * Items of the first phase are rows of the delta, each of one a; items of the second
 * are the rows x that the middles lead to.  A thread that works on x alone touches its
 * set, so that neither phase has locks.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_sparse.h"

/* Candidates whose slots are prefetched together. */
#define BATCH			128

/* Items that a thread takes at a time, and candidates of a phase worth a second thread. */
#define DEAL			32
#define LEAST_SHARED	32768

/* What add_ids returns when there is no memory. */
#define NO_MEMORY		UINT64_MAX

static void
run_out(GpucolRecSparse *sparse)
{
	gpucol_rec_share_fail(&sparse->share, GPUCOL_OUT_OF_MEMORY);
}

/* Do a phase over so many items, which make about so many candidates. */
static GpucolStatus
run_phase(GpucolRecSparse *sparse, void (*work) (void *, int, uint64_t),
		  uint64_t nitems, uint64_t candidates)
{
	return gpucol_rec_share_run(&sparse->share,
								candidates < LEAST_SHARED ? 1 : sparse->nlanes,
								nitems, DEAL, work, sparse);
}

static inline uint64_t
degree(const GpucolRecAdjacency *graph, uint32_t id)
{
	return graph->start[id + 1] - graph->start[id];
}

/* ---- phase 1: middles ---- */

/* Ids that a graph gives to those of a slice, at most. */
static uint64_t
count_gathered(const GpucolRecAdjacency *graph, const GpucolRecSlice *slice)
{
	uint64_t	total = 0;

	for (uint32_t i = 0; i < slice->n; i++)
		total += degree(graph, slice->ids[i]);
	return total;
}

/* Gather the ids that a graph gives to those of a slice, each once. */
static uint64_t
gather_slice(const GpucolRecAdjacency *graph, const GpucolRecSlice *slice,
			 GpucolRecLane *lane, uint32_t *to)
{
	uint64_t   *seen = lane->seen;
	uint64_t	words = 0;
	uint64_t	n = 0;

	for (uint32_t i = 0; i < slice->n; i++)
	{
		uint32_t	b = slice->ids[i];

		for (uint64_t e = graph->start[b]; e < graph->start[b + 1]; e++)
		{
			uint32_t	y = graph->to[e];
			uint64_t	word = seen[y / 64];
			uint64_t	bit = UINT64_C(1) << (y % 64);

			seen[y / 64] = word | bit;
			to[n] = y;
			n += (word & bit) == 0;
			words += word == 0;
		}
	}
	lane->words += words;
	return n;
}

/* Make the middle of one row of the delta. */
static void
find_middle(void *context, int worker, uint64_t item)
{
	GpucolRecSparse *sparse = context;
	GpucolRecLane *lane = &sparse->lanes[worker];
	const GpucolRecDeltaRow *row = &sparse->work[item];
	const GpucolRecAdjacency *right = &sparse->graphs.right;
	uint64_t	targets = degree(&sparse->graphs.left, row->own.row);
	uint64_t	words = lane->words;
	uint64_t	most;
	uint64_t	n;

	if (targets == 0)
		return;
	most = count_gathered(right, &row->own) + count_gathered(right, &row->mirrored);
	if (most == 0 || gpucol_rec_share_stopped(&sparse->share, worker, most))
		return;
	/* one place more, which is written and not kept */
	most = most < sparse->domain ? most : sparse->domain;
	if (!gpucol_rec_ids_reserve(&lane->pool, &lane->middle_ids, most + 1))
	{
		run_out(sparse);
		return;
	}
	n = gather_slice(right, &row->own, lane, lane->middle_ids.at);
	n += gather_slice(right, &row->mirrored, lane, lane->middle_ids.at + n);
	for (uint64_t i = 0; i < n; i++)
		lane->seen[lane->middle_ids.at[i] / 64] = 0;
	lane->words = words + (lane->words - words) * targets;
	lane->candidates += n * targets;
	if (!gpucol_rec_sparse_add_slice(lane, row->own.row, &lane->middle_ids, n))
		run_out(sparse);
}

GpucolStatus
gpucol_rec_sparse_find_middles(GpucolRecSparse *sparse, uint64_t *candidates,
							   uint64_t *words)
{
	*candidates = *words = 0;
	GPUCOL_REC_TRY(run_phase(sparse, find_middle, sparse->nwork,
							 sparse->run->progress.delta));
	for (int i = 0; i < sparse->nlanes; i++)
	{
		*candidates += sparse->lanes[i].candidates;
		*words += sparse->lanes[i].words;
		sparse->lanes[i].candidates = sparse->lanes[i].words = 0;
	}
	return gpucol_rec_sparse_collect(sparse, &sparse->middles);
}

/* ---- phase 2: rows ---- */

/*
 * Add the ids from `least` on to a set; those that it did not have come to `to`, which
 * has room for them.  How many, or NO_MEMORY.
 */
static uint64_t
add_ids(GpucolRecPool *pool, GpucolRecIdSet *set, const uint32_t *ids, uint64_t n,
		uint32_t least, uint32_t *to)
{
	uint32_t	batch[BATCH];
	uint64_t	added = 0;

	if (set->bits == 0 && !gpucol_rec_idset_grow(pool, set))
		return NO_MEMORY;
	for (uint64_t at = 0; at < n;)
	{
		uint64_t	end = at + BATCH < n ? at + BATCH : n;
		uint32_t	kept = 0;

		for (; at < end; at++)
		{
			batch[kept] = ids[at];
			__builtin_prefetch(gpucol_rec_idset_probe(set, ids[at]), 1);
			kept += ids[at] >= least;
		}
		for (uint32_t i = 0; i < kept; i++)
		{
			uint32_t   *slot = gpucol_rec_idset_find(set, batch[i]);

			if (*slot != 0)
				continue;
			*slot = batch[i] + 1;
			set->n++;
			to[added++] = batch[i];
			if (gpucol_rec_idset_is_full(set) && !gpucol_rec_idset_grow(pool, set))
				return NO_MEMORY;
		}
	}
	return added;
}

/* The middle that an a has in this round, or NULL. */
static inline const GpucolRecSlice *
middle_of(const GpucolRecSparse *sparse, uint32_t a)
{
	uint32_t	place = sparse->middle_of[a];

	return place == 0 ? NULL : &sparse->middles.items[place - 1];
}

/* Candidates that a row has, or the number of ids if that is less. */
static uint64_t
count_candidates(const GpucolRecSparse *sparse, uint32_t x)
{
	const GpucolRecAdjacency *back = &sparse->back;
	uint64_t	most = 0;

	for (uint64_t e = back->start[x]; e < back->start[x + 1]; e++)
	{
		const GpucolRecSlice *middle = middle_of(sparse, back->to[e]);

		most += middle == NULL ? 0 : middle->n;
	}
	return most < sparse->domain ? most : sparse->domain;
}

/* Bring all middles that lead to a row into its set. */
static void
find_row(void *context, int worker, uint64_t item)
{
	GpucolRecSparse *sparse = context;
	GpucolRecLane *lane = &sparse->lanes[worker];
	GpucolRecIds *ids = &lane->row_ids[!sparse->parity];
	const GpucolRecAdjacency *back = &sparse->back;
	uint32_t	x = sparse->targets[item];
	uint64_t	n = 0;

	sparse->is_target[x] = 0;
	if (!gpucol_rec_ids_reserve(&lane->pool, ids, count_candidates(sparse, x)))
	{
		run_out(sparse);
		return;
	}
	for (uint64_t e = back->start[x]; e < back->start[x + 1]; e++)
	{
		const GpucolRecSlice *middle = middle_of(sparse, back->to[e]);
		uint64_t	added;

		if (middle == NULL)
			continue;
		if (gpucol_rec_share_stopped(&sparse->share, worker, middle->n))
			return;
		added = add_ids(&lane->pool, &sparse->rows[x], middle->ids, middle->n,
						sparse->mirrored ? x : 0, ids->at + n);
		if (added == NO_MEMORY)
		{
			run_out(sparse);
			return;
		}
		n += added;
	}
	if (n > 0 && !gpucol_rec_sparse_add_slice(lane, x, ids, n))
		run_out(sparse);
}

/* List the rows that the middles lead to. */
static GpucolStatus
find_targets(GpucolRecSparse *sparse)
{
	const GpucolRecAdjacency *left = &sparse->graphs.left;

	sparse->ntargets = 0;
	for (uint64_t i = 0; i < sparse->middles.n; i++)
	{
		uint32_t	a = sparse->middles.items[i].row;

		if (gpucol_rec_share_stopped(&sparse->share, 0, degree(left, a)))
			return gpucol_rec_share_status(&sparse->share);
		sparse->middle_of[a] = (uint32_t) i + 1;
		for (uint64_t e = left->start[a]; e < left->start[a + 1]; e++)
		{
			uint32_t	x = left->to[e];

			sparse->targets[sparse->ntargets] = x;
			sparse->ntargets += !sparse->is_target[x];
			sparse->is_target[x] = 1;
		}
	}
	return GPUCOL_OK;
}

/* Forget what phase 1 made. */
static void
end_middles(GpucolRecSparse *sparse)
{
	for (uint64_t i = 0; i < sparse->middles.n; i++)
		sparse->middle_of[sparse->middles.items[i].row] = 0;
	for (int i = 0; i < sparse->nlanes; i++)
		gpucol_rec_ids_reset(&sparse->lanes[i].middle_ids);
	sparse->middles.n = 0;
}

GpucolStatus
gpucol_rec_sparse_find_rows(GpucolRecSparse *sparse, uint64_t candidates)
{
	GPUCOL_REC_TRY(find_targets(sparse));
	for (int i = 0; i < sparse->nlanes; i++)
		gpucol_rec_ids_reset(&sparse->lanes[i].row_ids[!sparse->parity]);
	GPUCOL_REC_TRY(run_phase(sparse, find_row, sparse->ntargets, candidates));
	end_middles(sparse);
	sparse->parity = !sparse->parity;
	return GPUCOL_OK;
}
