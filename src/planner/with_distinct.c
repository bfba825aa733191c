/*-------------------------------------------------------------------------
 *
 * with_distinct.c
 *	  A WITH query that is kept for its readers has each row once if no reader asks how often it is there.
 *
 *		WITH pair AS (SELECT a.k, a.w AS w1, b.w AS w2 FROM t a, t b WHERE a.k = b.k AND a.w <> b.w)
 *		SELECT ... WHERE k IN (SELECT k FROM pair) AND k IN (SELECT r.k FROM r, pair WHERE r.k = pair.k)
 *	->	WITH pair AS (SELECT k, NULL AS w1, NULL AS w2 FROM (SELECT ...) GROUP BY k) ...
 *
 * PostgreSQL keeps all rows and columns of such a query in a tuplestore.  The engine groups joined rows without
 * forming them, and only the groups are kept.  Pairs of one table's rows such as these are not even joined
 * (pair_groups.c).
 *
 * EXISTS, IN, ANY and ALL do not ask, nor do DISTINCT, groups without aggregates or with those that take a
 * value once (max(x), count(DISTINCT x)), and branches of UNION, INTERSECT and EXCEPT; so does a subquery in
 * the FROM clause of one that does not.
 *
 * The answer must be the same.  Equal values of the columns that are read cannot be told from each other
 * (gpucol_set_exact_columns()).  A reader that ends with the first row it finds has the WITH query computed up
 * to there, and finds rows in another order then: so neither the WITH query nor such a reader may raise an
 * error (lower/harmless_query.h).  Columns that nobody reads are not computed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "guc.h"
#include "lower/harmless_query.h"
#include "planner/pair_groups.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* The readers of one WITH query, while the query that has it is walked through. */
typedef struct Readers
{
	const CommonTableExpr *cte;
	Query	   *query;			/* that is walked through */
	int			depth;			/* of queries below the one that has it */
	Bitmapset  *columns;		/* those that are read */
	bool		counted;		/* a reader asks how often rows are there */
} Readers;

static void visit(Query *query, Readers *readers, bool tested, bool stops);

/* ---- readers ---- */

/* Has an expression of a query an aggregate of it that depends on how often a value is there? */
static bool
has_counting(Node *node, int *depth)
{
	bool		found;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		++*depth;
		found = query_tree_walker((Query *) node, has_counting, depth, 0);
		--*depth;
		return found;
	}
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == *depth &&
		!gpucol_set_weights_is_blind((Aggref *) node))
		return true;
	return expression_tree_walker(node, has_counting, depth);
}

/*
 * Are a query's rows the same, but for how often each is there, if those that it reads are?  `tested`: that is
 * enough.
 */
static bool
is_blind(Query *query, bool tested)
{
	int			depth = 0;

	if (query->commandType != CMD_SELECT || query->hasWindowFuncs || query->hasTargetSRFs || query->hasDistinctOn ||
		query->rowMarks != NIL || contain_volatile_functions((Node *) query))
		return false;
	if (query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != NULL)
		return !has_counting((Node *) query->targetList, &depth) && !has_counting(query->havingQual, &depth);
	return query->distinctClause != NIL ||
		(tested && query->limitCount == NULL && query->limitOffset == NULL);
}

/* Find a branch of set operations: does what is above it not ask how often its rows are there? */
static bool
find_branch(Node *node, Index rti, bool tested, bool *found)
{
	SetOperationStmt *operation = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
	{
		*found |= tested && ((RangeTblRef *) node)->rtindex == (int) rti;
		return *found;
	}
	tested = !operation->all || (operation->op == SETOP_UNION && tested);
	return find_branch(operation->larg, rti, tested, found) || find_branch(operation->rarg, rti, tested, found);
}

/* The tables of a query: is one of them the WITH query, or does one read it? */
static void
visit_tables(Query *query, Readers *readers, bool blind)
{
	Index		rti = 0;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		List	   *columns;
		ListCell   *lv;

		rti++;
		if (rte->rtekind == RTE_SUBQUERY && rte->subquery != NULL)
		{
			bool		found = false;

			visit(rte->subquery, readers, query->setOperations == NULL ? blind :
				  find_branch(query->setOperations, rti, blind, &found), false);
		}
		if (rte->rtekind != RTE_CTE || (int) rte->ctelevelsup != readers->depth ||
			strcmp(rte->ctename, readers->cte->ctename) != 0)
			continue;
		if (!blind || !gpucol_set_exact_columns(query, rti, &columns))
		{
			readers->counted = true;
			continue;
		}
		foreach(lv, columns)
			readers->columns = bms_add_member(readers->columns, lfirst_node(Var, lv)->varattno);
	}
}

/* Does a test that may end with the first row it finds raise no error? */
static bool
is_harmless_test(const SubLink *sublink, const Readers *readers)
{
	return (sublink->testexpr == NULL || gpucol_harmless_expr(readers->query, (Expr *) sublink->testexpr) == NULL) &&
		gpucol_harmless_reader(castNode(Query, sublink->subselect), readers->cte->ctename, readers->depth) == NULL;
}

