/*-------------------------------------------------------------------------
 *
 * path_agg.c
 *	  GpucolAgg: GROUP BY, aggregates and SELECT DISTINCT over one gpucol table, over
 *	  joined tables (path_join.c), over the rows of a derived table or common table
 *	  expression that is made of some, or over a recursion that is pushed down
 *	  (recursion/plan/path.c);
 *	  GpucolTopK where the aggregates rank uncertain rows.
 *
 * Everything must be lowered: all conditions of the table, all keys, all
 * aggregates of the target list and of HAVING; or PostgreSQL must be able to compute it on
 * the engine's groups or rows (lower/group.c).  HAVING itself and expressions
 * over aggregates are evaluated by PostgreSQL on the groups.
 *
 * Grouping sets (ROLLUP, CUBE) are one aggregation by all keys, of whose groups the
 * executor makes those of each set (exec/regroup.c), or one for each (path_agg_sets.c).
 *
 * A partitioned table, an inheritance tree or a UNION ALL of gpucol tables counts as
 * one table: everything is lowered against the parent, and the node reads all leaves
 * in one run (parts.h).  A single partition is a base relation like any other
 * here, so partitionwise aggregation (enable_partitionwise_aggregate) works where
 * PostgreSQL groups each partition completely.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "columnar/am.h"
#include "compat.h"
#include "plan/plan.h"
#include "guc.h"
#include "lower/agg.h"
#include "lower/clauses.h"
#include "planner/first_rows.h"
#include "planner/key_values.h"
#include "planner/path_agg.h"
#include "planner/path_agg_grouping.h"
#include "planner/path_join.h"
#include "planner/path_topn.h"
#include "plan/parts.h"
#include "planner/planner.h"
#include "planner/subquery.h"
#include "plan/reason.h"
#include "plan/twice.h"
#include "plan/wing.h"

/* Null bits of the keys of a ranking share a word. */
#define MAX_RANKING_KEYS	64

/*
 * Groups of the engine, as a share of the rows, from which on it is better to feed
 * aggregates rows than to join the groups.
 */
#define FED_SHARE			0.5

/* The same where the aggregates are of numbers, which no function of PostgreSQL sees then. */
#define COUNTED_SHARE		0.1

/* A scan tuple has one junk column for each part. */
#define MAX_PARTS			1000

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolAgg",
	.PlanCustomPath = gpucol_path_agg_plan,
};

/* Add a key unless it is there. */
static void
add_key(GpucolGrouping *g, Expr *expr)
{
	g->keys = list_append_unique(g->keys, expr);
}

/* Is the key grouped by its type's default equality? */
static bool
check_key(GpucolGrouping *g, SortGroupClause *clause, Expr *expr)
{
	TypeCacheEntry *type = lookup_type_cache(exprType((Node *) expr),
											 TYPECACHE_EQ_OPR);

	if (type->eq_opr != clause->eqop)
		return gpucol_grouping_decline(g, "grouping by an equality other than the type's own");
	return true;
}

/* A column whose equal values are the same in all respects? */
static bool
is_exact_column(const Node *node)
{
	const Var  *var = (const Var *) node;
	GpucolTypeMap map;

	if (!IsA(node, Var) || var->varattno <= 0)
		return false;
	gpucol_typemap_init(&map, var->vartype, var->vartypmod, var->varcollid);
	return map.kind == GPUCOL_KIND_INT || (map.kind == GPUCOL_KIND_BYTES && map.bytewise_equal);
}

/*
 * Leave out the keys that are computed of columns which are keys themselves: these decide the
 * groups, and PostgreSQL computes the others for each group that leaves the node.
 */
static void
leave_out_computed(GpucolGrouping *g)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, g->keys)
	{
		Node	   *key = lfirst(lc);
		bool		computed = !IsA(key, Var) && !contain_volatile_functions(key) &&
			!contain_subplans(key) && contain_var_clause(key);
		ListCell   *lv;

		foreach(lv, computed ? pull_var_clause(key, PVC_INCLUDE_PLACEHOLDERS) : NIL)
			computed &= list_member(g->keys, lfirst(lv)) && is_exact_column(lfirst(lv));
		if (!computed)
			kept = lappend(kept, key);
	}
	g->keys = kept;
}

