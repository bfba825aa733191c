/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  Fetching single rows by TID, for indexes, triggers and row locks.
 *
 * Delta TIDs are heap's affair.  For a segment row the directory is asked under
 * the caller's own snapshot: for the first rows of an index scan by index
 * probes, then by a view of the whole directory that the scan keeps: after a few rows where the
 * session knows the directory, else when the probes have cost about what reading it will.  Rows that an MVCC
 * snapshot sees go undecoded into slots (slot.c).
 *
 * Rows that another session has buffered but not written are known by their
 * number alone.  Only dirty snapshots come across them; they get a row of NULLs,
 * which is enough for a uniqueness check to find the transaction to wait for
 * (writer.c sees to it that no check needs more).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/burials.h"
#include "columnar/delta_check.h"
#include "columnar/delta_fetch.h"
#include "columnar/fetch.h"
#include "columnar/forward.h"
#include "columnar/index_dead.h"
#include "columnar/point_reader.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/serial.h"
#include "columnar/slot.h"
#include "columnar/view.h"
#include "columnar/writer.h"
#include "compat.h"

/* Segment rows that a scan fetches by probes before it reads a view, at most. */
#define MOST_PROBES		256

/* Segments whose deletions an index scan keeps. */
#define OPEN_SEGMENTS	32

/* Such a segment. */
typedef struct FetchSegment
{
	GpucolViewSegment segment;	/* nrows 0 = unused */
	uint32	   *deleted;		/* under the view's snapshot */
} FetchSegment;

typedef struct GpucolIndexFetch
{
	IndexFetchHeapData heap;	/* must be first: heap's functions use it */
	MemoryContext context;		/* what follows; NULL until needed */
	Snapshot	snapshot;		/* that view was read under ... */
	CommandId	curcid;			/* ... and its command then */
	GpucolView *view;
	int			nfetched;
	uint64		run;			/* rows since the scan began, or began again */
	int			nprobes;		/* of these by probes; 0 = not decided */
	int			next;			/* of segments[] to be replaced */
	FetchSegment *segments;		/* OPEN_SEGMENTS; NULL until needed */
} GpucolIndexFetch;

/* ------------------------------------------------------------------------
 * Visibility
 * ------------------------------------------------------------------------
 */

/*
 * Does a dirty snapshot see the row's deletion?  A deleter in progress is noted
 * in the snapshot and leaves the row visible.
 */
static bool
dirty_deleted(GpucolDirectory *dir, uint64 row_number, Snapshot snapshot)
{
	SnapshotData dirty;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found;

	if (gpucol_directory_lacks(dir) & GPUCOL_LACKS_TOMBSTONES)
		return false;
	InitDirtySnapshot(dirty);
	gpucol_directory_scan_begin(&scan, dir, &dirty, GPUCOL_ID_TOMBSTONE, row_number,
								row_number, ForwardScanDirection);
	found = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	if (found && TransactionIdIsValid(dirty.xmin))
	{
		snapshot->xmax = dirty.xmin;
		return false;
	}
	if (found)
		return true;
	InitDirtySnapshot(dirty);
	return gpucol_view_row_folded(dir, &dirty, row_number);
}

void
gpucol_fetch_clear_dirty(Snapshot snapshot)
{
	snapshot->xmin = snapshot->xmax = InvalidTransactionId;
	snapshot->speculativeToken = 0;
}

/* Find the row's segment as a dirty snapshot does. */
static bool
dirty_visible(GpucolDirectory *dir, uint64 row_number, Snapshot snapshot,
			  GpucolViewSegment *segment)
{
	SnapshotData dirty;

	gpucol_fetch_clear_dirty(snapshot);
	InitDirtySnapshot(dirty);
	if (!gpucol_view_lookup(dir, &dirty, row_number, segment))
		return false;
	/* who asks has locked the table for writing, so the row stays where it was until it has been answered */
	if (TransactionIdIsValid(dirty.xmin) && (segment->entry.flags & GPUCOL_ENTRY_MOVED) != 0)
		return false;
	snapshot->xmin = dirty.xmin;
	snapshot->xmax = dirty.xmax;
	return !dirty_deleted(dir, row_number, snapshot);
}

