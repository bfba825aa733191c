/*-------------------------------------------------------------------------
 *
 * window_take.c
 *	  A GpucolWindow takes the rows of its child.
 *
 * Nodes of ours have them as batches (exec/batches.h): columns are taken as they are, and expressions over them
 * computed (batch_compute.c), and decimals may stay the mantissas that they come as.  All else gives tuples.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
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
	int			ncomputed;		/* behind them: expressions over them */
	GpucolBatch computed;		/* a batch of all */
	bool	   *used;
	Datum	  **values;
	bool	  **isnull;
	Datum	  **left;			/* what a screen leaves of them */
	bool	  **left_null;
	TupleTableSlot *slot;		/* for expressions */
	bool		begun;			/* a batch has come */
} Taken;

/* Which of the child's columns do inputs read, without those that are computed? */
static void
find_used(Taken *taken)
{
	const GpucolWindowRows *rows = &taken->state->rows;
	Bitmapset  *read = NULL;

	for (int i = 0; i < rows->ninputs; i++)
	{
		if (rows->inputs[i].computed >= 0)
			continue;
		if (rows->inputs[i].expr != NULL)
			pull_varattnos((Node *) rows->inputs[i].expr->expr, INDEX_VAR, &read);
		else
			read = bms_add_member(read, rows->inputs[i].column + 1 - FirstLowInvalidHeapAttributeNumber);
	}
	for (int c = 0; c < taken->ncolumns; c++)
		taken->used[c] = bms_is_member(c + 1 - FirstLowInvalidHeapAttributeNumber, read);
	bms_free(read);
}

/* Room for what a screen leaves of columns, where there may be one. */
static void
make_left(Taken *taken)
{
	if (taken->state->few.next == PG_UINT32_MAX)
		return;
	for (int c = 0; c < taken->ncolumns + taken->ncomputed; c++)
	{
		if (!taken->used[c] || taken->left[c] != NULL)
			continue;
		taken->left[c] = palloc(GPUCOL_WINDOW_TAKEN * sizeof(Datum));
		taken->left_null[c] = palloc(GPUCOL_WINDOW_TAKEN * sizeof(bool));
	}
}

static void
init_taken(Taken *taken, GpucolWindowState *state)
{
	int			most;

	taken->state = state;
	taken->child = linitial(state->children);
	taken->ncolumns = list_length(taken->child->plan->targetlist);
	most = taken->ncolumns + state->rows.ninputs + 1;
	taken->used = palloc0(most * sizeof(bool));
	taken->values = palloc0(most * sizeof(Datum *));
	taken->isnull = palloc0(most * sizeof(bool *));
	taken->left = palloc0(most * sizeof(Datum *));
	taken->left_null = palloc0(most * sizeof(bool *));
	taken->slot = MakeSingleTupleTableSlot(ExecGetResultType(taken->child), &TTSOpsVirtual);
	for (int i = 0; i < state->rows.ninputs; i++)
		state->rows.inputs[i].computed = -1;
	find_used(taken);
	make_left(taken);
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
	for (int c = 0; c < taken->ncolumns + taken->ncomputed && npassed < n; c++)
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

/* An expression for all rows: that of an input, which is NULL where a filter is not true. */
static Expr *
make_expr(const GpucolWindowRows *rows, const GpucolWindowInput *input)
{
	Expr	   *value = input->expr->expr;
	Expr	   *filter = input->if_true ? value : input->filter >= 0 ? rows->inputs[input->filter].expr->expr : NULL;
	CaseExpr   *expr;
	CaseWhen   *when;

	if (filter == NULL)
		return value;
	when = makeNode(CaseWhen);
	when->expr = filter;
	when->result = input->if_true ? (Expr *) makeBoolConst(true, false) : value;
	expr = makeNode(CaseExpr);
	expr->casetype = exprType((Node *) when->result);
	expr->casecollid = exprCollation((Node *) when->result);
	expr->args = list_make1(when);
	expr->defresult = (Expr *) makeNullConst(expr->casetype, -1, expr->casecollid);
	expr->location = when->location = -1;
	return (Expr *) expr;
}

/* The child's columns, and behind them the expressions. */
static List *
make_tlist(const Taken *taken)
{
	const GpucolWindowRows *rows = &taken->state->rows;
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, taken->child->plan->targetlist)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;
		Var		   *var = makeVar(INDEX_VAR, foreach_current_index(lc) + 1, exprType(expr), exprTypmod(expr),
								  exprCollation(expr), 0);

		tlist = lappend(tlist, makeTargetEntry((Expr *) var, list_length(tlist) + 1, NULL, false));
	}
	for (int i = 0; i < rows->ninputs; i++)
	{
		const GpucolWindowInput *input = &rows->inputs[i];

		if (input->expr != NULL)
			tlist = lappend(tlist, makeTargetEntry(make_expr(rows, input), list_length(tlist) + 1, NULL, false));
	}
	return tlist;
}

