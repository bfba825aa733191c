/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Buffered rows on their way into segments.
 *
 * A writer collects the rows that one command loads into one table in one
 * subtransaction, column by column, and writes a segment whenever
 * gpucol.segment_rows or the byte cap is reached.
 * Rows are taken over in batches, a column at a time; those that come one by one are held
 * until they are a batch (held_rows.c).  Values of BYTES are numbered by a dictionary as
 * they are taken over, and kept whole from where none pays.
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
 * another loader has reserved in between, the segment ends.  Numbers that no row has
 * got are given back when the segment's entry is completed, and only then; README,
 * section 12, has the rules.
 *
 * Buffers are written: when a load ends (finish_bulk_insert, or the statement's end
 * before its AFTER triggers), when another command loads into the table, before this
 * backend or its parallel workers scan or fetch from the table, and before commit or
 * prepare.  A subtransaction's rollback forgets its
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
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "columnar/decoding.h"
#include "columnar/directory.h"
#include "columnar/encode.h"
#include "columnar/held_rows.h"
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

/* Rows that are taken over column by column. */
#define BATCH_ROWS		GPUCOL_HELD_ROWS

/* The same where they arrive as columns. */
#define COLUMN_ROWS		1024

/* Buffered values of one column; arrays are kept from segment to segment. */
typedef struct WriterColumn
{
	AttrNumber	attnum;
	GpucolTypeMap declared;		/* as it was when the command began */
	GpucolTypeMap map;			/* kind becomes BYTES if a value demands it */
	bool		narrow;			/* values are 32 bits wide in the buffer */
	bool		coded;			/* BYTES: in a dictionary, else in data */
	bool		any_null;
	uint32	   *nulls;			/* bit by row */
	void	   *values;			/* all but BYTES: uint32 or int64 by row */
	GpucolDict	dict;			/* distinct values ... */
	uint32	   *codes;			/* ... and their numbers by row */
	char	   *data;			/* contents of all values ... */
	Size		data_used;
	Size		data_size;
	uint64	   *ends;			/* ... and where each row's ends */
	uint64		raw_bytes;
} WriterColumn;

/* Values of one column on their way into its buffer. */
typedef struct Batch
{
	int			n;
	const Datum *values;
	const bool *isnull;			/* or NULL: there are no NULLs */
} Batch;

/* Rows that arrive as such. */
typedef struct Rows
{
	int			n;
	TupleTableSlot **slots;
	bool		any_null;
	Datum		values[BATCH_ROWS]; /* of the column that is taken over */
	bool		isnull[BATCH_ROWS];
} Rows;

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
	uint32		nrows;			/* in the buffers, ... */
	GpucolHeldRows *held;		/* ... and those that follow; NULL before the first */
	Size		bytes;			/* buffered */
	bool		open;			/* an entry stands in the directory, unless ... */
	List	  **diverted;		/* ... finished entries are put here */
	MemoryContext diverted_context;
	GpucolSegmentEntry entry;
	ItemPointerData entry_tid;
};

/* Writers of this transaction. */
static List *writers = NIL;

static void start_columns(GpucolWriter *writer, Relation table);

/* ------------------------------------------------------------------------
 * Life of a writer
 * ------------------------------------------------------------------------
 */

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

/* Can rows of the table be buffered?  Rows that are only moved are not decoded. */
static bool
can_buffer(Relation table, int options)
{
	if (table->rd_rel->relkind != RELKIND_RELATION &&
		table->rd_rel->relkind != RELKIND_MATVIEW)
		return false;
	return ((options & HEAP_INSERT_NO_LOGICAL) != 0 || !gpucol_decoding_active(table)) &&
		indexes_allow_buffering(table) &&
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
		gpucol_typemap_init(&column->declared, att->atttypid, att->atttypmod,
							att->attcollation);
		column->narrow = column->declared.typlen > 0 && column->declared.typlen <= 4 &&
			column->declared.kind != GPUCOL_KIND_BYTES;
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
	start_columns(writer, table);
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

/* An array of `n` items of `size` bytes, grown from an old one. */
static void *
grow(GpucolWriter *writer, void *array, Size n, Size size)
{
	if (array == NULL)
		return MemoryContextAllocHuge(writer->buffers, n * size);
	return repalloc_huge(array, n * size);
}

/* Give the arrays that a column uses, or has used, room for the writer's rows. */
static void
fit_column(GpucolWriter *writer, WriterColumn *column)
{
	bool		bytes = column->map.kind == GPUCOL_KIND_BYTES;

	if (!bytes || column->values != NULL)
		column->values = grow(writer, column->values, writer->capacity,
							  column->narrow ? sizeof(uint32) : sizeof(int64));
	if ((bytes && column->coded) || column->codes != NULL)
		column->codes = grow(writer, column->codes, writer->capacity, sizeof(uint32));
	if ((bytes && !column->coded) || column->ends != NULL)
		column->ends = grow(writer, column->ends, writer->capacity, sizeof(uint64));
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
		fit_column(writer, column);
	}
}

