/*-------------------------------------------------------------------------
 *
 * regroup.c
 *	  Groups of an engine joined to the groups of a query whose keys or arguments
 *	  only PostgreSQL evaluates.
 *
 * The engine has grouped by the keys that it computes and by the columns that the
 * others are made of (lower/group.c).  For each of its groups the keys are
 * evaluated and looked up in a hash table by their types' own hash and equality,
 * and the states are added to those found there.  So an expression is evaluated
 * once for each combination of values that its columns have, not for each row.
 *
 * With grouping sets each of the engine's groups is added to a group of every set: that
 * with its values of the set's keys, the others being NULL.  So the table is read once,
 * and the sets cost by groups, not by rows.  Where the engine has all states, it is added to groups of those sets
 * only that no other set has all keys of; the groups of the others are made of these (group_sets.c).
 *
 * Where the plan feeds its aggregates, the engine delivers rows instead of groups: each
 * finds its group in the same way, and the aggregates are fed it (exec/feed.c).
 *
 * Aggregates that the executor advances see each of the engine's groups once, with
 * the number of its rows.  Distinct values are counted in a second table, whose
 * entries are pairs of a group and a value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "exec/domain.h"
#include "exec/feed.h"
#include "exec/group_table.h"
#include "exec/memo.h"
#include "exec/regroup.h"
#include "exec/result.h"
#include "kernel/agg_state.h"
#include "kernel/bytes_order.h"
#include "kernel/packed_decimal.h"
#include "plan/group_sets.h"
#include "service/memory.h"

/* What is remembered of PostgreSQL's expressions takes a share of the memory, and so much at most. */
#define MOST_REMEMBERED		((Size) 32 * 1024 * 1024)
#define REMEMBERED_SHARE	4
/* Groups of a set that are joined at a time. */
#define PIECE	8192

/* An aggregate that the executor advances. */
typedef struct HostAgg
{
	const GpucolFinal *final;
	GpucolMemo *arg;
	GpucolDomain		domain;			/* DISTINCT: how values are looked up */
	FmgrInfo	compare;		/* EXTREME */
	GpucolItemTable table;			/* DISTINCT: items are pairs (group, value) */
	uint32	   *groups;			/* DISTINCT: by pair */
	Datum	   *values;			/* DISTINCT: by pair; EXTREME, NUMERIC: by group */
} HostAgg;

struct GpucolRegroup
{
	GpucolExec *exec;
	const GpucolGroupPlan *plan;
	MemoryContext context;
	GpucolMeter meter;			/* of the context */
	ExprContext *econtext;
	TupleTableSlot *slot;		/* a row of the table: the base columns */
	GpucolMemo **key_states;	/* by key; NULL: the engine's output */
	GpucolMemo **tests;			/* by condition that PostgreSQL tests */
	Size		most_remembered;	/* bytes of each of these */
	GpucolOutput *key_outputs;	/* by key, where it is the engine's */
	GpucolOutput *base_outputs;
	HostAgg    *hosts;			/* by aggregate */
	GpucolFeed *feed;			/* instead, of rows */
	const GpucolAgg *aggs;		/* the program's */
	int			nengine;		/* states of the engine */
	GpucolSetOrder sets;
	uint32		nlooked;		/* sets in which the engine's groups are looked for, the first ones */
	uint32	   *key_hashes;		/* scratch: of the values of one group, */
	bool	   *no_key;			/* and which of them are NULL in a set */

	GpucolGroupTable table;
	uint32		host_room;		/* groups that the arrays of hosts hold */
	uint32	   *found;			/* several at a time; NULL: one by one */
	uint32		next;			/* to deliver */
};

/* ---- states ---- */

/* Raise what merging came to, if it is PostgreSQL's error; false beyond int128. */
static bool
merged(GpucolStatus status)
{
	if (status == GPUCOL_FLOAT_OVERFLOW)
		float_overflow_error();
	return status == GPUCOL_OK;
}

/* How an extreme of packed decimals compares with another: of equal ones the last of the scan goes beyond. */
static int
packed_order(const GpucolAgg *agg, const GpucolAggState *to, const GpucolAggState *from)
{
	int			order = gpucol_packed_order(gpucol_agg_value128(from), gpucol_agg_value128(to));

	if (order == 0 && from->w.i.lo >= to->w.i.lo)
		return agg->op == GPUCOL_AGG_MAX ? 1 : -1;
	return order;
}

