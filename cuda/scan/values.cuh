/*-------------------------------------------------------------------------
 *
 * values.cuh
 *	  Single values of packed chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_VALUES_CUH
#define GPUCOL_CUDA_VALUES_CUH

#include "cuda/scan/bitunpack.cuh"
#include "kernel/float_order.h"
#include "cuda/scan/plan.h"

/* The double that a chunk's code stands for. */
__device__ static inline double
float_of_code(const GpucolDeviceChunk &chunk, uint64_t code)
{
	int64_t		bits;

	if (chunk.coding == GPUCOL_CODING_SCALED)
	{
		double		x = (double) (int64_t) (chunk.reference + code) / gpucol_float_power10(chunk.scale);

		return chunk.kind == GPUCOL_KIND_FLOAT4 ? (double) (float) x : x;
	}
	bits = chunk.dict ? __ldg(chunk.dict + min(code, (uint64_t) chunk.last_entry)) :
		(int64_t) (chunk.reference + code);
	return chunk.kind == GPUCOL_KIND_FLOAT4 ? (double) __int_as_float((int) bits) : __longlong_as_double(bits);
}

/* The integer, mantissa or number of bytes that a chunk's code stands for. */
__device__ static inline int64_t
integer_of_code(const GpucolDeviceChunk &chunk, uint64_t code)
{
	if (chunk.remap)
		return __ldg(chunk.remap + min(code, (uint64_t) chunk.last_entry));
	return chunk.dict ? __ldg(chunk.dict + min(code, (uint64_t) chunk.last_entry)) :
		(int64_t) (chunk.reference + code);
}

/* Is a row of a vector NULL? */
__device__ static inline bool
row_is_null(const GpucolDeviceChunk &chunk, uint32_t vector, int row)
{
	return chunk.all_null ||
		(chunk.nulls && (__ldg(chunk.nulls + (size_t) vector * 32 + row / 32) >> (row % 32) & 1));
}

/* The code of a row of a vector. */
__device__ static inline uint64_t
chunk_code(const GpucolDeviceChunk &chunk, uint32_t vector, int row)
{
	return code_of_row(chunk.codes + (size_t) vector * chunk.width * GPUCOL_ROW_WORDS, chunk.width, row);
}

#endif
