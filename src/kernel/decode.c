/*-------------------------------------------------------------------------
 *
 * decode.c
 *	  Reading a chunk: vectors and single rows of every coding.
 *
 * decode.h says what is checked when; decode_check.c holds the checks of header
 * and descriptor.  Here every address of a word row is formed by stream_rows
 * or stream_bytes, which refuse what lies outside the stream or its window.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/decode.h"

#include <lz4.h>

#include "kernel/array_code.h"
#include "kernel/decode_stream.h"
#include "kernel/float_order.h"
#include "kernel/numeric_code.h"

#define N GPUCOL_VECTOR_VALUES

/* LZ4 never expands a byte to more than this */
#define LZ4_MAX_EXPANSION 255

/* Rows in vector v. */
static uint32_t
vector_rows(const GpucolDecoder *dec, uint32_t v)
{
	uint32_t	left = dec->nrows - v * N;

	return left < N ? left : N;
}

void
gpucol_decode_init(GpucolDecoder *dec, const GpucolChunkDesc *desc,
				   uint32_t nrows, const GpucolMemory *memory)
{
	memset(dec, 0, sizeof(*dec));
	dec->desc = desc;
	dec->nrows = nrows;
	dec->nvectors = GPUCOL_VECTORS(nrows);
	dec->memory = *memory;
	dec->block_vector = GPUCOL_STREAM_NO_VECTOR;
}

void
gpucol_decode_map(GpucolDecoder *dec, GpucolStreamKind stream,
				  const GpucolRows *rows)
{
	dec->rows[stream] = *rows;
}

void
gpucol_decode_find(GpucolDecoder *dec, GpucolFindPage find_page, void *pages)
{
	dec->find_page = find_page;
	dec->pages = pages;
}

void
gpucol_decode_fork(const GpucolDecoder *dec, GpucolDecoder *other)
{
	*other = *dec;
	other->loaded = NULL;
	other->block = other->packed = NULL;
	other->block_size = other->packed_size = 0;
	other->block_vector = GPUCOL_STREAM_NO_VECTOR;
}

void
gpucol_decode_free(GpucolDecoder *dec)
{
	if (dec->loaded != NULL)
		dec->memory.free(dec->memory.context, dec->loaded);
	if (dec->block != NULL)
		dec->memory.free(dec->memory.context, dec->block);
	if (dec->packed != NULL)
		dec->memory.free(dec->memory.context, dec->packed);
	dec->loaded = NULL;
	dec->values = NULL;
	dec->entries = NULL;
	dec->run_ends = NULL;
	dec->block = NULL;
	dec->block_size = 0;
	dec->packed = NULL;
	dec->packed_size = 0;
	dec->block_vector = GPUCOL_STREAM_NO_VECTOR;
}

void
gpucol_decode_extent(const GpucolChunkDesc *desc, GpucolStreamKind stream,
					 uint32_t v, uint32_t n, uint32_t *row, uint32_t *nrows)
{
	uint32_t	whole = desc->streams[stream].nrows;
	uint64_t	first = 0;
	uint64_t	end = whole;

	switch (stream)
	{
		case GPUCOL_STREAM_CODES:
			if (desc->coding == GPUCOL_CODING_RLE)
				break;
			first = (uint64_t) v * desc->width;
			end = (uint64_t) (v + n) * desc->width;
			break;
		case GPUCOL_STREAM_NULLS:
			first = v;
			end = (uint64_t) v + n;
			break;
		case GPUCOL_STREAM_ZONES:
			first = v / (GPUCOL_ROW_BYTES / sizeof(GpucolZone));
			end = ((uint64_t) v + n - 1) / (GPUCOL_ROW_BYTES / sizeof(GpucolZone)) + 1;
			break;
		case GPUCOL_STREAM_OFFSETS:
			first = v / (GPUCOL_ROW_BYTES / 8);
			end = ((uint64_t) v + n) / (GPUCOL_ROW_BYTES / 8) + 1;
			break;
		case GPUCOL_STREAM_DATA:
		case GPUCOL_STREAM_ITEMS:
			if (gpucol_decode_has_blocks(desc) && gpucol_decode_block_stream(desc) == stream)
				end = 0;
			break;
		default:
			break;
	}
	end = end < whole ? end : whole;
	first = first < end ? first : end;
	*row = (uint32_t) first;
	*nrows = (uint32_t) (end - first);
}

