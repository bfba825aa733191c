/*-------------------------------------------------------------------------
 *
 * subquery_window.c
 *	  DISTINCT ON by window functions.
 *
 * PostgreSQL sorts all rows to find the first of each key.  GpucolWindow keeps few rows of each
 * partition, so the rows are numbered and the first taken:
 *
 *		SELECT DISTINCT ON (k) k, e FROM b ORDER BY k, s
 *	->	SELECT k, e FROM (SELECT k, e, s, row_number() OVER (PARTITION BY k ORDER BY s) AS number FROM b)
 *		WHERE number <= 1 ORDER BY k, s
 *
 * WITH queries, ORDER BY and LIMIT stay above.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "plan/make.h"
#include "planner/subquery.h"

/* The operator <= of bigint. */
#define INT8_LESS_EQUAL	414
/* and > */
#define INT8_GREATER	413

bool
gpucol_subquery_may_number(int64 skipped)
{
	return gpucol_subquery_may_call(F_ROW_NUMBER) && gpucol_subquery_may_call(F_INT8LE) &&
		(skipped == 0 || gpucol_subquery_may_call(F_INT8GT));
}

/* A clause that has the partitions and the order of a query's DISTINCT ON. */
static WindowClause *
make_clause(const Query *query)
{
	WindowClause *clause = makeNode(WindowClause);
	ListCell   *lc;

	clause->partitionClause = copyObject(query->distinctClause);
	foreach(lc, query->sortClause)
	{
		SortGroupClause *sort = lfirst_node(SortGroupClause, lc);

		if (get_sortgroupref_clause_noerr(sort->tleSortGroupRef, query->distinctClause) == NULL)
			clause->orderClause = lappend(clause->orderClause, copyObject(sort));
	}
	clause->frameOptions = FRAMEOPTION_DEFAULTS;
	clause->winref = list_length(query->windowClause) + 1;
	return clause;
}

/* Give a query a column more, of a window function over such a clause, which is the query's. */
static TargetEntry *
add_function(Query *query, WindowClause *clause, Oid function, Oid type, List *args, const char *name)
{
	WindowFunc *func = makeNode(WindowFunc);
	TargetEntry *tle = makeTargetEntry((Expr *) func, list_length(query->targetList) + 1, pstrdup(name), false);

	func->winfnoid = function;
	func->wintype = type;
	func->args = args;
	if (args != NIL)
		func->wincollid = func->inputcollid = exprCollation(linitial(args));
	func->winref = clause->winref;
	func->location = -1;
	query->windowClause = list_append_unique_ptr(list_copy(query->windowClause), clause);
	query->hasWindowFuncs = true;
	query->targetList = lappend(query->targetList, tle);
	return tle;
}

List *
gpucol_subquery_move_columns(Query *query)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		TargetEntry *column = flatCopyTargetEntry(tle);

		column->resjunk = false;
		if (column->resname == NULL)
			column->resname = pstrdup("value");
		columns = lappend(columns, column);
		tle->expr = (Expr *) makeVarFromTargetEntry(1, column);
	}
	return columns;
}

/* A comparison of the number of a row with a constant. */
static Expr *
compare_number(TargetEntry *number, Oid opno, int64 with)
{
	Expr	   *result = make_opclause(opno, BOOLOID, false, (Expr *) makeVarFromTargetEntry(1, number),
									   gpucol_make_int8(with), InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) result);
	return result;
}

void
gpucol_subquery_number_rows(Query *query, int64 skipped, int64 last)
{
	WindowClause *clause = make_clause(query);
	Query	   *below = gpucol_subquery_below(query, gpucol_subquery_move_columns(query));
	TargetEntry *number = add_function(below, clause, F_ROW_NUMBER, INT8OID, NIL, "number");
	List	   *conditions = list_make1(compare_number(number, INT8_LESS_EQUAL, last));

	if (skipped > 0)
		conditions = lappend(conditions, compare_number(number, INT8_GREATER, skipped));
	gpucol_subquery_read(query, below, "numbered", conditions);
	query->distinctClause = query->windowClause = NIL;
	query->hasDistinctOn = query->hasWindowFuncs = false;
}

bool
gpucol_subquery_distinct(Query *query)
{
	if (!query->hasDistinctOn || query->hasTargetSRFs || query->rowMarks != NIL ||
		query->setOperations != NULL || !gpucol_subquery_may_number(0) || !OidIsValid(gpucol_subquery_table(query)) ||
		contain_volatile_functions((Node *) query->targetList))
		return false;
	gpucol_subquery_number_rows(query, 0, 1);
	return true;
}

List *
gpucol_subquery_keep_before(Query *query, AttrNumber ordered, List *rows)
{
	Expr	   *expr = list_nth_node(TargetEntry, query->targetList, ordered - 1)->expr;
	WindowClause *clause = make_clause(query);
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rows)
	{
		List	   *args = list_make1(copyObject(expr));
		bool		next = lfirst_int(lc) == 1;

		if (!next)
			args = lappend(args, makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(lfirst_int(lc)), false,
										   true));
		result = lappend(result, add_function(query, clause, next ? F_LAG_ANYELEMENT : F_LAG_ANYELEMENT_INT4,
											  exprType((Node *) expr), args, "before"));
	}
	query->distinctClause = query->sortClause = NIL;
	query->hasDistinctOn = false;
	return result;
}
