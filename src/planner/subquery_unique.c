/*-------------------------------------------------------------------------
 *
 * subquery_unique.c
 *	  Does a subquery give one row at most, because an index says so?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "planner/subquery.h"

/* The column that an equality compares with something outer, or 0. */
static AttrNumber
compared_column(const OpExpr *op)
{
	ListCell   *lc;

	foreach(lc, op->args)
	{
		Node	   *arg = lfirst(lc);

		while (IsA(arg, RelabelType))
			arg = (Node *) ((RelabelType *) arg)->arg;
		if (IsA(arg, Var) && ((Var *) arg)->varlevelsup == 0)
			return ((Var *) arg)->varattno;
	}
	return 0;
}

/* Does one of the equalities fix column i of an index? */
static bool
fixes_column(Relation index, int i, List *equalities)
{
	ListCell   *lc;

	foreach(lc, equalities)
	{
		const OpExpr *op = lfirst_node(OpExpr, lc);

		if (compared_column(op) == index->rd_index->indkey.values[i] &&
			op_in_opfamily(op->opno, index->rd_opfamily[i]) &&
			(!OidIsValid(index->rd_indcollation[i]) ||
			 index->rd_indcollation[i] == op->inputcollid))
			return true;
	}
	return false;
}

/* Is an index unique for every row at every time, and does it fix them all? */
static bool
fixes_row(Relation index, List *equalities)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indimmediate || !form->indisvalid || form->indcheckxmin ||
		RelationGetIndexPredicate(index) != NIL || RelationGetIndexExpressions(index) != NIL)
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		if (form->indkey.values[i] <= 0 || !fixes_column(index, i, equalities))
			return false;
	}
	return true;
}

bool
gpucol_subquery_is_unique(Query *query, List *equalities)
{
	RangeTblEntry *rte;
	Relation	rel;
	bool		found = false;
	ListCell   *lc;

	if (list_length(query->rtable) != 1 || list_length(query->jointree->fromlist) != 1)
		return false;
	rte = rt_fetch(1, query->rtable);
	if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL ||
		get_rel_relkind(rte->relid) != RELKIND_RELATION || (rte->inh && has_subclass(rte->relid)))
		return false;
	rel = table_open(rte->relid, NoLock);
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		found |= fixes_row(index, equalities);
		index_close(index, NoLock);
	}
	table_close(rel, NoLock);
	return found;
}
