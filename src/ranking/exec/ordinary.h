/*-------------------------------------------------------------------------
 *
 * ordinary.h
 *	  Ordinary aggregates beside rankings in one node: a run of their own over
 *	  the same rows, whose groups are found by key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_EXEC_ORDINARY_H
#define GPUCOL_RANKING_EXEC_ORDINARY_H

#include "exec/ranked.h"

/*
 * Prepare, in the current context, for a run that aggregates; its first outputs
 * are these keys.
 */
extern GpucolOrdinaryAggs *gpucol_ordinary_create(GpucolExec *exec, int nkeys,
										  const GpucolOutput *keys);

/*
 * Aggregate.  GPUCOL_OK, or a fallback status with the reason in the run's
 * fallback.
 */
extern GpucolStatus gpucol_ordinary_run(GpucolOrdinaryAggs *ordinary);

/* Find the groups of a batch that a ranking delivers. */
extern void gpucol_ordinary_find(GpucolOrdinaryAggs *ordinary, const GpucolResult *groups);

/* States of the aggregates for row `row` of that batch. */
extern const GpucolAggState *gpucol_ordinary_states(const GpucolOrdinaryAggs *ordinary,
												  uint32 row);

#endif							/* GPUCOL_RANKING_EXEC_ORDINARY_H */
