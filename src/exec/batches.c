/*-------------------------------------------------------------------------
 *
 * batches.c
 *	  The rows of a plan, from nodes of ours a column at a time.
 *
 * A plan is read by batches where it is a node that has them, or the rows of a WITH query that has them
 * (shared_rows.c), or one of these behind Subquery Scans and projections, one of which may compute columns
 * (batch_compute.c), while the others only choose among them, and one of which may have conditions, tested by the node
 * or here (batch_test.c); and so are the members of an Append, which may be behind such nodes without conditions,
 * too.  Those nodes are passed by, but for what they count for EXPLAIN ANALYZE.  All else is asked for tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "exec/batch_compute.h"
#include "exec/batch_test.h"
#include "exec/run.h"
#include "exec/shared_rows.h"

/* The nodes that have batches. */
static const struct
{
	const CustomExecMethods *methods;
	const GpucolBatchOps *ops;
}			nodes[] = {
	{&gpucol_scan_exec_methods, &gpucol_scan_batches},
	{&gpucol_join_exec_methods, &gpucol_join_batches},
	{&gpucol_agg_exec_methods, &gpucol_agg_batches},
	{&gpucol_window_exec_methods, &gpucol_window_batches},
};

/* A plan whose rows are those of one node, or tuples. */
typedef struct Member
{
	PlanState  *plan;
	List	   *passed;			/* nodes between it and */
	PlanState  *node;			/* the one that has batches, or the plan of the WITH query; or NULL */
	const GpucolBatchOps *ops;	/* of the one */
	const CteScanState *with;	/* a scan of the other, or NULL; */
	GpucolSharedRows *shared;	/* its rows, */
	GpucolKeptReader *kept;		/* which are read */
	PlanState  *computes;		/* of the nodes passed the one that computes columns, or NULL; */
	int		   *inputs;			/* the node's column of each that it reads, */
	int			ninputs;
	GpucolBatch input;			/* the batch of these, */
	GpucolBatchCompute *compute;	/* of which it makes others */
	int		   *places;			/* the column of the node, or of that one, of each of the plan's */
	int			nplaces;
	PlanState  *above;			/* of the nodes passed the one that has conditions, or NULL; */
	List	   *conditions;		/* these, on the node's columns, */
	bool		behind;			/* or on the computed ones, */
	GpucolBatchTest *test;		/* where they are tested here */
	bool		tuples;			/* in this scan it has none */
} Member;

struct GpucolPlanReader
{
	PlanState  *plan;
	List	   *passed;			/* nodes between the plan and */
	PlanState  *append;			/* this; or NULL: the plan is the only member itself */
	int			nmembers;
	Member	   *members;
	int			at;
	bool	   *wanted;			/* by the plan's column; NULL: all */
	GpucolBatch batch;			/* in the plan's columns */
	GpucolBatch node_batch;
	TupleTableSlot *slot;		/* or a tuple */
	bool		unread;
	bool		ended;			/* a plan that has ended may start over if it is asked */
};

/* The ops of a node of ours, or NULL. */
static const GpucolBatchOps *
find_ops(const PlanState *plan)
{
	if (!IsA(plan, CustomScanState))
		return NULL;
	for (int i = 0; i < (int) lengthof(nodes); i++)
	{
		if (((const CustomScanState *) plan)->methods == nodes[i].methods)
			return nodes[i].ops;
	}
	return NULL;
}

/* What stands for a node's input in its expressions. */
static int
varno_of(const Plan *plan)
{
	return IsA(plan, Result) ? OUTER_VAR : (int) ((const Scan *) plan)->scanrelid;
}

/* Where the columns of a node are, if it only chooses among those of the node below. */
static bool
find_places(const Plan *plan, const int *below, int nbelow, int *places)
{
	int			varno = varno_of(plan);
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(var, Var) || var->varno != varno || var->varattno <= 0 || var->varattno > nbelow)
			return false;
		places[foreach_current_index(lc)] = below[var->varattno - 1];
	}
	return true;
}

/* Which columns a node has in the place of those of a scan of its rows. */
typedef struct Places
{
	int			varno;
	const int  *places;
	int			n;
	bool		fits;
} Places;

static Node *
replace_places(Node *node, void *arg)
{
	Places	   *places = arg;
	Var		   *var = (Var *) node;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_places, arg);
	if (var->varno != places->varno || var->varattno <= 0 || var->varattno > places->n)
	{
		places->fits = false;
		return node;
	}
	return (Node *) makeVar(OUTER_VAR, places->places[var->varattno - 1] + 1, var->vartype, var->vartypmod,
							var->varcollid, 0);
}

