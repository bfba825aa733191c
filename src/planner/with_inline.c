/*-------------------------------------------------------------------------
 *
 * with_inline.c
 *	  A WITH query that is read several times is computed where it is read: each time with another value
 *	  of a column, or where that is sooner than to keep its rows.
 *
 *		WITH y AS (SELECT k, year, sum(x) AS s FROM t GROUP BY k, year)
 *		SELECT ... FROM y a, y b WHERE a.k = b.k AND a.year = 2001 AND b.year = 2002
 *
 * PostgreSQL computes such a query once, whole, and each reader takes its part of the rows: rows
 * that nobody wants are made, and those that PostgreSQL reads itself pass through a tuplestore (the others are
 * kept a column at a time, exec/shared_rows.c).  Written NOT MATERIALIZED the
 * condition goes into the query, as far as PostgreSQL can push it, and each reader's part is one
 * aggregation of the engine, below joins too.  All parts together are at most the whole where
 * values differ, so this asks no cost model.
 *
 * Where each reader would have many tables joined (as many as PostgreSQL's own settings hold for too many to
 * be rearranged), their order is not searched for, nor their rows read, once for each: the query is kept, and has
 * the rows that one of its readers wants (`year = 2001 OR year = 2002`).
 *
 * Where readers want all rows, the engine's threads compute groups of one table again while one process
 * would pass them through a tuplestore; what either takes is guessed by statistics.  Readers that are
 * executed for rows, or part of another WITH query, do not count on that.
 *
 * The answer must be the same.  The query has no volatile function (PostgreSQL looks again), no
 * LIMIT, window function or DISTINCT ON, whose rows may be others in each reader; and nothing in
 * it may raise an error (lower/harmless_query.h), for groups that nobody wants are not computed
 * then; this leaves only aggregates that do not depend on the order of rows.  What is pushed into
 * it must be harmless, too.  MATERIALIZED stays what it says.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "lower/clauses.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"
#include "service/threads.h"

/* The readers of one WITH query, while a statement is walked through. */
typedef struct Readers
{
	const CommonTableExpr *cte;
	int			depth;			/* of queries below the one that has it */
	int			count;			/* those that restrict it */
	bool		unrestricted;	/* there is another, */
	bool		harmful;		/* one into whose WITH query something might be pushed that raises errors, */
	bool		repeated;		/* or one that may be executed again and again, */
	bool		repeated_here;	/* as all may that are found in this place */
	List	   *wanted;			/* by reader that restricts it: its List of such conditions */
} Readers;

/* What a reader does to the query. */
typedef enum Reading
{
	READING_HARMS,				/* or may, as nobody knows */
	READING_ALL,
	READING_RESTRICTS
} Reading;

/* What is saved by not passing a row to readers by a tuplestore, and costs of computing it again: in ns. */
#define KEPT_ROW	300.0
#define TABLE_ROW	2.5
#define GROUPED_ROW	200.0
#define LEAST_GAIN	1e6

/* So many tables are not joined for each reader. */
#define MANY_TABLES	8

/* ---- the query ---- */

/* May a query have other rows each time, though no function in it is volatile? */
static bool
has_free_choice(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		const Query *query = (Query *) node;

		return query->limitCount != NULL || query->limitOffset != NULL || query->hasWindowFuncs ||
			query->hasDistinctOn || query->hasTargetSRFs || query->rowMarks != NIL ||
			query_tree_walker((Query *) node, has_free_choice, context, 0);
	}
	return expression_tree_walker(node, has_free_choice, context);
}

/* Is column `attno` one whose value a row has before it is grouped, in every branch? */
static bool
is_restrictable(const Query *query, Node *branch, AttrNumber attno)
{
	const TargetEntry *tle;

	check_stack_depth();
	if (branch != NULL && IsA(branch, SetOperationStmt))
	{
		const SetOperationStmt *operation = (const SetOperationStmt *) branch;

		return is_restrictable(query, operation->larg, attno) && is_restrictable(query, operation->rarg, attno);
	}
	if (branch != NULL)
	{
		query = rt_fetch(castNode(RangeTblRef, branch)->rtindex, query->rtable)->subquery;
		if (query->setOperations != NULL)
			return is_restrictable(query, query->setOperations, attno);
	}
	tle = get_tle_by_resno(query->targetList, attno);
	return tle != NULL && query->groupingSets == NIL && !contain_aggs_of_level((Node *) tle->expr, 0) &&
		!checkExprHasSubLink((Node *) tle->expr) &&
		(!query->hasAggs || !contain_var_clause((Node *) tle->expr) ||
		 get_sortgroupref_clause_noerr(tle->ressortgroupref, query->groupClause) != NULL);
}

