/*-------------------------------------------------------------------------
 *
 * scan.cu
 *	  Range scans: to a count, to a match bitmap, to the sum of a column.
 *
 *-------------------------------------------------------------------------
 */
#include "scan.cuh"
#include "launch.cuh"
#include "offsets.cuh"
#include "scanner.cuh"

/*
 * Count one range over the vectors of a run.  Narrow vectors go several at a
 * time, so that enough loads are in flight.
 */
struct RangeCount
{
	const uint32_t *vectors;
	int			lane;
	uint32_t	lo,
				hi;
	uint32_t	n;				/* vectors */
	uint32_t	skip;			/* bit v set = leave vector v out */
	uint32_t	count;

	template <int K> __device__ __forceinline__ uint32_t
	one(const uint32_t (&w)[K])
	{
		if constexpr (K <= GPUCOL_SWAR_WIDTH)
			return __popc(Swar<K>::mask(w, lo, hi));
		else
			return range_count<K>(w, lo, hi);
	}

	template <int K> __device__ __forceinline__ void
	run()
	{
		constexpr int U = K <= 3 ? 8 : K <= 10 ? 4 : K <= 15 ? 2 : 1;
		uint32_t	v = 0;

		if (skip == 0)
			for (; v + U <= n; v += U)
			{
				uint32_t	w[U][K];

#pragma unroll
				for (int u = 0; u < U; u++)
					load_words<K>(vectors + (v + u) * K * GPUCOL_ROW_WORDS, lane, w[u]);
#pragma unroll
				for (int u = 0; u < U; u++)
					count += one<K>(w[u]);
			}
		for (; v < n; v++)
			if (!(skip >> v & 1))
			{
				uint32_t	w[K];

				load_words<K>(vectors + v * K * GPUCOL_ROW_WORDS, lane, w);
				count += one<K>(w);
			}
	}
};

/*
 * Is the run answered by one range on codes alone?  Its test and chunk then
 * are in r and chunk.
 */
__device__ __forceinline__ bool
plain_range(const GpucolScanPlan &scan, const Run &run,
			GpucolDeviceRange &r, GpucolDeviceChunk &chunk)
{
	const GpucolDeviceSegment segment = scan.segments[run.segment];

	if (scan.nranges != 1)
		return false;
	r = scan.ranges[run.segment];
	chunk = scan.chunks[run.segment * scan.ncolumns + r.slot];
	return r.test == GPUCOL_TEST_RANGE && !r.invert &&
		!chunk.nulls && !chunk.all_null && chunk.width >= 1 && chunk.width <= 32 &&
		!segment.deleted && (run.first + run.n) * GPUCOL_VECTOR_VALUES <= segment.nrows;
}

__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_SCAN_BLOCKS)
count_kernel(const GpucolScanPlan scan, unsigned long long *count)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	unsigned long long n = 0;

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		GpucolDeviceRange r;
		GpucolDeviceChunk chunk;

		if (plain_range(scan, run, r, chunk))
		{
			RangeCount	f = {chunk.codes + (size_t) run.first * chunk.width * GPUCOL_ROW_WORDS,
			lane, (uint32_t) r.lo, (uint32_t) r.hi, run.n, skip, 0};

			dispatch_width(chunk.width, f);
			n += f.count;
		}
		else
			for (uint32_t v = 0; v < run.n; v++)
				if (!(skip >> v & 1))
					n += __popc(vector_mask(scan, run, run.first + v, lane));
		if (*scan.cancel)
			break;
	}
	n = warp_sum(n);
	if (lane == 0 && n > 0)
		atomicAdd(count, n);
}

cudaError_t
gpucol_scan_count(const GpucolScanPlan &scan, unsigned long long *count,
				  cudaStream_t stream)
{
	count_kernel<<<gpucol_launch_blocks(count_kernel, GPUCOL_SCAN_THREADS, 0), GPUCOL_SCAN_THREADS, 0, stream>>>(scan, count);
	return cudaGetLastError();
}

/* Bitmap of one range over the vectors of a run. */
struct RangeBitmap
{
	const uint32_t *vectors;
	int			lane;
	uint32_t	lo,
				hi;
	uint32_t	n;
	uint32_t	skip;
	uint32_t   *out;

	/* Store the words of one vector; lane l holds one of them. */
	template <int K> __device__ __forceinline__ void
	store(uint32_t v, const uint32_t (&w)[K])
	{
		if constexpr (K <= GPUCOL_SWAR_WIDTH)
			__stcs(out + v * 32 + Swar<K>::position(lane),
				   warp_transpose(Swar<K>::mask(w, lo, hi), lane));
		else
			__stcs(out + v * 32 + lane, warp_transpose(range_mask<K>(w, lo, hi), lane));
	}

	template <int K> __device__ __forceinline__ void
	run()
	{
		constexpr int U = K <= 4 ? 4 : K <= 12 ? 2 : 1;
		uint32_t	v = 0;

		if (skip == 0)
			for (; v + U <= n; v += U)
			{
				uint32_t	w[U][K];

#pragma unroll
				for (int u = 0; u < U; u++)
					load_words<K>(vectors + (v + u) * K * GPUCOL_ROW_WORDS, lane, w[u]);
#pragma unroll
				for (int u = 0; u < U; u++)
					store<K>(v + u, w[u]);
			}
		for (; v < n; v++)
			if (skip >> v & 1)
				__stcs(out + v * 32 + lane, 0);
			else
			{
				uint32_t	w[K];

				load_words<K>(vectors + v * K * GPUCOL_ROW_WORDS, lane, w);
				store<K>(v, w);
			}
	}
};

