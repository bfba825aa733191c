/*-------------------------------------------------------------------------
 *
 * forward.c
 *	  Where rows are that were packed in another place.
 *
 * A merge deletes rows of the delta with heap's mark of a row that went to another
 * partition.  Who comes to such a row under an older snapshot has to find its new place.  So
 * the merge writes records into the directory, as part of its transaction: of each page
 * whose rows it has moved, which ones, and the number of the first; the others follow it
 * in the order of their places.  Rows of one page that do not follow each other, because a
 * segment ended between them, have two records.
 *
 * Later merges may move other rows of the page, or rows that took the places of old ones.  A
 * record is for the rows that its own transaction has deleted: its xmin is their xmax.
 *
 * Rows of segments that are packed together with others (compact.c) have records, too, by blocks of
 * virtual TIDs.  Such a row moves only once, so who comes to it needs not know by whom.
 *
 * The row itself says that it is gone for as long as some snapshot may see it, and nobody
 * comes to it later.  So VACUUM, and the next merge, delete the records of transactions that every
 * snapshot sees.  A rewrite of the table leaves all of them behind: the places have changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "columnar/forward.h"
#include "columnar/rownum.h"

static inline bool
has_offset(const GpucolForward *record, OffsetNumber offset)
{
	return (record->moved[offset / 8] >> (offset % 8)) & 1;
}

/* How many rows of a record lie before an offset? */
static uint32
count_before(const GpucolForward *record, OffsetNumber offset)
{
	uint32		n = 0;

	for (OffsetNumber o = 0; o < offset; o++)
		n += has_offset(record, o);
	return n;
}

/* Write the record at hand. */
static void
write_record(GpucolForwards *forwards, Relation table, CommandId cid)
{
	GpucolDirectory dir;
	Oid			id;
	int32		seq;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(table))));
	gpucol_directory_key(GPUCOL_ID_FORWARD, forwards->block, &id, &seq);
	gpucol_directory_insert(&dir, id, seq, &forwards->record, sizeof(forwards->record), cid, 0,
							false);
	gpucol_directory_close(&dir);
	forwards->any = false;
}

void
gpucol_forward_add(GpucolForwards *forwards, Relation table, const ItemPointerData *tid,
				   uint64 row_number, CommandId cid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);

	if (forwards->any &&
		(forwards->block != ItemPointerGetBlockNumber(tid) || forwards->next_row != row_number))
		write_record(forwards, table, cid);
	if (!forwards->any)
	{
		memset(&forwards->record, 0, sizeof(forwards->record));
		forwards->any = true;
		forwards->block = ItemPointerGetBlockNumber(tid);
		forwards->record.first_row = row_number;
	}
	Assert(offset <= MaxHeapTuplesPerPage);
	forwards->record.moved[offset / 8] |= 1 << (offset % 8);
	forwards->next_row = row_number + 1;
}

void
gpucol_forward_end(GpucolForwards *forwards, Relation table, CommandId cid)
{
	if (forwards->any)
		write_record(forwards, table, cid);
}

bool
gpucol_forward_find(Relation table, TransactionId mover, ItemPointer tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	GpucolDirectory dir;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found = false;

	if (gpucol_tid_is_virtual(tid) || offset > MaxHeapTuplesPerPage ||
		!gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	gpucol_directory_scan_begin(&scan, &dir, SnapshotAny, GPUCOL_ID_FORWARD, block, block,
								ForwardScanDirection);
	while (!found && gpucol_directory_scan_next(&scan, &row))
	{
		GpucolForward record;

		memcpy(&record, row.data, sizeof(record));
		found = TransactionIdEquals(row.xmin, mover) && has_offset(&record, offset);
		if (found)
			gpucol_tid_set(tid, record.first_row + count_before(&record, offset));
	}
	gpucol_directory_scan_end(&scan);
	gpucol_directory_close(&dir);
	return found;
}

bool
gpucol_forward_packed(GpucolDirectory *dir, Snapshot snapshot, ItemPointer tid,
					  TransactionId *mover)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found = false;

	if (gpucol_directory_lacks(dir) & GPUCOL_LACKS_MOVES)
		return false;
	gpucol_directory_scan_begin(&scan, dir, snapshot, GPUCOL_ID_FORWARD, block, block,
								ForwardScanDirection);
	while (!found && gpucol_directory_scan_next(&scan, &row))
	{
		GpucolForward record;

		memcpy(&record, row.data, sizeof(record));
		found = has_offset(&record, offset) && !TransactionIdDidAbort(row.xmin);
		if (!found)
			continue;
		gpucol_tid_set(tid, record.first_row + count_before(&record, offset));
		if (mover != NULL)
			*mover = row.xmin;
	}
	gpucol_directory_scan_end(&scan);
	return found;
}

