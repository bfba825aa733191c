/*-------------------------------------------------------------------------
 *
 * zero.c
 *	  Which expressions tell -0 from 0.
 *
 * The two are equal, so they are one group to an engine, which keeps the one that it
 * saw first.  An expression that PostgreSQL evaluates once for each of its groups must
 * therefore come out equal for both: its floats go through functions of the list
 * below only, until they have become something else than a float.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/lower.h"

/* What an expression is for a row with -0, compared with one with 0. */
typedef enum ZeroEffect
{
	ZERO_SAME,					/* the same, to the last bit */
	ZERO_EQUAL,					/* a float that is equal */
	ZERO_APART					/* not known to be either */
} ZeroEffect;

/* Functions whose results for -0 and 0 are equal. */
static const Oid even_functions[] = {
	F_FLOAT4EQ, F_FLOAT4NE, F_FLOAT4LT, F_FLOAT4LE, F_FLOAT4GT, F_FLOAT4GE,
	F_FLOAT8EQ, F_FLOAT8NE, F_FLOAT8LT, F_FLOAT8LE, F_FLOAT8GT, F_FLOAT8GE,
	F_FLOAT48EQ, F_FLOAT48NE, F_FLOAT48LT, F_FLOAT48LE, F_FLOAT48GT, F_FLOAT48GE,
	F_FLOAT84EQ, F_FLOAT84NE, F_FLOAT84LT, F_FLOAT84LE, F_FLOAT84GT, F_FLOAT84GE,
	F_FLOAT4PL, F_FLOAT4MI, F_FLOAT4MUL, F_FLOAT4DIV, F_FLOAT4UM, F_FLOAT4UP,
	F_FLOAT8PL, F_FLOAT8MI, F_FLOAT8MUL, F_FLOAT8DIV, F_FLOAT8UM, F_FLOAT8UP,
	F_FLOAT48PL, F_FLOAT48MI, F_FLOAT48MUL, F_FLOAT48DIV,
	F_FLOAT84PL, F_FLOAT84MI, F_FLOAT84MUL, F_FLOAT84DIV,
	F_FLOAT4ABS, F_FLOAT8ABS, F_ABS_FLOAT4, F_ABS_FLOAT8,
	F_FLOAT4_FLOAT8, F_FLOAT8_FLOAT4, F_INT2_FLOAT4, F_INT2_FLOAT8,
	F_INT4_FLOAT4, F_INT4_FLOAT8, F_INT8_FLOAT4, F_INT8_FLOAT8,
	F_NUMERIC_FLOAT4, F_NUMERIC_FLOAT8,
	F_CEIL_FLOAT8, F_CEILING_FLOAT8, F_FLOOR_FLOAT8, F_ROUND_FLOAT8,
	F_TRUNC_FLOAT8, F_DROUND, F_DTRUNC, F_SIGN_FLOAT8, F_SQRT_FLOAT8,
	F_EXP_FLOAT8, F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4,
	F_TO_TIMESTAMP_FLOAT8,
};

static bool
is_float(Node *node)
{
	Oid			type = getBaseType(exprType(node));

	return type == FLOAT4OID || type == FLOAT8OID;
}

static bool
is_even(Oid funcid)
{
	for (int i = 0; i < (int) lengthof(even_functions); i++)
	{
		if (even_functions[i] == funcid)
			return true;
	}
	return false;
}

/* Does a node that is given a float of ZERO_EQUAL give equal results? */
static bool
keeps_equal(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return is_even(((FuncExpr *) node)->funcid);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			set_opfuncid((OpExpr *) node);
			return is_even(((OpExpr *) node)->opfuncid);
		case T_ScalarArrayOpExpr:
			set_sa_opfuncid((ScalarArrayOpExpr *) node);
			return is_even(((ScalarArrayOpExpr *) node)->opfuncid);
		case T_RelabelType:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_NullTest:
			return true;
		default:
			return false;
	}
}

static ZeroEffect zero_effect(Node *node);

static bool
worst_walker(Node *node, void *context)
{
	ZeroEffect *worst = context;
	ZeroEffect	effect = zero_effect(node);

	*worst = Max(*worst, effect);
	return false;
}

static ZeroEffect
zero_effect(Node *node)
{
	ZeroEffect	worst = ZERO_SAME;

	if (node == NULL)
		return ZERO_SAME;
	check_stack_depth();
	if (IsA(node, Var) || IsA(node, CaseTestExpr))
		return is_float(node) ? ZERO_EQUAL : ZERO_SAME;
	expression_tree_walker(node, worst_walker, &worst);
	if (worst != ZERO_EQUAL || IsA(node, List) || IsA(node, CaseWhen))
		return worst;
	if (!keeps_equal(node))
		return ZERO_APART;
	return is_float(node) ? ZERO_EQUAL : ZERO_SAME;
}

/*
 * Decline an expression whose value for -0 may differ from its value for 0.
 */
bool
gpucol_lower_check_zero(GpucolLower *l, Expr *expr)
{
	if (zero_effect((Node *) expr) == ZERO_APART)
		return gpucol_lower_decline(l, "an expression that may tell -0 from 0, which an engine groups as one");
	return true;
}
