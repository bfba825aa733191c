/*-------------------------------------------------------------------------
 *
 * scan.cu
 *	  Range scans: to a count, to a match bitmap.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/scan.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/base/warp.cuh"
#include "cuda/scan/vector_loop.cuh"

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

/* Rows of a run that pass, in this lane. */
static __device__ __forceinline__ uint32_t
count_run(const GpucolScanPlan &scan, uint32_t number, int lane)
{
	Run			run = find_run(scan, number);
	uint32_t	skip = skipped_by_zones(scan, run, lane);
	uint32_t	n = 0;

	for (uint32_t v = 0; v < run.n; v++)
		if (!(skip >> v & 1))
			n += __popc(vector_mask(scan, run, run.first + v, lane));
	return n;
}

/* Runs of one segment, and their vectors where one range on codes alone answers them. */
struct Stretch
{
	uint32_t	end;			/* run after the last */
	const uint32_t *codes;
	int			width;			/* 0: it does not */
	uint32_t	lo,
				hi;
	uint32_t	segment;
	uint32_t	first;
	uint32_t	n;				/* that are full */
	bool		tail;			/* a vector follows that is not */
	bool		zoned;			/* vectors may be decided by their zones */
};

/*
 * The runs from `first` on that are in its segment and before `end`, under one range.
 * Everything is loaded before anything is looked at, of column 0 too, which most often
 * is the one: each wait is one for memory.
 */
static __device__ __forceinline__ Stretch
find_stretch(const GpucolScanPlan &scan, uint32_t first, uint32_t end)
{
	const uint32_t s = scan.run_shift >= 0 ? first >> scan.run_shift : find_run(scan, first).segment;
	const GpucolDeviceRange r = scan.ranges[s];
	const GpucolDeviceSegment segment = scan.segments[s];
	GpucolDeviceChunk chunk = scan.chunks[s * scan.ncolumns];
	const uint32_t start = __ldg(scan.run_start + s),
				next = __ldg(scan.run_start + s + 1);
	Stretch		stretch;
	uint32_t	full = segment.nrows / GPUCOL_VECTOR_VALUES;

	if (r.slot != 0)
		chunk = scan.chunks[s * scan.ncolumns + r.slot];
	stretch.end = min(end, next);
	stretch.segment = s;
	stretch.first = (first - start) * GPUCOL_RUN_VECTORS;
	stretch.n = min((stretch.end - first) * GPUCOL_RUN_VECTORS, full - stretch.first);
	stretch.tail = stretch.end == next && segment.nrows % GPUCOL_VECTOR_VALUES != 0;
	stretch.zoned = r.use_zones;
	stretch.lo = (uint32_t) r.lo;
	stretch.hi = (uint32_t) r.hi;
	stretch.width = (r.test == GPUCOL_TEST_RANGE) & !r.invert & !chunk.nulls & !chunk.all_null & (chunk.width <= 32) &
		!segment.deleted ? chunk.width : 0;
	stretch.codes = chunk.codes + (size_t) stretch.first * chunk.width * GPUCOL_ROW_WORDS;
	return stretch;
}

/*
 * Rows of a stretch that pass, in this lane: its warp's share.  Warps take groups of
 * vectors in turn; where zones decide, a run each.  (A run each was slower: at 11 to 14
 * bits it reached 88 to 93 % of the read ceiling.)
 */
static __device__ __forceinline__ uint32_t
count_stretch(const GpucolScanPlan &scan, const Stretch &s, uint32_t warp, int lane)
{
	constexpr uint32_t WARPS = GPUCOL_SCAN_THREADS / 32;
	const uint32_t most = s.zoned ? GPUCOL_RUN_VECTORS : s.n;
	RangeCount	f = {s.lo, s.hi, 0};

	for (uint32_t at = s.zoned ? warp * most : 0; at < s.n; at += s.zoned ? WARPS * most : most)
	{
		uint32_t	n = min(most, s.n - at),
					skip = s.zoned ? skipped_by_zones(scan, {s.segment, s.first + at, n}, lane) : 0;

		for_each_vector(s.width, s.codes + (size_t) at * s.width * GPUCOL_ROW_WORDS, lane, n, skip, f,
						s.zoned ? 0 : warp, s.zoned ? 1 : WARPS);
	}
	if (s.tail && warp == 0)
		f.count += __popc(vector_mask(scan, {s.segment, 0, 0}, s.first + s.n, lane));
	return f.count;
}

