/*-------------------------------------------------------------------------
 *
 * source.c
 *	  The rows of a recursion as a GpucolSource (kernel/batch.h): what a query
 *	  does with them, the engines for tables do on them.
 *
 * A recursion has no segments; all of its rows are delta batches.  They are read
 * from the engine of the recursion as its rounds find them, and no row is formed.
 * Integers, dates and timestamps are the same 64-bit values on both sides and are
 * handed on in place; values of a dictionary are looked up.  The rows of a Datalog program
 * are read in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "columnar/row_batch.h"
#include "kernel/numeric_code.h"
#include "recursion/front/values.h"
#include "recursion/exec/state.h"

/* How rows are read from one kind of node. */
typedef struct RowsOps
{
	void		(*restart) (PlanState *node);
	bool		(*fetch) (PlanState *node, GpucolRecBatch *batch);
	Datum		(*datum) (const PlanState *node, int column, int64 value);

	/* the bytes of a value by reference, which may be written to `room`; NULL: datums tell them */
	GpucolBytes (*bytes) (const PlanState *node, int column, int64 value, char *room);

	/* once a batch has been fetched: is a column's value that of its type as it is? */
	bool		(*in_place) (const PlanState *node, int column);
} RowsOps;

typedef struct RecursiveSource
{
	GpucolSource base;
	PlanState  *recursion;
	const RowsOps *ops;
	MemoryContext context;
	bool		ended;			/* the node has no more batches */
	bool		gathers;		/* all rows are wanted: small batches are put together */
	GpucolRowBatch batch;
	char	  **room;			/* by column slot, for get_rooms() */
	bool	   *in_place;		/* by column slot: both sides have one form; NULL until
								 * there is a batch */

	/* the recursion's batch, and its part that is handed on */
	GpucolRecBatch rows;
	uint32		next;
} RecursiveSource;

static bool
has_integers(const PlanState *recursion, int column)
{
	const CustomScan *scan = (const CustomScan *) recursion->plan;

	return gpucol_rec_type_ordered(exprType((Node *) list_nth_node(TargetEntry, scan->custom_scan_tlist,
																   column)->expr));
}

static const RowsOps recursion_ops = {
	.restart = gpucol_recursive_restart,
	.fetch = gpucol_recursive_fetch,
	.datum = gpucol_recursive_datum,
	.bytes = gpucol_recursive_bytes,
	.in_place = has_integers,
};

static const RowsOps datalog_ops = {
	.restart = gpucol_datalog_node_restart,
	.fetch = gpucol_datalog_node_fetch,
	.datum = gpucol_datalog_node_datum,
	.in_place = gpucol_datalog_node_in_place,
};

static const RowsOps *
ops_of(const PlanState *node)
{
	return gpucol_datalog_is_state(node) ? &datalog_ops : &recursion_ops;
}

void
gpucol_recursive_source_restart(PlanState *recursion)
{
	ops_of(recursion)->restart(recursion);
}

/* The next batch of the node; false at the end. */
static bool
fetch(RecursiveSource *source)
{
	if (!source->ops->fetch(source->recursion, &source->rows))
		return false;
	if (source->in_place != NULL)
		return true;
	source->in_place = MemoryContextAllocZero(source->context,
											  Max(source->base.ncolumns, 1) * sizeof(bool));
	for (int c = 0; c < source->base.ncolumns; c++)
		source->in_place[c] = source->batch.maps[c].kind == GPUCOL_KIND_INT &&
			source->ops->in_place(source->recursion, source->batch.columns[c].attnum - 1);
	return true;
}

/*
 * Put a value into its place.  Rows of a batch are BYTES of the recursion's without a datum of their own; `room` has
 * GPUCOL_NUMERIC_BYTES for each row, or is NULL: the column has others.
 */
static bool
put_value(RecursiveSource *source, int c, uint32 row, int64 value, char *room)
{
	int			at = source->batch.columns[c].attnum - 1;

	if (room == NULL)
		return gpucol_row_batch_put(&source->batch, c, row, source->ops->datum(source->recursion, at, value));
	source->batch.batch[c].bytes[row] = source->ops->bytes(source->recursion, at, value,
														   room + (Size) row * GPUCOL_NUMERIC_BYTES);
	return true;
}

/* Room for the bytes of n values of a column, if they are to be had so. */
static char *
get_room(const RecursiveSource *source, int c, uint32 n)
{
	const GpucolTypeMap *map = &source->batch.maps[c];

	return source->ops->bytes != NULL && map->kind == GPUCOL_KIND_BYTES && !map->typbyval && map->typlen != -2 ?
		palloc((Size) n * GPUCOL_NUMERIC_BYTES) : NULL;
}

