/*-------------------------------------------------------------------------
 *
 * match_array.c
 *	  Conditions on a column of arrays and constants that are decided on the bytes.
 *
 *	  sizes					cardinality(), array_length() and the like compared with a constant;
 *	  one element			compared with a constant;
 *	  ANY and ALL			a constant compared with each element;
 *	  sets					@>, <@ and && of the column and a constant array.
 *
 * Integers, dates, times and floats are compared as integers of the same order
 * (gpucol_float_order), texts and byte strings as bytes, for equality alone.  The same forms, and what AND, OR and
 * NOT make of them, engines decide on packed elements (kernel/array_test.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "kernel/bytes_order.h"
#include "lower/array_value.h"
#include "lower/match_array.h"
#include "lower/match_value.h"

#define NO		0
#define YES		1
#define UNKNOWN 2

typedef GpucolArrayComparison Comparison;

/* ---- recognising ---- */

/* The column itself? */
static bool
is_column(Node *node)
{
	return IsA(gpucol_lower_array_itself(node), Var);
}

/* A constant as an integer of the order of an element's class. */
static bool
constant_number(GpucolLower *l, GpucolClass cls, Oid type, Datum value, int64 *number)
{
	GpucolConst c;
	int			scale;
	int			digits;

	if (!gpucol_lower_datum(l, type, value, false, true, &c, &scale, &digits) || c.cls != cls)
		return false;
	*number = cls == GPUCOL_CLASS_F ? gpucol_float_order(c.v.f) : c.v.i;
	return true;
}

/* The numbers that a comparison with x takes; `left`: x is its left operand. */
static bool
set_numbers(const GpucolFunction *f, GpucolClass cls, bool left, int64 x, Comparison *c)
{
	bool		floats = cls == GPUCOL_CLASS_F;

	*c = (Comparison) {.least = PG_INT64_MIN,.most = PG_INT64_MAX};
	if (f == NULL)
		return false;
	if (f->op == (floats ? GPUCOL_OP_EQ_F : GPUCOL_OP_EQ_I) || f->op == (floats ? GPUCOL_OP_NE_F : GPUCOL_OP_NE_I))
	{
		c->least = c->most = x;
		c->negate = f->op == (floats ? GPUCOL_OP_NE_F : GPUCOL_OP_NE_I);
		return true;
	}
	if (f->op == (floats ? GPUCOL_OP_LE_F : GPUCOL_OP_LE_I))
	{
		if (left != f->swap)
			c->least = x;
		else
			c->most = x;
		return true;
	}
	if (f->op != (floats ? GPUCOL_OP_LT_F : GPUCOL_OP_LT_I))
		return false;
	/* what is beyond the ends is nothing: more than the greatest number, less than the least one */
	if (left != f->swap)
	{
		c->least = x == PG_INT64_MAX ? x : x + 1;
		c->most = x == PG_INT64_MAX ? PG_INT64_MIN : PG_INT64_MAX;
	}
	else
	{
		c->most = x == PG_INT64_MIN ? x : x - 1;
		c->least = x == PG_INT64_MIN ? PG_INT64_MAX : PG_INT64_MIN;
	}
	return true;
}

/* Is a text's equality one of bytes? */
static bool
is_bytewise(const GpucolElement *element, Oid collation)
{
	return element->type == BYTEAOID || (OidIsValid(collation) && get_collation_isdeterministic(collation));
}

/* Get a constant; *unknown: it is NULL, or its value is not known when it is planned. */
static bool
get_constant(GpucolLower *l, Node *node, Datum *value, bool *unknown)
{
	if (!gpucol_lower_is_safe_constant(l, (Expr *) node))
		return false;
	if (gpucol_lower_eval(l, (Expr *) node, value, unknown))
		return true;
	*unknown = true;
	return l->planstate == NULL;
}

/* A comparison of elements with a constant. */
static bool
set_comparison(GpucolLower *l, const GpucolElement *element, Oid funcid, Oid collation, bool left, Node *constant,
			   GpucolArrayTest *match)
{
	Comparison *c = &match->comparison;
	bool		negate = funcid == F_TEXTNE || funcid == F_BYTEANE;
	Datum		value = (Datum) 0;
	int64		number = 0;

	if (element->type == NUMERICOID || !get_constant(l, constant, &value, &match->unknown))
		return false;
	if (element->cls != GPUCOL_CLASS_S)
		return (match->unknown || constant_number(l, element->cls, exprType(constant), value, &number)) &&
			set_numbers(gpucol_lower_function(funcid), element->cls, left, number, c);
	*c = (Comparison) {.negate = negate};
	if (!match->unknown)
		c->equal = gpucol_match_contents(value);
	return (negate || funcid == F_TEXTEQ || funcid == F_BYTEAEQ) && is_bytewise(element, collation);
}

