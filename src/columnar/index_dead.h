/*-------------------------------------------------------------------------
 *
 * index_dead.h
 *	  Index entries of segment rows that nobody sees any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_INDEX_DEAD_H
#define GPUCOL_COLUMNAR_INDEX_DEAD_H

#include "postgres.h"

#include "access/tableam.h"
#include "utils/rel.h"

/* Has a segment row been deleted so long ago that every snapshot sees that? */
extern bool gpucol_index_dead_row(Relation table, uint64 row_number);

/* The routine's callback, as documented in access/tableam.h. */
extern TransactionId gpucol_index_dead_tuples(Relation table, TM_IndexDeleteOp *delstate);

#endif							/* GPUCOL_COLUMNAR_INDEX_DEAD_H */
