/*-------------------------------------------------------------------------
 *
 * source.c
 *	  A GpucolSource (kernel/batch.h) over a table: its segments as they lie in
 *	  pinned buffers, and its delta as uncompressed batches.
 *
 * Pages are read in place; a pin is all that a window needs, because segment
 * pages never change.  Windows may be pinned and given back while threads read others
 * (ready.h).  Delta rows come from the block ranges that no
 * visible segment occupies (delta_reader.h).
 *
 * A column that was added after a segment was written is shown as a constant
 * chunk: the packed form of one row with the column's missing value, kept in
 * memory.
 *
 * In a parallel scan parts of segments and ranges are drawn from shared counters, as
 * the parallel row scan draws them (scan.c).  What this process has drawn is kept in
 * a list, so that a rescan goes through the same again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "columnar/delta_reader.h"
#include "columnar/encode.h"
#include "columnar/page.h"
#include "columnar/ready.h"
#include "columnar/row_batch.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/source.h"
#include "columnar/typemap.h"
#include "columnar/view_version.h"
#include "compat.h"

/* Bytes of the word rows of one page. */
#define PAGE_BYTES		(GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES)

/* The constant chunk of a column that older segments lack. */
typedef struct MissingChunk
{
	GpucolChunkDesc desc;		/* null_count is the current segment's */
	uint32		npages;
	char	  **pages;
} MissingChunk;

/* A drawn sequence of segments or ranges. */
typedef struct DrawnList
{
	uint32	   *items;
	uint32		n;
	uint32		capacity;
	uint32		position;		/* next to deliver */
} DrawnList;

typedef struct TableSource
{
	GpucolSource base;
	Relation	table;
	MemoryContext context;
	const GpucolProgramColumn *columns;
	MissingChunk **missing;		/* by column slot, NULL until needed */
	GpucolScan *scan;			/* view, ranges and heap's scan */
	GpucolParallelScan *parallel;
	DrawnList	segments;
	DrawnList	ranges;

	/* the current segment */
	const GpucolSegmentInfo *segment;
	int64		number;			/* of it in the view, or -1 */
	const GpucolChunkDesc **chunks;
	uint32	   *deleted;
	uint32		ndeleted;
	int			nwindows;
	int			nmade;
	int			windows_room;
	GpucolWindow **windows;		/* unused ones of those that were made, */
	GpucolReady ready;			/* those that are made ready, or not yet let go, */
	uint32		pinned;			/* and pages of all others */

	/* the current delta batch */
	bool		in_range;
	bool		begun;			/* has a range been entered since the last rescan? */
	bool		read;			/* or has it been asked for values, or for rows of the delta? */
	uint64		counted;		/* rows of segments that have been counted since then */
	GpucolRowBatch rows;
	GpucolDeltaReader *delta;	/* NULL before the first */
} TableSource;

/* ------------------------------------------------------------------------
 * Drawing segments and ranges
 * ------------------------------------------------------------------------
 */

/*
 * The next item below `limit` to deliver, from the list of those drawn before or
 * from the shared counter; false if there is none.
 */
static bool
draw(TableSource *source, DrawnList *list, pg_atomic_uint32 *counter, uint32 limit,
	 uint32 *item)
{
	if (source->parallel == NULL)
	{
		*item = list->position;
		if (*item >= limit)
			return false;
		list->position++;
		return true;
	}
	if (list->position == list->n)
	{
		uint32		next = pg_atomic_fetch_add_u32(counter, 1);

		if (next >= limit)
			return false;
		if (list->n == list->capacity)
		{
			list->capacity = Max(list->capacity * 2, 64);
			list->items = list->items == NULL ?
				MemoryContextAlloc(source->context, list->capacity * sizeof(uint32)) :
				repalloc(list->items, list->capacity * sizeof(uint32));
		}
		list->items[list->n++] = next;
	}
	*item = list->items[list->position++];
	return true;
}

/* ------------------------------------------------------------------------
 * Windows
 * ------------------------------------------------------------------------
 */

/* Take a window without pages back: there is room for all that were made. */
static void
drop_window(TableSource *source, GpucolWindow *window)
{
	source->windows[source->nwindows++] = window;
}

/* Make a window, unused. */
static void
make_window(TableSource *source)
{
	GpucolWindow *window = MemoryContextAllocZero(source->context, sizeof(GpucolWindow));

	window->pinned = &source->pinned;
	if (source->nmade == source->windows_room)
	{
		int			room = Max(2 * source->windows_room, 16);

		source->windows = source->windows == NULL ?
			MemoryContextAlloc(source->context, room * sizeof(GpucolWindow *)) :
			repalloc(source->windows, room * sizeof(GpucolWindow *));
		source->windows_room = room;
	}
	source->nmade++;
	drop_window(source, window);
}

