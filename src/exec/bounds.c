/*-------------------------------------------------------------------------
 *
 * bounds.c
 *	  HAVING over doubles that enclose a group's results.
 *
 * Results that are numerics take a hundred times longer to form, and to compute with, than the states that they
 * come from take to be read.  Most groups fail HAVING, and clearly: so the conjuncts are computed over intervals
 * of doubles first (R. E. Moore, Interval Analysis, 1966), and PostgreSQL evaluates them for groups of which that
 * leaves it open: where bounds overlap, or an error may be raised.
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
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "exec/bounds.h"
#include "kernel/agg_state.h"
#include "kernel/packed_decimal.h"
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

/* What a value may be. */
#define MAY_BE_NULL		0x01
#define MAY_BE_VALUE	0x02
#define MAY_RAISE		0x04
/* Of conditions, instead of MAY_BE_VALUE. */
#define MAY_BE_TRUE		0x08
#define MAY_BE_FALSE	0x10
#define MAY_BE_ANY		(MAY_BE_NULL | MAY_BE_VALUE | MAY_RAISE | MAY_BE_TRUE | MAY_BE_FALSE)

typedef struct Range
{
	double		lo;
	double		hi;
	uint8		may;
} Range;

typedef enum NodeKind
{
	NODE_UNKNOWN,				/* nothing is known of it */
	NODE_RANGE,					/* a constant */
	NODE_KEY,					/* `number` of the columns */
	NODE_AGG,					/* `number` of the finals */
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
	NODE_CASE					/* conditions and results in turn, then the default */
} NodeKind;

typedef struct BoundNode
{
	NodeKind	kind;
	Oid			type;			/* of a number: INT4OID stands for INT2OID too */
	int			number;
	int			nargs;
	struct BoundNode **args;
	Range		range;
	double		limit;
} BoundNode;

struct GpucolBounds
{
	const GpucolGroupPlan *plan;
	const GpucolOutput *keys;
	PlanState  *ps;
	BoundNode  *tested;			/* by CASE x WHEN: x, while it is made */
	bool		certain;		/* PostgreSQL evaluates what is being made for the first group, come what may */
	bool		all_known;		/* so far */
	int			nconjuncts;
	BoundNode **conjuncts;
};

/* What is computed for one group. */
typedef struct BoundGroup
{
	const GpucolBounds *bounds;
	const GpucolResultColumn *columns;
	uint32		row;
	const GpucolAggState *states;
} BoundGroup;

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

static const Range unknown = {-INFINITY, INFINITY, MAY_BE_ANY};

/* A range wider by a share of itself. */
static Range
widened(double lo, double hi, double margin)
{
	return (Range) {lo - fabs(lo) * margin - LEAST, hi + fabs(hi) * margin + LEAST, MAY_BE_VALUE};
}

/* The range of nothing but one double. */
static Range
exactly(double value)
{
	return (Range) {value, value, MAY_BE_VALUE};
}

/* An integer divided by a power of ten; nothing is known of what may be too small. */
static Range
decimal_range(__int128 mantissa, int scale)
{
	double		value = (double) mantissa;

	if (mantissa == 0 || (scale == 0 && fabs(value) <= EXACT))
		return exactly(value);
	if (scale > MOST_DIGITS)
		return unknown;
	value /= pow(10, scale);
	return widened(value, value, 4 * DOUBLE_MARGIN);
}

/* A float's; nothing is known of what is not finite. */
static Range
float_range(double value, double margin)
{
	if (!(fabs(value) < MOST))
		return unknown;
	return margin == 0 ? exactly(value) : widened(value, value, margin);
}

/* Is a value zero, and nothing else? */
static bool
is_zero(Range range)
{
	return range.lo == 0 && range.hi == 0;
}

/* A sum of integers or decimals. */
static Range
sum_range(const GpucolFinal *final, const GpucolAggState *states)
{
	Range		sum = decimal_range(gpucol_agg_value128(&states[final->state]), final->scale);
	Range		low;

	if (final->low_state < 0 || (sum.may & MAY_RAISE) != 0)
		return sum;
	low = decimal_range(gpucol_agg_value128(&states[final->low_state]), GPUCOL_PACKED_LOW);
	return is_zero(low) ? sum : widened(sum.lo + low.lo, sum.hi + low.hi, 4 * DOUBLE_MARGIN);
}

