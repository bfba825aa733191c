/*-------------------------------------------------------------------------
 *
 * made_range.h
 *	  Conditions on ranges that are made of two values: tsrange(a, b) @> x, tsrange(a, b) && tsrange(c, d).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MADE_RANGE_H
#define GPUCOL_LOWER_MADE_RANGE_H

#include "postgres.h"

#include "lower/lower.h"

/* Lower a condition of two arguments: does a range contain an element, which `swap` has first, or another overlap? */
extern bool gpucol_lower_made_contains(GpucolLower *l, List *args, bool swap, GpucolValue *out);
extern bool gpucol_lower_made_overlap(GpucolLower *l, List *args, GpucolValue *out);

#endif							/* GPUCOL_LOWER_MADE_RANGE_H */
