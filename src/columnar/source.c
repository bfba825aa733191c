/*-------------------------------------------------------------------------
 *
 * source.c
 *	  A GpucolSource over the table's row scan: every row that the snapshot sees
 *	  arrives in uncompressed batches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/source.h"
#include "columnar/typemap.h"

#define BATCH_ROWS	GPUCOL_VECTOR_VALUES

typedef struct RowSource
{
	GpucolSource base;
	Relation	table;
	TableScanDesc scan;
	TupleTableSlot *slot;
	bool		done;
	const GpucolProgramColumn *columns;
	GpucolTypeMap *maps;
	GpucolDeltaColumn *batch;
	uint64	   *tids;
	MemoryContext batch_context;
} RowSource;

static GpucolStatus
source_next_segment(GpucolSource *source pg_attribute_unused(),
					GpucolSegment *out pg_attribute_unused())
{
	return GPUCOL_END;
}

static GpucolStatus
source_map(GpucolSource *source pg_attribute_unused(),
		   const GpucolSegment *segment pg_attribute_unused(),
		   int slot pg_attribute_unused(),
		   GpucolStreamKind stream pg_attribute_unused(),
		   uint32_t row pg_attribute_unused(),
		   uint32_t nrows pg_attribute_unused(),
		   GpucolRows *out pg_attribute_unused())
{
	return GPUCOL_CORRUPT;		/* there is no segment to map */
}

static void
source_unmap(GpucolSource *source pg_attribute_unused(),
			 GpucolRows *window pg_attribute_unused())
{
}

/* Allocate an empty batch. */
static void
start_batch(RowSource *source)
{
	MemoryContextReset(source->batch_context);
	for (int c = 0; c < source->base.ncolumns; c++)
	{
		GpucolDeltaColumn *column = &source->batch[c];

		column->kind = source->columns[c].kind;
		column->nulls = palloc0(BATCH_ROWS / 8);
		column->values = NULL;
		column->bytes = NULL;
		if (column->kind == GPUCOL_KIND_BYTES)
			column->bytes = palloc0(BATCH_ROWS * sizeof(GpucolBytes));
		else
			column->values = palloc0(BATCH_ROWS * sizeof(int64));
	}
}

/* Copy a BYTES datum out of the scan's buffer. */
static GpucolBytes
copy_bytes(const GpucolTypeMap *map, Datum value)
{
	GpucolBytes bytes = gpucol_typemap_to_bytes(map, value);
	char	   *copy = palloc(Max(bytes.len, 1));

	memcpy(copy, bytes.data, bytes.len);
	bytes.data = copy;
	return bytes;
}

/* Append the slot's row; false if a value has no form in its column's kind. */
static bool
append_row(RowSource *source, uint32 row)
{
	TupleTableSlot *slot = source->slot;

	for (int c = 0; c < source->base.ncolumns; c++)
	{
		GpucolDeltaColumn *column = &source->batch[c];
		bool		isnull;
		Datum		value;

		value = slot_getattr(slot, source->columns[c].attnum, &isnull);
		if (isnull)
			((uint32 *) column->nulls)[row / 32] |= 1u << (row % 32);
		else if (column->bytes != NULL)
			column->bytes[row] = copy_bytes(&source->maps[c], value);
		else if (!gpucol_typemap_to_int64(&source->maps[c], value,
										  &column->values[row]))
			return false;
	}
	source->tids[row] = (uint64) ItemPointerGetBlockNumber(&slot->tts_tid) << 16 |
		ItemPointerGetOffsetNumber(&slot->tts_tid);
	return true;
}

static GpucolStatus
source_next_delta(GpucolSource *base, GpucolDelta *out)
{
	RowSource  *source = (RowSource *) base;
	MemoryContext old = MemoryContextSwitchTo(source->batch_context);
	GpucolStatus status = GPUCOL_OK;
	uint32		n = 0;

	start_batch(source);
	while (n < BATCH_ROWS && !source->done)
	{
		if (!table_scan_getnextslot(source->scan, ForwardScanDirection,
									source->slot))
			source->done = true;
		else if (!append_row(source, n++))
		{
			status = GPUCOL_UNSUPPORTED;
			break;
		}
	}
	MemoryContextSwitchTo(old);
	out->nrows = n;
	out->tids = source->tids;
	out->columns = source->batch;
	return status == GPUCOL_OK && n == 0 ? GPUCOL_END : status;
}

static void
source_rescan(GpucolSource *base)
{
	RowSource  *source = (RowSource *) base;

	table_rescan(source->scan, NULL);
	source->done = false;
}

static void
source_check_interrupts(GpucolSource *source pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
}

static const GpucolSourceOps source_ops = {
	.next_segment = source_next_segment,
	.map = source_map,
	.unmap = source_unmap,
	.next_delta = source_next_delta,
	.rescan = source_rescan,
	.check_interrupts = source_check_interrupts,
};

GpucolSource *
gpucol_source_open(Relation table, Snapshot snapshot,
				   const GpucolProgramColumn *columns, int ncolumns,
				   void *parallel)
{
	RowSource  *source = palloc0(sizeof(RowSource));

	source->base.ops = &source_ops;
	source->base.ncolumns = ncolumns;
	source->base.max_window_rows = GPUCOL_PAGE_ROWS;
	source->table = table;
	source->columns = columns;
	source->maps = palloc0(Max(ncolumns, 1) * sizeof(GpucolTypeMap));
	source->batch = palloc0(Max(ncolumns, 1) * sizeof(GpucolDeltaColumn));
	source->tids = palloc(BATCH_ROWS * sizeof(uint64));
	for (int c = 0; c < ncolumns; c++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(table),
											  columns[c].attnum - 1);

		gpucol_typemap_init(&source->maps[c], att->atttypid, att->atttypmod,
							att->attcollation);
	}
	source->slot = table_slot_create(table, NULL);
	source->scan = parallel != NULL ? table_beginscan_parallel(table, parallel) :
		table_beginscan(table, snapshot, 0, NULL);
	source->batch_context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol source batch",
												  ALLOCSET_DEFAULT_SIZES);
	return &source->base;
}

void
gpucol_source_close(GpucolSource *base)
{
	RowSource  *source = (RowSource *) base;

	ExecDropSingleTupleTableSlot(source->slot);
	table_endscan(source->scan);
}

Size
gpucol_source_parallel_size(Relation table, Snapshot snapshot)
{
	return table_parallelscan_estimate(table, snapshot);
}

void
gpucol_source_parallel_init(void *parallel, Relation table, Snapshot snapshot)
{
	table_parallelscan_initialize(table, parallel, snapshot);
}

void
gpucol_source_parallel_rescan(void *parallel, Relation table)
{
	table_parallelscan_reinitialize(table, parallel);
}
