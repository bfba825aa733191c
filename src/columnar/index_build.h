/*-------------------------------------------------------------------------
 *
 * index_build.h
 *	  Scans that build and validate indexes: callbacks of the table access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_INDEX_BUILD_H
#define GPUCOL_COLUMNAR_INDEX_BUILD_H

#include "postgres.h"

#include "access/tableam.h"

/* The routine's callbacks, as documented in access/tableam.h. */
extern double gpucol_index_build_range_scan(Relation table, Relation index,
											struct IndexInfo *info, bool allow_sync,
											bool anyvisible, bool progress,
											BlockNumber start_block,
											BlockNumber nblocks,
											IndexBuildCallback callback,
											void *callback_state,
											TableScanDesc sscan);
extern void gpucol_index_validate_scan(Relation table, Relation index,
									   struct IndexInfo *info, Snapshot snapshot,
									   struct ValidateIndexState *validate);

/*
 * Hold the rows that a snapshot sees against a sorted list of an index's TIDs
 * (itemptr_encode): the callback hears of each row, the TID that its entry has or should
 * have, and whether the list has it.  Rows outside a partial index's predicate are shown too:
 * gpucol_index_form tells, and forms the values of an entry, which last until the next row.
 */
typedef struct GpucolIndexBuild GpucolIndexBuild;
typedef void (*GpucolIndexRowCallback) (GpucolIndexBuild *build, ItemPointer tid,
										bool has_entry, void *state);
extern void gpucol_index_compare(Relation table, Relation index, struct IndexInfo *info,
								 Snapshot snapshot, struct Tuplesortstate *tids,
								 GpucolIndexRowCallback callback, void *state);
extern bool gpucol_index_form(GpucolIndexBuild *build, Datum **values, bool **isnull);

#endif							/* GPUCOL_COLUMNAR_INDEX_BUILD_H */
