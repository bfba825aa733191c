/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  DELETE, UPDATE and row locks of segment rows.
 *
 * Delta rows are heap's affair.  A segment row is deleted by inserting its
 * tombstone into the directory; an update inserts the new version into the delta
 * besides, whose TID the tombstone carries.
 *
 * Statements that change many rows write the tombstones of those that nobody else wants together (burials.c).
 *
 * Who changes a segment row holds its latch (rowlock.c) until the tombstone is in, and
 * whoever comes later finds the tombstone with a dirty snapshot and waits for its
 * transaction, as for heap's xmax.  Who locks a row takes its row lock (rowlock.c).
 * Tombstone and row locks together are what a heap row's xmax is, and the rules by which
 * transactions wait for each other are those of heap's README.tuplock.
 *
 * The strengths are heap's: an update that leaves the columns of all unique keys
 * as they are lets FOR KEY SHARE pass, and its tombstone says so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "columnar/burials.h"
#include "columnar/decoding.h"
#include "columnar/directory.h"
#include "columnar/fetch.h"
#include "columnar/forward.h"
#include "columnar/logical.h"
#include "columnar/modify.h"
#include "columnar/new_entries.h"
#include "columnar/rowlock.h"
#include "columnar/serial.h"
#include "columnar/slot.h"
#include "columnar/versions.h"
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
	bool		moved;			/* it is none: the row was packed with others at new_tid */
	ItemPointerData new_tid;
} Deletion;

/* Look for a row's tombstone. */
static void
find_tombstone(GpucolDirectory *dir, uint64 row_number, Deletion *deletion)
{
	SnapshotData dirty;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

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
}

/* Look for the bitmap that has a row of which no tombstone was found. */
static void
find_folded(GpucolDirectory *dir, uint64 row_number, uint64 lacks, Deletion *deletion)
{
	SnapshotData dirty;

	if ((lacks & GPUCOL_LACKS_BITMAPS) || gpucol_fetch_is_last_seen(dir->table, row_number))
		return;
	InitDirtySnapshot(dirty);
	deletion->found = gpucol_view_row_folded(dir, &dirty, row_number);
}

/*
 * Look for where a row has been packed with others since an old snapshot.  After a rewrite of the
 * table no record says so, but its segment has ended: then it counts as deleted.
 */
static void
find_move(GpucolDirectory *dir, uint64 row_number, uint64 lacks, Deletion *deletion)
{
	GpucolViewSegment segment;

	if (lacks & GPUCOL_LACKS_MOVES)
		return;
	deletion->moved = gpucol_forward_packed(dir, SnapshotSelf, &deletion->new_tid, &deletion->xid);
	deletion->found = deletion->moved ||
		!gpucol_view_lookup(dir, SnapshotSelf, row_number, &segment);
}

