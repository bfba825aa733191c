/*-------------------------------------------------------------------------
 *
 * decode_array.c
 *	  Arrays of an ARRAY chunk: their elements, and the bytes that PostgreSQL knows them by.
 *
 * Elements of a vector's rows lie one behind the other in ITEMS, from the number on that OFFSETS
 * tell; where a row's are says the sum of the lengths before it.  Lengths must add up to what OFFSETS
 * say, and a vector's arrays have as many elements and bytes as a writer would keep so, at most: a damaged
 * chunk asks for no more memory than a whole one.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/array_code.h"
#include "kernel/decode_stream.h"

#define N GPUCOL_VECTOR_VALUES

GpucolStatus
gpucol_decode_item_words(const GpucolDecoder *dec, uint32_t group, GpucolItemWords *out)
{
	const GpucolChunkDesc *desc = dec->desc;
	uint32_t	row = group * gpucol_array_code_rows(desc);
	uint32_t	width = desc->item_width;

	out->codes = out->space;
	out->nulls = NULL;
	if (width > 0)
		out->codes = gpucol_stream_rows(dec, GPUCOL_STREAM_ITEMS, row, width, out->space);
	if ((desc->flags & GPUCOL_CHUNK_ITEM_NULLS) == 0)
		return out->codes == NULL ? GPUCOL_CORRUPT : GPUCOL_OK;
	out->nulls = gpucol_stream_rows(dec, GPUCOL_STREAM_ITEMS, row + width, 1, out->null_space);
	return out->codes == NULL || out->nulls == NULL ? GPUCOL_CORRUPT : GPUCOL_OK;
}

/* Unpack 1,024 elements, codes of texts, or as many of them as there are. */
static GpucolStatus
unpack_group(const GpucolDecoder *dec, uint32_t group, int64_t *values, uint8_t *nulls)
{
	const GpucolChunkDesc *desc = dec->desc;
	int			width = desc->item_width;
	GpucolItemWords words;
	GpucolStatus status = gpucol_decode_item_words(dec, group, &words);

	if (status != GPUCOL_OK)
		return status;
	if (desc->item_bytes == 0 && gpucol_bitpack_range_count(width, words.codes, desc->ndict, UINT64_MAX) > 0)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack_for(width, words.codes, desc->item_bytes == 0 ? 0 : desc->reference, values);
	for (uint32_t i = 0; i < N && nulls != NULL; i++)
		nulls[i] = (uint8_t) words.nulls[i / 8] >> (i % 8) & 1;
	return GPUCOL_OK;
}

/* Unpack elements start .. end - 1 of the chunk into dec->packed. */
static GpucolStatus
unpack_items(GpucolDecoder *dec, uint64_t start, uint64_t end, const int64_t **values, const uint8_t **nulls)
{
	static const int64_t none;
	bool		some_null = (dec->desc->flags & GPUCOL_CHUNK_ITEM_NULLS) != 0;
	uint64_t	first = start / N;
	size_t		groups = start == end ? 0 : (size_t) ((end - 1) / N + 1 - first);
	GpucolStatus status;
	int64_t    *to;
	uint8_t    *flags;

	*values = &none;
	*nulls = NULL;
	if (groups == 0)
		return GPUCOL_OK;
	if (end - start > GPUCOL_ARRAY_VECTOR_ITEMS)
		return GPUCOL_CORRUPT;
	status = gpucol_decode_reserve(dec, &dec->packed, &dec->packed_size, groups * N * (sizeof(int64_t) + some_null));
	if (status != GPUCOL_OK)
		return status;
	to = (int64_t *) dec->packed;
	flags = (uint8_t *) (to + groups * N);
	for (size_t g = 0; g < groups && status == GPUCOL_OK; g++)
		status = unpack_group(dec, (uint32_t) (first + g), to + g * N, some_null ? flags + g * N : NULL);
	*values = to + start % N;
	*nulls = some_null ? flags + start % N : NULL;
	return status;
}

