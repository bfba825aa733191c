/*-------------------------------------------------------------------------
 *
 * datalog.c
 *	  GpucolDatalog: the rows of gpucol.datalog(program, output) as they are derived.
 *
 * custom_exprs is three lists: the two arguments of the function, the values that the
 * program is asked for, and the conditions that they come from, which are among those
 * that each row is tested for and are there for EXPLAIN; custom_private the columns of
 * the values and the function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "exec/recheck.h"
#include "exec/rights.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "recursion/exec/state.h"
#include "recursion/front/datalog.h"

typedef struct DatalogState
{
	CustomScanState css;
	List	   *args;			/* ExprState */
	List	   *values;			/* ExprState */
	const List *columns;		/* of them */
	GpucolDatalog *datalog;		/* once it has been started */
	bool		ended;
	bool		all_asked;		/* every value was there to be asked for */
	GpucolRecProgress progress;
	List	   *rules;			/* char *, for EXPLAIN ANALYZE */
} DatalogState;

static void
begin_datalog(CustomScanState *node, EState *estate pg_attribute_unused(),
			  int eflags pg_attribute_unused())
{
	DatalogState *state = (DatalogState *) node;
	const CustomScan *scan = (const CustomScan *) node->ss.ps.plan;
	Oid			function = linitial_oid(lsecond(scan->custom_private));

	gpucol_check_right(function, GetUserId(), OBJECT_FUNCTION);
	InvokeFunctionExecuteHook(function);
	state->args = ExecInitExprList(linitial(scan->custom_exprs), &node->ss.ps);
	state->values = ExecInitExprList(lsecond(scan->custom_exprs), &node->ss.ps);
	state->columns = linitial(scan->custom_private);
}

/* What the program is asked for; their number. */
static int
find_conditions(DatalogState *state, GpucolDatalogCondition *conditions)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	int			n = 0;
	ListCell   *lc;

	state->all_asked = true;
	foreach(lc, state->values)
	{
		int			i = foreach_current_index(lc);
		bool		isnull;

		conditions[n].column = list_nth_int(state->columns, i);
		conditions[n].type = exprType(list_nth(lsecond(scan->custom_exprs), i));
		conditions[n].value = ExecEvalExprSwitchContext(lfirst(lc), state->css.ss.ps.ps_ExprContext,
														&isnull);
		/* nothing equals a null: the rows are tested for that */
		if (isnull)
			state->all_asked = false;
		else
			n++;
	}
	return n;
}

/* Start the program, unless there is none. */
static void
start_program(DatalogState *state)
{
	PlanState  *ps = &state->css.ss.ps;
	GpucolDatalogCondition *conditions;
	Datum		args[2];
	bool		isnull;
	MemoryContext old;
	int			n;

	ResetExprContext(ps->ps_ExprContext);
	for (int i = 0; i < 2; i++)
	{
		args[i] = ExecEvalExprSwitchContext(list_nth(state->args, i), ps->ps_ExprContext, &isnull);
		if (isnull)
		{
			state->ended = true;
			return;
		}
	}
	conditions = palloc(sizeof(GpucolDatalogCondition) * (list_length(state->values) + 1));
	n = find_conditions(state, conditions);
	old = MemoryContextSwitchTo(ps->state->es_query_cxt);
	state->datalog = gpucol_datalog_open(TextDatumGetCString(args[0]), TextDatumGetCString(args[1]),
										 state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor,
										 n, conditions);
	if (ps->instrument != NULL)
		state->rules = gpucol_datalog_rules(state->datalog);
	MemoryContextSwitchTo(old);
	state->all_asked &= gpucol_datalog_all_asked(state->datalog);
	pfree(conditions);
}

static void
end_program(DatalogState *state)
{
	if (state->datalog != NULL)
	{
		gpucol_datalog_progress(state->datalog, &state->progress);
		gpucol_datalog_close(state->datalog);
	}
	state->datalog = NULL;
	state->ended = true;
}