/* A variance or standard deviation of integers or decimals. */
static Range
variance_range(const GpucolFinal *final, const GpucolAggState *state)
{
	double		n = (double) state->count;
	double		squares = n * (double) gpucol_agg_squares128(state);
	double		sum = (double) gpucol_agg_value128(state);
	double		error = (squares + sum * sum) * 8 * DOUBLE_MARGIN;
	double		unit = n * (n - (final->sample ? 1 : 0)) * pow(10, 2 * final->scale);
	double		lo = Max(squares - sum * sum - error, 0) / unit;
	double		hi = Max(squares - sum * sum + error, 0) / unit;

	if (2 * final->scale > MOST_DIGITS)
		return unknown;
	if (!final->root)
		return widened(lo, hi, QUOTIENT_MARGIN);
	return widened(sqrt(lo), sqrt(hi), ROOT_MARGIN);
}

/* The least or greatest value. */
static Range
value_range(const GpucolFinal *final, const GpucolAggState *state)
{
	if (final->cls == GPUCOL_CLASS_D)
		return decimal_range(gpucol_agg_value128(state), final->scale);
	if (final->cls == GPUCOL_CLASS_F)
		return float_range(state->v.f, 0);
	return decimal_range(state->v.value, 0);
}

/* The result of an aggregate that agg_is_known() lets through. */
static Range
agg_range(const GpucolFinal *final, const GpucolAggState *states)
{
	const GpucolAggState *state = &states[final->state];
	int64		least = final->sample ? 2 : 1;
	Range		range;

	if (final->kind == GPUCOL_FINAL_COUNT || final->kind == GPUCOL_FINAL_DISTINCT)
		return decimal_range(final->kind == GPUCOL_FINAL_COUNT ? state->count : state->v.value, 0);
	if (state->count < least)
		return (Range) {.may = MAY_BE_NULL};
	switch (final->kind)
	{
		case GPUCOL_FINAL_SUM_INT8:
			range = sum_range(final, states);
			return fabs(range.lo) < EXACT ? range : unknown;
		case GPUCOL_FINAL_SUM_NUMERIC:
			return sum_range(final, states);
		case GPUCOL_FINAL_AVG_NUMERIC:
			range = sum_range(final, states);
			if (is_zero(range) || (range.may & MAY_RAISE) != 0)
				return range;
			return widened(range.lo / (double) state->count, range.hi / (double) state->count, QUOTIENT_MARGIN);
		case GPUCOL_FINAL_SUM_FLOAT8:
			return float_range(state->v.f, 0);
		case GPUCOL_FINAL_AVG_FLOAT8:
			return float_range(state->v.f / (double) state->count, 0);
		case GPUCOL_FINAL_VAR_NUMERIC:
			return variance_range(final, state);
		case GPUCOL_FINAL_VAR_FLOAT8:
			range = float_range(state->w.f / ((double) state->count - (final->sample ? 1 : 0)), 0);
			return final->root && range.lo >= 0 ? float_range(sqrt(range.lo), DOUBLE_MARGIN) : range;
		default:
			return value_range(final, state);
	}
}

/* Is an aggregate's result a number whose range agg_range() knows? */
static bool
agg_is_known(const GpucolFinal *final)
{
	if (final->host != GPUCOL_HOST_NONE)
		return false;
	switch (final->kind)
	{
		case GPUCOL_FINAL_COUNT:
		case GPUCOL_FINAL_DISTINCT:
		case GPUCOL_FINAL_SUM_INT8:
		case GPUCOL_FINAL_SUM_NUMERIC:
		case GPUCOL_FINAL_AVG_NUMERIC:
		case GPUCOL_FINAL_SUM_FLOAT8:
		case GPUCOL_FINAL_AVG_FLOAT8:
		case GPUCOL_FINAL_VAR_NUMERIC:
		case GPUCOL_FINAL_VAR_FLOAT8:
			return true;
		case GPUCOL_FINAL_VALUE:
			return final->cls == GPUCOL_CLASS_D || final->cls == GPUCOL_CLASS_F || final->cls == GPUCOL_CLASS_I;
		default:
			return false;
	}
}

