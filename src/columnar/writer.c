/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Buffered rows on their way into segments.
 *
 * A writer collects the rows that one command loads into one table in one
 * subtransaction, column by column, and writes a segment whenever
 * gpucol.segment_rows or the byte cap is reached.
 *
 * Before its first row a segment's directory entry is inserted, with no rows, by
 * the loading subtransaction and under the loading command's id; it is completed
 * in place once the pages are written and logged.  So the rows belong to the
 * right subtransaction and command whenever and in whatever nested
 * subtransaction the buffer is written, and row numbers that index entries
 * already use are covered by an entry in progress from the start, which is how
 * uniqueness checks and VACUUM of other sessions know them.
 *
 * Row numbers are reserved in growing steps and must be consecutive; where
 * another loader has reserved in between, the segment ends.  Numbers that were
 * never used are given back.
 *
 * Buffers are written: when a load ends (finish_bulk_insert), when another
 * command loads into the table, before this backend scans or fetches from the
 * table, and before commit or prepare.  A subtransaction's rollback forgets its
 * buffers; its commit hands them to the parent.  TRUNCATE gives the table new
 * storage, so buffers of the old one wait for the end of the transaction: a
 * rollback to a savepoint may bring it back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/toasting.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "replication/slot.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "columnar/directory.h"
#include "columnar/encode.h"
#include "columnar/page.h"
#include "columnar/segment.h"
#include "columnar/space.h"
#include "columnar/typemap.h"
#include "columnar/writer.h"
#include "compat.h"
#include "guc.h"

/* Bytes of buffered values after which a segment is written. */
#define BUFFER_LIMIT	((Size) 128 * 1024 * 1024)

/* Row numbers reserved at first. */
#define FIRST_RESERVE	1024

/*
 * How many times more the next segment of a load begins with after another
 * loader's reservation has ended one, so that loaders who run side by side soon
 * write full segments.
 */
#define RESERVE_GROWTH	8

/* Buffered values of one column. */
typedef struct WriterColumn
{
	AttrNumber	attnum;
	GpucolTypeMap map;			/* kind becomes BYTES if a value demands it */
	bool		narrow;			/* values are 32 bits wide in the buffer */
	bool		any_null;
	void	   *values;			/* uint32 or int64 by row */
	uint32	   *nulls;			/* bit by row */
	char	   *data;			/* BYTES: contents of all values ... */
	Size		data_used;
	Size		data_size;
	uint64	   *ends;			/* ... and where each row's ends */
	uint64		raw_bytes;
} WriterColumn;

struct GpucolWriter
{
	Oid			relid;
	Oid			file;			/* storage that the rows are for */
	SubTransactionId subid;
	CommandId	cid;
	int			options;		/* heap_insert's, for the directory entry */
	MemoryContext context;		/* the writer */
	MemoryContext buffers;		/* its values */
	MemoryContext row_context;
	int			ncolumns;
	WriterColumn *columns;
	uint32		capacity;		/* rows that the buffers hold */
	uint32		segment_rows;	/* rows of a full segment */
	uint32		reserve;		/* row numbers that a new segment begins with */
	uint32		nrows;
	Size		bytes;			/* buffered */
	bool		open;			/* an entry stands in the directory */
	GpucolSegmentEntry entry;
	ItemPointerData entry_tid;
};

/* Writers of this transaction. */
static List *writers = NIL;

/* ------------------------------------------------------------------------
 * Life of a writer
 * ------------------------------------------------------------------------
 */

/*
 * Would a logical decoding client miss rows that do not appear as heap tuples in
 * WAL?  Only if a logical slot of this database exists; one that is created
 * later waits for this transaction to end.
 */
static bool
is_decoded(Relation table)
{
	bool		found = false;

	if (!RelationIsLogicallyLogged(table) || max_replication_slots <= 0)
		return false;
	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !found; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		SpinLockAcquire(&slot->mutex);
		found = slot->in_use && slot->data.database == MyDatabaseId;
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

/*
 * Buffered rows are known to other sessions by their index entries only, without
 * values.  Uniqueness checks of plain btree keys need no more; exclusion
 * constraints, and keys computed from the row, do.
 */
static bool
indexes_allow_buffering(Relation table)
{
	List	   *indexes;
	ListCell   *lc;
	bool		allowed = true;

	if (!table->rd_rel->relhasindex)
		return true;
	indexes = RelationGetIndexList(table);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (index->rd_index->indisexclusion ||
			(index->rd_index->indisunique &&
			 (RelationGetIndexExpressions(index) != NIL ||
			  RelationGetIndexPredicate(index) != NIL)))
			allowed = false;
		index_close(index, NoLock);
	}
	list_free(indexes);
	return allowed;
}