/* Have the expressions computed of batches, if there are any and that is possible. */
static void
begin_computing(Taken *taken)
{
	GpucolWindowState *state = taken->state;
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	List	   *tlist = state->compute == NULL ? make_tlist(taken) : NIL;

	if (list_length(tlist) > taken->ncolumns && gpucol_batch_compute_possible(tlist, NULL, taken->ncolumns))
		state->compute = gpucol_batch_compute_create(&state->css.ss.ps, tlist, NULL, taken->ncolumns,
													 ExecGetResultType(taken->child));
	MemoryContextSwitchTo(old);
	if (state->compute == NULL)
		return;
	gpucol_batch_compute_reset(state->compute);
	for (int i = 0; i < state->rows.ninputs; i++)
	{
		if (state->rows.inputs[i].expr == NULL)
			continue;
		state->rows.inputs[i].computed = taken->ncolumns + taken->ncomputed++;
		taken->used[state->rows.inputs[i].computed] = true;
	}
	find_used(taken);
	make_left(taken);
	gpucol_batch_init(&taken->computed, taken->ncolumns + taken->ncomputed);
}

/* The column that an input is, with its values computed; -1: it is evaluated. */
static inline int
column_of(const GpucolWindowInput *input)
{
	return input->expr == NULL ? input->column : input->computed;
}

/* Are values of a column kept as mantissas?  All inputs of it are alike. */
static bool
has_mantissas(const GpucolWindowRows *rows, int column)
{
	for (int i = 0; i < rows->ninputs; i++)
	{
		if (rows->inputs[i].mantissas && column_of(&rows->inputs[i]) == column)
			return true;
	}
	return false;
}

/* Does an expression, which is evaluated, read the child's columns, or does something else a column of an input? */
static bool
are_read(const GpucolWindowRows *rows, const GpucolWindowInput *input)
{
	for (int i = 0; i < rows->ninputs; i++)
	{
		const GpucolWindowInput *other = &rows->inputs[i];

		if (column_of(other) < 0 || (column_of(other) == column_of(input) && !other->may_be_mantissas))
			return true;
	}
	return false;
}

/* How many inputs keep mantissas. */
static int
count_mantissas(const GpucolWindowRows *rows)
{
	int			n = 0;

	for (int i = 0; i < rows->ninputs; i++)
		n += rows->inputs[i].mantissas;
	return n;
}

/* Have inputs keep numerics again; false where rows with mantissas are in files. */
static bool
keep_numerics(Taken *taken)
{
	if (count_mantissas(&taken->state->rows) > 0 && taken->state->parts != NULL)
		return false;
	gpucol_window_rows_numerics(&taken->state->rows);
	return true;
}

/*
 * Choose by the first batch which inputs keep mantissas; if another one has others, none does from then on.  False
 * where that is too late.
 */
