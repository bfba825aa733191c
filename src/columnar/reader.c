/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Whole rows of a table's segments, for PostgreSQL's own executor.
 *
 * A reader decodes each column a vector at a time when a row of the vector is
 * first asked for (single rows are point_reader.c's).  The pages that decoded bytes point into
 * stay pinned until the column moves on.
 *
 * A column's value domain is taken from the chunk, its datum form from the
 * descriptor of the rows that are asked for: they may differ where a column's type
 * was changed without a rewrite.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "utils/memutils.h"

#include "columnar/segment.h"
#include "compat.h"

/* One column of a reader. */
typedef struct ReaderColumn
{
	AttrNumber	attnum;
	GpucolTypeMap type;			/* of the table's column */
	bool		dropped;

	/* of the open segment */
	const GpucolChunkDesc *desc;	/* NULL: the column was added later */
	GpucolTypeMap map;			/* the chunk's domain, the column's datum form */
	GpucolDecoder decoder;
	bool		started;		/* decoder initialised */
	Datum		missing;
	bool		missing_null;
	GpucolWindow windows[GPUCOL_STREAM_COUNT];

	/* decoded */
	uint32		vector;			/* PG_UINT32_MAX = none */
	int64	   *ints;
	GpucolBytes *bytes;
	uint32	   *nulls;
} ReaderColumn;

struct GpucolReader
{
	Relation	table;
	MemoryContext context;		/* the reader and its arrays */
	MemoryContext segment_context;	/* what the open segment's decoders hold */
	MemoryContext row_context;	/* values of the last row */
	const GpucolSegmentInfo *segment;
	uint32		pinned;			/* pages of all columns' windows */
	TupleDesc	desc;			/* of the rows; NULL before the first */
	int			ncolumns;
	ReaderColumn *columns;		/* by attnum - 1 */
	Datum	   *values;
	bool	   *isnull;
};

GpucolReader *
gpucol_reader_create(Relation table)
{
	GpucolReader *reader = palloc0(sizeof(GpucolReader));

	reader->table = table;
	reader->context = CurrentMemoryContext;
	reader->segment_context = AllocSetContextCreate(CurrentMemoryContext,
													"gpucol open segment",
													ALLOCSET_DEFAULT_SIZES);
	reader->row_context = AllocSetContextCreate(CurrentMemoryContext,
												"gpucol row",
												ALLOCSET_DEFAULT_SIZES);
	return reader;
}

/* Stop reading a column of the open segment. */
static void
close_column(ReaderColumn *column)
{
	for (int i = 0; i < GPUCOL_STREAM_COUNT; i++)
		gpucol_window_unmap(&column->windows[i]);
	column->started = false;
	column->vector = PG_UINT32_MAX;
	column->desc = NULL;
}

void
gpucol_reader_close(GpucolReader *reader)
{
	for (int i = 0; i < reader->ncolumns; i++)
		close_column(&reader->columns[i]);
	MemoryContextReset(reader->segment_context);
	reader->segment = NULL;
}

/* Find the chunks of the open segment for the columns of the rows. */
static void
open_columns(GpucolReader *reader)
{
	for (int i = 0; i < reader->ncolumns; i++)
	{
		ReaderColumn *column = &reader->columns[i];

		if (column->dropped)
			continue;
		column->desc = gpucol_segment_desc(reader->segment, column->attnum);
		if (column->desc == NULL)
		{
			column->missing = getmissingattr(reader->desc, column->attnum,
											 &column->missing_null);
			continue;
		}
		column->map = column->type;
		column->map.kind = column->desc->kind;
		column->map.scale = column->desc->scale;
	}
}

void
gpucol_reader_open(GpucolReader *reader, const GpucolSegmentInfo *segment)
{
	if (reader->segment == segment)
		return;
	gpucol_reader_close(reader);
	reader->segment = segment;
	open_columns(reader);
}

/*
 * Set up the columns of rows of a descriptor.  It is that of the slot that the
 * rows go to, not the table's: while ALTER TABLE rewrites a table, the catalogs
 * have the new column types already.
 */
static void
set_descriptor(GpucolReader *reader, TupleDesc desc)
{
	const GpucolSegmentInfo *segment = reader->segment;
	GpucolTypeMap *types = palloc(Max(desc->natts, 1) * sizeof(GpucolTypeMap));
	MemoryContext old;

	gpucol_reader_close(reader);
	gpucol_segment_types(reader->table, desc, types);
	old = MemoryContextSwitchTo(reader->context);
	reader->desc = desc;
	reader->ncolumns = desc->natts;
	reader->columns = palloc0(Max(desc->natts, 1) * sizeof(ReaderColumn));
	reader->values = palloc0(Max(desc->natts, 1) * sizeof(Datum));
	reader->isnull = palloc0(Max(desc->natts, 1) * sizeof(bool));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		ReaderColumn *column = &reader->columns[i];

		column->attnum = att->attnum;
		column->dropped = att->attisdropped;
		column->vector = PG_UINT32_MAX;
		column->type = types[i];
	}
	MemoryContextSwitchTo(old);
	pfree(types);
	reader->segment = segment;
	if (segment != NULL)
		open_columns(reader);
}

