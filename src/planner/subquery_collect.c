/*-------------------------------------------------------------------------
 *
 * subquery_collect.c
 *	  Correlated subqueries that collect values: string_agg, array_agg, json_agg and the like, and ARRAY(SELECT ...).
 *
 * What they collect may exceed what one value can hold, which is an error, and arguments of theirs may raise
 * others.  So they become joins (subquery_scalar.c) only where each group that is computed then is asked for: the
 * query around reads one table and all of its rows that pass conditions which are known, and the subquery is
 * computed for each of these.  Then the groups are those of keys that these rows have
 * (subquery_restrict.c), and whatever error they raise PostgreSQL raises, too.
 *
 * ARRAY(SELECT e FROM b WHERE b.k = a.k ORDER BY s) is array_agg(e ORDER BY s), but {} of no rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* Is there an aggregate that collects? */
static bool
has_collecting(Node *node, void *context)
{
	if (node == NULL || IsA(node, SubLink))
		return false;
	if (IsA(node, Aggref) && gpucol_harmless_collects(((Aggref *) node)->aggfnoid))
		return true;
	return expression_tree_walker(node, has_collecting, context);
}

bool
gpucol_subquery_collects(const Query *query)
{
	return query->hasAggs && has_collecting((Node *) query->targetList, NULL);
}

/* array_agg of a query's column in its order. */
static Aggref *
make_array_agg(Query *query, Oid type)
{
	TargetEntry *column = linitial_node(TargetEntry, query->targetList);
	Aggref	   *agg = makeNode(Aggref);

	agg->aggfnoid = F_ARRAY_AGG_ANYNONARRAY;
	agg->aggtype = type;
	agg->aggcollid = agg->inputcollid = exprCollation((Node *) column->expr);
	agg->aggargtypes = list_make1_oid(exprType((Node *) column->expr));
	agg->args = query->targetList;
	agg->aggorder = query->sortClause;
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = -1;
	agg->location = -1;
	return agg;
}

/* The array of a query's one column as its only value; NULL if it cannot be. */
static Query *
make_array_query(Query *query, Oid *type)
{
	TargetEntry *column = linitial_node(TargetEntry, query->targetList);
	Oid			element = exprType((Node *) column->expr);

	*type = get_array_type(element);
	query = copyObject(query);
	gpucol_subquery_split_rows(query);
	if (query->commandType != CMD_SELECT || query->setOperations != NULL || query->hasAggs ||
		query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != NULL ||
		query->hasWindowFuncs || query->hasTargetSRFs || query->distinctClause != NIL ||
		query->limitCount != NULL || query->limitOffset != NULL || OidIsValid(get_element_type(element)) ||
		!OidIsValid(*type) || !gpucol_subquery_may_call(F_ARRAY_AGG_ANYNONARRAY))
		return NULL;
	query->targetList = list_make1(makeTargetEntry((Expr *) make_array_agg(query, *type), 1, pstrdup("array"), false));
	query->sortClause = NIL;
	query->hasAggs = true;
	return query;
}

Node *
gpucol_subquery_join_array(Query *query, SubLink *sublink)
{
	Oid			type;
	Query	   *collected = make_array_query(castNode(Query, sublink->subselect), &type);
	SubLink    *scalar = copyObject(sublink);
	Node	   *value;

	if (collected == NULL)
		return NULL;
	scalar->subLinkType = EXPR_SUBLINK;
	scalar->subselect = (Node *) collected;
	value = gpucol_subquery_join_scalar(query, scalar, true);
	if (value == NULL)
		return NULL;
	return (Node *) gpucol_make_coalesce((Expr *) value,
										 makeConst(type, -1, exprCollation(value), -1,
												   PointerGetDatum(construct_empty_array(get_element_type(type))),
												   false, false));
}