/* A key's value. */
static Range
key_range(const BoundGroup *group, int number)
{
	const GpucolResultColumn *column = &group->columns[number];

	if (column->nulls != NULL && column->nulls[group->row])
		return (Range) {.may = MAY_BE_NULL};
	if (column->cls == GPUCOL_CLASS_D)
		return decimal_range(column->d[group->row], group->bounds->keys[number].scale);
	if (column->cls == GPUCOL_CLASS_F)
		return float_range(column->f[group->row], 0);
	return decimal_range(column->i[group->row], 0);
}

/* ---- arithmetic ---- */

/* A result of an operation in a type: nothing that overflows it, or that a float8 may lose, goes unsaid. */
static Range
of_type(Range range, Oid type, bool may_underflow)
{
	if (isnan(range.lo) || isnan(range.hi) || range.lo < -MOST || range.hi > MOST)
		return unknown;
	if (type == INT4OID && (range.lo < PG_INT32_MIN || range.hi > PG_INT32_MAX))
		range.may |= MAY_RAISE;
	if (type == INT8OID && (range.lo < -EXACT || range.hi > EXACT))
		range.may |= MAY_RAISE;
	if (type == FLOAT8OID && may_underflow && range.lo < 2 * LEAST && range.hi > -2 * LEAST)
		range.may |= MAY_RAISE;
	return range;
}

/* The range of the four products or quotients of ends. */
static Range
of_ends(double a, double b, double c, double d, double margin)
{
	return widened(fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)), margin);
}

/* A product or quotient, neither of whose operands is zero. */
static Range
scaled(const BoundNode *node, Range x, Range y)
{
	if (node->kind == NODE_MULTIPLY)
		return of_ends(x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi, 2 * DOUBLE_MARGIN);
	return of_ends(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi, QUOTIENT_MARGIN);
}

/* An operation of two numbers, neither of which is NULL. */
static Range
compute(const BoundNode *node, Range x, Range y)
{
	bool		whole = node->type == INT4OID || node->type == INT8OID;
	bool		product = node->kind == NODE_MULTIPLY || node->kind == NODE_DIVIDE;
	Range		range;

	if (node->kind == NODE_DIVIDE && y.lo <= 0 && y.hi >= 0)
		return unknown;
	if (product && (is_zero(x) || is_zero(y)))
		return exactly(0);
	if (product)
		range = scaled(node, x, y);
	else if (node->kind == NODE_ADD)
		range = (Range) {x.lo + y.lo, x.hi + y.hi, MAY_BE_VALUE};
	else
		range = (Range) {x.lo - y.hi, x.hi - y.lo, MAY_BE_VALUE};
	if (!whole && !product)
		range = widened(range.lo, range.hi, 2 * DOUBLE_MARGIN);
	else if (whole && product)	/* nothing of which is between integers */
		range = (Range) {node->kind == NODE_DIVIDE ? ceil(range.lo) - 1 : rint(range.lo),
						 node->kind == NODE_DIVIDE ? floor(range.hi) + 1 : rint(range.hi), MAY_BE_VALUE};
	return of_type(range, node->type, product);
}

/* A numeric rounded to some places. */
static Range
rounded(const BoundNode *node, Range x)
{
	double		unit = 0.51 * pow(10, -node->number);
	Range		range = widened(x.lo - unit, x.hi + unit, DOUBLE_MARGIN);

	if (x.lo == x.hi && x.lo == rint(x.lo) && node->number >= 0)
		range = x;
	if (range.lo <= -node->limit || range.hi >= node->limit)
		range.may |= MAY_RAISE;
	return of_type(range, NUMERICOID, false);
}

/* A comparison of two numbers, neither of which is NULL. */
static uint8
compare(NodeKind kind, Range x, Range y)
{
	switch (kind)
	{
		case NODE_LESS:
			return x.hi < y.lo ? MAY_BE_TRUE : x.lo >= y.hi ? MAY_BE_FALSE : MAY_BE_TRUE | MAY_BE_FALSE;
		case NODE_LESS_EQUAL:
			return x.hi <= y.lo ? MAY_BE_TRUE : x.lo > y.hi ? MAY_BE_FALSE : MAY_BE_TRUE | MAY_BE_FALSE;
		case NODE_GREATER:
			return compare(NODE_LESS, y, x);
		case NODE_GREATER_EQUAL:
			return compare(NODE_LESS_EQUAL, y, x);
		default:
			if (x.hi < y.lo || x.lo > y.hi)
				return kind == NODE_EQUAL ? MAY_BE_FALSE : MAY_BE_TRUE;
			if (x.lo == x.hi && y.lo == y.hi)	/* and equal */
				return kind == NODE_EQUAL ? MAY_BE_TRUE : MAY_BE_FALSE;
			return MAY_BE_TRUE | MAY_BE_FALSE;
	}
}

