/*-------------------------------------------------------------------------
 *
 * device.cuh
 *	  The device as the daemon owns it: errors, and a pool of its memory.
 *
 * Errors.  A request that the device cannot answer throws Failure with the
 * status and a reason for the user.  An error of CUDA itself, memory apart,
 * leaves the context unusable for everyone: the process says so and exits with
 * GPUCOL_GPUD_EXIT_FAULT, and the supervisor starts another.
 *
 * Memory.  cudaMalloc synchronises and costs too much per chunk, so the pool
 * takes arenas and hands out blocks by best fit.  Arenas that have become free make way
 * for a larger one that the limit does not allow beside them.  Blocks are freed only when
 * no work on the device uses them any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEVICE_CUH
#define GPUCOL_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "failure.h"

/* End the process unless a CUDA call succeeded. */
extern void device_check(cudaError_t error, const char *what);

/* The same, but a lack of memory is a Failure of the request. */
extern void device_check_memory(cudaError_t error, const char *what);

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

class DevicePool
{
public:
	/* Hold at most `limit` bytes of CUDA's device `ordinal`. */
	void		open(int ordinal, size_t limit);
	size_t		limit() const { return limit_; }

	/* Bytes handed out, and lent. */
	size_t		used();

	/*
	 * Let somebody allocate so many bytes by other means, within the limit; false where
	 * it does not allow that beside what has been handed out.
	 */
	bool		lend(size_t size);
	void		repay(size_t size);

	/* Bytes of the limit that are not lent. */
	size_t		unlent();

	/*
	 * A block of at least `size` bytes, aligned to 512; NULL if the limit or the
	 * device's memory does not allow it.
	 */
	void	   *allocate(size_t size);
	void		release(void *block);

private:
	struct Block
	{
		char	   *start;
		size_t		size;
		bool		free;
	};

	bool		grow(size_t size);
	bool		shrink(size_t want);
	void		forget(const Block &block);

	std::mutex	mutex_;
	int			ordinal_ = 0;
	size_t		limit_ = 0;
	size_t		reserved_ = 0;
	size_t		used_ = 0;
	size_t		lent_ = 0;
	std::map<char *, Block> blocks_;	/* every block, by address */
	std::multimap<size_t, char *> free_;	/* free blocks, by size */
	std::map<char *, size_t> arenas_;	/* with their sizes */
};

#endif
