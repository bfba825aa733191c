/*-------------------------------------------------------------------------
 *
 * part_device.cuh
 *	  One part's work on its device: memory, copies, and the time that kernels take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PART_DEVICE_CUH
#define GPUCOL_CUDA_PART_DEVICE_CUH

#include <atomic>
#include <cstring>
#include <deque>
#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/base/lane.cuh"

class PartDevice
{
public:
	/* `scratch` is the part's memory; `cancelled` may be set by another thread. */
	PartDevice(Lane &lane, Scratch &scratch, const std::atomic<bool> &cancelled)
		: lane_(lane), scratch_(scratch), cancelled_(cancelled) {}

	Lane	   &lane() { return lane_; }
	cudaStream_t stream() { return lane_.stream(); }
	Scratch    &scratch() { return scratch_; }

	/* Copy to the device, into the part's memory or another's. */
	template <class T> T *
	upload(const std::vector<T> &v)
	{
		return upload(v, scratch_);
	}
	template <class T> T *upload(const std::vector<T> &v, Scratch &memory);

	/* Copy from the device: good once the stream has been waited for, to the part's end. */
	template <class T> const T *fetch(const T *p, size_t n);

	/* The same, waited for. */
	template <class T> std::vector<T> download(const T *p, size_t n);

	/* A point in the stream's work. */
	cudaEvent_t mark();

	/*
	 * Wait for what was launched, and count the time since `from`; to `to`, where something
	 * that does not count was launched after it.  Throws Failure where it was cut short.
	 */
	void		finish(cudaEvent_t from);
	void		finish(cudaEvent_t from, cudaEvent_t to);

	/* Wait for what was launched.  Throws Failure where it was cut short. */
	void		wait();

	/* Seconds counted. */
	double		seconds() const { return seconds_; }

private:
	void		copy(void *to, const void *from, size_t size, cudaMemcpyKind kind);

	Lane	   &lane_;
	Scratch    &scratch_;
	const std::atomic<bool> &cancelled_;
	std::deque<std::vector<char>> fetched_; /* what pinned memory had no room for */
	double		seconds_ = 0;
};

template <class T> T *
PartDevice::upload(const std::vector<T> &v, Scratch &memory)
{
	T		   *p = memory.array<T>(v.size() + 1, "the plan of the query");
	size_t		size = v.size() * sizeof(T);
	void	   *staged = size > 0 ? lane_.stage(size) : NULL;

	if (staged != NULL)
		memcpy(staged, v.data(), size);
	copy(p, staged != NULL ? staged : v.data(), size, cudaMemcpyHostToDevice);
	return p;
}

template <class T> const T *
PartDevice::fetch(const T *p, size_t n)
{
	T		   *to = (T *) lane_.stage(n * sizeof(T));

	if (to == NULL)
	{
		fetched_.emplace_back(n * sizeof(T));
		to = (T *) fetched_.back().data();
	}
	copy(to, p, n * sizeof(T), cudaMemcpyDeviceToHost);
	return to;
}

template <class T> std::vector<T>
PartDevice::download(const T *p, size_t n)
{
	const T    *from = fetch(p, n);

	device_wait(stream());
	return std::vector<T>(from, from + n);
}

#endif