/* Look for a latched row's deletion, or its move; returns what the directory lacks. */
static uint64
find_deletion(GpucolDirectory *dir, uint64 row_number, Deletion *deletion)
{
	uint64		lacks;

	memset(deletion, 0, sizeof(*deletion));
	gpucol_tid_set(&deletion->new_tid, row_number);
	find_tombstone(dir, row_number, deletion);
	/* asked behind that look, see gpucol_directory_lacks */
	lacks = gpucol_directory_lacks(dir);
	if (!deletion->found)
		find_folded(dir, row_number, lacks, deletion);
	if (!deletion->found)
		find_move(dir, row_number, lacks, deletion);
	return lacks;
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

/* Describe a row that cannot be had now. */
static TM_Result
report_blocked(ItemPointer tid, TM_Result result, TM_FailureData *tmfd)
{
	tmfd->ctid = *tid;
	tmfd->xmax = InvalidTransactionId;
	tmfd->cmax = InvalidCommandId;
	return result;
}

/* ------------------------------------------------------------------------
 * Getting at a row
 * ------------------------------------------------------------------------
 */

/* What heap locks a row's TID with, to queue for a row lock of each strength. */
static const LOCKMODE queue_modes[] = {
	[LockTupleKeyShare] = AccessShareLock,
	[LockTupleShare] = RowShareLock,
	[LockTupleNoKeyExclusive] = ExclusiveLock,
	[LockTupleExclusive] = AccessExclusiveLock
};

/* What a transaction wants of a row, and what it has found of it. */
typedef struct Request
{
	GpucolDirectory *dir;
	ItemPointerData tid;
	CommandId	cid;
	LockTupleMode mode;
	LockWaitPolicy policy;
	XLTW_Oper	oper;
	TM_FailureData *tmfd;
	bool		queued;			/* is first in the queue for the row */

	/* of the last look, under the row's latch */
	Deletion	deletion;
	uint64		lacks;			/* kinds of rows that the directory has never had */
	int			own;			/* this transaction's strongest lock; -1 = none */
	TransactionId blocker;		/* who keeps this transaction from the row */
	bool		shared;			/* others who run have locked the row, but do not */
	int			ended;			/* strongest lock of those who have ended */
} Request;

/* Note the first transaction, by number as in a multixact, to wait for. */
static void
note_blocker(Request *request, TransactionId xid)
{
	if (!TransactionIdIsValid(request->blocker) || xid < request->blocker)
		request->blocker = xid;
}

/* Do two locks exclude each other?  An update counts as the lock that it implies. */
static bool
locks_conflict(LockTupleMode one, LockTupleMode other)
{
	return one + other >= LockTupleExclusive;
}

/* Who has locked the row? */
static void
look_for_lockers(Request *request)
{
	MultiXactMember *holders;
	int			n = gpucol_rowlock_holders(request->dir, &request->tid, &holders);

	StaticAssertStmt((int) MultiXactStatusForKeyShare == (int) LockTupleKeyShare &&
					 (int) MultiXactStatusForUpdate == (int) LockTupleExclusive,
					 "a locker's status is not the strength of its lock");
	for (int i = 0; i < n; i++)
	{
		LockTupleMode mode = (LockTupleMode) holders[i].status;

		if (ISUPDATE_from_mxstatus(holders[i].status))
			continue;			/* VACUUM's deletion of the record */
		if (TransactionIdIsCurrentTransactionId(holders[i].xid))
			request->own = Max(request->own, (int) mode);
		else if (!TransactionIdIsInProgress(holders[i].xid))
			request->ended = Max(request->ended, (int) mode);
		else if (locks_conflict(mode, request->mode))
			note_blocker(request, holders[i].xid);
		else
			request->shared = true;
	}
	if (holders != NULL)
		pfree(holders);
}

/* Latch a row and see what has become of it. */
static void
look_at_row(Request *request)
{
	GpucolDirectory *dir = request->dir;
	Deletion   *deletion = &request->deletion;

	gpucol_rowlock_latch(dir, &request->tid);
	request->lacks = find_deletion(dir, gpucol_tid_row(&request->tid), deletion);
	request->own = -1;
	request->blocker = InvalidTransactionId;
	request->shared = false;
	request->ended = -1;
	if (!(request->lacks & GPUCOL_LACKS_LOCKS))
		look_for_lockers(request);
	if (deletion->found && deletion->in_progress && !deletion->own &&
		locks_conflict(deletion->key_kept ? LockTupleNoKeyExclusive : LockTupleExclusive,
					   request->mode))
		note_blocker(request, deletion->xid);
}

/* Queue for a row; false if the policy is not to wait (LockWaitError raises instead). */
static bool
join_queue(Request *request)
{
	Relation	rel = request->dir->table;
	LOCKMODE	mode = queue_modes[request->mode];

	if (request->queued)
		return true;
	if (request->policy == LockWaitBlock)
		LockTuple(rel, &request->tid, mode);
	else if (!gpucol_compat_conditional_lock_tuple(rel, &request->tid, mode))
	{
		if (request->policy == LockWaitError)
			gpucol_versions_not_available(rel);
		return false;
	}
	request->queued = true;
	return true;
}

static void
leave_queue(Request *request)
{
	if (request->queued)
		UnlockTuple(request->dir->table, &request->tid, queue_modes[request->mode]);
	request->queued = false;
}

/*
 * Is this transaction to queue though nobody keeps it from the row?  A heap row says how
 * strong the strongest of its lockers' locks is, also when that one has ended, and who
 * would share the row goes by that.
 */
static bool
must_queue(const Request *request)
{
	return request->mode <= LockTupleShare && request->shared && request->own < 0 &&
		!request->queued && request->ended >= 0 &&
		locks_conflict((LockTupleMode) request->ended, request->mode);
}

/*
 * Wait until nobody keeps this transaction from a row.  With TM_Ok the row is latched;
 * TM_WouldBlock is the policy's.
 *
 * The rules are heap's.  Who has to wait queues for the row, so that whoever has waited
 * longest has it first, waits for one transaction after another, and looks again; but
 * who has a lock of the row does not queue, where others may be waiting for it.  Lockers
 * are waited for even where the row has been updated and nothing can come of it.
 */
static TM_Result
settle_row(Request *request)
{
	Deletion   *deletion = &request->deletion;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		look_at_row(request);
		if (deletion->own ||
			(!TransactionIdIsValid(request->blocker) && !must_queue(request)))
			break;
		gpucol_rowlock_unlatch(request->dir, &request->tid);
		if ((request->own < 0 && !join_queue(request)) ||
			(TransactionIdIsValid(request->blocker) &&
			 !gpucol_versions_wait(request->dir->table, &request->tid, request->blocker,
								   request->policy, request->oper)))
			return report_blocked(&request->tid, TM_WouldBlock, request->tmfd);
	}
	if (!deletion->found || (deletion->in_progress && !deletion->own))
		return TM_Ok;
	gpucol_rowlock_unlatch(request->dir, &request->tid);
	return report_deletion(deletion, &request->tid, request->cid, request->tmfd);
}

