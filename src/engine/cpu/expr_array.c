/*-------------------------------------------------------------------------
 *
 * expr_array.c
 *	  Operations on arrays: how large they are, elements by subscript, and where a value is
 *	  among them (kernel/array_value.h).
 *
 * Elements that are strings stay where the array is.  Where elements were unpacked without their arrays
 * (items.h), arrays are of one dimension from 1 on, or empty.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "engine/cpu/items.h"
#include "kernel/array_value.h"

/* Have rows of the result be NULL one by one: those for which an operand is, so far. */
static uint8_t *
open_nulls(GpucolCpuFrame *f, const GpucolCpuReg *b)
{
	gpucol_cpu_op_nulls(f->dst, f->a, b, f->n);
	if (f->dst->nulls == NULL)
	{
		memset(f->dst->null_space, 0, f->n);
		f->dst->nulls = f->dst->null_space;
	}
	return f->dst->null_space;
}

/* The array of row j, which is not NULL; of unpacked elements all but these and the upper bound. */
GPUCOL_CPU_INLINE bool
open_array(const GpucolCpuFrame *f, uint32_t j, GpucolArrayValue *array)
{
	static const int32_t shape[] = {0, 1};

	if (f->a->items != NULL)
	{
		uint32_t	n = (uint32_t) f->a->v.s[j].len;

		*array = (GpucolArrayValue) {.ndim = n > 0,.nitems = n,.shape = (const char *) shape};
		return true;
	}
	return gpucol_array_open(gpucol_cpu_op_string(f->a, j), array);
}

GpucolStatus
gpucol_cpu_op_ARRAY_SIZE_S(GpucolCpuFrame *f)
{
	uint8_t    *nulls = open_nulls(f, NULL);
	int32_t		shape[2] = {0, 1};

	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolArrayValue array;

		f->dst->v.i[j] = 0;
		if (nulls[j])
			continue;
		if (!open_array(f, j, &array))
			return GPUCOL_CORRUPT;
		shape[0] = (int32_t) array.nitems;
		if (f->a->items != NULL)
			array.shape = (const char *) shape;
		nulls[j] = !gpucol_array_size(&array, f->instr->aux, &f->dst->v.i[j]);
		if (nulls[j])
			f->dst->v.i[j] = 0;
	}
	return GPUCOL_OK;
}

/* The element that each row asks for: TAKE it, or else EMPTY. */
#define TAKE_ITEMS(WIDTH, EMPTY, TAKE) \
	do \
	{ \
		uint8_t    *nulls = open_nulls(f, f->b); \
\
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			GpucolArrayValue array; \
			GpucolBytes item; \
\
			if (!nulls[j] && !open_array(f, j, &array)) \
				return GPUCOL_CORRUPT; \
			nulls[j] = nulls[j] || !gpucol_array_item(&array, WIDTH, f->b->v.i[j], &item); \
			if (nulls[j]) \
				EMPTY; \
			else \
				TAKE; \
		} \
		return GPUCOL_OK; \
	} while (0)

/* The same of unpacked elements. */
#define TAKE_FLAT(EMPTY, TAKE) \
	do \
	{ \
		uint8_t    *nulls = open_nulls(f, f->b); \
\
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			GpucolCpuItemRow row = {NULL, NULL, 0}; \
			int64_t		at; \
			int64_t		item; \
\
			if (!nulls[j]) \
				row = gpucol_cpu_items_row(f->a, j); \
			at = nulls[j] ? 0 : f->b->v.i[j]; \
			nulls[j] = at < 1 || at > row.n || (row.nulls != NULL && row.nulls[at - 1] != 0); \
			item = nulls[j] ? 0 : row.values[at - 1]; \
			if (nulls[j]) \
				EMPTY; \
			else \
				TAKE; \
		} \
		return GPUCOL_OK; \
	} while (0)

GpucolStatus
gpucol_cpu_op_ARRAY_ITEM_I(GpucolCpuFrame *f)
{
	if (f->a->items != NULL)
		TAKE_FLAT(f->dst->v.i[j] = 0, f->dst->v.i[j] = item);
	TAKE_ITEMS(f->instr->aux, f->dst->v.i[j] = 0, f->dst->v.i[j] = gpucol_array_integer(item));
}

GpucolStatus
gpucol_cpu_op_ARRAY_ITEM_F(GpucolCpuFrame *f)
{
	if (f->a->items != NULL)
		TAKE_FLAT(f->dst->v.f[j] = 0, f->dst->v.f[j] = gpucol_cpu_items_float(item, f->instr->aux));
	TAKE_ITEMS(f->instr->aux, f->dst->v.f[j] = 0, f->dst->v.f[j] = gpucol_array_float(item));
}

GpucolStatus
gpucol_cpu_op_ARRAY_ITEM_S(GpucolCpuFrame *f)
{
	f->dst->coded = false;
	f->dst->column = NULL;
	TAKE_ITEMS(GPUCOL_ARRAY_VARYING, f->dst->v.s[j] = ((GpucolBytes) {"", 0}), f->dst->v.s[j] = item);
}

