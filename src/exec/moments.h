/*-------------------------------------------------------------------------
 *
 * moments.h
 *	  Averages and variances of exact sums, as PostgreSQL's numeric shows them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_MOMENTS_H
#define GPUCOL_EXEC_MOMENTS_H

#include "postgres.h"

/* What a variance, or the root of one, is found of. */
typedef struct GpucolMoments
{
	int64		count;			/* of values that are not NULL */
	__int128	sum;			/* of their mantissas */
	__int128	squares;		/* of these */
	int			scale;			/* of the values: mantissa / 10^scale */
	int			beyond;			/* digits, all 0, that one displays behind those */
	bool		sample;			/* var_samp, stddev_samp: of two values or more */
	bool		root;			/* stddev_pop, stddev_samp */
} GpucolMoments;

/*
 * A sum, a mantissa of this scale, divided by a number of values as numeric's division does it: the mantissa of the
 * quotient and its scale.  False where that takes more than an int128.
 */
extern bool gpucol_divide_sum(__int128 sum, int scale, int64 count, __int128 *mantissa, int *result_scale);

/* The same as a datum, whatever it takes; palloc'd */
extern Datum gpucol_average_datum(__int128 sum, int scale, int64 count);

/* A variance, or its root, as numeric; palloc'd */
extern Datum gpucol_variance_datum(const GpucolMoments *moments);

#endif							/* GPUCOL_EXEC_MOMENTS_H */
