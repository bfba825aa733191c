/*-------------------------------------------------------------------------
 *
 * batch_compute.h
 *	  The columns of a target list, of batches of the rows that a plan node reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BATCH_COMPUTE_H
#define GPUCOL_EXEC_BATCH_COMPUTE_H

#include "commands/explain.h"

#include "compat.h"
#include "exec/batches.h"

typedef struct GpucolBatchCompute GpucolBatchCompute;

/*
 * Can a target list be had of batches whose columns are those among `attnums`, n of them, or 1 to n where that is NULL?
 * Not if it is volatile, asks a subquery, or reads anything else.
 */
extern bool gpucol_batch_compute_possible(List *tlist, const AttrNumber *attnums, int n);

/* A walker: does an expression read what a node around computes, which may be another in the next scan? */
extern bool gpucol_batch_reads_param(Node *node, void *context);

/*
 * Prepare for one of a node, in the current memory context, which also holds the list; `desc` has the columns by their
 * attribute numbers.
 */
extern GpucolBatchCompute *gpucol_batch_compute_create(PlanState *node, List *tlist, const AttrNumber *attnums, int n,
													   TupleDesc desc);

/*
 * Have *compute ready for a node's target list and rows of another scan, in the query's memory if it has to be made;
 * false where that is not possible.
 */
extern bool gpucol_batch_compute_offer(GpucolBatchCompute **compute, PlanState *node, const AttrNumber *attnums, int n,
									   TupleDesc desc);

/* Rows of another scan follow, for which parameters may have other values. */
extern void gpucol_batch_compute_reset(GpucolBatchCompute *compute);

/*
 * Take rows, when those that were taken before have been shown.  They are valid until the next are asked for, or, as
 * a `copy`, all the same: those of a device may not outlast what is asked of it next.
 */
extern void gpucol_batch_compute_take(GpucolBatchCompute *compute, uint32 nrows, const GpucolOutput *outputs,
									  const GpucolResultColumn *columns, bool copy);

/* Show rows of these with the columns of the list, valid until the next call; false if there are no more. */
extern bool gpucol_batch_compute_next(GpucolBatchCompute *compute, GpucolBatch *batch);

/* Under EXPLAIN ANALYZE: which columns were computed, and by whom. */
extern void gpucol_batch_compute_explain(const GpucolBatchCompute *compute, List *ancestors, ExplainState *es);

#endif							/* GPUCOL_EXEC_BATCH_COMPUTE_H */
