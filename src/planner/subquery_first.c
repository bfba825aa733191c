/*-------------------------------------------------------------------------
 *
 * subquery_first.c
 *	  Subqueries of first rows become joins.
 *
 * (SELECT e FROM b WHERE b.k = a.k ORDER BY s LIMIT 1) is joined with the first row of each key,
 *
 *		SELECT k, e, s FROM (SELECT k, e, s, row_number() OVER (PARTITION BY k ORDER BY s) n FROM b) WHERE n = 1
 *
 * and so is such a query behind LATERAL, of any number of rows (subquery_lateral.c).
 *
 * Conditions may compare the first order column with something outer ("as of": AND b.s <= a.s ORDER BY
 * s DESC LIMIT 1).  In the order of a key's rows each is false up to some row and true from there on,
 * or the other way round, so all of them together are true of neighbours, the first of
 * which is the one row that meets them where the row before it does not:
 *
 *		SELECT k, e, s, lag(s) OVER (PARTITION BY k ORDER BY s DESC) b FROM b WHERE s IS NOT NULL
 *		ON k = a.k AND s <= a.s AND (b IS NULL OR NOT b <= a.s)
 *
 * Of LIMIT n the n-th row before it does not, and of OFFSET o the o-th row before it does (lag(s, o)), and the
 * (o + n)-th does not.
 *
 * Of rows that the order does not tell apart any may be the first, as ever.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

/* ---- the subquery ---- */

/* A clause as a number of rows; -1: it is none that is known. NULL is `none`. */
static int64
constant_rows(Node *clause, int64 none)
{
	const Const *rows = (const Const *) eval_const_expressions(NULL, clause);

	if (rows == NULL)
		return none;
	if (!IsA(rows, Const) || rows->consttype != INT8OID)
		return -1;
	return rows->constisnull ? none : DatumGetInt64(rows->constvalue);
}

int64
gpucol_first_range(const Query *query, int64 *skipped)
{
	int64		limit = constant_rows(query->limitCount, -1);
	int64		offset = constant_rows(query->limitOffset, 0);

	if (skipped != NULL)
		*skipped = 0;
	if (limit <= 0 || offset < 0 || query->limitOption != LIMIT_OPTION_COUNT ||
		query->sortClause == NIL || query->distinctClause != NIL || query->hasAggs)
		return 0;
	if (skipped != NULL)
		*skipped = offset;
	return offset > PG_INT64_MAX - limit ? 0 : limit + offset;
}

int64
gpucol_first_rows(const Query *query)
{
	int64		skipped = 0;
	int64		last = gpucol_first_range(query, &skipped);

	return last == 0 ? 0 : last - skipped;
}

/* The column that rows are ordered by first. */
static Expr *
first_column(const Query *query)
{
	return get_sortgroupclause_tle(linitial(query->sortClause), query->targetList)->expr;
}

/* Is a comparison of the first order column by this order? */
static bool
is_by_order(const OpExpr *op, const Query *query)
{
	const SortGroupClause *sort = linitial_node(SortGroupClause, query->sortClause);
	Oid			family;
	Oid			type;
	GpucolCompatOrder order;
	int			strategy;

	if (!equal(linitial(op->args), first_column(query)) ||
		op->inputcollid != exprCollation(linitial(op->args)) ||
		!get_ordering_op_properties(sort->sortop, &family, &type, &order))
		return false;
	strategy = get_op_opfamily_strategy(op->opno, family);
	return strategy != InvalidStrategy && strategy != BTEqualStrategyNumber;
}

/* Can each row be told what its order has in rows before it, as far back as a query of first rows asks? */
static bool
may_look_back(const Query *query)
{
	int64		last = gpucol_first_range(query, NULL);

	return last > 0 && last <= PG_INT32_MAX && gpucol_subquery_may_call(F_LAG_ANYELEMENT) &&
		(last == 1 || gpucol_subquery_may_call(F_LAG_ANYELEMENT_INT4));
}