/* Would a WITH query give the same, whoever computes it, and is it one for the engine? */
static bool
may_inline(Query *query, const CommonTableExpr *cte)
{
	Query	   *inner = castNode(Query, cte->ctequery);

	return cte->ctematerialized == CTEMaterializeDefault && !cte->cterecursive && cte->cterefcount > 1 &&
		inner->commandType == CMD_SELECT && OidIsValid(gpucol_subquery_table(inner)) &&
		!has_free_choice((Node *) inner, NULL) && !contain_volatile_functions((Node *) inner) &&
		gpucol_harmless_query(inner, query, false) == NULL;
}

/* ---- its readers ---- */

/* Is an expression one of constants, and of parameters of the statement? */
static bool
is_constant(const Node *node)
{
	return !contain_var_clause((Node *) node) && !checkExprHasSubLink((Node *) node) &&
		!contain_volatile_functions((Node *) node);
}

/* The column of table `rti` that a condition has equal a constant; else 0. */
static AttrNumber
equal_to_constant(Node *condition, Index rti)
{
	const OpExpr *op = (const OpExpr *) condition;
	const Var  *var;
	const Node *other;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return 0;
	var = linitial(op->args);
	other = lsecond(op->args);
	if (IsA(other, Var))
	{
		var = lsecond(op->args);
		other = linitial(op->args);
	}
	return IsA(var, Var) && var->varno == (int) rti && var->varlevelsup == 0 && var->varattno > 0 &&
		is_constant(other) && op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
		gpucol_harmless_function(op->opfuncid) ? var->varattno : 0;
}

/* Is a condition a comparison of a column of table `rti` with what a subquery gives once? */
static bool
compares_with_value(const Node *condition, Index rti)
{
	const OpExpr *op = (const OpExpr *) condition;
	const Node *left;
	const Node *right;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	left = IsA(linitial(op->args), Var) ? linitial(op->args) : lsecond(op->args);
	right = IsA(linitial(op->args), Var) ? lsecond(op->args) : linitial(op->args);
	return IsA(left, Var) && ((const Var *) left)->varno == (int) rti && ((const Var *) left)->varlevelsup == 0 &&
		IsA(right, SubLink) && !gpucol_subquery_is_executed((const SubLink *) right) &&
		((const SubLink *) right)->subLinkType == EXPR_SUBLINK &&
		gpucol_harmless_function(op->opfuncid);
}

/* The conditions of a FROM clause's joins, and of WHERE. */
static List *
all_conditions(Node *node)
{
	List	   *result = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			result = list_concat(result, all_conditions(lfirst(lc)));
		return list_concat(result, gpucol_subquery_conditions(((FromExpr *) node)->quals));
	}
	if (!IsA(node, JoinExpr))
		return NIL;
	result = list_concat(all_conditions(((JoinExpr *) node)->larg), all_conditions(((JoinExpr *) node)->rarg));
	return list_concat(result, gpucol_subquery_conditions(((JoinExpr *) node)->quals));
}

/* What does a query do to a WITH query that it reads as `rti`?  Appends the conditions that restrict it. */
static Reading
reading_of(Query *query, Index rti, Query *inner, List **wanted)
{
	List	   *where = gpucol_subquery_conditions(query->jointree->quals);
	ListCell   *lc;

	if (query->rowMarks != NIL || query->commandType != CMD_SELECT)
		return READING_HARMS;
	foreach(lc, all_conditions((Node *) query->jointree))
	{
		Node	   *condition = lfirst(lc);
		Relids		tables = pull_varnos_of_level(NULL, condition, 0);
		AttrNumber	attno;

		if (bms_membership(tables) != BMS_SINGLETON || !bms_is_member(rti, tables) ||
			compares_with_value(condition, rti))
			continue;
		if (gpucol_harmless_expr(query, (Expr *) condition) != NULL)
			return READING_HARMS;
		attno = list_member_ptr(where, condition) ? equal_to_constant(condition, rti) : 0;
		if (attno != 0 && is_restrictable(inner, inner->setOperations, attno))
			*wanted = lappend(*wanted, condition);
	}
	return *wanted != NIL ? READING_RESTRICTS : READING_ALL;
}

