/*-------------------------------------------------------------------------
 *
 * ordinary.h
 *	  The ordinary plan that a node falls back to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_ORDINARY_H
#define GPUCOL_EXEC_ORDINARY_H

#include "postgres.h"

#include "nodes/execnodes.h"

/*
 * Initialise the ordinary plan of a node while the statement runs, as ExecInitNode does.
 */
extern PlanState *gpucol_begin_ordinary(Plan *plan, EState *estate, int eflags);

/* The same of the first plan that a node carries, from now on one of its own. */
extern PlanState *gpucol_begin_fallback(CustomScanState *node, int eflags);

#endif							/* GPUCOL_EXEC_ORDINARY_H */
