/*-------------------------------------------------------------------------
 *
 * fed.c
 *	  Aggregates that are fed the rows of a scan.
 *
 * Whatever PostgreSQL aggregates can be fed: its own transition functions see every row,
 * with DISTINCT, ORDER BY, FILTER and WITHIN GROUP as they are.  The engine delivers the
 * arguments, in the order of the table; those that it cannot compute PostgreSQL evaluates
 * on the columns in them, for rows that pass the conditions and the aggregate's FILTER
 * only.
 *
 * Counts, sums and extremes of numbers that the engine delivers need no functions, either; nor do
 * counts of distinct rows of such, which are taken apart.
 *
 * Percentiles and modes of what the engine delivers as numbers need no functions at all:
 * the numbers are collected and sorted.  A percentile of float8(x) is one of x, as the
 * cast keeps the order; it is applied to the one or two values that the result is made of.
 * Differences of timestamps are numbers, too: so many microseconds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/typcache.h"

#include "lower/agg.h"
#include "lower/span.h"

/* Find the same expression among the outputs that aggregates before have. */
static bool
find_output(const GpucolGroupPlan *plan, GpucolFedArg *arg)
{
	for (int i = 0; i < plan->naggs && plan->finals[i].fed != NULL; i++)
	{
		const GpucolFed *fed = plan->finals[i].fed;

		for (int j = 0; j < fed->nargs && fed->filter.expr == NULL; j++)
		{
			if (fed->args[j].output >= 0 && !fed->args[j].counted && equal(fed->args[j].expr, arg->expr))
			{
				*arg = fed->args[j];
				return true;
			}
		}
	}
	return false;
}

/* Have a difference of timestamps delivered as one integer. */
static bool
lower_span(GpucolLower *l, GpucolFedArg *arg)
{
	GpucolLower mark = *l;
	GpucolSpanValue span;

	if (exprType((Node *) arg->expr) != INTERVALOID || IsA(arg->expr, Var))
		return false;
	if (!gpucol_lower_span(l, arg->expr, &span) || !span.plain || span.total == GPUCOL_NO_REG)
	{
		gpucol_lower_restore(l, &mark);
		return false;
	}
	gpucol_lower_add_output(l, span.total);
	memset(&arg->value, 0, sizeof(arg->value));
	arg->value.cls = GPUCOL_CLASS_I;
	arg->value.reg = span.total;
	arg->value.scale_reg = GPUCOL_NO_REG;
	arg->span = true;
	return true;
}

/* Have a numeric delivered by which its values are counted, whatever they display. */
static bool
lower_counted(GpucolLower *l, GpucolFedArg *arg)
{
	GpucolLower mark = *l;

	if (!gpucol_lower_formed(l, arg->expr, &arg->value))
	{
		gpucol_lower_restore(l, &mark);
		return false;
	}
	arg->value.scale_reg = GPUCOL_NO_REG;
	arg->counted = true;
	gpucol_lower_add_output(l, arg->value.reg);
	return true;
}

/* Have a numeric that is summed delivered as a mantissa, beside how many digits it displays. */
static bool
lower_summed(GpucolLower *l, GpucolFedArg *arg)
{
	GpucolLower mark = *l;
	GpucolValue *value = &arg->value;

	if (exprType((Node *) arg->expr) != NUMERICOID || !gpucol_lower_number(l, arg->expr, value) ||
		value->cls != GPUCOL_CLASS_D || value->packed || value->scale_reg == GPUCOL_NO_REG ||
		value->digits > GPUCOL_INT64_DIGITS)
	{
		gpucol_lower_restore(l, &mark);
		return false;
	}
	gpucol_lower_add_output(l, value->reg);
	gpucol_lower_add_output(l, value->scale_reg);
	arg->scales = l->nkeys;
	value->scale_reg = GPUCOL_NO_REG;
	arg->counted = true;
	return true;
}

/* Is it a sum or an average of numerics, which their order does not matter to? */
static bool
is_sum(const Aggref *agg)
{
	return (agg->aggfnoid == F_SUM_NUMERIC || agg->aggfnoid == F_AVG_NUMERIC) &&
		(agg->aggorder == NIL || agg->aggdistinct != NIL);
}

/* Have an expression delivered, or the columns that it is evaluated on. */
static bool
lower_arg(GpucolLower *l, GpucolGroupPlan *plan, const Aggref *agg, GpucolFedArg *arg)
{
	bool		counted = agg->aggfnoid == F_COUNT_ANY && agg->aggdistinct != NIL;

	if (l->conditional == 0 && find_output(plan, arg))
		return true;
	arg->output = l->nkeys;
	if (plan->tests == NIL && lower_span(l, arg))
		return true;
	if (counted && lower_counted(l, arg))
		return true;
	if (is_sum(agg) && (plan->tests == NIL || IsA(arg->expr, Var)) && lower_summed(l, arg))
		return true;
	if ((plan->tests == NIL || IsA(arg->expr, Var)) && gpucol_lower_number_output(l, arg->expr, &arg->value))
		return true;
	arg->output = -1;
	return gpucol_lower_bases(l, plan, arg->expr);
}

