/*-------------------------------------------------------------------------
 *
 * view_version.c
 *	  Versions of views: what shows the same has the same number.
 *
 * Where the LSNs of its pages say that a directory has not changed, a view has the
 * version of the copy that it shares (view_cache.c).  They say nothing of unlogged tables,
 * of a transaction's own changes, or of rows that an older snapshot might see otherwise.
 * Then what the view shows is read and compared, to the byte, with what earlier
 * views of the backend have shown: the entries of its segments, each with its place and
 * its transaction, the numbers of the rows that have a tombstone, and the bitmaps.
 *
 * Nothing else need be known, in particular not who changed what and when, because
 * equal bytes stand for equal rows:
 *
 *	  A segment's pages do not change once its entry says that it has rows, and nobody
 *	  reuses them while a snapshot may see the entry.
 *
 *	  The first row of a segment names it among all that were ever visible outside
 *	  their transaction, as long as the file lasts, because row numbers are never used
 *	  twice.  Those of a load that failed may be, which had another transaction.
 *
 *	  A file that may be emptied in place, by the transaction that made it or at the end
 *	  of each, begins its numbers anew; its views are not asked (source.c).
 *
 *	  A crash empties unlogged tables, and ends all backends with what they remember.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "columnar/view_version.h"
#include "compat.h"

/* What is kept: this many views, none larger than this. */
#define KEPT_VIEWS	16
#define KEPT_BYTES	(2 * 1024 * 1024)

/* What a view has shown. */
typedef struct Shown
{
	Oid			space;
	Oid			file;			/* of the TOAST relation */
	uint64		version;		/* 0 = unused */
	uint64		used;			/* when last */
	int			size;
	char	   *bytes;
} Shown;

static Shown kept[KEPT_VIEWS];

uint64
gpucol_view_version_new(void)
{
	static uint64 last = 0;

	return ++last;
}

/* Append the entries of the segments. */
static void
append_segments(StringInfo bytes, const GpucolView *view)
{
	for (uint32 i = 0; i < view->nsegments; i++)
	{
		const GpucolViewSegment *segment = &view->segments[i];

		appendBinaryStringInfo(bytes, (const char *) &segment->entry, sizeof(segment->entry));
		appendBinaryStringInfo(bytes, (const char *) &segment->tid, sizeof(segment->tid));
		appendBinaryStringInfo(bytes, (const char *) &segment->xmin, sizeof(segment->xmin));
	}
}

/*
 * Append the numbers of all directory rows of a kind, with their data where those count;
 * false if there are too many.
 */
static bool
append_rows(StringInfo bytes, const GpucolView *view, GpucolDirectory *dir, Oid base,
			bool with_data)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, dir, view->snapshot, base, 0,
								GPUCOL_MAX_ROW_NUMBER, ForwardScanDirection);
	while (bytes->len <= KEPT_BYTES && gpucol_directory_scan_next(&scan, &row))
	{
		uint64		number = gpucol_directory_number(base, row.id, row.seq);

		appendBinaryStringInfo(bytes, (const char *) &number, sizeof(number));
		if (with_data)
			appendBinaryStringInfo(bytes, row.data, row.size);
	}
	gpucol_directory_scan_end(&scan);
	return bytes->len <= KEPT_BYTES;
}

/* Append what is deleted, behind a mark where the tombstones end. */
static bool
append_deleted(StringInfo bytes, const GpucolView *view, GpucolDirectory *dir)
{
	const uint64 end = PG_UINT64_MAX;

	if (!append_rows(bytes, view, dir, GPUCOL_ID_TOMBSTONE, false))
		return false;
	appendBinaryStringInfo(bytes, (const char *) &end, sizeof(end));
	return append_rows(bytes, view, dir, GPUCOL_ID_BITMAP, true);
}

/* The version of what has been shown before, or 0. */
static uint64
look_up(Oid space, Oid file, const StringInfoData *bytes, uint64 now)
{
	for (int i = 0; i < KEPT_VIEWS; i++)
	{
		Shown	   *shown = &kept[i];

		if (shown->version == 0 || shown->file != file || shown->space != space ||
			shown->size != bytes->len ||
			memcmp(shown->bytes, bytes->data, bytes->len) != 0)
			continue;
		shown->used = now;
		return shown->version;
	}
	return 0;
}

/* Keep what is shown, under a new version, instead of what was used least lately. */
static uint64
keep(Oid space, Oid file, const StringInfoData *bytes, uint64 now)
{
	char	   *copy = MemoryContextAlloc(CacheMemoryContext, bytes->len);
	Shown	   *shown = &kept[0];

	for (int i = 1; i < KEPT_VIEWS; i++)
		if (kept[i].used < shown->used)
			shown = &kept[i];
	memcpy(copy, bytes->data, bytes->len);
	if (shown->bytes != NULL)
		pfree(shown->bytes);
	*shown = (Shown)
	{
		space, file, gpucol_view_version_new(), now, bytes->len, copy
	};
	return shown->version;
}

void
gpucol_view_version_find(GpucolView *view)
{
	static uint64 now = 0;
	GpucolDirectory dir;
	StringInfoData bytes;
	Oid			space;
	Oid			file;

	if (view->version != 0 || view->nsegments == 0 ||
		view->nsegments > KEPT_BYTES / sizeof(GpucolViewSegment) ||
		view->snapshot->snapshot_type != SNAPSHOT_MVCC ||
		!gpucol_directory_open(&dir, view->table, AccessShareLock))
		return;
	space = gpucol_compat_relation_space(dir.toast);
	file = gpucol_compat_relation_file(dir.toast);
	initStringInfo(&bytes);
	append_segments(&bytes, view);
	if (!view->any_deleted || append_deleted(&bytes, view, &dir))
	{
		view->version = look_up(space, file, &bytes, ++now);
		if (view->version == 0)
			view->version = keep(space, file, &bytes, now);
	}
	pfree(bytes.data);
	gpucol_directory_close(&dir);
}
