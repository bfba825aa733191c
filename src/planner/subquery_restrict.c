/*-------------------------------------------------------------------------
 *
 * subquery_restrict.c
 *	  Groups that no row of the outer query asks for are left out of a grouped
 *	  subquery.
 *
 * A correlated subquery that becomes a join (subquery_scalar.c) is computed for all
 * groups of its table, where few may be wanted: TPC-H's query 17 asks for those of 200
 * parts of 200,000.  Where its key equals a column of one table of the outer query, and
 * that table has conditions of its own, they are put into the subquery:
 *
 *		SELECT k, agg(b.y) FROM b WHERE rest AND b.k IN (SELECT a.k FROM a WHERE own) GROUP BY k
 *
 * Conditions on nothing but the key itself are tested on b.k.
 *
 * Rows of the outer query that do not pass these conditions have no group then; they are
 * no rows of its result.  So the conditions are those of WHERE, which hold for every row
 * of it, whatever joins there are; they are harmless (lower/harmless.h), for they may now
 * be tested before others.  This is the magic sets rewriting for one relation (Mumick,
 * Pirahesh: SIGMOD 1994).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "planner/subquery.h"

/* The table that is asked must be so many times smaller than the subquery's. */
#define TIMES_SMALLER	2

/* Rows of a table, as far as statistics know. */
static double
table_rows(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		rows;

	if (!HeapTupleIsValid(tuple))
		return 0;
	rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	ReleaseSysCache(tuple);
	return rows;
}

/* Has an expression a subquery that is executed for rows, or may be made a join? */
static bool
has_rewritten(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) && gpucol_subquery_is_executed((SubLink *) node))
		return true;
	return expression_tree_walker(node, has_rewritten, context);
}

/*
 * Does a condition hold whatever becomes of the others?  One that is made of a join holds for
 * rows that have their groups only, and so must not tell which groups there are.
 */
static bool
stands_alone(Node *condition)
{
	Node	   *test = is_notclause(condition) ? (Node *) get_notclausearg(condition) : condition;

	if (IsA(test, SubLink) && ((SubLink *) test)->subLinkType != EXPR_SUBLINK)
	{
		GpucolReferences found = gpucol_subquery_references(((SubLink *) test)->subselect);

		return !found.own && !found.outer && !found.farther &&
			gpucol_subquery_is_joined_there((SubLink *) test, test != condition) &&
			!has_rewritten(((SubLink *) test)->testexpr, NULL);
	}
	return !has_rewritten(condition, NULL);
}

/* Conditions of a query on one of its tables alone, copied. */
static List *
own_conditions(Query *outer, Index rti)
{
	List	   *own = NIL;
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(outer->jointree->quals))
	{
		Node	   *condition = lfirst(lc);
		GpucolReferences found = gpucol_subquery_references(condition);
		Bitmapset  *tables = pull_varnos_of_level(NULL, condition, 0);

		if (!found.outer && !found.farther && bms_membership(tables) == BMS_SINGLETON &&
			bms_is_member(rti, tables) && stands_alone(condition) &&
			!contain_volatile_functions(condition) &&
			gpucol_harmless_expr(outer, (Expr *) condition) == NULL)
			own = lappend(own, copyObject(condition));
	}
	return own;
}

bool
gpucol_subquery_can_ask(const Query *query, Index rti)
{
	const RangeTblEntry *rte = rt_fetch(rti, query->rtable);

	return rte->rtekind == RTE_RELATION && rte->tablesample == NULL && !rte->lateral;
}

/* The table that a column is of, if it can be asked; else 0. */
static Index
asked_table(const Query *outer, const Node *column)
{
	const Var  *var = (const Var *) column;

	return IsA(var, Var) && var->varlevelsup == 0 && var->varattno > 0 &&
		gpucol_subquery_can_ask(outer, var->varno) ? (Index) var->varno : 0;
}

/* SELECT columns FROM table WHERE conditions. */
static Query *
make_query(Query *outer, Index rti, List *columns, List *conditions)
{
	Query	   *query = makeNode(Query);
	RangeTblEntry *rte = copyObject(rt_fetch(rti, outer->rtable));
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *lc;

	gpucol_compat_no_permissions(outer, query, rte);	/* they are checked where it stands */
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	ref->rtindex = 1;
	query->jointree = makeFromExpr(list_make1(ref), conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions));
	foreach(lc, columns)
	{
		int			number = foreach_current_index(lc) + 1;

		query->targetList = lappend(query->targetList,
									makeTargetEntry(copyObject(lfirst(lc)), number,
													psprintf("asked%d", number), false));
	}
	query->hasSubLinks = checkExprHasSubLink(query->jointree->quals);
	ChangeVarNodes((Node *) query->jointree, rti, 1, 0);
	ChangeVarNodes((Node *) query->targetList, rti, 1, 0);
	ChangeVarNodes((Node *) rte->securityQuals, rti, 1, 0);
	ref->rtindex = 1;
	return query;
}

Query *
gpucol_subquery_rows(Query *query, Index rti, List *conditions)
{
	return make_query(query, rti, NIL, conditions);
}

Query *
gpucol_subquery_asked(Query *outer, Index rti, List *columns)
{
	return make_query(outer, rti, columns, own_conditions(outer, rti));
}