/* Arguments and sort expressions; all of them PostgreSQL's where `host`. */
static bool
lower_args(GpucolLower *l, GpucolGroupPlan *plan, GpucolFed *fed, bool host)
{
	ListCell   *lc;

	fed->nargs = list_length(fed->agg->args);
	fed->args = palloc0(Max(fed->nargs, 1) * sizeof(GpucolFedArg));
	foreach(lc, fed->agg->args)
	{
		GpucolFedArg *arg = &fed->args[foreach_current_index(lc)];

		arg->expr = lfirst_node(TargetEntry, lc)->expr;
		arg->output = -1;
		if (host ? !gpucol_lower_bases(l, plan, arg->expr) : !lower_arg(l, plan, fed->agg, arg))
			return false;
	}
	return true;
}

/*
 * The same, with FILTER before.  Where that is PostgreSQL's, so is everything that is
 * evaluated for rows that it lets pass.
 */
static bool
lower_filtered(GpucolLower *l, GpucolGroupPlan *plan, GpucolFed *fed)
{
	GpucolFedArg *filter = &fed->filter;
	GpucolMask	mask;
	bool		ok;

	filter->expr = fed->agg->aggfilter;
	filter->output = -1;
	if (filter->expr == NULL)
		return lower_args(l, plan, fed, false);
	if (plan->tests != NIL || !gpucol_lower_expr(l, filter->expr, &filter->value) ||
		filter->value.cls != GPUCOL_CLASS_B)
		return gpucol_lower_bases(l, plan, filter->expr) && lower_args(l, plan, fed, true);
	filter->output = l->nkeys;
	gpucol_lower_add_output(l, filter->value.reg);
	gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter->value.reg);
	l->conditional++;
	ok = lower_args(l, plan, fed, false);
	gpucol_lower_pop_mask(l);
	l->conditional--;
	return ok;
}

/* Are a type's values, as engines have them, in PostgreSQL's order? */
static bool
is_ordered_number(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			return true;
		default:
			return false;
	}
}

/* Is it sorted by its type's own order, ascending or descending? */
static bool
is_plain_sort(Aggref *agg, Oid type)
{
	SortGroupClause *clause = linitial_node(SortGroupClause, agg->aggorder);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	return clause->sortop == entry->lt_opr || clause->sortop == entry->gt_opr;
}

/* The argument of a cast to float8 that keeps the order, or NULL. */
static Expr *
uncast(Expr *expr)
{
	FuncExpr   *cast = (FuncExpr *) expr;

	if (!IsA(cast, FuncExpr))
		return NULL;
	switch (cast->funcid)
	{
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_FLOAT8_NUMERIC:
			return linitial(cast->args);
		default:
			return NULL;
	}
}

/* Is it a percentile or a mode of values that are collected as numbers? */
static bool
is_sample(Aggref *agg)
{
	Expr	   *arg;

	switch (agg->aggfnoid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
		case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
		case F_MODE:
			break;
		default:
			return false;
	}
	arg = linitial_node(TargetEntry, agg->args)->expr;
	return (is_ordered_number(exprType((Node *) arg)) || exprType((Node *) arg) == INTERVALOID ||
			gpucol_lower_is_word((Node *) arg)) &&
		is_plain_sort(agg, exprType((Node *) arg));
}

/* Is a value delivered as a number of 64 bits? */
static bool
is_number(const GpucolFedArg *arg)
{
	return arg->output >= 0 && is_ordered_number(exprType((Node *) arg->expr)) &&
		(arg->value.cls == GPUCOL_CLASS_I || arg->value.cls == GPUCOL_CLASS_F ||
		 (arg->value.cls == GPUCOL_CLASS_D && arg->value.digits <= GPUCOL_INT64_DIGITS));
}

