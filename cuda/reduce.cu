/*-------------------------------------------------------------------------
 *
 * reduce.cu
 *	  GROUP BY over plain columns with a dense domain of keys: layout of the
 *	  reduction object, and the kernels for any plan.
 *
 *-------------------------------------------------------------------------
 */
#include "reduce.cuh"
#include "launch.cuh"
#include "reduce_device.cuh"

__global__ void __launch_bounds__(GPUCOL_AGG_THREADS, 1)
reduce_shared_kernel(const __grid_constant__ GpucolReducePlan plan)
{
	reduce_block<AnyShape>(plan);
}

__global__ void __launch_bounds__(GPUCOL_AGG_GLOBAL_THREADS, 2)
reduce_global_kernel(const __grid_constant__ GpucolReducePlan plan)
{
	GlobalTable table = {plan.table, plan.nwords, 1};

	reduce_runs<AnyShape>(plan, table, (blockIdx.x * blockDim.x + threadIdx.x) / 32,
				gridDim.x * blockDim.x / 32, 0, plan.ngroups, false);
}

__global__ void
reduce_init_kernel(const GpucolReducePlan plan)
{
	size_t		n = (size_t) plan.ngroups * plan.nwords;
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
	{
		int			kind = plan.word_kinds >> (2 * (i % plan.nwords)) & 3;

		plan.table[i] = neutral32(kind);
	}
}

void
gpucol_reduce_layout(GpucolReducePlan *plan)
{
	uint32_t	words = 1;
	uint32_t	kinds = WORD_SUM;
	uint32_t	groups = plan->ngroups;
	uint32_t	fit;

	for (uint32_t i = 0; i < plan->ninputs; i++)
	{
		GpucolReduceInput *in = &plan->inputs[i];

		/* without NULLs the count of the values is that of the rows */
		if (!in->column.nullable)
			in->ops &= ~GPUCOL_REDUCE_COUNT;
		in->count = 0;
		if (in->ops & GPUCOL_REDUCE_COUNT)
			in->count = words++;
		if (in->ops & GPUCOL_REDUCE_SUM)
			in->sum = words++;
		if (in->ops & GPUCOL_REDUCE_MIN)
		{
			kinds |= WORD_MIN << (2 * words);
			in->min = words++;
		}
		if (in->ops & GPUCOL_REDUCE_MAX)
		{
			kinds |= WORD_MAX << (2 * words);
			in->max = words++;
		}
	}
	plan->nwords = words;
	plan->word_kinds = kinds;
	fit = GPUCOL_AGG_SHARED_BYTES / (4 * words) - WASTE;
	plan->slices = (groups + fit - 1) / fit;
	plan->copies = groups <= GPUCOL_AGG_LANE_COPIES_GROUPS ? 32 :
		groups <= GPUCOL_AGG_EIGHT_COPIES_GROUPS ? 8 : 1;
	while (plan->copies > 1 && groups * plan->copies > fit)
		plan->copies /= 2;
}

cudaError_t
gpucol_reduce_init(const GpucolReducePlan &plan, cudaStream_t stream)
{
	reduce_init_kernel<<<gpucol_launch_blocks(reduce_init_kernel, 256, 0), 256, 0, stream>>>(plan);
	return cudaGetLastError();
}

/* Launch a kernel that keeps its object in shared memory. */
static cudaError_t
launch_object(const void *kernel, const GpucolReducePlan &plan, cudaStream_t stream)
{
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;
	size_t		bytes = (size_t) (per_slice * plan.copies + WASTE) * plan.nwords * 4;
	void	   *args[] = {(void *) &plan};
	cudaError_t err = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
										   GPUCOL_AGG_SHARED_BYTES);

	if (err != cudaSuccess)
		return err;
	return cudaLaunchKernel(kernel, dim3(gpucol_launch_blocks(kernel, GPUCOL_AGG_THREADS, bytes)),
							dim3(GPUCOL_AGG_THREADS), args, bytes, stream);
}

cudaError_t
gpucol_reduce_groups(const GpucolReducePlan &plan, cudaStream_t stream)
{
	if (plan.slices <= GPUCOL_AGG_MAX_SLICES)
		return launch_object((const void *) reduce_shared_kernel, plan, stream);
	reduce_global_kernel<<<gpucol_launch_blocks(reduce_global_kernel, GPUCOL_AGG_GLOBAL_THREADS, 0),
		GPUCOL_AGG_GLOBAL_THREADS, 0, stream>>>(plan);
	return cudaGetLastError();
}

cudaError_t
gpucol_reduce_compiled(const void *kernel, const GpucolReducePlan &plan, cudaStream_t stream)
{
	return launch_object(kernel, plan, stream);
}
