/*-------------------------------------------------------------------------
 *
 * path_join_first.c
 *	  Pipes behind the first rows of an order: FROM p, LATERAL (SELECT ... FROM n ORDER BY ... LIMIT k).
 *
 * subquery_nearest.c has such a query read all columns of a WITH query n, which depends on no row, and
 * nothing else.  PostgreSQL's own path of it sorts n's rows for each row of p.  A pipe has n's rows as the
 * table of a step, which meets each row that flows with all of them and goes on with the first k
 * (GpucolProbeOrder): no pair is kept that is not one of these.
 *
 * The table is read by a scan of n of its own.  Its range table entry stands beside the query, in no FROM
 * clause, so the relation of it is made here.  Its columns are the query's, by the same numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "engine/engine.h"
#include "planner/path_join_first.h"
#include "planner/subquery_join.h"

/* What the query of a relation is made of. */
typedef struct First
{
	PlannerInfo *root;
	const RelOptInfo *rel;
	const Query *query;
	const char *reason;
} First;

/* The only entry of a query's range table, which is a WITH query's, or NULL. */
static const RangeTblEntry *
with_entry(const Query *query)
{
	const RangeTblEntry *rte = query == NULL || list_length(query->rtable) != 1 ? NULL :
		linitial_node(RangeTblEntry, query->rtable);

	return rte != NULL && rte->rtekind == RTE_CTE && !rte->self_reference && rte->ctelevelsup > 0 &&
		list_length(query->jointree->fromlist) == 1 && IsA(linitial(query->jointree->fromlist), RangeTblRef) ?
		rte : NULL;
}

/* The entry beside a relation of the WITH query that its query reads, or 0. */
static Index
find_scan(const PlannerInfo *root, const RangeTblEntry *wanted)
{
	for (Index rti = 1; rti < (Index) root->simple_rel_array_size; rti++)
	{
		const RangeTblEntry *rte = root->simple_rte_array[rti];

		if (rte != NULL && rte->rtekind == RTE_CTE && !rte->inFromCl &&
			rte->ctelevelsup + 1 == wanted->ctelevelsup && strcmp(rte->ctename, wanted->ctename) == 0)
			return rti;
	}
	return 0;
}

/* Are the columns of a query those of its only table, by their numbers? */
static bool
has_same_columns(const Query *query, const RangeTblEntry *rte)
{
	ListCell   *lc;
	int			n = 0;

	foreach(lc, query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		const Var  *var = (const Var *) tle->expr;

		if (tle->resjunk)
			continue;
		n++;
		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno != n || tle->resno != n)
			return false;
	}
	return n == list_length(rte->eref->colnames);
}

bool
gpucol_join_is_first(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *with;
	const Query *query;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_SUBQUERY || bms_is_empty(rel->lateral_relids))
		return false;
	query = planner_rt_fetch(rel->relid, root)->subquery;
	with = with_entry(query);
	return with != NULL && find_scan(root, with) != 0 && gpucol_first_range(query, NULL) > 0 &&
		has_same_columns(query, with);
}

const Plan *
gpucol_join_with_plan(const PlannerInfo *root, const RangeTblEntry *rte)
{
	ListCell   *lc;

	for (Index i = 0; i < rte->ctelevelsup && root != NULL; i++)
		root = root->parent_root;
	if (root == NULL)
		return NULL;
	foreach(lc, root->parse->cteList)
	{
		int			i = foreach_current_index(lc);
		int			plan = i < list_length(root->cte_plan_ids) ? list_nth_int(root->cte_plan_ids, i) : -1;

		if (strcmp(lfirst_node(CommonTableExpr, lc)->ctename, rte->ctename) == 0)
			return plan < 1 ? NULL : list_nth(root->glob->subplans, plan - 1);
	}
	return NULL;
}

/* The columns of a query, as its relation has them. */
static List *
relation_columns(const First *first)
{
	List	   *vars = NIL;
	ListCell   *lc;

	foreach(lc, first->query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			vars = lappend(vars, makeVarFromTargetEntry(first->rel->relid, (TargetEntry *) tle));
	}
	return vars;
}

/* The path of all rows of the WITH query; NULL: it has no plan. */
static Path *
make_scan(const First *first)
{
	PlannerInfo *root = first->root;
	Index		rti = find_scan(root, with_entry(first->query));
	const Plan *plan = gpucol_join_with_plan(root, root->simple_rte_array[rti]);
	MemoryContext old;
	RelOptInfo *rel;
	Path	   *path;
	ListCell   *lc;

	if (plan == NULL)
		return NULL;
	/* the genetic search's memory is gone before the relation is */
	old = MemoryContextSwitchTo(root->planner_cxt);
	rel = root->simple_rel_array[rti];
	if (rel == NULL)
	{
		rel = build_simple_rel(root, (int) rti, NULL);
		foreach(lc, relation_columns(first))
		{
			Var		   *var = lfirst_node(Var, lc);

			var->varno = (int) rti;
			var->varnosyn = rti;
			rel->reltarget->exprs = lappend(rel->reltarget->exprs, var);
		}
		rel->reltarget->width = plan->plan_width;
		set_cte_size_estimates(root, rel, plan->plan_rows);
	}
	path = makeNode(Path);
	path->pathtype = T_CteScan;
	path->parent = rel;
	path->pathtarget = rel->reltarget;
	cost_ctescan(path, root, rel, NULL);
	rel->cheapest_total_path = path;
	MemoryContextSwitchTo(old);
	return path;
}

