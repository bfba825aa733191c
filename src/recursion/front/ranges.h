/*-------------------------------------------------------------------------
 *
 * ranges.h
 *	  x = range(from, to, step) of datalog programs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_RANGES_H
#define GPUCOL_RECURSION_FRONT_RANGES_H

#include "postgres.h"

#include "recursion/front/ast.h"

/* Is an expression a range?  It stands in "variable = range" after normalisation. */
extern bool gpucol_datalog_is_range(const DatalogExpr *expr);

/* Replace the ranges of checked clauses by atoms of relations that new clauses derive. */
extern void gpucol_datalog_expand_ranges(DatalogProgram *program);

#endif							/* GPUCOL_RECURSION_FRONT_RANGES_H */
