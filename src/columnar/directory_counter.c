/*-------------------------------------------------------------------------
 *
 * directory_counter.c
 *	  The frozen rows of a directory: row numbers, identity, list of free pages.
 *
 * They are made once for a table's storage and changed in place under an exclusive
 * lock of their buffer, whatever becomes of the transaction.  The counter is made
 * first, with the identity that every other row's checksum depends on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "columnar/directory.h"
#include "columnar/directory_value.h"
#include "columnar/rownum.h"
#include "compat.h"

/*
 * Version 0.1 froze a row before the index had it.  A crash in between left one that is found
 * after a REINDEX, so of several the one whose number is highest counts.
 */
bool
gpucol_directory_find(GpucolDirectory *dir, Oid id, void *data, Size size,
					  ItemPointer tid)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found = false;

	gpucol_directory_scan_begin(&scan, dir, SnapshotSelf, id, 0, 0,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		if (found && *(const uint64 *) row.data <= *(uint64 *) data)
			continue;
		found = true;
		*tid = row.tid;
		memcpy(data, row.data, size);
	}
	gpucol_directory_scan_end(&scan);
	return found;
}

/* ------------------------------------------------------------------------
 * The counter
 * ------------------------------------------------------------------------
 */

/* Where this session has found the counters of directories. */
typedef struct CounterPlace
{
	Oid			space;
	Oid			file;			/* of the TOAST relation; invalid = nothing known */
	ItemPointerData tid;
	TimestampTz statement;		/* in which it was there the last time */
} CounterPlace;

#define KEPT_PLACES	64

static CounterPlace counter_places[KEPT_PLACES];

bool
gpucol_directory_is_lasting(Relation table)
{
	return !RELATION_IS_LOCAL(table) && !gpucol_compat_new_storage(table);
}

/*
 * Find the directory's counter, which stays where it is as long as the file lasts; false
 * if it has none.  A place of an emptied file, or of an older one, has no counter.
 */
static bool
find_counter(GpucolDirectory *dir, ItemPointer tid, GpucolCounter *counter)
{
	Oid			space = gpucol_compat_relation_space(dir->toast);
	Oid			file = gpucol_compat_relation_file(dir->toast);
	CounterPlace *place = &counter_places[file % KEPT_PLACES];
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	TransactionId xmin;

	/* its page is not cut off, and the file is no other relation's in the same statement */
	if (place->file == file && place->space == space && statement != 0 && place->statement == statement &&
		gpucol_directory_is_lasting(dir->table))
		dir->nsure = ItemPointerGetBlockNumber(&place->tid) + 1;
	if (place->file == file && place->space == space &&
		gpucol_directory_fetch(dir, SnapshotSelf, &place->tid, GPUCOL_ID_COUNTER, 0, counter,
							   sizeof(*counter), &xmin))
	{
		place->statement = statement;
		*tid = place->tid;
		dir->identity = counter->identity;
		return true;
	}
	if (!gpucol_directory_find(dir, GPUCOL_ID_COUNTER, counter, sizeof(*counter), tid))
		return false;
	*place = (CounterPlace)
	{
		space, file, *tid, statement
	};
	dir->identity = counter->identity;
	return true;
}

uint64
gpucol_directory_identity(GpucolDirectory *dir)
{
	ItemPointerData tid;
	GpucolCounter counter;

	if (dir->identity == 0)
		(void) find_counter(dir, &tid, &counter);
	return dir->identity;
}

