/*-------------------------------------------------------------------------
 *
 * bitmap.h
 *	  Bitmap heap scans over delta and segments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_BITMAP_H
#define GPUCOL_COLUMNAR_BITMAP_H

#include "postgres.h"

#include "access/tableam.h"

#include "compat.h"

/* Install the executor hook that bitmap scans need before PostgreSQL 18. */
extern void gpucol_bitmap_init(void);

/* Have the bitmap scans of gpucol tables in a plan not prefetch; the hook has seen to those of a statement's start. */
extern void gpucol_bitmap_keep_from_prefetching(struct PlanState *node);

/* The routine's callbacks, as documented in access/tableam.h. */
#if GPUCOL_COMPAT_BITMAP_STREAM
extern bool gpucol_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot,
									 bool *recheck, uint64 *lossy_pages,
									 uint64 *exact_pages);
#else
extern bool gpucol_bitmap_next_block(TableScanDesc sscan,
									 struct TBMIterateResult *result);
extern bool gpucol_bitmap_next_tuple(TableScanDesc sscan,
									 struct TBMIterateResult *result,
									 TupleTableSlot *slot);
#endif

#endif							/* GPUCOL_COLUMNAR_BITMAP_H */
