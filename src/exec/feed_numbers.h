/*-------------------------------------------------------------------------
 *
 * feed_numbers.h
 *	  Numbers sorted; one of them by its place in the order, without; the most frequent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_NUMBERS_H
#define GPUCOL_EXEC_FEED_NUMBERS_H

#include "postgres.h"

/* Sort n numbers; there is scratch for as many. */
extern void gpucol_numbers_sort(int64 *values, int64 *scratch, uint64 n);

/*
 * The number at a place of the order of n, and the one behind it, if there is one; scratch is for
 * n.  The numbers stay as they are.
 */
extern int64 gpucol_numbers_select(const int64 *values, int64 *scratch, uint64 n, uint64 place, int64 *next);

/*
 * The most frequent of n numbers, of several the first of the order; false where they are too far
 * apart to be counted.
 */
extern bool gpucol_numbers_mode(const int64 *values, uint64 n, bool descending, int64 *mode);

#endif							/* GPUCOL_EXEC_FEED_NUMBERS_H */
