/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Buffered rows on their way into segments.
 *
 * A writer collects the rows that one command loads into one table in one
 * subtransaction, column by column, and writes a segment whenever
 * gpucol.segment_rows or the byte cap is reached.
 * Rows are taken over in batches (writer_buffer.c); those that come one by one are held
 * until they are a batch (held_rows.c).  Row numbers, entries and pages:
 * writer_segment.c.
 *
 * Buffers are written: when a load ends (finish_bulk_insert, or the statement's end
 * before its AFTER triggers), when another command loads into the table, before this
 * backend or its parallel workers scan or fetch from the table, and before commit or
 * prepare.  A subtransaction's rollback forgets its
 * buffers; its commit hands them to the parent.  TRUNCATE gives the table new
 * storage, so buffers of the old one wait for the end of the transaction: a
 * rollback to a savepoint may bring it back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/toasting.h"
#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "columnar/decoding.h"
#include "columnar/logical.h"
#include "columnar/writer_parts.h"
#include "compat.h"
#include "guc.h"

/* Bytes of buffered values after which a segment is written. */
#define BUFFER_LIMIT	((Size) 128 * 1024 * 1024)

/* Bytes that the buffers may take even where gpucol.max_memory has no room for them. */
#define LEAST_BUFFERS	((Size) 4 * 1024 * 1024)

/* Rows that are taken over at a time where they arrive as columns. */
#define COLUMN_ROWS		1024

/* Times that a command may be cut short. */
#define CUTS	8

/* Writers of this transaction. */
static List *writers = NIL;

/* The last command whose writers were ended when they had few rows, and how often. */
static struct
{
	SubTransactionId subid;
	CommandId	cid;
	int			times;
}			cut;

/* ------------------------------------------------------------------------
 * Life of a writer
 * ------------------------------------------------------------------------
 */

/*
 * Buffered rows are known to other sessions by their index entries only, without
 * values.  Uniqueness checks of btrees need no more.  ON CONFLICT evaluates an index's
 * expressions for such a row before it waits for its transaction, all columns being NULL:
 * that must not fail, nor call for what the row has.  Exclusion constraints compare values.
 */
static bool
index_allows_buffering(Relation index)
{
	if (index->rd_index->indisexclusion)
		return false;
	return !index->rd_index->indisunique ||
		!contain_nonstrict_functions((Node *) RelationGetIndexExpressions(index));
}

static bool
indexes_allow_buffering(Relation table)
{
	List	   *indexes;
	ListCell   *lc;
	bool		allowed = true;

	if (!table->rd_rel->relhasindex)
		return true;
	indexes = RelationGetIndexList(table);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		allowed &= index_allows_buffering(index);
		index_close(index, NoLock);
	}
	list_free(indexes);
	return allowed;
}

/*
 * A table that a rewrite has just made from one without TOAST relation has none
 * either; make it.
 */
static bool
ensure_toast(Relation table)
{
	if (OidIsValid(table->rd_rel->reltoastrelid))
		return true;
	if (table->rd_createSubid == InvalidSubTransactionId ||
		!CheckRelationLockedByMe(table, AccessExclusiveLock, true))
		return false;
	NewHeapCreateToastTable(RelationGetRelid(table), (Datum) 0,
							AccessExclusiveLock, InvalidOid);
	CommandCounterIncrement();
	return OidIsValid(table->rd_rel->reltoastrelid);
}

bool
gpucol_writer_allowed(Relation table)
{
	if (table->rd_rel->relkind != RELKIND_RELATION &&
		table->rd_rel->relkind != RELKIND_MATVIEW)
		return false;
	return indexes_allow_buffering(table) && ensure_toast(table);
}

/* Set up a writer's columns; false if the table has none. */
static bool
init_columns(GpucolWriter *writer, Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	writer->columns = palloc0(Max(desc->natts, 1) * sizeof(GpucolWriterColumn));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		GpucolWriterColumn *column = &writer->columns[writer->ncolumns];

		if (att->attisdropped)
			continue;
		column->attnum = att->attnum;
		gpucol_typemap_init(&column->declared, att->atttypid, att->atttypmod,
							att->attcollation);
		column->narrow = column->declared.typlen > 0 && column->declared.typlen <= 4 &&
			column->declared.kind != GPUCOL_KIND_BYTES;
		writer->ncolumns++;
	}
	return writer->ncolumns > 0;
}

