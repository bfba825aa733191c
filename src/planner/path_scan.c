/*-------------------------------------------------------------------------
 *
 * path_scan.c
 *	  GpucolScan: the scan of one gpucol table with the conditions that an
 *	  engine can test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "nodes/extensible.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "plan/plan.h"
#include "guc.h"
#include "lower/clauses.h"
#include "planner/path_join.h"
#include "planner/planner.h"
#include "plan/reason.h"

/* Rows that an index finds sooner than an engine can begin to look for them. */
#define FEW_ROWS	16

/* What a sequential scan costs at most that is sooner than an engine, and than an index. */
#define TINY_COST	10.0

/* The chance that no row passes of which many are expected. */
#define WORST_CASE_SHARE	0.1

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolScan",
	.PlanCustomPath = gpucol_path_scan_plan,
};

/* Is it WHERE CURRENT OF that decides? */
static bool
is_of_cursor(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (IsA(lfirst_node(RestrictInfo, lc)->clause, CurrentOfExpr))
			return true;
	}
	return false;
}

Bitmapset *
gpucol_path_scan_columns(const RelOptInfo *rel)
{
	Bitmapset  *attnos = NULL;
	ListCell   *lc;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnos);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   rel->relid, &attnos);
	return attnos;
}

/* The first system column that a virtual tuple does not have, or 0. */
static AttrNumber
unsupported_column(Bitmapset *attnos)
{
	int			member = -1;

	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum < 0 && attnum != SelfItemPointerAttributeNumber &&
			attnum != TableOidAttributeNumber)
			return attnum;
	}
	return 0;
}

/* Number of user columns read. */
static int
count_columns(RelOptInfo *rel, Bitmapset *attnos)
{
	int			n = 0;
	int			member = -1;

	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum == InvalidAttrNumber)
			return rel->max_attr;
		n += attnum > 0;
	}
	return n;
}

/* Does an index find the rows of a table sooner than a sequential scan, as costs are set? */
static bool
index_is_sooner(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		/* they are in the order of their costs */
		if (path->param_info != NULL)
			continue;
		if (path->pathtype == T_SeqScan)
			return false;
		if (path->pathtype == T_BitmapHeapScan ||
			(IsA(path, IndexPath) && ((const IndexPath *) path)->indexclauses != NIL))
			return true;
	}
	return false;
}

/* Is a condition that an index answers an equality with a value, or with one of some? */
static bool
is_equality(const IndexClause *clause)
{
	return clause->rinfo->mergeopfamilies != NIL ||
		(IsA(clause->rinfo->clause, ScalarArrayOpExpr) &&
		 ((const ScalarArrayOpExpr *) clause->rinfo->clause)->useOr);
}

/* Does a unique index find few rows, by all of its keys? */
static bool
finds_few(const Path *path)
{
	const IndexPath *scan = (const IndexPath *) path;
	Bitmapset  *equal = NULL;
	ListCell   *lc;
	bool		all;

	if (IsA(path, BitmapHeapPath))
		scan = (const IndexPath *) ((const BitmapHeapPath *) path)->bitmapqual;
	if (!IsA(scan, IndexPath) || path->param_info != NULL || path->rows > FEW_ROWS || !scan->indexinfo->unique)
		return false;
	foreach(lc, scan->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (is_equality(clause))
			equal = bms_add_member(equal, clause->indexcol);
	}
	all = bms_num_members(equal) == scan->indexinfo->nkeycolumns;
	bms_free(equal);
	return all;
}

/* Does a unique index say that the rows of a table are few?  A path by it is gone where the table is tiny. */
static bool
are_few_by_key(PlannerInfo *root, RelOptInfo *rel)
{
	bool		tiny = false;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (finds_few(path))
			return true;
		tiny |= path->pathtype == T_SeqScan && path->total_cost <= TINY_COST;
	}
	return tiny && relation_has_unique_index_for(root, rel, NIL, NIL, NIL);
}

/*
 * Why a table's rows are left to an index that finds them sooner than a sequential scan; or NULL.
 *
 * A few rows by their key are found before an engine has begun, whatever costs say of pages that come at random; and
 * the plan may be kept while others change the table all the time.
 *
 * Who is SERIALIZABLE and writes locks the rows and pages that an index reads, but all of a table that
 * an engine reads, and others that write to this would fail.  Who turns sequential scans off wants the
 * index; an engine's scan is one.
 */
const char *
gpucol_path_scan_left_to_index(PlannerInfo *root, RelOptInfo *rel)
{
	bool		serializable = IsolationIsSerializable() && !XactReadOnly;

	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
		return NULL;
	if (are_few_by_key(root, rel))
		return "by a unique index there are few rows";
	if ((enable_seqscan && !serializable) ||
		!index_is_sooner(rel))
		return NULL;
	return enable_seqscan ? "SERIALIZABLE: an index finds the rows, and locks these alone" :
		"enable_seqscan is off, and an index finds the rows";
}

/*
 * Why the table cannot be scanned by an engine here; or NULL, and the columns that
 * are needed.
 */
static const char *
decline_reason(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
			   Bitmapset **attnos)
{
	if (gpucol_planner_disabled() != NULL)
		return gpucol_planner_disabled();
	if (!gpucol_enable_scan)
		return "gpucol.enable_scan is off";
	if (rte->tablesample != NULL)
		return "TABLESAMPLE";
	if (is_of_cursor(rel))
		return "WHERE CURRENT OF";
	if (gpucol_planner_scrolls(root))
		return "it is scanned in both directions by a SCROLL cursor";
	*attnos = gpucol_path_scan_columns(rel);
	if (unsupported_column(*attnos) != 0)
		return "a system column other than ctid and tableoid is used";
	return gpucol_path_scan_left_to_index(root, rel);
}