/* ExecScan: the next row; its values live as long as the expression context's. */
static TupleTableSlot *
next_row(ScanState *node)
{
	DatalogState *state = (DatalogState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	MemoryContext old;
	bool		found;

	ExecClearTuple(slot);
	if (state->datalog == NULL && !state->ended)
		start_program(state);
	if (state->ended)
		return slot;
	old = MemoryContextSwitchTo(node->ps.ps_ExprContext->ecxt_per_tuple_memory);
	found = gpucol_datalog_fetch(state->datalog, slot->tts_values);
	MemoryContextSwitchTo(old);
	if (!found)
	{
		end_program(state);
		return slot;
	}
	memset(slot->tts_isnull, 0, sizeof(bool) * slot->tts_tupleDescriptor->natts);
	return ExecStoreVirtualTuple(slot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_row, next_row)

static TupleTableSlot *
exec_datalog(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
end_datalog(CustomScanState *node)
{
	end_program((DatalogState *) node);
}

static void
rescan_datalog(CustomScanState *node)
{
	end_program((DatalogState *) node);
	((DatalogState *) node)->ended = false;
	ExecScanReScan(&node->ss);
}

/* ---- batches ---- */

void
gpucol_datalog_node_restart(PlanState *planstate)
{
	const DatalogState *state = (const DatalogState *) planstate;
	MemoryContext old = MemoryContextSwitchTo(planstate->state->es_query_cxt);

	if (state->datalog != NULL || state->ended || planstate->chgParam != NULL)
		ExecReScan(planstate);
	MemoryContextSwitchTo(old);
}

bool
gpucol_datalog_node_fetch(PlanState *planstate, GpucolRecBatch *batch)
{
	DatalogState *state = (DatalogState *) planstate;
	bool		more;

	if (planstate->instrument)
		InstrStartNode(planstate->instrument);
	if (state->datalog == NULL && !state->ended)
		start_program(state);
	more = !state->ended && gpucol_datalog_fetch_batch(state->datalog, batch);
	if (!more)
		end_program(state);
	if (planstate->instrument)
		InstrStopNode(planstate->instrument, more ? batch->nrows : 0);
	return more;
}

Datum
gpucol_datalog_node_datum(const PlanState *planstate, int column, int64 value)
{
	return gpucol_datalog_datum(((const DatalogState *) planstate)->datalog, column, value);
}

bool
gpucol_datalog_node_in_place(const PlanState *planstate, int column)
{
	return gpucol_datalog_in_place(((const DatalogState *) planstate)->datalog, column);
}

/* ---- aggregates ---- */

/* Add a value to the summary of its column. */
static void
summarise_value(GpucolRecSummary *column, int64 value)
{
	if (column->count == 0 || value < column->min)
		column->min = value;
	if (column->count == 0 || value > column->max)
		column->max = value;
	column->sum += value;
	column->count++;
}

/* Form the rows, test them and summarise what is left. */
static uint64
summarise_rows(DatalogState *state, const bool *want, GpucolRecSummary *columns)
{
	ScanState  *node = &state->css.ss;
	ExprContext *econtext = node->ps.ps_ExprContext;
	TupleDesc	desc = node->ss_ScanTupleSlot->tts_tupleDescriptor;
	TupleTableSlot *slot;
	uint64		nrows = 0;

	memset(columns, 0, sizeof(*columns) * desc->natts);
	for (;;)
	{
		ResetExprContext(econtext);
		slot = next_row(node);
		if (TupIsNull(slot))
			return nrows;
		CHECK_FOR_INTERRUPTS();
		econtext->ecxt_scantuple = slot;
		if (node->ps.qual != NULL && !ExecQual(node->ps.qual, econtext))
			continue;
		nrows++;
		for (int c = 0; c < desc->natts; c++)
			if (want[c] && TupleDescAttr(desc, c)->atttypid == INT4OID)
				summarise_value(&columns[c], DatumGetInt32(slot->tts_values[c]));
			else if (want[c] && TupleDescAttr(desc, c)->atttypid == INT8OID)
				summarise_value(&columns[c], DatumGetInt64(slot->tts_values[c]));
			else
				columns[c].count++;
	}
}

uint64
gpucol_datalog_node_summarise(PlanState *planstate, const bool *want, GpucolRecSummary *columns)
{
	DatalogState *state = (DatalogState *) planstate;
	uint64		nrows = 0;

	if (planstate->instrument)
		InstrStartNode(planstate->instrument);
	if (state->datalog == NULL && !state->ended)
		start_program(state);
	if (state->datalog == NULL || !state->all_asked ||
		!gpucol_datalog_summarise(state->datalog, want, &nrows, columns))
		nrows = summarise_rows(state, want, columns);
	end_program(state);
	if (planstate->instrument)
		InstrStopNode(planstate->instrument, (double) nrows);
	return nrows;
}

/* ---- EXPLAIN ---- */

static void
explain_datalog(CustomScanState *node, List *ancestors, ExplainState *es)
{
	DatalogState *state = (DatalogState *) node;
	const CustomScan *scan = (const CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *conditions = lthird(scan->custom_exprs);
	ListCell   *lc;

	ExplainPropertyText("Relation",
						deparse_expression(lsecond(linitial(scan->custom_exprs)), context,
										   false, false), es);
	if (conditions != NIL)
		ExplainPropertyText("Asked For",
							deparse_expression((Node *) make_ands_explicit(conditions), context,
											   es->verbose, false), es);
	if (state->datalog != NULL)
		gpucol_datalog_progress(state->datalog, &state->progress);
	if (!es->analyze || state->progress.method == NULL)
		return;
	if (es->verbose)
		foreach(lc, state->rules)
			ExplainPropertyText("Rule", lfirst(lc), es);
	ExplainPropertyText("Engine", state->progress.engine, es);
	ExplainPropertyText("Method", state->progress.method, es);
	ExplainPropertyUInteger("Rounds", NULL, state->progress.rounds, es);
	ExplainPropertyUInteger("Threads", NULL, state->progress.threads, es);
	ExplainPropertyUInteger("Peak Memory", "kB", state->progress.peak_bytes / 1024, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolDatalog",
	.BeginCustomScan = begin_datalog,
	.ExecCustomScan = exec_datalog,
	.EndCustomScan = end_datalog,
	.ReScanCustomScan = rescan_datalog,
	.ExplainCustomScan = explain_datalog,
};

static Node *
create_state(CustomScan *scan pg_attribute_unused())
{
	DatalogState *state = (DatalogState *) newNode(sizeof(DatalogState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

bool
gpucol_datalog_is_state(const PlanState *state)
{
	return IsA(state, CustomScanState) &&
		((const CustomScanState *) state)->methods == &exec_methods;
}

const CustomScanMethods gpucol_datalog_scan_methods = {
	.CustomName = "GpucolDatalog",
	.CreateCustomScanState = create_state,
};