/*
 * ---- what belongs to the whole chunk ----
 */

/* Order of a dictionary's 64-bit entries: the kind's, ties by bit pattern. */
static bool
ascending(GpucolKind kind, int64_t a, int64_t b)
{
	if (gpucol_kind_is_float(kind))
	{
		int64_t		x = gpucol_float_order(gpucol_float_value(kind, a));
		int64_t		y = gpucol_float_order(gpucol_float_value(kind, b));

		return x < y || (x == y && (uint64_t) a < (uint64_t) b);
	}
	return a < b;
}

static GpucolStatus
load_int_dict(GpucolDecoder *dec)
{
	uint32_t	n = dec->desc->ndict;
	int64_t    *values = dec->memory.alloc(dec->memory.context, n * sizeof(int64_t));
	GpucolStatus status;

	if (values == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dec->loaded = values;
	status = gpucol_stream_copy(dec, GPUCOL_STREAM_DICT, 0, n * sizeof(int64_t), values);
	for (uint32_t i = 1; i < n && status == GPUCOL_OK; i++)
		if (!ascending((GpucolKind) dec->desc->kind, values[i - 1], values[i]))
			status = GPUCOL_CORRUPT;
	if (status == GPUCOL_OK)
		dec->values = values;
	return status;
}

/* memcmp order, the shorter first */
static int
compare_bytes(const GpucolBytes *a, const GpucolBytes *b)
{
	size_t		len = a->len < b->len ? a->len : b->len;
	int			c = len > 0 ? memcmp(a->data, b->data, len) : 0;

	return c != 0 ? c : a->len < b->len ? -1 : a->len > b->len;
}

/*
 * Entries from n + 1 offsets, which are consumed from the end so that they may
 * share no memory with the entries.
 */
static GpucolStatus
make_entries(const uint64_t *offsets, uint32_t n, const char *data,
			 uint64_t data_bytes, GpucolBytes *entries)
{
	if (offsets[0] != 0 || offsets[n] != data_bytes)
		return GPUCOL_CORRUPT;
	for (uint32_t i = 0; i < n; i++)
	{
		if (offsets[i + 1] < offsets[i] || offsets[i + 1] > data_bytes)
			return GPUCOL_CORRUPT;
		entries[i].data = data + offsets[i];
		entries[i].len = (size_t) (offsets[i + 1] - offsets[i]);
		if (i > 0 && compare_bytes(&entries[i - 1], &entries[i]) >= 0)
			return GPUCOL_CORRUPT;
	}
	return GPUCOL_OK;
}

/* One allocation: entries, offsets, bytes. */
static GpucolStatus
load_bytes_dict(GpucolDecoder *dec)
{
	uint32_t	n = dec->desc->ndict;
	uint64_t	data_bytes = dec->desc->data_bytes;
	size_t		entries_size = n * sizeof(GpucolBytes);
	size_t		offsets_size = ((size_t) n + 1) * sizeof(uint64_t);
	char	   *memory = dec->memory.alloc(dec->memory.context,
										   entries_size + offsets_size + data_bytes);
	char	   *offsets = memory + entries_size;
	char	   *data = offsets + offsets_size;
	GpucolStatus status;

	if (memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dec->loaded = memory;
	status = gpucol_stream_copy(dec, GPUCOL_STREAM_DICT, 0, offsets_size, offsets);
	if (status == GPUCOL_OK)
		status = gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, 0, data_bytes, data);
	if (status == GPUCOL_OK)
		status = make_entries((const uint64_t *) offsets, n, data, data_bytes,
							  (GpucolBytes *) memory);
	if (status == GPUCOL_OK)
		dec->entries = (const GpucolBytes *) memory;
	return status;
}

/* Values of the runs, a vector of codes at a time: room for whole vectors. */
static GpucolStatus
unpack_runs(GpucolDecoder *dec, int64_t *values)
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStreamScratch		scratch;

	for (uint32_t v = 0; v < GPUCOL_VECTORS(desc->nruns); v++)
	{
		const void *words = gpucol_stream_vector(dec, v, &scratch);

		if (words == NULL)
			return GPUCOL_CORRUPT;
		gpucol_bitpack_unpack_for(desc->width, words, desc->reference, values + (size_t) v * N);
	}
	return GPUCOL_OK;
}

