/*-------------------------------------------------------------------------
 *
 * rank_split.cuh
 *	  Rankings of one long group by the whole device, for probabilities so small
 *	  that far more rows matter than a thread or a warp should walk (rank_kernels.cuh):
 *	  what its rooms share.
 *
 *	  rank_split.cu		numbers of better rows: all rankings but U-Topk
 *	  rank_split_utopk.cu	U-Topk
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RANK_SPLIT_CUH
#define GPUCOL_CUDA_RANK_SPLIT_CUH

#include "cuda/ranking/rank_kernels.cuh"

#include <algorithm>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "cuda/base/launch.cuh"

constexpr unsigned GPUCOL_SPLIT_ALL = 0xffffffffu;	/* lanes of a warp */
constexpr int GPUCOL_SPLIT_LOOK_EVERY = 1024;	/* rows between looks at `cancel` */

typedef thrust::counting_iterator<uint32_t> GpucolSplitNumbers;

/* Scratch memory, dealt out in order; from a base of 0 it is only measured. */
struct GpucolSplitCarve
{
	uintptr_t	at;

	template <class T> T *
	take(size_t n)
	{
		T		   *p = (T *) at;

		at += (n * sizeof(T) + 255) & ~(size_t) 255;
		return p;
	}
};

/* Scratch memory of U-Topk alone. */
extern size_t gpucol_device_rank_split_set_scratch(uint32_t n, int32_t k);

#endif
