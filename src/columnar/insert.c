/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  Where inserted rows go: delta or segments.
 *
 * multi_insert (COPY): a first batch of fewer than GPUCOL_BULK_ROWS rows is taken
 * for a small load and goes to the delta; otherwise, and once a command has loaded
 * that many, rows go to segments.
 *
 * tuple_insert with a bulk insert state (CREATE TABLE AS, REFRESH MATERIALIZED
 * VIEW, rewrites): the table is new and has no indexes; all rows go to segments.
 *
 * tuple_insert without (INSERT): the first GPUCOL_BULK_ROWS rows of a command go
 * to the delta, at heap's speed, the rest to segments.  Not where the table has
 * row triggers or foreign keys, whose events would fetch the rows singly.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"

#include "columnar/insert.h"
#include "columnar/rownum.h"
#include "columnar/slot.h"
#include "columnar/writer.h"

/* Rows that the command of late inserted into one table's delta. */
static struct
{
	Oid			relid;
	SubTransactionId subid;
	TransactionId xid;
	CommandId	cid;
	uint32		rows;
}			recent;

/* Are so many rows a load that goes to segments? */
static inline bool
are_bulk(uint32 rows)
{
	/* not "rows >= GPUCOL_BULK_ROWS", of which compilers warn where that is 0 */
	return rows + 1 > GPUCOL_BULK_ROWS;
}

/* Count n more rows of a command; returns how many it had before. */
static uint32
count_rows(Relation rel, CommandId cid, int n)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	TransactionId xid = GetCurrentTransactionId();
	uint32		before;

	if (recent.relid != RelationGetRelid(rel) || recent.subid != subid ||
		recent.xid != xid || recent.cid != cid)
	{
		recent.relid = RelationGetRelid(rel);
		recent.subid = subid;
		recent.xid = xid;
		recent.cid = cid;
		recent.rows = 0;
	}
	before = recent.rows;
	if (!are_bulk(before))
		recent.rows += n;
	return before;
}

/*
 * COPY fills its slots with values, keeps many of them until multi_insert, and
 * then takes the same slots for its next rows.  A slot of the table's own kind
 * keeps its row by forming a heap tuple, which the writer would take apart again.
 * So turn slots that the writer has read into virtual ones, which copy only the
 * values that are passed by reference.  They hold the same row until they are
 * cleared: values that point into the heap tuple, which is theirs to free.
 */
static void
make_virtual(TupleTableSlot **slots, int nslots)
{
	StaticAssertStmt(sizeof(VirtualTupleTableSlot) <= sizeof(BufferHeapTupleTableSlot),
					 "a virtual slot must fit in its place");
	for (int i = 0; i < nslots; i++)
	{
		TupleTableSlot *slot = slots[i];
		HeapTuple	tuple = gpucol_slot_tuple(slot);

		if (tuple == NULL || !TTS_SHOULDFREE(slot))
			continue;
		slot_getallattrs(slot);
		*((const TupleTableSlotOps **) &slot->tts_ops) = &TTSOpsVirtual;
		((VirtualTupleTableSlot *) slot)->data = (char *) tuple;
	}
}

/* Does the table have triggers that fetch inserted rows one by one? */
static bool
has_row_triggers(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;

	return triggers != NULL &&
		(triggers->trig_insert_after_row || triggers->trig_insert_before_row ||
		 triggers->trig_insert_instead_row);
}

/*
 * A row that INSERT has put into the buffer is in its slot too, from which RETURNING
 * may show system columns: set them as heap does.
 */
static void
set_system_columns(Relation rel, TupleTableSlot *slot, CommandId cid)
{
	HeapTuple	tuple;

	if (!gpucol_slot_is_ours(slot) && !TTS_IS_BUFFERTUPLE(slot))
		return;
	tuple = ExecFetchSlotHeapTuple(slot, true, NULL);
	tuple->t_data->t_infomask &= ~HEAP_XACT_MASK;
	tuple->t_data->t_infomask2 &= ~HEAP2_XACT_MASK;
	tuple->t_data->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(tuple->t_data, GetCurrentTransactionId());
	HeapTupleHeaderSetCmin(tuple->t_data, cid);
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	tuple->t_tableOid = RelationGetRelid(rel);
	tuple->t_self = slot->tts_tid;
	tuple->t_data->t_ctid = slot->tts_tid;
}

void
gpucol_insert_tuple(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
					BulkInsertState bistate)
{
	GpucolWriter *writer = NULL;

	if (bistate != NULL && !rel->rd_rel->relhasindex)
		writer = gpucol_writer_get(rel, cid, options);
	else if (are_bulk(count_rows(rel, cid, 1)) && !has_row_triggers(rel))
		writer = gpucol_writer_get(rel, cid, options);
	if (writer != NULL)
	{
		gpucol_writer_add(writer, rel, &slot, 1);
		if (bistate == NULL)
			set_system_columns(rel, slot, cid);
	}
	else
		GetHeapamTableAmRoutine()->tuple_insert(rel, slot, cid, options, bistate);
}

void
gpucol_insert_multi(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid,
					int options, BulkInsertState bistate)
{
	GpucolWriter *writer = NULL;

	if (are_bulk(count_rows(rel, cid, nslots) + nslots))
		writer = gpucol_writer_get(rel, cid, options);
	if (writer == NULL)
	{
		heap_multi_insert(rel, slots, nslots, cid, options, bistate);
		return;
	}
	gpucol_writer_add(writer, rel, slots, nslots);
	make_virtual(slots, nslots);
}

bool
gpucol_insert_columns(Relation rel, uint32 n, const Datum *const *values,
					  const bool *const *isnull, CommandId cid, int options,
					  BulkInsertState bistate)
{
	GpucolWriter *writer;

	if (rel->rd_rel->relhasindex)
		return false;
	if (bistate == NULL && !are_bulk(count_rows(rel, cid, 0) + n))
		return false;
	writer = gpucol_writer_get(rel, cid, options);
	if (writer == NULL)
		return false;
	if (bistate == NULL)
		(void) count_rows(rel, cid, n);
	gpucol_writer_add_columns(writer, rel, values, isnull, n);
	return true;
}

void
gpucol_insert_finish_bulk(Relation rel, int options pg_attribute_unused())
{
	gpucol_writer_flush(rel);
}