/* settle_row for a change; checks the crosscheck snapshot too. */
static TM_Result
settle_change(Request *request, Snapshot crosscheck)
{
	Relation	rel = request->dir->table;
	ItemPointer tid = &request->tid;
	TM_Result	result = settle_row(request);

	leave_queue(request);
	if (result == TM_WouldBlock)
		return TM_BeingModified;
	if (result == TM_Ok && crosscheck != InvalidSnapshot &&
		!gpucol_fetch_visible(rel, gpucol_tid_row(tid), crosscheck))
	{
		gpucol_rowlock_unlatch(request->dir, tid);
		return report_blocked(tid, TM_Updated, request->tmfd);
	}
	return result;
}

/*
 * Lock a latched row, and the versions that a transaction in progress has updated it to.
 * False where it must be looked at again, after waiting for *blocker if that is valid.
 */
static bool
lock_row(Request *request, TransactionId *blocker)
{
	GpucolDirectory *dir = request->dir;
	Deletion   *deletion = &request->deletion;

	*blocker = InvalidTransactionId;
	if (request->own >= (int) request->mode)
		return true;
	if (deletion->found &&
		gpucol_versions_lock_new(dir->table, deletion->new_tid, deletion->xid,
								 blocker) != TM_Ok)
		return false;
	*blocker = gpucol_rowlock_take(dir, &request->tid, request->mode);
	return !TransactionIdIsValid(*blocker);
}

static TM_Result settle_lock(Request *request);

/* Lock FOR KEY SHARE the later version of a row that lies packed at a place. */
static bool
lock_packed_version(Request *request, const ItemPointerData *tid)
{
	TM_FailureData failure;
	Request		version = {
		.dir = request->dir, .tid = *tid, .cid = request->cid, .mode = request->mode,
		.policy = request->policy, .oper = request->oper, .tmfd = &failure
	};
	TM_Result	result = settle_lock(&version);

	leave_queue(&version);
	if (result == TM_Updated && version.deletion.moved)
		return lock_packed_version(request, &version.deletion.new_tid);
	return result == TM_Ok;
}

/*
 * Lock FOR KEY SHARE the versions that a row has been updated to, from the one that `creator`
 * has put to *tid in the delta; false if one of them has changed the key, or is deleted.
 */
static bool
lock_later_versions(Request *request, ItemPointerData tid, TransactionId creator)
{
	Relation	table = request->dir->table;

	for (;;)
	{
		TransactionId blocker;
		TM_FailureData failure;
		TM_Result	result =
			gpucol_versions_lock_committed(table, &tid, &creator, request->cid, &blocker,
										   &failure);

		if (result == TM_Ok)
			return true;
		if (result == TM_Updated && ItemPointerIndicatesMovedPartitions(&failure.ctid) &&
			gpucol_forward_find(table, failure.xmax, &tid))
			return lock_packed_version(request, &tid);
		if (result != TM_BeingModified)
			return false;
		if (TransactionIdIsValid(blocker))
			XactLockTableWait(blocker, table, &tid, XLTW_LockUpdated);
	}
}

