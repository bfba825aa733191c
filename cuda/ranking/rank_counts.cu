/*-------------------------------------------------------------------------
 *
 * rank_counts.cu
 *	  Rankings other than U-Topk: U-kRanks, PT-k, Global-Topk and expected ranks.
 *
 * The distribution of the number of better rows is carried along a group's ranking
 * as on the CPU (ranking/semantics/rank_counts.h), by a warp: lane l has the slots l, l +
 * 32, ... of it in shared memory, or in device memory for large k.  A warp stops
 * where later rows cannot matter.
 *
 * Expected ranks are prefix sums over all groups at once.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_kernels.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "cuda/base/launch.cuh"
#include "cuda/base/tuning.cuh"
#include "ranking/semantics/rank_counts.h"

namespace
{

constexpr unsigned ALL = 0xffffffffu;

/* GpucolCounts of a warp; all lanes have equal copies. */
struct WarpCounts
{
	double	   *room;			/* [slots + 1] */
	int32_t		slots;
	int32_t		lo;
	int32_t		hi;
	double		full;

	__device__ void
	begin(double *memory, int32_t n, int lane)
	{
		room = memory;
		slots = n;
		for (int32_t m = lane; m <= n; m += 32)
			room[m] = m == n - 1 ? 1 : 0;
		lo = hi = n - 1;
		full = 0;
		__syncwarp();
	}

	/* gpucol_counts_add */
	__device__ void
	add(double p, double q, int lane)
	{
		if (lo > hi)
			return;
		if (lo == 0)
			full += room[0] * p;
		else if (room[lo] * p >= GPUCOL_COUNT_TINY)
			lo--;
		__syncwarp();
		for (int32_t base = lo; base <= hi; base += 32)
		{
			int32_t		m = base + lane;
			double		x = m <= hi ? room[m] * q + room[m + 1] * p : 0;

			__syncwarp();
			if (m <= hi)
				room[m] = x;
			__syncwarp();
		}
		while (hi >= lo && room[hi] < GPUCOL_COUNT_TINY)
		{
			__syncwarp();
			if (lane == 0)
				room[hi] = 0;
			hi--;
		}
		while (lo <= hi && room[lo] < GPUCOL_COUNT_TINY)
		{
			__syncwarp();
			if (lane == 0)
				room[lo] = 0;
			lo++;
		}
		__syncwarp();
	}

	/* Pr[fewer than `slots` better rows], each form where it is accurate */
	__device__ double
	below(int lane) const
	{
		double		sum = 0;

		if (full < 0.5)
			return 1 - full;
		for (int32_t m = lo + lane; m <= hi; m += 32)
			sum += room[m];
		for (int d = 16; d > 0; d >>= 1)
			sum += __shfl_xor_sync(ALL, sum, d);
		return sum;
	}
};

/* Shared memory of a block, or its part of the scratch memory. */
struct CountsMemory
{
	double	   *spill;			/* NULL: shared memory */
	size_t		warp_doubles;

	__device__ double *
	of_warp() const
	{
		extern __shared__ double shared[];

		return (spill ? spill + (size_t) blockIdx.x * (blockDim.x / 32) * warp_doubles : shared) +
			threadIdx.x / 32 * warp_doubles;
	}
};

/* Rows between looks at `cancel`. */
constexpr int32_t LOOK_EVERY = 256;

/*
 * Walk a group's n rows: row(i, p, Pr[fewer than `slots` better rows]) for each that
 * may exist, with the distribution before it in c, until that is empty or row says
 * false.  Is what the ranking wants settled, whatever rows would follow?
 */
template <class Row>
__device__ bool
walk(const GpucolDeviceRankGroups &groups, const double *p, int32_t n, WarpCounts &c, int lane, Row row)
{
	for (int32_t i = 0; i < n && c.lo <= c.hi; i++)
	{
		double		here = p[i];

		if (i % LOOK_EVERY == 0 && gpucol_device_rank_warp_given_up(groups.cancel))
			return false;
		if (here <= 0)
			continue;
		if (!row(i, here, c.below(lane)))
			return true;
		c.add(here, 1 - here, lane);
	}
	return c.lo > c.hi;
}

struct UkRanks
{
	GpucolDeviceRankPicks picks;

