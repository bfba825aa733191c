/*-------------------------------------------------------------------------
 *
 * topk.h
 *	  Rankings of uncertain rows inside a plan node: the rows that a scan
 *	  delivers become groups of label-confidence rows, which are ranked together
 *	  (uncertain/rank_batch.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPK_H
#define GPUCOL_EXEC_TOPK_H

#include "exec/result.h"
#include "exec/run.h"
#include "planner/ranking.h"
#include "uncertain/rank_batch.h"

typedef struct GpucolTopk GpucolTopk;

/*
 * Prepare, in the current context, for `nkeys` group keys, which are the first
 * outputs of exec's program, and these rankings.
 */
extern GpucolTopk *gpucol_topk_create(GpucolExec *exec, int nkeys,
									  const GpucolOutput *keys,
									  const GpucolRankings *rankings);

/*
 * What a device is to make of the scan's rows (GpucolMakeShape); the program has
 * been lowered.
 */
extern bool gpucol_topk_shape(GpucolTopk *topk, GpucolRowShape *shape, const char **why);

/* What takes the rows in the CPU engine's threads (GpucolMakeTake). */
extern GpucolTakeRows gpucol_topk_take(GpucolTopk *topk, int threads, void **arg);

/*
 * Next batch of groups: their keys as columns.  Scans and collects on the first
 * call.  GPUCOL_END when done; a fallback status has set exec->fallback.
 */
extern GpucolStatus gpucol_topk_next(GpucolTopk *topk, GpucolResult *groups);

/* Results of aggregate `agg` for rows from .. from + n - 1 of the batch, in the current context. */
extern void gpucol_topk_datums(GpucolTopk *topk, int agg, uint32 from, uint32 n,
							   Datum *values, bool *isnull);

/* Let go of memory and threads; also done when the context goes. */
extern void gpucol_topk_destroy(GpucolTopk *topk);

#endif							/* GPUCOL_EXEC_TOPK_H */
