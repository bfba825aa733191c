/*-------------------------------------------------------------------------
 *
 * window_test.c
 *	  Conditions on the rows of a GpucolWindow that come in batches.
 *
 * Those with numerics are computed over doubles that enclose them first (intervals.h), of the mantissas and sums that
 * results are formed of.  PostgreSQL evaluates them for the rows of which that leaves it open, and only for these
 * numerics are formed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "exec/window_chunk.h"

/* A row of the chunk. */
typedef struct TestedRow
{
	const GpucolWindowState *state;
	uint32		i;
} TestedRow;

/* ------------------------------------------------------------------------
 * What encloses a value
 * ------------------------------------------------------------------------
 */

/* Of a type that is known, by value or as a mantissa. */
static GpucolInterval
value_interval(Oid type, Datum value, bool mantissa, int scale)
{
	switch (type)
	{
		case INT2OID:
			return gpucol_interval_decimal(DatumGetInt16(value), 0);
		case INT4OID:
			return gpucol_interval_decimal(DatumGetInt32(value), 0);
		case INT8OID:
			return gpucol_interval_decimal(DatumGetInt64(value), 0);
		case FLOAT8OID:
			return gpucol_interval_float(DatumGetFloat8(value));
		case NUMERICOID:
			return mantissa ? gpucol_interval_decimal((int64) value, scale) : gpucol_interval_unknown;
		default:
			return gpucol_interval_unknown;
	}
}

/* Of a column that is fetched. */
static GpucolInterval
column_interval(const GpucolWindowChunkColumn *column, uint32 i)
{
	bool		own = column->f == NULL || column->f->source != NULL;	/* it is a value of the input */

	if (column->isnull[i])
		return gpucol_interval_null;
	return value_interval(own ? column->in->type : column->f->func->wintype, column->values[i], column->mantissas,
						  own ? column->in->scale : 0);
}

/* Of the value of some row, or of a default. */
static GpucolInterval
source_interval(const GpucolWindowState *state, const GpucolWindowFunction *f, uint32 source)
{
	const GpucolWindowInput *in;

	if (source == GPUCOL_WINDOW_NO_ROW)
		return gpucol_interval_null;
	if (source == GPUCOL_WINDOW_DEFAULT_ROW || f->value != NULL)
		return gpucol_interval_unknown;
	in = &state->rows.inputs[f->input];
	return in->isnull[source] ? gpucol_interval_null :
		value_interval(in->type, in->values[source], in->mantissas, in->scale);
}

/* Of a function's result that is evaluated or formed. */
static GpucolInterval
late_interval(const GpucolWindowState *state, const GpucolWindowFunction *f, uint32 i)
{
	uint32		at = f->by_place ? state->chunk->places[i] : state->chunk->rows[i];
	GpucolMoments moments;

	if (f->source != NULL)
		return source_interval(state, f, f->source[at]);
	if (f->counts[at] < (f->sample ? 2 : 1))
		return gpucol_interval_null;
	switch (f->kind)
	{
		case GPUCOL_WINDOW_SUM_NUMERIC:
			return gpucol_interval_decimal(f->sums[at], f->scale);
		case GPUCOL_WINDOW_AVG_NUMERIC:
			return gpucol_interval_average(gpucol_interval_decimal(f->sums[at], f->scale), f->counts[at]);
		case GPUCOL_WINDOW_VAR_NUMERIC:
			moments = (GpucolMoments) {.count = f->counts[at],.sum = f->sums[at],.squares = f->squares[at],
			.scale = f->scale,.sample = f->sample,.root = f->root};
			return gpucol_interval_variance(&moments);
		default:
			return gpucol_interval_unknown;
	}
}

/* ------------------------------------------------------------------------
 * Preparation
 * ------------------------------------------------------------------------
 */

static int
find_leaf(const void *arg, const Var *var)
{
	return gpucol_window_chunk_find(arg, var->varattno - 1);
}

static GpucolInterval
leaf_interval(const void *row, int leaf)
{
	const TestedRow *tested = row;
	const GpucolWindowChunk *chunk = tested->state->chunk;

	if (leaf < chunk->ncolumns)
		return column_interval(&chunk->columns[leaf], tested->i);
	return late_interval(tested->state, chunk->late[leaf - chunk->ncolumns].f, tested->i);
}

/* Are there numerics in conditions? */
static bool
has_numerics(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) && exprType(node) == NUMERICOID)
		return true;
	return expression_tree_walker(node, has_numerics, context);
}

/* A parameter may be another in the next scan. */
static GpucolIntervals *
make_intervals(GpucolWindowState *state, List *conditions)
{
	return has_numerics((Node *) conditions, NULL) && !gpucol_batch_reads_param((Node *) conditions, NULL) ?
		gpucol_intervals_make(conditions, &state->css.ss.ps, false, find_leaf, state, leaf_interval) : NULL;
}

void
gpucol_window_tests_make(GpucolWindowState *state, List *conditions)
{
	GpucolWindowTests *tests = &state->chunk->tests;

	tests->above = ExecInitQual(conditions, &state->css.ss.ps);
	tests->own_intervals = make_intervals(state, state->css.ss.ps.plan->qual);
	tests->above_intervals = make_intervals(state, conditions);
	tests->forms = (state->css.ss.ps.qual != NULL && tests->own_intervals == NULL) ||
		(tests->above != NULL && tests->above_intervals == NULL);
}

/* ------------------------------------------------------------------------
 * Tests
 * ------------------------------------------------------------------------
 */

/* The row at i as the scan tuple. */
static void
put_row(GpucolWindowState *state, uint32 i)
{
	GpucolWindowChunk *chunk = state->chunk;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;

	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->tested)
			continue;
		slot->tts_isnull[column->column] = column->isnull[i];
		slot->tts_values[column->column] = column->mantissas && !column->isnull[i] ?
			gpucol_typemap_numeric((int64) column->values[i], column->in->scale) : column->values[i];
	}
	MemoryContextSwitchTo(old);
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (chunk->late[l].tested)
			gpucol_window_chunk_put_late(state, chunk->late[l].f, i, slot);
	}
	econtext->ecxt_scantuple = slot;
}

/* Is a condition true for the row at i, which is put into the scan tuple when that has to be evaluated? */
static bool
is_true(GpucolWindowState *state, ExprState *condition, const GpucolIntervals *intervals, uint32 i, bool *put)
{
	TestedRow	row = {state, i};
	GpucolBoundsSays says = GPUCOL_BOUNDS_OPEN;

	if (condition == NULL)
		return true;
	if (intervals != NULL)
		says = gpucol_intervals_decide(intervals, &row);
	if (says != GPUCOL_BOUNDS_OPEN)
		return says == GPUCOL_BOUNDS_MEETS;
	if (!*put)
		put_row(state, i);
	*put = true;
	return ExecQual(condition, state->css.ss.ps.ps_ExprContext);
}

/* Does the row at i pass all conditions? */
static bool
passes(GpucolWindowState *state, uint32 i)
{
	GpucolWindowTests *tests = &state->chunk->tests;
	bool		put = false;

	if (!is_true(state, state->css.ss.ps.qual, tests->own_intervals, i, &put))
	{
		InstrCountFiltered1(&state->css.ss, 1);
		return false;
	}
	if (is_true(state, tests->above, tests->above_intervals, i, &put))
		return true;
	tests->removed++;
	return false;
}

void
gpucol_window_tests_run(GpucolWindowState *state)
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
