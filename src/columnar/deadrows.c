/*-------------------------------------------------------------------------
 *
 * deadrows.c
 *	  Segment rows that are dead to everyone.
 *
 * Two kinds of row numbers may still stand in indexes though no snapshot can see
 * a row there: numbers that no segment has (a load that failed, a segment that is
 * gone), known as the complement of what segments have; and rows whose tombstone
 * was committed before the oldest snapshot.  Row numbers are never used twice, so
 * an index entry that is overlooked or comes back leads nowhere, not astray.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/deadrows.h"
#include "columnar/space.h"
#include "compat.h"

HTSV_Result
gpucol_deadrows_judge(const GpucolDirectoryTuple *row, TransactionId oldest_xmin)
{
	HTSV_Result status;

	LockBuffer(row->buffer, BUFFER_LOCK_SHARE);
	status = HeapTupleSatisfiesVacuum(row->tuple, oldest_xmin, row->buffer);
	LockBuffer(row->buffer, BUFFER_LOCK_UNLOCK);
	return status;
}

/* Add what one segment has. */
static void
add_segment(GpucolCoverage *coverage, const GpucolSegmentEntry *entry)
{
	GpucolRowRange *range = &coverage->ranges[coverage->nranges++];

	range->first = entry->first_row;
	range->end = entry->first_row + Max(entry->reserved, entry->nrows);
	coverage->rows += entry->nrows;
	if (entry->nrows > 0)
		coverage->block = entry->extents[0].start;
	for (uint32 i = 0; i < entry->nextents; i++)
		coverage->extents[coverage->nextents++] = entry->extents[i];
}

/* Note who has deleted an entry that is dead to everyone. */
static void
note_end(GpucolCoverage *coverage, HeapTupleHeader entry)
{
	TransactionId end;

	if ((entry->t_infomask & HEAP_XMAX_INVALID) != 0)
		return;
	end = HeapTupleHeaderGetUpdateXid(entry);
	if (TransactionIdIsNormal(end) && TransactionIdDidCommit(end) &&
		(!TransactionIdIsValid(coverage->newest) || TransactionIdFollows(end, coverage->newest)))
		coverage->newest = end;
}

GpucolCoverage *
gpucol_coverage_read_locked(GpucolDirectory *dir)
{
	GpucolCoverage *coverage = palloc0(sizeof(GpucolCoverage));
	TransactionId oldest_xmin = GetOldestNonRemovableTransactionId(dir->toast);
	uint32		capacity = 16;
	uint64		end = GPUCOL_BLOCK_TIDS;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	coverage->identity = gpucol_directory_identity(dir);
	coverage->bound = Max(gpucol_directory_next_row(dir), end);
	coverage->block = InvalidBlockNumber;
	coverage->ranges = palloc(capacity * sizeof(GpucolRowRange));
	coverage->extents = palloc(capacity * GPUCOL_MAX_EXTENTS * sizeof(GpucolExtent));
	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_SEGMENT, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		GpucolSegmentEntry entry;

		if (gpucol_deadrows_judge(&row, oldest_xmin) == HEAPTUPLE_DEAD)
		{
			note_end(coverage, row.tuple->t_data);
			continue;
		}
		if (coverage->nranges == capacity)
		{
			capacity *= 2;
			coverage->ranges = repalloc_huge(coverage->ranges,
											 capacity * sizeof(GpucolRowRange));
			coverage->extents = repalloc_huge(coverage->extents, capacity *
											  GPUCOL_MAX_EXTENTS * sizeof(GpucolExtent));
		}
		memcpy(&entry, row.data, sizeof(entry));
		add_segment(coverage, &entry);
	}
	gpucol_directory_scan_end(&scan);
	gpucol_directory_sort_extents(coverage->extents, coverage->nextents);

	for (uint32 i = 0; i < coverage->nranges; i++)
	{
		if (coverage->ranges[i].first > end)
			coverage->lost += coverage->ranges[i].first - end;
		end = Max(end, coverage->ranges[i].end);
	}
	if (coverage->bound > end)
		coverage->lost += coverage->bound - end;
	return coverage;
}

