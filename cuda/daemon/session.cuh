/*-------------------------------------------------------------------------
 *
 * session.cuh
 *	  One client's session with the daemon.
 *
 * A session has its own thread, which takes a message after the other (serve.cu), and a
 * lane to each device that it has used.  What the messages ask for:
 *
 *	session_request.cc		a request over columns: RUN, PUT, CANCEL, and its result
 *	session_recursion.cc	a recursion: REC_*
 *	session_status.cc		what the daemon does and holds: STATUS, EVICT
 *
 * A request of one part is computed by the session's thread, while a thread for all
 * sessions watches the client's socket (watch.h).  While several lanes compute the
 * session's thread sleeps in poll() on that socket and on an eventfd that the lanes
 * signal.  So a cancel or a client's death is noticed at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SESSION_CUH
#define GPUCOL_CUDA_SESSION_CUH

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/daemon/connection.h"
#include "cuda/query/request.cuh"
#include "cuda/recursion/serve_recursive.cuh"

typedef std::chrono::steady_clock Clock;

/* An eventfd, by which lanes wake their session. */
class Bell
{
public:
	Bell();
	~Bell();
	Bell(const Bell &) = delete;

	int			descriptor() const { return fd_; }
	void		ring();

	/* It was heard: so many rings are one. */
	void		quiet();

private:
	int			fd_;
};

class Session
{
public:
	/* Of a client's socket, which is closed in the end. */
	explicit Session(int socket);
	~Session();

	/* Serve the client; ends by Goodbye, BadRecursion or Failure, or once it has given a request up. */
	void		serve();

private:
	Connection	client_;
	Bell		bell_;
	std::map<Device *, std::unique_ptr<Lane>> lanes_;
	Slab	   *slab_ = NULL;
	bool		gone_ = false;	/* no answer is wanted */
	bool		need_sent_ = false; /* of the request at hand */
	SegmentLists lists_;
	BuiltTables tables_;
	std::unique_ptr<Request> request_;
	Clock::time_point asked_;	/* when RUN came */
	double		lookup_ = 0;	/* seconds from then to what is resident */
	Clock::time_point answered_;	/* when RESULT went; zero once something has come */
	Clock::duration pause_ = Clock::duration::max();	/* from there to that */
	std::unique_ptr<Recursion> recursion_;
	bool		running_ = false;	/* counted as such */

	/* shown to others */
	std::mutex	shown_mutex_;
	int			pid_ = 0;
	const char *state_ = "idle";
	Clock::time_point since_ = Clock::now();
	std::atomic<uint64_t> held_{0}; /* by the request, beside chunks */
	std::atomic<double> progress_{-1};	/* of the request; negative: unknown */

	/* serve.cu */
	void		greet();
	void		give_slab();
	void		linger(Clock::duration time);
	GpucolWireHeader next();
	void		dispatch(const GpucolWireHeader &header);
	void		take(const GpucolWireHeader &header);
	void		fault();
	void		forget_table();

	/* session_request.cc */
	Lane	   *lane(Device &device);
	void		set_running(bool running);
	void		run();
	void		put();
	void		listen();
	void		look();
	void		compute_here();
	void		await_lanes();
	void		add_times(GpucolWireResult *result) const;
	void		send_result(GpucolWireResult *result, const std::vector<char> &data);
	void		compute();
	void		end_request();
	void		fail(const Failure &f, bool closing);

	/* session_recursion.cc */
	void		tell(const GpucolWireRecStatus &status);
	void		start_recursion();
	void		answer_recursion(bool rows);
	void		recurse(const GpucolWireHeader &header);

	/* session_status.cc */
	GpucolWireActivityRow activity();
	static std::vector<GpucolWireActivityRow> activities();
	void		enter();
	void		leave();
	void		set_pid(int pid);
	void		set_state(const char *state);
	void		status();
	void		evict();
};

#endif
