/*-------------------------------------------------------------------------
 *
 * block_ranges.c
 *	  Which rows of a segment a block of the table stands for, and BRIN indexes, which
 *	  summarise blocks.
 *
 * BRIN keeps a summary of the rows in each range of blocks, and a bitmap scan gets the
 * blocks of the ranges that may have what it looks for.  The rows of a segment are dealt evenly
 * to the pages that it occupies; so each has a block, which never changes, and PostgreSQL's own
 * BRIN works on packed rows as on others:
 *
 *	  CREATE INDEX, VACUUM	are shown the rows in the order of their blocks (index_build.c)
 *	  a load, a merge		covers its rows here, when a segment is complete
 *	  a bitmap scan			reads the rows of each block that it is given (bitmap.c)
 *
 * The TIDs of packed rows, under which the executor enters them, are blocks that BRIN has no
 * summary of, so it passes those entries over.
 *
 * A range without a summary is always read.  VACUUM makes one while others load: it puts a
 * placeholder first and then looks at the rows, those of loads in progress too; a load
 * completes its segment's entry first and then looks for summaries and placeholders.  So one of
 * them finds the other, as with heap's rows.  Mostly a load's pages are new and lie in no
 * range that has a summary, and nothing is to be done.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin.h"
#include "access/brin_revmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "columnar/block_ranges.h"
#include "columnar/owner.h"
#include "columnar/page.h"
#include "columnar/scan.h"
#include "compat.h"

/* ------------------------------------------------------------------------
 * Blocks and rows
 * ------------------------------------------------------------------------
 */

BlockNumber
gpucol_block_of_row(const GpucolSegmentEntry *entry, uint32 row)
{
	uint32		ordinal = (uint32) ((((uint64) row + 1) * entry->npages - 1) / entry->nrows);

	return gpucol_page_block(entry, ordinal);
}

/* The block's ordinal among the pages of a segment, or -1. */
static int64
ordinal_in(const GpucolSegmentEntry *entry, BlockNumber block)
{
	uint32		ordinal = 0;

	for (uint32 i = 0; i < entry->nextents; i++)
	{
		const GpucolExtent *extent = &entry->extents[i];

		if (block >= extent->start && block - extent->start < extent->npages)
			return ordinal + (block - extent->start);
		ordinal += extent->npages;
	}
	return -1;
}

int64
gpucol_block_find(const GpucolView *view, BlockNumber block, int64 hint, uint32 *ordinal)
{
	for (int64 i = hint >= 0 && hint < view->nsegments ? -1 : 0; i < view->nsegments; i++)
	{
		int64		number = i < 0 ? hint : i;
		int64		found = ordinal_in(&view->segments[number].entry, block);

		if (found < 0)
			continue;
		*ordinal = (uint32) found;
		return number;
	}
	return -1;
}

/* ------------------------------------------------------------------------
 * Covering the rows of a segment
 * ------------------------------------------------------------------------
 */

/* A segment whose rows an index is to cover. */
typedef struct Cover
{
	Relation	table;
	const GpucolSegmentEntry *entry;
	Relation	index;
	IndexInfo  *info;
	BrinRevmap *revmap;
	BlockNumber pages_per_range;
	bool		summarise;		/* autovacuum is to be asked for the range before a new one */
	BlockNumber start;			/* range that was looked at last, */
	bool		summarised;		/* and whether it has a summary, or a placeholder of one */

	/* what turns rows into values; NULL before the first */
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	GpucolReader *reader;
} Cover;

bool
gpucol_block_ranges_has(Relation index)
{
	return index->rd_rel->relam == BRIN_AM_OID;
}

