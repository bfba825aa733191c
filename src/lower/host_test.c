/*-------------------------------------------------------------------------
 *
 * host_test.c
 *	  Host tests: PostgreSQL's executor evaluates a predicate over one column
 *	  for values that an engine hands over, or makes other values of them.
 *
 * Orders of its values: PostgreSQL compares two of them (order.c).
 *
 * Tests that the bytes decide are decided by match.c instead, without a call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "pgtime.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "lower/harmless.h"
#include "lower/host_test.h"
#include "lower/match.h"
#include "lower/match_array.h"
#include "lower/order.h"
#include "lower/zone_table.h"

/* A test ready for evaluation. */
typedef struct HostTest
{
	GpucolMatch *match;			/* or NULL: by the executor */
	GpucolCuts *cuts;			/* or NULL: the order of bytes does not decide */
	GpucolArrayTest *array;		/* or NULL: elements of an array do not */
	ExprState  *state;
	TupleTableSlot *slot;		/* one column: the value under test */
	const GpucolTypeMap *map;
	bool		grows;			/* long values are refused (harmless.h) */
	bool		zones;			/* tables of time zones are made: */
	HTAB	   *tables;			/* ZoneEntry by name; */
	MemoryContext kept;			/* of the tables */
	GpucolTypeMap made;			/* of the values that are made */
} HostTest;

/* The table of a time zone. */
typedef struct ZoneEntry
{
	char		name[TZ_STRLEN_MAX + 1];
	const GpucolTimeZone *table;	/* or NULL: there is none */
} ZoneEntry;

typedef struct HostContext
{
	HostTest   *tests;
	GpucolOrder **orders;
	ExprContext *econtext;
	MemoryContext scratch;		/* one value's memory */
	MemoryContext numerics;		/* the same, of functions of numerics */
	bool		may_refuse;		/* some test may refuse a value, */
	bool		refused;		/* and has */
} HostContext;

/* Evaluate an expression on one value; false: the value is refused. */
static bool
eval_value(HostContext *context, HostTest *test, const GpucolBytes *value,
		   bool isnull, Datum *result, bool *result_null)
{
	TupleTableSlot *slot = test->slot;

	*result_null = true;
	if (test->grows && !isnull && value->len > GPUCOL_HARMLESS_BYTES)
	{
		context->refused = true;
		return false;
	}
	ExecClearTuple(slot);
	slot->tts_isnull[0] = isnull;
	slot->tts_values[0] = isnull ? (Datum) 0 :
		gpucol_typemap_from_bytes(test->map, *value);
	ExecStoreVirtualTuple(slot);
	context->econtext->ecxt_scantuple = slot;
	*result = ExecEvalExpr(test->state, context->econtext, result_null);
	return true;
}

