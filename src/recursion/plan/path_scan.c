/*-------------------------------------------------------------------------
 *
 * path_scan.c
 *	  GpucolRecursiveScan: the scan of a recursion with the conditions that an
 *	  engine can test.
 *
 * It takes the place of PostgreSQL's scan of the CTE wherever the recursion is
 * pushed down and nothing else refers to it, and stands above that of gpucol.datalog.  Not where rows of the query are
 * locked or changed, which may ask for a row of the scan again; and not over
 * numeric columns of limited precision, which may hold what engines do not compute
 * with (NaN) when rows have been handed on already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "recursion/plan/nodes.h"
#include "guc.h"
#include "lower/clauses.h"
#include "plan/wing.h"
#include "planner/planner.h"
#include "recursion/plan/use.h"

/* Columns of the scan tuple: all of the recursion's, as Vars of its scan. */
static List *
make_columns(const CustomScan *recursion, Index relid)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, recursion->custom_scan_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Var		   *var = makeVar(relid, entry->resno,
								  exprType((Node *) entry->expr),
								  exprTypmod((Node *) entry->expr),
								  exprCollation((Node *) entry->expr), 0);

		columns = lappend(columns, makeTargetEntry((Expr *) var, entry->resno,
												   NULL, false));
	}
	return columns;
}

/* Is the column a numeric that engines see as a mantissa? */
static bool
is_decimal(TupleDesc desc, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	GpucolTypeMap map;

	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	return map.kind == GPUCOL_KIND_DECIMAL;
}

/* May the scan be ours, for all that the query asks of it? */
static bool
is_suitable(PlannerInfo *root, RelOptInfo *rel, TupleDesc desc)
{
	Bitmapset  *attnos;
	int			member = -1;

	if (root->rowMarks != NIL || (root->parse->commandType != CMD_SELECT &&
								  root->parse->commandType != CMD_INSERT) ||
		!bms_is_empty(rel->lateral_relids) || list_length(rel->pathlist) != 1 ||
		((Path *) linitial(rel->pathlist))->param_info != NULL)
		return false;
	attnos = gpucol_path_scan_columns(rel);
	while ((member = bms_next_member(attnos, member)) >= 0)
		if (member + FirstLowInvalidHeapAttributeNumber <= 0 ||
			is_decimal(desc, member + FirstLowInvalidHeapAttributeNumber))
			return false;
	return true;
}

/* Conditions that are tested here: pushed ones and the others. */
static void
split_conditions(PlannerInfo *root, RelOptInfo *rel, const CustomScan *recursion,
				 TupleDesc desc, List **pushed, List **rest)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	/* pseudoconstant clauses are the business of a Result node above */
	foreach(lc, gpucol_recursive_conditions(recursion, rel))
		if (!lfirst_node(RestrictInfo, lc)->pseudoconstant)
			conditions = lappend(conditions, lfirst(lc));
	gpucol_clauses_split(root, gpucol_lower_begin(desc, rel->relid, NULL),
						 conditions, "scan", pushed, rest, NULL);
}

/* Rows so few that it is better not to hold them until all have been found. */
#define FEW_ROWS	1000

/* Does the query want the first few rows of the recursion as they come? */
static bool
wants_few(const PlannerInfo *root, const RelOptInfo *rel)
{
	return root->limit_tuples >= 0 && root->limit_tuples <= FEW_ROWS &&
		root->parse->sortClause == NIL && rel->baserestrictinfo == NIL &&
		list_length(root->parse->rtable) == 1;
}

/* Where PostgreSQL's plan of the recursion would be tried: leave it to it. */
static void
leave_to_plan(CustomScan *recursion)
{
	ListCell   *trial = list_nth_cell(recursion->custom_private, GPUCOL_RECURSIVE_TRIAL);

	if (intVal(lfirst(trial)) != GPUCOL_RECURSIVE_NO_TRIAL)
		lfirst(trial) = makeInteger(GPUCOL_RECURSIVE_LIMITED);
}

void
gpucol_recursive_add_scan(PlannerInfo *root, RelOptInfo *rel)
{
	int			plan_id;
	CustomScan *recursion = gpucol_recursive_find_rows(root, rel, &plan_id);
	TupleDesc	desc;
	CustomPath *path;
	Path	   *ordinary;
	List	   *pushed;
	List	   *rest;

	if (recursion == NULL || gpucol_planner_disabled() != NULL)
		return;
	desc = ExecTypeFromTL(recursion->custom_scan_tlist);
	if (!is_suitable(root, rel, desc))
		return;
	if (plan_id != GPUCOL_RECURSIVE_CHILD && wants_few(root, rel))
		leave_to_plan(recursion);
	split_conditions(root, rel, recursion, desc, &pushed, &rest);
	ordinary = linitial(rel->pathlist);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = ordinary->rows;
	/* a rescan runs the recursion again */
	path->path.startup_cost = recursion->scan.plan.startup_cost;
	path->path.total_cost = recursion->scan.plan.total_cost + ordinary->total_cost;
	path->custom_paths = list_make1(plan_id == GPUCOL_RECURSIVE_CHILD ?
									(Path *) gpucol_datalog_batches(rel) : ordinary);
	path->custom_private = list_make5(makeInteger(plan_id), NIL,
									  make_columns(recursion, rel->relid), pushed,
									  rest);
	path->methods = &gpucol_recursive_scan_path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

/* See recursion/exec/scan.c for what the node carries. */
static Plan *
plan_scan(PlannerInfo *root pg_attribute_unused(),
		  RelOptInfo *rel pg_attribute_unused(), CustomPath *path, List *tlist,
		  List *clauses pg_attribute_unused(), List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	List	   *top = lsecond(path->custom_private);

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = list_nth(path->custom_private, 4);
	cscan->custom_scan_tlist = lthird(path->custom_private);
	cscan->custom_exprs = lfourth(path->custom_private);
	cscan->custom_plans = custom_plans;
	if (top != NIL)
		cscan->custom_exprs = list_concat_copy(cscan->custom_exprs,
											   copyObject(linitial(top)));
	cscan->custom_private = list_make2(linitial(path->custom_private),
									   top ? list_copy_tail(top, 1) : NIL);
	cscan->methods = &gpucol_recursive_scan_scan_methods;
	return &cscan->scan.plan;
}

const CustomPathMethods gpucol_recursive_scan_path_methods = {
	.CustomName = "GpucolRecursiveScan",
	.PlanCustomPath = plan_scan,
};

TupleDesc
gpucol_recursive_scan_columns(const CustomPath *path)
{
	return ExecTypeFromTL(lthird(path->custom_private));
}

bool
gpucol_recursive_scan_pushes_all(const CustomPath *path)
{
	return list_nth(path->custom_private, 4) == NIL;
}

void
gpucol_recursive_scan_limit(CustomPath *path, List *top)
{
	path->custom_private = list_copy(path->custom_private);
	lsecond(path->custom_private) = top;
}
