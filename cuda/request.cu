/*-------------------------------------------------------------------------
 *
 * request.cu
 *	  One request: its program, its parts, and what the client sends for it.
 *
 * Everything in a message is checked before it is used: a client is trusted
 * with its data (only the server's own user reaches the socket) but not to be
 * free of errors.  What lies in its slab it may change while it is looked at: what is
 * checked is a copy, and that copy is what the device gets.
 *
 *-------------------------------------------------------------------------
 */
#include "request.cuh"

#include <algorithm>
#include <cstring>

#include "chunk_check.h"
#include "load.cuh"

uint64_t	request_window = 0;

static Failure
malformed(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, std::string("malformed request: ") + what};
}

/* Does an array of n elements of `size` bytes at `offset` lie in the program? */
static bool
inside(const GpucolProgram *p, uint32_t offset, uint64_t n, size_t size, size_t align)
{
	return offset % align == 0 && offset <= p->size && n * size <= p->size - offset;
}

Request::Request(const char *payload, size_t length, SegmentLists &lists, Client client)
	: client_(std::move(client))
{
	size_t		program_words;
	size_t		shape_size;

	if (length < sizeof(run_))
		throw malformed("too short");
	memcpy(&run_, payload, sizeof(run_));
	payload += sizeof(run_);
	length -= sizeof(run_);
	program_words = ((size_t) run_.program_size + 7) / 8;
	shape_size = run_.flags & GPUCOL_WIRE_RUN_SHAPE ? sizeof(GpucolRowShape) : 0;
	if (run_.nsegments > GPUCOL_WIRE_MAX_SEGMENTS || run_.ncolumns > 1600 ||
		length < program_words * 8 + shape_size)
		throw malformed("lengths do not add up");
	program_.resize(program_words);
	memcpy(program_.data(), payload, program_words * 8);
	memcpy(&shape_, payload + program_words * 8, shape_size);
	check_program();
	take_list(payload + program_words * 8 + shape_size, length - program_words * 8 - shape_size, lists);
	objects_left_ = run_.nobjects;
	forget_deal();
	try
	{
		deal_or_wait();
	}
	catch (...)
	{
		unpin_all();
		throw;
	}
}

/* The segments in a RUN's payload, checked. */
std::shared_ptr<SegmentList>
Request::read_list(const char *p) const
{
	auto		list = std::make_shared<SegmentList>();
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);

	memcpy(list->storage, run_.storage, sizeof(list->storage));
	for (uint32_t c = 0; c < run_.ncolumns; c++)
		list->attnums.push_back(columns[c].attnum);
	list->segments.resize(run_.nsegments);
	memcpy(list->segments.data(), p, run_.nsegments * sizeof(GpucolWireSegment));
	p += run_.nsegments * sizeof(GpucolWireSegment);
	list->chunks.resize((size_t) run_.nsegments * run_.ncolumns);
	memcpy(list->chunks.data(), p, list->chunks.size() * sizeof(GpucolWireColumnChunk));
	for (const GpucolWireSegment &s : list->segments)
	{
		if (s.nrows == 0 || s.nrows > GPUCOL_MAX_SEGMENT_ROWS || s.ndeleted > s.nrows ||
			(s.ndeleted > 0) != (s.deleted != 0))
			throw malformed("rows of a segment");
		list->deleted |= s.deleted != 0;
	}
	for (const GpucolWireColumnChunk &c : list->chunks)
	{
		if ((c.nentries > 0) != (c.remap != 0) || c.nentries > GPUCOL_MAX_SEGMENT_ROWS)
			throw malformed("numbers of a dictionary");
		list->remaps |= c.remap != 0;
	}
	return list;
}

