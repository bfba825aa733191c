/*-------------------------------------------------------------------------
 *
 * fallback.c
 *	  The rows of PostgreSQL's own RecursiveUnion as batches of a recursion.
 *
 * Where joins compare values that a type calls equal, engines hold one form of them.  Where the inputs
 * of a recursion have several (numeric 1.0 and 1.00), or one round finds equal rows of several, which of
 * them shows is up to the plan that PostgreSQL chose; that plan then runs.  Its rows travel as
 * those of an engine do, so that nobody above has to know.  Where such values come up
 * only in a later round, it runs from the start as well and leaves out the rows of the
 * rounds before.
 *
 * It is tried first as well where indexes lead it to the rows that a recursion needs, of
 * tables that an engine would have to read whole.  Its rows are held until it has ended;
 * where it takes too long they are forgotten, and the engine begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "exec/plan_rows.h"
#include "recursion/exec/state.h"

#define BATCH_ROWS	1024

/* Rows of the first batch: who reads a few waits for no more. */
#define FIRST_ROWS	16

/* Rows that a trial reads at least, and after which it looks at the clock. */
#define TRIAL_ROWS	128

struct GpucolRecursiveFallback
{
	PlanState  *plan;
	bool		ended;			/* it has no more rows, and must not be asked again */
	Tuplestorestate *held;		/* all its rows that pass the filter, or NULL */
	TupleTableSlot *slot;		/* one of them */
	uint32		take;			/* rows of the next batch */
	uint64		skip;			/* rows that pass the filter and have been had before */
	ExprState  *filter;			/* on its rows, or NULL */
	ExprContext *econtext;
	int			ncolumns;
	GpucolRecColumn *columns;
	GpucolSymbols *symbols;		/* of the batch */
	MemoryContext context;		/* the batch's */
	int64	  **values;
	uint8	  **nulls;
};

GpucolRecursiveFallback *
gpucol_recursive_fallback_create(PlanState *plan, ExprState *filter,
								 ExprContext *econtext, int ncolumns,
								 const GpucolRecColumn *columns, uint64 skip)
{
	GpucolRecursiveFallback *fallback = palloc0(sizeof(GpucolRecursiveFallback));

	fallback->plan = plan;
	fallback->filter = filter;
	fallback->econtext = econtext;
	fallback->take = FIRST_ROWS;
	fallback->skip = skip;
	fallback->ncolumns = ncolumns;
	fallback->columns = palloc(sizeof(GpucolRecColumn) * (ncolumns + 1));
	fallback->values = palloc(sizeof(int64 *) * (ncolumns + 1));
	fallback->nulls = palloc(sizeof(uint8 *) * (ncolumns + 1));
	for (int c = 0; c < ncolumns; c++)
	{
		fallback->columns[c] = columns[c];
		fallback->columns[c].equality = NULL;
		fallback->values[c] = palloc(sizeof(int64) * BATCH_ROWS);
		fallback->nulls[c] = palloc(BATCH_ROWS);
	}
	fallback->context = AllocSetContextCreate(CurrentMemoryContext,
											  "gpucol recursion fallback batch",
											  ALLOCSET_DEFAULT_SIZES);
	return fallback;
}

/* Put a row, whose columns have been fetched into the slot, into place `row` of 64-bit columns. */
static void
take_row(TupleTableSlot *slot, const GpucolRecColumn *columns, int ncolumns, GpucolSymbols *symbols, uint32 row,
		 int64 *const *values, uint8 *const *nulls)
{
	for (int c = 0; c < ncolumns; c++)
	{
		bool		isnull = slot->tts_isnull[c];

		nulls[c][row] = isnull;
		values[c][row] = isnull ? 0 :
			gpucol_rec_column_to_value(&columns[c], slot->tts_values[c], symbols);
	}
}

/* The next row of the plan, or NULL. */
static TupleTableSlot *
plan_row(GpucolRecursiveFallback *fallback)
{
	MemoryContext old = MemoryContextSwitchTo(fallback->plan->state->es_query_cxt);
	TupleTableSlot *slot = ExecProcNode(fallback->plan);

	MemoryContextSwitchTo(old);
	fallback->ended = TupIsNull(slot);
	return fallback->ended ? NULL : slot;
}

