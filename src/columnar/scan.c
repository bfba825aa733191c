/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Table scans, in rows, over segments and delta.
 *
 * A scan goes through units: first the segments that its snapshot sees, then the
 * ranges of main fork blocks that those segments do not occupy, which heap's scan
 * reads under scan limits.  Segments are decoded a vector at a time (reader.c) and
 * returned as heap tuples, so that system columns and whole-row references are
 * what they are for heap.
 *
 * Parallel workers draw units from a shared counter.  They compute the same list
 * of units because they have the same snapshot and take the number of blocks from
 * the shared state.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/burials.h"
#include "columnar/delta_check.h"
#include "columnar/delta_pages.h"
#include "columnar/fetch.h"
#include "columnar/scan.h"
#include "columnar/slot.h"
#include "columnar/writer.h"
#include "compat.h"

/* Marks our own scans among scans of gpucol tables. */
#define SO_GPUCOL	(UINT32_C(1) << 31)

/* Blocks of the delta that are looked at together before heap's code scans them: fewer than its ring has. */
#define CHECKED_BLOCKS	16

/* Blocks of a table of whose delta empty pages are not looked for before it is scanned row by row. */
#define FEW_PAGES	64

static bool delta_only = false;

bool
gpucol_scan_set_delta_only(bool value)
{
	bool		old = delta_only;

	delta_only = value;
	return old;
}

bool
gpucol_scan_is_delta_only(void)
{
	return delta_only;
}

/* Is it one of our scans, not a bare scan of the delta? */
static bool
is_ours(TableScanDesc sscan)
{
	return (sscan->rs_flags & SO_GPUCOL) != 0;
}

TableScanDesc
gpucol_scan_begin(Relation rel, Snapshot snapshot, int nkeys, struct ScanKeyData *key,
				  ParallelTableScanDesc pscan, uint32 flags)
{
	GpucolScan *scan;

	if (delta_only)
		return heap_beginscan(rel, snapshot, nkeys, key, pscan, flags);
	if (nkeys > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("scan keys are not supported by table scans of table \"%s\"",
						RelationGetRelationName(rel))));
	scan = palloc0(sizeof(GpucolScan));
	/* scan limits and synchronised scans do not go together */
	scan->delta = heap_beginscan(rel, snapshot, 0, NULL, NULL,
								 flags & ~(uint32) SO_ALLOW_SYNC);
	if ((flags & SO_TYPE_TIDRANGESCAN) != 0)
		PredicateLockRelation(rel, snapshot);	/* heap forgets it */
	scan->base = *scan->delta;
	scan->base.rs_flags |= SO_GPUCOL;
	scan->base.rs_parallel = pscan;
	scan->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol scan",
										  ALLOCSET_DEFAULT_SIZES);
	scan->unit = scan->entered = -1;
	scan->direction = NoMovementScanDirection;
	scan->bitmap_buffer = InvalidBuffer;
	return &scan->base;
}

void
gpucol_scan_end(TableScanDesc sscan)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	if (!is_ours(sscan))
	{
		heap_endscan(sscan);
		return;
	}
	if (scan->reader != NULL)
		gpucol_reader_close(scan->reader);
	if (BufferIsValid(scan->bitmap_buffer))
		ReleaseBuffer(scan->bitmap_buffer);
	/* a worker of a bitmap scan was given its snapshot behind heap's back */
	if ((sscan->rs_flags & SO_TEMP_SNAPSHOT) != 0 &&
		(scan->delta->rs_flags & SO_TEMP_SNAPSHOT) == 0)
		UnregisterSnapshot(sscan->rs_snapshot);
	heap_endscan(scan->delta);
	MemoryContextDelete(scan->context);
	pfree(scan);
}

/*
 * Does the scan look at what transactions in progress do (logical replication, which
 * looks for the row to change)?
 */
static bool
is_dirty(const GpucolScan *scan)
{
	return scan->base.rs_snapshot != NULL &&
		scan->base.rs_snapshot->snapshot_type == SNAPSHOT_DIRTY;
}

/* Forget what the directory said. */
static void
forget_view(GpucolScan *scan)
{
	if (scan->reader != NULL)
		gpucol_reader_close(scan->reader);
	scan->reader = NULL;
	scan->view = NULL;
	scan->deleted = NULL;
	scan->entered = -1;
	MemoryContextReset(scan->context);
}

