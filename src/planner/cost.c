/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  Cost of gpucol paths, in the planner's units (one is about 10
 *	  microseconds of a warm machine).
 *
 * A scan reads the share of the table's pages that its columns have, tests
 * conditions at a small part of cpu_operator_cost a value, and pays for each
 * row that it hands to PostgreSQL.  The start of a run (directory, threads)
 * has a price of its own, which lets an index win for a few rows and the
 * ordinary scan for a tiny table.
 *
 * The engine's work is divided by the threads that do it, in a parallel scan as
 * in any other: a parallel plan is chosen for what PostgreSQL does with the rows,
 * not for a division of labour that the engine makes itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/spccache.h"

#include "lower/clauses.h"
#include "plan/parts.h"
#include "planner/path_join.h"
#include "planner/path_join_first.h"
#include "service/threads.h"

/* Start of a run. */
#define RUN_COST			1.0

/* Starting it for one row after another of a query around it takes 60 microseconds, which nothing else hides. */
#define REPEATED_RUN_COST	6.0

/* Work on one packed value, as a share of cpu_operator_cost. */
#define VALUE_SHARE			0.02

/*
 * The planner takes costs within one percent for equal, and of equal paths the one
 * that parallel workers may run.  An aggregation in the engine does what a scan in
 * the engine does, and less: it must not lose such a draw.
 */
#define AGG_ADVANTAGE		0.98

/* A group's states for one row, as a share of cpu_operator_cost. */
#define GROUP_SHARE			0.2

/*
 * Finding a group of which the executor joins many, in the engine's hash table and
 * again in the executor's, in cpu_operator_cost.
 */
#define JOINED_OPERATORS	4.0

/*
 * Joins, in cpu_operator_cost: a row into a built table; its lookup where the table is in
 * the cache or is not (of more rows than that), and a candidate of a condition.
 */
#define INSERT_OPERATORS	1.0
#define PROBE_OPERATORS		0.1
#define FAR_PROBE_OPERATORS	0.5
#define FAR_ROWS			500000.0
#define JOINED_ROW_OPERATORS	0.1
#define PAIR_TEXT_OPERATORS	4.0 /* texts of a pair of rows, made to be compared */

/* What is given for a plan that does not depend on an estimate of few rows. */
#define RISK_SHARE			1.1
#define RISK_COST			5.0

/*
 * The same where joined rows are looked up by an index: how many there are is an estimate of
 * estimates, of which thousandths are common.  Cheaper lookups are those of few rows.
 */
#define LOOKUPS_RISK_SHARE	3.0
#define LOOKUPS_RISKED		500.0

/*
 * The same where PostgreSQL would group the joined rows: in the engine a row costs far less, a
 * group more, and it is of the rows that an estimate has too few.
 */
#define GROUPS_RISK_SHARE	2.0

/* A row of a plan as engines take it. */
#define TAKE_OPERATORS		1.0

/* Taking a column of such a row where it comes in a batch. */
#define BATCH_OPERATORS		0.05

/* Window functions: taking a row, a row's part in a sort, and in a function. */
#define WINDOW_TAKE_OPERATORS	1.0
#define WINDOW_SORT_OPERATORS	2.0
#define WINDOW_FUNCTION_OPERATORS	0.5

/* Forming one datum of an emitted row, as a share of cpu_operator_cost. */
#define DATUM_SHARE			0.2

/* Handing over one row, as a share of cpu_tuple_cost. */
#define TUPLE_SHARE			0.3

/* One more thread for every so many blocks of the table. */
#define BLOCKS_PER_THREAD	256

/*
 * Threads for one run over a table of `pages` blocks.
 */
int
gpucol_cost_threads(BlockNumber pages)
{
	return gpucol_threads_wanted(1 + (int) (pages / BLOCKS_PER_THREAD));
}

/* The share of the engine's work that one processor does. */
static double
engine_share(RelOptInfo *rel)
{
	return 1.0 / Min(gpucol_cost_threads(rel->pages), gpucol_threads_processors());
}

/* Pages of the columns that are read. */
static Cost
disk_cost(RelOptInfo *rel, int ncolumns)
{
	double		spc_seq_page_cost;
	int			natts = Max(rel->max_attr, 1);

	get_tablespace_page_costs(rel->reltablespace, NULL, &spc_seq_page_cost);
	return rel->pages * spc_seq_page_cost * Min(ncolumns, natts) / natts;
}

/* Values that conditions and outputs look at, once a row. */
static Cost
engine_cost(RelOptInfo *rel, int ncolumns, List *pushed)
{
	return rel->tuples * cpu_operator_cost * VALUE_SHARE *
		(ncolumns + list_length(pushed));
}

