/*-------------------------------------------------------------------------
 *
 * compact.c
 *	  Small and much-deleted segments become fewer, beside readers.
 *
 * VACUUM FULL and CLUSTER (cluster.c) copy a table, and lock it against everybody.  Here the rows
 * of some segments are written to new ones, behind the others and in the order that they have,
 * and the old entries are deleted, all by one transaction: a snapshot sees the old
 * segments or the new ones.  Readers notice nothing.
 *
 * Writers.  The rows are read and written beside them.  Before the old entries are deleted,
 * ExclusiveLock of the table is taken, so that nobody who has changed a row, or has locked one, is
 * still running.  Until then who looks whether a key is taken finds rows at their old places, and does not
 * wait (fetch.c).  A row that was deleted since it was read gets a tombstone at its new place, too: who
 * deleted it has committed, so every snapshot that sees the new place sees that.  Who gets the lock of the
 * table later takes the snapshot of its statement afterwards.  Under REPEATABLE READ that is
 * older.  Such a transaction, and a cursor's row, find records of where rows went (forward.c):
 * those of a merge, with blocks of virtual TIDs; of a deleted row there is none.
 *
 * Rows keep none of their numbers.  The old ones are lost when no snapshot sees the old
 * entries: then VACUUM deletes index entries, tombstones and bitmaps of them, and lists
 * the pages.
 *
 * Which segments.  Those of which many rows are dead; small ones when there are so many that
 * not the same rows are written again with each load.  While a table is written to, small ones are
 * packed when there are so many of about one size, with all that are smaller.  So a row is packed again a
 * few times only, each of which leaves an entry of it in each index, and few small segments are left.
 * Tables that are kept in the order of an index are left to VACUUM FULL, and so are segments whose
 * rows are all dead to VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "columnar/cluster.h"
#include "columnar/compact.h"
#include "columnar/forward.h"
#include "columnar/merge_options.h"
#include "columnar/new_entries.h"
#include "columnar/owner.h"
#include "columnar/progress.h"
#include "columnar/rownum.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/serial.h"
#include "columnar/writer.h"

/* Small segments that are left as they are until there is one more. */
#define SMALL_SEGMENTS	7

/* Sizes of small segments: those of one have up to so many times the rows of the next. */
#define SIZES			8
#define SIZE_FACTOR		8

/* A segment that is to be packed. */
typedef struct Chosen
{
	GpucolViewSegment segment;
	uint32		ndeleted;		/* as it was chosen, */
	uint32		nlater;			/* and since */
} Chosen;

/* A row and its new number. */
typedef struct MovedRow
{
	uint64		from;
	uint64		to;
} MovedRow;

typedef struct Compaction
{
	Relation	table;
	const GpucolCompactPace *pace;
	CommandId	cid;
	GpucolView *view;
	uint32		nchosen;
	Chosen	   *chosen;			/* ascending */
	GpucolNewEntries entries;
	uint64		nrows;			/* of those segments that are not deleted */
	uint64		nmoved;
	MovedRow   *moved;			/* ascending */
	uint64		ngone;
	uint64	   *gone;			/* which of them have been deleted since, ascending */
	GpucolProgress *progress;
} Compaction;

/* ------------------------------------------------------------------------
 * Which segments
 * ------------------------------------------------------------------------
 */

/* Has a segment lost many of its rows, but not all? */
static bool
is_holed(uint32 live, uint32 nrows)
{
	return live > 0 && gpucol_cluster_is_holed(live, nrows);
}

/* The size of a small segment: 0 is the largest. */
static int
size_of(uint32 live)
{
	int			size = 0;

	while (size < SIZES - 1 && gpucol_cluster_is_small(live *= SIZE_FACTOR))
		size++;
	return size;
}

