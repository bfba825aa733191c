/*-------------------------------------------------------------------------
 *
 * serve.cu
 *	  One client's session with the daemon: messages in, messages out.
 *
 * A session has its own thread, and a lane to each device that it has used.  A request
 * of one part is computed by the session's thread, while a thread for all sessions
 * watches the client's socket (watch.h).  While several lanes compute the session's
 * thread sleeps in poll() on that socket and on an eventfd that the lanes signal.  So a
 * cancel or a client's death is noticed at once.
 *
 * Admission: a request that has to load columns waits until device memory has room for
 * them (claim.cuh).  At most GPUCOL_ACTIVE parts of requests, and as many recursions, compute
 * on a device at a time: a scan fills it by itself, so more would only divide its memory.
 *
 *-------------------------------------------------------------------------
 */
#include "serve.cuh"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <set>

#include "jit.cuh"
#include "request.cuh"
#include "serve_recursive.cuh"
#include "slab.cuh"
#include "watch.h"
#include "service/protocol.h"

bool		serve_test_requests = false;

static const int GPUCOL_ACTIVE = 4;

typedef std::chrono::steady_clock Clock;

/* How long a session waits awake for a request that was said to come; and up to what pause
 * between an answer and the next request it does so for twice as long as the last was. */
static const std::chrono::milliseconds LINGER(1);
static const std::chrono::microseconds SHORT_PAUSE(1500);

/* How long a session that waits for its turn does not look whether it is still to wait. */
static const std::chrono::milliseconds LOOK(10);

/* Thrown to end a session: the client left or broke the protocol. */
struct Goodbye
{
};

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

class Session
{
public:
	explicit Session(int fd);
	~Session();
	void		serve();
	GpucolWireActivityRow activity();

private:
	int			fd_;
	int			done_fd_;
	std::map<Device *, std::unique_ptr<Lane>> lanes_;
	Slab	   *slab_ = NULL;
	int			pid_ = 0;
	bool		gone_ = false;	/* no answer is wanted */
	bool		left_ = false;	/* the client has closed its end */
	bool		need_sent_ = false; /* of the request at hand */
	std::vector<char> payload_;
	SegmentLists lists_;
	std::unique_ptr<Request> request_;
	Clock::time_point asked_;	/* when RUN came */
	double		lookup_ = 0;	/* seconds from then to what is resident */
	Clock::time_point answered_;	/* when RESULT went; zero once something has come */
	Clock::duration pause_ = Clock::duration::max();	/* from there to that */
	std::unique_ptr<Recursion> recursion_;
	const char *state_ = "idle";
	std::mutex	state_mutex_;
	Clock::time_point since_;
	std::atomic<uint64_t> held_{0}; /* by the request, beside chunks */
	std::atomic<double> progress_{-1};	/* of the request; negative: unknown */
	bool		running_ = false;	/* counted as such */

	void		set_running(bool running);
	void		read_bytes(void *to, size_t n);
	void		send_bytes(const void *from, size_t n);
	void		send(GpucolWireType type, const void *payload, size_t n);
	GpucolWireHeader receive();
	template <class T> T as() const;
	void		send_welcome();
	void		set_state(const char *state);
	Lane	   *lane(Device &device);
	void		send_with(GpucolWireType type, const void *payload, size_t n, int descriptor);
	void		give_slab();
	void		run();
	void		linger(Clock::duration time);
	GpucolWireHeader next();
	void		put();
	void		add_times(GpucolWireResult *result) const;
	void		compute_here();
	void		await_lanes();
	void		compute();
	void		listen();
	void		look();
	void		fail(const Failure &f, bool closing);
	void		status();
	void		fault();
	bool		speaks() const;
	void		tell(const GpucolWireRecStatus &status);
	void		recurse(const GpucolWireHeader &header);
};

static std::mutex sessions_mutex;
static std::set<Session *> sessions;

