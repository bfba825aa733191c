/*-------------------------------------------------------------------------
 *
 * path_join_spans.h
 *	  Conditions of a join on the time between two columns, as bounds of one of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_SPANS_H
#define GPUCOL_PLANNER_PATH_JOIN_SPANS_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "planner/path_join_keys.h"

/*
 * Have what a condition that bounds the time from one column to another says of the two columns themselves tested
 * before it, where engines can: what is true of every pair of which it is, or might raise an error.  False: it is none.
 */
extern bool gpucol_join_add_span_bounds(const GpucolJoinSides *sides, GpucolPipeStep *step,
										const Expr *condition);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_SPANS_H */
