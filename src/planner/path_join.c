/*-------------------------------------------------------------------------
 *
 * path_join.c
 *	  GpucolJoin: joins of gpucol tables with anything.
 *
 * Each relation of the join search, base or joined, may have a pipe (lower/pipe.h): a
 * gpucol table whose rows flow through lookups of built tables.  PostgreSQL's search asks
 * for each pair of relations; either may be the one whose rows flow, by its own pipe or
 * as the rows of its cheapest path, and the other one the table that is built, likewise.
 * The cheapest such pipe stays with the joined relation, as a path and
 * for what is planned above it: an aggregation takes the pipe, not the path, and does
 * without forming rows.
 *
 * Conditions on joined rows that no engine knows are tested by PostgreSQL in the node that
 * delivers them, where rows are joined by other conditions as well.  Such a relation has a path
 * but no pipe: what is planned above it reads the path's rows.
 *
 * A pipe is kept in the relation's fdw_private, which only foreign tables use.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "columnar/am.h"
#include "guc.h"
#include "lower/clauses.h"
#include "lower/overlaps.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/reason.h"
#include "plan/twice.h"
#include "plan/walk.h"
#include "planner/path_join.h"
#include "planner/path_join_first.h"
#include "planner/path_join_keys.h"
#include "planner/path_join_ranges.h"
#include "planner/path_join_spans.h"
#include "planner/path_join_set.h"
#include "planner/planner.h"
#include "planner/subquery.h"

/* Steps of a pipe and of all below it. */
#define MAX_STEPS	64

static Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
					   List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolJoin",
	.PlanCustomPath = plan_join,
};

/* Where PostgreSQL can hash or sort, an engine looks at so many pairs of rows at most. */
#define MOST_PAIRS	1000000.0

/* custom_private of a path */
enum
{
	PATH_PRIVATE_PIPE,			/* GpucolJoinPipe, as the planner's own pointer */
	PATH_PRIVATE_TARGET,		/* List of Expr: the columns of the rows */
	PATH_PRIVATE_SORT_KEYS,		/* List of Expr: those of the top rows, or NIL */
	PATH_PRIVATE_HOST,			/* List of Expr: conditions that PostgreSQL tests of the rows */
	PATH_PRIVATE_LIMIT			/* GpucolTopnPrivate of these, from GPUCOL_TOPN_PRIVATE_LIMIT on */
};

/* What PostgreSQL gives of a pair of relations, and what is made of it. */
typedef struct Pair
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	RelOptInfo *drive;			/* its rows flow */
	RelOptInfo *build;
	JoinType	jointype;
	bool		drive_is_outer;
	List	   *restrictlist;
	List	   *host;			/* RestrictInfos of it that PostgreSQL tests */
	List	   *texts;			/* equalities of texts, which an engine makes for each pair of rows */
	Cost		computed;		/* of keys that the plans of rows compute */
	bool		delivered;		/* there is a path of its rows */
	const char *reason;			/* why there is no pipe */
} Pair;

/*
 * The pipe of a relation of the join search: ->pipe is NULL where it has none, for
 * ->reason's sake.
 */
GpucolJoinPipe *
gpucol_join_pipe(PlannerInfo *root, RelOptInfo *rel)
{
	static GpucolJoinPipe none = {.reason = "it is not joined by an engine"};

	if (rel->fdw_private == NULL && rel->reloptkind == RELOPT_BASEREL && rel->fdwroutine == NULL)
	{
		/* the genetic search's memory is gone before the relation is */
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));

		rel->fdw_private = gpucol_join_base_pipe(root, rel);
		MemoryContextSwitchTo(old);
	}
	if (rel->fdw_private == NULL || rel->fdwroutine != NULL ||
		(rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_JOINREL))
		return &none;
	return rel->fdw_private;
}

/* ------------------------------------------------------------------------
 * Steps
 * ------------------------------------------------------------------------
 */

