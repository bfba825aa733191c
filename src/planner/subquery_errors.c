/*-------------------------------------------------------------------------
 *
 * subquery_errors.c
 *	  Which errors of a query's conditions depend on the rows that its subqueries, as joins, let pass.
 *
 * A condition with a subquery is tested where PostgreSQL scans the table, after the cheap ones of that scan.  As one
 * over the columns of a join it waits for that, and conditions beside it see rows that they did not get before.
 * All groups of the join are computed, too, and expressions over its columns alone may be, of all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/subquery.h"

bool
gpucol_subquery_joins_are_harmless(Query *query, Node *node)
{
	ListCell   *lc;

	check_stack_depth();
	if (node == NULL || IsA(node, RangeTblRef))
		return true;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		return gpucol_subquery_joins_are_harmless(query, join->larg) &&
			gpucol_subquery_joins_are_harmless(query, join->rarg) &&
			(join->quals == NULL || gpucol_harmless_expr(query, (Expr *) join->quals) == NULL);
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		if (!gpucol_subquery_joins_are_harmless(query, lfirst(lc)))
			return false;
	}
	return true;
}

/* Has an expression such a subquery? */
static bool
executed_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) && gpucol_subquery_is_executed((SubLink *) node))
		return true;
	return expression_tree_walker(node, executed_walker, context);
}

bool
gpucol_subquery_has_executed(Node *node)
{
	return executed_walker(node, NULL);
}

/* Does a FROM clause read one table and nothing else? */
static bool
reads_one_table(const Query *query, const List *fromlist)
{
	return list_length(fromlist) == 1 && IsA(linitial(fromlist), RangeTblRef) &&
		rt_fetch(linitial_node(RangeTblRef, fromlist)->rtindex,
				 query->rtable)->rtekind == RTE_RELATION;
}

/* Has an expression columns of a table that was added after the first `tables`? */
static bool
is_joined(Node *node, int tables)
{
	return bms_prev_member(pull_varnos(NULL, node), -1) > tables;
}

bool
gpucol_subquery_reaches_all_groups(Query *query, Node *node, int tables)
{
	int			first = bms_next_member(pull_varnos(NULL, node), -1);

	return first > tables && gpucol_harmless_expr(query, (Expr *) node) != NULL;
}

/* A value in the place of each subquery that is executed once, if its only error is that it has several rows. */
static Node *
replace_once_executed(Node *node, Query *query)
{
	SubLink    *sublink = (SubLink *) node;

	if (node == NULL)
		return NULL;
	if (!IsA(node, SubLink) || gpucol_subquery_is_executed(sublink) ||
		gpucol_harmless_query(castNode(Query, sublink->subselect), query, false) != NULL)
		return expression_tree_mutator(node, replace_once_executed, query);
	return gpucol_subquery_value(node);
}

/*
 * May a condition raise an error that depends on the row?  A subquery that is executed once and has several
 * rows raises its error for whichever row comes first, in any order of joins.
 */
static bool
is_harmful(Query *query, Node *condition)
{
	return gpucol_harmless_expr(query, (Expr *) replace_once_executed(condition, query)) != NULL;
}

bool
gpucol_subquery_keeps_errors(Query *query, List *fromlist, int tables, List *joined, List *values)
{
	int			waiting = 0;
	bool		waiting_error = false;	/* one of these may raise an error, */
	bool		other_error = false;	/* or another with a subquery */
	ListCell   *lc;

	foreach(lc, fromlist)
	{
		if (!gpucol_subquery_joins_are_harmless(query, lfirst(lc)))
			return false;
	}
	foreach(lc, values)
	{
		Expr	   *value = lfirst_node(TargetEntry, lc)->expr;

		if (!is_joined((Node *) value, tables))
			continue;
		waiting++;
		waiting_error |= gpucol_harmless_expr(query, value) != NULL;
		if (gpucol_subquery_reaches_all_groups(query, (Node *) value, tables))
			return false;
	}
	foreach(lc, gpucol_subquery_conditions(query->jointree->quals))
	{
		Node	   *condition = lfirst(lc);
		bool		harmful = is_harmful(query, condition);

		if (is_joined(condition, tables) || list_member(joined, condition))
		{
			waiting++;
			waiting_error |= harmful;
			if (gpucol_subquery_reaches_all_groups(query, condition, tables))
				return false;
		}
		else if (gpucol_subquery_has_executed(condition))
			other_error |= harmful;
		else if (harmful && !reads_one_table(query, fromlist))
			return false;
	}
	return !other_error && (waiting < 2 || !waiting_error);
}

/* ---- values above joins ---- */

/* A column of the query's own tables that the last table is joined by, or NULL. */
static Var *
joining_column(const Query *query, int tables)
{
	const JoinExpr *join = linitial(query->jointree->fromlist);
	ListCell   *lc;

	if (!IsA(join, JoinExpr))
		return NULL;
	foreach(lc, pull_var_clause(join->quals, 0))
	{
		if (lfirst_node(Var, lc)->varno <= tables)
			return lfirst(lc);
	}
	return NULL;
}

void
gpucol_subquery_keep_above_join(Query *query, List *values, int tables)
{
	Var		   *column = joining_column(query, tables);
	ListCell   *lc;

	foreach(lc, values)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (column != NULL && is_joined((Node *) tle->expr, tables) &&
			gpucol_subquery_reaches_all_groups(query, (Node *) tle->expr, tables))
			tle->expr = gpucol_make_choice(gpucol_make_null_test((Expr *) copyObject(column), IS_NULL), tle->expr,
										   copyObject(tle->expr));
	}
}

void
gpucol_subquery_keep_conditions_above_join(Query *query, int tables)
{
	List	   *conditions = gpucol_subquery_conditions(query->jointree->quals);
	Var		   *column = conditions == NIL || query->jointree->fromlist == NIL ? NULL : joining_column(query, tables);
	bool		kept = false;
	ListCell   *lc;

	foreach(lc, column == NULL ? NIL : conditions)
	{
		Expr	   *condition = lfirst(lc);

		if (!is_joined((Node *) condition, tables) ||
			!gpucol_subquery_reaches_all_groups(query, (Node *) condition, tables))
			continue;
		lfirst(lc) = gpucol_make_choice(gpucol_make_null_test((Expr *) copyObject(column), IS_NULL), condition,
										copyObject(condition));
		kept = true;
	}
	if (kept)
		query->jointree->quals = (Node *) make_ands_explicit(conditions);
}