/* Add the state of one of the engine's groups; false beyond int128. */
static bool
merge_state(const GpucolHost *host, const GpucolAgg *agg, GpucolAggState *to,
			const GpucolAggState *from)
{
	int			order = 0;

	if (agg->cls == GPUCOL_CLASS_S && (agg->op == GPUCOL_AGG_MIN || agg->op == GPUCOL_AGG_MAX) &&
		to->count > 0 && from->count > 0)
	{
		GpucolBytes x = {from->v.s.data, from->v.s.len};
		GpucolBytes y = {to->v.s.data, to->v.s.len};

		order = gpucol_host_order_compare(host, agg->order, &x, &y);
	}
	else if (gpucol_agg_is_packed(agg) && to->count > 0 && from->count > 0)
		order = packed_order(agg, to, from);
	return merged(gpucol_agg_merge(agg, to, from, order));
}

/* ---- aggregates of the executor ---- */

/* Count a value of a group unless it was seen there. */
static bool
is_new_value(HostAgg *host, uint32 group, Datum value)
{
	uint64		hash = (uint64) hash_combine(murmurhash32(group), gpucol_domain_hash(&host->domain, value)) << 32;
	uint64		at;
	uint32		pair;

	if (gpucol_item_reserve(&host->table))
	{
		host->groups = gpucol_grow(host->groups, host->table.room * sizeof(uint32));
		host->values = gpucol_grow(host->values, host->table.room * sizeof(Datum));
	}
	at = gpucol_hash_home(&host->table.hash, hash);
	while (gpucol_hash_next(&host->table.hash, hash, &at, &pair))
		if (host->groups[pair] == group &&
			gpucol_domain_equal(&host->domain, host->values[pair], value))
			return false;
	pair = gpucol_item_add(&host->table, hash, at);
	host->groups[pair] = group;
	host->values[pair] = datumCopy(value, host->domain.typbyval, host->domain.typlen);
	return true;
}

/* Keep the value if it goes beyond the group's. */
static void
keep_extreme(HostAgg *host, uint32 group, bool first, Datum value)
{
	const GpucolFinal *final = host->final;
	int			order;

	if (!first)
	{
		order = DatumGetInt32(FunctionCall2Coll(&host->compare, final->collation, value,
												host->values[group]));
		if (final->greatest ? order <= 0 : order >= 0)
			return;
	}
	host->values[group] = datumCopy(value, host->domain.typbyval, host->domain.typlen);
}

/* Add an integer `rows` times to a state of n, sum and sum of squares. */
static bool
add_weighted(const GpucolFinal *final, GpucolAggState *state, Datum value, int64 rows)
{
	GpucolAgg	agg = {.op = GPUCOL_AGG_SUM, .cls = GPUCOL_CLASS_I};
	GpucolAggState add = {.count = rows};
	__int128	number;

	if (final->cls == GPUCOL_CLASS_NONE)
	{
		state->count += rows;
		return true;			/* count */
	}
	number = gpucol_integer_of(exprType((Node *) final->arg), value);
	gpucol_agg_put_value128(&add, number * rows);
	if (final->kind == GPUCOL_FINAL_VAR_NUMERIC)
	{
		agg.op = GPUCOL_AGG_SUMSQ;
		if (__builtin_mul_overflow(number * number, (__int128) rows, &number))
			return false;
		gpucol_agg_put_squares128(&add, number);
	}
	return merged(gpucol_agg_merge(&agg, state, &add, 0));
}

/* Add a numeric `rows` times to the group's sum. */
static void
add_numeric(GpucolRegroup *r, HostAgg *host, uint32 group, bool first, Datum value,
			int64 rows)
{
	MemoryContext old = MemoryContextSwitchTo(r->econtext->ecxt_per_tuple_memory);
	Datum		sum = DirectFunctionCall2(numeric_mul, value,
										  NumericGetDatum(int64_to_numeric(rows)));

	if (!first)
		sum = DirectFunctionCall2(numeric_add, sum, host->values[group]);
	MemoryContextSwitchTo(old);
	if (!first)
		pfree(DatumGetPointer(host->values[group]));
	host->values[group] = datumCopy(sum, false, -1);
}

