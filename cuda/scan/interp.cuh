/*-------------------------------------------------------------------------
 *
 * interp.cuh
 *	  Any program over any chunk: launching the kernels that run programs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_CUH
#define GPUCOL_CUDA_INTERP_CUH

#include <functional>

#include "cuda/base/api.cuh"
#include "cuda/scan/interp_plan.h"

/* The kernel that interprets programs in a mode, which interp_MODE.cu compiles, with or without probes. */
template <int MODE> const void *gpucol_interp_kernel(bool probes);

/* Neutral accumulator words. */
extern cudaError_t gpucol_interp_init(const GpucolInterpPlan &plan, uint32_t records,
									  cudaStream_t stream);

/* Warps that do so at once: where there are probes, each has plan.memory_size bytes from plan.memory. */
extern size_t gpucol_interp_warps(InterpMode mode, const GpucolInterpPlan &plan, const void *compiled);

/* Run the program in one mode, by `compiled`, a kernel made for it, or NULL. */
extern cudaError_t gpucol_interp_launch(InterpMode mode, const GpucolInterpPlan &plan,
										const void *compiled, cudaStream_t stream);

/* Gives device memory, or throws. */
typedef std::function<void *(size_t bytes)> GpucolAllocate;

/*
 * Gather the groups of plan.groups, of which there are ngroups, in the order of
 * their keys: keys (word-major) and records (record-major).
 */
extern cudaError_t gpucol_interp_gather(const GpucolInterpPlan &plan, uint32_t ngroups,
										const GpucolAllocate &allocate, unsigned long long **keys,
										unsigned long long **records, cudaStream_t stream);

#endif