/* key = column, `number` of the query on its right. */
static Node *
make_test(const GpucolAsked *asked, int number)
{
	OpExpr	   *test = copyObject(asked->equality);
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_SUBLINK;
	param->paramid = number;
	param->paramtype = exprType(asked->column);
	param->paramtypmod = exprTypmod(asked->column);
	param->paramcollid = exprCollation(asked->column);
	param->location = -1;
	if (!asked->key_is_left)
	{
		test->opno = get_commutator(test->opno);
		test->opfuncid = get_opcode(test->opno);
	}
	test->args = list_make2(copyObject(asked->key), param);
	return (Node *) test;
}

/* ---- conditions on what is asked for ---- */

typedef struct Replacing
{
	List	   *asked;
	bool		failed;			/* another column is among them */
} Replacing;

/* Have the keys of a subquery take the place of the columns that they equal, and are the same as in all respects. */
static Node *
replace_columns(Node *node, Replacing *replacing)
{
	ListCell   *lc;

	if (node == NULL || !IsA(node, Var))
		return node == NULL ? NULL : expression_tree_mutator(node, replace_columns, replacing);
	foreach(lc, replacing->asked)
	{
		const GpucolAsked *asked = lfirst(lc);

		if (equal(asked->column, node) && exprType(asked->key) == exprType(node) &&
			exprCollation(asked->key) == exprCollation(node) &&
			gpucol_equal_by_bytes(exprType(node), exprCollation(node)))
			return copyObject(asked->key);
	}
	replacing->failed = true;
	return node;
}

/*
 * What WHERE says of nothing but columns that are asked for holds for the keys of all groups that are
 * asked for:
 *
 *		WHERE a.k < 5 ...	->	SELECT k, agg(b.y) FROM b WHERE rest AND b.k < 5 GROUP BY k
 */
static void
restrict_keys(Query *outer, Query *inner, List *asked)
{
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(outer->jointree->quals))
	{
		Node	   *condition = lfirst(lc);
		Replacing	replacing = {.asked = asked};
		GpucolReferences found = gpucol_subquery_references(condition);

		if (!found.own || found.outer || found.farther || checkExprHasSubLink(condition) ||
			contain_volatile_functions(condition) || contain_agg_clause(condition) ||
			gpucol_harmless_expr(outer, (Expr *) condition) != NULL)
			continue;
		condition = replace_columns(condition, &replacing);
		if (!replacing.failed)
			inner->jointree->quals = make_and_qual(inner->jointree->quals, condition);
	}
}

/*
 * What a subquery's keys are asked by: columns of one table, of which *rti is the number, 0 if there are none, and
 * the tests that they are equal to these.  False where one is asked by something else.
 */
static bool
find_asked(Query *outer, List *asked, Index *rti, List **columns, List **tests)
{
	bool		all = true;
	ListCell   *lc;

	*rti = 0;
	foreach(lc, asked)
	{
		const GpucolAsked *one = lfirst(lc);
		Index		table = asked_table(outer, one->column);

		if (table == 0 || (*rti != 0 && table != *rti) ||
			!OidIsValid(get_commutator(one->equality->opno)))
		{
			all = false;
			continue;
		}
		*rti = table;
		*columns = lappend(*columns, one->column);
		*tests = lappend(*tests, make_test(one, list_length(*columns)));
	}
	return all;
}

/* Have the subquery read rows only whose keys are among a query's; false if that is not harmless. */
static bool
add_test(Query *inner, List *tests, Query *query)
{
	SubLink    *sublink;

	if (gpucol_harmless_query(query, NULL, false) != NULL)
		return false;
	sublink = makeNode(SubLink);
	sublink->subLinkType = ANY_SUBLINK;
	sublink->testexpr = (Node *) make_ands_explicit(tests);
	sublink->subselect = (Node *) query;
	sublink->location = -1;
	inner->jointree->quals = make_and_qual(inner->jointree->quals, (Node *) sublink);
	inner->hasSubLinks = true;
	return true;
}

bool
gpucol_subquery_restrict_exactly(Query *outer, Query *inner, List *asked, Index rti)
{
	Index		table;
	List	   *columns = NIL;
	List	   *tests = NIL;
	List	   *conditions;
	int			others = 0;
	ListCell   *lc;

	if (!find_asked(outer, asked, &table, &columns, &tests) || table == 0)
		return false;
	/* conditions on its values are tested when it has been executed */
	foreach(lc, gpucol_subquery_conditions(outer->jointree->quals))
		others += !bms_is_member(rti, pull_varnos_of_level(NULL, lfirst(lc), 0));
	conditions = own_conditions(outer, table);
	return list_length(conditions) == others &&
		add_test(inner, tests, make_query(outer, table, columns, conditions));
}

/*
 * Restrict the groups of a subquery; `asked` (of GpucolAsked) are its keys.
 */
void
gpucol_subquery_restrict(Query *outer, Query *inner, List *asked)
{
	Index		rti;
	List	   *columns = NIL;
	List	   *tests = NIL;
	List	   *conditions;

	restrict_keys(outer, inner, asked);
	(void) find_asked(outer, asked, &rti, &columns, &tests);
	if (rti == 0 || !OidIsValid(gpucol_subquery_table(inner)) ||
		table_rows(rt_fetch(rti, outer->rtable)->relid) * TIMES_SMALLER >
		table_rows(gpucol_subquery_table(inner)))
		return;
	conditions = own_conditions(outer, rti);
	if (conditions != NIL)
		(void) add_test(inner, tests, make_query(outer, rti, columns, conditions));
}
