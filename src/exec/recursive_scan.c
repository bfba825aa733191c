/*-------------------------------------------------------------------------
 *
 * recursive_scan.c
 *	  GpucolRecursiveScan: the rows of a recursion that pass conditions, and the
 *	  first of them by a sort key.
 *
 * The node stands where a scan of the CTE would stand.  It reads the state of the
 * CTE's plan, which must be a GpucolRecursive that nobody else reads: batches go
 * from the engine of the recursion through a SCAN program (run.h), and only rows
 * that pass become tuples.  PostgreSQL's scan would keep a copy of every row
 * instead.  In exchange a rescan runs the recursion again; the planner knows and
 * puts a Material node in between.
 *
 * Below Sort and Limit the node reads everything first and keeps what can be among
 * the first k by the first sort key: those not worse than the k-th best so far,
 * ties included.
 *
 * custom_exprs: the conditions, then the sort key if there is one.  custom_plans:
 * the ordinary scan, for the fallback.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "datalog/values.h"
#include "exec/explain.h"
#include "exec/recursive_state.h"
#include "exec/result.h"
#include "exec/run.h"
#include "exec/topk_probe.h"

/* The best rows are sorted out whenever this many more than k are kept. */
#define SPARE_ROWS	4096

/* Rows that can be among the first k. */
typedef struct Top
{
	Expr	   *key;
	bool		descending;
	bool		nulls_first;
	GpucolTopkBest best;
	MemoryContext context;		/* of the rows' values */
	int64	   *orders;			/* directed, by row */
	Datum	   *values;			/* by row and output */
	bool	   *isnull;
	int64		nrows;
	int64		allocated;
	int64		seen;
	bool		done;
} Top;

typedef struct RecursiveScanState
{
	CustomScanState css;
	GpucolExec	exec;
	int			eflags;
	List	   *pushed;			/* conditions that the engine tests */

	/* output columns */
	int			noutputs;
	AttrNumber *attnums;
	GpucolOutput *outputs;

	/* current batch as datums */
	MemoryContext batch_context;
	int64		nrows;
	int64		next;
	Datum	  **values;			/* by output */
	bool	  **isnull;

	Top		   *top;			/* or NULL */
	PlanState  *fallback;		/* ordinary scan, once needed */
} RecursiveScanState;

/* ---- the program ---- */

/* Columns of the CTE in expressions of the node. */
static Bitmapset *
used_columns(List *exprs)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *result = NULL;
	int			member = -1;

	pull_varattnos((Node *) exprs, INDEX_VAR, &attnos);
	while ((member = bms_next_member(attnos, member)) >= 0)
		result = bms_add_member(result,
								member + FirstLowInvalidHeapAttributeNumber);
	return result;
}

/* Lower the conditions, the output columns and the sort key. */
static bool
lower_scan(GpucolExec *exec, GpucolLower *l)
{
	RecursiveScanState *state = (RecursiveScanState *) exec->node;
	GpucolValue value;
	ListCell   *lc;

	foreach(lc, state->pushed)
		if (!gpucol_lower_qual(l, lfirst(lc), true))
			return false;
	gpucol_lower_end_filter(l);
	for (int i = 0; i < state->noutputs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(exec->desc, state->attnums[i] - 1);
		Var		   *var = makeVar(INDEX_VAR, state->attnums[i], att->atttypid,
								  att->atttypmod, att->attcollation, 0);

		if (!gpucol_lower_output(l, (Expr *) var, &value))
			return false;
		gpucol_output_init(&state->outputs[i], att->atttypid, att->atttypmod,
						   att->attcollation, &value);
	}
	return state->top == NULL || gpucol_lower_output(l, state->top->key, &value);
}

/* ---- life ---- */

