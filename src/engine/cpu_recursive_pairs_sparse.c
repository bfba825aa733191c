/*-------------------------------------------------------------------------
 *
 * cpu_recursive_pairs_sparse.c
 *	  Recursion that moves both columns of a pair at once, over sets of ids.
 *
 * Each row x of r is a hash set of its y.  A round has two phases, whose rows
 * threads share out among themselves without touching each other's:
 *
 *	1. for each row a of the delta: the middle m(a), the y that f gives to its b,
 *	   each once (a bitmap over all ids, in the nearest cache, says which);
 *	2. for each x that e gives to such an a: m(a) of all those a is looked up in
 *	   the set of x; what is new is its row of the next delta.
 *
 * So the set of a row is read into the cache once a round, and not for every
 * candidate.  If both graphs are one and the rows that come from before have
 * their mirror images, all rows will: then x keeps only y >= x, which halves the
 * second phase and the sets, and the delta is mirrored for the next round.
 *
 * Dense relations are better served by bitmaps: once the words of these would
 * hold several pairs of most middles, the dense kernel takes over.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu_recursive_idsets.h"
#include "engine/cpu_recursive_pairs.h"

/* Candidates whose slots are prefetched together. */
#define BATCH			128

/* Rows that a thread takes at a time, and candidates of a phase worth a second thread. */
#define DEAL			32
#define LEAST_SHARED	32768

/* Candidates between two looks for a cancel: some milliseconds. */
#define POLL_CANDIDATES	(1 << 18)

/* Bitmaps of up to this size are cheap to use: what is read of them stays in a cache. */
#define CACHED_BITMAP	((uint64_t) 64 << 20)

/* Ids of one row. */
typedef struct Slice
{
	uint32_t	row;
	uint32_t	n;
	uint32_t   *ids;
} Slice;

typedef struct Slices
{
	Slice	   *items;
	uint64_t	n;
	uint64_t	allocated;
} Slices;

/* A row of the delta, with its mirror image if there is one. */
typedef struct DeltaRow
{
	Slice		own;
	Slice		mirrored;
} DeltaRow;

/* What one thread has. */
typedef struct Lane
{
	GpucolRecPool pool;
	GpucolRecIds middle_ids;
	GpucolRecIds row_ids[2];	/* of the delta, and of what it leads to, in turn */
	Slices		found;			/* of the phase */
	uint64_t   *seen;			/* a bit an id, zero between uses */
	uint64_t	candidates;		/* that phase 2 will have for its middles */
	uint64_t	words;			/* words of bitmaps that these would touch */
	uint64_t	unpolled;		/* candidates since it looked for a cancel */
} Lane;

typedef struct Sparse
{
	GpucolRecKernel kernel;
	GpucolRecKernel *dense;		/* once it has taken over */
	GpucolRecRun *run;
	uint64_t	domain;
	GpucolRecPairsGraphs graphs;
	GpucolRecAdjacency back;	/* x to a */
	bool		mirrored;		/* (x,y) stands for (y,x) too */
	bool		stays;			/* there is no memory for bitmaps */
	GpucolRecIdSet *rows;
	Slices		delta;			/* new rows of the last round */
	DeltaRow   *work;			/* the same, for the next one */
	uint64_t	nwork;
	uint64_t	work_allocated;
	Slices		middles;
	uint32_t   *middle_of;		/* by a: its place in middles + 1, or 0 */
	uint32_t   *targets;		/* rows x of phase 2 */
	uint64_t	ntargets;
	uint8_t    *is_target;
	uint32_t   *work_of;		/* by row: its place in work + 1, while that is made */
	uint32_t   *mirror_ids;		/* of work */
	uint64_t	mirror_allocated;
	Lane	   *lanes;
	int			nlanes;
	pthread_mutex_t lock;		/* of the run's memory */
	int			parity;			/* which row_ids the delta has */
	bool		ended;

	/* the phase that runs */
	void		(*work_on) (struct Sparse *, Lane *, uint64_t);
	uint64_t	nitems;
	_Atomic uint64_t deal;
	_Atomic bool stop;
	_Atomic bool no_memory;

	/* next(): where we are in the delta */
	uint64_t	at_slice;
	uint32_t	at_id;
	bool		at_mirror;		/* the mirror image of that pair comes first */
} Sparse;