static inline bool
is_null(const WriterColumn *column, uint32 r)
{
	return (column->nulls[r / 32] >> (r % 32)) & 1;
}

/* Append the contents of row r to the column's data. */
static void
append_data(GpucolWriter *writer, WriterColumn *column, uint32 r, GpucolBytes bytes)
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
	writer->bytes += bytes.len;
}

/* A dictionary does not pay: write its `rows` rows out. */
static void
drop_dictionary(GpucolWriter *writer, WriterColumn *column, uint32 rows)
{
	column->coded = false;
	writer->bytes -= column->dict.bytes;
	if (column->ends == NULL)
		column->ends = grow(writer, NULL, writer->capacity, sizeof(uint64));
	for (uint32 i = 0; i < rows; i++)
		append_data(writer, column, i, is_null(column, i) ? (GpucolBytes) {NULL, 0} :
					column->dict.values[column->codes[i]]);
	gpucol_dict_free(&column->dict);
}

/* Start to buffer a column of BYTES in a dictionary. */
static void
start_dictionary(GpucolWriter *writer, Relation table, WriterColumn *column)
{
	GpucolMemory memory = gpucol_segment_memory(writer->buffers);

	column->coded = true;
	check_encoded(table, gpucol_dict_begin(&column->dict, &memory));
}

/*
 * Append n values, none of them NULL, to a column in a dictionary from row r on; returns
 * how many it took: where the dictionary is given up, not all.
 */
static uint32
append_coded(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
			 const GpucolBytes *values, uint32 n)
{
	uint64		before = column->dict.bytes;
	uint32		done;
	GpucolStatus status = gpucol_dict_add(&column->dict, values, n, &column->codes[r], &done);

	writer->bytes += column->dict.bytes - before;
	if (status == GPUCOL_END)
		drop_dictionary(writer, column, r + done);
	else
		check_encoded(table, status);
	return done;
}

/* Count what a value of a BYTES column takes in a heap. */
static inline void
count_raw(WriterColumn *column, size_t len)
{
	column->raw_bytes += len;
	if (column->map.typlen == -1)
		column->raw_bytes += len < 127 ? 1 : VARHDRSZ;
}

/* Append the contents of a BYTES value for row r. */
static void
append_bytes(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
			 GpucolBytes bytes)
{
	count_raw(column, bytes.len);
	if (column->coded)
		append_coded(writer, table, column, r, &bytes, 1);
	else
		append_data(writer, column, r, bytes);
}

