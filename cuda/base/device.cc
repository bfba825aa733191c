/*-------------------------------------------------------------------------
 *
 * device.cc
 *	  Errors of a device, and where the pool of its memory comes from.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/cache.cuh"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "service/protocol.h"

/* How long a wait goes without sleeping, where processors are idle, and where not. */
static const std::chrono::microseconds WAKE(5000);
static const std::chrono::microseconds WAKE_IF_BUSY(100);

void
device_check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "gpucol_gpud: %s: %s; exiting\n", what, cudaGetErrorString(error));
	_exit(GPUCOL_GPUD_EXIT_FAULT);
}

void
device_check_memory(cudaError_t error, const char *what)
{
	if (error != cudaErrorMemoryAllocation)
	{
		device_check(error, what);
		return;
	}
	cudaGetLastError();
	throw Failure{GPUCOL_OUT_OF_MEMORY, std::string("no memory for CUDA's own needs: ") + what};
}

cudaError_t
device_capability(int ordinal, int *capability)
{
	int			major = 0,
				minor = 0;
	cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);

	if (error == cudaSuccess)
		error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal);
	*capability = 10 * major + minor;
	return error;
}

void
device_wait(cudaStream_t stream)
{
	typedef std::chrono::steady_clock Clock;
	Clock::time_point until = Clock::now() + (residency_idle() ? WAKE : WAKE_IF_BUSY);
	cudaError_t error;

	while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady && Clock::now() < until)
		;
	device_check(error == cudaErrorNotReady ? cudaStreamSynchronize(stream) : error, "the device failed");
}

/* Memory of CUDA's device `ordinal`, or NULL. */
static char *
take_memory(int ordinal, size_t size)
{
	char	   *start = NULL;
	cudaError_t error;

	device_check(cudaSetDevice(ordinal), "could not use the device");
	error = cudaMalloc(&start, size);
	if (error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		return NULL;
	}
	device_check(error, "could not allocate device memory");
	return start;
}

static void
give_memory(int ordinal, char *start)
{
	device_check(cudaSetDevice(ordinal), "could not use the device");
	device_check(cudaFree(start), "could not free device memory");
}

void
device_open_pool(DevicePool *pool, int ordinal, size_t limit)
{
	pool->open([ordinal] (size_t size) { return take_memory(ordinal, size); },
			   [ordinal] (char *start) { give_memory(ordinal, start); }, limit);
}
