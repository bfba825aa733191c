/*-------------------------------------------------------------------------
 *
 * window_run.c
 *	  Window functions over all rows that a GpucolWindow has taken.
 *
 * Clause after clause, as PostgreSQL's own plan has them, so that one whose keys begin
 * another's comes next to that and needs no sort of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "exec/window.h"
#include "exec/window_agg.h"

/* The codes of a column, which are made once; NULL where memory does not suffice. */
static const GpucolWindowCodes *
find_codes(GpucolWindowState *state, const GpucolWindowKey *key)
{
	GpucolWindowCodes *codes;

	for (int i = 0; i < state->ncodes; i++)
	{
		codes = &state->codes[i];
		if (codes->input == key->input && codes->sortop == key->sortop && codes->collation == key->collation &&
			(key->unordered || !codes->unordered))
			return codes;
	}
	codes = &state->codes[state->ncodes];
	codes->input = key->input;
	codes->sortop = key->sortop;
	codes->collation = key->collation;
	codes->unordered = key->unordered;
	if (!gpucol_window_codes_make(&state->rows, codes))
		return NULL;
	state->ncodes++;
	return codes;
}

void
gpucol_window_run_begin(GpucolWindowState *state)
{
	int			nkeys = 0;

	memset(&state->order, 0, sizeof(state->order));
	for (int i = 0; i < state->nclauses; i++)
		nkeys += state->clauses[i].nkeys;
	state->ncodes = 0;
	state->codes = gpucol_window_rows_alloc(&state->rows,
											Max(nkeys, 1) * sizeof(GpucolWindowCodes));
}

bool
gpucol_window_run_order(GpucolWindowState *state, GpucolWindowClauseState *clause)
{
	GpucolWindowOrder *order = &state->order;

	clause = &state->clauses[clause->leader];
	if (order->items != NULL && order->keys == clause->keys)
		return true;
	gpucol_window_order_free(order);
	order->nkeys = clause->nkeys;
	order->keys = clause->keys;
	for (int i = 0; i < clause->nkeys; i++)
	{
		GpucolWindowKey *key = &clause->keys[i];

		key->codes = find_codes(state, key);
		if (key->codes == NULL)
			return false;
	}
	return gpucol_window_order_sort(&state->rows, order);
}

/* An offset as PostgreSQL accepts it; NULL, or why it does not. */
static const char *
check_offset(GpucolWindowState *state, ExprState *expr, int options, uint64 *offset, Datum *value)
{
	bool		isnull;

	if (expr == NULL)
		return NULL;
	*value = ExecEvalExprSwitchContext(expr, state->css.ss.ps.ps_ExprContext, &isnull);
	if (isnull)
		return "an offset of a frame is NULL";
	if ((options & FRAMEOPTION_RANGE) != 0)
		return NULL;
	if (DatumGetInt64(*value) < 0)
		return "an offset of a frame is negative";
	*offset = (uint64) DatumGetInt64(*value);
	return NULL;
}

/* Numbers among the arguments that are the same for all rows. */
static void
set_numbers(GpucolWindowState *state)
{
	for (int i = 0; i < state->nfunctions; i++)
	{
		GpucolWindowNumber *number = &state->functions[i].number;

		if (number->expr != NULL)
			number->value = ExecEvalExprSwitchContext(number->expr,
													  state->css.ss.ps.ps_ExprContext,
													  &number->isnull);
	}
}

static const char *
set_offsets(GpucolWindowState *state)
{
	const char *why = NULL;

	for (int i = 0; why == NULL && i < state->nclauses; i++)
	{
		GpucolWindowClauseState *clause = &state->clauses[i];
		GpucolWindowFrames *frames = &clause->frames;

		why = check_offset(state, clause->start, frames->options, &frames->start,
						   &frames->start_value);
		if (why == NULL)
			why = check_offset(state, clause->end, frames->options, &frames->end,
							   &frames->end_value);
	}
	return why;
}