/* Does a query refer to columns of queries around it? */
static bool
is_correlated(Node *query)
{
	GpucolReferences found = gpucol_subquery_references(query);

	return found.own || found.outer || found.farther;
}

/* Count the readers of a WITH query. */
static bool
count_readers(Node *node, Readers *readers)
{
	Query	   *query = (Query *) node;
	bool		repeated = readers->repeated_here;
	Index		rti = 0;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
	{
		readers->repeated_here |= IsA(node, CommonTableExpr);
		expression_tree_walker(node, count_readers, readers);
		readers->repeated_here = repeated;
		return false;
	}
	readers->repeated_here |= is_correlated(node);
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		List	   *wanted = NIL;
		Reading		reading;

		rti++;
		if (rte->rtekind != RTE_CTE || (int) rte->ctelevelsup != readers->depth ||
			strcmp(rte->ctename, readers->cte->ctename) != 0)
			continue;
		reading = reading_of(query, rti, castNode(Query, readers->cte->ctequery), &wanted);
		readers->wanted = lappend(readers->wanted, wanted);
		readers->count += reading == READING_RESTRICTS;
		readers->unrestricted |= reading != READING_RESTRICTS;
		readers->harmful |= reading == READING_HARMS;
		readers->repeated |= readers->repeated_here;
	}
	readers->depth++;
	query_tree_walker(query, count_readers, readers, 0);
	readers->depth--;
	readers->repeated_here = repeated;
	return false;
}

/* How many groups has a query of one table, as far as statistics know?  Infinite where they do not. */
static double
count_groups(Query *inner, Oid relid, double rows)
{
	double		groups = 1;
	ListCell   *lc;

	foreach(lc, inner->groupClause)
	{
		Node	   *expr = get_sortgroupclause_expr(lfirst(lc), inner->targetList);
		Var		   *key = (Var *) gpucol_compat_write_groups(inner, expr);

		if (!IsA(key, Var) || key->varno != 1)
			return INFINITY;
		groups *= gpucol_set_count_values(relid, false, key->varattno, rows);
	}
	return groups > rows && groups < INFINITY ? rows : groups;
}

/* Is it sooner to compute a query for each of its readers than to keep its rows? */
static bool
pays(Query *inner, int readers)
{
	RangeTblEntry *rte = list_length(inner->jointree->fromlist) == 1 ? linitial(inner->rtable) : NULL;
	double		rows;
	double		groups;
	int			threads;

	if (rte == NULL || rte->rtekind != RTE_RELATION || !OidIsValid(gpucol_subquery_packed_part(rte)) ||
		!IsA(linitial(inner->jointree->fromlist), RangeTblRef) || inner->groupClause == NIL ||
		inner->groupingSets != NIL || inner->havingQual != NULL || inner->distinctClause != NIL ||
		inner->hasSubLinks || inner->setOperations != NULL || inner->cteList != NIL)
		return false;
	rows = gpucol_set_count_rows(rte->relid);
	groups = count_groups(inner, rte->relid, rows);
	threads = Min(gpucol_cost_threads(gpucol_set_count_pages(rte->relid)), gpucol_threads_processors());
	return groups < INFINITY && groups * KEPT_ROW -
		(readers - 1) * (rows * TABLE_ROW + groups * GROUPED_ROW) / threads > LEAST_GAIN;
}

/* ---- a query that is kept, restricted ---- */

