/*-------------------------------------------------------------------------
 *
 * match_numeric.h
 *	  Conditions on a numeric column that the order of its values decides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_NUMERIC_H
#define GPUCOL_LOWER_MATCH_NUMERIC_H

#include "postgres.h"

#include "lower/lower.h"

/*
 * Where a condition (OpExpr, ScalarArrayOpExpr), which is over the column as Var (1, 1), turns, in the
 * current memory context; NULL if it is none of them.
 */
extern GpucolCuts *gpucol_match_numeric(GpucolLower *l, const Expr *expr);

/* The turns of two conditions of which both, or one at least, are to hold. */
extern GpucolCuts *gpucol_match_numeric_combine(const GpucolCuts *a, const GpucolCuts *b, bool both);

/* Does it hold for a value that is not NULL?  Calls nothing of PostgreSQL's. */
extern bool gpucol_match_numeric_holds(const GpucolCuts *cuts, const GpucolBytes *value);

#endif							/* GPUCOL_LOWER_MATCH_NUMERIC_H */
