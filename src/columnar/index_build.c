/*-------------------------------------------------------------------------
 *
 * index_build.c
 *	  Scans that build and validate indexes, and compare them with the rows.
 *
 * Heap's own scans of this kind insist on heap's routine, so they are written
 * anew, over the table's scan: first segment rows, indexed under their virtual
 * TIDs, then delta rows, indexed under the roots of their HOT chains.  The rules
 * for delta rows are those of access/heap/README.HOT.
 *
 * A segment row that has a tombstone is indexed, because an older snapshot may
 * look for it, but is not alive to uniqueness checks; nor is one whose segment was packed
 * together with others.  One that has been folded
 * into a bitmap is dead to everyone.
 *
 * BRIN is shown the rows in the order of blocks (block_ranges.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "columnar/block_ranges.h"
#include "columnar/index_build.h"
#include "columnar/rownum.h"
#include "columnar/scan.h"
#include "compat.h"

/* What both scans need to turn a row into index values. */
struct GpucolIndexBuild
{
	Relation	table;
	Relation	index;
	IndexInfo  *info;
	GpucolScan *scan;
	TransactionId oldest_xmin;	/* valid with SnapshotAny only */
	bool		anyvisible;
	bool		by_block;		/* the index summarises blocks */
	EState	   *estate;
	ExprContext *econtext;
	ExprState  *predicate;
	TupleTableSlot *slot;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	double		live_rows;

	/* HOT chain roots of the delta block last visited */
	BlockNumber root_block;
	OffsetNumber roots[MaxHeapTuplesPerPage];

	/* deletions of the segment last visited, SnapshotAny only */
	MemoryContext segment_context;
	const GpucolViewSegment *segment;
	uint32	   *folded;
	uint32	   *tombstoned;
	bool		ended;			/* it was packed with others; old snapshots see it */
};

typedef GpucolIndexBuild BuildState;

static void
begin_state(BuildState *state, Relation table, Relation index, IndexInfo *info)
{
	memset(state, 0, sizeof(*state));
	state->table = table;
	state->index = index;
	state->info = info;
	state->by_block = gpucol_block_ranges_has(index);
	state->estate = CreateExecutorState();
	state->econtext = GetPerTupleExprContext(state->estate);
	state->slot = table_slot_create(table, NULL);
	state->econtext->ecxt_scantuple = state->slot;
	state->predicate = ExecPrepareQual(info->ii_Predicate, state->estate);
	state->root_block = InvalidBlockNumber;
	state->segment_context = AllocSetContextCreate(CurrentMemoryContext,
												   "gpucol index build",
												   ALLOCSET_DEFAULT_SIZES);
}

static void
end_state(BuildState *state)
{
	ExecDropSingleTupleTableSlot(state->slot);
	FreeExecutorState(state->estate);
	MemoryContextDelete(state->segment_context);

	/* these may have been pointing to the now-gone estate */
	state->info->ii_ExpressionsState = NIL;
	state->info->ii_PredicateState = NULL;
}

/* Form the index values of the row in the slot; false if it is not indexed. */
static bool
form_values(BuildState *state)
{
	MemoryContextReset(state->econtext->ecxt_per_tuple_memory);
	if (state->predicate != NULL && !ExecQual(state->predicate, state->econtext))
		return false;
	FormIndexDatum(state->info, state->slot, state->estate, state->values,
				   state->isnull);
	return true;
}

/* The delta tuple in the slot and its buffer. */
static HeapTuple
slot_tuple(BuildState *state, Buffer *buffer)
{
	BufferHeapTupleTableSlot *bslot = (BufferHeapTupleTableSlot *) state->slot;

	*buffer = bslot->buffer;
	return bslot->base.tuple;
}

/* Read the HOT chain roots of a pinned block. */
static void
read_roots(BuildState *state, Buffer buffer)
{
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	heap_get_root_tuples(BufferGetPage(buffer), state->roots);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	state->root_block = BufferGetBlockNumber(buffer);
}

