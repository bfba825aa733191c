/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Executor of GpucolScan, and of GpucolTopK below Sort and Limit.
 *
 * The engine delivers batches of the columns that the plan needs; a batch is
 * turned into datums a column at a time, and rows are dealt from it through
 * the scan slot.  Tuples carry their real TIDs.
 *
 * GpucolTopK is a scan that first finds out which rows can be among the first
 * k (topk_probe.c) and has that as one more condition.  A device finds out and
 * scans in one request (kernel/shape.h).
 *
 * Fallback: where no engine can run the scan, the table's ordinary scan
 * delivers rows and PostgreSQL tests the pushed conjuncts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/itemptr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "columnar/source.h"
#include "exec/explain.h"
#include "exec/plan.h"
#include "exec/result.h"
#include "exec/run.h"
#include "exec/topk_probe.h"

typedef struct GpucolScanState
{
	CustomScanState css;
	GpucolExec	exec;
	List	   *pushed;			/* pushed conjuncts */
	ExprState  *pushed_qual;	/* the same for PostgreSQL to test */

	/* output columns */
	int			noutputs;
	AttrNumber *attnums;
	GpucolOutput *outputs;

	/* current batch as datums */
	MemoryContext batch_context;
	uint32		nrows;
	uint32		next;
	Datum	  **values;			/* by output */
	bool	  **isnull;
	const uint64 *tids;

	/* GpucolTopK */
	bool		topk;
	bool		begun;			/* the device or the probe knows the rows */
	bool		on_device;		/* the key is one more output of the run */
	GpucolTopkProbe probe;
	GpucolExec	probe_exec;

	/* fallback */
	TableScanDesc table_scan;
	TupleTableSlot *table_slot;
} GpucolScanState;

static Node *scan_create_state(CustomScan *cscan);
static void scan_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *scan_exec(CustomScanState *node);
static void scan_end(CustomScanState *node);
static void scan_rescan(CustomScanState *node);
static Size scan_estimate_dsm(CustomScanState *node, ParallelContext *pcxt);
static void scan_initialize_dsm(CustomScanState *node, ParallelContext *pcxt,
								void *coordinate);
static void scan_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt,
								  void *coordinate);
static void scan_initialize_worker(CustomScanState *node, shm_toc *toc,
								   void *coordinate);
static void scan_explain(CustomScanState *node, List *ancestors,
						 ExplainState *es);

const CustomScanMethods gpucol_scan_methods = {
	.CustomName = "GpucolScan",
	.CreateCustomScanState = scan_create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "GpucolScan",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.EstimateDSMCustomScan = scan_estimate_dsm,
	.InitializeDSMCustomScan = scan_initialize_dsm,
	.ReInitializeDSMCustomScan = scan_reinitialize_dsm,
	.InitializeWorkerCustomScan = scan_initialize_worker,
	.ExplainCustomScan = scan_explain,
};

static const CustomExecMethods topk_exec_methods = {
	.CustomName = "GpucolTopK",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.ExplainCustomScan = scan_explain,
};

static Node *
scan_create_state(CustomScan *cscan)
{
	GpucolScanState *state = palloc0(sizeof(GpucolScanState));

	state->css.ss.ps.type = T_CustomScanState;
	state->css.methods = &exec_methods;
	state->pushed = cscan->custom_exprs;
	return (Node *) state;
}

/*
 * Create the state of a GpucolTopK below Sort and Limit.
 */
Node *
gpucol_scan_create_topk(CustomScan *cscan)
{
	GpucolScanState *state = (GpucolScanState *) scan_create_state(cscan);
	List	   *private = cscan->custom_private;

	state->css.methods = &topk_exec_methods;
	state->topk = true;
	state->pushed = list_delete_last(list_copy(cscan->custom_exprs));
	state->probe.key = llast(cscan->custom_exprs);
	state->probe.k = (int64) floatVal(list_nth(private, GPUCOL_TOPK_PRIVATE_LIMIT));
	state->probe.descending = intVal(list_nth(private, GPUCOL_TOPK_PRIVATE_DESCENDING));
	state->probe.nulls_first = intVal(list_nth(private, GPUCOL_TOPK_PRIVATE_NULLS_FIRST));
	state->probe.all_ties = intVal(list_nth(private, GPUCOL_TOPK_PRIVATE_ALL_TIES));
	state->probe.opno = (Oid) intVal(list_nth(private, GPUCOL_TOPK_PRIVATE_OPNO));
	return (Node *) state;
}

