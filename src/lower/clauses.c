/*-------------------------------------------------------------------------
 *
 * clauses.c
 *	  Which conditions of a table an engine takes.
 *
 * Order matters twice.  Security: a condition may be tested before one of a
 * lower security level (a security barrier view, a row security policy) only
 * if it is leakproof; as PostgreSQL does, conditions are put in order of level
 * first.  Errors: a condition that could raise an error is taken only if every
 * condition before it is, so that its mask covers what they exclude.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "lower/clauses.h"
#include "plan/reason.h"

typedef struct OrderedClause
{
	RestrictInfo *rinfo;
	Cost		cost;
	Index		level;
} OrderedClause;

/*
 * Does a come before b?  What has no columns is tested before rows are read; then by
 * level, then by cost; equal ones keep their order.
 */
static bool
is_before(const OrderedClause *a, const OrderedClause *b)
{
	if (a->rinfo->pseudoconstant != b->rinfo->pseudoconstant)
		return a->rinfo->pseudoconstant;
	if (a->level != b->level)
		return a->level < b->level;
	return a->cost < b->cost;
}

/*
 * The order in which PostgreSQL tests conditions.  A leakproof and cheap one
 * counts as of level 0.
 */
static List *
order_clauses(PlannerInfo *root, List *rinfos)
{
	OrderedClause *items = palloc(Max(list_length(rinfos), 1) * sizeof(OrderedClause));
	List	   *result = NIL;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, rinfos)
	{
		OrderedClause item;
		QualCost	cost;
		int			at;

		item.rinfo = lfirst_node(RestrictInfo, lc);
		cost_qual_eval_node(&cost, (Node *) item.rinfo, root);
		item.cost = cost.per_tuple;
		item.level = item.rinfo->security_level;
		if (item.rinfo->leakproof && item.cost < 10 * cpu_operator_cost)
			item.level = 0;
		for (at = n++; at > 0 && is_before(&item, &items[at - 1]); at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
	for (int i = 0; i < n; i++)
		result = lappend(result, items[i].rinfo);
	return result;
}

/* Lower one condition; notes the reason if it is not taken. */
static bool
take_clause(PlannerInfo *root, GpucolLower *l, RestrictInfo *rinfo,
			bool all_taken, Index barrier, const char *what)
{
	Oid			relid = planner_rt_fetch(l->varno, root)->relid;

	if (rinfo->security_level > barrier && !rinfo->leakproof)
	{
		gpucol_reason_add(relid, what, "condition behind a security barrier that is not pushed down");
		return false;
	}
	if (contain_volatile_functions((Node *) rinfo->clause))
	{
		gpucol_reason_add(relid, what, "condition with a volatile function");
		return false;
	}
	if (gpucol_lower_qual(l, rinfo->clause, all_taken))
		return true;
	gpucol_reason_add(relid, what, "condition: %s", l->reason);
	return false;
}

/*
 * Lower the conditions that can be.
 */
void
gpucol_clauses_split(PlannerInfo *root, GpucolLower *l, List *rinfos,
					 const char *what, List **pushed, List **rest, List **behind)
{
	Index		barrier = root->qual_security_level + 1;
	ListCell   *lc;

	*pushed = NIL;
	*rest = NIL;
	if (behind != NULL)
		*behind = NIL;
	foreach(lc, order_clauses(root, rinfos))
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (take_clause(root, l, rinfo, *rest == NIL, barrier, what))
		{
			*pushed = lappend(*pushed, rinfo->clause);
			if (behind != NULL)
				*behind = lappend_int(*behind, list_length(*rest));
		}
		else
		{
			*rest = lappend(*rest, rinfo->clause);
			barrier = Min(barrier, rinfo->security_level);
		}
	}
}
