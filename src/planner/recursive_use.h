/*-------------------------------------------------------------------------
 *
 * recursive_use.h
 *	  What a query does with a pushed-down recursion, done by the engine too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_RECURSIVE_USE_H
#define GPUCOL_PLANNER_RECURSIVE_USE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * If the relation scans a pushed-down recursion: have conditions on carried
 * columns tested on its non-recursive term.  For set_rel_pathlist_hook.
 */
extern void gpucol_recursive_push_filters(PlannerInfo *root, RelOptInfo *rel);

/*
 * If all of a query is aggregates over a pushed-down recursion: make
 * GpucolRecursiveAgg its only path.  For UPPERREL_GROUP_AGG.
 */
extern void gpucol_recursive_add_agg(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *output_rel);

#endif							/* GPUCOL_PLANNER_RECURSIVE_USE_H */
