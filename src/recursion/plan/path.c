/*-------------------------------------------------------------------------
 *
 * path.c
 *	  Puts GpucolRecursive in the place of RecursiveUnion.
 *
 * The hook runs when PostgreSQL has planned both terms and made the only path
 * that it knows.  The non-recursive term stays as PostgreSQL planned it and
 * becomes a child, which is run where recursion/plan/lower.c has made no rule of it;
 * of the recursive term only the plans of the single relations are used.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "recursion/front/builder.h"
#include "recursion/plan/nodes.h"
#include "guc.h"
#include "planner/planner.h"
#include "plan/reason.h"
#include "plan/twice.h"
#include "recursion/plan/lower.h"
#include "recursion/plan/use.h"

static set_rel_pathlist_hook_type previous_set_rel_pathlist = NULL;
static create_upper_paths_hook_type previous_create_upper_paths = NULL;

/* A round in C costs about this part of one in the executor. */
#define COST_FACTOR	0.1

/* About half of the time in which an engine reads a value of an input, and one by reference. */
#define TRIAL_MICROSECONDS_PER_VALUE	0.01
#define TRIAL_MICROSECONDS_PER_REFERENCE	0.03

/* Inputs of fewer rows are read as soon as any plan has begun. */
#define TRIAL_LEAST_ROWS	1000

/* What an engine needs in any case. */
#define TRIAL_LEAST_MICROSECONDS	250

/* The leaf query whose columns name those of the result. */
static Index
first_leaf(Node *node)
{
	while (IsA(node, SetOperationStmt))
		node = ((SetOperationStmt *) node)->larg;
	return ((RangeTblRef *) node)->rtindex;
}

/* Why the non-recursive term cannot be a child, or NULL. */
static const char *
check_seeds(PlannerInfo *root, const SetOperationStmt *setop, const Path *path)
{
	PlannerInfo *leaf = root->simple_rel_array[first_leaf(setop->larg)]->subroot;
	ListCell   *lc;

	if (list_length(path->pathtarget->exprs) != list_length(setop->colTypes))
		return "the non-recursive term has a hidden column";
	foreach(lc, path->pathtarget->exprs)
		if (exprType(lfirst(lc)) !=
			list_nth_oid(setop->colTypes, foreach_current_index(lc)))
			return "the terms have columns of different types";
	if (leaf != NULL &&
		(contain_volatile_functions((Node *) leaf->parse->targetList) ||
		 contain_volatile_functions((Node *) leaf->parse->jointree)))
		return "the non-recursive term has a volatile function";
	return NULL;
}

/*
 * A path that holds the paths of the inputs, and the expressions of the plan, in the
 * place of the term's.
 */
static Path *
make_inputs_path(PlannerInfo *subroot, const SubqueryScanPath *term,
				 const GpucolLoweredRecursion *lowered)
{
	CustomPath *path = makeNode(CustomPath);
	SubqueryScanPath *scan = makeNode(SubqueryScanPath);
	ListCell   *lc;

	path->path.pathtype = T_CustomScan;
	path->path.parent = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);
	path->path.pathtarget = term->subpath->pathtarget;
	path->methods = &gpucol_inputs_path_methods;
	path->custom_private = list_make2(list_concat_copy(lowered->constants,
													   lowered->hosts),
									  lowered->operands);
	foreach(lc, lowered->inputs)
	{
		Path	   *input = ((RelOptInfo *) lfirst(lc))->cheapest_total_path;

		path->custom_paths = lappend(path->custom_paths, input);
		path->path.total_cost += input->total_cost;
		path->path.rows += input->rows;
	}
	memcpy(scan, term, sizeof(SubqueryScanPath));
	scan->subpath = &path->path;
	scan->path.startup_cost = 0;
	scan->path.total_cost = path->path.total_cost;
	scan->path.rows = path->path.rows;
	return &scan->path;
}

