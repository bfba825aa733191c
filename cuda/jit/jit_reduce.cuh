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
 * Source of the kernel for a plan, for jit.find(); "" where none of its own suits.  `chunks`
 * are the host's copy of plan.scan.chunks; `deleted`: some segment has deleted rows.
 */
extern std::string gpucol_jit_reduce_source(const GpucolReducePlan &plan,
											const std::vector<GpucolDeviceChunk> &chunks, bool deleted);

#endif
