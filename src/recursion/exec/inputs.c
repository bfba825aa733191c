/*-------------------------------------------------------------------------
 *
 * inputs.c
 *	  GpucolInputs: holds the plans of a recursive term's relations.
 *
 * The plans belong to the planner context of the recursive term, so they need
 * a node there to hang on to, and so do the expressions that use results of the
 * term's subqueries.  GpucolRecursive reaches through this node and reads them
 * itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "recursion/exec/state.h"

static void
begin_inputs(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	ListCell   *lc;

	foreach(lc, scan->custom_plans)
		node->custom_ps = lappend(node->custom_ps,
								  ExecInitNode(lfirst(lc), estate, eflags));
}

/* Never called by GpucolRecursive; nobody else has such a child. */
static TupleTableSlot *
exec_inputs(CustomScanState *node)
{
	return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
}

static void
end_inputs(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
		ExecEndNode(lfirst(lc));
}

void
gpucol_recursive_rescan_children(CustomScanState *node)
{
	ListCell   *lc;

	foreach(lc, node->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolInputs",
	.BeginCustomScan = begin_inputs,
	.ExecCustomScan = exec_inputs,
	.EndCustomScan = end_inputs,
	.ReScanCustomScan = gpucol_recursive_rescan_children,
};

static Node *
create_state(CustomScan *scan pg_attribute_unused())
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods gpucol_inputs_scan_methods = {
	.CustomName = "GpucolInputs",
	.CreateCustomScanState = create_state,
};

PlanState *
gpucol_inputs_find(PlanState *state)
{
	if (IsA(state, SubqueryScanState))
		state = ((SubqueryScanState *) state)->subplan;
	Assert(IsA(state, CustomScanState) &&
		   ((CustomScanState *) state)->methods == &exec_methods);
	return state;
}

List *
gpucol_inputs_states(PlanState *state)
{
	return ((CustomScanState *) gpucol_inputs_find(state))->custom_ps;
}

/* Nobody asks these nodes for rows, upon which PostgreSQL would do it. */
void
gpucol_inputs_refresh(PlanState *state)
{
	PlanState  *inputs = gpucol_inputs_find(state);
	MemoryContext old = MemoryContextSwitchTo(state->state->es_query_cxt);

	if (state->chgParam != NULL)
		ExecReScan(state);
	if (inputs->chgParam != NULL)
		ExecReScan(inputs);
	MemoryContextSwitchTo(old);
}
