/*-------------------------------------------------------------------------
 *
 * delta_reader.c
 *	  Pages of the delta as batches of columns.
 *
 * All tuples of a page that the snapshot sees are found at once.  Of most, their headers tell
 * (settled.h); PostgreSQL's code is asked of the others, and of all where predicate locks
 * are to be taken, heap's.  Their values then go straight to the columns
 * of the batch (delta_deform.h), while the page is pinned: no row passes through a slot.
 *
 * A batch has the rows of whole pages, as many as fit, unless their values take more
 * memory than a batch may: then it ends in the middle of one.
 *
 * Where all rows of a batch's pages are settled (settled.h), its columns are kept as a unit
 * (delta_cache.h).  The next scan of the session looks at the pages' LSNs only, or at nothing
 * where nothing was logged since, and reads the columns that the unit lacks.  A page that was
 * changed costs its own unit; a unit that is too new for an old snapshot is passed by.  Rows count as settled, too,
 * whose transactions the snapshot sees though an older one runs: then for snapshots that see all of their range.
 *
 * Segments that were packed together leave pages behind, many more than the delta has.  Such a page has no row
 * as long as it is part of the file.  If a VACUUM cuts it off, then all behind it, too.  So of those that follow
 * each other only the last one's LSN is looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "columnar/delta_cache.h"
#include "columnar/delta_check.h"
#include "columnar/delta_deform.h"
#include "columnar/delta_reader.h"
#include "columnar/item.h"
#include "columnar/page.h"
#include "columnar/settled.h"
#include "compat.h"
#include "guc.h"
#include "service/memory.h"

/* With so many rows a batch may end before pages that are better kept apart. */
#define ENOUGH_ROWS		(GPUCOL_ROW_BATCH_ROWS / 2)

StaticAssertDecl(GPUCOL_DELTA_UNIT_PAGES <= 64, "bits of a unit's pages");

struct GpucolDeltaReader
{
	TableScanDesc heap;
	GpucolRowBatch *rows;
	GpucolDeform *deform;
	BlockNumber block;			/* next to read of the range, */
	BlockNumber end;			/* up to here */
	bool		loaded;			/* heap's scan is at that block, */
	int			next;			/* and this is its next visible tuple */
	bool		by_header;		/* tuples' headers tell what is visible; then, of that page: */
	bool		settled;		/* all its tuples are, */
	bool		of_segment;		/* it has none, as a page of a segment, */
	TransactionId newest;		/* by these transactions at the latest, */
	GpucolRecentXids recent;	/* or these, */
	XLogRecPtr	lsn;			/* as it was then */

	/* what is kept */
	GpucolDeltaCache *cache;	/* NULL if nothing is */
	XLogRecPtr	wal_end;		/* before the first page was looked at */
	GpucolDeltaUnit *shown;		/* held; NULL if the batch is not a unit's */
	GpucolDeltaColumn *columns; /* of it, by slot */
	bool	   *all;			/* by slot: true */
	bool	   *lacking;		/* by slot: the unit has no such column */
	GpucolDeltaUnit draft;		/* of the batch */
};

/* Let go of the unit that is shown. */
static void
let_go(GpucolDeltaReader *reader)
{
	if (reader->shown != NULL)
		gpucol_delta_cache_let_go(reader->shown);
	reader->shown = NULL;
}

/* Memory context callback. */
static void
close_reader(void *arg)
{
	let_go(arg);
}