/* How the rows that flow are joined with the table. */
static GpucolJoinKind
join_kind(const Pair *pair)
{
	switch (pair->jointype)
	{
		case JOIN_LEFT:
			return pair->drive_is_outer ? GPUCOL_JOIN_LEFT : GPUCOL_JOIN_RIGHT;
		case JOIN_FULL:
			return GPUCOL_JOIN_FULL;
		case JOIN_SEMI:
			return pair->drive_is_outer ? GPUCOL_JOIN_SEMI : GPUCOL_JOIN_RIGHT_SEMI;
		case JOIN_ANTI:
			return pair->drive_is_outer ? GPUCOL_JOIN_ANTI : GPUCOL_JOIN_RIGHT_ANTI;
		default:
			return GPUCOL_JOIN_INNER;
	}
}

/* Can an engine test this condition where it stands?  If not, the reason. */
static const char *
check_condition(const RestrictInfo *rinfo, const List *all)
{
	ListCell   *lc;

	if (rinfo->pseudoconstant)
		return "a condition without columns";
	if (contain_volatile_functions((Node *) rinfo->clause))
		return "condition with a volatile function";
	/* a barrier hides rows from what leaks: the conditions of one join are in no order */
	foreach(lc, all)
	{
		if (!rinfo->leakproof &&
			rinfo->security_level > lfirst_node(RestrictInfo, lc)->security_level)
			return "condition of a join behind a security barrier";
	}
	return NULL;
}

/*
 * Can PostgreSQL test a condition of the joined rows?  Of an outer join those that are tested
 * above it, of a semi join none: not all columns are there.
 */
static bool
may_be_host(const Pair *pair, const RestrictInfo *rinfo, bool above)
{
	ListCell   *lc;

	if ((pair->jointype != JOIN_INNER && !above) || pair->jointype == JOIN_SEMI ||
		pair->jointype == JOIN_ANTI || contain_subplans((Node *) rinfo->clause))
		return false;
	foreach(lc, pull_var_clause((Node *) rinfo->clause, PVC_INCLUDE_PLACEHOLDERS))
	{
		if (!IsA(lfirst(lc), Var) || lfirst_node(Var, lc)->varattno <= 0)
			return false;
	}
	return true;
}

/* Share the conditions of the join out: keys, others of the join, those on its rows. */
static bool
share_out(Pair *pair, GpucolPipe *drive, GpucolPipeStep *step)
{
	GpucolJoinSides sides = {pair->root, drive, pair->drive->relids, pair->build->relids, &pair->computed};
	bool		equality = false;
	const char *why = "joined by an equality that an engine would test of every pair of rows";
	ListCell   *lc;

	foreach(lc, pair->restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Expr	   *condition = gpucol_overlaps_bounded(rinfo->clause);
		bool		above = IS_OUTER_JOIN(pair->jointype) &&
			RINFO_IS_PUSHED_DOWN(rinfo, pair->joinrel->relids);
		bool		bounded;

		pair->reason = check_condition(rinfo, pair->restrictlist);
		if (pair->reason != NULL)
			return false;
		if (!above && gpucol_join_add_key(&sides, step, rinfo))
			continue;
		bounded = !above && gpucol_join_add_span_bounds(&sides, step, condition);
		pair->reason = gpucol_pipe_check_condition(drive, step->build, condition);
		if (pair->reason != NULL)
		{
			Expr	   *bounds = gpucol_join_range_condition(&sides, step, condition, !above);

			condition = bounds != NULL ? bounds : condition;
			pair->reason = bounds != NULL ? NULL : pair->reason;
		}
		if (pair->reason != NULL && may_be_host(pair, rinfo, above))
		{
			pair->host = lappend(pair->host, rinfo);
			equality |= !above && !bounded;
			why = pair->reason;
			continue;
		}
		if (pair->reason != NULL)
			return false;
		if (above)
			step->filter = lappend(step->filter, condition);
		else
			step->residual = lappend(step->residual, condition);
		if (above || !gpucol_join_is_equality(&sides, rinfo))
			continue;
		equality = true;
		pair->texts = gpucol_join_makes_text(rinfo) ? lappend(pair->texts, rinfo) : pair->texts;
	}
	if (equality && step->outer_keys == NIL && pair->drive->rows * pair->build->rows > MOST_PAIRS)
	{
		pair->reason = why;
		return false;
	}
	pair->reason = NULL;
	return true;
}