/* ---- slices ---- */

/* Add a slice whose ids stand at ids->at. */
static bool
add_slice(Lane *lane, uint32_t row, GpucolRecIds *ids, uint64_t n)
{
	Slices	   *found = &lane->found;
	Slice	   *slice;

	if (found->n == found->allocated)
	{
		GpucolStatus status;

		pthread_mutex_lock(lane->pool.lock);
		status = gpucol_rec_reserve(lane->pool.memory, (void **) &found->items,
									&found->allocated, found->n + 1, sizeof(Slice));
		pthread_mutex_unlock(lane->pool.lock);
		if (status != GPUCOL_OK)
			return false;
	}
	slice = &found->items[found->n++];
	slice->row = row;
	slice->n = (uint32_t) n;
	slice->ids = ids->at;
	ids->at += n;
	return true;
}

/* Move what the lanes have found to one array. */
static GpucolStatus
collect(Sparse *sparse, Slices *to)
{
	uint64_t	total = 0;

	for (int i = 0; i < sparse->nlanes; i++)
		total += sparse->lanes[i].found.n;
	GPUCOL_REC_TRY(gpucol_rec_reserve(&sparse->run->memory, (void **) &to->items,
									  &to->allocated, total, sizeof(Slice)));
	to->n = 0;
	for (int i = 0; i < sparse->nlanes; i++)
	{
		Slices	   *found = &sparse->lanes[i].found;

		if (found->n > 0)
			memcpy(to->items + to->n, found->items, found->n * sizeof(Slice));
		to->n += found->n;
		found->n = 0;
	}
	return GPUCOL_OK;
}

static void
free_slices(GpucolRecMemory *memory, Slices *slices)
{
	gpucol_rec_free(memory, slices->items, slices->allocated * sizeof(Slice));
}

/* ---- phases ---- */

static void
run_out(Sparse *sparse)
{
	atomic_store(&sparse->no_memory, true);
	atomic_store(&sparse->stop, true);
}

/* Is the phase to end?  Asked before so many candidates; only the first thread looks. */
static bool
is_stopped(Sparse *sparse, Lane *lane, uint64_t candidates)
{
	lane->unpolled += candidates;
	if (lane == sparse->lanes && lane->unpolled >= POLL_CANDIDATES)
	{
		lane->unpolled = 0;
		if (gpucol_rec_cancelled(sparse->run))
			atomic_store(&sparse->stop, true);
	}
	return atomic_load_explicit(&sparse->stop, memory_order_relaxed);
}

/* Is the run to end?  Asked before each slice, by the main thread when it is alone. */
static bool
poll_slice(Sparse *sparse, const Slice *slice)
{
	return is_stopped(sparse, &sparse->lanes[0], slice->n);
}

static void
phase_worker(void *context, int number)
{
	Sparse	   *sparse = context;
	Lane	   *lane = &sparse->lanes[number];

	while (!is_stopped(sparse, lane, DEAL))
	{
		uint64_t	i = atomic_fetch_add(&sparse->deal, DEAL);
		uint64_t	end = i + DEAL < sparse->nitems ? i + DEAL : sparse->nitems;

		if (i >= sparse->nitems)
			break;
		for (; i < end; i++)
			sparse->work_on(sparse, lane, i);
	}
}

/* Do a phase over so many items, which make about so many candidates. */
static GpucolStatus
run_phase(Sparse *sparse, void (*work_on) (Sparse *, Lane *, uint64_t),
		  uint64_t nitems, uint64_t candidates)
{
	int			threads = candidates < LEAST_SHARED ? 1 : sparse->nlanes;

	sparse->work_on = work_on;
	sparse->nitems = nitems;
	atomic_store(&sparse->deal, 0);
	gpucol_rec_parallel(threads, phase_worker, NULL, sparse);
	if (threads > sparse->run->progress.threads)
		sparse->run->progress.threads = threads;
	if (sparse->no_memory)
		return GPUCOL_OUT_OF_MEMORY;
	return sparse->stop ? GPUCOL_CANCELLED : GPUCOL_OK;
}

