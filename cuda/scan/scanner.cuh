/*-------------------------------------------------------------------------
 *
 * scanner.cuh
 *	  The part that every scanning kernel shares: dealing runs of vectors to
 *	  warps, deciding vectors by their zones, and the mask of matching rows.
 *
 * A warp takes runs of GPUCOL_RUN_VECTORS vectors of one segment, strided over
 * the grid.  For each vector a lane holds a mask of its 32 rows (bit p = row
 * p*32 + lane).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SCANNER_CUH
#define GPUCOL_CUDA_SCANNER_CUH

#include "cuda/scan/bitunpack.cuh"
#include "kernel/float_order.h"
#include "cuda/scan/plan.h"
#include "cuda/base/tuning.cuh"

constexpr uint32_t GPUCOL_ALL_LANES = 0xffffffffu;

/* A run of vectors that a warp works on. */
struct Run
{
	uint32_t	segment;
	uint32_t	first;			/* vector of the segment */
	uint32_t	n;
};

/*
 * Number of the i-th run of a warp, scan.nruns or more where there is none.  Warps
 * take 2^turn_shift neighbours at a time, for what these read of their segment is
 * near, and what that leaves over one by one, so that they end together.
 */
__device__ __forceinline__ uint32_t
run_number(const GpucolScanPlan &scan, uint32_t i)
{
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	uint32_t	turns = scan.nruns / (warps << scan.turn_shift) << scan.turn_shift;

	if (i < turns)
		return (((i >> scan.turn_shift) * warps + warp) << scan.turn_shift) + (i & ((1u << scan.turn_shift) - 1));
	return i * warps + warp;
}

/*
 * Has the host given up on a scan?  All lanes of a warp ask, and get the same answer: each
 * by itself might see the word at another moment, and leave the others, which wait for it
 * in what a warp does together.
 */
__device__ __forceinline__ bool
is_cancelled(const GpucolScanPlan &scan)
{
	return __any_sync(GPUCOL_ALL_LANES, *scan.cancel != 0);
}

/* The same, asked after the i-th run: the one word that all warps read is looked at after
 * some. */
__device__ __forceinline__ bool
is_cancelled(const GpucolScanPlan &scan, uint32_t i)
{
	return i % GPUCOL_CANCEL_RUNS == GPUCOL_CANCEL_RUNS - 1 && is_cancelled(scan);
}

/* Of n ascending starts, of which the first is not beyond x: the last that is not. */
__device__ __forceinline__ uint32_t
last_start(const uint32_t *__restrict__ starts, uint32_t n, uint32_t x)
{
	uint32_t	a = 0,
				b = n;

	while (b - a > 1)
	{
		uint32_t	m = (a + b) / 2;

		if (__ldg(starts + m) <= x)
			a = m;
		else
			b = m;
	}
	return a;
}

/* Find the run of a number: a shift where segments are alike, else a search. */
__device__ __forceinline__ Run
find_run(const GpucolScanPlan &scan, uint32_t number)
{
	Run			run;

	run.segment = scan.run_shift >= 0 ? number >> scan.run_shift : last_start(scan.run_start, scan.nsegments, number);
	run.first = (number - __ldg(scan.run_start + run.segment)) * GPUCOL_RUN_VECTORS;
	run.n = min((uint32_t) GPUCOL_RUN_VECTORS,
				__ldg(scan.vector_start + run.segment + 1) - __ldg(scan.vector_start + run.segment) - run.first);
	return run;
}

/* Vector `number` of the scan: its segment, and its number in there. */
__device__ __forceinline__ Run
find_vector(const GpucolScanPlan &scan, uint32_t number)
{
	Run			run;

	run.segment = last_start(scan.vector_start, scan.nsegments, number);
	run.first = number - __ldg(scan.vector_start + run.segment);
	run.n = 1;
	return run;
}

/* Lane mask of a bitmap in row order (word p, bit l = row p*32 + l). */
__device__ __forceinline__ uint32_t
lane_mask_of_rows(const uint32_t *__restrict__ bitmap, uint32_t vector, int lane)
{
	return warp_transpose(__ldg(bitmap + (size_t) vector * 32 + lane), lane);
}

/* Lane mask of the rows that the segment has in a vector. */
__device__ __forceinline__ uint32_t
tail_mask(uint32_t nrows, uint32_t vector, int lane)
{
	uint32_t	left = nrows - vector * GPUCOL_VECTOR_VALUES;
	uint32_t	whole;

	if (left >= GPUCOL_VECTOR_VALUES)
		return 0xffffffffu;
	whole = left / 32 + (lane < (int) (left % 32) ? 1 : 0);
	return whole >= 32 ? 0xffffffffu : (1u << whole) - 1;
}

struct RangeMask
{
	const uint32_t *vector;
	int			lane;
	uint32_t	lo,
				hi;
	uint32_t	mask;

	template <int K> __device__ __forceinline__ void
	run()
	{
		uint32_t	w[K];

		load_words<K>(vector, lane, w);
		mask = range_mask<K>(w, lo, hi);
	}
};

/* The same for widths over 32, dispatched by the width of the high plane. */
struct WideRangeMask
{
	const uint32_t *vector;
	int			lane;
	uint64_t	lo,
				hi;
	uint32_t	mask;

	template <int K> __device__ __forceinline__ void
	run()
	{
		mask = range_mask_wide<K>(vector, lane, lo, hi);
	}
};

