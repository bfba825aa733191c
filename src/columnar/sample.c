/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  ANALYZE, TABLESAMPLE and size estimates.
 *
 * ANALYZE samples blocks of the main fork and extrapolates from the rows that it
 * finds on them, so the rows of a segment are dealt evenly to the segment's pages (block_ranges.h).
 * A page may stand for thousands of rows; then one in k is shown and the rest only
 * counted.  Which ones, a hash of their numbers decides: of rows that lie together and
 * share a value, as the lines of an order do, an even pace would never show two, and
 * ANALYZE took such values for unique ones.  Delta rows are thinned out by the same k,
 * or they would weigh k times as much in the sample.
 *
 * ANALYZE of an inheritance tree shares its sample out to the children by their size.
 * While it asks for that, a table says how large it would be as a heap.
 *
 * TABLESAMPLE sees the blocks of the main fork, of which the segments' hold
 * nothing, and behind them the virtual blocks of all segments.  While few rows of a block
 * are in the sample, they go undecoded into the slot, which reads the columns that it is
 * asked for one by one; of many, whole vectors are decoded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tsmapi.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "common/hashfn.h"
#include "nodes/execnodes.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "columnar/block_ranges.h"
#include "columnar/delta_check.h"
#include "columnar/sample.h"
#include "columnar/scan.h"
#include "columnar/slot.h"
#include "compat.h"

/* Rows of a segment page that ANALYZE is shown at least, if there are as many. */
#define ANALYZE_PAGE_ROWS	64

/* Rows of a virtual block in a sample from which on whole vectors are decoded. */
#define DENSE_ROWS		16

/* Pages that a table counts at least in the plans of a serializable transaction. */
#define SERIALIZABLE_PAGES	10

/* Rows that ANALYZE is shown of all segments together, about. */
#define ANALYZE_ROWS		60000

/* ------------------------------------------------------------------------
 * ANALYZE
 * ------------------------------------------------------------------------
 */

/* Rows that one shown row stands for. */
static uint64
analyze_step(const GpucolView *view)
{
	double		shown;

	if (view->pages == 0)
		return 1;
	shown = Max(ANALYZE_PAGE_ROWS, ANALYZE_ROWS / (double) view->pages);
	return (uint64) Max(1.0, ceil((double) view->rows / view->pages / shown));
}

/* Is a row of the entered segment deleted? */
static bool
row_deleted(const GpucolScan *scan, uint64 row)
{
	return scan->deleted != NULL && (scan->deleted[row / 32] >> (row % 32)) & 1;
}

bool
gpucol_analyze_next_block(TableScanDesc sscan, GPUCOL_COMPAT_ANALYZE_BLOCK)
{
	GpucolScan *scan = (GpucolScan *) sscan;
	int64		number;
	uint32		ordinal;
	BlockNumber block;
	const GpucolSegmentEntry *entry;

	gpucol_scan_prepare(scan);
	if (scan->sample_step == 0)
		scan->sample_step = analyze_step(scan->view);
	if (!GPUCOL_COMPAT_ANALYZE_NEXT(scan->delta, &block))
		return false;
	number = gpucol_block_find(scan->view, block, -1, &ordinal);
	scan->sample_virtual = number >= 0;
	if (!scan->sample_virtual)
	{
		gpucol_delta_check_blocks(sscan->rs_rd, RelationGetDescr(sscan->rs_rd), block, 1,
								  ((HeapScanDesc) scan->delta)->rs_strategy);
		return GPUCOL_COMPAT_ANALYZE_HEAP(scan->delta, block);
	}
	GPUCOL_COMPAT_ANALYZE_SKIP(scan->delta);
	gpucol_scan_enter_segment(scan, number);
	entry = &scan->view->segments[number].entry;
	scan->sample_row = gpucol_block_first_row(entry, ordinal);
	scan->sample_end = gpucol_block_first_row(entry, ordinal + 1);
	return true;
}

/* Is a row, by its number or by its place in the delta, one of those that are shown? */
static bool
row_shown(const GpucolScan *scan, uint64 number)
{
	return murmurhash32((uint32) number ^ (uint32) (number >> 32)) % scan->sample_step == 0;
}

