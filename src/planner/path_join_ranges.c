/*-------------------------------------------------------------------------
 *
 * path_join_ranges.c
 *	  Conditions of a join on ranges as comparisons of their bounds.
 *
 * No engine knows ranges.  Where a column of ranges comes from the rows of a plan, the plan computes its bounds as
 * columns more, and engines compare these:
 *
 *		r @> x		(lower(r) < x OR (lower(r) = x AND lower_inc(r)) OR (lower_inf(r) AND x IS NOT NULL))
 *					AND the same of upper(r)
 *		r && s		NOT isempty(r) AND NOT isempty(s)
 *					AND (lower(r) < upper(s) OR (lower(r) = upper(s) AND lower_inc(r) AND upper_inc(s))
 *						 OR lower_inf(r) OR upper_inf(s))
 *					AND the same the other way round
 *
 * Engines search by comparisons that are true of all that these pass, lower(r) <= x OR lower(r) IS NULL, and so on.
 *
 * Functions of ranges that a condition calls (`x >= lower(r) AND (upper_inf(r) OR x < upper(r))`) are computed so, too.
 *
 * Of an empty range the bounds are NULL, and not infinite: it contains nothing.  Where a range or x is NULL, the
 * condition does not pass, as before, be it for being NULL or false.  None of the functions raises an error.
 *
 * The bounds are placeholders, which plans and pipes hand on as they do columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/placeholder.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/make.h"
#include "planner/path_join_ranges.h"
#include "planner/subquery.h"

/* What is computed of a range: which bound, by which functions. */
typedef struct Bound
{
	Expr	   *value;			/* NULL: infinite, or of an empty range */
	Expr	   *inclusive;
	Expr	   *infinite;
} Bound;

/* A column of ranges. */
typedef struct Range
{
	const GpucolJoinSides *sides;
	GpucolPipe *pipe;			/* that has it */
	Var		   *column;
	Oid			bound_type;
	PathTarget *target;			/* of the plan, with what it computes more */
} Range;

/* The type of a range's bounds, of those that come with PostgreSQL and are compared by their type's order; else 0. */
static Oid
bound_type(Oid type)
{
	switch (type)
	{
		case INT4RANGEOID:
			return INT4OID;
		case INT8RANGEOID:
			return INT8OID;
		case DATERANGEOID:
			return DATEOID;
		case TSRANGEOID:
			return TIMESTAMPOID;
		case TSTZRANGEOID:
			return TIMESTAMPTZOID;
		default:
			return InvalidOid;
	}
}

/* May the user call the functions that plans compute bounds with? */
static bool
may_compute(void)
{
	static const Oid functions[] = {
		F_LOWER_ANYRANGE, F_LOWER_INC_ANYRANGE, F_LOWER_INF_ANYRANGE, F_UPPER_ANYRANGE, F_UPPER_INC_ANYRANGE,
		F_UPPER_INF_ANYRANGE, F_ISEMPTY_ANYRANGE
	};

	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (!gpucol_subquery_may_call(functions[i]))
			return false;
	}
	return true;
}

/* Is an expression a column of ranges of which the plan below one of the pipes can compute bounds? */
static bool
open_range(Range *range, const GpucolJoinSides *sides, GpucolPipeStep *step, Node *node)
{
	GpucolPipe *pipes[] = {sides->drive, step->build};

	memset(range, 0, sizeof(*range));
	if (!IsA(node, Var) || ((Var *) node)->varattno <= 0)
		return false;
	range->sides = sides;
	range->column = (Var *) node;
	range->bound_type = bound_type(((Var *) node)->vartype);
	for (int i = 0; i < (int) lengthof(pipes); i++)
	{
		if (pipes[i]->rti == 0 && pipes[i]->path != NULL && pipes[i]->sets == NIL &&
			list_member(pipes[i]->path->pathtarget->exprs, node))
			range->pipe = pipes[i];
	}
	return OidIsValid(range->bound_type) && range->pipe != NULL;
}

/* A function of the range, computed by the plan. */
static Expr *
compute(Range *range, Oid function, Oid type)
{
	Relids		table = bms_make_singleton(range->column->varno);
	FuncExpr   *call = makeFuncExpr(function, type, list_make1(copyObject(range->column)), InvalidOid, InvalidOid,
									COERCE_EXPLICIT_CALL);
	Expr	   *made = (Expr *) make_placeholder_expr(range->sides->root, (Expr *) call, table);

	add_column_to_pathtarget(range->target, made, 0);
	return made;
}

