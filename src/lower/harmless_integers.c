/*-------------------------------------------------------------------------
 *
 * harmless_integers.c
 *	  Arithmetic of integers that stay within their types.
 *
 * a * b - c of integers is an error where a product, or a difference, is none of its type.  How far each may be of
 * 0 follows from the types of the columns: the sum of smallint columns, as integers, never is one, say.  Where it
 * may be, the same arithmetic in bigint tells:
 *
 *		a::bigint * b < -2147483648 OR a::bigint * b > 2147483647 OR ...
 *
 * which is asked only where that cannot leave bigint.  Of arithmetic in bigint the columns are asked, whether they
 * are so near 0 that nothing can leave it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/harmless_integers.h"
#include "lower/harmless_within.h"

/* bigint, less what a double loses. */
#define MOST_BIGINT		9.2e18
/* Columns are asked whether they are within powers of two between these. */
#define MOST_BITS		62
#define LEAST_BITS		10

typedef enum Kind
{
	KIND_NONE,
	KIND_SAME,					/* a cast to a wider type */
	KIND_SIZE,					/* - x, abs(x) */
	KIND_SUM,
	KIND_PRODUCT,
	KIND_QUOTIENT				/* by a constant */
} Kind;

/* The functions of a kind, and the one in bigint that does the same. */
static const struct
{
	Oid			funcid;
	Kind		kind;
	Oid			wide;
}			functions[] = {
	{F_INT4_INT2, KIND_SAME, InvalidOid},
	{F_INT8_INT2, KIND_SAME, InvalidOid},
	{F_INT8_INT4, KIND_SAME, InvalidOid},
	{F_INT2UM, KIND_SIZE, F_INT8UM},
	{F_INT4UM, KIND_SIZE, F_INT8UM},
	{F_INT8UM, KIND_SIZE, F_INT8UM},
	{F_INT2ABS, KIND_SIZE, F_ABS_INT8},
	{F_INT4ABS, KIND_SIZE, F_ABS_INT8},
	{F_INT8ABS, KIND_SIZE, F_ABS_INT8},
	{F_ABS_INT2, KIND_SIZE, F_ABS_INT8},
	{F_ABS_INT4, KIND_SIZE, F_ABS_INT8},
	{F_ABS_INT8, KIND_SIZE, F_ABS_INT8},
	{F_INT2PL, KIND_SUM, F_INT8PL},
	{F_INT4PL, KIND_SUM, F_INT8PL},
	{F_INT8PL, KIND_SUM, F_INT8PL},
	{F_INT24PL, KIND_SUM, F_INT8PL},
	{F_INT42PL, KIND_SUM, F_INT8PL},
	{F_INT48PL, KIND_SUM, F_INT8PL},
	{F_INT84PL, KIND_SUM, F_INT8PL},
	{F_INT28PL, KIND_SUM, F_INT8PL},
	{F_INT82PL, KIND_SUM, F_INT8PL},
	{F_INT2MI, KIND_SUM, F_INT8MI},
	{F_INT4MI, KIND_SUM, F_INT8MI},
	{F_INT8MI, KIND_SUM, F_INT8MI},
	{F_INT24MI, KIND_SUM, F_INT8MI},
	{F_INT42MI, KIND_SUM, F_INT8MI},
	{F_INT48MI, KIND_SUM, F_INT8MI},
	{F_INT84MI, KIND_SUM, F_INT8MI},
	{F_INT28MI, KIND_SUM, F_INT8MI},
	{F_INT82MI, KIND_SUM, F_INT8MI},
	{F_INT2MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT4MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT8MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT24MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT42MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT48MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT84MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT28MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT82MUL, KIND_PRODUCT, F_INT8MUL},
	{F_INT2DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT4DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT8DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT24DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT42DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT84DIV, KIND_QUOTIENT, F_INT8DIV},
	{F_INT82DIV, KIND_QUOTIENT, F_INT8DIV},
};

/* One expression that is looked at. */
typedef struct Integers
{
	double		near;			/* bigint columns are no farther from 0 */
	bool		wide;			/* it is computed in bigint */
	List	   *tests;			/* comparisons */
} Integers;

/* ---- how far from 0 ---- */

/* What a call does; with its arguments and its function in bigint. */
static Kind
get_kind(const Node *node, List **args, Oid *wide)
{
	Oid			funcid;

	if (IsA(node, OpExpr))
	{
		funcid = ((const OpExpr *) node)->opfuncid;
		*args = ((const OpExpr *) node)->args;
	}
	else if (IsA(node, FuncExpr))
	{
		funcid = ((const FuncExpr *) node)->funcid;
		*args = ((const FuncExpr *) node)->args;
	}
	else
		return KIND_NONE;
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].funcid == funcid)
		{
			*wide = functions[i].wide;
			return functions[i].kind;
		}
	}
	return KIND_NONE;
}

/* How far values of a type may be from 0, or -1. */
static double
most_of(Oid type)
{
	return type == INT2OID ? -(double) PG_INT16_MIN : type == INT4OID ? -(double) PG_INT32_MIN :
		type == INT8OID ? -(double) PG_INT64_MIN : -1;
}

/* The size of a constant, or -1. */
static double
constant_size(const Const *value)
{
	if (value->constisnull)
		return most_of(value->consttype) < 0 ? -1 : 0;
	switch (value->consttype)
	{
		case INT2OID:
			return fabs((double) DatumGetInt16(value->constvalue));
		case INT4OID:
			return fabs((double) DatumGetInt32(value->constvalue));
		case INT8OID:
			return fabs((double) DatumGetInt64(value->constvalue));
		default:
			return -1;
	}
}

