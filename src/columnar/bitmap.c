/*-------------------------------------------------------------------------
 *
 * bitmap.c
 *	  Bitmap heap scans over delta and segments.
 *
 * Indexes give TIDs, of which those of segment rows are virtual; a bitmap keeps
 * them by block like any others, after those of the delta.  A virtual block stands
 * for 256 row numbers, which may belong to several segments.
 *
 * The block at hand is turned into the list of its visible rows, by heap's rules
 * for delta blocks and by the scan's view for virtual ones.  The first few segment rows are fetched as an index
 * scan fetches them, without a view (fetch.c).  BRIN names pages of segments
 * too, which stand for rows of theirs (block_ranges.h); the planner sees to it that
 * no bitmap has rows both by their TIDs and by their pages.
 *
 * Before 18 the executor itself prefetches the blocks that a bitmap names, which
 * fails for virtual ones; an executor hook tells the nodes that scan gpucol tables
 * not to.  Whoever begins a plan later on does so, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

#include "columnar/am.h"
#include "columnar/bitmap.h"
#include "columnar/block_ranges.h"
#include "columnar/delta_check.h"
#include "columnar/fetch.h"
#include "columnar/item.h"
#include "columnar/rownum.h"
#include "columnar/scan.h"
#include "columnar/serial.h"
#include "columnar/slot.h"
#include "compat.h"

/* What a bitmap says about one block. */
typedef struct BitmapBlock
{
	BlockNumber block;
	int			ntuples;		/* -1 = any row */
	OffsetNumber *offsets;
} BitmapBlock;

/* ------------------------------------------------------------------------
 * Delta blocks
 * ------------------------------------------------------------------------
 */

/* Rows of the block among the given line pointers, each the root of a chain. */
static void
look_up_tuples(GpucolScan *scan, const BitmapBlock *block)
{
	for (int i = 0; i < block->ntuples; i++)
	{
		ItemPointerData tid;
		HeapTupleData tuple;

		ItemPointerSet(&tid, block->block, block->offsets[i]);
		gpucol_serial_enter_delta(scan->base.rs_rd, &tid, scan->base.rs_snapshot);
		if (heap_hot_search_buffer(&tid, scan->base.rs_rd, scan->bitmap_buffer,
								   scan->base.rs_snapshot, &tuple, NULL, true))
			scan->bitmap_rows[scan->bitmap_nrows++] = ItemPointerGetOffsetNumber(&tid);
	}
}

