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

/* Describe the output of an expression. */
void
gpucol_output_init(GpucolOutput *output, Oid type, int32 typmod, Oid collation,
				   const GpucolValue *value)
{
	output->cls = value->cls;
	output->scale = value->scale;
	output->labels = NULL;
	gpucol_typemap_init(&output->map, type, typmod, collation);
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
			gpucol_output_ints(&output->map, (const int64 *) column->i, nrows, values);
			break;
		case GPUCOL_CLASS_D:
			for (uint32 i = 0; i < nrows; i++)
			{
				if (!isnull[i])
					values[i] = gpucol_typemap_numeric(column->d[i], output->scale);
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

/*
 * Datums as a column of an engine's result, by the kind of their type.
 */
void
gpucol_result_column_of(const Datum *values, const bool *isnull, uint32 nrows,
						GpucolOutput *output, GpucolResultColumn *column)
{
	GpucolKind	kind = output->map.kind;
	int64	   *words = palloc(nrows * sizeof(int64));
	GpucolBytes *bytes;

	output->scale = 0;
	output->cls = kind == GPUCOL_KIND_INT ? GPUCOL_CLASS_I :
		kind == GPUCOL_KIND_FLOAT4 || kind == GPUCOL_KIND_FLOAT8 ? GPUCOL_CLASS_F : GPUCOL_CLASS_S;
	bytes = output->cls == GPUCOL_CLASS_S ? palloc(nrows * sizeof(GpucolBytes)) : NULL;
	for (uint32 i = 0; i < nrows; i++)
	{
		words[i] = 0;
		if (isnull[i])
			continue;
		if (bytes != NULL)
			bytes[i] = gpucol_typemap_to_bytes(&output->map, values[i]);
		else if (kind == GPUCOL_KIND_FLOAT4)
			((double *) words)[i] = DatumGetFloat4(values[i]);
		else
			(void) gpucol_typemap_to_int64(&output->map, values[i], &words[i]);
	}
	*column = (GpucolResultColumn) {.cls = output->cls,.i = (const int64_t *) words,.f = (const double *) words,
		.s = bytes};
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
