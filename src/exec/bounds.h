/*-------------------------------------------------------------------------
 *
 * bounds.h
 *	  HAVING over doubles that enclose a group's results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BOUNDS_H
#define GPUCOL_EXEC_BOUNDS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "exec/intervals.h"
#include "exec/result.h"
#include "lower/agg.h"

typedef struct GpucolBounds GpucolBounds;

/*
 * Prepare the node's conjuncts of HAVING over the scan tuple: keys, then aggregates of the plan.  In the current
 * memory context; NULL if nothing would be known of any group.
 */
extern GpucolBounds *gpucol_bounds_make(const GpucolGroupPlan *plan, const GpucolOutput *keys, PlanState *ps);

/* What is known of the group in this row of a batch, whose states these are. */
extern GpucolBoundsSays gpucol_bounds_decide(const GpucolBounds *bounds, const GpucolResultColumn *columns,
											 uint32 row, const GpucolAggState *states);

#endif							/* GPUCOL_EXEC_BOUNDS_H */
