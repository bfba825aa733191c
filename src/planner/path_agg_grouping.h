/*-------------------------------------------------------------------------
 *
 * path_agg_grouping.h
 *	  What path_agg.c and path_agg_sets.c know of a grouping.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_AGG_GROUPING_H
#define GPUCOL_PLANNER_PATH_AGG_GROUPING_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "lower/agg.h"
#include "planner/path_join.h"

/* What is to be grouped, whichever planning step asks. */
typedef struct GpucolGrouping
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* the table, or the scan of the recursion */
	Oid			relid;
	CustomScan *recursion;		/* its plan, and the number of that */
	int			plan_id;
	List	   *parts;			/* its GpucolParts, NIL = it is one table */
	GpucolJoinPipe *pipe;		/* of joined tables, or NULL */
	TupleDesc	desc;			/* of the table or the recursion */
	PathTarget *target;
	List	   *group_clause;	/* of SortGroupClause; redundant ones too */
	List	   *having;
	List	   *grouping_sets;	/* of IntLists of clauses' references, or NIL */
	List	   *keys;			/* of Expr */
	List	   *dependent;		/* Vars that the query uses outside of these */
	List	   *aggs;			/* of Aggref */
	List	   *functions;		/* of GroupingFunc */
	GpucolGroupSets sets;
	List	   *conditions;		/* of Expr */
	List	   *tests;			/* those that PostgreSQL tests on the engine's groups or rows */
	bool		ranking;		/* some aggregate ranks uncertain rows */
	GpucolLower *lower;
	GpucolGroupPlan plan;
	GpucolGroupShare share;		/* what the executor does beside the engine */
} GpucolGrouping;

/* Note why there is no path; returns false. */
extern bool gpucol_grouping_decline(GpucolGrouping *g, const char *reason);

/* Collect keys and aggregates, and lower them as the executor will; false if it cannot be. */
extern bool gpucol_grouping_lower(GpucolGrouping *g);

/* The path of a grouping that is lowered, which may fall back to another. */
extern Path *gpucol_grouping_path(GpucolGrouping *g, RelOptInfo *output_rel, Path *fallback);

/* path_agg_sets.c: can the groups of sets be told by their keys?  Number the keys of sets and of GROUPING(). */
extern bool gpucol_grouping_check_sets(GpucolGrouping *g);
extern void gpucol_grouping_collect_sets(GpucolGrouping *g);

/* Combinations of the values that each key has, but for those left out, as statistics or the key allow. */
extern double gpucol_grouping_combinations(const GpucolGrouping *g, double rows, const bool *left_out);

/* Groups that the executor joins where the engine delivers so many of so many rows: those and parents' of sets. */
extern double gpucol_grouping_joined_sets(const GpucolGrouping *g, double groups, double rows);

/* A path with an aggregation for each grouping set where that costs less than `whole`, else this. */
extern Path *gpucol_grouping_by_sets(GpucolGrouping *g, RelOptInfo *output_rel, Path *whole);

#endif							/* GPUCOL_PLANNER_PATH_AGG_GROUPING_H */
