/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  Aggregates that no engine has, fed the rows of a scan.
 *
 * Every aggregate of PostgreSQL is its transition function, called row by row.  A plain
 * one is called at once, each group having its state, as in a hashed aggregation.  One
 * with DISTINCT or ORDER BY, or an ordered set, has its rows kept (feed_kept.c), but the first ones only where
 * nobody asks for the others (feed_first.c); percentiles and modes of numbers and texts are sorted
 * without any function (feed_sample.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/feed_first.h"
#include "exec/feeder.h"

/* How an argument is had. */
static GpucolMemo *
init_arg(const GpucolFeed *feed, const GpucolFedArg *arg, PlanState *parent, GpucolOutput *output)
{
	Node	   *expr = (Node *) arg->expr;

	if (arg->output < 0)
		return gpucol_memo_create(arg->expr, parent, feed->desc, feed->most_remembered);
	gpucol_output_init(output, exprType(expr), exprTypmod(expr), exprCollation(expr), &arg->value);
	return NULL;
}

static void
init_args(GpucolFeed *feed, GpucolFeeder *f, PlanState *parent)
{
	int			n = Max(f->fed->nargs, 1);

	f->outputs = palloc0(n * sizeof(GpucolOutput));
	f->exprs = palloc0(n * sizeof(GpucolMemo *));
	f->typlen = palloc0(n * sizeof(int16));
	f->typbyval = palloc0(n * sizeof(bool));
	for (int i = 0; i < f->fed->nargs; i++)
	{
		if (!gpucol_fed_is_constant(&f->fed->args[i]))
			f->exprs[i] = init_arg(feed, &f->fed->args[i], parent, &f->outputs[i]);
		feed->evaluates |= f->exprs[i] != NULL;
		get_typlenbyval(exprType((Node *) f->fed->args[i].expr), &f->typlen[i], &f->typbyval[i]);
	}
	if (f->fed->filter.expr != NULL)
		f->filter = init_arg(feed, &f->fed->filter, parent, &f->filter_output);
	feed->evaluates |= f->filter != NULL;
	f->call.direct = ExecInitExprList(f->fed->agg->aggdirectargs, parent);
}

/* A sample for the aggregate, perhaps one that another has. */
static void
init_sample(GpucolFeed *feed, GpucolFeeder *f)
{
	for (GpucolFeeder *other = feed->feeders; other < f; other++)
	{
		if (other->sample != NULL && gpucol_sample_serves(other->sample, f->fed))
		{
			f->sample = other->sample;
			return;
		}
	}
	f->sample = gpucol_sample_create(f->fed);
	f->first = true;
}

/* The context that functions are called with. */
static AggState *
make_aggstate(GpucolFeed *feed, PlanState *parent)
{
	AggState   *aggstate = makeNode(AggState);

	aggstate->ss.ps.state = parent->state;
	aggstate->ss.ps.ps_ExprContext = feed->econtext;
	aggstate->tmpcontext = feed->econtext;
	return aggstate;
}

GpucolFeed *
gpucol_feed_create(const GpucolGroupPlan *plan, PlanState *parent, TupleDesc desc, ExprContext *econtext,
				   Size most_remembered)
{
	GpucolFeed *feed = palloc0(sizeof(GpucolFeed));

	feed->n = plan->naggs;
	feed->feeders = palloc0(Max(plan->naggs, 1) * sizeof(GpucolFeeder));
	feed->context = CurrentMemoryContext;
	feed->econtext = econtext;
	feed->desc = desc;
	feed->most_remembered = most_remembered;
	feed->states = CreateStandaloneExprContext();
	feed->group = CreateStandaloneExprContext();
	feed->aggstate = make_aggstate(feed, parent);
	for (int i = 0; i < feed->n; i++)
	{
		GpucolFeeder	   *f = &feed->feeders[i];

		f->final = &plan->finals[i];
		f->fed = f->final->fed;
		init_args(feed, f, parent);
		gpucol_feed_call_init(&f->call, feed->aggstate, f->fed->agg);
		if (f->fed->sample)
		{
			init_sample(feed, f);
			continue;
		}
		if (!f->fed->counts)
			gpucol_kept_init(f);
		if (f->fed->most > 0)
		{
			f->firsts = gpucol_firsts_create(f);
			continue;
		}
		if (f->fed->counts ? f->fed->distinct : f->fed->apart && plan->sets.sets == NIL)
			f->seen = gpucol_seen_create(f->fed);
		f->seeking &= f->seen == NULL;
	}
	return feed;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* An argument of n rows, of a column of the engine; or a constant; or room for what PostgreSQL evaluates. */
static void
load_argument(const GpucolFeeder *f, int i, const GpucolResultColumn *column, uint32 n, GpucolFeedInput *input)
{
	const Const *constant = (const Const *) f->fed->args[i].expr;

	input->values[i] = palloc(Max(n, 1) * sizeof(Datum));
	input->isnull[i] = palloc(Max(n, 1) * sizeof(bool));
	if (column != NULL)
	{
		gpucol_output_datums(&f->outputs[i], column, n, input->values[i], input->isnull[i]);
		return;
	}
	for (uint32 row = 0; row < n && f->exprs[i] == NULL; row++)
	{
		input->values[i][row] = constant->constvalue;
		input->isnull[i][row] = constant->constisnull;
	}
}

/* The column of an argument; NULL: the engine has none. */
static const GpucolResultColumn *
column_of(const GpucolResult *result, const GpucolFedArg *arg)
{
	return arg->output < 0 ? NULL : &result->columns[arg->output];
}

/* Columns of a batch's arguments. */
static void
load_input(const GpucolFeeder *f, const GpucolFeedRows *rows, GpucolFeedInput *input)
{
	const GpucolResult *result = rows->result;
	uint32		n = Max(result->nrows, 1);
	bool		numbers = f->sample != NULL || f->fed->counts || f->seen != NULL;

	input->values = palloc(Max(f->fed->nargs, 1) * sizeof(Datum *));
	input->isnull = palloc(Max(f->fed->nargs, 1) * sizeof(bool *));
	for (int i = 0; i < f->fed->nargs && !numbers; i++)
	{
		if (f->firsts == NULL || gpucol_firsts_loads(f->firsts, i))
			load_argument(f, i, column_of(result, &f->fed->args[i]), result->nrows, input);
	}
	input->pass = f->fed->filter.expr != NULL || rows->pass != NULL ? palloc(n) : NULL;
	if (input->pass != NULL && rows->pass != NULL)
		memcpy(input->pass, rows->pass, result->nrows);
	else if (input->pass != NULL)
		memset(input->pass, true, result->nrows);
	if (f->fed->filter.expr != NULL && f->filter == NULL)
	{
		const GpucolResultColumn *column = &result->columns[f->fed->filter.output];

		for (uint32 row = 0; row < result->nrows; row++)
			input->pass[row] &= column->i[row] != 0 &&
				(column->nulls == NULL || !column->nulls[row]);
	}
}

/* Evaluate what PostgreSQL does of one row, which is stored. */
static void
evaluate_row(GpucolFeed *feed, const GpucolFeeder *f, GpucolFeedInput *input, uint32 row)
{
	bool		isnull;

	if (f->filter != NULL)
		input->pass[row] = DatumGetBool(gpucol_memo_eval(f->filter, feed->econtext, &isnull)) &&
			!isnull;
	if (input->pass != NULL && !input->pass[row])
		return;
	for (int i = 0; i < f->fed->nargs; i++)
	{
		if (f->exprs[i] != NULL)
			input->values[i][row] = gpucol_memo_eval(f->exprs[i], feed->econtext,
													 &input->isnull[i][row]);
	}
}

void
gpucol_feed_reserve_states(GpucolFeed *feed, GpucolFeeder *f, uint32 ngroups)
{
	if (ngroups > f->room)
	{
		MemoryContext old = MemoryContextSwitchTo(feed->context);

		f->room = Max(f->room * 2, Max(ngroups, 64));
		f->states = gpucol_grow(f->states, f->room * sizeof(GpucolFeedState));
		MemoryContextSwitchTo(old);
	}
	for (; f->nstates < ngroups; f->nstates++)
		gpucol_feed_call_start(feed->aggstate, &f->call, feed->states,
							   &f->states[f->nstates]);
}

/* Advance the groups' states by a batch. */
static void
advance_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows, const GpucolFeedInput *input)
{
	uint32		nrows = rows->result->nrows;

	gpucol_feed_reserve_states(feed, f, rows->ngroups);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->states);
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		for (uint32 row = 0; row < nrows; row++)
		{
			if (input->pass != NULL && !input->pass[row])
				continue;
			gpucol_feed_pass_arguments(f, input->values, input->isnull, row);
			gpucol_feed_call_advance(feed->aggstate, &f->call, &f->states[groups[row]]);
			ResetExprContext(feed->econtext);
		}
	}
}