/* Collect the group keys from the target. */
static bool
collect_keys(GpucolGrouping *g)
{
	ListCell   *lc;

	foreach(lc, g->group_clause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr	   *key = NULL;
		ListCell   *lt;
		int			i = 0;

		foreach(lt, g->target->exprs)
		{
			if (get_pathtarget_sortgroupref(g->target, i++) == clause->tleSortGroupRef)
				key = lfirst(lt);
		}
		if (key == NULL)
			return gpucol_grouping_decline(g, "a group key is not among the target expressions");
		if (!check_key(g, clause, key))
			return false;
		add_key(g, key);
	}
	if (g->grouping_sets == NIL && !g->ranking)
		leave_out_computed(g);
	return true;
}

/*
 * Collect the Vars that the query uses outside of keys and aggregates.  They
 * depend functionally on the keys.
 */
static bool
dependent_walker(Node *node, void *context)
{
	GpucolGrouping *g = context;

	if (node == NULL || list_member(g->keys, node) || IsA(node, Aggref))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
	{
		g->dependent = list_append_unique(g->dependent, node);
		return false;
	}
	return expression_tree_walker(node, dependent_walker, context);
}

/*
 * Collect the aggregates, and the Vars on which the query depends beside keys:
 * they may be keys themselves.  The target may have Vars besides that are only
 * parts of keys, in an expression that PostgreSQL evaluates later (above window
 * functions or a sort): of those any value of the group would do, but as keys
 * they would split it.
 */
static bool
collect_walker(Node *node, void *context)
{
	GpucolGrouping *g = context;

	if (node == NULL)
		return false;
	if (list_member(g->keys, node))
		return false;
	if (IsA(node, Aggref))
	{
		g->aggs = list_append_unique(g->aggs, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar))
	{
		if (!list_member(g->dependent, node))
			return !gpucol_grouping_decline(g, "an expression of a group key is evaluated after window functions or a sort");
		add_key(g, (Expr *) node);
		return false;
	}
	if (IsA(node, GroupingFunc) && g->grouping_sets != NIL)
	{
		g->functions = list_append_unique(g->functions, node);
		return false;
	}
	if (IsA(node, GroupingFunc) || IsA(node, WindowFunc))
		return !gpucol_grouping_decline(g, "grouping sets");
	return expression_tree_walker(node, collect_walker, context);
}

/* Lower keys and aggregates over joined tables. */
static bool
lower_joined(GpucolGrouping *g)
{
	GpucolPipe *pipe = g->pipe->pipe;
	List	   *keys;
	List	   *aggs;

	gpucol_pipe_layout(pipe, list_concat_copy(g->keys, g->aggs), true);
	keys = (List *) gpucol_pipe_map(pipe, (Node *) g->keys);
	aggs = (List *) gpucol_pipe_map(pipe, (Node *) g->aggs);
	g->desc = pipe->desc;
	g->lower = gpucol_pipe_begin(pipe, NULL);
	g->lower->aggregating = true;
	g->conditions = pipe->conditions;
	g->lower->later = list_concat_copy(keys, aggs);
	if (!gpucol_pipe_lower(g->lower, pipe) ||
		!gpucol_lower_grouping(g->lower, keys, aggs, NIL, &g->sets, g->share, &g->plan))
		return gpucol_grouping_decline(g, g->lower->reason);
	return true;
}