/* Start to compute what is wanted of a range. */
static void
begin_range(Range *range)
{
	range->target = copy_pathtarget(range->pipe->path->pathtarget);
}

/* Have the plan compute it. */
static void
end_range(Range *range)
{
	GpucolPipe *pipe = range->pipe;
	Cost		before = pipe->path->total_cost;
	int			more = list_length(range->target->exprs) - list_length(pipe->path->pathtarget->exprs);

	set_pathtarget_cost_width(range->sides->root, range->target);
	pipe->path = (Path *) create_projection_path(range->sides->root, pipe->path->parent, pipe->path, range->target);
	pipe->outputs = range->target->exprs;
	gpucol_pipe_source(pipe, gpucol_pipe_exprs_desc(pipe->outputs));
	*range->sides->computed += pipe->path->total_cost - before + more * pipe->path->rows * cpu_operator_cost;
}

/* A bound of a range, by the functions that give it and say of what kind it is. */
static Bound
bound_of(Range *range, Oid value, Oid inclusive, Oid infinite)
{
	Bound		bound = {.value = compute(range, value, range->bound_type)};

	bound.inclusive = compute(range, inclusive, BOOLOID);
	bound.infinite = compute(range, infinite, BOOLOID);
	return bound;
}

static Bound
lower_of(Range *range)
{
	return bound_of(range, F_LOWER_ANYRANGE, F_LOWER_INC_ANYRANGE, F_LOWER_INF_ANYRANGE);
}

static Bound
upper_of(Range *range)
{
	return bound_of(range, F_UPPER_ANYRANGE, F_UPPER_INC_ANYRANGE, F_UPPER_INF_ANYRANGE);
}

