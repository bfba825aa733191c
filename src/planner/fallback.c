/*-------------------------------------------------------------------------
 *
 * fallback.c
 *	  The ordinary path that a node of ours carries for what no engine can run.
 *
 * A node that reads other paths, those of subqueries say, has them in its fallback, too, and so
 * has each node of ours below.  Queries within queries would have plans that double with each
 * level.  So where there are more than MOST_DOUBLED such nodes in a fallback, it becomes plain:
 * what they fall back to, themselves plain, stands in their place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/twice.h"
#include "planner/planner.h"

/* As many nodes with a plan and a fallback may a fallback have: 0 or more, since what is plain has others below it. */
#define MOST_DOUBLED	8

/* A kind of path that has others below: its size, and where they are. */
typedef struct PathKind
{
	NodeTag		tag;
	Size		size;
	Size		child[2];		/* offsets of pointers; 0: none */
	Size		list;			/* offset of a list of them; 0: none */
} PathKind;

#define ONE_CHILD(type)		{T_##type, sizeof(type), {offsetof(type, subpath)}, 0}
#define JOINED(type)		{T_##type, sizeof(type), \
								{offsetof(JoinPath, outerjoinpath), offsetof(JoinPath, innerjoinpath)}, 0}
#define TWO_CHILDREN(type)	{T_##type, sizeof(type), {offsetof(type, leftpath), offsetof(type, rightpath)}, 0}

static const PathKind path_kinds[] = {
	ONE_CHILD(SubqueryScanPath), ONE_CHILD(MaterialPath), ONE_CHILD(MemoizePath), ONE_CHILD(UniquePath),
	ONE_CHILD(GatherPath), ONE_CHILD(GatherMergePath), ONE_CHILD(ProjectionPath), ONE_CHILD(ProjectSetPath),
	ONE_CHILD(SortPath), ONE_CHILD(GroupPath), ONE_CHILD(UpperUniquePath), ONE_CHILD(AggPath),
	ONE_CHILD(GroupingSetsPath), ONE_CHILD(WindowAggPath), ONE_CHILD(LimitPath),
	{T_IncrementalSortPath, sizeof(IncrementalSortPath), {offsetof(SortPath, subpath)}, 0},
	JOINED(NestPath), JOINED(MergePath), JOINED(HashPath), TWO_CHILDREN(RecursiveUnionPath),
#if gpucol_compat_setop_of_two
	TWO_CHILDREN(SetOpPath),
#else
	ONE_CHILD(SetOpPath),
#endif
	{T_AppendPath, sizeof(AppendPath), {0}, offsetof(AppendPath, subpaths)},
	{T_MergeAppendPath, sizeof(MergeAppendPath), {0}, offsetof(MergeAppendPath, subpaths)},
};

/* What a kind of path is like, or NULL if it has none below that concern a fallback. */
static const PathKind *
kind_of(const Path *path)
{
	for (int i = 0; i < (int) lengthof(path_kinds); i++)
	{
		if (path_kinds[i].tag == nodeTag(path))
			return &path_kinds[i];
	}
	return NULL;
}

/* A pointer or list in a path, at an offset. */
static void *
field_at(void *path, Size offset)
{
	return (char *) path + offset;
}

/* The paths below a path, a node of ours among them; a list of the caller's. */
static List *
paths_below(Path *path)
{
	const PathKind *kind = kind_of(path);
	List	   *below = NIL;

	if (IsA(path, CustomPath))
		return list_copy(((CustomPath *) path)->custom_paths);
	if (kind == NULL)
		return NIL;
	for (int i = 0; i < 2 && kind->child[i] != 0; i++)
		below = lappend(below, *(Path **) field_at(path, kind->child[i]));
	return kind->list == 0 ? below : list_copy(*(List **) field_at(path, kind->list));
}

/* Count the nodes that have what they read and a fallback, up to the most that may be. */
static void
count_doubled(Path *path, int *n)
{
	List	   *below;
	ListCell   *lc;

	check_stack_depth();
	below = paths_below(path);
	*n += IsA(path, CustomPath) && list_length(below) > 1;
	foreach(lc, below)
	{
		if (*n <= MOST_DOUBLED)
			count_doubled(lfirst(lc), n);
	}
	list_free(below);
}