GpucolDeltaReader *
gpucol_delta_reader_open(TableScanDesc heap, GpucolRowBatch *rows)
{
	GpucolDeltaReader *reader = palloc0(sizeof(GpucolDeltaReader));
	int			n = Max(rows->ncolumns, 1);

	if ((heap->rs_flags & SO_ALLOW_PAGEMODE) == 0)
		elog(ERROR, "delta rows are read under MVCC snapshots only");
	reader->heap = heap;
	reader->rows = rows;
	reader->deform = gpucol_deform_open(heap->rs_rd, rows);
	reader->columns = palloc0(n * sizeof(GpucolDeltaColumn));
	reader->lacking = palloc0(n * sizeof(bool));
	reader->all = palloc(n * sizeof(bool));
	memset(reader->all, true, n * sizeof(bool));
	/* a worker ends with its statement */
	if (gpucol_delta_memory_limit > 0 && !IsParallelWorker() &&
		gpucol_settled_possible(heap->rs_rd, heap->rs_snapshot))
		reader->cache = gpucol_delta_cache_open(heap->rs_rd);
	reader->by_header = gpucol_settled_by_header(heap->rs_snapshot);
	reader->wal_end = gpucol_settled_wal_end();
	gpucol_memory_watch(CurrentMemoryContext, close_reader, reader);
	return reader;
}

void
gpucol_delta_reader_enter(GpucolDeltaReader *reader, const GpucolBlockRange *range)
{
	reader->block = range->start;
	reader->end = range->start + range->nblocks;
	reader->loaded = false;
}

/* ------------------------------------------------------------------------
 * Pages
 * ------------------------------------------------------------------------
 */

/* Unpin the page that heap's scan is at. */
static void
leave_page(GpucolDeltaReader *reader)
{
	HeapScanDesc heap = (HeapScanDesc) reader->heap;

	if (BufferIsValid(heap->rs_cbuf))
		ReleaseBuffer(heap->rs_cbuf);
	heap->rs_cbuf = InvalidBuffer;
	reader->loaded = false;
}

/*
 * Find the visible tuples of a page that is pinned and locked, where heap's scan would put them;
 * are all tuples settled?
 */
static void
find_visible(GpucolDeltaReader *reader, Page page)
{
	HeapScanDesc heap = (HeapScanDesc) reader->heap;
	Snapshot	snapshot = reader->heap->rs_snapshot;
	bool		all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	int			n = 0;

	reader->settled = !PageIsNew(page);
	reader->of_segment = gpucol_page_identify(page) != NULL;
	reader->newest = InvalidTransactionId;
	reader->recent = (GpucolRecentXids) {InvalidTransactionId, InvalidTransactionId};
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleData tuple;

		gpucol_item_ahead(page, offset);
		if (!ItemIdIsNormal(PageGetItemId(page, offset)))
			continue;
		/* a page has no more tuples than fit, or is damaged */
		gpucol_item_get(reader->heap->rs_rd, page, reader->block,
						n < MaxHeapTuplesPerPage ? offset : InvalidOffsetNumber, &tuple);
		if (all_visible || gpucol_settled_is_seen(tuple.t_data, snapshot->xmin) ||
			HeapTupleSatisfiesVisibility(&tuple, snapshot, heap->rs_cbuf))
			heap->rs_vistuples[n++] = offset;
		reader->settled = reader->settled &&
			gpucol_settled_or_committed(tuple.t_data, snapshot, &reader->newest, &reader->recent);
	}
	heap->rs_ntuples = n;
}

/* Have heap's scan be at the next block, with its visible tuples. */
static void
read_page(GpucolDeltaReader *reader)
{
	HeapScanDesc heap = (HeapScanDesc) reader->heap;
	Relation	table = reader->heap->rs_rd;

	leave_page(reader);
	heap->rs_cbuf = ReadBufferExtended(table, MAIN_FORKNUM, reader->block, RBM_NORMAL,
									   heap->rs_strategy);
	heap->rs_cblock = reader->block;
	gpucol_delta_check_lines(table, heap->rs_cbuf);
	heap_page_prune_opt(table, heap->rs_cbuf);
	LockBuffer(heap->rs_cbuf, BUFFER_LOCK_SHARE);
	find_visible(reader, BufferGetPage(heap->rs_cbuf));
	reader->lsn = BufferGetLSNAtomic(heap->rs_cbuf);
	LockBuffer(heap->rs_cbuf, BUFFER_LOCK_UNLOCK);
}

