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
#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/typemap.h"
#include "recursion/front/values.h"
#include "recursion/exec/state.h"

#define BATCH_ROWS	GPUCOL_VECTOR_VALUES

typedef struct RecursiveSource
{
	GpucolSource base;
	PlanState  *recursion;
	const GpucolProgramColumn *columns;
	GpucolTypeMap *maps;		/* by column slot */
	bool	   *in_place;		/* by column slot: both sides have one form */

	/* the recursion's batch, and its part that is handed on */
	GpucolRecBatch rows;
	uint32		next;
	GpucolDeltaColumn *batch;
	uint64	   *tids;
	MemoryContext batch_context;
} RecursiveSource;

static GpucolStatus
no_segment(GpucolSource *source pg_attribute_unused(),
		   GpucolSegment *out pg_attribute_unused())
{
	return GPUCOL_END;
}

/* Never called: there is no segment. */
static GpucolStatus
no_rows(GpucolSource *source pg_attribute_unused(),
		const GpucolSegment *segment pg_attribute_unused(),
		int slot pg_attribute_unused(),
		GpucolStreamKind stream pg_attribute_unused(),
		uint32_t row pg_attribute_unused(), uint32_t nrows pg_attribute_unused(),
		GpucolRows *out pg_attribute_unused())
{
	return GPUCOL_CORRUPT;
}

static void
nothing_mapped(GpucolSource *source pg_attribute_unused(),
			   GpucolRows *window pg_attribute_unused())
{
}

/* Null bytes of n rows as bits; NULL if there are none. */
static uint32 *
null_bits(const uint8 *nulls, uint32 n)
{
	uint32	   *bits;

	if (nulls == NULL || memchr(nulls, 1, n) == NULL)
		return NULL;
	bits = palloc0(BATCH_ROWS / 8);
	for (uint32 i = 0; i < n; i++)
		bits[i / 32] |= (uint32) (nulls[i] != 0) << (i % 32);
	return bits;
}

/* One value as the program takes it; false where it has no form in its kind. */
static bool
convert_value(RecursiveSource *source, int c, int64 value, uint32 row)
{
	GpucolDeltaColumn *column = &source->batch[c];
	Datum		datum = gpucol_recursive_datum(source->recursion,
											   source->columns[c].attnum - 1, value);

	if (column->bytes != NULL)
	{
		column->bytes[row] = gpucol_typemap_to_bytes(&source->maps[c], datum);
		return true;
	}
	return gpucol_typemap_to_int64(&source->maps[c], datum,
								   (int64 *) &column->values[row]);
}

/* One column of the next n rows. */
static bool
fill_column(RecursiveSource *source, int c, uint32 n)
{
	int			at = source->columns[c].attnum - 1;
	const int64 *values = (const int64 *) source->rows.columns[at] + source->next;
	const uint8 *nulls = source->rows.nulls[at];
	GpucolDeltaColumn *column = &source->batch[c];

	column->kind = source->columns[c].kind;
	column->nulls = null_bits(nulls ? nulls + source->next : NULL, n);
	column->values = NULL;
	column->bytes = NULL;
	if (source->in_place[c] && column->nulls == NULL)
	{
		column->values = unconstify(int64 *, values);
		return true;
	}
	if (column->kind == GPUCOL_KIND_BYTES)
		column->bytes = palloc0(n * sizeof(GpucolBytes));
	else
		column->values = palloc0(n * sizeof(int64));
	for (uint32 i = 0; i < n; i++)
	{
		if (column->nulls != NULL && nulls[source->next + i])
			continue;
		if (source->in_place[c])
			column->values[i] = values[i];
		else if (!convert_value(source, c, values[i], i))
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

	MemoryContextReset(source->batch_context);
	while (source->next >= source->rows.nrows)
	{
		source->next = 0;
		if (!gpucol_recursive_fetch(source->recursion, &source->rows))
		{
			source->rows.nrows = 0;
			return GPUCOL_END;
		}
	}
	n = Min(source->rows.nrows - source->next, BATCH_ROWS);
	old = MemoryContextSwitchTo(source->batch_context);
	for (int c = 0; c < base->ncolumns && fits; c++)
		fits = fill_column(source, c, n);
	MemoryContextSwitchTo(old);
	source->next += n;
	out->nrows = n;
	out->tids = (const uint64_t *) source->tids;
	out->columns = source->batch;
	return fits ? GPUCOL_OK : GPUCOL_UNSUPPORTED;
}

static void
rescan(GpucolSource *base)
{
	RecursiveSource *source = (RecursiveSource *) base;

	gpucol_recursive_restart(source->recursion);
	source->next = source->rows.nrows = 0;
}

static void
check_interrupts(GpucolSource *source pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
}

/* Its memory context ends it. */
static void
nothing_held(GpucolSource *source pg_attribute_unused())
{
}

static const GpucolSourceOps source_ops = {
	.next_segment = no_segment,
	.map = no_rows,
	.unmap = nothing_mapped,
	.next_delta = next_rows,
	.rescan = rescan,
	.check_interrupts = check_interrupts,
	.close = nothing_held,
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
	source->columns = columns;
	source->maps = palloc0(Max(ncolumns, 1) * sizeof(GpucolTypeMap));
	source->in_place = palloc0(Max(ncolumns, 1) * sizeof(bool));
	source->batch = palloc0(Max(ncolumns, 1) * sizeof(GpucolDeltaColumn));
	source->tids = palloc0(BATCH_ROWS * sizeof(uint64));
	for (int c = 0; c < ncolumns; c++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, columns[c].attnum - 1);

		gpucol_typemap_init(&source->maps[c], att->atttypid, att->atttypmod,
							att->attcollation);
		source->in_place[c] = source->maps[c].kind == GPUCOL_KIND_INT &&
			gpucol_rec_type_ordered(att->atttypid);
	}
	source->batch_context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol recursion batch",
												  ALLOCSET_DEFAULT_SIZES);
	gpucol_recursive_restart(recursion);
	return &source->base;
}
