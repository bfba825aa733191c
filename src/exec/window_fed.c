/*-------------------------------------------------------------------------
 *
 * window_fed.c
 *	  Aggregates over frames by PostgreSQL's own functions.
 *
 * A frame's rows are fed from its first to its last, going on from the row before where
 * the frame only grows, as nodeWindowAgg.c does without an inverse transition function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_agg.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "exec/feed_call.h"
#include "exec/window_agg.h"
#include "exec/window_fed.h"

/* Results between two looks at the memory that they take. */
#define CHECK_RESULTS	16

typedef struct GpucolWindowFed
{
	GpucolFeedCall call;
	AggState   *aggstate;		/* what the functions see */
	ExprContext *states;		/* memory of the state, */
	ExprContext *row;			/* and of one call */
	GpucolFeedState state;
	int			ninputs;
	int		   *inputs;
	int			passed;
	int16		typlen;			/* of the result */
	bool		typbyval;
	uint32		nresults;
	uint64		work;			/* rows fed since the last look for a cancel request */
} GpucolWindowFed;

/* The aggregate as the functions that call it know it. */
static Aggref *
make_aggref(const WindowFunc *func, List *args)
{
	Aggref	   *agg = makeNode(Aggref);
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(func->winfnoid));
	Oid			types[FUNC_MAX_ARGS];
	ListCell   *lc;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", func->winfnoid);
	agg->aggfnoid = func->winfnoid;
	agg->aggtype = func->wintype;
	agg->aggcollid = func->wincollid;
	agg->inputcollid = func->inputcollid;
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggstar = func->winstar;
	foreach(lc, args)
	{
		int			i = foreach_current_index(lc);

		types[i] = exprType(lfirst(lc));
		agg->aggargtypes = lappend_oid(agg->aggargtypes, types[i]);
		agg->args = lappend(agg->args, makeTargetEntry(lfirst(lc), i + 1, NULL, false));
	}
	agg->aggtranstype = resolve_aggregate_transtype(func->winfnoid,
													((Form_pg_aggregate) GETSTRUCT(tuple))->aggtranstype,
													types, list_length(args));
	ReleaseSysCache(tuple);
	return agg;
}

struct GpucolWindowFed *
gpucol_window_fed_create(const WindowFunc *func, List *args, int *inputs, int passed,
						 PlanState *parent)
{
	GpucolWindowFed *fed = palloc0(sizeof(GpucolWindowFed));

	fed->states = CreateExprContext(parent->state);
	fed->row = CreateExprContext(parent->state);
	fed->aggstate = makeNode(AggState);
	fed->aggstate->ss.ps.state = parent->state;
	fed->aggstate->ss.ps.ps_ExprContext = fed->row;
	fed->aggstate->tmpcontext = fed->row;
	fed->ninputs = list_length(args);
	fed->inputs = inputs;
	fed->passed = passed;
	get_typlenbyval(func->wintype, &fed->typlen, &fed->typbyval);
	gpucol_feed_call_init(&fed->call, fed->aggstate, make_aggref(func, args));
	return fed;
}

static void
restart(GpucolWindowFed *fed)
{
	ReScanExprContext(fed->states);
	gpucol_feed_call_enter(fed->aggstate, &fed->call, fed->states);
	gpucol_feed_call_start(fed->aggstate, &fed->call, fed->states, &fed->state);
}

/* Feed a row, unless the filter leaves it out. */
static void
feed_row(GpucolWindowFed *fed, const GpucolWindowRows *rows, uint32 row)
{
	if (fed->passed >= 0 && rows->inputs[fed->passed].isnull[row])
		return;
	if (++fed->work % 65536 == 0)
		CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < fed->ninputs; i++)
	{
		const GpucolWindowInput *in = &rows->inputs[fed->inputs[i]];

		fed->call.call->args[i + 1].value = in->values[row];
		fed->call.call->args[i + 1].isnull = in->isnull[row];
	}
	gpucol_feed_call_advance(fed->aggstate, &fed->call, &fed->state);
	ResetExprContext(fed->row);
}

/* The result of what has been fed; false where memory does not suffice. */
static bool
finish(GpucolWindowFed *fed, GpucolWindowRows *rows, Datum *value, bool *isnull)
{
	MemoryContext old = MemoryContextSwitchTo(fed->row->ecxt_per_tuple_memory);

	*value = gpucol_feed_call_finish(fed->aggstate, &fed->call, &fed->state, isnull);
	if (!*isnull && !fed->typbyval)
		*value = gpucol_window_rows_copy(rows, fed->typlen, *value);
	MemoryContextSwitchTo(old);
	ResetExprContext(fed->row);
	return fed->typbyval || ++fed->nresults % CHECK_RESULTS != 0 || gpucol_window_rows_fit(rows, 0);
}

const char *
gpucol_window_fed_run(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	GpucolWindowFed *fed = f->fed;
	GpucolWindowRows *rows = (GpucolWindowRows *) part->rows;
	bool		excludes = (part->frames->options & FRAMEOPTION_EXCLUSION) != 0;
	uint32		from = 0;		/* what has been fed */
	uint32		to = 0;
	Datum		value = (Datum) 0;
	bool		isnull = true;

	for (uint32 i = 0; i < part->n; i++)
	{
		GpucolWindowSpan spans[3];
		uint32		at = gpucol_window_at(part, i);
		int			n = gpucol_window_spans(part, i, spans);
		bool		anew = i == 0 || excludes || n == 0 || spans[0].start != from || spans[0].end < to;
		bool		changed = anew || spans[0].end > to;

		if (anew)
		{
			restart(fed);
			from = to = n == 0 ? 0 : spans[0].start;
		}
		else
			gpucol_feed_call_enter(fed->aggstate, &fed->call, fed->states);
		for (int k = 0; k < n; k++)
		{
			for (uint32 place = k == 0 ? to : spans[k].start; place < spans[k].end; place++)
				feed_row(fed, rows, part->items[place].row);
			if (k == 0)
				to = spans[0].end;
		}
		if (changed && !finish(fed, rows, &value, &isnull))
			return GPUCOL_WINDOW_MEMORY;
		f->values[at] = value;
		f->isnull[at] = isnull;
	}
	return NULL;
}
