/*-------------------------------------------------------------------------
 *
 * array_code.h
 *	  Arrays that are kept as lengths and elements (GPUCOL_CODING_ARRAY), and the bytes that
 *	  they stand for.
 *
 * The arrays of such a chunk are empty, or of one dimension from 1 on, of one type of elements: integers
 * of 1, 2, 4 or 8 bytes (the patterns of floats too), or texts, which are entries of the chunk's
 * dictionary.  Their bytes are those that PostgreSQL's construct_md_array makes: a bitmap only where
 * an element is NULL, nothing but zeros between elements, headers of four bytes before texts.  A
 * writer has compared them (columnar/encode_array.c).
 *
 * Freestanding C, for the host.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_ARRAY_CODE_H
#define GPUCOL_KERNEL_ARRAY_CODE_H

#include "kernel/array_value.h"
#include "kernel/format.h"

/* Elements of a chunk, at most; of a vector; and bytes of a vector's arrays */
#define GPUCOL_ARRAY_CODE_ITEMS		(UINT64_C(1) << 40)
#define GPUCOL_ARRAY_VECTOR_ITEMS	(1u << 22)
#define GPUCOL_ARRAY_VECTOR_BYTES	((size_t) 64 * 1024 * 1024)

/* Bytes of an empty array, and those before the elements of another that has no NULLs */
#define GPUCOL_ARRAY_EMPTY			12
#define GPUCOL_ARRAY_HEAD			20

/* What arrays of a chunk have in common. */
typedef struct GpucolArrayForm
{
	uint32_t	item_bytes;		/* 0: texts, */
	uint32_t	item_type;
	const GpucolBytes *entries; /* which are these */
} GpucolArrayForm;

/* Word rows that 1,024 elements take. */
static inline uint32_t
gpucol_array_code_rows(const GpucolChunkDesc *desc)
{
	return desc->item_width + ((desc->flags & GPUCOL_CHUNK_ITEM_NULLS) != 0 ? 1u : 0u);
}

/* Is one of n elements NULL? */
static inline bool
gpucol_array_code_has_null(const uint8_t *nulls, uint32_t n)
{
	return nulls != NULL && memchr(nulls, 1, n) != NULL;
}

/* Bytes before the elements: dimensions and the bitmap of NULLs, up to where anything is aligned. */
static inline size_t
gpucol_array_code_head(bool has_null, uint32_t n)
{
	return has_null ? ((16 + 8 + ((size_t) n + 7) / 8 + 7) & ~(size_t) 7) - GPUCOL_ARRAY_HEADER : GPUCOL_ARRAY_HEAD;
}

/* Bytes of an array of n elements, of which nulls[] tells (NULL: none is). */
static inline size_t
gpucol_array_code_size(const GpucolArrayForm *form, const int64_t *items, const uint8_t *nulls, uint32_t n)
{
	bool		has_null = gpucol_array_code_has_null(nulls, n);
	size_t		size;

	if (n == 0)
		return GPUCOL_ARRAY_EMPTY;
	size = gpucol_array_code_head(has_null, n);
	if (form->item_bytes != 0 && !has_null)
		return size + (size_t) n * form->item_bytes;
	for (uint32_t i = 0; i < n; i++)
		if (!has_null || nulls[i] == 0)
			size += form->item_bytes != 0 ? form->item_bytes : (form->entries[items[i]].len + 4 + 3) & ~(size_t) 3;
	return size;
}

/* Write n integers of a width. */
static inline char *
gpucol_array_code_put(uint32_t width, const int64_t *items, const uint8_t *nulls, uint32_t n, char *out)
{
	/* of each the lowest bytes */
	if (nulls == NULL)
	{
		for (uint32_t i = 0; i < n; i++)
			memcpy(out + (size_t) i * width, &items[i], width);
		return out + (size_t) n * width;
	}
	for (uint32_t i = 0; i < n; i++)
		if (nulls[i] == 0)
		{
			memcpy(out, &items[i], width);
			out += width;
		}
	return out;
}

/* Write n texts, each from a multiple of four bytes on. */
static inline char *
gpucol_array_code_texts(const GpucolBytes *entries, const int64_t *items, const uint8_t *nulls, uint32_t n, char *out)
{
	for (uint32_t i = 0; i < n; i++)
	{
		GpucolBytes value;
		uint32_t	header;

		if (nulls != NULL && nulls[i] != 0)
			continue;
		value = entries[items[i]];
		header = (uint32_t) (value.len + 4) << 2;
		memcpy(out, &header, 4);
		memcpy(out + 4, value.data, value.len);
		memset(out + 4 + value.len, 0, (0 - value.len) & 3);
		out += (value.len + 4 + 3) & ~(size_t) 3;
	}
	return out;
}

/* Write the bytes of an array, for which there is room; returns their end. */
static inline char *
gpucol_array_code_form(const GpucolArrayForm *form, const int64_t *items, const uint8_t *nulls, uint32_t n, char *out)
{
	bool		has_null = gpucol_array_code_has_null(nulls, n);
	size_t		head = gpucol_array_code_head(has_null, n);
	uint32_t	words[5] = {n > 0, has_null ? (uint32_t) head + GPUCOL_ARRAY_HEADER : 0, form->item_type, n, 1};

	if (n == 0)
	{
		memcpy(out, words, GPUCOL_ARRAY_EMPTY);
		return out + GPUCOL_ARRAY_EMPTY;
	}
	memcpy(out, words, GPUCOL_ARRAY_HEAD);
	if (has_null)
	{
		memset(out + GPUCOL_ARRAY_HEAD, 0, head - GPUCOL_ARRAY_HEAD);
		for (uint32_t i = 0; i < n; i++)
			if (nulls[i] == 0)
				out[GPUCOL_ARRAY_HEAD + i / 8] = (char) (out[GPUCOL_ARRAY_HEAD + i / 8] | 1 << i % 8);
	}
	else
		nulls = NULL;
	out += head;
	switch (form->item_bytes)
	{
		case 0:
			return gpucol_array_code_texts(form->entries, items, nulls, n, out);
		case 1:
			return gpucol_array_code_put(1, items, nulls, n, out);
		case 2:
			return gpucol_array_code_put(2, items, nulls, n, out);
		case 4:
			return gpucol_array_code_put(4, items, nulls, n, out);
		default:
			return gpucol_array_code_put(8, items, nulls, n, out);
	}
}

#endif							/* GPUCOL_KERNEL_ARRAY_CODE_H */
