/*-------------------------------------------------------------------------
 *
 * subquery_not_in.c
 *	  IN and NOT IN become EXISTS and NOT EXISTS.
 *
 * PostgreSQL makes an anti join of NOT EXISTS, but executes a NOT IN apart, because a
 * NULL on either side makes it NULL rather than true:
 *
 *		a.x NOT IN (SELECT y FROM b WHERE ...)
 *	->	NOT EXISTS (SELECT FROM b WHERE ... AND a.x = y)
 *
 * is right where neither side can be NULL: columns with a constraint that an outer join
 * does not pad, counts, and what a condition beside it excludes NULLs of.
 *
 * Of a subquery over one table that does not refer to the query around it NULLs are asked for apart,
 *
 *	->	NOT EXISTS (SELECT FROM b WHERE ... AND a.x = y)
 *		AND NOT (a.x IS NULL AND EXISTS (SELECT FROM b WHERE ...))
 *		AND NOT EXISTS (SELECT FROM b WHERE ... AND y IS NULL)
 *
 * An IN whose subquery is correlated becomes EXISTS likewise, of which PostgreSQL makes a
 * semi join; NULL is as good as false there.
 *
 * An IN below OR, CASE and the like, which is no join (subquery_test.c), becomes
 *
 *		EXISTS (SELECT FROM b WHERE ... AND a.x = y)
 *		OR NULL AND (SELECT a.x IS NULL AND 0 < count(*) OR count(y) < count(*)
 *					 FROM b WHERE ...)
 *
 * of which the second line is left out where NULL is as good as false, and each part of it
 * where its side cannot be NULL.  Of several columns it asks, for each way in which every column
 * is NULL on a side or equal, whether there is such a row:
 *
 *		NULL AND (a.x IS NULL AND EXISTS (SELECT FROM b WHERE ... AND a.v = w)
 *				  OR EXISTS (SELECT FROM b WHERE ... AND y IS NULL AND a.v = w) OR ...)
 *
 * Comparisons that order ask for the greatest or the least of the values,
 *
 *		a.x < ANY (SELECT y FROM b WHERE ...)
 *	->	a.x < (SELECT max(y) FROM b WHERE ...)
 *
 * which is NULL, not true, of no values, and where one is NULL it does not matter.  Where NULL
 * and false differ it is IS TRUE, or NULL as above.  <> ANY asks for both.  So does EXISTS with one
 * such comparison among its conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "lower/harmless_within.h"
#include "plan/make.h"
#include "plan/reason.h"
#include "planner/subquery.h"

/* A query that consists of more than these is not asked for several things. */
#define MAX_REPEATED	5

/* NOT IN of more columns, or with more ways in which rows may be equal, stays. */
#define MAX_COLUMNS		4
#define MAX_POSSIBLE	8

/* ---- what is never NULL ---- */

bool
gpucol_subquery_column_never_null(const RangeTblEntry *rte, AttrNumber attno)
{
	Relation	rel;
	bool		result;
	char		relkind = get_rel_relkind(rte->relid);
	ListCell   *lc;

	if (attno <= 0)
		return false;
	if (relkind == RELKIND_PARTITIONED_TABLE)
	{
		/* partitions have its constraints, but nobody checks those of foreign tables */
		foreach(lc, find_all_inheritors(rte->relid, NoLock, NULL))
		{
			if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
				return false;
		}
	}
	else if (relkind != RELKIND_RELATION || (rte->inh && has_subclass(rte->relid)))
		return false;
	rel = table_open(rte->relid, NoLock);
	result = gpucol_compat_never_null(RelationGetDescr(rel), attno - 1);
	table_close(rel, NoLock);
	return result;
}

bool
gpucol_subquery_is_padded(Node *node, int varno, bool padded)
{
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return padded && ((RangeTblRef *) node)->rtindex == varno;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;
		bool		left = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
		bool		right = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;

		return gpucol_subquery_is_padded(join->larg, varno, padded || left) ||
			gpucol_subquery_is_padded(join->rarg, varno, padded || right);
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		if (gpucol_subquery_is_padded(lfirst(lc), varno, padded))
			return true;
	}
	return false;
}

