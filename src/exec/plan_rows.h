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

#include "exec/kept_rows.h"
#include "kernel/program.h"
#include "lower/pipe.h"

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

/* How many threads may work on its rows: more than one where they come in batches. */
extern int	gpucol_plan_rows_threads(PlanState *plan);

/*
 * Have the plan begin: NULL if it has no row, else what a source is opened with that delivers all
 * its rows, the first included.
 */
extern GpucolPlanReader *gpucol_plan_rows_begin(PlanState *plan);
extern GpucolSource *gpucol_plan_rows_open_begun(GpucolPlanReader *begun, TupleDesc desc,
												 const GpucolProgramColumn *columns, int ncolumns);

/*
 * The next row of a store, in a slot; false behind the last one.  A row that comes from the disk is
 * of the slot's memory, so that it lasts as long as the slot has it, whatever run has asked for it.
 */
extern bool gpucol_plan_rows_stored(Tuplestorestate *store, TupleTableSlot *slot);

/*
 * Look at the rows of the plan that `pipe` reads where something must be known of all of
 * them: how many digits numerics have that are computed with (lower/pipe_decimal.c),
 * and, before rows are `delivered`, that engines compute with every value, and that none is
 * too long if something `grows` in a condition (lower/harmless.h).  They are kept
 * then (*kept), in work_mem and beyond that on disk.  False where engines do not.  `begun`
 * is the plan's reader, if it has begun.  With `keep` rows are kept in any case.
 */
extern bool gpucol_plan_rows_look(PlanState *plan, GpucolPlanReader *begun, GpucolPipe *pipe,
								  bool delivered, bool grows, bool keep,
								  GpucolKeptRows **kept);
extern GpucolSource *gpucol_plan_rows_open_kept(GpucolKeptRows *kept,
												const GpucolProgramColumn *columns, int ncolumns);

#endif							/* GPUCOL_EXEC_PLAN_ROWS_H */