/* Advance an aggregate for the engine's group in the slot. */
static bool
advance_host(GpucolRegroup *r, HostAgg *host, uint32 group, const GpucolAggState *from)
{
	const GpucolFinal *final = host->final;
	GpucolAggState *state = &r->table.states[(Size) group * r->table.nstates + final->state];
	int64		rows = from[final->rows].count;
	MemoryContext old;
	bool		isnull;
	Datum		value;

	if (rows == 0)
		return true;			/* FILTER let none of its rows pass */
	old = MemoryContextSwitchTo(r->econtext->ecxt_per_tuple_memory);
	value = gpucol_memo_eval(host->arg, r->econtext, &isnull);
	MemoryContextSwitchTo(old);
	if (isnull)
		return true;
	switch (final->host)
	{
		case GPUCOL_HOST_DISTINCT:
			state->count = 1;
			state->v.value += is_new_value(host, group, value);
			return true;
		case GPUCOL_HOST_EXTREME:
			keep_extreme(host, group, state->count == 0, value);
			state->count = 1;
			return true;
		case GPUCOL_HOST_NUMERIC:
			add_numeric(r, host, group, state->count == 0, value, rows);
			state->count += rows;
			return true;
		default:
			return add_weighted(final, state, value, rows);
	}
}

/* ---- groups ---- */

/* Have the arrays of aggregates that the executor advances hold all groups. */
static void
reserve_hosts(GpucolRegroup *r)
{
	uint32		room = r->table.items.room;

	for (int i = 0; i < r->plan->naggs && room > r->host_room; i++)
	{
		if (r->plan->finals[i].kind == GPUCOL_FINAL_DATUM && r->feed == NULL)
			r->hosts[i].values = gpucol_grow(r->hosts[i].values, room * sizeof(Datum));
	}
	r->host_room = room;
}

/* The group of a set with these keys and this hash; GPUCOL_NO_GROUP: it is not wanted. */
static uint32
find_group(GpucolRegroup *r, uint32 set, uint64 hash, const Datum *values, const bool *isnull)
{
	uint32		group = gpucol_group_table_find(&r->table, set, hash, values, isnull);

	reserve_hosts(r);
	return group;
}

/* The keys that are NULL in a set where these values are NULL. */
static const bool *
nulls_in_set(GpucolRegroup *r, uint32 set, const bool *isnull)
{
	int			n = r->plan->nkeys;

	for (int i = 0; i < n; i++)
		r->no_key[i] = r->sets.left_out[(Size) set * n + i] || isnull[i];
	return r->no_key;
}

/* ---- the run ---- */

/* A context for evaluating expressions on the engine's groups. */
static ExprContext *
make_econtext(EState *estate)
{
	ExprContext *econtext = CreateStandaloneExprContext();

	/* an initplan evaluated here keeps its result for the whole query */
	econtext->ecxt_per_query_memory = estate->es_query_cxt;
	econtext->ecxt_param_exec_vals = estate->es_param_exec_vals;
	econtext->ecxt_param_list_info = estate->es_param_list_info;
	return econtext;
}

static GpucolMemo *
init_memo(GpucolRegroup *r, Expr *expr)
{
	return gpucol_memo_create(expr, &r->exec->node->ss.ps, r->exec->desc, r->most_remembered);
}

static void
init_key(GpucolRegroup *r, int i)
{
	const GpucolGroupKey *key = &r->plan->keys[i];
	Node	   *expr = (Node *) key->expr;

	gpucol_domain_init(&r->table.domains[i], exprType(expr), exprCollation(expr));
	if (key->output < 0)
	{
		r->key_states[i] = init_memo(r, key->expr);
		return;
	}
	gpucol_output_init(&r->key_outputs[i], exprType(expr), exprTypmod(expr),
					   exprCollation(expr), &key->value);
	r->key_outputs[i].labels = key->labels;
}

static void
init_host(GpucolRegroup *r, int i)
{
	const GpucolFinal *final = &r->plan->finals[i];
	HostAgg    *host = &r->hosts[i];
	Oid			type;

	host->final = final;
	if (final->host == GPUCOL_HOST_NONE || final->host == GPUCOL_HOST_FED)
		return;
	type = exprType((Node *) final->arg);
	host->arg = init_memo(r, final->arg);
	get_typlenbyval(type, &host->domain.typlen, &host->domain.typbyval);
	if (final->host == GPUCOL_HOST_DISTINCT)
		gpucol_domain_init(&host->domain, type, final->collation);
	else if (final->host == GPUCOL_HOST_EXTREME)
		fmgr_info(final->compare, &host->compare);
}

