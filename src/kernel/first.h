/*-------------------------------------------------------------------------
 *
 * first.h
 *	  Which groups of an aggregation are wanted: those that meet conditions on their
 *	  aggregates, and of these the first k of an order.
 *
 * It goes with a program to an engine, which may leave out groups that cannot be wanted;
 * what it delivers is looked at again.  So an engine may deliver more, or all.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_FIRST_H
#define GPUCOL_KERNEL_FIRST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/agg_state.h"

#define GPUCOL_FIRST_MAX_KEYS	8
#define GPUCOL_FIRST_MAX_TESTS	8

/* By which the order of doubles that are averages may differ from that of PostgreSQL's. */
#define GPUCOL_FIRST_AVERAGE_MARGIN 32

/* Places of NULL in an order. */
#define GPUCOL_FIRST_PLACE_MAX ((__int128) (~(unsigned __int128) 0 >> 1))
#define GPUCOL_FIRST_PLACE_MIN (-GPUCOL_FIRST_PLACE_MAX - 1)

/* What of a group is looked at. */
typedef enum GpucolFirstBy
{
	GPUCOL_FIRST_KEY = 1,		/* a key, in the order of its class; of class S by bytes, and
								 * only the first of these: about */
	GPUCOL_FIRST_COUNT,			/* the rows that advanced an aggregate */
	GPUCOL_FIRST_DISTINCT,		/* COUNT_DISTINCT's number */
	GPUCOL_FIRST_VALUE,			/* MIN, MAX of B, I, D or F; NULL without rows */
	GPUCOL_FIRST_SUM,			/* of I, D or F; NULL without rows */
	GPUCOL_FIRST_AVERAGE		/* the sum divided by the rows: about */
} GpucolFirstBy;

/* lo <= value <= hi, of decimals their mantissas; NULL fails.  The least and the greatest int64 are no bounds. */
typedef struct GpucolFirstTest
{
	uint16_t	by;				/* GpucolFirstBy: COUNT, DISTINCT, or VALUE or SUM of I, D */
	uint16_t	number;			/* of the key or aggregate */
	int64_t		lo;
	int64_t		hi;
} GpucolFirstTest;

typedef struct GpucolFirstKey
{
	uint16_t	by;				/* GpucolFirstBy */
	uint16_t	number;			/* of the key or aggregate */
	bool		descending;
	bool		nulls_first;
} GpucolFirstKey;

typedef struct GpucolFirst
{
	int			ntests;
	GpucolFirstTest tests[GPUCOL_FIRST_MAX_TESTS];
	int64_t		k;				/* 0: all that meet the tests */
	int			nkeys;			/* 0: any k of them */
	GpucolFirstKey keys[GPUCOL_FIRST_MAX_KEYS];
	bool		all_ties;		/* those that tie with the k-th by all keys matter */
} GpucolFirst;

/* The double that an average of n integers or decimals is about, by their sum. */
static inline GPUCOL_DEVICE int64_t
gpucol_first_average(__int128 sum, int64_t n)
{
	return gpucol_float_order((double) sum / (double) n);
}

/*
 * What is looked at of an aggregate over class `cls` whose state this is; false if it is
 * NULL.  Not of byte strings.
 */
static inline GPUCOL_DEVICE bool
gpucol_first_agg_value(int by, int cls, const GpucolAggState *state, __int128 *value)
{
	bool		f = cls == GPUCOL_CLASS_F;

	if (by == GPUCOL_FIRST_COUNT)
		*value = state->count;
	else if (by == GPUCOL_FIRST_DISTINCT)
		*value = state->v.value;
	else if (state->count == 0)
		return false;
	else if (by == GPUCOL_FIRST_AVERAGE)
		*value = f ? gpucol_float_order(state->v.f / (double) state->count) :
			gpucol_first_average(gpucol_agg_value128(state), state->count);
	else if (f)
		*value = gpucol_float_order(state->v.f);
	else
		*value = by == GPUCOL_FIRST_SUM || cls == GPUCOL_CLASS_D ? gpucol_agg_value128(state) : state->v.value;
	return true;
}

/* Does a value, NULL unless it is `known`, meet a test? */
static inline GPUCOL_DEVICE bool
gpucol_first_meets(const GpucolFirstTest *test, bool known, __int128 value)
{
	return known && (value >= test->lo || test->lo == INT64_MIN) && (value <= test->hi || test->hi == INT64_MAX);
}

/* The place of a value, NULL unless it is `known`, by a sort key: the greater, the earlier. */
static inline GPUCOL_DEVICE __int128
gpucol_first_place(const GpucolFirstKey *key, bool known, __int128 value)
{
	if (!known)
		return key->nulls_first ? GPUCOL_FIRST_PLACE_MAX : GPUCOL_FIRST_PLACE_MIN;
	return key->descending ? value : -value;
}

/* The least place that may be wanted where the k-th has this one, and places are right up to a margin. */
static inline GPUCOL_DEVICE __int128
gpucol_first_least(__int128 kth, int margin)
{
	return kth > GPUCOL_FIRST_PLACE_MIN + margin && kth < GPUCOL_FIRST_PLACE_MAX ? kth - margin : kth;
}

/* The margin of a sort key's places; 0: they are exact, but for those of byte strings. */
static inline GPUCOL_DEVICE int
gpucol_first_margin(const GpucolFirstKey *key)
{
	return key->by == GPUCOL_FIRST_AVERAGE ? GPUCOL_FIRST_AVERAGE_MARGIN : 0;
}

#endif							/* GPUCOL_KERNEL_FIRST_H */
