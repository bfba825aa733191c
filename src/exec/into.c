/*-------------------------------------------------------------------------
 *
 * into.c
 *	  CREATE TABLE AS, SELECT INTO and INSERT ... SELECT of one scan of ours: the
 *	  engine's batches go into the table as they are, and no row passes through
 *	  the executor.
 *
 * The node that PostgreSQL calls for rows (the scan under CREATE TABLE AS, whose
 * receiver would insert each, or ModifyTable) gets another function in the place of
 * its own when the statement starts to run.  Called the first time, that writes
 * everything, counts the rows, and says that there are none.  All else stays
 * PostgreSQL's: the table is made by the receiver, locks, permissions, statistics
 * and the command tag are the statement's own.
 *
 * A table of ours without indexes takes columns into its segments' buffers; every
 * other gets a thousand rows at a time by table_multi_insert, as COPY does, and then
 * its index entries.  Whatever may look at single rows, or at the table while it is
 * being filled, keeps the statement on PostgreSQL's way (find_obstacle).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/am.h"
#include "columnar/insert.h"
#include "compat.h"
#include "exec/into.h"
#include "exec/row_scan.h"
#include "guc.h"

/* Rows that are inserted at once where they are needed as rows. */
#define SLOT_ROWS	1000

/* Nodes above a scan that only project. */
#define MAX_LAYERS	8

/* The scan that fills a table, and the nodes above it that project its rows. */
typedef struct Source
{
	GpucolRowScan *scan;		/* or NULL */
	int			nlayers;
	PlanState  *layers[MAX_LAYERS]; /* the top one first */
} Source;

/* A statement that is filled by one scan. */
typedef struct GpucolInto
{
	GpucolRowScan *scan;
	Source		source;
	ModifyTableState *insert;	/* INSERT, else NULL */
	GpucolCompatIntoReceiver *receiver; /* CREATE TABLE AS, else NULL */

	/* the table, once it is being filled */
	Relation	rel;
	bool		packed;			/* it is ours */
	CommandId	cid;
	int			options;
	BulkInsertState bistate;
	int			nslots;
	TupleTableSlot *slots[SLOT_ROWS];

	/* the batch by attribute of the table */
	int			natts;
	int		   *outputs;		/* the scan's output column; -1 = an expression */
	const Datum **values;
	const bool **isnull;
	bool		computes;		/* there are expressions */
} GpucolInto;

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorRun_hook_type previous_run = NULL;

/* ---- which statements ---- */

/* Go down through what only projects to a scan of ours. */
static void
find_row_scan(PlanState *state, Source *source)
{
	source->scan = NULL;
	source->nlayers = 0;
	while (state != NULL && source->nlayers < MAX_LAYERS)
	{
		if (gpucol_scan_is_state(state) || gpucol_recursion_wing->is_scan_state(state))
		{
			source->scan = (GpucolRowScan *) state;
			return;
		}
		source->layers[source->nlayers++] = state;
		if (IsA(state, SubqueryScanState))
			state = ((SubqueryScanState *) state)->subplan;
		else if (IsA(state, ResultState) && ((ResultState *) state)->resconstantqual == NULL)
			state = outerPlanState(state);
		else
			return;
	}
}

/* The node that delivers the rows which the statement writes, or NULL. */
static PlanState *
find_top(const QueryDesc *query)
{
	PlanState  *top = query->planstate;

	if (top != NULL && query->operation == CMD_SELECT && query->dest != NULL &&
		query->dest->mydest == DestIntoRel)
		return top;
	if (top != NULL && query->operation == CMD_INSERT && IsA(top, ModifyTableState))
		return outerPlanState(top);
	return NULL;
}

/* Are the rows' columns those of the table, in order and type? */
static bool
matches_table(const PlanState *top, TupleDesc desc)
{
	List	   *tlist = top->plan->targetlist;
	ListCell   *lc;

	if (list_length(tlist) != desc->natts)
		return false;
	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Form_pg_attribute att = TupleDescAttr(desc, foreach_current_index(lc));

		if (entry->resjunk)
			return false;
		if (!att->attisdropped && exprType((Node *) entry->expr) != att->atttypid)
			return false;
	}
	return true;
}

/* What of the target of an INSERT forbids batches, or NULL. */
static const char *
find_table_obstacle(const ModifyTableState *state, const ResultRelInfo *info)
{
	Relation	rel = info->ri_RelationDesc;
	const TriggerDesc *triggers = info->ri_TrigDesc;
	const TupleConstr *constr = RelationGetDescr(rel)->constr;

	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relispartition)
		return "the target is partitioned, or not a plain table";
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_before_statement ||
		 triggers->trig_insert_after_statement ||
		 triggers->trig_insert_new_table))
		return "the target has triggers or foreign keys";
	if (constr != NULL && constr->num_check > 0)
		return "the target has CHECK constraints";
	if (constr != NULL && gpucol_compat_has_generated(constr))
		return "the target has generated columns";
	if (info->ri_WithCheckOptions != NIL)
		return "the target has row-level security";
	if (info->ri_FdwRoutine != NULL || state->mt_transition_capture != NULL)
		return "the target is not a plain table";
	if (!matches_table(outerPlanState(state), RelationGetDescr(rel)))
		return "the rows are not yet those of the target";
	return NULL;
}

