/*-------------------------------------------------------------------------
 *
 * agg.h
 *	  What the files of the aggregation share.
 *
 * Sums of floats carry a compensation term (Neumaier); sums of squares of floats
 * follow Youngs and Cramer, merged by the rule of Chan, Golub and LeVeque, as
 * PostgreSQL's do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_AGG_H
#define GPUCOL_ENGINE_CPU_AGG_H

#include <math.h>

#include "engine/cpu/group.h"

typedef struct GpucolCpuFloatSum
{
	double		sum;			/* plain running sum */
	double		lost;			/* what it lost; NaN once an input was not finite,
								 * infinite if finite inputs overflowed */
} __attribute__((may_alias)) GpucolCpuFloatSum;

typedef struct GpucolCpuFloatSquares
{
	double		n;
	double		sum;
	double		squares;		/* of deviations from the mean */
} __attribute__((may_alias)) GpucolCpuFloatSquares;

/* The same of pairs. */
typedef struct GpucolCpuFloatProducts
{
	double		n;
	double		sums[2];
	double		products;		/* of deviations from the means */
} __attribute__((may_alias)) GpucolCpuFloatProducts;

/* States of the same pairs that are advanced together: of x and y, and of each with itself. */
typedef struct GpucolCpuFloatPair
{
	GpucolCpuFloatProducts *xy;
	GpucolCpuFloatProducts *xx;	/* both NULL: xy is advanced alone */
	GpucolCpuFloatProducts *yy;
} GpucolCpuFloatPair;

