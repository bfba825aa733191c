/*-------------------------------------------------------------------------
 *
 * intervals.h
 *	  Conditions over doubles that enclose numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_INTERVALS_H
#define GPUCOL_EXEC_INTERVALS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/moments.h"

/* What a value may be. */
#define GPUCOL_MAY_BE_NULL	0x01
#define GPUCOL_MAY_BE_VALUE	0x02
#define GPUCOL_MAY_RAISE	0x04
/* Of conditions, instead of a value. */
#define GPUCOL_MAY_BE_TRUE	0x08
#define GPUCOL_MAY_BE_FALSE	0x10

/* Where a number lies; lo and hi mean nothing unless it may be a value. */
typedef struct GpucolInterval
{
	double		lo;
	double		hi;
	uint8		may;
} GpucolInterval;

/* What is known of a row. */
typedef enum GpucolBoundsSays
{
	GPUCOL_BOUNDS_OPEN,			/* PostgreSQL has to evaluate the conditions, which may raise an error */
	GPUCOL_BOUNDS_FAILS,		/* one is false or NULL, and none raises an error */
	GPUCOL_BOUNDS_MEETS			/* all are true, and none raises an error */
} GpucolBoundsSays;

typedef struct GpucolIntervals GpucolIntervals;

/* The number by which the range of a column is asked for; -1: nothing is known of it.  The column is a number. */
typedef int (*GpucolIntervalLeaf) (const void *arg, const Var *var);

/* The range of a column in a row, whatever that is to the caller. */
typedef GpucolInterval (*GpucolIntervalOf) (const void *row, int leaf);

/*
 * Prepare conditions, which are one after another evaluated until one is not true.  In the current memory context;
 * NULL if nothing would be known of any row.  With `certain` PostgreSQL evaluates the first one for some row, come
 * what may, so that queries which it stands for are run.
 */
extern GpucolIntervals *gpucol_intervals_make(List *conditions, PlanState *ps, bool certain, GpucolIntervalLeaf leaf,
											  const void *arg, GpucolIntervalOf range);

/* What is known of a row. */
extern GpucolBoundsSays gpucol_intervals_decide(const GpucolIntervals *intervals, const void *row);

/* Ranges: nothing known; NULL; an integer divided by a power of ten; a float's */
extern const GpucolInterval gpucol_interval_unknown;
extern const GpucolInterval gpucol_interval_null;
extern GpucolInterval gpucol_interval_decimal(__int128 mantissa, int scale);
extern GpucolInterval gpucol_interval_float(double value);

/* ... of the root of a float; of a sum of two; of a quotient by a number of rows, as numeric has it */
extern GpucolInterval gpucol_interval_float_root(double value);
extern GpucolInterval gpucol_interval_sum(GpucolInterval x, GpucolInterval y);
extern GpucolInterval gpucol_interval_average(GpucolInterval sum, int64 count);

/* ... of a variance, or its root */
extern GpucolInterval gpucol_interval_variance(const GpucolMoments *moments);

/* ... a bigint, which is not known beyond the integers that are doubles */
extern GpucolInterval gpucol_interval_bigint(GpucolInterval range);

#endif							/* GPUCOL_EXEC_INTERVALS_H */