/* What of a node forbids batches, or NULL. */
static const char *
find_node_obstacle(const PlanState *state)
{
	if (state->plan->parallel_aware)
		return "the scan is parallel";
	if (state->plan->qual != NIL)
		return "PostgreSQL tests a condition";
	if (contain_volatile_functions((Node *) state->plan->targetlist))
		return "a volatile function is computed";
	/* in which a volatile function would not be seen */
	if (contain_subplans((Node *) state->plan->targetlist))
		return "a subquery is computed for each row";
	return NULL;
}

/* Why rows are written one by one, or NULL. */
static const char *
find_obstacle(const QueryDesc *query, const Source *source)
{
	const char *obstacle = find_node_obstacle(&source->scan->css.ss.ps);

	if (!gpucol_enabled || !gpucol_enable_into)
		return "gpucol.enable_into is off";
	for (int i = 0; i < source->nlayers && obstacle == NULL; i++)
		obstacle = find_node_obstacle(source->layers[i]);
	if (obstacle != NULL)
		return obstacle;
	if (query->operation == CMD_INSERT)
	{
		const ModifyTableState *state = (ModifyTableState *) query->planstate;
		const ModifyTable *insert = (ModifyTable *) state->ps.plan;

		if (insert->onConflictAction != ONCONFLICT_NONE || insert->returningLists != NIL)
			return "INSERT has ON CONFLICT or RETURNING";
		if (state->mt_nrels != 1 || !state->canSetTag || insert->rootRelation != 0)
			return "the target is partitioned, or not a plain table";
		return find_table_obstacle(state, &state->resultRelInfo[0]);
	}
	if (query->estate->es_junkFilter != NULL)
		return "the query has hidden columns";
	return NULL;
}

/* ---- the batch as the table's columns ---- */

/* The output of the scan that a column of a layer is; -1 = it is computed. */
static int
find_output(const Source *source, int layer, const Expr *expr)
{
	const Var  *var = (const Var *) expr;
	const Plan *below;

	if (!IsA(expr, Var) || var->varattno <= 0)
		return -1;
	if (layer < source->nlayers)
	{
		below = layer + 1 < source->nlayers ? source->layers[layer + 1]->plan :
			source->scan->css.ss.ps.plan;
		return find_output(source, layer + 1,
						   list_nth_node(TargetEntry, below->targetlist,
										 var->varattno - 1)->expr);
	}
	for (int i = 0; i < source->scan->noutputs; i++)
		if (source->scan->attnums[i] == var->varattno)
			return i;
	return -1;
}

/* Which output of the scan each attribute is. */
static void
map_columns(GpucolInto *into, const PlanState *top)
{
	List	   *tlist = top->plan->targetlist;
	ListCell   *lc;

	into->natts = list_length(tlist);
	into->outputs = palloc(sizeof(int) * Max(into->natts, 1));
	into->values = palloc(sizeof(Datum *) * Max(into->natts, 1));
	into->isnull = palloc(sizeof(bool *) * Max(into->natts, 1));
	foreach(lc, tlist)
	{
		int			output = find_output(&into->source, 0,
										 lfirst_node(TargetEntry, lc)->expr);

		into->outputs[foreach_current_index(lc)] = output;
		into->computes |= output < 0;
	}
}

/* A row as the top node delivers it: what ExecProcNode would return. */
static TupleTableSlot *
project_row(GpucolInto *into, int64 row)
{
	TupleTableSlot *slot = gpucol_row_scan_store(into->scan, row);

	for (int i = into->source.nlayers; i >= 0; i--)
	{
		PlanState  *state = i < into->source.nlayers ? into->source.layers[i] :
			&into->scan->css.ss.ps;
		ExprContext *econtext = state->ps_ExprContext;

		if (state->ps_ProjInfo == NULL)
			continue;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = econtext->ecxt_outertuple = slot;
		slot = ExecProject(state->ps_ProjInfo);
	}
	return slot;
}

/* Take a copy of what is computed for a row. */
static void
take_computed(GpucolInto *into, int64 row, Datum **values, bool **isnull)
{
	TupleTableSlot *slot = project_row(into, row);
	MemoryContext old = MemoryContextSwitchTo(into->scan->batch_context);

	for (int att = 0; att < into->natts; att++)
	{
		Form_pg_attribute form = TupleDescAttr(slot->tts_tupleDescriptor, att);

		if (into->outputs[att] >= 0)
			continue;
		isnull[att][row] = slot->tts_isnull[att];
		values[att][row] = slot->tts_isnull[att] ? (Datum) 0 :
			datumCopy(slot->tts_values[att], form->attbyval, form->attlen);
	}
	MemoryContextSwitchTo(old);
}