	/* Can no later row be likelier than the best so far at any rank? */
	__device__ static bool
	settled(const WarpCounts &c, const double *best, int32_t k, double below, int lane)
	{
		double		before = 0;

		if (below >= best[k - 1])
			return false;
		for (int32_t base = 0; base < k; base += 32)
		{
			int32_t		j = base + lane;
			double		at_most = j < k ? c.room[k - 1 - j] : 0;

			for (int d = 1; d < 32; d <<= 1)
			{
				double		other = __shfl_up_sync(ALL, at_most, d);

				if (lane >= d)
					at_most += other;
			}
			at_most += before;
			if (__any_sync(ALL, j < k && at_most >= best[j]))
				return false;
			before = __shfl_sync(ALL, at_most, 31);
		}
		return true;
	}

	__device__ void
	group(const GpucolDeviceRankGroups &groups, uint32_t g, int32_t k, double *memory, int lane) const
	{
		const double *p = groups.p + groups.starts[g];
		int32_t		n = gpucol_device_rank_rows(groups, g);
		int32_t    *ranks = picks.ranks + (size_t) g * picks.stride;
		double	   *best = memory + k + 2;
		int32_t		wanted = k;
		int32_t		reached = 0;
		bool		done = false;
		WarpCounts	c = {};

		/* how many ranks some world reaches */
		for (int32_t i = 0; i < n && reached < k; i += 32)
			reached += __popc(__ballot_sync(ALL, i + lane < n && p[i + lane] > 0));
		k = min(reached, k);
		if (lane == 0)
			picks.counts[g] = k;
		for (int32_t j = lane; j < k; j += 32)
		{
			best[j] = 0;
			ranks[j] = -1;
		}
		__syncwarp();
		if (k > 0)
		{
			c.begin(memory, k, lane);
			done = walk(groups, p, n, c, lane, [&](int32_t i, double here, double below)
			{
				for (int32_t m = c.lo + lane; m <= c.hi; m += 32)
				{
					int32_t		j = k - 1 - m;
					double		at_rank = here * c.room[m];

					if (at_rank > best[j] * (1 + GPUCOL_RANK_TIE))
					{
						best[j] = at_rank;
						ranks[j] = i;
					}
				}
				__syncwarp();
				return i % 16 != 15 || !settled(c, best, k, below, lane);
			});
		}
		if (lane == 0 && picks.settled)
			picks.settled[g] = k == wanted && done;
		__syncwarp();
	}
};

struct PtK
{
	GpucolDeviceRankPicks picks;
	double		threshold;

	__device__ void
	group(const GpucolDeviceRankGroups &groups, uint32_t g, int32_t k, double *memory, int lane) const
	{
		const double *p = groups.p + groups.starts[g];
		int32_t		n = gpucol_device_rank_rows(groups, g);
		int32_t    *ranks = picks.ranks + groups.starts[g];
		double		bar = threshold * (1 - GPUCOL_RANK_TIE);
		int32_t		count = 0;
		bool		done = n == 0;
		WarpCounts	c = {};

		if (n > 0)
		{
			c.begin(memory, min(k, n), lane);
			done = walk(groups, p, n, c, lane, [&](int32_t i, double here, double below)
			{
				if (below < bar * (1 - 1e-9))
					return false;
				if (fmin(here * below, 1.0) >= bar)
				{
					if (lane == 0)
						ranks[count] = i;
					count++;
				}
				return true;
			});
		}
		if (lane == 0)
		{
			picks.counts[g] = count;
			if (picks.settled)
				picks.settled[g] = done;
		}
		__syncwarp();
	}
};

struct Global
{
	double	   *figures;
	uint8_t    *settled;

	__device__ void
	group(const GpucolDeviceRankGroups &groups, uint32_t g, int32_t k, double *memory, int lane) const
	{
		uint32_t	start = groups.starts[g];
		const double *p = groups.p + start;
		int32_t		n = gpucol_device_rank_rows(groups, g);
		int32_t		all = (int32_t) (groups.starts[g + 1] - start);
		int32_t		wanted = k;
		double	   *least = memory + k + 2;
		int32_t		filled = 0;
		bool		done = false;
		WarpCounts	c = {};

		for (int32_t i = lane; i < all; i += 32)
			figures[start + i] = -INFINITY;
		__syncwarp();
		k = min(k, n);
		if (n > 0)
		{
			c.begin(memory, k, lane);
			done = walk(groups, p, n, c, lane, [&](int32_t i, double here, double below)
			{
				double		value = fmin(here * below, 1.0);

				if (filled == k && below < least[0] * (1 - 1e-9))
					return false;
				if (lane == 0)
				{
					figures[start + i] = value;
					gpucol_keep_greatest(least, k, filled, value);
				}
				filled = min(filled + 1, k);
				__syncwarp();
				return true;
			});
		}
		if (lane == 0 && settled)
			settled[g] = k == wanted && done;
		__syncwarp();
	}
};

