/*-------------------------------------------------------------------------
 *
 * insert.h
 *	  Where inserted rows go: callbacks of the table access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_INSERT_H
#define GPUCOL_COLUMNAR_INSERT_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"

/* The routine's callbacks, as documented in access/tableam.h. */
extern void gpucol_insert_tuple(Relation rel, TupleTableSlot *slot, CommandId cid,
								int options, BulkInsertState bistate);
extern void gpucol_insert_multi(Relation rel, TupleTableSlot **slots, int nslots,
								CommandId cid, int options, BulkInsertState bistate);
/*
 * Insert n rows that are at hand as columns, by attribute (isnull likewise), where
 * they go to segments and no index needs their TIDs.  False: nothing is done, use
 * gpucol_insert_multi.
 */
extern bool gpucol_insert_columns(Relation rel, uint32 n, const Datum *const *values,
								  const bool *const *isnull, CommandId cid,
								  int options, BulkInsertState bistate);

/* A command of this transaction will insert many rows: they go to segments from the first on. */
extern void gpucol_insert_announce(CommandId cid);

extern void gpucol_insert_finish_bulk(Relation rel, int options);

#endif							/* GPUCOL_COLUMNAR_INSERT_H */