/* ---- evaluation ---- */

static Range evaluate(const BoundNode *node, const BoundGroup *group);

/* AND and OR: `decides` is what ends them. */
static Range
evaluate_bool(const BoundNode *node, const BoundGroup *group, uint8 decides, uint8 other)
{
	Range		result = {.may = other};

	for (int i = 0; i < node->nargs; i++)
	{
		uint8		may = evaluate(node->args[i], group).may;

		result.may |= may & MAY_RAISE;
		if ((may & ~MAY_RAISE) == decides)
		{
			result.may = (result.may & (MAY_RAISE | decides)) | decides;
			return result;
		}
		if ((may & (MAY_BE_NULL | decides | other)) == MAY_BE_NULL)
			result.may &= ~other;
		result.may |= may & (MAY_BE_NULL | decides);
	}
	return result;
}

static Range
evaluate_not(const BoundNode *node, const BoundGroup *group)
{
	uint8		may = evaluate(node->args[0], group).may;
	Range		result = {.may = may & (MAY_BE_NULL | MAY_RAISE)};

	if (may & MAY_BE_TRUE)
		result.may |= MAY_BE_FALSE;
	if (may & MAY_BE_FALSE)
		result.may |= MAY_BE_TRUE;
	return result;
}

static Range
evaluate_null(const BoundNode *node, const BoundGroup *group)
{
	uint8		may = evaluate(node->args[0], group).may;
	bool		asks_null = node->kind == NODE_IS_NULL;
	Range		result = {.may = may & MAY_RAISE};

	if (may & MAY_BE_NULL)
		result.may |= asks_null ? MAY_BE_TRUE : MAY_BE_FALSE;
	if (may & (MAY_BE_VALUE | MAY_BE_TRUE | MAY_BE_FALSE))
		result.may |= asks_null ? MAY_BE_FALSE : MAY_BE_TRUE;
	return result;
}

/* What may be one or the other. */
static Range
either(Range x, Range y)
{
	Range		result = {.may = x.may | y.may};

	if (!(x.may & MAY_BE_VALUE) || !(y.may & MAY_BE_VALUE))
	{
		result.lo = x.may & MAY_BE_VALUE ? x.lo : y.lo;
		result.hi = x.may & MAY_BE_VALUE ? x.hi : y.hi;
		return result;
	}
	result.lo = fmin(x.lo, y.lo);
	result.hi = fmax(x.hi, y.hi);
	return result;
}

static Range
evaluate_case(const BoundNode *node, const BoundGroup *group)
{
	Range		result = {.may = 0};

	for (int i = 0; i + 1 < node->nargs; i += 2)
	{
		uint8		may = evaluate(node->args[i], group).may;

		result.may |= may & MAY_RAISE;
		if (may & MAY_BE_TRUE)
			result = either(result, evaluate(node->args[i + 1], group));
		if (!(may & (MAY_BE_FALSE | MAY_BE_NULL)))
			return result;
	}
	return either(result, evaluate(node->args[node->nargs - 1], group));
}

static Range
evaluate_coalesce(const BoundNode *node, const BoundGroup *group)
{
	Range		result = {.may = 0};

	for (int i = 0; i < node->nargs; i++)
	{
		Range		arg = evaluate(node->args[i], group);
		bool		last = i == node->nargs - 1 || !(arg.may & MAY_BE_NULL);

		if (!last)
			arg.may &= ~MAY_BE_NULL;
		result = either(result, arg);
		if (last)
			break;
	}
	return result;
}

