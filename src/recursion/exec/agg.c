/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  GpucolRecursiveAgg: aggregates over a whole recursion, computed by the
 *	  engine.
 *
 * The node stands where an Aggregate over the CTE scan would stand (whose plan it
 * carries, and never runs): it finds the state of the CTE's plan, which must be a
 * GpucolRecursive that nobody else reads, and asks it for the count and the
 * column summaries.  HAVING is tested on the one row.  Over a GpucolDatalog, that is its
 * second plan, which is asked instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "exec/recheck.h"
#include "exec/rights.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"

#include "columnar/typemap.h"
#include "compat.h"
#include "recursion/front/values.h"
#include "recursion/exec/state.h"

typedef struct RecursiveAggState
{
	CustomScanState css;
	int			naggs;
	GpucolRecursiveAggregate *aggs;
	PlanState  *recursion;
	bool		computed;
	bool		returned;
	Datum	   *values;
	bool	   *nulls;
} RecursiveAggState;

static Plan *
plan_agg(PlannerInfo *root pg_attribute_unused(),
		 RelOptInfo *rel pg_attribute_unused(), CustomPath *path, List *tlist,
		 List *clauses pg_attribute_unused(), List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *aggrefs = lsecond(path->custom_private);
	ListCell   *lc;

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = lfourth(path->custom_private);
	scan->custom_plans = custom_plans;
	foreach(lc, aggrefs)
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(copyObject(lfirst(lc)),
									foreach_current_index(lc) + 1, NULL,
									false));
	scan->custom_private = list_make2(linitial(path->custom_private),
									  lthird(path->custom_private));
	scan->methods = &gpucol_recursive_agg_scan_methods;
	return &scan->scan.plan;
}

const CustomPathMethods gpucol_recursive_agg_path_methods = {
	.CustomName = "GpucolRecursiveAgg",
	.PlanCustomPath = plan_agg,
};

static void
begin_agg(CustomScanState *node, EState *estate, int eflags)
{
	RecursiveAggState   *state = (RecursiveAggState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *aggs = lsecond(scan->custom_private);
	int			plan_id = intVal(linitial(scan->custom_private));
	ListCell   *lc;

	gpucol_check_rights(linitial(scan->custom_plans), eflags);
	if (plan_id == 0)
	{
		state->recursion = ExecInitNode(lsecond(scan->custom_plans), estate, eflags);
		node->custom_ps = list_make1(state->recursion);
	}
	else
	{
		state->recursion = list_nth(estate->es_subplanstates, plan_id - 1);
		Assert(gpucol_recursive_is_state(state->recursion));
	}
	state->naggs = list_length(aggs);
	state->aggs = palloc(sizeof(GpucolRecursiveAggregate) * (state->naggs + 1));
	state->values = palloc(sizeof(Datum) * (state->naggs + 1));
	state->nulls = palloc(sizeof(bool) * (state->naggs + 1));
	foreach(lc, aggs)
	{
		List	   *agg = lfirst(lc);
		GpucolRecursiveAggregate *to = &state->aggs[foreach_current_index(lc)];

		to->function = linitial_int(agg);
		to->column = lsecond_int(agg);
		to->type = (Oid) lthird_int(agg);
	}
}

/* The result of one aggregate. */
static Datum
finish_aggregate(const GpucolRecursiveAggregate *agg, uint64 nrows,
				 const GpucolRecSummary *columns, bool *isnull)
{
	const GpucolRecSummary *column = agg->column < 0 ? NULL :
		&columns[agg->column];
	GpucolRecColumn result;

	*isnull = false;
	if (agg->function == GPUCOL_REC_COUNT)
		return Int64GetDatum((int64) (column ? column->count : nrows));
	*isnull = column->count == 0;
	if (*isnull)
		return (Datum) 0;
	switch (agg->function)
	{
		case GPUCOL_REC_SUM:
			if (agg->type != INT8OID)
				return gpucol_typemap_numeric(column->sum, 0);
			if (column->sum < PG_INT64_MIN || column->sum > PG_INT64_MAX)
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("bigint out of range")));
			return Int64GetDatum((int64) column->sum);
		case GPUCOL_REC_DIV:
			return DirectFunctionCall2(numeric_div, gpucol_typemap_numeric(column->sum, 0),
									   gpucol_typemap_numeric(column->count, 0));
		default:
			gpucol_rec_column_init(&result, agg->type);
			return gpucol_rec_column_to_datum(&result,
											  agg->function == GPUCOL_REC_MIN ?
											  column->min : column->max, NULL);
	}
}

/* Have the engine compute everything. */
static void
compute(RecursiveAggState *state)
{
	bool		want[GPUCOL_REC_MAX_ARITY] = {false};
	GpucolRecSummary columns[GPUCOL_REC_MAX_ARITY];
	MemoryContext old;
	uint64		nrows;
	int			i;

	for (i = 0; i < state->naggs; i++)
		if (state->aggs[i].column >= 0)
			want[state->aggs[i].column] = true;
	nrows = state->css.custom_ps != NIL ?
		gpucol_datalog_node_summarise(state->recursion, want, columns) :
		gpucol_recursive_summarise(state->recursion, want, columns);
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	for (i = 0; i < state->naggs; i++)
		state->values[i] = finish_aggregate(&state->aggs[i], nrows, columns,
											&state->nulls[i]);
	MemoryContextSwitchTo(old);
	state->computed = true;
}

/* ExecScan: the only row. */
static TupleTableSlot *
next_row(ScanState *node)
{
	RecursiveAggState   *state = (RecursiveAggState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (state->returned)
		return slot;
	if (state->recursion->chgParam != NULL)
	{
		ExecReScan(state->recursion);
		state->computed = false;
	}
	if (!state->computed)
		compute(state);
	memcpy(slot->tts_values, state->values, sizeof(Datum) * state->naggs);
	memcpy(slot->tts_isnull, state->nulls, sizeof(bool) * state->naggs);
	state->returned = true;
	return ExecStoreVirtualTuple(slot);
}

GPUCOL_RECHECK_BY_NEXT(recheck_row, next_row)

static TupleTableSlot *
exec_agg(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
end_agg(CustomScanState *node)
{
	if (node->custom_ps != NIL)
		ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_agg(CustomScanState *node)
{
	RecursiveAggState *state = (RecursiveAggState *) node;

	state->returned = false;
	ExecScanReScan(&node->ss);
	if (node->custom_ps != NIL && node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(state->recursion, node->ss.ps.chgParam);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolRecursiveAgg",
	.BeginCustomScan = begin_agg,
	.ExecCustomScan = exec_agg,
	.EndCustomScan = end_agg,
	.ReScanCustomScan = rescan_agg,
};

static Node *
create_state(CustomScan *scan pg_attribute_unused())
{
	RecursiveAggState   *state = (RecursiveAggState *) newNode(sizeof(RecursiveAggState),
											 T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods gpucol_recursive_agg_scan_methods = {
	.CustomName = "GpucolRecursiveAgg",
	.CreateCustomScanState = create_state,
};
