/*-------------------------------------------------------------------------
 *
 * pair_groups.c
 *	  Keys of which a table has rows of different values are groups, not joined rows.
 *
 *		k IN (SELECT a.k FROM t a, t b WHERE a.k = b.k AND a.x <> b.x)
 *	->	k IN (SELECT k FROM t WHERE k IS NOT NULL GROUP BY k HAVING min(x) <> max(x))
 *
 * A key with n rows has up to n * n such pairs, of which nobody asks for more than the key: in a WITH query that is
 * read by IN or EXISTS (with_distinct.c), or below IN itself.
 *
 * There is a pair of values that differ if the least differs from the greatest, and so there is one of which the
 * first is less.  NULLs are in no pair, and neither in min nor in max.  Both tables' other conditions must be the
 * same, so that either has the same rows; keys are equal by the equality that groups have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "guc.h"
#include "lower/harmless_query.h"
#include "plan/make.h"
#include "planner/pair_groups.h"
#include "planner/planner.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"
#include "planner/with_cost.h"

/* What a query says of the pairs of rows that it joins, as of the first of two tables. */
typedef struct Pairs
{
	Query	   *query;
	List	   *keys;			/* Var: equal; */
	const Var  *value;			/* compared otherwise, or NULL, */
	Oid			operator;		/* by this, first with second */
	List	   *first;			/* conditions of the first table, */
	List	   *second;			/* and of the second */
} Pairs;

/* Does a query join a gpucol table with itself, and nothing else? */
static bool
joins_itself(Query *query)
{
	const RangeTblEntry *a = list_length(query->rtable) >= 2 ? linitial(query->rtable) : NULL;
	const RangeTblEntry *b = a != NULL ? lsecond(query->rtable) : NULL;
	const RangeTblEntry *join = list_length(query->rtable) == 3 ? lthird(query->rtable) : NULL;

	return gpucol_set_is_plain(query) && !query->hasSubLinks && !query->hasTargetSRFs && !query->hasDistinctOn &&
		a != NULL && list_length(query->rtable) <= 3 && a->rtekind == RTE_RELATION && b->rtekind == RTE_RELATION &&
		a->relid == b->relid && a->inh == b->inh && a->tablesample == NULL && b->tablesample == NULL &&
		a->securityQuals == NIL && b->securityQuals == NIL &&
		OidIsValid(gpucol_subquery_packed_part((RangeTblEntry *) a)) &&
		(join == NULL ? list_length(query->jointree->fromlist) == 2 :
		 join->rtekind == RTE_JOIN && join->jointype == JOIN_INNER);
}

/* The column of one of the two tables that an expression is, perhaps by the name that a join has for it; or NULL. */
static const Var *
column_of(const Query *query, const Node *expr)
{
	const Var  *var = (const Var *) expr;

	while (var != NULL && IsA(var, Var) && var->varno == 3 && var->varattno > 0)
		var = list_nth(rt_fetch(3, query->rtable)->joinaliasvars, var->varattno - 1);
	return var != NULL && IsA(var, Var) && var->varno <= 2 && var->varlevelsup == 0 && var->varattno > 0 ? var : NULL;
}

/* Which operator of a type's order makes pairs of different values? */
static bool
tells_apart(Oid operator, Oid type)
{
	const TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_EQ_OPR);
	int			strategy;

	if (!OidIsValid(cache->btree_opf) || !OidIsValid(cache->eq_opr))
		return false;
	strategy = get_op_opfamily_strategy(operator, cache->btree_opf);
	return strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber ||
		get_negator(cache->eq_opr) == operator;
}

/* Have a condition on both tables say which columns are keys, and which has different values. */
static bool
take_pair(Pairs *pairs, const OpExpr *op)
{
	const Var  *left = IsA(op, OpExpr) && list_length(op->args) == 2 ?
		column_of(pairs->query, linitial(op->args)) : NULL;
	const Var  *right = left != NULL ? column_of(pairs->query, lsecond(op->args)) : NULL;
	bool		swapped = left != NULL && left->varno == 2;
	Var		   *first;

	if (right == NULL || left->varno == right->varno || left->varattno != right->varattno)
		return false;
	first = (Var *) copyObject(swapped ? right : left);
	if (op->opno == lookup_type_cache(first->vartype, TYPECACHE_EQ_OPR)->eq_opr)
	{
		pairs->keys = lappend(pairs->keys, first);
		return !OidIsValid(op->inputcollid) || get_collation_isdeterministic(op->inputcollid);
	}
	if (pairs->value != NULL || op->inputcollid != first->varcollid || !tells_apart(op->opno, first->vartype))
		return false;
	pairs->value = first;
	pairs->operator = swapped ? get_commutator(op->opno) : op->opno;
	return OidIsValid(pairs->operator);
}

/* Are conditions the same, in whichever order? */
static bool
are_same(const List *a, const List *b)
{
	return list_difference(a, b) == NIL && list_difference(b, a) == NIL;
}

/* Find out what a query says of pairs. */
static bool
find_pairs(Pairs *pairs)
{
	ListCell   *lc;

	foreach(lc, gpucol_with_conditions((Node *) pairs->query->jointree))
	{
		Node	   *condition = lfirst(lc);
		Relids		tables = pull_varnos_of_level(NULL, condition, 0);
		int			table;

		if (!bms_get_singleton_member(tables, &table))
		{
			if (!take_pair(pairs, (const OpExpr *) condition))
				return false;
			continue;
		}
		condition = copyObject(condition);
		if (table == 3 || contain_volatile_functions(condition))
			return false;
		if (table == 2)
		{
			ChangeVarNodes(condition, 2, 1, 0);
			pairs->second = lappend(pairs->second, condition);
		}
		else
			pairs->first = lappend(pairs->first, condition);
	}
	return pairs->keys != NIL && pairs->value != NULL && are_same(pairs->first, pairs->second);
}

