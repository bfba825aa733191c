/*-------------------------------------------------------------------------
 *
 * rank_utopk.cu
 *	  U-Topk over many groups; the best rows of a large input.
 *
 * Heap (Algorithm 3 of Chang et al.): one thread a group runs the very loop of the
 * CPU, ranking/semantics/rank_utopk.h, over a heap in shared memory.  It stops early, so
 * a thread reads few of its group's probabilities.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/ranking/rank_kernels.cuh"

#include <cub/cub.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/base/tuning.cuh"
#include "ranking/semantics/rank_utopk.h"

/*-------------------------------------------------------------------------
 * Heap
 *-------------------------------------------------------------------------
 */

namespace
{

/* Rows between looks at `cancel`. */
constexpr int32_t LOOK_EVERY = 1024;

/* Threads of a block whose heaps fit shared memory; 0: they never do. */
int
heap_threads(int32_t k)
{
	int			threads = GPUCOL_DEVICE_RANK_HEAP_THREADS;

	while (threads >= 32 &&
		   (size_t) threads * k * sizeof(GpucolHeapNode) > gpucol_device_rank_shared())
		threads /= 2;
	return threads >= 32 ? threads : 0;
}

__global__ void
heap_kernel(GpucolDeviceRankGroups groups, int32_t k, GpucolDeviceRankSet *sets, GpucolHeapNode *spill)
{
	extern __shared__ double shared[];
	uint32_t	thread = blockIdx.x * blockDim.x + threadIdx.x;
	GpucolHeapNode *heap = spill != nullptr ? spill + (size_t) thread * k :
		(GpucolHeapNode *) shared + (size_t) threadIdx.x * k;
	bool		given_up = false;	/* the groups that are left have no set */

	for (uint32_t g = thread; g < groups.ngroups; g += gridDim.x * blockDim.x)
	{
		uint32_t	start = groups.starts[g];
		int32_t		n = gpucol_device_rank_rows(groups, g);
		int32_t		own = gpucol_device_rank_k(groups, g, k);
		GpucolUTopkScan scan;

		gpucol_utopk_begin(&scan);
		while (!given_up && n >= own && !gpucol_utopk_step(&scan, groups.p + start, n, own, heap, scan.at + LOOK_EVERY))
			given_up = gpucol_device_rank_given_up(groups.cancel);
		if (given_up)
			gpucol_utopk_begin(&scan);
		sets[g].probability = gpucol_product_value(scan.best.probability);
		sets[g].min_p = scan.best.min_p;
		sets[g].min_rank = scan.best.min_rank;
		sets[g].last = scan.best.last;
		sets[g].horizon = scan.best.horizon;
	}
}

/* Blocks where heaps lie in device memory: few, for the memory's sake. */
int
spill_blocks()
{
	int			device = 0,
				processors = 1;

	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	return 2 * processors;
}

/* One warp a group. */
__global__ void
members_kernel(GpucolDeviceRankGroups groups, int32_t k, const GpucolDeviceRankSet *sets, int32_t *ranks)
{
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;

	for (uint32_t g = (blockIdx.x * blockDim.x + threadIdx.x) / 32; g < groups.ngroups; g += warps)
	{
		const double *p = groups.p + groups.starts[g];
		GpucolUTopk best;
		int32_t		filled = 0;

		best.min_p = sets[g].min_p;
		best.min_rank = sets[g].min_rank;
		best.last = sets[g].last;
		for (int32_t from = 0; from <= best.last; from += 32)
		{
			int32_t		i = from + (int32_t) lane;
			bool		member = i <= best.last && p[i] > 0 && gpucol_utopk_member(&best, p, i);
			unsigned	mask = __ballot_sync(~0u, member);

			if (member)
				ranks[(size_t) g * k + filled + __popc(mask & ((1u << lane) - 1))] = i;
			filled += __popc(mask);
		}
		for (int32_t j = filled + (int32_t) lane; j < k; j += 32)
			ranks[(size_t) g * k + j] = -1;
	}
}

}								/* namespace */

size_t
gpucol_device_rank_heap_scratch(int32_t k)
{
	if (heap_threads(k) > 0)
		return 0;
	return (size_t) spill_blocks() * GPUCOL_DEVICE_RANK_HEAP_THREADS * k * sizeof(GpucolHeapNode);
}

