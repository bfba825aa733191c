/*-------------------------------------------------------------------------
 *
 * encode_bytes.c
 *	  Choosing the coding of a chunk of BYTES values and writing it.
 *
 * encode_dict.c numbers the distinct values as long as a dictionary can pay, while
 * rows arrive in the writer or here.  Values that come in turn, each of many before any
 * of them comes again, look as if they did not repeat; so where that was given up a sample
 * of all rows tells whether to try once more.  At the end the dictionary must be no larger
 * than the plain bytes, or not much: what has one is answered once per distinct value
 * by every engine.  All else is RAW: packed lengths, an offset a vector, and the bytes,
 * which LZ4 compresses a vector at a time where a sample says that it saves an
 * eighth: in pieces, so that a single value is read without those far from it.
 * Numerics of more distinct values than a dictionary of numbers may have are mantissas
 * instead, where they can be (encode_numeric.c), and arrays lengths and elements (encode_array.c).
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_chunk.h"

#include <lz4.h>
#include <stdlib.h>

#define N GPUCOL_VECTOR_VALUES
#define SAMPLE_VECTORS 8
#define SAMPLE_ROWS 4096

/* numerics of more distinct values are mantissas rather than entries, arrays lengths and elements */
#define MAX_FORMED_DICT 65536

/* a block of more bytes than this is stored plain: readers hold it whole */
#define MAX_LZ4_BLOCK (64 * 1024 * 1024)

static uint64_t
prefix_of(GpucolBytes value)
{
	uint64_t	word = 0;

	memcpy(&word, value.data, value.len < 8 ? value.len : 8);
	return __builtin_bswap64(word);
}

/* memcmp order, the shorter first. */
static int
compare_entries(const void *a, const void *b)
{
	const GpucolDictEntry *x = a;
	const GpucolDictEntry *y = b;
	size_t		len = x->value.len < y->value.len ? x->value.len : y->value.len;
	int			c;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	c = len > 8 ? memcmp(x->value.data + 8, y->value.data + 8, len - 8) : 0;
	if (c != 0)
		return c;
	return x->value.len < y->value.len ? -1 : x->value.len > y->value.len;
}

/* Number the values of all rows, NULLs like the one before; GPUCOL_END if a dictionary
 * does not pay. */
static GpucolStatus
dict_build(const GpucolChunkBuilder *b, GpucolDict *dict, uint32_t *codes)
{
	GpucolBytes values[GPUCOL_DICT_AHEAD];
	uint32_t	found[GPUCOL_DICT_AHEAD];
	uint32_t	code = 0;

	for (uint32_t from = 0, end; from < b->nrows; from = end)
	{
		uint32_t	n = 0;
		uint32_t	done;
		GpucolStatus status;

		end = b->nrows - from < GPUCOL_DICT_AHEAD ? b->nrows : from + GPUCOL_DICT_AHEAD;
		for (uint32_t row = from; row < end; row++)
			if (!gpucol_chunk_is_null(b, row))
				values[n++] = gpucol_chunk_bytes(b, row);
		status = gpucol_dict_add(dict, values, n, found, &done);
		if (status != GPUCOL_OK)
			return status;
		n = 0;
		for (uint32_t row = from; row < end; row++)
		{
			if (!gpucol_chunk_is_null(b, row))
				code = found[n++];
			codes[row] = code;
		}
	}
	return gpucol_dict_pays(dict) ? GPUCOL_OK : GPUCOL_END;
}

/*
 * The distinct values sorted; rank[] becomes the final code of a provisional one.  Both are the caller's to free,
 * also after an error.
 */
GpucolStatus
gpucol_chunk_sort_entries(const GpucolChunkBuilder *b, const GpucolDict *dict, GpucolDictEntry **entries,
						  uint32_t **rank)
{
	*entries = gpucol_chunk_alloc(b, dict->n * sizeof(GpucolDictEntry));
	*rank = gpucol_chunk_alloc(b, dict->n * sizeof(uint32_t));
	if (*entries == NULL || *rank == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < dict->n; i++)
		(*entries)[i] = (GpucolDictEntry) {prefix_of(dict->values[i]), dict->values[i], i};
	qsort(*entries, dict->n, sizeof(GpucolDictEntry), compare_entries);
	for (uint32_t i = 0; i < dict->n; i++)
		(*rank)[(*entries)[i].code] = i;
	return GPUCOL_OK;
}

