/*-------------------------------------------------------------------------
 *
 * subquery_equal.c
 *	  Columns of queries farther around, in subqueries below subqueries.
 *
 * A chain of tests over one key names the key of the first query in each of them:
 *
 *		EXISTS (SELECT FROM b WHERE b.k = a.k AND b.t > a.t
 *				AND NOT EXISTS (SELECT FROM c WHERE c.k = a.k AND c.t > b.t))
 *
 * The inner test is correlated with a query that is not the one around it, so neither PostgreSQL nor subquery.c makes
 * a join of it.  But rows of b that reach it have b.k = a.k, so it is the same with b.k in the place of a.k:
 *
 *				AND NOT EXISTS (SELECT FROM c WHERE c.k = b.k AND c.t > b.t)
 *
 * The two columns have one type whose equal values are the same bytes, and the equality is one of the conditions of
 * the query's WHERE, as the test is: for rows of which it is not true it does not matter what the test is.
 *
 * An EXISTS that is still correlated with both (c.t < a.t + interval '1 day') asks, as part of an EXISTS, whether there
 * is a pair of rows: its tables are joined to those of the query around it,
 *
 *		EXISTS (SELECT FROM b, (SELECT c.k, c.t FROM c) d WHERE b.k = a.k AND b.t > a.t AND d.k = b.k ...)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "columnar/collation.h"
#include "lower/harmless_query.h"
#include "planner/subquery.h"

/* ---- errors ---- */

Node *
gpucol_subquery_value(const Node *node)
{
	Param	   *value = makeNode(Param);

	value->paramkind = PARAM_EXTERN;
	value->paramtype = exprType(node);
	value->paramtypmod = exprTypmod(node);
	value->paramcollid = exprCollation(node);
	value->location = -1;
	return (Node *) value;
}

/* A value in the place of each time that is a column and an interval more or less. */
static Node *
replace_shifted(Node *node, void *context)
{
	OpExpr	   *op = (OpExpr *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, replace_shifted, context, 0);
	if (!IsA(node, OpExpr) || list_length(op->args) != 2 || !IsA(linitial(op->args), Var) ||
		(!IsA(lsecond(op->args), Const) && !IsA(lsecond(op->args), Param)) ||
		exprType(lsecond(op->args)) != INTERVALOID ||
		(op->opresulttype != TIMESTAMPOID && op->opresulttype != TIMESTAMPTZOID))
		return expression_tree_mutator(node, replace_shifted, context);
	return gpucol_subquery_value(node);
}

/*
 * Does a test of `query` raise no error, but for times that an interval takes beyond the ends of their type?  Whether
 * these are asked for depends on the order of conditions, as in PostgreSQL's own joins of EXISTS.
 */
static bool
is_harmless(Query *query, Query *test)
{
	return gpucol_harmless_query(castNode(Query, replace_shifted((Node *) test, NULL)), query, false) == NULL;
}

/* ---- columns of the same values ---- */

/* A column of a query around, and the query's own column that has its value. */
typedef struct Twin
{
	const Var  *outer;
	Var		   *own;
} Twin;

/* A query while its columns are written into its conditions. */
typedef struct Nearing
{
	List	   *twins;			/* Twins */
	Query	   *query;			/* the query */
	int			depth;			/* of queries below that query */
	bool		any;			/* subqueries may raise errors */
	bool		inside;			/* the expression at hand is one of a subquery, or is compared with one */
	int			count;			/* columns replaced */
} Nearing;

static Var *
plain_column(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) ? (Var *) node : NULL;
}

/* Is a column one of a query itself, and one of these tables of its (NULL: of all)? */
static bool
is_own(const Var *var, const Bitmapset *tables)
{
	return var->varlevelsup == 0 && (tables == NULL || bms_is_member(var->varno, tables));
}