/* Name the table that is grouped, or its parts. */
static void
name_tables(const GpucolGrouping *g, GpucolLower *l)
{
	const RangeTblEntry *rte = planner_rt_fetch(g->rel->relid, g->root);
	ListCell   *lc;

	if (g->recursion != NULL || g->ranking)
		return;
	if (g->parts == NIL && rte->rtekind == RTE_RELATION && !rte->inh)
		l->tables = list_make1_oid(rte->relid);
	foreach(lc, g->parts)
	{
		const GpucolPart *part = lfirst(lc);

		l->tables = lappend_oid(l->tables, planner_rt_fetch(part->varno, g->root)->relid);
		l->table_attnums = lappend(l->table_attnums, part->attnums);
	}
}

/* Lower conditions, keys, and either the rankings or the other aggregates. */
static bool
lower_run(GpucolGrouping *g, bool rankings)
{
	List	   *ranked = NIL;
	List	   *others = NIL;
	ListCell   *lc;

	if (g->pipe != NULL)
		return lower_joined(g);
	g->lower = gpucol_lower_begin(g->desc, g->rel->relid, NULL);
	g->lower->aggregating = true;
	name_tables(g, g->lower);
	g->lower->no_extremes = g->ranking;
	gpucol_clauses_split(g->root, g->lower, g->recursion ?
						 gpucol_recursion_wing->conditions(g->recursion, g->rel) :
						 g->rel->baserestrictinfo,
						 "aggregation", &g->conditions, &g->tests, NULL);
	if (g->tests != NIL && g->share == GPUCOL_GROUP_NOTHING)
		return false;
	gpucol_lower_end_filter(g->lower);
	foreach(lc, g->aggs)
	{
		if (g->ranking && gpucol_ranking_wing->is_ranking(lfirst(lc)))
			ranked = lappend(ranked, lfirst(lc));
		else
			others = lappend(others, lfirst(lc));
	}
	if (!gpucol_lower_grouping(g->lower, g->keys, rankings ? NIL : others, g->tests, &g->sets,
							   g->share, &g->plan) ||
		(rankings && !gpucol_ranking_wing->can_lower(g->lower, ranked)))
		return gpucol_grouping_decline(g, g->lower->reason);
	return true;
}

/* Are there aggregates beside the rankings? */
static bool
has_others(GpucolGrouping *g)
{
	ListCell   *lc;

	foreach(lc, g->aggs)
	{
		if (!gpucol_ranking_wing->is_ranking(lfirst(lc)))
			return true;
	}
	return false;
}

/* Lower everything, as the executor will. */
static bool
lower_grouping(GpucolGrouping *g)
{
	g->share = g->ranking || g->recursion != NULL ? GPUCOL_GROUP_NOTHING : GPUCOL_GROUP_REGROUP;
	if (g->ranking && has_others(g) && !lower_run(g, false))
		return false;
	g->conditions = NIL;
	return lower_run(g, g->ranking);
}

/* Does an expression rank rows? */
static bool
ranks(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0 &&
		gpucol_ranking_wing->is_ranking((Aggref *) node))
		return true;
	return expression_tree_walker(node, ranks, context);
}

/* Is every expression that PostgreSQL evaluates on the groups one it can? */
static bool
collect(GpucolGrouping *g)
{
	g->ranking = ranks((Node *) g->target->exprs, NULL) || ranks((Node *) g->having, NULL);
	if (!collect_keys(g) || !gpucol_grouping_check_sets(g))
		return false;
	dependent_walker((Node *) g->root->processed_tlist, g);
	dependent_walker((Node *) g->having, g);
	if (collect_walker((Node *) g->target->exprs, g) ||
		collect_walker((Node *) g->having, g))
		return false;
	gpucol_grouping_collect_sets(g);
	return true;
}

