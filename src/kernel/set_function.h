/*-------------------------------------------------------------------------
 *
 * set_function.h
 *	  Functions that make several rows of one: the elements of an array or of a slice of it, their subscripts, the
 *	  fields of a text, the elements of an array in jsonb as texts, and the keys of an object.
 *
 * Fields lie between separators: a constant, or single ASCII characters of a set, of which several
 * in a row may be one.  Elements and fields stay where the value is.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_SET_FUNCTION_H
#define GPUCOL_KERNEL_SET_FUNCTION_H

#include "kernel/array_value.h"
#include "kernel/jsonb_value.h"
#include "kernel/status.h"

/* Columns of the rows made: the element or field, and its number from 1 */
#define GPUCOL_SET_VALUE		0
#define GPUCOL_SET_NUMBER		1
#define GPUCOL_SET_MORE			2	/* of further arrays whose elements are beside those of the first one, and so on */

/* Arrays whose elements are beside one another, at most */
#define GPUCOL_SET_MOST			8

#define GPUCOL_SET_SEPARATOR	16	/* bytes, at most */
#define GPUCOL_SET_PATH			64

/* What is made of jsonb */
#define GPUCOL_SET_ELEMENTS		1
#define GPUCOL_SET_KEYS			2

/* A function; constants of a program hold it (GpucolProbe.set). */
typedef struct GpucolSetFunction
{
	uint8_t		fields;			/* of a text; else the elements of an array, */
	uint8_t		width;			/* which have so many bytes */
	uint8_t		len;			/* of the separator; 0: one of the set */
	uint8_t		repeated;		/* SET: several in a row are one separator */
	uint8_t		beyond;			/* SET: bytes beyond ASCII are in it */
	uint8_t		ascii;			/* texts with other characters are UNSUPPORTED */
	uint8_t		keeps_empty;	/* the empty text has one field, else none */
	uint8_t		subscripts;		/* of the array's first dimension, instead of its elements */
	uint8_t		jsonb;			/* what of such a value, or 0; then */
	uint8_t		path_len;		/* of the field that these keys lead to: a byte with the length before each */
	uint8_t		sliced;			/* of its elements those with subscripts from .. to of that dimension */
	int32_t		from;
	int32_t		to;
	char		separator[GPUCOL_SET_SEPARATOR];
	uint64_t	set[2];			/* bits of ASCII characters */
	char		path[GPUCOL_SET_PATH];
} GpucolSetFunction;

/* Constants that hold one */
#define GPUCOL_SET_CONSTS		((int) ((sizeof(GpucolSetFunction) + 15) / 16))

/* Where the rows of a value have got to. */
typedef struct GpucolSetCursor
{
	GpucolArrayValue array;
	GpucolArrayPlace place;
	const char *at;				/* of the next field; NULL: there is none */
	const char *end;
	GpucolJsonb json;
	GpucolJsonbChild child;
} GpucolSetCursor;

/* The places first .. *end - 1 of a slice in a dimension of some size and lower bound. */
static inline uint32_t
gpucol_set_slice(const GpucolSetFunction *function, uint32_t size, int32_t lower, uint32_t *end)
{
	int64_t		first = (int64_t) function->from - lower;
	int64_t		behind = (int64_t) function->to - lower + 1;

	first = first < 0 ? 0 : first > (int64_t) size ? (int64_t) size : first;
	behind = behind < first ? first : behind > (int64_t) size ? (int64_t) size : behind;
	*end = (uint32_t) behind;
	return (uint32_t) first;
}

/* Let a cursor begin and end with a slice of its array. */
static inline bool
gpucol_set_seek(const GpucolSetFunction *function, GpucolSetCursor *cursor)
{
	GpucolArrayValue *array = &cursor->array;
	uint32_t	size = array->ndim > 0 ? (uint32_t) gpucol_array_dimension(array, 0) : 0;
	uint32_t	each = size > 0 ? array->nitems / size : 0;
	uint32_t	end = 0;
	uint32_t	first = size > 0 ? gpucol_set_slice(function, size, gpucol_array_lower(array, 0), &end) : 0;
	GpucolBytes item;
	bool		isnull;

	if (function->width != GPUCOL_ARRAY_VARYING)
		cursor->place = (GpucolArrayPlace) {
			first * each, array->first + gpucol_array_present_before(array, first * each) * (uint32_t) function->width
		};
	while (cursor->place.number < first * each)
		if (!gpucol_array_next(array, function->width, &cursor->place, &item, &isnull))
			return false;
	array->nitems = end * each;
	return true;
}

