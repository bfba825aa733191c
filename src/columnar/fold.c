/*-------------------------------------------------------------------------
 *
 * fold.c
 *	  Folding the tombstones of dead rows into bitmaps.
 *
 * A tombstone is a tuple for each deleted row; a bitmap is one for 8,192 rows,
 * deleted or not.  One transaction inserts the bitmaps, with what older bitmaps of
 * the same rows had, and deletes tombstones and older bitmaps.  Every snapshot, on
 * a standby too, sees either the one or the other; a session that looks with a
 * dirty snapshot looks for the tombstone first, and finds the bitmap if the
 * tombstone has gone in between.
 *
 * Where segments were packed together (compact.c) tombstones and bitmaps of the old ones stay behind.
 * When nobody sees those, tombstones are deleted and not folded, and bitmaps go.
 *
 * A segment whose rows are all dead loses its entry by the same transaction, and
 * its bitmaps with it; its pages are free when that is history (space.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/snapmgr.h"

#include "columnar/fold.h"
#include "columnar/fold_count.h"
#include "columnar/rownum.h"
#include "compat.h"

/* Delete the live directory rows keyed `from` to `to`. */
static void
delete_rows(GpucolDirectory *dir, Oid base, uint64 from, uint64 to, CommandId cid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, base, from, to,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		gpucol_directory_delete(dir, &row.tid, cid);
	}
	gpucol_directory_scan_end(&scan);
}

/* Merge the live bitmap of a block into `bits` and delete it. */
static void
absorb_bitmap(GpucolDirectory *dir, uint64 number, uint8 *bits, CommandId cid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_BITMAP, number,
								number, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		const uint8 *old = row.data;

		for (int i = 0; i < GPUCOL_BITMAP_BYTES; i++)
			bits[i] |= old[i];
		gpucol_directory_delete(dir, &row.tid, cid);
	}
	gpucol_directory_scan_end(&scan);
}

/* Has no segment a row of a bitmap? */
static bool
is_lost(const GpucolCoverage *coverage, uint64 number)
{
	uint64		first = number * GPUCOL_BITMAP_ROWS;
	uint64		end = first + GPUCOL_BITMAP_ROWS;
	uint32		low = 0;
	uint32		high = coverage->nranges;

	/* the first that ends behind its start */
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (coverage->ranges[middle].end <= first)
			low = middle + 1;
		else
			high = middle;
	}
	return end <= coverage->bound &&
		(low == coverage->nranges || coverage->ranges[low].first >= end);
}

/* Delete bitmaps that have rows of no segment any more. */
static void
forget_bitmaps(GpucolDirectory *dir, const GpucolCoverage *coverage, CommandId cid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_BITMAP, 0,
								GPUCOL_MAX_ROW_NUMBER / GPUCOL_BITMAP_ROWS,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (is_lost(coverage, gpucol_directory_number(GPUCOL_ID_BITMAP, row.id, row.seq)))
			gpucol_directory_delete(dir, &row.tid, cid);
	}
	gpucol_directory_scan_end(&scan);
}

/* Fold the dead rows of one block. */
static void
fold_block(GpucolDirectory *dir, const GpucolDeadBlock *block, CommandId cid)
{
	uint8		bits[GPUCOL_BITMAP_BYTES];
	Oid			id;
	int32		seq;

	memcpy(bits, block->bits, sizeof(bits));
	absorb_bitmap(dir, block->number, bits, cid);
	gpucol_directory_key(GPUCOL_ID_BITMAP, block->number, &id, &seq);
	gpucol_directory_insert(dir, id, seq, bits, sizeof(bits), cid, 0, true);
}

/* Delete the tombstones of the dead rows. */
static uint64
delete_tombstones(GpucolDirectory *dir, const GpucolDeadRows *dead, CommandId cid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	uint64		n = 0;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_TOMBSTONE, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (!gpucol_deadrows_has(dead, gpucol_directory_number(GPUCOL_ID_TOMBSTONE,
															   row.id, row.seq)))
			continue;
		gpucol_directory_delete(dir, &row.tid, cid);
		n++;
	}
	gpucol_directory_scan_end(&scan);
	return n;
}

/* Rows of a segment that bitmaps hold. */
static uint64
count_folded(GpucolDirectory *dir, const GpucolSegmentEntry *entry)
{
	uint64		last = entry->first_row + entry->nrows - 1;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	uint64		n = 0;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_BITMAP,
								entry->first_row / GPUCOL_BITMAP_ROWS,
								last / GPUCOL_BITMAP_ROWS, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		uint64		number = gpucol_directory_number(GPUCOL_ID_BITMAP, row.id, row.seq);

		n += gpucol_directory_count_bits(&row, number * GPUCOL_BITMAP_ROWS,
										 entry->first_row, last + 1);
	}
	gpucol_directory_scan_end(&scan);
	return n;
}

/* Did a row of the segment die just now? */
static bool
is_touched(const GpucolDeadRows *dead, const GpucolSegmentEntry *entry)
{
	uint64		first = entry->first_row / GPUCOL_BITMAP_ROWS;
	uint64		last = (entry->first_row + entry->nrows - 1) / GPUCOL_BITMAP_ROWS;
	uint32		low = 0;
	uint32		high = dead->nblocks;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (dead->blocks[middle].number < first)
			low = middle + 1;
		else
			high = middle;
	}
	return low < dead->nblocks && dead->blocks[low].number <= last;
}

/* Remove a segment's entry, and the bitmaps that no other segment shares. */
static void
remove_segment(GpucolDirectory *dir, const GpucolDirectoryTuple *row,
			   const GpucolSegmentEntry *entry, CommandId cid)
{
	uint64		from = (entry->first_row + GPUCOL_BITMAP_ROWS - 1) / GPUCOL_BITMAP_ROWS;
	uint64		end = (entry->first_row + entry->nrows) / GPUCOL_BITMAP_ROWS;
	ItemPointerData tid = row->tid;

	if (from < end)
		delete_rows(dir, GPUCOL_ID_BITMAP, from, end - 1, cid);
	gpucol_directory_delete(dir, &tid, cid);
}

/* Remove segments that have lost their last row just now. */
static void
remove_segments(GpucolDirectory *dir, const GpucolDeadRows *dead, GpucolFolded *folded)
{
	CommandId	cid = GetCurrentCommandId(true);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_SEGMENT, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		GpucolSegmentEntry entry;

		memcpy(&entry, row.data, sizeof(entry));
		if (entry.nrows == 0 || !is_touched(dead, &entry) ||
			count_folded(dir, &entry) < entry.nrows)
			continue;
		remove_segment(dir, &row, &entry, cid);
		folded->segments++;
		folded->pages += entry.npages;
	}
	gpucol_directory_scan_end(&scan);
}

GpucolFolded
gpucol_fold(GpucolDirectory *dir, const GpucolDeadRows *dead, const GpucolCoverage *coverage, bool early)
{
	GpucolFolded folded = {0};
	CommandId	cid = GetCurrentCommandId(true);

	gpucol_fold_count_begin(dir, early ? dead->nrows : 0, dead->newest);
	if (dead->nblocks > 0)
		gpucol_directory_admit(dir, GPUCOL_LACKS_BITMAPS);
	for (uint32 i = 0; i < dead->nblocks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_lost(coverage, dead->blocks[i].number))
			fold_block(dir, &dead->blocks[i], cid);
	}
	forget_bitmaps(dir, coverage, cid);
	folded.rows = delete_tombstones(dir, dead, cid);
	CommandCounterIncrement();
	remove_segments(dir, dead, &folded);
	CommandCounterIncrement();
	return folded;
}
