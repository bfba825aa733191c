/*-------------------------------------------------------------------------
 *
 * plan_rows.c
 *	  The rows of any PostgreSQL plan as a GpucolSource (kernel/batch.h): what no
 *	  engine computes, an engine can still read.
 *
 * There are no segments; tuples are pulled one by one and delivered as delta batches.
 * The plan runs in its query's memory context, where what it keeps from row to row has
 * to be; the batch is a copy, for a tuple lasts until the next only.  Where the rows must be
 * looked at before any is used, they are kept in a tuplestore.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "columnar/row_batch.h"
#include "columnar/typemap.h"
#include "exec/plan_rows.h"
#include "lower/harmless.h"

struct GpucolKeptRows
{
	TupleDesc	desc;
	Tuplestorestate *store;
	TupleTableSlot *slot;
};

typedef struct PlanRows
{
	GpucolSource base;
	PlanState  *plan;
	TupleTableSlot *first;		/* its row that has been delivered and not been read */
	GpucolKeptRows *kept;		/* or the rows that are kept of one */
	GpucolRowBatch rows;
	bool		ended;			/* a plan that has ended may start over if it is asked */
} PlanRows;

/* A plan's next tuple, or NULL. */
static TupleTableSlot *
run_plan(PlanState *plan)
{
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	TupleTableSlot *slot = ExecProcNode(plan);

	MemoryContextSwitchTo(old);
	return TupIsNull(slot) ? NULL : slot;
}

bool
gpucol_plan_rows_stored(Tuplestorestate *store, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(slot->tts_mcxt);
	bool		found = tuplestore_gettupleslot(store, true, false, slot);

	MemoryContextSwitchTo(old);
	return found;
}

/* The next tuple, or NULL. */
static TupleTableSlot *
next_tuple(PlanRows *source)
{
	TupleTableSlot *slot = source->first;

	if (source->ended)
		return NULL;
	if (slot != NULL)
	{
		source->first = NULL;
		return slot;
	}
	if (source->kept != NULL)
	{
		source->ended = !gpucol_plan_rows_stored(source->kept->store, source->kept->slot);
		return source->ended ? NULL : source->kept->slot;
	}
	slot = run_plan(source->plan);
	source->ended = slot == NULL;
	return slot;
}

static GpucolStatus
next_rows(GpucolSource *base, GpucolDelta *out)
{
	PlanRows   *source = (PlanRows *) base;
	TupleTableSlot *slot;
	bool		fits = true;

	gpucol_row_batch_start(&source->rows);
	while (fits && !gpucol_row_batch_is_full(&source->rows) && (slot = next_tuple(source)) != NULL)
		fits = gpucol_row_batch_append(&source->rows, slot);
	return gpucol_row_batch_show(&source->rows, fits, out);
}

/* Have a plan deliver its rows from the first. */
static void
rescan_plan(PlanState *plan)
{
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);

	ExecReScan(plan);
	MemoryContextSwitchTo(old);
}

static void
rescan(GpucolSource *base)
{
	PlanRows   *source = (PlanRows *) base;

	source->ended = false;
	source->first = NULL;
	if (source->kept != NULL)
		tuplestore_rescan(source->kept->store);
	else
		rescan_plan(source->plan);
}

static const GpucolSourceOps source_ops = {
	.next_segment = gpucol_row_batch_no_segment,
	.map = gpucol_row_batch_map_nothing,
	.unmap = gpucol_row_batch_unmap_nothing,
	.next_delta = next_rows,
	.rescan = rescan,
	.check_interrupts = gpucol_row_batch_check_interrupts,
	.close = gpucol_row_batch_hold_nothing,
};

/* A source over either. */
static PlanRows *
open_rows(PlanState *plan, GpucolKeptRows *kept, TupleDesc desc,
		  const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = palloc0(sizeof(PlanRows));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->plan = plan;
	source->kept = kept;
	gpucol_row_batch_init(&source->rows, desc, columns, ncolumns, "gpucol plan batch");
	return source;
}

GpucolSource *
gpucol_plan_rows_open(PlanState *plan, TupleDesc desc,
					  const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = open_rows(plan, NULL, desc, columns, ncolumns);

	rescan(&source->base);
	return &source->base;
}

TupleTableSlot *
gpucol_plan_rows_first(PlanState *plan)
{
	rescan_plan(plan);
	return run_plan(plan);
}

GpucolSource *
gpucol_plan_rows_open_with(PlanState *plan, TupleTableSlot *first, TupleDesc desc,
						   const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = open_rows(plan, NULL, desc, columns, ncolumns);

	source->first = first;
	return &source->base;
}

GpucolSource *
gpucol_plan_rows_open_kept(GpucolKeptRows *kept, const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = open_rows(NULL, kept, kept->desc, columns, ncolumns);

	rescan(&source->base);
	return &source->base;
}

