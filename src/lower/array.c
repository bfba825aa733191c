/*-------------------------------------------------------------------------
 *
 * array.c
 *	  value op ANY (array) and value op ALL (array), inside larger expressions;
 *	  as conjuncts over a column they are ranges (lower/range.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "lower/array_value.h"
#include "lower/lower.h"

/* Comparisons are spelt out for at most this many elements. */
#define MAX_SPELT_OUT		64

/* A power of ten that a mantissa is divided by. */
#define MAX_SHIFT			36

/* The elements of the array. */
typedef struct Elements
{
	Oid			type;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	bool		known;
} Elements;

/* A boolean constant as a register. */
static uint16
bool_of(GpucolLower *l, bool value, bool isnull)
{
	GpucolValue v;

	gpucol_lower_load(l, BOOLOID, BoolGetDatum(value), isnull, true, &v);
	return v.reg;
}

int
gpucol_lower_compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/*
 * The integer that an element is among values: its own, or its mantissa at their scale.
 * *none if no value equals it.
 */
static bool
element_word(GpucolLower *l, const GpucolValue *value, const Elements *e, int i, int64 *word, bool *none)
{
	GpucolConst c;
	int			scale;
	int			digits;
	__int128	mantissa;
	__int128	unit;

	*none = false;
	if (!gpucol_lower_datum(l, e->type, e->values[i], false, e->known, &c, &scale, &digits))
		return false;
	if (value->cls == GPUCOL_CLASS_I)
	{
		*word = c.v.i;
		return true;
	}
	mantissa = (__int128) (((unsigned __int128) (uint64) c.v.d.hi << 64) | c.v.d.lo);
	if (mantissa == 0)
		scale = value->scale;
	*none = scale > value->scale ? scale - value->scale > MAX_SHIFT :
		digits + value->scale - scale > GPUCOL_INT64_DIGITS;
	unit = *none ? 1 : gpucol_lower_power10(abs(scale - value->scale));
	*none |= scale > value->scale && mantissa % unit != 0;
	if (!*none)
		mantissa = scale > value->scale ? mantissa / unit : mantissa * unit;
	*none |= mantissa != (int64) mantissa;
	*word = (int64) mantissa;
	return true;
}

/* value IN (integers, or decimals that fit them), NULL elements apart. */
static bool
lower_in(GpucolLower *l, const GpucolValue *value, const Elements *e,
		 uint16 *reg)
{
	uint16		word = value->reg;
	int64	   *sorted = palloc(Max(e->n, 1) * sizeof(int64));
	GpucolConst c;
	int			n = 0;
	int			first;
	bool		none;

	for (int i = 0; i < e->n; i++)
	{
		if (e->nulls[i])
			continue;
		if (!element_word(l, value, e, i, &sorted[n], &none))
			return false;
		n += !none;
	}
	if (value->cls == GPUCOL_CLASS_D)
		word = gpucol_lower_emit(l, GPUCOL_OP_D_TO_I, value->reg, GPUCOL_NO_REG, GPUCOL_NO_REG,
								 sizeof(int64));
	first = l->nconsts;
	if (n > GPUCOL_LOWER_MAX_IN)
		return gpucol_lower_decline(l, "array has more than %d elements",
									GPUCOL_LOWER_MAX_IN);
	qsort(sorted, n, sizeof(int64), gpucol_lower_compare_int64);
	memset(&c, 0, sizeof(c));
	c.cls = GPUCOL_CLASS_I;
	for (int i = 0; i < n; i++)
	{
		if (i > 0 && sorted[i] == sorted[i - 1])
			continue;
		c.v.i = sorted[i];
		gpucol_lower_add_const(l, &c);
	}
	*reg = gpucol_lower_emit(l, GPUCOL_OP_IN_I, word, first,
							 l->nconsts - first, 0);
	return true;
}

/* value op element, for one element that is not NULL. */
static bool
compare_element(GpucolLower *l, const GpucolFunction *f,
				const GpucolValue *value, const Elements *e, int i, uint16 *reg)
{
	GpucolValue args[2];
	GpucolValue result;

	args[0] = *value;
	if (!gpucol_lower_load(l, e->type, e->values[i], false, e->known, &args[1]) ||
		!gpucol_lower_apply(l, f, args, 2, &result))
		return false;
	*reg = result.reg;
	return true;
}

