/*-------------------------------------------------------------------------
 *
 * result.c
 *	  Columns of an engine's result as datums, a column of a batch at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "exec/result.h"
#include "kernel/packed_decimal.h"

/* Describe the output of an expression. */
void
gpucol_output_init(GpucolOutput *output, Oid type, int32 typmod, Oid collation,
				   const GpucolValue *value)
{
	output->cls = value->cls;
	output->scale = value->scale;
	output->labels = NULL;
	output->packed = false;
	gpucol_typemap_init(&output->map, type, typmod, collation);
}

GpucolResultColumn
gpucol_result_column_chosen(const GpucolResultColumn *column, const uint32 *rows, uint32 n)
{
	GpucolResultColumn chosen = {.cls = column->cls};
	bool		wide = column->cls == GPUCOL_CLASS_D || column->cls == GPUCOL_CLASS_S;
	uint8	   *nulls = column->nulls != NULL ? palloc(n) : NULL;
	void	   *values = gpucol_result_room(n * (wide ? sizeof(__int128) : sizeof(int64)));

	for (uint32 i = 0; i < n; i++)
	{
		if (nulls != NULL)
			nulls[i] = column->nulls[rows[i]];
		if (column->cls == GPUCOL_CLASS_D)
			((__int128 *) values)[i] = column->d[rows[i]];
		else if (column->cls == GPUCOL_CLASS_S)
			((GpucolBytes *) values)[i] = column->s[rows[i]];
		else if (column->cls == GPUCOL_CLASS_F)
			((double *) values)[i] = column->f[rows[i]];
		else
			((int64 *) values)[i] = column->i[rows[i]];
	}
	chosen.nulls = nulls;
	chosen.i = values;
	chosen.d = values;
	chosen.f = values;
	chosen.s = values;
	return chosen;
}

GpucolResultColumn
gpucol_result_column_from(const GpucolResultColumn *column, uint32 row)
{
	GpucolResultColumn rest = *column;

	if (rest.nulls != NULL)
		rest.nulls += row;
	switch (rest.cls)
	{
		case GPUCOL_CLASS_D:
			rest.d += row;
			break;
		case GPUCOL_CLASS_F:
			rest.f += row;
			break;
		case GPUCOL_CLASS_S:
			rest.s += row;
			break;
		default:
			rest.i += row;
			break;
	}
	return rest;
}

/*
 * Integers by the width of their type.
 */
void
gpucol_output_ints(const GpucolTypeMap *map, const int64 *v, uint32 nrows, Datum *values)
{
	switch (map->typlen)
	{
		case 2:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = Int16GetDatum((int16) v[i]);
			break;
		case 4:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = Int32GetDatum((int32) v[i]);
			break;
		case 8:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = Int64GetDatum(v[i]);
			break;
		default:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = gpucol_typemap_from_int64(map, v[i]);
			break;
	}
}

/* Varlena values, all in one piece of memory. */
static void
varlena_datums(const GpucolBytes *s, const bool *isnull, uint32 nrows,
			   Datum *values)
{
	Size		size = 0;
	char	   *p;

	for (uint32 i = 0; i < nrows; i++)
		size += isnull[i] ? 0 : MAXALIGN(VARHDRSZ + s[i].len);
	p = MemoryContextAllocHuge(CurrentMemoryContext, Max(size, 1));
	for (uint32 i = 0; i < nrows; i++)
	{
		if (isnull[i])
			continue;
		SET_VARSIZE(p, VARHDRSZ + s[i].len);
		memcpy(VARDATA(p), s[i].data, s[i].len);
		values[i] = PointerGetDatum(p);
		p += MAXALIGN(VARHDRSZ + s[i].len);
	}
}

/* Values of class S. */
static void
bytes_datums(const GpucolTypeMap *map, const GpucolBytes *s, const bool *isnull,
			 uint32 nrows, Datum *values)
{
	if (map->typlen == -1)
	{
		varlena_datums(s, isnull, nrows, values);
		return;
	}
	for (uint32 i = 0; i < nrows; i++)
	{
		if (!isnull[i])
			values[i] = gpucol_typemap_from_bytes(map, s[i]);
	}
}

/* Floats by the width of their type. */
static void
float_datums(const GpucolTypeMap *map, const double *f, uint32 nrows,
			 Datum *values)
{
	if (map->type_oid == FLOAT4OID)
	{
		for (uint32 i = 0; i < nrows; i++)
			values[i] = Float4GetDatum((float4) f[i]);
	}
	else
	{
		for (uint32 i = 0; i < nrows; i++)
			values[i] = Float8GetDatum(f[i]);
	}
}

/*
 * Convert the first `nrows` values of a result column.
 */
