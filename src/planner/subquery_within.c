/*-------------------------------------------------------------------------
 *
 * subquery_within.c
 *	  What a correlated subquery is compared with, of values that are not near the ends of their type.
 *
 * `b.n = a.n - 1` would be computed of all rows of `a`, of rows too that the subquery was never executed for, and
 * the least integer less 1 is an error.  It is computed of values with room to the ends; for a row with another
 * one the subquery is executed, as it was, and the join finds nothing:
 *
 *		b.n = CASE WHEN a.n < low OR a.n > high THEN NULL ELSE a.n - 1 END
 *
 * Aggregates of the subquery over such sums, and over other arithmetic of integers, are computed likewise, and beside
 * them whether a group has rows beyond: for a row that asks for such a group the subquery is executed.
 *
 * A key of the subquery's own, `b.n + 1 = a.n`, is computed so of all rows of `b`. Where one has a value near the
 * end, whichever row of `a` looks at it gets an error: all have the subquery executed then,
 *
 *		(SELECT bool_or(b.n < low OR b.n > high) FROM b)
 *
 * Values and order columns of first rows are computed so, too: PostgreSQL computes those of all rows of a key before
 * it sorts them, so that a row that is not the first one raises an error.
 *
 * A subquery without aggregates gives the value of its only row.  Where no index says that there is only one, the
 * least value of those with the row's key is it, and for a row of whose key there are several the subquery
 * is executed, which raises PostgreSQL's error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "lower/harmless_query.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "planner/subquery.h"
#include "planner/subquery_join.h"

static bool
is_forbidden(Oid function, void *context pg_attribute_unused())
{
	return !gpucol_subquery_may_call(function);
}

/* Does a condition call a function that the user must not? */
static bool
calls_forbidden(Node *node, void *context)
{
	return node != NULL && (check_functions_in_node(node, is_forbidden, context) ||
							expression_tree_walker(node, calls_forbidden, context));
}

Node *
gpucol_grouped_within(GpucolGroupedJoin *join, Node *moved)
{
	Expr	   *beyond;
	Expr	   *within = join->may_execute || join->raised_table > 0 ?
		gpucol_harmless_within((Expr *) moved, &beyond) : NULL;

	if (within == NULL)
		return NULL;
	if (calls_forbidden((Node *) beyond, NULL))
		return NULL;
	if (join->may_execute)
		join->beyond = list_append_unique(join->beyond, beyond);
	else
		gpucol_raise_note(join, (Node *) within, moved);
	return (Node *) within;
}

/* (SELECT bool_or(a condition) FROM a table of a query), of rows, too, that other conditions exclude. */
static Node *
any_row(Query *query, Index rti, Expr *condition)
{
	Aggref	   *any = gpucol_make_aggregate(F_BOOL_OR, BOOLOID, condition);
	SubLink    *sublink = makeNode(SubLink);
	Query	   *rows = gpucol_subquery_rows(query, rti, NIL);

	ChangeVarNodes((Node *) any, rti, 1, 0);
	rows->targetList = list_make1(makeTargetEntry((Expr *) any, 1, pstrdup("any"), false));
	rows->hasAggs = true;
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) rows;
	sublink->location = -1;
	return (Node *) sublink;
}

Node *
gpucol_grouped_within_key(GpucolGroupedJoin *join, Node *key)
{
	Expr	   *beyond;
	Expr	   *within;
	int			rti;

	if ((!join->may_execute && join->raised_table == 0) || gpucol_harmless_expr(join->inner, (Expr *) key) == NULL ||
		!bms_get_singleton_member(pull_varnos(NULL, key), &rti) ||
		(join->may_execute && (!gpucol_subquery_can_ask(join->inner, rti) || !gpucol_subquery_may_call(F_BOOL_OR))))
		return key;
	within = gpucol_harmless_within((Expr *) key, &beyond);
	if (within == NULL || calls_forbidden((Node *) beyond, NULL))
		return key;
	if (!join->may_execute)
	{
		gpucol_raise_note(join, (Node *) within, key);
		return (Node *) within;
	}
	join->beyond = list_append_unique(join->beyond, any_row(join->inner, rti, beyond));
	return (Node *) within;
}

/* ---- aggregates ---- */

