/*-------------------------------------------------------------------------
 *
 * directory.c
 *	  Reading and writing the directory rows in the table's TOAST relation.
 *
 * The rows are inserted with single heap_insert calls under
 * HEAP_INSERT_NO_LOGICAL, so that logical decoding does not take them for TOAST
 * chunks, and entered into the TOAST relation's indexes as TOAST chunks are.
 *
 * Two kinds of rows are changed in place, through generic WAL: the counter and the
 * upkeep record, which are frozen and belong to no transaction, and the entry of a
 * segment that is being loaded, which nobody but its loader can see.  Either is done under an
 * exclusive lock of the one buffer; an in-place change is never undone.  It is
 * logged as an image of the page, because generic WAL knows nothing of hint bits:
 * without, the page on a standby would rightly differ in them, and
 * wal_consistency_checking would stop it.
 *
 * A reader locks the TOAST relation while it reads (VACUUM FULL of a TOAST
 * relation does not lock its table); a writer keeps RowExclusiveLock to the end
 * of the transaction, because it remembers places of rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/rownum.h"
#include "compat.h"
#include "kernel/crc32c.h"

/* Attributes of a TOAST relation. */
#define TOAST_ID	1
#define TOAST_SEQ	2
#define TOAST_DATA	3

#define SEQ_BITS	31
#define SEQ_MASK	((UINT64CONST(1) << SEQ_BITS) - 1)

bool
gpucol_directory_open(GpucolDirectory *dir, Relation table, LOCKMODE lockmode)
{
	Oid			toast_oid = table->rd_rel->reltoastrelid;

	if (!OidIsValid(toast_oid))
		return false;
	dir->table = table;
	dir->lockmode = lockmode;
	dir->context = CurrentMemoryContext;
	dir->probe = NULL;
	dir->slot = NULL;
	dir->probing = false;
	dir->toast = table_open(toast_oid, lockmode);

	dir->nblocks = lockmode == AccessShareLock ? RelationGetNumberOfBlocks(dir->toast) : 0;

	/*
	 * TRUNCATE rebuilds the table's indexes while the TOAST relation is empty
	 * already but its index is still the old one: do not follow it.
	 */
	if (lockmode == AccessShareLock && dir->nblocks == 0)
	{
		table_close(dir->toast, lockmode);
		return false;
	}
	dir->indexes = NULL;
	dir->nindexes = 0;
	return true;
}

void
gpucol_directory_open_indexes(GpucolDirectory *dir)
{
	MemoryContext old;

	if (dir->indexes != NULL)
		return;
	old = MemoryContextSwitchTo(dir->context);
	dir->valid = toast_open_indexes(dir->toast, dir->lockmode, &dir->indexes,
									&dir->nindexes);
	MemoryContextSwitchTo(old);
}

/* End an index scan for good. */
static void
end_probe(IndexScanDesc scan, TupleTableSlot *slot)
{
	ExecDropSingleTupleTableSlot(slot);
	index_endscan(scan);
}

void
gpucol_directory_close(GpucolDirectory *dir)
{
	LOCKMODE	release = dir->lockmode > AccessShareLock ? NoLock : dir->lockmode;

	if (dir->probe != NULL)
		end_probe(dir->probe, dir->slot);
	if (dir->indexes != NULL)
		toast_close_indexes(dir->indexes, dir->nindexes, release);
	table_close(dir->toast, release);
}

