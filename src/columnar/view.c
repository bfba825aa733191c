/*-------------------------------------------------------------------------
 *
 * view.c
 *	  What one snapshot sees of a table's segments.
 *
 * A segment row is visible iff its directory row is visible to the snapshot and
 * neither a tombstone nor a bitmap that covers it is.  All three are ordinary
 * tuples read under the caller's snapshot, so subtransactions, prepared
 * transactions, freezing, serializable conflicts and standbys are PostgreSQL's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "common/hashfn.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/deadrows.h"
#include "columnar/directory_value.h"
#include "columnar/fold_count.h"
#include "columnar/folded_rows.h"
#include "columnar/tombstones.h"
#include "columnar/view.h"
#include "columnar/view_cache.h"
#include "columnar/writer.h"
#include "compat.h"
#include "kernel/format.h"

/* Copy a segment's entry.  Whoever commits it, or looks at a later command's, has completed it. */
static void
copy_segment(GpucolDirectory *dir, Snapshot snapshot, const GpucolDirectoryTuple *row,
			 GpucolViewSegment *segment)
{
	memcpy(&segment->entry, row->data, sizeof(segment->entry));
	segment->tid = row->tid;
	segment->xmin = row->xmin;
	if (segment->entry.nrows == 0 && IsMVCCSnapshot(snapshot) &&
		!TransactionIdIsCurrentTransactionId(row->xmin))
		gpucol_value_damaged(dir, &row->tid, row->id, row->seq, "was never completed");
}

/* Raise the error of a segment that cannot be where it is. */
static void
misplaced(GpucolDirectory *dir, const GpucolViewSegment *segment, const char *problem)
{
	Oid			id;
	int32		seq;

	gpucol_directory_key(GPUCOL_ID_SEGMENT, segment->entry.first_row, &id, &seq);
	gpucol_value_damaged(dir, &segment->tid, id, seq, problem);
}

/* Check that the segments' rows follow each other, and that the table has their pages. */
static void
check_segments(const GpucolView *view, GpucolDirectory *dir)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(view->table);
	uint64		end = 0;

	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolViewSegment *segment = &view->segments[i];
		const GpucolSegmentEntry *entry = &segment->entry;

		if (entry->first_row < end)
			misplaced(dir, segment, "has row numbers of another segment");
		end = entry->first_row + entry->nrows;
		for (uint32 j = 0; j < entry->nextents; j++)
		{
			if (entry->extents[j].start + entry->extents[j].npages > nblocks)
				misplaced(dir, segment, "has pages behind the end of the table");
		}
	}
}

/* Does the snapshot see any row of an id range? */
static bool
any_row(GpucolDirectory *dir, Snapshot snapshot, Oid base)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found;

	gpucol_directory_scan_begin(&scan, dir, snapshot, base, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	found = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	return found;
}

/* Read the segments' entries. */
static void
read_segments(GpucolView *view, GpucolDirectory *dir)
{
	TransactionId oldest_xmin = InvalidTransactionId;
	uint32		capacity = 16;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	if (view->snapshot == SnapshotAny)
		oldest_xmin = GetOldestNonRemovableTransactionId(dir->toast);
	view->segments = palloc(capacity * sizeof(GpucolViewSegment));
	gpucol_directory_scan_begin(&scan, dir, view->snapshot, GPUCOL_ID_SEGMENT, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		GpucolViewSegment *segment;

		if (view->snapshot == SnapshotAny && gpucol_deadrows_judge(&row, oldest_xmin) == HEAPTUPLE_DEAD)
			continue;
		if (view->nsegments == capacity)
		{
			capacity *= 2;
			view->segments = repalloc_huge(view->segments,
										   capacity * sizeof(GpucolViewSegment));
		}
		segment = &view->segments[view->nsegments];
		copy_segment(dir, view->snapshot, &row, segment);
		if (segment->entry.nrows == 0)
			continue;
		view->rows += segment->entry.nrows;
		view->pages += segment->entry.npages;
		view->nsegments++;
	}
	gpucol_directory_scan_end(&scan);
}

/* Open the directory for a view. */
static bool
open_for_view(const GpucolView *view, GpucolDirectory *dir)
{
	if (!gpucol_directory_open(dir, view->table, AccessShareLock))
		return false;
	dir->peek = view->peek;
	return true;
}

