/*-------------------------------------------------------------------------
 *
 * subquery_elements.c
 *	  Subqueries over the elements of a row's arrays, written so that an engine finds values of the row.
 *
 * Aggregates behind LATERAL are subqueries of expressions, which lower/fold.c knows:
 *
 *		t, LATERAL (SELECT sum(e) s, max(e) m FROM unnest(t.a) e) l
 *		t, LATERAL (SELECT (SELECT sum(e) FROM unnest(t.a) e) s, (SELECT max(e) FROM unnest(t.a) e) m) l
 *
 * of which PostgreSQL puts in place of l.s and l.m whatever it reads.  Where it must be executed for each row more
 * than once that costs more, and the statement stays as it was (subquery_plan.c).
 *
 * x IN (SELECT unnest(a)) is x = ANY (a), but that it is false where there is no array.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "planner/subquery.h"

/* Is it unnest() of a column of a gpucol table of `query`, from so many queries below? */
static bool
is_elements(const Query *query, const Node *node, Index levels)
{
	const FuncExpr *call = (const FuncExpr *) node;
	const Var  *var;

	if (node == NULL || !IsA(node, FuncExpr) || call->funcid != F_UNNEST_ANYARRAY || !IsA(linitial(call->args), Var))
		return false;
	var = linitial_node(Var, call->args);
	return var->varlevelsup == levels && var->varattno > 0 &&
		rt_fetch(var->varno, query->rtable)->rtekind == RTE_RELATION &&
		OidIsValid(gpucol_subquery_packed_part(rt_fetch(var->varno, query->rtable)));
}

/* The functions that a subquery reads alone, if they are elements of the rows of `query`; NULL if they are not. */
static RangeTblEntry *
read_elements(const Query *query, const Query *subquery)
{
	const List *fromlist = subquery->jointree->fromlist;
	RangeTblEntry *rte;
	ListCell   *lc;

	if (list_length(fromlist) != 1 || !IsA(linitial(fromlist), RangeTblRef))
		return NULL;
	rte = rt_fetch(linitial_node(RangeTblRef, fromlist)->rtindex, subquery->rtable);
	if (rte->rtekind != RTE_FUNCTION)
		return NULL;
	foreach(lc, rte->functions)
	{
		if (!is_elements(query, lfirst_node(RangeTblFunction, lc)->funcexpr, 1))
			return NULL;
	}
	return rte;
}

/* Has a query nothing but a list, a FROM clause and conditions? */
static bool
is_simple(const Query *query)
{
	return query->commandType == CMD_SELECT && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && !query->hasWindowFuncs && !query->hasSubLinks && query->distinctClause == NIL &&
		query->sortClause == NIL && query->limitCount == NULL && query->limitOffset == NULL && query->cteList == NIL &&
		query->setOperations == NULL && query->rowMarks == NIL;
}

/* ---- LATERAL ---- */

/* A query without a FROM clause whose columns are those of an aggregation, each a subquery of its own. */
static Query *
execute_columns(const Query *subquery)
{
	Query	   *result = makeNode(Query);
	ListCell   *lc;

	result->commandType = CMD_SELECT;
	result->querySource = subquery->querySource;
	result->canSetTag = true;
	result->hasSubLinks = true;
	result->jointree = makeFromExpr(NIL, NULL);
	foreach(lc, subquery->targetList)
	{
		TargetEntry *tle = copyObject(lfirst_node(TargetEntry, lc));
		SubLink    *sublink = makeNode(SubLink);
		Query	   *one = copyObject((Query *) subquery);
		TargetEntry *column = copyObject(tle);

		column->resno = 1;
		one->targetList = list_make1(column);
		IncrementVarSublevelsUp((Node *) one, 1, 1);
		sublink->subLinkType = EXPR_SUBLINK;
		sublink->subselect = (Node *) one;
		sublink->location = -1;
		tle->expr = (Expr *) sublink;
		result->targetList = lappend(result->targetList, tle);
	}
	return result;
}

