/*-------------------------------------------------------------------------
 *
 * expr_array.c
 *	  Operations on arrays: how large they are, elements by subscript, and where a value is
 *	  among them (kernel/array_value.h).
 *
 * Elements that are strings stay where the array is.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"
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

/* The array of row j, which is not NULL. */
GPUCOL_CPU_INLINE bool
open_array(const GpucolCpuFrame *f, uint32_t j, GpucolArrayValue *array)
{
	return gpucol_array_open(gpucol_cpu_op_string(f->a, j), array);
}

GpucolStatus
gpucol_cpu_op_ARRAY_SIZE_S(GpucolCpuFrame *f)
{
	uint8_t    *nulls = open_nulls(f, NULL);

	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolArrayValue array;

		f->dst->v.i[j] = 0;
		if (nulls[j])
			continue;
		if (!open_array(f, j, &array))
			return GPUCOL_CORRUPT;
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

GpucolStatus
gpucol_cpu_op_ARRAY_ITEM_I(GpucolCpuFrame *f)
{
	TAKE_ITEMS(f->instr->aux, f->dst->v.i[j] = 0, f->dst->v.i[j] = gpucol_array_integer(item));
}

GpucolStatus
gpucol_cpu_op_ARRAY_ITEM_F(GpucolCpuFrame *f)
{
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

/* x = ANY (array): NULL elements leave doubt where no other is equal. */
#define OP_HAS(NAME, FIND, VALUE) \
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
				f->dst->v.b[j] = FIND(&array, f->instr->aux, false, VALUE, &has_null) >= 0; \
				nulls[j] = has_null && !f->dst->v.b[j]; \
			} \
		} \
		return GPUCOL_OK; \
	}

OP_HAS(ARRAY_HAS_I, find_integer, f->b->v.i[j])
OP_HAS(ARRAY_HAS_F, find_float, f->b->v.f[j])
OP_HAS(ARRAY_HAS_S, find_string, gpucol_cpu_op_string(f->b, j))

#define OP_PLACE(NAME, FIND, VALUE) \
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
			number = FIND(&array, f->instr->aux, wants_null, VALUE, &has_null); \
			nulls[j] = number < 0; \
			if (number >= 0) \
				f->dst->v.i[j] = number + gpucol_array_lower(&array, 0); \
		} \
		return GPUCOL_OK; \
	}

OP_PLACE(ARRAY_PLACE_I, find_integer, f->b->v.i[j])
OP_PLACE(ARRAY_PLACE_F, find_float, f->b->v.f[j])
OP_PLACE(ARRAY_PLACE_S, find_string, wants_null ? ((GpucolBytes) {"", 0}) : gpucol_cpu_op_string(f->b, j))
