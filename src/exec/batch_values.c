/*-------------------------------------------------------------------------
 *
 * batch_values.c
 *	  The values of a batch: put where engines read rows, and kept.
 *
 * Values mostly have the form already in which an engine reads them, and are shown where they
 * are.  What has another form goes by way of a datum.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/batches.h"

void
gpucol_batch_init(GpucolBatch *batch, int ncolumns)
{
	batch->nrows = 0;
	batch->ncolumns = ncolumns;
	batch->outputs = palloc0(Max(ncolumns, 1) * sizeof(GpucolOutput));
	batch->columns = palloc0(Max(ncolumns, 1) * sizeof(GpucolResultColumn));
}

/* ------------------------------------------------------------------------
 * What engines read
 * ------------------------------------------------------------------------
 */

/* Words that are an engine's as they are, but 0 for NULL. */
static int64 *
word_values(const int64 *from, const uint8 *nulls, uint32 n)
{
	int64	   *values;

	if (nulls == NULL)
		return (int64 *) from;
	values = palloc(n * sizeof(int64));
	for (uint32 i = 0; i < n; i++)
		values[i] = nulls[i] ? 0 : from[i];
	return values;
}

static void
put_float4(const double *from, const uint8 *nulls, uint32 n, int64 *values)
{
	for (uint32 i = 0; i < n; i++)
		values[i] = nulls != NULL && nulls[i] ? 0 : (int64) DatumGetUInt32(Float4GetDatum((float4) from[i]));
}

/* Mantissas of n rows as those of a greater scale; false if one is too large. */
static bool
put_decimals(const __int128 *from, const uint8 *nulls, uint32 n, __int128 factor, GpucolDeltaColumn *to)
{
	int64	   *values = palloc(n * sizeof(int64));

	to->values = values;
	for (uint32 i = 0; i < n; i++)
	{
		__int128	value = nulls != NULL && nulls[i] ? 0 : from[i];

		if (factor != 1 && __builtin_mul_overflow(value, factor, &value))
			return false;
		values[i] = (int64) value;
		if (value == (int64) value && to->highs == NULL)
			continue;
		if (to->highs == NULL)
		{
			to->highs = palloc(n * sizeof(int64));
			for (uint32 k = 0; k < i; k++)
				to->highs[k] = values[k] < 0 ? -1 : 0;
		}
		to->highs[i] = (int64) (value >> 64);
	}
	return true;
}

/* Bytes that are an engine's as they are, but none for NULL. */
static GpucolBytes *
bytes_values(const GpucolBytes *from, const uint8 *nulls, uint32 n)
{
	GpucolBytes *values;

	if (nulls == NULL)
		return (GpucolBytes *) from;
	values = palloc0(n * sizeof(GpucolBytes));
	for (uint32 i = 0; i < n; i++)
	{
		if (!nulls[i])
			values[i] = from[i];
	}
	return values;
}

/* A column of another class or scale than the engine's column has. */
static bool
put_datums(const GpucolOutput *output, const GpucolResultColumn *column, uint32 n, GpucolRowBatch *rows, int c)
{
	Datum	   *values = palloc(n * sizeof(Datum));
	bool	   *isnull = palloc(n * sizeof(bool));
	bool		fits = true;

	gpucol_row_batch_start_values(rows, c);
	gpucol_output_datums(output, column, n, values, isnull);
	for (uint32 i = 0; i < n && fits; i++)
	{
		if (isnull[i])
			gpucol_row_batch_put_null(rows, c, i);
		else
			fits = gpucol_row_batch_put(rows, c, i, values[i]);
	}
	return fits;
}

bool
gpucol_batch_put(const GpucolBatch *batch, int column, uint32 first, uint32 n, GpucolRowBatch *rows, int c)
{
	const GpucolOutput *output = &batch->outputs[column];
	GpucolResultColumn from = gpucol_result_column_from(&batch->columns[column], first);
	GpucolDeltaColumn *to = &rows->batch[c];
	GpucolClass cls = output->cls;

	*to = (GpucolDeltaColumn) {.kind = rows->columns[c].kind,.nulls = gpucol_row_batch_null_bits(from.nulls, n)};
	if (to->nulls == NULL)
		from.nulls = NULL;
	if (to->kind == GPUCOL_KIND_INT && (cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_B))
		to->values = word_values((const int64 *) from.i, from.nulls, n);
	else if (to->kind == GPUCOL_KIND_FLOAT8 && cls == GPUCOL_CLASS_F)
		to->values = word_values((const int64 *) from.f, from.nulls, n);
	else if (to->kind == GPUCOL_KIND_FLOAT4 && cls == GPUCOL_CLASS_F)
	{
		to->values = palloc(n * sizeof(int64));
		put_float4(from.f, from.nulls, n, to->values);
	}
	else if (to->kind == GPUCOL_KIND_DECIMAL && cls == GPUCOL_CLASS_D &&
			 output->scale <= rows->columns[c].scale && rows->columns[c].scale - output->scale <= GPUCOL_INT128_DIGITS)
		return put_decimals(from.d, from.nulls, n, gpucol_lower_power10(rows->columns[c].scale - output->scale), to);
	else if (to->kind == GPUCOL_KIND_BYTES && cls == GPUCOL_CLASS_S)
		to->bytes = bytes_values(from.s, from.nulls, n);
	else
		return put_datums(output, &from, n, rows, c);
	return true;
}

/* ------------------------------------------------------------------------
 * What is kept
 * ------------------------------------------------------------------------
 */

