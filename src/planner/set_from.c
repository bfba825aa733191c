/*-------------------------------------------------------------------------
 *
 * set_from.c
 *	  A set-returning function that is a key of groups or of DISTINCT, or a column of a subquery below them, moves to
 *	  FROM, where engines make its rows.
 *
 *		SELECT unnest(tags) AS tag, count(*) FROM docs WHERE ... GROUP BY 1
 *	->	SELECT tag, count(*) FROM docs, unnest(tags) AS tag WHERE ... GROUP BY 1
 *
 * PostgreSQL calls the function for each row before it groups, in both forms.  It is moved where
 * it is the only one, of a column of a packed table, and one that engines know
 * (lower/set_function.c): of others PostgreSQL's own way is the faster one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "compat.h"
#include "guc.h"
#include "lower/set_function.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"

/* Does a query group rows, as far as is known here? */
static bool
groups(const Query *query)
{
	return query->commandType == CMD_SELECT && (query->groupClause != NIL || query->hasAggs);
}

/* The entry of the target list that is the query's only set; else NULL. */
static TargetEntry *
find_set(Query *query)
{
	TargetEntry *key = NULL;
	ListCell   *lc;

	if (!query->hasTargetSRFs || query->hasWindowFuncs)
		return NULL;
	foreach(lc, (List *) gpucol_compat_write_groups(query, (Node *) query->targetList))
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!expression_returns_set((Node *) tle->expr))
			continue;
		if (key != NULL)
			return NULL;
		key = tle;
	}
	return key;
}

/* The same of a query that groups by it or has each once, or (below groups) does nothing with its rows. */
static TargetEntry *
find_key(Query *query, bool below)
{
	TargetEntry *key = find_set(query);

	if (key == NULL)
		return NULL;
	if (query->distinctClause != NIL && !query->hasDistinctOn && !groups(query) && query->setOperations == NULL &&
		query->commandType == CMD_SELECT)
		return get_sortgroupref_clause_noerr(key->ressortgroupref, query->distinctClause) != NULL ? key : NULL;
	if (groups(query))
		return query->groupingSets == NIL &&
			get_sortgroupref_clause_noerr(key->ressortgroupref, query->groupClause) != NULL ? key : NULL;
	return below && gpucol_set_is_plain(query) ? key : NULL;
}

/* Is a set that of a column of a packed table, by a function that engines know? */
static bool
is_known(Query *query, Expr *set)
{
	FuncExpr   *function = (FuncExpr *) set;
	Var		   *column;
	RangeTblEntry *rte;

	if (!IsA(set, FuncExpr) || !function->funcretset || !gpucol_lower_is_set(function) ||
		gpucol_lower_is_fields(function))
		return false;
	column = (Var *) gpucol_lower_set_argument(function);
	if (!IsA(column, Var) || column->varlevelsup != 0 || column->varattno <= 0)
		return false;
	rte = rt_fetch(column->varno, query->rtable);
	return rte->rtekind == RTE_RELATION && OidIsValid(gpucol_subquery_packed_part(rte));
}

/* Move it. */
static void
move_set(Query *query, TargetEntry *key)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblFunction *function = makeNode(RangeTblFunction);
	RangeTblRef *ref = makeNode(RangeTblRef);
	char	   *name = pstrdup(key->resname != NULL ? key->resname : "set");

	function->funcexpr = (Node *) key->expr;
	function->funccolcount = 1;
	rte->rtekind = RTE_FUNCTION;
	rte->functions = list_make1(function);
	rte->eref = makeAlias(name, list_make1(makeString(name)));
	rte->lateral = true;
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	ref->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	query->hasTargetSRFs = false;
	key->expr = (Expr *) makeVar(ref->rtindex, 1, exprType((Node *) key->expr), exprTypmod((Node *) key->expr),
								 exprCollation((Node *) key->expr), 0);
}

/* Move the set of a query; true if there is one, and `move` is not set. */
static bool
visit(Query *query, bool below, bool move)
{
	TargetEntry *key = find_key(query, below);

	if (key == NULL || !is_known(query, key->expr))
		return false;
	if (move && gpucol_subquery_write_keys(query, true))
		move_set(query, find_key(query, below));
	return !move;
}

/* Move such sets of a statement, or (not *move) see whether there is one. */
static bool
walk(Node *node, bool *move)
{
	Query	   *query = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, walk, move);
	check_stack_depth();
	if (visit(query, false, *move))
		return true;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY && !rte->security_barrier && groups(query) &&
			visit(rte->subquery, true, *move))
			return true;
	}
	return query_tree_walker(query, walk, move, 0);
}

Query *
gpucol_set_from(Query *parse)
{
	bool		move = false;
	Query	   *copy;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !gpucol_enable_join || !walk((Node *) parse, &move))
		return parse;
	copy = copyObject(parse);
	move = true;
	walk((Node *) copy, &move);
	return copy;
}
