/*-------------------------------------------------------------------------
 *
 * path_join_set.c
 *	  Pipes behind set-returning functions of the rows that flow: FROM t, unnest(t.tags).
 *
 * A function in FROM that refers to the rows before it is a step without a table: rows multiply
 * as its argument has elements or fields (lower/set_function.c).  Conditions on what it returns
 * are tested as rows are made.  Groups above take such a pipe; rows themselves are PostgreSQL's to
 * return.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"

#include "lower/set_function.h"
#include "planner/path_join_set.h"

List *
gpucol_join_set_functions(PlannerInfo *root, const RelOptInfo *rel)
{
	RangeTblEntry *rte;
	List	   *functions = NIL;
	ListCell   *lc;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_FUNCTION || bms_is_empty(rel->lateral_relids))
		return NIL;
	rte = planner_rt_fetch(rel->relid, root);
	foreach(lc, rte->functions)
	{
		const RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);
		FuncExpr   *expr = (FuncExpr *) function->funcexpr;

		if (!IsA(expr, FuncExpr) || !expr->funcretset || function->funccolnames != NIL ||
			(list_length(rte->functions) > 1 && !gpucol_lower_is_elements(expr)))
			return NIL;
		functions = lappend(functions, expr);
	}
	return list_length(functions) > GPUCOL_SET_MOST ? NIL : functions;
}

bool
gpucol_join_has_set(const GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (step->build->sets != NIL || gpucol_join_has_set(step->build))
			return true;
	}
	return false;
}

/* The rows of functions as what a step is joined with. */
static GpucolPipe *
make_rows(const RangeTblEntry *rte, const RelOptInfo *rel, List *functions)
{
	GpucolPipe *rows = palloc0(sizeof(GpucolPipe));
	bool		fields = gpucol_lower_is_fields(linitial(functions));
	ListCell   *lc;

	rows->relids = rel->relids;
	rows->sets = functions;
	foreach(lc, functions)
	{
		const Node *function = lfirst(lc);

		rows->outputs = lappend(rows->outputs, fields ?
								makeVar(rel->relid, 1, TEXTOID, -1, DEFAULT_COLLATION_OID, 0) :
								makeVar(rel->relid, foreach_current_index(lc) + 1, exprType(function),
										exprTypmod(function), exprCollation(function), 0));
	}
	if (rte->funcordinality)
		rows->outputs = lappend(rows->outputs, makeVar(rel->relid, fields ? 3 : list_length(functions) + 1, INT8OID, -1,
													   InvalidOid, 0));
	gpucol_pipe_source(rows, gpucol_pipe_exprs_desc(rows->outputs));
	return rows;
}

/*
 * Have conditions be tested of each row that is made, or the reason why not.  Those that say which rows an outer join
 * joins are tested of pairs, the others of its rows: of conditions on the rows made alone (`joined` is NULL) all are
 * of the first kind.
 */
static const char *
add_conditions(const GpucolPipe *drive, GpucolPipeStep *step, List *conditions, Relids joined)
{
	bool		outer = step->kind == GPUCOL_JOIN_SET_LEFT;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		const char *reason;

		if (rinfo->pseudoconstant || rinfo->security_level > 0)
			return "a condition without columns, or behind a security barrier";
		if (contain_volatile_functions((Node *) rinfo->clause))
			return "condition with a volatile function";
		reason = gpucol_pipe_check_condition(drive, step->build, rinfo->clause);
		if (reason != NULL)
			return reason;
		if (outer && (joined == NULL || !RINFO_IS_PUSHED_DOWN(rinfo, joined)))
			step->residual = lappend(step->residual, rinfo->clause);
		else
			step->filter = lappend(step->filter, rinfo->clause);
	}
	return NULL;
}

/* Does something read a column of the rows of a function? */
static bool
reads_column(const RelOptInfo *rel, AttrNumber attno)
{
	Bitmapset  *tested = NULL;

	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid, &tested);
	return !bms_is_empty(rel->attr_needed[attno - rel->min_attr]) ||
		bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, tested);
}

/* Why engines do not call a function for rows; NULL if they do. */
static const char *
check_function(PlannerInfo *root, const GpucolPipe *drive, const RelOptInfo *rel, FuncExpr *function)
{
	const char *reason = gpucol_pipe_check_set(drive, function);

	if (reason != NULL)
		return reason;
	if (function->funcid == F_GENERATE_SUBSCRIPTS_ANYARRAY_INT4 && planner_rt_fetch(rel->relid, root)->funcordinality)
		return "subscripts with their numbers";
	return gpucol_lower_is_fields(function) && (reads_column(rel, 0) || reads_column(rel, 2)) ?
		"the values of fields" : NULL;
}

GpucolPipeStep *
gpucol_join_set_step(PlannerInfo *root, const GpucolPipe *drive, RelOptInfo *rel, JoinType jointype,
					 List *restrictlist, Relids joined, const char **reason)
{
	List	   *functions = gpucol_join_set_functions(root, rel);
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));
	bool		outer = jointype == JOIN_LEFT;
	ListCell   *lc;

	*reason = NULL;
	if (!bms_is_subset(rel->lateral_relids, drive->relids) || (jointype != JOIN_INNER && !outer) ||
		gpucol_pipe_has_tail(drive))
		return NULL;
	foreach(lc, functions)
	{
		*reason = check_function(root, drive, rel, lfirst(lc));
		if (*reason != NULL)
			return NULL;
		step->outer_keys = lappend(step->outer_keys, gpucol_lower_set_argument(lfirst(lc)));
	}
	step->kind = outer ? GPUCOL_JOIN_SET_LEFT : GPUCOL_JOIN_SET;
	step->build = make_rows(planner_rt_fetch(rel->relid, root), rel, functions);
	*reason = add_conditions(drive, step, rel->baserestrictinfo, NULL);
	if (*reason == NULL)
		*reason = add_conditions(drive, step, restrictlist, joined);
	return *reason == NULL ? step : NULL;
}
