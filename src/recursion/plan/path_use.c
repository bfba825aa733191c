/*-------------------------------------------------------------------------
 *
 * path_use.c
 *	  What a query does with a pushed-down recursion, done by the engine too.
 *
 * Both apply where the query refers to the CTE once:
 *
 * - Conditions on columns that the recursive term carries along unchanged hold
 *	 for a row exactly if they hold for the row of the non-recursive term that
 *	 it comes from.  They are tested there, so that only what is asked for is
 *	 searched.
 * - count, sum, avg, min and max over the whole CTE become a GpucolRecursiveAgg,
 *	 which asks the engine of the recursion for a summary.  All other grouping and
 *	 aggregation is path_agg.c's.  No row passes through the executor.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/subselect.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "recursion/front/builder.h"
#include "recursion/front/values.h"
#include "recursion/plan/nodes.h"
#include "guc.h"
#include "plan/wing.h"
#include "planner/planner.h"
#include "recursion/plan/use.h"

/* Does an expression use a value that is only known while the query runs? */
static bool
find_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		IsA(node, SubLink))
		return true;
	return expression_tree_walker(node, find_param, context);
}

/* The same for what a query computes and tests. */
static bool
uses_params(const Query *query)
{
	return find_param((Node *) query->targetList, NULL) ||
		find_param((Node *) query->jointree, NULL) ||
		find_param(query->havingQual, NULL);
}

/* That of a WITH RECURSIVE. */
static CustomScan *
find_recursion(PlannerInfo *root, RelOptInfo *rel, int *plan_id)
{
	RangeTblEntry *rte;
	PlannerInfo *owner = root;
	ListCell   *lc;
	Plan	   *plan;
	Index		level;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_CTE)
		return NULL;
	rte = root->simple_rte_array[rel->relid];
	if (rte->self_reference)
		return NULL;
	/* what an outer query starts again and again reads PostgreSQL's copy */
	if (rte->ctelevelsup > 0 && uses_params(root->parse))
		return NULL;
	for (level = 0; level < rte->ctelevelsup && owner != NULL; level++)
		owner = owner->parent_root;
	if (owner == NULL)
		return NULL;
	foreach(lc, owner->parse->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		*plan_id = list_nth_int(owner->cte_plan_ids, foreach_current_index(lc));
		if (cte->cterefcount != 1 || *plan_id <= 0)
			return NULL;
		plan = list_nth(root->glob->subplans, *plan_id - 1);
		return gpucol_recursive_is_plan(plan) ? (CustomScan *) plan : NULL;
	}
	return NULL;
}

CustomScan *
gpucol_recursive_find_rows(PlannerInfo *root, RelOptInfo *rel, int *plan_id)
{
	CustomScan *datalog = gpucol_datalog_scanned(rel);

	if (datalog == NULL)
		return find_recursion(root, rel, plan_id);
	*plan_id = GPUCOL_RECURSIVE_CHILD;
	return datalog;
}

/* ---- conditions on carried columns ---- */

/* Columns that a rule hands on from the delta as they are. */
static Bitmapset *
carried_by(const GpucolRecPlan *plan, const GpucolRecRule *rule)
{
	const GpucolRecStep *first = &plan->steps[rule->steps];
	const GpucolRecStep *last = &plan->steps[rule->steps + rule->nsteps - 1];
	Bitmapset  *result = NULL;
	int			i;

	for (i = 0; i < first->noperands; i++)
	{
		const GpucolRecOperand *in = &plan->operands[first->operands + i];
		const GpucolRecOperand *out = &plan->operands[last->operands + i];

		if (in->kind == GPUCOL_REC_BIND && out->kind == GPUCOL_REC_REGISTER &&
			in->index == out->index)
			result = bms_add_member(result, i + 1);
	}
	return result;
}

static GpucolRecPlan *
plan_of(const CustomScan *scan)
{
	Const	   *packed = list_nth(scan->custom_private, GPUCOL_RECURSIVE_PLAN);

	return gpucol_rec_plan_unpack(DatumGetByteaPP(packed->constvalue));
}

/* Columns that every recursive rule hands on as they are. */
static Bitmapset *
carried_columns(const CustomScan *scan)
{
	GpucolRecPlan *plan = plan_of(scan);
	Bitmapset  *result = carried_by(plan, &plan->rules[0]);
	uint32		i;

	for (i = 1; i < plan->nrules; i++)
		if (plan->rules[i].flags & GPUCOL_REC_RECURSIVE)
			result = bms_int_members(result, carried_by(plan, &plan->rules[i]));
	return result;
}

