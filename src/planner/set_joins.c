/*-------------------------------------------------------------------------
 *
 * set_joins.c
 *	  INTERSECT and EXCEPT of rows that are nearly all different, as joins.
 *
 * Where the left side has few different rows it is best grouped before anything else is done
 * (set_operations.c).  Where nearly each of many differs, its groups are as many, and each would be
 * grouped twice.  Then
 *
 *		a INTERSECT b	->	SELECT c FROM a WHERE EXISTS (SELECT FROM b WHERE b.c = a.c) GROUP BY c
 *		a EXCEPT b		->	the same with NOT EXISTS
 *
 * of which PostgreSQL makes a semi and an anti join.  NULLs are equal to set operations, but not here.  Rows
 * with a NULL in a column that may be NULL on both sides are left to groups.
 *
 * A join may leave out rows of b that PostgreSQL would read.  So both sides are columns of one table each, of rows
 * whose conditions raise no error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "guc.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* The table of a branch that is nothing but columns of one, and conditions; NULL: it is another. */
static RangeTblEntry *
find_table(const Query *branch)
{
	RangeTblRef *ref = branch->jointree->fromlist != NIL ? linitial(branch->jointree->fromlist) : NULL;
	RangeTblEntry *rte;
	ListCell   *lc;

	if (branch->setOperations != NULL || branch->hasAggs || branch->groupClause != NIL || branch->groupingSets != NIL ||
		branch->havingQual != NULL || branch->distinctClause != NIL || branch->limitCount != NULL ||
		branch->limitOffset != NULL || branch->sortClause != NIL || branch->hasWindowFuncs || branch->hasTargetSRFs ||
		branch->hasSubLinks || branch->cteList != NIL || branch->rowMarks != NIL ||
		list_length(branch->jointree->fromlist) != 1 || !IsA(ref, RangeTblRef))
		return NULL;
	rte = rt_fetch(ref->rtindex, branch->rtable);
	if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL || !OidIsValid(gpucol_subquery_packed_part(rte)))
		return NULL;
	foreach(lc, branch->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		const Var  *var = (const Var *) tle->expr;

		if (tle->resjunk || !IsA(var, Var) || var->varno != ref->rtindex || var->varlevelsup != 0 || var->varattno <= 0)
			return NULL;
	}
	return rte;
}

static List *
columns_of(const Query *branch)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, branch->targetList)
		columns = lappend(columns, lfirst_node(TargetEntry, lc)->expr);
	return columns;
}

/* Can columns be compared by an equality that joins? */
static bool
are_joinable(const SetOperationStmt *node, List *left, List *right)
{
	ListCell   *lc;

	if (list_length(left) != list_length(node->groupClauses) || list_length(right) != list_length(left))
		return false;
	foreach(lc, node->groupClauses)
	{
		int			i = foreach_current_index(lc);
		Oid			equal = lfirst_node(SortGroupClause, lc)->eqop;
		Oid			type = list_nth_oid(node->colTypes, i);
		Oid			collation = list_nth_oid(node->colCollations, i);

		if (exprType(list_nth(left, i)) != type || exprType(list_nth(right, i)) != type ||
			exprCollation(list_nth(left, i)) != collation || exprCollation(list_nth(right, i)) != collation ||
			!gpucol_subquery_may_join(equal, type, collation))
			return false;
	}
	return true;
}

static void
add_condition(Query *query, Expr *condition)
{
	query->jointree->quals = (Node *) make_ands_explicit(lappend(gpucol_subquery_conditions(query->jointree->quals),
																 condition));
}

/* EXISTS (SELECT FROM right WHERE its columns equal those of the query around) */
static SubLink *
make_exists(const SetOperationStmt *node, const Query *right, List *outer, List *inner)
{
	SubLink    *exists = makeNode(SubLink);
	Query	   *query = (Query *) copyObject(right);
	ListCell   *lc;

	IncrementVarSublevelsUp((Node *) query, 1, 1);
	foreach(lc, node->groupClauses)
	{
		int			i = foreach_current_index(lc);
		Node	   *column = copyObject(list_nth(outer, i));
		OpExpr	   *op;

		IncrementVarSublevelsUp(column, 1, 0);
		op = (OpExpr *) make_opclause(lfirst_node(SortGroupClause, lc)->eqop, BOOLOID, false, (Expr *) column,
									  copyObject(list_nth(inner, i)), InvalidOid,
									  list_nth_oid(node->colCollations, i));
		set_opfuncid(op);
		add_condition(query, (Expr *) op);
	}
	query->targetList = NIL;
	exists->subLinkType = EXISTS_SUBLINK;
	exists->subselect = (Node *) query;
	exists->location = -1;
	return exists;
}

/* x IS NULL OR y IS NULL, of the columns among these that may be NULL. */
static Expr *
have_null(List *columns, const Bitmapset *nullable)
{
	List	   *tests = NIL;
	int			i = -1;

	while ((i = bms_next_member(nullable, i)) >= 0)
		tests = lappend(tests, gpucol_make_null_test(copyObject(list_nth(columns, i)), IS_NULL));
	return list_length(tests) == 1 ? linitial(tests) : make_orclause(tests);
}

Query *
gpucol_set_join(const SetOperationStmt *node, Query **left, Query **right)
{
	const RangeTblEntry *a = find_table(*left);
	const RangeTblEntry *b = find_table(*right);
	List	   *outer = columns_of(*left);
	List	   *inner = columns_of(*right);
	Bitmapset  *nullable = NULL;
	Query	   *result;
	Expr	   *found;
	int			i = -1;

	if (!gpucol_enable_join || a == NULL || b == NULL || !are_joinable(node, outer, inner) ||
		gpucol_set_count_rows(a->relid) < GPUCOL_SET_LEAST_ROWS || gpucol_set_are_few(a, outer) ||
		gpucol_harmless_query(*left, NULL, false) != NULL || gpucol_harmless_query(*right, NULL, false) != NULL)
		return NULL;
	for (int column = 0; column < list_length(outer); column++)
	{
		if (!gpucol_subquery_column_never_null(a, list_nth_node(Var, outer, column)->varattno) &&
			!gpucol_subquery_column_never_null(b, list_nth_node(Var, inner, column)->varattno))
			nullable = bms_add_member(nullable, column);
	}
	result = copyObject(*left);
	while ((i = bms_next_member(nullable, i)) >= 0)
		add_condition(result, gpucol_make_null_test(copyObject(list_nth(outer, i)), IS_NOT_NULL));
	found = (Expr *) make_exists(node, *right, outer, inner);
	add_condition(result, node->op == SETOP_EXCEPT ? make_notclause(found) : found);
	result->hasSubLinks = true;
	if (nullable == NULL)
		*left = *right = NULL;
	else
	{
		add_condition(*left, have_null(outer, nullable));
		add_condition(*right, have_null(inner, nullable));
	}
	return result;
}
