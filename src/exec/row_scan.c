/*-------------------------------------------------------------------------
 *
 * row_scan.c
 *	  What the scans of tables and of recursions share.
 *
 * The engine delivers batches of the columns that the plan needs.  A batch is
 * turned into datums a column at a time; rows are dealt from it through the scan
 * slot, or it is taken as a whole by what fills a table (into.c).
 *
 * Fallback: where no engine can run the scan, plain rows of what is scanned take
 * the batches' place, and PostgreSQL tests the pushed conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "storage/itemptr.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/burials.h"
#include "exec/jsonb_number.h"
#include "exec/row_scan.h"

/* Plain rows in a batch. */
#define PLAIN_ROWS	1024

/*
 * The conditions to test of plain rows: the pushed ones, each behind those that stood
 * before it, so that nothing is computed for rows which these exclude: an engine has
 * fallen back, say, because a constant raises an error.  They are tested again with the
 * others; volatile ones and subqueries are not tested here.
 */
static List *
plain_conditions(const GpucolRowScan *scan)
{
	List	   *others = scan->css.ss.ps.plan->qual;
	List	   *result = NIL;
	int			n = 0;
	ListCell   *lc;
	ListCell   *before;

	if (scan->behind == NIL)
		return scan->pushed;
	forboth(lc, scan->pushed, before, scan->behind)
	{
		for (; n < lfirst_int(before); n++)
		{
			Node	   *other = list_nth(others, n);

			if (!contain_volatile_functions(other) && !contain_subplans(other))
				result = lappend(result, other);
		}
		result = lappend(result, lfirst(lc));
	}
	return result;
}

void
gpucol_row_scan_init(GpucolRowScan *scan, Bitmapset *attnums,
					 const GpucolRowScanMethods *methods)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	int			n = Max(bms_num_members(attnums), 1);
	int			attnum = -1;

	scan->methods = methods;
	scan->pushed_qual = ExecInitQual(scan->pushed, &scan->css.ss.ps);
	scan->plain_qual = ExecInitQual(plain_conditions(scan), &scan->css.ss.ps);
	gpucol_jsonb_number_install(scan->plain_qual);
	scan->batch_context = AllocSetContextCreate(scan->css.ss.ps.state->es_query_cxt,
												"gpucol scan batch",
												ALLOCSET_DEFAULT_SIZES);
	scan->attnums = palloc(n * sizeof(AttrNumber));
	scan->outputs = palloc0(n * sizeof(GpucolOutput));
	scan->values = palloc(n * sizeof(Datum *));
	scan->isnull = palloc(n * sizeof(bool *));
	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
		scan->attnums[scan->noutputs++] = attnum;

	/* columns that nothing needs stay NULL */
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
}

bool
gpucol_row_scan_lower(GpucolRowScan *scan, GpucolLower *l, TupleDesc desc)
{
	for (int i = 0; i < scan->noutputs; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, scan->attnums[i] - 1);
		Var			var = {
			.xpr.type = T_Var,
			.varno = scan->exec.varno,
			.varattno = scan->attnums[i],
			.vartype = att->atttypid,
			.vartypmod = att->atttypmod,
			.varcollid = att->attcollation
		};
		GpucolValue value;

		if (!gpucol_lower_output(l, (Expr *) &var, &value))
			return false;
		gpucol_output_init(&scan->outputs[i], att->atttypid, att->atttypmod,
						   att->attcollation, &value);
	}
	return true;
}

void
gpucol_row_scan_load(GpucolRowScan *scan, const GpucolResult *result)
{
	gpucol_outputs_load(scan->batch_context, scan->outputs, scan->noutputs, result,
						scan->values, scan->isnull);
	/* rows of a recursion have no identity */
	scan->tids = scan->exec.rel != NULL ? result->tids : NULL;
	scan->nrows = result->nrows;
	scan->next = 0;
}

TupleTableSlot *
gpucol_row_scan_store(GpucolRowScan *scan, int64 row)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < scan->noutputs; i++)
	{
		int			att = scan->attnums[i] - 1;

		slot->tts_values[att] = scan->values[i][row];
		slot->tts_isnull[att] = scan->isnull[i][row];
	}
	ExecStoreVirtualTuple(slot);
	if (scan->tids != NULL)
	{
		slot->tts_tableOid = RelationGetRelid(scan->exec.rel);
		ItemPointerSet(&slot->tts_tid, (BlockNumber) (scan->tids[row] >> 16),
					   (OffsetNumber) (scan->tids[row] & 0xffff));
	}
	return slot;
}

