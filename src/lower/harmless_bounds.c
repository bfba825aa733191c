/*-------------------------------------------------------------------------
 *
 * harmless_bounds.c
 *	  Numerics, times and integers that stay in bounds, so that computing them raises no error.
 *
 * PostgreSQL's numerics overflow at 131,072 digits, its times some 290,000 years from now.  An
 * expression is harmless where it cannot come near: numerics are followed by the digits that their
 * values have at most, from the declared precision of columns through arithmetic and aggregates;
 * times by how far a sum of constants goes; integers only where they are computed of constants.
 * Divisors are constants, NULLIF(x, 0), or what a condition of CASE has told from 0.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_check.h"

/* Numerics are bounded by so many decimal digits, */
#define MAX_DIGITS		1000
#define INTEGER_DIGITS	20
#define MONEY_DIGITS	40
#define SUM_DIGITS		20
#define QUOTIENT_DIGITS	40
/* times by so many days from the year 2000, intervals by so many days, sums by their depth. */
#define MAX_DAYS		(3000 * 366)
#define MAX_DEPTH		8

/* The two arguments of a call of one or two, or false. */
static bool
get_call(Node *node, Oid *funcid, Node **left, Node **right)
{
	List	   *args;

	if (IsA(node, OpExpr))
	{
		*funcid = ((OpExpr *) node)->opfuncid;
		args = ((OpExpr *) node)->args;
	}
	else if (IsA(node, FuncExpr))
	{
		*funcid = ((FuncExpr *) node)->funcid;
		args = ((FuncExpr *) node)->args;
	}
	else
		return false;
	if (list_length(args) < 1 || list_length(args) > 2)
		return false;
	*left = linitial(args);
	*right = list_length(args) == 2 ? lsecond(args) : NULL;
	return true;
}

/* Is an expression harmless, whatever a CASE around it has found out? */
static bool
check_apart(GpucolHarmlessCheck *c, Node *node)
{
	List	   *nonzero = c->nonzero;
	bool		ok;

	c->nonzero = NIL;
	ok = gpucol_harmless_check_expr(c, node);
	c->nonzero = nonzero;
	return ok;
}

/* Digits of a constant, before and behind the point. */
static int
constant_digits(const Const *value)
{
	if (value->constisnull)
		return 1;
	return (int) strlen(DatumGetCString(DirectFunctionCall1(numeric_out, value->constvalue)));
}

/* precision and scale, which may be negative (numeric.c) */
int
gpucol_harmless_declared_digits(int32 typmod)
{
	typmod -= VARHDRSZ;
	return typmod < 0 ? -1 : ((typmod >> 16) & 0xffff) + abs(((typmod & 0x7ff) ^ 1024) - 1024);
}

/* The same of a column, by its declaration or by what a subquery computes for it. */
static int
column_digits(GpucolHarmlessCheck *c, const Var *var)
{
	Query	   *scope = c->scope;
	Query	   *level = c->level;
	List	   *nonzero = c->nonzero;
	RangeTblEntry *rte;
	int			digits = gpucol_harmless_declared_digits(var->vartypmod);

	if (digits >= 0)
		return digits;
	if (scope == NULL || var->varlevelsup != 0 || var->varattno <= 0)
		return -1;
	rte = rt_fetch(var->varno, scope->rtable);
	if (gpucol_compat_rte_is_group(rte))
		return gpucol_harmless_digits(c, list_nth(gpucol_compat_rte_group_exprs(rte), var->varattno - 1));
	if (rte->rtekind != RTE_SUBQUERY || rte->subquery->setOperations != NULL)
		return -1;
	c->scope = rte->subquery;
	c->level = level == NULL ? NULL : rte->subquery;
	c->nonzero = NIL;			/* its columns are others */
	digits = gpucol_harmless_digits(c, (Node *) get_tle_by_resno(rte->subquery->targetList,
														 var->varattno)->expr);
	c->scope = scope;
	c->level = level;
	c->nonzero = nonzero;
	return digits;
}