/* Find the visible tuples of the next block. */
static void
load_page(GpucolDeltaReader *reader)
{
	if (reader->loaded)
		return;
	CHECK_FOR_INTERRUPTS();
	if (reader->by_header)
		read_page(reader);
	else
	{
		gpucol_delta_check_blocks(reader->heap->rs_rd, RelationGetDescr(reader->heap->rs_rd), reader->block, 1,
								  ((HeapScanDesc) reader->heap)->rs_strategy);
		gpucol_compat_heap_getpage(reader->heap, reader->block);
	}
	reader->loaded = true;
	reader->next = 0;
}

/* Put the page's rows in the batch until that is full; false where a value does not fit. */
static bool
take_page(GpucolDeltaReader *reader)
{
	HeapScanDesc heap = (HeapScanDesc) reader->heap;
	GpucolRowBatch *rows = reader->rows;
	Page		page = BufferGetPage(heap->rs_cbuf);
	int			ntuples = (int) heap->rs_ntuples;

	while (reader->next < ntuples && !gpucol_row_batch_is_full(rows))
	{
		OffsetNumber offset = heap->rs_vistuples[reader->next++];
		HeapTupleData tuple;

		gpucol_item_get(reader->heap->rs_rd, page, reader->block, offset, &tuple);
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

/* Of the chosen columns those without NULLs say so. */
static void
find_nulls(GpucolRowBatch *rows, const bool *chosen)
{
	for (int c = 0; c < rows->ncolumns; c++)
	{
		uint32		any = 0;

		if (!chosen[c])
			continue;
		for (uint32 w = 0; w < GPUCOL_ROW_BATCH_ROWS / 32; w++)
			any |= rows->batch[c].nulls[w];
		if (any == 0)
			rows->batch[c].nulls = NULL;
	}
}

/* ------------------------------------------------------------------------
 * Units
 * ------------------------------------------------------------------------
 */

/* Add the page that heap's scan is at to the draft of a unit; false if that may not be kept. */
static bool
draft_page(GpucolDeltaReader *reader)
{
	GpucolDeltaUnit *draft = &reader->draft;

	if (!reader->by_header || !reader->settled || XLogRecPtrIsInvalid(reader->lsn))
		return false;
	draft->lsns[draft->nblocks] = reader->lsn;
	if (reader->of_segment)
		draft->of_segments |= UINT64_C(1) << draft->nblocks;
	if (TransactionIdPrecedes(draft->newest, reader->newest))
		draft->newest = reader->newest;
	gpucol_settled_widen(&draft->recent, reader->recent);
	return true;
}

/* Keep the batch, which has the draft's rows. */
static void
keep_draft(GpucolDeltaReader *reader)
{
	GpucolRowBatch *rows = reader->rows;
	GpucolDeltaUnit *unit;

	reader->draft.nrows = rows->nrows;
	reader->draft.tids = rows->tids;
	reader->draft.wal_end = reader->wal_end;
	unit = gpucol_delta_cache_add(reader->cache, &reader->draft);
	for (int c = 0; unit != NULL && c < rows->ncolumns; c++)
		if (!gpucol_delta_cache_show(unit, rows, c, &reader->columns[c]))
			gpucol_delta_cache_keep(unit, rows, c);
}

/* Pin a block of a unit; InvalidBuffer if it was changed. */
static Buffer
pin_unchanged(GpucolDeltaReader *reader, const GpucolDeltaUnit *unit, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(reader->heap->rs_rd, MAIN_FORKNUM, block, RBM_NORMAL,
											((HeapScanDesc) reader->heap)->rs_strategy);

	if (BufferGetLSNAtomic(buffer) == unit->lsns[block - unit->start])
		return buffer;
	ReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Is a page of a unit as it was, if the next one is? */
static bool
is_vouched_for(const GpucolDeltaUnit *unit, uint32 page)
{
	return page + 1 < unit->nblocks && ((unit->of_segments >> page) & 3) == 3;
}

/* Do all pages of a unit have the LSNs that they had? */
static bool
is_unchanged(GpucolDeltaReader *reader, GpucolDeltaUnit *unit)
{
	if (!XLogRecPtrIsInvalid(reader->wal_end) && unit->wal_end == reader->wal_end)
		return true;
	CHECK_FOR_INTERRUPTS();
	for (BlockNumber block = unit->start; block < unit->start + unit->nblocks; block++)
	{
		Buffer		buffer;

		if (is_vouched_for(unit, block - unit->start))
			continue;
		buffer = pin_unchanged(reader, unit, block);
		if (!BufferIsValid(buffer))
			return false;
		ReleaseBuffer(buffer);
	}
	unit->wal_end = reader->wal_end;
	return true;
}

/* The unit at the next block, if it holds for the snapshot; *keep: may there be a new one? */
static GpucolDeltaUnit *
find_unit(GpucolDeltaReader *reader, bool *keep)
{
	GpucolDeltaUnit *unit;

	*keep = reader->cache != NULL && (!reader->loaded || reader->next == 0);
	if (!*keep)
		return NULL;
	unit = gpucol_delta_cache_find(reader->cache, reader->block);
	if (unit == NULL || unit->start + unit->nblocks > reader->end)
		return NULL;
	if (!TransactionIdPrecedes(unit->newest, reader->heap->rs_snapshot->xmin) ||
		!gpucol_settled_sees(reader->heap->rs_snapshot, unit->recent))
	{
		*keep = false;
		return NULL;
	}
	if (is_unchanged(reader, unit))
		return unit;
	gpucol_delta_cache_drop(unit);
	return NULL;
}

/*
 * Read the lacking columns of a unit's rows into the batch.  GPUCOL_END if a page was changed,
 * and the unit is dropped, or if they take too much memory for one batch.
 */
static GpucolStatus
read_lacking(GpucolDeltaReader *reader, GpucolDeltaUnit *unit)
{
	GpucolRowBatch *rows = reader->rows;
	Buffer		buffer = InvalidBuffer;
	BlockNumber at = InvalidBlockNumber;
	GpucolStatus status = GPUCOL_OK;

	for (uint32 row = 0; row < unit->nrows && status == GPUCOL_OK; row++)
	{
		BlockNumber block = (BlockNumber) (unit->tids[row] >> 16);
		HeapTupleData tuple;

		if (block != at)
		{
			CHECK_FOR_INTERRUPTS();
			if (BufferIsValid(buffer))
				ReleaseBuffer(buffer);
			at = block;
			buffer = pin_unchanged(reader, unit, block);
			if (!BufferIsValid(buffer))
			{
				gpucol_delta_cache_drop(unit);
				return GPUCOL_END;
			}
		}
		gpucol_item_get(reader->heap->rs_rd, BufferGetPage(buffer), block,
						(OffsetNumber) unit->tids[row], &tuple);
		if (!gpucol_deform_tuple(reader->deform, &tuple, row))
			status = GPUCOL_UNSUPPORTED;
		else if (rows->nbytes >= rows->most_bytes)
			status = GPUCOL_END;
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	return status;
}

/* The columns that the unit lacks, from its pages. */
static GpucolStatus
complete_unit(GpucolDeltaReader *reader, GpucolDeltaUnit *unit)
{
	GpucolRowBatch *rows = reader->rows;
	MemoryContext old = MemoryContextSwitchTo(rows->context);
	GpucolStatus status;

	gpucol_deform_choose(reader->deform, reader->lacking);
	for (int c = 0; c < rows->ncolumns; c++)
		if (reader->lacking[c])
			gpucol_row_batch_start_values(rows, c);
	status = read_lacking(reader, unit);
	MemoryContextSwitchTo(old);
	if (status != GPUCOL_OK)
		return status;
	find_nulls(rows, reader->lacking);
	for (int c = 0; c < rows->ncolumns; c++)
	{
		if (!reader->lacking[c])
			continue;
		gpucol_delta_cache_keep(unit, rows, c);
		reader->columns[c] = rows->batch[c];
	}
	return GPUCOL_OK;
}

/* Show a unit's rows; GPUCOL_END if that turns out not to do (*keep: for another). */
static GpucolStatus
show_unit(GpucolDeltaReader *reader, GpucolDeltaUnit *unit, bool *keep, GpucolDelta *out)
{
	GpucolRowBatch *rows = reader->rows;
	GpucolStatus status = GPUCOL_OK;
	bool		lacks = false;

	gpucol_row_batch_reset(rows);
	reader->shown = unit;
	gpucol_delta_cache_hold(unit);
	for (int c = 0; c < rows->ncolumns; c++)
	{
		reader->lacking[c] = !gpucol_delta_cache_show(unit, rows, c, &reader->columns[c]);
		lacks |= reader->lacking[c];
	}
	if (lacks && unit->nrows > 0)
		status = complete_unit(reader, unit);
	if (status == GPUCOL_END)
	{
		*keep = unit->dropped;
		let_go(reader);
		return status;
	}
	leave_page(reader);
	reader->block = unit->start + unit->nblocks;
	pgstat_count_index_tuples(reader->heap->rs_rd, unit->nrows);
	out->nrows = unit->nrows;
	out->tids = unit->tids;
	out->columns = reader->columns;
	return status;
}

/* ------------------------------------------------------------------------
 * Batches
 * ------------------------------------------------------------------------
 */

/* Is the next page better left to another batch? */
static bool
is_border(const GpucolDeltaReader *reader, bool keep)
{
	return reader->cache != NULL && reader->rows->nrows >= ENOUGH_ROWS &&
		(!keep || gpucol_delta_cache_find(reader->cache, reader->block) != NULL);
}

/* Read pages into the batch, which is kept if all are settled and `keep`. */
static GpucolStatus
read_batch(GpucolDeltaReader *reader, bool keep, GpucolDelta *out)
{
	GpucolRowBatch *rows = reader->rows;
	GpucolDeltaUnit *draft = &reader->draft;
	MemoryContext old;
	bool		fits = true;

	draft->start = reader->block;
	draft->nblocks = 0;
	draft->of_segments = 0;
	draft->newest = InvalidTransactionId;
	draft->recent = (GpucolRecentXids) {InvalidTransactionId, InvalidTransactionId};
	gpucol_deform_choose(reader->deform, reader->all);
	gpucol_row_batch_start(rows);
	old = MemoryContextSwitchTo(rows->context);
	while (fits && reader->block < reader->end && !is_border(reader, keep))
	{
		load_page(reader);
		if (!has_room(reader))
			break;
		if (keep && !draft_page(reader))
		{
			if (draft->nblocks > 0)
				break;
			keep = false;
		}
		fits = take_page(reader);
		keep &= !reader->loaded;
		if (keep && ++draft->nblocks == GPUCOL_DELTA_UNIT_PAGES)
			break;
	}
	MemoryContextSwitchTo(old);
	find_nulls(rows, reader->all);
	if (reader->block >= reader->end)
		leave_page(reader);
	if (keep && fits && draft->nblocks > 0)
		keep_draft(reader);
	/* rows returned, as heap's scan counts them */
	pgstat_count_index_tuples(reader->heap->rs_rd, rows->nrows);
	return gpucol_row_batch_show(rows, fits, out);
}

GpucolStatus
gpucol_delta_reader_next(GpucolDeltaReader *reader, GpucolDelta *out)
{
	GpucolStatus status = GPUCOL_END;

	let_go(reader);
	while (status == GPUCOL_END && reader->block < reader->end)
	{
		bool		keep;
		GpucolDeltaUnit *unit = find_unit(reader, &keep);

		if (unit != NULL)
			status = show_unit(reader, unit, &keep, out);
		if (unit == NULL || reader->shown == NULL)
			status = read_batch(reader, keep, out);
		else if (status == GPUCOL_OK && out->nrows == 0)
		{
			let_go(reader);
			status = GPUCOL_END;
		}
	}
	return status;
}