/* A window without pages; with `spare` others are left for what is made ready later. */
static GpucolWindow *
take_window(TableSource *source, bool spare)
{
	GpucolWindow *window;

	if (source->nwindows == 0)
		make_window(source);
	window = source->windows[--source->nwindows];
	while (spare && source->nwindows < Min(source->nmade - source->nwindows, source->ready.room))
		make_window(source);
	return window;
}

/* Let go of what is kept of windows that are done with; and, at a segment's end, of those that are ready. */
static void
drop_kept(TableSource *source, bool ends)
{
	GpucolWindow *window;

	while ((window = gpucol_ready_drop(&source->ready, ends)) != NULL)
		drop_window(source, window);
}

/* ------------------------------------------------------------------------
 * Segments
 * ------------------------------------------------------------------------
 */

/* Turn a failure to pack one value into an error. */
static void
check_packed(GpucolStatus status)
{
	if (status != GPUCOL_OK)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
}

/* Pack the missing value of a column slot. */
static MissingChunk *
make_missing(TableSource *source, int c)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	MissingChunk *chunk = palloc0(sizeof(MissingChunk));
	GpucolMemory memory = gpucol_segment_memory(source->context);
	uint32_t	nulls[GPUCOL_LANES] = {0};
	GpucolEncodeColumn column = {
		.kind = source->columns[c].kind,
		.scale = source->columns[c].scale,
		.attnum = source->columns[c].attnum,
		.type_oid = source->rows.maps[c].type_oid,
		.nulls = nulls
	};
	GpucolBytes bytes = {NULL, 0};
	int64		number = 0;
	int64_t		value;
	bool		isnull;
	Datum		datum;
	GpucolImage image;

	datum = getmissingattr(RelationGetDescr(source->table), column.attnum, &isnull);
	nulls[0] = isnull;
	if (!isnull && column.kind == GPUCOL_KIND_BYTES)
		bytes = gpucol_typemap_to_bytes(&source->rows.maps[c], datum);
	else if (!isnull && !gpucol_typemap_to_int64(&source->rows.maps[c], datum, &number))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	value = number;
	column.values = &value;
	column.bytes = &bytes;
	check_packed(gpucol_encode_begin(&image, 1, 1, 0, &memory));
	check_packed(gpucol_encode_column(&image, 0, &column));
	check_packed(gpucol_encode_finish(&image));

	chunk->desc = *gpucol_image_desc(&image, 0);
	Assert(chunk->desc.coding == GPUCOL_CODING_CONSTANT);
	chunk->npages = GPUCOL_PAGES(image.nwords);
	chunk->pages = palloc(chunk->npages * sizeof(char *));
	for (uint32 page = 0; page < chunk->npages; page++)
	{
		uint32		row = page * GPUCOL_PAGE_ROWS;

		chunk->pages[page] = palloc0(PAGE_BYTES);
		gpucol_image_copy(&image, row, Min(GPUCOL_PAGE_ROWS, image.nwords - row),
						  chunk->pages[page]);
	}
	gpucol_image_free(&image);
	MemoryContextSwitchTo(old);
	return chunk;
}

/* Is a chunk of the domain that the program expects of its column? */
static bool
chunk_fits(const TableSource *source, int c, const GpucolChunkDesc *desc)
{
	const GpucolProgramColumn *column = &source->columns[c];

	if (desc->kind != column->kind)
		return false;
	if (desc->kind == GPUCOL_KIND_BYTES)
		return true;
	return desc->type_oid == source->rows.maps[c].type_oid &&
		(desc->kind != GPUCOL_KIND_DECIMAL || desc->scale == column->scale);
}

/* Find the chunk of a column slot; NULL if it does not fit the program. */
static const GpucolChunkDesc *
find_chunk(TableSource *source, int c)
{
	const GpucolChunkDesc *desc = gpucol_segment_desc(source->segment,
													  source->columns[c].attnum);

	if (desc != NULL)
		return chunk_fits(source, c, desc) ? desc : NULL;
	if (source->missing[c] == NULL)
		source->missing[c] = make_missing(source, c);
	if (source->missing[c] == NULL)
		return NULL;
	if (source->missing[c]->desc.flags & GPUCOL_CHUNK_ALL_NULL)
		source->missing[c]->desc.null_count = source->segment->entry.nrows;
	return &source->missing[c]->desc;
}

