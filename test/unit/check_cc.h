/*-------------------------------------------------------------------------
 *
 * check_cc.h
 *	  The little that a unit test in C++ needs: CHECK, and a summary.
 *
 * A failed check prints its place and what was expected, and goes on; main() ends with
 * `return summary("name");`.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_CHECK_CC_H
#define GPUCOL_TEST_CHECK_CC_H

#include <cstdio>
#include <string>

static int	passed,
			failed;

#define CHECK(what, condition) \
	do { \
		if (condition) \
			passed++; \
		else \
		{ \
			failed++; \
			printf("%s:%d: failed: %s\n", __FILE__, __LINE__, std::string(what).c_str()); \
		} \
	} while (0)

static inline int
summary(const char *name)
{
	printf("%s: %d passed, %d failed\n", name, passed, failed);
	return failed != 0;
}

#endif							/* GPUCOL_TEST_CHECK_CC_H */
