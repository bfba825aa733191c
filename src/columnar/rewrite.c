/*-------------------------------------------------------------------------
 *
 * rewrite.c
 *	  VACUUM FULL and CLUSTER: a table's copy into new storage.
 *
 * Heap's own code copies the delta.  Segments that are not dead to everyone are
 * copied page by page behind it, and the directory rows into the new TOAST
 * relation by the heap rewrite module, which keeps their transactions: snapshots
 * older than the rewrite see what they saw.  Pages that failed loads left behind
 * and dead segments stay behind.  Row numbers, and with them TIDs, stay.
 *
 * The rewrite module does not make index entries, and core swaps the new TOAST
 * relation in with its index, so the entries are made here, of every row and
 * without a uniqueness check: recently dead rows must be found too.
 *
 * CLUSTER orders the delta, by heap's own code, and the segments (cluster.c), each by
 * itself; segments that lack a column with a value, or have few rows left, are written anew
 * by the same code.
 *
 * Everything runs under AccessExclusiveLock of both tables and TOAST relations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/rewriteheap.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "columnar/cluster.h"
#include "columnar/delta_check.h"
#include "columnar/directory.h"
#include "columnar/directory_value.h"
#include "columnar/page.h"
#include "columnar/rewrite.h"
#include "columnar/scan.h"
#include "columnar/view.h"
#include "columnar/writer.h"

/* Directory rows that are copied. */
static const Oid id_ranges[] = {
	GPUCOL_ID_SEGMENT, GPUCOL_ID_BITMAP, GPUCOL_ID_TOMBSTONE
};

typedef struct Rewrite
{
	Relation	old_table;
	Relation	new_table;
	GpucolDirectory from;
	GpucolDirectory to;
	TransactionId oldest_xmin;
	RewriteState state;
	double		rows;			/* of copied segments */
	GpucolClustered *clustered; /* segments that have been written anew */
} Rewrite;

/* Copy the delta by heap's own code, which must not meet segment rows. */
static void
copy_delta(Relation old_table, Relation new_table, Relation old_index, bool use_sort,
		   TransactionId oldest_xmin, TransactionId *xid_cutoff,
		   MultiXactId *multi_cutoff, double *num_tuples, double *tups_vacuumed,
		   double *tups_recently_dead)
{
	bool		old;

	gpucol_delta_check_table(old_table, true, NULL);
	old = gpucol_scan_set_delta_only(true);
	PG_TRY();
	{
		GetHeapamTableAmRoutine()->relation_copy_for_cluster(old_table, new_table,
															 old_index, use_sort,
															 oldest_xmin, xid_cutoff,
															 multi_cutoff, num_tuples,
															 tups_vacuumed,
															 tups_recently_dead);
	}
	PG_FINALLY();
	{
		gpucol_scan_set_delta_only(old);
	}
	PG_END_TRY();
}

/* Copy a segment's pages and describe the copy. */
static void
copy_segment(Rewrite *rewrite, const GpucolDirectoryTuple *row, GpucolSegmentEntry *entry)
{
	GpucolSegmentEntry old;

	memcpy(&old, row->data, sizeof(old));
	*entry = old;
	memset(entry->extents, 0, sizeof(entry->extents));
	entry->nextents = 0;
	entry->identity = gpucol_directory_identity(&rewrite->to);
	if (old.nrows > 0)
	{
		gpucol_page_copy(rewrite->old_table, &old, rewrite->new_table, entry);
		rewrite->rows += old.nrows;
	}
}

/* The data of a directory row in the new storage, where `number` is its key. */
static void
new_data(Rewrite *rewrite, Oid base, const GpucolDirectoryTuple *row, uint64 number,
		 char *data)
{
	memcpy(data, row->data, row->size);
	if (base == GPUCOL_ID_SEGMENT)
	{
		GpucolSegmentEntry entry;

		copy_segment(rewrite, row, &entry);
		memcpy(data, &entry, sizeof(entry));
	}
	else if (base == GPUCOL_ID_TOMBSTONE)
	{
		GpucolTombstone tombstone;

		/* the new version's place in the delta has changed; none is right */
		memcpy(&tombstone, data, sizeof(tombstone));
		gpucol_tid_set(&tombstone.new_tid, number);
		memcpy(data, &tombstone, sizeof(tombstone));
	}
}

/*
 * Key of a directory row in the new storage; false if it is not copied, because it
 * is of a segment that has been written anew.  Tombstones follow their rows.
 */
static bool
new_key(Rewrite *rewrite, Oid base, const GpucolDirectoryTuple *row, Oid *id, int32 *seq)
{
	uint64		number = gpucol_directory_number(base, row->id, row->seq);

	*id = row->id;
	*seq = row->seq;
	if (base == GPUCOL_ID_BITMAP || !gpucol_cluster_has_row(rewrite->clustered, number))
		return true;
	if (base != GPUCOL_ID_TOMBSTONE ||
		!gpucol_cluster_new_row(rewrite->clustered, number, &number))
		return false;
	gpucol_directory_key(base, number, id, seq);
	return true;
}

/* Add a row to the new directory, with the transactions of an old one. */
static void
add_row(Rewrite *rewrite, HeapTuple old, Oid id, int32 seq, const void *data, Size size)
{
	HeapTuple	tuple = gpucol_value_form(rewrite->to.toast,
										  gpucol_directory_identity(&rewrite->to), id,
										  seq, data, size);

	rewrite_heap_tuple(rewrite->state, old, tuple);
	heap_freetuple(tuple);
}

