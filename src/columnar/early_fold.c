/*-------------------------------------------------------------------------
 *
 * early_fold.c
 *	  Folding tombstones before their rows' index entries are deleted.
 *
 * Each scan reads all tombstones, and a bitmap is read as fast as a few of them.  VACUUM folds when it has
 * cleaned the indexes, each of which it reads as a whole: at a rate at which that pays, there are
 * tombstones of many rows.  Automatic merges fold far more often, and leave the indexes alone.
 *
 * What folding takes from VACUUM is the list of rows whose entries it deletes.  So before tombstones are folded
 * early, a directory row counts them, and has the last of their deleters (fold_count.h).  As long as the count is
 * not 0, the next VACUUM that cleans indexes takes all rows that bitmaps have for those of which there may be entries;
 * then it sets the count to 0.  A count that is too high, of a fold that was rolled back, costs no more than that.
 *
 * An entry of such a row leads to one that is deleted for everybody, like that of a row with a tombstone that
 * every snapshot sees (index_dead.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/early_fold.h"
#include "columnar/fold.h"

/* Fold, with the directory open. */
static uint64
fold(GpucolDirectory *dir, double least)
{
	GpucolDeadRows *dead = gpucol_deadrows_collect(dir, GetOldestNonRemovableTransactionId(dir->toast));

	if (dead->nrows == 0 || dead->nrows < least)
		return 0;
	return gpucol_fold(dir, dead, gpucol_coverage_read(dir), true).rows;
}

uint64
gpucol_early_fold(Relation table, double least)
{
	MemoryContext context;
	MemoryContext old;
	GpucolDirectory dir;
	uint64		folded = 0;
	bool		any;

	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return 0;
	any = gpucol_directory_next_row(&dir) > 0 && (gpucol_directory_lacks(&dir) & GPUCOL_LACKS_TOMBSTONES) == 0;
	gpucol_directory_close(&dir);
	if (!any)
		return 0;
	context = AllocSetContextCreate(CurrentMemoryContext, "gpucol fold", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	if (gpucol_directory_open(&dir, table, RowExclusiveLock))
	{
		folded = fold(&dir, least);
		gpucol_directory_close(&dir);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return folded;
}

/* Add what a bitmap has; they come in ascending order. */
static void
add_bitmap(GpucolDeadRows *rows, uint32 *room, const GpucolDirectoryTuple *row)
{
	GpucolDeadBlock *block;

	if (rows->nblocks == *room)
	{
		*room = Max(2 * *room, 16);
		rows->blocks = rows->blocks == NULL ? palloc(*room * sizeof(GpucolDeadBlock)) :
			repalloc_huge(rows->blocks, *room * sizeof(GpucolDeadBlock));
	}
	block = &rows->blocks[rows->nblocks++];
	block->number = gpucol_directory_number(GPUCOL_ID_BITMAP, row->id, row->seq);
	memcpy(block->bits, row->data, sizeof(block->bits));
	rows->nrows += gpucol_directory_count_bits(row, block->number * GPUCOL_BITMAP_ROWS, 0, GPUCOL_MAX_ROW_NUMBER);
}

GpucolDeadRows *
gpucol_early_fold_collect(GpucolDirectory *dir)
{
	GpucolDeadRows *rows = palloc0(sizeof(GpucolDeadRows));
	uint32		room = 0;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_BITMAP, 0,
								GPUCOL_MAX_ROW_NUMBER / GPUCOL_BITMAP_ROWS, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		add_bitmap(rows, &room, &row);
	}
	gpucol_directory_scan_end(&scan);
	return rows;
}
