/*-------------------------------------------------------------------------
 *
 * cpu_recursive_pairs_dense.c
 *	  Recursion that moves both columns of a pair at once, over bitmaps.
 *
 * r is a square bitmap, one row of bits for each first value.  A round takes
 * each row a of the delta, gathers the bits y that f gives to its b, and adds
 * that set to the row of every x that e gives to a, 64 pairs an instruction.
 * Sets are sparse or dense; a summary of the non-zero words of each row, of
 * the delta as of the gathered set, keeps the cost of a sparse one to those.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu_recursive_pairs.h"
#include "engine/cpu_recursive_share.h"

#define LOCKS	1024

/* Rows that a thread takes at a time. */
#define DEAL	16

/* What one thread gathers a row in. */
typedef struct Gather
{
	uint64_t   *bits;			/* a row, zero between uses */
	uint64_t   *summary;		/* its non-zero words */
	uint64_t	nwords;			/* how many they are */
	uint64_t	merged;			/* pairs that the thread has added to full */
} Gather;

typedef struct Pairs
{
	GpucolRecKernel kernel;
	uint64_t	domain;			/* rows, and bits of a row */
	uint64_t	nwords;			/* words of a row */
	uint64_t	nsums;			/* words of the summary of a row */
	uint64_t   *full;
	uint64_t   *delta;
	uint64_t   *fresh;
	uint64_t   *delta_sums;		/* by row: its non-zero words, as bits */
	uint64_t   *fresh_sums;
	uint8_t    *in_delta;		/* rows of delta with a bit */
	uint8_t    *in_fresh;
	GpucolRecPairsGraphs graphs;
	Gather	   *gathers;		/* one for each thread */
	int			ngathers;
	atomic_flag locks[LOCKS];	/* of rows of fresh */
	GpucolRecShare share;
	bool		ended;

	/* next(): where we are in delta */
	uint64_t	at_word;		/* of the whole bitmap */
	uint64_t	at_bits;
} Pairs;

static size_t
bitmap_size(const Pairs *pairs)
{
	return pairs->domain * pairs->nwords * sizeof(uint64_t);
}

static size_t
summary_size(const Pairs *pairs)
{
	return pairs->nsums * sizeof(uint64_t);
}

/* Gather the y that f gives to one b; how many. */
static inline uint64_t
gather_one(const Pairs *pairs, Gather *gather, uint64_t b)
{
	uint64_t	first;
	uint64_t	last;

	if (b >= pairs->graphs.right.n)
		return 0;
	first = pairs->graphs.right.start[b];
	last = pairs->graphs.right.start[b + 1];
	for (uint64_t e = first; e < last; e++)
	{
		uint32_t	y = pairs->graphs.right.to[e];

		gather->bits[y / 64] |= UINT64_C(1) << (y % 64);
		gather->summary[y / 4096] |= UINT64_C(1) << (y / 64 % 64);
	}
	return last - first;
}

/* Gather the y of every b in row a of the delta; false if the work is to end. */
static inline bool
gather_row(Pairs *pairs, int worker, uint64_t a)
{
	Gather	   *gather = &pairs->gathers[worker];
	const uint64_t *row = pairs->delta + a * pairs->nwords;
	const uint64_t *sums = pairs->delta_sums + a * pairs->nsums;
	uint64_t	s;

	for (s = 0; s < pairs->nsums; s++)
	{
		uint64_t	words = sums[s];
		uint64_t	steps = 1;

		for (; words != 0; words &= words - 1)
		{
			uint64_t	w = s * 64 + (uint64_t) __builtin_ctzll(words);
			uint64_t	bits = row[w];

			for (; bits != 0; bits &= bits - 1)
				steps += gather_one(pairs, gather,
									w * 64 + (uint64_t) __builtin_ctzll(bits));
		}
		if (gpucol_rec_share_stopped(&pairs->share, worker, steps))
			return false;
	}
	gather->nwords = 0;
	for (s = 0; s < pairs->nsums; s++)
		gather->nwords += (uint64_t) __builtin_popcountll(gather->summary[s]);
	return true;
}

