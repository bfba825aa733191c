/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  DELETE, UPDATE and row locks of segment rows.
 *
 * Delta rows are heap's affair.  A segment row is deleted by inserting its
 * tombstone into the directory; an update inserts the new version into the delta
 * besides, whose TID the tombstone carries.
 *
 * Who changes a segment row holds the heavyweight lock of its (virtual) TID until
 * the tombstone is in, and whoever comes later finds the tombstone with a dirty
 * snapshot and waits for its transaction, as for heap's xmax.  Who locks a row
 * takes its row lock (rowlock.c), and so does who changes a row that has been
 * locked.
 *
 * The strengths are heap's: an update that leaves the columns of all unique keys
 * as they are lets FOR KEY SHARE pass, and its tombstone says so.
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
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "columnar/decoding.h"
#include "columnar/directory.h"
#include "columnar/fetch.h"
#include "columnar/modify.h"
#include "columnar/rowlock.h"
#include "columnar/slot.h"
#include "columnar/view.h"
#include "columnar/writer.h"
#include "compat.h"

/* What a dirty look finds of a row's deletion. */
typedef struct Deletion
{
	bool		found;
	bool		in_progress;	/* by another transaction */
	bool		own;
	TransactionId xid;			/* the deleter; invalid if folded */
	CommandId	cid;			/* own: the deleting command */
	bool		key_kept;		/* it is an update that lets FOR KEY SHARE pass */
	ItemPointerData new_tid;
} Deletion;

/* Look for a row's deletion in a directory that lacks some kinds of rows. */
static void
find_deletion(GpucolDirectory *dir, uint64 row_number, uint64 lacks, Deletion *deletion)
{
	SnapshotData dirty;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	memset(deletion, 0, sizeof(*deletion));
	gpucol_tid_set(&deletion->new_tid, row_number);
	if (lacks & GPUCOL_LACKS_TOMBSTONES)
		return;
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
			deletion->key_kept = (tombstone.flags & GPUCOL_TOMBSTONE_KEY_KEPT) != 0;
		}
	}
	gpucol_directory_scan_end(&scan);
	if (!deletion->found && !gpucol_fetch_is_last_seen(dir->table, row_number))
	{
		InitDirtySnapshot(dirty);
		deletion->found = gpucol_view_row_folded(dir, &dirty, row_number);
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
				gpucol_rowlock_not_available(rel);
			return true;
	}
	return false;
}

/* Describe a row that cannot be had now. */
static TM_Result
report_blocked(ItemPointer tid, TM_Result result, TM_FailureData *tmfd)
{
	tmfd->ctid = *tid;
	tmfd->xmax = InvalidTransactionId;
	tmfd->cmax = InvalidCommandId;
	return result;
}

/*
 * Settle whether a row may be changed.  With TM_Ok it may, and the heavyweight
 * lock of its TID is held exclusively; otherwise tmfd is filled.  *locked says
 * whether the row has a lock record.
 */
static TM_Result
settle_row(GpucolDirectory *dir, ItemPointer tid, CommandId cid, LockTupleMode mode,
		   LockWaitPolicy policy, XLTW_Oper oper, TM_FailureData *tmfd, bool *locked)
{
	Relation	rel = dir->table;
	Deletion	deletion;

	for (;;)
	{
		TM_Result	result;
		uint64		lacks;

		CHECK_FOR_INTERRUPTS();
		if (policy == LockWaitBlock)
			LockTuple(rel, tid, AccessExclusiveLock);
		else if (!gpucol_compat_conditional_lock_tuple(rel, tid, AccessExclusiveLock))
			return report_blocked(tid, TM_BeingModified, tmfd);
		lacks = gpucol_directory_lacks(dir);
		find_deletion(dir, gpucol_tid_row(tid), lacks, &deletion);
		if (!deletion.found)
		{
			*locked = false;
			if ((lacks & GPUCOL_LACKS_LOCKS) != 0 ||
				gpucol_rowlock_take(dir, tid, mode, policy, false, locked))
				return TM_Ok;
			UnlockTuple(rel, tid, AccessExclusiveLock);
			return report_blocked(tid, TM_BeingModified, tmfd);
		}
		UnlockTuple(rel, tid, AccessExclusiveLock);
		result = report_deletion(&deletion, tid, cid, tmfd);
		if (result != TM_BeingModified ||
			!wait_for_deleter(rel, tid, &deletion, policy, oper))
			return result;
	}
}

