/*-------------------------------------------------------------------------
 *
 * shared_rows.c
 *	  The rows of a WITH query, in batches for several CTE Scans.
 *
 * PostgreSQL keeps the rows of a WITH query as tuples, which its first CTE Scan fetches from the query's plan as
 * any of the scans needs them.  Where that plan has batches, and a node of ours reads a CTE Scan of it, these are
 * kept instead, fetched in the same manner.  From then on the plan, asked for tuples, forms them of the batches:
 * so scans that PostgreSQL reads have the same rows in the same order, and the query runs once.
 *
 * Only where the plan depends on nothing outside, so that its rows never change while the statement runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "exec/shared_rows.h"
#include "kernel/format.h"
#include "service/memory.h"

struct GpucolSharedRows
{
	PlanState  *plan;			/* of the WITH query */
	ExecProcNodeMtd exec;		/* by which it delivers its own tuples */
	GpucolPlanReader *reader;
	GpucolKeptRows *kept;
	bool		ended;			/* all are kept */

	/* tuples */
	GpucolKeptReader *for_tuples;
	const GpucolBatch *batch;	/* at hand, or NULL */
	uint32		next;			/* its first row that is not among the datums, */
	uint32		at;				/* and the next of these, */
	uint32		n;				/* of so many */
	TupleTableSlot *slot;
	Datum	  **values;
	bool	  **isnull;
	MemoryContext context;		/* of the datums */

	GpucolSharedRows *others;	/* of this session */
};

static GpucolSharedRows *all_shared = NULL;

static GpucolSharedRows *
find_shared(const PlanState *plan)
{
	for (GpucolSharedRows *shared = all_shared; shared != NULL; shared = shared->others)
	{
		if (shared->plan == plan)
			return shared;
	}
	return NULL;
}

bool
gpucol_shared_rows_possible(const CteScanState *scan, bool large)
{
	PlanState  *plan = scan->cteplanstate;

	if (plan == NULL || scan->ss.ps.state->es_epq_active != NULL || !bms_is_empty(plan->plan->extParam) ||
		!(large ? gpucol_plan_reader_has_large_batches(plan) : gpucol_plan_reader_has_batches(plan)))
		return false;
	return find_shared(plan) != NULL ||
		(!scan->leader->eof_cte && tuplestore_tuple_count(scan->leader->cte_table) == 0);
}

static TupleTableSlot *next_tuple(PlanState *plan);

/* Fetch rows, and keep them. */
static void
fetch(GpucolSharedRows *shared)
{
	const GpucolBatch *batch;
	TupleTableSlot *slot;

	shared->plan->ExecProcNode = shared->exec;
	if (!gpucol_plan_reader_next(shared->reader, &batch, &slot))
	{
		gpucol_kept_rows_all(shared->kept);
		shared->ended = true;
	}
	else if (slot != NULL)
		gpucol_kept_rows_add_tuple(shared->kept, slot);
	else
		gpucol_kept_rows_add(shared->kept, batch);
	shared->exec = shared->plan->ExecProcNode;
	shared->plan->ExecProcNode = next_tuple;
}

const GpucolBatch *
gpucol_shared_rows_next(GpucolSharedRows *shared, GpucolKeptReader *reader)
{
	const GpucolBatch *batch = gpucol_kept_rows_next(reader);

	while (batch == NULL && !shared->ended)
	{
		CHECK_FOR_INTERRUPTS();
		fetch(shared);
		batch = gpucol_kept_rows_next(reader);
	}
	return batch;
}

/* Form datums of the next rows; false if there are none. */
static bool
have_datums(GpucolSharedRows *shared)
{
	MemoryContext old;

	if (shared->at < shared->n)
		return true;
	while (shared->batch == NULL || shared->next == shared->batch->nrows)
	{
		shared->batch = gpucol_shared_rows_next(shared, shared->for_tuples);
		shared->next = 0;
		if (shared->batch == NULL)
			return false;
	}
	MemoryContextReset(shared->context);
	old = MemoryContextSwitchTo(shared->context);
	shared->at = 0;
	shared->n = Min(shared->batch->nrows - shared->next, GPUCOL_VECTOR_VALUES);
	for (int c = 0; c < shared->batch->ncolumns; c++)
	{
		GpucolResultColumn column = gpucol_result_column_from(&shared->batch->columns[c], shared->next);

		gpucol_output_datums(&shared->batch->outputs[c], &column, shared->n, shared->values[c], shared->isnull[c]);
	}
	shared->next += shared->n;
	MemoryContextSwitchTo(old);
	return true;
}

/* The next row as a tuple, in the place of the plan's own function (ExecProcNode). */
static TupleTableSlot *
next_tuple(PlanState *plan)
{
	GpucolSharedRows *shared = find_shared(plan);
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	TupleTableSlot *slot = ExecClearTuple(shared->slot);

	if (have_datums(shared))
	{
		for (int c = 0; c < slot->tts_tupleDescriptor->natts; c++)
		{
			slot->tts_values[c] = shared->values[c][shared->at];
			slot->tts_isnull[c] = shared->isnull[c][shared->at];
		}
		shared->at++;
		ExecStoreVirtualTuple(slot);
	}
	MemoryContextSwitchTo(old);
	return slot;
}

/* Have what forms tuples. */
static void
prepare_tuples(GpucolSharedRows *shared, TupleDesc desc)
{
	shared->for_tuples = gpucol_kept_rows_open(shared->kept);
	shared->slot = ExecInitExtraTupleSlot(shared->plan->state, desc, &TTSOpsVirtual);
	shared->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol shared rows", ALLOCSET_DEFAULT_SIZES);
	shared->values = palloc(Max(desc->natts, 1) * sizeof(Datum *));
	shared->isnull = palloc(Max(desc->natts, 1) * sizeof(bool *));
	for (int c = 0; c < desc->natts; c++)
	{
		shared->values[c] = palloc(GPUCOL_VECTOR_VALUES * sizeof(Datum));
		shared->isnull[c] = palloc(GPUCOL_VECTOR_VALUES * sizeof(bool));
	}
}

/* Memory context callback: these rows are gone. */
static void
forget(void *arg)
{
	for (GpucolSharedRows **place = &all_shared; *place != NULL; place = &(*place)->others)
	{
		if (*place == arg)
		{
			*place = (*place)->others;
			return;
		}
	}
}

GpucolSharedRows *
gpucol_shared_rows_of(const CteScanState *scan)
{
	PlanState  *plan = scan->cteplanstate;
	GpucolSharedRows *shared = find_shared(plan);
	MemoryContext old;

	if (shared != NULL)
		return shared;
	old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	shared = palloc0(sizeof(GpucolSharedRows));
	shared->plan = plan;
	shared->reader = gpucol_plan_reader_open(plan);
	shared->kept = gpucol_kept_rows_begin(ExecGetResultType(plan));
	prepare_tuples(shared, ExecGetResultType(plan));
	shared->exec = plan->ExecProcNode;
	plan->ExecProcNode = next_tuple;
	gpucol_memory_watch(CurrentMemoryContext, forget, shared);
	shared->others = all_shared;
	all_shared = shared;
	MemoryContextSwitchTo(old);
	return shared;
}

GpucolKeptReader *
gpucol_shared_rows_open(GpucolSharedRows *shared)
{
	return gpucol_kept_rows_open(shared->kept);
}