/* Have the conditions of a node that is passed tested; false where they cannot be. */
static bool
take_conditions(Member *member, PlanState *above, const int *places, int n)
{
	Places		of = {.varno = varno_of(above->plan),.places = places,.n = n,.fits = true};
	List	   *qual = above->plan->qual;

	if (qual == NIL)
		return true;
	if (member->above != NULL || contain_subplans((Node *) qual) || contain_volatile_functions((Node *) qual))
		return false;
	member->above = above;
	member->behind = member->computes != NULL;
	member->conditions = (List *) replace_places((Node *) qual, &of);
	return of.fits;
}

/* The plan whose rows a node reads that may be passed; NULL if it may not. */
static PlanState *
next_below(PlanState *plan)
{
	if (IsA(plan, SubqueryScanState))
		return ((SubqueryScanState *) plan)->subplan;
	if (IsA(plan, ResultState) && ((ResultState *) plan)->resconstantqual == NULL && plan->plan->qual == NIL)
		return outerPlanState(plan);
	return NULL;
}

/* Go down from a plan to what has batches: false if nothing does. */
static bool
go_down(Member *member, PlanState *plan)
{
	PlanState  *below;

	while ((below = next_below(plan)) != NULL)
	{
		member->passed = lcons(plan, member->passed);
		plan = below;
	}
	if (plan->state->es_epq_active != NULL)
		return false;
	if (IsA(plan, CteScanState) && gpucol_shared_rows_possible((CteScanState *) plan, false))
	{
		member->passed = lcons(plan, member->passed);
		member->with = (CteScanState *) plan;
		plan = member->with->cteplanstate;
	}
	else
		member->ops = find_ops(plan);
	member->node = plan;
	return member->with != NULL || member->ops != NULL;
}

/* The numbers of n columns. */
static int *
number_columns(int n)
{
	int		   *places = palloc(Max(n, 1) * sizeof(int));

	for (int i = 0; i < n; i++)
		places[i] = i;
	return places;
}

/* Pass a node: member->places, which are those of the columns below it, become its own; false if it cannot be. */
static bool
pass(Member *member, PlanState *above)
{
	int			ncolumns = list_length(above->plan->targetlist);
	int			n = member->nplaces;
	int		   *chosen;

	if (!take_conditions(member, above, member->places, n))
		return false;
	member->nplaces = ncolumns;
	chosen = palloc(Max(ncolumns, 1) * sizeof(int));
	if (find_places(above->plan, member->places, n, chosen))
	{
		member->places = chosen;
		return true;
	}
	if (member->computes != NULL || !gpucol_batch_compute_possible(above->plan->targetlist, NULL, n))
		return false;
	member->computes = above;
	member->inputs = member->places;
	member->ninputs = n;
	member->places = number_columns(ncolumns);
	return true;
}

/* Pass nodes, the lowest first; false if one cannot be. */
static bool
pass_all(Member *member, List *nodes)
{
	ListCell   *lc;

	foreach(lc, nodes)
	{
		if (!pass(member, lfirst(lc)))
			return false;
	}
	return true;
}

/* Look for the node whose rows a plan has, which others read that are passed, too. */
static void
find_node(Member *member, PlanState *plan, List *others)
{
	member->plan = plan;
	if (!go_down(member, plan))
	{
		member->node = NULL;
		return;
	}
	member->nplaces = list_length(member->node->plan->targetlist);
	member->places = number_columns(member->nplaces);
	if (!pass_all(member, member->passed) || !pass_all(member, others))
		member->node = NULL;
}

/* What describes the rows that a node reads which is passed. */
static TupleDesc
input_desc(PlanState *plan)
{
	return ExecGetResultType(IsA(plan, CteScanState) ? ((CteScanState *) plan)->cteplanstate : next_below(plan));
}

/* Does a member's node test the conditions of the node above? */
static bool
tests_conditions(const Member *member)
{
	const GpucolBatchOps *ops = member->ops;

	return ops != NULL && ops->tests &&
		(ops->leaves == NULL || !ops->leaves((CustomScanState *) member->node, member->conditions));
}

