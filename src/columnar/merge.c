/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  gpucol.merge: settled delta rows become segments.
 *
 * A merge is an ordinary transaction under ShareUpdateExclusiveLock: it excludes
 * VACUUM, DDL and other merges, but no reader and no writer.  For each delta row
 * that its snapshot (taken after the lock) sees, it deletes the row and buffers
 * its values for a segment; index entries are made for the new place.  One
 * transaction does all of it, so that every snapshot sees a row exactly once: in
 * the delta before the merge commits, in the segment after.
 *
 * Concurrent writers.  A row that another transaction has locked, updated or
 * deleted is left alone: heap_delete, told not to wait, says so before anything
 * has happened to the row.  A writer that comes to a row after the merge has
 * deleted it waits for the merge and then finds the mark that a row leaves when
 * it moves to another partition, so that no update is lost; a record in the directory
 * (forward.c) leads on to the row's new place.
 *
 * Who waits for a merge waits for its transaction.  So a merge that somebody waits for ends, when
 * it has moved some rows at least, with those: the next one goes on.
 *
 * It waits for the table's lock itself as long as nobody waits for it (patience.c).
 *
 * Locks of serializable readers go with the rows (serial.c).
 *
 * What the indexes call runs as the table's owner, as in VACUUM.
 *
 * How far a merge has come is in gpucol.activity: the rows that it has moved, and the
 * share of the delta's blocks that it has read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/forward.h"
#include "columnar/merge.h"
#include "columnar/new_entries.h"
#include "columnar/owner.h"
#include "columnar/progress.h"
#include "columnar/rights.h"
#include "columnar/scan.h"
#include "columnar/serial.h"
#include "columnar/writer.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(gpucol_merge);

/* Rows that a merge moves though somebody waits for it, and between two looks who does. */
#define LEAST_ROWS		4096
#define LOOK_ROWS		256

/*
 * The writer of this merge.  Asked for anew for each row: whatever reads the table
 * in between would have written and discarded it.
 */
static GpucolWriter *
writer_for(Relation table, CommandId cid)
{
	GpucolWriter *writer = gpucol_writer_get(table, cid, HEAP_INSERT_NO_LOGICAL);

	if (writer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot merge table \"%s\"", RelationGetRelationName(table)),
				 errdetail("Its rows must stay in the delta, because of an exclusion constraint or a unique index on an expression that is not strict, or because it has no columns.")));
	return writer;
}

/*
 * Delete a delta row that is packed.  Logical decoding must not take that for a DELETE: of a
 * table without replica identity heap writes one that says of no row, which no subscriber gets.
 */
static TM_Result
delete_moved(Relation table, ItemPointer tid, CommandId cid)
{
	char		identity = table->rd_rel->relreplident;
	TM_FailureData failure;
	TM_Result	result = TM_Ok;

	if (!RelationIsLogicallyLogged(table))
		return heap_delete(table, tid, cid, InvalidSnapshot, false, &failure, true);
	PG_TRY();
	{
		table->rd_rel->relreplident = REPLICA_IDENTITY_NOTHING;
		result = heap_delete(table, tid, cid, InvalidSnapshot, false, &failure, true);
	}
	PG_FINALLY();
	{
		table->rd_rel->relreplident = identity;
	}
	PG_END_TRY();
	return result;
}

/*
 * Move the row in `slot` to the writer; false if it is not settled.  Values that
 * lie in the TOAST relation are fetched first, because deleting the row deletes
 * them.
 */
static bool
move_row(Relation table, TupleTableSlot *slot, TupleTableSlot *flat,
		 GpucolNewEntries *indexes, GpucolForwards *forwards, CommandId cid)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	ItemPointerData tid = slot->tts_tid;
	ItemPointerData old = tid;

	if (HeapTupleHasExternal(tuple))
	{
		ExecForceStoreHeapTuple(toast_flatten_tuple(tuple, slot->tts_tupleDescriptor),
								flat, true);
		slot = flat;
	}
	if (delete_moved(table, &tid, cid) != TM_Ok)
		return false;
	gpucol_writer_add(writer_for(table, cid), table, &slot, 1);
	gpucol_serial_move(table, &old, &slot->tts_tid);
	gpucol_forward_add(forwards, table, &old, gpucol_tid_row(&slot->tts_tid), cid);
	gpucol_new_entries_add(indexes, table, slot);
	return true;
}

/* Does the pace leave the row in a slot for another time? */
static bool
must_stay(const GpucolMergePace *pace, TupleTableSlot *slot)
{
	return TransactionIdIsValid(pace->before) &&
		!gpucol_merge_is_older(ExecFetchSlotHeapTuple(slot, false, NULL)->t_data, pace->before);
}

