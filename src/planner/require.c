/*-------------------------------------------------------------------------
 *
 * require.c
 *	  gpucol.pushdown = require: refuse a statement that reads a gpucol table
 *	  other than through a gpucol node.
 *
 * What counts as a scan: SeqScan and SampleScan of a gpucol table.  Index,
 * bitmap and TID scans are lookups, chosen by cost, and pass; so does whatever
 * finds the rows of the target table of UPDATE, DELETE or MERGE, and of a
 * table whose rows are locked (FOR UPDATE), because these need the ordinary
 * scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "columnar/am.h"
#include "planner/planner.h"
#include "plan/reason.h"
#include "plan/walk.h"
#include "plan/window.h"

typedef struct RequireContext
{
	PlannedStmt *stmt;
	Bitmapset  *exempt;			/* range table indexes of targets and locks */
} RequireContext;

/* Range table indexes whose rows the statement changes or locks. */
static Bitmapset *
exempt_relations(PlannedStmt *stmt)
{
	Bitmapset  *result = NULL;
	ListCell   *lc;

	foreach(lc, stmt->resultRelations)
		result = bms_add_member(result, lfirst_int(lc));
	foreach(lc, stmt->rowMarks)
		result = bms_add_member(result, lfirst_node(PlanRowMark, lc)->rti);
	return result;
}

/* Raise the error for a scan of a gpucol table by PostgreSQL's own node. */
static void
check_scan(Scan *scan, RequireContext *context)
{
	RangeTblEntry *rte = rt_fetch(scan->scanrelid, context->stmt->rtable);
	const char *reason;

	if (rte->rtekind != RTE_RELATION ||
		bms_is_member(scan->scanrelid, context->exempt) ||
		!gpucol_am_is_gpucol(rte->relid))
		return;
	reason = gpucol_reason_find(rte->relid);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("scan of gpucol table \"%s\" is not pushed down",
					get_rel_name(rte->relid)),
			 errdetail("Reason: %s.",
					   reason ? reason : "the ordinary scan is cheaper"),
			 errhint("Set gpucol.pushdown to allow to run it in PostgreSQL's executor.")));
}

/*
 * Check a plan tree.  Children of a gpucol node are its fallback and do not
 * count, but for the one whose rows window functions are computed over.
 */
static void
check_plan(Plan *plan, void *context)
{
	if (IsA(plan, SeqScan) || IsA(plan, SampleScan))
		check_scan((Scan *) plan, context);
	if (!gpucol_plan_is_ours(plan))
		gpucol_plan_walk(plan, check_plan, context);
	else if (((CustomScan *) plan)->methods == &gpucol_window_methods)
		check_plan(lsecond(((CustomScan *) plan)->custom_plans), context);
}

/*
 * Raise an error if some part of the statement scans a gpucol table by
 * PostgreSQL's own nodes.
 */
void
gpucol_require_check(PlannedStmt *stmt)
{
	RequireContext context;
	ListCell   *lc;

	context.stmt = stmt;
	context.exempt = exempt_relations(stmt);
	if (stmt->planTree != NULL)
		check_plan(stmt->planTree, &context);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL)
			check_plan(lfirst(lc), &context);
	}
}