static inline uint64_t
degree(const GpucolRecAdjacency *graph, uint32_t id)
{
	return graph->start[id + 1] - graph->start[id];
}

/* ---- phase 1: middles ---- */

/* Ids that a graph gives to those of a slice, at most. */
static uint64_t
count_gathered(const GpucolRecAdjacency *graph, const Slice *slice)
{
	uint64_t	total = 0;

	for (uint32_t i = 0; i < slice->n; i++)
		total += degree(graph, slice->ids[i]);
	return total;
}

/* Gather the ids that a graph gives to those of a slice, each once. */
static uint64_t
gather_slice(const GpucolRecAdjacency *graph, const Slice *slice, Lane *lane,
			 uint32_t *to)
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
find_middle(Sparse *sparse, Lane *lane, uint64_t item)
{
	const DeltaRow *row = &sparse->work[item];
	const GpucolRecAdjacency *right = &sparse->graphs.right;
	uint64_t	targets = degree(&sparse->graphs.left, row->own.row);
	uint64_t	words = lane->words;
	uint64_t	most;
	uint64_t	n;

	if (targets == 0)
		return;
	most = count_gathered(right, &row->own) + count_gathered(right, &row->mirrored);
	if (most == 0 || is_stopped(sparse, lane, most))
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
	if (!add_slice(lane, row->own.row, &lane->middle_ids, n))
		run_out(sparse);
}

/* ---- phase 2: rows ---- */

/*
 * Add the ids from `least` on to a set; those that it did not have come to `to`,
 * which has room for one more.  How many; or UINT64_MAX: out of memory.
 */
static uint64_t
add_ids(GpucolRecPool *pool, GpucolRecIdSet *set, const uint32_t *ids, uint64_t n,
		uint32_t least, uint32_t *to)
{
	uint32_t	batch[BATCH];
	uint64_t	added = 0;

	if (set->bits == 0 && !gpucol_rec_idset_grow(pool, set))
		return UINT64_MAX;
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
				return UINT64_MAX;
		}
	}
	return added;
}

/* Bring all middles that lead to a row into its set. */
static void
find_row(Sparse *sparse, Lane *lane, uint64_t item)
{
	uint32_t	x = sparse->targets[item];
	const GpucolRecAdjacency *back = &sparse->back;
	GpucolRecIds *ids = &lane->row_ids[!sparse->parity];
	uint32_t	least = sparse->mirrored ? x : 0;
	uint64_t	most = 0;
	uint64_t	n = 0;

	sparse->is_target[x] = 0;
	for (uint64_t e = back->start[x]; e < back->start[x + 1]; e++)
	{
		uint32_t	place = sparse->middle_of[back->to[e]];

		most += place == 0 ? 0 : sparse->middles.items[place - 1].n;
	}
	most = most < sparse->domain ? most : sparse->domain;
	if (!gpucol_rec_ids_reserve(&lane->pool, ids, most))
	{
		run_out(sparse);
		return;
	}
	for (uint64_t e = back->start[x]; e < back->start[x + 1]; e++)
	{
		uint32_t	place = sparse->middle_of[back->to[e]];
		const Slice *middle = &sparse->middles.items[place - 1];
		uint64_t	added;

		if (place == 0)
			continue;
		if (is_stopped(sparse, lane, middle->n))
			return;
		added = add_ids(&lane->pool, &sparse->rows[x], middle->ids, middle->n, least,
						ids->at + n);
		if (added == UINT64_MAX)
		{
			run_out(sparse);
			return;
		}
		n += added;
	}
	if (n > 0 && !add_slice(lane, x, ids, n))
		run_out(sparse);
}