/*
 * A table that a rewrite has just made from one without TOAST relation has none
 * either; make it.
 */
static bool
ensure_toast(Relation table)
{
	if (OidIsValid(table->rd_rel->reltoastrelid))
		return true;
	if (table->rd_createSubid == InvalidSubTransactionId ||
		!CheckRelationLockedByMe(table, AccessExclusiveLock, true))
		return false;
	NewHeapCreateToastTable(RelationGetRelid(table), (Datum) 0,
							AccessExclusiveLock, InvalidOid);
	CommandCounterIncrement();
	return OidIsValid(table->rd_rel->reltoastrelid);
}

/* Can rows of the table be buffered? */
static bool
can_buffer(Relation table)
{
	if (table->rd_rel->relkind != RELKIND_RELATION &&
		table->rd_rel->relkind != RELKIND_MATVIEW)
		return false;
	return !is_decoded(table) && indexes_allow_buffering(table) &&
		ensure_toast(table);
}

/* Set up a writer's columns; false if the table has none. */
static bool
init_columns(GpucolWriter *writer, Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	writer->columns = palloc0(Max(desc->natts, 1) * sizeof(WriterColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		WriterColumn *column = &writer->columns[writer->ncolumns];

		if (att->attisdropped)
			continue;
		column->attnum = att->attnum;
		gpucol_typemap_init(&column->map, att->atttypid, att->atttypmod,
							att->attcollation);
		column->narrow = column->map.typlen > 0 && column->map.typlen <= 4 &&
			column->map.kind != GPUCOL_KIND_BYTES;
		writer->ncolumns++;
	}
	return writer->ncolumns > 0;
}

static GpucolWriter *
create_writer(Relation table, CommandId cid, int options)
{
	MemoryContext context = AllocSetContextCreate(TopTransactionContext,
												  "gpucol writer",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolWriter *writer = palloc0(sizeof(GpucolWriter));

	writer->relid = RelationGetRelid(table);
	writer->file = gpucol_compat_relation_file(table);
	writer->subid = GetCurrentSubTransactionId();
	writer->cid = cid;
	writer->options = options;
	writer->context = context;
	writer->segment_rows = gpucol_segment_rows;
	writer->reserve = FIRST_RESERVE;
	writer->buffers = AllocSetContextCreate(context, "gpucol writer buffers",
											ALLOCSET_DEFAULT_SIZES);
	writer->row_context = AllocSetContextCreate(context, "gpucol writer row",
												ALLOCSET_DEFAULT_SIZES);
	if (!init_columns(writer, table))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return NULL;
	}
	MemoryContextSwitchTo(TopTransactionContext);
	writers = lcons(writer, writers);
	MemoryContextSwitchTo(old);
	return writer;
}

/* Forget a writer and what it holds. */
static void
discard_writer(GpucolWriter *writer)
{
	writers = list_delete_ptr(writers, writer);
	MemoryContextDelete(writer->context);
}

/* ------------------------------------------------------------------------
 * Buffering
 * ------------------------------------------------------------------------
 */

/* An array that holds `n` items of `size` bytes, grown from an old one. */
static void *
grow(GpucolWriter *writer, void *array, Size n, Size size)
{
	if (array == NULL)
		return MemoryContextAllocHuge(writer->buffers, n * size);
	return repalloc_huge(array, n * size);
}

/* Make room for more rows. */
static void
grow_buffers(GpucolWriter *writer)
{
	uint32		old_words = (writer->capacity + 31) / 32;
	uint32		words;

	writer->capacity = Min(Max(writer->capacity * 2, FIRST_RESERVE),
						   writer->segment_rows);
	words = (writer->capacity + 31) / 32;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];

		column->nulls = grow(writer, column->nulls, words, sizeof(uint32));
		memset(column->nulls + old_words, 0, (words - old_words) * sizeof(uint32));
		if (column->map.kind == GPUCOL_KIND_BYTES)
			column->ends = grow(writer, column->ends, writer->capacity, sizeof(uint64));
		else
			column->values = grow(writer, column->values, writer->capacity,
								  column->narrow ? sizeof(uint32) : sizeof(int64));
	}
}

