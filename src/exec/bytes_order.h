/*-------------------------------------------------------------------------
 *
 * bytes_order.h
 *	  Byte strings in the order of their bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BYTES_ORDER_H
#define GPUCOL_EXEC_BYTES_ORDER_H

#include "postgres.h"

#include "base/radix.h"
#include "kernel/batch.h"

/*
 * Sort n items, each of the string that its row numbers, as memcmp orders strings, of which the
 * shorter of two equal beginnings is first; `scratch` has room for as many.
 */
extern void gpucol_bytes_sort(const GpucolBytes *values, GpucolRadixItem *items, GpucolRadixItem *scratch, uint32 n);

#endif							/* GPUCOL_EXEC_BYTES_ORDER_H */
