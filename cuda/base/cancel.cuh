/*-------------------------------------------------------------------------
 *
 * cancel.cuh
 *	  Ending a request while its kernels run: the host asks its caller while it
 *	  waits, and raises a flag in pinned memory that long kernels look at.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CANCEL_CUH
#define GPUCOL_CUDA_CANCEL_CUH

#include <chrono>
#include <cstdint>
#include <unistd.h>

#include "cuda/base/api.cuh"

/* The flag, as kernels see it; NULL: nobody raises it. */
typedef const volatile uint32_t *GpucolCancelFlag;

class GpucolCancel
{
public:
	GpucolCancel() = default;
	GpucolCancel(const GpucolCancel &) = delete;
	~GpucolCancel()
	{
		if (flag_)
			cudaFreeHost((void *) flag_);
	}

	/* Ask asked(context), at most every 10 ms, from now on. */
	cudaError_t
	watch(bool (*asked) (void *), void *context)
	{
		cudaError_t error = cudaSuccess;

		asked_ = asked;
		context_ = context;
		if (asked && !flag_)
			error = cudaHostAlloc((void **) &flag_, sizeof(uint32_t),
								  cudaHostAllocPortable);
		if (flag_)
			*flag_ = 0;
		return error;
	}

	GpucolCancelFlag flag() const { return flag_; }
	bool raised() const { return flag_ && *flag_; }

	/* Has the caller asked, now or before? */
	bool
	check() const
	{
		if (!raised() && asked_ && asked_(context_))
			*flag_ = 1;
		return raised();
	}

	/* Wait for the stream; see raised() afterwards. */
	cudaError_t
	wait(cudaStream_t stream) const
	{
		auto		start = std::chrono::steady_clock::now();
		auto		last = start;

		if (!asked_)
			return cudaStreamSynchronize(stream);
		for (;;)
		{
			cudaError_t error = cudaStreamQuery(stream);
			auto		now = std::chrono::steady_clock::now();

			if (error != cudaErrorNotReady)
				return error;
			if (now - last > std::chrono::milliseconds(10))
			{
				last = now;
				check();
			}
			/* short waits are worth a busy processor */
			if (now - start > std::chrono::milliseconds(3))
				usleep(50);
		}
	}

private:
	bool		(*asked_) (void *) = nullptr;
	void	   *context_ = nullptr;
	volatile uint32_t *flag_ = nullptr;
};

#ifdef __CUDACC__

/*
 * One thread's look at the flag, every few milliseconds: a read of the host's
 * memory costs what a thousand instructions do.
 */
struct CancelPoll
{
	uint64_t	last;

	__device__ CancelPoll() : last(nanoseconds()) {}

	__device__ __forceinline__ bool
	raised(GpucolCancelFlag flag)
	{
		uint64_t	now = nanoseconds();

		if (now - last < 4000000)
			return false;
		last = now;
		return flag && *flag;
	}

	static __device__ __forceinline__ uint64_t
	nanoseconds()
	{
		uint64_t	t;

		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
		return t;
	}
};

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_CANCEL_CUH */