/* The TID under which the delta tuple in the slot is indexed. */
static void
root_tid(BuildState *state, ItemPointer tid)
{
	Buffer		buffer;
	HeapTuple	tuple = slot_tuple(state, &buffer);
	OffsetNumber offset = ItemPointerGetOffsetNumber(&tuple->t_self);

	*tid = tuple->t_self;
	if (!HeapTupleIsHeapOnly(tuple))
		return;
	/* a concurrent update may have added the tuple since the roots were read */
	if (!OffsetNumberIsValid(state->roots[offset - 1]))
		read_roots(state, buffer);
	if (!OffsetNumberIsValid(state->roots[offset - 1]))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("failed to find parent tuple for heap-only tuple at (%u,%u) in table \"%s\"",
								 ItemPointerGetBlockNumber(tid), offset,
								 RelationGetRelationName(state->table))));
	ItemPointerSetOffsetNumber(tid, state->roots[offset - 1]);
}

/*
 * The TID under which the segment row in the slot is indexed: its own, or in an index that
 * summarises blocks a place in the block that stands for it.
 */
static void
segment_tid(const BuildState *state, ItemPointer tid)
{
	const GpucolViewSegment *segment;
	uint64		row = gpucol_tid_row(&state->slot->tts_tid);

	*tid = state->slot->tts_tid;
	if (!state->by_block)
		return;
	segment = &state->scan->view->segments[state->scan->unit];
	ItemPointerSet(tid, gpucol_block_of_row(&segment->entry, (uint32) (row - segment->entry.first_row)),
				   FirstOffsetNumber);
}

/* ------------------------------------------------------------------------
 * Building
 * ------------------------------------------------------------------------
 */

