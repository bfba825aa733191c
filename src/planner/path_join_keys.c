/*-------------------------------------------------------------------------
 *
 * path_join_keys.c
 *	  Equalities of a join as keys of a step.
 *
 * A side that no engine computes, such as a concatenation of texts, can still be a key where
 * its rows come from a plan: the plan computes it, as a column more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "planner/path_join.h"
#include "planner/path_join_keys.h"

/* Can the plan whose rows a pipe reads compute a key that the pipe's engine cannot? */
static bool
may_compute(const GpucolJoinSides *sides, const GpucolPipe *pipe, Expr *key)
{
	ListCell   *lc;

	if (pipe->rti != 0 || pipe->path == NULL || pipe->sets != NIL || IsA(key, Var) ||
		!bms_is_subset(pull_varnos(sides->root, (Node *) key), pipe->path->parent->relids) ||
		contain_subplans((Node *) key) || gpucol_pipe_ask(pipe, NULL, key, GPUCOL_PIPE_KEY).reason == NULL)
		return false;
	foreach(lc, pull_var_clause((Node *) key, PVC_INCLUDE_PLACEHOLDERS))
	{
		if (!IsA(lfirst(lc), Var) || lfirst_node(Var, lc)->varattno <= 0 ||
			!list_member(pipe->path->pathtarget->exprs, lfirst(lc)))
			return false;
	}
	return true;
}

/* Have it computed, if that can be. */
static void
compute(const GpucolJoinSides *sides, GpucolPipe *pipe, Expr *key)
{
	Cost		before;
	PathTarget *target;

	if (!may_compute(sides, pipe, key))
		return;
	before = pipe->path->total_cost;
	target = copy_pathtarget(pipe->path->pathtarget);
	add_column_to_pathtarget(target, key, 0);
	set_pathtarget_cost_width(sides->root, target);
	pipe->path = (Path *) create_projection_path(sides->root, pipe->path->parent, pipe->path, target);
	pipe->outputs = target->exprs;
	gpucol_pipe_source(pipe, gpucol_pipe_exprs_desc(pipe->outputs));
	*sides->computed += pipe->path->total_cost - before;
}

/* Add an equality of two expressions. */
static bool
add_equality(const GpucolJoinSides *sides, GpucolPipeStep *step, Expr *outer, Expr *inner, Oid oper)
{
	GpucolPipe	drive = *sides->drive;
	GpucolPipe *build = step->build;
	Cost		computed = *sides->computed;

	if (gpucol_pipe_add_key(sides->drive, step, outer, inner, oper) == NULL)
		return true;
	/* other joins have the pipe as it is */
	step->build = palloc(sizeof(GpucolPipe));
	*step->build = *build;
	compute(sides, sides->drive, outer);
	compute(sides, step->build, inner);
	if ((sides->drive->path != drive.path || step->build->path != build->path) &&
		gpucol_pipe_add_key(sides->drive, step, outer, inner, oper) == NULL)
		return true;
	*sides->drive = drive;
	step->build = build;
	*sides->computed = computed;
	return false;
}

/* Is the left operand of an equality of some tables, and the right one of others? */
static bool
operands_are_of(const RestrictInfo *rinfo, Relids left, Relids right)
{
	return bms_is_subset(rinfo->left_relids, left) && bms_is_subset(rinfo->right_relids, right);
}

bool
gpucol_join_add_key(const GpucolJoinSides *sides, GpucolPipeStep *step, RestrictInfo *rinfo)
{
	OpExpr	   *op = (OpExpr *) rinfo->clause;

	if (!rinfo->can_join || rinfo->mergeopfamilies == NIL || !IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	if (operands_are_of(rinfo, sides->drive_relids, sides->build_relids))
		return add_equality(sides, step, linitial(op->args), lsecond(op->args), op->opno);
	if (operands_are_of(rinfo, sides->build_relids, sides->drive_relids))
		return add_equality(sides, step, lsecond(op->args), linitial(op->args), op->opno);
	return false;
}

bool
gpucol_join_is_equality(const GpucolJoinSides *sides, const RestrictInfo *rinfo)
{
	if (!rinfo->can_join || (rinfo->mergeopfamilies == NIL && !OidIsValid(rinfo->hashjoinoperator)))
		return false;
	return operands_are_of(rinfo, sides->drive_relids, sides->build_relids) ||
		operands_are_of(rinfo, sides->build_relids, sides->drive_relids);
}

bool
gpucol_join_makes_text(const RestrictInfo *rinfo)
{
	ListCell   *lc;

	foreach(lc, castNode(OpExpr, rinfo->clause)->args)
	{
		Node	   *side = strip_implicit_coercions(lfirst(lc));

		if (!IsA(side, Var) && get_typlen(exprType(side)) == -1)
			return true;
	}
	return false;
}