/*
 * Lock FOR KEY SHARE a row whose update kept the key and has committed.  As in heap,
 * whoever still sees the row has it, if nothing has changed the key since: the lock is
 * that of the later versions.
 */
static bool
lock_kept_key(Request *request)
{
	GpucolDirectory *dir = request->dir;
	Deletion   *deletion = &request->deletion;

	while (lock_later_versions(request, deletion->new_tid, deletion->xid))
	{
		TransactionId blocker;

		gpucol_rowlock_latch(dir, &request->tid);
		blocker = gpucol_rowlock_take(dir, &request->tid, request->mode);
		gpucol_rowlock_unlatch(dir, &request->tid);
		if (!TransactionIdIsValid(blocker))
			return true;
		XactLockTableWait(blocker, dir->table, &request->tid, XLTW_LockUpdated);
	}
	return false;
}

/* Lock a row and settle whether it is still there; otherwise tmfd is filled. */
static TM_Result
settle_lock(Request *request)
{
	for (;;)
	{
		TransactionId blocker;
		TM_Result	result = settle_row(request);
		bool		locked;

		if (result == TM_Updated && request->mode == LockTupleKeyShare &&
			request->deletion.key_kept && lock_kept_key(request))
			return TM_Ok;
		if (result != TM_Ok)
			return result;
		locked = lock_row(request, &blocker);
		gpucol_rowlock_unlatch(request->dir, &request->tid);
		if (locked)
			return TM_Ok;
		/* heap waits for these whatever the policy */
		if (TransactionIdIsValid(blocker))
			XactLockTableWait(blocker, request->dir->table, &request->tid,
							  XLTW_LockUpdated);
	}
}

/* ------------------------------------------------------------------------
 * Changes
 * ------------------------------------------------------------------------
 */

