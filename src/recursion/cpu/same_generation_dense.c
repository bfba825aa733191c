/*-------------------------------------------------------------------------
 *
 * same_generation_dense.c
 *	  Recursion that moves both columns of a pair at once, over bitmaps: the kernel.
 *
 * How it works stands in recursion/cpu/same_generation_dense.h.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_dense.h"

/* Rows that a thread takes at a time. */
#define DEAL	16

/* Non-zero words of 64 from which on all of them are worked on, without looking which. */
#define MANY_WORDS	16

static size_t
bitmap_size(const GpucolRecDense *dense)
{
	return dense->domain * dense->nwords * sizeof(uint64_t);
}

/* Of one row. */
static size_t
summary_size(const GpucolRecDense *dense)
{
	return dense->nsums * sizeof(uint64_t);
}

/* ---- gathering ---- */

/* Gather the y that f gives to one b; how many. */
static GPUCOL_REC_INLINE uint64_t
gather_one(const GpucolRecDense *dense, GpucolRecGather *gather, uint64_t b)
{
	uint64_t	first = dense->graphs.right.start[b];
	uint64_t	last = dense->graphs.right.start[b + 1];

	for (uint64_t e = first; e < last; e++)
	{
		uint32_t	y = dense->graphs.right.to[e];

		gather->bits[y / 64] |= UINT64_C(1) << (y % 64);
		gather->summary[y / 4096] |= UINT64_C(1) << (y / 64 % 64);
	}
	return last - first;
}

/* Gather the y of every b in row a of the delta; false if the work is to end. */
static GPUCOL_REC_INLINE bool
gather_row(GpucolRecDense *dense, int worker, uint64_t a)
{
	GpucolRecGather *gather = &dense->gathers[worker];
	const uint64_t *row = dense->delta + a * dense->nwords;
	const uint64_t *sums = dense->delta_sums + a * dense->nsums;

	for (uint64_t s = 0; s < dense->nsums; s++)
	{
		uint64_t	steps = 1;

		for (uint64_t words = sums[s]; words != 0; words &= words - 1)
		{
			uint64_t	w = s * 64 + (uint64_t) __builtin_ctzll(words);

			for (uint64_t bits = row[w]; bits != 0; bits &= bits - 1)
				steps += gather_one(dense, gather,
									w * 64 + (uint64_t) __builtin_ctzll(bits));
		}
		if (gpucol_rec_share_stopped(&dense->share, worker, steps))
			return false;
	}
	return true;
}

static void
clear_gathered(const GpucolRecDense *dense, GpucolRecGather *gather)
{
	for (uint64_t s = 0; s < dense->nsums; s++)
	{
		for (uint64_t words = gather->summary[s]; words != 0; words &= words - 1)
			gather->bits[s * 64 + (uint64_t) __builtin_ctzll(words)] = 0;
		gather->summary[s] = 0;
	}
}

/* ---- spreading ---- */

/* Add n words of a gathered row, less what is known; which of them are not zero, as bits. */
static GPUCOL_REC_INLINE uint64_t
add_all_words(const uint64_t *bits, const uint64_t *full, uint64_t *fresh, uint64_t n)
{
	uint64_t	touched = 0;

	for (uint64_t w = 0; w < n; w++)
	{
		uint64_t	more = bits[w] & ~full[w];

		fresh[w] |= more;
		touched |= (uint64_t) (more != 0) << w;
	}
	return touched;
}

/* The same of those that `words` has the bits of. */
static GPUCOL_REC_INLINE uint64_t
add_some_words(const uint64_t *bits, const uint64_t *full, uint64_t *fresh, uint64_t words)
{
	uint64_t	touched = 0;

	for (; words != 0; words &= words - 1)
	{
		int			w = __builtin_ctzll(words);
		uint64_t	more = bits[w] & ~full[w];

		fresh[w] |= more;
		touched |= (uint64_t) (more != 0) << w;
	}
	return touched;
}

/* Add a gathered row, less what is known, to row x of fresh. */
static GPUCOL_REC_INLINE void
add_gathered(GpucolRecDense *dense, uint64_t x, const uint64_t *bits, const uint64_t *summary)
{
	const uint64_t *full = dense->full + x * dense->nwords;
	uint64_t   *fresh = dense->fresh + x * dense->nwords;
	uint64_t   *sums = dense->fresh_sums + x * dense->nsums;
	uint64_t	any = 0;

	for (uint64_t s = 0; s < dense->nsums; s++)
	{
		uint64_t	first = s * 64;
		uint64_t	n = dense->nwords - first < 64 ? dense->nwords - first : 64;
		uint64_t	touched;

		if (summary[s] == 0)
			continue;
		touched = __builtin_popcountll(summary[s]) >= MANY_WORDS ?
			add_all_words(bits + first, full + first, fresh + first, n) :
			add_some_words(bits + first, full + first, fresh + first, summary[s]);
		sums[s] |= touched;
		any |= touched;
	}
	if (any != 0)
		dense->in_fresh[x] = 1;
}

