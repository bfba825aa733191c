/*-------------------------------------------------------------------------
 *
 * minmax.h
 *	  min and max by an index, beside an aggregation in an engine.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_MINMAX_H
#define GPUCOL_PLANNER_MINMAX_H

#include "nodes/pathnodes.h"

/*
 * PostgreSQL's ordinary aggregation of `input_rel` into one row of `target`, for where
 * its paths have lost against an index; NULL where there is none.
 */
extern Path *gpucol_minmax_ordinary(PlannerInfo *root, RelOptInfo *input_rel,
									RelOptInfo *output_rel, PathTarget *target,
									List *having);

/*
 * `paths` without those that read min and max from an index and may well cost more than
 * `cost`, which is what an engine takes whatever the data are like.
 */
extern List *gpucol_minmax_prune(List *paths, Cost cost);

#endif							/* GPUCOL_PLANNER_MINMAX_H */
