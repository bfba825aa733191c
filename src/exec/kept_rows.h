/*-------------------------------------------------------------------------
 *
 * kept_rows.h
 *	  Rows of a plan that are kept to be read again, by one or by several: as batches, in
 *	  work_mem and beyond that on disk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_KEPT_ROWS_H
#define GPUCOL_EXEC_KEPT_ROWS_H

#include "exec/batches.h"

typedef struct GpucolKeptRows GpucolKeptRows;
typedef struct GpucolKeptReader GpucolKeptReader;

/* Begin without rows, in the current context, with which they go. */
extern GpucolKeptRows *gpucol_kept_rows_begin(TupleDesc desc);

/* Add rows; tuples may be read once a batch of them is full, or they are said to be all. */
extern void gpucol_kept_rows_add(GpucolKeptRows *kept, const GpucolBatch *batch);
extern void gpucol_kept_rows_add_tuple(GpucolKeptRows *kept, TupleTableSlot *slot);
extern void gpucol_kept_rows_all(GpucolKeptRows *kept);

extern TupleDesc gpucol_kept_rows_desc(const GpucolKeptRows *kept);

/*
 * Somebody who reads them from the first, in the current context; rows may be added while he does.  NULL where
 * he has read all that there are; a batch lasts until his next.
 */
extern GpucolKeptReader *gpucol_kept_rows_open(GpucolKeptRows *kept);
extern void gpucol_kept_rows_rescan(GpucolKeptReader *reader);
extern const GpucolBatch *gpucol_kept_rows_next(GpucolKeptReader *reader);

/* Let them go. */
extern void gpucol_kept_rows_end(GpucolKeptRows *kept);

#endif							/* GPUCOL_EXEC_KEPT_ROWS_H */