/* Have what reads a member's batches, computes columns of them, and tests them. */
static void
open_member(Member *member)
{
	bool		before = member->computes != NULL && !member->behind;

	if (member->node == NULL)
		return;
	if (member->with != NULL)
	{
		member->shared = gpucol_shared_rows_of(member->with);
		member->kept = gpucol_shared_rows_open(member->shared);
	}
	if (member->computes != NULL)
	{
		member->compute = gpucol_batch_compute_create(member->computes, member->computes->plan->targetlist, NULL,
													  member->ninputs, input_desc(member->computes));
		gpucol_batch_init(&member->input, Max(member->ninputs, list_length(member->node->plan->targetlist)));
	}
	if (member->above != NULL && (member->behind || !tests_conditions(member)))
		member->test = gpucol_batch_test_begin(member->above, member->conditions,
											   ExecGetResultType(member->behind ? member->computes : member->node),
											   before ? member->inputs : member->places,
											   before ? member->ninputs : member->nplaces);
}

/* Are the rows of an Append those of its members, one after the other? */
static bool
is_plain_append(PlanState *plan)
{
	AppendState *append = (AppendState *) plan;

	return IsA(plan, AppendState) && append->as_nasyncplans == 0 && append->as_prune_state == NULL &&
		!plan->plan->parallel_aware && plan->state->es_epq_active == NULL;
}

/* The Append whose rows a plan has, behind nodes that are added to those that the reader passes; or NULL. */
static PlanState *
find_append(GpucolPlanReader *reader)
{
	PlanState  *plan = reader->plan;
	PlanState  *below;

	while (plan->plan->qual == NIL && (below = next_below(plan)) != NULL)
	{
		reader->passed = lcons(plan, reader->passed);
		plan = below;
	}
	return is_plain_append(plan) ? plan : NULL;
}

/* What the rows come from. */
static void
find_members(GpucolPlanReader *reader)
{
	AppendState *append = (AppendState *) find_append(reader);
	bool		any = false;

	if (append != NULL)
	{
		reader->append = (PlanState *) append;
		reader->nmembers = append->as_nplans;
		reader->members = palloc0(Max(reader->nmembers, 1) * sizeof(Member));
		for (int i = 0; i < reader->nmembers; i++)
		{
			find_node(&reader->members[i], append->appendplans[i], reader->passed);
			any |= reader->members[i].node != NULL;
		}
		if (any)
			return;
	}
	reader->append = NULL;
	reader->passed = NIL;
	reader->nmembers = 1;
	reader->members = palloc0(sizeof(Member));
	find_node(&reader->members[0], reader->plan, NIL);
}

/* Is a member a node that has batches, or such large ones? */
static bool
has_batches(PlanState *plan, bool large)
{
	GpucolPlanReader reader = {.plan = plan};

	find_members(&reader);
	for (int i = 0; i < reader.nmembers; i++)
	{
		const Member *member = &reader.members[i];

		if (member->node != NULL && (!large || (member->with != NULL ? gpucol_shared_rows_possible(member->with, true) :
												member->ops->large)))
			return true;
	}
	return false;
}

bool
gpucol_plan_reader_has_batches(PlanState *plan)
{
	return has_batches(plan, false);
}

bool
gpucol_plan_reader_has_large_batches(PlanState *plan)
{
	return has_batches(plan, true);
}

/* Which of the node's columns does the one read that computes others? */
static void
want_inputs(const Member *member, bool *wanted)
{
	const Plan *plan = member->computes->plan;
	Bitmapset  *reads = NULL;

	pull_varattnos((Node *) plan->targetlist, (Index) varno_of(plan), &reads);
	for (int i = 0; i < member->ninputs; i++)
		wanted[member->inputs[i]] |= bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, reads);
	bms_free(reads);
}

/* Have a member know which of its columns are read. */
static void
want_columns(const GpucolPlanReader *reader, const Member *member)
{
	Bitmapset  *tested = NULL;
	bool	   *wanted;

	if (reader->wanted == NULL || member->tuples || member->ops == NULL || member->ops->want == NULL)
		return;
	wanted = palloc0(Max(list_length(member->node->plan->targetlist), 1) * sizeof(bool));
	if (member->computes != NULL)
		want_inputs(member, wanted);
	for (int i = 0; i < reader->batch.ncolumns && member->computes == NULL; i++)
		wanted[member->places[i]] |= reader->wanted[i];
	if (member->test != NULL && !member->behind)
		pull_varattnos((Node *) member->conditions, OUTER_VAR, &tested);
	for (int i = 0; i < list_length(member->node->plan->targetlist); i++)
		wanted[i] |= bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, tested);
	bms_free(tested);
	member->ops->want((CustomScanState *) member->node, wanted);
	pfree(wanted);
}

