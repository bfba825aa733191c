/*-------------------------------------------------------------------------
 *
 * directory_scan.c
 *	  Scans of directory rows by key.
 *
 * The TOAST relation's index tells where rows are.  Then nothing is believed: an
 * entry must lead to a tuple that lies within its page, has the entry's key, and
 * passes its checks (directory_value.c).  The scan has the index keep the page of
 * an entry pinned, which holds VACUUM off, so that an entry that leads nowhere is
 * damage and no race.  PostgreSQL's own fetch would pass over it in silence.
 *
 * What heap's fetch does beside that is done here too: visibility, marks of
 * serializable transactions, and telling the index of dead rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/procarray.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/directory_index.h"
#include "columnar/directory_value.h"
#include "columnar/page.h"
#include "compat.h"

/* Attributes of a TOAST relation. */
#define TOAST_ID	1
#define TOAST_SEQ	2

/* Keys of a scan: an id, or a range of ids, and a range of sequence numbers. */
#define SCAN_KEYS	3

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

bool
gpucol_directory_read(GpucolDirectory *dir, Buffer buffer, ItemPointer tid,
					  HeapTuple tuple, GpucolDirectoryTuple *row)
{
	if (!gpucol_value_find(BufferGetPage(buffer), tid, tuple))
		return false;
	tuple->t_tableOid = RelationGetRelid(dir->toast);
	gpucol_value_read(tuple, buffer, row);
	return gpucol_value_problem(dir->table, dir->identity, row) == NULL;
}

/*
 * Does the snapshot see a row whose buffer is locked?  Serializable ones note who has written
 * it since; they lock rows of the table or all of it, not of the directory (serial.c).
 */
static bool
is_visible(GpucolDirectory *dir, Snapshot snapshot, const GpucolDirectoryTuple *row)
{
	bool		visible = HeapTupleSatisfiesVisibility(row->tuple, snapshot, row->buffer);

	if (!dir->peek)
		HeapCheckForSerializableConflictOut(visible, dir->toast, row->tuple, row->buffer, snapshot);
	return visible;
}

bool
gpucol_directory_fetch(GpucolDirectory *dir, Snapshot snapshot, const ItemPointerData *tid,
					   Oid id, int32 seq, void *data, Size size, TransactionId *xmin)
{
	static Buffer recent = InvalidBuffer;	/* mostly the counter's */
	ItemPointerData place = *tid;
	HeapTupleData tuple;
	GpucolDirectoryTuple row;
	Buffer		buffer;
	bool		found;

	if (id != GPUCOL_ID_COUNTER)
		(void) gpucol_directory_identity(dir);
	/* VACUUM may have cut off its page */
	if (ItemPointerGetBlockNumber(tid) >= dir->nsure)
	{
		if (dir->nblocks == 0)
			dir->nblocks = RelationGetNumberOfBlocks(dir->toast);
		if (ItemPointerGetBlockNumber(tid) >= dir->nblocks)
			return false;
	}
	buffer = gpucol_page_read_again(dir->toast, ItemPointerGetBlockNumber(tid), &recent);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found = gpucol_directory_read(dir, buffer, &place, &tuple, &row) &&
		row.id == id && row.seq == seq && row.size == size &&
		is_visible(dir, snapshot, &row);
	if (found)
	{
		memcpy(data, row.data, size);
		*xmin = row.xmin;
	}
	UnlockReleaseBuffer(buffer);
	return found;
}

/* ------------------------------------------------------------------------
 * Scans
 * ------------------------------------------------------------------------
 */

/*
 * Give a scan an index scan: the one that the directory keeps, unless another scan
 * has it.  Its own snapshot is none that locks pages of the index; the rows are looked at
 * under the scan's.
 */
static void
take_probe(GpucolDirectoryScan *scan)
{
	GpucolDirectory *dir = scan->dir;

	if (dir->probe != NULL && !dir->probing)
	{
		scan->scan = dir->probe;
	}
	else
	{
		MemoryContext old = MemoryContextSwitchTo(dir->context);

		gpucol_directory_open_indexes(dir);
		scan->scan = index_beginscan(dir->toast, dir->indexes[dir->valid], SnapshotAny,
									 GPUCOL_COMPAT_NO_INSTRUMENT SCAN_KEYS, 0);
		scan->scan->xs_want_itup = true;
		MemoryContextSwitchTo(old);
	}
	if (dir->probe == NULL)
		dir->probe = scan->scan;
	if (scan->scan == dir->probe)
		dir->probing = true;
}

