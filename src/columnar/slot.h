/*-------------------------------------------------------------------------
 *
 * slot.h
 *	  Slots of gpucol tables, whose segment rows are decoded as far as they are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SLOT_H
#define GPUCOL_COLUMNAR_SLOT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "columnar/view.h"

/* The routine's callback. */
extern const TupleTableSlotOps *gpucol_slot_callbacks(Relation table);

/* Is this a slot of that kind? */
extern bool gpucol_slot_is_ours(const TupleTableSlot *slot);

/*
 * Have the slot hold a row of a segment, of which nothing is read yet.  The row must stay
 * where it is as long as the slot holds it undecoded: a snapshot that sees it lasts
 * longer.
 */
extern void gpucol_slot_store(TupleTableSlot *slot, Relation table,
							  const GpucolViewSegment *segment, uint64 row_number);

/*
 * Have a slot of that kind hold a copy of a row of a segment, which need not stay.  Pages stay pinned for the
 * next row, until the slot is cleared by others than gpucol_slot_empty.
 */
extern void gpucol_slot_store_copy(TupleTableSlot *slot, Relation table,
								   const GpucolViewSegment *segment, uint64 row_number);

/*
 * The slot is a plan's, of whose rows these columns alone are read (numbers as in pull_varattnos; NULL: all
 * may be): of a packed row others read as NULL, but where it is copied as a whole.  It is released where
 * the plan ends, and keeps what it reads from until then.
 */
extern void gpucol_slot_plan(TupleTableSlot *slot, const Bitmapset *columns);

/* Clear any slot, which is to be given another row, if there is one. */
extern void gpucol_slot_empty(TupleTableSlot *slot);

/* A scan of a table has put a packed row into a slot. */
extern void gpucol_slot_note_scanned(Relation table, TupleTableSlot *slot);

/*
 * A copy of a row in the current memory context, if a slot that has been read from, or that a
 * scan has put it in, holds it just now; else NULL.
 */
extern HeapTuple gpucol_slot_copy_latest(Relation table, uint64 row_number);

/* Give an empty slot a tuple in the slot's memory context. */
extern void gpucol_slot_put(HeapTuple tuple, TupleTableSlot *slot);

/*
 * Have some columns, of ascending numbers, among the slot's values: of a packed row these
 * alone are decoded, and others before them may not be.
 */
extern void gpucol_slot_read(TupleTableSlot *slot, const AttrNumber *attnums, int n);

/* The heap tuple that the slot holds or lies on a pinned page; NULL if there is none. */
extern HeapTuple gpucol_slot_tuple(TupleTableSlot *slot);

/* Are two rows' values of a column the same, byte for byte? */
extern bool gpucol_slot_same_value(Form_pg_attribute att, TupleTableSlot *old,
								   TupleTableSlot *new);

/*
 * Between these two heap's functions take the slot for one of theirs, which they may
 * store a delta row in.  A segment row that is in it is let go.
 */
extern bool gpucol_slot_lend(TupleTableSlot *slot);
extern void gpucol_slot_take_back(TupleTableSlot *slot, bool lent);

#endif							/* GPUCOL_COLUMNAR_SLOT_H */
