/*-------------------------------------------------------------------------
 *
 * subquery_merge.c
 *	  Correlated scalar subqueries of MERGE's actions become joins.
 *
 * MERGE INTO t USING s ON s.k = t.k WHEN MATCHED AND t.x < (SELECT max(y) FROM b WHERE b.k = s.k) ... is rewritten
 * as in a query (subquery_scalar.c): the groups are joined to the source,
 *
 *		MERGE INTO t USING (s LEFT JOIN (SELECT k, max(y) FROM b GROUP BY k) g ON g.k = s.k) ...
 *
 * before PostgreSQL joins that to the target.  Rows of the source are as the snapshot has them, also where the target's
 * row has changed meanwhile and all is evaluated again: then the group is the same.
 *
 * A column of the target that ON says to be equal to one of the source is that one in the actions WHEN MATCHED,
 * of which no row can be evaluated otherwise, if equal values of its type cannot be told apart.  Subqueries with other
 * columns of the target stay.
 *
 * WHEN NOT MATCHED BY SOURCE, PostgreSQL asks whether there is a row of the source; where there is such an
 * action, all subqueries stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "planner/subquery.h"

typedef struct Same
{
	const Var  *target;			/* column of the target */
	const Var  *source;			/* that is equal to it in matched rows */
} Same;

typedef struct Replacing
{
	List	   *same;
	int			depth;			/* of queries below the statement; 0 = not in a subquery */
} Replacing;

/* Tables of a FROM clause, of which some are joins. */
static Bitmapset *
tables_of(Node *node, Bitmapset *tables)
{
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return bms_add_member(tables, ((RangeTblRef *) node)->rtindex);
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		tables = tables_of(join->larg, tables_of(join->rarg, tables));
		return bms_add_member(tables, join->rtindex);
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
		tables = tables_of(lfirst(lc), tables);
	return tables;
}

/* The columns that a condition of ON says to be the same, or NULL. */
static Same *
same_columns(const Query *query, Node *condition, const Bitmapset *source)
{
	const OpExpr *op = (const OpExpr *) condition;
	const Var  *a;
	const Var  *b;
	Same	   *same;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	a = linitial(op->args);
	b = lsecond(op->args);
	if (!IsA(a, Var) || !IsA(b, Var) || a->varattno <= 0 || b->varattno <= 0 || a->vartype != b->vartype ||
		a->varcollid != b->varcollid || !op_mergejoinable(op->opno, a->vartype) ||
		!gpucol_equal_by_bytes(a->vartype, a->varcollid))
		return NULL;
	same = palloc(sizeof(Same));
	same->target = a->varno == query->resultRelation ? a : b;
	same->source = same->target == a ? b : a;
	return same->target->varno == query->resultRelation && bms_is_member(same->source->varno, source) ? same : NULL;
}

/* Columns of the source in the place of the target's, in subqueries. */
static Node *
replace_columns(Node *node, Replacing *replacing)
{
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (IsA(node, SubLink) || IsA(node, Query))
	{
		Node	   *result;

		if (IsA(node, SubLink))
			return expression_tree_mutator(node, replace_columns, replacing);
		replacing->depth++;
		result = (Node *) query_tree_mutator((Query *) node, replace_columns, replacing, 0);
		replacing->depth--;
		return result;
	}
	if (!IsA(node, Var) || replacing->depth == 0 || (int) ((Var *) node)->varlevelsup != replacing->depth)
		return expression_tree_mutator(node, replace_columns, replacing);
	foreach(lc, replacing->same)
	{
		const Same *same = lfirst(lc);
		const Var  *var = (const Var *) node;

		if (same->target->varno == var->varno && same->target->varattno == var->varattno)
		{
			Var		   *result = copyObject((Var *) same->source);

			result->varlevelsup = replacing->depth;
			return (Node *) result;
		}
	}
	return (Node *) copyObject((Var *) node);
}

/* What is the same in matched rows. */
static List *
same_in_matched(Query *query, const Bitmapset *source)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(*gpucol_compat_merge_condition(query)))
	{
		Same	   *same = same_columns(query, lfirst(lc), source);

		if (same != NULL)
			result = lappend(result, same);
	}
	return result;
}

/* Does the statement act on rows of the target that none of the source matches? */
static bool
acts_without_source(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->mergeActionList)
	{
		if (gpucol_compat_not_matched_by_source(lfirst_node(MergeAction, lc)))
			return true;
	}
	return false;
}

static int
join_clause(Query *query, Node **clause, List *same, const Bitmapset *source)
{
	Replacing	replacing = {.same = same};

	if (*clause == NULL || !checkExprHasSubLink(*clause))
		return 0;
	if (same != NIL)
		*clause = replace_columns(*clause, &replacing);
	return gpucol_subquery_join_changed(query, clause, source);
}

int
gpucol_subquery_join_merged(Query *query)
{
	Node	  **condition = gpucol_compat_merge_condition(query);
	Node	   *on = *condition;
	int			count = 0;
	Bitmapset  *source;
	List	   *same;
	ListCell   *lc;

	if (query->commandType != CMD_MERGE || !query->hasSubLinks || list_length(query->jointree->fromlist) != 1 ||
		acts_without_source(query))
		return 0;
	source = tables_of(linitial(query->jointree->fromlist), NULL);
	same = same_in_matched(query, source);
	/* it is no condition on all rows of the source, of which some are asked for groups only */
	*condition = NULL;
	foreach(lc, query->mergeActionList)
	{
		MergeAction *action = lfirst_node(MergeAction, lc);
		List	   *holding = gpucol_compat_is_matched(action) ? same : NIL;

		count += join_clause(query, &action->qual, holding, source);
		count += join_clause(query, (Node **) &action->targetList, holding, source);
	}
	*condition = on;
	return count;
}
