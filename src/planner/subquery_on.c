/*-------------------------------------------------------------------------
 *
 * subquery_on.c
 *	  Subqueries in the conditions of joins.
 *
 * A condition of an inner join, which no outer join around it pads, is one of WHERE, where subqueries become joins
 * (subquery.c).  That of an outer join decides which rows find a partner.  If its subqueries refer to one of
 * its sides alone, they are joined to that side, whose rows stay as many as they are:
 *
 *		a LEFT JOIN b ON b.k = a.k AND b.t = (SELECT max(c.t) FROM c WHERE c.k = a.k)
 *	->	(a LEFT JOIN (SELECT k, max(t) FROM c GROUP BY k) grouped ON grouped.k = a.k)
 *		LEFT JOIN b ON b.k = a.k AND b.t = grouped.max
 *
 * One that refers to both refers to one, if the condition says that its columns of the other are equal to some of
 * that: c.k = b.k AND c.n = a.n is c.k = a.k AND c.n = a.n where b.k = a.k (subquery_equal.c).
 *
 * What one condition of ON excludes is not kept from the others then, so these must not raise errors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/subquery.h"

/* ---- conditions of inner joins ---- */

/* Move the conditions with subqueries of a join to others. */
static void
lift_conditions(JoinExpr *join, List **lifted)
{
	List	   *rest = NIL;
	ListCell   *lc;

	if (!gpucol_subquery_has_executed(join->quals))
		return;
	foreach(lc, gpucol_subquery_conditions(join->quals))
	{
		if (gpucol_subquery_has_executed(lfirst(lc)))
			*lifted = lappend(*lifted, lfirst(lc));
		else
			rest = lappend(rest, lfirst(lc));
	}
	join->quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
}

/* Move those of joins of which each pair that they have is a row of the whole. */
static void
lift_all(Node *node, List **lifted)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		if (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT)
			lift_all(join->larg, lifted);
		if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
			lift_all(join->rarg, lifted);
		if (join->jointype == JOIN_INNER)
			lift_conditions(join, lifted);
	}
	else if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			lift_all(lfirst(lc), lifted);
	}
}

void
gpucol_subquery_lift(Query *query)
{
	List	   *lifted = NIL;

	lift_all((Node *) query->jointree, &lifted);
	if (lifted != NIL)
		query->jointree->quals = make_and_qual((Node *) make_ands_explicit(lifted), query->jointree->quals);
}

/* ---- conditions of outer joins ---- */

/* Collect the tables of a query that subqueries of an expression refer to. */
static bool
referred_walker(Node *node, Bitmapset **tables)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) && gpucol_subquery_is_executed((SubLink *) node))
		*tables = bms_join(*tables, pull_varnos(NULL, node));
	return expression_tree_walker(node, referred_walker, tables);
}

/*
 * Would errors of a rewritten condition of ON depend on what its parts see of each other?  `before` are its parts as
 * they were, `tables` the query's entries then.
 */
static bool
is_harmful(Query *query, List *before, Node *quals, int tables)
{
	int			harmful = 0;
	int			waiting = 0;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(quals))
	{
		Node	   *condition = lfirst(lc);
		bool		error = gpucol_harmless_expr(query, (Expr *) condition) != NULL;

		if (list_member(before, condition) ? error : gpucol_subquery_reaches_all_groups(query, condition, tables))
			return true;
		waiting += !list_member(before, condition);
		harmful += error;
	}
	return harmful > 0 && waiting > 1;
}

/* Join the subqueries of a join's condition to one of its sides; how many. */
static int
join_side(Query *query, JoinExpr *join, Node **side, bool nullable)
{
	FromExpr   *whole = query->jointree;
	int			tables = list_length(query->rtable);
	List	   *before = gpucol_subquery_conditions(join->quals);
	Node	   *quals = join->quals;
	int			count;

	if (!gpucol_subquery_joins_are_harmless(query, *side))
		return 0;
	query->jointree = makeFromExpr(list_make1(*side), NULL);
	count = gpucol_subquery_rewrite_on(query, &quals, nullable);
	if (count > 0 && !is_harmful(query, before, quals, tables))
	{
		*side = linitial(query->jointree->fromlist);
		join->quals = quals;
	}
	else
	{
		query->rtable = list_truncate(query->rtable, tables);
		count = 0;
	}
	query->jointree = whole;
	return count;
}

/*
 * Join the subqueries of a join's condition to a side if they refer to it alone, at least after equal columns are
 * written for one another; how many.
 */
static int
join_if_referred(Query *query, JoinExpr *join, Node **side, bool nullable)
{
	Bitmapset  *tables = gpucol_subquery_tables(*side);
	Bitmapset  *referred = NULL;
	Node	   *before = join->quals;
	int			count = 0;

	join->quals = gpucol_subquery_bring_to(query, join->quals, tables);
	referred_walker(join->quals, &referred);
	if (!bms_is_empty(referred) && bms_is_subset(referred, tables))
		count = join_side(query, join, side, nullable);
	if (count == 0)
		join->quals = before;
	return count;
}

static int
join_all(Query *query, Node *node)
{
	JoinExpr   *join = (JoinExpr *) node;
	int			count = 0;
	int			joined;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			count += join_all(query, lfirst(lc));
		return count;
	}
	if (!IsA(node, JoinExpr))
		return 0;
	count = join_all(query, join->larg) + join_all(query, join->rarg);
	if (!gpucol_subquery_has_executed(join->quals))
		return count;
	joined = join_if_referred(query, join, &join->larg, join->jointype == JOIN_RIGHT);
	if (joined == 0)
		joined = join_if_referred(query, join, &join->rarg, join->jointype == JOIN_LEFT);
	return count + joined;
}

int
gpucol_subquery_join_sides(Query *query)
{
	return join_all(query, (Node *) query->jointree);
}
