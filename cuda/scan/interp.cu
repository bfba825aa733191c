/*-------------------------------------------------------------------------
 *
 * interp.cu
 *	  Any program over any chunk: what surrounds a run of the kernels that interpret
 *	  instructions (interp_kernel.cuh).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/interp.cuh"
#include "cuda/scan/interp_device.cuh"
#include "cuda/base/launch.cuh"

__global__ void
interp_init_kernel(const __grid_constant__ GpucolInterpPlan plan, uint32_t records)
{
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t r = (size_t) blockIdx.x * blockDim.x + threadIdx.x; r < records; r += step)
		for (int i = 0; i < plan.naccs; i++)
		{
			const GpucolAcc &acc = plan.accs[i];
			Words		words;

			neutral_words(acc, words);
			for (int j = 0; j < words.n; j++)
				plan.table[r * plan.nwords + acc.word + j] = words.w[j];
		}
}

cudaError_t
gpucol_interp_init(const GpucolInterpPlan &plan, uint32_t records, cudaStream_t stream)
{
	interp_init_kernel<<<gpucol_launch_blocks(interp_init_kernel, 256, 0), 256, 0, stream>>>(plan, records);
	return cudaGetLastError();
}

/* The kernel that interprets a program. */
static const void *
interpreter(InterpMode mode, bool probes)
{
	static const void *(*const kernels[])(bool) = {
		gpucol_interp_kernel<MODE_AGGREGATE>, gpucol_interp_kernel<MODE_EXPONENTS>,
		gpucol_interp_kernel<MODE_SELECT>, gpucol_interp_kernel<MODE_EMIT>
	};

	return kernels[mode](probes);
}

size_t
gpucol_interp_warps(InterpMode mode, const GpucolInterpPlan &plan, const void *compiled)
{
	const void *kernel = compiled ? compiled : interpreter(mode, plan.nprobes > 0);

	return (size_t) gpucol_launch_blocks(kernel, GPUCOL_INTERP_THREADS, 0) * GPUCOL_INTERP_THREADS / 32;
}

cudaError_t
gpucol_interp_launch(InterpMode mode, const GpucolInterpPlan &plan,
					 const void *compiled, cudaStream_t stream)
{
	const void *kernel = compiled ? compiled : interpreter(mode, plan.nprobes > 0);
	void	   *args[] = {(void *) &plan};

	return cudaLaunchKernel(kernel, dim3(gpucol_launch_blocks(kernel, GPUCOL_INTERP_THREADS, 0)),
							dim3(GPUCOL_INTERP_THREADS), args, 0, stream);
}
