/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Window functions that GpucolWindow computes.
 *
 * Functions are known by OID.  Whatever is not listed is PostgreSQL's, as are the
 * arguments for which an answer could differ from PostgreSQL's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "plan/window.h"

/* The variances of a type. */
#define VARIANCES(type, kind) \
	{F_VARIANCE_##type, kind, true, false}, \
	{F_VAR_SAMP_##type, kind, true, false}, \
	{F_VAR_POP_##type, kind, false, false}, \
	{F_STDDEV_##type, kind, true, true}, \
	{F_STDDEV_SAMP_##type, kind, true, true}, \
	{F_STDDEV_POP_##type, kind, false, true}

static const struct
{
	Oid			function;
	GpucolWindowKind kind;
	bool		sample;			/* a variance: of a sample, */
	bool		root;			/* whose root is taken */
}			known[] = {
	{F_ROW_NUMBER, GPUCOL_WINDOW_ROW_NUMBER, false, false},
	{F_RANK_, GPUCOL_WINDOW_RANK, false, false},
	{F_DENSE_RANK_, GPUCOL_WINDOW_DENSE_RANK, false, false},
	{F_PERCENT_RANK_, GPUCOL_WINDOW_PERCENT_RANK, false, false},
	{F_CUME_DIST_, GPUCOL_WINDOW_CUME_DIST, false, false},
	{F_NTILE, GPUCOL_WINDOW_NTILE, false, false},
	{F_LAG_ANYELEMENT, GPUCOL_WINDOW_LAG, false, false},
	{F_LAG_ANYELEMENT_INT4, GPUCOL_WINDOW_LAG, false, false},
	{F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, GPUCOL_WINDOW_LAG, false, false},
	{F_LEAD_ANYELEMENT, GPUCOL_WINDOW_LEAD, false, false},
	{F_LEAD_ANYELEMENT_INT4, GPUCOL_WINDOW_LEAD, false, false},
	{F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, GPUCOL_WINDOW_LEAD, false, false},
	{F_FIRST_VALUE, GPUCOL_WINDOW_FIRST, false, false},
	{F_LAST_VALUE, GPUCOL_WINDOW_LAST, false, false},
	{F_NTH_VALUE, GPUCOL_WINDOW_NTH, false, false},
	{F_COUNT_, GPUCOL_WINDOW_COUNT, false, false},
	{F_COUNT_ANY, GPUCOL_WINDOW_COUNT, false, false},
	{F_SUM_INT2, GPUCOL_WINDOW_SUM, false, false},
	{F_SUM_INT4, GPUCOL_WINDOW_SUM, false, false},
	{F_SUM_MONEY, GPUCOL_WINDOW_SUM, false, false},
	{F_SUM_INT8, GPUCOL_WINDOW_SUM_NUMERIC, false, false},
	{F_SUM_NUMERIC, GPUCOL_WINDOW_SUM_NUMERIC, false, false},
	{F_AVG_INT2, GPUCOL_WINDOW_AVG_NUMERIC, false, false},
	{F_AVG_INT4, GPUCOL_WINDOW_AVG_NUMERIC, false, false},
	{F_AVG_INT8, GPUCOL_WINDOW_AVG_NUMERIC, false, false},
	{F_AVG_NUMERIC, GPUCOL_WINDOW_AVG_NUMERIC, false, false},
	{F_SUM_FLOAT4, GPUCOL_WINDOW_SUM_FLOAT, false, false},
	{F_SUM_FLOAT8, GPUCOL_WINDOW_SUM_FLOAT, false, false},
	{F_AVG_FLOAT4, GPUCOL_WINDOW_AVG_FLOAT, false, false},
	{F_AVG_FLOAT8, GPUCOL_WINDOW_AVG_FLOAT, false, false},
	VARIANCES(INT2, GPUCOL_WINDOW_VAR_NUMERIC),
	VARIANCES(INT4, GPUCOL_WINDOW_VAR_NUMERIC),
	VARIANCES(INT8, GPUCOL_WINDOW_VAR_NUMERIC),
	VARIANCES(NUMERIC, GPUCOL_WINDOW_VAR_NUMERIC),
	VARIANCES(FLOAT4, GPUCOL_WINDOW_VAR_FLOAT),
	VARIANCES(FLOAT8, GPUCOL_WINDOW_VAR_FLOAT),
	{F_BOOL_AND, GPUCOL_WINDOW_ALL, false, false},
	{F_EVERY, GPUCOL_WINDOW_ALL, false, false},
	{F_BOOL_OR, GPUCOL_WINDOW_ANY, false, false}
};

/* The place of a function among those that are known, or -1. */
static int
find_known(Oid function)
{
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		if (known[i].function == function)
			return i;
	}
	return -1;
}

void
gpucol_window_variance(Oid function, bool *sample, bool *root)
{
	int			i = find_known(function);

	*sample = i >= 0 && known[i].sample;
	*root = i >= 0 && known[i].root;
}

/*
 * PostgreSQL's own min and max, and others that it optimizes like these, have a sort
 * operator.
 */
Oid
gpucol_window_extreme_order(const WindowFunc *func)
{
	HeapTuple	tuple;
	Oid			order;

	if (!func->winagg || func->winfnoid >= FirstNormalObjectId || list_length(func->args) != 1)
		return InvalidOid;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(func->winfnoid));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	order = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	return order;
}

bool
gpucol_window_has_inverse(const WindowFunc *func)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(func->winfnoid));
	bool		has;

	if (!HeapTupleIsValid(tuple))
		return false;
	has = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggminvtransfn);
	ReleaseSysCache(tuple);
	return has;
}

/* Can the aggregate be fed, and asked for a result after each row? */
static bool
can_feed(const WindowFunc *func)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	bool		can;

	if (!func->winagg || list_length(func->args) >= FUNC_MAX_ARGS)
		return false;
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(func->winfnoid));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	can = form->aggkind == AGGKIND_NORMAL && form->aggfinalmodify == AGGMODIFY_READ_ONLY &&
		func_volatile(form->aggtransfn) != PROVOLATILE_VOLATILE &&
		(!OidIsValid(form->aggfinalfn) ||
		 func_volatile(form->aggfinalfn) != PROVOLATILE_VOLATILE);
	ReleaseSysCache(tuple);
	return can;
}