/* Is this kind of aggregation switched on? */
static bool
check_enabled(GpucolGrouping *g)
{
	if (g->ranking && g->pipe != NULL)
		return gpucol_grouping_decline(g, "ranking joined rows");
	if (g->ranking && g->recursion != NULL)
		return gpucol_grouping_decline(g, "ranking the rows of a recursion");
	if (g->ranking && !gpucol_enable_topk)
		return gpucol_grouping_decline(g, "gpucol.enable_topk is off");
	if (!g->ranking && !gpucol_enable_agg)
		return gpucol_grouping_decline(g, "gpucol.enable_agg is off");
	if (g->ranking && g->grouping_sets != NIL)
		return gpucol_grouping_decline(g, "ranking in grouping sets");
	if (g->ranking && g->parts != NIL)
		return gpucol_grouping_decline(g, "ranking over several partitions");
	if (g->ranking && list_length(g->keys) > MAX_RANKING_KEYS)
		return gpucol_grouping_decline(g, "too many group keys");
	return true;
}

/*
 * PostgreSQL's ordinary aggregation into one row, whose path has lost against min and
 * max by an index; NULL where that is not why there is none.
 */
static Path *
ordinary_path(GpucolGrouping *g, RelOptInfo *output_rel)
{
	AggClauseCosts costs;

	if (g->recursion != NULL || g->group_clause != NIL || !g->root->parse->hasAggs)
		return NULL;
	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(g->root, AGGSPLIT_SIMPLE, &costs);
	return (Path *) create_agg_path(g->root, output_rel, g->rel->cheapest_total_path,
									g->target, AGG_PLAIN, AGGSPLIT_SIMPLE, NIL, g->having,
									&costs, 1);
}

/* Rows that the engine finds, before PostgreSQL tests any. */
static double
found_rows(GpucolGrouping *g, RelOptInfo *rel)
{
	if (g->tests == NIL)
		return rel->rows;
	return Max(rel->rows, clamp_row_est(rel->tuples * clauselist_selectivity(g->root, g->conditions, 0,
																			 JOIN_INNER, NULL)));
}

/*
 * Groups that the engine delivers where the executor joins them, once for each
 * grouping set; 0 where it does not.  *share is that of the rows.
 */
static double
joined_groups(GpucolGrouping *g, RelOptInfo *rel, double *share)
{
	double		left = g->rel->rows;
	double		rows = Max(found_rows(g, rel), 1);
	double		groups;

	*share = 0;
	if (!g->plan.regroup || g->plan.feeding)
		return 0;
	/* PostgreSQL's estimates are those for the rows that are left */
	g->rel->rows = rows;
	groups = gpucol_path_agg_groups(g->root, &g->plan, g->keys, g->pipe, g->lower->desc, g->rel->relid,
									rows, share);
	g->rel->rows = left;
	if (g->sets.sets == NIL)
		return groups;
	return gpucol_grouping_joined_sets(g, groups, rows);
}

/* Does the engine deliver all keys, and all aggregates come to counts and sums of numbers? */
static bool
is_counted(const GpucolGroupPlan *plan)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (plan->keys[i].output < 0)
			return false;
	}
	for (int i = 0; i < plan->naggs; i++)
	{
		if (plan->finals[i].fed == NULL || !plan->finals[i].fed->counts)
			return false;
	}
	return plan->nbase == 0;
}

/*
 * Have aggregates fed rows where the engine's groups would be nearly as many, or computing them
 * might raise errors that a condition hides.
 */
static bool
share_rows(GpucolGrouping *g)
{
	double		share;
	bool		few;
	bool		hidden = g->tests != NIL && !g->plan.feeding &&
		!gpucol_lower_grouping_harmless(g->root->parse, &g->plan, g->aggs);

	(void) joined_groups(g, g->rel, &share);
	few = g->sets.sets != NIL || share < FED_SHARE;
	if (!g->plan.regroup || g->plan.feeding ||
		(!hidden && (g->sets.sets != NIL || share < COUNTED_SHARE)))
		return true;
	g->share = GPUCOL_GROUP_FEED;
	g->conditions = NIL;
	if (lower_run(g, false) && (hidden || !few || is_counted(&g->plan)))
		return true;
	if (hidden)
		return false;
	g->share = GPUCOL_GROUP_REGROUP;
	g->conditions = NIL;
	return lower_run(g, false);
}

