/*-------------------------------------------------------------------------
 *
 * encode_array.c
 *	  Arrays as lengths and elements (kernel/array_code.h).
 *
 * Two passes over the arrays, of which each vector's elements are taken at a time: the first forms each
 * array as a reader will and compares the bytes with those that were given, and finds the range of
 * the elements, or numbers the texts; the second packs them.  A chunk with an array of another form
 * (dimensions, a lower bound, NULLs or bytes between elements that construct_md_array would not leave), or with a
 * vector of so many elements that readers would not form them at once, is left to encode_bytes.c; so are
 * arrays that LZ4 makes smaller.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_chunk.h"

#include "kernel/array_code.h"

#define N GPUCOL_VECTOR_VALUES

/* LZ4 must save so much of what elements take, as a share of it: a quarter */
#define LZ4_SHARE 4

/* Elements of a vector. */
typedef struct Items
{
	uint32_t	n;
	int64_t    *values;			/* numbers, or provisional codes of texts */
	uint8_t    *nulls;			/* a byte for each */
	GpucolBytes *texts;
	uint32_t   *codes;			/* scratch for the dictionary */
} Items;

typedef struct Encoder
{
	GpucolChunkBuilder *b;
	uint32_t	most;			/* elements of a vector */
	uint32_t	longest;		/* of an array */
	uint64_t	nitems;
	Items		items;
	GpucolDict	dict;			/* of texts */
	const uint32_t *rank;		/* their final codes by provisional ones, in the second pass */
	bool		some_null;
	bool		any;			/* some element is not NULL */
	int64_t		least;
	int64_t		greatest;
	/* second pass: elements on their way into a packed vector */
	int64_t		group[N];
	uint32_t	group_nulls[N / 32];
	uint32_t	ngroup;
	int64_t		last;			/* the code of NULLs: that of the element before */
	char	   *to;
} Encoder;

/* Count elements; false if an array has not the form. */
static bool
count_items(Encoder *e)
{
	const GpucolChunkBuilder *b = e->b;
	uint64_t	of_vector = 0;

	for (uint32_t row = 0; row < b->nrows; row++)
	{
		GpucolArrayValue array;
		GpucolBytes value;

		if (row % N == 0)
			of_vector = 0;
		if (gpucol_chunk_is_null(b, row))
			continue;
		value = gpucol_chunk_bytes(b, row);
		if (!gpucol_array_open(value, &array) || array.ndim > 1 ||
			(uint32_t) gpucol_array_int(value.data, 2) != b->column->item_type ||
			(array.ndim == 1 && array.nitems == 0))
			return false;
		of_vector += array.nitems;
		if (of_vector > GPUCOL_ARRAY_VECTOR_ITEMS)
			return false;
		e->nitems += array.nitems;
		e->most = of_vector > e->most ? (uint32_t) of_vector : e->most;
		e->longest = array.nitems > e->longest ? array.nitems : e->longest;
	}
	return e->nitems > 0;
}

/* Append n integers of a width. */
#define TAKE_INTEGERS(T) \
	do \
	{ \
		for (uint32_t i = 0; i < n; i++) \
		{ \
			T			value; \
\
			memcpy(&value, from + i * sizeof(T), sizeof(T)); \
			to[i] = value; \
		} \
	} while (0)

static void
take_integers(Items *items, const char *from, int width, uint32_t n)
{
	int64_t    *to = items->values + items->n;

	switch (width)
	{
		case 1:
			TAKE_INTEGERS(int8_t);
			break;
		case 2:
			TAKE_INTEGERS(int16_t);
			break;
		case 4:
			TAKE_INTEGERS(int32_t);
			break;
		default:
			TAKE_INTEGERS(int64_t);
	}
	memset(items->nulls + items->n, 0, n);
	items->n += n;
}

/* Append the elements of an array; false if its bytes end too soon. */
static bool
take_items(Encoder *e, const GpucolArrayValue *array)
{
	GpucolArrayPlace place = gpucol_array_begin(array);
	Items	   *items = &e->items;
	int			width = e->b->column->item_bytes;
	GpucolBytes item;
	bool		isnull;

	if (array->present == NULL && width > 0)
	{
		if ((uint64_t) array->nitems * (uint32_t) width > array->end - array->first)
			return false;
		take_integers(items, array->base + array->first, width, array->nitems);
		return true;
	}
	while (gpucol_array_next(array, width, &place, &item, &isnull))
	{
		uint32_t	i = items->n++;

		items->nulls[i] = isnull;
		e->some_null |= isnull;
		if (items->texts != NULL)
			items->texts[i] = item;
		if (isnull || items->texts != NULL)
			items->values[i] = 0;
		else
			items->values[i] = width == 1 ? (int64_t) (int8_t) item.data[0] : gpucol_array_integer(item);
	}
	return place.number == array->nitems;
}

