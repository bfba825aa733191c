/*-------------------------------------------------------------------------
 *
 * twice.c
 *	  Queries that are planned twice, for a node of ours and for what it falls back to.
 *
 * A node whose children are plans (a join that reads other rows, a recursion that reads a
 * base) has them in its fallback, too.  Of a subquery in FROM both are plans of one
 * PlannerInfo, and set_plan_references comes by that twice.  It would move the range
 * table indexes of its AppendRelInfos in place each time, so that EXPLAIN, their only
 * reader, would write behind its array of them; and it would drop the alternative of a
 * subquery that the first of both plans uses and the second does not.
 *
 * A query with grouping sets notes, while its plan is made, where its keys are, and one of least or
 * greatest values that indexes find, what these stand for; a server with assertions insists that it does
 * so once.  Between both plans a path that makes none takes these notes away.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"

#include "plan/twice.h"

/* A note that is taken away. */
typedef struct KeptNote
{
	PlannerInfo *root;
	AttrNumber *grouping_map;
	List	   *minmax_aggs;
} KeptNote;

static Plan *take_notes(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
						List *clauses, List *custom_plans);

static const CustomPathMethods between_path = {
	.CustomName = "GpucolBetween",
	.PlanCustomPath = take_notes
};

static const CustomScanMethods between_plan = {
	.CustomName = "GpucolBetween"
};

/*
 * Leave one alternative of each subquery that has two, that which PostgreSQL would
 * choose for as many evaluations as the context says.
 */
static bool
settle_alternatives(Node *node, void *context)
{
	double		evaluations = *(double *) context;
	AlternativeSubPlan *alternatives = (AlternativeSubPlan *) node;
	SubPlan    *best = NULL;
	Cost		least = 0;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		return settle_alternatives((Node *) ((RestrictInfo *) node)->clause, context);
	if (!IsA(node, AlternativeSubPlan))
		return expression_tree_walker(node, settle_alternatives, context);
	foreach(lc, alternatives->subplans)
	{
		SubPlan    *subplan = lfirst_node(SubPlan, lc);
		Cost		cost = subplan->startup_cost + evaluations * subplan->per_call_cost;

		if (best == NULL || cost <= least)
		{
			best = subplan;
			least = cost;
		}
	}
	/* in place: a genetic search for a join's order frees what it allocates */
	linitial(alternatives->subplans) = best;
	alternatives->subplans = list_truncate(alternatives->subplans, 1);
	return expression_tree_walker((Node *) best, settle_alternatives, context);
}

/* Leave one alternative of each subquery in all that a query's plan is made of. */
static void
settle_query(PlannerInfo *root, double evaluations)
{
	ListCell   *lc;
	ListCell   *lm;

	query_tree_walker(root->parse, settle_alternatives, &evaluations,
					  QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
	/* what a sort compares by has to be found in the list below it */
	foreach(lc, root->eq_classes)
	{
		foreach(lm, lfirst_node(EquivalenceClass, lc)->ec_members)
			gpucol_plan_settle((Node *) lfirst_node(EquivalenceMember, lm)->em_expr, evaluations);
	}
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL)
			continue;
		/* partitions have copies of the conditions */
		gpucol_plan_settle((Node *) rel->baserestrictinfo, evaluations);
		gpucol_plan_settle((Node *) rel->joininfo, evaluations);
	}
}

/*
 * Prepare the query of a subquery in FROM, and those below.
 */
static void
prepare(PlannerInfo *root, double evaluations)
{
	root->append_rel_list = NIL;
	if (root->hasAlternativeSubPlans)
		settle_query(root, evaluations);
	gpucol_plan_twice(root, NULL, evaluations);
}

/*
 * Prepare the subqueries among the relations of `relids`, or among all where that is NULL,
 * and among the members of a UNION ALL in FROM.
 */
void
gpucol_plan_twice(PlannerInfo *root, Relids relids, double evaluations)
{
	check_stack_depth();
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL || rel->subroot == NULL)
			continue;
		if (relids == NULL || bms_is_member(i, relids) || bms_overlap(rel->top_parent_relids, relids))
			prepare(rel->subroot, evaluations);
	}
}

void
gpucol_plan_settle(Node *node, double evaluations)
{
	(void) settle_alternatives(node, &evaluations);
}

/* Add queries that may make notes, this one and those below, to a list. */
static List *
add_noting(PlannerInfo *root, List *queries)
{
	check_stack_depth();
	if (root->parse->groupingSets != NIL || (root->parse->hasAggs && root->parse->groupClause == NIL))
		queries = lappend(queries, root);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->subroot != NULL)
			queries = add_noting(rel->subroot, queries);
	}
	return queries;
}

/* The plan between: nobody sees it but gpucol_plan_together(). */
static Plan *
take_notes(PlannerInfo *root pg_attribute_unused(), RelOptInfo *rel pg_attribute_unused(),
		   CustomPath *path, List *tlist pg_attribute_unused(), List *clauses pg_attribute_unused(),
		   List *custom_plans pg_attribute_unused())
{
	CustomScan *between = makeNode(CustomScan);
	ListCell   *lc;

	foreach(lc, path->custom_private)
	{
		KeptNote   *note = palloc(sizeof(KeptNote));

		note->root = lfirst(lc);
		note->grouping_map = note->root->grouping_map;
		note->root->grouping_map = NULL;
		note->minmax_aggs = note->root->minmax_aggs;
		note->root->minmax_aggs = NIL;
		between->custom_private = lappend(between->custom_private, note);
	}
	between->methods = &between_plan;
	return &between->scan.plan;
}

List *
gpucol_plan_apart(PlannerInfo *root, List *first, List *second)
{
	List	   *queries = second == NIL ? NIL : add_noting(root, NIL);
	CustomPath *between;

	if (queries == NIL)
		return list_concat(first, second);
	between = makeNode(CustomPath);
	between->path.pathtype = T_CustomScan;
	between->path.parent = ((Path *) linitial(first))->parent;
	between->path.pathtarget = create_empty_pathtarget();
	between->methods = &between_path;
	between->custom_private = queries;
	return list_concat(lappend(first, between), second);
}

List *
gpucol_plan_together(List *custom_plans)
{
	ListCell   *lc;

	foreach(lc, custom_plans)
	{
		CustomScan *between = lfirst(lc);
		ListCell   *note;

		if (!IsA(between, CustomScan) || between->methods != &between_plan)
			continue;
		/* a plan that was not made again has left no note */
		foreach(note, between->custom_private)
		{
			KeptNote   *kept = lfirst(note);

			if (kept->root->grouping_map == NULL)
				kept->root->grouping_map = kept->grouping_map;
			if (kept->root->minmax_aggs == NIL)
				kept->root->minmax_aggs = kept->minmax_aggs;
		}
		return list_delete_cell(custom_plans, lc);
	}
	return custom_plans;
}
