/*-------------------------------------------------------------------------
 *
 * window_few.c
 *	  Few rows of each partition matter (row_number() ... <= n): the others are dropped
 *	  while rows come in.
 *
 * Whenever there are twice as many rows as were left the last time, and enough for the
 * effort, they are sorted, and those behind the first n of their partition are dropped;
 * so memory is what the result needs, not what the input has.  Peers of a row that is
 * kept are kept: their number decides ranks and frames.  Rows that come are held against the
 * last ones that are kept, and may take their places (window_screen.c).
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

/* Do peers of a row matter?  Not if all functions are row numbers. */
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

void
gpucol_window_few_start(GpucolWindowState *state)
{
	GpucolWindowFew *few = &state->few;
	Datum		bound;
	bool		isnull;

	few->next = PG_UINT32_MAX;
	few->dropped = few->passed_over = 0;
	few->screen = NULL;
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
	if (few->limit > MOST_LIMIT)
		return;
	few->next = LEAST_ROWS;
	few->screen = gpucol_window_screen_begin(state, peers_matter(state));
}

/*
 * Mark the rows that matter; `last` gets the last ones of partitions of which as many matter as can, *nlast their
 * number.
 */
static uint32
mark_kept(const GpucolWindowState *state, bool peers, const uint8 *begins, bool *kept, uint32 *last, uint32 *nlast)
{
	uint32		place = 0;
	uint32		group = 0;
	uint32		group_start = 0;
	uint32		nkept = 0;
	bool		dense = state->few.kind == GPUCOL_WINDOW_DENSE_RANK;
	bool		full = false;

	*nlast = 0;
	for (uint32 i = 0; i < state->rows.nrows; i++)
	{
		int64		number;

		if ((begins[i] & GPUCOL_WINDOW_PARTITION) != 0)
		{
			place = group = group_start = 0;
			full = false;
		}
		else if ((begins[i] & GPUCOL_WINDOW_PEERS) != 0 && state->clauses[0].frames.ordered)
		{
			group++;
			group_start = place;
		}
		number = dense ? group : peers ? group_start : place;
		kept[state->order.items[i].row] = number < state->few.limit;
		place++;
		if (number >= state->few.limit)
			continue;
		nkept++;
		if ((dense ? group + 1 : place) >= state->few.limit)
		{
			*nlast += !full;
			full = true;
			last[*nlast - 1] = state->order.items[i].row;
		}
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

/* The numbers that rows have among those that are kept. */
static void
number_kept(const uint32 *kept, uint32 nkept, uint32 *rows, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		uint32		low = 0;
		uint32		high = nkept - 1;

		while (low < high)
		{
			uint32		middle = low + (high - low) / 2;

			if (kept[middle] < rows[i])
				low = middle + 1;
			else
				high = middle;
		}
		rows[i] = low;
	}
}

bool
gpucol_window_few_drop(GpucolWindowState *state)
{
	bool		peers = peers_matter(state);
	GpucolWindowClauseState *clause = &state->clauses[0];
	uint32		nrows = state->rows.nrows;
	uint8	   *begins;
	bool	   *marked;
	uint32	   *kept;
	uint32		nkept;
	uint32	   *last;
	uint32		nlast;

	gpucol_window_run_begin(state);
	if (!gpucol_window_run_order(state, clause) ||
		!gpucol_window_rows_fit(&state->rows, (2 + sizeof(uint32)) * (Size) nrows))
		return false;
	begins = gpucol_window_rows_alloc(&state->rows, nrows);
	marked = gpucol_window_rows_alloc(&state->rows, nrows);
	gpucol_window_order_mark(&state->rows, &state->order, clause->npartition, clause->nkeys, begins);
	last = MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(uint32));
	nkept = mark_kept(state, peers, begins, marked, last, &nlast);
	kept = list_kept(marked, nrows, nkept);
	number_kept(kept, nkept, last, nlast);
	gpucol_window_rows_keep(&state->rows, kept, nkept);
	state->few.screen = gpucol_window_screen_make(state, last, nlast, peers);
	pfree(last);
	pfree(kept);
	memset(&state->order, 0, sizeof(state->order));
	state->few.dropped += nrows - nkept;
	state->few.next = nkept < PG_UINT32_MAX / 4 ? Max(LEAST_ROWS, nkept * 2) : PG_UINT32_MAX;
	return true;
}