static GpucolStatus
load_runs(GpucolDecoder *dec)
{
	uint32_t	n = dec->desc->nruns;
	size_t		values_size = (size_t) GPUCOL_VECTORS(n) * N * sizeof(int64_t);
	char	   *memory = dec->memory.alloc(dec->memory.context,
										   values_size + n * sizeof(uint32_t));
	int64_t    *values = (int64_t *) memory;
	uint32_t   *ends = (uint32_t *) (memory + values_size);
	GpucolStatus status;

	if (memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dec->loaded = memory;
	status = gpucol_stream_copy(dec, GPUCOL_STREAM_RUN_ENDS, 0, n * sizeof(uint32_t), ends);
	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i++)
		if (ends[i] <= (i > 0 ? ends[i - 1] : 0))
			status = GPUCOL_CORRUPT;
	if (status == GPUCOL_OK && ends[n - 1] != dec->nrows)
		status = GPUCOL_CORRUPT;
	if (status == GPUCOL_OK)
		status = unpack_runs(dec, values);
	if (status == GPUCOL_OK)
	{
		dec->values = values;
		dec->run_ends = ends;
	}
	return status;
}

GpucolStatus
gpucol_decode_load(GpucolDecoder *dec)
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStatus status = GPUCOL_OK;

	if (dec->loaded != NULL || (desc->flags & GPUCOL_CHUNK_ALL_NULL))
		return GPUCOL_OK;
	if (desc->coding == GPUCOL_CODING_RLE)
		status = load_runs(dec);
	else if (desc->ndict > 0 && desc->kind == GPUCOL_KIND_BYTES)
		status = load_bytes_dict(dec);
	else if (desc->ndict > 0)
		status = load_int_dict(dec);
	if (status != GPUCOL_OK && dec->loaded != NULL)
	{
		dec->memory.free(dec->memory.context, dec->loaded);
		dec->loaded = NULL;
	}
	return status;
}

/*
 * ---- vectors ----
 */