/* A strict function of one number or two. */
static Range
evaluate_strict(const BoundNode *node, const BoundGroup *group)
{
	Range		x = evaluate(node->args[0], group);
	Range		y = node->nargs > 1 ? evaluate(node->args[1], group) : exactly(0);
	uint8		beside = (x.may | y.may) & (MAY_BE_NULL | MAY_RAISE);
	Range		result;

	if (!(x.may & MAY_BE_VALUE) || !(y.may & MAY_BE_VALUE))
		return (Range) {.may = beside};
	if (node->kind >= NODE_LESS)
		return (Range) {.may = beside | compare(node->kind, x, y)};
	if (node->kind == NODE_SAME)
		result = of_type(x.lo == x.hi && fabs(x.lo) <= EXACT && x.lo == rint(x.lo) ? exactly(x.lo) :
						 widened(x.lo, x.hi, QUOTIENT_MARGIN), node->type, !is_zero(x));
	else if (node->kind == NODE_NEGATE)
		result = of_type((Range) {-x.hi, -x.lo, MAY_BE_VALUE}, node->type, false);
	else if (node->kind == NODE_ABS)
		result = of_type((Range) {x.lo <= 0 && x.hi >= 0 ? 0 : fmin(fabs(x.lo), fabs(x.hi)),
								  fmax(fabs(x.lo), fabs(x.hi)), MAY_BE_VALUE}, node->type, false);
	else if (node->kind == NODE_ROUND)
		result = rounded(node, x);
	else
		result = compute(node, x, y);
	result.may |= beside;
	return result;
}

static Range
evaluate(const BoundNode *node, const BoundGroup *group)
{
	switch (node->kind)
	{
		case NODE_UNKNOWN:
			return unknown;
		case NODE_RANGE:
			return node->range;
		case NODE_KEY:
			return key_range(group, node->number);
		case NODE_AGG:
			return agg_range(&group->bounds->plan->finals[node->number], group->states);
		case NODE_AND:
			return evaluate_bool(node, group, MAY_BE_FALSE, MAY_BE_TRUE);
		case NODE_OR:
			return evaluate_bool(node, group, MAY_BE_TRUE, MAY_BE_FALSE);
		case NODE_NOT:
			return evaluate_not(node, group);
		case NODE_IS_NULL:
		case NODE_IS_NOT_NULL:
			return evaluate_null(node, group);
		case NODE_COALESCE:
			return evaluate_coalesce(node, group);
		case NODE_CASE:
			return evaluate_case(node, group);
		default:
			return evaluate_strict(node, group);
	}
}

GpucolBoundsSays
gpucol_bounds_decide(const GpucolBounds *bounds, const GpucolResultColumn *columns, uint32 row,
					 const GpucolAggState *states)
{
	BoundGroup		group = {bounds, columns, row, states};
	GpucolBoundsSays says = GPUCOL_BOUNDS_MEETS;

	for (int i = 0; i < bounds->nconjuncts; i++)
	{
		uint8		may = evaluate(bounds->conjuncts[i], &group).may;

		if (may & MAY_RAISE)
			return GPUCOL_BOUNDS_OPEN;
		if (!(may & MAY_BE_TRUE))
			return GPUCOL_BOUNDS_FAILS;
		if (may != MAY_BE_TRUE)
			says = GPUCOL_BOUNDS_OPEN;
	}
	return says;
}

/* ---- preparation ---- */

static BoundNode *make_node(GpucolBounds *bounds, Expr *expr);

static BoundNode *
new_node(NodeKind kind, Oid type, int nargs)
{
	BoundNode  *node = palloc0(sizeof(BoundNode));

	node->kind = kind;
	node->type = type == INT2OID ? INT4OID : type;
	node->nargs = nargs;
	node->args = palloc0(Max(nargs, 1) * sizeof(BoundNode *));
	return node;
}

/* What is not known. */
static BoundNode *
unknown_node(GpucolBounds *bounds)
{
	bounds->all_known = false;
	return new_node(NODE_UNKNOWN, InvalidOid, 0);
}

/* A node of arguments. */
static BoundNode *
of_list(GpucolBounds *bounds, NodeKind kind, Oid type, List *args)
{
	BoundNode  *node = new_node(kind, type, list_length(args));
	ListCell   *lc;

	foreach(lc, args)
		node->args[foreach_current_index(lc)] = make_node(bounds, lfirst(lc));
	return node;
}

