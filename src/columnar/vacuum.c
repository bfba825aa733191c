/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  VACUUM.
 *
 * Heap's VACUUM does the delta.  It must not truncate the main fork: it would
 * take segment pages, which have no line pointers, for empty ones.  The row count
 * that it leaves in pg_class is extrapolated from the pages that it read, so it
 * is set right afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "columnar/vacuum.h"
#include "columnar/view.h"
#include "compat.h"

/* Delta pages that are read to count the delta's rows. */
#define COUNTED_PAGES	1024

/* Rows on one heap page. */
static uint32
count_page_rows(Relation rel, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL,
											strategy);
	Page		page = BufferGetPage(buffer);
	uint32		rows = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page))
	{
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
		{
			if (ItemIdIsNormal(PageGetItemId(page, i)))
				rows++;
		}
	}
	UnlockReleaseBuffer(buffer);
	return rows;
}

/* Rows of the delta, counted on evenly spaced pages. */
static double
count_delta_rows(Relation rel, const GpucolView *view, BufferAccessStrategy strategy)
{
	uint32		nranges;
	GpucolBlockRange *ranges = gpucol_view_delta_ranges(view, RelationGetNumberOfBlocks(rel),
														MaxBlockNumber, &nranges);
	BlockNumber pages = 0;
	BlockNumber counted = 0;
	BlockNumber position = 0;
	BlockNumber step;
	double		rows = 0;

	for (uint32 i = 0; i < nranges; i++)
		pages += ranges[i].nblocks;
	step = Max(1, pages / COUNTED_PAGES);
	for (uint32 i = 0; i < nranges; i++)
	{
		for (BlockNumber j = 0; j < ranges[i].nblocks; j++)
		{
			if (position++ % step != 0)
				continue;
			CHECK_FOR_INTERRUPTS();
			rows += count_page_rows(rel, ranges[i].start + j, strategy);
			counted++;
		}
	}
	pfree(ranges);
	return counted == 0 ? 0 : rows * pages / counted;
}

/* Set pg_class.reltuples to segment rows plus delta rows. */
static void
correct_reltuples(Relation rel, BufferAccessStrategy strategy)
{
	GpucolView *view = gpucol_view_open(rel, GetActiveSnapshot());
	double		rows;
	BlockNumber all_visible;
	BlockNumber all_frozen;

	if (view->nsegments == 0)
		return;
	rows = count_delta_rows(rel, view, strategy);
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		uint32		ndeleted;
		uint32	   *deleted = gpucol_view_deleted(view, &view->segments[i], &ndeleted);

		rows += view->segments[i].entry.nrows - ndeleted;
		if (deleted != NULL)
			pfree(deleted);
	}
	visibilitymap_count(rel, &all_visible, &all_frozen);
	gpucol_compat_update_relstats(rel, RelationGetNumberOfBlocks(rel), rows,
								  all_visible, all_frozen);
}

void
gpucol_vacuum_rel(Relation rel, struct VacuumParams *params,
				  BufferAccessStrategy strategy)
{
	VacuumParams own = *params;

	own.truncate = VACOPTVALUE_DISABLED;
	heap_vacuum_rel(rel, &own, strategy);
	correct_reltuples(rel, strategy);
}