/* Offsets and bytes of the sorted entries. */
void
gpucol_chunk_write_entries(const GpucolChunkBuilder *b, const GpucolDictEntry *entries, uint32_t n)
{
	uint64_t   *offsets = gpucol_chunk_stream(b, GPUCOL_STREAM_DICT);
	char	   *data = gpucol_chunk_stream(b, GPUCOL_STREAM_DATA);
	uint64_t	at = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		offsets[i] = at;
		if (entries[i].value.len > 0)
			memcpy(data + at, entries[i].value.data, entries[i].value.len);
		at += entries[i].value.len;
	}
	offsets[n] = at;
}

/* Pack the final codes of all rows. */
static void
write_codes(const GpucolChunkBuilder *b, const uint32_t *codes, const uint32_t *rank)
{
	char	   *words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	uint32_t	ranks[N];

	if (b->desc.width == 0)
		return;
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
			ranks[i] = rank[codes[(size_t) v * N + i]];
		memset(ranks + n, 0, (N - n) * sizeof(uint32_t));
		gpucol_bitpack_pack32(b->desc.width, ranks, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
}

static GpucolStatus
encode_dict(GpucolChunkBuilder *b, const GpucolDict *dict, const uint32_t *codes)
{
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	GpucolDictEntry *entries = NULL;
	uint32_t   *rank = NULL;
	GpucolStatus status = gpucol_chunk_sort_entries(b, dict, &entries, &rank);

	if (status == GPUCOL_OK)
	{
		b->desc.coding = dict->n == 1 ? GPUCOL_CODING_CONSTANT : GPUCOL_CODING_DICT;
		b->desc.width = (uint8_t) gpucol_bitpack_width(dict->n - 1);
		b->desc.ndict = dict->n;
		b->desc.data_bytes = dict->bytes;
		sizes[GPUCOL_STREAM_CODES] = (uint64_t) b->nvectors * b->desc.width * GPUCOL_ROW_BYTES;
		sizes[GPUCOL_STREAM_DICT] = 8 * ((uint64_t) dict->n + 1);
		sizes[GPUCOL_STREAM_DATA] = dict->bytes;
		status = gpucol_chunk_layout(b, sizes);
	}
	if (status == GPUCOL_OK)
	{
		gpucol_chunk_write_entries(b, entries, dict->n);
		write_codes(b, codes, rank);
	}
	gpucol_chunk_free(b, entries);
	gpucol_chunk_free(b, rank);
	return status;
}

/*
 * ---- raw ----
 */

/* Lengths of vector v's values and their sum; NULL rows have none. */
static uint64_t
vector_lengths(const GpucolChunkBuilder *b, uint32_t v, uint32_t *lengths)
{
	uint32_t	n = gpucol_chunk_vector_rows(b, v);
	uint64_t	sum = 0;

	for (uint32_t i = 0; i < N; i++)
	{
		uint32_t	row = v * N + i;

		lengths[i] = i < n && !gpucol_chunk_is_null(b, row) ?
			(uint32_t) gpucol_chunk_bytes(b, row).len : 0;
		sum += lengths[i];
	}
	return sum;
}

/* The values of vector v, one after another. */
static void
gather(const GpucolChunkBuilder *b, uint32_t v, const uint32_t *lengths, char *out)
{
	for (uint32_t i = 0; i < N; i++)
	{
		if (lengths[i] > 0)
			memcpy(out, gpucol_chunk_bytes(b, v * N + i).data, lengths[i]);
		out += lengths[i];
	}
}

/* Sizes over the whole chunk. */
typedef struct Sizes
{
	uint64_t	bytes;			/* of all values */
	uint64_t	block;			/* of the largest vector */
	uint64_t	length;			/* longest value */
} Sizes;

static Sizes
measure(const GpucolChunkBuilder *b)
{
	Sizes		sizes = {0, 0, 0};
	uint64_t	block = 0;

	for (uint32_t row = 0; row < b->nrows; row++)
	{
		uint64_t	len = gpucol_chunk_is_null(b, row) ? 0 : gpucol_chunk_bytes(b, row).len;

		block = row % N == 0 ? len : block + len;
		sizes.block = block > sizes.block ? block : sizes.block;
		sizes.length = len > sizes.length ? len : sizes.length;
		sizes.bytes += len;
	}
	return sizes;
}

/* Worst-case room for one stored block. */
static size_t
block_room(uint64_t block)
{
	return block > MAX_LZ4_BLOCK ? (size_t) block :
		(size_t) (GPUCOL_PIECES(block) + 1) * (sizeof(uint32_t) + LZ4_COMPRESSBOUND(GPUCOL_PIECE_BYTES));
}

/* Compress a piece, if that makes it smaller; returns the stored size. */
static uint32_t
store_piece(const char *plain, int size, char *out)
{
	int			packed = LZ4_compress_default(plain, out, size, LZ4_compressBound(size));

	if (packed > 0 && packed < size)
		return (uint32_t) packed;
	memcpy(out, plain, (size_t) size);
	return (uint32_t) size;
}

/* Compress the values of a vector piece by piece. */
static uint64_t
store_pieces(const char *plain, uint64_t size, char *out)
{
	uint64_t	n = GPUCOL_PIECES(size);
	uint32_t	end = 0;

	if (n == 1)
		return store_piece(plain, (int) size, out);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	from = i * GPUCOL_PIECE_BYTES;
		uint64_t	left = size - from;

		end += store_piece(plain + from, (int) (left < GPUCOL_PIECE_BYTES ? left : GPUCOL_PIECE_BYTES),
						   out + n * sizeof(end) + end);
		memcpy(out + i * sizeof(end), &end, sizeof(end));
	}
	return n * sizeof(end) + end;
}

