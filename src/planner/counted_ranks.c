/*-------------------------------------------------------------------------
 *
 * counted_ranks.c
 *	  The rank that a row would have is a count of the rows before it.
 *
 *		rank(5, 'x') WITHIN GROUP (ORDER BY a, t DESC) FILTER (WHERE f)
 *	->	count(*) FILTER (WHERE f AND (a < 5 OR a = 5 AND (t > 'x' OR t IS NULL))) + 1
 *
 * PostgreSQL keeps and sorts all rows of each group for it; an engine counts.  The others are the same:
 *
 *		percent_rank	the rows before, divided by all rows; 0 where there is none
 *		cume_dist		those before or equal, and one, divided by all, and one
 *		dense_rank		the different ones before: count(DISTINCT a), or of rows of several; and NULL, if that is before
 *
 * The direct arguments must be constants, parameters or columns of a query around: what depends on the group is
 * evaluated once for it, and might be another value in its other rows.  Of the sorted values the first is computed of
 * all rows as before, but a later one only of those that are equal so far, so that must be a column.  What is
 * volatile, or has subqueries, stays.
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
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "guc.h"
#include "plan/make.h"
#include "planner/planner.h"
#include "planner/subquery.h"

#define IS_HYPOTHETICAL(function) ((function) == F_RANK_ANY || (function) == F_DENSE_RANK_ANY || \
								   (function) == F_PERCENT_RANK_ANY || (function) == F_CUME_DIST_ANY)

/* The functions that take its place, beside comparisons. */
static const Oid needed[] = {F_COUNT_, F_COUNT_ANY, F_INT8PL, F_FLOAT8_INT8, F_FLOAT8DIV, F_INT8EQ};

/* ---- may it be? ---- */

/* Is a key a column, whose value raises no error? */
static bool
is_column(const Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var);
}

/* A direct argument that is the same for all rows, simplified; or NULL. */
static Expr *
steady_argument(Node *argument)
{
	Node	   *value = eval_const_expressions(NULL, argument);

	if (IsA(value, Const) || (IsA(value, Param) && ((Param *) value)->paramkind == PARAM_EXTERN) ||
		(IsA(value, Var) && ((Var *) value)->varlevelsup > 0))
		return (Expr *) value;
	return NULL;
}

/* Can rows be compared with a value by a key of the order? */
static bool
is_comparable(const SortGroupClause *clause, const Expr *key, const Expr *value)
{
	Oid			type = exprType((const Node *) key);
	const TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	Oid			collation = exprCollation((const Node *) key);

	return exprType((const Node *) value) == type && clause->eqop == cache->eq_opr &&
		(clause->sortop == cache->lt_opr || clause->sortop == cache->gt_opr) && op_strict(clause->sortop) &&
		(OidIsValid(collation) || !OidIsValid(get_typcollation(type))) &&
		gpucol_subquery_may_call(get_opcode(clause->sortop)) && gpucol_subquery_may_call(get_opcode(clause->eqop));
}

/* The values that an aggregate compares rows with, a list of Expr; NIL: it stays. */
static List *
compared_values(const Aggref *agg)
{
	List	   *values = NIL;

	if (!IS_HYPOTHETICAL(agg->aggfnoid) || agg->agglevelsup != 0 || agg->aggdistinct != NIL ||
		list_length(agg->aggdirectargs) != list_length(agg->aggorder) ||
		list_length(agg->args) != list_length(agg->aggorder) || contain_volatile_functions((Node *) agg) ||
		contain_subplans((Node *) agg) || expression_returns_set((Node *) agg->args) ||
		!gpucol_subquery_may_call(agg->aggfnoid))
		return NIL;
	for (int i = 0; i < (int) lengthof(needed); i++)
	{
		if (!gpucol_subquery_may_call(needed[i]))
			return NIL;
	}
	for (int i = 0; i < list_length(agg->args); i++)
	{
		const TargetEntry *tle = list_nth_node(TargetEntry, agg->args, i);
		const SortGroupClause *clause = list_nth_node(SortGroupClause, agg->aggorder, i);
		Expr	   *value = steady_argument(list_nth(agg->aggdirectargs, i));

		if (value == NULL || tle->ressortgroupref != clause->tleSortGroupRef || tle->resjunk ||
			((i > 0 || (IsA(value, Const) && ((Const *) value)->constisnull)) && !is_column(tle->expr)) ||
			!is_comparable(clause, tle->expr, value))
			return NIL;
		values = lappend(values, value);
	}
	return values;
}

/* ---- conditions ---- */

