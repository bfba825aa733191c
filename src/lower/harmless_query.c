/*-------------------------------------------------------------------------
 *
 * harmless_query.c
 *	  Which subqueries may be computed for rows that the statement never asks for.
 *
 * A correlated subquery that becomes a join is computed for every group of its table,
 * also for those that no outer row asks for (planner/subquery.c).  An error there would
 * be one that PostgreSQL does not raise.  So every expression of it must be harmless as
 * lower/harmless.c has it, which sees one expression over one table's columns.  Here it
 * is asked about whole queries: what it does not know is checked and then hidden from it
 * behind a column (hide()):
 *
 *	  aggregates		those listed, which have no error but that of a sum of numerics
 *						of over 131,072 digits; sums of floats that are not large (harmless_floats.c)
 *	  numeric + - *		of operands of declared precision and of their sums and averages, / by
 *						a constant other than 0; COALESCE and CASE of such
 *	  int + - *			of constants, and of columns whose types are small enough (harmless_integers.c)
 *	  dates, times		plus or minus an interval, all constants of some thousand years
 *	  parameters		have values by then, but are no patterns
 *	  subqueries		EXISTS, IN, and those that give one row
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_check.h"
#include "lower/harmless_floats.h"
#include "lower/harmless_integers.h"
#include "lower/harmless_query.h"
#include "lower/harmless_values.h"
#include "lower/harmless_within.h"

static bool check_query(GpucolHarmlessCheck *c, Query *query);

static const Oid counting_aggregates[] = {F_COUNT_, F_COUNT_ANY};

static const Oid null_aggregates[] = {
	F_SUM_INT2, F_SUM_INT4, F_SUM_INT8, F_SUM_NUMERIC,
	F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC,
	F_MIN_INT2, F_MIN_INT4, F_MIN_INT8, F_MIN_OID, F_MIN_FLOAT4, F_MIN_FLOAT8,
	F_MIN_DATE, F_MIN_TIME, F_MIN_TIMETZ, F_MIN_MONEY, F_MIN_TIMESTAMP,
	F_MIN_TIMESTAMPTZ, F_MIN_INTERVAL, F_MIN_TEXT, F_MIN_NUMERIC, F_MIN_BPCHAR,
	F_MIN_ANYENUM, F_MIN_INET, F_MIN_PG_LSN, F_MIN_XID8,
	F_MAX_INT2, F_MAX_INT4, F_MAX_INT8, F_MAX_OID, F_MAX_FLOAT4, F_MAX_FLOAT8,
	F_MAX_DATE, F_MAX_TIME, F_MAX_TIMETZ, F_MAX_MONEY, F_MAX_TIMESTAMP,
	F_MAX_TIMESTAMPTZ, F_MAX_INTERVAL, F_MAX_TEXT, F_MAX_NUMERIC, F_MAX_BPCHAR,
	F_MAX_ANYENUM, F_MAX_INET, F_MAX_PG_LSN, F_MAX_XID8,
	F_BOOL_AND, F_BOOL_OR, F_EVERY,
	F_BIT_AND_INT2, F_BIT_AND_INT4, F_BIT_AND_INT8,
	F_BIT_OR_INT2, F_BIT_OR_INT4, F_BIT_OR_INT8,
	F_BIT_XOR_INT2, F_BIT_XOR_INT4, F_BIT_XOR_INT8,
	F_VAR_POP_INT2, F_VAR_POP_INT4, F_VAR_POP_INT8,
	F_VAR_SAMP_INT2, F_VAR_SAMP_INT4, F_VAR_SAMP_INT8,
	F_VARIANCE_INT2, F_VARIANCE_INT4, F_VARIANCE_INT8,
	F_STDDEV_POP_INT2, F_STDDEV_POP_INT4, F_STDDEV_POP_INT8,
	F_STDDEV_SAMP_INT2, F_STDDEV_SAMP_INT4, F_STDDEV_SAMP_INT8,
	F_STDDEV_INT2, F_STDDEV_INT4, F_STDDEV_INT8,
	/* beyond sums and squares of 131,072 digits aside */
	F_VAR_POP_NUMERIC, F_VAR_SAMP_NUMERIC, F_VARIANCE_NUMERIC,
	F_STDDEV_POP_NUMERIC, F_STDDEV_SAMP_NUMERIC, F_STDDEV_NUMERIC,
	F_AVG_FLOAT4, F_VAR_POP_FLOAT4, F_VAR_SAMP_FLOAT4, F_VARIANCE_FLOAT4,
	F_STDDEV_POP_FLOAT4, F_STDDEV_SAMP_FLOAT4, F_STDDEV_FLOAT4
};

