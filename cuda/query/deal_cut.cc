/*-------------------------------------------------------------------------
 *
 * deal_cut.cc
 *	  What a device was dealt, cut in parts that its memory holds.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/deal.cuh"

#include <algorithm>

uint64_t	request_window = 0;

/* Rows beyond this are left to another part. */
static const uint64_t MAX_PART_ROWS = (uint64_t) 1 << 31;

/* Bytes of pieces that a request may have on a device. */
static uint64_t
capacity_of(Device &device)
{
	uint64_t	limit = device.pool.unlent();

	return request_window > 0 ? request_window : limit - limit / 8;
}

static std::string
megabytes(uint64_t bytes)
{
	return std::to_string((bytes >> 20) + 1) + " MB";
}

namespace
{

/*
 * Cuts a share that is larger than its device, or has too many rows for one part.  Three
 * parts must fit beside what stays resident: one that computes, one that waits, one that
 * is loaded; or two, where three do not.
 */
class PartCutter
{
public:
	PartCutter(const RunMessage &run, PinnedPieces &pieces, Share &share, uint32_t number,
			   std::vector<std::unique_ptr<Part>> &parts)
		: run_(run), pieces_(pieces), share_(share), number_(number), parts_(parts) {}

	void		cut(const std::vector<uint32_t> &segments, uint64_t capacity);

private:
	Part	   *begin();
	uint64_t	part_size(const std::vector<uint32_t> &segments, uint64_t capacity) const;
	uint64_t	keep_resident(const std::vector<uint32_t> &segments, uint64_t room, std::vector<uint32_t> *rest);
	void		cut_rest(const std::vector<uint32_t> &rest, uint64_t size);

	const RunMessage &run_;
	PinnedPieces &pieces_;
	Share	   &share_;
	uint32_t	number_;		/* of the share */
	std::vector<std::unique_ptr<Part>> &parts_;
};

Part *
PartCutter::begin()
{
	parts_.emplace_back(new Part());
	parts_.back()->share = number_;
	return parts_.back().get();
}

/* Bytes of each part: twice as many must fit. */
uint64_t
PartCutter::part_size(const std::vector<uint32_t> &segments, uint64_t capacity) const
{
	uint64_t	largest = 0;
	uint64_t	size;

	for (uint32_t s : segments)
		largest = std::max(largest, pieces_.segment_bytes(s, false));
	size = std::max(capacity / 8, largest);
	if (2 * size > capacity)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "one segment of the query needs " + megabytes(largest) +
			", of which device memory must hold two; gpucol may use " + megabytes(capacity)};
	return size;
}

/*
 * Begin with what is resident, as far as there is room for it to stay so; the rest is
 * unpinned.  Bytes that stay.
 */
uint64_t
PartCutter::keep_resident(const std::vector<uint32_t> &segments, uint64_t room, std::vector<uint32_t> *rest)
{
	Part	   *part = begin();
	uint64_t	kept = 0;
	uint64_t	rows = 0;

	for (uint32_t s : segments)
	{
		uint64_t	missing = pieces_.segment_bytes(s, true);
		uint64_t	here = pieces_.segment_bytes(s, false) - missing;

		if (missing > 0 || kept + here > room)
		{
			pieces_.unpin(share_.device(), {s});
			rest->push_back(s);
			continue;
		}
		if (rows + run_.segment(s).nrows > MAX_PART_ROWS)
		{
			part = begin();
			rows = 0;
		}
		kept += here;
		rows += run_.segment(s).nrows;
		part->segments.push_back(s);
	}
	return kept;
}

/* Cut what is loaded in parts of `size` bytes at most. */
void
PartCutter::cut_rest(const std::vector<uint32_t> &rest, uint64_t size)
{
	Part	   *part = parts_.back().get();
	uint64_t	rows = 0;
	uint64_t	bytes = 0;

	for (uint32_t s : rest)
	{
		uint64_t	more = pieces_.segment_bytes(s, true);

		/* not together with what is resident, if anything is */
		if (!part->segments.empty() &&
			(part->missing == 0 || bytes + more > size || rows + run_.segment(s).nrows > MAX_PART_ROWS))
		{
			part = begin();
			rows = bytes = 0;
		}
		part->segments.push_back(s);
		part->missing++;		/* counted anew by list_missing */
		bytes += more;
		rows += run_.segment(s).nrows;
	}
}

void
PartCutter::cut(const std::vector<uint32_t> &segments, uint64_t capacity)
{
	uint64_t	size = part_size(segments, capacity);
	std::vector<uint32_t> rest;
	uint64_t	room;

	share_.ahead = 3 * size <= capacity ? 2 : 1;
	room = capacity - (share_.ahead + 1) * size;
	room -= keep_resident(segments, room, &rest);
	share_.keep = run_.may_keep() ? room : 0;
	cut_rest(rest, size);
}

} /* namespace */

/* Are segments of a device one part? */
bool
Deal::is_one_part(Device &device, const Extent &extent) const
{
	return extent.bytes <= capacity_of(device) && extent.rows + run_.head().delta_rows <= MAX_PART_ROWS;
}

/* Cut a device's segments in parts that its memory holds; of a prefetch, take what it holds. */
void
Deal::make_parts(uint32_t number, std::vector<uint32_t> &segments, const Extent &extent)
{
	Device	   &device = shares_[number]->device();
	uint64_t	capacity = capacity_of(device);

	if (run_.prefetch() && extent.bytes > capacity)
	{
		uint64_t	bytes = 0;
		size_t		n = 0;

		while (n < segments.size() && (bytes += pieces_.segment_bytes(segments[n], false)) <= capacity)
			n++;
		for (size_t i = n; i < segments.size(); i++)
			part_of_[segments[i]] = UINT32_MAX;
		segments.resize(n);
	}
	else if (!is_one_part(device, extent))
	{
		PartCutter(run_, pieces_, *shares_[number], number, parts_).cut(segments, capacity);
		return;
	}
	parts_.emplace_back(new Part());
	parts_.back()->share = number;
	parts_.back()->segments = segments;
}