/* Draw a segment, or a part of one. */
static bool
draw_part(TableSource *source, GpucolSegmentPart *part)
{
	const GpucolView *view = source->scan->view;
	uint32		number;

	if (source->parallel == NULL)
	{
		if (!draw(source, &source->segments, NULL, view->nsegments, &number))
			return false;
		part->segment = number;
		part->first = 0;
		part->end = view->segments[number].entry.nrows;
		return true;
	}
	if (!draw(source, &source->segments, &source->parallel->next_part,
			  source->scan->nparts, &number))
		return false;
	gpucol_scan_find_part(source->scan, number, part);
	return true;
}

/* Make a segment the current one; false if a chunk of it does not fit the program. */
static bool
open_segment(TableSource *source, uint32 number)
{
	GpucolView *view = source->scan->view;
	const GpucolViewSegment *segment = &view->segments[number];
	MemoryContext old;

	source->number = -1;
	source->segment = gpucol_segment_open(source->table, &segment->entry);
	for (int c = 0; c < source->base.ncolumns; c++)
	{
		source->chunks[c] = find_chunk(source, c);
		if (source->chunks[c] == NULL)
			return false;
	}
	if (source->deleted != NULL)
		pfree(source->deleted);
	old = MemoryContextSwitchTo(source->context);
	source->deleted = gpucol_view_deleted(view, segment, &source->ndeleted);
	MemoryContextSwitchTo(old);
	source->number = number;
	return true;
}

/* Rows of a part that the scan sees. */
static uint32
visible_rows(const TableSource *source, const GpucolSegmentPart *part, uint32 nrows)
{
	uint32		first = part->first / GPUCOL_LANES;
	uint32		n = (part->end + GPUCOL_LANES - 1) / GPUCOL_LANES - first;

	if (source->deleted == NULL)
		return part->end - part->first;
	if (part->first == 0 && part->end == nrows)
		return nrows - source->ndeleted;
	/* parts are whole vectors, and no bit is set behind the last row */
	return part->end - part->first -
		(uint32) pg_popcount((const char *) (source->deleted + first), (int) (n * sizeof(uint32)));
}

/* Count rows returned, as the statistics of tables and indexes alike call them. */
static void
count_rows(TableSource *source, uint32 nrows)
{
	pgstat_count_index_tuples(source->table, nrows);
	source->counted += nrows;
}

/* A pass over the segments that asked for nothing but their descriptors and zones has returned no rows. */
static void
end_pass(TableSource *source)
{
	if (!source->read)
		pgstat_count_index_tuples(source->table, -(PgStat_Counter) source->counted);
	source->read = false;
	source->counted = 0;
}

static GpucolStatus
source_next_segment(GpucolSource *base, GpucolSegment *out)
{
	TableSource *source = (TableSource *) base;
	const GpucolViewSegment *segment;
	GpucolSegmentPart part;

	drop_kept(source, true);
	if (!draw_part(source, &part))
		return GPUCOL_END;
	CHECK_FOR_INTERRUPTS();
	if (source->number != part.segment && !open_segment(source, part.segment))
		return GPUCOL_UNSUPPORTED;
	segment = &source->scan->view->segments[part.segment];
	count_rows(source, visible_rows(source, &part, segment->entry.nrows));

	out->id = hash_bytes_extended((const unsigned char *) &segment->entry,
								  sizeof(segment->entry), 0);
	out->first_row = segment->entry.first_row;
	out->nrows = segment->entry.nrows;
	out->first_vector = part.first / GPUCOL_VECTOR_VALUES;
	out->end_vector = GPUCOL_VECTORS(part.end);
	out->ndeleted = source->ndeleted;
	out->deleted = source->deleted;
	out->chunks = source->chunks;
	out->owner = (void *) source->segment;
	return GPUCOL_OK;
}

/* Show word rows of a missing column's chunk. */
static void
map_missing(const MissingChunk *chunk, uint32 first, uint32 last, GpucolRows *out)
{
	out->pages = (const char *const *) chunk->pages + first;
	out->first_page = first;
	out->npages = last - first + 1;
	out->owner = NULL;
}

/* Is it the chunk of a column that the table got later? */
static bool
is_missing(const TableSource *source, int slot, const GpucolChunkDesc *desc)
{
	return source->missing[slot] != NULL && desc == &source->missing[slot]->desc;
}