static GpucolWriter *
create_writer(Relation table, CommandId cid, int options)
{
	MemoryContext context = AllocSetContextCreate(TopTransactionContext,
												  "gpucol writer",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolWriter *writer = palloc0(sizeof(GpucolWriter));

	writer->relid = RelationGetRelid(table);
	writer->file = gpucol_compat_relation_file(table);
	writer->subid = GetCurrentSubTransactionId();
	writer->cid = cid;
	writer->options = options & HEAP_INSERT_FROZEN;
	/* rows that are only moved are not decoded */
	writer->decoded = (options & HEAP_INSERT_NO_LOGICAL) == 0 && gpucol_decoding_active(table);
	writer->context = context;
	writer->segment_rows = gpucol_segment_rows;
	writer->reserve = GPUCOL_FIRST_RESERVE;
	writer->buffers = AllocSetContextCreate(context, "gpucol writer buffers",
											ALLOCSET_DEFAULT_SIZES);
	writer->row_context = AllocSetContextCreate(context, "gpucol writer row",
												ALLOCSET_DEFAULT_SIZES);
	if (!init_columns(writer, table))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return NULL;
	}
	gpucol_meter_open(&writer->meter, context, gpucol_memory_open(0, gpucol_memory_session()));
	gpucol_buffer_start(writer, table);
	MemoryContextSwitchTo(TopTransactionContext);
	writers = lcons(writer, writers);
	MemoryContextSwitchTo(old);
	return writer;
}

/* Forget a writer and what it holds. */
static void
discard_writer(GpucolWriter *writer)
{
	writers = list_delete_ptr(writers, writer);
	MemoryContextDelete(writer->context);
}

/* ------------------------------------------------------------------------
 * Interface
 * ------------------------------------------------------------------------
 */

void
gpucol_writer_move(GpucolWriter *writer)
{
	writer->flags |= GPUCOL_ENTRY_MOVED;
}

void
gpucol_writer_divert(GpucolWriter *writer, List **entries)
{
	writer->diverted = entries;
	writer->diverted_context = CurrentMemoryContext;
}

/* The writer of a command, if it exists. */
static GpucolWriter *
find_writer(Relation table, CommandId cid)
{
	ListCell   *lc;

	foreach(lc, writers)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid == RelationGetRelid(table) && writer->cid == cid &&
			writer->subid == GetCurrentSubTransactionId() &&
			writer->file == gpucol_compat_relation_file(table))
			return writer;
	}
	return NULL;
}

GpucolWriter *
gpucol_writer_get(Relation table, CommandId cid, int options)
{
	GpucolWriter *writer = find_writer(table, cid);

	if (writer != NULL)
		return writer;
	if (!gpucol_writer_allowed(table))
		return NULL;
	gpucol_writer_flush(table);
	return create_writer(table, cid, options);
}

/*
 * Has the session no memory for more rows?  A segment is made of the buffers in as much
 * again, and buffers that are full are doubled.
 */
static bool
is_crowded(GpucolWriter *writer)
{
	Size		held = MemoryContextMemAllocated(writer->context, true);

	return !gpucol_meter_fits(&writer->meter, writer->nrows == writer->capacity ? 2 * held : held) &&
		writer->bytes >= LEAST_BUFFERS;
}

/* Have room for the next rows, and say for how many of n, `most` at once. */
static int
make_room(GpucolWriter *writer, Relation table, uint32 n, uint32 most)
{
	if (writer->open &&
		(writer->nrows == writer->segment_rows || writer->bytes >= BUFFER_LIMIT || is_crowded(writer) ||
		 (writer->nrows == writer->entry.reserved && !gpucol_writer_extend_segment(writer, table))))
		gpucol_writer_close_segment(writer, table);
	if (!writer->open)
		gpucol_writer_open_segment(writer, table);
	if (writer->nrows == writer->capacity)
		gpucol_buffer_grow(writer);
	return (int) Min(Min(n, most),
					 Min(writer->capacity, writer->entry.reserved) - writer->nrows);
}

/* Is there room for one row more in the buffers, whatever it and those held take? */
static bool
can_hold(const GpucolWriter *writer)
{
	const GpucolHeldRows *held = writer->held;

	return writer->open && held->n < GPUCOL_HELD_ROWS &&
		writer->nrows + held->n < Min(writer->capacity, writer->entry.reserved) &&
		writer->bytes + held->used + held->n * writer->ncolumns * sizeof(int64) < BUFFER_LIMIT;
}

/* Hold a row; false if it has to be taken over by itself. */
static bool
hold_row(GpucolWriter *writer, Relation table, TupleTableSlot *slot)
{
	bool		fits;

	if (writer->held == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(writer->context);

		writer->held = gpucol_held_create(RelationGetDescr(table));
		MemoryContextSwitchTo(old);
	}
	fits = can_hold(writer) && gpucol_held_add(writer->held, slot);
	if (!fits)
	{
		gpucol_buffer_held(writer, table);
		(void) make_room(writer, table, 1, 1);
		fits = gpucol_held_add(writer->held, slot);
	}
	if (fits)
	{
		slot->tts_tableOid = RelationGetRelid(table);
		gpucol_tid_set(&slot->tts_tid, writer->entry.first_row + writer->nrows +
					   writer->held->n - 1);
	}
	return fits;
}

