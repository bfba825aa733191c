/*-------------------------------------------------------------------------
 *
 * topn_best.h
 *	  The k best values of a sort key: a min-heap of words.
 *
 * Values that sort like int64 are words themselves, turned so that greater ones come
 * first.  Byte strings are kept, and words are their addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPN_BEST_H
#define GPUCOL_EXEC_TOPN_BEST_H

#include "postgres.h"

#include "lower/order.h"
#include "service/memory.h"

typedef struct GpucolTopnBest
{
	int64	   *heap;			/* [k] */
	int64		k;
	int64		filled;
	int64		ties;			/* others that were added and equal the k-th best */
	bool		descending;
	GpucolOrder *order;			/* of byte strings, or NULL */
	MemoryContext strings;		/* that are kept */
	GpucolMeter meter;			/* of them */
	Size		reserved;		/* for the heap */
} GpucolTopnBest;

/*
 * In the current memory context, and counted in a budget until it is released; false
 * where that has no room for k values.
 */
extern bool gpucol_topn_best_init(GpucolTopnBest *best, int64 k, bool descending,
								  GpucolOrder *order, GpucolBudget *budget);
extern void gpucol_topn_best_replace(GpucolTopnBest *best, int64 word);
extern void gpucol_topn_best_release(GpucolTopnBest *best);

/* Forget the values. */
extern void gpucol_topn_best_clear(GpucolTopnBest *best);

/* Remove all but the n > 0 best. */
extern void gpucol_topn_best_keep(GpucolTopnBest *best, int64 n);

/* How many of the values kept equal the last of them? */
extern int64 gpucol_topn_best_last_ties(const GpucolTopnBest *best);

/* Add a byte string of a row; tid 0: of none. */
extern void gpucol_topn_best_add_bytes(GpucolTopnBest *best, const GpucolBytes *value, uint64 tid);

/* The rows of the byte strings kept, in no order: best->filled of them. */
extern void gpucol_topn_best_rows(const GpucolTopnBest *best, uint64 *tids);

/* Has the budget room for the strings that are kept? */
extern bool gpucol_topn_best_fits(GpucolTopnBest *best);

/* The last of the values kept: one that sorts like int64, or a string, valid while kept. */
extern int64 gpucol_topn_best_last(const GpucolTopnBest *best);
extern GpucolBytes gpucol_topn_best_last_bytes(const GpucolTopnBest *best);

/* Words that are greater first in the wanted order, and back. */
static inline int64
gpucol_topn_directed(const GpucolTopnBest *best, int64 v)
{
	return best->descending ? v : ~v;
}

/* Add a value that sorts like int64. */
static inline void
gpucol_topn_best_add(GpucolTopnBest *best, int64 v)
{
	v = gpucol_topn_directed(best, v);
	if (best->filled < best->k || v > best->heap[0])
		gpucol_topn_best_replace(best, v);
	else if (v == best->heap[0])
		best->ties++;
}

#endif							/* GPUCOL_EXEC_TOPN_BEST_H */