GPUCOL_REC_CLONES
void
gpucol_rec_dense_spread(GpucolRecDense *dense, int worker, uint64_t a, const uint64_t *bits,
						const uint64_t *summary)
{
	uint64_t	nwords = 1;

	for (uint64_t s = 0; s < dense->nsums; s++)
		nwords += (uint64_t) __builtin_popcountll(summary[s]);
	for (uint64_t e = dense->graphs.left.start[a]; e < dense->graphs.left.start[a + 1]; e++)
	{
		uint32_t	x = dense->graphs.left.to[e];
		atomic_flag *lock = &dense->locks[x % GPUCOL_REC_DENSE_LOCKS];

		if (gpucol_rec_share_stopped(&dense->share, worker, nwords))
			return;
		while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
			;
		add_gathered(dense, x, bits, summary);
		atomic_flag_clear_explicit(lock, memory_order_release);
	}
}

/* An item: a row of the delta that is in no panel, if it leads on. */
GPUCOL_REC_CLONES
static void
spread_item(void *context, int worker, uint64_t a)
{
	GpucolRecDense *dense = context;
	GpucolRecGather *gather = &dense->gathers[worker];

	if (dense->delta_pairs[a] == 0 || dense->is_in_panel[a] ||
		dense->graphs.left.start[a] == dense->graphs.left.start[a + 1] ||
		!gather_row(dense, worker, a))
		return;
	gpucol_rec_dense_spread(dense, worker, a, gather->bits, gather->summary);
	clear_gathered(dense, gather);
}

/* ---- rounds ---- */

/* Clear row x of the old delta. */
static void
clear_row(GpucolRecDense *dense, uint64_t x)
{
	uint64_t   *row = dense->delta + x * dense->nwords;
	uint64_t   *sums = dense->delta_sums + x * dense->nsums;

	for (uint64_t s = 0; s < dense->nsums; s++)
	{
		for (uint64_t words = sums[s]; words != 0; words &= words - 1)
			row[s * 64 + (uint64_t) __builtin_ctzll(words)] = 0;
		sums[s] = 0;
	}
}

/* Add row x of fresh to full; how many pairs it has. */
GPUCOL_REC_CLONES
static uint64_t
merge_row(GpucolRecDense *dense, uint64_t x)
{
	uint64_t   *full = dense->full + x * dense->nwords;
	const uint64_t *fresh = dense->fresh + x * dense->nwords;
	const uint64_t *sums = dense->fresh_sums + x * dense->nsums;
	uint64_t	n = 0;

	for (uint64_t s = 0; s < dense->nsums; s++)
		for (uint64_t words = sums[s]; words != 0; words &= words - 1)
		{
			uint64_t	w = s * 64 + (uint64_t) __builtin_ctzll(words);

			full[w] |= fresh[w];
			n += (uint64_t) __builtin_popcountll(fresh[w]);
		}
	return n;
}

/* An item: row x leaves the delta, and what is fresh of it comes. */
static void
settle_item(void *context, int worker, uint64_t x)
{
	GpucolRecDense *dense = context;

	if (dense->delta_pairs[x] > 0)
		clear_row(dense, x);
	dense->delta_pairs[x] = 0;
	if (!dense->in_fresh[x] ||
		gpucol_rec_share_stopped(&dense->share, worker, dense->nwords))
		return;
	dense->in_fresh[x] = 0;
	dense->delta_pairs[x] = (uint32_t) merge_row(dense, x);
	dense->gathers[worker].merged += dense->delta_pairs[x];
}

/* What fresh is becomes the delta, and the old delta, cleared, fresh. */
static void
swap_delta(GpucolRecDense *dense)
{
	uint64_t   *delta = dense->delta;
	uint64_t   *sums = dense->delta_sums;

	dense->delta = dense->fresh;
	dense->delta_sums = dense->fresh_sums;
	dense->fresh = delta;
	dense->fresh_sums = sums;
}

