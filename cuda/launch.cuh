/*-------------------------------------------------------------------------
 *
 * launch.cuh
 *	  Sizes of persistent grids: exactly the blocks that are resident at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LAUNCH_CUH
#define GPUCOL_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

/*
 * Blocks of `kernel` that the current device holds at once, with that many
 * threads and bytes of dynamic shared memory a block; at least 1.
 */
template <class Kernel>
inline int
gpucol_launch_blocks(Kernel kernel, int threads, size_t shared)
{
	int			device = 0,
				processors = 0,
				blocks = 0;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared);
	return blocks * processors > 0 ? blocks * processors : 1;
}

#endif
