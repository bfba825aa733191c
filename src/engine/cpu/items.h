/*-------------------------------------------------------------------------
 *
 * items.h
 *	  Columns of bytes that are read without forming their values: numerics as words, arrays as
 *	  elements.
 *
 * A program that asks arrays for their sizes and elements alone need not have them formed where a chunk
 * keeps lengths and elements (GPUCOL_CODING_ARRAY): a value is then the address of the first
 * of its elements, as 64-bit integers or patterns of floats, and their number.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_ITEMS_H
#define GPUCOL_ENGINE_CPU_ITEMS_H

#include "engine/cpu/cpu.h"

#define GPUCOL_CPU_ITEMS_ANY	0xff	/* sizes alone are asked for */

/* The elements of a row. */
typedef struct GpucolCpuItemRow
{
	const int64_t *values;
	const uint8_t *nulls;		/* a byte for each, or NULL: none is */
	uint32_t	n;
} GpucolCpuItemRow;

/* Are its loads words of a NUMERIC chunk? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_column_has_words(const GpucolCpuColumn *column)
{
	return column->numbers && column->desc->coding == GPUCOL_CODING_NUMERIC;
}

/* Are they elements of an ARRAY chunk? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_column_has_items(const GpucolCpuColumn *column)
{
	return column->items != 0 && column->desc->coding == GPUCOL_CODING_ARRAY &&
		(column->items == GPUCOL_CPU_ITEMS_ANY || column->items == column->desc->item_bytes);
}

/* The same, and only how many there are is asked for? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_column_has_sizes(const GpucolCpuColumn *column)
{
	return gpucol_cpu_column_has_items(column) && column->items == GPUCOL_CPU_ITEMS_ANY;
}

/* The elements of row j, which is not NULL, of a register that has them. */
GPUCOL_CPU_INLINE GpucolCpuItemRow
gpucol_cpu_items_row(const GpucolCpuReg *reg, uint32_t j)
{
	const int64_t *values = (const int64_t *) reg->v.s[j].data;

	return (GpucolCpuItemRow) {
		values, reg->item_nulls != NULL ? reg->item_nulls + (values - reg->items) : NULL, (uint32_t) reg->v.s[j].len
	};
}

/* An element that is a float of a width. */
GPUCOL_CPU_INLINE double
gpucol_cpu_items_float(int64_t item, int width)
{
	uint32_t	low = (uint32_t) item;
	float		narrow;
	double		wide;

	if (width == sizeof(narrow))
	{
		memcpy(&narrow, &low, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, &item, sizeof(wide));
	return wide;
}

/* Find the columns whose arrays are asked for sizes and elements alone; joins have been looked at. */
extern void gpucol_cpu_items_init(GpucolRun *run);

#endif							/* GPUCOL_ENGINE_CPU_ITEMS_H */
