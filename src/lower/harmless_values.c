/*-------------------------------------------------------------------------
 *
 * harmless_values.c
 *	  Quotients by columns, arithmetic of floats, and texts as numbers, of values that raise no error.
 *
 * Each is an error for some values of columns, which a condition tells from the others:
 *
 *	  a / b, a % b		of integers: where b is 0, or -1, of which the least integer is an error
 *	  a * b / c			of numerics: where c is 0, or a column without a precision is very large
 *	  n::double precision	of numerics: where n is very large, or so near 0
 *	  a * b - c			of doubles and reals: where one is so large or so near 0 that results could leave the
 *						type: of so few factors none does
 *	  t::int			where t does not look like one: signs and few enough digits
 *
 * What is computed with are columns and constants, or casts of these to a wider type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "lower/harmless_check.h"
#include "lower/harmless_integers.h"
#include "lower/harmless_values.h"
#include "lower/harmless_within.h"

/* The operator !~ of texts. */
#define TEXT_MATCHES_NOT	642

/* Doubles are between these, or 0; so many of them. */
#define MOST_FLOAT		1e75
#define LEAST_FLOAT		1e-60
#define MOST_FLOATS		4
/* Numerics of so many digits are within them, or between these. */
#define FLOAT_DIGITS	60
#define FLOAT_NUMERIC	"1e60"
#define SMALL_NUMERIC	"1e-60"
/* Numerics without a precision are no farther from 0, constants no nearer; so many factors. */
#define MOST_NUMERIC	"1e100"
#define LEAST_NUMERIC	"1e-100"
#define MOST_NUMERICS	8

/* Texts of so many characters are no numbers by any of the forms. */
#define FORM_LENGTH		64

/* An expression that is looked at. */
typedef struct Values
{
	int			leaves;			/* columns and constants so far */
	List	   *tests;			/* when they raise errors */
} Values;

/* ---- conditions ---- */

static OpExpr *
compare(Node *value, int strategy, Const *with)
{
	return gpucol_harmless_compare_const((Expr *) value, exprType(value), strategy, with);
}

static Const *
make_float(double value)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

static Const *
make_real(float value)
{
	return makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4), Float4GetDatum(value), false, true);
}

/* A numeric that is written so. */
static Const *
make_numeric(const char *text)
{
	Datum		value = DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
											Int32GetDatum(-1));

	return makeConst(NUMERICOID, -1, InvalidOid, -1, value, false, false);
}

/* Ask whether a value is between two others, or beyond them. */
static void
ask_between(Values *values, Node *value, int above, Const *least, int below, Const *most, bool between)
{
	List	   *tests = list_make2(compare(value, above, least), compare(value, below, most));

	values->tests = list_append_unique(values->tests, between ? make_andclause(tests) : make_orclause(tests));
}

/* ---- integers ---- */

static bool
is_integer_quotient(Oid funcid)
{
	switch (funcid)
	{
		case F_INT2DIV:
		case F_INT4DIV:
		case F_INT8DIV:
		case F_INT24DIV:
		case F_INT42DIV:
		case F_INT48DIV:
		case F_INT84DIV:
		case F_INT28DIV:
		case F_INT82DIV:
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
			return true;
		default:
			return false;
	}
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Is it a column, or a cast of one to a wider integer? */
static bool
is_integer_leaf(const Node *node)
{
	if (IsA(node, FuncExpr) && is_integer(((const FuncExpr *) node)->funcresulttype))
	{
		Oid			funcid = ((const FuncExpr *) node)->funcid;

		return (funcid == F_INT4_INT2 || funcid == F_INT8_INT2 || funcid == F_INT8_INT4) &&
			is_integer_leaf(linitial(((const FuncExpr *) node)->args));
	}
	if (IsA(node, Const))
		return is_integer(((const Const *) node)->consttype);
	return IsA(node, Var) && ((const Var *) node)->varlevelsup == 0 && is_integer(((const Var *) node)->vartype);
}

static bool
look_at_integers(Values *values, const OpExpr *op)
{
	Node	   *divisor;
	Oid			type;

	if (!IsA(op, OpExpr) || !is_integer_quotient(op->opfuncid))
		return false;
	divisor = lsecond(op->args);
	type = exprType(divisor);
	if (!is_integer_leaf(divisor) || IsA(divisor, Const) ||
		!(is_integer_leaf(linitial(op->args)) || gpucol_harmless_integers(linitial(op->args))))
		return false;
	values->tests = list_make1(make_andclause(list_make2(gpucol_harmless_compare((Expr *) divisor, type,
																				 BTGreaterEqualStrategyNumber, -1),
														 gpucol_harmless_compare((Expr *) divisor, type,
																				 BTLessEqualStrategyNumber, 0))));
	return true;
}

/* ---- trees of doubles and numerics ---- */

/* The value that a cast to a double or a numeric is of, if it has room there; else NULL. */
static Node *
cast_value(const Node *node)
{
	const FuncExpr *func = (const FuncExpr *) node;

	if (!IsA(func, FuncExpr) || list_length(func->args) != 1)
		return NULL;
	switch (func->funcid)
	{
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return linitial(func->args);
		default:
			return NULL;
	}
}

/* The numeric column that a cast makes doubles of, or NULL. */
static Node *
cast_numeric(const Node *node)
{
	const FuncExpr *func = (const FuncExpr *) node;
	Node	   *arg = IsA(func, FuncExpr) && func->funcid == F_FLOAT8_NUMERIC ? linitial(func->args) : NULL;

	return arg != NULL && IsA(arg, Var) && ((Var *) arg)->varlevelsup == 0 && ((Var *) arg)->varattno > 0 ? arg : NULL;
}

/* Are conditions of a column of numerics asked that make doubles of it which are neither very large nor very small? */
static void
look_at_numeric(Values *values, Node *column, bool divisor)
{
	int			digits = gpucol_harmless_declared_digits(exprTypmod(column));

	if (divisor)
		values->tests = list_append_unique(values->tests, compare(column, BTEqualStrategyNumber, make_numeric("0")));
	if (digits >= 0 && digits <= FLOAT_DIGITS)
		return;
	ask_between(values, column, BTLessStrategyNumber, make_numeric("-" FLOAT_NUMERIC), BTGreaterStrategyNumber,
				make_numeric(FLOAT_NUMERIC), false);
	ask_between(values, column, BTGreaterStrategyNumber, make_numeric("-" SMALL_NUMERIC), BTLessStrategyNumber,
				make_numeric("0"), true);
	ask_between(values, column, BTGreaterStrategyNumber, make_numeric("0"), BTLessStrategyNumber,
				make_numeric(SMALL_NUMERIC), true);
}

static bool
is_less(Datum left, Datum right)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, left, right));
}