/* Does a condition of WHERE or HAVING exclude the rows that have NULL for an expression? */
static bool
excludes_null(Query *query, Node *expr)
{
	List	   *conditions = list_concat(gpucol_subquery_conditions(query->jointree->quals),
										 gpucol_subquery_conditions(query->havingQual));
	ListCell   *lc;

	foreach(lc, conditions)
	{
		Node	   *condition = lfirst(lc);

		if (IsA(condition, NullTest) && !((NullTest *) condition)->argisrow &&
			((NullTest *) condition)->nulltesttype == IS_NOT_NULL &&
			equal(((NullTest *) condition)->arg, expr))
			return true;
		if (IsA(condition, OpExpr) && op_strict(((OpExpr *) condition)->opno) &&
			list_member(((OpExpr *) condition)->args, expr))
			return true;
	}
	return false;
}

static bool never_null(Query *query, Node *expr);

/* Column `attno` of a subquery. */
static bool
subquery_never_null(Query *query, AttrNumber attno)
{
	ListCell   *lc;

	if (attno <= 0 || query->groupingSets != NIL)
		return false;
	if (query->setOperations == NULL)
		return never_null(query, (Node *) get_tle_by_resno(query->targetList, attno)->expr);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind != RTE_SUBQUERY || !subquery_never_null(rte->subquery, attno))
			return false;
	}
	return true;
}

static bool
var_never_null(Query *query, const Var *var)
{
	RangeTblEntry *rte;

	if (var->varlevelsup != 0 || var->varattno <= 0 || gpucol_compat_is_nulled(var) ||
		gpucol_subquery_is_padded((Node *) query->jointree, var->varno, false))
		return false;
	rte = rt_fetch(var->varno, query->rtable);
	if (gpucol_compat_rte_is_group(rte))
		return never_null(query, list_nth(gpucol_compat_rte_group_exprs(rte), var->varattno - 1));
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return gpucol_subquery_column_never_null(rte, var->varattno);
		case RTE_SUBQUERY:
			return subquery_never_null(rte->subquery, var->varattno);
		case RTE_JOIN:
			return never_null(query, list_nth(rte->joinaliasvars, var->varattno - 1));
		default:
			return false;
	}
}

/* Is an expression of a query's own never NULL, in rows that pass WHERE and HAVING? */
static bool
never_null(Query *query, Node *expr)
{
	bool		counts;
	ListCell   *lc;

	check_stack_depth();
	if (excludes_null(query, expr))
		return true;
	switch (nodeTag(expr))
	{
		case T_Const:
			return !((Const *) expr)->constisnull;
		case T_RelabelType:
			return never_null(query, (Node *) ((RelabelType *) expr)->arg);
		case T_Var:
			return var_never_null(query, (Var *) expr);
		case T_Aggref:
			return gpucol_harmless_aggregate(((Aggref *) expr)->aggfnoid, &counts) && counts;
		case T_CoalesceExpr:
			foreach(lc, ((CoalesceExpr *) expr)->args)
			{
				if (never_null(query, lfirst(lc)))
					return true;
			}
			return false;
		default:
			return false;
	}
}

/* ---- NOT IN ---- */

/* Can a subquery's conditions be added to, and is it then what NOT EXISTS asks for? */
static bool
is_plain(const Query *query)
{
	return query->setOperations == NULL && !query->hasDistinctOn && !query->hasAggs &&
		query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == NULL &&
		!query->hasWindowFuncs && !query->hasTargetSRFs && query->limitCount == NULL && query->limitOffset == NULL &&
		query->cteList == NIL && query->jointree->fromlist != NIL;
}

/* A query that reads all of another, which stands in no other query's columns. */
static Query *
read_all(Query *inner)
{
	Query	   *query = makeNode(Query);
	ListCell   *lc;

	IncrementVarSublevelsUp((Node *) inner, 1, 1);
	foreach(lc, inner->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			query->targetList = lappend(query->targetList,
										makeTargetEntry((Expr *) makeVarFromTargetEntry(1, tle),
														tle->resno, tle->resname, false));
	}
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	gpucol_subquery_read(query, inner, "listed", NIL);
	return query;
}