/* Does PostgreSQL ask for columns that the joined rows do not have? */
static bool
lacks_columns(Pair *pair, const GpucolPipeStep *step)
{
	bool		table_only = step->kind == GPUCOL_JOIN_RIGHT_SEMI ||
		step->kind == GPUCOL_JOIN_RIGHT_ANTI;
	RelOptInfo *hidden = table_only ? pair->drive : pair->build;
	List	   *vars;
	ListCell   *lc;

	if (pair->jointype != JOIN_SEMI && pair->jointype != JOIN_ANTI)
		return false;
	vars = pull_var_clause((Node *) pair->joinrel->reltarget->exprs, PVC_RECURSE_PLACEHOLDERS);
	foreach(lc, vars)
	{
		if (bms_is_member(lfirst_node(Var, lc)->varno, hidden->relids) &&
			gpucol_pipe_semi_twin(step, lfirst(lc)) == NULL)
		{
			pair->reason = "a column of the table that rows are only tested with";
			return true;
		}
	}
	return false;
}

/* Has one of a relation's base relations a gpucol table in it?  Is one unsteady? */
static bool
has_base(PlannerInfo *root, const RelOptInfo *rel, bool unsteady)
{
	int			rti = -1;

	while ((rti = bms_next_member(rel->relids, rti)) >= 0)
	{
		RelOptInfo *base = root->simple_rel_array[rti];
		const GpucolJoinPipe *pipe;

		if (base == NULL || base->reloptkind != RELOPT_BASEREL)
			continue;
		pipe = gpucol_join_pipe(root, base);
		if (unsteady ? pipe->unsteady : pipe->packed)
			return true;
	}
	return false;
}

/* Does a query below some relations lock rows, as it is or in queries of its own? */
static bool
locks_rows(PlannerInfo *root, Relids relids)
{
	int			i = -1;

	while ((i = bms_next_member(relids, i)) >= 0)
	{
		const RelOptInfo *rel = i < root->simple_rel_array_size ? root->simple_rel_array[i] : NULL;

		if (rel != NULL && rel->subroot != NULL &&
			(rel->subroot->rowMarks != NIL ||
			 locks_rows(rel->subroot, rel->subroot->all_baserels)))
			return true;
	}
	return false;
}

/*
 * Can the rows of a relation's cheapest path be those of a pipe?
 */
static bool
has_rows(PlannerInfo *root, const RelOptInfo *rel)
{
	const Path *path = gpucol_join_rows_path(rel);

	return path != NULL && path->param_info == NULL && bms_is_empty(rel->lateral_relids) &&
		!has_base(root, rel, true) && !locks_rows(root, rel->relids);
}

/*
 * The pipe of a relation, or NULL where it has none, or lacks a placeholder that is computed
 * in the relation: its path's rows have that.
 */
static GpucolJoinPipe *
own_pipe(PlannerInfo *root, RelOptInfo *rel)
{
	GpucolJoinPipe *own = gpucol_join_pipe(root, rel);
	ListCell   *lc;

	if (own->pipe == NULL)
		return NULL;
	foreach(lc, rel->reltarget->exprs)
	{
		if (IsA(lfirst(lc), PlaceHolderVar) && !gpucol_pipe_has(own->pipe, lfirst(lc)))
			return NULL;
	}
	return own;
}

/* The rows of a relation's cheapest path as a pipe. */
static GpucolPipe *
path_pipe(RelOptInfo *rel)
{
	GpucolPipe *pipe = palloc0(sizeof(GpucolPipe));

	pipe->relids = rel->relids;
	pipe->path = gpucol_join_rows_path(rel);
	pipe->outputs = pipe->path->pathtarget->exprs;
	gpucol_pipe_source(pipe, gpucol_pipe_exprs_desc(pipe->outputs));
	return pipe;
}