/* How many partitions there are, and the rows of the largest. */
static uint32
largest_partition(const GpucolWindowState *state, const uint8 *begins, uint64 *partitions)
{
	uint32		start = 0;
	uint32		largest = 0;

	*partitions = state->rows.nrows > 0;
	for (uint32 i = 1; i < state->rows.nrows; i++)
	{
		if ((begins[i] & GPUCOL_WINDOW_PARTITION) == 0)
			continue;
		largest = Max(largest, i - start);
		start = i;
		(*partitions)++;
	}
	return Max(largest, state->rows.nrows - start);
}

/* Are there variances among the functions of a clause? */
static bool
has_variances(const GpucolWindowState *state, int number)
{
	bool		has = false;

	for (int i = 0; i < state->nfunctions; i++)
		has |= state->functions[i].clause == number && state->functions[i].squares != NULL;
	return has;
}

/* All functions of a clause over one partition. */
static const char *
run_partition(GpucolWindowState *state, int number, GpucolWindowPart *part,
			  GpucolWindowScratch *scratch)
{
	const char *why = NULL;

	for (int i = 0; why == NULL && i < state->nfunctions; i++)
	{
		part->by_place = state->functions[i].by_place;
		if (state->functions[i].clause == number)
			why = gpucol_window_func_run(&state->functions[i], part, scratch);
	}
	return why;
}

/* All functions of a clause, partition by partition. */
static const char *
run_partitions(GpucolWindowState *state, int number, const uint8 *begins, GpucolWindowPart *part,
			   GpucolWindowScratch *scratch)
{
	const char *why = NULL;
	uint32		nrows = state->rows.nrows;
	uint32		start = 0;

	while (why == NULL && start < nrows)
	{
		uint32		end = start + 1;

		while (end < nrows && (begins[end] & GPUCOL_WINDOW_PARTITION) == 0)
			end++;
		part->base = start;
		gpucol_window_part_load(part, &state->order.items[start], &begins[start], end - start,
								state->clauses[number].framed);
		why = run_partition(state, number, part, scratch);
		start = end;
	}
	return why;
}

uint64
gpucol_window_partitions(const GpucolWindowState *state)
{
	uint64		partitions = 0;

	for (int i = 0; i < state->nclauses; i++)
		partitions = Max(partitions, state->clauses[i].partitions);
	return partitions;
}

static const char *
run_clause(GpucolWindowState *state, int number)
{
	GpucolWindowClauseState *clause = &state->clauses[number];
	GpucolWindowPart part = {0};
	GpucolWindowScratch scratch = {0};
	uint32		largest;
	uint8	   *begins;
	const char *why;

	if (!gpucol_window_run_order(state, clause) || !gpucol_window_rows_fit(&state->rows, state->rows.nrows))
		return GPUCOL_WINDOW_MEMORY;
	begins = gpucol_window_rows_alloc(&state->rows, state->rows.nrows);
	gpucol_window_order_mark(&state->rows, &state->order, clause->npartition, clause->nkeys, begins);
	largest = largest_partition(state, begins, &clause->partitions);
	if (!gpucol_window_part_init(&part, &state->rows, &clause->frames, largest) ||
		!gpucol_window_scratch_init(&scratch, &state->rows, largest, has_variances(state, number)))
		return GPUCOL_WINDOW_MEMORY;
	why = run_partitions(state, number, begins, &part, &scratch);
	gpucol_window_scratch_free(&scratch);
	gpucol_window_part_free(&part);
	pfree(begins);
	return why;
}

const char *
gpucol_window_run(GpucolWindowState *state)
{
	const char *why = set_offsets(state);

	gpucol_window_run_begin(state);
	set_numbers(state);
	for (int i = 0; why == NULL && i < state->nfunctions; i++)
		why = gpucol_window_func_prepare(&state->functions[i], &state->rows);
	for (int i = 0; why == NULL && i < state->nclauses; i++)
		why = run_clause(state, i);
	if (why == NULL && !gpucol_window_run_order(state, &state->clauses[state->last]))
		why = GPUCOL_WINDOW_MEMORY;
	gpucol_window_rows_fit(&state->rows, 0);
	state->peak = state->rows.meter.counted;
	return why;
}