/* The segments, from the payload or from the session's lists. */
void
Request::take_list(const char *payload, size_t length, SegmentLists &lists)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);
	bool		listed = run_.flags & GPUCOL_WIRE_RUN_LIST;
	bool		keep = run_.flags & GPUCOL_WIRE_RUN_KEEP;
	size_t		nchunks = (size_t) run_.nsegments * run_.ncolumns;

	if (((listed || keep) && run_.list >= GPUCOL_WIRE_LISTS) ||
		(keep && nchunks + run_.nsegments > GPUCOL_WIRE_LIST_CHUNKS) ||
		length != (listed ? 0 : run_.nsegments * sizeof(GpucolWireSegment) + nchunks * sizeof(GpucolWireColumnChunk)))
		throw malformed("lengths do not add up");
	list_ = listed ? lists[run_.list] : read_list(payload);
	if (list_ == NULL || list_->segments.size() != run_.nsegments || list_->attnums.size() != run_.ncolumns ||
		memcmp(list_->storage, run_.storage, sizeof(run_.storage)) != 0)
		throw malformed("a list of other segments");
	for (uint32_t c = 0; c < run_.ncolumns; c++)
		if (list_->attnums[c] != columns[c].attnum)
			throw malformed("a list of other columns");
	if (keep)
		lists[run_.list] = list_;
}

Request::~Request()
{
	std::unique_lock<std::mutex> lock(mutex_);

	cancelled_ = true;
	done_.wait(lock, [this] {
		for (auto &part : parts_)
			if (part->submitted && !part->done && !alone())
				return false;
		return true;
	});
	lock.unlock();
	unpin_all();
	for (auto &i : loading_)
		if (i.second.resident != NULL)
		{
			i.second.owner->pool.release(i.second.resident->memory);
			delete i.second.resident;
		}
}

/* ---- the plan ---- */

/* Rows beyond this are left to another part. */
static const uint64_t MAX_PART_ROWS = (uint64_t) 1 << 31;

/* The number of a piece within its segment. */
uint32_t
Request::piece_of(const GpucolWirePut &put) const
{
	if (put.kind == GPUCOL_PUT_CHUNK)
		return put.b;
	if (put.kind == GPUCOL_PUT_REMAP && list_->remaps)
		return run_.ncolumns + put.b;
	if (put.kind == GPUCOL_PUT_DELETED && list_->deleted)
		return pieces() - 1;
	throw malformed("object of a PUT");
}

GpucolWireNeed
Request::describe(uint32_t s, uint32_t number) const
{
	if (number < run_.ncolumns)
		return {s, (uint16_t) number, GPUCOL_PUT_CHUNK};
	if (list_->remaps && number < 2 * run_.ncolumns)
		return {s, (uint16_t) (number - run_.ncolumns), GPUCOL_PUT_REMAP};
	return {s, 0, GPUCOL_PUT_DELETED};
}

/* Device memory of a piece, at most; 0 = there is no such piece. */
uint64_t
Request::piece_bytes(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);

	if (need.kind == GPUCOL_PUT_CHUNK)
		return ((uint64_t) told(s, need.slot).nrows + 4) * GPUCOL_ROW_BYTES;
	if (need.kind == GPUCOL_PUT_REMAP)
		return (uint64_t) told(s, need.slot).nentries * sizeof(uint32_t);
	return segment(s).deleted != 0 ? (uint64_t) GPUCOL_VECTORS(segment(s).nrows) * GPUCOL_ROW_BYTES : 0;
}

/* Rows, or entries, that a piece has. */
uint32_t
Request::piece_rows(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);

	return need.kind == GPUCOL_PUT_REMAP ? told(s, need.slot).nentries : segment(s).nrows;
}

/* Are a segment's pieces that were found as large as the client says? */
void
Request::check_found(uint32_t s) const
{
	for (uint32_t i = 0; i < pieces(); i++)
		if (resident_[piece(s, i)] != NULL && resident_[piece(s, i)]->nrows != piece_rows(s, i))
			throw malformed("a resident piece of another size");
}

bool
Request::is_missing(uint32_t s, uint32_t number) const
{
	return resident_[piece(s, number)] == NULL && piece_bytes(s, number) > 0;
}

