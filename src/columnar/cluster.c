/*-------------------------------------------------------------------------
 *
 * cluster.c
 *	  CLUSTER and VACUUM FULL: segment rows in the order of an index, or their own.
 *
 * The rows of all segments that every snapshot sees are sorted (a btree) or read
 * through the index, and written to new segments, whose entries are frozen: old
 * snapshots go on seeing them.  A row that some snapshots see no more is written
 * too; its tombstone follows it to its new number (rewrite.c).
 *
 * A segment that some snapshot does not see yet is sorted by itself; the new
 * entries get the old one's transaction.  Where rows are read through an index
 * such segments are left to be copied as they are.
 *
 * VACUUM FULL copies most segments (rewrite.c).  Those that have few rows left are packed
 * together, in the order that they have, behind the others.  Of a table that was clustered,
 * all that follow the first such segment are, so that its order stays.
 *
 * A rewrite makes PostgreSQL forget the values that rows older than an added column
 * have in it.  Segments without the column can therefore not be copied, by VACUUM FULL
 * neither: they are written anew, in the order that they have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "columnar/cluster.h"
#include "columnar/fetch.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/view.h"
#include "columnar/writer.h"
#include "compat.h"
#include "guc.h"

/* A segment is sparse if it has less than this share of a full one, or this share is dead. */
#define SPARSE_SHARE	0.2

/* A row that some snapshots see no more. */
typedef struct MovedRow
{
	uint64		old_row;		/* key */
	uint64		new_row;
} MovedRow;

typedef struct Cluster
{
	GpucolClustered *result;
	Relation	table;
	Relation	new_table;
	GpucolDirectory *from;
	GpucolView	view;			/* of the segments to be rewritten */
	HeapTuple  *rows;			/* directory row by segment; NULL = settled and to be
								 * ordered with all the others */
	List	  **diverted;		/* where new entries go, NULL = the directory */
	GpucolDeadRows *dead;
	CommandId	cid;
	bool		in_order;		/* of an index that the table was clustered by: once a segment
								 * is packed together, so are all behind it */

	/* of the segment at hand */
	const GpucolViewSegment *segment;
	MemoryContext context;
	uint32	   *folded;
	uint32	   *tombstoned;
} Cluster;

/* What is to be done with a segment. */
typedef enum SegmentFate
{
	FATE_NONE,					/* copied, if at all, as it is */
	FATE_SETTLED,				/* every snapshot sees it */
	FATE_RECENT					/* some do not */
} SegmentFate;

static SegmentFate
segment_fate(const GpucolDirectoryTuple *row, TransactionId oldest_xmin)
{
	HTSV_Result status;

	LockBuffer(row->buffer, BUFFER_LOCK_SHARE);
	status = HeapTupleSatisfiesVacuum(row->tuple, oldest_xmin, row->buffer);
	LockBuffer(row->buffer, BUFFER_LOCK_UNLOCK);
	if (status == HEAPTUPLE_INSERT_IN_PROGRESS)
		return FATE_RECENT;
	if (status != HEAPTUPLE_LIVE)
		return FATE_NONE;
	return HeapTupleHeaderXminFrozen(row->tuple->t_data) ||
		TransactionIdPrecedes(row->xmin, oldest_xmin) ? FATE_SETTLED : FATE_RECENT;
}

/* May the table have segments that cannot be copied as they are? */
static bool
may_lack_columns(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->atthasmissing && !att->attisdropped)
			return true;
	}
	return false;
}

/* Does a segment lack a column whose value is not NULL in its rows? */
static bool
lacks_column(Relation table, const GpucolDirectoryTuple *row)
{
	TupleDesc	desc = RelationGetDescr(table);
	GpucolSegmentEntry entry;
	const GpucolSegmentInfo *info;

	if (!may_lack_columns(table))
		return false;
	memcpy(&entry, row->data, sizeof(entry));
	if (entry.nrows == 0)
		return false;
	info = gpucol_segment_open(table, &entry);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->atthasmissing && !att->attisdropped &&
			gpucol_segment_desc(info, att->attnum) == NULL)
			return true;
	}
	return false;
}

/* Note a segment that is to be rewritten, with others or by itself. */
static void
add_segment(Cluster *cluster, const GpucolDirectoryTuple *row, bool by_itself,
			uint32 *capacity)
{
	GpucolView *view = &cluster->view;
	GpucolViewSegment *segment;

	if (view->nsegments == *capacity)
	{
		*capacity *= 2;
		view->segments = repalloc_huge(view->segments,
									   *capacity * sizeof(GpucolViewSegment));
		cluster->rows = repalloc_huge(cluster->rows, *capacity * sizeof(HeapTuple));
	}
	segment = &view->segments[view->nsegments];
	memcpy(&segment->entry, row->data, sizeof(segment->entry));
	segment->tid = row->tid;
	segment->xmin = row->xmin;
	if (segment->entry.nrows == 0)
		return;
	cluster->rows[view->nsegments] = by_itself ? heap_copytuple(row->tuple) : NULL;
	view->nsegments++;
}

