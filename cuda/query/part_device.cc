/*-------------------------------------------------------------------------
 *
 * part_device.cc
 *	  One part's work on its device.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/part_device.cuh"

void
PartDevice::copy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
	device_check(cudaMemcpyAsync(to, from, size, kind, stream()),
				 kind == cudaMemcpyHostToDevice ? "could not copy to the device" : "could not copy from the device");
}

cudaEvent_t
PartDevice::mark()
{
	cudaEvent_t e = lane_.event();

	device_check(cudaEventRecord(e, stream()), "event");
	return e;
}

void
PartDevice::finish(cudaEvent_t from)
{
	finish(from, mark());
}

void
PartDevice::finish(cudaEvent_t from, cudaEvent_t to)
{
	float		ms = 0;

	wait();
	device_check(cudaEventElapsedTime(&ms, from, to), "event");
	seconds_ += ms / 1e3;
}

void
PartDevice::wait()
{
	device_wait(stream());
	if (cancelled_)
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
}