static void
set_element(GpucolArrayTest *match, const GpucolElement *element)
{
	match->cls = element->cls;
	match->width = element->width;
}

/* size op constant, element op constant, or the same with the constant on the left */
static bool
match_comparison(GpucolLower *l, const OpExpr *op, GpucolArrayTest *match)
{
	GpucolElement element = {INT4OID, GPUCOL_CLASS_I, sizeof(int32)};

	for (int side = 0; side < 2; side++)
	{
		Node	   *node = list_nth(op->args, side);
		Node	   *constant = list_nth(op->args, 1 - side);
		const FuncExpr *func = (const FuncExpr *) node;
		const SubscriptingRef *ref = (const SubscriptingRef *) node;
		const Const *subscript;

		if (IsA(node, FuncExpr) && gpucol_lower_array_size(func->funcid, func->args, &match->size))
		{
			match->kind = GPUCOL_ARRAY_TEST_SIZE;
			return is_column(linitial(func->args)) &&
				set_comparison(l, &element, op->opfuncid, op->inputcollid, side == 1, constant, match);
		}
		if (!gpucol_lower_is_item(node) || !is_column((Node *) ref->refexpr))
			continue;
		subscript = linitial(ref->refupperindexpr);
		if (!IsA(subscript, Const) || subscript->constisnull ||
			!gpucol_lower_element(ref->refcontainertype, &element))
			return false;
		match->kind = GPUCOL_ARRAY_TEST_ITEM;
		match->subscript = DatumGetInt32(subscript->constvalue);
		set_element(match, &element);
		return set_comparison(l, &element, op->opfuncid, op->inputcollid, side == 1, constant, match);
	}
	return false;
}

static int
compare_strings(const void *a, const void *b)
{
	return gpucol_bytes_compare(a, b);
}

/* The set of a constant array's elements. */
static bool
make_set(GpucolLower *l, Datum value, Oid type, GpucolArrayTest *match)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *items;
	bool	   *nulls;
	int			nitems;
	int			n = 0;

	if (ARR_ELEMTYPE(array) != type)
		return false;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &items, &nulls, &nitems);
	match->numbers = palloc(Max(nitems, 1) * sizeof(int64));
	match->strings = palloc(Max(nitems, 1) * sizeof(GpucolBytes));
	for (int i = 0; i < nitems; i++)
	{
		match->has_null |= nulls[i];
		if (nulls[i])
			continue;
		if (match->cls == GPUCOL_CLASS_S)
			match->strings[match->n++] = gpucol_match_contents(items[i]);
		else if (!constant_number(l, match->cls, type, items[i], &match->numbers[match->n++]))
			return false;
	}
	if (match->cls == GPUCOL_CLASS_S)
		qsort(match->strings, match->n, sizeof(GpucolBytes), compare_strings);
	else
		qsort(match->numbers, match->n, sizeof(int64), gpucol_lower_compare_int64);
	for (int i = 0; i < match->n; i++)
	{
		if (match->cls == GPUCOL_CLASS_S ?
			n > 0 && compare_strings(&match->strings[i], &match->strings[n - 1]) == 0 :
			n > 0 && match->numbers[i] == match->numbers[n - 1])
			continue;
		match->strings[n] = match->strings[i];
		match->numbers[n++] = match->numbers[i];
	}
	match->n = n;
	return true;
}

/* column @> constant and its kin */
static bool
match_set(GpucolLower *l, const OpExpr *op, GpucolArrayTest *match)
{
	bool		swapped = !is_column(linitial(op->args));
	Node	   *column = list_nth(op->args, swapped);
	GpucolElement element;
	Datum		value;

	if (op->opfuncid == F_ARRAYOVERLAP)
		match->kind = GPUCOL_ARRAY_TEST_OVERLAPS;
	else if (op->opfuncid == F_ARRAYCONTAINS || op->opfuncid == F_ARRAYCONTAINED)
		match->kind = (op->opfuncid == F_ARRAYCONTAINS) != swapped ? GPUCOL_ARRAY_TEST_CONTAINS :
			GPUCOL_ARRAY_TEST_CONTAINED;
	else
		return false;
	if (!is_column(column) || !gpucol_lower_element(exprType(column), &element))
		return false;
	set_element(match, &element);
	return element.type != NUMERICOID &&
		(element.cls != GPUCOL_CLASS_S || is_bytewise(&element, op->inputcollid)) &&
		get_constant(l, list_nth(op->args, 1 - swapped), &value, &match->unknown) &&
		(match->unknown || make_set(l, value, element.type, match));
}

