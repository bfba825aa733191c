/*-------------------------------------------------------------------------
 *
 * device.cu
 *	  Errors of a device, and the pool of its memory.
 *
 *-------------------------------------------------------------------------
 */
#include "cache.cuh"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "service/protocol.h"

static const size_t ALIGNMENT = 512;
static const size_t ARENA = (size_t) 512 << 20;

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

void
DevicePool::open(int ordinal, size_t limit)
{
	std::lock_guard<std::mutex> lock(mutex_);

	ordinal_ = ordinal;
	limit_ = limit;
}

size_t
DevicePool::used()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return used_ + lent_;
}

bool
DevicePool::lend(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	device_check(cudaSetDevice(ordinal_), "could not use the device");
	if (size > limit_ || !shrink(size))
		return false;
	lent_ += size;
	return true;
}

void
DevicePool::repay(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	lent_ -= size;
}

size_t
DevicePool::unlent()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return limit_ - lent_;
}

/*
 * Give arenas that are wholly free back to CUDA, until `want` more bytes may be taken:
 * for a block that fits none of them, or to be lent.  Locked.
 */
bool
DevicePool::shrink(size_t want)
{
	for (auto arena = arenas_.begin(); arena != arenas_.end() && reserved_ + lent_ + want > limit_;)
	{
		auto		at = blocks_.find(arena->first);

		if (!at->second.free || at->second.size != arena->second)
		{
			++arena;
			continue;
		}
		forget(at->second);
		blocks_.erase(at);
		reserved_ -= arena->second;
		device_check(cudaFree(arena->first), "could not free device memory");
		arena = arenas_.erase(arena);
	}
	return reserved_ + lent_ + want <= limit_;
}

/* Take an arena that a block of `size` fits. */
bool
DevicePool::grow(size_t size)
{
	size_t		want = size > ARENA ? size : ARENA;
	char	   *start = NULL;
	cudaError_t error;

	if (reserved_ + lent_ + want > limit_)
		want = size;
	device_check(cudaSetDevice(ordinal_), "could not use the device");
	if (want > limit_ || !shrink(want))
		return false;
	error = cudaMalloc(&start, want);
	if (error == cudaErrorMemoryAllocation && want > size)
	{
		cudaGetLastError();
		want = size;
		error = cudaMalloc(&start, want);
	}
	if (error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		return false;
	}
	device_check(error, "could not allocate device memory");
	reserved_ += want;
	arenas_[start] = want;
	blocks_[start] = {start, want, true};
	free_.insert({want, start});
	return true;
}

void *
DevicePool::allocate(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (size == 0)
		size = ALIGNMENT;

	auto		fit = free_.lower_bound(size);

	if (fit == free_.end())
	{
		if (!grow(size))
			return NULL;
		fit = free_.lower_bound(size);
	}

	char	   *start = fit->second;
	Block	   &block = blocks_[start];

	free_.erase(fit);
	block.free = false;
	if (block.size > size)
	{
		char	   *rest = start + size;

		blocks_[rest] = {rest, block.size - size, true};
		free_.insert({block.size - size, rest});
		block.size = size;
	}
	used_ += size;
	return start;
}

/* Take a free block out of those that are listed. */
void
DevicePool::forget(const Block &block)
{
	auto		range = free_.equal_range(block.size);

	for (auto i = range.first; i != range.second; ++i)
		if (i->second == block.start)
		{
			free_.erase(i);
			return;
		}
}

void
DevicePool::release(void *pointer)
{
	std::lock_guard<std::mutex> lock(mutex_);
	auto		at = blocks_.find((char *) pointer);

	if (at == blocks_.end() || at->second.free)
		return;
	used_ -= at->second.size;
	at->second.free = true;

	/* join with free neighbours of the same arena */
	auto		is_arena = [this] (char *p) { return arenas_.count(p) > 0; };
	auto		next = std::next(at);

	if (next != blocks_.end() && next->second.free &&
		next->first == at->first + at->second.size && !is_arena(next->first))
	{
		forget(next->second);
		at->second.size += next->second.size;
		blocks_.erase(next);
	}
	if (at != blocks_.begin() && !is_arena(at->first))
	{
		auto		before = std::prev(at);

		if (before->second.free && before->first + before->second.size == at->first)
		{
			forget(before->second);
			before->second.size += at->second.size;
			blocks_.erase(at);
			at = before;
		}
	}
	free_.insert({at->second.size, at->first});
}
