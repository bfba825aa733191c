/*-------------------------------------------------------------------------
 *
 * decode_check.c
 *	  Checks of a segment's header and chunk descriptors.
 *
 * A descriptor passes only if an encoder could have written it: every stream
 * is present exactly where the coding needs it, has exactly the size that
 * follows from the counts, and lies inside the segment.  What follows can then
 * trust every count and multiply without overflow (rows are at most 2^24,
 * widths at most 64, so no size exceeds 2^31 word rows but for DATA).
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/array_code.h"
#include "kernel/bitpack.h"
#include "kernel/crc32c.h"
#include "kernel/decode.h"
#include "kernel/float_order.h"
#include "kernel/numeric_code.h"

#define ROWS_FOR(bytes) (((uint64_t) (bytes) + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES)

#define KNOWN_FLAGS (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL | \
					 GPUCOL_CHUNK_HAS_ZONE | GPUCOL_CHUNK_HAS_NAN | \
					 GPUCOL_CHUNK_DATA_LZ4 | GPUCOL_CHUNK_ITEM_NULLS | \
					 GPUCOL_CHUNK_DATA_PIECES)

GpucolStatus
gpucol_decode_check_header(const GpucolSegmentHeader *header)
{
	GpucolSegmentHeader copy = *header;

	copy.crc = 0;
	if (header->magic != GPUCOL_FORMAT_MAGIC ||
		header->crc != gpucol_crc32c(0, &copy, sizeof(copy)))
		return GPUCOL_CORRUPT;
	if (header->version < GPUCOL_FORMAT_VERSION || header->version > GPUCOL_FORMAT_NEWEST)
		return GPUCOL_UNSUPPORTED;
	if (header->nrows == 0 || header->nrows > GPUCOL_MAX_SEGMENT_ROWS ||
		header->nwords < 1 + 2 * (uint32_t) header->ncolumns)
		return GPUCOL_CORRUPT;
	return GPUCOL_OK;
}

/* Does reference + code * step stay within int64 for every code of the width? */
static bool
codes_fit(const GpucolChunkDesc *desc, uint64_t step)
{
	return desc->width < 64 && gpucol_bitpack_max(desc->width) <=
		((uint64_t) INT64_MAX - (uint64_t) desc->reference) / step;
}

static bool
step_fits(const GpucolChunkDesc *desc)
{
	return desc->step >= 2 && desc->step <= INT64_MAX && codes_fit(desc, desc->step);
}

/* Are an ARRAY chunk's elements entries of its dictionary, or numbers of their type for every code of the width? */
static bool
items_fit(const GpucolChunkDesc *desc)
{
	int64_t		most;

	if (desc->item_type == 0 || desc->nitems > GPUCOL_ARRAY_CODE_ITEMS)
		return false;
	if (desc->item_bytes == 0)
		return desc->ndict > 0 && desc->ndict <= desc->nitems &&
			desc->item_width == gpucol_bitpack_width(desc->ndict - 1);
	if (desc->ndict != 0 || desc->data_bytes != 0 || desc->item_width > 8 * desc->item_bytes)
		return false;
	if (desc->item_bytes == 8)
		return true;
	if (desc->item_bytes != 1 && desc->item_bytes != 2 && desc->item_bytes != 4)
		return false;
	most = (INT64_C(1) << (8 * desc->item_bytes - 1)) - 1;
	return desc->reference >= -most - 1 && desc->reference <= most &&
		gpucol_bitpack_max(desc->item_width) <= (uint64_t) (most - desc->reference);
}

/* Is the coding one of the kind's, with a width and counts that fit it? */
static bool
coding_fits(const GpucolChunkDesc *desc, uint32_t nrows)
{
	bool		bytes = desc->kind == GPUCOL_KIND_BYTES;

	switch (desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			return desc->width == 0 && desc->nruns == 0 &&
				desc->ndict == (bytes ? 1 : 0);
		case GPUCOL_CODING_FOR:
			return !bytes && desc->width <= 64 && desc->ndict == 0 &&
				desc->nruns == 0;
		case GPUCOL_CODING_DICT:
			return desc->ndict > 0 && desc->ndict <= nrows && desc->nruns == 0 &&
				desc->width == gpucol_bitpack_width(desc->ndict - 1);
		case GPUCOL_CODING_RLE:
			return !bytes && desc->width <= 64 && desc->ndict == 0 &&
				desc->nruns > 0 && desc->nruns <= nrows;
		case GPUCOL_CODING_RAW:
			if (desc->ndict != 0 || desc->nruns != 0)
				return false;
			return bytes ? desc->width <= 32 : gpucol_kind_is_float(desc->kind) &&
				desc->width == (desc->kind == GPUCOL_KIND_FLOAT4 ? 32 : 64);
		case GPUCOL_CODING_SCALED:
			return gpucol_kind_is_float(desc->kind) && desc->ndict == 0 && desc->nruns == 0 &&
				desc->width <= 54 && desc->scale >= 0 &&
				desc->scale <= GPUCOL_MAX_FLOAT_SCALE;
		case GPUCOL_CODING_STEP:
			return (desc->kind == GPUCOL_KIND_INT || desc->kind == GPUCOL_KIND_DECIMAL) &&
				desc->ndict == 0 && desc->nruns == 0 && step_fits(desc);
		case GPUCOL_CODING_NUMERIC:
			return bytes && desc->ndict == 0 && desc->nruns == 0 && desc->data_bytes == 0 &&
				desc->scale >= 0 && desc->scale <= GPUCOL_NUMERIC_SCALE &&
				desc->shown <= GPUCOL_NUMERIC_SHOWN && desc->hidden <= GPUCOL_NUMERIC_HIDDEN && codes_fit(desc, 1);
		case GPUCOL_CODING_ARRAY:
			return bytes && desc->nruns == 0 && desc->width <= 32 && items_fit(desc);
		default:
			return false;
	}
}

