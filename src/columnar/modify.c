/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  DELETE, UPDATE and row locks of segment rows.
 *
 * Delta rows are heap's affair.  A segment row is deleted by inserting its
 * tombstone into the directory; an update inserts the new version into the delta
 * besides, whose TID the tombstone carries.
 *
 * Who changes or locks a segment row first takes the heavyweight lock of its
 * (virtual) TID.  A deleter holds it exclusively until its tombstone is in, and
 * whoever comes later finds the tombstone with a dirty snapshot and waits for its
 * transaction, as for heap's xmax.  A row lock is that heavyweight lock itself,
 * held to the end of the transaction, in the same four strengths by which heap
 * maps row locks to heavyweight ones; so it conflicts, waits, is skipped and is
 * looked for by the deadlock detector as it should.  An update counts as a change
 * of the key: it waits for FOR KEY SHARE lockers too, because their locks would
 * not pass on to the new version in the delta.
 *
 * Heavyweight locks live in shared memory: a transaction that locks very many
 * segment rows fails with "out of shared memory" rather than locking less.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/fetch.h"
#include "columnar/modify.h"
#include "columnar/view.h"
#include "columnar/writer.h"
#include "compat.h"

/* Heavyweight lock of each row lock mode (as in heapam.c). */
static const LOCKMODE row_lock_modes[] = {
	[LockTupleKeyShare] = AccessShareLock,
	[LockTupleShare] = RowShareLock,
	[LockTupleNoKeyExclusive] = ExclusiveLock,
	[LockTupleExclusive] = AccessExclusiveLock
};

/* What a dirty look finds of a row's deletion. */
typedef struct Deletion
{
	bool		found;
	bool		in_progress;	/* by another transaction */
	bool		own;
	TransactionId xid;			/* the deleter; invalid if folded */
	CommandId	cid;			/* own: the deleting command */
	ItemPointerData new_tid;
} Deletion;

/* Look for a row's deletion. */
static void
find_deletion(GpucolDirectory *dir, uint64 row_number, Deletion *deletion)
{
	SnapshotData dirty;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	memset(deletion, 0, sizeof(*deletion));
	gpucol_tid_set(&deletion->new_tid, row_number);
	InitDirtySnapshot(dirty);
	gpucol_directory_scan_begin(&scan, dir, &dirty, GPUCOL_ID_TOMBSTONE, row_number,
								row_number, ForwardScanDirection);
	if (gpucol_directory_scan_next(&scan, &row))
	{
		GpucolTombstone tombstone;

		deletion->found = true;
		deletion->xid = row.xmin;
		deletion->in_progress = TransactionIdIsValid(dirty.xmin);
		deletion->own = TransactionIdIsCurrentTransactionId(row.xmin);
		if (deletion->own)
			deletion->cid = HeapTupleHeaderGetCmin(row.tuple->t_data);
		if (row.size == sizeof(tombstone))
		{
			memcpy(&tombstone, row.data, sizeof(tombstone));
			deletion->new_tid = tombstone.new_tid;
		}
	}
	gpucol_directory_scan_end(&scan);
	if (!deletion->found)
	{
		InitDirtySnapshot(dirty);
		deletion->found = gpucol_view_row_deleted(dir, &dirty, row_number);
	}
}

/* Tell the caller who deleted the row. */
static TM_Result
report_deletion(Deletion *deletion, ItemPointer tid, CommandId cid,
				TM_FailureData *tmfd)
{
	tmfd->ctid = deletion->new_tid;
	tmfd->xmax = deletion->xid;
	tmfd->cmax = InvalidCommandId;
	if (deletion->own)
	{
		tmfd->cmax = deletion->cid;
		return deletion->cid >= cid ? TM_SelfModified : TM_Invisible;
	}
	if (deletion->in_progress)
		return TM_BeingModified;
	return ItemPointerEquals(&deletion->new_tid, tid) ?
		TM_Deleted : TM_Updated;
}

/* Wait for the transaction that is deleting the row; false if not allowed to. */
static bool
wait_for_deleter(Relation rel, ItemPointer tid, const Deletion *deletion,
				 LockWaitPolicy policy, XLTW_Oper oper)
{
	switch (policy)
	{
		case LockWaitBlock:
			XactLockTableWait(deletion->xid, rel, tid, oper);
			return true;
		case LockWaitSkip:
			return gpucol_compat_conditional_xact_wait(deletion->xid);
		case LockWaitError:
			if (!gpucol_compat_conditional_xact_wait(deletion->xid))
				ereport(ERROR,
						(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						 errmsg("could not obtain lock on row in relation \"%s\"",
								RelationGetRelationName(rel))));
			return true;
	}
	return false;
}