static bool
choose_mantissas(Taken *taken, const GpucolBatch *batch)
{
	GpucolWindowRows *rows = &taken->state->rows;
	bool		same = true;

	for (int i = 0; i < rows->ninputs; i++)
	{
		GpucolWindowInput *input = &rows->inputs[i];
		int			column = column_of(input);
		const GpucolOutput *output = column < 0 ? NULL : &batch->outputs[column];
		bool		fits = output != NULL && output->cls == GPUCOL_CLASS_D && output->scale <= GPUCOL_INT64_DIGITS;

		if (!taken->begun && fits && input->may_be_mantissas && !are_read(rows, input))
			gpucol_window_rows_mantissas(input, output->scale);
		same &= !input->mantissas || (fits && output->scale == input->scale);
	}
	taken->begun = true;
	return same || keep_numerics(taken);
}

/* Mantissas of 64 bits as datums; false where one has more. */
static bool
take_mantissas(const GpucolResultColumn *column, uint32 n, Datum *values, bool *isnull)
{
	bool		fits = true;

	for (uint32 i = 0; i < n; i++)
	{
		isnull[i] = column->nulls != NULL && column->nulls[i];
		values[i] = (Datum) (int64) column->d[i];
		fits &= isnull[i] || column->d[i] == (int64) column->d[i];
	}
	return fits;
}

/* Have n rows of a batch's column; false where they are none of what inputs keep. */
static bool
take_column(Taken *taken, const GpucolBatch *batch, int c, uint32 from, uint32 n)
{
	GpucolResultColumn rest = gpucol_result_column_from(&batch->columns[c], from);

	taken->values[c] = palloc(n * sizeof(Datum));
	taken->isnull[c] = palloc(n * sizeof(bool));
	if (has_mantissas(&taken->state->rows, c))
		return take_mantissas(&rest, n, taken->values[c], taken->isnull[c]);
	gpucol_output_datums(&batch->outputs[c], &rest, n, taken->values[c], taken->isnull[c]);
	return true;
}

/* Have n rows of all columns; false as above. */
static bool
take_columns(Taken *taken, const GpucolBatch *batch, uint32 from, uint32 n)
{
	bool		ok = true;

	for (int c = 0; c < taken->ncolumns + taken->ncomputed && ok; c++)
		ok = !taken->used[c] || take_column(taken, batch, c, from, n);
	return ok;
}

/* Take a batch; false where memory does not suffice. */
static bool
take_batch(Taken *taken, const GpucolBatch *batch, MemoryContext context)
{
	if (!choose_mantissas(taken, batch))
		return false;
	for (uint32 from = 0; from < batch->nrows; from += GPUCOL_WINDOW_TAKEN)
	{
		uint32		n = Min(batch->nrows - from, GPUCOL_WINDOW_TAKEN);
		MemoryContext old;
		bool		ok;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context);
		old = MemoryContextSwitchTo(context);
		ok = take_columns(taken, batch, from, n) ||
			(keep_numerics(taken) && take_columns(taken, batch, from, n));
		MemoryContextSwitchTo(old);
		if (!ok || !take(taken, NULL, n))
			return false;
	}
	return true;
}

/* The same with what is computed of it. */
static bool
take_computed(Taken *taken, const GpucolBatch *batch, MemoryContext context)
{
	GpucolBatchCompute *compute = taken->state->compute;

	if (taken->ncomputed == 0)
		return take_batch(taken, batch, context);
	gpucol_batch_compute_take(compute, batch->nrows, batch->outputs, batch->columns, false);
	while (gpucol_batch_compute_next(compute, &taken->computed))
	{
		if (!take_batch(taken, &taken->computed, context))
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
	begin_computing(taken);
	while (gpucol_plan_reader_next(reader, &batch, &slot))
	{
		taken->begun |= slot != NULL;
		if (slot != NULL && !keep_numerics(taken))
			return false;
		if (slot != NULL ? !take(taken, slot, 1) : !take_computed(taken, batch, context))
			return false;
	}
	if (taken->ncomputed > 0)
		gpucol_batch_compute_reset(taken->state->compute);
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

	gpucol_window_rows_forget_mantissas(&state->rows);
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