/* Move every settled delta row that the snapshot sees, as far as the pace allows. */
static int64
move_rows(Relation table, Snapshot snapshot, const GpucolMergePace *pace)
{
	CommandId	cid = GetCurrentCommandId(true);
	TupleTableSlot *slot;
	TupleTableSlot *flat;
	TableScanDesc scan;
	GpucolNewEntries indexes;
	GpucolForwards forwards = {.any = false};
	GpucolProgress *progress = gpucol_progress_begin(table, GPUCOL_ACTIVITY_MERGE);
	uint64		read = 0;
	int64		moved = 0;

	slot = table_slot_create(table, NULL);
	flat = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
	gpucol_new_entries_begin(&indexes, table);
	scan = gpucol_scan_begin_delta(table, snapshot);
	while (moved < pace->most && pace->step(table, moved) &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (read++ % GPUCOL_PROGRESS_ROWS == 0)
			gpucol_progress_note(progress, (uint64) moved,
								 gpucol_scan_delta_share(scan, ItemPointerGetBlockNumber(&slot->tts_tid)));
		if (!must_stay(pace, slot) && move_row(table, slot, flat, &indexes, &forwards, cid))
			moved++;
	}
	table_endscan(scan);
	gpucol_writer_flush(table);
	gpucol_forward_end(&forwards, table, cid);
	gpucol_new_entries_end(&indexes);
	ExecDropSingleTupleTableSlot(flat);
	ExecDropSingleTupleTableSlot(slot);
	gpucol_progress_end(progress);
	return moved;
}

/* Forget where rows went that no snapshot can ask for any more. */
static void
forget_forwards(Relation table)
{
	GpucolDirectory dir;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		return;
	gpucol_forward_clean(&dir, GetOldestNonRemovableTransactionId(table));
	gpucol_directory_close(&dir);
}

int64
gpucol_merge_rows(Relation table, const GpucolMergePace *pace)
{
	GpucolOwner owner;
	Snapshot	snapshot;
	int64		moved;

	CheckTableNotInUse(table, "merge");
	gpucol_owner_begin(table, &owner);
	snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ?
								GetTransactionSnapshot() : GetLatestSnapshot());
	forget_forwards(table);
	moved = move_rows(table, snapshot, pace);
	UnregisterSnapshot(snapshot);
	gpucol_owner_end(&owner);
	return moved;
}

bool
gpucol_merge_has_waiters(void)
{
	LOCKTAG		tag;
	TransactionId xid = GetTopTransactionIdIfAny();

	if (!TransactionIdIsValid(xid))
		return false;
	SET_LOCKTAG_TRANSACTION(tag, xid);
	return LockHasWaiters(&tag, ExclusiveLock, false);
}

/* Before each row of a merge that a user has asked for: go on?  Not for long if somebody waits. */
static bool
step(Relation table pg_attribute_unused(), int64 moved)
{
	return moved < LEAST_ROWS || moved % LOOK_ROWS != 0 || !gpucol_merge_has_waiters();
}

/* Merge one table; 0 of one that is gone, which need not be there, or that has to be left to others. */
static int64
merge_table(Oid relid, bool must_be)
{
	GpucolMergePace pace = {.most = PG_INT64_MAX, .step = step};
	const char *name = get_rel_name(relid);
	Relation	table;
	int64		moved = 0;

	switch (gpucol_rights_open_patiently(relid, GPUCOL_RIGHT_OWNER, ShareUpdateExclusiveLock, &table))
	{
		case GPUCOL_OPENED_TABLE:
			moved = gpucol_merge_rows(table, &pace);
			table_close(table, NoLock);
			CommandCounterIncrement();
			break;
		case GPUCOL_OPENED_NONE:
			if (must_be)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_TABLE),
						 errmsg("relation \"%s\" does not exist", name)));
			break;
		case GPUCOL_OPENED_WAITED_FOR:
			ereport(WARNING,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("skipping merge of \"%s\" --- lock not available", name),
					 errdetail("Whoever has the lock may wait for this transaction.")));
			break;
	}
	return moved;
}

/* Merge every partition of a partitioned table that is a gpucol table. */
static int64
merge_partitions(Oid relid)
{
	ListCell   *lc;
	int64		moved = 0;

	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (gpucol_rights_is_table(lfirst_oid(lc)))
			moved += merge_table(lfirst_oid(lc), false);
	}
	return moved;
}

/* gpucol.merge(regclass) returns bigint: rows moved. */
Datum
gpucol_merge(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);

	PreventCommandIfReadOnly("gpucol.merge()");
	PreventCommandDuringRecovery("gpucol.merge()");
	gpucol_rights_check(relid, GPUCOL_RIGHT_OWNER);
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		PG_RETURN_INT64(merge_partitions(relid));
	PG_RETURN_INT64(merge_table(relid, true));
}