/* Bits n.. of a vector's null bitmap are rows that do not exist. */
GpucolStatus
gpucol_decode_nulls(const GpucolDecoder *dec, uint32_t v,
					uint32_t nulls[GPUCOL_VECTOR_VALUES / 32])
{
	char		scratch[GPUCOL_ROW_BYTES];
	const char *row;

	if (v >= dec->nvectors)
		return GPUCOL_CORRUPT;
	if (dec->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		memset(nulls, 0xff, GPUCOL_ROW_BYTES);
	else if (dec->desc->flags & GPUCOL_CHUNK_HAS_NULLS)
	{
		row = gpucol_stream_rows(dec, GPUCOL_STREAM_NULLS, v, 1, scratch);
		if (row == NULL)
			return GPUCOL_CORRUPT;
		memcpy(nulls, row, GPUCOL_ROW_BYTES);
	}
	else
		memset(nulls, 0, GPUCOL_ROW_BYTES);
	gpucol_bitmap_limit(nulls, vector_rows(dec, v));
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_codes(const GpucolDecoder *dec, uint32_t v, uint32_t out[N])
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStreamScratch		scratch;
	const void *words;

	if (v >= dec->nvectors || desc->coding != GPUCOL_CODING_DICT)
		return GPUCOL_CORRUPT;
	words = gpucol_stream_vector(dec, v, &scratch);
	if (words == NULL)
		return GPUCOL_CORRUPT;
	if (gpucol_bitpack_range_count(desc->width, words, desc->ndict, UINT64_MAX) > 0)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(desc->width, words, out);
	return GPUCOL_OK;
}

static GpucolStatus
decode_dict_ints(GpucolDecoder *dec, uint32_t v, int64_t *out)
{
	uint32_t	codes[N];
	GpucolStatus status;

	if (dec->values == NULL)
		return GPUCOL_CORRUPT;
	status = gpucol_decode_codes(dec, v, codes);
	if (status != GPUCOL_OK)
		return status;
	for (int i = 0; i < N; i++)
		out[i] = dec->values[codes[i]];
	return GPUCOL_OK;
}

/* First run that ends after `row`, which is below nrows. */
static uint32_t
find_run(const uint32_t *ends, uint32_t n, uint32_t row)
{
	uint32_t	lo = 0;
	uint32_t	hi = n - 1;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (ends[mid] > row)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static GpucolStatus
decode_runs(const GpucolDecoder *dec, uint32_t v, int64_t *out)
{
	uint32_t	row = v * N;
	uint32_t	end = row + vector_rows(dec, v);
	uint32_t	run;

	if (dec->run_ends == NULL)
		return GPUCOL_CORRUPT;
	run = find_run(dec->run_ends, dec->desc->nruns, row);
	while (row < end)
	{
		uint32_t	stop = dec->run_ends[run] < end ? dec->run_ends[run] : end;
		int64_t		value = dec->values[run++];

		while (row < stop)
			*out++ = value, row++;
	}
	for (; row % N != 0; row++)
		*out++ = 0;
	return GPUCOL_OK;
}

/* Codes times step, plus reference. */
static void
spread_steps(const GpucolChunkDesc *desc, int64_t *values)
{
	for (int i = 0; i < N; i++)
		values[i] = (int64_t) ((uint64_t) desc->reference +
							   (uint64_t) values[i] * desc->step);
}

/* Codes plus reference, over 10^scale. */
static void
scale_floats(const GpucolChunkDesc *desc, int64_t *values)
{
	double		power = gpucol_float_power10(desc->scale);

	for (int i = 0; i < N; i++)
		values[i] = gpucol_float_bits((GpucolKind) desc->kind,
									  (double) values[i] / power);
}

GpucolStatus
gpucol_decode_ints(GpucolDecoder *dec, uint32_t v, int64_t out[N])
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStreamScratch		scratch;
	const void *words;

	if (v >= dec->nvectors || desc->kind == GPUCOL_KIND_BYTES)
		return GPUCOL_CORRUPT;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
	{
		memset(out, 0, N * sizeof(int64_t));
		return GPUCOL_OK;
	}
	switch (desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			for (int i = 0; i < N; i++)
				out[i] = desc->reference;
			return GPUCOL_OK;
		case GPUCOL_CODING_DICT:
			return decode_dict_ints(dec, v, out);
		case GPUCOL_CODING_RLE:
			return decode_runs(dec, v, out);
		default:
			break;
	}
	words = gpucol_stream_vector(dec, v, &scratch);
	if (words == NULL)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack_for(desc->width, words,
							  desc->coding == GPUCOL_CODING_RAW ||
							  desc->coding == GPUCOL_CODING_STEP ? 0 : desc->reference,
							  out);
	if (desc->coding == GPUCOL_CODING_STEP)
		spread_steps(desc, out);
	else if (desc->coding == GPUCOL_CODING_SCALED)
		scale_floats(desc, out);
	return GPUCOL_OK;
}

/*
 * ---- raw bytes ----
 */

GpucolStatus
gpucol_decode_block(const GpucolDecoder *dec, uint32_t v, uint64_t *start,
					uint64_t *end)
{
	uint64_t	pair[2];
	GpucolStatus status;

	if (v >= dec->nvectors || dec->desc->streams[GPUCOL_STREAM_OFFSETS].nrows == 0)
		return GPUCOL_CORRUPT;
	status = gpucol_stream_copy(dec, GPUCOL_STREAM_OFFSETS, (uint64_t) v * 8, 16, pair);
	if (status != GPUCOL_OK)
		return status;
	if (pair[0] > pair[1] ||
		pair[1] > (dec->desc->coding == GPUCOL_CODING_ARRAY ? dec->desc->nitems : dec->desc->data_bytes))
		return GPUCOL_CORRUPT;
	*start = pair[0];
	*end = pair[1];
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_block_rows(const GpucolDecoder *dec, uint32_t v, uint32_t *row, uint32_t *nrows)
{
	uint64_t	start;
	uint64_t	end;
	uint64_t	rows = 1;
	uint64_t	values = GPUCOL_ROW_BYTES;
	GpucolStatus status = gpucol_decode_block(dec, v, &start, &end);

	*row = *nrows = 0;
	if (status != GPUCOL_OK || start == end)
		return status;
	if (dec->desc->coding == GPUCOL_CODING_ARRAY)
	{
		rows = (uint64_t) gpucol_array_code_rows(dec->desc);
		values = N;
	}
	*row = (uint32_t) (start / values * rows);
	*nrows = (uint32_t) (((end - 1) / values + 1) * rows) - *row;
	return GPUCOL_OK;
}

/* Bytes start .. end - 1 of DATA together: in place, else copied to *buffer. */
GpucolStatus
gpucol_decode_contiguous(GpucolDecoder *dec, uint64_t start, uint64_t end, char **buffer,
		   size_t *have, const char **out)
{
	GpucolStatus status;

	*out = gpucol_stream_bytes(dec, GPUCOL_STREAM_DATA, start, end - start);
	if (*out != NULL || start == end)
		return GPUCOL_OK;
	status = gpucol_decode_reserve(dec, buffer, have, (size_t) (end - start));
	if (status != GPUCOL_OK)
		return status;
	*out = *buffer;
	return gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, start, (size_t) (end - start),
					   *buffer);
}

/*
 * Expand the first `want` of `size` bytes, which are stored as start .. end - 1 of DATA: an LZ4 block, or
 * plain where that is as long.
 */
static GpucolStatus
expand(GpucolDecoder *dec, uint64_t start, uint64_t end, uint64_t size, uint64_t want, char *out)
{
	const char *packed;
	GpucolStatus status;
	int			known;

	if (end - start == size)
		return gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, start, (size_t) want, out);
	status = gpucol_decode_contiguous(dec, start, end, &dec->packed, &dec->packed_size, &packed);
	if (status != GPUCOL_OK || packed == NULL)
		return status != GPUCOL_OK ? status : GPUCOL_CORRUPT;
	known = want == size ? LZ4_decompress_safe(packed, out, (int) (end - start), (int) size) :
		LZ4_decompress_safe_partial(packed, out, (int) (end - start), (int) want, (int) want);
	return known == (int) want ? GPUCOL_OK : GPUCOL_CORRUPT;
}

