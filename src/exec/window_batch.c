/*-------------------------------------------------------------------------
 *
 * window_batch.c
 *	  The rows of a GpucolWindow as batches of columns (exec/batches.h).
 *
 * Conditions come first, those of the node above included, and only rows that pass them are
 * fetched further.  A column of the target list that is one of the scan tuple's is shown as it
 * was fetched, an exact sum as its mantissas; only expressions need a scan tuple.  Columns that
 * nobody asks for are neither fetched nor evaluated.
 *
 * Results of expressions are of the memory of a tuple, which lasts for a batch here; one with
 * many bytes ends early.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"

#include "exec/window_chunk.h"

/* Rows of a batch, whose values are to stay in the processor's cache. */
#define BATCH_ROWS	1024

/* A batch whose values have so many bytes ends. */
#define BATCH_BYTES	((Size) 4 * 1024 * 1024)

/* What may be computed twice for a row, in cpu_operator_cost. */
#define TWICE_OPERATORS	10

/* A column of the target list. */
typedef struct BatchColumn
{
	GpucolTypeMap map;
	bool		wanted;
	GpucolWindowChunkColumn *fetched;	/* it is this one, */
	GpucolWindowFunction *late; /* or the result of this, */
	ExprState  *expr;			/* or evaluated; */
	Bitmapset  *reads;			/* of the scan tuple, as pull_varattnos has them */
	bool		copied;			/* it may be a numeric that is formed, whose place the next one takes */
	uint64		nformed;		/* the last one that was copied, */
	Datum		copy;			/* or 0 */
	Datum	   *values;			/* unless it is fetched */
	bool	   *isnull;
} BatchColumn;

typedef struct GpucolWindowBatches
{
	int			ncolumns;
	BatchColumn *columns;
	bool		evaluates;		/* some that are wanted are evaluated */
	bool		has_bytes;		/* or may be long */
	bool		tests;			/* what conditions read is known, */
	PlanState  *above;			/* those of this node's rows included, or NULL */
	ExprState  *conditions;
	uint32		removed;		/* rows by these since the last batch */
} GpucolWindowBatches;

/* Is a column of the scan tuple a member of what pull_varattnos has found? */
static bool
is_read(const Bitmapset *reads, int column)
{
	return bms_is_member(column + 1 - FirstLowInvalidHeapAttributeNumber, reads);
}

/* The column of the scan tuple that a function's results are. */
static int
function_column(const GpucolWindowState *state, const GpucolWindowFunction *f)
{
	return state->ncolumns + (int) (f - state->functions);
}

/* Are the results numerics that are formed, each in the place of the one before? */
static bool
is_formed(const GpucolWindowFunction *f)
{
	return f->kind == GPUCOL_WINDOW_SUM_NUMERIC || f->kind == GPUCOL_WINDOW_AVG_NUMERIC;
}

/* Are they shown as mantissas?  Their scale may be another in each part. */
static bool
shows_sums(const GpucolWindowState *state, const BatchColumn *column)
{
	return state->parts == NULL && column->late != NULL && column->late->kind == GPUCOL_WINDOW_SUM_NUMERIC &&
		column->late->shown_scale == NULL;
}

/* ------------------------------------------------------------------------
 * Preparation
 * ------------------------------------------------------------------------
 */

/* Look for a column of the scan tuple among those that are fetched, and the functions. */
static bool
find_column(const GpucolWindowState *state, int number, BatchColumn *column)
{
	GpucolWindowChunk *chunk = state->chunk;

	for (int c = 0; c < chunk->ncolumns; c++)
	{
		if (chunk->columns[c].column == number)
			column->fetched = &chunk->columns[c];
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (function_column(state, chunk->late[l].f) == number)
			column->late = chunk->late[l].f;
	}
	return column->fetched != NULL || column->late != NULL;
}

/* Where a column of the target list comes from. */
static void
init_column(GpucolWindowState *state, BatchColumn *column, Expr *expr)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const Var  *var = (const Var *) expr;

	gpucol_typemap_init(&column->map, exprType((Node *) expr), exprTypmod((Node *) expr),
						exprCollation((Node *) expr));
	if (!IsA(expr, Var) || var->varno != INDEX_VAR || var->varattno <= 0 ||
		!find_column(state, var->varattno - 1, column))
	{
		column->expr = ExecInitExpr(expr, &state->css.ss.ps);
		pull_varattnos((Node *) expr, INDEX_VAR, &column->reads);
		for (int l = 0; l < chunk->nlate && !column->map.typbyval; l++)
			column->copied |= is_formed(chunk->late[l].f) &&
				is_read(column->reads, function_column(state, chunk->late[l].f));
	}
	if (column->fetched == NULL)
	{
		column->values = palloc(BATCH_ROWS * sizeof(Datum));
		column->isnull = palloc(BATCH_ROWS * sizeof(bool));
	}
}

