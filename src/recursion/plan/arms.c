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
 *		... FROM r JOIN e ON e.src = r.n LEFT JOIN d ON d.a = e.x OR d.b = e.x
 *
 * The same goes for the ON of an outer join.  A row of it without match is one that no arm has a match for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "recursion/plan/lowering.h"

/* Rules are as many as arms. */
#define MOST_ARMS	8

/* The relation of the join that an expression is a column of, `on` included; or NULL. */
static const GpucolRecSource *
source_of(const GpucolRecLowering *lowering, const GpucolRecSource *on, Node *node)
{
	int			column;
	const GpucolRecSource *source;

	node = gpucol_rec_lower_strip(node);
	source = IsA(node, Var) ? gpucol_rec_lower_column(lowering, (Var *) node, &column) : NULL;
	return source != NULL && (source->mode == GPUCOL_SOURCE_INNER || source == on) && source->function == NULL ?
		source : NULL;
}

/* Does a part of an arm compare columns and constants?  *is_key: it equals those of two relations, one of them `on`. */
static bool
is_comparison(const GpucolRecLowering *lowering, const GpucolRecSource *on, Node *part, bool *is_key)
{
	const OpExpr *op = (OpExpr *) part;
	GpucolRecFunction function;
	const GpucolRecSource *sources[2];

	if (!IsA(op, OpExpr) || !gpucol_rec_lower_comparison(op, &function))
		return false;
	for (int side = 0; side < 2; side++)
	{
		sources[side] = source_of(lowering, on, list_nth(op->args, side));
		if (sources[side] == NULL && !IsA(gpucol_rec_lower_strip(list_nth(op->args, side)), Const))
			return false;
	}
	*is_key = *is_key || (function == GPUCOL_REC_EQ && sources[0] != NULL && sources[1] != NULL &&
						  sources[0] != sources[1] && (on == NULL || sources[0] == on || sources[1] == on));
	return true;
}

List *
gpucol_rec_lower_parts(Node *arm)
{
	return IsA(arm, BoolExpr) && ((BoolExpr *) arm)->boolop == AND_EXPR ? ((BoolExpr *) arm)->args : list_make1(arm);
}

bool
gpucol_rec_lower_has_arms(const GpucolRecLowering *lowering, const GpucolRecQual *qual)
{
	const BoolExpr *expr = (BoolExpr *) qual->clause;
	ListCell   *lc;
	ListCell   *inner;

	if (!IsA(expr, BoolExpr) || expr->boolop != OR_EXPR || list_length(expr->args) > MOST_ARMS)
		return false;
	foreach(lc, expr->args)
	{
		bool		is_key = false;

		foreach(inner, gpucol_rec_lower_parts(lfirst(lc)))
			if (!is_comparison(lowering, qual->on, lfirst(inner), &is_key))
				return false;
		if (!is_key)
			return false;
	}
	return true;
}

GpucolRecQual *
gpucol_rec_lower_make_qual(Node *clause, GpucolRecSource *on)
{
	GpucolRecQual *qual = palloc0(sizeof(GpucolRecQual));

	qual->clause = clause;
	qual->on = on;
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

/* Is a condition one that makes a rule of each arm? */
static bool
is_split(const GpucolRecLowering *lowering, const GpucolRecQual *qual)
{
	return lowering->recursive &&
		(qual->on == NULL || (qual->on->mode == GPUCOL_SOURCE_OPTIONAL && !qual->on->padded)) &&
		gpucol_rec_lower_has_arms(lowering, qual);
}

/* What one arm of a condition asks, where it is to stand for all of it. */
static List *
quals_of_arm(const GpucolRecLowering *lowering, const GpucolRecQual *qual, int number)
{
	List	   *arms = ((BoolExpr *) qual->clause)->args;
	Node	   *arm = list_nth(arms, number);
	List	   *quals = NIL;
	ListCell   *lc;

	/* a part of one relation alone would be taken for a condition that its plan tests */
	foreach(lc, gpucol_rec_lower_parts(arm))
	{
		bool		is_key = false;

		if (is_comparison(lowering, qual->on, lfirst(lc), &is_key) && is_key)
			quals = lappend(quals, gpucol_rec_lower_make_qual(lfirst(lc), qual->on));
	}
	if (IsA(arm, BoolExpr))
		quals = lappend(quals, gpucol_rec_lower_make_qual(arm, qual->on));
	for (int i = 0; lowering->all && i < number; i++)
		quals = lappend(quals, gpucol_rec_lower_make_qual(not_true(list_nth(arms, i)), qual->on));
	return quals;
}

List *
gpucol_rec_lower_arms(const GpucolRecLowering *lowering)
{
	List	   *alternatives = NIL;
	List	   *others = NIL;
	GpucolRecQual *split = NULL;
	ListCell   *lc;

	foreach(lc, lowering->quals)
	{
		if (split == NULL && is_split(lowering, lfirst(lc)))
			split = lfirst(lc);
		else
			others = lappend(others, lfirst(lc));
	}
	if (split == NULL)
		return list_make1(lowering->quals);
	for (int i = 0; i < list_length(((BoolExpr *) split->clause)->args); i++)
		alternatives = lappend(alternatives, list_concat_copy(others, quals_of_arm(lowering, split, i)));
	return alternatives;
}
