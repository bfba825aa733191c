/*-------------------------------------------------------------------------
 *
 * stage.cuh
 *	  How long the stages of a request take, for measurement: with --stages the
 *	  daemon waits for the stream at the end of each and writes a line to its log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_STAGE_CUH
#define GPUCOL_CUDA_STAGE_CUH

#include "cuda/base/api.cuh"

/* Are the times of stages logged?  Set at the start of the program. */
extern bool gpucol_stages;

extern void gpucol_stage_tell(cudaStream_t stream, const char *name);

/* The stage that ends here, in this thread. */
static inline void
gpucol_stage(cudaStream_t stream, const char *name)
{
	if (gpucol_stages)
		gpucol_stage_tell(stream, name);
}

#endif
