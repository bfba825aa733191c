/*-------------------------------------------------------------------------
 *
 * rank_dp.h
 *	  Cells of the dynamic programming for U-Topk (rank_reference.h, test/gpu/rank_dp.cuh):
 *	  sums of logarithms, compensated as pairs; -infinity is impossible.
 *
 * Freestanding: C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_RANK_DP_H
#define GPUCOL_TEST_RANK_DP_H

#include <math.h>

#include "ranking/semantics/rank_product.h"

/* a + log of a factor */
GPUCOL_RANK_INLINE GpucolPair
gpucol_dp_times(GpucolPair a, double log_factor)
{
	if (isinf(a.hi) || isinf(log_factor))
	{
		a.hi = -INFINITY;
		a.lo = 0;
		return a;
	}
	return gpucol_pair_add(a, log_factor);
}

/* a > b by more than a tie */
GPUCOL_RANK_INLINE bool
gpucol_dp_beats(GpucolPair a, GpucolPair b)
{
	if (isinf(a.hi) || isinf(b.hi))
		return a.hi > b.hi;
	return (a.hi - b.hi) + (a.lo - b.lo) > GPUCOL_RANK_TIE;
}

#endif							/* GPUCOL_TEST_RANK_DP_H */