/* Give a scan's index scan back, which then holds no pin. */
static void
give_back_probe(GpucolDirectoryScan *scan)
{
	if (BufferIsValid(scan->buffer))
		ReleaseBuffer(scan->buffer);
	scan->buffer = InvalidBuffer;
	if (scan->scan == scan->dir->probe)
	{
		index_rescan(scan->scan, scan->scan->keyData, SCAN_KEYS, NULL, 0);
		scan->dir->probing = false;
	}
	else
		index_endscan(scan->scan);
	scan->scan = NULL;
}

/* The key of the index entry at hand. */
static GpucolRowKey
key_of_entry(const GpucolDirectoryScan *scan)
{
	IndexTuple	entry = scan->scan->xs_itup;
	TupleDesc	desc = scan->scan->xs_itupdesc;
	bool		isnull;

	return (GpucolRowKey)
	{
		DatumGetObjectId(index_getattr(entry, TOAST_ID, desc, &isnull)),
			DatumGetInt32(index_getattr(entry, TOAST_SEQ, desc, &isnull))
	};
}

/*
 * Note the index entry at hand; false if it does not come behind the last one, as
 * where damage has made a circle of the index.
 */
static bool
note_entry(GpucolDirectoryScan *scan, ItemPointer place, GpucolRowKey key)
{
	bool		forward = ScanDirectionIsForward(scan->direction);
	bool		ordered = true;

	if (scan->any_entry)
	{
		int			order = scan->entry.id != key.id ? (scan->entry.id < key.id ? -1 : 1) :
			scan->entry.seq != key.seq ? (scan->entry.seq < key.seq ? -1 : 1) :
			ItemPointerCompare(&scan->entry_tid, place);

		ordered = forward ? order < 0 : order > 0;
	}
	scan->any_entry = true;
	scan->entry = key;
	scan->entry_tid = *place;
	return ordered;
}

/* Pin the page of an index entry; false if the relation ends before. */
static bool
pin_page(GpucolDirectoryScan *scan, BlockNumber block)
{
	GpucolDirectory *dir = scan->dir;

	if (BufferIsValid(scan->buffer) && BufferGetBlockNumber(scan->buffer) == block)
		return true;
	if (block >= dir->nblocks)
		dir->nblocks = RelationGetNumberOfBlocks(dir->toast);
	if (block >= dir->nblocks)
		return false;
	scan->buffer = ReleaseAndReadBuffer(scan->buffer, dir->toast, block);
	return true;
}

GpucolPlace
gpucol_directory_look(GpucolDirectory *dir, Buffer buffer, ItemPointer place, GpucolRowKey key,
					  HeapTuple tuple, GpucolDirectoryTuple *row, const char **problem)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(place);

	if (!gpucol_value_find(page, place, tuple))
	{
		if (offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page) &&
			ItemIdIsDead(PageGetItemId(page, offset)) &&
			!ItemIdHasStorage(PageGetItemId(page, offset))) /* pruning leaves it none */
			return GPUCOL_PLACE_PRUNED;
		*problem = "is not where its index entry says";
		return GPUCOL_PLACE_WRONG;
	}
	tuple->t_tableOid = RelationGetRelid(dir->toast);
	gpucol_value_read(tuple, buffer, row);
	if (row->id != key.id || row->seq != key.seq)
	{
		*problem = "is another one than its index entry says";
		return GPUCOL_PLACE_WRONG;
	}
	*problem = gpucol_value_problem(dir->table, dir->identity, row);
	return *problem == NULL ? GPUCOL_PLACE_ROW : GPUCOL_PLACE_DAMAGED;
}

/*
 * Look at the place that an index entry leads to, on a locked page, for a row of the
 * entry's key.  True if the snapshot sees it; *problem is set if something is
 * wrong.
 */
