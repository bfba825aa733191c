/*-------------------------------------------------------------------------
 *
 * writer_buffer.c
 *	  Rows on their way into a writer's buffers, column by column.
 *
 * Rows are taken over in batches, a column at a time.  Values of BYTES are numbered by a
 * dictionary as they are taken over, and kept whole from where none pays.  What has no
 * 64-bit form in a column of numbers (numeric NaN) makes bytes of the whole column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/memutils.h"

#include "columnar/logical.h"
#include "columnar/segment.h"
#include "columnar/writer_parts.h"

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
	Datum		values[GPUCOL_BATCH_ROWS];	/* of the column that is taken over */
	bool		isnull[GPUCOL_BATCH_ROWS];
} Rows;

void
gpucol_writer_check(Relation table, GpucolStatus status)
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
fit_column(GpucolWriter *writer, GpucolWriterColumn *column)
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

void
gpucol_buffer_grow(GpucolWriter *writer)
{
	uint32		old_words = (writer->capacity + 31) / 32;
	uint32		words;

	writer->capacity = Min(Max(writer->capacity * 2, GPUCOL_FIRST_RESERVE),
						   writer->segment_rows);
	words = (writer->capacity + 31) / 32;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GpucolWriterColumn *column = &writer->columns[i];

		column->nulls = grow(writer, column->nulls, words, sizeof(uint32));
		memset(column->nulls + old_words, 0, (words - old_words) * sizeof(uint32));
		fit_column(writer, column);
	}
}

static inline bool
is_null(const GpucolWriterColumn *column, uint32 r)
{
	return (column->nulls[r / 32] >> (r % 32)) & 1;
}

/* Append the contents of row r to the column's data. */
static void
append_data(GpucolWriter *writer, GpucolWriterColumn *column, uint32 r, GpucolBytes bytes)
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
drop_dictionary(GpucolWriter *writer, GpucolWriterColumn *column, uint32 rows)
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
start_dictionary(GpucolWriter *writer, Relation table, GpucolWriterColumn *column)
{
	GpucolMemory memory = gpucol_segment_memory(writer->buffers);

	column->coded = true;
	gpucol_writer_check(table, gpucol_dict_begin(&column->dict, &memory));
}

/*
 * Append n values, none of them NULL, to a column in a dictionary from row r on; returns
 * how many it took: where the dictionary is given up, not all.
 */
static uint32
append_coded(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
			 const GpucolBytes *values, uint32 n)
{
	uint64		before = column->dict.bytes;
	uint32		done;
	GpucolStatus status = gpucol_dict_add(&column->dict, values, n, &column->codes[r], &done);

	writer->bytes += column->dict.bytes - before;
	if (status == GPUCOL_END)
		drop_dictionary(writer, column, r + done);
	else
		gpucol_writer_check(table, status);
	return done;
}

/* Count what a value of a BYTES column takes in a heap. */
static inline void
count_raw(GpucolWriterColumn *column, size_t len)
{
	column->raw_bytes += len;
	if (column->map.typlen == -1)
		column->raw_bytes += len < 127 ? 1 : VARHDRSZ;
}

/* Append the contents of a BYTES value for row r. */
static void
append_bytes(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
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
append_null_bytes(GpucolWriterColumn *column, uint32 r)
{
	if (column->coded)
		column->codes[r] = r > 0 ? column->codes[r - 1] : 0;
	else
		column->ends[r] = column->data_used;
}

/* The 64-bit form of a buffered value. */
static int64
buffered_value(const GpucolWriterColumn *column, uint32 r)
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
convert_to_bytes(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r)
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
append_bytes_datum(GpucolWriter *writer, Relation table, GpucolWriterColumn *column,
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
append_plain(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
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
append_value(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
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
append_converted(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
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
append_fixed(GpucolWriter *writer, GpucolWriterColumn *column, uint32 r, const Batch *batch,
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
append_nulls(GpucolWriterColumn *column, uint32 r, const Batch *batch)
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
append_batch(GpucolWriter *writer, Relation table, GpucolWriterColumn *column, uint32 r,
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

void
gpucol_buffer_rows(GpucolWriter *writer, Relation table, TupleTableSlot **slots, int n)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row_context);
	uint32		r = writer->nrows;
	Rows		rows;

	start_rows(&rows, slots, n);
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GpucolWriterColumn *column = &writer->columns[i];
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

void
gpucol_buffer_columns(GpucolWriter *writer, Relation table, const Datum *const *values,
			   const bool *const *isnull, uint32 at, int n)
{
	MemoryContext old = MemoryContextSwitchTo(writer->row_context);

	for (int i = 0; i < writer->ncolumns; i++)
	{
		GpucolWriterColumn *column = &writer->columns[i];
		const bool *nulls = isnull[column->attnum - 1] + at;
		Batch		batch = {n, values[column->attnum - 1] + at,
		memchr(nulls, true, n) != NULL ? nulls : NULL};

		append_batch(writer, table, column, writer->nrows, &batch);
	}
	MemoryContextSwitchTo(old);
	writer->nrows += n;
}

void
gpucol_buffer_held(GpucolWriter *writer, Relation table)
{
	GpucolHeldRows *held = writer->held;

	if (held == NULL || held->n == 0)
		return;
	if (writer->decoded)
		gpucol_logical_insert_columns(table, (const Datum *const *) held->values,
									  (const bool *const *) held->isnull, (uint32) held->n);
	gpucol_buffer_columns(writer, table, (const Datum *const *) held->values,
				   (const bool *const *) held->isnull, 0, held->n);
	gpucol_held_reset(held);
}

void
gpucol_buffer_start(GpucolWriter *writer, Relation table)
{
	uint32		words = (writer->nrows + 31) / 32;

	writer->nrows = 0;
	writer->bytes = 0;
	for (int i = 0; i < writer->ncolumns; i++)
	{
		GpucolWriterColumn *column = &writer->columns[i];

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
