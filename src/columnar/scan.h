/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Table scans, in rows, over segments and delta.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SCAN_H
#define GPUCOL_COLUMNAR_SCAN_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "executor/tuptable.h"

#include "columnar/segment.h"
#include "columnar/view.h"

/*
 * State that parallel workers share, behind core's block-wise state (of which
 * only the number of blocks is used).
 */
typedef struct GpucolParallelScan
{
	ParallelBlockTableScanDescData base;
	uint32		part_rows;		/* rows of a part of a segment */
	pg_atomic_uint32 next_part; /* next part to hand out */
	pg_atomic_uint32 next_range;	/* next delta range to hand out */
} GpucolParallelScan;

/* Delta blocks that one worker takes at a time. */
#define GPUCOL_PARALLEL_BLOCKS	256

/*
 * Rows of a segment that one worker takes at a time, whole vectors: a table of one
 * segment occupies several workers, and each still reads long stretches.
 */
#define GPUCOL_PARALLEL_ROWS	(32 * GPUCOL_VECTOR_VALUES)

/* A part of a segment: rows [first, end). */
typedef struct GpucolSegmentPart
{
	uint32		segment;		/* of the view */
	uint32		first;
	uint32		end;
} GpucolSegmentPart;

/*
 * A scan.  Its units are the view's segments in order, then the ranges of delta
 * blocks between them.
 */
typedef struct GpucolScan
{
	TableScanDescData base;
	TableScanDesc delta;		/* heap's scan; owns the snapshot */
	MemoryContext context;		/* what follows */
	GpucolView *view;			/* NULL until the first row is asked for */
	GpucolReader *reader;
	uint32	   *first_parts;	/* parallel: number of each segment's first part, */
	uint32		nparts;			/* and of all */
	uint32		nranges;
	GpucolBlockRange *ranges;
	int64		unit;			/* -1 before the first */
	int64		entered;		/* segment that reader and deletions are of, or -1 */
	bool		in_unit;
	ScanDirection direction;	/* of the last call */
	int64		row;			/* in a segment: row last returned */
	int64		end;			/* and the row before which the unit ends */
	uint32	   *deleted;		/* of the segment, or NULL */
	bool		unsettled;		/* a dirty scan: its loader has not committed */
	bool		tid_range;		/* the base's TID limits apply */

	/* ANALYZE and TABLESAMPLE, see sample.c */
	uint64		sample_row;
	uint64		sample_end;
	uint64		sample_step;
	bool		sample_virtual;
	uint32		sample_shown;	/* rows of the virtual block so far */
	bool		sample_dense;	/* many of the one before were */
	BlockNumber sample_block;

	/* bitmap scans, see bitmap.c: the visible rows of one block */
	BlockNumber bitmap_block;
	Buffer		bitmap_buffer;	/* of a delta block; kept until the next one */
	HeapTupleData bitmap_tuple;
	bool		bitmap_recheck;
	bool		bitmap_probed;	/* the rows are still to be looked for, one by one */
	uint64		bitmap_found;	/* segment rows of all exact blocks */
	uint64		bitmap_run;		/* rows of all blocks */
	uint64		bitmap_probes;	/* of these by probes; 0 = not decided */
	int			bitmap_next;
	int			bitmap_nrows;
	OffsetNumber bitmap_rows[MaxHeapTuplesPerPage];
	uint32		bitmap_row;		/* of a page of the entered segment: rows left */
	uint32		bitmap_end;
} GpucolScan;

/* Read the directory for the scan if that has not been done. */
extern void gpucol_scan_prepare(GpucolScan *scan);

/* The part of a parallel scan with this number, which is below scan->nparts. */
extern void gpucol_scan_find_part(const GpucolScan *scan, uint32 number,
								  GpucolSegmentPart *part);

/* Have the workers of a scan that has not begun take whole segments. */
extern void gpucol_scan_take_whole(ParallelTableScanDesc pscan);

/* Begin a scan of the delta rows only, forward, for a merge. */
extern TableScanDesc gpucol_scan_begin_delta(Relation rel, Snapshot snapshot);

/* The share of its blocks that such a scan has read when it comes to this one: 0 to 1. */
extern double gpucol_scan_delta_share(TableScanDesc sscan, BlockNumber block);

/* Have the next rows be those of some blocks, of which no segment has any. */
extern void gpucol_scan_enter_blocks(GpucolScan *scan, BlockNumber start, BlockNumber nblocks);

/* Make a segment of the view the scan's unit: its deletions and its reader. */
extern void gpucol_scan_enter_segment(GpucolScan *scan, int64 number);

/* Store a row of the reader's segment in a slot. */
extern void gpucol_scan_store(GpucolReader *reader, uint32 row,
							  TransactionId xmin, TupleTableSlot *slot);

/* The routine's callbacks, as documented in access/tableam.h. */
extern TableScanDesc gpucol_scan_begin(Relation rel, Snapshot snapshot, int nkeys,
									   struct ScanKeyData *key,
									   ParallelTableScanDesc pscan, uint32 flags);
extern void gpucol_scan_end(TableScanDesc sscan);
extern void gpucol_scan_rescan(TableScanDesc sscan, struct ScanKeyData *key,
							   bool set_params, bool allow_strat,
							   bool allow_sync, bool allow_pagemode);
extern bool gpucol_scan_getnextslot(TableScanDesc sscan, ScanDirection direction,
									TupleTableSlot *slot);
extern void gpucol_scan_set_tidrange(TableScanDesc sscan, ItemPointer mintid,
									 ItemPointer maxtid);
extern bool gpucol_scan_getnextslot_tidrange(TableScanDesc sscan,
											 ScanDirection direction,
											 TupleTableSlot *slot);
extern Size gpucol_scan_parallel_estimate(Relation rel);
extern Size gpucol_scan_parallel_initialize(Relation rel, ParallelTableScanDesc pscan);
extern void gpucol_scan_parallel_reinitialize(Relation rel,
											  ParallelTableScanDesc pscan);

/*
 * Make scans of gpucol tables plain heap scans of their delta, while core's own
 * code copies it (rewrite.c); returns the old setting.
 */
extern bool gpucol_scan_set_delta_only(bool delta_only);
extern bool gpucol_scan_is_delta_only(void);

#endif							/* GPUCOL_COLUMNAR_SCAN_H */
