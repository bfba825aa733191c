/*-------------------------------------------------------------------------
 *
 * intervals.c
 *	  Conditions over doubles that enclose numbers.
 *
 * Results that are numerics take a hundred times longer to form, and to compute with, than the integers that they
 * come from take to be read.  Most rows fail a condition, or meet it, clearly: so conditions are computed over
 * intervals of doubles first (R. E. Moore, Interval Analysis, 1966), and PostgreSQL evaluates them for rows of which
 * that leaves it open: where intervals overlap, or an error may be raised.
 *
 * Each result is widened by more than what rounds it: a double's own half unit in the last place, and the
 * places at which numeric cuts quotients (16 significant digits) and roots (the places of the variance).
 * A value that may raise an error (division by what may be zero, a result beyond its type) says so, and
 * what comes after it in PostgreSQL's order of evaluation decides nothing then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "exec/intervals.h"
#include "lower/lower.h"

/* By how much of itself a result is widened: of a double, of a numeric's quotient, of its root. */
#define DOUBLE_MARGIN	1e-15
#define QUOTIENT_MARGIN	1e-11
#define ROOT_MARGIN		1e-7
/* And by how much at least where it is not known to be zero; no float8 underflows above it. */
#define LEAST			1e-280
/* No double overflows below it. */
#define MOST			1e290
/* Integers up to here are doubles. */
#define EXACT			9007199254740992.0
/* A decimal other than 0 with so many fractional digits is above LEAST. */
#define MOST_DIGITS		240

/* What a condition may be, and anything. */
#define MAY_BE_EITHER	(GPUCOL_MAY_BE_TRUE | GPUCOL_MAY_BE_FALSE)
#define MAY_BE_ANY		(GPUCOL_MAY_BE_NULL | GPUCOL_MAY_BE_VALUE | GPUCOL_MAY_RAISE | MAY_BE_EITHER)

typedef enum NodeKind
{
	NODE_UNKNOWN,				/* nothing is known of it */
	NODE_RANGE,					/* a constant */
	NODE_LEAF,					/* `number` of the caller */
	NODE_SAME,					/* its argument, widened */
	NODE_NEGATE,
	NODE_ABS,
	NODE_ROUND,					/* to `number` places; of a numeric(p, s), which is less than `limit` */
	NODE_ADD,
	NODE_SUBTRACT,
	NODE_MULTIPLY,
	NODE_DIVIDE,
	NODE_LESS,
	NODE_LESS_EQUAL,
	NODE_EQUAL,
	NODE_NOT_EQUAL,
	NODE_GREATER_EQUAL,
	NODE_GREATER,
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	NODE_IS_NULL,
	NODE_IS_NOT_NULL,
	NODE_COALESCE,
	NODE_NULLIF,				/* its equality, whose first argument is the result */
	NODE_CASE					/* conditions and results in turn, then the default */
} NodeKind;

typedef struct IntervalNode
{
	NodeKind	kind;
	Oid			type;			/* of a number: INT4OID stands for INT2OID too */
	int			number;
	int			nargs;
	struct IntervalNode **args;
	GpucolInterval range;
	double		limit;
} IntervalNode;

struct GpucolIntervals
{
	PlanState  *ps;
	GpucolIntervalLeaf leaf;
	const void *arg;
	GpucolIntervalOf range;
	IntervalNode *tested;		/* by CASE x WHEN: x, while it is made */
	bool		certain;		/* PostgreSQL evaluates what is being made for some row, come what may */
	bool		all_known;		/* so far */
	int			nconjuncts;
	IntervalNode **conjuncts;
};

/* What is computed for one row. */
typedef struct IntervalRow
{
	const GpucolIntervals *intervals;
	const void *row;
} IntervalRow;

/* A function that is known: which node it is, and the type of its result. */
typedef struct KnownFunction
{
	Oid			function;
	NodeKind	kind;
	Oid			type;
} KnownFunction;