/* All visible rows of the block. */
static void
look_at_all_tuples(GpucolScan *scan)
{
	Relation	rel = scan->base.rs_rd;
	Page		page = BufferGetPage(scan->bitmap_buffer);
	BlockNumber block = BufferGetBlockNumber(scan->bitmap_buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
	{
		HeapTupleData tuple;
		bool		visible;

		if (!ItemIdIsNormal(PageGetItemId(page, i)))
			continue;
		gpucol_item_get(rel, page, block, i, &tuple);
		visible = HeapTupleSatisfiesVisibility(&tuple, scan->base.rs_snapshot,
											   scan->bitmap_buffer);
		if (visible)
		{
			scan->bitmap_rows[scan->bitmap_nrows++] = i;
			PredicateLockTID(rel, &tuple.t_self, scan->base.rs_snapshot,
							 HeapTupleHeaderGetXmin(tuple.t_data));
		}
		HeapCheckForSerializableConflictOut(visible, rel, &tuple, scan->bitmap_buffer,
											scan->base.rs_snapshot);
	}
}

static void
enter_delta_block(GpucolScan *scan, const BitmapBlock *block)
{
	Relation	rel = scan->base.rs_rd;

	/* later blocks hold nothing visible, but conflicts may be there */
	if (block->block >= ((HeapScanDesc) scan->delta)->rs_nblocks &&
		!IsolationIsSerializable())
		return;
	scan->bitmap_buffer = ReleaseAndReadBuffer(scan->bitmap_buffer, rel, block->block);
	gpucol_delta_check_lines(rel, scan->bitmap_buffer);
	heap_page_prune_opt(rel, scan->bitmap_buffer);
	LockBuffer(scan->bitmap_buffer, BUFFER_LOCK_SHARE);
	if (block->ntuples >= 0)
		look_up_tuples(scan, block);
	else
		look_at_all_tuples(scan);
	LockBuffer(scan->bitmap_buffer, BUFFER_LOCK_UNLOCK);
}

/* Store a tuple of the delta block. */
static void
store_tuple(GpucolScan *scan, OffsetNumber offset, TupleTableSlot *slot)
{
	HeapTuple	tuple = &scan->bitmap_tuple;
	bool		lent;

	gpucol_item_get(scan->base.rs_rd, BufferGetPage(scan->bitmap_buffer),
					BufferGetBlockNumber(scan->bitmap_buffer), offset, tuple);
	gpucol_delta_check_tuple(scan->base.rs_rd, tuple);
	lent = gpucol_slot_lend(slot);
	ExecStoreBufferHeapTuple(tuple, slot, scan->bitmap_buffer);
	gpucol_slot_take_back(slot, lent);
	gpucol_serial_read_delta(scan->base.rs_rd, slot, scan->base.rs_snapshot);
}

/* ------------------------------------------------------------------------
 * Virtual blocks
 * ------------------------------------------------------------------------
 */

/* Row number of a virtual block's offset. */
static uint64
block_row(BlockNumber block, OffsetNumber offset)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, block, offset);
	return gpucol_tid_row(&tid);
}

/*
 * Is the row there, and not deleted?  Enters its segment; row becomes its number
 * within that.
 */
static bool
enter_row(GpucolScan *scan, uint64 *row)
{
	const GpucolViewSegment *segment = NULL;

	if (scan->unit >= 0)
	{
		segment = &scan->view->segments[scan->unit];
		if (*row < segment->entry.first_row ||
			*row - segment->entry.first_row >= segment->entry.nrows)
			segment = NULL;
	}
	if (segment == NULL)
		segment = gpucol_view_find(scan->view, *row);
	if (segment == NULL)
	{
		gpucol_serial_miss_packed(scan->base.rs_rd, *row, scan->base.rs_snapshot);
		return false;
	}
	gpucol_scan_enter_segment(scan, segment - scan->view->segments);
	*row -= segment->entry.first_row;
	return scan->deleted == NULL || ((scan->deleted[*row / 32] >> (*row % 32)) & 1) == 0;
}

static void
enter_virtual_block(GpucolScan *scan, const BitmapBlock *block)
{
	int			n = block->ntuples >= 0 ? block->ntuples : GPUCOL_BLOCK_TIDS;

	gpucol_scan_prepare(scan);
	for (int i = 0; i < n; i++)
	{
		OffsetNumber offset = block->ntuples >= 0 ? block->offsets[i] : i + 1;
		uint64		row = block_row(block->block, offset);

		if (enter_row(scan, &row))
			scan->bitmap_rows[scan->bitmap_nrows++] = offset;
	}
}

/* Store a row of the virtual block. */
static void
store_row(GpucolScan *scan, OffsetNumber offset, TupleTableSlot *slot)
{
	uint64		row = block_row(scan->bitmap_block, offset);
	TransactionId xmin;

	(void) enter_row(scan, &row);
	xmin = scan->view->segments[scan->unit].xmin;
	gpucol_scan_store(scan->reader, (uint32) row, xmin, slot);
	gpucol_slot_note_scanned(scan->base.rs_rd, slot);
	gpucol_serial_read_packed(scan->base.rs_rd, block_row(scan->bitmap_block, offset),
							  scan->base.rs_snapshot);
}