Session::Session(int fd) : fd_(fd)
{
	done_fd_ = eventfd(0, EFD_CLOEXEC);
	if (done_fd_ < 0)
	{
		close(fd_);
		throw Goodbye();
	}
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	since_ = Clock::now();

	std::lock_guard<std::mutex> lock(sessions_mutex);

	sessions.insert(this);
}

Session::~Session()
{
	{
		std::lock_guard<std::mutex> lock(sessions_mutex);

		sessions.erase(this);
	}
	set_running(false);
	if (request_)
		request_->cancel();
	request_.reset();
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	recursion_.reset();
	lanes_.clear();
	slab_give_back(slab_, left_);
	close(done_fd_);
	close(fd_);
}

/* This session's lane to a device. */
Lane *
Session::lane(Device &device)
{
	std::unique_ptr<Lane> &lane = lanes_[&device];

	if (!lane)
		lane.reset(new Lane(device));
	lane->clear();
	return lane.get();
}

/* Is the session one of those whose request is being answered? */
void
Session::set_running(bool running)
{
	if (running != running_)
		residency_running(running ? 1 : -1);
	running_ = running;
}

void
Session::set_state(const char *state)
{
	std::lock_guard<std::mutex> lock(state_mutex_);

	state_ = state;
	since_ = Clock::now();
}

GpucolWireActivityRow
Session::activity()
{
	std::lock_guard<std::mutex> lock(state_mutex_);
	GpucolWireActivityRow row = {};

	row.pid = pid_;
	snprintf(row.state, sizeof(row.state), "%s", state_);
	row.seconds = std::chrono::duration<double>(Clock::now() - since_).count();
	row.bytes = held_;
	row.progress = progress_;
	return row;
}

/* Read exactly n bytes. */
void
Session::read_bytes(void *to, size_t n)
{
	while (n > 0)
	{
		ssize_t		got = recv(fd_, to, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		left_ = got == 0 || (got < 0 && errno == ECONNRESET);
		if (got <= 0)
			throw Goodbye();
		to = (char *) to + got;
		n -= got;
	}
}

void
Session::send_bytes(const void *from, size_t n)
{
	while (n > 0)
	{
		ssize_t		sent = ::send(fd_, from, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			throw Goodbye();
		from = (const char *) from + sent;
		n -= sent;
	}
}

void
Session::send(GpucolWireType type, const void *payload, size_t n)
{
	bool		large = n > GPUCOL_WIRE_INLINE;	/* not worth copying */
	std::vector<char> message(sizeof(GpucolWireHeader) + (large ? 0 : n));
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};

	memcpy(message.data(), &header, sizeof(header));
	if (n > 0 && !large)
		memcpy(message.data() + sizeof(header), payload, n);
	send_bytes(message.data(), message.size());
	if (large)
		send_bytes(payload, n);
}

/* Read a message into payload_. */
GpucolWireHeader
Session::receive()
{
	GpucolWireHeader header;

	read_bytes(&header, sizeof(header));
	if (header.magic != GPUCOL_WIRE_MAGIC || header.version != GPUCOL_WIRE_VERSION ||
		header.length > GPUCOL_WIRE_MAX_PAYLOAD)
		throw Goodbye();
	payload_.resize(header.length);
	read_bytes(payload_.data(), header.length);
	return header;
}

/* The payload as a struct of exactly its size. */
template <class T> T
Session::as() const
{
	T			t;

	if (payload_.size() != sizeof(T))
		throw Goodbye();
	memcpy(&t, payload_.data(), sizeof(T));
	return t;
}

/* Send a message with a descriptor. */
void
Session::send_with(GpucolWireType type, const void *payload, size_t n, int descriptor)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};
	char		control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov[2] = {{&header, sizeof(header)}, {(void *) payload, n}};
	struct msghdr msg = {};
	struct cmsghdr *c;

	msg.msg_iov = iov;
	msg.msg_iovlen = 2;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &descriptor, sizeof(int));
	if (sendmsg(fd_, &msg, MSG_NOSIGNAL) != (ssize_t) (sizeof(header) + n))
		throw Goodbye();
}