/* Insert the tombstone of a latched row. */
static void
bury_row(Request *request, const ItemPointerData *new_tid, uint16 flags)
{
	GpucolDirectory *dir = request->dir;
	uint64		row_number = gpucol_tid_row(&request->tid);
	GpucolTombstone tombstone;
	Oid			id;
	int32		seq;

	memset(&tombstone, 0, sizeof(tombstone));
	tombstone.new_tid = *new_tid;
	tombstone.flags = flags;
	/* a kind that was there is never said to lack again */
	if (request->lacks & GPUCOL_LACKS_TOMBSTONES)
		gpucol_directory_admit(dir, GPUCOL_LACKS_TOMBSTONES);
	gpucol_directory_key(GPUCOL_ID_TOMBSTONE, row_number, &id, &seq);
	gpucol_directory_insert(dir, id, seq, &tombstone, sizeof(tombstone), request->cid, 0, true);
	gpucol_fetch_note_buried(dir->table, row_number, request->cid);
	gpucol_serial_write_packed(dir->table, row_number);
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

/*
 * Has a merge packed a row of the delta that heap's code has found to be gone?  Then *tid
 * becomes its new place, where the same is to be done.  Under REPEATABLE READ it is not: the
 * old row would stay visible beside what is done to the new one.
 */
static bool
follow_merge(Relation rel, ItemPointer tid, TM_Result result, const TM_FailureData *tmfd)
{
	return result == TM_Updated && !IsolationUsesXactSnapshot() &&
		ItemPointerIndicatesMovedPartitions(&tmfd->ctid) &&
		gpucol_forward_find(rel, tmfd->xmax, tid);
}

/* Write for logical decoding that a segment row has been deleted, or updated to the one in `new`. */
static void
tell_decoding(Relation rel, ItemPointer tid, TupleTableSlot *new)
{
	TupleTableSlot *old = table_slot_create(rel, NULL);

	if (!gpucol_fetch_row(rel, gpucol_tid_row(tid), SnapshotAny, old))
		elog(ERROR, "row " UINT64_FORMAT " of table \"%s\" is gone", gpucol_tid_row(tid),
			 RelationGetRelationName(rel));
	if (new != NULL)
		gpucol_logical_update(rel, old, new);
	else
		gpucol_logical_delete(rel, old);
	ExecDropSingleTupleTableSlot(old);
}

/* Delete a segment row. */
static TM_Result
delete_packed(Relation rel, ItemPointer tid, CommandId cid, Snapshot crosscheck, bool wait,
			  TM_FailureData *tmfd, bool changing_partition)
{
	GpucolDirectory dir;
	Request		request = {
		.dir = &dir, .tid = *tid, .cid = cid, .mode = LockTupleExclusive,
		.policy = wait ? LockWaitBlock : LockWaitSkip, .oper = XLTW_Delete, .tmfd = tmfd
	};
	ItemPointerData new_tid = *tid;
	TM_Result	result;

	open_directory(&dir, rel);
	result = settle_change(&request, crosscheck);
	if (result == TM_Ok)
	{
		if (changing_partition)
			ItemPointerSetMovedPartitions(&new_tid);
		bury_row(&request, &new_tid, 0);
		gpucol_rowlock_unlatch(&dir, tid);
		if (gpucol_decoding_active(rel))
			tell_decoding(rel, tid, NULL);
		pgstat_count_heap_delete(rel);
	}
	gpucol_directory_close(&dir);
	return result;
}

TM_Result
gpucol_modify_delete(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot,
					 Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
					 bool changing_partition)
{
	if (gpucol_tid_is_virtual(tid) && crosscheck == InvalidSnapshot && wait && !changing_partition &&
		gpucol_burials_claim(rel, tid, cid, false))
	{
		gpucol_burials_add(tid, 0);
		pgstat_count_heap_delete(rel);
		return TM_Ok;
	}
	gpucol_burials_write();
	if (!gpucol_tid_is_virtual(tid))
	{
		TM_Result	result = GetHeapamTableAmRoutine()->
			tuple_delete(rel, tid, cid, snapshot, crosscheck, wait, tmfd, changing_partition);

		if (!follow_merge(rel, tid, result, tmfd))
			return result;
	}
	return delete_packed(rel, tid, cid, crosscheck, wait, tmfd, changing_partition);
}

/* Does one of some columns, numbered as in attribute sets of the relcache, differ? */
static bool
differs_in(Relation rel, const Bitmapset *columns, TupleTableSlot *old, TupleTableSlot *new)
{
	int			i = -1;

	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber	attnum = i + FirstLowInvalidHeapAttributeNumber;

		if (attnum == 0)
			return true;		/* the whole row */
		if (attnum > 0 &&
			!gpucol_slot_same_value(TupleDescAttr(RelationGetDescr(rel), attnum - 1), old, new))
			return true;
	}
	return false;
}

/*
 * How does an update lock a segment row: does it change a column of a unique key?
 * *same_entries: it changes none that any index has, which is asked in serializable
 * transactions only.
 */
static LockTupleMode
update_lock(Relation rel, ItemPointer tid, TupleTableSlot *slot, bool *same_entries)
{
	Bitmapset  *key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	Bitmapset  *indexed = NULL;
	LockTupleMode mode = LockTupleNoKeyExclusive;

	if (IsolationIsSerializable())
		indexed = RelationGetIndexAttrBitmap(rel, GPUCOL_COMPAT_INDEXED_COLUMNS);
	*same_entries = !bms_is_empty(indexed);
	if (!bms_is_empty(key) || !bms_is_empty(indexed))
	{
		TupleTableSlot *old = table_slot_create(rel, NULL);
		bool		found = gpucol_fetch_row(rel, gpucol_tid_row(tid), SnapshotAny, old);

		if (!bms_is_empty(key) && (!found || differs_in(rel, key, old, slot)))
			mode = LockTupleExclusive;
		if (mode == LockTupleExclusive || !found || differs_in(rel, indexed, old, slot))
			*same_entries = false;
		ExecDropSingleTupleTableSlot(old);
	}
	bms_free(key);
	bms_free(indexed);
	return mode;
}

