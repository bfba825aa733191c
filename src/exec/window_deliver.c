/*-------------------------------------------------------------------------
 *
 * window_deliver.c
 *	  The rows of a GpucolWindow as tuples.
 *
 * Rows come in the order of a window, while the columns are in that of the child.  So the
 * values of some hundred rows are fetched a column at a time, which lets the processor
 * wait for many of them at once.  What is evaluated or formed is so row by row, when the
 * row is wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "columnar/collation.h"
#include "exec/window_chunk.h"

/* Rows that are fetched together. */
#define CHUNK_ROWS	256

/* Is a function's result more than a value that is kept? */
static bool
is_late(const GpucolWindowFunction *f)
{
	return f->value != NULL || f->instead != NULL || gpucol_window_is_formed(f->kind);
}

/* The clause in whose order rows come. */
static const GpucolWindowClauseState *
delivered_clause(const GpucolWindowState *state)
{
	return &state->clauses[state->clauses[state->last].leader];
}

void
gpucol_window_chunk_room(GpucolWindowChunk *chunk, uint32 nrows)
{
	chunk->room = nrows;
	chunk->next = chunk->nrows = 0;
	chunk->rows = palloc(nrows * sizeof(uint32));
	chunk->places = palloc(nrows * sizeof(uint32));
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		chunk->columns[c].values = palloc(nrows * sizeof(Datum));
		chunk->columns[c].isnull = palloc(nrows * sizeof(bool));
	}
}

/* Is a column the same in all respects for rows of a partition? */
static bool
is_repeated(const GpucolWindowState *state, int input)
{
	const GpucolWindowClauseState *clause = delivered_clause(state);

	for (int k = 0; k < clause->npartition; k++)
	{
		if (clause->keys[k].input == input)
			return gpucol_equal_by_bytes(state->rows.inputs[input].type, clause->keys[k].collation);
	}
	return false;
}

void
gpucol_window_deliver_init(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = palloc0(sizeof(GpucolWindowChunk));

	state->chunk = chunk;
	chunk->formed = AllocSetContextCreate(CurrentMemoryContext, "gpucol window numerics", ALLOCSET_DEFAULT_SIZES);
	chunk->columns = palloc0((state->noutputs + state->nfunctions) * sizeof(GpucolWindowChunkColumn));
	chunk->late = palloc0(state->nfunctions * sizeof(GpucolWindowLate));
	for (int i = 0; i < state->noutputs; i++)
	{
		chunk->columns[i].column = state->outputs[i];
		chunk->columns[i].in = &state->rows.inputs[state->output_inputs[i]];
		chunk->columns[i].repeats = is_repeated(state, state->output_inputs[i]);
	}
	chunk->ncolumns = state->noutputs;
	for (int i = 0; i < state->nfunctions; i++)
	{
		GpucolWindowFunction *f = &state->functions[i];
		GpucolWindowChunkColumn *column = &chunk->columns[chunk->ncolumns];

		if (is_late(f))
		{
			chunk->late[chunk->nlate++].f = f;
			continue;
		}
		column->column = state->ncolumns + i;
		column->f = f;
		column->in = f->input < 0 ? NULL : &state->rows.inputs[f->input];
		chunk->ncolumns++;
	}
	gpucol_window_chunk_room(chunk, CHUNK_ROWS);
}

int
gpucol_window_chunk_find(const GpucolWindowState *state, int number)
{
	const GpucolWindowChunk *chunk = state->chunk;

	for (int c = 0; c < chunk->ncolumns; c++)
	{
		if (chunk->columns[c].column == number)
			return c;
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (gpucol_window_function_column(state, chunk->late[l].f) == number)
			return chunk->ncolumns + l;
	}
	return -1;
}

/* Fetch the values of the rows that are a function's results. */
static void
fetch_sources(const GpucolWindowState *state, GpucolWindowChunkColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowFunction *f = column->f;

	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		uint32		source = f->source[f->by_place ? chunk->places[i] : chunk->rows[i]];

		column->isnull[i] = source == GPUCOL_WINDOW_NO_ROW || (column->in->nulls && column->in->isnull[source]);
		column->values[i] = column->isnull[i] ? (Datum) 0 : column->in->values[source];
	}
}

/* Fetch values by row or by place; isnull NULL: none is. */
static void
fetch_values(const uint32 *at, uint32 n, const Datum *values, const bool *isnull, GpucolWindowChunkColumn *column)
{
	for (uint32 i = 0; i < n; i++)
		column->values[i] = values[at[i]];
	if (isnull == NULL)
		memset(column->isnull, false, n * sizeof(bool));
	for (uint32 i = 0; i < n && isnull != NULL; i++)
		column->isnull[i] = isnull[at[i]];
}

/* Fetch what is the same for all rows of a partition, whose keys are the upper bits of the first word. */
static void
fetch_repeated(const GpucolWindowState *state, int shift, GpucolWindowChunkColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolRadixItem *items = state->order.items;

	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		bool		same = i > 0 && (shift >= 64 ||
									 items[chunk->places[i]].key >> shift == items[chunk->places[i - 1]].key >> shift);
		uint32		row = chunk->rows[i];

		column->values[i] = same ? column->values[i - 1] : column->in->values[row];
		column->isnull[i] = same ? column->isnull[i - 1] : column->in->isnull[row];
	}
}