static GpucolRegroup *
create(GpucolExec *exec, const GpucolGroupPlan *plan)
{
	GpucolRegroup *r = palloc0(sizeof(GpucolRegroup));

	r->exec = exec;
	r->plan = plan;
	r->context = CurrentMemoryContext;
	r->table.nkeys = plan->nkeys;
	r->econtext = make_econtext(exec->node->ss.ps.state);
	r->slot = MakeSingleTupleTableSlot(CreateTupleDescCopy(exec->desc), &TTSOpsVirtual);
	r->key_states = palloc0(Max(plan->nkeys, 1) * sizeof(GpucolMemo *));
	r->tests = palloc0(Max(list_length(plan->tests), 1) * sizeof(GpucolMemo *));
	r->most_remembered = Min(MOST_REMEMBERED, gpucol_budget_left(gpucol_run_budget(exec)) / REMEMBERED_SHARE) /
		(plan->nkeys + plan->naggs + list_length(plan->tests) + 1);
	r->table.domains = palloc0(Max(plan->nkeys, 1) * sizeof(GpucolDomain));
	r->key_outputs = palloc0(Max(plan->nkeys, 1) * sizeof(GpucolOutput));
	r->base_outputs = palloc0(Max(plan->nbase, 1) * sizeof(GpucolOutput));
	r->hosts = palloc0(Max(plan->naggs, 1) * sizeof(HostAgg));
	for (int i = 0; i < plan->nkeys; i++)
		init_key(r, i);
	for (int i = 0; i < list_length(plan->tests); i++)
		r->tests[i] = init_memo(r, list_nth(plan->tests, i));
	for (int i = 0; i < plan->nbase; i++)
	{
		Form_pg_attribute att = TupleDescAttr(exec->desc, plan->base[i].attnum - 1);

		gpucol_output_init(&r->base_outputs[i], att->atttypid, att->atttypmod,
						   att->attcollation, &plan->base[i].value);
	}
	for (int i = 0; i < plan->naggs; i++)
		init_host(r, i);
	if (plan->feeding)
		r->feed = gpucol_feed_create(plan, &exec->node->ss.ps, exec->desc, r->econtext, r->most_remembered);
	gpucol_group_sets_init(plan->sets.sets, plan->sets.functions, plan->nkeys, &r->sets);
	r->nlooked = r->feed == NULL && plan->nhost == 0 ? r->sets.nroots : r->sets.nsets;
	r->key_hashes = palloc0((plan->nkeys + 1) * sizeof(uint32));
	r->no_key = palloc(plan->nkeys + 1);
	gpucol_meter_open(&r->meter, r->context, gpucol_memory_open(0, gpucol_run_budget(exec)));
	return r;
}

/* A column of the engine's groups as datums. */
static GpucolKeyColumn
load_column(const GpucolOutput *output, const GpucolResult *result, int number)
{
	GpucolKeyColumn column;

	column.values = palloc(Max(result->nrows, 1) * sizeof(Datum));
	column.isnull = palloc(Max(result->nrows, 1) * sizeof(bool));
	gpucol_output_datums(output, &result->columns[number], result->nrows, column.values,
						 column.isnull);
	return column;
}

/* Put the base columns of one of the engine's groups into the slot. */
static void
store_base(GpucolRegroup *r, const GpucolKeyColumn *base, uint32 row)
{
	ExecClearTuple(r->slot);
	for (int i = 0; i < r->plan->nbase; i++)
	{
		int			att = r->plan->base[i].attnum - 1;

		r->slot->tts_values[att] = base[i].values[row];
		r->slot->tts_isnull[att] = base[i].isnull[row];
	}
	ExecStoreVirtualTuple(r->slot);
	r->econtext->ecxt_scantuple = r->slot;
}

