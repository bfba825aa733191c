/*-------------------------------------------------------------------------
 *
 * row_scan.h
 *	  What the scans of tables and of recursions share: batches of an engine as
 *	  datums, rows that are dealt from them, and the plain rows that take their
 *	  place where no engine can run the scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_ROW_SCAN_H
#define GPUCOL_EXEC_ROW_SCAN_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "exec/result.h"
#include "exec/run.h"

typedef struct GpucolRowScan GpucolRowScan;

/* What a kind of scan does its own way. */
typedef struct GpucolRowScanMethods
{
	/*
	 * Load the next batch.  GPUCOL_OK, GPUCOL_END, or a status upon which plain
	 * rows take the engine's place.
	 */
	GpucolStatus (*next_batch) (GpucolRowScan *scan);

	/* Start to read plain rows, in the query's memory context. */
	void		(*begin_plain) (GpucolRowScan *scan);

	/* The next one, untested, into the scan slot; false at the end. */
	bool		(*next_plain) (GpucolRowScan *scan, TupleTableSlot *slot);
} GpucolRowScanMethods;

/* The state of a scan begins with it. */
struct GpucolRowScan
{
	CustomScanState css;
	GpucolExec	exec;
	const GpucolRowScanMethods *methods;
	List	   *pushed;			/* conditions that the engine tests */
	List	   *behind;			/* behind how many of plan.qual each stood; or NIL */
	ExprState  *pushed_qual;	/* the same for PostgreSQL to test */
	ExprState  *plain_qual;		/* what plain rows must pass first */

	/* output columns */
	int			noutputs;
	AttrNumber *attnums;		/* of the scan tuple, ascending */
	GpucolOutput *outputs;

	/* current batch as datums */
	MemoryContext batch_context;
	int64		nrows;
	int64		next;			/* to be dealt */
	Datum	  **values;			/* by output */
	bool	  **isnull;
	const uint64 *tids;			/* or NULL */

	bool		plain;			/* plain rows are read */

	/* into.c: where a statement writes the rows */
	struct GpucolInto *into;	/* that takes whole batches, or NULL */
	const char *written;		/* for EXPLAIN: how, or NULL */
	const char *not_batched;	/* why not in batches, or NULL */
};

/* Prepare: exec and pushed are set; attnums: the output columns. */
extern void gpucol_row_scan_init(GpucolRowScan *scan, Bitmapset *attnums,
								 const GpucolRowScanMethods *methods);

/* Lower the output columns, which are of descriptor `desc`. */
extern bool gpucol_row_scan_lower(GpucolRowScan *scan, GpucolLower *l, TupleDesc desc);

/* Turn the engine's batch into datums. */
extern void gpucol_row_scan_load(GpucolRowScan *scan, const GpucolResult *result);

/* Have plain rows take the engine's place, if they have not. */
extern void gpucol_row_scan_begin_plain(GpucolRowScan *scan);

/* ExecScan's access method. */
extern TupleTableSlot *gpucol_row_scan_next(ScanState *node);

/*
 * Load the next batch, be it of plain rows, without dealing rows from it: false
 * at the end.  What the values point to lives until the next call.
 */
extern bool gpucol_row_scan_fetch(GpucolRowScan *scan);

/* The lines of EXPLAIN on how rows are written. */
extern void gpucol_row_scan_explain(GpucolRowScan *scan, ExplainState *es);

/* Put a row of the batch into the scan slot. */
extern TupleTableSlot *gpucol_row_scan_store(GpucolRowScan *scan, int64 row);

/* Forget the batch; the scan starts anew. */
extern void gpucol_row_scan_reset(GpucolRowScan *scan);

/* scan.c: is this state its own, and so a GpucolRowScan? */
extern bool gpucol_scan_is_state(const PlanState *state);

#endif							/* GPUCOL_EXEC_ROW_SCAN_H */