/* Microseconds that an engine needs to read half of the inputs' rows. */
static double
half_load(const GpucolLoweredRecursion *lowered)
{
	double		microseconds = 0;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, lowered->inputs)
	{
		const RelOptInfo *rel = lfirst(lc);

		foreach(lc2, rel->reltarget->exprs)
			microseconds += rel->cheapest_total_path->rows *
				(get_typbyval(exprType(lfirst(lc2))) ? TRIAL_MICROSECONDS_PER_VALUE : TRIAL_MICROSECONDS_PER_REFERENCE);
	}
	return microseconds;
}

/*
 * Microseconds for which PostgreSQL's plan is tried first: about half of what an engine
 * needs to read the inputs, if the plan needs less than that for the non-recursive term
 * and a round.  How many rounds there will be, nobody can tell.
 */
static int
trial_time(const RecursiveUnionPath *path, const Path *inputs, const GpucolLoweredRecursion *lowered)
{
	Cost		round = path->leftpath->total_cost + path->rightpath->total_cost;
	Cost		load = inputs->total_cost + inputs->rows * cpu_tuple_cost;

	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE || gpucol_recursive_strategy != GPUCOL_REC_AUTO ||
		inputs->rows < TRIAL_LEAST_ROWS || round > load)
		return GPUCOL_RECURSIVE_NO_TRIAL;
	return (int) Min(half_load(lowered) + TRIAL_LEAST_MICROSECONDS, INT_MAX / 2);
}

static Path *
make_recursive_path(PlannerInfo *root, const SetOperationStmt *setop,
					const RecursiveUnionPath *path, Path *inputs,
					const GpucolLoweredRecursion *lowered, int trial)
{
	CustomPath *custom = makeNode(CustomPath);
	Const	   *plan = makeConst(BYTEAOID, -1, InvalidOid, -1,
								 PointerGetDatum(gpucol_rec_plan_pack(lowered->plan)),
								 false, false);

	custom->path.pathtype = T_CustomScan;
	custom->path.parent = path->path.parent;
	custom->path.pathtarget = path->path.pathtarget;
	custom->path.rows = path->path.rows;
	custom->path.startup_cost = path->leftpath->startup_cost +
		inputs->total_cost;
	custom->path.total_cost = path->leftpath->total_cost + inputs->total_cost +
		(path->path.total_cost - path->leftpath->total_cost) * COST_FACTOR;
	custom->custom_paths = list_make2(path->leftpath, inputs);
	if (lowered->equalities != NIL || trial != GPUCOL_RECURSIVE_NO_TRIAL)
		custom->custom_paths = gpucol_plan_apart(root, custom->custom_paths,
												 list_make1(unconstify(RecursiveUnionPath *, path)));
	custom->methods = &gpucol_recursive_path_methods;
	/* The plan's private list, and behind it what only planning needs. */
	custom->custom_private = list_make4(plan, setop->colTypes,
										lowered->input_types,
										makeBoolean(setop->all));
	custom->custom_private = lappend(custom->custom_private,
									 makeBoolean(lowered->has_base));
	custom->custom_private = lappend(custom->custom_private,
									 setop->colCollations);
	custom->custom_private = lappend(custom->custom_private,
									 lowered->input_collations);
	custom->custom_private = lappend(custom->custom_private,
									 lowered->host_operands);
	custom->custom_private = lappend(custom->custom_private,
									 lowered->host_matches);
	custom->custom_private = lappend(custom->custom_private,
									 lowered->equalities);
	custom->custom_private = lappend(custom->custom_private, makeInteger(trial));
	custom->custom_private = lappend(custom->custom_private, lowered->functions);
	custom->custom_private = lappend(custom->custom_private,
									 makeInteger(first_leaf(setop->larg)));
	return &custom->path;
}

static bool
note_function(Oid function, void *context)
{
	List	  **functions = context;

	*functions = list_append_unique_oid(*functions, function);
	return false;
}

/* Note what a query, or an expression, calls; functions of types are not checked. */
static bool
note_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, note_functions, context, 0);
	if (!IsA(node, CoerceViaIO) && !IsA(node, RowCompareExpr))
		check_functions_in_node(node, note_function, context);
	return expression_tree_walker(node, note_functions, context);
}

