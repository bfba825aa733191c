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
 * checked, those by which groups are equal are, and subplans check what they call themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "executor/executor.h"
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

/* The functions of the operators by which values are told apart. */
static void
check_operators(const Oid *operators, int n)
{
	for (int i = 0; i < n; i++)
		gpucol_check_right(get_opcode(operators[i]), GetUserId(), OBJECT_FUNCTION);
}

/* Those of groups; EXPLAIN makes no hash table. */
static void
check_groups(const Agg *agg, int eflags)
{
	ListCell   *lc;

	if (agg->aggstrategy != AGG_HASHED || (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		check_operators(agg->grpOperators, agg->numCols);
	foreach(lc, agg->chain)
		check_groups(lfirst(lc), eflags);
}

/* What only some nodes have. */
static void
check_own(Plan *plan, int eflags)
{
	switch (nodeTag(plan))
	{
		case T_Agg:
			check_groups((Agg *) plan, eflags);
			break;
		case T_Group:
			check_operators(((Group *) plan)->grpOperators, ((Group *) plan)->numCols);
			break;
		case T_Unique:
			check_operators(((Unique *) plan)->uniqOperators, ((Unique *) plan)->numCols);
			break;
		case T_SetOp:
			check_operators(gpucol_compat_setop_operators((SetOp *) plan),
							gpucol_compat_setop_noperators((SetOp *) plan));
			break;
		case T_RecursiveUnion:
			check_operators(((RecursiveUnion *) plan)->dupOperators, ((RecursiveUnion *) plan)->numCols);
			break;
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
			check_operators(((WindowAgg *) plan)->partOperators, ((WindowAgg *) plan)->partNumCols);
			check_operators(((WindowAgg *) plan)->ordOperators, ((WindowAgg *) plan)->ordNumCols);
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
	check_own(plan, *(const int *) context);
}

void
gpucol_check_rights(Plan *ordinary, int eflags)
{
	check_plan(ordinary, &eflags);
}