cudaError_t
gpucol_device_rank_heap(const GpucolDeviceRankGroups &groups, int32_t k, GpucolDeviceRankSet *sets,
				 void *scratch, cudaStream_t stream)
{
	int			threads = heap_threads(k);
	size_t		shared = (size_t) threads * k * sizeof(GpucolHeapNode);
	int			blocks;

	if (threads == 0)
	{
		heap_kernel<<<spill_blocks(), GPUCOL_DEVICE_RANK_HEAP_THREADS, 0, stream>>>(groups, k, sets,
				(GpucolHeapNode *) scratch);
		return cudaGetLastError();
	}
	blocks = gpucol_launch_blocks(heap_kernel, threads, shared);
	heap_kernel<<<blocks, threads, shared, stream>>>(groups, k, sets, nullptr);
	return cudaGetLastError();
}

cudaError_t
gpucol_device_rank_members(const GpucolDeviceRankGroups &groups, int32_t k, const GpucolDeviceRankSet *sets,
					int32_t *ranks, cudaStream_t stream)
{
	int			blocks = gpucol_launch_blocks(members_kernel, GPUCOL_DEVICE_RANK_THREADS, 0);

	members_kernel<<<blocks, GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>(groups, k, sets, ranks);
	return cudaGetLastError();
}

/*-------------------------------------------------------------------------
 * Selection
 *-------------------------------------------------------------------------
 */

namespace
{

constexpr uint32_t SAMPLE = 16384;

/* Scores of evenly spread rows, perturbed by a hash. */
__global__ void
sample_kernel(const int64_t *score, uint32_t nrows, int64_t *sample, uint32_t count)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
	{
		uint64_t	stride = nrows / count;
		uint64_t	h = (i + 1) * 0x9e3779b97f4a7c15ull;

		sample[i] = score[i * stride + (h >> 33) % stride];
	}
}

/* Keep rows at or above the threshold, counted a warp at a time. */
__global__ void
filter_kernel(const int64_t *score, uint32_t nrows, const int64_t *threshold,
			  uint32_t *out, uint32_t capacity, uint32_t *found)
{
	int64_t		bar = *threshold;
	uint32_t	lane = threadIdx.x % 32;
	uint32_t	all = (nrows + 31) / 32 * 32;

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
	{
		bool		keep = i < nrows && score[i] >= bar;
		unsigned	mask = __ballot_sync(~0u, keep);
		uint32_t	base = 0;

		if (mask == 0)
			continue;
		if (lane == 0)
			base = atomicAdd(found, __popc(mask));
		base = __shfl_sync(~0u, base, 0) + __popc(mask & ((1u << lane) - 1));
		if (keep && base < capacity)
			out[base] = i;
	}
}

__global__ void
pick_kernel(const int64_t *sorted, uint32_t at, int64_t *threshold)
{
	*threshold = at < SAMPLE ? sorted[at] : INT64_MIN;
}

size_t
select_cub_bytes()
{
	size_t		bytes = 0;

	cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, (int64_t *) nullptr, (int64_t *) nullptr, SAMPLE);
	return bytes;
}

}								/* namespace */

size_t
gpucol_device_rank_select_scratch()
{
	return 256 + 2 * sizeof(int64_t) * SAMPLE + select_cub_bytes();
}

cudaError_t
gpucol_device_rank_select(const int64_t *score, uint32_t nrows, uint32_t want,
				   uint32_t *out, uint32_t capacity, uint32_t *found,
				   void *scratch, cudaStream_t stream)
{
	int64_t    *threshold = (int64_t *) scratch;
	int64_t    *sample = threshold + 32;
	int64_t    *sorted = sample + SAMPLE;
	size_t		bytes = select_cub_bytes();
	uint32_t	at = SAMPLE;

	cudaMemsetAsync(found, 0, sizeof(uint32_t), stream);
	if (nrows >= 16 * SAMPLE)
	{
		/* three standard deviations beyond the expected place */
		double		expected = (double) want * SAMPLE / nrows;

		sample_kernel<<<SAMPLE / 256, 256, 0, stream>>>(score, nrows, sample, SAMPLE);
		cub::DeviceRadixSort::SortKeysDescending(sorted + SAMPLE, bytes, sample, sorted, SAMPLE, 0, 64, stream);
		at = (uint32_t) (expected + 3 * sqrt(expected) + 2);
	}
	pick_kernel<<<1, 1, 0, stream>>>(sorted, at < SAMPLE ? at : SAMPLE, threshold);
	filter_kernel<<<gpucol_launch_blocks(filter_kernel, GPUCOL_DEVICE_RANK_THREADS, 0),
					GPUCOL_DEVICE_RANK_THREADS, 0, stream>>>
		(score, nrows, threshold, out, capacity, found);
	return cudaGetLastError();
}
