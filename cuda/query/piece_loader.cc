/*-------------------------------------------------------------------------
 *
 * piece_loader.cc
 *	  Pieces that a client sends.
 *
 * What lies in its slab a client may change while it is looked at: what is checked here is
 * a copy, and that copy is what the device gets.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/piece_loader.cuh"

#include <algorithm>
#include <cstring>

#include "cuda/query/chunk_check.h"
#include "cuda/query/chunk_form.cuh"

/* A piece that PUTs are filling. */
struct PieceLoader::Loading
{
	Receipt		receipt;
	std::vector<char> host;		/* what the host keeps of it */
	Resident   *resident = NULL;
	Device	   *owner = NULL;	/* whose memory that has */
	GpucolWireChunk head;		/* CHUNK: as far as received */
	uint64_t	kept_from = 0;	/* CHUNK: the bytes of its streams that `host` has */
	uint64_t	kept_to = 0;

	/* Bytes as the host keeps them: what it looks at there goes to the device from there. */
	const char *
	keep(const char *data, size_t n)
	{
		host.insert(host.end(), data, data + n);
		return host.data() + host.size() - n;
	}
};

PieceLoader::PieceLoader(const RunMessage &run, const PieceCatalog &catalog, PinnedPieces &pieces, Deal &deal,
						 PartsAtWork &parts, Claim &claim)
	: run_(run), catalog_(catalog), pieces_(pieces), deal_(deal), parts_(parts), claim_(claim)
{
}

PieceLoader::~PieceLoader()
{
	for (auto &i : loading_)
		if (i.second.resident != NULL)
		{
			i.second.owner->pool.release(i.second.resident->memory);
			delete i.second.resident;
		}
}

/* Throw if a check has found something wrong. */
static void
require(const char *wrong)
{
	if (wrong != NULL)
		throw malformed(wrong);
}

/* Is this the first part of a piece that was asked for? */
void
PieceLoader::check(const GpucolWirePut &put, uint32_t number) const
{
	if (!deal_.has(put.a))
		throw malformed("object of a PUT");
	if (put.offset > 0)
		return;
	if (put.kind == GPUCOL_PUT_CHUNK ? put.total < sizeof(GpucolWireChunk) : put.total != catalog_.bytes(put.a, number))
		throw malformed("size of a PUT");
	if (deal_.part_of(put.a).submitted || !pieces_.is_missing(put.a, number))
		throw malformed("a piece that nobody asked for");
}

/*
 * Memory for a piece; parts at work may have to give theirs back first.  Requests that
 * look what is resident have that pinned for a moment, beyond what has been claimed:
 * where there is no memory it is looked for again for a while.
 */
void *
PieceLoader::memory(Share &share, size_t size)
{
	for (int tries = 0;;)
	{
		void	   *memory = share.device().cache.allocate(size);

		if (memory != NULL)
			return memory;
		parts_.await_memory(share, &tries);
	}
}

void
PieceLoader::begin(Loading *loading, Share &share, uint64_t bytes)
{
	loading->resident = new Resident();
	loading->resident->bytes = bytes;
	loading->owner = &share.device();
	loading->resident->home = &loading->owner->cache;
	loading->resident->memory = memory(share, bytes);
}

/* The head of a chunk is here: make room for its streams. */
void
PieceLoader::begin_chunk(Loading *loading, Share &share, const GpucolWirePut &put)
{
	uint64_t	bytes = put.total - sizeof(GpucolWireChunk);

	require(gpucol_chunk_check_head(loading->head, run_.segment(put.a).nrows, put.total));
	if (bytes > catalog_.bytes(put.a, put.b))
		throw malformed("a chunk larger than announced");
	static_assert(GPUCOL_STREAM_DICT == GPUCOL_STREAM_ZONES + 1, "what the host keeps lies together");
	loading->kept_from = gpucol_chunk_offset(loading->head, GPUCOL_STREAM_ZONES);
	loading->kept_to = gpucol_chunk_offset(loading->head, GPUCOL_STREAM_DICT + 1);
	begin(loading, share, bytes);
}

/* Take n bytes of a chunk's streams, at this place in them. */
void
PieceLoader::put_streams(Loading *loading, Lane &lane, uint64_t at, const char *data, uint64_t n)
{
	char	   *memory = (char *) loading->resident->memory;
	uint64_t	end = at + n;
	uint64_t	from = std::min(std::max(at, loading->kept_from), end);
	uint64_t	to = std::min(std::max(at, loading->kept_to), end);

	lane.load(memory + at, data, from - at);
	lane.load(memory + to, data + (to - at), end - to);
	if (from < to)
		lane.load(memory + from, loading->keep(data + (from - at), to - from), to - from);
}