/* Make sure that a directory without a counter has no row: the first one is an error. */
static void
check_unused(GpucolDirectory *dir)
{
	static const Oid bases[] = {
		GPUCOL_ID_UPKEEP, GPUCOL_ID_FOLD_COUNT, GPUCOL_ID_SEGMENT, GPUCOL_ID_BITMAP,
		GPUCOL_ID_TOMBSTONE, GPUCOL_ID_LOCK, GPUCOL_ID_FORWARD
	};

	for (int i = 0; i < (int) lengthof(bases); i++)
	{
		GpucolDirectoryScan scan;
		GpucolDirectoryTuple row;

		gpucol_directory_scan_begin(&scan, dir, SnapshotAny, bases[i], 0,
									GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
		(void) gpucol_directory_scan_next(&scan, &row);
		gpucol_directory_scan_end(&scan);
	}
}

/* Find a frozen row, or insert it. */
static void
make_row(GpucolDirectory *dir, Oid id, void *data, Size size, ItemPointer tid)
{
	char	   *first = palloc(size);
	ItemPointerData lock;

	gpucol_tid_set(&lock, 0);	/* no directory row's */
	memcpy(first, data, size);
	LockTuple(dir->toast, &lock, ExclusiveLock);
	if (!gpucol_directory_find(dir, id, data, size, tid))
	{
		if (id == GPUCOL_ID_COUNTER)
		{
			check_unused(dir);
			dir->identity = ((const GpucolCounter *) first)->identity;
		}
		*tid = gpucol_directory_insert(dir, id, 0, first, size, GetCurrentCommandId(true), 0, false);
		gpucol_directory_freeze(dir, tid, 1);
	}
	UnlockTuple(dir->toast, &lock, ExclusiveLock);
	pfree(first);
}

void
gpucol_directory_make(GpucolDirectory *dir, Oid id, void *data, Size size,
					  ItemPointer tid)
{
	if (!gpucol_directory_find(dir, id, data, size, tid))
		make_row(dir, id, data, size, tid);
}

void
gpucol_directory_begin(GpucolDirectory *dir, uint64 next_row, uint64 lacks)
{
	GpucolCounter counter = {
		.next_row = next_row,
		.lacks = lacks,
		.version = GPUCOL_DIRECTORY_VERSION
	};
	ItemPointerData tid;

	while (counter.identity == 0)
	{
		if (!pg_strong_random(&counter.identity, sizeof(counter.identity)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
	}
	make_row(dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter), &tid);
}

/* ------------------------------------------------------------------------
 * Row numbers
 * ------------------------------------------------------------------------
 */

/* An in-place change of the counter, its buffer exclusively locked. */
typedef struct CounterChange
{
	GpucolCounter counter;		/* to be changed */
	Buffer		buffer;
	GenericXLogState *state;
	GpucolDirectoryTuple row;
} CounterChange;

static void
begin_change(CounterChange *change, GpucolDirectory *dir, ItemPointer tid)
{
	Page		page;

	change->buffer = ReadBuffer(dir->toast, ItemPointerGetBlockNumber(tid));
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	change->state = GenericXLogStart(dir->toast);
	page = GenericXLogRegisterBuffer(change->state, change->buffer,
									 GENERIC_XLOG_FULL_IMAGE);
	gpucol_directory_row_on_page(dir, page, tid, sizeof(GpucolCounter), &change->row);
	memcpy(&change->counter, change->row.data, sizeof(GpucolCounter));
}

static void
finish_change(CounterChange *change)
{
	gpucol_value_replace(change->counter.identity, &change->row, &change->counter);
	GenericXLogFinish(change->state);
	UnlockReleaseBuffer(change->buffer);
}

static void
abandon_change(CounterChange *change)
{
	GenericXLogAbort(change->state);
	UnlockReleaseBuffer(change->buffer);
}

/*
 * Make sure that the counter is behind the numbers of the last segment: an old copy of it
 * would give them out again.
 */
static void
check_counter(GpucolDirectory *dir)
{
	uint64		end = 0;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	ItemPointerData tid;
	GpucolCounter counter;

	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, GPUCOL_ID_SEGMENT, 0,
								GPUCOL_MAX_ROW_NUMBER, BackwardScanDirection);
	if (gpucol_directory_scan_next(&scan, &row))
	{
		const GpucolSegmentEntry *entry = row.data;

		end = entry->first_row + entry->nrows;
	}
	gpucol_directory_scan_end(&scan);
	/* in this order: it goes back only before a segment has its number of rows */
	if (find_counter(dir, &tid, &counter) && counter.next_row < end)
		gpucol_value_damaged(dir, &tid, GPUCOL_ID_COUNTER, 0,
							 "is behind the last segment's row numbers");
}

bool
gpucol_directory_reserve(GpucolDirectory *dir, uint64 n, uint64 after,
						 uint64 *first)
{
	ItemPointerData tid;
	GpucolCounter counter;
	CounterChange change;

	PreventCommandDuringRecovery("loading a segment");
	while (!find_counter(dir, &tid, &counter))
		gpucol_directory_begin(dir, GPUCOL_BLOCK_TIDS, GPUCOL_LACKS_BITMAPS |
							   GPUCOL_LACKS_LOCKS | GPUCOL_LACKS_TOMBSTONES | GPUCOL_LACKS_MOVES);
	check_counter(dir);

	begin_change(&change, dir, &tid);
	if ((after != 0 && change.counter.next_row != after) ||
		change.counter.next_row + n > GPUCOL_MAX_ROW_NUMBER)
	{
		abandon_change(&change);
		if (after != 0)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" has used up its segment row numbers",
						RelationGetRelationName(dir->table)),
				 errhint("In a copy of the table they start again.")));
	}
	*first = change.counter.next_row;
	change.counter.next_row += n;
	finish_change(&change);
	return true;
}

bool
gpucol_directory_unreserve(GpucolDirectory *dir, uint64 first, uint64 end)
{
	ItemPointerData tid;
	GpucolCounter counter;
	CounterChange change;

	if (first >= end || !find_counter(dir, &tid, &counter))
		return false;
	begin_change(&change, dir, &tid);
	if (change.counter.next_row != end)
	{
		abandon_change(&change);
		return false;
	}
	change.counter.next_row = first;
	finish_change(&change);
	return true;
}

/* ------------------------------------------------------------------------
 * Kinds of rows that are not there
 * ------------------------------------------------------------------------
 */

uint64
gpucol_directory_lacks(GpucolDirectory *dir)
{
	ItemPointerData tid;
	GpucolCounter counter;

	return find_counter(dir, &tid, &counter) ? counter.lacks : 0;
}

void
gpucol_directory_admit(GpucolDirectory *dir, uint64 kind)
{
	ItemPointerData tid;
	GpucolCounter counter;
	CounterChange change;

	if (!find_counter(dir, &tid, &counter) || (counter.lacks & kind) == 0)
		return;
	begin_change(&change, dir, &tid);
	change.counter.lacks &= ~kind;
	finish_change(&change);
}

uint64
gpucol_directory_next_row(GpucolDirectory *dir)
{
	ItemPointerData tid;
	GpucolCounter counter;

	return find_counter(dir, &tid, &counter) ? counter.next_row : 0;
}
