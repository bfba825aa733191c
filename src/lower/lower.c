/*-------------------------------------------------------------------------
 *
 * lower.c
 *	  Driver of the lowering: conjuncts, outputs and aggregates.
 *
 * Conjuncts arrive in the order in which PostgreSQL would test them.  Those
 * that compare one column with constants become ranges, which cannot raise
 * errors; the others are computed under a mask of the conjuncts before them,
 * so that no row that PostgreSQL would have excluded by then raises an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lower/lower.h"
#include "lower/row_compare.h"

/*
 * Start a program over a table of columns `desc`, to which Vars of `varno` refer.
 * planstate is NULL at plan time.  Memory is the current context's.
 */
GpucolLower *
gpucol_lower_begin(TupleDesc desc, Index varno, PlanState *planstate)
{
	GpucolLower *l = palloc0(sizeof(GpucolLower));
	int			natts = desc->natts;

	l->varno = varno;
	l->desc = desc;
	l->planstate = planstate;
	l->columns = palloc(Max(natts, 1) * sizeof(GpucolProgramColumn));
	l->maps = palloc(Max(natts, 1) * sizeof(GpucolTypeMap));
	l->filter = GPUCOL_NO_REG;
	return l;
}

/*
 * Forget what was appended after `mark` was copied, but not the reason.
 */
void
gpucol_lower_restore(GpucolLower *l, const GpucolLower *mark)
{
	l->ncolumns = mark->ncolumns;
	l->nconsts = mark->nconsts;
	l->nranges = mark->nranges;
	l->ninstrs = mark->ninstrs;
	l->nregs = mark->nregs;
	l->nkeys = mark->nkeys;
	l->naggs = mark->naggs;
	l->nhosts = mark->nhosts;
	l->norders = mark->norders;
	l->npayloads = mark->npayloads;
	l->nprobes = mark->nprobes;
	l->nprobe_keys = mark->nprobe_keys;
	l->filter = mark->filter;
	l->mask = mark->mask;
	l->never = mark->never;
}

/* Lower a conjunct that is no range into the filter register. */
static bool
lower_filter(GpucolLower *l, Expr *clause)
{
	GpucolMask	mask;
	uint16		reg;
	bool		ok;

	if (l->filter != GPUCOL_NO_REG)
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, l->filter);
	ok = gpucol_lower_bool(l, clause, &reg);
	if (l->filter != GPUCOL_NO_REG)
		gpucol_lower_pop_mask(l);
	if (!ok)
		return false;
	l->filter = l->filter == GPUCOL_NO_REG ? reg :
		gpucol_lower_emit(l, GPUCOL_OP_AND, l->filter, reg, GPUCOL_NO_REG, 0);
	return true;
}

/* Lower a comparison of rows: the range of their first columns skips vectors for it. */
static bool
lower_row_compare(GpucolLower *l, Expr *clause, const GpucolLower *mark)
{
	Expr	   *first = gpucol_row_compare_first((RowCompareExpr *) clause);

	if (first == NULL || !gpucol_lower_range(l, first))
		gpucol_lower_restore(l, mark);
	l->may_raise = false;
	return lower_filter(l, clause);
}

/* Lower a conjunct as a range or into the filter register. */
static bool
lower_conjunct(GpucolLower *l, Expr *clause, const GpucolLower *mark)
{
	if (IsA(clause, RowCompareExpr))
		return lower_row_compare(l, clause, mark);
	if (gpucol_lower_range(l, clause))
		return true;
	gpucol_lower_restore(l, mark);
	l->may_raise = false;
	return lower_filter(l, clause);
}

/*
 * A conjunct without columns.  PostgreSQL tests it once, before it reads a row (the
 * one-time filter of a Result), so its errors and what it runs do not depend on rows.
 */
static void
test_once(GpucolLower *l, Expr *clause)
{
	Datum		value;
	bool		isnull;

	if (l->planstate == NULL || l->never)
		return;
	gpucol_lower_eval_needed(l, clause, &value, &isnull);
	l->never = isnull || !DatumGetBool(value);
}

/*
 * Lower one conjunct of the WHERE clause.  With may_raise false the conjunct
 * is declined where it could raise an error.
 */
