/*-------------------------------------------------------------------------
 *
 * versions.c
 *	  Row locks of the versions in the delta that a segment row has been updated to.
 *
 * An update that keeps the key does not wait for FOR KEY SHARE, nor the other way
 * round.  Such locks must hold for the new version as well: the updater passes on those
 * that it finds (gpucol_versions_pass_on), and who locks the row later sees the
 * tombstone and marks the new version itself.  Heap has no function for that, while
 * the version's creator runs: the mark is set here, as heap would.
 *
 * Any other lock is that of the row's latest version, which the tombstone leads to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/fetch.h"
#include "columnar/forward.h"
#include "columnar/item.h"
#include "columnar/rowlock.h"
#include "columnar/slot.h"
#include "columnar/versions.h"
#include "compat.h"

void
gpucol_versions_not_available(Relation table)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on row in relation \"%s\"",
					RelationGetRelationName(table))));
}

bool
gpucol_versions_wait(Relation table, ItemPointer tid, TransactionId xid,
					 LockWaitPolicy policy, XLTW_Oper oper)
{
	if (policy == LockWaitBlock)
	{
		XactLockTableWait(xid, table, tid, oper);
		return true;
	}
	if (gpucol_compat_conditional_xact_wait(xid))
		return true;
	if (policy == LockWaitError)
		gpucol_versions_not_available(table);
	return false;
}

/* ------------------------------------------------------------------------
 * Marks
 * ------------------------------------------------------------------------
 */

/* A version whose page is pinned and exclusively locked. */
typedef struct Version
{
	Relation	table;
	ItemPointerData tid;
	TransactionId creator;
	Buffer		buffer;
	HeapTupleHeader header;
} Version;

/*
 * Find a version on its page; false if it is gone, which means that its creator has
 * been rolled back.
 */
static bool
find_version(Version *version)
{
	Page		page = BufferGetPage(version->buffer);
	OffsetNumber offset = ItemPointerGetOffsetNumber(&version->tid);
	HeapTupleData tuple;

	if (offset > PageGetMaxOffsetNumber(page) ||
		!ItemIdIsNormal(PageGetItemId(page, offset)))
		return false;
	gpucol_item_get(version->table, page, ItemPointerGetBlockNumber(&version->tid), offset,
					&tuple);
	version->header = tuple.t_data;
	return TransactionIdEquals(HeapTupleHeaderGetRawXmin(version->header),
							   version->creator) &&
		!TransactionIdDidAbort(version->creator);
}

/* Does somebody hold on to a version, or has changed it? */
static bool
is_live(const MultiXactMember *member)
{
	if (ISUPDATE_from_mxstatus(member->status))
		return !TransactionIdDidAbort(member->xid);
	return TransactionIdIsInProgress(member->xid);
}

/* Does a member of a tuple's xmax, not of this transaction, conflict with FOR KEY SHARE? */
static bool
takes_key(const MultiXactMember *member)
{
	return (member->status == MultiXactStatusForUpdate ||
			member->status == MultiXactStatusUpdate) &&
		!TransactionIdIsCurrentTransactionId(member->xid);
}

/* Set who has locked, and who updated, a version. */
static void
write_xmax(Version *version, MultiXactMember *members, int n)
{
	bool		updated = false;
	bool		key = false;
	bool		exclusive = false;
	bool		share = false;
	TransactionId xmax = members[0].xid;
	GenericXLogState *state;
	HeapTupleHeader header;
	Page		page;

	MultiXactIdSetOldestMember();
	if (n > 1)
		xmax = MultiXactIdCreateFromMembers(n, members);
	for (int i = 0; i < n; i++)
	{
		MultiXactStatus status = members[i].status;

		updated |= ISUPDATE_from_mxstatus(status);
		key |= status == MultiXactStatusForUpdate || status == MultiXactStatusUpdate;
		exclusive |= status >= MultiXactStatusForNoKeyUpdate;
		share |= status == MultiXactStatusForShare;
	}

	state = GenericXLogStart(version->table);
	page = GenericXLogRegisterBuffer(state, version->buffer, GENERIC_XLOG_FULL_IMAGE);
	header = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, ItemPointerGetOffsetNumber(&version->tid)));
	header->t_infomask &= ~(HEAP_XMAX_BITS | HEAP_MOVED);
	header->t_infomask2 &= ~HEAP_KEYS_UPDATED;
	if (n > 1)
		header->t_infomask |= HEAP_XMAX_IS_MULTI;
	if (!updated)
		header->t_infomask |= HEAP_XMAX_LOCK_ONLY;
	if (exclusive)
		header->t_infomask |= HEAP_XMAX_EXCL_LOCK;
	else
		header->t_infomask |= share ? HEAP_XMAX_SHR_LOCK : HEAP_XMAX_KEYSHR_LOCK;
	if (key)
		header->t_infomask2 |= HEAP_KEYS_UPDATED;
	HeapTupleHeaderSetXmax(header, xmax);
	GenericXLogFinish(state);
}