/* Word rows that each stream must have. */
static void
expected_sizes(const GpucolChunkDesc *desc, uint32_t nrows, uint64_t *sizes)
{
	uint64_t	nvectors = GPUCOL_VECTORS(nrows);
	bool		bytes = desc->kind == GPUCOL_KIND_BYTES;
	uint64_t	coded = desc->coding == GPUCOL_CODING_RLE ?
		GPUCOL_VECTORS((uint64_t) desc->nruns) : nvectors;

	memset(sizes, 0, GPUCOL_STREAM_COUNT * sizeof(uint64_t));
	sizes[GPUCOL_STREAM_CODES] = coded * desc->width;
	if (desc->flags & GPUCOL_CHUNK_HAS_NULLS)
		sizes[GPUCOL_STREAM_NULLS] = nvectors;
	if (desc->ndict > 0)
		sizes[GPUCOL_STREAM_DICT] =
			ROWS_FOR(8 * ((uint64_t) desc->ndict + (bytes ? 1 : 0)));
	if (bytes)
		sizes[GPUCOL_STREAM_DATA] = ROWS_FOR(desc->data_bytes);
	if (gpucol_decode_has_blocks(desc))
		sizes[GPUCOL_STREAM_OFFSETS] = ROWS_FOR(8 * (nvectors + 1));
	if (desc->coding == GPUCOL_CODING_RLE)
		sizes[GPUCOL_STREAM_RUN_ENDS] = ROWS_FOR(4 * (uint64_t) desc->nruns);
	if (desc->coding == GPUCOL_CODING_ARRAY)
		sizes[GPUCOL_STREAM_ITEMS] = GPUCOL_VECTORS(desc->nitems) * gpucol_array_code_rows(desc);
	if (desc->streams[GPUCOL_STREAM_ZONES].nrows > 0)
		sizes[GPUCOL_STREAM_ZONES] = ROWS_FOR(nvectors * sizeof(GpucolZone));
}

static bool
streams_fit(const GpucolSegmentHeader *header, const GpucolChunkDesc *desc)
{
	uint64_t	sizes[GPUCOL_STREAM_COUNT];
	uint32_t	first = 1 + 2 * (uint32_t) header->ncolumns;

	expected_sizes(desc, header->nrows, sizes);
	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
	{
		const GpucolStream *stream = &desc->streams[i];

		if (stream->nrows != sizes[i])
			return false;
		if (stream->nrows > 0 &&
			(stream->row < first || stream->row > header->nwords ||
			 stream->nrows > header->nwords - stream->row))
			return false;
	}
	return true;
}

/* Flags and null count against each other and the kind. */
static bool
flags_fit(const GpucolChunkDesc *desc, uint32_t nrows)
{
	bool		all_null = (desc->flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	bool		some_null = (desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;

	if (desc->flags & ~KNOWN_FLAGS ||
		(desc->step != 0 && desc->coding != GPUCOL_CODING_STEP) ||
		((desc->hidden != 0 || desc->shown != 0) && desc->coding != GPUCOL_CODING_NUMERIC) ||
		((desc->item_width != 0 || desc->item_bytes != 0 || desc->item_type != 0 || desc->nitems != 0 ||
		  (desc->flags & GPUCOL_CHUNK_ITEM_NULLS)) && desc->coding != GPUCOL_CODING_ARRAY))
		return false;
	if (all_null)
		return desc->null_count == nrows && !some_null;
	if (desc->null_count >= nrows || some_null != (desc->null_count > 0))
		return false;
	if ((desc->flags & GPUCOL_CHUNK_HAS_NAN) && !gpucol_kind_is_float(desc->kind))
		return false;
	if ((desc->flags & GPUCOL_CHUNK_HAS_ZONE) && desc->kind == GPUCOL_KIND_BYTES)
		return false;
	if (!(desc->flags & GPUCOL_CHUNK_DATA_LZ4))
		return !(desc->flags & GPUCOL_CHUNK_DATA_PIECES);
	return (desc->kind == GPUCOL_KIND_BYTES && desc->coding == GPUCOL_CODING_RAW);
}

static bool
no_streams(const GpucolChunkDesc *desc)
{
	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
		if (desc->streams[i].nrows != 0)
			return false;
	return true;
}

GpucolStatus
gpucol_decode_check_coding(const GpucolChunkDesc *desc, uint32_t nrows)
{
	if (desc->kind < GPUCOL_KIND_INT || desc->kind > GPUCOL_KIND_BYTES ||
		!flags_fit(desc, nrows))
		return GPUCOL_CORRUPT;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return desc->coding == GPUCOL_CODING_CONSTANT && desc->ndict == 0 &&
			desc->nruns == 0 && desc->width == 0 ? GPUCOL_OK : GPUCOL_CORRUPT;
	return coding_fits(desc, nrows) ? GPUCOL_OK : GPUCOL_CORRUPT;
}

GpucolStatus
gpucol_decode_check_desc(const GpucolSegmentHeader *header,
						 const GpucolChunkDesc *desc)
{
	GpucolChunkDesc copy = *desc;

	copy.crc = 0;
	if (desc->crc != gpucol_crc32c(0, &copy, sizeof(copy)))
		return GPUCOL_CORRUPT;
	if (gpucol_decode_check_coding(desc, header->nrows) != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL ? !no_streams(desc) : !streams_fit(header, desc))
		return GPUCOL_CORRUPT;
	return GPUCOL_OK;
}