/* The same of arguments that need not all be evaluated. */
static BoundNode *
of_branches(GpucolBounds *bounds, NodeKind kind, Oid type, List *args)
{
	bool		certain = bounds->certain;
	BoundNode  *node;

	bounds->certain = false;
	node = of_list(bounds, kind, type, args);
	bounds->certain = certain;
	return node;
}

/* A constant numeric. */
static Range
numeric_range(Datum value)
{
	double		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));

	if (fabs(number) <= EXACT &&
		DatumGetBool(DirectFunctionCall2(numeric_eq, value, NumericGetDatum(int64_to_numeric((int64) rint(number))))))
		return exactly(rint(number));
	return fabs(number) < LEAST ? unknown : float_range(number, 4 * DOUBLE_MARGIN);
}

/* A constant number or truth value. */
static Range
constant_range(Oid type, Datum value, bool isnull)
{
	if (isnull)
		return (Range) {.may = MAY_BE_NULL};
	switch (type)
	{
		case BOOLOID:
			return (Range) {.may = DatumGetBool(value) ? MAY_BE_TRUE : MAY_BE_FALSE};
		case INT2OID:
			return exactly(DatumGetInt16(value));
		case INT4OID:
			return exactly(DatumGetInt32(value));
		case INT8OID:
			return decimal_range(DatumGetInt64(value), 0);
		case FLOAT8OID:
			return float_range(DatumGetFloat8(value), 0);
		case NUMERICOID:
			return numeric_range(value);
		default:
			return unknown;
	}
}

static BoundNode *
constant_node(GpucolBounds *bounds, Oid type, Datum value, bool isnull)
{
	Range		range = constant_range(type, value, isnull);
	BoundNode  *node;

	if (range.may & MAY_RAISE)
		return unknown_node(bounds);
	node = new_node(NODE_RANGE, type, 0);
	node->range = range;
	return node;
}

/* A parameter; a query that it stands for is run if PostgreSQL would have to. */
static BoundNode *
param_node(GpucolBounds *bounds, Param *param)
{
	ExprContext *econtext = bounds->ps->ps_ExprContext;
	Datum		value;
	bool		isnull;

	if (!bounds->certain && !gpucol_lower_param_is_known(econtext, param))
		return unknown_node(bounds);
	value = ExecEvalExprSwitchContext(gpucol_lower_init((Expr *) param, bounds->ps), econtext, &isnull);
	return constant_node(bounds, param->paramtype, value, isnull);
}

/* A column of the scan tuple. */
static BoundNode *
var_node(GpucolBounds *bounds, const Var *var)
{
	const GpucolGroupPlan *plan = bounds->plan;
	int			place = var->varattno - 1;
	bool		number = var->vartype == INT2OID || var->vartype == INT4OID || var->vartype == INT8OID ||
		var->vartype == FLOAT8OID || var->vartype == NUMERICOID;
	BoundNode  *node;

	if (!number || place < 0 || place >= plan->nkeys + plan->naggs)
		return unknown_node(bounds);
	if (place < plan->nkeys ? bounds->keys[place].labels != NULL || bounds->keys[place].cls == GPUCOL_CLASS_S :
		!agg_is_known(&plan->finals[place - plan->nkeys]))
		return unknown_node(bounds);
	node = new_node(place < plan->nkeys ? NODE_KEY : NODE_AGG, var->vartype, 0);
	node->number = place < plan->nkeys ? place : place - plan->nkeys;
	return node;
}