/*
 * Add lockers, all FOR KEY SHARE, to a version.  TM_BeingModified if *blocker is taking
 * its key away, TM_Updated or TM_Deleted if that has happened.
 */
static TM_Result
add_lockers(Version *version, const MultiXactMember *lockers, int nlockers,
			TransactionId *blocker)
{
	MultiXactMember *members;
	int			nmembers = gpucol_rowlock_xmax(version->header, &members);
	MultiXactMember *all = palloc((nmembers + nlockers) * sizeof(MultiXactMember));
	TM_Result	result = TM_Ok;
	int			n = 0;

	for (int i = 0; i < nmembers && result == TM_Ok; i++)
	{
		if (!is_live(&members[i]))
			continue;
		all[n++] = members[i];
		if (!takes_key(&members[i]))
			continue;
		*blocker = members[i].xid;
		if (TransactionIdIsInProgress(members[i].xid))
			result = TM_BeingModified;
		else if (ISUPDATE_from_mxstatus(members[i].status))
			result = ItemPointerEquals(&version->tid, &version->header->t_ctid) ?
				TM_Deleted : TM_Updated;
	}
	nmembers = n;
	for (int i = 0; i < nlockers; i++)
	{
		bool		known = false;

		for (int j = 0; j < nmembers && !known; j++)
			known = TransactionIdEquals(all[j].xid, lockers[i].xid);
		if (!known)
			all[n++] = lockers[i];
	}
	if (result == TM_Ok && n > nmembers)
		write_xmax(version, all, n);
	if (members != NULL)
		pfree(members);
	pfree(all);
	return result;
}

/* Step from a version to the next one, if it has been updated. */
static bool
next_version(Version *version)
{
	HeapTupleHeader header = version->header;

	if ((header->t_infomask & HEAP_XMAX_INVALID) != 0 ||
		HeapTupleHeaderIndicatesMovedPartitions(header) ||
		ItemPointerEquals(&version->tid, &header->t_ctid) ||
		HeapTupleHeaderIsOnlyLocked(header))
		return false;
	version->creator = HeapTupleHeaderGetUpdateXid(header);
	version->tid = header->t_ctid;
	return true;
}

/* Add lockers to a version and to all that it has been updated to. */
static TM_Result
lock_versions(Relation table, ItemPointerData tid, TransactionId creator,
			  const MultiXactMember *lockers, int nlockers, TransactionId *blocker)
{
	Version		version = {.table = table, .tid = tid, .creator = creator};
	TM_Result	result = TM_Ok;
	bool		more = true;

	while (more && result == TM_Ok)
	{
		CHECK_FOR_INTERRUPTS();
		version.buffer = ReadBuffer(table, ItemPointerGetBlockNumber(&version.tid));
		LockBuffer(version.buffer, BUFFER_LOCK_EXCLUSIVE);
		more = find_version(&version);
		if (more)
		{
			Buffer		buffer = version.buffer;

			result = add_lockers(&version, lockers, nlockers, blocker);
			more = result == TM_Ok && next_version(&version);
			version.buffer = buffer;
		}
		UnlockReleaseBuffer(version.buffer);
	}
	return result;
}

