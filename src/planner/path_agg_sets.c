/*-------------------------------------------------------------------------
 *
 * path_agg_sets.c
 *	  Grouping sets: their keys, and a path with an aggregation for each set.
 *
 * One aggregation by all keys reads the table once, but may have nearly as many groups as
 * there are rows, although each set has few of them; then one for each set costs less.  They are
 * appended; in the list and HAVING of each, the keys that its set has not are NULL, and calls of
 * GROUPING() constants.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/group_sets.h"
#include "plan/reason.h"
#include "planner/key_values.h"
#include "planner/path_agg.h"
#include "planner/path_agg_grouping.h"

/* More sets than that are those of one aggregation. */
#define MOST_SETS	16

double
gpucol_grouping_combinations(const GpucolGrouping *g, double rows, const bool *left_out)
{
	double		n = 1;
	ListCell   *lc;

	foreach(lc, g->keys)
	{
		if (left_out == NULL || !left_out[foreach_current_index(lc)])
			n *= Min(estimate_num_groups(g->root, list_make1(lfirst(lc)), rows, NULL, NULL),
					 gpucol_key_values(g->root, list_make1(lfirst(lc)), rows));
	}
	return n;
}

double
gpucol_grouping_joined_sets(const GpucolGrouping *g, double groups, double rows)
{
	int			nkeys = list_length(g->keys);
	GpucolSetOrder order;
	double		joined = 0;
	double		others;

	others = gpucol_path_agg_others(g->root, &g->plan, g->keys, g->pipe, g->lower->desc, g->rel->relid, rows);
	groups = Min(groups, others * gpucol_grouping_combinations(g, rows, NULL));
	gpucol_group_sets_init(g->sets.sets, NIL, nkeys, &order);
	for (uint32 set = 0; set < order.nsets; set++)
	{
		int			parent = g->plan.nhost > 0 ? GPUCOL_GROUP_SETS_ROOT : order.parents[set];

		joined += parent == GPUCOL_GROUP_SETS_ROOT ? groups :
			Min(groups, others * gpucol_grouping_combinations(g, rows, order.left_out + (Size) parent * nkeys));
	}
	return joined;
}

bool
gpucol_grouping_decline(GpucolGrouping *g, const char *reason)
{
	gpucol_reason_add(g->relid, "aggregation", "%s", reason);
	return false;
}

/* The number of the key that a group clause's reference is about. */
static int
find_key(GpucolGrouping *g, Index ref)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, g->group_clause)
	{
		if (lfirst_node(SortGroupClause, lc)->tleSortGroupRef == ref)
			return i;
		i++;
	}
	return -1;
}

/* The keys of references as an IntList. */
static List *
find_keys(GpucolGrouping *g, List *refs)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, refs)
		keys = lappend_int(keys, find_key(g, lfirst_int(lc)));
	return keys;
}

/*
 * Number the keys of grouping sets and of GROUPING().  What depends functionally on
 * the keys does so on those that all sets have.
 */
void
gpucol_grouping_collect_sets(GpucolGrouping *g)
{
	int			n = list_length(g->group_clause);
	ListCell   *lc;

	foreach(lc, g->grouping_sets)
	{
		List	   *set = find_keys(g, lfirst(lc));

		for (int i = n; i < list_length(g->keys); i++)
			set = lappend_int(set, i);
		g->sets.sets = lappend(g->sets.sets, set);
	}
	foreach(lc, g->functions)
		g->sets.functions = lappend(g->sets.functions,
									find_keys(g, lfirst_node(GroupingFunc, lc)->refs));
}

/* Can groups of sets be told by their keys?  Each clause is to be a key of its own. */
bool
gpucol_grouping_check_sets(GpucolGrouping *g)
{
	ListCell   *lc;

	if (g->grouping_sets == NIL)
		return true;
	if (list_length(g->keys) != list_length(g->group_clause))
		return gpucol_grouping_decline(g, "grouping sets of equal keys");
	foreach(lc, g->keys)
	{
		Node	   *key = lfirst(lc);

		/* PostgreSQL does not set a constant to NULL, before version 18, which wraps it */
		if (IsA(key, PlaceHolderVar))
			key = (Node *) ((PlaceHolderVar *) key)->phexpr;
		if (!contain_var_clause(key))
			return gpucol_grouping_decline(g, "grouping sets of constant keys");
	}
	return true;
}

/* One set: which keys it has, and those that it has not. */
typedef struct Set
{
	List	   *refs;			/* IntList of clauses' references */
	List	   *keys;			/* of Expr */
	List	   *left_out;
} Set;

/* The result of GROUPING() in a set: a bit for each argument that is not its key. */
static Node *
result_of_grouping(const GroupingFunc *call, const Set *set)
{
	int32		result = 0;
	ListCell   *lc;

	foreach(lc, call->refs)
		result = (int32) ((uint32) result << 1 | !list_member_int(set->refs, lfirst_int(lc)));
	return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(result), false, true);
}

/* An expression over groups as it is over those of a set. */
static Node *
in_set_mutator(Node *node, void *context)
{
	const Set  *set = context;

	if (node == NULL || list_member(set->keys, node) || IsA(node, Aggref))
		return node;
	if (list_member(set->left_out, node))
		return (Node *) makeNullConst(exprType(node), exprTypmod(node), exprCollation(node));
	if (IsA(node, GroupingFunc))
		return result_of_grouping((GroupingFunc *) node, set);
	return expression_tree_mutator(node, in_set_mutator, context);
}

