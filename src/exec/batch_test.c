/*-------------------------------------------------------------------------
 *
 * batch_test.c
 *	  Conditions of a plan node on batches of the node below, evaluated by PostgreSQL.
 *
 * Datums are formed of the columns that the conditions read, a vector's worth at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "exec/batch_test.h"
#include "kernel/format.h"

struct GpucolBatchTest
{
	ExprState  *qual;
	ExprContext *econtext;
	TupleTableSlot *slot;
	int			nreads;			/* columns that are read: */
	int		   *reads;
	Datum	  **values;			/* of a vector, by these */
	bool	  **isnull;
	MemoryContext context;		/* of a test */
};

GpucolBatchTest *
gpucol_batch_test_begin(PlanState *above, List *conditions, TupleDesc desc)
{
	GpucolBatchTest *test = palloc0(sizeof(GpucolBatchTest));
	Bitmapset  *reads = NULL;
	int			attnum = -1;

	pull_varattnos((Node *) conditions, OUTER_VAR, &reads);
	test->qual = ExecInitQual(conditions, NULL);
	test->econtext = above->ps_ExprContext;
	test->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	test->reads = palloc((desc->natts + 1) * sizeof(int));
	test->values = palloc((desc->natts + 1) * sizeof(Datum *));
	test->isnull = palloc((desc->natts + 1) * sizeof(bool *));
	while ((attnum = bms_next_member(reads, attnum)) >= 0)
	{
		test->values[test->nreads] = palloc(GPUCOL_VECTOR_VALUES * sizeof(Datum));
		test->isnull[test->nreads] = palloc(GPUCOL_VECTOR_VALUES * sizeof(bool));
		test->reads[test->nreads++] = attnum + FirstLowInvalidHeapAttributeNumber - 1;
	}
	for (int c = 0; c < desc->natts; c++)
		test->slot->tts_isnull[c] = true;
	ExecStoreVirtualTuple(test->slot);
	test->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol batch test", ALLOCSET_DEFAULT_SIZES);
	return test;
}

/* Test n rows from `first` on; the numbers of those that pass go to `passed`, and how many is returned. */
static uint32
test_vector(GpucolBatchTest *test, const GpucolBatch *batch, uint32 first, uint32 n, uint32 *passed)
{
	ExprContext *econtext = test->econtext;
	uint32		npassed = 0;

	for (int i = 0; i < test->nreads; i++)
	{
		GpucolResultColumn column = gpucol_result_column_from(&batch->columns[test->reads[i]], first);

		gpucol_output_datums(&batch->outputs[test->reads[i]], &column, n, test->values[i], test->isnull[i]);
	}
	econtext->ecxt_outertuple = test->slot;
	for (uint32 row = 0; row < n; row++)
	{
		for (int i = 0; i < test->nreads; i++)
		{
			test->slot->tts_values[test->reads[i]] = test->values[i][row];
			test->slot->tts_isnull[test->reads[i]] = test->isnull[i][row];
		}
		ResetExprContext(econtext);
		if (ExecQual(test->qual, econtext))
			passed[npassed++] = first + row;
	}
	return npassed;
}

void
gpucol_batch_test(GpucolBatchTest *test, GpucolBatch *batch)
{
	MemoryContext old;
	uint32	   *passed;
	uint32		n = 0;

	MemoryContextReset(test->context);
	old = MemoryContextSwitchTo(test->context);
	passed = palloc_extended(Max(batch->nrows, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 first = 0; first < batch->nrows; first += GPUCOL_VECTOR_VALUES)
	{
		CHECK_FOR_INTERRUPTS();
		n += test_vector(test, batch, first, Min(batch->nrows - first, GPUCOL_VECTOR_VALUES), passed + n);
	}
	for (int c = 0; c < batch->ncolumns && n < batch->nrows; c++)
		batch->columns[c] = gpucol_result_column_chosen(&batch->columns[c], passed, n);
	batch->removed += batch->nrows - n;
	batch->nrows = n;
	MemoryContextSwitchTo(old);
}