/* Greet, and hand over the residency table. */
void
Session::send_welcome()
{
	GpucolWireWelcome welcome = {getpid(), (int32_t) devices.size(), 0};

	for (Device *d : devices)
		welcome.memory += d->pool.limit();
	send_with(GPUCOL_WIRE_WELCOME, &welcome, sizeof(welcome), residency_fd());
}

/* Give the client its slab. */
void
Session::give_slab()
{
	GpucolWireSlab wire = as<GpucolWireSlab>();

	if (slab_ != NULL || wire.size == 0 || wire.size > GPUCOL_WIRE_MAX_SLAB)
		throw Goodbye();
	slab_ = slab_take(wire.size);
	if (slab_ != NULL)
		send_with(GPUCOL_WIRE_DONE, NULL, 0, slab_->fd);
	else
		send(GPUCOL_WIRE_REFUSED, NULL, 0);
}

/* Tell the client that its request has no answer, and whether the session goes on. */
void
Session::fail(const Failure &f, bool closing)
{
	GpucolWireResult result = {};

	if (request_)
		request_->cancel();
	request_.reset();
	held_ = 0;
	progress_ = -1;
	result.status = f.status;
	result.closing = closing;
	snprintf(result.reason, sizeof(result.reason), "%s", f.reason.c_str());
	set_running(false);
	send(GPUCOL_WIRE_RESULT, &result, sizeof(result));
}

/* A request will come soon: look for it without sleeping, while processors are idle. */
void
Session::linger(Clock::duration time)
{
	Clock::time_point until = Clock::now() + time;
	struct pollfd socket = {fd_, POLLIN, 0};

	while (residency_idle() && poll(&socket, 1, 0) == 0 && Clock::now() < until)
		;
}

/* The next message; statements that follow each other closely do not let the session sleep. */
GpucolWireHeader
Session::next()
{
	GpucolWireHeader header;

	if (!request_ && pause_ < SHORT_PAUSE)
		linger(2 * pause_);
	header = receive();
	if (answered_ != Clock::time_point())
		pause_ = Clock::now() - answered_;
	answered_ = Clock::time_point();
	return header;
}

void
Session::put()
{
	GpucolWirePut wire;
	const char *data;

	if (payload_.size() < sizeof(wire) || !request_)
		throw Goodbye();
	memcpy(&wire, payload_.data(), sizeof(wire));
	if (wire.in_slab)
	{
		if (slab_ == NULL || wire.length > slab_->size || wire.slab_offset > slab_->size - wire.length)
			throw Goodbye();
		data = slab_->memory + wire.slab_offset;
	}
	else
	{
		if (payload_.size() - sizeof(wire) != wire.length)
			throw Goodbye();
		data = payload_.data() + sizeof(wire);
	}
	request_->offer(slab_);
	request_->put(wire, data);
	held_ = request_->held();
	progress_ = request_->progress();
	if (wire.in_slab)
		send(GPUCOL_WIRE_DONE, NULL, 0);
}

/* A new request. */
void
Session::run()
{
	set_state("loading");
	asked_ = Clock::now();
	set_running(true);
	request_.reset();
	request_.reset(new Request(payload_.data(), payload_.size(), lists_, {
		[this] (Device &d) { return lane(d); },
		[fd = done_fd_] {
			uint64_t	n = 1;

			if (write(fd, &n, sizeof(n)) < 0)
				perror("gpucol_gpud: eventfd");
		},
		[this] { look(); },
		[fd = fd_] { return watch_called_off(fd); }
	}));
	if (strcmp(state_, "waiting") == 0)
		set_state("loading");
	lookup_ = std::chrono::duration<double>(Clock::now() - asked_).count();
	request_->offer(slab_);
	request_->submit();
	progress_ = request_->progress();
	need_sent_ = !request_->complete();
	if (need_sent_)
		send(GPUCOL_WIRE_NEED, request_->missing().data(),
			 request_->missing().size() * sizeof(GpucolWireNeed));
}

