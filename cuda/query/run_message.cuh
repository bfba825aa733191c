/*-------------------------------------------------------------------------
 *
 * run_message.cuh
 *	  What a RUN says (src/service/protocol.h), checked: the program, what becomes of
 *	  its rows, which groups are wanted, and the segments.
 *
 * Everything in a message is checked before it is used: a client is trusted
 * with its data (only the server's own user reaches the socket) but not to be
 * free of errors.
 *
 * What a RUN says of the segments may outlive it as a SegmentList of the session,
 * together with where everything was found (pieces.cuh); while nothing has left the
 * caches since, the next RUN over the list looks nothing up, and one of the same program
 * finds its scan prepared (prepared.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RUN_MESSAGE_CUH
#define GPUCOL_CUDA_RUN_MESSAGE_CUH

#include <memory>
#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/query/prepared.cuh"
#include "kernel/first.h"
#include "kernel/program.h"
#include "kernel/shape.h"
#include "service/protocol.h"

/* How large some segments are. */
struct Extent
{
	uint64_t	bytes;			/* of device memory */
	uint64_t	rows;
};

/* Where the pieces of a list's segments were, and how these were dealt to devices. */
struct FoundSegments
{
	std::vector<Resident *> resident;	/* by piece, as PieceCatalog numbers them */
	std::vector<std::unique_ptr<PieceSet>> on;	/* the same, by device */
	std::vector<std::vector<uint32_t>> dealt;	/* segments, by device */
	std::vector<Extent> extents;	/* of what was dealt */
};

/* The segments of a table, or of several, as a RUN describes them. */
struct SegmentList
{
	std::vector<int32_t> attnums;	/* of the program's columns */
	std::vector<GpucolWireSegment> segments;
	std::vector<GpucolWireColumnChunk> chunks;	/* [segments][columns] */
	bool		remaps = false; /* some chunk has them */
	bool		deleted = false;	/* some segment has such rows */
	bool		kept = true;	/* may their pieces stay in the cache? */

	FoundSegments found;		/* by the last request that found everything */
	PreparedScans prepared;
};

/* The lists of a session, by number. */
typedef std::shared_ptr<SegmentList> SegmentLists[GPUCOL_WIRE_LISTS];

class RunMessage
{
public:
	/* Read one; its segments may be one of the session's lists, or become one.  Throws Failure. */
	RunMessage(const char *payload, size_t length, SegmentLists &lists);

	const GpucolWireRun &head() const { return head_; }
	const GpucolProgram *program() const { return (const GpucolProgram *) program_.data(); }

	/* The program's bytes, by which one is known from another. */
	const std::vector<uint64_t> &program_words() const { return program_; }

	/* What becomes of the rows of a SCAN; NULL: they are wanted as they are. */
	const GpucolRowShape *shape() const { return has(GPUCOL_WIRE_RUN_SHAPE) ? &shape_ : NULL; }
	/* Which groups of an AGG are wanted; NULL: all. */
	const GpucolFirst *first() const { return has(GPUCOL_WIRE_RUN_FIRST) ? &first_ : NULL; }
	SegmentList &list() const { return *list_; }
	const GpucolWireSegment &segment(uint32_t s) const { return list_->segments[s]; }
	const GpucolWireColumnChunk &chunk(uint32_t s,
									   uint32_t slot) const
									{
										return list_->chunks[(size_t) s * head_.ncolumns + slot];
									}
	bool		has(uint32_t flag) const { return head_.flags & flag; }
	bool		prefetch() const { return has(GPUCOL_WIRE_RUN_PREFETCH); }

	/* May its pieces stay in the cache?  Not where the storage of some table has no identity. */
	bool		may_keep() const { return list_->kept; }

	/* Why it has to be computed at once on one device; NULL if not. */
	const char *obstacle() const;

private:
	void		take_list(const char *payload, size_t length, SegmentLists &lists);
	std::shared_ptr<SegmentList> read_list(const char *payload) const;

	GpucolWireRun head_;
	std::vector<uint64_t> program_;
	GpucolRowShape shape_;
	GpucolFirst first_;
	std::shared_ptr<SegmentList> list_;
};

#endif
