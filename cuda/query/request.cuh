/*-------------------------------------------------------------------------
 *
 * request.cuh
 *	  One request: what it needs on the devices, and its result.
 *
 * Life: Request(run message) checks the program, finds what is resident and
 * plans: the segments are dealt to the devices (where they are resident, else
 * round robin), and on each device cut in parts that fit its memory together with
 * the next ones, which are loaded meanwhile.  missing() says what the client must
 * send; put() takes it and hands parts that are complete to their lane; when
 * finished(), answer() has their results.  All throw Failure.
 *
 * Memory.  What has to be loaded is claimed before the client is asked for it (claim.cuh).
 *
 * Who does it:
 *
 *	RunMessage			what the RUN says
 *	PieceCatalog, PinnedPieces	the pieces of its segments, and which are resident
 *	Deal				which device computes which segments, in which parts
 *	Objects				what the client sends along
 *	PieceLoader			the pieces that it sends
 *	PartsAtWork			parts computed by lanes, and their results merged
 *	gpucol_part_compute		one part, by kernels (part_compute.cuh)
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REQUEST_CUH
#define GPUCOL_CUDA_REQUEST_CUH

#include <chrono>
#include <functional>
#include <vector>

#include "cuda/base/slab.cuh"
#include "cuda/query/built_tables.cuh"
#include "cuda/query/deal.cuh"
#include "cuda/query/objects.cuh"
#include "cuda/query/parts.cuh"
#include "cuda/query/piece_loader.cuh"

/* The session that a request is for, as the request calls it. */
struct Client
{
	LaneFinder	lane;
	std::function<void()> changed;	/* a part has been computed, by its lane's thread */
	std::function<void()> look;	/* now and then while the RUN waits for device memory; may throw */
	BuiltTables &tables;
	std::function<bool()> called_off;	/* while PUTs wait: is no answer wanted any more? */
};

class Request
{
public:
	Request(const char *payload, size_t length, SegmentLists &lists, const Client &client);
	~Request();
	Request(const Request &) = delete;

	const std::vector<GpucolWireNeed> &missing() const { return deal_.missing(); }

	/* Is nothing to be sent? */
	bool		complete() const { return missing().empty() && objects_.complete(); }

	/* Has everything come that the client was asked for? */
	bool		all_sent() { return parts_.all_submitted(); }

	/* Has everything been sent, or something failed, so that only the end is left? */
	bool		ending() { return parts_.failed() || all_sent(); }
	bool		prefetch() const { return run_.prefetch(); }

	/* Device memory of what the client sent along. */
	uint64_t	held() const { return objects_.held(); }

	/* The share of what the client was asked for that has come, and of several parts that are
	 * computed; negative where neither tells anything. */
	double		progress();

	/* Hand complete parts to their lanes, or one that is alone() to compute_alone(). */
	void		submit();
	bool		alone() const { return deal_.alone(); }
	void		compute_alone() { parts_.compute_alone(); }

	/* Take part of an object or of a piece; `data` is host memory. */
	void		put(const GpucolWirePut &put, const char *data);

	/*
	 * The client's slab, where the result may lie if the answer comes out of one part.
	 * NULL: none.  No part may be at work.
	 */
	void		offer(Slab *slab) { slab_ = slab; }

	/* Is everything computed, or has a part failed and none is at work? */
	bool		finished() { return parts_.finished(); }

	/* Give up: what is at work ends early. */
	void		cancel() { parts_.cancel(); }

	/* When the first part was begun and the last one ended, once finished. */
	std::chrono::steady_clock::time_point began() { return parts_.whole().began; }
	std::chrono::steady_clock::time_point ended() { return parts_.whole().ended; }

	/* The result, once finished. */
	void		answer(GpucolWireResult *result, std::vector<char> *data);

private:
	Deal	   &dealt(const std::function<void()> &look);
	void		compute(Part &part);

	RunMessage	run_;
	PieceCatalog catalog_;
	PinnedPieces pieces_;
	Deal		deal_;
	Claim		claim_;
	Objects		objects_;
	PartsAtWork parts_;
	PieceLoader loader_;
	BuiltTables &tables_;
	Slab	   *slab_ = NULL;
};

#endif
