/*-------------------------------------------------------------------------
 *
 * host.c
 *	  Predicates over one BYTES column (text and every other type without a
 *	  fixed-width form) that PostgreSQL itself evaluates, once per distinct
 *	  value of a dictionary; and other such values that it makes of them.
 *
 * A value is tested although every row that has it may be excluded by another
 * condition, deleted, or invisible.  So a predicate qualifies only if it is harmless
 * (harmless.h), or decided on the bytes alone (match.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/harmless.h"
#include "lower/lower.h"
#include "lower/match.h"
#include "lower/pipe.h"

/*
 * The one BYTES column that an expression refers to, as attribute number, or 0.
 */
static AttrNumber
find_column(GpucolLower *l, Expr *expr)
{
	Bitmapset  *attnos = NULL;
	AttrNumber	attnum;
	Form_pg_attribute att;
	GpucolTypeMap map;

	pull_varattnos((Node *) expr, l->varno, &attnos);
	if (bms_membership(attnos) != BMS_SINGLETON)
		return 0;
	attnum = bms_singleton_member(attnos) + FirstLowInvalidHeapAttributeNumber;
	if (attnum <= 0)
		return 0;
	att = TupleDescAttr(l->desc, attnum - 1);
	if (att->attisdropped || gpucol_lower_decimal_column(l, attnum) != NULL)
		return 0;
	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	return map.kind == GPUCOL_KIND_BYTES ? attnum : 0;
}

/*
 * Replace constants by their values, but for those that PostgreSQL may leave out; they
 * are evaluated as gpucol_lower_eval() does.  One whose value is not known becomes NULL:
 * the test is not run then.
 */
static Node *
constant_mutator(Node *node, void *context)
{
	GpucolLower *l = context;
	Datum		value;
	bool		isnull;
	int16		typlen;
	bool		typbyval;

	if (node == NULL || IsA(node, Const) || IsA(node, CaseExpr) || IsA(node, CoalesceExpr) ||
		(IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop != NOT_EXPR))
		return node;
	if (IsA(node, List) || !gpucol_lower_is_constant((Expr *) node))
		return expression_tree_mutator(node, constant_mutator, context);
	if (!gpucol_lower_eval(l, (Expr *) node, &value, &isnull))
		isnull = true;
	get_typlenbyval(exprType(node), &typlen, &typbyval);
	return (Node *) makeConst(exprType(node), exprTypmod(node), exprCollation(node), typlen,
							  value, isnull, typbyval);
}

/* Replace the column by Var (1, 1). */
static Node *
renumber_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = 1;
		var->varattno = 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, renumber_mutator, context);
}

/*
 * Make a boolean expression a host test: sets the column slot and the number
 * of the test.  *column is -1 where the expression is not over one BYTES
 * column, so that another way of lowering it may be tried.
 */
bool
gpucol_lower_host(GpucolLower *l, Expr *expr, int *column, int *id)
{
	AttrNumber	attnum = find_column(l, expr);

	*column = -1;
	if (attnum == 0 || exprType((Node *) expr) != BOOLOID)
		return gpucol_lower_decline(l, "it is not a condition on one column");
	*column = gpucol_lower_column(l, attnum);
	if (l->conditional == 0)
		expr = (Expr *) constant_mutator((Node *) expr, l);
	if (!gpucol_harmless_condition(l, expr) && gpucol_match_create(l, expr) == NULL)
		return false;
	expr = (Expr *) renumber_mutator((Node *) expr, NULL);
	/* of these there is no dictionary, and threads ask for each */
	if (l->pipe != NULL && gpucol_pipe_is_made(l->pipe, attnum) && gpucol_match_create(l, expr) == NULL)
		return gpucol_lower_decline(l, "a condition on what a set-returning function makes that bytes do not decide");
	*id = gpucol_lower_add_host(l, *column, expr);
	return true;
}

/* Have the host make of the values of one column what an expression makes, or what `made` says of its values. */
static bool
lower_map(GpucolLower *l, Expr *expr, Expr *(*made) (Expr *expr), GpucolValue *out)
{
	AttrNumber	attnum = find_column(l, expr);
	int			column;
	uint16		reg;

	if (attnum == 0 || (l->pipe != NULL && gpucol_pipe_is_made(l->pipe, attnum)))
		return gpucol_lower_decline(l, "it computes a value of other than one column");
	if (l->conditional == 0)
		expr = (Expr *) constant_mutator((Node *) expr, l);
	if (!gpucol_harmless_condition(l, expr))
		return false;
	expr = (Expr *) renumber_mutator((Node *) (made == NULL ? expr : made(expr)), NULL);
	column = gpucol_lower_column(l, attnum);
	reg = gpucol_lower_emit(l, GPUCOL_OP_LOAD_S, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, column);
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_S;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_HOST_MAP, reg, GPUCOL_NO_REG, GPUCOL_NO_REG,
								 gpucol_lower_add_host(l, column, expr));
	return true;
}

/*
 * Have the host make a BYTES value of those of one column; sets the class and the register.
 */
bool
gpucol_lower_host_map(GpucolLower *l, Expr *expr, GpucolValue *out)
{
	return lower_map(l, expr, NULL, out);
}

/* A call that says that tables of a zone are made (host_test.c). */
static Expr *
zone_call(Expr *zone)
{
	Const	   *stamp = makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(int64), (Datum) 0, true, FLOAT8PASSBYVAL);

	return (Expr *) makeFuncExpr(F_TIMEZONE_TEXT_TIMESTAMPTZ, TIMESTAMPOID, list_make2(zone, stamp), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/*
 * Have the host make tables of the time zones that a text made of one column names: their addresses are the values.
 */
bool
gpucol_lower_host_zones(GpucolLower *l, Expr *zone, GpucolValue *out)
{
	return lower_map(l, zone, zone_call, out);
}
