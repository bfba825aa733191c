/*-------------------------------------------------------------------------
 *
 * index_dead.c
 *	  Index entries of segment rows that nobody sees any more.
 *
 * A row that is updated and merged again and again leaves an entry of each of its versions in
 * every index.  As in heap, who comes to such an entry marks it, once every snapshot sees the
 * row's tombstone, and the index deletes marked entries when it needs their room.  VACUUM
 * deletes the others; that it does not find some of a row's entries means nothing to it, nor
 * to whoever comes to the row in another way.
 *
 * A standby must cancel the queries that still see the row: the index logs the latest
 * transaction that has deleted a row whose entry goes.  That is the tombstone's.  Where that is
 * folded, or the whole segment has gone since the entry was marked, it is the last whose rows were (fold_count.h).
 *
 * An index asks with one of its pages locked.  So a lock of the TOAST relation is taken only
 * if it is to be had at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/fold_count.h"
#include "columnar/index_dead.h"
#include "columnar/rownum.h"

/* The transaction of the bitmap that has a row, or invalid. */
static TransactionId
find_folder(GpucolDirectory *dir, uint64 row_number)
{
	uint64		bitmap = row_number / GPUCOL_BITMAP_ROWS;
	TransactionId folder = InvalidTransactionId;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	if (gpucol_directory_lacks(dir) & GPUCOL_LACKS_BITMAPS)
		return folder;
	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_BITMAP, bitmap, bitmap,
								ForwardScanDirection);
	if (gpucol_directory_scan_next(&scan, &row) &&
		gpucol_directory_count_bits(&row, bitmap * GPUCOL_BITMAP_ROWS, row_number, row_number + 1) > 0)
		folder = row.xmin;
	gpucol_directory_scan_end(&scan);
	return folder;
}

/* Who has deleted a row, if that is committed and not folded; else invalid. */
static TransactionId
find_deleter(GpucolDirectory *dir, uint64 row_number)
{
	TransactionId deleter = InvalidTransactionId;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, GPUCOL_ID_TOMBSTONE, row_number,
								row_number, ForwardScanDirection);
	if (gpucol_directory_scan_next(&scan, &row))
		deleter = row.xmin;
	gpucol_directory_scan_end(&scan);
	return deleter;
}

/* Does every snapshot see that a row is deleted, by a transaction or by the bitmap that it was folded into? */
static bool
is_removable(GpucolDirectory *dir, uint64 row_number, TransactionId deleter)
{
	if (!TransactionIdIsValid(deleter))
		deleter = find_folder(dir, row_number);
	if (!TransactionIdIsValid(deleter))
		return false;
	return !TransactionIdIsNormal(deleter) || GlobalVisCheckRemovableXid(dir->table, deleter);
}

bool
gpucol_index_dead_row(Relation table, uint64 row_number)
{
	GpucolDirectory dir;
	bool		dead;

	if (RecoveryInProgress() || !gpucol_directory_open(&dir, table, AccessShareLock))
		return false;
	dead = (gpucol_directory_lacks(&dir) & GPUCOL_LACKS_TOMBSTONES) == 0 &&
		is_removable(&dir, row_number, find_deleter(&dir, row_number));
	gpucol_directory_close(&dir);
	return dead;
}

/*
 * Keep of the segment rows, behind heap's in the list, those whose entries may go; returns the
 * latest of their deleters and the one of heap's.
 */
static TransactionId
keep_dead(GpucolDirectory *dir, TM_IndexDeleteOp *delstate, const TM_IndexDelete *packed, int n,
		  TransactionId latest)
{
	bool		any_folded = false;
	TransactionId folded;

	for (int i = 0; i < n; i++)
	{
		TM_IndexStatus *status = &delstate->status[packed[i].id];
		uint64		row_number = gpucol_tid_row(&packed[i].tid);
		TransactionId deleter;

		if (!status->knowndeletable && delstate->bottomup)
			continue;
		deleter = find_deleter(dir, row_number);
		if (!status->knowndeletable && !is_removable(dir, row_number, deleter))
			continue;
		status->knowndeletable = true;
		delstate->deltids[delstate->ndeltids++] = packed[i];
		any_folded |= !TransactionIdIsValid(deleter);
		if (TransactionIdIsNormal(deleter))
			latest = gpucol_fold_count_later(latest, deleter);
	}
	/* after the last look for a tombstone: whoever folds it says so before */
	if (!any_folded)
		return latest;
	(void) gpucol_fold_count_early(dir, &folded);
	return gpucol_fold_count_later(latest, folded);
}

/* The same where the directory cannot be read now: as if every transaction had deleted a row. */
static TransactionId
keep_known(TM_IndexDeleteOp *delstate, const TM_IndexDelete *packed, int n, TransactionId latest)
{
	int			before = delstate->ndeltids;

	for (int i = 0; i < n; i++)
	{
		if (delstate->status[packed[i].id].knowndeletable)
			delstate->deltids[delstate->ndeltids++] = packed[i];
	}
	if (delstate->ndeltids > before)
	{
		latest = ReadNextTransactionId();
		TransactionIdRetreat(latest);
	}
	return latest;
}

/*
 * Is there a row of the delta that heap can look at?  Those that are beside rows known to be dead it expects
 * together with one of these, which may be packed.
 */
static bool
suits_heap(const TM_IndexDeleteOp *delstate)
{
	if (delstate->bottomup)
		return delstate->ndeltids > 0;
	for (int i = 0; i < delstate->ndeltids; i++)
	{
		if (delstate->status[delstate->deltids[i].id].knowndeletable)
			return true;
	}
	return false;
}

TransactionId
gpucol_index_dead_tuples(Relation table, TM_IndexDeleteOp *delstate)
{
	TM_IndexDelete *packed = palloc(delstate->ndeltids * sizeof(TM_IndexDelete));
	TransactionId latest = InvalidTransactionId;
	GpucolDirectory dir;
	int			npacked = 0;
	int			kept = 0;

	for (int i = 0; i < delstate->ndeltids; i++)
	{
		if (gpucol_tid_is_virtual(&delstate->deltids[i].tid))
			packed[npacked++] = delstate->deltids[i];
		else
			delstate->deltids[kept++] = delstate->deltids[i];
	}
	delstate->ndeltids = kept;
	if (suits_heap(delstate))
		latest = heap_index_delete_tuples(table, delstate);
	else
		delstate->ndeltids = 0;
	if (npacked > 0 && !ConditionalLockRelationOid(table->rd_rel->reltoastrelid, AccessShareLock))
		latest = keep_known(delstate, packed, npacked, latest);
	else if (npacked > 0)
	{
		if (gpucol_directory_open(&dir, table, AccessShareLock))
		{
			latest = keep_dead(&dir, delstate, packed, npacked, latest);
			gpucol_directory_close(&dir);
		}
		UnlockRelationOid(table->rd_rel->reltoastrelid, AccessShareLock);
	}
	pfree(packed);
	return latest;
}
