/*-------------------------------------------------------------------------
 *
 * tombstones.c
 *	  Tombstones of a view's segments, those of small ones read together.
 *
 * Each run through a range of the directory begins with a search of its index, which takes longer than the few
 * tombstones of a small segment.  A table that is written to has many such segments until they are packed together,
 * and a scan asks for one after the other.  So from the second on those of the next segments are read, too:
 * twice as many each time.  What is read for nothing, because the scan leaves segments out, is no
 * more than what was asked for before.
 *
 * Serializable transactions note what they read, and read nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "columnar/settled.h"
#include "columnar/tombstones.h"

/* Rows of segments that are read together, at most. */
#define MOST_ROWS	(UINT64_C(1) << 20)

struct GpucolTombstones
{
	MemoryContext context;
	uint32		first;			/* segments whose tombstones these are, */
	uint32		end;			/* up to here */
	uint32		nsegments;		/* that were read together */
	uint64	   *numbers;		/* of rows, ascending */
	uint32		n;
	uint32		room;
};

GpucolTombstones *
gpucol_tombstones_make(Snapshot snapshot)
{
	GpucolTombstones *kept;

	if (!gpucol_settled_by_header(snapshot))
		return NULL;
	kept = palloc0(sizeof(GpucolTombstones));
	kept->context = CurrentMemoryContext;
	return kept;
}

/* Keep a number. */
static void
keep(uint64 number, void *arg)
{
	GpucolTombstones *kept = arg;

	if (kept->n == kept->room)
	{
		kept->room = Max(2 * kept->room, 256);
		kept->numbers = kept->numbers == NULL ?
			MemoryContextAlloc(kept->context, kept->room * sizeof(uint64)) :
			repalloc(kept->numbers, kept->room * sizeof(uint64));
	}
	kept->numbers[kept->n++] = number;
}

/* The end of a run of segments that are read together from one on: so many, if they are small. */
static uint32
end_of(const GpucolView *view, uint32 first, uint32 nsegments)
{
	uint64		rows = view->segments[first].entry.nrows;
	uint32		end = first + 1;

	while (end < view->nsegments && end - first < nsegments &&
		   (rows += view->segments[end].entry.nrows) <= MOST_ROWS)
		end++;
	return end;
}

/* Read those of segments from `first` up to `end`. */
static void
run(const GpucolView *view, GpucolDirectory *dir, uint32 first, uint32 end, GpucolDirectoryTake take, void *arg)
{
	const GpucolSegmentEntry *last = &view->segments[end - 1].entry;

	gpucol_directory_run(dir, view->snapshot, GPUCOL_ID_TOMBSTONE, view->segments[first].entry.first_row,
						 last->first_row + last->nrows - 1, take, arg);
}

/* Hand over those of a segment that are kept. */
static void
hand_over(const GpucolTombstones *kept, const GpucolSegmentEntry *entry, GpucolDirectoryTake take, void *arg)
{
	uint32		low = 0;
	uint32		high = kept->n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (kept->numbers[middle] < entry->first_row)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < kept->n && kept->numbers[low] - entry->first_row < entry->nrows; low++)
		take(kept->numbers[low], arg);
}

void
gpucol_tombstones_read(const GpucolView *view, GpucolDirectory *dir, const GpucolViewSegment *segment,
					   GpucolDirectoryTake take, void *arg)
{
	GpucolTombstones *kept = view->tombstones;
	uint32		number = (uint32) (segment - view->segments);

	if (kept == NULL || segment < view->segments || number >= view->nsegments)
	{
		gpucol_directory_run(dir, view->snapshot, GPUCOL_ID_TOMBSTONE, segment->entry.first_row,
							 segment->entry.first_row + segment->entry.nrows - 1, take, arg);
		return;
	}
	if (number < kept->first || number >= kept->end)
	{
		kept->nsegments = number > 0 && number == kept->end ? 2 * kept->nsegments : 1;
		kept->end = end_of(view, number, kept->nsegments);
		kept->nsegments = kept->end - number;
		kept->first = kept->nsegments > 1 ? number : kept->end;
		kept->n = 0;
		run(view, dir, number, kept->end, kept->nsegments > 1 ? keep : take, kept->nsegments > 1 ? kept : arg);
	}
	if (number >= kept->first)
		hand_over(kept, &segment->entry, take, arg);
}
