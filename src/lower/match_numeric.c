/*-------------------------------------------------------------------------
 *
 * match_numeric.c
 *	  Conditions on a numeric column that the order of its values decides: comparisons
 *	  with constants, and lists of them.
 *
 * Such a condition is where it turns along that order.  A value is decided by the turns before it;
 * where a chunk has its values packed in their order, the codes are (engine/cpu/cuts.c).
 * Values are compared as PostgreSQL stores them: sign, weight, digits to base 10000, none of
 * which is 0 at either end; minus infinity comes first, NaN last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "kernel/packed_decimal.h"
#include "lower/match_numeric.h"

/* ---- the order of values ---- */

/* Minus infinity, numbers, infinity, NaN. */
static int
rank(const GpucolBytes *value, GpucolNumericHead *head)
{
	uint16		word = 0;

	if (gpucol_numeric_head(value->data, value->len, head))
		return 0;
	memcpy(&word, value->data, Min(value->len, sizeof(word)));
	return (word & 0xf000) == 0xf000 ? -1 : (word & 0xf000) == 0xd000 ? 1 : 2;
}

static int
compare_digits(const GpucolBytes *a, size_t at, const GpucolBytes *b, size_t bt)
{
	for (; at < a->len && bt < b->len; at += sizeof(int16), bt += sizeof(int16))
	{
		int16		x;
		int16		y;

		memcpy(&x, a->data + at, sizeof(x));
		memcpy(&y, b->data + bt, sizeof(y));
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (at < a->len) - (bt < b->len);
}

static int
compare(const GpucolBytes *a, const GpucolBytes *b)
{
	GpucolNumericHead x;
	GpucolNumericHead y;
	int			xs = rank(a, &x);
	int			ys = rank(b, &y);
	int			order;

	if (xs != 0 || ys != 0)
		return (xs > ys) - (xs < ys);
	xs = a->len <= x.digits ? 0 : x.negative ? -1 : 1;
	ys = b->len <= y.digits ? 0 : y.negative ? -1 : 1;
	if (xs != ys || xs == 0)
		return (xs > ys) - (xs < ys);
	order = x.weight != y.weight ? (x.weight < y.weight ? -1 : 1) : compare_digits(a, x.digits, b, y.digits);
	return xs * order;
}

/* The order of turns: before a value, behind it. */
static int
compare_cuts(const void *a, const void *b)
{
	const GpucolCut *x = a;
	const GpucolCut *y = b;
	int			order = compare(&x->value, &y->value);

	return order != 0 ? order : (int) x->place - (int) y->place;
}

/* ---- making ---- */

/* Turns before and behind values of an array of constants, NULL not among them; each once. */
static GpucolCuts *
make_cuts(bool first, bool before, bool behind, const Datum *values, int n)
{
	GpucolCuts *cuts = palloc0(sizeof(GpucolCuts));
	GpucolCut  *places = palloc((n * 2 + 1) * sizeof(GpucolCut));
	int			nplaces = 0;

	for (int i = 0; i < n; i++)
	{
		struct varlena *packed = PG_DETOAST_DATUM_COPY(values[i]);
		GpucolBytes bytes = {VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed)};

		if (before)
			places[nplaces++] = (GpucolCut) {bytes, GPUCOL_CUT_BEFORE};
		if (behind)
			places[nplaces++] = (GpucolCut) {bytes, GPUCOL_CUT_BEHIND};
	}
	qsort(places, nplaces, sizeof(GpucolCut), compare_cuts);
	cuts->first = first;
	cuts->numbers = true;
	cuts->cuts = places;
	for (int i = 0; i < nplaces; i++)
		if (cuts->n == 0 || compare_cuts(&places[i], &places[cuts->n - 1]) != 0)
			places[cuts->n++] = places[i];
	return cuts;
}