/* Append the contents of a BYTES value for row r. */
static void
append_bytes(GpucolWriter *writer, WriterColumn *column, uint32 r, GpucolBytes bytes)
{
	if (column->data_used + bytes.len > column->data_size)
	{
		column->data_size = Max(column->data_size * 2,
								Max(column->data_used + bytes.len, (Size) 8192));
		column->data = grow(writer, column->data, column->data_size, 1);
	}
	if (bytes.len > 0)
		memcpy(column->data + column->data_used, bytes.data, bytes.len);
	column->data_used += bytes.len;
	column->ends[r] = column->data_used;
	column->raw_bytes += bytes.len;
	if (column->map.typlen == -1)
		column->raw_bytes += bytes.len < 127 ? 1 : VARHDRSZ;
	writer->bytes += bytes.len + sizeof(uint64);
}

/* The 64-bit form of a buffered value. */
static int64
buffered_value(const WriterColumn *column, uint32 r)
{
	uint32		bits;

	if (!column->narrow)
		return ((const int64 *) column->values)[r];
	bits = ((const uint32 *) column->values)[r];
	return gpucol_typemap_is_signed(&column->map) ? (int64) (int32) bits :
		(int64) bits;
}

/*
 * A value has no 64-bit form (numeric NaN): turn the column's buffer of r rows
 * into bytes.
 */
static void
convert_to_bytes(GpucolWriter *writer, WriterColumn *column, uint32 r)
{
	GpucolTypeMap bytes_map = column->map;

	column->raw_bytes = 0;
	bytes_map.kind = GPUCOL_KIND_BYTES;
	column->ends = grow(writer, NULL, writer->capacity, sizeof(uint64));
	for (uint32 i = 0; i < r; i++)
	{
		GpucolBytes bytes = {NULL, 0};

		if (((column->nulls[i / 32] >> (i % 32)) & 1) == 0)
		{
			Datum		value = gpucol_typemap_from_int64(&column->map,
														  buffered_value(column, i));

			bytes = gpucol_typemap_to_bytes(&bytes_map, value);
		}
		append_bytes(writer, column, i, bytes);
		MemoryContextReset(writer->row_context);
	}
	column->map = bytes_map;
	pfree(column->values);
	column->values = NULL;
}

/* Append a value for row r. */
static void
append_value(GpucolWriter *writer, WriterColumn *column, uint32 r, Datum value,
			 bool isnull)
{
	int64		bits = 0;

	if (isnull)
	{
		column->nulls[r / 32] |= UINT32_C(1) << (r % 32);
		column->any_null = true;
	}
	if (column->map.kind != GPUCOL_KIND_BYTES && !isnull &&
		!gpucol_typemap_to_int64(&column->map, value, &bits))
		convert_to_bytes(writer, column, r);
	if (column->map.kind == GPUCOL_KIND_BYTES)
	{
		GpucolBytes bytes = {NULL, 0};

		if (!isnull)
			bytes = gpucol_typemap_to_bytes(&column->map, value);
		append_bytes(writer, column, r, bytes);
		return;
	}
	if (column->narrow)
		((uint32 *) column->values)[r] = (uint32) bits;
	else
		((int64 *) column->values)[r] = bits;
	writer->bytes += column->narrow ? sizeof(uint32) : sizeof(int64);
	if (!isnull)
		column->raw_bytes += column->map.typlen > 0 ? column->map.typlen : 8;
}

/* ------------------------------------------------------------------------
 * Segments
 * ------------------------------------------------------------------------
 */

/* Put the entry of a new segment into the directory. */
static void
open_segment(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;
	uint64		first;
	Oid			id;
	int32		seq;

	CheckForSerializableConflictIn(table, NULL, InvalidBlockNumber);
	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(table))));
	memset(entry, 0, sizeof(*entry));
	entry->reserved = Min(writer->reserve, writer->segment_rows);
	gpucol_space_lock(table, AccessShareLock);
	gpucol_directory_reserve(&dir, entry->reserved, 0, &first);
	entry->first_row = first;
	gpucol_directory_seal(entry);
	gpucol_directory_key(GPUCOL_ID_SEGMENT, first, &id, &seq);
	writer->entry_tid = gpucol_directory_insert(&dir, id, seq, entry, sizeof(*entry),
												writer->cid, writer->options, true);
	gpucol_space_unlock(table, AccessShareLock);
	gpucol_directory_close(&dir);
	writer->open = true;
}