/* Append a NULL of a BYTES column for row r. */
static void
append_null_bytes(WriterColumn *column, uint32 r)
{
	if (column->coded)
		column->codes[r] = r > 0 ? column->codes[r - 1] : 0;
	else
		column->ends[r] = column->data_used;
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
convert_to_bytes(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r)
{
	GpucolTypeMap values_map = column->map;

	column->map.kind = GPUCOL_KIND_BYTES;
	column->raw_bytes = 0;
	if (column->codes == NULL)
		column->codes = grow(writer, NULL, writer->capacity, sizeof(uint32));
	start_dictionary(writer, table, column);
	for (uint32 i = 0; i < r; i++)
	{
		Datum		value;

		if (is_null(column, i))
		{
			append_null_bytes(column, i);
			continue;
		}
		value = gpucol_typemap_from_int64(&values_map, buffered_value(column, i));
		append_bytes(writer, table, column, i,
					 gpucol_typemap_to_bytes(&column->map, value));
		MemoryContextReset(writer->row_context);
	}
}

/* Append a value of a BYTES column for row r. */
static inline void
append_bytes_datum(GpucolWriter *writer, Relation table, WriterColumn *column,
				   uint32 r, Datum value)
{
	const char *pointer = DatumGetPointer(value);

	if (column->map.typlen == -1 && !VARATT_IS_EXTERNAL(pointer) &&
		!VARATT_IS_COMPRESSED(pointer))
	{
		append_bytes(writer, table, column, r,
					 (GpucolBytes) {VARDATA_ANY(pointer), VARSIZE_ANY_EXHDR(pointer)});
		return;
	}
	append_bytes(writer, table, column, r, gpucol_typemap_to_bytes(&column->map, value));
	MemoryContextReset(writer->row_context);
}

static inline bool
is_null_at(const Batch *batch, int i)
{
	return batch->isnull != NULL && batch->isnull[i];
}

/*
 * Append values of a varlena column in a dictionary, from row `from` of the batch on and
 * up to the first that is NULL or not plain; returns how many it took.
 */
static int
append_plain(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
			 const Batch *batch, int from)
{
	int			most = Min(batch->n - from, GPUCOL_DICT_AHEAD);
	GpucolBytes values[GPUCOL_DICT_AHEAD];
	int			n;
	uint32		done;

	for (n = 0; n < most && !is_null_at(batch, from + n); n++)
	{
		const char *value = DatumGetPointer(batch->values[from + n]);

		if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
			break;
		values[n] = (GpucolBytes) {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
	}
	done = append_coded(writer, table, column, r + from, values, n);
	for (uint32 i = 0; i < done; i++)
		count_raw(column, values[i].len);
	return done;
}

/* Append a value that has to be converted for row r: BYTES and DECIMAL. */
static void
append_value(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
			 Datum value, bool null)
{
	int64		bits = 0;

	if (column->map.kind != GPUCOL_KIND_BYTES && !null &&
		!gpucol_typemap_to_int64(&column->map, value, &bits))
		convert_to_bytes(writer, table, column, r);
	if (column->map.kind != GPUCOL_KIND_BYTES)
	{
		((int64 *) column->values)[r] = bits;
		column->raw_bytes += null ? 0 : sizeof(int64);
	}
	else if (null)
		append_null_bytes(column, r);
	else
		append_bytes_datum(writer, table, column, r, value);
}

/* Append the values of a column that have to be converted. */
static void
append_converted(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
				 const Batch *batch)
{
	for (int i = 0; i < batch->n;)
	{
		int			taken = 0;

		if (column->map.kind == GPUCOL_KIND_BYTES && column->coded &&
			column->map.typlen == -1)
			taken = append_plain(writer, table, column, r, batch, i);
		i += taken;
		if (taken == 0)
		{
			append_value(writer, table, column, r + i, batch->values[i],
						 is_null_at(batch, i));
			i++;
		}
	}
	writer->bytes += (Size) batch->n * sizeof(int64);
}

/* Copy datums of `typlen` bytes each. */
static pg_attribute_always_inline void
copy_datums(uint32 *out, const Batch *batch, int typlen)
{
	for (int i = 0; i < batch->n; i++)
	{
		Datum		value = batch->values[i];

		out[i] = typlen == 1 ? (uint32) DatumGetUInt8(value) :
			typlen == 2 ? (uint32) (int32) DatumGetInt16(value) : DatumGetUInt32(value);
	}
}

/* Append values of a fixed width that are kept as they are, `nulls` of them NULL. */
static void
append_fixed(GpucolWriter *writer, WriterColumn *column, uint32 r, const Batch *batch,
			 int nulls)
{
	if (!column->narrow)
		for (int i = 0; i < batch->n; i++)
			((int64 *) column->values)[r + i] = DatumGetInt64(batch->values[i]);
	else if (column->map.typlen == 1)
		copy_datums((uint32 *) column->values + r, batch, 1);
	else if (column->map.typlen == 2)
		copy_datums((uint32 *) column->values + r, batch, 2);
	else
		copy_datums((uint32 *) column->values + r, batch, 4);
	column->raw_bytes += (uint64) (batch->n - nulls) * column->map.typlen;
	writer->bytes += (Size) batch->n * (column->narrow ? sizeof(uint32) : sizeof(int64));
}

/* Mark the NULLs of a batch that begins at row r; returns their number. */
static int
append_nulls(WriterColumn *column, uint32 r, const Batch *batch)
{
	int			count = 0;

	for (int i = 0; batch->isnull != NULL && i < batch->n; i++)
	{
		if (!batch->isnull[i])
			continue;
		column->nulls[(r + i) / 32] |= UINT32_C(1) << ((r + i) % 32);
		count++;
	}
	column->any_null |= count > 0;
	return count;
}

/* Append a batch of a column's values from row r on, for which there is room. */
static void
append_batch(GpucolWriter *writer, Relation table, WriterColumn *column, uint32 r,
			 const Batch *batch)
{
	int			nulls = append_nulls(column, r, batch);

	if (column->map.kind == GPUCOL_KIND_BYTES ||
		column->map.kind == GPUCOL_KIND_DECIMAL)
		append_converted(writer, table, column, r, batch);
	else
		append_fixed(writer, column, r, batch, nulls);
}

/* Look at n rows. */
static void
start_rows(Rows *rows, TupleTableSlot **slots, int n)
{
	rows->n = n;
	rows->slots = slots;
	rows->any_null = false;
	for (int i = 0; i < n; i++)
	{
		slot_getallattrs(slots[i]);
		rows->any_null |= memchr(slots[i]->tts_isnull, true, slots[i]->tts_nvalid) != NULL;
	}
}

/* Gather a column of them. */
static Batch
gather_column(Rows *rows, int att)
{
	for (int i = 0; i < rows->n; i++)
		rows->values[i] = rows->slots[i]->tts_values[att];
	for (int i = 0; rows->any_null && i < rows->n; i++)
		rows->isnull[i] = rows->slots[i]->tts_isnull[att];
	return (Batch) {rows->n, rows->values, rows->any_null ? rows->isnull : NULL};
}

/* Append n rows, for which there is room. */
static void
append_rows(GpucolWriter *writer, Relation table, TupleTableSlot **slots, int n)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row_context);
	uint32		r = writer->nrows;
	Rows		rows;

	start_rows(&rows, slots, n);
	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];
		Batch		batch = gather_column(&rows, column->attnum - 1);

		append_batch(writer, table, column, r, &batch);
	}
	MemoryContextSwitchTo(old);
	for (int i = 0; i < n; i++)
	{
		slots[i]->tts_tableOid = RelationGetRelid(table);
		gpucol_tid_set(&slots[i]->tts_tid, writer->entry.first_row + r + i);
	}
	writer->nrows = r + n;
}