/* Is a constant neither very large nor very small, and no divisor that is 0? */
static bool
is_good_numeric(const Const *node, bool divisor)
{
	Datum		size;

	if (node->constisnull)
		return true;
	size = DirectFunctionCall1(numeric_abs, node->constvalue);
	if (!is_less(size, make_numeric(MOST_NUMERIC)->constvalue))
		return false;
	return is_less(make_numeric(LEAST_NUMERIC)->constvalue, size) ||
		(!divisor && !is_less(make_numeric("0")->constvalue, size));
}

/* Are conditions of a column asked that make results with it stay in their type; a constant or a cast has none. */
static bool
look_at_leaf(Values *values, Node *node, bool divisor)
{
	Node	   *cast = cast_value(node);
	bool		is_float = exprType(node) == FLOAT8OID;

	values->leaves++;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_FLOAT8_NUMERIC &&
		IsA(linitial(((FuncExpr *) node)->args), Const))
	{
		if (!is_good_numeric(linitial(((FuncExpr *) node)->args), divisor))
			return false;
		node = eval_const_expressions(NULL, node);
	}
	if (cast != NULL)
	{
		if (!is_integer_leaf(cast))
			return false;
		if (divisor)
			values->tests = list_append_unique(values->tests, gpucol_harmless_compare((Expr *) cast, exprType(cast),
																					  BTEqualStrategyNumber, 0));
		return true;
	}
	if ((cast = cast_numeric(node)) != NULL)
	{
		look_at_numeric(values, cast, divisor);
		return true;
	}
	if (IsA(node, Const) && is_float)
	{
		double		size = ((Const *) node)->constisnull ? 1 : fabs(DatumGetFloat8(((Const *) node)->constvalue));

		return size <= MOST_FLOAT && (size >= LEAST_FLOAT || (size == 0 && !divisor));
	}
	if (IsA(node, Const))
		return exprType(node) == NUMERICOID && is_good_numeric((Const *) node, divisor);
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_FLOAT8_FLOAT4)
		node = linitial(((FuncExpr *) node)->args);
	if (!IsA(node, Var) || ((Var *) node)->varlevelsup > 0 || ((Var *) node)->varattno <= 0)
		return false;
	if (exprType(node) == FLOAT4OID)
	{
		/* no real is as large, or as near 0 */
		if (divisor)
			values->tests = list_append_unique(values->tests, compare(node, BTEqualStrategyNumber, make_real(0)));
		return true;
	}
	if (is_float)
	{
		ask_between(values, node, BTLessStrategyNumber, make_float(-MOST_FLOAT), BTGreaterStrategyNumber,
					make_float(MOST_FLOAT), false);
		ask_between(values, node, BTGreaterStrategyNumber, make_float(-LEAST_FLOAT), BTLessStrategyNumber,
					make_float(divisor ? LEAST_FLOAT : 0), true);
		if (!divisor)
			ask_between(values, node, BTGreaterStrategyNumber, make_float(0), BTLessStrategyNumber,
						make_float(LEAST_FLOAT), true);
		return true;
	}
	if (exprTypmod(node) < 0)
		ask_between(values, node, BTLessStrategyNumber, make_numeric("-" MOST_NUMERIC), BTGreaterStrategyNumber,
					make_numeric(MOST_NUMERIC), false);
	if (divisor)
		values->tests = list_append_unique(values->tests, compare(node, BTEqualStrategyNumber, make_numeric("0")));
	return true;
}

