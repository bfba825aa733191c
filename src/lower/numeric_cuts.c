/*-------------------------------------------------------------------------
 *
 * numeric_cuts.c
 *	  Conditions on a numeric column that the order of its values decides: comparisons
 *	  with a constant.
 *
 * PostgreSQL decides them value by value; where a chunk has its values packed in their
 * order, the codes do (engine/cpu/cuts.c).  NaN and the infinities are in no such chunk, and
 * a comparison with one of them is left to PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "lower/numeric_cuts.h"

/* The constant that a column is compared with, and the function with the column first. */
static bool
find_constant(GpucolLower *l, const OpExpr *expr, Oid *funcid, Datum *value)
{
	Node	   *left = linitial(expr->args);
	Node	   *right = lsecond(expr->args);
	Oid			other;

	*funcid = expr->opfuncid;
	if (!IsA(left, Var))
	{
		other = get_commutator(expr->opno);
		if (!IsA(right, Var) || !OidIsValid(other))
			return false;
		*funcid = get_opcode(other);
		right = left;
		left = lsecond(expr->args);
	}
	return getBaseType(exprType(left)) == NUMERICOID && getBaseType(exprType(right)) == NUMERICOID &&
		gpucol_lower_get_safe(l, right, value);
}

/* Places before and behind one value. */
static GpucolCuts *
cut(bool first, bool before, bool behind, Datum value)
{
	GpucolCuts *cuts = palloc0(sizeof(GpucolCuts));
	GpucolCut  *places = palloc(2 * sizeof(GpucolCut));
	struct varlena *packed = PG_DETOAST_DATUM_COPY(value);
	GpucolBytes bytes = {VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed)};

	cuts->first = first;
	cuts->numbers = true;
	cuts->cuts = places;
	if (before)
		places[cuts->n++] = (GpucolCut) {bytes, GPUCOL_CUT_BEFORE};
	if (behind)
		places[cuts->n++] = (GpucolCut) {bytes, GPUCOL_CUT_BEHIND};
	return cuts;
}

GpucolCuts *
gpucol_numeric_cuts(GpucolLower *l, Expr *expr)
{
	GpucolNumericDigits digits;
	Datum		value;
	Oid			funcid;

	if (!IsA(expr, OpExpr) || list_length(((OpExpr *) expr)->args) != 2 ||
		!find_constant(l, (OpExpr *) expr, &funcid, &value))
		return NULL;
	gpucol_typemap_numeric_digits(value, &digits);
	if (!digits.finite)
		return NULL;
	switch (funcid)
	{
		case F_NUMERIC_EQ:
			return cut(false, true, true, value);
		case F_NUMERIC_NE:
			return cut(true, true, true, value);
		case F_NUMERIC_LT:
			return cut(true, true, false, value);
		case F_NUMERIC_LE:
			return cut(true, false, true, value);
		case F_NUMERIC_GT:
			return cut(false, false, true, value);
		case F_NUMERIC_GE:
			return cut(false, true, false, value);
		default:
			return NULL;
	}
}
