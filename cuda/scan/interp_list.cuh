/*-------------------------------------------------------------------------
 *
 * interp_list.cuh
 *	  Rows on their way through a program: lists of them, and those that are saved where
 *	  rows multiply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_LIST_CUH
#define GPUCOL_CUDA_INTERP_LIST_CUH

#include "cuda/base/warp.cuh"
#include "cuda/scan/interp_plan.h"
#include "cuda/scan/scanner.cuh"

/* Rows of a vector, ascending: in a warp's shared memory, or all. */
struct RowList
{
	uint16_t   *rows;			/* [GPUCOL_VECTOR_VALUES] */
	uint32_t	n;
	bool		all;

	/* The i-th row; any where there are fewer. */
	__device__ __forceinline__ int
	at(uint32_t i) const
	{
		return all ? i : i < n ? rows[i] : 0;
	}

	/* Append the warp's rows that are `on`; they must come after those listed. */
	__device__ __forceinline__ void
	append(bool on, int row)
	{
		uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on);

		if (on)
			rows[n + __popc(w & ((1u << threadIdx.x % 32) - 1))] = row;
		n += __popc(w);
	}

	/* List the rows of a lane mask. */
	__device__ __forceinline__ void
	set(uint32_t mask, int lane)
	{
		all = __all_sync(GPUCOL_ALL_LANES, mask == 0xffffffffu);
		n = all ? GPUCOL_VECTOR_VALUES : 0;
		if (all || !__any_sync(GPUCOL_ALL_LANES, mask != 0))
			return;
		for (int p = 0; p < 32; p++)
			append(mask >> p & 1, p * 32 + lane);
		__syncwarp();
	}
};

/* What a probe at which rows multiply has saved, of a warp; 64 bits lest pairs wrap. */
struct SavedRows
{
	unsigned long long next;	/* pair, */
	unsigned long long npairs;
	unsigned long long starts[GPUCOL_VECTOR_VALUES];	/* first pair of each row */
	uint32_t	n;				/* rows */
	uint32_t	row[GPUCOL_VECTOR_VALUES];
	uint32_t	first[GPUCOL_VECTOR_VALUES];	/* of the table's rows */
	uint32_t	match[1];		/* of the probes before, by slot and row */

	/* The row that a pair is of. */
	__device__ __forceinline__ uint32_t
	row_of_pair(unsigned long long pair) const
	{
		uint32_t	low = 0,
					high = n;

		while (high - low > 1)
		{
			uint32_t	middle = (low + high) / 2;

			if (starts[middle] <= pair)
				low = middle;
			else
				high = middle;
		}
		return low;
	}
};

static_assert(sizeof(SavedRows) <= GPUCOL_SAVED_BYTES, "room for what is saved");

#endif