Size
gpucol_feed_room(const GpucolFeed *feed, uint64 nrows)
{
	Size		room = 0;

	for (int i = 0; i < feed->n; i++)
	{
		const GpucolFeeder *f = &feed->feeders[i];

		if (f->sample != NULL)
			room += f->first ? gpucol_sample_room(f->sample, nrows) : 0;
		else if (f->firsts != NULL)
			room += gpucol_firsts_room(f->firsts, nrows);
		else if (f->fed->counts)
			room += gpucol_feed_states_room(f, nrows);
		else if (!f->keeps || f->hashed)
			room += nrows * sizeof(GpucolFeedState);
		if (f->keeps && f->firsts == NULL)
			room += gpucol_kept_room(f, nrows) + (f->seen == NULL ? 0 : gpucol_seen_room(f->seen, nrows));
	}
	return room;
}

/* Those of a batch's rows, which `pass`, whose values their groups have not had; how many. */
static uint32
find_new(GpucolFeeder *f, const GpucolFeedRows *rows, const bool *pass, uint32 *chosen)
{
	uint32		n = 0;

	gpucol_seen_load(f->seen, rows->result, pass);
	gpucol_seen_turn(f->seen, rows->groups);
	for (uint32 row = 0; row < rows->result->nrows; row++)
	{
		if (pass != NULL && !pass[row])
			continue;
		chosen[n] = row;
		n += gpucol_seen_is_new(f->seen, row);
	}
	return n;
}

