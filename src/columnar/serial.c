/*-------------------------------------------------------------------------
 *
 * serial.c
 *	  Predicate locks of serializable transactions on rows.
 *
 * Who scans a table locks it, as in heap.  Who comes to a row by itself locks that row, in two
 * ways if it lies in the delta: heap's code locks its TID, and a lock for merges is taken here.  A merge
 * copies that to the row's new place, which PostgreSQL can do for locks of pages only.  So the
 * lock of a row is that of a page which does not exist, with a number made from the row's TID;
 * two rows with one number conflict for nothing, once in a thousand million times.
 *
 * Nothing holds readers and writers of a row apart.  So a reader locks the row first and then
 * looks for its tombstone; a writer inserts that first and then looks for locks.  One of
 * them finds the other.
 *
 * A merge marks a row of the delta first and copies its locks then.  A reader who locks
 * first and then finds no mark has a lock that will be copied.  Who finds the mark locks the row's
 * new place too; where that is not yet known it locks the table, and looks again.
 * Where segments are packed together the record of where a row goes is the mark.
 *
 * Nobody locks directory rows or pages of their indexes: two rows beside each other there need
 * not have anything to do with each other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "storage/predicate.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/forward.h"
#include "columnar/rownum.h"
#include "columnar/serial.h"
#include "columnar/view.h"

/* The page that stands for a row: none that a table has. */
static BlockNumber
page_of_row(const ItemPointerData *tid)
{
	uint32		hash = murmurhash32(ItemPointerGetBlockNumberNoCheck(tid) ^
									murmurhash32(ItemPointerGetOffsetNumberNoCheck(tid)));

	return UINT32_C(0x80000000) | (hash & UINT32_C(0x7ffffffe));
}

/* Is this a snapshot whose reads SERIALIZABLE tracks? */
static bool
is_tracked(Snapshot snapshot)
{
	return IsolationIsSerializable() && IsMVCCSnapshot(snapshot);
}

/*
 * Lock a segment row, where it lies and where it has gone with others, and look who has deleted
 * it since the snapshot.  *tid is lost.
 */
static void
lock_packed(Relation table, ItemPointerData *tid, Snapshot snapshot)
{
	GpucolDirectory dir;

	PredicateLockPage(table, page_of_row(tid), snapshot);
	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return;
	(void) gpucol_view_row_deleted(&dir, snapshot, gpucol_tid_row(tid));
	while (gpucol_forward_packed(&dir, SnapshotAny, tid, NULL))
	{
		PredicateLockPage(table, page_of_row(tid), snapshot);
		(void) gpucol_view_row_deleted(&dir, snapshot, gpucol_tid_row(tid));
	}
	gpucol_directory_close(&dir);
}

void
gpucol_serial_read_packed(Relation table, uint64 row_number, Snapshot snapshot)
{
	ItemPointerData tid;

	if (!is_tracked(snapshot))
		return;
	gpucol_tid_set(&tid, row_number);
	lock_packed(table, &tid, snapshot);
}

void
gpucol_serial_miss_packed(Relation table, uint64 row_number, Snapshot snapshot)
{
	GpucolDirectory dir;
	GpucolViewSegment segment;

	if (!is_tracked(snapshot) || !gpucol_directory_open(&dir, table, AccessShareLock))
		return;
	(void) gpucol_view_lookup(&dir, snapshot, row_number, &segment);
	gpucol_directory_close(&dir);
}

void
gpucol_serial_read_delta(Relation table, TupleTableSlot *slot, Snapshot snapshot)
{
	ItemPointerData tid = slot->tts_tid;
	HeapTupleHeader header;
	TransactionId mover;

	if (!is_tracked(snapshot))
		return;
	PredicateLockPage(table, page_of_row(&tid), snapshot);
	header = ExecFetchSlotHeapTuple(slot, false, NULL)->t_data;
	if (!HeapTupleHeaderIndicatesMovedPartitions(header))
		return;
	mover = HeapTupleHeaderGetUpdateXid(header);
	if (TransactionIdDidAbort(mover))
		return;
	if (!gpucol_forward_find(table, mover, &tid))
	{
		PredicateLockRelation(table, snapshot);
		if (!gpucol_forward_find(table, mover, &tid))
			return;
	}
	lock_packed(table, &tid, snapshot);
}

void
gpucol_serial_write_packed(Relation table, uint64 row_number)
{
	ItemPointerData tid;

	gpucol_tid_set(&tid, row_number);
	CheckForSerializableConflictIn(table, NULL, page_of_row(&tid));
}

void
gpucol_serial_move(Relation table, const ItemPointerData *from, const ItemPointerData *to)
{
	BlockNumber old = page_of_row(from);
	BlockNumber new = page_of_row(to);

	if (old != new)
		PredicateLockPageSplit(table, old, new);
}
