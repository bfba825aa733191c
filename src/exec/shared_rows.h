/*-------------------------------------------------------------------------
 *
 * shared_rows.h
 *	  The rows of a WITH query, in batches for several CTE Scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_SHARED_ROWS_H
#define GPUCOL_EXEC_SHARED_ROWS_H

#include "exec/kept_rows.h"

typedef struct GpucolSharedRows GpucolSharedRows;

/* May the rows of the WITH query that this scan reads be had in batches; in large ones? */
extern bool gpucol_shared_rows_possible(const CteScanState *scan, bool large);

/* These rows, which are now kept in batches for whoever reads them.  They go with the query's memory. */
extern GpucolSharedRows *gpucol_shared_rows_of(const CteScanState *scan);

/* The next batch for one who reads them, or NULL (gpucol_kept_rows_next). */
extern GpucolKeptReader *gpucol_shared_rows_open(GpucolSharedRows *shared);
extern const GpucolBatch *gpucol_shared_rows_next(GpucolSharedRows *shared, GpucolKeptReader *reader);

#endif							/* GPUCOL_EXEC_SHARED_ROWS_H */