/* Read the directory, or, if only a kept copy of it will do, find that. */
static GpucolView *
open_view(Relation table, Snapshot snapshot, bool peek, bool kept)
{
	GpucolView *view = palloc0(sizeof(GpucolView));
	GpucolDirectory dir;

	gpucol_writer_flush(table);
	view->table = table;
	view->snapshot = snapshot;
	view->peek = peek;
	view->tombstones = gpucol_tombstones_make(snapshot);
	if (!open_for_view(view, &dir))
		return view;
	if (!gpucol_view_cache_find(view, &dir))
	{
		if (kept)
		{
			gpucol_directory_close(&dir);
			pfree(view);
			return NULL;
		}
		read_segments(view, &dir);
		check_segments(view, &dir);
		if (view->nsegments > 0 && snapshot != SnapshotAny)
			view->any_deleted = any_row(&dir, snapshot, GPUCOL_ID_TOMBSTONE) ||
				any_row(&dir, snapshot, GPUCOL_ID_BITMAP);
		if (view->any_deleted)
			view->folds = gpucol_fold_count_state(&dir, snapshot);
		gpucol_view_cache_store(view, &dir);
	}
	gpucol_directory_close(&dir);
	return view;
}

GpucolView *
gpucol_view_open(Relation table, Snapshot snapshot)
{
	return open_view(table, snapshot, false, false);
}

GpucolView *
gpucol_view_peek(Relation table, Snapshot snapshot)
{
	return open_view(table, snapshot, true, false);
}

GpucolView *
gpucol_view_peek_kept(Relation table, Snapshot snapshot)
{
	return open_view(table, snapshot, true, true);
}

const GpucolViewSegment *
gpucol_view_find(const GpucolView *view, uint64 row_number)
{
	uint32		low = 0;
	uint32		high = view->nsegments;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const GpucolViewSegment *segment = &view->segments[middle];

		if (row_number < segment->entry.first_row)
			high = middle;
		else if (row_number - segment->entry.first_row < segment->entry.nrows)
			return segment;
		else
			low = middle + 1;
	}
	return NULL;
}

/*
 * Mark the rows of one bitmap row that fall into the segment: its words, shifted to
 * where the segment begins.
 */
static void
add_bitmap(uint32 *deleted, const GpucolSegmentEntry *entry, uint64 first,
		   const uint8 *bits)
{
	int64		offset = (int64) (first - entry->first_row);	/* of bit 0 */
	uint32		nwords = (entry->nrows + 31) / 32;
	uint32		shift = (uint32) (offset & 31);

	for (uint32 i = 0; i < GPUCOL_BITMAP_ROWS / 32; i++)
	{
		int64		word = (offset - shift) / 32 + i;
		uint32		value;

		memcpy(&value, bits + i * sizeof(value), sizeof(value));
		if (value == 0)
			continue;
		if (word >= 0 && word < nwords)
			deleted[word] |= value << shift;
		if (shift != 0 && word + 1 >= 0 && word + 1 < nwords)
			deleted[word + 1] |= value >> (32 - shift);
	}
	if (entry->nrows % 32 != 0)
		deleted[nwords - 1] &= (UINT32_C(1) << (entry->nrows % 32)) - 1;
}

/* Read the bitmaps of a segment. */
static void
read_bitmaps(GpucolDirectory *dir, Snapshot snapshot,
			 const GpucolSegmentEntry *entry, uint32 *deleted)
{
	uint64		last = entry->first_row + entry->nrows - 1;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, snapshot, GPUCOL_ID_BITMAP,
								entry->first_row / GPUCOL_BITMAP_ROWS,
								last / GPUCOL_BITMAP_ROWS, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		uint64		number = gpucol_directory_number(GPUCOL_ID_BITMAP, row.id, row.seq);

		add_bitmap(deleted, entry, number * GPUCOL_BITMAP_ROWS, row.data);
	}
	gpucol_directory_scan_end(&scan);
}

/* Bits of a segment's deleted rows. */
typedef struct DeletedBits
{
	uint64		first_row;
	uint32	   *words;
	uint32		n;				/* that are set */
} DeletedBits;

/* Take a tombstone. */
static void
set_bit(uint64 number, void *arg)
{
	DeletedBits *bits = arg;
	uint64		row = number - bits->first_row;
	uint32	   *word = &bits->words[row / 32];
	uint32		bit = UINT32_C(1) << (row % 32);

	bits->n += (*word & bit) == 0;
	*word |= bit;
}