void
gpucol_scan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params,
				   bool allow_strat, bool allow_sync, bool allow_pagemode)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	if (!is_ours(sscan))
	{
		heap_rescan(sscan, key, set_params, allow_strat, allow_sync, allow_pagemode);
		return;
	}
	heap_rescan(scan->delta, key, set_params, allow_strat, false, allow_pagemode);
	if (is_dirty(scan))
		forget_view(scan);
	scan->unit = -1;
	scan->in_unit = false;
	scan->direction = NoMovementScanDirection;
	scan->tid_range = false;
	scan->bitmap_next = scan->bitmap_nrows = 0;
	scan->bitmap_row = scan->bitmap_end = 0;
}

/* Parts of a segment of so many rows. */
static uint32
count_parts(const GpucolScan *scan, uint32 nrows)
{
	uint32		part_rows = ((GpucolParallelScan *) scan->base.rs_parallel)->part_rows;

	return nrows <= part_rows ? 1 : (nrows - 1) / part_rows + 1;
}

/* Number the parts of all segments. */
static void
number_parts(GpucolScan *scan)
{
	uint32		n = scan->view->nsegments;

	scan->first_parts = MemoryContextAllocHuge(CurrentMemoryContext,
											   Max(n, 1) * sizeof(uint32));
	scan->nparts = 0;
	for (uint32 i = 0; i < n; i++)
	{
		scan->first_parts[i] = scan->nparts;
		scan->nparts += count_parts(scan, scan->view->segments[i].entry.nrows);
	}
}