/* The table to build: by a pipe, or (or else, of `rows_alone`) from the rows of a path, whichever is cheaper. */
static GpucolPipe *
choose_build(Pair *pair, bool rows_alone, Cost *cost, int *nsteps)
{
	GpucolJoinPipe *own = rows_alone ? NULL : own_pipe(pair->root, pair->build);
	bool		rows = has_rows(pair->root, pair->build);
	Cost		rows_cost = rows ? gpucol_cost_rows_of(pair->root, pair->build->cheapest_total_path) : 0;

	if (own != NULL && (!rows || own->build + own->flow <= rows_cost))
	{
		*nsteps = own->nsteps;
		*cost = own->build + own->flow;
		return own->pipe;
	}
	*nsteps = 0;
	*cost = rows_cost;
	return rows ? path_pipe(pair->build) : NULL;
}

/*
 * The rows of a relation's cheapest path as what flows, where there is a gpucol table in
 * `whole`, a relation that it is in; else NULL.
 */
GpucolJoinPipe *
gpucol_join_rows_pipe(PlannerInfo *root, RelOptInfo *rel, const RelOptInfo *whole)
{
	GpucolJoinPipe *made;

	if (!has_rows(root, rel) || !has_base(root, whole, false))
		return NULL;
	made = palloc0(sizeof(GpucolJoinPipe));
	made->pipe = path_pipe(rel);
	made->rows = rel->rows;
	made->flow = gpucol_cost_rows_of(root, made->pipe->path);
	return made;
}

/* The pipe of the rows that flow: the relation's own, or the rows of its cheapest path. */
static GpucolJoinPipe *
choose_drive(Pair *pair)
{
	GpucolJoinPipe *own = own_pipe(pair->root, pair->drive);

	return own != NULL ? own : gpucol_join_rows_pipe(pair->root, pair->drive, pair->joinrel);
}

/* Can a pipe only lose against the one that the joined relation has, which is cheaper so far? */
static bool
is_beaten(const Pair *pair, Cost cost)
{
	const GpucolJoinPipe *best = pair->joinrel->fdw_private;

	return best != NULL && best->pipe != NULL && best->build + best->flow <= cost;
}

/* Pairs of rows that some of the conditions are tested of, after the others. */
static double
pairs_before(const Pair *pair, List *conditions)
{
	Selectivity passed = clauselist_selectivity(pair->root, conditions, 0, JOIN_INNER, NULL);
	double		pairs = Min(pair->joinrel->rows / Max(passed, 1e-9), pair->drive->rows * pair->build->rows);

	return Max(pairs, pair->joinrel->rows);
}

/* Is a query the recursive term of another?  Functions of its rows are the recursion's, which gives its own reasons. */
static bool
is_recursive_term(const PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rte_array[i] != NULL && root->simple_rte_array[i]->self_reference)
			return true;
	}
	return false;
}

/*
 * A pipe behind a set-returning function of the rows that flow, or first rows of an order for each of them;
 * NULL: there is none.
 */
static GpucolJoinPipe *
lateral_pipe(Pair *pair, const GpucolJoinPipe *drive, bool set)
{
	GpucolJoinPipe *made = palloc0(sizeof(GpucolJoinPipe));
	GpucolPipeStep *step;
	double		pairs;

	if (!pair->drive_is_outer || drive->nsteps >= MAX_STEPS || is_recursive_term(pair->root))
		return NULL;
	step = set ? gpucol_join_set_step(pair->root, drive->pipe, pair->build, pair->jointype, pair->restrictlist,
									  pair->joinrel->relids, &pair->reason) :
		gpucol_join_first_step(pair->root, drive->pipe, pair->build, pair->jointype, pair->restrictlist,
							   &pair->reason);
	if (step == NULL)
		return NULL;
	step->rows = pair->joinrel->rows;
	made->pipe = palloc(sizeof(GpucolPipe));
	*made->pipe = *drive->pipe;
	made->pipe->relids = bms_union(drive->pipe->relids, pair->build->relids);
	made->pipe->steps = lappend(list_copy(drive->pipe->steps), step);
	made->nsteps = drive->nsteps + 1;
	made->rows = made->joined = pair->joinrel->rows;
	pairs = set ? 1 : step->build->path->rows;
	made->build = drive->build;
	if (!set)
		made->build += gpucol_cost_rows_of(pair->root, step->build->path) + gpucol_cost_insert(pairs);
	made->flow = drive->flow + gpucol_cost_probe(drive->rows, pairs, set, list_length(step->order) +
												 list_length(step->residual) + list_length(step->filter), made->joined);
	return made;
}

