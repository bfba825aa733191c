/*-------------------------------------------------------------------------
 *
 * deadrows.h
 *	  Segment rows that are dead to everyone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DEADROWS_H
#define GPUCOL_COLUMNAR_DEADROWS_H

#include "postgres.h"

#include "access/heapam.h"

#include "columnar/directory.h"

/* What has become of a directory row. */
extern HTSV_Result gpucol_deadrows_judge(const GpucolDirectoryTuple *row, TransactionId oldest_xmin);

/* Row numbers first .. end - 1 of a segment. */
typedef struct GpucolRowRange
{
	uint64		first;
	uint64		end;
} GpucolRowRange;

/*
 * What the segments that are not dead to everyone have: row numbers, all that they
 * reserved and have not given back, and pages.
 */
typedef struct GpucolCoverage
{
	uint64		identity;		/* of the table's storage */
	uint64		bound;			/* numbers from here on are nobody's yet */
	uint64		lost;			/* numbers below it that no segment has */
	uint64		rows;			/* rows of written segments */
	TransactionId newest;		/* who took the last of the others away; invalid = nobody known */
	BlockNumber block;			/* of one of them, if there is any */
	uint32		nranges;
	GpucolRowRange *ranges;		/* ascending */
	uint32		nextents;
	GpucolExtent *extents;		/* ascending */
} GpucolCoverage;

/*
 * Read the coverage, in the current memory context.  Takes the allocation lock
 * for the moment, so no reservation is missed.
 */
extern GpucolCoverage *gpucol_coverage_read(GpucolDirectory *dir);

/* The same for a caller who has the allocation lock. */
extern GpucolCoverage *gpucol_coverage_read_locked(GpucolDirectory *dir);

/* Has some segment the row number, or may one yet get it? */
extern bool gpucol_coverage_has_row(const GpucolCoverage *coverage, uint64 row);

/* Has no segment a block of an extent? */
extern bool gpucol_coverage_is_free(const GpucolCoverage *coverage,
									const GpucolExtent *extent);

/* Newly dead rows among GPUCOL_BITMAP_ROWS consecutive ones. */
typedef struct GpucolDeadBlock
{
	uint64		number;			/* first row / GPUCOL_BITMAP_ROWS */
	uint8		bits[GPUCOL_BITMAP_BYTES];
} GpucolDeadBlock;

/* Rows whose tombstone every snapshot sees. */
typedef struct GpucolDeadRows
{
	uint64		nrows;
	uint64		recent;			/* tombstones that are not so far */
	TransactionId newest;		/* who made the last of them; invalid = all are frozen */
	uint32		nblocks;
	GpucolDeadBlock *blocks;	/* ascending */
} GpucolDeadRows;

/*
 * Collect the rows whose tombstones were committed before `oldest_xmin`, in the
 * current memory context.
 */
extern GpucolDeadRows *gpucol_deadrows_collect(GpucolDirectory *dir,
											   TransactionId oldest_xmin);
extern bool gpucol_deadrows_has(const GpucolDeadRows *dead, uint64 row);

#endif							/* GPUCOL_COLUMNAR_DEADROWS_H */
