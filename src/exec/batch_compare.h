/*-------------------------------------------------------------------------
 *
 * batch_compare.h
 *	  Columns of batches compared with constants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BATCH_COMPARE_H
#define GPUCOL_EXEC_BATCH_COMPARE_H

#include "exec/batches.h"

typedef struct GpucolBatchCompare GpucolBatchCompare;

/*
 * What compares a column, a Var of `varno`, with a constant as a condition does; NULL where PostgreSQL is to
 * evaluate it.
 */
extern GpucolBatchCompare *gpucol_batch_compare_of(const Expr *condition, int varno);

/* Can a batch's column be compared, as it is there?  Asked before the batch is. */
extern bool gpucol_batch_compare_fits(GpucolBatchCompare *compare, const GpucolBatch *batch);

/* Leave of n rows of a batch, which are listed, those that pass, and return how many. */
extern uint32 gpucol_batch_compare(const GpucolBatchCompare *compare, const GpucolBatch *batch, uint32 *rows,
								   uint32 n);

#endif							/* GPUCOL_EXEC_BATCH_COMPARE_H */
