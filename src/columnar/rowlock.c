/*-------------------------------------------------------------------------
 *
 * rowlock.c
 *	  Row locks of segment rows.
 *
 * A segment row has no tuple header that could hold its lockers.  The first who
 * locks it inserts a lock record for it into the directory and freezes it, so that it
 * belongs to no transaction; row locks are heap's own locks of that tuple.  So
 * they have heap's strengths and multixacts, last to the end of transactions and
 * over restarts of prepared ones, and take no shared memory however many there are.
 * Only its lockers need a record: a transaction that changes a row leaves just a
 * tombstone.
 *
 * What heap does under the exclusive lock of a row's page happens here under the row's
 * latch, a heavyweight lock that it shares with the rows around it: whoever looks whether a row is deleted, being
 * deleted or locked, and then locks or deletes it, holds the latch from the look to the record
 * or tombstone.  Nobody waits for a transaction, or for another latch, while holding it; modify.c has the
 * rules of waiting, burials.c who holds it from one row to the next.
 *
 * VACUUM deletes records that nobody holds; whoever has to lock a row whose record is
 * being deleted waits for it to be gone and makes another.  Who locks row after row
 * finds and makes the records of the next ones too, up to as many as it has locked in
 * order: a record that nobody holds means nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/burials.h"
#include "columnar/rowlock.h"
#include "columnar/rownum.h"
#include "columnar/view.h"
#include "compat.h"

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
	bool		looked;			/* they were looked for since the latch was taken */
	ItemPointerData records[BATCH_ROWS];	/* invalid: not found */
}			batch;

/* ------------------------------------------------------------------------
 * Latches
 * ------------------------------------------------------------------------
 */

/*
 * A latch is the lock of a virtual TID in the TOAST relation, that of the first of the rows that share it; the row's
 * lock in the table is that for which transactions queue, as for that of a heap row.
 */
static ItemPointerData
latch_tid(const ItemPointerData *tid)
{
	ItemPointerData latch;

	gpucol_tid_set(&latch, gpucol_tid_row(tid) / GPUCOL_LATCH_ROWS * GPUCOL_LATCH_ROWS);
	return latch;
}

void
gpucol_rowlock_latch(GpucolDirectory *dir, ItemPointer tid)
{
	ItemPointerData latch = latch_tid(tid);

	gpucol_burials_write();
	LockTuple(dir->toast, &latch, ExclusiveLock);
}

void
gpucol_rowlock_unlatch(GpucolDirectory *dir, ItemPointer tid)
{
	ItemPointerData latch = latch_tid(tid);

	batch.looked = false;
	UnlockTuple(dir->toast, &latch, ExclusiveLock);
}

/* ------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------
 */

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
	batch.looked = true;
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

/* Insert the lock record of a row. */
static ItemPointerData
insert_record(GpucolDirectory *dir, uint64 row_number)
{
	Oid			id;
	int32		seq;

	gpucol_directory_key(GPUCOL_ID_LOCK, row_number, &id, &seq);
	return gpucol_directory_insert(dir, id, seq, NULL, 0, GetCurrentCommandId(true), 0, false);
}

/* Rows from a latched one on that have its latch and are in its segment, n of them at most. */
static uint32
latched_rows(GpucolDirectory *dir, uint64 row_number, uint32 n)
{
	GpucolViewSegment segment;

	if (n == 1 || !gpucol_view_lookup(dir, SnapshotAny, row_number, &segment) ||
		row_number - segment.entry.first_row >= segment.entry.nrows)
		return 1;
	n = Min(n, GPUCOL_LATCH_ROWS - row_number % GPUCOL_LATCH_ROWS);
	return Min(n, segment.entry.first_row + segment.entry.nrows - row_number);
}

/*
 * Make the lock record of a latched row.  Where rows are locked one after another the
 * next ones get theirs too.
 */
static void
make_record(GpucolDirectory *dir, uint64 row_number, ItemPointer record)
{
	uint32		n = latched_rows(dir, row_number, batch_size(dir, row_number));
	ItemPointerData made[BATCH_ROWS];
	uint32		nmade = 0;

	if (!batch.looked || !batch_holds(dir) || batch.first != row_number || batch.n < n)
		find_records(dir, row_number, n);
	gpucol_directory_admit(dir, GPUCOL_LACKS_LOCKS);
	for (uint32 i = 0; i < n; i++)
	{
		if (!ItemPointerIsValid(&batch.records[i]))
			made[nmade++] = batch.records[i] = insert_record(dir, row_number + i);
	}
	gpucol_directory_freeze(dir, made, nmade);
	*record = batch.records[0];
}

/* The tuple at a place of a locked page, if it is the lock record of a row; else NULL. */
static HeapTupleHeader
record_at(GpucolDirectory *dir, Buffer buffer, ItemPointer place, uint64 row_number)
{
	HeapTupleData tuple;
	GpucolDirectoryTuple row;

	if (!gpucol_directory_read(dir, buffer, place, &tuple, &row) ||
		row.id < GPUCOL_ID_LOCK || row.id >= GPUCOL_ID_LOCK + GPUCOL_ID_SPAN ||
		gpucol_directory_number(GPUCOL_ID_LOCK, row.id, row.seq) != row_number)
		return NULL;
	return tuple.t_data;
}

