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

#include "exec/batches.h"
#include "exec/window.h"
#include "exec/window_agg.h"

/* Rows that are put into files at once. */
#define STAGED_ROWS	8192

/* When values of so many bytes have been replaced, rows are laid anew. */
#define MOST_REPLACED	((Size) 16 * 1024 * 1024)

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
	return (state->rows.nrows < state->few.next && state->rows.replaced < MOST_REPLACED) ||
		gpucol_window_few_drop(state);
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
			return (gpucol_window_rows_fit(&taken->state->rows, 0) && settle(taken->state)) ||
				gpucol_window_parts_put(taken->state);
	}
	before = taken->state->rows.taken;
	if (add(taken, slot, n) && settle(taken->state))
		return true;
	/* those that were added are rows like the others */
	return gpucol_window_parts_put(taken->state) &&
		(taken->state->rows.taken > before || add(taken, slot, n));
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
	bool		fits;

	init_taken(&taken, state);
	fits = gpucol_plan_reader_has_batches(taken.child) && taken.ncolumns > 0;
	MemoryContextSwitchTo(old);
	if (fits)
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
