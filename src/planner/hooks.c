/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  The planner hooks: each hands its planning step to the path_*.c files.
 *
 * The library may be loaded while a statement is being planned (by the table
 * access method's handler), so a planner run may reach the path hooks without
 * having passed gpucol_planner; reasons and gpucol.pushdown = require then act
 * from the next statement on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/extensible.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "columnar/am.h"
#include "engine/gpu/wire.h"
#include "guc.h"
#include "lower/lower.h"
#include "lower/pipe.h"
#include "planner/pair_groups.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "plan/reason.h"

static planner_hook_type previous_planner = NULL;
static set_rel_pathlist_hook_type previous_set_rel_pathlist = NULL;
static set_join_pathlist_hook_type previous_set_join_pathlist = NULL;
static create_upper_paths_hook_type previous_create_upper_paths = NULL;

/* Is the statement being planned that of a SCROLL cursor? */
static bool planning_scroll = false;

/*
 * The setting that forbids every pushdown, as a reason, or NULL.
 */
const char *
gpucol_planner_disabled(void)
{
	if (!gpucol_enabled)
		return "gpucol.enabled is off";
	if (gpucol_pushdown == GPUCOL_PUSHDOWN_FORBID)
		return "gpucol.pushdown is forbid";
	return NULL;
}

/*
 * Is it a statement over tables alone, in which there is nothing to rewrite?  A statement that asks for a
 * row by its key is to be planned as soon as over heap.
 */
static bool
is_plain(const Query *query)
{
	ListCell   *lc;

	if (query->hasSubLinks || query->hasTargetSRFs || query->hasAggs || query->hasWindowFuncs ||
		query->groupClause != NIL || query->groupingSets != NIL || query->distinctClause != NIL ||
		query->setOperations != NULL || query->cteList != NIL || query->mergeActionList != NIL ||
		query->withCheckOptions != NIL)
		return false;
	foreach(lc, query->rtable)
	{
		RTEKind		kind = lfirst_node(RangeTblEntry, lc)->rtekind;

		if (kind != RTE_RELATION && kind != RTE_RESULT && kind != RTE_JOIN)
			return false;
	}
	return true;
}

/* Plan one statement, enforce gpucol.pushdown = require, and limit compilation. */
static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo bound_params)
{
	planner_hook_type planner = previous_planner != NULL ? previous_planner : standard_planner;
	bool		steady = gpucol_steady_is(parse);
	PlannedStmt *stmt;

	if (is_plain(parse))
		stmt = planner(parse, query_string, cursor_options, bound_params);
	else
	{
		Query	   *unfolded = gpucol_union_types(gpucol_values_union(gpucol_values_fold(gpucol_counted_ranks(parse))));
		Query	   *inlined = gpucol_with_distinct(gpucol_with_inline(gpucol_window_joins(unfolded)));
		Query	   *grouped = gpucol_set_groups(gpucol_pair_tests(gpucol_set_keys(inlined)));

		stmt = gpucol_subquery_plan(planner, gpucol_set_operations(gpucol_set_from(grouped)),
									query_string, cursor_options, bound_params);
	}
	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
		gpucol_require_check(stmt);
	if (steady)
		gpucol_steady_allow(stmt);
	gpucol_jit_limit(stmt);
	gpucol_join_name_relations(stmt);
	gpucol_window_name_functions(stmt);
	return stmt;
}

/*
 * Is it a query that PostgreSQL scans in both directions, and updates WHERE CURRENT
 * OF: one table, unsorted, for a SCROLL cursor?
 */
bool
gpucol_planner_scrolls(PlannerInfo *root)
{
	return planning_scroll && root->parent_root == NULL && !root->parse->hasAggs &&
		root->parse->groupClause == NIL && root->parse->distinctClause == NIL &&
		root->parse->setOperations == NULL && !root->parse->hasWindowFuncs &&
		root->parse->sortClause == NIL && gpucol_pushdown != GPUCOL_PUSHDOWN_REQUIRE &&
		list_length(root->parse->jointree->fromlist) == 1 &&
		IsA(linitial(root->parse->jointree->fromlist), RangeTblRef);
}

/* Plan one statement, collecting the reasons of what is not pushed down. */
static PlannedStmt *
gpucol_planner(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo bound_params)
{
	PlannedStmt *volatile stmt = NULL;
	List	   *outer = gpucol_reason_begin();
	GpucolPipeMemo *outer_memo = gpucol_pipe_memo_begin();
	PlannerGlobal *outer_glob = gpucol_fold_plan(NULL);
	bool		outer_scroll = planning_scroll;

	PG_TRY();
	{
		planning_scroll = (cursor_options & CURSOR_OPT_SCROLL) != 0;
		stmt = plan_statement(parse, query_string, cursor_options,
							  bound_params);
	}
	PG_FINALLY();
	{
		planning_scroll = outer_scroll;
		(void) gpucol_fold_plan(outer_glob);
		gpucol_pipe_memo_end(outer_memo);
		gpucol_reason_end(outer);
	}
	PG_END_TRY();
	return stmt;
}

/* After the ordinary paths of a base relation are known. */
static void
gpucol_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti,
						RangeTblEntry *rte)
{
	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || rte->inh || IS_DUMMY_REL(rel) ||
		!gpucol_am_is_gpucol(rte->relid))
		return;
	(void) gpucol_fold_plan(root->glob);
	if (gpucol_engine_choice != GPUCOL_ENGINE_CPU && gpucol_planner_disabled() == NULL)
		gpucol_wire_announce();		/* the daemon wakes while we plan */
	gpucol_path_bitmap_unmix(root, rel);
	gpucol_path_scan_add(root, rel, rte);
	gpucol_path_join_add_base(root, rel);
}

/* After the ordinary paths of a pair of relations are known. */
static void
gpucol_set_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
						 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	if (previous_set_join_pathlist)
		previous_set_join_pathlist(root, joinrel, outerrel, innerrel, jointype, extra);
	(void) gpucol_fold_plan(root->glob);
	gpucol_path_join_add(root, joinrel, outerrel, innerrel, jointype, extra);
}

/* After the ordinary paths of an upper planning step are known. */
static void
gpucol_create_upper_paths(PlannerInfo *root, UpperRelationKind stage,
						  RelOptInfo *input_rel, RelOptInfo *output_rel,
						  void *extra)
{
	if (previous_create_upper_paths)
		previous_create_upper_paths(root, stage, input_rel, output_rel, extra);
	(void) gpucol_fold_plan(root->glob);
	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
			gpucol_path_agg_add(root, input_rel, output_rel, extra);
			break;
		case UPPERREL_ORDERED:
			gpucol_path_topn_add(root, input_rel, output_rel);
			break;
		case UPPERREL_DISTINCT:
			gpucol_path_distinct_add(root, input_rel, output_rel);
			break;
		case UPPERREL_WINDOW:
			gpucol_path_window_add(root, input_rel, output_rel);
			break;
		case UPPERREL_FINAL:
			gpucol_seldom_set_costs(root, output_rel);
			break;
		default:
			break;
	}
}

/*
 * Install every planner hook.
 */
void
gpucol_planner_init(void)
{
	previous_planner = planner_hook;
	planner_hook = gpucol_planner;
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = gpucol_set_rel_pathlist;
	previous_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = gpucol_set_join_pathlist;
	previous_create_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = gpucol_create_upper_paths;
	gpucol_explain_init();
	gpucol_path_scan_init();
	gpucol_path_join_init();
	gpucol_path_agg_init();
	gpucol_path_topn_init();
	gpucol_path_window_init();
}