void
gpucol_directory_drop_invalid_indexes(Relation table)
{
	Oid			toast_oid = table->rd_rel->reltoastrelid;
	Relation	toast;
	List	   *indexes;
	ListCell   *lc;

	if (!OidIsValid(toast_oid))
		return;
	toast = table_open(toast_oid, AccessExclusiveLock);
	indexes = RelationGetIndexList(toast);
	table_close(toast, NoLock);
	foreach(lc, indexes)
	{
		ObjectAddress index;

		if (get_index_isvalid(lfirst_oid(lc)))
			continue;
		ObjectAddressSet(index, RelationRelationId, lfirst_oid(lc));
		performDeletion(&index, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	}
	list_free(indexes);
}

void
gpucol_directory_key(Oid base, uint64 number, Oid *id, int32 *seq)
{
	*id = base + (Oid) (number >> SEQ_BITS);
	*seq = (int32) (number & SEQ_MASK);
}

uint64
gpucol_directory_number(Oid base, Oid id, int32 seq)
{
	return ((uint64) (id - base) << SEQ_BITS) | (uint32) seq;
}

/* Keys of a scan: an id, or a range of ids, and a range of sequence numbers. */
#define SCAN_KEYS	3

/*
 * Give a scan an index scan: the one that the directory keeps, unless another scan
 * has it.
 */
static void
take_probe(GpucolDirectoryScan *scan)
{
	GpucolDirectory *dir = scan->dir;

	if (dir->probe != NULL && !dir->probing)
	{
		scan->scan = dir->probe;
		scan->scan->xs_snapshot = scan->snapshot;
		scan->slot = dir->slot;
	}
	else
	{
		MemoryContext old = MemoryContextSwitchTo(dir->context);

		gpucol_directory_open_indexes(dir);
		scan->scan = index_beginscan(dir->toast, dir->indexes[dir->valid], scan->snapshot,
									 GPUCOL_COMPAT_NO_INSTRUMENT SCAN_KEYS, 0);
		scan->slot = table_slot_create(dir->toast, NULL);
		MemoryContextSwitchTo(old);
	}
	if (dir->probe == NULL)
	{
		dir->probe = scan->scan;
		dir->slot = scan->slot;
	}
	if (scan->scan == dir->probe)
		dir->probing = true;
}

/* Give a scan's index scan back, which then holds no pin. */
static void
give_back_probe(GpucolDirectoryScan *scan)
{
	if (scan->scan == scan->dir->probe)
	{
		ExecClearTuple(scan->slot);
		index_rescan(scan->scan, scan->scan->keyData, SCAN_KEYS, NULL, 0);
		scan->dir->probing = false;
	}
	else
		end_probe(scan->scan, scan->slot);
	scan->scan = NULL;
}

/* Next tuple of the index scan. */
static HeapTuple
next_tuple(GpucolDirectoryScan *scan)
{
	bool		should_free;

	if (!index_getnext_slot(scan->scan, scan->direction, scan->slot))
		return NULL;
	return ExecFetchSlotHeapTuple(scan->slot, false, &should_free);
}

/* Scan one chunk_id of the range. */
static void
begin_id(GpucolDirectoryScan *scan)
{
	ScanKeyData keys[SCAN_KEYS];

	ScanKeyInit(&keys[0], TOAST_ID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(scan->id));
	ScanKeyInit(&keys[1], TOAST_SEQ, BTGreaterEqualStrategyNumber, F_INT4GE,
				Int32GetDatum(scan->id == scan->first_id ? scan->first_seq : 0));
	ScanKeyInit(&keys[2], TOAST_SEQ, BTLessEqualStrategyNumber, F_INT4LE,
				Int32GetDatum(scan->id == scan->last_id ? scan->last_seq :
							  PG_INT32_MAX));
	index_rescan(scan->scan, keys, SCAN_KEYS, NULL, 0);
}

/*
 * Find the next chunk_id of the range that has rows at all, and scan it.  The
 * ids of a range are few and mostly unused, so look rather than try each.
 */
static bool
begin_next_id(GpucolDirectoryScan *scan)
{
	bool		forward = ScanDirectionIsForward(scan->direction);
	ScanKeyData keys[SCAN_KEYS];
	HeapTuple	tuple;
	bool		isnull;

	ScanKeyInit(&keys[0], TOAST_ID, forward ? BTGreaterStrategyNumber :
				BTGreaterEqualStrategyNumber, forward ? F_OIDGT : F_OIDGE,
				ObjectIdGetDatum(forward ? scan->id : scan->first_id));
	ScanKeyInit(&keys[1], TOAST_ID, forward ? BTLessEqualStrategyNumber :
				BTLessStrategyNumber, forward ? F_OIDLE : F_OIDLT,
				ObjectIdGetDatum(forward ? scan->last_id : scan->id));
	ScanKeyInit(&keys[2], TOAST_SEQ, BTGreaterEqualStrategyNumber, F_INT4GE,
				Int32GetDatum(0));
	index_rescan(scan->scan, keys, SCAN_KEYS, NULL, 0);
	tuple = next_tuple(scan);
	if (tuple == NULL)
		return false;
	scan->id = DatumGetObjectId(fastgetattr(tuple, TOAST_ID,
											RelationGetDescr(scan->dir->toast),
											&isnull));
	ExecClearTuple(scan->slot);
	begin_id(scan);
	return true;
}

void
gpucol_directory_scan_begin(GpucolDirectoryScan *scan, GpucolDirectory *dir,
							Snapshot snapshot, Oid base, uint64 from, uint64 to,
							ScanDirection direction)
{
	scan->dir = dir;
	scan->snapshot = snapshot;
	scan->direction = direction;
	gpucol_directory_key(base, from, &scan->first_id, &scan->first_seq);
	gpucol_directory_key(base, to, &scan->last_id, &scan->last_seq);
	scan->id = ScanDirectionIsForward(direction) ? scan->first_id : scan->last_id;
	take_probe(scan);
	begin_id(scan);
}

void
gpucol_directory_read(GpucolDirectory *dir, HeapTuple tuple, Buffer buffer,
					  GpucolDirectoryTuple *row)
{
	TupleDesc	desc = RelationGetDescr(dir->toast);
	struct varlena *data;
	bool		isnull;

	row->id = DatumGetObjectId(fastgetattr(tuple, TOAST_ID, desc, &isnull));
	row->seq = DatumGetInt32(fastgetattr(tuple, TOAST_SEQ, desc, &isnull));
	data = (struct varlena *) DatumGetPointer(fastgetattr(tuple, TOAST_DATA,
														  desc, &isnull));
	row->data = VARDATA_ANY(data);
	row->size = VARSIZE_ANY_EXHDR(data);
	row->tid = tuple->t_self;
	row->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	row->tuple = tuple;
	row->buffer = buffer;
}

bool
gpucol_directory_scan_next(GpucolDirectoryScan *scan, GpucolDirectoryTuple *row)
{
	HeapTuple	tuple;

	while ((tuple = next_tuple(scan)) == NULL)
	{
		Oid			end = ScanDirectionIsForward(scan->direction) ?
			scan->last_id : scan->first_id;

		if (scan->id == end || !begin_next_id(scan))
		{
			give_back_probe(scan);
			return false;
		}
	}
	gpucol_directory_read(scan->dir, tuple, ((BufferHeapTupleTableSlot *) scan->slot)->buffer,
						  row);
	return true;
}

void
gpucol_directory_scan_end(GpucolDirectoryScan *scan)
{
	if (scan->scan != NULL)
		give_back_probe(scan);
}

ItemPointerData
gpucol_directory_insert(GpucolDirectory *dir, Oid id, int32 seq,
						const void *data, Size size, CommandId cid, int options,
						bool unique)
{
	Datum		values[3];
	bool		isnull[3] = {false, false, false};
	struct varlena *chunk = palloc(VARHDRSZ + size);
	HeapTuple	tuple;
	ItemPointerData tid;

	SET_VARSIZE(chunk, VARHDRSZ + size);
	memcpy(VARDATA(chunk), data, size);
	values[0] = ObjectIdGetDatum(id);
	values[1] = Int32GetDatum(seq);
	values[2] = PointerGetDatum(chunk);
	tuple = heap_form_tuple(RelationGetDescr(dir->toast), values, isnull);

	heap_insert(dir->toast, tuple, cid, options | HEAP_INSERT_NO_LOGICAL, NULL);
	gpucol_directory_open_indexes(dir);
	for (int i = 0; i < dir->nindexes; i++)
	{
		if (!dir->indexes[i]->rd_index->indisready)
			continue;
		index_insert(dir->indexes[i], values, isnull, &tuple->t_self, dir->toast,
					 unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, NULL);
	}
	tid = tuple->t_self;
	heap_freetuple(tuple);
	pfree(chunk);
	return tid;
}

void
gpucol_directory_delete(GpucolDirectory *dir, ItemPointer tid, CommandId cid)
{
	TM_FailureData failure;
	TM_Result	result;

	result = heap_delete(dir->toast, tid, cid, InvalidSnapshot, true, &failure,
						 false);
	if (result != TM_Ok)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access to the segment directory of table \"%s\" due to concurrent update",
						RelationGetRelationName(dir->table))));
}