/* Is `code` among n ascending codes? */
__device__ __forceinline__ bool
in_list(const uint64_t *__restrict__ list, uint32_t n, uint64_t code)
{
	uint32_t	a = 0;

	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (__ldg(list + a + half) < code)
		{
			a += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return code == __ldg(list + a);
}

/* One code against a test that is not a 32-bit range. */
__device__ __forceinline__ bool
test_code(const GpucolDeviceRange &r, uint64_t code, int width)
{
	switch (r.test)
	{
		case GPUCOL_TEST_RANGE:
			return code >= r.lo && code <= r.hi;
		case GPUCOL_TEST_BITMAP:
			return code < r.n &&
				(__ldg((const uint32_t *) r.data + (code >> 5)) >> (code & 31) & 1);
		case GPUCOL_TEST_LIST:
			return r.n > 0 && code <= __ldg((const uint64_t *) r.data + r.n - 1) &&
				in_list((const uint64_t *) r.data, r.n, code);
		case GPUCOL_TEST_SIGNED:
			return (int64_t) code >= (int64_t) r.lo && (int64_t) code <= (int64_t) r.hi;
		case GPUCOL_TEST_FLOAT:
		case GPUCOL_TEST_FLOAT4:
			{
				int64_t		order = gpucol_float_order(width == 32 || r.test == GPUCOL_TEST_FLOAT4 ?
													   (double) __int_as_float((int) code) :
													   __longlong_as_double((int64_t) code));

				return order >= r.zone_lo && order <= r.zone_hi;
			}
		default:
			return r.test == GPUCOL_TEST_ALL;
	}
}

/* Lane mask of one range conjunct over one vector. */
__device__ __forceinline__ uint32_t
conjunct_mask(const GpucolDeviceRange &r, const GpucolDeviceChunk &chunk,
			  uint32_t vector, int lane)
{
	uint32_t	mask;
	const uint32_t *codes = chunk.codes +
		(size_t) vector * chunk.width * GPUCOL_ROW_WORDS;

	if (r.test == GPUCOL_TEST_ALL)
		mask = 0xffffffffu;
	else if (r.test == GPUCOL_TEST_NONE)
		mask = 0;
	else if (chunk.width == 0)
		mask = test_code(r, 0, 0) ? 0xffffffffu : 0;
	else if (r.test == GPUCOL_TEST_RANGE && chunk.width <= 32)
	{
		RangeMask	f = {codes, lane, (uint32_t) r.lo, (uint32_t) r.hi, 0};

		dispatch_width(chunk.width, f);
		mask = f.mask;
	}
	else if (r.test == GPUCOL_TEST_RANGE)
	{
		WideRangeMask f = {codes, lane, r.lo, r.hi, 0};

		dispatch_width(chunk.width - 32, f);
		mask = f.mask;
	}
	else
	{
		mask = 0;
		for (int p = 0; p < 32; p++)
			mask |= (uint32_t) test_code(r, code_of_row(codes, chunk.width, p * 32 + lane),
										 chunk.width) << p;
	}
	if (r.invert)
		mask = ~mask;
	if (chunk.all_null)
		mask = r.null_passes ? 0xffffffffu : 0;
	else if (chunk.nulls)
	{
		uint32_t	nulls = lane_mask_of_rows(chunk.nulls, vector, lane);

		mask = r.null_passes ? mask | nulls : mask & ~nulls;
	}
	return mask;
}

/*
 * Decide the vectors of a run by zones: bit v of the result is set if vector
 * first + v cannot match.
 */
__device__ __forceinline__ uint32_t
skipped_by_zones(const GpucolScanPlan &scan, const Run &run, int lane)
{
	uint32_t	skip = 0;

	for (uint32_t i = 0; i < scan.nranges; i++)
	{
		const GpucolDeviceRange &r = scan.ranges[run.segment * scan.nranges + i];
		bool		out = false;

		if (!r.use_zones)
			continue;
		if (lane < (int) run.n)
		{
			const longlong2 *zones = (const longlong2 *)
				scan.chunks[run.segment * scan.ncolumns + r.slot].zones;
			longlong2	z = __ldg(zones + run.first + lane);

			out = z.x > r.zone_hi || z.y < r.zone_lo;
		}
		skip |= __ballot_sync(GPUCOL_ALL_LANES, out);
	}
	return skip;
}

/* Lane mask of the rows of a vector that are visible and pass every range. */
__device__ __forceinline__ uint32_t
vector_mask(const GpucolScanPlan &scan, const Run &run, uint32_t vector, int lane)
{
	const GpucolDeviceSegment &segment = scan.segments[run.segment];
	uint32_t	mask = tail_mask(segment.nrows, vector, lane);

	if (segment.deleted)
		mask &= ~lane_mask_of_rows(segment.deleted, vector, lane);
	for (uint32_t i = 0; i < scan.nranges; i++)
	{
		const GpucolDeviceRange &r = scan.ranges[run.segment * scan.nranges + i];

		if (i > 0 && !__any_sync(GPUCOL_ALL_LANES, mask != 0))
			break;
		mask &= conjunct_mask(r, scan.chunks[run.segment * scan.ncolumns + r.slot],
							  vector, lane);
	}
	return mask;
}

/* Sum over the lanes of a warp. */
template <class T>
__device__ __forceinline__ T
warp_sum(T x)
{
#pragma unroll
	for (int d = 16; d > 0; d >>= 1)
		x += __shfl_xor_sync(GPUCOL_ALL_LANES, x, d);
	return x;
}

#endif
