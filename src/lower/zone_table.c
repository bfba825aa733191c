/*-------------------------------------------------------------------------
 *
 * zone_table.c
 *	  Time zones as tables of their transitions.
 *
 * PostgreSQL tells transitions one by one; the table has those of some centuries.  What is
 * taken for granted of them is checked at each: that the offset from then on is the
 * one that PostgreSQL has local times by.  The tables of the last zones are kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "lower/zone_table.h"

/* Tables that are kept; seconds beyond what is asked for. */
#define KEPT_TABLES			16
#define MARGIN				((int64) 30 * SECS_PER_DAY)

#define TO_UNIX		((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* A table in the making. */
typedef struct Making
{
	pg_tz	   *zone;
	int			n;
	int64		at[GPUCOL_ZONE_MOST];
	int32		offset[GPUCOL_ZONE_MOST];
	GpucolTimeZone	head;
} Making;

/* The offset at a time by which PostgreSQL has local times; false if these are not just that much later. */
static bool
find_offset(pg_tz *zone, pg_time_t time, int32 *offset)
{
	const struct pg_tm *tm = pg_localtime(&time, zone);
	int64		clock;

	if (tm == NULL)
		return false;
	*offset = (int32) tm->tm_gmtoff;
	clock = (time + tm->tm_gmtoff) % SECS_PER_DAY;
	return (clock < 0 ? clock + SECS_PER_DAY : clock) ==
		(tm->tm_hour * MINS_PER_HOUR + tm->tm_min) * SECS_PER_MINUTE + tm->tm_sec;
}

/* The next transition: 1, or 0 if there is none, or less; from the last of a list PostgreSQL does not see it. */
static int
next_transition(pg_tz *zone, pg_time_t time, long *before, pg_time_t *at, long *after)
{
	int			dst;
	int			found = pg_next_dst_boundary(&time, before, &dst, at, after, &dst, zone);

	if (found == 0)
	{
		time++;
		found = pg_next_dst_boundary(&time, before, &dst, at, after, &dst, zone);
	}
	return found;
}

/* Collect the transitions of a zone. */
static bool
collect(Making *m)
{
	pg_time_t	time = GPUCOL_ZONE_FIRST - MARGIN + TO_UNIX;
	pg_time_t	end = GPUCOL_ZONE_END + MARGIN + TO_UNIX;
	pg_time_t	at;
	long		before;
	long		after;
	int32		offset;
	int			found = next_transition(m->zone, time - GPUCOL_ZONE_CYCLE, &before, &at, &after);

	m->n = 0;
	memset(&m->head, 0, sizeof(m->head));
	m->head.past_repeats = found > 0 && at < time;
	if (found < 0 || !find_offset(m->zone, time, &m->head.early) || !find_offset(m->zone, end, &offset))
		return false;
	while ((found = next_transition(m->zone, time, &before, &at, &after)) > 0 && at < end)
	{
		if (m->n == GPUCOL_ZONE_MOST || !find_offset(m->zone, at, &offset) || offset != after)
			return false;
		if (m->n == 0)
			m->head.early_before = (int32) before;
		m->at[m->n] = at - TO_UNIX;
		m->offset[m->n++] = offset;
		time = at;
	}
	if (m->n == 0)
		m->head.early_before = (int32) before;
	return found >= 0;
}

/* Put a table together, in the current memory context. */
static GpucolTimeZone *
assemble(const Making *m)
{
	Size		size = sizeof(GpucolTimeZone) + m->n * (sizeof(int64) + sizeof(int32));
	GpucolTimeZone *zone = palloc0(TYPEALIGN(16, size));
	int			n = 0;

	*zone = m->head;
	zone->size = (uint32) TYPEALIGN(16, size);
	zone->n = (uint32) m->n;
	memcpy((char *) gpucol_zone_transitions(zone), m->at, m->n * sizeof(int64));
	memcpy((char *) gpucol_zone_offsets(zone), m->offset, m->n * sizeof(int32));
	for (int64 p = 0; p < GPUCOL_ZONE_PIECES; p++)
	{
		while (n < m->n && m->at[n] <= GPUCOL_ZONE_ORIGIN + (p << GPUCOL_ZONE_PIECE_BITS))
			n++;
		zone->pieces[p] = (uint16) n;
	}
	return zone;
}

/* A table of one of PostgreSQL's zones (NULL: of an offset), in the top context; NULL if there can be none. */
static GpucolTimeZone *
make_table(pg_tz *zone, int32 offset)
{
	Making	   *m = palloc0(sizeof(Making));
	GpucolTimeZone *table = NULL;
	MemoryContext old;

	m->zone = zone;
	m->head.early = m->head.early_before = offset;
	if (zone == NULL || collect(m))
	{
		old = MemoryContextSwitchTo(TopMemoryContext);
		table = assemble(m);
		MemoryContextSwitchTo(old);
	}
	pfree(m);
	return table;
}

/* The same, kept. */
static const GpucolTimeZone *
find_table(pg_tz *zone, int32 offset)
{
	static struct
	{
		pg_tz	   *zone;
		int32		offset;
		bool		made;
		GpucolTimeZone *table;
	}			kept[KEPT_TABLES];
	static int	next;

	for (int i = 0; i < KEPT_TABLES; i++)
	{
		if (kept[i].made && kept[i].zone == zone && kept[i].offset == offset)
			return kept[i].table;
	}
	next = (next + 1) % KEPT_TABLES;
	kept[next].made = false;
	if (kept[next].table != NULL)
		pfree(kept[next].table);
	kept[next].table = NULL;
	kept[next].table = make_table(zone, offset);
	kept[next].zone = zone;
	kept[next].offset = offset;
	kept[next].made = true;
	return kept[next].table;
}

const GpucolTimeZone *
gpucol_zone_of(pg_tz *zone)
{
	return find_table(zone, 0);
}

const GpucolTimeZone *
gpucol_zone_fixed(int32 offset)
{
	return find_table(NULL, offset);
}

/* Abbreviations go before names, as in timestamptz_zone(). */
const GpucolTimeZone *
gpucol_zone_by_name(const char *name, int len)
{
	char		buffer[TZ_STRLEN_MAX + 1];
	char	   *lower;
	int			type;
	int			value;
	pg_tz	   *zone = NULL;
	Timestamp	moved;

	/* as text_to_cstring_buffer() cuts it */
	if (len > TZ_STRLEN_MAX)
		return NULL;
	memcpy(buffer, name, len);
	buffer[len] = '\0';
	lower = downcase_truncate_identifier(buffer, len, false);
	if (!gpucol_compat_decode_abbreviation(lower, &type, &value, &zone))
		return NULL;
	if (type == TZ || type == DTZ)
	{
		moved = DatumGetTimestamp(DirectFunctionCall2(timestamptz_zone,
													  PointerGetDatum(cstring_to_text_with_len(name, len)),
													  TimestampTzGetDatum(0)));
		return moved % USECS_PER_SEC == 0 ? gpucol_zone_fixed((int32) (moved / USECS_PER_SEC)) : NULL;
	}
	if (type == DYNTZ)
		return NULL;
	zone = pg_tzset(buffer);
	return zone == NULL ? NULL : gpucol_zone_of(zone);
}
