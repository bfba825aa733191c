/*-------------------------------------------------------------------------
 *
 * subquery_hoist.c
 *	  Correlated subqueries whose FROM clauses have correlated subqueries.
 *
 * In a query over a,
 *
 *		(SELECT max(d.n) FROM (SELECT g, count(*) n FROM b WHERE b.k = a.k GROUP BY g) d)
 *
 * is correlated one level too deep to be a join (subquery_scalar.c).  The inner query computes all keys at once, as
 * those behind LATERAL do (subquery_lateral.c), and the one around it has the condition then:
 *
 *		(SELECT max(d.n) FROM (SELECT k, g, count(*) n FROM b GROUP BY k, g) d WHERE d.k = a.k)
 *
 * That goes for groups, DISTINCT, window functions and first rows of an order, at any depth.  The place in the FROM
 * clause must be one that no join pads with NULLs.
 *
 * Subqueries with more than one of these are written as one that reads the other:
 *
 *		SELECT g FROM b WHERE b.k = a.k GROUP BY g ORDER BY count(*) DESC LIMIT 1
 *	->	SELECT d.g FROM (SELECT g, count(*) c FROM b WHERE b.k = a.k GROUP BY g) d ORDER BY d.c DESC LIMIT 1
 *
 * and so are EXISTS and IN over groups, WITH queries of the subquery, and ARRAY(SELECT ...) of more than rows of an
 * order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "lower/harmless_query.h"
#include "plan/reason.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* ---- WITH ---- */

/* A WITH query while it takes the place of its name. */
typedef struct Naming
{
	const CommonTableExpr *cte;
	int			depth;			/* of queries below the one that has it */
} Naming;

static bool
replace_name(Node *node, Naming *naming)
{
	RangeTblEntry *rte = (RangeTblEntry *) node;
	bool		stop;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		naming->depth++;
		stop = query_tree_walker((Query *) node, replace_name, naming, QTW_EXAMINE_RTES_AFTER);
		naming->depth--;
		return stop;
	}
	if (!IsA(node, RangeTblEntry))
		return expression_tree_walker(node, replace_name, naming);
	if (rte->rtekind != RTE_CTE || (int) rte->ctelevelsup != naming->depth ||
		strcmp(rte->ctename, naming->cte->ctename) != 0)
		return false;
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = copyObject(castNode(Query, naming->cte->ctequery));
	IncrementVarSublevelsUp((Node *) rte->subquery, naming->depth, 1);
	rte->ctename = NULL;
	rte->ctelevelsup = 0;
	rte->coltypes = rte->coltypmods = rte->colcollations = NIL;
	return false;
}

/* Are a query's WITH queries read only, and computed as often as is best? */
static bool
has_plain_with(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		const CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (cte->cterecursive || cte->ctematerialized == CTEMaterializeAlways ||
			castNode(Query, cte->ctequery)->commandType != CMD_SELECT ||
			castNode(Query, cte->ctequery)->rowMarks != NIL)
			return false;
	}
	return query->cteList != NIL;
}

/* Have a query read its WITH queries as subqueries of FROM. */
static void
read_where_named(Query *query)
{
	ListCell   *lc;

	if (!has_plain_with(query))
		return;
	foreach(lc, query->cteList)
	{
		Naming		naming = {.cte = lfirst_node(CommonTableExpr, lc),.depth = -1};

		(void) replace_name((Node *) query, &naming);
	}
	query->cteList = NIL;
}

/* ---- several clauses ---- */

/* Has a query groups, those of DISTINCT or window functions, which another may read? */
static bool
has_groups(Query *query)
{
	bool		rows = query->distinctClause != NIL || query->hasWindowFuncs;

	return (query->groupClause != NIL || (!query->hasAggs && rows)) && query->commandType == CMD_SELECT &&
		query->groupingSets == NIL && !query->hasDistinctOn && !query->hasTargetSRFs && query->setOperations == NULL &&
		query->rowMarks == NIL && query->cteList == NIL && gpucol_subquery_write_keys(query, true);
}