/* Is a join one that gives every row of its left side with one of the entry: a LEFT JOIN ... ON true? */
static bool
gives_each(const JoinExpr *join, int rti)
{
	const Const *quals = (const Const *) join->quals;
	const RangeTblRef *right = (const RangeTblRef *) join->rarg;

	return join->jointype == JOIN_LEFT && IsA(right, RangeTblRef) && right->rtindex == rti &&
		(quals == NULL || (IsA(quals, Const) && !quals->constisnull && DatumGetBool(quals->constvalue)));
}

/* Is an entry of the range table a side of an outer join, or within one, that may lack it? */
static bool
is_in_outer_join(Node *node, int rti, bool outer)
{
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return outer && ((RangeTblRef *) node)->rtindex == rti;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		outer |= join->jointype != JOIN_INNER && !gives_each(join, rti);
		return is_in_outer_join(join->larg, rti, outer) || is_in_outer_join(join->rarg, rti, outer);
	}
	foreach(lc, ((FromExpr *) node)->fromlist)
	{
		if (is_in_outer_join(lfirst(lc), rti, outer))
			return true;
	}
	return false;
}

/* The LEFT JOIN ... ON true of an entry in a part of a FROM clause, or NULL. */
static JoinExpr *
find_left_join(Node *node, int rti)
{
	JoinExpr   *found = NULL;
	ListCell   *lc;

	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		if (gives_each(join, rti))
			return join;
		found = find_left_join(join->larg, rti);
		return found != NULL ? found : find_left_join(join->rarg, rti);
	}
	if (!IsA(node, FromExpr))
		return NULL;
	foreach(lc, ((FromExpr *) node)->fromlist)
	{
		if (found == NULL)
			found = find_left_join(lfirst(lc), rti);
	}
	return found;
}

/* Make it an inner join: columns are no longer those of an outer one. */
static void
make_inner(Query *query, JoinExpr *join)
{
	join->jointype = JOIN_INNER;
	if (join->rtindex == 0)
		return;
	rt_fetch(join->rtindex, query->rtable)->jointype = JOIN_INNER;
	gpucol_compat_unnull(query, join->rtindex);
}

/* Is it aggregates of elements behind LATERAL? */
static bool
is_aggregation(const Query *query, int rti)
{
	const RangeTblEntry *rte = rt_fetch(rti, query->rtable);

	return rte->rtekind == RTE_SUBQUERY && rte->lateral && !rte->security_barrier && rte->subquery->hasAggs &&
		is_simple(rte->subquery) && read_elements(query, rte->subquery) != NULL &&
		!is_in_outer_join((Node *) query->jointree, rti, false) &&
		!gpucol_subquery_has_whole_row((Query *) query, rti);
}

/* Have its columns be subqueries of expressions. */
static void
join_elements(Query *query, int rti)
{
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	JoinExpr   *join = find_left_join((Node *) query->jointree, rti);

	rte->subquery = execute_columns(rte->subquery);
	if (join != NULL)
		make_inner(query, join);
}

/* ---- IN ---- */

/* The array of which an IN asks for all elements, in terms of the query around; NULL if it does not. */
static Expr *
searched_array(const Query *query, const Query *subquery)
{
	const TargetEntry *tle = linitial(subquery->targetList);
	RangeTblEntry *rte;
	Node	   *call = (Node *) tle->expr;
	Expr	   *array;

	if (!is_simple(subquery) || subquery->hasAggs || list_length(subquery->targetList) != 1 ||
		subquery->jointree->quals != NULL)
		return NULL;
	if (subquery->jointree->fromlist != NIL)
	{
		rte = read_elements(query, subquery);
		if (rte == NULL || subquery->hasTargetSRFs || rte->funcordinality || list_length(rte->functions) != 1 ||
			!IsA(call, Var) || ((Var *) call)->varlevelsup != 0 || ((Var *) call)->varattno != 1)
			return NULL;
		call = linitial_node(RangeTblFunction, rte->functions)->funcexpr;
	}
	if (!is_elements(query, call, 1))
		return NULL;
	array = copyObject(linitial(((FuncExpr *) call)->args));
	IncrementVarSublevelsUp((Node *) array, -1, 1);
	return array;
}

