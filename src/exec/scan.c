/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Executor of GpucolScan, and of GpucolTopK below Sort and Limit.
 *
 * Rows are dealt from batches of an engine (row_scan.c); they carry their real TIDs.
 *
 * GpucolTopK is a scan that first finds out which rows can be among the first
 * k (exec/topn_probe.c) and has that as one more condition, or is two scans: of rows that
 * tie, of which it delivers some, and of those before them.  A device finds out and
 * scans in one request (kernel/shape.h).  Where the probe knows the rows themselves,
 * these are fetched.
 *
 * Fallback: where no engine can run the scan, the table's ordinary scan
 * delivers plain rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "columnar/slot.h"
#include "columnar/source.h"
#include "compat.h"
#include "exec/batch_compute.h"
#include "exec/explain.h"
#include "exec/numeric_math.h"
#include "exec/row_scan.h"
#include "exec/topn_probe.h"
#include "plan/plan.h"

/* EXPLAIN shows no more of a condition that was found, for it may hold long texts. */
#define SHOWN_BYTES 400

typedef struct GpucolScanState
{
	GpucolRowScan rows;

	/* GpucolTopK */
	bool		topn;
	bool		begun;			/* the device or the probe knows the rows */
	bool		on_device;		/* the key is one more output of the run */
	int64		ties_left;		/* rows to be delivered that tie, before all others */
	bool		before;			/* the others are being delivered */
	bool		fetched;		/* the rows that the probe knows have been fetched */
	GpucolTopnProbe probe;
	GpucolExec	probe_exec;

	/* fallback */
	TableScanDesc table_scan;
	TupleTableSlot *table_slot;

	TupleTableSlot *marked_slot;	/* a row of the table by its mark, or NULL: none was wanted */
	GpucolBatchCompute *compute;	/* of batches; NULL: nobody has asked for them yet */
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

static const GpucolRowScanMethods row_methods;

const CustomScanMethods gpucol_scan_methods = {
	.CustomName = "GpucolScan",
	.CreateCustomScanState = scan_create_state,
};

const CustomExecMethods gpucol_scan_exec_methods = {
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

static const CustomExecMethods topn_exec_methods = {
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

	state->rows.css.ss.ps.type = T_CustomScanState;
	state->rows.css.methods = &gpucol_scan_exec_methods;
	state->rows.pushed = cscan->custom_exprs;
	state->rows.behind = linitial(cscan->custom_private);
	return (Node *) state;
}

/* Read the sort keys. */
static void
read_keys(GpucolTopnProbe *probe, const CustomScan *cscan)
{
	List	   *descending = list_nth(cscan->custom_private, GPUCOL_TOPN_PRIVATE_DESCENDING);
	List	   *nulls_first = list_nth(cscan->custom_private, GPUCOL_TOPN_PRIVATE_NULLS_FIRST);
	List	   *operators = list_nth(cscan->custom_private, GPUCOL_TOPN_PRIVATE_OPERATORS);
	int			first;

	probe->nkeys = list_length(descending);
	probe->keys = palloc0(probe->nkeys * sizeof(GpucolTopnKey));
	first = list_length(cscan->custom_exprs) - probe->nkeys;
	for (int i = 0; i < probe->nkeys; i++)
		probe->keys[i].sort = (GpucolSortKey)
		{
			.expr = list_nth(cscan->custom_exprs, first + i),
				.descending = list_nth_int(descending, i),
				.nulls_first = list_nth_int(nulls_first, i),
				.not_after = list_nth_oid(operators, 3 * i),
				.before = list_nth_oid(operators, 3 * i + 1),
				.equal = list_nth_oid(operators, 3 * i + 2)
		};

}

/*
 * Create the state of a GpucolTopK below Sort and Limit.
 */
Node *
gpucol_scan_create_topn(CustomScan *cscan)
{
	GpucolScanState *state = (GpucolScanState *) scan_create_state(cscan);
	List	   *private = cscan->custom_private;

	state->rows.css.methods = &topn_exec_methods;
	state->topn = true;
	read_keys(&state->probe, cscan);
	state->rows.pushed = list_truncate(list_copy(cscan->custom_exprs),
									   list_length(cscan->custom_exprs) - state->probe.nkeys);
	state->probe.k = intVal(list_nth(private, GPUCOL_TOPN_PRIVATE_LIMIT));
	state->probe.all_ties = intVal(list_nth(private, GPUCOL_TOPN_PRIVATE_ALL_TIES));
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
	Plan	   *plan = state->rows.css.ss.ps.plan;
	TupleDesc	desc = RelationGetDescr(state->rows.exec.rel);
	Bitmapset  *result;

	result = referenced_columns(list_concat_copy(plan->targetlist, plan->qual),
								state->rows.exec.varno, desc->natts);
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
	CustomScan *cscan = (CustomScan *) state->rows.css.ss.ps.plan;

	return bms_union(output_columns(state),
					 referenced_columns(cscan->custom_exprs, state->rows.exec.varno,
										RelationGetNumberOfAttributes(state->rows.exec.rel)));
}

/*
 * Lower the pushed conjuncts and what the sort keys must meet, the n-th test being
 * about the first n; without tests that cannot be lowered, where they are not
 * `needed`.  Tests of columns come first: they raise no error and leave few rows for
 * the others.
 */
static bool
lower_pushed(GpucolScanState *state, GpucolLower *l, List *tests, bool needed)
{
	int			n = list_length(tests);
	int			first = 0;
	ListCell   *lc;

	for (int i = 0; i < n; i++)
	{
		if (!gpucol_topn_keys_are_columns(&state->probe, i + 1))
			break;
		first = i + 1;
		if (!gpucol_lower_qual(l, list_nth(tests, i), true) && needed)
			return false;
	}
	foreach(lc, state->rows.pushed)
	{
		if (!gpucol_lower_qual(l, lfirst(lc), true))
			return false;
	}
	for (int i = first; i < n; i++)
	{
		if (!gpucol_lower_qual(l, list_nth(tests, i), true) && needed)
			return false;
	}
	return true;
}

/* Lower what a probe reads: the conjuncts and the sort key. */
static bool
lower_probe(GpucolExec *exec, GpucolLower *l)
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	if (!lower_pushed(state, l, state->probe.narrow, true))
		return false;
	gpucol_lower_end_filter(l);
	return gpucol_lower_text_output(l, state->probe.keys[state->probe.at].sort.expr, &state->probe.value);
}

/* Sort keys that a device ranks by: columns after the first one, none of byte strings. */
static int
device_keys(const GpucolTopnProbe *probe)
{
	int			n = probe->keys[0].order == NULL;

	while (n > 0 && n < Min(probe->nkeys, GPUCOL_SHAPE_MAX_KEYS) &&
		   probe->keys[n].order == NULL && IsA(probe->keys[n].sort.expr, Var))
		n++;
	return n;
}

/*
 * What the sort keys of the rows that are being delivered must meet.  Without a test
 * more rows come through, which PostgreSQL sorts, but for those that tie.
 */
static List *
top_tests(const GpucolScanState *state)
{
	if (state->probe.ties == 0)
		return state->probe.condition;
	return state->ties_left > 0 ? state->probe.at_place : state->probe.before;
}

/* Lower the pushed conjuncts and the output columns. */
static bool
lower_scan(GpucolExec *exec, GpucolLower *l)
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	if (!lower_pushed(state, l, top_tests(state), state->probe.ties > 0))
		return false;
	gpucol_lower_end_filter(l);
	if (!gpucol_row_scan_lower(&state->rows, l, RelationGetDescr(exec->rel)))
		return false;
	for (int i = 0; state->on_device && i < device_keys(&state->probe); i++)
	{
		if (!gpucol_lower_output(l, state->probe.keys[i].sort.expr, &state->probe.value))
			return false;
	}
	return true;
}

