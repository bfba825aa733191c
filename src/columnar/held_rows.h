/*-------------------------------------------------------------------------
 *
 * held_rows.h
 *	  Rows that arrive one by one, held back until there are enough to be taken over
 *	  column by column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_HELD_ROWS_H
#define GPUCOL_COLUMNAR_HELD_ROWS_H

#include "postgres.h"

#include "executor/tuptable.h"

/* Rows that are held at most. */
#define GPUCOL_HELD_ROWS	64

/* Copies of rows; to be read only. */
typedef struct GpucolHeldRows
{
	int			n;
	Datum	  **values;			/* by attribute: its value in each row, */
	bool	  **isnull;			/* or that it is NULL; none of a dropped one */
	Size		used;			/* bytes of the values that are passed by reference */
	TupleDesc	desc;
	char	   *memory;			/* where they lie */
} GpucolHeldRows;

/* Room for rows of a table, in the current memory context. */
extern GpucolHeldRows *gpucol_held_create(TupleDesc desc);

/*
 * Copy the row in a slot.  False if there is no room left, or it cannot be held: it is
 * long, or a value is compressed or lies elsewhere.
 */
extern bool gpucol_held_add(GpucolHeldRows *held, TupleTableSlot *slot);

/* Forget the rows. */
extern void gpucol_held_reset(GpucolHeldRows *held);

#endif							/* GPUCOL_COLUMNAR_HELD_ROWS_H */