/* Key word of a double: one NaN. */
GPUCOL_CPU_INLINE uint64_t
gpucol_cpu_float_word(double value)
{
	uint64_t	bits;

	if (value != value)
		return UINT64_C(0x7ff8000000000000);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Position of a double for MIN and MAX; -0 below 0, so that bits survive. */
GPUCOL_CPU_INLINE int64_t
gpucol_cpu_float_order(double value)
{
	int64_t		bits;

	if (value != value)
		return INT64_MAX;
	memcpy(&bits, &value, sizeof(bits));
	return bits ^ ((bits >> 63) & INT64_MAX);
}

GPUCOL_CPU_INLINE double
gpucol_cpu_float_of_order(int64_t order)
{
	double		value;

	order ^= (order >> 63) & INT64_MAX;
	memcpy(&value, &order, sizeof(value));
	return value;
}

/* Is it neither infinite nor NaN? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_float_finite(double x)
{
	return fabs(x) <= 1.7976931348623157e308;
}

/*
 * Add to a compensated sum; what the addition loses is exact (Knuth's TwoSum).  Of what is not
 * finite the first counts, as in PostgreSQL: a value that is infinite or NaN (NaN is lost), after
 * which nothing overflows, or an overflow (infinity is lost), an error.
 */
GPUCOL_CPU_INLINE void
gpucol_cpu_float_add(GpucolCpuFloatSum *state, double x)
{
	double		sum = state->sum + x;
	double		part = sum - state->sum;

	if (__builtin_expect(!gpucol_cpu_float_finite(sum), 0))
	{
		if (gpucol_cpu_float_finite(state->sum))
			state->lost = gpucol_cpu_float_finite(x) ? INFINITY : NAN;
	}
	else
		state->lost += (state->sum - (sum - part)) + (x - part);
	state->sum = sum;
}

/* engine/cpu/agg_float.c */

/* Merge sum b into a. */
extern void gpucol_cpu_float_merge(GpucolCpuFloatSum *a, const GpucolCpuFloatSum *b);

/* Add n values to one sum. */
extern void gpucol_cpu_float_add_all(GpucolCpuFloatSum *state, const double *x, uint32_t n);

/*
 * Add one value, or n, to a state of n, sum and squares; merge b into a.
 * GPUCOL_FLOAT_OVERFLOW where finite inputs overflow.
 */
extern GpucolStatus gpucol_cpu_squares_add(GpucolCpuFloatSquares *state, double x);
extern GpucolStatus gpucol_cpu_squares_add_all(GpucolCpuFloatSquares *state, const double *x,
											   uint32_t n);
extern GpucolStatus gpucol_cpu_squares_merge(GpucolCpuFloatSquares *a,
											 const GpucolCpuFloatSquares *b);

/* The same of pairs: one that is not finite, or whose products are not; n of them. */
extern GpucolStatus gpucol_cpu_products_add_odd(const GpucolCpuFloatPair *pair, double x, double y);
extern GpucolStatus gpucol_cpu_products_add_all(const GpucolCpuFloatPair *pair, const double *x,
												const double *y, uint32_t n);
extern GpucolStatus gpucol_cpu_products_merge(GpucolCpuFloatProducts *a,
											  const GpucolCpuFloatProducts *b);

/* Have a state all but its products from another one of the same rows. */
GPUCOL_CPU_INLINE void
gpucol_cpu_products_put(GpucolCpuFloatProducts *state, double n, double x, double y, double products)
{
	state->n = n;
	state->sums[0] = x;
	state->sums[1] = y;
	state->products = products;
}

/*
 * Add one pair.  Where all that comes out is finite, so was all that went in, and nothing is left
 * to be told apart; the first pair's deviations are 0.
 */
GPUCOL_CPU_INLINE GpucolStatus
gpucol_cpu_products_add(const GpucolCpuFloatPair *pair, double x, double y)
{
	double		before = pair->xy->n;
	double		n = before + 1;
	double		x_sum = pair->xy->sums[0] + x;
	double		y_sum = pair->xy->sums[1] + y;
	double		x_off = x * n - x_sum;
	double		y_off = y * n - y_sum;
	double		scale = 1.0 / (n * (before + (before == 0)));
	double		xy = pair->xy->products + x_off * y_off * scale;
	double		odd = (x_sum - x_sum) + (y_sum - y_sum) + (xy - xy);
	double		xx = 0;
	double		yy = 0;

	if (pair->xx != NULL)
	{
		xx = pair->xx->products + x_off * x_off * scale;
		yy = pair->yy->products + y_off * y_off * scale;
		odd += (xx - xx) + (yy - yy);
	}
	if (__builtin_expect(odd != 0, 0))
		return gpucol_cpu_products_add_odd(pair, x, y);
	gpucol_cpu_products_put(pair->xy, n, x_sum, y_sum, xy);
	if (pair->xx != NULL)
	{
		gpucol_cpu_products_put(pair->xx, n, x_sum, x_sum, xx);
		gpucol_cpu_products_put(pair->yy, n, y_sum, y_sum, yy);
	}
	return GPUCOL_OK;
}

/* engine/cpu/agg_merge.c: merge all partitions of the run; before, note what there is to merge. */
extern GpucolStatus gpucol_cpu_agg_merge_parts(GpucolRun *run);
extern void gpucol_cpu_agg_note(GpucolRun *run);

/* One table being merged into another. */
typedef struct GpucolCpuMerge
{
	const GpucolRun *run;
	GpucolCpuGroups *to;
	GpucolCpuGroups *from;
	uint32_t   *ids;			/* by from's group, where there are sets */
} GpucolCpuMerge;

/*
 * Merge n <= 1,024 groups of `from`; then pairs of a set of
 * values, those of `slots` (NULL: the first ones), of groups that are merged.
 */
extern GpucolStatus gpucol_cpu_merge_some(const GpucolCpuMerge *merge, GpucolCpuWorker *worker,
										  const uint32_t *groups, uint32_t n);
extern GpucolStatus gpucol_cpu_merge_set(const GpucolCpuMerge *merge, const GpucolCpuAcc *acc,
										 const uint32_t *slots, uint64_t nslots);

/* engine/cpu/agg.c: words of a state. */
extern uint32_t gpucol_cpu_acc_words(GpucolCpuAccOp op);

/* engine/cpu/agg_merge.c: merge state b of a group into a, unless it is of strings or a set. */
extern GpucolStatus gpucol_cpu_acc_merge(const GpucolCpuAcc *acc, uint64_t *a, const uint64_t *b);

/*
 * engine/cpu/extreme_packed.c: advance the least or greatest packed decimal by the valid rows (NULL: all) of the
 * scan's vector `ordinal`; merge a state into another.
 */
extern void gpucol_cpu_packed_extreme_update(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
											 const GpucolCpuAcc *acc, const uint8_t *valid, uint64_t ordinal);
extern void gpucol_cpu_packed_extreme_merge(const GpucolCpuAcc *acc, uint64_t *to, const uint64_t *from);

/*
 * engine/cpu/agg_apart.c: before the scan, give each thread one table for its partitions where that
 * pays; in the end, merge the states of a group's partitions.
 */
extern GpucolStatus gpucol_cpu_agg_set_apart(GpucolRun *run);
extern GpucolStatus gpucol_cpu_agg_fold(GpucolRun *run);

/*
 * engine/cpu/agg_drain.c: drain the tables of threads into tables by key, where they have become
 * large, between windows; and in the end, if that was done before.
 */
extern void gpucol_cpu_drain_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_drain_large(GpucolRun *run);
extern GpucolStatus gpucol_cpu_drain_end(GpucolRun *run);

/*
 * engine/cpu/first.c: leave out of the merged groups those that are not wanted.  Will any do?  Then,
 * between windows: settle for the first groups that there are; are they all that is asked for?
 * Of a vector's rows, list those that may be of them.
 */
extern void gpucol_cpu_first_select(GpucolRun *run);
extern bool gpucol_cpu_first_any(const GpucolRun *run);
extern void gpucol_cpu_first_settle(GpucolRun *run);
extern bool gpucol_cpu_first_enough(const GpucolRun *run);
extern uint32_t gpucol_cpu_first_settled(GpucolCpuWorker *worker, uint16_t *at);

/* Those of the groups seen so far that come first by the first sort key: their places. */
typedef struct GpucolCpuKth
{
	__int128   *heap;			/* room for k; NULL: the tests alone are looked at */
	uint64_t	n;				/* noted */
	int			margin;			/* of places that are only about right */
	bool		any;			/* of groups that tie with the k-th, any will do */
} GpucolCpuKth;

/* Begin; does a group meet the tests, and may it be among the first k?  run->agg.first is there. */
extern void gpucol_cpu_kth_open(const GpucolRun *run, GpucolCpuKth *kth, __int128 *heap);
extern bool gpucol_cpu_kth_take(GpucolCpuKth *kth, const GpucolCpuGroups *groups, uint32_t group);

#endif							/* GPUCOL_ENGINE_CPU_AGG_H */