/* Evaluate a test on one value: 0 false, 1 true, 2 NULL, or refused. */
static uint8_t
test_value(HostContext *context, HostTest *test, const GpucolBytes *value,
		   bool isnull)
{
	bool		result_null;
	Datum		result;

	if (!eval_value(context, test, value, isnull, &result, &result_null))
		return 0;
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

/*
 * The address of the table of the zone that a text names, as a value; an empty one if there is none.  Tables live as
 * long as the test.
 */
static GpucolBytes
zone_value(HostTest *test, Datum zone)
{
	const text *name = DatumGetTextPP(zone);
	int			len = VARSIZE_ANY_EXHDR(name);
	char		key[TZ_STRLEN_MAX + 1] = {0};
	ZoneEntry  *entry;
	bool		found;

	if (len > TZ_STRLEN_MAX)
		return (GpucolBytes) {"", 0};
	memcpy(key, VARDATA_ANY(name), len);
	entry = hash_search(test->tables, key, HASH_ENTER, &found);
	if (!found)
	{
		const GpucolTimeZone *table;

		entry->table = NULL;
		table = gpucol_zone_by_name(key, len);
		if (table != NULL)
			entry->table = memcpy(MemoryContextAlloc(test->kept, table->size), table, table->size);
	}
	if (entry->table == NULL)
		return (GpucolBytes) {"", 0};
	return (GpucolBytes) {(const char *) &entry->table, sizeof(entry->table)};
}

/* GpucolHost's callback: the values lie in the scratch context. */
static void
host_map(void *arg, int id, int n, const GpucolBytes *values, const bool *isnull,
		 GpucolBytes *results, uint8_t *made)
{
	HostContext *context = arg;
	HostTest   *test = &context->tests[id];
	MemoryContext old = MemoryContextSwitchTo(context->scratch);

	MemoryContextReset(context->scratch);
	for (int i = 0; i < n; i++)
	{
		bool		null;
		Datum		result;

		made[i] = 2;
		if (!eval_value(context, test, &values[i], isnull != NULL && isnull[i], &result, &null) || null)
			continue;
		made[i] = 1;
		results[i] = test->zones ? zone_value(test, result) : gpucol_typemap_to_bytes(&test->made, result);
	}
	MemoryContextSwitchTo(old);
}

/* GpucolHost's callback. */
static int
host_compare(void *arg, int id, const GpucolBytes *a, const GpucolBytes *b)
{
	HostContext *context = arg;

	return gpucol_order_compare(context->orders[id], a, b);
}

/* GpucolHost's callback. */
static const GpucolCuts *
host_cuts(void *arg, int id)
{
	return ((HostContext *) arg)->tests[id].cuts;
}

/* GpucolHost's callback. */
static const GpucolArrayTest *
host_array(void *arg, int id)
{
	return ((HostContext *) arg)->tests[id].array;
}

/* GpucolHost's callback: what the bytes decide calls nothing of PostgreSQL's. */
static bool
host_any_thread(void *arg, int id)
{
	return ((HostContext *) arg)->tests[id].match != NULL;
}

/* GpucolHost's callback. */
static GpucolStatus
host_numeric(void *arg, int function, __int128 x, __int128 y, __int128 *r)
{
	return gpucol_host_numeric(((HostContext *) arg)->numerics, function, x, y, r);
}

/* Is it the call that stands for tables of time zones?  Then the zone, and where they are kept. */
static Expr *
init_zones(HostTest *test, Expr *expr)
{
	HASHCTL		ctl = {.keysize = TZ_STRLEN_MAX + 1,.entrysize = sizeof(ZoneEntry),.hcxt = CurrentMemoryContext};

	test->zones = IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcid == F_TIMEZONE_TEXT_TIMESTAMPTZ;
	if (!test->zones)
		return expr;
	test->kept = CurrentMemoryContext;
	test->tables = hash_create("gpucol time zones", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return linitial(((FuncExpr *) expr)->args);
}

/* Compile one test. */
static void
init_test(HostTest *test, GpucolLower *l, const GpucolHostTest *host,
		  PlanState *ps)
{
	TupleDesc	desc = CreateTemplateTupleDesc(1);
	bool		predicate = exprType((Node *) host->expr) == BOOLOID;

	memset(test, 0, sizeof(*test));
	test->match = predicate ? gpucol_match_create(l, host->expr) : NULL;
	if (host->column < 0)
		return;
	test->cuts = test->match == NULL ? NULL : gpucol_match_cuts(test->match);
	test->array = test->match == NULL ? NULL : gpucol_match_array_tree(l, host->expr);
	gpucol_typemap_init(&test->made, exprType((Node *) host->expr), exprTypmod((Node *) host->expr),
						exprCollation((Node *) host->expr));
	TupleDescCopyEntry(desc, 1, l->desc, l->columns[host->column].attnum);
	test->slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	test->state = gpucol_lower_init(init_zones(test, host->expr), ps);
	test->map = &l->maps[host->column];
	test->grows = test->match == NULL && gpucol_harmless_grows((Node *) host->expr);
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
	context->numerics = AllocSetContextCreate(CurrentMemoryContext, "gpucol numerics", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < l->nhosts; i++)
	{
		init_test(&context->tests[i], l, &l->hosts[i], ps);
		context->may_refuse |= context->tests[i].grows;
	}
	context->orders = palloc(Max(l->norders, 1) * sizeof(GpucolOrder *));
	for (int i = 0; i < l->norders; i++)
		context->orders[i] = gpucol_order_create(&l->maps[l->orders[i].column], l->orders[i].less,
												 l->orders[i].collation);
	host->context = context;
	host->compare = host_compare;
	host->test = host_test;
	host->map = host_map;
	host->cuts = host_cuts;
	host->array = host_array;
	host->any_thread = host_any_thread;
	host->numeric = host_numeric;
}

bool
gpucol_host_may_refuse(const GpucolHost *host)
{
	return ((const HostContext *) host->context)->may_refuse;
}

bool
gpucol_host_refused(const GpucolHost *host)
{
	return ((const HostContext *) host->context)->refused;
}