void
PieceLoader::put_chunk(Loading *loading, Share &share, const GpucolWirePut &put, const char *data)
{
	uint64_t	offset = put.offset,
				length = put.length;

	if (offset < sizeof(GpucolWireChunk))
	{
		uint64_t	n = std::min(sizeof(GpucolWireChunk) - offset, length);

		memcpy((char *) &loading->head + offset, data, n);
		data += n;
		offset += n;
		length -= n;
		if (offset < sizeof(GpucolWireChunk))
			return;
		begin_chunk(loading, share, put);
	}
	put_streams(loading, *share.lane, offset - sizeof(GpucolWireChunk), data, length);
}

/* A bitmap or numbers. */
void
PieceLoader::put_plain(Loading *loading, Share &share, const PutKind &kind, const GpucolWirePut &put, const char *data)
{
	if (loading->resident == NULL)
		begin(loading, share, put.total);
	if (kind.host)
		data = loading->keep(data, put.length);
	share.lane->load((char *) loading->resident->memory + put.offset, data, put.length);
}

/* All of a chunk is here: check what the host has of it, and describe it to the kernels. */
void
PieceLoader::finish_chunk(Loading *loading, Share &share, uint32_t segment, uint32_t slot)
{
	Resident   *r = loading->resident;
	const GpucolChunkDesc &d = loading->head.desc;
	uint32_t	nrows = run_.segment(segment).nrows;
	const char *host = loading->host.data();	/* ZONES, then DICT: the order of the streams */

	if (!pieces_.is_missing(segment, slot))
		throw malformed("a chunk that is resident already");
	r->desc = d;
	r->chunk = gpucol_chunk_describe(loading->head, r->memory);
	r->zones_useful = false;
	if (r->chunk.zones != NULL)
	{
		const GpucolZone *zones = (const GpucolZone *) host;

		require(gpucol_chunk_check_zones(d, zones, GPUCOL_VECTORS(nrows)));
		r->zones_useful = gpucol_chunk_zones_useful(zones, GPUCOL_VECTORS(nrows), d.zone);
		host += (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES;
	}
	if (r->chunk.dict != NULL)
	{
		require(gpucol_chunk_check_dict(d, (const int64_t *) host));
		r->dict.assign((const int64_t *) host, (const int64_t *) host + d.ndict);
	}
	if (gpucol_chunk_is_expanded(*r))
	{
		void	   *expanded = memory(share, gpucol_chunk_expanded_bytes(*r, nrows));

		gpucol_chunk_expand(r, loading->head, nrows, expanded, share.lane->load_stream());
		share.device().pool.release(r->memory);
		r->memory = expanded;
	}
}

/* All of a piece is here: make it resident. */
void
PieceLoader::finish(Loading *loading, const GpucolWirePut &put, uint32_t number)
{
	Part	   &part = deal_.part_of(put.a);
	Share	   &share = deal_.share_of(part);
	Resident   *r = loading->resident;
	bool		keep;

	if (put.kind == GPUCOL_PUT_CHUNK)
		finish_chunk(loading, share, put.a, put.b);
	else if (put.kind == GPUCOL_PUT_REMAP)
	{
		const uint32_t *numbers = (const uint32_t *) loading->host.data();

		r->numbers.assign(numbers, numbers + put.total / sizeof(uint32_t));
		r->most = *std::max_element(r->numbers.begin(), r->numbers.end());
	}
	r->key = catalog_.key(put.a, number);
	r->nrows = catalog_.rows(put.a, number);
	keep = run_.may_keep() && share.keep >= r->bytes;
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
	loading->resident = NULL;
	part.missing--;
	loaded_++;
	if (keep)
		claim_.settle(share.device(), catalog_.bytes(put.a, number));
	pieces_.add(put.a, number, r);
}

void
PieceLoader::put(const PutKind &kind, const GpucolWirePut &put, const char *data)
{
	uint32_t	number = catalog_.number_of(put);

	check(put, number);

	Share	   &share = deal_.share_of(deal_.part_of(put.a));
	Loading    &loading = loading_[catalog_.index(put.a, number)];

	loading.receipt.check(put);
	if (put.offset == 0)
		parts_.await_turn(share);
	parts_.check();
	{
		Settle		settle = {share.lane->load_stream()};

		device_check(cudaSetDevice(share.device().ordinal), "could not use the device");
		if (put.kind == GPUCOL_PUT_CHUNK)
			put_chunk(&loading, share, put, data);
		else
			put_plain(&loading, share, kind, put, data);
		share.lane->loaded();
	}
	loading.receipt.take(put);
	if (!loading.receipt.complete())
		return;
	finish(&loading, put, number);
	loading_.erase(catalog_.index(put.a, number));
}
