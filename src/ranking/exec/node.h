/*-------------------------------------------------------------------------
 *
 * node.h
 *	  Rankings of uncertain rows inside a plan node: the rows that a scan
 *	  delivers become groups of label-confidence rows, which are ranked together
 *	  (ranking/cpu/rank_batch.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_EXEC_NODE_H
#define GPUCOL_RANKING_EXEC_NODE_H

#include "exec/ranked.h"
#include "ranking/plan/ranking.h"
#include "ranking/cpu/rank_batch.h"

/*
 * Prepare, in the current context, for `nkeys` group keys, which are the first
 * outputs of exec's program, and these rankings.
 */
extern GpucolRankNode *gpucol_rank_node_create(GpucolExec *exec, int nkeys,
									  const GpucolOutput *keys,
									  const GpucolRankings *rankings);

/*
 * What a device is to make of the scan's rows (GpucolMakeShape); the program has
 * been lowered.
 */
extern bool gpucol_rank_node_shape(GpucolRankNode *node, GpucolRowShape *shape, const char **why);

/* What takes the rows in the CPU engine's threads (GpucolMakeTake). */
extern GpucolTakeRows gpucol_rank_node_take(GpucolRankNode *node, int threads, void **arg);

/*
 * Next batch of groups: their keys as columns.  Scans and collects on the first
 * call.  GPUCOL_END when done; a fallback status has set exec->fallback.
 */
extern GpucolStatus gpucol_rank_node_next(GpucolRankNode *node, GpucolResult *groups);

/* Results of aggregate `agg` for rows from .. from + n - 1 of the batch, in the current context. */
extern void gpucol_rank_node_datums(GpucolRankNode *node, int agg, uint32 from, uint32 n,
							   Datum *values, bool *isnull);

#endif							/* GPUCOL_RANKING_EXEC_NODE_H */
