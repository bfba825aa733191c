/*-------------------------------------------------------------------------
 *
 * window_joins.c
 *	  Aggregates over whole partitions as joins with groups.
 *
 * agg(x) OVER (PARTITION BY k) has one value for all rows of a partition.  As a window function it
 * has all rows sorted and kept.  Where partitions are much fewer than rows,
 *
 *		SELECT a, agg(x) OVER (PARTITION BY k) FROM t WHERE c
 *
 * becomes
 *
 *		SELECT a, g.agg FROM t LEFT JOIN (SELECT k, agg(x) FROM t WHERE c GROUP BY k) g ON g.k = t.k WHERE c
 *
 * NULL is a partition of its own, and equals nothing.  A key that may be NULL must be the only one; the row of
 * its NULLs is joined apart:
 *
 *		LEFT JOIN (SELECT agg(x) FROM t WHERE c AND k IS NULL) n ON t.k IS NULL,
 *		CASE WHEN t.k IS NULL THEN n.agg ELSE g.agg END
 *
 * A condition above the query may keep rows of a few partitions, before PostgreSQL computes anything of the others.
 * So nothing that is aggregated may raise an error.
 *
 * All window functions of a query must be such aggregates: one that is not sorts the rows in any case.  Sums and
 * averages of floats stay: they depend on the order of the rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "guc.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* The joins of one window. */
typedef struct Partitions
{
	const WindowClause *clause;
	List	   *keys;			/* Vars */
	Var		   *nullable;		/* the only key, if it may be NULL */
	GpucolGroupedJoin groups;
	GpucolGroupedJoin nulls;	/* its NULLs */
} Partitions;

typedef struct Rewriting
{
	Query	   *query;
	List	   *partitions;
} Rewriting;

/* ---- what is rewritten ---- */

/* An aggregate whose value does not depend on the order of rows? */
static bool
is_free(const WindowFunc *func)
{
	bool		counts;

	if (!func->winagg || contain_volatile_functions((Node *) func) || contain_subplans((Node *) func) ||
		!gpucol_harmless_aggregate(func->winfnoid, &counts))
		return false;
	/* least and greatest values are those of any order */
	return list_length(func->args) != 1 ||
		(exprType(linitial(func->args)) != FLOAT4OID && exprType(linitial(func->args)) != FLOAT8OID) ||
		func->wintype == exprType(linitial(func->args)) || counts;
}

static bool
is_other_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
		return !is_free((const WindowFunc *) node);
	return expression_tree_walker(node, is_other_function, context);
}

/* Has a window no order, and may its keys be joined?  They are columns of the query's table, appended to *keys. */
static bool
find_keys(const Query *query, const WindowClause *clause, List **keys)
{
	ListCell   *lc;

	if (clause->orderClause != NIL || clause->frameOptions != FRAMEOPTION_DEFAULTS)
		return false;
	foreach(lc, clause->partitionClause)
	{
		const SortGroupClause *sort = lfirst_node(SortGroupClause, lc);
		Var		   *var = (Var *) get_sortgroupclause_expr((SortGroupClause *) sort, query->targetList);

		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
			!gpucol_subquery_may_join(sort->eqop, var->vartype, var->varcollid) ||
			(!OidIsValid(var->varcollid) && type_is_collatable(var->vartype)))
			return false;
		*keys = lappend(*keys, var);
	}
	return true;
}

/* The only table of a query, or NULL. */
static const RangeTblEntry *
find_table(const Query *query)
{
	RangeTblRef *ref = list_length(query->jointree->fromlist) == 1 ? linitial(query->jointree->fromlist) : NULL;
	RangeTblEntry *rte;

	if (ref == NULL || !IsA(ref, RangeTblRef))
		return NULL;
	rte = rt_fetch(ref->rtindex, query->rtable);
	return rte->rtekind == RTE_RELATION && rte->tablesample == NULL && OidIsValid(gpucol_subquery_packed_part(rte)) ?
		rte : NULL;
}