/* Add the gathered set, less what is known, to row x of fresh. */
static void
add_gathered(const Pairs *pairs, const Gather *gather, uint64_t x)
{
	const uint64_t *full = pairs->full + x * pairs->nwords;
	uint64_t   *fresh = pairs->fresh + x * pairs->nwords;
	uint64_t   *sums = pairs->fresh_sums + x * pairs->nsums;
	uint64_t	any = 0;
	uint64_t	s;

	for (s = 0; s < pairs->nsums; s++)
	{
		uint64_t	words = gather->summary[s];
		uint64_t	touched = 0;

		for (; words != 0; words &= words - 1)
		{
			int			bit = __builtin_ctzll(words);
			uint64_t	w = s * 64 + (uint64_t) bit;
			uint64_t	more = gather->bits[w] & ~full[w];

			fresh[w] |= more;
			touched |= (uint64_t) (more != 0) << bit;
		}
		sums[s] |= touched;
		any |= touched;
	}
	if (any != 0)
		pairs->in_fresh[x] = 1;
}

static void
clear_gathered(const Pairs *pairs, Gather *gather)
{
	uint64_t	s;

	for (s = 0; s < pairs->nsums; s++)
	{
		uint64_t	words = gather->summary[s];

		for (; words != 0; words &= words - 1)
			gather->bits[s * 64 + (uint64_t) __builtin_ctzll(words)] = 0;
		gather->summary[s] = 0;
	}
}

/* Spread row a of the delta. */
GPUCOL_REC_CLONES
static void
spread_row(Pairs *pairs, int worker, uint64_t a)
{
	Gather	   *gather = &pairs->gathers[worker];
	uint64_t	e;

	if (!gather_row(pairs, worker, a))
		return;
	for (e = pairs->graphs.left.start[a]; e < pairs->graphs.left.start[a + 1]; e++)
	{
		uint32_t	x = pairs->graphs.left.to[e];
		atomic_flag *lock = &pairs->locks[x % LOCKS];

		if (gpucol_rec_share_stopped(&pairs->share, worker, gather->nwords))
			return;
		while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
			;
		add_gathered(pairs, gather, x);
		atomic_flag_clear_explicit(lock, memory_order_release);
	}
	clear_gathered(pairs, gather);
}

/* An item of the first half of a round: a row of the delta, if there is one and it leads on. */
static void
spread_item(void *context, int worker, uint64_t a)
{
	Pairs	   *pairs = context;

	if (pairs->in_delta[a] &&
		pairs->graphs.left.start[a] < pairs->graphs.left.start[a + 1])
		spread_row(pairs, worker, a);
}

/* Clear row x of the old delta. */
static void
clear_row(Pairs *pairs, uint64_t x)
{
	uint64_t   *row = pairs->delta + x * pairs->nwords;
	uint64_t   *sums = pairs->delta_sums + x * pairs->nsums;
	uint64_t	s;

	for (s = 0; s < pairs->nsums; s++)
	{
		uint64_t	words = sums[s];

		for (; words != 0; words &= words - 1)
			row[s * 64 + (uint64_t) __builtin_ctzll(words)] = 0;
		sums[s] = 0;
	}
}

/* Add row x of fresh to full; how many pairs it has. */
GPUCOL_REC_CLONES
static uint64_t
merge_row(Pairs *pairs, uint64_t x)
{
	uint64_t   *full = pairs->full + x * pairs->nwords;
	const uint64_t *fresh = pairs->fresh + x * pairs->nwords;
	const uint64_t *sums = pairs->fresh_sums + x * pairs->nsums;
	uint64_t	n = 0;
	uint64_t	s;

	for (s = 0; s < pairs->nsums; s++)
	{
		uint64_t	words = sums[s];

		for (; words != 0; words &= words - 1)
		{
			uint64_t	w = s * 64 + (uint64_t) __builtin_ctzll(words);

			full[w] |= fresh[w];
			n += (uint64_t) __builtin_popcountll(fresh[w]);
		}
	}
	return n;
}

/* An item of the second half: row x leaves the delta, and what is fresh of it comes. */
static void
settle_item(void *context, int worker, uint64_t x)
{
	Pairs	   *pairs = context;

	if (pairs->in_delta[x])
		clear_row(pairs, x);
	pairs->in_delta[x] = pairs->in_fresh[x];
	pairs->in_fresh[x] = 0;
	if (!pairs->in_delta[x] ||
		gpucol_rec_share_stopped(&pairs->share, worker, pairs->nwords))
		return;
	pairs->gathers[worker].merged += merge_row(pairs, x);
}

/* What fresh is becomes the delta, and the old delta, cleared, fresh. */
static void
swap_delta(Pairs *pairs)
{
	uint64_t   *delta = pairs->delta;
	uint64_t   *sums = pairs->delta_sums;

	pairs->delta = pairs->fresh;
	pairs->delta_sums = pairs->fresh_sums;
	pairs->fresh = delta;
	pairs->fresh_sums = sums;
}

