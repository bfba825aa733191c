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

#define GPUCOL_FIRST_MAX_KEYS	8
#define GPUCOL_FIRST_MAX_TESTS	8

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

#endif							/* GPUCOL_KERNEL_FIRST_H */
