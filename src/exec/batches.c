/*-------------------------------------------------------------------------
 *
 * batches.c
 *	  The rows of a plan, from nodes of ours a column at a time.
 *
 * A plan is read by batches where it is a node that has them, or the rows of a WITH query that has them
 * (shared_rows.c), or one of these behind Subquery Scans that only choose among its columns, one of which may have
 * conditions, tested by the node or here (batch_test.c); and so are the members of an Append, also behind Subquery
 * Scans that only choose among its columns.  Those nodes are passed by, but for what they count for EXPLAIN ANALYZE.
 * All else is asked for tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "exec/batch_test.h"
#include "exec/batches.h"
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
	int		   *places;			/* the node's column of each of the plan's */
	PlanState  *above;			/* of the nodes passed the one that has conditions, or NULL; */
	List	   *conditions;		/* these, on the node's columns, */
	GpucolBatchTest *test;		/* where they are tested here */
	bool		tuples;			/* in this scan it has none */
} Member;

struct GpucolPlanReader
{
	PlanState  *plan;
	List	   *passed;			/* nodes between the plan and */
	PlanState  *append;			/* this; or NULL: the plan is the only member itself */
	int		   *places;			/* the members' column of each of the plan's; NULL: the same */
	TupleTableSlot *chosen;		/* then: these columns of a member's tuple */
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

/* Where the columns of a target list are, if it only chooses among those of the node below. */
static bool
find_places(List *tlist, Index varno, const int *below, int nbelow, int *places)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(var, Var) || var->varno != (int) varno || var->varattno <= 0 || var->varattno > nbelow)
			return false;
		places[foreach_current_index(lc)] = below == NULL ? var->varattno - 1 : below[var->varattno - 1];
	}
	return true;
}

/* Which columns a node has in the place of those of a scan of its rows. */
typedef struct Places
{
	Index		varno;
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
	if (var->varno != (int) places->varno || var->varattno <= 0 || var->varattno > places->n)
	{
		places->fits = false;
		return node;
	}
	return (Node *) makeVar(OUTER_VAR, places->places[var->varattno - 1] + 1, var->vartype, var->vartypmod,
							var->varcollid, 0);
}

/* Have the conditions of a scan of the node's rows tested; false where they cannot be. */
static bool
take_conditions(Member *member, PlanState *above, const int *places, int n)
{
	Places		of = {.varno = ((Scan *) above->plan)->scanrelid,.places = places,.n = n,.fits = true};
	List	   *qual = above->plan->qual;

	if (qual == NIL)
		return true;
	if (member->above != NULL || contain_subplans((Node *) qual) || contain_volatile_functions((Node *) qual))
		return false;
	member->above = above;
	member->conditions = (List *) replace_places((Node *) qual, &of);
	return of.fits;
}

