/*-------------------------------------------------------------------------
 *
 * plan_rows.c
 *	  The rows of any PostgreSQL plan as a GpucolSource (kernel/batch.h): what no
 *	  engine computes, an engine can still read.
 *
 * There are no segments; tuples are pulled one by one and delivered as delta batches.
 * The plan runs in its query's memory context, where what it keeps from row to row has
 * to be; the batch is a copy, for a tuple lasts until the next only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "columnar/row_batch.h"
#include "exec/plan_rows.h"

typedef struct PlanRows
{
	GpucolSource base;
	PlanState  *plan;
	GpucolRowBatch rows;
	bool		ended;			/* a plan that has ended may start over if it is asked */
} PlanRows;

/* The next tuple, or NULL. */
static TupleTableSlot *
next_tuple(PlanRows *source)
{
	MemoryContext old;
	TupleTableSlot *slot;

	if (source->ended)
		return NULL;
	old = MemoryContextSwitchTo(source->plan->state->es_query_cxt);
	slot = ExecProcNode(source->plan);
	MemoryContextSwitchTo(old);
	source->ended = TupIsNull(slot);
	return source->ended ? NULL : slot;
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

static void
rescan(GpucolSource *base)
{
	PlanRows   *source = (PlanRows *) base;
	MemoryContext old = MemoryContextSwitchTo(source->plan->state->es_query_cxt);

	ExecReScan(source->plan);
	MemoryContextSwitchTo(old);
	source->ended = false;
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
gpucol_plan_rows_open(PlanState *plan, TupleDesc desc,
					  const GpucolProgramColumn *columns, int ncolumns)
{
	PlanRows   *source = palloc0(sizeof(PlanRows));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->plan = plan;
	gpucol_row_batch_init(&source->rows, desc, columns, ncolumns, "gpucol plan batch");
	rescan(&source->base);
	return &source->base;
}