static bool
look(GpucolDirectoryScan *scan, ItemPointer place, GpucolDirectoryTuple *row,
	 const char **problem)
{
	GpucolDirectory *dir = scan->dir;

	switch (gpucol_directory_look(dir, scan->buffer, place, scan->entry, &scan->tuple, row, problem))
	{
		case GPUCOL_PLACE_PRUNED:
			scan->scan->kill_prior_tuple = !scan->scan->xactStartedInRecovery;
			return false;
		case GPUCOL_PLACE_WRONG:
			return false;
		case GPUCOL_PLACE_DAMAGED:
			if (dir->note_damage != NULL)
				*problem = NULL;	/* gpucol.verify looks at rows by themselves, too */
			return false;
		case GPUCOL_PLACE_ROW:
			break;
	}
	if (is_visible(dir, scan->snapshot, row))
		return true;
	scan->scan->kill_prior_tuple = !scan->scan->xactStartedInRecovery &&
		HeapTupleIsSurelyDead(row->tuple, GlobalVisTestFor(dir->toast));
	return false;
}

/* Note a row that the snapshot sees; false if it has seen the row's key before. */
static bool
note_seen(GpucolDirectoryScan *scan, const GpucolDirectoryTuple *row)
{
	bool		again = scan->any_seen && scan->seen.id == row->id &&
		scan->seen.seq == row->seq;

	scan->any_seen = true;
	scan->seen = (GpucolRowKey)
	{
		row->id, row->seq
	};
	return !again || !IsMVCCSnapshot(scan->snapshot) || gpucol_value_kind(row->id)->repeated;
}

/* Go where an index entry leads; false if the snapshot sees no row there. */
static bool
visit(GpucolDirectoryScan *scan, ItemPointer place, GpucolDirectoryTuple *row)
{
	GpucolDirectory *dir = scan->dir;
	GpucolRowKey key = key_of_entry(scan);
	const char *problem = NULL;
	bool		found = false;

	row->id = key.id;
	row->seq = key.seq;
	if (!note_entry(scan, place, key))
	{
		problem = "has an index entry out of order";
		scan->broken = true;
	}
	else if (!pin_page(scan, ItemPointerGetBlockNumberNoCheck(place)))
		problem = "lies behind the end of the relation";
	else
	{
		if (scan->base != GPUCOL_ID_COUNTER)
			(void) gpucol_directory_identity(dir);
		LockBuffer(scan->buffer, BUFFER_LOCK_SHARE);
		found = look(scan, place, row, &problem);
		if (found && gpucol_value_kind(row->id)->in_place)
			row->data = memcpy(&scan->copy, row->data, row->size);
		LockBuffer(scan->buffer, BUFFER_LOCK_UNLOCK);
	}
	if (found && !note_seen(scan, row))
		problem = "stands there twice";
	if (problem != NULL)
		gpucol_value_damaged(dir, place, row->id, row->seq, problem);
	return found && problem == NULL;
}

/* Next row of the id being scanned. */
static bool
next_row(GpucolDirectoryScan *scan, GpucolDirectoryTuple *row)
{
	ItemPointer place;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (scan->any_entry && ScanDirectionIsForward(scan->direction) &&
			!gpucol_index_check_ahead(scan->dir, scan->scan->indexRelation, scan->entry,
									  &scan->ahead))
			scan->broken = true;
		if (scan->broken)
			return false;
		place = index_getnext_tid(scan->scan, scan->direction);
		if (place == NULL)
			return false;
		if (visit(scan, place, row))
			return true;
	}
}

/* Look at the index where a scan of the keys from .. to is to begin, and begin it. */
static void
begin_range(GpucolDirectoryScan *scan, GpucolRowKey from, GpucolRowKey to, ScanKey keys)
{
	bool		forward = ScanDirectionIsForward(scan->direction);

	if (!gpucol_index_check(scan->dir, scan->scan->indexRelation, from, to,
							forward ? &scan->ahead : NULL))
		scan->broken = true;
	scan->dir->looked = from;
	index_rescan(scan->scan, keys, SCAN_KEYS, NULL, 0);
}