/*
 * Read who has ended a version of a row in the delta, if the snapshot sees that; *next is where
 * the row went on.  `creator` has written the version, if that is known.
 */
static TransactionId
find_mover(Relation table, Snapshot snapshot, const ItemPointerData *tid, TransactionId creator,
		   ItemPointer next)
{
	HeapTupleData tuple = {.t_self = *tid};
	TransactionId mover = InvalidTransactionId;
	Buffer		buffer;

	if (!heap_fetch(table, SnapshotAny, &tuple, &buffer, false))
		return InvalidTransactionId;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if ((tuple.t_data->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		!HeapTupleHeaderIsOnlyLocked(tuple.t_data) &&
		(!TransactionIdIsValid(creator) ||
		 TransactionIdEquals(HeapTupleHeaderGetXmin(tuple.t_data), creator)))
		mover = HeapTupleHeaderGetUpdateXid(tuple.t_data);
	*next = tuple.t_data->t_ctid;
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
	if (!TransactionIdIsValid(mover) || XidInMVCCSnapshot(mover, snapshot) ||
		!(TransactionIdIsCurrentTransactionId(mover) || TransactionIdDidCommit(mover)))
		return InvalidTransactionId;
	return mover;
}

/* The same for a segment row. */
static bool
step_packed(Relation table, Snapshot snapshot, ItemPointer tid)
{
	GpucolDirectory dir;
	bool		moved;

	if (!IsMVCCSnapshot(snapshot) || !gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	moved = gpucol_forward_packed(&dir, snapshot, tid, NULL);
	gpucol_directory_close(&dir);
	return moved;
}

bool
gpucol_forward_step(Relation table, Snapshot snapshot, ItemPointer tid)
{
	ItemPointerData at = *tid;
	TransactionId mover = InvalidTransactionId;

	if (gpucol_tid_is_virtual(tid))
		return step_packed(table, snapshot, tid);
	while (IsMVCCSnapshot(snapshot))
	{
		ItemPointerData next;

		CHECK_FOR_INTERRUPTS();
		mover = find_mover(table, snapshot, &at, mover, &next);
		if (!TransactionIdIsValid(mover) || ItemPointerEquals(&next, &at))
			return false;
		if (ItemPointerIndicatesMovedPartitions(&next))
		{
			if (!gpucol_forward_find(table, mover, &at))
				return false;
			*tid = at;
			return true;
		}
		at = next;
	}
	return false;
}

bool
gpucol_forward_any(GpucolDirectory *dir)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_FORWARD, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	found = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	return found;
}

void
gpucol_forward_clean(GpucolDirectory *dir, TransactionId oldest_xmin)
{
	CommandId	cid = GetCurrentCommandId(true);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_FORWARD, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		ItemPointerData record = row.tid;
		TM_FailureData failure;

		CHECK_FOR_INTERRUPTS();
		if (!TransactionIdIsNormal(row.xmin) || TransactionIdPrecedes(row.xmin, oldest_xmin))
			heap_delete(dir->toast, &record, cid, InvalidSnapshot, false, &failure, false);
	}
	gpucol_directory_scan_end(&scan);
}
