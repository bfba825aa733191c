/*-------------------------------------------------------------------------
 *
 * prepared.cuh
 *	  A scan as the kernels take it, laid out once for statements that repeat.
 *
 * Laying out a table of a billion rows (a thousand segments: translating ranges to
 * the codes of each, copying all that to the device) takes as long as many a kernel.
 * So a session keeps the last few scans of each of its lists of segments, with what
 * they hold on the device, by the program that they were made for.  One is good as
 * long as nothing has left the device's cache since it was made: then every chunk is
 * where it was.  Scans over delta rows or results of host tests, which come anew with
 * every request, are not kept, nor those that would hold much of the device's memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PREPARED_CUH
#define GPUCOL_CUDA_PREPARED_CUH

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/scan/plan.h"
#include "cuda/scan/reduce_partition.cuh"

struct StateForm;

/* What is known of some values. */
struct Bounds
{
	int64_t		lo,
				hi;				/* less than lo: there are no values */
	bool		known;			/* else they may be anything */
};

/* What is known of a column slot over all segments and delta rows of a scan. */
struct SlotFacts
{
	int64_t		lo = INT64_MAX; /* of its values, where these are bounded */
	int64_t		hi = INT64_MIN;
	bool		bounded = true;
	bool		nullable = false;
	int			scale = NO_SCALE;	/* of its chunks */

	/* no scales that a chunk can have: there are no chunks; they have several */
	static constexpr int NO_SCALE = 1000;
	static constexpr int SCALES_DIFFER = 1001;

	/* More values of it. */
	void		widen(const Bounds &bounds, bool nulls, int of_scale);
};

/* What ScanBuilder makes; not changed once it is ready. */
struct PreparedScan
{
	PreparedScan(Device &device, size_t limit) : memory(device, limit) {}

	bool		ready = false;	/* laid out */
	Scratch		memory;			/* of what `scan` points to, but for the chunks */
	std::vector<GpucolDeviceSegment> segments;
	std::vector<GpucolDeviceChunk> chunks;
	std::vector<GpucolDeviceRange> ranges;
	std::vector<SlotFacts> slots;
	GpucolScanPlan scan = {};
	uint64_t	rows = 0;
	uint64_t	bytes = 0;
	uint64_t	skipped = 0;
	bool		deleted = false;	/* some segment has deleted rows */

	/* what DenseGroups makes of it, at the first use */
	bool		grouping_known = false;
	bool		grouped = false;	/* a dense table suits */
	GpucolReducePlan groups = {};	/* without its table */
	bool		partitioned = false;	/* they are so many that rows are partitioned first */
	GpucolPartitionPlan partitions = {};
	const StateForm *forms = NULL;	/* of the aggregates, on the device */
	std::string source;			/* of a kernel of its own; "" = not made yet, or none */
	bool		has_source = false;
};

/* The last scans over one list of segments; used by the session's thread and its lanes'. */
class PreparedScans
{
public:
	/* What a scan is made for. */
	struct Key
	{
		int			device;
		uint64_t	generation; /* of its cache */
		std::vector<uint64_t> program;
		uint32_t	distinct[16];	/* as in GpucolWireRun */

		bool operator==(const Key &o) const
		{
			return device == o.device && generation == o.generation && program == o.program &&
				memcmp(distinct, o.distinct, sizeof(distinct)) == 0;
		}
	};

	/* The one made for this, or NULL. */
	std::shared_ptr<PreparedScan> find(const Key &key);

	/* Keep one that is ready, unless it is too large; `limit` bytes are all that gpucol may hold there. */
	void		keep(const Key &key, const std::shared_ptr<PreparedScan> &scan, uint64_t limit);

	/* Let go of all: the segments are dealt anew. */
	void		clear();

private:
	std::mutex	mutex_;
	std::vector<std::pair<Key, std::shared_ptr<PreparedScan>>> kept_;	/* last used last */
};

#endif
