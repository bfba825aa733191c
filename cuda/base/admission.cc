/*-------------------------------------------------------------------------
 *
 * admission.cc
 *	  The right to compute on a device.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/admission.cuh"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

static const int GPUCOL_ACTIVE = 4;

/* How long one that waits for its turn does not look whether it is still to wait. */
static const std::chrono::milliseconds LOOK(10);

/* Counting semaphores of what computes on a device: parts of requests, recursions. */
static std::mutex active_mutex;
static std::condition_variable active_changed;
static std::map<std::pair<Device *, bool>, int> active;

Admission::Admission(Device &device, bool recursion, const std::function<bool()> &given_up)
	: device_(device), recursion_(recursion)
{
	std::unique_lock<std::mutex> lock(active_mutex);
	int		   &n = active[{&device_, recursion_}];

	while (!active_changed.wait_for(lock, LOOK, [&n] { return n < GPUCOL_ACTIVE; }))
		if (given_up())
			return;
	given_ = true;
	n++;
	device_.requests++;
}

Admission::~Admission()
{
	std::lock_guard<std::mutex> lock(active_mutex);

	if (!given_)
		return;
	active[{&device_, recursion_}]--;
	active_changed.notify_all();
}
