/*-------------------------------------------------------------------------
 *
 * same_generation_sparse.c
 *	  Recursion that moves both columns of a pair at once, over sets of ids: the
 *	  kernel.
 *
 * How it works stands in recursion/cpu/same_generation_sparse.h.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_sparse.h"

/* ---- life ---- */

static void
free_slices(GpucolBudget *memory, GpucolRecSlices *slices)
{
	gpucol_budget_free(memory, slices->items, slices->allocated * sizeof(GpucolRecSlice));
}

static void
free_lane(GpucolRecSparse *sparse, GpucolRecLane *lane)
{
	GpucolBudget *memory = &sparse->run->memory;

	if (lane->pool.memory == NULL)
		return;
	gpucol_rec_ids_free(&lane->pool, &lane->middle_ids);
	gpucol_rec_ids_free(&lane->pool, &lane->row_ids[0]);
	gpucol_rec_ids_free(&lane->pool, &lane->row_ids[1]);
	gpucol_rec_pool_free(&lane->pool);
	free_slices(memory, &lane->found);
	gpucol_budget_free(memory, lane->seen, sparse->seen_size);
}

void
gpucol_rec_sparse_free_sets(GpucolRecSparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	GpucolBudget *memory = &run->memory;
	uint64_t	domain = sparse->domain;

	for (int i = 0; i < sparse->nlanes && sparse->lanes != NULL; i++)
		free_lane(sparse, &sparse->lanes[i]);
	gpucol_budget_free(memory, sparse->lanes, sparse->nlanes * sizeof(GpucolRecLane));
	gpucol_budget_free(memory, sparse->rows, domain * sizeof(GpucolRecIdSet));
	gpucol_budget_free(memory, sparse->middle_of, domain * sizeof(uint32_t));
	gpucol_budget_free(memory, sparse->targets, domain * sizeof(uint32_t));
	gpucol_budget_free(memory, sparse->work_of, domain * sizeof(uint32_t));
	gpucol_budget_free(memory, sparse->is_target, domain);
	gpucol_budget_free(memory, sparse->work,
					   sparse->work_allocated * sizeof(GpucolRecDeltaRow));
	gpucol_budget_free(memory, sparse->mirror_ids,
					   sparse->mirror_allocated * sizeof(uint32_t));
	free_slices(memory, &sparse->delta);
	free_slices(memory, &sparse->middles);
	gpucol_rec_samegen_graphs_free(run, &sparse->graphs);
	gpucol_rec_adjacency_free(run, &sparse->back);
}

static void
sparse_free(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	GpucolRecSparse *sparse = (GpucolRecSparse *) kernel;

	if (sparse->dense != NULL)
		sparse->dense->free(run, sparse->dense);
	else
		gpucol_rec_sparse_free_sets(sparse);
	gpucol_budget_free(&run->memory, sparse, sizeof(*sparse));
}

size_t
gpucol_rec_samegen_sparse_size(const GpucolRecRun *run)
{
	size_t		domain = run->dictionary.nvalues;

	/* the start of a list in `back`, too */
	return domain * (sizeof(GpucolRecIdSet) + 3 * sizeof(uint32_t) + 1 + sizeof(uint64_t)) +
		domain / 8 * run->options.threads;
}

