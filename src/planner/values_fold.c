/*-------------------------------------------------------------------------
 *
 * values_fold.c
 *	  Aggregates over the columns of a row, which VALUES or unnest() of an array make rows of, are expressions.
 *
 *		(SELECT max(v) FROM (VALUES (t.a), (t.b), (t.c)) AS x(v))
 *	->	GREATEST(t.c, t.b, t.a)
 *
 * PostgreSQL executes such a subquery for each row, and an engine none.  The expression an engine computes with the
 * rest of the row.  GREATEST leaves NULLs out, as aggregates do; of equal values that differ (1.5 and 1.50, 0 and -0)
 * it takes the first, min and max the last, so its arguments are in the other order.  A sum adds what is not NULL, if
 * anything is; an average divides it by how many there are.  Conditions on rows, and FILTER, choose a value or NULL.
 *
 * Behind LATERAL the subquery stays one, without FROM, which PostgreSQL makes a part of the query around.
 *
 * Values are computed as often as the expression has them, so nothing volatile is; sums of floats, whose zeros have
 * signs, and types whose ties are settled otherwise (char(n), arrays) are left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "columnar/am.h"
#include "guc.h"
#include "plan/make.h"
#include "planner/planner.h"
#include "planner/set_operations.h"
#include "planner/subquery.h"

/* More rows than these are left to PostgreSQL. */
#define MOST_ROWS	32

typedef enum FoldKind
{
	FOLD_LEAST,
	FOLD_GREATEST,
	FOLD_COUNT,
	FOLD_SUM,
	FOLD_AVERAGE,
	FOLD_OR,
	FOLD_AND
} FoldKind;

#define EXTREMES(type) \
	{F_MIN_##type, FOLD_LEAST, InvalidOid}, \
	{F_MAX_##type, FOLD_GREATEST, InvalidOid}

/* The aggregates that are folded; those of numbers add values as this type. */
static const struct
{
	Oid			aggregate;
	FoldKind	kind;
	Oid			type;
}			folds[] = {
	EXTREMES(INT2),
	EXTREMES(INT4),
	EXTREMES(INT8),
	EXTREMES(FLOAT4),
	EXTREMES(FLOAT8),
	EXTREMES(NUMERIC),
	EXTREMES(DATE),
	EXTREMES(TIME),
	EXTREMES(TIMESTAMP),
	EXTREMES(TIMESTAMPTZ),
	EXTREMES(TEXT),
	{F_COUNT_, FOLD_COUNT, INT8OID},
	{F_COUNT_ANY, FOLD_COUNT, INT8OID},
	{F_SUM_INT2, FOLD_SUM, INT8OID},
	{F_SUM_INT4, FOLD_SUM, INT8OID},
	{F_SUM_INT8, FOLD_SUM, NUMERICOID},
	{F_SUM_NUMERIC, FOLD_SUM, NUMERICOID},
	{F_AVG_INT2, FOLD_AVERAGE, INT8OID},
	{F_AVG_INT4, FOLD_AVERAGE, INT8OID},
	{F_AVG_INT8, FOLD_AVERAGE, NUMERICOID},
	{F_AVG_NUMERIC, FOLD_AVERAGE, NUMERICOID},
	{F_BOOL_OR, FOLD_OR, BOOLOID},
	{F_BOOL_AND, FOLD_AND, BOOLOID},
	{F_EVERY, FOLD_AND, BOOLOID},
};

/* One query while it is folded, and a row of it. */
typedef struct Folding
{
	Query	   *query;
	List	   *rows;			/* as List of Expr each */
	const List *row;
	bool		failed;
} Folding;

/* ---- pieces ---- */

/* Nothing, as a value of a type. */
static Expr *
zero_of(Oid type)
{
	if (type == INT8OID)
		return gpucol_make_int8(0);
	return (Expr *) makeConst(NUMERICOID, -1, InvalidOid, -1, DirectFunctionCall1(int8_numeric, Int64GetDatum(0)),
							  false, false);
}

/* A number as one of the type that a sum has: int8 or numeric. */
static Expr *
as_type(Expr *value, Oid type)
{
	Oid			from = exprType((Node *) value);
	Oid			cast = from == INT2OID ? F_INT8_INT2 : from == INT4OID ? F_INT8_INT4 : F_NUMERIC_INT8;

	return from == type ? value :
		(Expr *) makeFuncExpr(cast, type, list_make1(value), InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST);
}

/* An operation on two values of one type. */
static Expr *
operate(const char *name, Oid type, Expr *a, Expr *b)
{
	Oid			oper = OpernameGetOprid(list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup(name))),
										type, type);
	Expr	   *expr = make_opclause(oper, type, false, a, b, InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) expr);
	return expr;
}

