/*-------------------------------------------------------------------------
 *
 * scan_reduce.cu
 *	  Range scans to the count, sum and extremes of a column.
 *
 * A warp goes over its run of vectors twice: first it leaves the masks of the
 * rows that pass in shared memory, then it adds up what they select.  So each
 * pass knows one width, chosen once a run and not once a vector, and has the
 * words of several vectors under way; what no row of a vector selects is not
 * read.  (Reading both columns of a vector together was slower: fewer loads are
 * under way, and columns that the filter excludes are read for nothing.)
 *
 *-------------------------------------------------------------------------
 */
#include "scan.cuh"
#include "launch.cuh"
#include "masked_sum.cuh"
#include "offsets.cuh"
#include "vector_loop.cuh"

/* Shared memory of a warp: the masks of a run, [vector][lane]. */
typedef uint32_t RunMasks[GPUCOL_RUN_VECTORS * 32];

/* Leave the masks of one range over narrow codes. */
struct StoreMasks
{
	int			lane;
	uint32_t	lo,
				hi;
	uint32_t   *own;			/* this lane's mask of vector 0 */

	template <int K> __device__ __forceinline__ void
	vector(uint32_t v, const uint32_t (&w)[K])
	{
		own[v * 32] = ordered_mask<K>(w, lo, hi);
	}
};

/* The same for codes wider than 32 bits; K is the width of the high plane. */
struct StoreWideMasks
{
	const uint32_t *vectors;
	int			lane;
	uint64_t	lo,
				hi;
	uint32_t	n;
	uint32_t	skip;
	uint32_t   *own;

	template <int K> __device__ __forceinline__ void
	run()
	{
		for (uint32_t v = 0; v < n; v++)
			if (!(skip >> v & 1))
				own[v * 32] = range_mask_wide<K>(vectors + v * (32 + K) * GPUCOL_ROW_WORDS, lane, lo, hi);
	}
};

/* Leave the masks of a run's vectors that are not in `skip`. */
__device__ __forceinline__ void
store_masks(const GpucolScanPlan &scan, const Run &run, uint32_t skip, int lane, uint32_t *own)
{
	const GpucolDeviceRange *r;
	const GpucolDeviceChunk *chunk;

	if (!plain_range(scan, run, r, chunk))
	{
		for (uint32_t v = 0; v < run.n; v++)
			if (!(skip >> v & 1))
				own[v * 32] = vector_mask(scan, run, run.first + v, lane);
		return;
	}

	const uint32_t *vectors = chunk->codes + (size_t) run.first * chunk->width * GPUCOL_ROW_WORDS;

	if (chunk->width <= 32)
	{
		StoreMasks	f = {lane, (uint32_t) r->lo, (uint32_t) r->hi, own};

		for_each_vector(chunk->width, vectors, lane, run.n, skip, f);
	}
	else
	{
		StoreWideMasks f = {vectors, lane, r->lo, r->hi, run.n, skip, own};

		dispatch_width(chunk->width - 32, f);
	}
}

/* Add up the codes that a run's masks select. */
template <bool EXTREMES>
struct SumMasked
{
	const uint32_t *own;
	unsigned long long sum;
	uint32_t	least,
				greatest;

	template <int K> __device__ __forceinline__ void
	vector(uint32_t v, const uint32_t (&w)[K])
	{
		uint32_t	mask = own[v * 32];

		sum += masked_sum<K>(w, mask);
		if (EXTREMES)
#pragma unroll
			for (int p = 0; p < 32; p++)
				if (mask >> p & 1)
				{
					greatest = max(greatest, code_at<K>(w, p));
					least = min(least, code_at<K>(w, p));
				}
	}
};

/* What a warp gathers of the column. */
struct Gathered
{
	unsigned long long sum;		/* of offsets */
	uint32_t	least,
				greatest;
};