/* How far the value of a column, a constant or COALESCE of such may be from 0, or -1. */
static double
leaf_size(const Integers *in, const Node *node)
{
	double		most = 0;
	ListCell   *lc;

	if (IsA(node, CoalesceExpr))
	{
		foreach(lc, ((const CoalesceExpr *) node)->args)
		{
			double		size = leaf_size(in, lfirst(lc));

			if (size < 0)
				return -1;
			most = Max(most, size);
		}
		return most;
	}
	if (IsA(node, Const))
		return constant_size((const Const *) node);
	if (!IsA(node, Var) || ((const Var *) node)->varlevelsup > 0 || most_of(((const Var *) node)->vartype) < 0)
		return -1;
	return Min(most_of(((const Var *) node)->vartype), in->near);
}

static double size_of(const Integers *in, const Node *node);

/* How far a call's result may be, if its arguments are what they may be. */
static double
call_size(const Integers *in, Kind kind, const List *args)
{
	double		left = size_of(in, linitial(args));
	double		right;

	if (left < 0 || kind == KIND_SAME || kind == KIND_SIZE)
		return left;
	if (kind == KIND_QUOTIENT)
		return IsA(lsecond(args), Const) && constant_size(lsecond(args)) > 0 ? left : -1;
	right = size_of(in, lsecond(args));
	if (right < 0)
		return -1;
	return kind == KIND_SUM ? left + right : left * right;
}

/* The same of arithmetic, or -1: it may leave its types, or is none. */
static double
size_of(const Integers *in, const Node *node)
{
	List	   *args;
	Oid			wide;
	Kind		kind = get_kind(node, &args, &wide);
	Oid			type = in->wide ? INT8OID : exprType(node);
	double		size;

	check_stack_depth();
	if (kind == KIND_NONE)
		return leaf_size(in, node);
	size = call_size(in, kind, args);
	/* the least of a type is one farther than the greatest; quotients by positive constants stay in it */
	if (kind == KIND_SAME || kind == KIND_QUOTIENT || size < (type == INT8OID ? MOST_BIGINT : most_of(type)))
		return size;
	return -1;
}

bool
gpucol_harmless_integers(const Node *node)
{
	Integers	in = {.near = -(double) PG_INT64_MIN};

	return (IsA(node, OpExpr) || IsA(node, FuncExpr)) && most_of(exprType(node)) > 0 && size_of(&in, node) >= 0;
}

/* ---- conditions ---- */

/* Arithmetic in bigint. */
static Expr *
widen(const Node *node)
{
	List	   *args;
	Oid			wide;
	Kind		kind = get_kind(node, &args, &wide);
	Oid			type = exprType(node);
	List	   *wider = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (kind == KIND_SAME)
		return widen(linitial(args));
	if (kind == KIND_NONE)
	{
		Oid			cast = type == INT2OID ? F_INT8_INT2 : F_INT8_INT4;
		Expr	   *leaf = (Expr *) copyObject(node);

		if (type != INT8OID)
			leaf = (Expr *) makeFuncExpr(cast, INT8OID, list_make1(leaf), InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST);
		return (Expr *) eval_const_expressions(NULL, (Node *) leaf);
	}
	foreach(lc, args)
		wider = lappend(wider, widen(lfirst(lc)));
	return (Expr *) makeFuncExpr(wide, INT8OID, wider, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Ask whether a value is less than one or greater than another. */
static void
ask(Integers *in, Expr *value, int64 least, int64 most)
{
	Oid			type = exprType((Node *) value);

	in->tests = list_append_unique(in->tests,
								   gpucol_harmless_compare(value, type, BTLessStrategyNumber, least));
	in->tests = list_append_unique(in->tests,
								   gpucol_harmless_compare(value, type, BTGreaterStrategyNumber, most));
}

/* Ask of all results that may leave their types, what they are in bigint. */
static void
ask_results(Integers *in, const Node *node)
{
	Integers	narrow = {.near = in->near};
	List	   *args;
	Oid			wide;
	Kind		kind = get_kind(node, &args, &wide);
	Oid			type = exprType(node);
	ListCell   *lc;

	if (kind == KIND_NONE)
		return;
	foreach(lc, args)
		ask_results(in, lfirst(lc));
	if (kind == KIND_SAME || size_of(&narrow, node) >= 0 || type == INT8OID)
		return;
	if (type == INT2OID)
		ask(in, widen(node), PG_INT16_MIN, PG_INT16_MAX);
	else
		ask(in, widen(node), PG_INT32_MIN, PG_INT32_MAX);
}

/* Ask of all columns whether they are as near 0 as they must be. */
static void
ask_columns(Integers *in, Node *node)
{
	int			bits = MOST_BITS + 1;
	ListCell   *lc;

	in->wide = false;
	do
	{
		bits--;
		in->near = (double) (INT64CONST(1) << bits);
	} while (bits > LEAST_BITS && size_of(in, node) < 0);
	if (size_of(in, node) < 0)
		return;
	foreach(lc, pull_var_clause(node, 0))
	{
		Var		   *var = lfirst_node(Var, lc);

		if (most_of(var->vartype) > in->near)
			ask(in, (Expr *) var, -(INT64CONST(1) << bits), INT64CONST(1) << bits);
	}
}

Expr *
gpucol_harmless_integers_beyond(const Expr *expr)
{
	const Node *node = (const Node *) expr;
	Integers	in = {.near = -(double) PG_INT64_MIN,.wide = true};

	if ((!IsA(node, OpExpr) && !IsA(node, FuncExpr)) || most_of(exprType(node)) < 0)
		return NULL;
	if (size_of(&in, node) >= 0)
		ask_results(&in, node);
	else
		ask_columns(&in, unconstify(Node *, node));
	return in.tests == NIL ? NULL : make_orclause(in.tests);
}
