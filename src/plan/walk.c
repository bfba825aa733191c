/*-------------------------------------------------------------------------
 *
 * walk.c
 *	  Plan nodes of gpucol's own, and the children of any, which PostgreSQL walks in
 *	  execution trees only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "plan/walk.h"

bool
gpucol_plan_is_ours(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		strncmp(((const CustomScan *) plan)->methods->CustomName, "Gpucol", 6) == 0;
}

static void
walk_list(List *plans, GpucolPlanVisit visit, void *context)
{
	ListCell   *lc;

	foreach(lc, plans)
		visit(lfirst(lc), context);
}

/*
 * Call `visit` for each child of a plan node that runs as part of it; initplans and
 * subplans of its expressions are none.
 */
void
gpucol_plan_walk(Plan *plan, GpucolPlanVisit visit, void *context)
{
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_SubqueryScan:
			visit(((SubqueryScan *) plan)->subplan, context);
			break;
		case T_Append:
			walk_list(((Append *) plan)->appendplans, visit, context);
			break;
		case T_MergeAppend:
			walk_list(((MergeAppend *) plan)->mergeplans, visit, context);
			break;
		case T_BitmapAnd:
			walk_list(((BitmapAnd *) plan)->bitmapplans, visit, context);
			break;
		case T_BitmapOr:
			walk_list(((BitmapOr *) plan)->bitmapplans, visit, context);
			break;
		case T_CustomScan:
			walk_list(((CustomScan *) plan)->custom_plans, visit, context);
			break;
		default:
			break;
	}
	if (plan->lefttree != NULL)
		visit(plan->lefttree, context);
	if (plan->righttree != NULL)
		visit(plan->righttree, context);
}