/* The partitions of a window; NULL where it has none to join. */
static Partitions *
make_partitions(const Query *query, const RangeTblEntry *rte, const WindowClause *clause)
{
	Partitions *p = palloc0(sizeof(Partitions));
	ListCell   *lc;

	p->clause = clause;
	if (!find_keys(query, clause, &p->keys) || !gpucol_set_are_few(rte, p->keys))
		return NULL;
	foreach(lc, p->keys)
	{
		if (!gpucol_subquery_column_never_null(rte, lfirst_node(Var, lc)->varattno))
			p->nullable = lfirst(lc);
	}
	return p->nullable == NULL || list_length(p->keys) == 1 ? p : NULL;
}

/* The partitions of all windows of a query; NIL: it stays. */
static List *
find_partitions(Query *query)
{
	const RangeTblEntry *rte = find_table(query);
	GpucolReferences found;
	List	   *partitions = NIL;
	ListCell   *lc;

	if (!query->hasWindowFuncs || rte == NULL || query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL || query->setOperations != NULL ||
		query->hasTargetSRFs || query->hasSubLinks || query->cteList != NIL || query->rowMarks != NIL ||
		query->hasDistinctOn || contain_volatile_functions((Node *) query) ||
		gpucol_set_count_rows(rte->relid) < GPUCOL_SET_LEAST_ROWS ||
		is_other_function((Node *) query->targetList, NULL))
		return NIL;
	found = gpucol_subquery_references((Node *) query);
	if (found.own || found.outer || found.farther)
		return NIL;
	foreach(lc, query->windowClause)
	{
		Partitions *p = make_partitions(query, rte, lfirst_node(WindowClause, lc));

		if (p == NULL)
			return NIL;
		partitions = lappend(partitions, p);
	}
	return partitions;
}

/* ---- the joins ---- */

/* A join with what is aggregated of the query's rows. */
static void
begin_join(GpucolGroupedJoin *join, Query *query)
{
	Query	   *inner = copyObject(query);

	inner->targetList = inner->windowClause = inner->sortClause = inner->distinctClause = NIL;
	inner->limitCount = inner->limitOffset = NULL;
	inner->hasWindowFuncs = false;
	inner->hasAggs = true;
	join->outer = query;
	join->inner = inner;
}

static void
begin_joins(Partitions *p, Query *query)
{
	ListCell   *lc;

	begin_join(&p->groups, query);
	foreach(lc, p->keys)
	{
		SortGroupClause *clause = copyObject(list_nth_node(SortGroupClause, p->clause->partitionClause,
														   foreach_current_index(lc)));
		TargetEntry *tle = makeTargetEntry(copyObject(lfirst(lc)), foreach_current_index(lc) + 1, pstrdup("key"),
										   false);

		clause->tleSortGroupRef = tle->ressortgroupref = foreach_current_index(lc) + 1;
		p->groups.columns = lappend(p->groups.columns, tle);
		p->groups.groups = lappend(p->groups.groups, clause);
	}
	if (p->nullable == NULL)
		return;
	begin_join(&p->nulls, query);
	p->nulls.inner->jointree->quals = (Node *)
		make_ands_explicit(lappend(gpucol_subquery_conditions(p->nulls.inner->jointree->quals),
								   gpucol_make_null_test((Expr *) copyObject(p->nullable), IS_NULL)));
}

/* Number the entries of the range table that a join takes, before columns of it are read. */
static void
number_join(GpucolGroupedJoin *join, Index *rti)
{
	join->rti = ++*rti;
	join->join_rti = ++*rti;
}

/* The aggregate that a window function calls. */
static Aggref *
make_aggregate(const WindowFunc *func)
{
	Aggref	   *agg = makeNode(Aggref);
	ListCell   *lc;

	agg->aggfnoid = func->winfnoid;
	agg->aggtype = func->wintype;
	agg->aggcollid = func->wincollid;
	agg->inputcollid = func->inputcollid;
	agg->aggfilter = copyObject(func->aggfilter);
	agg->aggstar = func->winstar;
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = agg->location = -1;
	foreach(lc, func->args)
	{
		TargetEntry *tle = makeTargetEntry(copyObject(lfirst(lc)), foreach_current_index(lc) + 1, NULL, false);

		agg->aggargtypes = lappend_oid(agg->aggargtypes, exprType(lfirst(lc)));
		agg->args = lappend(agg->args, tle);
	}
	return agg;
}

static Node *
joined_value(GpucolGroupedJoin *join, const WindowFunc *func)
{
	return (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) make_aggregate(func),
																   get_func_name(func->winfnoid)), true);
}