/* constant op ANY (column), constant op ALL (column) */
static bool
match_each(GpucolLower *l, const ScalarArrayOpExpr *expr, GpucolArrayTest *match)
{
	Node	   *column = lsecond(expr->args);
	GpucolElement element;

	match->kind = expr->useOr ? GPUCOL_ARRAY_TEST_ANY : GPUCOL_ARRAY_TEST_ALL;
	if (!is_column(column) || !gpucol_lower_element(exprType(column), &element))
		return false;
	set_element(match, &element);
	return set_comparison(l, &element, expr->opfuncid, expr->inputcollid, true, linitial(expr->args), match);
}

GpucolArrayTest *
gpucol_match_array_create(GpucolLower *l, Expr *expr)
{
	GpucolArrayTest *match = palloc0(sizeof(GpucolArrayTest));
	OpExpr	   *op = (OpExpr *) expr;

	if (IsA(expr, ScalarArrayOpExpr) && match_each(l, (ScalarArrayOpExpr *) expr, match))
		return match;
	if (IsA(expr, OpExpr) && list_length(op->args) == 2 &&
		(match_comparison(l, op, match) || match_set(l, op, match)))
		return match;
	pfree(match);
	return NULL;
}

/* Conditions are nested so deep at most: threads walk them. */
#define MOST_LEVELS 16

static GpucolArrayTest *create_tree(GpucolLower *l, Expr *expr, int level);

/* AND, OR, NOT */
static GpucolArrayTest *
create_bool(GpucolLower *l, const BoolExpr *expr, int level)
{
	GpucolArrayTest *match = palloc0(sizeof(GpucolArrayTest));
	ListCell   *lc;

	match->kind = expr->boolop == AND_EXPR ? GPUCOL_ARRAY_TEST_AND : expr->boolop == OR_EXPR ? GPUCOL_ARRAY_TEST_OR :
		GPUCOL_ARRAY_TEST_NOT;
	match->args = palloc(list_length(expr->args) * sizeof(GpucolArrayTest *));
	foreach(lc, expr->args)
	{
		GpucolArrayTest *arg = create_tree(l, lfirst(lc), level + 1);

		if (arg == NULL)
			return NULL;
		match->args[match->nargs++] = arg;
	}
	return match;
}

static GpucolArrayTest *
create_tree(GpucolLower *l, Expr *expr, int level)
{
	const NullTest *test = (const NullTest *) expr;
	GpucolArrayTest *match;

	if (IsA(expr, BoolExpr))
		return level < MOST_LEVELS ? create_bool(l, (BoolExpr *) expr, level) : NULL;
	if (!IsA(expr, NullTest))
		return gpucol_match_array_create(l, expr);
	if (test->argisrow || !is_column((Node *) test->arg) || !gpucol_lower_is_array(exprType((Node *) test->arg)))
		return NULL;
	match = palloc0(sizeof(GpucolArrayTest));
	match->kind = GPUCOL_ARRAY_TEST_IS_NULL;
	match->comparison.negate = test->nulltesttype == IS_NOT_NULL;
	return match;
}

GpucolArrayTest *
gpucol_match_array_tree(GpucolLower *l, Expr *expr)
{
	return create_tree(l, expr, 0);
}

/* ---- deciding ---- */

/* An element as an integer of its class's order. */
static int64
number_of(GpucolClass cls, GpucolBytes item)
{
	return cls == GPUCOL_CLASS_F ? gpucol_float_order(gpucol_array_float(item)) : gpucol_array_integer(item);
}

static bool
number_passes(const Comparison *c, int64 number)
{
	return (number >= c->least && number <= c->most) != c->negate;
}

static bool
item_passes(const GpucolArrayTest *match, GpucolBytes item)
{
	const Comparison *c = &match->comparison;

	if (match->cls != GPUCOL_CLASS_S)
		return number_passes(c, number_of(match->cls, item));
	return (item.len == c->equal.len && memcmp(item.data, c->equal.data, item.len) == 0) != c->negate;
}

/* How many of n integers pass a comparison. */
#define COUNT_PASSING(T) \
	do \
	{ \
		for (uint32_t i = 0; i < n; i++) \
		{ \
			T			value; \
\
			memcpy(&value, data + i * sizeof(T), sizeof(T)); \
			inside += (uint64) value - least <= range; \
		} \
	} while (0)

static uint32_t
count_passing(const Comparison *c, const char *data, int width, uint32_t n)
{
	uint64		least = (uint64) c->least;
	uint64		range = (uint64) c->most - least;
	uint32_t	inside = 0;

	if (c->least > c->most)
		return c->negate ? n : 0;
	if (width == sizeof(int16))
		COUNT_PASSING(int16);
	else if (width == sizeof(int32))
		COUNT_PASSING(int32);
	else
		COUNT_PASSING(int64);
	return c->negate ? n - inside : inside;
}

