/*-------------------------------------------------------------------------
 *
 * subquery_plan.c
 *	  Statements whose subqueries become joins, where that is cheaper.
 *
 * A join (subquery.c) computes groups that no row asks for.  Where few rows ask and an index finds
 * what they ask for, executing the subquery for each is cheaper: so the statement is planned
 * both ways, and the cheaper plan is taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "utils/syscache.h"

#include "guc.h"
#include "plan/reason.h"
#include "plan/walk.h"
#include "planner/planner.h"
#include "planner/subquery.h"

/* Has a statement subqueries in expressions, or behind LATERAL, or first rows of keys? */
static bool
has_sublinks(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return ((Query *) node)->hasSubLinks || ((Query *) node)->hasDistinctOn ||
			query_tree_walker((Query *) node, has_sublinks, context, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_SUBQUERY && ((RangeTblEntry *) node)->lateral;
	return expression_tree_walker(node, has_sublinks, context);
}

/*
 * Have the columns of a rewritten statement the type modifiers that they were announced with: the least of some
 * numeric(9,2) is a numeric.
 */
static void
keep_modifiers(const Query *announced, Query *rewritten)
{
	ListCell   *old;
	ListCell   *new;

	forboth(old, announced->targetList, new, rewritten->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, new);
		Node	   *before = (Node *) lfirst_node(TargetEntry, old)->expr;
		Node	   *now = (Node *) tle->expr;

		if (!tle->resjunk && exprType(now) == exprType(before) && exprTypmod(now) != exprTypmod(before))
			tle->expr = (Expr *) makeRelabelType(tle->expr, exprType(before), exprTypmod(before), exprCollation(before),
												 COERCE_IMPLICIT_CAST);
	}
}

/* A rewritten copy of a statement, or NULL if there is nothing to rewrite. */
static Query *
rewrite_statement(Query *parse, int cursor_options)
{
	Query	   *copy;
	List	   *before;
	volatile int count = 0;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_join ||
		!has_sublinks((Node *) parse, NULL))
		return NULL;
	copy = copyObject(parse);
	before = gpucol_nearest_begin();
	PG_TRY();
	{
		count = gpucol_subquery_rewrite(copy, (cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0);
		gpucol_nearest_place(copy);
		keep_modifiers(parse, copy);
	}
	PG_FINALLY();
	{
		gpucol_nearest_end(before);
	}
	PG_END_TRY();
	return count == 0 ? NULL : copy;
}

/* One way to plan a statement. */
typedef struct Way
{
	Query	   *parse;
	PlannedStmt *stmt;
	List	   *reasons;		/* noted while it was planned */
	double		cost;			/* of the rows that are asked for */
} Way;

/* Add what the subplans of an expression cost for each row. */
static bool
add_subplans(Node *node, double *cost)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
		*cost += ((SubPlan *) node)->per_call_cost;
	return expression_tree_walker(node, add_subplans, cost);
}

/* What MERGE's actions cost, which PostgreSQL does not count. */
static double
actions_cost(const Plan *plan)
{
	double		cost = 0;

	if (!IsA(plan, ModifyTable) || ((const ModifyTable *) plan)->mergeActionLists == NIL)
		return 0;
	add_subplans((Node *) ((const ModifyTable *) plan)->mergeActionLists, &cost);
	return cost * outerPlan(plan)->plan_rows;
}

/* What share of a column of a subquery's is NULL, as statistics tell. */
static double
null_share(const TargetEntry *tle)
{
	HeapTuple	tuple;
	double		share = 0;

	if (IsA(tle->expr, Const))
		return ((const Const *) tle->expr)->constisnull ? 1 : 0;
	tuple = OidIsValid(tle->resorigtbl) ?
		SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(tle->resorigtbl), Int16GetDatum(tle->resorigcol),
						BoolGetDatum(false)) : NULL;
	if (HeapTupleIsValid(tuple))
	{
		share = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		ReleaseSysCache(tuple);
	}
	return share;
}

/* What walks of plans add up. */
typedef struct Scanned
{
	const PlannedStmt *stmt;
	double		rows;			/* of the node at hand */
	double		cost;
} Scanned;

/*
 * A row that finds no equal one in the hash table of a NOT IN of several columns is compared with all of the
 * subquery's rows that have a NULL, which PostgreSQL does not count.
 */
static bool
add_partial_matches(Node *node, Scanned *scanned)
{
	const SubPlan *subplan = (const SubPlan *) node;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && subplan->useHashTable && !subplan->unknownEqFalse && list_length(subplan->paramIds) > 1)
	{
		const Plan *plan = list_nth(scanned->stmt->subplans, subplan->plan_id - 1);
		double		shown = 1;
		ListCell   *lc;

		foreach(lc, plan->targetlist)
			shown *= lfirst_node(TargetEntry, lc)->resjunk ? 1 : 1 - null_share(lfirst(lc));
		scanned->cost += scanned->rows * plan->plan_rows * (1 - shown) * list_length(subplan->paramIds) *
			cpu_operator_cost;
	}
	return expression_tree_walker(node, add_partial_matches, scanned);
}

static void
visit_plan(Plan *plan, void *context)
{
	Scanned    *scanned = context;

	check_stack_depth();
	scanned->rows = plan->plan_rows;
	add_partial_matches((Node *) plan->targetlist, scanned);
	add_partial_matches((Node *) plan->qual, scanned);
	gpucol_plan_walk(plan, visit_plan, context);
}

static double
partial_matches_cost(const PlannedStmt *stmt)
{
	Scanned		scanned = {.stmt = stmt};
	ListCell   *lc;

	visit_plan(stmt->planTree, &scanned);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL)
			visit_plan(lfirst(lc), &scanned);
	}
	return scanned.cost;
}

/*
 * Plan a statement one way by the next planner hook, since other extensions' hooks of paths count on
 * theirs having been called; `before` are the reasons noted before.
 */
static void
try_way(Way *way, planner_hook_type planner, List *before, const char *query_string, int cursor_options,
		ParamListInfo params)
{
	Plan	   *plan;
	double		part = cursor_options & CURSOR_OPT_FAST_PLAN ? cursor_tuple_fraction : 1.0;

	gpucol_reason_swap(list_copy(before));
	way->stmt = planner(copyObject(way->parse), query_string, cursor_options, params);
	way->reasons = gpucol_reason_swap(NIL);
	plan = way->stmt->planTree;
	way->cost = plan->startup_cost + part * (plan->total_cost - plan->startup_cost) + actions_cost(plan) +
		partial_matches_cost(way->stmt);
}

/*
 * Plan a statement by `planner`, the next planner hook or PostgreSQL's, with its subqueries
 * made joins where that is cheaper.
 */
PlannedStmt *
gpucol_subquery_plan(planner_hook_type planner, Query *parse, const char *query_string,
					 int cursor_options, ParamListInfo params)
{
	Way			one_by_one = {.parse = parse};
	Way			joined = {.parse = rewrite_statement(parse, cursor_options)};
	Way		   *best = &joined;
	List	   *before;

	if (joined.parse == NULL)
		return planner(parse, query_string, cursor_options, params);
	before = gpucol_reason_swap(NIL);
	try_way(&one_by_one, planner, before, query_string, cursor_options, params);
	try_way(&joined, planner, before, query_string, cursor_options, params);
	if (one_by_one.cost < joined.cost)
		best = &one_by_one;
	gpucol_reason_swap(best->reasons);
	if (best == &one_by_one)
		gpucol_reason_add(InvalidOid, "subquery",
						  "executing it for each row is cheaper than computing all its groups");
	return best->stmt;
}