/* Expand a piece of a block of `size` bytes as far as `until` at `out`, where the piece's first byte goes. */
static GpucolStatus
expand_piece(GpucolDecoder *dec, uint64_t start, uint64_t end, uint64_t size, uint64_t piece, uint64_t until,
			 char *out)
{
	uint64_t	first = piece * GPUCOL_PIECE_BYTES;
	uint64_t	raw = size - first < GPUCOL_PIECE_BYTES ? size - first : GPUCOL_PIECE_BYTES;
	uint64_t	pieces = start + GPUCOL_PIECES(size) * sizeof(uint32_t);
	uint32_t	ends[2] = {0, 0};
	GpucolStatus status;

	if (pieces > end)
		return GPUCOL_CORRUPT;
	status = piece == 0 ?
		gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, start, sizeof(uint32_t), &ends[1]) :
		gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, start + (piece - 1) * sizeof(uint32_t), sizeof(ends), ends);
	if (status != GPUCOL_OK)
		return status;
	if (ends[0] > ends[1] || ends[1] > end - pieces || ends[1] - ends[0] > raw)
		return GPUCOL_CORRUPT;
	return expand(dec, pieces + ends[0], pieces + ends[1], raw, until - first < raw ? until - first : raw, out);
}

/* Expand bytes from .. until - 1 of an LZ4 block into dec->block, which has room. */
static GpucolStatus
expand_block(GpucolDecoder *dec, uint64_t start, uint64_t end, uint64_t size, uint64_t from, uint64_t until,
			 bool pieces)
{
	GpucolStatus status = GPUCOL_OK;

	if (!pieces)
		return expand(dec, start, end, size, until, dec->block);
	for (uint64_t at = from; at < until && status == GPUCOL_OK; at += GPUCOL_PIECE_BYTES)
		status = expand_piece(dec, start, end, size, at / GPUCOL_PIECE_BYTES, until, dec->block + (at - from));
	return status;
}

