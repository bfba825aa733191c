/*-------------------------------------------------------------------------
 *
 * subquery_groups.c
 *	  Subqueries beside GROUP BY: in HAVING, and in the select list outside of aggregates.
 *
 * They are computed for groups, to whose FROM clause nothing can be joined.  So the grouping
 * becomes a subquery, whose rows are groups:
 *
 *		SELECT k, sum(x) + (SELECT ...) FROM a GROUP BY k HAVING count(*) > 5 AND EXISTS (...)
 *	->	SELECT g.k, g.sum + (SELECT ...)
 *		FROM (SELECT k, sum(x), ... FROM a GROUP BY k HAVING count(*) > 5) g WHERE EXISTS (...)
 *
 * Keys, aggregates and columns that depend on keys are its columns, in subqueries at any
 * depth too.  ORDER BY, DISTINCT, LIMIT and window functions stay above, as do WITH queries.
 * Conditions of HAVING without a subquery that is executed for groups stay below, where they
 * are tested first, as PostgreSQL does with what is cheaper.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/subquery.h"

/* The grouping while it becomes a subquery. */
typedef struct Grouping
{
	List	   *columns;		/* its TargetEntries, keys first */
	int			depth;			/* of queries below the one that was grouped */
} Grouping;

/* ---- what is computed for groups ---- */

/* Has an expression a subquery that is executed for each row, or group, outside of aggregates? */
static bool
has_executed(Node *node, void *context)
{
	if (node == NULL || (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0))
		return false;
	if (IsA(node, SubLink) && gpucol_subquery_is_executed((SubLink *) node))
		return true;
	return expression_tree_walker(node, has_executed, context);
}

/* Are the keys of grouping sets plain columns?  Others are not known by their values alone. */
static bool
has_plain_sets(const Query *query)
{
	ListCell   *lc;

	if (query->groupingSets == NIL)
		return true;
	foreach(lc, query->groupClause)
	{
		if (!IsA(get_sortgroupclause_expr(lfirst(lc), query->targetList), Var))
			return false;
	}
	return true;
}

/* Can the grouping of a query be told from what is above it? */
static bool
is_separable(Query *query)
{
	List	   *targets = (List *) gpucol_compat_write_groups(query, (Node *) query->targetList);
	ListCell   *lc;

	if (contain_volatile_functions((Node *) targets) ||
		contain_volatile_functions(query->havingQual) || !has_plain_sets(query))
		return false;
	foreach(lc, query->groupClause)
	{
		if (expression_returns_set(get_sortgroupclause_expr(lfirst(lc), targets)))
			return false;
	}
	return has_executed((Node *) query->targetList, NULL) || has_executed(query->havingQual, NULL);
}

/*
 * May HAVING test keys before they are grouped?  Where equal keys may differ PostgreSQL looks at their entry:
 * by a collation, in rows, and in types whose = is not known here.
 */
static bool
are_exact(List *keys)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		Oid			collation = exprCollation(lfirst(lc));
		Oid			type = getBaseType(exprType(lfirst(lc)));

		if ((OidIsValid(collation) && !get_collation_isdeterministic(collation)) || type_is_rowtype(type) ||
			(type >= FirstNormalObjectId && get_typtype(type) != TYPTYPE_ENUM))
			return false;
	}
	return true;
}

bool
gpucol_subquery_write_keys(Query *query, bool always)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		List	   *keys = gpucol_compat_rte_is_group(rte) ? gpucol_compat_rte_group_exprs(rte) : NIL;

		if (keys == NIL)
			continue;
		if ((!always && !checkExprHasSubLink((Node *) keys)) || query->groupingSets != NIL ||
			contain_volatile_functions((Node *) keys) || (query->havingQual != NULL && !are_exact(keys)))
			return false;
		query->targetList = (List *) gpucol_compat_write_groups(query, (Node *) query->targetList);
		query->havingQual = gpucol_compat_write_groups(query, query->havingQual);
		lfirst(lc) = makeNode(RangeTblEntry);
		lfirst_node(RangeTblEntry, lc)->rtekind = RTE_RESULT;
		lfirst_node(RangeTblEntry, lc)->eref = makeAlias("keys", NIL);
		gpucol_compat_no_group_rte(query);
		break;
	}
	return true;
}

/* ---- columns of the grouping ---- */

/* An expression of the grouping as a column of it, `depth` queries below. */
static Node *
column_of(Grouping *grouping, Expr *expr)
{
	TargetEntry *tle = NULL;
	Var		   *var;
	ListCell   *lc;

	foreach(lc, grouping->columns)
	{
		if (equal(lfirst_node(TargetEntry, lc)->expr, expr))
		{
			tle = lfirst(lc);
			break;
		}
	}
	if (tle == NULL)
	{
		tle = makeTargetEntry(expr, list_length(grouping->columns) + 1,
							  IsA(expr, Aggref) ? get_func_name(((Aggref *) expr)->aggfnoid) : pstrdup("value"),
							  false);
		grouping->columns = lappend(grouping->columns, tle);
	}
	var = makeVarFromTargetEntry(1, tle);
	var->varlevelsup = grouping->depth;
	return (Node *) var;
}

