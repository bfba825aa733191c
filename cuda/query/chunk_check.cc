/*-------------------------------------------------------------------------
 *
 * chunk_check.cc
 *	  Does what a client says of a chunk hold together?
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/chunk_check.h"

extern "C" {
#include "kernel/decode.h"
}
#include "kernel/float_order.h"

static uint64_t
rows_of(uint64_t bytes)
{
	return (bytes + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES;
}

/* Word rows that a known stream of a checked descriptor must have. */
static uint64_t
stream_rows(const GpucolChunkDesc &d, int stream, uint32_t nrows)
{
	uint64_t	vectors = GPUCOL_VECTORS((uint64_t) nrows);
	uint64_t	coded = d.coding == GPUCOL_CODING_RLE ? GPUCOL_VECTORS((uint64_t) d.nruns) : vectors;

	switch (stream)
	{
		case GPUCOL_STREAM_CODES:
			return coded * d.width;
		case GPUCOL_STREAM_NULLS:
			return vectors;
		case GPUCOL_STREAM_ZONES:
			return rows_of(vectors * sizeof(GpucolZone));
		case GPUCOL_STREAM_DICT:
			return rows_of((uint64_t) d.ndict * sizeof(int64_t));
		default:				/* RUN_ENDS */
			return rows_of((uint64_t) d.nruns * sizeof(uint32_t));
	}
}

/*
 * Streams that a checked descriptor cannot do without; beside them only zones are of any
 * use.  A dictionary beside other codes than its own would pass for what these stand for.
 */
static uint32_t
needed_streams(const GpucolChunkDesc &d)
{
	bool		numbers = d.kind != GPUCOL_KIND_BYTES;

	return (d.flags & GPUCOL_CHUNK_HAS_NULLS ? 1u << GPUCOL_STREAM_NULLS : 0) |
		(d.width > 0 ? 1u << GPUCOL_STREAM_CODES : 0) |
		(d.coding == GPUCOL_CODING_DICT && numbers ? 1u << GPUCOL_STREAM_DICT : 0) |
		(d.coding == GPUCOL_CODING_RLE ? 1u << GPUCOL_STREAM_RUN_ENDS : 0);
}

const char *
gpucol_chunk_check_head(const GpucolWireChunk &head, uint32_t nrows, uint64_t total)
{
	const GpucolChunkDesc &d = head.desc;
	uint32_t	needed;
	uint32_t	allowed;
	uint64_t	rows = 0;

	if (gpucol_decode_check_coding(&d, nrows) != GPUCOL_OK)
		return "descriptor of a chunk";
	/* elements of arrays never travel */
	if (d.coding == GPUCOL_CODING_ARRAY)
		return "coding of a chunk";
	if (d.flags & GPUCOL_CHUNK_HAS_ZONE ? d.zone.min > d.zone.max : head.present >> GPUCOL_STREAM_ZONES & 1)
		return "zone of a chunk";
	needed = needed_streams(d);
	allowed = d.flags & GPUCOL_CHUNK_ALL_NULL ? 0 : needed | 1u << GPUCOL_STREAM_ZONES;
	if ((head.present & ~allowed) != 0 || (needed & ~head.present) != 0)
		return "streams of a chunk";
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (head.present >> k & 1)
		{
			if (d.streams[k].nrows != stream_rows(d, k, nrows))
				return "size of a chunk's stream";
			rows += d.streams[k].nrows;
		}
	return total == sizeof(GpucolWireChunk) + rows * GPUCOL_ROW_BYTES ? NULL : "size of a chunk";
}

const char *
gpucol_chunk_check_zones(const GpucolChunkDesc &desc, const GpucolZone *zones, uint32_t nvectors)
{
	int64_t		min = desc.zone.min,
				max = desc.zone.max;
	bool		wrong = false;

	/* one of a vector that is all NULL is empty; no branch, for there are many */
	for (uint32_t v = 0; v < nvectors; v++)
		wrong |= (zones[v].min <= zones[v].max) & ((zones[v].min < min) | (zones[v].max > max));
	return wrong ? "zone of a vector" : NULL;
}

const char *
gpucol_chunk_check_dict(const GpucolChunkDesc &desc, const int64_t *entries)
{
	bool		is_float = gpucol_kind_is_float(desc.kind);
	bool		zone = (desc.flags & GPUCOL_CHUNK_HAS_ZONE) != 0;
	int64_t		last = zone ? desc.zone.min : INT64_MIN;
	bool		wrong = false;

	for (uint32_t i = 0; i < desc.ndict; i++)
	{
		int64_t		order = is_float ?
			gpucol_float_order(gpucol_float_value((GpucolKind) desc.kind, entries[i])) : entries[i];

		wrong |= order < last;
		last = order;
	}
	return wrong || (zone && last > desc.zone.max) ? "dictionary of a chunk" : NULL;
}