/* Where a value is among the elements: its number from 0, or that of NULL; -1 if it is not. */
#define FIND_VALUE(NAME, T, WIDTH, IS_SAME) \
	GPUCOL_CPU_INLINE int64_t \
	NAME(const GpucolArrayValue *array, int width GPUCOL_CPU_UNUSED, bool wants_null, T x, bool *has_null) \
	{ \
		GpucolArrayPlace place = gpucol_array_begin(array); \
		GpucolBytes item; \
		bool		isnull; \
\
		*has_null = false; \
		while (gpucol_array_next(array, WIDTH, &place, &item, &isnull)) \
		{ \
			*has_null |= isnull; \
			if (isnull ? wants_null : !wants_null && (IS_SAME)) \
				return (int64_t) place.number - 1; \
		} \
		return -1; \
	}

FIND_VALUE(find_integer, int64_t, width, gpucol_array_integer(item) == x)
FIND_VALUE(find_float, double, width, gpucol_float_order(gpucol_array_float(item)) == gpucol_float_order(x))
FIND_VALUE(find_string, GpucolBytes, GPUCOL_ARRAY_VARYING, item.len == x.len && memcmp(item.data, x.data, x.len) == 0)

/* The same among unpacked elements. */
#define FIND_FLAT_VALUE(NAME, T, IS_SAME) \
	GPUCOL_CPU_INLINE int64_t \
	NAME(GpucolCpuItemRow row, int width GPUCOL_CPU_UNUSED, bool wants_null, T x, bool *has_null) \
	{ \
		*has_null = false; \
		for (uint32_t i = 0; i < row.n; i++) \
		{ \
			int64_t		item = row.values[i]; \
			bool		isnull = row.nulls != NULL && row.nulls[i] != 0; \
\
			*has_null |= isnull; \
			if (isnull ? wants_null : !wants_null && (IS_SAME)) \
				return (int64_t) i; \
		} \
		return -1; \
	}

FIND_FLAT_VALUE(find_flat_integer, int64_t, item == x)
FIND_FLAT_VALUE(find_flat_float, double,
			  gpucol_float_order(gpucol_cpu_items_float(item, width)) == gpucol_float_order(x))

/* Texts are not unpacked. */
GPUCOL_CPU_INLINE int64_t
find_flat_string(GpucolCpuItemRow row GPUCOL_CPU_UNUSED, int width GPUCOL_CPU_UNUSED, bool wants_null GPUCOL_CPU_UNUSED,
				 GpucolBytes x GPUCOL_CPU_UNUSED, bool *has_null GPUCOL_CPU_UNUSED)
{
	return -1;
}

/* x = ANY (array): NULL elements leave doubt where no other is equal. */
#define OP_HAS(NAME, FIND, FIND_FLAT, VALUE) \
	GpucolStatus \
	gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *nulls = open_nulls(f, NULL); \
\
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			GpucolArrayValue array; \
			bool		has_null = false; \
\
			f->dst->v.b[j] = 0; \
			if (nulls[j]) \
				continue; \
			if (!open_array(f, j, &array)) \
				return GPUCOL_CORRUPT; \
			if (array.nitems == 0) \
				continue; \
			if (GPUCOL_CPU_NULL_AT(f->b, j)) \
				nulls[j] = 1; \
			else \
			{ \
				f->dst->v.b[j] = (f->a->items != NULL ? \
								  FIND_FLAT(gpucol_cpu_items_row(f->a, j), f->instr->aux, false, VALUE, &has_null) : \
								  FIND(&array, f->instr->aux, false, VALUE, &has_null)) >= 0; \
				nulls[j] = has_null && !f->dst->v.b[j]; \
			} \
		} \
		return GPUCOL_OK; \
	}

OP_HAS(ARRAY_HAS_I, find_integer, find_flat_integer, f->b->v.i[j])
OP_HAS(ARRAY_HAS_F, find_float, find_flat_float, f->b->v.f[j])
OP_HAS(ARRAY_HAS_S, find_string, find_flat_string, gpucol_cpu_op_string(f->b, j))

#define OP_PLACE(NAME, FIND, FIND_FLAT, VALUE) \
	GpucolStatus \
	gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
	{ \
		uint8_t    *nulls = open_nulls(f, NULL); \
\
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			bool		wants_null = GPUCOL_CPU_NULL_AT(f->b, j); \
			GpucolArrayValue array; \
			int64_t		number; \
			bool		has_null; \
\
			f->dst->v.i[j] = 0; \
			if (nulls[j]) \
				continue; \
			if (!open_array(f, j, &array)) \
				return GPUCOL_CORRUPT; \
			if (array.ndim > 1 && gpucol_cpu_op_counts(f, j)) \
				return GPUCOL_UNSUPPORTED; \
			number = f->a->items != NULL ? \
				FIND_FLAT(gpucol_cpu_items_row(f->a, j), f->instr->aux, wants_null, VALUE, &has_null) : \
				FIND(&array, f->instr->aux, wants_null, VALUE, &has_null); \
			nulls[j] = number < 0; \
			if (number >= 0) \
				f->dst->v.i[j] = number + gpucol_array_lower(&array, 0); \
		} \
		return GPUCOL_OK; \
	}

OP_PLACE(ARRAY_PLACE_I, find_integer, find_flat_integer, f->b->v.i[j])
OP_PLACE(ARRAY_PLACE_F, find_float, find_flat_float, f->b->v.f[j])
OP_PLACE(ARRAY_PLACE_S, find_string, find_flat_string,
		 wants_null ? ((GpucolBytes) {"", 0}) : gpucol_cpu_op_string(f->b, j))
