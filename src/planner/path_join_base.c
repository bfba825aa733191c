/*-------------------------------------------------------------------------
 *
 * path_join_base.c
 *	  The pipes of base relations: gpucol tables, partitioned ones and UNION ALL of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "columnar/am.h"
#include "guc.h"
#include "lower/clauses.h"
#include "plan/parts.h"
#include "planner/path_join.h"
#include "planner/planner.h"
#include "planner/subquery.h"

/* Tables that a pipe reads as one. */
#define MAX_PARTS	1000

/* Of columns that are read, as many as the query needs of a table. */
static int
count_needed(RelOptInfo *rel)
{
	return bms_num_members(gpucol_path_scan_columns(rel));
}

/* Why a base relation has no pipe, or NULL. */
static const char *
decline_base(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	ListCell   *lc;

	if (!rte->inh && (rte->rtekind != RTE_RELATION || !gpucol_am_is_gpucol(rte->relid)))
		return "it is no gpucol table";
	if (rte->tablesample != NULL)
		return "TABLESAMPLE";
	if (!bms_is_empty(rel->lateral_relids))
		return "it refers to other tables laterally";
	if (!gpucol_enable_scan)
		return "gpucol.enable_scan is off";
	foreach(lc, rel->baserestrictinfo)
	{
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return "a condition without columns";
	}
	return NULL;
}

bool
gpucol_join_has_needed(RelOptInfo *rel, TupleDesc desc)
{
	Bitmapset  *attnos = gpucol_path_scan_columns(rel);
	int			member = -1;

	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		int			attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum <= 0 || TupleDescAttr(desc, attnum - 1)->attisdropped)
			return false;
	}
	return true;
}

/* Open a pipe over a relation's parts; the reason if they cannot be read as one table. */
static const char *
add_parts(PlannerInfo *root, RelOptInfo *rel, GpucolPipe *pipe, List **parts, TupleDesc *desc)
{
	const char *reason = NULL;
	ListCell   *lc;

	*parts = gpucol_parts_collect(root, rel, desc, &reason);
	if (*parts == NIL)
		return reason != NULL ? reason : "no partition is left";
	if (list_length(*parts) > MAX_PARTS)
		return "too many partitions";
	if (!gpucol_join_has_needed(rel, *desc))
		return "a column that a part of the UNION ALL computes";
	foreach(lc, *parts)
	{
		const GpucolPart *part = lfirst(lc);

		pipe->part_rtis = lappend_int(pipe->part_rtis, part->varno);
		pipe->part_attnums = lappend(pipe->part_attnums, part->attnums);
	}
	return NULL;
}

static Oid	find_with_table(PlannerInfo *root, const RangeTblEntry *rte, Index below);

/* A gpucol table that a query, so many levels below, reads itself or by WITH queries; InvalidOid if there is none. */
static Oid
find_table(PlannerInfo *root, Query *query, Index below)
{
	Oid			relid = gpucol_subquery_table(query);
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (OidIsValid(relid))
			break;
		if (rte->rtekind == RTE_CTE)
			relid = find_with_table(root, rte, below);
		else if (rte->rtekind == RTE_SUBQUERY && rte->subquery != NULL)
			relid = find_table(root, rte->subquery, below + 1);
	}
	return relid;
}

/* The same for a WITH query of this level, or one above, that an entry of a range table so many levels below names. */
static Oid
find_with_table(PlannerInfo *root, const RangeTblEntry *rte, Index below)
{
	ListCell   *lc;

	for (Index i = below; i < rte->ctelevelsup && root != NULL; i++)
		root = root->parent_root;
	if (root == NULL || rte->self_reference || rte->ctelevelsup < below)
		return InvalidOid;
	foreach(lc, root->parse->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return cte->cterecursive ? gpucol_subquery_table(castNode(Query, cte->ctequery)) :
				find_table(root, castNode(Query, cte->ctequery), 1);
	}
	return InvalidOid;
}

/*
 * A gpucol table that a base relation's rows are those of, or made of; InvalidOid if there is
 * none.
 */
Oid
gpucol_join_packed_table(PlannerInfo *root, const RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return gpucol_subquery_packed_part(rte);
		case RTE_SUBQUERY:
			return rte->subquery != NULL ? find_table(root, rte->subquery, 1) : InvalidOid;
		case RTE_CTE:
			return find_with_table(root, rte, 0);
		default:
			return InvalidOid;
	}
}

/* Are they all columns, or placeholders? */
static bool
are_columns(List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (!IsA(lfirst(lc), Var) && !IsA(lfirst(lc), PlaceHolderVar))
			return false;
	}
	return true;
}

Path *
gpucol_join_rows_path(const RelOptInfo *rel)
{
	Path	   *path = rel->cheapest_total_path;

	if (path != NULL && IsA(path, ProjectionPath) && !are_columns(path->pathtarget->exprs))
		path = ((ProjectionPath *) path)->subpath;
	return path != NULL && are_columns(path->pathtarget->exprs) ? path : NULL;
}

/*
 * Are a base relation's rows made by volatile functions?  Whoever reads them may have to
 * fall back to a plan that makes them again.
 */
static bool
is_unsteady(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (contain_volatile_functions((Node *) rel->reltarget->exprs) ||
		contain_volatile_functions((Node *) extract_actual_clauses(rel->baserestrictinfo, false)))
		return true;
	switch (rte->rtekind)
	{
		case RTE_SUBQUERY:
			return rte->subquery != NULL && contain_volatile_functions((Node *) rte->subquery);
		case RTE_FUNCTION:
			return contain_volatile_functions((Node *) rte->functions);
		case RTE_VALUES:
			return contain_volatile_functions((Node *) rte->values_lists);
		default:
			return false;
	}
}

