/*-------------------------------------------------------------------------
 *
 * kept_rows.h
 *	  Rows of a plan that are kept to be read again: batches and tuples, in work_mem and
 *	  beyond that on disk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_KEPT_ROWS_H
#define GPUCOL_EXEC_KEPT_ROWS_H

#include "exec/batches.h"

typedef struct GpucolKeptRows GpucolKeptRows;

/* Begin without rows, in the current context. */
extern GpucolKeptRows *gpucol_kept_rows_begin(TupleDesc desc);

/* Add rows. */
extern void gpucol_kept_rows_add(GpucolKeptRows *kept, const GpucolBatch *batch);
extern void gpucol_kept_rows_add_tuple(GpucolKeptRows *kept, TupleTableSlot *slot);

/*
 * Read them from the first: batches, then tuples (gpucol_plan_reader_next).  One reads them
 * at a time.
 */
extern TupleDesc gpucol_kept_rows_desc(const GpucolKeptRows *kept);
extern void gpucol_kept_rows_rescan(GpucolKeptRows *kept);
extern bool gpucol_kept_rows_next(GpucolKeptRows *kept, const GpucolBatch **batch, TupleTableSlot **slot);

/* Let them go. */
extern void gpucol_kept_rows_end(GpucolKeptRows *kept);

#endif							/* GPUCOL_EXEC_KEPT_ROWS_H */
