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
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "service/activity.h"
#include "columnar/forward.h"
#include "columnar/merge.h"
#include "columnar/owner.h"
#include "columnar/rights.h"
#include "columnar/scan.h"
#include "columnar/serial.h"
#include "columnar/writer.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(gpucol_merge);

/* Rows that are read between two looks at how far the merge has come. */
#define LIST_ROWS		1024

/* A merge in gpucol.activity. */
typedef struct MergeProgress
{
	GpucolActivity activity;
	GpucolActivityState state;
	MemoryContextCallback callback;
} MergeProgress;

/* The table's indexes, and what forming their entries needs. */
typedef struct MergeIndexes
{
	int			n;
	Relation   *indexes;
	IndexInfo **infos;
	ExprState **predicates;
	EState	   *estate;
	ExprContext *econtext;
} MergeIndexes;

/* Open every index that new rows must enter. */
static void
open_indexes(MergeIndexes *all, Relation table)
{
	List	   *oids = RelationGetIndexList(table);
	ListCell   *lc;

	all->n = 0;
	all->indexes = palloc(Max(list_length(oids), 1) * sizeof(Relation));
	all->infos = palloc(Max(list_length(oids), 1) * sizeof(IndexInfo *));
	all->predicates = palloc(Max(list_length(oids), 1) * sizeof(ExprState *));
	all->estate = CreateExecutorState();
	all->econtext = GetPerTupleExprContext(all->estate);
	foreach(lc, oids)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);
		IndexInfo  *info;

		if (!index->rd_index->indisready)
		{
			index_close(index, RowExclusiveLock);
			continue;
		}
		info = BuildIndexInfo(index);
		all->indexes[all->n] = index;
		all->infos[all->n] = info;
		all->predicates[all->n] = info->ii_Predicate == NIL ? NULL :
			ExecPrepareQual(info->ii_Predicate, all->estate);
		all->n++;
	}
	list_free(oids);
}

static void
close_indexes(MergeIndexes *all)
{
	for (int i = 0; i < all->n; i++)
		index_close(all->indexes[i], NoLock);
	FreeExecutorState(all->estate);
}

/*
 * Enter a row into every index under the TID that its slot has.  Uniqueness is
 * not checked: the row was in the index under its old TID.
 */
static void
insert_index_entries(MergeIndexes *all, Relation table, TupleTableSlot *slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	all->econtext->ecxt_scantuple = slot;
	for (int i = 0; i < all->n; i++)
	{
		if (all->predicates[i] != NULL &&
			!ExecQual(all->predicates[i], all->econtext))
			continue;
		FormIndexDatum(all->infos[i], slot, all->estate, values, isnull);
		index_insert(all->indexes[i], values, isnull, &slot->tts_tid, table,
					 UNIQUE_CHECK_NO, false, all->infos[i]);
	}
	ResetExprContext(all->econtext);
}

/*
 * The writer of this merge.  Asked for anew for each row: whatever reads the table
 * in between would have written and discarded it.
 */
static GpucolWriter *
writer_for(Relation table, CommandId cid)
{
	GpucolWriter *writer = gpucol_writer_get(table, cid, 0);

	if (writer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot merge table \"%s\"", RelationGetRelationName(table)),
				 errdetail("Its rows must stay in the delta, because of a logical replication slot, an exclusion constraint, or a unique index on an expression that is not strict, or because it has no columns.")));
	return writer;
}

/*
 * Move the row in `slot` to the writer; false if it is not settled.  Values that
 * lie in the TOAST relation are fetched first, because deleting the row deletes
 * them.
 */
