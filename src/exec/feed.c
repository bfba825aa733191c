/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  Aggregates that no engine has, fed the rows of a scan.
 *
 * Every aggregate of PostgreSQL is its transition function, called row by row.  A plain
 * one is called at once, each group having its state, as in a hashed aggregation.  One
 * with DISTINCT or ORDER BY, or an ordered set, has its rows kept; when a group is
 * delivered, its rows are sorted, equal ones dropped, and the functions called for them,
 * so that only one group's state exists at a time.  Rows that sort as equals stay in the
 * order of the table.  Of rows that DISTINCT compares and whose bytes are the same only the
 * first is sorted; where the order is nothing to the aggregate (sums, counts), equal values are
 * found by their hash and none is sorted.  A mode or a percentile of values that repeat is found
 * among the distinct ones, each with how often it came.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "base/hash_table.h"
#include "exec/feed.h"
#include "exec/feed_call.h"
#include "exec/item_table.h"
#include "exec/memo.h"
#include "kernel/hash.h"

/* Groups of fewer rows are sorted with all repetitions. */
#define HASHED_ROWS	16

/* Rows that are kept. */
typedef struct Kept
{
	uint32	   *groups;
	Datum	  **values;			/* by argument, by row */
	bool	  **isnull;
	uint64		n;
	uint64		room;
	uint64	   *starts;			/* by group, once finished; then the end */
	uint32	   *order;			/* rows, by group */
	MemoryContext context;		/* of what values point to */
} Kept;

/* One aggregate. */
typedef struct Feeder
{
	const GpucolFed *fed;
	GpucolSample *sample;		/* of numbers; then nothing below matters but `direct` */
	bool		first;			/* the sample is its own */

	/* arguments */
	GpucolOutput *outputs;
	GpucolMemo **exprs;			/* NULL: the engine's */
	GpucolOutput filter_output;
	GpucolMemo *filter;
	int16	   *typlen;
	bool	   *typbyval;
	GpucolFeedCall call;

	/* ORDER BY and DISTINCT */
	bool		keeps;
	int			nsort;
	int		   *sort_args;
	SortSupport sorts;
	int			ndistinct;		/* the first sort arguments, */
	FmgrInfo   *equal;			/* by their equality */
	bool		hashed;			/* one argument, of an aggregate to which order is nothing: */
	FmgrInfo	hash;			/* by the hash that belongs to the equality */
	bool		counted;		/* a mode or percentile_disc, sorted by its one argument */
	uint32	   *counts;			/* by the first row of a value: how many have it */

	GpucolFeedState *states;			/* by group, unless it keeps */
	uint32		nstates;
	uint32		room;
	Kept		kept;
} Feeder;

struct GpucolFeed
{
	int			n;
	Feeder	   *feeders;
	MemoryContext context;
	TupleDesc	desc;			/* of what `econtext` evaluates over */
	Size		most_remembered;	/* bytes of an expression */
	ExprContext *econtext;
	AggState   *aggstate;
	ExprContext *states;		/* the context of states */
	ExprContext *group;			/* that of the one group that is delivered */
	bool		evaluates;		/* some argument or filter is PostgreSQL's */
};

/* A batch's arguments of one aggregate. */
typedef struct Input
{
	Datum	  **values;
	bool	  **isnull;
	bool	   *pass;			/* NULL: all rows */
} Input;

/* Aggregates that come out the same in any order of their values. */
static const Oid orderless[] = {
	F_COUNT_ANY, F_SUM_INT2, F_SUM_INT4, F_SUM_INT8, F_SUM_NUMERIC, F_SUM_MONEY,
	F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_BIT_XOR_INT2, F_BIT_XOR_INT4, F_BIT_XOR_INT8
};

/* May repeated values be found by a hash, and the others be left as they come? */
static bool
find_hash(Feeder *f, const SortGroupClause *clause)
{
	Aggref	   *agg = f->fed->agg;
	Oid			hash;
	Oid			other;

	if (list_length(agg->aggdistinct) != 1 || list_length(agg->args) != 1 ||
		!get_op_hash_functions(clause->eqop, &hash, &other))
		return false;
	for (int i = 0; i < (int) lengthof(orderless); i++)
	{
		if (orderless[i] != agg->aggfnoid)
			continue;
		fmgr_info(hash, &f->hash);
		return true;
	}
	return false;
}