/* What may become too large, and has whatever errors its arguments have. */
static const Oid collecting_aggregates[] = {
	F_STRING_AGG_TEXT_TEXT, F_STRING_AGG_BYTEA_BYTEA, F_ARRAY_AGG_ANYNONARRAY,
	F_JSON_AGG, F_JSONB_AGG, F_JSON_OBJECT_AGG, F_JSONB_OBJECT_AGG
};

static bool
is_listed(const Oid *oids, int n, Oid oid)
{
	for (int i = 0; i < n; i++)
	{
		if (oids[i] == oid)
			return true;
	}
	return false;
}

bool
gpucol_harmless_collects(Oid aggfnoid)
{
	return is_listed(collecting_aggregates, lengthof(collecting_aggregates), aggfnoid);
}

bool
gpucol_harmless_aggregate(Oid aggfnoid, bool *counts)
{
	*counts = is_listed(counting_aggregates, lengthof(counting_aggregates), aggfnoid);
	return *counts || is_listed(null_aggregates, lengthof(null_aggregates), aggfnoid);
}

/* Has a value of a type that needs a collation got one? */
static bool
check_collation(GpucolHarmlessCheck *c, Oid type, Oid collation)
{
	return OidIsValid(collation) || !OidIsValid(get_typcollation(type)) ||
		gpucol_lower_decline(c->l, "a comparison has no collation");
}

/* ---- expressions ---- */

/* A column of an expression's type: a value of which nothing is known. */
static Node *
some_column(Node *node)
{
	return (Node *) makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
}

static Node *
hidden(GpucolHarmlessCheck *c, Node *node, bool ok)
{
	c->failed |= !ok;
	return some_column(node);
}

/* All of a list of expressions. */
static bool
check_list(GpucolHarmlessCheck *c, List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (lfirst(lc) != NULL && !gpucol_harmless_check_expr(c, lfirst(lc)))
			return false;
	}
	return true;
}

/* How values of a type are compared to find equal ones, or an order; one that needs a collation has it. */
static bool
check_comparison(GpucolHarmlessCheck *c, const SortGroupClause *clause, Oid type, Oid collation)
{
	if (!gpucol_harmless_comparison(get_opcode(clause->eqop), type) ||
		(OidIsValid(clause->sortop) && !gpucol_harmless_comparison(get_opcode(clause->sortop), type)))
		return gpucol_lower_decline(c->l, "the order of type %s is not known to be free of errors",
									format_type_be(type));
	return check_collation(c, type, collation);
}

/* Columns that are compared. */
static bool
check_sort(GpucolHarmlessCheck *c, List *clauses, List *tlist)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Node	   *expr = get_sortgroupclause_expr(clause, tlist);

		if (!check_comparison(c, clause, exprType(expr), exprCollation(expr)))
			return false;
	}
	return true;
}

bool
gpucol_harmless_ordered(const Aggref *agg)
{
	const Const *share = list_length(agg->aggdirectargs) != 1 ? NULL :
		(const Const *) eval_const_expressions(NULL, copyObject(linitial(agg->aggdirectargs)));

	switch (agg->aggkind == AGGKIND_ORDERED_SET ? agg->aggfnoid : InvalidOid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
			return IsA(share, Const) && (share->constisnull || (DatumGetFloat8(share->constvalue) >= 0 &&
																DatumGetFloat8(share->constvalue) <= 1));
		case F_MODE:
			return true;
		default:
			return false;
	}
}