/* Before the values of each column. */
typedef struct PackedColumn
{
	int32		cls;
	int32		scale;
	uint64		nbytes;			/* of S: of all values */
	uint64		has_nulls;
	uint64		reserved;
} PackedColumn;

/* Bytes that have the alignment of an int128. */
#define ALIGN16(size) TYPEALIGN(16, size)

static Size
value_size(GpucolClass cls)
{
	return cls == GPUCOL_CLASS_D || cls == GPUCOL_CLASS_S ? 16 : 8;
}

/* Is a row's value none? */
static inline bool
is_null(const GpucolResultColumn *column, uint32 row)
{
	return column->nulls != NULL && column->nulls[row];
}

static uint64
bytes_of(const GpucolBatch *batch, int c)
{
	const GpucolResultColumn *column = &batch->columns[c];
	uint64		nbytes = 0;

	for (uint32 i = 0; i < batch->nrows && batch->outputs[c].cls == GPUCOL_CLASS_S; i++)
		nbytes += is_null(column, i) ? 0 : column->s[i].len;
	return nbytes;
}

Size
gpucol_batch_packed_size(const GpucolBatch *batch)
{
	Size		size = 16;

	for (int c = 0; c < batch->ncolumns; c++)
	{
		size += sizeof(PackedColumn) + ALIGN16(batch->nrows * value_size(batch->outputs[c].cls)) +
			ALIGN16(bytes_of(batch, c));
		if (batch->columns[c].nulls != NULL)
			size += ALIGN16(batch->nrows);
	}
	return size;
}

/* Values of S: where they are, and their bytes one after the other. */
static void
pack_bytes(const GpucolResultColumn *column, uint32 n, GpucolBytes *values, char *bytes)
{
	for (uint32 i = 0; i < n; i++)
	{
		values[i] = (GpucolBytes) {bytes, is_null(column, i) ? 0 : column->s[i].len};
		if (values[i].len > 0)
			memcpy(bytes, column->s[i].data, values[i].len);
		bytes += values[i].len;
	}
}

/* Where these bytes are now. */
static void
unpack_bytes(GpucolBytes *values, uint32 n, const char *bytes)
{
	for (uint32 i = 0; i < n; i++)
	{
		values[i].data = bytes;
		bytes += values[i].len;
	}
}

void
gpucol_batch_pack(const GpucolBatch *batch, char *to)
{
	*(uint32 *) to = batch->nrows;
	to += 16;
	for (int c = 0; c < batch->ncolumns; c++)
	{
		const GpucolResultColumn *column = &batch->columns[c];
		GpucolClass cls = batch->outputs[c].cls;
		Size		size = batch->nrows * value_size(cls);
		PackedColumn *head = (PackedColumn *) to;

		*head = (PackedColumn) {.cls = cls,.scale = batch->outputs[c].scale,.nbytes = bytes_of(batch, c),
			.has_nulls = column->nulls != NULL};
		to += sizeof(PackedColumn);
		if (head->has_nulls)
		{
			memcpy(to, column->nulls, batch->nrows);
			to += ALIGN16(batch->nrows);
		}
		if (cls == GPUCOL_CLASS_S)
			pack_bytes(column, batch->nrows, (GpucolBytes *) to, to + ALIGN16(size));
		else
			memcpy(to, cls == GPUCOL_CLASS_D ? (const void *) column->d : cls == GPUCOL_CLASS_F ?
				   (const void *) column->f : (const void *) column->i, size);
		to += ALIGN16(size) + ALIGN16(head->nbytes);
	}
}

void
gpucol_batch_unpack(char *from, bool moved, GpucolBatch *batch)
{
	batch->nrows = *(uint32 *) from;
	from += 16;
	for (int c = 0; c < batch->ncolumns; c++)
	{
		const PackedColumn *head = (const PackedColumn *) from;
		GpucolResultColumn *column = &batch->columns[c];
		Size		size = batch->nrows * value_size((GpucolClass) head->cls);

		batch->outputs[c].cls = (GpucolClass) head->cls;
		batch->outputs[c].scale = head->scale;
		*column = (GpucolResultColumn) {.cls = (GpucolClass) head->cls};
		from += sizeof(PackedColumn);
		if (head->has_nulls)
		{
			column->nulls = (const uint8_t *) from;
			from += ALIGN16(batch->nrows);
		}
		column->i = (const int64_t *) from;
		column->d = (const __int128 *) from;
		column->f = (const double *) from;
		column->s = (const GpucolBytes *) from;
		if (head->cls == GPUCOL_CLASS_S && moved)
			unpack_bytes((GpucolBytes *) from, batch->nrows, from + ALIGN16(size));
		from += ALIGN16(size) + ALIGN16(head->nbytes);
	}
}

void
gpucol_batch_copy(GpucolBatch *batch)
{
	char	   *piece = gpucol_result_room(gpucol_batch_packed_size(batch));

	gpucol_batch_pack(batch, piece);
	gpucol_batch_unpack(piece, false, batch);
}

void
gpucol_batch_constant(const Const *constant, uint32 nrows, GpucolOutput *output, GpucolResultColumn *column)
{
	Datum	   *values = palloc_extended(Max(nrows, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	bool	   *isnull = palloc_extended(Max(nrows, 1) * sizeof(bool), MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < nrows; i++)
		values[i] = constant->constvalue;
	memset(isnull, constant->constisnull, nrows * sizeof(bool));
	gpucol_typemap_init(&output->map, constant->consttype, constant->consttypmod, constant->constcollid);
	gpucol_result_column_of(values, isnull, nrows, output, column);
}