typedef struct CarryContext
{
	Index		relid;
	Bitmapset  *carried;
	List	   *columns;		/* custom_scan_tlist of the recursion */
} CarryContext;

/* Does an expression use anything but carried columns and constants? */
static bool
uses_others(Node *node, void *context)
{
	CarryContext *carry = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno != (int) carry->relid ||
			((Var *) node)->varlevelsup != 0 ||
			!bms_is_member(((Var *) node)->varattno, carry->carried);
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		IsA(node, PlaceHolderVar) || IsA(node, Aggref) ||
		IsA(node, WindowFunc))
		return true;
	return expression_tree_walker(node, uses_others, context);
}

/* The expression over the recursion's own columns. */
static Node *
rename_columns(Node *node, void *context)
{
	CarryContext *carry = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject((Node *) list_nth_node(TargetEntry, carry->columns,
												 ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, rename_columns, context);
}

/* May a condition be tested on the non-recursive term? */
static bool
may_push(const RelOptInfo *rel, const RestrictInfo *info, CarryContext *carry)
{
	return !info->pseudoconstant &&
		info->security_level <= rel->baserestrict_min_security &&
		!contain_volatile_functions((Node *) info->clause) &&
		!uses_others((Node *) info->clause, carry);
}

static bool
may_push_any(const RelOptInfo *rel, CarryContext *carry)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		if (may_push(rel, lfirst_node(RestrictInfo, lc), carry))
			return true;
	return false;
}

/* ---- conditions on the other end of a closure ---- */

/* The operands of a step of a plan that is not shared. */
static GpucolRecOperand *
operands_at(const GpucolRecPlan *plan, const GpucolRecStep *step)
{
	return unconstify(GpucolRecOperand *, &plan->operands[step->operands]);
}

/* Is a step one over two columns, an atom of a relation or an EMIT? */
static bool
is_pair(const GpucolRecStep *step, GpucolRecStepKind kind, uint32 relation)
{
	return step->kind == kind && step->relation == relation && step->noperands == 2;
}

static bool
is_register(const GpucolRecOperand *operand, int index)
{
	return operand->kind == GPUCOL_REC_REGISTER && operand->index == index;
}

static bool
are_bound(const GpucolRecOperand *operands)
{
	return operands[0].kind == GPUCOL_REC_BIND && operands[1].kind == GPUCOL_REC_BIND;
}

/* Are a plan's rules, by their steps, those of a closure? */
static bool
is_closure(const GpucolRecPlan *plan)
{
	const GpucolRecStep *rule = &plan->steps[plan->rules[0].steps];
	const GpucolRecStep *base;

	if (plan->nrules != 2 || plan->rules[0].nsteps != 3 || plan->rules[1].nsteps != 2 ||
		(plan->relations[0].flags & GPUCOL_REC_BAG) != 0)
		return false;
	base = &plan->steps[plan->rules[1].steps];
	return is_pair(&rule[0], GPUCOL_REC_ATOM, 0) && rule[0].version == GPUCOL_REC_DELTA &&
		is_pair(&rule[1], GPUCOL_REC_ATOM, rule[1].relation) && rule[1].relation != 0 &&
		is_pair(&rule[2], GPUCOL_REC_EMIT, 0) &&
		is_pair(&base[0], GPUCOL_REC_ATOM, rule[1].relation) &&
		is_pair(&base[1], GPUCOL_REC_EMIT, 0) &&
		are_bound(operands_at(plan, &rule[0])) && are_bound(operands_at(plan, &base[0]));
}

/*
 * r(x, y) :- e(x, y). r(x, z) :- delta r(x, y), e(y, z).  hands its column x on (`carried`,
 * from 0).  It becomes the same closure from its other end, r(x, z) :- delta r(y, z), e(x,
 * y), which hands z on; all of it also with the columns of r or of e the other way round.
 * False: it is another plan.
 */
