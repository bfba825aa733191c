/*-------------------------------------------------------------------------
 *
 * overlaps.h
 *	  (a, b) OVERLAPS (c, d) of times.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_OVERLAPS_H
#define GPUCOL_LOWER_OVERLAPS_H

#include "postgres.h"

#include "lower/lower.h"

/* Lower its four arguments: out is TRUE, FALSE or NULL as PostgreSQL has it. */
extern bool gpucol_lower_overlaps(GpucolLower *l, List *args, GpucolValue *out);

/*
 * A condition that passes the same rows: if it is OVERLAPS, with comparisons that are true of all that it passes,
 * for joins to search by; else the condition itself.
 */
extern Expr *gpucol_overlaps_bounded(Expr *condition);

#endif							/* GPUCOL_LOWER_OVERLAPS_H */
