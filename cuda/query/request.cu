/*-------------------------------------------------------------------------
 *
 * request.cu
 *	  One request: what its RUN says, and the pieces of its segments.
 *
 * Everything in a message is checked before it is used: a client is trusted
 * with its data (only the server's own user reaches the socket) but not to be
 * free of errors.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/request.cuh"

#include <algorithm>
#include <cstring>

#include "cuda/query/program_check.h"

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
	if (run_.nsegments > GPUCOL_WIRE_MAX_SEGMENTS || run_.ncolumns > 1600 || run_.flags > GPUCOL_WIRE_RUN_FLAGS ||
		length < program_words * 8 + shape_size)
		throw malformed("lengths do not add up");
	program_.resize(program_words);
	memcpy(program_.data(), payload, program_words * 8);
	memcpy(&shape_, payload + program_words * 8, shape_size);
	gpucol_program_check(program(), run_.program_size, run_.ncolumns);
	if (shape() != NULL)
		gpucol_shape_check(program(), shape());
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

/* ---- pieces ---- */

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
