/*-------------------------------------------------------------------------
 *
 * subquery_test.c
 *	  Tests with a subquery that are no joins where they stand: below OR, NOT and CASE, in
 *	  the select list, in arguments and filters of aggregates.
 *
 * PostgreSQL makes a join of EXISTS or IN that stands alone among the conditions of WHERE,
 * and executes any other for each row of the query around it, or keeps its values in a hash
 * table that no engine reads.  Here IN and <> ALL become EXISTS (subquery_not_in.c), and
 * each EXISTS a left join with the keys that there are (subquery_scalar.c):
 *
 *		a.x > 3 OR EXISTS (SELECT FROM b WHERE b.k = a.k)
 *	->	a LEFT JOIN (SELECT k FROM b GROUP BY k) g ON g.k = a.k
 *		... a.x > 3 OR g.k IS NOT NULL
 *
 * Comparisons that order ask for the least or the greatest value, a subquery of one aggregate.
 *
 * An EXISTS, or such a value, that is correlated with nothing stays: PostgreSQL executes it once
 * at most.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "plan/reason.h"
#include "planner/subquery.h"

/* The subqueries of a test while they are made joins. */
typedef struct Joining
{
	Query	   *query;
	bool		failed;
} Joining;

/* Is it an aggregate's value, the same for all rows?  PostgreSQL computes that once. */
static bool
is_one_value(const SubLink *sublink)
{
	return !gpucol_subquery_is_executed(sublink) &&
		IsA(linitial_node(TargetEntry, castNode(Query, sublink->subselect)->targetList)->expr, Aggref);
}

/* Make each a join that is no part of another. */
static Node *
join_all(Node *node, Joining *joining)
{
	if (node == NULL || joining->failed)
		return node;
	if (IsA(node, SubLink) && gpucol_seldom_is(castNode(Query, ((SubLink *) node)->subselect)))
		return node;
	if (IsA(node, SubLink) && !is_one_value((SubLink *) node))
	{
		SubLink    *sublink = (SubLink *) node;
		bool		exists = sublink->subLinkType == EXISTS_SUBLINK;
		Node	   *joined = exists ? gpucol_subquery_exists_ordered(sublink, false) : NULL;

		if (joined != NULL)
			return join_all(joined, joining);
		joined = exists ? gpucol_subquery_join_exists(joining->query, sublink) :
			gpucol_subquery_join_counts(joining->query, sublink);
		joining->failed = joined == NULL;
		return joined;
	}
	if (IsA(node, SubLink))
		return node;
	return expression_tree_mutator(node, join_all, joining);
}

/* <> ALL as the = ANY of which it is the opposite, or NULL. */
static SubLink *
negate_all(SubLink *sublink)
{
	SubLink    *any = copyObject(sublink);
	OpExpr	   *op = (OpExpr *) any->testexpr;

	if (!IsA(op, OpExpr) || !OidIsValid(get_negator(op->opno)))
		return NULL;
	op->opno = get_negator(op->opno);
	op->opfuncid = get_opcode(op->opno);
	any->subLinkType = ANY_SUBLINK;
	any->operName = NIL;
	return any;
}

/* The test with EXISTS and counts alone, or NULL. */
static Node *
as_exists(Query *query, SubLink *sublink, bool null_is_false)
{
	Node	   *in;

	switch (sublink->subLinkType)
	{
		case EXISTS_SUBLINK:
			in = gpucol_subquery_exists_ordered(sublink, null_is_false);
			return in != NULL ? in : (Node *) sublink;
		case ANY_SUBLINK:
			return gpucol_subquery_in(query, sublink, null_is_false);
		case ALL_SUBLINK:
			sublink = negate_all(sublink);
			in = sublink == NULL ? NULL : gpucol_subquery_in(query, sublink, false);
			return in == NULL ? NULL : (Node *) make_notclause((Expr *) in);
		default:
			return NULL;
	}
}

Node *
gpucol_subquery_join_test(Query *query, SubLink *sublink, bool null_is_false)
{
	List	   *fromlist = query->jointree->fromlist;
	int			tables = list_length(query->rtable);
	Joining		joining = {.query = query};
	Oid			relid = gpucol_subquery_table(castNode(Query, sublink->subselect));
	Node	   *test;

	if (!OidIsValid(relid) && !OidIsValid(relid = gpucol_subquery_table(query)))
		return NULL;
	test = as_exists(query, sublink, null_is_false);
	if (test == NULL)
	{
		gpucol_reason_add(relid, "subquery", "its comparison or its list is none that EXISTS could have");
		return NULL;
	}
	test = join_all(test, &joining);
	if (!joining.failed)
		return test;
	query->jointree->fromlist = fromlist;
	query->rtable = list_truncate(query->rtable, tables);
	return NULL;
}
