/*-------------------------------------------------------------------------
 *
 * union_types.c
 *	  Branches of a UNION ALL get the types of its columns themselves.
 *
 *		SELECT 'sale', amount FROM sales UNION ALL SELECT 'fee', 3 FROM fees	(numeric and integer)
 *	->	SELECT 'sale', amount FROM sales UNION ALL SELECT 'fee', 3::numeric FROM fees
 *
 * PostgreSQL converts what a branch has in another type in a scan of the branch's rows, and so takes the UNION
 * ALL for one that is not simple: nothing goes into its branches then, no condition, no group, and no engine sees
 * through it.  Written into the branch the conversion is the same, of the same values.
 *
 * A column by which the branch itself sorts, groups or tells rows apart stays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"

#include "planner/planner.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* A walk through a statement. */
typedef struct Walk
{
	bool		change;			/* else only ask whether something is to be changed */
	bool		found;
} Walk;

static bool
is_union_all(const Node *node)
{
	const SetOperationStmt *op = (const SetOperationStmt *) node;

	check_stack_depth();
	if (!IsA(node, SetOperationStmt))
		return true;
	return op->op == SETOP_UNION && op->all && is_union_all(op->larg) && is_union_all(op->rarg);
}

/* An expression as an operation has it in one of its columns. */
static Expr *
convert(Expr *expr, const SetOperationStmt *op, int column)
{
	Oid			type = list_nth_oid(op->colTypes, column);
	Oid			collation = list_nth_oid(op->colCollations, column);

	if (exprType((Node *) expr) != type)
		expr = (Expr *) coerce_to_common_type(NULL, (Node *) expr, type, "UNION/INTERSECT/EXCEPT");
	if (exprCollation((Node *) expr) != collation)
		expr = (Expr *) applyRelabelType((Node *) expr, type, exprTypmod((Node *) expr), collation,
										 COERCE_IMPLICIT_CAST, -1, false);
	return expr;
}

/* A branch below operations, the nearest first. */
static void
visit_branch(Query *branch, List *above, Walk *walk)
{
	const SetOperationStmt *top = llast(above);
	ListCell   *lc;
	ListCell   *op;
	int			column = 0;

	if (branch->setOperations != NULL || branch->hasTargetSRFs)
		return;
	foreach(lc, branch->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk)
			continue;
		if (tle->ressortgroupref == 0 && exprType((Node *) tle->expr) != list_nth_oid(top->colTypes, column))
		{
			walk->found = true;
			foreach(op, above)
			{
				if (walk->change)
					tle->expr = convert(tle->expr, lfirst(op), column);
			}
		}
		column++;
	}
}

/* The branches of an operation. */
static void
visit_branches(Query *query, Node *node, List *above, Walk *walk)
{
	SetOperationStmt *op = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
	{
		visit_branch(rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable)->subquery, above, walk);
		return;
	}
	above = lcons(op, list_copy(above));
	visit_branches(query, op->larg, above, walk);
	visit_branches(query, op->rarg, above, walk);
}

static bool
visit(Node *node, void *arg)
{
	Walk	   *walk = arg;

	if (node == NULL)
		return false;
	if (IsA(node, CommonTableExpr) && ((CommonTableExpr *) node)->cterecursive)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->setOperations != NULL && is_union_all(query->setOperations) &&
			OidIsValid(gpucol_subquery_table(query)))
			visit_branches(query, query->setOperations, NIL, walk);
		return query_tree_walker(query, visit, walk, 0);
	}
	return expression_tree_walker(node, visit, walk);
}

Query *
gpucol_union_types(Query *parse)
{
	Walk		walk = {0};
	Query	   *copy;

	if (gpucol_planner_disabled() != NULL)
		return parse;
	(void) visit((Node *) parse, &walk);
	if (!walk.found)
		return parse;
	copy = copyObject(parse);
	walk.change = true;
	(void) visit((Node *) copy, &walk);
	return copy;
}