/* Find the row's segment and decide the row's visibility. */
static bool
row_visible(GpucolDirectory *dir, uint64 row_number, Snapshot snapshot,
			GpucolViewSegment *segment)
{
	switch (snapshot->snapshot_type)
	{
		case SNAPSHOT_DIRTY:
			return dirty_visible(dir, row_number, snapshot, segment);
		case SNAPSHOT_ANY:
		case SNAPSHOT_NON_VACUUMABLE:
			return gpucol_view_lookup(dir, snapshot, row_number, segment);
		default:
			/* an updated row's index entry is met as often as the new version's */
			return !gpucol_view_row_deleted(dir, snapshot, row_number) &&
				gpucol_view_lookup(dir, snapshot, row_number, segment) &&
				row_number - segment->entry.first_row < segment->entry.nrows;
	}
}

/* Write this backend's buffered rows unless the snapshot needs no values. */
static void
flush_for(Relation table, Snapshot snapshot)
{
	if (snapshot->snapshot_type != SNAPSHOT_DIRTY &&
		snapshot->snapshot_type != SNAPSHOT_NON_VACUUMABLE)
		gpucol_writer_flush(table);
}

/*
 * A segment row that is kept with its segment and perhaps its values: while a snapshot
 * with the same horizon is active, nobody can have removed the segment.  (Where
 * TRUNCATE may empty a file in place, row numbers begin anew: nothing is kept.)
 */
typedef struct KeptRow
{
	Oid			space;
	Oid			file;
	TransactionId horizon;		/* the snapshot's xmin; invalid = nothing kept */
	uint64		row_number;
	GpucolViewSegment segment;
	HeapTupleData tuple;		/* length 0 = not kept */
} KeptRow;

/*
 * The row that an MVCC snapshot saw last: an update looks a row up under its
 * snapshot, and then twice more whatever became of it.
 */
static KeptRow last_seen;

/*
 * The row that was fetched last whatever became of it: each trigger of a row fetches
 * it, and what a foreign key's trigger looks up comes in between.
 */
static KeptRow last_fetched;

/* Rows of more bytes are not kept. */
#define KEPT_TUPLE_BYTES	BLCKSZ

/* Keep a row that exists for a snapshot with a horizon. */
static void
keep_row(KeptRow *kept, Relation table, uint64 row_number, TransactionId horizon,
		 const GpucolViewSegment *segment)
{
	kept->space = gpucol_compat_relation_space(table);
	kept->file = gpucol_compat_relation_file(table);
	kept->horizon = horizon;
	kept->row_number = row_number;
	kept->segment = *segment;
	kept->tuple.t_len = 0;
}

/* Is the segment that is kept this table's, and safe under the active snapshot? */
static bool
is_valid(const KeptRow *kept, Relation table)
{
	return gpucol_directory_is_lasting(table) &&
		TransactionIdIsValid(kept->horizon) && ActiveSnapshotSet() &&
		GetActiveSnapshot()->snapshot_type == SNAPSHOT_MVCC &&
		GetActiveSnapshot()->xmin == kept->horizon &&
		kept->file == gpucol_compat_relation_file(table) &&
		kept->space == gpucol_compat_relation_space(table);
}

/* Is this the row that is kept? */
static bool
is_kept(const KeptRow *kept, Relation table, uint64 row_number)
{
	return row_number == kept->row_number && is_valid(kept, table);
}

/* Is the row in the segment of the one that is kept? */
static bool
is_adjacent(const KeptRow *kept, Relation table, uint64 row_number)
{
	const GpucolSegmentEntry *entry = &kept->segment.entry;

	return row_number >= entry->first_row &&
		row_number - entry->first_row < entry->nrows && is_valid(kept, table);
}

