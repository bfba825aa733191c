/*-------------------------------------------------------------------------
 *
 * array_value.h
 *	  Arrays as PostgreSQL stores them: how many elements they have, and where each is.
 *
 * A value of BYTES has an array's contents without the header of four bytes that says how long
 * it is: number of dimensions, where elements begin behind a bitmap of NULLs (0: there is none),
 * their type, sizes and lower bounds of the dimensions, the bitmap, and the elements, each where
 * its type is aligned, counted from the header.  An element of no fixed width has a header of its
 * own, of four bytes or of one; PostgreSQL compresses none inside an array.
 *
 * Whatever the bytes say, nothing beyond them is read.
 *
 * Freestanding C, of a machine with the lowest byte first, as all of the packed format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_ARRAY_VALUE_H
#define GPUCOL_KERNEL_ARRAY_VALUE_H

#include <string.h>

#include "kernel/float_order.h"
#include "kernel/program.h"

/* What of an array is asked, aux of ARRAY_SIZE_S with the dimension above it */
#define GPUCOL_ARRAY_ITEMS		0	/* of all dimensions */
#define GPUCOL_ARRAY_LENGTH		1
#define GPUCOL_ARRAY_LOWER		2
#define GPUCOL_ARRAY_UPPER		3
#define GPUCOL_ARRAY_DIMENSIONS 4
#define GPUCOL_ARRAY_SIZE_AUX(what, dimension)	((what) | (dimension) << 8)

/* Bytes of an element; 0 = it says itself how long it is */
#define GPUCOL_ARRAY_VARYING	0

#define GPUCOL_ARRAY_MOST_DIMENSIONS	6
#define GPUCOL_ARRAY_MOST_ITEMS			(UINT64_C(1) << 28)
#define GPUCOL_ARRAY_HEADER				4	/* bytes that the value lacks */

typedef struct GpucolArrayValue
{
	int32_t		ndim;
	uint32_t	nitems;
	const char *shape;			/* sizes, then lower bounds */
	const uint8_t *present;		/* bitmap of elements that are not NULL, or NULL: none is */
	const char *base;			/* where the header would be */
	uint32_t	first;			/* of the elements, from there */
	uint32_t	end;
} GpucolArrayValue;

/* The place of the next element. */
typedef struct GpucolArrayPlace
{
	uint32_t	number;			/* from 0 */
	uint32_t	offset;
} GpucolArrayPlace;

static inline int32_t
gpucol_array_int(const char *data, uint32_t number)
{
	int32_t		value;

	memcpy(&value, data + 4 * (size_t) number, sizeof(value));
	return value;
}

/* Size and lower bound of dimension d, from 0. */
static inline int32_t
gpucol_array_dimension(const GpucolArrayValue *array, int d)
{
	return gpucol_array_int(array->shape, (uint32_t) d);
}

static inline int32_t
gpucol_array_lower(const GpucolArrayValue *array, int d)
{
	return gpucol_array_int(array->shape, (uint32_t) (array->ndim + d));
}

/* Look at an array; false if the bytes are none. */
static inline bool
gpucol_array_open(GpucolBytes value, GpucolArrayValue *array)
{
	uint64_t	nitems = 1;
	uint64_t	head;
	int32_t		begin;

	if (value.len < 12 || value.len > INT32_MAX)
		return false;
	array->base = value.data - GPUCOL_ARRAY_HEADER;
	array->end = (uint32_t) value.len + GPUCOL_ARRAY_HEADER;
	array->ndim = gpucol_array_int(value.data, 0);
	begin = gpucol_array_int(value.data, 1);
	array->shape = value.data + 12;
	array->present = NULL;
	array->nitems = 0;
	array->first = array->end;
	if (array->ndim == 0)
		return true;
	if (array->ndim < 0 || array->ndim > GPUCOL_ARRAY_MOST_DIMENSIONS || value.len < 12 + 8 * (size_t) array->ndim)
		return false;
	for (int d = 0; d < array->ndim; d++)
	{
		int32_t		size = gpucol_array_dimension(array, d);

		if (size < 0)
			return false;
		nitems *= (uint64_t) size;
		if (nitems > GPUCOL_ARRAY_MOST_ITEMS)
			return false;
	}
	head = 16 + 8 * (uint64_t) array->ndim;
	if (begin != 0)
	{
		array->present = (const uint8_t *) array->base + head;
		head += (nitems + 7) / 8;
	}
	head = (head + 7) & ~UINT64_C(7);
	if (head > array->end && nitems > 0)
		return false;
	array->nitems = (uint32_t) nitems;
	array->first = (uint32_t) head;
	return true;
}

static inline bool
gpucol_array_is_null(const GpucolArrayValue *array, uint32_t number)
{
	return array->present != NULL && (array->present[number / 8] >> (number % 8) & 1) == 0;
}

