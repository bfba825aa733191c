/*-------------------------------------------------------------------------
 *
 * union_groups.c
 *	  Groups over the rows of a UNION ALL are groups of the groups of its branches.
 *
 *		SELECT k, sum(x), avg(y) FROM (SELECT ... FROM a UNION ALL SELECT ... FROM b WHERE ...) u JOIN d ... GROUP BY k
 *	->	SELECT k, sum(s), sum(t) / sum(n) FROM (
 *			SELECT k, sum(x) AS s, sum(y) AS t, count(y) AS n FROM a JOIN d ... GROUP BY k
 *			UNION ALL SELECT k, sum(x), sum(y), count(y) FROM b JOIN d ... WHERE ... GROUP BY k) u GROUP BY k
 *
 * An engine groups the rows of each branch where they are, joined with the same tables; of a UNION
 * ALL that has conditions or computes columns every row would be one of PostgreSQL.  A join
 * distributes over the union unless that is on a side that may be NULL.  The argument of an aggregate with
 * DISTINCT is a key of the branches.  set_weights.c has which aggregates can be folded.
 *
 * It stays where the branches are plain tables, which an engine reads as one, and where the other
 * tables are as large as those of the branches: they are read again for each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* Branches are few. */
#define MOST_BRANCHES	16

/* A query while its groups become groups of groups. */
typedef struct Folding
{
	List	   *columns;		/* TargetEntries of each branch, */
	List	   *groups;			/* and SortGroupClauses of those that are keys */
	bool		has_aggregates;
	bool		failed;
} Folding;

/* ---- columns ---- */

/* A column of the branches as the query above sees it, added if there is none. */
static Var *
add_column(Folding *folding, Expr *expr)
{
	TargetEntry *tle = tlist_member(expr, folding->columns);

	if (tle == NULL)
	{
		tle = makeTargetEntry(copyObject(expr), list_length(folding->columns) + 1, pstrdup("value"), false);
		folding->columns = lappend(folding->columns, tle);
	}
	return makeVarFromTargetEntry(1, tle);
}

/* The same of a key. */
static Var *
add_key(Folding *folding, Expr *expr, SortGroupClause *clause)
{
	Var		   *var = add_column(folding, expr);
	TargetEntry *tle = list_nth_node(TargetEntry, folding->columns, var->varattno - 1);

	if (tle->ressortgroupref == 0)
	{
		SortGroupClause *key = copyObject(clause);

		key->tleSortGroupRef = tle->ressortgroupref = tle->resno;
		folding->groups = lappend(folding->groups, key);
	}
	return var;
}

/* An aggregate of the groups of the branches. */
static Node *
fold(Folding *folding, Aggref *agg)
{
	List	   *vars = NIL;
	ListCell   *lc;

	if (agg->agglevelsup > 0 || gpucol_set_weights_decline(agg) != NULL ||
		(agg->aggdistinct != NIL && (list_length(agg->args) != 1 || agg->aggfilter != NULL)))
	{
		folding->failed = true;
		return (Node *) agg;
	}
	if (agg->aggdistinct != NIL)
		return gpucol_set_weights_fold(agg, list_make1(add_key(folding, linitial_node(TargetEntry, agg->args)->expr,
															   linitial(agg->aggdistinct))));
	foreach(lc, gpucol_set_weights_parts(agg))
		vars = lappend(vars, add_column(folding, lfirst(lc)));
	folding->has_aggregates = true;
	return gpucol_set_weights_fold(agg, vars);
}

/* What stood beside the groups as it stands above those of the branches. */
static Node *
above(Node *node, Folding *folding)
{
	TargetEntry *tle;

	if (node == NULL || folding->failed)
		return node;
	if (IsA(node, Aggref))
		return fold(folding, (Aggref *) node);
	tle = IsA(node, TargetEntry) || IsA(node, List) ? NULL : tlist_member((Expr *) node, folding->columns);
	if (tle != NULL && tle->ressortgroupref != 0)
		return (Node *) makeVarFromTargetEntry(1, tle);
	if (IsA(node, Var) || IsA(node, SubLink) || IsA(node, GroupingFunc))
	{
		folding->failed = true;
		return node;
	}
	return expression_tree_mutator(node, above, folding);
}

/* ---- which queries ---- */

/* The columns of a range table entry that a query reads, as pull_varattnos() numbers them; NULL: all of them. */
static Bitmapset *
columns_used(const Query *query, Index rti)
{
	Bitmapset  *used = bms_make_singleton(0);	/* no column: none may be read */

	pull_varattnos((Node *) query->targetList, rti, &used);
	pull_varattnos(query->havingQual, rti, &used);
	pull_varattnos((Node *) query->jointree, rti, &used);
	return bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, used) ? NULL : used;
}