/*
 * Pin and exclusively lock the page of a directory row, and find the row's data
 * in the given copy of the page.
 */
static void *
row_data_on_page(GpucolDirectory *dir, Page page, ItemPointer tid, Size size)
{
	ItemId		item = PageGetItemId(page, ItemPointerGetOffsetNumber(tid));
	HeapTupleData tuple;
	struct varlena *data;
	bool		isnull;

	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_self = *tid;
	tuple.t_tableOid = RelationGetRelid(dir->toast);
	data = (struct varlena *) DatumGetPointer(fastgetattr(&tuple, TOAST_DATA,
														  RelationGetDescr(dir->toast),
														  &isnull));
	if (VARSIZE_ANY_EXHDR(data) != size)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("segment directory of table \"%s\" is corrupt",
						RelationGetRelationName(dir->table)),
				 errdetail("A row has %zu bytes where %zu are expected.",
						   (size_t) VARSIZE_ANY_EXHDR(data), (size_t) size)));
	return VARDATA_ANY(data);
}

void
gpucol_directory_overwrite(GpucolDirectory *dir, ItemPointer tid,
						   const void *data, Size size)
{
	Buffer		buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(tid));
	GenericXLogState *state;
	Page		page;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(dir->toast);
	page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
	memcpy(row_data_on_page(dir, page, tid, size), data, size);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/*
 * A crash right after its insertion may leave a row that has no index entry until
 * a REINDEX, so of several the one whose number is highest counts.
 */
