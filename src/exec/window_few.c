/*-------------------------------------------------------------------------
 *
 * window_few.c
 *	  Few rows of each partition matter (row_number() ... <= n): the others are dropped
 *	  while rows come in.
 *
 * Whenever there are twice as many rows as were left the last time, and enough for the
 * effort, they are sorted, and those behind the first n of their partition are dropped;
 * so memory is what the result needs, not what the input has.  Peers of a row that is
 * kept are kept: their number decides ranks and frames.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "exec/window.h"

/* Rows that are kept before some are dropped. */
#define LEAST_ROWS	65536

/* More rows of a partition than this are no few. */
#define MOST_LIMIT	100000

void
gpucol_window_few_start(GpucolWindowState *state)
{
	GpucolWindowFew *few = &state->few;
	Datum		bound;
	bool		isnull;

	few->next = PG_UINT32_MAX;
	few->dropped = 0;
	if (!few->wanted)
		return;
	bound = ExecEvalExprSwitchContext(few->bound, state->css.ss.ps.ps_ExprContext, &isnull);
	switch (exprType((Node *) few->bound->expr))
	{
		case INT2OID:
			few->limit = DatumGetInt16(bound);
			break;
		case INT4OID:
			few->limit = DatumGetInt32(bound);
			break;
		default:
			few->limit = DatumGetInt64(bound);
			break;
	}
	if (isnull || few->limit < 0)
		few->limit = 0;
	else if (few->strict && few->limit > 0)
		few->limit--;
	if (few->limit <= MOST_LIMIT)
		few->next = LEAST_ROWS;
}

/* Are all functions row numbers, to which peers do not matter? */
static bool
peers_matter(const GpucolWindowState *state)
{
	for (int i = 0; i < state->nfunctions; i++)
	{
		if (state->functions[i].kind != GPUCOL_WINDOW_ROW_NUMBER)
			return true;
	}
	return false;
}

/* Mark the rows that matter. */
static uint32
mark_kept(const GpucolWindowState *state, const uint8 *begins, bool *kept)
{
	bool		peers = peers_matter(state);
	uint32		place = 0;
	uint32		group = 0;
	uint32		group_start = 0;
	uint32		nkept = 0;

	for (uint32 i = 0; i < state->rows.nrows; i++)
	{
		int64		number;

		if ((begins[i] & GPUCOL_WINDOW_PARTITION) != 0)
			place = group = group_start = 0;
		else if ((begins[i] & GPUCOL_WINDOW_PEERS) != 0 && state->clauses[0].frames.ordered)
		{
			group++;
			group_start = place;
		}
		number = state->few.kind == GPUCOL_WINDOW_DENSE_RANK ? group : peers ? group_start : place;
		kept[state->order.items[i].row] = number < state->few.limit;
		nkept += number < state->few.limit;
		place++;
	}
	return nkept;
}

/* The numbers of marked rows, in order. */
static uint32 *
list_kept(const bool *marked, uint32 nrows, uint32 nkept)
{
	uint32	   *kept = MemoryContextAllocHuge(CurrentMemoryContext,
											  ((Size) nkept + 1) * sizeof(uint32));
	uint32		n = 0;

	for (uint32 i = 0; i < nrows; i++)
	{
		if (marked[i])
			kept[n++] = i;
	}
	return kept;
}

bool
gpucol_window_few_drop(GpucolWindowState *state)
{
	GpucolWindowClauseState *clause = &state->clauses[0];
	uint32		nrows = state->rows.nrows;
	uint8	   *begins;
	bool	   *marked;
	uint32	   *kept;
	uint32		nkept;

	gpucol_window_run_begin(state);
	if (!gpucol_window_run_order(state, clause) || !gpucol_window_rows_fit(&state->rows, 2 * nrows))
		return false;
	begins = gpucol_window_rows_alloc(&state->rows, nrows);
	marked = gpucol_window_rows_alloc(&state->rows, nrows);
	gpucol_window_order_mark(&state->rows, &state->order, clause->npartition, clause->nkeys, begins);
	nkept = mark_kept(state, begins, marked);
	kept = list_kept(marked, nrows, nkept);
	gpucol_window_rows_keep(&state->rows, kept, nkept);
	pfree(kept);
	memset(&state->order, 0, sizeof(state->order));
	state->few.dropped += nrows - nkept;
	state->few.next = nkept < PG_UINT32_MAX / 4 ? Max(LEAST_ROWS, nkept * 2) : PG_UINT32_MAX;
	return true;
}
