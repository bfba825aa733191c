/*-------------------------------------------------------------------------
 *
 * delta_deform.h
 *	  Values of heap tuples, put straight into the columns of a batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_DEFORM_H
#define GPUCOL_COLUMNAR_DELTA_DEFORM_H

#include "postgres.h"

#include "access/htup.h"
#include "utils/rel.h"

#include "columnar/row_batch.h"

typedef struct GpucolDeform GpucolDeform;

/*
 * Prepare to read tuples of a table into the columns of `rows`, all of them, in the current
 * memory context.  Both must live as long.
 */
extern GpucolDeform *gpucol_deform_open(Relation table, GpucolRowBatch *rows);

/* Read those columns only, by slot, from now on. */
extern void gpucol_deform_choose(GpucolDeform *deform, const bool *wanted);

/*
 * Put a tuple's values, copied into the current memory context where they have bytes of
 * their own, at a row of the batch, whose entries must be zero.  False where some value has
 * no form in its column's kind.  An error for a tuple whose values end behind it.
 */
extern bool gpucol_deform_tuple(GpucolDeform *deform, HeapTuple tuple, uint32 row);

#endif							/* GPUCOL_COLUMNAR_DELTA_DEFORM_H */