/* Append n rows at hand as columns, from their row `at` on. */
static void
append_columns(GpucolWriter *writer, Relation table, const Datum *const *values,
			   const bool *const *isnull, uint32 at, int n)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row_context);

	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];
		const bool *nulls = isnull[column->attnum - 1] + at;
		Batch		batch = {n, values[column->attnum - 1] + at,
		memchr(nulls, true, n) != NULL ? nulls : NULL};

		append_batch(writer, table, column, writer->nrows, &batch);
	}
	MemoryContextSwitchTo(old);
	writer->nrows += n;
}

/* Take the rows over that are held. */
static void
append_held(GpucolWriter *writer, Relation table)
{
	GpucolHeldRows *held = writer->held;

	if (held == NULL || held->n == 0)
		return;
	append_columns(writer, table, (const Datum *const *) held->values,
				   (const bool *const *) held->isnull, 0, held->n);
	gpucol_held_reset(held);
}

/* Make the columns ready for the first row of a segment. */
static void
start_columns(GpucolWriter *writer, Relation table)
{
	uint32		words = (writer->nrows + 31) / 32;

	writer->nrows = 0;
	writer->bytes = 0;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		WriterColumn *column = &writer->columns[i];

		if (column->any_null)
			memset(column->nulls, 0, words * sizeof(uint32));
		column->any_null = false;
		column->raw_bytes = 0;
		column->data_used = 0;
		gpucol_dict_free(&column->dict);
		/* ALTER TABLE may have dropped it since, and its type */
		column->map = column->declared;
		if (column->map.kind == GPUCOL_KIND_BYTES)
			start_dictionary(writer, table, column);
		if (column->map.kind == GPUCOL_KIND_BYTES && writer->capacity > 0 &&
			column->codes == NULL)
			column->codes = grow(writer, NULL, writer->capacity, sizeof(uint32));
	}
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
	entry->identity = gpucol_directory_identity(&dir);
	gpucol_directory_key(GPUCOL_ID_SEGMENT, first, &id, &seq);
	if (writer->diverted == NULL)
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
		if (writer->diverted == NULL)
			gpucol_directory_overwrite(&dir, &writer->entry_tid, entry, sizeof(*entry));
	}
	else
		writer->reserve = Min(writer->reserve * RESERVE_GROWTH, writer->segment_rows);
	gpucol_space_unlock(table, AccessShareLock);
	gpucol_directory_close(&dir);
	return done;
}