/* Number the texts of a vector. */
static GpucolStatus
number_texts(Encoder *e)
{
	Items	   *items = &e->items;
	uint32_t	n = 0;
	uint32_t	done;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t i = 0; i < items->n; i++)
		if (items->nulls[i] == 0)
			items->texts[n++] = items->texts[i];
	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i += GPUCOL_DICT_AHEAD)
		status = gpucol_dict_add(&e->dict, items->texts + i, n - i < GPUCOL_DICT_AHEAD ? n - i : GPUCOL_DICT_AHEAD,
								 items->codes + i, &done);
	n = 0;
	for (uint32_t i = 0; i < items->n; i++)
		if (items->nulls[i] == 0)
			items->values[i] = items->codes[n++];
	return status;
}

/* The elements of vector v; GPUCOL_END if its arrays have not the form, or a dictionary does not pay. */
static GpucolStatus
take_vector(Encoder *e, uint32_t v)
{
	const GpucolChunkBuilder *b = e->b;
	uint32_t	n = gpucol_chunk_vector_rows(b, v);

	e->items.n = 0;
	for (uint32_t row = v * N; row < v * N + n; row++)
	{
		GpucolArrayValue array;

		if (gpucol_chunk_is_null(b, row))
			continue;
		if (!gpucol_array_open(gpucol_chunk_bytes(b, row), &array) || !take_items(e, &array))
			return GPUCOL_END;
	}
	return e->items.texts != NULL ? number_texts(e) : GPUCOL_OK;
}

/* Do the arrays of vector v come back as they are, of elements that were taken?  `space` holds the longest one. */
static bool
forms_again(const Encoder *e, uint32_t v, char *space)
{
	const GpucolChunkBuilder *b = e->b;
	GpucolArrayForm form = {b->column->item_bytes, b->column->item_type, e->dict.values};
	const int64_t *values = e->items.values;
	const uint8_t *nulls = e->items.nulls;
	uint32_t	n = gpucol_chunk_vector_rows(b, v);
	size_t		bytes = 0;

	for (uint32_t row = v * N; row < v * N + n; row++)
	{
		GpucolArrayValue array;
		GpucolBytes value;

		if (gpucol_chunk_is_null(b, row))
			continue;
		value = gpucol_chunk_bytes(b, row);
		if (!gpucol_array_open(value, &array) ||
			gpucol_array_code_size(&form, values, nulls, array.nitems) != value.len)
			return false;
		gpucol_array_code_form(&form, values, nulls, array.nitems, space);
		if (memcmp(space, value.data, value.len) != 0)
			return false;
		values += array.nitems;
		nulls += array.nitems;
		bytes += value.len;
	}
	/* readers form empty arrays for NULLs besides */
	return bytes <= GPUCOL_ARRAY_VECTOR_BYTES - N * GPUCOL_ARRAY_EMPTY;
}

/* The longest value. */
static size_t
longest_value(const GpucolChunkBuilder *b)
{
	size_t		most = 0;

	for (uint32_t row = 0; row < b->nrows; row++)
		if (!gpucol_chunk_is_null(b, row) && gpucol_chunk_bytes(b, row).len > most)
			most = gpucol_chunk_bytes(b, row).len;
	return most;
}

/* The first pass. */
static GpucolStatus
look_at_items(Encoder *e)
{
	char	   *space = gpucol_chunk_alloc(e->b, longest_value(e->b));
	GpucolStatus status = space != NULL ? GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;

	for (uint32_t v = 0; v < e->b->nvectors && status == GPUCOL_OK; v++)
	{
		status = take_vector(e, v);
		if (status == GPUCOL_OK && !forms_again(e, v, space))
			status = GPUCOL_END;
		for (uint32_t i = 0; i < e->items.n; i++)
			if (e->items.nulls[i] == 0)
			{
				e->least = !e->any || e->items.values[i] < e->least ? e->items.values[i] : e->least;
				e->greatest = !e->any || e->items.values[i] > e->greatest ? e->items.values[i] : e->greatest;
				e->any = true;
			}
	}
	gpucol_chunk_free(e->b, space);
	return status == GPUCOL_OK && !e->any ? GPUCOL_END : status;
}

/*
 * The reference of numbers from least on.  No code of the width leaves the elements' type, so that what is
 * read is a value of it, whatever the bits.
 */