__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_SCAN_BLOCKS)
bitmap_kernel(const GpucolScanPlan scan, uint32_t *bitmap)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		uint32_t   *out = bitmap + 32 * (size_t) (scan.vector_start[run.segment] + run.first);
		GpucolDeviceRange r;
		GpucolDeviceChunk chunk;

		if (plain_range(scan, run, r, chunk))
		{
			RangeBitmap f = {chunk.codes + (size_t) run.first * chunk.width * GPUCOL_ROW_WORDS,
			lane, (uint32_t) r.lo, (uint32_t) r.hi, run.n, skip, out};

			dispatch_width(chunk.width, f);
		}
		else
			for (uint32_t v = 0; v < run.n; v++)
				__stcs(out + v * 32 + lane, skip >> v & 1 ? 0 :
					   warp_transpose(vector_mask(scan, run, run.first + v, lane), lane));
		if (*scan.cancel)
			break;
	}
}

cudaError_t
gpucol_scan_bitmap(const GpucolScanPlan &scan, uint32_t *bitmap, cudaStream_t stream)
{
	bitmap_kernel<<<gpucol_launch_blocks(bitmap_kernel, GPUCOL_SCAN_THREADS, 0), GPUCOL_SCAN_THREADS, 0, stream>>>(scan, bitmap);
	return cudaGetLastError();
}

/* Sum of the codes that a mask selects. */
struct SumCodes
{
	const uint32_t *vector;
	int			lane;
	uint32_t	mask;
	unsigned long long sum;

	template <int K> __device__ __forceinline__ void
	run()
	{
		uint32_t	w[K];
		uint32_t	low = 0,
					high = 0;

		load_words<K>(vector, lane, w);
#pragma unroll
		for (int p = 0; p < 32; p++)
			if (mask >> p & 1)
			{
				if constexpr (K <= 27)
					low += code_at<K>(w, p);
				else
				{
					low += code_at<K>(w, p) & 0xffff;
					high += code_at<K>(w, p) >> 16;
				}
			}
		sum += low + ((unsigned long long) high << 16);
	}
};

/* Least and greatest of the offsets that a mask selects. */
__device__ __forceinline__ void
extremes(const uint32_t (&v)[32], uint32_t mask, uint32_t &least, uint32_t &greatest)
{
#pragma unroll
	for (int p = 0; p < 32; p++)
		if (mask >> p & 1)
		{
			greatest = max(greatest, v[p]);
			least = min(least, v[p]);
		}
}

/* Sum of the offsets that a mask selects. */
__device__ __forceinline__ unsigned long long
sum_offsets(const GpucolDeviceChunk &chunk, const GpucolOffsetColumn &column,
			uint32_t vector, int lane, uint32_t mask)
{
	if (chunk.coding != GPUCOL_CODING_DICT && chunk.width >= 1 && chunk.width <= 32)
	{
		SumCodes	f = {chunk.codes + (size_t) vector * chunk.width * GPUCOL_ROW_WORDS, lane, mask, 0};

		dispatch_width(chunk.width, f);
		return f.sum + (unsigned long long) (chunk.reference - column.base) * __popc(mask);
	}
	else
	{
		unsigned long long sum = 0;

		for (uint32_t left = mask; left; left &= left - 1)
			sum += offset_of_row(chunk, column, vector, (__ffs(left) - 1) * 32 + lane, 0);
		return sum;
	}
}

template <bool EXTREMES>
__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, EXTREMES ? 2 : GPUCOL_SCAN_BLOCKS)
reduce_kernel(const GpucolScanPlan scan, const GpucolOffsetColumn column,
			  unsigned long long *result)
{
	int			lane = threadIdx.x % 32;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	unsigned long long rows = 0,
				count = 0,
				sum = 0;
	bool		hit = true;		/* the vector before matched: expect more */
	uint32_t	least = 0xffffffffu,
				greatest = 0;

	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		const GpucolDeviceChunk &chunk = scan.chunks[run.segment * scan.ncolumns + column.slot];

		for (uint32_t v = 0; v < run.n; v++)
		{
			uint32_t	mask;

			if (skip >> v & 1)
				continue;
			if (v + 1 < run.n)
			{
				for (uint32_t i = 0; i < scan.nranges; i++)
					prefetch_vector(scan.chunks[run.segment * scan.ncolumns + scan.ranges[i].slot],
									run.first + v + 1, lane);
				if (hit)
					prefetch_vector(chunk, run.first + v + 1, lane);
			}
			mask = vector_mask(scan, run, run.first + v, lane);
			hit = __any_sync(GPUCOL_ALL_LANES, mask != 0);
			if (!hit)
				continue;
			rows += __popc(mask);
			if (chunk.all_null)
				continue;
			if (chunk.nulls)
				mask &= ~lane_mask_of_rows(chunk.nulls, run.first + v, lane);
			count += __popc(mask);
			sum += sum_offsets(chunk, column, run.first + v, lane, mask);
			if (EXTREMES)
			{
				uint32_t	values[32];

				load_offsets(chunk, column, run.first + v, lane, values);
				extremes(values, mask, least, greatest);
			}
		}
		if (*scan.cancel)
			break;
	}
	rows = warp_sum(rows);
	count = warp_sum(count);
	sum = warp_sum(sum);
	least = __reduce_min_sync(GPUCOL_ALL_LANES, least);
	greatest = __reduce_max_sync(GPUCOL_ALL_LANES, greatest);
	if (lane == 0 && rows > 0)
	{
		atomicAdd(result + 0, rows);
		atomicAdd(result + 1, count);
		atomicAdd(result + 2, sum);
		if (EXTREMES)
		{
			atomicMin(result + 3, (unsigned long long) least);
			atomicMax(result + 4, (unsigned long long) greatest);
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
