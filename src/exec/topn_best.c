/*-------------------------------------------------------------------------
 *
 * topn_best.c
 *	  The k best values of a sort key: a min-heap of words.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/topn_best.h"

/* A byte string that is kept. */
typedef struct Kept
{
	Size		len;
	uint64		tid;			/* of its row */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} Kept;

bool
gpucol_topn_best_init(GpucolTopnBest *best, int64 k, bool descending, GpucolOrder *order,
					  GpucolBudget *budget)
{
	best->k = k;
	best->filled = 0;
	best->ties = 0;
	best->descending = descending;
	best->order = order;
	best->reserved = sizeof(int64) * (Size) k;
	if (!gpucol_budget_reserve(budget, best->reserved))
		return false;
	best->strings = order == NULL ? NULL :
		AllocSetContextCreate(CurrentMemoryContext, "gpucol best strings",
							  ALLOCSET_DEFAULT_SIZES);
	gpucol_meter_open(&best->meter, best->strings, budget);
	best->heap = MemoryContextAllocHuge(CurrentMemoryContext, best->reserved);
	return true;
}

void
gpucol_topn_best_release(GpucolTopnBest *best)
{
	pfree(best->heap);
	if (best->strings != NULL)
		MemoryContextDelete(best->strings);
	gpucol_budget_release(best->meter.budget, best->reserved + best->meter.counted);
}

void
gpucol_topn_best_clear(GpucolTopnBest *best)
{
	best->filled = best->ties = 0;
	if (best->strings != NULL)
		MemoryContextReset(best->strings);
}

bool
gpucol_topn_best_fits(GpucolTopnBest *best)
{
	return best->strings == NULL || gpucol_meter_fits(&best->meter, 0);
}

/* ---- the order of words ---- */

/* The string that a word stands for. */
static GpucolBytes
word_bytes(int64 word)
{
	const Kept *kept = (const Kept *) (intptr_t) word;

	return (GpucolBytes) {kept->data, kept->len};
}

/* More than 0: the string comes before that of the word. */
static int
compare_bytes(const GpucolTopnBest *best, const GpucolBytes *value, int64 word)
{
	GpucolBytes kept = word_bytes(word);

	return best->descending ? gpucol_order_compare(best->order, value, &kept) :
		gpucol_order_compare(best->order, &kept, value);
}

/* More than 0: a comes before b. */
static inline int
compare_words(const GpucolTopnBest *best, int64 a, int64 b)
{
	GpucolBytes bytes;

	if (best->order == NULL)
		return (a > b) - (a < b);
	bytes = word_bytes(a);
	return compare_bytes(best, &bytes, b);
}

/* Let go of a word that has left the heap. */
static inline void
drop(const GpucolTopnBest *best, int64 word)
{
	if (best->order != NULL)
		pfree((void *) (intptr_t) word);
}

/* ---- the heap ---- */

/* Replace the last value of a heap of n by v, or remove it: v is one at its end, of n + 1. */
static void
sift_down(const GpucolTopnBest *best, int64 n, int64 v)
{
	int64	   *h = best->heap;
	int64		i = 0;

	for (;;)
	{
		int64		child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && compare_words(best, h[child + 1], h[child]) < 0)
			child++;
		if (compare_words(best, h[child], v) >= 0)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = v;
}

/* This word has left a full heap: which ties are there now? */
static void
count_ties(GpucolTopnBest *best, int64 left)
{
	best->ties = compare_words(best, best->heap[0], left) == 0 ? best->ties + 1 : 0;
	drop(best, left);
}

/* Add a word that belongs into the heap. */
void
gpucol_topn_best_replace(GpucolTopnBest *best, int64 word)
{
	int64	   *h = best->heap;
	int64		last = h[0];
	int64		i;

	if (best->filled < best->k)
	{
		for (i = best->filled++; i > 0 && compare_words(best, h[(i - 1) / 2], word) > 0;
			 i = (i - 1) / 2)
			h[i] = h[(i - 1) / 2];
		h[i] = word;
		return;
	}
	sift_down(best, best->k, word);
	count_ties(best, last);
}

void
gpucol_topn_best_add_bytes(GpucolTopnBest *best, const GpucolBytes *value, uint64 tid)
{
	int			order = best->filled < best->k ? 1 :
		compare_bytes(best, value, best->heap[0]);
	Kept	   *kept;

	if (order == 0)
		best->ties++;
	if (order <= 0)
		return;
	kept = MemoryContextAllocHuge(best->strings, offsetof(Kept, data) + value->len);
	kept->len = value->len;
	kept->tid = tid;
	if (value->len > 0)
		memcpy(kept->data, value->data, value->len);
	gpucol_topn_best_replace(best, (int64) (intptr_t) kept);
}

void
gpucol_topn_best_rows(const GpucolTopnBest *best, uint64 *tids)
{
	for (int64 i = 0; i < best->filled; i++)
		tids[i] = ((const Kept *) (intptr_t) best->heap[i])->tid;
}

void
gpucol_topn_best_keep(GpucolTopnBest *best, int64 n)
{
	while (best->filled > n)
	{
		int64		last = best->heap[0];

		best->filled--;
		sift_down(best, best->filled, best->heap[best->filled]);
		count_ties(best, last);
	}
}

int64
gpucol_topn_best_last_ties(const GpucolTopnBest *best)
{
	int64		n = 0;

	for (int64 i = 0; i < best->filled; i++)
		n += compare_words(best, best->heap[i], best->heap[0]) == 0;
	return n;
}

int64
gpucol_topn_best_last(const GpucolTopnBest *best)
{
	return gpucol_topn_directed(best, best->heap[0]);
}

GpucolBytes
gpucol_topn_best_last_bytes(const GpucolTopnBest *best)
{
	return word_bytes(best->heap[0]);
}
