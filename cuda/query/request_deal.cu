/*-------------------------------------------------------------------------
 *
 * request_deal.cu
 *	  The plan of a request: which device computes which segments, in which parts, and
 *	  what the client must send for them.
 *
 * Segments go where they are resident, else to the device of their turn.  What a device
 * was dealt is one part where it fits, and else several, of which one is loaded while
 * others compute (request.cuh).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/request.cuh"

#include <algorithm>

uint64_t	request_window = 0;

/* Rows beyond this are left to another part. */
static const uint64_t MAX_PART_ROWS = (uint64_t) 1 << 31;

void
Request::unpin_all()
{
	for (PieceSet *set : pinned_)
		if (set != NULL)
			set->unpin();
	if (!pinned_.empty())
		std::fill(resident_.begin(), resident_.end(), (Resident *) NULL);
	pinned_.clear();
	for (Resident *&piece : resident_)
	{
		if (piece != NULL)
			piece->home->unpin(&piece, 1);
		piece = NULL;
	}
}

/* Bytes of pieces that a request may have on a device. */
static uint64_t
capacity_of(Device &device)
{
	uint64_t	limit = device.pool.unlent();

	return request_window > 0 ? request_window : limit - limit / 8;
}

/* Are segments of a device one part? */
bool
Request::is_one_part(Device &device, const Extent &extent) const
{
	return extent.bytes <= capacity_of(device) && extent.rows + run_.delta_rows <= MAX_PART_ROWS;
}

/* Pin what the list's last request found, if all of it is still there and one part a device. */
bool
Request::recall()
{
	if (list_->on.size() != devices.size())
		return false;
	for (size_t d = 0; d < devices.size(); d++)
	{
		if (!is_one_part(*devices[d], list_->extents[d]) || !list_->on[d]->pin())
		{
			unpin_all();
			return false;
		}
		pinned_.push_back(list_->on[d].get());
	}
	resident_ = list_->resident;
	return true;
}

/* Everything was found: tell the list where, and how it was dealt. */
void
Request::remember(const std::vector<uint64_t> &generations, const std::vector<std::vector<uint32_t>> &dealt)
{
	std::vector<std::vector<Resident *>> on(devices.size());

	for (Resident *piece : resident_)
		if (piece != NULL)
			on[piece->home->device()].push_back(piece);
	list_->resident = resident_;
	list_->on.clear();
	for (size_t d = 0; d < devices.size(); d++)
		list_->on.emplace_back(new PieceSet(devices[d]->cache, std::move(on[d]), generations[d]));
	list_->dealt = dealt;
	list_->extents.clear();
	for (const std::vector<uint32_t> &segments : dealt)
		list_->extents.push_back(measure(segments));
	list_->prepared.clear();
}

/*
 * Deal the segments to the devices, or to the first, and pin what is resident
 * there.  A segment goes where its first column is, else to the device of its turn.
 */
void
Request::look_up(std::vector<std::vector<uint32_t>> *dealt, bool one_device)
{
	size_t		n = devices.size();
	std::vector<ChunkKey> keys(pieces());

	for (uint32_t s = 0; s < run_.nsegments; s++)
	{
		uint32_t	d = one_device ? 0 : (run_.turn + s) % n;

		for (uint32_t i = 0; i < pieces(); i++)
			keys[i] = key(s, i);
		if (n > 1 && !one_device && may_keep() && run_.ncolumns > 0 && !devices[d]->cache.has(keys[0]))
			for (uint32_t e = 0; e < n; e++)
				if (devices[e]->cache.has(keys[0]))
					d = e;
		if (may_keep() && pieces() > 0)
			devices[d]->cache.find(keys.data(), pieces(), &resident_[piece(s, 0)]);
		check_found(s);
		(*dealt)[d].push_back(s);
	}
}