/* Are the elements of an array integers, none of them NULL, all of whose bytes are there? */
static bool
is_plain(const GpucolArrayTest *match, const GpucolArrayValue *array)
{
	return match->cls == GPUCOL_CLASS_I && array->present == NULL &&
		(uint64) array->nitems * match->width <= array->end - array->first;
}

/* ANY: is one of the elements so?  ALL: are all? */
static uint8_t
decide_each(const GpucolArrayTest *match, const GpucolArrayValue *array)
{
	bool		any = match->kind == GPUCOL_ARRAY_TEST_ANY;
	GpucolArrayPlace place = gpucol_array_begin(array);
	GpucolBytes item;
	bool		has_null = false;
	bool		isnull;

	if (is_plain(match, array))
	{
		uint32_t	passing = count_passing(&match->comparison, array->base + array->first, match->width,
											array->nitems);

		return any ? passing > 0 : passing == array->nitems;
	}
	while (gpucol_array_next(array, match->width, &place, &item, &isnull))
	{
		has_null |= isnull;
		if (!isnull && item_passes(match, item) == any)
			return any ? YES : NO;
	}
	return has_null ? UNKNOWN : any ? NO : YES;
}

/* The place of an element in the set, or -1. */
static int
find_in_set(const GpucolArrayTest *match, GpucolBytes item)
{
	void	   *found;
	int64		number;

	if (match->cls == GPUCOL_CLASS_S)
	{
		found = bsearch(&item, match->strings, match->n, sizeof(GpucolBytes), compare_strings);
		return found == NULL ? -1 : (int) ((GpucolBytes *) found - match->strings);
	}
	number = number_of(match->cls, item);
	found = bsearch(&number, match->numbers, match->n, sizeof(int64), gpucol_lower_compare_int64);
	return found == NULL ? -1 : (int) ((int64 *) found - match->numbers);
}

/* Has an array elements first .. first + 63 of the set? */
static bool
has_some(const GpucolArrayTest *match, const GpucolArrayValue *array, int first)
{
	GpucolArrayPlace place = gpucol_array_begin(array);
	int			missing = Min(match->n - first, 64);
	uint64		seen = 0;
	GpucolBytes item;
	bool		isnull;

	while (missing > 0 && gpucol_array_next(array, match->width, &place, &item, &isnull))
	{
		int			at = isnull ? -1 : find_in_set(match, item) - first;

		if (at < 0 || at >= 64 || (seen >> at & 1) != 0)
			continue;
		seen |= UINT64CONST(1) << at;
		missing--;
	}
	return missing == 0;
}

/* Has it all of them? */
static bool
has_all(const GpucolArrayTest *match, const GpucolArrayValue *array)
{
	if (match->has_null)
		return false;
	for (int first = 0; first < match->n; first += 64)
		if (!has_some(match, array, first))
			return false;
	return true;
}

static bool
decide_set(const GpucolArrayTest *match, const GpucolArrayValue *array)
{
	GpucolArrayPlace place = gpucol_array_begin(array);
	GpucolBytes item;
	bool		isnull;

	if (match->kind == GPUCOL_ARRAY_TEST_CONTAINS)
		return has_all(match, array);
	while (gpucol_array_next(array, match->width, &place, &item, &isnull))
	{
		int			at = isnull ? -1 : find_in_set(match, item);

		if (match->kind == GPUCOL_ARRAY_TEST_CONTAINED && at < 0)
			return false;
		if (match->kind == GPUCOL_ARRAY_TEST_OVERLAPS && at >= 0)
			return true;
	}
	return match->kind == GPUCOL_ARRAY_TEST_CONTAINED;
}

uint8_t
gpucol_match_array_decide(const GpucolArrayTest *match, GpucolBytes value)
{
	GpucolArrayValue array;
	GpucolBytes item;
	int64		size;

	if (!gpucol_array_open(value, &array))
		return UNKNOWN;
	if (match->unknown)
		return array.nitems > 0 ? UNKNOWN : match->kind == GPUCOL_ARRAY_TEST_ANY ? NO :
			match->kind == GPUCOL_ARRAY_TEST_ALL ? YES : UNKNOWN;
	switch (match->kind)
	{
		case GPUCOL_ARRAY_TEST_SIZE:
			return gpucol_array_size(&array, match->size, &size) ? number_passes(&match->comparison, size) : UNKNOWN;
		case GPUCOL_ARRAY_TEST_ITEM:
			return gpucol_array_item(&array, match->width, match->subscript, &item) ?
				item_passes(match, item) : UNKNOWN;
		case GPUCOL_ARRAY_TEST_ANY:
		case GPUCOL_ARRAY_TEST_ALL:
			return decide_each(match, &array);
		default:
			return decide_set(match, &array);
	}
}
