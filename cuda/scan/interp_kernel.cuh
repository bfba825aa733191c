/*-------------------------------------------------------------------------
 *
 * interp_kernel.cuh
 *	  The kernels that interpret instructions, by mode.
 *
 * Each mode is compiled in a file of its own: a mode's two kernels take the compiler
 * longer than any other file, the more so for several architectures.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_KERNEL_CUH
#define GPUCOL_CUDA_INTERP_KERNEL_CUH

#include "cuda/scan/interp.cuh"
#include "cuda/scan/interp_device.cuh"
#include "cuda/scan/interp_program.cuh"

template <int MODE, bool PROBES>
__global__ void __launch_bounds__(GPUCOL_INTERP_THREADS, GPUCOL_INTERP_BLOCKS)
interp_kernel(const __grid_constant__ GpucolInterpPlan plan)
{
	interp_run<MODE, InterpretedProgram<PROBES>>(plan);
}

template <int MODE>
const void *
gpucol_interp_kernel(bool probes)
{
	return probes ? (const void *) interp_kernel<MODE, true> : (const void *) interp_kernel<MODE, false>;
}

#endif