/* Small segments of which size, and of all smaller ones, are to be packed?  SIZES if none. */
static int
largest_size(const uint32 *nsmall, bool gradually)
{
	uint32		sum = 0;
	int			size = 0;

	for (int i = 0; i < SIZES; i++)
		sum += nsmall[i];
	if (!gradually)
		return sum > SMALL_SEGMENTS ? 0 : SIZES;
	while (size < SIZES && nsmall[size] <= SMALL_SEGMENTS)
		size++;
	return size;
}

/* Choose segments with at most so many rows; returns how many, with all rows of those in *rows. */
static uint32
choose_segments(const GpucolView *view, int64 most, bool gradually, Chosen *chosen, uint64 *rows)
{
	uint32	   *deleted = palloc(Max(view->nsegments, 1) * sizeof(uint32));
	uint32		nsmall[SIZES] = {0};
	uint32		nholed = 0;
	uint32		n = 0;
	int			size;

	*rows = 0;
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		uint32		nrows = view->segments[i].entry.nrows;

		deleted[i] = gpucol_view_count_deleted(view, &view->segments[i]);
		if (nrows > deleted[i] && gpucol_cluster_is_small(nrows - deleted[i]))
			nsmall[size_of(nrows - deleted[i])]++;
	}
	size = largest_size(nsmall, gradually);
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		uint32		nrows = view->segments[i].entry.nrows;
		uint32		live = nrows - deleted[i];
		bool		holed = is_holed(live, nrows);

		if (live == 0 || live > most ||
			(!holed && (!gpucol_cluster_is_small(live) || size_of(live) < size)))
			continue;
		chosen[n].segment = view->segments[i];
		chosen[n++].ndeleted = deleted[i];
		nholed += holed;
		*rows += nrows;
		most -= live;
	}
	pfree(deleted);
	/* one small segment would be a small one again */
	return nholed == 0 && n < 2 ? 0 : n;
}

/* May segments of a table be packed, if there are so many rows in them? */
static bool
is_allowed(Relation table, uint64 rows)
{
	GpucolMergeOptions options;

	gpucol_merge_options(table, &options);
	return options.enabled && rows >= (uint64) options.threshold &&
		gpucol_writer_allowed(table) && !gpucol_cluster_keeps_order(table);
}

bool
gpucol_compact_is_due(const GpucolView *view, bool gradually)
{
	Chosen	   *chosen = palloc(Max(view->nsegments, 1) * sizeof(Chosen));
	uint64		rows;
	bool		due = choose_segments(view, PG_INT64_MAX, gradually, chosen, &rows) > 0 &&
		is_allowed(view->table, rows);

	pfree(chosen);
	return due;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Write a row, which a slot holds. */
static void
write_row(Compaction *compaction, TupleTableSlot *slot, uint64 row_number)
{
	GpucolWriter *writer = gpucol_writer_get(compaction->table, compaction->cid,
											 TABLE_INSERT_NO_LOGICAL);
	MovedRow   *moved = &compaction->moved[compaction->nmoved++];

	if (writer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot pack segments of table \"%s\"",
						RelationGetRelationName(compaction->table)),
				 errdetail("Its rows must stay in the delta now.")));
	gpucol_writer_move(writer);
	gpucol_writer_add(writer, compaction->table, &slot, 1);
	gpucol_new_entries_add(&compaction->entries, compaction->table, slot);
	moved->from = row_number;
	moved->to = gpucol_tid_row(&slot->tts_tid);
	if (compaction->nmoved % GPUCOL_PROGRESS_ROWS == 0)
		gpucol_progress_note(compaction->progress, compaction->nmoved,
							 (double) compaction->nmoved / (double) compaction->nrows);
}