/* Wait for the transaction that is changing the delta tuple. */
static void
wait_for(BuildState *state, TransactionId xid, HeapTuple tuple)
{
	XactLockTableWait(xid, state->table, &tuple->t_self, XLTW_InsertIndexUnique);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Is the delta tuple in the slot to be indexed, and is it alive?  SnapshotAny
 * only.  Writers of other sessions are locked out, but may have left tuples in
 * progress where locks are released early; uniqueness then has to wait.
 */
static bool
judge_delta_tuple(BuildState *state, bool *alive)
{
	bool		unique = state->info->ii_Unique ||
		state->info->ii_ExclusionOps != NULL;
	Buffer		buffer;
	HeapTuple	tuple = slot_tuple(state, &buffer);

	for (;;)
	{
		HTSV_Result status;
		TransactionId xid;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		status = HeapTupleSatisfiesVacuum(tuple, state->oldest_xmin, buffer);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		*alive = true;
		switch (status)
		{
			case HEAPTUPLE_DEAD:
				return false;
			case HEAPTUPLE_LIVE:
				state->live_rows += 1;
				return true;
			case HEAPTUPLE_RECENTLY_DEAD:
				*alive = false;
				if (!HeapTupleIsHotUpdated(tuple))
					return true;
				/* only the end of a chain is indexed; old snapshots must not
				 * use the index */
				state->info->ii_BrokenHotChain = true;
				return false;
			case HEAPTUPLE_INSERT_IN_PROGRESS:
				xid = HeapTupleHeaderGetXmin(tuple->t_data);
				if (state->anyvisible || TransactionIdIsCurrentTransactionId(xid))
				{
					state->live_rows += 1;
					return true;
				}
				if (!unique)
					return true;
				wait_for(state, xid, tuple);
				break;
			case HEAPTUPLE_DELETE_IN_PROGRESS:
				*alive = false;
				xid = HeapTupleHeaderGetUpdateXid(tuple->t_data);
				if (state->anyvisible)
				{
					state->live_rows += 1;
					return true;
				}
				if (!TransactionIdIsCurrentTransactionId(xid))
				{
					if (!unique && !HeapTupleIsHotUpdated(tuple))
					{
						state->live_rows += 1;
						return true;
					}
					wait_for(state, xid, tuple);
					break;
				}
				if (HeapTupleIsHotUpdated(tuple))
				{
					state->info->ii_BrokenHotChain = true;
					return false;
				}
				return true;
		}
	}
}

/* Is a bit set in a bitmap that may be absent? */
static bool
bit_is_set(const uint32 *bits, uint32 row)
{
	return bits != NULL && (bits[row / 32] >> (row % 32)) & 1;
}

/* Has a segment lost its entry to others, which its rows have been packed to? */
static bool
has_ended(Relation table, const GpucolViewSegment *segment)
{
	GpucolDirectory dir;
	GpucolSegmentEntry entry;
	TransactionId xmin;
	Oid			id;
	int32		seq;
	bool		ended;

	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	gpucol_directory_key(GPUCOL_ID_SEGMENT, segment->entry.first_row, &id, &seq);
	ended = !gpucol_directory_fetch(&dir, SnapshotSelf, &segment->tid, id, seq, &entry,
									sizeof(entry), &xmin);
	gpucol_directory_close(&dir);
	return ended;
}

/* The same for a segment row. */
static bool
judge_segment_row(BuildState *state, bool *alive)
{
	GpucolScan *scan = state->scan;
	const GpucolViewSegment *segment = &scan->view->segments[scan->unit];

	if (state->segment != segment)
	{
		MemoryContext old = MemoryContextSwitchTo(state->segment_context);

		MemoryContextReset(state->segment_context);
		/* a segment that has lost its last row has lost its bitmaps, too, for all but old snapshots */
		state->folded = gpucol_view_folded(scan->view, segment, SnapshotAny);
		state->tombstoned = gpucol_view_tombstoned(scan->view, segment, SnapshotSelf);
		state->ended = has_ended(state->table, segment);
		MemoryContextSwitchTo(old);
		state->segment = segment;
	}
	if (bit_is_set(state->folded, (uint32) scan->row))
		return false;
	*alive = !state->ended && !bit_is_set(state->tombstoned, (uint32) scan->row);
	if (*alive)
		state->live_rows += 1;
	return true;
}

/* Index the row in the slot. */
static void
build_row(BuildState *state, Snapshot snapshot, IndexBuildCallback callback,
		  void *callback_state)
{
	bool		is_segment_row = gpucol_tid_is_virtual(&state->slot->tts_tid);
	bool		alive = true;
	ItemPointerData tid;

	if (!is_segment_row)
	{
		Buffer		buffer;

		(void) slot_tuple(state, &buffer);
		if (BufferGetBlockNumber(buffer) != state->root_block)
			read_roots(state, buffer);
	}
	if (snapshot != SnapshotAny)
		state->live_rows += 1;
	else if (!(is_segment_row ? judge_segment_row(state, &alive) :
			   judge_delta_tuple(state, &alive)))
		return;
	if (!form_values(state))
		return;
	if (!is_segment_row)
		root_tid(state, &tid);
	else
		segment_tid(state, &tid);
	callback(state->index, &tid, state->values, state->isnull, alive, callback_state);
}

/* Index the rows that the scan has yet to come to. */
static void
build_rows(BuildState *state, Snapshot snapshot, IndexBuildCallback callback, void *callback_state)
{
	while (table_scan_getnextslot(&state->scan->base, ForwardScanDirection, state->slot))
	{
		CHECK_FOR_INTERRUPTS();
		build_row(state, snapshot, callback, callback_state);
	}
}

/* Index the rows that a page of a segment stands for. */
static void
build_page(BuildState *state, Snapshot snapshot, int64 number, uint32 page, IndexBuildCallback callback,
		   void *callback_state)
{
	GpucolScan *scan = state->scan;
	const GpucolViewSegment *segment = &scan->view->segments[number];
	uint32		end = gpucol_block_first_row(&segment->entry, page + 1);

	gpucol_scan_enter_segment(scan, number);
	for (uint32 row = gpucol_block_first_row(&segment->entry, page); row < end; row++)
	{
		CHECK_FOR_INTERRUPTS();
		/* rows that a snapshot does not see; SnapshotAny sees all, which build_row judges */
		if (bit_is_set(scan->deleted, row))
			continue;
		scan->row = row;
		gpucol_scan_store(scan->reader, row, segment->xmin, state->slot);
		build_row(state, snapshot, callback, callback_state);
	}
}

/*
 * Index the rows of some blocks in the order of these, in which BRIN builds its summaries.
 * Pages of the delta that are known to hold nothing are read, too: somebody may be filling them.
 */
static void
build_blocks(BuildState *state, Snapshot snapshot, BlockNumber start, BlockNumber nblocks,
			 IndexBuildCallback callback, void *callback_state)
{
	GpucolScan *scan = state->scan;
	BlockNumber end = ((HeapScanDesc) scan->delta)->rs_nblocks;
	const GpucolBlockRange *gap;
	const GpucolBlockRange *last;
	int64		number = -1;
	uint32		ngaps;

	if (nblocks != InvalidBlockNumber && start < end)
		end = start + Min(nblocks, end - start);
	gpucol_scan_prepare(scan);
	gap = gpucol_view_delta_ranges(scan->view, end, MaxBlockNumber, &ngaps);
	last = gap + ngaps;
	for (BlockNumber block = start; block < end;)
	{
		while (gap < last && gap->start + gap->nblocks <= block)
			gap++;
		if (gap < last && gap->start <= block)
		{
			gpucol_scan_enter_blocks(scan, block, gap->start + gap->nblocks - block);
			build_rows(state, snapshot, callback, callback_state);
			block = gap->start + gap->nblocks;
		}
		else
		{
			uint32		page;

			number = gpucol_block_find(scan->view, block++, number, &page);
			build_page(state, snapshot, number, page, callback, callback_state);
		}
	}
}

double
gpucol_index_build_range_scan(Relation table, Relation index, IndexInfo *info,
							  bool allow_sync pg_attribute_unused(),
							  bool anyvisible, bool progress,
							  BlockNumber start_block, BlockNumber nblocks,
							  IndexBuildCallback callback, void *callback_state,
							  TableScanDesc sscan)
{
	BuildState	state;
	Snapshot	snapshot;
	bool		registered = false;

	if (!gpucol_block_ranges_has(index) && (start_block != 0 || nblocks != InvalidBlockNumber))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be built on table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(table)),
				 errdetail("Of access methods that ask for ranges of blocks only BRIN works on packed segments.")));

	begin_state(&state, table, index, info);
	state.anyvisible = anyvisible;
	if (!IsBootstrapProcessingMode() && !info->ii_Concurrent)
		state.oldest_xmin = GetOldestNonRemovableTransactionId(table);
	if (sscan != NULL)
		snapshot = sscan->rs_snapshot;
	else
	{
		snapshot = SnapshotAny;
		if (!TransactionIdIsValid(state.oldest_xmin))
		{
			snapshot = RegisterSnapshot(GetTransactionSnapshot());
			registered = true;
		}
		sscan = table_beginscan_strat(table, snapshot, 0, NULL, true, false);
	}
	state.scan = (GpucolScan *) sscan;
	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 RelationGetNumberOfBlocks(table));

	if (state.by_block && sscan->rs_parallel == NULL)
		build_blocks(&state, snapshot, start_block, nblocks, callback, callback_state);
	else
		build_rows(&state, snapshot, callback, callback_state);

	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
									 RelationGetNumberOfBlocks(table));
	table_endscan(sscan);
	if (registered)
		UnregisterSnapshot(snapshot);
	end_state(&state);
	return state.live_rows;
}