/*
 * Store the values of vector v at `out`, compressed if that saves a sixteenth.
 * Returns the stored size, which equals `size` exactly if they are plain.
 */
static uint64_t
store_block(const GpucolChunkBuilder *b, uint32_t v, const uint32_t *lengths,
			uint64_t size, char *plain, char *out)
{
	uint64_t	packed;

	if (size == 0 || size > MAX_LZ4_BLOCK)
	{
		gather(b, v, lengths, out);
		return size;
	}
	gather(b, v, lengths, plain);
	packed = store_pieces(plain, size, out);
	if (packed <= size - size / 16 - 1)
		return packed;
	memcpy(out, plain, size);
	return size;
}

/* What LZ4 makes of some vectors spread over the chunk: their bytes before and after. */
static void
sample_lz4(const GpucolChunkBuilder *b, char *plain, char *out, uint64_t *before, uint64_t *after)
{
	uint32_t	step = b->nvectors / SAMPLE_VECTORS + 1;
	uint32_t	lengths[N];

	*before = *after = 0;

	for (uint32_t v = 0; v < b->nvectors; v += step)
	{
		uint64_t	size = vector_lengths(b, v, lengths);

		if (size > MAX_LZ4_BLOCK)
			continue;
		*before += size;
		*after += store_block(b, v, lengths, size, plain, out);
	}
}

/* Would it save an eighth of them? */
static bool
lz4_pays(const GpucolChunkBuilder *b, char *plain, char *out)
{
	uint64_t	before;
	uint64_t	after;

	sample_lz4(b, plain, out, &before, &after);
	return after < before - before / 8;
}

