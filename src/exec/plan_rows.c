/*-------------------------------------------------------------------------
 *
 * plan_rows.c
 *	  The rows of any PostgreSQL plan as a GpucolSource (kernel/batch.h): what no
 *	  engine computes, an engine can still read.
 *
 * There are no segments; rows are delivered as delta batches.  Nodes of ours deliver columns,
 * which are shown where they are (batches.c); tuples are pulled one by one and copied, for a
 * tuple lasts until the next only.  Where the rows must be looked at before any is used, they
 * are kept (kept_rows.c).
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
#include "exec/kept_rows.h"
#include "exec/plan_rows.h"
#include "lower/clauses.h"
#include "lower/harmless.h"
#include "service/memory.h"

/* Rows of a plan that several threads are called for, and memory where they may take some each. */
#define LEAST_SHARED	(16 * GPUCOL_ROW_BATCH_ROWS)
#define LEAST_MEMORY	((Size) 16 * 1024 * 1024)

typedef struct PlanRows
{
	GpucolSource base;
	GpucolPlanReader *reader;
	GpucolKeptReader *kept;		/* or one of rows that are kept */
	const GpucolBatch *batch;	/* at hand, or NULL; */
	uint32		next;			/* its first row that has not been delivered */
	TupleTableSlot *slot;		/* or a tuple that has not */
	GpucolRowBatch rows;
	bool		ended;
} PlanRows;

bool
gpucol_plan_rows_stored(Tuplestorestate *store, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(slot->tts_mcxt);
	bool		found = tuplestore_gettupleslot(store, true, false, slot);

	MemoryContextSwitchTo(old);
	return found;
}

/* Have rows at hand: of a batch, or one tuple; false if there is none. */
static bool
have_rows(PlanRows *source)
{
	if (source->slot != NULL || (source->batch != NULL && source->next < source->batch->nrows))
		return true;
	source->next = 0;
	source->batch = NULL;
	if (source->ended)
		return false;
	if (source->kept == NULL)
		source->ended = !gpucol_plan_reader_next(source->reader, &source->batch, &source->slot);
	else
	{
		source->batch = gpucol_kept_rows_next(source->kept);
		source->ended = source->batch == NULL;
	}
	return !source->ended;
}

/* Put the tuple at hand, and those that follow it; false where a value has no form. */
static bool
put_tuples(PlanRows *source)
{
	MemoryContext old = MemoryContextSwitchTo(source->rows.context);
	bool		fits = true;

	source->rows.batch = palloc0(Max(source->rows.ncolumns, 1) * sizeof(GpucolDeltaColumn));
	for (int c = 0; c < source->rows.ncolumns; c++)
		gpucol_row_batch_start_values(&source->rows, c);
	MemoryContextSwitchTo(old);
	while (fits && !gpucol_row_batch_is_full(&source->rows) && have_rows(source) && source->slot != NULL)
	{
		fits = gpucol_row_batch_append(&source->rows, source->slot);
		source->slot = NULL;
	}
	return fits;
}

/* Show rows of the batch at hand; false where a value has no form. */
static bool
put_batch(PlanRows *source)
{
	MemoryContext old = MemoryContextSwitchTo(source->rows.context);
	uint32		n = Min(source->batch->nrows - source->next, GPUCOL_ROW_BATCH_ROWS);
	bool		fits = true;

	/* columns of their own, since several such may be shown together */
	source->rows.batch = palloc0(Max(source->rows.ncolumns, 1) * sizeof(GpucolDeltaColumn));
	for (int c = 0; c < source->rows.ncolumns && fits; c++)
		fits = gpucol_batch_put(source->batch, source->rows.columns[c].attnum - 1, source->next, n,
								&source->rows, c);
	MemoryContextSwitchTo(old);
	memset(source->rows.tids, 0, n * sizeof(uint64));
	source->rows.nrows = n;
	source->next += n;
	return fits;
}

