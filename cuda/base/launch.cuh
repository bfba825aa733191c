/*-------------------------------------------------------------------------
 *
 * launch.cuh
 *	  Sizes of persistent grids: exactly the blocks that are resident at once; the shared
 *	  memory that blocks may have; and what the code that is loaded can do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LAUNCH_CUH
#define GPUCOL_CUDA_LAUNCH_CUH

#include <cstdint>

#include "cuda/base/api.cuh"
#include "cuda/base/tuning.cuh"

/*
 * The architecture, ten times the compute capability, for which the code of `kernel` was
 * compiled that the current device runs: 90 of code for 9.0, on whatever device.  What this
 * one has of instructions the code may use, and no more (warp.cuh).  0 where it has no code.
 */
template <class Kernel>
inline int
gpucol_launch_code(Kernel kernel)
{
	cudaFuncAttributes attributes;

	if (cudaFuncGetAttributes(&attributes, (const void *) kernel) != cudaSuccess)
	{
		cudaGetLastError();
		return 0;
	}
	return attributes.ptxVersion;
}

/*
 * Bytes of shared memory that a block on the current device may have, of H100's at most.
 * A build of one architecture's code for any device (GPUCOL_CODE, cuda/Makefile) takes no
 * more than the least of that architecture's devices has, so that its ways are tested.
 */
inline size_t
gpucol_launch_shared()
{
#ifdef GPUCOL_CODE
	constexpr int limit = GPUCOL_CODE < 80 ? 64 * 1024 : GPUCOL_CODE < 90 ? 99 * 1024 : GPUCOL_MOST_SHARED;
#else
	constexpr int limit = GPUCOL_MOST_SHARED;
#endif
	int			device = 0,
				most = 0;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	return most < limit ? most : limit;
}

/*
 * Let blocks of `kernel` have as much dynamic shared memory as the current device has
 * for one.  Never less, so that threads which launch one kernel with different amounts
 * do not take them from each other.  What fails here fails at the launch.
 */
template <class Kernel>
inline void
gpucol_launch_allow_shared(Kernel kernel)
{
	cudaFuncAttributes attributes;
	int			device = 0,
				most = 0;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	if (cudaFuncGetAttributes(&attributes, (const void *) kernel) == cudaSuccess)
		cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
							 most - (int) attributes.sharedSizeBytes);
}

/*
 * Blocks of `kernel` that the current device holds at once, with that many
 * threads and bytes of dynamic shared memory a block, which it then may have; at
 * least 1.  Each thread remembers its last answers: asking takes as long as a small
 * kernel.
 */
template <class Kernel>
inline int
gpucol_launch_blocks(Kernel kernel, int threads, size_t shared)
{
	struct Answer
	{
		const void *kernel;
		size_t		shared;
		int			threads;
		int			device;
		int			blocks;
	};
	constexpr size_t KEPT = 64;
	static thread_local Answer answers[KEPT];
	int			device = 0,
				processors = 0,
				blocks = 0;
	Answer	   &a = answers[((uintptr_t) kernel / 16 + shared / 4) % KEPT];

	cudaGetDevice(&device);
	if (a.blocks > 0 && a.kernel == (const void *) kernel && a.shared == shared && a.threads == threads &&
		a.device == device)
		return a.blocks;
	if (shared > 0)
		gpucol_launch_allow_shared(kernel);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared);
	a = {(const void *) kernel, shared, threads, device, blocks * processors > 0 ? blocks * processors : 1};
	return a.blocks;
}

/* Blocks of GPUCOL_THREADS for an element-wise kernel over n elements. */
inline unsigned
gpucol_launch_grid(size_t n)
{
	size_t		blocks = (n + GPUCOL_THREADS - 1) / GPUCOL_THREADS;

	return (unsigned) (blocks < 1 ? 1 : blocks > GPUCOL_MOST_BLOCKS ? GPUCOL_MOST_BLOCKS : blocks);
}

/* The elements 0 .. n - 1 of an element-wise kernel that are this thread's. */
#define GPUCOL_FOR_EACH(i, n) \
	for (size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x; i < (n); \
		 i += (size_t) gridDim.x * blockDim.x)

#endif
