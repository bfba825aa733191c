/*-------------------------------------------------------------------------
 *
 * directory.c
 *	  Reading and writing the directory rows in the table's TOAST relation.
 *
 * The rows are inserted with single heap_insert calls (those of directory_batch.c aside) under
 * HEAP_INSERT_NO_LOGICAL, so that logical decoding does not take them for TOAST
 * chunks, and entered into the TOAST relation's indexes as TOAST chunks are.
 *
 * Rows that belong to no transaction (the counter, the upkeep record, lock records) are
 * inserted as others are and frozen when the indexes have them: what a crash, an error or a
 * full disk cuts off before is a failed transaction's row, which VACUUM removes, and never
 * a lasting one that no index leads to.
 *
 * Two kinds of rows are changed in place, through generic WAL: the counter and the
 * upkeep record, and the entry of a segment that is being loaded, which nobody but its
 * loader can see.  Either is done under an
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

#include "columnar/burials.h"
#include "columnar/directory.h"
#include "columnar/directory_index.h"
#include "columnar/directory_value.h"
#include "columnar/rownum.h"
#include "compat.h"

#define SEQ_BITS	31
#define SEQ_MASK	((UINT64CONST(1) << SEQ_BITS) - 1)

bool
gpucol_directory_open(GpucolDirectory *dir, Relation table, LOCKMODE lockmode)
{
	Oid			toast_oid = table->rd_rel->reltoastrelid;

	if (!OidIsValid(toast_oid))
		return false;
	gpucol_burials_write_for(table);
	dir->table = table;
	dir->lockmode = lockmode;
	dir->context = CurrentMemoryContext;
	dir->nsure = 0;
	dir->identity = 0;
	dir->note_damage = NULL;
	dir->looked = (GpucolRowKey)
	{
		InvalidOid, 0
	};
	dir->probe = NULL;
	dir->probing = false;
	dir->peek = false;
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

void
gpucol_directory_close(GpucolDirectory *dir)
{
	LOCKMODE	release = dir->lockmode > AccessShareLock ? NoLock : dir->lockmode;

	if (dir->probe != NULL)
		index_endscan(dir->probe);
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

void
gpucol_directory_enter(GpucolDirectory *dir, int number, GpucolRowKey key, ItemPointer tid, bool unique)
{
	Relation	index = dir->indexes[number];
	Datum		values[2] = {ObjectIdGetDatum(key.id), Int32GetDatum(key.seq)};
	bool		isnull[2] = {false, false};

	/* mostly a scan has just looked for a row of this key */
	if (number != dir->valid || dir->looked.id != key.id || dir->looked.seq != key.seq)
		(void) gpucol_index_check(dir, index, key, key, NULL);
	if (gpucol_index_enter(dir, index, &key, tid, 1) == 0)
		index_insert(index, values, isnull, tid, dir->toast, unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false,
					 NULL);
}

ItemPointerData
gpucol_directory_insert(GpucolDirectory *dir, Oid id, int32 seq,
						const void *data, Size size, CommandId cid, int options,
						bool unique)
{
	GpucolRowKey key = {id, seq};
	HeapTuple	tuple = gpucol_value_form(dir->toast, gpucol_directory_identity(dir), id, seq,
										  data, size);
	ItemPointerData tid;

	heap_insert(dir->toast, tuple, cid, options | HEAP_INSERT_NO_LOGICAL, NULL);
	tid = tuple->t_self;
	heap_freetuple(tuple);
	gpucol_directory_open_indexes(dir);
	for (int i = 0; i < dir->nindexes; i++)
	{
		if (dir->indexes[i]->rd_index->indisready)
			gpucol_directory_enter(dir, i, key, &tid, unique);
	}
	return tid;
}

/* Freeze rows that lie on one page. */
static void
freeze_on_page(GpucolDirectory *dir, const ItemPointerData *tids, uint32 n)
{
	GpucolCompatFreeze *rows = palloc0(n * sizeof(GpucolCompatFreeze));
	Buffer		buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(&tids[0]));
	Page		page = BufferGetPage(buffer);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	for (uint32 i = 0; i < n; i++)
	{
		OffsetNumber offset = ItemPointerGetOffsetNumber(&tids[i]);
		HeapTupleHeader header = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));

		rows[i].offset = offset;
		rows[i].xmax = HeapTupleHeaderGetRawXmax(header);
		rows[i].t_infomask = header->t_infomask | HEAP_XMIN_FROZEN;
		rows[i].t_infomask2 = header->t_infomask2;
	}
	gpucol_compat_freeze(dir->toast, buffer, rows, (int) n);
	UnlockReleaseBuffer(buffer);
	pfree(rows);
}

void
gpucol_directory_freeze(GpucolDirectory *dir, const ItemPointerData *tids, uint32 n)
{
	uint32		same;

	for (uint32 i = 0; i < n; i += same)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&tids[i]);

		same = 1;
		while (i + same < n && ItemPointerGetBlockNumber(&tids[i + same]) == block)
			same++;
		freeze_on_page(dir, &tids[i], same);
	}
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

void
gpucol_directory_row_on_page(GpucolDirectory *dir, Page page, ItemPointer tid, Size size,
							 GpucolDirectoryTuple *row)
{
	HeapTupleData tuple;
	const char *problem;

	if (!gpucol_value_find(page, tid, &tuple))
		gpucol_value_damaged(dir, tid, InvalidOid, 0, "is not in its place");
	gpucol_value_read(&tuple, InvalidBuffer, row);
	row->tuple = NULL;
	problem = gpucol_value_problem(dir->table, dir->identity, row);
	if (problem == NULL && row->size != size)
		problem = "is of another kind";
	if (problem != NULL)
		gpucol_value_damaged(dir, tid, row->id, row->seq, problem);
}

void
gpucol_directory_overwrite(GpucolDirectory *dir, ItemPointer tid,
						   const void *data, Size size)
{
	uint64		identity = gpucol_directory_identity(dir);
	Buffer		buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(tid));
	GenericXLogState *state;
	GpucolDirectoryTuple row;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(dir->toast);
	gpucol_directory_row_on_page(dir, GenericXLogRegisterBuffer(state, buffer,
															   GENERIC_XLOG_FULL_IMAGE),
								 tid, size, &row);
	gpucol_value_replace(identity, &row, data);
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

uint32
gpucol_directory_count_bits(const GpucolDirectoryTuple *row, uint64 first, uint64 from,
							uint64 end)
{
	const uint8 *bits = row->data;
	uint32		n = 0;

	if (first >= from && first + GPUCOL_BITMAP_ROWS <= end)
		return (uint32) pg_popcount((const char *) bits, GPUCOL_BITMAP_BYTES);
	for (uint32 i = 0; i < GPUCOL_BITMAP_ROWS; i++)
	{
		if (first + i >= from && first + i < end)
			n += (bits[i / 8] >> (i % 8)) & 1;
	}
	return n;
}
