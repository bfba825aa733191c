/*-------------------------------------------------------------------------
 *
 * row_batch.c
 *	  Rows of PostgreSQL as a batch of columns for an engine.
 *
 * Values are converted as the writer of segments converts them (typemap.h), so that
 * a row is the same to an engine whether it is packed or not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/row_batch.h"
#include "service/memory.h"

/*
 * A batch with so many bytes of values is full, or with this part of what the session may
 * hold: batches are not counted.
 */
#define BATCH_BYTES		((Size) 8 * 1024 * 1024)
#define BATCH_PART		32

void
gpucol_row_batch_init(GpucolRowBatch *rows, TupleDesc desc,
					  const GpucolProgramColumn *columns, int ncolumns,
					  const char *context_name)
{
	rows->ncolumns = ncolumns;
	rows->columns = columns;
	rows->nrows = 0;
	rows->nbytes = 0;
	rows->most_bytes = Min(BATCH_BYTES, gpucol_memory_session()->limit / BATCH_PART);
	rows->maps = palloc0(Max(ncolumns, 1) * sizeof(GpucolTypeMap));
	rows->batch = palloc0(Max(ncolumns, 1) * sizeof(GpucolDeltaColumn));
	rows->tids = palloc0(GPUCOL_ROW_BATCH_ROWS * sizeof(uint64));
	for (int c = 0; c < ncolumns; c++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, columns[c].attnum - 1);

		gpucol_typemap_init(&rows->maps[c], att->atttypid, att->atttypmod, att->attcollation);
		/* a decimal whose type does not say so: its values have been looked at */
		if (columns[c].kind == GPUCOL_KIND_DECIMAL && rows->maps[c].kind != GPUCOL_KIND_DECIMAL)
		{
			rows->maps[c].kind = GPUCOL_KIND_DECIMAL;
			rows->maps[c].scale = columns[c].scale;
			rows->maps[c].digits = GPUCOL_INT128_DIGITS;
		}
	}
	rows->context = AllocSetContextCreateInternal(CurrentMemoryContext, context_name,
												  ALLOCSET_DEFAULT_SIZES);
}

void
gpucol_row_batch_reset(GpucolRowBatch *rows)
{
	MemoryContextReset(rows->context);
	rows->nrows = 0;
	rows->nbytes = 0;
}

void
gpucol_row_batch_start_column(GpucolRowBatch *rows, int c, uint32 n)
{
	GpucolDeltaColumn *column = &rows->batch[c];

	column->kind = rows->columns[c].kind;
	column->nulls = NULL;
	column->values = NULL;
	column->highs = NULL;
	column->bytes = NULL;
	if (column->kind == GPUCOL_KIND_BYTES)
		column->bytes = palloc0(n * sizeof(GpucolBytes));
	else
		column->values = palloc0(n * sizeof(int64));
}

uint32 *
gpucol_row_batch_null_bits(const uint8 *nulls, uint32 n)
{
	uint32	   *bits;

	if (nulls == NULL || memchr(nulls, 1, n) == NULL)
		return NULL;
	bits = palloc0(GPUCOL_ROW_BATCH_ROWS / 8);
	for (uint32 i = 0; i < n; i++)
		bits[i / 32] |= (uint32) (nulls[i] != 0) << (i % 32);
	return bits;
}

void
gpucol_row_batch_start_values(GpucolRowBatch *rows, int c)
{
	gpucol_row_batch_start_column(rows, c, GPUCOL_ROW_BATCH_ROWS);
	rows->batch[c].nulls = palloc0(GPUCOL_ROW_BATCH_ROWS / 8);
}

void
gpucol_row_batch_start(GpucolRowBatch *rows)
{
	MemoryContext old;

	gpucol_row_batch_reset(rows);
	old = MemoryContextSwitchTo(rows->context);
	for (int c = 0; c < rows->ncolumns; c++)
		gpucol_row_batch_start_values(rows, c);
	MemoryContextSwitchTo(old);
}

/* A decimal that may exceed an int64; the batch has room for GPUCOL_ROW_BATCH_ROWS. */
static bool
put_wide(const GpucolTypeMap *map, GpucolDeltaColumn *column, uint32 row, Datum value)
{
	__int128	mantissa;

	if (gpucol_typemap_to_int64(map, value, (int64 *) &column->values[row]))
		mantissa = column->values[row];
	else if (!gpucol_typemap_to_int128(map, value, &mantissa))
		return false;
	else if (column->highs == NULL)
	{
		column->highs = palloc0(GPUCOL_ROW_BATCH_ROWS * sizeof(int64));
		for (uint32 i = 0; i < row; i++)
			column->highs[i] = column->values[i] < 0 ? -1 : 0;
	}
	column->values[row] = (int64) mantissa;
	if (column->highs != NULL)
		column->highs[row] = (int64) (mantissa >> 64);
	return true;
}