static Expr *
both(Expr *a, Expr *b)
{
	return a == NULL ? b : b == NULL ? a : makeBoolExpr(AND_EXPR, list_make2(a, b), -1);
}

static Expr *
either(Expr *a, Expr *b)
{
	return a == NULL ? b : b == NULL ? a : makeBoolExpr(OR_EXPR, list_make2(a, b), -1);
}

/* IS NULL, or IS NOT NULL. */
static Expr *
null_test(const Expr *expr, NullTestType type)
{
	return gpucol_make_null_test(copyObject((Expr *) expr), type);
}

/* A value as an operator takes it, which may be one of a type with the same bytes. */
static Expr *
as_operand(const Expr *expr, Oid type)
{
	Expr	   *copy = copyObject((Expr *) expr);

	if (type == exprType((const Node *) expr) || get_typtype(type) == TYPTYPE_PSEUDO)
		return copy;
	return (Expr *) makeRelabelType(copy, type, -1, exprCollation((const Node *) expr), COERCE_IMPLICIT_CAST);
}

static Expr *
compare(Oid operator, const Expr *key, const Expr *value)
{
	Oid			left;
	Oid			right;
	Expr	   *op;

	op_input_types(operator, &left, &right);
	op = make_opclause(operator, BOOLOID, false, as_operand(key, left), as_operand(value, right), InvalidOid,
					   exprCollation((const Node *) key));
	set_opfuncid((OpExpr *) op);
	return op;
}

/* Does a row's key come before the value? */
static Expr *
is_before(const SortGroupClause *clause, const Expr *key, const Expr *value)
{
	Expr	   *before = compare(clause->sortop, key, value);
	bool		maybe_null = !IsA(value, Const) || ((const Const *) value)->constisnull;
	bool		maybe_value = !IsA(value, Const) || !((const Const *) value)->constisnull;

	if (clause->nulls_first && maybe_value)
		return either(before, both(null_test(key, IS_NULL), maybe_null ? null_test(value, IS_NOT_NULL) : NULL));
	if (!clause->nulls_first && maybe_null)
		return either(before, both(null_test(key, IS_NOT_NULL), null_test(value, IS_NULL)));
	return before;
}

static Expr *
is_equal(const SortGroupClause *clause, const Expr *key, const Expr *value)
{
	if (IsA(value, Const) && ((const Const *) value)->constisnull)
		return null_test(key, IS_NULL);
	return IsA(value, Const) ? compare(clause->eqop, key, value) :
		either(compare(clause->eqop, key, value), both(null_test(key, IS_NULL), null_test(value, IS_NULL)));
}

/* Does a row come before the values, or is it equal to them where that counts? */
static Expr *
row_before(const Aggref *agg, const List *values, bool or_equal)
{
	Expr	   *test = NULL;

	for (int i = list_length(values) - 1; i >= 0; i--)
	{
		const SortGroupClause *clause = list_nth_node(SortGroupClause, agg->aggorder, i);
		const Expr *key = list_nth_node(TargetEntry, agg->args, i)->expr;
		const Expr *value = list_nth(values, i);
		bool		last = i == list_length(values) - 1;
		Expr	   *equal = last && !or_equal ? NULL : both(is_equal(clause, key, value), test);

		test = either(is_before(clause, key, value), equal);
	}
	return test;
}

/* ---- counts ---- */

/* count(*), or of what `distinct` says, of the rows that pass the aggregate's filter and `condition`. */
static Expr *
count_rows(const Aggref *agg, Expr *condition, Expr *distinct)
{
	Aggref	   *count = distinct == NULL ? gpucol_make_aggregate(F_COUNT_, INT8OID, NULL) :
		gpucol_make_aggregate(F_COUNT_ANY, INT8OID, distinct);

	count->aggfilter = both(copyObject(agg->aggfilter), condition);
	if (distinct != NULL)
	{
		SortGroupClause *clause = copyObject(linitial_node(SortGroupClause, agg->aggorder));

		if (IsA(distinct, RowExpr))
		{
			const TypeCacheEntry *cache = lookup_type_cache(RECORDOID, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);

			clause->eqop = cache->eq_opr;
			clause->sortop = cache->lt_opr;
			clause->hashable = false;
		}
		linitial_node(TargetEntry, count->args)->ressortgroupref = clause->tleSortGroupRef = 1;
		count->aggcollid = InvalidOid;
		linitial_oid(count->aggargtypes) = exprType((Node *) distinct);
		count->aggdistinct = list_make1(clause);
	}
	return (Expr *) count;
}