ChunkKey
Request::key(uint32_t s, uint32_t number) const
{
	GpucolWireNeed need = describe(s, number);
	uint64_t	identity = need.kind == GPUCOL_PUT_CHUNK ? told(s, need.slot).identity :
		need.kind == GPUCOL_PUT_REMAP ? told(s, need.slot).remap : segment(s).deleted;

	return {{run_.storage[0], run_.storage[1]}, segment(s).id,
		need.kind == GPUCOL_PUT_DELETED ? 0 : list_->attnums[need.slot], need.kind, identity};
}

const Resident *
Request::remap(uint32_t s, uint32_t slot) const
{
	return list_->remaps ? resident_[piece(s, run_.ncolumns + slot)] : NULL;
}

const Resident *
Request::deleted(uint32_t s) const
{
	return list_->deleted ? resident_[piece(s, pieces() - 1)] : NULL;
}

/* Device memory of a segment's pieces, of all or of those that are missing. */
uint64_t
Request::segment_bytes(uint32_t s, bool missing) const
{
	uint64_t	bytes = 0;

	for (uint32_t i = 0; i < pieces(); i++)
		if (!missing || resident_[piece(s, i)] == NULL)
			bytes += piece_bytes(s, i);
	return bytes;
}

/* Why the request has to be computed at once on one device; NULL if not. */
const char *
Request::obstacle() const
{
	if (shape() != NULL && shape()->kind == GPUCOL_SHAPE_RANKED)
		return "a ranking over more than device memory holds at once";
	return gpucol_partial_obstacle(program());
}

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
	parts_.emplace_back(new Part());
	parts_.back()->share = number;
	parts_.back()->segments = segments;
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

/*
 * Parts of a share that is larger than its device (or has too many rows for one
 * part).  Three parts must fit beside what stays resident: one that computes, one
 * that waits, one that is loaded.
 */
void
Request::stream_parts(uint32_t number, std::vector<uint32_t> &segments, uint64_t capacity)
{
	Share	   &share = *shares_[number];
	uint64_t	largest = 0,
				pinned = 0,
				rows = 0,
				bytes = 0;
	uint64_t	size = capacity / 8;
	std::vector<uint32_t> rest;
	Part	   *part = NULL;
	auto		begin = [&] {
		parts_.emplace_back(new Part());
		part = parts_.back().get();
		part->share = number;
		rows = bytes = 0;
	};

	for (uint32_t s : segments)
		largest = std::max(largest, segment_bytes(s, false));
	size = std::max(size, largest);
	if (2 * size > capacity)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "one segment of the query needs " + megabytes(largest) +
			", of which device memory must hold two; gpucol may use " + megabytes(capacity)};
	share.ahead = 3 * size <= capacity ? 2 : 1;

	/* what is resident and may stay so comes first */
	begin();
	for (uint32_t s : segments)
	{
		uint64_t	here = segment_bytes(s, false) - segment_bytes(s, true);
		bool		all = segment_bytes(s, true) == 0;

		if (!all || pinned + here + (share.ahead + 1) * size > capacity)
		{
			share.lane->device().cache.unpin(&resident_[piece(s, 0)], pieces());
			std::fill_n(resident_.begin() + piece(s, 0), pieces(), (Resident *) NULL);
			rest.push_back(s);
			continue;
		}
		if (rows + segment(s).nrows > MAX_PART_ROWS)
			begin();
		pinned += here;
		rows += segment(s).nrows;
		part->segments.push_back(s);
	}
	share.keep = may_keep() && capacity > pinned + (share.ahead + 1) * size ?
		capacity - pinned - (share.ahead + 1) * size : 0;
	for (uint32_t s : rest)
	{
		uint64_t	here = segment_bytes(s, true);

		if (part->segments.empty() ? false :
			part->missing > 0 ? bytes + here > size || rows + segment(s).nrows > MAX_PART_ROWS : true)
			begin();
		part->segments.push_back(s);
		part->missing++;		/* counted anew by list_missing */
		bytes += here;
		rows += segment(s).nrows;
	}
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

/* ---- parts at work ---- */

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

