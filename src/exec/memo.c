/*-------------------------------------------------------------------------
 *
 * memo.c
 *	  Expressions that PostgreSQL evaluates, once for each value of their column.
 *
 * Where rows or an engine's groups are finer than the values of a column (sum(ln(n)) by
 * shop), what only that column determines is remembered by its value.  Of a timestamp the
 * value is cut to the unit that does for the expression (lower/coarse.c).
 *
 * Values are compared by their bytes, so that 1.0 and 1.00 are two.  An expression over
 * several columns is evaluated for each row; so is one for which remembering does not pay:
 * every so many rows, what the values that were found again have saved is weighed against
 * looking all of them up and keeping the new ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/image.h"
#include "exec/item_table.h"
#include "exec/jsonb_number.h"
#include "exec/memo.h"
#include "exec/numeric_math.h"
#include "kernel/hash.h"
#include "lower/coarse.h"

/* It is weighed every so many rows, by the time that some evaluations took: not the first, which warm up. */
#define TRIAL_ROWS	8192
#define WARM_ROWS	64
#define TIMED_ROWS	256
/* Looking a value up takes so many nanoseconds, more once the table has outgrown caches, and keeping it these. */
#define FIND_NANOS	40
#define FIND_MANY_NANOS	120
#define MANY_ITEMS	16384
#define KEEP_NANOS	150

/* Items added between looks at the memory that they take. */
#define LOOK_EVERY	256

/* A value that the expression was evaluated for. */
typedef struct Kept
{
	Datum		arg;
	Datum		result;
	bool		arg_null;
	bool		result_null;
} Kept;

struct GpucolMemo
{
	ExprState  *state;
	int			column;			/* its only one, from 0; -1: nothing is remembered */
	int64		unit;			/* a timestamp is cut to multiples of it; 0 = it is not */
	bool		arg_byval;
	bool		result_byval;
	int16		arg_len;
	int16		result_len;
	MemoryContext context;
	Size		most;
	bool		full;
	uint32		rows;			/* since it was weighed last, */
	uint32		found;			/* and those of them whose value was there */
	uint32		evaluated;
	instr_time	taken;			/* by those that are timed */
	GpucolItemTable table;
	Kept	   *items;
};

/* The number of the only column of an expression that is more than that column; else -1. */
static int
find_column(Expr *expr)
{
	List	   *vars = pull_var_clause((Node *) expr, PVC_RECURSE_PLACEHOLDERS);
	int			column = -1;
	ListCell   *lc;

	if (IsA(expr, Var))
		return -1;
	foreach(lc, vars)
	{
		const Var  *var = lfirst_node(Var, lc);

		if (var->varattno <= 0 || (column >= 0 && column != var->varattno - 1))
			return -1;
		column = var->varattno - 1;
	}
	return column;
}

GpucolMemo *
gpucol_memo_create(Expr *expr, PlanState *parent, TupleDesc desc, Size most)
{
	GpucolMemo *memo = palloc0(sizeof(GpucolMemo));
	Form_pg_attribute att;

	memo->state = ExecInitExpr(expr, parent);
	gpucol_numeric_math_install(memo->state);
	gpucol_jsonb_number_install(memo->state);
	memo->column = find_column(expr);
	if (memo->column < 0)
		return memo;
	att = TupleDescAttr(desc, memo->column);
	memo->arg_byval = att->attbyval;
	memo->arg_len = att->attlen;
	memo->unit = gpucol_coarse_unit(desc, expr, memo->column + 1);
	get_typlenbyval(exprType((Node *) expr), &memo->result_len, &memo->result_byval);
	memo->most = most;
	memo->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol memo", ALLOCSET_DEFAULT_SIZES);
	if (memo->arg_len == -2 || memo->result_len == -2)
		memo->column = -1;
	return memo;
}

/*
 * Remember nothing any more.  What was remembered stays: results that were handed out for
 * earlier rows of a batch may be read when all of its rows have been evaluated.
 */
static void
give_up(GpucolMemo *memo)
{
	memo->column = -1;
}

/* The value by which a result is remembered. */
static Datum
key_of(const GpucolMemo *memo, Datum value, bool isnull)
{
	return memo->unit == 0 || isnull ? value : Int64GetDatum(gpucol_coarse_cut(DatumGetInt64(value), memo->unit));
}

