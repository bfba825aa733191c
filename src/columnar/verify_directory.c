/*-------------------------------------------------------------------------
 *
 * verify_directory.c
 *	  gpucol.verify: the directory, by its heap and by its index.
 *
 * Rows are read from the TOAST relation page by page, whatever the index says of them, and
 * each is checked as a reader would.  Then the index: each of its entries must lead to
 * such a row, and each row that is not dead must be found by its key.  What readers go
 * by beside that is compared with the rows: the row counter, the kinds of rows that it says
 * are missing, and the list of free pages.  The segments to be verified are those whose
 * entries the snapshot sees in the heap, so damage to the index, or to the counter, does not
 * hide them.
 *
 * Last, pages of segments outside the segments: a page of another table, or one whose
 * place is elsewhere, has taken the place of a page of the delta.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/delta_check.h"
#include "columnar/directory_value.h"
#include "columnar/item.h"
#include "columnar/page.h"
#include "columnar/space.h"
#include "columnar/verify.h"
#include "columnar/writer.h"

/* Directory rows have chunk_ids below this. */
#define FIRST_VALUE_ID	10000

/* A row of the directory. */
typedef struct FoundRow
{
	GpucolRowKey key;
	ItemPointerData tid;
	bool		indexed;		/* it must be in the index */
	bool		seen;			/* the snapshot sees it */
} FoundRow;

/* The directory as it is read. */
typedef struct DirectoryVerify
{
	GpucolVerify *verify;
	Snapshot	snapshot;
	uint64		identity;		/* of the storage; 0 = not known (yet) */
	TransactionId oldest_xmin;
	BlockNumber nblocks;		/* of the TOAST relation */
	BlockNumber block;			/* at hand */
	bool		searching;		/* for the identity alone */

	/* rows that are good and not dead */
	uint64		nrows;
	uint64		capacity;
	FoundRow   *rows;
	uint64		next;			/* to be looked up in the index */
	uint64		bound;			/* row numbers that entries have end below it */

	/* segments that the snapshot sees */
	uint32		segment_capacity;
	GpucolView *view;
	uint32		nranges;
	GpucolBlockRange *ranges;	/* beside them */
} DirectoryVerify;

/* Bases of the id ranges. */
static const Oid bases[] = {
	GPUCOL_ID_COUNTER, GPUCOL_ID_UPKEEP, GPUCOL_ID_FOLD_COUNT, GPUCOL_ID_SEGMENT, GPUCOL_ID_BITMAP,
	GPUCOL_ID_TOMBSTONE, GPUCOL_ID_LOCK, GPUCOL_ID_FORWARD
};

/* Report what a scan of the directory has found. */
static void
note_damage(void *arg, const char *text)
{
	gpucol_verify_report(arg, 0, "%s", text);
}

/* Open the directory for scans that report damage and go on; false if there is none. */
static bool
open_directory(DirectoryVerify *v, GpucolDirectory *dir)
{
	if (!gpucol_directory_open(dir, v->verify->table, AccessShareLock))
		return false;
	dir->identity = v->identity;
	dir->note_damage = note_damage;
	dir->note_arg = v->verify;
	return true;
}

/* ------------------------------------------------------------------------
 * The heap
 * ------------------------------------------------------------------------
 */

/* Keep a segment that the snapshot sees. */
static void
add_segment(DirectoryVerify *v, const GpucolDirectoryTuple *row)
{
	GpucolView *view = v->view;
	GpucolViewSegment *segment;

	if (view->nsegments == v->segment_capacity)
	{
		v->segment_capacity = Max(v->segment_capacity * 2, 16);
		view->segments = view->segments == NULL ?
			palloc(v->segment_capacity * sizeof(GpucolViewSegment)) :
			repalloc_huge(view->segments, v->segment_capacity * sizeof(GpucolViewSegment));
	}
	segment = &view->segments[view->nsegments];
	memcpy(&segment->entry, row->data, sizeof(segment->entry));
	segment->tid = row->tid;
	segment->xmin = row->xmin;
	if (segment->entry.nrows > 0)
		view->nsegments++;
	else if (!TransactionIdIsCurrentTransactionId(row->xmin))
		gpucol_verify_report(v->verify, 0, "entry of segment " UINT64_FORMAT " was never completed",
							 segment->entry.first_row);
}