/* Conditions on the columns of the target list, as conditions on the scan tuple. */
static Node *
replace_columns(Node *node, void *tlist)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
		return copyObject((Node *) list_nth_node(TargetEntry, tlist, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, replace_columns, tlist);
}

/* What is computed anew for a column of the target list; NULL: it is kept. */
static Node *
computed(const GpucolWindowState *state, Expr *expr)
{
	BatchColumn column = {0};

	if (!IsA(expr, Var))
		return (Node *) expr;
	if (find_column(state, ((Var *) expr)->varattno - 1, &column) && column.late != NULL)
		return (Node *) column.late->func->args;
	return NULL;
}

/* Are the columns cheap that conditions read, and which are computed anew for a batch? */
static bool
are_cheap(const GpucolWindowState *state, List *conditions)
{
	Bitmapset  *reads = NULL;
	QualCost	cost = {0};
	ListCell   *lc;

	pull_varattnos((Node *) conditions, OUTER_VAR, &reads);
	foreach(lc, state->css.ss.ps.plan->targetlist)
	{
		Node	   *node = computed(state, lfirst_node(TargetEntry, lc)->expr);
		QualCost	one;

		if (node == NULL || !is_read(reads, foreach_current_index(lc)))
			continue;
		cost_qual_eval_node(&one, node, NULL);
		cost.startup += one.startup;
		cost.per_tuple += one.per_tuple;
	}
	bms_free(reads);
	return cost.startup == 0 && cost.per_tuple <= TWICE_OPERATORS * cpu_operator_cost;
}

/* Say what conditions read. */
static void
find_tested(GpucolWindowState *state, List *conditions)
{
	GpucolWindowChunk *chunk = state->chunk;
	Bitmapset  *reads = NULL;

	pull_varattnos((Node *) state->css.ss.ps.plan->qual, INDEX_VAR, &reads);
	pull_varattnos((Node *) conditions, INDEX_VAR, &reads);
	for (int c = 0; c < chunk->ncolumns; c++)
		chunk->columns[c].tested = is_read(reads, chunk->columns[c].column);
	for (int l = 0; l < chunk->nlate; l++)
		chunk->late[l].tested = is_read(reads, function_column(state, chunk->late[l].f));
}

/* Prepare for batches, in the query's memory. */
static GpucolWindowBatches *
create_batches(GpucolWindowState *state)
{
	List	   *tlist = state->css.ss.ps.plan->targetlist;
	GpucolWindowBatches *batches = palloc0(sizeof(GpucolWindowBatches));
	ListCell   *lc;

	gpucol_window_chunk_room(state->chunk, BATCH_ROWS);
	batches->ncolumns = list_length(tlist);
	batches->columns = palloc0(Max(batches->ncolumns, 1) * sizeof(BatchColumn));
	foreach(lc, tlist)
		init_column(state, &batches->columns[foreach_current_index(lc)], lfirst_node(TargetEntry, lc)->expr);
	return batches;
}

bool
gpucol_window_offer(GpucolWindowState *state, PlanState *above, List *conditions)
{
	Plan	   *plan = state->css.ss.ps.plan;
	GpucolWindowChunk *chunk = state->chunk;
	MemoryContext old;

	if (state->fallback != NULL || contain_subplans((Node *) plan->targetlist) ||
		contain_volatile_functions((Node *) plan->targetlist) || contain_subplans((Node *) plan->qual) ||
		!are_cheap(state, conditions))
		return false;
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	if (chunk->batches == NULL)
		chunk->batches = create_batches(state);
	if (!chunk->batches->tests || chunk->batches->above != above)
	{
		chunk->batches->tests = true;
		conditions = (List *) replace_columns((Node *) conditions, plan->targetlist);
		chunk->batches->above = above;
		chunk->batches->conditions = ExecInitQual(conditions, &state->css.ss.ps);
		find_tested(state, conditions);
	}
	chunk->batches->removed = 0;
	MemoryContextSwitchTo(old);
	gpucol_window_want(state, NULL);
	return true;
}