static GpucolStatus
next_rows(GpucolSource *base, GpucolDelta *out)
{
	PlanRows   *source = (PlanRows *) base;
	bool		fits = true;

	gpucol_row_batch_reset(&source->rows);
	if (have_rows(source))
		fits = source->slot != NULL ? put_tuples(source) : put_batch(source);
	return gpucol_row_batch_show(&source->rows, fits, out);
}

/* Of one batch at hand all that is left; of tuples as many as fill one. */
static GpucolStatus
next_several(GpucolSource *base, uint32_t most, GpucolDelta *out, uint32_t *n)
{
	PlanRows   *source = (PlanRows *) base;
	GpucolStatus status;

	*n = 0;
	do
	{
		status = *n == 0 ? next_rows(base, out) :
			gpucol_row_batch_show(&source->rows, put_batch(source), &out[*n]);
		*n += status == GPUCOL_OK;
	} while (status == GPUCOL_OK && *n < most && source->batch != NULL && source->next < source->batch->nrows);
	return status;
}

static void
rescan(GpucolSource *base)
{
	PlanRows   *source = (PlanRows *) base;

	source->ended = false;
	source->batch = NULL;
	source->slot = NULL;
	if (source->kept != NULL)
		gpucol_kept_rows_rescan(source->kept);
	else
		gpucol_plan_reader_rescan(source->reader);
}

static const GpucolSourceOps source_ops = {
	.next_segment = gpucol_row_batch_no_segment,
	.map = gpucol_row_batch_map_nothing,
	.unmap = gpucol_row_batch_unmap_nothing,
	.next_delta = next_rows,
	.next_deltas = next_several,
	.rescan = rescan,
	.check_interrupts = gpucol_row_batch_check_interrupts,
	.close = gpucol_row_batch_hold_nothing,
};

/* A source over either. */
static GpucolSource *
open_rows(GpucolPlanReader *reader, GpucolKeptReader *kept, TupleDesc desc,
		  const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = palloc0(sizeof(PlanRows));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->reader = reader;
	source->kept = kept;
	if (reader != NULL)
		gpucol_plan_reader_want(reader, columns, ncolumns);
	gpucol_row_batch_init(&source->rows, desc, columns, ncolumns, "gpucol plan batch");
	return &source->base;
}

GpucolSource *
gpucol_plan_rows_open(PlanState *plan, TupleDesc desc,
					  const GpucolProgramColumn *columns, int ncolumns)
{
	return open_rows(gpucol_plan_reader_open(plan), NULL, desc, columns, ncolumns);
}

int
gpucol_plan_rows_threads(PlanState *plan)
{
	double		pages = plan->plan->plan_rows * list_length(plan->plan->targetlist) * sizeof(Datum) / BLCKSZ;

	if (plan->plan->plan_rows < LEAST_SHARED || gpucol_memory_query_limit() < LEAST_MEMORY ||
		!gpucol_plan_reader_has_large_batches(plan))
		return 1;
	return gpucol_cost_threads((BlockNumber) Min(pages, MaxBlockNumber));
}

GpucolPlanReader *
gpucol_plan_rows_begin(PlanState *plan)
{
	GpucolPlanReader *reader = gpucol_plan_reader_open(plan);
	const GpucolBatch *batch;
	TupleTableSlot *slot;

	if (!gpucol_plan_reader_next(reader, &batch, &slot))
		return NULL;
	gpucol_plan_reader_unread(reader);
	return reader;
}

GpucolSource *
gpucol_plan_rows_open_begun(GpucolPlanReader *begun, TupleDesc desc,
							const GpucolProgramColumn *columns, int ncolumns)
{
	return open_rows(begun, NULL, desc, columns, ncolumns);
}