/* Does an operator divide, or compute otherwise what is looked at; *known: it is one that is. */
static bool
is_quotient(Oid funcid, bool *known)
{
	*known = true;
	switch (funcid)
	{
		case F_FLOAT8PL:
		case F_FLOAT8MI:
		case F_FLOAT8MUL:
		case F_FLOAT48PL:
		case F_FLOAT48MI:
		case F_FLOAT48MUL:
		case F_FLOAT84PL:
		case F_FLOAT84MI:
		case F_FLOAT84MUL:
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
			return false;
		case F_FLOAT8DIV:
		case F_FLOAT48DIV:
		case F_FLOAT84DIV:
		case F_NUMERIC_DIV:
			return true;
		default:
			*known = false;
			return false;
	}
}

static bool
look_at_tree(Values *values, Node *node)
{
	const OpExpr *op = (const OpExpr *) node;
	bool		divides;
	bool		known;

	check_stack_depth();
	if (!IsA(op, OpExpr))
		return look_at_leaf(values, node, false);
	divides = is_quotient(op->opfuncid, &known);
	return known && list_length(op->args) == 2 && look_at_tree(values, linitial(op->args)) &&
		(divides ? look_at_leaf(values, lsecond(op->args), true) : look_at_tree(values, lsecond(op->args)));
}

/* ---- texts ---- */

static Const *
make_integer(int value)
{
	return makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(value), false, true);
}

/* How a text looks that is a value of a type without an error, or NULL. */
static const char *
form_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return "^[-+]?[0-9]{1,4}$";
		case INT4OID:
			return "^[-+]?[0-9]{1,9}$";
		case INT8OID:
			return "^[-+]?[0-9]{1,18}$";
		case FLOAT8OID:
		case NUMERICOID:
			return "^[-+]?[0-9]{1,30}([.][0-9]{1,30})?$";
		default:
			return NULL;
	}
}

static bool
look_at_text(Values *values, const CoerceViaIO *io)
{
	const char *form = IsA(io, CoerceViaIO) ? form_of(io->resulttype) : NULL;
	OpExpr	   *op;
	Expr	   *begin;

	if (form == NULL || (exprType((Node *) io->arg) != TEXTOID && exprType((Node *) io->arg) != VARCHAROID))
		return false;
	begin = (Expr *) copyObject(io->arg);
	if (exprType((Node *) begin) == VARCHAROID)
		begin = (Expr *) makeRelabelType(begin, TEXTOID, -1, exprCollation((Node *) begin), COERCE_IMPLICIT_CAST);
	/* a longer one is none either, and might be too long for the test */
	begin = (Expr *) makeFuncExpr(F_SUBSTR_TEXT_INT4_INT4, TEXTOID,
								  list_make3(begin, make_integer(1), make_integer(FORM_LENGTH)),
								  C_COLLATION_OID, C_COLLATION_OID, COERCE_EXPLICIT_CALL);
	op = (OpExpr *) make_opclause(TEXT_MATCHES_NOT, BOOLOID, false, begin,
								  (Expr *) makeConst(TEXTOID, -1, C_COLLATION_OID, -1,
													 PointerGetDatum(cstring_to_text(form)), false, false),
								  InvalidOid, C_COLLATION_OID);
	set_opfuncid(op);
	values->tests = list_make1(op);
	return true;
}

Expr *
gpucol_harmless_values_beyond(const Expr *expr)
{
	Node	   *node = unconstify(Node *, (const Node *) expr);
	Values		values = {0};
	Oid			type;

	if (look_at_integers(&values, (const OpExpr *) expr) || look_at_text(&values, (const CoerceViaIO *) expr))
		return linitial(values.tests);
	if (!IsA(expr, OpExpr) && cast_numeric(node) == NULL)
		return NULL;
	type = exprType(node);
	if ((type != FLOAT8OID && type != NUMERICOID) || !look_at_tree(&values, node) ||
		values.leaves > (type == FLOAT8OID ? MOST_FLOATS : MOST_NUMERICS) || values.tests == NIL)
		return NULL;
	return list_length(values.tests) == 1 ? linitial(values.tests) : make_orclause(values.tests);
}

bool
gpucol_harmless_floats_stay(Node *node)
{
	Values		values = {0};

	return IsA(node, OpExpr) && exprType(node) == FLOAT8OID && look_at_tree(&values, node) && values.tests == NIL &&
		values.leaves <= MOST_FLOATS;
}