/* Have all children of the cursor's container that are made texts? */
static inline GpucolStatus
gpucol_set_check_jsonb(const GpucolSetFunction *function, const GpucolJsonb *json)
{
	GpucolJsonbChild child = {0};
	char		room[GPUCOL_JSONB_ROOM];

	if (function->jsonb == GPUCOL_SET_KEYS ? !gpucol_jsonb_is_object(json) : !gpucol_jsonb_is_array(json))
		return GPUCOL_UNSUPPORTED;	/* PostgreSQL has an error for it */
	while (gpucol_jsonb_next(json, &child))
		if (child.kind == GPUCOL_JSONB_CONTAINER ? function->jsonb != GPUCOL_SET_KEYS :
			child.kind == GPUCOL_JSONB_NUMERIC && function->jsonb != GPUCOL_SET_KEYS &&
			gpucol_jsonb_number(child.bytes, room) == 0)
			return GPUCOL_UNSUPPORTED;
	return child.number == json->nwords ? GPUCOL_OK : GPUCOL_CORRUPT;
}

/* Begin with what a path leads to in a value of jsonb; nothing if it leads nowhere. */
static inline GpucolStatus
gpucol_set_begin_jsonb(const GpucolSetFunction *function, GpucolBytes value, GpucolSetCursor *cursor)
{
	GpucolJsonb *json = &cursor->json;

	memset(&cursor->child, 0, sizeof(cursor->child));
	if (!gpucol_jsonb_open(value, json))
		return GPUCOL_CORRUPT;
	for (int at = 0; at < function->path_len; at += 1 + (uint8_t) function->path[at])
	{
		GpucolJsonbChild field;

		if (!gpucol_jsonb_is_object(json) ||
			!gpucol_jsonb_field(json, function->path + at + 1, (uint8_t) function->path[at], &field))
		{
			json->nwords = 0;
			return GPUCOL_OK;
		}
		if (field.kind == GPUCOL_JSONB_CONTAINER ? !gpucol_jsonb_open(field.bytes, json) : true)
		{
			/* a scalar has no fields, and no elements either, which is an error */
			json->head = GPUCOL_JSONB_ARRAY | GPUCOL_JSONB_SCALAR;
			json->nwords = 0;
			if (field.kind == GPUCOL_JSONB_CONTAINER)
				return GPUCOL_CORRUPT;
		}
	}
	return gpucol_set_check_jsonb(function, json);
}

/* The next text made of jsonb, which a number's is written to `room` for. */
static inline bool
gpucol_set_next_jsonb(const GpucolSetFunction *function, GpucolSetCursor *cursor, char *room, GpucolBytes *item,
					  bool *isnull)
{
	GpucolJsonbChild *child = &cursor->child;

	if ((function->jsonb == GPUCOL_SET_KEYS && child->number == cursor->json.nwords / 2) ||
		!gpucol_jsonb_next(&cursor->json, child))
		return false;
	*isnull = child->kind == GPUCOL_JSONB_NULL;
	*item = *isnull ? (GpucolBytes) {"", 0} : child->kind == GPUCOL_JSONB_TRUE ? (GpucolBytes) {"true", 4} :
		child->kind == GPUCOL_JSONB_FALSE ? (GpucolBytes) {"false", 5} : child->bytes;
	if (child->kind == GPUCOL_JSONB_NUMERIC)
		*item = (GpucolBytes) {room, gpucol_jsonb_number(child->bytes, room)};
	return true;
}

