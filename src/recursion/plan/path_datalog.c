/*-------------------------------------------------------------------------
 *
 * path_datalog.c
 *	  GpucolDatalog in the place of the scan of gpucol.datalog(program, output) in FROM.
 *
 * It delivers rows as they are derived, so LIMIT ends the program early; it has the
 * program derive only what equalities with constants leave (recursion/front/demand.c); and
 * aggregates over all of its rows are counted without them (recursion/exec/agg.c).  The
 * conditions are tested on each row besides.  What else the query does, other conditions and
 * groups, is done on its batches, as on those of a recursion (recursion/plan/path_scan.c).
 *
 * Not where the function has been changed (SECURITY DEFINER, SET), is watched, or numbers
 * its rows, nor where rows of the query are locked or changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "guc.h"
#include "planner/planner.h"
#include "recursion/plan/nodes.h"
#include "recursion/plan/use.h"

/* Is the function ours, as we have made it? */
static bool
is_datalog(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;
	Datum		source;
	bool		isnull;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	result = proc->prolang == ClanguageId && !isnull &&
		strcmp(TextDatumGetCString(source), "gpucol_datalog") == 0 && !proc->prosecdef &&
		proc->proisstrict && heap_attisnull(tuple, Anum_pg_proc_proconfig, NULL);
	ReleaseSysCache(tuple);
	return result && !FmgrHookIsNeeded(function);
}

/* The call that a relation scans, or NULL: it is not one of ours. */
static const FuncExpr *
find_call(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	const RangeTblFunction *function;

	if (rte->rtekind != RTE_FUNCTION || rte->funcordinality || list_length(rte->functions) != 1 ||
		!bms_is_empty(rel->lateral_relids))
		return NULL;
	function = linitial_node(RangeTblFunction, rte->functions);
	if (!IsA(function->funcexpr, FuncExpr) || function->funccoltypes == NIL ||
		!is_datalog(((FuncExpr *) function->funcexpr)->funcid))
		return NULL;
	return (const FuncExpr *) function->funcexpr;
}

/* May the scan be ours, for all that the query asks of it? */
static bool
is_suitable(PlannerInfo *root, const RelOptInfo *rel, const FuncExpr *call)
{
	int			first;

	if (root->rowMarks != NIL || (root->parse->commandType != CMD_SELECT &&
								  root->parse->commandType != CMD_INSERT) ||
		contain_volatile_functions((Node *) call->args) ||
		contain_subplans((Node *) call->args))
		return false;
	/* whole rows have no place in its tuples */
	first = bms_next_member(gpucol_path_scan_columns(rel), -1);
	return first < 0 || first + FirstLowInvalidHeapAttributeNumber > 0;
}

/* Columns of the scan tuple: all of the column list, as Vars. */
static List *
make_columns(const RangeTblEntry *rte, Index relid)
{
	const RangeTblFunction *function = linitial_node(RangeTblFunction, rte->functions);
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, function->funccoltypes)
	{
		int			c = foreach_current_index(lc);
		Var		   *var = makeVar(relid, c + 1, lfirst_oid(lc),
								  list_nth_int(function->funccoltypmods, c),
								  list_nth_oid(function->funccolcollations, c), 0);

		columns = lappend(columns, makeTargetEntry((Expr *) var, c + 1, NULL, false));
	}
	return columns;
}

/* ---- conditions ---- */

/* Is it the equality of integers, or of texts whose equality is that of their bytes? */
static bool
is_equality(const OpExpr *op)
{
	Oid			left = exprType(linitial(op->args));
	Oid			right = exprType(lsecond(op->args));
	char	   *name = get_opname(op->opno);
	bool		integers = (left == INT2OID || left == INT4OID || left == INT8OID) &&
		(right == INT2OID || right == INT4OID || right == INT8OID);

	/* those of PostgreSQL itself have low numbers */
	if (op->opno >= FirstNormalObjectId || name == NULL || strcmp(name, "=") != 0)
		return false;
	return integers || (left == TEXTOID && right == TEXTOID &&
						get_collation_isdeterministic(op->inputcollid));
}

/* The column (from 0) and the value of a condition that a program can be asked for. */
static bool
read_condition(const RelOptInfo *rel, const RestrictInfo *info, int *column, Node **value)
{
	const OpExpr *op = (const OpExpr *) info->clause;
	Node	   *var;

	if (info->pseudoconstant || info->security_level > rel->baserestrict_min_security ||
		!IsA(op, OpExpr) || list_length(op->args) != 2 || !is_equality(op))
		return false;
	var = linitial(op->args);
	*value = lsecond(op->args);
	if (!IsA(var, Var))
	{
		*value = var;
		var = lsecond(op->args);
	}
	if (!IsA(var, Var) || ((Var *) var)->varno != (int) rel->relid ||
		((Var *) var)->varlevelsup != 0)
		return false;
	*column = ((Var *) var)->varattno - 1;
	return IsA(*value, Const) ? !((Const *) *value)->constisnull :
		IsA(*value, Param) && ((Param *) *value)->paramkind == PARAM_EXTERN;
}