bool
gpucol_row_batch_put(GpucolRowBatch *rows, int c, uint32 row, Datum value)
{
	GpucolDeltaColumn *column = &rows->batch[c];

	if (rows->maps[c].digits > GPUCOL_INT64_DIGITS)
		return put_wide(&rows->maps[c], column, row, value);
	if (column->bytes == NULL)
		return gpucol_typemap_to_int64(&rows->maps[c], value, (int64 *) &column->values[row]);
	column->bytes[row] = gpucol_typemap_to_bytes(&rows->maps[c], value);
	return true;
}

void
gpucol_row_batch_put_null(GpucolRowBatch *rows, int c, uint32 row)
{
	((uint32 *) rows->batch[c].nulls)[row / 32] |= UINT32_C(1) << (row % 32);
}

/* Have a value's bytes outlive the slot; those of a toasted value are of this context. */
static void
keep_bytes(GpucolRowBatch *rows, const GpucolTypeMap *map, Datum value, GpucolBytes *bytes)
{
	char	   *copy;

	rows->nbytes += bytes->len;
	if (map->typlen == -1 && (VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
							  VARATT_IS_COMPRESSED(DatumGetPointer(value))))
		return;
	copy = palloc(Max(bytes->len, 1));
	memcpy(copy, bytes->data, bytes->len);
	bytes->data = copy;
}

bool
gpucol_row_batch_put_copy(GpucolRowBatch *rows, int c, uint32 row, Datum value)
{
	if (!gpucol_row_batch_put(rows, c, row, value))
		return false;
	if (rows->batch[c].bytes != NULL)
		keep_bytes(rows, &rows->maps[c], value, &rows->batch[c].bytes[row]);
	return true;
}

bool
gpucol_row_batch_append(GpucolRowBatch *rows, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(rows->context);
	uint32		row = rows->nrows++;
	bool		fits = true;

	for (int c = 0; c < rows->ncolumns && fits; c++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, rows->columns[c].attnum, &isnull);

		if (isnull)
			gpucol_row_batch_put_null(rows, c, row);
		else
			fits = gpucol_row_batch_put_copy(rows, c, row, value);
	}
	MemoryContextSwitchTo(old);
	rows->tids[row] = ItemPointerIsValid(&slot->tts_tid) ?
		(uint64) ItemPointerGetBlockNumber(&slot->tts_tid) << 16 |
		ItemPointerGetOffsetNumber(&slot->tts_tid) : 0;
	return fits;
}

GpucolStatus
gpucol_row_batch_show(const GpucolRowBatch *rows, bool fits, GpucolDelta *out)
{
	out->nrows = rows->nrows;
	out->tids = (const uint64_t *) rows->tids;
	out->columns = rows->batch;
	if (!fits)
		return GPUCOL_UNSUPPORTED;
	return rows->nrows == 0 ? GPUCOL_END : GPUCOL_OK;
}

void
gpucol_row_batch_hold_nothing(GpucolSource *source pg_attribute_unused())
{
}

GpucolStatus
gpucol_row_batch_no_segment(GpucolSource *source pg_attribute_unused(),
							GpucolSegment *out pg_attribute_unused())
{
	return GPUCOL_END;
}

/* Never called: there is no segment. */
GpucolStatus
gpucol_row_batch_map_nothing(GpucolSource *source pg_attribute_unused(),
							 const GpucolSegment *segment pg_attribute_unused(),
							 int slot pg_attribute_unused(),
							 GpucolStreamKind stream pg_attribute_unused(),
							 uint32_t row pg_attribute_unused(),
							 uint32_t nrows pg_attribute_unused(),
							 GpucolRows *out pg_attribute_unused())
{
	return GPUCOL_CORRUPT;
}

void
gpucol_row_batch_unmap_nothing(GpucolSource *source pg_attribute_unused(),
							   GpucolRows *window pg_attribute_unused())
{
}

void
gpucol_row_batch_check_interrupts(GpucolSource *source pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
}