bool
gpucol_lower_qual(GpucolLower *l, Expr *clause, bool may_raise)
{
	GpucolLower mark = *l;
	bool		ok;

	if (gpucol_lower_is_constant(clause))
	{
		test_once(l, clause);
		return true;
	}
	l->may_raise = false;
	l->before = &mark;
	l->reached = GPUCOL_REACHED_UNKNOWN;
	ok = lower_conjunct(l, clause, &mark);
	l->before = NULL;
	l->reached = GPUCOL_REACHED_UNKNOWN;
	if (ok && l->may_raise && !may_raise)
		ok = gpucol_lower_decline(l, "it could raise an error before an earlier condition, which is not pushed down, excludes the row");
	if (!ok)
		gpucol_lower_restore(l, &mark);
	return ok;
}

/*
 * All conjuncts are lowered: what follows is computed for passing rows only.
 */
void
gpucol_lower_end_filter(GpucolLower *l)
{
	GpucolLower *before = palloc(sizeof(GpucolLower));

	l->nfilter_instrs = l->ninstrs;
	l->past_filter = true;
	*before = *l;
	l->before = before;
	l->reached = GPUCOL_REACHED_UNKNOWN;
}

/*
 * Have a register leave the program.
 */
void
gpucol_lower_add_output(GpucolLower *l, uint16 reg)
{
	if (l->keys == NULL)
		l->keys = palloc(sizeof(uint16));
	else
		l->keys = repalloc(l->keys, (l->nkeys + 1) * sizeof(uint16));
	l->keys[l->nkeys++] = reg;
}

static bool
lower_output(GpucolLower *l, Expr *expr, bool number, GpucolValue *out)
{
	GpucolLower mark = *l;

	if (!gpucol_lower_expr(l, expr, out))
	{
		gpucol_lower_restore(l, &mark);
		return false;
	}
	if (number)
		gpucol_lower_alike(l, expr, out);
	if (gpucol_value_scale_varies(out))
	{
		gpucol_lower_restore(l, &mark);
		return gpucol_lower_decline(l, "its numeric values have different numbers of fractional digits");
	}
	gpucol_lower_add_output(l, out->reg);
	return true;
}

/*
 * Lower an expression whose value leaves the program: an output column of a
 * scan, or a group key.  *out says its class and scale.
 */
bool
gpucol_lower_output(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	return lower_output(l, expr, false, out);
}

/*
 * The same where it may be a text that is made of values, or a part of one.
 */
bool
gpucol_lower_text_output(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	bool		parts = l->parts;
	bool		texts = l->texts;
	bool		ok;

	l->parts = l->texts = l->text_rows = true;
	ok = lower_output(l, expr, false, out);
	l->parts = parts;
	l->texts = texts;
	l->text_rows = false;
	return ok;
}

/*
 * The same of an aggregation; a numeric is a mantissa where its column's are displayed alike.
 */
bool
gpucol_lower_number_output(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	return lower_output(l, expr, true, out);
}

/*
 * Add an aggregate state, or find an equal one; returns its number.
 */
int
gpucol_lower_agg(GpucolLower *l, GpucolAggOp op, GpucolClass cls, uint16 arg,
				 uint16 filter)
{
	return gpucol_lower_ordered_agg(l, op, cls, arg, filter, 0);
}

/*
 * The same for a least or greatest byte string by an order (GpucolAgg).
 */
int
gpucol_lower_ordered_agg(GpucolLower *l, GpucolAggOp op, GpucolClass cls, uint16 arg,
						 uint16 filter, uint16 order)
{
	GpucolAgg  *agg;

	for (int i = 0; i < l->naggs; i++)
	{
		agg = &l->aggs[i];
		if (agg->op == op && agg->arg == arg && agg->filter == filter &&
			agg->order == order)
			return i;
	}
	if (l->aggs == NULL)
		l->aggs = palloc(sizeof(GpucolAgg));
	else
		l->aggs = repalloc(l->aggs, (l->naggs + 1) * sizeof(GpucolAgg));
	agg = &l->aggs[l->naggs];
	memset(agg, 0, sizeof(*agg));
	agg->op = op;
	agg->cls = cls;
	agg->arg = arg;
	agg->filter = filter;
	agg->order = order;
	return l->naggs++;
}