/* The same for the rows that are put together. */
static void
get_rooms(RecursiveSource *source)
{
	MemoryContext old = MemoryContextSwitchTo(source->batch.context);

	for (int c = 0; c < source->base.ncolumns; c++)
		source->room[c] = get_room(source, c, GPUCOL_ROW_BATCH_ROWS);
	MemoryContextSwitchTo(old);
}

/* One column of the next n rows. */
static bool
fill_column(RecursiveSource *source, int c, uint32 n)
{
	int			at = source->batch.columns[c].attnum - 1;
	const int64 *values = (const int64 *) source->rows.columns[at] + source->next;
	const uint8 *nulls = source->rows.nulls[at];
	uint32	   *null_values = gpucol_row_batch_null_bits(nulls ? nulls + source->next : NULL, n);
	GpucolDeltaColumn *column = &source->batch.batch[c];
	char	   *room;

	if (source->in_place[c] && null_values == NULL)
	{
		column->kind = source->batch.columns[c].kind;
		column->nulls = NULL;
		column->values = unconstify(int64 *, values);
		column->bytes = NULL;
		return true;
	}
	gpucol_row_batch_start_column(&source->batch, c, n);
	room = get_room(source, c, n);
	column->nulls = null_values;
	for (uint32 i = 0; i < n; i++)
	{
		if (null_values != NULL && nulls[source->next + i])
			continue;
		if (source->in_place[c])
			column->values[i] = values[i];
		else if (!put_value(source, c, i, values[i], room))
			return false;
	}
	return true;
}

/* Append the next n rows to columns that have room for GPUCOL_ROW_BATCH_ROWS. */
static bool
append_rows(RecursiveSource *source, uint32 n)
{
	GpucolRowBatch *batch = &source->batch;

	for (int c = 0; c < batch->ncolumns; c++)
	{
		int			at = batch->columns[c].attnum - 1;
		const int64 *values = (const int64 *) source->rows.columns[at] + source->next;
		const uint8 *nulls = source->rows.nulls[at];

		for (uint32 i = 0; i < n; i++)
		{
			uint32		row = batch->nrows + i;

			if (nulls != NULL && nulls[source->next + i])
				gpucol_row_batch_put_null(batch, c, row);
			else if (source->in_place[c])
				batch->batch[c].values[row] = values[i];
			else if (!put_value(source, c, row, values[i], source->room[c]))
				return false;
		}
	}
	return true;
}

/* A batch with so many bytes is not added to. */
#define MOST_BYTES	((Size) 1024 * 1024)

/* So few rows of one round are put together with those of the next. */
#define FEW_ROWS	(GPUCOL_ROW_BATCH_ROWS / 4)

/* Put the rows of this round and the next ones together while each has few. */
static bool
gather_rows(RecursiveSource *source)
{
	GpucolRowBatch *batch = &source->batch;
	uint32		n = source->rows.nrows - source->next;
	bool		fits = true;

	gpucol_row_batch_start(batch);
	get_rooms(source);
	while (fits && n <= FEW_ROWS && batch->nrows + n <= GPUCOL_ROW_BATCH_ROWS)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->context);

		fits = append_rows(source, n);
		MemoryContextSwitchTo(old);
		batch->nrows += n;
		source->next = 0;
		source->ended = !fetch(source);
		n = source->rows.nrows = source->ended ? 0 : source->rows.nrows;
		if (source->ended || MemoryContextMemAllocated(batch->context, false) > MOST_BYTES)
			break;
	}
	return fits;
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
		if (source->ended || !fetch(source))
		{
			source->rows.nrows = 0;
			return GPUCOL_END;
		}
	}
	n = Min(source->rows.nrows - source->next, GPUCOL_ROW_BATCH_ROWS);
	if (source->gathers && n <= FEW_ROWS)
	{
		fits = gather_rows(source);
		return gpucol_row_batch_show(&source->batch, fits, out);
	}
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

	source->ops->restart(source->recursion);
	source->next = source->rows.nrows = 0;
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
gpucol_recursive_source_open(PlanState *recursion, TupleDesc desc,
							 const GpucolProgramColumn *columns, int ncolumns)
{
	RecursiveSource *source = palloc0(sizeof(RecursiveSource));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->recursion = recursion;
	gpucol_row_batch_init(&source->batch, desc, columns, ncolumns, "gpucol recursion batch");
	source->room = palloc0(Max(ncolumns, 1) * sizeof(char *));
	source->ops = ops_of(recursion);
	source->context = CurrentMemoryContext;
	source->ops->restart(recursion);
	return &source->base;
}

GpucolSource *
gpucol_recursive_source_open_all(PlanState *recursion, TupleDesc desc,
								 const GpucolProgramColumn *columns, int ncolumns)
{
	GpucolSource *source = gpucol_recursive_source_open(recursion, desc, columns, ncolumns);

	((RecursiveSource *) source)->gathers = true;
	return source;
}