/* The device is to find the rows that can be among the first k. */
static bool
make_shape(GpucolExec *exec, GpucolRowShape *shape, const char **why pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) exec->node;

	shape->kind = GPUCOL_SHAPE_TOP;
	shape->nkeys = device_keys(&state->probe);
	for (uint32 i = 0; i < shape->nkeys; i++)
		shape->keys[i] = (GpucolShapeKey)
		{
			.output = state->rows.noutputs + i,
				.descending = state->probe.keys[i].sort.descending,
				.nulls_first = state->probe.keys[i].sort.nulls_first
		};
	shape->all_ties = state->probe.all_ties || (int) shape->nkeys < state->probe.nkeys;
	shape->k = state->probe.k;
	return true;
}

static void
scan_begin(CustomScanState *node, EState *estate pg_attribute_unused(),
		   int eflags pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;

	gpucol_run_init(&state->rows.exec, node, node->ss.ss_currentRelation,
					cscan->scan.scanrelid, GPUCOL_PROGRAM_SCAN, lower_scan);
	if (state->topn)
	{
		gpucol_run_init(&state->probe_exec, node, node->ss.ss_currentRelation,
						cscan->scan.scanrelid, GPUCOL_PROGRAM_SCAN, lower_probe);
		state->probe_exec.withholds = true;
		state->rows.exec.make_shape = make_shape;
		gpucol_topn_probe_init(&state->probe, RelationGetDescr(node->ss.ss_currentRelation));
	}
	gpucol_row_scan_init(&state->rows, output_columns(state), &row_methods);
	gpucol_numeric_math_install_node(&node->ss.ps);
}