/*
 * One comparison of an IN as a condition of the subquery, or NULL: it may raise an error.
 * *nulls becomes true if it may be NULL.
 */
static Node *
compare_inside(Query *outer, Query *inner, OpExpr *op, bool *nulls)
{
	Node	   *left;
	Node	   *right;
	OpExpr	   *result;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno) ||
		!gpucol_harmless_function(op->opfuncid))
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	/* a cast of the subquery's column is one of its expressions */
	while (IsA(right, RelabelType))
		right = (Node *) ((RelabelType *) right)->arg;
	if (!IsA(right, Param) || ((Param *) right)->paramkind != PARAM_SUBLINK)
		return NULL;
	right = (Node *) get_tle_by_resno(inner->targetList, ((Param *) right)->paramid)->expr;
	if (checkExprHasSubLink(left) || checkExprHasSubLink(right))
		return NULL;
	*nulls |= !never_null(outer, left) || !never_null(inner, right);
	left = copyObject(left);
	IncrementVarSublevelsUp(left, 1, 0);
	right = copyObject(right);
	if (IsA(lsecond(op->args), RelabelType))
	{
		RelabelType *cast = copyObject(lsecond_node(RelabelType, op->args));

		cast->arg = (Expr *) right;
		right = (Node *) cast;
	}
	result = copyObject(op);
	result->args = list_make2(left, right);
	return (Node *) result;
}

/*
 * All comparisons of an IN as conditions of the subquery, or NIL: one is not known, or no
 * equality.  *nulls becomes true if one may be NULL.
 */
static List *
compare_all(Query *outer, Query *inner, Node *testexpr, bool *nulls)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(testexpr))
	{
		Node	   *condition = compare_inside(outer, inner, lfirst(lc), nulls);

		if (condition == NULL || !op_mergejoinable(((OpExpr *) condition)->opno,
												   exprType(linitial(((OpExpr *) condition)->args))))
			return NIL;
		conditions = lappend(conditions, condition);
	}
	return conditions;
}

/* EXISTS over a copy of a query with conditions more. */
static Node *
make_exists(Query *inner, List *conditions)
{
	SubLink    *exists = makeNode(SubLink);
	Query	   *query = copyObject(inner);

	conditions = list_concat(gpucol_subquery_conditions(query->jointree->quals), conditions);
	query->jointree->quals = conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions);
	exists->subLinkType = EXISTS_SUBLINK;
	exists->subselect = (Node *) query;
	exists->location = -1;
	return (Node *) exists;
}

/* Does a subquery refer to queries around it? */
static bool
is_correlated(const SubLink *sublink)
{
	GpucolReferences found = gpucol_subquery_references(sublink->subselect);

	return found.own || found.outer || found.farther;
}

/*
 * The query of an IN of `outer` as one that conditions can be added to, copied; NULL: it has to stay.
 */
static Query *
listed_query(Query *outer, SubLink *sublink)
{
	Query	   *inner = castNode(Query, sublink->subselect);

	if (inner->commandType != CMD_SELECT || inner->rowMarks != NIL ||
		contain_volatile_functions((Node *) sublink))
		return NULL;
	inner = copyObject(inner);
	if (is_plain(inner))
		return inner;
	inner = read_all(inner);
	return is_correlated(sublink) && !gpucol_subquery_hoist(outer, inner) ? NULL : inner;
}

/* An operand of a comparison as the query around the subquery has it. */
static Node *
left_outside(const OpExpr *comparison)
{
	Node	   *left = copyObject(linitial(comparison->args));

	IncrementVarSublevelsUp(left, -1, 1);
	return left;
}

/* A row that may be equal: what its columns are, and what is asked of those outside. */
typedef struct PossibleRow
{
	List	   *inside;
	List	   *outside;
	bool		equal;			/* no column is NULL so far */
} PossibleRow;