/* Scan one chunk_id of the range. */
static void
begin_id(GpucolDirectoryScan *scan)
{
	GpucolRowKey from = {scan->id, scan->id == scan->first.id ? scan->first.seq : 0};
	GpucolRowKey to = {scan->id, scan->id == scan->last.id ? scan->last.seq : PG_INT32_MAX};
	ScanKeyData keys[SCAN_KEYS];

	ScanKeyInit(&keys[0], TOAST_ID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(scan->id));
	ScanKeyInit(&keys[1], TOAST_SEQ, BTGreaterEqualStrategyNumber, F_INT4GE,
				Int32GetDatum(from.seq));
	ScanKeyInit(&keys[2], TOAST_SEQ, BTLessEqualStrategyNumber, F_INT4LE,
				Int32GetDatum(to.seq));
	begin_range(scan, from, to, keys);
}

/*
 * Find the next chunk_id of the range that has entries at all, and scan it.  The
 * ids of a range are few and mostly unused, so look rather than try each.
 */
static bool
begin_next_id(GpucolDirectoryScan *scan)
{
	bool		forward = ScanDirectionIsForward(scan->direction);
	GpucolRowKey from = {forward ? scan->id + 1 : scan->first.id, 0};
	GpucolRowKey to = {forward ? scan->last.id : scan->id - 1, PG_INT32_MAX};
	ScanKeyData keys[SCAN_KEYS];
	ItemPointer place;
	GpucolRowKey key;

	ScanKeyInit(&keys[0], TOAST_ID, BTGreaterEqualStrategyNumber, F_OIDGE,
				ObjectIdGetDatum(from.id));
	ScanKeyInit(&keys[1], TOAST_ID, BTLessEqualStrategyNumber, F_OIDLE,
				ObjectIdGetDatum(to.id));
	ScanKeyInit(&keys[2], TOAST_SEQ, BTGreaterEqualStrategyNumber, F_INT4GE,
				Int32GetDatum(0));
	begin_range(scan, from, to, keys);
	if (scan->broken)
		return false;
	place = index_getnext_tid(scan->scan, scan->direction);
	if (place == NULL)
		return false;
	key = key_of_entry(scan);
	if (key.id < from.id || key.id > to.id)
	{
		gpucol_value_damaged(scan->dir, place, key.id, key.seq,
							 "has an index entry out of order");
		return false;
	}
	scan->id = key.id;
	begin_id(scan);
	return true;
}

/* Does the scan look for one key, of a kind that mostly is not there, and is it not? */
static bool
is_in_vain(GpucolDirectoryScan *scan)
{
	GpucolDirectory *dir = scan->dir;

	if (scan->base < GPUCOL_ID_BITMAP || dir->note_damage != NULL ||
		scan->first.id != scan->last.id || scan->first.seq != scan->last.seq)
		return false;
	gpucol_directory_open_indexes(dir);
	return gpucol_index_lacks(dir, dir->indexes[dir->valid], scan->first);
}

void
gpucol_directory_scan_begin(GpucolDirectoryScan *scan, GpucolDirectory *dir,
							Snapshot snapshot, Oid base, uint64 from, uint64 to,
							ScanDirection direction)
{
	scan->dir = dir;
	scan->snapshot = snapshot;
	scan->direction = direction;
	scan->base = base;
	gpucol_directory_key(base, from, &scan->first.id, &scan->first.seq);
	gpucol_directory_key(base, to, &scan->last.id, &scan->last.seq);
	scan->id = ScanDirectionIsForward(direction) ? scan->first.id : scan->last.id;
	scan->buffer = InvalidBuffer;
	scan->broken = false;
	scan->any_entry = false;
	scan->any_seen = false;
	scan->scan = NULL;
	if (is_in_vain(scan))
		return;
	if (base != GPUCOL_ID_COUNTER)
		(void) gpucol_directory_identity(dir);
	take_probe(scan);
	begin_id(scan);
}

bool
gpucol_directory_scan_next(GpucolDirectoryScan *scan, GpucolDirectoryTuple *row)
{
	if (scan->scan == NULL)
		return false;
	while (!next_row(scan, row))
	{
		Oid			end = ScanDirectionIsForward(scan->direction) ?
			scan->last.id : scan->first.id;

		if (scan->broken || scan->id == end || !begin_next_id(scan))
		{
			give_back_probe(scan);
			return false;
		}
	}
	return true;
}

void
gpucol_directory_scan_end(GpucolDirectoryScan *scan)
{
	if (scan->scan != NULL)
		give_back_probe(scan);
}
