/*-------------------------------------------------------------------------
 *
 * watch.cuh
 *	  Noticing that a client says something, or leaves, while its session's own
 *	  thread computes and cannot look.
 *
 * One thread of the daemon watches the sockets of all sessions that compute.  So a
 * request of one part needs no second thread: handing it over, and back, would cost
 * two wake-ups, as long as many a query takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_WATCH_CUH
#define GPUCOL_CUDA_WATCH_CUH

#include <atomic>
#include <cstdint>
#include <functional>

class Watch
{
public:
	/* Start the watching thread; false if that fails.  Once, before any other call. */
	static bool open();

	/*
	 * Have `heard` called by the watching thread, once, when the socket can be read or
	 * its other end is closed.  Throws Failure where the system can watch no more.
	 */
	Watch(int socket, std::function<void()> heard);

	/* `heard` has returned, or will not be called. */
	~Watch();
	Watch(const Watch &) = delete;

	/* Was it called? */
	bool		heard() const { return heard_; }

private:
	static void work();

	int			socket_;
	uint64_t	number_;		/* of all that ever were */
	std::function<void()> call_;
	std::atomic<bool> heard_{false};
};

#endif
