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
 * PostgreSQL makes a lock of the table of more than some dozens of such locks.  So who has read two rows of a block,
 * 256 packed ones or a page of the delta, locks the block for the others, by a page that stands for it in the same
 * way; so does who comes from the block before, which is locked, and who has locked many rows one by one, by one
 * scan or several.
 * Writers look at both.
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
#include "storage/proc.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/forward.h"
#include "columnar/rownum.h"
#include "columnar/serial.h"
#include "columnar/view.h"
#include "compat.h"

/* The page that stands for a row: none that a table has. */
static BlockNumber
page_of_row(const ItemPointerData *tid)
{
	uint32		hash = murmurhash32(ItemPointerGetBlockNumberNoCheck(tid) ^
									murmurhash32(ItemPointerGetOffsetNumberNoCheck(tid)));

	return UINT32_C(0x80000000) | (hash & UINT32_C(0x7ffffffe));
}

/* The page that stands for a row's block; of the delta, where heap's code locks pages too, it is the block. */
static BlockNumber
page_of_block(const ItemPointerData *tid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);

	if (!gpucol_tid_is_virtual(tid))
		return block;
	return UINT32_C(0x80000001) | (murmurhash32(block ^ UINT32_C(0x5bd1e995)) & UINT32_C(0x7ffffffc));
}

/* A block of which rows have been read one by one. */
typedef struct ReadBlock
{
	LocalTransactionId transaction;
	Oid			relid;
	BlockNumber block;
	OffsetNumber rows[2];		/* 0 = none */
	bool		whole;			/* the block is locked, */
	bool		known;			/* and then it was looked for what follows */
	bool		moved;			/* some row of it has been packed elsewhere */
	uint32		buried[GPUCOL_BLOCK_TIDS / 32];	/* rows that have a tombstone, anybody's */
} ReadBlock;

#define READ_BLOCKS		64

static ReadBlock read_blocks[READ_BLOCKS];

/* What a transaction's locks of single rows of a table count for: those of the delta are two each. */
typedef struct Spent
{
	LocalTransactionId transaction;
	Oid			relid;
	uint32		locks;
} Spent;

#define SPENT_TABLES	16

/* So many are enough, for rows that one scan finds one after another, and for others. */
#define MOST_IN_RUN		6
#define MOST_SPENT		20

/* So many rows of one scan are a run. */
#define RUN_ROWS		8

static bool in_run = false;

static Spent spent_by_table[SPENT_TABLES];

static Spent *
find_spent(Oid relid)
{
	Spent	   *spent = &spent_by_table[relid % SPENT_TABLES];

	if (spent->transaction != gpucol_compat_local_xid() || spent->relid != relid)
		*spent = (Spent) {gpucol_compat_local_xid(), relid, 0};
	return spent;
}

/* Has so much been spent on a table that blocks are to be locked? */
static bool
is_spent(Oid relid)
{
	return find_spent(relid)->locks >= (in_run ? MOST_IN_RUN : MOST_SPENT);
}

void
gpucol_serial_note_run(uint64 rows)
{
	in_run = rows > RUN_ROWS;
}

/* What has been read of a block; NULL = nothing that is known. */
static ReadBlock *
find_block(Oid relid, BlockNumber block)
{
	ReadBlock  *read = &read_blocks[(relid * 31 + block) % READ_BLOCKS];

	return read->transaction == gpucol_compat_local_xid() && read->relid == relid && read->block == block ? read : NULL;
}

/* Note that a row is read; is its whole block to be locked for it? */
static bool
wants_block(Oid relid, const ItemPointerData *tid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	OffsetNumber row = ItemPointerGetOffsetNumberNoCheck(tid);
	ReadBlock  *read = find_block(relid, block);

	if (read == NULL)
	{
		const ReadBlock *before = find_block(relid, block - 1);
		bool		whole = (before != NULL && before->whole) || is_spent(relid);

		read_blocks[(relid * 31 + block) % READ_BLOCKS] = (ReadBlock)
		{
			.transaction = gpucol_compat_local_xid(),.relid = relid,.block = block,.rows = {row},.whole = whole
		};
		return whole;
	}
	if (read->whole || read->rows[0] == row || read->rows[1] == row)
		return read->whole;
	if (read->rows[1] == InvalidOffsetNumber)
		read->rows[1] = row;
	else
		read->whole = true;
	return read->whole;
}

