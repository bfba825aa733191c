/*-------------------------------------------------------------------------
 *
 * serial.h
 *	  Predicate locks of serializable transactions on rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SERIAL_H
#define GPUCOL_COLUMNAR_SERIAL_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* The rows that are read next are found by a scan that has come to so many. */
extern void gpucol_serial_note_run(uint64 rows);

/* An MVCC snapshot has found a segment row by itself, and sees it. */
extern void gpucol_serial_read_packed(Relation table, uint64 row_number, Snapshot snapshot);

/* A snapshot has come to a segment row in a view that was only peeked at, and does not see it. */
extern void gpucol_serial_miss_packed(Relation table, uint64 row_number, Snapshot snapshot);

/* A snapshot is about to look up a row of the delta by itself: lock its page first, where that is to be locked. */
extern void gpucol_serial_enter_delta(Relation table, const ItemPointerData *tid, Snapshot snapshot);

/* A snapshot has found a row of the delta by itself, which a slot holds. */
extern void gpucol_serial_read_delta(Relation table, TupleTableSlot *slot, Snapshot snapshot);

/* This transaction has inserted a segment row's tombstone. */
extern void gpucol_serial_write_packed(Relation table, uint64 row_number);

/* A merge has taken a row, and its index entries will lead to another place. */
extern void gpucol_serial_move(Relation table, const ItemPointerData *from,
							   const ItemPointerData *to);

#endif							/* GPUCOL_COLUMNAR_SERIAL_H */
