/*-------------------------------------------------------------------------
 *
 * beside.h
 *	  Ordinary aggregates beside rankings in one node: a run of their own over
 *	  the same rows, whose groups are found by key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_EXEC_BESIDE_H
#define GPUCOL_RANKING_EXEC_BESIDE_H

#include "exec/ranked.h"

/*
 * Prepare, in the current context, for a run that aggregates; its first outputs
 * are these keys.
 */
extern GpucolBeside *gpucol_beside_create(GpucolExec *exec, int nkeys,
										  const GpucolOutput *keys);

/*
 * Aggregate.  GPUCOL_OK, or a fallback status with the reason in the run's
 * fallback.
 */
extern GpucolStatus gpucol_beside_run(GpucolBeside *beside);

/* Find the groups of a batch that a ranking delivers. */
extern void gpucol_beside_find(GpucolBeside *beside, const GpucolResult *groups);

/* States of the aggregates for row `row` of that batch. */
extern const GpucolAggState *gpucol_beside_states(const GpucolBeside *beside,
												  uint32 row);

#endif							/* GPUCOL_RANKING_EXEC_BESIDE_H */