/* What the executor evaluates for each of the groups that it joins. */
static List *
joined_exprs(GpucolGrouping *g)
{
	List	   *exprs = NIL;

	for (int i = 0; i < g->plan.nkeys; i++)
	{
		if (g->plan.keys[i].output < 0)
			exprs = lappend(exprs, g->plan.keys[i].expr);
	}
	for (int i = 0; i < g->plan.naggs; i++)
	{
		if (g->plan.finals[i].host != GPUCOL_HOST_NONE && !g->plan.feeding)
			exprs = lappend(exprs, g->plan.finals[i].arg);
	}
	return list_concat(exprs, g->tests);
}

/* The parts for the plan: their range table indexes, and their columns. */
static List *
parts_private(GpucolGrouping *g)
{
	List	   *varnos = NIL;
	List	   *attnums = NIL;
	ListCell   *lc;

	foreach(lc, g->parts)
	{
		GpucolPart *part = lfirst(lc);

		varnos = lappend_int(varnos, part->varno);
		attnums = lappend(attnums, part->attnums);
	}
	return list_make2(varnos, attnums);
}

/* The base columns for the plan. */
static List *
base_private(GpucolGrouping *g)
{
	List	   *attnums = NIL;

	for (int i = 0; i < g->plan.nbase; i++)
		attnums = lappend_int(attnums, g->plan.base[i].attnum);
	return attnums;
}

/* Their units. */
static List *
units_private(GpucolGrouping *g)
{
	List	   *units = NIL;

	for (int i = 0; i < g->plan.nbase; i++)
		units = lappend_int(units, (int) (g->plan.base[i].unit / 1000));
	return units;
}

/* Groups that leave the node: PostgreSQL's estimate, or what the keys allow. */
static double
final_groups(GpucolGrouping *g, double estimated)
{
	List	   *keys;
	ListCell   *lc;

	if (g->grouping_sets != NIL)
		return Min(estimated, list_length(g->grouping_sets) * gpucol_grouping_combinations(g, g->rel->rows, NULL));
	if (g->group_clause == NIL)
		return estimated;
	keys = get_sortgrouplist_exprs(g->group_clause, g->root->parse->targetList);
	foreach(lc, keys)
	{
		if (gpucol_key_is_sum(g->root, lfirst(lc)))
			return g->rel->rows;
	}
	return Min(estimated, gpucol_key_values(g->root, keys, g->rel->rows));
}

/* Are rows of a path those of a GpucolWindow?  Of groups over windows estimates are no more than guesses. */
static bool
is_window(const Path *path)
{
	while (IsA(path, SubqueryScanPath) || IsA(path, ProjectionPath))
		path = IsA(path, SubqueryScanPath) ? ((const SubqueryScanPath *) path)->subpath :
			((const ProjectionPath *) path)->subpath;
	return IsA(path, CustomPath) && strcmp(((const CustomPath *) path)->methods->CustomName, "GpucolWindow") == 0;
}

/* Does a path make PostgreSQL's groups of rows that a pipe or a GpucolWindow hands over, in memory or sorted? */
static bool
groups_rows_of_engine(const Path *path)
{
	Path	   *rows = NULL;

	if (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy == AGG_HASHED)
		rows = ((const AggPath *) path)->subpath;
	else if (IsA(path, GroupingSetsPath))
		rows = ((const GroupingSetsPath *) path)->subpath;
	if (rows != NULL && IsA(rows, SortPath))
		rows = ((const SortPath *) rows)->subpath;
	return rows != NULL && (gpucol_join_find_path(list_make1(rows)) != NULL || is_window(rows));
}

/* Prefer a path over joined rows to those that group the same rows outside of the engine. */
static void
prefer_to_rows(Path *path, List *others)
{
	ListCell   *lc;

	foreach(lc, others)
	{
		const Path *other = lfirst(lc);

		if (groups_rows_of_engine(other))
			gpucol_cost_agg_preferred(path, other->total_cost);
	}
}