void
gpucol_writer_add(GpucolWriter *writer, Relation table, TupleTableSlot **slots, int n)
{
	if (n == 1 && hold_row(writer, table, slots[0]))
		return;
	gpucol_buffer_held(writer, table);
	if (writer->decoded)
		gpucol_logical_insert(table, slots, n);
	while (n > 0)
	{
		int			batch = make_room(writer, table, n, GPUCOL_BATCH_ROWS);

		gpucol_buffer_rows(writer, table, slots, batch);
		slots += batch;
		n -= batch;
	}
}

void
gpucol_writer_add_columns(GpucolWriter *writer, Relation table,
						  const Datum *const *values, const bool *const *isnull,
						  uint32 n)
{
	gpucol_buffer_held(writer, table);
	if (writer->decoded)
		gpucol_logical_insert_columns(table, values, isnull, n);
	for (uint32 at = 0; at < n;)
	{
		int			batch = make_room(writer, table, n - at, COLUMN_ROWS);

		gpucol_buffer_columns(writer, table, values, isnull, at, batch);
		at += batch;
	}
}

/* Note that a writer is ended by who reads the table. */
static void
note_cut(const GpucolWriter *writer)
{
	if (writer->wrote || writer->nrows + 1 > GPUCOL_BULK_ROWS)
		return;
	if (cut.cid != writer->cid || cut.subid != writer->subid)
		cut.times = 0;
	cut.subid = writer->subid;
	cut.cid = writer->cid;
	cut.times++;
}

bool
gpucol_writer_is_cut_short(CommandId cid)
{
	return cut.times >= CUTS && cut.cid == cid && cut.subid == GetCurrentSubTransactionId();
}

void
gpucol_writer_flush(Relation table)
{
	List	   *all;
	ListCell   *lc;

	if (likely(writers == NIL))
		return;
	all = list_copy(writers);
	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid != RelationGetRelid(table) ||
			writer->file != gpucol_compat_relation_file(table))
			continue;
		gpucol_buffer_held(writer, table);
		note_cut(writer);
		gpucol_writer_close_segment(writer, table);
		discard_writer(writer);
	}
	list_free(all);
}

void
gpucol_writer_forget(Relation table)
{
	List	   *all = list_copy(writers);
	ListCell   *lc;

	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->relid == RelationGetRelid(table) &&
			writer->file == gpucol_compat_relation_file(table))
			discard_writer(writer);
	}
	list_free(all);
}

/* ------------------------------------------------------------------------
 * Ends of statements and transactions
 * ------------------------------------------------------------------------
 */

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorFinish_hook_type previous_finish = NULL;

/*
 * Write the buffers of a command, or all of them; tables that are gone, or have new
 * storage, need none.
 */
static void
flush_command(bool all, CommandId cid)
{
	List	   *ended = list_copy(writers);
	ListCell   *lc;

	foreach(lc, ended)
	{
		GpucolWriter *writer = lfirst(lc);
		Relation	table;

		if (!all && writer->cid != cid)
			continue;
		table = try_relation_open(writer->relid, NoLock);
		if (table != NULL)
		{
			if (writer->file == gpucol_compat_relation_file(table))
				gpucol_writer_close_segment(writer, table);
			relation_close(table, NoLock);
		}
		discard_writer(writer);
	}
	list_free(ended);
}

/* Parallel workers do not know the rows that this process has buffered. */
static void
start_query(QueryDesc *query, int eflags)
{
	if (writers != NIL && query->plannedstmt->parallelModeNeeded)
		flush_command(true, FirstCommandId);
	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

/* A statement has all its rows, and its AFTER triggers are next. */
static void
finish_query(QueryDesc *query)
{
	/* a statement that only reads has no command of its own */
	if (writers != NIL &&
		(query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE))
		flush_command(false, query->estate->es_output_cid);
	if (previous_finish)
		previous_finish(query);
	else
		standard_ExecutorFinish(query);
}

static void
at_transaction_end(XactEvent event, void *arg pg_attribute_unused())
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			flush_command(true, FirstCommandId);
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			/* the memory goes with the transaction's */
			writers = NIL;
			cut.times = 0;
			break;
		default:
			break;
	}
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg pg_attribute_unused())
{
	List	   *all;
	ListCell   *lc;

	if (writers == NIL || (event != SUBXACT_EVENT_ABORT_SUB &&
						   event != SUBXACT_EVENT_COMMIT_SUB))
		return;
	all = list_copy(writers);
	foreach(lc, all)
	{
		GpucolWriter *writer = lfirst(lc);

		if (writer->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			discard_writer(writer);
		else
			writer->subid = parent;
	}
	list_free(all);
}

void
gpucol_writer_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_query;
}
