/*-------------------------------------------------------------------------
 *
 * path_agg_plan.c
 *	  The plan of a GpucolAgg, made of its path (path_agg.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "plan/plan.h"
#include "plan/twice.h"
#include "planner/path_agg.h"
#include "planner/path_join.h"
#include "planner/planner.h"

/* Append a table's tableoid to the scan tuple. */
static List *
add_table(List *tlist, Index varno)
{
	Var		   *table = makeVar(varno, TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0);

	return lappend(tlist, makeTargetEntry((Expr *) table, list_length(tlist) + 1, NULL,
										  true));
}

/* Describe the scan tuple: keys, aggregates, calls of GROUPING(), and the junk columns. */
static List *
make_scan_tlist(Index varno, List *values, List *conditions, List *parts)
{
	List	   *tlist = NIL;
	List	   *args;
	ListCell   *lc;

	foreach(lc, values)
		tlist = lappend(tlist,
						makeTargetEntry(copyObject(lfirst(lc)),
										list_length(tlist) + 1, NULL, false));
	/* "AND true" is never left in a query, so nothing refers to this column */
	args = lappend(list_copy(conditions), makeBoolConst(true, false));
	tlist = lappend(tlist,
					makeTargetEntry(makeBoolExpr(AND_EXPR, copyObject(args), -1),
									list_length(tlist) + 1, NULL, true));
	tlist = add_table(tlist, varno);
	foreach(lc, parts)
		tlist = add_table(tlist, lfirst_int(lc));
	return tlist;
}

/* Make the plan node. */
Plan *
gpucol_path_agg_plan(PlannerInfo *root pg_attribute_unused(),
		 RelOptInfo *rel pg_attribute_unused(),
		 CustomPath *path, List *tlist, List *clauses pg_attribute_unused(),
		 List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	Index		varno = intVal(list_nth(path->custom_private, PATH_PRIVATE_VARNO));
	List	   *keys = list_nth(path->custom_private, PATH_PRIVATE_KEYS);
	List	   *aggs = list_nth(path->custom_private, PATH_PRIVATE_AGGS);
	List	   *conditions = list_nth(path->custom_private,
									  PATH_PRIVATE_CONDITIONS);
	List	   *parts = list_nth(path->custom_private, PATH_PRIVATE_PARTS);
	List	   *calls = list_nth(path->custom_private, PATH_PRIVATE_CALLS);
	GpucolJoinPipe *pipe = list_nth(path->custom_private, PATH_PRIVATE_PIPE);
	List	   *tests = list_nth(path->custom_private, PATH_PRIVATE_TESTS);
	List	   *saved = NIL;

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = list_nth(path->custom_private, PATH_PRIVATE_HAVING);
	cscan->custom_scan_tlist = make_scan_tlist(varno, list_concat(list_concat_copy(keys, aggs), calls),
											   list_concat_copy(conditions, tests), linitial(parts));
	cscan->custom_plans = gpucol_plan_together(custom_plans);
	cscan->custom_private = list_make5(makeInteger(list_length(keys)),
									   makeInteger(list_length(aggs)),
									   list_nth(path->custom_private,
												PATH_PRIVATE_RECURSION),
									   lsecond(parts),
									   list_nth(path->custom_private, PATH_PRIVATE_BASE));
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_UNITS));
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_SETS));
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_FUNCTIONS));
	if (pipe != NULL)
		saved = gpucol_join_add_pipe(cscan, pipe->pipe, list_concat_copy(keys, aggs));
	cscan->custom_private = lappend(cscan->custom_private, saved);
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_FIRST));
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_FEEDING));
	cscan->custom_private = lappend(cscan->custom_private, makeInteger(list_length(tests)));
	cscan->custom_private = lappend(cscan->custom_private,
									list_nth(path->custom_private, PATH_PRIVATE_ELEMENTS));
	cscan->custom_exprs = gpucol_join_params(cscan->custom_scan_tlist);
	cscan->flags = path->flags;
	cscan->methods = intVal(list_nth(path->custom_private, PATH_PRIVATE_RANKING)) ?
		&gpucol_topn_methods : &gpucol_agg_methods;
	return &cscan->scan.plan;
}

/*
 * Register the node's methods, so that parallel workers find them by name.
 */
void
gpucol_path_agg_init(void)
{
	RegisterCustomScanMethods(&gpucol_agg_methods);
}