/* The client said something while its request is computed. */
void
Session::listen()
{
	try
	{
		/* more of a request, of which a part has failed, is no news */
		if (receive().type != GPUCOL_WIRE_CANCEL)
			gone_ = request_->all_sent();
	}
	catch (Goodbye &)
	{
		gone_ = true;
	}
	request_->cancel();
}

/* The request waits for device memory: has the client given it up? */
void
Session::look()
{
	if (strcmp(state_, "waiting") != 0)
		set_state("waiting");
	if (!speaks())
		return;
	if (receive().type != GPUCOL_WIRE_CANCEL)
		throw Goodbye();
	throw Failure{GPUCOL_CANCELLED, "cancelled"};
}

/* Where the time went. */
void
Session::add_times(GpucolWireResult *result) const
{
	auto		seconds = [] (Clock::duration d) { return std::max(0.0, std::chrono::duration<double>(d).count()); };
	Clock::time_point now = Clock::now();

	result->lookup_seconds = lookup_;
	result->daemon_seconds = seconds(now - asked_);
	if (result->work_seconds == 0)
		return;
	result->begin_seconds = std::max(0.0, seconds(request_->began() - asked_) - lookup_);
	result->end_seconds = seconds(now - request_->ended());
}

/* Compute a request of one part. */
void
Session::compute_here()
{
	bool		heard;
	{
		Watch		watch(fd_, [this] { request_->cancel(); });

		request_->compute_alone();
		heard = watch.heard();
	}
	if (heard)
		listen();
}

/* Wait for the lanes. */
void
Session::await_lanes()
{
	bool		attentive = true;

	while (!request_->finished())
	{
		struct pollfd fds[2] = {{done_fd_, POLLIN, 0}, {fd_, POLLIN, 0}};
		uint64_t	n;

		progress_ = request_->progress();
		poll(fds, attentive ? 2 : 1, 1000);
		if ((fds[0].revents & POLLIN) && read(done_fd_, &n, sizeof(n)) < 0)
			perror("gpucol_gpud: eventfd");
		if (attentive && fds[1].revents)
		{
			attentive = false;
			listen();
		}
	}
}

/* All was sent: compute, and answer. */
void
Session::compute()
{
	GpucolWireResult result = {};
	std::vector<char> data;

	set_state("computing");
	if (request_->alone())
		compute_here();
	else
		await_lanes();
	if (gone_)
		throw Goodbye();
	request_->answer(&result, &data);
	set_state("sending");
	if (!result.in_slab && data.size() > GPUCOL_WIRE_INLINE && slab_ != NULL && data.size() <= slab_->size)
	{
		memcpy(slab_->memory, data.data(), data.size());
		result.in_slab = true;
	}
	add_times(&result);
	set_running(false);

	/* who may take long to read it pins nothing meanwhile */
	if (!result.in_slab && data.size() > GPUCOL_WIRE_INLINE)
		request_.reset();
	send(GPUCOL_WIRE_RESULT, &result, sizeof(result));
	for (size_t at = 0; !result.in_slab && at < data.size(); at += GPUCOL_WIRE_PART)
		send(GPUCOL_WIRE_RESULT_PART, data.data() + at, std::min<size_t>(GPUCOL_WIRE_PART, data.size() - at));
	answered_ = Clock::now();
	request_.reset();
	held_ = 0;
	progress_ = -1;
}

