/*-------------------------------------------------------------------------
 *
 * launch.cuh
 *	  Sizes of persistent grids: exactly the blocks that are resident at once; and the
 *	  shared memory that blocks may have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LAUNCH_CUH
#define GPUCOL_CUDA_LAUNCH_CUH

#include <cstdint>

#include <cuda_runtime.h>

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

/* Threads a block of element-wise kernels. */
constexpr int GPUCOL_THREADS = 256;

/* Blocks of GPUCOL_THREADS for an element-wise kernel over n elements. */
inline unsigned
gpucol_launch_grid(size_t n)
{
	size_t		blocks = (n + GPUCOL_THREADS - 1) / GPUCOL_THREADS;

	return (unsigned) (blocks < 1 ? 1 : blocks > 132 * 64 ? 132 * 64 : blocks);
}

/* The elements 0 .. n - 1 of an element-wise kernel that are this thread's. */
#define GPUCOL_FOR_EACH(i, n) \
	for (size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x; i < (n); \
		 i += (size_t) gridDim.x * blockDim.x)

#endif