/*
 * Start the ordinary scan of the table.  In a parallel scan it goes on with the
 * shared state, which it may only if no segment has been drawn from it.
 */
static void
begin_plain(GpucolRowScan *scan)
{
	GpucolScanState *state = (GpucolScanState *) scan;
	GpucolExec *exec = &scan->exec;

	if (exec->parallel != NULL && exec->source != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("engine failed in a parallel scan of table \"%s\"",
						RelationGetRelationName(exec->rel)),
				 errdetail("Reason: %s.", exec->fallback),
				 errhint("Set max_parallel_workers_per_gather to 0 for this statement.")));
	state->table_slot = table_slot_create(exec->rel, NULL);
	if (exec->parallel != NULL)
		state->table_scan =
			table_beginscan_parallel(exec->rel,
									 (ParallelTableScanDesc) exec->parallel->source);
	else
		state->table_scan = table_beginscan(exec->rel, scan->css.ss.ps.state->es_snapshot,
											0, NULL);
}

/*
 * Can engines compute with every value that this scan reads?  Asked once, before
 * the first row; in a parallel scan the leader has asked for all.
 */
static bool
values_fit(GpucolScanState *state)
{
	GpucolExec *exec = &state->rows.exec;

	if (exec->parallel != NULL)
	{
		exec->checked = !exec->parallel->row_scan;
		if (!exec->checked)
			exec->fallback = "a value that engines do not compute with";
		return exec->checked;
	}
	return exec->checked || gpucol_run_check_values(exec, read_columns(state), false);
}

/* Have the scan slot show a row of the table, as long as that slot has it. */
static void
show_row(TupleTableSlot *slot, TupleTableSlot *from)
{
	slot_getallattrs(from);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, from->tts_values,
		   slot->tts_tupleDescriptor->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, from->tts_isnull,
		   slot->tts_tupleDescriptor->natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = from->tts_tableOid;
	slot->tts_tid = from->tts_tid;
}

/* Next row of the ordinary scan, in the scan slot. */
static bool
next_plain(GpucolRowScan *scan, TupleTableSlot *slot)
{
	GpucolScanState *state = (GpucolScanState *) scan;

	if (!table_scan_getnextslot(state->table_scan, ForwardScanDirection, state->table_slot))
		return false;
	show_row(slot, state->table_slot);
	return true;
}

/* Find out which rows can be among the first k, or have the device do that. */
static void
begin_topn(GpucolScanState *state)
{
	EState	   *estate = state->rows.css.ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	state->begun = true;
	if (values_fit(state))
	{
		/* lowered with the key for a device, if one may be asked */
		state->rows.exec.cpu_only |= device_keys(&state->probe) == 0;
		state->on_device = !state->rows.exec.cpu_only;
		state->on_device = gpucol_run_on_device(&state->rows.exec);
		state->probe_exec.cpu_only = state->rows.exec.cpu_only;
		if (!state->on_device)
			gpucol_topn_probe_run(&state->probe, &state->probe_exec, state->rows.pushed == NIL);
		state->ties_left = state->probe.ties;
	}
	MemoryContextSwitchTo(old);
}

/* Next batch of the engine. */
static GpucolStatus
next_result(GpucolScanState *state, GpucolResult *result)
{
	GpucolExec *exec = &state->rows.exec;

	return exec->started || values_fit(state) ? gpucol_run_next(exec, result) :
		GPUCOL_UNSUPPORTED;
}