void
gpucol_plan_reader_want(GpucolPlanReader *reader, const GpucolProgramColumn *columns, int ncolumns)
{
	if (reader->wanted == NULL)
		reader->wanted = MemoryContextAlloc(GetMemoryChunkContext(reader),
											Max(reader->batch.ncolumns, 1) * sizeof(bool));
	memset(reader->wanted, 0, reader->batch.ncolumns * sizeof(bool));
	for (int c = 0; c < ncolumns; c++)
		reader->wanted[columns[c].attnum - 1] = true;
	for (int i = 0; i < reader->nmembers; i++)
		want_columns(reader, &reader->members[i]);
}

/* Have a plan deliver its rows from the first. */
static void
rescan_plan(PlanState *plan)
{
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);

	ExecReScan(plan);
	MemoryContextSwitchTo(old);
}

/* Begin again with a member; does it have batches? */
static bool
offers(Member *member)
{
	if (member->node == NULL)
		return false;
	if (member->compute != NULL)
		gpucol_batch_compute_reset(member->compute);
	if (member->with != NULL)
	{
		gpucol_kept_rows_rescan(member->kept);
		return true;
	}
	return member->ops->offer((CustomScanState *) member->node, member->test == NULL ? member->above : NULL,
							  member->test == NULL ? member->conditions : NIL);
}

void
gpucol_plan_reader_rescan(GpucolPlanReader *reader)
{
	rescan_plan(reader->plan);
	for (int i = 0; i < reader->nmembers; i++)
	{
		reader->members[i].tuples = !offers(&reader->members[i]);
		want_columns(reader, &reader->members[i]);
	}
	reader->at = 0;
	reader->unread = reader->ended = false;
	reader->slot = NULL;
}

/* Columns of a member's batches, at most. */
static int
most_columns(const Member *member)
{
	int			n = member->node == NULL ? 0 : list_length(member->node->plan->targetlist);

	return member->computes == NULL ? n : Max(n, list_length(member->computes->plan->targetlist));
}

GpucolPlanReader *
gpucol_plan_reader_open(PlanState *plan)
{
	GpucolPlanReader *reader = palloc0(sizeof(GpucolPlanReader));
	int			most = 1;

	reader->plan = plan;
	find_members(reader);
	for (int i = 0; i < reader->nmembers; i++)
	{
		open_member(&reader->members[i]);
		most = Max(most, most_columns(&reader->members[i]));
	}
	gpucol_batch_init(&reader->batch, list_length(plan->plan->targetlist));
	gpucol_batch_init(&reader->node_batch, most);
	gpucol_plan_reader_rescan(reader);
	return reader;
}

/* A node's own start, and its end with so many rows. */
static void
start_node(PlanState *plan)
{
	if (plan->chgParam != NULL)
		ExecReScan(plan);
	if (plan->instrument != NULL)
		InstrStartNode(plan->instrument);
}

static void
stop_node(PlanState *plan, uint32 nrows)
{
	if (plan->instrument != NULL)
		InstrStopNode(plan->instrument, nrows);
}

/* The next batch of the node that has them, or of the rows that are kept of it, tested. */
static GpucolStatus
node_batch(Member *member, GpucolBatch *batch)
{
	GpucolStatus status;

	batch->nrows = batch->removed = 0;
	if (member->with != NULL)
	{
		const GpucolBatch *kept = gpucol_shared_rows_next(member->shared, member->kept);

		if (kept == NULL)
			return GPUCOL_END;
		batch->ncolumns = kept->ncolumns;
		batch->nrows = kept->nrows;
		memcpy(batch->outputs, kept->outputs, kept->ncolumns * sizeof(GpucolOutput));
		memcpy(batch->columns, kept->columns, kept->ncolumns * sizeof(GpucolResultColumn));
		status = GPUCOL_OK;
	}
	else
	{
		start_node(member->node);
		status = member->ops->next((CustomScanState *) member->node, batch);
		stop_node(member->node, batch->nrows + batch->removed);
	}
	if (status == GPUCOL_OK && member->test != NULL && !member->behind)
		gpucol_batch_test(member->test, batch);
	return status;
}

