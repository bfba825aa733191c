/*-------------------------------------------------------------------------
 *
 * scan.c
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
 * Below Sort and Limit the node keeps what can be among the first k by the first
 * sort keys: those not worse than the k-th best so far, ties included if other keys
 * follow or all ties are wanted.  They are handed on when everything has been read,
 * or as soon as they exceed work_mem: Sort can do with more rows than are needed.
 *
 * custom_exprs: the conditions, then the sort keys if there are any.  custom_plans:
 * the ordinary scan, which is never run: in a fallback the rows of GpucolRecursive
 * are read one by one.  Above gpucol.datalog, it is the GpucolDatalog that is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "exec/recheck.h"
#include "exec/rights.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "recursion/front/values.h"
#include "exec/explain.h"
#include "plan/wing.h"
#include "recursion/exec/state.h"
#include "exec/row_scan.h"
#include "exec/topn_orders.h"

/* The best rows are sorted out whenever this many more than k are kept. */
#define SPARE_ROWS	4096

/* Rows that can be among the first k. */
typedef struct Top
{
	List	   *exprs;			/* the keys */
	GpucolTopnKey keys[GPUCOL_SHAPE_MAX_KEYS];
	bool		all_ties;		/* rows that tie with the k-th all matter */
	GpucolTopnOrders best;
	MemoryContext context;		/* of the rows' values */
	int64	   *places;			/* in the order, by row */
	Datum	  **values;			/* by output and row */
	bool	  **isnull;
	int64		nrows;
	int64		allocated;
	int64		kept;			/* rows when the worse ones were last dropped */
	bool		ended;			/* everything has been read */
	bool		handed_on;		/* the rows kept are the batch being dealt */
} Top;

typedef struct RecursiveScanState
{
	GpucolRowScan rows;
	Top		   *top;			/* or NULL */
} RecursiveScanState;

static const GpucolRowScanMethods row_methods;

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

/* Lower the conditions, the output columns and the sort keys. */
static bool
lower_scan(GpucolExec *exec, GpucolLower *l)
{
	RecursiveScanState *state = (RecursiveScanState *) exec->node;
	GpucolValue value;
	ListCell   *lc;

	foreach(lc, state->rows.pushed)
		if (!gpucol_lower_qual(l, lfirst(lc), true))
			return false;
	gpucol_lower_end_filter(l);
	if (!gpucol_row_scan_lower(&state->rows, l, exec->desc))
		return false;
	if (state->top != NULL)
		foreach(lc, state->top->exprs)
			if (!gpucol_lower_output(l, lfirst(lc), &value))
				return false;
	return true;
}

/* ---- life ---- */

/* Bytes of a row that is kept, without what its datums point to. */
static Size
top_row_bytes(const RecursiveScanState *state, int nkeys)
{
	return sizeof(int64) * (nkeys + 1) + state->rows.noutputs * (sizeof(Datum) + sizeof(bool));
}

/* Have as many rows as are wanted room in work_mem?  Else all are for the Sort above. */
static bool
top_fits(const RecursiveScanState *state, List *limit)
{
	return (Size) intVal(linitial(limit)) * top_row_bytes(state, list_length(lthird(limit))) <=
		(Size) work_mem * 1024;
}

/* Read the sort keys, which come after the conditions, and the limit. */
static void
init_top(RecursiveScanState *state, const CustomScan *cscan, List *limit)
{
	List	   *descending = lthird(limit);
	List	   *nulls_first = lfourth(limit);
	Top		   *top;
	ListCell   *lc;

	state->rows.exec.withholds = true;
	state->top = top = palloc0(sizeof(Top));
	top->exprs = list_copy_tail(cscan->custom_exprs, list_length(state->rows.pushed));
	foreach(lc, top->exprs)
	{
		int			i = foreach_current_index(lc);

		top->keys[i].sort.expr = lfirst(lc);
		top->keys[i].sort.descending = list_nth_int(descending, i);
		top->keys[i].sort.nulls_first = list_nth_int(nulls_first, i);
	}
	top->all_ties = intVal(lsecond(limit));
	gpucol_topn_orders_init(&top->best, list_length(top->exprs), intVal(linitial(limit)));
	top->values = palloc0(Max(state->rows.noutputs, 1) * sizeof(Datum *));
	top->isnull = palloc0(Max(state->rows.noutputs, 1) * sizeof(bool *));
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
	List	   *limit = lsecond(cscan->custom_private);

	PlanState  *recursion;

	gpucol_check_rights(linitial(cscan->custom_plans), eflags);
	if (plan_id == GPUCOL_RECURSIVE_CHILD)
	{
		recursion = ExecInitNode(linitial(cscan->custom_plans), estate, eflags);
		node->custom_ps = list_make1(recursion);
	}
	else
		recursion = list_nth(estate->es_subplanstates, plan_id - 1);
	state->rows.pushed = limit == NIL ? cscan->custom_exprs :
		list_truncate(list_copy(cscan->custom_exprs),
					  list_length(cscan->custom_exprs) - list_length(lthird(limit)));
	gpucol_run_init_rows(&state->rows.exec, node, recursion, gpucol_recursive_source_open,
						 castNode(Var, column->expr)->varno, INDEX_VAR,
						 GPUCOL_PROGRAM_SCAN, lower_scan);
	state->rows.exec.checked = true;
	gpucol_row_scan_init(&state->rows,
						 used_columns(list_concat_copy(cscan->scan.plan.targetlist,
													   cscan->scan.plan.qual)),
						 &row_methods);
	if (limit != NIL && top_fits(state, limit))
		init_top(state, cscan, limit);
}