/* Have a query read what it was, but for its ORDER BY and LIMIT. */
static void
read_groups(Query *query)
{
	List	   *distinct = query->distinctClause;
	Query	   *below = gpucol_subquery_below(query, gpucol_subquery_move_columns(query));

	below->distinctClause = distinct;
	query->distinctClause = query->windowClause = NIL;
	query->hasWindowFuncs = query->hasSubLinks = false;
	gpucol_subquery_read(query, below, "groups", NIL);
}

/* ... the first rows of what it was, and keep ORDER BY. */
static void
read_first(Query *query)
{
	Query	   *below = gpucol_subquery_below(query, gpucol_subquery_move_columns(query));

	below->sortClause = copyObject(query->sortClause);
	below->limitCount = query->limitCount;
	below->limitOffset = query->limitOffset;
	query->limitCount = query->limitOffset = NULL;
	query->hasSubLinks = false;
	gpucol_subquery_read(query, below, "first", NIL);
}

void
gpucol_subquery_split_first(Query *query)
{
	read_where_named(query);
	if (query->limitCount != NULL && has_groups(query))
		read_groups(query);
}

void
gpucol_subquery_split_groups(Query *query)
{
	gpucol_subquery_split_first(query);
	if (has_groups(query))
		read_groups(query);
}

void
gpucol_subquery_split_rows(Query *query)
{
	gpucol_subquery_split_groups(query);
	if (gpucol_first_range(query, NULL) > 0)
		read_first(query);
}

/* ---- queries of FROM ---- */

/* Is an entry of a query's range table a subquery that refers to the query around, and to nothing else? */
static bool
refers_beyond(const RangeTblEntry *rte)
{
	GpucolReferences found;

	if (rte->rtekind != RTE_SUBQUERY || rte->security_barrier)
		return false;
	found = gpucol_subquery_references((Node *) rte->subquery);
	return found.outer && !found.own && !found.farther;
}

/* Have an aggregate that collects see its rows in the order that a subquery, entry `rti`, has. */
static void
order_aggregate(Aggref *agg, Index rti, const Query *subquery)
{
	ListCell   *lc;

	foreach(lc, subquery->sortClause)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		TargetEntry *sorted = get_sortgroupclause_tle(clause, subquery->targetList);
		TargetEntry *tle = makeTargetEntry((Expr *) makeVarFromTargetEntry(rti, sorted), list_length(agg->args) + 1,
										   NULL, true);

		tle->ressortgroupref = clause->tleSortGroupRef = list_length(agg->aggorder) + 1;
		agg->args = lappend(agg->args, tle);
		agg->aggorder = lappend(agg->aggorder, clause);
	}
}

/* Aggregates that see rows in the order of a subquery. */
typedef struct Ordering
{
	Index		rti;			/* of the subquery */
	const Query *subquery;		/* NULL: none may */
} Ordering;

/* Write that order into a query's aggregates whose values depend on it; true: it cannot be. */
static bool
order_aggregates(Node *node, Ordering *ordering)
{
	Aggref	   *agg = (Aggref *) node;

	if (node == NULL || IsA(node, SubLink))
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, order_aggregates, ordering);
	if (agg->aggorder != NIL || agg->aggdistinct != NIL || !gpucol_harmless_collects(agg->aggfnoid))
		return false;
	if (ordering->subquery == NULL)
		return true;
	order_aggregate(agg, ordering->rti, ordering->subquery);
	return false;
}

/* Does a query number its rows in the order in which it reads them, or give them so to the one that it is `below`? */
static bool
keeps_order(const Query *query, bool below)
{
	return query->hasWindowFuncs || (below && !query->hasAggs && query->groupClause == NIL &&
									 query->distinctClause == NIL && query->sortClause == NIL);
}

/*
 * May the rows of a subquery with ORDER BY, entry `rti`, come in any order?  What they are sorted by are its columns
 * then.
 */
static bool
needs_no_order(Query *query, bool below, Index rti, Query *subquery)
{
	bool		alone = list_length(query->jointree->fromlist) == 1 &&
		IsA(linitial(query->jointree->fromlist), RangeTblRef) && query->groupClause == NIL;
	Ordering	ordering = {.rti = rti,.subquery = alone ? subquery : NULL};
	ListCell   *lc;

	if (subquery->sortClause == NIL)
		return true;
	if (keeps_order(query, below))
		return false;
	foreach(lc, subquery->sortClause)
	{
		TargetEntry *tle = get_sortgroupclause_tle(lfirst(lc), subquery->targetList);

		tle->resjunk = false;
		if (tle->resname == NULL)
			tle->resname = pstrdup("sort");
	}
	return !order_aggregates((Node *) query->targetList, &ordering);
}