bool
gpucol_harmless_check_aggregate(GpucolHarmlessCheck *c, const Aggref *agg)
{
	bool		counts;
	ListCell   *lc;

	if (c->collects && c->depth == 1 && agg->agglevelsup == 0 && gpucol_harmless_collects(agg->aggfnoid))
		return !checkExprHasSubLink((Node *) agg) ||
			gpucol_lower_decline(c->l, "aggregate %s has a subquery in it", get_func_name(agg->aggfnoid));
	if (gpucol_harmless_ordered(agg) ? !check_sort(c, agg->aggorder, agg->args) || agg->agglevelsup != 0 :
		(!gpucol_harmless_aggregate(agg->aggfnoid, &counts) && !gpucol_harmless_floats_is_within(agg)) ||
		agg->aggkind != AGGKIND_NORMAL || agg->aggorder != NIL || agg->agglevelsup != 0)
		return gpucol_lower_decline(c->l, "aggregate %s is not known to be free of errors",
									get_func_name(agg->aggfnoid));
	foreach(lc, agg->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!check_collation(c, exprType((Node *) tle->expr), exprCollation((Node *) tle->expr)) ||
			!gpucol_harmless_check_expr(c, (Node *) tle->expr))
			return false;
	}
	return check_sort(c, agg->aggdistinct, agg->args) &&
		(agg->aggfilter == NULL || gpucol_harmless_check_expr(c, (Node *) agg->aggfilter));
}

/* Does a query give exactly one row? */
static bool
is_single_row(const Query *query)
{
	return query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->setOperations == NULL && query->limitCount == NULL &&
		query->limitOffset == NULL && !query->hasTargetSRFs;
}

/* Functions that number the rows of a partition, or take a column of another row, and aggregates. */
static bool
check_window_function(GpucolHarmlessCheck *c, const WindowFunc *func)
{
	static const Oid harmless[] = {
		F_ROW_NUMBER, F_RANK_, F_DENSE_RANK_, F_LAG_ANYELEMENT, F_LEAD_ANYELEMENT,
		F_FIRST_VALUE, F_LAST_VALUE
	};

	bool		counts;

	if ((!is_listed(harmless, lengthof(harmless), func->winfnoid) &&
		 !gpucol_harmless_aggregate(func->winfnoid, &counts)) || func->aggfilter != NULL)
		return gpucol_lower_decline(c->l, "it has a window function");
	return check_list(c, func->args) &&
		(func->args == NIL || check_collation(c, func->wintype, func->inputcollid));
}

/* The partitions, orders and frames of window functions. */
static bool
check_windows(GpucolHarmlessCheck *c, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->windowClause)
	{
		WindowClause *clause = lfirst_node(WindowClause, lc);

		if (clause->startOffset != NULL || clause->endOffset != NULL)
			return gpucol_lower_decline(c->l, "the frame of a window function has an offset");
		if (!check_sort(c, clause->partitionClause, query->targetList) ||
			!check_sort(c, clause->orderClause, query->targetList))
			return false;
	}
	return true;
}

static bool
check_sublink(GpucolHarmlessCheck *c, const SubLink *sublink)
{
	Query	   *query = castNode(Query, sublink->subselect);

	if (sublink->subLinkType != EXISTS_SUBLINK && sublink->subLinkType != ANY_SUBLINK &&
		sublink->subLinkType != ALL_SUBLINK &&
		(sublink->subLinkType != EXPR_SUBLINK || !is_single_row(query)))
		return gpucol_lower_decline(c->l, "a subquery in it may return several rows");
	return (sublink->testexpr == NULL || gpucol_harmless_check_expr(c, sublink->testexpr)) &&
		check_query(c, query);
}

/*
 * A second argument that is computed of constants, hidden: harmless.c would ask for its
 * value, which is not to be had here, and takes a pattern that it cannot see for a good one.
 */