/* Map word rows, or lend them to threads. */
static GpucolStatus
show_rows(GpucolSource *base, const GpucolSegment *segment, int slot,
		  GpucolStreamKind stream, uint32_t row, uint32_t nrows, bool lend,
		  GpucolRows *out)
{
	TableSource *source = (TableSource *) base;
	const GpucolChunkDesc *desc = segment->chunks[slot];
	const GpucolStream *place = &desc->streams[stream];
	MemoryContext old;
	GpucolWindow *window;

	memset(out, 0, sizeof(*out));
	if (nrows == 0)
		return GPUCOL_OK;
	if (row > place->nrows || nrows > place->nrows - row)
		return GPUCOL_CORRUPT;
	source->read |= stream != GPUCOL_STREAM_ZONES;
	if (is_missing(source, slot, desc))
	{
		map_missing(source->missing[slot], (place->row + row) / GPUCOL_PAGE_ROWS,
					(place->row + row + nrows - 1) / GPUCOL_PAGE_ROWS, out);
		return GPUCOL_OK;
	}
	window = lend ? gpucol_ready_take(&source->ready, slot, stream, row, nrows) : NULL;
	if (window == NULL)
	{
		old = MemoryContextSwitchTo(source->context);
		drop_kept(source, false);
		window = take_window(source, lend);
		(lend ? gpucol_window_lend : gpucol_window_map) (window, source->table, segment->owner,
														 desc, stream, row, nrows);
		MemoryContextSwitchTo(old);
	}
	*out = window->rows;
	out->owner = window;
	return GPUCOL_OK;
}

static GpucolStatus
source_map(GpucolSource *base, const GpucolSegment *segment, int slot,
		   GpucolStreamKind stream, uint32_t row, uint32_t nrows, GpucolRows *out)
{
	return show_rows(base, segment, slot, stream, row, nrows, false, out);
}

static GpucolStatus
source_lend(GpucolSource *base, const GpucolSegment *segment, int slot,
			GpucolStreamKind stream, uint32_t row, uint32_t nrows, GpucolRows *out)
{
	return show_rows(base, segment, slot, stream, row, nrows, true, out);
}

static void
source_ahead(GpucolSource *base, const GpucolSegment *segment, int slot, GpucolStreamKind stream,
			 uint32_t row, uint32_t nrows)
{
	TableSource *source = (TableSource *) base;
	GpucolReadyWindow wanted = {.slot = slot,.stream = stream,.row = row,.nrows = nrows};
	MemoryContext old;

	drop_kept(source, false);
	/* one that there is already: making one might raise an error */
	if (source->nwindows == 0 || is_missing(source, slot, segment->chunks[slot]))
		return;
	wanted.window = source->windows[source->nwindows - 1];
	old = MemoryContextSwitchTo(source->context);
	if (gpucol_ready_make(&source->ready, &wanted, source->table, segment->owner, segment->chunks[slot]))
		source->nwindows--;
	MemoryContextSwitchTo(old);
}

static bool
source_verify(const GpucolRows *rows, uint32_t page)
{
	return rows->owner == NULL || gpucol_window_verify(rows->owner, page);
}

/*
 * A worker ends after what it was started for, and who started it waits for that: what
 * its threads do not undo meanwhile it has to undo alone then.
 */
static void
source_forget(const GpucolRows *rows)
{
	if (rows->owner != NULL && IsParallelWorker())
		gpucol_window_forget(rows->owner);
}

static void
source_unmap(GpucolSource *base, GpucolRows *rows)
{
	TableSource *source = (TableSource *) base;
	GpucolWindow *window = rows->owner;

	if (window != NULL && !gpucol_ready_keep(&source->ready, window))
	{
		gpucol_window_unmap(window);
		drop_window(source, window);
	}
	memset(rows, 0, sizeof(*rows));
}

/* ------------------------------------------------------------------------
 * Delta
 * ------------------------------------------------------------------------
 */

/* Go to the next range of delta blocks; false behind the last. */
static bool
next_range(TableSource *source)
{
	uint32		number;

	if (!draw(source, &source->ranges,
			  source->parallel ? &source->parallel->next_range : NULL,
			  source->scan->nranges, &number))
		return false;
	gpucol_delta_reader_enter(source->delta, &source->scan->ranges[number]);
	source->in_range = true;
	source->begun = true;
	return true;
}

static GpucolStatus
source_next_delta(GpucolSource *base, GpucolDelta *out)
{
	TableSource *source = (TableSource *) base;
	MemoryContext old;

	source->read = true;
	if (source->delta == NULL && source->scan->nranges > 0)
	{
		old = MemoryContextSwitchTo(source->context);
		source->delta = gpucol_delta_reader_open(source->scan->delta, &source->rows);
		MemoryContextSwitchTo(old);
	}
	while (source->in_range || next_range(source))
	{
		GpucolStatus status = gpucol_delta_reader_next(source->delta, out);

		if (status != GPUCOL_END)
			return status;
		source->in_range = false;
	}
	return GPUCOL_END;
}

