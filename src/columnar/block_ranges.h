/*-------------------------------------------------------------------------
 *
 * block_ranges.h
 *	  Which rows of a segment a block of the table stands for, and BRIN indexes, which
 *	  summarise blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_BLOCK_RANGES_H
#define GPUCOL_COLUMNAR_BLOCK_RANGES_H

#include "postgres.h"

#include "utils/rel.h"

#include "columnar/view.h"

/*
 * The rows of a segment are dealt evenly to its pages: those of the page `ordinal` begin with
 * this one, and end before that of the next.
 */
static inline uint32
gpucol_block_first_row(const GpucolSegmentEntry *entry, uint32 ordinal)
{
	return (uint32) ((uint64) entry->nrows * ordinal / entry->npages);
}

/* The block that stands for a row of a segment. */
extern BlockNumber gpucol_block_of_row(const GpucolSegmentEntry *entry, uint32 row);

/*
 * The number in the view of the segment that occupies a block, and the block's ordinal among its
 * pages; or -1.  The segment `hint` is looked at first, unless that is -1.
 */
extern int64 gpucol_block_find(const GpucolView *view, BlockNumber block, int64 hint,
							   uint32 *ordinal);

/* Does an index summarise blocks? */
extern bool gpucol_block_ranges_has(Relation index);

/*
 * Have the table's BRIN indexes know the rows of a segment that this transaction has just
 * completed the entry of.
 */
extern void gpucol_block_ranges_cover(Relation table, const GpucolSegmentEntry *entry);

#endif							/* GPUCOL_COLUMNAR_BLOCK_RANGES_H */
