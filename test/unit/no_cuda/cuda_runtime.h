/*-------------------------------------------------------------------------
 *
 * cuda_runtime.h
 *	  As much of CUDA's runtime as cuda/base/device.cu and cache.cu use, for unit tests
 *	  on machines without CUDA: memory is the test's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_CUDA_RUNTIME_H
#define GPUCOL_TEST_CUDA_RUNTIME_H

#include <cstddef>

typedef struct CUstream_st *cudaStream_t;

enum cudaError_t
{
	cudaSuccess = 0,
	cudaErrorMemoryAllocation = 2,
	cudaErrorNotReady = 600
};

extern cudaError_t cudaMalloc(char **p, size_t size);
extern cudaError_t cudaFree(void *p);

inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t) { return "an error"; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

#endif
