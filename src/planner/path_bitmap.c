/*-------------------------------------------------------------------------
 *
 * path_bitmap.c
 *	  Bitmaps of gpucol tables, in which BRIN does not meet other indexes.
 *
 * BRIN gives the pages of segments, other indexes give packed rows by their TIDs, which name other
 * blocks (columnar/block_ranges.h).  Of the one and the other together PostgreSQL would take the
 * intersection for empty, and read a row twice from the union.  So of an intersection
 * the indexes of one kind are left, and a union of both kinds is no path; what an index no longer
 * tests is tested above, as PostgreSQL makes the plan of what is left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"

#include "planner/planner.h"

/* What a bitmap names. */
#define NAMES_ROWS		1
#define NAMES_BLOCKS	2

static int
names(const IndexOptInfo *index)
{
	return index->relam == BRIN_AM_OID ? NAMES_BLOCKS : NAMES_ROWS;
}

static Path *part_of_one_kind(PlannerInfo *root, RelOptInfo *rel, Path *path, int *kind);

/* Of an intersection the inputs of one kind: by rows, where there are both. */
static Path *
and_of_one_kind(PlannerInfo *root, RelOptInfo *rel, BitmapAndPath *path, int *kind)
{
	List	   *rows = NIL;
	List	   *blocks = NIL;
	List	   *all;
	ListCell   *lc;

	foreach(lc, path->bitmapquals)
	{
		int			one;
		Path	   *part = part_of_one_kind(root, rel, lfirst(lc), &one);

		if (part == NULL)
			continue;
		if (one == NAMES_ROWS)
			rows = lappend(rows, part);
		else
			blocks = lappend(blocks, part);
	}
	*kind = rows != NIL ? NAMES_ROWS : NAMES_BLOCKS;
	all = rows != NIL ? rows : blocks;
	if (list_length(all) <= 1)
		return all == NIL ? NULL : linitial(all);
	return (Path *) create_bitmap_and_path(root, rel, all);
}

/* A union whose inputs are all of one kind, else NULL. */
static Path *
or_of_one_kind(PlannerInfo *root, RelOptInfo *rel, BitmapOrPath *path, int *kind)
{
	List	   *parts = NIL;
	ListCell   *lc;

	*kind = 0;
	foreach(lc, path->bitmapquals)
	{
		int			one;
		Path	   *part = part_of_one_kind(root, rel, lfirst(lc), &one);

		if (part == NULL || (*kind != 0 && *kind != one))
			return NULL;
		*kind = one;
		parts = lappend(parts, part);
	}
	return (Path *) create_bitmap_or_path(root, rel, parts);
}

/* What of a bitmap names rows or blocks only; NULL where nothing of it will do. */
static Path *
part_of_one_kind(PlannerInfo *root, RelOptInfo *rel, Path *path, int *kind)
{
	if (IsA(path, BitmapAndPath))
		return and_of_one_kind(root, rel, (BitmapAndPath *) path, kind);
	if (IsA(path, BitmapOrPath))
		return or_of_one_kind(root, rel, (BitmapOrPath *) path, kind);
	*kind = names(castNode(IndexPath, path)->indexinfo);
	return path;
}

/* Which kinds a bitmap names. */
static int
kinds_of(Path *path)
{
	List	   *parts;
	ListCell   *lc;
	int			kinds = 0;

	if (IsA(path, IndexPath))
		return names(((IndexPath *) path)->indexinfo);
	parts = IsA(path, BitmapAndPath) ? ((BitmapAndPath *) path)->bitmapquals :
		castNode(BitmapOrPath, path)->bitmapquals;
	foreach(lc, parts)
		kinds |= kinds_of(lfirst(lc));
	return kinds;
}

/* Take the paths of mixed bitmaps out of a list; returns them. */
static List *
take_mixed(List **paths)
{
	List	   *mixed = NIL;
	ListCell   *lc;

	foreach(lc, *paths)
	{
		Path	   *path = lfirst(lc);

		if (!IsA(path, BitmapHeapPath) ||
			kinds_of(((BitmapHeapPath *) path)->bitmapqual) != (NAMES_ROWS | NAMES_BLOCKS))
			continue;
		mixed = lappend(mixed, path);
		*paths = foreach_delete_current(*paths, lc);
	}
	return mixed;
}

/* A path like one of a mixed bitmap, by the indexes of one kind; or NULL. */
static Path *
like_path(PlannerInfo *root, RelOptInfo *rel, const BitmapHeapPath *path)
{
	int			kind;
	Path	   *part = part_of_one_kind(root, rel, path->bitmapqual, &kind);

	if (part == NULL)
		return NULL;
	return (Path *) create_bitmap_heap_path(root, rel, part, PATH_REQ_OUTER(&path->path), 1.0,
											path->path.parallel_workers);
}

/* Has the table a path that needs nothing of other tables than it must? */
static bool
has_own_path(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (bms_is_subset(PATH_REQ_OUTER((Path *) lfirst(lc)), rel->lateral_relids))
			return true;
	}
	return false;
}

void
gpucol_path_bitmap_unmix(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *mixed = take_mixed(&rel->pathlist);
	List	   *partial = take_mixed(&rel->partial_pathlist);
	ListCell   *lc;

	foreach(lc, mixed)
	{
		Path	   *path = like_path(root, rel, lfirst(lc));

		if (path != NULL)
			add_path(rel, path);
	}
	foreach(lc, partial)
	{
		Path	   *path = like_path(root, rel, lfirst(lc));

		if (path != NULL)
			add_partial_path(rel, path);
	}
	/* the scan of the table may have been given up for what is no path any more */
	if (!has_own_path(rel))
		add_path(rel, create_seqscan_path(root, rel, rel->lateral_relids, 0));
}