GpucolStatus
gpucol_chunk_estimate_raw(const GpucolChunkBuilder *b, uint64_t *bytes)
{
	Sizes		sizes = measure(b);
	size_t		room = block_room(sizes.block);
	char	   *plain = gpucol_chunk_alloc(b, room);
	char	   *out = gpucol_chunk_alloc(b, room);
	uint64_t	before;
	uint64_t	after;
	bool		made = plain != NULL && out != NULL;

	*bytes = sizes.bytes;
	if (made)
	{
		sample_lz4(b, plain, out, &before, &after);
		if (before > 0)
			*bytes = (uint64_t) ((double) sizes.bytes * (double) after / (double) before);
	}
	gpucol_chunk_free(b, plain);
	gpucol_chunk_free(b, out);
	return made ? GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;
}

/* Lay out and fill the streams; data holds `bytes` stored bytes already. */
static GpucolStatus
write_raw(GpucolChunkBuilder *b, const uint64_t *offsets, const char *data)
{
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	uint32_t	lengths[N];
	char	   *words;
	GpucolStatus status;

	sizes[GPUCOL_STREAM_CODES] = (uint64_t) b->nvectors * b->desc.width * GPUCOL_ROW_BYTES;
	sizes[GPUCOL_STREAM_OFFSETS] = 8 * ((uint64_t) b->nvectors + 1);
	sizes[GPUCOL_STREAM_DATA] = b->desc.data_bytes;
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK)
		return status;
	memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_OFFSETS), offsets,
		   sizes[GPUCOL_STREAM_OFFSETS]);
	if (data != NULL)
		memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_DATA), data, b->desc.data_bytes);
	words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		uint64_t	size = vector_lengths(b, v, lengths);

		gpucol_bitpack_pack32(b->desc.width, lengths, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
		if (data == NULL && size > 0)
			gather(b, v, lengths, (char *) gpucol_chunk_stream(b, GPUCOL_STREAM_DATA) +
				   offsets[v]);
	}
	return GPUCOL_OK;
}

/* Compress every vector into one buffer, then write; GPUCOL_END if no gain. */
static GpucolStatus
encode_lz4(GpucolChunkBuilder *b, const Sizes *sizes, uint64_t *offsets)
{
	size_t		room = block_room(sizes->block);
	char	   *plain = gpucol_chunk_alloc(b, room);
	char	   *out = gpucol_chunk_alloc(b, (size_t) sizes->bytes + room);
	uint32_t	lengths[N];
	GpucolStatus status = GPUCOL_OUT_OF_MEMORY;

	if (plain != NULL && out != NULL)
	{
		status = GPUCOL_END;
		if (lz4_pays(b, plain, out))
		{
			for (uint32_t v = 0; v < b->nvectors; v++)
			{
				uint64_t	size = vector_lengths(b, v, lengths);

				offsets[v + 1] = offsets[v] +
					store_block(b, v, lengths, size, plain, out + offsets[v]);
			}
			b->desc.flags |= GPUCOL_CHUNK_DATA_LZ4;
			if (sizes->block > GPUCOL_PIECE_BYTES)
				b->desc.flags |= GPUCOL_CHUNK_DATA_PIECES;
			b->desc.data_bytes = offsets[b->nvectors];
			status = write_raw(b, offsets, out);
		}
	}
	gpucol_chunk_free(b, plain);
	gpucol_chunk_free(b, out);
	return status;
}

