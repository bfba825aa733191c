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

#endif							/* GPUCOL_COLUMNAR_INDEX_BUILD_H */
