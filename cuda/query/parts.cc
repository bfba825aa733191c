/*-------------------------------------------------------------------------
 *
 * parts.cc
 *	  The parts of a request at work.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/parts.cuh"

#include <algorithm>
#include <chrono>

#include "cuda/query/program_view.cuh"

/* How often a session that waits looks whether it is still to wait. */
static const std::chrono::milliseconds CALLED_OFF_LOOK(10);

/* Looks for memory while nothing of the request's own is at work, and how long apart. */
static const int MEMORY_TRIES = 100;
static const std::chrono::milliseconds MEMORY_LOOK(2);

void
PartsAtWork::submit()
{
	for (auto &p : deal_.parts())
	{
		Part	   *part = p.get();
		std::lock_guard<std::mutex> lock(mutex_);

		if (part->submitted || part->missing > 0)
			continue;
		if (run_.prefetch())
		{
			actions_.release(*part);
			part->done = true;
		}
		else if (!deal_.alone())
			deal_.share_of(*part).lane->submit([this, part] { compute(*part); });

		/* now: what could not be handed over is not waited for, and what was ends under
		 * the lock */
		part->submitted = true;
		deal_.share_of(*part).in_flight += !run_.prefetch();
	}
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

/* Merge what is complete, in order; `part` is. */
void
PartsAtWork::merge_done(Part &part)
{
	auto	   &parts = deal_.parts();

	if (part.failure.status == GPUCOL_OK && !failed_)
		part.failure = attempt([&] {
			for (; merged_ < parts.size() && parts[merged_]->done; merged_++)
			{
				gpucol_partial_merge(run_.program(), &whole_, &parts[merged_]->result);
				parts[merged_]->result = Partial();
			}
		});
	if (part.failure.status != GPUCOL_OK)
		failed_ = true;
}

/* Are there rows of tables to be delivered, once all parts are merged? */
bool
PartsAtWork::needs_last() const
{
	return !deal_.alone() && !failed_ && merged_ == deal_.parts().size() && !run_.prefetch() &&
		ProgramView(run_.program()).delivers();
}

/* Deliver them, by the thread that has computed `part`, which fails where this does. */
void
PartsAtWork::compute_last(Part &part)
{
	Part		last;
	Marks		met;

	last.share = part.share;
	last.others = &met;
	part.failure = attempt([&] {
		met.swap(whole_.marks);
		actions_.compute(last);
	});

	std::lock_guard<std::mutex> lock(mutex_);

	if (part.failure.status == GPUCOL_OK)
		part.failure = attempt([&] { gpucol_partial_merge(run_.program(), &whole_, &last.result); });
	failed_ = failed_ || part.failure.status != GPUCOL_OK;
	in_last_ = false;
	done_.notify_all();
	actions_.changed();
}

/* By a lane's thread, or the session's: compute a part, and merge what is complete in order. */
void
PartsAtWork::compute(Part &part)
{
	part.failure = attempt([&] {
		if (cancelled_)
			throw Failure{GPUCOL_CANCELLED, "cancelled"};
		if (!failed_)
			actions_.compute(part);
	});
	{
		std::lock_guard<std::mutex> lock(mutex_);

		attempt([&] { actions_.release(part); });	/* else in the end */
		deal_.share_of(part).in_flight--;
		part.done = true;
		merge_done(part);
		in_last_ = needs_last();
		done_.notify_all();

		/* under the lock: after it the request may be gone */
		if (!deal_.alone())
			actions_.changed();
		if (!in_last_)
			return;
	}
	compute_last(part);
}

void
PartsAtWork::compute_alone()
{
	Part	   &part = *deal_.parts()[0];

	if (part.done)				/* a prefetch */
		return;
	device_check(cudaSetDevice(deal_.share_of(part).device().ordinal), "could not use the device");
	compute(part);
}

void
PartsAtWork::cancel()
{
	cancelled_ = true;
	for (auto &share : deal_.shares())
		share->lane->cancel();
}

void
PartsAtWork::end()
{
	std::unique_lock<std::mutex> lock(mutex_);

	cancelled_ = true;
	done_.wait(lock, [this] {
		if (in_last_)
			return false;
		for (auto &part : deal_.parts())
			if (part->submitted && !part->done && !deal_.alone())
				return false;
		return true;
	});
}

/*
 * The failure of the first part that has one.  Where a part has failed the others are
 * cancelled, which is not why the request failed.
 */
Failure
PartsAtWork::failure()
{
	std::lock_guard<std::mutex> lock(mutex_);
	Failure		found = {GPUCOL_OUT_OF_MEMORY, "a part of the query failed"};

	for (auto &part : deal_.parts())
	{
		if (!part->done || part->failure.status == GPUCOL_OK)
			continue;
		found = part->failure;
		if (found.status != GPUCOL_CANCELLED)
			break;
	}
	return found;
}

void
PartsAtWork::check()
{
	if (failed_)
		throw failure();
}

bool
PartsAtWork::all_submitted()
{
	std::lock_guard<std::mutex> lock(mutex_);

	for (auto &part : deal_.parts())
		if (!part->submitted)
			return false;
	return true;
}

bool
PartsAtWork::finished()
{
	std::lock_guard<std::mutex> lock(mutex_);
	bool		all = true;

	if (in_last_)
		return false;
	for (auto &part : deal_.parts())
	{
		if (part->submitted && !part->done)
			return false;
		all = all && part->done;
	}
	return all || failed_;
}

size_t
PartsAtWork::computed()
{
	std::lock_guard<std::mutex> lock(mutex_);
	auto	   &parts = deal_.parts();

	return std::count_if(parts.begin(), parts.end(), [] (const std::unique_ptr<Part> &part) { return part->done; });
}

/*
 * Wait until parts that are computed make a condition come true.  Where the client has
 * called the request off they end early, which makes it come true soon.
 */
template <class Condition> void
PartsAtWork::await(std::unique_lock<std::mutex> &lock, Condition condition)
{
	while (!done_.wait_for(lock, CALLED_OFF_LOOK, condition))
	{
		lock.unlock();
		if (!cancelled_ && actions_.called_off())
			cancel();
		lock.lock();
	}
}

void
PartsAtWork::await_turn(Share &share)
{
	std::unique_lock<std::mutex> lock(mutex_);

	await(lock, [&share] { return share.in_flight <= share.ahead; });
}

void
PartsAtWork::await_memory(Share &share, int *tries)
{
	std::unique_lock<std::mutex> lock(mutex_);
	uint32_t	before = share.in_flight;

	if (cancelled_)
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
	if (before > 0)
		await(lock, [&share, before] { return share.in_flight < before; });
	else if (++*tries < MEMORY_TRIES)
		done_.wait_for(lock, MEMORY_LOOK);
	else
		throw Failure{GPUCOL_OUT_OF_MEMORY, "device memory does not hold the columns of the query"};
}