/* Read the tombstones of a segment. */
static void
read_tombstones(GpucolDirectory *dir, Snapshot snapshot,
				const GpucolSegmentEntry *entry, uint32 *deleted)
{
	DeletedBits bits = {.first_row = entry->first_row,.words = deleted};

	gpucol_directory_run(dir, snapshot, GPUCOL_ID_TOMBSTONE, entry->first_row,
						 entry->first_row + entry->nrows - 1, set_bit, &bits);
}

/* Count a tombstone. */
static void
count_one(uint64 number pg_attribute_unused(), void *arg)
{
	(*(uint32 *) arg)++;
}

/* Words of a segment's deletion bitmap: whole vectors. */
static uint32
bitmap_words(const GpucolViewSegment *segment)
{
	return GPUCOL_VECTORS(segment->entry.nrows) * (GPUCOL_VECTOR_VALUES / 32);
}

/* A copy of what is known of a segment's deleted rows. */
static uint32 *
copy_known(const uint32 *known, uint32 nwords)
{
	return known == NULL ? NULL :
		memcpy(palloc(nwords * sizeof(uint32)), known, nwords * sizeof(uint32));
}

uint32 *
gpucol_view_deleted(const GpucolView *view, const GpucolViewSegment *segment,
					uint32 *ndeleted)
{
	uint32		nwords = bitmap_words(segment);
	DeletedBits bits = {.first_row = segment->entry.first_row};
	const uint32 *known;
	uint32	   *deleted;
	GpucolDirectory dir;

	*ndeleted = 0;
	if (!view->any_deleted)
		return NULL;
	if (gpucol_view_cache_deleted(view, segment, &known, ndeleted))
		return copy_known(known, nwords);
	if (!open_for_view(view, &dir))
		return NULL;
	deleted = palloc(nwords * sizeof(uint32));
	if (!gpucol_folded_rows_find(&dir, view->folds, segment, deleted, nwords, &bits.n))
	{
		memset(deleted, 0, nwords * sizeof(uint32));
		read_bitmaps(&dir, view->snapshot, &segment->entry, deleted);
		bits.n = (uint32) pg_popcount((char *) deleted, nwords * sizeof(uint32));
		gpucol_folded_rows_keep(&dir, view->folds, segment, deleted, nwords, bits.n);
	}
	bits.words = deleted;
	gpucol_tombstones_read(view, &dir, segment, set_bit, &bits);
	gpucol_directory_close(&dir);
	*ndeleted = bits.n;
	gpucol_view_cache_keep_deleted(view, segment, deleted, nwords, *ndeleted);
	if (*ndeleted > 0)
		return deleted;
	pfree(deleted);
	return NULL;
}

