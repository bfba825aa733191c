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
	int			ncolumns;
	GpucolOutput *outputs;		/* by column; labels: NULL */
	GpucolResultColumn *columns;
} GpucolBatch;

/* How a node delivers its rows in batches. */
typedef struct GpucolBatchOps
{
	/* Can it, as far as is known before it runs?  Then batches are asked for. */
	bool		(*offer) (CustomScanState *node);

	/*
	 * The next batch, valid until the next call: GPUCOL_OK or GPUCOL_END.  GPUCOL_UNSUPPORTED
	 * before the first one where the rows are to be had as tuples only.
	 */
	GpucolStatus (*next) (CustomScanState *node, GpucolBatch *batch);
} GpucolBatchOps;

/* The nodes that have them, by the methods of their states. */
extern const CustomExecMethods gpucol_agg_exec_methods;
extern const GpucolBatchOps gpucol_agg_batches;

/* Reads the rows of a plan from the first. */
typedef struct GpucolPlanReader GpucolPlanReader;

/* May rows of a plan come in batches? */
extern bool gpucol_plan_reader_has_batches(PlanState *plan);

/* Begin, in the current memory context, which ends it; the plan is scanned again. */
extern GpucolPlanReader *gpucol_plan_reader_open(PlanState *plan);

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

/* A batch as one piece of memory, aligned at 16 bytes, and back, in place. */
extern Size gpucol_batch_packed_size(const GpucolBatch *batch);
extern void gpucol_batch_pack(const GpucolBatch *batch, char *to);
extern void gpucol_batch_unpack(char *from, GpucolBatch *batch);

#endif							/* GPUCOL_EXEC_BATCHES_H */
