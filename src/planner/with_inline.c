/*-------------------------------------------------------------------------
 *
 * with_inline.c
 *	  A WITH query that is read several times, each time with another value of a column, is
 *	  computed where it is read.
 *
 *		WITH y AS (SELECT k, year, sum(x) AS s FROM t GROUP BY k, year)
 *		SELECT ... FROM y a, y b WHERE a.k = b.k AND a.year = 2001 AND b.year = 2002
 *
 * PostgreSQL computes such a query once, whole, and each reader takes its part of the rows: rows
 * that nobody wants are made, and all pass through a tuplestore.  Written NOT MATERIALIZED the
 * condition goes into the query, as far as PostgreSQL can push it, and each reader's part is one
 * aggregation of the engine, below joins too.  All parts together are at most the whole where
 * values differ, so this asks no cost model.
 *
 * The answer must be the same.  The query has no volatile function (PostgreSQL looks again), no
 * LIMIT, window function or DISTINCT ON, whose rows may be others in each reader; and nothing in
 * it may raise an error (lower/harmless_query.h), for groups that nobody wants are not computed
 * then; this leaves only aggregates that do not depend on the order of rows.  What is pushed into
 * it must be harmless, too.  MATERIALIZED stays what it says.
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
#include "utils/lsyscache.h"

#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "planner/planner.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* The readers of one WITH query, while a statement is walked through. */
typedef struct Readers
{
	const CommonTableExpr *cte;
	int			depth;			/* of queries below the one that has it */
	int			count;			/* those that restrict it */
	bool		unrestricted;	/* there is another */
} Readers;

/* ---- the query ---- */

/* May a query have other rows each time, though no function in it is volatile? */
static bool
has_free_choice(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		const Query *query = (Query *) node;

		return query->limitCount != NULL || query->limitOffset != NULL || query->hasWindowFuncs ||
			query->hasDistinctOn || query->hasTargetSRFs || query->rowMarks != NIL ||
			query_tree_walker((Query *) node, has_free_choice, context, 0);
	}
	return expression_tree_walker(node, has_free_choice, context);
}

/* Is column `attno` one whose value a row has before it is grouped, in every branch? */
static bool
is_restrictable(const Query *query, Node *branch, AttrNumber attno)
{
	const TargetEntry *tle;

	check_stack_depth();
	if (branch != NULL && IsA(branch, SetOperationStmt))
	{
		const SetOperationStmt *operation = (const SetOperationStmt *) branch;

		return is_restrictable(query, operation->larg, attno) && is_restrictable(query, operation->rarg, attno);
	}
	if (branch != NULL)
	{
		query = rt_fetch(castNode(RangeTblRef, branch)->rtindex, query->rtable)->subquery;
		if (query->setOperations != NULL)
			return is_restrictable(query, query->setOperations, attno);
	}
	tle = get_tle_by_resno(query->targetList, attno);
	return tle != NULL && query->groupingSets == NIL && !contain_aggs_of_level((Node *) tle->expr, 0) &&
		!checkExprHasSubLink((Node *) tle->expr) &&
		(!query->hasAggs || !contain_var_clause((Node *) tle->expr) ||
		 get_sortgroupref_clause_noerr(tle->ressortgroupref, query->groupClause) != NULL);
}

/* Would a WITH query give the same, whoever computes it, and is it one for the engine? */
static bool
may_inline(Query *query, const CommonTableExpr *cte)
{
	Query	   *inner = castNode(Query, cte->ctequery);

	return cte->ctematerialized == CTEMaterializeDefault && !cte->cterecursive && cte->cterefcount > 1 &&
		inner->commandType == CMD_SELECT && OidIsValid(gpucol_subquery_table(inner)) &&
		!has_free_choice((Node *) inner, NULL) && !contain_volatile_functions((Node *) inner) &&
		gpucol_harmless_query(inner, query) == NULL;
}

/* ---- its readers ---- */

/* Is an expression a constant, or a parameter of the statement? */
static bool
is_constant(const Node *node)
{
	return IsA(node, Const) || (IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

/* The column of table `rti` that a condition has equal a constant; else 0. */
static AttrNumber
equal_to_constant(Node *condition, Index rti)
{
	const OpExpr *op = (const OpExpr *) condition;
	const Var  *var;
	const Node *other;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return 0;
	var = linitial(op->args);
	other = lsecond(op->args);
	if (IsA(other, Var))
	{
		var = lsecond(op->args);
		other = linitial(op->args);
	}
	return IsA(var, Var) && var->varno == (int) rti && var->varlevelsup == 0 && var->varattno > 0 &&
		is_constant(other) && op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
		gpucol_harmless_function(op->opfuncid) ? var->varattno : 0;
}

/* Does a query restrict a WITH query that it reads as `rti`, and do nothing to it that may raise an error? */
static bool
restricts(Query *query, Index rti, Query *inner)
{
	bool		found = false;
	ListCell   *lc;

	if (query->rowMarks != NIL || query->commandType != CMD_SELECT)
		return false;
	foreach(lc, gpucol_subquery_conditions(query->jointree->quals))
	{
		Node	   *condition = lfirst(lc);
		Relids		tables = pull_varnos_of_level(NULL, condition, 0);
		AttrNumber	attno;

		if (bms_membership(tables) != BMS_SINGLETON || !bms_is_member(rti, tables))
			continue;
		if (gpucol_harmless_expr(query, (Expr *) condition) != NULL)
			return false;
		attno = equal_to_constant(condition, rti);
		found |= attno != 0 && is_restrictable(inner, inner->setOperations, attno);
	}
	return found;
}

/* Count the readers of a WITH query. */
static bool
count_readers(Node *node, Readers *readers)
{
	Query	   *query = (Query *) node;
	Index		rti = 0;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, count_readers, readers);
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		rti++;
		if (rte->rtekind != RTE_CTE || (int) rte->ctelevelsup != readers->depth ||
			strcmp(rte->ctename, readers->cte->ctename) != 0)
			continue;
		if (restricts(query, rti, castNode(Query, readers->cte->ctequery)))
			readers->count++;
		else
			readers->unrestricted = true;
	}
	readers->depth++;
	query_tree_walker(query, count_readers, readers, 0);
	readers->depth--;
	return false;
}

/* Have every WITH query that is better computed by its readers be so. */
static bool
inline_with(Node *node, void *context)
{
	Query	   *query = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, inline_with, context);
	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);
		Readers		readers = {.cte = cte};

		if (!may_inline(query, cte))
			continue;
		count_readers((Node *) query, &readers);
		if (!readers.unrestricted && readers.count == cte->cterefcount)
			cte->ctematerialized = CTEMaterializeNever;
	}
	return query_tree_walker(query, inline_with, context, 0);
}

Query *
gpucol_with_inline(Query *parse)
{
	if (gpucol_planner_disabled() == NULL)
		inline_with((Node *) parse, NULL);
	return parse;
}
