/*-------------------------------------------------------------------------
 *
 * init_plan.c
 *	  Subqueries that nothing correlates and that may be executed although no row asks for them.
 *
 * What asks whether a column has values near the ends of its type (planner/subquery_within.c) stands beside conditions
 * of joined rows, of which nobody knows before whether one gets there:
 *
 *		(SELECT bool_or(b.n < low OR b.n > high) FROM b)
 *
 * Comparing raises no error and runs nobody's code.  So is any such subquery that one of our nodes aggregates, of one
 * table, by functions that are known for that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "lower/harmless.h"
#include "lower/lower.h"
#include "plan/plan.h"

static bool
is_harmless_aggregate(const Aggref *agg)
{
	return agg->aggfnoid == F_BOOL_OR || agg->aggfnoid == F_BOOL_AND || agg->aggfnoid == F_COUNT_ ||
		agg->aggfnoid == F_COUNT_ANY;
}

/* Is there something in an expression that might raise an error, or run somebody's code? */
static bool
is_harmful(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) ? !is_harmless_aggregate((Aggref *) node) : !gpucol_harmless_node(node))
		return true;
	return expression_tree_walker(node, is_harmful, context);
}

bool
gpucol_lower_init_plan_is_harmless(const SubPlanState *subplan)
{
	const CustomScan *scan = (const CustomScan *) subplan->planstate->plan;

	return IsA(scan, CustomScan) && scan->methods == &gpucol_agg_methods &&
		intVal(list_nth(scan->custom_private, GPUCOL_AGG_PRIVATE_RECURSION)) == 0 &&
		list_nth(scan->custom_private, GPUCOL_AGG_PRIVATE_PIPE) == NIL && scan->scan.plan.initPlan == NIL &&
		!is_harmful((Node *) scan->custom_scan_tlist, NULL) &&
		!is_harmful((Node *) scan->scan.plan.targetlist, NULL) && !is_harmful((Node *) scan->scan.plan.qual, NULL);
}