/* Pack one column into the image. */
static void
encode_column(GpucolWriter *writer, Relation table, GpucolImage *image, int slot)
{
	WriterColumn *column = &writer->columns[slot];
	GpucolEncodeColumn input = {
		.kind = column->map.kind,
		.scale = column->map.scale,
		.attnum = column->attnum,
		.type_oid = column->map.type_oid,
		.nulls = column->any_null ? column->nulls : NULL,
		.raw_bytes = column->raw_bytes
	};

	if (column->map.kind == GPUCOL_KIND_BYTES && column->coded)
	{
		input.dict = &column->dict;
		input.codes = column->codes;
	}
	else if (column->map.kind == GPUCOL_KIND_BYTES)
	{
		input.data = column->data;
		input.ends = column->ends;
	}
	else if (column->narrow)
	{
		input.narrow = column->values;
		input.narrow_signed = gpucol_typemap_is_signed(&column->map);
	}
	else
		input.values = (const int64_t *) column->values;
	check_encoded(table, gpucol_encode_column(image, slot, &input));
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
	if (writer->diverted == NULL)
		gpucol_space_claim(table, &writer->entry, &writer->entry_tid);
	gpucol_page_write(table, &image, &writer->entry);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Hand the finished entry over. */
static void
divert_entry(GpucolWriter *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->diverted_context);
	GpucolSegmentEntry *copy = palloc(sizeof(GpucolSegmentEntry));

	*copy = writer->entry;
	*writer->diverted = lappend(*writer->diverted, copy);
	MemoryContextSwitchTo(old);
}

/*
 * Complete the entry of a segment whose pages are written.  Row numbers that no row has
 * got are given back, or where others were reserved behind them stay the segment's.
 * Whoever reads all entries must not come in between: it would take such numbers for
 * lost ones, and delete the index entries of the rows that get them next (deadrows.c).
 */
static void
complete_entry(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(table))));
	entry->nrows = writer->nrows;
	gpucol_space_lock(table, AccessShareLock);
	if (gpucol_directory_unreserve(&dir, entry->first_row + entry->nrows,
								   entry->first_row + entry->reserved))
		entry->reserved = entry->nrows;
	if (writer->diverted == NULL)
		gpucol_directory_overwrite(&dir, &writer->entry_tid, entry, sizeof(*entry));
	else
		divert_entry(writer);
	gpucol_space_unlock(table, AccessShareLock);
	gpucol_directory_close(&dir);
}

/* Write the open segment and complete its entry; the buffers are empty then. */
static void
close_segment(GpucolWriter *writer, Relation table)
{
	if (!writer->open)
		return;
	append_held(writer, table);
	write_pages(writer, table);
	complete_entry(writer, table);
	pgstat_count_heap_insert(table, writer->nrows);

	writer->open = false;
	start_columns(writer, table);
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

void
gpucol_writer_divert(GpucolWriter *writer, List **entries)
{
	writer->diverted = entries;
	writer->diverted_context = CurrentMemoryContext;
}

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
	if (!can_buffer(table, options))
		return NULL;
	gpucol_writer_flush(table);
	return create_writer(table, cid, options & HEAP_INSERT_FROZEN);
}