/* The rows of the WITH query as the table of a step. */
static GpucolPipe *
make_rows(const First *first)
{
	GpucolPipe *rows = palloc0(sizeof(GpucolPipe));

	rows->path = make_scan(first);
	if (rows->path == NULL)
		return NULL;
	rows->relids = bms_make_singleton((int) first->rel->relid);
	rows->outputs = relation_columns(first);
	gpucol_pipe_source(rows, gpucol_pipe_exprs_desc(rows->outputs));
	return rows;
}

/* Bring columns of a query, and of the one around it, to what the latter has. */
static Node *
raise_mutator(Node *node, void *context)
{
	const RelOptInfo *rel = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varlevelsup > 0)
			var->varlevelsup--;
		else
		{
			var->varno = (int) rel->relid;
			var->varnosyn = rel->relid;
		}
		return (Node *) var;
	}
	if (IsA(node, PlaceHolderVar) && ((PlaceHolderVar *) node)->phlevelsup > 0)
	{
		PlaceHolderVar *copy = copyObject((PlaceHolderVar *) node);

		IncrementVarSublevelsUp((Node *) copy, -1, 1);
		return (Node *) copy;
	}
	return expression_tree_mutator(node, raise_mutator, context);
}

static Node *
raise_expr(const First *first, Node *node)
{
	return eval_const_expressions(first->root, raise_mutator(node, (void *) first->rel));
}

/* Add a sort key; false with a reason. */
static bool
add_key(First *first, GpucolPipeStep *step, const SortGroupClause *clause)
{
	Node	   *expr = raise_expr(first, (Node *) get_sortgroupclause_tle((SortGroupClause *) clause,
																		  first->query->targetList)->expr);
	TypeCacheEntry *type = lookup_type_cache(exprType(expr), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	if (clause->sortop != type->lt_opr && clause->sortop != type->gt_opr)
	{
		first->reason = "first rows of an order other than the type's own";
		return false;
	}
	step->order = lappend(step->order, expr);
	step->descending = lappend_int(step->descending, clause->sortop == type->gt_opr);
	step->nulls_first = lappend_int(step->nulls_first, clause->nulls_first);
	return true;
}

/* Add the conditions of the query, of pairs, and those of the joined rows. */
static bool
add_conditions(First *first, const GpucolPipe *drive, GpucolPipeStep *step, List *restrictions)
{
	List	   *quals = make_ands_implicit((Expr *) first->query->jointree->quals);
	ListCell   *lc;

	foreach(lc, quals)
		step->residual = lappend(step->residual, raise_expr(first, lfirst(lc)));
	foreach(lc, restrictions)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant || rinfo->security_level > 0 ||
			contain_volatile_functions((Node *) rinfo->clause))
		{
			first->reason = "a condition on first rows without columns, or behind a security barrier";
			return false;
		}
		step->filter = lappend(step->filter, rinfo->clause);
	}
	foreach(lc, list_concat_copy(step->residual, step->filter))
	{
		first->reason = gpucol_pipe_check_condition(drive, step->build, lfirst(lc));
		if (first->reason != NULL)
			return false;
	}
	return true;
}

/* Can engines compare rows by the sort keys? */
static bool
check_order(First *first, const GpucolPipe *drive, const GpucolPipeStep *step)
{
	ListCell   *lc;

	if (list_length(step->order) > GPUCOL_FIRST_KEYS)
		first->reason = "first rows of an order with too many keys";
	foreach(lc, step->order)
	{
		if (first->reason == NULL)
			first->reason = gpucol_pipe_ask(drive, step->build, lfirst(lc), GPUCOL_PIPE_ORDER).reason;
	}
	return first->reason == NULL;
}

GpucolPipeStep *
gpucol_join_first_step(PlannerInfo *root, const GpucolPipe *drive, RelOptInfo *rel, JoinType jointype,
					   List *restrictlist, const char **reason)
{
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));
	First		first = {.root = root,.rel = rel,.query = planner_rt_fetch(rel->relid, root)->subquery};
	List	   *restrictions = list_concat_copy(rel->baserestrictinfo, restrictlist);
	int64		skipped = 0;
	int64		most;
	ListCell   *lc;

	*reason = NULL;
	if (!bms_is_subset(rel->lateral_relids, drive->relids) || (jointype != JOIN_INNER && jointype != JOIN_LEFT))
		return NULL;
	*reason = "first rows of an outer join with a condition, or behind rows of another";
	if ((jointype == JOIN_LEFT && restrictions != NIL) || gpucol_pipe_has_tail(drive))
		return NULL;
	*reason = "more first rows than an engine keeps";
	most = gpucol_first_range(first.query, &skipped);
	if (most > GPUCOL_MOST_FIRST)
		return NULL;
	step->most = (int) most;
	step->skipped = (int) skipped;
	step->kind = jointype == JOIN_LEFT ? GPUCOL_JOIN_LEFT : GPUCOL_JOIN_INNER;
	step->build = make_rows(&first);
	*reason = "first rows of too many";
	if (step->build == NULL || step->build->path->rows > GPUCOL_MOST_ORDERED)
		return NULL;
	foreach(lc, first.query->sortClause)
	{
		if (first.reason == NULL)
			add_key(&first, step, lfirst_node(SortGroupClause, lc));
	}
	if (first.reason == NULL && add_conditions(&first, drive, step, restrictions))
		check_order(&first, drive, step);
	*reason = first.reason;
	return first.reason == NULL ? step : NULL;
}
