/*-------------------------------------------------------------------------
 *
 * source.c
 *	  The rows of a recursion as a GpucolSource (kernel/batch.h): what a query
 *	  does with them, the engines for tables do on them.
 *
 * A recursion has no segments; all of its rows are delta batches.  They are read
 * from the engine of the recursion as its rounds find them, and no row is formed.
 * Integers, dates and timestamps are the same 64-bit values on both sides and are
 * handed on in place; values of a dictionary are looked up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "columnar/row_batch.h"
#include "recursion/front/values.h"
#include "recursion/exec/state.h"

typedef struct RecursiveSource
{
	GpucolSource base;
	PlanState  *recursion;
	GpucolRowBatch batch;
	bool	   *in_place;		/* by column slot: both sides have one form */

	/* the recursion's batch, and its part that is handed on */
	GpucolRecBatch rows;
	uint32		next;
} RecursiveSource;

/* Null bytes of n rows as bits; NULL if there are none. */
static uint32 *
null_bits(const uint8 *nulls, uint32 n)
{
	uint32	   *bits;

	if (nulls == NULL || memchr(nulls, 1, n) == NULL)
		return NULL;
	bits = palloc0(GPUCOL_ROW_BATCH_ROWS / 8);
	for (uint32 i = 0; i < n; i++)
		bits[i / 32] |= (uint32) (nulls[i] != 0) << (i % 32);
	return bits;
}

/* One column of the next n rows. */
static bool
fill_column(RecursiveSource *source, int c, uint32 n)
{
	int			at = source->batch.columns[c].attnum - 1;
	const int64 *values = (const int64 *) source->rows.columns[at] + source->next;
	const uint8 *nulls = source->rows.nulls[at];
	uint32	   *null_values = null_bits(nulls ? nulls + source->next : NULL, n);
	GpucolDeltaColumn *column = &source->batch.batch[c];

	if (source->in_place[c] && null_values == NULL)
	{
		column->kind = source->batch.columns[c].kind;
		column->nulls = NULL;
		column->values = unconstify(int64 *, values);
		column->bytes = NULL;
		return true;
	}
	gpucol_row_batch_start_column(&source->batch, c, n);
	column->nulls = null_values;
	for (uint32 i = 0; i < n; i++)
	{
		if (null_values != NULL && nulls[source->next + i])
			continue;
		if (source->in_place[c])
			column->values[i] = values[i];
		else if (!gpucol_row_batch_put(&source->batch, c, i,
									   gpucol_recursive_datum(source->recursion, at, values[i])))
			return false;
	}
	return true;
}

static GpucolStatus
next_rows(GpucolSource *base, GpucolDelta *out)
{
	RecursiveSource *source = (RecursiveSource *) base;
	MemoryContext old;
	uint32		n;
	bool		fits = true;

	gpucol_row_batch_reset(&source->batch);
	while (source->next >= source->rows.nrows)
	{
		source->next = 0;
		if (!gpucol_recursive_fetch(source->recursion, &source->rows))
		{
			source->rows.nrows = 0;
			return GPUCOL_END;
		}
	}
	n = Min(source->rows.nrows - source->next, GPUCOL_ROW_BATCH_ROWS);
	old = MemoryContextSwitchTo(source->batch.context);
	for (int c = 0; c < base->ncolumns && fits; c++)
		fits = fill_column(source, c, n);
	MemoryContextSwitchTo(old);
	source->next += n;
	source->batch.nrows = n;
	return gpucol_row_batch_show(&source->batch, fits, out);
}

static void
rescan(GpucolSource *base)
{
	RecursiveSource *source = (RecursiveSource *) base;

	gpucol_recursive_restart(source->recursion);
	source->next = source->rows.nrows = 0;
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

GpucolSource *
gpucol_recursive_source_open(PlanState *recursion, TupleDesc desc,
							 const GpucolProgramColumn *columns, int ncolumns)
{
	RecursiveSource *source = palloc0(sizeof(RecursiveSource));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->recursion = recursion;
	gpucol_row_batch_init(&source->batch, desc, columns, ncolumns, "gpucol recursion batch");
	source->in_place = palloc0(Max(ncolumns, 1) * sizeof(bool));
	for (int c = 0; c < ncolumns; c++)
		source->in_place[c] = source->batch.maps[c].kind == GPUCOL_KIND_INT &&
			gpucol_rec_type_ordered(TupleDescAttr(desc, columns[c].attnum - 1)->atttypid);
	gpucol_recursive_restart(recursion);
	return &source->base;
}
