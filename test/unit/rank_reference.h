/*-------------------------------------------------------------------------
 *
 * rank_reference.h
 *	  Rankings of one group for tests and benches: a function for each of them, and
 *	  U-Topk by dynamic programming (Soliman et al. 2007; Algorithm 2 of Chang et al.).
 *
 *		dp(i+1, j) = max(dp(i, j-1) * p(i), dp(i, j) * (1 - p(i)))
 *
 * over sums of logarithms, compensated as pairs, with one bit a cell for the
 * choice.  Like the heap it stops at the row whose greatest cell cannot reach
 * the best value any more: every later set extends some cell of the row.
 *
 * C and C++.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_RANK_REFERENCE_H
#define GPUCOL_TEST_RANK_REFERENCE_H

#include <string.h>

#include "ranking/semantics/rank_choose.h"
#include "ranking/semantics/rank_work.h"
#include "rank_dp.h"

/*
 * U-Topk.  set[k] receives the ranks of the set in ascending order (may be
 * NULL), *probability that of the set being the top k.  *found is false when no
 * world has k tuples.
 */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_u_topk(const GpucolRankInput *in, int32_t k, GpucolRankWork *work, int32_t *set,
				   double *probability, bool *found)
{
	return gpucol_choose_u_topk(in, k, work, set, probability, found);
}

/*
 * U-kRanks: ranks[j] is the tuple for the (j+1)-th rank, or -1 where every
 * probability is below 1e-290; probability[j] (may be NULL) that probability.
 * *count <= k: how many ranks some world reaches.
 */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_u_kranks(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
					 int32_t *ranks, double *probability, int32_t *count)
{
	return gpucol_choose_u_kranks(in, k, work, ranks, probability, count);
}

/* PT-k, best tuple first: *count <= n tuples into out[n]. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_pt_k(const GpucolRankInput *in, int32_t k, double threshold, GpucolRankWork *work,
				 int32_t *out, int32_t *count)
{
	int32_t		horizon;

	return gpucol_choose_pt_k(in, k, threshold, work, out, count, &horizon);
}

/* Global-Topk, most probable first: *count <= k tuples into out[min(k, n)]. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_global_topk(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
						int32_t *out, int32_t *count)
{
	return gpucol_choose_global_topk(in, k, work, out, count);
}

/* Expected rank, least first: *count <= k tuples into out[min(k, n)]. */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_expected_topk(const GpucolRankInput *in, int32_t k, GpucolRankWork *work,
						  int32_t *out, int32_t *count)
{
	return gpucol_choose_expected_topk(in, k, work, out, count);
}

/* The expected rank of every tuple, from 0, into expected[n]. */
GPUCOL_RANK_INLINE void
gpucol_rank_expected(const GpucolRankInput *in, GpucolRankWork *work, double *expected)
{
	gpucol_choose_expectations(in, work, expected);
}

typedef struct Dp
{
	int32_t		n;
	int32_t		k;
	size_t		row_bytes;
	GpucolPair *cells;			/* [k + 1] logarithms, -inf = impossible */
	uint8_t    *taken;			/* [n] rows of k + 1 bits */
} Dp;

GPUCOL_RANK_INLINE size_t
dp_row_bytes(int32_t k)
{
	return ((size_t) k + 1 + 7) / 8;
}

/* Bytes of scratch memory that gpucol_rank_u_topk_dp needs. */
GPUCOL_RANK_INLINE size_t
gpucol_rank_dp_workspace(const GpucolRankInput *in, int32_t k)
{
	if (k > in->n)
		return 0;
	return GPUCOL_WORK_ROUND(sizeof(GpucolPair) * ((size_t) k + 1)) +
		GPUCOL_WORK_ROUND(dp_row_bytes(k) * (size_t) in->n);
}

/* Advance the row of cells by tuple i; returns its greatest cell. */
GPUCOL_RANK_INLINE double
dp_row(Dp *dp, int32_t i, double p)
{
	double		log_p = log(p);
	double		log_q = log1p(-p);
	uint8_t    *taken = dp->taken + dp->row_bytes * (size_t) i;
	double		greatest = -INFINITY;

	for (int32_t j = dp->k; j >= 0; j--)
	{
		GpucolPair	skip = gpucol_dp_times(dp->cells[j], log_q);

		if (j > 0)
		{
			GpucolPair	take = gpucol_dp_times(dp->cells[j - 1], log_p);

			if (gpucol_dp_beats(take, skip))
			{
				skip = take;
				taken[j / 8] |= (uint8_t) (1 << (j % 8));
			}
		}
		dp->cells[j] = skip;
		if (skip.hi > greatest)
			greatest = skip.hi;
	}
	return greatest;
}

/* Follow the choices back from cell (last, k). */
GPUCOL_RANK_INLINE void
dp_trace(const Dp *dp, int32_t last, int32_t *set)
{
	for (int32_t i = last, j = dp->k; j > 0; i--)
	{
		const uint8_t *taken = dp->taken + dp->row_bytes * (size_t) i;

		if (taken[j / 8] >> (j % 8) & 1)
			set[--j] = i;
	}
}

/*
 * U-Topk by dynamic programming, O(nk); independent tuples only.  Shares no arithmetic
 * with gpucol_choose_u_topk, which it checks.
 */
GPUCOL_RANK_INLINE GpucolStatus
gpucol_rank_u_topk_dp(const GpucolRankInput *in, int32_t k,
					  GpucolRankWork *work, int32_t *set, double *probability,
					  bool *found)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	Dp			dp = {in->n, k, dp_row_bytes(k), NULL, NULL};
	GpucolPair	best = {-INFINITY, 0};
	int32_t		last = -1;

	*found = false;
	*probability = 0;
	if (in->x != NULL)
		return GPUCOL_UNSUPPORTED;
	if (k > in->n)
		return GPUCOL_OK;
	dp.cells = (GpucolPair *) gpucol_work_take(&w, sizeof(GpucolPair) * ((size_t) k + 1));
	dp.taken = (uint8_t *) gpucol_work_take(&w, dp.row_bytes * (size_t) in->n);
	if (dp.taken == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int32_t j = 0; j <= k; j++)
	{
		dp.cells[j].hi = j == 0 ? 0 : -INFINITY;
		dp.cells[j].lo = 0;
	}
	for (int32_t i = 0; i < in->n; i++)
	{
		double		greatest;

		memset(dp.taken + dp.row_bytes * (size_t) i, 0, dp.row_bytes);
		if (in->p[i] <= 0)
			continue;
		if (gpucol_work_cancelled(work))
			return GPUCOL_CANCELLED;
		greatest = dp_row(&dp, i, in->p[i]);
		if (gpucol_dp_beats(dp.cells[k], best))
		{
			best = dp.cells[k];
			last = i;
		}
		if (greatest < best.hi - 1e-9 || isinf(greatest))
			break;
	}
	if (last < 0)
		return GPUCOL_OK;
	*found = true;
	*probability = exp(best.hi) * exp(best.lo);
	if (set != NULL)
		dp_trace(&dp, last, set);
	return GPUCOL_OK;
}

#endif							/* GPUCOL_TEST_RANK_REFERENCE_H */
