/*-------------------------------------------------------------------------
 *
 * numeric_cuts.h
 *	  Conditions on a numeric column that the order of its values decides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_NUMERIC_CUTS_H
#define GPUCOL_LOWER_NUMERIC_CUTS_H

#include "postgres.h"

#include "lower/lower.h"

/*
 * Where the condition, which is over the column as Var (1, 1), turns, in the current memory
 * context; NULL if it is none of them.
 */
extern GpucolCuts *gpucol_numeric_cuts(GpucolLower *l, Expr *expr);

#endif							/* GPUCOL_LOWER_NUMERIC_CUTS_H */
