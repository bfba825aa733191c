/*-------------------------------------------------------------------------
 *
 * index_dead.c
 *	  Index entries of segment rows that nobody sees any more.
 *
 * A row that is updated and merged again and again leaves an entry of each of its versions in
 * every index.  As in heap, who comes to such an entry marks it, once every snapshot sees the
 * row's tombstone, or the end of its segment, and the index deletes marked entries when it needs their
 * room.  VACUUM deletes the others; that it does not find some of a row's entries means nothing to it, nor
 * to whoever comes to the row in another way.
 *
 * Who packs rows enters them into the indexes beside their old entries, and says so.  So btree looks, before it
 * splits a page, for entries of the same keys that may go: those of places that such a row had before.
 * All entries of the page are looked at: btree takes few of those that share a key for promising.  Rows beside
 * each other have been in few segments, and what became of the last ones is kept; for tombstones it looks only
 * a few times, as the page is locked.
 *
 * A standby must cancel the queries that still see the row: the index logs the latest
 * transaction that has deleted a row whose entry goes.  That is the tombstone's.  Where that is
 * folded, it is the last whose rows were (fold_count.h).  Where the segment has ended it is who has ended it, or
 * any that every snapshot sees where the directory no longer says so.
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
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/fold_count.h"
#include "columnar/index_dead.h"
#include "columnar/rownum.h"

/* Rows whose tombstones are looked for before a page is split. */
#define MOST_PROBES		32

/* Segments of which it is kept what has become of them. */
#define FATES			4

/* What has become of the segment of some row numbers, or that no segment has them. */
typedef struct Fate
{
	uint64		first;
	uint64		end;			/* first: nothing is known */
	bool		gone;			/* every snapshot sees that it has ended, */
	TransactionId ender;		/* by this transaction, */
	bool		forgotten;		/* or by one that the directory no longer knows */
} Fate;

typedef struct Fates
{
	int			next;			/* to be replaced */
	Fate		all[FATES];
} Fates;

/* ------------------------------------------------------------------------
 * Segments
 * ------------------------------------------------------------------------
 */

/* Has an entry ended for every snapshot?  *ender: by which transaction, invalid if no snapshot ever saw it. */
static bool
has_ended(Relation table, const GpucolDirectoryTuple *row, TransactionId *ender)
{
	HTSV_Result status;

	*ender = InvalidTransactionId;
	LockBuffer(row->buffer, BUFFER_LOCK_SHARE);
	status = HeapTupleSatisfiesVacuumHorizon(row->tuple, row->buffer, ender);
	LockBuffer(row->buffer, BUFFER_LOCK_UNLOCK);
	return status == HEAPTUPLE_DEAD ||
		(status == HEAPTUPLE_RECENTLY_DEAD && GlobalVisCheckRemovableXid(table, *ender));
}

/*
 * Read what has become of a row's segment.  Entries do not overlap, so the nearest below the row decides, but
 * for those whose load has given all its numbers back.
 */
static Fate
read_fate(GpucolDirectory *dir, uint64 row_number)
{
	Fate		fate = {.first = row_number,.end = row_number + 1,.gone = true,.forgotten = true};
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found = false;

	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_SEGMENT, 0, row_number, BackwardScanDirection);
	while (!found && gpucol_directory_scan_next(&scan, &row))
	{
		GpucolSegmentEntry entry;
		uint64		width;

		memcpy(&entry, row.data, sizeof(entry));
		width = Max(entry.reserved, entry.nrows);
		found = width > 0;
		if (row_number - entry.first_row >= width)
			continue;
		fate = (Fate) {.first = entry.first_row,.end = entry.first_row + width};
		fate.gone = has_ended(dir->table, &row, &fate.ender);
	}
	gpucol_directory_scan_end(&scan);
	return fate;
}

