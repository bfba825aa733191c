/*-------------------------------------------------------------------------
 *
 * path_join_names.c
 *	  What PostgreSQL is told of the nodes that join: parameters in their expressions, and the
 *	  tables that EXPLAIN names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "plan/plan.h"
#include "plan/walk.h"
#include "planner/path_join.h"
#include "planner/planner.h"

/* Parameters in expressions, for the planner to account for. */
static bool
params_walker(Node *node, void *context)
{
	List	  **params = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		*params = list_append_unique(*params, node);
		return false;
	}
	return expression_tree_walker(node, params_walker, context);
}

List *
gpucol_join_params(List *exprs)
{
	List	   *params = NIL;

	params_walker((Node *) exprs, &params);
	return params;
}

/* Name the tables of an aggregation's pipe, and those of what is below. */
static void
name_relations(Plan *plan, void *context)
{
	CustomScan *cscan = (CustomScan *) plan;
	List	   *pipe = NIL;

	if (IsA(plan, CustomScan) && cscan->methods == &gpucol_agg_methods)
		pipe = list_nth(cscan->custom_private, GPUCOL_AGG_PRIVATE_PIPE);
	if (pipe != NIL)
		cscan->custom_relids =
			gpucol_pipe_load(pipe, castNode(RowExpr,
												 llast_node(TargetEntry, cscan->custom_scan_tlist)->expr)->args,
								  NULL)->relids;
	gpucol_plan_walk(plan, name_relations, context);
}

/*
 * Have EXPLAIN name the joined tables of aggregations, which are of no relation that
 * PostgreSQL knows the tables of.
 */
void
gpucol_join_name_relations(PlannedStmt *stmt)
{
	ListCell   *lc;

	if (stmt->planTree != NULL)
		name_relations(stmt->planTree, NULL);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL)
			name_relations(lfirst(lc), NULL);
	}
}