/* The same of an aggregate. */
static int
aggregate_digits(GpucolHarmlessCheck *c, Aggref *agg)
{
	int			digits;

	if (!gpucol_harmless_check_aggregate(c, agg))
		return -1;
	switch (agg->aggfnoid)
	{
		case F_SUM_INT8:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
			return INTEGER_DIGITS + SUM_DIGITS + QUOTIENT_DIGITS;
		case F_SUM_NUMERIC:
		case F_AVG_NUMERIC:
		case F_MIN_NUMERIC:
		case F_MAX_NUMERIC:
			digits = gpucol_harmless_digits(c, (Node *) linitial_node(TargetEntry, agg->args)->expr);
			return digits < 0 ? -1 : digits + SUM_DIGITS + QUOTIENT_DIGITS;
		case F_STDDEV_INT2:
		case F_STDDEV_INT4:
		case F_STDDEV_INT8:
		case F_STDDEV_SAMP_INT2:
		case F_STDDEV_SAMP_INT4:
		case F_STDDEV_SAMP_INT8:
		case F_STDDEV_POP_INT2:
		case F_STDDEV_POP_INT4:
		case F_STDDEV_POP_INT8:
			return 2 * (INTEGER_DIGITS + SUM_DIGITS) + QUOTIENT_DIGITS;
		default:
			return -1;
	}
}

/* An integer that is computed of constants without an error; false if it is none. */
bool
gpucol_harmless_constant_integer(Node *node, int64 *value)
{
	Oid			funcid;
	Node	   *left;
	Node	   *right;
	int64		a;
	int64		b = 0;

	check_stack_depth();
	if (exprType(node) != INT4OID)
		return false;
	if (IsA(node, Const))
	{
		*value = DatumGetInt32(((Const *) node)->constvalue);
		return !((Const *) node)->constisnull;
	}
	if (!get_call(node, &funcid, &left, &right) || !gpucol_harmless_constant_integer(left, &a) ||
		(right != NULL && !gpucol_harmless_constant_integer(right, &b)))
		return false;
	switch (funcid)
	{
		case F_INT4PL:
			*value = a + b;
			break;
		case F_INT4MI:
			*value = a - b;
			break;
		case F_INT4MUL:
			*value = a * b;
			break;
		case F_INT4UM:
			*value = -a;
			break;
		default:
			return false;
	}
	return *value >= PG_INT32_MIN && *value <= PG_INT32_MAX;
}

/* The sign of a constant numeric: -1, 0 or 1; false if it is none, NULL or NaN. */
static bool
constant_sign(Node *node, int *sign)
{
	Oid			funcid;
	Node	   *left;
	Node	   *right;
	int64		integer;
	Datum		value;

	if (get_call(node, &funcid, &left, &right) && funcid == F_NUMERIC_INT4 &&
		gpucol_harmless_constant_integer(left, &integer))
	{
		*sign = (integer > 0) - (integer < 0);
		return true;
	}
	if (!IsA(node, Const) || ((Const *) node)->consttype != NUMERICOID || ((Const *) node)->constisnull ||
		numeric_is_nan(DatumGetNumeric(((Const *) node)->constvalue)))
		return false;
	value = DirectFunctionCall2(numeric_cmp, ((Const *) node)->constvalue,
								DirectFunctionCall1(int4_numeric, Int32GetDatum(0)));
	*sign = DatumGetInt32(value);
	return true;
}

/* Is a numeric not 0, whatever the row: a constant, NULLIF(x, 0), or told from 0 before? */
static bool
is_good_divisor(GpucolHarmlessCheck *c, Node *node)
{
	int			sign;

	if (IsA(node, NullIfExpr))
		return ((NullIfExpr *) node)->opfuncid == F_NUMERIC_EQ &&
			constant_sign(lsecond(((NullIfExpr *) node)->args), &sign) && sign == 0;
	if (IsA(node, Const) && ((Const *) node)->constisnull)
		return true;
	return constant_sign(node, &sign) ? sign != 0 : list_member(c->nonzero, node);
}