/* The same where only some rows that tie are wanted: these, then all before them. */
static GpucolStatus
next_of_ties(GpucolScanState *state, GpucolResult *result)
{
	GpucolStatus status;

	if (state->ties_left > 0)
	{
		status = next_result(state, result);
		if (status != GPUCOL_OK && status != GPUCOL_END)
			return status;
		if (status == GPUCOL_OK)
		{
			result->nrows = Min(result->nrows, state->ties_left);
			state->ties_left -= result->nrows;
			return GPUCOL_OK;
		}
		state->ties_left = 0;
	}
	if (state->probe.before == NIL)
		return GPUCOL_END;
	if (!state->before)
		gpucol_run_end(&state->rows.exec);
	state->before = true;
	status = next_result(state, result);
	/* it is too late for the ordinary scan */
	if (status != GPUCOL_OK && status != GPUCOL_END)
		gpucol_status_raise(status, state->rows.exec.rel);
	return status;
}

/* Fetch the rows that the probe knows, as a batch; false: one cannot be. */
static bool
fetch_rows(GpucolScanState *state)
{
	GpucolRowScan *scan = &state->rows;
	TupleTableSlot *slot = table_slot_create(scan->exec.rel, NULL);
	int64		n = state->probe.nrows;
	bool		found = true;
	MemoryContext old;

	MemoryContextReset(scan->batch_context);
	old = MemoryContextSwitchTo(scan->batch_context);
	for (int i = 0; i < scan->noutputs; i++)
	{
		scan->values[i] = palloc(n * sizeof(Datum));
		scan->isnull[i] = palloc(n * sizeof(bool));
	}
	for (int64 row = 0; row < n && found; row++)
	{
		uint64		place = state->probe.rows[row];
		ItemPointerData tid;

		ItemPointerSet(&tid, (BlockNumber) (place >> 16), (OffsetNumber) (place & 0xffff));
		found = table_tuple_fetch_row_version(scan->exec.rel, &tid,
											  scan->css.ss.ps.state->es_snapshot, slot);
		if (found)
			gpucol_slot_read(slot, scan->attnums, scan->noutputs);
		for (int i = 0; i < scan->noutputs && found; i++)
		{
			int			att = scan->attnums[i] - 1;
			Form_pg_attribute form = TupleDescAttr(slot->tts_tupleDescriptor, att);

			scan->isnull[i][row] = slot->tts_isnull[att];
			scan->values[i][row] = slot->tts_isnull[att] ? (Datum) 0 :
				datumCopy(slot->tts_values[att], form->attbyval, form->attlen);
		}
	}
	MemoryContextSwitchTo(old);
	ExecDropSingleTupleTableSlot(slot);
	scan->tids = state->probe.rows;
	scan->nrows = found ? n : 0;
	scan->next = 0;
	return found;
}

/* Load the next batch of the engine, or the rows that the probe knows. */
static GpucolStatus
next_batch(GpucolRowScan *scan)
{
	GpucolScanState *state = (GpucolScanState *) scan;
	GpucolResult result;
	GpucolStatus status;

	if (state->topn && !state->begun)
		begin_topn(state);
	if (state->fetched)
		return GPUCOL_END;
	state->fetched = state->probe.rows != NULL && fetch_rows(state);
	if (state->fetched)
		return GPUCOL_OK;
	state->probe.rows = NULL;
	status = state->probe.ties > 0 ? next_of_ties(state, &result) : next_result(state, &result);
	if (status == GPUCOL_OK)
		gpucol_row_scan_load(scan, &result);
	return status;
}

static const GpucolRowScanMethods row_methods = {
	.next_batch = next_batch,
	.begin_plain = begin_plain,
	.next_plain = next_plain,
};

/* ExecScan's recheck method: test what the engine would have tested. */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	GpucolScanState *state = (GpucolScanState *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;

	econtext->ecxt_scantuple = slot;
	return ExecQual(state->rows.pushed_qual, econtext);
}

/* Does one row stand for the table while a row that another transaction changed is tested again? */
static bool
has_substitute(const EPQState *epq, Index rti)
{
	return epq->relsubs_done[rti - 1] || epq->relsubs_slot[rti - 1] != NULL || epq->relsubs_rowmark[rti - 1] != NULL;
}

/* That row, or NULL: the new version of one that the statement changes, or one that was joined with it. */
static TupleTableSlot *
find_substitute(GpucolScanState *state, EPQState *epq, Index rti)
{
	EState	   *estate = state->rows.css.ss.ps.state;

	if (epq->relsubs_slot[rti - 1] != NULL)
		return epq->relsubs_slot[rti - 1];
	if (state->marked_slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
		Relation	rel = state->rows.css.ss.ss_currentRelation;

		state->marked_slot = ExecInitExtraTupleSlot(estate, RelationGetDescr(rel), table_slot_callbacks(rel));
		MemoryContextSwitchTo(old);
	}
	return EvalPlanQualFetchRowMark(epq, rti, state->marked_slot) ? state->marked_slot : NULL;
}