/* settle_row for a change; checks the crosscheck snapshot too. */
static TM_Result
settle_change(GpucolDirectory *dir, ItemPointer tid, CommandId cid, LockTupleMode mode,
			  Snapshot crosscheck, bool wait, XLTW_Oper oper, TM_FailureData *tmfd,
			  bool *locked)
{
	TM_Result	result = settle_row(dir, tid, cid, mode,
									wait ? LockWaitBlock : LockWaitSkip, oper, tmfd,
									locked);

	if (result == TM_Ok && crosscheck != InvalidSnapshot &&
		!gpucol_fetch_visible(dir->table, gpucol_tid_row(tid), crosscheck))
	{
		UnlockTuple(dir->table, tid, AccessExclusiveLock);
		return report_blocked(tid, TM_Updated, tmfd);
	}
	if (result == TM_Ok)
		CheckForSerializableConflictIn(dir->table, tid, ItemPointerGetBlockNumber(tid));
	return result;
}

/*
 * Lock a row and settle whether it is still there.  With TM_Ok it is, and locked;
 * otherwise tmfd is filled, and *key_kept says whether an update kept the key.
 */
static TM_Result
settle_lock(GpucolDirectory *dir, ItemPointer tid, CommandId cid, LockTupleMode mode,
			LockWaitPolicy policy, TM_FailureData *tmfd, bool *key_kept)
{
	bool		locked = false;
	bool		has_record;

	for (;;)
	{
		Deletion	deletion;
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		find_deletion(dir, gpucol_tid_row(tid), gpucol_directory_lacks(dir), &deletion);
		if (deletion.found)
		{
			result = report_deletion(&deletion, tid, cid, tmfd);
			*key_kept = deletion.key_kept;
			if (result != TM_BeingModified)
				return result;
			if (mode != LockTupleKeyShare || !deletion.key_kept ||
				(locked && !gpucol_rowlock_new_version(dir->table, &deletion.new_tid,
													   deletion.xid)))
			{
				if (!wait_for_deleter(dir->table, tid, &deletion, policy, XLTW_Lock))
					return TM_WouldBlock;
				continue;
			}
		}
		if (locked)
			return TM_Ok;
		if (!gpucol_rowlock_take(dir, tid, mode, policy, true, &has_record))
			return report_blocked(tid, TM_WouldBlock, tmfd);
		locked = true;			/* and look again */
	}
}

/* Insert a row's tombstone and let go of its lock. */
static void
bury_row(GpucolDirectory *dir, ItemPointer tid, const ItemPointerData *new_tid,
		 uint16 flags, CommandId cid)
{
	GpucolTombstone tombstone;
	Oid			id;
	int32		seq;

	memset(&tombstone, 0, sizeof(tombstone));
	tombstone.new_tid = *new_tid;
	tombstone.flags = flags;
	gpucol_directory_admit(dir, GPUCOL_LACKS_TOMBSTONES);
	gpucol_directory_key(GPUCOL_ID_TOMBSTONE, gpucol_tid_row(tid), &id, &seq);
	gpucol_directory_insert(dir, id, seq, &tombstone, sizeof(tombstone), cid, 0, true);
	gpucol_fetch_note_buried(dir->table, gpucol_tid_row(tid), cid);
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
	bool		locked;
	TM_Result	result;

	if (!gpucol_tid_is_virtual(tid))
		return GetHeapamTableAmRoutine()->tuple_delete(rel, tid, cid, snapshot,
													   crosscheck, wait, tmfd,
													   changing_partition);
	gpucol_decoding_check(rel);
	open_directory(&dir, rel);
	result = settle_change(&dir, tid, cid, LockTupleExclusive, crosscheck, wait,
						   XLTW_Delete, tmfd, &locked);
	if (result == TM_Ok)
	{
		if (changing_partition)
			ItemPointerSetMovedPartitions(&new_tid);
		bury_row(&dir, tid, &new_tid, 0, cid);
		pgstat_count_heap_delete(rel);
	}
	gpucol_directory_close(&dir);
	return result;
}