/* Go down from a plan to what has batches: false if nothing does. */
static bool
go_down(Member *member, PlanState *plan)
{
	while (IsA(plan, SubqueryScanState))
	{
		member->passed = lcons(plan, member->passed);
		plan = ((SubqueryScanState *) plan)->subplan;
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

/* Look for the node whose rows a plan has. */
static void
find_node(Member *member, PlanState *plan)
{
	int		   *places;
	int			n;
	ListCell   *lc;

	member->plan = plan;
	if (!go_down(member, plan))
	{
		member->node = NULL;
		return;
	}
	n = list_length(member->node->plan->targetlist);
	places = palloc(Max(n, 1) * sizeof(int));
	for (int i = 0; i < n; i++)
		places[i] = i;
	foreach(lc, member->passed)
	{
		Plan	   *above = ((PlanState *) lfirst(lc))->plan;
		int		   *chosen = palloc(Max(list_length(above->targetlist), 1) * sizeof(int));

		if (!take_conditions(member, lfirst(lc), places, n) ||
			!find_places(above->targetlist, ((Scan *) above)->scanrelid, places, n, chosen))
		{
			member->node = NULL;
			return;
		}
		places = chosen;
		n = list_length(above->targetlist);
	}
	member->places = places;
}

/* Have what reads a member's batches, and tests them. */
static void
open_member(Member *member)
{
	if (member->node == NULL)
		return;
	if (member->with != NULL)
	{
		member->shared = gpucol_shared_rows_of(member->with);
		member->kept = gpucol_shared_rows_open(member->shared);
	}
	if (member->above != NULL && (member->ops == NULL || !member->ops->tests))
		member->test = gpucol_batch_test_begin(member->above, member->conditions, ExecGetResultType(member->node),
											   member->places, list_length(member->plan->plan->targetlist));
}

/* Are the rows of an Append those of its members, one after the other? */
static bool
is_plain_append(PlanState *plan)
{
	AppendState *append = (AppendState *) plan;

	return IsA(plan, AppendState) && append->as_nasyncplans == 0 && append->as_prune_state == NULL &&
		!plan->plan->parallel_aware && plan->state->es_epq_active == NULL;
}

/*
 * The Append whose rows a plan has, behind nodes that choose among its columns, which are added to the reader's; or
 * NULL.
 */
static PlanState *
find_append(GpucolPlanReader *reader)
{
	PlanState  *plan = reader->plan;
	int		   *places = NULL;
	int			n;
	ListCell   *lc;

	while (IsA(plan, SubqueryScanState) && plan->plan->qual == NIL)
	{
		reader->passed = lcons(plan, reader->passed);
		plan = ((SubqueryScanState *) plan)->subplan;
	}
	if (!is_plain_append(plan))
		return NULL;
	n = list_length(plan->plan->targetlist);
	foreach(lc, reader->passed)
	{
		Plan	   *above = ((PlanState *) lfirst(lc))->plan;
		int		   *chosen = palloc(Max(list_length(above->targetlist), 1) * sizeof(int));

		if (!find_places(above->targetlist, ((Scan *) above)->scanrelid, places, n, chosen))
			return NULL;
		places = chosen;
		n = list_length(above->targetlist);
	}
	reader->places = places;
	return plan;
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
			find_node(&reader->members[i], append->appendplans[i]);
			any |= reader->members[i].node != NULL;
		}
		if (any)
			return;
	}
	reader->append = NULL;
	reader->passed = NIL;
	reader->places = NULL;
	reader->nmembers = 1;
	reader->members = palloc0(sizeof(Member));
	find_node(&reader->members[0], reader->plan);
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

/* The members' column that one of the plan's is. */
static inline int
column_of(const GpucolPlanReader *reader, int column)
{
	return reader->places == NULL ? column : reader->places[column];
}

/* Have a member know which of its columns are read. */
static void
want_columns(const GpucolPlanReader *reader, const Member *member)
{
	bool	   *wanted;

	if (reader->wanted == NULL || member->tuples || member->ops == NULL || member->ops->want == NULL)
		return;
	wanted = palloc0(Max(list_length(member->node->plan->targetlist), 1) * sizeof(bool));
	for (int i = 0; i < reader->batch.ncolumns; i++)
		wanted[member->places[column_of(reader, i)]] |= reader->wanted[i];
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
		if (reader->members[i].node != NULL)
			most = Max(most, list_length(reader->members[i].node->plan->targetlist));
	}
	if (reader->places != NULL)
		reader->chosen = MakeSingleTupleTableSlot(ExecGetResultType(plan), &TTSOpsVirtual);
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
	if (status == GPUCOL_OK && member->test != NULL)
		gpucol_batch_test(member->test, batch);
	return status;
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
	status = node_batch(member, from);
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
		to->outputs[i] = from->outputs[member->places[column_of(reader, i)]];
		to->columns[i] = from->columns[member->places[column_of(reader, i)]];
	}
	return status;
}

/* The plan's columns of a member's tuple. */
static TupleTableSlot *
choose_columns(GpucolPlanReader *reader, TupleTableSlot *slot)
{
	TupleTableSlot *chosen = reader->chosen;

	if (reader->places == NULL)
		return slot;
	slot_getallattrs(slot);
	ExecClearTuple(chosen);
	for (int i = 0; i < reader->batch.ncolumns; i++)
	{
		chosen->tts_values[i] = slot->tts_values[reader->places[i]];
		chosen->tts_isnull[i] = slot->tts_isnull[reader->places[i]];
	}
	return ExecStoreVirtualTuple(chosen);
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
	reader->slot = TupIsNull(reader->slot) ? NULL : choose_columns(reader, reader->slot);
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
