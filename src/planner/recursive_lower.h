/*-------------------------------------------------------------------------
 *
 * recursive_lower.h
 *	  The recursive term of WITH RECURSIVE as a recursion plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_RECURSIVE_LOWER_H
#define GPUCOL_PLANNER_RECURSIVE_LOWER_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "kernel/recursion.h"

/* What came of a recursive term. */
typedef struct GpucolLoweredRecursion
{
	const char *reason;			/* why it cannot be pushed down, or NULL */
	GpucolRecPlan *plan;
	List	   *inputs;			/* RelOptInfo of each input */
	List	   *input_types;	/* OidList of each */
	List	   *constants;		/* Expr: Const or Param of the query */
} GpucolLoweredRecursion;

/*
 * Lower the term that `subroot` has planned.  `types` and `collations` are
 * those of the result's columns; `all` says UNION ALL.
 */
extern void gpucol_recursive_lower(PlannerInfo *subroot, List *types,
								   List *collations, bool all,
								   GpucolLoweredRecursion *result);

#endif							/* GPUCOL_PLANNER_RECURSIVE_LOWER_H */