bool
gpucol_cluster_keeps_order(Relation table)
{
	List	   *indexes = RelationGetIndexList(table);
	ListCell   *lc;
	bool		clustered = false;

	foreach(lc, indexes)
		clustered |= get_index_isclustered(lfirst_oid(lc));
	list_free(indexes);
	return clustered;
}

static bool
bit_is_set(const uint32 *bits, uint64 row)
{
	return bits != NULL && (bits[row / 32] >> (row % 32)) & 1;
}

/* Read the deletions of a segment. */
static void
enter_segment(Cluster *cluster, const GpucolViewSegment *segment)
{
	MemoryContext old;

	if (cluster->segment == segment)
		return;
	MemoryContextReset(cluster->context);
	old = MemoryContextSwitchTo(cluster->context);
	cluster->folded = gpucol_view_folded(&cluster->view, segment, SnapshotSelf);
	cluster->tombstoned = gpucol_view_tombstoned(&cluster->view, segment, SnapshotSelf);
	MemoryContextSwitchTo(old);
	cluster->segment = segment;
}

/* Is a row of the entered segment dead to everyone? */
static bool
is_dead(const Cluster *cluster, uint64 row)
{
	return bit_is_set(cluster->folded, row) ||
		(bit_is_set(cluster->tombstoned, row) &&
		 gpucol_deadrows_has(cluster->dead, cluster->segment->entry.first_row + row));
}

bool
gpucol_cluster_is_small(uint32 live)
{
	return live < SPARSE_SHARE * gpucol_segment_rows;
}

bool
gpucol_cluster_is_holed(uint32 live, uint32 nrows)
{
	return live < (1 - SPARSE_SHARE) * nrows;
}

bool
gpucol_cluster_is_sparse(uint32 live, uint32 nrows)
{
	return gpucol_cluster_is_small(live) || gpucol_cluster_is_holed(live, nrows);
}

/* Is a segment, of whose rows some are dead to everyone, not copied as it is? */
static bool
is_sparse(Cluster *cluster, const GpucolDirectoryTuple *row)
{
	GpucolViewSegment segment = {.tid = row->tid, .xmin = row->xmin};
	uint32		live;

	memcpy(&segment.entry, row->data, sizeof(segment.entry));
	live = segment.entry.nrows;
	enter_segment(cluster, &segment);
	for (uint32 i = 0; i < segment.entry.nrows; i++)
		live -= is_dead(cluster, i);
	cluster->segment = NULL;	/* it was this function's */
	return gpucol_cluster_is_sparse(live, segment.entry.nrows);
}

/*
 * Choose the segments: `settled` and `recent` ones to be ordered, and of the others
 * those that cannot be copied.  Where none are to be ordered, settled ones that are
 * sparse are packed together in the order that they have.
 */
static void
choose_segments(Cluster *cluster, TransactionId oldest_xmin, bool settled, bool recent)
{
	GpucolClustered *result = cluster->result;
	bool		pack = false;
	GpucolView *view = &cluster->view;
	uint32		capacity = 16;
	uint32		left = 0;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	view->table = cluster->table;
	view->snapshot = SnapshotAny;
	view->segments = palloc(capacity * sizeof(GpucolViewSegment));
	cluster->rows = palloc(capacity * sizeof(HeapTuple));
	gpucol_directory_scan_begin(&scan, cluster->from, SnapshotAny, GPUCOL_ID_SEGMENT, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		SegmentFate fate = segment_fate(&row, oldest_xmin);

		if (fate == FATE_SETTLED && !settled)
			pack = (pack && cluster->in_order) || is_sparse(cluster, &row);
		if (fate == FATE_SETTLED && (settled || pack))
			add_segment(cluster, &row, false, &capacity);
		else if (fate == FATE_RECENT && recent)
			add_segment(cluster, &row, true, &capacity);
		else if (fate != FATE_NONE)
		{
			if (lacks_column(cluster->table, &row))
				add_segment(cluster, &row, true, &capacity);
			left++;
		}
	}
	gpucol_directory_scan_end(&scan);
	if (left > 0 && settled)
		ereport(NOTICE,
				(errmsg_plural("%u segment of table \"%s\" is not ordered",
							   "%u segments of table \"%s\" are not ordered", left,
							   left, RelationGetRelationName(cluster->table)),
				 errdetail("A transaction that is still running may not see all of its rows yet."),
				 errhint("Repeat CLUSTER when it has ended.")));

	result->ranges = palloc(Max(view->nsegments, 1) * sizeof(GpucolRowRange));
	result->nranges = view->nsegments;
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		result->ranges[i].first = view->segments[i].entry.first_row;
		result->ranges[i].end = result->ranges[i].first + view->segments[i].entry.nrows;
	}
}