static void
hide_pattern(GpucolHarmlessCheck *c, List *args)
{
	Node	   *second;

	if (list_length(args) < 2)
		return;
	second = lsecond(args);
	if (IsA(second, Const) || contain_var_clause(second))
		return;
	lsecond(args) = hidden(c, second, gpucol_harmless_condition(c->l, (Expr *) second));
}

/* Check what harmless.c does not know, and put a column in its place. */
static Node *
hide(Node *node, GpucolHarmlessCheck *c)
{
	Node	   *result;
	int64		value;

	if (node == NULL || c->failed)
		return node;
	result = IsA(node, CaseExpr) ? gpucol_harmless_within_test((CaseExpr *) node) : NULL;
	if (result != NULL)
		return hidden(c, node, gpucol_harmless_check_expr(c, result));
	switch (nodeTag(node))
	{
		case T_Var:
			return hidden(c, node, gpucol_harmless_check_column(c, (Var *) node));
		case T_Param:
			return hidden(c, node, ((Param *) node)->paramkind == PARAM_EXTERN ||
						  ((Param *) node)->paramkind == PARAM_SUBLINK ||
						  gpucol_lower_decline(c->l, "it has a parameter of its own"));
		case T_SQLValueFunction:
			return some_column(node);
		case T_Aggref:
			return hidden(c, node, gpucol_harmless_check_aggregate(c, (Aggref *) node));
		case T_WindowFunc:
			return hidden(c, node, check_window_function(c, (const WindowFunc *) node));
		case T_SubLink:
			return hidden(c, node, check_sublink(c, (SubLink *) node));
		case T_ArrayExpr:
			return hidden(c, node, check_list(c, ((ArrayExpr *) node)->elements));
		case T_CaseExpr:
		case T_NullIfExpr:
			if (gpucol_harmless_digits(c, node) >= 0)
				return some_column(node);
			break;
		case T_OpExpr:
		case T_FuncExpr:
			if (gpucol_harmless_constant_integer(node, &value) || gpucol_harmless_is_near_time(c, node, 0) ||
				gpucol_harmless_digits(c, node) >= 0 || gpucol_harmless_is_near_float(c, node))
				return some_column(node);
			if (gpucol_harmless_integers(node) || gpucol_harmless_floats_stay(node))
				return hidden(c, node, check_list(c, pull_var_clause(node, 0)));
			break;
		default:
			break;
	}
	result = expression_tree_mutator(node, hide, c);
	if (IsA(result, OpExpr))
		hide_pattern(c, ((OpExpr *) result)->args);
	else if (IsA(result, FuncExpr))
		hide_pattern(c, ((FuncExpr *) result)->args);
	else if (IsA(result, ScalarArrayOpExpr))
		hide_pattern(c, ((ScalarArrayOpExpr *) result)->args);
	return result;
}

bool
gpucol_harmless_check_expr(GpucolHarmlessCheck *c, Node *expr)
{
	Node	   *shown;

	check_stack_depth();
	shown = hide(expr, c);
	return !c->failed && gpucol_harmless_condition(c->l, (Expr *) shown);
}

/* ---- queries ---- */

static bool
check_values(GpucolHarmlessCheck *c, List *values_lists)
{
	ListCell   *lc;

	foreach(lc, values_lists)
	{
		if (!check_list(c, lfirst_node(List, lc)))
			return false;
	}
	return true;
}

CommonTableExpr *
gpucol_harmless_find_cte(const Query *query, const char *name)
{
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		if (strcmp(lfirst_node(CommonTableExpr, lc)->ctename, name) == 0)
			return lfirst(lc);
	}
	return NULL;
}

/*
 * Does a query read a WITH query and nothing else, to its end?  What subqueries read of it is computed in any case.
 */
