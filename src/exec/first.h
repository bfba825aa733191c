/*-------------------------------------------------------------------------
 *
 * first.h
 *	  Which groups of a GpucolAgg are wanted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FIRST_H
#define GPUCOL_EXEC_FIRST_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "kernel/first.h"
#include "lower/agg.h"

/*
 * Fill *first: for HAVING (a List of conjuncts over the scan tuple: keys, then aggregates)
 * and the first groups as a plan node carries them (GPUCOL_AGG_PRIVATE_FIRST, or NIL), the
 * grouping being lowered.  False: all groups are wanted, or an engine cannot tell.
 */
extern bool gpucol_first_make(const GpucolGroupPlan *plan, List *having, List *wanted,
							  GpucolFirst *first);

/*
 * The tests that HAVING comes down to now that there is a group, and parameters have values; true if they are all of
 * HAVING.  What has been allocated is of the current context.
 */
extern bool gpucol_first_having(const GpucolGroupPlan *plan, PlanState *ps, GpucolFirst *first);

#endif							/* GPUCOL_EXEC_FIRST_H */