/* What all values are added up to. */
static Expr *
add_up(List *values, Oid type)
{
	Expr	   *sum = linitial(values);
	ListCell   *lc;

	for_each_from(lc, values, 1)
		sum = operate("+", type, sum, lfirst(lc));
	return sum;
}

/* A result where any value is not NULL, else NULL. */
static Expr *
unless_null(const List *values, Expr *result)
{
	CoalesceExpr *any = makeNode(CoalesceExpr);
	Node	   *first = linitial(values);
	Expr	   *null = (Expr *) makeNullConst(exprType((Node *) result), -1, InvalidOid);

	any->coalescetype = exprType(first);
	any->coalescecollid = exprCollation(first);
	any->args = copyObject(unconstify(List *, values));
	any->location = -1;
	return gpucol_make_choice(gpucol_make_null_test((Expr *) any, IS_NOT_NULL), result, null);
}

/* ---- a row's value ---- */

/* Put the row's values in the place of columns. */
static Node *
fill_in(Node *node, Folding *f)
{
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varlevelsup == 0)
	{
		if (var->varattno > 0 && var->varattno <= list_length(f->row))
			return copyObject(list_nth(f->row, var->varattno - 1));
		f->failed = true;
	}
	return expression_tree_mutator(node, fill_in, f);
}

/* The condition under which a row counts for an aggregate, or NULL. */
static Expr *
row_condition(Folding *f, const Aggref *agg)
{
	List	   *conditions = NIL;

	if (f->query->jointree->quals != NULL)
		conditions = lappend(conditions, fill_in(f->query->jointree->quals, f));
	if (agg->aggfilter != NULL)
		conditions = lappend(conditions, fill_in((Node *) agg->aggfilter, f));
	return conditions == NIL ? NULL : make_ands_explicit(conditions);
}

/* What a row brings to an aggregate: its argument, or NULL where the row does not count. */
static Expr *
row_value(Folding *f, const Aggref *agg)
{
	Expr	   *condition = row_condition(f, agg);
	Expr	   *value = agg->args == NIL ? gpucol_make_int8(1) :
		(Expr *) fill_in((Node *) linitial_node(TargetEntry, agg->args)->expr, f);
	Node	   *node = (Node *) value;

	return condition == NULL ? value :
		gpucol_make_choice(condition, value, (Expr *) makeNullConst(exprType(node), -1, exprCollation(node)));
}

/* The values of all rows, the last one first. */
static List *
row_values(Folding *f, const Aggref *agg)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, f->rows)
	{
		f->row = lfirst(lc);
		values = lcons(row_value(f, agg), values);
	}
	return values;
}

/* ---- aggregates ---- */

static Expr *
fold_extreme(const Aggref *agg, MinMaxOp op, List *values)
{
	MinMaxExpr *expr = makeNode(MinMaxExpr);

	expr->minmaxtype = agg->aggtype;
	expr->minmaxcollid = agg->aggcollid;
	expr->inputcollid = agg->inputcollid;
	expr->op = op;
	expr->args = values;
	expr->location = -1;
	return (Expr *) expr;
}

static Expr *
fold_count(const List *values)
{
	List	   *ones = NIL;
	ListCell   *lc;

	foreach(lc, values)
		ones = lappend(ones, gpucol_make_choice(gpucol_make_null_test(copyObject(lfirst(lc)), IS_NOT_NULL),
												gpucol_make_int8(1), gpucol_make_int8(0)));
	return add_up(ones, INT8OID);
}

static Expr *
fold_sum(const List *values, Oid type)
{
	List	   *terms = NIL;
	ListCell   *lc;

	foreach(lc, values)
		terms = lappend(terms, gpucol_make_coalesce(as_type(copyObject(lfirst(lc)), type), (Const *) zero_of(type)));
	return unless_null(values, add_up(terms, type));
}

/* Is one of the values true (false)? */
static Expr *
fold_test(const List *values, bool wanted)
{
	List	   *tests = NIL;
	ListCell   *lc;

	foreach(lc, values)
	{
		BooleanTest *test = makeNode(BooleanTest);

		test->arg = copyObject(lfirst(lc));
		test->booltesttype = wanted ? IS_TRUE : IS_FALSE;
		test->location = -1;
		tests = lappend(tests, test);
	}
	return unless_null(values, wanted ? make_orclause(tests) : make_notclause(make_orclause(tests)));
}