/*
 * A pipe of the pair with a table of its rows, or NULL: by the pipe of what is built, or
 * `rows_alone`.
 */
static GpucolJoinPipe *
table_pipe(Pair *pair, const GpucolJoinPipe *drive, bool rows_alone)
{
	GpucolJoinPipe *made = palloc0(sizeof(GpucolJoinPipe));
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));
	Cost		build;
	int			nsteps;

	made->pipe = palloc(sizeof(GpucolPipe));
	*made->pipe = *drive->pipe;
	pair->host = pair->texts = NIL;
	pair->computed = 0;
	step->kind = join_kind(pair);
	step->build = choose_build(pair, rows_alone, &build, &nsteps);
	if (step->build == NULL || is_beaten(pair, drive->build + drive->flow + build) ||
		!share_out(pair, made->pipe, step) || lacks_columns(pair, step) ||
		drive->nsteps + nsteps >= MAX_STEPS || (gpucol_pipe_step_has_tail(step) && gpucol_join_has_set(drive->pipe)))
		return NULL;
	step->rows = pair->joinrel->rows;
	made->pipe->relids = bms_union(drive->pipe->relids, pair->build->relids);
	made->pipe->steps = lappend(list_copy(drive->pipe->steps), step);
	made->nsteps = drive->nsteps + nsteps + 1;
	made->rows = made->joined = pair->joinrel->rows;
	if (pair->host != NIL)
	{
		made->host = extract_actual_clauses(pair->host, false);
		made->joined = pairs_before(pair, pair->host);
	}
	made->build = drive->build + build + pair->computed + gpucol_cost_insert(pair->build->rows);
	made->flow = drive->flow + gpucol_cost_probe(drive->rows, pair->build->rows, list_length(step->outer_keys),
												 list_length(step->residual), made->joined);
	made->spares = pair->host != NIL || pair->texts != NIL;
	if (pair->texts != NIL)
		made->flow += gpucol_cost_pair_texts(pairs_before(pair, pair->texts));
	return made;
}

/* The cost of a pipe's rows, with the conditions that PostgreSQL tests of them. */
static Cost
rows_cost(PlannerInfo *root, const GpucolJoinPipe *pipe)
{
	QualCost	tests;

	cost_qual_eval(&tests, pipe->host, root);
	return pipe->build + pipe->flow + pipe->joined * (tests.per_tuple + (pipe->host != NIL ? cpu_tuple_cost : 0));
}

/*
 * A pipe of the pair whose keys PostgreSQL computes, where an engine cannot and that is cheaper than what is `made`,
 * or NULL.
 */
static GpucolJoinPipe *
computing_pipe(Pair *pair, const GpucolJoinPipe *drive, GpucolJoinPipe *made)
{
	GpucolJoinPipe *computing;

	if (drive == NULL || (made == NULL ? pair->reason == NULL : !made->spares))
		return made;
	computing = table_pipe(pair, drive, true);
	return made == NULL || (computing != NULL && rows_cost(pair->root, computing) < rows_cost(pair->root, made)) ?
		computing : made;
}