/* Arithmetic of an aggregate's, within its types; with the conditions that it is not. */
static Node *
keep_within(Node *node, List **beyond)
{
	Expr	   *test;
	Expr	   *within;

	if (node == NULL)
		return NULL;
	within = gpucol_harmless_within((Expr *) node, &test);
	if (within == NULL || calls_forbidden((Node *) test, NULL))
		return expression_tree_mutator(node, keep_within, beyond);
	*beyond = list_append_unique(*beyond, test);
	return (Node *) within;
}

Aggref *
gpucol_grouped_within_rows(GpucolGroupedJoin *join, const Aggref *agg)
{
	Aggref	   *within = (Aggref *) copyObject(agg);
	List	   *beyond = NIL;
	ListCell   *lc;

	within->args = (List *) keep_within((Node *) within->args, &beyond);
	within->aggfilter = (Expr *) keep_within((Node *) within->aggfilter, &beyond);
	foreach(lc, beyond)
	{
		Aggref	   *any = gpucol_make_aggregate(F_BOOL_OR, BOOLOID, lfirst(lc));
		TargetEntry *tle = gpucol_grouped_column(join, (Expr *) any, "beyond");

		join->beyond = list_append_unique(join->beyond, gpucol_grouped_var(join, tle, true));
	}
	return within;
}

/* ---- a value of one row ---- */

Node *
gpucol_grouped_within_value(GpucolGroupedJoin *join, Node *value)
{
	List	   *beyond = NIL;
	Node	   *within;
	int			rti;
	ListCell   *lc;

	if (!join->may_execute || !gpucol_subquery_may_call(F_BOOL_OR) ||
		gpucol_harmless_expr(join->inner, (Expr *) value) == NULL)
		return value;
	within = keep_within(value, &beyond);
	foreach(lc, beyond)
	{
		if (!bms_get_singleton_member(pull_varnos(NULL, lfirst(lc)), &rti) ||
			!gpucol_subquery_can_ask(join->inner, rti))
			return value;
	}
	foreach(lc, beyond)
	{
		(void) bms_get_singleton_member(pull_varnos(NULL, lfirst(lc)), &rti);
		join->beyond = list_append_unique(join->beyond, any_row(join->inner, rti, lfirst(lc)));
	}
	return within;
}

/* The function that gives the least value of a type, or InvalidOid. */
static Oid
min_of(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return F_MIN_INT2;
		case INT4OID:
			return F_MIN_INT4;
		case INT8OID:
			return F_MIN_INT8;
		case FLOAT4OID:
			return F_MIN_FLOAT4;
		case FLOAT8OID:
			return F_MIN_FLOAT8;
		case NUMERICOID:
			return F_MIN_NUMERIC;
		case DATEOID:
			return F_MIN_DATE;
		case TIMESTAMPOID:
			return F_MIN_TIMESTAMP;
		case TIMESTAMPTZOID:
			return F_MIN_TIMESTAMPTZ;
		case TEXTOID:
			return F_MIN_TEXT;
		default:
			return InvalidOid;
	}
}

Node *
gpucol_grouped_only(GpucolGroupedJoin *join, Node *value)
{
	Oid			type = exprType(value);
	GpucolReferences found = gpucol_subquery_references(value);
	Aggref	   *rows = gpucol_make_aggregate(F_COUNT_, INT8OID, NULL);
	OpExpr	   *several = gpucol_harmless_compare((Expr *) rows, INT8OID, BTGreaterStrategyNumber, 1);
	Aggref	   *least;

	if (!join->may_execute || join->groups == NIL || !OidIsValid(min_of(type)) ||
		!gpucol_subquery_may_call(several->opfuncid) ||
		!gpucol_subquery_may_call(F_COUNT_) || !gpucol_subquery_may_call(min_of(type)) ||
		found.outer || found.farther || checkExprHasSubLink(value))
		return NULL;
	least = gpucol_make_aggregate(min_of(type), type, (Expr *) value);
	join->inner->hasAggs = true;
	join->beyond = lappend(join->beyond,
						   gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) several, "several"), true));
	return (Node *) gpucol_grouped_var(join, gpucol_grouped_column(join, (Expr *) least, "only"), true);
}