/* Run a round: fresh becomes the next delta. */
static GpucolStatus
run_round(GpucolRecRun *run, GpucolRecDense *dense)
{
	GPUCOL_REC_TRY(gpucol_rec_samegen_begin_round(run, &dense->kernel));
	GPUCOL_REC_TRY(gpucol_rec_dense_run_panels(dense));
	GPUCOL_REC_TRY(gpucol_rec_share_run(&dense->share, dense->ngathers, dense->nids, DEAL,
										spread_item, dense));
	GPUCOL_REC_TRY(gpucol_rec_share_run(&dense->share, dense->ngathers, dense->domain, DEAL,
										settle_item, dense));
	run->progress.delta = 0;
	for (int i = 0; i < dense->ngathers; i++)
	{
		run->progress.delta += dense->gathers[i].merged;
		dense->gathers[i].merged = 0;
	}
	swap_delta(dense);
	dense->ended = run->progress.delta == 0;
	run->progress.full += run->progress.delta;
	return GPUCOL_OK;
}

/* ---- rows ---- */

/* Go to the next non-zero word of the delta; false at its end. */
static bool
next_word(GpucolRecDense *dense)
{
	while (dense->at_words == 0)
	{
		if (dense->at_row < dense->domain && dense->at_sum + 1 < dense->nsums)
			dense->at_sum++;
		else
		{
			dense->at_sum = 0;
			do
				if (++dense->at_row >= dense->domain)
					return false;
			while (dense->delta_pairs[dense->at_row] == 0);
		}
		dense->at_words = dense->delta_sums[dense->at_row * dense->nsums + dense->at_sum];
	}
	dense->at_word = dense->at_sum * 64 + (uint64_t) __builtin_ctzll(dense->at_words);
	dense->at_words &= dense->at_words - 1;
	dense->at_bits = dense->delta[dense->at_row * dense->nwords + dense->at_word];
	return true;
}

/* Before the first row of the delta. */
static void
rewind_rows(GpucolRecDense *dense)
{
	dense->at_row = UINT64_MAX;
	dense->at_words = dense->at_bits = 0;
}

static GpucolStatus
dense_next(GpucolRecRun *run, GpucolRecKernel *kernel, uint32_t *out, uint32_t n,
		   uint32_t *produced)
{
	GpucolRecDense *dense = (GpucolRecDense *) kernel;

	*produced = 0;
	while (*produced < n && !dense->ended)
	{
		for (; dense->at_bits != 0 && *produced < n; ++*produced)
		{
			out[2 * *produced] = (uint32_t) dense->at_row;
			out[2 * *produced + 1] = (uint32_t) (dense->at_word * 64) +
				(uint32_t) __builtin_ctzll(dense->at_bits);
			dense->at_bits &= dense->at_bits - 1;
		}
		if (dense->at_bits != 0 || next_word(dense))
			continue;
		if (*produced > 0)
			break;
		GPUCOL_REC_TRY(run_round(run, dense));
		rewind_rows(dense);
	}
	return GPUCOL_OK;
}

/* Count the rows of the delta. */
static void
count_delta(const GpucolRecDense *dense, uint64_t *nrows, uint64_t *first)
{
	for (uint64_t x = 0; x < dense->nids; x++)
	{
		*nrows += dense->delta_pairs[x];
		if (first != NULL)
			first[x] += dense->delta_pairs[x];
	}
}

/* Rows after those of the table: run to the end; columns are what full has gained. */
static GpucolStatus
dense_count(GpucolRecRun *run, GpucolRecKernel *kernel, uint64_t *nrows, uint64_t *first,
			uint64_t *second)
{
	GpucolRecDense *dense = (GpucolRecDense *) kernel;

	*nrows = 0;
	if (second != NULL)
		GPUCOL_REC_TRY(gpucol_rec_dense_count_columns(dense, -1, second));
	while (!dense->ended)
	{
		GPUCOL_REC_TRY(run_round(run, dense));
		count_delta(dense, nrows, first);
	}
	return second == NULL ? GPUCOL_OK :
		gpucol_rec_dense_count_columns(dense, 1, second);
}

/* ---- life ---- */

static void
free_gathers(GpucolRecDense *dense)
{
	GpucolBudget *memory = &dense->share.run->memory;

	if (dense->gathers == NULL)
		return;
	gpucol_rec_dense_free_panels(dense);
	for (int i = 0; i < dense->ngathers; i++)
	{
		gpucol_budget_free(memory, dense->gathers[i].bits, dense->nwords * sizeof(uint64_t));
		gpucol_budget_free(memory, dense->gathers[i].summary, summary_size(dense));
	}
	gpucol_budget_free(memory, dense->gathers, dense->ngathers * sizeof(GpucolRecGather));
}

