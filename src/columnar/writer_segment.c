/*-------------------------------------------------------------------------
 *
 * writer_segment.c
 *	  A writer's segments: row numbers, directory entries, pages.
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
 * got are given back when the segment's entry is completed, and only then
 * (PROTOCOL has the rules).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "columnar/block_ranges.h"
#include "columnar/page.h"
#include "columnar/segment.h"
#include "columnar/space.h"
#include "columnar/writer_parts.h"

/*
 * How many times more the next segment of a load begins with after another
 * loader's reservation has ended one, so that loaders who run side by side soon
 * write full segments.
 */
#define RESERVE_GROWTH	8

void
gpucol_writer_open_segment(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;
	uint64		first;
	Oid			id;
	int32		seq;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("table \"%s\" has lost its TOAST relation",
						RelationGetRelationName(table))));
	memset(entry, 0, sizeof(*entry));
	entry->flags = writer->flags;
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
	/* who scans the table locks it before it reads the entries */
	CheckForSerializableConflictIn(table, NULL, InvalidBlockNumber);
	writer->open = true;
}

bool
gpucol_writer_extend_segment(GpucolWriter *writer, Relation table)
{
	GpucolDirectory dir;
	GpucolSegmentEntry *entry = &writer->entry;
	uint32		more = Min(Max(writer->nrows, GPUCOL_FIRST_RESERVE),
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
	GpucolWriterColumn *column = &writer->columns[slot];
	GpucolEncodeColumn input = {
		.kind = column->map.kind,
		.scale = column->map.scale,
		.attnum = column->attnum,
		.type_oid = column->map.type_oid,
		.numerics = column->map.type_oid == NUMERICOID,
		.item_type = column->map.item_type,
		.item_bytes = column->map.item_bytes,
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
	gpucol_writer_check(table, gpucol_encode_column(image, slot, &input));
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

	gpucol_writer_check(table, gpucol_encode_begin(&image, writer->ncolumns, writer->nrows,
											 writer->entry.first_row, &memory));
	for (int slot = 0; slot < writer->ncolumns; slot++)
	{
		CHECK_FOR_INTERRUPTS();
		encode_column(writer, table, &image, slot);
	}
	gpucol_writer_check(table, gpucol_encode_finish(&image));
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

void
gpucol_writer_close_segment(GpucolWriter *writer, Relation table)
{
	if (!writer->open)
		return;
	gpucol_buffer_held(writer, table);
	write_pages(writer, table);
	complete_entry(writer, table);
	/* entries that are put elsewhere are a rewritten table's, whose indexes are built later */
	if (writer->diverted == NULL)
		gpucol_block_ranges_cover(table, &writer->entry);
	pgstat_count_heap_insert(table, writer->nrows);

	writer->open = false;
	writer->wrote = true;
	gpucol_buffer_start(writer, table);
}
