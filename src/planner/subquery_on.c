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

static int
join_all(Query *query, Node *node)
{
	JoinExpr   *join = (JoinExpr *) node;
	Bitmapset  *tables = NULL;
	int			count = 0;
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
	referred_walker(join->quals, &tables);
	if (bms_is_empty(tables))
		return count;
	if (bms_is_subset(tables, gpucol_subquery_tables(join->larg)))
		count += join_side(query, join, &join->larg, join->jointype == JOIN_RIGHT);
	else if (bms_is_subset(tables, gpucol_subquery_tables(join->rarg)))
		count += join_side(query, join, &join->rarg, join->jointype == JOIN_LEFT);
	return count;
}

int
gpucol_subquery_join_sides(Query *query)
{
	return join_all(query, (Node *) query->jointree);
}
