/*-------------------------------------------------------------------------
 *
 * decode_row.c
 *	  Single rows of a chunk, decoded where an index leads to them, and zones.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/decode_stream.h"
#include "kernel/float_order.h"
#include "kernel/numeric_code.h"

#define N GPUCOL_VECTOR_VALUES

const char *
gpucol_decode_find_rows(const GpucolDecoder *dec, uint32_t row, uint32_t n, void *scratch)
{
	uint32_t	slot = row % GPUCOL_PAGE_ROWS;
	const char *rows = dec->find_page(dec->pages, row / GPUCOL_PAGE_ROWS);
	char	   *out = scratch;

	if (rows == NULL)
		return NULL;
	if (slot + n <= GPUCOL_PAGE_ROWS)
		return rows + (size_t) slot * GPUCOL_ROW_BYTES;
	while (n > 0)
	{
		uint32_t	take = GPUCOL_PAGE_ROWS - slot < n ? GPUCOL_PAGE_ROWS - slot : n;

		rows = dec->find_page(dec->pages, row / GPUCOL_PAGE_ROWS);
		if (rows == NULL)
			return NULL;
		memcpy(out, rows + (size_t) slot * GPUCOL_ROW_BYTES, (size_t) take * GPUCOL_ROW_BYTES);
		out += (size_t) take * GPUCOL_ROW_BYTES;
		row += take;
		n -= take;
		slot = 0;
	}
	return scratch;
}

/* Is the row NULL? */
static GpucolStatus
row_is_null(const GpucolDecoder *dec, uint32_t row, bool *isnull)
{
	char		scratch[GPUCOL_ROW_BYTES];
	const char *bits;

	*isnull = (dec->desc->flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	if (row >= dec->nrows)
		return GPUCOL_CORRUPT;
	if (*isnull || !(dec->desc->flags & GPUCOL_CHUNK_HAS_NULLS))
		return GPUCOL_OK;
	bits = gpucol_stream_rows(dec, GPUCOL_STREAM_NULLS, row / N, 1, scratch);
	if (bits == NULL)
		return GPUCOL_CORRUPT;
	*isnull = bits[row % N / 8] >> (row % 8) & 1;
	return GPUCOL_OK;
}

/* Code number i of CODES. */
static GpucolStatus
get_code(const GpucolDecoder *dec, uint32_t i, uint64_t *code)
{
	GpucolStreamScratch		scratch;
	const void *words = gpucol_stream_vector(dec, i / N, &scratch);

	if (words == NULL)
		return GPUCOL_CORRUPT;
	*code = gpucol_bitpack_get(dec->desc->width, words, i % N);
	return GPUCOL_OK;
}

/* Code of a row of a DICT chunk, below ndict. */
static GpucolStatus
get_dict_code(const GpucolDecoder *dec, uint32_t row, uint64_t *code)
{
	GpucolStatus status = get_code(dec, row, code);

	if (status == GPUCOL_OK && *code >= dec->desc->ndict)
		return GPUCOL_CORRUPT;
	return status;
}

/* Value of the run that holds the row, searched in the mapped RUN_ENDS. */
static GpucolStatus
get_run(GpucolDecoder *dec, uint32_t row, int64_t *out)
{
	uint32_t	lo = 0;
	uint32_t	hi = dec->desc->nruns - 1;
	uint64_t	code;
	GpucolStatus status;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;
		uint32_t	end;

		status = gpucol_stream_copy(dec, GPUCOL_STREAM_RUN_ENDS, (uint64_t) mid * 4, 4, &end);
		if (status != GPUCOL_OK)
			return status;
		if (end > row)
			hi = mid;
		else
			lo = mid + 1;
	}
	status = get_code(dec, lo, &code);
	if (status == GPUCOL_OK)
		*out = (int64_t) ((uint64_t) dec->desc->reference + code);
	return status;
}

GpucolStatus
gpucol_decode_get_int(GpucolDecoder *dec, uint32_t row, int64_t *out, bool *isnull)
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStatus status = row_is_null(dec, row, isnull);
	uint64_t	code = 0;
	int64_t		value;

	if (desc->kind == GPUCOL_KIND_BYTES)
		return GPUCOL_CORRUPT;
	if (status != GPUCOL_OK || *isnull)
		return status;
	switch (desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			*out = desc->reference;
			return GPUCOL_OK;
		case GPUCOL_CODING_RLE:
			return get_run(dec, row, out);
		case GPUCOL_CODING_DICT:
			status = get_dict_code(dec, row, &code);
			if (status != GPUCOL_OK)
				return status;
			return gpucol_stream_copy(dec, GPUCOL_STREAM_DICT, code * 8, 8, out);
		case GPUCOL_CODING_RAW:
			status = get_code(dec, row, &code);
			*out = (int64_t) code;
			return status;
		case GPUCOL_CODING_STEP:
			status = get_code(dec, row, &code);
			*out = (int64_t) ((uint64_t) desc->reference + code * desc->step);
			return status;
		default:
			status = get_code(dec, row, &code);
			value = (int64_t) ((uint64_t) desc->reference + code);
			*out = desc->coding != GPUCOL_CODING_SCALED ? value :
				gpucol_float_bits((GpucolKind) desc->kind,
								  (double) value / gpucol_float_power10(desc->scale));
			return status;
	}
}

