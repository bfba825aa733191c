/*-------------------------------------------------------------------------
 *
 * request.cuh
 *	  One request: what it needs on the device, how it is lowered to kernels,
 *	  and its result.
 *
 * Life: Request(run message) checks the program, finds what is resident and
 * plans: the segments are dealt to the devices (where they are resident, else
 * round robin), and on each device cut in parts that fit its memory together with
 * the next ones, which are loaded meanwhile.  missing() says what the client must
 * send; put() takes it and hands parts that are complete to their lane; when
 * finished(), answer() merges their results.  All throw Failure.
 *
 * Pieces.  Each segment has so many of them: its chunks, then, where some segment has
 * them, the numbers of each column's dictionary entries and the bitmap of its
 * deleted rows.
 *
 * Memory.  What has to be loaded is claimed before the client is asked for it (claim.cuh).
 *
 * Parts.  Where everything fits, a device has one part and all pieces go to the
 * cache.  Else the first part is what is resident and stays so, the cache takes
 * as much more as leaves room for the parts in flight, and the pieces of the
 * others are freed when their part is computed.
 *
 * Lists.  What a RUN tells of the segments may outlive it as a SegmentList of the
 * session, together with where everything was found; while nothing has left the
 * caches since, the next RUN over the list looks nothing up, and one of the same program
 * finds its scan prepared (prepared.cuh).
 *
 * Where it is: the RUN and the pieces in request.cu, the plan in request_deal.cu, PUTs in
 * request_put.cu, the parts at work and the answer in request_parts.cu; how a part is
 * lowered to kernels in lower.cu.
 *
 * Threads: put() and answer() are called by the session's thread; parts are
 * computed by the lanes' threads, so that more can be put meanwhile and several
 * devices work at a time.  A request of one part is computed by the session's thread,
 * compute_alone(), which spares two wake-ups.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REQUEST_CUH
#define GPUCOL_CUDA_REQUEST_CUH

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/base/claim.cuh"
#include "cuda/scan/interp.cuh"
#include "cuda/base/lane.cuh"
#include "cuda/query/partial.cuh"
#include "cuda/scan/plan.h"
#include "cuda/query/prepared.cuh"
#include "cuda/base/slab.cuh"

/* An object or a piece that PUTs are filling. */
struct Incoming
{
	uint64_t	received = 0;
	uint64_t	total = 0;
	std::vector<char *> device; /* object: by share; NULL where it is not needed */
	std::vector<char> host;
	Resident   *resident = NULL;	/* piece */
	Device	   *owner = NULL;	/* piece: whose memory that is */
	GpucolWireChunk head;		/* CHUNK: as far as received */
	uint64_t	kept_from = 0;	/* CHUNK: the bytes of its streams that `host` has too */
	uint64_t	kept_to = 0;
};

/* How large some segments are. */
struct Extent
{
	uint64_t	bytes;			/* of device memory */
	uint64_t	rows;
};

/* The segments of a table as a RUN tells them, and where they were found. */
struct SegmentList
{
	uint64_t	storage[2];
	std::vector<int32_t> attnums;	/* of the columns */
	std::vector<GpucolWireSegment> segments;
	std::vector<GpucolWireColumnChunk> chunks;	/* [segments][columns] */
	bool		remaps = false; /* some chunk has them */
	bool		deleted = false;	/* some segment has such rows */

	/* by the last request that found everything; its dealing, by device */
	std::vector<Resident *> resident;
	std::vector<std::unique_ptr<PieceSet>> on;	/* the same, by device */
	std::vector<std::vector<uint32_t>> dealt;
	std::vector<Extent> extents;	/* of what was dealt */

	PreparedScans prepared;
};

/* The lists of a session, by number. */
typedef std::shared_ptr<SegmentList> SegmentLists[GPUCOL_WIRE_LISTS];

/* What one device does of a request. */
struct Share
{
	Lane	   *lane = NULL;
	std::unique_ptr<Scratch> objects;	/* memory of the objects */
	uint64_t	keep = UINT64_MAX;	/* bytes that the cache may still take */
	uint32_t	ahead = 2;		/* parts that may be in flight beside one that is loaded */
	uint32_t	in_flight = 0;	/* handed to the lane, not yet computed */
};