/* The same before it is opened. */
static bool
is_brin(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relam == BRIN_AM_OID;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* Look whether the range that begins with a block has a summary. */
static void
look_at_range(Cover *cover, BlockNumber start)
{
	Buffer		buffer = InvalidBuffer;
	OffsetNumber offset;

	cover->start = start;
	cover->summarised = gpucol_compat_revmap_get(cover->revmap, start, &buffer, &offset) != NULL;
	if (cover->summarised)
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

/* Have the means to turn rows into values. */
static void
begin_rows(Cover *cover)
{
	if (cover->estate != NULL)
		return;
	cover->estate = CreateExecutorState();
	cover->slot = table_slot_create(cover->table, NULL);
	cover->predicate = ExecPrepareQual(cover->info->ii_Predicate, cover->estate);
	cover->reader = gpucol_reader_create(cover->table);
	gpucol_reader_open(cover->reader, gpucol_segment_open(cover->table, cover->entry));
}

static void
end_rows(Cover *cover)
{
	if (cover->estate == NULL)
		return;
	gpucol_reader_close(cover->reader);
	ExecDropSingleTupleTableSlot(cover->slot);
	FreeExecutorState(cover->estate);
}

/* Enter rows [first, end) under a block. */
static void
enter_rows(Cover *cover, BlockNumber block, uint32 first, uint32 end)
{
	ExprContext *econtext;
	ItemPointerData tid;

	begin_rows(cover);
	econtext = GetPerTupleExprContext(cover->estate);
	econtext->ecxt_scantuple = cover->slot;
	for (uint32 row = first; row < end; row++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		gpucol_scan_store(cover->reader, row, GetTopTransactionId(), cover->slot);
		if (cover->predicate != NULL && !ExecQual(cover->predicate, econtext))
			continue;
		FormIndexDatum(cover->info, cover->slot, cover->estate, values, isnull);
		/* BRIN asks for a summary of the range before with the first of a block only */
		ItemPointerSet(&tid, block, row == first ? FirstOffsetNumber : FirstOffsetNumber + 1);
		index_insert(cover->index, values, isnull, &tid, cover->table, UNIQUE_CHECK_NO, false,
					 cover->info);
	}
}

/* Cover the rows of one block. */
static void
cover_block(Cover *cover, BlockNumber block, uint32 ordinal)
{
	uint32		first = gpucol_block_first_row(cover->entry, ordinal);
	uint32		end = gpucol_block_first_row(cover->entry, ordinal + 1);
	BlockNumber start = block - block % cover->pages_per_range;

	if (start != cover->start)
		look_at_range(cover, start);
	if (cover->summarised)
		enter_rows(cover, block, first, end);
	else if (cover->summarise && block == start)
		enter_rows(cover, block, first, Min(first + 1, end));
}

/* Cover the rows of a segment in one index. */
static void
cover_index(Relation table, Relation index, const GpucolSegmentEntry *entry)
{
	Cover		cover = {
		.table = table, .entry = entry, .index = index, .info = BuildIndexInfo(index),
		.summarise = BrinGetAutoSummarize(index), .start = InvalidBlockNumber
	};
	uint32		ordinal = 0;

	cover.revmap = gpucol_compat_revmap_open(index, &cover.pages_per_range);
	for (uint32 i = 0; i < entry->nextents; i++)
	{
		for (uint32 page = 0; page < entry->extents[i].npages; page++)
			cover_block(&cover, entry->extents[i].start + page, ordinal++);
	}
	brinRevmapTerminate(cover.revmap);
	end_rows(&cover);
	gpucol_compat_insert_cleanup(index, cover.info);
}

void
gpucol_block_ranges_cover(Relation table, const GpucolSegmentEntry *entry)
{
	List	   *indexes;
	ListCell   *lc;
	GpucolOwner before;
	bool		pushed = false;

	if (!table->rd_rel->relhasindex)
		return;
	indexes = RelationGetIndexList(table);
	foreach(lc, indexes)
	{
		MemoryContext context;
		MemoryContext old;
		Relation	index;

		if (!is_brin(lfirst_oid(lc)))
			continue;
		index = index_open(lfirst_oid(lc), RowExclusiveLock);
		if (!index->rd_index->indisready)
		{
			index_close(index, NoLock);
			continue;
		}
		/* buffers may be written before a commit, when no statement runs */
		if (!ActiveSnapshotSet())
		{
			PushActiveSnapshot(GetTransactionSnapshot());
			pushed = true;
		}
		context = AllocSetContextCreate(CurrentMemoryContext, "gpucol block ranges",
										ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(context);
		gpucol_owner_begin(table, &before);
		cover_index(table, index, entry);
		gpucol_owner_end(&before);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		index_close(index, NoLock);
	}
	list_free(indexes);
	if (pushed)
		PopActiveSnapshot();
}
