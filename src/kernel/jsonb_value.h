/*-------------------------------------------------------------------------
 *
 * jsonb_value.h
 *	  Values of jsonb as PostgreSQL stores them: fields of objects, elements of arrays, and these as texts.
 *
 * A value of BYTES has a container without the header of four bytes that says how long it is: a word with
 * the number of its children and what it is, a word for each child (an object has first its keys, then their values),
 * and behind these the children's bytes.  The word of a child has its kind and its length, or where it ends.  Numbers
 * and containers begin at multiples of four.
 *
 * Texts are where the value is; a number's is written.  Containers in containers have no text here, and neither have
 * numbers of more than GPUCOL_JSONB_NUMBER bytes.  Whatever the bytes say, nothing beyond them is read.
 *
 * Freestanding C, of a machine with the lowest byte first, as all of the packed format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_JSONB_VALUE_H
#define GPUCOL_KERNEL_JSONB_VALUE_H

#include <string.h>

#include "kernel/program.h"

/* The word of a container */
#define GPUCOL_JSONB_COUNT		UINT32_C(0x0fffffff)
#define GPUCOL_JSONB_SCALAR		UINT32_C(0x10000000)
#define GPUCOL_JSONB_OBJECT		UINT32_C(0x20000000)
#define GPUCOL_JSONB_ARRAY		UINT32_C(0x40000000)

/* The word of a child */
#define GPUCOL_JSONB_LENGTH		UINT32_C(0x0fffffff)
#define GPUCOL_JSONB_KIND		UINT32_C(0x70000000)
#define GPUCOL_JSONB_ENDS		UINT32_C(0x80000000)	/* its length is where it ends */

/* Kinds of children */
#define GPUCOL_JSONB_STRING		UINT32_C(0x00000000)
#define GPUCOL_JSONB_NUMERIC	UINT32_C(0x10000000)
#define GPUCOL_JSONB_FALSE		UINT32_C(0x20000000)
#define GPUCOL_JSONB_TRUE		UINT32_C(0x30000000)
#define GPUCOL_JSONB_NULL		UINT32_C(0x40000000)
#define GPUCOL_JSONB_CONTAINER	UINT32_C(0x50000000)

/* Bytes of the text of a number, at most, and where one is written */
#define GPUCOL_JSONB_NUMBER		32
#define GPUCOL_JSONB_ROOM		40

typedef struct GpucolJsonb
{
	uint32_t	head;			/* the container's word */
	uint32_t	nwords;			/* children, keys and values */
	const char *words;			/* of children */
	const char *data;
	uint32_t	size;			/* bytes of data */
} GpucolJsonb;

/* A child, one after the other: all zero before the first one. */
typedef struct GpucolJsonbChild
{
	uint32_t	number;			/* of the next one */
	uint32_t	end;			/* of this one's bytes */
	uint32_t	kind;
	GpucolBytes bytes;
} GpucolJsonbChild;

static inline uint32_t
gpucol_jsonb_word(const char *data, uint32_t number)
{
	uint32_t	word;

	memcpy(&word, data + 4 * (size_t) number, sizeof(word));
	return word;
}

/* Look at a container; false if the bytes are none. */
static inline bool
gpucol_jsonb_open(GpucolBytes value, GpucolJsonb *json)
{
	uint64_t	nwords;

	if (value.len < 4 || value.len > INT32_MAX)
		return false;
	json->head = gpucol_jsonb_word(value.data, 0);
	nwords = (uint64_t) (json->head & GPUCOL_JSONB_COUNT) * ((json->head & GPUCOL_JSONB_OBJECT) != 0 ? 2 : 1);
	if (nwords > (value.len - 4) / 4)
		return false;
	json->nwords = (uint32_t) nwords;
	json->words = value.data + 4;
	json->data = json->words + 4 * nwords;
	json->size = (uint32_t) (value.len - 4 - 4 * nwords);
	return true;
}

static inline bool
gpucol_jsonb_is_object(const GpucolJsonb *json)
{
	return (json->head & GPUCOL_JSONB_OBJECT) != 0;
}

/* Is it an array, not a scalar that stands alone? */
static inline bool
gpucol_jsonb_is_array(const GpucolJsonb *json)
{
	return (json->head & GPUCOL_JSONB_ARRAY) != 0 && (json->head & GPUCOL_JSONB_SCALAR) == 0;
}