/* Segments that are computed at once on one device. */
struct Part
{
	uint32_t	share = 0;
	std::vector<uint32_t> segments; /* ascending */
	bool		delta = false;	/* and the delta rows */
	size_t		missing = 0;	/* chunks still to come */
	bool		submitted = false;
	bool		done = false;
	Scratch    *scratch = NULL; /* while it is computed */
	Partial		result;
	Failure		failure = {GPUCOL_OK, ""};
};

/* For tests: bytes of chunks that a request may hold on a device; 0 = as fits. */
extern uint64_t request_window;

/* Finds the lane of a device for the session at hand. */
typedef std::function<Lane *(Device &)> LaneFinder;

/* The session that a request is for, as the request calls it. */
struct Client
{
	LaneFinder	lane;
	std::function<void()> changed;	/* a part has been computed, by its lane's thread */
	std::function<void()> look;	/* now and then while the RUN waits for device memory; may throw */
	std::function<bool()> called_off;	/* while PUTs wait: is no answer wanted any more? */
};

class JitTrial;

class Request
{
public:
	Request(const char *payload, size_t length, SegmentLists &lists, Client client);
	~Request();
	Request(const Request &) = delete;

	const std::vector<GpucolWireNeed> &missing() const { return missing_; }

	/* Is nothing to be sent? */
	bool		complete() const { return missing_.empty() && objects_left_ == 0; }

	/* Has everything come that the client was asked for? */
	bool		all_sent();

	/* Has everything been sent, or something failed, so that only the end is left? */
	bool		ending();
	bool		prefetch() const { return run_.flags & GPUCOL_WIRE_RUN_PREFETCH; }
	uint64_t	held() const { return held_; }

	/* The share of what the client was asked for that has come, and of several parts that are
	 * computed; negative where neither tells anything. */
	double		progress();

	/* Hand complete parts to their lanes, or one that is alone() to compute_alone(). */
	void		submit();

	/* Is there one part? */
	bool		alone() const { return parts_.size() == 1; }

	/* Compute it, once it was submitted.  Another thread may call cancel(). */
	void		compute_alone();

	/* Take part of an object; `data` is host memory. */
	void		put(const GpucolWirePut &put, const char *data);

	/*
	 * The client's slab, where the result may lie if the answer comes out of one part.
	 * NULL: none.  No part may be at work.
	 */
	void		offer(Slab *slab) { slab_ = slab; }

	/* Is everything computed, or has a part failed and none is at work? */
	bool		finished();

	/* Give up: what is at work ends early. */
	void		cancel();

	/* When the first part was begun and the last one ended, once finished. */
	std::chrono::steady_clock::time_point began() const { return whole_.began; }
	std::chrono::steady_clock::time_point ended() const { return whole_.ended; }

	/* The result, once finished. */
	void		answer(GpucolWireResult *result, std::vector<char> *data);

private:
	friend class Lowering;