bool
gpucol_directory_find(GpucolDirectory *dir, Oid id, void *data, Size size,
					  ItemPointer tid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	char	   *copy = palloc(size);
	bool		found = false;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, id, 0, 0,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		if (row.size != size)
			continue;
		LockBuffer(row.buffer, BUFFER_LOCK_SHARE);
		memcpy(copy, row.data, size);
		LockBuffer(row.buffer, BUFFER_LOCK_UNLOCK);
		if (found && *(uint64 *) copy <= *(uint64 *) data)
			continue;
		found = true;
		*tid = row.tid;
		memcpy(data, copy, size);
	}
	gpucol_directory_scan_end(&scan);
	pfree(copy);
	return found;
}

void
gpucol_directory_make(GpucolDirectory *dir, Oid id, void *data, Size size,
					  ItemPointer tid)
{
	char	   *first = palloc(size);
	ItemPointerData lock;

	memcpy(first, data, size);
	if (!gpucol_directory_find(dir, id, data, size, tid))
	{
		gpucol_tid_set(&lock, 0);	/* no directory row's */
		LockTuple(dir->toast, &lock, ExclusiveLock);
		if (!gpucol_directory_find(dir, id, data, size, tid))
			*tid = gpucol_directory_insert(dir, id, 0, first, size,
										   GetCurrentCommandId(true),
										   HEAP_INSERT_FROZEN, false);
		UnlockTuple(dir->toast, &lock, ExclusiveLock);
	}
	pfree(first);
}

/* An in-place change of the counter, its buffer exclusively locked. */
typedef struct CounterChange
{
	GpucolCounter counter;		/* to be changed */
	Buffer		buffer;
	GenericXLogState *state;
	void	   *place;
} CounterChange;

static void
begin_change(CounterChange *change, GpucolDirectory *dir, ItemPointer tid)
{
	Page		page;

	change->buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(tid));
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	change->state = GenericXLogStart(dir->toast);
	page = GenericXLogRegisterBuffer(change->state, change->buffer,
									 GENERIC_XLOG_FULL_IMAGE);
	change->place = row_data_on_page(dir, page, tid, sizeof(GpucolCounter));
	memcpy(&change->counter, change->place, sizeof(GpucolCounter));
}

static void
finish_change(CounterChange *change)
{
	memcpy(change->place, &change->counter, sizeof(GpucolCounter));
	GenericXLogFinish(change->state);
	UnlockReleaseBuffer(change->buffer);
}

static void
abandon_change(CounterChange *change)
{
	GenericXLogAbort(change->state);
	UnlockReleaseBuffer(change->buffer);
}

bool
gpucol_directory_reserve(GpucolDirectory *dir, uint64 n, uint64 after,
						 uint64 *first)
{
	ItemPointerData tid;
	GpucolCounter born;
	CounterChange change;

	PreventCommandDuringRecovery("loading a segment");
	memset(&born, 0, sizeof(born));
	born.next_row = GPUCOL_BLOCK_TIDS;
	born.lacks = GPUCOL_LACKS_BITMAPS | GPUCOL_LACKS_LOCKS | GPUCOL_LACKS_TOMBSTONES;
	gpucol_directory_make(dir, GPUCOL_ID_COUNTER, &born, sizeof(born), &tid);

	begin_change(&change, dir, &tid);
	if ((after != 0 && change.counter.next_row != after) ||
		change.counter.next_row + n > GPUCOL_MAX_ROW_NUMBER)
	{
		abandon_change(&change);
		if (after != 0)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" has used up its segment row numbers",
						RelationGetRelationName(dir->table)),
				 errhint("VACUUM FULL starts them again.")));
	}
	*first = change.counter.next_row;
	change.counter.next_row += n;
	finish_change(&change);
	return true;
}

void
gpucol_directory_unreserve(GpucolDirectory *dir, uint64 first, uint64 end)
{
	ItemPointerData tid;
	GpucolCounter counter;
	CounterChange change;

	if (first >= end ||
		!gpucol_directory_find(dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter), &tid))
		return;
	begin_change(&change, dir, &tid);
	if (change.counter.next_row == end)
	{
		change.counter.next_row = first;
		finish_change(&change);
	}
	else
		abandon_change(&change);
}

