/*-------------------------------------------------------------------------
 *
 * walk.h
 *	  Plan nodes of gpucol's own, and the children of any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_WALK_H
#define GPUCOL_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Is it a node of ours? */
extern bool gpucol_plan_is_ours(const Plan *plan);

typedef void (*GpucolPlanVisit) (Plan *child, void *context);

/*
 * Call `visit` for each child of a plan node that runs as part of it; initplans and
 * subplans of its expressions are none.
 */
extern void gpucol_plan_walk(Plan *plan, GpucolPlanVisit visit, void *context);

#endif							/* GPUCOL_PLAN_WALK_H */