/* Have room for the next rows, and say for how many of n, `most` at once. */
static int
make_room(GpucolWriter *writer, Relation table, uint32 n, uint32 most)
{
	if (writer->open &&
		(writer->nrows == writer->segment_rows || writer->bytes >= BUFFER_LIMIT ||
		 (writer->nrows == writer->entry.reserved && !extend_segment(writer, table))))
		close_segment(writer, table);
	if (!writer->open)
		open_segment(writer, table);
	if (writer->nrows == writer->capacity)
		grow_buffers(writer);
	return (int) Min(Min(n, most),
					 Min(writer->capacity, writer->entry.reserved) - writer->nrows);
}

/* Is there room for one row more in the buffers, whatever it and those held take? */
static bool
can_hold(const GpucolWriter *writer)
{
	const GpucolHeldRows *held = writer->held;

	return writer->open && held->n < GPUCOL_HELD_ROWS &&
		writer->nrows + held->n < Min(writer->capacity, writer->entry.reserved) &&
		writer->bytes + held->used + held->n * writer->ncolumns * sizeof(int64) < BUFFER_LIMIT;
}

/* Hold a row; false if it has to be taken over by itself. */
static bool
hold_row(GpucolWriter *writer, Relation table, TupleTableSlot *slot)
{
	bool		fits;

	if (writer->held == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(writer->context);

		writer->held = gpucol_held_create(RelationGetDescr(table));
		MemoryContextSwitchTo(old);
	}
	fits = can_hold(writer) && gpucol_held_add(writer->held, slot);
	if (!fits)
	{
		append_held(writer, table);
		(void) make_room(writer, table, 1, 1);
		fits = gpucol_held_add(writer->held, slot);
	}
	if (fits)
	{
		slot->tts_tableOid = RelationGetRelid(table);
		gpucol_tid_set(&slot->tts_tid, writer->entry.first_row + writer->nrows +
					   writer->held->n - 1);
	}
	return fits;
}

void
gpucol_writer_add(GpucolWriter *writer, Relation table, TupleTableSlot **slots, int n)
{
	if (n == 1 && hold_row(writer, table, slots[0]))
		return;
	append_held(writer, table);
	while (n > 0)
	{
		int			batch = make_room(writer, table, n, BATCH_ROWS);

		append_rows(writer, table, slots, batch);
		slots += batch;
		n -= batch;
	}
}

void
gpucol_writer_add_columns(GpucolWriter *writer, Relation table,
						  const Datum *const *values, const bool *const *isnull,
						  uint32 n)
{
	append_held(writer, table);
	for (uint32 at = 0; at < n;)
	{
		int			batch = make_room(writer, table, n - at, COLUMN_ROWS);

		append_columns(writer, table, values, isnull, at, batch);
		at += batch;
	}
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

/* ------------------------------------------------------------------------
 * Ends of statements and transactions
 * ------------------------------------------------------------------------
 */

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;

/*
 * Write the buffers of a command, or all of them; tables that are gone, or have new
 * storage, need none.
 */
static void
flush_command(bool all, CommandId cid)
{
	List	   *ended = list_copy(writers);
	ListCell   *lc;

	foreach(lc, ended)
	{
		GpucolWriter *writer = lfirst(lc);
		Relation	table;

		if (!all && writer->cid != cid)
			continue;
		table = try_relation_open(writer->relid, NoLock);
		if (table != NULL)
		{
			if (writer->file == gpucol_compat_relation_file(table))
				close_segment(writer, table);
			relation_close(table, NoLock);
		}
		discard_writer(writer);
	}
	list_free(ended);
}

/* Parallel workers do not know the rows that this process has buffered. */
static void
start_query(QueryDesc *query, int eflags)
{
	if (writers != NIL && query->plannedstmt->parallelModeNeeded)
		flush_command(true, FirstCommandId);
	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

/* A statement has all its rows, and its AFTER triggers are next. */
static void
finish_query(QueryDesc *query)
{
	/* a statement that only reads has no command of its own */
	if (writers != NIL &&
		(query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE))
		flush_command(false, query->estate->es_output_cid);
	if (previous_finish)
		previous_finish(query);
	else
		standard_ExecutorFinish(query);
}

static void
at_transaction_end(XactEvent event, void *arg pg_attribute_unused())
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			flush_command(true, FirstCommandId);
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
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_query;
}
