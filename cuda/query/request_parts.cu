/*-------------------------------------------------------------------------
 *
 * request_parts.cu
 *	  The parts of a request at work, and its answer.
 *
 * What lanes and session share is under the request's mutex.  A lane's thread ends a part
 * under it, so that a request whose destructor has seen all parts done may go.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/request.cuh"

#include <algorithm>
#include <cstdio>

void
Request::submit()
{
	if (objects_left_ > 0)
		return;
	for (auto &p : parts_)
	{
		Part	   *part = p.get();
		std::lock_guard<std::mutex> lock(mutex_);

		if (part->submitted || part->missing > 0)
			continue;
		if (prefetch())
		{
			release(*part);
			part->done = true;
		}
		else if (!alone())
			shares_[part->share]->lane->submit([this, part] { compute(*part); });

		/* now: what could not be handed over is not waited for, and what was ends under
		 * the lock */
		part->submitted = true;
		shares_[part->share]->in_flight += !prefetch();
	}
}

/* Unpin the pieces of a part. */
void
Request::release(Part &part)
{
	std::vector<Resident *> pinned;
	Device	   &device = shares_[part.share]->lane->device();

	if (!pinned_.empty())
	{
		pinned_[device.number]->unpin();
		pinned_[device.number] = NULL;
		return;
	}
	pinned.reserve(part.segments.size() * pieces());
	for (uint32_t s : part.segments)
		for (uint32_t i = 0; i < pieces(); i++)
		{
			pinned.push_back(resident_[piece(s, i)]);
			resident_[piece(s, i)] = NULL;
		}
	device.cache.unpin(pinned.data(), pinned.size());
}

/* Why some work failed; nothing that it throws may end a lane's thread. */
template <class Work>
static Failure
attempt(Work work)
{
	try
	{
		work();
	}
	catch (const Failure &f)
	{
		return f;
	}
	catch (const std::exception &)
	{
		/* no memory, or a length that no vector has */
		return {GPUCOL_OUT_OF_MEMORY, "the daemon is out of host memory"};
	}
	return {GPUCOL_OK, ""};
}

/* By a lane's thread, or the session's: compute a part, and merge what is complete in order. */
void
Request::compute(Part &part)
{
	part.failure = attempt([&] {
		if (cancelled_)
			throw Failure{GPUCOL_CANCELLED, "cancelled"};
		if (!failed_)
			run_part(part);
	});
	{
		std::lock_guard<std::mutex> lock(mutex_);

		attempt([&] { release(part); });	/* else in the end */
		shares_[part.share]->in_flight--;
		part.done = true;
		if (part.failure.status == GPUCOL_OK && !failed_)
			part.failure = attempt([&] {
				for (; merged_ < parts_.size() && parts_[merged_]->done; merged_++)
				{
					gpucol_partial_merge(program(), &whole_, &parts_[merged_]->result);
					parts_[merged_]->result = Partial();
				}
			});
		if (part.failure.status != GPUCOL_OK)
			failed_ = true;
		done_.notify_all();

		/* under the lock: after it the request may be gone */
		if (!alone())
			client_.changed();
	}
}

void
Request::compute_alone()
{
	Part	   &part = *parts_[0];

	if (part.done)				/* a prefetch */
		return;
	device_check(cudaSetDevice(shares_[part.share]->lane->device().ordinal), "could not use the device");
	compute(part);
}

/*
 * The failure of the first part that has one.  Where a part has failed the others are
 * cancelled, which is not why the request failed.
 */
Failure
Request::failure()
{
	std::lock_guard<std::mutex> lock(mutex_);
	Failure		found = {GPUCOL_OUT_OF_MEMORY, "a part of the query failed"};

	for (auto &part : parts_)
	{
		if (!part->done || part->failure.status == GPUCOL_OK)
			continue;
		found = part->failure;
		if (found.status != GPUCOL_CANCELLED)
			break;
	}
	return found;
}

bool
Request::ending()
{
	return failed_ || all_sent();
}

bool
Request::all_sent()
{
	std::lock_guard<std::mutex> lock(mutex_);

	for (auto &part : parts_)
		if (!part->submitted)
			return false;
	return true;
}