/* A comparison by the order of the bounds' type. */
static Expr *
compare(const Range *range, Expr *left, int strategy, Expr *right)
{
	Oid			family = lookup_type_cache(range->bound_type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			oper = get_opfamily_member(family, range->bound_type, range->bound_type, strategy);
	OpExpr	   *op = (OpExpr *) make_opclause(oper, BOOLOID, false, copyObject(left), copyObject(right), InvalidOid,
											  InvalidOid);

	set_opfuncid(op);
	return (Expr *) op;
}

/* A value on one side of a bound, or at an inclusive one. */
static Expr *
on_side(const Range *range, Expr *value, int strategy, const Bound *bound)
{
	Expr	   *on = make_andclause(list_make2(compare(range, value, BTEqualStrategyNumber, bound->value),
											   bound->inclusive));
	Expr	   *without = make_andclause(list_make2(bound->infinite,
													gpucol_make_null_test(copyObject(value), IS_NOT_NULL)));

	return make_orclause(list_make3(compare(range, value, strategy, bound->value), on, without));
}

/* A value is not beyond a bound, on the side of a strategy, if there is one. */
static Expr *
within(const Range *range, Expr *value, int strategy, const Bound *bound)
{
	return make_orclause(list_make2(compare(range, value, strategy, bound->value),
									gpucol_make_null_test(copyObject(bound->value), IS_NULL)));
}

/* A range @> a value. */
static Expr *
contains(Range *range, Expr *value)
{
	Bound		lower;
	Bound		upper;

	begin_range(range);
	lower = lower_of(range);
	upper = upper_of(range);
	end_range(range);
	return make_andclause(list_make4(within(range, value, BTGreaterEqualStrategyNumber, &lower),
									 within(range, value, BTLessEqualStrategyNumber, &upper),
									 on_side(range, value, BTGreaterStrategyNumber, &lower),
									 on_side(range, value, BTLessStrategyNumber, &upper)));
}

/* A lower bound that is not above an upper one. */
static Expr *
not_above(const Range *range, const Bound *lower, const Bound *upper)
{
	Expr	   *touch = make_andclause(list_make3(compare(range, lower->value, BTEqualStrategyNumber, upper->value),
												  copyObject(lower->inclusive), copyObject(upper->inclusive)));

	return make_orclause(list_make4(compare(range, lower->value, BTLessStrategyNumber, upper->value), touch,
									copyObject(lower->infinite), copyObject(upper->infinite)));
}

/* One range && another. */
static Expr *
overlap(Range *ranges)
{
	Bound		lower[2];
	Bound		upper[2];
	List	   *parts = NIL;

	for (int i = 0; i < 2; i++)
	{
		begin_range(&ranges[i]);
		parts = lappend(parts, make_notclause(compute(&ranges[i], F_ISEMPTY_ANYRANGE, BOOLOID)));
		lower[i] = lower_of(&ranges[i]);
		upper[i] = upper_of(&ranges[i]);
		end_range(&ranges[i]);
	}
	for (int i = 0; i < 2; i++)
	{
		Expr	   *bounded = within(&ranges[0], lower[i].value, BTLessEqualStrategyNumber, &upper[1 - i]);
		Expr	   *infinite = gpucol_make_null_test(copyObject(lower[i].value), IS_NULL);

		parts = lcons(make_orclause(list_make2(bounded, infinite)), parts);
		parts = lappend(parts, not_above(&ranges[0], &lower[i], &upper[1 - i]));
	}
	return make_andclause(parts);
}

/* Conditions that call functions of ranges, while plans come to compute these. */
typedef struct Calls
{
	const GpucolJoinSides *sides;
	GpucolPipeStep *step;
	int			count;
} Calls;

/* Have plans compute what a condition calls of columns of ranges. */
static Node *
compute_calls(Node *node, Calls *calls)
{
	FuncExpr   *call = (FuncExpr *) node;
	Range		range;
	Node	   *made;

	if (node == NULL || !IsA(node, FuncExpr) || list_length(call->args) != 1)
		return node == NULL ? NULL : expression_tree_mutator(node, compute_calls, calls);
	switch (call->funcid)
	{
		case F_LOWER_ANYRANGE:
		case F_LOWER_INC_ANYRANGE:
		case F_LOWER_INF_ANYRANGE:
		case F_UPPER_ANYRANGE:
		case F_UPPER_INC_ANYRANGE:
		case F_UPPER_INF_ANYRANGE:
		case F_ISEMPTY_ANYRANGE:
			if (!open_range(&range, calls->sides, calls->step, linitial(call->args)))
				return node;
			begin_range(&range);
			made = (Node *) compute(&range, call->funcid, call->funcresulttype);
			end_range(&range);
			calls->count++;
			return made;
		default:
			return expression_tree_mutator(node, compute_calls, calls);
	}
}

/* The condition with what plans compute of ranges; NULL: they compute nothing. */
static Expr *
call_before(const GpucolJoinSides *sides, GpucolPipeStep *step, Expr *condition)
{
	Calls		calls = {sides, step, 0};
	Expr	   *result = (Expr *) compute_calls((Node *) condition, &calls);

	return calls.count > 0 ? result : NULL;
}

/* The condition in other words, of pipes that may be changed. */
static Expr *
rewrite(const GpucolJoinSides *sides, GpucolPipeStep *step, const OpExpr *op)
{
	Range		ranges[2];
	int			n;

	switch (op->opfuncid)
	{
		case F_RANGE_CONTAINS_ELEM:
		case F_ELEM_CONTAINED_BY_RANGE:
			n = op->opfuncid == F_RANGE_CONTAINS_ELEM ? 0 : 1;
			return open_range(&ranges[0], sides, step, list_nth(op->args, n)) ?
				contains(&ranges[0], list_nth(op->args, 1 - n)) : NULL;
		case F_RANGE_OVERLAPS:
			return open_range(&ranges[0], sides, step, linitial(op->args)) &&
				open_range(&ranges[1], sides, step, lsecond(op->args)) ? overlap(ranges) : NULL;
		default:
			return NULL;
	}
}

Expr *
gpucol_join_range_condition(const GpucolJoinSides *sides, GpucolPipeStep *step, Expr *condition, bool calls)
{
	GpucolPipe	drive = *sides->drive;
	GpucolPipe *build = step->build;
	Cost		computed = *sides->computed;
	Expr	   *rewritten;

	if (!may_compute())
		return NULL;
	/* other joins have the pipe as it is */
	step->build = palloc(sizeof(GpucolPipe));
	*step->build = *build;
	rewritten = IsA(condition, OpExpr) ? rewrite(sides, step, (const OpExpr *) condition) : NULL;
	if (rewritten == NULL && calls)
		rewritten = call_before(sides, step, condition);
	if (rewritten != NULL && gpucol_pipe_check_condition(sides->drive, step->build, rewritten) == NULL)
		return rewritten;
	*sides->drive = drive;
	step->build = build;
	*sides->computed = computed;
	return NULL;
}