static bool
reads_whole(const Query *query, const CommonTableExpr *cte)
{
	const Node *node = list_length(query->jointree->fromlist) != 1 ? NULL : linitial(query->jointree->fromlist);
	const RangeTblEntry *rte;

	/* subqueries are joined to it */
	while (node != NULL && IsA(node, JoinExpr) && ((const JoinExpr *) node)->jointype == JOIN_LEFT)
		node = ((const JoinExpr *) node)->larg;
	rte = node == NULL || !IsA(node, RangeTblRef) ? NULL :
		rt_fetch(((const RangeTblRef *) node)->rtindex, query->rtable);
	return rte != NULL && rte->rtekind == RTE_CTE && rte->ctelevelsup == 0 && strcmp(rte->ctename, cte->ctename) == 0 &&
		(query->limitCount == NULL || query->sortClause != NIL || query->hasAggs || query->groupClause != NIL);
}

/* A WITH query of the query around, which is computed for all that read it. */
static bool
check_cte_around(GpucolHarmlessCheck *c, const RangeTblEntry *rte)
{
	CommonTableExpr *cte = (int) rte->ctelevelsup == c->depth && c->around != NULL ?
		gpucol_harmless_find_cte(c->around, rte->ctename) : NULL;
	int			depth = c->depth;
	bool		ok;

	if (c->known != NULL && (int) rte->ctelevelsup == c->depth + c->known_up && strcmp(rte->ctename, c->known) == 0)
		return true;
	if (cte == NULL || contain_volatile_functions(cte->ctequery))
		return gpucol_lower_decline(c->l, "it reads a WITH query of the statement");
	c->depth = 0;
	ok = !cte->cterecursive && (reads_whole(c->around, cte) || check_query(c, castNode(Query, cte->ctequery)));
	c->depth = depth;
	return ok || gpucol_lower_decline(c->l, "it reads a WITH query that may raise an error");
}

static bool
check_rte(GpucolHarmlessCheck *c, RangeTblEntry *rte)
{
	if (!check_list(c, rte->securityQuals))
		return false;
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return rte->tablesample == NULL || gpucol_lower_decline(c->l, "it has TABLESAMPLE");
		case RTE_SUBQUERY:
			return check_query(c, rte->subquery);
		case RTE_VALUES:
			return check_values(c, rte->values_lists);
		case RTE_CTE:
			/* one of this query's own has been checked */
			return (int) rte->ctelevelsup < c->depth || check_cte_around(c, rte);
		case RTE_JOIN:
		case RTE_RESULT:
			return true;
		default:
			if (gpucol_compat_rte_is_group(rte))
				return check_list(c, gpucol_compat_rte_group_exprs(rte));
			return gpucol_lower_decline(c->l, "it reads rows of a function");
	}
}

/* Conditions of a FROM clause. */
static bool
check_jointree(GpucolHarmlessCheck *c, Node *node)
{
	ListCell   *lc;

	check_stack_depth();
	if (node == NULL || IsA(node, RangeTblRef))
		return true;
	if (IsA(node, JoinExpr))
		return check_jointree(c, ((JoinExpr *) node)->larg) &&
			check_jointree(c, ((JoinExpr *) node)->rarg) &&
			(((JoinExpr *) node)->quals == NULL || gpucol_harmless_check_expr(c, ((JoinExpr *) node)->quals));
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		if (!check_jointree(c, lfirst(lc)))
			return false;
	}
	return ((FromExpr *) node)->quals == NULL || gpucol_harmless_check_expr(c, ((FromExpr *) node)->quals);
}

/* Set operations: UNION ALL compares nothing. */
static bool
check_operations(GpucolHarmlessCheck *c, Node *node)
{
	const SetOperationStmt *operation = (SetOperationStmt *) node;
	ListCell   *lc;

	check_stack_depth();
	if (node == NULL || IsA(node, RangeTblRef))
		return true;
	foreach(lc, operation->groupClauses)
	{
		int			column = foreach_current_index(lc);

		if (!check_comparison(c, lfirst(lc), list_nth_oid(operation->colTypes, column),
							  list_nth_oid(operation->colCollations, column)))
			return false;
	}
	return check_operations(c, operation->larg) && check_operations(c, operation->rarg);
}

