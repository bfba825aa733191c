/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Entry points of the planner part: the hooks and one function for each
 *	  kind of work that can be pushed down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PLANNER_H
#define GPUCOL_PLANNER_PLANNER_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"

/* Install every planner hook; called once, from _PG_init. */
extern void gpucol_planner_init(void);

/*
 * Why this planner run may push nothing down at all (a setting), or NULL.
 */
extern const char *gpucol_planner_disabled(void);

/* hooks.c: is this the scan of one table for a SCROLL cursor? */
extern bool gpucol_planner_scrolls(PlannerInfo *root);

/*
 * fallback.c: a copy of the cheapest ordinary path of a relation, NULL if there is none
 */
extern Path *gpucol_fallback_path(PlannerInfo *root, RelOptInfo *output_rel);

/* path_bitmap.c: no bitmap of a base relation by BRIN and other indexes together */
extern void gpucol_path_bitmap_unmix(PlannerInfo *root, RelOptInfo *rel);

/* path_scan.c: GpucolScan over a base relation */
extern void gpucol_path_scan_init(void);
extern void gpucol_path_scan_add(PlannerInfo *root, RelOptInfo *rel,
								 RangeTblEntry *rte);

/* ... columns that a scan must deliver or test, offset as pull_varattnos does */
extern Bitmapset *gpucol_path_scan_columns(const RelOptInfo *rel);

/* ... why a table is left to an index, as in serializable transactions, or to the plan for a few rows; or NULL */
extern const char *gpucol_path_scan_left_to_index(PlannerInfo *root, RelOptInfo *rel);

extern Plan *gpucol_path_scan_plan(PlannerInfo *root, RelOptInfo *rel,
								   CustomPath *path, List *tlist, List *clauses,
								   List *custom_plans);

/* path_join.c: GpucolJoin over a pair of relations */
extern void gpucol_path_join_init(void);
extern void gpucol_path_join_add_base(PlannerInfo *root, RelOptInfo *rel);
extern void gpucol_path_join_add(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
								 RelOptInfo *innerrel, JoinType jointype,
								 JoinPathExtraData *extra);

/* ... and have EXPLAIN name joined tables below aggregations */
extern void gpucol_join_name_relations(PlannedStmt *stmt);

/* planner/path_topn.c: GpucolTopK below Sort and Limit */
extern void gpucol_path_topn_init(void);
extern void gpucol_path_topn_add(PlannerInfo *root, RelOptInfo *input_rel,
								 RelOptInfo *output_rel);

/* path_agg.c: GpucolAgg over one table */
extern void gpucol_path_agg_init(void);
extern void gpucol_path_agg_add(PlannerInfo *root, RelOptInfo *input_rel,
								RelOptInfo *output_rel,
								GroupPathExtraData *extra);
extern void gpucol_path_distinct_add(PlannerInfo *root, RelOptInfo *input_rel,
									 RelOptInfo *output_rel);

/* path_window.c: GpucolWindow over rows of our nodes */
extern void gpucol_path_window_init(void);
extern void gpucol_path_window_add(PlannerInfo *root, RelOptInfo *input_rel,
								   RelOptInfo *output_rel);

/* ... and have EXPLAIN write its functions */
extern void gpucol_window_name_functions(PlannedStmt *stmt);

/* subquery.c: plan a statement, with subqueries made joins where that is cheaper */
extern PlannedStmt *gpucol_subquery_plan(planner_hook_type planner, Query *parse,
										 const char *query_string, int cursor_options,
										 ParamListInfo params);

/*
 * window_joins.c: a statement whose aggregates over whole partitions are joins with groups, where that is right and
 * sooner: a copy, or `parse` itself.
 */
extern Query *gpucol_window_joins(Query *parse);

/* counted_ranks.c: a statement in which ranks of hypothetical rows are counts: a copy, or `parse` itself. */
extern Query *gpucol_counted_ranks(Query *parse);

/* steady.c: may the rows that a statement changes be buried together?  Asked before it is planned. */
extern bool gpucol_steady_is(Query *query);
extern void gpucol_steady_allow(PlannedStmt *stmt);

/* seldom.c: subqueries that are hardly ever executed cost nothing */
extern void gpucol_seldom_set_costs(const PlannerInfo *root, RelOptInfo *output_rel);

/* require.c: gpucol.pushdown = require */
extern void gpucol_require_check(PlannedStmt *stmt);

/* jit.c: just-in-time compilation by the cost of PostgreSQL's own nodes */
extern void gpucol_jit_limit(PlannedStmt *stmt);

/* explain_reasons.c: EXPLAIN (VERBOSE) lists the reasons */
extern void gpucol_explain_init(void);

#endif							/* GPUCOL_PLANNER_PLANNER_H */