static Expr *
call(Oid function, Oid type, Expr *a, Expr *b)
{
	return (Expr *) makeFuncExpr(function, type, b == NULL ? list_make1(a) : list_make2(a, b), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static Expr *
and_one(Expr *count)
{
	return call(F_INT8PL, INT8OID, count, gpucol_make_int8(1));
}

/* a / b of counts. */
static Expr *
quotient(Expr *a, Expr *b)
{
	return call(F_FLOAT8DIV, FLOAT8OID, call(F_FLOAT8_INT8, FLOAT8OID, a, NULL),
				call(F_FLOAT8_INT8, FLOAT8OID, b, NULL));
}

/* The different rows before, and one. */
static Expr *
dense_rank(const Aggref *agg, const List *values)
{
	const SortGroupClause *clause = linitial_node(SortGroupClause, agg->aggorder);
	Expr	   *key = linitial_node(TargetEntry, agg->args)->expr;
	const Expr *value = linitial(values);
	Expr	   *condition = row_before(agg, values, false);
	Expr	   *nulls;
	RowExpr    *row;

	if (list_length(values) == 1)
	{
		Expr	   *rank = and_one(count_rows(agg, condition, key));

		if (!clause->nulls_first || (IsA(value, Const) && ((const Const *) value)->constisnull))
			return rank;
		/* count(DISTINCT) passes NULL over */
		nulls = both(null_test(key, IS_NULL), IsA(value, Const) ? NULL : null_test(value, IS_NOT_NULL));
		nulls = call(F_INT8EQ, BOOLOID, count_rows(agg, nulls, NULL), gpucol_make_int8(0));
		return call(F_INT8PL, INT8OID, rank, gpucol_make_choice(nulls, gpucol_make_int8(0), gpucol_make_int8(1)));
	}
	row = makeNode(RowExpr);
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	for (int i = 0; i < list_length(agg->args); i++)
	{
		row->args = lappend(row->args, copyObject(list_nth_node(TargetEntry, agg->args, i)->expr));
		row->colnames = lappend(row->colnames, makeString(psprintf("f%d", i + 1)));
	}
	return and_one(count_rows(agg, condition, (Expr *) row));
}

/* What an aggregate is; NULL: it stays. */
static Expr *
counted(const Aggref *agg)
{
	List	   *values = compared_values(agg);
	Expr	   *all;

	if (values == NIL)
		return NULL;
	switch (agg->aggfnoid)
	{
		case F_RANK_ANY:
			return and_one(count_rows(agg, row_before(agg, values, false), NULL));
		case F_DENSE_RANK_ANY:
			return dense_rank(agg, values);
		case F_CUME_DIST_ANY:
			return quotient(and_one(count_rows(agg, row_before(agg, values, true), NULL)),
							and_one(count_rows(agg, NULL, NULL)));
		default:
			all = call(F_INT8EQ, BOOLOID, count_rows(agg, NULL, NULL), gpucol_make_int8(0));
			return gpucol_make_choice(all, (Expr *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
															  Float8GetDatum(0), false, FLOAT8PASSBYVAL),
									  quotient(count_rows(agg, row_before(agg, values, false), NULL),
											   count_rows(agg, NULL, NULL)));
	}
}

/* ---- statements ---- */

static Node *
count_ranks(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, count_ranks, context, 0);
	if (IsA(node, Aggref))
	{
		Expr	   *expr = counted((Aggref *) node);

		if (expr != NULL)
			return (Node *) expr;
	}
	return expression_tree_mutator(node, count_ranks, context);
}

/* Does a statement have such an aggregate, and a table of ours? */
typedef struct Search
{
	bool		rank;
	bool		table;
} Search;

static bool
search(Node *node, Search *s)
{
	RangeTblEntry *rte = (RangeTblEntry *) node;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		s->table |= rte->rtekind == RTE_RELATION && OidIsValid(gpucol_subquery_packed_part(rte));
		return s->rank && s->table;
	}
	s->rank |= IsA(node, Aggref) && IS_HYPOTHETICAL(((const Aggref *) node)->aggfnoid);
	if (s->rank && s->table)
		return true;
	if (!IsA(node, Query))
		return expression_tree_walker(node, search, s);
	check_stack_depth();
	return query_tree_walker((Query *) node, search, s, QTW_EXAMINE_RTES_BEFORE);
}

Query *
gpucol_counted_ranks(Query *parse)
{
	Search		s = {false, false};

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !search((Node *) parse, &s))
		return parse;
	return (Query *) count_ranks((Node *) copyObject(parse), NULL);
}