/* Copy a directory row with its transactions, unless it is dead to everyone. */
static void
copy_row(Rewrite *rewrite, Oid base, const GpucolDirectoryTuple *row)
{
	HTSV_Result status;
	HeapTuple	old;
	char	   *data;
	Oid			id;
	int32		seq;

	if (!new_key(rewrite, base, row, &id, &seq))
		return;
	LockBuffer(row->buffer, BUFFER_LOCK_SHARE);
	status = HeapTupleSatisfiesVacuum(row->tuple, rewrite->oldest_xmin, row->buffer);
	old = heap_copytuple(row->tuple);
	LockBuffer(row->buffer, BUFFER_LOCK_UNLOCK);
	if (status == HEAPTUPLE_DEAD)
	{
		heap_freetuple(old);
		return;
	}
	data = palloc(row->size);
	new_data(rewrite, base, row, gpucol_directory_number(base, id, seq), data);
	add_row(rewrite, old, id, seq, data, row->size);
	heap_freetuple(old);
	pfree(data);
}

/* Put the new entries of segments that were written by themselves into the directory. */
static void
add_replaced(Rewrite *rewrite)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, rewrite->clustered->replaced)
	{
		GpucolReplaced *replaced = lfirst(lc);

		foreach(lc2, replaced->entries)
		{
			GpucolSegmentEntry *entry = lfirst(lc2);
			Oid			id;
			int32		seq;

			gpucol_directory_key(GPUCOL_ID_SEGMENT, entry->first_row, &id, &seq);
			add_row(rewrite, replaced->old, id, seq, entry, sizeof(*entry));
		}
	}
}

/* Copy all directory rows, and the pages of segments with them. */
static void
copy_directory(Rewrite *rewrite, TransactionId xid_cutoff, MultiXactId multi_cutoff)
{
	rewrite->state = begin_heap_rewrite(rewrite->from.toast, rewrite->to.toast,
										rewrite->oldest_xmin, xid_cutoff, multi_cutoff);
	add_replaced(rewrite);
	for (int i = 0; i < (int) lengthof(id_ranges); i++)
	{
		GpucolDirectoryScan scan;
		GpucolDirectoryTuple row;

		gpucol_directory_scan_begin(&scan, &rewrite->from, SnapshotAny, id_ranges[i], 0,
									GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
		while (gpucol_directory_scan_next(&scan, &row))
		{
			CHECK_FOR_INTERRUPTS();
			copy_row(rewrite, id_ranges[i], &row);
		}
		gpucol_directory_scan_end(&scan);
	}
	end_heap_rewrite(rewrite->state);
}

/* Enter the new directory rows into the new TOAST relation's index. */
static void
index_directory(Rewrite *rewrite, BlockNumber first_block)
{
	Relation	toast = rewrite->to.toast;
	TableScanDesc scan = heap_beginscan(toast, SnapshotAny, 0, NULL, NULL,
										SO_TYPE_SEQSCAN | SO_ALLOW_STRAT);
	TupleTableSlot *slot = table_slot_create(toast, NULL);

	gpucol_directory_open_indexes(&rewrite->to);
	while (heap_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (ItemPointerGetBlockNumber(&slot->tts_tid) < first_block)
			continue;
		slot_getallattrs(slot);
		for (int i = 0; i < rewrite->to.nindexes; i++)
			index_insert(rewrite->to.indexes[i], slot->tts_values, slot->tts_isnull,
						 &slot->tts_tid, toast, UNIQUE_CHECK_NO, false, NULL);
	}
	ExecDropSingleTupleTableSlot(slot);
	heap_endscan(scan);
}

/* Begin the new row counter where the old one is; it has another identity. */
static void
copy_counter(Rewrite *rewrite)
{
	GpucolCounter counter;
	ItemPointerData tid;

	if (!gpucol_directory_find(&rewrite->from, GPUCOL_ID_COUNTER, &counter,
							   sizeof(counter), &tid))
		return;
	/* lock records stay behind; that segments have been packed together must be known (modify.c) */
	gpucol_directory_begin(&rewrite->to, counter.next_row,
						   counter.lacks | GPUCOL_LACKS_LOCKS);
}

void
gpucol_rewrite_copy(Relation old_table, Relation new_table, Relation old_index,
					bool use_sort, TransactionId oldest_xmin,
					TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
					double *num_tuples, double *tups_vacuumed,
					double *tups_recently_dead)
{
	Rewrite		rewrite = {.old_table = old_table, .new_table = new_table,
		.oldest_xmin = oldest_xmin};
	BlockNumber first_block;

	gpucol_writer_flush(old_table);
	gpucol_directory_drop_invalid_indexes(old_table);
	copy_delta(old_table, new_table, old_index, use_sort, oldest_xmin, xid_cutoff,
			   multi_cutoff, num_tuples, tups_vacuumed, tups_recently_dead);
	if (!gpucol_directory_open(&rewrite.from, old_table, AccessShareLock))
		return;
	if (!gpucol_directory_open(&rewrite.to, new_table, RowExclusiveLock))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("the copy of table \"%s\" has no TOAST relation",
						RelationGetRelationName(old_table))));

	copy_counter(&rewrite);
	rewrite.clustered = gpucol_cluster_segments(&rewrite.from, new_table, old_index,
												oldest_xmin);
	*num_tuples += rewrite.clustered->rows;
	*tups_vacuumed += rewrite.clustered->dead;

	/* the rewrite module appends to what is there */
	first_block = RelationGetNumberOfBlocks(rewrite.to.toast);
	copy_directory(&rewrite, *xid_cutoff, *multi_cutoff);
	index_directory(&rewrite, first_block);
	*num_tuples += rewrite.rows;
	gpucol_directory_close(&rewrite.to);
	gpucol_directory_close(&rewrite.from);
}
