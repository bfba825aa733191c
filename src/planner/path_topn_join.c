/*-------------------------------------------------------------------------
 *
 * path_topn_join.c
 *	  ORDER BY ... LIMIT k over joined rows: the GpucolJoin delivers only those that can be
 *	  among the first k.
 *
 * As many of the first sort keys as the node can compare say which rows these are
 * (exec/topn_stream.c); PostgreSQL's Sort and Limit above finish the work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
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

/* The first sort keys by which rows can be compared (of Expr) and what the plan carries of them. */
static List *
find_keys(PlannerInfo *root, const GpucolJoinPipe *join, List *target, List **limit,
		  const char **why)
{
	GpucolPipe *pipe = join->pipe;
	GpucolLower *l;
	List	   *exprs = NIL;
	List	   *descending = NIL;
	List	   *nulls_first = NIL;
	List	   *operators = NIL;
	bool		last = false;
	ListCell   *lc;

	gpucol_pipe_layout(pipe, target, false);
	l = gpucol_pipe_begin(pipe, NULL);
	*why = l->reason;
	if (!gpucol_pipe_lower(l, pipe))
	{
		*why = l->reason;
		return NIL;
	}
	foreach(lc, root->sort_pathkeys)
	{
		int			n = list_length(exprs);
		GpucolSortKey key;

		*why = "an order other than the type's own";
		if (last || n == GPUCOL_SHAPE_MAX_KEYS || !gpucol_topn_find_key(root, lfirst(lc), &key) ||
			!check_key(l, pipe, &key, n, &last, why))
			break;
		exprs = lappend(exprs, key.expr);
		descending = lappend_int(descending, key.descending);
		nulls_first = lappend_int(nulls_first, key.nulls_first);
		operators = lappend_oid(lappend_oid(lappend_oid(operators, key.not_after), key.before),
								key.equal);
	}
	*limit = list_make5(makeInteger((int) root->limit_tuples), makeInteger(true), descending,
						nulls_first, operators);
	return exprs;
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
	List	   *keys = NIL;
	List	   *limit;
	List	   *columns;
	GpucolJoinPipe *pipe;
	Path	   *path;

	if (outer == NULL || target == NULL || root->parse->hasTargetSRFs ||
		root->sort_pathkeys == NIL || root->limit_tuples < 1 ||
		gpucol_topn_limit(root->parse) == 0 || root->limit_tuples >= outer->rows)
		return;
	pipe = gpucol_join_path_pipe(outer, &columns);
	if (gpucol_enable_topk)
		keys = find_keys(root, pipe, columns, &limit, &why);
	if (keys == NIL)
	{
		gpucol_reason_add(InvalidOid, "top rows", "%s", why);
		return;
	}
	path = (Path *) gpucol_join_limited(outer, keys, limit,
										delivered_rows(outer->rows, root->limit_tuples));
	path = (Path *) create_sort_path(root, output_rel, path, root->sort_pathkeys, root->limit_tuples);
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, output_rel, path, target);
	add_path(output_rel, path);
}
