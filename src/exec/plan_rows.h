/*-------------------------------------------------------------------------
 *
 * plan_rows.h
 *	  The rows of any PostgreSQL plan as a GpucolSource.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_PLAN_ROWS_H
#define GPUCOL_EXEC_PLAN_ROWS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "kernel/program.h"

/*
 * Open the rows of `plan`, whose result tuples are of `desc`, as a source with these
 * columns of it (a GpucolOpenRows), in the current memory context, which ends it.  The
 * plan is read from its first row, whatever was read of it before; the source does not
 * end it.
 *
 * next_delta is GPUCOL_UNSUPPORTED where a value has no form in its column's kind.  A
 * rescan runs the plan again: who wants the same rows twice reads no plan with volatile
 * functions.
 */
extern GpucolSource *gpucol_plan_rows_open(PlanState *plan, TupleDesc desc,
										   const GpucolProgramColumn *columns, int ncolumns);

#endif							/* GPUCOL_EXEC_PLAN_ROWS_H */