double
Request::progress()
{
	std::lock_guard<std::mutex> lock(mutex_);
	size_t		all = missing_.size(),
				done = come_;

	if (alone() ? done == all : prefetch() && all == 0)
		return -1;
	if (!alone() && !prefetch())
	{
		all += parts_.size();
		done += std::count_if(parts_.begin(), parts_.end(), [] (const std::unique_ptr<Part> &part) { return part->done; });
	}
	return (double) done / (double) all;
}

bool
Request::finished()
{
	std::lock_guard<std::mutex> lock(mutex_);
	bool		all = true;

	for (auto &part : parts_)
	{
		if (part->submitted && !part->done)
			return false;
		all = all && part->done;
	}
	return all || failed_;
}

void
Request::cancel()
{
	cancelled_ = true;
	for (auto &share : shares_)
		share->lane->cancel();
}

void
Request::answer(GpucolWireResult *result, std::vector<char> *data)
{
	if (failed_)
		throw failure();
	result->status = GPUCOL_OK;
	if (prefetch())
		return;
	gpucol_partial_finish(program(), &whole_);
	if (run_.result_limit > 0 && whole_.size() > run_.result_limit)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the query's memory limit"};
	result->nsegments = whole_.nsegments;
	result->nrows = whole_.nrows;
	result->bytes = whole_.size();
	result->in_slab = whole_.placed != NULL;
	result->packed_bytes = whole_.packed_bytes;
	result->segments_skipped = whole_.skipped;
	result->device_seconds = whole_.seconds;
	result->plan_seconds = whole_.plan_seconds;
	result->work_seconds = whole_.work_seconds;
	result->ndevices = shares_.size();
	result->nbatches = (parts_.size() + shares_.size() - 1) / shares_.size();
	snprintf(result->kernel, sizeof(result->kernel), "%s", whole_.kernel.c_str());
	if (devices.size() > 1 && obstacle() != NULL)
		whole_.note += std::string(whole_.note.empty() ? "" : "; ") +
			(shape() != NULL ? "a ranking is computed on one device" : "count(DISTINCT) is computed on one device");
	snprintf(result->note, sizeof(result->note), "%s", whole_.note.c_str());
	data->swap(whole_.data);
}

/* ---- waiting for parts ---- */

/* How often a session whose PUT waits looks whether it is still to wait. */
static const std::chrono::milliseconds CALLED_OFF_LOOK(10);

/*
 * Wait until parts that are computed make a condition come true.  Where the client has
 * called the request off they end early, which makes it come true soon.
 */
template <class Condition> void
Request::await_parts(std::unique_lock<std::mutex> &lock, Condition condition)
{
	while (!done_.wait_for(lock, CALLED_OFF_LOOK, condition))
	{
		lock.unlock();
		if (!cancelled_ && client_.called_off())
			cancel();
		lock.lock();
	}
}

/* Wait until fewer than `limit` parts of a share are in flight. */
void
Request::wait_ahead(std::unique_lock<std::mutex> &lock, uint32_t share, uint32_t limit)
{
	await_parts(lock, [&] { return shares_[share]->in_flight < limit; });
}

/* Looks for memory while nothing of the request's own is at work, and how long apart. */
static const int MEMORY_TRIES = 100;
static const std::chrono::milliseconds MEMORY_LOOK(2);

/*
 * Memory for a chunk; parts at work may have to give theirs back first.  Requests that
 * look what is resident have that pinned for a moment, beyond what has been claimed:
 * where there is no memory it is looked for again for a while.
 */
void *
Request::chunk_memory(Share &share, size_t size)
{
	for (int tries = 0;;)
	{
		void	   *memory = share.lane->device().cache.allocate(size);
		std::unique_lock<std::mutex> lock(mutex_);
		uint32_t	before = share.in_flight;

		if (memory != NULL)
			return memory;
		if (cancelled_)
			throw Failure{GPUCOL_CANCELLED, "cancelled"};
		if (before > 0)
			await_parts(lock, [&] { return share.in_flight < before; });
		else if (++tries < MEMORY_TRIES)
			done_.wait_for(lock, MEMORY_LOOK);
		else
			throw Failure{GPUCOL_OUT_OF_MEMORY, "device memory does not hold the columns of the query"};
	}
}