/* Attribute numbers of user columns in expressions of the scan tuple. */
static Bitmapset *
referenced_columns(List *exprs, Index varno, int natts)
{
	Bitmapset  *attnos = NULL;
	Bitmapset  *result = NULL;
	int			member = -1;

	pull_varattnos((Node *) exprs, varno, &attnos);
	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum > 0)
			result = bms_add_member(result, attnum);
		else if (attnum == InvalidAttrNumber)	/* the whole row */
			result = bms_add_range(result, 1, natts);
	}
	return result;
}

/* Columns that leave the engine. */
static Bitmapset *
output_columns(GpucolScanState *state)
{
	Plan	   *plan = state->css.ss.ps.plan;
	TupleDesc	desc = RelationGetDescr(state->exec.rel);
	Bitmapset  *result;

	result = referenced_columns(list_concat_copy(plan->targetlist, plan->qual),
								state->exec.varno, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			result = bms_del_member(result, i + 1);
	}
	return result;
}

/* Columns that are read. */
static Bitmapset *
read_columns(GpucolScanState *state)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;

	return bms_union(output_columns(state),
					 referenced_columns(cscan->custom_exprs, state->exec.varno,
										RelationGetNumberOfAttributes(state->exec.rel)));
}

/* Lower the pushed conjuncts. */
static bool
lower_pushed(GpucolScanState *state, GpucolLower *l)
{
	ListCell   *lc;

	foreach(lc, state->pushed)
	{
		if (!gpucol_lower_qual(l, lfirst(lc), true))
			return false;
	}
	return true;
}

/* Lower what a probe reads: the conjuncts and the sort key. */
static bool
lower_probe(GpucolExec *exec, GpucolLower *l)
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	if (!lower_pushed(state, l) ||
		(state->probe.narrow != NULL &&
		 !gpucol_lower_qual(l, state->probe.narrow, true)))
		return false;
	gpucol_lower_end_filter(l);
	return gpucol_lower_output(l, state->probe.key, &state->probe.value);
}

/* Lower the pushed conjuncts and the output columns. */
static bool
lower_scan(GpucolExec *exec, GpucolLower *l)
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	if (!lower_pushed(state, l))
		return false;

	/* a condition that cannot be lowered only lets more rows through */
	if (state->probe.condition != NULL)
		(void) gpucol_lower_qual(l, state->probe.condition, true);
	gpucol_lower_end_filter(l);
	for (int i = 0; i < state->noutputs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(exec->rel),
											  state->attnums[i] - 1);
		Var			var = {
			.xpr.type = T_Var,
			.varno = exec->varno,
			.varattno = state->attnums[i],
			.vartype = att->atttypid,
			.vartypmod = att->atttypmod,
			.varcollid = att->attcollation
		};
		GpucolValue value;

		if (!gpucol_lower_output(l, (Expr *) &var, &value))
			return false;
		gpucol_output_init(&state->outputs[i], att->atttypid, att->atttypmod,
						   att->attcollation, &value);
	}
	return !state->on_device ||
		gpucol_lower_output(l, state->probe.key, &state->probe.value);
}

/* The device is to find the rows that can be among the first k. */
static bool
make_shape(GpucolExec *exec, GpucolRowShape *shape, const char **why pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	shape->kind = GPUCOL_SHAPE_TOP;
	shape->key = state->noutputs;
	shape->descending = state->probe.descending;
	shape->nulls_first = state->probe.nulls_first;
	shape->all_ties = state->probe.all_ties;
	shape->k = state->probe.k;
	return true;
}

/* Note the output columns; the others stay NULL in the scan slot. */
static void
init_outputs(GpucolScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	Bitmapset  *columns = output_columns(state);
	int			n = bms_num_members(columns);
	int			attnum = -1;

	state->attnums = palloc(Max(n, 1) * sizeof(AttrNumber));
	state->outputs = palloc0(Max(n, 1) * sizeof(GpucolOutput));
	state->values = palloc(Max(n, 1) * sizeof(Datum *));
	state->isnull = palloc(Max(n, 1) * sizeof(bool *));
	while ((attnum = bms_next_member(columns, attnum)) >= 0)
		state->attnums[state->noutputs++] = attnum;
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
}