/* Add the states of one of the engine's groups to those of a group. */
static bool
add_states(GpucolRegroup *r, uint32 group, const GpucolAggState *from)
{
	for (int a = 0; a < r->nengine; a++)
	{
		if (!merge_state(&r->exec->host, &r->aggs[a],
						 &r->table.states[(Size) group * r->table.nstates + a], &from[a]))
			return false;
	}
	for (int i = 0; i < r->plan->naggs; i++)
	{
		if (r->plan->finals[i].host != GPUCOL_HOST_NONE &&
			!advance_host(r, &r->hosts[i], group, from))
			return false;
	}
	return true;
}

/* The values of a query's keys, in room for INDEX_MAX_KEYS of them or in memory. */
typedef struct KeyValues
{
	Datum		room[INDEX_MAX_KEYS];
	bool		null_room[INDEX_MAX_KEYS];
	Datum	   *values;
	bool	   *isnull;
} KeyValues;

/* Does the stored one of the engine's groups or rows pass the conditions that PostgreSQL tests? */
static bool
passes(GpucolRegroup *r)
{
	MemoryContext old = MemoryContextSwitchTo(r->econtext->ecxt_per_tuple_memory);
	bool		ok = true;

	for (int i = 0; i < list_length(r->plan->tests) && ok; i++)
	{
		bool		isnull;

		ok = DatumGetBool(gpucol_memo_eval(r->tests[i], r->econtext, &isnull)) && !isnull;
	}
	MemoryContextSwitchTo(old);
	return ok;
}

/* The value of a key that PostgreSQL evaluates. */
static Datum
evaluate_key(GpucolRegroup *r, int i, bool *isnull)
{
	MemoryContext old = MemoryContextSwitchTo(r->econtext->ecxt_per_tuple_memory);
	Datum		value = gpucol_memo_eval(r->key_states[i], r->econtext, isnull);

	MemoryContextSwitchTo(old);
	return value;
}

/*
 * The keys of one of the engine's groups or rows, and their hashes in r->key_hashes; false where
 * a condition leaves it out.
 */
static bool
find_keys(GpucolRegroup *r, const GpucolKeyColumn *keys, const GpucolKeyColumn *base, uint32 row, KeyValues *k)
{
	k->values = k->room;
	k->isnull = k->null_room;
	ResetExprContext(r->econtext);
	store_base(r, base, row);
	if (!passes(r))
		return false;
	if (r->plan->nkeys > INDEX_MAX_KEYS)
	{
		k->values = MemoryContextAlloc(r->econtext->ecxt_per_tuple_memory,
									   r->plan->nkeys * sizeof(Datum));
		k->isnull = MemoryContextAlloc(r->econtext->ecxt_per_tuple_memory, r->plan->nkeys);
	}
	for (int i = 0; i < r->plan->nkeys; i++)
	{
		if (r->key_states[i] != NULL)
			k->values[i] = evaluate_key(r, i, &k->isnull[i]);
		else
		{
			k->values[i] = keys[i].values[row];
			k->isnull[i] = keys[i].isnull[row];
		}
		if (!k->isnull[i])
			r->key_hashes[i] = gpucol_domain_hash(&r->table.domains[i], k->values[i]);
	}
	return true;
}

/* The group of stored keys in a set. */
static uint32
group_of(GpucolRegroup *r, uint32 set, const KeyValues *k)
{
	const bool *isnull = nulls_in_set(r, set, k->isnull);

	return find_group(r, set, gpucol_group_table_hash(&r->table, set, r->key_hashes, isnull), k->values, isnull);
}

/* Join one of the engine's groups to its group in each set; false beyond int128. */
static bool
join_group(GpucolRegroup *r, const GpucolKeyColumn *keys, const GpucolKeyColumn *base,
		   const GpucolResult *result, uint32 row)
{
	const GpucolAggState *from = result->states + (Size) row * r->nengine;
	KeyValues	k;

	if (r->plan->rows >= 0 && from[r->plan->rows].count == 0)
		return true;
	if (!find_keys(r, keys, base, row, &k))
		return true;
	for (uint32 set = 0; set < r->nlooked; set++)
	{
		if (!add_states(r, group_of(r, set, &k), from))
			return false;
	}
	return true;
}