/* Keep the row that a snapshot has just seen. */
static void
keep_seen(Relation table, uint64 row_number, Snapshot snapshot,
		  const GpucolViewSegment *segment)
{
	if (snapshot->snapshot_type == SNAPSHOT_MVCC && gpucol_directory_is_lasting(table))
		keep_row(&last_seen, table, row_number, snapshot->xmin, segment);
}

bool
gpucol_fetch_is_last_seen(Relation table, uint64 row_number)
{
	return is_kept(&last_seen, table, row_number);
}

/* Keep the values of the row that is kept, which a slot holds now. */
static void
keep_tuple(KeptRow *kept, Relation table, uint64 row_number, TupleTableSlot *slot)
{
	HeapTuple	tuple = gpucol_slot_tuple(slot);

	if (!is_kept(kept, table, row_number) || tuple == NULL ||
		tuple->t_len > KEPT_TUPLE_BYTES)
		return;
	if (kept->tuple.t_data == NULL)
		kept->tuple.t_data = MemoryContextAlloc(TopMemoryContext, KEPT_TUPLE_BYTES);
	memcpy(kept->tuple.t_data, tuple->t_data, tuple->t_len);
	kept->tuple.t_self = tuple->t_self;
	kept->tuple.t_tableOid = tuple->t_tableOid;
	kept->tuple.t_len = tuple->t_len;
}

/* Keep the row that a slot holds, fetched whatever became of it. */
static void
keep_fetched(Relation table, uint64 row_number, const GpucolViewSegment *segment,
			 TupleTableSlot *slot)
{
	if (!ActiveSnapshotSet() || GetActiveSnapshot()->snapshot_type != SNAPSHOT_MVCC ||
		!gpucol_directory_is_lasting(table))
		return;
	keep_row(&last_fetched, table, row_number, GetActiveSnapshot()->xmin, segment);
	keep_tuple(&last_fetched, table, row_number, slot);
}

/* Store a kept row in a slot, if it is the one that is asked for. */
static bool
store_kept(KeptRow *kept, Relation table, uint64 row_number, TupleTableSlot *slot)
{
	MemoryContext old;

	if (kept->tuple.t_len == 0 || !is_kept(kept, table, row_number))
		return false;
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	gpucol_slot_put(heap_copytuple(&kept->tuple), slot);
	MemoryContextSwitchTo(old);
	pgstat_count_heap_fetch(table);
	return true;
}

/* Store the row, if it is kept, in a slot whatever became of it. */
static bool
store_any_kept(Relation table, uint64 row_number, TupleTableSlot *slot)
{
	return store_kept(&last_seen, table, row_number, slot) ||
		store_kept(&last_fetched, table, row_number, slot);
}

/*
 * The row that this session buried last.  Its index entry is met as soon as the
 * same transaction looks for the new version.
 */
static struct
{
	Oid			space;
	Oid			file;
	TransactionId xid;			/* that buried it; invalid = nothing kept */
	CommandId	cid;
	uint64		row_number;
}			last_buried;

void
gpucol_fetch_note_buried(Relation table, uint64 row_number, CommandId cid)
{
	last_buried.xid = InvalidTransactionId;
	if (!gpucol_directory_is_lasting(table))
		return;
	last_buried.space = gpucol_compat_relation_space(table);
	last_buried.file = gpucol_compat_relation_file(table);
	last_buried.row_number = row_number;
	last_buried.cid = cid;
	last_buried.xid = GetCurrentTransactionId();
}

/*
 * Does a snapshot of the transaction that buried the row last see that?  A dirty one
 * sees it at once, as a uniqueness check of the new version does.
 */
static bool
is_buried(Relation table, uint64 row_number, Snapshot snapshot)
{
	return row_number == last_buried.row_number &&
		TransactionIdIsValid(last_buried.xid) && gpucol_directory_is_lasting(table) &&
		(snapshot->snapshot_type == SNAPSHOT_DIRTY ||
		 (snapshot->snapshot_type == SNAPSHOT_MVCC &&
		  last_buried.cid < snapshot->curcid)) &&
		last_buried.file == gpucol_compat_relation_file(table) &&
		last_buried.space == gpucol_compat_relation_space(table) &&
		TransactionIdIsCurrentTransactionId(last_buried.xid);
}

