/*-------------------------------------------------------------------------
 *
 * path_join_first.h
 *	  Pipes behind the first rows of an order, for each row that flows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_FIRST_H
#define GPUCOL_PLANNER_PATH_JOIN_FIRST_H

#include "nodes/pathnodes.h"

#include "lower/pipe.h"

/* Is a base relation a query of first rows as subquery_nearest.c writes it? */
extern bool gpucol_join_is_first(PlannerInfo *root, const RelOptInfo *rel);

/* The plan of a WITH query that an entry of the range table names, or NULL. */
extern const Plan *gpucol_join_with_plan(const PlannerInfo *root, const RangeTblEntry *rte);

/*
 * The step that joins rows of `drive` with such a relation; NULL where there is none, with *reason where
 * there is something to say.
 */
extern GpucolPipeStep *gpucol_join_first_step(PlannerInfo *root, const GpucolPipe *drive, RelOptInfo *rel,
											  JoinType jointype, List *restrictlist, const char **reason);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_FIRST_H */
