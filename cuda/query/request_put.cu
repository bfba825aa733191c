/*-------------------------------------------------------------------------
 *
 * request_put.cu
 *	  What a client sends for a request: the pieces that are not resident, and objects.
 *
 * What lies in its slab a client may change while it is looked at: what is checked here is
 * a copy, and that copy is what the device gets.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/request.cuh"

#include <algorithm>
#include <cstring>

#include "cuda/query/chunk_check.h"
#include "cuda/scan/load.cuh"

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

/* Bytes of a chunk's streams before this one. */
static uint64_t
offset_of(const GpucolWireChunk &head, int stream)
{
	uint64_t	offset = 0;

	for (int k = 0; k < stream; k++)
		if (head.present >> k & 1)
			offset += (uint64_t) head.desc.streams[k].nrows * GPUCOL_ROW_BYTES;
	return offset;
}

/* Where a stream of a chunk lies in its memory; NULL: there is none. */
template <class T> static const T *
stream_of(const GpucolWireChunk &head, const void *memory, int stream)
{
	return head.present >> stream & 1 ? (const T *) ((const char *) memory + offset_of(head, stream)) : NULL;
}

/* The head of a chunk is here: make room for its streams. */
void
Request::begin_chunk(Incoming &in, uint32_t segment, uint32_t slot)
{
	Share	   &share = *shares_[parts_[part_of_[segment]]->share];
	uint64_t	bytes = in.total - sizeof(GpucolWireChunk);

	require(gpucol_chunk_check_head(in.head, this->segment(segment).nrows, in.total));
	if (bytes > piece_bytes(segment, slot))
		throw malformed("a chunk larger than was told");
	static_assert(GPUCOL_STREAM_DICT == GPUCOL_STREAM_ZONES + 1, "what the host keeps lies together");
	in.kept_from = offset_of(in.head, GPUCOL_STREAM_ZONES);
	in.kept_to = offset_of(in.head, GPUCOL_STREAM_DICT + 1);
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
		begin_chunk(in, put.a, put.b);
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

/* A chunk as kernels see it, whose streams lie in `memory` one behind the other. */
static GpucolDeviceChunk
describe_chunk(const GpucolWireChunk &head, const void *memory)
{
	const GpucolChunkDesc &d = head.desc;
	GpucolDeviceChunk chunk = {};

	chunk.codes = stream_of<uint32_t>(head, memory, GPUCOL_STREAM_CODES);
	chunk.nulls = stream_of<uint32_t>(head, memory, GPUCOL_STREAM_NULLS);
	chunk.zones = stream_of<GpucolZone>(head, memory, GPUCOL_STREAM_ZONES);
	chunk.dict = stream_of<int64_t>(head, memory, GPUCOL_STREAM_DICT);
	chunk.width = d.width;
	chunk.coding = d.coding;
	chunk.kind = d.kind;
	chunk.scale = d.scale;
	chunk.reference = d.coding == GPUCOL_CODING_RAW ? 0 : d.reference;
	chunk.all_null = (d.flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	chunk.last_entry = d.ndict > 0 ? d.ndict - 1 : 0;
	return chunk;
}

/* Do vectors differ in their zones, so that looking at these is worth it? */
static bool
are_useful(const GpucolZone *zones, uint32_t nvectors, const GpucolZone &all)
{
	double		all_span = (double) all.max - (double) all.min;
	double		span = 0;

	for (uint32_t v = 0; v < nvectors; v++)
		if (zones[v].min <= zones[v].max)
			span += (double) zones[v].max - (double) zones[v].min;
	return all_span > 0 && span / nvectors < all_span / 2;
}

/* All of a chunk is here: check what the host has of it, and describe it to the kernels. */
void
Request::finish_chunk(Incoming &in, uint32_t segment, uint32_t slot)
{
	Share	   &share = *shares_[parts_[part_of_[segment]]->share];
	Resident   *r = in.resident;
	const GpucolChunkDesc &d = in.head.desc;
	uint32_t	nrows = this->segment(segment).nrows;
	const char *host = in.host.data();	/* ZONES, then DICT: the order of the streams */

	if (resident_[piece(segment, slot)] != NULL)
		throw malformed("a chunk that is resident already");
	r->desc = d;
	r->chunk = describe_chunk(in.head, r->memory);
	r->zones_useful = false;
	if (r->chunk.zones != NULL)
	{
		const GpucolZone *zones = (const GpucolZone *) host;

		require(gpucol_chunk_check_zones(d, zones, GPUCOL_VECTORS(nrows)));
		r->zones_useful = are_useful(zones, GPUCOL_VECTORS(nrows), d.zone);
		host += (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES;
	}
	if (r->chunk.dict != NULL)
	{
		require(gpucol_chunk_check_dict(d, (const int64_t *) host));
		r->dict.assign((const int64_t *) host, (const int64_t *) host + d.ndict);
	}
	if (!r->chunk.all_null && (d.coding == GPUCOL_CODING_RLE || d.coding == GPUCOL_CODING_STEP))
		expand_codes(share, r, stream_of<uint32_t>(in.head, r->memory, GPUCOL_STREAM_RUN_ENDS), nrows);
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

/* Part of an object: to the devices that need it. */
void
Request::put_object(Incoming &in, const GpucolWirePut &put, const char *data)
{
	uint32_t	only = put.kind == GPUCOL_PUT_HOST || put.kind == GPUCOL_PUT_ORDER ? UINT32_MAX : 0;

	if (put.kind != GPUCOL_PUT_DELTA_NULLS && put.kind != GPUCOL_PUT_ORDER)
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

	if (put.kind < GPUCOL_PUT_CHUNK || put.kind > GPUCOL_PUT_ORDER ||
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
