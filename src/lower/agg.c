/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  Aggregate functions to engine states, by allow-list.
 *
 * sum(float4), which PostgreSQL accumulates in single precision, so that its result depends
 * on the order of the rows far beyond rounding, is here that of the double precision sum.
 *
 * The least and greatest value of a column of text, and of any other type without a
 * fixed-width form, the CPU engine finds; it compares bytes where PostgreSQL's order is
 * theirs, else it asks PostgreSQL.
 *
 * Where an argument has no form in the engines (a function of text), some
 * aggregates are still at hand: the engine groups by the columns of the argument
 * too, and the executor advances the aggregate once for each of these groups
 * (exec/regroup.c).  That does for whatever does not depend on how often a value
 * comes (min, max and other aggregates with a sort operator, DISTINCT), and for
 * sums of integers and numerics, which can be multiplied by the number of rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "kernel/packed_decimal.h"
#include "lower/agg.h"
#include "lower/harmless.h"
#include "lower/pipe.h"
#include "lower/span.h"

typedef struct AggFunction
{
	Oid			oid;
	uint8		op;				/* GpucolAggOp */
	uint8		final;			/* GpucolFinalKind */
	bool		sample;
	bool		root;
} AggFunction;

/* The variance family of a type. */
#define VARIANCES(type, kind) \
	{F_VARIANCE_##type, GPUCOL_AGG_SUMSQ, kind, true, false}, \
	{F_VAR_SAMP_##type, GPUCOL_AGG_SUMSQ, kind, true, false}, \
	{F_VAR_POP_##type, GPUCOL_AGG_SUMSQ, kind, false, false}, \
	{F_STDDEV_##type, GPUCOL_AGG_SUMSQ, kind, true, true}, \
	{F_STDDEV_SAMP_##type, GPUCOL_AGG_SUMSQ, kind, true, true}, \
	{F_STDDEV_POP_##type, GPUCOL_AGG_SUMSQ, kind, false, true}

#define BITS(type) \
	{F_BIT_AND_##type, GPUCOL_AGG_BOOL_AND, GPUCOL_FINAL_VALUE, false, false}, \
	{F_BIT_OR_##type, GPUCOL_AGG_BOOL_OR, GPUCOL_FINAL_VALUE, false, false}, \
	{F_BIT_XOR_##type, GPUCOL_AGG_BIT_XOR, GPUCOL_FINAL_VALUE, false, false}

#define MIN_MAX(type) \
	{F_MIN_##type, GPUCOL_AGG_MIN, GPUCOL_FINAL_VALUE, false, false}, \
	{F_MAX_##type, GPUCOL_AGG_MAX, GPUCOL_FINAL_VALUE, false, false}

static const AggFunction aggregates[] = {
	{F_COUNT_, GPUCOL_AGG_COUNT_STAR, GPUCOL_FINAL_COUNT, false, false},
	{F_COUNT_ANY, GPUCOL_AGG_COUNT, GPUCOL_FINAL_COUNT, false, false},
	{F_SUM_INT2, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_INT8, false, false},
	{F_SUM_INT4, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_INT8, false, false},
	{F_SUM_INT8, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_NUMERIC, false, false},
	{F_SUM_NUMERIC, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_NUMERIC, false, false},
	{F_SUM_MONEY, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_MONEY, false, false},
	{F_SUM_FLOAT4, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_FLOAT4, false, false},
	{F_SUM_FLOAT8, GPUCOL_AGG_SUM, GPUCOL_FINAL_SUM_FLOAT8, false, false},
	{F_AVG_INT2, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_NUMERIC, false, false},
	{F_AVG_INT4, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_NUMERIC, false, false},
	{F_AVG_INT8, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_NUMERIC, false, false},
	{F_AVG_NUMERIC, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_NUMERIC, false, false},
	{F_AVG_FLOAT4, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_FLOAT8, false, false},
	{F_AVG_FLOAT8, GPUCOL_AGG_SUM, GPUCOL_FINAL_AVG_FLOAT8, false, false},
	MIN_MAX(INT2),
	MIN_MAX(INT4),
	MIN_MAX(INT8),
	MIN_MAX(OID),
	MIN_MAX(FLOAT4),
	MIN_MAX(FLOAT8),
	MIN_MAX(DATE),
	MIN_MAX(TIME),
	MIN_MAX(TIMESTAMP),
	MIN_MAX(TIMESTAMPTZ),
	MIN_MAX(MONEY),
	MIN_MAX(NUMERIC),
	VARIANCES(INT2, GPUCOL_FINAL_VAR_NUMERIC),
	VARIANCES(INT4, GPUCOL_FINAL_VAR_NUMERIC),
	VARIANCES(INT8, GPUCOL_FINAL_VAR_NUMERIC),
	VARIANCES(NUMERIC, GPUCOL_FINAL_VAR_NUMERIC),
	VARIANCES(FLOAT4, GPUCOL_FINAL_VAR_FLOAT8),
	VARIANCES(FLOAT8, GPUCOL_FINAL_VAR_FLOAT8),
	BITS(INT2),
	BITS(INT4),
	BITS(INT8),
	{F_BOOL_AND, GPUCOL_AGG_BOOL_AND, GPUCOL_FINAL_BOOL, false, false},
	{F_EVERY, GPUCOL_AGG_BOOL_AND, GPUCOL_FINAL_BOOL, false, false},
	{F_BOOL_OR, GPUCOL_AGG_BOOL_OR, GPUCOL_FINAL_BOOL, false, false},
};

/* The allow-list's entry of an aggregate, or NULL. */
static const AggFunction *
find_aggregate(Oid oid)
{
	for (int i = 0; i < (int) lengthof(aggregates); i++)
	{
		if (aggregates[i].oid == oid)
			return &aggregates[i];
	}
	return NULL;
}

/* Decline the forms of an aggregate call that engines do not have. */
static bool
check_form(GpucolLower *l, Aggref *agg, const AggFunction *f)
{
	if (f == NULL)
		return gpucol_lower_decline(l, "aggregate %s has no counterpart in the engines",
									format_procedure(agg->aggfnoid));
	if (agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0 ||
		agg->aggkind != AGGKIND_NORMAL)
		return gpucol_lower_decline(l, "aggregate %s is computed in steps",
									format_procedure(agg->aggfnoid));
	if (agg->aggdistinct != NIL && f->op != GPUCOL_AGG_COUNT &&
		f->op != GPUCOL_AGG_MIN && f->op != GPUCOL_AGG_MAX &&
		f->op != GPUCOL_AGG_BOOL_AND && f->op != GPUCOL_AGG_BOOL_OR)
		return gpucol_lower_decline(l, "aggregate %s has DISTINCT",
									format_procedure(agg->aggfnoid));
	return true;
}

/* May distinct values be counted in the argument's form? */
static bool
check_distinct(GpucolLower *l, Expr *arg, const GpucolValue *value)
{
	if (value->cls == GPUCOL_CLASS_D)
		return gpucol_lower_decline(l, "count(DISTINCT numeric)");
	if (value->cls == GPUCOL_CLASS_S)
		return gpucol_lower_check_bytewise(l, arg);
	return true;
}

/* The state number of a MAX over the display scales of a decimal's rows. */
static int
scale_state(GpucolLower *l, const GpucolValue *value, uint16 filter)
{
	if (value->cls != GPUCOL_CLASS_D || value->scale_reg == GPUCOL_NO_REG)
		return -1;
	return gpucol_lower_agg(l, GPUCOL_AGG_MAX, GPUCOL_CLASS_I, value->scale_reg,
							filter);
}

/* Add the states of a sum of decimals that carry their scales: two parts, and the scale. */
static void
add_packed_sum(GpucolLower *l, const GpucolValue *value, uint16 filter, GpucolFinal *final)
{
	final->scale = GPUCOL_PACKED_HIGH;
	final->state = gpucol_lower_agg(l, GPUCOL_AGG_SUM, GPUCOL_CLASS_D,
									gpucol_lower_packed_part(l, value, GPUCOL_PACKED_SUM_HIGH), filter);
	final->low_state = gpucol_lower_agg(l, GPUCOL_AGG_SUM, GPUCOL_CLASS_D,
										gpucol_lower_packed_part(l, value, GPUCOL_PACKED_SUM_LOW), filter);
	final->scale_state = gpucol_lower_agg(l, GPUCOL_AGG_MAX, GPUCOL_CLASS_I,
										  gpucol_lower_packed_scale(l, value), filter);
}

/* Add the state of the least or greatest of decimals whose scales differ. */
static bool
add_packed_extreme(GpucolLower *l, GpucolAggOp op, const GpucolValue *value, uint16 filter, GpucolFinal *final)
{
	GpucolValue packed = *value;

	if (!gpucol_lower_pack(l, &packed))
		return false;
	final->kind = GPUCOL_FINAL_PACKED;
	final->state = gpucol_lower_ordered_agg(l, op, GPUCOL_CLASS_D, packed.reg, filter, GPUCOL_ORDER_PACKED);
	return true;
}

/* Add the state of an aggregate over a lowered argument. */
static bool
add_state(GpucolLower *l, Aggref *agg, const AggFunction *f, Expr *arg,
		  const GpucolValue *value, uint16 filter, GpucolFinal *final)
{
	GpucolAggOp op = (GpucolAggOp) f->op;

	final->kind = (GpucolFinalKind) f->final;
	final->cls = value->cls;
	final->scale = value->scale;
	if (op == GPUCOL_AGG_COUNT && agg->aggdistinct != NIL)
	{
		if (!check_distinct(l, arg, value))
			return false;
		op = GPUCOL_AGG_COUNT_DISTINCT;
		final->kind = GPUCOL_FINAL_DISTINCT;
	}
	else if (value->cls == GPUCOL_CLASS_S && op != GPUCOL_AGG_COUNT)
		return gpucol_lower_decline(l, "aggregate %s over type %s",
									format_procedure(agg->aggfnoid),
									format_type_be(exprType((Node *) arg)));
	if (gpucol_value_scale_varies(value) && (op == GPUCOL_AGG_MIN || op == GPUCOL_AGG_MAX) &&
		agg->aggdistinct == NIL && agg->aggorder == NIL && l->aggregating && !l->no_extremes)
		return add_packed_extreme(l, op, value, filter, final);
	if (gpucol_value_scale_varies(value) && op != GPUCOL_AGG_COUNT && op != GPUCOL_AGG_SUM &&
		(op != GPUCOL_AGG_SUMSQ || value->packed))
		return gpucol_lower_decline(l, "its numeric values have different numbers of fractional digits");
	if (op == GPUCOL_AGG_SUMSQ && value->cls == GPUCOL_CLASS_D &&
		2 * value->scale > GPUCOL_NUMERIC_MAX_SCALE)
		return gpucol_lower_decline(l, "its squares have more than %d fractional digits",
									GPUCOL_NUMERIC_MAX_SCALE);
	if (op == GPUCOL_AGG_SUM && value->cls == GPUCOL_CLASS_D && value->packed)
	{
		add_packed_sum(l, value, filter, final);
		return true;
	}
	final->state = gpucol_lower_agg(l, op, value->cls, value->reg, filter);
	if (op == GPUCOL_AGG_SUM || op == GPUCOL_AGG_SUMSQ)
		final->scale_state = scale_state(l, value, filter);
	return true;
}

/* count(*), and count of a literal that is not NULL, which is the same */
static bool
counts_rows(const AggFunction *f, Aggref *agg)
{
	Expr	   *arg;

	if (f->op == GPUCOL_AGG_COUNT_STAR)
		return true;
	arg = ((TargetEntry *) linitial(agg->args))->expr;
	return f->op == GPUCOL_AGG_COUNT && agg->aggdistinct == NIL &&
		IsA(arg, Const) && !((Const *) arg)->constisnull;
}

/* The comparison by which an aggregate with a sort operator finds its value. */
static bool
find_extreme(Aggref *agg, GpucolFinal *final)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(agg->aggfnoid));
	Oid			sortop = InvalidOid;
	Oid			family;
	Oid			type;
	GpucolCompatOrder order;

	if (HeapTupleIsValid(tuple))
	{
		sortop = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
		ReleaseSysCache(tuple);
	}
	if (!OidIsValid(sortop) || agg->aggfnoid >= FirstNormalObjectId ||
		!get_ordering_op_properties(sortop, &family, &type, &order))
		return false;
	final->less = get_opfamily_member(family, type, type, BTLessStrategyNumber);
	final->compare = get_opfamily_proc(family, type, type, BTORDER_PROC);
	final->greatest = order == GPUCOL_COMPAT_ORDER_GREATER;
	final->collation = agg->inputcollid;
	final->kind = GPUCOL_FINAL_DATUM;
	final->host = GPUCOL_HOST_EXTREME;
	return OidIsValid(final->compare) && OidIsValid(final->less);
}

/*
 * The order of an aggregate's values for the engines: that of bytes where PostgreSQL's is
 * the same, else one of the host's.
 */
static uint16
extreme_order(GpucolLower *l, int column, const GpucolFinal *final)
{
	if (gpucol_comparison_is_bytewise(final->compare, final->collation))
		return 0;
	if (final->compare == F_INTERVAL_CMP)
		return GPUCOL_ORDER_SPANS;
	return (uint16) (1 + gpucol_lower_add_order(l, column, final->less, final->collation));
}

/* The column that a least or greatest value is sought of. */
static Expr *
extreme_column(Expr *arg)
{
	while (IsA(arg, RelabelType) || IsA(arg, CollateExpr))
		arg = IsA(arg, RelabelType) ? ((RelabelType *) arg)->arg : ((CollateExpr *) arg)->arg;
	return arg;
}

static void
start_final(Aggref *agg, GpucolFinal *final)
{
	memset(final, 0, sizeof(*final));
	final->scale_state = final->low_state = -1;
	final->type = agg->aggtype;
}

/* The same of texts that are made of values, in the order of bytes. */
static bool
lower_made_extreme(GpucolLower *l, Aggref *agg, Expr *arg, GpucolFinal *final)
{
	GpucolMask	mask;
	GpucolValue value;
	uint16		filter = GPUCOL_NO_REG;
	bool		ok;

	if (!gpucol_comparison_is_bytewise(final->compare, final->collation) ||
		(agg->aggfilter && !gpucol_lower_bool(l, agg->aggfilter, &filter)))
		return false;
	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter);
		l->conditional++;
	}
	ok = gpucol_lower_expr(l, arg, &value) && value.cls == GPUCOL_CLASS_S;
	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_pop_mask(l);
		l->conditional--;
	}
	if (!ok)
		return false;
	final->kind = GPUCOL_FINAL_VALUE;
	final->host = GPUCOL_HOST_NONE;
	final->cls = GPUCOL_CLASS_S;
	final->state = gpucol_lower_ordered_agg(l, final->greatest ? GPUCOL_AGG_MAX : GPUCOL_AGG_MIN,
											GPUCOL_CLASS_S, value.reg, filter, 0);
	return true;
}

/* Add the state of the least or greatest value of a BYTES column. */
static bool
lower_extreme(GpucolLower *l, Aggref *agg, GpucolFinal *final)
{
	Expr	   *arg;
	GpucolValue value;
	uint16		filter = GPUCOL_NO_REG;
	int			column;

	start_final(agg, final);
	if (agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0 ||
		agg->aggkind != AGGKIND_NORMAL || list_length(agg->args) != 1 ||
		!find_extreme(agg, final))
		return false;
	arg = extreme_column(((TargetEntry *) linitial(agg->args))->expr);
	if (!IsA(arg, Var) && gpucol_lower_is_made_text((Node *) arg))
		return lower_made_extreme(l, agg, arg, final);
	if (!IsA(arg, Var) || !gpucol_lower_expr(l, arg, &value) ||
		value.cls != GPUCOL_CLASS_S)
		return false;
	if (l->no_extremes || (l->pipe != NULL && gpucol_pipe_is_made(l->pipe, ((Var *) arg)->varattno)))
		return false;
	if (agg->aggfilter && !gpucol_lower_bool(l, agg->aggfilter, &filter))
		return false;
	/* values are compared that no row of the statement has */
	if (!gpucol_harmless_order(final->less, exprType((Node *) arg), final->collation))
		return false;
	column = gpucol_lower_column(l, ((Var *) arg)->varattno);
	final->kind = GPUCOL_FINAL_VALUE;
	final->host = GPUCOL_HOST_NONE;
	final->cls = GPUCOL_CLASS_S;
	final->state = gpucol_lower_ordered_agg(l, final->greatest ? GPUCOL_AGG_MAX : GPUCOL_AGG_MIN,
											GPUCOL_CLASS_S, value.reg, filter,
											extreme_order(l, column, final));
	return true;
}

/*
 * Add the states of one aggregate call to the program and describe its final
 * step.
 */
bool
gpucol_lower_aggref(GpucolLower *l, Aggref *agg, GpucolFinal *final)
{
	const AggFunction *f = find_aggregate(agg->aggfnoid);
	uint16		filter = GPUCOL_NO_REG;
	GpucolMask	mask;
	GpucolValue value;
	Expr	   *arg;
	bool		matched;
	bool		ok;

	if (f == NULL && lower_extreme(l, agg, final))
		return true;
	start_final(agg, final);
	ok = gpucol_lower_regression(l, agg, &matched, final);
	if (matched)
		return ok;
	ok = gpucol_lower_span_agg(l, agg, &matched, final);
	if (matched)
		return ok;
	if (!check_form(l, agg, f))
		return false;
	if (agg->aggfilter && !gpucol_lower_bool(l, agg->aggfilter, &filter))
		return false;
	final->sample = f->sample;
	final->root = f->root;
	if (counts_rows(f, agg))
	{
		final->kind = GPUCOL_FINAL_COUNT;
		final->state = gpucol_lower_agg(l, GPUCOL_AGG_COUNT_STAR,
										GPUCOL_CLASS_NONE, GPUCOL_NO_REG, filter);
		return true;
	}
	arg = ((TargetEntry *) linitial(agg->args))->expr;
	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter);
		l->conditional++;
	}
	ok = f->op == GPUCOL_AGG_SUM || f->op == GPUCOL_AGG_SUMSQ || f->op == GPUCOL_AGG_MIN || f->op == GPUCOL_AGG_MAX ?
		gpucol_lower_number(l, arg, &value) : gpucol_lower_expr(l, arg, &value);
	if (ok && f->op == GPUCOL_AGG_SUMSQ && value.packed)
		(void) gpucol_lower_formed(l, arg, &value);
	if (filter != GPUCOL_NO_REG)
	{
		gpucol_lower_pop_mask(l);
		l->conditional--;
	}
	return ok && add_state(l, agg, f, arg, &value, filter, final);
}

/* Does the executor's state of numbers hold what so many rows of this argument come to? */
static bool
fits_fed_state(const AggFunction *f, const GpucolFedArg *arg)
{
	const GpucolValue *value = &arg->value;

	if (arg->output < 0)
		return false;
	if (f->op == GPUCOL_AGG_COUNT)
		return true;
	if (value->cls == GPUCOL_CLASS_S)
		return false;
	return value->cls == GPUCOL_CLASS_F || value->cls != GPUCOL_CLASS_D ||
		(!gpucol_value_scale_varies(value) && value->digits <= GPUCOL_INT64_DIGITS &&
		 2 * value->scale <= GPUCOL_NUMERIC_MAX_SCALE);
}

bool
gpucol_lower_is_word(Node *arg)
{
	return (exprType(arg) == TEXTOID || exprType(arg) == VARCHAROID) && OidIsValid(exprCollation(arg)) &&
		get_collation_isdeterministic(exprCollation(arg));
}

/* Can values of an expression be put in order, those of a row's fields each by itself? */
static bool
has_order(const Expr *expr)
{
	Oid			type = exprType((const Node *) expr);
	ListCell   *lc;

	if (!IsA(expr, RowExpr) || type != RECORDOID)
		return type != RECORDOID && OidIsValid(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc);
	foreach(lc, ((const RowExpr *) expr)->args)
	{
		if (!has_order(lfirst(lc)))
			return false;
	}
	return true;
}

bool
gpucol_lower_is_row(const Expr *expr)
{
	return IsA(expr, RowExpr) && ((const RowExpr *) expr)->row_typeid == RECORDOID && has_order(expr);
}

bool
gpucol_lower_fed_distinct(const GpucolFedArg *arg)
{
	const GpucolValue *value = &arg->value;

	if (arg->output < 0)
		return gpucol_fed_is_constant(arg);
	if (value->cls == GPUCOL_CLASS_S)
		return gpucol_lower_is_word((Node *) arg->expr);
	return value->cls != GPUCOL_CLASS_D || !gpucol_value_scale_varies(value);
}

/* Are all arguments such, and told apart by their types' equality? */
static bool
are_apart(const GpucolFed *fed)
{
	ListCell   *lc;

	if (fed->agg->aggdistinct == NIL || list_length(fed->agg->aggdistinct) != fed->nargs ||
		fed->nargs > GPUCOL_FED_MOST_ARGS)
		return false;
	foreach(lc, fed->agg->aggdistinct)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, fed->agg->args);

		if (clause->eqop != lookup_type_cache(exprType((Node *) tle->expr), TYPECACHE_EQ_OPR)->eq_opr ||
			!gpucol_lower_fed_distinct(&fed->args[tle->resno - 1]))
			return false;
	}
	return true;
}

/* Is it the one argument of a state?  The sum of floats depends on their order. */
static bool
is_distinct_number(const GpucolFed *fed, const AggFunction *f)
{
	return fed->nargs == 1 && are_apart(fed) && fed->args[0].output >= 0 &&
		(fed->args[0].value.cls != GPUCOL_CLASS_F || f->op == GPUCOL_AGG_COUNT);
}

/* States of a difference of timestamps. */
static bool
find_span_state(GpucolFed *fed, GpucolFinal *final)
{
	Oid			aggfnoid = fed->agg->aggfnoid;

	if (fed->agg->aggdistinct != NIL || fed->agg->aggorder != NIL)
		return false;
	fed->spans = aggfnoid == F_SUM_INTERVAL || aggfnoid == F_AVG_INTERVAL;
	if (fed->spans)
	{
		fed->state.op = GPUCOL_AGG_SUM;
		final->kind = aggfnoid == F_SUM_INTERVAL ? GPUCOL_FINAL_SUM_SPAN : GPUCOL_FINAL_AVG_SPAN;
		final->x_state = 1;
		final->y_state = 2;
	}
	else if (aggfnoid == F_MIN_INTERVAL || aggfnoid == F_MAX_INTERVAL)
	{
		fed->state.op = aggfnoid == F_MIN_INTERVAL ? GPUCOL_AGG_MIN : GPUCOL_AGG_MAX;
		final->kind = GPUCOL_FINAL_SPAN;
	}
	else if (aggfnoid == F_COUNT_ANY)
	{
		fed->state.op = GPUCOL_AGG_COUNT;
		final->kind = GPUCOL_FINAL_COUNT;
	}
	else
		return false;
	fed->counts = true;
	fed->state.cls = final->cls = GPUCOL_CLASS_I;
	final->scale_state = final->low_state = -1;
	return true;
}

bool
gpucol_lower_fed_state(GpucolFed *fed, GpucolFinal *final)
{
	const AggFunction *f = find_aggregate(fed->agg->aggfnoid);
	bool		distinct = fed->agg->aggdistinct != NIL;

	fed->apart = are_apart(fed) && (fed->filter.expr == NULL || fed->filter.output >= 0);
	if (gpucol_lower_fed_regression(fed, final))
		return true;
	if (fed->nargs == 1 && fed->args[0].span && find_span_state(fed, final))
		return true;
	if (f == NULL || (fed->agg->aggorder != NIL && !distinct) || fed->nargs > 1 ||
		(fed->nargs == 1 && !fits_fed_state(f, &fed->args[0])) ||
		(distinct && !is_distinct_number(fed, f)))
		return false;
	fed->distinct = distinct;
	fed->counts = true;
	fed->state.op = f->op;
	fed->state.cls = fed->nargs == 0 ? GPUCOL_CLASS_NONE : fed->args[0].value.cls;
	final->kind = (GpucolFinalKind) f->final;
	final->sample = f->sample;
	final->root = f->root;
	final->cls = fed->state.cls;
	final->scale = fed->nargs == 0 ? 0 : fed->args[0].value.scale;
	final->scale_state = fed->nargs == 1 && fed->args[0].scales > 0 ? 1 : -1;
	final->low_state = -1;
	return true;
}

/* Is DISTINCT by the hashable equality of the argument's type?  Equal names may have different hashes. */
static bool
find_distinct(Aggref *agg, Expr *arg, GpucolFinal *final)
{
	Oid			collation = exprCollation((Node *) arg);
	SortGroupClause *clause = linitial_node(SortGroupClause, agg->aggdistinct);
	TypeCacheEntry *type = lookup_type_cache(exprType((Node *) arg),
											 TYPECACHE_EQ_OPR | TYPECACHE_HASH_PROC);

	if (agg->aggfnoid != F_COUNT_ANY || type->eq_opr != clause->eqop ||
		!OidIsValid(type->hash_proc) ||
		(getBaseType(exprType((Node *) arg)) == NAMEOID && !get_collation_isdeterministic(collation)))
		return false;
	final->collation = collation;
	final->kind = GPUCOL_FINAL_DISTINCT;
	final->host = GPUCOL_HOST_DISTINCT;
	return true;
}

/* Is it an aggregate of integers that engines have, or a count? */
static bool
find_weighted(Aggref *agg, Expr *arg, GpucolFinal *final)
{
	const AggFunction *f = find_aggregate(agg->aggfnoid);
	Oid			type = exprType((Node *) arg);

	if (f == NULL || (f->op != GPUCOL_AGG_COUNT && type != INT2OID &&
					  type != INT4OID && type != INT8OID) ||
		(f->op != GPUCOL_AGG_COUNT && f->op != GPUCOL_AGG_SUM &&
		 f->op != GPUCOL_AGG_SUMSQ))
		return false;
	final->kind = (GpucolFinalKind) f->final;
	final->sample = f->sample;
	final->root = f->root;
	final->cls = f->op == GPUCOL_AGG_COUNT ? GPUCOL_CLASS_NONE : GPUCOL_CLASS_I;
	final->host = GPUCOL_HOST_WEIGHTED;
	return true;
}

/*
 * Is it a sum or an average of numerics?  Numeric's addition and multiplication by
 * an integer are exact and keep the display scale, so their order does not matter.
 */
static bool
find_numeric(Aggref *agg, GpucolFinal *final)
{
	if (agg->aggfnoid != F_SUM_NUMERIC && agg->aggfnoid != F_AVG_NUMERIC)
		return false;
	final->average = agg->aggfnoid == F_AVG_NUMERIC;
	final->kind = GPUCOL_FINAL_DATUM;
	final->host = GPUCOL_HOST_NUMERIC;
	return true;
}

/*
 * Describe how the executor advances an aggregate once for each of the engine's
 * groups.
 */
bool
gpucol_lower_host_agg(GpucolLower *l, Aggref *agg, GpucolFinal *final)
{
	Expr	   *arg;
	bool		found;

	start_final(agg, final);
	if (agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0 ||
		agg->aggkind != AGGKIND_NORMAL || agg->aggorder != NIL ||
		list_length(agg->args) != 1)
		return false;
	arg = ((TargetEntry *) linitial(agg->args))->expr;
	final->arg = arg;
	found = find_extreme(agg, final) ||
		(agg->aggdistinct != NIL ? find_distinct(agg, arg, final) :
		 find_weighted(agg, arg, final) || find_numeric(agg, final));
	return found ||
		gpucol_lower_decline(l, "aggregate %s over type %s",
							 format_procedure(agg->aggfnoid),
							 format_type_be(exprType((Node *) arg)));
}
