/*-------------------------------------------------------------------------
 *
 * coarse.h
 *	  How coarse a timestamp may be for what PostgreSQL makes of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_COARSE_H
#define GPUCOL_LOWER_COARSE_H

#include "lower/lower.h"

/* Added to a unit of which only the time of day matters. */
#define GPUCOL_COARSE_DAILY		INT64CONST(1000)

/* The unit that does for what two units do for. */
extern int64 gpucol_coarse_both(int64 a, int64 b);

/* How many different values there are of a unit, within the years that are cut; infinite where that depends on them. */
extern double gpucol_coarse_most(int64 unit);

/*
 * The unit, in microseconds, to whose multiples the values of a column may be cut without
 * a change of an expression that refers to it; 0 = they may not be.
 */
extern int64 gpucol_coarse_unit(TupleDesc desc, Expr *expr, AttrNumber attnum);

/* The unit's name. */
extern const char *gpucol_coarse_name(int64 unit);

/* Cut a value of such a column: now, */
extern int64 gpucol_coarse_cut(int64 value, int64 unit);

/* and by an engine. */
extern void gpucol_coarse_lower(GpucolLower *l, int64 unit, GpucolValue *v);

#endif							/* GPUCOL_LOWER_COARSE_H */
