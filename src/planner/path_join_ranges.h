/*-------------------------------------------------------------------------
 *
 * path_join_ranges.h
 *	  Conditions of a join on ranges as comparisons of their bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_RANGES_H
#define GPUCOL_PLANNER_PATH_JOIN_RANGES_H

#include "nodes/pathnodes.h"

#include "planner/path_join_keys.h"

/*
 * What passes the rows of a step that pass a condition on ranges, as a condition that engines know: the plans whose
 * rows the two pipes read compute the bounds, so both may be changed.  With `calls` also one that calls functions of
 * ranges.  NULL: nothing is, it is no such condition.
 */
extern Expr *gpucol_join_range_condition(const GpucolJoinSides *sides, GpucolPipeStep *step, Expr *condition,
										  bool calls);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_RANGES_H */