/* Compute what the nodes project, for the whole batch. */
static void
compute_columns(GpucolInto *into)
{
	GpucolRowScan *scan = into->scan;
	MemoryContext old = MemoryContextSwitchTo(scan->batch_context);
	Datum	  **values = palloc0(sizeof(Datum *) * into->natts);
	bool	  **isnull = palloc0(sizeof(bool *) * into->natts);

	for (int att = 0; att < into->natts; att++)
	{
		if (into->outputs[att] >= 0)
			continue;
		into->values[att] = values[att] = palloc(sizeof(Datum) * scan->nrows);
		into->isnull[att] = isnull[att] = palloc(sizeof(bool) * scan->nrows);
	}
	MemoryContextSwitchTo(old);
	for (int64 row = 0; row < scan->nrows; row++)
		take_computed(into, row, values, isnull);
}

/* Have the scan's batch as the table's columns. */
static void
take_batch(GpucolInto *into)
{
	for (int att = 0; att < into->natts; att++)
	{
		if (into->outputs[att] < 0)
			continue;
		into->values[att] = into->scan->values[into->outputs[att]];
		into->isnull[att] = into->scan->isnull[into->outputs[att]];
	}
	if (into->computes)
		compute_columns(into);
}

/* ---- writing ---- */

/* A row of the batch as a tuple of the table, in a slot of our own. */
static TupleTableSlot *
store_row(GpucolInto *into, int64 row, int n)
{
	TupleTableSlot *slot;

	while (into->nslots <= n)
		into->slots[into->nslots++] = table_slot_create(into->rel, NULL);
	slot = ExecClearTuple(into->slots[n]);
	for (int att = 0; att < into->natts; att++)
	{
		slot->tts_values[att] = into->values[att][row];
		slot->tts_isnull[att] = into->isnull[att][row];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(into->rel);
	return slot;
}

/* Raise PostgreSQL's error for the first row that violates a NOT NULL. */
static void
check_nulls(GpucolInto *into)
{
	TupleDesc	desc = RelationGetDescr(into->rel);
	int64		first = into->scan->nrows;

	if (desc->constr == NULL || !desc->constr->has_not_null)
		return;
	for (int att = 0; att < desc->natts; att++)
	{
		const bool *found;

		if (!TupleDescAttr(desc, att)->attnotnull || first == 0)
			continue;
		found = memchr(into->isnull[att], true, first);
		if (found != NULL)
			first = found - into->isnull[att];
	}
	if (first < into->scan->nrows)
		ExecConstraints(&into->insert->resultRelInfo[0], store_row(into, first, 0),
						into->scan->css.ss.ps.state);
}

/* Write n rows of the batch as rows. */
static void
write_rows(GpucolInto *into, int64 from, int n)
{
	EState	   *estate = into->scan->css.ss.ps.state;
	ResultRelInfo *info = into->insert ? &into->insert->resultRelInfo[0] : NULL;
	MemoryContext old;

	for (int i = 0; i < n; i++)
		store_row(into, from + i, i);

	/* what an insert allocates would stay until the statement's end */
	ResetPerTupleExprContext(estate);
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	table_multi_insert(into->rel, into->slots, n, into->cid, into->options,
					   into->bistate);
	MemoryContextSwitchTo(old);
	if (info == NULL || info->ri_NumIndices == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ResetPerTupleExprContext(estate);
		(void) gpucol_compat_insert_index_tuples(info, into->slots[i], estate);
	}
}

/* Write the scan's batch. */
static void
write_batch(GpucolInto *into)
{
	int64		nrows = into->scan->nrows;

	take_batch(into);
	if (into->insert != NULL)
		check_nulls(into);
	if (into->packed &&
		gpucol_insert_columns(into->rel, (uint32) nrows, into->values, into->isnull,
							  into->cid, into->options,
							  into->insert ? NULL : into->bistate))
		return;
	for (int64 from = 0; from < nrows; from += SLOT_ROWS)
		write_rows(into, from, (int) Min(nrows - from, SLOT_ROWS));
}

/* Look at the table; false if the receiver is not what it should be. */
static bool
open_table(GpucolInto *into)
{
	const GpucolCompatIntoReceiver *receiver = into->receiver;
	ResultRelInfo *info;

	if (receiver != NULL)
	{
		if (receiver->rel == NULL ||
			receiver->address.classId != RelationRelationId ||
			receiver->address.objectId != RelationGetRelid(receiver->rel))
			return false;
		into->rel = receiver->rel;
		into->cid = receiver->cid;
		into->options = receiver->options;
	}
	else
	{
		info = &into->insert->resultRelInfo[0];
		into->rel = info->ri_RelationDesc;
		into->cid = into->scan->css.ss.ps.state->es_output_cid;
		if (into->rel->rd_rel->relhasindex && info->ri_IndexRelationDescs == NULL)
			ExecOpenIndices(info, false);
	}
	into->packed = gpucol_am_is_table(into->rel);
	into->bistate = GetBulkInsertState();
	return true;
}

/* Let go of what open_table and store_row made. */
static void
close_table(GpucolInto *into)
{
	for (int i = 0; i < into->nslots; i++)
		ExecDropSingleTupleTableSlot(into->slots[i]);
	into->nslots = 0;
	FreeBulkInsertState(into->bistate);
}

/* Count for EXPLAIN ANALYZE what a node would have delivered. */
static void
count_rows(PlanState *state, const PlanState *called, int64 nrows)
{
	/* PostgreSQL runs the clock of the node that it has called */
	if (state->instrument == NULL)
		return;
	if (state == called)
		state->instrument->tuplecount += nrows;
	else
		InstrStopNode(state->instrument, nrows);
}

/* Fetch the next batch, counted by EXPLAIN ANALYZE. */
static bool
fetch_batch(GpucolInto *into, const PlanState *called)
{
	PlanState  *scan = &into->scan->css.ss.ps;
	bool		more;
	int64		nrows;

	for (int i = 0; i < into->source.nlayers; i++)
		if (into->source.layers[i] != called && into->source.layers[i]->instrument)
			InstrStartNode(into->source.layers[i]->instrument);
	if (scan != called && scan->instrument)
		InstrStartNode(scan->instrument);
	more = gpucol_row_scan_fetch(into->scan);
	nrows = more ? into->scan->nrows : 0;
	count_rows(scan, called, nrows);
	for (int i = into->source.nlayers - 1; i >= 0; i--)
		count_rows(into->source.layers[i], called, nrows);
	return more;
}

/* In the place of the node's own function: write all rows, return none. */
static TupleTableSlot *
write_all(PlanState *node)
{
	EState	   *estate = node->state;
	Source		source;
	GpucolInto *into;
	MemoryContext old;

	find_row_scan(IsA(node, ModifyTableState) ? outerPlanState(node) : node, &source);
	into = source.scan->into;
	if (into == NULL)
		return NULL;
	source.scan->into = NULL;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	if (!open_table(into))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not find the table that is being created"),
				 errhint("Set gpucol.enable_into to off.")));
	while (fetch_batch(into, node))
	{
		CHECK_FOR_INTERRUPTS();
		write_batch(into);
		estate->es_processed += into->scan->nrows;
	}
	close_table(into);
	MemoryContextSwitchTo(old);
	return NULL;
}

