/*-------------------------------------------------------------------------
 *
 * window.c
 *	  GpucolWindow: the window functions of a query over the rows of any plan.
 *
 * The node takes all rows of its child (window_take.c), turns keys into codes
 * (window_codes.c), sorts by these (window_order.c), computes every function a partition at
 * a time (window_frame.c, window_func.c, window_agg.c), and only then delivers its first
 * row: so whatever it cannot do is left to PostgreSQL's own plan.  The rows stay where they
 * are for the next scan of the node.  Rows that exceed memory are computed in parts
 * (window_part.c).
 *
 * ExecScan tests the conditions that PostgreSQL would have tested in its WindowAgg.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "exec/join_build.h"
#include "exec/ordinary.h"
#include "exec/recheck.h"
#include "exec/rights.h"
#include "exec/run.h"
#include "exec/window.h"

static Node *window_create_state(CustomScan *cscan);
static void window_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *window_exec(CustomScanState *node);
static void window_end(CustomScanState *node);
static void window_rescan(CustomScanState *node);
static void window_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods gpucol_window_methods = {
	.CustomName = "GpucolWindow",
	.CreateCustomScanState = window_create_state,
};

const CustomExecMethods gpucol_window_exec_methods = {
	.CustomName = "GpucolWindow",
	.BeginCustomScan = window_begin,
	.ExecCustomScan = window_exec,
	.EndCustomScan = window_end,
	.ReScanCustomScan = window_rescan,
	.ExplainCustomScan = window_explain,
};

static Node *
window_create_state(CustomScan *cscan pg_attribute_unused())
{
	GpucolWindowState *state = palloc0(sizeof(GpucolWindowState));

	state->css.ss.ps.type = T_CustomScanState;
	state->css.methods = &gpucol_window_exec_methods;
	return (Node *) state;
}

/* Have a slot hold NULLs, of which some are replaced row by row. */
static void
clear_values(TupleTableSlot *slot)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	memset(slot->tts_values, 0, natts * sizeof(Datum));
	memset(slot->tts_isnull, true, natts * sizeof(bool));
}

static void
window_begin(CustomScanState *node, EState *estate, int eflags)
{
	GpucolWindowState *state = (GpucolWindowState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	gpucol_check_rights(linitial(((CustomScan *) node->ss.ps.plan)->custom_plans), eflags);
	state->eflags = eflags;
	/* the ordinary plan may deliver slots that are still to be deformed */
	node->ss.ps.resultopsfixed = false;
	state->formed_context = AllocSetContextCreate(estate->es_query_cxt, "gpucol window row",
												  ALLOCSET_SMALL_SIZES);
	gpucol_window_inputs_init(state);
	state->peek = ExecInitExtraTupleSlot(estate, slot->tts_tupleDescriptor, &TTSOpsVirtual);
	clear_values(slot);
	clear_values(state->peek);
	gpucol_window_deliver_init(state);
	state->children = gpucol_join_children_init(node, estate, eflags);
	node->custom_ps = list_copy(state->children);
}

/* Compute everything; false where the ordinary plan has to. */
static bool
compute(GpucolWindowState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	gpucol_window_rows_open(&state->rows, estate->es_query_cxt, state->few.wanted);
	gpucol_window_few_start(state);
	state->why = gpucol_window_take(state);
	if (state->why == NULL && state->parts == NULL)
	{
		state->why = gpucol_window_run(state);
		if (state->why == GPUCOL_WINDOW_MEMORY && gpucol_window_parts_put(state))
			state->why = NULL;
	}
	if (state->why == NULL && state->parts != NULL)
		state->why = gpucol_window_parts_check(state);
	state->css.ss.ps.ps_ExprContext->ecxt_scantuple = NULL;
	state->next = 0;
	state->ready = state->why == NULL;
	MemoryContextSwitchTo(old);
	return state->ready;
}

/* ------------------------------------------------------------------------
 * Delivering rows
 * ------------------------------------------------------------------------
 */

/* ExecScan's access method: the next row. */
static TupleTableSlot *
next_row(ScanState *node)
{
	GpucolWindowState *state = (GpucolWindowState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	return gpucol_window_deliver(state, slot) ? ExecStoreVirtualTuple(slot) : slot;
}

GPUCOL_RECHECK_BY_NEXT(recheck_row, next_row)

/* Let the rows go. */
static void
forget_rows(GpucolWindowState *state)
{
	gpucol_window_rows_close(&state->rows);
	gpucol_window_parts_end(state);
	state->ready = false;
}

/* Initialise the ordinary plan. */
static void
begin_fallback(GpucolWindowState *state)
{
	forget_rows(state);
	gpucol_join_children_release(state->children);
	state->fallback = gpucol_begin_fallback(&state->css, state->eflags);
}

/* Have everything computed; false where the ordinary plan delivers rows. */
static bool
have_computed(GpucolWindowState *state)
{
	if (state->fallback == NULL && !state->ready && !compute(state))
		begin_fallback(state);
	return state->fallback == NULL;
}

static TupleTableSlot *
window_exec(CustomScanState *node)
{
	GpucolWindowState *state = (GpucolWindowState *) node;

	if (!have_computed(state))
		return ExecProcNode(state->fallback);
	return ExecScan(&node->ss, next_row, recheck_row);
}

/* Batches (GpucolBatchOps). */
static bool
window_offer(CustomScanState *node, PlanState *above, List *conditions)
{
	return gpucol_window_offer((GpucolWindowState *) node, above, conditions);
}

static bool
window_leaves(CustomScanState *node, List *conditions)
{
	return gpucol_window_leaves((GpucolWindowState *) node, conditions);
}

static void
window_want(CustomScanState *node, const bool *wanted)
{
	gpucol_window_want((GpucolWindowState *) node, wanted);
}

static GpucolStatus
window_next_batch(CustomScanState *node, GpucolBatch *batch)
{
	GpucolWindowState *state = (GpucolWindowState *) node;

	if (!have_computed(state))
		return GPUCOL_UNSUPPORTED;
	if (!gpucol_window_batch(state, batch))
		return GPUCOL_END;
	state->delivered = true;
	return GPUCOL_OK;
}

const GpucolBatchOps gpucol_window_batches = {
	.tests = true,
	.offer = window_offer,
	.leaves = window_leaves,
	.want = window_want,
	.next = window_next_batch,
};

static void
window_end(CustomScanState *node)
{
	GpucolWindowState *state = (GpucolWindowState *) node;

	forget_rows(state);
	gpucol_join_children_end(state->children);
	if (state->fallback != NULL)
		ExecEndNode(state->fallback);
}

static void
window_rescan(CustomScanState *node)
{
	GpucolWindowState *state = (GpucolWindowState *) node;

	ExecScanReScan(&node->ss);
	if (node->ss.ps.chgParam == NULL && state->ready)
	{
		gpucol_window_parts_first(state);
		state->next = 0;
		return;
	}
	forget_rows(state);
	gpucol_join_children_rescan(node, state->children);
	if (((PlanState *) linitial(state->children))->chgParam == NULL)
		ExecReScan(linitial(state->children));
	gpucol_run_rescan_fallback(node, state->fallback);
}

static void
window_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	gpucol_explain_window((GpucolWindowState *) node, ancestors, es);
}
