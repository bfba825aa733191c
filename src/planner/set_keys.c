/*-------------------------------------------------------------------------
 *
 * set_keys.c
 *	  Computed columns of subqueries in FROM below grouping sets.
 *
 *		SELECT y, sex, count(*) FROM (SELECT extract(year FROM d) AS y, sex FROM t) x GROUP BY ROLLUP (y, sex)
 *	->	SELECT extract(year FROM x.d), sex, count(*) ... GROUP BY ROLLUP (extract(year FROM x.d), sex)
 *
 * PostgreSQL merges such a subquery with the query that reads it.  Below grouping sets it marks each computed column
 * (PlaceHolderVar), so that a key is told from an expression that happens to look like it: the first may be left out
 * of a set and be NULL where the second is not.  No engine computes what is marked.  So the columns are spelled out
 * here (subquery_columns.c), where nothing beside keys looks like one of them: then the marks would tell nothing.
 *
 * Left alone is what is left alone there, what has no column in it, and queries whose lists or HAVING have subqueries,
 * which may refer to keys; and from PostgreSQL 18 on all, where keys are entries of the range table, whose columns
 * are marked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "compat.h"
#include "guc.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* A query whose columns are spelled out. */
typedef struct Spelling
{
	Query	   *query;
	List	   *keys;			/* its keys, and what they are spelled out, in the same order */
	List	   *spelled;
	bool		of_rows;		/* the expression at hand is of rows, not of groups */
	bool		ambiguous;		/* something that is no key looks like one now */
} Spelling;

/* A column of a query, or the one that a join of the query's tables shows of these. */
static const Var *
own_column(const Query *query, const Var *var)
{
	const RangeTblEntry *rte;
	const Node *shown;

	while (var->varlevelsup == 0 && var->varattno > 0 &&
		   (rte = rt_fetch(var->varno, query->rtable))->rtekind == RTE_JOIN)
	{
		shown = list_nth(rte->joinaliasvars, var->varattno - 1);
		if (shown == NULL || !IsA(shown, Var))
			break;
		var = (const Var *) shown;
	}
	return var;
}

/* A column, spelled out where it is computed of others. */
static Node *
spell_column(Spelling *spelling, const Var *var)
{
	Node	   *expr = gpucol_subquery_spelled_column(spelling->query, own_column(spelling->query, var));

	return expr != NULL && contain_var_clause(expr) ? expr : copyObject((Node *) var);
}

/* The number of the key that an expression is, or -1. */
static int
find_key(const Spelling *spelling, const Node *node)
{
	ListCell   *lc;

	foreach(lc, spelling->keys)
	{
		if (equal(lfirst(lc), node))
			return foreach_current_index(lc);
	}
	return -1;
}

static Node *
spell_mutator(Node *node, void *context)
{
	Spelling   *spelling = context;
	bool		of_rows = spelling->of_rows;
	Node	   *result;
	int			key;

	if (node == NULL || IsA(node, Query))
		return copyObject(node);
	key = of_rows ? -1 : find_key(spelling, node);
	if (key >= 0)
		return copyObject(list_nth(spelling->spelled, key));
	if (IsA(node, Var))
		result = ((Var *) node)->varlevelsup == 0 ? spell_column(spelling, (Var *) node) : copyObject(node);
	else
	{
		spelling->of_rows |= IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0;
		result = expression_tree_mutator(node, spell_mutator, spelling);
		spelling->of_rows = of_rows;
	}
	if (!of_rows)
		spelling->ambiguous |= list_member(spelling->spelled, result);
	return result;
}

/* Spell out an expression that is computed of rows, or of groups. */
static Node *
spell(Spelling *spelling, Node *node, bool of_rows)
{
	spelling->of_rows = of_rows;
	return spell_mutator(node, spelling);
}

/* Is one of the expressions a part of another, or equal to it? */
typedef struct Parts
{
	const List *exprs;
	const Node *whole;
} Parts;

static bool
part_walker(Node *node, void *context)
{
	const Parts *parts = context;

	return node != NULL &&
		((node != parts->whole && !IsA(node, Var) && list_member(parts->exprs, node)) ||
		 expression_tree_walker(node, part_walker, context));
}

/* Does no key look like another, or have one as a part of it? */
static bool
are_apart(const List *keys)
{
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, keys)
	{
		Parts		parts = {.exprs = keys,.whole = lfirst(lc)};

		if (part_walker(lfirst(lc), &parts))
			return false;
		foreach(other, keys)
		{
			if (other != lc && equal(lfirst(other), lfirst(lc)))
				return false;
		}
	}
	return true;
}

/* Has an aggregate arguments that are of groups, not of rows? */
static bool
direct_walker(Node *node, void *context)
{
	return node != NULL &&
		((IsA(node, Aggref) && contain_var_clause((Node *) ((Aggref *) node)->aggdirectargs)) ||
		 expression_tree_walker(node, direct_walker, context));
}

/* Have WITH queries that PostgreSQL would make subqueries in FROM be so here; is there any such subquery? */
static bool
reads_subquery(Query *query)
{
	bool		found = false;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Query	   *below = rte->rtekind == RTE_CTE ? gpucol_set_take_with(query, rte) : NULL;

		if (below != NULL && OidIsValid(gpucol_subquery_table(below)) && !contain_volatile_functions((Node *) below))
			gpucol_set_inline_with(query, rte, below);
		found |= rte->rtekind == RTE_SUBQUERY;
	}
	return found;
}

/* Are the keys those of an entry of the range table? */
static bool
has_key_entry(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		if (gpucol_compat_rte_is_group(lfirst_node(RangeTblEntry, lc)))
			return true;
	}
	return false;
}

/* May the columns of a query be spelled out? */
static bool
may_spell(Query *query)
{
	return !has_key_entry(query) && query->groupingSets != NIL && query->commandType == CMD_SELECT &&
		query->setOperations == NULL &&
		query->rowMarks == NIL && !checkExprHasSubLink((Node *) query->targetList) &&
		!checkExprHasSubLink(query->havingQual) && !direct_walker((Node *) query->targetList, NULL) &&
		!direct_walker(query->havingQual, NULL) && reads_subquery(query) && OidIsValid(gpucol_subquery_table(query));
}

/* Spell out what a query with grouping sets computes of subqueries in FROM. */
static void
spell_query(Query *query)
{
	Spelling	spelling = {.query = query};
	List	   *keys = get_sortgrouplist_exprs(query->groupClause, query->targetList);
	List	   *spelled = castNode(List, spell(&spelling, (Node *) keys, true));
	List	   *targets;
	Node	   *having;

	if (!are_apart(spelled))
		return;
	spelling.keys = keys;
	spelling.spelled = spelled;
	targets = castNode(List, spell(&spelling, (Node *) query->targetList, false));
	having = spell(&spelling, query->havingQual, false);
	if (spelling.ambiguous)
		return;
	query->targetList = targets;
	query->havingQual = having;
	query->jointree = castNode(FromExpr, spell(&spelling, (Node *) query->jointree, true));
}

static bool
query_walker(Node *node, void *context)
{
	check_stack_depth();
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, query_walker, context);
	if (may_spell((Query *) node))
		spell_query((Query *) node);
	return query_tree_walker((Query *) node, query_walker, context, 0);
}

Query *
gpucol_set_keys(Query *statement)
{
	if (gpucol_planner_disabled() == NULL && gpucol_enable_agg)
		(void) query_walker((Node *) statement, NULL);
	return statement;
}
