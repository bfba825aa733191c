/*-------------------------------------------------------------------------
 *
 * delta_count.c
 *	  How many rows the delta has, about: for VACUUM, which tells the planner, and for
 *	  automatic merges, which ask whether there is enough to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/delta_check.h"
#include "columnar/delta_count.h"

/* Rows on one heap page. */
static uint32
count_page_rows(Relation rel, BlockNumber block, BufferAccessStrategy strategy,
				GpucolDeltaWanted wanted, void *argument)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL,
											strategy);
	Page		page = BufferGetPage(buffer);
	OffsetNumber last;
	uint32		rows = 0;

	gpucol_delta_check_lines(rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageIsNew(page) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(page);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		ItemId		item = PageGetItemId(page, i);
		HeapTupleData row;

		if (!ItemIdIsNormal(item))
			continue;
		row.t_tableOid = RelationGetRelid(rel);
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, i);
		if (wanted == NULL || wanted(&row, buffer, argument))
			rows++;
	}
	UnlockReleaseBuffer(buffer);
	return rows;
}

double
gpucol_delta_count(Relation rel, const GpucolBlockRange *ranges, uint32 nranges,
				   BlockNumber most_pages, BufferAccessStrategy strategy,
				   GpucolDeltaWanted wanted, void *argument)
{
	BlockNumber pages = 0;
	BlockNumber counted = 0;
	BlockNumber position = 0;
	BlockNumber step;
	double		rows = 0;

	for (uint32 i = 0; i < nranges; i++)
		pages += ranges[i].nblocks;
	step = Max(1, pages / most_pages);
	for (uint32 i = 0; i < nranges; i++)
	{
		for (BlockNumber j = 0; j < ranges[i].nblocks; j++)
		{
			if (position++ % step != 0)
				continue;
			CHECK_FOR_INTERRUPTS();
			rows += count_page_rows(rel, ranges[i].start + j, strategy, wanted, argument);
			counted++;
		}
	}
	return counted == 0 ? 0 : rows * pages / counted;
}