void
gpucol_versions_pass_on(Relation table, ItemPointer tid, const MultiXactMember *holders,
						int nholders)
{
	MultiXactMember *others = palloc(Max(nholders, 1) * sizeof(MultiXactMember));
	TransactionId blocker;
	int			n = 0;

	for (int i = 0; i < nholders; i++)
	{
		/* this transaction's own locks are the update's */
		if (TransactionIdIsCurrentTransactionId(holders[i].xid) ||
			!TransactionIdIsInProgress(holders[i].xid))
			continue;
		others[n].xid = holders[i].xid;
		others[n++].status = MultiXactStatusForKeyShare;
	}
	if (n > 0)
		lock_versions(table, *tid, GetCurrentTransactionId(), others, n, &blocker);
	pfree(others);
}

TM_Result
gpucol_versions_lock_new(Relation table, ItemPointerData tid, TransactionId creator,
						 TransactionId *blocker)
{
	MultiXactMember self = {
		.xid = GetCurrentTransactionId(),
		.status = MultiXactStatusForKeyShare
	};

	return lock_versions(table, tid, creator, &self, 1, blocker);
}

/* Whom to wait for who is taking the key of a tuple in a pinned buffer away. */
static TransactionId
key_taker(HeapTupleHeader header, Buffer buffer)
{
	TransactionId taker = InvalidTransactionId;
	MultiXactMember *members;
	int			n;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	n = gpucol_rowlock_xmax(header, &members);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	for (int i = 0; i < n && !TransactionIdIsValid(taker); i++)
	{
		if (takes_key(&members[i]) && TransactionIdIsInProgress(members[i].xid))
			taker = members[i].xid;
	}
	if (members != NULL)
		pfree(members);
	return taker;
}

