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

#include "exec/window.h"

/* Rows that are fetched together. */
#define CHUNK_ROWS	256

/* A column of the scan tuple, for these. */
typedef struct ChunkColumn
{
	int			column;			/* of the scan tuple, from 0 on */
	const GpucolWindowInput *in;	/* the child's column or that of a function's source */
	GpucolWindowFunction *f;	/* or NULL */
	Datum		values[CHUNK_ROWS];
	bool		isnull[CHUNK_ROWS];
} ChunkColumn;

typedef struct GpucolWindowChunk
{
	uint32		next;			/* of the rows that are fetched, */
	uint32		nrows;			/* so many */
	uint32		rows[CHUNK_ROWS];
	int			ncolumns;
	ChunkColumn *columns;
	int			nlate;			/* functions that are evaluated or formed */
	GpucolWindowFunction **late;
} GpucolWindowChunk;

/* Is a function's result more than a value that is kept? */
static bool
is_late(const GpucolWindowFunction *f)
{
	return f->value != NULL || f->instead != NULL || f->kind == GPUCOL_WINDOW_SUM_NUMERIC ||
		f->kind == GPUCOL_WINDOW_AVG_NUMERIC;
}

void
gpucol_window_deliver_init(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = palloc0(sizeof(GpucolWindowChunk));

	state->chunk = chunk;
	chunk->columns = palloc0((state->noutputs + state->nfunctions) * sizeof(ChunkColumn));
	chunk->late = palloc(state->nfunctions * sizeof(GpucolWindowFunction *));
	for (int i = 0; i < state->noutputs; i++)
	{
		chunk->columns[i].column = state->outputs[i];
		chunk->columns[i].in = &state->rows.inputs[state->output_inputs[i]];
	}
	chunk->ncolumns = state->noutputs;
	for (int i = 0; i < state->nfunctions; i++)
	{
		GpucolWindowFunction *f = &state->functions[i];
		ChunkColumn *column = &chunk->columns[chunk->ncolumns];

		if (is_late(f))
		{
			chunk->late[chunk->nlate++] = f;
			continue;
		}
		column->column = state->ncolumns + i;
		column->f = f;
		column->in = f->input < 0 ? NULL : &state->rows.inputs[f->input];
		chunk->ncolumns++;
	}
}

/* Fetch the values of the rows that are a function's results. */
static void
fetch_sources(const GpucolWindowState *state, ChunkColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowFunction *f = column->f;

	for (uint32 i = 0; i < chunk->nrows; i++)
	{
		uint32		source = f->source[f->by_place ? state->next + i : chunk->rows[i]];

		column->isnull[i] = source == GPUCOL_WINDOW_NO_ROW || column->in->isnull[source];
		column->values[i] = column->isnull[i] ? (Datum) 0 : column->in->values[source];
	}
}

/* Fetch values by row. */
static void
fetch_values(const GpucolWindowChunk *chunk, const Datum *values, const bool *isnull,
			 ChunkColumn *column)
{
	for (uint32 i = 0; i < chunk->nrows; i++)
		column->values[i] = values[chunk->rows[i]];
	for (uint32 i = 0; i < chunk->nrows; i++)
		column->isnull[i] = isnull[chunk->rows[i]];
}

/* Fetch the next rows. */
static void
fetch_rows(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;

	chunk->next = 0;
	chunk->nrows = Min(CHUNK_ROWS, state->rows.nrows - state->next);
	for (uint32 i = 0; i < chunk->nrows; i++)
		chunk->rows[i] = state->order.items[state->next + i].row;
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		ChunkColumn *column = &chunk->columns[c];

		if (column->f == NULL)
			fetch_values(chunk, column->in->values, column->in->isnull, column);
		else if (column->f->source != NULL)
			fetch_sources(state, column);
		else if (!column->f->by_place)
			fetch_values(chunk, column->f->values, column->f->isnull, column);
		else
		{
			memcpy(column->values, column->f->values + state->next, chunk->nrows * sizeof(Datum));
			memcpy(column->isnull, column->f->isnull + state->next, chunk->nrows);
		}
	}
	state->next += chunk->nrows;
}

/* Evaluate an expression for some row. */
static Datum
evaluate(GpucolWindowState *state, ExprState *expr, uint32 row, bool *isnull)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->peek;

	for (int i = 0; i < state->npeeks; i++)
	{
		const GpucolWindowInput *in = &state->rows.inputs[state->peek_inputs[i]];

		slot->tts_values[state->peeks[i]] = in->values[row];
		slot->tts_isnull[state->peeks[i]] = in->isnull[row];
	}
	slot->tts_nvalid = slot->tts_tupleDescriptor->natts;
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	econtext->ecxt_scantuple = slot;
	return ExecEvalExprSwitchContext(expr, econtext, isnull);
}

/* The result of a function for the row of this number and place. */
static Datum
late_result(GpucolWindowState *state, GpucolWindowFunction *f, uint32 row, uint32 place,
			bool *isnull)
{
	uint32		at = f->by_place ? place : row;
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
	return state->rows.inputs[f->input].values[source];
}

bool
gpucol_window_deliver(GpucolWindowState *state, TupleTableSlot *slot)
{
	GpucolWindowChunk *chunk = state->chunk;
	uint32		i;

	if (chunk->next == chunk->nrows || state->next == 0)
	{
		if (state->next == state->rows.nrows)
			return false;
		fetch_rows(state);
	}
	i = chunk->next++;
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const ChunkColumn *column = &chunk->columns[c];

		slot->tts_values[column->column] = column->values[i];
		slot->tts_isnull[column->column] = column->isnull[i];
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		GpucolWindowFunction *f = chunk->late[l];
		int			column = state->ncolumns + (int) (f - state->functions);

		slot->tts_values[column] = late_result(state, f, chunk->rows[i],
											   state->next - chunk->nrows + i,
											   &slot->tts_isnull[column]);
	}
	return true;
}
