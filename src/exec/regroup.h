/*-------------------------------------------------------------------------
 *
 * regroup.h
 *	  Groups of an engine joined to the groups of a query whose keys or arguments
 *	  only PostgreSQL evaluates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_REGROUP_H
#define GPUCOL_EXEC_REGROUP_H

#include "exec/run.h"
#include "lower/agg.h"

typedef struct GpucolRegroup GpucolRegroup;

/*
 * Run `exec` to its end and join its groups as `plan` says; in the current memory
 * context, which must outlive the run.  NULL where the node must fall back
 * (exec->fallback is set then).  Where rows are fed and `wanted` is not 0, only the first
 * so many groups that come are made.
 */
extern GpucolRegroup *gpucol_regroup_run(GpucolExec *exec, const GpucolGroupPlan *plan, uint32 wanted);

/*
 * The next group: values of its keys, results of its aggregates (allocated in the
 * current context), and of the calls of GROUPING().  False after the last.
 */
extern bool gpucol_regroup_next(GpucolRegroup *regroup, Datum *values, bool *isnull);

/* Let go of what aggregates hold beside memory; unless the query failed. */
extern void gpucol_regroup_end(GpucolRegroup *regroup);

#endif							/* GPUCOL_EXEC_REGROUP_H */