/* A pipe of the pair, or NULL. */
static GpucolJoinPipe *
pair_pipe(Pair *pair)
{
	GpucolJoinPipe *drive = choose_drive(pair);
	GpucolJoinPipe *made;

	if (drive == NULL)
		return NULL;
	if (gpucol_join_set_functions(pair->root, pair->build) != NIL)
		return lateral_pipe(pair, drive, true);
	if (gpucol_join_is_first(pair->root, pair->build))
		return lateral_pipe(pair, drive, false);
	made = table_pipe(pair, drive, false);
	if (own_pipe(pair->root, pair->build) != NULL)
		made = computing_pipe(pair, drive, made);
	if (own_pipe(pair->root, pair->drive) != NULL && (made == NULL || made->spares))
		made = computing_pipe(pair, gpucol_join_rows_pipe(pair->root, pair->drive, pair->joinrel), made);
	return made;
}

/* ------------------------------------------------------------------------
 * Paths
 * ------------------------------------------------------------------------
 */

/* Are the columns of a joined relation such as an engine has? */
static bool
check_target(const GpucolPipe *pipe, List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Var		   *var = lfirst(lc);

		if (IsA(var, PlaceHolderVar) ? !gpucol_pipe_has(pipe, (Node *) var) :
			!IsA(var, Var) || var->varattno <= 0)
			return false;
	}
	return true;
}

/*
 * The plans whose rows a pipe and those below it read, in the order of their numbers,
 * which they get; appended to `paths`.
 */
static List *
children(GpucolPipe *pipe, List *paths)
{
	ListCell   *lc;

	if (pipe->child < 0 || pipe->sets != NIL)
		return paths;
	if (pipe->rti == 0)
	{
		pipe->child = list_length(paths);
		paths = lappend(paths, pipe->path);
	}
	foreach(lc, pipe->steps)
		paths = children(((GpucolPipeStep *) lfirst(lc))->build, paths);
	return paths;
}

/*
 * The paths below a node with a pipe: what it falls back to, and those that the pipe reads,
 * whose relations are in both.
 */
List *
gpucol_join_paths(PlannerInfo *root, GpucolPipe *pipe, Path *fallback)
{
	List	   *paths = list_copy_tail(children(pipe, list_make1(fallback)), 1);
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		gpucol_plan_twice(root, path->parent->relids, path->rows);
	}
	return gpucol_plan_apart(root, list_make1(fallback), paths);
}

/* The cost of a path for a pipe's rows, with the conditions that PostgreSQL tests of them. */
static void
cost_path(PlannerInfo *root, Path *path, const GpucolJoinPipe *pipe, int ncolumns)
{
	double		rows = path->rows;
	QualCost	tests;

	path->rows = Max(pipe->joined, rows);
	gpucol_cost_join(path, pipe->build, pipe->flow, ncolumns);
	cost_qual_eval(&tests, pipe->host, root);
	path->startup_cost += tests.startup + gpucol_cost_repeated(root);
	path->total_cost += tests.startup + gpucol_cost_repeated(root) + path->rows * tests.per_tuple;
	path->rows = rows;
}

/* Add the path of a joined relation's pipe. */
static void
add_join_path(PlannerInfo *root, RelOptInfo *joinrel, GpucolJoinPipe *pipe)
{
	Path	   *fallback = gpucol_fallback_path(root, joinrel);
	List	   *columns = joinrel->reltarget->exprs;
	CustomPath *path;

	if (fallback == NULL)
		fallback = pipe->fallback;
	if (fallback == NULL || !check_target(pipe->pipe, joinrel->reltarget->exprs))
		return;
	if (gpucol_join_has_set(pipe->pipe) || gpucol_join_has_subplan(pipe->pipe))
	{
		pipe->fallback = fallback;
		return;					/* for groups alone */
	}
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = joinrel;
	path->path.pathtarget = joinrel->reltarget;
	path->path.rows = joinrel->rows;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | GPUCOL_PATH_FALLS_BACK;
	path->methods = &path_methods;
	path->custom_paths = gpucol_join_paths(root, pipe->pipe, fallback);
	if (pipe->host != NIL)
		columns = list_concat_unique(list_copy(columns),
									 pull_var_clause((Node *) pipe->host, PVC_INCLUDE_PLACEHOLDERS));
	path->custom_private = list_make5(pipe, columns, NIL, pipe->host, NIL);
	cost_path(root, &path->path, pipe, list_length(columns));
	pipe->fallback = fallback;
	pipe->total = path->path.total_cost;
	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
		joinrel->pathlist = list_make1(path);
	else
		add_path(joinrel, &path->path);
}

