/*-------------------------------------------------------------------------
 *
 * serve.cu
 *	  A session from its greeting to its end: a message after the other, and what
 *	  becomes of those that fail.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/serve.cuh"

#include <unistd.h>

#include <cstdio>

#include "cuda/daemon/session.cuh"
#include "cuda/base/slab.cuh"

bool		serve_test_requests = false;

/* How long a session waits awake for a request that was said to come; and up to what pause
 * between an answer and the next request it does so for twice as long as the last was. */
static const std::chrono::milliseconds LINGER(1);
static const std::chrono::microseconds SHORT_PAUSE(1500);

Session::Session(int socket) : client_(socket)
{
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	enter();
}

Session::~Session()
{
	leave();
	set_running(false);
	if (request_)
		request_->cancel();
	request_.reset();
	device_check(cudaSetDevice(devices[0]->ordinal), "could not use the device");
	recursion_.reset();
	lanes_.clear();
	slab_give_back(slab_, client_.left());
}

/* HELLO: greet, and hand over the residency table. */
void
Session::greet()
{
	GpucolWireWelcome welcome = {getpid(), (int32_t) devices.size(), 0};

	if (client_.receive().type != GPUCOL_WIRE_HELLO)
		throw Goodbye();
	set_pid(client_.as<GpucolWireHello>().pid);
	for (Device *d : devices)
		welcome.memory += d->pool.limit();
	client_.send(GPUCOL_WIRE_WELCOME, &welcome, sizeof(welcome), residency_fd());
}

/* SLAB: give the client its slab. */
void
Session::give_slab()
{
	GpucolWireSlab wire = client_.as<GpucolWireSlab>();

	if (slab_ != NULL || wire.size == 0 || wire.size > GPUCOL_WIRE_MAX_SLAB)
		throw Goodbye();
	slab_ = slab_take(wire.size);
	if (slab_ != NULL)
		client_.send(GPUCOL_WIRE_DONE, NULL, 0, slab_->fd);
	else
		client_.send(GPUCOL_WIRE_REFUSED, NULL, 0);
}

__global__ void
fault_kernel(int *p)
{
	*p = 1;
}

/* FAULT: a store to an address that is not there. */
void
Session::fault()
{
	if (!serve_test_requests)
		throw Goodbye();
	fault_kernel<<<1, 1>>>((int *) 16);
	device_check(cudaDeviceSynchronize(), "the device failed");
}

/* A request will come soon: look for it without sleeping, while processors are idle. */
void
Session::linger(Clock::duration time)
{
	Clock::time_point until = Clock::now() + time;

	while (residency_idle() && !client_.speaks() && Clock::now() < until)
		;
}

/* The next message; statements that follow each other closely do not let the session sleep. */
GpucolWireHeader
Session::next()
{
	GpucolWireHeader header;

	if (!request_)
		set_state("idle");
	if (!request_ && pause_ < SHORT_PAUSE)
		linger(2 * pause_);
	header = client_.receive();
	if (answered_ != Clock::time_point())
		pause_ = Clock::now() - answered_;
	answered_ = Clock::time_point();
	return header;
}

/* Nobody will look a table up any more. */
void
Session::forget_table()
{
	uint32_t	number;

	if (client_.payload().size() != sizeof(number) || request_)
		throw Goodbye();
	memcpy(&number, client_.payload().data(), sizeof(number));
	tables_.put(number, NULL);
}

/* Do what a message asks for. */
void
Session::dispatch(const GpucolWireHeader &header)
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
		case GPUCOL_WIRE_ANNOUNCE:
			linger(LINGER);
			break;
		case GPUCOL_WIRE_FORGET:
			forget_table();
			break;
		case GPUCOL_WIRE_STATUS:
			status();
			break;
		case GPUCOL_WIRE_EVICT:
			evict();
			break;
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

/* Take a message; where that makes a request complete, or it has failed, answer it. */
void
Session::take(const GpucolWireHeader &header)
{
	try
	{
		dispatch(header);
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

void
Session::serve()
{
	greet();
	while (!gone_)
		take(next());
}

void
serve_client(int socket)
{
	try
	{
		Session		session(socket);

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