/* ---- rows that are looked at before they are used ---- */

/* What the values of a numeric column have in common. */
typedef struct Digits
{
	bool		any;
	bool		finite;
	bool		alike;			/* all are written with as many digits after the point */
	int			shown;			/* the most of these, */
	int			fraction;		/* without zeros at the end, */
	int			whole;			/* and before the point */
} Digits;

static void
note_digits(Digits *digits, Datum value)
{
	GpucolNumericDigits counted;

	gpucol_typemap_numeric_digits(value, &counted);
	digits->finite &= counted.finite;
	digits->alike &= !digits->any || counted.shown == digits->shown;
	digits->shown = Max(digits->shown, counted.shown);
	digits->fraction = Max(digits->fraction, counted.fraction);
	digits->whole = Max(digits->whole, counted.whole);
	digits->any = true;
}

/* Must the rows be looked at? */
static bool
must_look(const GpucolPipe *pipe, bool delivered, bool grows)
{
	if (delivered && grows)
		return true;
	for (int i = 0; i < pipe->nsource; i++)
	{
		const GpucolPipeDecimal *decimal = &pipe->decimals[i];

		if (decimal->open ? decimal->used : delivered &&
			getBaseType(TupleDescAttr(pipe->desc, i)->atttypid) == NUMERICOID)
			return true;
	}
	return false;
}

/* Make a column decimals if its values are such; what else would read them is declined. */
static void
decide(GpucolPipeDecimal *decimal, const Digits *digits)
{
	decimal->scale = digits->alike ? digits->shown : digits->fraction;
	decimal->digits = Max(digits->whole + decimal->scale, 1);
	decimal->is = decimal->used && digits->finite && (digits->alike || !decimal->shown) &&
		decimal->digits <= GPUCOL_INT128_DIGITS;
}

/* Note one row's values of columns that are numeric; may the others be too long? */
static bool
note_row(TupleTableSlot *slot, const GpucolPipe *pipe, Digits *digits)
{
	bool		fits = true;

	for (int i = 0; i < pipe->nsource; i++)
	{
		Form_pg_attribute att = TupleDescAttr(pipe->desc, i);
		bool		isnull;
		Datum		value;

		if (att->attlen != -1)
			continue;
		value = slot_getattr(slot, i + 1, &isnull);
		if (isnull)
			continue;
		if (getBaseType(att->atttypid) == NUMERICOID)
			note_digits(&digits[i], value);
		else
			fits &= toast_raw_datum_size(value) <= GPUCOL_HARMLESS_BYTES;
	}
	return fits;
}

/*
 * Keep all rows of a plan, noting the digits of the columns that are numeric, and whether
 * all values of others are short (*fits).
 */
static GpucolKeptRows *
keep_rows(PlanState *plan, TupleTableSlot *first, const GpucolPipe *pipe, Digits *digits,
		  bool *fits)
{
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	GpucolKeptRows *kept = palloc0(sizeof(GpucolKeptRows));

	kept->desc = ExecGetResultType(plan);
	kept->store = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_set_eflags(kept->store, EXEC_FLAG_REWIND);
	kept->slot = MakeSingleTupleTableSlot(kept->desc, &TTSOpsMinimalTuple);
	for (TupleTableSlot *slot = first != NULL ? first : gpucol_plan_rows_first(plan);
		 slot != NULL; slot = run_plan(plan))
	{
		CHECK_FOR_INTERRUPTS();
		*fits &= note_row(slot, pipe, digits);
		tuplestore_puttupleslot(kept->store, slot);
	}
	MemoryContextSwitchTo(old);
	return kept;
}

bool
gpucol_plan_rows_look(PlanState *plan, TupleTableSlot *first, GpucolPipe *pipe, bool delivered,
					  bool grows, bool keep, GpucolKeptRows **kept)
{
	Digits	   *digits = palloc0(Max(pipe->nsource, 1) * sizeof(Digits));
	bool		fits;
	bool		all_short = true;

	*kept = NULL;
	if (!must_look(pipe, delivered, grows) && !keep)
		return true;
	for (int i = 0; i < pipe->nsource; i++)
		digits[i].finite = digits[i].alike = true;
	*kept = keep_rows(plan, first, pipe, digits, &all_short);
	fits = all_short || !delivered || !grows;
	for (int i = 0; i < pipe->nsource; i++)
	{
		if (pipe->decimals[i].open)
			decide(&pipe->decimals[i], &digits[i]);
		else
			fits &= digits[i].finite;
	}
	return fits;
}

void
gpucol_plan_rows_end(GpucolKeptRows *kept)
{
	ExecDropSingleTupleTableSlot(kept->slot);
	tuplestore_end(kept->store);
	pfree(kept);
}