/* Is a path one of a pipe? */
static bool
is_join_path(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &path_methods;
}

/*
 * Leave out nested loops that are not much cheaper than a join by the engine.  Where one row
 * is expected hundreds may come, and a loop then costs hundreds of times as much; a lookup
 * costs the same.
 */
static void
avoid_loops(PlannerInfo *root, RelOptInfo *joinrel)
{
	GpucolJoinPipe *pipe = joinrel->fdw_private;
	bool		removed = false;
	bool		there = false;
	ListCell   *lc;

	if (pipe == NULL || pipe->total == 0)
		return;
	foreach(lc, joinrel->pathlist)
	{
		const Path *path = lfirst(lc);

		there |= is_join_path(path);
		if (is_join_path(path) || pipe->total > gpucol_cost_preferred(path))
			continue;
		joinrel->pathlist = foreach_delete_current(joinrel->pathlist, lc);
		removed = true;
	}
	/* one of them may have driven it out */
	if (removed && !there)
		add_join_path(root, joinrel, pipe);
}

/* Note why a pair has no pipe, of its first gpucol table. */
static void
note_reason(const Pair *pair)
{
	int			rti = -1;

	while (pair->reason != NULL && (rti = bms_next_member(pair->joinrel->relids, rti)) >= 0)
	{
		RangeTblEntry *rte = pair->root->simple_rte_array[rti];

		if (rte != NULL && rte->rtekind == RTE_RELATION && gpucol_am_is_gpucol(rte->relid))
		{
			MemoryContext old = MemoryContextSwitchTo(pair->root->planner_cxt);

			gpucol_reason_add(rte->relid, "join", "%s", pair->reason);
			MemoryContextSwitchTo(old);
			return;
		}
	}
}

/* Try one of the two relations as the one whose rows flow. */
static void
try_pair(Pair *pair)
{
	GpucolJoinPipe *best = pair->joinrel->fdw_private;
	GpucolJoinPipe *made;

	made = pair_pipe(pair);
	if (made == NULL)
		return;
	if (best != NULL && made->fallback == NULL)
		made->fallback = best->fallback;
	if (is_beaten(pair, made->build + made->flow) || (best != NULL && made->host != NIL))
		return;
	if (made->host == NIL)
		pair->joinrel->fdw_private = made;
	pair->delivered = true;
	add_join_path(pair->root, pair->joinrel, made);
}

/* Does the statement only read, so that nobody asks again for a row of a joined table? */
static bool
only_reads(PlannerInfo *root)
{
	return root->rowMarks == NIL &&
		(root->parse->commandType == CMD_SELECT || root->parse->commandType == CMD_INSERT);
}

/* A table whose conditions look values up in queries. */
void
gpucol_path_join_add_base(PlannerInfo *root, RelOptInfo *rel)
{
	if (gpucol_planner_disabled() == NULL && only_reads(root) && rel->fdwroutine == NULL &&
		rel->reloptkind == RELOPT_BASEREL && gpucol_join_has_steps(root, rel))
		add_join_path(root, rel, gpucol_join_pipe(root, rel));
}

/* set_join_pathlist_hook: one pair of relations, in one order. */
void
gpucol_path_join_add(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
					 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	Pair		pair = {.root = root,.joinrel = joinrel,.jointype = jointype,
	.restrictlist = extra->restrictlist};

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_join || !only_reads(root) ||
		joinrel->reloptkind != RELOPT_JOINREL || joinrel->fdwroutine != NULL ||
		!bms_is_empty(joinrel->lateral_relids))
		return;
	if (jointype != JOIN_INNER && jointype != JOIN_LEFT && jointype != JOIN_FULL &&
		jointype != JOIN_SEMI && jointype != JOIN_ANTI)
		return;
	pair.drive = outerrel;
	pair.build = innerrel;
	pair.drive_is_outer = true;
	try_pair(&pair);
	pair.drive = innerrel;
	pair.build = outerrel;
	pair.drive_is_outer = false;
	try_pair(&pair);
	avoid_loops(root, joinrel);
	if (joinrel->fdw_private == NULL && !pair.delivered)
		note_reason(&pair);
}