/* An aggregate as an expression, or NULL. */
static Expr *
fold_aggregate(Folding *f, const Aggref *agg)
{
	List	   *values;
	int			i = 0;

	while (i < (int) lengthof(folds) && folds[i].aggregate != agg->aggfnoid)
		i++;
	if (i == (int) lengthof(folds) || agg->aggdistinct != NIL || agg->aggorder != NIL ||
		!gpucol_subquery_may_call(agg->aggfnoid))
		return NULL;
	values = row_values(f, agg);
	switch (folds[i].kind)
	{
		case FOLD_LEAST:
			return fold_extreme(agg, IS_LEAST, values);
		case FOLD_GREATEST:
			return fold_extreme(agg, IS_GREATEST, values);
		case FOLD_COUNT:
			return fold_count(values);
		case FOLD_SUM:
			return fold_sum(values, folds[i].type);
		case FOLD_AVERAGE:
			return operate("/", NUMERICOID, as_type(fold_sum(values, folds[i].type), NUMERICOID),
						   as_type(fold_count(values), NUMERICOID));
		case FOLD_OR:
			return fold_test(values, true);
		case FOLD_AND:
			return fold_test(values, false);
	}
	return NULL;
}

/* Have expressions take the place of aggregates. */
static Node *
fold_aggregates(Node *node, Folding *f)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		Expr	   *expr = fold_aggregate(f, (Aggref *) node);

		f->failed |= expr == NULL;
		return (Node *) expr;
	}
	f->failed |= IsA(node, Var) && ((Var *) node)->varlevelsup == 0;
	return expression_tree_mutator(node, fold_aggregates, f);
}

/* ---- queries ---- */

/* Is a query one row of aggregates over one thing in FROM? */
static bool
is_one_row(const Query *query)
{
	return query->commandType == CMD_SELECT && query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasSubLinks && query->cteList == NIL && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitCount == NULL && query->limitOffset == NULL && query->setOperations == NULL &&
		query->rowMarks == NIL && list_length(query->rtable) == 1 && list_length(query->jointree->fromlist) == 1;
}

/* Have a query compute its row without FROM, if it can. */
static bool
fold_query(Query *query)
{
	Folding		f = {.query = query};
	List	   *targets;

	if (!is_one_row(query))
		return false;
	f.rows = gpucol_values_rows(linitial(query->rtable));
	if (f.rows == NIL || list_length(f.rows) > MOST_ROWS || contain_volatile_functions((Node *) query) ||
		expression_returns_set((Node *) f.rows) || contain_subplans((Node *) f.rows))
		return false;
	targets = (List *) fold_aggregates((Node *) query->targetList, &f);
	if (f.failed || contain_vars_of_level((Node *) targets, 0))
		return false;
	query->targetList = targets;
	query->rtable = NIL;
	query->jointree = makeFromExpr(NIL, NULL);
	query->hasAggs = false;
	return true;
}

/* Fold the queries in a statement; those that are values of rows become these. */
static Node *
fold(Node *node, List **folded)
{
	SubLink    *sublink;
	Query	   *query;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, Query))
	{
		query = query_tree_mutator((Query *) node, fold, folded, 0);
		if (fold_query(query))
			*folded = lappend(*folded, query);
		return (Node *) query;
	}
	node = expression_tree_mutator(node, fold, folded);
	sublink = (SubLink *) node;
	if (IsA(node, SubLink) && sublink->subLinkType == EXPR_SUBLINK && list_member_ptr(*folded, sublink->subselect))
	{
		node = (Node *) linitial_node(TargetEntry, ((Query *) sublink->subselect)->targetList)->expr;
		IncrementVarSublevelsUp(node, -1, 1);
	}
	return node;
}

/* Does a statement have a query that may be folded, and a table of ours? */
typedef struct Search
{
	bool		query;
	bool		table;
} Search;

static bool
search(Node *node, Search *s)
{
	const RangeTblEntry *rte = (const RangeTblEntry *) node;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		s->table |= rte->rtekind == RTE_RELATION && gpucol_am_is_gpucol(rte->relid);
		return s->query && s->table;
	}
	if (!IsA(node, Query))
		return expression_tree_walker(node, search, s);
	check_stack_depth();
	if (is_one_row((const Query *) node))
		s->query |= gpucol_values_rows(linitial(((const Query *) node)->rtable)) != NIL;
	return (s->query && s->table) || query_tree_walker((Query *) node, search, s, QTW_EXAMINE_RTES_BEFORE);
}

Query *
gpucol_values_fold(Query *parse)
{
	Search		s = {false, false};
	List	   *folded = NIL;

	if (gpucol_planner_disabled() != NULL || !gpucol_enable_agg || !search((Node *) parse, &s))
		return parse;
	return (Query *) fold((Node *) copyObject(parse), &folded);
}
