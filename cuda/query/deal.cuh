/*-------------------------------------------------------------------------
 *
 * deal.cuh
 *	  Which device computes which segments of a request, in which parts, and what the
 *	  client must send for them.
 *
 * Segments go where they are resident, else to the device of their turn.  Where everything
 * fits, a device has one part and all pieces go to the cache.  Else the first part is
 * what is resident and stays so, the cache takes as much more as leaves room for the parts
 * in flight, and the pieces of the others are freed when their part is computed
 * (deal_cut.cc).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEAL_CUH
#define GPUCOL_CUDA_DEAL_CUH

#include <functional>
#include <memory>
#include <vector>

#include "cuda/base/claim.cuh"
#include "cuda/base/lane.cuh"
#include "cuda/query/partial.cuh"
#include "cuda/query/pieces.cuh"
#include "cuda/query/run_message.cuh"

/* For tests: bytes of chunks that a request may hold on a device; 0 = as fits. */
extern uint64_t request_window;

/* Finds the lane of a device for the session at hand. */
typedef std::function<Lane *(Device &)> LaneFinder;

/* What one device does of a request. */
struct Share
{
	Lane	   *lane = NULL;
	uint64_t	keep = UINT64_MAX;	/* bytes that the cache may still take */
	uint32_t	ahead = 2;		/* parts that may be in flight beside one that is loaded */
	uint32_t	in_flight = 0;	/* handed to the lane, not yet computed (parts.cuh) */

	Device	   &device() const { return lane->device(); }
};

/* Segments that are computed at once on one device. */
struct Part
{
	uint32_t	share = 0;
	std::vector<uint32_t> segments; /* ascending */
	bool		delta = false;	/* and the delta rows */
	const Marks *others = NULL; /* of all others, in the last one, which has no rows of the source */
	size_t		missing = 0;	/* pieces still to be loaded */

	/* as parts.cuh has it */
	bool		submitted = false;
	bool		done = false;
	Partial		result;
	Failure		failure = {GPUCOL_OK, ""};
};

class Deal
{
public:
	Deal(const RunMessage &run, const PieceCatalog &catalog, PinnedPieces &pieces, LaneFinder lane)
		: run_(run), catalog_(catalog), pieces_(pieces), lane_(std::move(lane)) {}

	/* Deal the segments, cut what each device has in parts, and pin what is resident.  Throws Failure. */
	void		make();

	/* Back to before make(). */
	void		forget();

	/* What the request is going to load on its devices. */
	std::vector<Need> needs() const;

	/* What the client must send, by segment. */
	const std::vector<GpucolWireNeed> &missing() const { return missing_; }

	/* Was everything resident, so that the segments' list says where? */
	bool		found() const { return found_; }

	std::vector<std::unique_ptr<Share>> &shares() { return shares_; }
	std::vector<std::unique_ptr<Part>> &parts() { return parts_; }

	/* Is there one part? */
	bool		alone() const { return parts_.size() == 1; }

	/* Is a segment in any part?  A prefetch may leave some out. */
	bool		has(uint32_t segment) const { return part_of_[segment] < parts_.size(); }
	Part	   &part_of(uint32_t segment) const { return *parts_[part_of_[segment]]; }
	Share	   &share_of(const Part &part) const { return *shares_[part.share]; }

private:
	bool		is_one_part(Device &device, const Extent &extent) const;
	bool		recall();
	void		look_up(std::vector<std::vector<uint32_t>> *dealt, bool one_device);
	void		make_shares(std::vector<std::vector<uint32_t>> &dealt, bool recalled);
	void		list_missing();

	/* deal_cut.cc */
	void		make_parts(uint32_t share, std::vector<uint32_t> &segments, const Extent &extent);

	const RunMessage &run_;
	const PieceCatalog &catalog_;
	PinnedPieces &pieces_;
	LaneFinder	lane_;
	std::vector<std::unique_ptr<Share>> shares_;
	std::vector<std::unique_ptr<Part>> parts_;
	std::vector<uint32_t> part_of_; /* of each segment */
	std::vector<GpucolWireNeed> missing_;
	bool		found_ = false;
};

#endif