/* Keep a good row of a locked page. */
static void
add_row(DirectoryVerify *v, const GpucolDirectoryTuple *row)
{
	HTSV_Result status = HeapTupleSatisfiesVacuum(row->tuple, v->oldest_xmin, row->buffer);
	TransactionId creator = HeapTupleHeaderGetRawXmin(row->tuple->t_data);
	FoundRow   *found;

	if (row->id >= GPUCOL_ID_SEGMENT && row->id < GPUCOL_ID_SEGMENT + GPUCOL_ID_SPAN)
	{
		const GpucolSegmentEntry *entry = row->data;

		v->bound = Max(v->bound, entry->first_row + entry->nrows);
	}
	if (status == HEAPTUPLE_DEAD)
		return;
	if (v->nrows == v->capacity)
	{
		v->capacity = Max(v->capacity * 2, 64);
		v->rows = v->rows == NULL ? palloc(v->capacity * sizeof(FoundRow)) :
			repalloc_huge(v->rows, v->capacity * sizeof(FoundRow));
	}
	found = &v->rows[v->nrows++];
	found->key = (GpucolRowKey)
	{
		row->id, row->seq
	};
	found->tid = row->tid;
	/* who has inserted it may be about to enter it */
	found->indexed = status != HEAPTUPLE_INSERT_IN_PROGRESS &&
		!(TransactionIdIsNormal(creator) && TransactionIdIsInProgress(creator));
	found->seen = HeapTupleSatisfiesVisibility(row->tuple, v->snapshot, row->buffer);
	if (found->seen && row->id >= GPUCOL_ID_SEGMENT &&
		row->id < GPUCOL_ID_SEGMENT + GPUCOL_ID_SPAN)
		add_segment(v, row);
	if (found->seen && row->id >= GPUCOL_ID_BITMAP &&
		row->id < GPUCOL_ID_TOMBSTONE + GPUCOL_ID_SPAN)
		v->view->any_deleted = true;
}

/* Check an item of a locked page of the TOAST relation. */
static void
check_item(DirectoryVerify *v, GpucolDirectory *dir, Buffer buffer, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(BufferGetPage(buffer), offset);
	HeapTupleData tuple;
	GpucolDirectoryTuple row;
	ItemPointerData tid;
	const char *problem;

	if (!ItemIdHasStorage(item))
		return;
	ItemPointerSet(&tid, v->block, offset);
	if (!gpucol_value_find(BufferGetPage(buffer), &tid, &tuple))
	{
		gpucol_verify_report(v->verify, 0, "item %u of block %u of relation \"%s\" is no TOAST row",
							 offset, v->block, RelationGetRelationName(dir->toast));
		return;
	}
	tuple.t_tableOid = RelationGetRelid(dir->toast);
	gpucol_value_read(&tuple, buffer, &row);
	if (row.id >= FIRST_VALUE_ID)
		return;
	problem = gpucol_value_problem(v->verify->table, v->identity, &row);
	if (problem == NULL)
		add_row(v, &row);
	else
		gpucol_value_damaged(dir, &tid, row.id, row.seq, problem);
}

/* Look for the identity in a row that proves it by its own checksum. */
static void
find_identity(DirectoryVerify *v, Buffer buffer, OffsetNumber offset)
{
	HeapTupleData tuple;
	GpucolDirectoryTuple row;
	ItemPointerData tid;
	uint64		identity = 0;

	ItemPointerSet(&tid, v->block, offset);
	if (!gpucol_value_find(BufferGetPage(buffer), &tid, &tuple))
		return;
	gpucol_value_read(&tuple, buffer, &row);
	if (row.id == GPUCOL_ID_COUNTER && row.size == sizeof(GpucolCounter))
		identity = ((const GpucolCounter *) row.data)->identity;
	else if (row.id == GPUCOL_ID_SEGMENT && row.size == sizeof(GpucolSegmentEntry))
		identity = ((const GpucolSegmentEntry *) row.data)->identity;
	if (identity != 0 && gpucol_value_problem(v->verify->table, identity, &row) == NULL)
		v->identity = identity;
}

