/*-------------------------------------------------------------------------
 *
 * batch_test.h
 *	  Conditions of a plan node on batches of the node below, which does not test them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BATCH_TEST_H
#define GPUCOL_EXEC_BATCH_TEST_H

#include "exec/batches.h"

typedef struct GpucolBatchTest GpucolBatchTest;

/*
 * Prepare, in the current memory context: `conditions` of the node `above`, in which columns of the rows that
 * `desc` describes are Vars of OUTER_VAR; without subplans.  Columns in these places are read of the rows that pass.
 */
extern GpucolBatchTest *gpucol_batch_test_begin(PlanState *above, List *conditions, TupleDesc desc, const int *places,
												int nplaces);

/*
 * Leave the rows that pass, counting the others as removed, of columns that are read.  What becomes of these lasts
 * until the next test.
 */
extern void gpucol_batch_test(GpucolBatchTest *test, GpucolBatch *batch);

#endif							/* GPUCOL_EXEC_BATCH_TEST_H */