/* Have the values of joins take the place of window functions. */
static Node *
replace(Node *node, Rewriting *rewriting)
{
	const WindowFunc *func = (const WindowFunc *) node;
	ListCell   *lc;

	if (node == NULL || !IsA(node, WindowFunc))
		return node == NULL ? NULL : expression_tree_mutator(node, replace, rewriting);
	foreach(lc, rewriting->partitions)
	{
		Partitions *p = lfirst(lc);
		Node	   *nulls;

		if (p->clause->winref != func->winref)
			continue;
		if (p->nullable == NULL)
			return joined_value(&p->groups, func);
		nulls = joined_value(&p->nulls, func);
		return (Node *) gpucol_make_choice(gpucol_make_null_test((Expr *) copyObject(p->nullable), IS_NULL),
										   (Expr *) nulls, (Expr *) joined_value(&p->groups, func));
	}
	elog(ERROR, "gpucol: a window function without a window");
	return NULL;
}

/* May all groups of a window be computed?  A condition above may keep rows of a few. */
static bool
are_harmless(Partitions *p)
{
	p->groups.inner->targetList = p->groups.columns;
	p->groups.inner->groupClause = p->groups.groups;
	if (p->nullable != NULL)
		p->nulls.inner->targetList = p->nulls.columns;
	return gpucol_harmless_query(p->groups.inner, NULL, false) == NULL &&
		(p->nullable == NULL || gpucol_harmless_query(p->nulls.inner, NULL, false) == NULL);
}

/* Join the groups of a window. */
static void
end_joins(Partitions *p)
{
	ListCell   *lc;

	foreach(lc, p->keys)
	{
		SortGroupClause *clause = list_nth(p->groups.groups, foreach_current_index(lc));
		TargetEntry *tle = list_nth(p->groups.columns, foreach_current_index(lc));
		OpExpr	   *op = (OpExpr *) make_opclause(clause->eqop, BOOLOID, false, copyObject(lfirst(lc)),
												  (Expr *) gpucol_grouped_var(&p->groups, tle, false), InvalidOid,
												  lfirst_node(Var, lc)->varcollid);

		set_opfuncid(op);
		p->groups.conditions = lappend(p->groups.conditions, op);
	}
	gpucol_grouped_add_join(&p->groups);
	if (p->nullable == NULL)
		return;
	p->nulls.conditions = list_make1(gpucol_make_null_test((Expr *) copyObject(p->nullable), IS_NULL));
	gpucol_grouped_add_join(&p->nulls);
}

static bool
rewrite_query(Query *query)
{
	Rewriting	rewriting = {.query = query,.partitions = find_partitions(query)};
	Index		rti = list_length(query->rtable);
	List	   *columns;
	ListCell   *lc;

	if (rewriting.partitions == NIL)
		return false;
	foreach(lc, rewriting.partitions)
	{
		Partitions *p = lfirst(lc);

		begin_joins(p, query);
		number_join(&p->groups, &rti);
		if (p->nullable != NULL)
			number_join(&p->nulls, &rti);
	}
	columns = (List *) replace((Node *) query->targetList, &rewriting);
	foreach(lc, rewriting.partitions)
	{
		if (!are_harmless(lfirst(lc)))
			return false;
	}
	query->targetList = columns;
	foreach(lc, rewriting.partitions)
		end_joins(lfirst(lc));
	query->windowClause = NIL;
	query->hasWindowFuncs = false;
	return true;
}

/* ---- statements ---- */

static bool
rewrite(Node *node, int *count)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rewrite, count);
	check_stack_depth();
	if (((Query *) node)->commandType == CMD_SELECT)
		*count += rewrite_query((Query *) node);
	return query_tree_walker((Query *) node, rewrite, count, 0);
}

static bool
has_windows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return ((Query *) node)->hasWindowFuncs || query_tree_walker((Query *) node, has_windows, context, 0);
	return expression_tree_walker(node, has_windows, context);
}

Query *
gpucol_window_joins(Query *parse)
{
	Query	   *copy;
	int			count = 0;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_join || !gpucol_enable_agg || !gpucol_enable_window ||
		!has_windows((Node *) parse, NULL))
		return parse;
	copy = copyObject(parse);
	rewrite((Node *) copy, &count);
	return count > 0 ? copy : parse;
}