/* Lock a row, or the block in which it lies. */
static void
lock_row(Relation table, const ItemPointerData *tid, Snapshot snapshot)
{
	if (wants_block(RelationGetRelid(table), tid))
		PredicateLockPage(table, page_of_block(tid), snapshot);
	else
	{
		PredicateLockPage(table, page_of_row(tid), snapshot);
		find_spent(RelationGetRelid(table))->locks += gpucol_tid_is_virtual(tid) ? 1 : 2;
	}
}

/* Is this a snapshot whose reads SERIALIZABLE tracks? */
static bool
is_tracked(Snapshot snapshot)
{
	return IsolationIsSerializable() && IsMVCCSnapshot(snapshot);
}

/* Look which rows of a locked block have tombstones, and whether some have been packed elsewhere. */
static void
look_at_block(GpucolDirectory *dir, ReadBlock *read)
{
	ItemPointerData tid;
	uint64		first;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	ItemPointerSet(&tid, read->block, FirstOffsetNumber);
	first = gpucol_tid_row(&tid);
	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_TOMBSTONE, first, first + GPUCOL_BLOCK_TIDS - 1,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		uint64		i = gpucol_directory_number(GPUCOL_ID_TOMBSTONE, row.id, row.seq) - first;

		read->buried[i / 32] |= UINT32_C(1) << (i % 32);
	}
	gpucol_directory_scan_end(&scan);
	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_FORWARD, read->block, read->block,
								ForwardScanDirection);
	read->moved = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	read->known = true;
}

/*
 * Is it known that the row has neither been deleted nor packed elsewhere since its block was locked?  Who does that
 * later finds the lock.
 */
static bool
is_untouched(Relation table, const ItemPointerData *tid)
{
	const ReadBlock *read = find_block(RelationGetRelid(table), ItemPointerGetBlockNumberNoCheck(tid));
	uint32		i = ItemPointerGetOffsetNumberNoCheck(tid) - FirstOffsetNumber;

	return read != NULL && read->known && !read->moved && ((read->buried[i / 32] >> (i % 32)) & 1) == 0;
}

/*
 * Lock a segment row, where it lies and where it has gone with others, and look who has deleted
 * it since the snapshot.  *tid is lost.
 */
static void
lock_packed(Relation table, ItemPointerData *tid, Snapshot snapshot)
{
	GpucolDirectory dir;
	ReadBlock  *read;

	lock_row(table, tid, snapshot);
	if (is_untouched(table, tid) || !gpucol_directory_open(&dir, table, AccessShareLock))
		return;
	read = find_block(RelationGetRelid(table), ItemPointerGetBlockNumberNoCheck(tid));
	if (read != NULL && read->whole && !read->known)
		look_at_block(&dir, read);
	(void) gpucol_view_row_deleted(&dir, snapshot, gpucol_tid_row(tid));
	while (gpucol_forward_packed(&dir, SnapshotAny, tid, NULL))
	{
		lock_row(table, tid, snapshot);
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
gpucol_serial_enter_delta(Relation table, const ItemPointerData *tid, Snapshot snapshot)
{
	const ReadBlock *read;

	if (!is_tracked(snapshot))
		return;
	read = find_block(RelationGetRelid(table), ItemPointerGetBlockNumberNoCheck(tid));
	if (read != NULL ? read->whole : is_spent(RelationGetRelid(table)))
		PredicateLockPage(table, page_of_block(tid), snapshot);
}

void
gpucol_serial_read_delta(Relation table, TupleTableSlot *slot, Snapshot snapshot)
{
	ItemPointerData tid = slot->tts_tid;
	HeapTupleHeader header;
	TransactionId mover;

	if (!is_tracked(snapshot))
		return;
	lock_row(table, &tid, snapshot);
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
	CheckForSerializableConflictIn(table, NULL, page_of_block(&tid));
}

static void
move_lock(Relation table, BlockNumber from, BlockNumber to)
{
	if (from != to)
		PredicateLockPageSplit(table, from, to);
}

void
gpucol_serial_move(Relation table, const ItemPointerData *from, const ItemPointerData *to)
{
	move_lock(table, page_of_row(from), page_of_row(to));
	move_lock(table, page_of_block(from), page_of_block(to));
}
