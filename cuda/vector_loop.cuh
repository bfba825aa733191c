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

#include "scanner.cuh"

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

/* The loop of for_each_vector() for one width. */
template <class F>
struct VectorLoop
{
	const uint32_t *vectors;
	int			lane;
	uint32_t	n;
	uint32_t	skip;
	F		   &f;

	template <int K> __device__ __forceinline__ void
	run()
	{
		constexpr int U = F::at_once(K);
		uint32_t	v = 0;

		if ((skip & ((1u << n) - 1)) == 0)
			for (; v + U <= n; v += U)
			{
				uint32_t	w[U][K];

#pragma unroll
				for (int u = 0; u < U; u++)
					load_words<K>(vectors + (v + u) * K * GPUCOL_ROW_WORDS, lane, w[u]);
#pragma unroll
				for (int u = 0; u < U; u++)
					f.template vector<K>(v + u, w[u]);
			}
		for (; v < n; v++)
			if (!(skip >> v & 1))
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
 * F::at_once(K) vectors are under way at a time.
 */
template <class F>
__device__ __forceinline__ void
for_each_vector(int k, const uint32_t *vectors, int lane, uint32_t n, uint32_t skip, F &f)
{
	VectorLoop<F> loop = {vectors, lane, n, skip, f};

	dispatch_width(k, loop);
}

/* The loop of for_each_pair() for two widths, one of them found so far. */
template <class F, int MOST, int A = 0>
struct PairLoop
{
	const uint32_t *first;
	const uint32_t *second;
	int			other;			/* the second one's width */
	int			lane;
	uint32_t	n;
	F		   &f;

	template <int B, int U> __device__ __forceinline__ void
	group(uint32_t v)
	{
		uint32_t	a[U][A],
					b[U][B];

#pragma unroll
		for (int u = 0; u < U; u++)
		{
			load_words<A>(first + (v + u) * A * GPUCOL_ROW_WORDS, lane, a[u]);
			load_words<B>(second + (v + u) * B * GPUCOL_ROW_WORDS, lane, b[u]);
		}
		f.template pairs<A, B, U>(a, b);
	}

	template <int K> __device__ __forceinline__ void
	run()
	{
		if constexpr (A == 0)
		{
			PairLoop<F, MOST, K> loop = {first, second, 0, lane, n, f};

			dispatch_width<MOST>(other, loop);
		}
		else
		{
			constexpr int U = F::at_once(A + K);
			uint32_t	v = 0;

			for (; v + U <= n; v += U)
				group<K, U>(v);
			for (; v < n; v++)
				group<K, 1>(v);
		}
	}
};

/*
 * Call f.template pairs<A, B, U>(a, b) for n vectors of each of two columns of the
 * run-time widths ka and kb in 1..MOST, a and b being this lane's words of U of them.
 */
template <int MOST, class F>
__device__ __forceinline__ void
for_each_pair(int ka, const uint32_t *first, int kb, const uint32_t *second, int lane, uint32_t n, F &f)
{
	PairLoop<F, MOST> loop = {first, second, kb, lane, n, f};

	dispatch_width<MOST>(ka, loop);
}

/*
 * Are the segment's whole vectors answered by one range on codes alone?  Its test
 * and chunk then are in r and chunk, whose width is not 0.
 */
__device__ __forceinline__ bool
plain_range(const GpucolScanPlan &scan, uint32_t segment,
			const GpucolDeviceRange *&r, const GpucolDeviceChunk *&chunk)
{
	if (scan.nranges != 1)
		return false;
	r = scan.ranges + segment;
	chunk = scan.chunks + segment * scan.ncolumns + r->slot;
	return r->test == GPUCOL_TEST_RANGE && !r->invert &&
		!chunk->nulls && !chunk->all_null && chunk->width >= 1 && !scan.segments[segment].deleted;
}

/* The same for a run. */
__device__ __forceinline__ bool
plain_range(const GpucolScanPlan &scan, const Run &run,
			const GpucolDeviceRange *&r, const GpucolDeviceChunk *&chunk)
{
	return plain_range(scan, run.segment, r, chunk) &&
		(run.first + run.n) * GPUCOL_VECTOR_VALUES <= scan.segments[run.segment].nrows;
}

#endif