/*
 * LIMIT without ORDER BY right above groups, or above DISTINCT rows: so many are wanted, whichever
 * they are, as GpucolFirstPrivate.  Rows of other groups are dropped.
 */
static List *
any_groups(const GpucolGrouping *g)
{
	const Query *parse = g->root->parse;
	int			limit = gpucol_topn_limit(parse);

	if (limit == 0 || !gpucol_enable_topk || g->ranking || g->group_clause == NIL || g->grouping_sets != NIL ||
		parse->havingQual != NULL || parse->sortClause != NIL || parse->setOperations != NULL ||
		(parse->distinctClause != NIL && parse->distinctClause != g->group_clause) ||
		parse->hasWindowFuncs || parse->hasTargetSRFs)
		return NIL;
	return list_make5(makeInteger(limit), makeInteger(0), NIL, NIL, NIL);
}

Path *
gpucol_grouping_path(GpucolGrouping *g, RelOptInfo *output_rel, Path *fallback)
{
	CustomPath *path = makeNode(CustomPath);
	double		share;
	RelOptInfo *rel = gpucol_cost_parts(g->rel, g->parts);

	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = g->target;
	path->path.rows = final_groups(g, fallback->rows);
	path->flags = GPUCOL_PATH_FALLS_BACK;
	path->methods = &path_methods;
	path->custom_paths = list_make1(fallback);
	if (g->pipe != NULL)
		path->custom_paths = gpucol_join_paths(g->root, g->pipe->pipe, fallback);
	else if (g->plan_id == GPUCOL_RECURSIVE_CHILD)
		path->custom_paths = lappend(path->custom_paths, gpucol_recursion_wing->child(g->rel));
	path->custom_private = list_make5(makeInteger(g->pipe != NULL ? g->pipe->pipe->varno : g->rel->relid), g->keys,
									  g->aggs, g->conditions, g->having);
	path->custom_private = lappend(path->custom_private, makeInteger(g->ranking));
	path->custom_private = lappend(path->custom_private, makeInteger(g->plan_id));
	path->custom_private = lappend(path->custom_private, base_private(g));
	path->custom_private = lappend(path->custom_private, units_private(g));
	path->custom_private = lappend(path->custom_private, g->sets.sets);
	path->custom_private = lappend(path->custom_private, g->sets.functions);
	path->custom_private = lappend(path->custom_private, g->functions);
	path->custom_private = lappend(path->custom_private, parts_private(g));
	path->custom_private = lappend(path->custom_private, g->pipe);
	path->custom_private = lappend(path->custom_private, any_groups(g));
	path->custom_private = lappend(path->custom_private, makeInteger(g->plan.feeding));
	path->custom_private = lappend(path->custom_private, g->tests);
	path->custom_private = lappend(path->custom_private, gpucol_path_agg_elements(g->root, g->aggs, g->having));
	gpucol_cost_agg(g->root, rel, &path->path, g->lower->ncolumns,
					g->conditions, list_length(g->keys), list_length(g->aggs),
					path->path.rows, joined_groups(g, rel, &share), joined_exprs(g),
					g->target, g->having);
	if (g->plan.feeding)
		gpucol_cost_agg_fed(&path->path, rel->rows, list_length(g->keys), list_length(g->aggs));
	/* nobody knows how many rows a recursion has */
	if (g->pipe != NULL)
		gpucol_cost_agg_joined(&path->path, g->pipe->build, g->pipe->flow);
	if (g->pipe != NULL && !g->plan.feeding)
		prefer_to_rows(&path->path, output_rel->pathlist);
	return &path->path;
}