/* Note the output columns; the others stay NULL in the scan slot. */
static void
init_outputs(RecursiveScanState *state)
{
	Plan	   *plan = state->css.ss.ps.plan;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Bitmapset  *columns = used_columns(list_concat_copy(plan->targetlist,
														plan->qual));
	int			n = bms_num_members(columns);
	int			attnum = -1;

	state->attnums = palloc(Max(n, 1) * sizeof(AttrNumber));
	state->outputs = palloc0(Max(n, 1) * sizeof(GpucolOutput));
	state->values = palloc(Max(n, 1) * sizeof(Datum *));
	state->isnull = palloc(Max(n, 1) * sizeof(bool *));
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		state->attnums[state->noutputs++] = attnum;
	memset(slot->tts_values, 0,
		   slot->tts_tupleDescriptor->natts * sizeof(Datum));
	memset(slot->tts_isnull, true,
		   slot->tts_tupleDescriptor->natts * sizeof(bool));
}

/* Read the sort key and the limit, if there are any. */
static void
init_top(RecursiveScanState *state, const CustomScan *cscan, List *limit)
{
	Top		   *top;

	if (limit == NIL)
		return;
	state->top = top = palloc0(sizeof(Top));
	top->key = llast(cscan->custom_exprs);
	state->pushed = list_delete_last(list_copy(cscan->custom_exprs));
	top->descending = intVal(lsecond(limit));
	top->nulls_first = intVal(lthird(limit));
	gpucol_topk_best_init(&top->best, (int64) floatVal(linitial(limit)),
						  top->descending);
	top->context = AllocSetContextCreate(CurrentMemoryContext,
										 "gpucol recursion top rows",
										 ALLOCSET_DEFAULT_SIZES);
}

static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	RecursiveScanState *state = (RecursiveScanState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	TargetEntry *column = linitial(cscan->custom_scan_tlist);
	int			plan_id = intVal(linitial(cscan->custom_private));

	state->eflags = eflags;
	state->pushed = cscan->custom_exprs;
	gpucol_run_init_recursion(&state->exec, node,
							  list_nth(estate->es_subplanstates, plan_id - 1),
							  castNode(Var, column->expr)->varno, INDEX_VAR,
							  GPUCOL_PROGRAM_SCAN, lower_scan);
	state->exec.checked = true;
	state->exec.withholds = lsecond(cscan->custom_private) != NIL;
	state->batch_context = AllocSetContextCreate(estate->es_query_cxt,
												 "gpucol recursion batch",
												 ALLOCSET_DEFAULT_SIZES);
	init_outputs(state);
	init_top(state, cscan, lsecond(cscan->custom_private));
}

/* Initialise the ordinary scan, of which the recursion is read anew. */
static void
begin_fallback(RecursiveScanState *state)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	gpucol_recursive_restart(state->exec.recursion);
	state->fallback = ExecInitNode(linitial(cscan->custom_plans), estate,
								   state->eflags);
	state->css.custom_ps = list_make1(state->fallback);
	MemoryContextSwitchTo(old);
}

/* ---- batches ---- */

/* Turn the engine's batch into datums. */
static void
load_batch(RecursiveScanState *state, const GpucolResult *result)
{
	gpucol_outputs_load(state->batch_context, state->outputs, state->noutputs, result,
						state->values, state->isnull);
	state->nrows = result->nrows;
	state->next = 0;
}

/* Next batch; false at the end and where the node must fall back. */
static bool
next_batch(RecursiveScanState *state, GpucolResult *result)
{
	return gpucol_run_next(&state->exec, result) == GPUCOL_OK;
}

/* ---- top rows ---- */