/*
 * What a scan costs at least, whatever its conditions: can it only lose against an
 * ordinary path that is there already?
 */
bool
gpucol_cost_is_beaten(RelOptInfo *rel, int ncolumns)
{
	Cost		least = RUN_COST + disk_cost(rel, ncolumns) +
		engine_share(rel) * engine_cost(rel, ncolumns, NIL);
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (path->param_info == NULL && path->startup_cost <= RUN_COST &&
			path->total_cost <= least)
			return true;
	}
	return false;
}

/*
 * What is costed of a relation: the table, or as many pages and rows as its parts have.
 */
RelOptInfo *
gpucol_cost_parts(RelOptInfo *rel, const List *parts)
{
	double		column_pages = 0;	/* of one column */
	RelOptInfo *whole;
	ListCell   *lc;

	if (parts == NIL)
		return rel;
	whole = palloc(sizeof(RelOptInfo));
	*whole = *rel;
	whole->pages = 0;
	whole->tuples = 0;
	foreach(lc, parts)
	{
		const GpucolPart *part = lfirst(lc);

		whole->pages += part->rel->pages;
		whole->tuples += part->rel->tuples;
		whole->reltablespace = part->rel->reltablespace;
		column_pages += (double) part->rel->pages / Max(part->rel->max_attr, 1);
	}
	/* a union has fewer columns than its tables */
	if (column_pages > 0)
		whole->max_attr = (AttrNumber) Max(rint(whole->pages / column_pages), 1);
	return whole;
}

/* Start of a run in a query; one that depends on the rows of a query around it has many. */
static Cost
run_cost(const PlannerInfo *root)
{
	return root->parent_root != NULL && root->parent_root->plan_params != NIL ? REPEATED_RUN_COST : RUN_COST;
}

/*
 * What a run in a query costs more than others do, as it depends on the rows of a query around it.
 */
Cost
gpucol_cost_repeated(const PlannerInfo *root)
{
	return run_cost(root) - RUN_COST;
}

/*
 * Cost a scan; `rest` are the conditions that PostgreSQL tests on its rows.
 * path->rows is set by the caller.
 */
void
gpucol_cost_scan(PlannerInfo *root, RelOptInfo *rel, Path *path, int ncolumns,
				 List *pushed, List *rest, int workers)
{
	double		share = workers > 0 ? 1.0 / (workers + 1) : 1.0;
	double		emitted;
	QualCost	qual;
	Cost		row;

	emitted = rel->tuples * clauselist_selectivity(root, pushed, rel->relid,
												   JOIN_INNER, NULL);
	emitted = clamp_row_est(Max(emitted * share, path->rows));
	cost_qual_eval(&qual, rest, root);
	row = cpu_tuple_cost * TUPLE_SHARE +
		cpu_operator_cost * DATUM_SHARE * ncolumns + qual.per_tuple;

	path->startup_cost = run_cost(root) + qual.startup + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + disk_cost(rel, ncolumns) +
		engine_share(rel) * engine_cost(rel, ncolumns, pushed) +
		emitted * row +
		path->rows * path->pathtarget->cost.per_tuple;
}

/*
 * Cost an aggregation of a table to `groups` groups, which the executor makes of
 * `joined` of the engine's (0: they are the engine's), evaluating `evaluated` for
 * each of these.
 */
void
gpucol_cost_agg(PlannerInfo *root, RelOptInfo *rel, Path *path, int ncolumns,
				List *pushed, int nkeys, int naggs, double groups, double joined,
				List *evaluated, PathTarget *target, List *having)
{
	QualCost	qual;
	QualCost	join;

	cost_qual_eval(&qual, having, root);
	cost_qual_eval(&join, evaluated, root);
	path->startup_cost = AGG_ADVANTAGE * (run_cost(root) + disk_cost(rel, ncolumns)) +
		AGG_ADVANTAGE * engine_share(rel) *
		(engine_cost(rel, ncolumns, pushed) +
		 rel->rows * cpu_operator_cost * GROUP_SHARE * (nkeys + naggs * VALUE_SHARE)) +
		joined * (cpu_tuple_cost + cpu_operator_cost * (JOINED_OPERATORS + nkeys + naggs) +
				  join.per_tuple) +
		join.startup + qual.startup + target->cost.startup;
	path->total_cost = path->startup_cost +
		groups * (cpu_tuple_cost + cpu_operator_cost * (nkeys + naggs) +
				  qual.per_tuple + target->cost.per_tuple);
}

