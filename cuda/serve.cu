/*-------------------------------------------------------------------------
 *
 * serve.cu
 *	  One client's session with the daemon: messages in, messages out.
 *
 * A session has its own thread, stream and word of cancellation in device
 * memory.  While the device works the thread sleeps in poll() on the client's
 * socket and on an eventfd that a host function in the stream signals, so that
 * a cancel or a client's death is noticed at once.  Cancellation stores into
 * the word by a copy on a second stream; kernels look at it after every run of
 * vectors.
 *
 * Admission: at most GPUCOL_ACTIVE requests compute at a time.  A scan fills
 * the device by itself, so more would only divide its memory.
 *
 *-------------------------------------------------------------------------
 */
#include "serve.cuh"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <set>

#include "request.cuh"
#include "serve_recursive.cuh"
#include "service/protocol.h"

bool		serve_test_requests = false;

static const int GPUCOL_ACTIVE = 4;

typedef std::chrono::steady_clock Clock;

/* Thrown to end a session: the client left or broke the protocol. */
struct Goodbye
{
};

/* Counting semaphore of computing requests. */
static std::mutex active_mutex;
static std::condition_variable active_changed;
static int	active = 0;
static uint64_t requests = 0;

struct Admission
{
	Admission()
	{
		std::unique_lock<std::mutex> lock(active_mutex);

		active_changed.wait(lock, [] { return active < GPUCOL_ACTIVE; });
		active++;
		requests++;
	}
	~Admission()
	{
		std::lock_guard<std::mutex> lock(active_mutex);

		active--;
		active_changed.notify_one();
	}
};

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
	cudaStream_t stream_;
	cudaStream_t control_;
	uint32_t   *cancel_ = NULL;	/* in device memory */
	uint32_t   *one_ = NULL;	/* pinned: what cancellation stores */
	char	   *slab_ = NULL;
	size_t		slab_size_ = 0;
	int			pid_ = 0;
	int			passed_fd_ = -1;
	bool		cancelled_ = false;
	bool		gone_ = false;
	std::vector<char> payload_;
	std::unique_ptr<Request> request_;
	std::unique_ptr<Recursion> recursion_;
	const char *state_ = "idle";
	std::mutex	state_mutex_;
	Clock::time_point since_;

	void		read_bytes(void *to, size_t n);
	void		send_bytes(const void *from, size_t n);
	void		send(GpucolWireType type, const void *payload, size_t n);
	GpucolWireHeader receive();
	template <class T> T as() const;
	void		set_state(const char *state);
	bool		wait();
	void		take_slab();
	void		put();
	void		go();
	void		fail(const Failure &f);
	void		status();
	void		fault();
	void		recurse(const GpucolWireHeader &header);
};

static std::mutex sessions_mutex;
static std::set<Session *> sessions;

Session::Session(int fd) : fd_(fd)
{
	done_fd_ = eventfd(0, EFD_CLOEXEC);
	device_check(cudaSetDevice(0), "could not use the device");
	device_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
	device_check(cudaStreamCreateWithFlags(&control_, cudaStreamNonBlocking), "stream");
	cancel_ = (uint32_t *) device_pool.allocate(4);
	if (done_fd_ < 0 || cancel_ == NULL)
		throw Goodbye();
	device_check(cudaHostAlloc(&one_, 4, cudaHostAllocDefault), "pinned memory");
	*one_ = 1;
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
	device_check(cudaStreamSynchronize(stream_), "end of a session");
	device_check(cudaStreamSynchronize(control_), "end of a session");
	request_.reset();
	recursion_.reset();
	if (slab_)
	{
		cudaHostUnregister(slab_);
		munmap(slab_, slab_size_);
	}
	if (passed_fd_ >= 0)
		close(passed_fd_);
	cudaFreeHost(one_);
	device_pool.release(cancel_);
	cudaStreamDestroy(stream_);
	cudaStreamDestroy(control_);
	if (done_fd_ >= 0)
		close(done_fd_);
	close(fd_);
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
	return row;
}

