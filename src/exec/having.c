/*-------------------------------------------------------------------------
 *
 * having.c
 *	  HAVING, tested on an engine's groups before they are formed.
 *
 * Where all conjuncts compare a state with a constant they are tests (first.c), on the states themselves.  Else they
 * are computed over bounds (bounds.c), and PostgreSQL evaluates them for those groups only of which these
 * leave it open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "exec/having.h"

/* What a group is tested with. */
typedef struct Tester
{
	GpucolHaving *having;
	const GpucolAgg *aggs;
	ScanState  *node;
} Tester;

void
gpucol_having_look(GpucolHaving *having, const GpucolGroupPlan *plan, const GpucolOutput *keys, ScanState *node)
{
	having->looked = true;
	having->bounds = NULL;
	having->tests.ntests = 0;
	having->tested = node->ps.qual == NULL ||
		(plan != NULL && gpucol_first_having(plan, &node->ps, &having->tests));
	if (!having->tested && plan != NULL)
	{
		having->bounds = gpucol_bounds_make(plan, keys, &node->ps);
		having->tested = having->bounds != NULL;
	}
	if (!having->tested)
		return;
	having->qual = node->ps.qual;
	node->ps.qual = NULL;
}

void
gpucol_having_forget(GpucolHaving *having, ScanState *node)
{
	if (having->tested)
		node->ps.qual = having->qual;
	having->looked = having->tested = false;
}

/* Does a group meet all tests? */
static bool
meets(void *arg, const GpucolGroupRows *rows, uint32 group)
{
	const Tester *tester = arg;
	const GpucolFirst *tests = &tester->having->tests;
	const GpucolAggState *states = rows->batch.states + (Size) group * rows->nstates;

	for (int t = 0; t < tests->ntests; t++)
	{
		const GpucolFirstTest *test = &tests->tests[t];
		__int128	value = 0;
		bool		known = gpucol_first_agg_value(test->by, tester->aggs[test->number].cls, &states[test->number],
												   &value);

		if (!gpucol_first_meets(test, known, value))
			return false;
	}
	return true;
}

/* Does PostgreSQL find that a group meets HAVING? */
static bool
evaluates(const Tester *tester, const GpucolGroupRows *rows, uint32 group)
{
	ScanState  *node = tester->node;
	ExprContext *econtext = node->ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	MemoryContext old;
	bool		met;

	tester->having->evaluated++;
	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	ExecClearTuple(slot);
	gpucol_group_rows_one(rows, group, slot->tts_values, slot->tts_isnull);
	ExecStoreVirtualTuple(slot);
	MemoryContextSwitchTo(old);
	econtext->ecxt_scantuple = slot;
	met = ExecQual(tester->having->qual, econtext);
	ExecClearTuple(slot);
	ResetExprContext(econtext);
	return met;
}

/* Does a group meet HAVING, by its bounds or by PostgreSQL? */
static bool
lies_within(void *arg, const GpucolGroupRows *rows, uint32 group)
{
	const Tester *tester = arg;
	GpucolBoundsSays says = gpucol_bounds_decide(tester->having->bounds, rows->batch.columns, group,
												 rows->batch.states + (Size) group * rows->nstates);

	return says == GPUCOL_BOUNDS_MEETS || (says == GPUCOL_BOUNDS_OPEN && evaluates(tester, rows, group));
}

uint32
gpucol_having_test(GpucolHaving *having, GpucolGroupRows *rows, ScanState *node, const GpucolAgg *aggs)
{
	Tester		tester = {having, aggs, node};

	if (having->bounds != NULL)
		return gpucol_group_rows_keep(rows, lies_within, &tester);
	return having->tests.ntests > 0 ? gpucol_group_rows_keep(rows, meets, &tester) : 0;
}
