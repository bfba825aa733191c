/*-------------------------------------------------------------------------
 *
 * functions.c
 *	  SQL functions that show how a table is stored: gpucol.segments and
 *	  gpucol.columns.
 *
 * They show what the caller's snapshot sees, and only to callers who may read
 * the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "columnar/functions.h"
#include "columnar/rights.h"
#include "columnar/segment.h"
#include "columnar/source.h"
#include "columnar/view.h"

PG_FUNCTION_INFO_V1(gpucol_segments);
PG_FUNCTION_INFO_V1(gpucol_columns);
PG_FUNCTION_INFO_V1(gpucol_source_version);

Relation
gpucol_functions_open(Oid relid)
{
	return gpucol_rights_open(relid, GPUCOL_RIGHT_ALL_ROWS, AccessShareLock);
}

/* heap_bytes / bytes, or NULL. */
static Datum
ratio_datum(uint64 heap_bytes, uint64 bytes, bool *isnull)
{
	*isnull = bytes == 0;
	return bytes == 0 ? (Datum) 0 : Float8GetDatum((double) heap_bytes / (double) bytes);
}

/* gpucol.segments(regclass): a row for each segment. */
Datum
gpucol_segments(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	table = gpucol_functions_open(PG_GETARG_OID(0));
	GpucolView *view;

	InitMaterializedSRF(fcinfo, 0);
	view = gpucol_view_open(table, GetActiveSnapshot());
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolSegmentEntry *entry = &view->segments[i].entry;
		uint64		bytes = (uint64) entry->npages * BLCKSZ;
		uint32		ndeleted = gpucol_view_count_deleted(view, &view->segments[i]);
		Datum		values[7];
		bool		isnull[7] = {false};

		values[0] = Int64GetDatum(entry->first_row);
		values[1] = Int64GetDatum(entry->nrows);
		values[2] = Int64GetDatum(ndeleted);
		values[3] = Int64GetDatum(entry->npages);
		values[4] = Int64GetDatum(bytes);
		values[5] = Int64GetDatum(entry->raw_bytes);
		values[6] = ratio_datum(entry->raw_bytes, bytes, &isnull[6]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
	}
	table_close(table, AccessShareLock);
	return (Datum) 0;
}

/* Name of a chunk's coding. */
static const char *
coding_name(const GpucolChunkDesc *desc)
{
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return "all null";
	switch ((GpucolCoding) desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			return "constant";
		case GPUCOL_CODING_FOR:
			return "frame of reference";
		case GPUCOL_CODING_DICT:
			return "dictionary";
		case GPUCOL_CODING_RLE:
			return "run length";
		case GPUCOL_CODING_RAW:
			return desc->flags & GPUCOL_CHUNK_DATA_LZ4 ? "raw, lz4" : "raw";
		case GPUCOL_CODING_SCALED:
			return "scaled decimal";
		case GPUCOL_CODING_STEP:
			return "stepped frame of reference";
		case GPUCOL_CODING_NUMERIC:
			return "scaled numeric";
		case GPUCOL_CODING_ARRAY:
			return desc->item_bytes == 0 ? "lengths and dictionary" : "lengths and elements";
		case GPUCOL_CODING_NONE:
			break;
	}
	return "unknown";
}

/* Bytes of all streams of a chunk, its descriptor included. */
static uint64
chunk_bytes(const GpucolChunkDesc *desc)
{
	uint64		rows = sizeof(GpucolChunkDesc) / GPUCOL_ROW_BYTES;

	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
		rows += desc->streams[i].nrows;
	return rows * GPUCOL_ROW_BYTES;
}

/* Put a row for each column of one segment. */
static void
put_columns(ReturnSetInfo *result, Relation table, const GpucolSegmentInfo *segment)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const GpucolChunkDesc *chunk;
		Datum		values[9];
		bool		isnull[9] = {false};

		if (att->attisdropped)
			continue;
		chunk = gpucol_segment_desc(segment, att->attnum);
		if (chunk == NULL)
			continue;
		values[0] = Int64GetDatum(segment->entry.first_row);
		values[1] = NameGetDatum(&att->attname);
		values[2] = CStringGetTextDatum(coding_name(chunk));
		values[3] = Int32GetDatum(chunk->width);
		values[4] = Int64GetDatum(chunk->null_count);
		values[5] = Int64GetDatum(chunk->ndict);
		isnull[5] = chunk->coding != GPUCOL_CODING_DICT;
		values[6] = Int64GetDatum(chunk_bytes(chunk));
		values[7] = Int64GetDatum(chunk->raw_bytes);
		values[8] = ratio_datum(chunk->raw_bytes, chunk_bytes(chunk), &isnull[8]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
	}
}

/* gpucol.columns(regclass): a row for each column of each segment. */
Datum
gpucol_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	table = gpucol_functions_open(PG_GETARG_OID(0));
	GpucolView *view;

	InitMaterializedSRF(fcinfo, 0);
	view = gpucol_view_open(table, GetActiveSnapshot());
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_columns(result, table,
					gpucol_segment_open(table, &view->segments[i].entry));
	}
	table_close(table, AccessShareLock);
	return (Datum) 0;
}

/*
 * The version of a table's source, as an engine finds it: for tests, which declare the
 * function themselves.
 */
Datum
gpucol_source_version(PG_FUNCTION_ARGS)
{
	Relation	table = gpucol_functions_open(PG_GETARG_OID(0));
	GpucolSource *source = gpucol_source_open(table, GetActiveSnapshot(), NULL, 0, NULL);
	uint64		version;

	if (source->version == 0)
		source->ops->identify(source);
	version = source->version;
	source->ops->close(source);
	table_close(table, AccessShareLock);
	PG_RETURN_INT64((int64) version);
}