static GpucolStatus
encode_raw(GpucolChunkBuilder *b)
{
	Sizes		sizes = measure(b);
	uint64_t   *offsets;
	uint32_t	lengths[N];
	GpucolStatus status = GPUCOL_END;

	if (sizes.length > UINT32_MAX)
		return GPUCOL_UNSUPPORTED;
	b->desc.coding = GPUCOL_CODING_RAW;
	b->desc.width = (uint8_t) gpucol_bitpack_width(sizes.length);
	b->desc.data_bytes = sizes.bytes;
	offsets = gpucol_chunk_alloc(b, 8 * ((size_t) b->nvectors + 1));
	if (offsets == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	offsets[0] = 0;
	if (sizes.bytes > 0)
		status = encode_lz4(b, &sizes, offsets);
	if (status == GPUCOL_END)
	{
		for (uint32_t v = 0; v < b->nvectors; v++)
			offsets[v + 1] = offsets[v] + vector_lengths(b, v, lengths);
		status = write_raw(b, offsets, NULL);
	}
	gpucol_chunk_free(b, offsets);
	return status;
}

/*
 * Try a dictionary of values that come without one, to the end if `persist`; GPUCOL_END if
 * none pays.
 */
static GpucolStatus
try_dict(GpucolChunkBuilder *b, bool persist)
{
	GpucolDict	dict;
	GpucolStatus status = gpucol_dict_begin(&dict, b->memory);
	uint32_t   *codes = gpucol_chunk_alloc(b, (size_t) b->nrows * sizeof(uint32_t));

	if (codes == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	if (persist)
		gpucol_dict_persist(&dict);
	if (status == GPUCOL_OK)
		status = dict_build(b, &dict, codes);
	if (status == GPUCOL_OK)
		status = encode_dict(b, &dict, codes);
	gpucol_dict_free(&dict);
	gpucol_chunk_free(b, codes);
	return status;
}

/* Number the values of one row in each stretch of the chunk, somewhere in it. */
static GpucolStatus
sample_rows(const GpucolChunkBuilder *b, GpucolDict *dict)
{
	uint64_t	random = 1;
	GpucolStatus status = GPUCOL_OK;

	gpucol_dict_persist(dict);
	for (uint64_t i = 0; i < SAMPLE_ROWS && status == GPUCOL_OK; i++)
	{
		uint64_t	from = i * b->nrows / SAMPLE_ROWS;
		uint64_t	rows = (i + 1) * b->nrows / SAMPLE_ROWS - from;
		GpucolBytes value;
		uint32_t	row;
		uint32_t	code;
		uint32_t	done;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		row = (uint32_t) (from + (random >> 33) % rows);
		if (gpucol_chunk_is_null(b, row))
			continue;
		value = gpucol_chunk_bytes(b, row);
		status = gpucol_dict_add(dict, &value, 1, &code, &done);
	}
	return status;
}

/*
 * Do so many of the values in a sample repeat that a third as many as there are rows may
 * be distinct?  Of n values of d that are equally frequent some n * n / (2 * d) do; no row
 * is in the sample twice.
 */
static bool
repeats_at_a_distance(const GpucolChunkBuilder *b)
{
	GpucolDict	dict;
	bool		repeats;

	if (b->nrows < 4 * SAMPLE_ROWS)
		return false;
	repeats = gpucol_dict_begin(&dict, b->memory) == GPUCOL_OK &&
		sample_rows(b, &dict) == GPUCOL_OK &&
		(dict.seen - dict.n) * 2 * b->nrows > 3 * dict.seen * dict.seen;
	gpucol_dict_free(&dict);
	return repeats;
}

/* The codings of values of a known form: numerics and arrays; GPUCOL_END if they are not, or none fits. */
static GpucolStatus
encode_formed(GpucolChunkBuilder *b)
{
	if (b->column->numerics)
		return gpucol_chunk_encode_numerics(b);
	return b->column->item_type != 0 ? gpucol_chunk_encode_arrays(b) : GPUCOL_END;
}

GpucolStatus
gpucol_chunk_encode_bytes(GpucolChunkBuilder *b)
{
	const GpucolEncodeColumn *column = b->column;
	bool		coded = column->dict != NULL && gpucol_dict_pays(column->dict);
	GpucolStatus status = GPUCOL_END;

	if (coded ? column->dict->n > MAX_FORMED_DICT : column->dict != NULL || column->ends != NULL)
		status = encode_formed(b);
	if (status != GPUCOL_END)
		return status;
	if (coded)
		status = encode_dict(b, column->dict, column->codes);
	else if (column->dict == NULL && column->ends == NULL)
		status = try_dict(b, false);
	if (status == GPUCOL_END && column->dict == NULL && repeats_at_a_distance(b))
		status = try_dict(b, true);
	return status == GPUCOL_END ? encode_raw(b) : status;
}
