/*-------------------------------------------------------------------------
 *
 * cuda_runtime.h
 *	  As much of CUDA's runtime as cuda/base and requests (cuda/query/request.cuh) use, for
 *	  unit tests on machines without CUDA: memory is the test's own, and all is done at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_CUDA_RUNTIME_H
#define GPUCOL_TEST_CUDA_RUNTIME_H

#include <cstddef>
#include <cstdlib>
#include <cstring>

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum cudaMemcpyKind
{
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice
};

enum
{
	cudaStreamNonBlocking = 1,
	cudaHostAllocPortable = 1,
	cudaEventDefault = 0
};

enum cudaError_t
{
	cudaSuccess = 0,
	cudaErrorMemoryAllocation = 2,
	cudaErrorNotReady = 600
};

extern cudaError_t cudaMalloc(char **p, size_t size);
extern cudaError_t cudaFree(void *p);

enum cudaDeviceAttr
{
	cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor = 76
};

inline cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
	*value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
	return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t) { return "an error"; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *, int) { return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

inline cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, int)
{
	*stream = NULL;
	return cudaSuccess;
}

template <class T> cudaError_t
cudaHostAlloc(T **p, size_t size, int)
{
	*p = (T *) malloc(size);
	return cudaSuccess;
}

inline cudaError_t
cudaFreeHost(void *p)
{
	free(p);
	return cudaSuccess;
}

inline cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind, cudaStream_t)
{
	memcpy(to, from, size);
	return cudaSuccess;
}

inline cudaError_t
cudaMemsetAsync(void *to, int byte, size_t size, cudaStream_t)
{
	memset(to, byte, size);
	return cudaSuccess;
}

#endif
