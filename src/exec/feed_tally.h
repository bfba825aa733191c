/*-------------------------------------------------------------------------
 *
 * feed_tally.h
 *	  How often each of few small numbers is there in each group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_TALLY_H
#define GPUCOL_EXEC_FEED_TALLY_H

#include "postgres.h"

typedef struct GpucolTally GpucolTally;

/* An empty one, in the current context. */
extern GpucolTally *gpucol_tally_create(void);

/*
 * Be ready for numbers from `least` to `greatest` of so many groups, and so many rows; false where they are too far
 * apart, or too many.
 */
extern bool gpucol_tally_reserve(GpucolTally *tally, int64 least, int64 greatest, uint32 ngroups, uint64 nrows);

/* Count a number, for which it is ready. */
static inline void gpucol_tally_count(GpucolTally *tally, uint32 group, int64 number);

/* All that were counted, with their groups, into arrays that have room. */
extern void gpucol_tally_list(const GpucolTally *tally, int64 *numbers, uint32 *groups);

/* How many numbers all have, and a group. */
extern uint64 gpucol_tally_total(const GpucolTally *tally);
extern int64 gpucol_tally_numbers(const GpucolTally *tally, uint32 group);

/* The number at a place of a group's order, and the one behind it, if there is one. */
extern int64 gpucol_tally_at(const GpucolTally *tally, uint32 group, int64 place, bool descending, int64 *next);

/* The most frequent number of a group that has some: of several the first in the order. */
extern int64 gpucol_tally_mode(const GpucolTally *tally, uint32 group, bool descending);

extern void gpucol_tally_free(GpucolTally *tally);

struct GpucolTally
{
	int64		least;			/* of the numbers that there are counts for, */
	uint32		width;			/* so many */
	uint32		ngroups;
	uint64		n;				/* counted */
	uint32	   *counts;			/* `width` for each group */
};

static inline void
gpucol_tally_count(GpucolTally *tally, uint32 group, int64 number)
{
	tally->counts[(Size) group * tally->width + (uint32) ((uint64) number - (uint64) tally->least)]++;
	tally->n++;
}

#endif							/* GPUCOL_EXEC_FEED_TALLY_H */