/* Take the heavyweight lock of a row; false if it would have to wait for it. */
static bool
lock_row(Relation rel, ItemPointer tid, LOCKMODE mode, LockWaitPolicy policy)
{
	switch (policy)
	{
		case LockWaitBlock:
			LockTuple(rel, tid, mode);
			return true;
		case LockWaitSkip:
			return gpucol_compat_conditional_lock_tuple(rel, tid, mode);
		case LockWaitError:
			if (!gpucol_compat_conditional_lock_tuple(rel, tid, mode))
				ereport(ERROR,
						(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						 errmsg("could not obtain lock on row in relation \"%s\"",
								RelationGetRelationName(rel))));
			return true;
	}
	return false;
}

/*
 * Lock a row and settle whether it is still there.  With TM_Ok it is, and the
 * heavyweight lock is held; otherwise tmfd is filled and the lock is not held.
 */
static TM_Result
settle_row(GpucolDirectory *dir, ItemPointer tid, CommandId cid, LOCKMODE mode,
		   LockWaitPolicy policy, XLTW_Oper oper, TM_FailureData *tmfd)
{
	Relation	rel = dir->table;
	Deletion	deletion;

	if (!lock_row(rel, tid, mode, policy))
	{
		tmfd->ctid = *tid;
		tmfd->xmax = InvalidTransactionId;
		tmfd->cmax = InvalidCommandId;
		return TM_WouldBlock;
	}
	for (;;)
	{
		TM_Result	result;

		find_deletion(dir, gpucol_tid_row(tid), &deletion);
		if (!deletion.found)
			return TM_Ok;
		result = report_deletion(&deletion, tid, cid, tmfd);
		if (result != TM_BeingModified)
		{
			UnlockTuple(rel, tid, mode);
			return result;
		}
		if (!wait_for_deleter(rel, tid, &deletion, policy, oper))
		{
			UnlockTuple(rel, tid, mode);
			return TM_WouldBlock;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* settle_row for a change; checks the crosscheck snapshot too. */
static TM_Result
settle_change(GpucolDirectory *dir, ItemPointer tid, CommandId cid,
			  Snapshot crosscheck, bool wait, XLTW_Oper oper, TM_FailureData *tmfd)
{
	TM_Result	result = settle_row(dir, tid, cid, AccessExclusiveLock,
									wait ? LockWaitBlock : LockWaitSkip, oper, tmfd);

	if (result == TM_WouldBlock)
		return TM_BeingModified;
	if (result == TM_Ok && crosscheck != InvalidSnapshot &&
		!gpucol_fetch_visible(dir->table, gpucol_tid_row(tid), crosscheck))
	{
		UnlockTuple(dir->table, tid, AccessExclusiveLock);
		tmfd->ctid = *tid;
		tmfd->xmax = InvalidTransactionId;
		tmfd->cmax = InvalidCommandId;
		return TM_Updated;
	}
	if (result == TM_Ok)
		CheckForSerializableConflictIn(dir->table, tid, ItemPointerGetBlockNumber(tid));
	return result;
}

/* Insert a row's tombstone and let go of its lock. */
static void
bury_row(GpucolDirectory *dir, ItemPointer tid, const ItemPointerData *new_tid,
		 CommandId cid)
{
	GpucolTombstone tombstone;
	Oid			id;
	int32		seq;

	memset(&tombstone, 0, sizeof(tombstone));
	tombstone.new_tid = *new_tid;
	gpucol_directory_key(GPUCOL_ID_TOMBSTONE, gpucol_tid_row(tid), &id, &seq);
	gpucol_directory_insert(dir, id, seq, &tombstone, sizeof(tombstone), cid, 0, true);
	UnlockTuple(dir->table, tid, AccessExclusiveLock);
}

/* Open the directory of a table that has segment rows. */
static void
open_directory(GpucolDirectory *dir, Relation rel)
{
	gpucol_writer_flush(rel);
	if (!gpucol_directory_open(dir, rel, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(rel))));
}

TM_Result
gpucol_modify_delete(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot,
					 Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
					 bool changing_partition)
{
	GpucolDirectory dir;
	ItemPointerData new_tid = *tid;
	TM_Result	result;

	if (!gpucol_tid_is_virtual(tid))
		return GetHeapamTableAmRoutine()->tuple_delete(rel, tid, cid, snapshot,
													   crosscheck, wait, tmfd,
													   changing_partition);
	open_directory(&dir, rel);
	result = settle_change(&dir, tid, cid, crosscheck, wait, XLTW_Delete, tmfd);
	if (result == TM_Ok)
	{
		if (changing_partition)
			ItemPointerSetMovedPartitions(&new_tid);
		bury_row(&dir, tid, &new_tid, cid);
		pgstat_count_heap_delete(rel);
	}
	gpucol_directory_close(&dir);
	return result;
}

TM_Result
gpucol_modify_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
					 CommandId cid, Snapshot snapshot, Snapshot crosscheck, bool wait,
					 TM_FailureData *tmfd, LockTupleMode *lockmode,
					 GpucolCompatUpdateIndexes *update_indexes)
{
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();
	GpucolDirectory dir;
	TM_Result	result;

	if (!gpucol_tid_is_virtual(otid))
		return heap->tuple_update(rel, otid, slot, cid, snapshot, crosscheck, wait,
								  tmfd, lockmode, update_indexes);
	*lockmode = LockTupleExclusive;
	open_directory(&dir, rel);
	result = settle_change(&dir, otid, cid, crosscheck, wait, XLTW_Update, tmfd);
	*update_indexes = GPUCOL_COMPAT_UPDATE_NO_INDEXES;
	if (result == TM_Ok)
	{
		ItemPointerData old_tid = *otid;	/* otid may be the slot's */

		heap->tuple_insert(rel, slot, cid, 0, NULL);
		bury_row(&dir, &old_tid, &slot->tts_tid, cid);
		*update_indexes = GPUCOL_COMPAT_UPDATE_ALL_INDEXES;
		pgstat_count_heap_delete(rel);
	}
	gpucol_directory_close(&dir);
	return result;
}

/*
 * A row lock came upon an updated segment row: lock the latest version, which is
 * in the delta.  tmfd describes the update.
 */
static TM_Result
lock_new_version(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
				 CommandId cid, LockTupleMode mode, LockWaitPolicy policy, uint8 flags,
				 TM_FailureData *tmfd)
{
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();
	TransactionId updater = tmfd->xmax;
	TupleTableSlot *pin;
	TM_Result	result = TM_Deleted;

	if (ItemPointerIndicatesMovedPartitions(&tmfd->ctid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));
	*tid = tmfd->ctid;

	/*
	 * The place may have been given to another row meanwhile, if the new version
	 * is gone.  The pin keeps what is found there.
	 */
	pin = table_slot_create(rel, NULL);
	if (heap->tuple_fetch_row_version(rel, tid, SnapshotAny, pin))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(pin, false, NULL);

		if (TransactionIdEquals(HeapTupleHeaderGetXmin(tuple->t_data), updater))
			result = heap->tuple_lock(rel, tid, snapshot, slot, cid, mode, policy,
									  flags, tmfd);
	}
	ExecDropSingleTupleTableSlot(pin);
	tmfd->traversed = true;
	return result;
}

TM_Result
gpucol_modify_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
				   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
				   LockWaitPolicy wait_policy, uint8 flags, TM_FailureData *tmfd)
{
	GpucolDirectory dir;
	TM_Result	result;

	if (!gpucol_tid_is_virtual(tid))
		return GetHeapamTableAmRoutine()->tuple_lock(rel, tid, snapshot, slot, cid, mode,
													 wait_policy, flags, tmfd);
	tmfd->traversed = false;
	open_directory(&dir, rel);
	result = settle_row(&dir, tid, cid, row_lock_modes[mode], wait_policy, XLTW_Lock,
						tmfd);
	gpucol_directory_close(&dir);
	if (result == TM_Updated && (flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) != 0)
		return lock_new_version(rel, tid, snapshot, slot, cid, mode, wait_policy, flags,
								tmfd);
	if (!gpucol_fetch_row(rel, gpucol_tid_row(tid), SnapshotAny, slot) &&
		result == TM_Ok)
		return TM_Deleted;
	return result;
}
