/*-------------------------------------------------------------------------
 *
 * check.h
 *	  The little that a unit test needs: CHECK, random numbers, a summary.
 *
 * A test program calls CHECK any number of times and ends with
 * `return check_summary();`.  A failed check prints its place and goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_CHECK_H
#define GPUCOL_TEST_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long check_passed;
static long check_failed;

/* Count a condition; on failure print it with a printf-style remark. */
#define CHECK(cond, ...) \
	do { \
		if (cond) \
			check_passed++; \
		else if (check_failed++ < 20) \
		{ \
			printf("%s:%d: failed: %s: ", __FILE__, __LINE__, #cond); \
			printf(__VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

static inline int
check_summary(const char *name)
{
	printf("%s: %ld passed, %ld failed\n", name, check_passed, check_failed);
	return check_failed != 0;
}

/* splitmix64: deterministic from its seed */
static uint64_t check_seed = 42;

static inline uint64_t
check_random(void)
{
	uint64_t	z = (check_seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif							/* GPUCOL_TEST_CHECK_H */
