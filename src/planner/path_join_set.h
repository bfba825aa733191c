/*-------------------------------------------------------------------------
 *
 * path_join_set.h
 *	  Steps of pipes that are set-returning functions of the rows that flow.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_SET_H
#define GPUCOL_PLANNER_PATH_JOIN_SET_H

#include "nodes/pathnodes.h"

#include "lower/pipe.h"

/* The set-returning functions in FROM, mostly one, that a relation is, of rows of other relations; else NIL. */
extern List *gpucol_join_set_functions(PlannerInfo *root, const RelOptInfo *rel);

/* Is there such a step in a pipe, or in one below it? */
extern bool gpucol_join_has_set(const GpucolPipe *pipe);

/* The step that such a relation is behind rows of `drive`, as `joined`, or NULL, and perhaps the reason. */
extern GpucolPipeStep *gpucol_join_set_step(PlannerInfo *root, const GpucolPipe *drive, RelOptInfo *rel,
											JoinType jointype, List *restrictlist, Relids joined, const char **reason);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_SET_H */