/* Reserve more row numbers for the open segment; false if they do not follow. */
static bool
extend_segment(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;
	uint32		more = Min(Max(writer->nrows, FIRST_RESERVE),
						   writer->segment_rows - writer->nrows);
	uint64		first;
	bool		done;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		return false;
	gpucol_space_lock(table, AccessShareLock);
	done = gpucol_directory_reserve(&dir, more, entry->first_row + entry->reserved,
									&first);
	if (done)
	{
		entry->reserved += more;
		gpucol_directory_seal(entry);
		gpucol_directory_overwrite(&dir, &writer->entry_tid, entry, sizeof(*entry));
	}
	else
		writer->reserve = Min(writer->reserve * RESERVE_GROWTH, writer->segment_rows);
	gpucol_space_unlock(table, AccessShareLock);
	gpucol_directory_close(&dir);
	return done;
}

/* Turn a status of the encoder into an error. */
static void
check_encoded(Relation table, GpucolStatus status)
{
	if (status == GPUCOL_OK)
		return;
	ereport(ERROR,
			(errcode(status == GPUCOL_OUT_OF_MEMORY ? ERRCODE_OUT_OF_MEMORY :
					 ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("could not pack a segment of table \"%s\"",
					RelationGetRelationName(table)),
			 status == GPUCOL_OUT_OF_MEMORY ? errdetail("Out of memory.") :
			 errdetail("The segment would be too large."),
			 errhint("Reduce gpucol.segment_rows.")));
}

/* Pack one column into the image. */
static void
encode_column(GpucolWriter *writer, Relation table, GpucolImage *image, int slot)
{
	WriterColumn *column = &writer->columns[slot];
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext,
													"gpucol encode column",
													ALLOCSET_DEFAULT_SIZES);
	GpucolEncodeColumn input = {
		.kind = column->map.kind,
		.scale = column->map.scale,
		.attnum = column->attnum,
		.type_oid = column->map.type_oid,
		.nulls = column->any_null ? column->nulls : NULL,
		.raw_bytes = column->raw_bytes
	};

	if (column->map.kind == GPUCOL_KIND_BYTES)
	{
		GpucolBytes *bytes = MemoryContextAllocHuge(temporary,
													writer->nrows * sizeof(GpucolBytes));
		uint64		start = 0;

		for (uint32 r = 0; r < writer->nrows; r++)
		{
			bytes[r].data = column->data + start;
			bytes[r].len = column->ends[r] - start;
			start = column->ends[r];
		}
		input.bytes = bytes;
	}
	else if (column->narrow)
	{
		int64_t    *values = MemoryContextAllocHuge(temporary,
													writer->nrows * sizeof(int64_t));

		for (uint32 r = 0; r < writer->nrows; r++)
			values[r] = buffered_value(column, r);
		input.values = values;
	}
	else
		input.values = (const int64_t *) column->values;
	check_encoded(table, gpucol_encode_column(image, slot, &input));
	MemoryContextDelete(temporary);
}

/* Pack the buffered rows and write the segment's pages. */
static void
write_pages(GpucolWriter *writer, Relation table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol segment image",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolMemory memory = gpucol_segment_memory(context);
	GpucolImage image;

	check_encoded(table, gpucol_encode_begin(&image, writer->ncolumns, writer->nrows,
											 writer->entry.first_row, &memory));
	for (int slot = 0; slot < writer->ncolumns; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		encode_column(writer, table, &image, slot);
	}
	check_encoded(table, gpucol_encode_finish(&image));
	writer->entry.raw_bytes = 0;
	for (int slot = 0; slot < writer->ncolumns; slot++)
		writer->entry.raw_bytes += writer->columns[slot].raw_bytes;
	writer->entry.nwords = image.nwords;
	writer->entry.npages = GPUCOL_PAGES(image.nwords);
	gpucol_space_claim(table, &writer->entry, &writer->entry_tid);
	gpucol_page_write(table, &image, &writer->entry);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Write the open segment and complete its entry; the buffers are empty then. */
static void
close_segment(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;
	uint32		reserved = entry->reserved;

	if (!writer->open)
		return;
	write_pages(writer, table);
	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(table))));
	entry->nrows = writer->nrows;
	entry->reserved = writer->nrows;
	gpucol_directory_seal(entry);
	gpucol_directory_overwrite(&dir, &writer->entry_tid, entry, sizeof(*entry));
	gpucol_directory_unreserve(&dir, entry->first_row + entry->nrows,
							   entry->first_row + reserved);
	gpucol_directory_close(&dir);
	pgstat_count_heap_insert(table, writer->nrows);

	writer->open = false;
	writer->nrows = 0;
	writer->bytes = 0;
	writer->capacity = 0;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(table),
											  column->attnum - 1);

		column->any_null = false;
		column->values = NULL;
		column->nulls = NULL;
		column->data = NULL;
		column->data_used = column->data_size = 0;
		column->ends = NULL;
		column->raw_bytes = 0;
		gpucol_typemap_init(&column->map, att->atttypid, att->atttypmod,
							att->attcollation);
	}
	MemoryContextReset(writer->buffers);
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