/* Run a round: fresh becomes the next delta. */
static GpucolStatus
run_round(GpucolRecRun *run, Pairs *pairs)
{
	uint64_t	rows = pairs->graphs.left.n < pairs->domain ?
		pairs->graphs.left.n : pairs->domain;

	GPUCOL_REC_TRY(gpucol_rec_pairs_begin_round(run, &pairs->kernel));
	GPUCOL_REC_TRY(gpucol_rec_share_run(&pairs->share, run->options.threads, rows, DEAL,
										spread_item, pairs));
	GPUCOL_REC_TRY(gpucol_rec_share_run(&pairs->share, run->options.threads, pairs->domain,
										DEAL, settle_item, pairs));
	run->progress.delta = 0;
	for (int i = 0; i < pairs->ngathers; i++)
	{
		run->progress.delta += pairs->gathers[i].merged;
		pairs->gathers[i].merged = 0;
	}
	swap_delta(pairs);
	pairs->ended = run->progress.delta == 0;
	run->progress.full += run->progress.delta;
	return GPUCOL_OK;
}

static GpucolStatus
pairs_next(GpucolRecRun *run, GpucolRecKernel *kernel, uint32_t *out,
		   uint32_t n, uint32_t *produced)
{
	Pairs	   *pairs = (Pairs *) kernel;
	uint64_t	last = pairs->domain * pairs->nwords;

	*produced = 0;
	while (*produced < n && !pairs->ended)
	{
		while (pairs->at_bits != 0 && *produced < n)
		{
			out[2 * *produced] = (uint32_t) (pairs->at_word / pairs->nwords);
			out[2 * *produced + 1] =
				(uint32_t) (pairs->at_word % pairs->nwords * 64) +
				(uint32_t) __builtin_ctzll(pairs->at_bits);
			pairs->at_bits &= pairs->at_bits - 1;
			(*produced)++;
		}
		if (pairs->at_bits != 0)
			break;
		/* at_word is one before the word to read next at the start */
		while (++pairs->at_word < last)
		{
			if (pairs->at_word % pairs->nwords == 0 &&
				!pairs->in_delta[pairs->at_word / pairs->nwords])
			{
				pairs->at_word += pairs->nwords - 1;
				continue;
			}
			pairs->at_bits = pairs->delta[pairs->at_word];
			if (pairs->at_bits != 0)
				break;
		}
		if (pairs->at_word >= last)
		{
			GPUCOL_REC_TRY(run_round(run, pairs));
			pairs->at_word = UINT64_MAX;
		}
	}
	return GPUCOL_OK;
}

/* Count the rows of the delta. */
GPUCOL_REC_CLONES
static void
count_delta(const Pairs *pairs, uint64_t *nrows, uint64_t *first,
			uint64_t *second)
{
	uint64_t	x;
	uint64_t	s;
	uint64_t	words;

	for (x = 0; x < pairs->domain; x++)
	{
		const uint64_t *row = pairs->delta + x * pairs->nwords;
		const uint64_t *sums = pairs->delta_sums + x * pairs->nsums;
		uint64_t	n = 0;

		if (!pairs->in_delta[x])
			continue;
		for (s = 0; s < pairs->nsums; s++)
			for (words = sums[s]; words != 0; words &= words - 1)
			{
				uint64_t	w = s * 64 + (uint64_t) __builtin_ctzll(words);
				uint64_t	bits = row[w];

				n += (uint64_t) __builtin_popcountll(bits);
				for (; second != NULL && bits != 0; bits &= bits - 1)
					second[w * 64 + (uint64_t) __builtin_ctzll(bits)]++;
			}
		*nrows += n;
		if (first != NULL)
			first[x] += n;
	}
}

/* Rows after those of the table: run to the end, counting each delta. */
static GpucolStatus
pairs_count(GpucolRecRun *run, GpucolRecKernel *kernel, uint64_t *nrows,
			uint64_t *first, uint64_t *second)
{
	Pairs	   *pairs = (Pairs *) kernel;

	*nrows = 0;
	while (!pairs->ended)
	{
		GPUCOL_REC_TRY(run_round(run, pairs));
		count_delta(pairs, nrows, first, second);
	}
	return GPUCOL_OK;
}

