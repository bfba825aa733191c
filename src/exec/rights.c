/*-------------------------------------------------------------------------
 *
 * rights.c
 *	  May the user call what a node computes in PostgreSQL's stead?
 *
 * PostgreSQL checks the right to call a function, and tells a security module, where it
 * initialises an expression.  What engines compute is never initialised, and the ordinary
 * plan of a node not before it falls back.  So a node walks that plan when it begins.
 *
 * As in PostgreSQL the functions of types, of row comparisons and of sort orders are not
 * checked, and subplans check what they call themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/rights.h"
#include "plan/walk.h"

void
gpucol_check_right(Oid function, Oid user, ObjectType type)
{
	AclResult	result = gpucol_compat_function_right(function, user);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, type, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

static bool
check_function(Oid function, void *context)
{
	gpucol_check_right(function, GetUserId(), *(ObjectType *) context);
	return false;
}

static bool
check_expr(Node *node, void *context)
{
	ObjectType	type;

	if (node == NULL)
		return false;
	type = IsA(node, Aggref) ? OBJECT_AGGREGATE : OBJECT_FUNCTION;
	if (!IsA(node, CoerceViaIO) && !IsA(node, RowCompareExpr))
		check_functions_in_node(node, check_function, &type);
	return expression_tree_walker(node, check_expr, context);
}

static void
check_exprs(void *exprs)
{
	check_expr(exprs, NULL);
}

/* Expressions that only some nodes have. */
static void
check_own_exprs(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
			check_exprs(((Result *) plan)->resconstantqual);
			break;
		case T_HashJoin:
			check_exprs(((HashJoin *) plan)->hashclauses);
			check_exprs(((HashJoin *) plan)->join.joinqual);
			break;
		case T_MergeJoin:
			check_exprs(((MergeJoin *) plan)->mergeclauses);
			check_exprs(((MergeJoin *) plan)->join.joinqual);
			break;
		case T_NestLoop:
			check_exprs(((NestLoop *) plan)->join.joinqual);
			break;
		case T_IndexScan:
			check_exprs(((IndexScan *) plan)->indexqualorig);
			check_exprs(((IndexScan *) plan)->indexorderbyorig);
			break;
		case T_IndexOnlyScan:
			check_exprs(((IndexOnlyScan *) plan)->recheckqual);
			break;
		case T_BitmapHeapScan:
			check_exprs(((BitmapHeapScan *) plan)->bitmapqualorig);
			break;
		case T_TidScan:
			check_exprs(((TidScan *) plan)->tidquals);
			break;
		case T_TidRangeScan:
			check_exprs(((TidRangeScan *) plan)->tidrangequals);
			break;
		case T_ValuesScan:
			check_exprs(((ValuesScan *) plan)->values_lists);
			break;
		case T_FunctionScan:
			check_exprs(((FunctionScan *) plan)->functions);
			break;
		case T_Limit:
			check_exprs(((Limit *) plan)->limitOffset);
			check_exprs(((Limit *) plan)->limitCount);
			break;
		case T_WindowAgg:
			check_exprs(((WindowAgg *) plan)->startOffset);
			check_exprs(((WindowAgg *) plan)->endOffset);
			break;
		case T_CustomScan:
			check_exprs(((CustomScan *) plan)->custom_exprs);
			check_exprs(((CustomScan *) plan)->custom_scan_tlist);
			break;
		default:
			break;
	}
}

static void
check_plan(Plan *plan, void *context)
{
	gpucol_plan_walk(plan, check_plan, context);
	check_exprs(plan->targetlist);
	check_exprs(plan->qual);
	check_own_exprs(plan);
}

void
gpucol_check_rights(Plan *ordinary)
{
	check_plan(ordinary, NULL);
}