/* ------------------------------------------------------------------------
 * Life
 * ------------------------------------------------------------------------
 */

static void
source_rescan(GpucolSource *base)
{
	TableSource *source = (TableSource *) base;

	drop_kept(source, true);
	end_pass(source);
	/* a look at the segments alone is no scan to be counted */
	if (source->begun)
		heap_rescan(source->scan->delta, NULL, false, false, false, false);
	source->begun = false;
	source->in_range = false;
	source->segments.position = 0;
	source->ranges.position = 0;
}

static void
source_check_interrupts(GpucolSource *source pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
}

static void
source_count_rows(GpucolSource *base, const uint64_t storage[2] pg_attribute_unused(), uint64_t nrows)
{
	pgstat_count_index_tuples(((TableSource *) base)->table, nrows);
}

/* A share of a parallel scan has no version, nor has storage that may not be kept. */
static void
source_identify(GpucolSource *base)
{
	TableSource *source = (TableSource *) base;

	if (source->parallel != NULL || base->storage[0] == 0)
		return;
	gpucol_view_version_find(source->scan->view);
	base->version = source->scan->view->version;
}

static void
source_close(GpucolSource *base)
{
	TableSource *source = (TableSource *) base;

	drop_kept(source, true);
	end_pass(source);
	table_endscan(&source->scan->base);
}

static const GpucolSourceOps source_ops = {
	.next_segment = source_next_segment,
	.map = source_map,
	.unmap = source_unmap,
	.lend = source_lend,
	.ahead = source_ahead,
	.verify = source_verify,
	.forget = source_forget,
	.next_delta = source_next_delta,
	.rescan = source_rescan,
	.check_interrupts = source_check_interrupts,
	.count_rows = source_count_rows,
	.identify = source_identify,
	.close = source_close,
};

/*
 * The identity of the table's storage, unless it is this session's own affair or
 * may still be emptied in place.
 */
static void
set_storage(TableSource *source)
{
	Relation	table = source->table;

	if (RelationUsesLocalBuffers(table) ||
		table->rd_createSubid != InvalidSubTransactionId ||
		gpucol_compat_new_storage(table))
		return;
	source->base.storage[0] = (uint64) MyDatabaseId << 32 |
		gpucol_compat_relation_space(table);
	source->base.storage[1] = gpucol_compat_relation_file(table);
}

/* The columns' numbers in the table. */
static const int32_t *
attnums_of(const GpucolProgramColumn *columns, int ncolumns)
{
	int32_t    *attnums = palloc(Max(ncolumns, 1) * sizeof(int32_t));

	for (int c = 0; c < ncolumns; c++)
		attnums[c] = columns[c].attnum;
	return attnums;
}

GpucolSource *
gpucol_source_open(Relation table, Snapshot snapshot,
				   const GpucolProgramColumn *columns, int ncolumns, void *parallel)
{
	TableSource *source = palloc0(sizeof(TableSource));
	TableScanDesc sscan;

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = gpucol_window_limit(table) * GPUCOL_PAGE_ROWS;
	source->base.in_parts = parallel != NULL &&
		((GpucolParallelScan *) parallel)->part_rows != UINT32_MAX;
	source->number = -1;
	source->table = table;
	source->context = CurrentMemoryContext;
	source->columns = columns;
	source->parallel = parallel;
	source->missing = palloc0(Max(ncolumns, 1) * sizeof(MissingChunk *));
	source->chunks = palloc0(Max(ncolumns, 1) * sizeof(GpucolChunkDesc *));
	source->base.attnums = attnums_of(columns, ncolumns);
	gpucol_ready_init(&source->ready, ncolumns);
	gpucol_row_batch_init(&source->rows, RelationGetDescr(table), columns, ncolumns,
						  "gpucol source batch");
	set_storage(source);
	sscan = parallel != NULL ? table_beginscan_parallel(table, parallel) :
		table_beginscan(table, snapshot, 0, NULL);
	source->scan = (GpucolScan *) sscan;
	gpucol_scan_prepare(source->scan);
	if (parallel == NULL && source->base.storage[0] != 0)
		source->base.version = source->scan->view->version;
	return &source->base;
}

Size
gpucol_source_parallel_size(Relation table, Snapshot snapshot)
{
	return table_parallelscan_estimate(table, snapshot);
}

void
gpucol_source_parallel_init(void *parallel, Relation table, Snapshot snapshot, bool whole)
{
	table_parallelscan_initialize(table, parallel, snapshot);
	if (whole)
		gpucol_scan_take_whole(parallel);
}

void
gpucol_source_parallel_rescan(void *parallel, Relation table)
{
	table_parallelscan_reinitialize(table, parallel);
}
