/*-------------------------------------------------------------------------
 *
 * rank_utopk.h
 *	  U-Topk over independent tuples by a heap and a tree of products: the
 *	  loop that the CPU runs once a group and a CUDA kernel once a thread.
 *
 * For every prefix of the ranking the likeliest set of k tuples takes the k
 * largest probabilities of the prefix (Yi et al. 2008), so a min-heap on
 * probability walks all candidates.  The probability of the candidate is
 *
 *		product of p over the heap  *  product of 1 - p over the rest
 *
 * The second factor only ever grows, for a tuple that left the heap does not
 * come back.  The first is kept as a tree of products that has the shape of
 * the heap, as Chang et al. propose, so that nothing is divided.
 *
 * Where later tuples cannot win the scan stops:
 *	- once every tuple of the heap has p >= 1/2, each further tuple can only
 *	  lower the product;
 *	- while some tuple of the heap has p < 1/2, no set with a later last tuple
 *	  exceeds the product of max(p, 1 - p) over the prefix.
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_H
#define GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_H

#include "ranking/semantics/rank_product.h"

/* One tuple of the heap, with the product of the subtree that it heads. */
typedef struct GpucolHeapNode
{
	double		p;
	int32_t		rank;
	GpucolProduct product;
} GpucolHeapNode;

/*
 * The best set found: its k tuples are those of rank <= last whose p exceeds
 * min_p, or equals it at a rank <= min_rank.
 */
typedef struct GpucolUTopk
{
	GpucolProduct probability;	/* zero: no world has k tuples */
	double		min_p;
	int32_t		min_rank;
	int32_t		last;
	int32_t		horizon;		/* tuples behind this rank were not needed, and
								 * would not be if others were added; -1 = all were */
} GpucolUTopk;

/* The worse of two: less probable, or as probable and ranked later. */
GPUCOL_RANK_INLINE bool
gpucol_heap_worse(const GpucolHeapNode *a, const GpucolHeapNode *b)
{
	return a->p < b->p || (a->p == b->p && a->rank > b->rank);
}

/* Recompute the product of node i from its own tuple and its children. */
GPUCOL_RANK_INLINE void
gpucol_heap_multiply(GpucolHeapNode *heap, int32_t k, int32_t i)
{
	GpucolProduct r = gpucol_product_of(heap[i].p);

	if (2 * (int64_t) i + 1 < k)
		r = gpucol_product_mul(r, heap[2 * i + 1].product);
	if (2 * (int64_t) i + 2 < k)
		r = gpucol_product_mul(r, heap[2 * i + 2].product);
	heap[i].product = r;
}

/* Let the tuple at node i sink to its place; products below are right. */
GPUCOL_RANK_INLINE void
gpucol_heap_sink(GpucolHeapNode *heap, int32_t k, int32_t i)
{
	int32_t		top = i;

	for (;;)
	{
		int64_t		child = 2 * (int64_t) i + 1;
		double		p = heap[i].p;
		int32_t		rank = heap[i].rank;

		if (child >= k)
			break;
		if (child + 1 < k && gpucol_heap_worse(&heap[child + 1], &heap[child]))
			child++;
		if (!gpucol_heap_worse(&heap[child], &heap[i]))
			break;
		heap[i].p = heap[child].p;
		heap[i].rank = heap[child].rank;
		heap[child].p = p;
		heap[child].rank = rank;
		i = (int32_t) child;
	}
	for (;;)
	{
		gpucol_heap_multiply(heap, k, i);
		if (i <= top)
			break;
		i = (i - 1) / 2;
	}
}

/* Take the heap's present content as the best set if it is better. */
GPUCOL_RANK_INLINE void
gpucol_utopk_offer(GpucolUTopk *best, const GpucolHeapNode *heap,
				   GpucolProduct rest, int32_t last)
{
	GpucolProduct v = gpucol_product_mul(heap[0].product, rest);

	if (gpucol_product_beats(v, best->probability))
	{
		best->probability = v;
		best->min_p = heap[0].p;
		best->min_rank = heap[0].rank;
		best->last = last;
	}
}

/* A scan between two tuples; its heap[k] lies apart. */
typedef struct GpucolUTopkScan
{
	int32_t		at;				/* next tuple */
	int32_t		filled;			/* tuples in the heap */
	GpucolProduct rest;			/* 1 - p over tuples outside the heap */
	GpucolProduct bound;		/* max(p, 1 - p) over all tuples so far */
	GpucolUTopk best;
} GpucolUTopkScan;

GPUCOL_RANK_INLINE void
gpucol_utopk_begin(GpucolUTopkScan *s)
{
	s->at = 0;
	s->filled = 0;
	s->rest = s->bound = gpucol_product_of(1.0);
	s->best.probability = gpucol_product_of(0.0);
	s->best.min_p = 0;
	s->best.min_rank = s->best.last = s->best.horizon = -1;
}

/*
 * Let tuple `rank` of probability p > 0 follow.  True if later tuples may be
 * looked at for the end of the scan: the heap is full.
 */
GPUCOL_RANK_INLINE bool
gpucol_utopk_take(GpucolUTopkScan *s, double p, int32_t rank, int32_t k,
				  GpucolHeapNode *heap)
{
	GpucolPair	likelier = gpucol_pair_complement(p);

	if (p > 0.5)
		likelier.hi = p, likelier.lo = 0;
	s->bound = gpucol_product_mul_pair(s->bound, likelier);
	if (s->filled < k)
	{
		heap[s->filled].p = p;
		heap[s->filled].rank = rank;
		if (++s->filled < k)
			return false;
		for (int32_t j = k - 1; j >= 0; j--)
			gpucol_heap_sink(heap, k, j);
		gpucol_utopk_offer(&s->best, heap, s->rest, rank);
	}
	else if (p > heap[0].p)
	{
		s->rest = gpucol_product_mul_pair(s->rest,
										  gpucol_pair_complement(heap[0].p));
		heap[0].p = p;
		heap[0].rank = rank;
		gpucol_heap_sink(heap, k, 0);
		gpucol_utopk_offer(&s->best, heap, s->rest, rank);
	}
	else
		s->rest = gpucol_product_mul_pair(s->rest, gpucol_pair_complement(p));
	return true;
}

/* Can no later tuple be the last of a likelier set?  The heap is full. */
GPUCOL_RANK_INLINE bool
gpucol_utopk_settled(const GpucolUTopkScan *s, const GpucolHeapNode *heap)
{
	return heap[0].p >= 0.5 ||
		gpucol_product_clearly_below(s->bound, s->best.probability);
}

/*
 * Scan the tuples p[0 .. n) from s->at on; stops at `until` at the latest, so
 * that a host can look for cancellation.  Returns true when the answer is final.
 */
GPUCOL_RANK_INLINE bool
gpucol_utopk_step(GpucolUTopkScan *s, const double *p, int32_t n, int32_t k,
				  GpucolHeapNode *heap, int32_t until)
{
	for (; s->at < n && s->at < until; s->at++)
	{
		if (p[s->at] <= 0 || !gpucol_utopk_take(s, p[s->at], s->at, k, heap))
			continue;
		if (gpucol_utopk_settled(s, heap))
		{
			s->best.horizon = s->at;
			return true;
		}
	}
	return s->at >= n;
}

/* Is tuple `rank` of the best set?  (Zero probabilities never are.) */
GPUCOL_RANK_INLINE bool
gpucol_utopk_member(const GpucolUTopk *best, const double *p, int32_t rank)
{
	return rank <= best->last &&
		(p[rank] > best->min_p ||
		 (p[rank] == best->min_p && rank <= best->min_rank));
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_UTOPK_H */