/* How many tables has the largest join of a query, or of a branch of it? */
static int
most_tables(const Query *query)
{
	int			here = 0;
	int			below = 0;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		here += rte->rtekind != RTE_JOIN && !gpucol_compat_rte_is_group(rte) && query->setOperations == NULL;
		if (rte->rtekind == RTE_SUBQUERY)
			below = Max(below, most_tables(rte->subquery));
	}
	return Max(here, below);
}

/* Does a condition compare as groups do, so that all of a group's rows pass or none? */
static bool
is_of_groups(const OpExpr *op)
{
	Oid			type = exprType(IsA(linitial(op->args), Var) ? linitial(op->args) : lsecond(op->args));
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	return OidIsValid(family) && op_in_opfamily(op->opno, family) &&
		(!OidIsValid(op->inputcollid) || get_collation_isdeterministic(op->inputcollid));
}

/* A reader's condition on the rows of a branch, before they are grouped; NULL where values are equal that differ. */
static Node *
condition_on_branch(Query *branch, OpExpr *condition)
{
	OpExpr	   *op = copyObject(condition);
	ListCell   *lc;

	foreach(lc, op->args)
	{
		const TargetEntry *tle;

		if (!IsA(lfirst(lc), Var))
			continue;
		tle = get_tle_by_resno(branch->targetList, ((const Var *) lfirst(lc))->varattno);
		if (OidIsValid(exprCollation((Node *) tle->expr)) &&
			!get_collation_isdeterministic(exprCollation((Node *) tle->expr)))
			return NULL;
		lfirst(lc) = copyObject(gpucol_compat_write_groups(branch, (Node *) tle->expr));
	}
	return (Node *) op;
}

/* What one of the readers wants of a branch, or NULL: all of it. */
static Node *
wanted_of_branch(Query *branch, const List *wanted)
{
	List	   *any = NIL;
	ListCell   *lr;

	foreach(lr, wanted)
	{
		List	   *all = NIL;
		ListCell   *lc;

		foreach(lc, (List *) lfirst(lr))
		{
			Node	   *condition = is_of_groups(lfirst(lc)) ? condition_on_branch(branch, lfirst(lc)) : NULL;

			if (condition != NULL)
				all = lappend(all, condition);
		}
		if (all == NIL)
			return NULL;
		any = lappend(any, make_ands_explicit(all));
	}
	return list_length(any) > 1 ? (Node *) makeBoolExpr(OR_EXPR, any, -1) : linitial(any);
}

/* Have a query make rows only that one of its readers wants. */
static void
restrict_query(Query *query, Node *branch, const List *wanted)
{
	Node	   *condition;

	check_stack_depth();
	if (branch != NULL && IsA(branch, SetOperationStmt))
	{
		restrict_query(query, ((SetOperationStmt *) branch)->larg, wanted);
		restrict_query(query, ((SetOperationStmt *) branch)->rarg, wanted);
		return;
	}
	if (branch != NULL)
	{
		query = rt_fetch(castNode(RangeTblRef, branch)->rtindex, query->rtable)->subquery;
		if (query->setOperations != NULL)
		{
			restrict_query(query, query->setOperations, wanted);
			return;
		}
	}
	condition = wanted_of_branch(query, wanted);
	if (condition != NULL)
		query->jointree->quals = make_and_qual(query->jointree->quals, condition);
}

/* Have every WITH query that is better computed by its readers be so. */
static bool
inline_with(Node *node, void *context)
{
	Query	   *query = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, inline_with, context);
	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);
		Query	   *inner = castNode(Query, cte->ctequery);
		Readers		readers = {.cte = cte};

		if (!may_inline(query, cte))
			continue;
		count_readers((Node *) query, &readers);
		if (readers.unrestricted ? readers.harmful || readers.repeated || !pays(inner, cte->cterefcount) :
			readers.count != cte->cterefcount)
			continue;
		if (!readers.unrestricted && most_tables(inner) > MANY_TABLES)
			restrict_query(inner, inner->setOperations, readers.wanted);
		else
			cte->ctematerialized = CTEMaterializeNever;
	}
	return query_tree_walker(query, inline_with, context, 0);
}

Query *
gpucol_with_inline(Query *parse)
{
	if (gpucol_planner_disabled() == NULL)
		inline_with((Node *) parse, NULL);
	return parse;
}
