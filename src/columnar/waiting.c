/*-------------------------------------------------------------------------
 *
 * waiting.c
 *	  gpucol.waiting: the upkeep that a table waits for, and what does it.
 *
 *	rows to pack			the delta's, which gpucol.merge or an automatic merge packs; nothing
 *							does where they must stay (PROTOCOL)
 *	deletions to fold		tombstones, which VACUUM makes bitmaps of when no snapshot needs them
 *	segments to pack		small and much-deleted ones, which VACUUM or an automatic merge packs
 *							together, or, where it does not pay yet, only VACUUM FULL
 *
 * It counts what the caller's snapshot sees; the delta's rows on a sample of its pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "columnar/cluster.h"
#include "columnar/compact.h"
#include "columnar/delta_count.h"
#include "columnar/delta_pages.h"
#include "columnar/functions.h"
#include "columnar/view.h"
#include "columnar/writer.h"

PG_FUNCTION_INFO_V1(gpucol_waiting);

/* Pages of the delta whose rows are counted. */
#define SAMPLED_PAGES	256

/* Some work that waits. */
typedef struct Waiting
{
	const char *work;
	const char *done_by;		/* NULL = nothing */
	uint64		rows;
	uint64		segments;
	uint64		pages;
} Waiting;

/* Does the snapshot see a row of the delta?  Its page is locked. */
static bool
is_seen(HeapTuple row, Buffer buffer, void *snapshot)
{
	return HeapTupleSatisfiesVisibility(row, snapshot, buffer);
}

/* Rows of the delta, and its pages. */
static void
count_delta(const GpucolView *view, Waiting *out)
{
	GpucolBlockRange *ranges;
	uint32		nranges;

	ranges = gpucol_view_delta_ranges(view, RelationGetNumberOfBlocks(view->table),
									  MaxBlockNumber, &nranges);
	gpucol_delta_pages_skip(view, &ranges, &nranges);
	out->rows = (uint64) gpucol_delta_count(view->table, ranges, nranges, SAMPLED_PAGES, NULL,
											is_seen, view->snapshot);
	for (uint32 i = 0; i < nranges; i++)
		out->pages += ranges[i].nblocks;
}

/* Set bits of the bitmap of a segment's rows, which may be NULL. */
static uint32
count_bits(const uint32 *bits, uint32 nrows)
{
	return bits == NULL ? 0 :
		(uint32) pg_popcount((const char *) bits, (int) ((nrows + 31) / 32 * sizeof(uint32)));
}

/* Tombstones, and segments with few rows left. */
static void
count_segments(const GpucolView *view, Waiting *fold, Waiting *pack)
{
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolSegmentEntry *entry = &view->segments[i].entry;
		uint32		live = entry->nrows - gpucol_view_count_deleted(view, &view->segments[i]);
		uint32	   *tombstoned;
		uint32		ntombstones;

		CHECK_FOR_INTERRUPTS();
		tombstoned = gpucol_view_tombstoned(view, &view->segments[i], view->snapshot);
		ntombstones = count_bits(tombstoned, entry->nrows);
		fold->rows += ntombstones;
		fold->segments += ntombstones > 0;
		if (tombstoned != NULL)
			pfree(tombstoned);
		/* one small segment by itself is as good as it gets */
		if (!gpucol_cluster_is_sparse(live, entry->nrows) ||
			(view->nsegments == 1 && live == entry->nrows))
			continue;
		pack->rows += live;
		pack->segments++;
		pack->pages += entry->npages;
	}
}

/* gpucol.waiting(regclass): a row for each kind of work that waits. */
Datum
gpucol_waiting(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	table = gpucol_functions_open(PG_GETARG_OID(0));
	GpucolView *view;
	Waiting		all[] = {
		{.work = "rows to pack", .done_by = "gpucol.merge"},
		{.work = "deletions to fold", .done_by = "VACUUM"},
		{.work = "segments to pack", .done_by = "VACUUM FULL"}
	};

	InitMaterializedSRF(fcinfo, 0);
	view = gpucol_view_open(table, GetActiveSnapshot());
	count_delta(view, &all[0]);
	count_segments(view, &all[1], &all[2]);
	if (!gpucol_writer_allowed(table))
		all[0].done_by = NULL;
	if (gpucol_compact_is_due(view, false))
		all[2].done_by = "VACUUM";
	for (int i = 0; i < (int) lengthof(all); i++)
	{
		Datum		values[5];
		bool		isnull[5] = {false};

		if (all[i].rows == 0 && all[i].segments == 0)
			continue;
		values[0] = CStringGetTextDatum(all[i].work);
		isnull[1] = all[i].done_by == NULL;
		if (!isnull[1])
			values[1] = CStringGetTextDatum(all[i].done_by);
		values[2] = Int64GetDatum((int64) all[i].rows);
		values[3] = Int64GetDatum((int64) all[i].segments);
		values[4] = Int64GetDatum((int64) all[i].pages * BLCKSZ);
		isnull[3] = i == 0;
		isnull[4] = i == 1;
		tuplestore_putvalues(result->setResult, result->setDesc, values, isnull);
	}
	table_close(table, AccessShareLock);
	return (Datum) 0;
}
