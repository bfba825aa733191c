/*-------------------------------------------------------------------------
 *
 * logical.c
 *	  What logical decoding needs of packed rows, written to WAL.
 *
 * Segments and tombstones mean nothing to logical decoding.  While a slot may want a
 * table's changes (decoding.c), each change of packed rows is written a second time, as
 * the record that heap writes of such a change: decoding, its plugins and their
 * subscribers see a heap table's.
 *
 * Replay does nothing to the table with these records.  Each carries the full image of a page,
 * and heap's redo functions leave a page alone that an image has restored.  The image is that
 * of an empty page of the table's free space map, behind what the table needs of it now: some
 * thirty bytes, since the hole of a page is left out.  Decoding asks a record's block for the
 * file of the table only, not for its fork.  The map holds hints, so an empty page of it is never
 * wrong, and nothing that reads WAL by blocks (pg_rewind, summaries for incremental backups)
 * takes note of it.
 *
 * Rows are written whole.  One that is too long for a record has its long values
 * written before it as chunks of the TOAST relation, of which decoding puts them together.
 * What is said of the old row is what REPLICA IDENTITY asks for, by heap's rules
 * (ExtractReplicaIdentity).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam_xlog.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fsm_internals.h"
#include "utils/memutils.h"

#include "columnar/logical.h"
#include "columnar/slot.h"
#include "compat.h"

/* Bytes of rows in a record, of which 16 bits say how long a row is and its block's data. */
#define RECORD_BYTES	60000

/* Rows in a record at most. */
#define RECORD_ROWS		1024

/* Bytes from which on a value of a row that is too long goes to chunks, and bytes of a chunk. */
#define LONG_VALUE		64
#define CHUNK_BYTES		32768

/* Have the record that is being made carry the image of an empty page (see above). */
static void
register_page(Relation rel)
{
	static PGAlignedBlock page;
	BlockNumber leaf = RelationGetNumberOfBlocks(rel) / SlotsPerFSMPage + 1;

	/* two levels above, and pages of the lower of them between the leaves */
	BlockNumber block = leaf + leaf / SlotsPerFSMPage + 2;

	if (PageIsNew((Page) page.data))
		PageInit((Page) page.data, BLCKSZ, 0);
	XLogRegisterBlock(0, &gpucol_compat_relation_locator(rel), FSM_FORKNUM, block,
					  (Page) page.data,
					  REGBUF_FORCE_IMAGE | REGBUF_STANDARD | REGBUF_KEEP_DATA);
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
}

static inline char *
tuple_data(HeapTuple tuple)
{
	return (char *) tuple->t_data + SizeofHeapTupleHeader;
}

static inline uint32
tuple_size(HeapTuple tuple)
{
	return tuple->t_len - SizeofHeapTupleHeader;
}

/* The header of a tuple as decoding reads it. */
static xl_heap_header
header_of(HeapTuple tuple)
{
	xl_heap_header header;

	header.t_infomask2 = tuple->t_data->t_infomask2;
	header.t_infomask = tuple->t_data->t_infomask;
	header.t_hoff = tuple->t_data->t_hoff;
	return header;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Write a chunk of a value as a row of the TOAST relation. */
static void
log_chunk(Relation toast, Oid id, int32 seq, const char *bytes, int32 n)
{
	struct varlena *data = palloc(n + VARHDRSZ);
	Datum		values[] = {ObjectIdGetDatum(id), Int32GetDatum(seq), PointerGetDatum(data)};
	bool		nulls[] = {false, false, false};
	xl_heap_insert record = {
		.offnum = FirstOffsetNumber,
		.flags = XLH_INSERT_CONTAINS_NEW_TUPLE | XLH_INSERT_ON_TOAST_RELATION
	};
	xl_heap_header header;
	HeapTuple	tuple;

	SET_VARSIZE(data, n + VARHDRSZ);
	memcpy(VARDATA(data), bytes, n);
	tuple = heap_form_tuple(RelationGetDescr(toast), values, nulls);
	header = header_of(tuple);
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfHeapInsert);
	register_page(toast);
	XLogRegisterBufData(0, (char *) &header, SizeOfHeapHeader);
	XLogRegisterBufData(0, tuple_data(tuple), tuple_size(tuple));
	XLogInsert(RM_HEAP_ID, XLOG_HEAP_INSERT);
	heap_freetuple(tuple);
	pfree(data);
}

/* Write a long value in chunks; returns the pointer to them. */
static Datum
log_value(Relation toast, Oid id, struct varlena *value)
{
	struct varatt_external pointer;
	struct varlena *result = palloc(TOAST_POINTER_SIZE);
	const char *bytes = VARDATA_ANY(value);
	int32		size = VARSIZE_ANY_EXHDR(value);

	for (int32 at = 0; at < size; at += CHUNK_BYTES)
		log_chunk(toast, id, at / CHUNK_BYTES, bytes + at, Min(size - at, CHUNK_BYTES));
	pointer.va_rawsize = size + VARHDRSZ;
	pointer.va_extinfo = size;
	if (VARATT_IS_COMPRESSED(value))
	{
		pointer.va_rawsize = VARDATA_COMPRESSED_GET_EXTSIZE(value) + VARHDRSZ;
		VARATT_EXTERNAL_SET_SIZE_AND_COMPRESS_METHOD(pointer, size,
													 VARDATA_COMPRESSED_GET_COMPRESS_METHOD(value));
	}
	pointer.va_valueid = id;
	pointer.va_toastrelid = RelationGetRelid(toast);
	SET_VARTAG_EXTERNAL(result, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(result), &pointer, sizeof(pointer));
	return PointerGetDatum(result);
}