template <class Ranking>
__global__ void
counts_kernel(GpucolDeviceRankGroups groups, int32_t k, Ranking ranking, CountsMemory memory)
{
	double	   *mine = memory.of_warp();
	int			lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * (blockDim.x / 32);

	for (uint32_t g = (blockIdx.x * blockDim.x + threadIdx.x) / 32; g < groups.ngroups; g += warps)
	{
		if (gpucol_device_rank_warp_given_up(groups.cancel))
			break;
		ranking.group(groups, g, gpucol_device_rank_k(groups, g, k), mine, lane);
	}
}

/* Doubles that a warp needs: the distribution, and as many beside it. */
size_t
warp_doubles(int32_t k)
{
	return 2 * ((size_t) k + 2);
}

/* Warps of a block whose memory is shared memory; 0: device memory it is. */
int
counts_warps(int32_t k)
{
	int			warps = GPUCOL_DEVICE_RANK_THREADS / 32;

	while (warps > 0 && warps * warp_doubles(k) * sizeof(double) > gpucol_device_rank_shared())
		warps /= 2;
	return warps;
}

/* Blocks of one warp where memory is the device's: few, for its sake. */
int
counts_spill_blocks()
{
	int			device = 0,
				processors = 1;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	return processors;
}

template <class Ranking>
cudaError_t
launch_counts(const GpucolDeviceRankGroups &groups, int32_t k, const Ranking &ranking, void *scratch,
			  cudaStream_t stream)
{
	int			warps = counts_warps(k);
	CountsMemory memory = {warps == 0 ? (double *) scratch : NULL, warp_doubles(k)};
	size_t		shared = warps * warp_doubles(k) * sizeof(double);

	if (warps == 0)
	{
		counts_kernel<<<counts_spill_blocks(), 32, 0, stream>>>(groups, k, ranking, memory);
		return cudaGetLastError();
	}
	counts_kernel<<<gpucol_launch_blocks(counts_kernel<Ranking>, warps * 32, shared), warps * 32, shared, stream>>>
		(groups, k, ranking, memory);
	return cudaGetLastError();
}

}								/* namespace */

size_t
gpucol_device_rank_counts_scratch(int32_t k)
{
	return counts_warps(k) > 0 ? 0 : counts_spill_blocks() * warp_doubles(k) * sizeof(double);
}

cudaError_t
gpucol_device_rank_u_kranks(const GpucolDeviceRankGroups &groups, int32_t k, const GpucolDeviceRankPicks &picks,
					 void *scratch, cudaStream_t stream)
{
	return launch_counts(groups, k, UkRanks{picks}, scratch, stream);
}

cudaError_t
gpucol_device_rank_pt_k(const GpucolDeviceRankGroups &groups, int32_t k, double threshold,
				 const GpucolDeviceRankPicks &picks, void *scratch, cudaStream_t stream)
{
	return launch_counts(groups, k, PtK{picks, threshold}, scratch, stream);
}

cudaError_t
gpucol_device_rank_global(const GpucolDeviceRankGroups &groups, int32_t k, double *figures, uint8_t *settled,
				   void *scratch, cudaStream_t stream)
{
	return launch_counts(groups, k, Global{figures, settled}, scratch, stream);
}

/*-------------------------------------------------------------------------
 * Expected ranks
 *-------------------------------------------------------------------------
 */

namespace
{

struct AddPairs
{
	__host__ __device__ GpucolPair
	operator()(GpucolPair a, GpucolPair b) const
	{
		return gpucol_pair_add(gpucol_pair_add(a, b.hi), b.lo);
	}
};

struct PairOf
{
	__host__ __device__ GpucolPair
	operator()(double p) const
	{
		GpucolPair	r;

		r.hi = p;
		r.lo = 0;
		return r;
	}
};

/* rank_choose.h: p * better + (1 - p) * rest, all rows being independent */
__global__ void
expected_kernel(GpucolDeviceRankGroups groups, const uint32_t *group, uint32_t nrows,
				const GpucolPair *before, double *figures)
{
	GPUCOL_FOR_EACH(i, nrows)
	{
		uint32_t	last = groups.starts[group[i] + 1] - 1;
		GpucolPair	total = gpucol_pair_add(before[last], groups.p[last]);
		GpucolPair	own;
		double		p = groups.p[i];

		own.hi = p;
		own.lo = 0;
		figures[i] = p <= 0 ? -INFINITY : -(p * before[i].hi + (1 - p) * gpucol_pair_sub(total, own).hi);
	}
}

size_t
expected_scan_bytes(uint32_t nrows)
{
	size_t		bytes = 0;

	cub::DeviceScan::ExclusiveScanByKey(nullptr, bytes, (const uint32_t *) nullptr,
										thrust::make_transform_iterator((const double *) nullptr, PairOf()),
										(GpucolPair *) nullptr, AddPairs(), GpucolPair{0, 0}, (int) nrows);
	return bytes;
}

}								/* namespace */

