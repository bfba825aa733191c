/*-------------------------------------------------------------------------
 *
 * fallback.c
 *	  The ordinary path that a node of ours carries for what no engine can run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "utils/lsyscache.h"

#include "planner/planner.h"

/* Size of the node of a path that may end a grouping step, a join or a scan; 0 = unknown. */
static Size
path_size(Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
			return sizeof(AggPath);
		case T_GroupPath:
			return sizeof(GroupPath);
		case T_GroupingSetsPath:
			return sizeof(GroupingSetsPath);
		case T_UpperUniquePath:
			return sizeof(UpperUniquePath);
		case T_GroupResultPath:
			return sizeof(GroupResultPath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_GatherPath:
			return sizeof(GatherPath);
		case T_GatherMergePath:
			return sizeof(GatherMergePath);
		case T_LimitPath:
			return sizeof(LimitPath);
		case T_WindowAggPath:
			return sizeof(WindowAggPath);
		case T_Path:
			return sizeof(Path);
		case T_CustomPath:
			return strcmp(((CustomPath *) path)->methods->CustomName, "GpucolScan") == 0 ?
				sizeof(CustomPath) : 0;
		case T_NestPath:
			return sizeof(NestPath);
		case T_MergePath:
			return sizeof(MergePath);
		case T_HashPath:
			return sizeof(HashPath);
		default:
			return 0;
	}
}

/*
 * Does a merge or hash join have a condition that its plan must turn round, and cannot?  PostgreSQL 15
 * and 16 make such paths, and raise an error where one becomes a plan.
 */
static bool
has_no_commutator(const Path *path)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	if (IsA(path, MergePath))
		clauses = ((const MergePath *) path)->path_mergeclauses;
	else if (IsA(path, HashPath))
		clauses = ((const HashPath *) path)->path_hashclauses;
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (bms_is_subset(rinfo->right_relids, ((const JoinPath *) path)->outerjoinpath->parent->relids) &&
			!OidIsValid(get_commutator(castNode(OpExpr, rinfo->clause)->opno)))
			return true;
	}
	return false;
}

/*
 * A copy of the cheapest ordinary path, to fall back to.  The original may be
 * freed by add_path as soon as it loses against another; what is below it may
 * not.
 */
Path *
gpucol_fallback_path(RelOptInfo *output_rel)
{
	Path	   *best = NULL;
	Path	   *copy;
	ListCell   *lc;

	foreach(lc, output_rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		/* planning a MinMaxAggPath would change the query's aggregates */
		if (path->param_info != NULL || IsA(path, MinMaxAggPath) ||
			path_size(path) == 0 || has_no_commutator(path))
			continue;
		if (best == NULL || path->total_cost < best->total_cost)
			best = path;
	}
	if (best == NULL)
		return NULL;
	copy = palloc(path_size(best));
	memcpy(copy, best, path_size(best));
	return copy;
}
