/*-------------------------------------------------------------------------
 *
 * rowlock.c
 *	  Row locks of segment rows.
 *
 * A segment row has no tuple header that could hold its lockers.  The first who
 * locks it inserts a lock record for it into the directory, frozen, so that it
 * belongs to no transaction; row locks are heap's own locks of that tuple.  So
 * they have heap's strengths and multixacts, last to the end of transactions and
 * over restarts of prepared ones, wait and deadlock as heap's do, and take no
 * shared memory however many there are.  Only its lockers need a record: a
 * transaction that changes a row which has none leaves just a tombstone.
 *
 * Records are made under the heavyweight lock of the row's virtual TID.  VACUUM
 * deletes those that nobody holds; whoever meets one being deleted waits for it
 * to be gone and makes another.  Who locks row after row finds and makes the records
 * of the next ones too, up to as many as it has locked in order: a record that nobody
 * holds means nothing.
 *
 * An update that keeps the key does not wait for FOR KEY SHARE, nor the other way
 * round.  Such locks must hold for the new version in the delta as well: the
 * updater passes on those that it finds when its tombstone is in; who locks the
 * row later sees the tombstone and marks the new version itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/rowlock.h"
#include "columnar/rownum.h"
#include "columnar/view.h"
#include "compat.h"

void
gpucol_rowlock_not_available(Relation table)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not obtain lock on row in relation \"%s\"",
					RelationGetRelationName(table))));
}

/* ------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------
 */

/* Rows that are locked one after another get their records in batches of so many. */
#define BATCH_ROWS	64

/*
 * The records of some rows that follow each other, as this subtransaction has found or
 * made them.  A record is looked at again before it is locked; where none is kept there
 * may be one all the same.
 */
static struct
{
	Oid			space;
	Oid			file;			/* of the TOAST relation */
	TransactionId xid;			/* invalid = nothing kept */
	SubTransactionId subid;
	uint64		next;			/* behind the row that was locked last */
	uint32		run;			/* rows locked in order up to there */
	uint64		first;
	uint32		n;
	ItemPointerData records[BATCH_ROWS];	/* invalid: not found */
}			batch;

/* Is the batch one of this table and subtransaction? */
static bool
batch_holds(GpucolDirectory *dir)
{
	return TransactionIdIsValid(batch.xid) &&
		batch.file == gpucol_compat_relation_file(dir->toast) &&
		batch.space == gpucol_compat_relation_space(dir->toast) &&
		batch.xid == GetTopTransactionIdIfAny() &&
		batch.subid == GetCurrentSubTransactionId() &&
		gpucol_directory_is_lasting(dir->table);
}

/* Make the batch, if it is another one's, an empty one of this table. */
static void
batch_claim(GpucolDirectory *dir)
{
	if (batch_holds(dir))
		return;
	batch.space = gpucol_compat_relation_space(dir->toast);
	batch.file = gpucol_compat_relation_file(dir->toast);
	batch.xid = GetTopTransactionIdIfAny();
	batch.subid = GetCurrentSubTransactionId();
	batch.next = 0;
	batch.run = 0;
	batch.n = 0;
}

/* Note that a row has been locked. */
static void
batch_count(GpucolDirectory *dir, uint64 row_number)
{
	batch_claim(dir);
	batch.run = row_number == batch.next ? batch.run + 1 : 1;
	batch.next = row_number + 1;
}

/* Rows from this one on whose records may be looked for, or made, at one go. */
static uint32
batch_size(GpucolDirectory *dir, uint64 row_number)
{
	if (!batch_holds(dir) || row_number != batch.next)
		return 1;
	return Min(batch.run, BATCH_ROWS);
}

/* The record of a row that the batch has. */
static bool
batch_find(GpucolDirectory *dir, uint64 row_number, ItemPointer record)
{
	if (!batch_holds(dir) || row_number < batch.first ||
		row_number - batch.first >= batch.n)
		return false;
	*record = batch.records[row_number - batch.first];
	return ItemPointerIsValid(record);
}

/* The batch is wrong. */
static void
batch_forget(void)
{
	batch.n = 0;
}