/* Is a LIMIT a constant that is no error? */
static bool
is_good_limit(Node *limit)
{
	const Const *value = (Const *) limit;

	return limit == NULL ||
		(IsA(limit, Const) && (value->constisnull || DatumGetInt64(value->constvalue) >= 0));
}

static bool
check_kind(GpucolHarmlessCheck *c, const Query *query)
{
	if (query->commandType != CMD_SELECT || query->rowMarks != NIL || query->hasModifyingCTE)
		return gpucol_lower_decline(c->l, "it changes or locks rows");
	if (query->hasTargetSRFs)
		return gpucol_lower_decline(c->l, "it has a set-returning function");
	if (query->groupingSets != NIL)
		return gpucol_lower_decline(c->l, "it has grouping sets");
	return (is_good_limit(query->limitCount) && is_good_limit(query->limitOffset)) ||
		gpucol_lower_decline(c->l, "its LIMIT is not constant");
}

/* What a query reads. */
static bool
check_tables(GpucolHarmlessCheck *c, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (cte->cterecursive)
			return gpucol_lower_decline(c->l, "it is recursive");
		if (!check_query(c, castNode(Query, cte->ctequery)))
			return false;
	}
	foreach(lc, query->rtable)
	{
		if (!check_rte(c, lfirst_node(RangeTblEntry, lc)))
			return false;
	}
	return true;
}

/* What it makes of that. */
static bool
check_clauses(GpucolHarmlessCheck *c, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!gpucol_harmless_check_expr(c, (Node *) lfirst_node(TargetEntry, lc)->expr))
			return false;
	}
	return check_operations(c, query->setOperations) && check_jointree(c, (Node *) query->jointree) &&
		(query->havingQual == NULL || gpucol_harmless_check_expr(c, query->havingQual)) &&
		check_windows(c, query) &&
		check_sort(c, query->groupClause, query->targetList) &&
		check_sort(c, query->distinctClause, query->targetList) &&
		check_sort(c, query->sortClause, query->targetList);
}

static bool
check_query(GpucolHarmlessCheck *c, Query *query)
{
	Query	   *level = c->level;
	Query	   *scope = c->scope;
	bool		ok;

	check_stack_depth();
	c->level = NULL;
	c->scope = query;
	c->depth++;
	ok = check_kind(c, query) && check_tables(c, query) && check_clauses(c, query);
	c->depth--;
	c->level = level;
	c->scope = scope;
	return ok;
}

/* Why a check failed. */
static const char *
reason_of(const GpucolHarmlessCheck *c)
{
	return c->l->reason != NULL ? c->l->reason : "it may raise an error";
}

const char *
gpucol_harmless_query(Query *query, Query *around, bool collects)
{
	GpucolHarmlessCheck c = {.l = gpucol_lower_begin(CreateTemplateTupleDesc(1), 1, NULL),.around = around,
	.collects = collects};

	return check_query(&c, query) ? NULL : reason_of(&c);
}

const char *
gpucol_harmless_reader(Query *query, const char *cte, int up)
{
	GpucolHarmlessCheck c = {.l = gpucol_lower_begin(CreateTemplateTupleDesc(1), 1, NULL),.known = cte,.known_up = up};

	return check_query(&c, query) ? NULL : reason_of(&c);
}

const char *
gpucol_harmless_expr(Query *query, Expr *expr)
{
	GpucolHarmlessCheck c = {.l = gpucol_lower_begin(CreateTemplateTupleDesc(1), 1, NULL),.scope = query};

	return gpucol_harmless_check_expr(&c, (Node *) expr) ? NULL : reason_of(&c);
}

/* ---- columns of the query around ---- */