/* The next child; false behind the last one, or where the bytes are none. */
static inline bool
gpucol_jsonb_next(const GpucolJsonb *json, GpucolJsonbChild *child)
{
	uint32_t	begin = child->end;
	uint32_t	word;
	uint64_t	end;

	if (child->number >= json->nwords)
		return false;
	word = gpucol_jsonb_word(json->words, child->number);
	end = (word & GPUCOL_JSONB_LENGTH) + ((word & GPUCOL_JSONB_ENDS) != 0 ? 0 : (uint64_t) begin);
	child->kind = word & GPUCOL_JSONB_KIND;
	if (child->kind == GPUCOL_JSONB_NUMERIC || child->kind == GPUCOL_JSONB_CONTAINER)
		begin = (begin + 3) & ~UINT32_C(3);
	if (end < begin || end > json->size)
		return false;
	child->number++;
	child->end = (uint32_t) end;
	child->bytes = (GpucolBytes) {json->data + begin, (size_t) end - begin};
	return true;
}

/* The field of an object; false if there is none of this key. */
static inline bool
gpucol_jsonb_field(const GpucolJsonb *json, const char *key, size_t len, GpucolJsonbChild *field)
{
	uint32_t	found = json->nwords;

	memset(field, 0, sizeof(*field));
	while (field->number < json->nwords / 2 && gpucol_jsonb_next(json, field))
		if (field->bytes.len == len && memcmp(field->bytes.data, key, len) == 0)
			found = field->number - 1;
		else if (found == json->nwords && field->bytes.len > len)
			return false;		/* shorter ones come first */
	if (found == json->nwords || field->number < json->nwords / 2)
		return false;
	found += json->nwords / 2;
	while (field->number <= found)
		if (!gpucol_jsonb_next(json, field))
			return false;
	return true;
}

/* Write a digit of a numeric, four decimal ones, without `skip` leading zeros; where it ends. */
static inline char *
gpucol_jsonb_digit(char *to, int digit, bool skip)
{
	for (int unit = 1000; unit > 0; unit /= 10)
	{
		if (skip && digit < unit && unit > 1)
			continue;
		skip = false;
		*to++ = (char) ('0' + digit / unit % 10);
	}
	return to;
}

/* Write the text of a numeric into GPUCOL_JSONB_ROOM bytes; its length, 0: it is too long, or special. */
static inline uint32_t
gpucol_jsonb_number(GpucolBytes value, char *to)
{
	char	   *begin = to;
	uint32_t	size = value.len < 6 ? 0 : gpucol_jsonb_word(value.data, 0) >> 2;
	const char *digits = value.data + 6;
	uint16_t	head;
	int16_t		weight;
	int			scale;
	int			ndigits;
	bool		negative;

	if (size < 6 || size > value.len || (value.data[0] & 3) != 0)
		return 0;
	memcpy(&head, value.data + 4, sizeof(head));
	if ((head & 0xc000) == 0xc000)
		return 0;
	if ((head & 0x8000) != 0)
	{
		negative = (head & 0x2000) != 0;
		scale = (head & 0x1f80) >> 7;
		weight = (int16_t) ((head & 0x3f) - ((head & 0x40) != 0 ? 0x40 : 0));
	}
	else
	{
		if (size < 8)
			return 0;
		memcpy(&weight, value.data + 6, sizeof(weight));
		negative = (head & 0x4000) != 0;
		scale = head & 0x3fff;
		digits += 2;
	}
	ndigits = (int) (value.data + size - digits) / 2;
	if ((weight < 0 ? 1 : 4 * (weight + 1)) + scale + 2 > GPUCOL_JSONB_NUMBER)
		return 0;
	if (negative)
		*to++ = '-';
	if (weight < 0)
		*to++ = '0';
	for (int d = weight < 0 ? weight + 1 : 0, done = 0; d <= weight || done < scale; d++)
	{
		int16_t		digit = 0;

		if (d >= 0 && d < ndigits)
			memcpy(&digit, digits + 2 * d, sizeof(digit));
		if (digit < 0 || digit > 9999)
			return 0;
		if (d > weight && done == 0)
			*to++ = '.';
		to = gpucol_jsonb_digit(to, digit, d == 0 && d <= weight);
		if (d <= weight)
			continue;
		done += 4;
		to -= done > scale ? done - scale : 0;
	}
	return (uint32_t) (to - begin);
}

#endif							/* GPUCOL_KERNEL_JSONB_VALUE_H */
