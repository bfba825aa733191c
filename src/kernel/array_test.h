/*-------------------------------------------------------------------------
 *
 * array_test.h
 *	  Conditions on an array and constants, as engines decide them on packed elements.
 *
 * A host predicate over a column of arrays may have such a form (GpucolHost.arrays): a tree of AND,
 * OR and NOT over tests of sizes, of single elements and of all of them.  Elements are of one width;
 * integers, dates, times and floats are compared as integers of the same order (gpucol_float_order),
 * texts and byte strings as bytes, for equality alone.
 *
 * Verdicts are 0 false, 1 true, 2 NULL.  Of an array that is NULL all but IS_NULL is NULL.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_ARRAY_TEST_H
#define GPUCOL_KERNEL_ARRAY_TEST_H

#include "kernel/array_value.h"

typedef enum GpucolArrayTestKind
{
	GPUCOL_ARRAY_TEST_SIZE,		/* its size compared with a constant */
	GPUCOL_ARRAY_TEST_ITEM,		/* an element of it, */
	GPUCOL_ARRAY_TEST_ANY,		/* one of its elements, */
	GPUCOL_ARRAY_TEST_ALL,		/* or all */
	GPUCOL_ARRAY_TEST_CONTAINS, /* it has all of a constant set, */
	GPUCOL_ARRAY_TEST_CONTAINED,	/* the set has all of it, */
	GPUCOL_ARRAY_TEST_OVERLAPS, /* or they have one in common */
	GPUCOL_ARRAY_TEST_IS_NULL,	/* or, with `negate`, it is not */
	GPUCOL_ARRAY_TEST_AND,
	GPUCOL_ARRAY_TEST_OR,
	GPUCOL_ARRAY_TEST_NOT
} GpucolArrayTestKind;

/* A value compared with a constant, the value on the left. */
typedef struct GpucolArrayComparison
{
	int64_t		least;
	int64_t		most;
	bool		negate;
	GpucolBytes equal;			/* of strings */
} GpucolArrayComparison;

typedef struct GpucolArrayTest
{
	GpucolArrayTestKind kind;
	bool		unknown;		/* the constant is NULL: so is the verdict, but of ANY and ALL of no elements */
	GpucolClass cls;			/* of the elements: I, F or S */
	int			width;			/* their bytes, or GPUCOL_ARRAY_VARYING */
	int			size;			/* SIZE: what is asked, as ARRAY_SIZE_S has it */
	int64_t		subscript;		/* ITEM */
	GpucolArrayComparison comparison;	/* SIZE, ITEM, ANY, ALL */

	/* sets: ascending, each once */
	int64_t    *numbers;
	GpucolBytes *strings;
	int			n;
	bool		has_null;

	/* AND, OR, NOT */
	struct GpucolArrayTest **args;
	int			nargs;
} GpucolArrayTest;

/* Does it look at elements, one by one? */
static inline bool
gpucol_array_test_reads_items(const GpucolArrayTest *test)
{
	return test->kind >= GPUCOL_ARRAY_TEST_ITEM && test->kind <= GPUCOL_ARRAY_TEST_OVERLAPS;
}

#endif							/* GPUCOL_KERNEL_ARRAY_TEST_H */