/* What a node of ours falls back to, if that can stand in its place, else NULL. */
static Path *
stand_in(PlannerInfo *root, CustomPath *path)
{
	Path	   *fallback;

	if ((path->flags & GPUCOL_PATH_FALLS_BACK) == 0)
		return NULL;
	fallback = linitial(path->custom_paths);
	if (!pathkeys_contained_in(path->path.pathkeys, fallback->pathkeys) ||
		path->path.param_info != fallback->param_info)
		return NULL;
	if (equal(path->path.pathtarget->exprs, fallback->pathtarget->exprs))
		return fallback;
	return (Path *) create_projection_path(root, path->path.parent, fallback, path->path.pathtarget);
}

/* A merge join sorts no side that comes in order now that it is plain; the inner one is read again from a copy. */
static void
drop_sorts(MergePath *path)
{
	if (pathkeys_contained_in(path->outersortkeys, path->jpath.outerjoinpath->pathkeys))
		path->outersortkeys = NIL;
	if (path->innersortkeys == NIL ||
		!pathkeys_contained_in(path->innersortkeys, path->jpath.innerjoinpath->pathkeys))
		return;
	path->innersortkeys = NIL;
	path->materialize_inner = true;
}

/* A path without nodes of ours that have a fallback. */
static Path *
plain_path(PlannerInfo *root, Path *path)
{
	const PathKind *kind = kind_of(path);
	Path	   *copy;
	List	  **list;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(path, CustomPath))
	{
		copy = stand_in(root, (CustomPath *) path);
		return copy == NULL ? path : plain_path(root, copy);
	}
	if (kind == NULL)
		return path;
	if (IsA(path, SubqueryScanPath))
		root = path->parent->subroot;
	copy = palloc(kind->size);
	memcpy(copy, path, kind->size);
	for (int i = 0; i < 2 && kind->child[i] != 0; i++)
	{
		Path	  **child = field_at(copy, kind->child[i]);

		*child = plain_path(root, *child);
	}
	if (IsA(copy, MergePath))
		drop_sorts((MergePath *) copy);
	if (kind->list == 0)
		return copy;
	list = field_at(copy, kind->list);
	*list = list_copy(*list);
	foreach(lc, *list)
		lfirst(lc) = plain_path(root, lfirst(lc));
	return copy;
}

/* Has a query subqueries in FROM? */
static bool
has_subqueries(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rel_array[i] != NULL && root->simple_rel_array[i]->subroot != NULL)
			return true;
	}
	return false;
}

/* The size of the node of a path that may end a grouping step, a join or a scan; 0: it may not. */
static Size
path_size(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
		case T_GroupPath:
		case T_GroupingSetsPath:
		case T_UpperUniquePath:
		case T_ProjectionPath:
		case T_GatherPath:
		case T_GatherMergePath:
		case T_LimitPath:
		case T_WindowAggPath:
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return kind_of(path)->size;
		case T_GroupResultPath:
			return sizeof(GroupResultPath);
		case T_Path:
			return sizeof(Path);
		case T_CustomPath:
			return strcmp(((const CustomPath *) path)->methods->CustomName, "GpucolScan") == 0 ?
				sizeof(CustomPath) : 0;
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
 * A copy of the cheapest ordinary path of a relation, to fall back to; NULL if there is none.  The
 * original may be freed by add_path as soon as it loses against another; what is below it may not.
 */
Path *
gpucol_fallback_path(PlannerInfo *root, RelOptInfo *output_rel)
{
	Path	   *best = NULL;
	Path	   *copy;
	int			doubled = 0;
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
	if (has_subqueries(root))
		count_doubled(best, &doubled);
	if (doubled > MOST_DOUBLED)
		return plain_path(root, best);
	copy = palloc(path_size(best));
	memcpy(copy, best, path_size(best));
	return copy;
}