uint32
gpucol_view_count_deleted(const GpucolView *view, const GpucolViewSegment *segment)
{
	const GpucolSegmentEntry *entry = &segment->entry;
	uint64		end = entry->first_row + entry->nrows;
	uint32		n = 0;
	GpucolDirectory dir;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	if (!view->any_deleted || !open_for_view(view, &dir))
		return 0;
	gpucol_directory_scan_begin(&scan, &dir, view->snapshot, GPUCOL_ID_BITMAP,
								entry->first_row / GPUCOL_BITMAP_ROWS,
								(end - 1) / GPUCOL_BITMAP_ROWS, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
		n += gpucol_directory_count_bits(&row, GPUCOL_BITMAP_ROWS *
										 gpucol_directory_number(GPUCOL_ID_BITMAP,
																 row.id, row.seq),
										 entry->first_row, end);
	gpucol_directory_scan_end(&scan);
	/* a snapshot never sees a row's tombstone and its bit */
	gpucol_directory_run(&dir, view->snapshot, GPUCOL_ID_TOMBSTONE, entry->first_row, end - 1,
						 count_one, &n);
	gpucol_directory_close(&dir);
	return n;
}

/* Rows of a segment that directory rows of one kind name under a snapshot, or NULL. */
static uint32 *
read_deletions(const GpucolView *view, const GpucolViewSegment *segment, Snapshot snapshot, Oid base,
			   void (*read) (GpucolDirectory *, Snapshot, const GpucolSegmentEntry *, uint32 *))
{
	uint32	   *rows = NULL;
	GpucolDirectory dir;

	if (!open_for_view(view, &dir))
		return NULL;
	if (any_row(&dir, snapshot, base))
	{
		rows = palloc0(bitmap_words(segment) * sizeof(uint32));
		read(&dir, snapshot, &segment->entry, rows);
	}
	gpucol_directory_close(&dir);
	return rows;
}

uint32 *
gpucol_view_folded(const GpucolView *view, const GpucolViewSegment *segment, Snapshot snapshot)
{
	return read_deletions(view, segment, snapshot, GPUCOL_ID_BITMAP, read_bitmaps);
}

uint32 *
gpucol_view_tombstoned(const GpucolView *view, const GpucolViewSegment *segment, Snapshot snapshot)
{
	return read_deletions(view, segment, snapshot, GPUCOL_ID_TOMBSTONE, read_tombstones);
}

bool
gpucol_view_row_deleted(GpucolDirectory *dir, Snapshot snapshot, uint64 row_number)
{
	uint64		lacks = gpucol_directory_lacks(dir);
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		deleted;

	if (lacks & GPUCOL_LACKS_TOMBSTONES)
		return false;
	gpucol_directory_scan_begin(&scan, dir, snapshot, GPUCOL_ID_TOMBSTONE, row_number,
								row_number, ForwardScanDirection);
	deleted = gpucol_directory_scan_next(&scan, &row);
	gpucol_directory_scan_end(&scan);
	if (deleted)
		return true;
	if (IsMVCCSnapshot(snapshot) && (lacks & GPUCOL_LACKS_BITMAPS) != 0)
		return false;
	return gpucol_view_row_folded(dir, snapshot, row_number);
}

bool
gpucol_view_row_folded(GpucolDirectory *dir, Snapshot snapshot, uint64 row_number)
{
	uint64		bitmap = row_number / GPUCOL_BITMAP_ROWS;
	uint32		bit = row_number % GPUCOL_BITMAP_ROWS;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		deleted = false;

	if (gpucol_directory_lacks(dir) & GPUCOL_LACKS_BITMAPS)
		return false;
	gpucol_directory_scan_begin(&scan, dir, snapshot, GPUCOL_ID_BITMAP, bitmap, bitmap,
								ForwardScanDirection);
	while (!deleted && gpucol_directory_scan_next(&scan, &row))
		deleted = ((((const uint8 *) row.data)[bit / 8] >> (bit % 8)) & 1) != 0;
	gpucol_directory_scan_end(&scan);
	return deleted;
}

/* Segments whose place in the directory this session knows. */
typedef struct KnownSegment
{
	Oid			space;
	Oid			file;			/* of the TOAST relation; invalid = unused */
	GpucolViewSegment segment;
} KnownSegment;

/* As many as a table that merges keep packing has before they are packed together; all are looked through. */
#define KNOWN_SEGMENTS	64

static KnownSegment known_segments[KNOWN_SEGMENTS];

/*
 * Does the snapshot see the entry at the place where it was found before, the same to
 * the byte?  A place may be another row's by now.
 */
static bool
is_still_there(GpucolDirectory *dir, Snapshot snapshot, const GpucolViewSegment *segment)
{
	GpucolSegmentEntry entry;
	TransactionId xmin;
	Oid			id;
	int32		seq;

	gpucol_directory_key(GPUCOL_ID_SEGMENT, segment->entry.first_row, &id, &seq);
	return gpucol_directory_fetch(dir, snapshot, &segment->tid, id, seq, &entry,
								  sizeof(entry), &xmin) &&
		xmin == segment->xmin && memcmp(&entry, &segment->entry, sizeof(entry)) == 0;
}

/* Find a row's segment among those whose place is known. */
static bool
find_known(GpucolDirectory *dir, Snapshot snapshot, uint64 row_number,
		   GpucolViewSegment *segment)
{
	Oid			space = gpucol_compat_relation_space(dir->toast);
	Oid			file = gpucol_compat_relation_file(dir->toast);

	if (!gpucol_directory_is_lasting(dir->table))
		return false;
	for (int i = 0; i < KNOWN_SEGMENTS; i++)
	{
		const KnownSegment *known = &known_segments[i];

		if (known->file != file || known->space != space ||
			row_number < known->segment.entry.first_row ||
			row_number - known->segment.entry.first_row >= known->segment.entry.nrows)
			continue;
		if (!is_still_there(dir, snapshot, &known->segment))
			return false;
		*segment = known->segment;
		return true;
	}
	return false;
}

/* Keep the place of a segment that has been written, instead of another one's. */
static void
keep_known(GpucolDirectory *dir, const GpucolViewSegment *segment)
{
	/* small segments that follow each other must not share one place */
	KnownSegment *known = &known_segments[murmurhash32((uint32) segment->entry.first_row ^ dir->toast->rd_id) %
										  KNOWN_SEGMENTS];

	if (segment->entry.nrows == 0 || !gpucol_directory_is_lasting(dir->table))
		return;
	known->space = gpucol_compat_relation_space(dir->toast);
	known->file = gpucol_compat_relation_file(dir->toast);
	known->segment = *segment;
}

bool
gpucol_view_lookup(GpucolDirectory *dir, Snapshot snapshot, uint64 row_number,
				   GpucolViewSegment *segment)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;
	bool		found;

	if (find_known(dir, snapshot, row_number, segment))
		return true;
	/* row numbers of segments never overlap, so the nearest below decides */
	gpucol_directory_scan_begin(&scan, dir, snapshot, GPUCOL_ID_SEGMENT, 0, row_number,
								BackwardScanDirection);
	found = gpucol_directory_scan_next(&scan, &row);
	if (found)
		copy_segment(dir, snapshot, &row, segment);
	gpucol_directory_scan_end(&scan);
	if (found)
		keep_known(dir, segment);
	/* a segment being loaded has what it reserved, a written one no more than its rows */
	return found && row_number - segment->entry.first_row <
		(segment->entry.nrows > 0 ? segment->entry.nrows : segment->entry.reserved);
}

