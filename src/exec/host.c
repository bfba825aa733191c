/*-------------------------------------------------------------------------
 *
 * host.c
 *	  Host tests: PostgreSQL's executor evaluates a predicate over one column
 *	  for values that an engine hands over.
 *
 * Orders of its values: PostgreSQL's sort support compares two of them.
 *
 * Tests that the bytes decide are decided by match.c instead, without a call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "exec/match.h"
#include "exec/run.h"

/* Comparisons between looks for interrupts. */
#define COMPARED_AT_ONCE	1000

/* A test ready for evaluation. */
typedef struct HostTest
{
	GpucolMatch *match;			/* or NULL: by the executor */
	ExprState  *state;
	TupleTableSlot *slot;		/* one column: the value under test */
	const GpucolTypeMap *map;
} HostTest;

/* A value as a datum, in memory that the next one takes over. */
typedef struct HostValue
{
	char	   *memory;
	Size		size;
} HostValue;

/* An order ready for comparisons. */
typedef struct HostOrder
{
	SortSupportData sort;
	const GpucolTypeMap *map;
	HostValue	values[2];
} HostOrder;

typedef struct HostContext
{
	HostTest   *tests;
	HostOrder  *orders;
	int			ncompared;		/* since scratch was reset */
	ExprContext *econtext;
	MemoryContext scratch;		/* one value's memory */
} HostContext;

/* Evaluate a test on one value: 0 false, 1 true, 2 NULL. */
static uint8_t
test_value(HostContext *context, HostTest *test, const GpucolBytes *value,
		   bool isnull)
{
	TupleTableSlot *slot = test->slot;
	bool		result_null;
	Datum		result;

	ExecClearTuple(slot);
	slot->tts_isnull[0] = isnull;
	slot->tts_values[0] = isnull ? (Datum) 0 :
		gpucol_typemap_from_bytes(test->map, *value);
	ExecStoreVirtualTuple(slot);
	context->econtext->ecxt_scantuple = slot;
	result = ExecEvalExpr(test->state, context->econtext, &result_null);
	return result_null ? 2 : DatumGetBool(result) ? 1 : 0;
}

/* GpucolHost's callback. */
static void
host_test(void *arg, int id, int n, const GpucolBytes *values,
		  const bool *isnull, uint8_t *result)
{
	HostContext *context = arg;
	MemoryContext old;

	if (context->tests[id].match != NULL)
	{
		gpucol_match_values(context->tests[id].match, n, values, isnull, result);
		return;
	}
	old = MemoryContextSwitchTo(context->scratch);
	for (int i = 0; i < n; i++)
	{
		result[i] = test_value(context, &context->tests[id], &values[i],
							   isnull != NULL && isnull[i]);
		MemoryContextReset(context->scratch);
	}
	MemoryContextSwitchTo(old);
}

/* The value as a datum. */
static Datum
value_datum(const HostOrder *order, HostValue *value, const GpucolBytes *bytes)
{
	Size		header = order->map->typlen == -1 ? VARHDRSZ : 0;

	if (order->map->typbyval)
		return gpucol_typemap_from_bytes(order->map, *bytes);
	if (value->size < header + bytes->len)
	{
		value->size = header + bytes->len * 2 + 64;
		value->memory = value->memory == NULL ?
			MemoryContextAllocHuge(order->sort.ssup_cxt, value->size) :
			repalloc_huge(value->memory, value->size);
	}
	if (header > 0)
		SET_VARSIZE(value->memory, header + bytes->len);
	memcpy(value->memory + header, bytes->data, bytes->len);
	return PointerGetDatum(value->memory);
}

/* GpucolHost's callback. */
static int
host_compare(void *arg, int id, const GpucolBytes *a, const GpucolBytes *b)
{
	HostContext *context = arg;
	HostOrder  *order = &context->orders[id];
	Datum		x = value_datum(order, &order->values[0], a);
	Datum		y = value_datum(order, &order->values[1], b);
	MemoryContext old = MemoryContextSwitchTo(context->scratch);
	int			result = order->sort.comparator(x, y, &order->sort);

	MemoryContextSwitchTo(old);
	if (++context->ncompared >= COMPARED_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context->scratch);
		context->ncompared = 0;
	}
	return result;
}

/* Look one order up. */
static void
init_order(HostOrder *order, GpucolLower *l, const GpucolHostOrder *host)
{
	order->map = &l->maps[host->column];
	order->sort.ssup_cxt = CurrentMemoryContext;
	order->sort.ssup_collation = host->collation;
	PrepareSortSupportFromOrderingOp(host->less, &order->sort);
}

/* Compile one test. */
static void
init_test(HostTest *test, GpucolLower *l, const GpucolHostTest *host,
		  PlanState *ps)
{
	AttrNumber	attnum = l->columns[host->column].attnum;
	TupleDesc	desc = CreateTemplateTupleDesc(1);

	test->match = gpucol_match_create(l, host->expr);
	TupleDescCopyEntry(desc, 1, l->desc, attnum);
	test->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	test->state = gpucol_lower_init(host->expr, ps);
	test->map = &l->maps[host->column];
}

/*
 * Prepare the host tests and orders of a lowered program; everything is allocated in the
 * current context.
 */
void
gpucol_host_init(GpucolHost *host, GpucolLower *l, PlanState *ps)
{
	HostContext *context = palloc0(sizeof(HostContext));

	context->tests = palloc(Max(l->nhosts, 1) * sizeof(HostTest));
	context->econtext = CreateStandaloneExprContext();
	/* an initplan evaluated here keeps its result for the whole query */
	context->econtext->ecxt_per_query_memory = ps->state->es_query_cxt;
	context->econtext->ecxt_param_exec_vals = ps->state->es_param_exec_vals;
	context->econtext->ecxt_param_list_info = ps->state->es_param_list_info;
	context->scratch = AllocSetContextCreate(CurrentMemoryContext,
											 "gpucol host test",
											 ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < l->nhosts; i++)
		init_test(&context->tests[i], l, &l->hosts[i], ps);
	context->orders = palloc0(Max(l->norders, 1) * sizeof(HostOrder));
	for (int i = 0; i < l->norders; i++)
		init_order(&context->orders[i], l, &l->orders[i]);
	host->context = context;
	host->compare = host_compare;
	host->test = host_test;
}