bool
gpucol_first_take_ordered(GpucolGroupedJoin *join, OpExpr *op, List **rest)
{
	GpucolReferences own;
	GpucolReferences other;
	Node	   *moved;
	Node	   *within;

	if (!may_look_back(join->inner) ||
		!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!op_strict(op->opno) || !gpucol_harmless_function(op->opfuncid) || checkExprHasSubLink((Node *) op))
		return false;
	op = copyObject(op);
	own = gpucol_subquery_references(linitial(op->args));
	if (!own.own && OidIsValid(get_commutator(op->opno)))
	{
		CommuteOpExpr(op);
		set_opfuncid(op);
		own = gpucol_subquery_references(linitial(op->args));
	}
	other = gpucol_subquery_references(lsecond(op->args));
	if (!own.own || own.outer || own.farther || other.own || !other.outer || other.farther ||
		!gpucol_harmless_function(op->opfuncid) || !is_by_order(op, join->inner))
		return false;
	moved = gpucol_grouped_move_out(lsecond(op->args));
	within = gpucol_grouped_within(join, moved);
	if (!gpucol_grouped_check_outer(join, within == NULL ? moved :
									(Node *) gpucol_harmless_within_value((Expr *) moved)))
		return false;
	moved = within != NULL ? within : moved;
	if (join->ordered == NIL)
		*rest = lappend(*rest, gpucol_make_null_test(copyObject(linitial(op->args)), IS_NOT_NULL));
	lsecond(op->args) = moved;
	join->ordered = lappend(join->ordered, op);
	return true;
}

/* ---- first rows ---- */

/* How a column is sorted already, or NULL. */
static const SortGroupClause *
find_sorted(const TargetEntry *tle, List *sort)
{
	return tle->ressortgroupref == 0 ? NULL : get_sortgroupref_clause(tle->ressortgroupref, sort);
}

void
gpucol_first_take(GpucolGroupedJoin *join)
{
	Query	   *inner = join->inner;
	List	   *sort = list_copy(join->groups);
	ListCell   *lc;

	foreach(lc, inner->sortClause)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		Expr	   *expr = get_sortgroupclause_tle(clause, inner->targetList)->expr;
		Node	   *within = gpucol_grouped_within_value(join, (Node *) expr);
		TargetEntry *tle = gpucol_grouped_column(join, (Expr *) within, "sort");
		const SortGroupClause *before = find_sorted(tle, sort);

		if (before != NULL && (before->eqop != clause->eqop || join->ordered != NIL))
			join->reason = "it is sorted by a key in an order of its own";
		if (before != NULL)
			continue;
		clause->tleSortGroupRef = tle->ressortgroupref = list_length(sort) + 1;
		sort = lappend(sort, clause);
	}
	join->last = gpucol_first_range(inner, &join->skipped);
	if (join->ordered == NIL && join->last > 1 && !gpucol_subquery_may_number(join->skipped))
		join->reason = "the user may not number rows";
	inner->distinctClause = join->groups;
	inner->hasDistinctOn = join->groups != NIL;
	inner->sortClause = sort;
	inner->limitCount = inner->limitOffset = NULL;
	join->groups = NIL;
}

Node *
gpucol_first_value(GpucolGroupedJoin *join, Node *value)
{
	Node	   *within = gpucol_grouped_within_value(join, value);
	Node	   *column = (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) within, "value"), true);

	gpucol_first_take(join);
	return column;
}

/* Conditions of the order with a column in place of its first one. */
static Expr *
compare_column(const GpucolGroupedJoin *join, const TargetEntry *tle)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, join->ordered)
	{
		OpExpr	   *op = copyObject(lfirst_node(OpExpr, lc));

		linitial(op->args) = gpucol_grouped_var(join, tle, false);
		result = lappend(result, op);
	}
	return make_ands_explicit(result);
}

/* The values that an ordered query's order has in the rows so many before each. */
static List *
keep_before(GpucolGroupedJoin *join, AttrNumber ordered)
{
	List	   *rows = join->skipped > 0 ? list_make2_int((int) join->last, (int) join->skipped) :
		list_make1_int((int) join->last);

	return gpucol_subquery_keep_before(join->inner, ordered, rows);
}

void
gpucol_first_finish(GpucolGroupedJoin *join)
{
	TargetEntry *tle;
	List	   *befores;
	TargetEntry *before;
	Node	   *none;

	if (join->ordered == NIL)
	{
		if (join->last > 1 || gpucol_subquery_may_number(join->skipped))
			gpucol_subquery_number_rows(join->inner, join->skipped, join->last);
		return;
	}
	tle = gpucol_grouped_column(join, linitial(linitial_node(OpExpr, join->ordered)->args), "sort");
	befores = keep_before(join, tle->resno);
	before = linitial(befores);
	none = (Node *) gpucol_make_null_test((Expr *) gpucol_grouped_var(join, before, false), IS_NULL);
	join->conditions = lappend(join->conditions, compare_column(join, tle));
	join->conditions = lappend(join->conditions,
							   make_orclause(list_make2(none, make_notclause(compare_column(join, before)))));
	if (join->skipped > 0)
		join->conditions = lappend(join->conditions, compare_column(join, lsecond(befores)));
	join->columns = join->inner->targetList;
}