static bool
passes(GpucolRecursiveFallback *fallback, TupleTableSlot *slot)
{
	/* the filter takes slots for virtual ones, whose values are all there */
	slot_getsomeattrs(slot, fallback->ncolumns);
	ResetExprContext(fallback->econtext);
	fallback->econtext->ecxt_scantuple = slot;
	return fallback->filter == NULL || ExecQual(fallback->filter, fallback->econtext);
}

/* The next row that passes the filter, or NULL. */
static TupleTableSlot *
next_row(GpucolRecursiveFallback *fallback)
{
	TupleTableSlot *slot;

	if (fallback->held != NULL)
	{
		if (!gpucol_plan_rows_stored(fallback->held, fallback->slot))
			return NULL;
		slot_getsomeattrs(fallback->slot, fallback->ncolumns);
		return fallback->slot;
	}
	while (!fallback->ended)
	{
		slot = plan_row(fallback);
		if (slot == NULL || !passes(fallback, slot))
			continue;
		if (fallback->skip == 0)
			return slot;
		fallback->skip--;
	}
	return NULL;
}

/* Microseconds since a moment. */
static double
elapsed(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MICROSEC(now);
}

bool
gpucol_recursive_fallback_try(GpucolRecursiveFallback *fallback, double microseconds)
{
	Tuplestorestate *held = tuplestore_begin_heap(false, false, work_mem);
	TupleTableSlot *slot;
	instr_time	start;
	uint64		nrows = 0;

	INSTR_TIME_SET_CURRENT(start);
	while ((slot = plan_row(fallback)) != NULL)
	{
		if (passes(fallback, slot))
			tuplestore_puttupleslot(held, slot);
		if (++nrows % TRIAL_ROWS == 0 && elapsed(start) > microseconds)
		{
			tuplestore_end(held);
			return false;
		}
	}
	fallback->held = held;
	fallback->slot = MakeSingleTupleTableSlot(ExecGetResultType(fallback->plan),
											  &TTSOpsMinimalTuple);
	return true;
}

void
gpucol_recursive_fallback_end(GpucolRecursiveFallback *fallback)
{
	if (fallback->held == NULL)
		return;
	ExecDropSingleTupleTableSlot(fallback->slot);
	tuplestore_end(fallback->held);
	fallback->held = NULL;
}

bool
gpucol_recursive_fallback_next(GpucolRecursiveFallback *fallback,
							   GpucolRecBatch *batch)
{
	TupleTableSlot *slot;
	uint32		n = 0;

	MemoryContextReset(fallback->context);
	fallback->symbols = gpucol_symbols_create(fallback->context, NULL);
	while (n < fallback->take && (slot = next_row(fallback)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fallback->context);

		take_row(slot, fallback->columns, fallback->ncolumns, fallback->symbols, n++, fallback->values,
				 fallback->nulls);
		MemoryContextSwitchTo(old);
	}
	fallback->take = Min(fallback->take * 2, BATCH_ROWS);
	batch->nrows = n;
	batch->columns = (const int64_t *const *) fallback->values;
	batch->nulls = (const uint8_t *const *) fallback->nulls;
	return n > 0;
}

GpucolSymbols *
gpucol_recursive_fallback_symbols(const GpucolRecursiveFallback *fallback)
{
	return fallback->symbols;
}

/* Add one value to the summary of its column. */
static void
add_value(GpucolRecSummary *summary, int64 value)
{
	if (summary->count == 0)
		summary->min = summary->max = value;
	summary->min = Min(summary->min, value);
	summary->max = Max(summary->max, value);
	summary->sum += value;
	summary->count++;
}

uint64
gpucol_recursive_fallback_summarise(GpucolRecursiveFallback *fallback,
									const bool *want, GpucolRecSummary *columns)
{
	GpucolRecBatch batch;
	uint64		nrows = 0;

	memset(columns, 0, sizeof(GpucolRecSummary) * fallback->ncolumns);
	while (gpucol_recursive_fallback_next(fallback, &batch))
	{
		nrows += batch.nrows;
		for (int c = 0; c < fallback->ncolumns; c++)
		{
			for (uint32 row = 0; want[c] && row < batch.nrows; row++)
			{
				if (!batch.nulls[c][row])
					add_value(&columns[c], batch.columns[c][row]);
			}
		}
	}
	return nrows;
}
