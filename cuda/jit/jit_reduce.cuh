/*-------------------------------------------------------------------------
 *
 * jit_reduce.cuh
 *	  Grouped reductions in kernels compiled for their columns' widths.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_REDUCE_CUH
#define GPUCOL_CUDA_JIT_REDUCE_CUH

#include <string>
#include <vector>

#include "cuda/jit/jit.cuh"
#include "cuda/scan/plan.h"

/*
 * The compiled kernel for a plan, or NULL if there is none (yet).  `chunks` are
 * the host's copy of plan.scan.chunks; `deleted`: some segment has deleted rows.
 */
extern JitHandle gpucol_jit_reduce(const GpucolReducePlan &plan,
								   const std::vector<GpucolDeviceChunk> &chunks, bool deleted);

/* Its source, for jit.find(); "" where no kernel of its own suits. */
extern std::string gpucol_jit_reduce_source(const GpucolReducePlan &plan,
											const std::vector<GpucolDeviceChunk> &chunks, bool deleted);

#endif