/* Build and add the path. */
static bool
add_path_agg(GpucolGrouping *g, RelOptInfo *output_rel)
{
	Path	   *fallback = gpucol_fallback_path(g->root, output_rel);
	Path	   *path;

	if (fallback == NULL)
		fallback = ordinary_path(g, output_rel);
	if (fallback == NULL)
		return gpucol_grouping_decline(g, "no ordinary plan to fall back to");
	path = gpucol_grouping_path(g, output_rel, fallback);
	if (g->sets.sets != NIL)
		path = gpucol_grouping_by_sets(g, output_rel, path);
	if (g->recursion != NULL || gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
		output_rel->pathlist = list_make1(path);
	else
		output_rel->pathlist = lappend(gpucol_first_rows_prune_minmax(output_rel->pathlist,
																	  path->total_cost),
									   path);
	return true;
}

/* The gpucol table of a join that reasons are about: that of the largest relation. */
static Oid
largest_table(PlannerInfo *root, RelOptInfo *rel)
{
	Oid			found = InvalidOid;
	double		tuples = -1;
	int			varno = -1;

	while ((varno = bms_next_member(rel->relids, varno)) >= 0)
	{
		RelOptInfo *base = root->simple_rel_array[varno];
		Oid			table = base == NULL ? InvalidOid : gpucol_join_packed_table(root, base);

		if (OidIsValid(table) && base->tuples > tuples)
		{
			found = table;
			tuples = base->tuples;
		}
	}
	return found;
}

/* Are joined tables such that an engine can group their rows? */
static bool
open_joined(GpucolGrouping *g)
{
	g->relid = largest_table(g->root, g->rel);
	if (!OidIsValid(g->relid) || gpucol_planner_disabled() != NULL)
		return false;
	g->pipe = gpucol_join_pipe(g->root, g->rel);
	if (g->pipe->pipe == NULL && gpucol_enable_join)
	{
		GpucolJoinPipe *rows = gpucol_join_rows_pipe(g->root, g->rel, g->rel);

		if (rows != NULL)
			g->pipe = rows;
	}
	if (g->pipe->pipe == NULL)
		return gpucol_grouping_decline(g, gpucol_enable_join ? g->pipe->reason : "gpucol.enable_join is off");
	return true;
}

/*
 * Can an engine take the rows of a derived table, a common table expression or a UNION ALL,
 * as PostgreSQL's path or another node of ours delivers them?
 */
static bool
open_rows(GpucolGrouping *g, const char *reason)
{
	if (g->rel->reloptkind != RELOPT_BASEREL ||
		(g->rel->rtekind != RTE_SUBQUERY && g->rel->rtekind != RTE_CTE))
		return reason != NULL ? gpucol_grouping_decline(g, reason) : false;
	g->relid = largest_table(g->root, g->rel);
	if (!OidIsValid(g->relid))
		return false;
	if (!gpucol_enable_join)
		return gpucol_grouping_decline(g, "gpucol.enable_join is off");
	g->pipe = gpucol_join_rows_pipe(g->root, g->rel, g->rel);
	if (g->pipe == NULL)
		return gpucol_grouping_decline(g, reason != NULL ? reason : "rows that an engine does not take");
	return true;
}

/* Is the input one table or recursion that may be aggregated by an engine? */
static bool
open_grouping(GpucolGrouping *g, PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte;
	const char *reason = NULL;

	memset(g, 0, sizeof(*g));
	g->root = root;
	g->rel = rel;
	if (IS_JOIN_REL(rel))
		return open_joined(g);
	if (!IS_SIMPLE_REL(rel))
		return false;
	if (gpucol_planner_disabled() != NULL)
		return false;			/* the scan has said so */
	if (rel->rtekind == RTE_CTE || rel->rtekind == RTE_FUNCTION)
	{
		g->recursion = gpucol_recursion_wing->find(root, rel, &g->plan_id);
		if (g->recursion == NULL)
			return rel->rtekind == RTE_CTE && open_rows(g, NULL);
		g->desc = ExecTypeFromTL(g->recursion->custom_scan_tlist);
		return true;
	}
	rte = planner_rt_fetch(rel->relid, root);
	if (!rte->inh && rel->rtekind == RTE_SUBQUERY)
		return open_rows(g, NULL);
	if (!rte->inh && (rel->rtekind != RTE_RELATION ||
					  !gpucol_am_is_gpucol(rte->relid)))
		return false;
	g->relid = rte->relid;
	if (!rte->inh)
		g->desc = gpucol_parts_table_desc(rte->relid);
	else
	{
		g->parts = gpucol_parts_collect(root, rel, &g->desc, &reason);
		if (g->parts == NIL)
			return open_rows(g, reason);
		if (rel->rtekind == RTE_SUBQUERY && !gpucol_join_has_needed(rel, g->desc))
		{
			g->parts = NIL;
			g->desc = NULL;
			return open_rows(g, "a column that a part of the UNION ALL computes");
		}
		if (list_length(g->parts) > MAX_PARTS)
			return gpucol_grouping_decline(g, "too many partitions");
	}
	/* conditions that look values up in queries are joins */
	if (!rte->inh && gpucol_join_has_steps(root, rel))
		g->pipe = gpucol_join_pipe(root, rel);
	if (rte->tablesample != NULL)
		return gpucol_grouping_decline(g, "TABLESAMPLE");
	if (!bms_is_empty(rel->lateral_relids))
		return gpucol_grouping_decline(g, "it refers to other tables laterally");
	reason = gpucol_path_scan_left_to_index(root, rel);
	return reason == NULL || gpucol_grouping_decline(g, reason);
}

bool
gpucol_grouping_lower(GpucolGrouping *g)
{
	return collect(g) && check_enabled(g) && lower_grouping(g) && share_rows(g);
}

/* Lower and add. */
static void
try_grouping(GpucolGrouping *g, RelOptInfo *output_rel)
{
	if (gpucol_grouping_lower(g))
		add_path_agg(g, output_rel);
}

/*
 * UPPERREL_GROUP_AGG: GROUP BY, aggregates and HAVING.
 */
void
gpucol_path_agg_add(PlannerInfo *root, RelOptInfo *input_rel,
					RelOptInfo *output_rel, GroupPathExtraData *extra)
{
	GpucolGrouping g;

	if (!open_grouping(&g, root, input_rel))
		return;
	if (root->parse->groupingSets != NIL && g.recursion != NULL)
	{
		gpucol_grouping_decline(&g, "grouping sets");
		return;
	}
	if (extra->patype == PARTITIONWISE_AGGREGATE_PARTIAL)
	{
		gpucol_grouping_decline(&g, "aggregation in two steps over partitions");
		return;
	}
	if (root->parse->groupingSets == NIL &&
		gpucol_recursion_wing->add_agg(root, input_rel, output_rel,
								 gpucol_fallback_path(root, output_rel),
								 (List *) extra->havingQual))
		return;
	/* the planner has expanded these */
	g.grouping_sets = root->parse->groupingSets;
	g.target = output_rel->reltarget;
	g.group_clause = root->parse->groupClause;
	g.having = (List *) extra->havingQual;
	try_grouping(&g, output_rel);
}

/*
 * UPPERREL_DISTINCT: SELECT DISTINCT is a GROUP BY without aggregates.
 */
void
gpucol_path_distinct_add(PlannerInfo *root, RelOptInfo *input_rel,
						 RelOptInfo *output_rel)
{
	Query	   *parse = root->parse;
	GpucolGrouping g;

	if (parse->hasAggs || parse->groupClause != NIL || parse->hasWindowFuncs ||
		parse->groupingSets != NIL || parse->havingQual != NULL ||
		parse->hasTargetSRFs || !open_grouping(&g, root, input_rel))
		return;
	if (parse->hasDistinctOn)
	{
		gpucol_grouping_decline(&g, "DISTINCT ON");
		return;
	}
	if (root->rowMarks != NIL)
	{
		gpucol_grouping_decline(&g, "its rows are locked by the statement");
		return;
	}
	g.target = root->upper_targets[UPPERREL_DISTINCT];
	g.group_clause = parse->distinctClause;
	try_grouping(&g, output_rel);
}
