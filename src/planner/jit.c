/*-------------------------------------------------------------------------
 *
 * jit.c
 *	  Whether PostgreSQL compiles a statement's expressions, by the cost of those
 *	  that it evaluates itself.
 *
 * PostgreSQL decides by the cost of the whole plan.  The greatest part of it may be
 * that of gpucol nodes, whose rows an engine computes: then compiling takes tens of
 * milliseconds and gains nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "jit/jit.h"
#include "nodes/plannodes.h"

#include "plan/walk.h"
#include "planner/planner.h"

/* Costs of some plans: what they cost, and what the nodes in them that are not ours do. */
typedef struct PlanCosts
{
	PlannedStmt *stmt;
	Cost		whole;
	Cost		others;
	bool		any_ours;
} PlanCosts;

/* Add the costs of a plan. */
static void
add_costs(Plan *plan, void *context)
{
	PlanCosts  *costs = context;
	PlanCosts	parts = {costs->stmt, 0, 0, false};
	ListCell   *lc;

	costs->whole += plan->total_cost;
	if (gpucol_plan_is_ours(plan))
	{
		costs->any_ours = true;
		return;
	}
	gpucol_plan_walk(plan, add_costs, &parts);
	foreach(lc, plan->initPlan)
		add_costs(list_nth(costs->stmt->subplans, lfirst_node(SubPlan, lc)->plan_id - 1), &parts);
	costs->others += parts.others + Max(plan->total_cost - parts.whole, 0);
	costs->any_ours |= parts.any_ours;
}

/*
 * Take back from a planned statement what of just-in-time compilation the cost of
 * PostgreSQL's own nodes would not have asked for.
 */
void
gpucol_jit_limit(PlannedStmt *stmt)
{
	PlanCosts	costs = {stmt, 0, 0, false};

	if ((stmt->jitFlags & PGJIT_PERFORM) == 0 || stmt->planTree == NULL)
		return;
	add_costs(stmt->planTree, &costs);
	if (!costs.any_ours)
		return;
	if (costs.others <= jit_above_cost)
		stmt->jitFlags = PGJIT_NONE;
	if (costs.others <= jit_optimize_above_cost)
		stmt->jitFlags &= ~PGJIT_OPT3;
	if (costs.others <= jit_inline_above_cost)
		stmt->jitFlags &= ~PGJIT_INLINE;
}