#define COMPARED(type) \
	{F_##type##LT, NODE_LESS, BOOLOID}, {F_##type##LE, NODE_LESS_EQUAL, BOOLOID}, {F_##type##EQ, NODE_EQUAL, BOOLOID}, \
	{F_##type##NE, NODE_NOT_EQUAL, BOOLOID}, {F_##type##GE, NODE_GREATER_EQUAL, BOOLOID}, \
	{F_##type##GT, NODE_GREATER, BOOLOID}
#define COMPUTED(type, result) \
	{F_##type##PL, NODE_ADD, result}, {F_##type##MI, NODE_SUBTRACT, result}, {F_##type##MUL, NODE_MULTIPLY, result}, \
	{F_##type##DIV, NODE_DIVIDE, result}

static const KnownFunction known_functions[] = {
	COMPARED(INT2), COMPARED(INT4), COMPARED(INT8), COMPARED(INT24), COMPARED(INT42), COMPARED(INT28), COMPARED(INT82),
	COMPARED(INT48), COMPARED(INT84), COMPARED(FLOAT8), COMPARED(NUMERIC_),
	COMPUTED(INT4, INT4OID), COMPUTED(INT8, INT8OID), COMPUTED(INT24, INT4OID), COMPUTED(INT42, INT4OID),
	COMPUTED(INT28, INT8OID), COMPUTED(INT82, INT8OID), COMPUTED(INT48, INT8OID), COMPUTED(INT84, INT8OID),
	COMPUTED(FLOAT8, FLOAT8OID),
	{F_NUMERIC_ADD, NODE_ADD, NUMERICOID}, {F_NUMERIC_SUB, NODE_SUBTRACT, NUMERICOID},
	{F_NUMERIC_MUL, NODE_MULTIPLY, NUMERICOID}, {F_NUMERIC_DIV, NODE_DIVIDE, NUMERICOID},
	{F_INT4UM, NODE_NEGATE, INT4OID}, {F_INT8UM, NODE_NEGATE, INT8OID}, {F_FLOAT8UM, NODE_NEGATE, FLOAT8OID},
	{F_NUMERIC_UMINUS, NODE_NEGATE, NUMERICOID},
	{F_INT4ABS, NODE_ABS, INT4OID}, {F_INT8ABS, NODE_ABS, INT8OID}, {F_FLOAT8ABS, NODE_ABS, FLOAT8OID},
	{F_ABS_INT4, NODE_ABS, INT4OID}, {F_ABS_INT8, NODE_ABS, INT8OID}, {F_ABS_FLOAT8, NODE_ABS, FLOAT8OID},
	{F_NUMERIC_ABS, NODE_ABS, NUMERICOID}, {F_ABS_NUMERIC, NODE_ABS, NUMERICOID},
	{F_INT8_INT4, NODE_SAME, INT8OID}, {F_INT8_INT2, NODE_SAME, INT8OID}, {F_INT4_INT2, NODE_SAME, INT4OID},
	{F_NUMERIC_INT2, NODE_SAME, NUMERICOID}, {F_NUMERIC_INT4, NODE_SAME, NUMERICOID},
	{F_NUMERIC_INT8, NODE_SAME, NUMERICOID},
	{F_FLOAT8_INT2, NODE_SAME, FLOAT8OID}, {F_FLOAT8_INT4, NODE_SAME, FLOAT8OID}, {F_FLOAT8_INT8, NODE_SAME, FLOAT8OID},
	{F_FLOAT8_NUMERIC, NODE_SAME, FLOAT8OID}, {F_NUMERIC_FLOAT8, NODE_SAME, NUMERICOID},
};

/* ---- what there is ---- */

const GpucolInterval gpucol_interval_unknown = {-INFINITY, INFINITY, MAY_BE_ANY};
const GpucolInterval gpucol_interval_null = {0, 0, GPUCOL_MAY_BE_NULL};

/* Powers of ten that are doubles. */
static const double powers[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};

static double
power10_of(int n)
{
	return n < (int) lengthof(powers) ? powers[n] : pow(10, n);
}

/* A range wider by a share of itself. */
static GpucolInterval
widened(double lo, double hi, double margin)
{
	return (GpucolInterval) {lo - fabs(lo) * margin - LEAST, hi + fabs(hi) * margin + LEAST, GPUCOL_MAY_BE_VALUE};
}

/* The range of nothing but one double. */
static GpucolInterval
exactly(double value)
{
	return (GpucolInterval) {value, value, GPUCOL_MAY_BE_VALUE};
}

/* An integer divided by a power of ten; nothing is known of what may be too small. */
GpucolInterval
gpucol_interval_decimal(__int128 mantissa, int scale)
{
	double		value = (double) mantissa;

	if (mantissa == 0 || (scale == 0 && fabs(value) <= EXACT))
		return exactly(value);
	if (scale > MOST_DIGITS)
		return gpucol_interval_unknown;
	value /= power10_of(scale);
	return widened(value, value, 4 * DOUBLE_MARGIN);
}

/* A float's; nothing is known of what is not finite. */
static GpucolInterval
float_range(double value, double margin)
{
	if (!(fabs(value) < MOST))
		return gpucol_interval_unknown;
	return margin == 0 ? exactly(value) : widened(value, value, margin);
}

GpucolInterval
gpucol_interval_float(double value)
{
	return float_range(value, 0);
}

GpucolInterval
gpucol_interval_float_root(double value)
{
	return value >= 0 && value < MOST ? float_range(sqrt(value), DOUBLE_MARGIN) : gpucol_interval_unknown;
}

/* Is a value zero, and nothing else? */
static bool
is_zero(GpucolInterval range)
{
	return range.lo == 0 && range.hi == 0;
}

GpucolInterval
gpucol_interval_sum(GpucolInterval x, GpucolInterval y)
{
	if (((x.may | y.may) & GPUCOL_MAY_RAISE) != 0)
		return gpucol_interval_unknown;
	return is_zero(y) ? x : widened(x.lo + y.lo, x.hi + y.hi, 4 * DOUBLE_MARGIN);
}

GpucolInterval
gpucol_interval_average(GpucolInterval sum, int64 count)
{
	if (is_zero(sum) || (sum.may & GPUCOL_MAY_RAISE) != 0)
		return sum;
	return widened(sum.lo / (double) count, sum.hi / (double) count, QUOTIENT_MARGIN);
}

GpucolInterval
gpucol_interval_bigint(GpucolInterval range)
{
	return fabs(range.lo) < EXACT ? range : gpucol_interval_unknown;
}

GpucolInterval
gpucol_interval_variance(const GpucolMoments *m)
{
	double		n = (double) m->count;
	double		squares = n * (double) m->squares;
	double		sum = (double) m->sum;
	double		error = (squares + sum * sum) * 8 * DOUBLE_MARGIN;
	double		unit;
	double		lo;
	double		hi;

	if (2 * m->scale > MOST_DIGITS)
		return gpucol_interval_unknown;
	unit = n * (n - (m->sample ? 1 : 0)) * power10_of(2 * m->scale);
	lo = Max(squares - sum * sum - error, 0) / unit;
	hi = Max(squares - sum * sum + error, 0) / unit;
	if (!m->root)
		return widened(lo, hi, QUOTIENT_MARGIN);
	return widened(sqrt(lo), sqrt(hi), ROOT_MARGIN);
}

/* ---- arithmetic ---- */

/* A result of an operation in a type: nothing that overflows it, or that a float8 may lose, goes unsaid. */
static GpucolInterval
of_type(GpucolInterval range, Oid type, bool may_underflow)
{
	if (isnan(range.lo) || isnan(range.hi) || range.lo < -MOST || range.hi > MOST)
		return gpucol_interval_unknown;
	if (type == INT4OID && (range.lo < PG_INT32_MIN || range.hi > PG_INT32_MAX))
		range.may |= GPUCOL_MAY_RAISE;
	if (type == INT8OID && (range.lo < -EXACT || range.hi > EXACT))
		range.may |= GPUCOL_MAY_RAISE;
	if (type == FLOAT8OID && may_underflow && range.lo < 2 * LEAST && range.hi > -2 * LEAST)
		range.may |= GPUCOL_MAY_RAISE;
	return range;
}

/* The range of the four products or quotients of ends. */
static GpucolInterval
of_ends(double a, double b, double c, double d, double margin)
{
	return widened(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)), margin);
}

/* A product or quotient, neither of whose operands is zero. */
static GpucolInterval
scaled(const IntervalNode *node, GpucolInterval x, GpucolInterval y)
{
	if (node->kind == NODE_MULTIPLY)
		return of_ends(x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi, 2 * DOUBLE_MARGIN);
	return of_ends(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi, QUOTIENT_MARGIN);
}

/* An operation of two numbers, neither of which is NULL. */
static GpucolInterval
compute(const IntervalNode *node, GpucolInterval x, GpucolInterval y)
{
	bool		whole = node->type == INT4OID || node->type == INT8OID;
	bool		product = node->kind == NODE_MULTIPLY || node->kind == NODE_DIVIDE;
	GpucolInterval range;

	if (node->kind == NODE_DIVIDE && y.lo <= 0 && y.hi >= 0)
		return gpucol_interval_unknown;
	if (product && (is_zero(x) || is_zero(y)))
		return exactly(0);
	if (product)
		range = scaled(node, x, y);
	else if (node->kind == NODE_ADD)
		range = (GpucolInterval) {x.lo + y.lo, x.hi + y.hi, GPUCOL_MAY_BE_VALUE};
	else
		range = (GpucolInterval) {x.lo - y.hi, x.hi - y.lo, GPUCOL_MAY_BE_VALUE};
	if (!whole && !product)
		range = widened(range.lo, range.hi, 2 * DOUBLE_MARGIN);
	else if (whole && product)	/* nothing of which is between integers */
		range = (GpucolInterval) {node->kind == NODE_DIVIDE ? ceil(range.lo) - 1 : rint(range.lo),
						 node->kind == NODE_DIVIDE ? floor(range.hi) + 1 : rint(range.hi), GPUCOL_MAY_BE_VALUE};
	return of_type(range, node->type, product);
}

/* A numeric rounded to some places. */
static GpucolInterval
rounded(const IntervalNode *node, GpucolInterval x)
{
	double		unit = 0.51 * pow(10, -node->number);
	GpucolInterval range = widened(x.lo - unit, x.hi + unit, DOUBLE_MARGIN);

	if (x.lo == x.hi && x.lo == rint(x.lo) && node->number >= 0)
		range = x;
	if (range.lo <= -node->limit || range.hi >= node->limit)
		range.may |= GPUCOL_MAY_RAISE;
	return of_type(range, NUMERICOID, false);
}

/* A comparison of two numbers, neither of which is NULL. */
static uint8
compare(NodeKind kind, GpucolInterval x, GpucolInterval y)
{
	switch (kind)
	{
		case NODE_LESS:
			return x.hi < y.lo ? GPUCOL_MAY_BE_TRUE : x.lo >= y.hi ? GPUCOL_MAY_BE_FALSE : MAY_BE_EITHER;
		case NODE_LESS_EQUAL:
			return x.hi <= y.lo ? GPUCOL_MAY_BE_TRUE : x.lo > y.hi ? GPUCOL_MAY_BE_FALSE : MAY_BE_EITHER;
		case NODE_GREATER:
			return compare(NODE_LESS, y, x);
		case NODE_GREATER_EQUAL:
			return compare(NODE_LESS_EQUAL, y, x);
		default:
			if (x.hi < y.lo || x.lo > y.hi)
				return kind == NODE_EQUAL ? GPUCOL_MAY_BE_FALSE : GPUCOL_MAY_BE_TRUE;
			if (x.lo == x.hi && y.lo == y.hi)	/* and equal */
				return kind == NODE_EQUAL ? GPUCOL_MAY_BE_TRUE : GPUCOL_MAY_BE_FALSE;
			return MAY_BE_EITHER;
	}
}

/* ---- evaluation ---- */

static GpucolInterval evaluate(const IntervalNode *node, const IntervalRow *row);

/* AND and OR: `decides` is what ends them. */
static GpucolInterval
evaluate_bool(const IntervalNode *node, const IntervalRow *row, uint8 decides, uint8 other)
{
	GpucolInterval result = {.may = other};

	for (int i = 0; i < node->nargs; i++)
	{
		uint8		may = evaluate(node->args[i], row).may;

		result.may |= may & GPUCOL_MAY_RAISE;
		if ((may & ~GPUCOL_MAY_RAISE) == decides)
		{
			result.may = (result.may & (GPUCOL_MAY_RAISE | decides)) | decides;
			return result;
		}
		if ((may & (GPUCOL_MAY_BE_NULL | decides | other)) == GPUCOL_MAY_BE_NULL)
			result.may &= ~other;
		result.may |= may & (GPUCOL_MAY_BE_NULL | decides);
	}
	return result;
}

static GpucolInterval
evaluate_not(const IntervalNode *node, const IntervalRow *row)
{
	uint8		may = evaluate(node->args[0], row).may;
	GpucolInterval result = {.may = may & (GPUCOL_MAY_BE_NULL | GPUCOL_MAY_RAISE)};

	if (may & GPUCOL_MAY_BE_TRUE)
		result.may |= GPUCOL_MAY_BE_FALSE;
	if (may & GPUCOL_MAY_BE_FALSE)
		result.may |= GPUCOL_MAY_BE_TRUE;
	return result;
}

static GpucolInterval
evaluate_null(const IntervalNode *node, const IntervalRow *row)
{
	uint8		may = evaluate(node->args[0], row).may;
	bool		asks_null = node->kind == NODE_IS_NULL;
	GpucolInterval result = {.may = may & GPUCOL_MAY_RAISE};

	if (may & GPUCOL_MAY_BE_NULL)
		result.may |= asks_null ? GPUCOL_MAY_BE_TRUE : GPUCOL_MAY_BE_FALSE;
	if (may & (GPUCOL_MAY_BE_VALUE | GPUCOL_MAY_BE_TRUE | GPUCOL_MAY_BE_FALSE))
		result.may |= asks_null ? GPUCOL_MAY_BE_FALSE : GPUCOL_MAY_BE_TRUE;
	return result;
}

/* What may be one or the other. */
static GpucolInterval
either(GpucolInterval x, GpucolInterval y)
{
	GpucolInterval result = {.may = x.may | y.may};

	if (!(x.may & GPUCOL_MAY_BE_VALUE) || !(y.may & GPUCOL_MAY_BE_VALUE))
	{
		result.lo = x.may & GPUCOL_MAY_BE_VALUE ? x.lo : y.lo;
		result.hi = x.may & GPUCOL_MAY_BE_VALUE ? x.hi : y.hi;
		return result;
	}
	result.lo = fmin(x.lo, y.lo);
	result.hi = fmax(x.hi, y.hi);
	return result;
}

static GpucolInterval
evaluate_case(const IntervalNode *node, const IntervalRow *row)
{
	GpucolInterval result = {.may = 0};

	for (int i = 0; i + 1 < node->nargs; i += 2)
	{
		uint8		may = evaluate(node->args[i], row).may;

		result.may |= may & GPUCOL_MAY_RAISE;
		if (may & GPUCOL_MAY_BE_TRUE)
			result = either(result, evaluate(node->args[i + 1], row));
		if (!(may & (GPUCOL_MAY_BE_FALSE | GPUCOL_MAY_BE_NULL)))
			return result;
	}
	return either(result, evaluate(node->args[node->nargs - 1], row));
}

static GpucolInterval
evaluate_coalesce(const IntervalNode *node, const IntervalRow *row)
{
	GpucolInterval result = {.may = 0};

	for (int i = 0; i < node->nargs; i++)
	{
		GpucolInterval arg = evaluate(node->args[i], row);
		bool		last = i == node->nargs - 1 || !(arg.may & GPUCOL_MAY_BE_NULL);

		if (!last)
			arg.may &= ~GPUCOL_MAY_BE_NULL;
		result = either(result, arg);
		if (last)
			break;
	}
	return result;
}

/* The first argument, or NULL where it equals the second: what is not NULL has its range still. */
static GpucolInterval
evaluate_nullif(const IntervalNode *node, const IntervalRow *row)
{
	uint8		equal = evaluate(node->args[0], row).may;
	GpucolInterval value = evaluate(node->args[0]->args[0], row);

	value.may |= equal & GPUCOL_MAY_RAISE;
	if (equal & GPUCOL_MAY_BE_TRUE)
		value.may |= GPUCOL_MAY_BE_NULL;
	if (!(equal & (GPUCOL_MAY_BE_FALSE | GPUCOL_MAY_BE_NULL)))
		value.may &= ~GPUCOL_MAY_BE_VALUE;
	return value;
}

/* A strict function of one number or two. */
static GpucolInterval
evaluate_strict(const IntervalNode *node, const IntervalRow *row)
{
	GpucolInterval x = evaluate(node->args[0], row);
	GpucolInterval y = node->nargs > 1 ? evaluate(node->args[1], row) : exactly(0);
	uint8		marks = (x.may | y.may) & (GPUCOL_MAY_BE_NULL | GPUCOL_MAY_RAISE);
	GpucolInterval result;

	if (!(x.may & GPUCOL_MAY_BE_VALUE) || !(y.may & GPUCOL_MAY_BE_VALUE))
		return (GpucolInterval) {.may = marks};
	if (node->kind >= NODE_LESS)
		return (GpucolInterval) {.may = marks | compare(node->kind, x, y)};
	if (node->kind == NODE_SAME)
		result = of_type(x.lo == x.hi && fabs(x.lo) <= EXACT && x.lo == rint(x.lo) ? exactly(x.lo) :
						 widened(x.lo, x.hi, QUOTIENT_MARGIN), node->type, !is_zero(x));
	else if (node->kind == NODE_NEGATE)
		result = of_type((GpucolInterval) {-x.hi, -x.lo, GPUCOL_MAY_BE_VALUE}, node->type, false);
	else if (node->kind == NODE_ABS)
		result = of_type((GpucolInterval) {x.lo <= 0 && x.hi >= 0 ? 0 : fmin(fabs(x.lo), fabs(x.hi)),
								  fmax(fabs(x.lo), fabs(x.hi)), GPUCOL_MAY_BE_VALUE}, node->type, false);
	else if (node->kind == NODE_ROUND)
		result = rounded(node, x);
	else
		result = compute(node, x, y);
	result.may |= marks;
	return result;
}

static GpucolInterval
evaluate(const IntervalNode *node, const IntervalRow *row)
{
	switch (node->kind)
	{
		case NODE_UNKNOWN:
			return gpucol_interval_unknown;
		case NODE_RANGE:
			return node->range;
		case NODE_LEAF:
			return row->intervals->range(row->row, node->number);
		case NODE_AND:
			return evaluate_bool(node, row, GPUCOL_MAY_BE_FALSE, GPUCOL_MAY_BE_TRUE);
		case NODE_OR:
			return evaluate_bool(node, row, GPUCOL_MAY_BE_TRUE, GPUCOL_MAY_BE_FALSE);
		case NODE_NOT:
			return evaluate_not(node, row);
		case NODE_IS_NULL:
		case NODE_IS_NOT_NULL:
			return evaluate_null(node, row);
		case NODE_COALESCE:
			return evaluate_coalesce(node, row);
		case NODE_NULLIF:
			return evaluate_nullif(node, row);
		case NODE_CASE:
			return evaluate_case(node, row);
		default:
			return evaluate_strict(node, row);
	}
}

GpucolBoundsSays
gpucol_intervals_decide(const GpucolIntervals *intervals, const void *row)
{
	IntervalRow at = {intervals, row};
	GpucolBoundsSays says = GPUCOL_BOUNDS_MEETS;

	for (int i = 0; i < intervals->nconjuncts; i++)
	{
		uint8		may = evaluate(intervals->conjuncts[i], &at).may;

		if (may & GPUCOL_MAY_RAISE)
			return GPUCOL_BOUNDS_OPEN;
		if (!(may & GPUCOL_MAY_BE_TRUE))
			return GPUCOL_BOUNDS_FAILS;
		if (may != GPUCOL_MAY_BE_TRUE)
			says = GPUCOL_BOUNDS_OPEN;
	}
	return says;
}

/* ---- preparation ---- */

static IntervalNode *make_node(GpucolIntervals *intervals, Expr *expr);

static IntervalNode *
new_node(NodeKind kind, Oid type, int nargs)
{
	IntervalNode  *node = palloc0(sizeof(IntervalNode));

	node->kind = kind;
	node->type = type == INT2OID ? INT4OID : type;
	node->nargs = nargs;
	node->args = palloc0(Max(nargs, 1) * sizeof(IntervalNode *));
	return node;
}

/* What is not known. */
static IntervalNode *
unknown_node(GpucolIntervals *intervals)
{
	intervals->all_known = false;
	return new_node(NODE_UNKNOWN, InvalidOid, 0);
}

/* A node of arguments. */
static IntervalNode *
of_list(GpucolIntervals *intervals, NodeKind kind, Oid type, List *args)
{
	IntervalNode  *node = new_node(kind, type, list_length(args));
	ListCell   *lc;

	foreach(lc, args)
		node->args[foreach_current_index(lc)] = make_node(intervals, lfirst(lc));
	return node;
}

/* The same of arguments that need not all be evaluated. */
static IntervalNode *
of_branches(GpucolIntervals *intervals, NodeKind kind, Oid type, List *args)
{
	bool		certain = intervals->certain;
	IntervalNode  *node;

	intervals->certain = false;
	node = of_list(intervals, kind, type, args);
	intervals->certain = certain;
	return node;
}

/* A constant numeric. */
static GpucolInterval
numeric_range(Datum value)
{
	double		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));

	if (fabs(number) <= EXACT &&
		DatumGetBool(DirectFunctionCall2(numeric_eq, value, NumericGetDatum(int64_to_numeric((int64) rint(number))))))
		return exactly(rint(number));
	return fabs(number) < LEAST ? gpucol_interval_unknown : float_range(number, 4 * DOUBLE_MARGIN);
}

/* A constant number or truth value. */
static GpucolInterval
constant_range(Oid type, Datum value, bool isnull)
{
	if (isnull)
		return (GpucolInterval) {.may = GPUCOL_MAY_BE_NULL};
	switch (type)
	{
		case BOOLOID:
			return (GpucolInterval) {.may = DatumGetBool(value) ? GPUCOL_MAY_BE_TRUE : GPUCOL_MAY_BE_FALSE};
		case INT2OID:
			return exactly(DatumGetInt16(value));
		case INT4OID:
			return exactly(DatumGetInt32(value));
		case INT8OID:
			return gpucol_interval_decimal(DatumGetInt64(value), 0);
		case FLOAT8OID:
			return float_range(DatumGetFloat8(value), 0);
		case NUMERICOID:
			return numeric_range(value);
		default:
			return gpucol_interval_unknown;
	}
}

static IntervalNode *
constant_node(GpucolIntervals *intervals, Oid type, Datum value, bool isnull)
{
	GpucolInterval range = constant_range(type, value, isnull);
	IntervalNode  *node;

	if (range.may & GPUCOL_MAY_RAISE)
		return unknown_node(intervals);
	node = new_node(NODE_RANGE, type, 0);
	node->range = range;
	return node;
}

/* A parameter; a query that it stands for is run if PostgreSQL would have to. */
static IntervalNode *
param_node(GpucolIntervals *intervals, Param *param)
{
	ExprContext *econtext = intervals->ps->ps_ExprContext;
	Datum		value;
	bool		isnull;

	if (!intervals->certain && !gpucol_lower_param_is_known(econtext, param))
		return unknown_node(intervals);
	value = ExecEvalExprSwitchContext(gpucol_lower_init((Expr *) param, intervals->ps), econtext, &isnull);
	return constant_node(intervals, param->paramtype, value, isnull);
}

/* A column. */
static IntervalNode *
var_node(GpucolIntervals *intervals, const Var *var)
{
	bool		number = var->vartype == INT2OID || var->vartype == INT4OID || var->vartype == INT8OID ||
		var->vartype == FLOAT8OID || var->vartype == NUMERICOID;
	int			leaf = number ? intervals->leaf(intervals->arg, var) : -1;
	IntervalNode *node;

	if (leaf < 0)
		return unknown_node(intervals);
	node = new_node(NODE_LEAF, var->vartype, 0);
	node->number = leaf;
	return node;
}

/* round(numeric, n), and what gives a numeric a precision. */
static IntervalNode *
round_node(GpucolIntervals *intervals, Oid function, List *args)
{
	const Const *places = lsecond(args);
	IntervalNode  *node;
	int32		n;

	if (!IsA(places, Const) || places->constisnull)
		return unknown_node(intervals);
	n = DatumGetInt32(places->constvalue);
	node = of_list(intervals, NODE_ROUND, NUMERICOID, list_make1(linitial(args)));
	node->limit = INFINITY;
	node->number = n;
	if (function == F_NUMERIC_NUMERIC_INT4)
	{
		node->number = (((n - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
		node->limit = pow(10, (((n - VARHDRSZ) >> 16) & 0xffff) - node->number);
	}
	return abs(node->number) > 200 ? unknown_node(intervals) : node;
}

/* A call of a function. */
static IntervalNode *
call_node(GpucolIntervals *intervals, Oid function, List *args)
{
	if (function == F_ROUND_NUMERIC_INT4 || function == F_NUMERIC_NUMERIC_INT4)
		return round_node(intervals, function, args);
	for (int i = 0; i < (int) lengthof(known_functions); i++)
	{
		const KnownFunction *known = &known_functions[i];

		if (known->function == function)
			return of_list(intervals, known->kind, known->type, args);
	}
	return unknown_node(intervals);
}

/* CASE: conditions and results in turn. */
static IntervalNode *
case_node(GpucolIntervals *intervals, const CaseExpr *expr)
{
	IntervalNode  *outer = intervals->tested;
	IntervalNode  *tested = expr->arg != NULL ? make_node(intervals, expr->arg) : NULL;
	List	   *args = NIL;
	IntervalNode  *node;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, lc);

		args = lappend(lappend(args, when->expr), when->result);
	}
	args = lappend(args, expr->defresult);
	intervals->tested = tested;
	node = of_branches(intervals, NODE_CASE, expr->casetype, args);
	intervals->tested = outer;
	return node;
}

/* NULLIF: an equality of numbers. */
static IntervalNode *
nullif_node(GpucolIntervals *intervals, const NullIfExpr *expr)
{
	IntervalNode *equality = call_node(intervals, get_opcode(expr->opno), expr->args);
	IntervalNode *node = new_node(NODE_NULLIF, exprType((const Node *) expr), 1);

	if (equality->kind != NODE_EQUAL)
		return unknown_node(intervals);
	node->args[0] = equality;
	return node;
}

static IntervalNode *
null_test_node(GpucolIntervals *intervals, const NullTest *test)
{
	if (test->argisrow)
		return unknown_node(intervals);
	return of_list(intervals, test->nulltesttype == IS_NULL ? NODE_IS_NULL : NODE_IS_NOT_NULL, BOOLOID,
				   list_make1(test->arg));
}

static IntervalNode *
bool_node(GpucolIntervals *intervals, const BoolExpr *expr)
{
	if (expr->boolop == NOT_EXPR)
		return of_list(intervals, NODE_NOT, BOOLOID, expr->args);
	return of_branches(intervals, expr->boolop == AND_EXPR ? NODE_AND : NODE_OR, BOOLOID, expr->args);
}

static IntervalNode *
make_node(GpucolIntervals *intervals, Expr *expr)
{
	check_stack_depth();
	switch (nodeTag(expr))
	{
		case T_Const:
			return constant_node(intervals, ((Const *) expr)->consttype, ((Const *) expr)->constvalue,
								 ((Const *) expr)->constisnull);
		case T_Param:
			return param_node(intervals, (Param *) expr);
		case T_Var:
			return var_node(intervals, (Var *) expr);
		case T_CaseTestExpr:
			return intervals->tested != NULL ? intervals->tested : unknown_node(intervals);
		case T_RelabelType:
			return make_node(intervals, ((RelabelType *) expr)->arg);
		case T_OpExpr:
			return call_node(intervals, get_opcode(((OpExpr *) expr)->opno), ((OpExpr *) expr)->args);
		case T_FuncExpr:
			return call_node(intervals, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args);
		case T_BoolExpr:
			return bool_node(intervals, (BoolExpr *) expr);
		case T_NullTest:
			return null_test_node(intervals, (NullTest *) expr);
		case T_NullIfExpr:
			return nullif_node(intervals, (NullIfExpr *) expr);
		case T_CoalesceExpr:
			return of_branches(intervals, NODE_COALESCE, ((CoalesceExpr *) expr)->coalescetype,
							   ((CoalesceExpr *) expr)->args);
		case T_CaseExpr:
			return case_node(intervals, (CaseExpr *) expr);
		default:
			return unknown_node(intervals);
	}
}

GpucolIntervals *
gpucol_intervals_make(List *conditions, PlanState *ps, bool certain, GpucolIntervalLeaf leaf, const void *arg,
					  GpucolIntervalOf range)
{
	GpucolIntervals *intervals = palloc0(sizeof(GpucolIntervals));
	ListCell   *lc;

	intervals->ps = ps;
	intervals->leaf = leaf;
	intervals->arg = arg;
	intervals->range = range;
	intervals->all_known = true;
	intervals->nconjuncts = list_length(conditions);
	intervals->conjuncts = palloc(Max(intervals->nconjuncts, 1) * sizeof(IntervalNode *));
	foreach(lc, conditions)
	{
		int			i = foreach_current_index(lc);

		if (!intervals->all_known)
			return NULL;
		intervals->certain = certain && i == 0;
		intervals->conjuncts[i] = make_node(intervals, lfirst(lc));
	}
	return intervals->all_known ? intervals : NULL;
}