/* Keep the rows of a batch whose values are new to their groups, or advance these by them at once. */
static void
feed_new(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows, GpucolFeedInput *input)
{
	uint32	   *chosen = palloc(Max(rows->result->nrows, 1) * sizeof(uint32));
	uint32	   *groups = palloc(Max(rows->result->nrows, 1) * sizeof(uint32));
	GpucolResult result = {.nrows = find_new(f, rows, input->pass, chosen)};
	GpucolFeedRows some = {.result = &result,.groups = groups,.nsets = 1,.ngroups = rows->ngroups};

	for (uint32 i = 0; i < result.nrows; i++)
		groups[i] = rows->groups[chosen[i]];
	for (int i = 0; i < f->fed->nargs; i++)
	{
		const GpucolResultColumn *column = column_of(rows->result, &f->fed->args[i]);
		GpucolResultColumn some_of = {0};

		if (column != NULL)
			some_of = gpucol_result_column_chosen(column, chosen, result.nrows);
		load_argument(f, i, column == NULL ? NULL : &some_of, result.nrows, input);
	}
	input->pass = NULL;
	f->kept.offered += rows->result->nrows;
	if (f->hashed)
		advance_rows(feed, f, &some, input);
	else
		gpucol_kept_rows(feed, f, &some, input);
	if (!gpucol_kept_in_vain(f))
		return;
	gpucol_seen_free(f->seen);
	f->seen = NULL;
}

