/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  Where inserted rows go: delta or segments.
 *
 * multi_insert (COPY): a first batch of fewer than GPUCOL_BULK_ROWS rows is taken
 * for a small load and goes to the delta, unless COPY has cut it for its bytes and not
 * for its rows; otherwise, and once a command has loaded that many into whatever
 * tables, rows go to segments.
 *
 * tuple_insert with a bulk insert state (CREATE TABLE AS, REFRESH MATERIALIZED
 * VIEW, rewrites): the table is new and has no indexes; all rows go to segments.
 *
 * tuple_insert without (INSERT): rows of a command that has been announced as a load
 * (ahead.c) go to segments, else the first GPUCOL_BULK_ROWS rows of a command go
 * to the delta, at heap's speed, the rest to segments.  Where what the command runs for each
 * row reads the table, so that segments of few rows would be written, they go to the delta.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"

#include "columnar/burials.h"
#include "columnar/insert.h"
#include "columnar/rownum.h"
#include "columnar/slot.h"
#include "columnar/writer.h"

/*
 * A batch of so many rows and bytes is part of a load.  COPY cuts its batches at 65,536
 * bytes of text, which are fewer as values.
 */
#define BULK_BATCH_ROWS		32
#define BULK_BATCH_BYTES	((Size) 40 * 1024)

/* Rows that a command has inserted, whatever the tables. */
typedef struct Command
{
	SubTransactionId subid;
	TransactionId xid;
	CommandId	cid;
	uint32		rows;
} Command;

/* Commands of late: triggers and functions of one may run others. */
#define COMMANDS	8

static Command commands[COMMANDS];
static int	newest = 0;

/* Are so many rows a load that goes to segments? */
static inline bool
are_bulk(uint32 rows)
{
	/* not "rows >= GPUCOL_BULK_ROWS", of which compilers warn where that is 0 */
	return rows + 1 > GPUCOL_BULK_ROWS;
}

/* What is known of a command in this subtransaction. */
static Command *
find_command(CommandId cid)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	TransactionId xid = GetCurrentTransactionId();

	for (int i = 0; i < COMMANDS; i++)
	{
		Command    *command = &commands[(newest + i) % COMMANDS];

		if (command->xid == xid && command->subid == subid && command->cid == cid)
			return command;
	}
	newest = (newest + COMMANDS - 1) % COMMANDS;
	commands[newest] = (Command) {.subid = subid, .xid = xid, .cid = cid};
	return &commands[newest];
}

/* Count n more rows of a command; returns how many it had before. */
static uint32
count_rows(CommandId cid, int n)
{
	Command    *command = find_command(cid);
	uint32		before = command->rows;

	if (!are_bulk(before))
		command->rows += n;
	return before;
}

void
gpucol_insert_announce(CommandId cid)
{
	find_command(cid)->rows = GPUCOL_BULK_ROWS;
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

	gpucol_burials_write();
	if (bistate != NULL && !rel->rd_rel->relhasindex)
		writer = gpucol_writer_get(rel, cid, options);
	else if (are_bulk(count_rows(cid, 1)) && !gpucol_writer_is_cut_short(cid))
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

/* Do the values of a batch take as much as COPY collects before it inserts them? */
static bool
are_long(Relation rel, TupleTableSlot **slots, int nslots)
{
	Size		bytes = 0;

	for (int i = 0; i < nslots && nslots >= BULK_BATCH_ROWS && bytes < BULK_BATCH_BYTES; i++)
	{
		slot_getallattrs(slots[i]);
		bytes += heap_compute_data_size(RelationGetDescr(rel), slots[i]->tts_values, slots[i]->tts_isnull);
	}
	return bytes >= BULK_BATCH_BYTES;
}

void
gpucol_insert_multi(Relation rel, TupleTableSlot **slots, int nslots, CommandId cid,
					int options, BulkInsertState bistate)
{
	GpucolWriter *writer = NULL;
	bool		bulk = are_bulk(count_rows(cid, nslots) + nslots);

	if (!bulk && are_long(rel, slots, nslots))
	{
		gpucol_insert_announce(cid);
		bulk = true;
	}
	if (bulk)
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
	if (bistate == NULL && !are_bulk(count_rows(cid, 0) + n))
		return false;
	writer = gpucol_writer_get(rel, cid, options);
	if (writer == NULL)
		return false;
	if (bistate == NULL)
		(void) count_rows(cid, n);
	gpucol_writer_add_columns(writer, rel, values, isnull, n);
	return true;
}

void
gpucol_insert_finish_bulk(Relation rel, int options pg_attribute_unused())
{
	gpucol_writer_flush(rel);
}