/* ---- the program ---- */

/* Power of ten beyond which no decimal but 0 fits: kernels multiply one by one. */
static const int MOST_POWER = 64;

/* Check every number of the program that later code relies on. */
void
Request::check_program()
{
	const GpucolProgram *p = program();

	if (run_.program_size < sizeof(GpucolProgram) || p->magic != GPUCOL_PROGRAM_MAGIC ||
		p->version != GPUCOL_PROGRAM_VERSION || p->size != run_.program_size ||
		p->ncolumns != run_.ncolumns)
		throw malformed("not a program");
	if (p->kind != GPUCOL_PROGRAM_SCAN && p->kind != GPUCOL_PROGRAM_AGG)
		throw Failure{GPUCOL_UNSUPPORTED, "the kind of program is not known to the device"};
	if (!inside(p, p->columns, p->ncolumns, sizeof(GpucolProgramColumn), 4) ||
		!inside(p, p->consts, p->nconsts, sizeof(GpucolConst), 8) ||
		!inside(p, p->ranges, p->nranges, sizeof(GpucolRange), 4) ||
		!inside(p, p->instrs, p->ninstrs, sizeof(GpucolInstr), 4) ||
		!inside(p, p->reg_classes, p->nregs, 1, 1) ||
		!inside(p, p->keys, p->nkeys, 2, 2) ||
		!inside(p, p->aggs, p->naggs, sizeof(GpucolAgg), 2) ||
		p->nfilter_instrs > p->ninstrs ||
		(p->filter != GPUCOL_NO_REG && p->filter >= p->nregs))
		throw malformed("program arrays");
	if (p->nregs > GPUCOL_MAX_REGS)
		throw Failure{GPUCOL_UNSUPPORTED, "the expressions need more registers than the device has"};

	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *range = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	const GpucolAgg *agg = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);
	const uint16_t *key = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);

	for (int i = 0; i < p->ninstrs; i++)
	{
		int			op = in[i].op;

		if (op >= GPUCOL_OP_COUNT || in[i].dst >= p->nregs ||
			(in[i].mask != GPUCOL_NO_REG && in[i].mask >= p->nregs) ||
			((gpucol_operands(op) & 1) && in[i].a >= p->nregs) ||
			((gpucol_operands(op) & 2) && in[i].b >= p->nregs) ||
			((gpucol_operands(op) & 4) && in[i].c >= p->nregs))
			throw malformed("register of an instruction");
		if ((op <= GPUCOL_OP_LOAD_S && (in[i].aux < 0 || in[i].aux >= p->ncolumns)) ||
			(op >= GPUCOL_OP_CONST_I && op <= GPUCOL_OP_CONST_B &&
			 (in[i].aux < 0 || in[i].aux >= p->nconsts)) ||
			(op == GPUCOL_OP_IN_I && in[i].b + in[i].c > p->nconsts) ||
			((op == GPUCOL_OP_RESCALE_D || op == GPUCOL_OP_I_TO_D) && in[i].aux > MOST_POWER) ||
			(op == GPUCOL_OP_HOST_TEST && (in[i].aux < 0 || in[i].aux >= GPUCOL_WIRE_MAX_HOST)))
			throw malformed("operand of an instruction");
	}
	for (int i = 0; i < p->nranges; i++)
		if (range[i].column >= p->ncolumns ||
			((range[i].op == GPUCOL_RANGE_BETWEEN || range[i].op == GPUCOL_RANGE_NOT_BETWEEN) &&
			 ((range[i].lo != GPUCOL_NO_REG && range[i].lo >= p->nconsts) ||
			  (range[i].hi != GPUCOL_NO_REG && range[i].hi >= p->nconsts))) ||
			((range[i].op == GPUCOL_RANGE_IN || range[i].op == GPUCOL_RANGE_NOT_IN) && range[i].n > 0 &&
			 (range[i].lo == GPUCOL_NO_REG || (uint64_t) range[i].lo + range[i].n > p->nconsts)) ||
			(range[i].op == GPUCOL_RANGE_HOST && range[i].n >= GPUCOL_WIRE_MAX_HOST))
			throw malformed("range");
	for (int i = 0; i < p->nkeys; i++)
		if (key[i] >= p->nregs)
			throw malformed("key");
	for (int i = 0; i < p->naggs; i++)
		if ((agg[i].arg != GPUCOL_NO_REG && agg[i].arg >= p->nregs) ||
			(agg[i].arg == GPUCOL_NO_REG && agg[i].op != GPUCOL_AGG_COUNT_STAR) ||
			(agg[i].filter != GPUCOL_NO_REG && agg[i].filter >= p->nregs))
			throw malformed("aggregate");
}