/*
 * An aggregation whose aggregates are fed rows: PostgreSQL's price for finding a row's
 * group and for transition functions.
 */
void
gpucol_cost_agg_fed(Path *path, double rows, int nkeys, int naggs)
{
	Cost		fed = rows * cpu_operator_cost * (nkeys + naggs);

	path->startup_cost += fed;
	path->total_cost += fed;
}

/*
 * Cost a scan of the top rows, path->rows of them, of which `nlooked` columns are
 * read for conditions and the sort key and `nothers` besides.  The first run reads
 * what it looks at; the second finds it in memory and tests the key first.  Of the
 * other columns it reads the vectors of the rows that it delivers.
 */
void
gpucol_cost_topn(RelOptInfo *rel, Path *path, int nlooked, int nothers, List *pushed)
{
	double		spc_random_page_cost;
	Cost		runs = engine_cost(rel, nlooked, pushed) + engine_cost(rel, 1, NIL);

	get_tablespace_page_costs(rel->reltablespace, &spc_random_page_cost, NULL);
	path->startup_cost = 2 * RUN_COST + disk_cost(rel, nlooked) +
		engine_share(rel) * runs +
		rel->rows * cpu_operator_cost * GROUP_SHARE +
		path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost +
		Min(disk_cost(rel, nothers), path->rows * nothers * spc_random_page_cost) +
		path->rows * (cpu_tuple_cost * TUPLE_SHARE +
					  cpu_operator_cost * DATUM_SHARE * (nlooked + nothers) +
					  path->pathtarget->cost.per_tuple);
}

/*
 * Reading the rows of a table without handing them on.
 */
Cost
gpucol_cost_flow(RelOptInfo *rel, int ncolumns, List *conditions)
{
	return RUN_COST + disk_cost(rel, ncolumns) +
		engine_share(rel) * engine_cost(rel, ncolumns, conditions);
}

/* Does a node of this name deliver batches (exec/batches.c); also of rows that engines have tested alone? */
static bool
names_batches(const char *name, bool tested)
{
	return strcmp(name, "GpucolAgg") == 0 || strcmp(name, "GpucolWindow") == 0 ||
		(tested && (strcmp(name, "GpucolScan") == 0 || strcmp(name, "GpucolJoin") == 0));
}

/* Does a plan test nothing itself, and compute columns only that batches can have (exec/batch_compute.c)? */
static bool
is_tested(const Plan *plan)
{
	return plan->qual == NIL && !contain_subplans((Node *) plan->targetlist) &&
		!contain_volatile_functions((Node *) plan->targetlist);
}

/* Do the rows of the plan of a WITH query come in batches? */
static bool
plan_has_batches(const Plan *plan)
{
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return false;
	if (IsA(plan, SubqueryScan))
		return plan_has_batches(((const SubqueryScan *) plan)->subplan);
	if (IsA(plan, CustomScan))
		return names_batches(((const CustomScan *) plan)->methods->CustomName, is_tested(plan));
	if (!IsA(plan, Append))
		return false;
	foreach(lc, ((const Append *) plan)->appendplans)
	{
		if (!plan_has_batches(lfirst(lc)))
			return false;
	}
	return true;
}

/* Do the rows of a path come in batches, without tuples?  The members of a UNION ALL are taken to test nothing. */
static bool
has_batches(PlannerInfo *root, const Path *path, bool member)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(path, SubqueryScanPath))
		return has_batches(path->parent->subroot, ((const SubqueryScanPath *) path)->subpath, member);
	if (IsA(path, ProjectionPath))
		return has_batches(root, ((const ProjectionPath *) path)->subpath, member);
	if (IsA(path, CustomPath))
		return names_batches(((const CustomPath *) path)->methods->CustomName, member);
	if (path->pathtype == T_CteScan)
		return plan_has_batches(gpucol_join_with_plan(root, planner_rt_fetch(path->parent->relid, root)));
	if (!IsA(path, AppendPath))
		return false;
	foreach(lc, ((const AppendPath *) path)->subpaths)
	{
		if (!has_batches(root, lfirst(lc), true))
			return false;
	}
	return true;
}

/*
 * All rows of a path, as engines take them.
 */