/* Has an expression the same value, and no error, whether and however often it is evaluated? */
static bool
is_plain_value(const Node *node)
{
	while (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return IsA(node, Var) || IsA(node, Const) || IsA(node, Param);
}

/* x = ANY (array) in place of x IN (SELECT unnest(array)), or NULL; it may be NULL where that is false. */
static Expr *
search_array(const Query *query, const SubLink *sublink, bool null_is_false)
{
	const OpExpr *test = (const OpExpr *) sublink->testexpr;
	ScalarArrayOpExpr *search;
	CaseWhen   *when;
	CaseExpr   *result;
	NullTest   *missing;
	Expr	   *array;

	if (sublink->subLinkType != ANY_SUBLINK || !IsA(test, OpExpr) || !IsA(lsecond(test->args), Param) ||
		!is_plain_value(linitial(test->args)))
		return NULL;
	array = searched_array(query, castNode(Query, sublink->subselect));
	if (array == NULL || get_element_type(exprType((Node *) array)) != exprType(lsecond(test->args)))
		return NULL;
	search = makeNode(ScalarArrayOpExpr);
	search->opno = test->opno;
	search->opfuncid = get_opcode(test->opno);
	search->useOr = true;
	search->inputcollid = test->inputcollid;
	search->args = list_make2(copyObject(linitial(test->args)), array);
	search->location = -1;
	if (null_is_false)
		return (Expr *) search;
	missing = makeNode(NullTest);
	missing->arg = copyObject(array);
	missing->nulltesttype = IS_NULL;
	missing->location = -1;
	when = makeNode(CaseWhen);
	when->expr = (Expr *) missing;
	when->result = (Expr *) makeBoolConst(false, false);
	when->location = -1;
	result = makeNode(CaseExpr);
	result->casetype = BOOLOID;
	result->args = list_make1(when);
	result->defresult = (Expr *) search;
	result->location = -1;
	return (Expr *) result;
}

/* A query whose expressions are rewritten. */
typedef struct Searching
{
	const Query *query;
	int			count;
} Searching;

static Node *
search_arrays(Node *node, Searching *searching)
{
	Expr	   *found;

	if (node == NULL || IsA(node, Query))
		return node;
	if (IsA(node, SubLink))
	{
		found = search_array(searching->query, (SubLink *) node, false);
		searching->count += found != NULL;
		if (found != NULL)
			return (Node *) found;
	}
	return expression_tree_mutator(node, search_arrays, searching);
}

/* The conditions of WHERE, which hold for rows where they are true. */
static Node *
search_conditions(Searching *searching)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(searching->query->jointree->quals))
	{
		Expr	   *found = IsA(lfirst(lc), SubLink) ? search_array(searching->query, lfirst(lc), true) : NULL;

		searching->count += found != NULL;
		result = lappend(result, found != NULL ? (Node *) found : search_arrays(lfirst(lc), searching));
	}
	return (Node *) make_ands_explicit(result);
}

int
gpucol_subquery_elements(Query *query)
{
	Searching	searching = {.query = query};

	for (int rti = 1; rti <= list_length(query->rtable); rti++)
	{
		if (is_aggregation(query, rti))
		{
			join_elements(query, rti);
			searching.count++;
		}
	}
	if (!query->hasSubLinks)
		return searching.count;
	query->targetList = (List *) search_arrays((Node *) query->targetList, &searching);
	query->havingQual = search_arrays(query->havingQual, &searching);
	if (query->jointree->quals != NULL)
		query->jointree->quals = search_conditions(&searching);
	return searching.count;
}
