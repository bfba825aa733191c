/*-------------------------------------------------------------------------
 *
 * make.c
 *	  Nodes that PostgreSQL's makefuncs.h has no function for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "plan/make.h"

Expr *
gpucol_make_int8(int64 value)
{
	return (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(value), false, FLOAT8PASSBYVAL);
}

Expr *
gpucol_make_null_test(Expr *expr, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = type;
	test->location = -1;
	return (Expr *) test;
}

Expr *
gpucol_make_choice(Expr *condition, Expr *result, Expr *otherwise)
{
	CaseWhen   *when = makeNode(CaseWhen);
	CaseExpr   *choice = makeNode(CaseExpr);

	when->expr = condition;
	when->result = result;
	choice->casetype = exprType((Node *) otherwise);
	choice->casecollid = exprCollation((Node *) otherwise);
	choice->args = list_make1(when);
	choice->defresult = otherwise;
	choice->location = when->location = -1;
	return (Expr *) choice;
}

Expr *
gpucol_make_coalesce(Expr *value, Const *otherwise)
{
	CoalesceExpr *coalesce = makeNode(CoalesceExpr);

	coalesce->coalescetype = exprType((Node *) value);
	coalesce->coalescecollid = exprCollation((Node *) value);
	coalesce->args = list_make2(value, otherwise);
	coalesce->location = -1;
	return (Expr *) coalesce;
}

RangeTblEntry *
gpucol_make_entry(RTEKind kind, const char *name, List *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = kind;
	rte->eref = makeAlias(name, columns);
	rte->inFromCl = true;
	return rte;
}

RangeTblEntry *
gpucol_make_subquery_entry(Query *subquery, const char *name)
{
	RangeTblEntry *rte;
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, subquery->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			columns = lappend(columns, makeString(pstrdup(tle->resname ? tle->resname : "?column?")));
	}
	rte = gpucol_make_entry(RTE_SUBQUERY, name, columns);
	rte->subquery = subquery;
	return rte;
}

Aggref *
gpucol_make_aggregate(Oid function, Oid type, Expr *value)
{
	Aggref	   *agg = makeNode(Aggref);

	agg->aggfnoid = function;
	agg->aggtype = type;
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = -1;
	agg->aggstar = value == NULL;
	agg->location = -1;
	if (value == NULL)
		return agg;
	agg->aggcollid = agg->inputcollid = exprCollation((Node *) value);
	agg->aggargtypes = list_make1_oid(type);
	agg->args = list_make1(makeTargetEntry((Expr *) copyObject(value), 1, NULL, false));
	return agg;
}
