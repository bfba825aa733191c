/*-------------------------------------------------------------------------
 *
 * ordinary.c
 *	  The ordinary plan that a node falls back to, begun in the midst of a statement.
 *
 * It has copies of nodes of the plan that has run so far.  A copy of a node with InitPlans
 * takes their parameters over, to be computed when the copy first asks; but it shares the state
 * of their plans, which have come to their end where they have run: the values would be NULL.
 * What a hook does to a plan when the executor starts has not been done to it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "columnar/bitmap.h"
#include "exec/ordinary.h"

/* Have InitPlans run again from their beginning. */
static bool
restart_init_plans(PlanState *state, void *context)
{
	ListCell   *lc;

	foreach(lc, state->initPlan)
	{
		SubPlanState *init = lfirst_node(SubPlanState, lc);

		if (init->subplan->subLinkType != CTE_SUBLINK)
			ExecReScan(init->planstate);
	}
	return planstate_tree_walker(state, restart_init_plans, context);
}

PlanState *
gpucol_begin_ordinary(Plan *plan, EState *estate, int eflags)
{
	PlanState  *result = ExecInitNode(plan, estate, eflags);

	(void) restart_init_plans(result, NULL);
	gpucol_bitmap_keep_from_prefetching(result);
	return result;
}

PlanState *
gpucol_begin_fallback(CustomScanState *node, int eflags)
{
	EState	   *estate = node->ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	List	   *plans = ((CustomScan *) node->ss.ps.plan)->custom_plans;
	PlanState  *result = gpucol_begin_ordinary(linitial(plans), estate, eflags);

	node->custom_ps = lcons(result, node->custom_ps);
	MemoryContextSwitchTo(old);
	return result;
}
