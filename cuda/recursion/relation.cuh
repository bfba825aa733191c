/*-------------------------------------------------------------------------
 *
 * relation.cuh
 *	  Device forms of a binary relation over dense ids: compressed rows and the
 *	  bit matrix.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RELATION_CUH
#define GPUCOL_CUDA_RELATION_CUH

#include <cstdint>

#include "cuda/base/api.cuh"

/* Compressed rows: the successors of i are targets[rows[i] .. rows[i + 1]). */
struct GpucolCsr
{
	const uint32_t *rows;
	const uint32_t *targets;
};

/* Side of a tile of a bit matrix. */
constexpr uint32_t GPUCOL_TILE = 1024;
constexpr uint32_t GPUCOL_TILE_WORDS = GPUCOL_TILE / 32;

/*
 * n x n bits, n rounded up to whole tiles; word w of row r is
 * words[r * stride + w].  tiles[] has a byte for each tile, row-major, not
 * zero where the tile may hold a set bit.
 */
struct GpucolBitMatrix
{
	uint32_t   *words;
	uint8_t    *tiles;
	uint32_t	ntiles;			/* tiles on a side */

	__host__ __device__ size_t
	stride() const
	{
		return (size_t) ntiles * GPUCOL_TILE_WORDS;
	}

	__host__ __device__ size_t
	bytes() const
	{
		return stride() * ntiles * GPUCOL_TILE * sizeof(uint32_t);
	}
};

/* Aggregates over the columns of one row of a relation (its second column). */
struct GpucolRowSummary
{
	uint64_t	count;
	int64_t		min;			/* undefined if count = 0 */
	int64_t		max;
	__int128	sum;
};

#ifdef __CUDACC__

/* A summary of nothing. */
__device__ __forceinline__ GpucolRowSummary
summary_empty()
{
	return {0, INT64_MAX, INT64_MIN, 0};
}

/* Add one value. */
__device__ __forceinline__ void
summary_add(GpucolRowSummary &row, int64_t v)
{
	row.count++;
	row.sum += v;
	row.min = min(row.min, v);
	row.max = max(row.max, v);
}

/* Combine the summaries of a warp's lanes; lane 0 returns the result. */
__device__ __forceinline__ void
summary_reduce(GpucolRowSummary &row)
{
	constexpr unsigned all = 0xffffffffu;

#pragma unroll
	for (int d = 16; d > 0; d /= 2)
	{
		uint64_t	low = __shfl_down_sync(all, (uint64_t) row.sum, d);
		int64_t		high = __shfl_down_sync(all, (int64_t) (row.sum >> 64), d);

		row.sum += ((__int128) high << 64) | low;
		row.count += __shfl_down_sync(all, row.count, d);
		row.min = min(row.min, __shfl_down_sync(all, row.min, d));
		row.max = max(row.max, __shfl_down_sync(all, row.max, d));
	}
}

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_RELATION_CUH */
