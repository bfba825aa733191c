/*-------------------------------------------------------------------------
 *
 * delta_reader.c
 *	  Pages of the delta as batches of columns.
 *
 * Heap's own code finds all tuples of a page that the snapshot sees at once, with its
 * hint bits, pruning and predicate locks.  Their values then go straight to the columns
 * of the batch (delta_deform.h), while the page is pinned: no row passes through a slot.
 *
 * A batch has the rows of whole pages, as many as fit, unless their values take more
 * memory than a batch may: then it ends in the middle of one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "pgstat.h"

#include "columnar/delta_deform.h"
#include "columnar/delta_reader.h"
#include "columnar/item.h"
#include "compat.h"

struct GpucolDeltaReader
{
	TableScanDesc heap;
	GpucolRowBatch *rows;
	GpucolDeform *deform;
	BlockNumber block;			/* next to read of the range, */
	BlockNumber end;			/* up to here */
	bool		loaded;			/* heap's scan is at that block, */
	int			next;			/* and this is its next visible tuple */
};

GpucolDeltaReader *
gpucol_delta_reader_open(TableScanDesc heap, GpucolRowBatch *rows)
{
	GpucolDeltaReader *reader = palloc0(sizeof(GpucolDeltaReader));

	if ((heap->rs_flags & SO_ALLOW_PAGEMODE) == 0)
		elog(ERROR, "delta rows are read under MVCC snapshots only");
	reader->heap = heap;
	reader->rows = rows;
	reader->deform = gpucol_deform_open(heap->rs_rd, rows);
	return reader;
}

void
gpucol_delta_reader_enter(GpucolDeltaReader *reader, const GpucolBlockRange *range)
{
	reader->block = range->start;
	reader->end = range->start + range->nblocks;
	reader->loaded = false;
}

/* Unpin the page that heap's scan is at. */
static void
leave_page(HeapScanDesc heap)
{
	if (BufferIsValid(heap->rs_cbuf))
		ReleaseBuffer(heap->rs_cbuf);
	heap->rs_cbuf = InvalidBuffer;
}

/* Have heap's scan find the visible tuples of the next block. */
static void
load_page(GpucolDeltaReader *reader)
{
	if (reader->loaded)
		return;
	CHECK_FOR_INTERRUPTS();
	gpucol_compat_heap_getpage(reader->heap, reader->block);
	reader->loaded = true;
	reader->next = 0;
}

/* Put the page's rows in the batch until that is full; false where a value does not fit. */
static bool
take_page(GpucolDeltaReader *reader)
{
	HeapScanDesc heap = (HeapScanDesc) reader->heap;
	GpucolRowBatch *rows = reader->rows;
	int			ntuples = (int) heap->rs_ntuples;

	while (reader->next < ntuples && !gpucol_row_batch_is_full(rows))
	{
		OffsetNumber offset = heap->rs_vistuples[reader->next++];
		HeapTupleData tuple;

		gpucol_item_get(reader->heap->rs_rd, heap->rs_cbuf, offset, &tuple);
		if (!gpucol_deform_tuple(reader->deform, &tuple, rows->nrows))
			return false;
		rows->tids[rows->nrows++] = (uint64) reader->block << 16 | offset;
	}
	if (reader->next < ntuples)
		return true;
	reader->loaded = false;
	reader->block++;
	return true;
}

/* Does the batch have room for all rows of the page? */
static bool
has_room(const GpucolDeltaReader *reader)
{
	int			more = (int) ((HeapScanDesc) reader->heap)->rs_ntuples - reader->next;

	return reader->rows->nrows + more <= GPUCOL_ROW_BATCH_ROWS &&
		!gpucol_row_batch_is_full(reader->rows);
}

GpucolStatus
gpucol_delta_reader_next(GpucolDeltaReader *reader, GpucolDelta *out)
{
	MemoryContext old;
	bool		fits = true;

	gpucol_row_batch_start(reader->rows);
	old = MemoryContextSwitchTo(reader->rows->context);
	while (fits && reader->block < reader->end)
	{
		load_page(reader);
		if (!has_room(reader))
			break;
		fits = take_page(reader);
	}
	MemoryContextSwitchTo(old);
	if (reader->block >= reader->end)
		leave_page((HeapScanDesc) reader->heap);
	/* rows returned, as heap's scan counts them */
	pgstat_count_index_tuples(reader->heap->rs_rd, reader->rows->nrows);
	return gpucol_row_batch_show(reader->rows, fits, out);
}
