/*-------------------------------------------------------------------------
 *
 * scan.cu
 *	  Range scans: to a count, to a match bitmap.
 *
 *-------------------------------------------------------------------------
 */
#include "scan.cuh"
#include "launch.cuh"
#include "vector_loop.cuh"

uint32_t
gpucol_scan_turn_shift(const std::vector<GpucolDeviceChunk> &chunks)
{
	size_t		bits = 0;

	for (const GpucolDeviceChunk &chunk : chunks)
		bits += chunk.width;
	return bits < chunks.size() * GPUCOL_TURN_WIDTH ? GPUCOL_TURN_SHIFT : 0;
}

/* Count one range. */
struct RangeCount
{
	__host__ __device__ static constexpr int at_once(int K) { return vectors_at_once(K); }

	uint32_t	lo,
				hi;
	uint32_t	count;

	template <int K> __device__ __forceinline__ void
	vector(uint32_t, const uint32_t (&w)[K])
	{
		count += range_count<K>(w, lo, hi);
	}
};

__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_SCAN_BLOCKS)
count_kernel(const __grid_constant__ GpucolScanPlan scan, unsigned long long *count)
{
	int			lane = threadIdx.x % 32;
	unsigned long long n = 0;

	for (uint32_t i = 0, number; (number = run_number(scan, i)) < scan.nruns; i++)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		const GpucolDeviceRange *r;
		const GpucolDeviceChunk *chunk;

		if (plain_range(scan, run, r, chunk) && chunk->width <= 32)
		{
			RangeCount	f = {(uint32_t) r->lo, (uint32_t) r->hi, 0};

			for_each_vector(chunk->width, chunk->codes + (size_t) run.first * chunk->width * GPUCOL_ROW_WORDS, lane,
							run.n, skip, f);
			n += f.count;
		}
		else
			for (uint32_t v = 0; v < run.n; v++)
				if (!(skip >> v & 1))
					n += __popc(vector_mask(scan, run, run.first + v, lane));
		if (is_cancelled(scan, i))
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

/* Bitmap of one range; lane l stores one word of each vector. */
struct RangeBitmap
{
	__host__ __device__ static constexpr int at_once(int K) { return K <= 4 ? 4 : K <= 12 ? 2 : 1; }

	int			lane;
	uint32_t	lo,
				hi;
	uint32_t   *out;

	template <int K> __device__ __forceinline__ void
	vector(uint32_t v, const uint32_t (&w)[K])
	{
		if constexpr (K <= GPUCOL_SWAR_WIDTH)
			__stcs(out + v * 32 + Swar<K>::position(lane),
				   warp_transpose(Swar<K>::mask(w, lo, hi), lane));
		else
			__stcs(out + v * 32 + lane, warp_transpose(range_mask<K>(w, lo, hi), lane));
	}
};

__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_SCAN_BLOCKS)
bitmap_kernel(const __grid_constant__ GpucolScanPlan scan, uint32_t *bitmap)
{
	int			lane = threadIdx.x % 32;

	for (uint32_t i = 0, number; (number = run_number(scan, i)) < scan.nruns; i++)
	{
		Run			run = find_run(scan, number);
		uint32_t	skip = skipped_by_zones(scan, run, lane);
		uint32_t   *out = bitmap + 32 * (size_t) (scan.vector_start[run.segment] + run.first);
		const GpucolDeviceRange *r;
		const GpucolDeviceChunk *chunk;

		if (plain_range(scan, run, r, chunk) && chunk->width <= 32)
		{
			RangeBitmap f = {lane, (uint32_t) r->lo, (uint32_t) r->hi, out};

			for (uint32_t v = 0; v < run.n; v++)
				if (skip >> v & 1)
					__stcs(out + v * 32 + lane, 0);
			for_each_vector(chunk->width, chunk->codes + (size_t) run.first * chunk->width * GPUCOL_ROW_WORDS, lane,
							run.n, skip, f);
		}
		else
			for (uint32_t v = 0; v < run.n; v++)
				__stcs(out + v * 32 + lane, skip >> v & 1 ? 0 :
					   warp_transpose(vector_mask(scan, run, run.first + v, lane), lane));
		if (is_cancelled(scan, i))
			break;
	}
}

cudaError_t
gpucol_scan_bitmap(const GpucolScanPlan &scan, uint32_t *bitmap, cudaStream_t stream)
{
	bitmap_kernel<<<gpucol_launch_blocks(bitmap_kernel, GPUCOL_SCAN_THREADS, 0), GPUCOL_SCAN_THREADS, 0, stream>>>(scan, bitmap);
	return cudaGetLastError();
}
