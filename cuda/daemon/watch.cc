/*-------------------------------------------------------------------------
 *
 * watch.cc
 *	  Noticing what clients say while their sessions compute.
 *
 * An event may be read from epoll when the watch that it is for has just ended: so
 * events name a watch by a number that is never used again, not by its address, and what
 * a call needs belongs to the watch and to the thread that calls together.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "cuda/base/failure.h"
#include "service/protocol.h"

/* Bytes of messages that are looked through for CANCEL: as many as a socket holds. */
static const size_t LOOKED_THROUGH = (size_t) 256 << 10;

/* What is called when a socket is heard of. */
struct Watch::Call
{
	explicit Call(std::function<void()> function_) : function(std::move(function_)) {}

	void		run();

	std::function<void()> function;
	std::mutex	mutex;
	std::condition_variable returned;
	bool		heard = false;
	bool		running = false;
	bool		ended = false;	/* the watch is: it is not called any more */
};

static int	epoll = -1;
static uint64_t last_number = 0;

/* Never destroyed: the thread uses them until the process ends.  Nothing but these
 * is done under the mutex. */
static std::mutex &mutex = *new std::mutex;
static std::map<uint64_t, std::shared_ptr<Watch::Call>> &calls = *new std::map<uint64_t, std::shared_ptr<Watch::Call>>;

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

/* Call, unless the watch has ended. */
void
Watch::Call::run()
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (ended)
			return;
		heard = running = true;
	}
	function();

	std::lock_guard<std::mutex> lock(mutex);

	running = false;
	returned.notify_all();
}

/* The watching thread. */
void
Watch::work()
{
	struct epoll_event events[16];

	for (;;)
	{
		int			n = epoll_wait(epoll, events, 16, -1);

		if (n < 0 && errno != EINTR)
			perror("gpucol_gpud: epoll_wait");
		for (int i = 0; i < n; i++)
		{
			std::shared_ptr<Call> call;
			{
				std::lock_guard<std::mutex> lock(mutex);
				auto		at = calls.find(events[i].data.u64);

				if (at == calls.end())
					continue;
				call = at->second;
			}
			try
			{
				std::thread([call] { call->run(); }).detach();
			}
			catch (const std::exception &)
			{
				call->run();	/* no thread is to be had: others must wait */
			}
		}
	}
}

Watch::Watch(int socket, std::function<void()> heard)
	: socket_(socket), call_(std::make_shared<Call>(std::move(heard)))
{
	struct epoll_event event = {EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, {}};
	std::lock_guard<std::mutex> lock(mutex);

	number_ = ++last_number;
	event.data.u64 = number_;
	calls[number_] = call_;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket_, &event) == 0)
		return;
	calls.erase(number_);
	throw Failure{GPUCOL_OUT_OF_MEMORY, "the daemon can watch no more clients"};
}

Watch::~Watch()
{
	{
		std::lock_guard<std::mutex> lock(mutex);

		calls.erase(number_);
		epoll_ctl(epoll, EPOLL_CTL_DEL, socket_, NULL);
	}

	std::unique_lock<std::mutex> lock(call_->mutex);

	call_->ended = true;
	call_->returned.wait(lock, [this] { return !call_->running; });
}

bool
Watch::heard() const
{
	std::lock_guard<std::mutex> lock(call_->mutex);

	return call_->heard;
}

bool
watch_called_off(int socket)
{
	struct pollfd end = {socket, POLLRDHUP, 0};
	std::vector<char> ahead(LOOKED_THROUGH);
	ssize_t		n;
	GpucolWireHeader header;

	if (poll(&end, 1, 0) > 0)
		return true;
	n = recv(socket, ahead.data(), ahead.size(), MSG_PEEK | MSG_DONTWAIT);
	for (size_t at = 0; n > 0 && at + sizeof(header) <= (size_t) n; at += sizeof(header) + header.length)
	{
		memcpy(&header, ahead.data() + at, sizeof(header));
		if (header.magic != GPUCOL_WIRE_MAGIC)
			return false;		/* who receives it will see */
		if (header.type == GPUCOL_WIRE_CANCEL)
			return true;
	}
	return false;
}
