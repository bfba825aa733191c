/*-------------------------------------------------------------------------
 *
 * claim.cc
 *	  Admission of requests by device memory.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/claim.cuh"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

/* How often a request that waits looks around, and how long it waits at most: many times
 * what loading a table from shared buffers takes, less than the CPU engine may need. */
static const std::chrono::milliseconds LOOK(5);
static const uint64_t PATIENCE_MS = 2000;

static std::mutex mutex;
static std::condition_variable given_back;
static std::map<Device *, uint64_t> all_claims;
static std::set<uint64_t> queue;	/* numbers of those that wait */
static uint64_t last_number = 0;

static uint64_t
now_ms()
{
	auto		now = std::chrono::steady_clock::now().time_since_epoch();

	return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Claim::~Claim()
{
	std::lock_guard<std::mutex> lock(mutex);

	for (auto &c : claimed_)
		all_claims[c.first] -= c.second;
	queue.erase(number_);
	given_back.notify_all();
}

/*
 * Is there room?  Also where nobody else has pinned or claimed anything: then waiting
 * would not help.  Locked.
 */
bool
Claim::fits(const std::vector<Need> &needs) const
{
	for (const Need &need : needs)
	{
		uint64_t	claims = all_claims[need.device];
		uint64_t	pinned = need.device->cache.pinned();

		if (claims + pinned + need.missing > need.capacity && (claims > 0 || pinned > need.pinned))
			return false;
	}
	return true;
}

bool
Claim::take(const std::vector<Need> &needs)
{
	bool		nothing = std::all_of(needs.begin(), needs.end(), [] (const Need &n) { return n.missing == 0; });

	if (nothing && number_ == 0)
		return true;

	std::lock_guard<std::mutex> lock(mutex);
	bool		first = queue.empty() || *queue.begin() == number_;

	if (!nothing && !(first && fits(needs)))
	{
		if (number_ == 0)
		{
			number_ = ++last_number;
			since_ = now_ms();
			queue.insert(number_);
		}
		return false;
	}
	queue.erase(number_);
	number_ = 0;
	for (const Need &need : needs)
	{
		claimed_[need.device] += need.missing;
		all_claims[need.device] += need.missing;
	}
	given_back.notify_all();	/* another one is the first now */
	return true;
}

void
Claim::await(const std::function<void()> &look)
{
	{
		std::unique_lock<std::mutex> lock(mutex);

		given_back.wait_for(lock, LOOK);
	}
	look();
	if (now_ms() - since_ > PATIENCE_MS)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "other queries have used device memory for too long"};
}

void
Claim::settle(Device &device, uint64_t bytes)
{
	std::lock_guard<std::mutex> lock(mutex);
	uint64_t   &mine = claimed_[&device];
	uint64_t	n = std::min(mine, bytes);

	mine -= n;
	all_claims[&device] -= n;
}