/* Entry of a dictionary that may not have been loaded. */
static GpucolStatus
get_entry(GpucolDecoder *dec, uint64_t code, GpucolBytes *out)
{
	uint64_t	pair[2];
	GpucolStatus status;

	if (dec->entries != NULL)
	{
		*out = dec->entries[code];
		return GPUCOL_OK;
	}
	status = gpucol_stream_copy(dec, GPUCOL_STREAM_DICT, code * 8, 16, pair);
	if (status != GPUCOL_OK)
		return status;
	if (pair[0] > pair[1] || pair[1] > dec->desc->data_bytes)
		return GPUCOL_CORRUPT;
	out->len = (size_t) (pair[1] - pair[0]);
	out->data = "";
	if (out->len == 0)
		return GPUCOL_OK;
	return gpucol_decode_contiguous(dec, pair[0], pair[1], &dec->block, &dec->block_size, &out->data);
}

/*
 * A row of RAW bytes: its place in the block is the sum of the lengths before
 * it.  Uncompressed, only its own bytes are touched, else no more than its piece.
 */
static GpucolStatus
get_raw_bytes(GpucolDecoder *dec, uint32_t row, GpucolBytes *out)
{
	int			width = dec->desc->width;
	uint32_t	before[N / 32];
	GpucolStreamScratch		scratch;
	const void *words = gpucol_stream_vector(dec, row / N, &scratch);
	uint64_t	start;
	uint64_t	end;
	uint64_t	size;
	uint64_t	skip;
	GpucolStatus status = gpucol_decode_block(dec, row / N, &start, &end);

	if (words == NULL || status != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	memset(before, 0xff, sizeof(before));
	gpucol_bitmap_limit(before, row % N);
	skip = (uint64_t) gpucol_bitpack_sum(width, words, before);
	size = (uint64_t) gpucol_bitpack_sum(width, words, NULL);
	out->len = (size_t) gpucol_bitpack_get(width, words, row % N);
	out->data = "";
	if (out->len == 0)
		return GPUCOL_OK;
	return gpucol_decode_read_block(dec, row / N, start, end, size, skip, skip + out->len, &out->data);
}

/* A row of numerics, formed in dec->block. */
static GpucolStatus
get_numeric(GpucolDecoder *dec, uint32_t row, GpucolBytes *out)
{
	uint64_t	code = 0;
	GpucolStatus status = get_code(dec, row, &code);

	if (status == GPUCOL_OK)
		status = gpucol_decode_reserve(dec, &dec->block, &dec->block_size, GPUCOL_NUMERIC_BYTES);
	if (status != GPUCOL_OK)
		return status;
	out->data = dec->block;
	out->len = gpucol_numeric_bytes(dec->desc, (int64_t) ((uint64_t) dec->desc->reference + code), dec->block);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_get_bytes(GpucolDecoder *dec, uint32_t row, GpucolBytes *out,
						bool *isnull)
{
	GpucolStatus status = row_is_null(dec, row, isnull);
	uint64_t	code = 0;

	if (dec->desc->kind != GPUCOL_KIND_BYTES)
		return GPUCOL_CORRUPT;
	if (status != GPUCOL_OK || *isnull)
		return status;
	if (dec->desc->coding == GPUCOL_CODING_RAW)
		return get_raw_bytes(dec, row, out);
	if (dec->desc->coding == GPUCOL_CODING_NUMERIC)
		return get_numeric(dec, row, out);
	if (dec->desc->coding == GPUCOL_CODING_ARRAY)
		return gpucol_decode_get_array(dec, row, out);
	if (dec->desc->coding == GPUCOL_CODING_DICT)
		status = get_dict_code(dec, row, &code);
	return status != GPUCOL_OK ? status : get_entry(dec, code, out);
}

GpucolStatus
gpucol_decode_zone(const GpucolDecoder *dec, uint32_t v, GpucolZone *zone)
{
	if (dec->desc->streams[GPUCOL_STREAM_ZONES].nrows == 0)
		return GPUCOL_END;
	if (v >= dec->nvectors)
		return GPUCOL_CORRUPT;
	return gpucol_stream_copy(dec, GPUCOL_STREAM_ZONES, (uint64_t) v * sizeof(GpucolZone),
					   sizeof(GpucolZone), zone);
}