bool
gpucol_lower_fed_number(const GpucolFedArg *arg, Oid sortop, bool *descending)
{
	TypeCacheEntry *entry = lookup_type_cache(exprType((Node *) arg->expr), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	*descending = sortop == entry->gt_opr;
	return is_number(arg) && (sortop == entry->lt_opr || sortop == entry->gt_opr);
}

/* Can a value be collected in 64 bits, or numbered? */
static bool
fits_sample(const GpucolFedArg *arg)
{
	if (arg->output >= 0 && gpucol_lower_is_word((Node *) arg->expr))
		return arg->value.cls == GPUCOL_CLASS_S;
	return arg->span || is_number(arg);
}

/* An aggregate of the same call over what its argument is cast from. */
static Aggref *
over_uncast(Aggref *agg)
{
	TargetEntry *tle = linitial_node(TargetEntry, agg->args);
	Expr	   *arg = uncast(tle->expr);
	Aggref	   *copy;

	if (arg == NULL || (agg->aggfnoid != F_PERCENTILE_CONT_FLOAT8_FLOAT8 &&
						agg->aggfnoid != F_PERCENTILE_CONT__FLOAT8_FLOAT8))
		return NULL;
	copy = makeNode(Aggref);
	*copy = *agg;
	tle = flatCopyTargetEntry(tle);
	tle->expr = arg;
	copy->args = list_make1(tle);
	return copy;
}

/* Lower a percentile or a mode as numbers, of what `agg` has for its argument. */
static bool
lower_sample(GpucolLower *l, Aggref *agg, Oid cast, GpucolGroupPlan *plan, GpucolFed *fed)
{
	GpucolLower mark = *l;
	int			nbase = plan->nbase;

	fed->agg = agg;
	if (lower_filtered(l, plan, fed) && fits_sample(&fed->args[0]))
	{
		fed->sample = true;
		fed->cast = cast;
		return true;
	}
	gpucol_lower_restore(l, &mark);
	plan->nbase = nbase;
	return false;
}

/* count(DISTINCT (a, b)) as a call whose arguments are the fields; NULL if it is none. */
static Aggref *
over_fields(Aggref *agg)
{
	RowExpr    *row = agg->args == NIL ? NULL : (RowExpr *) linitial_node(TargetEntry, agg->args)->expr;
	Aggref	   *copy;
	ListCell   *lc;

	if (agg->aggfnoid != F_COUNT_ANY || agg->aggdistinct == NIL || !gpucol_lower_is_row((Expr *) row) ||
		row->args == NIL || list_length(row->args) > GPUCOL_FED_MOST_ARGS)
		return NULL;
	copy = makeNode(Aggref);
	*copy = *agg;
	copy->args = NIL;
	foreach(lc, row->args)
		copy->args = lappend(copy->args, makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1, NULL, false));
	return copy;
}

/* Lower a count of distinct rows by their fields: records are equal where these are by their types' equality. */
static bool
lower_fields(GpucolLower *l, Aggref *agg, GpucolGroupPlan *plan, GpucolFed *fed, GpucolFinal *final)
{
	GpucolLower mark = *l;
	int			nbase = plan->nbase;
	bool		fits;

	fed->agg = over_fields(agg);
	if (fed->agg == NULL)
		return false;
	fits = lower_filtered(l, plan, fed);
	for (int i = 0; i < fed->nargs && fits; i++)
		fits = gpucol_lower_fed_distinct(&fed->args[i]);
	if (!fits)
	{
		gpucol_lower_restore(l, &mark);
		plan->nbase = nbase;
		return false;
	}
	fed->counts = fed->distinct = fed->whole = true;
	fed->state.op = GPUCOL_AGG_COUNT;
	final->kind = GPUCOL_FINAL_COUNT;
	final->scale_state = final->low_state = -1;
	return true;
}

/* Can PostgreSQL be asked for it by this road? */
static bool
check_form(GpucolLower *l, Aggref *agg)
{
	ListCell   *lc;

	if (agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0)
		return gpucol_lower_decline(l, "aggregate %s is computed in steps",
									format_procedure(agg->aggfnoid));
	if (contain_var_clause((Node *) agg->aggdirectargs) ||
		contain_subplans((Node *) agg->aggdirectargs))
		return gpucol_lower_decline(l, "a direct argument of aggregate %s depends on the group",
									format_procedure(agg->aggfnoid));
	foreach(lc, agg->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->ressortgroupref != 0 && exprType((Node *) tle->expr) == RECORDOID && !gpucol_lower_is_row(tle->expr))
			return gpucol_lower_decline(l, "aggregate %s is to sort rows whose fields have no order",
										format_procedure(agg->aggfnoid));
	}
	return true;
}

/*
 * Lower one aggregate.
 */
bool
gpucol_lower_fed(GpucolLower *l, Aggref *agg, GpucolGroupPlan *plan, GpucolFinal *final)
{
	GpucolFed  *fed = palloc0(sizeof(GpucolFed));
	Aggref	   *within;

	memset(final, 0, sizeof(*final));
	final->type = agg->aggtype;
	final->kind = GPUCOL_FINAL_DATUM;
	final->host = GPUCOL_HOST_FED;
	if (!check_form(l, agg))
		return false;
	if (is_sample(agg))
	{
		within = over_uncast(agg);
		if (within != NULL &&
			lower_sample(l, within, ((FuncExpr *) linitial_node(TargetEntry, agg->args)->expr)->funcid,
						 plan, fed))
		{
			final->fed = fed;
			return true;
		}
		if (lower_sample(l, agg, InvalidOid, plan, fed))
		{
			final->fed = fed;
			return true;
		}
	}
	final->fed = fed;
	memset(fed, 0, sizeof(*fed));
	if (lower_fields(l, agg, plan, fed, final))
		return true;
	memset(fed, 0, sizeof(*fed));
	fed->agg = agg;
	if (!lower_filtered(l, plan, fed))
		return false;
	return gpucol_lower_fed_state(fed, final) || fed->nargs != 1 || fed->args[0].scales == 0 ||
		gpucol_lower_decline(l, "its numeric values have different numbers of fractional digits");
}