static GpucolWindowKind
find_kind(const WindowFunc *func)
{
	int			i = find_known(func->winfnoid);

	if (i >= 0)
		return known[i].kind;
	/* bool_and and bool_or have an order and are no min and max, but they are known */
	if (OidIsValid(gpucol_window_extreme_order(func)))
		return GPUCOL_WINDOW_EXTREME;
	return can_feed(func) ? GPUCOL_WINDOW_FED : GPUCOL_WINDOW_NONE;
}

GpucolWindowKind
gpucol_window_kind(const WindowFunc *func, const char **why)
{
	GpucolWindowKind kind = find_kind(func);
	ListCell   *lc;

	*why = NULL;
	if (kind == GPUCOL_WINDOW_NONE)
		*why = psprintf("window function %s", get_func_name(func->winfnoid));
	else if (kind == GPUCOL_WINDOW_NTILE &&
			 (contain_var_clause(linitial(func->args)) || contain_aggs_of_level(linitial(func->args), 0)))
		*why = "ntile of a number of tiles that is no constant";
	foreach(lc, func->args)
	{
		if (get_typlen(exprType(lfirst(lc))) == -2)
			*why = "a window function of a pseudo-type";
	}
	return *why == NULL ? kind : GPUCOL_WINDOW_NONE;
}

/* The comparison function of a condition as one of <, <=, >, >= of an int8 with another. */
static int
strategy_of(Oid function, bool swapped)
{
	switch (function)
	{
		case F_INT8LT:
			return swapped ? BTGreaterStrategyNumber : BTLessStrategyNumber;
		case F_INT8LE:
			return swapped ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber;
		case F_INT8GT:
			return swapped ? BTLessStrategyNumber : BTGreaterStrategyNumber;
		case F_INT8GE:
			return swapped ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
		case F_INT84LT:
		case F_INT82LT:
			return swapped ? InvalidStrategy : BTLessStrategyNumber;
		case F_INT84LE:
		case F_INT82LE:
			return swapped ? InvalidStrategy : BTLessEqualStrategyNumber;
		case F_INT48GT:
		case F_INT28GT:
			return swapped ? BTLessStrategyNumber : InvalidStrategy;
		case F_INT48GE:
		case F_INT28GE:
			return swapped ? BTLessEqualStrategyNumber : InvalidStrategy;
		default:
			return InvalidStrategy;
	}
}

bool
gpucol_window_bound(Expr *condition, GpucolWindowLimit *limit)
{
	OpExpr	   *test = (OpExpr *) condition;
	bool		swapped;
	int			strategy;

	if (!IsA(test, OpExpr) || list_length(test->args) != 2)
		return false;
	swapped = IsA(lsecond(test->args), WindowFunc);
	limit->func = swapped ? lsecond(test->args) : linitial(test->args);
	limit->bound = swapped ? linitial(test->args) : lsecond(test->args);
	if (!IsA(limit->func, WindowFunc) || contain_var_clause((Node *) limit->bound))
		return false;
	strategy = strategy_of(get_opcode(test->opno), swapped);
	limit->strict = strategy == BTLessStrategyNumber;
	return limit->strict || strategy == BTLessEqualStrategyNumber;
}

/* Is an offset a constant that is not negative, or is there none? */
static bool
looks_no_further(const WindowFunc *func)
{
	Const	   *offset;

	if (list_length(func->args) < 2)
		return true;
	offset = lsecond(func->args);
	return IsA(offset, Const) && !offset->constisnull && DatumGetInt32(offset->constvalue) >= 0;
}

bool
gpucol_window_looks_back(const WindowFunc *func, int frame_options)
{
	const char *why;

	switch (gpucol_window_kind(func, &why))
	{
		case GPUCOL_WINDOW_ROW_NUMBER:
		case GPUCOL_WINDOW_RANK:
		case GPUCOL_WINDOW_DENSE_RANK:
			return true;
		case GPUCOL_WINDOW_LAG:
			return looks_no_further(func);
		case GPUCOL_WINDOW_NONE:
		case GPUCOL_WINDOW_PERCENT_RANK:
		case GPUCOL_WINDOW_CUME_DIST:
		case GPUCOL_WINDOW_NTILE:
		case GPUCOL_WINDOW_LEAD:
			return false;
		default:
			return (frame_options & (FRAMEOPTION_END_CURRENT_ROW |
									 FRAMEOPTION_END_OFFSET_PRECEDING)) != 0;
	}
}