/*
 * Of an LZ4 block no more is expanded than is asked for, from where that is possible on.  Who comes to a
 * vector again gets all of it, or all of the piece.
 */
GpucolStatus
gpucol_decode_read_block(GpucolDecoder *dec, uint32_t v, uint64_t start, uint64_t end,
		   uint64_t size, uint64_t from, uint64_t until, const char **out)
{
	bool		pieces = (dec->desc->flags & GPUCOL_CHUNK_DATA_PIECES) != 0 && size > GPUCOL_PIECE_BYTES;
	bool		again = dec->block_vector == v;
	uint64_t	first = pieces ? from / GPUCOL_PIECE_BYTES * GPUCOL_PIECE_BYTES : 0;
	uint64_t	last = pieces ? GPUCOL_PIECES(until) * GPUCOL_PIECE_BYTES : size;
	GpucolStatus status;

	if (size == end - start)
	{
		dec->block_vector = GPUCOL_STREAM_NO_VECTOR;
		return gpucol_decode_contiguous(dec, start + from, start + until, &dec->block, &dec->block_size, out);
	}
	if (!(dec->desc->flags & GPUCOL_CHUNK_DATA_LZ4) ||
		end - start > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE ||
		size / LZ4_MAX_EXPANSION > end - start)
		return GPUCOL_CORRUPT;
	if (!again || from < dec->block_from || until > dec->block_until)
	{
		if (again)
			until = last < size ? last : size;
		dec->block_vector = GPUCOL_STREAM_NO_VECTOR;
		status = gpucol_decode_reserve(dec, &dec->block, &dec->block_size, (size_t) (until - first));
		if (status == GPUCOL_OK)
			status = expand_block(dec, start, end, size, first, until, pieces);
		if (status != GPUCOL_OK)
			return status;
		dec->block_vector = v;
		dec->block_from = first;
		dec->block_until = until;
	}
	*out = dec->block + (from - dec->block_from);
	return GPUCOL_OK;
}

char *
gpucol_decode_take_block(GpucolDecoder *dec)
{
	char	   *block = dec->block;

	dec->block = NULL;
	dec->block_size = 0;
	dec->block_vector = GPUCOL_STREAM_NO_VECTOR;
	return block;
}