bool
gpucol_feed_rows(GpucolFeed *feed, const GpucolFeedRows *rows)
{
	bool		ok = true;
	GpucolFeedInput *inputs = palloc0(Max(feed->n, 1) * sizeof(GpucolFeedInput));

	for (int i = 0; i < feed->n; i++)
		load_input(&feed->feeders[i], rows, &inputs[i]);
	for (uint32 row = 0; row < rows->result->nrows && feed->evaluates; row++)
	{
		if (rows->pass != NULL && !rows->pass[row])
			continue;
		rows->store(rows->store_arg, row);
		for (int i = 0; i < feed->n; i++)
			evaluate_row(feed, &feed->feeders[i], &inputs[i], row);
	}
	for (int i = 0; i < feed->n; i++)
	{
		GpucolFeeder	   *f = &feed->feeders[i];

		if (f->sample != NULL && f->first)
			gpucol_sample_rows(f->sample, rows, inputs[i].pass);
		else if (f->firsts != NULL)
			gpucol_firsts_rows(f->firsts, rows, &inputs[i]);
		else if (f->fed->counts)
			ok &= gpucol_feed_states_rows(feed, f, rows, inputs[i].pass);
		else if (f->seen != NULL)
			feed_new(feed, f, rows, &inputs[i]);
		else if (f->sample == NULL && f->keeps)
			gpucol_kept_rows(feed, f, rows, &inputs[i]);
		else if (f->sample == NULL)
			advance_rows(feed, f, rows, &inputs[i]);
		CHECK_FOR_INTERRUPTS();
	}
	return ok;
}

/* ------------------------------------------------------------------------
 * Groups whose rows are kept
 * ------------------------------------------------------------------------
 */

Size
gpucol_feed_finish_room(const GpucolFeed *feed)
{
	Size		room = 0;

	for (int i = 0; i < feed->n; i++)
	{
		const GpucolFeeder *f = &feed->feeders[i];

		if (f->sample != NULL)
			room += f->first ? gpucol_sample_finish_room(f->sample) : 0;
		else if (f->keeps && f->firsts == NULL)
			room += gpucol_kept_finish_room(f);
	}
	return room;
}

void
gpucol_feed_finish(GpucolFeed *feed, uint32 ngroups, GpucolMeter *meter)
{
	MemoryContext old = MemoryContextSwitchTo(feed->context);

	for (int i = 0; i < feed->n; i++)
	{
		GpucolFeeder	   *f = &feed->feeders[i];

		if (f->sample != NULL && f->first)
			gpucol_sample_finish(f->sample, ngroups, meter);
		else if (f->firsts != NULL)
			gpucol_firsts_reserve(f->firsts, ngroups);
		else if (f->fed->counts)
			gpucol_feed_states_reserve(feed, f, ngroups);
		else if (f->sample == NULL && f->keeps && !f->hashed)
			gpucol_kept_finish(f, ngroups, meter);
		else if (f->sample == NULL)
			gpucol_feed_reserve_states(feed, f, ngroups);
	}
	MemoryContextSwitchTo(old);
}

/* The result of a percentile or a mode. */
static Datum
sample_result(GpucolFeed *feed, GpucolFeeder *f, uint32 group, bool *isnull)
{
	Datum		fraction = (Datum) 0;
	bool		fraction_null = true;

	if (f->call.direct != NIL)
		fraction = ExecEvalExpr((ExprState *) linitial(f->call.direct), feed->econtext, &fraction_null);
	return gpucol_sample_result(f->sample, f->fed, group, fraction, fraction_null, isnull);
}

Datum
gpucol_feed_result(GpucolFeed *feed, int agg, uint32 group, bool *isnull)
{
	GpucolFeeder	   *f = &feed->feeders[agg];

	if (f->sample != NULL)
		return sample_result(feed, f, group, isnull);
	if (f->firsts != NULL)
		return gpucol_firsts_result(f->firsts, group, isnull);
	if (f->fed->counts)
		return gpucol_feed_states_result(f, group, isnull);
	if (f->keeps && !f->hashed)
		return gpucol_kept_aggregate(feed, f, group, isnull);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->states);
	return gpucol_feed_call_finish(feed->aggstate, &f->call, &f->states[group], isnull);
}

void
gpucol_feed_end(GpucolFeed *feed)
{
	FreeExprContext(feed->group, true);
	FreeExprContext(feed->states, true);
}