/* ------------------------------------------------------------------------
 * Kinds of rows that are not there
 * ------------------------------------------------------------------------
 */

/* Where this session has found the counters of directories. */
typedef struct CounterPlace
{
	Oid			space;
	Oid			file;			/* of the TOAST relation; invalid = nothing known */
	ItemPointerData tid;
} CounterPlace;

#define KEPT_PLACES	64

static CounterPlace counter_places[KEPT_PLACES];

bool
gpucol_directory_is_lasting(Relation table)
{
	return !RELATION_IS_LOCAL(table) && !gpucol_compat_new_storage(table);
}

/*
 * The place of the directory's counter, which stays where it is as long as the file
 * lasts; false if it has none, or may be emptied in place.
 */
static bool
find_counter(GpucolDirectory *dir, ItemPointer tid)
{
	Oid			space = gpucol_compat_relation_space(dir->toast);
	Oid			file = gpucol_compat_relation_file(dir->toast);
	CounterPlace *place = &counter_places[file % KEPT_PLACES];
	GpucolCounter counter;

	if (!gpucol_directory_is_lasting(dir->table))
		return false;
	if (place->file != file || place->space != space)
	{
		place->file = InvalidOid;
		if (!gpucol_directory_find(dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter),
								   &place->tid))
			return false;
		place->space = space;
		place->file = file;
	}
	*tid = place->tid;
	return true;
}

uint64
gpucol_directory_lacks(GpucolDirectory *dir)
{
	ItemPointerData tid;
	GpucolCounter counter;
	Buffer		buffer;

	if (!find_counter(dir, &tid))
		return 0;
	buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(&tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(&counter, row_data_on_page(dir, BufferGetPage(buffer), &tid, sizeof(counter)),
		   sizeof(counter));
	UnlockReleaseBuffer(buffer);
	return counter.lacks;
}

void
gpucol_directory_admit(GpucolDirectory *dir, uint64 kind)
{
	ItemPointerData tid;
	GpucolCounter counter;
	CounterChange change;

	if (find_counter(dir, &tid) && (gpucol_directory_lacks(dir) & kind) == 0)
		return;
	if (!gpucol_directory_find(dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter), &tid) ||
		(counter.lacks & kind) == 0)
		return;
	begin_change(&change, dir, &tid);
	change.counter.lacks &= ~kind;
	finish_change(&change);
}

uint64
gpucol_directory_next_row(GpucolDirectory *dir)
{
	ItemPointerData tid;
	GpucolCounter counter;

	return gpucol_directory_find(dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter),
								 &tid) ? counter.next_row : 0;
}

uint32
gpucol_directory_count_bits(const GpucolDirectoryTuple *row, uint64 first, uint64 from,
							uint64 end)
{
	const uint8 *bits = row->data;
	uint32		n = 0;

	if (row->size != GPUCOL_BITMAP_BYTES)
		return 0;
	if (first >= from && first + GPUCOL_BITMAP_ROWS <= end)
		return (uint32) pg_popcount((const char *) bits, GPUCOL_BITMAP_BYTES);
	for (uint32 i = 0; i < GPUCOL_BITMAP_ROWS; i++)
	{
		if (first + i >= from && first + i < end)
			n += (bits[i / 8] >> (i % 8)) & 1;
	}
	return n;
}

/* CRC-32C of an entry as if its crc were 0. */
static uint32
entry_crc(const GpucolSegmentEntry *entry)
{
	GpucolSegmentEntry copy = *entry;

	copy.crc = 0;
	return gpucol_crc32c(0, &copy, sizeof(copy));
}

void
gpucol_directory_seal(GpucolSegmentEntry *entry)
{
	entry->crc = entry_crc(entry);
}

void
gpucol_directory_check(Relation table, const GpucolDirectoryTuple *row)
{
	GpucolSegmentEntry entry;
	uint64		key = gpucol_directory_number(GPUCOL_ID_SEGMENT, row->id, row->seq);

	if (row->size == sizeof(entry))
	{
		memcpy(&entry, row->data, sizeof(entry));
		if (entry.first_row == key && entry.nextents <= GPUCOL_MAX_EXTENTS &&
			entry.crc == entry_crc(&entry))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("segment directory of table \"%s\" is corrupt",
					RelationGetRelationName(table)),
			 errdetail("The entry of segment " UINT64_FORMAT " fails its checks.",
					   key)));
}