/* Report a decoder's refusal. */
static void
check_decoded(GpucolReader *reader, ReaderColumn *column, GpucolStatus status)
{
	if (status != GPUCOL_OK)
		gpucol_segment_refused(reader->table, &reader->segment->entry, column->attnum, status);
}

/* Pin word rows of a stream and show them to the decoder. */
static void
map_stream(GpucolReader *reader, ReaderColumn *column, GpucolStreamKind stream,
		   uint32 row, uint32 nrows)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);

	column->windows[stream].pinned = &reader->pinned;
	gpucol_window_map(&column->windows[stream], reader->table, reader->segment,
					  column->desc, stream, row, nrows);
	MemoryContextSwitchTo(old);
	gpucol_decode_map(&column->decoder, stream, &column->windows[stream].rows);
}

/* Pin what vector v needs of a stream. */
static void
map_vector(GpucolReader *reader, ReaderColumn *column, GpucolStreamKind stream,
		   uint32 v)
{
	uint32		row;
	uint32		nrows;

	if (column->desc->streams[stream].nrows == 0)
		return;
	gpucol_decode_extent(column->desc, stream, v, 1, &row, &nrows);
	if (nrows > 0)
		map_stream(reader, column, stream, row, nrows);
}

/* Is a stream read as a whole for this chunk? */
static bool
stream_is_whole(const GpucolChunkDesc *desc, GpucolStreamKind stream)
{
	switch (stream)
	{
		case GPUCOL_STREAM_DICT:
			return true;
		case GPUCOL_STREAM_RUN_ENDS:
		case GPUCOL_STREAM_DATA:
			return !gpucol_decode_has_blocks(desc) || gpucol_decode_block_stream(desc) != stream;
		case GPUCOL_STREAM_CODES:
			return desc->coding == GPUCOL_CODING_RLE;
		default:
			return false;
	}
}

/* Begin to read a column of the open segment. */
static void
start_column(GpucolReader *reader, ReaderColumn *column)
{
	GpucolMemory memory = gpucol_segment_memory(reader->segment_context);

	gpucol_decode_init(&column->decoder, column->desc, reader->segment->entry.nrows,
					   &memory);
	for (int stream = 0; stream < GPUCOL_STREAM_COUNT; stream++)
	{
		if (stream_is_whole(column->desc, stream) &&
			column->desc->streams[stream].nrows > 0)
			map_stream(reader, column, stream, 0,
					   column->desc->streams[stream].nrows);
	}
	check_decoded(reader, column, gpucol_decode_load(&column->decoder));
	for (int stream = 0; stream < GPUCOL_STREAM_COUNT; stream++)
	{
		if (stream_is_whole(column->desc, stream))
			gpucol_window_unmap(&column->windows[stream]);
	}
	column->started = true;
}