/* Are the rows of a virtual block to be fetched by probes? */
static bool
is_probed(GpucolScan *scan, const BitmapBlock *block)
{
	Relation	rel = scan->base.rs_rd;
	MemoryContext old;

	if (scan->view != NULL || block->ntuples < 0 || !IsMVCCSnapshot(scan->base.rs_snapshot))
		return false;
	scan->bitmap_found += block->ntuples;
	if (scan->bitmap_found <= GPUCOL_PROBED_FETCHES)
		return true;
	if (scan->bitmap_probes == 0)
	{
		old = MemoryContextSwitchTo(scan->context);
		scan->bitmap_probes = gpucol_view_peek_kept(rel, scan->base.rs_snapshot) != NULL ?
			GPUCOL_PROBED_FETCHES : gpucol_fetch_count_probes(rel);
		MemoryContextSwitchTo(old);
	}
	return scan->bitmap_found <= scan->bitmap_probes;
}

/* Note the rows of a virtual block, to be looked for one by one. */
static void
enter_probed_block(GpucolScan *scan, const BitmapBlock *block)
{
	scan->bitmap_probed = true;
	scan->bitmap_nrows = block->ntuples;
	memcpy(scan->bitmap_rows, block->offsets, block->ntuples * sizeof(OffsetNumber));
}

/* Next visible row of such a block; false at its end. */
static bool
next_probed_row(GpucolScan *scan, TupleTableSlot *slot)
{
	while (scan->bitmap_next < scan->bitmap_nrows)
	{
		uint64		row = block_row(scan->bitmap_block, scan->bitmap_rows[scan->bitmap_next++]);

		if (gpucol_fetch_row(scan->base.rs_rd, row, scan->base.rs_snapshot, slot))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------
 * Pages of segments
 * ------------------------------------------------------------------------
 */

/* Enter the rows that a page of a segment stands for; false if the block is none. */
static bool
enter_page(GpucolScan *scan, BlockNumber block)
{
	uint32		ordinal;
	int64		number;
	const GpucolSegmentEntry *entry;

	gpucol_scan_prepare(scan);
	number = gpucol_block_find(scan->view, block, scan->unit, &ordinal);
	if (number < 0)
		return false;
	gpucol_scan_enter_segment(scan, number);
	entry = &scan->view->segments[number].entry;
	scan->bitmap_row = gpucol_block_first_row(entry, ordinal);
	scan->bitmap_end = gpucol_block_first_row(entry, ordinal + 1);
	return true;
}

/* Next visible row of the page; false at its end. */
static bool
next_page_row(GpucolScan *scan, TupleTableSlot *slot)
{
	const GpucolViewSegment *segment;
	uint32		row = scan->bitmap_row;

	while (row < scan->bitmap_end && scan->deleted != NULL && (scan->deleted[row / 32] >> (row % 32)) & 1)
		row++;
	scan->bitmap_row = row + 1;
	if (row >= scan->bitmap_end)
		return false;
	segment = &scan->view->segments[scan->unit];
	gpucol_scan_store(scan->reader, row, segment->xmin, slot);
	gpucol_slot_note_scanned(scan->base.rs_rd, slot);
	gpucol_serial_read_packed(scan->base.rs_rd, segment->entry.first_row + row, scan->base.rs_snapshot);
	return true;
}

/* ------------------------------------------------------------------------
 * All
 * ------------------------------------------------------------------------
 */

/* Make the list of the block's visible rows; false if it has none. */
static bool
enter_block(GpucolScan *scan, const BitmapBlock *block)
{
	scan->bitmap_block = block->block;
	scan->bitmap_next = scan->bitmap_nrows = 0;
	scan->bitmap_row = scan->bitmap_end = 0;
	scan->bitmap_probed = false;
	scan->bitmap_run += block->ntuples >= 0 ? block->ntuples : GPUCOL_BLOCK_TIDS;
	gpucol_serial_note_run(scan->bitmap_run);
	if (block->block >= GPUCOL_FIRST_VIRTUAL_BLOCK)
	{
		if (is_probed(scan, block))
			enter_probed_block(scan, block);
		else
			enter_virtual_block(scan, block);
	}
	else if (block->ntuples >= 0 || !enter_page(scan, block->block))
		enter_delta_block(scan, block);
	return scan->bitmap_nrows > 0 || scan->bitmap_row < scan->bitmap_end;
}

/* Next row of the block; false at its end. */
static bool
next_row(GpucolScan *scan, TupleTableSlot *slot)
{
	OffsetNumber offset;

	if (scan->bitmap_probed)
		return next_probed_row(scan, slot);	/* which counts them */
	if (scan->bitmap_row < scan->bitmap_end)
	{
		if (!next_page_row(scan, slot))
			return false;
	}
	else
	{
		if (scan->bitmap_next >= scan->bitmap_nrows)
			return false;
		offset = scan->bitmap_rows[scan->bitmap_next++];
		if (scan->bitmap_block >= GPUCOL_FIRST_VIRTUAL_BLOCK)
			store_row(scan, offset, slot);
		else
			store_tuple(scan, offset, slot);
	}
	pgstat_count_heap_fetch(scan->base.rs_rd);
	return true;
}

#if GPUCOL_COMPAT_BITMAP_STREAM

bool
gpucol_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot, bool *recheck,
						 uint64 *lossy_pages, uint64 *exact_pages)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	while (!next_row(scan, slot))
	{
		OffsetNumber offsets[TBM_MAX_TUPLES_PER_PAGE];
		TBMIterateResult result;
		BitmapBlock block = {.offsets = offsets, .ntuples = -1};

		CHECK_FOR_INTERRUPTS();
		if (!tbm_iterate(&sscan->st.rs_tbmiterator, &result))
		{
			ExecClearTuple(slot);
			return false;
		}
		block.block = result.blockno;
		if (!result.lossy)
			block.ntuples = tbm_extract_page_tuple(&result, offsets,
												   TBM_MAX_TUPLES_PER_PAGE);
		scan->bitmap_recheck = result.recheck;
		if (enter_block(scan, &block))
			(*(result.lossy ? lossy_pages : exact_pages))++;
	}
	*recheck = scan->bitmap_recheck;
	return true;
}