GpucolCoverage *
gpucol_coverage_read(GpucolDirectory *dir)
{
	GpucolCoverage *coverage;

	gpucol_space_lock(dir->table, AccessExclusiveLock);
	coverage = gpucol_coverage_read_locked(dir);
	gpucol_space_unlock(dir->table, AccessExclusiveLock);
	return coverage;
}

bool
gpucol_coverage_has_row(const GpucolCoverage *coverage, uint64 row)
{
	uint32		low = 0;
	uint32		high = coverage->nranges;

	if (row >= coverage->bound)
		return true;
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (row < coverage->ranges[middle].first)
			high = middle;
		else if (row < coverage->ranges[middle].end)
			return true;
		else
			low = middle + 1;
	}
	return false;
}

bool
gpucol_coverage_is_free(const GpucolCoverage *coverage, const GpucolExtent *extent)
{
	uint32		low = 0;
	uint32		high = coverage->nextents;

	/* the first that ends behind its start */
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const GpucolExtent *other = &coverage->extents[middle];

		if ((uint64) other->start + other->npages <= extent->start)
			low = middle + 1;
		else
			high = middle;
	}
	return low == coverage->nextents ||
		coverage->extents[low].start >= (uint64) extent->start + extent->npages;
}

/* Note a dead row; rows come in ascending order. */
static void
add_row(GpucolDeadRows *dead, uint32 *capacity, uint64 row)
{
	uint64		number = row / GPUCOL_BITMAP_ROWS;
	uint32		bit = row % GPUCOL_BITMAP_ROWS;
	GpucolDeadBlock *block;

	if (dead->nblocks == 0 || dead->blocks[dead->nblocks - 1].number != number)
	{
		if (dead->nblocks == *capacity)
		{
			*capacity = Max(*capacity * 2, 16);
			dead->blocks = dead->blocks == NULL ?
				palloc(*capacity * sizeof(GpucolDeadBlock)) :
				repalloc_huge(dead->blocks, *capacity * sizeof(GpucolDeadBlock));
		}
		memset(&dead->blocks[dead->nblocks], 0, sizeof(GpucolDeadBlock));
		dead->blocks[dead->nblocks++].number = number;
	}
	block = &dead->blocks[dead->nblocks - 1];
	block->bits[bit / 8] |= 1 << (bit % 8);
	dead->nrows++;
}

GpucolDeadRows *
gpucol_deadrows_collect(GpucolDirectory *dir, TransactionId oldest_xmin)
{
	GpucolDeadRows *dead = palloc0(sizeof(GpucolDeadRows));
	uint32		capacity = 0;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_TOMBSTONE, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (gpucol_deadrows_judge(&row, oldest_xmin) != HEAPTUPLE_LIVE)
			continue;
		if (!HeapTupleHeaderXminFrozen(row.tuple->t_data))
		{
			if (!TransactionIdPrecedes(row.xmin, oldest_xmin))
			{
				dead->recent++;
				continue;
			}
			if (!TransactionIdIsValid(dead->newest) ||
				TransactionIdFollows(row.xmin, dead->newest))
				dead->newest = row.xmin;
		}
		add_row(dead, &capacity,
				gpucol_directory_number(GPUCOL_ID_TOMBSTONE, row.id, row.seq));
	}
	gpucol_directory_scan_end(&scan);
	return dead;
}

bool
gpucol_deadrows_has(const GpucolDeadRows *dead, uint64 row)
{
	uint64		number = row / GPUCOL_BITMAP_ROWS;
	uint32		bit = row % GPUCOL_BITMAP_ROWS;
	uint32		low = 0;
	uint32		high = dead->nblocks;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const GpucolDeadBlock *block = &dead->blocks[middle];

		if (number < block->number)
			high = middle;
		else if (number > block->number)
			low = middle + 1;
		else
			return ((block->bits[bit / 8] >> (bit % 8)) & 1) != 0;
	}
	return false;
}