/* List the rows that the middles lead to. */
static void
find_targets(Sparse *sparse)
{
	const GpucolRecAdjacency *left = &sparse->graphs.left;

	sparse->ntargets = 0;
	for (uint64_t i = 0; i < sparse->middles.n; i++)
	{
		uint32_t	a = sparse->middles.items[i].row;

		sparse->middle_of[a] = (uint32_t) i + 1;
		for (uint64_t e = left->start[a]; e < left->start[a + 1]; e++)
		{
			uint32_t	x = left->to[e];

			sparse->targets[sparse->ntargets] = x;
			sparse->ntargets += !sparse->is_target[x];
			sparse->is_target[x] = 1;
		}
	}
}

/* ---- the delta ---- */

/* The place of a row in work, made if it has none. */
static inline uint32_t
work_place(Sparse *sparse, uint32_t row)
{
	DeltaRow   *work;

	if (sparse->work_of[row] != 0)
		return sparse->work_of[row] - 1;
	work = &sparse->work[sparse->nwork++];
	memset(work, 0, sizeof(*work));
	work->own.row = work->mirrored.row = row;
	sparse->work_of[row] = (uint32_t) sparse->nwork;
	return (uint32_t) sparse->nwork - 1;
}

/* Count the mirror images of the delta, by row, and all together. */
static GpucolStatus
count_mirrored(Sparse *sparse, uint64_t *total)
{
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const Slice *slice = &sparse->delta.items[i];

		if (poll_slice(sparse, slice))
			return GPUCOL_CANCELLED;

		for (uint32_t k = 0; k < slice->n; k++)
			if (slice->ids[k] != slice->row)
			{
				sparse->work[work_place(sparse, slice->ids[k])].mirrored.n++;
				++*total;
			}
	}
	return GPUCOL_OK;
}

/* Put them into their rows. */
static GpucolStatus
write_mirrored(Sparse *sparse)
{
	uint32_t   *ids = sparse->mirror_ids;

	for (uint64_t i = 0; i < sparse->nwork; i++)
	{
		Slice	   *slice = &sparse->work[i].mirrored;

		slice->ids = ids;
		ids += slice->n;
		slice->n = 0;
	}
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const Slice *slice = &sparse->delta.items[i];

		if (poll_slice(sparse, slice))
			return GPUCOL_CANCELLED;
		for (uint32_t k = 0; k < slice->n; k++)
			if (slice->ids[k] != slice->row)
			{
				Slice	   *to = &sparse->work[work_place(sparse, slice->ids[k])].mirrored;

				to->ids[to->n++] = slice->row;
			}
	}
	return GPUCOL_OK;
}

/* Make the rows found in a round, or loaded, the delta of the next. */
static GpucolStatus
set_delta(Sparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	uint64_t	rows;
	uint64_t	n = 0;

	GPUCOL_REC_TRY(collect(sparse, &sparse->delta));
	for (uint64_t i = 0; i < sparse->delta.n; i++)
		n += sparse->delta.items[i].n;
	rows = sparse->delta.n + (sparse->mirrored ? n : 0);
	rows = rows < sparse->domain ? rows : sparse->domain;
	GPUCOL_REC_TRY(gpucol_rec_reserve(&run->memory, (void **) &sparse->work,
									  &sparse->work_allocated, rows, sizeof(DeltaRow)));
	sparse->nwork = 0;
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		uint32_t	place = work_place(sparse, sparse->delta.items[i].row);

		sparse->work[place].own = sparse->delta.items[i];
	}
	if (sparse->mirrored)
	{
		uint64_t	mirrored = 0;

		GPUCOL_REC_TRY(count_mirrored(sparse, &mirrored));
		n += mirrored;
		GPUCOL_REC_TRY(gpucol_rec_reserve(&run->memory, (void **) &sparse->mirror_ids,
										  &sparse->mirror_allocated, mirrored,
										  sizeof(uint32_t)));
		GPUCOL_REC_TRY(write_mirrored(sparse));
	}
	for (uint64_t i = 0; i < sparse->nwork; i++)
		sparse->work_of[sparse->work[i].own.row] = 0;
	run->progress.delta = n;
	return GPUCOL_OK;
}

