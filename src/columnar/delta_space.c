/*-------------------------------------------------------------------------
 *
 * delta_space.c
 *	  Room on pages of the delta whose rows a merge has moved.
 *
 * Each scan reads all pages of the delta, with rows or without.  The line pointers of moved rows stay
 * until VACUUM has cleaned the indexes, but their room does not: it is there when the page is pruned, as
 * each reader does.  Only inserts do not know of it, until VACUUM says so.  So an automatic merge
 * lists the pages that others before have emptied.  A page may be filled some times
 * before its line pointers are used up; then VACUUM is needed.
 *
 * Pages of segments that others are writing, which the view does not show, have no room, by their headers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"

#include "columnar/delta_check.h"
#include "columnar/delta_space.h"

/* Room that is worth it. */
#define MUCH_ROOM	(BLCKSZ / 2)

/* Room on a page, which is pruned if that pays. */
static Size
find_room(Relation table, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(table, block);
	Page		page = BufferGetPage(buffer);
	Size		room;

	gpucol_delta_check_lines(table, buffer);
	heap_page_prune_opt(table, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	room = PageIsNew(page) ? 0 : PageGetHeapFreeSpace(page);
	UnlockReleaseBuffer(buffer);
	return room;
}

BlockNumber
gpucol_delta_space_list(const GpucolView *view)
{
	Relation	table = view->table;
	uint32		nranges;
	GpucolBlockRange *ranges = gpucol_view_delta_ranges(view, RelationGetNumberOfBlocks(table),
														MaxBlockNumber, &nranges);
	BlockNumber listed = 0;

	for (uint32 i = 0; i < nranges; i++)
	{
		for (BlockNumber block = ranges[i].start; block < ranges[i].start + ranges[i].nblocks; block++)
		{
			Size		room;

			CHECK_FOR_INTERRUPTS();
			room = find_room(table, block);
			if (room < MUCH_ROOM || GetRecordedFreeSpace(table, block) >= MUCH_ROOM)
				continue;
			RecordPageWithFreeSpace(table, block, room);
			listed++;
		}
	}
	if (listed > 0)
		FreeSpaceMapVacuum(table);
	pfree(ranges);
	return listed;
}