/*
 * The row without its long values, which are written in chunks.  Decoding forgets the
 * chunks with the row, so it is enough that no two values of a row are called the same.
 */
static HeapTuple
log_values(Relation table, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(table);
	Relation	toast = table_open(table->rd_rel->reltoastrelid, AccessShareLock);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));

	heap_deform_tuple(tuple, desc, values, nulls);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!nulls[i] && att->attlen == -1 &&
			VARSIZE_ANY(DatumGetPointer(values[i])) >= LONG_VALUE)
			values[i] = log_value(toast, (Oid) att->attnum,
								  (struct varlena *) DatumGetPointer(values[i]));
	}
	table_close(toast, AccessShareLock);
	return heap_form_tuple(desc, values, nulls);
}

/* A row with all of its values in it. */
static HeapTuple
form_row(Relation table, Datum *values, bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(table);
	HeapTuple	tuple = heap_form_tuple(desc, values, isnull);

	return HeapTupleHasExternal(tuple) ? toast_flatten_tuple(tuple, desc) : tuple;
}

static inline bool
is_long(HeapTuple tuple)
{
	return tuple_size(tuple) > RECORD_BYTES;
}

/* The row as it fits into a record; writes its long values if it does not. */
static HeapTuple
fit_row(Relation table, HeapTuple tuple)
{
	if (is_long(tuple))
		tuple = log_values(table, tuple);
	if (is_long(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %u, maximum size %d", tuple_size(tuple),
						RECORD_BYTES)));
	return tuple;
}

/* ------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------
 */

/* What the rows of one call take. */
static MemoryContext rows_context = NULL;

/* Go to the memory of a call's rows; returns where to go back. */
static MemoryContext
enter(void)
{
	if (rows_context == NULL)
		rows_context = AllocSetContextCreate(TopMemoryContext, "gpucol decoded rows",
											 ALLOCSET_DEFAULT_SIZES);
	/* an error may have left something */
	MemoryContextReset(rows_context);
	return MemoryContextSwitchTo(rows_context);
}

static void
leave(MemoryContext back)
{
	MemoryContextSwitchTo(back);
	MemoryContextReset(rows_context);
}

/* ------------------------------------------------------------------------
 * Inserts
 * ------------------------------------------------------------------------
 */

/* Rows of a record to come. */
typedef struct Batch
{
	Relation	table;
	StringInfoData bytes;
	uint16		n;
} Batch;

/* Write the rows, if there are any. */
static void
write_batch(Batch *batch)
{
	static union
	{
		xl_heap_multi_insert head;
		char		bytes[SizeOfHeapMultiInsert + RECORD_ROWS * sizeof(OffsetNumber)];
	}			record;

	if (batch->n == 0)
		return;
	record.head.flags = XLH_INSERT_CONTAINS_NEW_TUPLE | XLH_INSERT_LAST_IN_MULTI;
	record.head.ntuples = batch->n;
	XLogBeginInsert();
	XLogRegisterData(record.bytes,
					 (int) (SizeOfHeapMultiInsert + batch->n * sizeof(OffsetNumber)));
	register_page(batch->table);
	XLogRegisterBufData(0, batch->bytes.data, batch->bytes.len);
	XLogInsert(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT);
	resetStringInfo(&batch->bytes);
	batch->n = 0;
}

/* Add a row. */
static void
add_row(Batch *batch, Datum *values, bool *isnull)
{
	HeapTuple	tuple = form_row(batch->table, values, isnull);
	bool		alone = is_long(tuple);
	xl_multi_insert_tuple head;

	/* decoding forgets a row's chunks at the end of the next record */
	if (alone)
		write_batch(batch);
	tuple = fit_row(batch->table, tuple);
	if (batch->n == RECORD_ROWS || batch->bytes.len + tuple_size(tuple) > RECORD_BYTES)
		write_batch(batch);
	if (batch->bytes.len % 2 != 0)
		appendStringInfoChar(&batch->bytes, 0);
	head.datalen = (uint16) tuple_size(tuple);
	head.t_infomask2 = tuple->t_data->t_infomask2;
	head.t_infomask = tuple->t_data->t_infomask;
	head.t_hoff = tuple->t_data->t_hoff;
	appendBinaryStringInfo(&batch->bytes, (char *) &head, SizeOfMultiInsertTuple);
	appendBinaryStringInfo(&batch->bytes, tuple_data(tuple), tuple_size(tuple));
	batch->n++;
	if (alone)
		write_batch(batch);
	heap_freetuple(tuple);
}