/* The twin that a condition of a query makes, or NULL; the query's own columns are those of some tables, or of all. */
static Twin *
find_twin(Node *condition, const Bitmapset *tables)
{
	const OpExpr *op = (const OpExpr *) condition;
	Var		   *left;
	Var		   *right;
	Oid			type;
	Twin	   *twin;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	left = plain_column(linitial(op->args));
	right = plain_column(lsecond(op->args));
	if (left == NULL || right == NULL || is_own(left, tables) == is_own(right, tables) ||
		left->vartype != right->vartype || left->varcollid != right->varcollid || left->varattno <= 0 ||
		right->varattno <= 0)
		return NULL;
	type = getBaseType(left->vartype);
	if (lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr != op->opno || !gpucol_equal_by_bytes(type, op->inputcollid))
		return NULL;
	twin = palloc(sizeof(Twin));
	twin->own = is_own(left, tables) ? left : right;
	twin->outer = is_own(left, tables) ? right : left;
	return twin;
}

/* The query's own column, as something below it names it, for one of a query around; or NULL. */
static Var *
near_column(const Var *var, const Nearing *nearing)
{
	ListCell   *lc;

	foreach(lc, nearing->twins)
	{
		const Twin *twin = lfirst(lc);
		Var		   *result;

		if (var->varno != twin->outer->varno || var->varattno != twin->outer->varattno ||
			(int) var->varlevelsup != (int) twin->outer->varlevelsup + nearing->depth)
			continue;
		result = copyObject(twin->own);
		result->varlevelsup = nearing->depth;
		return result;
	}
	return NULL;
}

/* Write the query's own columns into the subqueries of its conditions. */
static Node *
bring_near(Node *node, Nearing *nearing)
{
	bool		inside = nearing->inside;
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *column = inside ? near_column((Var *) node, nearing) : NULL;

		nearing->count += column != NULL;
		return column != NULL ? (Node *) column : copyObject(node);
	}
	if (IsA(node, Query))
	{
		nearing->depth++;
		result = (Node *) query_tree_mutator((Query *) node, bring_near, nearing, 0);
		nearing->depth--;
		return result;
	}
	if (IsA(node, SubLink) && !inside)
		nearing->inside = nearing->any || is_harmless(nearing->query, castNode(Query, ((SubLink *) node)->subselect));
	result = expression_tree_mutator(node, bring_near, nearing);
	nearing->inside = inside;
	return result;
}

/* ---- pairs of rows ---- */

/* The tables of a test while they are joined to those of the query around it. */
typedef struct Pairing
{
	Index		rti;			/* the test's query as an entry of that query, */
	List	   *columns;		/* and its list (TargetEntries) */
} Pairing;

/* A condition of the test as one of the query around it. */
static Node *
move_up(Node *node, Pairing *pairing)
{
	Var		   *var = (Var *) node;
	TargetEntry *tle;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, move_up, pairing);
	if (var->varlevelsup > 0)
	{
		var = copyObject(var);
		var->varlevelsup--;
		return (Node *) var;
	}
	foreach(lc, pairing->columns)
	{
		if (equal(lfirst_node(TargetEntry, lc)->expr, var))
			return (Node *) makeVarFromTargetEntry(pairing->rti, lfirst(lc));
	}
	tle = makeTargetEntry((Expr *) copyObject(var), list_length(pairing->columns) + 1, pstrdup("column"), false);
	pairing->columns = lappend(pairing->columns, tle);
	return (Node *) makeVarFromTargetEntry(pairing->rti, tle);
}

/* Does a query read rows of its tables alone, so that there is a row where its conditions are true? */
static bool
has_rows_alone(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->hasAggs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		query->limitCount == NULL && query->limitOffset == NULL && query->setOperations == NULL &&
		query->rowMarks == NIL && query->cteList == NIL && query->jointree->fromlist != NIL;
}

/* Has an expression a whole row or a system column, or a subquery? */
static bool
is_entangled(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
		return true;
	if (IsA(node, Var))
		return ((Var *) node)->varattno <= 0;
	return expression_tree_walker(node, is_entangled, context);
}

/* Does a query refer to none around it? */
static bool
stands_alone(const Query *query)
{
	GpucolReferences found = gpucol_subquery_references((Node *) query);

	return !found.own && !found.outer && !found.farther;
}