void
gpucol_window_want(GpucolWindowState *state, const bool *wanted)
{
	GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;

	batches->evaluates = batches->has_bytes = false;
	for (int c = 0; c < chunk->ncolumns; c++)
		chunk->columns[c].read = chunk->columns[c].shown = false;
	for (int l = 0; l < chunk->nlate; l++)
		chunk->late[l].read = false;
	for (int i = 0; i < batches->ncolumns; i++)
	{
		BatchColumn *column = &batches->columns[i];

		column->wanted = wanted == NULL || wanted[i];
		if (!column->wanted)
			continue;
		batches->has_bytes |= column->map.typlen == -1;
		batches->evaluates |= column->fetched == NULL;
		if (column->fetched != NULL)
			column->fetched->shown = true;
		for (int c = 0; c < chunk->ncolumns && column->expr != NULL; c++)
			chunk->columns[c].read |= is_read(column->reads, chunk->columns[c].column);
		for (int l = 0; l < chunk->nlate && column->expr != NULL; l++)
			chunk->late[l].read |= is_read(column->reads, function_column(state, chunk->late[l].f));
	}
}

/* ------------------------------------------------------------------------
 * Conditions
 * ------------------------------------------------------------------------
 */

/* Does the row at i pass all conditions? */
static bool
passes(GpucolWindowState *state, uint32 i)
{
	GpucolWindowChunk *chunk = state->chunk;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	ResetExprContext(econtext);
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->tested)
			continue;
		slot->tts_values[column->column] = column->values[i];
		slot->tts_isnull[column->column] = column->isnull[i];
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (chunk->late[l].tested)
			gpucol_window_chunk_put_late(state, chunk->late[l].f, i, slot);
	}
	econtext->ecxt_scantuple = slot;
	if (!ExecQual(state->css.ss.ps.qual, econtext))
	{
		InstrCountFiltered1(&state->css.ss, 1);
		return false;
	}
	if (ExecQual(chunk->batches->conditions, econtext))
		return true;
	chunk->batches->removed++;
	return false;
}

/* Leave the rows that pass conditions. */
static void
test_rows(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;
	uint32		n = 0;

	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		if (!passes(state, i))
			continue;
		chunk->rows[n] = chunk->rows[i];
		chunk->places[n] = chunk->places[i];
		for (int c = 0; c < chunk->ncolumns; c++)
		{
			GpucolWindowChunkColumn *column = &chunk->columns[c];

			if (!column->tested)
				continue;
			column->values[n] = column->values[i];
			column->isnull[n] = column->isnull[i];
		}
		n++;
	}
	chunk->nrows = n;
}

/* Have rows at hand; false if there are none. */
static bool
have_rows(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;
	bool		tests = state->css.ss.ps.qual != NULL || chunk->batches->conditions != NULL;

	if (state->next == 0)
		chunk->next = chunk->nrows = 0;
	if (chunk->next < chunk->nrows)
		return true;
	chunk->for_batch = true;
	do
	{
		CHECK_FOR_INTERRUPTS();
		while (state->next == state->rows.nrows)
		{
			if (!gpucol_window_parts_next(state))
				return false;
		}
		gpucol_window_chunk_turn(state);
		for (int c = 0; c < chunk->ncolumns; c++)
		{
			if (chunk->columns[c].tested)
				gpucol_window_chunk_fetch(state, &chunk->columns[c]);
		}
		if (tests)
			test_rows(state);
	} while (chunk->nrows == 0);
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->tested && (column->shown || column->read))
			gpucol_window_chunk_fetch(state, column);
	}
	return true;
}

/* ------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------
 */

/* A numeric that stays where it is when the next is formed. */
static Datum
copy_formed(BatchColumn *column, Datum value)
{
	if (column->copy == (Datum) 0 || column->nformed != column->late->nformed)
	{
		column->copy = datumCopy(value, false, -1);
		column->nformed = column->late->nformed;
	}
	return column->copy;
}