/* row_visible over the directory as a whole. */
static bool
lookup_row(Relation table, uint64 row_number, Snapshot snapshot,
		   GpucolViewSegment *segment)
{
	GpucolDirectory dir;
	bool		visible;

	if (snapshot->snapshot_type == SNAPSHOT_ANY &&
		gpucol_fetch_is_last_seen(table, row_number))
	{
		*segment = last_seen.segment;
		return true;
	}
	if (snapshot->snapshot_type == SNAPSHOT_ANY &&
		is_adjacent(&last_fetched, table, row_number))
	{
		*segment = last_fetched.segment;
		return true;
	}
	if (is_buried(table, row_number, snapshot))
	{
		if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
			gpucol_fetch_clear_dirty(snapshot);
		return false;
	}
	if (snapshot->snapshot_type == SNAPSHOT_DIRTY || snapshot->snapshot_type == SNAPSHOT_ANY)
	{
		GpucolBurialsRow known = gpucol_burials_look(table, row_number, segment);

		if (known != GPUCOL_BURIALS_UNKNOWN && snapshot->snapshot_type == SNAPSHOT_DIRTY)
			gpucol_fetch_clear_dirty(snapshot);
		if (known != GPUCOL_BURIALS_UNKNOWN)
			return known == GPUCOL_BURIALS_LIVE || snapshot->snapshot_type == SNAPSHOT_ANY;
	}
	flush_for(table, snapshot);
	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	visible = row_visible(&dir, row_number, snapshot, segment);
	if (visible)
		keep_seen(table, row_number, snapshot, segment);
	gpucol_directory_close(&dir);
	return visible;
}