void
Session::status()
{
	GpucolWireStatus wire = as<GpucolWireStatus>();

	if (wire.kind == GPUCOL_STATUS_DEVICES)
	{
		std::vector<GpucolWireDevice> rows;
		JitCounts	compiled = jit.counts();

		for (Device *device : devices)
		{
			cudaDeviceProp prop;
			GpucolWireDevice d = {};

			device_check(cudaGetDeviceProperties(&prop, device->ordinal), "device properties");
			memcpy(d.name, prop.name, sizeof(d.name) - 1);
			d.number = device->number;
			d.multiprocessors = prop.multiProcessorCount;
			d.memory = prop.totalGlobalMem;
			d.limit = device->pool.limit();
			d.held = device->pool.used();
			d.cached = device->cache.bytes();
			d.hits = device->cache.hits;
			d.misses = device->cache.misses;
			d.evictions = device->cache.evictions;
			d.requests = device->requests;
			d.compiled = compiled.ready;
			d.compiling = compiled.waiting;
			d.refused = compiled.refused;
			snprintf(d.compiler, sizeof(d.compiler), "%s", jit.note().c_str());
			rows.push_back(d);
		}
		send(GPUCOL_WIRE_STATUS_ROWS, rows.data(), rows.size() * sizeof(rows[0]));
	}
	else if (wire.kind == GPUCOL_STATUS_CACHE)
	{
		std::vector<GpucolWireCacheRow> rows;

		for (Device *device : devices)
		{
			std::vector<GpucolWireCacheRow> more = device->cache.rows();

			rows.insert(rows.end(), more.begin(), more.end());
		}
		rows.resize(std::min<size_t>(rows.size(), GPUCOL_WIRE_MAX_PAYLOAD / sizeof(rows[0])));
		send(GPUCOL_WIRE_STATUS_ROWS, rows.data(), rows.size() * sizeof(rows[0]));
	}
	else if (wire.kind == GPUCOL_STATUS_ACTIVITY)
	{
		std::vector<GpucolWireActivityRow> rows;
		{
			std::lock_guard<std::mutex> lock(sessions_mutex);

			for (Session *s : sessions)
				rows.push_back(s->activity());
		}
		send(GPUCOL_WIRE_STATUS_ROWS, rows.data(), rows.size() * sizeof(rows[0]));
	}
	else
		throw Goodbye();
}

__global__ void
fault_kernel(int *p)
{
	*p = 1;
}

/* A store to an address that is not there. */
void
Session::fault()
{
	if (!serve_test_requests)
		throw Goodbye();
	fault_kernel<<<1, 1>>>((int *) 16);
	device_check(cudaDeviceSynchronize(), "the device failed");
}

/* Has the client said something, or left? */
bool
Session::speaks() const
{
	struct pollfd socket = {fd_, POLLIN, 0};

	return poll(&socket, 1, 0) > 0;
}

/*
 * Tell how far a recursion has come.  A client that does not read that, or has left, must
 * not hold the device up.
 */
void
Session::tell(const GpucolWireRecStatus &status)
{
	struct pollfd socket = {fd_, POLLOUT, 0};

	try
	{
		if (poll(&socket, 1, 0) > 0 && socket.revents == POLLOUT)
			send(GPUCOL_WIRE_REC_STATUS, &status, sizeof(status));
	}
	catch (const Goodbye &)
	{
		/* the next look at what the client says tells as much */
	}
}