GpucolSource *
gpucol_plan_rows_open_kept(GpucolKeptRows *kept, const GpucolProgramColumn *columns, int ncolumns)
{
	return open_rows(NULL, gpucol_kept_rows_open(kept), gpucol_kept_rows_desc(kept), columns, ncolumns);
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
note_counted(Digits *digits, const GpucolNumericDigits *counted)
{
	digits->finite &= counted->finite;
	digits->alike &= !digits->any || counted->shown == digits->shown;
	digits->shown = Max(digits->shown, counted->shown);
	digits->fraction = Max(digits->fraction, counted->fraction);
	digits->whole = Max(digits->whole, counted->whole);
	digits->any = true;
}

static void
note_digits(Digits *digits, Datum value)
{
	GpucolNumericDigits counted;

	gpucol_typemap_numeric_digits(value, &counted);
	note_counted(digits, &counted);
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

/* Note the mantissas of a column, which are all written with as many digits. */
static void
note_mantissas(const GpucolOutput *output, const GpucolResultColumn *column, uint32 n, Digits *digits)
{
	unsigned __int128 most = 0;
	GpucolNumericDigits counted = {.finite = true,.shown = output->scale};
	bool		any = false;

	for (uint32 i = 0; i < n; i++)
	{
		if (column->nulls != NULL && column->nulls[i])
			continue;
		any = true;
		most = Max(most, column->d[i] < 0 ? -(unsigned __int128) column->d[i] : (unsigned __int128) column->d[i]);
	}
	counted.fraction = most == 0 ? 0 : output->scale;
	for (int scale = 0; most != 0; most /= 10, scale++)
		counted.whole += scale >= output->scale;
	if (any)
		note_counted(digits, &counted);
}

/* The same for a batch, as note_row does it for a row. */
static bool
note_batch(const GpucolBatch *batch, const GpucolPipe *pipe, Digits *digits)
{
	bool		fits = true;

	for (int i = 0; i < pipe->nsource; i++)
	{
		const GpucolResultColumn *column = &batch->columns[i];
		Form_pg_attribute att = TupleDescAttr(pipe->desc, i);
		bool		numeric = getBaseType(att->atttypid) == NUMERICOID;

		if (att->attlen != -1)
			continue;
		if (batch->outputs[i].cls == GPUCOL_CLASS_D)
		{
			note_mantissas(&batch->outputs[i], column, batch->nrows, &digits[i]);
			continue;
		}
		for (uint32 row = 0; row < batch->nrows; row++)
		{
			GpucolNumericDigits counted;

			if (column->nulls != NULL && column->nulls[row])
				continue;
			if (!numeric)
			{
				fits &= VARHDRSZ + column->s[row].len <= GPUCOL_HARMLESS_BYTES;
				continue;
			}
			gpucol_typemap_bytes_digits(column->s[row], &counted);
			note_counted(&digits[i], &counted);
		}
	}
	return fits;
}

/*
 * Keep all rows of a plan, noting the digits of the columns that are numeric, and whether
 * all values of others are short (*fits).
 */
static GpucolKeptRows *
keep_rows(PlanState *plan, GpucolPlanReader *begun, const GpucolPipe *pipe, Digits *digits,
		  bool *fits)
{
	GpucolPlanReader *reader = begun != NULL ? begun : gpucol_plan_reader_open(plan);
	MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
	GpucolKeptRows *kept = gpucol_kept_rows_begin(ExecGetResultType(plan));
	const GpucolBatch *batch;
	TupleTableSlot *slot;

	MemoryContextSwitchTo(old);
	while (gpucol_plan_reader_next(reader, &batch, &slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (slot != NULL)
		{
			*fits &= note_row(slot, pipe, digits);
			gpucol_kept_rows_add_tuple(kept, slot);
			continue;
		}
		*fits &= note_batch(batch, pipe, digits);
		gpucol_kept_rows_add(kept, batch);
	}
	gpucol_kept_rows_all(kept);
	return kept;
}

bool
gpucol_plan_rows_look(PlanState *plan, GpucolPlanReader *begun, GpucolPipe *pipe, bool delivered,
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
	*kept = keep_rows(plan, begun, pipe, digits, &all_short);
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
