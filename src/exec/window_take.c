/*-------------------------------------------------------------------------
 *
 * window_take.c
 *	  A GpucolWindow takes the rows of its child.
 *
 * A scan of a table has them as columns of datums, and other nodes of ours as batches
 * (exec/batches.h): columns are taken as they are, and only expressions over them need a tuple.  All
 * else gives tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"

#include "exec/row_scan.h"
#include "exec/window.h"
#include "exec/window_agg.h"

/* Rows that are put into files at once. */
#define STAGED_ROWS	8192

/* The child's columns; those that nothing reads are NULL. */
typedef struct Taken
{
	GpucolWindowState *state;
	PlanState  *child;
	int			ncolumns;
	bool	   *used;
	Datum	  **values;
	bool	  **isnull;
	Datum	  **left;			/* what a screen leaves of them */
	bool	  **left_null;
	TupleTableSlot *slot;		/* for expressions */
} Taken;

/* Which of the child's columns do inputs read? */
static void
find_used(Taken *taken)
{
	const GpucolWindowRows *rows = &taken->state->rows;
	Bitmapset  *read = NULL;

	for (int i = 0; i < rows->ninputs; i++)
	{
		if (rows->inputs[i].expr != NULL)
			pull_varattnos((Node *) rows->inputs[i].expr->expr, INDEX_VAR, &read);
		else
			read = bms_add_member(read, rows->inputs[i].column + 1 - FirstLowInvalidHeapAttributeNumber);
	}
	for (int c = 0; c < taken->ncolumns; c++)
		taken->used[c] = bms_is_member(c + 1 - FirstLowInvalidHeapAttributeNumber, read);
	bms_free(read);
}

static void
init_taken(Taken *taken, GpucolWindowState *state)
{
	taken->state = state;
	taken->child = linitial(state->children);
	taken->ncolumns = list_length(taken->child->plan->targetlist);
	taken->used = palloc0((taken->ncolumns + 1) * sizeof(bool));
	taken->values = palloc0((taken->ncolumns + 1) * sizeof(Datum *));
	taken->isnull = palloc0((taken->ncolumns + 1) * sizeof(bool *));
	taken->left = palloc0((taken->ncolumns + 1) * sizeof(Datum *));
	taken->left_null = palloc0((taken->ncolumns + 1) * sizeof(bool *));
	taken->slot = MakeSingleTupleTableSlot(ExecGetResultType(taken->child), &TTSOpsVirtual);
	find_used(taken);
	for (int c = 0; c < taken->ncolumns && state->few.next < PG_UINT32_MAX; c++)
	{
		if (!taken->used[c])
			continue;
		taken->left[c] = palloc(GPUCOL_WINDOW_TAKEN * sizeof(Datum));
		taken->left_null[c] = palloc(GPUCOL_WINDOW_TAKEN * sizeof(bool));
	}
}

/*
 * When rows have been taken: drop some that cannot matter, if there are many, or put them into files where the
 * rows exceed memory.  False where memory does not suffice.
 */
static bool
settle(GpucolWindowState *state)
{
	if (state->parts != NULL)
		return state->rows.nrows < STAGED_ROWS || gpucol_window_parts_put(state);
	return state->rows.nrows < state->few.next || gpucol_window_few_drop(state);
}

/* Add a row, or n of the columns where there is no slot; false where memory does not suffice. */
static bool
add(const Taken *taken, TupleTableSlot *slot, uint32 n)
{
	GpucolWindowRows *rows = &taken->state->rows;
	ExprContext *econtext = taken->state->css.ss.ps.ps_ExprContext;

	if (slot != NULL)
		return gpucol_window_rows_add(rows, slot, econtext);
	return gpucol_window_rows_add_columns(rows, taken->values, taken->isnull, taken->ncolumns, n, taken->slot,
										  econtext);
}

/* Have columns of one row, a slot's. */
static void
show_slot(Taken *taken, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	for (int c = 0; c < taken->ncolumns; c++)
	{
		if (!taken->used[c])
			continue;
		taken->values[c] = &slot->tts_values[c];
		taken->isnull[c] = &slot->tts_isnull[c];
	}
}

/* Leave of n rows of columns, or of a slot, those that a screen lets through; their number. */
static uint32
screen_rows(Taken *taken, TupleTableSlot *slot, uint32 n)
{
	GpucolWindowFew *few = &taken->state->few;
	uint16		passed[GPUCOL_WINDOW_TAKEN];
	uint32		npassed;

	if (slot != NULL)
		show_slot(taken, slot);
	npassed = gpucol_window_screen_pass(few->screen, taken->values, taken->isnull, n, passed);
	for (int c = 0; c < taken->ncolumns && npassed < n; c++)
	{
		if (!taken->used[c])
			continue;
		for (uint32 i = 0; i < npassed; i++)
		{
			taken->left[c][i] = taken->values[c][passed[i]];
			taken->left_null[c][i] = taken->isnull[c][passed[i]];
		}
		taken->values[c] = taken->left[c];
		taken->isnull[c] = taken->left_null[c];
	}
	few->passed_over += n - npassed;
	few->dropped += n - npassed;
	if (!gpucol_window_screen_pays(few->screen))
		few->screen = NULL;
	return npassed;
}

/* Take a row, or n of the columns where there is no slot; false where they do not fit in memory, nor in parts. */
static bool
take(Taken *taken, TupleTableSlot *slot, uint32 n)
{
	uint64		before;

	if (taken->state->parts == NULL && taken->state->few.screen != NULL)
	{
		uint32		came = n;

		n = screen_rows(taken, slot, n);
		taken->state->rows.taken += came - n;
		if (n == 0)
			return true;
	}
	before = taken->state->rows.taken;
	if (add(taken, slot, n) && settle(taken->state))
		return true;
	/* those that were added are rows like the others */
	return gpucol_window_parts_put(taken->state) &&
		(taken->state->rows.taken > before || add(taken, slot, n));
}

