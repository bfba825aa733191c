/*-------------------------------------------------------------------------
 *
 * interp_groups.cu
 *	  Hashed groups as a result.
 *
 * Where a group lies in the hash table depends on which of two colliding keys
 * came first, so groups are given out in the order of their keys: the same on
 * every run.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_radix_sort.cuh>

#include "cuda/scan/interp.cuh"
#include "cuda/base/launch.cuh"

__global__ void
list_slots_kernel(const __grid_constant__ GpucolInterpPlan plan, uint32_t *slots, uint32_t *n)
{
	uint32_t	step = gridDim.x * blockDim.x;

	for (uint32_t s = blockIdx.x * blockDim.x + threadIdx.x; s < plan.groups.capacity; s += step)
		if (plan.groups.state[s] != 0)
			slots[atomicAdd(n, 1)] = s;
}

__global__ void
gather_kernel(const __grid_constant__ GpucolInterpPlan plan, const uint32_t *slots,
			  unsigned long long *keys, unsigned long long *records, uint32_t ngroups)
{
	uint32_t	step = gridDim.x * blockDim.x;

	for (uint32_t g = blockIdx.x * blockDim.x + threadIdx.x; g < ngroups; g += step)
	{
		for (uint32_t w = 0; w < plan.groups.nwords; w++)
			keys[(size_t) w * ngroups + g] = plan.groups.keys[(size_t) slots[g] * plan.groups.nwords + w];
		for (uint32_t w = 0; w < plan.nwords; w++)
			records[(size_t) g * plan.nwords + w] = plan.table[(size_t) slots[g] * plan.nwords + w];
	}
}

/* Word `word` of the slots' keys; numbers in the order of signed ones. */
__global__ void
key_words_kernel(const __grid_constant__ GpucolInterpPlan plan, const uint32_t *slots,
				 uint32_t word, unsigned long long *out, uint32_t ngroups)
{
	uint32_t	step = gridDim.x * blockDim.x;

	for (uint32_t g = blockIdx.x * blockDim.x + threadIdx.x; g < ngroups; g += step)
		out[g] = plan.groups.keys[(size_t) slots[g] * plan.groups.nwords + word] ^ (word > 0 ? 1ull << 63 : 0);
}

/* Sort slots by their keys, from the last word to the first. */
static cudaError_t
sort_slots(const GpucolInterpPlan &plan, uint32_t *slots[2], uint32_t ngroups,
		   const GpucolAllocate &allocate, cudaStream_t stream)
{
	unsigned long long *words[2] = {(unsigned long long *) allocate((size_t) ngroups * 8),
		(unsigned long long *) allocate((size_t) ngroups * 8)};
	size_t		bytes = 0;
	cudaError_t error = cub::DeviceRadixSort::SortPairs(NULL, bytes, words[0], words[1], slots[0], slots[1],
														ngroups, 0, 64, stream);
	void	   *temp = allocate(bytes);

	for (uint32_t w = plan.groups.nwords; error == cudaSuccess && w-- > 0;)
	{
		key_words_kernel<<<gpucol_launch_blocks(key_words_kernel, 256, 0), 256, 0, stream>>>(plan, slots[0],
				w, words[0], ngroups);
		error = cudaGetLastError();
		if (error == cudaSuccess)
			error = cub::DeviceRadixSort::SortPairs(temp, bytes, words[0], words[1], slots[0], slots[1],
													ngroups, 0, w == 0 ? plan.nkeys : 64, stream);
		std::swap(slots[0], slots[1]);
	}
	return error;
}

cudaError_t
gpucol_interp_gather(const GpucolInterpPlan &plan, uint32_t ngroups, const GpucolAllocate &allocate,
					 unsigned long long **keys, unsigned long long **records, cudaStream_t stream)
{
	uint32_t   *slots[2] = {(uint32_t *) allocate((size_t) ngroups * 4), (uint32_t *) allocate((size_t) ngroups * 4)};
	uint32_t   *n = (uint32_t *) allocate(4);
	cudaError_t error = cudaMemsetAsync(n, 0, 4, stream);

	*keys = (unsigned long long *) allocate((size_t) ngroups * plan.groups.nwords * 8);
	*records = (unsigned long long *) allocate((size_t) ngroups * plan.nwords * 8 + 8);
	if (error != cudaSuccess)
		return error;
	list_slots_kernel<<<gpucol_launch_blocks(list_slots_kernel, 256, 0), 256, 0, stream>>>(plan, slots[0], n);
	error = sort_slots(plan, slots, ngroups, allocate, stream);
	if (error != cudaSuccess)
		return error;
	gather_kernel<<<gpucol_launch_blocks(gather_kernel, 256, 0), 256, 0, stream>>>(plan, slots[0], *keys,
			*records, ngroups);
	return cudaGetLastError();
}