void
gpucol_bitmap_keep_from_prefetching(PlanState *node pg_attribute_unused())
{
}

void
gpucol_bitmap_init(void)
{
}

#else

bool
gpucol_bitmap_next_block(TableScanDesc sscan, TBMIterateResult *result)
{
	BitmapBlock block = {
		.block = result->blockno,
		.ntuples = result->ntuples,
		.offsets = result->offsets
	};

	return enter_block((GpucolScan *) sscan, &block);
}

bool
gpucol_bitmap_next_tuple(TableScanDesc sscan,
						 TBMIterateResult *result pg_attribute_unused(),
						 TupleTableSlot *slot)
{
	return next_row((GpucolScan *) sscan, slot);
}

static ExecutorStart_hook_type previous_executor_start;

/* Keep a node that scans a gpucol table's bitmap from prefetching. */
static bool
stop_prefetching(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, BitmapHeapScanState))
	{
		BitmapHeapScanState *scan = (BitmapHeapScanState *) node;

		if (scan->ss.ss_currentRelation != NULL &&
			gpucol_am_is_table(scan->ss.ss_currentRelation))
			scan->prefetch_maximum = 0;
	}
	return planstate_tree_walker(node, stop_prefetching, context);
}

void
gpucol_bitmap_keep_from_prefetching(PlanState *node)
{
	(void) stop_prefetching(node, NULL);
}

static void
executor_start(QueryDesc *query, int eflags)
{
	if (previous_executor_start)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (query->planstate != NULL)
		gpucol_bitmap_keep_from_prefetching(query->planstate);
}

void
gpucol_bitmap_init(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}

#endif