/* ------------------------------------------------------------------------
 * Plans
 * ------------------------------------------------------------------------
 */

/*
 * Have a plan carry a pipe: its expressions in a junk column, whose Vars PostgreSQL
 * adjusts and which it never computes; returns the pipe itself.
 */
List *
gpucol_join_add_pipe(CustomScan *cscan, GpucolPipe *pipe, List *above)
{
	RowExpr    *row = makeNode(RowExpr);
	List	   *exprs = NIL;
	List	   *saved;

	(void) children(pipe, list_make1(NULL));
	saved = gpucol_pipe_save(pipe, above, &exprs);
	row->args = gpucol_pipe_mark(copyObject(exprs));
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
									   makeTargetEntry((Expr *) row,
													   list_length(cscan->custom_scan_tlist) + 1,
													   NULL, true));
	return saved;
}

/* Make the plan node. */
static Plan *
plan_join(PlannerInfo *root pg_attribute_unused(), RelOptInfo *rel pg_attribute_unused(),
		  CustomPath *path, List *tlist, List *clauses pg_attribute_unused(),
		  List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	GpucolJoinPipe *pipe = list_nth(path->custom_private, PATH_PRIVATE_PIPE);
	List	   *target = list_nth(path->custom_private, PATH_PRIVATE_TARGET);
	List	   *keys = list_nth(path->custom_private, PATH_PRIVATE_SORT_KEYS);
	ListCell   *lc;

	foreach(lc, target)
		cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
										   makeTargetEntry(copyObject(lfirst(lc)),
														   foreach_current_index(lc) + 1, NULL, false));
	cscan->custom_private = list_make2(gpucol_join_add_pipe(cscan, pipe->pipe, list_concat_copy(target, keys)),
									   list_nth(path->custom_private, PATH_PRIVATE_LIMIT));
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(list_nth(path->custom_private, PATH_PRIVATE_HOST));
	cscan->custom_plans = gpucol_plan_together(custom_plans);
	cscan->custom_exprs = gpucol_join_params(cscan->custom_scan_tlist);
	cscan->flags = path->flags;
	cscan->methods = &gpucol_join_methods;
	return &cscan->scan.plan;
}

/* The path without the projection above it. */
static Path *
unprojected(Path *path)
{
	return IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : path;
}

Path *
gpucol_join_find_path(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = unprojected(lfirst(lc));

		if (is_join_path(path) &&
			list_nth(((CustomPath *) path)->custom_private, PATH_PRIVATE_HOST) == NIL)
			return lfirst(lc);
	}
	return NULL;
}

GpucolJoinPipe *
gpucol_join_path_pipe(Path *path, List **columns)
{
	CustomPath *join = castNode(CustomPath, unprojected(path));

	*columns = list_nth(join->custom_private, PATH_PRIVATE_TARGET);
	return list_nth(join->custom_private, PATH_PRIVATE_PIPE);
}

CustomPath *
gpucol_join_limited(Path *path, List *keys, List *limit, double rows)
{
	CustomPath *copy = makeNode(CustomPath);
	List	   *columns;
	GpucolJoinPipe *pipe = gpucol_join_path_pipe(path, &columns);

	memcpy(copy, unprojected(path), sizeof(CustomPath));
	copy->path.pathtarget = path->pathtarget;
	copy->path.rows = rows;
	copy->custom_private = list_make5(pipe, columns, keys, NIL, limit);
	gpucol_cost_join(&copy->path, pipe->build, pipe->flow, list_length(columns));
	return copy;
}

/*
 * Register the node's methods, so that plans are read by name.
 */
void
gpucol_path_join_init(void)
{
	RegisterCustomScanMethods(&gpucol_join_methods);
}