/* Look for the lock records of n rows from `first` on, and keep them as the batch. */
static void
find_records(GpucolDirectory *dir, uint64 first, uint32 n)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	batch_claim(dir);
	batch.n = 0;
	for (uint32 i = 0; i < n; i++)
		ItemPointerSetInvalid(&batch.records[i]);
	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_LOCK, first,
								first + n - 1, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
		batch.records[gpucol_directory_number(GPUCOL_ID_LOCK, row.id, row.seq) -
					  first] = row.tid;
	gpucol_directory_scan_end(&scan);
	batch.first = first;
	batch.n = n;
}

/* Find the lock record of a row. */
static bool
find_record(GpucolDirectory *dir, uint64 row_number, ItemPointer record)
{
	if (batch_find(dir, row_number, record))
		return true;
	find_records(dir, row_number, batch_size(dir, row_number));
	*record = batch.records[0];
	return ItemPointerIsValid(record);
}

/* Take the heavyweight lock of a row's virtual TID; false if it would wait. */
static bool
lock_tid(Relation table, ItemPointer tid, LockWaitPolicy policy)
{
	if (policy != LockWaitBlock)
		return gpucol_compat_conditional_lock_tuple(table, tid, AccessExclusiveLock);
	LockTuple(table, tid, AccessExclusiveLock);
	return true;
}

/* Insert the lock record of a row. */
static ItemPointerData
insert_record(GpucolDirectory *dir, uint64 row_number)
{
	Oid			id;
	int32		seq;

	gpucol_directory_key(GPUCOL_ID_LOCK, row_number, &id, &seq);
	return gpucol_directory_insert(dir, id, seq, NULL, 0,
								   GetCurrentCommandId(true), HEAP_INSERT_FROZEN, false);
}

/*
 * Lock the TIDs of rows behind one whose TID is locked, as far as they are in its
 * segment and free; returns the number of rows with it.
 */
static uint32
lock_following(GpucolDirectory *dir, uint64 row_number, uint32 n)
{
	GpucolViewSegment segment;
	uint32		locked = 1;

	if (n == 1 || !gpucol_view_lookup(dir, SnapshotAny, row_number, &segment) ||
		row_number - segment.entry.first_row >= segment.entry.nrows)
		return 1;
	n = Min(n, segment.entry.first_row + segment.entry.nrows - row_number);
	for (; locked < n; locked++)
	{
		ItemPointerData tid;

		gpucol_tid_set(&tid, row_number + locked);
		if (!gpucol_compat_conditional_lock_tuple(dir->table, &tid, AccessExclusiveLock))
			break;
	}
	return locked;
}

/*
 * Make the lock record of a row, or find the one that another made just now.  Where
 * rows are locked one after another the next ones get theirs too.
 */
static bool
make_record(GpucolDirectory *dir, ItemPointer tid, LockWaitPolicy policy,
			ItemPointer record)
{
	uint64		row_number = gpucol_tid_row(tid);
	uint32		n;

	if (!lock_tid(dir->table, tid, policy))
		return false;
	n = lock_following(dir, row_number, batch_size(dir, row_number));
	find_records(dir, row_number, n);
	gpucol_directory_admit(dir, GPUCOL_LACKS_LOCKS);
	for (uint32 i = 0; i < n; i++)
	{
		if (!ItemPointerIsValid(&batch.records[i]))
			batch.records[i] = insert_record(dir, row_number + i);
	}
	for (uint32 i = 0; i < n; i++)
	{
		ItemPointerData locked;

		gpucol_tid_set(&locked, row_number + i);
		UnlockTuple(dir->table, &locked, AccessExclusiveLock);
	}
	*record = batch.records[0];
	return true;
}

/* Copy a record's header. */
static void
read_header(GpucolDirectory *dir, ItemPointer record, HeapTupleHeader header)
{
	Buffer		buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(record));
	Page		page;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	memcpy(header, PageGetItem(page, PageGetItemId(page, ItemPointerGetOffsetNumber(record))),
		   offsetof(HeapTupleHeaderData, t_bits));
	UnlockReleaseBuffer(buffer);
}

/* Wait until a record that VACUUM is deleting is gone; false if it is not. */
static bool
wait_for_deletion(GpucolDirectory *dir, ItemPointer record)
{
	HeapTupleHeaderData header;

	read_header(dir, record, &header);
	if ((header.t_infomask & HEAP_XMAX_INVALID) != 0 ||
		HEAP_XMAX_IS_LOCKED_ONLY(header.t_infomask) ||
		(header.t_infomask & HEAP_XMAX_IS_MULTI) != 0)
		return false;
	XactLockTableWait(HeapTupleHeaderGetRawXmax(&header), dir->toast, record, XLTW_Lock);
	return true;
}

