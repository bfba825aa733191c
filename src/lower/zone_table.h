/*-------------------------------------------------------------------------
 *
 * zone_table.h
 *	  Time zones as tables of their transitions (kernel/time_zone.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_ZONE_TABLE_H
#define GPUCOL_LOWER_ZONE_TABLE_H

#include "postgres.h"

#include "pgtime.h"

#include "kernel/time_zone.h"

/*
 * The table of a zone by its name, as AT TIME ZONE understands it, or of one of PostgreSQL's; NULL if
 * there is none: then the name is unknown, or an abbreviation whose offset has changed, or the
 * zone counts leap seconds.  Valid until the next call of one of these.
 */
extern const GpucolTimeZone *gpucol_zone_by_name(const char *name, int len);
extern const GpucolTimeZone *gpucol_zone_of(pg_tz *zone);

/* ... of a constant offset in seconds east of Greenwich. */
extern const GpucolTimeZone *gpucol_zone_fixed(int32 offset);

#endif							/* GPUCOL_LOWER_ZONE_TABLE_H */
