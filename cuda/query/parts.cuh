/*-------------------------------------------------------------------------
 *
 * parts.cuh
 *	  The parts of a request at work: handed to lanes, computed, and merged.
 *
 * Threads: everything is called by the session's thread but for compute(), which the
 * lanes' threads do meanwhile, so that more can be loaded and several devices work at a
 * time.  A request of one part is computed by the session's thread, which spares two
 * wake-ups.  What they share is under a mutex.  A lane's thread ends a part under it, so
 * that whoever has seen all parts done may let go of them.
 *
 * Where joins deliver rows of their tables that no part has met, whoever has computed the last of
 * several parts computes one more, of these rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PARTS_CUH
#define GPUCOL_CUDA_PARTS_CUH

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "cuda/query/deal.cuh"

class PartsAtWork
{
public:
	/* What is done with parts, and whom to tell. */
	struct Actions
	{
		std::function<void(Part &)> compute;	/* into part.result; throws Failure */
		std::function<void(Part &)> release;	/* its pieces, once it is computed */
		std::function<void()> changed;	/* a part has been computed, by its lane's thread */
		std::function<bool()> called_off;	/* is no answer wanted any more? */
	};

	PartsAtWork(const RunMessage &run, Deal &deal, Actions actions)
		: run_(run), deal_(deal), actions_(std::move(actions)) {}
	PartsAtWork(const PartsAtWork &) = delete;

	/* Hand parts that miss nothing to their lanes, or one that is alone to compute_alone(). */
	void		submit();

	/* Compute the one part, once it was submitted.  Another thread may call cancel(). */
	void		compute_alone();

	/* Give up: what is at work ends early. */
	void		cancel();
	const std::atomic<bool> &cancelled() const { return cancelled_; }

	/* Wait until nothing is at work any more, and begin nothing. */
	void		end();

	/* Was everything handed over?  Is everything computed, or has a part failed and none is at work? */
	bool		all_submitted();
	bool		finished();
	size_t		computed();
	bool		failed() const { return failed_; }

	/* Throw why a part has failed, if one has. */
	void		check();

	/* Wait until another part of a share may be loaded. */
	void		await_turn(Share &share);

	/* Wait until a share's device may have memory again; throws Failure after so many tries. */
	void		await_memory(Share &share, int *tries);

	/* What all parts gave, once finished. */
	Partial    &whole() { return whole_; }

private:
	template <class Condition> void await(std::unique_lock<std::mutex> &lock, Condition condition);
	void		compute(Part &part);
	void		merge_done(Part &part);
	bool		needs_last() const;
	void		compute_last(Part &part);
	Failure		failure();

	const RunMessage &run_;
	Deal	   &deal_;
	Actions		actions_;
	std::mutex	mutex_;
	std::condition_variable done_;
	std::atomic<bool> cancelled_{false};
	std::atomic<bool> failed_{false};
	Partial		whole_;
	size_t		merged_ = 0;	/* parts merged, in order */
	bool		in_last_ = false;	/* the one more is at work */
};

#endif
