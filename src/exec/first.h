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

#include "kernel/first.h"
#include "lower/agg.h"

/*
 * Fill *first: for HAVING (a List of conjuncts over the scan tuple: keys, then aggregates)
 * and the first groups as a plan node carries them (GPUCOL_AGG_PRIVATE_FIRST, or NIL), the
 * grouping being lowered.  False: all groups are wanted, or an engine cannot tell.
 */
extern bool gpucol_first_make(const GpucolGroupPlan *plan, List *having, List *wanted,
							  GpucolFirst *first);

#endif							/* GPUCOL_EXEC_FIRST_H */
