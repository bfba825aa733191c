/*-------------------------------------------------------------------------
 *
 * branches.c
 *	  CASE, COALESCE, NULLIF, GREATEST and LEAST of a term as steps of the engine.
 *
 * A branch is computed for all rows, and taken for some.  A mask says for which it is true.  What may
 * raise an error, which is arithmetic, gets the mask's NULL as an operand where the branch is not taken, and raises
 * none there (gpucol_rec_lower_masked).
 *
 *		CASE WHEN a THEN x ELSE y END	EITHER(WHEN(a, x), UNLESS(a, y))
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "plan/make.h"
#include "recursion/front/values.h"
#include "recursion/plan/lowering.h"

/* ---- what there is of it ---- */

/* The condition of a branch with the CASE's argument in the place of what stands for it. */
static Node *
put_argument(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, CaseTestExpr))
		return copyObject((Node *) context);
	return expression_tree_mutator(node, put_argument, context);
}

/* Does a condition have a CASE in it, whose argument might be meant? */
static bool
has_case(Node *node, void *context)
{
	return node != NULL && (IsA(node, CaseExpr) || expression_tree_walker(node, has_case, context));
}

/* The conditions of a CASE; NIL where one is not understood. */
static List *
case_conditions(const CaseExpr *expr)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		Node	   *condition = (Node *) lfirst_node(CaseWhen, lc)->expr;

		if (expr->arg != NULL && has_case(condition, NULL))
			return NIL;
		conditions = lappend(conditions, expr->arg == NULL ? condition : put_argument(condition, expr->arg));
	}
	return conditions;
}

/* Are a CASE's conditions and values? */
static bool
is_native_case(const GpucolRecLowering *lowering, const CaseExpr *expr)
{
	List	   *conditions = case_conditions(expr);
	ListCell   *lc;

	if (conditions == NIL || !gpucol_rec_lower_are_native(lowering, conditions) ||
		(expr->defresult != NULL && !gpucol_rec_lower_is_native(lowering, (Node *) expr->defresult)))
		return false;
	foreach(lc, expr->args)
		if (!gpucol_rec_lower_is_native(lowering, (Node *) lfirst_node(CaseWhen, lc)->result))
			return false;
	return true;
}

bool
gpucol_rec_branches_are_native(const GpucolRecLowering *lowering, Node *node)
{
	GpucolRecFunction function;

	switch (nodeTag(node))
	{
		case T_CaseExpr:
			return is_native_case(lowering, (CaseExpr *) node);
		case T_CoalesceExpr:
			return gpucol_rec_lower_are_native(lowering, ((CoalesceExpr *) node)->args);
		case T_MinMaxExpr:
			return gpucol_rec_type_ordered(((MinMaxExpr *) node)->minmaxtype) &&
				gpucol_rec_lower_are_native(lowering, ((MinMaxExpr *) node)->args);
		case T_NullIfExpr:
			return gpucol_rec_lower_comparison((OpExpr *) node, &function) && function == GPUCOL_REC_EQ &&
				gpucol_rec_lower_are_native(lowering, ((OpExpr *) node)->args);
		default:
			return false;
	}
}

/* ---- steps ---- */

static GpucolRecOperand
choose(GpucolRecLowering *lowering, GpucolRecFunction function, GpucolRecOperand a, GpucolRecOperand b)
{
	return gpucol_rec_builder_compute(&lowering->builder, function, GPUCOL_REC_INT8, a, &b);
}

GpucolRecOperand
gpucol_rec_lower_masked(GpucolRecLowering *lowering, GpucolRecOperand operand)
{
	return lowering->mask == NULL ? operand : choose(lowering, GPUCOL_REC_WHEN, *lowering->mask, operand);
}

/* Steps of an expression where a mask holds; NULL: everywhere. */
static bool
lower_where(GpucolRecLowering *lowering, Node *node, const GpucolRecOperand *mask, GpucolRecOperand *out)
{
	const GpucolRecOperand *before = lowering->mask;
	bool		lowered;

	lowering->mask = mask;
	lowered = gpucol_rec_lower_native(lowering, node, out);
	lowering->mask = before;
	return lowered;
}

/* True, or the mask that holds. */
static bool
current_mask(GpucolRecLowering *lowering, GpucolRecOperand *mask)
{
	if (lowering->mask == NULL)
		return gpucol_rec_lower_native(lowering, (Node *) gpucol_make_int8(1), mask);
	*mask = *lowering->mask;
	return true;
}