/* Go through the blocks of the TOAST relation from v->block on. */
static void
read_blocks(GpucolVerify *verify pg_attribute_unused(), void *arg)
{
	DirectoryVerify *v = arg;
	GpucolDirectory dir;

	if (!open_directory(v, &dir))
		return;
	for (; v->block < v->nblocks && (!v->searching || v->identity == 0); v->block++)
	{
		Buffer		buffer;
		Page		page;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBuffer(dir.toast, v->block);
		page = BufferGetPage(buffer);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		for (OffsetNumber i = FirstOffsetNumber;
			 !PageIsNew(page) && i <= PageGetMaxOffsetNumber(page); i++)
		{
			if (v->searching)
				find_identity(v, buffer, i);
			else
				check_item(v, &dir, buffer, i);
		}
		UnlockReleaseBuffer(buffer);
	}
	gpucol_directory_close(&dir);
}

/* Read the heap, and go on behind a block that cannot be read. */
static void
read_heap(DirectoryVerify *v)
{
	for (v->block = 0; v->block < v->nblocks; v->block++)
	{
		if (gpucol_verify_attempt(v->verify, read_blocks, v))
			break;
	}
}

/* ------------------------------------------------------------------------
 * The index
 * ------------------------------------------------------------------------
 */

/* Order rows by key and place. */
static int
compare_rows(const void *a, const void *b)
{
	const FoundRow *left = a;
	const FoundRow *right = b;

	if (left->key.id != right->key.id)
		return left->key.id < right->key.id ? -1 : 1;
	if (left->key.seq != right->key.seq)
		return left->key.seq < right->key.seq ? -1 : 1;
	return ItemPointerCompare(unconstify(ItemPointerData *, &left->tid),
							  unconstify(ItemPointerData *, &right->tid));
}

/* Follow all entries of the index; the scan reports those that lead nowhere. */
static void
follow_entries(GpucolVerify *verify pg_attribute_unused(), void *arg)
{
	DirectoryVerify *v = arg;
	GpucolDirectory dir;

	if (!open_directory(v, &dir))
		return;
	for (int i = 0; i < (int) lengthof(bases); i++)
	{
		GpucolDirectoryScan scan;
		GpucolDirectoryTuple row;

		gpucol_directory_scan_begin(&scan, &dir, SnapshotAny, bases[i], 0,
									gpucol_value_kind(bases[i])->span > 1 ?
									GPUCOL_MAX_ROW_NUMBER : 0, ForwardScanDirection);
		while (gpucol_directory_scan_next(&scan, &row))
			;
		gpucol_directory_scan_end(&scan);
	}
	gpucol_directory_close(&dir);
}

/* Damage that has been reported. */
static void
ignore_damage(void *arg pg_attribute_unused(), const char *text pg_attribute_unused())
{
}

/* Is a row found by its key? */
static bool
is_found(GpucolDirectory *dir, const FoundRow *found)
{
	const GpucolValueKind *kind = gpucol_value_kind(found->key.id);
	uint64		number = gpucol_directory_number(kind->base, found->key.id, found->key.seq);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		same = false;

	gpucol_directory_scan_begin(&scan, dir, SnapshotAny, kind->base, number, number,
								ForwardScanDirection);
	while (!same && gpucol_directory_scan_next(&scan, &row))
		same = ItemPointerEquals(&row.tid, unconstify(ItemPointerData *, &found->tid));
	gpucol_directory_scan_end(&scan);
	return same;
}

/* Report the last n rows before v->next, which have no index entries. */
static void
report_missing(DirectoryVerify *v, uint64 n)
{
	const FoundRow *row;
	const GpucolValueKind *kind;
	uint64		number;

	if (n == 0)
		return;
	row = &v->rows[v->next - n];
	kind = gpucol_value_kind(row->key.id);
	number = gpucol_directory_number(kind->base, row->key.id, row->key.seq);
	gpucol_verify_report(v->verify, 0,
						 "%s " UINT64_FORMAT " (block %u, item %u) and " UINT64_FORMAT " rows behind it are not found by the index",
						 kind->name, number * kind->unit,
						 ItemPointerGetBlockNumber(&row->tid),
						 ItemPointerGetOffsetNumber(&row->tid), n - 1);
}