/* The same with the columns that are computed of it. */
static GpucolStatus
computed_batch(Member *member, GpucolBatch *batch)
{
	GpucolBatch *input = &member->input;
	uint32		removed = 0;

	while (!gpucol_batch_compute_next(member->compute, batch))
	{
		GpucolStatus status = node_batch(member, batch);

		removed += batch->removed;
		batch->removed = removed;
		if (status != GPUCOL_OK)
			return status;
		for (int i = 0; i < member->ninputs; i++)
		{
			input->outputs[i] = batch->outputs[member->inputs[i]];
			input->columns[i] = batch->columns[member->inputs[i]];
		}
		gpucol_batch_compute_take(member->compute, batch->nrows, input->outputs, input->columns, false);
	}
	batch->removed = removed;
	if (member->behind)
		gpucol_batch_test(member->test, batch);
	return GPUCOL_OK;
}

/* The next batch of a member. */
static GpucolStatus
next_batch(GpucolPlanReader *reader, Member *member)
{
	GpucolBatch *from = &reader->node_batch;
	GpucolBatch *to = &reader->batch;
	GpucolStatus status;
	uint32		nrows;
	ListCell   *lc;

	for (int i = list_length(member->passed); i-- > 0;)
		start_node(list_nth(member->passed, i));
	status = member->compute != NULL ? computed_batch(member, from) : node_batch(member, from);
	nrows = from->nrows + from->removed;
	foreach(lc, member->passed)
	{
		if (lfirst(lc) == member->above)
		{
			nrows = from->nrows;
			InstrCountFiltered1(member->above, from->removed);
		}
		stop_node(lfirst(lc), nrows);
	}
	to->nrows = from->nrows;
	for (int i = 0; i < to->ncolumns && status == GPUCOL_OK; i++)
	{
		to->outputs[i] = from->outputs[member->places[i]];
		to->columns[i] = from->columns[member->places[i]];
	}
	return status;
}

/* A member's tuple as the nodes between it and the plan have it. */
static TupleTableSlot *
project(const GpucolPlanReader *reader, TupleTableSlot *slot)
{
	ListCell   *lc;

	foreach(lc, reader->passed)
	{
		PlanState  *plan = lfirst(lc);
		ExprContext *econtext = plan->ps_ExprContext;

		if (plan->ps_ProjInfo == NULL)
			continue;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = econtext->ecxt_outertuple = slot;
		slot = ExecProject(plan->ps_ProjInfo);
	}
	return slot;
}

/* The next rows of a member; false behind the last. */
static bool
next_of(GpucolPlanReader *reader, Member *member)
{
	GpucolStatus status = GPUCOL_UNSUPPORTED;

	reader->batch.nrows = 0;
	reader->slot = NULL;
	while (!member->tuples)
	{
		CHECK_FOR_INTERRUPTS();
		status = next_batch(reader, member);
		member->tuples = status == GPUCOL_UNSUPPORTED;
		if (status == GPUCOL_END)
			return false;
		if (status == GPUCOL_OK && reader->batch.nrows > 0)
			return true;
	}
	reader->slot = ExecProcNode(member->plan);
	reader->slot = TupIsNull(reader->slot) ? NULL : project(reader, reader->slot);
	return reader->slot != NULL;
}

/* The same of all members. */
static bool
next_rows(GpucolPlanReader *reader)
{
	bool		found = false;
	uint32		nrows;
	ListCell   *lc;

	foreach(lc, reader->passed)
		start_node(lfirst(lc));
	if (reader->append != NULL)
		start_node(reader->append);
	while (reader->at < reader->nmembers && !(found = next_of(reader, &reader->members[reader->at])))
		reader->at++;
	nrows = !found ? 0 : reader->slot != NULL ? 1 : reader->batch.nrows;
	if (reader->append != NULL)
		stop_node(reader->append, nrows);
	foreach(lc, reader->passed)
		stop_node(lfirst(lc), nrows);
	return found;
}

bool
gpucol_plan_reader_next(GpucolPlanReader *reader, const GpucolBatch **batch, TupleTableSlot **slot)
{
	if (!reader->unread && !reader->ended)
	{
		/* what a plan keeps from row to row has to be of its query */
		MemoryContext old = MemoryContextSwitchTo(reader->plan->state->es_query_cxt);

		reader->ended = !next_rows(reader);
		MemoryContextSwitchTo(old);
	}
	reader->unread = false;
	*slot = reader->slot;
	*batch = reader->slot == NULL ? &reader->batch : NULL;
	return !reader->ended;
}

void
gpucol_plan_reader_unread(GpucolPlanReader *reader)
{
	reader->unread = true;
}
