/*-------------------------------------------------------------------------
 *
 * delta_count.h
 *	  How many rows the delta has, about.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_COUNT_H
#define GPUCOL_COLUMNAR_DELTA_COUNT_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/bufmgr.h"

#include "columnar/view.h"

/* Is the row to be counted?  Its page is locked in shared mode. */
typedef bool (*GpucolDeltaWanted) (HeapTuple row, Buffer buffer, void *argument);

/*
 * Rows of the delta, counted on evenly spaced pages of its ranges, about most_pages of them, and
 * extrapolated.  wanted may be NULL: all rows, dead ones too.
 */
extern double gpucol_delta_count(Relation rel, const GpucolBlockRange *ranges, uint32 nranges,
								 BlockNumber most_pages, BufferAccessStrategy strategy,
								 GpucolDeltaWanted wanted, void *argument);

#endif							/* GPUCOL_COLUMNAR_DELTA_COUNT_H */