/* Begin with a value that is not NULL. */
static inline GpucolStatus
gpucol_set_begin(const GpucolSetFunction *function, GpucolBytes value, GpucolSetCursor *cursor)
{
	if (function->jsonb != 0)
		return gpucol_set_begin_jsonb(function, value, cursor);
	if (!function->fields)
	{
		if (!gpucol_array_open(value, &cursor->array))
			return GPUCOL_CORRUPT;
		cursor->place = gpucol_array_begin(&cursor->array);
		if (function->subscripts && cursor->array.ndim > 0)
			cursor->array.nitems = (uint32_t) gpucol_array_dimension(&cursor->array, 0);
		return !function->sliced || gpucol_set_seek(function, cursor) ? GPUCOL_OK : GPUCOL_CORRUPT;
	}
	for (size_t i = 0; i < value.len && function->ascii; i++)
		if ((value.data[i] & 0x80) != 0)
			return GPUCOL_UNSUPPORTED;
	cursor->at = value.len > 0 || function->keeps_empty ? value.data : NULL;
	cursor->end = value.data + value.len;
	return GPUCOL_OK;
}

static inline bool
gpucol_set_separates(const GpucolSetFunction *function, char byte)
{
	uint8_t		c = (uint8_t) byte;

	return c < 128 ? (function->set[c / 64] >> (c % 64) & 1) != 0 : function->beyond != 0;
}

/* The next separator at or after `at`: where it is, and where it ends; NULL if there is none. */
static inline const char *
gpucol_set_separator(const GpucolSetFunction *function, const char *at, const char *end, const char **behind)
{
	if (function->len > 0)
	{
		for (; (size_t) (end - at) >= function->len; at++)
		{
			at = (const char *) memchr(at, function->separator[0], (size_t) (end - at) - function->len + 1);
			if (at == NULL)
				return NULL;
			if (memcmp(at, function->separator, function->len) == 0)
			{
				*behind = at + function->len;
				return at;
			}
		}
		return NULL;
	}
	while (at < end && !gpucol_set_separates(function, *at))
		at++;
	if (at == end)
		return NULL;
	*behind = at + 1;
	while (function->repeated && *behind < end && gpucol_set_separates(function, **behind))
		(*behind)++;
	return at;
}

/* What comes before the first subscript of an array that was begun with. */
static inline int64_t
gpucol_set_before(const GpucolSetFunction *function, const GpucolSetCursor *cursor)
{
	return function->subscripts && cursor->array.ndim > 0 ? (int64_t) gpucol_array_lower(&cursor->array, 0) - 1 : 0;
}

/*
 * The next element or field, of a subscript nothing; false behind the last one.  Of jsonb it may be in `room`,
 * GPUCOL_JSONB_ROOM bytes.
 */
static inline bool
gpucol_set_next(const GpucolSetFunction *function, GpucolSetCursor *cursor, char *room, GpucolBytes *item,
				bool *isnull)
{
	const char *found;
	const char *behind = NULL;

	if (function->jsonb != 0)
		return gpucol_set_next_jsonb(function, cursor, room, item, isnull);
	if (function->subscripts)
	{
		*isnull = false;
		*item = (GpucolBytes) {"", 0};
		return cursor->place.number++ < cursor->array.nitems;
	}
	if (!function->fields)
		return gpucol_array_next(&cursor->array, function->width, &cursor->place, item, isnull);
	if (cursor->at == NULL)
		return false;
	found = gpucol_set_separator(function, cursor->at, cursor->end, &behind);
	*isnull = false;
	*item = (GpucolBytes) {cursor->at, (size_t) ((found != NULL ? found : cursor->end) - cursor->at)};
	cursor->at = found != NULL ? behind : NULL;
	return true;
}

/*
 * How many elements of a fixed width, none of them NULL, lie one behind the other from here on, `most` at the utmost;
 * they are passed over.  *data: the first.
 */
static inline uint32_t
gpucol_set_run(const GpucolSetFunction *function, GpucolSetCursor *cursor, uint32_t most, const char **data)
{
	const GpucolArrayValue *array = &cursor->array;
	uint32_t	width = (uint32_t) function->width;
	uint32_t	n;

	if (function->fields || function->subscripts || function->width == GPUCOL_ARRAY_VARYING || array->present != NULL ||
		cursor->place.number >= array->nitems || cursor->place.offset >= array->end)
		return 0;
	n = array->nitems - cursor->place.number;
	n = n < (array->end - cursor->place.offset) / width ? n : (array->end - cursor->place.offset) / width;
	n = n < most ? n : most;
	*data = array->base + cursor->place.offset;
	cursor->place.number += n;
	cursor->place.offset += n * width;
	return n;
}

#endif							/* GPUCOL_KERNEL_SET_FUNCTION_H */