static int64_t
choose_reference(const GpucolChunkDesc *desc, int64_t least)
{
	int64_t		most;
	int64_t		last;

	if (desc->item_bytes == 8)
		return least;
	most = (INT64_C(1) << (8 * desc->item_bytes - 1)) - 1;
	last = most - (int64_t) gpucol_bitpack_max(desc->item_width);
	return least < last ? least : last;
}

/* Decide on the fields of the descriptor; GPUCOL_END if the arrays are smaller as bytes. */
static GpucolStatus
describe(Encoder *e)
{
	GpucolChunkBuilder *b = e->b;
	GpucolChunkDesc *desc = &b->desc;
	uint64_t	raw;
	uint64_t	bytes;
	GpucolStatus status = gpucol_chunk_estimate_raw(b, &raw);

	if (status != GPUCOL_OK)
		return status;
	desc->coding = GPUCOL_CODING_ARRAY;
	desc->width = (uint8_t) gpucol_bitpack_width(e->longest);
	desc->item_type = b->column->item_type;
	desc->item_bytes = b->column->item_bytes;
	desc->nitems = e->nitems;
	if (e->some_null)
		desc->flags |= GPUCOL_CHUNK_ITEM_NULLS;
	if (desc->item_bytes == 0)
	{
		desc->ndict = e->dict.n;
		desc->data_bytes = e->dict.bytes;
		desc->item_width = (uint8_t) gpucol_bitpack_width(e->dict.n - 1);
	}
	else
	{
		desc->item_width = (uint8_t) gpucol_bitpack_width((uint64_t) e->greatest - (uint64_t) e->least);
		desc->reference = choose_reference(desc, e->least);
	}
	bytes = GPUCOL_VECTORS(e->nitems) * gpucol_array_code_rows(desc) * GPUCOL_ROW_BYTES + desc->data_bytes +
		8 * (uint64_t) desc->ndict;
	return raw < bytes - bytes / LZ4_SHARE ? GPUCOL_END : GPUCOL_OK;
}

/* Write the packed vector that is full, or the last one. */
static void
write_group(Encoder *e)
{
	const GpucolChunkDesc *desc = &e->b->desc;

	if (e->ngroup == 0)
		return;
	if (desc->item_width > 0)
		gpucol_bitpack_pack_for(desc->item_width, e->group, e->ngroup,
								desc->item_bytes == 0 ? 0 : desc->reference, e->to);
	e->to += (size_t) desc->item_width * GPUCOL_ROW_BYTES;
	if (desc->flags & GPUCOL_CHUNK_ITEM_NULLS)
	{
		memcpy(e->to, e->group_nulls, sizeof(e->group_nulls));
		e->to += GPUCOL_ROW_BYTES;
	}
	memset(e->group_nulls, 0, sizeof(e->group_nulls));
	e->ngroup = 0;
}

/* Pack the integers of a vector behind those before, none of the chunk being NULL. */
static void
put_integers(Encoder *e)
{
	const Items *items = &e->items;

	for (uint32_t i = 0, take; i < items->n; i += take)
	{
		take = items->n - i < N - e->ngroup ? items->n - i : N - e->ngroup;
		memcpy(e->group + e->ngroup, items->values + i, sizeof(int64_t) * take);
		e->ngroup += take;
		if (e->ngroup == N)
			write_group(e);
	}
}

/* The same of any elements. */
static void
put_items(Encoder *e)
{
	const Items *items = &e->items;

	if (!e->some_null && e->rank == NULL)
	{
		put_integers(e);
		return;
	}
	for (uint32_t i = 0; i < items->n; i++)
	{
		if (items->nulls[i] != 0)
			e->group_nulls[e->ngroup / 32] |= 1u << (e->ngroup % 32);
		else
			e->last = e->rank != NULL ? (int64_t) e->rank[items->values[i]] : items->values[i];
		e->group[e->ngroup++] = e->last;
		if (e->ngroup == N)
			write_group(e);
	}
}

/* Pack the lengths of vector v's arrays. */
static void
write_lengths(const GpucolChunkBuilder *b, uint32_t v)
{
	uint32_t	lengths[N];
	uint32_t	n = gpucol_chunk_vector_rows(b, v);

	for (uint32_t i = 0; i < N; i++)
	{
		GpucolArrayValue array;

		lengths[i] = i < n && !gpucol_chunk_is_null(b, v * N + i) &&
			gpucol_array_open(gpucol_chunk_bytes(b, v * N + i), &array) ? array.nitems : 0;
	}
	gpucol_bitpack_pack32(b->desc.width, lengths, (char *) gpucol_chunk_stream(b, GPUCOL_STREAM_CODES) +
						  (size_t) v * b->desc.width * GPUCOL_ROW_BYTES);
}