/* Go to the version that a committed update with the key kept has made of a tuple, if there is one. */
static bool
step_kept(HeapTuple tuple, Buffer buffer, ItemPointer tid, TransactionId *creator)
{
	HeapTupleHeader header = tuple->t_data;
	TransactionId updater = InvalidTransactionId;
	ItemPointerData next;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	next = header->t_ctid;
	if ((header->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		(header->t_infomask2 & HEAP_KEYS_UPDATED) == 0 &&
		!HeapTupleHeaderIndicatesMovedPartitions(header) &&
		!ItemPointerEquals(&tuple->t_self, &next) && !HeapTupleHeaderIsOnlyLocked(header))
		updater = HeapTupleHeaderGetUpdateXid(header);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (!TransactionIdIsValid(updater) || !TransactionIdDidCommit(updater))
		return false;
	*tid = next;
	*creator = updater;
	return true;
}

/*
 * Lock FOR KEY SHARE a version in the delta, and those that are made of it, as far as heap's
 * code goes.  *more: a committed update has made another one, to which *tid and *creator go.
 */
static TM_Result
lock_version(Relation table, ItemPointer tid, TransactionId *creator, CommandId cid,
			 TransactionId *blocker, TM_FailureData *failure, bool *more)
{
	HeapTupleData tuple = {.t_self = *tid};
	TM_Result	result = TM_Deleted;
	Buffer		pinned;
	Buffer		buffer;

	*blocker = InvalidTransactionId;
	*more = false;
	if (!heap_fetch(table, SnapshotAny, &tuple, &pinned, false))
		return TM_Deleted;
	if (TransactionIdEquals(HeapTupleHeaderGetXmin(tuple.t_data), *creator))
	{
		result = heap_lock_tuple(table, &tuple, cid, LockTupleKeyShare, LockWaitSkip, true,
								 &buffer, failure);
		if (result == TM_WouldBlock)
		{
			*blocker = key_taker(tuple.t_data, buffer);
			result = TM_BeingModified;
		}
		else if (result == TM_SelfModified || result == TM_Invisible)
			result = TM_Ok;		/* this transaction has changed it itself */
		else
			*more = step_kept(&tuple, buffer, tid, creator);
		ReleaseBuffer(buffer);
	}
	ReleaseBuffer(pinned);
	return result;
}

/*
 * Heap's code gives up where a later version has been packed, having locked those before; then it
 * takes them for all there is.  So go on by ourselves.
 */
TM_Result
gpucol_versions_lock_committed(Relation table, ItemPointer tid,
							   TransactionId *creator, CommandId cid,
							   TransactionId *blocker, TM_FailureData *failure)
{
	TM_Result	result;
	bool		more;

	do
	{
		CHECK_FOR_INTERRUPTS();
		result = lock_version(table, tid, creator, cid, blocker, failure, &more);
	} while (more);
	return result;
}

/* ------------------------------------------------------------------------
 * The latest version
 * ------------------------------------------------------------------------
 */

TM_Result
gpucol_versions_lock_delta(Relation table, ItemPointer tid, Snapshot snapshot,
						   TupleTableSlot *slot, CommandId cid, LockTupleMode mode,
						   LockWaitPolicy policy, uint8 flags, TM_FailureData *tmfd)
{
	bool		lent = gpucol_slot_lend(slot);
	TM_Result	result = GetHeapamTableAmRoutine()->
		tuple_lock(table, tid, snapshot, slot, cid, mode, policy, flags, tmfd);

	gpucol_slot_take_back(slot, lent);
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
 * Find the latest version of a row from *tid on, which `creator` has inserted, and wait
 * for who is changing it.  TM_Ok with its place in *tid, or that of a segment row, of which
 * nothing is known; TM_SelfModified, and tmfd, where this command or a later one of this
 * transaction has made it.
 */
static TM_Result
find_latest(Relation table, ItemPointer tid, TransactionId creator, CommandId cid,
			LockWaitPolicy policy, TupleTableSlot *version, TM_FailureData *tmfd)
{
	for (;;)
	{
		SnapshotData dirty;
		bool		live;
		HeapTuple	tuple;

		CHECK_FOR_INTERRUPTS();
		check_not_moved(tid);
		if (gpucol_tid_is_virtual(tid))
			return TM_Ok;
		InitDirtySnapshot(dirty);
		live = gpucol_fetch_row_version(table, tid, &dirty, version);
		if (!live && !gpucol_fetch_row_version(table, tid, SnapshotAny, version))
			return TM_Deleted;
		tuple = ExecFetchSlotHeapTuple(version, false, NULL);

		/* the place may have been given to another row, if the version is gone */
		if (!TransactionIdEquals(HeapTupleHeaderGetXmin(tuple->t_data), creator))
			return TM_Deleted;
		if (!live)
		{
			if (ItemPointerEquals(&tuple->t_self, &tuple->t_data->t_ctid))
				return TM_Deleted;
			creator = HeapTupleHeaderGetUpdateXid(tuple->t_data);
			if (!HeapTupleHeaderIndicatesMovedPartitions(tuple->t_data) ||
				!gpucol_forward_find(table, creator, tid))
				*tid = tuple->t_data->t_ctid;
		}
		else if (TransactionIdIsValid(dirty.xmax))
		{
			if (!gpucol_versions_wait(table, tid, dirty.xmax, policy, XLTW_FetchUpdated))
				return TM_WouldBlock;
		}
		else if (TransactionIdIsCurrentTransactionId(creator) &&
				 HeapTupleHeaderGetCmin(tuple->t_data) >= cid)
		{
			tmfd->xmax = creator;
			tmfd->cmax = HeapTupleHeaderGetCmin(tuple->t_data);
			return TM_SelfModified;
		}
		else
			return TM_Ok;
	}
}

TM_Result
gpucol_versions_find_latest(Relation table, ItemPointer tid, CommandId cid,
							LockWaitPolicy policy, TM_FailureData *tmfd)
{
	/* keeps what is found in its place until the next is looked at */
	TupleTableSlot *version = table_slot_create(table, NULL);
	TM_Result	result;

	*tid = tmfd->ctid;
	result = find_latest(table, tid, tmfd->xmax, cid, policy, version, tmfd);
	ExecDropSingleTupleTableSlot(version);
	return result;
}
