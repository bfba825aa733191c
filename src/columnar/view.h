/*-------------------------------------------------------------------------
 *
 * view.h
 *	  What one snapshot sees of a table's segments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VIEW_H
#define GPUCOL_COLUMNAR_VIEW_H

#include "postgres.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "columnar/directory.h"

/* A segment that the snapshot sees. */
typedef struct GpucolViewSegment
{
	GpucolSegmentEntry entry;
	ItemPointerData tid;		/* of the directory row */
	TransactionId xmin;			/* that wrote it */
} GpucolViewSegment;

/* Blocks of the main fork that no segment of a view occupies. */
typedef struct GpucolBlockRange
{
	BlockNumber start;
	BlockNumber nblocks;
} GpucolBlockRange;

typedef struct GpucolTombstones GpucolTombstones;

typedef struct GpucolView
{
	Relation	table;
	bool		peek;			/* opened by gpucol_view_peek */
	Snapshot	snapshot;
	uint32		nsegments;
	GpucolViewSegment *segments;	/* ascending by first row; perhaps shared with other
									 * views of the backend, so never written */
	uint32		ngaps;
	GpucolBlockRange *gaps;		/* all delta blocks, or NULL: not yet known */
	bool		any_deleted;	/* some row of some segment may be deleted */
	GpucolFoldState folds;		/* of the bitmaps that the snapshot sees */
	uint64		rows;			/* rows of all segments */
	uint64		pages;
	uint64		version;		/* views of the backend with equal versions are of one
								 * table and equal, deleted rows included; 0 = unknown,
								 * gpucol_view_version_find may find it */
	struct GpucolViewCopy *copy;	/* that it shares with others, or NULL */
	GpucolTombstones *tombstones;	/* of some segments (tombstones.h), or NULL */
} GpucolView;

/*
 * Read the directory under a snapshot.  The view lasts as long as the current memory
 * context.  The backend's own buffered rows are written first.  SnapshotAny gives every segment
 * that is not dead to everyone.
 */
extern GpucolView *gpucol_view_open(Relation table, Snapshot snapshot);

/*
 * The same, but no read of a serializable transaction: for estimates, and for who will note
 * each row by itself (serial.h).
 */
extern GpucolView *gpucol_view_peek(Relation table, Snapshot snapshot);

/* The same where the session has it from an earlier reading; else NULL. */
extern GpucolView *gpucol_view_peek_kept(Relation table, Snapshot snapshot);

/* The segment that holds a row number, or NULL. */
extern const GpucolViewSegment *gpucol_view_find(const GpucolView *view,
												 uint64 row_number);

/*
 * Bitmap of the rows of a segment that are deleted for the view's snapshot, in
 * the current memory context, or NULL if none is; *ndeleted their number.  Whole
 * vectors.  SnapshotAny sees every row.
 */
extern uint32 *gpucol_view_deleted(const GpucolView *view,
								   const GpucolViewSegment *segment,
								   uint32 *ndeleted);

/* Their number alone. */
extern uint32 gpucol_view_count_deleted(const GpucolView *view,
										const GpucolViewSegment *segment);

/*
 * The same by kind: rows folded into bitmaps (dead to everyone) and rows with a
 * tombstone; NULL where there is none.  With SnapshotAny the bitmaps of every version count:
 * VACUUM removes those of a segment that is dead, which older snapshots still see.
 */
extern uint32 *gpucol_view_folded(const GpucolView *view, const GpucolViewSegment *segment,
								  Snapshot snapshot);
extern uint32 *gpucol_view_tombstoned(const GpucolView *view, const GpucolViewSegment *segment,
									  Snapshot snapshot);

/* Is one row deleted for a snapshot? */
extern bool gpucol_view_row_deleted(GpucolDirectory *dir, Snapshot snapshot,
									uint64 row_number);

/* Has a row that has no tombstone for the snapshot been folded into a bitmap? */
extern bool gpucol_view_row_folded(GpucolDirectory *dir, Snapshot snapshot,
								   uint64 row_number);

/*
 * The segment that holds a row number, if the snapshot sees it; without reading
 * the whole directory.
 */
extern bool gpucol_view_lookup(GpucolDirectory *dir, Snapshot snapshot,
							   uint64 row_number, GpucolViewSegment *segment);

/*
 * All ranges of delta blocks, ascending, the last without end, in the current memory
 * context.
 */
extern GpucolBlockRange *gpucol_view_gaps(const GpucolView *view, uint32 *ngaps);

/*
 * Ranges of delta blocks below nblocks, none longer than max_blocks, ascending,
 * in the current memory context.
 */
extern GpucolBlockRange *gpucol_view_delta_ranges(const GpucolView *view,
												  BlockNumber nblocks,
												  BlockNumber max_blocks,
												  uint32 *nranges);

#endif							/* GPUCOL_COLUMNAR_VIEW_H */