/* Why this recursion is not pushed down, or NULL if it now is. */
static const char *
replace_recursion(PlannerInfo *root, RelOptInfo *rel,
				  const RecursiveUnionPath *path)
{
	SetOperationStmt *setop = castNode(SetOperationStmt,
									   root->parse->setOperations);
	GpucolLoweredRecursion lowered;
	PlannerInfo *subroot;
	PlannerInfo *base = NULL;
	Path	   *inputs;
	ListCell   *lc;
	int			trial;
	const char *reason;

	if (gpucol_planner_disabled() != NULL)
		return gpucol_planner_disabled();
	if (!gpucol_enable_recursive)
		return "gpucol.enable_recursive is off";
	if (!IsA(setop->rarg, RangeTblRef) ||
		!IsA(path->rightpath, SubqueryScanPath))
		return "the recursive term is not a plain SELECT";
	reason = check_seeds(root, setop, path->leftpath);
	if (reason != NULL)
		return reason;
	subroot = root->simple_rel_array[((RangeTblRef *) setop->rarg)->rtindex]->subroot;
	if (IsA(setop->larg, RangeTblRef))
		base = root->simple_rel_array[first_leaf(setop->larg)]->subroot;
	gpucol_recursive_lower(subroot, base, setop->colTypes,
						   setop->colCollations, setop->all, &lowered);
	if (lowered.reason != NULL)
		return lowered.reason;
	lowered.functions = NIL;
	note_functions((Node *) subroot->parse, &lowered.functions);
	if (base != NULL)
		note_functions((Node *) base->parse, &lowered.functions);
	foreach(lc, setop->groupClauses)
		note_function(get_opcode(lfirst_node(SortGroupClause, lc)->eqop), &lowered.functions);
	inputs = make_inputs_path(subroot, (SubqueryScanPath *) path->rightpath, &lowered);
	trial = trial_time(path, inputs, &lowered);
	if (lowered.equalities != NIL || trial != GPUCOL_RECURSIVE_NO_TRIAL)
	{
		double		evaluations = path->rightpath->rows;

		gpucol_plan_twice(root, NULL, evaluations);
		gpucol_plan_settle((Node *) lowered.constants, evaluations);
		gpucol_plan_settle((Node *) lowered.hosts, evaluations);
		gpucol_plan_settle((Node *) lowered.operands, evaluations);
	}
	rel->pathlist = list_make1(make_recursive_path(root, setop, path, inputs, &lowered, trial));
	return NULL;
}

/* create_upper_paths_hook */
static void
consider_recursion(PlannerInfo *root, UpperRelationKind stage,
				   RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	const char *reason;

	if (previous_create_upper_paths)
		previous_create_upper_paths(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_GROUP_AGG && input_rel->reloptkind == RELOPT_BASEREL &&
		input_rel->rtekind == RTE_FUNCTION && ((GroupPathExtraData *) extra)->patype !=
		PARTITIONWISE_AGGREGATE_PARTIAL)
		(void) gpucol_recursive_add_agg(root, input_rel, output_rel,
										gpucol_fallback_path(root, output_rel),
										(List *) ((GroupPathExtraData *) extra)->havingQual);
	if (stage != UPPERREL_SETOP || list_length(output_rel->pathlist) != 1 ||
		!IsA(linitial(output_rel->pathlist), RecursiveUnionPath))
		return;
	reason = replace_recursion(root, output_rel,
							   linitial(output_rel->pathlist));
	if (reason != NULL)
		gpucol_reason_add(InvalidOid, "recursion", "%s", reason);
}

/* set_rel_pathlist_hook */
static void
consider_filters(PlannerInfo *root, RelOptInfo *rel, Index rti,
				 RangeTblEntry *rte)
{
	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, rti, rte);
	if (IS_DUMMY_REL(rel))
		return;
	if (rte->rtekind != RTE_FUNCTION && rte->rtekind != RTE_CTE)
		return;
	if (rte->rtekind == RTE_FUNCTION)
		gpucol_datalog_add_scan(root, rel, rte);
	else
		gpucol_recursive_push_filters(root, rel);
	gpucol_recursive_add_scan(root, rel);
}

void
gpucol_recursive_install_hooks(void)
{
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = consider_filters;
	previous_create_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = consider_recursion;
}