/* Have rows of vector v that are NULL or do not exist no elements. */
static GpucolStatus
blank_lengths(const GpucolDecoder *dec, uint32_t v, uint32_t *lengths)
{
	uint32_t	left = dec->nrows - v * N;
	uint32_t	nulls[N / 32];

	for (uint32_t i = left; i < N; i++)
		lengths[i] = 0;
	if (dec->desc->null_count == 0)
		return GPUCOL_OK;
	if (gpucol_decode_nulls(dec, v, nulls) != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	for (uint32_t i = 0; i < N; i++)
		if (nulls[i / 32] >> (i % 32) & 1)
			lengths[i] = 0;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_lengths(const GpucolDecoder *dec, uint32_t v, uint32_t lengths[N], uint64_t *start, uint64_t *end)
{
	GpucolStreamScratch scratch;
	const void *words = gpucol_stream_vector(dec, v, &scratch);
	GpucolStatus status = gpucol_decode_block(dec, v, start, end);
	uint64_t	sum = 0;

	if (words == NULL || status != GPUCOL_OK)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(dec->desc->width, words, lengths);
	status = blank_lengths(dec, v, lengths);
	for (uint32_t i = 0; i < N; i++)
		sum += lengths[i];
	return status == GPUCOL_OK && sum != *end - *start ? GPUCOL_CORRUPT : status;
}

GpucolStatus
gpucol_decode_items(GpucolDecoder *dec, uint32_t v, uint32_t lengths[N], const int64_t **values, const uint8_t **nulls)
{
	uint64_t	start;
	uint64_t	end;
	GpucolStatus status;

	if (v >= dec->nvectors || dec->desc->coding != GPUCOL_CODING_ARRAY || dec->desc->item_bytes == 0)
		return GPUCOL_CORRUPT;
	status = gpucol_decode_lengths(dec, v, lengths, &start, &end);
	return status == GPUCOL_OK ? unpack_items(dec, start, end, values, nulls) : status;
}

/* Room for the arrays that n rows' elements make, in dec->block. */
static GpucolStatus
reserve_arrays(GpucolDecoder *dec, const GpucolArrayForm *form, const uint32_t *lengths, uint32_t n,
			   const int64_t *values, const uint8_t *nulls)
{
	size_t		size = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		size += gpucol_array_code_size(form, values, nulls, lengths[i]);
		values += lengths[i];
		nulls = nulls != NULL ? nulls + lengths[i] : NULL;
		if (size > GPUCOL_ARRAY_VECTOR_BYTES)
			return GPUCOL_CORRUPT;
	}
	return gpucol_decode_reserve(dec, &dec->block, &dec->block_size, size);
}

/* Form the arrays of n rows. */
static GpucolStatus
form_arrays(GpucolDecoder *dec, const GpucolBytes *entries, const uint32_t *lengths, uint32_t n,
			const int64_t *values, const uint8_t *nulls, GpucolBytes *out)
{
	GpucolArrayForm form = {dec->desc->item_bytes, dec->desc->item_type, entries};
	GpucolStatus status = reserve_arrays(dec, &form, lengths, n, values, nulls);
	char	   *to = dec->block;

	if (status != GPUCOL_OK)
		return status;
	for (uint32_t i = 0; i < n; i++)
	{
		out[i].data = to;
		to = gpucol_array_code_form(&form, values, nulls, lengths[i], to);
		out[i].len = (size_t) (to - out[i].data);
		values += lengths[i];
		nulls = nulls != NULL ? nulls + lengths[i] : NULL;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_decode_arrays(GpucolDecoder *dec, uint32_t v, GpucolBytes *out)
{
	const int64_t *values;
	const uint8_t *nulls;
	uint32_t	lengths[N];
	uint64_t	start;
	uint64_t	end;
	GpucolStatus status = gpucol_decode_lengths(dec, v, lengths, &start, &end);

	if (dec->desc->item_bytes == 0 && dec->entries == NULL)
		return GPUCOL_CORRUPT;
	if (status == GPUCOL_OK)
		status = unpack_items(dec, start, end, &values, &nulls);
	return status == GPUCOL_OK ? form_arrays(dec, dec->entries, lengths, N, values, nulls, out) : status;
}

/* Where entry `code` of a dictionary that was not loaded lies in DATA. */
static GpucolStatus
find_entry(const GpucolDecoder *dec, int64_t code, uint64_t *start, uint64_t *len)
{
	uint64_t	pair[2];
	GpucolStatus status = gpucol_stream_copy(dec, GPUCOL_STREAM_DICT, (uint64_t) code * 8, sizeof(pair), pair);

	if (status != GPUCOL_OK)
		return status;
	if (pair[0] > pair[1] || pair[1] > dec->desc->data_bytes)
		return GPUCOL_CORRUPT;
	*start = pair[0];
	*len = pair[1] - pair[0];
	return GPUCOL_OK;
}

/* Entries of n elements, the code of each becoming its own number: all of it in memory of *entries. */
static GpucolStatus
copy_entries(GpucolDecoder *dec, uint32_t n, const int64_t *values, const uint8_t *nulls, GpucolBytes **entries,
			 int64_t **numbers)
{
	uint64_t	start;
	uint64_t	len;
	size_t		size = 0;
	GpucolStatus status = GPUCOL_OK;
	char	   *to;

	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i++)
		if (nulls == NULL || nulls[i] == 0)
		{
			status = find_entry(dec, values[i], &start, &len);
			if (status == GPUCOL_OK && (size += len) > GPUCOL_ARRAY_VECTOR_BYTES)
				status = GPUCOL_CORRUPT;
		}
	if (status != GPUCOL_OK)
		return status;
	*entries = dec->memory.alloc(dec->memory.context, (sizeof(GpucolBytes) + sizeof(int64_t)) * n + size + 1);
	if (*entries == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	*numbers = (int64_t *) (*entries + n);
	to = (char *) (*numbers + n);
	for (uint32_t i = 0; i < n && status == GPUCOL_OK; i++)
	{
		len = 0;
		if (nulls == NULL || nulls[i] == 0)
			status = find_entry(dec, values[i], &start, &len);
		if (len > 0 && status == GPUCOL_OK)
			status = gpucol_stream_copy(dec, GPUCOL_STREAM_DATA, start, (size_t) len, to);
		(*entries)[i] = (GpucolBytes) {to, (size_t) len};
		(*numbers)[i] = i;
		to += len;
	}
	return status;
}

GpucolStatus
gpucol_decode_get_array(GpucolDecoder *dec, uint32_t row, GpucolBytes *out)
{
	const int64_t *values;
	const uint8_t *nulls;
	GpucolBytes *entries = NULL;
	int64_t    *numbers = NULL;
	uint32_t	lengths[N];
	uint64_t	start;
	uint64_t	end;
	uint32_t	n;
	GpucolStatus status = gpucol_decode_lengths(dec, row / N, lengths, &start, &end);

	if (status != GPUCOL_OK)
		return status;
	n = lengths[row % N];
	for (uint32_t i = 0; i < row % N; i++)
		start += lengths[i];
	status = unpack_items(dec, start, start + n, &values, &nulls);
	if (status == GPUCOL_OK && dec->desc->item_bytes == 0 && dec->entries == NULL)
	{
		status = copy_entries(dec, n, values, nulls, &entries, &numbers);
		values = numbers;
	}
	if (status == GPUCOL_OK)
		status = form_arrays(dec, entries != NULL ? entries : dec->entries, &n, 1, values, nulls, out);
	if (entries != NULL)
		dec->memory.free(dec->memory.context, entries);
	return status;
}
