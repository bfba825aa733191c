/*-------------------------------------------------------------------------
 *
 * radix.h
 *	  Sorting row numbers by unsigned keys, without comparisons.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_RADIX_H
#define GPUCOL_BASE_RADIX_H

#include <stdint.h>

typedef struct GpucolRadixItem
{
	uint64_t	key;
	uint32_t	row;
} GpucolRadixItem;

/*
 * Sort n items by the lowest `bits` bits of their keys, keeping the order of equal ones;
 * `scratch` has room for as many.  The sorted items: in one of the two arrays.
 */
extern GpucolRadixItem *gpucol_radix_sort(GpucolRadixItem *items, GpucolRadixItem *scratch,
										  uint32_t n, int bits);

#endif							/* GPUCOL_BASE_RADIX_H */
