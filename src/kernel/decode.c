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

#include "kernel/bitpack.h"
#include "kernel/float_order.h"

#define N GPUCOL_VECTOR_VALUES
#define NO_VECTOR UINT32_MAX

/* LZ4 never expands a byte to more than this */
#define LZ4_MAX_EXPANSION 255

/* bytes of word rows in a page */
#define PAGE_BYTES (GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES)

/* A packed vector's word rows where they straddle a page. */
typedef struct Scratch
{
	char		rows[64 * GPUCOL_ROW_BYTES] __attribute__((aligned(64)));
} Scratch;

/*
 * Word rows row .. row + n - 1 of a stream: in place, or copied to scratch where
 * they straddle a page; NULL if not in the stream or not mapped.
 */
static const char *
stream_rows(const GpucolDecoder *dec, GpucolStreamKind kind, uint32_t row,
			uint32_t n, void *scratch)
{
	const GpucolStream *stream = &dec->desc->streams[kind];
	const GpucolRows *window = &dec->rows[kind];
	uint32_t	first;
	uint32_t	last;

	if (n == 0 || row >= stream->nrows || n > stream->nrows - row)
		return NULL;
	first = (stream->row + row) / GPUCOL_PAGE_ROWS;
	last = (stream->row + row + n - 1) / GPUCOL_PAGE_ROWS;
	if (first < window->first_page || last - window->first_page >= window->npages)
		return NULL;
	return gpucol_rows_at(window, stream->row + row, n, scratch);
}

/* Copy bytes offset .. offset + len - 1 of a stream. */
static GpucolStatus
stream_copy(const GpucolDecoder *dec, GpucolStreamKind kind, uint64_t offset,
			size_t len, void *out)
{
	char	   *to = out;

	while (len > 0)
	{
		char		scratch[GPUCOL_ROW_BYTES];
		size_t		within = offset % GPUCOL_ROW_BYTES;
		size_t		take = GPUCOL_ROW_BYTES - within;
		const char *from;

		if (offset / GPUCOL_ROW_BYTES > UINT32_MAX)
			return GPUCOL_CORRUPT;
		from = stream_rows(dec, kind, (uint32_t) (offset / GPUCOL_ROW_BYTES), 1,
						   scratch);
		if (from == NULL)
			return GPUCOL_CORRUPT;
		take = take < len ? take : len;
		memcpy(to, from + within, take);
		to += take;
		offset += take;
		len -= take;
	}
	return GPUCOL_OK;
}

/* Bytes of a stream in place; NULL unless they lie in one mapped page. */
static const char *
stream_bytes(const GpucolDecoder *dec, GpucolStreamKind kind, uint64_t offset,
			 uint64_t len)
{
	uint64_t	first = offset / GPUCOL_ROW_BYTES;
	uint64_t	last = (offset + (len > 0 ? len - 1 : 0)) / GPUCOL_ROW_BYTES;
	uint32_t	start = dec->desc->streams[kind].row;
	const char *rows;

	if (last >= dec->desc->streams[kind].nrows ||
		(start + first) / GPUCOL_PAGE_ROWS != (start + last) / GPUCOL_PAGE_ROWS)
		return NULL;
	rows = stream_rows(dec, kind, (uint32_t) first, (uint32_t) (last - first + 1),
					   NULL);
	return rows ? rows + offset % GPUCOL_ROW_BYTES : NULL;
}

/* Codes of packed vector v; `n` is how many vectors CODES has. */
static const void *
packed_vector(const GpucolDecoder *dec, uint32_t v, Scratch *scratch)
{
	uint32_t	width = dec->desc->width;

	if (width == 0)
		return scratch->rows;
	return stream_rows(dec, GPUCOL_STREAM_CODES, v * width, width, scratch->rows);
}

/* Rows in vector v. */
static uint32_t
vector_rows(const GpucolDecoder *dec, uint32_t v)
{
	uint32_t	left = dec->nrows - v * N;

	return left < N ? left : N;
}