/* Does PostgreSQL evaluate nothing of a row, so that groups are looked for several at a time? */
static bool
is_plain(const GpucolRegroup *r)
{
	for (int i = 0; i < r->plan->nkeys; i++)
	{
		if (r->key_states[i] != NULL)
			return false;
	}
	return r->plan->nkeys > 0 && r->plan->nkeys <= INDEX_MAX_KEYS && r->plan->tests == NIL &&
		r->plan->rows < 0 && (r->feed != NULL || r->plan->nhost == 0);
}

/*
 * Find the groups of a batch's rows in all sets, and join the engine's to them, or (`groups`) note
 * their numbers; false beyond int128.
 */
static bool
find_plain(GpucolRegroup *r, const GpucolKeyColumn *keys, const GpucolResult *result, uint32 *groups)
{
	for (uint32 first = 0; first < result->nrows; first += GPUCOL_GROUPS_AHEAD)
	{
		uint32		n = Min(result->nrows - first, GPUCOL_GROUPS_AHEAD);

		gpucol_group_table_find_rows(&r->table, keys, r->sets.left_out, r->nlooked, first, n, r->found);
		for (uint32 i = 0; i < r->nlooked * n; i++)
		{
			uint32		row = first + i % n;

			if (groups != NULL)
				groups[(Size) (i / n) * result->nrows + row] = r->found[i];
			else if (!add_states(r, r->found[i], result->states + (Size) row * r->nengine))
				return false;
		}
	}
	return true;
}

/* A batch of rows that are fed, while it is read. */
typedef struct RowBatch
{
	GpucolRegroup *r;
	const GpucolKeyColumn *base;
} RowBatch;

static void
store_row(void *arg, uint32 row)
{
	RowBatch   *batch = arg;

	store_base(batch->r, batch->base, row);
}

/* Find the groups of a batch's rows one by one; in `pass`, where it is there, which rows have any. */
static void
find_each(GpucolRegroup *r, const GpucolKeyColumn *keys, const GpucolKeyColumn *base, uint32 nrows, uint32 *groups,
		  bool *pass)
{
	KeyValues	k;

	for (uint32 row = 0; row < nrows; row++)
	{
		if (row == 0 || r->plan->nkeys > 0 || r->plan->tests != NIL)
		{
			bool		ok = find_keys(r, keys, base, row, &k);

			if (pass != NULL)
				pass[row] = ok;
			if (!ok)
				continue;
		}
		for (uint32 set = 0; set < r->sets.nsets; set++)
			groups[(Size) set * nrows + row] = group_of(r, set, &k);
	}
}

/* Find the groups of a batch's rows, and feed their aggregates; false beyond int128. */
static bool
feed_batch(GpucolRegroup *r, const GpucolKeyColumn *keys, const GpucolKeyColumn *base, const GpucolResult *result)
{
	uint32		nrows = result->nrows;
	uint32	   *groups = palloc((Size) r->sets.nsets * Max(nrows, 1) * sizeof(uint32));
	RowBatch	batch = {r, base};
	bool	   *pass = r->plan->tests != NIL || r->table.wanted > 0 ? palloc(Max(nrows, 1)) : NULL;
	GpucolFeedRows rows = {result, store_row, &batch, groups, r->sets.nsets, 0, pass};
	MemoryContext old = MemoryContextSwitchTo(r->context);

	if (pass != NULL)
		memset(pass, true, nrows);
	if (r->found != NULL)
		find_plain(r, keys, result, groups);
	else
		find_each(r, keys, base, nrows, groups, pass);
	for (Size i = 0; i < (Size) r->sets.nsets * nrows && r->table.wanted > 0; i++)
	{
		if (pass[i % nrows] && groups[i] == GPUCOL_NO_GROUP)
			pass[i % nrows] = false;
	}
	MemoryContextSwitchTo(old);
	rows.ngroups = r->table.items.nitems;
	return gpucol_feed_rows(r->feed, &rows);
}