/*
 * That row if it passes, once, as PostgreSQL's ExecScan does it: which hands on a slot of the table,
 * where this node's expressions read virtual ones.
 */
static TupleTableSlot *
exec_substitute(GpucolScanState *state, EPQState *epq, Index rti)
{
	ScanState  *node = &state->rows.css.ss;
	ProjectionInfo *projection = node->ps.ps_ProjInfo;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
	bool		done = epq->relsubs_done[rti - 1];
	TupleTableSlot *row;

	ResetExprContext(node->ps.ps_ExprContext);
	epq->relsubs_done[rti - 1] = true;
	row = done ? NULL : find_substitute(state, epq, rti);
	if (!TupIsNull(row))
		show_row(slot, row);
	if (!TupIsNull(slot) && !(recheck_row(node, slot) && ExecQual(node->ps.qual, node->ps.ps_ExprContext)))
		ExecClearTuple(slot);
	if (projection == NULL)
		return slot;
	return TupIsNull(slot) ? ExecClearTuple(projection->pi_state.resultslot) : ExecProject(projection);
}

/* The next row while rows are tested again: not on the way of all others. */
static pg_noinline TupleTableSlot *
exec_again(CustomScanState *node, EPQState *epq)
{
	Index		rti = ((Scan *) node->ss.ps.plan)->scanrelid;

	return has_substitute(epq, rti) ? exec_substitute((GpucolScanState *) node, epq, rti) :
		ExecScan(&node->ss, gpucol_row_scan_next, recheck_row);
}

static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	EPQState   *epq = node->ss.ps.state->es_epq_active;

	return unlikely(epq != NULL) ? exec_again(node, epq) : ExecScan(&node->ss, gpucol_row_scan_next, recheck_row);
}

/* Can the rows be had in batches (GpucolBatchOps)? */
static bool
scan_offer(CustomScanState *node, PlanState *above pg_attribute_unused(), List *conditions pg_attribute_unused())
{
	GpucolScanState *state = (GpucolScanState *) node;
	const Plan *plan = node->ss.ps.plan;

	const GpucolRowScan *scan = &state->rows;

	return plan->qual == NIL && !plan->parallel_aware && !scan->plain && scan->into == NULL &&
		gpucol_batch_compute_offer(&state->compute, &node->ss.ps, scan->attnums, scan->noutputs,
								   RelationGetDescr(scan->exec.rel));
}

/* The next batch; tuples where plain rows take the engine's place. */
static GpucolStatus
scan_next_batch(CustomScanState *node, GpucolBatch *batch)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolRowScan *scan = &state->rows;

	ResetExprContext(node->ss.ps.ps_ExprContext);
	while (!gpucol_batch_compute_next(state->compute, batch))
	{
		GpucolResult result;
		GpucolStatus status = scan->plain ? GPUCOL_UNSUPPORTED : next_result(state, &result);

		if (status != GPUCOL_OK)
		{
			gpucol_batch_compute_reset(state->compute);
			if (status == GPUCOL_END)
				return GPUCOL_END;
			gpucol_row_scan_begin_plain(scan);
			return GPUCOL_UNSUPPORTED;
		}
		gpucol_batch_compute_take(state->compute, result.nrows, scan->outputs, result.columns,
								  scan->exec.engine != &gpucol_engine_cpu);
	}
	scan->exec.delivered = true;
	return GPUCOL_OK;
}

const GpucolBatchOps gpucol_scan_batches = {
	.offer = scan_offer,
	.next = scan_next_batch,
};

/* Let go of the engine, the source and the ordinary scan. */
static void
stop(GpucolScanState *state)
{
	gpucol_run_end(&state->rows.exec);
	if (state->topn)
	{
		/* parameters may be others next time */
		gpucol_run_end(&state->probe_exec);
		gpucol_topn_probe_reset(&state->probe);
	}
	state->begun = false;
	state->on_device = false;
	state->before = false;
	state->fetched = false;
	gpucol_row_scan_reset(&state->rows);
	if (state->table_scan != NULL)
	{
		ExecClearTuple(state->rows.css.ss.ss_ScanTupleSlot);
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
	gpucol_parallel_report(&state->rows.exec);
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
		gpucol_source_parallel_size(state->rows.exec.rel,
									node->ss.ps.state->es_snapshot);
}

static void
scan_initialize_dsm(CustomScanState *node, ParallelContext *pcxt,
					void *coordinate)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolParallel *parallel = coordinate;

	parallel->row_scan = !gpucol_run_check_values(&state->rows.exec,
												  read_columns(state), true);
	gpucol_source_parallel_init(parallel->source, state->rows.exec.rel,
								node->ss.ps.state->es_snapshot,
								gpucol_run_wants_device());
	gpucol_parallel_init(&state->rows.exec, parallel, pcxt);
}

