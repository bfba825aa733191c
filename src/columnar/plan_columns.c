/*-------------------------------------------------------------------------
 *
 * plan_columns.c
 *	  Which columns of the packed rows that a plan's scans find are read.
 *
 * A slot is asked for its columns up to a number.  Of a row of a heap that costs little; of a packed one
 * each column is a page or more of its own, and a long text before the column that
 * is read may have to be unpacked.  So when a plan starts, the slots of its scans by
 * indexes and TIDs are told which columns the plan reads at all (gpucol_slot_plan).
 *
 * These are the columns of the node's conditions and of its outputs.  A node without a projection hands the
 * slot itself to the node above and names every column, as the planner does where it costs a heap nothing; then
 * the columns are those that the node above reads, if it is a nested loop, an aggregation or a
 * result.  Others may read all.  So may whoever starts a node without this hook, as EvalPlanQual does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "columnar/plan_columns.h"
#include "columnar/slot.h"

static ExecutorStart_hook_type previous_start;

/* The node, if it is a scan of a gpucol table by an index or by TIDs, else NULL. */
static ScanState *
as_scan(PlanState *node)
{
	if (node == NULL || !(IsA(node, IndexScanState) || IsA(node, BitmapHeapScanState) || IsA(node, TidScanState)))
		return NULL;
	if (!gpucol_slot_is_ours(((ScanState *) node)->ss_ScanTupleSlot))
		return NULL;
	return (ScanState *) node;
}

/* Add the columns of a scan's conditions. */
static void
add_conditions(const ScanState *scan, Bitmapset **columns)
{
	Plan	   *plan = scan->ps.plan;
	Index		relid = ((Scan *) plan)->scanrelid;

	pull_varattnos((Node *) plan->qual, relid, columns);
	if (IsA(plan, IndexScan))
	{
		pull_varattnos((Node *) ((IndexScan *) plan)->indexqualorig, relid, columns);
		pull_varattnos((Node *) ((IndexScan *) plan)->indexorderbyorig, relid, columns);
	}
	else if (IsA(plan, BitmapHeapScan))
		pull_varattnos((Node *) ((BitmapHeapScan *) plan)->bitmapqualorig, relid, columns);
	else
		pull_varattnos((Node *) ((TidScan *) plan)->tidquals, relid, columns);
}

/* Tell the slot of a scan which columns are read, if the node projects them. */
static void
tell_scan(ScanState *scan)
{
	Bitmapset  *columns = NULL;

	if (scan->ps.ps_ProjInfo == NULL)
	{
		gpucol_slot_plan(scan->ss_ScanTupleSlot, NULL);
		return;
	}
	add_conditions(scan, &columns);
	pull_varattnos((Node *) scan->ps.plan->targetlist, ((Scan *) scan->ps.plan)->scanrelid, &columns);
	/* not NULL, which is all, where none is read */
	columns = bms_add_member(columns, TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber);
	gpucol_slot_plan(scan->ss_ScanTupleSlot, columns);
}

/* Tell a scan that hands its slot to a node above which columns that reads: variables of a number in expressions. */
static void
tell_child(PlanState *child, int varno, List *expressions)
{
	ScanState  *scan = as_scan(child);
	Bitmapset  *columns = NULL;

	if (scan == NULL || scan->ps.ps_ProjInfo != NULL)
		return;
	add_conditions(scan, &columns);
	pull_varattnos((Node *) expressions, varno, &columns);
	columns = bms_add_member(columns, TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber);
	gpucol_slot_plan(scan->ss_ScanTupleSlot, columns);
}

/* The same for both sides of a nested loop. */
static void
tell_children_of_loop(PlanState *node)
{
	NestLoop   *loop = (NestLoop *) node->plan;
	List	   *expressions = list_make3(node->plan->targetlist, node->plan->qual, loop->join.joinqual);
	List	   *outer = list_copy(expressions);
	ListCell   *lc;

	foreach(lc, loop->nestParams)
		outer = lappend(outer, ((NestLoopParam *) lfirst(lc))->paramval);
	tell_child(outerPlanState(node), OUTER_VAR, outer);
	tell_child(innerPlanState(node), INNER_VAR, expressions);
}

/* The same for the input of an aggregation that keeps no rows but their keys. */
static void
tell_child_of_agg(PlanState *node)
{
	Agg		   *agg = (Agg *) node->plan;
	List	   *expressions = list_make2(agg->plan.targetlist, agg->plan.qual);

	if (agg->chain != NIL || (agg->aggstrategy != AGG_PLAIN && agg->aggstrategy != AGG_HASHED))
		return;
	for (int i = 0; i < agg->numCols; i++)
		expressions = lappend(expressions, makeVar(OUTER_VAR, agg->grpColIdx[i], InvalidOid, -1, InvalidOid, 0));
	tell_child(outerPlanState(node), OUTER_VAR, expressions);
}

static bool
tell_node(PlanState *node, void *context)
{
	ScanState  *scan;

	if (node == NULL)
		return false;
	scan = as_scan(node);
	if (scan != NULL)
		tell_scan(scan);
	else if (IsA(node, NestLoopState))
		tell_children_of_loop(node);
	else if (IsA(node, AggState))
		tell_child_of_agg(node);
	else if (IsA(node, ResultState))
		tell_child(outerPlanState(node), OUTER_VAR, list_make2(node->plan->targetlist, node->plan->qual));
	return planstate_tree_walker(node, tell_node, context);
}

static void
start_executor(QueryDesc *query, int eflags)
{
	MemoryContext old;

	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (query->planstate == NULL)
		return;
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	(void) tell_node(query->planstate, NULL);
	MemoryContextSwitchTo(old);
}

void
gpucol_plan_columns_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
