/*-------------------------------------------------------------------------
 *
 * vector_loop.cuh
 *	  Going over the packed vectors of a run with several under way, and the
 *	  runs that one range on codes answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_VECTOR_LOOP_CUH
#define GPUCOL_CUDA_VECTOR_LOOP_CUH

#include "cuda/scan/scanner.cuh"

/*
 * Vectors of width K whose words a warp loads before it works on them: narrow
 * vectors go several at a time, so that enough loads are in flight.  What scans
 * that keep nothing of their vectors have as F::at_once.
 */
__host__ __device__ constexpr int
vectors_at_once(int K)
{
	return K == 1 ? 16 : K <= 3 ? 8 : K <= 10 ? 4 : K <= 15 ? 2 : 1;
}

/* The loop of for_each_vector() for one width, of one of `warps` warps that share it. */
template <class F>
struct VectorLoop
{
	const uint32_t *vectors;
	int			lane;
	uint32_t	n;
	uint32_t	skip;			/* of the first 32 */
	uint32_t	warp,
				warps;
	F		   &f;

	template <int K> __device__ __forceinline__ void
	run()
	{
		constexpr uint32_t U = F::at_once(K);
		uint32_t	whole = skip & (n < 32 ? (1u << n) - 1 : 0xffffffffu) ? 0 : n / U * U;

		for (uint32_t v = warp * U; v < whole; v += warps * U)
		{
			uint32_t	w[U][K];

#pragma unroll
			for (uint32_t u = 0; u < U; u++)
				load_words<K>(vectors + (v + u) * K * GPUCOL_ROW_WORDS, lane, w[u]);
#pragma unroll
			for (uint32_t u = 0; u < U; u++)
				f.template vector<K>(v + u, w[u]);
		}
		for (uint32_t v = whole + warp; v < n; v += warps)
			if (v >= 32 || !(skip >> v & 1))
			{
				uint32_t	w[K];

				load_words<K>(vectors + v * K * GPUCOL_ROW_WORDS, lane, w);
				f.template vector<K>(v, w);
			}
	}
};

/*
 * Call f.template vector<K>(v, w) for each of n < 32 vectors of the run-time width
 * k in 1..32, w being this lane's words of vector v; not for those in `skip`.
 * F::at_once(K) vectors are under way at a time.  Of `warps` warps that share the
 * vectors, then any number, each takes groups of so many in turn.
 */
template <class F>
__device__ __forceinline__ void
for_each_vector(int k, const uint32_t *vectors, int lane, uint32_t n, uint32_t skip, F &f, uint32_t warp = 0,
				uint32_t warps = 1)
{
	VectorLoop<F> loop = {vectors, lane, n, skip, warp, warps, f};

	dispatch_width(k, loop);
}

/*
 * Is the run answered by one range on codes alone?  Its test and chunk then
 * are in r and chunk, whose width is not 0.
 */
__device__ __forceinline__ bool
plain_range(const GpucolScanPlan &scan, const Run &run,
			const GpucolDeviceRange *&r, const GpucolDeviceChunk *&chunk)
{
	const GpucolDeviceSegment &segment = scan.segments[run.segment];

	if (scan.nranges != 1)
		return false;
	r = scan.ranges + run.segment;
	chunk = scan.chunks + run.segment * scan.ncolumns + r->slot;
	return r->test == GPUCOL_TEST_RANGE && !r->invert &&
		!chunk->nulls && !chunk->all_null && chunk->width >= 1 &&
		!segment.deleted && (run.first + run.n) * GPUCOL_VECTOR_VALUES <= segment.nrows;
}

#endif
