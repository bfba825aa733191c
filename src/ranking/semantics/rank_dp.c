/*-------------------------------------------------------------------------
 *
 * rank_dp.c
 *	  U-Topk over independent tuples by dynamic programming, O(nk) (Soliman et
 *	  al. 2007; Algorithm 2 of Chang et al.).
 *
 *		dp(i+1, j) = max(dp(i, j-1) * p(i), dp(i, j) * (1 - p(i)))
 *
 * over sums of logarithms, compensated as pairs, with one bit a cell for the
 * choice.  Like the heap it stops at the row whose greatest cell cannot reach
 * the best value any more: every later set extends some cell of the row.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_dp.h"
#include "ranking/semantics/rank_work.h"

typedef struct Dp
{
	int32_t		n;
	int32_t		k;
	size_t		row_bytes;
	GpucolPair *cells;			/* [k + 1] logarithms, -inf = impossible */
	uint8_t    *taken;			/* [n] rows of k + 1 bits */
} Dp;

static size_t
dp_row_bytes(int32_t k)
{
	return ((size_t) k + 1 + 7) / 8;
}

size_t
gpucol_rank_dp_workspace(const GpucolRankInput *in, int32_t k)
{
	if (k > in->n)
		return 0;
	return GPUCOL_WORK_ROUND(sizeof(GpucolPair) * ((size_t) k + 1)) +
		GPUCOL_WORK_ROUND(dp_row_bytes(k) * (size_t) in->n);
}

/* Advance the row of cells by tuple i; returns its greatest cell. */
static double
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
static void
dp_trace(const Dp *dp, int32_t last, int32_t *set)
{
	for (int32_t i = last, j = dp->k; j > 0; i--)
	{
		const uint8_t *taken = dp->taken + dp->row_bytes * (size_t) i;

		if (taken[j / 8] >> (j % 8) & 1)
			set[--j] = i;
	}
}

GpucolStatus
gpucol_rank_u_topk_dp(const GpucolRankInput *in, int32_t k,
					  GpucolRankWork *work, int32_t *set, double *probability,
					  bool *found)
{
	GpucolWorkLeft w = gpucol_work_open(work);
	Dp			dp = {.n = in->n,.k = k,.row_bytes = dp_row_bytes(k)};
	GpucolPair	best = {-INFINITY, 0};
	int32_t		last = -1;

	*found = false;
	*probability = 0;
	if (in->x != NULL)
		return GPUCOL_UNSUPPORTED;
	if (k > in->n)
		return GPUCOL_OK;
	dp.cells = gpucol_work_take(&w, sizeof(GpucolPair) * ((size_t) k + 1));
	dp.taken = gpucol_work_take(&w, dp.row_bytes * (size_t) in->n);
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
