/*-------------------------------------------------------------------------
 *
 * reduce.cu
 *	  GROUP BY over plain columns with a dense domain of keys: layout of the
 *	  reduction object, and the kernels for any plan.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/reduce.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/scan/reduce_device.cuh"
#include "cuda/scan/reduce_few.cuh"

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

/* The greatest width of the plan's columns in a segment, 33 where some does not suit
 * the kernels for few columns. */
static uint32_t
width_of_segment(const GpucolReducePlan &plan, const GpucolDeviceChunk *chunks)
{
	uint32_t	widest = 1;

	for (uint32_t c = 0; c < plan.nkeys + plan.ninputs; c++)
	{
		const GpucolDeviceChunk &chunk =
			chunks[(c < plan.nkeys ? plan.keys[c] : plan.inputs[c - plan.nkeys].column).slot];

		if (!gpucol_reduce_fits(chunk, 32))
			return 33;
		widest = chunk.width > widest ? chunk.width : widest;
	}
	return widest;
}

/* Choose the kernel for few columns that takes most of the segments that any does. */
static void
choose_few(GpucolReducePlan *plan, const std::vector<GpucolDeviceChunk> &chunks)
{
	size_t		of_width[34] = {},
				taken = 0,
				all = 0;

	plan->few = plan->rest = 0;
	if (plan->slices > GPUCOL_AGG_MAX_SLICES)
		return;
	for (size_t at = 0; at < chunks.size(); at += plan->scan.ncolumns)
		of_width[width_of_segment(*plan, chunks.data() + at)]++;
	for (uint32_t width = 1; width <= 32; width++)
	{
		const GpucolFewKernel *few = gpucol_reduce_few(plan->nkeys, plan->ninputs, width);

		all += of_width[width];
		if (few && of_width[width] > 0)
			plan->few = few->widest;
	}
	for (uint32_t width = 1; width <= plan->few; width++)
		taken += of_width[width];
	plan->rest = taken < all + of_width[33];
}

void
gpucol_reduce_layout(GpucolReducePlan *plan, const std::vector<GpucolDeviceChunk> &chunks)
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
	fit = (uint32_t) (gpucol_launch_shared() - GPUCOL_AGG_OWN_SHARED) / (4 * words) - WASTE;
	plan->slices = (groups + fit - 1) / fit;
	plan->copies = groups <= GPUCOL_AGG_LANE_COPIES_GROUPS ? 32 :
		groups <= GPUCOL_AGG_EIGHT_COPIES_GROUPS ? 8 : 1;
	while (plan->copies > 1 && groups * plan->copies > fit)
		plan->copies /= 2;
	choose_few(plan, chunks);
}

cudaError_t
gpucol_reduce_init(const GpucolReducePlan &plan, cudaStream_t stream)
{
	reduce_init_kernel<<<gpucol_launch_blocks(reduce_init_kernel, 256, 0), 256, 0, stream>>>(plan);
	return cudaGetLastError();
}

/* Launch a kernel that keeps its object in shared memory; each slice has a block. */
static cudaError_t
launch_object(const void *kernel, int threads, const GpucolReducePlan &plan, cudaStream_t stream)
{
	uint32_t	per_slice = (plan.ngroups + plan.slices - 1) / plan.slices;
	size_t		bytes = (size_t) (per_slice * plan.copies + WASTE) * plan.nwords * 4;
	void	   *args[] = {(void *) &plan};
	uint32_t	blocks = gpucol_launch_blocks(kernel, threads, bytes);

	return cudaLaunchKernel(kernel, dim3(blocks > plan.slices ? blocks : plan.slices), dim3(threads), args,
							bytes, stream);
}

cudaError_t
gpucol_reduce_groups(const GpucolReducePlan &plan, cudaStream_t stream)
{
	const GpucolFewKernel *few = plan.few ? gpucol_reduce_few(plan.nkeys, plan.ninputs, plan.few) : NULL;
	cudaError_t err = cudaSuccess;

	if (plan.slices > GPUCOL_AGG_MAX_SLICES)
	{
		reduce_global_kernel<<<gpucol_launch_blocks(reduce_global_kernel, GPUCOL_AGG_GLOBAL_THREADS, 0),
			GPUCOL_AGG_GLOBAL_THREADS, 0, stream>>>(plan);
		return cudaGetLastError();
	}
	if (few)
		err = launch_object(few->kernel, few->threads, plan, stream);
	if (err == cudaSuccess && (!few || plan.rest))
		err = launch_object((const void *) reduce_shared_kernel, GPUCOL_AGG_THREADS, plan, stream);
	return err;
}

cudaError_t
gpucol_reduce_compiled(const void *kernel, const GpucolReducePlan &plan, cudaStream_t stream)
{
	return launch_object(kernel, GPUCOL_AGG_THREADS, plan, stream);
}
