/*-------------------------------------------------------------------------
 *
 * watch.h
 *	  Noticing that a client says something, or leaves, while its session's own
 *	  thread computes and cannot look.
 *
 * One thread of the daemon watches the sockets of all sessions that compute.  So a
 * request of one part needs no second thread: handing it over, and back, would cost
 * two wake-ups, as long as many a query takes.
 *
 * What is to be done about it may take long, for it asks CUDA for something: it is done
 * in a thread that is made for it, and nobody waits for that but its own session.
 *
 * A session that waits in the middle of a request, of which more messages come, looks
 * itself: what calls the request off may stand behind them.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_WATCH_H
#define GPUCOL_CUDA_WATCH_H

#include <cstdint>
#include <functional>
#include <memory>

class Watch
{
public:
	/* Start the watching thread; false if that fails.  Once, before any other call. */
	static bool open();

	/*
	 * Have `heard` called by a thread of its own, once, when the socket can be read or
	 * its other end is closed; it must not throw.  Throws Failure where the system can
	 * watch no more.
	 */
	Watch(int socket, std::function<void()> heard);

	/* `heard` has returned, or will not be called. */
	~Watch();
	Watch(const Watch &) = delete;

	/* Has it been called, or is it about to be? */
	bool		heard() const;

	struct Call;

private:
	static void work();

	int			socket_;
	uint64_t	number_;		/* of all that ever were */
	std::shared_ptr<Call> call_;
};

/*
 * Has the client left, or said CANCEL, perhaps behind messages that nobody has received
 * yet?  At once; receives nothing.  What stands behind very long messages is not seen.
 */
extern bool watch_called_off(int socket);

#endif
