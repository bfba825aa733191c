/*-------------------------------------------------------------------------
 *
 * path_topn.h
 *	  What paths of ORDER BY ... LIMIT share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_TOPN_H
#define GPUCOL_PLANNER_PATH_TOPN_H

#include "nodes/pathnodes.h"

#include "plan/plan.h"

/* LIMIT and OFFSET together where both are constants, and not too many; else 0. */
extern int	gpucol_topn_limit(const Query *parse);

/* The sort key that a path key stands for; false where its order is not its type's own. */
extern bool gpucol_topn_find_key(PlannerInfo *root, const PathKey *wanted, GpucolSortKey *key);

/* The same of a clause of the query. */
extern bool gpucol_topn_clause_key(PlannerInfo *root, const SortGroupClause *clause, GpucolSortKey *key);

/*
 * path_topn_join.c: a copy of the path of a GpucolJoin among these that leaves out rows which come,
 * by this order, behind others of their partition (of Expr); NULL: it does not pay, or cannot be.
 */
extern Path *gpucol_path_topn_first(PlannerInfo *root, List *paths, const SortGroupClause *order,
									List *partition);

/* path_topn_join.c: the same limit over the rows of a GpucolJoin among these paths */
extern void gpucol_path_topn_join(PlannerInfo *root, RelOptInfo *input_rel,
								  RelOptInfo *output_rel);

/* path_topn_groups.c: the same limit over the groups of a GpucolAgg among these paths */
extern void gpucol_path_topn_groups(PlannerInfo *root, RelOptInfo *input_rel,
									RelOptInfo *output_rel);

#endif							/* GPUCOL_PLANNER_PATH_TOPN_H */
