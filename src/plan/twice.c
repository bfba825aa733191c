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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "plan/twice.h"

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
	query_tree_walker(root->parse, settle_alternatives, &evaluations,
					  QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES);
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
	expression_tree_walker(node, settle_alternatives, &evaluations);
}