Incoming *
Request::object(uint32_t kind, uint32_t a, uint32_t b)
{
	auto		at = incoming_.find({kind, (uint64_t) a << 32 | b});

	return at == incoming_.end() || at->second.received < at->second.total ? NULL : &at->second;
}

/* Throw if a check has found something wrong. */
static void
require(const char *wrong)
{
	if (wrong != NULL)
		throw malformed(wrong);
}

/* Copy to the device, behind what was copied before. */
static void
copy_to_device(Lane &lane, void *to, const void *from, size_t n)
{
	if (n > 0)
		device_check(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, lane.load_stream()), "could not copy to the device");
}

/*
 * What came, as the host keeps it.  The client may write to its slab meanwhile: so what is
 * looked at here goes to the device from here, and not from the slab once more.
 */
static const char *
keep(Incoming &in, const char *data, size_t n)
{
	in.host.insert(in.host.end(), data, data + n);
	return in.host.data() + in.host.size() - n;
}

/* The head of a chunk is here: make room for its streams. */
void
Request::begin_chunk(Incoming &in, uint32_t segment)
{
	Share	   &share = *shares_[parts_[part_of_[segment]]->share];
	uint64_t	bytes = in.total - sizeof(GpucolWireChunk);
	uint64_t	start = 0;

	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (in.head.present >> k & 1)
		{
			uint64_t	end = start + (uint64_t) in.head.desc.streams[k].nrows * GPUCOL_ROW_BYTES;

			/* the two follow each other */
			if (k == GPUCOL_STREAM_ZONES || k == GPUCOL_STREAM_DICT)
			{
				in.kept_from = in.kept_to == 0 ? start : in.kept_from;
				in.kept_to = end;
			}
			start = end;
		}
	in.resident = new Resident();
	in.resident->bytes = bytes;
	in.owner = &share.lane->device();
	in.resident->home = &in.owner->cache;
	in.resident->memory = chunk_memory(share, bytes);
}

/* Take n bytes of a chunk's streams, at this place in them. */
void
Request::put_streams(Incoming &in, uint64_t at, const char *data, uint64_t n, Lane &lane)
{
	char	   *memory = (char *) in.resident->memory;
	uint64_t	end = at + n;
	uint64_t	from = std::min(std::max(at, in.kept_from), end);
	uint64_t	to = std::min(std::max(at, in.kept_to), end);

	copy_to_device(lane, memory + at, data, from - at);
	copy_to_device(lane, memory + to, data + (to - at), end - to);
	if (from < to)
		copy_to_device(lane, memory + from, keep(in, data + (from - at), to - from), to - from);
}

void
Request::put_chunk(Incoming &in, const GpucolWirePut &put, const char *data)
{
	uint64_t	offset = put.offset,
				length = put.length;

	if (offset < sizeof(GpucolWireChunk))
	{
		uint64_t	n = sizeof(GpucolWireChunk) - offset < length ? sizeof(GpucolWireChunk) - offset : length;

		memcpy((char *) &in.head + offset, data, n);
		data += n;
		offset += n;
		length -= n;
		if (offset < sizeof(GpucolWireChunk))
			return;
		require(gpucol_chunk_check_head(in.head, segment(put.a).nrows, in.total));
		begin_chunk(in, put.a);
	}
	put_streams(in, offset - sizeof(GpucolWireChunk), data, length, *shares_[parts_[part_of_[put.a]]->share]->lane);
}

