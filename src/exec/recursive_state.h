/*-------------------------------------------------------------------------
 *
 * recursive_state.h
 *	  What the files of the recursion nodes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RECURSIVE_STATE_H
#define GPUCOL_EXEC_RECURSIVE_STATE_H

#include "postgres.h"

#include "exec/recursive.h"

extern const CustomScanMethods gpucol_recursive_scan_methods;
extern const CustomScanMethods gpucol_inputs_scan_methods;
extern const CustomScanMethods gpucol_recursive_agg_scan_methods;

/* The input plan states that a GpucolInputs (or a scan above it) holds. */
extern List *gpucol_inputs_states(PlanState *state);

#endif							/* GPUCOL_EXEC_RECURSIVE_STATE_H */