/* ---- going over to bitmaps ---- */

/* Free all but the dense kernel. */
static void
free_sets(Sparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	GpucolRecMemory *memory = &run->memory;
	uint64_t	domain = sparse->domain;

	for (int i = 0; i < sparse->nlanes && sparse->lanes != NULL; i++)
	{
		Lane	   *lane = &sparse->lanes[i];

		if (lane->pool.memory == NULL)
			continue;
		gpucol_rec_ids_free(&lane->pool, &lane->middle_ids);
		gpucol_rec_ids_free(&lane->pool, &lane->row_ids[0]);
		gpucol_rec_ids_free(&lane->pool, &lane->row_ids[1]);
		gpucol_rec_pool_free(&lane->pool);
		free_slices(memory, &lane->found);
		gpucol_rec_free(memory, lane->seen, gpucol_rec_pairs_domain(run) / 8);
	}
	gpucol_rec_free(memory, sparse->lanes, sparse->nlanes * sizeof(Lane));
	gpucol_rec_free(memory, sparse->rows, domain * sizeof(GpucolRecIdSet));
	gpucol_rec_free(memory, sparse->middle_of, domain * sizeof(uint32_t));
	gpucol_rec_free(memory, sparse->targets, domain * sizeof(uint32_t));
	gpucol_rec_free(memory, sparse->work_of, domain * sizeof(uint32_t));
	gpucol_rec_free(memory, sparse->is_target, domain);
	gpucol_rec_free(memory, sparse->work, sparse->work_allocated * sizeof(DeltaRow));
	gpucol_rec_free(memory, sparse->mirror_ids,
					sparse->mirror_allocated * sizeof(uint32_t));
	free_slices(memory, &sparse->delta);
	free_slices(memory, &sparse->middles);
	gpucol_rec_pairs_graphs_free(run, &sparse->graphs);
	gpucol_rec_adjacency_free(run, &sparse->back);
}

/*
 * Are bitmaps the better way from here on?  They are where a word holds several
 * pairs of a middle, and the round is large beside the bitmaps.
 */
static bool
is_dense(const Sparse *sparse, uint64_t candidates, uint64_t words)
{
	const GpucolRecRun *run = sparse->run;
	uint64_t	bytes = sparse->domain * sparse->domain / 8;
	uint64_t	cost = 2;		/* of a word, in candidates */

	for (uint64_t cached = CACHED_BITMAP; cached < bytes; cached *= 2)
		cost++;
	return run->options.strategy == GPUCOL_REC_AUTO &&
		candidates > words * cost &&
		(candidates - words * cost) * 32 > bytes &&
		gpucol_rec_pairs_dense_fits(run);
}

/* Set the bits of all rows. */
static GpucolStatus
fill_bitmap(const Sparse *sparse, uint64_t *full)
{
	uint64_t	nwords = gpucol_rec_pairs_domain(sparse->run) / 64;

	for (uint64_t x = 0; x < sparse->domain; x++)
	{
		const GpucolRecIdSet *row = &sparse->rows[x];

		if ((x & 0xff) == 0xff && gpucol_rec_cancelled(sparse->run))
			return GPUCOL_CANCELLED;
		for (uint64_t i = 0; row->bits != 0 && i < UINT64_C(1) << row->bits; i++)
		{
			uint64_t	y = (uint64_t) row->slots[i] - 1;

			if (row->slots[i] == 0)
				continue;
			full[x * nwords + y / 64] |= UINT64_C(1) << (y % 64);
			if (sparse->mirrored)
				full[y * nwords + x / 64] |= UINT64_C(1) << (x % 64);
		}
	}
	return GPUCOL_OK;
}

static void
add_slice_to_dense(GpucolRecKernel *dense, const Slice *slice)
{
	for (uint32_t i = 0; i < slice->n; i++)
		gpucol_rec_pairs_dense_add(dense, slice->row, slice->ids[i]);
}

