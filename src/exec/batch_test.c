/*-------------------------------------------------------------------------
 *
 * batch_test.c
 *	  Conditions of a plan node on batches of the node below, most of them evaluated by PostgreSQL.
 *
 * Comparisons with constants that come first are evaluated here (batch_compare.c).  For the others, datums are
 * formed of the columns that they read, a vector's worth at a time.  None is evaluated for a row of which PostgreSQL
 * would have tested an earlier one in vain.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"

#include "exec/batch_compare.h"
#include "exec/batch_test.h"
#include "exec/jsonb_number.h"
#include "kernel/format.h"

/* Conditions that PostgreSQL evaluates. */
typedef struct Evaluated
{
	ExprState  *qual;			/* NULL: there are none */
	int			nreads;			/* columns that they read: */
	int		   *reads;
} Evaluated;

struct GpucolBatchTest
{
	List	   *compares;		/* GpucolBatchCompare of the first conditions; */
	Evaluated	rest;			/* the others */
	Evaluated	all;			/* and all: of batches that cannot be compared */
	bool	   *taken;			/* columns that are read of the rows that are left, here or by others */
	ExprContext *econtext;
	TupleTableSlot *slot;
	Datum	  **values;			/* of a vector, by column; NULL: it is not read */
	bool	  **isnull;
	MemoryContext context;		/* of a test */
};

/* Have conditions evaluated, and a place for the values of each column that they read. */
static void
begin_evaluation(GpucolBatchTest *test, List *conditions, Evaluated *evaluated, int ncolumns)
{
	Bitmapset  *reads = NULL;
	int			attnum = -1;

	pull_varattnos((Node *) conditions, OUTER_VAR, &reads);
	evaluated->qual = ExecInitQual(conditions, NULL);
	gpucol_jsonb_number_install(evaluated->qual);
	evaluated->reads = palloc((ncolumns + 1) * sizeof(int));
	while ((attnum = bms_next_member(reads, attnum)) >= 0)
	{
		int			column = attnum + FirstLowInvalidHeapAttributeNumber - 1;

		evaluated->reads[evaluated->nreads++] = column;
		if (test->values[column] == NULL)
		{
			test->values[column] = palloc(GPUCOL_VECTOR_VALUES * sizeof(Datum));
			test->isnull[column] = palloc(GPUCOL_VECTOR_VALUES * sizeof(bool));
		}
	}
}

GpucolBatchTest *
gpucol_batch_test_begin(PlanState *above, List *conditions, TupleDesc desc, const int *places, int nplaces)
{
	GpucolBatchTest *test = palloc0(sizeof(GpucolBatchTest));
	ListCell   *lc;

	test->econtext = above->ps_ExprContext;
	test->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	test->values = palloc0((desc->natts + 1) * sizeof(Datum *));
	test->isnull = palloc0((desc->natts + 1) * sizeof(bool *));
	test->taken = palloc0((desc->natts + 1) * sizeof(bool));
	for (int i = 0; i < nplaces; i++)
		test->taken[places[i]] = true;
	foreach(lc, conditions)
	{
		GpucolBatchCompare *compare = gpucol_batch_compare_of(lfirst(lc), OUTER_VAR);

		if (compare == NULL)
			break;
		test->compares = lappend(test->compares, compare);
	}
	begin_evaluation(test, conditions, &test->all, desc->natts);
	if (test->compares != NIL)
		begin_evaluation(test, list_copy_tail(conditions, list_length(test->compares)), &test->rest, desc->natts);
	for (int i = 0; i < test->rest.nreads; i++)
		test->taken[test->rest.reads[i]] = true;
	for (int c = 0; c < desc->natts; c++)
		test->slot->tts_isnull[c] = true;
	ExecStoreVirtualTuple(test->slot);
	test->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol batch test", ALLOCSET_DEFAULT_SIZES);
	return test;
}

/* Test n rows from `first` on; the numbers of those that pass go to `passed`, and how many is returned. */
static uint32
test_vector(GpucolBatchTest *test, const Evaluated *evaluated, const GpucolBatch *batch, uint32 first, uint32 n,
			uint32 *passed)
{
	ExprContext *econtext = test->econtext;
	uint32		npassed = 0;

	for (int i = 0; i < evaluated->nreads; i++)
	{
		int			c = evaluated->reads[i];
		GpucolResultColumn column = gpucol_result_column_from(&batch->columns[c], first);

		gpucol_output_datums(&batch->outputs[c], &column, n, test->values[c], test->isnull[c]);
	}
	econtext->ecxt_outertuple = test->slot;
	for (uint32 row = 0; row < n; row++)
	{
		for (int i = 0; i < evaluated->nreads; i++)
		{
			int			c = evaluated->reads[i];

			test->slot->tts_values[c] = test->values[c][row];
			test->slot->tts_isnull[c] = test->isnull[c][row];
		}
		ResetExprContext(econtext);
		if (ExecQual(evaluated->qual, econtext))
			passed[npassed++] = first + row;
	}
	return npassed;
}

/* The rows of a batch that meet conditions; returns how many. */
static uint32
test_rows(GpucolBatchTest *test, const Evaluated *evaluated, const GpucolBatch *batch, uint32 *passed)
{
	uint32		n = 0;

	for (uint32 first = 0; first < batch->nrows; first += GPUCOL_VECTOR_VALUES)
	{
		CHECK_FOR_INTERRUPTS();
		n += test_vector(test, evaluated, batch, first, Min(batch->nrows - first, GPUCOL_VECTOR_VALUES), passed + n);
	}
	return n;
}

/* The same for comparisons. */
static uint32
compare_rows(const GpucolBatchTest *test, const GpucolBatch *batch, uint32 *passed)
{
	uint32		n = batch->nrows;
	ListCell   *lc;

	for (uint32 i = 0; i < n; i++)
		passed[i] = i;
	foreach(lc, test->compares)
		n = gpucol_batch_compare(lfirst(lc), batch, passed, n);
	return n;
}

/* May all comparisons be made of a batch? */
static bool
can_compare(const GpucolBatchTest *test, const GpucolBatch *batch)
{
	ListCell   *lc;

	foreach(lc, test->compares)
	{
		if (!gpucol_batch_compare_fits(lfirst(lc), batch))
			return false;
	}
	return test->compares != NIL;
}

/* Has a batch a column at all? */
static inline bool
has_column(const GpucolResultColumn *column)
{
	return column->i != NULL || column->d != NULL || column->f != NULL || column->s != NULL;
}

/* Leave these rows of a batch. */
static void
leave(const GpucolBatchTest *test, GpucolBatch *batch, const uint32 *passed, uint32 n)
{
	for (int c = 0; c < batch->ncolumns && n < batch->nrows; c++)
	{
		if (test->taken[c] && has_column(&batch->columns[c]))
			batch->columns[c] = gpucol_result_column_chosen(&batch->columns[c], passed, n);
	}
	batch->removed += batch->nrows - n;
	batch->nrows = n;
}

void
gpucol_batch_test(GpucolBatchTest *test, GpucolBatch *batch)
{
	bool		compared = can_compare(test, batch);
	const Evaluated *evaluated = compared ? &test->rest : &test->all;
	MemoryContext old;
	uint32	   *passed;

	MemoryContextReset(test->context);
	old = MemoryContextSwitchTo(test->context);
	passed = palloc_extended(Max(batch->nrows, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	if (compared)
		leave(test, batch, passed, compare_rows(test, batch, passed));
	if (evaluated->qual != NULL)
		leave(test, batch, passed, test_rows(test, evaluated, batch, passed));
	MemoryContextSwitchTo(old);
}