/* ---- a scan ---- */

/* Where a scan has its output columns; NULL if it does more than to show them. */
static int *
find_outputs(const Taken *taken)
{
	const GpucolRowScan *scan = (const GpucolRowScan *) taken->child;
	const Plan *plan = taken->child->plan;
	int		   *outputs;
	ListCell   *lc;

	if (!gpucol_scan_is_state(taken->child) || plan->qual != NIL || plan->parallel_aware ||
		taken->child->state->es_epq_active != NULL)
		return NULL;
	outputs = palloc((taken->ncolumns + 1) * sizeof(int));
	foreach(lc, plan->targetlist)
	{
		const Var  *var = (const Var *) lfirst_node(TargetEntry, lc)->expr;
		int			c = foreach_current_index(lc);

		outputs[c] = -1;
		for (int i = 0; i < scan->noutputs && IsA(var, Var) && var->varattno > 0; i++)
		{
			if (scan->attnums[i] == var->varattno)
				outputs[c] = i;
		}
		if (outputs[c] < 0 && taken->used[c])
			return NULL;
	}
	return outputs;
}

/* The next batch of a scan, counted by EXPLAIN ANALYZE. */
static bool
fetch_batch(GpucolRowScan *scan)
{
	PlanState  *node = &scan->css.ss.ps;
	bool		more;

	if (node->chgParam != NULL)
		ExecReScan(node);
	ResetExprContext(node->ps_ExprContext);
	if (node->instrument != NULL)
		InstrStartNode(node->instrument);
	more = gpucol_row_scan_fetch(scan);
	if (node->instrument != NULL)
		InstrStopNode(node->instrument, more ? (double) scan->nrows : 0);
	return more;
}

/* Take all rows of a scan; false where memory does not suffice. */
static bool
take_scan(Taken *taken, const int *outputs)
{
	GpucolRowScan *scan = (GpucolRowScan *) taken->child;

	while (fetch_batch(scan))
	{
		for (int64 from = 0; from < scan->nrows; from += GPUCOL_WINDOW_TAKEN)
		{
			CHECK_FOR_INTERRUPTS();
			for (int c = 0; c < taken->ncolumns; c++)
			{
				if (!taken->used[c])
					continue;
				taken->values[c] = scan->values[outputs[c]] + from;
				taken->isnull[c] = scan->isnull[outputs[c]] + from;
			}
			if (!take(taken, NULL, (uint32) Min(scan->nrows - from, GPUCOL_WINDOW_TAKEN)))
				return false;
		}
	}
	return true;
}

/* ---- batches ---- */

/* Take a batch; false where memory does not suffice. */
static bool
take_batch(Taken *taken, const GpucolBatch *batch, MemoryContext context)
{
	for (uint32 from = 0; from < batch->nrows; from += GPUCOL_WINDOW_TAKEN)
	{
		uint32		n = Min(batch->nrows - from, GPUCOL_WINDOW_TAKEN);
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context);
		old = MemoryContextSwitchTo(context);
		for (int c = 0; c < taken->ncolumns; c++)
		{
			GpucolResultColumn rest;

			if (!taken->used[c])
				continue;
			rest = gpucol_result_column_from(&batch->columns[c], from);
			taken->values[c] = palloc(n * sizeof(Datum));
			taken->isnull[c] = palloc(n * sizeof(bool));
			gpucol_output_datums(&batch->outputs[c], &rest, n, taken->values[c], taken->isnull[c]);
		}
		MemoryContextSwitchTo(old);
		if (!take(taken, NULL, n))
			return false;
	}
	return true;
}

/* Take all rows that a node of ours has in batches; false where memory does not suffice. */
static bool
take_batches(Taken *taken)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol window batch",
												  ALLOCSET_DEFAULT_SIZES);
	GpucolPlanReader *reader = gpucol_plan_reader_open(taken->child);
	GpucolProgramColumn *wanted = palloc0((taken->ncolumns + 1) * sizeof(GpucolProgramColumn));
	int			nwanted = 0;
	const GpucolBatch *batch;
	TupleTableSlot *slot;

	for (int c = 0; c < taken->ncolumns; c++)
	{
		if (taken->used[c])
			wanted[nwanted++].attnum = (int16_t) (c + 1);
	}
	gpucol_plan_reader_want(reader, wanted, nwanted);
	while (gpucol_plan_reader_next(reader, &batch, &slot))
	{
		if (slot != NULL ? !take(taken, slot, 1) : !take_batch(taken, batch, context))
			return false;
	}
	return true;
}

/* ---- tuples ---- */

static bool
take_tuples(Taken *taken)
{
	for (;;)
	{
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		slot = ExecProcNode(taken->child);
		if (TupIsNull(slot))
			return true;
		if (!take(taken, slot, 1))
			return false;
	}
}

const char *
gpucol_window_take(GpucolWindowState *state)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol window taking",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Taken		taken = {0};
	const int  *outputs;
	bool		fits;

	init_taken(&taken, state);
	outputs = find_outputs(&taken);
	fits = gpucol_plan_reader_has_batches(taken.child) && taken.ncolumns > 0;
	MemoryContextSwitchTo(old);
	if (outputs != NULL)
		fits = take_scan(&taken, outputs);
	else if (fits)
	{
		MemoryContextSwitchTo(context);
		fits = take_batches(&taken);
		MemoryContextSwitchTo(old);
	}
	else
		fits = take_tuples(&taken);
	ExecDropSingleTupleTableSlot(taken.slot);
	MemoryContextDelete(context);
	return fits ? NULL : GPUCOL_WINDOW_MEMORY;
}