/* Evaluate what is wanted of a row. */
static void
evaluate_row(GpucolWindowState *state, uint32 i)
{
	GpucolWindowChunk *chunk = state->chunk;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->read)
			continue;
		slot->tts_values[column->column] = column->values[i];
		slot->tts_isnull[column->column] = column->isnull[i];
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (chunk->late[l].read)
			gpucol_window_chunk_put_late(state, chunk->late[l].f, i, slot);
	}
	for (int c = 0; c < chunk->batches->ncolumns; c++)
	{
		BatchColumn *column = &chunk->batches->columns[c];

		if (!column->wanted || column->fetched != NULL || shows_sums(state, column))
			continue;
		if (column->late != NULL)
			column->values[i] = gpucol_window_chunk_late(state, column->late, i, &column->isnull[i]);
		else
		{
			econtext->ecxt_scantuple = slot;
			column->values[i] = ExecEvalExprSwitchContext(column->expr, econtext, &column->isnull[i]);
		}
		if (column->isnull[i])
			continue;
		if (column->late != NULL && is_formed(column->late))
			column->values[i] = copy_formed(column, column->values[i]);
		else if (column->copied)
			column->values[i] = datumCopy(column->values[i], false, column->map.typlen);
	}
}

/* The bytes that a row's values have once they are read: those of others lie where they are kept. */
static Size
bytes_of_row(const GpucolWindowBatches *batches, uint32 i)
{
	Size		bytes = 0;

	for (int c = 0; c < batches->ncolumns; c++)
	{
		const BatchColumn *column = &batches->columns[c];
		const GpucolWindowChunkColumn *fetched = column->fetched;
		Pointer		value;

		if (!column->wanted || fetched == NULL || column->map.typlen != -1 || fetched->isnull[i])
			continue;
		value = DatumGetPointer(fetched->values[i]);
		if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
			bytes += toast_raw_datum_size(PointerGetDatum(value));
	}
	return bytes;
}

/* Evaluate rows at hand; how many are a batch. */
static uint32
evaluate_rows(GpucolWindowState *state)
{
	const GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;
	MemoryContext context = CurrentMemoryContext;
	Size		bytes = 0;
	uint32		i = chunk->next;

	if (!batches->evaluates && !batches->has_bytes)
		return chunk->nrows - chunk->next;
	for (int c = 0; c < batches->ncolumns; c++)
		batches->columns[c].copy = (Datum) 0;
	for (; i < chunk->nrows && bytes < BATCH_BYTES; i++)
	{
		if (batches->evaluates)
			evaluate_row(state, i);
		if (batches->has_bytes)
			bytes += bytes_of_row(batches, i);
		if (batches->evaluates && MemoryContextMemAllocated(context, false) >= BATCH_BYTES)
			bytes = BATCH_BYTES;
	}
	return i - chunk->next;
}

/* Sums as mantissas. */
static void
put_sums(const GpucolWindowChunk *chunk, const GpucolWindowFunction *f, uint32 n, GpucolOutput *output,
		 GpucolResultColumn *column)
{
	const uint32 *at = (f->by_place ? chunk->places : chunk->rows) + chunk->next;
	__int128   *sums = gpucol_result_room(n * sizeof(__int128));
	uint8	   *nulls = palloc(n);
	bool		any = false;

	for (uint32 i = 0; i < n; i++)
	{
		nulls[i] = f->counts[at[i]] == 0;
		sums[i] = nulls[i] ? 0 : f->sums[at[i]];
		any |= nulls[i];
	}
	output->cls = GPUCOL_CLASS_D;
	output->scale = f->scale;
	*column = (GpucolResultColumn) {.cls = GPUCOL_CLASS_D,.d = sums,.nulls = any ? nulls : NULL};
}

bool
gpucol_window_batch(GpucolWindowState *state, GpucolBatch *batch)
{
	GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;
	bool		found;

	ResetExprContext(econtext);
	ExecClearTuple(slot);
	ExecStoreVirtualTuple(slot);
	found = have_rows(state);
	batch->removed = batches->removed;
	batches->removed = 0;
	if (!found)
		return false;
	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	batch->nrows = evaluate_rows(state);
	batch->ncolumns = batches->ncolumns;
	for (int c = 0; c < batches->ncolumns; c++)
	{
		const BatchColumn *column = &batches->columns[c];
		const Datum *values = column->fetched != NULL ? column->fetched->values : column->values;
		const bool *isnull = column->fetched != NULL ? column->fetched->isnull : column->isnull;

		batch->outputs[c] = (GpucolOutput) {.map = column->map};
		batch->columns[c] = (GpucolResultColumn) {0};
		if (column->wanted && shows_sums(state, column))
			put_sums(chunk, column->late, batch->nrows, &batch->outputs[c], &batch->columns[c]);
		else if (column->wanted)
			gpucol_result_column_of(values + chunk->next, isnull + chunk->next, batch->nrows, &batch->outputs[c],
									&batch->columns[c]);
	}
	chunk->next += batch->nrows;
	MemoryContextSwitchTo(old);
	return true;
}