bool
gpucol_fetch_visible(Relation table, uint64 row_number, Snapshot snapshot)
{
	GpucolViewSegment segment;

	return lookup_row(table, row_number, snapshot, &segment);
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Store a row of NULLs for one whose values are in another session's memory. */
static void
store_unknown(Relation table, uint64 row_number, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(table);
	Datum	   *values = palloc0(Max(desc->natts, 1) * sizeof(Datum));
	bool	   *isnull = palloc(Max(desc->natts, 1) * sizeof(bool));
	MemoryContext old = MemoryContextSwitchTo(slot->tts_mcxt);
	HeapTuple	tuple;

	memset(isnull, true, Max(desc->natts, 1));
	tuple = heap_form_tuple(desc, values, isnull);
	MemoryContextSwitchTo(old);
	gpucol_tid_set(&tuple->t_self, row_number);
	tuple->t_tableOid = RelationGetRelid(table);
	gpucol_slot_put(tuple, slot);
	pfree(values);
	pfree(isnull);
}

/* Decode a row into a slot of any kind, with memory of the current context. */
static void
read_row(Relation table, const GpucolViewSegment *segment, uint32 row, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	GpucolPointReader *reader = gpucol_point_reader_create(table, desc);
	Datum	   *values = palloc(Max(desc->natts, 1) * sizeof(Datum));
	bool	   *isnull = palloc(Max(desc->natts, 1) * sizeof(bool));
	MemoryContext old;
	HeapTuple	tuple;

	ExecClearTuple(slot);
	gpucol_point_reader_begin(reader, gpucol_segment_open(table, &segment->entry), row);
	for (int i = 0; i < desc->natts; i++)
		values[i] = gpucol_point_reader_value(reader, i, &isnull[i]);
	old = MemoryContextSwitchTo(slot->tts_mcxt);
	tuple = gpucol_point_reader_form(reader, segment->xmin, values, isnull);
	MemoryContextSwitchTo(old);
	gpucol_slot_put(tuple, slot);
	gpucol_point_reader_close(reader);
}

/* Decode and store a row of a segment that has been looked up. */
static void
store_single(Relation table, const GpucolViewSegment *segment, uint64 row_number,
			 TupleTableSlot *slot)
{
	uint64		row = row_number - segment->entry.first_row;
	MemoryContext context;
	MemoryContext old;

	pgstat_count_heap_fetch(table);
	if (row >= segment->entry.nrows)
	{
		store_unknown(table, row_number, slot);
		return;
	}
	if (gpucol_slot_is_ours(slot))
	{
		gpucol_slot_store_copy(slot, table, segment, row_number);
		return;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "gpucol fetch",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	read_row(table, segment, (uint32) row, slot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Store a row of a segment that stays where it is, because a snapshot sees it or the
 * transaction has locked it: undecoded, in a slot that can.
 */
static void
store_lasting(Relation table, const GpucolViewSegment *segment, uint64 row_number,
			  TupleTableSlot *slot)
{
	if (!gpucol_slot_is_ours(slot) ||
		row_number - segment->entry.first_row >= segment->entry.nrows)
	{
		store_single(table, segment, row_number, slot);
		return;
	}
	gpucol_slot_store(slot, table, segment, row_number);
	pgstat_count_heap_fetch(table);
}

/* Store a copy of the row that another slot holds and has been read from. */
static bool
store_latest(Relation table, uint64 row_number, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(slot->tts_mcxt);
	HeapTuple	tuple = gpucol_slot_copy_latest(table, row_number);

	MemoryContextSwitchTo(old);
	if (tuple == NULL)
		return false;
	gpucol_slot_put(tuple, slot);
	keep_tuple(&last_seen, table, row_number, slot);
	pgstat_count_heap_fetch(table);
	return true;
}

/*
 * Has a dirty snapshot seen a row that nobody is inserting or deleting?  Who looks for a key so has locked the table
 * for writing and has an older snapshot: the row stays.  Mostly it is not read at all.
 */
static bool
is_live(Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_DIRTY && !TransactionIdIsValid(snapshot->xmin) &&
		!TransactionIdIsValid(snapshot->xmax) && ActiveSnapshotSet();
}

bool
gpucol_fetch_row(Relation table, uint64 row_number, Snapshot snapshot,
				 TupleTableSlot *slot)
{
	GpucolViewSegment segment;

	gpucol_slot_empty(slot);
	if (snapshot->snapshot_type == SNAPSHOT_ANY &&
		(store_any_kept(table, row_number, slot) ||
		 store_latest(table, row_number, slot)))
		return true;
	if (!lookup_row(table, row_number, snapshot, &segment))
		return false;
	if (IsMVCCSnapshot(snapshot))
	{
		store_lasting(table, &segment, row_number, slot);
		gpucol_serial_read_packed(table, row_number, snapshot);
		keep_tuple(&last_seen, table, row_number, slot);
		return true;
	}
	if (snapshot->snapshot_type == SNAPSHOT_ANY && gpucol_burials_is_steady() && gpucol_slot_is_ours(slot))
	{
		gpucol_slot_plan(slot, NULL);
		store_lasting(table, &segment, row_number, slot);
	}
	else if (is_live(snapshot))
		store_lasting(table, &segment, row_number, slot);
	else
		store_single(table, &segment, row_number, slot);
	if (snapshot->snapshot_type == SNAPSHOT_ANY)
		keep_fetched(table, row_number, &segment, slot);
	return true;
}

bool
gpucol_fetch_any(GpucolDirectory *dir, uint64 row_number, bool locked,
				 TupleTableSlot *slot)
{
	GpucolViewSegment segment;

	ExecClearTuple(slot);
	if (store_any_kept(dir->table, row_number, slot))
		return true;
	if (is_kept(&last_seen, dir->table, row_number))
		segment = last_seen.segment;
	else if (!gpucol_view_lookup(dir, SnapshotAny, row_number, &segment))
		return false;
	if (locked)
		store_lasting(dir->table, &segment, row_number, slot);
	else
		store_single(dir->table, &segment, row_number, slot);
	return true;
}

void
gpucol_fetch_claimed(Relation table, uint64 row_number, TupleTableSlot *slot)
{
	GpucolViewSegment segment;
	GpucolBurialsRow known PG_USED_FOR_ASSERTS_ONLY = gpucol_burials_look(table, row_number, &segment);

	Assert(known == GPUCOL_BURIALS_LIVE);
	gpucol_slot_empty(slot);
	if (gpucol_slot_is_ours(slot))
		gpucol_slot_plan(slot, NULL);
	store_lasting(table, &segment, row_number, slot);
}

bool
gpucol_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
						 TupleTableSlot *slot)
{
	bool		lent;
	bool		found;

	if (gpucol_tid_is_virtual(tid))
		return gpucol_fetch_row(rel, gpucol_tid_row(tid), snapshot, slot);
	if (ItemPointerGetBlockNumberNoCheck(tid) < RelationGetNumberOfBlocks(rel))
		gpucol_delta_check_blocks(rel, RelationGetDescr(rel), ItemPointerGetBlockNumberNoCheck(tid), 1, NULL);
	lent = gpucol_slot_lend(slot);
	found = GetHeapamTableAmRoutine()->tuple_fetch_row_version(rel, tid, snapshot, slot);
	gpucol_slot_take_back(slot, lent);
	if (found)
		gpucol_serial_read_delta(rel, slot, snapshot);
	return found;
}

bool
gpucol_fetch_tid_valid(TableScanDesc sscan, ItemPointer tid)
{
	if (gpucol_tid_is_virtual(tid))
		return ItemPointerGetOffsetNumberNoCheck(tid) >= 1 &&
			ItemPointerGetOffsetNumberNoCheck(tid) <= GPUCOL_BLOCK_TIDS;
	return ItemPointerIsValid(tid) &&
		ItemPointerGetBlockNumber(tid) < RelationGetNumberOfBlocks(sscan->rs_rd);
}

/* The place of a segment row's next version, if the snapshot sees that. */
static bool
next_version(Relation table, uint64 row_number, Snapshot snapshot, ItemPointer tid)
{
	GpucolDirectory dir;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	GpucolTombstone tombstone;
	bool		found = false;

	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	gpucol_directory_scan_begin(&scan, &dir, snapshot, GPUCOL_ID_TOMBSTONE, row_number,
								row_number, ForwardScanDirection);
	if (gpucol_directory_scan_next(&scan, &row) && row.size == sizeof(tombstone))
	{
		memcpy(&tombstone, row.data, sizeof(tombstone));
		found = !gpucol_tid_is_virtual(&tombstone.new_tid) &&
			!ItemPointerIndicatesMovedPartitions(&tombstone.new_tid);
		if (found)
			*tid = tombstone.new_tid;
	}
	gpucol_directory_scan_end(&scan);
	gpucol_directory_close(&dir);
	return found;
}

void
gpucol_fetch_latest_tid(TableScanDesc sscan, ItemPointer tid)
{
	GpucolScan *scan = (GpucolScan *) sscan;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!gpucol_tid_is_virtual(tid) ||
			next_version(sscan->rs_rd, gpucol_tid_row(tid), sscan->rs_snapshot, tid))
			heap_get_latest_tid(scan->delta, tid);
	} while (gpucol_forward_step(sscan->rs_rd, sscan->rs_snapshot, tid));
}

bool
gpucol_fetch_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	bool		lent;
	bool		satisfies;

	if (gpucol_tid_is_virtual(&slot->tts_tid))
		return gpucol_fetch_visible(rel, gpucol_tid_row(&slot->tts_tid), snapshot);
	lent = gpucol_slot_lend(slot);
	satisfies = GetHeapamTableAmRoutine()->tuple_satisfies_snapshot(rel, slot, snapshot);
	gpucol_slot_take_back(slot, lent);
	return satisfies;
}

