/*-------------------------------------------------------------------------
 *
 * minmax.c
 *	  min and max by an index, beside an aggregation in an engine.
 *
 * PostgreSQL reads the first row of an index that meets the conditions.  Its estimate
 * takes these rows to lie evenly in the index; where the conditions are on a column that
 * goes with the indexed one (the least id since yesterday), they lie at its other end,
 * and all of the index and of the table is read row by row.  An engine needs the same
 * short time wherever they lie.  So such a plan is counted at a share of its worst case.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"

#include "planner/minmax.h"

/* The chance that the rows lie at the index's other end. */
#define WORST_CASE_SHARE	0.02

Path *
gpucol_minmax_ordinary(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel,
					   PathTarget *target, List *having)
{
	AggClauseCosts costs;

	if (root->parse->groupClause != NIL || !root->parse->hasAggs)
		return NULL;
	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	return (Path *) create_agg_path(root, output_rel, input_rel->cheapest_total_path,
									target, AGG_PLAIN, AGGSPLIT_SIMPLE, NIL, having,
									&costs, 1);
}

/* Does an index scan test conditions that the index does not answer? */
static bool
index_filters(IndexPath *path)
{
	ListCell   *lc;

	foreach(lc, path->indexinfo->indrestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (!rinfo->pseudoconstant &&
			!is_redundant_with_indexclauses(rinfo, path->indexclauses))
			return true;
	}
	return false;
}

static bool path_filters(Path *path);

/* Does one of the paths? */
static bool
any_filters(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (path_filters(lfirst(lc)))
			return true;
	}
	return false;
}

/* Does the path read an index, and test conditions that it does not answer? */
static bool
path_filters(Path *path)
{
	switch (nodeTag(path))
	{
		case T_IndexPath:
			return index_filters((IndexPath *) path);
		case T_ProjectionPath:
			return path_filters(((ProjectionPath *) path)->subpath);
		case T_AppendPath:
			return any_filters(((AppendPath *) path)->subpaths);
		case T_MergeAppendPath:
			return any_filters(((MergeAppendPath *) path)->subpaths);
		default:
			return false;
	}
}

/* What reading min and max from indexes is counted at. */
static Cost
counted_cost(MinMaxAggPath *path)
{
	Cost		cost = path->path.total_cost;
	ListCell   *lc;

	foreach(lc, path->mmaggregates)
	{
		MinMaxAggInfo *info = lfirst(lc);

		if (path_filters(info->path))
			cost += WORST_CASE_SHARE * info->path->total_cost;
	}
	return cost;
}

List *
gpucol_minmax_prune(List *paths, Cost cost)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!IsA(path, MinMaxAggPath) || counted_cost((MinMaxAggPath *) path) < cost)
			kept = lappend(kept, path);
	}
	return kept;
}
