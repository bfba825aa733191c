/*-------------------------------------------------------------------------
 *
 * window_frame.h
 *	  A partition in its order: peers, and the frame of each row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_FRAME_H
#define GPUCOL_EXEC_WINDOW_FRAME_H

#include "postgres.h"

#include "fmgr.h"

#include "exec/window_order.h"

/* What a window clause says of frames, once for all partitions. */
typedef struct GpucolWindowFrames
{
	int			options;		/* FRAMEOPTION_... */
	bool		ordered;		/* is there an ORDER BY? */
	uint64		start;			/* offsets of ROWS and GROUPS */
	uint64		end;
	Datum		start_value;	/* and of RANGE, */
	Datum		end_value;
	FmgrInfo	start_in_range; /* whose order has one key */
	FmgrInfo	end_in_range;
	Oid			collation;
	bool		ascending;
	bool		nulls_first;
	int			input;			/* of that key */
} GpucolWindowFrames;

/* Rows of a partition, by place from 0 on, with arrays for the largest one. */
typedef struct GpucolWindowPart
{
	const GpucolWindowRows *rows;
	const GpucolWindowFrames *frames;
	const GpucolRadixItem *items;
	const uint8 *begins;
	uint32		base;			/* place of its first row among all, */
	bool		by_place;		/* where results are kept by that, not by row */
	uint32		n;
	uint32		ngroups;
	uint32	   *group;			/* by place */
	uint32	   *group_start;	/* by group, and n behind the last */
	uint32	   *low;			/* the frame is from low to before high */
	uint32	   *high;
} GpucolWindowPart;

/* Places from start to before end. */
typedef struct GpucolWindowSpan
{
	uint32		start;
	uint32		end;
} GpucolWindowSpan;

/* Arrays for partitions of at most this many rows; false where memory does not suffice. */
extern bool gpucol_window_part_init(GpucolWindowPart *part, GpucolWindowRows *rows,
									const GpucolWindowFrames *frames, uint32 largest);

/* Number the peers of the partition, and find the frames if they matter. */
extern void gpucol_window_part_load(GpucolWindowPart *part, const GpucolRadixItem *items,
									const uint8 *begins, uint32 n, bool with_frames);

extern void gpucol_window_part_free(GpucolWindowPart *part);

/* Where the result of a row of the partition is kept. */
static inline uint32
gpucol_window_at(const GpucolWindowPart *part, uint32 place)
{
	return part->by_place ? part->base + place : part->items[place].row;
}

/* The spans of a row's frame, in order, without what it excludes; how many, at most 3. */
static inline int
gpucol_window_spans(const GpucolWindowPart *part, uint32 place, GpucolWindowSpan *spans)
{
	int			options = part->frames->options;
	uint32		low = part->low[place];
	uint32		high = part->high[place];
	uint32		from = place;
	uint32		to = place + 1;
	int			n = 0;

	if (low >= high)
		return 0;
	if ((options & FRAMEOPTION_EXCLUSION) == 0)
	{
		spans[0] = (GpucolWindowSpan) {low, high};
		return 1;
	}
	if ((options & FRAMEOPTION_EXCLUDE_CURRENT_ROW) == 0)
	{
		from = part->group_start[part->group[place]];
		to = part->group_start[part->group[place] + 1];
	}
	if (low < Min(from, high))
		spans[n++] = (GpucolWindowSpan) {low, Min(from, high)};
	if ((options & FRAMEOPTION_EXCLUDE_TIES) != 0 && place >= low && place < high)
		spans[n++] = (GpucolWindowSpan) {place, place + 1};
	if (Max(to, low) < high)
		spans[n++] = (GpucolWindowSpan) {Max(to, low), high};
	return n;
}

#endif							/* GPUCOL_EXEC_WINDOW_FRAME_H */
