/*-------------------------------------------------------------------------
 *
 * claim.cuh
 *	  Admission of requests by device memory.
 *
 * A request that has to load columns claims the memory that they will take before it
 * asks for them, on each of its devices.  Where what is pinned, what others have
 * claimed and its own claim are more than the columns of a device may take, it waits,
 * first come first served, and meanwhile pins nothing: so those at work always come to
 * their end, and do not fail for lack of memory in the middle.  A request that finds
 * everything resident claims nothing and never waits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CLAIM_CUH
#define GPUCOL_CUDA_CLAIM_CUH

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "cuda/base/cache.cuh"

/* What a request needs of a device. */
struct Need
{
	Device	   *device;
	uint64_t	capacity;		/* bytes that columns may take there */
	uint64_t	pinned;			/* that the request has pinned */
	uint64_t	missing;		/* that it is going to load, and hold at a time */
};

/* What one request has claimed. */
class Claim
{
public:
	Claim() = default;
	Claim(const Claim &) = delete;

	/* Gives back what is left of it, and the place in the queue. */
	~Claim();

	/*
	 * Claim what is missing on all devices, or nothing: false.  Then unpin, await(),
	 * see what is missing now, and try again.
	 */
	bool		take(const std::vector<Need> &needs);

	/*
	 * Wait until memory may have become free.  `look` is called now and then, and may
	 * throw; throws Failure where it takes too long.
	 */
	void		await(const std::function<void()> &look);

	/* So many bytes have been loaded, and are pinned. */
	void		settle(Device &device, uint64_t bytes);

private:
	bool		fits(const std::vector<Need> &needs) const;

	std::map<Device *, uint64_t> claimed_;
	uint64_t	number_ = 0;	/* in the queue; 0: not there */
	uint64_t	since_ = 0;		/* when it came there, milliseconds */
};

#endif