/* Expressions: the queries in them. */
static bool
visit_expr(Node *node, Readers *readers)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		const SubLink *sublink = (SubLink *) node;
		Query	   *below = castNode(Query, sublink->subselect);
		bool		test = sublink->subLinkType == EXISTS_SUBLINK || sublink->subLinkType == ANY_SUBLINK ||
			sublink->subLinkType == ALL_SUBLINK;
		bool		harmless = test && is_harmless_test(sublink, readers);

		visit(below, readers, harmless, test && !harmless && !below->hasAggs);
		return visit_expr(sublink->testexpr, readers);
	}
	return expression_tree_walker(node, visit_expr, readers);
}

/* A query: `tested`, nobody asks how often its rows are there; `stops`, an error depends on how many it reads. */
static void
visit(Query *query, Readers *readers, bool tested, bool stops)
{
	Query	   *above = readers->query;
	ListCell   *lc;

	check_stack_depth();
	readers->depth++;
	readers->query = query;
	visit_tables(query, readers, !stops && is_blind(query, tested));
	foreach(lc, query->cteList)
		visit(castNode(Query, lfirst_node(CommonTableExpr, lc)->ctequery), readers, false, false);
	query_tree_walker(query, visit_expr, readers,
					  QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES | QTW_IGNORE_JOINALIASES);
	readers->query = above;
	readers->depth--;
}

/* ---- WITH queries ---- */

/* May rows be there several times?  A table's own rows may not, as far as statistics tell. */
static bool
has_duplicates(const Query *inner, const Bitmapset *columns)
{
	List	   *read = NIL;
	int			attno = -1;
	const RangeTblEntry *rte = linitial_node(RangeTblEntry, inner->rtable);

	if (list_length(inner->rtable) > 1 || rte->rtekind != RTE_RELATION)
		return true;
	while ((attno = bms_next_member(columns, attno)) >= 0)
	{
		Expr	   *expr = get_tle_by_resno(inner->targetList, attno)->expr;

		read = list_concat_unique(read, pull_var_clause((Node *) expr, PVC_RECURSE_PLACEHOLDERS));
	}
	return gpucol_set_are_few(rte, read);
}

/* Is a WITH query kept for its readers, one for the engine, and the same whoever reads how much of it? */
static bool
is_kept(Query *query, const CommonTableExpr *cte)
{
	Query	   *inner = castNode(Query, cte->ctequery);

	return !cte->cterecursive && inner->commandType == CMD_SELECT && gpucol_set_has_rows(inner) &&
		(cte->ctematerialized == CTEMaterializeAlways ||
		 (cte->ctematerialized == CTEMaterializeDefault && cte->cterefcount > 1)) &&
		!inner->hasWindowFuncs && !inner->hasTargetSRFs && inner->rowMarks == NIL &&
		!contain_volatile_functions((Node *) inner) && gpucol_harmless_query(inner, query, false) == NULL;
}

/* A WITH query's columns that are read, each row once, and NULL for the others. */
static Query *
make_distinct(Query *inner, const char *name, const Bitmapset *columns)
{
	Query	   *query = makeNode(Query);
	ListCell   *lc;

	inner->sortClause = NIL;
	IncrementVarSublevelsUp((Node *) inner, 1, 1);
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	gpucol_subquery_read(query, inner, name, NIL);
	foreach(lc, inner->targetList)
	{
		TargetEntry *below = lfirst_node(TargetEntry, lc);
		bool		read = bms_is_member(below->resno, columns);
		Node	   *expr = (Node *) below->expr;
		TargetEntry *tle;

		if (below->resjunk)
			continue;
		tle = makeTargetEntry(read ? (Expr *) makeVarFromTargetEntry(1, below) :
							  (Expr *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr)),
							  below->resno, pstrdup(below->resname != NULL ? below->resname : "?column?"), false);
		query->targetList = lappend(query->targetList, tle);
		if (read)
			gpucol_set_add_key(query, tle);
	}
	return query;
}

/* May the user call what the groups of a query compare by? */
static bool
may_group(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->groupClause)
	{
		if (!gpucol_subquery_may_call(get_opcode(lfirst_node(SortGroupClause, lc)->eqop)))
			return false;
	}
	return true;
}

/* Have every WITH query of a query have each row once if its readers do not ask for more. */
static bool
make_each_distinct(Node *node, void *context)
{
	Query	   *query = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, make_each_distinct, context);
	foreach(lc, query->commandType == CMD_SELECT ? query->cteList : NIL)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);
		Readers		readers = {.cte = cte,.query = query,.depth = -1};
		Query	   *distinct;
		Query	   *inner = castNode(Query, cte->ctequery);

		if (!is_kept(query, cte))
			continue;
		visit(query, &readers, false, false);
		if (readers.counted || readers.columns == NULL ||
			!has_duplicates(inner, readers.columns))
			continue;
		distinct = gpucol_pair_groups(inner, readers.columns);
		if (distinct == NULL)
			distinct = make_distinct(copyObject(inner), cte->ctename, readers.columns);
		if (may_group(distinct))
			cte->ctequery = (Node *) distinct;
	}
	return query_tree_walker(query, make_each_distinct, context, 0);
}

Query *
gpucol_with_distinct(Query *parse)
{
	if (gpucol_planner_disabled() == NULL && gpucol_enable_agg)
		make_each_distinct((Node *) parse, NULL);
	return parse;
}
