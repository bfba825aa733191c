/*-------------------------------------------------------------------------
 *
 * reduce_few.cuh
 *	  Grouped reductions of few columns, of any widths.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_FEW_CUH
#define GPUCOL_CUDA_REDUCE_FEW_CUH

#include <cstdint>

struct GpucolFewKernel
{
	uint32_t	keys,
				inputs;
	uint32_t	widest;			/* codes that it takes */
	int			threads;		/* a block */
	const void *kernel;
};

/* The kernel for that many keys and inputs of at most `width` bits, or NULL. */
extern const GpucolFewKernel *gpucol_reduce_few(uint32_t nkeys, uint32_t ninputs, uint32_t width);

#endif
