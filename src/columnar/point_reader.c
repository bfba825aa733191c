/*-------------------------------------------------------------------------
 *
 * point_reader.c
 *	  Single rows of a table's segments, here and there, where indexes lead to them.
 *
 * Nothing is decoded that a row does not need, and of a stream no more pages are looked at than hold
 * the value: a text of a dictionary is its code, two offsets and its bytes.  The reader has
 * several segments open, since an index leads from one to the other.  Of each it keeps the pages pinned that it
 * has read from (point_pages.c), and each column's decoder keeps the block that it has
 * unpacked last, for rows that are neighbours.  Blocks of more than work_mem in all are
 * let go before the next row.
 *
 * Where an index leads to many neighbours, or a statement changes them, their vector is decoded as a whole (reader.c):
 * a column's, when so many of its values have been read that it would have been worth while.
 *
 * Segments never change.  What is kept of one is found by its descriptors, which a transaction opens for the
 * identity that its directory row says (segment.c); a reader outlasts no transaction with a segment open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/point_pages.h"
#include "columnar/point_reader.h"
#include "columnar/typemap.h"
#include "compat.h"
#include "service/memory.h"

/* Segments that are open at a time. */
#define OPEN_SEGMENTS	16

/* Rows of a vector from which on it is decoded as a whole, which takes as long. */
#define MANY_ROWS		64

/* One column of an open segment. */
typedef struct PointColumn
{
	const GpucolChunkDesc *desc;	/* NULL: the column was dropped, or added later */
	bool		started;		/* what follows is set */
	GpucolTypeMap map;			/* the chunk's domain, the column's datum form */
	GpucolDecoder decoder;
	uint32		vector;			/* of the row that was read last, */
	uint32		read;			/* rows of it that were, */
	uint32		read_before;	/* and of the one before */
} PointColumn;

typedef struct PointSegment
{
	const GpucolSegmentInfo *info;	/* NULL = unused */
	PointColumn *columns;		/* by attnum - 1; stays when another segment is opened */
	GpucolPointPages pages;
} PointSegment;

struct GpucolPointReader
{
	Relation	table;
	TupleDesc	desc;
	MemoryContext context;		/* the reader and its arrays */
	MemoryContext block_context;	/* what decoders hold */
	MemoryContext row_context;	/* values of the row */
	GpucolTypeMap *types;		/* by attnum - 1 */
	bool		vectors;		/* many neighbours are decoded together, */
	GpucolReader *neighbours;	/* by this; NULL before the first */
	PointSegment *segment;		/* that the row is of */
	uint32		row;
	uint32		nopened;
	PointSegment segments[OPEN_SEGMENTS];
};

/* Context callback: the reader goes, perhaps after an error, which gives pages back. */
static void
abandon_pages(void *arg)
{
	GpucolPointReader *reader = arg;

	for (int i = 0; i < OPEN_SEGMENTS; i++)
		gpucol_point_pages_abandon(&reader->segments[i].pages);
}

GpucolPointReader *
gpucol_point_reader_create(Relation table, TupleDesc desc)
{
	GpucolPointReader *reader = palloc0(sizeof(GpucolPointReader));

	reader->table = table;
	reader->desc = desc;
	reader->context = CurrentMemoryContext;
	reader->block_context = AllocSetContextCreate(CurrentMemoryContext, "gpucol unpacked blocks",
												  ALLOCSET_DEFAULT_SIZES);
	reader->row_context = AllocSetContextCreate(CurrentMemoryContext, "gpucol row", ALLOCSET_DEFAULT_SIZES);
	reader->types = palloc(Max(desc->natts, 1) * sizeof(GpucolTypeMap));
	gpucol_segment_types(table, desc, reader->types);
	gpucol_memory_watch(reader->context, abandon_pages, reader);
	return reader;
}

bool
gpucol_point_reader_is_for(const GpucolPointReader *reader, Relation table, TupleDesc desc)
{
	return reader->table == table && reader->desc == desc;
}

/* Let go what the decoders have unpacked. */
static void
forget_blocks(GpucolPointReader *reader)
{
	for (int i = 0; i < OPEN_SEGMENTS; i++)
	{
		for (int j = 0; reader->segments[i].info != NULL && j < reader->desc->natts; j++)
			reader->segments[i].columns[j].started = false;
	}
	MemoryContextReset(reader->block_context);
}

static void
release_pages(GpucolPointReader *reader)
{
	for (int i = 0; i < OPEN_SEGMENTS; i++)
		gpucol_point_pages_release(&reader->segments[i].pages);
}

void
gpucol_point_reader_close(GpucolPointReader *reader)
{
	release_pages(reader);
	forget_blocks(reader);
	if (reader->neighbours != NULL)
		gpucol_reader_close(reader->neighbours);
	for (int i = 0; i < OPEN_SEGMENTS; i++)
		reader->segments[i].info = NULL;
	reader->segment = NULL;
	MemoryContextReset(reader->row_context);
}

/* Close a segment, another one of which takes its place. */
static void
close_segment(GpucolPointReader *reader, PointSegment *segment)
{
	gpucol_point_pages_release(&segment->pages);
	if (segment->pages.pages != NULL)
		pfree(segment->pages.pages);
	for (int i = 0; segment->info != NULL && i < reader->desc->natts; i++)
	{
		if (segment->columns[i].started)
			gpucol_decode_free(&segment->columns[i].decoder);
	}
	segment->info = NULL;
}