/* Are two values of a column the same, byte for byte? */
static bool
same_value(Form_pg_attribute att, TupleTableSlot *old, TupleTableSlot *new)
{
	bool		old_null;
	bool		new_null;
	Datum		old_value = slot_getattr(old, att->attnum, &old_null);
	Datum		new_value = slot_getattr(new, att->attnum, &new_null);

	if (old_null || new_null)
		return old_null && new_null;
	return datum_image_eq(old_value, new_value, att->attbyval, att->attlen);
}

/* Does an update of a segment row change a column of a unique key? */
static bool
update_changes_key(Relation rel, ItemPointer tid, TupleTableSlot *slot)
{
	Bitmapset  *key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	TupleTableSlot *old;
	bool		changes = false;
	int			i = -1;

	if (bms_is_empty(key))
		return false;
	old = table_slot_create(rel, NULL);
	if (!gpucol_fetch_row(rel, gpucol_tid_row(tid), SnapshotAny, old))
		changes = true;
	while (!changes && (i = bms_next_member(key, i)) >= 0)
	{
		AttrNumber	attnum = i + FirstLowInvalidHeapAttributeNumber;

		if (attnum == 0)
			changes = true;		/* the whole row */
		else if (attnum > 0)
			changes = !same_value(TupleDescAttr(RelationGetDescr(rel), attnum - 1), old,
								  slot);
	}
	ExecDropSingleTupleTableSlot(old);
	bms_free(key);
	return changes;
}

TM_Result
gpucol_modify_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
					 CommandId cid, Snapshot snapshot, Snapshot crosscheck, bool wait,
					 TM_FailureData *tmfd, LockTupleMode *lockmode,
					 GpucolCompatUpdateIndexes *update_indexes)
{
	const TableAmRoutine *heap = GetHeapamTableAmRoutine();
	GpucolDirectory dir;
	bool		locked;
	TM_Result	result;

	if (!gpucol_tid_is_virtual(otid))
		return heap->tuple_update(rel, otid, slot, cid, snapshot, crosscheck, wait,
								  tmfd, lockmode, update_indexes);
	gpucol_decoding_check(rel);
	open_directory(&dir, rel);
	*lockmode = update_changes_key(rel, otid, slot) ? LockTupleExclusive :
		LockTupleNoKeyExclusive;
	result = settle_change(&dir, otid, cid, *lockmode, crosscheck, wait, XLTW_Update,
						   tmfd, &locked);
	*update_indexes = GPUCOL_COMPAT_UPDATE_NO_INDEXES;
	if (result == TM_Ok)
	{
		ItemPointerData old_tid = *otid;	/* otid may be the slot's */

		heap->tuple_insert(rel, slot, cid, 0, NULL);
		if (*lockmode == LockTupleExclusive)
			bury_row(&dir, &old_tid, &slot->tts_tid, 0, cid);
		else
		{
			bury_row(&dir, &old_tid, &slot->tts_tid, GPUCOL_TOMBSTONE_KEY_KEPT, cid);
			if (locked)
				gpucol_rowlock_pass_on(&dir, &old_tid, &slot->tts_tid);
		}
		*update_indexes = GPUCOL_COMPAT_UPDATE_ALL_INDEXES;
		/* heap has counted the new version as inserted */
		pgstat_count_heap_insert(rel, -1);
		gpucol_compat_count_update(rel);
	}
	gpucol_directory_close(&dir);
	return result;
}

/* Fail where the latest version of a row is another partition's. */
static void
check_not_moved(ItemPointer tid)
{
	if (ItemPointerIndicatesMovedPartitions(tid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("tuple to be locked was already moved to another partition due to concurrent update")));
}

/*
 * This transaction has modified a version of a row itself.  As heap does who comes by
 * way of an older version, look for the latest, and tell which command has made it.
 */
static TM_Result
report_own_version(Relation rel, ItemPointer tid, TupleTableSlot *version,
				   TM_FailureData *tmfd)
{
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	while (!gpucol_fetch_row_version(rel, tid, &dirty, version))
	{
		HeapTuple	tuple;

		if (!gpucol_fetch_row_version(rel, tid, SnapshotAny, version))
			return TM_Deleted;
		tuple = ExecFetchSlotHeapTuple(version, false, NULL);
		if (ItemPointerEquals(&tuple->t_self, &tuple->t_data->t_ctid))
			return TM_Deleted;
		*tid = tuple->t_data->t_ctid;
		check_not_moved(tid);
	}
	tmfd->cmax = HeapTupleHeaderGetCmin(ExecFetchSlotHeapTuple(version, false, NULL)->t_data);
	return TM_SelfModified;
}