/* ------------------------------------------------------------------------
 * Lockers
 * ------------------------------------------------------------------------
 */

int
gpucol_rowlock_xmax(const HeapTupleHeaderData *header, MultiXactMember **members)
{
	TransactionId xmax = HeapTupleHeaderGetRawXmax(header);
	uint16		infomask = header->t_infomask;
	bool		locked_only = HEAP_XMAX_IS_LOCKED_ONLY(infomask);
	bool		key = (header->t_infomask2 & HEAP_KEYS_UPDATED) != 0;

	*members = NULL;
	if ((infomask & HEAP_XMAX_INVALID) != 0 || !TransactionIdIsValid(xmax))
		return 0;
	if ((infomask & HEAP_XMAX_IS_MULTI) != 0)
		return Max(0, GetMultiXactIdMembers(xmax, members, false, locked_only));
	*members = palloc(sizeof(MultiXactMember));
	(*members)->xid = xmax;
	if (!locked_only)
		(*members)->status = key ? MultiXactStatusUpdate : MultiXactStatusNoKeyUpdate;
	else if (HEAP_XMAX_IS_SHR_LOCKED(infomask))
		(*members)->status = MultiXactStatusForShare;
	else if (HEAP_XMAX_IS_KEYSHR_LOCKED(infomask))
		(*members)->status = MultiXactStatusForKeyShare;
	else
		(*members)->status = key ? MultiXactStatusForUpdate : MultiXactStatusForNoKeyUpdate;
	return 1;
}

int
gpucol_rowlock_holders(GpucolDirectory *dir, ItemPointer tid, MultiXactMember **holders)
{
	uint64		row_number = gpucol_tid_row(tid);
	ItemPointerData record;

	*holders = NULL;
	while (find_record(dir, row_number, &record))
	{
		Buffer		buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(&record));
		HeapTupleHeaderData header;
		HeapTupleHeader found;

		(void) gpucol_directory_identity(dir);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		found = record_at(dir, buffer, &record, row_number);
		if (found != NULL)
			memcpy(&header, found, offsetof(HeapTupleHeaderData, t_bits));
		UnlockReleaseBuffer(buffer);
		if (found != NULL)
			return gpucol_rowlock_xmax(&header, holders);
		batch_forget();			/* VACUUM has deleted it */
	}
	return 0;
}

/* Who is deleting a record, which heap would not lock; invalid if nobody is. */
static TransactionId
record_deleter(GpucolDirectory *dir, ItemPointer tid)
{
	TransactionId deleter = InvalidTransactionId;
	MultiXactMember *holders;
	int			n = gpucol_rowlock_holders(dir, tid, &holders);

	for (int i = 0; i < n; i++)
	{
		if (ISUPDATE_from_mxstatus(holders[i].status))
			deleter = holders[i].xid;
	}
	if (holders != NULL)
		pfree(holders);
	return deleter;
}

/*
 * Lock a row's record.  Its place is pinned before it is looked at, so that it cannot
 * become another row's until it is locked.
 */
static TM_Result
lock_record(GpucolDirectory *dir, ItemPointer record, uint64 row_number,
			LockTupleMode mode)
{
	Buffer		pinned = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(record));
	HeapTupleData tuple = {.t_self = *record};
	TM_FailureData failure;
	TM_Result	result = TM_Deleted;
	Buffer		buffer;
	bool		same;

	(void) gpucol_directory_identity(dir);
	LockBuffer(pinned, BUFFER_LOCK_SHARE);
	same = record_at(dir, pinned, record, row_number) != NULL;
	LockBuffer(pinned, BUFFER_LOCK_UNLOCK);
	if (same)
	{
		result = heap_lock_tuple(dir->toast, &tuple, GetCurrentCommandId(true), mode,
								 LockWaitSkip, false, &buffer, &failure);
		ReleaseBuffer(buffer);
	}
	ReleaseBuffer(pinned);
	return result;
}

TransactionId
gpucol_rowlock_take(GpucolDirectory *dir, ItemPointer tid, LockTupleMode mode)
{
	uint64		row_number = gpucol_tid_row(tid);

	for (;;)
	{
		ItemPointerData record;
		TransactionId deleter;

		CHECK_FOR_INTERRUPTS();
		if (!find_record(dir, row_number, &record))
			make_record(dir, row_number, &record);
		if (lock_record(dir, &record, row_number, mode) == TM_Ok)
		{
			batch_count(dir, row_number);
			return InvalidTransactionId;
		}
		deleter = record_deleter(dir, tid);
		batch_forget();
		if (TransactionIdIsValid(deleter))
			return deleter;
	}
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