/* ------------------------------------------------------------------------
 * Index scans
 * ------------------------------------------------------------------------
 */

IndexFetchTableData *
gpucol_index_fetch_begin(Relation rel)
{
	GpucolIndexFetch *fetch = palloc0(sizeof(GpucolIndexFetch));

	fetch->heap.xs_base.rel = rel;
	fetch->heap.xs_cbuf = InvalidBuffer;
	return &fetch->heap.xs_base;
}

/* Forget view and open segments. */
static void
forget_segments(GpucolIndexFetch *fetch)
{
	fetch->segments = NULL;
	fetch->view = NULL;
	fetch->snapshot = NULL;
	MemoryContextReset(fetch->context);
}

/* Neither view nor segments hold pins: they serve the scan when it begins again. */
void
gpucol_index_fetch_reset(IndexFetchTableData *data)
{
	((GpucolIndexFetch *) data)->run = 0;
	GetHeapamTableAmRoutine()->index_fetch_reset(data);
}

void
gpucol_index_fetch_end(IndexFetchTableData *data)
{
	GpucolIndexFetch *fetch = (GpucolIndexFetch *) data;

	if (fetch->context != NULL)
		MemoryContextDelete(fetch->context);
	GetHeapamTableAmRoutine()->index_fetch_end(data);
}

