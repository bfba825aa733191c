/*-------------------------------------------------------------------------
 *
 * logical.h
 *	  What logical decoding needs of packed rows, written to WAL.
 *
 * To be called where gpucol_decoding_active says so (decoding.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_LOGICAL_H
#define GPUCOL_COLUMNAR_LOGICAL_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

/* Rows in slots have been inserted. */
extern void gpucol_logical_insert(Relation table, TupleTableSlot **slots, int n);

/* n rows at hand as columns, by attribute, have been inserted. */
extern void gpucol_logical_insert_columns(Relation table, const Datum *const *values,
										  const bool *const *isnull, uint32 n);

/* A row has been updated. */
extern void gpucol_logical_update(Relation table, TupleTableSlot *old, TupleTableSlot *new);

/* A row has been deleted. */
extern void gpucol_logical_delete(Relation table, TupleTableSlot *old);

#endif							/* GPUCOL_COLUMNAR_LOGICAL_H */