/* Its branches from one on; `rest` is the mask of the rows that have taken none. */
static bool
lower_branches(GpucolRecLowering *lowering, const CaseExpr *expr, List *conditions, GpucolRecOperand rest,
			   GpucolRecOperand *out)
{
	GpucolRecOperand value;
	GpucolRecOperand others;
	Node	   *last = (Node *) expr->defresult;

	*out = (GpucolRecOperand) {0};
	for (int i = 0; i < list_length(conditions); i++)
	{
		GpucolRecOperand condition;
		GpucolRecOperand taken;

		if (!lower_where(lowering, list_nth(conditions, i), i == 0 ? lowering->mask : &rest, &condition))
			return false;
		taken = i == 0 && lowering->mask == NULL ? condition : choose(lowering, GPUCOL_REC_WHEN, condition, rest);
		rest = choose(lowering, GPUCOL_REC_UNLESS, condition, rest);
		if (!lower_where(lowering, (Node *) list_nth_node(CaseWhen, expr->args, i)->result, &taken, &value))
			return false;
		value = choose(lowering, GPUCOL_REC_WHEN, taken, value);
		*out = i == 0 ? value : choose(lowering, GPUCOL_REC_EITHER, *out, value);
	}
	if (last == NULL || (IsA(last, Const) && ((Const *) last)->constisnull))
		return true;
	if (!lower_where(lowering, last, &rest, &others))
		return false;
	*out = choose(lowering, GPUCOL_REC_EITHER, *out, choose(lowering, GPUCOL_REC_WHEN, rest, others));
	return true;
}

/* The first argument that is not NULL; those behind it are not computed. */
static bool
lower_coalesce(GpucolRecLowering *lowering, List *args, GpucolRecOperand *out)
{
	GpucolRecOperand rest;
	GpucolRecOperand value;
	ListCell   *lc;

	if (!current_mask(lowering, &rest) || !gpucol_rec_lower_native(lowering, linitial(args), out))
		return false;
	for_each_from(lc, args, 1)
	{
		rest = choose(lowering, GPUCOL_REC_UNLESS,
					  gpucol_rec_builder_compute(&lowering->builder, GPUCOL_REC_ISNOTNULL, GPUCOL_REC_INT8, *out,
												 NULL), rest);
		if (!lower_where(lowering, lfirst(lc), &rest, &value))
			return false;
		*out = choose(lowering, GPUCOL_REC_EITHER, *out, value);
	}
	return true;
}

/* The least or greatest argument that is not NULL. */
static bool
lower_extreme(GpucolRecLowering *lowering, const MinMaxExpr *expr, GpucolRecOperand *out)
{
	GpucolRecFunction function = expr->op == IS_LEAST ? GPUCOL_REC_MIN2 : GPUCOL_REC_MAX2;
	GpucolRecOperand value;
	ListCell   *lc;

	if (!gpucol_rec_lower_native(lowering, linitial(expr->args), out))
		return false;
	for_each_from(lc, expr->args, 1)
	{
		if (!gpucol_rec_lower_native(lowering, lfirst(lc), &value))
			return false;
		*out = choose(lowering, GPUCOL_REC_EITHER, choose(lowering, function, *out, value),
					  choose(lowering, GPUCOL_REC_EITHER, *out, value));
	}
	return true;
}

bool
gpucol_rec_lower_branches(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out)
{
	GpucolRecOperand rest;
	GpucolRecOperand value;

	switch (nodeTag(node))
	{
		case T_CaseExpr:
			return current_mask(lowering, &rest) &&
				lower_branches(lowering, (CaseExpr *) node, case_conditions((CaseExpr *) node), rest, out);
		case T_CoalesceExpr:
			return lower_coalesce(lowering, ((CoalesceExpr *) node)->args, out);
		case T_MinMaxExpr:
			return lower_extreme(lowering, (MinMaxExpr *) node, out);
		default:				/* NULLIF: its arguments are computed once more, as one expression */
			if (!gpucol_rec_lower_native(lowering, linitial(((OpExpr *) node)->args), &value) ||
				!gpucol_rec_lower_equal(lowering, (OpExpr *) node, &rest))
				return false;
			*out = choose(lowering, GPUCOL_REC_UNLESS, rest, value);
			return true;
	}
}