/* Hand over to bitmaps; without the memory for them, go on. */
static GpucolStatus
go_dense(Sparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	uint64_t	domain = gpucol_rec_pairs_domain(run);
	uint64_t   *full = gpucol_rec_alloc_zeroed(&run->memory, domain * domain / 8);
	GpucolRecKernel *dense;
	GpucolStatus status;

	if (full == NULL)
		return GPUCOL_OK;
	dense = gpucol_rec_pairs_dense_new(run, domain, &sparse->graphs);
	if (dense == NULL)
	{
		gpucol_rec_free(&run->memory, full, domain * domain / 8);
		return GPUCOL_OK;
	}
	gpucol_rec_pairs_dense_set_full(dense, full);
	sparse->dense = dense;
	status = fill_bitmap(sparse, full);
	for (uint64_t i = 0; i < sparse->nwork && status == GPUCOL_OK; i++)
	{
		add_slice_to_dense(dense, &sparse->work[i].own);
		add_slice_to_dense(dense, &sparse->work[i].mirrored);
	}
	free_sets(sparse);
	run->progress.method = "bit-parallel pairs";
	return status;
}

/* ---- rounds ---- */

/* Forget what phase 1 made. */
static void
end_middles(Sparse *sparse)
{
	for (uint64_t i = 0; i < sparse->middles.n; i++)
		sparse->middle_of[sparse->middles.items[i].row] = 0;
	for (int i = 0; i < sparse->nlanes; i++)
		gpucol_rec_ids_reset(&sparse->lanes[i].middle_ids);
	sparse->middles.n = 0;
}

/* Run a round, unless it is better done with bitmaps. */
static GpucolStatus
run_round(Sparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	uint64_t	candidates = 0;
	uint64_t	words = 0;

	GPUCOL_REC_TRY(run_phase(sparse, find_middle, sparse->nwork, run->progress.delta));
	for (int i = 0; i < sparse->nlanes; i++)
	{
		candidates += sparse->lanes[i].candidates;
		words += sparse->lanes[i].words;
		sparse->lanes[i].candidates = sparse->lanes[i].words = 0;
	}
	GPUCOL_REC_TRY(collect(sparse, &sparse->middles));
	if (!sparse->stays && is_dense(sparse, candidates, words))
	{
		GPUCOL_REC_TRY(go_dense(sparse));
		if (sparse->dense != NULL)
			return GPUCOL_OK;
		sparse->stays = true;
	}
	GPUCOL_REC_TRY(gpucol_rec_pairs_begin_round(run));
	find_targets(sparse);
	for (int i = 0; i < sparse->nlanes; i++)
		gpucol_rec_ids_reset(&sparse->lanes[i].row_ids[!sparse->parity]);
	GPUCOL_REC_TRY(run_phase(sparse, find_row, sparse->ntargets, candidates));
	end_middles(sparse);
	sparse->parity = !sparse->parity;
	GPUCOL_REC_TRY(set_delta(sparse));
	sparse->ended = run->progress.delta == 0;
	run->progress.full += run->progress.delta;
	return GPUCOL_OK;
}

/* ---- the kernel ---- */

/* The next pair of the delta, which has one. */
static inline void
take_pair(Sparse *sparse, uint32_t *pair)
{
	const Slice *slice = &sparse->delta.items[sparse->at_slice];
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
	Sparse	   *sparse = (Sparse *) kernel;

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

/* Count the pairs of the delta. */
static GpucolStatus
count_delta(Sparse *sparse, uint64_t *first, uint64_t *second)
{
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const Slice *slice = &sparse->delta.items[i];

		if (poll_slice(sparse, slice))
			return GPUCOL_CANCELLED;
		if (first != NULL)
			first[slice->row] += slice->n;
		for (uint32_t k = 0; k < slice->n; k++)
		{
			if (second != NULL)
				second[slice->ids[k]]++;
			if (!sparse->mirrored || slice->ids[k] == slice->row)
				continue;
			if (first != NULL)
				first[slice->ids[k]]++;
			if (second != NULL)
				second[slice->row]++;
		}
	}
	return GPUCOL_OK;
}