/* Write the rows of a segment that are not deleted. */
static void
write_segment(Compaction *compaction, const GpucolViewSegment *segment, TupleTableSlot *slot)
{
	uint32		ndeleted;
	uint32	   *deleted = gpucol_view_deleted(compaction->view, segment, &ndeleted);
	GpucolReader *reader = gpucol_reader_create(compaction->table);

	gpucol_reader_open(reader, gpucol_segment_open(compaction->table, &segment->entry));
	for (uint32 row = 0; row < segment->entry.nrows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		if (deleted != NULL && ((deleted[row / 32] >> (row % 32)) & 1) != 0)
			continue;
		compaction->pace->step(compaction->table);
		gpucol_scan_store(reader, row, segment->xmin, slot);
		write_row(compaction, slot, segment->entry.first_row + row);
	}
	gpucol_reader_close(reader);
	if (deleted != NULL)
		pfree(deleted);
}

/* Write the rows of all segments that were chosen. */
static void
write_rows(Compaction *compaction)
{
	TupleTableSlot *slot = table_slot_create(compaction->table, NULL);

	for (uint32 i = 0; i < compaction->nchosen; i++)
		compaction->nrows += compaction->chosen[i].segment.entry.nrows - compaction->chosen[i].ndeleted;
	compaction->moved = palloc_extended(Max(compaction->nrows, 1) * sizeof(MovedRow), MCXT_ALLOC_HUGE);
	gpucol_new_entries_begin(&compaction->entries, compaction->table);
	for (uint32 i = 0; i < compaction->nchosen; i++)
		write_segment(compaction, &compaction->chosen[i].segment, slot);
	gpucol_writer_flush(compaction->table);
	gpucol_new_entries_end(&compaction->entries);
	ExecDropSingleTupleTableSlot(slot);
}

/* ------------------------------------------------------------------------
 * The old segments
 * ------------------------------------------------------------------------
 */

/*
 * Count the rows of each segment that have been deleted since it was chosen; false if one is another
 * by now.  Writers are excluded.
 */
static bool
count_later(Compaction *compaction, const GpucolView *view)
{
	for (uint32 i = 0; i < compaction->nchosen; i++)
	{
		Chosen	   *chosen = &compaction->chosen[i];
		const GpucolViewSegment *now = gpucol_view_find(view, chosen->segment.entry.first_row);

		if (now == NULL || !ItemPointerEquals(unconstify(ItemPointerData *, &now->tid), &chosen->segment.tid))
			return false;
		chosen->nlater = gpucol_view_count_deleted(view, now) - chosen->ndeleted;
		compaction->ngone += chosen->nlater;
	}
	return true;
}

/* Find the rows that have been deleted since their segments were chosen. */
static void
find_gone(Compaction *compaction, const GpucolView *view)
{
	uint64		moved = 0;
	uint64		n = 0;

	compaction->gone = palloc_extended(Max(compaction->ngone, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < compaction->nchosen; i++)
	{
		const Chosen *chosen = &compaction->chosen[i];
		const GpucolSegmentEntry *entry = &chosen->segment.entry;
		uint64		end = moved + entry->nrows - chosen->ndeleted;
		uint32	   *deleted;
		uint32		ndeleted;

		if (chosen->nlater == 0)
		{
			moved = end;
			continue;
		}
		deleted = gpucol_view_deleted(view, gpucol_view_find(view, entry->first_row), &ndeleted);
		for (; moved < end; moved++)
		{
			uint64		row = compaction->moved[moved].from - entry->first_row;

			if (((deleted[row / 32] >> (row % 32)) & 1) != 0)
				compaction->gone[n++] = moved;
		}
		pfree(deleted);
	}
	Assert(n == compaction->ngone);
}

/* Find what has become of the segments since they were chosen; false if one is another. */
static bool
look_again(Compaction *compaction)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	GpucolView *view = gpucol_view_open(compaction->table, snapshot);
	bool		found = count_later(compaction, view);

	if (found)
		find_gone(compaction, view);
	UnregisterSnapshot(snapshot);
	return found;
}

