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