/* ---- paths ---- */

/* See recursion/exec/datalog.c for what the node carries. */
static Plan *
plan_scan(PlannerInfo *root pg_attribute_unused(), RelOptInfo *rel pg_attribute_unused(),
		  CustomPath *path, List *tlist, List *clauses, List *custom_plans pg_attribute_unused())
{
	CustomScan *scan = makeNode(CustomScan);
	bool		batches = boolVal(list_nth(path->custom_private, 4));

	scan->scan.plan.targetlist = batches ? copyObject(lthird(path->custom_private)) : tlist;
	scan->scan.plan.qual = batches ? NIL : extract_actual_clauses(clauses, false);
	scan->custom_exprs = copyObject(linitial(path->custom_private));
	scan->custom_private = list_make2(lsecond(path->custom_private),
									  lfourth(path->custom_private));
	scan->custom_scan_tlist = lthird(path->custom_private);
	scan->methods = &gpucol_datalog_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolDatalog",
	.PlanCustomPath = plan_scan,
};

void
gpucol_datalog_add_scan(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	const FuncExpr *call = find_call(rel, rte);
	CustomPath *path;
	Path	   *ordinary;
	List	   *columns = NIL;
	List	   *values = NIL;
	List	   *clauses = NIL;
	ListCell   *lc;

	if (call == NULL || gpucol_planner_disabled() != NULL || !gpucol_enable_recursive ||
		list_length(rel->pathlist) != 1 || !is_suitable(root, rel, call))
		return;
	foreach(lc, rel->baserestrictinfo)
	{
		int			column;
		Node	   *value;

		if (!read_condition(rel, lfirst(lc), &column, &value))
			continue;
		columns = lappend_int(columns, column);
		values = lappend(values, value);
		clauses = lappend(clauses, lfirst_node(RestrictInfo, lc)->clause);
	}
	ordinary = linitial(rel->pathlist);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = ordinary->rows;
	path->path.startup_cost = ordinary->startup_cost;
	path->path.total_cost = ordinary->total_cost;
	path->custom_private = list_make5(list_make3(call->args, values, clauses), columns,
									  make_columns(rte, rel->relid),
									  list_make1_oid(call->funcid), makeBoolean(false));
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}

/* The path for a node that reads batches, without conditions and with all columns, or not. */
static CustomPath *
copy_path(const CustomPath *path, bool batches)
{
	CustomPath *copy = makeNode(CustomPath);

	*copy = *path;
	copy->custom_private = list_copy(path->custom_private);
	lfirst(list_nth_cell(copy->custom_private, 4)) = makeBoolean(batches);
	return copy;
}

CustomPath *
gpucol_datalog_path_of(RelOptInfo *rel)
{
	Path	   *path = rel->pathlist != NIL ? linitial(rel->pathlist) : NULL;

	if (path != NULL && IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	if (path != NULL && IsA(path, CustomPath) &&
		((CustomPath *) path)->methods == &gpucol_recursive_scan_path_methods)
		path = linitial(((CustomPath *) path)->custom_paths);
	if (path == NULL || !IsA(path, CustomPath) ||
		((CustomPath *) path)->methods != &path_methods)
		return NULL;
	return copy_path((CustomPath *) path, false);
}

bool
gpucol_datalog_asks_all(const CustomPath *path)
{
	const List *exprs = linitial(path->custom_private);

	return list_length(lthird(exprs)) == list_length(path->path.parent->baserestrictinfo);
}

CustomPath *
gpucol_datalog_batches(RelOptInfo *rel)
{
	return copy_path(gpucol_datalog_path_of(rel), true);
}

/*
 * The scan as the plan of a recursion that others read batches of; NULL: the relation is
 * another, or has conditions that the planner puts above its node.
 */
CustomScan *
gpucol_datalog_scanned(RelOptInfo *rel)
{
	CustomPath *path = rel->rtekind == RTE_FUNCTION ? gpucol_datalog_path_of(rel) : NULL;
	CustomScan *scan;
	ListCell   *lc;

	if (path == NULL)
		return NULL;
	foreach(lc, rel->baserestrictinfo)
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return NULL;
	scan = makeNode(CustomScan);
	scan->scan.plan.startup_cost = path->path.startup_cost;
	scan->scan.plan.total_cost = path->path.total_cost;
	scan->custom_scan_tlist = lthird(path->custom_private);
	scan->methods = &gpucol_datalog_scan_methods;
	return scan;
}
