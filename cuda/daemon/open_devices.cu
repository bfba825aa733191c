/*-------------------------------------------------------------------------
 *
 * open_devices.cu
 *	  The devices of the host: those that are used, and why others are not.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/open_devices.cuh"

#include <cstdio>

#include "cuda/base/cache.cuh"
#include "cuda/base/device_verdict.h"
#include "cuda/base/warp.cuh"

std::vector<UnusedDevice> unused_devices;

/* Has a device code of this program that it can run? */
__global__ void
probe_kernel()
{
}

/* The code that the current device runs. */
static void
probe_code(DeviceFacts *facts)
{
	cudaFuncAttributes attributes;
	cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);

	if (error == cudaSuccess)
	{
		facts->code = attributes.ptxVersion;
		facts->machine = attributes.binaryVersion;
	}
	else if (error != cudaErrorNoKernelImageForDevice)
		facts->error = cudaGetErrorString(error);
}

/* What is known of a device, which becomes the current one if it can. */
static DeviceFacts
examine(int ordinal)
{
	DeviceFacts facts;
	cudaError_t error;
	size_t		free = 0,
				total = 0;
	int			mode = 0;

	error = device_capability(ordinal, &facts.capability);
	if (error == cudaSuccess)
		error = cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal);
	facts.prohibited = mode == cudaComputeModeProhibited;
	if (error == cudaSuccess && (facts.prohibited || facts.capability < GPUCOL_CODE_LEAST))
		return facts;
	if (error == cudaSuccess)
		error = cudaSetDevice(ordinal);
	if (error == cudaSuccess)
		error = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
	if (error == cudaSuccess)
		error = cudaMemGetInfo(&free, &total);
	facts.taken = error == cudaErrorDevicesUnavailable;
	facts.free = free;
	if (error == cudaSuccess)
		probe_code(&facts);
	else
		facts.error = cudaGetErrorString(error);
	cudaGetLastError();
	return facts;
}

/* Add what is wrong to what is known so far; the log gets it unless `quiet`. */
static void
tell(std::string *why, const std::string &what, bool quiet)
{
	if (!quiet)
		fprintf(stderr, "gpucol_gpud: %s\n", what.c_str());
	*why += (why->empty() ? "" : "; ") + what;
}

/* Open one device, if it can be used. */
static void
open_device(int ordinal, size_t limit, int copies, bool quiet, std::string *why)
{
	DeviceFacts facts = examine(ordinal);
	std::string refusal = device_refusal(facts);

	if (!refusal.empty())
	{
		unused_devices.push_back({ordinal, refusal});
		tell(why, "CUDA device " + std::to_string(ordinal) + " cannot be used: " + refusal, quiet);
		return;
	}
	if (limit == 0 || limit > facts.free / 10 * 9)
		limit = facts.free / 10 * 9;
	for (int i = 0; i < copies; i++)
	{
		Device	   *device = new Device((int) devices.size(), ordinal, device_code(facts));

		device_open_pool(&device->pool, ordinal, limit / copies);
		devices.push_back(device);
	}
}

bool
open_devices(size_t limit, int copies, bool quiet, std::string *why)
{
	int			n = 0;
	cudaError_t error = cudaGetDeviceCount(&n);

	if (error != cudaSuccess || n == 0)
	{
		tell(why, std::string("no CUDA device: ") + cudaGetErrorString(error), quiet);
		return false;
	}
	for (int i = 0; i < n; i++)
		open_device(i, limit, copies, quiet, why);
	return !devices.empty();
}