/* ------------------------------------------------------------------------
 * Comparing rows with the TIDs of an index
 * ------------------------------------------------------------------------
 */

/* The index's TIDs in order, merged with the table's rows. */
typedef struct IndexTids
{
	Tuplesortstate *sort;
	bool		ended;
	bool		valid;			/* `tid` is set */
	ItemPointerData tid;

	/* offsets of the block `block` that the merge has passed */
	BlockNumber block;
	bool		passed[MaxHeapTuplesPerPage];
} IndexTids;

/* Step to the next TID of the index. */
static void
next_index_tid(IndexTids *tids)
{
	OffsetNumber offset = tids->valid ? ItemPointerGetOffsetNumberNoCheck(&tids->tid) : 0;
	Datum		value;
	bool		isnull;

	/* a damaged index may have any offset */
	if (offset >= 1 && offset <= MaxHeapTuplesPerPage &&
		ItemPointerGetBlockNumberNoCheck(&tids->tid) == tids->block)
		tids->passed[offset - 1] = true;
	tids->valid = gpucol_compat_tuplesort_getdatum(tids->sort, &value, &isnull);
	tids->ended = !tids->valid;
	if (tids->valid)
		itemptr_decode(&tids->tid, DatumGetInt64(value));
}

/*
 * Is the TID in the index?  TIDs are asked for in order, but those of one delta
 * block (roots of HOT chains) in any order.
 */
