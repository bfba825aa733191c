/*-------------------------------------------------------------------------
 *
 * path_topn_join.c
 *	  ORDER BY ... LIMIT k over joined rows: the GpucolJoin delivers only those that can be
 *	  among the first k.
 *
 * As many of the first sort keys as the node can compare say which rows these are
 * (exec/topn_stream.c); PostgreSQL's Sort and Limit above finish the work.
 *
 * So it is for the first row of each partition of a window, where partitions are made of the rows of
 * the table that flows: of the joined rows that are made of one such row, side by side, only those
 * that come first can be it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"

#include "guc.h"
#include "kernel/shape.h"
#include "lower/order.h"
#include "plan/plan.h"
#include "plan/reason.h"
#include "planner/path_join.h"
#include "planner/path_topn.h"
#include "planner/planner.h"

/* Can rows be compared by the n-th key?  Else *why not; a key of byte strings is the last. */
static bool
check_key(GpucolLower *l, const GpucolPipe *pipe, const GpucolSortKey *key, int n, bool *last,
		  const char **why)
{
	Oid			type = exprType((Node *) key->expr);
	GpucolValue value;

	if (!gpucol_lower_output(l, (Expr *) gpucol_pipe_map(pipe, (Node *) key->expr), &value))
	{
		*why = psprintf("sort key: %s", l->reason);
		return false;
	}
	if (gpucol_order_compares(key->expr, n, &value, last))
		return true;
	*why = psprintf("sort key of type %s", format_type_be(type));
	return false;
}

/* The sort keys by which rows can be compared, and what the plan carries of them. */
typedef struct Keys
{
	List	   *exprs;
	List	   *descending;
	List	   *nulls_first;
	List	   *operators;
	bool		last;			/* there can be no more */
} Keys;

/* Lower the pipe, for keys; NULL with *why. */
static GpucolLower *
lower_pipe(GpucolPipe *pipe, List *target, const char **why)
{
	GpucolLower *l;

	gpucol_pipe_layout(pipe, target, false);
	l = gpucol_pipe_begin(pipe, NULL);
	*why = l->reason;
	if (gpucol_pipe_lower(l, pipe))
		return l;
	*why = l->reason;
	return NULL;
}

/* Take a key in, if rows can be compared by it. */
static bool
add_key(Keys *keys, GpucolLower *l, const GpucolPipe *pipe, const GpucolSortKey *key, const char **why)
{
	if (!check_key(l, pipe, key, list_length(keys->exprs), &keys->last, why))
		return false;
	keys->exprs = lappend(keys->exprs, key->expr);
	keys->descending = lappend_int(keys->descending, key->descending);
	keys->nulls_first = lappend_int(keys->nulls_first, key->nulls_first);
	keys->operators = lappend_oid(lappend_oid(lappend_oid(keys->operators, key->not_after), key->before),
								  key->equal);
	return true;
}

/* What the plan carries. */
static List *
save_keys(const Keys *keys, int limit)
{
	return list_make5(makeInteger(limit), makeInteger(true), keys->descending, keys->nulls_first,
					  keys->operators);
}

/* The first sort keys by which rows can be compared. */
static Keys
find_keys(PlannerInfo *root, const GpucolJoinPipe *join, List *target, const char **why)
{
	Keys		keys = {0};
	GpucolLower *l = lower_pipe(join->pipe, target, why);
	ListCell   *lc;

	if (l == NULL)
		return keys;
	foreach(lc, root->sort_pathkeys)
	{
		GpucolSortKey key;

		*why = "an order other than the type's own";
		if (keys.last || list_length(keys.exprs) == GPUCOL_SHAPE_MAX_KEYS ||
			!gpucol_topn_find_key(root, lfirst(lc), &key) || !add_key(&keys, l, join->pipe, &key, why))
			break;
	}
	return keys;
}

/* Rows of n in any order that come among the k first of those before them. */
static double
delivered_rows(double n, double k)
{
	return n <= k ? n : k * (1 + log(n / k));
}

/*
 * UPPERREL_ORDERED: the path of a pipe, cut to the top rows, sorted.
 */
