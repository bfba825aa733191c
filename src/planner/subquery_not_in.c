/*-------------------------------------------------------------------------
 *
 * subquery_not_in.c
 *	  NOT IN becomes NOT EXISTS where no NULL makes a difference.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "lower/harmless.h"
#include "lower/harmless_query.h"
#include "plan/reason.h"
#include "planner/subquery.h"

/* ---- what is never NULL ---- */

/* Does a constraint keep a column from being NULL in all rows that a scan gives? */
static bool
column_never_null(const RangeTblEntry *rte, AttrNumber attno)
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

/* Is a table below a side of an outer join that is padded with NULLs?  Else is it there? */
static bool
is_padded(Node *node, int varno, bool padded)
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

		return is_padded(join->larg, varno, padded || left) ||
			is_padded(join->rarg, varno, padded || right);
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		if (is_padded(lfirst(lc), varno, padded))
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
		is_padded((Node *) query->jointree, var->varno, false))
		return false;
	rte = rt_fetch(var->varno, query->rtable);
	if (gpucol_compat_rte_is_group(rte))
		return never_null(query, list_nth(gpucol_compat_rte_group_exprs(rte), var->varattno - 1));
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return column_never_null(rte, var->varattno);
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
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	List	   *names = NIL;
	ListCell   *lc;

	IncrementVarSublevelsUp((Node *) inner, 1, 1);
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = inner;
	rte->inFromCl = true;
	ref->rtindex = 1;
	foreach(lc, inner->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk)
			continue;
		names = lappend(names, makeString(pstrdup(tle->resname ? tle->resname : "?column?")));
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) makeVarFromTargetEntry(1, tle),
													tle->resno, tle->resname, false));
	}
	rte->eref = makeAlias("listed", names);
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	return query;
}

/*
 * One comparison of a NOT IN as a condition of the subquery, or NULL: it may be NULL or
 * raise an error.
 */
static Node *
compare_inside(Query *outer, Query *inner, OpExpr *op)
{
	Node	   *left;
	Node	   *right;
	OpExpr	   *result;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno) ||
		!gpucol_harmless_function(op->opfuncid) ||
		!op_mergejoinable(op->opno, exprType(linitial(op->args))))
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	/* a cast of the subquery's column is one of its expressions */
	while (IsA(right, RelabelType))
		right = (Node *) ((RelabelType *) right)->arg;
	if (!IsA(right, Param) || ((Param *) right)->paramkind != PARAM_SUBLINK)
		return NULL;
	right = (Node *) get_tle_by_resno(inner->targetList, ((Param *) right)->paramid)->expr;
	if (checkExprHasSubLink(left) || checkExprHasSubLink(right) ||
		!never_null(outer, left) || !never_null(inner, right))
		return NULL;
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
 * Add all comparisons of a NOT IN to the subquery's conditions; false, with nothing
 * added, if one may be NULL.
 */
static bool
compare_all(Query *outer, Query *inner, Node *testexpr)
{
	List	   *conditions = gpucol_subquery_conditions(inner->jointree->quals);
	ListCell   *lc;

	foreach(lc, gpucol_subquery_conditions(testexpr))
	{
		Node	   *condition = compare_inside(outer, inner, lfirst(lc));

		if (condition == NULL)
			return false;
		conditions = lappend(conditions, condition);
	}
	inner->jointree->quals = (Node *) make_ands_explicit(conditions);
	return true;
}

Node *
gpucol_subquery_not_exists(Query *query, Node *condition)
{
	SubLink    *sublink;
	Query	   *inner;
	Oid			relid;

	if (!is_notclause(condition))
		return NULL;
	sublink = (SubLink *) get_notclausearg(condition);
	if (!IsA(sublink, SubLink) || sublink->subLinkType != ANY_SUBLINK)
		return NULL;
	inner = castNode(Query, sublink->subselect);
	relid = gpucol_subquery_table(inner);
	if (!OidIsValid(relid) && !OidIsValid(relid = gpucol_subquery_table(query)))
		return NULL;
	if (inner->commandType != CMD_SELECT || inner->rowMarks != NIL ||
		contain_volatile_functions((Node *) sublink))
		return NULL;
	inner = copyObject(inner);
	if (!is_plain(inner))
	{
		GpucolReferences found = gpucol_subquery_references((Node *) inner);

		if (found.own || found.outer || found.farther)
			return NULL;
		inner = read_all(inner);
	}
	if (!compare_all(query, inner, sublink->testexpr))
	{
		gpucol_reason_add(relid, "NOT IN", "a side of it may be NULL, or its comparison is not known");
		return NULL;
	}
	sublink = copyObject(sublink);
	sublink->subLinkType = EXISTS_SUBLINK;
	sublink->testexpr = NULL;
	sublink->operName = NIL;
	sublink->subselect = (Node *) inner;
	return (Node *) make_notclause((Expr *) sublink);
}