/* By what rows are sorted, and which are equal. */
static void
init_sort(Feeder *f)
{
	Aggref	   *agg = f->fed->agg;
	List	   *clauses = agg->aggdistinct != NIL ? agg->aggdistinct : agg->aggorder;
	bool		ordered = AGGKIND_IS_ORDERED_SET(agg->aggkind);
	ListCell   *lc;

	f->keeps = f->call.brief = ordered || clauses != NIL;
	f->counted = agg->aggfnoid == F_MODE || agg->aggfnoid == F_PERCENTILE_DISC_FLOAT8_ANYELEMENT;
	if ((ordered && !f->counted) || clauses == NIL)
		return;
	f->nsort = list_length(clauses);
	f->sort_args = palloc(f->nsort * sizeof(int));
	f->sorts = palloc0(f->nsort * sizeof(SortSupportData));
	f->equal = palloc0(f->nsort * sizeof(FmgrInfo));
	foreach(lc, clauses)
	{
		int			i = foreach_current_index(lc);
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, agg->args);
		SortSupport sort = &f->sorts[i];

		f->sort_args[i] = tle->resno - 1;
		sort->ssup_cxt = CurrentMemoryContext;
		sort->ssup_collation = exprCollation((Node *) tle->expr);
		sort->ssup_nulls_first = clause->nulls_first;
		PrepareSortSupportFromOrderingOp(clause->sortop, sort);
		if (agg->aggdistinct != NIL)
			fmgr_info(get_opcode(clause->eqop), &f->equal[i]);
	}
	f->ndistinct = agg->aggdistinct != NIL ? f->nsort : 0;
	f->hashed = f->ndistinct == 1 && find_hash(f, linitial(clauses));
}

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
init_args(GpucolFeed *feed, Feeder *f, PlanState *parent)
{
	int			n = Max(f->fed->nargs, 1);

	f->outputs = palloc0(n * sizeof(GpucolOutput));
	f->exprs = palloc0(n * sizeof(GpucolMemo *));
	f->typlen = palloc0(n * sizeof(int16));
	f->typbyval = palloc0(n * sizeof(bool));
	for (int i = 0; i < f->fed->nargs; i++)
	{
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
init_sample(GpucolFeed *feed, Feeder *f)
{
	for (Feeder *other = feed->feeders; other < f; other++)
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

static void
init_kept(Feeder *f)
{
	int			n = Max(f->fed->nargs, 1);

	f->kept.values = palloc0(n * sizeof(Datum *));
	f->kept.isnull = palloc0(n * sizeof(bool *));
	f->kept.context = AllocSetContextCreate(CurrentMemoryContext, "gpucol kept rows",
											ALLOCSET_DEFAULT_SIZES);
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
	feed->feeders = palloc0(Max(plan->naggs, 1) * sizeof(Feeder));
	feed->context = CurrentMemoryContext;
	feed->econtext = econtext;
	feed->desc = desc;
	feed->most_remembered = most_remembered;
	feed->states = CreateStandaloneExprContext();
	feed->group = CreateStandaloneExprContext();
	feed->aggstate = make_aggstate(feed, parent);
	for (int i = 0; i < feed->n; i++)
	{
		Feeder	   *f = &feed->feeders[i];

		f->fed = plan->finals[i].fed;
		init_args(feed, f, parent);
		gpucol_feed_call_init(&f->call, feed->aggstate, f->fed->agg);
		if (f->fed->sample)
		{
			init_sample(feed, f);
			continue;
		}
		init_sort(f);
		if (f->keeps)
			init_kept(f);
	}
	return feed;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Columns of a batch's arguments: the engine's as datums, room for PostgreSQL's. */
static void
load_input(const Feeder *f, const GpucolFeedRows *rows, Input *input)
{
	const GpucolResult *result = rows->result;
	uint32		n = Max(result->nrows, 1);
	bool		sampled = f->sample != NULL;

	input->values = palloc(Max(f->fed->nargs, 1) * sizeof(Datum *));
	input->isnull = palloc(Max(f->fed->nargs, 1) * sizeof(bool *));
	for (int i = 0; i < f->fed->nargs && !sampled; i++)
	{
		input->values[i] = palloc(n * sizeof(Datum));
		input->isnull[i] = palloc(n * sizeof(bool));
		if (f->exprs[i] == NULL)
			gpucol_output_datums(&f->outputs[i], &result->columns[f->fed->args[i].output],
								 result->nrows, input->values[i], input->isnull[i]);
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
evaluate_row(GpucolFeed *feed, const Feeder *f, Input *input, uint32 row)
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

/* Put a row's arguments where the transition function takes them. */
static void
pass_arguments(Feeder *f, Datum *const *values, bool *const *isnull, uint64 row)
{
	for (int i = 0; i < f->call.ninputs; i++)
	{
		f->call.call->args[i + 1].value = values[i][row];
		f->call.call->args[i + 1].isnull = isnull[i][row];
	}
}

/* States for all groups so far. */
static void
reserve_states(GpucolFeed *feed, Feeder *f, uint32 ngroups)
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
advance_rows(GpucolFeed *feed, Feeder *f, const GpucolFeedRows *rows, const Input *input)
{
	uint32		nrows = rows->result->nrows;

	reserve_states(feed, f, rows->ngroups);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->states);
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		for (uint32 row = 0; row < nrows; row++)
		{
			if (input->pass != NULL && !input->pass[row])
				continue;
			pass_arguments(f, input->values, input->isnull, row);
			gpucol_feed_call_advance(feed->aggstate, &f->call, &f->states[groups[row]]);
			ResetExprContext(feed->econtext);
		}
	}
}

/* Room for so many more rows. */
static uint64
wanted_room(const Kept *kept, uint64 nrows)
{
	return kept->n + nrows <= kept->room ? kept->room :
		Max(Max(kept->room + kept->room / 2, kept->n + nrows), 1024);
}

static void
reserve_kept(GpucolFeed *feed, Feeder *f, uint64 nrows)
{
	Kept	   *kept = &f->kept;
	uint64		room = wanted_room(kept, nrows);
	MemoryContext old;

	if (room == kept->room)
		return;
	if (room > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows to be sorted for an aggregate")));
	old = MemoryContextSwitchTo(feed->context);
	kept->groups = gpucol_grow(kept->groups, room * sizeof(uint32));
	for (int i = 0; i < f->fed->nargs; i++)
	{
		kept->values[i] = gpucol_grow(kept->values[i], room * sizeof(Datum));
		kept->isnull[i] = gpucol_grow(kept->isnull[i], room * sizeof(bool));
	}
	kept->room = room;
	MemoryContextSwitchTo(old);
}

/* Does the strict transition function never see the row? */
static bool
is_of_no_use(const Feeder *f, const Input *input, uint32 row)
{
	for (int i = 0; i < f->call.ninputs && f->call.pertrans.transfn.fn_strict; i++)
	{
		if (input->isnull[i][row])
			return true;
	}
	return false;
}

/* Keep a batch's rows. */
static void
keep_rows(GpucolFeed *feed, Feeder *f, const GpucolFeedRows *rows, const Input *input)
{
	uint32		nrows = rows->result->nrows;
	Kept	   *kept = &f->kept;
	MemoryContext old;

	reserve_kept(feed, f, (uint64) nrows * rows->nsets);
	old = MemoryContextSwitchTo(kept->context);
	for (uint32 row = 0; row < nrows; row++)
	{
		uint64		first = kept->n;

		if ((input->pass != NULL && !input->pass[row]) || is_of_no_use(f, input, row))
			continue;
		for (uint32 set = 0; set < rows->nsets; set++)
			kept->groups[kept->n++] = rows->groups[(Size) set * nrows + row];
		for (int i = 0; i < f->fed->nargs; i++)
		{
			bool		isnull = input->isnull[i][row];
			Datum		value = isnull ? (Datum) 0 :
				datumCopy(input->values[i][row], f->typbyval[i], f->typlen[i]);

			for (uint64 at = first; at < kept->n; at++)
			{
				kept->values[i][at] = value;
				kept->isnull[i][at] = isnull;
			}
		}
	}
	MemoryContextSwitchTo(old);
}

Size
gpucol_feed_room(const GpucolFeed *feed, uint64 nrows)
{
	Size		room = 0;

	for (int i = 0; i < feed->n; i++)
	{
		const Feeder *f = &feed->feeders[i];
		uint64		kept = wanted_room(&f->kept, nrows);

		if (f->sample != NULL)
			room += f->first ? gpucol_sample_room(f->sample, nrows) : 0;
		else if (!f->keeps)
			room += nrows * sizeof(GpucolFeedState);
		else if (kept != f->kept.room)
			room += kept * (sizeof(uint32) + f->fed->nargs * (sizeof(Datum) + sizeof(bool)));
	}
	return room;
}

void
gpucol_feed_rows(GpucolFeed *feed, const GpucolFeedRows *rows)
{
	Input	   *inputs = palloc0(Max(feed->n, 1) * sizeof(Input));

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
		Feeder	   *f = &feed->feeders[i];

		if (f->sample != NULL && f->first)
			gpucol_sample_rows(f->sample, rows, inputs[i].pass);
		else if (f->sample == NULL && f->keeps)
			keep_rows(feed, f, rows, &inputs[i]);
		else if (f->sample == NULL)
			advance_rows(feed, f, rows, &inputs[i]);
		CHECK_FOR_INTERRUPTS();
	}
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
		const Feeder *f = &feed->feeders[i];

		if (f->sample != NULL)
			room += f->first ? gpucol_sample_finish_room(f->sample) : 0;
		else if (f->keeps)
			room += f->kept.n * (sizeof(uint32) + (f->counted ? 2 * sizeof(uint32) : 0) +
								 (f->ndistinct > 0 || f->counted ? 4 * sizeof(uint64) : 0));
	}
	return room;
}

/* Part the rows by group, in their order. */
static void
part_rows(Kept *kept, uint32 ngroups)
{
	kept->starts = gpucol_grow(NULL, ((Size) ngroups + 1) * sizeof(uint64));
	memset(kept->starts, 0, ((Size) ngroups + 1) * sizeof(uint64));
	kept->order = gpucol_grow(NULL, Max(kept->n, 1) * sizeof(uint32));
	for (uint64 i = 0; i < kept->n; i++)
		kept->starts[kept->groups[i] + 1]++;
	for (uint32 g = 0; g < ngroups; g++)
		kept->starts[g + 1] += kept->starts[g];
	for (uint64 i = 0; i < kept->n; i++)
		kept->order[kept->starts[kept->groups[i]]++] = (uint32) i;
	memmove(kept->starts + 1, kept->starts, ngroups * sizeof(uint64));
	kept->starts[0] = 0;
}

void
gpucol_feed_finish(GpucolFeed *feed, uint32 ngroups)
{
	MemoryContext old = MemoryContextSwitchTo(feed->context);

	for (int i = 0; i < feed->n; i++)
	{
		Feeder	   *f = &feed->feeders[i];

		if (f->sample != NULL && f->first)
			gpucol_sample_finish(f->sample, ngroups);
		else if (f->sample == NULL && f->keeps)
			part_rows(&f->kept, ngroups);
		else if (f->sample == NULL)
			reserve_states(feed, f, ngroups);
	}
	MemoryContextSwitchTo(old);
}

/* Compare two kept rows; of equal ones the earlier comes first. */
static int
compare_rows(const void *a, const void *b, void *arg)
{
	const Feeder *f = arg;
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	for (int i = 0; i < f->nsort; i++)
	{
		Datum	   *values = f->kept.values[f->sort_args[i]];
		bool	   *isnull = f->kept.isnull[f->sort_args[i]];
		int			order = ApplySortComparator(values[x], isnull[x], values[y], isnull[y],
												&f->sorts[i]);

		if (order != 0)
			return order;
	}
	return x < y ? -1 : x > y;
}

/* Are two kept rows equal to DISTINCT? */
static bool
equal_rows(Feeder *f, uint32 x, uint32 y)
{
	for (int i = 0; i < f->ndistinct; i++)
	{
		Datum	   *values = f->kept.values[f->sort_args[i]];
		bool	   *isnull = f->kept.isnull[f->sort_args[i]];

		if (isnull[x] != isnull[y] ||
			(!isnull[x] &&
			 !DatumGetBool(FunctionCall2Coll(&f->equal[i], f->sorts[i].ssup_collation,
											 values[x], values[y]))))
			return false;
	}
	return true;
}

/* The hash of the bytes that DISTINCT compares, and whether those of two kept rows are the same. */
static uint64
hash_image(Feeder *f, uint32 row)
{
	uint64		hash = 0;
	int			only = f->sort_args[0];

	if (f->hashed)
		return gpucol_hash_mix(hash, f->kept.isnull[only][row] ? UINT64_MAX :
							   DatumGetUInt32(FunctionCall1Coll(&f->hash, f->sorts[0].ssup_collation,
																f->kept.values[only][row])));
	for (int i = 0; i < Max(f->ndistinct, f->counted); i++)
	{
		int			arg = f->sort_args[i];

		hash = gpucol_hash_mix(hash, f->kept.isnull[arg][row] ? UINT64_MAX :
							   datum_image_hash(f->kept.values[arg][row], f->typbyval[arg], f->typlen[arg]));
	}
	return hash;
}

static bool
same_image(Feeder *f, uint32 x, uint32 y)
{
	if (f->hashed)
		return equal_rows(f, x, y);
	for (int i = 0; i < Max(f->ndistinct, f->counted); i++)
	{
		int			arg = f->sort_args[i];
		const Datum *values = f->kept.values[arg];
		const bool *isnull = f->kept.isnull[arg];

		if (isnull[x] != isnull[y] ||
			(!isnull[x] && !datum_image_eq(values[x], values[y], f->typbyval[arg], f->typlen[arg])))
			return false;
	}
	return true;
}

/* Leave out rows whose bytes, or values, an earlier one has, and count these; returns how many are left. */
static uint64
drop_repeated(Feeder *f, uint32 *rows, uint64 n)
{
	GpucolHashTable table = {0};
	uint64		left = 0;

	for (uint64 i = 0; i < n; i++)
	{
		uint64		hash = hash_image(f, rows[i]);
		uint64		nslots = gpucol_hash_slots(table.nslots, left + 1);
		uint64		at;
		uint32		number;
		bool		found;

		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		if (nslots != table.nslots)
		{
			uint64	   *old = gpucol_hash_move(&table, MemoryContextAllocExtended(CurrentMemoryContext,
																				 nslots * sizeof(uint64),
																				 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO),
											   nslots);

			if (old != NULL)
				pfree(old);
		}
		at = gpucol_hash_home(&table, hash);
		while ((found = gpucol_hash_next(&table, hash, &at, &number)) && !same_image(f, rows[number], rows[i]))
			continue;
		if (found)
		{
			if (f->counts != NULL)
				f->counts[rows[number]]++;
			continue;
		}
		gpucol_hash_put(&table, at, hash, (uint32) left);
		if (f->counts != NULL)
			f->counts[rows[i]] = 1;
		rows[left++] = rows[i];
	}
	pfree(table.slots);
	return left;
}

/* The rows of a group that are not NULL. */
static uint64
find_values(const Feeder *f, uint32 group, uint32 *rows)
{
	uint64		n = 0;

	for (uint64 i = f->kept.starts[group]; i < f->kept.starts[group + 1]; i++)
	{
		if (!f->kept.isnull[f->sort_args[0]][f->kept.order[i]])
			rows[n++] = f->kept.order[i];
	}
	return n;
}

/* Sort distinct values; false if two are equal whose bytes differ, of which PostgreSQL's sort puts any first. */
static bool
sort_values(Feeder *f, uint32 *rows, uint64 n)
{
	const Datum *values = f->kept.values[f->sort_args[0]];

	qsort_arg(rows, n, sizeof(uint32), compare_rows, f);
	for (uint64 i = 1; i < n; i++)
	{
		if (ApplySortComparator(values[rows[i - 1]], false, values[rows[i]], false, &f->sorts[0]) == 0)
			return false;
	}
	return true;
}

/* Of sorted values the one at a place among all; of place 0, the most frequent, and first of these. */
static uint32
choose_value(const Feeder *f, const uint32 *rows, uint64 n, uint64 place)
{
	uint32		best = rows[0];
	uint64		passed = 0;

	for (uint64 i = 0; i < n; i++)
	{
		passed += f->counts[rows[i]];
		if (place > 0 && passed >= place)
			return rows[i];
		if (place == 0 && f->counts[rows[i]] > f->counts[best])
			best = rows[i];
	}
	return best;
}

/* A mode or percentile from the distinct values of a group; false if PostgreSQL's function is to find it. */
static bool
aggregate_counted(GpucolFeed *feed, Feeder *f, uint32 group, Datum *result)
{
	MemoryContext old = MemoryContextSwitchTo(feed->group->ecxt_per_tuple_memory);
	uint64		room = f->kept.starts[group + 1] - f->kept.starts[group];
	uint32	   *rows = gpucol_grow(NULL, Max(room, 1) * sizeof(uint32));
	uint64		n = find_values(f, group, rows);
	uint64		distinct;
	double		fraction = 0;
	bool		isnull = false;
	bool		done = false;

	if (f->call.direct != NIL)
		fraction = DatumGetFloat8(ExecEvalExpr((ExprState *) linitial(f->call.direct), feed->econtext, &isnull));
	if (n >= HASHED_ROWS && !isnull && fraction >= 0 && fraction <= 1)
	{
		if (f->counts == NULL)
			f->counts = MemoryContextAllocHuge(feed->context, f->kept.n * sizeof(uint32));
		distinct = drop_repeated(f, rows, n);
		done = distinct <= n / 2 && sort_values(f, rows, distinct);
		if (done)
		{
			uint32		row = choose_value(f, rows, distinct, f->call.direct == NIL ? 0 :
										   (uint64) Max(ceil(fraction * n), 1));

			MemoryContextSwitchTo(old);
			*result = datumCopy(f->kept.values[f->sort_args[0]][row], f->typbyval[f->sort_args[0]],
								f->typlen[f->sort_args[0]]);
		}
	}
	MemoryContextSwitchTo(old);
	ReScanExprContext(feed->group);
	return done;
}

/* Aggregate the kept rows of a group. */
static Datum
aggregate_kept(GpucolFeed *feed, Feeder *f, uint32 group, bool *isnull)
{
	uint32	   *rows = f->kept.order + f->kept.starts[group];
	uint64		n = f->kept.starts[group + 1] - f->kept.starts[group];
	GpucolFeedState state;
	Datum		result;
	bool		distinct;

	if (f->counted && aggregate_counted(feed, f, group, &result))
	{
		*isnull = false;
		return result;
	}
	distinct = f->ndistinct > 0 && n >= HASHED_ROWS;
	if (distinct)
		n = drop_repeated(f, rows, n);
	distinct &= f->hashed;
	if (f->nsort > 0 && n > 1 && !distinct && !f->counted)
		qsort_arg(rows, n, sizeof(uint32), compare_rows, f);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->group);
	gpucol_feed_call_start(feed->aggstate, &f->call, feed->group, &state);
	for (uint64 i = 0; i < n; i++)
	{
		if (f->ndistinct > 0 && i > 0 && !distinct && equal_rows(f, rows[i - 1], rows[i]))
			continue;
		pass_arguments(f, f->kept.values, f->kept.isnull, rows[i]);
		gpucol_feed_call_advance(feed->aggstate, &f->call, &state);
		ResetExprContext(feed->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	result = gpucol_feed_call_finish(feed->aggstate, &f->call, &state, isnull);
	ReScanExprContext(feed->group);
	return result;
}

/* The result of a percentile or a mode. */
static Datum
sample_result(GpucolFeed *feed, Feeder *f, uint32 group, bool *isnull)
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
	Feeder	   *f = &feed->feeders[agg];
	if (f->sample != NULL)
		return sample_result(feed, f, group, isnull);
	if (f->keeps)
		return aggregate_kept(feed, f, group, isnull);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->states);
	return gpucol_feed_call_finish(feed->aggstate, &f->call, &f->states[group], isnull);
}

void
gpucol_feed_end(GpucolFeed *feed)
{
	FreeExprContext(feed->group, true);
	FreeExprContext(feed->states, true);
}
