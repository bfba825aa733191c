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

#include "exec/result.h"
#include "lower/agg.h"

typedef struct GpucolBounds GpucolBounds;

/* What is known of a group. */
typedef enum GpucolBoundsSays
{
	GPUCOL_BOUNDS_OPEN,			/* PostgreSQL has to evaluate HAVING, which may raise an error */
	GPUCOL_BOUNDS_FAILS,		/* HAVING is false or NULL, and raises none */
	GPUCOL_BOUNDS_MEETS			/* HAVING is true, and raises none */
} GpucolBoundsSays;

/*
 * Prepare the node's conjuncts of HAVING over the scan tuple: keys, then aggregates of the plan.  In the current
 * memory context; NULL if nothing would be known of any group.
 */
extern GpucolBounds *gpucol_bounds_make(const GpucolGroupPlan *plan, const GpucolOutput *keys, PlanState *ps);

/* What is known of the group in this row of a batch, whose states these are. */
extern GpucolBoundsSays gpucol_bounds_decide(const GpucolBounds *bounds, const GpucolResultColumn *columns,
											 uint32 row, const GpucolAggState *states);

#endif							/* GPUCOL_EXEC_BOUNDS_H */