/* value op e1 OR value op e2 ..., or the same with AND. */
static bool
spell_out(GpucolLower *l, const GpucolFunction *f, const GpucolValue *value,
		  const Elements *e, bool use_or, uint16 *reg)
{
	*reg = bool_of(l, !use_or, false);
	if (e->n > MAX_SPELT_OUT)
		return gpucol_lower_decline(l, "array has more than %d elements",
									MAX_SPELT_OUT);
	for (int i = 0; i < e->n; i++)
	{
		uint16		test;

		if (e->nulls[i])
			continue;
		if (!compare_element(l, f, value, e, i, &test))
			return false;
		*reg = gpucol_lower_emit(l, use_or ? GPUCOL_OP_OR : GPUCOL_OP_AND,
								 *reg, test, GPUCOL_NO_REG, 0);
	}
	return true;
}

/* The elements of a constant array; one placeholder where it is not known. */
static bool
array_elements(GpucolLower *l, Expr *array, Elements *e, bool *isnull)
{
	static Datum no_value = (Datum) 0;
	static bool not_null = false;
	Datum		value;
	ArrayType  *arr;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	if (!gpucol_lower_is_constant(array) ||
		(l->conditional > 0 && !gpucol_lower_is_safe_constant(l, array)))
		return gpucol_lower_decline(l, "array is not constant");
	e->known = gpucol_lower_eval(l, array, &value, isnull);
	e->type = get_element_type(getBaseType(exprType((Node *) array)));
	if (!e->known)
	{
		e->values = &no_value;
		e->nulls = &not_null;
		e->n = 1;
		return true;
	}
	if (*isnull)
		return true;
	arr = DatumGetArrayTypeP(value);
	get_typlenbyvalalign(e->type, &typlen, &typbyval, &typalign);
	deconstruct_array(arr, e->type, typlen, typbyval, typalign, &e->values,
					  &e->nulls, &e->n);
	return true;
}

/* Is it IN, or NOT IN, a list that is looked up rather than spelt out? */
static bool
is_list(const ScalarArrayOpExpr *expr, const GpucolFunction *f, const GpucolValue *value, int n)
{
	if (value->cls == GPUCOL_CLASS_I)
		return n > 1 && f->op == (expr->useOr ? GPUCOL_OP_EQ_I : GPUCOL_OP_NE_I);
	return n > MAX_SPELT_OUT && value->cls == GPUCOL_CLASS_D && !value->packed &&
		value->digits <= GPUCOL_INT64_DIGITS &&
		f->op == (expr->useOr ? GPUCOL_OP_EQ_D : GPUCOL_OP_NE_D);
}

/*
 * Lower value op ANY (array) or value op ALL (array), over an array that is
 * constant for the scan or a column.
 */
bool
gpucol_lower_array_op(GpucolLower *l, ScalarArrayOpExpr *expr, GpucolValue *out)
{
	const GpucolFunction *f = gpucol_lower_function(gpucol_lower_enum_function(expr->opfuncid, expr->args));
	GpucolValue value;
	Elements	e;
	bool		isnull;
	bool		has_null = false;

	if (!gpucol_lower_is_constant(lsecond(expr->args)))
		return gpucol_lower_any_item(l, expr, out);
	if (f == NULL || gpucol_opcode_class((GpucolOpcode) f->op, 0) != GPUCOL_CLASS_B)
		return gpucol_lower_decline(l, "function %s has no counterpart in the engines",
									format_procedure(expr->opfuncid));
	if (!gpucol_lower_expr(l, linitial(expr->args), &value) ||
		!array_elements(l, lsecond(expr->args), &e, &isnull))
		return false;
	out->cls = GPUCOL_CLASS_B;
	out->scale_reg = GPUCOL_NO_REG;
	if (isnull)
	{
		out->reg = bool_of(l, false, true);
		return true;
	}
	for (int i = 0; i < e.n; i++)
		has_null |= e.nulls[i];
	if (is_list(expr, f, &value, e.n))
	{
		if (!lower_in(l, &value, &e, &out->reg))
			return false;
		if (!expr->useOr)
			out->reg = gpucol_lower_emit(l, GPUCOL_OP_NOT, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	}
	else if (!spell_out(l, f, &value, &e, expr->useOr, &out->reg))
		return false;
	if (has_null)
		out->reg = gpucol_lower_emit(l, expr->useOr ? GPUCOL_OP_OR : GPUCOL_OP_AND,
									 out->reg, bool_of(l, false, true),
									 GPUCOL_NO_REG, 0);
	return true;
}