/* Join a batch of the engine's groups; false beyond int128. */
static bool
join_batch(GpucolRegroup *r, const GpucolResult *result, MemoryContext batch)
{
	MemoryContext old = MemoryContextSwitchTo(batch);
	GpucolKeyColumn *keys = palloc0(Max(r->plan->nkeys, 1) * sizeof(GpucolKeyColumn));
	GpucolKeyColumn *base = palloc0(Max(r->plan->nbase, 1) * sizeof(GpucolKeyColumn));
	bool		ok = true;

	for (int i = 0; i < r->plan->nkeys; i++)
	{
		if (r->plan->keys[i].output >= 0)
			keys[i] = load_column(&r->key_outputs[i], result, r->plan->keys[i].output);
	}
	for (int i = 0; i < r->plan->nbase; i++)
		base[i] = load_column(&r->base_outputs[i], result, r->plan->base[i].output);
	if (r->feed != NULL)
		ok = feed_batch(r, keys, base, result);
	MemoryContextSwitchTo(old);
	if (r->feed == NULL && r->found != NULL)
		ok = find_plain(r, keys, result, NULL);
	for (uint32 row = 0; row < result->nrows && ok && r->feed == NULL && r->found == NULL; row++)
		ok = join_group(r, keys, base, result, row);
	MemoryContextReset(batch);
	return ok;
}

/* Bytes that joining so many of the engine's groups may take, but for what datums point to. */
static Size
room_for(const GpucolRegroup *r, uint32 nrows)
{
	uint64		n = (uint64) nrows * r->nlooked;
	Size		datums = 0;
	Size		distinct = 0;

	for (int i = 0; i < r->plan->naggs; i++)
	{
		datums += r->plan->finals[i].host == GPUCOL_HOST_NONE ? 0 : sizeof(Datum);
		if (r->plan->finals[i].host == GPUCOL_HOST_DISTINCT)
			distinct += gpucol_item_growth(&r->hosts[i].table, n, sizeof(uint32) + sizeof(Datum));
	}
	if (r->feed != NULL)
		distinct = gpucol_feed_room(r->feed, n);
	return gpucol_group_table_growth(&r->table, n, datums) + distinct;
}

/* Learn from the program, which the run has made by its first batch. */
static void
open_program(GpucolRegroup *r)
{
	const GpucolProgram *program = r->exec->program;

	r->aggs = GPUCOL_PROGRAM_ARRAY(program, const GpucolAgg, aggs);
	r->nengine = program->naggs;
	r->table.nstates = r->nengine + r->plan->nhost;
}

/* Is there room for joining so many groups more?  If not, the node must fall back. */
static bool
has_room(GpucolRegroup *r, uint32 nrows)
{
	CHECK_FOR_INTERRUPTS();
	if (gpucol_meter_fits(&r->meter, room_for(r, nrows)))
		return true;
	r->exec->fallback = "groups need more memory than gpucol.memory_limit allows";
	return false;
}

/* Note whether sums were within int128; if not, the node must fall back. */
static bool
added(GpucolRegroup *r, bool ok)
{
	if (!ok)
		r->exec->fallback = "a sum of more than 38 digits";
	return ok;
}

/* Join a group to its group in a set that has some of its keys; false beyond int128. */
static bool
join_parent(GpucolRegroup *r, uint32 set, uint32 parent, KeyValues *k)
{
	int			n = r->plan->nkeys;
	uint32		group;

	memcpy(k->values, &r->table.keys[(Size) parent * n], n * sizeof(Datum));
	memcpy(k->isnull, &r->table.isnull[(Size) parent * n], n);
	for (int i = 0; i < n; i++)
	{
		if (!k->isnull[i] && !r->sets.left_out[(Size) set * n + i])
			r->key_hashes[i] = gpucol_domain_hash(&r->table.domains[i], k->values[i]);
	}
	group = group_of(r, set, k);
	return add_states(r, group, &r->table.states[(Size) parent * r->table.nstates]);
}

/* Make the groups of a set of those of its parent; false where the node must fall back. */
static bool
join_set(GpucolRegroup *r, uint32 set)
{
	uint32		ngroups = r->table.items.nitems;
	uint32		joined = 0;
	KeyValues	k;
	bool		ok = true;

	k.values = palloc((r->plan->nkeys + 1) * sizeof(Datum));
	k.isnull = palloc(r->plan->nkeys + 1);
	for (uint32 group = 0; group < ngroups && ok; group++)
	{
		if (r->table.sets[group] != (uint32) r->sets.parents[set])
			continue;
		ok = (joined++ % PIECE != 0 || has_room(r, Min(ngroups - group, PIECE))) &&
			added(r, join_parent(r, set, group, &k));
	}
	pfree(k.values);
	pfree(k.isnull);
	return ok;
}