static void
scan_reinitialize_dsm(CustomScanState *node,
					  ParallelContext *pcxt pg_attribute_unused(),
					  void *coordinate)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolParallel *parallel = coordinate;

	gpucol_source_parallel_rescan(parallel->source, state->rows.exec.rel);
}

static void
scan_initialize_worker(CustomScanState *node,
					   shm_toc *toc pg_attribute_unused(), void *coordinate)
{
	((GpucolRowScan *) node)->exec.parallel = coordinate;
}

/* The sort keys as they are written after ORDER BY. */
static char *
describe_keys(const GpucolTopnProbe *probe, List *context, bool prefix)
{
	StringInfoData keys;

	initStringInfo(&keys);
	for (int i = 0; i < probe->nkeys; i++)
		appendStringInfo(&keys, "%s%s%s", i > 0 ? ", " : "",
						 deparse_expression((Node *) probe->keys[i].sort.expr, context, prefix, true),
						 probe->keys[i].sort.descending ? " DESC" : "");
	return keys.data;
}

/* What rows must meet to be among the first; NULL: nothing. */
static Node *
top_condition(const GpucolTopnProbe *probe)
{
	List	   *all = NIL;
	ListCell   *lc;

	foreach(lc, probe->condition)
	{
		if (!IsA(lfirst(lc), Const))
			all = lappend(all, lfirst(lc));
	}
	return all == NIL ? NULL : (Node *) make_ands_explicit(all);
}

/* Cut a text that is too long to be read. */
static char *
clip(char *text)
{
	int			len = (int) strlen(text);

	if (len > SHOWN_BYTES)
		strcpy(text + pg_mbcliplen(text, len, SHOWN_BYTES - 3), "...");
	return text;
}

/* The sort keys and the limit; what the probe found, under EXPLAIN ANALYZE. */
static void
explain_probe(GpucolScanState *state, List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   state->rows.css.ss.ps.plan,
												   ancestors);
	bool		prefix = es->verbose || gpucol_compat_rtable_size(es) > 1;
	Node	   *condition;

	ExplainPropertyText("Top Key", describe_keys(&state->probe, context, prefix), es);
	ExplainPropertyInteger("Top Rows", NULL, state->probe.k, es);
	if (!es->analyze || state->on_device)
		return;
	condition = top_condition(&state->probe);
	if (condition != NULL)
		ExplainPropertyText("Top Condition",
							clip(deparse_expression(condition, context, prefix, true)), es);
	if (state->probe.too_much)
		ExplainPropertyText("Top Rows Not Sought", "their sort keys exceed gpucol.memory_limit", es);
	if (state->probe.ties > 0)
		ExplainPropertyInteger("Top Ties", NULL, state->probe.ties, es);
	if (state->fetched)
		ExplainPropertyInteger("Fetched Rows", NULL, state->probe.nrows, es);
	ExplainPropertyInteger("Probed Rows", NULL, state->probe.seen, es);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GpucolScanState *state = (GpucolScanState *) node;
	GpucolExec *exec = state->fetched ? &state->probe_exec : &state->rows.exec;

	gpucol_run_end(exec);
	gpucol_parallel_gather(exec);
	gpucol_explain_engine(exec, read_columns(state), es);
	gpucol_explain_filter(exec, state->rows.pushed, ancestors, es);
	gpucol_explain_columns(exec, read_columns(state), es);
	if (state->topn)
		explain_probe(state, ancestors, es);
	gpucol_row_scan_explain(&state->rows, es);
	gpucol_batch_compute_explain(state->compute, ancestors, es);
	gpucol_explain_stats(exec, es);
}

bool
gpucol_scan_is_state(const PlanState *state)
{
	return IsA(state, CustomScanState) &&
		(((const CustomScanState *) state)->methods == &gpucol_scan_exec_methods ||
		 ((const CustomScanState *) state)->methods == &topn_exec_methods);
}
