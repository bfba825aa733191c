/*-------------------------------------------------------------------------
 *
 * encode_bytes.c
 *	  Choosing the coding of a chunk of BYTES values and writing it.
 *
 * A hash table numbers the distinct values as long as a dictionary can pay:
 * each time the number of rows seen has doubled, from FIRST_LOOK on, less than
 * three quarters of the rows since the last look may have brought a new value.
 * At the end the dictionary must be no larger than the plain bytes.  What
 * has a dictionary is answered once per distinct value by every engine, so a
 * dictionary is kept whenever it is smaller than the plain bytes.  All else
 * is RAW: packed lengths, an offset a vector, and the bytes, which LZ4
 * compresses a vector at a time where a sample says that it saves an eighth.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_chunk.h"

#include <lz4.h>
#include <stdlib.h>

#define N GPUCOL_VECTOR_VALUES
#define FIRST_LOOK 4096
#define SAMPLE_VECTORS 8

/* a block of more bytes than this is stored plain: readers hold it whole */
#define MAX_LZ4_BLOCK (64 * 1024 * 1024)

/* A distinct value. */
typedef struct Entry
{
	uint64_t	prefix;			/* first eight bytes, big-endian, zero-padded */
	GpucolBytes value;
	uint32_t	code;			/* provisional */
} Entry;

/* Slot of the hash table: code + 1, or 0 where free. */
typedef struct Slot
{
	uint32_t	hash;
	uint32_t	code;
} Slot;

typedef struct Dict
{
	Entry	   *entries;
	uint32_t	n;
	uint32_t	room;			/* entries allocated; the table has four times
								 * as many slots */
	Slot	   *table;
	uint32_t   *codes;			/* by row */
	uint64_t	bytes;			/* of the distinct values */
} Dict;