/* Bits of the distances that a checked chunk's codes of steps stand for. */
static int
step_width(const GpucolChunkDesc &d)
{
	uint64_t	last = d.width == 0 ? 0 : ~0ull >> (64 - d.width);
	int			bits = 0;

	for (last *= d.step; last != 0; last >>= 1)
		bits++;
	return bits;
}

/* Replace a chunk's runs or steps by a plain frame of reference. */
void
Request::expand_codes(Share &share, Resident *r, const uint32_t *ends, uint32_t nrows)
{
	cudaStream_t stream = share.lane->load_stream();
	GpucolChunkDesc &d = r->desc;
	uint32_t	nvectors = GPUCOL_VECTORS(nrows);
	bool		runs = d.coding == GPUCOL_CODING_RLE;
	int			width = runs ? d.width : step_width(d);
	size_t		codes = (size_t) nvectors * width * GPUCOL_ROW_BYTES;
	size_t		nulls = r->chunk.nulls ? (size_t) nvectors * GPUCOL_ROW_BYTES : 0;
	size_t		zones = r->chunk.zones ? (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES : 0;
	char	   *memory;

	memory = (char *) chunk_memory(share, codes + nulls + zones);
	if (width > 0)
		device_check(runs ? gpucol_load_expand_runs(r->chunk.codes, width, ends, d.nruns, nrows,
													(uint32_t *) memory, stream) :
					 gpucol_load_expand_steps(r->chunk.codes, d.width, d.step, width, nrows,
											  (uint32_t *) memory, stream), "could not expand codes");
	if (nulls)
		device_check(cudaMemcpyAsync(memory + codes, r->chunk.nulls, nulls, cudaMemcpyDeviceToDevice, stream), "copy");
	if (zones)
		device_check(cudaMemcpyAsync(memory + codes + nulls, r->chunk.zones, zones, cudaMemcpyDeviceToDevice, stream), "copy");
	device_check(cudaStreamSynchronize(stream), "could not expand codes");
	share.lane->device().pool.release(r->memory);
	r->memory = memory;
	r->bytes = codes + nulls + zones;
	r->chunk.codes = (const uint32_t *) memory;
	r->chunk.nulls = nulls ? (const uint32_t *) (memory + codes) : NULL;
	r->chunk.zones = zones ? (const GpucolZone *) (memory + codes + nulls) : NULL;
	r->chunk.width = (uint8_t) width;
	r->chunk.coding = GPUCOL_CODING_FOR;
	if (!runs)
	{
		d.coding = GPUCOL_CODING_FOR;
		d.width = (uint8_t) width;
		d.step = 0;
	}
}

/* All of a chunk is here: describe it to the kernels. */
void
Request::finish_chunk(Incoming &in, uint32_t segment, uint32_t slot)
{
	Share	   &share = *shares_[parts_[part_of_[segment]]->share];
	Resident   *r = in.resident;
	const GpucolChunkDesc &d = in.head.desc;
	size_t		i = piece(segment, slot);
	uint32_t	nrows = this->segment(segment).nrows;
	uint32_t	nvectors = GPUCOL_VECTORS(nrows);
	char	   *at[GPUCOL_STREAM_COUNT] = {NULL};
	char	   *p = (char *) r->memory;
	const char *host = in.host.data();

	if (resident_[i] != NULL)
		throw malformed("a chunk that is resident already");
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (in.head.present >> k & 1)
		{
			at[k] = p;
			p += (size_t) d.streams[k].nrows * GPUCOL_ROW_BYTES;
		}
	r->desc = d;
	r->chunk = GpucolDeviceChunk();
	r->chunk.codes = (const uint32_t *) at[GPUCOL_STREAM_CODES];
	r->chunk.nulls = (const uint32_t *) at[GPUCOL_STREAM_NULLS];
	r->chunk.zones = (const GpucolZone *) at[GPUCOL_STREAM_ZONES];
	r->chunk.width = d.width;
	r->chunk.coding = d.coding;
	r->chunk.kind = d.kind;
	r->chunk.scale = d.scale;
	r->chunk.reference = d.coding == GPUCOL_CODING_RAW ? 0 : d.reference;
	r->chunk.all_null = (d.flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	r->chunk.last_entry = d.ndict > 0 ? d.ndict - 1 : 0;
	r->zones_useful = false;

	/* in.host holds ZONES, then DICT: the order of the streams */
	if (at[GPUCOL_STREAM_ZONES] != NULL)
	{
		const GpucolZone *z = (const GpucolZone *) host;
		double		chunk_span = (double) d.zone.max - (double) d.zone.min,
					span = 0;

		require(gpucol_chunk_check_zones(d, z, nvectors));
		for (uint32_t v = 0; v < nvectors; v++)
			if (z[v].min <= z[v].max)
				span += (double) z[v].max - (double) z[v].min;
		r->zones_useful = chunk_span > 0 && span / nvectors < chunk_span / 2;
		host += (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES;
	}
	if (at[GPUCOL_STREAM_DICT] != NULL)
	{
		require(gpucol_chunk_check_dict(d, (const int64_t *) host));
		r->dict.assign((const int64_t *) host, (const int64_t *) host + d.ndict);
		r->chunk.dict = (const int64_t *) at[GPUCOL_STREAM_DICT];
	}
	if (!r->chunk.all_null && (d.coding == GPUCOL_CODING_RLE || d.coding == GPUCOL_CODING_STEP))
		expand_codes(share, r, (const uint32_t *) at[GPUCOL_STREAM_RUN_ENDS], nrows);
}

/* A bitmap or numbers: make room for them, and copy. */
void
Request::put_piece(Incoming &in, const GpucolWirePut &put, const char *data)
{
	Share	   &share = *shares_[parts_[part_of_[put.a]]->share];

	if (in.resident == NULL)
	{
		in.resident = new Resident();
		in.resident->bytes = in.total;
		in.owner = &share.lane->device();
		in.resident->home = &in.owner->cache;
		in.resident->memory = chunk_memory(share, in.total);
	}
	if (put.kind == GPUCOL_PUT_REMAP)
		data = keep(in, data, put.length);
	copy_to_device(*share.lane, (char *) in.resident->memory + put.offset, data, put.length);
}

/* All of a piece is here: make it resident. */
void
Request::finish_piece(Incoming &in, const GpucolWirePut &put)
{
	Part	   &part = *parts_[part_of_[put.a]];
	Share	   &share = *shares_[part.share];
	uint32_t	number = piece_of(put);
	Resident   *r = in.resident;
	bool		keep;

	if (put.kind == GPUCOL_PUT_CHUNK)
		finish_chunk(in, put.a, put.b);
	else if (put.kind == GPUCOL_PUT_REMAP)
	{
		const uint32_t *numbers = (const uint32_t *) in.host.data();

		r->numbers.assign(numbers, numbers + in.total / sizeof(uint32_t));
		r->most = *std::max_element(r->numbers.begin(), r->numbers.end());
	}
	r->key = key(put.a, number);
	r->nrows = piece_rows(put.a, number);
	keep = may_keep() && share.keep >= r->bytes;
	if (keep)
	{
		share.keep -= share.keep == UINT64_MAX ? 0 : r->bytes;
		r = r->home->add(r);
	}
	else
	{
		r->kept = false;
		r->pins = 1;
	}
	in.resident = NULL;			/* and no longer this one's, whatever is thrown */
	resident_[piece(put.a, number)] = r;
	part.missing--;
	come_++;
	if (keep)
		claim_.settle(share.lane->device(), piece_bytes(put.a, number));
	check_found(put.a);
}

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

/* Part of an object: to the devices that need it. */
void
Request::put_object(Incoming &in, const GpucolWirePut &put, const char *data)
{
	uint32_t	only = put.kind == GPUCOL_PUT_HOST ? UINT32_MAX : 0;

	if (put.kind != GPUCOL_PUT_DELTA_NULLS)
		data = keep(in, data, put.length);
	in.device.resize(shares_.size(), NULL);
	for (uint32_t i = 0; i < shares_.size(); i++)
	{
		Lane	   *lane = shares_[i]->lane;

		if (only != UINT32_MAX && i != only)
			continue;
		if (in.device[i] == NULL)
		{
			in.device[i] = shares_[i]->objects->array<char>(put.total, "what the query sends along");
			held_ += put.total;
		}
		device_check(cudaSetDevice(lane->device().ordinal), "could not use the device");
		copy_to_device(*lane, in.device[i] + put.offset, data, put.length);
		device_check(cudaStreamSynchronize(lane->load_stream()), "could not copy to the device");
	}
}

/* Is this the first part of something that was asked for? */
void
Request::check_put(const GpucolWirePut &put) const
{
	bool		by_segment = put.kind <= GPUCOL_PUT_REMAP;
	bool		by_slot = put.kind != GPUCOL_PUT_DELETED && put.kind != GPUCOL_PUT_HOST;

	if (put.kind < GPUCOL_PUT_CHUNK || put.kind > GPUCOL_PUT_DELTA_NULLS ||
		(by_segment && (put.a >= run_.nsegments || part_of_[put.a] >= parts_.size())) ||
		(by_slot && put.b >= run_.ncolumns) ||
		(put.kind == GPUCOL_PUT_HOST && put.a >= GPUCOL_WIRE_MAX_HOST) ||
		(!by_segment && objects_left_ == 0))
		throw malformed("object of a PUT");
	if (put.offset > 0)
		return;
	if (put.total == 0 || put.total > ((uint64_t) 1 << 40) ||
		(put.kind == GPUCOL_PUT_CHUNK && put.total < sizeof(GpucolWireChunk)) ||
		(by_segment && put.kind != GPUCOL_PUT_CHUNK && put.total != piece_bytes(put.a, piece_of(put))))
		throw malformed("size of a PUT");
	if (by_segment && (parts_[part_of_[put.a]]->submitted || !is_missing(put.a, piece_of(put))))
		throw malformed("a piece that nobody asked for");
}

void
Request::put(const GpucolWirePut &put, const char *data)
{
	bool		is_piece = put.kind <= GPUCOL_PUT_REMAP;

	check_put(put);

	Incoming   &in = is_piece ? loading_[piece(put.a, piece_of(put))] :
		incoming_[{put.kind, (uint64_t) put.a << 32 | (put.kind == GPUCOL_PUT_HOST ? 0 : put.b)}];

	if (put.offset == 0)
	{
		if (in.total != 0)
			throw malformed("an object sent twice");
		in.total = put.total;
		if (is_piece)
		{
			uint32_t	share = parts_[part_of_[put.a]]->share;
			std::unique_lock<std::mutex> lock(mutex_);

			wait_ahead(lock, share, shares_[share]->ahead + 1);
		}
	}
	if (put.offset != in.received || put.length > in.total - in.received || put.total != in.total)
		throw malformed("part of a PUT");
	if (failed_)
		throw failure();
	if (!is_piece)
		put_object(in, put, data);
	else
	{
		Lane	   *lane = shares_[parts_[part_of_[put.a]]->share]->lane;
		Settle		settle = {lane->load_stream()};

		device_check(cudaSetDevice(lane->device().ordinal), "could not use the device");
		if (put.kind == GPUCOL_PUT_CHUNK)
			put_chunk(in, put, data);
		else
			put_piece(in, put, data);
		device_check(cudaStreamSynchronize(lane->load_stream()), "could not copy to the device");
	}
	in.received += put.length;
	if (in.received < in.total)
		return;
	if (!is_piece)
		objects_left_--;
	else
	{
		finish_piece(in, put);
		loading_.erase(piece(put.a, piece_of(put)));
	}
	submit();
}