void
gpucol_logical_insert(Relation table, TupleTableSlot **slots, int n)
{
	MemoryContext back = enter();
	Batch		batch = {.table = table};

	initStringInfo(&batch.bytes);
	for (int i = 0; i < n; i++)
	{
		slot_getallattrs(slots[i]);
		add_row(&batch, slots[i]->tts_values, slots[i]->tts_isnull);
	}
	write_batch(&batch);
	leave(back);
}

void
gpucol_logical_insert_columns(Relation table, const Datum *const *values,
							  const bool *const *isnull, uint32 n)
{
	MemoryContext back = enter();
	TupleDesc	desc = RelationGetDescr(table);
	Datum	   *row = palloc0(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));
	Batch		batch = {.table = table};

	initStringInfo(&batch.bytes);
	for (uint32 at = 0; at < n; at++)
	{
		for (int i = 0; i < desc->natts; i++)
		{
			nulls[i] = TupleDescAttr(desc, i)->attisdropped || isnull[i][at];
			if (!nulls[i])
				row[i] = values[i][at];
		}
		add_row(&batch, row, nulls);
	}
	write_batch(&batch);
	leave(back);
}

/* ------------------------------------------------------------------------
 * Updates and deletes
 * ------------------------------------------------------------------------
 */

/* Has an update changed a column of the table's replica identity? */
static bool
identity_changes(Relation table, const Bitmapset *identity, TupleTableSlot *old,
				 TupleTableSlot *new)
{
	int			i = -1;

	while ((i = bms_next_member(identity, i)) >= 0)
	{
		int			attnum = i + FirstLowInvalidHeapAttributeNumber;

		if (!gpucol_slot_same_value(TupleDescAttr(RelationGetDescr(table), attnum - 1), old, new))
			return true;
	}
	return false;
}

/*
 * What is said of the old row, NULL where it is nothing: all of a table whose identity is FULL,
 * else the identity's columns, of an update (new is not NULL) only where it changes them.
 */
static HeapTuple
old_row(Relation table, TupleTableSlot *old, TupleTableSlot *new)
{
	TupleDesc	desc = RelationGetDescr(table);
	Bitmapset  *identity;
	bool	   *nulls;

	if (table->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		return NULL;
	slot_getallattrs(old);
	if (table->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return form_row(table, old->tts_values, old->tts_isnull);
	identity = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_IDENTITY_KEY);
	if (bms_is_empty(identity) ||
		(new != NULL && !identity_changes(table, identity, old, new)))
		return NULL;
	nulls = palloc(desc->natts * sizeof(bool));
	for (int i = 0; i < desc->natts; i++)
		nulls[i] = old->tts_isnull[i] ||
			!bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, identity);
	return form_row(table, old->tts_values, nulls);
}

/* Add what is said of the old row to the main data of a record. */
static void
register_old(HeapTuple old)
{
	static xl_heap_header header;	/* lasts until the record is written */

	if (old == NULL)
		return;
	header = header_of(old);
	XLogRegisterData((char *) &header, SizeOfHeapHeader);
	XLogRegisterData(tuple_data(old), tuple_size(old));
}

void
gpucol_logical_update(Relation table, TupleTableSlot *old, TupleTableSlot *new)
{
	MemoryContext back = enter();
	bool		full = table->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	HeapTuple	said = old_row(table, old, new);
	HeapTuple	tuple;
	xl_heap_update record = {
		.old_offnum = FirstOffsetNumber, .new_offnum = FirstOffsetNumber,
		.flags = XLH_UPDATE_CONTAINS_NEW_TUPLE
	};
	xl_heap_header header;

	slot_getallattrs(new);
	tuple = fit_row(table, form_row(table, new->tts_values, new->tts_isnull));
	header = header_of(tuple);
	if (said != NULL)
		record.flags |= full ? XLH_UPDATE_CONTAINS_OLD_TUPLE : XLH_UPDATE_CONTAINS_OLD_KEY;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfHeapUpdate);
	register_old(said);
	register_page(table);
	XLogRegisterBufData(0, (char *) &header, SizeOfHeapHeader);
	XLogRegisterBufData(0, tuple_data(tuple), tuple_size(tuple));
	XLogInsert(RM_HEAP_ID, XLOG_HEAP_UPDATE);
	leave(back);
}

void
gpucol_logical_delete(Relation table, TupleTableSlot *old)
{
	MemoryContext back = enter();
	bool		full = table->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	HeapTuple	said = old_row(table, old, NULL);
	xl_heap_delete record = {.offnum = FirstOffsetNumber};

	if (said != NULL)
		record.flags = full ? XLH_DELETE_CONTAINS_OLD_TUPLE : XLH_DELETE_CONTAINS_OLD_KEY;
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfHeapDelete);
	register_old(said);
	register_page(table);
	XLogInsert(RM_HEAP_ID, XLOG_HEAP_DELETE);
	leave(back);
}