/* ---- top rows ---- */

/* Keep a row's values at place n, from a place of `values`, in the current context. */
static void
copy_row(RecursiveScanState *state, int64 n, Datum *const *values,
		 bool *const *isnull, int64 row)
{
	Top		   *top = state->top;

	for (int i = 0; i < state->rows.noutputs; i++)
	{
		const GpucolTypeMap *map = &state->rows.outputs[i].map;

		top->isnull[i][n] = isnull[i][row];
		top->values[i][n] = isnull[i][row] ? (Datum) 0 :
			datumCopy(values[i][row], map->typbyval, map->typlen);
	}
}

/* Drop the rows that are worse than the k-th best. */
static void
drop_worse(RecursiveScanState *state)
{
	Top		   *top = state->top;
	MemoryContext kept = AllocSetContextCreate(MemoryContextGetParent(top->context),
											   "gpucol recursion top rows",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(kept);
	int			width = gpucol_topn_orders_width(&top->best);
	int64		n = 0;

	for (int64 row = 0; row < top->nrows; row++)
	{
		const int64 *place = top->places + row * width;

		if (gpucol_topn_orders_probe(&top->best, place) < 0)
			continue;
		memmove(top->places + n * width, place, width * sizeof(int64));
		copy_row(state, n++, top->values, top->isnull, row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(top->context);
	top->context = kept;
	top->nrows = top->kept = n;
}

/* An array for as many rows as are allocated. */
static void *
resize(RecursiveScanState *state, void *array, Size size)
{
	if (array != NULL)
		return repalloc_huge(array, state->top->allocated * size);
	return MemoryContextAllocHuge(state->rows.css.ss.ps.state->es_query_cxt,
								  state->top->allocated * size);
}

/* Make room for one more row. */
static void
reserve_row(RecursiveScanState *state)
{
	Top		   *top = state->top;

	if (top->nrows < top->allocated)
		return;
	if (top->allocated > 0)
		drop_worse(state);
	if (top->nrows < top->allocated / 2)
		return;
	top->allocated = top->allocated == 0 ? top->best.k + SPARE_ROWS :
		top->allocated * 2;
	top->places = resize(state, top->places,
						 gpucol_topn_orders_width(&top->best) * sizeof(int64));
	for (int i = 0; i < state->rows.noutputs; i++)
	{
		top->values[i] = resize(state, top->values[i], sizeof(Datum));
		top->isnull[i] = resize(state, top->isnull[i], sizeof(bool));
	}
}

/* Keep a row of the batch. */
static void
keep_row(RecursiveScanState *state, const int64 *place, uint32 row)
{
	Top		   *top = state->top;
	int			width = gpucol_topn_orders_width(&top->best);
	MemoryContext old;

	reserve_row(state);
	old = MemoryContextSwitchTo(top->context);
	copy_row(state, top->nrows, state->rows.values, state->rows.isnull, row);
	MemoryContextSwitchTo(old);
	memcpy(top->places + top->nrows++ * width, place, width * sizeof(int64));
}

/* Take in a batch. */
static void
add_batch(RecursiveScanState *state, const GpucolResult *result)
{
	Top		   *top = state->top;
	const GpucolResultColumn *columns = result->columns + state->rows.noutputs;
	int64		place[GPUCOL_SHAPE_MAX_KEYS + 1];
	bool		loaded = false;

	for (uint32 row = 0; row < result->nrows; row++)
	{
		int			sooner;

		if (gpucol_topn_orders_passes_by(&top->best, &top->keys[0], &columns[0], row))
			continue;
		gpucol_topn_orders_place(top->keys, top->best.nkeys, columns, row, place);
		sooner = gpucol_topn_orders_probe(&top->best, place);
		if (sooner < 0 || (sooner == 0 && !top->all_ties))
			continue;
		if (!loaded)
			gpucol_row_scan_load(&state->rows, result);
		loaded = true;
		if (sooner > 0)
			gpucol_topn_orders_add(&top->best, place);
		keep_row(state, place, row);
	}
}

/* Do the rows kept, without those that have become worse, exceed work_mem? */
static bool
exceeds_memory(RecursiveScanState *state)
{
	Top		   *top = state->top;
	Size		row = top_row_bytes(state, top->best.nkeys);
	Size		limit = (Size) work_mem * 1024;

	/* dropping rows costs as much as keeping them */
	if (top->nrows <= 2 * Max(top->best.k, top->kept) ||
		top->nrows * row + MemoryContextMemAllocated(top->context, false) <= limit)
		return false;
	drop_worse(state);
	return top->nrows > 2 * top->best.k &&
		top->nrows * row + MemoryContextMemAllocated(top->context, false) > limit / 2;
}

/* The rows kept become the batch to deal from. */
static GpucolStatus
hand_on(RecursiveScanState *state)
{
	Top		   *top = state->top;
	GpucolRowScan *scan = &state->rows;

	if (top->nrows == 0)
		return GPUCOL_END;
	memcpy(scan->values, top->values, scan->noutputs * sizeof(Datum *));
	memcpy(scan->isnull, top->isnull, scan->noutputs * sizeof(bool *));
	scan->nrows = top->nrows;
	scan->next = 0;
	scan->exec.withholds = false;
	top->handed_on = true;
	return GPUCOL_OK;
}

/* Forget the rows that were handed on. */
static void
forget_rows(Top *top)
{
	MemoryContextReset(top->context);
	top->nrows = top->kept = 0;
	top->handed_on = false;
}

/* Read on, keeping the top rows, which become the batch to deal from. */
static GpucolStatus
collect_top(RecursiveScanState *state)
{
	Top		   *top = state->top;
	GpucolResult result;
	GpucolStatus status;

	if (top->handed_on)
		forget_rows(top);
	if (top->ended)
		return GPUCOL_END;
	while ((status = gpucol_run_next(&state->rows.exec, &result)) == GPUCOL_OK)
	{
		add_batch(state, &result);
		if (exceeds_memory(state))
			return hand_on(state);
	}
	if (status != GPUCOL_END)
		return status;
	drop_worse(state);
	top->ended = true;
	return hand_on(state);
}

/* ---- rows ---- */

/* Load the next batch of the engine. */
static GpucolStatus
next_batch(GpucolRowScan *scan)
{
	RecursiveScanState *state = (RecursiveScanState *) scan;
	GpucolResult result;
	GpucolStatus status;

	if (state->top != NULL)
		return collect_top(state);
	status = gpucol_run_next(&scan->exec, &result);
	if (status == GPUCOL_OK)
		gpucol_row_scan_load(scan, &result);
	return status;
}

/* Read the recursion anew, row by row. */
static void
begin_plain(GpucolRowScan *scan)
{
	gpucol_recursive_source_restart(scan->exec.rows_of);
}

/* Its next row, copied into the scan slot. */
static bool
next_plain(GpucolRowScan *scan, TupleTableSlot *slot)
{
	TupleTableSlot *from = ExecProcNode(scan->exec.rows_of);

	if (TupIsNull(from))
		return false;
	ExecCopySlot(slot, from);
	return true;
}

static const GpucolRowScanMethods row_methods = {
	.next_batch = next_batch,
	.begin_plain = begin_plain,
	.next_plain = next_plain,
};

GPUCOL_RECHECK_BY_NEXT(recheck_row, gpucol_row_scan_next)

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, gpucol_row_scan_next, recheck_row);
}

/* Let go of the engine, and of the top rows. */
static void
stop(RecursiveScanState *state)
{
	Top		   *top = state->top;

	gpucol_run_end(&state->rows.exec);
	gpucol_row_scan_reset(&state->rows);
	if (top == NULL)
		return;
	forget_rows(top);
	top->best.filled = 0;
	top->ended = false;
	state->rows.exec.withholds = true;
}

static void
scan_end(CustomScanState *node)
{
	stop((RecursiveScanState *) node);
	if (node->custom_ps != NIL)
		ExecEndNode(linitial(node->custom_ps));
}

static void
scan_rescan(CustomScanState *node)
{
	stop((RecursiveScanState *) node);
	ExecScanReScan(&node->ss);
	if (node->custom_ps != NIL && node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(linitial(node->custom_ps), node->ss.ps.chgParam);
}

/* The sort keys and the limit. */
static void
explain_top(RecursiveScanState *state, List *ancestors, ExplainState *es)
{
	List	   *context;
	StringInfoData keys;

	if (state->top == NULL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, state->rows.css.ss.ps.plan,
									   ancestors);
	initStringInfo(&keys);
	for (int i = 0; i < state->top->best.nkeys; i++)
		appendStringInfo(&keys, "%s%s%s", i == 0 ? "" : ", ",
						 deparse_expression((Node *) state->top->keys[i].sort.expr, context,
											es->verbose, true),
						 state->top->keys[i].sort.descending ? " DESC" : "");
	ExplainPropertyText("Top Key", keys.data, es);
	ExplainPropertyInteger("Top Rows", NULL, state->top->best.k, es);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	RecursiveScanState *state = (RecursiveScanState *) node;

	gpucol_explain_input(&state->rows.exec, es);
	gpucol_explain_filter(&state->rows.exec, state->rows.pushed, ancestors, es);
	explain_top(state, ancestors, es);
	gpucol_row_scan_explain(&state->rows, es);
	gpucol_explain_stats(&state->rows.exec, es);
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

	state->rows.css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods gpucol_recursive_scan_scan_methods = {
	.CustomName = "GpucolRecursiveScan",
	.CreateCustomScanState = create_state,
};

bool
gpucol_recursive_scan_is_state(const PlanState *state)
{
	return IsA(state, CustomScanState) &&
		((const CustomScanState *) state)->methods == &exec_methods;
}