size_t
gpucol_device_rank_expected_scratch(uint32_t nrows)
{
	return sizeof(GpucolPair) * ((size_t) nrows + 16) + expected_scan_bytes(nrows);
}

cudaError_t
gpucol_device_rank_expected(const GpucolDeviceRankGroups &groups, const uint32_t *group, uint32_t nrows,
					 double *figures, void *scratch, cudaStream_t stream)
{
	GpucolPair *before = (GpucolPair *) scratch;
	size_t		bytes = expected_scan_bytes(nrows);
	cudaError_t error;

	error = cub::DeviceScan::ExclusiveScanByKey(before + ((size_t) nrows + 15) / 16 * 16, bytes, group,
												thrust::make_transform_iterator(groups.p, PairOf()),
												before, AddPairs(), GpucolPair{0, 0}, (int) nrows,
												::cuda::std::equal_to<>(), stream);
	if (error != cudaSuccess)
		return error;
	expected_kernel<<<gpucol_launch_grid(nrows), GPUCOL_THREADS, 0, stream>>>(groups, group, nrows, before, figures);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Choosing by figure
 *-------------------------------------------------------------------------
 */

namespace
{

/* Order rows by rank: Shell sort. */
__device__ void
order_by_rank(uint32_t *order, uint32_t n, const int64_t *rank)
{
	uint32_t	gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (uint32_t j = gap; j < n; j++)
		{
			uint32_t	row = order[j];
			uint32_t	at = j;

			for (; at >= gap && rank[row] < rank[order[at - gap]]; at -= gap)
				order[at] = order[at - gap];
			order[at] = row;
		}
}

/* Rows whose figures are equal up to rounding: so many that one thread finds, and puts into order. */
constexpr uint32_t MOST_EQUAL = 1 << 20;
constexpr uint32_t MOST_ORDERED = 1 << 17;

__global__ void
choose_kernel(GpucolDeviceRankGroups chosen, uint32_t *order, const double *figure, const int64_t *rank, int32_t k,
			  GpucolDeviceRankPicks picks, uint32_t *too_many)
{
	GPUCOL_FOR_EACH(g, chosen.ngroups)
	{
		uint32_t	start = chosen.starts[g];
		uint32_t	n = chosen.starts[g + 1] - start;
		uint32_t	want = min((uint32_t) gpucol_device_rank_k(chosen, (uint32_t) g, k), n);
		uint32_t	to;

		for (uint32_t from = 0; from < want; from = to)
		{
			double		previous = figure[order[start + from]];
			uint32_t	last = min(n, from + MOST_EQUAL);

			for (to = from + 1; to < last; to++)
			{
				double		next = figure[order[start + to]];

				if (previous - next > GPUCOL_RANK_TIE * fabs(previous))
					break;
				previous = next;
			}

			/* equal figures are in the order of their ranks already */
			if ((to == last && last < n) || (previous != figure[order[start + from]] && to - from > MOST_ORDERED))
				*too_many = 1;
			else if (previous != figure[order[start + from]])
				order_by_rank(order + start + from, to - from, rank);
		}
		for (uint32_t j = 0; j < want; j++)
			picks.ranks[(size_t) g * picks.stride + j] = (int32_t) rank[order[start + j]];
		picks.counts[g] = (int32_t) want;
	}
}

}								/* namespace */

cudaError_t
gpucol_device_rank_choose(const GpucolDeviceRankGroups &chosen, uint32_t *order, const double *figure,
				   const int64_t *rank, int32_t k, const GpucolDeviceRankPicks &picks, uint32_t *too_many,
				   cudaStream_t stream)
{
	choose_kernel<<<gpucol_launch_grid(chosen.ngroups), GPUCOL_THREADS, 0, stream>>>(chosen, order, figure,
			rank, k, picks, too_many);
	return cudaGetLastError();
}
