/*-------------------------------------------------------------------------
 *
 * join.c
 *	  Executor of GpucolJoin: the rows of a pipe.
 *
 * An engine delivers the columns of the joined relation in batches, which become scan
 * tuples one by one; PostgreSQL projects them.  Before the first row the node may fall
 * back to its ordinary plan, initialised only then: so it finds out before whether
 * engines compute with every value that the flowing rows have.
 *
 * Conditions that no engine knows are the node's own qual, over columns of which some stand
 * behind those that it delivers; the ordinary plan has tested them, and lacks those columns.
 *
 * Below Sort and Limit it drops rows that cannot be among the first (topn_stream.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "exec/batch_compute.h"
#include "exec/explain.h"
#include "exec/join_build.h"
#include "exec/numeric_math.h"
#include "exec/ordinary.h"
#include "exec/recheck.h"
#include "exec/replay.h"
#include "exec/result.h"
#include "exec/rights.h"
#include "exec/topn_stream.h"
#include "plan/plan.h"

typedef struct GpucolJoinState
{
	CustomScanState css;
	GpucolExec	exec;
	int			eflags;
	List	   *columns;		/* of Expr: those of the scan tuple */
	int			ncolumns;
	GpucolOutput *outputs;
	List	   *children;		/* states of the plans whose rows are joined */
	GpucolTopnStream top;		/* the first rows that are wanted */

	/* current batch */
	MemoryContext batch_context;
	uint32		nrows;
	uint32		next;
	Datum	  **values;
	bool	  **isnull;

	PlanState  *fallback;		/* ordinary plan, once needed */
	bool		done;			/* all rows have been delivered, and let go */
	GpucolReplay replay;
	GpucolBatchCompute *compute;	/* of batches; NULL: nobody has asked for them yet */
} GpucolJoinState;

static Node *join_create_state(CustomScan *cscan);
static void join_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *join_exec(CustomScanState *node);
static void join_end(CustomScanState *node);
static void join_rescan(CustomScanState *node);
static void join_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods gpucol_join_methods = {
	.CustomName = "GpucolJoin",
	.CreateCustomScanState = join_create_state,
};

const CustomExecMethods gpucol_join_exec_methods = {
	.CustomName = "GpucolJoin",
	.BeginCustomScan = join_begin,
	.ExecCustomScan = join_exec,
	.EndCustomScan = join_end,
	.ReScanCustomScan = join_rescan,
	.ExplainCustomScan = join_explain,
};

static Node *
join_create_state(CustomScan *cscan)
{
	GpucolJoinState *state = palloc0(sizeof(GpucolJoinState));
	ListCell   *lc;

	state->css.ss.ps.type = T_CustomScanState;
	state->css.methods = &gpucol_join_exec_methods;
	foreach(lc, cscan->custom_scan_tlist)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			state->columns = lappend(state->columns, lfirst_node(TargetEntry, lc)->expr);
	}
	state->ncolumns = list_length(state->columns);
	return (Node *) state;
}

/* Lower the sort keys of the top rows, as many as can be compared. */
static void
lower_keys(GpucolJoinState *state, GpucolLower *l)
{
	GpucolTopnStream *top = &state->top;
	GpucolValue value;

	top->nused = 0;
	top->clamped = false;
	for (int i = 0; i < top->nkeys; i++)
	{
		Node	   *key = (Node *) top->keys[i].sort.expr;

		if (!gpucol_lower_output(l, (Expr *) gpucol_pipe_map(state->exec.joins->pipe, key), &value) ||
			!gpucol_topn_stream_key(top, i, state->ncolumns + i, &value))
			break;
	}
	state->exec.top = gpucol_topn_stream_bound(top);
}

/* Lower the pipe and the columns. */
static bool
lower_join(GpucolExec *exec, GpucolLower *l)
{
	GpucolJoinState *state = (GpucolJoinState *) exec->node;
	const GpucolPipe *pipe = exec->joins->pipe;
	ListCell   *lc;

	if (!gpucol_pipe_lower(l, pipe))
		return false;
	foreach(lc, state->columns)
	{
		Node	   *column = lfirst(lc);
		GpucolValue value;

		if (!gpucol_lower_output(l, (Expr *) gpucol_pipe_map(pipe, column), &value))
			return false;
		gpucol_output_init(&state->outputs[foreach_current_index(lc)], exprType(column),
						   exprTypmod(column), exprCollation(column), &value);
	}
	lower_keys(state, l);
	return true;
}