/* The numeric that a comparison with a constant tells from 0: where it is true, or (`otherwise`) where it is not. */
static Node *
other_than_zero(Node *condition, bool otherwise)
{
	Oid			funcid;
	Node	   *left;
	Node	   *right;
	int			sign;

	if (!get_call(condition, &funcid, &left, &right) || right == NULL || !constant_sign(right, &sign))
		return NULL;
	switch (funcid)
	{
		case F_NUMERIC_EQ:
			return (otherwise ? sign == 0 : sign != 0) ? left : NULL;
		case F_NUMERIC_NE:
			return !otherwise && sign == 0 ? left : NULL;
		case F_NUMERIC_GT:
			return !otherwise && sign >= 0 ? left : NULL;
		case F_NUMERIC_LT:
			return !otherwise && sign <= 0 ? left : NULL;
		default:
			return NULL;
	}
}

/* The most digits of several values. */
static int
most_digits(GpucolHarmlessCheck *c, List *values)
{
	int			most = 0;
	ListCell   *lc;

	foreach(lc, values)
	{
		int			digits = gpucol_harmless_digits(c, lfirst(lc));

		if (digits < 0)
			return -1;
		most = Max(most, digits);
	}
	return most;
}

/* Is a condition of a CASE harmless, where it compares the CASE's argument with a constant or has none? */
static bool
check_condition(GpucolHarmlessCheck *c, const CaseExpr *expr, Node *condition)
{
	Oid			funcid;
	Node	   *left;
	Node	   *right;
	int			sign;

	if (expr->arg == NULL)
		return check_apart(c, condition);
	return get_call(condition, &funcid, &left, &right) && funcid == F_NUMERIC_EQ && IsA(left, CaseTestExpr) &&
		constant_sign(right, &sign);
}

/* What is told from 0, where conditions speak of the argument of a CASE. */
static List *
nonzero_in_case(const CaseExpr *expr, Node *condition, bool otherwise, List *nonzero)
{
	Node	   *node = other_than_zero(condition, otherwise);

	if (node != NULL && expr->arg != NULL)
		node = (Node *) expr->arg;
	return node == NULL ? list_copy(nonzero) : lappend(list_copy(nonzero), node);
}

/* The digits of a CASE, whose conditions are harmless. */
static int
case_digits(GpucolHarmlessCheck *c, const CaseExpr *expr)
{
	List	   *outer = c->nonzero;
	int			most = 0;
	bool		ok = expr->arg == NULL || gpucol_harmless_digits(c, (Node *) expr->arg) >= 0;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		const CaseWhen *branch = lfirst_node(CaseWhen, lc);
		List	   *before = c->nonzero;
		int			digits;

		if (!ok || !check_condition(c, expr, (Node *) branch->expr))
			break;
		c->nonzero = nonzero_in_case(expr, (Node *) branch->expr, false, before);
		digits = gpucol_harmless_digits(c, (Node *) branch->result);
		c->nonzero = nonzero_in_case(expr, (Node *) branch->expr, true, before);
		ok = digits >= 0;
		most = Max(most, digits);
	}
	ok = ok && lc == NULL;
	if (ok && expr->defresult != NULL)
	{
		int			digits = gpucol_harmless_digits(c, (Node *) expr->defresult);

		ok = digits >= 0;
		most = Max(most, digits);
	}
	c->nonzero = outer;
	return ok ? most : -1;
}

