/*-------------------------------------------------------------------------
 *
 * arms.c
 *	  An OR in the join of a recursive term as a rule for each of its arms.
 *
 *		... FROM r JOIN e ON r.n = e.src OR r.n = e.dst
 *
 * No column serves to find the rows of e that match, so that all pairs would be tested.  Each arm that equals columns
 * of two relations is a join of its own: one rule joins by r.n = e.src, another by r.n = e.dst.  Under UNION ALL a
 * later arm must not hold where an earlier one does.  Arms compare columns and constants, which raises no error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "recursion/plan/lowering.h"

/* Rules are as many as arms. */
#define MOST_ARMS	8

/* The relation of the join that an expression is a column of, or NULL. */
static const GpucolRecSource *
source_of(const GpucolRecLowering *lowering, Node *node)
{
	int			column;
	const GpucolRecSource *source;

	node = gpucol_rec_lower_strip(node);
	source = IsA(node, Var) ? gpucol_rec_lower_column(lowering, (Var *) node, &column) : NULL;
	return source != NULL && source->mode == GPUCOL_SOURCE_INNER && source->function == NULL ? source : NULL;
}

/* Does a part of an arm compare columns and constants?  *is_key: it equals those of two relations. */
static bool
is_comparison(const GpucolRecLowering *lowering, Node *part, bool *is_key)
{
	const OpExpr *op = (OpExpr *) part;
	GpucolRecFunction function;
	const GpucolRecSource *sources[2];

	if (!IsA(op, OpExpr) || !gpucol_rec_lower_comparison(op, &function))
		return false;
	for (int side = 0; side < 2; side++)
	{
		sources[side] = source_of(lowering, list_nth(op->args, side));
		if (sources[side] == NULL && !IsA(gpucol_rec_lower_strip(list_nth(op->args, side)), Const))
			return false;
	}
	*is_key = *is_key || (function == GPUCOL_REC_EQ && sources[0] != NULL && sources[1] != NULL &&
						  sources[0] != sources[1]);
	return true;
}

/* The parts of an arm. */
static List *
parts_of(Node *arm)
{
	return IsA(arm, BoolExpr) && ((BoolExpr *) arm)->boolop == AND_EXPR ? ((BoolExpr *) arm)->args : list_make1(arm);
}

/* Is a condition an OR each arm of which serves for a join? */
static bool
has_arms(const GpucolRecLowering *lowering, const GpucolRecQual *qual)
{
	const BoolExpr *expr = (BoolExpr *) qual->clause;
	ListCell   *lc;
	ListCell   *inner;

	if (qual->on != NULL || !IsA(expr, BoolExpr) || expr->boolop != OR_EXPR || list_length(expr->args) > MOST_ARMS)
		return false;
	foreach(lc, expr->args)
	{
		bool		is_key = false;

		foreach(inner, parts_of(lfirst(lc)))
			if (!is_comparison(lowering, lfirst(inner), &is_key))
				return false;
		if (!is_key)
			return false;
	}
	return true;
}

static GpucolRecQual *
make_qual(Node *clause)
{
	GpucolRecQual *qual = palloc0(sizeof(GpucolRecQual));

	qual->clause = clause;
	return qual;
}

/* The condition that an arm does not hold. */
static Node *
not_true(Node *arm)
{
	CoalesceExpr *held = makeNode(CoalesceExpr);

	held->coalescetype = BOOLOID;
	held->args = list_make2(arm, makeBoolConst(false, false));
	held->location = -1;
	return (Node *) makeBoolExpr(NOT_EXPR, list_make1(held), -1);
}

List *
gpucol_rec_lower_arms(const GpucolRecLowering *lowering)
{
	List	   *alternatives = NIL;
	List	   *others = NIL;
	List	   *arms;
	GpucolRecQual *split = NULL;
	ListCell   *lc;

	foreach(lc, lowering->quals)
	{
		if (split == NULL && lowering->recursive && has_arms(lowering, lfirst(lc)))
			split = lfirst(lc);
		else
			others = lappend(others, lfirst(lc));
	}
	if (split == NULL)
		return list_make1(lowering->quals);
	arms = ((BoolExpr *) split->clause)->args;
	foreach(lc, arms)
	{
		List	   *quals = list_copy(others);
		ListCell   *inner;

		/* a part of one relation alone would be taken for a condition that its plan tests */
		foreach(inner, parts_of(lfirst(lc)))
		{
			bool		is_key = false;

			if (is_comparison(lowering, lfirst(inner), &is_key) && is_key)
				quals = lappend(quals, make_qual(lfirst(inner)));
		}
		if (IsA(lfirst(lc), BoolExpr))
			quals = lappend(quals, make_qual(lfirst(lc)));
		for (int i = 0; lowering->all && i < foreach_current_index(lc); i++)
			quals = lappend(quals, make_qual(not_true(list_nth(arms, i))));
		alternatives = lappend(alternatives, quals);
	}
	return alternatives;
}
