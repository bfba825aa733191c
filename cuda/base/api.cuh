/*-------------------------------------------------------------------------
 *
 * api.cuh
 *	  The device layer: all that cuda/ uses of CUDA, by name.
 *
 * The runtime's header is included here and nowhere else, and test/unit/guards holds the code
 * to this list in both directions.  So this is what a port to another runtime (HIP, say) has
 * to give: these names, meaning the same, from here.  test/unit/no_cuda does so for unit
 * tests, of as much as they need.
 *
 *	devices		cudaGetDeviceCount cudaGetDeviceProperties cudaDeviceProp cudaSetDevice cudaGetDevice
 *				cudaSetDeviceFlags cudaDeviceScheduleBlockingSync cudaDeviceSynchronize
 *				cudaDeviceGetAttribute cudaDevAttrComputeCapabilityMajor
 *				cudaDevAttrComputeCapabilityMinor cudaDevAttrComputeMode cudaComputeModeProhibited
 *				cudaDevAttrMultiProcessorCount cudaDevAttrMaxSharedMemoryPerBlockOptin
 *				cudaDevAttrClusterLaunch
 *	errors		cudaError_t cudaSuccess cudaGetLastError cudaGetErrorString cudaErrorInvalidValue
 *				cudaErrorMemoryAllocation cudaErrorNotReady cudaErrorDevicesUnavailable
 *				cudaErrorNoKernelImageForDevice
 *	memory		cudaMalloc cudaFree cudaMemGetInfo cudaMallocAsync cudaFreeAsync cudaMemPool_t
 *				cudaDeviceGetDefaultMemPool cudaMemPoolSetAttribute cudaMemPoolAttrReleaseThreshold
 *				cudaMemPoolTrimTo
 *	of the host	cudaHostAlloc cudaHostAllocPortable cudaFreeHost cudaHostRegister
 *				cudaHostRegisterPortable cudaHostRegisterMapped cudaHostUnregister
 *				cudaHostGetDevicePointer
 *	copies		cudaMemcpyAsync cudaMemsetAsync cudaMemcpyKind cudaMemcpyHostToDevice
 *				cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice cudaMemcpyDefault
 *	streams		cudaStream_t cudaStreamCreateWithFlags cudaStreamNonBlocking cudaStreamDestroy
 *				cudaStreamQuery cudaStreamSynchronize
 *	events		cudaEvent_t cudaEventCreateWithFlags cudaEventDefault cudaEventDestroy
 *				cudaEventRecord cudaEventElapsedTime
 *	kernels		cudaLaunchKernel cudaLaunchKernelEx cudaLaunchConfig_t cudaLaunchAttribute
 *				cudaLaunchAttributeCooperative cudaLaunchAttributeClusterDimension
 *				cudaFuncAttributes cudaFuncGetAttributes cudaFuncSetAttribute
 *				cudaFuncAttributeMaxDynamicSharedMemorySize
 *				cudaOccupancyMaxActiveBlocksPerMultiprocessor
 *	compiled	cudaLibrary_t cudaLibraryLoadData cudaLibraryUnload cudaLibraryGetKernel cudaKernel_t
 *	at run time	nvrtcVersion nvrtcCreateProgram nvrtcCompileProgram nvrtcDestroyProgram
 *				nvrtcGetNumSupportedArchs nvrtcGetSupportedArchs nvrtcGetProgramLog
 *				nvrtcGetProgramLogSize nvrtcGetCUBIN nvrtcGetCUBINSize nvrtcGetPTX nvrtcGetPTXSize
 *	algorithms	cub::DeviceRadixSort cub::DeviceMerge cub::DeviceReduce cub::DeviceScan
 *				cub::DeviceSelect cub::DoubleBuffer cub::BlockScan cub::WarpScan
 *				thrust::counting_iterator thrust::make_transform_iterator
 *				cuda::std::equal_to cuda::std::less
 *	language	__global__ __device__ __host__ __shared__ __grid_constant__ __launch_bounds__
 *				__restrict__ __forceinline__ __noinline__ dim3 gridDim blockDim blockIdx threadIdx
 *	in kernels	cooperative_groups::this_grid __syncthreads __syncthreads_or __syncwarp
 *				__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync
 *				__all_sync __match_any_sync __reduce_add_sync __reduce_min_sync __reduce_max_sync
 *				__ldg __ldcs __ldcg __stcs __threadfence __trap __popc __popcll __ffs __clz __dp4a
 *				__byte_perm __funnelshift_l __funnelshift_r __cvta_generic_to_shared
 *				__dmul_rn __fma_rn __double_as_longlong __longlong_as_double __int_as_float
 *				atomicAdd atomicMin atomicMax atomicOr atomicCAS atomicExch
 *	assembler	cuda/base/warp.cuh cuda/base/cancel.cuh cuda/scan/bitunpack.cuh
 *				cuda/scan/masked_sum.cuh cuda/scan/offsets.cuh cuda/scan/reduce_table.cuh
 *
 * What only some architectures have is in warp.cuh, with a way for the others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_API_CUH
#define GPUCOL_CUDA_API_CUH

#include <cuda_runtime.h>

#endif