/*
 * The subplan of `value NOT IN (query)` where the query refers to nothing outside of it;
 * else NULL.
 */
static SubPlan *
find_not_in(PlannerInfo *root, Node *clause)
{
	SubPlan    *subplan;
	Plan	   *plan;

	if (!is_notclause(clause))
		return NULL;
	subplan = (SubPlan *) get_notclausearg(clause);
	if (!IsA(subplan, SubPlan) || subplan->subLinkType != ANY_SUBLINK ||
		subplan->parParam != NIL || list_length(subplan->paramIds) != 1 ||
		!IsA(subplan->testexpr, OpExpr) ||
		list_length(((OpExpr *) subplan->testexpr)->args) != 2 ||
		!IsA(lsecond(((OpExpr *) subplan->testexpr)->args), Param) ||
		contain_volatile_functions(linitial(((OpExpr *) subplan->testexpr)->args)))
		return NULL;
	plan = list_nth(root->glob->subplans, subplan->plan_id - 1);
	return bms_is_empty(plan->extParam) && linitial_node(TargetEntry, plan->targetlist)->resjunk == false ?
		subplan : NULL;
}

/* Add a step that does what NOT IN does; the reason if there is none, or NULL. */
static const char *
add_not_in(PlannerInfo *root, GpucolJoinPipe *found, Node *clause)
{
	SubPlan    *subplan = find_not_in(root, clause);
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));
	CaseTestExpr *column = makeNode(CaseTestExpr);
	const char *reason;
	OpExpr	   *op;
	Plan	   *plan;

	if (subplan == NULL)
		return "a condition is not pushed down";
	op = (OpExpr *) subplan->testexpr;
	plan = list_nth(root->glob->subplans, subplan->plan_id - 1);
	/* what stands for the query's column; a Var would be one of this query's */
	column->typeId = exprType(lsecond(op->args));
	column->typeMod = exprTypmod(lsecond(op->args));
	column->collation = exprCollation(lsecond(op->args));
	step->kind = GPUCOL_JOIN_NOT_IN;
	step->build = palloc0(sizeof(GpucolPipe));
	step->build->child = -subplan->plan_id;
	step->build->outputs = list_make1(column);
	gpucol_pipe_source(step->build, gpucol_pipe_exprs_desc(step->build->outputs));
	reason = gpucol_pipe_add_key(found->pipe, step, linitial(op->args),
								 (Expr *) makeVar(1, 1, column->typeId, column->typeMod,
												  column->collation, 0), op->opno);
	if (reason != NULL)
		return reason;
	step->inner_keys = list_make1(column);
	found->pipe->steps = lappend(found->pipe->steps, step);
	found->build += plan->total_cost + gpucol_cost_insert(plan->plan_rows);
	found->nsteps++;
	return NULL;
}

/* Have steps do what is left of a table's conditions; the reason if they cannot. */
static const char *
add_steps(PlannerInfo *root, GpucolJoinPipe *found, List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const char *reason = add_not_in(root, found, lfirst(lc));

		if (reason != NULL)
			return reason;
	}
	return NULL;
}

/*
 * The pipe of a base relation: its table, and the queries that conditions look values up in.
 */
GpucolJoinPipe *
gpucol_join_base_pipe(PlannerInfo *root, RelOptInfo *rel)
{
	GpucolJoinPipe *found = palloc0(sizeof(GpucolJoinPipe));
	GpucolPipe *pipe;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	TupleDesc	desc;
	List	   *parts = NIL;
	List	   *rest;

	found->packed = OidIsValid(gpucol_join_packed_table(root, rel));
	found->unsteady = is_unsteady(root, rel);
	found->reason = decline_base(root, rel);
	if (found->reason != NULL)
		return found;
	pipe = palloc0(sizeof(GpucolPipe));
	pipe->rti = rel->relid;
	pipe->relids = bms_make_singleton(rel->relid);
	if (rte->inh)
		found->reason = add_parts(root, rel, pipe, &parts, &desc);
	else
	{
		desc = gpucol_parts_table_desc(rte->relid);
		pipe->table = rte->relid;
	}
	if (found->reason != NULL)
		return found;
	gpucol_pipe_source(pipe, desc);
	gpucol_clauses_split(root, gpucol_lower_begin(desc, rel->relid, NULL),
						 rel->baserestrictinfo, "join", &pipe->conditions, &rest, NULL);
	found->pipe = pipe;
	found->reason = add_steps(root, found, rest);
	if (found->reason != NULL)
	{
		found->pipe = NULL;
		return found;
	}
	found->rows = rel->rows;
	found->flow = gpucol_cost_flow(gpucol_cost_parts(rel, parts), count_needed(rel), pipe->conditions);
	return found;
}

/* Has a base relation conditions that are joins? */
bool
gpucol_join_has_steps(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (gpucol_enable_join &&
			find_not_in(root, (Node *) lfirst_node(RestrictInfo, lc)->clause) != NULL)
			return gpucol_join_pipe(root, rel)->pipe != NULL;
	}
	return false;
}

bool
gpucol_join_has_subplan(const GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (contain_subplans((Node *) step->filter) || contain_subplans((Node *) step->residual))
			return true;
	}
	return false;
}