/* For the columns from the n-th on, conditions under which rows of `inner` are not unequal. */
static List *
possible_rows(Query *outer, Query *inner, List *comparisons, int n, PossibleRow row)
{
	OpExpr	   *comparison;
	PossibleRow next = row;
	List	   *result;
	Node	   *left;

	if (n == list_length(comparisons))
	{
		if (row.equal)
			return NIL;
		return list_make1(make_andclause(lappend(list_copy(row.outside),
												 make_exists(inner, copyObject(row.inside)))));
	}
	comparison = list_nth_node(OpExpr, comparisons, n);
	left = left_outside(comparison);
	next.inside = lappend(list_copy(row.inside), comparison);
	result = possible_rows(outer, inner, comparisons, n + 1, next);
	next = row;
	next.equal = false;
	if (!never_null(inner, lsecond(comparison->args)))
	{
		next.inside = lappend(list_copy(row.inside), gpucol_make_null_test(lsecond(comparison->args), IS_NULL));
		result = list_concat(result, possible_rows(outer, inner, comparisons, n + 1, next));
	}
	if (!never_null(outer, left))
	{
		next.inside = row.inside;
		next.outside = lappend(list_copy(row.outside), gpucol_make_null_test((Expr *) left, IS_NULL));
		result = list_concat(result, possible_rows(outer, inner, comparisons, n + 1, next));
	}
	return result;
}

/* Does a query read one table, of which asking for one row more costs little? */
static bool
reads_table(const Query *inner)
{
	const RangeTblRef *from = linitial(inner->jointree->fromlist);

	return list_length(inner->jointree->fromlist) == 1 && IsA(from, RangeTblRef) &&
		rt_fetch(from->rtindex, inner->rtable)->rtekind == RTE_RELATION;
}

/* Count a query and those in it. */
static bool
count_queries(Node *node, void *context)
{
	int		   *n = context;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, count_queries, context);
	++*n;
	return query_tree_walker((Query *) node, count_queries, context, 0);
}

/* May a query be asked for several things?  Each is a copy, and so is what is in it, level by level. */
static bool
may_repeat(Query *inner)
{
	int			n = 0;

	(void) count_queries((Node *) inner, &n);
	return n <= MAX_REPEATED;
}

/*
 * A NOT IN that may be NULL: what rows of a table tell is asked for once.
 */
static Node *
not_in_with_nulls(Query *query, const SubLink *sublink, Query *inner, List *comparisons, Node *exists)
{
	List	   *conditions = list_make1(make_notclause((Expr *) exists));
	ListCell   *lc;

	if (list_length(comparisons) != 1 || is_correlated(sublink) || !reads_table(inner) || !may_repeat(inner))
		return NULL;
	foreach(lc, possible_rows(query, inner, comparisons, 0, (PossibleRow) {NIL, NIL, true}))
		conditions = lappend(conditions, make_notclause(lfirst(lc)));
	return (Node *) make_andclause(conditions);
}

Node *
gpucol_subquery_join_condition(Query *query, Node *condition)
{
	bool		negated = is_notclause(condition);
	SubLink    *sublink = negated ? (SubLink *) get_notclausearg(condition) : (SubLink *) condition;
	Query	   *inner;
	List	   *comparisons;
	bool		nulls = false;
	Node	   *exists;
	Oid			relid;

	if (!IsA(sublink, SubLink) || sublink->subLinkType != ANY_SUBLINK ||
		(!negated && !is_correlated(sublink)))
		return NULL;
	relid = gpucol_subquery_table(castNode(Query, sublink->subselect));
	if (!OidIsValid(relid) && !OidIsValid(relid = gpucol_subquery_table(query)))
		return NULL;
	inner = listed_query(query, sublink);
	if (inner == NULL)
		return NULL;
	comparisons = compare_all(query, inner, sublink->testexpr, &nulls);
	exists = comparisons == NIL ? NULL : make_exists(inner, comparisons);
	if (exists != NULL && !negated)
		return exists;
	if (exists != NULL)
		exists = nulls ? not_in_with_nulls(query, sublink, inner, comparisons, exists) :
			(Node *) make_notclause((Expr *) exists);
	if (exists == NULL && !is_correlated(sublink))
		gpucol_reason_add(relid, "NOT IN", "a side of it may be NULL, or its comparison is not known");
	return exists;
}

