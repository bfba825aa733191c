/*-------------------------------------------------------------------------
 *
 * plain_kernels.cuh
 *	  Aggregates of plain columns without groups, each column by a kernel of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PLAIN_KERNELS_CUH
#define GPUCOL_CUDA_PLAIN_KERNELS_CUH

#include "cuda/query/part_context.cuh"

/* count(*); and counts, sums and extremes.  False where the program wants something else. */
extern bool gpucol_plain_count(PartContext &c, Partial *result);
extern bool gpucol_plain_reduce(PartContext &c, Partial *result);

#endif
