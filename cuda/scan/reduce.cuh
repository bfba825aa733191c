/*-------------------------------------------------------------------------
 *
 * reduce.cuh
 *	  GROUP BY over plain columns with a dense domain of keys: counts, sums,
 *	  minima and maxima of 32-bit offsets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_CUH
#define GPUCOL_CUDA_REDUCE_CUH

#include <vector>

#include "cuda/base/api.cuh"
#include "cuda/scan/plan.h"

/*
 * Choose copies, slices, the words of a group's record and the kernel.
 * plan->scan, ngroups, keys, inputs[].ops and column are set; fills the rest but
 * for table.  `chunks` is the host's copy of plan->scan.chunks.  The caller then
 * allocates table: ngroups * nwords 64-bit words.
 */
extern void gpucol_reduce_layout(GpucolReducePlan *plan, const std::vector<GpucolDeviceChunk> &chunks);

/* Set every word of plan.table to the neutral value of its kind. */
extern cudaError_t gpucol_reduce_init(const GpucolReducePlan &plan, cudaStream_t stream);

/*
 * Advance plan.table over the matching rows.  Word 0 of a record counts the
 * group's rows; words of sums are modulo 2^64 (exact below 2^32 rows).
 * Integer adds, min and max in any order: the result is deterministic.
 */
extern cudaError_t gpucol_reduce_groups(const GpucolReducePlan &plan, cudaStream_t stream);

/* The same by a kernel that was compiled for the plan (jit_reduce.cuh). */
extern cudaError_t gpucol_reduce_compiled(const void *kernel, const GpucolReducePlan &plan, cudaStream_t stream);

#endif