void
gpucol_scan_find_part(const GpucolScan *scan, uint32 number, GpucolSegmentPart *part)
{
	uint32		part_rows = ((GpucolParallelScan *) scan->base.rs_parallel)->part_rows;
	uint32		low = 0;
	uint32		high = scan->view->nsegments;
	uint32		nrows;

	/* the last segment whose first part is not behind the number */
	while (high - low > 1)
	{
		uint32		middle = low + (high - low) / 2;

		if (scan->first_parts[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	nrows = scan->view->segments[low].entry.nrows;
	number -= scan->first_parts[low];
	part->segment = low;
	part->first = number * part_rows;
	part->end = part_rows < nrows - part->first ? part->first + part_rows : nrows;
}

void
gpucol_scan_take_whole(ParallelTableScanDesc pscan)
{
	((GpucolParallelScan *) pscan)->part_rows = UINT32_MAX;
}

/* Read the directory for a scan that has not done so; by_row: it is PostgreSQL's executor's. */
static void
prepare(GpucolScan *scan, bool by_row)
{
	Relation	rel = scan->base.rs_rd;
	MemoryContext old;
	BlockNumber nblocks = ((HeapScanDesc) scan->delta)->rs_nblocks;
	BlockNumber max_blocks = by_row ? CHECKED_BLOCKS : MaxBlockNumber;
	Snapshot	snapshot;

	if (scan->view != NULL)
		return;
	if (scan->base.rs_parallel != NULL)
	{
		nblocks = ((ParallelBlockTableScanDesc) scan->base.rs_parallel)->phs_nblocks;
		max_blocks = GPUCOL_PARALLEL_BLOCKS;
	}
	old = MemoryContextSwitchTo(scan->context);
	/* ANALYZE scans without a snapshot of its own */
	snapshot = scan->base.rs_snapshot != NULL ? scan->base.rs_snapshot : GetActiveSnapshot();
	/* of a bitmap, rows are read one by one */
	scan->view = (scan->base.rs_flags & SO_TYPE_BITMAPSCAN) != 0 ?
		gpucol_view_peek(rel, snapshot) : gpucol_view_open(rel, snapshot);
	scan->ranges = gpucol_view_delta_ranges(scan->view, nblocks, max_blocks,
											&scan->nranges);
	/* all participants of a parallel scan must count the same ranges; few pages are read as soon, row by row */
	if (scan->base.rs_parallel != NULL)
		number_parts(scan);
	else if (!by_row || nblocks > FEW_PAGES)
		gpucol_delta_pages_skip(scan->view, &scan->ranges, &scan->nranges);
	if (scan->view->nsegments > 0)
		scan->reader = gpucol_reader_create(rel);
	MemoryContextSwitchTo(old);
}

void
gpucol_scan_prepare(GpucolScan *scan)
{
	prepare(scan, false);
}

TableScanDesc
gpucol_scan_begin_delta(Relation rel, Snapshot snapshot)
{
	TableScanDesc sscan = table_beginscan(rel, snapshot, 0, NULL);
	GpucolScan *scan = (GpucolScan *) sscan;

	prepare(scan, true);
	scan->unit = (int64) scan->view->nsegments - 1;
	return sscan;
}

void
gpucol_scan_enter_blocks(GpucolScan *scan, BlockNumber start, BlockNumber nblocks)
{
	scan->ranges = MemoryContextAlloc(scan->context, sizeof(GpucolBlockRange));
	scan->ranges[0].start = start;
	scan->ranges[0].nblocks = nblocks;
	scan->nranges = 1;
	scan->unit = (int64) scan->view->nsegments - 1;
	scan->in_unit = false;
	scan->direction = NoMovementScanDirection;
}

double
gpucol_scan_delta_share(TableScanDesc sscan, BlockNumber block)
{
	const GpucolScan *scan = (const GpucolScan *) sscan;
	uint64		before = 0;
	uint64		all = 0;

	for (uint32 i = 0; i < scan->nranges; i++)
	{
		const GpucolBlockRange *range = &scan->ranges[i];

		all += range->nblocks;
		if (range->start < block)
			before += Min(range->nblocks, block - range->start);
	}
	return all == 0 ? 1.0 : (double) before / (double) all;
}

void
gpucol_scan_store(GpucolReader *reader, uint32 row, TransactionId xmin,
				  TupleTableSlot *slot)
{
	MemoryContext old;
	HeapTuple	tuple;

	ExecClearTuple(slot);
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	tuple = gpucol_reader_tuple(reader, slot->tts_tupleDescriptor, row, xmin);
	MemoryContextSwitchTo(old);
	gpucol_slot_put(tuple, slot);
}

/* Units of the scan; with TID limits heap's scan is one unit by itself. */
static int64
count_units(const GpucolScan *scan)
{
	return (int64) scan->view->nsegments + (scan->tid_range ? 1 : scan->nranges);
}

/* Draw the next unit of a parallel scan: a part of a segment or a range. */
static void
draw_unit(GpucolScan *scan, int64 nunits)
{
	GpucolParallelScan *shared = (GpucolParallelScan *) scan->base.rs_parallel;

	if (scan->unit < scan->view->nsegments)
	{
		uint32		drawn = pg_atomic_fetch_add_u32(&shared->next_part, 1);

		scan->unit = scan->view->nsegments;
		if (drawn < scan->nparts)
		{
			GpucolSegmentPart part;

			gpucol_scan_find_part(scan, drawn, &part);
			scan->unit = part.segment;
			scan->row = (int64) part.first - 1;
			scan->end = part.end;
		}
	}
	if (scan->unit >= scan->view->nsegments && scan->unit < nunits)
		scan->unit = (int64) scan->view->nsegments +
			pg_atomic_fetch_add_u32(&shared->next_range, 1);
}

/* Move on to the next unit in a direction; false at the end. */
static bool
next_unit(GpucolScan *scan, ScanDirection direction)
{
	int64		nunits = count_units(scan);

	if (scan->base.rs_parallel != NULL)
		draw_unit(scan, nunits);
	else if (ScanDirectionIsBackward(direction))
		scan->unit = Max(scan->unit - 1, -1);
	else
		scan->unit = Min(scan->unit + 1, nunits);
	return scan->unit >= 0 && scan->unit < nunits;
}

void
gpucol_scan_enter_segment(GpucolScan *scan, int64 number)
{
	const GpucolViewSegment *segment = &scan->view->segments[number];
	MemoryContext old;
	uint32		ndeleted;

	scan->unit = number;
	if (scan->entered == number)
		return;
	old = MemoryContextSwitchTo(scan->context);
	if (scan->deleted != NULL)
		pfree(scan->deleted);
	scan->deleted = gpucol_view_deleted(scan->view, segment, &ndeleted);
	scan->unsettled = is_dirty(scan) && !TransactionIdDidCommit(segment->xmin);
	gpucol_reader_open(scan->reader,
					   gpucol_segment_open(scan->base.rs_rd, &segment->entry));
	MemoryContextSwitchTo(old);
	scan->entered = number;
}

/*
 * Begin a segment at the end that the direction starts from; in a parallel scan at the
 * part that was drawn.
 */
static void
enter_segment(GpucolScan *scan, ScanDirection direction)
{
	const GpucolViewSegment *segment = &scan->view->segments[scan->unit];

	gpucol_scan_enter_segment(scan, scan->unit);
	if (scan->base.rs_parallel != NULL)
		return;
	scan->end = segment->entry.nrows;
	scan->row = ScanDirectionIsBackward(direction) ? scan->end : -1;
}

/* Look at blocks before heap's code scans them. */
static void
check_blocks(const GpucolScan *scan, TupleDesc desc, BlockNumber start, BlockNumber nblocks)
{
	const HeapScanDescData *heap = (HeapScanDesc) scan->delta;

	if (start < heap->rs_nblocks)
		gpucol_delta_check_blocks(scan->base.rs_rd, desc, start, Min(nblocks, heap->rs_nblocks - start),
								  heap->rs_strategy);
}

/* Begin a range of delta blocks. */
static void
enter_range(GpucolScan *scan, TupleDesc desc)
{
	const HeapScanDescData *heap = (HeapScanDesc) scan->delta;
	const GpucolBlockRange *range;

	if (scan->reader != NULL)
		gpucol_reader_close(scan->reader);
	scan->entered = -1;
	if (scan->tid_range)
	{
		check_blocks(scan, desc, heap->rs_startblock, heap->rs_numblocks);
		return;
	}
	range = &scan->ranges[scan->unit - scan->view->nsegments];
	check_blocks(scan, desc, range->start, range->nblocks);
	gpucol_compat_heap_restart(scan->delta);
	heap_setscanlimits(scan->delta, range->start, range->nblocks);
}

/*
 * Is a row of the segment visible?  A dirty snapshot sees the deletions of transactions
 * in progress too: whether they count, and whom to wait for, is looked up for the row.
 */
static bool
row_visible(GpucolScan *scan, const GpucolViewSegment *segment, int64 row)
{
	bool		deleted = scan->deleted != NULL &&
		(scan->deleted[row / 32] >> (row % 32) & 1) != 0;

	if (!is_dirty(scan))
		return !deleted;
	if (deleted || scan->unsettled)
		return gpucol_fetch_visible(scan->base.rs_rd, segment->entry.first_row + row,
									scan->base.rs_snapshot);
	gpucol_fetch_clear_dirty(scan->base.rs_snapshot);
	return true;
}

/* Next visible row of the segment. */
static bool
next_segment_row(GpucolScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	const GpucolViewSegment *segment = &scan->view->segments[scan->unit];
	int			step = ScanDirectionIsBackward(direction) ? -1 : 1;
	int64		row = scan->row + step;

	while (row >= 0 && row < scan->end && !row_visible(scan, segment, row))
		row += step;
	/* what is between may take long */
	if (row / GPUCOL_VECTOR_VALUES != scan->row / GPUCOL_VECTOR_VALUES)
		gpucol_burials_write();
	scan->row = row;
	if (row < 0 || row >= scan->end)
		return false;
	gpucol_scan_store(scan->reader, (uint32) row, segment->xmin, slot);
	gpucol_slot_note_scanned(scan->base.rs_rd, slot);
	pgstat_count_heap_getnext(scan->base.rs_rd);
	return true;
}

/* Next row by heap's own function, heap_getnextslot or heap_getnextslot_tidrange. */
static bool
next_heap_row(bool (*next) (TableScanDesc, ScanDirection, TupleTableSlot *),
			  TableScanDesc heap, ScanDirection direction, TupleTableSlot *slot)
{
	bool		lent = gpucol_slot_lend(slot);
	bool		found = next(heap, direction, slot);

	gpucol_slot_take_back(slot, lent);
	return found;
}

/*
 * Heap counts the blocks that are left of a limited scan in one direction only;
 * correct the count where the scan turns round within a range.
 */
static void
turn_range(GpucolScan *scan, ScanDirection direction)
{
	HeapScanDesc heap = (HeapScanDesc) scan->delta;
	const GpucolBlockRange *range = &scan->ranges[scan->unit - scan->view->nsegments];

	if (!heap->rs_inited || heap->rs_cblock == InvalidBlockNumber)
		return;
	heap->rs_numblocks = ScanDirectionIsBackward(direction) ?
		heap->rs_cblock - range->start + 1 :
		range->start + range->nblocks - heap->rs_cblock;
}

/* Next row of the delta range. */
static bool
next_range_row(GpucolScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	if (scan->tid_range)
		return next_heap_row(heap_getnextslot_tidrange, scan->delta, direction, slot);
	if (direction != scan->direction)
		turn_range(scan, direction);
	return next_heap_row(heap_getnextslot, scan->delta, direction, slot);
}

/* Next row of the current unit. */
static bool
next_unit_row(GpucolScan *scan, ScanDirection direction, TupleTableSlot *slot)
{
	return scan->unit < scan->view->nsegments ?
		next_segment_row(scan, direction, slot) :
		next_range_row(scan, direction, slot);
}

bool
gpucol_scan_getnextslot(TableScanDesc sscan, ScanDirection direction,
						TupleTableSlot *slot)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	if (!is_ours(sscan))
		return next_heap_row(heap_getnextslot, sscan, direction, slot);
	prepare(scan, true);
	/* as in heap, a scan that has not begun begins at its end */
	if (scan->direction == NoMovementScanDirection && ScanDirectionIsBackward(direction))
		scan->unit = count_units(scan);
	for (;;)
	{
		if (scan->in_unit)
		{
			bool		found = next_unit_row(scan, direction, slot);

			scan->direction = direction;
			if (found)
				return true;
			scan->in_unit = false;
		}
		CHECK_FOR_INTERRUPTS();
		if (!next_unit(scan, direction))
		{
			ExecClearTuple(slot);
			return false;
		}
		if (scan->unit < scan->view->nsegments)
			enter_segment(scan, direction);
		else
			enter_range(scan, slot->tts_tupleDescriptor);
		scan->in_unit = true;
		scan->direction = direction;
	}
}

void
gpucol_scan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	ItemPointerCopy(mintid, &gpucol_compat_mintid(sscan));
	ItemPointerCopy(maxtid, &gpucol_compat_maxtid(sscan));
	if (!is_ours(sscan))
	{
		heap_set_tidrange(sscan, mintid, maxtid);
		return;
	}
	heap_set_tidrange(scan->delta, mintid, maxtid);
	scan->tid_range = true;
}

bool
gpucol_scan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
								 TupleTableSlot *slot)
{
	if (!is_ours(sscan))
		return next_heap_row(heap_getnextslot_tidrange, sscan, direction, slot);
	while (gpucol_scan_getnextslot(sscan, direction, slot))
	{
		if (ItemPointerCompare(&slot->tts_tid, &gpucol_compat_mintid(sscan)) >= 0 &&
			ItemPointerCompare(&slot->tts_tid, &gpucol_compat_maxtid(sscan)) <= 0)
			return true;
	}
	return false;
}

Size
gpucol_scan_parallel_estimate(Relation rel pg_attribute_unused())
{
	return sizeof(GpucolParallelScan);
}

Size
gpucol_scan_parallel_initialize(Relation rel, ParallelTableScanDesc pscan)
{
	GpucolParallelScan *shared = (GpucolParallelScan *) pscan;

	/* workers cannot see what only this process holds */
	gpucol_writer_flush(rel);
	table_block_parallelscan_initialize(rel, pscan);
	shared->part_rows = GPUCOL_PARALLEL_ROWS;
	pg_atomic_init_u32(&shared->next_part, 0);
	pg_atomic_init_u32(&shared->next_range, 0);
	return sizeof(GpucolParallelScan);
}

void
gpucol_scan_parallel_reinitialize(Relation rel, ParallelTableScanDesc pscan)
{
	GpucolParallelScan *shared = (GpucolParallelScan *) pscan;

	table_block_parallelscan_reinitialize(rel, pscan);
	pg_atomic_write_u32(&shared->next_part, 0);
	pg_atomic_write_u32(&shared->next_range, 0);
}