static void
pairs_free(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	Pairs	   *pairs = (Pairs *) kernel;
	GpucolRecMemory *memory = &run->memory;
	int			i;

	gpucol_rec_free(memory, pairs->full, pairs->full ? bitmap_size(pairs) : 0);
	gpucol_rec_free(memory, pairs->delta, pairs->delta ? bitmap_size(pairs) : 0);
	gpucol_rec_free(memory, pairs->fresh, pairs->fresh ? bitmap_size(pairs) : 0);
	gpucol_rec_free(memory, pairs->delta_sums,
					pairs->domain * summary_size(pairs));
	gpucol_rec_free(memory, pairs->fresh_sums,
					pairs->domain * summary_size(pairs));
	gpucol_rec_free(memory, pairs->in_delta, pairs->domain);
	gpucol_rec_free(memory, pairs->in_fresh, pairs->domain);
	gpucol_rec_pairs_graphs_free(run, &pairs->graphs);
	for (i = 0; pairs->gathers != NULL && i < pairs->ngathers; i++)
	{
		gpucol_rec_free(memory, pairs->gathers[i].bits,
						pairs->nwords * sizeof(uint64_t));
		gpucol_rec_free(memory, pairs->gathers[i].summary, summary_size(pairs));
	}
	gpucol_rec_free(memory, pairs->gathers, pairs->ngathers * sizeof(Gather));
	gpucol_rec_free(memory, pairs, sizeof(*pairs));
}

static GpucolStatus
allocate(GpucolRecRun *run, Pairs *pairs)
{
	GpucolRecMemory *memory = &run->memory;
	int			i;

	pairs->delta = gpucol_rec_alloc_zeroed(memory, bitmap_size(pairs));
	pairs->fresh = gpucol_rec_alloc_zeroed(memory, bitmap_size(pairs));
	pairs->delta_sums = gpucol_rec_alloc_zeroed(memory, pairs->domain *
												summary_size(pairs));
	pairs->fresh_sums = gpucol_rec_alloc_zeroed(memory, pairs->domain *
												summary_size(pairs));
	pairs->in_delta = gpucol_rec_alloc_zeroed(memory, pairs->domain);
	pairs->in_fresh = gpucol_rec_alloc_zeroed(memory, pairs->domain);
	pairs->ngathers = run->options.threads;
	pairs->gathers = gpucol_rec_alloc_zeroed(memory, pairs->ngathers * sizeof(Gather));
	if (!pairs->delta || !pairs->fresh || !pairs->delta_sums ||
		!pairs->fresh_sums || !pairs->in_delta || !pairs->in_fresh ||
		!pairs->gathers)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < pairs->ngathers; i++)
	{
		Gather	   *gather = &pairs->gathers[i];

		gather->bits = gpucol_rec_alloc_zeroed(memory, pairs->nwords *
											   sizeof(uint64_t));
		gather->summary = gpucol_rec_alloc_zeroed(memory, summary_size(pairs));
		if (gather->bits == NULL || gather->summary == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (i = 0; i < LOCKS; i++)
		atomic_flag_clear(&pairs->locks[i]);
	return GPUCOL_OK;
}

GpucolRecKernel *
gpucol_rec_pairs_dense_new(GpucolRecRun *run, uint64_t domain, GpucolRecPairsGraphs *graphs)
{
	Pairs	   *pairs = gpucol_rec_alloc_zeroed(&run->memory, sizeof(*pairs));

	if (pairs == NULL)
		return NULL;
	pairs->kernel.next = pairs_next;
	pairs->kernel.count = pairs_count;
	pairs->kernel.free = pairs_free;
	pairs->kernel.rounds = run->stratum_rounds;
	pairs->share.run = run;
	pairs->domain = domain;
	pairs->nwords = pairs->domain / 64;
	pairs->nsums = (pairs->nwords + 63) / 64;
	if (allocate(run, pairs) != GPUCOL_OK)
	{
		pairs_free(run, &pairs->kernel);
		return NULL;
	}
	/* next() starts by running a round: its delta has been delivered. */
	pairs->at_word = pairs->domain * pairs->nwords;
	pairs->graphs = *graphs;
	memset(graphs, 0, sizeof(*graphs));
	return &pairs->kernel;
}

void
gpucol_rec_pairs_dense_set_full(GpucolRecKernel *kernel, uint64_t *full)
{
	((Pairs *) kernel)->full = full;
}

void
gpucol_rec_pairs_dense_add(GpucolRecKernel *kernel, uint32_t x, uint32_t y)
{
	Pairs	   *pairs = (Pairs *) kernel;

	pairs->delta[x * pairs->nwords + y / 64] |= UINT64_C(1) << (y % 64);
	pairs->delta_sums[x * pairs->nsums + y / 4096] |= UINT64_C(1) << (y / 64 % 64);
	pairs->in_delta[x] = 1;
}
