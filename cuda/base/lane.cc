/*-------------------------------------------------------------------------
 *
 * lane.cc
 *	  One session's way to one device.
 *
 * Cancellation is a word in device memory that kernels look at after every run of
 * vectors; it is set by a copy on a stream of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/lane.cuh"

#include <system_error>

/* Pinned: what a cancellation stores. */
static const uint32_t *
one()
{
	static std::once_flag once;
	static uint32_t *word;

	/* where this throws, the next call tries again */
	std::call_once(once, [] {
		device_check_memory(cudaHostAlloc(&word, sizeof(*word), cudaHostAllocPortable), "pinned memory");
		*word = 1;
	});
	return word;
}

Lane::Lane(Device &device) : device_(device)
{
	device_check(cudaSetDevice(device.ordinal), "could not use the device");
	try
	{
		for (cudaStream_t *stream : {&load_, &stream_, &control_})
			device_check_memory(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "stream");
		one();
		cancel_ = (uint32_t *) device.cache.allocate(sizeof(uint32_t));
		if (cancel_ == NULL)
			throw Failure{GPUCOL_OUT_OF_MEMORY, "device memory is exhausted"};
	}
	catch (...)
	{
		free_all();
		throw;
	}
	clear();
}

/* What the device holds for the lane. */
void
Lane::free_all()
{
	device_.pool.release(cancel_);
	for (cudaEvent_t event : events_)
		cudaEventDestroy(event);
	if (staging_ != NULL)
		cudaFreeHost(staging_);
	for (cudaStream_t stream : {load_, stream_, control_})
		if (stream != NULL)
			cudaStreamDestroy(stream);
}

Lane::~Lane()
{
	{
		std::lock_guard<std::mutex> lock(mutex_);

		stop_ = true;
	}
	changed_.notify_one();
	if (thread_.joinable())
		thread_.join();
	device_check(cudaSetDevice(device_.ordinal), "could not use the device");
	device_check(cudaStreamSynchronize(load_), "end of a session");
	device_check(cudaStreamSynchronize(stream_), "end of a session");
	device_check(cudaStreamSynchronize(control_), "end of a session");
	free_all();
}

void
Lane::load(void *to, const void *from, size_t n)
{
	if (n > 0)
		device_check(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, load_), "could not copy to the device");
}

void
Lane::loaded()
{
	device_check(cudaStreamSynchronize(load_), "could not copy to the device");
}

/* Copies of more are rare, and take longer than the detour through other memory. */
static const size_t STAGING = (size_t) 2 << 20;

void *
Lane::stage(size_t size)
{
	size_t		at = staged_;

	size = (size + 63) / 64 * 64;
	if (size > STAGING - staged_)
		return NULL;
	if (staging_ == NULL && cudaHostAlloc(&staging_, STAGING, cudaHostAllocPortable) != cudaSuccess)
	{
		cudaGetLastError();
		staging_ = NULL;
		return NULL;
	}
	staged_ += size;
	return staging_ + at;
}

cudaEvent_t
Lane::event()
{
	cudaEvent_t event;

	if (events_used_ == events_.size())
	{
		events_.reserve(events_used_ + 1);
		device_check_memory(cudaEventCreateWithFlags(&event, cudaEventDefault), "event");
		events_.push_back(event);
	}
	return events_[events_used_++];
}

void
Lane::start()
{
	try
	{
		if (!thread_.joinable())
			thread_ = std::thread([this] { work(); });
	}
	catch (const std::system_error &)
	{
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the daemon can have no more threads"};
	}
}

void
Lane::submit(std::function<void()> work)
{
	{
		std::lock_guard<std::mutex> lock(mutex_);

		queue_.push_back(std::move(work));
	}
	changed_.notify_one();
}

void
Lane::work()
{
	device_check(cudaSetDevice(device_.ordinal), "could not use the device");
	for (;;)
	{
		std::function<void()> next;
		{
			std::unique_lock<std::mutex> lock(mutex_);

			changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
			if (queue_.empty())
				return;
			next = std::move(queue_.front());
			queue_.pop_front();
		}
		next();
	}
}

void
Lane::cancel()
{
	device_check(cudaSetDevice(device_.ordinal), "could not use the device");
	cancelled_ = true;
	device_check(cudaMemcpyAsync(cancel_, one(), sizeof(uint32_t), cudaMemcpyHostToDevice, control_), "cancel");
}

void
Lane::clear()
{
	if (!cancelled_)
		return;
	cancelled_ = false;
	device_check(cudaSetDevice(device_.ordinal), "could not use the device");
	device_check(cudaStreamSynchronize(control_), "cancel");
	device_check(cudaMemsetAsync(cancel_, 0, sizeof(uint32_t), stream_), "cancel");
	device_check(cudaStreamSynchronize(stream_), "cancel");
}
