/*-------------------------------------------------------------------------
 *
 * session_request.cc
 *	  A session's request: RUN, PUTs and CANCEL in, NEED, DONEs and the result out.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/session.cuh"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/base/slab.cuh"
#include "cuda/daemon/watch.h"

Bell::Bell() : fd_(eventfd(0, EFD_CLOEXEC))
{
	if (fd_ < 0)
		throw Goodbye();
}

Bell::~Bell()
{
	close(fd_);
}

void
Bell::ring()
{
	uint64_t	n = 1;

	if (write(fd_, &n, sizeof(n)) < 0)
		perror("gpucol_gpud: eventfd");
}

void
Bell::quiet()
{
	uint64_t	n;

	if (read(fd_, &n, sizeof(n)) < 0)
		perror("gpucol_gpud: eventfd");
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

/* A new request. */
void
Session::run()
{
	const std::vector<char> &message = client_.payload();

	set_state("loading");
	asked_ = Clock::now();
	set_running(true);
	request_.reset();
	request_.reset(new Request(message.data(), message.size(), lists_, {
		[this] (Device &d) { return lane(d); },
		[this] { bell_.ring(); },
		[this] { look(); },
		tables_,
		[this] { return watch_called_off(client_.socket()); }
	}));
	if (strcmp(state_, "waiting") == 0)
		set_state("loading");
	lookup_ = std::chrono::duration<double>(Clock::now() - asked_).count();
	request_->offer(slab_);
	request_->submit();
	progress_ = request_->progress();
	need_sent_ = !request_->complete();
	if (need_sent_)
		client_.send(GPUCOL_WIRE_NEED, request_->missing().data(),
					 request_->missing().size() * sizeof(GpucolWireNeed));
}

/* A part of what it needs. */
void
Session::put()
{
	const std::vector<char> &message = client_.payload();
	GpucolWirePut wire;
	const char *data;

	if (message.size() < sizeof(wire) || !request_)
		throw Goodbye();
	memcpy(&wire, message.data(), sizeof(wire));
	if (wire.in_slab)
	{
		if (slab_ == NULL || wire.length > slab_->size || wire.slab_offset > slab_->size - wire.length)
			throw Goodbye();
		data = slab_->memory + wire.slab_offset;
	}
	else
	{
		if (message.size() - sizeof(wire) != wire.length)
			throw Goodbye();
		data = message.data() + sizeof(wire);
	}
	request_->offer(slab_);
	request_->put(wire, data);
	held_ = request_->held();
	progress_ = request_->progress();
	if (wire.in_slab)
		client_.send(GPUCOL_WIRE_DONE, NULL, 0);
}

/* The client said something while its request is computed. */
void
Session::listen()
{
	try
	{
		/* more of a request, of which a part has failed, is no news */
		if (client_.receive().type != GPUCOL_WIRE_CANCEL)
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
	if (!client_.speaks())
		return;
	if (client_.receive().type != GPUCOL_WIRE_CANCEL)
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
		Watch		watch(client_.socket(), [this] { request_->cancel(); });

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
		struct pollfd fds[2] = {{bell_.descriptor(), POLLIN, 0}, {client_.socket(), POLLIN, 0}};

		progress_ = request_->progress();
		poll(fds, attentive ? 2 : 1, 1000);
		if (fds[0].revents & POLLIN)
			bell_.quiet();
		if (attentive && fds[1].revents)
		{
			attentive = false;
			listen();
		}
	}
}

/* The request is over. */
void
Session::end_request()
{
	request_.reset();
	held_ = 0;
	progress_ = -1;
}

/* Send a result, in the slab if that holds it. */
void
Session::send_result(GpucolWireResult *result, const std::vector<char> &data)
{
	if (!result->in_slab && data.size() > GPUCOL_WIRE_INLINE && slab_ != NULL && data.size() <= slab_->size)
	{
		memcpy(slab_->memory, data.data(), data.size());
		result->in_slab = true;
	}
	add_times(result);
	set_running(false);

	/* who may take long to read it pins nothing meanwhile */
	if (!result->in_slab && data.size() > GPUCOL_WIRE_INLINE)
		end_request();
	client_.send(GPUCOL_WIRE_RESULT, result, sizeof(*result));
	for (size_t at = 0; !result->in_slab && at < data.size(); at += GPUCOL_WIRE_PART)
		client_.send(GPUCOL_WIRE_RESULT_PART, data.data() + at, std::min<size_t>(GPUCOL_WIRE_PART, data.size() - at));
	answered_ = Clock::now();
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
	send_result(&result, data);
	end_request();
}

/* Tell the client that its request has no answer, and whether the session goes on. */
void
Session::fail(const Failure &f, bool closing)
{
	GpucolWireResult result = {};

	if (request_)
		request_->cancel();
	end_request();
	result.status = f.status;
	result.closing = closing;
	snprintf(result.reason, sizeof(result.reason), "%s", f.reason.c_str());
	set_running(false);
	client_.send(GPUCOL_WIRE_RESULT, &result, sizeof(result));
}