/* Look each row up by its key, from v->next on. */
static void
look_up_rows(GpucolVerify *verify pg_attribute_unused(), void *arg)
{
	DirectoryVerify *v = arg;
	uint64		missing = 0;
	GpucolDirectory dir;

	if (!open_directory(v, &dir))
		return;
	dir.note_damage = ignore_damage;
	for (; v->next < v->nrows; v->next++)
	{
		const FoundRow *row = &v->rows[v->next];

		CHECK_FOR_INTERRUPTS();
		if (row->indexed && !is_found(&dir, row))
			missing++;
		else
		{
			report_missing(v, missing);
			missing = 0;
		}
	}
	report_missing(v, missing);
	gpucol_directory_close(&dir);
}

/* ------------------------------------------------------------------------
 * What readers go by
 * ------------------------------------------------------------------------
 */

/* Has the directory rows of a kind? */
static bool
has_kind(const DirectoryVerify *v, Oid base)
{
	for (uint64 i = 0; i < v->nrows; i++)
	{
		if (v->rows[i].indexed && gpucol_value_kind(v->rows[i].key.id)->base == base)
			return true;
	}
	return false;
}

/* Check the counter against the rows. */
static void
check_counter(GpucolVerify *verify, void *arg)
{
	static const struct
	{
		uint64		lacks;
		Oid			base;
		const char *name;
	}			kinds[] = {
		{GPUCOL_LACKS_BITMAPS, GPUCOL_ID_BITMAP, "bitmaps"},
		{GPUCOL_LACKS_LOCKS, GPUCOL_ID_LOCK, "lock records"},
		{GPUCOL_LACKS_TOMBSTONES, GPUCOL_ID_TOMBSTONE, "tombstones"}
	};
	DirectoryVerify *v = arg;
	GpucolDirectory dir;
	GpucolCounter counter;
	ItemPointerData tid;

	if (!open_directory(v, &dir))
		return;
	dir.note_damage = ignore_damage;
	if (!gpucol_directory_find(&dir, GPUCOL_ID_COUNTER, &counter, sizeof(counter), &tid))
	{
		if (v->nrows > 0)
			gpucol_verify_report(verify, 0, "the directory has no row counter that the index finds");
	}
	else
	{
		if (counter.next_row < v->bound)
			gpucol_verify_report(verify, 0,
								 "the row counter is at " UINT64_FORMAT ", rows have numbers up to " UINT64_FORMAT,
								 counter.next_row, v->bound - 1);
		for (int i = 0; i < (int) lengthof(kinds); i++)
		{
			if ((counter.lacks & kinds[i].lacks) != 0 && has_kind(v, kinds[i].base))
				gpucol_verify_report(verify, 0, "the row counter says that there are no %s", kinds[i].name);
		}
	}
	gpucol_directory_close(&dir);
}

/* Check that no page that is listed as free is a segment's. */
static void
check_free_pages(GpucolVerify *verify, void *arg)
{
	DirectoryVerify *v = arg;
	GpucolDirectory dir;
	GpucolUpkeep upkeep;
	ItemPointerData tid;

	if (!open_directory(v, &dir))
		return;
	dir.note_damage = ignore_damage;
	gpucol_space_lock(verify->table, AccessShareLock);
	if (gpucol_directory_find(&dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep), &tid))
	{
		const GpucolCoverage *coverage = gpucol_coverage_read_locked(&dir);

		for (uint32 i = 0; i < upkeep.nfree; i++)
		{
			if (!gpucol_coverage_is_free(coverage, &upkeep.free[i]))
				gpucol_verify_report(verify, 0, "%u blocks from %u on are listed as free, and are a segment's",
									 upkeep.free[i].npages, upkeep.free[i].start);
		}
	}
	gpucol_space_unlock(verify->table, AccessShareLock);
	gpucol_directory_close(&dir);
}

/* ------------------------------------------------------------------------
 * Segments
 * ------------------------------------------------------------------------
 */

/* Order segments by first row. */
static int
compare_segments(const void *a, const void *b)
{
	const GpucolViewSegment *left = a;
	const GpucolViewSegment *right = b;

	return left->entry.first_row < right->entry.first_row ? -1 :
		left->entry.first_row > right->entry.first_row;
}