/* A path without costs. */
static CustomPath *
make_path(RelOptInfo *rel, int workers)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	return path;
}

/* Rows of one worker's share. */
static double
worker_rows(double rows, int workers)
{
	double		leader = 1.0 - 0.3 * workers;
	double		divisor = workers;

	if (parallel_leader_participation && leader > 0)
		divisor += leader;
	return clamp_row_est(rows / divisor);
}

/* Are all rows wanted that are joined, as far as is known here?  Groups are made of all. */
static bool
wants_all_rows(const PlannerInfo *root)
{
	return root->tuple_fraction <= 0 || root->parse->groupClause != NIL || root->parse->hasAggs;
}

/*
 * Is a sequential scan for the first rows a risk?  EXISTS and LIMIT take it where many rows are expected to pass
 * conditions, since it begins sooner than an engine.  Where the estimate errs, it tests every row of the table one
 * by one.  A subquery that runs for each row of another is left to the estimate: the beginnings would add up.
 */
static bool
may_find_none(const PlannerInfo *root, const Path *sequential, const Path *scan)
{
	return gpucol_cost_repeated(root) == 0 &&
		(sequential->total_cost - scan->total_cost) * WORST_CASE_SHARE > scan->startup_cost;
}

/*
 * Where all rows are wanted, let a sequential scan that takes longer begin no sooner: of joins that cost nearly the
 * same PostgreSQL takes the one that begins sooner.  So, too, where it might search all rows for the first of those
 * that pass conditions of an engine's.
 */
static void
begin_together(const PlannerInfo *root, RelOptInfo *rel, const Path *scan, const List *pushed)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->pathtype == T_SeqScan && path->total_cost > scan->total_cost &&
			(wants_all_rows(root) || (pushed != NIL && may_find_none(root, path, scan))))
			path->startup_cost = Max(path->startup_cost, scan->startup_cost);
	}
}

/*
 * Add the paths of GpucolScan to a base relation; with gpucol.pushdown = require
 * the planner is left no ordinary scan to prefer.  Else the ordinary paths stay
 * beside it, and it beside them, whichever is cheaper: GpucolTopK starts from it.
 */
void
gpucol_path_scan_add(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	Bitmapset  *attnos = NULL;
	const char *reason = decline_reason(root, rel, rte, &attnos);
	int			ncolumns;
	int			workers = 0;
	CustomPath *path;
	Relation	table;
	List	   *pushed;
	List	   *rest;

	if (reason != NULL)
	{
		gpucol_reason_add(rte->relid, "scan", "%s", reason);
		return;
	}
	if (!bms_is_empty(rel->lateral_relids))
	{
		gpucol_reason_add(rte->relid, "scan", "it refers to other tables laterally");
		return;
	}
	ncolumns = count_columns(rel, attnos);
	/* a lookup through an index is planned as soon as for a heap table */
	if (!gpucol_reason_is_wanted() && root->parse->sortClause == NIL &&
		gpucol_cost_is_beaten(rel, ncolumns))
		return;
	table = table_open(rte->relid, NoLock);
	gpucol_clauses_split(root, gpucol_lower_begin(RelationGetDescr(table), rel->relid, NULL),
						 rel->baserestrictinfo, "scan", &pushed, &rest, NULL);
	table_close(table, NoLock);

	path = make_path(rel, 0);
	path->path.rows = rel->rows;
	gpucol_cost_scan(root, rel, &path->path, ncolumns, pushed, rest, 0);
	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
	{
		rel->pathlist = NIL;
		rel->partial_pathlist = NIL;
	}
	begin_together(root, rel, &path->path, pushed);
	rel->pathlist = lappend(rel->pathlist, path);

	if (rel->consider_parallel)
		workers = compute_parallel_worker(rel, rel->pages, -1,
										  max_parallel_workers_per_gather);
	if (workers > 0)
	{
		CustomPath *partial = make_path(rel, workers);

		partial->path.rows = worker_rows(rel->rows, workers);
		gpucol_cost_scan(root, rel, &partial->path, ncolumns, pushed, rest,
						 workers);

		/*
		 * The list must be what this makes of it, cheapest first and none that
		 * another beats: Gather takes the first, and an upper relation into which
		 * PostgreSQL copies the list would free whatever is beaten there.
		 */
		add_partial_path(rel, &partial->path);
	}
}

/*
 * Make the plan node: pushed conditions apart from the others.
 */
Plan *
gpucol_path_scan_plan(PlannerInfo *root, RelOptInfo *rel,
		  CustomPath *path pg_attribute_unused(), List *tlist, List *clauses,
		  List *custom_plans pg_attribute_unused())
{
	CustomScan *cscan = makeNode(CustomScan);
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	Relation	table = table_open(rte->relid, NoLock);
	List	   *rinfos = NIL;
	List	   *rest;
	List	   *behind;
	ListCell   *lc;

	/* pseudoconstant clauses are the business of a Result node above */
	foreach(lc, clauses)
	{
		if (!lfirst_node(RestrictInfo, lc)->pseudoconstant)
			rinfos = lappend(rinfos, lfirst(lc));
	}
	gpucol_clauses_split(root, gpucol_lower_begin(RelationGetDescr(table), rel->relid, NULL),
						 rinfos, "scan", &cscan->custom_exprs, &rest, &behind);
	table_close(table, NoLock);
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = rest;
	cscan->custom_private = list_make1(behind);
	cscan->scan.scanrelid = rel->relid;
	cscan->flags = path->flags;
	cscan->methods = &gpucol_scan_methods;
	return &cscan->scan.plan;
}

/*
 * Register the node's methods, so that parallel workers find them by name.
 */
void
gpucol_path_scan_init(void)
{
	RegisterCustomScanMethods(&gpucol_scan_methods);
}
