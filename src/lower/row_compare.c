/*-------------------------------------------------------------------------
 *
 * row_compare.c
 *	  Comparisons of rows, (a, b) < (x, y), spelt out in comparisons of their columns.
 *
 * PostgreSQL compares columns from left to right until two differ, or one is NULL, and computes
 * none behind these: CASE WHEN a = x THEN b < y ELSE a < x END.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "lower/row_compare.h"

/* The comparison of column i that a strategy of its operator family stands for, or NULL. */
static Expr *
compare_column(const RowCompareExpr *row, int i, int strategy)
{
	Oid			family = list_nth_oid(row->opfamilies, i);
	Expr	   *left = list_nth(row->largs, i);
	Expr	   *right = list_nth(row->rargs, i);
	OpExpr	   *op;
	Oid			opno;
	Oid			lefttype;
	Oid			righttype;
	int			given;

	get_op_opfamily_properties(list_nth_oid(row->opnos, i), family, false, &given, &lefttype, &righttype);
	opno = get_opfamily_member(family, lefttype, righttype, strategy);
	if (!OidIsValid(opno))
		return NULL;
	op = (OpExpr *) make_opclause(opno, BOOLOID, false, left, right, InvalidOid,
								  list_nth_oid(row->inputcollids, i));
	set_opfuncid(op);
	return (Expr *) op;
}

/* What decides where two columns differ. */
static int
strict(int strategy)
{
	return strategy == BTLessEqualStrategyNumber ? BTLessStrategyNumber :
		strategy == BTGreaterEqualStrategyNumber ? BTGreaterStrategyNumber : strategy;
}

Expr *
gpucol_row_compare_spelt(GpucolLower *l, const RowCompareExpr *row)
{
	int			strategy = gpucol_compat_row_strategy(row);
	int			last = list_length(row->opnos) - 1;
	Expr	   *result = compare_column(row, last, strategy);

	for (int i = last - 1; i >= 0 && result != NULL; i--)
	{
		CaseExpr   *decide = makeNode(CaseExpr);
		CaseWhen   *same = makeNode(CaseWhen);

		same->expr = compare_column(row, i, BTEqualStrategyNumber);
		same->result = result;
		decide->casetype = BOOLOID;
		decide->args = list_make1(same);
		decide->defresult = compare_column(row, i, strict(strategy));
		result = same->expr == NULL || decide->defresult == NULL ? NULL : (Expr *) decide;
	}
	if (result == NULL)
		gpucol_lower_decline(l, "it compares rows by an operator family without such operators");
	return result;
}

bool
gpucol_lower_row_compare(GpucolLower *l, const RowCompareExpr *row, GpucolValue *out)
{
	Expr	   *spelt = gpucol_row_compare_spelt(l, row);

	return spelt != NULL && gpucol_lower_expr(l, spelt, out);
}

Expr *
gpucol_row_compare_first(const RowCompareExpr *row)
{
	return compare_column(row, 0, strict(gpucol_compat_row_strategy(row)) == BTLessStrategyNumber ?
						  BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber);
}