/* Fetch a column of the child. */
static void
fetch_column(const GpucolWindowState *state, GpucolWindowChunkColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowClauseState *clause = delivered_clause(state);

	if (column->repeats && clause->keys[clause->npartition - 1].word == 0)
		fetch_repeated(state, clause->keys[clause->npartition - 1].shift, column);
	else
		fetch_values(chunk->rows, chunk->nrows, column->in->values, column->in->nulls ? column->in->isnull : NULL,
					 column);
}

/* Form the numerics of mantissas. */
static void
form_numerics(const GpucolWindowChunk *chunk, GpucolWindowChunkColumn *column)
{
	MemoryContext old = MemoryContextSwitchTo(chunk->formed);

	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		if (!column->isnull[i])
			column->values[i] = gpucol_typemap_numeric((int64) column->values[i], column->in->scale);
	}
	MemoryContextSwitchTo(old);
}

void
gpucol_window_chunk_fetch(GpucolWindowState *state, GpucolWindowChunkColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowFunction *f = column->f;

	if (f == NULL)
		fetch_column(state, column);
	else if (f->source != NULL)
		fetch_sources(state, column);
	else
		fetch_values(f->by_place ? chunk->places : chunk->rows, chunk->nrows, f->values, f->isnull, column);
	column->mantissas = column->in != NULL && column->in->mantissas && (f == NULL || f->source != NULL);
	if (column->mantissas && (!chunk->for_batch || (column->tested && chunk->tests.forms) || column->read))
	{
		form_numerics(chunk, column);
		column->mantissas = false;
	}
}

void
gpucol_window_chunk_turn(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;

	MemoryContextReset(chunk->formed);
	chunk->next = 0;
	chunk->nrows = Min(chunk->room, state->rows.nrows - state->next);
	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		chunk->places[i] = state->next + i;
		chunk->rows[i] = state->order.items[state->next + i].row;
	}
	state->next += chunk->nrows;
}

/* Fetch the next rows for tuples. */
static void
fetch_rows(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;

	chunk->for_batch = false;
	gpucol_window_chunk_turn(state);
	for (int c = 0; c < chunk->ncolumns; c++)
		gpucol_window_chunk_fetch(state, &chunk->columns[c]);
}

/* Evaluate an expression for some row. */
static Datum
evaluate(GpucolWindowState *state, ExprState *expr, uint32 row, bool *isnull)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->peek;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	for (int i = 0; i < state->npeeks; i++)
	{
		const GpucolWindowInput *in = &state->rows.inputs[state->peek_inputs[i]];

		slot->tts_isnull[state->peeks[i]] = in->isnull[row];
		slot->tts_values[state->peeks[i]] = in->isnull[row] ? (Datum) 0 : gpucol_window_datum(in, row);
	}
	MemoryContextSwitchTo(old);
	slot->tts_nvalid = slot->tts_tupleDescriptor->natts;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	econtext->ecxt_scantuple = slot;
	return ExecEvalExprSwitchContext(expr, econtext, isnull);
}

/* The value of a function's argument in some row. */
static Datum
source_datum(const GpucolWindowState *state, const GpucolWindowFunction *f, uint32 source)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	Datum		value = gpucol_window_datum(&state->rows.inputs[f->input], source);

	MemoryContextSwitchTo(old);
	return value;
}

Datum
gpucol_window_chunk_late(GpucolWindowState *state, GpucolWindowFunction *f, uint32 i, bool *isnull)
{
	uint32		row = state->chunk->rows[i];
	uint32		at = f->by_place ? state->chunk->places[i] : row;
	uint32		source;

	if (f->source == NULL)
		return gpucol_window_func_numeric(f, at, isnull);
	source = f->source[at];
	if (source == GPUCOL_WINDOW_DEFAULT_ROW)
		return evaluate(state, f->instead, row, isnull);
	*isnull = true;
	if (source == GPUCOL_WINDOW_NO_ROW)
		return (Datum) 0;
	if (f->value != NULL)
		return evaluate(state, f->value, source, isnull);
	*isnull = state->rows.inputs[f->input].isnull[source];
	return *isnull ? (Datum) 0 : source_datum(state, f, source);
}

void
gpucol_window_chunk_put_late(GpucolWindowState *state, GpucolWindowFunction *f, uint32 i, TupleTableSlot *slot)
{
	int			column = gpucol_window_function_column(state, f);

	slot->tts_values[column] = gpucol_window_chunk_late(state, f, i, &slot->tts_isnull[column]);
}

bool
gpucol_window_deliver(GpucolWindowState *state, TupleTableSlot *slot)
{
	GpucolWindowChunk *chunk = state->chunk;
	uint32		i;

	Assert(state->next == 0 || !chunk->for_batch);
	if (chunk->next == chunk->nrows || state->next == 0)
	{
		while (state->next == state->rows.nrows)
		{
			if (!gpucol_window_parts_next(state))
				return false;
		}
		fetch_rows(state);
	}
	i = chunk->next++;
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const GpucolWindowChunkColumn *column = &chunk->columns[c];

		slot->tts_values[column->column] = column->values[i];
		slot->tts_isnull[column->column] = column->isnull[i];
	}
	for (int l = 0; l < chunk->nlate; l++)
		gpucol_window_chunk_put_late(state, chunk->late[l].f, i, slot);
	return true;
}