/* count(*), or count(arg) */
static Expr *
make_count(Node *arg)
{
	Aggref	   *count = makeNode(Aggref);

	count->aggfnoid = arg == NULL ? F_COUNT_ : F_COUNT_ANY;
	count->aggtype = INT8OID;
	count->aggtranstype = InvalidOid;
	count->aggstar = arg == NULL;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	if (arg != NULL)
	{
		count->args = list_make1(makeTargetEntry((Expr *) arg, 1, NULL, false));
		count->aggargtypes = list_make1_oid(exprType(arg));
	}
	return (Expr *) count;
}

/* less < more */
static Expr *
make_less(Expr *less, Expr *more)
{
	OpExpr	   *op = (OpExpr *) make_opclause(Int8LessOperator, BOOLOID, false, less, more,
											  InvalidOid, InvalidOid);

	op->opfuncid = F_INT8LT;
	return (Expr *) op;
}

/* May the user call what tells NULLs, of which the statement says nothing? */
static bool
may_count(void)
{
	static const Oid functions[] = {F_COUNT_, F_COUNT_ANY, F_INT8LT};

	for (size_t i = 0; i < lengthof(functions); i++)
	{
		if (!gpucol_subquery_may_call(functions[i]))
			return false;
	}
	return true;
}

/*
 * What makes `left IN (inner)` NULL where no value equals, as a subquery of counts: left is
 * NULL and there are rows, or one of these is NULL.
 */
static Expr *
make_unknown(Query *outer, Query *inner, OpExpr *comparison)
{
	SubLink    *sublink = makeNode(SubLink);
	Query	   *counts = copyObject(inner);
	List	   *either = NIL;
	Node	   *right = copyObject(lsecond(comparison->args));

	if (!never_null(outer, left_outside(comparison)))
	{
		Expr	   *null = gpucol_make_null_test(copyObject(linitial(comparison->args)), IS_NULL);

		either = lappend(either, make_andclause(list_make2(null, make_less(gpucol_make_int8(0), make_count(NULL)))));
	}
	if (!never_null(inner, right))
		either = lappend(either, make_less(make_count(right), make_count(NULL)));
	counts->targetList = list_make1(makeTargetEntry(list_length(either) == 1 ? linitial(either) :
													make_orclause(either), 1, "unknown", false));
	counts->distinctClause = counts->sortClause = NIL;
	counts->hasAggs = true;
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) counts;
	sublink->location = -1;
	return (Expr *) sublink;
}

/*
 * What makes an IN NULL where no value equals, or NULL: too much would be asked.
 */
static Expr *
unknown_of(Query *query, Query *inner, List *comparisons)
{
	PossibleRow row = {.equal = true};
	List	   *possible;

	if (!may_repeat(inner))
		return NULL;
	if (list_length(comparisons) == 1)
		return may_count() ? make_unknown(query, inner, linitial_node(OpExpr, comparisons)) : NULL;
	if (list_length(comparisons) > MAX_COLUMNS)
		return NULL;
	possible = possible_rows(query, inner, comparisons, 0, row);
	if (list_length(possible) > MAX_POSSIBLE)
		return NULL;
	return list_length(possible) == 1 ? linitial(possible) : make_orclause(possible);
}

/* `found`, which is not NULL, or else NULL where `unknown`. */
static Node *
found_or_unknown(Node *found, Expr *unknown)
{
	Expr	   *null = make_andclause(list_make2(unknown, makeBoolConst(false, true)));

	return unknown == NULL ? NULL : (Node *) make_orclause(list_make2(found, null));
}

/* The aggregates whose values decide whether any of a group is what an operator asks for. */
typedef struct Extremes
{
	Oid			least;			/* min, or InvalidOid: not asked */
	Oid			greatest;		/* max */
} Extremes;

/* min or max of a type's values, or InvalidOid: none is known, or the user may not call it. */
static Oid
find_extreme(const char *name, Oid type)
{
	bool		counts;
	Oid			result = LookupFuncName(list_make2(makeString("pg_catalog"), makeString(pstrdup(name))),
										1, &type, true);

	return OidIsValid(result) && gpucol_harmless_aggregate(result, &counts) &&
		gpucol_subquery_may_call(result) ? result : InvalidOid;
}