/*
 * Blocks come and go, each with 2^shift runs: multiprocessors differ in what they get
 * of the memory's speed, and a grid that stays waits for the last.  What warps of a
 * block load at a time is near.
 */
__global__ void __launch_bounds__(GPUCOL_SCAN_THREADS, GPUCOL_SCAN_BLOCKS)
count_kernel(const __grid_constant__ GpucolScanPlan scan, uint32_t shift, unsigned long long *count)
{
	__shared__ unsigned long long total;
	const int	lane = threadIdx.x % 32;
	const uint32_t warp = threadIdx.x / 32,
				end = min((blockIdx.x + 1) << shift, scan.nruns),
				cancel = *scan.cancel;
	uint32_t	n = 0;
	Stretch		stretch;

	if (threadIdx.x == 0)
		total = 0;
	for (uint32_t first = blockIdx.x << shift; first < end; first = stretch.end)
	{
		stretch.end = end;
		stretch.width = 0;
		if (scan.nranges == 1)
			stretch = find_stretch(scan, first, end);
		if (__any_sync(GPUCOL_ALL_LANES, cancel != 0))
			break;
		if (stretch.width > 0)
			n += count_stretch(scan, stretch, warp, lane);
		else
			for (uint32_t number = first + warp; number < stretch.end; number += GPUCOL_SCAN_THREADS / 32)
				n += count_run(scan, number, lane);
	}
	n = lanes_sum(n);
	__syncthreads();
	if (lane == 0 && n > 0)
		atomicAdd(&total, n);
	__syncthreads();
	if (threadIdx.x == 0 && total > 0)
		atomicAdd(count, total);
}

/* Bytes of narrow columns that a block takes: at 3 bits counting reaches 84 % of the read
 * ceiling with 128 KB, 81 with 256, 75 with 32. */
constexpr size_t GPUCOL_STRETCH_BYTES = 128 << 10;

/*
 * Runs that a block takes, as a power of two: one for each of its warps, more of narrow
 * columns, and less where the device would not be full.
 */
static uint32_t
stretch_shift(const GpucolScanPlan &scan, const std::vector<GpucolDeviceChunk> &chunks, uint32_t resident)
{
	size_t		step = scan.nsegments / 32 + 1,
				bytes = 0,
				seen = 0;
	uint32_t	shift = 3;

	if (scan.nranges == 1)
		for (size_t s = 0; s < scan.nsegments; s += step, seen++)
			bytes += chunks[s * scan.ncolumns].width * GPUCOL_RUN_VECTORS * GPUCOL_ROW_BYTES;
	while (shift < 6 && bytes << shift < seen * GPUCOL_STRETCH_BYTES)
		shift++;
	while (shift > 0 && scan.nruns >> shift < resident)
		shift--;
	return shift;
}

cudaError_t
gpucol_scan_count(const GpucolScanPlan &scan, const std::vector<GpucolDeviceChunk> &chunks,
				  unsigned long long *count, cudaStream_t stream)
{
	uint32_t	shift = stretch_shift(scan, chunks, gpucol_launch_blocks(count_kernel, GPUCOL_SCAN_THREADS, 0)),
				blocks = (scan.nruns + (1u << shift) - 1) >> shift;

	if (blocks > 0)
		count_kernel<<<blocks, GPUCOL_SCAN_THREADS, 0, stream>>>(scan, shift, count);
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
	bitmap_kernel<<<gpucol_launch_blocks(bitmap_kernel, GPUCOL_SCAN_THREADS, 0), GPUCOL_SCAN_THREADS, 0,
					stream>>>(scan, bitmap);
	return cudaGetLastError();
}
