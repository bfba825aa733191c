/*-------------------------------------------------------------------------
 *
 * rank_dp.cuh
 *	  U-Topk over many groups by dynamic programming, to check the heap against.
 *
 * Algorithm 2 of Chang et al.: one block a group, thread j holds column j
 * of the row in registers and gets column j - 1 from its neighbour, through
 * shared memory at warp boundaries; choices are ballots.  A row costs one
 * barrier, which also decides whether any column can still win.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_RANK_DP_CUH
#define GPUCOL_TEST_RANK_DP_CUH

#include "cuda/base/launch.cuh"
#include "cuda/ranking/rank_kernels.cuh"
#include "test/unit/rank_dp.h"

namespace
{

/* The column to the left: from the neighbouring lane, or the warp before. */
__device__ GpucolPair
dp_left(GpucolPair cell, const GpucolPair *edges, int j)
{
	GpucolPair	left;

	left.hi = __shfl_up_sync(~0u, cell.hi, 1);
	left.lo = __shfl_up_sync(~0u, cell.lo, 1);
	if (threadIdx.x % 32 == 0)
	{
		left.hi = -INFINITY;
		left.lo = 0;
		if (j > 0)
			left = edges[j / 32 - 1];
	}
	return left;
}

/*
 * Grid of blocks of k + 1 threads, rounded up to warps.  bits: for each block
 * `longest` rows of one word a warp.
 */
__global__ void
dp_kernel(GpucolDeviceRankGroups groups, int32_t k, GpucolDeviceRankSet *sets, int32_t *ranks, uint32_t *all_bits)
{
	__shared__ GpucolPair edges[2][32];
	__shared__ GpucolPair best;
	__shared__ int32_t last;
	int			j = (int) threadIdx.x;
	int			words = (int) blockDim.x / 32;
	uint32_t   *bits = all_bits + (size_t) blockIdx.x * groups.longest * words;

	for (uint32_t g = blockIdx.x; g < groups.ngroups; g += gridDim.x)
	{
		const double *p = groups.p + groups.starts[g];
		int32_t		n = (int32_t) (groups.starts[g + 1] - groups.starts[g]);
		int32_t		own = gpucol_device_rank_k(groups, g, k);
		GpucolPair	cell;

		cell.hi = j == 0 ? 0 : -INFINITY;
		cell.lo = 0;
		__syncthreads();
		if (j == 0)
		{
			best.hi = -INFINITY;
			best.lo = 0;
			last = -1;
		}
		if (j % 32 == 31)
			edges[0][j / 32] = cell;
		__syncthreads();
		for (int32_t i = 0; i < n; i++)
		{
			double		log_p = log(p[i]);
			double		log_q = log1p(-p[i]);
			GpucolPair	take = gpucol_dp_times(dp_left(cell, edges[i % 2], j), log_p);
			bool		taken;
			unsigned	choice;

			cell = gpucol_dp_times(cell, log_q);
			taken = j > 0 && j <= own && gpucol_dp_beats(take, cell);
			if (taken)
				cell = take;
			choice = __ballot_sync(~0u, taken);
			if (j % 32 == 0)
				bits[(size_t) i * words + j / 32] = choice;
			if (j % 32 == 31)
				edges[(i + 1) % 2][j / 32] = cell;
			if (j == own && gpucol_dp_beats(cell, best))
			{
				best = cell;
				last = i;
			}
			/* the barrier of the row: can any column still win? */
			if (!__syncthreads_or(j <= own && !isinf(cell.hi) && !(cell.hi < best.hi - 1e-9)))
				break;
		}
		__syncthreads();
		if (j == 0)
		{
			sets[g].probability = last < 0 ? 0 : exp(best.hi) * exp(best.lo);
			sets[g].last = last;
			for (int32_t c = last < 0 ? 0 : own; c < k; c++)
				ranks[(size_t) g * k + c] = -1;
			for (int32_t i = last, c = last < 0 ? 0 : own; c > 0; i--)
				if (bits[(size_t) i * words + c / 32] >> (c % 32) & 1)
					ranks[(size_t) g * k + --c] = i;
		}
	}
}

inline int
dp_threads(int32_t k)
{
	return (k + 1 + 31) / 32 * 32;
}

}								/* namespace */

/* Bytes of `scratch` of gpucol_device_rank_dp. */
inline size_t
gpucol_device_rank_dp_scratch(uint32_t longest, int32_t k)
{
	int			threads = dp_threads(k);

	return (size_t) gpucol_launch_blocks(dp_kernel, threads, 0) * longest * (threads / 32) * sizeof(uint32_t);
}

/*
 * U-Topk of every group; k is at most 1,023.  Writes ranks[ngroups * k] directly;
 * sets[].min_* and horizon are not set.
 */
inline cudaError_t
gpucol_device_rank_dp(const GpucolDeviceRankGroups &groups, int32_t k, GpucolDeviceRankSet *sets,
			   int32_t *ranks, void *scratch, cudaStream_t stream)
{
	int			threads = dp_threads(k);
	int			blocks;

	if (threads > 1024)
		return cudaErrorInvalidValue;
	blocks = gpucol_launch_blocks(dp_kernel, threads, 0);
	dp_kernel<<<blocks, threads, 0, stream>>>(groups, k, sets, ranks, (uint32_t *) scratch);
	return cudaGetLastError();
}

#endif							/* GPUCOL_TEST_RANK_DP_CUH */