/* Open a segment in place of the one that was opened first. */
static PointSegment *
open_segment(GpucolPointReader *reader, const GpucolSegmentInfo *info)
{
	PointSegment *segment = &reader->segments[reader->nopened++ % OPEN_SEGMENTS];

	close_segment(reader, segment);
	if (segment->columns == NULL)
		segment->columns = MemoryContextAlloc(reader->context,
											  Max(reader->desc->natts, 1) * sizeof(PointColumn));
	for (int i = 0; i < reader->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(reader->desc, i);

		segment->columns[i].desc = att->attisdropped ? NULL : gpucol_segment_desc(info, att->attnum);
		segment->columns[i].started = false;
		segment->columns[i].vector = PG_UINT32_MAX;
		segment->columns[i].read = segment->columns[i].read_before = 0;
	}
	gpucol_point_pages_init(&segment->pages, reader->table, info, reader->context);
	segment->info = info;
	return segment;
}

static PointSegment *
find_segment(GpucolPointReader *reader, const GpucolSegmentInfo *info)
{
	for (uint32 i = 0; i < Min(reader->nopened, OPEN_SEGMENTS); i++)
	{
		if (reader->segments[i].info == info)
			return &reader->segments[i];
	}
	return open_segment(reader, info);
}

void
gpucol_point_reader_begin(GpucolPointReader *reader, const GpucolSegmentInfo *segment, uint32 row)
{
	MemoryContextReset(reader->row_context);
	if (MemoryContextMemAllocated(reader->block_context, false) > (Size) work_mem * 1024)
		forget_blocks(reader);
	if (gpucol_point_pages_are_many(reader->table))
		release_pages(reader);
	if (reader->segment == NULL || reader->segment->info != segment)
		reader->segment = find_segment(reader, segment);
	reader->row = row;
}

/* Begin to read a column of the row's segment. */
static void
start_column(GpucolPointReader *reader, PointColumn *column, int i)
{
	GpucolMemory memory = gpucol_segment_memory(reader->block_context);

	gpucol_decode_init(&column->decoder, column->desc, reader->segment->info->entry.nrows, &memory);
	gpucol_decode_find(&column->decoder, gpucol_point_pages_find, &reader->segment->pages);
	column->map = reader->types[i];
	column->map.kind = column->desc->kind;
	column->map.scale = column->desc->scale;
	column->started = true;
}

/* Report a decoder's refusal. */
static void
check_decoded(GpucolPointReader *reader, const PointColumn *column, GpucolStatus status)
{
	if (unlikely(status != GPUCOL_OK))
		gpucol_segment_refused(reader->table, &reader->segment->info->entry, column->desc->attnum, status);
}

/* The value of a column that the segment has. */
static Datum
decode_value(GpucolPointReader *reader, PointColumn *column, bool *isnull)
{
	GpucolBytes bytes;
	int64_t		number;

	if (column->desc->kind == GPUCOL_KIND_BYTES)
	{
		check_decoded(reader, column,
					  gpucol_decode_get_bytes(&column->decoder, reader->row, &bytes, isnull));
		return *isnull ? (Datum) 0 : gpucol_typemap_from_bytes(&column->map, bytes);
	}
	check_decoded(reader, column, gpucol_decode_get_int(&column->decoder, reader->row, &number, isnull));
	return *isnull ? (Datum) 0 : gpucol_typemap_from_int64(&column->map, number);
}

/* Is a column of the row one of so many neighbours that all of its vector are to be decoded? */
static bool
has_neighbours(GpucolPointReader *reader, PointColumn *column)
{
	uint32		vector = reader->row / GPUCOL_VECTOR_VALUES;

	if (!reader->vectors)
		return false;
	if (column->vector != vector)
	{
		column->read_before = column->read;
		column->read = 0;
		column->vector = vector;
	}
	return ++column->read > MANY_ROWS || column->read_before > MANY_ROWS;
}

/* A value, decoded with those around it. */
static Datum
decode_among_neighbours(GpucolPointReader *reader, int i, bool *isnull)
{
	if (reader->neighbours == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(reader->context);

		reader->neighbours = gpucol_reader_create(reader->table);
		MemoryContextSwitchTo(old);
	}
	gpucol_reader_open(reader->neighbours, reader->segment->info);
	return gpucol_reader_value(reader->neighbours, reader->desc, i, reader->row, isnull);
}

void
gpucol_point_reader_allow_vectors(GpucolPointReader *reader)
{
	reader->vectors = true;
}

Datum
gpucol_point_reader_value(GpucolPointReader *reader, int i, bool *isnull)
{
	PointColumn *column = &reader->segment->columns[i];
	MemoryContext old;
	Datum		value;

	*isnull = true;
	if (column->desc == NULL)
		return TupleDescAttr(reader->desc, i)->attisdropped ? (Datum) 0 :
			getmissingattr(reader->desc, i + 1, isnull);
	if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return (Datum) 0;
	old = MemoryContextSwitchTo(reader->row_context);
	if (has_neighbours(reader, column))
		value = decode_among_neighbours(reader, i, isnull);
	else
	{
		if (!column->started)
			start_column(reader, column, i);
		reader->segment->pages.attnum = column->desc->attnum;
		value = decode_value(reader, column, isnull);
	}
	MemoryContextSwitchTo(old);
	return value;
}

HeapTuple
gpucol_point_reader_form(GpucolPointReader *reader, TransactionId xmin, Datum *values, bool *isnull)
{
	return gpucol_segment_tuple(reader->table, reader->desc, reader->segment->info, reader->row, xmin,
								values, isnull);
}