static uint64_t
hash_bytes(const char *data, size_t len)
{
	uint64_t	h = len * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t	word;

	for (; len >= 8; len -= 8, data += 8)
	{
		memcpy(&word, data, 8);
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, data, len);
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 32;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

static uint64_t
prefix_of(GpucolBytes value)
{
	uint64_t	word = 0;

	memcpy(&word, value.data, value.len < 8 ? value.len : 8);
	return __builtin_bswap64(word);
}

static inline bool
same_bytes(const GpucolBytes *a, const GpucolBytes *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* memcmp order, the shorter first. */
static int
compare_entries(const void *a, const void *b)
{
	const Entry *x = a;
	const Entry *y = b;
	size_t		len = x->value.len < y->value.len ? x->value.len : y->value.len;
	int			c;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	c = len > 8 ? memcmp(x->value.data + 8, y->value.data + 8, len - 8) : 0;
	if (c != 0)
		return c;
	return x->value.len < y->value.len ? -1 : x->value.len > y->value.len;
}

static void
dict_free(const GpucolChunkBuilder *b, Dict *dict)
{
	gpucol_chunk_free(b, dict->entries);
	gpucol_chunk_free(b, dict->table);
	gpucol_chunk_free(b, dict->codes);
	memset(dict, 0, sizeof(*dict));
}

/* Slot of a value, or the free one where it belongs. */
static Slot *
find_slot(const Dict *dict, const GpucolBytes *value, uint32_t hash)
{
	uint32_t	mask = dict->room * 4 - 1;
	uint32_t	i = hash & mask;

	while (dict->table[i].code != 0 &&
		   (dict->table[i].hash != hash ||
			!same_bytes(&dict->entries[dict->table[i].code - 1].value, value)))
		i = (i + 1) & mask;
	return &dict->table[i];
}

/* Give the dictionary room for `room` entries, a power of two. */
static GpucolStatus
dict_grow(const GpucolChunkBuilder *b, Dict *dict, uint32_t room)
{
	size_t		table_size = (size_t) room * 4 * sizeof(Slot);
	Entry	   *entries = gpucol_chunk_alloc(b, room * sizeof(Entry));
	Slot	   *table = gpucol_chunk_alloc(b, table_size);
	Slot	   *old = dict->table;
	uint32_t	old_slots = dict->room * 4;

	if (entries == NULL || table == NULL)
	{
		gpucol_chunk_free(b, entries);
		gpucol_chunk_free(b, table);
		return GPUCOL_OUT_OF_MEMORY;
	}
	if (dict->n > 0)
		memcpy(entries, dict->entries, dict->n * sizeof(Entry));
	memset(table, 0, table_size);
	for (uint32_t i = 0; i < old_slots; i++)
	{
		uint32_t	to = old[i].hash & (room * 4 - 1);

		if (old[i].code == 0)
			continue;
		while (table[to].code != 0)
			to = (to + 1) & (room * 4 - 1);
		table[to] = old[i];
	}
	gpucol_chunk_free(b, dict->entries);
	gpucol_chunk_free(b, old);
	dict->entries = entries;
	dict->table = table;
	dict->room = room;
	return GPUCOL_OK;
}

/* Provisional code of a value, new or old. */
static GpucolStatus
dict_number(const GpucolChunkBuilder *b, Dict *dict, const GpucolBytes *value,
			uint32_t *code)
{
	uint32_t	hash = (uint32_t) hash_bytes(value->data, value->len);
	Slot	   *slot = find_slot(dict, value, hash);

	if (slot->code == 0)
	{
		Entry	   *entry;

		if (dict->n == dict->room)
		{
			GpucolStatus status = dict_grow(b, dict, dict->room * 2);

			if (status != GPUCOL_OK)
				return status;
			slot = find_slot(dict, value, hash);
		}
		entry = &dict->entries[dict->n];
		entry->prefix = prefix_of(*value);
		entry->value = *value;
		entry->code = dict->n++;
		dict->bytes += value->len;
		slot->hash = hash;
		slot->code = dict->n;
	}
	*code = slot->code - 1;
	return GPUCOL_OK;
}

/* Is a dictionary of the rows seen smaller than their plain bytes? */
static bool
dict_pays(const Dict *dict, uint64_t rows, uint64_t plain_bytes)
{
	uint64_t	codes = rows * (uint64_t) gpucol_bitpack_width(dict->n - 1) / 8;

	return codes + 8 * ((uint64_t) dict->n + 1) + dict->bytes <= plain_bytes + rows;
}

/*
 * Number the values of all rows.  GPUCOL_END if a dictionary does not pay;
 * what it holds is then to be freed.
 */
static GpucolStatus
dict_build(const GpucolChunkBuilder *b, Dict *dict)
{
	uint64_t	seen = 0;
	uint64_t	plain = 0;
	uint64_t	look = FIRST_LOOK;
	uint64_t	looked = 0;
	uint32_t	known = 0;		/* distinct values at the last look */
	const GpucolBytes *last = NULL;
	uint32_t	code = 0;
	GpucolStatus status = dict_grow(b, dict, 1024);

	if (status != GPUCOL_OK)
		return status;
	dict->codes = gpucol_chunk_alloc(b, (size_t) b->nrows * sizeof(uint32_t));
	if (dict->codes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t row = 0; row < b->nrows; row++)
	{
		const GpucolBytes *value = &b->column->bytes[row];

		dict->codes[row] = code;
		if (gpucol_chunk_is_null(b, row))
			continue;
		seen++;
		plain += value->len;
		if (last != NULL && same_bytes(last, value))
			continue;
		last = value;
		status = dict_number(b, dict, value, &code);
		if (status != GPUCOL_OK)
			return status;
		dict->codes[row] = code;
		if (seen >= look)
		{
			if (dict->n - known > (look - looked) / 4 * 3)
				return GPUCOL_END;
			known = dict->n;
			looked = look;
			look *= 2;
		}
	}
	return dict->n == 1 || dict_pays(dict, seen, plain) ? GPUCOL_OK : GPUCOL_END;
}

/* Sort the entries and renumber the rows' codes. */
static GpucolStatus
dict_sort(const GpucolChunkBuilder *b, Dict *dict)
{
	uint32_t   *rank = gpucol_chunk_alloc(b, dict->n * sizeof(uint32_t));

	if (rank == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	qsort(dict->entries, dict->n, sizeof(Entry), compare_entries);
	for (uint32_t i = 0; i < dict->n; i++)
		rank[dict->entries[i].code] = i;
	for (uint32_t row = 0; row < b->nrows; row++)
		dict->codes[row] = rank[dict->codes[row]];
	gpucol_chunk_free(b, rank);
	return GPUCOL_OK;
}

/* Offsets and bytes of the sorted entries. */
static void
write_entries(const GpucolChunkBuilder *b, const Dict *dict)
{
	uint64_t   *offsets = gpucol_chunk_stream(b, GPUCOL_STREAM_DICT);
	char	   *data = gpucol_chunk_stream(b, GPUCOL_STREAM_DATA);
	uint64_t	at = 0;

	for (uint32_t i = 0; i < dict->n; i++)
	{
		offsets[i] = at;
		if (dict->entries[i].value.len > 0)
			memcpy(data + at, dict->entries[i].value.data, dict->entries[i].value.len);
		at += dict->entries[i].value.len;
	}
	offsets[dict->n] = at;
}

static GpucolStatus
encode_dict(GpucolChunkBuilder *b, Dict *dict)
{
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	uint32_t	tail[N];
	char	   *words;
	GpucolStatus status = dict_sort(b, dict);

	if (status != GPUCOL_OK)
		return status;
	b->desc.coding = dict->n == 1 ? GPUCOL_CODING_CONSTANT : GPUCOL_CODING_DICT;
	b->desc.width = (uint8_t) gpucol_bitpack_width(dict->n - 1);
	b->desc.ndict = dict->n;
	b->desc.data_bytes = dict->bytes;
	sizes[GPUCOL_STREAM_CODES] = (uint64_t) b->nvectors * b->desc.width * GPUCOL_ROW_BYTES;
	sizes[GPUCOL_STREAM_DICT] = 8 * ((uint64_t) dict->n + 1);
	sizes[GPUCOL_STREAM_DATA] = dict->bytes;
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK)
		return status;
	write_entries(b, dict);
	words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		memset(tail + n, 0, (N - n) * sizeof(uint32_t));
		memcpy(tail, dict->codes + (size_t) v * N, n * sizeof(uint32_t));
		gpucol_bitpack_pack32(b->desc.width, tail, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
	return GPUCOL_OK;
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
			(uint32_t) b->column->bytes[row].len : 0;
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
			memcpy(out, b->column->bytes[v * N + i].data, lengths[i]);
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
		uint64_t	len = gpucol_chunk_is_null(b, row) ? 0 : b->column->bytes[row].len;

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
	return block > MAX_LZ4_BLOCK ? (size_t) block : (size_t) LZ4_compressBound((int) block);
}

/*
 * Store the values of vector v at `out`, compressed if that saves a sixteenth.
 * Returns the stored size, which equals `size` exactly if they are plain.
 */
static uint64_t
store_block(const GpucolChunkBuilder *b, uint32_t v, const uint32_t *lengths,
			uint64_t size, char *plain, char *out)
{
	int			packed;

	if (size == 0 || size > MAX_LZ4_BLOCK)
	{
		gather(b, v, lengths, out);
		return size;
	}
	gather(b, v, lengths, plain);
	packed = LZ4_compress_default(plain, out, (int) size,
								  LZ4_compressBound((int) size));
	if (packed > 0 && (uint64_t) packed <= size - size / 16 - 1)
		return (uint64_t) packed;
	memcpy(out, plain, size);
	return size;
}

/* Would LZ4 save an eighth of some vectors spread over the chunk? */
static bool
lz4_pays(const GpucolChunkBuilder *b, char *plain, char *out)
{
	uint32_t	step = b->nvectors / SAMPLE_VECTORS + 1;
	uint64_t	before = 0;
	uint64_t	after = 0;
	uint32_t	lengths[N];

	for (uint32_t v = 0; v < b->nvectors; v += step)
	{
		uint64_t	size = vector_lengths(b, v, lengths);

		if (size > MAX_LZ4_BLOCK)
			continue;
		before += size;
		after += store_block(b, v, lengths, size, plain, out);
	}
	return after < before - before / 8;
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

GpucolStatus
gpucol_chunk_encode_bytes(GpucolChunkBuilder *b)
{
	Dict		dict = {0};
	GpucolStatus status = dict_build(b, &dict);

	if (status == GPUCOL_OK)
		status = encode_dict(b, &dict);
	dict_free(b, &dict);
	if (status == GPUCOL_END)
		status = encode_raw(b);
	return status;
}