static void
scan_begin(CustomScanState *node, EState *estate,
		   int eflags pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;

	gpucol_run_init(&state->exec, node, node->ss.ss_currentRelation,
					cscan->scan.scanrelid, GPUCOL_PROGRAM_SCAN, lower_scan);
	if (state->topk)
		gpucol_run_init(&state->probe_exec, node, node->ss.ss_currentRelation,
						cscan->scan.scanrelid, GPUCOL_PROGRAM_SCAN, lower_probe);
	state->probe_exec.withholds = true;
	if (state->topk)
		state->exec.make_shape = make_shape;
	state->batch_context = AllocSetContextCreate(estate->es_query_cxt,
												 "gpucol scan batch",
												 ALLOCSET_DEFAULT_SIZES);
	state->pushed_qual = ExecInitQual(state->pushed, (PlanState *) node);
	init_outputs(state);
}

/* Turn the engine's batch into datums. */
static void
load_batch(GpucolScanState *state, const GpucolResult *result)
{
	gpucol_outputs_load(state->batch_context, state->outputs, state->noutputs, result,
						state->values, state->isnull);
	state->tids = result->tids;
	state->nrows = result->nrows;
	state->next = 0;
}

/* Put the next row of the batch into the scan slot. */
static TupleTableSlot *
store_row(GpucolScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	uint32		row = state->next++;
	uint64		tid = state->tids[row];

	ExecClearTuple(slot);
	for (int i = 0; i < state->noutputs; i++)
	{
		int			att = state->attnums[i] - 1;

		slot->tts_values[att] = state->values[i][row];
		slot->tts_isnull[att] = state->isnull[i][row];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(state->exec.rel);
	ItemPointerSet(&slot->tts_tid, (BlockNumber) (tid >> 16),
				   (OffsetNumber) (tid & 0xffff));
	return slot;
}

/*
 * Start the ordinary scan of the table.  In a parallel scan it goes on with the
 * shared state, which it may only if no segment has been drawn from it.
 */
static void
begin_fallback(GpucolScanState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	if (state->exec.parallel != NULL && state->exec.source != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("engine failed in a parallel scan of table \"%s\"",
						RelationGetRelationName(state->exec.rel)),
				 errdetail("Reason: %s.", state->exec.fallback),
				 errhint("Set max_parallel_workers_per_gather to 0 for this statement.")));
	state->table_slot = table_slot_create(state->exec.rel, NULL);
	if (state->exec.parallel != NULL)
		state->table_scan =
			table_beginscan_parallel(state->exec.rel,
									 (ParallelTableScanDesc) state->exec.parallel->source);
	else
		state->table_scan = table_beginscan(state->exec.rel, estate->es_snapshot,
											0, NULL);
	MemoryContextSwitchTo(old);
}

/*
 * Can engines compute with every value that this scan reads?  Asked once, before
 * the first row; in a parallel scan the leader has asked for all.
 */
static bool
values_fit(GpucolScanState *state)
{
	GpucolExec *exec = &state->exec;

	if (exec->parallel != NULL)
	{
		exec->checked = !exec->parallel->row_scan;
		if (!exec->checked)
			exec->fallback = "a value that engines do not compute with";
		return exec->checked;
	}
	return exec->checked || gpucol_run_check_values(exec, read_columns(state), false);
}

/* Next row of the ordinary scan, copied into the scan slot. */
static TupleTableSlot *
next_fallback(GpucolScanState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *from = state->table_slot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	while (table_scan_getnextslot(state->table_scan, ForwardScanDirection, from))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(from);
		ExecClearTuple(slot);
		memcpy(slot->tts_values, from->tts_values,
			   slot->tts_tupleDescriptor->natts * sizeof(Datum));
		memcpy(slot->tts_isnull, from->tts_isnull,
			   slot->tts_tupleDescriptor->natts * sizeof(bool));
		ExecStoreVirtualTuple(slot);
		slot->tts_tableOid = from->tts_tableOid;
		slot->tts_tid = from->tts_tid;
		econtext->ecxt_scantuple = slot;
		if (ExecQual(state->pushed_qual, econtext))
			return slot;
		ResetExprContext(econtext);
	}
	return ExecClearTuple(slot);
}

/* Find out which rows can be among the first k, or have the device do that. */
static void
begin_topk(GpucolScanState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	state->begun = true;
	if (values_fit(state))
	{
		state->on_device = !state->exec.cpu_only;
		state->on_device = gpucol_run_on_device(&state->exec);
		state->probe_exec.cpu_only = state->exec.cpu_only;
		if (!state->on_device)
			gpucol_topk_probe_run(&state->probe, &state->probe_exec, state->pushed == NIL);
	}
	MemoryContextSwitchTo(old);
}

