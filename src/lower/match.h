/*-------------------------------------------------------------------------
 *
 * match.h
 *	  Conditions on one column of text or bytea that are decided on the bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_H
#define GPUCOL_LOWER_MATCH_H

#include "postgres.h"

#include "lower/lower.h"

typedef struct GpucolMatch GpucolMatch;

/*
 * The condition in the form that is decided on bytes, in the current memory context, or
 * NULL if it has none.  `expr` is over the column as Var (1, 1), as host tests are;
 * `l` evaluates its constants.
 */
extern GpucolMatch *gpucol_match_create(GpucolLower *l, Expr *expr);

/*
 * Decide it for n values, as GpucolHost's test does.  Calls nothing of PostgreSQL's,
 * and changes nothing but `result`.
 */
extern void gpucol_match_values(const GpucolMatch *match, int n,
								const GpucolBytes *values, const bool *isnull,
								uint8_t *result);

/*
 * How the order of bytes decides it for values that are not NULL, in the current memory
 * context, or NULL if it does not.
 */
extern GpucolCuts *gpucol_match_cuts(const GpucolMatch *match);

#endif							/* GPUCOL_LOWER_MATCH_H */