/* The same, from what is kept if possible. */
static const Fate *
find_fate(GpucolDirectory *dir, uint64 row_number, Fates *fates)
{
	Fate	   *fate;

	for (int i = 0; i < FATES; i++)
	{
		fate = &fates->all[i];
		if (row_number >= fate->first && row_number < fate->end)
			return fate;
	}
	fate = &fates->all[fates->next];
	fates->next = (fates->next + 1) % FATES;
	*fate = read_fate(dir, row_number);
	return fate;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

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
	if (!dead)
		dead = read_fate(&dir, row_number).gone;
	gpucol_directory_close(&dir);
	return dead;
}

/* ------------------------------------------------------------------------
 * Entries that an index deletes
 * ------------------------------------------------------------------------
 */

/* Whom a standby's snapshots conflict with. */
typedef struct Conflict
{
	TransactionId latest;		/* of those that are known, */
	bool		any_folded;		/* the last whose rows have been folded, */
	bool		any_forgotten;	/* and any that every snapshot sees */
} Conflict;

/*
 * May the entry of a row go?  If it is marked it may; then it is asked for who has deleted the row.  Who does not
 * see that does not see the end of its segment, either.  Where nobody has, it was marked for that end: whoever did
 * so knew better than this backend, which does not always look anew for the oldest snapshot.  *probes: how many
 * tombstones may still be looked for where the entry is not marked.
 */
static bool
may_go(GpucolDirectory *dir, uint64 row_number, bool marked, Fates *fates, int *probes, Conflict *conflict)
{
	const Fate *fate = find_fate(dir, row_number, fates);
	TransactionId deleter;

	if (fate->gone)
	{
		conflict->any_forgotten |= fate->forgotten;
		conflict->latest = gpucol_fold_count_later(conflict->latest, fate->ender);
		return true;
	}
	if (!marked && (*probes)-- <= 0)
		return false;
	deleter = find_deleter(dir, row_number);
	if (!marked && !is_removable(dir, row_number, deleter))
		return false;
	conflict->any_folded |= !TransactionIdIsValid(deleter);
	if (!TransactionIdIsValid(deleter))
		conflict->latest = gpucol_fold_count_later(conflict->latest, fate->ender);
	else if (TransactionIdIsNormal(deleter))
		conflict->latest = gpucol_fold_count_later(conflict->latest, deleter);
	return true;
}

/* The latest transaction of a conflict. */
static TransactionId
find_latest(GpucolDirectory *dir, const Conflict *conflict)
{
	TransactionId latest = conflict->latest;

	/* after the last look for a tombstone: whoever folds it says so before */
	if (conflict->any_folded)
	{
		TransactionId folded;

		(void) gpucol_fold_count_early(dir, &folded);
		latest = gpucol_fold_count_later(latest, folded);
	}
	if (conflict->any_forgotten)
	{
		TransactionId horizon = GetOldestNonRemovableTransactionId(dir->table);

		TransactionIdRetreat(horizon);
		latest = gpucol_fold_count_later(latest, horizon);
	}
	return latest;
}

/*
 * Keep of the segment rows, behind heap's in the list, those whose entries may go; returns the
 * latest of their deleters and the one of heap's.
 */
static TransactionId
keep_dead(GpucolDirectory *dir, TM_IndexDeleteOp *delstate, const TM_IndexDelete *packed, int n,
		  TransactionId latest)
{
	Conflict	conflict = {.latest = latest};
	Fates		fates = {.next = 0};
	int			probes = delstate->bottomup ? MOST_PROBES : n;

	for (int i = 0; i < n; i++)
	{
		TM_IndexStatus *status = &delstate->status[packed[i].id];

		if (!may_go(dir, gpucol_tid_row(&packed[i].tid), status->knowndeletable, &fates, &probes, &conflict))
			continue;
		status->knowndeletable = true;
		delstate->deltids[delstate->ndeltids++] = packed[i];
	}
	return find_latest(dir, &conflict);
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