static bool
turn_closure(GpucolRecPlan *plan, int carried)
{
	const GpucolRecStep *rule = &plan->steps[plan->rules[0].steps];
	const GpucolRecStep *base = &plan->steps[plan->rules[1].steps];
	int			other = 1 - carried;
	int			key;			/* column of e that is joined with r's other */
	int			found;
	GpucolRecOperand *delta;
	GpucolRecOperand *edge;
	GpucolRecOperand *emit;
	GpucolRecOperand *first;
	GpucolRecOperand *result;

	if (!is_closure(plan))
		return false;
	delta = operands_at(plan, &rule[0]);
	edge = operands_at(plan, &rule[1]);
	emit = operands_at(plan, &rule[2]);
	first = operands_at(plan, &base[0]);
	result = operands_at(plan, &base[1]);
	key = is_register(&edge[0], delta[other].index) ? 0 : 1;
	found = edge[1 - key].index;
	if (!is_register(&edge[key], delta[other].index) || edge[1 - key].kind != GPUCOL_REC_BIND ||
		!is_register(&emit[carried], delta[carried].index) || !is_register(&emit[other], found) ||
		!is_register(&result[carried], first[key].index) ||
		!is_register(&result[other], first[1 - key].index))
		return false;
	edge[1 - key].kind = GPUCOL_REC_REGISTER;
	edge[1 - key].index = delta[carried].index;
	edge[key].kind = GPUCOL_REC_BIND;
	edge[key].index = found;
	emit[carried].index = found;
	emit[other].index = delta[other].index;
	return true;
}

/* Turn the closure around if that lets conditions be tested on the non-recursive term. */
static void
turn_for_conditions(CustomScan *scan, const RelOptInfo *rel, CarryContext *carry)
{
	GpucolRecPlan *plan = plan_of(scan);
	CarryContext turned = *carry;
	Const	   *packed;
	int			carried;

	if (!bms_get_singleton_member(carry->carried, &carried) || carried > 2)
		return;
	turned.carried = bms_make_singleton(3 - carried);
	if (may_push_any(rel, carry) || !may_push_any(rel, &turned) ||
		!turn_closure(plan, carried - 1))
		return;
	packed = copyObject(list_nth_node(Const, scan->custom_private, GPUCOL_RECURSIVE_PLAN));
	packed->constvalue = PointerGetDatum(gpucol_rec_plan_pack(plan));
	lfirst(list_nth_cell(scan->custom_private, GPUCOL_RECURSIVE_PLAN)) = packed;
	carry->carried = turned.carried;
}

void
gpucol_recursive_push_filters(PlannerInfo *root, RelOptInfo *rel)
{
	CarryContext carry = {.relid = rel->relid};
	int			plan_id;
	CustomScan *scan = find_recursion(root, rel, &plan_id);
	List	   *pushed = NIL;
	ListCell   *lc;

	if (scan == NULL || rel->baserestrictinfo == NIL)
		return;
	carry.carried = carried_columns(scan);
	carry.columns = scan->custom_scan_tlist;
	turn_for_conditions(scan, rel, &carry);
	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, lc);

		if (!may_push(rel, info, &carry))
			continue;
		scan->custom_exprs = lappend(scan->custom_exprs,
									 rename_columns((Node *) info->clause,
													&carry));
		pushed = lappend(pushed, info->clause);
	}
	if (pushed != NIL)
		lfirst(list_nth_cell(scan->custom_private, GPUCOL_RECURSIVE_PUSHED)) =
			copyObject(pushed);
}

List *
gpucol_recursive_conditions(const CustomScan *scan, const RelOptInfo *rel)
{
	List	   *pushed = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	/* a program's rows are all tested */
	if (gpucol_recursive_is_plan(&scan->scan.plan))
		pushed = list_nth(scan->custom_private, GPUCOL_RECURSIVE_PUSHED);
	foreach(lc, rel->baserestrictinfo)
		if (!list_member(pushed, lfirst_node(RestrictInfo, lc)->clause))
			rest = lappend(rest, lfirst(lc));
	return rest;
}

/* ---- aggregates over the whole CTE ---- */

/* Collect the Aggrefs of an expression; true if it has other references. */
static bool
collect_aggrefs(Node *node, void *context)
{
	List	  **aggrefs = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		*aggrefs = list_append_unique(*aggrefs, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) ||
		IsA(node, GroupingFunc) || IsA(node, WindowFunc))
		return true;
	return expression_tree_walker(node, collect_aggrefs, context);
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* The column that an argument is, or is the cast to numeric of; NULL if none. */
static const Var *
aggregated_column(Node *arg, Index relid)
{
	if (IsA(arg, FuncExpr) &&
		(((FuncExpr *) arg)->funcid == F_NUMERIC_INT2 ||
		 ((FuncExpr *) arg)->funcid == F_NUMERIC_INT4 ||
		 ((FuncExpr *) arg)->funcid == F_NUMERIC_INT8))
		arg = linitial(((FuncExpr *) arg)->args);
	if (!IsA(arg, Var) || ((Var *) arg)->varno != (int) relid ||
		((Var *) arg)->varlevelsup != 0 || ((Var *) arg)->varattno <= 0)
		return NULL;
	return (Var *) arg;
}

