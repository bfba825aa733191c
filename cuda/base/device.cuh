/*-------------------------------------------------------------------------
 *
 * device.cuh
 *	  The device as the daemon owns it: errors, waits, and its memory.
 *
 * Errors.  A request that the device cannot answer throws Failure with the
 * status and a reason for the user.  An error of CUDA itself, memory apart,
 * leaves the context unusable for everyone: the process says so and exits with
 * GPUCOL_GPUD_EXIT_FAULT, and the supervisor starts another.
 *
 * Memory.  cudaMalloc synchronises and costs too much per chunk: it comes from a pool
 * (device_pool.h), to which it is given back only when no work on the device uses it any
 * more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEVICE_CUH
#define GPUCOL_CUDA_DEVICE_CUH

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/base/api.cuh"
#include "cuda/base/device_pool.h"
#include "cuda/base/failure.h"

/* End the process unless a CUDA call succeeded. */
extern void device_check(cudaError_t error, const char *what);

/* The same, but a lack of memory is a Failure of the request. */
extern void device_check_memory(cudaError_t error, const char *what);

/* Ten times the compute capability of CUDA's device `ordinal`. */
extern cudaError_t device_capability(int ordinal, int *capability);

/*
 * Wait for a stream, at first without sleeping: being woken takes as long as many a
 * query.  Not for long where many sessions are at work.  Ends the process if the device
 * failed.
 */
extern void device_wait(cudaStream_t stream);

/*
 * Waits for a stream in the end: nothing is freed or unloaded that the device still
 * works with, whatever is thrown.
 */
struct Settle
{
	cudaStream_t stream;

	~Settle() { device_wait(stream); }
};

/* Let a pool hold at most `limit` bytes of CUDA's device `ordinal`. */
extern void device_open_pool(DevicePool *pool, int ordinal, size_t limit);

#endif