/* ---- hooks ---- */

/* For EXPLAIN: say how rows will be written. */
static void
start_query(QueryDesc *query, int eflags)
{
	Source		source;

	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	find_row_scan(find_top(query), &source);
	if (source.scan == NULL)
		return;
	source.scan->not_batched = find_obstacle(query, &source);
	if (source.scan->not_batched == NULL)
		source.scan->written = "in batches";
}

/* Have the statement's rows written in batches, if they may be. */
static void
divert_rows(QueryDesc *query, const Source *source)
{
	GpucolCompatIntoReceiver *receiver = NULL;
	GpucolInto *into;
	MemoryContext old;

	if (query->operation == CMD_SELECT)
	{
		receiver = (GpucolCompatIntoReceiver *) query->dest;
		if (receiver->into == NULL || !IsA(receiver->into, IntoClause) ||
			receiver->into->skipData || receiver->rel != NULL)
			return;
	}
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	into = palloc0(sizeof(GpucolInto));
	into->scan = source->scan;
	into->source = *source;
	into->receiver = receiver;
	if (receiver == NULL)
		into->insert = (ModifyTableState *) query->planstate;
	map_columns(into, find_top(query));
	MemoryContextSwitchTo(old);
	source->scan->into = into;
	ExecSetExecProcNode(query->planstate, write_all);
}

static void
run_query(QueryDesc *query, ScanDirection direction, uint64 count
		  GPUCOL_COMPAT_RUN_ONCE)
{
	Source		source;

	find_row_scan(find_top(query), &source);
	if (source.scan != NULL && source.scan->into == NULL && count == 0 &&
		ScanDirectionIsForward(direction) && !query->already_executed &&
		find_obstacle(query, &source) == NULL)
		divert_rows(query, &source);
	gpucol_compat_run_next(previous_run, query, direction, count GPUCOL_COMPAT_RUN_ONCE_ARG);
}

void
gpucol_into_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_query;
}