/* The second pass. */
static GpucolStatus
write_items(Encoder *e)
{
	GpucolChunkBuilder *b = e->b;
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	uint64_t   *offsets;
	uint64_t	at = 0;
	GpucolStatus status;

	sizes[GPUCOL_STREAM_CODES] = (uint64_t) b->nvectors * b->desc.width * GPUCOL_ROW_BYTES;
	sizes[GPUCOL_STREAM_OFFSETS] = 8 * ((uint64_t) b->nvectors + 1);
	sizes[GPUCOL_STREAM_ITEMS] = GPUCOL_VECTORS(e->nitems) * gpucol_array_code_rows(&b->desc) * GPUCOL_ROW_BYTES;
	if (b->desc.ndict > 0)
		sizes[GPUCOL_STREAM_DICT] = 8 * ((uint64_t) b->desc.ndict + 1);
	sizes[GPUCOL_STREAM_DATA] = b->desc.data_bytes;
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK)
		return status;
	offsets = gpucol_chunk_stream(b, GPUCOL_STREAM_OFFSETS);
	e->to = gpucol_chunk_stream(b, GPUCOL_STREAM_ITEMS);
	e->last = b->desc.item_bytes == 0 ? 0 : b->desc.reference;
	for (uint32_t v = 0; v < b->nvectors && status == GPUCOL_OK; v++)
	{
		offsets[v] = at;
		write_lengths(b, v);
		status = take_vector(e, v);
		put_items(e);
		at += e->items.n;
	}
	offsets[b->nvectors] = at;
	write_group(e);
	return status;
}

/* Sort the texts, and pack all. */
static GpucolStatus
write_all(Encoder *e)
{
	GpucolDictEntry *entries = NULL;
	uint32_t   *rank = NULL;
	GpucolStatus status = GPUCOL_OK;

	if (e->items.texts != NULL)
		status = gpucol_chunk_sort_entries(e->b, &e->dict, &entries, &rank);
	e->rank = rank;
	gpucol_dict_persist(&e->dict);
	if (status == GPUCOL_OK)
		status = write_items(e);
	if (status == GPUCOL_OK && entries != NULL)
		gpucol_chunk_write_entries(e->b, entries, e->dict.n);
	gpucol_chunk_free(e->b, entries);
	gpucol_chunk_free(e->b, rank);
	return status;
}

/* Memory for the elements of a vector. */
static GpucolStatus
begin_items(Encoder *e)
{
	const GpucolChunkBuilder *b = e->b;
	bool		texts = b->column->item_bytes == 0;
	size_t		n = e->most;

	e->items.values = gpucol_chunk_alloc(b, n * sizeof(int64_t));
	e->items.nulls = gpucol_chunk_alloc(b, n);
	if (e->items.values == NULL || e->items.nulls == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (!texts)
		return GPUCOL_OK;
	e->items.texts = gpucol_chunk_alloc(b, n * sizeof(GpucolBytes));
	e->items.codes = gpucol_chunk_alloc(b, n * sizeof(uint32_t));
	return e->items.texts == NULL || e->items.codes == NULL ? GPUCOL_OUT_OF_MEMORY :
		gpucol_dict_begin(&e->dict, b->memory);
}

GpucolStatus
gpucol_chunk_encode_arrays(GpucolChunkBuilder *b)
{
	GpucolChunkDesc before = b->desc;
	Encoder    *e = gpucol_chunk_alloc(b, sizeof(Encoder));
	GpucolStatus status = GPUCOL_END;

	if (e == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(e, 0, sizeof(*e));
	e->b = b;
	if (count_items(e))
	{
		status = begin_items(e);
		if (status == GPUCOL_OK)
			status = look_at_items(e);
		if (status == GPUCOL_OK && e->items.texts != NULL && !gpucol_dict_pays(&e->dict))
			status = GPUCOL_END;
		if (status == GPUCOL_OK)
			status = describe(e);
		if (status == GPUCOL_OK)
			status = write_all(e);
		if (e->dict.memory.free != NULL)
			gpucol_dict_free(&e->dict);
	}
	if (status == GPUCOL_END)
		b->desc = before;
	gpucol_chunk_free(b, e->items.values);
	gpucol_chunk_free(b, e->items.nulls);
	gpucol_chunk_free(b, e->items.texts);
	gpucol_chunk_free(b, e->items.codes);
	gpucol_chunk_free(b, e);
	return status;
}