/* Have heap lock a delta row. */
static TM_Result
lock_delta_row(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
			   CommandId cid, LockTupleMode mode, LockWaitPolicy policy, uint8 flags,
			   TM_FailureData *tmfd)
{
	bool		lent = gpucol_slot_lend(slot);
	TM_Result	result = GetHeapamTableAmRoutine()->
		tuple_lock(rel, tid, snapshot, slot, cid, mode, policy, flags, tmfd);

	gpucol_slot_take_back(slot, lent);
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
	TransactionId updater = tmfd->xmax;
	TupleTableSlot *pin;
	TM_Result	result = TM_Deleted;

	check_not_moved(&tmfd->ctid);
	*tid = tmfd->ctid;

	/*
	 * The place may have been given to another row meanwhile, if the new version
	 * is gone.  The pin keeps what is found there.
	 */
	pin = table_slot_create(rel, NULL);
	if (gpucol_fetch_row_version(rel, tid, SnapshotAny, pin))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(pin, false, NULL);

		if (TransactionIdEquals(HeapTupleHeaderGetXmin(tuple->t_data), updater))
			result = lock_delta_row(rel, tid, snapshot, slot, cid, mode, policy, flags,
									tmfd);
		if (result == TM_SelfModified)
			result = report_own_version(rel, tid, pin, tmfd);
	}
	ExecDropSingleTupleTableSlot(pin);
	tmfd->traversed = true;
	return result;
}

/*
 * Lock FOR KEY SHARE a segment row whose update kept the key and has committed.  As
 * in heap, whoever still sees the row has it, if nothing has changed the key since:
 * the lock is that of the latest version.
 */
static TM_Result
lock_kept_key(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
			  CommandId cid, LockWaitPolicy policy, uint8 flags, TM_FailureData *tmfd)
{
	ItemPointerData version = *tid;
	TM_Result	result = lock_new_version(rel, &version, snapshot, slot, cid,
										  LockTupleKeyShare, policy,
										  flags & ~TUPLE_LOCK_FLAG_FIND_LAST_VERSION, tmfd);

	tmfd->traversed = false;
	return result;
}

/*
 * Of a row that lies in no buffer, ExecCopySlot takes the place over in the tuple, but not
 * in the slot, from which logical replication locks what its table scan has found.
 */
static void
restore_tid(TupleTableSlot *slot)
{
	HeapTuple	tuple = gpucol_slot_tuple(slot);

	if (!ItemPointerIsValid(&slot->tts_tid) && tuple != NULL)
		slot->tts_tid = tuple->t_self;
}

TM_Result
gpucol_modify_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
				   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
				   LockWaitPolicy wait_policy, uint8 flags, TM_FailureData *tmfd)
{
	GpucolDirectory dir;
	TM_FailureData update;
	TM_Result	result;
	bool		key_kept = false;

	restore_tid(slot);
	if (!gpucol_tid_is_virtual(tid))
		return lock_delta_row(rel, tid, snapshot, slot, cid, mode, wait_policy, flags,
							  tmfd);
	tmfd->traversed = false;
	open_directory(&dir, rel);
	result = settle_lock(&dir, tid, cid, mode, wait_policy, tmfd, &key_kept);
	update = *tmfd;
	if (result == TM_Updated && mode == LockTupleKeyShare && key_kept)
	{
		result = lock_kept_key(rel, tid, snapshot, slot, cid, wait_policy, flags, tmfd);
		if (result == TM_Updated || result == TM_Deleted)
		{
			/* then it is as where the key was not kept */
			result = TM_Updated;
			*tmfd = update;
		}
	}
	if (result == TM_Updated && (flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) != 0)
	{
		gpucol_directory_close(&dir);
		return lock_new_version(rel, tid, snapshot, slot, cid, mode, wait_policy, flags,
								tmfd);
	}
	if (!gpucol_fetch_any(&dir, gpucol_tid_row(tid), result == TM_Ok, slot) &&
		result == TM_Ok)
		result = TM_Deleted;
	gpucol_directory_close(&dir);
	return result;
}