static bool
move_row(Relation table, TupleTableSlot *slot, TupleTableSlot *flat,
		 MergeIndexes *indexes, GpucolForwards *forwards, CommandId cid)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	ItemPointerData tid = slot->tts_tid;
	ItemPointerData old = tid;
	TM_FailureData failure;
	TM_Result	result;

	if (HeapTupleHasExternal(tuple))
	{
		ExecForceStoreHeapTuple(toast_flatten_tuple(tuple, slot->tts_tupleDescriptor),
								flat, true);
		slot = flat;
	}
	result = heap_delete(table, &tid, cid, InvalidSnapshot, false, &failure, true);
	if (result != TM_Ok)
		return false;
	gpucol_writer_add(writer_for(table, cid), table, &slot, 1);
	gpucol_serial_move(table, &old, &slot->tts_tid);
	gpucol_forward_add(forwards, table, &old, gpucol_tid_row(&slot->tts_tid), cid);
	insert_index_entries(indexes, table, slot);
	return true;
}

/* Memory context callback: whatever ended the merge. */
static void
end_progress(void *argument)
{
	MergeProgress *progress = argument;

	gpucol_activity_end(progress->activity);
	progress->activity = 0;
}

/* List a merge that begins. */
static MergeProgress *
begin_progress(Relation table)
{
	MergeProgress *progress = palloc0(sizeof(MergeProgress));

	progress->callback.func = end_progress;
	progress->callback.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &progress->callback);
	progress->activity = gpucol_activity_begin(GPUCOL_ACTIVITY_MERGE);
	progress->state.relation = RelationGetRelid(table);
	gpucol_activity_update(progress->activity, &progress->state);
	return progress;
}

/* List how far it has come, now and then. */
static void
note_progress(MergeProgress *progress, TableScanDesc scan, const TupleTableSlot *slot, uint64 read,
			  int64 moved)
{
	if (read % LIST_ROWS != 0)
		return;
	progress->state.rows = (uint64) moved;
	progress->state.progress = gpucol_scan_delta_share(scan, ItemPointerGetBlockNumber(&slot->tts_tid));
	gpucol_activity_update(progress->activity, &progress->state);
}

/* Does the pace leave the row in a slot for another time? */
static bool
must_stay(const GpucolMergePace *pace, TupleTableSlot *slot)
{
	return pace != NULL &&
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
	MergeIndexes indexes;
	GpucolForwards forwards = {.any = false};
	MergeProgress *progress = begin_progress(table);
	uint64		read = 0;
	int64		moved = 0;

	slot = table_slot_create(table, NULL);
	flat = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
	open_indexes(&indexes, table);
	scan = gpucol_scan_begin_delta(table, snapshot);
	while ((pace == NULL || (moved < pace->most && pace->step(table))) &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		note_progress(progress, scan, slot, read++, moved);
		if (!must_stay(pace, slot) && move_row(table, slot, flat, &indexes, &forwards, cid))
			moved++;
	}
	table_endscan(scan);
	gpucol_writer_flush(table);
	gpucol_forward_end(&forwards, table, cid);
	close_indexes(&indexes);
	ExecDropSingleTupleTableSlot(flat);
	ExecDropSingleTupleTableSlot(slot);
	end_progress(progress);
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

/* Merge one table; 0 of one that is gone. */
static int64
merge_table(Relation table)
{
	int64		moved;

	if (table == NULL)
		return 0;
	moved = gpucol_merge_rows(table, NULL);
	table_close(table, NoLock);
	CommandCounterIncrement();
	return moved;
}

/* Merge every partition of a partitioned table that is a gpucol table. */
static int64
merge_partitions(Oid relid)
{
	ListCell   *lc;
	int64		moved = 0;

	gpucol_rights_check(relid, GPUCOL_RIGHT_OWNER);
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (gpucol_rights_is_table(lfirst_oid(lc)))
			moved += merge_table(gpucol_rights_try_open(lfirst_oid(lc), GPUCOL_RIGHT_OWNER,
														ShareUpdateExclusiveLock));
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
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		PG_RETURN_INT64(merge_partitions(relid));
	PG_RETURN_INT64(merge_table(gpucol_rights_open(relid, GPUCOL_RIGHT_OWNER,
												   ShareUpdateExclusiveLock)));
}