/* One message of a recursion. */
void
Session::recurse(const GpucolWireHeader &header)
{
	const char *data = payload_.data();
	size_t		size = payload_.size();

	/* recursions run on the first device; a request may have left another current */
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	if (header.type == GPUCOL_WIRE_REC_END)
	{
		recursion_.reset();
		return;
	}
	if (header.type == GPUCOL_WIRE_REC_START)
	{
		recursion_.reset();
		recursion_.reset(new Recursion(data, size, *devices[0], [this] { return speaks(); },
									   [this] (const GpucolWireRecStatus &status) { tell(status); }));
		std::vector<char> answer = recursion_->started();

		send(GPUCOL_WIRE_REC_STATUS, answer.data(), answer.size());
		return;
	}
	if (!recursion_)
		throw Goodbye();
	if (header.type == GPUCOL_WIRE_REC_LOAD)
	{
		recursion_->load(data, size);
		return;
	}

	bool		rows = header.type == GPUCOL_WIRE_REC_NEXT;
	std::vector<char> answer;
	GpucolWireRecStatus status;
	{
		/* where the client did not wait for it, the recursion notices that itself */
		Admission	admission(*devices[0], true, [this] { return speaks(); });

		set_state("recursion");
		answer = rows ? recursion_->next(data, size) : recursion_->summarise(data, size);
	}

	memcpy(&status, answer.data(), sizeof(status));
	if (status.status == GPUCOL_DEVICE_LOST)
		device_check(cudaDeviceSynchronize(), "the device failed");
	send(rows ? GPUCOL_WIRE_REC_ROWS : GPUCOL_WIRE_REC_SUMMARY, answer.data(), answer.size());
}

void
Session::serve()
{
	GpucolWireHeader hello = receive();

	if (hello.type != GPUCOL_WIRE_HELLO)
		throw Goodbye();
	pid_ = as<GpucolWireHello>().pid;
	send_welcome();
	while (!gone_)
	{
		GpucolWireHeader header;

		if (!request_)
			set_state("idle");
		header = next();
		try
		{
			switch (header.type)
			{
				case GPUCOL_WIRE_SLAB:
					give_slab();
					break;
				case GPUCOL_WIRE_RUN:
					run();
					break;
				case GPUCOL_WIRE_PUT:
					put();
					break;
				case GPUCOL_WIRE_CANCEL:
					fail({GPUCOL_CANCELLED, "cancelled"}, false);
					break;
				case GPUCOL_WIRE_SOON:
					linger(LINGER);
					break;
				case GPUCOL_WIRE_STATUS:
					status();
					break;
				case GPUCOL_WIRE_EVICT:
					{
						GpucolWireEvict wire = as<GpucolWireEvict>();
						GpucolWireEvicted evicted = {0, 0};

						for (Device *device : devices)
						{
							GpucolWireEvicted here = device->cache.evict(wire.storage);

							evicted.chunks += here.chunks;
							evicted.bytes += here.bytes;
						}
						send(GPUCOL_WIRE_EVICTED, &evicted, sizeof(evicted));
						break;
					}
				case GPUCOL_WIRE_FAULT:
					fault();
					break;
				case GPUCOL_WIRE_REC_START:
				case GPUCOL_WIRE_REC_LOAD:
				case GPUCOL_WIRE_REC_SUMMARISE:
				case GPUCOL_WIRE_REC_NEXT:
				case GPUCOL_WIRE_REC_END:
					recurse(header);
					break;
				default:
					throw Goodbye();
			}
			if (request_ && request_->ending())
				compute();
		}
		catch (const Failure &f)
		{
			/* is the client sending more of a request that has failed? */
			bool		more = request_ && need_sent_ && !request_->all_sent();

			if (gone_)
				throw Goodbye();
			fail(f, more);
			if (more)
				throw Goodbye();
		}
		catch (const std::exception &)
		{
			/* no memory, or a length that no vector has */
			if (!gone_)
				fail({GPUCOL_OUT_OF_MEMORY, "the daemon is out of host memory"}, true);
			throw Goodbye();
		}
	}
}

void
serve_client(int fd)
{
	try
	{
		Session		session(fd);

		session.serve();
	}
	catch (const Goodbye &)
	{
	}
	catch (const BadRecursion &)
	{
	}
	catch (const Failure &f)
	{
		fprintf(stderr, "gpucol_gpud: a session ends: %s\n", f.reason.c_str());
	}
	catch (const std::exception &e)
	{
		fprintf(stderr, "gpucol_gpud: a session ends: %s\n", e.what());
	}
	catch (...)
	{
		fprintf(stderr, "gpucol_gpud: a session ends\n");
	}
}