/* What a comparison of something with a type's values asks for; false: no order decides it. */
static bool
find_extremes(Oid opno, Oid type, Extremes *extremes)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int			strategy = OidIsValid(family) ? get_op_opfamily_strategy(opno, family) : 0;
	Oid			negator = strategy == 0 ? get_negator(opno) : InvalidOid;
	bool		unequal = OidIsValid(negator) && OidIsValid(family) &&
		get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber;
	bool		less = strategy == BTLessStrategyNumber || strategy == BTLessEqualStrategyNumber;
	bool		greater = strategy == BTGreaterStrategyNumber || strategy == BTGreaterEqualStrategyNumber;

	extremes->greatest = less || unequal ? find_extreme("max", type) : InvalidOid;
	extremes->least = greater || unequal ? find_extreme("min", type) : InvalidOid;
	return (less || greater || unequal) && OidIsValid(extremes->greatest) == (less || unequal) &&
		OidIsValid(extremes->least) == (greater || unequal);
}

/* min or max of what a comparison has on its right. */
static Node *
make_extreme(Oid aggregate, const OpExpr *comparison)
{
	Node	   *right = copyObject(lsecond(comparison->args));
	Aggref	   *agg = (Aggref *) make_count(right);

	agg->aggfnoid = aggregate;
	agg->aggtype = exprType(right);
	agg->aggcollid = exprCollation(right);
	agg->inputcollid = comparison->inputcollid;
	return (Node *) agg;
}

/* A comparison with something else on its right. */
static Node *
compare_with(const OpExpr *comparison, Node *left, Node *right)
{
	OpExpr	   *result = copyObject((OpExpr *) comparison);

	result->args = list_make2(left, right);
	return (Node *) result;
}

/*
 * Whether a comparison holds for any of the subquery's values: true, or else NULL or false, by
 * the greatest or the least of them, or both.  NULL: it stays.
 */
static Node *
compare_extreme(Query *inner, const OpExpr *comparison)
{
	Extremes	extremes;
	SubLink    *sublink = makeNode(SubLink);
	Query	   *query = copyObject(inner);
	Node	   *left = linitial(comparison->args);
	Node	   *value;
	bool		both;

	if (!find_extremes(comparison->opno, exprType(lsecond(comparison->args)), &extremes))
		return NULL;
	both = OidIsValid(extremes.least) && OidIsValid(extremes.greatest);
	value = make_extreme(OidIsValid(extremes.greatest) ? extremes.greatest : extremes.least, comparison);
	if (both)
		value = (Node *) make_orclause(list_make2(compare_with(comparison, copyObject(left), value),
												  compare_with(comparison, copyObject(left),
															   make_extreme(extremes.least, comparison))));
	query->targetList = list_make1(makeTargetEntry((Expr *) value, 1, "extreme", false));
	query->distinctClause = query->sortClause = NIL;
	query->hasAggs = true;
	sublink->subLinkType = EXPR_SUBLINK;
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	return both ? (Node *) sublink : compare_with(comparison, left_outside(comparison), (Node *) sublink);
}

/* expr IS TRUE */
static Node *
make_is_true(Node *expr)
{
	BooleanTest *test = makeNode(BooleanTest);

	test->arg = (Expr *) expr;
	test->booltesttype = IS_TRUE;
	test->location = -1;
	return (Node *) test;
}

/*
 * A condition of a subquery that compares something of it with something outside, and orders
 * (or tells unequal ones, if `unequal`), with the latter on its left; NULL: it is none.
 */
static OpExpr *
ordering_comparison(Node *condition, bool unequal)
{
	OpExpr	   *op = copyObject((OpExpr *) condition);
	GpucolReferences left;
	GpucolReferences right;
	Extremes	extremes;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno) ||
		!gpucol_harmless_function(op->opfuncid) || checkExprHasSubLink((Node *) op))
		return NULL;
	left = gpucol_subquery_references(linitial(op->args));
	if (left.own)
	{
		if (!OidIsValid(get_commutator(op->opno)))
			return NULL;
		CommuteOpExpr(op);
		left = gpucol_subquery_references(linitial(op->args));
	}
	right = gpucol_subquery_references(lsecond(op->args));
	if (left.own || !left.outer || left.farther || !right.own || right.outer || right.farther ||
		!find_extremes(op->opno, exprType(lsecond(op->args)), &extremes) ||
		(OidIsValid(extremes.least) && OidIsValid(extremes.greatest) && !unequal))
		return NULL;
	return op;
}

