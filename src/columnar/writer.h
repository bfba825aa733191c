/*-------------------------------------------------------------------------
 *
 * writer.h
 *	  Buffered rows on their way into segments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_WRITER_H
#define GPUCOL_COLUMNAR_WRITER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

/*
 * Rows from which on a load goes to segments rather than into the delta.  A build
 * for tests may define it as 0: then all rows are packed that can be.
 */
#ifndef GPUCOL_BULK_ROWS
#define GPUCOL_BULK_ROWS	1000
#endif

typedef struct GpucolWriter GpucolWriter;

/*
 * The writer for rows that command `cid` loads into a table, in the current
 * subtransaction; NULL if the table's rows must stay in the delta (unsuitable
 * indexes, no TOAST relation to keep a directory in).
 * options are heap_insert's; rows that only move have HEAP_INSERT_NO_LOGICAL.
 * Do not keep the result across anything that may scan the table: a scan writes the
 * buffered rows and ends the writer.
 */
extern GpucolWriter *gpucol_writer_get(Relation table, CommandId cid,
									   int options);

/* The rows come from other segments (GPUCOL_ENTRY_MOVED); said before the first. */
extern void gpucol_writer_move(GpucolWriter *writer);

/* Would rows that a merge moves be buffered, or must they stay in the delta? */
extern bool gpucol_writer_allowed(Relation table);

/*
 * Have the entries of segments put into a list, of palloc'd GpucolSegmentEntry in
 * the current memory context, and not into the directory.  Before the first row.
 */
extern void gpucol_writer_divert(GpucolWriter *writer, List **entries);

/* Buffer n rows; their final virtual TIDs are left in the slots. */
extern void gpucol_writer_add(GpucolWriter *writer, Relation table,
							  TupleTableSlot **slots, int n);

/* The same for rows that are at hand as columns, by attribute. */
extern void gpucol_writer_add_columns(GpucolWriter *writer, Relation table,
									  const Datum *const *values,
									  const bool *const *isnull, uint32 n);

/*
 * Write what this backend has buffered for a table, so that its own scans see
 * it.
 */
extern void gpucol_writer_flush(Relation table);

/*
 * Has a command's writing been ended by readers of its table, again and again, when few rows
 * were buffered?
 */
extern bool gpucol_writer_is_cut_short(CommandId cid);

/* Forget what is buffered for a table whose storage is emptied in place. */
extern void gpucol_writer_forget(Relation table);

/* Install the transaction callbacks and the executor's hooks; called once. */
extern void gpucol_writer_init(void);

#endif							/* GPUCOL_COLUMNAR_WRITER_H */