GpucolBlockRange *
gpucol_view_gaps(const GpucolView *view, uint32 *ngaps)
{
	uint32		nextents = 0;
	GpucolExtent *extents = palloc((view->nsegments * GPUCOL_MAX_EXTENTS + 1) *
								   sizeof(GpucolExtent));
	GpucolBlockRange *gaps;
	BlockNumber at = 0;

	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolSegmentEntry *entry = &view->segments[i].entry;

		for (uint32 j = 0; j < entry->nextents; j++)
			extents[nextents++] = entry->extents[j];
	}
	gpucol_directory_sort_extents(extents, nextents);
	extents[nextents].start = InvalidBlockNumber;	/* sentinel */
	extents[nextents].npages = 0;

	gaps = palloc((nextents + 1) * sizeof(GpucolBlockRange));
	*ngaps = 0;
	for (uint32 i = 0; i <= nextents; i++)
	{
		if (at > extents[i].start && view->table != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("segment directory of table \"%s\" is corrupt",
							RelationGetRelationName(view->table)),
					 errdetail("Block %u is in two segments.", extents[i].start)));
		if (at < extents[i].start)
		{
			gaps[*ngaps].start = at;
			gaps[*ngaps].nblocks = extents[i].start - at;
			(*ngaps)++;
		}
		at = Max(at, extents[i].start + extents[i].npages);
	}
	pfree(extents);
	return gaps;
}

/* Append a range, in pieces of at most max_blocks. */
static void
append_ranges(GpucolBlockRange *ranges, uint32 *nranges, BlockNumber at, BlockNumber end,
			  BlockNumber max_blocks)
{
	while (at < end)
	{
		BlockNumber take = Min(end - at, max_blocks);

		ranges[*nranges].start = at;
		ranges[*nranges].nblocks = take;
		(*nranges)++;
		at += take;
	}
}

GpucolBlockRange *
gpucol_view_delta_ranges(const GpucolView *view, BlockNumber nblocks,
						 BlockNumber max_blocks, uint32 *nranges)
{
	uint32		ngaps = view->ngaps;
	GpucolBlockRange *gaps = view->gaps != NULL ? view->gaps :
		gpucol_view_gaps(view, &ngaps);
	GpucolBlockRange *ranges = palloc(((uint64) ngaps + nblocks / max_blocks) *
									  sizeof(GpucolBlockRange));

	*nranges = 0;
	for (uint32 i = 0; i < ngaps && gaps[i].start < nblocks; i++)
		append_ranges(ranges, nranges, gaps[i].start,
					  Min(gaps[i].start + gaps[i].nblocks, nblocks), max_blocks);
	if (gaps != view->gaps)
		pfree(gaps);
	return ranges;
}
