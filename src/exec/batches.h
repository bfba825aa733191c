/*-------------------------------------------------------------------------
 *
 * batches.h
 *	  Rows that one node of ours hands to another a column at a time, and the rows of a
 *	  plan by whatever it has: such batches, or tuples.
 *
 * A node that can deliver its rows so has GpucolBatchOps, and a line in batches.c's table;
 * whatever else it does is as before: who asks for tuples gets tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_BATCHES_H
#define GPUCOL_EXEC_BATCHES_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "columnar/row_batch.h"
#include "exec/result.h"

/* Rows as the columns of an engine's result, with what their values mean. */
typedef struct GpucolBatch
{
	uint32		nrows;
	uint32		removed;		/* rows that conditions of the node above did not let pass */
	int			ncolumns;
	GpucolOutput *outputs;		/* by column; labels: NULL */
	GpucolResultColumn *columns;
} GpucolBatch;

/* How a node delivers its rows in batches. */
typedef struct GpucolBatchOps
{
	bool		large;			/* batches are so large that several threads may share one */
	bool		tests;			/* conditions of the node above can be tested */

	/*
	 * Can it, as far as is known before it runs?  Then batches are asked for, of the rows that pass the
	 * conditions of `above`, in which the node's columns are Vars of OUTER_VAR; both are NULL where there are
	 * none.
	 */
	bool		(*offer) (CustomScanState *node, PlanState *above, List *conditions);

	/*
	 * Does it leave these conditions to the reader, though it tests others?  The function may be NULL.
	 */
	bool		(*leaves) (CustomScanState *node, List *conditions);

	/*
	 * Of the batches to come only these columns are read, until it offers batches again; NULL: all.  What the
	 * others are in a batch does not matter then.  The function may be NULL.
	 */
	void		(*want) (CustomScanState *node, const bool *wanted);

	/*
	 * The next batch, valid until the next call: GPUCOL_OK or GPUCOL_END.  GPUCOL_UNSUPPORTED
	 * before the first one where the rows are to be had as tuples only.
	 */
	GpucolStatus (*next) (CustomScanState *node, GpucolBatch *batch);
} GpucolBatchOps;

/* The nodes that have them, by the methods of their states. */
extern const CustomExecMethods gpucol_scan_exec_methods;
extern const GpucolBatchOps gpucol_scan_batches;
extern const CustomExecMethods gpucol_join_exec_methods;
extern const GpucolBatchOps gpucol_join_batches;
extern const CustomExecMethods gpucol_agg_exec_methods;
extern const GpucolBatchOps gpucol_agg_batches;
extern const CustomExecMethods gpucol_window_exec_methods;
extern const GpucolBatchOps gpucol_window_batches;

/* Reads the rows of a plan from the first. */
typedef struct GpucolPlanReader GpucolPlanReader;

/* May rows of a plan come in batches; in those that several threads share? */
extern bool gpucol_plan_reader_has_batches(PlanState *plan);
extern bool gpucol_plan_reader_has_large_batches(PlanState *plan);

/* Begin, in the current memory context, which ends it; the plan is scanned again. */
extern GpucolPlanReader *gpucol_plan_reader_open(PlanState *plan);

/*
 * Only the plan's columns that these are of are read of what the next calls deliver, after a rescan too; the
 * rows that were unread have all.
 */
extern void gpucol_plan_reader_want(GpucolPlanReader *reader, const GpucolProgramColumn *columns, int ncolumns);

/* Begin again. */
extern void gpucol_plan_reader_rescan(GpucolPlanReader *reader);

/*
 * Go on to the next rows: *batch, in the plan's columns, of which some are left, or one tuple.  False if
 * there are none.  Both are valid until the next call.
 */
extern bool gpucol_plan_reader_next(GpucolPlanReader *reader, const GpucolBatch **batch,
									TupleTableSlot **slot);

/* Have the next call deliver what the last one did. */
extern void gpucol_plan_reader_unread(GpucolPlanReader *reader);

/* batch_values.c */

/* Room for the columns of a batch, in the current context. */
extern void gpucol_batch_init(GpucolBatch *batch, int ncolumns);

/*
 * Put rows [first, first + n) of a column into column c of rows that are begun, in the current context, which
 * may show values in place; of types that `map` knows.  False where a value has no form in the column's kind.
 */
extern bool gpucol_batch_put(const GpucolBatch *batch, int column, uint32 first, uint32 n,
							 GpucolRowBatch *rows, int c);

/* A column of a constant, in the current context. */
extern void gpucol_batch_constant(const Const *constant, uint32 nrows, GpucolOutput *output,
								  GpucolResultColumn *column);

/* Copy the values of a batch, into the current context. */
extern void gpucol_batch_copy(GpucolBatch *batch);

/* A batch as one piece of memory, aligned at 16 bytes, and back, in place; `moved`, it was packed elsewhere. */
extern Size gpucol_batch_packed_size(const GpucolBatch *batch);
extern void gpucol_batch_pack(const GpucolBatch *batch, char *to);
extern void gpucol_batch_unpack(char *from, bool moved, GpucolBatch *batch);

#endif							/* GPUCOL_EXEC_BATCHES_H */