static void
join_begin(CustomScanState *node, EState *estate, int eflags)
{
	GpucolJoinState *state = (GpucolJoinState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	List	   *above;
	GpucolPipe *pipe = gpucol_join_load(linitial(cscan->custom_private),
										llast_node(TargetEntry, cscan->custom_scan_tlist),
										&above);

	state->columns = list_truncate(list_copy(above), state->ncolumns);
	gpucol_topn_stream_init(&state->top, list_copy_tail(above, state->ncolumns),
							lsecond(cscan->custom_private));
	gpucol_check_rights(linitial(cscan->custom_plans), eflags);
	gpucol_numeric_math_install_node(&node->ss.ps);
	state->eflags = eflags;
	gpucol_replay_init(&state->replay, eflags);
	/* the ordinary plan may deliver slots that are still to be deformed */
	node->ss.ps.resultopsfixed = false;
	state->outputs = palloc0(Max(state->ncolumns, 1) * sizeof(GpucolOutput));
	state->values = palloc0(Max(state->ncolumns, 1) * sizeof(Datum *));
	state->isnull = palloc0(Max(state->ncolumns, 1) * sizeof(bool *));
	state->batch_context = AllocSetContextCreate(estate->es_query_cxt, "gpucol join batch",
												 ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
	state->children = gpucol_join_children_init(node, estate, eflags);
	node->custom_ps = list_copy(state->children);
	gpucol_joins_init(&state->exec, node, pipe, state->columns, state->children, eflags,
					  GPUCOL_PROGRAM_SCAN, lower_join);
}

/* The next result of the engine. */
static GpucolStatus
next_result(GpucolJoinState *state, GpucolResult *result)
{
	GpucolExec *exec = &state->exec;

	if (!exec->checked && (exec->rel != NULL || exec->nparts > 0) &&
		!gpucol_run_check_values(exec, gpucol_run_read_columns(exec), false))
		return GPUCOL_UNSUPPORTED;
	return gpucol_run_next(exec, result);
}

/* Load the next batch of the engine. */
static GpucolStatus
next_batch(GpucolJoinState *state)
{
	GpucolResult result;
	GpucolStatus status = next_result(state, &result);

	if (status != GPUCOL_OK)
		return status;
	if (state->top.nkeys > 0)
		gpucol_topn_stream_pick(&state->top, gpucol_run_budget(&state->exec), state->ncolumns, &result);
	gpucol_outputs_load(state->batch_context, state->outputs, state->ncolumns, &result,
						state->values, state->isnull);
	state->nrows = result.nrows;
	state->next = 0;
	return GPUCOL_OK;
}

/* ExecScan's access method: the next row, or none where the node must fall back. */
static TupleTableSlot *
next_row(ScanState *node)
{
	GpucolJoinState *state = (GpucolJoinState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	while (state->next >= state->nrows)
	{
		if (next_batch(state) != GPUCOL_OK)
			return slot;
	}
	for (int i = 0; i < state->ncolumns; i++)
	{
		slot->tts_values[i] = state->values[i][state->next];
		slot->tts_isnull[i] = state->isnull[i][state->next];
	}
	state->next++;
	return ExecStoreVirtualTuple(slot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_row, next_row)

/* Initialise the ordinary plan. */
static void
begin_fallback(GpucolJoinState *state)
{
	gpucol_topn_stream_reset(&state->top);
	gpucol_run_end(&state->exec);
	gpucol_join_children_release(state->children);
	state->fallback = gpucol_begin_fallback(&state->css, state->eflags);
	state->css.ss.ps.qual = NULL;
}

/* The next row of the ordinary plan, whose tuples are scan tuples. */
static TupleTableSlot *
next_plain(ScanState *node)
{
	GpucolJoinState *state = (GpucolJoinState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	TupleTableSlot *from = ExecProcNode(state->fallback);
	int			ncolumns;

	ExecClearTuple(slot);
	if (TupIsNull(from))
		return slot;
	slot_getallattrs(from);
	ncolumns = Min(state->ncolumns, from->tts_tupleDescriptor->natts);
	memcpy(slot->tts_values, from->tts_values, ncolumns * sizeof(Datum));
	memcpy(slot->tts_isnull, from->tts_isnull, ncolumns * sizeof(bool));
	memset(slot->tts_isnull + ncolumns, true, (state->ncolumns - ncolumns) * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_plain, next_plain)

/* The next row of the run or of the ordinary plan. */
static TupleTableSlot *
fetch_row(CustomScanState *node)
{
	GpucolJoinState *state = (GpucolJoinState *) node;
	TupleTableSlot *slot;

	if (state->done)
		return NULL;
	if (state->fallback == NULL)
	{
		slot = ExecScan(&node->ss, next_row, recheck_row);
		if (state->exec.fallback == NULL)
		{
			state->done = TupIsNull(slot);
			if (state->done)
				gpucol_run_end(&state->exec);	/* a node above may go on for long */
			return slot;
		}
		begin_fallback(state);
	}
	return ExecScan(&node->ss, next_plain, recheck_plain);
}

static TupleTableSlot *
join_exec(CustomScanState *node)
{
	return gpucol_replay_next(&((GpucolJoinState *) node)->replay, node, fetch_row);
}

/* Can the rows be had in batches (GpucolBatchOps)?  Not if some are to be picked of them, or kept. */
static bool
join_offer(CustomScanState *node, PlanState *above pg_attribute_unused(), List *conditions pg_attribute_unused())
{
	GpucolJoinState *state = (GpucolJoinState *) node;


	return node->ss.ps.plan->qual == NIL && state->top.nkeys == 0 && !state->replay.wanted && state->fallback == NULL &&
		gpucol_batch_compute_offer(&state->compute, &node->ss.ps, NULL, state->ncolumns,
								   node->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
}

/* The next result of which a batch is made; tuples where the ordinary plan makes them. */
static GpucolStatus
take_result(GpucolJoinState *state)
{
	GpucolResult result;
	GpucolStatus status;

	if (state->done)
		return GPUCOL_END;
	if (state->fallback != NULL)
		return GPUCOL_UNSUPPORTED;
	status = next_result(state, &result);
	if (state->exec.fallback != NULL)
	{
		begin_fallback(state);
		return GPUCOL_UNSUPPORTED;
	}
	state->done = status == GPUCOL_END;
	if (state->done)
	{
		gpucol_run_end(&state->exec);
		gpucol_batch_compute_reset(state->compute);
	}
	if (status == GPUCOL_OK)
		gpucol_batch_compute_take(state->compute, result.nrows, state->outputs, result.columns,
								  state->exec.engine != &gpucol_engine_cpu);
	return status;
}

/* The next batch. */
static GpucolStatus
join_next_batch(CustomScanState *node, GpucolBatch *batch)
{
	GpucolJoinState *state = (GpucolJoinState *) node;

	ResetExprContext(node->ss.ps.ps_ExprContext);
	while (!gpucol_batch_compute_next(state->compute, batch))
	{
		GpucolStatus status = take_result(state);

		if (status != GPUCOL_OK)
			return status;
	}
	state->exec.delivered = true;
	return GPUCOL_OK;
}

const GpucolBatchOps gpucol_join_batches = {
	.offer = join_offer,
	.next = join_next_batch,
};

static void
join_end(CustomScanState *node)
{
	GpucolJoinState *state = (GpucolJoinState *) node;

	gpucol_replay_end(&state->replay);
	gpucol_topn_stream_reset(&state->top);
	gpucol_run_end(&state->exec);
	gpucol_joins_close(&state->exec);
	gpucol_join_children_end(state->children);
	if (state->fallback != NULL)
		ExecEndNode(state->fallback);
}

static void
join_rescan(CustomScanState *node)
{
	GpucolJoinState *state = (GpucolJoinState *) node;

	if (gpucol_replay_rewind(&state->replay, node))
		return;
	gpucol_topn_stream_reset(&state->top);
	gpucol_run_end(&state->exec);
	state->nrows = state->next = 0;
	state->done = false;
	ExecScanReScan(&node->ss);
	gpucol_join_children_rescan(node, state->children);
	gpucol_run_rescan_fallback(node, state->fallback);
}

/* The sort keys as they are written after ORDER BY, and the limit, if it is one of all rows. */
static void
explain_top(GpucolJoinState *state, List *ancestors, ExplainState *es)
{
	const GpucolTopnStream *top = &state->top;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
	List	   *keys = NIL;

	for (int i = 0; i < top->nkeys; i++)
		keys = lappend(keys, psprintf("%s%s", deparse_expression((Node *) top->keys[i].sort.expr, context, true, true),
									  top->keys[i].sort.descending ? " DESC" : ""));
	if (keys == NIL)
		return;
	if (top->k == 0)
	{
		ExplainPropertyList("First Of Each Row", keys, es);
		return;
	}
	ExplainPropertyList("Top Key", keys, es);
	ExplainPropertyInteger("Top Rows", NULL, top->k, es);
	if (es->analyze && top->too_much)
		ExplainPropertyText("Top Rows Not Sought", "their sort keys exceed gpucol.memory_limit", es);
}

static void
join_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpucolJoinState *state = (GpucolJoinState *) node;

	gpucol_explain_input(&state->exec, es);
	gpucol_explain_parts(&state->exec, es);
	gpucol_explain_engine(&state->exec, gpucol_run_read_columns(&state->exec), es);
	gpucol_explain_filter(&state->exec, state->exec.joins->pipe->conditions, ancestors, es);
	gpucol_explain_columns(&state->exec, gpucol_run_read_columns(&state->exec), es);
	explain_top(state, ancestors, es);
	gpucol_run_end(&state->exec);
	gpucol_explain_joins(&state->exec, ancestors, es);
	gpucol_batch_compute_explain(state->compute, ancestors, es);
	gpucol_explain_stats(&state->exec, es);
}