/* Drop the rows that are worse than the k-th best. */
static void
drop_worse(RecursiveScanState *state)
{
	Top		   *top = state->top;
	MemoryContext kept = AllocSetContextCreate(MemoryContextGetParent(top->context),
											   "gpucol recursion top rows",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(kept);
	int			width = state->noutputs;
	int64		n = 0;

	for (int64 row = 0; row < top->nrows; row++)
	{
		if (top->best.filled == top->best.k && top->orders[row] < top->best.heap[0])
			continue;
		top->orders[n] = top->orders[row];
		for (int i = 0; i < width; i++)
		{
			const GpucolTypeMap *map = &state->outputs[i].map;
			Datum		value = top->values[row * width + i];

			top->isnull[n * width + i] = top->isnull[row * width + i];
			top->values[n * width + i] = top->isnull[n * width + i] ? (Datum) 0 :
				datumCopy(value, map->typbyval, map->typlen);
		}
		n++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(top->context);
	top->context = kept;
	top->nrows = n;
}

/* Make room for one more row. */
static void
reserve_row(RecursiveScanState *state)
{
	Top		   *top = state->top;
	MemoryContext context = state->css.ss.ps.state->es_query_cxt;
	Size		width = Max(state->noutputs, 1);

	if (top->nrows < top->allocated)
		return;
	if (top->allocated > 0)
		drop_worse(state);
	if (top->nrows < top->allocated / 2)
		return;
	top->allocated = top->allocated == 0 ? top->best.k + SPARE_ROWS :
		top->allocated * 2;
	if (top->orders == NULL)
	{
		top->orders = MemoryContextAllocHuge(context, top->allocated * sizeof(int64));
		top->values = MemoryContextAllocHuge(context, top->allocated * width * sizeof(Datum));
		top->isnull = MemoryContextAllocHuge(context, top->allocated * width * sizeof(bool));
		return;
	}
	top->orders = repalloc_huge(top->orders, top->allocated * sizeof(int64));
	top->values = repalloc_huge(top->values, top->allocated * width * sizeof(Datum));
	top->isnull = repalloc_huge(top->isnull, top->allocated * width * sizeof(bool));
}

/* Where a row of the batch stands in the wanted order: the more, the sooner. */
static int64
directed_order(const Top *top, const GpucolResultColumn *key, uint32 row)
{
	if (key->nulls != NULL && key->nulls[row])
		return top->nulls_first ? PG_INT64_MAX : PG_INT64_MIN;
	return gpucol_topk_directed(&top->best, gpucol_topk_order(key, row));
}

/* Keep a row of the batch. */
static void
keep_row(RecursiveScanState *state, int64 order, uint32 row)
{
	Top		   *top = state->top;
	MemoryContext old;
	int			width = state->noutputs;

	reserve_row(state);
	old = MemoryContextSwitchTo(top->context);
	for (int i = 0; i < width; i++)
	{
		const GpucolTypeMap *map = &state->outputs[i].map;
		bool		isnull = state->isnull[i][row];

		top->isnull[top->nrows * width + i] = isnull;
		top->values[top->nrows * width + i] = isnull ? (Datum) 0 :
			datumCopy(state->values[i][row], map->typbyval, map->typlen);
	}
	MemoryContextSwitchTo(old);
	top->orders[top->nrows++] = order;
}

/* Take in a batch. */
static void
add_batch(RecursiveScanState *state, const GpucolResult *result)
{
	Top		   *top = state->top;
	const GpucolResultColumn *key = &result->columns[state->noutputs];
	bool		loaded = false;

	top->seen += result->nrows;
	for (uint32 row = 0; row < result->nrows; row++)
	{
		int64		order = directed_order(top, key, row);

		if (top->best.filled == top->best.k && order < top->best.heap[0])
			continue;
		if (!loaded)
			load_batch(state, result);
		loaded = true;
		if (top->best.filled < top->best.k || order > top->best.heap[0])
			gpucol_topk_best_replace(&top->best, order);
		keep_row(state, order, row);
	}
}

/* Read everything, keeping the top rows, which become the batch to deal from. */
static void
collect_top(RecursiveScanState *state)
{
	Top		   *top = state->top;
	GpucolResult result;

	while (next_batch(state, &result))
		add_batch(state, &result);
	if (state->exec.fallback != NULL)
		return;
	drop_worse(state);
	top->done = true;
	state->nrows = top->nrows;
	state->next = 0;
}

/* ---- rows ---- */

/* Put the next row at hand into the scan slot. */
static TupleTableSlot *
store_row(RecursiveScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	int64		row = state->next++;

	ExecClearTuple(slot);
	for (int i = 0; i < state->noutputs; i++)
	{
		int			att = state->attnums[i] - 1;
		int64		at = row * state->noutputs + i;

		slot->tts_values[att] = state->top ? state->top->values[at] :
			state->values[i][row];
		slot->tts_isnull[att] = state->top ? state->top->isnull[at] :
			state->isnull[i][row];
	}
	return ExecStoreVirtualTuple(slot);
}

/* ExecScan's access method: the next row, or the fallback's need. */
static TupleTableSlot *
next_row(ScanState *node)
{
	RecursiveScanState *state = (RecursiveScanState *) node;
	GpucolResult result;

	if (state->top != NULL && !state->top->done)
		collect_top(state);
	while (state->next >= state->nrows)
	{
		if (state->top != NULL || !next_batch(state, &result))
			return ExecClearTuple(node->ss_ScanTupleSlot);
		load_batch(state, &result);
	}
	return store_row(state);
}

/* As in an EvalPlanQual every node without scanrelid does: deliver a row. */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot pg_attribute_unused())
{
	return !TupIsNull(next_row(node));
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	RecursiveScanState *state = (RecursiveScanState *) node;
	TupleTableSlot *slot;

	if (state->fallback != NULL)
		return ExecProcNode(state->fallback);
	slot = ExecScan(&node->ss, next_row, recheck_row);
	if (state->exec.fallback == NULL)
		return slot;
	begin_fallback(state);
	return ExecProcNode(state->fallback);
}

/* Let go of the engine, and of the top rows. */
static void
stop(RecursiveScanState *state)
{
	Top		   *top = state->top;

	gpucol_run_end(&state->exec);
	state->nrows = state->next = 0;
	if (top == NULL)
		return;
	MemoryContextReset(top->context);
	top->nrows = top->best.filled = top->seen = 0;
	top->done = false;
}

static void
scan_end(CustomScanState *node)
{
	RecursiveScanState *state = (RecursiveScanState *) node;

	stop(state);
	if (state->fallback != NULL)
		ExecEndNode(state->fallback);
}

static void
scan_rescan(CustomScanState *node)
{
	RecursiveScanState *state = (RecursiveScanState *) node;

	stop(state);
	ExecScanReScan(&node->ss);
	if (state->fallback == NULL)
		return;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(state->fallback, node->ss.ps.chgParam);
	if (state->fallback->chgParam == NULL)
		ExecReScan(state->fallback);
}

/* The sort key and the limit. */
static void
explain_top(RecursiveScanState *state, List *ancestors, ExplainState *es)
{
	List	   *context;

	if (state->top == NULL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan,
									   ancestors);
	ExplainPropertyText("Top Key",
						psprintf("%s%s",
								 deparse_expression((Node *) state->top->key,
													context, es->verbose, true),
								 state->top->descending ? " DESC" : ""), es);
	ExplainPropertyInteger("Top Rows", NULL, state->top->best.k, es);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	RecursiveScanState *state = (RecursiveScanState *) node;

	gpucol_explain_input(&state->exec, es);
	gpucol_explain_filter(&state->exec, state->pushed, ancestors, es);
	explain_top(state, ancestors, es);
	gpucol_explain_stats(&state->exec, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolRecursiveScan",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.ExplainCustomScan = scan_explain,
};

static Node *
create_state(CustomScan *cscan pg_attribute_unused())
{
	RecursiveScanState *state =
		(RecursiveScanState *) newNode(sizeof(RecursiveScanState),
									   T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods gpucol_recursive_scan_scan_methods = {
	.CustomName = "GpucolRecursiveScan",
	.CreateCustomScanState = create_state,
};