/* The one such condition of a subquery, and the others; NULL: there is none, or several. */
static OpExpr *
only_comparison(Query *inner, bool unequal, List **others)
{
	OpExpr	   *result = NULL;
	ListCell   *lc;

	*others = NIL;
	if (!is_plain(inner) || inner->rowMarks != NIL)
		return NULL;
	foreach(lc, gpucol_subquery_conditions(inner->jointree->quals))
	{
		OpExpr	   *op = ordering_comparison(lfirst(lc), unequal);

		if (op != NULL && result != NULL)
			return NULL;
		if (op != NULL)
			result = op;
		else
			*others = lappend(*others, lfirst(lc));
	}
	return result;
}

bool
gpucol_subquery_is_ordered(const SubLink *sublink)
{
	List	   *others;

	return sublink->subLinkType == EXISTS_SUBLINK &&
		only_comparison(castNode(Query, sublink->subselect), false, &others) != NULL && others != NIL;
}

/*
 * A comparison's outer side as a CASE that raises no error near its type's ends; the condition that it might, as the
 * query around has it, or NULL: it is no such sum or cast.
 */
static Expr *
keep_within(OpExpr *comparison)
{
	ListCell   *lc;

	foreach(lc, comparison->args)
	{
		GpucolReferences found = gpucol_subquery_references(lfirst(lc));
		Node	   *moved = copyObject(lfirst(lc));
		Expr	   *beyond;
		Expr	   *within;

		if (found.own || !found.outer || found.farther)
			continue;
		IncrementVarSublevelsUp(moved, -1, 1);
		within = gpucol_harmless_within((Expr *) moved, &beyond);
		if (within == NULL)
			return NULL;
		IncrementVarSublevelsUp((Node *) within, 1, 0);
		lfirst(lc) = within;
		return beyond;
	}
	return NULL;
}

Node *
gpucol_subquery_exists_ordered(SubLink *sublink, bool null_is_false)
{
	List	   *others;
	Query	   *inner = copyObject(castNode(Query, sublink->subselect));
	OpExpr	   *comparison = only_comparison(inner, true, &others);
	Expr	   *beyond;
	Node	   *found;

	if (comparison == NULL || contain_volatile_functions((Node *) inner))
		return NULL;
	comparison = copyObject(comparison);
	beyond = null_is_false ? NULL : keep_within(comparison);
	inner->jointree->quals = others == NIL ? NULL : (Node *) make_ands_explicit(others);
	inner->hasDistinctOn = false;
	found = compare_extreme(inner, comparison);
	if (found == NULL || null_is_false)
		return found;
	found = make_is_true(found);
	if (beyond == NULL)
		return found;
	sublink = copyObject(sublink);
	gpucol_seldom_mark(castNode(Query, sublink->subselect));
	return (Node *) gpucol_make_choice(beyond, (Expr *) sublink, (Expr *) found);
}

/* A test with one comparison that orders, or NULL. */
static Node *
by_extreme(Query *query, Query *inner, Node *testexpr, bool null_is_false)
{
	bool		nulls = false;
	OpExpr	   *comparison = (OpExpr *) compare_inside(query, inner, (OpExpr *) testexpr, &nulls);
	Node	   *found = comparison == NULL ? NULL : compare_extreme(inner, comparison);

	if (found == NULL || null_is_false)
		return found;
	found = make_is_true(found);
	return nulls ? found_or_unknown(found, unknown_of(query, inner, list_make1(comparison))) : found;
}

Node *
gpucol_subquery_in(Query *query, SubLink *sublink, bool null_is_false)
{
	Query	   *inner = listed_query(query, sublink);
	List	   *comparisons;
	bool		nulls = false;
	Node	   *found;

	if (inner == NULL)
		return NULL;
	comparisons = compare_all(query, inner, sublink->testexpr, &nulls);
	if (comparisons == NIL)
		return by_extreme(query, inner, sublink->testexpr, null_is_false);
	found = make_exists(inner, comparisons);
	if (null_is_false || !nulls)
		return found;
	return found_or_unknown(found, unknown_of(query, inner, comparisons));
}
