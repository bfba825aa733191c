/*-------------------------------------------------------------------------
 *
 * load.cuh
 *	  Making a chunk fit for the kernels when it becomes resident.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LOAD_CUH
#define GPUCOL_CUDA_LOAD_CUH

#include <cstdint>

#include "cuda/base/api.cuh"

/*
 * Expand run-length codes: run i ends before row ends[i] and has code i of
 * `codes` (packed, `width` bits).  Writes the vectors of nrows rows to `out`.
 */
extern cudaError_t gpucol_load_expand_runs(const uint32_t *codes, int width,
										   const uint32_t *ends, uint32_t nruns,
										   uint32_t nrows, uint32_t *out,
										   cudaStream_t stream);

/*
 * Expand codes of steps: row i becomes its code times `step`, which fits
 * `out_width` bits.
 */
extern cudaError_t gpucol_load_expand_steps(const uint32_t *codes, int width,
											uint64_t step, int out_width,
											uint32_t nrows, uint32_t *out,
											cudaStream_t stream);

#endif
