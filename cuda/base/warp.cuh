/*-------------------------------------------------------------------------
 *
 * warp.cuh
 *	  Instructions that not every architecture has, each with the plain way to the same.
 *
 * One instruction of 8.0 adds up, or finds the extreme of, what the lanes of a warp have;
 * before, they exchange it five times.  A cluster of blocks has a barrier of its own from 9.0
 * on; who launches clusters asks gpucol_launch_code() (launch.cuh) whether the code has it.
 * Nothing else in cuda/ looks at __CUDA_ARCH__.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_WARP_CUH
#define GPUCOL_CUDA_WARP_CUH

#include <cstdint>

/* Architectures, ten times the compute capability, from which on code has these. */
constexpr int GPUCOL_CODE_LEAST = 75;
constexpr int GPUCOL_CODE_CLUSTERS = 90;

#ifdef __CUDACC__

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPUCOL_LANES_REDUCE(name, instruction, combined) \
	__device__ __forceinline__ uint32_t \
	name(uint32_t x) \
	{ \
		return instruction(0xffffffffu, x); \
	}
#else
#define GPUCOL_LANES_REDUCE(name, instruction, combined) \
	__device__ __forceinline__ uint32_t \
	name(uint32_t x) \
	{ \
		for (int d = 16; d > 0; d /= 2) \
		{ \
			uint32_t	y = __shfl_xor_sync(0xffffffffu, x, d); \
\
			x = combined; \
		} \
		return x; \
	}
#endif

/* Of all lanes' numbers the sum, the least and the greatest; all lanes call and get it. */
GPUCOL_LANES_REDUCE(lanes_sum, __reduce_add_sync, x + y)
GPUCOL_LANES_REDUCE(lanes_least, __reduce_min_sync, x < y ? x : y)
GPUCOL_LANES_REDUCE(lanes_greatest, __reduce_max_sync, x > y ? x : y)

/* Wait for all threads of the cluster: a tenth of the time of a barrier across a grid. */
__device__ __forceinline__ void
cluster_barrier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("barrier.cluster.arrive.release;\n\t"
				 "barrier.cluster.wait.acquire;" ::: "memory");
#else
	__trap();					/* no cluster is launched of such code */
#endif
}

#endif							/* __CUDACC__ */

#endif
