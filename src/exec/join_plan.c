/*-------------------------------------------------------------------------
 *
 * join_plan.c
 *	  What a plan node carries for its pipe: the plans whose rows are joined, and the
 *	  pipe itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "exec/join_build.h"

/*
 * Initialise the node's plans but for the first, which is its fallback.
 */
List *
gpucol_join_children_init(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);
	List	   *children = NIL;
	ListCell   *lc;

	for_each_from(lc, cscan->custom_plans, 1)
		children = lappend(children, ExecInitNode(lfirst(lc), estate,
												  eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)));
	return children;
}

/*
 * Tell them of parameters that have changed; those that depend on none are scanned again
 * when their rows are read again (exec/plan_rows.c).
 */
void
gpucol_join_children_rescan(CustomScanState *node, List *children)
{
	ListCell   *lc;

	foreach(lc, children)
	{
		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(lfirst(lc), node->ss.ps.chgParam);
	}
}

void
gpucol_join_children_release(List *children)
{
	ListCell   *lc;

	foreach(lc, children)
		ExecReScan(lfirst(lc));
}

void
gpucol_join_children_end(List *children)
{
	ListCell   *lc;

	foreach(lc, children)
		ExecEndNode(lfirst(lc));
}

/*
 * The pipe of a plan, and what is computed of its rows.
 */
GpucolPipe *
gpucol_join_load(List *saved, TargetEntry *row, List **above)
{
	return gpucol_pipe_load(saved, castNode(RowExpr, row->expr)->args, above);
}