/* Is a row of the entered segment to be written? */
static bool
keep_row(Cluster *cluster, uint64 row)
{
	uint64		number = cluster->segment->entry.first_row + row;

	if (is_dead(cluster, row))
	{
		cluster->result->dead += 1;
		return false;
	}
	if (bit_is_set(cluster->tombstoned, row))
		hash_search(cluster->result->moved, &number, HASH_ENTER, NULL);
	return true;
}

/* Write the row in a slot, which was number old_row. */
static void
write_row(Cluster *cluster, TupleTableSlot *slot, uint64 old_row)
{
	GpucolWriter *writer = gpucol_writer_get(cluster->new_table, cluster->cid,
											 HEAP_INSERT_FROZEN | HEAP_INSERT_NO_LOGICAL);
	MovedRow   *moved;

	if (writer == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot cluster table \"%s\"",
						RelationGetRelationName(cluster->table)),
				 errdetail("Its copy cannot take segments.")));
	if (cluster->diverted != NULL)
		gpucol_writer_divert(writer, cluster->diverted);
	gpucol_writer_add(writer, cluster->new_table, &slot, 1);
	cluster->result->rows += 1;
	if (hash_get_num_entries(cluster->result->moved) == 0)
		return;
	moved = hash_search(cluster->result->moved, &old_row, HASH_FIND, NULL);
	if (moved != NULL)
		moved->new_row = gpucol_tid_row(&slot->tts_tid);
}

/*
 * Put the rows of one segment into a sort, or with number -1 those of all that
 * every snapshot sees.
 */
static void
sort_rows(Cluster *cluster, Tuplesortstate *sort, int64 number)
{
	GpucolReader *reader = gpucol_reader_create(cluster->table);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol cluster row",
												  ALLOCSET_DEFAULT_SIZES);

	for (uint32 i = 0; i < cluster->view.nsegments; i++)
	{
		const GpucolViewSegment *segment = &cluster->view.segments[i];

		if (number >= 0 ? i != number : cluster->rows[i] != NULL)
			continue;
		enter_segment(cluster, segment);
		gpucol_reader_open(reader, gpucol_segment_open(cluster->table, &segment->entry));
		for (uint32 row = 0; row < segment->entry.nrows; row++)
		{
			MemoryContext old;
			HeapTuple	tuple;

			CHECK_FOR_INTERRUPTS();
			if (!keep_row(cluster, row))
				continue;
			old = MemoryContextSwitchTo(context);
			tuple = gpucol_reader_tuple(reader, RelationGetDescr(cluster->table), row,
										segment->xmin);
			MemoryContextSwitchTo(old);
			tuplesort_putheaptuple(sort, tuple);
			MemoryContextReset(context);
		}
	}
	gpucol_reader_close(reader);
	MemoryContextDelete(context);
}

/* Write the rows that sort_rows takes in the order of a btree. */
static void
write_sorted(Cluster *cluster, Relation index, int64 number)
{
	TupleDesc	desc = RelationGetDescr(cluster->table);
	Tuplesortstate *sort = tuplesort_begin_cluster(desc, index, maintenance_work_mem,
												   NULL, TUPLESORT_NONE);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);
	HeapTuple	tuple;

	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP);
	sort_rows(cluster, sort, number);
	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_SORT_TUPLES);
	tuplesort_performsort(sort);
	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP);
	while ((tuple = tuplesort_getheaptuple(sort, true)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		ExecStoreHeapTuple(tuple, slot, false);
		write_row(cluster, slot, gpucol_tid_row(&tuple->t_self));
		ExecClearTuple(slot);
	}
	tuplesort_end(sort);
	ExecDropSingleTupleTableSlot(slot);
	gpucol_writer_flush(cluster->new_table);
}