/* The query of a test of `query` that asks for pairs of rows, which may be joined; NULL: it is none. */
static Query *
paired_query(Query *query, Node *condition)
{
	SubLink    *sublink = (SubLink *) condition;
	Query	   *inner;
	Query	   *tables;
	GpucolReferences found;
	ListCell   *lc;

	if (!IsA(sublink, SubLink) || sublink->subLinkType != EXISTS_SUBLINK)
		return NULL;
	inner = castNode(Query, sublink->subselect);
	found = gpucol_subquery_references((Node *) inner);
	if ((!found.outer && !found.farther) || !has_rows_alone(inner) || !OidIsValid(gpucol_subquery_table(inner)) ||
		contain_volatile_functions((Node *) inner) || !is_harmless(query, inner))
		return NULL;
	tables = copyObject(inner);
	tables->jointree->quals = NULL;
	tables->targetList = NIL;
	if (!stands_alone(tables))
		return NULL;
	foreach(lc, gpucol_subquery_conditions(inner->jointree->quals))
	{
		found = gpucol_subquery_references(lfirst(lc));
		if ((found.outer || found.farther) && is_entangled(lfirst(lc), NULL))
			return NULL;
	}
	return inner;
}

/* Join the tables of a test to those of a query, which has its conditions then. */
static void
join_pairs(Query *query, Query *inner)
{
	Pairing		pairing = {.rti = list_length(query->rtable) + 1};
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	List	   *conditions = NIL;
	List	   *kept = NIL;
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(inner->jointree->quals))
	{
		GpucolReferences found = gpucol_subquery_references(lfirst(lc));

		if (found.outer || found.farther)
			conditions = lappend(conditions, move_up(lfirst(lc), &pairing));
		else
			kept = lappend(kept, lfirst(lc));
	}
	inner = copyObject(inner);
	inner->jointree->quals = (Node *) make_ands_explicit(kept);
	inner->targetList = pairing.columns;
	inner->distinctClause = inner->sortClause = NIL;
	inner->hasDistinctOn = false;
	foreach(lc, pairing.columns)
		names = lappend(names, makeString(lfirst_node(TargetEntry, lc)->resname));
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = inner;
	rte->eref = makeAlias("pair", names);
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	ref->rtindex = (int) pairing.rti;
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	query->jointree->quals = make_and_qual(query->jointree->quals, (Node *) make_ands_explicit(conditions));
}

/* ---- a query ---- */

/* Write a query's columns, those of `tables` or all, into tests among conditions of its; how many. */
static int
write_own_columns(Query *query, Node **quals, const Bitmapset *tables)
{
	Nearing		nearing = {.query = query,.any = tables != NULL};
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(*quals))
	{
		Twin	   *twin = find_twin(lfirst(lc), tables);

		if (twin != NULL)
			nearing.twins = lappend(nearing.twins, twin);
	}
	if (nearing.twins != NIL)
		*quals = bring_near(*quals, &nearing);
	return nearing.count;
}

Node *
gpucol_subquery_bring_to(Query *query, Node *quals, const Bitmapset *tables)
{
	(void) write_own_columns(query, &quals, tables);
	return quals;
}

/* Join the tables of tests to those of a query that is a test itself; how many. */
static int
join_tests(Query *query)
{
	List	   *conditions = gpucol_subquery_conditions(query->jointree->quals);
	List	   *tests = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (!query->hasSubLinks || !has_rows_alone(query) || query->hasDistinctOn)
		return 0;
	foreach(lc, conditions)
	{
		SubLink    *sublink = lfirst(lc);
		Query	   *inner;

		if (IsA(sublink, SubLink) && sublink->subLinkType == EXISTS_SUBLINK)
			join_tests(castNode(Query, sublink->subselect));
		inner = paired_query(query, (Node *) sublink);
		if (inner == NULL)
			continue;
		tests = lappend(tests, inner);
		conditions = foreach_delete_current(conditions, lc);
	}
	query->jointree->quals = (Node *) make_ands_explicit(conditions);
	foreach(lc, tests)
		join_pairs(query, lfirst_node(Query, lc));
	return list_length(tests);
}

int
gpucol_subquery_bring_near(Query *query, bool is_test)
{
	int			count;

	if (!query->hasSubLinks || query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->rowMarks != NIL || !OidIsValid(gpucol_subquery_table(query)))
		return 0;
	count = write_own_columns(query, &query->jointree->quals, NULL);
	return count + (is_test ? join_tests(query) : 0);
}