/* Make *buffer hold at least `size` bytes; contents are not kept. */
static GpucolStatus
reserve(GpucolDecoder *dec, char **buffer, size_t *have, size_t size)
{
	if (*have >= size && *buffer != NULL)
		return GPUCOL_OK;
	if (*buffer != NULL)
		dec->memory.free(dec->memory.context, *buffer);
	*buffer = NULL;
	*have = 0;
	*buffer = dec->memory.alloc(dec->memory.context, size);
	if (*buffer == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	*have = size;
	return GPUCOL_OK;
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
	dec->block_vector = NO_VECTOR;
}

void
gpucol_decode_map(GpucolDecoder *dec, GpucolStreamKind stream,
				  const GpucolRows *rows)
{
	dec->rows[stream] = *rows;
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
	dec->block_vector = NO_VECTOR;
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
			if (desc->coding == GPUCOL_CODING_RAW)
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
	status = stream_copy(dec, GPUCOL_STREAM_DICT, 0, n * sizeof(int64_t), values);
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
	status = stream_copy(dec, GPUCOL_STREAM_DICT, 0, offsets_size, offsets);
	if (status == GPUCOL_OK)
		status = stream_copy(dec, GPUCOL_STREAM_DATA, 0, data_bytes, data);
	if (status == GPUCOL_OK)
		status = make_entries((const uint64_t *) offsets, n, data, data_bytes,
							  (GpucolBytes *) memory);
	if (status == GPUCOL_OK)
		dec->entries = (const GpucolBytes *) memory;
	return status;
}

/* Values of the runs, a vector of codes at a time. */
static GpucolStatus
unpack_runs(GpucolDecoder *dec, int64_t *values)
{
	const GpucolChunkDesc *desc = dec->desc;
	Scratch		scratch;
	int64_t		vector[N];

	for (uint32_t v = 0; v < GPUCOL_VECTORS(desc->nruns); v++)
	{
		const void *words = packed_vector(dec, v, &scratch);
		uint32_t	left = desc->nruns - v * N;

		if (words == NULL)
			return GPUCOL_CORRUPT;
		gpucol_bitpack_unpack_for(desc->width, words, desc->reference, vector);
		memcpy(values + (size_t) v * N, vector,
			   (left < N ? left : N) * sizeof(int64_t));
	}
	return GPUCOL_OK;
}

static GpucolStatus
load_runs(GpucolDecoder *dec)
{
	uint32_t	n = dec->desc->nruns;
	char	   *memory = dec->memory.alloc(dec->memory.context,
										   n * (sizeof(int64_t) + sizeof(uint32_t)));
	int64_t    *values = (int64_t *) memory;
	uint32_t   *ends = (uint32_t *) (memory + n * sizeof(int64_t));
	GpucolStatus status;

	if (memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dec->loaded = memory;
	status = stream_copy(dec, GPUCOL_STREAM_RUN_ENDS, 0, n * sizeof(uint32_t), ends);
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
		row = stream_rows(dec, GPUCOL_STREAM_NULLS, v, 1, scratch);
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
	Scratch		scratch;
	const void *words;

	if (v >= dec->nvectors || desc->coding != GPUCOL_CODING_DICT)
		return GPUCOL_CORRUPT;
	words = packed_vector(dec, v, &scratch);
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
	Scratch		scratch;
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
	words = packed_vector(dec, v, &scratch);
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
	status = stream_copy(dec, GPUCOL_STREAM_OFFSETS, (uint64_t) v * 8, 16, pair);
	if (status != GPUCOL_OK)
		return status;
	if (pair[0] > pair[1] || pair[1] > dec->desc->data_bytes)
		return GPUCOL_CORRUPT;
	*start = pair[0];
	*end = pair[1];
	return GPUCOL_OK;
}

/* Bytes start .. end - 1 of DATA together: in place, else copied to *buffer. */
static GpucolStatus
contiguous(GpucolDecoder *dec, uint64_t start, uint64_t end, char **buffer,
		   size_t *have, const char **out)
{
	GpucolStatus status;

	*out = stream_bytes(dec, GPUCOL_STREAM_DATA, start, end - start);
	if (*out != NULL || start == end)
		return GPUCOL_OK;
	status = reserve(dec, buffer, have, (size_t) (end - start));
	if (status != GPUCOL_OK)
		return status;
	*out = *buffer;
	return stream_copy(dec, GPUCOL_STREAM_DATA, start, (size_t) (end - start),
					   *buffer);
}

/*
 * The `size` bytes of values of vector v, whose block is start .. end - 1, into
 * dec->block or in place.
 */
static GpucolStatus
read_block(GpucolDecoder *dec, uint32_t v, uint64_t start, uint64_t end,
		   uint64_t size, const char **out)
{
	GpucolStatus status;
	const char *packed;

	if (size == end - start)
	{
		dec->block_vector = NO_VECTOR;
		return contiguous(dec, start, end, &dec->block, &dec->block_size, out);
	}
	if (!(dec->desc->flags & GPUCOL_CHUNK_DATA_LZ4) ||
		end - start > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE ||
		size / LZ4_MAX_EXPANSION > end - start)
		return GPUCOL_CORRUPT;
	*out = dec->block;
	if (dec->block_vector == v)
		return GPUCOL_OK;
	dec->block_vector = NO_VECTOR;
	status = reserve(dec, &dec->block, &dec->block_size, (size_t) size);
	if (status == GPUCOL_OK)
		status = contiguous(dec, start, end, &dec->packed, &dec->packed_size, &packed);
	if (status != GPUCOL_OK)
		return status;
	if (packed == NULL ||
		LZ4_decompress_safe(packed, dec->block, (int) (end - start),
							(int) size) != (int) size)
		return GPUCOL_CORRUPT;
	dec->block_vector = v;
	*out = dec->block;
	return GPUCOL_OK;
}

static GpucolStatus
decode_raw_bytes(GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	Scratch		scratch;
	uint64_t	start;
	uint64_t	end;
	uint64_t	size = 0;
	uint32_t	lengths[N];
	const void *words = packed_vector(dec, v, &scratch);
	const char *data;
	GpucolStatus status = gpucol_decode_block(dec, v, &start, &end);

	if (words == NULL || status != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(dec->desc->width, words, lengths);
	for (int i = 0; i < N; i++)
		size += lengths[i];
	status = read_block(dec, v, start, end, size, &data);
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
		default:
			status = decode_raw_bytes(dec, v, out);
			break;
	}
	return status != GPUCOL_OK ? status : blank_bytes(dec, v, out);
}

/*
 * ---- single rows ----
 */

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
	bits = stream_rows(dec, GPUCOL_STREAM_NULLS, row / N, 1, scratch);
	if (bits == NULL)
		return GPUCOL_CORRUPT;
	*isnull = bits[row % N / 8] >> (row % 8) & 1;
	return GPUCOL_OK;
}

/* Code number i of CODES. */
static GpucolStatus
get_code(const GpucolDecoder *dec, uint32_t i, uint64_t *code)
{
	Scratch		scratch;
	const void *words = packed_vector(dec, i / N, &scratch);

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

		status = stream_copy(dec, GPUCOL_STREAM_RUN_ENDS, (uint64_t) mid * 4, 4, &end);
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
			return stream_copy(dec, GPUCOL_STREAM_DICT, code * 8, 8, out);
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
	status = stream_copy(dec, GPUCOL_STREAM_DICT, code * 8, 16, pair);
	if (status != GPUCOL_OK)
		return status;
	if (pair[0] > pair[1] || pair[1] > dec->desc->data_bytes)
		return GPUCOL_CORRUPT;
	out->len = (size_t) (pair[1] - pair[0]);
	out->data = "";
	if (out->len == 0)
		return GPUCOL_OK;
	return contiguous(dec, pair[0], pair[1], &dec->block, &dec->block_size, &out->data);
}

/*
 * A row of RAW bytes: its place in the block is the sum of the lengths before
 * it.  Uncompressed, only its own bytes are touched.
 */
static GpucolStatus
get_raw_bytes(GpucolDecoder *dec, uint32_t row, GpucolBytes *out)
{
	int			width = dec->desc->width;
	uint32_t	before[N / 32];
	Scratch		scratch;
	const void *words = packed_vector(dec, row / N, &scratch);
	uint64_t	start;
	uint64_t	end;
	uint64_t	size;
	uint64_t	skip;
	const char *data;
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
	if (size == end - start)
	{
		dec->block_vector = NO_VECTOR;
		return contiguous(dec, start + skip, start + skip + out->len,
						  &dec->block, &dec->block_size, &out->data);
	}
	status = read_block(dec, row / N, start, end, size, &data);
	if (status == GPUCOL_OK)
		out->data = data + skip;
	return status;
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
	return stream_copy(dec, GPUCOL_STREAM_ZONES, (uint64_t) v * sizeof(GpucolZone),
					   sizeof(GpucolZone), zone);
}