/* Rows after those of the table: run to the end, counting each delta. */
static GpucolStatus
sparse_count(GpucolRecRun *run, GpucolRecKernel *kernel, uint64_t *nrows, uint64_t *first,
			 uint64_t *second)
{
	Sparse	   *sparse = (Sparse *) kernel;
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

static void
sparse_free(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	Sparse	   *sparse = (Sparse *) kernel;

	if (sparse->dense != NULL)
		sparse->dense->free(run, sparse->dense);
	else
		free_sets(sparse);
	pthread_mutex_destroy(&sparse->lock);
	gpucol_rec_free(&run->memory, sparse, sizeof(*sparse));
}

size_t
gpucol_rec_pairs_sparse_size(const GpucolRecRun *run)
{
	size_t		domain = run->dictionary.nvalues;

	/* the start of a list in `back`, too */
	return domain * (sizeof(GpucolRecIdSet) + 3 * sizeof(uint32_t) + 1 + sizeof(uint64_t)) +
		domain / 8 * run->options.threads;
}

static GpucolStatus
allocate(Sparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	GpucolRecMemory *memory = &run->memory;
	uint64_t	domain = sparse->domain;

	sparse->rows = gpucol_rec_alloc_zeroed(memory, domain * sizeof(GpucolRecIdSet));
	sparse->middle_of = gpucol_rec_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->targets = gpucol_rec_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->work_of = gpucol_rec_alloc_zeroed(memory, domain * sizeof(uint32_t));
	sparse->is_target = gpucol_rec_alloc_zeroed(memory, domain);
	sparse->lanes = gpucol_rec_alloc_zeroed(memory, sparse->nlanes * sizeof(Lane));
	if (!sparse->rows || !sparse->middle_of || !sparse->targets || !sparse->work_of ||
		!sparse->is_target || !sparse->lanes)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < sparse->nlanes; i++)
	{
		Lane	   *lane = &sparse->lanes[i];

		gpucol_rec_pool_init(&lane->pool, memory, &sparse->lock);
		lane->seen = gpucol_rec_alloc_zeroed(memory, gpucol_rec_pairs_domain(run) / 8);
		if (lane->seen == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* ---- start ---- */

static GpucolStatus
add_row(Sparse *sparse, uint32_t x, uint32_t y)
{
	GpucolRecIdSet *row = &sparse->rows[x];

	if (gpucol_rec_idset_is_full(row) &&
		!gpucol_rec_idset_grow(&sparse->lanes[0].pool, row))
		return GPUCOL_OUT_OF_MEMORY;
	*gpucol_rec_idset_find(row, y) = y + 1;
	row->n++;
	return GPUCOL_OK;
}

/* Add rows [from, to) of a table that lie below the diagonal, or those that do not. */
static GpucolStatus
add_rows(Sparse *sparse, const GpucolRecTable *table, uint64_t from, uint64_t to, bool below)
{
	for (uint64_t row = from; row < to; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		if ((pair[0] > pair[1]) == below)
			GPUCOL_REC_TRY(add_row(sparse, pair[0], pair[1]));
	}
	return GPUCOL_OK;
}

/*
 * Have all rows [from, to) of a table their mirror images among them?  Those that do not lie
 * below the diagonal are in the sets, and rows before `from` have theirs.
 */
static bool
is_mirrored(const Sparse *sparse, const GpucolRecTable *table, uint64_t from, uint64_t to)
{
	uint64_t	below = 0;
	uint64_t	above = 0;

	for (uint64_t row = from; row < to; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;
		const GpucolRecIdSet *other = &sparse->rows[pair[1]];

		above += pair[0] < pair[1];
		if (pair[0] <= pair[1])
			continue;
		below++;
		if (other->bits == 0 || *gpucol_rec_idset_find(other, pair[0]) == 0)
			return false;
	}
	return below == above;
}

/* Does the kernel keep this pair itself, and not its mirror image? */
static bool
is_kept(const Sparse *sparse, const uint32_t *pair)
{
	return !sparse->mirrored || pair[0] <= pair[1];
}

/* Make sets of the table's rows. */
static GpucolStatus
load_sets(Sparse *sparse, const GpucolRecTable *table)
{
	GPUCOL_REC_TRY(add_rows(sparse, table, 0, table->delta, false));
	if (sparse->mirrored)
		sparse->mirrored = is_mirrored(sparse, table, 0, table->delta);
	GPUCOL_REC_TRY(add_rows(sparse, table, table->delta, table->committed, false));
	if (sparse->mirrored)
		sparse->mirrored = is_mirrored(sparse, table, table->delta, table->committed);
	if (sparse->mirrored)
		return GPUCOL_OK;
	return add_rows(sparse, table, 0, table->committed, true);
}

/* Make slices of the table's delta. */
static GpucolStatus
load_delta(Sparse *sparse, const GpucolRecTable *table)
{
	Lane	   *lane = &sparse->lanes[0];
	uint32_t   *place = sparse->targets;
	uint64_t	n = table->committed - table->delta;
	uint32_t   *start;

	if (!gpucol_rec_ids_reserve(&lane->pool, &lane->row_ids[0], n))
		return GPUCOL_OUT_OF_MEMORY;
	start = lane->row_ids[0].at;
	for (uint64_t row = table->delta; row < table->committed; row++)
		place[table->tuples[row * 2]] += is_kept(sparse, table->tuples + row * 2);
	n = 0;
	for (uint64_t x = 0; x < sparse->domain; x++)
	{
		n += place[x];
		place[x] = (uint32_t) n - place[x];
	}
	/* the scatter leaves the place where each row ends */
	for (uint64_t row = table->delta; row < table->committed; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		if (is_kept(sparse, pair))
			start[place[pair[0]]++] = pair[1];
	}
	for (uint64_t x = 0, first = 0; x < sparse->domain; first = place[x++])
		if (place[x] > first && !add_slice(lane, (uint32_t) x, &lane->row_ids[0],
										   place[x] - first))
			return GPUCOL_OUT_OF_MEMORY;
	return set_delta(sparse);
}

/* Is one relation, read the same way, on both sides of the rule? */
static bool
is_one_graph(const GpucolRecPairsShape *shape)
{
	return shape->e.relation == shape->f.relation && shape->e_from == shape->f_from;
}

static GpucolStatus
take_over(Sparse *sparse, const GpucolRecPairsShape *shape, const GpucolRecTable *table)
{
	GpucolRecRun *run = sparse->run;

	GPUCOL_REC_TRY(allocate(sparse));
	GPUCOL_REC_TRY(gpucol_rec_adjacency_build(run, &run->tables[shape->e.relation],
											  !shape->e_from, shape->e_from, false,
											  &sparse->back));
	GPUCOL_REC_TRY(load_sets(sparse, table));
	return load_delta(sparse, table);
}

GpucolStatus
gpucol_rec_pairs_sparse_new(GpucolRecRun *run, const GpucolRecPairsShape *shape,
							const GpucolRecTable *table, GpucolRecPairsGraphs *graphs,
							GpucolRecKernel **kernel)
{
	Sparse	   *sparse = gpucol_rec_alloc_zeroed(&run->memory, sizeof(*sparse));
	GpucolStatus status;

	if (sparse == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	sparse->kernel.next = sparse_next;
	sparse->kernel.count = sparse_count;
	sparse->kernel.free = sparse_free;
	sparse->run = run;
	sparse->domain = run->dictionary.nvalues;
	sparse->nlanes = run->options.threads < GPUCOL_REC_MAX_THREADS ?
		run->options.threads : GPUCOL_REC_MAX_THREADS;
	sparse->mirrored = is_one_graph(shape);
	pthread_mutex_init(&sparse->lock, NULL);
	status = take_over(sparse, shape, table);
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