/* Read exactly n bytes; a descriptor that comes along is kept. */
void
Session::read_bytes(void *to, size_t n)
{
	while (n > 0)
	{
		char		control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {to, n};
		struct msghdr msg = {};
		ssize_t		got;

		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		got = recvmsg(fd_, &msg, MSG_CMSG_CLOEXEC);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			throw Goodbye();
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			{
				if (passed_fd_ >= 0)
					close(passed_fd_);
				memcpy(&passed_fd_, CMSG_DATA(c), sizeof(int));
			}
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

static void CUDART_CB
signal_done(void *arg)
{
	uint64_t	one = 1;

	if (write((int) (intptr_t) arg, &one, sizeof(one)) < 0)
		perror("gpucol_gpud: eventfd");
}

/* Wait for the stream; false if the client cancelled or left meanwhile. */
bool
Session::wait()
{
	device_check(cudaLaunchHostFunc(stream_, signal_done, (void *) (intptr_t) done_fd_), "wait");
	for (;;)
	{
		struct pollfd fds[2] = {{done_fd_, POLLIN, 0}, {fd_, POLLIN, 0}};
		uint64_t	n;

		poll(fds, cancelled_ ? 1 : 2, 200);
		if (fds[0].revents & POLLIN)
		{
			if (read(done_fd_, &n, sizeof(n)) < 0)
				perror("gpucol_gpud: eventfd");
			break;
		}
		if (!cancelled_ && fds[1].revents)
		{
			try
			{
				if (receive().type != GPUCOL_WIRE_CANCEL)
					gone_ = true;
			}
			catch (Goodbye &)
			{
				gone_ = true;
			}
			cancelled_ = true;
			device_check(cudaMemcpyAsync(cancel_, one_, 4, cudaMemcpyHostToDevice, control_), "cancel");
		}

		/* after a fault no host function runs */
		cudaError_t error = cudaStreamQuery(stream_);

		if (error != cudaErrorNotReady)
			device_check(error, "the device failed");
	}
	device_check(cudaStreamQuery(stream_) == cudaErrorNotReady ? cudaStreamSynchronize(stream_) : cudaGetLastError(),
				 "the device failed");
	return !cancelled_;
}

void
Session::take_slab()
{
	GpucolWireSlab wire = as<GpucolWireSlab>();
	struct stat st;
	void	   *p;

	if (passed_fd_ < 0 || wire.size == 0 || wire.size > GPUCOL_WIRE_MAX_SLAB ||
		fstat(passed_fd_, &st) != 0 || (uint64_t) st.st_size < wire.size)
		throw Goodbye();
	if (slab_)
	{
		device_check(cudaHostUnregister(slab_), "slab");
		munmap(slab_, slab_size_);
		slab_ = NULL;
	}
	p = mmap(NULL, wire.size, PROT_READ | PROT_WRITE, MAP_SHARED, passed_fd_, 0);
	close(passed_fd_);
	passed_fd_ = -1;
	if (p == MAP_FAILED)
		throw Goodbye();
	slab_ = (char *) p;
	slab_size_ = wire.size;
	device_check(cudaHostRegister(slab_, slab_size_, cudaHostRegisterDefault), "could not pin a slab");
	send(GPUCOL_WIRE_DONE, NULL, 0);
}

/* Tell the client that its request has no answer; the session goes on. */
void
Session::fail(const Failure &f)
{
	GpucolWireResult result = {};

	request_.reset();
	result.status = f.status;
	snprintf(result.reason, sizeof(result.reason), "%s", f.reason.c_str());
	send(GPUCOL_WIRE_RESULT, &result, sizeof(result));
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
		if (slab_ == NULL || wire.length > slab_size_ || wire.slab_offset > slab_size_ - wire.length)
			throw Goodbye();
		data = slab_ + wire.slab_offset;
	}
	else
	{
		if (payload_.size() - sizeof(wire) != wire.length)
			throw Goodbye();
		data = payload_.data() + sizeof(wire);
	}
	request_->put(wire, data, stream_);
	if (wire.in_slab)
		send(GPUCOL_WIRE_DONE, NULL, 0);
}

void
Session::go()
{
	GpucolWireGo wire;
	GpucolShape shape;
	bool		shaped = payload_.size() == sizeof(wire) + sizeof(shape);
	GpucolWireResult result = {};
	std::vector<char> data;

	if (!request_ || (!shaped && payload_.size() != sizeof(wire)))
		throw Goodbye();
	memcpy(&wire, payload_.data(), sizeof(wire));
	if (shaped)
		memcpy(&shape, payload_.data() + sizeof(wire), sizeof(shape));
	{
		Admission	admission;

		set_state("computing");
		cancelled_ = false;
		device_check(cudaMemsetAsync(cancel_, 0, 4, stream_), "cancel");
		request_->execute(wire, shaped ? &shape : NULL, stream_, cancel_, [this] { return wait(); }, &result, &data);
	}
	request_.reset();
	set_state("sending");
	send(GPUCOL_WIRE_RESULT, &result, sizeof(result));
	for (size_t at = 0; at < data.size(); at += GPUCOL_WIRE_PART)
		send(GPUCOL_WIRE_RESULT_PART, data.data() + at, std::min<size_t>(GPUCOL_WIRE_PART, data.size() - at));
}

void
Session::status()
{
	GpucolWireStatus wire = as<GpucolWireStatus>();

	if (wire.kind == GPUCOL_STATUS_DEVICES)
	{
		cudaDeviceProp prop;
		GpucolWireDevice d = {};

		device_check(cudaGetDeviceProperties(&prop, 0), "device properties");
		snprintf(d.name, sizeof(d.name), "%.*s", (int) sizeof(d.name) - 1, prop.name);
		d.multiprocessors = prop.multiProcessorCount;
		d.memory = prop.totalGlobalMem;
		d.limit = device_pool.limit();
		d.held = device_pool.used();
		d.cached = column_cache.bytes();
		d.hits = column_cache.hits;
		d.misses = column_cache.misses;
		d.evictions = column_cache.evictions;
		d.requests = requests;
		send(GPUCOL_WIRE_STATUS_ROWS, &d, sizeof(d));
	}
	else if (wire.kind == GPUCOL_STATUS_CACHE)
	{
		std::vector<GpucolWireCacheRow> rows = column_cache.rows();

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
	fault_kernel<<<1, 1, 0, stream_>>>((int *) 16);
	wait();
}

/* One message of a recursion. */
void
Session::recurse(const GpucolWireHeader &header)
{
	const char *data = payload_.data();
	size_t		size = payload_.size();

	if (header.type == GPUCOL_WIRE_REC_END)
	{
		recursion_.reset();
		return;
	}
	if (header.type == GPUCOL_WIRE_REC_START)
	{
		size_t		used = device_pool.used();
		size_t		limit = device_pool.limit();

		recursion_.reset();
		recursion_.reset(new Recursion(data, size, limit > used ? limit - used : 1, [this] {
			struct pollfd socket = {fd_, POLLIN, 0};

			return poll(&socket, 1, 0) > 0;
		}, [this](const GpucolWireRecStatus &status) {
			send(GPUCOL_WIRE_REC_STATUS, &status, sizeof(status));
		}));
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

	Admission	admission;
	bool		rows = header.type == GPUCOL_WIRE_REC_NEXT;

	set_state("recursion");
	std::vector<char> answer = rows ? recursion_->next(data, size) : recursion_->summarise(data, size);
	GpucolWireRecStatus status;

	memcpy(&status, answer.data(), sizeof(status));
	if (status.status == GPUCOL_DEVICE_LOST)
		device_check(cudaDeviceSynchronize(), "the device failed");
	send(rows ? GPUCOL_WIRE_REC_ROWS : GPUCOL_WIRE_REC_SUMMARY, answer.data(), answer.size());
}

void
Session::serve()
{
	GpucolWireHeader hello = receive();
	GpucolWireWelcome welcome = {getpid(), 1, device_pool.limit()};

	if (hello.type != GPUCOL_WIRE_HELLO)
		throw Goodbye();
	pid_ = as<GpucolWireHello>().pid;
	send(GPUCOL_WIRE_WELCOME, &welcome, sizeof(welcome));
	while (!gone_)
	{
		GpucolWireHeader header;

		if (!request_)
			set_state("idle");
		header = receive();
		try
		{
			switch (header.type)
			{
				case GPUCOL_WIRE_SLAB:
					take_slab();
					break;
				case GPUCOL_WIRE_RUN:
					set_state("loading");
					request_.reset();
					request_.reset(new Request(payload_.data(), payload_.size()));
					send(GPUCOL_WIRE_NEED, request_->missing().data(),
						 request_->missing().size() * sizeof(GpucolWireNeed));
					break;
				case GPUCOL_WIRE_PUT:
					put();
					break;
				case GPUCOL_WIRE_GO:
					go();
					break;
				case GPUCOL_WIRE_CANCEL:
					fail({GPUCOL_CANCELLED, "cancelled"});
					break;
				case GPUCOL_WIRE_STATUS:
					status();
					break;
				case GPUCOL_WIRE_EVICT:
					{
						GpucolWireEvict wire = as<GpucolWireEvict>();
						GpucolWireEvicted evicted = column_cache.evict(wire.storage);

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
		}
		catch (const Failure &f)
		{
			if (gone_)
				throw Goodbye();
			fail(f);

			/* the client may be sending more of a request that has failed */
			if (header.type == GPUCOL_WIRE_PUT)
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
	catch (const std::bad_alloc &)
	{
		fprintf(stderr, "gpucol_gpud: out of host memory; a session ends\n");
	}
}