/* The values that stand to one of n constants as a comparison says: to one value, or equal to one of them. */
static GpucolCuts *
cuts_of(Oid funcid, const Datum *values, int n)
{
	switch (funcid)
	{
		case F_NUMERIC_EQ:
			return make_cuts(false, true, true, values, n);
		case F_NUMERIC_NE:
			return make_cuts(true, true, true, values, n);
		case F_NUMERIC_LT:
			return n == 1 ? make_cuts(true, true, false, values, n) : NULL;
		case F_NUMERIC_LE:
			return n == 1 ? make_cuts(true, false, true, values, n) : NULL;
		case F_NUMERIC_GT:
			return n == 1 ? make_cuts(false, false, true, values, n) : NULL;
		case F_NUMERIC_GE:
			return n == 1 ? make_cuts(false, true, false, values, n) : NULL;
		default:
			return NULL;
	}
}

static bool
is_numeric_column(Node *node)
{
	return IsA(node, Var) && getBaseType(exprType(node)) == NUMERICOID;
}

/* The column compared with a constant. */
static GpucolCuts *
compared(GpucolLower *l, const OpExpr *expr)
{
	bool		swapped = !IsA(linitial(expr->args), Var);
	Node	   *constant = list_nth(expr->args, 1 - swapped);
	Oid			op = swapped ? get_commutator(expr->opno) : expr->opno;
	Datum		value;

	return is_numeric_column(list_nth(expr->args, swapped)) && OidIsValid(op) &&
		getBaseType(exprType(constant)) == NUMERICOID && gpucol_lower_get_safe(l, constant, &value) ?
		cuts_of(get_opcode(op), &value, 1) : NULL;
}

/* The column in a list, or not in one: NULL there leaves doubt, which turns do not know. */
static GpucolCuts *
listed(GpucolLower *l, const ScalarArrayOpExpr *expr)
{
	ArrayType  *array;
	Datum		value;
	Datum	   *items;
	bool	   *nulls;
	int			n;

	if (!is_numeric_column(linitial(expr->args)) ||
		expr->opfuncid != (expr->useOr ? F_NUMERIC_EQ : F_NUMERIC_NE) ||
		!gpucol_lower_get_safe(l, lsecond(expr->args), &value))
		return NULL;
	array = DatumGetArrayTypeP(value);
	if (ARR_ELEMTYPE(array) != NUMERICOID || array_contains_nulls(array))
		return NULL;
	deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	return n == 0 ? NULL : cuts_of(expr->opfuncid, items, n);
}

GpucolCuts *
gpucol_match_numeric(GpucolLower *l, const Expr *expr)
{
	if (IsA(expr, ScalarArrayOpExpr))
		return listed(l, (const ScalarArrayOpExpr *) expr);
	return list_length(((const OpExpr *) expr)->args) == 2 ? compared(l, (const OpExpr *) expr) : NULL;
}

GpucolCuts *
gpucol_match_numeric_combine(const GpucolCuts *a, const GpucolCuts *b, bool both)
{
	GpucolCuts *cuts = palloc0(sizeof(GpucolCuts));
	GpucolCut  *places = palloc((a->n + b->n + 1) * sizeof(GpucolCut));
	bool		x = a->first;
	bool		y = b->first;
	bool		holds = both ? x && y : x || y;

	cuts->first = holds;
	cuts->numbers = true;
	cuts->cuts = places;
	for (int i = 0, j = 0; i < a->n || j < b->n;)
	{
		int			order = i == a->n ? 1 : j == b->n ? -1 : compare_cuts(&a->cuts[i], &b->cuts[j]);
		const GpucolCut *place = order <= 0 ? &a->cuts[i] : &b->cuts[j];

		x ^= order <= 0;
		y ^= order >= 0;
		i += order <= 0;
		j += order >= 0;
		if ((both ? x && y : x || y) != holds)
		{
			places[cuts->n++] = *place;
			holds = !holds;
		}
	}
	return cuts;
}

/* ---- deciding ---- */

bool
gpucol_match_numeric_holds(const GpucolCuts *cuts, const GpucolBytes *value)
{
	int			low = 0;
	int			high = cuts->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = compare(value, &cuts->cuts[middle].value);

		if (order > 0 || (order == 0 && cuts->cuts[middle].place == GPUCOL_CUT_BEFORE))
			low = middle + 1;
		else
			high = middle;
	}
	return cuts->first != (low % 2 == 1);
}