/* Digits that the values of a numeric expression have at most, or -1: not known. */
int
gpucol_harmless_digits(GpucolHarmlessCheck *c, Node *node)
{
	Oid			funcid;
	Node	   *left;
	Node	   *right;
	int			a;
	int			b;

	check_stack_depth();
	if (exprType(node) != NUMERICOID)
		return -1;
	if (IsA(node, Const))
		return constant_digits((Const *) node);
	if (IsA(node, Aggref))
	{
		List	   *nonzero = c->nonzero;

		c->nonzero = NIL;		/* rows are aggregated, of which it says nothing */
		a = aggregate_digits(c, (Aggref *) node);
		c->nonzero = nonzero;
		return a;
	}
	if (IsA(node, CoalesceExpr))
		return most_digits(c, ((CoalesceExpr *) node)->args);
	if (IsA(node, CaseExpr))
		return case_digits(c, (CaseExpr *) node);
	if (IsA(node, NullIfExpr))
		return ((NullIfExpr *) node)->opfuncid == F_NUMERIC_EQ ? most_digits(c, ((NullIfExpr *) node)->args) : -1;
	if (IsA(node, Var))
		return gpucol_harmless_check_column(c, (Var *) node) ? column_digits(c, (Var *) node) : -1;
	if (!get_call(node, &funcid, &left, &right))
		return -1;
	switch (funcid)
	{
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return check_apart(c, left) ? INTEGER_DIGITS : -1;
		case F_NUMERIC_MONEY:
			return check_apart(c, left) ? MONEY_DIGITS : -1;
		case F_NUMERIC_UMINUS:
		case F_NUMERIC_UPLUS:
		case F_NUMERIC_ABS:
		case F_ABS_NUMERIC:
			return gpucol_harmless_digits(c, left);
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
			break;
		case F_NUMERIC_DIV:
			if (!is_good_divisor(c, right))
				return -1;
			break;
		default:
			return -1;
	}
	a = gpucol_harmless_digits(c, left);
	b = a < 0 ? -1 : gpucol_harmless_digits(c, right);
	if (b < 0 || a + b + QUOTIENT_DIGITS > MAX_DIGITS)
		return -1;
	return funcid == F_NUMERIC_DIV ? a + b + QUOTIENT_DIGITS : a + b + 1;
}

bool
gpucol_harmless_is_near_float(GpucolHarmlessCheck *c, Node *node)
{
	const FuncExpr *cast = (const FuncExpr *) node;
	int			digits;

	if (!IsA(cast, FuncExpr) || cast->funcid != F_FLOAT8_NUMERIC)
		return false;
	digits = gpucol_harmless_digits(c, linitial(cast->args));
	return digits >= 0 && digits < DBL_MAX_10_EXP;
}

/* Is it an interval, or a number of days, that is not long? */
static bool
is_short_interval(Node *node)
{
	const Const *value = (Const *) node;
	const Interval *interval;

	/* cut to a typmod */
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_INTERVAL_INTERVAL_INT4)
		return IsA(lsecond(((FuncExpr *) node)->args), Const) &&
			is_short_interval(linitial(((FuncExpr *) node)->args));
	if (!IsA(node, Const))
		return false;
	if (value->constisnull)
		return true;
	if (value->consttype == INT4OID)
		return abs(DatumGetInt32(value->constvalue) / 2) < MAX_DAYS / 2;
	if (value->consttype != INTERVALOID)
		return false;
	interval = DatumGetIntervalP(value->constvalue);
	return interval->month > -MAX_DAYS / 31 && interval->month < MAX_DAYS / 31 &&
		interval->day > -MAX_DAYS && interval->day < MAX_DAYS &&
		interval->time > -MAX_DAYS * USECS_PER_DAY && interval->time < MAX_DAYS * USECS_PER_DAY;
}

/* Is it a date or time that is not far, or a sum of one and such intervals? */
bool
gpucol_harmless_is_near_time(GpucolHarmlessCheck *c, Node *node, int depth)
{
	const Const *value = (Const *) node;
	Oid			funcid;
	Node	   *left;
	Node	   *right;

	if (depth > MAX_DEPTH)
		return false;
	if (IsA(node, Const))
	{
		if (value->constisnull)
			return true;
		if (value->consttype == DATEOID)
			return abs(DatumGetDateADT(value->constvalue) / 2) < MAX_DAYS / 2;
		return (value->consttype == TIMESTAMPOID || value->consttype == TIMESTAMPTZOID) &&
			DatumGetTimestamp(value->constvalue) > -MAX_DAYS * USECS_PER_DAY &&
			DatumGetTimestamp(value->constvalue) < MAX_DAYS * USECS_PER_DAY;
	}
	if (IsA(node, SQLValueFunction) ||
		(IsA(node, FuncExpr) && ((FuncExpr *) node)->args == NIL))
		return gpucol_lower_is_safe_constant(c->l, (Expr *) node);
	if (!get_call(node, &funcid, &left, &right))
		return false;
	switch (funcid)
	{
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			return gpucol_harmless_is_near_time(c, left, depth + 1) && is_short_interval(right);
		default:
			return false;
	}
}
