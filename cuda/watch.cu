/*-------------------------------------------------------------------------
 *
 * watch.cu
 *	  Noticing what clients say while their sessions compute.
 *
 * An event may be read from epoll when the watch that it is for has just ended: so
 * events name a watch by a number that is never used again, not by its address.
 *
 *-------------------------------------------------------------------------
 */
#include "watch.cuh"

#include <sys/epoll.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "device.cuh"

static int	epoll = -1;
static uint64_t last_number = 0;

/* Never destroyed: the thread uses them until the process ends. */
static std::mutex &mutex = *new std::mutex;
static std::map<uint64_t, Watch *> &watches = *new std::map<uint64_t, Watch *>;

bool
Watch::open()
{
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		return false;
	try
	{
		std::thread(work).detach();
	}
	catch (const std::system_error &)
	{
		return false;
	}
	return true;
}

/* The watching thread. */
void
Watch::work()
{
	struct epoll_event events[16];

	for (;;)
	{
		int			n = epoll_wait(epoll, events, 16, -1);
		std::lock_guard<std::mutex> lock(mutex);

		if (n < 0 && errno != EINTR)
			perror("gpucol_gpud: epoll_wait");
		for (int i = 0; i < n; i++)
		{
			auto		at = watches.find(events[i].data.u64);

			if (at == watches.end())
				continue;
			at->second->heard_ = true;
			at->second->call_();
		}
	}
}

Watch::Watch(int socket, std::function<void()> heard) : socket_(socket), call_(std::move(heard))
{
	struct epoll_event event = {EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, {}};
	std::lock_guard<std::mutex> lock(mutex);

	number_ = ++last_number;
	event.data.u64 = number_;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket_, &event) != 0)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the daemon can watch no more clients"};
	watches[number_] = this;
}

Watch::~Watch()
{
	std::lock_guard<std::mutex> lock(mutex);

	watches.erase(number_);
	epoll_ctl(epoll, EPOLL_CTL_DEL, socket_, NULL);
}