Cost
gpucol_cost_rows_of(PlannerInfo *root, const Path *path)
{
	int			ncolumns = list_length(path->pathtarget->exprs);
	Cost		cost = path->total_cost;

	if (!has_batches(root, path, false))
		return cost + path->rows * cpu_operator_cost * (TAKE_OPERATORS + ncolumns);
	/* those of a WITH query are neither put into a tuplestore nor taken from there (cost_ctescan) */
	if (path->pathtype == T_CteScan)
		cost -= 2 * cpu_tuple_cost * path->parent->tuples;
	return Max(cost, 0) + path->rows * cpu_operator_cost * BATCH_OPERATORS * ncolumns;
}

/*
 * Inserting rows into a built table.
 */
Cost
gpucol_cost_insert(double rows)
{
	return rows * cpu_operator_cost * INSERT_OPERATORS;
}

/*
 * Looking `rows` up in a table of `table_rows` by so many keys; without keys every row
 * meets every other.
 */
Cost
gpucol_cost_probe(double rows, double table_rows, int nkeys, int nresidual, double joined)
{
	double		operators = table_rows > FAR_ROWS ? FAR_PROBE_OPERATORS : PROBE_OPERATORS;
	double		pairs = nkeys == 0 ? rows * table_rows : joined;

	return cpu_operator_cost *
		(rows * operators * Max(nkeys, 1) + pairs * JOINED_ROW_OPERATORS * (1 + nresidual));
}

/*
 * Making texts of so many pairs of rows, to compare them.
 */
Cost
gpucol_cost_pair_texts(double pairs)
{
	return pairs * cpu_operator_cost * PAIR_TEXT_OPERATORS;
}

/* Does a path scan all of its inner side for each outer row? */
static bool
is_blind_loop(const Path *path)
{
	return path->pathtype == T_NestLoop && path->param_info == NULL &&
		((const NestPath *) path)->jpath.innerjoinpath->param_info == NULL;
}

/* Does a path look joined rows up by an index, as many as there will be? */
static bool
looks_joined_up(const Path *path)
{
	return path->pathtype == T_NestLoop && path->param_info == NULL &&
		IS_JOIN_REL(((const NestPath *) path)->jpath.outerjoinpath->parent) &&
		((const NestPath *) path)->jpath.innerjoinpath->param_info != NULL;
}

/*
 * The cost up to which a join by the engine is preferred to a path that may prove far dearer; 0: never.  Of lookups by
 * an index there are as many as rows of a join.
 */
Cost
gpucol_cost_preferred(const Path *path)
{
	Cost		total = path->total_cost;

	if (is_blind_loop(path))
		return RISK_SHARE * total + RISK_COST;
	return looks_joined_up(path) && total >= LOOKUPS_RISKED ? LOOKUPS_RISK_SHARE * total : 0;
}

/*
 * A join that hands its rows to PostgreSQL.
 */
void
gpucol_cost_join(Path *path, Cost build, Cost flow, int ncolumns)
{
	path->startup_cost = build + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + flow +
		path->rows * (cpu_tuple_cost * TUPLE_SHARE +
					  cpu_operator_cost * DATUM_SHARE * ncolumns +
					  path->pathtarget->cost.per_tuple);
}

/*
 * Window functions over all rows of a child, with so many sorts.
 */
void
gpucol_cost_window(Path *path, const Path *child, double nsorts, int nfunctions)
{
	double		rows = Max(child->rows, 1);
	int			ncolumns = list_length(child->pathtarget->exprs);

	path->startup_cost = child->total_cost + path->pathtarget->cost.startup +
		rows * cpu_operator_cost * (WINDOW_TAKE_OPERATORS + DATUM_SHARE * ncolumns +
									nsorts * WINDOW_SORT_OPERATORS +
									nfunctions * WINDOW_FUNCTION_OPERATORS);
	path->total_cost = path->startup_cost +
		path->rows * (cpu_tuple_cost * TUPLE_SHARE +
					  cpu_operator_cost * DATUM_SHARE * (ncolumns + nfunctions) +
					  path->pathtarget->cost.per_tuple);
}

/*
 * The rows that an aggregation over joined tables reads; their run is its run.
 */
void
gpucol_cost_agg_joined(Path *path, Cost build, Cost flow)
{
	Cost		before = AGG_ADVANTAGE * (build + flow - RUN_COST);

	path->startup_cost += before;
	path->total_cost += before;
}

/*
 * An aggregation over joined rows beside one of cost `other` that takes the same rows from the engine.
 */
void
gpucol_cost_agg_preferred(Path *path, Cost other)
{
	Cost		excess = path->total_cost - AGG_ADVANTAGE * other;

	if (excess <= 0 || path->total_cost > GROUPS_RISK_SHARE * other)
		return;
	path->startup_cost = Max(path->startup_cost - excess, 0);
	path->total_cost -= excess;
}