/* Delete the rows that are gone at their new places. */
static void
bury_gone(const Compaction *compaction, GpucolDirectory *dir)
{
	uint64	   *numbers;
	GpucolTombstone *tombstones;

	if (compaction->ngone == 0)
		return;
	numbers = palloc_extended(compaction->ngone * sizeof(uint64), MCXT_ALLOC_HUGE);
	tombstones = palloc_extended(compaction->ngone * sizeof(GpucolTombstone), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint64 i = 0; i < compaction->ngone; i++)
	{
		numbers[i] = compaction->moved[compaction->gone[i]].to;
		gpucol_tid_set(&tombstones[i].new_tid, numbers[i]);
	}
	gpucol_directory_insert_many(dir, GPUCOL_ID_TOMBSTONE, numbers, tombstones, sizeof(GpucolTombstone),
								 (uint32) compaction->ngone, compaction->cid);
}

/*
 * Record where the rows went that are not gone, and then copy the locks of serializable readers: who
 * locks a row later finds the record (serial.c).
 */
static void
forward_rows(const Compaction *compaction)
{
	GpucolForwards forwards = {.any = false};
	uint64		gone = 0;

	for (uint64 i = 0; i < compaction->nmoved; i++)
	{
		ItemPointerData from;

		if (gone < compaction->ngone && compaction->gone[gone] == i)
		{
			gone++;
			continue;
		}
		gpucol_tid_set(&from, compaction->moved[i].from);
		gpucol_forward_add(&forwards, compaction->table, &from, compaction->moved[i].to,
						   compaction->cid);
	}
	gpucol_forward_end(&forwards, compaction->table, compaction->cid);
	for (uint64 i = 0; i < compaction->nmoved; i++)
	{
		ItemPointerData from;
		ItemPointerData to;

		gpucol_tid_set(&from, compaction->moved[i].from);
		gpucol_tid_set(&to, compaction->moved[i].to);
		gpucol_serial_move(compaction->table, &from, &to);
	}
}

/* Put the new segments in the place of the old ones. */
static void
replace_segments(Compaction *compaction)
{
	GpucolDirectory dir;

	if (!gpucol_directory_open(&dir, compaction->table, RowExclusiveLock))
		return;
	gpucol_directory_admit(&dir, GPUCOL_LACKS_MOVES);
	bury_gone(compaction, &dir);
	forward_rows(compaction);
	for (uint32 i = 0; i < compaction->nchosen; i++)
		gpucol_directory_delete(&dir, &compaction->chosen[i].segment.tid, compaction->cid);
	gpucol_directory_close(&dir);
}

/* Pack what is due of the view. */
static void
pack(Compaction *compaction)
{
	uint64		rows;

	compaction->chosen = palloc(Max(compaction->view->nsegments, 1) * sizeof(Chosen));
	compaction->nchosen = choose_segments(compaction->view, compaction->pace->most, compaction->pace->gradually,
										  compaction->chosen, &rows);
	if (compaction->nchosen == 0)
		return;
	compaction->progress = gpucol_progress_begin(compaction->table, GPUCOL_ACTIVITY_PACKING);
	write_rows(compaction);
	if (compaction->pace->exclude != NULL)
		compaction->pace->exclude(compaction->table);
	if (!look_again(compaction))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("segments of table \"%s\" have been replaced while they were packed",
						RelationGetRelationName(compaction->table))));
	replace_segments(compaction);
	/* the writer has counted them as inserted */
	pgstat_count_heap_insert(compaction->table, -(PgStat_Counter) compaction->nmoved);
}

uint32
gpucol_compact_segments(Relation table, const GpucolCompactPace *pace)
{
	Compaction	compaction = {.table = table, .pace = pace};
	GpucolOwner owner;
	Snapshot	snapshot;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol compaction",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	gpucol_owner_begin(table, &owner);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	compaction.cid = GetCurrentCommandId(true);
	compaction.view = gpucol_view_open(table, snapshot);
	pack(&compaction);
	UnregisterSnapshot(snapshot);
	gpucol_owner_end(&owner);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return compaction.nchosen;
}
