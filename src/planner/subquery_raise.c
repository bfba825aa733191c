/*-------------------------------------------------------------------------
 *
 * subquery_raise.c
 *	  Keys of a join of many rows that may raise the errors that the subquery raised.
 *
 * Where a value of one row may be an error, the subquery is executed instead (subquery_within.c).  Many rows have
 * no such way out:
 *
 *		a, LATERAL (SELECT ... FROM b WHERE b.k + 1 = a.k - 1 AND rest ORDER BY s LIMIT 3) l
 *
 * But where each row of `a` that passes its conditions has the subquery executed, PostgreSQL computes a.k - 1 of all
 * of these as soon as a row of `b` passes the rest, and b.k + 1 of all rows of `b` as soon as there is a row of `a`.
 * So may the join then:
 *
 *		ON key = CASE WHEN (SELECT true FROM b WHERE rest LIMIT 1) THEN a.k - 1 END
 *
 * One condition must be all that correlates the subquery: beside another one PostgreSQL may find each row of `b` to
 * be none of its own before it computes the key.
 *
 * While the join is in the making both are written as values within their types, which raise nothing: all else is
 * looked at for errors as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* Are there conditions of a query on its tables that could raise an error? */
static bool
has_harmful_condition(Query *query, Index rti)
{
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(query->jointree->quals))
	{
		if (!bms_is_member((int) rti, pull_varnos(NULL, lfirst(lc))) &&
			gpucol_harmless_expr(query, lfirst(lc)) != NULL)
			return true;
	}
	return false;
}

bool
gpucol_raise_may(const GpucolGroupedJoin *join, Index table)
{
	const RangeTblEntry *rte = rt_fetch(table, join->outer->rtable);

	return join->outer->commandType == CMD_SELECT && !rte->lateral && rte->tablesample == NULL &&
		(rte->rtekind == RTE_RELATION ||
		 (rte->rtekind == RTE_SUBQUERY && gpucol_grouped_decline_any(rte->subquery) == NULL &&
		  rte->subquery->limitCount == NULL && rte->subquery->limitOffset == NULL)) &&
		!has_harmful_condition(join->outer, join->rti);
}

/* (SELECT true FROM ... LIMIT 1): executed once, as an EXISTS below CASE may not be. */
static Node *
exists(Query *query)
{
	SubLink    *sublink = makeNode(SubLink);

	query->targetList = list_make1(makeTargetEntry((Expr *) makeBoolConst(true, false), 1, pstrdup("exists"), false));
	query->limitCount = (Node *) gpucol_make_int8(1);
	query->limitOption = LIMIT_OPTION_COUNT;
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return (Node *) sublink;
}

/* A value where a row exists. */
static Node *
where_exists(Query *query, Node *value)
{
	return (Node *) gpucol_make_choice((Expr *) exists(query), (Expr *) copyObject(value),
									   (Expr *) makeNullConst(exprType(value), exprTypmod(value),
															  exprCollation(value)));
}

/* The rows that the subquery looks at for any row of the outer query. */
static Query *
rows_looked_at(const Query *inner)
{
	Query	   *query = copyObject(unconstify(Query *, inner));

	query->targetList = query->sortClause = query->distinctClause = query->groupClause = query->windowClause = NIL;
	query->havingQual = query->limitCount = query->limitOffset = NULL;
	query->hasAggs = query->hasWindowFuncs = query->hasDistinctOn = false;
	query->hasSubLinks = checkExprHasSubLink((Node *) query->jointree);
	return query;
}

void
gpucol_raise_look(GpucolGroupedJoin *join)
{
	if (join->raised_table > 0)
		join->looked_at = rows_looked_at(join->inner);
}

void
gpucol_raise_note(GpucolGroupedJoin *join, Node *within, Node *value)
{
	join->raised = lappend(join->raised, list_make2(within, copyObject(value)));
}

/* The value that stands for one within its type, or NULL. */
static Node *
raised_value(const List *raised, const Node *within)
{
	ListCell   *lc;

	foreach(lc, raised)
	{
		if (equal(linitial(lfirst(lc)), within))
			return lsecond(lfirst(lc));
	}
	return NULL;
}

/* What to put the values in the place of, and where there must be a row for them. */
typedef struct Raising
{
	const List *raised;
	Query	   *exists;
	bool		found;
} Raising;

static Node *
put_values(Node *node, Raising *raising)
{
	Node	   *value = node == NULL ? NULL : raised_value(raising->raised, node);

	if (value == NULL)
		return expression_tree_mutator(node, put_values, raising);
	raising->found = true;
	return where_exists(copyObject(raising->exists), value);
}

bool
gpucol_raise_put(GpucolGroupedJoin *join)
{
	Raising		keys = {.raised = join->raised};
	Raising		values = {.raised = join->raised,.exists = join->looked_at};
	ListCell   *lc;

	if (join->raised == NIL)
		return true;
	if (list_length(join->conditions) + list_length(join->ordered) > 1)
	{
		join->reason = "whether its key is an error depends on other conditions";
		return false;
	}
	join->conditions = (List *) put_values((Node *) join->conditions, &values);
	join->ordered = (List *) put_values((Node *) join->ordered, &values);
	join->outer->hasSubLinks |= values.found;
	keys.exists = gpucol_subquery_asked(join->outer, join->raised_table, NIL);
	foreach(lc, join->columns)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->expr = (Expr *) put_values((Node *) tle->expr, &keys);
	}
	join->inner->hasSubLinks |= keys.found;
	return true;
}