/* Cut what each device was dealt in parts; there is one share at least. */
void
Request::make_shares(std::vector<std::vector<uint32_t>> &dealt, bool recalled)
{
	for (size_t d = 0; d < devices.size(); d++)
	{
		if (dealt[d].empty() && (d + 1 < devices.size() || !shares_.empty()))
			continue;

		std::unique_ptr<Share> share(new Share());

		share->lane = client_.lane(*devices[d]);
		share->objects.reset(new Scratch(*devices[d], run_.memory_limit));
		shares_.push_back(std::move(share));
		make_parts(shares_.size() - 1, dealt[d], recalled ? list_->extents[d] : measure(dealt[d]));
	}
	for (auto &part : parts_)
		if (part->share == 0)
		{
			part->delta = true;
			break;
		}
}

/* Deal the segments, and cut what each device has in parts. */
void
Request::deal()
{
	const char *reason = obstacle();
	bool		one_device = reason != NULL && !prefetch();
	std::vector<std::vector<uint32_t>> dealt(devices.size());
	std::vector<uint64_t> generations;
	bool		any_device = !one_device || devices.size() == 1;
	bool		recalled = any_device && recall();

	for (Device *device : devices)
		generations.push_back(device->cache.generation());
	if (recalled)
		dealt = list_->dealt;
	else
		look_up(&dealt, one_device);
	make_shares(dealt, recalled);
	if (reason != NULL && parts_.size() > 1 && !prefetch())
		throw Failure{GPUCOL_UNSUPPORTED, reason};
	for (auto &share : shares_)
		if (!alone())
			share->lane->start();
	if (!recalled)
		list_missing();
	found_ = any_device && parts_.size() == shares_.size() && may_keep() && missing_.empty() && !prefetch();
	if (found_ && !recalled)
		remember(generations, dealt);
}

/* Back to before deal(); nothing may be pinned. */
void
Request::forget_deal()
{
	resident_.assign((size_t) run_.nsegments * pieces(), NULL);
	part_of_.assign(run_.nsegments, 0);
	missing_.clear();
	parts_.clear();
	shares_.clear();
}

/* What the request is going to load on its devices, as they have been dealt. */
std::vector<Need>
Request::needs() const
{
	std::vector<Need> needs;

	for (auto &share : shares_)
	{
		Device	   &device = share->lane->device();
		uint64_t	limit = device.pool.unlent();

		needs.push_back({&device, limit - limit / 8, 0, 0});
	}
	for (auto &part : parts_)
		for (uint32_t s : part->segments)
		{
			uint64_t	missing = segment_bytes(s, true);

			needs[part->share].missing += missing;
			needs[part->share].pinned += segment_bytes(s, false) - missing;
		}
	for (Need &need : needs)	/* one that is larger is computed in parts */
		need.missing = std::min(need.missing, need.capacity - std::min(need.capacity, need.pinned));
	return needs;
}

/* Deal the segments, with memory for what is missing; until there is, wait. */
void
Request::deal_or_wait()
{
	deal();
	if (missing_.empty())
		return;
	while (!claim_.take(needs()))
	{
		unpin_all();
		forget_deal();
		claim_.await(client_.look);
		deal();
	}
}

static std::string
megabytes(uint64_t bytes)
{
	return std::to_string((bytes >> 20) + 1) + " MB";
}

Extent
Request::measure(const std::vector<uint32_t> &segments) const
{
	Extent		extent = {0, 0};

	for (uint32_t s : segments)
	{
		extent.bytes += segment_bytes(s, false);
		extent.rows += segment(s).nrows;
	}
	return extent;
}

Part *
Request::begin_part(uint32_t share)
{
	parts_.emplace_back(new Part());
	parts_.back()->share = share;
	return parts_.back().get();
}

/* Cut a device's segments in parts that its memory holds. */
void
Request::make_parts(uint32_t number, std::vector<uint32_t> &segments, const Extent &extent)
{
	Device	   &device = shares_[number]->lane->device();
	uint64_t	capacity = capacity_of(device);

	if (prefetch() && extent.bytes > capacity)
		limit_prefetch(segments, capacity);
	else if (!is_one_part(device, extent))
	{
		stream_parts(number, segments, capacity);
		return;
	}
	begin_part(number)->segments = segments;
}

