/*-------------------------------------------------------------------------
 *
 * with_inline.c
 *	  A WITH query that is read several times is computed where it is read, or once with the rows that its readers
 *	  want: whatever is sooner.
 *
 *		WITH y AS (SELECT k, year, sum(x) AS s FROM t GROUP BY k, year)
 *		SELECT ... FROM y a, y b WHERE a.k = b.k AND a.year = 2001 AND b.year = 2002
 *
 * PostgreSQL computes such a query once, whole, and each reader takes its part of the rows: rows
 * that nobody wants are made.  Written NOT MATERIALIZED the condition goes into the query, as far as PostgreSQL can
 * push it, and each reader's part is one aggregation of the engine, below joins too.
 *
 * Or the query is kept, and has the rows that one of its readers wants (`year = 2001 OR year = 2002`).  All parts
 * together are the same rows where values differ; but each reader that computes its part reads the query's tables,
 * and has their joins planned.  So it is where that is sooner as far as statistics tell (with_cost.c), and where
 * each reader would have many tables joined: as many as PostgreSQL's own settings hold for too many to be rearranged.
 *
 * Where readers want all rows, the engine's threads compute groups of one table again where that is sooner than to
 * keep them and have PostgreSQL read them as tuples.  Readers that are executed for rows, or part of another WITH
 * query, do not count on that.
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
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "planner/planner.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"
#include "planner/with_cost.h"

/* The readers of one WITH query, while a statement is walked through. */
typedef struct Readers
{
	const CommonTableExpr *cte;
	int			depth;			/* of queries below the one that has it */
	int			count;			/* those that restrict it */
	int			by_tuples;		/* those whose rows PostgreSQL itself reads */
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

/* Of what is guessed to be sooner, so many ns have to be gained. */
#define LEAST_GAIN	1e6

/* So many tables are not joined for each reader. */
#define MANY_TABLES	8

/* ---- the query ---- */

bool
gpucol_with_has_choice(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		const Query *query = (Query *) node;

		return query->limitCount != NULL || query->limitOffset != NULL || query->hasWindowFuncs ||
			query->hasDistinctOn || query->hasTargetSRFs || query->rowMarks != NIL ||
			query_tree_walker((Query *) node, gpucol_with_has_choice, context, 0);
	}
	return expression_tree_walker(node, gpucol_with_has_choice, context);
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
		!gpucol_with_has_choice((Node *) inner, NULL) && !contain_volatile_functions((Node *) inner) &&
		gpucol_harmless_query(inner, query, false) == NULL;
}

/* ---- its readers ---- */

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
		gpucol_with_is_constant(other) && op_mergejoinable(op->opno, exprType(linitial(op->args))) &&
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

/* What does a query do to a WITH query that it reads as `rti`?  Appends the conditions that restrict it. */
static Reading
reading_of(Query *query, Index rti, Query *inner, List **wanted)
{
	List	   *where = gpucol_subquery_conditions(query->jointree->quals);
	ListCell   *lc;

	if (query->rowMarks != NIL || query->commandType != CMD_SELECT)
		return READING_HARMS;
	foreach(lc, gpucol_with_conditions((Node *) query->jointree))
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

/* Has a query nothing but a WITH query's rows, one by one? */
static bool
reads_alone(const Query *query)
{
	return list_length(query->rtable) == 1 && !query->hasAggs && !query->hasWindowFuncs &&
		query->groupClause == NIL && query->groupingSets == NIL && query->distinctClause == NIL;
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
		readers->by_tuples += reads_alone(query);
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
		{
			int			most = most_tables(rte->subquery);

			below = Max(below, most);
		}
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

/* What each of the readers wants of a branch: conditions on its rows, before they are grouped; none, all of them. */
static List *
wanted_of_branch(Query *branch, const List *wanted)
{
	List	   *result = NIL;
	ListCell   *lr;

	foreach(lr, wanted)
	{
		List	   *conditions = NIL;
		ListCell   *lc;

		foreach(lc, (List *) lfirst(lr))
		{
			Node	   *condition = is_of_groups(lfirst(lc)) ? condition_on_branch(branch, lfirst(lc)) : NULL;

			if (condition != NULL)
				conditions = lappend(conditions, condition);
		}
		result = lappend(result, conditions);
	}
	return result;
}

/* The queries that have a query's rows: itself, or the branches of its set operations. */
static List *
leaves(Query *query, Node *branch)
{
	check_stack_depth();
	if (branch == NULL)
		return list_make1(query);
	if (IsA(branch, SetOperationStmt))
		return list_concat(leaves(query, ((SetOperationStmt *) branch)->larg),
						   leaves(query, ((SetOperationStmt *) branch)->rarg));
	query = rt_fetch(castNode(RangeTblRef, branch)->rtindex, query->rtable)->subquery;
	return leaves(query, query->setOperations);
}

/* Have a query make rows only that one of its readers wants. */
static void
restrict_query(Query *query, const List *wanted)
{
	ListCell   *lb;

	foreach(lb, leaves(query, query->setOperations))
	{
		Query	   *branch = lfirst(lb);
		List	   *any = NIL;
		ListCell   *lc;

		foreach(lc, wanted_of_branch(branch, wanted))
			any = lappend(any, make_ands_explicit(lfirst(lc)));
		branch->jointree->quals = make_and_qual(branch->jointree->quals, list_length(any) > 1 ?
												(Node *) makeBoolExpr(OR_EXPR, any, -1) : linitial(any));
	}
}

/* ---- once, or by each reader ---- */

/* What it takes to compute a query again and again, and to keep it. */
static GpucolWithCost
cost_of(Query *query, const Readers *readers)
{
	GpucolWithCost cost = {.readers = list_length(readers->wanted),.by_tuples = readers->by_tuples};
	ListCell   *lb;

	foreach(lb, leaves(query, query->setOperations))
		gpucol_with_cost_add(&cost, lfirst(lb), wanted_of_branch(lfirst(lb), readers->wanted));
	return cost;
}

/* Groups of one table, which all of the engine's threads compute: is that sooner for each reader of all of them? */
static bool
is_computed_again(Query *inner, const Readers *readers)
{
	RangeTblEntry *rte = list_length(inner->jointree->fromlist) == 1 ? linitial(inner->rtable) : NULL;
	GpucolWithCost cost;

	if (readers->harmful || readers->repeated || rte == NULL || rte->rtekind != RTE_RELATION ||
		!OidIsValid(gpucol_subquery_packed_part(rte)) || !IsA(linitial(inner->jointree->fromlist), RangeTblRef) ||
		inner->groupClause == NIL || inner->groupingSets != NIL || inner->havingQual != NULL ||
		inner->distinctClause != NIL || inner->hasSubLinks || inner->setOperations != NULL || inner->cteList != NIL)
		return false;
	cost = cost_of(inner, readers);
	return !isinf(cost.kept) && cost.kept - cost.again > LEAST_GAIN;
}

/* Of a query of which each reader wants a part: is it sooner to make these parts once, and to keep them? */
static bool
is_kept(Query *inner, const Readers *readers)
{
	GpucolWithCost cost;

	if (most_tables(inner) > MANY_TABLES)
		return true;
	cost = cost_of(inner, readers);
	return cost.again - cost.kept > LEAST_GAIN;
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
		if (readers.unrestricted ? !is_computed_again(inner, &readers) : readers.count != cte->cterefcount)
			continue;
		if (!readers.unrestricted && is_kept(inner, &readers))
			restrict_query(inner, readers.wanted);
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