/*
 * What the engine has to do for an aggregate: (function, column, type), or NIL
 * if it cannot.
 */
static List *
describe_aggregate(const Aggref *aggref, Index relid)
{
	char	   *name;
	const Var  *column = NULL;
	Oid			arg_type = InvalidOid;
	int			function;

	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->aggfilter != NULL || aggref->aggkind != AGGKIND_NORMAL ||
		aggref->aggdirectargs != NIL || aggref->agglevelsup != 0 ||
		list_length(aggref->args) > 1 ||
		get_func_namespace(aggref->aggfnoid) != PG_CATALOG_NAMESPACE)
		return NIL;
	if (aggref->args != NIL)
	{
		Node	   *arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;

		column = aggregated_column(arg, relid);
		if (column == NULL)
			return NIL;
		arg_type = exprType(arg);
	}
	name = get_func_name(aggref->aggfnoid);
	if (strcmp(name, "count") == 0)
		function = GPUCOL_REC_COUNT;
	else if (column == NULL)
		return NIL;
	else if ((strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0) &&
			 is_integer(column->vartype))
		function = name[0] == 's' ? GPUCOL_REC_SUM : GPUCOL_REC_DIV;
	else if ((strcmp(name, "min") == 0 || strcmp(name, "max") == 0) &&
			 arg_type == column->vartype && aggref->aggtype == arg_type &&
			 gpucol_rec_type_ordered(arg_type))
		function = name[1] == 'i' ? GPUCOL_REC_MIN : GPUCOL_REC_MAX;
	else
		return NIL;
	return list_make3_int(function, column ? column->varattno - 1 : -1,
						  (int) aggref->aggtype);
}

/* Can the aggregate of a program's relation be made of rows, where the engine cannot? */
static bool
summarises_rows(const Aggref *aggref, const List *described)
{
	Oid			type;

	if (linitial_int(described) == GPUCOL_REC_COUNT)
		return true;
	type = exprType(linitial(pull_var_clause((Node *) aggref->args, 0)));
	return type == INT4OID || type == INT8OID;
}

bool
gpucol_recursive_add_agg(PlannerInfo *root, RelOptInfo *input_rel,
						 RelOptInfo *output_rel, Path *ordinary, List *having)
{
	Query	   *parse = root->parse;
	int			plan_id;
	CustomScan *scan;
	CustomPath *datalog;
	CustomPath *path;
	List	   *aggrefs = NIL;
	List	   *aggs = NIL;
	ListCell   *lc;

	if (!gpucol_enable_agg || parse->groupClause != NIL ||
		parse->groupingSets != NIL || !parse->hasAggs)
		return false;
	scan = find_recursion(root, input_rel, &plan_id);
	datalog = gpucol_datalog_path_of(input_rel);
	if (ordinary == NULL ||
		(scan != NULL ? gpucol_recursive_conditions(scan, input_rel) != NIL :
		 datalog == NULL || !gpucol_datalog_asks_all(datalog)) ||
		collect_aggrefs((Node *) output_rel->reltarget->exprs, &aggrefs) ||
		collect_aggrefs((Node *) having, &aggrefs))
		return false;
	foreach(lc, aggrefs)
	{
		List	   *agg = describe_aggregate(lfirst(lc), input_rel->relid);

		if (agg == NIL || (scan == NULL && !summarises_rows(lfirst(lc), agg)))
			return false;
		aggs = lappend(aggs, agg);
	}
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = output_rel->reltarget;
	path->path.rows = 1;
	/* never run; it tells the planner which parameters the result depends on */
	path->custom_paths = list_make1(ordinary);
	if (scan == NULL)
	{
		path->custom_paths = lappend(path->custom_paths, datalog);
		plan_id = 0;
	}
	path->custom_private = list_make4(makeInteger(plan_id), aggrefs, aggs, having);
	path->methods = &gpucol_recursive_agg_path_methods;
	output_rel->pathlist = list_make1(path);
	return true;
}
