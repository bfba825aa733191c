/*-------------------------------------------------------------------------
 *
 * tombstones.h
 *	  Tombstones of a view's segments, those of small ones read together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_TOMBSTONES_H
#define GPUCOL_COLUMNAR_TOMBSTONES_H

#include "postgres.h"

#include "columnar/view.h"

/* For a view, in the current memory context; NULL where a snapshot is to read no more than is asked for. */
extern GpucolTombstones *gpucol_tombstones_make(Snapshot snapshot);

/* Have `take` take the numbers of the rows of a segment that have a tombstone, in ascending order. */
extern void gpucol_tombstones_read(const GpucolView *view, GpucolDirectory *dir, const GpucolViewSegment *segment,
								   GpucolDirectoryTake take, void *arg);

#endif							/* GPUCOL_COLUMNAR_TOMBSTONES_H */
