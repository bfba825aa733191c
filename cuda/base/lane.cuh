/*-------------------------------------------------------------------------
 *
 * lane.cuh
 *	  One session's way to one device: streams, a word of cancellation, what is
 *	  made once rather than for each request (pinned memory, events), and, once it is
 *	  wanted, a thread that computes while the session's own thread does something else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LANE_CUH
#define GPUCOL_CUDA_LANE_CUH

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "cuda/base/cache.cuh"

class Lane
{
public:
	explicit Lane(Device &device);

	/* Finishes what is queued. */
	~Lane();
	Lane(const Lane &) = delete;

	Device	   &device() { return device_; }

	/* For copies to the device, by the session's thread. */
	cudaStream_t load_stream() { return load_; }

	/* Copy to the device behind what was copied before; wait for all that was. */
	void		load(void *to, const void *from, size_t n);
	void		loaded();

	/* For the work of the lane's thread, or of the session's while that has none. */
	cudaStream_t stream() { return stream_; }
	uint32_t   *cancel_word() { return cancel_; }

	/* Have a thread from now on; throws Failure where none is to be had. */
	void		start();

	/* Let the lane's thread do this, after what it was given before. */
	void		submit(std::function<void()> work);

	/*
	 * Pinned memory for copies of the work in progress, good until unstage(); NULL
	 * where there is not enough, for the caller to use other memory.
	 */
	void	   *stage(size_t size);
	void		unstage() { staged_ = events_used_ = 0; }

	/* An event for the work in progress, good until unstage(). */
	cudaEvent_t event();

	/* Set the word of cancellation, past the work in progress. */
	void		cancel();

	/* Clear it, if it is set; no work may be in progress. */
	void		clear();

private:
	void		work();
	void		free_all();

	Device	   &device_;
	cudaStream_t load_ = NULL;
	cudaStream_t stream_ = NULL;
	cudaStream_t control_ = NULL;
	uint32_t   *cancel_ = NULL; /* in device memory */
	char	   *staging_ = NULL;	/* made when first asked for */
	size_t		staged_ = 0;
	std::vector<cudaEvent_t> events_;	/* made so far */
	size_t		events_used_ = 0;	/* of those, by the work in progress */
	std::mutex	mutex_;
	std::condition_variable changed_;
	std::deque<std::function<void()>> queue_;
	bool		stop_ = false;
	bool		cancelled_ = true;	/* the word is set or never was cleared */
	std::thread thread_;
};

#endif
