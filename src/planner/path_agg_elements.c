/*-------------------------------------------------------------------------
 *
 * path_agg_elements.c
 *	  Which elements of the arrays that aggregates collect a query asks for.
 *
 * (array_agg(x ORDER BY y DESC))[1] is how many ask for the first row of a group, and [1:3] for the first three.  Where
 * all that is made of an array are such elements, the others need not be collected (exec/feed_first.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "planner/path_agg.h"

/* More elements are not worth the lists that they are kept in. */
#define MOST_ELEMENTS	100

/* Aggregates, and how many elements of each are asked for so far; INT_MAX: all. */
typedef struct Elements
{
	List	   *aggs;
	int		   *most;
} Elements;

/* Note that so many elements of an aggregate are asked for. */
static void
ask(Elements *elements, const Aggref *agg, int most)
{
	ListCell   *lc;

	foreach(lc, elements->aggs)
	{
		int		   *known = &elements->most[foreach_current_index(lc)];

		if (equal(lfirst(lc), agg))
			*known = Max(*known, most);
	}
}

/* The last element of a subscripted array that may be asked for; INT_MAX: any. */
static int
last_element(const SubscriptingRef *ref)
{
	const Const *last;

	if (ref->refassgnexpr != NULL || list_length(ref->refupperindexpr) != 1)
		return INT_MAX;
	last = linitial(ref->refupperindexpr);
	if (last == NULL || !IsA(last, Const) || last->consttype != INT4OID || last->constisnull)
		return INT_MAX;
	return Max(DatumGetInt32(last->constvalue), 1);
}

static bool
elements_walker(Node *node, void *context)
{
	const SubscriptingRef *ref = (const SubscriptingRef *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		ask(context, (const Aggref *) node, INT_MAX);
		return false;
	}
	if (!IsA(node, SubscriptingRef) || !IsA(ref->refexpr, Aggref))
		return expression_tree_walker(node, elements_walker, context);
	ask(context, (const Aggref *) ref->refexpr, last_element(ref));
	return expression_tree_walker((Node *) ref->refupperindexpr, elements_walker, context) ||
		expression_tree_walker((Node *) ref->reflowerindexpr, elements_walker, context);
}

List *
gpucol_path_agg_elements(PlannerInfo *root, List *aggs, List *having)
{
	Elements	elements = {aggs, palloc0(Max(list_length(aggs), 1) * sizeof(int))};
	List	   *result = NIL;
	ListCell   *lc;

	elements_walker((Node *) root->processed_tlist, &elements);
	elements_walker((Node *) having, &elements);
	foreach(lc, aggs)
	{
		const Aggref *agg = lfirst_node(Aggref, lc);
		int			most = elements.most[foreach_current_index(lc)];
		bool		some = agg->aggfnoid == F_ARRAY_AGG_ANYNONARRAY &&
			most <= (agg->aggdistinct == NIL ? MOST_ELEMENTS : 1);

		result = lappend_int(result, some ? most : 0);
	}
	return result;
}