/* Is a tuple of a pinned page the lock record of a row? */
static bool
is_record(GpucolDirectory *dir, Buffer buffer, ItemPointer place, uint64 row_number)
{
	HeapTupleData tuple;
	GpucolDirectoryTuple row;
	bool		same;

	(void) gpucol_directory_identity(dir);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	same = gpucol_directory_read(dir, buffer, place, &tuple, &row) &&
		row.id >= GPUCOL_ID_LOCK && row.id < GPUCOL_ID_LOCK + GPUCOL_ID_SPAN &&
		gpucol_directory_number(GPUCOL_ID_LOCK, row.id, row.seq) == row_number;
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return same;
}

/*
 * Lock a row's record.  Its place is pinned before it is looked at, so that it cannot
 * become another row's until it is locked.
 */
static TM_Result
lock_record(GpucolDirectory *dir, ItemPointer record, uint64 row_number,
			LockTupleMode mode, LockWaitPolicy policy)
{
	Buffer		pinned = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(record));
	HeapTupleData tuple = {.t_self = *record};
	TM_FailureData failure;
	TM_Result	result = TM_Deleted;
	Buffer		buffer;

	if (is_record(dir, pinned, record, row_number))
	{
		result = heap_lock_tuple(dir->toast, &tuple, GetCurrentCommandId(true), mode,
								 policy == LockWaitError ? LockWaitSkip : policy, false,
								 &buffer, &failure);
		ReleaseBuffer(buffer);
	}
	ReleaseBuffer(pinned);
	return result;
}

bool
gpucol_rowlock_take(GpucolDirectory *dir, ItemPointer tid, LockTupleMode mode,
					LockWaitPolicy policy, bool make, bool *locked)
{
	*locked = false;
	for (;;)
	{
		ItemPointerData record;

		CHECK_FOR_INTERRUPTS();
		if (!find_record(dir, gpucol_tid_row(tid), &record))
		{
			if (!make)
				return true;
			if (!make_record(dir, tid, policy, &record))
				break;
		}
		*locked = true;
		switch (lock_record(dir, &record, gpucol_tid_row(tid), mode, policy))
		{
			case TM_Ok:
				batch_count(dir, gpucol_tid_row(tid));
				return true;
			case TM_WouldBlock:
				if (wait_for_deletion(dir, &record))
				{
					batch_forget();
					continue;
				}
				break;
			default:
				batch_forget();
				continue;		/* VACUUM has deleted it */
		}
		break;
	}
	if (policy == LockWaitError)
		gpucol_rowlock_not_available(dir->table);
	return false;
}

bool
gpucol_rowlock_any(GpucolDirectory *dir)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_LOCK, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	found = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	return found;
}

void
gpucol_rowlock_clean(GpucolDirectory *dir)
{
	CommandId	cid = GetCurrentCommandId(true);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_LOCK, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		ItemPointerData record = row.tid;
		TM_FailureData failure;

		CHECK_FOR_INTERRUPTS();
		/* told not to wait, it leaves locked records alone */
		heap_delete(dir->toast, &record, cid, InvalidSnapshot, false, &failure, false);
	}
	gpucol_directory_scan_end(&scan);
}

/* ------------------------------------------------------------------------
 * New versions
 * ------------------------------------------------------------------------
 */

/* The members of a tuple's xmax; 0 if it has none. */
static int
xmax_members(const HeapTupleHeaderData *header, MultiXactMember **members)
{
	TransactionId xmax = HeapTupleHeaderGetRawXmax(header);
	uint16		infomask = header->t_infomask;

	if ((infomask & HEAP_XMAX_INVALID) != 0 || !TransactionIdIsValid(xmax))
		return 0;
	if ((infomask & HEAP_XMAX_IS_MULTI) != 0)
		return Max(0, GetMultiXactIdMembers(xmax, members, false,
											HEAP_XMAX_IS_LOCKED_ONLY(infomask)));
	*members = palloc(sizeof(MultiXactMember));
	(*members)->xid = xmax;
	(*members)->status = HEAP_XMAX_IS_LOCKED_ONLY(infomask) &&
		HEAP_XMAX_IS_KEYSHR_LOCKED(infomask) ? MultiXactStatusForKeyShare :
		MultiXactStatusUpdate;
	return 1;
}

