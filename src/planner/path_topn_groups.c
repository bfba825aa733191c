/*-------------------------------------------------------------------------
 *
 * path_topn_groups.c
 *	  ORDER BY ... LIMIT k over the groups of a GpucolAgg: the node delivers only those
 *	  that can be among the first k.
 *
 * As many of the first sort keys as are keys or aggregates of the node say which groups
 * these are; PostgreSQL's Sort and Limit above finish the work.  What an engine cannot
 * tell it delivers (exec/first.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "guc.h"
#include "planner/path_agg.h"
#include "planner/path_topn.h"
#include "planner/planner.h"

/* The GpucolAgg among these, or NULL; not one that ranks uncertain rows. */
static CustomPath *
find_agg_path(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		CustomPath *path = lfirst(lc);

		if (IsA(path, CustomPath) && strcmp(path->methods->CustomName, "GpucolAgg") == 0 &&
			intVal(list_nth(path->custom_private, PATH_PRIVATE_RANKING)) == 0 &&
			list_nth(path->custom_private, PATH_PRIVATE_SETS) == NIL &&
			list_nth(path->custom_private, PATH_PRIVATE_KEYS) != NIL)
			return path;
	}
	return NULL;
}

/* The place of an expression among keys and aggregates, or -1. */
static int
find_place(const CustomPath *path, const Expr *expr)
{
	List	   *values = list_concat_copy(list_nth(path->custom_private, PATH_PRIVATE_KEYS),
										  list_nth(path->custom_private, PATH_PRIVATE_AGGS));
	ListCell   *lc;

	foreach(lc, values)
	{
		if (equal(lfirst(lc), expr))
			return foreach_current_index(lc);
	}
	return -1;
}

/* What the plan node carries of the first groups; NIL if it does not know the first sort key. */
static List *
first_private(PlannerInfo *root, const CustomPath *path, int limit)
{
	List	   *places = NIL;
	List	   *descending = NIL;
	List	   *nulls_first = NIL;
	bool		ties = root->parse->limitOption == LIMIT_OPTION_WITH_TIES;
	ListCell   *lc;

	foreach(lc, root->sort_pathkeys)
	{
		GpucolSortKey key;
		int			place = gpucol_topn_find_key(root, lfirst(lc), &key) ?
			find_place(path, key.expr) : -1;

		if (place < 0)
			break;
		places = lappend_int(places, place);
		descending = lappend_int(descending, key.descending);
		nulls_first = lappend_int(nulls_first, key.nulls_first);
	}
	if (places == NIL)
		return NIL;
	ties |= list_length(places) < list_length(root->sort_pathkeys);
	return list_make5(makeInteger(limit), makeInteger(ties), places, descending,
					  nulls_first);
}

/* A copy of the path that delivers the first groups. */
static CustomPath *
limited_path(const CustomPath *path, int limit, List *first)
{
	CustomPath *copy = makeNode(CustomPath);
	double		share = limit / Max(path->path.rows, limit);

	memcpy(copy, path, sizeof(CustomPath));
	copy->custom_private = list_copy(path->custom_private);
	lfirst(list_nth_cell(copy->custom_private, PATH_PRIVATE_FIRST)) = first;
	copy->path.rows = Min(limit, path->path.rows);
	copy->path.total_cost = path->path.startup_cost +
		(path->path.total_cost - path->path.startup_cost) * share;
	return copy;
}

/*
 * UPPERREL_ORDERED above an aggregation: its first groups, sorted.
 */
void
gpucol_path_topn_groups(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	CustomPath *agg = find_agg_path(input_rel->pathlist);
	int			limit = gpucol_topn_limit(root->parse);
	List	   *first;
	Path	   *path;

	if (agg == NULL || target == NULL || root->parse->hasTargetSRFs || !gpucol_enable_topk ||
		root->sort_pathkeys == NIL || limit == 0)
		return;
	first = first_private(root, agg, limit);
	if (first == NIL)
		return;
	path = (Path *) create_sort_path(root, output_rel, &limited_path(agg, limit, first)->path,
									 root->sort_pathkeys, limit);
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, output_rel, path, target);
	add_path(output_rel, path);
}