/* Where the two sides of a join's conditions are, seen from the query that has them. */
typedef struct Moving
{
	Index		grouped;		/* entry `grouped` of the query around */
	Index		rti;			/* is that one here */
} Moving;

/* A condition over a subquery and the query around, as the query between them has it. */
static Node *
move_in(Node *node, Moving *moving)
{
	Var		   *var;

	if (node == NULL || !IsA(node, Var))
		return node == NULL ? NULL : expression_tree_mutator(node, move_in, moving);
	var = copyObject((Var *) node);
	if (var->varlevelsup == 0 && var->varno == (int) moving->grouped)
		var->varno = (int) (var->varnosyn = moving->rti);
	else
		var->varlevelsup++;
	return (Node *) var;
}

static bool hoist_entries(Query *outer, Query *query, bool below);

/* Have an entry of a query compute the keys that `outer`, the query around, may ask for; false if it stays. */
static bool
hoist_entry(Query *outer, Query *query, bool below, Index rti)
{
	RangeTblEntry *rte = rt_fetch(rti, query->rtable);
	GpucolGroupedJoin join = {.outer = outer,.rti = list_length(outer->rtable) + 1};
	Moving		moving = {.grouped = join.rti,.rti = rti};
	Node	   *conditions;

	join.relid = gpucol_subquery_table(rte->subquery);
	join.inner = copyObject(rte->subquery);
	IncrementVarSublevelsUp((Node *) join.inner, -1, 2);
	gpucol_subquery_split_first(join.inner);
	hoist_entries(outer, join.inner, true);
	if (!needs_no_order(query, below, rti, join.inner))
		join.reason = "the order of its rows is one that a query above reads";
	if (join.reason != NULL || !gpucol_grouped_rows(&join, rte))
	{
		if (OidIsValid(join.relid))
			gpucol_reason_add(join.relid, "subquery", "%s", join.reason);
		return false;
	}
	IncrementVarSublevelsUp((Node *) rte->subquery, 1, 1);
	conditions = move_in((Node *) join.conditions, &moving);
	query->jointree->quals = make_and_qual(query->jointree->quals,
										   (Node *) make_ands_explicit(castNode(List, conditions)));
	return true;
}

/* ... all entries of a query, which is `below` one in `outer`'s subquery, or is that; false if none does. */
static bool
hoist_entries(Query *outer, Query *query, bool below)
{
	bool		any = false;

	check_stack_depth();
	for (int rti = 1; rti <= list_length(query->rtable); rti++)
	{
		if (refers_beyond(rt_fetch(rti, query->rtable)) && gpucol_set_keeps_rows((Node *) query->jointree, rti) &&
			!gpucol_subquery_has_whole_row(query, rti))
			any |= hoist_entry(outer, query, below, rti);
	}
	return any;
}

bool
gpucol_subquery_hoist(Query *outer, Query *query)
{
	return hoist_entries(outer, query, false);
}

/* ---- conditions ---- */

Node *
gpucol_subquery_hoist_exists(Query *query, Node *condition)
{
	bool		negated = is_notclause(condition);
	SubLink    *sublink = negated ? (SubLink *) get_notclausearg(condition) : (SubLink *) condition;
	Query	   *inner;

	if (!IsA(sublink, SubLink) || sublink->subLinkType != EXISTS_SUBLINK ||
		contain_volatile_functions(sublink->subselect))
		return NULL;
	sublink = copyObject(sublink);
	inner = castNode(Query, sublink->subselect);
	gpucol_subquery_split_first(inner);
	if (inner->groupClause != NIL)
		gpucol_subquery_split_groups(inner);
	if (!OidIsValid(gpucol_subquery_table(inner)) || !gpucol_subquery_hoist(query, inner) ||
		gpucol_harmless_query(inner, query, false) != NULL)
		return NULL;
	return negated ? (Node *) make_notclause((Expr *) sublink) : (Node *) sublink;
}