/* Of a table that is larger than the device, load what it holds. */
void
Request::limit_prefetch(std::vector<uint32_t> &segments, uint64_t capacity)
{
	uint64_t	bytes = 0;
	size_t		n = 0;

	while (n < segments.size() && (bytes += segment_bytes(segments[n], false)) <= capacity)
		n++;
	for (size_t i = n; i < segments.size(); i++)
		part_of_[segments[i]] = UINT32_MAX;
	segments.resize(n);
}

/* Bytes of each part of a share that is larger than its device: twice as many must fit. */
uint64_t
Request::streamed_size(const std::vector<uint32_t> &segments, uint64_t capacity) const
{
	uint64_t	largest = 0;
	uint64_t	size;

	for (uint32_t s : segments)
		largest = std::max(largest, segment_bytes(s, false));
	size = std::max(capacity / 8, largest);
	if (2 * size > capacity)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "one segment of the query needs " + megabytes(largest) +
			", of which device memory must hold two; gpucol may use " + megabytes(capacity)};
	return size;
}

/*
 * Begin a share's parts with what is resident, as far as there is room for it to stay so;
 * the rest is unpinned.  Bytes that stay.
 */
uint64_t
Request::keep_resident(uint32_t number, const std::vector<uint32_t> &segments, uint64_t room,
					   std::vector<uint32_t> *rest)
{
	ColumnCache &cache = shares_[number]->lane->device().cache;
	Part	   *part = begin_part(number);
	uint64_t	kept = 0;
	uint64_t	rows = 0;

	for (uint32_t s : segments)
	{
		uint64_t	missing = segment_bytes(s, true);
		uint64_t	here = segment_bytes(s, false) - missing;

		if (missing > 0 || kept + here > room)
		{
			cache.unpin(&resident_[piece(s, 0)], pieces());
			std::fill_n(resident_.begin() + piece(s, 0), pieces(), (Resident *) NULL);
			rest->push_back(s);
			continue;
		}
		if (rows + segment(s).nrows > MAX_PART_ROWS)
		{
			part = begin_part(number);
			rows = 0;
		}
		kept += here;
		rows += segment(s).nrows;
		part->segments.push_back(s);
	}
	return kept;
}

/* Cut what is loaded for a share in parts of `size` bytes at most. */
void
Request::cut_rest(uint32_t number, const std::vector<uint32_t> &rest, uint64_t size)
{
	Part	   *part = parts_.back().get();
	uint64_t	rows = 0;
	uint64_t	bytes = 0;

	for (uint32_t s : rest)
	{
		uint64_t	more = segment_bytes(s, true);

		/* not together with what is resident, if anything is */
		if (!part->segments.empty() &&
			(part->missing == 0 || bytes + more > size || rows + segment(s).nrows > MAX_PART_ROWS))
		{
			part = begin_part(number);
			rows = bytes = 0;
		}
		part->segments.push_back(s);
		part->missing++;		/* counted anew by list_missing */
		bytes += more;
		rows += segment(s).nrows;
	}
}

/*
 * Parts of a share that is larger than its device (or has too many rows for one
 * part).  Three parts must fit beside what stays resident: one that computes, one
 * that waits, one that is loaded; or two, where three do not.
 */
void
Request::stream_parts(uint32_t number, const std::vector<uint32_t> &segments, uint64_t capacity)
{
	Share	   &share = *shares_[number];
	uint64_t	size = streamed_size(segments, capacity);
	std::vector<uint32_t> rest;
	uint64_t	room;

	share.ahead = 3 * size <= capacity ? 2 : 1;
	room = capacity - (share.ahead + 1) * size;
	room -= keep_resident(number, segments, room, &rest);
	share.keep = may_keep() ? room : 0;
	cut_rest(number, rest, size);
}

/* What the client must send, by segment. */
void
Request::list_missing()
{
	for (size_t i = 0; i < parts_.size(); i++)
	{
		parts_[i]->missing = 0;
		for (uint32_t s : parts_[i]->segments)
			part_of_[s] = i;
	}
	for (uint32_t s = 0; s < run_.nsegments; s++)
		for (uint32_t i = 0; i < pieces() && part_of_[s] != UINT32_MAX; i++)
			if (is_missing(s, i))
			{
				missing_.push_back(describe(s, i));
				parts_[part_of_[s]]->missing++;
			}
}
