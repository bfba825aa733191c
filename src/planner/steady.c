/*-------------------------------------------------------------------------
 *
 * steady.c
 *	  Statements between whose changed rows nothing runs but their plan.
 *
 * Such a statement writes the tombstones of packed rows together, and keeps others from the rows beside
 * them meanwhile (columnar/burials.c).  So it must not wait for another transaction then, nor begin a
 * subtransaction.  It changes one table, without children, each of which may have triggers, and locks no other
 * rows.  It calls PostgreSQL's own functions only, none of a user, of whatever volatility it says it is; and none
 * that is volatile, for some of them wait or execute a query, but for a few that do not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "columnar/burials.h"
#include "planner/planner.h"

/* random(), which is named otherwise from PostgreSQL 17 on. */
#define RANDOM	1598

/* Is it a function of a user, or one that may do more than compute a value? */
static bool
is_unsteady_function(Oid function, void *context pg_attribute_unused())
{
	if (function == RANDOM || function == F_CLOCK_TIMESTAMP || function == F_GEN_RANDOM_UUID)
		return false;
	return function >= FirstUnpinnedObjectId || func_volatile(function) == PROVOLATILE_VOLATILE;
}

/* Is it an operator, of a key or an order, of a user? */
static bool
is_users(Oid operator)
{
	return operator >= FirstUnpinnedObjectId;
}

static bool
is_unsteady_table(const RangeTblEntry *rte)
{
	return rte->tablesample != NULL ||
		(rte->rtekind == RTE_RELATION && rte->relkind != RELKIND_RELATION &&
		 rte->relkind != RELKIND_PARTITIONED_TABLE && rte->relkind != RELKIND_MATVIEW && rte->relkind != RELKIND_VIEW &&
		 rte->relkind != RELKIND_COMPOSITE_TYPE /* excluded rows */ );
}

static bool is_unsteady(Node *node, void *context);

/* Does an INSERT update each row that it finds in its place?  Else it locks the row, and then may leave it alone. */
static bool
updates_what_it_finds(const Query *query)
{
	const OnConflictExpr *conflict = query->onConflict;

	return conflict != NULL && conflict->action == ONCONFLICT_UPDATE && conflict->onConflictWhere == NULL;
}

/* The same of a query; `context` counts those that change rows. */
static bool
is_unsteady_query(Query *query, int *changes)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT)
		(*changes)++;
	if (query->resultRelation != 0 && has_subclass(rt_fetch(query->resultRelation, query->rtable)->relid))
		return true;
	if ((query->commandType == CMD_INSERT && !updates_what_it_finds(query)) || query->commandType == CMD_UTILITY ||
		query->rowMarks != NIL || query->setOperations != NULL || query->hasRecursive)
		return true;
	foreach(lc, query->rtable)
	{
		if (is_unsteady_table(lfirst_node(RangeTblEntry, lc)))
			return true;
	}
	return query_tree_walker(query, is_unsteady, changes, QTW_EXAMINE_SORTGROUP);
}

/* Has an expression anything that keeps the statement from being steady? */
static bool
is_unsteady(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return is_unsteady_query((Query *) node, context);
	if (IsA(node, CoerceToDomain) || IsA(node, WindowClause) || IsA(node, NextValueExpr))
		return true;
	if (IsA(node, SortGroupClause))
		return is_users(((SortGroupClause *) node)->eqop) || is_users(((SortGroupClause *) node)->sortop);
	if (check_functions_in_node(node, is_unsteady_function, NULL))
		return true;
	return expression_tree_walker(node, is_unsteady, context);
}

/*
 * Is a statement, as it is written, one between whose changed rows nothing else runs?
 */
bool
gpucol_steady_is(Query *query)
{
	int			changes = 0;

	if (query->commandType == CMD_SELECT ? !query->hasModifyingCTE :
		query->commandType == CMD_INSERT && !updates_what_it_finds(query))
		return false;
	return !is_unsteady((Node *) query, &changes) && changes == 1;
}

/*
 * Let a plan of such a statement bury rows together.
 */
void
gpucol_steady_allow(PlannedStmt *stmt)
{
	ListCell   *lc;

	if (IsA(stmt->planTree, ModifyTable))
		gpucol_burials_allow((ModifyTable *) stmt->planTree);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL && IsA(lfirst(lc), ModifyTable))
			gpucol_burials_allow(lfirst_node(ModifyTable, lc));
	}
}