/* The clauses of a set; `set` becomes what is left out of it. */
static List *
open_set(const GpucolGrouping *g, List *refs, Set *set)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	memset(set, 0, sizeof(*set));
	set->refs = refs;
	foreach(lc, g->group_clause)
	{
		Node	   *key = list_nth(g->keys, foreach_current_index(lc));

		if (list_member_int(refs, (int) lfirst_node(SortGroupClause, lc)->tleSortGroupRef))
		{
			clauses = lappend(clauses, lfirst(lc));
			set->keys = lappend(set->keys, key);
		}
		else
			set->left_out = lappend(set->left_out, key);
	}
	return clauses;
}

/* PostgreSQL's path of an aggregation, or NULL. */
static Path *
ordinary_path(const GpucolGrouping *g, RelOptInfo *output_rel)
{
	PlannerInfo *root = g->root;
	Path	   *rows = g->rel->cheapest_total_path;
	bool		hashed = grouping_is_hashable(g->group_clause) && root->numOrderedAggs == 0;
	List	   *tlist = gpucol_compat_of_rows(root, root->parse->targetList);
	AggClauseCosts costs;
	double		groups;

	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	if (g->group_clause == NIL)
		return (Path *) create_agg_path(root, output_rel, rows, g->target, AGG_PLAIN, AGGSPLIT_SIMPLE, NIL,
										g->having, &costs, 1);
	groups = estimate_num_groups(root, get_sortgrouplist_exprs(g->group_clause, tlist),
								 rows->rows, NULL, NULL);
	if (!hashed && !grouping_is_sortable(g->group_clause))
		return NULL;
	if (!hashed)
	{
		List	   *order = make_pathkeys_for_sortclauses(root, g->group_clause, tlist);

		rows = (Path *) create_sort_path(root, output_rel, rows, order, -1);
	}
	return (Path *) create_agg_path(root, output_rel, rows, g->target, hashed ? AGG_HASHED : AGG_SORTED,
									AGGSPLIT_SIMPLE, g->group_clause, g->having, &costs, groups);
}

/* HAVING as it is in a set, where GROUPING() often decides a part of it. */
static List *
having_of_set(const GpucolGrouping *whole, Set *set)
{
	List	   *having = NIL;
	ListCell   *lc;

	foreach(lc, whole->having)
	{
		Node	   *clause = eval_const_expressions(whole->root, in_set_mutator(lfirst(lc), set));

		if (!IsA(clause, Const) || ((Const *) clause)->constisnull || !DatumGetBool(((Const *) clause)->constvalue))
			having = lappend(having, clause);
	}
	return gpucol_compat_of_rows(whole->root, having);
}

/* The path of a set, or NULL. */
static Path *
path_of_set(const GpucolGrouping *whole, List *refs, RelOptInfo *output_rel)
{
	GpucolGrouping g = {
		.root = whole->root,.rel = whole->rel,.relid = whole->relid,.parts = whole->parts,.desc = whole->desc
	};
	Path	   *fallback;
	Set			set;

	g.group_clause = open_set(whole, refs, &set);
	g.target = copy_pathtarget(whole->target);
	g.target->exprs = gpucol_compat_of_rows(g.root, (List *) in_set_mutator((Node *) g.target->exprs, &set));
	set_pathtarget_cost_width(g.root, g.target);
	g.having = having_of_set(whole, &set);
	fallback = ordinary_path(&g, output_rel);
	return fallback != NULL && gpucol_grouping_lower(&g) ? gpucol_grouping_path(&g, output_rel, fallback) : NULL;
}

/* Can there be an aggregation for each set?  Each reads a table and nothing else, and has one row or groups. */
static bool
may_be_apart(const GpucolGrouping *g)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	if (g->pipe != NULL || g->recursion != NULL || g->ranking || g->plan.feeding || !g->root->parse->hasAggs ||
		list_length(g->grouping_sets) > MOST_SETS || list_length(g->keys) != list_length(g->group_clause))
		return false;
	foreach(lc, g->rel->baserestrictinfo)
		conditions = lappend(conditions, lfirst_node(RestrictInfo, lc)->clause);
	return !contain_subplans((Node *) conditions) && !contain_volatile_functions((Node *) conditions) &&
		!contain_subplans((Node *) g->target->exprs) && !contain_volatile_functions((Node *) g->target->exprs) &&
		!contain_subplans((Node *) g->having) && !contain_volatile_functions((Node *) g->having);
}

Path *
gpucol_grouping_by_sets(GpucolGrouping *g, RelOptInfo *output_rel, Path *whole)
{
	List	   *paths = NIL;
	Cost		total = 0;
	ListCell   *lc;

	if (!may_be_apart(g))
		return whole;
	foreach(lc, g->grouping_sets)
	{
		Path	   *path = path_of_set(g, lfirst(lc), output_rel);

		total += path == NULL ? 0 : path->total_cost;
		if (path == NULL || total >= whole->total_cost)
			return whole;
		paths = lappend(paths, path);
	}
	return (Path *) create_append_path(g->root, output_rel, paths, NIL, NIL, NULL, 0, false, -1);
}
