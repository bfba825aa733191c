/*-------------------------------------------------------------------------
 *
 * use.h
 *	  What a query does with a pushed-down recursion, done by the engine too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_PLAN_USE_H
#define GPUCOL_RECURSION_PLAN_USE_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * If the relation scans a pushed-down recursion: have conditions on carried
 * columns tested on its non-recursive term.  For set_rel_pathlist_hook.
 */
extern void gpucol_recursive_push_filters(PlannerInfo *root, RelOptInfo *rel);

/*
 * The plan of the recursion that a relation scans, if it is pushed down and nothing else
 * refers to it, else NULL; or what stands for that of a Datalog program, whose number is
 * GPUCOL_RECURSIVE_CHILD: then it is the last child of the node that reads it.
 */
extern CustomScan *gpucol_recursive_find_rows(PlannerInfo *root, RelOptInfo *rel,
											  int *plan_id);

/* The relation's conditions (RestrictInfo) but for those that are pushed. */
extern List *gpucol_recursive_conditions(const CustomScan *scan,
										 const RelOptInfo *rel);

/*
 * If the relation scans a pushed-down recursion: make GpucolRecursiveScan its only
 * path (recursion/plan/path_scan.c).  For set_rel_pathlist_hook.
 */
extern void gpucol_recursive_add_scan(PlannerInfo *root, RelOptInfo *rel);

/*
 * Of such a path: the columns of its tuples; whether it tests all conditions
 * itself; and have a copy of it deliver the first rows only, `top` being the first sort
 * keys (list of Expr), the number of rows and whether all that tie with the last of them
 * matter (Integer), and of each key whether it is descending and nulls first (IntList).
 */
extern TupleDesc gpucol_recursive_scan_columns(const CustomPath *path);
extern bool gpucol_recursive_scan_pushes_all(const CustomPath *path);
extern void gpucol_recursive_scan_limit(CustomPath *path, List *top);

/*
 * If all of a query is aggregates over a whole recursion that its engine
 * summarises: make GpucolRecursiveAgg, which carries the ordinary path, its only
 * path and return true.  For UPPERREL_GROUP_AGG.
 */
extern bool gpucol_recursive_add_agg(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *output_rel, Path *ordinary,
									 List *having);

/*
 * If the relation is gpucol.datalog in FROM: make GpucolDatalog its only path
 * (recursion/plan/path_datalog.c).  For set_rel_pathlist_hook.
 */
extern void gpucol_datalog_add_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/*
 * Of such a relation: its path as the child of a node that reads batches; and what stands for
 * the plan of a recursion (costs and columns), or NULL: it is another relation.
 */
extern CustomPath *gpucol_datalog_batches(RelOptInfo *rel);
extern CustomScan *gpucol_datalog_scanned(RelOptInfo *rel);

/* That path of a relation, or NULL; is its program asked for all conditions of the relation? */
extern CustomPath *gpucol_datalog_path_of(RelOptInfo *rel);
extern bool gpucol_datalog_asks_all(const CustomPath *path);

/* Install the planner hooks (path.c), behind those of the main building. */
extern void gpucol_recursive_install_hooks(void);

#endif							/* GPUCOL_RECURSION_PLAN_USE_H */
