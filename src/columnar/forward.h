/*-------------------------------------------------------------------------
 *
 * forward.h
 *	  Where rows are that were packed in another place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FORWARD_H
#define GPUCOL_COLUMNAR_FORWARD_H

#include "postgres.h"

#include "columnar/directory.h"

/* Forwarded rows of one page, on their way into the directory. */
typedef struct GpucolForwards
{
	bool		any;
	BlockNumber block;
	uint64		next_row;		/* that the next row must have to be of the same record */
	GpucolForward record;
} GpucolForwards;

/*
 * A merge has moved the row at `tid` to a row number; rows come in the order of their
 * places.  The last records are written by gpucol_forward_end.
 */
extern void gpucol_forward_add(GpucolForwards *forwards, Relation table, const ItemPointerData *tid,
							   uint64 row_number, CommandId cid);
extern void gpucol_forward_end(GpucolForwards *forwards, Relation table, CommandId cid);

/*
 * Has transaction `mover` packed the row at a place of the delta?  Then *tid becomes its new
 * place.
 */
extern bool gpucol_forward_find(Relation table, TransactionId mover, ItemPointer tid);

/*
 * Has a segment row been packed with others, as a snapshot sees?  Then *tid becomes its new
 * place, and *mover, unless NULL, the transaction that did it.  SnapshotAny sees those in
 * progress, too, but none that was rolled back.
 */
extern bool gpucol_forward_packed(GpucolDirectory *dir, Snapshot snapshot, ItemPointer tid,
								  TransactionId *mover);

/*
 * Has a merge packed the row at a place of the delta, or a later version of it, or was a segment
 * row packed with others, as an MVCC snapshot sees?  Then *tid becomes its new place.
 */
extern bool gpucol_forward_step(Relation table, Snapshot snapshot, ItemPointer tid);

/* Are there records at all? */
extern bool gpucol_forward_any(GpucolDirectory *dir);

/* Delete the records of merges that every snapshot sees, as part of this transaction. */
extern void gpucol_forward_clean(GpucolDirectory *dir, TransactionId oldest_xmin);

#endif							/* GPUCOL_COLUMNAR_FORWARD_H */