static GpucolStatus
decode_raw_bytes(GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	GpucolStreamScratch		scratch;
	uint64_t	start;
	uint64_t	end;
	uint64_t	size = 0;
	uint32_t	lengths[N];
	const void *words = gpucol_stream_vector(dec, v, &scratch);
	const char *data;
	GpucolStatus status = gpucol_decode_block(dec, v, &start, &end);

	if (words == NULL || status != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(dec->desc->width, words, lengths);
	for (int i = 0; i < N; i++)
		size += lengths[i];
	status = gpucol_decode_read_block(dec, v, start, end, size, 0, size, &data);
	if (status != GPUCOL_OK)
		return status;
	for (int i = 0; i < N; i++)
	{
		out[i].data = lengths[i] > 0 ? data : "";
		out[i].len = lengths[i];
		data += lengths[i];
	}
	return GPUCOL_OK;
}

static GpucolStatus
decode_dict_bytes(GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	uint32_t	codes[N];
	GpucolStatus status;

	if (dec->entries == NULL)
		return GPUCOL_CORRUPT;
	status = gpucol_decode_codes(dec, v, codes);
	if (status != GPUCOL_OK)
		return status;
	for (int i = 0; i < N; i++)
		out[i] = dec->entries[codes[i]];
	return GPUCOL_OK;
}

/* The bytes of numerics, formed in dec->block behind their words. */
static GpucolStatus
decode_numerics(GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	const GpucolChunkDesc *desc = dec->desc;
	GpucolStreamScratch		scratch;
	const void *words = gpucol_stream_vector(dec, v, &scratch);
	GpucolStatus status = gpucol_decode_reserve(dec, &dec->block, &dec->block_size,
												N * (sizeof(int64_t) + GPUCOL_NUMERIC_BYTES));
	int64_t    *values = (int64_t *) dec->block;
	char	   *to = dec->block + N * sizeof(int64_t);

	if (words == NULL || status != GPUCOL_OK)
		return words == NULL ? GPUCOL_CORRUPT : status;
	gpucol_bitpack_unpack_for(desc->width, words, desc->reference, values);
	for (int i = 0; i < N; i++)
	{
		out[i].data = to;
		out[i].len = gpucol_numeric_bytes(desc, values[i], to);
		to += out[i].len;
	}
	return GPUCOL_OK;
}

/* Make entries at NULL rows and beyond the last row empty. */
static GpucolStatus
blank_bytes(const GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	const GpucolBytes empty = {"", 0};
	uint32_t	nulls[N / 32];

	for (uint32_t i = vector_rows(dec, v); i < N; i++)
		out[i] = empty;
	if (dec->desc->null_count == 0)
		return GPUCOL_OK;
	if (gpucol_decode_nulls(dec, v, nulls) != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	for (int i = 0; i < N; i++)
		if (nulls[i / 32] >> (i % 32) & 1)
			out[i] = empty;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_bytes(GpucolDecoder *dec, uint32_t v, GpucolBytes out[N])
{
	GpucolStatus status = GPUCOL_OK;

	if (v >= dec->nvectors || dec->desc->kind != GPUCOL_KIND_BYTES)
		return GPUCOL_CORRUPT;
	if (dec->desc->flags & GPUCOL_CHUNK_ALL_NULL)
	{
		for (int i = 0; i < N; i++)
			out[i] = (GpucolBytes) {"", 0};
		return GPUCOL_OK;
	}
	switch (dec->desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			if (dec->entries == NULL)
				return GPUCOL_CORRUPT;
			for (int i = 0; i < N; i++)
				out[i] = dec->entries[0];
			break;
		case GPUCOL_CODING_DICT:
			status = decode_dict_bytes(dec, v, out);
			break;
		case GPUCOL_CODING_NUMERIC:
			status = decode_numerics(dec, v, out);
			break;
		case GPUCOL_CODING_ARRAY:
			status = gpucol_decode_arrays(dec, v, out);
			break;
		default:
			status = decode_raw_bytes(dec, v, out);
			break;
	}
	return status != GPUCOL_OK ? status : blank_bytes(dec, v, out);
}