/* Is a query nothing but a UNION ALL, with the types of its branches; some of them worth grouping? */
static bool
is_union(const RangeTblEntry *rte, const Bitmapset *used)
{
	Query	   *query = rte->subquery;
	bool		tables = true;
	bool		rows = false;
	List	   *branches;
	ListCell   *lc;
	ListCell   *lt;

	if (rte->rtekind != RTE_SUBQUERY || rte->lateral || rte->security_barrier || query->sortClause != NIL ||
		query->limitCount != NULL || query->limitOffset != NULL || query->cteList != NIL || query->rowMarks != NIL ||
		list_length(branches = gpucol_set_union_branches(query)) > MOST_BRANCHES)
		return false;
	foreach(lc, branches)
	{
		Query	   *branch = lfirst_node(Query, lc);
		ListCell   *lb = list_head(branch->targetList);

		tables &= gpucol_set_is_table(branch, used);
		rows |= gpucol_set_has_rows(branch);
		foreach(lt, query->targetList)
		{
			Node	   *expr = (Node *) lfirst_node(TargetEntry, lt)->expr;
			Node	   *own = lb != NULL ? (Node *) lfirst_node(TargetEntry, lb)->expr : NULL;

			if (own == NULL || lfirst_node(TargetEntry, lb)->resjunk || exprType(expr) != exprType(own) ||
				exprCollation(expr) != exprCollation(own))
				return false;
			lb = lnext(branch->targetList, lb);
		}
	}
	return rows && !tables;
}

/* Rows of the tables of a query, in subqueries of its FROM clause too. */
static double
rows_of(const Query *query)
{
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION)
			rows += gpucol_set_count_rows(rte->relid);
		else if (rte->rtekind == RTE_SUBQUERY)
			rows += rows_of(rte->subquery);
	}
	return rows;
}

/* Has a query a UNION ALL in its FROM clause? */
static bool
has_union(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY && gpucol_set_union_branches(rte->subquery) != NIL)
			return true;
	}
	return false;
}

/* The UNION ALL of a query that is better grouped by branches, or 0. */
static Index
find_union(const Query *query)
{
	Index		found = 0;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_CTE || rte->rtekind == RTE_FUNCTION || rte->lateral)
			return 0;
		if (found == 0 && is_union(rte, columns_used(query, foreach_current_index(lc) + 1)) &&
			gpucol_set_keeps_rows((Node *) query->jointree, foreach_current_index(lc) + 1))
			found = foreach_current_index(lc) + 1;
	}
	if (found != 0 && rows_of(query) > 1.5 * rows_of(rt_fetch(found, query->rtable)->subquery))
		return 0;
	return found;
}

/* Are the groups of a query such that groups of parts of its rows suffice? */
static bool
can_fold(Query *query)
{
	GpucolReferences around;
	bool		grouped = query->hasAggs || query->groupClause != NIL;

	if (query->groupingSets != NIL || query->hasSubLinks || query->rowMarks != NIL || query->hasTargetSRFs ||
		query->setOperations != NULL || query->hasDistinctOn ||
		(!grouped && (query->distinctClause == NIL || query->hasWindowFuncs)))
		return false;
	around = gpucol_subquery_references((Node *) query);
	return !around.own && !around.outer && !around.farther && !contain_volatile_functions((Node *) query);
}

/* ---- the queries ---- */

/* The groups of one branch, one level below the query. */
static Query *
make_branch(Query *query, const Folding *folding, Index rti, Query *rows)
{
	Query	   *branch = copyObject(query);
	Query	   *below = copyObject(rows);

	IncrementVarSublevelsUp((Node *) below, -1, 2);
	rt_fetch(rti, branch->rtable)->subquery = below;
	branch->groupClause = copyObject(folding->groups);
	branch->groupDistinct = false;
	branch->havingQual = NULL;
	branch->windowClause = NIL;
	branch->hasWindowFuncs = false;
	branch->hasAggs = folding->has_aggregates;
	return gpucol_subquery_below(branch, copyObject(folding->columns));
}

bool
gpucol_union_groups(Query *query)
{
	Folding		folding = {.columns = NIL};
	List	   *keys = query->hasAggs || query->groupClause != NIL ? query->groupClause : query->distinctClause;
	List	   *branches = NIL;
	List	   *groups = query->groupClause;
	bool		has_aggs = query->hasAggs;
	List	   *targets;
	Node	   *having;
	Index		rti;
	ListCell   *lc;

	if (!can_fold(query) || !has_union(query) || !gpucol_subquery_write_keys(query, true) ||
		(rti = find_union(query)) == 0)
		return false;
	foreach(lc, keys)
		add_key(&folding, (Expr *) get_sortgroupclause_expr(lfirst(lc), query->targetList), lfirst(lc));
	targets = (List *) above(copyObject((Node *) query->targetList), &folding);
	having = above(copyObject(query->havingQual), &folding);
	if (folding.failed || folding.columns == NIL)
		return false;
	foreach(lc, gpucol_set_union_branches(rt_fetch(rti, query->rtable)->subquery))
		branches = lappend(branches, make_branch(query, &folding, rti, lfirst_node(Query, lc)));
	gpucol_subquery_read(query, gpucol_set_operation(SETOP_UNION, true, NULL, branches), "branches", NIL);
	query->targetList = targets;
	query->groupClause = groups;
	query->hasAggs = has_aggs;
	query->havingQual = having;
	return true;
}
