/*-------------------------------------------------------------------------
 *
 * path_agg.h
 *	  What the path of a GpucolAgg carries until it becomes a plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_AGG_H
#define GPUCOL_PLANNER_PATH_AGG_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "lower/agg.h"
#include "planner/path_join.h"

/* custom_private of a path */
enum
{
	PATH_PRIVATE_VARNO,
	PATH_PRIVATE_KEYS,
	PATH_PRIVATE_AGGS,
	PATH_PRIVATE_CONDITIONS,
	PATH_PRIVATE_HAVING,
	PATH_PRIVATE_RANKING,
	PATH_PRIVATE_RECURSION,
	PATH_PRIVATE_BASE,			/* IntList */
	PATH_PRIVATE_UNITS,			/* IntList */
	PATH_PRIVATE_SETS,			/* Lists of IntLists, see GpucolGroupSets */
	PATH_PRIVATE_FUNCTIONS,
	PATH_PRIVATE_CALLS,			/* of GroupingFunc */
	PATH_PRIVATE_PARTS,			/* Lists: range table indexes, then the columns
								 * of each */
	PATH_PRIVATE_PIPE,			/* GpucolJoinPipe of joined tables, or NULL */
	PATH_PRIVATE_FIRST,			/* List, as in GpucolFirstPrivate, or NIL */
	PATH_PRIVATE_FEEDING,		/* Integer: aggregates are fed rows */
	PATH_PRIVATE_TESTS,			/* List: conditions that PostgreSQL tests */
	PATH_PRIVATE_ELEMENTS		/* IntList, as in GpucolAggPrivate */
};

/*
 * path_agg_groups.c: groups that the engine is expected to deliver of so many rows, over a pipe or
 * the table `rti`, whose columns `desc` describes; *share is that of the rows which they may come to.
 */
extern double gpucol_path_agg_groups(PlannerInfo *root, const GpucolGroupPlan *plan, List *keys,
									 const GpucolJoinPipe *pipe, TupleDesc desc, Index rti,
									 double rows, double *share);

/* ... how many combinations of values have the columns that the engine groups by beside those of the keys. */
extern double gpucol_path_agg_others(PlannerInfo *root, const GpucolGroupPlan *plan, List *keys,
									 const GpucolJoinPipe *pipe, TupleDesc desc, Index rti, double rows);

/*
 * path_agg_elements.c: how many elements of each of these aggregates, the first ones of an array, a query
 * and its HAVING ask for, as an IntList; 0: all, or it is no array.
 */
extern List *gpucol_path_agg_elements(PlannerInfo *root, List *aggs, List *having);

/* path_agg_plan.c */
extern Plan *gpucol_path_agg_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
								  List *tlist, List *clauses, List *custom_plans);

#endif							/* GPUCOL_PLANNER_PATH_AGG_H */