void
gpucol_output_datums(const GpucolOutput *output,
					 const GpucolResultColumn *column, uint32 nrows,
					 Datum *values, bool *isnull)
{
	if (column->nulls != NULL)
		memcpy(isnull, column->nulls, nrows);
	else
		memset(isnull, 0, nrows);
	switch (output->cls)
	{
		case GPUCOL_CLASS_B:
		case GPUCOL_CLASS_I:
			if (output->labels != NULL)
			{
				for (uint32 i = 0; i < nrows; i++)
					values[i] = isnull[i] ? (Datum) 0 : output->labels[column->i[i]];
				break;
			}
			if (output->map.type_oid == INTERVALOID)
			{
				for (uint32 i = 0; i < nrows; i++)
					values[i] = isnull[i] ? (Datum) 0 : gpucol_span_datum(column->i[i]);
				break;
			}
			gpucol_output_ints(&output->map, (const int64 *) column->i, nrows, values);
			break;
		case GPUCOL_CLASS_D:
			for (uint32 i = 0; i < nrows; i++)
			{
				if (!isnull[i])
					values[i] = output->packed ? gpucol_typemap_numeric(gpucol_packed_mantissa(column->d[i]),
																		gpucol_packed_scale(column->d[i])) :
						gpucol_typemap_numeric(column->d[i], output->scale);
			}
			break;
		case GPUCOL_CLASS_F:
			float_datums(&output->map, column->f, nrows, values);
			break;
		default:
			bytes_datums(&output->map, column->s, isnull, nrows, values);
			break;
	}
}

/* Datums of integers, and 0 for NULL. */
static void
words_of(const GpucolTypeMap *map, const Datum *values, const bool *isnull, uint32 nrows, int64 *words)
{
	if (map->typlen == 8)
	{
		for (uint32 i = 0; i < nrows; i++)
			words[i] = isnull[i] ? 0 : DatumGetInt64(values[i]);
		return;
	}
	if (map->typlen == 4 && gpucol_typemap_is_signed(map))
	{
		for (uint32 i = 0; i < nrows; i++)
			words[i] = isnull[i] ? 0 : DatumGetInt32(values[i]);
		return;
	}
	for (uint32 i = 0; i < nrows; i++)
	{
		words[i] = 0;
		if (!isnull[i])
			(void) gpucol_typemap_to_int64(map, values[i], &words[i]);
	}
}

static void
floats_of(const GpucolTypeMap *map, const Datum *values, const bool *isnull, uint32 nrows, double *floats)
{
	for (uint32 i = 0; i < nrows; i++)
		floats[i] = isnull[i] ? 0 : map->kind == GPUCOL_KIND_FLOAT4 ? DatumGetFloat4(values[i]) :
			DatumGetFloat8(values[i]);
}

/* Mantissas at the scale of their type; false where a value is none. */
static bool
mantissas_of(const GpucolTypeMap *map, const Datum *values, const bool *isnull, uint32 nrows, __int128 *mantissas)
{
	for (uint32 i = 0; i < nrows; i++)
	{
		int64		mantissa = 0;

		if (!isnull[i] && !gpucol_typemap_to_int64(map, values[i], &mantissa))
			return false;
		mantissas[i] = mantissa;
	}
	return true;
}

/* Contents of values; those that are as they were stored lie behind a header of one byte or four. */
static void
contents_of(const GpucolTypeMap *map, const Datum *values, const bool *isnull, uint32 nrows, GpucolBytes *bytes)
{
	for (uint32 i = 0; i < nrows; i++)
	{
		Pointer		value = DatumGetPointer(values[i]);

		if (isnull[i])
			bytes[i] = (GpucolBytes) {NULL, 0};
		else if (map->typlen != -1 || VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
			bytes[i] = gpucol_typemap_to_bytes(map, values[i]);
		else
			bytes[i] = (GpucolBytes) {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
	}
}

/*
 * Datums as a column of an engine's result, by the kind of their type.
 */
void
gpucol_result_column_of(const Datum *values, const bool *isnull, uint32 nrows,
						GpucolOutput *output, GpucolResultColumn *column)
{
	const GpucolTypeMap *map = &output->map;
	void	   *room = gpucol_result_room(nrows * sizeof(__int128));

	output->scale = 0;
	output->packed = false;
	output->cls = GPUCOL_CLASS_S;
	if (map->kind == GPUCOL_KIND_INT)
	{
		output->cls = GPUCOL_CLASS_I;
		words_of(map, values, isnull, nrows, room);
	}
	else if (map->kind == GPUCOL_KIND_FLOAT4 || map->kind == GPUCOL_KIND_FLOAT8)
	{
		output->cls = GPUCOL_CLASS_F;
		floats_of(map, values, isnull, nrows, room);
	}
	else if (map->kind == GPUCOL_KIND_DECIMAL && mantissas_of(map, values, isnull, nrows, room))
	{
		output->cls = GPUCOL_CLASS_D;
		output->scale = map->scale;
	}
	else
		contents_of(map, values, isnull, nrows, room);
	*column = (GpucolResultColumn) {.cls = output->cls,.i = room,.d = room,.f = room,.s = room};
	if (memchr(isnull, true, nrows) != NULL)
		column->nulls = (const uint8_t *) isnull;
}

void
gpucol_outputs_load(MemoryContext context, const GpucolOutput *outputs, int n,
					const GpucolResult *result, Datum **values, bool **isnull)
{
	MemoryContext old;

	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < n; i++)
	{
		values[i] = palloc(Max(result->nrows, 1) * sizeof(Datum));
		isnull[i] = palloc(Max(result->nrows, 1) * sizeof(bool));
		gpucol_output_datums(&outputs[i], &result->columns[i], result->nrows,
							 values[i], isnull[i]);
	}
	MemoryContextSwitchTo(old);
}