	/* The slab where a kernel may write a result for the client to find; NULL: there is none. */
	const Slab *slab() const { return alone() && slab_ != NULL && slab_->device != NULL ? slab_ : NULL; }
	const GpucolProgram *program() const { return (const GpucolProgram *) program_.data(); }
	const GpucolRowShape *shape() const { return run_.flags & GPUCOL_WIRE_RUN_SHAPE ? &shape_ : NULL; }
	const char *obstacle() const;
	bool		may_keep() const { return run_.storage[0] != 0 || run_.storage[1] != 0; }
	void		take_list(const char *payload, size_t length, SegmentLists &lists);
	std::shared_ptr<SegmentList> read_list(const char *payload) const;
	const GpucolWireSegment &segment(uint32_t s) const { return list_->segments[s]; }
	const GpucolWireColumnChunk &told(uint32_t s, uint32_t c) const { return list_->chunks[(size_t) s * run_.ncolumns + c]; }
	uint32_t	pieces() const { return run_.ncolumns * (1 + list_->remaps) + list_->deleted; }
	size_t		piece(uint32_t segment, uint32_t number) const { return (size_t) segment * pieces() + number; }
	uint32_t	piece_of(const GpucolWirePut &put) const;
	GpucolWireNeed describe(uint32_t segment, uint32_t number) const;
	uint64_t	piece_bytes(uint32_t segment, uint32_t number) const;
	uint32_t	piece_rows(uint32_t segment, uint32_t number) const;
	void		check_found(uint32_t segment) const;
	bool		is_missing(uint32_t segment, uint32_t number) const;
	ChunkKey	key(uint32_t segment, uint32_t number) const;
	Resident   *const *chunks(uint32_t segment) const { return &resident_[piece(segment, 0)]; }
	const Resident *remap(uint32_t segment, uint32_t slot) const;
	const Resident *deleted(uint32_t segment) const;
	uint64_t	segment_bytes(uint32_t segment, bool missing) const;
	bool		is_one_part(Device &device, const Extent &extent) const;
	bool		recall();
	void		remember(const std::vector<uint64_t> &generations, const std::vector<std::vector<uint32_t>> &dealt);
	void		look_up(std::vector<std::vector<uint32_t>> *dealt, bool one_device);
	void		unpin_all();
	void		forget_deal();
	std::vector<Need> needs() const;
	void		deal_or_wait();
	void		make_shares(std::vector<std::vector<uint32_t>> &dealt, bool recalled);
	void		deal();
	Extent		measure(const std::vector<uint32_t> &segments) const;
	Part	   *begin_part(uint32_t share);
	void		make_parts(uint32_t share, std::vector<uint32_t> &segments, const Extent &extent);
	uint64_t	streamed_size(const std::vector<uint32_t> &segments, uint64_t capacity) const;
	uint64_t	keep_resident(uint32_t share, const std::vector<uint32_t> &segments, uint64_t room, std::vector<uint32_t> *rest);
	void		cut_rest(uint32_t share, const std::vector<uint32_t> &rest, uint64_t size);
	void		stream_parts(uint32_t share, const std::vector<uint32_t> &segments, uint64_t capacity);
	void		limit_prefetch(std::vector<uint32_t> &segments, uint64_t capacity);
	void		list_missing();
	void		compute(Part &part);
	bool		may_prepare(const Part &part) const;
	PreparedScans::Key scan_key(const Part &part) const;
	void		run_part(Part &part);
	void		prove(Part &part, Lane &lane, JitTrial &trial, const std::shared_ptr<PreparedScan> &scan);
	void		release(Part &part);
	Failure		failure();
	void		expand_codes(Share &share, Resident *r, const uint32_t *ends, uint32_t nrows);
	void	   *chunk_memory(Share &share, size_t size);
	template <class Condition> void await_parts(std::unique_lock<std::mutex> &lock, Condition condition);
	void		wait_ahead(std::unique_lock<std::mutex> &lock, uint32_t share, uint32_t limit);
	void		finish_chunk(Incoming &in, uint32_t segment, uint32_t slot);
	void		finish_piece(Incoming &in, const GpucolWirePut &put);
	void		begin_chunk(Incoming &in, uint32_t segment, uint32_t slot);
	void		put_streams(Incoming &in, uint64_t at, const char *data, uint64_t n, Lane &lane);
	void		put_chunk(Incoming &in, const GpucolWirePut &put, const char *data);
	void		put_piece(Incoming &in, const GpucolWirePut &put, const char *data);
	void		put_object(Incoming &in, const GpucolWirePut &put, const char *data);
	void		check_put(const GpucolWirePut &put) const;
	Incoming   *object(uint32_t kind, uint32_t a, uint32_t b);

	GpucolWireRun run_;
	std::vector<uint64_t> program_;
	GpucolRowShape shape_;			/* where run_.flags says so */
	std::shared_ptr<SegmentList> list_;
	bool		found_ = false;	/* all was resident, where the list says */
	std::vector<Resident *> resident_;	/* [nsegments][pieces()]; pinned */
	std::vector<PieceSet *> pinned_;	/* by device, where they are so together */
	std::vector<uint32_t> part_of_; /* of each segment */
	std::vector<GpucolWireNeed> missing_;
	std::map<std::pair<uint32_t, uint64_t>, Incoming> incoming_;	/* objects; as
										 * they are once all have come */
	std::map<size_t, Incoming> loading_;	/* by piece() */
	std::vector<std::unique_ptr<Share>> shares_;
	std::vector<std::unique_ptr<Part>> parts_;
	uint32_t	objects_left_ = 0;
	Claim		claim_;
	Slab	   *slab_ = NULL;
	size_t		come_ = 0;		/* of missing_ */
	std::atomic<uint64_t> held_{0};
	Client		client_;

	/* what the lanes' threads and the session's share */
	std::mutex	mutex_;
	std::condition_variable done_;
	std::atomic<bool> cancelled_{false};
	std::atomic<bool> failed_{false};
	Partial		whole_;
	size_t		merged_ = 0;	/* parts merged, in order */
};

#endif