GpucolWriter *
gpucol_writer_find(Relation table, CommandId cid)
{
	ListCell   *lc;

	foreach(lc, writers)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid == RelationGetRelid(table) && writer->cid == cid &&
			writer->subid == GetCurrentSubTransactionId() &&
			writer->file == gpucol_compat_relation_file(table))
			return writer;
	}
	return NULL;
}

GpucolWriter *
gpucol_writer_get(Relation table, CommandId cid, int options)
{
	GpucolWriter *writer = gpucol_writer_find(table, cid);

	if (writer != NULL)
		return writer;
	if (!can_buffer(table))
		return NULL;
	gpucol_writer_flush(table);
	return create_writer(table, cid, options & HEAP_INSERT_FROZEN);
}

void
gpucol_writer_add(GpucolWriter *writer, Relation table, TupleTableSlot *slot)
{
	MemoryContext old;
	uint32		r;

	if (writer->open &&
		(writer->nrows == writer->segment_rows || writer->bytes >= BUFFER_LIMIT ||
		 (writer->nrows == writer->entry.reserved && !extend_segment(writer, table))))
		close_segment(writer, table);
	if (!writer->open)
		open_segment(writer, table);

	slot_getallattrs(slot);
	r = writer->nrows;
	if (r == writer->capacity)
		grow_buffers(writer);
	old = MemoryContextSwitchTo(writer->row_context);
	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];
		int			att = column->attnum - 1;

		append_value(writer, column, r, slot->tts_values[att], slot->tts_isnull[att]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->row_context);
	writer->nrows = r + 1;

	slot->tts_tableOid = RelationGetRelid(table);
	gpucol_tid_set(&slot->tts_tid, writer->entry.first_row + r);
}

void
gpucol_writer_flush(Relation table)
{
	List	   *all;
	ListCell   *lc;

	if (likely(writers == NIL))
		return;
	all = list_copy(writers);
	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid != RelationGetRelid(table) ||
			writer->file != gpucol_compat_relation_file(table))
			continue;
		close_segment(writer, table);
		discard_writer(writer);
	}
	list_free(all);
}

bool
gpucol_writer_pending(Relation table)
{
	ListCell   *lc;

	foreach(lc, writers)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid == RelationGetRelid(table) && writer->open &&
			writer->file == gpucol_compat_relation_file(table))
			return true;
	}
	return false;
}

void
gpucol_writer_forget(Relation table)
{
	List	   *all = list_copy(writers);
	ListCell   *lc;

	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid == RelationGetRelid(table) &&
			writer->file == gpucol_compat_relation_file(table))
			discard_writer(writer);
	}
	list_free(all);
}

/* Write all buffers; tables that are gone, or have new storage, need none. */
static void
flush_all(void)
{
	while (writers != NIL)
	{
		GpucolWriter *writer = linitial(writers);
		Relation	table = try_relation_open(writer->relid, NoLock);

		if (table != NULL)
		{
			if (writer->file == gpucol_compat_relation_file(table))
				close_segment(writer, table);
			relation_close(table, NoLock);
		}
		discard_writer(writer);
	}
}

static void
at_transaction_end(XactEvent event, void *arg pg_attribute_unused())
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			flush_all();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			/* the memory goes with the transaction's */
			writers = NIL;
			break;
		default:
			break;
	}
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg pg_attribute_unused())
{
	List	   *all;
	ListCell   *lc;

	if (writers == NIL || (event != SUBXACT_EVENT_ABORT_SUB &&
						   event != SUBXACT_EVENT_COMMIT_SUB))
		return;
	all = list_copy(writers);
	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			discard_writer(writer);
		else
			writer->subid = parent;
	}
	list_free(all);
}

void
gpucol_writer_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
}