static uint64
hash_of(const GpucolMemo *memo, Datum arg, bool isnull)
{
	if (isnull)
		return 0;
	return gpucol_hash_mix(1, gpucol_image_hash(arg, memo->arg_len, memo->arg_byval));
}

static bool
is_item(const GpucolMemo *memo, const Kept *item, Datum arg, bool isnull)
{
	if (item->arg_null || isnull)
		return item->arg_null && isnull;
	return gpucol_image_same(item->arg, arg, memo->arg_len, memo->arg_byval);
}

/* Remember a result. */
static void
add_item(GpucolMemo *memo, uint64 hash, const Kept *from)
{
	MemoryContext old = MemoryContextSwitchTo(memo->context);
	uint64		at;
	Kept	   *item;

	if (gpucol_item_reserve(&memo->table))
		memo->items = gpucol_grow(memo->items, memo->table.room * sizeof(Kept));
	at = gpucol_hash_free(&memo->table.hash, hash);
	item = &memo->items[gpucol_item_add(&memo->table, hash, at)];
	*item = *from;
	if (!item->arg_null)
		item->arg = datumCopy(item->arg, memo->arg_byval, memo->arg_len);
	if (!item->result_null)
		item->result = datumCopy(item->result, memo->result_byval, memo->result_len);
	MemoryContextSwitchTo(old);
	memo->full = memo->table.nitems % LOOK_EVERY == 0 &&
		MemoryContextMemAllocated(memo->context, true) > memo->most;
}

/* Has remembering cost more than it saved, by the last rows? */
static bool
is_useless(const GpucolMemo *memo)
{
	double		share = (double) memo->found / memo->rows;
	double		cost = (memo->table.nitems < MANY_ITEMS ? FIND_NANOS : FIND_MANY_NANOS) +
		(memo->full ? 0 : (1 - share) * KEEP_NANOS);
	double		saved = memo->evaluated <= WARM_ROWS ? cost :
		share * INSTR_TIME_GET_DOUBLE(memo->taken) * 1e9 / (memo->evaluated - WARM_ROWS);

	return saved < cost;
}

/* Evaluate the expression. */
static void
evaluate(GpucolMemo *memo, ExprContext *econtext, Kept *item)
{
	instr_time	start;
	instr_time	end;

	if (memo->evaluated >= WARM_ROWS + TIMED_ROWS)
	{
		item->result = ExecEvalExpr(memo->state, econtext, &item->result_null);
		return;
	}
	INSTR_TIME_SET_CURRENT(start);
	item->result = ExecEvalExpr(memo->state, econtext, &item->result_null);
	INSTR_TIME_SET_CURRENT(end);
	if (memo->evaluated++ >= WARM_ROWS)
		INSTR_TIME_ACCUM_DIFF(memo->taken, end, start);
}

/* Weigh what was found: does the expression go on being remembered? */
static bool
goes_on(GpucolMemo *memo)
{
	if (memo->rows++ < TRIAL_ROWS)
		return true;
	if (is_useless(memo))
		give_up(memo);
	memo->rows = memo->found = 0;
	return memo->column >= 0;
}

Datum
gpucol_memo_eval(GpucolMemo *memo, ExprContext *econtext, bool *isnull)
{
	const TupleTableSlot *slot = econtext->ecxt_scantuple;
	Kept		item;
	uint64		hash;
	uint64		at;
	uint32		number;

	if (memo->column < 0 || !goes_on(memo))
		return ExecEvalExpr(memo->state, econtext, isnull);
	item.arg_null = slot->tts_isnull[memo->column];
	item.arg = key_of(memo, slot->tts_values[memo->column], item.arg_null);
	hash = hash_of(memo, item.arg, item.arg_null);
	at = memo->table.hash.nslots == 0 ? 0 : gpucol_hash_home(&memo->table.hash, hash);
	while (memo->table.nitems > 0 && gpucol_hash_next(&memo->table.hash, hash, &at, &number))
	{
		if (!is_item(memo, &memo->items[number], item.arg, item.arg_null))
			continue;
		memo->found++;
		*isnull = memo->items[number].result_null;
		return memo->items[number].result;
	}
	evaluate(memo, econtext, &item);
	if (!memo->full)
		add_item(memo, hash, &item);
	*isnull = item.result_null;
	return item.result;
}