/* Is an expression `depth` queries below one that the grouping computes? */
static bool
is_grouped(const Grouping *grouping, Node *node)
{
	ListCell   *lc;

	if (IsA(node, Var))
		return (int) ((Var *) node)->varlevelsup == grouping->depth;
	if (IsA(node, Aggref))
		return (int) ((Aggref *) node)->agglevelsup == grouping->depth;
	if (IsA(node, GroupingFunc))
		return (int) ((GroupingFunc *) node)->agglevelsup == grouping->depth;
	if (grouping->depth > 0)
		return false;
	foreach(lc, grouping->columns)
	{
		if (equal(lfirst_node(TargetEntry, lc)->expr, node))
			return true;
	}
	return false;
}

/* What stood beside the grouping as it stands above. */
static Node *
above(Node *node, Grouping *grouping)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		grouping->depth++;
		result = (Node *) query_tree_mutator((Query *) node, above, grouping, 0);
		grouping->depth--;
		return result;
	}
	if (is_grouped(grouping, node))
	{
		node = copyObject(node);
		IncrementVarSublevelsUp(node, -grouping->depth, grouping->depth);
		return column_of(grouping, (Expr *) node);
	}
	return expression_tree_mutator(node, above, grouping);
}

/* The keys, as first columns. */
static void
take_keys(Grouping *grouping, const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = copyObject(lfirst_node(TargetEntry, lc));

		if (tle->ressortgroupref == 0 ||
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->groupClause) == NULL)
			continue;
		tle->resno = list_length(grouping->columns) + 1;
		tle->resjunk = false;
		tle->resname = pstrdup(tle->resname != NULL ? tle->resname : "key");
		grouping->columns = lappend(grouping->columns, tle);
	}
}

/* ---- the two queries ---- */

/* WITH queries of the grouped query are those of the query above now. */
static bool
raise_with(Node *node, int *depth)
{
	bool		result;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		rte->ctelevelsup += rte->rtekind == RTE_CTE && (int) rte->ctelevelsup == *depth;
		return false;
	}
	if (!IsA(node, Query))
		return expression_tree_walker(node, raise_with, depth);
	(*depth)++;
	result = query_tree_walker((Query *) node, raise_with, depth, QTW_EXAMINE_RTES_BEFORE);
	(*depth)--;
	return result;
}

/* The grouping as a query of its own, one level below. */
static Query *
make_below(const Query *query, const Grouping *grouping, List *conditions)
{
	Query		grouped = *query;

	grouped.havingQual = conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions);
	grouped.windowClause = NIL;
	grouped.hasWindowFuncs = grouped.hasTargetSRFs = false;
	return gpucol_subquery_below(&grouped, grouping->columns);
}

Query *
gpucol_subquery_below(const Query *query, List *columns)
{
	Query	   *below = palloc(sizeof(Query));
	int			depth = -1;

	*below = *query;
	below->targetList = columns;
	below->cteList = below->distinctClause = below->sortClause = NIL;
	below->limitCount = below->limitOffset = NULL;
	below->hasDistinctOn = below->hasRecursive = below->hasModifyingCTE = false;
	IncrementVarSublevelsUp((Node *) below, 1, 1);
	raise_with((Node *) below, &depth);
	return below;
}

/* Does a clause of a query, but for GROUP BY, refer to a column of its target list? */
static bool
is_referred_to(const Query *query, Index ref)
{
	ListCell   *lc;

	if (ref == 0)
		return false;
	foreach(lc, query->windowClause)
	{
		const WindowClause *clause = lfirst_node(WindowClause, lc);

		if (get_sortgroupref_clause_noerr(ref, clause->partitionClause) != NULL ||
			get_sortgroupref_clause_noerr(ref, clause->orderClause) != NULL)
			return true;
	}
	return get_sortgroupref_clause_noerr(ref, query->sortClause) != NULL ||
		get_sortgroupref_clause_noerr(ref, query->distinctClause) != NULL;
}

/* Leave out the columns that only GROUP BY asked for: of DISTINCT they would be keys. */
static void
drop_keys(Query *query)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && !is_referred_to(query, tle->ressortgroupref))
			continue;
		tle->resno = list_length(kept) + 1;
		kept = lappend(kept, tle);
	}
	query->targetList = kept;
}

void
gpucol_subquery_read(Query *query, Query *below, const char *name, List *conditions)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	gpucol_compat_no_tables(query);
	query->rtable = list_make1(gpucol_make_subquery_entry(below, name));
	query->jointree = makeFromExpr(list_make1(ref),
								   conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions));
	query->groupClause = query->groupingSets = NIL;
	query->groupDistinct = query->hasAggs = false;
	query->havingQual = NULL;
	drop_keys(query);
}

/* May these conditions be tested in another order, some by joins?  One alone always may. */
static bool
have_no_order(Query *query, List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		if (list_length(conditions) > 1 && gpucol_harmless_expr(query, lfirst(lc)) != NULL)
			return false;
	}
	return true;
}

Query *
gpucol_subquery_above_groups(Query *query)
{
	Grouping	grouping = {.depth = 0};
	List	   *below = NIL;
	List	   *moved = NIL;
	Query	   *copy;
	ListCell   *lc;

	if (!is_separable(query))
		return NULL;
	copy = copyObject(query);
	take_keys(&grouping, copy);
	copy->targetList = castNode(List, above((Node *) copy->targetList, &grouping));
	foreach(lc, gpucol_subquery_conditions(copy->havingQual))
	{
		if (has_executed(lfirst(lc), NULL))
			moved = lappend(moved, above(lfirst(lc), &grouping));
		else
			below = lappend(below, lfirst(lc));
	}
	gpucol_subquery_read(copy, make_below(copy, &grouping, below), "groups", moved);
	return have_no_order(copy, moved) ? copy : NULL;
}