/* Next shown row of the segment's page. */
static bool
analyze_segment_row(GpucolScan *scan, double *liverows, double *deadrows,
					TupleTableSlot *slot)
{
	const GpucolViewSegment *segment = &scan->view->segments[scan->unit];

	while (scan->sample_row < scan->sample_end)
	{
		uint64		row = scan->sample_row++;

		if (row_deleted(scan, row))
		{
			*deadrows += 1;
			continue;
		}
		*liverows += 1;
		if (!row_shown(scan, segment->entry.first_row + row))
			continue;
		gpucol_scan_store(scan->reader, (uint32) row, segment->xmin, slot);
		return true;
	}
	ExecClearTuple(slot);
	return false;
}

/* Next row of a delta page. */
static bool
analyze_delta_row(GpucolScan *scan, TransactionId oldest_xmin, double *liverows,
				  double *deadrows, TupleTableSlot *slot)
{
	bool		lent = gpucol_slot_lend(slot);
	bool		found = GetHeapamTableAmRoutine()->
		scan_analyze_next_tuple(scan->delta, oldest_xmin, liverows, deadrows, slot);

	gpucol_slot_take_back(slot, lent);
	return found;
}

bool
gpucol_analyze_next_tuple(TableScanDesc sscan, TransactionId oldest_xmin,
						  double *liverows, double *deadrows, TupleTableSlot *slot)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	if (scan->sample_virtual)
		return analyze_segment_row(scan, liverows, deadrows, slot);
	while (analyze_delta_row(scan, oldest_xmin, liverows, deadrows, slot))
	{
		if (row_shown(scan, (uint64) ItemPointerGetBlockNumber(&slot->tts_tid) << 16 |
					  ItemPointerGetOffsetNumber(&slot->tts_tid)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------
 * TABLESAMPLE
 * ------------------------------------------------------------------------
 */

/* Virtual blocks of a segment. */
static BlockNumber
virtual_blocks(const GpucolViewSegment *segment)
{
	return (segment->entry.nrows + GPUCOL_BLOCK_TIDS - 1) / GPUCOL_BLOCK_TIDS;
}

/* Choose the next block of the sample, or InvalidBlockNumber. */
static BlockNumber
choose_block(GpucolScan *scan, struct SampleScanState *state, BlockNumber total)
{
	BlockNumber block;

	if (total == 0)
		return InvalidBlockNumber;
	if (state->tsmroutine->NextSampleBlock != NULL)
		return state->tsmroutine->NextSampleBlock(state, total);
	block = scan->in_unit ? scan->sample_block + 1 : 0;
	return block < total ? block : InvalidBlockNumber;
}

/* Enter the segment that virtual block number `block` belongs to. */
static void
enter_virtual_block(GpucolScan *scan, BlockNumber block)
{
	uint32		number = 0;

	while (block >= virtual_blocks(&scan->view->segments[number]))
		block -= virtual_blocks(&scan->view->segments[number++]);
	gpucol_scan_enter_segment(scan, number);
	scan->sample_dense = scan->sample_shown >= DENSE_ROWS;
	scan->sample_shown = 0;
	scan->sample_row = (uint64) block * GPUCOL_BLOCK_TIDS;
	scan->sample_end = Min(scan->sample_row + GPUCOL_BLOCK_TIDS,
						   scan->view->segments[number].entry.nrows);
}

/* Give back the delta block that heap's functions hold. */
static void
leave_delta_block(HeapScanDesc heap)
{
	if (BufferIsValid(heap->rs_cbuf))
		ReleaseBuffer(heap->rs_cbuf);
	heap->rs_cbuf = InvalidBuffer;
	heap->rs_cblock = InvalidBlockNumber;
	heap->rs_inited = false;
}

bool
gpucol_sample_next_block(TableScanDesc sscan, struct SampleScanState *state)
{
	GpucolScan *scan = (GpucolScan *) sscan;
	HeapScanDesc heap = (HeapScanDesc) scan->delta;
	uint64		total = heap->rs_nblocks;
	BlockNumber block;
	uint32		ordinal;

	gpucol_scan_prepare(scan);
	for (uint32 i = 0; i < scan->view->nsegments; i++)
		total += virtual_blocks(&scan->view->segments[i]);
	block = choose_block(scan, state, (BlockNumber) Min(total, MaxBlockNumber));
	if (block == InvalidBlockNumber)
	{
		leave_delta_block(heap);
		scan->in_unit = false;
		return false;
	}
	scan->in_unit = true;
	scan->sample_block = block;
	scan->sample_virtual = true;
	scan->sample_row = scan->sample_end = 0;
	if (block >= heap->rs_nblocks)
		enter_virtual_block(scan, block - heap->rs_nblocks);
	else if (gpucol_block_find(scan->view, block, -1, &ordinal) < 0)
	{
		gpucol_delta_check_blocks(sscan->rs_rd, RelationGetDescr(sscan->rs_rd), block, 1, heap->rs_strategy);
		gpucol_compat_heap_getpage(scan->delta, block);
		heap->rs_inited = true;
		scan->sample_virtual = false;
	}
	return true;
}

/* Show a row of the entered segment. */
static void
show_row(GpucolScan *scan, uint64 row, TupleTableSlot *slot)
{
	const GpucolViewSegment *segment = &scan->view->segments[scan->unit];

	scan->sample_shown++;
	if (!scan->sample_dense && gpucol_slot_is_ours(slot) &&
		scan->base.rs_snapshot->snapshot_type == SNAPSHOT_MVCC)
		gpucol_slot_store(slot, scan->base.rs_rd, segment, segment->entry.first_row + row);
	else
		gpucol_scan_store(scan->reader, (uint32) row, segment->xmin, slot);
	pgstat_count_heap_getnext(scan->base.rs_rd);
}

bool
gpucol_sample_next_tuple(TableScanDesc sscan, struct SampleScanState *state,
						 TupleTableSlot *slot)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	if (!scan->sample_virtual)
	{
		bool		lent = gpucol_slot_lend(slot);
		bool		found = GetHeapamTableAmRoutine()->
			scan_sample_next_tuple(scan->delta, state, slot);

		gpucol_slot_take_back(slot, lent);
		return found;
	}
	for (;;)
	{
		OffsetNumber offset;
		uint64		row;

		offset = state->tsmroutine->NextSampleTuple(state, scan->sample_block,
													(OffsetNumber) (scan->sample_end -
																	scan->sample_row));
		if (!OffsetNumberIsValid(offset))
			break;
		CHECK_FOR_INTERRUPTS();
		row = scan->sample_row + offset - 1;
		if (row_deleted(scan, row))
			continue;
		show_row(scan, row, slot);
		return true;
	}
	ExecClearTuple(slot);
	return false;
}

/* ------------------------------------------------------------------------
 * Sizes
 * ------------------------------------------------------------------------
 */

/* A table is being weighed; reading it, and writing what is buffered, ask for its size. */
static bool weighing = false;

/*
 * Is this backend weighing the children of an inheritance tree, before it takes the
 * sample of the first one?  Nothing but its own report of progress tells (which
 * track_activities may have switched off: then tables weigh what they occupy).
 */
static bool
is_weighing_children(void)
{
	return !weighing && MyBEEntry != NULL &&
		MyBEEntry->st_progress_command == PROGRESS_COMMAND_ANALYZE &&
		MyBEEntry->st_progress_param[PROGRESS_ANALYZE_PHASE] ==
		PROGRESS_ANALYZE_PHASE_ACQUIRE_SAMPLE_ROWS_INH &&
		MyBEEntry->st_progress_param[PROGRESS_ANALYZE_CURRENT_CHILD_TABLE_RELID] == 0;
}

/* What the segments of a table would take as a heap, less what they do take. */
static int64
packed_away(Relation rel)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol size",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolView *view = gpucol_view_peek(rel, GetActiveSnapshot());
	int64		bytes = 0;

	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolSegmentEntry *entry = &view->segments[i].entry;

		bytes += (int64) entry->raw_bytes - (int64) entry->npages * BLCKSZ +
			(int64) entry->nrows * (MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return bytes;
}

uint64
gpucol_sample_relation_size(Relation rel, ForkNumber fork)
{
	uint64		size = table_block_relation_size(rel, fork);

	if (fork == MAIN_FORKNUM && is_weighing_children() && ActiveSnapshotSet())
	{
		weighing = true;
		PG_TRY();
		{
			size = (uint64) Max((int64) size + packed_away(rel), 0);
		}
		PG_FINALLY();
		{
			weighing = false;
		}
		PG_END_TRY();
	}
	return size;
}

/* ------------------------------------------------------------------------
 * Estimates for the planner
 * ------------------------------------------------------------------------
 */

/* What the segments of a table hold, as planning has lately counted it. */
typedef struct SegmentCount
{
	Oid			relid;
	Oid			file;
	BlockNumber nblocks;		/* of the main fork then */
	TimestampTz when;			/* start of the statement that counted */
	double		rows;
	double		pages;
	double		density;		/* rows that fill a heap page */
} SegmentCount;

/* Tables whose counts are kept, and for how long. */
#define KEPT_COUNTS		32
#define KEPT_USECS		INT64CONST(1000000)

/*
 * Count the segment rows and pages of a table of `nblocks` blocks.  Estimates may
 * be a second old, unless the main fork has grown by a part that matters: planning
 * a short statement is to cost no more than for a heap table.
 */
static const SegmentCount *
count_segments(Relation rel, int32 *attr_widths, BlockNumber nblocks)
{
	static SegmentCount counts[KEPT_COUNTS];
	SegmentCount *count = &counts[RelationGetRelid(rel) % KEPT_COUNTS];
	TimestampTz now = GetCurrentStatementStartTimestamp();
	MemoryContext context;
	MemoryContext old;
	GpucolView *view;

	if (count->relid == RelationGetRelid(rel) &&
		count->file == gpucol_compat_relation_file(rel) &&
		nblocks >= count->nblocks && nblocks - count->nblocks <= nblocks / 64 &&
		now - count->when < KEPT_USECS &&
		now >= count->when)
		return count;

	context = AllocSetContextCreate(CurrentMemoryContext, "gpucol estimate",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	view = gpucol_view_peek(rel, GetActiveSnapshot());
	MemoryContextSwitchTo(old);
	count->relid = RelationGetRelid(rel);
	count->file = gpucol_compat_relation_file(rel);
	count->nblocks = nblocks;
	count->when = now;
	count->rows = view->rows;
	count->pages = view->pages;
	count->density = (BLCKSZ - SizeOfPageHeaderData) /
		(double) (get_rel_data_width(rel, attr_widths) +
				  MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData));
	MemoryContextDelete(context);
	return count;
}

/*
 * Segment rows are counted from the directory.  The delta's are what the last
 * VACUUM or ANALYZE counted beyond them, and never more than fit its pages;
 * without such a count the pages are taken for full, as heap takes them.  A table
 * that has not grown since then has as many live rows as were counted.
 */
void
gpucol_estimate_rel_size(Relation rel, int32 *attr_widths, BlockNumber *pages,
						 double *tuples, double *allvisfrac)
{
	const SegmentCount *counted;
	double		delta_pages;
	double		delta_rows;
	BlockNumber heap_pages;
	double		heap_tuples;

	GetHeapamTableAmRoutine()->relation_estimate_size(rel, attr_widths, &heap_pages,
													  &heap_tuples, allvisfrac);
	*pages = heap_pages;
	*tuples = heap_tuples;
	if (!OidIsValid(rel->rd_rel->reltoastrelid) || !ActiveSnapshotSet())
		return;

	counted = count_segments(rel, attr_widths, heap_pages);
	if (counted->pages > 0)
	{
		delta_pages = Max(0.0, (double) heap_pages - counted->pages);
		delta_rows = delta_pages * counted->density;
		if (rel->rd_rel->reltuples >= 0)
			delta_rows = Min(delta_rows,
							 Max(0.0, rel->rd_rel->reltuples - counted->rows));
		*tuples = rint(counted->rows + delta_rows);
		/* the table has not grown since its live rows were counted */
		if (rel->rd_rel->reltuples >= 0 &&
			(BlockNumber) rel->rd_rel->relpages == heap_pages)
			*tuples = rel->rd_rel->reltuples;
		/* index-only scans must visit segment rows */
		if (heap_pages > 0)
			*allvisfrac = Max(0.0, (double) rel->rd_rel->relallvisible - counted->pages) /
				heap_pages;
		*allvisfrac = Min(*allvisfrac, 1.0);
	}

	/*
	 * Who is SERIALIZABLE locks the whole of a table that it scans, and fails for it; so a small table
	 * counts here as heap counts one of which nothing is known, and an index finds its rows sooner.
	 */
	if (IsolationIsSerializable() && !XactReadOnly && *pages > 0)
		*pages = Max(*pages, SERIALIZABLE_PAGES);
}
