/*-------------------------------------------------------------------------
 *
 * rank_counts.h
 *	  The distribution of the number of better tuples, tuple after tuple:
 *	  everything but U-Topk and expected ranks reads it.
 *
 * The step that rank_walk.h takes once a tuple; kernels with a lane a slot take
 * the same step (cuda/ranking/rank_counts.cu, cuda/ranking/rank_split.cu).
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_SEMANTICS_RANK_COUNTS_H
#define GPUCOL_RANKING_SEMANTICS_RANK_COUNTS_H

#include <stdint.h>

#include "ranking/semantics/rank_product.h"

/* Probabilities below this count as 0. */
#define GPUCOL_COUNT_TINY	1e-290

/*
 * Pr[N = c] for c < slots, kept by room left: room[slots - 1 - c], so that the
 * step reads ahead in ascending order.  Only [lo, hi] is nonzero; lo > hi: all
 * zero.  room[slots] is 0 always.
 */
typedef struct GpucolCounts
{
	double	   *room;			/* [slots + 1] */
	int32_t		slots;
	int32_t		lo;
	int32_t		hi;
	double		full;			/* Pr[N >= slots] */
} GpucolCounts;

/* N = 0 */
GPUCOL_RANK_INLINE void
gpucol_counts_begin(GpucolCounts *c)
{
	for (int32_t m = 0; m <= c->slots; m++)
		c->room[m] = 0;
	c->lo = c->hi = c->slots - 1;
	c->room[c->lo] = 1;
	c->full = 0;
}

/* Add one independent tuple that exists with probability p, q = 1 - p. */
GPUCOL_RANK_INLINE void
gpucol_counts_add(GpucolCounts *c, double p, double q)
{
	double	   *room = c->room;
	int32_t		hi = c->hi;

	if (c->lo > hi)
		return;
	if (c->lo == 0)
		c->full += room[0] * p;
	else if (room[c->lo] * p >= GPUCOL_COUNT_TINY)
		c->lo--;
	for (int32_t m = c->lo; m <= hi; m++)
		room[m] = room[m] * q + room[m + 1] * p;
	while (hi >= c->lo && room[hi] < GPUCOL_COUNT_TINY)
		room[hi--] = 0;
	c->hi = hi;
	while (c->lo <= hi && room[c->lo] < GPUCOL_COUNT_TINY)
		room[c->lo++] = 0;
}

/* Sum of room[from .. to]. */
GPUCOL_RANK_INLINE double
gpucol_counts_sum(const double *room, int32_t from, int32_t to)
{
	double		s0 = 0,
				s1 = 0,
				s2 = 0,
				s3 = 0;
	int32_t		m = from;

	for (; m + 3 <= to; m += 4)
	{
		s0 += room[m];
		s1 += room[m + 1];
		s2 += room[m + 2];
		s3 += room[m + 3];
	}
	for (; m <= to; m++)
		s0 += room[m];
	return (s0 + s1) + (s2 + s3);
}

/* Keep the k greatest values in a min-heap. */
GPUCOL_RANK_INLINE void
gpucol_keep_greatest(double *h, int32_t k, int32_t filled, double v)
{
	int32_t		i;

	if (filled < k)
	{
		for (i = filled; i > 0 && h[(i - 1) / 2] > v; i = (i - 1) / 2)
			h[i] = h[(i - 1) / 2];
		h[i] = v;
		return;
	}
	if (v <= h[0])
		return;
	for (i = 0;;)
	{
		int64_t		child = 2 * (int64_t) i + 1;

		if (child >= k)
			break;
		if (child + 1 < k && h[child + 1] < h[child])
			child++;
		if (h[child] >= v)
			break;
		h[i] = h[child];
		i = (int32_t) child;
	}
	h[i] = v;
}

#endif							/* GPUCOL_RANKING_SEMANTICS_RANK_COUNTS_H */