/* Set the lockers of a tuple on a page, all of them FOR KEY SHARE. */
static void
set_lockers(HeapTupleHeader header, MultiXactMember *members, int n)
{
	header->t_infomask &= ~(HEAP_XMAX_BITS | HEAP_MOVED);
	header->t_infomask2 &= ~HEAP_KEYS_UPDATED;
	header->t_infomask |= HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_KEYSHR_LOCK;
	if (n == 1)
		HeapTupleHeaderSetXmax(header, members[0].xid);
	else
	{
		header->t_infomask |= HEAP_XMAX_IS_MULTI;
		HeapTupleHeaderSetXmax(header, MultiXactIdCreateFromMembers(n, members));
	}
}

/*
 * Add lockers, all FOR KEY SHARE, to a delta tuple that `creator` is inserting, on
 * a page in the exclusively locked buffer.  False if others than such lockers have
 * been at it.
 */
static bool
add_lockers(Relation table, Buffer buffer, OffsetNumber offset, TransactionId creator,
			const MultiXactMember *lockers, int nlockers)
{
	Page		page = BufferGetPage(buffer);
	ItemId		item = offset <= PageGetMaxOffsetNumber(page) ?
		PageGetItemId(page, offset) : NULL;
	MultiXactMember *members = NULL;
	MultiXactMember *all;
	GenericXLogState *state;
	HeapTupleHeader header;
	int			nmembers;
	int			n = 0;

	if (item == NULL || !ItemIdIsNormal(item))
		return true;
	header = (HeapTupleHeader) PageGetItem(page, item);
	if (!TransactionIdEquals(HeapTupleHeaderGetRawXmin(header), creator))
		return true;			/* rolled back, and the place used again */
	nmembers = xmax_members(header, &members);
	all = palloc((nmembers + nlockers) * sizeof(MultiXactMember));
	for (int i = 0; i < nmembers; i++)
	{
		if (members[i].status != MultiXactStatusForKeyShare)
			return false;
		if (TransactionIdIsInProgress(members[i].xid))
			all[n++] = members[i];
	}
	for (int i = 0; i < nlockers; i++)
	{
		bool		known = false;

		for (int j = 0; j < n && !known; j++)
			known = TransactionIdEquals(all[j].xid, lockers[i].xid);
		if (!known)
			all[n++] = lockers[i];
	}
	MultiXactIdSetOldestMember();
	state = GenericXLogStart(table);
	page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
	set_lockers((HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset)), all, n);
	GenericXLogFinish(state);
	return true;
}

/* add_lockers for a TID. */
static bool
lock_version(Relation table, ItemPointer tid, TransactionId creator,
			 const MultiXactMember *lockers, int nlockers)
{
	Buffer		buffer = ReadBuffer(table, ItemPointerGetBlockNumber(tid));
	bool		done;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	done = add_lockers(table, buffer, ItemPointerGetOffsetNumber(tid), creator, lockers,
					   nlockers);
	UnlockReleaseBuffer(buffer);
	return done;
}

bool
gpucol_rowlock_new_version(Relation table, ItemPointer tid, TransactionId creator)
{
	MultiXactMember self = {
		.xid = GetCurrentTransactionId(),
		.status = MultiXactStatusForKeyShare
	};

	return lock_version(table, tid, creator, &self, 1);
}

void
gpucol_rowlock_pass_on(GpucolDirectory *dir, ItemPointer tid, ItemPointer new_tid)
{
	MultiXactMember *members = NULL;
	ItemPointerData record;
	HeapTupleHeaderData header;
	int			nmembers;
	int			n = 0;

	if (!find_record(dir, gpucol_tid_row(tid), &record))
		return;
	read_header(dir, &record, &header);
	nmembers = xmax_members(&header, &members);
	for (int i = 0; i < nmembers; i++)
	{
		/* this transaction's own locks are the update's */
		if (TransactionIdIsCurrentTransactionId(members[i].xid) ||
			!TransactionIdIsInProgress(members[i].xid))
			continue;
		members[n].xid = members[i].xid;
		members[n++].status = MultiXactStatusForKeyShare;
	}
	if (n > 0)
		lock_version(dir->table, new_tid, GetCurrentTransactionId(), members, n);
}