/*
 * Bury a row that has been updated and whose key is as it was: the locks of others hold
 * for the new version too.  Where this transaction has locked the row FOR UPDATE, the
 * update excludes what that excludes, as in heap.
 */
static void
bury_kept_key(Request *request, ItemPointer new_tid)
{
	GpucolDirectory *dir = request->dir;
	MultiXactMember *holders = NULL;
	int			nholders = 0;
	uint16		flags = request->own == LockTupleExclusive ? 0 : GPUCOL_TOMBSTONE_KEY_KEPT;

	bury_row(request, new_tid, flags);
	if (!request->shared)
		return;
	nholders = gpucol_rowlock_holders(dir, &request->tid, &holders);
	if (nholders > 0)
		gpucol_versions_pass_on(dir->table, new_tid, holders, nholders);
	if (holders != NULL)
		pfree(holders);
	/* the record shows the lock when the tombstone has been rolled back, see must_queue */
	gpucol_rowlock_take(dir, &request->tid, request->mode);
}

/* Count an update, whose new version heap has counted as inserted. */
static void
count_update(Relation rel)
{
	pgstat_count_heap_insert(rel, -1);
	gpucol_compat_count_update(rel);
}

/* Update a segment row: its new version goes to the delta. */
static TM_Result
update_packed(Relation rel, ItemPointer otid, TupleTableSlot *slot, CommandId cid,
			  Snapshot crosscheck, bool wait, TM_FailureData *tmfd, LockTupleMode *lockmode,
			  GpucolCompatUpdateIndexes *update_indexes)
{
	GpucolDirectory dir;
	Request		request = {
		.dir = &dir, .tid = *otid,	/* otid may be the slot's */
		.cid = cid, .policy = wait ? LockWaitBlock : LockWaitSkip, .oper = XLTW_Update,
		.tmfd = tmfd
	};
	bool		same_entries;
	TM_Result	result;

	open_directory(&dir, rel);
	*lockmode = update_lock(rel, otid, slot, &same_entries);
	request.mode = *lockmode;
	result = settle_change(&request, crosscheck);
	*update_indexes = GPUCOL_COMPAT_UPDATE_NO_INDEXES;
	if (result == TM_Ok)
	{
		bool		decoded = gpucol_decoding_active(rel);

		/* decoding is told of an update, not of a row that is inserted */
		GetHeapamTableAmRoutine()->tuple_insert(rel, slot, cid,
												decoded ? HEAP_INSERT_NO_LOGICAL : 0, NULL);
		if (*lockmode == LockTupleExclusive)
			bury_row(&request, &slot->tts_tid, 0);
		else
			bury_kept_key(&request, &slot->tts_tid);
		gpucol_rowlock_unlatch(&dir, &request.tid);
		if (decoded)
			tell_decoding(rel, &request.tid, slot);
		/* behind the look at the row's predicate locks */
		if (!same_entries || !gpucol_new_entries_same_keys(rel, slot))
			*update_indexes = GPUCOL_COMPAT_UPDATE_ALL_INDEXES;
		count_update(rel);
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
	if (gpucol_tid_is_virtual(otid) && crosscheck == InvalidSnapshot && wait &&
		gpucol_burials_claim(rel, otid, cid, true))
	{
		GetHeapamTableAmRoutine()->tuple_insert(rel, slot, cid, 0, NULL);
		gpucol_burials_add(&slot->tts_tid, GPUCOL_TOMBSTONE_KEY_KEPT);
		*lockmode = LockTupleNoKeyExclusive;
		*update_indexes = GPUCOL_COMPAT_UPDATE_ALL_INDEXES;
		count_update(rel);
		return TM_Ok;
	}
	gpucol_burials_write();
	if (!gpucol_tid_is_virtual(otid))
	{
		ItemPointerData tid = *otid;	/* otid may be the slot's */
		TM_Result	result = GetHeapamTableAmRoutine()->
			tuple_update(rel, otid, slot, cid, snapshot, crosscheck, wait, tmfd, lockmode,
						 update_indexes);

		if (!follow_merge(rel, &tid, result, tmfd))
			return result;
		/* triggers and RETURNING must find the old row there, too */
		*otid = tid;
	}
	return update_packed(rel, otid, slot, cid, crosscheck, wait, tmfd, lockmode,
						 update_indexes);
}

/* ------------------------------------------------------------------------
 * Locks
 * ------------------------------------------------------------------------
 */

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

/* Lock a segment row. */
static TM_Result
lock_packed(Relation rel, ItemPointer tid, TupleTableSlot *slot, CommandId cid,
			LockTupleMode mode, LockWaitPolicy wait_policy, TM_FailureData *tmfd)
{
	GpucolDirectory dir;
	Request		request = {
		.dir = &dir, .tid = *tid, .cid = cid, .mode = mode, .policy = wait_policy,
		.oper = XLTW_Lock, .tmfd = tmfd
	};
	TM_Result	result;

	open_directory(&dir, rel);
	result = settle_lock(&request);
	leave_queue(&request);
	if (!gpucol_fetch_any(&dir, gpucol_tid_row(tid), result == TM_Ok, slot) &&
		result == TM_Ok)
		result = TM_Deleted;
	gpucol_directory_close(&dir);
	return result;
}

/* Is the row that is gone from *tid the same in another place, which *tid becomes? */
static bool
follow_packing(Relation rel, ItemPointer tid, const TM_FailureData *tmfd)
{
	if (ItemPointerIndicatesMovedPartitions(&tmfd->ctid))
		return gpucol_forward_find(rel, tmfd->xmax, tid);
	/* no update's new version is a segment row */
	if (!gpucol_tid_is_virtual(tid) || !gpucol_tid_is_virtual(&tmfd->ctid))
		return false;
	*tid = tmfd->ctid;
	return true;
}

/*
 * The same for a row of the delta, which the slot holds and heap's code has not locked because a
 * later version of it has been packed.
 */
static bool
lock_kept_delta(Relation rel, TupleTableSlot *slot, CommandId cid, LockWaitPolicy policy,
				TM_FailureData *tmfd)
{
	HeapTupleHeader header = ExecFetchSlotHeapTuple(slot, false, NULL)->t_data;
	GpucolDirectory dir;
	Request		request = {
		.dir = &dir, .cid = cid, .mode = LockTupleKeyShare, .policy = policy, .oper = XLTW_Lock,
		.tmfd = tmfd
	};
	bool		locked;

	if ((header->t_infomask2 & HEAP_KEYS_UPDATED) != 0)
		return false;
	open_directory(&dir, rel);
	locked = lock_later_versions(&request, tmfd->ctid, tmfd->xmax);
	gpucol_directory_close(&dir);
	return locked;
}

TM_Result
gpucol_modify_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
				   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
				   LockWaitPolicy wait_policy, uint8 flags, TM_FailureData *tmfd)
{
	bool		traversed = false;
	TM_Result	result;

	if (gpucol_tid_is_virtual(tid) && wait_policy == LockWaitBlock && mode <= LockTupleNoKeyExclusive &&
		gpucol_burials_claim_lock(rel, tid, cid, mode))
	{
		gpucol_fetch_claimed(rel, gpucol_tid_row(tid), slot);
		tmfd->traversed = false;
		return TM_Ok;
	}
	gpucol_burials_write();
	restore_tid(slot);
	for (;;)
	{
		if (gpucol_tid_is_virtual(tid))
			result = lock_packed(rel, tid, slot, cid, mode, wait_policy, tmfd);
		else
			result = gpucol_versions_lock_delta(rel, tid, snapshot, slot, cid, mode, wait_policy,
												flags & ~TUPLE_LOCK_FLAG_FIND_LAST_VERSION, tmfd);
		if (result != TM_Updated)
			break;
		if (follow_packing(rel, tid, tmfd))
			continue;			/* the same row, in another place */
		if (mode == LockTupleKeyShare && !gpucol_tid_is_virtual(tid) &&
			lock_kept_delta(rel, slot, cid, wait_policy, tmfd))
		{
			result = TM_Ok;
			break;
		}
		if ((flags & TUPLE_LOCK_FLAG_FIND_LAST_VERSION) == 0)
			break;
		traversed = true;
		result = gpucol_versions_find_latest(rel, tid, cid, wait_policy, tmfd);
		if (result != TM_Ok)
			break;
	}
	tmfd->traversed = traversed;
	return result;
}