static void
dense_free(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	GpucolRecDense *dense = (GpucolRecDense *) kernel;
	GpucolBudget *memory = &run->memory;
	size_t		bitmap = bitmap_size(dense);
	size_t		sums = dense->domain * summary_size(dense);

	gpucol_budget_free(memory, dense->full, bitmap);
	gpucol_budget_free(memory, dense->delta, bitmap);
	gpucol_budget_free(memory, dense->fresh, bitmap);
	gpucol_budget_free(memory, dense->delta_sums, sums);
	gpucol_budget_free(memory, dense->fresh_sums, sums);
	gpucol_budget_free(memory, dense->delta_pairs, dense->domain * sizeof(uint32_t));
	gpucol_budget_free(memory, dense->in_fresh, dense->domain);
	gpucol_budget_free(memory, dense->in_panel, dense->domain * sizeof(uint32_t));
	gpucol_budget_free(memory, dense->is_in_panel, dense->domain);
	gpucol_rec_samegen_graphs_free(run, &dense->graphs);
	free_gathers(dense);
	gpucol_budget_free(memory, dense, sizeof(*dense));
}

static bool
allocate_gathers(GpucolRecDense *dense)
{
	GpucolBudget *memory = &dense->share.run->memory;

	dense->gathers = gpucol_budget_alloc_zeroed(memory,
												dense->ngathers * sizeof(GpucolRecGather));
	if (dense->gathers == NULL)
		return false;
	for (int i = 0; i < dense->ngathers; i++)
	{
		GpucolRecGather *gather = &dense->gathers[i];

		gather->bits = gpucol_budget_alloc_zeroed(memory, dense->nwords * sizeof(uint64_t));
		gather->summary = gpucol_budget_alloc_zeroed(memory, summary_size(dense));
		if (gather->bits == NULL || gather->summary == NULL)
			return false;
	}
	return true;
}

/* Everything but full and panels. */
static bool
allocate(GpucolRecDense *dense)
{
	GpucolBudget *memory = &dense->share.run->memory;
	size_t		bitmap = bitmap_size(dense);
	size_t		sums = dense->domain * summary_size(dense);

	dense->delta = gpucol_budget_alloc_zeroed(memory, bitmap);
	dense->fresh = gpucol_budget_alloc_zeroed(memory, bitmap);
	dense->delta_sums = gpucol_budget_alloc_zeroed(memory, sums);
	dense->fresh_sums = gpucol_budget_alloc_zeroed(memory, sums);
	dense->delta_pairs = gpucol_budget_alloc_zeroed(memory, dense->domain * sizeof(uint32_t));
	dense->in_fresh = gpucol_budget_alloc_zeroed(memory, dense->domain);
	dense->in_panel = gpucol_budget_alloc_zeroed(memory, dense->domain * sizeof(uint32_t));
	dense->is_in_panel = gpucol_budget_alloc_zeroed(memory, dense->domain);
	return dense->delta && dense->fresh && dense->delta_sums && dense->fresh_sums &&
		dense->delta_pairs && dense->in_fresh && dense->in_panel && dense->is_in_panel &&
		allocate_gathers(dense);
}

GpucolRecKernel *
gpucol_rec_samegen_dense_new(GpucolRecRun *run, uint64_t domain, GpucolRecSamegenGraphs *graphs)
{
	GpucolRecDense *dense = gpucol_budget_alloc_zeroed(&run->memory, sizeof(*dense));

	if (dense == NULL)
		return NULL;
	dense->kernel.next = dense_next;
	dense->kernel.count = dense_count;
	dense->kernel.free = dense_free;
	dense->kernel.rounds = run->stratum_rounds;
	dense->share.run = run;
	dense->domain = domain;
	dense->nids = graphs->right.n;
	dense->nwords = domain / 64;
	dense->nsums = (dense->nwords + 63) / 64;
	dense->ngathers = run->options.threads < GPUCOL_POOL_MAX_THREADS ?
		run->options.threads : GPUCOL_POOL_MAX_THREADS;
	if (!allocate(dense))
	{
		dense_free(run, &dense->kernel);
		return NULL;
	}
	for (int i = 0; i < GPUCOL_REC_DENSE_LOCKS; i++)
		atomic_flag_clear(&dense->locks[i]);
	/* next() starts by running a round: the delta has been delivered */
	dense->at_row = domain;
	dense->graphs = *graphs;
	memset(graphs, 0, sizeof(*graphs));
	return &dense->kernel;
}

void
gpucol_rec_samegen_dense_set_full(GpucolRecKernel *kernel, uint64_t *full)
{
	((GpucolRecDense *) kernel)->full = full;
}

void
gpucol_rec_samegen_dense_add(GpucolRecKernel *kernel, uint32_t x, uint32_t y)
{
	GpucolRecDense *dense = (GpucolRecDense *) kernel;

	dense->delta[x * dense->nwords + y / 64] |= UINT64_C(1) << (y % 64);
	dense->delta_sums[x * dense->nsums + y / 4096] |= UINT64_C(1) << (y / 64 % 64);
	dense->delta_pairs[x]++;
}