/* Advance by the rows that masks of the vectors in `live` select, `values` of them. */
template <bool EXTREMES>
__device__ __forceinline__ void
gather_run(const GpucolDeviceChunk &chunk, const GpucolOffsetColumn &column, const Run &run,
		   uint32_t live, uint32_t values, int lane, const uint32_t *own, Gathered &g)
{
	if (chunk.coding != GPUCOL_CODING_DICT && chunk.width >= 1 && chunk.width <= 32)
	{
		SumMasked<EXTREMES> f = {own, 0, 0xffffffffu, 0};
		uint32_t	add = (uint32_t) (chunk.reference - column.base);

		for_each_vector(chunk.width, chunk.codes + (size_t) run.first * chunk.width * GPUCOL_ROW_WORDS, lane,
						run.n, ~live, f);
		g.sum += f.sum + (unsigned long long) add * values;
		if (EXTREMES && values > 0)
		{
			g.least = min(g.least, f.least + add);
			g.greatest = max(g.greatest, f.greatest + add);
		}
		return;
	}
	for (; live; live &= live - 1)
	{
		uint32_t	v = __ffs(live) - 1;
		uint32_t	offsets[32];

		load_offsets(chunk, column, run.first + v, lane, offsets);
#pragma unroll
		for (int p = 0; p < 32; p++)
			if (own[v * 32] >> p & 1)
			{
				g.sum += offsets[p];
				g.least = min(g.least, offsets[p]);
				g.greatest = max(g.greatest, offsets[p]);
			}
	}
}

template <bool EXTREMES>
__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_REDUCE_BLOCKS)
reduce_kernel(const GpucolScanPlan scan, const GpucolOffsetColumn column,
			  unsigned long long *result)
{
	__shared__ RunMasks masks[GPUCOL_SCAN_THREADS / 32];
	int			lane = threadIdx.x % 32;
	uint32_t   *own = masks[threadIdx.x / 32] + lane;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	unsigned long long rows = 0,
				count = 0;
	Gathered	g = {0, 0xffffffffu, 0};

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		const GpucolDeviceChunk &chunk = scan.chunks[run.segment * scan.ncolumns + column.slot];
		uint32_t	live = 0;
		uint32_t	values = 0;

		store_masks(scan, run, skip, lane, own);
		for (uint32_t v = 0; v < run.n; v++)
		{
			uint32_t	mask;

			if (skip >> v & 1)
				continue;
			mask = own[v * 32];
			rows += __popc(mask);
			if (chunk.all_null)
				continue;
			if (chunk.nulls)
			{
				mask &= ~lane_mask_of_rows(chunk.nulls, run.first + v, lane);
				own[v * 32] = mask;
			}
			values += __popc(mask);
			live |= (uint32_t) __any_sync(GPUCOL_ALL_LANES, mask != 0) << v;
		}
		count += values;
		if (live)
			gather_run<EXTREMES>(chunk, column, run, live, values, lane, own, g);
		if (*scan.cancel)
			break;
	}
	rows = warp_sum(rows);
	count = warp_sum(count);
	g.sum = warp_sum(g.sum);
	g.least = __reduce_min_sync(GPUCOL_ALL_LANES, g.least);
	g.greatest = __reduce_max_sync(GPUCOL_ALL_LANES, g.greatest);
	if (lane == 0 && rows > 0)
	{
		atomicAdd(result + 0, rows);
		atomicAdd(result + 1, count);
		atomicAdd(result + 2, g.sum);
		if (EXTREMES)
		{
			atomicMin(result + 3, (unsigned long long) g.least);
			atomicMax(result + 4, (unsigned long long) g.greatest);
		}
	}
}

cudaError_t
gpucol_scan_reduce(const GpucolScanPlan &scan, const GpucolOffsetColumn &column,
				   bool extremes, unsigned long long *result, cudaStream_t stream)
{
	auto		kernel = extremes ? reduce_kernel<true> : reduce_kernel<false>;

	kernel<<<gpucol_launch_blocks(kernel, GPUCOL_SCAN_THREADS, 0), GPUCOL_SCAN_THREADS, 0, stream>>>(scan, column, result);
	return cudaGetLastError();
}