/* Column `attno` of a subquery that PostgreSQL may merge with the query around. */
static bool
check_subquery_column(GpucolHarmlessCheck *c, Query *query, AttrNumber attno)
{
	Query	   *level = c->level;
	Query	   *scope = c->scope;
	bool		ok = true;
	ListCell   *lc;

	if (query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		query->havingQual != NULL || query->hasWindowFuncs || query->distinctClause != NIL ||
		query->limitCount != NULL || query->limitOffset != NULL || query->hasTargetSRFs)
		return true;			/* computed there in any case */
	if (query->setOperations == NULL)
	{
		c->level = c->scope = query;
		ok = gpucol_harmless_check_expr(c, (Node *) get_tle_by_resno(query->targetList, attno)->expr);
		c->level = level;
		c->scope = scope;
		return ok;
	}
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		ok = ok && rte->rtekind == RTE_SUBQUERY && check_subquery_column(c, rte->subquery, attno);
	}
	return ok;
}

/* Column `attno` of a WITH query, which PostgreSQL may merge likewise. */
static bool
check_cte_column(GpucolHarmlessCheck *c, const RangeTblEntry *rte, AttrNumber attno)
{
	CommonTableExpr *cte = rte->ctelevelsup == 0 ?
		gpucol_harmless_find_cte(c->level, rte->ctename) : NULL;

	/* rows that the round before has found are kept */
	if (rte->self_reference)
		return true;
	return cte != NULL &&
		(cte->cterecursive || castNode(Query, cte->ctequery)->commandType != CMD_SELECT ||
		 check_subquery_column(c, castNode(Query, cte->ctequery), attno));
}

/* Are they rows of functions that PostgreSQL does not replace by their bodies? */
static bool
are_plain_functions(const RangeTblEntry *rte)
{
	static const Oid plain[] = {
		F_GENERATE_SERIES_INT4_INT4, F_GENERATE_SERIES_INT4_INT4_INT4,
		F_GENERATE_SERIES_INT8_INT8, F_GENERATE_SERIES_INT8_INT8_INT8,
		F_GENERATE_SERIES_NUMERIC_NUMERIC, F_GENERATE_SERIES_NUMERIC_NUMERIC_NUMERIC,
		F_GENERATE_SERIES_TIMESTAMP_TIMESTAMP_INTERVAL,
		F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL, F_UNNEST_ANYARRAY
	};
	ListCell   *lc;

	foreach(lc, rte->functions)
	{
		const FuncExpr *func = (FuncExpr *) lfirst_node(RangeTblFunction, lc)->funcexpr;

		if (!IsA(func, FuncExpr) || !is_listed(plain, lengthof(plain), func->funcid))
			return false;
	}
	return true;
}

/* Is the value of a column there without computing anything that may raise an error? */
bool
gpucol_harmless_check_column(GpucolHarmlessCheck *c, const Var *var)
{
	RangeTblEntry *rte;

	check_stack_depth();
	if (c->level == NULL)
		return true;
	if (var->varlevelsup == 0 && var->varattno != 0)
	{
		rte = rt_fetch(var->varno, c->level->rtable);
		if (rte->rtekind == RTE_RELATION ||
			(rte->rtekind == RTE_FUNCTION && are_plain_functions(rte)) ||
			(rte->rtekind == RTE_VALUES && check_values(c, rte->values_lists)) ||
			(rte->rtekind == RTE_CTE && check_cte_column(c, rte, var->varattno)))
			return true;
		if (rte->rtekind == RTE_JOIN)
			return gpucol_harmless_check_expr(c, list_nth(rte->joinaliasvars, var->varattno - 1));
		if (rte->rtekind == RTE_SUBQUERY)
			return check_subquery_column(c, rte->subquery, var->varattno);
	}
	return gpucol_lower_decline(c->l, "it is correlated with more than columns of tables");
}

const char *
gpucol_harmless_column(Query *level, Expr *expr)
{
	GpucolLower *l = gpucol_lower_begin(CreateTemplateTupleDesc(1), 1, NULL);
	GpucolHarmlessCheck c = {.l = l,.level = level,.scope = level};

	return gpucol_harmless_check_expr(&c, (Node *) expr) ? NULL : reason_of(&c);
}
