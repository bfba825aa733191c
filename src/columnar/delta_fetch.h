/*-------------------------------------------------------------------------
 *
 * delta_fetch.h
 *	  Rows of the delta that an index scan comes to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_FETCH_H
#define GPUCOL_COLUMNAR_DELTA_FETCH_H

#include "postgres.h"

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "utils/snapshot.h"

/* Fetch a row of the delta, as the table access method's index_fetch_tuple does. */
extern bool gpucol_delta_fetch(IndexFetchTableData *data, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
							   bool *call_again, bool *all_dead);

#endif							/* GPUCOL_COLUMNAR_DELTA_FETCH_H */