void
gpucol_path_topn_join(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Path	   *outer = gpucol_join_find_path(input_rel->pathlist);
	const char *why = "gpucol.enable_topk is off";
	Keys		keys = {0};
	List	   *columns;
	GpucolJoinPipe *pipe;
	Path	   *path;

	if (outer == NULL || target == NULL || root->parse->hasTargetSRFs ||
		root->sort_pathkeys == NIL || root->limit_tuples < 1 ||
		gpucol_topn_limit(root->parse) == 0 || root->limit_tuples >= outer->rows)
		return;
	pipe = gpucol_join_path_pipe(outer, &columns);
	if (gpucol_enable_topk)
		keys = find_keys(root, pipe, columns, &why);
	if (keys.exprs == NIL)
	{
		gpucol_reason_add(InvalidOid, "top rows", "%s", why);
		return;
	}
	path = (Path *) gpucol_join_limited(outer, keys.exprs, save_keys(&keys, (int) root->limit_tuples),
										delivered_rows(outer->rows, root->limit_tuples));
	path = (Path *) create_sort_path(root, output_rel, path, root->sort_pathkeys, root->limit_tuples);
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, output_rel, path, target);
	add_path(output_rel, path);
}

/* The range table indexes of the rows that flow, of a pipe whose joined rows all are made of one of them. */
static Bitmapset *
flowing_tables(const GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		switch (((const GpucolPipeStep *) lfirst(lc))->kind)
		{
			case GPUCOL_JOIN_RIGHT:
			case GPUCOL_JOIN_FULL:
			case GPUCOL_JOIN_RIGHT_SEMI:
			case GPUCOL_JOIN_RIGHT_ANTI:
				return NULL;
			default:
				break;
		}
	}
	if (pipe->rti > 0)
		return bms_make_singleton((int) pipe->rti);
	return pipe->path == NULL ? NULL : bms_copy(pipe->path->parent->relids);
}

/* Is a flowing row joined with all rows of some table, however few of them are expected? */
static bool
multiplies(const GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if ((step->kind == GPUCOL_JOIN_INNER || step->kind == GPUCOL_JOIN_LEFT) && step->outer_keys == NIL)
			return true;
	}
	return false;
}

/* Is an expression equal for all rows that are made of one row of these tables, which flow? */
static bool
is_of_flowing(PlannerInfo *root, const GpucolPipe *pipe, Bitmapset *tables, Node *expr)
{
	ListCell   *lc;
	ListCell   *inner;
	ListCell   *outer;

	if (contain_volatile_functions(expr))
		return false;
	if (bms_is_subset(pull_varnos(root, expr), tables))
		return true;
	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (step->kind != GPUCOL_JOIN_INNER)
			continue;
		forboth(inner, step->inner_keys, outer, step->outer_keys)
		{
			if (equal(lfirst(inner), expr) && bms_is_subset(pull_varnos(root, lfirst(outer)), tables))
				return true;
		}
	}
	return false;
}

Path *
gpucol_path_topn_first(PlannerInfo *root, List *paths, const SortGroupClause *order, List *partition)
{
	Path	   *outer = gpucol_join_find_path(paths);
	const char *why;
	List	   *columns;
	const GpucolJoinPipe *pipe;
	Bitmapset  *tables;
	RelOptInfo *rel;
	GpucolLower *l;
	GpucolSortKey key;
	GpucolValue value;
	Keys		keys = {0};
	ListCell   *lc;

	if (outer == NULL || outer->param_info != NULL)
		return NULL;
	pipe = gpucol_join_path_pipe(outer, &columns);
	tables = flowing_tables(pipe->pipe);
	if (tables == NULL || !gpucol_topn_clause_key(root, order, &key))
		return NULL;
	foreach(lc, partition)
	{
		if (!is_of_flowing(root, pipe->pipe, tables, lfirst(lc)))
			return NULL;
	}
	rel = pipe->pipe->rti > 0 ? find_base_rel(root, (int) pipe->pipe->rti) : pipe->pipe->path->parent;
	if ((rel->rows >= outer->rows && !multiplies(pipe->pipe)) || (l = lower_pipe(pipe->pipe, columns, &why)) == NULL ||
		!gpucol_lower_output(l, (Expr *) gpucol_pipe_map(pipe->pipe, (Node *) key.expr), &value) ||
		value.cls == GPUCOL_CLASS_S || !add_key(&keys, l, pipe->pipe, &key, &why))
		return NULL;
	return (Path *) gpucol_join_limited(outer, keys.exprs, save_keys(&keys, 0),
										  Min(rel->rows, outer->rows));
}
