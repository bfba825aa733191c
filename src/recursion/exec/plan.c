/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  Plans of GpucolRecursive and GpucolInputs from their paths.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"

#include "plan/twice.h"
#include "recursion/exec/state.h"

/* Columns of the result as Vars of the first term's leaf, as EXPLAIN shows. */
static List *
renumber(List *tlist, Index varno)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = copyObject(lfirst_node(TargetEntry, lc));

		if (IsA(entry->expr, Var))
		{
			((Var *) entry->expr)->varno = varno;
			((Var *) entry->expr)->varattno = foreach_current_index(lc) + 1;
		}
		result = lappend(result, entry);
	}
	return result;
}

static Plan *
plan_recursive(PlannerInfo *root pg_attribute_unused(),
			   RelOptInfo *rel pg_attribute_unused(), CustomPath *path,
			   List *tlist, List *clauses pg_attribute_unused(),
			   List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Index		leaf = intVal(list_nth(path->custom_private,
									   GPUCOL_RECURSIVE_PUSHED));

	/* PostgreSQL gives the columns of a set operation varno 0. */
	scan->scan.plan.targetlist = renumber(tlist, leaf);
	scan->custom_scan_tlist = copyObject(scan->scan.plan.targetlist);
	scan->custom_plans = gpucol_plan_together(custom_plans);
	scan->custom_private = lappend(list_copy_head(path->custom_private,
												  GPUCOL_RECURSIVE_PUSHED),
								   NIL);
	scan->methods = &gpucol_recursive_scan_methods;
	return &scan->scan.plan;
}

static Plan *
plan_inputs(PlannerInfo *root pg_attribute_unused(),
			RelOptInfo *rel pg_attribute_unused(), CustomPath *path,
			List *tlist, List *clauses pg_attribute_unused(),
			List *custom_plans)
{
	CustomScan *scan = makeNode(CustomScan);
	ListCell   *lc;

	/* Nobody reads rows of this node: what it would deliver is null. */
	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Const	   *null = makeNullConst(exprType((Node *) entry->expr),
										 exprTypmod((Node *) entry->expr),
										 exprCollation((Node *) entry->expr));

		scan->scan.plan.targetlist =
			lappend(scan->scan.plan.targetlist,
					makeTargetEntry((Expr *) null, entry->resno, NULL, false));
	}
	scan->custom_plans = custom_plans;
	scan->custom_exprs = linitial(path->custom_private);
	foreach(lc, (List *) lsecond(path->custom_private))
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1, NULL,
									false));
	scan->flags = path->flags;
	scan->methods = &gpucol_inputs_scan_methods;
	return &scan->scan.plan;
}

const CustomPathMethods gpucol_recursive_path_methods = {
	.CustomName = "GpucolRecursive",
	.PlanCustomPath = plan_recursive,
};

const CustomPathMethods gpucol_inputs_path_methods = {
	.CustomName = "GpucolInputs",
	.PlanCustomPath = plan_inputs,
};