/* ExecScan's access method. */
static TupleTableSlot *
next_row(ScanState *node)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolResult result;
	GpucolStatus status;

	if (state->table_scan != NULL)
		return next_fallback(state);
	if (state->topk && !state->begun)
		begin_topk(state);
	while (state->next >= state->nrows)
	{
		status = state->exec.started || values_fit(state) ?
			gpucol_run_next(&state->exec, &result) : GPUCOL_UNSUPPORTED;
		if (status == GPUCOL_END)
			return ExecClearTuple(node->ss_ScanTupleSlot);
		if (status != GPUCOL_OK)
		{
			begin_fallback(state);
			return next_fallback(state);
		}
		load_batch(state, &result);
	}
	return store_row(state);
}

/* ExecScan's recheck method: test what the engine would have tested. */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	GpucolScanState *state = (GpucolScanState *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;

	econtext->ecxt_scantuple = slot;
	return ExecQual(state->pushed_qual, econtext);
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

/* Let go of the engine, the source and the ordinary scan. */
static void
stop(GpucolScanState *state)
{
	gpucol_run_end(&state->exec);
	if (state->topk)
		gpucol_run_end(&state->probe_exec);
	state->begun = false;
	state->on_device = false;
	state->nrows = 0;
	state->next = 0;
	if (state->table_scan != NULL)
	{
		ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
		ExecDropSingleTupleTableSlot(state->table_slot);
		table_endscan(state->table_scan);
		state->table_scan = NULL;
	}
}

static void
scan_end(CustomScanState *node)
{
	GpucolScanState *state = (GpucolScanState *) node;

	stop(state);
	gpucol_parallel_report(&state->exec);
}

static void
scan_rescan(CustomScanState *node)
{
	stop((GpucolScanState *) node);
	ExecScanReScan(&node->ss);
}

static Size
scan_estimate_dsm(CustomScanState *node,
				  ParallelContext *pcxt pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) node;

	return offsetof(GpucolParallel, source) +
		gpucol_source_parallel_size(state->exec.rel,
									node->ss.ps.state->es_snapshot);
}

static void
scan_initialize_dsm(CustomScanState *node, ParallelContext *pcxt,
					void *coordinate)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolParallel *parallel = coordinate;

	parallel->row_scan = !gpucol_run_check_values(&state->exec,
												  read_columns(state), true);
	gpucol_source_parallel_init(parallel->source, state->exec.rel,
								node->ss.ps.state->es_snapshot);
	gpucol_parallel_init(&state->exec, parallel, pcxt);
}

static void
scan_reinitialize_dsm(CustomScanState *node,
					  ParallelContext *pcxt pg_attribute_unused(),
					  void *coordinate)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolParallel *parallel = coordinate;

	gpucol_source_parallel_rescan(parallel->source, state->exec.rel);
}

static void
scan_initialize_worker(CustomScanState *node,
					   shm_toc *toc pg_attribute_unused(), void *coordinate)
{
	((GpucolScanState *) node)->exec.parallel = coordinate;
}

/* The sort key and the limit; what the probe found, under EXPLAIN ANALYZE. */
static void
explain_probe(GpucolScanState *state, List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   state->css.ss.ps.plan,
												   ancestors);
	bool		prefix = es->verbose || list_length(es->rtable) > 1;
	char	   *key = deparse_expression((Node *) state->probe.key, context,
										 prefix, true);

	ExplainPropertyText("Top Key", psprintf("%s%s", key,
											state->probe.descending ? " DESC" : ""),
						es);
	ExplainPropertyInteger("Top Rows", NULL, state->probe.k, es);
	if (!es->analyze || state->on_device)
		return;
	if (state->probe.condition != NULL)
		ExplainPropertyText("Top Condition",
							deparse_expression((Node *) state->probe.condition,
											   context, prefix, true), es);
	ExplainPropertyInteger("Probed Rows", NULL, state->probe.seen, es);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpucolScanState *state = (GpucolScanState *) node;

	gpucol_run_end(&state->exec);
	gpucol_parallel_gather(&state->exec);
	gpucol_explain_engine(&state->exec, read_columns(state), es);
	gpucol_explain_filter(&state->exec, state->pushed, ancestors, es);
	gpucol_explain_columns(&state->exec, read_columns(state), es);
	if (state->topk)
		explain_probe(state, ancestors, es);
	gpucol_explain_stats(&state->exec, es);
}