/* The open segment that holds a row number, if any. */
static FetchSegment *
find_open(GpucolIndexFetch *fetch, uint64 row_number)
{
	for (int i = 0; i < OPEN_SEGMENTS; i++)
	{
		FetchSegment *open = &fetch->segments[i];

		if (row_number >= open->segment.entry.first_row &&
			row_number - open->segment.entry.first_row < open->segment.entry.nrows)
			return open;
	}
	return NULL;
}

/* Open a segment in place of the one opened longest ago. */
static FetchSegment *
open_segment(GpucolIndexFetch *fetch, const GpucolViewSegment *segment)
{
	FetchSegment *open = &fetch->segments[fetch->next];
	uint32		ndeleted;

	fetch->next = (fetch->next + 1) % OPEN_SEGMENTS;
	if (open->deleted != NULL)
		pfree(open->deleted);
	open->segment = *segment;
	open->deleted = gpucol_view_deleted(fetch->view, segment, &ndeleted);
	return open;
}

/* Have the scan keep a view of its MVCC snapshot. */
static void
keep_view(GpucolIndexFetch *fetch, GpucolView *view, Snapshot snapshot)
{
	fetch->segments = palloc0(OPEN_SEGMENTS * sizeof(FetchSegment));
	fetch->view = view;
	fetch->snapshot = snapshot;
	fetch->curcid = snapshot->curcid;
}

/* Fetch through the view that the scan keeps of its MVCC snapshot. */
static bool
fetch_by_view(GpucolIndexFetch *fetch, uint64 row_number, Snapshot snapshot,
			  TupleTableSlot *slot)
{
	Relation	rel = fetch->heap.xs_base.rel;
	FetchSegment *open;
	uint64		row;

	if (fetch->view == NULL || fetch->snapshot != snapshot ||
		fetch->curcid != snapshot->curcid)
	{
		forget_segments(fetch);
		keep_view(fetch, gpucol_view_peek(rel, snapshot), snapshot);
	}
	open = find_open(fetch, row_number);
	if (open == NULL)
	{
		const GpucolViewSegment *segment = gpucol_view_find(fetch->view, row_number);

		if (segment == NULL)
		{
			gpucol_serial_miss_packed(rel, row_number, snapshot);
			return false;
		}
		open = open_segment(fetch, segment);
	}
	row = row_number - open->segment.entry.first_row;
	if (open->deleted != NULL && (open->deleted[row / 32] >> (row % 32)) & 1)
		return false;
	store_lasting(rel, &open->segment, row_number, slot);
	gpucol_serial_read_packed(rel, row_number, snapshot);
	return true;
}