/* Join all of the engine's groups; false where the node must fall back. */
static bool
join_all(GpucolRegroup *r, GpucolStatus status, GpucolResult *result)
{
	MemoryContext batch = AllocSetContextCreate(r->context, "gpucol regroup batch",
												ALLOCSET_DEFAULT_SIZES);

	for (; status == GPUCOL_OK; status = gpucol_run_next(r->exec, result))
	{
		if (!has_room(r, result->nrows) || !added(r, join_batch(r, result, batch)))
			return false;
	}
	for (uint32 set = r->nlooked; set < r->sets.nsets && status == GPUCOL_END; set++)
	{
		if (!join_set(r, set))
			return false;
	}
	if (r->feed != NULL && !gpucol_meter_fits(&r->meter, gpucol_feed_finish_room(r->feed)))
	{
		r->exec->fallback = "rows of aggregates need more memory than gpucol.memory_limit allows";
		return false;
	}
	return status == GPUCOL_END;
}

/* A set without keys has one group even of no rows. */
static void
add_empty_groups(GpucolRegroup *r)
{
	int			n = r->plan->nkeys;

	if (r->table.items.nitems > 0)
		return;
	memset(r->no_key, true, n);
	for (uint32 set = 0; set < r->sets.nsets; set++)
	{
		if (memchr(r->sets.left_out + (Size) set * n, false, n) == NULL)
			find_group(r, set, gpucol_group_table_hash(&r->table, set, r->key_hashes, r->no_key), NULL, r->no_key);
	}
}

GpucolRegroup *
gpucol_regroup_run(GpucolExec *exec, const GpucolGroupPlan *plan, uint32 wanted)
{
	GpucolResult result;
	GpucolStatus status = gpucol_run_next(exec, &result);
	GpucolRegroup *r;

	if (status != GPUCOL_OK && status != GPUCOL_END)
		return NULL;
	r = create(exec, plan);
	r->table.wanted = r->feed != NULL ? wanted : 0;
	open_program(r);
	if (is_plain(r))
		r->found = palloc((Size) r->nlooked * GPUCOL_GROUPS_AHEAD * sizeof(uint32));
	if (!join_all(r, status, &result))
		return NULL;
	add_empty_groups(r);
	if (r->feed != NULL)
		gpucol_feed_finish(r->feed, r->table.items.nitems, &r->meter);
	return r;
}

/* Result of one aggregate of a group. */
static Datum
result_datum(GpucolRegroup *r, int agg, uint32 group, bool *isnull)
{
	const GpucolFinal *final = &r->plan->finals[agg];
	const GpucolAggState *states = r->table.states + (Size) group * r->table.nstates;

	if (r->feed != NULL)
	{
		ResetExprContext(r->econtext);
		return gpucol_feed_result(r->feed, agg, group, isnull);
	}
	if (final->kind != GPUCOL_FINAL_DATUM)
		return gpucol_final_datum(final, states, isnull);
	*isnull = states[final->state].count == 0;
	if (*isnull)
		return (Datum) 0;
	if (final->average)
		return DirectFunctionCall2(numeric_div, r->hosts[agg].values[group],
								   NumericGetDatum(int64_to_numeric(states[final->state].count)));
	return r->hosts[agg].values[group];
}

bool
gpucol_regroup_next(GpucolRegroup *r, Datum *values, bool *isnull)
{
	int			nkeys = r->plan->nkeys;
	int			nfunctions = list_length(r->plan->sets.functions);
	int			first = nkeys + r->plan->naggs;
	uint32		group = r->next;

	if (group >= r->table.items.nitems)
		return false;
	r->next++;
	for (int i = 0; i < nkeys; i++)
	{
		values[i] = r->table.keys[(Size) group * nkeys + i];
		isnull[i] = r->table.isnull[(Size) group * nkeys + i];
	}
	for (int i = 0; i < r->plan->naggs; i++)
		values[nkeys + i] = result_datum(r, i, group, &isnull[nkeys + i]);
	for (int i = 0; i < nfunctions; i++)
	{
		values[first + i] = Int32GetDatum(r->sets.functions[(Size) r->table.sets[group] * nfunctions + i]);
		isnull[first + i] = false;
	}
	return true;
}

void
gpucol_regroup_end(GpucolRegroup *r)
{
	if (r->feed != NULL)
		gpucol_feed_end(r->feed);
}