/* Check a page outside the segments. */
static void
check_page_outside(DirectoryVerify *v, Page page)
{
	const GpucolPageTrailer *trailer = gpucol_page_identify(page);
	const GpucolViewSegment *segment;

	if (trailer == NULL)
		return;
	segment = gpucol_view_find(v->view, trailer->first_row);
	if (trailer->identity != v->identity)
		gpucol_verify_report(v->verify, 0, "block %u, outside the segments, is another table's, or an older one of this table",
							 v->block);
	else if (segment != NULL && segment->entry.first_row == trailer->first_row)
		gpucol_verify_report(v->verify, 0, "block %u, outside the segments, is page %u of segment " UINT64_FORMAT,
							 v->block, trailer->ordinal, trailer->first_row);
}

/* Find the delta; an error if segments overlap. */
static void
find_delta(GpucolVerify *verify, void *arg)
{
	DirectoryVerify *v = arg;

	v->ranges = gpucol_view_delta_ranges(v->view, RelationGetNumberOfBlocks(verify->table),
										 MaxBlockNumber, &v->nranges);
}

/* Report the items of a page of the delta that heap's code could not rely on. */
static void
check_items(DirectoryVerify *v, Page page)
{
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		const char *problem = gpucol_delta_item_problem(RelationGetDescr(v->verify->table), page, i);

		if (problem != NULL)
			gpucol_verify_report(v->verify, 0, "tuple %u of block %u, outside the segments, %s", i, v->block, problem);
	}
}

/* Look at the pages of the delta, from v->block on: for pages of segments, and at their items. */
static void
check_pages_outside(GpucolVerify *verify, void *arg)
{
	DirectoryVerify *v = arg;
	for (uint32 i = 0; i < v->nranges; i++)
	{
		const GpucolBlockRange *range = &v->ranges[i];

		for (v->block = Max(v->block, range->start); v->block < range->start + range->nblocks;
			 v->block++)
		{
			Buffer		buffer;

			CHECK_FOR_INTERRUPTS();
			buffer = ReadBuffer(verify->table, v->block);
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			check_page_outside(v, BufferGetPage(buffer));
			check_items(v, BufferGetPage(buffer));
			UnlockReleaseBuffer(buffer);
		}
	}
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

/* How many blocks has the TOAST relation? */
static BlockNumber
count_blocks(GpucolVerify *verify)
{
	GpucolDirectory dir;
	BlockNumber nblocks;

	if (!gpucol_directory_open(&dir, verify->table, AccessShareLock))
		return 0;
	nblocks = dir.nblocks;
	gpucol_directory_close(&dir);
	return nblocks;
}

void
gpucol_verify_directory(GpucolVerify *verify, Snapshot snapshot)
{
	DirectoryVerify v = {
		.verify = verify,
		.snapshot = snapshot,
		.view = palloc0(sizeof(GpucolView))
	};

	gpucol_writer_flush(verify->table);
	v.view->table = verify->table;
	v.view->snapshot = snapshot;
	verify->view = v.view;
	v.nblocks = count_blocks(verify);
	if (v.nblocks > 0)
	{
		/* what others may still see may be removed while this goes on, if we do not see it */
		v.oldest_xmin = snapshot->xmin;
		v.searching = true;
		read_heap(&v);
		v.searching = false;
		read_heap(&v);
	}
	if (v.nrows > 0)
	{
		qsort(v.rows, v.nrows, sizeof(FoundRow), compare_rows);
		(void) gpucol_verify_attempt(verify, follow_entries, &v);
		for (; v.next < v.nrows && !gpucol_verify_attempt(verify, look_up_rows, &v); v.next++)
			;
		(void) gpucol_verify_attempt(verify, check_counter, &v);
		(void) gpucol_verify_attempt(verify, check_free_pages, &v);
		qsort(v.view->segments, v.view->nsegments, sizeof(GpucolViewSegment), compare_segments);
	}
	if (!gpucol_verify_attempt(verify, find_delta, &v))
		return;
	for (v.block = 0; v.block < RelationGetNumberOfBlocks(verify->table); v.block++)
	{
		if (gpucol_verify_attempt(verify, check_pages_outside, &v))
			break;
	}
}