static inline GpucolArrayPlace
gpucol_array_begin(const GpucolArrayValue *array)
{
	return (GpucolArrayPlace) {0, array->first};
}

/* How an element of no fixed width at `data` begins: the bytes of its header and of all of it. */
static inline bool
gpucol_array_measure(const char *data, uint32_t room, uint32_t *header, uint32_t *all)
{
	uint32_t	word;

	*header = 1;
	*all = (uint8_t) data[0] >> 1;
	if ((data[0] & 1) != 0)
		return *all >= 1 && *all <= room;
	*header = 4;
	if (room < 4)
		return false;
	memcpy(&word, data, sizeof(word));
	*all = word >> 2;
	return (word & 3) == 0 && *all >= 4 && *all <= room;
}

/*
 * Take the next element, of `width` bytes; *isnull where it is NULL.  False behind the last one, or
 * where the bytes end before.
 */
static inline bool
gpucol_array_next(const GpucolArrayValue *array, int width, GpucolArrayPlace *place, GpucolBytes *item, bool *isnull)
{
	uint32_t	align = width == GPUCOL_ARRAY_VARYING ? 4 : (uint32_t) width;
	uint32_t	at;
	uint32_t	header = 0;
	uint32_t	all = (uint32_t) width;

	if (place->number >= array->nitems)
		return false;
	*isnull = gpucol_array_is_null(array, place->number);
	place->number++;
	*item = (GpucolBytes) {"", 0};
	if (*isnull)
		return true;
	at = (place->offset + align - 1) & ~(align - 1);
	if (at >= array->end || array->end - at < all ||
		(width == GPUCOL_ARRAY_VARYING && !gpucol_array_measure(array->base + at, array->end - at, &header, &all)))
		return false;
	*item = (GpucolBytes) {array->base + at + header, all - header};
	place->offset = at + all;
	return true;
}

/* How many elements before one are not NULL. */
static inline uint32_t
gpucol_array_present_before(const GpucolArrayValue *array, uint32_t number)
{
	uint32_t	n = 0;

	if (array->present == NULL)
		return number;
	for (uint32_t i = 0; i < number / 8; i++)
		n += (uint32_t) __builtin_popcount(array->present[i]);
	return n + (uint32_t) __builtin_popcount(array->present[number / 8] & ((1u << (number % 8)) - 1));
}

/* The element of subscript i of an array of one dimension; false if there is none, or it is NULL. */
static inline bool
gpucol_array_item(const GpucolArrayValue *array, int width, int64_t i, GpucolBytes *item)
{
	GpucolArrayPlace place = gpucol_array_begin(array);
	uint32_t	number;
	bool		isnull = true;

	if (array->ndim != 1)
		return false;
	i -= gpucol_array_lower(array, 0);
	if (i < 0 || i >= array->nitems)
		return false;
	number = (uint32_t) i;
	if (width != GPUCOL_ARRAY_VARYING)
		place = (GpucolArrayPlace) {
			number, array->first + gpucol_array_present_before(array, number) * (uint32_t) width
		};
	while (gpucol_array_next(array, width, &place, item, &isnull))
		if (place.number == number + 1)
			return !isnull;
	return false;
}

/* What is asked of an array's shape; false: NULL. */
static inline bool
gpucol_array_size(const GpucolArrayValue *array, int aux, int64_t *size)
{
	int			what = aux & 0xff;
	int			d = (aux >> 8) - 1;

	*size = what == GPUCOL_ARRAY_ITEMS ? (int64_t) array->nitems : array->ndim;
	if (what == GPUCOL_ARRAY_ITEMS)
		return true;
	if (array->ndim == 0)
		return false;
	if (what == GPUCOL_ARRAY_DIMENSIONS)
		return true;
	if (d < 0 || d >= array->ndim)
		return false;
	*size = what == GPUCOL_ARRAY_LOWER ? 0 : gpucol_array_dimension(array, d);
	if (what != GPUCOL_ARRAY_LENGTH)
		*size += gpucol_array_lower(array, d) - (what == GPUCOL_ARRAY_UPPER);
	return true;
}

/* An element of integers or, with `real`, floats of a width, as an integer or a double. */
static inline int64_t
gpucol_array_integer(GpucolBytes item)
{
	int16_t		narrow;
	int32_t		middle;
	int64_t		wide;

	switch (item.len)
	{
		case 2:
			memcpy(&narrow, item.data, sizeof(narrow));
			return narrow;
		case 4:
			memcpy(&middle, item.data, sizeof(middle));
			return middle;
		default:
			memcpy(&wide, item.data, sizeof(wide));
			return wide;
	}
}

static inline double
gpucol_array_float(GpucolBytes item)
{
	float		narrow;
	double		wide;

	if (item.len == sizeof(narrow))
	{
		memcpy(&narrow, item.data, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, item.data, sizeof(wide));
	return wide;
}

#endif							/* GPUCOL_KERNEL_ARRAY_VALUE_H */