/* Pin the word rows that vector v needs. */
static void
map_column(GpucolReader *reader, ReaderColumn *column, uint32 v)
{
	const GpucolChunkDesc *desc = column->desc;

	if (!column->started)
		start_column(reader, column);
	map_vector(reader, column, GPUCOL_STREAM_NULLS, v);
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return;
	if (!stream_is_whole(desc, GPUCOL_STREAM_CODES))
		map_vector(reader, column, GPUCOL_STREAM_CODES, v);
	if (gpucol_decode_has_blocks(desc))
	{
		uint32_t	row;
		uint32_t	nrows;

		map_vector(reader, column, GPUCOL_STREAM_OFFSETS, v);
		check_decoded(reader, column,
					  gpucol_decode_block_rows(&column->decoder, v, &row, &nrows));
		if (nrows > 0)
			map_stream(reader, column, gpucol_decode_block_stream(desc), row, nrows);
	}
}

/* Decode vector v of a column. */
static void
load_vector(GpucolReader *reader, ReaderColumn *column, uint32 v)
{
	MemoryContext old;

	map_column(reader, column, v);
	old = MemoryContextSwitchTo(reader->context);
	if (column->nulls == NULL)
		column->nulls = palloc(GPUCOL_VECTOR_VALUES / 8);
	if (column->desc->kind == GPUCOL_KIND_BYTES && column->bytes == NULL)
		column->bytes = palloc(GPUCOL_VECTOR_VALUES * sizeof(GpucolBytes));
	if (column->desc->kind != GPUCOL_KIND_BYTES && column->ints == NULL)
		column->ints = palloc(GPUCOL_VECTOR_VALUES * sizeof(int64));
	MemoryContextSwitchTo(old);

	check_decoded(reader, column,
				  gpucol_decode_nulls(&column->decoder, v, column->nulls));
	if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		memset(column->nulls, 0xff, GPUCOL_VECTOR_VALUES / 8);
	else if (column->desc->kind == GPUCOL_KIND_BYTES)
		check_decoded(reader, column,
					  gpucol_decode_bytes(&column->decoder, v, column->bytes));
	else
		check_decoded(reader, column,
					  gpucol_decode_ints(&column->decoder, v, (int64_t *) column->ints));
	column->vector = v;
}

/* One value. */
static Datum
vector_value(GpucolReader *reader, ReaderColumn *column, uint32 row, bool *isnull)
{
	uint32		v = row / GPUCOL_VECTOR_VALUES;
	uint32		i = row % GPUCOL_VECTOR_VALUES;

	if (column->vector != v)
		load_vector(reader, column, v);
	*isnull = (column->nulls[i / 32] >> (i % 32)) & 1;
	if (*isnull)
		return (Datum) 0;
	if (column->desc->kind == GPUCOL_KIND_BYTES)
		return gpucol_typemap_from_bytes(&column->map, column->bytes[i]);
	return gpucol_typemap_from_int64(&column->map, column->ints[i]);
}

/* A column's value of a row of the open segment. */
static Datum
read_column(GpucolReader *reader, int i, uint32 row, bool *isnull)
{
	ReaderColumn *column = &reader->columns[i];

	if (column->dropped)
	{
		*isnull = true;
		return (Datum) 0;
	}
	if (column->desc == NULL)
	{
		*isnull = column->missing_null;
		return column->missing;
	}
	return vector_value(reader, column, row, isnull);
}

/* Decode a row. */
static void
read_columns(GpucolReader *reader, uint32 row)
{
	MemoryContext old = MemoryContextSwitchTo(reader->row_context);

	for (int i = 0; i < reader->ncolumns; i++)
		reader->values[i] = read_column(reader, i, row, &reader->isnull[i]);
	MemoryContextSwitchTo(old);
}

Datum
gpucol_reader_value(GpucolReader *reader, TupleDesc desc, int i, uint32 row, bool *isnull)
{
	if (reader->desc != desc)
		set_descriptor(reader, desc);
	return read_column(reader, i, row, isnull);
}

HeapTuple
gpucol_reader_tuple(GpucolReader *reader, TupleDesc desc, uint32 row,
					TransactionId xmin)
{
	if (reader->desc != desc)
		set_descriptor(reader, desc);
	MemoryContextReset(reader->row_context);
	read_columns(reader, row);
	return gpucol_segment_tuple(reader->table, desc, reader->segment, row, xmin,
								reader->values, reader->isnull);
}