static GpucolStatus
allocate_lanes(GpucolRecSparse *sparse)
{
	GpucolBudget *memory = &sparse->run->memory;

	sparse->seen_size = gpucol_rec_samegen_domain(sparse->run) / 8;
	sparse->lanes = gpucol_budget_alloc_zeroed(memory, sparse->nlanes * sizeof(GpucolRecLane));
	if (sparse->lanes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < sparse->nlanes; i++)
	{
		GpucolRecLane *lane = &sparse->lanes[i];

		gpucol_rec_pool_init(&lane->pool, memory);
		lane->seen = gpucol_budget_alloc_zeroed(memory, sparse->seen_size);
		if (lane->seen == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

static GpucolStatus
allocate(GpucolRecSparse *sparse)
{
	GpucolBudget *memory = &sparse->run->memory;
	uint64_t	domain = sparse->domain;

	sparse->rows = gpucol_budget_alloc_zeroed(memory, domain * sizeof(GpucolRecIdSet));
	sparse->middle_of = gpucol_budget_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->targets = gpucol_budget_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->work_of = gpucol_budget_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->is_target = gpucol_budget_alloc_zeroed(memory, domain);
	if (!sparse->rows || !sparse->middle_of || !sparse->targets || !sparse->work_of ||
		!sparse->is_target)
		return GPUCOL_OUT_OF_MEMORY;
	return allocate_lanes(sparse);
}

/* ---- rounds ---- */

/* Run a round, unless it is better done with bitmaps. */
static GpucolStatus
run_round(GpucolRecSparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	uint64_t	candidates;
	uint64_t	words;

	GPUCOL_REC_TRY(gpucol_rec_sparse_find_middles(sparse, &candidates, &words));
	if (!sparse->stays && gpucol_rec_sparse_is_dense(sparse, candidates, words))
	{
		GPUCOL_REC_TRY(gpucol_rec_sparse_go_dense(sparse));
		if (sparse->dense != NULL)
			return GPUCOL_OK;
		sparse->stays = true;
	}
	GPUCOL_REC_TRY(gpucol_rec_samegen_begin_round(run, &sparse->kernel));
	GPUCOL_REC_TRY(gpucol_rec_sparse_find_rows(sparse, candidates));
	GPUCOL_REC_TRY(gpucol_rec_sparse_set_delta(sparse));
	sparse->ended = run->progress.delta == 0;
	run->progress.full += run->progress.delta;
	return GPUCOL_OK;
}

/* ---- rows ---- */

/* The next pair of the delta, which has one. */
static inline void
take_pair(GpucolRecSparse *sparse, uint32_t *pair)
{
	const GpucolRecSlice *slice = &sparse->delta.items[sparse->at_slice];
	uint32_t	y = slice->ids[sparse->at_id];

	pair[sparse->at_mirror] = slice->row;
	pair[!sparse->at_mirror] = y;
	sparse->at_mirror = sparse->mirrored && y != slice->row && !sparse->at_mirror;
	if (sparse->at_mirror || ++sparse->at_id < slice->n)
		return;
	sparse->at_slice++;
	sparse->at_id = 0;
}

static GpucolStatus
sparse_next(GpucolRecRun *run, GpucolRecKernel *kernel, uint32_t *out, uint32_t n,
			uint32_t *produced)
{
	GpucolRecSparse *sparse = (GpucolRecSparse *) kernel;

	*produced = 0;
	while (*produced < n && !sparse->ended && sparse->dense == NULL)
	{
		if (sparse->at_slice < sparse->delta.n)
			take_pair(sparse, out + 2 * (*produced)++);
		else if (*produced > 0)
			break;
		else
		{
			GPUCOL_REC_TRY(run_round(sparse));
			sparse->at_slice = 0;
		}
	}
	if (sparse->dense != NULL)
		return sparse->dense->next(run, sparse->dense, out, n, produced);
	return GPUCOL_OK;
}

/* Count the mirror images of a slice. */
static void
count_mirrored(const GpucolRecSlice *slice, uint64_t *first, uint64_t *second)
{
	for (uint32_t k = 0; k < slice->n; k++)
	{
		if (slice->ids[k] == slice->row)
			continue;
		if (first != NULL)
			first[slice->ids[k]]++;
		if (second != NULL)
			second[slice->row]++;
	}
}

/* Count the pairs of the delta. */
static GpucolStatus
count_delta(GpucolRecSparse *sparse, uint64_t *first, uint64_t *second)
{
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const GpucolRecSlice *slice = &sparse->delta.items[i];

		if (gpucol_rec_sparse_stopped(sparse, slice))
			return GPUCOL_CANCELLED;
		if (first != NULL)
			first[slice->row] += slice->n;
		for (uint32_t k = 0; k < slice->n && second != NULL; k++)
			second[slice->ids[k]]++;
		if (sparse->mirrored && (first != NULL || second != NULL))
			count_mirrored(slice, first, second);
	}
	return GPUCOL_OK;
}

/* Rows after those of the table: run to the end, counting each delta. */
static GpucolStatus
sparse_count(GpucolRecRun *run, GpucolRecKernel *kernel, uint64_t *nrows, uint64_t *first,
			 uint64_t *second)
{
	GpucolRecSparse *sparse = (GpucolRecSparse *) kernel;
	uint64_t	before = 0;

	while (!sparse->ended && sparse->dense == NULL)
	{
		GPUCOL_REC_TRY(run_round(sparse));
		if (sparse->dense != NULL)
			break;
		before += run->progress.delta;
		GPUCOL_REC_TRY(count_delta(sparse, first, second));
	}
	*nrows = 0;
	if (sparse->dense != NULL)
		GPUCOL_REC_TRY(sparse->dense->count(run, sparse->dense, nrows, first, second));
	*nrows += before;
	return GPUCOL_OK;
}

/* ---- start ---- */

/* Is one relation, read the same way, on both sides of the rule? */
static bool
is_one_graph(const GpucolRecSamegenRule *sg)
{
	return sg->e.relation == sg->f.relation && sg->e_from == sg->f_from;
}

static GpucolStatus
take_over(GpucolRecSparse *sparse, const GpucolRecSamegenRule *sg,
		  const GpucolRecTable *table)
{
	GpucolRecRun *run = sparse->run;

	GPUCOL_REC_TRY(allocate(sparse));
	GPUCOL_REC_TRY(gpucol_rec_adjacency_build(run, &run->tables[sg->e.relation],
											  !sg->e_from, sg->e_from, false,
											  &sparse->back));
	return gpucol_rec_sparse_load(sparse, table);
}

GpucolStatus
gpucol_rec_samegen_sparse_new(GpucolRecRun *run, const GpucolRecSamegenRule *sg,
							  const GpucolRecTable *table, GpucolRecSamegenGraphs *graphs,
							  GpucolRecKernel **kernel)
{
	GpucolRecSparse *sparse = gpucol_budget_alloc_zeroed(&run->memory, sizeof(*sparse));
	GpucolStatus status;

	if (sparse == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	sparse->kernel.next = sparse_next;
	sparse->kernel.count = sparse_count;
	sparse->kernel.free = sparse_free;
	sparse->kernel.rounds = run->stratum_rounds;
	sparse->run = sparse->share.run = run;
	sparse->domain = run->dictionary.nvalues;
	sparse->nlanes = run->options.threads < GPUCOL_POOL_MAX_THREADS ?
		run->options.threads : GPUCOL_POOL_MAX_THREADS;
	sparse->mirrored = is_one_graph(sg);
	status = take_over(sparse, sg, table);
	if (status != GPUCOL_OK)
	{
		sparse_free(run, &sparse->kernel);
		return status;
	}
	/* its delta has been delivered */
	sparse->at_slice = sparse->delta.n;
	sparse->graphs = *graphs;
	memset(graphs, 0, sizeof(*graphs));
	*kernel = &sparse->kernel;
	return GPUCOL_OK;
}
