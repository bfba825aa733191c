/*-------------------------------------------------------------------------
 *
 * time_zone.h
 *	  A time zone's transitions, and timestamps moved by its offsets.
 *
 * The host makes a table of each zone (lower/zone_table.c) in one block of bytes: the
 * transitions of 1800 to 2500, and for the years about ours where among them each piece of
 * 24 days begins, so that none is searched for.  Later transitions repeat every 400 years, as
 * the calendar does; earlier ones only where a rule without history says so.
 *
 * Local times that there are twice, or not at all, are understood as PostgreSQL does.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TIME_ZONE_H
#define GPUCOL_KERNEL_TIME_ZONE_H

#include "kernel/time_shift.h"

/* Seconds since 2000: the years that tables cover, and 400 years. */
#define GPUCOL_ZONE_FIRST	(INT64_C(-73048) * 86400)
#define GPUCOL_ZONE_END		(INT64_C(182622) * 86400)
#define GPUCOL_ZONE_CYCLE	(INT64_C(146097) * 86400)

/* Pieces of so many bits of seconds, from 1900 on. */
#define GPUCOL_ZONE_PIECE_BITS	21
#define GPUCOL_ZONE_PIECES		3072
#define GPUCOL_ZONE_ORIGIN		(INT64_C(-36524) * 86400)

/* A table has at most so many transitions. */
#define GPUCOL_ZONE_MOST		2000
#define GPUCOL_ZONE_MOST_BYTES	(sizeof(GpucolTimeZone) + 12 * GPUCOL_ZONE_MOST + 16)

/* aux of ZONE_I and ZONE_S: from the zone's local time, else to it */
#define GPUCOL_ZONE_TO_STAMP	1

/* ... for comparisons alone, which know times beyond the last and first timestamps, too */
#define GPUCOL_ZONE_COMPARED	2

/* Followed by int64_t at[n], seconds since 2000, and int32_t offset[n], seconds east of Greenwich from then on. */
typedef struct GpucolTimeZone
{
	uint32_t	size;			/* of the whole block, a multiple of 16 */
	uint32_t	n;
	int32_t		early;			/* offset before the first transition, */
	int32_t		early_before;	/* and what local times before it are understood by */
	uint32_t	past_repeats;	/* before GPUCOL_ZONE_FIRST, too? */
	uint32_t	unused;
	uint16_t	pieces[GPUCOL_ZONE_PIECES]; /* transitions up to the beginning of each */
} GpucolTimeZone;

static inline const int64_t *
gpucol_zone_transitions(const GpucolTimeZone *zone)
{
	return (const int64_t *) (zone + 1);
}

static inline const int32_t *
gpucol_zone_offsets(const GpucolTimeZone *zone)
{
	return (const int32_t *) (gpucol_zone_transitions(zone) + zone->n);
}

/* The time among those that the table covers that has the same transitions about it. */
static inline int64_t
gpucol_zone_covered(const GpucolTimeZone *zone, int64_t second)
{
	if (second >= GPUCOL_ZONE_END)
		return second - ((second - GPUCOL_ZONE_END) / GPUCOL_ZONE_CYCLE + 1) * GPUCOL_ZONE_CYCLE;
	if (second < GPUCOL_ZONE_FIRST && zone->past_repeats)
		return second + ((GPUCOL_ZONE_FIRST - 1 - second) / GPUCOL_ZONE_CYCLE + 1) * GPUCOL_ZONE_CYCLE;
	return second;
}

/* How many transitions there are up to a time. */
static inline uint32_t
gpucol_zone_place(const GpucolTimeZone *zone, int64_t second)
{
	const int64_t *at = gpucol_zone_transitions(zone);
	uint64_t	piece = (uint64_t) (second - GPUCOL_ZONE_ORIGIN) >> GPUCOL_ZONE_PIECE_BITS;
	uint32_t	low = 0;
	uint32_t	high = zone->n;

	if (piece < GPUCOL_ZONE_PIECES)
	{
		for (low = zone->pieces[piece]; low < high && at[low] <= second; low++)
			;
		return low;
	}
	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (at[middle] <= second)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The offset at a time. */
static inline int32_t
gpucol_zone_offset(const GpucolTimeZone *zone, int64_t second)
{
	uint32_t	place = gpucol_zone_place(zone, gpucol_zone_covered(zone, second));

	return place == 0 ? zone->early : gpucol_zone_offsets(zone)[place - 1];
}

/* The offset that a local time is understood by: that of before or after the next transition since the day before. */
static inline int32_t
gpucol_zone_local_offset(const GpucolTimeZone *zone, int64_t local)
{
	int64_t		covered = gpucol_zone_covered(zone, local);
	uint32_t	place = gpucol_zone_place(zone, covered - 86400);
	int32_t		before = place == 0 ? zone->early_before : gpucol_zone_offsets(zone)[place - 1];
	int32_t		after;
	int64_t		boundary;

	if (place == zone->n)
		return before;
	boundary = gpucol_zone_transitions(zone)[place];
	after = gpucol_zone_offsets(zone)[place];
	if (covered - before < boundary && covered - after < boundary)
		return before;
	if (covered - before > boundary && covered - after >= boundary)
		return after;
	return before < after ? before : after;
}

/* A timestamp to a zone's local time, or (aux) back; infinities stay what they are. */
static inline GpucolStatus
gpucol_zone_move(const GpucolTimeZone *zone, int aux, int64_t stamp, int64_t *r)
{
	int64_t		second;
	int64_t		usecs;

	*r = stamp;
	if (stamp == INT64_MIN || stamp == INT64_MAX)
		return GPUCOL_OK;
	second = (stamp >= 0 ? stamp : stamp - 999999) / 1000000;
	usecs = INT64_C(1000000) *
		(aux & GPUCOL_ZONE_TO_STAMP ? -gpucol_zone_local_offset(zone, second) : gpucol_zone_offset(zone, second));
	/* there are days between the last timestamp and infinity */
	if (aux & GPUCOL_ZONE_COMPARED)
	{
		*r = stamp + usecs;
		return GPUCOL_OK;
	}
	return gpucol_stamp_check((__int128) stamp + usecs, r);
}

#endif							/* GPUCOL_KERNEL_TIME_ZONE_H */
