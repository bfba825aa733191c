/*-------------------------------------------------------------------------
 *
 * first_rows.c
 *	  Ordinary plans that read an index until they have found enough rows, beside what
 *	  an engine takes.
 *
 * PostgreSQL plans min, max and ORDER BY … LIMIT by an index that it reads until enough
 * rows meet the other conditions.  Its estimate takes these rows to lie evenly in the
 * index.  Where a condition is on a column that goes with the indexed one (the least id
 * since yesterday), they may as well lie at its other end: all of the index and of the
 * table is read then, row by row.  An engine needs the same short time wherever they
 * lie.  So such a plan counts with a share of its worst case.
 *
 * Columns go with each other where ANALYZE has found that both go with the order of the
 * rows in the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "planner/first_rows.h"

/* The chance that the rows lie at the index's other end. */
#define WORST_CASE_SHARE	0.1

/* From this correlation with the order of the table on a column goes with it. */
#define GOES_ALONG			0.8

static Cost path_risk(PlannerInfo *root, Path *path);

/* Does an expression go with the order of the rows in its table? */
static bool
goes_with_table(PlannerInfo *root, Node *expr)
{
	VariableStatData data;
	AttStatsSlot slot;
	bool		goes = false;

	examine_variable(root, expr, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		goes = slot.nnumbers == 1 && fabs(slot.numbers[0]) >= GOES_ALONG;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return goes;
}

/* Does a column of a condition? */
static bool
condition_goes_with_table(PlannerInfo *root, RestrictInfo *rinfo)
{
	List	   *vars = pull_var_clause((Node *) rinfo->clause, PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, vars)
	{
		if (goes_with_table(root, lfirst(lc)))
			return true;
	}
	return false;
}

/*
 * What an index scan may cost beside its estimate: it tests conditions that the index
 * does not answer, on columns that go with the indexed one.
 */
static Cost
index_risk(PlannerInfo *root, IndexPath *path)
{
	TargetEntry *first = linitial(path->indexinfo->indextlist);
	ListCell   *lc;

	foreach(lc, path->indexinfo->indrestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (!rinfo->pseudoconstant &&
			!is_redundant_with_indexclauses(rinfo, path->indexclauses) &&
			condition_goes_with_table(root, rinfo))
			return goes_with_table(root, (Node *) first->expr) ?
				WORST_CASE_SHARE * path->path.total_cost : 0;
	}
	return 0;
}

/* The same for all of some paths. */
static Cost
paths_risk(PlannerInfo *root, List *paths)
{
	Cost		risk = 0;
	ListCell   *lc;

	foreach(lc, paths)
		risk += path_risk(root, lfirst(lc));
	return risk;
}

/* The same for a path over index scans whose order it keeps. */
static Cost
path_risk(PlannerInfo *root, Path *path)
{
	switch (nodeTag(path))
	{
		case T_IndexPath:
			return index_risk(root, (IndexPath *) path);
		case T_ProjectionPath:
			return path_risk(root, ((ProjectionPath *) path)->subpath);
		case T_IncrementalSortPath:
			return path_risk(root, ((IncrementalSortPath *) path)->spath.subpath);
		case T_GatherMergePath:
			return path_risk(root, ((GatherMergePath *) path)->subpath);
		case T_AppendPath:
			return paths_risk(root, ((AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return paths_risk(root, ((MergeAppendPath *) path)->subpaths);
		default:
			return 0;
	}
}

/* What reading min and max from indexes may cost. */
static Cost
minmax_risk(MinMaxAggPath *path)
{
	Cost		risk = 0;
	ListCell   *lc;

	foreach(lc, path->mmaggregates)
	{
		MinMaxAggInfo *info = lfirst(lc);

		risk += path_risk(info->subroot, info->path);
	}
	return risk;
}

List *
gpucol_first_rows_prune_minmax(List *paths, Cost cost)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		risk = IsA(path, MinMaxAggPath) ? minmax_risk((MinMaxAggPath *) path) : 0;

		if (risk == 0 || path->total_cost + risk < cost)
			kept = lappend(kept, path);
	}
	return kept;
}

List *
gpucol_first_rows_prune(PlannerInfo *root, List *paths, double limit, Cost cost)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		risk = path_risk(root, path);
		Cost		first = path->startup_cost + (path->total_cost - path->startup_cost) *
			Min(1.0, limit / clamp_row_est(path->rows));

		if (risk == 0 || first + risk < cost)
			kept = lappend(kept, path);
	}
	return kept;
}