int
gpucol_fetch_count_probes(Relation rel)
{
	GpucolDirectory dir;
	int			n = GPUCOL_PROBED_FETCHES;

	if (gpucol_directory_open(&dir, rel, AccessShareLock))
	{
		n = Max(n, (int) Min(RelationGetNumberOfBlocks(dir.toast), MOST_PROBES));
		gpucol_directory_close(&dir);
	}
	return n;
}

/*
 * After some probes: take the view that the session has kept, or decide how many probes come
 * before the directory is read.
 */
static void
decide_probes(GpucolIndexFetch *fetch, Snapshot snapshot)
{
	Relation	rel = fetch->heap.xs_base.rel;
	GpucolView *view = gpucol_view_peek_kept(rel, snapshot);

	if (view != NULL)
		keep_view(fetch, view, snapshot);
	fetch->nprobes = view != NULL ? GPUCOL_PROBED_FETCHES : gpucol_fetch_count_probes(rel);
}

/* Is a row to be fetched by a probe? */
static bool
is_probed(GpucolIndexFetch *fetch, Snapshot snapshot)
{
	MemoryContext old;

	if (!IsMVCCSnapshot(snapshot) || fetch->nfetched < GPUCOL_PROBED_FETCHES)
		return true;
	if (fetch->context == NULL)
		fetch->context = AllocSetContextCreate(GetMemoryChunkContext(fetch),
											   "gpucol index fetch",
											   ALLOCSET_DEFAULT_SIZES);
	if (fetch->nprobes == 0)
	{
		old = MemoryContextSwitchTo(fetch->context);
		decide_probes(fetch, snapshot);
		MemoryContextSwitchTo(old);
	}
	return fetch->nfetched < fetch->nprobes;
}

/* Fetch a segment row for an index scan. */
static bool
fetch_segment_row(GpucolIndexFetch *fetch, uint64 row_number, Snapshot snapshot,
				  TupleTableSlot *slot)
{
	MemoryContext old;
	bool		found;

	if (is_probed(fetch, snapshot))
	{
		fetch->nfetched++;
		return gpucol_fetch_row(fetch->heap.xs_base.rel, row_number, snapshot, slot);
	}
	old = MemoryContextSwitchTo(fetch->context);
	found = fetch_by_view(fetch, row_number, snapshot, slot);
	MemoryContextSwitchTo(old);
	/* a slot that goes on to the next row keeps the pages that this lies on, too */
	if (!found)
		ExecClearTuple(slot);
	return found;
}

/* Is a row dead to everybody?  None is that this statement has claimed. */
static bool
is_dead(Relation rel, uint64 row_number)
{
	bool		held = gpucol_burials_hold(true);
	bool		dead = gpucol_index_dead_row(rel, row_number);

	(void) gpucol_burials_hold(held);
	return dead;
}

bool
gpucol_index_fetch_tuple(IndexFetchTableData *data, ItemPointer tid,
						 Snapshot snapshot, TupleTableSlot *slot,
						 bool *call_again, bool *all_dead)
{
	GpucolIndexFetch *fetch = (GpucolIndexFetch *) data;
	GpucolViewSegment segment;
	bool		found;

	gpucol_serial_note_run(fetch->run++);
	if (!gpucol_tid_is_virtual(tid))
		return gpucol_delta_fetch(data, tid, snapshot, slot, call_again, all_dead);
	*call_again = false;
	if (all_dead != NULL)
		*all_dead = false;
	if (gpucol_scan_is_delta_only())
		return false;
	found = fetch_segment_row(fetch, gpucol_tid_row(tid), snapshot, slot);
	if (found)
		gpucol_burials_write_before_wait(snapshot);
	/* what this transaction has buried nobody else sees so */
	if (!found && all_dead != NULL && !is_buried(data->rel, gpucol_tid_row(tid), snapshot) &&
		gpucol_burials_look(data->rel, gpucol_tid_row(tid), &segment) == GPUCOL_BURIALS_UNKNOWN)
		*all_dead = is_dead(data->rel, gpucol_tid_row(tid));
	return found;
}
