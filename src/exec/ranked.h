/*-------------------------------------------------------------------------
 *
 * ranked.h
 *	  What an aggregation node asks of the aggregates that rank rows: a run of the
 *	  node only scans, and its rows are collected, ranked and delivered as groups.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RANKED_H
#define GPUCOL_EXEC_RANKED_H

#include "exec/result.h"
#include "exec/run.h"

typedef struct GpucolRankNode GpucolRankNode;
typedef struct GpucolOrdinaryAggs GpucolOrdinaryAggs;

typedef struct GpucolRankedOps
{
	/*
	 * Columns that labels of rankings are, beside rankings of the same rows that have
	 * no label: if no label is NULL, they are the same rows indeed.  Attribute numbers.
	 */
	Bitmapset  *(*doubtful_labels) (GpucolLower *l, List *aggs);

	/*
	 * Make room for a node's rankings, in the current context, which lowering fills in:
	 * the Aggrefs, all of them rankings; the keys have been lowered.  `filled` are
	 * columns that are known to have no NULL.  False with l->reason set where they
	 * cannot be pushed down together.
	 */
	GpucolRankings *(*make) (void);
	bool		(*lower) (GpucolLower *l, List *aggs, Bitmapset *filled,
						  GpucolRankings *rankings);

	/*
	 * Prepare, in the current context, for `nkeys` group keys, which are the first
	 * outputs of exec's program, and these rankings, which may still be lowered.
	 */
	GpucolRankNode *(*create) (GpucolExec *exec, int nkeys, const GpucolOutput *keys,
							   const GpucolRankings *rankings);

	/* GpucolMakeShape and GpucolMakeTake of the scan; the program has been lowered. */
	bool		(*shape) (GpucolRankNode *node, GpucolRowShape *shape, const char **why);
	GpucolTakeRows (*take) (GpucolRankNode *node, int threads, void **arg);

	/*
	 * Next batch of groups: their keys as columns.  Scans and collects on the first
	 * call.  GPUCOL_END when done; a fallback status has set exec->fallback.
	 */
	GpucolStatus (*next) (GpucolRankNode *node, GpucolResult *groups);

	/* Results of aggregate `agg` for rows from .. from + n - 1 of the batch, in the current context. */
	void		(*datums) (GpucolRankNode *node, int agg, uint32 from, uint32 n,
						   Datum *values, bool *isnull);

	/*
	 * Ordinary aggregates beside rankings in one node, in a run of their own over the
	 * same rows whose first outputs are these keys: prepare in the current context;
	 * aggregate (GPUCOL_OK, or a fallback status with the reason in the run's fallback);
	 * find the groups of a batch that a ranking delivers; states of row `row` of it.
	 */
	GpucolOrdinaryAggs *(*ordinary_create) (GpucolExec *exec, int nkeys, const GpucolOutput *keys);
	GpucolStatus (*ordinary_run) (GpucolOrdinaryAggs *ordinary);
	void		(*ordinary_find) (GpucolOrdinaryAggs *ordinary, const GpucolResult *groups);
	const GpucolAggState *(*ordinary_states) (const GpucolOrdinaryAggs *ordinary, uint32 row);
} GpucolRankedOps;

#endif							/* GPUCOL_EXEC_RANKED_H */