void
gpucol_row_scan_begin_plain(GpucolRowScan *scan)
{
	MemoryContext old;

	if (scan->plain)
		return;
	old = MemoryContextSwitchTo(scan->css.ss.ps.state->es_query_cxt);
	scan->methods->begin_plain(scan);
	MemoryContextSwitchTo(old);
	scan->plain = true;
}

/* The next batch of the engine, which may take long; false at its end, or where plain rows follow. */
static bool
next_batch(GpucolRowScan *scan)
{
	GpucolStatus status;

	gpucol_burials_write();
	status = scan->methods->next_batch(scan);

	if (status == GPUCOL_OK || status == GPUCOL_END)
		return status == GPUCOL_OK;
	gpucol_row_scan_begin_plain(scan);
	return false;
}

/* The next plain row that passes, in the scan slot; it is empty at the end. */
static TupleTableSlot *
next_plain(GpucolRowScan *scan)
{
	TupleTableSlot *slot = scan->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;

	while (scan->methods->next_plain(scan, slot))
	{
		CHECK_FOR_INTERRUPTS();
		econtext->ecxt_scantuple = slot;
		if (ExecQual(scan->plain_qual, econtext))
			return slot;
		ResetExprContext(econtext);
	}
	return ExecClearTuple(slot);
}

TupleTableSlot *
gpucol_row_scan_next(ScanState *node)
{
	GpucolRowScan *scan = (GpucolRowScan *) node;

	while (!scan->plain && scan->next >= scan->nrows)
		if (!next_batch(scan) && !scan->plain)
			return ExecClearTuple(node->ss_ScanTupleSlot);
	if (scan->plain)
		return next_plain(scan);
	return gpucol_row_scan_store(scan, scan->next++);
}

/* A batch of plain rows. */
static bool
fetch_plain(GpucolRowScan *scan)
{
	MemoryContext old;

	MemoryContextReset(scan->batch_context);
	scan->nrows = 0;
	scan->tids = NULL;
	for (int i = 0; i < scan->noutputs; i++)
	{
		scan->values[i] = MemoryContextAlloc(scan->batch_context,
											 PLAIN_ROWS * sizeof(Datum));
		scan->isnull[i] = MemoryContextAlloc(scan->batch_context,
											 PLAIN_ROWS * sizeof(bool));
	}
	while (scan->nrows < PLAIN_ROWS)
	{
		TupleTableSlot *slot = next_plain(scan);

		if (TupIsNull(slot))
			break;
		old = MemoryContextSwitchTo(scan->batch_context);
		for (int i = 0; i < scan->noutputs; i++)
		{
			int			att = scan->attnums[i] - 1;
			Form_pg_attribute form = TupleDescAttr(slot->tts_tupleDescriptor, att);
			bool		isnull = slot->tts_isnull[att];

			scan->isnull[i][scan->nrows] = isnull;
			scan->values[i][scan->nrows] = isnull ? (Datum) 0 :
				datumCopy(slot->tts_values[att], form->attbyval, form->attlen);
		}
		MemoryContextSwitchTo(old);
		scan->nrows++;
	}
	return scan->nrows > 0;
}

bool
gpucol_row_scan_fetch(GpucolRowScan *scan)
{
	bool		more = !scan->plain && next_batch(scan);

	if (scan->plain)
		more = fetch_plain(scan);
	scan->next = scan->nrows;
	return more;
}

void
gpucol_row_scan_explain(GpucolRowScan *scan, ExplainState *es)
{
	if (scan->written != NULL)
		ExplainPropertyText("Rows Written", scan->written, es);
	if (scan->not_batched != NULL && es->verbose)
		ExplainPropertyText("Not Written In Batches", scan->not_batched, es);
}

void
gpucol_row_scan_reset(GpucolRowScan *scan)
{
	scan->nrows = scan->next = 0;
	scan->tids = NULL;
	scan->plain = false;
}
