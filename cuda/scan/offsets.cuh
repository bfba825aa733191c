/*-------------------------------------------------------------------------
 *
 * offsets.cuh
 *	  A vector of a column as 32-bit offsets from a base common to all
 *	  segments, whatever the chunk's coding.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_OFFSETS_CUH
#define GPUCOL_CUDA_OFFSETS_CUH

#include "cuda/scan/scanner.cuh"

/* Positions FIRST .. FIRST + N - 1; words that they do not touch are not read. */
template <int FIRST, int N>
struct UnpackCodes
{
	const uint32_t *vector;
	int			lane;
	uint32_t	add;
	uint32_t   *v;

	template <int K> __device__ __forceinline__ void
	run()
	{
		const uint32_t *own = vector + (uint32_t) lane;
		uint32_t	w[K];

#pragma unroll
		for (int j = 0; j < K; j++)
			w[j] = j >= FIRST * K / 32 && j < ((FIRST + N) * K + 31) / 32 ?
				__ldcs(own + j * 32) : 0;
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = code_at<K>(w, FIRST + i) + add;
	}
};

/*
 * Fill v[i] with the offset of row (FIRST + i)*32 + lane; entries at NULLs are
 * arbitrary.  Returns the lane mask of NULLs of the whole vector.
 */
template <int FIRST = 0, int N = 32>
__device__ __forceinline__ uint32_t
load_offsets(const GpucolDeviceChunk &chunk, const GpucolOffsetColumn &column,
			 uint32_t vector, int lane, uint32_t (&v)[N])
{
	const uint32_t *codes = chunk.codes +
		(size_t) vector * chunk.width * GPUCOL_ROW_WORDS;
	bool		direct = chunk.coding != GPUCOL_CODING_DICT;
	uint32_t	add = direct ? (uint32_t) (chunk.reference - column.base) : 0;

	if (chunk.all_null)
		return 0xffffffffu;
	if (chunk.width >= 1 && chunk.width <= 32)
	{
		UnpackCodes<FIRST, N> f = {codes, lane, add, v};

		dispatch_width(chunk.width, f);
	}
	else
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = (uint32_t) code_of_row(codes, chunk.width, (FIRST + i) * 32 + lane) + add;
	}
	if (!direct)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
		{
			uint32_t	entry = min(v[i], chunk.last_entry);

			v[i] = chunk.remap ? __ldg(chunk.remap + entry) :
				(uint32_t) (__ldg(chunk.dict + entry) - column.base);
		}
	}
	return chunk.nulls ? lane_mask_of_rows(chunk.nulls, vector, lane) : 0;
}

/* Ask for the packed codes of a vector ahead of their use. */
__device__ __forceinline__ void
prefetch_vector(const GpucolDeviceChunk &chunk, uint32_t vector, int lane)
{
	const uint32_t *row = chunk.codes + ((size_t) vector * chunk.width + lane) * GPUCOL_ROW_WORDS;

	for (int i = lane; i < chunk.width; i += 32, row += 32 * GPUCOL_ROW_WORDS)
		asm volatile("prefetch.global.L2 [%0];" :: "l"(row));
}

#endif