/* round(numeric, n), and what gives a numeric a precision. */
static BoundNode *
round_node(GpucolBounds *bounds, Oid function, List *args)
{
	const Const *places = lsecond(args);
	BoundNode  *node;
	int32		n;

	if (!IsA(places, Const) || places->constisnull)
		return unknown_node(bounds);
	n = DatumGetInt32(places->constvalue);
	node = of_list(bounds, NODE_ROUND, NUMERICOID, list_make1(linitial(args)));
	node->limit = INFINITY;
	node->number = n;
	if (function == F_NUMERIC_NUMERIC_INT4)
	{
		node->number = (((n - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
		node->limit = pow(10, (((n - VARHDRSZ) >> 16) & 0xffff) - node->number);
	}
	return abs(node->number) > 200 ? unknown_node(bounds) : node;
}

/* A call of a function. */
static BoundNode *
call_node(GpucolBounds *bounds, Oid function, List *args)
{
	if (function == F_ROUND_NUMERIC_INT4 || function == F_NUMERIC_NUMERIC_INT4)
		return round_node(bounds, function, args);
	for (int i = 0; i < (int) lengthof(known_functions); i++)
	{
		const KnownFunction *known = &known_functions[i];

		if (known->function == function)
			return of_list(bounds, known->kind, known->type, args);
	}
	return unknown_node(bounds);
}

/* CASE: conditions and results in turn. */
static BoundNode *
case_node(GpucolBounds *bounds, const CaseExpr *expr)
{
	BoundNode  *outer = bounds->tested;
	BoundNode  *tested = expr->arg != NULL ? make_node(bounds, expr->arg) : NULL;
	List	   *args = NIL;
	BoundNode  *node;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, lc);

		args = lappend(lappend(args, when->expr), when->result);
	}
	args = lappend(args, expr->defresult);
	bounds->tested = tested;
	node = of_branches(bounds, NODE_CASE, expr->casetype, args);
	bounds->tested = outer;
	return node;
}

static BoundNode *
null_test_node(GpucolBounds *bounds, const NullTest *test)
{
	if (test->argisrow)
		return unknown_node(bounds);
	return of_list(bounds, test->nulltesttype == IS_NULL ? NODE_IS_NULL : NODE_IS_NOT_NULL, BOOLOID,
				   list_make1(test->arg));
}

static BoundNode *
bool_node(GpucolBounds *bounds, const BoolExpr *expr)
{
	if (expr->boolop == NOT_EXPR)
		return of_list(bounds, NODE_NOT, BOOLOID, expr->args);
	return of_branches(bounds, expr->boolop == AND_EXPR ? NODE_AND : NODE_OR, BOOLOID, expr->args);
}

static BoundNode *
make_node(GpucolBounds *bounds, Expr *expr)
{
	check_stack_depth();
	switch (nodeTag(expr))
	{
		case T_Const:
			return constant_node(bounds, ((Const *) expr)->consttype, ((Const *) expr)->constvalue,
								 ((Const *) expr)->constisnull);
		case T_Param:
			return param_node(bounds, (Param *) expr);
		case T_Var:
			return var_node(bounds, (Var *) expr);
		case T_CaseTestExpr:
			return bounds->tested != NULL ? bounds->tested : unknown_node(bounds);
		case T_RelabelType:
			return make_node(bounds, ((RelabelType *) expr)->arg);
		case T_OpExpr:
			return call_node(bounds, get_opcode(((OpExpr *) expr)->opno), ((OpExpr *) expr)->args);
		case T_FuncExpr:
			return call_node(bounds, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args);
		case T_BoolExpr:
			return bool_node(bounds, (BoolExpr *) expr);
		case T_NullTest:
			return null_test_node(bounds, (NullTest *) expr);
		case T_CoalesceExpr:
			return of_branches(bounds, NODE_COALESCE, ((CoalesceExpr *) expr)->coalescetype,
							   ((CoalesceExpr *) expr)->args);
		case T_CaseExpr:
			return case_node(bounds, (CaseExpr *) expr);
		default:
			return unknown_node(bounds);
	}
}

GpucolBounds *
gpucol_bounds_make(const GpucolGroupPlan *plan, const GpucolOutput *keys, PlanState *ps)
{
	GpucolBounds *bounds = palloc0(sizeof(GpucolBounds));
	ListCell   *lc;

	bounds->plan = plan;
	bounds->keys = keys;
	bounds->ps = ps;
	bounds->all_known = !plan->regroup && plan->nkeys > 0;
	bounds->nconjuncts = list_length(ps->plan->qual);
	bounds->conjuncts = palloc(Max(bounds->nconjuncts, 1) * sizeof(BoundNode *));
	foreach(lc, ps->plan->qual)
	{
		int			i = foreach_current_index(lc);

		if (!bounds->all_known)
			return NULL;
		bounds->certain = i == 0;
		bounds->conjuncts[i] = make_node(bounds, lfirst(lc));
	}
	return bounds->all_known ? bounds : NULL;
}