/* The aggregate of a type's least or greatest values, or InvalidOid. */
static Oid
extreme_of(Oid type, bool greatest)
{
	Oid			function = LookupFuncName(list_make2(makeString("pg_catalog"), makeString(greatest ? "max" : "min")),
										  1, &type, true);
	const TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	Oid			order;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	order = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	return order == (greatest ? cache->gt_opr : cache->lt_opr) && gpucol_subquery_may_call(function) ?
		function : InvalidOid;
}

/* min(x) <> max(x), or NULL. */
static Node *
make_test(const Pairs *pairs)
{
	Var		   *value = (Var *) pairs->value;
	Oid			type = value->vartype;
	Oid			least = extreme_of(type, false);
	Oid			greatest = extreme_of(type, true);
	Expr	   *left;
	Expr	   *right;
	OpExpr	   *op;

	if (!OidIsValid(least) || !OidIsValid(greatest))
		return NULL;
	left = (Expr *) gpucol_make_aggregate(least, type, (Expr *) value);
	right = (Expr *) gpucol_make_aggregate(greatest, type, (Expr *) value);
	if (get_op_opfamily_strategy(pairs->operator, lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf) ==
		BTGreaterStrategyNumber)
	{
		Expr	   *swap = left;

		left = right;
		right = swap;
	}
	op = (OpExpr *) make_opclause(pairs->operator, BOOLOID, false, left, right, InvalidOid, value->varcollid);
	set_opfuncid(op);
	return (Node *) op;
}

/* The key that a column is, from 0; or -1. */
static int
key_of(const Pairs *pairs, const Var *column)
{
	ListCell   *lc;

	foreach(lc, pairs->keys)
	{
		if (column != NULL && lfirst_node(Var, lc)->varattno == column->varattno)
			return foreach_current_index(lc);
	}
	return -1;
}

/* Have the query's list be of keys, each once those of groups, and NULL for columns that are not read. */
static bool
write_list(Pairs *pairs, const Bitmapset *columns)
{
	Query	   *query = pairs->query;
	Bitmapset  *written = NULL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		Node	   *expr = (Node *) tle->expr;
		int			key = key_of(pairs, column_of(query, expr));

		if (!bms_is_member(tle->resno, columns))
			tle->expr = (Expr *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr));
		else if (key < 0)
			return false;
		else
		{
			tle->expr = copyObject(list_nth(pairs->keys, key));
			if (!bms_is_member(key, written))
				gpucol_set_add_key(query, tle);
			written = bms_add_member(written, key);
		}
	}
	for (int key = 0; key < list_length(pairs->keys); key++)
	{
		TargetEntry *tle = makeTargetEntry(copyObject(list_nth(pairs->keys, key)), list_length(query->targetList) + 1,
										   NULL, true);

		if (bms_is_member(key, written))
			continue;
		query->targetList = lappend(query->targetList, tle);
		gpucol_set_add_key(query, tle);
	}
	return true;
}

Query *
gpucol_pair_groups(Query *query, const Bitmapset *columns)
{
	Pairs		pairs = {.query = query};
	RangeTblRef *table = makeNode(RangeTblRef);
	Node	   *test;
	List	   *conditions;
	ListCell   *lc;

	if (!joins_itself(query) || !find_pairs(&pairs))
		return NULL;
	test = make_test(&pairs);
	pairs.query = copyObject(query);
	if (test == NULL || !write_list(&pairs, columns))
		return NULL;
	conditions = pairs.first;
	foreach(lc, pairs.keys)
		conditions = lappend(conditions, gpucol_make_null_test(copyObject(lfirst(lc)), IS_NOT_NULL));
	table->rtindex = 1;
	query = pairs.query;
	query->rtable = list_truncate(query->rtable, 2);
	query->jointree = makeFromExpr(list_make1(table), (Node *) make_ands_explicit(conditions));
	query->havingQual = test;
	query->hasAggs = true;
	return query;
}

/* ---- in a statement ---- */

/* All columns of a query. */
static Bitmapset *
all_columns(const Query *query)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			columns = bms_add_member(columns, lfirst_node(TargetEntry, lc)->resno);
	}
	return columns;
}

/* Is a subquery one that may be groups, below IN, which asks for its values alone? */
static Query *
tested_groups(const SubLink *sublink)
{
	Query	   *query = castNode(Query, sublink->subselect);
	GpucolReferences found = gpucol_subquery_references((Node *) query);

	if (sublink->subLinkType != ANY_SUBLINK || found.own || found.outer || found.farther || !joins_itself(query) ||
		gpucol_harmless_query(query, NULL, false) != NULL)
		return NULL;
	return gpucol_pair_groups(query, all_columns(query));
}

/* Have subqueries of IN be groups where they are pairs. */
static bool
find_tests(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_tests, context, 0);
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;
		Query	   *groups = tested_groups(sublink);

		if (groups != NULL)
			sublink->subselect = (Node *) groups;
	}
	return expression_tree_walker(node, find_tests, context);
}

Query *
gpucol_pair_tests(Query *parse)
{
	if (gpucol_planner_disabled() == NULL && gpucol_enable_agg)
		find_tests((Node *) parse, NULL);
	return parse;
}