/* Write the rows of one segment in the order that they have; others may follow. */
static void
write_as_is(Cluster *cluster, uint32 number)
{
	const GpucolViewSegment *segment = &cluster->view.segments[number];
	TupleTableSlot *slot = table_slot_create(cluster->table, NULL);
	GpucolReader *reader = gpucol_reader_create(cluster->table);

	enter_segment(cluster, segment);
	gpucol_reader_open(reader, gpucol_segment_open(cluster->table, &segment->entry));
	for (uint32 row = 0; row < segment->entry.nrows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!keep_row(cluster, row))
			continue;
		gpucol_scan_store(reader, row, segment->xmin, slot);
		write_row(cluster, slot, segment->entry.first_row + row);
	}
	gpucol_reader_close(reader);
	ExecDropSingleTupleTableSlot(slot);
}

/* Write the rows of the sparse segments together, in the order that they have. */
static void
write_together(Cluster *cluster)
{
	for (uint32 i = 0; i < cluster->view.nsegments; i++)
	{
		if (cluster->rows[i] == NULL)
			write_as_is(cluster, i);
	}
	gpucol_writer_flush(cluster->new_table);
}

/* Write the segments that are written by themselves, in the order of a btree or none. */
static void
write_singly(Cluster *cluster, Relation index)
{
	for (uint32 i = 0; i < cluster->view.nsegments; i++)
	{
		GpucolReplaced *replaced;

		if (cluster->rows[i] == NULL)
			continue;
		replaced = palloc0(sizeof(GpucolReplaced));
		replaced->old = cluster->rows[i];
		cluster->diverted = &replaced->entries;
		if (index != NULL)
			write_sorted(cluster, index, i);
		else
		{
			write_as_is(cluster, i);
			gpucol_writer_flush(cluster->new_table);
		}
		cluster->result->replaced = lappend(cluster->result->replaced, replaced);
	}
}

/* Write the rows of the other segments in the order of another index. */
static void
write_by_index(Cluster *cluster, Relation index)
{
	TupleTableSlot *slot = table_slot_create(cluster->table, NULL);
	IndexScanDesc scan = index_beginscan(cluster->table, index, SnapshotAny,
										 GPUCOL_COMPAT_NO_INSTRUMENT 0, 0);
	ItemPointer tid;

	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP);
	index_rescan(scan, NULL, 0, NULL, 0);
	while ((tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		const GpucolViewSegment *segment;
		uint64		row;

		CHECK_FOR_INTERRUPTS();
		if (!gpucol_tid_is_virtual(tid))
			continue;
		row = gpucol_tid_row(tid);
		segment = gpucol_view_find(&cluster->view, row);
		if (segment == NULL || cluster->rows[segment - cluster->view.segments] != NULL)
			continue;
		enter_segment(cluster, segment);
		if (keep_row(cluster, row - segment->entry.first_row) &&
			gpucol_fetch_row(cluster->table, row, SnapshotAny, slot))
			write_row(cluster, slot, row);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	gpucol_writer_flush(cluster->new_table);
}

GpucolClustered *
gpucol_cluster_segments(GpucolDirectory *from, Relation new_table, Relation index,
						TransactionId oldest_xmin)
{
	HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(MovedRow)};
	GpucolClustered *result = palloc0(sizeof(GpucolClustered));
	bool		sorted = index != NULL && index->rd_rel->relam == BTREE_AM_OID;
	Cluster		cluster = {
		.result = result,
		.table = from->table,
		.new_table = new_table,
		.from = from,
		.cid = GetCurrentCommandId(true)
	};

	result->moved = hash_create("gpucol clustered rows", 256, &control,
								HASH_ELEM | HASH_BLOBS);
	cluster.context = AllocSetContextCreate(CurrentMemoryContext, "gpucol cluster",
											ALLOCSET_DEFAULT_SIZES);
	cluster.dead = gpucol_deadrows_collect(from, oldest_xmin);
	cluster.in_order = gpucol_cluster_keeps_order(from->table);
	choose_segments(&cluster, oldest_xmin, index != NULL, sorted);
	if (sorted)
		write_sorted(&cluster, index, -1);
	else if (index != NULL)
		write_by_index(&cluster, index);
	else
		write_together(&cluster);
	write_singly(&cluster, sorted ? index : NULL);
	MemoryContextDelete(cluster.context);
	return result;
}

bool
gpucol_cluster_has_row(const GpucolClustered *clustered, uint64 row)
{
	uint32		low = 0;
	uint32		high = clustered->nranges;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (row < clustered->ranges[middle].first)
			high = middle;
		else if (row < clustered->ranges[middle].end)
			return true;
		else
			low = middle + 1;
	}
	return false;
}

bool
gpucol_cluster_new_row(const GpucolClustered *clustered, uint64 row, uint64 *new_row)
{
	MovedRow   *moved = hash_search(clustered->moved, &row, HASH_FIND, NULL);

	if (moved != NULL)
		*new_row = moved->new_row;
	return moved != NULL;
}
