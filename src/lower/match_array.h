/*-------------------------------------------------------------------------
 *
 * match_array.h
 *	  Conditions on a column of arrays and constants that are decided on the bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_ARRAY_H
#define GPUCOL_LOWER_MATCH_ARRAY_H

#include "postgres.h"

#include "kernel/array_test.h"
#include "lower/lower.h"

/* The condition, over the column as Var (1, 1), in the current memory context; NULL if it is none. */
extern GpucolArrayTest *gpucol_match_array_create(GpucolLower *l, Expr *expr);

/* The same of what AND, OR, NOT and IS NULL make of such conditions. */
extern GpucolArrayTest *gpucol_match_array_tree(GpucolLower *l, Expr *expr);

/* Decide it for a value that is not NULL: 0 false, 1 true, 2 NULL. */
extern uint8_t gpucol_match_array_decide(const GpucolArrayTest *match, GpucolBytes value);

#endif							/* GPUCOL_LOWER_MATCH_ARRAY_H */