static bool
index_has_tid(IndexTids *tids, ItemPointer tid)
{
	while (!tids->ended &&
		   (!tids->valid || ItemPointerCompare(&tids->tid, tid) < 0))
		next_index_tid(tids);
	if (tids->valid && ItemPointerEquals(&tids->tid, tid))
		return true;
	return ItemPointerGetBlockNumber(tid) == tids->block &&
		tids->passed[ItemPointerGetOffsetNumber(tid) - 1];
}

/* The TID under which the row in the slot is indexed; rows come in order of blocks. */
static void
entry_tid(BuildState *state, IndexTids *tids, ItemPointer tid)
{
	Buffer		buffer;

	*tid = state->slot->tts_tid;
	if (gpucol_tid_is_virtual(tid))
		return;
	(void) slot_tuple(state, &buffer);
	if (BufferGetBlockNumber(buffer) != state->root_block)
	{
		read_roots(state, buffer);
		memset(tids->passed, 0, sizeof(tids->passed));
		tids->block = state->root_block;
	}
	root_tid(state, tid);
}

bool
gpucol_index_form(GpucolIndexBuild *build, Datum **values, bool **isnull)
{
	*values = build->values;
	*isnull = build->isnull;
	return form_values(build);
}

void
gpucol_index_compare(Relation table, Relation index, IndexInfo *info, Snapshot snapshot,
					 Tuplesortstate *sort, GpucolIndexRowCallback callback, void *arg)
{
	IndexTids	tids = {.sort = sort, .block = InvalidBlockNumber};
	BuildState	state;
	TableScanDesc sscan;

	begin_state(&state, table, index, info);
	sscan = table_beginscan_strat(table, snapshot, 0, NULL, true, false);
	state.scan = (GpucolScan *) sscan;

	/* the delta's TIDs come before the segments' */
	gpucol_scan_prepare(state.scan);
	state.scan->unit = (int64) state.scan->view->nsegments - 1;
	for (int part = 0; part < 2; part++)
	{
		while (table_scan_getnextslot(sscan, ForwardScanDirection, state.slot) &&
			   (part == 0 || gpucol_tid_is_virtual(&state.slot->tts_tid)))
		{
			ItemPointerData tid;

			CHECK_FOR_INTERRUPTS();
			entry_tid(&state, &tids, &tid);
			callback(&state, &tid, index_has_tid(&tids, &tid), arg);
		}
		if (part == 0)
			table_rescan(sscan, NULL);
	}
	table_endscan(sscan);
	end_state(&state);
}

/* Insert a row that the index lacks: the last step of CREATE INDEX CONCURRENTLY. */
static void
validate_row(GpucolIndexBuild *state, ItemPointer tid, bool has_entry, void *arg)
{
	ValidateIndexState *validate = arg;
	ItemPointerData place = *tid;

	validate->htups += 1;
	if (has_entry || !form_values(state))
		return;
	if (gpucol_tid_is_virtual(tid))
		segment_tid(state, &place);
	index_insert(state->index, state->values, state->isnull, &place, state->table,
				 state->info->ii_Unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
				 false, state->info);
	validate->tups_inserted += 1;
}

void
gpucol_index_validate_scan(Relation table, Relation index, IndexInfo *info,
						   Snapshot snapshot, ValidateIndexState *validate)
{
	gpucol_index_compare(table, index, info, snapshot, validate->tuplesort, validate_row,
						 validate);
}
