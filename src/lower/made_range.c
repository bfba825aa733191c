/*-------------------------------------------------------------------------
 *
 * made_range.c
 *	  Conditions on ranges that are made of two values: tsrange(a, b) @> x, tsrange(a, b) && tsrange(c, d).
 *
 * They are comparisons of the values, of which NULL is no bound:
 *
 *		(a <= x OR a IS NULL) AND (x < b OR b IS NULL)
 *
 * A lower bound above the upper one is the error that it is where PostgreSQL makes the range.  Ranges of integers and
 * dates PostgreSQL brings to one form, [), by adding one.  Only this is known here, and [] of dates: the upper bound is
 * one day forth and back, which is an error where it is PostgreSQL's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "lower/array_value.h"
#include "lower/calendar.h"
#include "lower/made_range.h"

/* A range: its bounds in registers, and whether they belong to it. */
typedef struct MadeRange
{
	uint16		lower;
	uint16		upper;
	bool		with_lower;
	bool		with_upper;
} MadeRange;

static uint16
emit(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 0);
}

/* Is a function one that makes ranges?  Of values between which there are others? */
static bool
makes_range(Oid function, bool *continuous)
{
	*continuous = true;
	switch (function)
	{
		case F_TSRANGE_TIMESTAMP_TIMESTAMP:
		case F_TSRANGE_TIMESTAMP_TIMESTAMP_TEXT:
		case F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ:
		case F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT:
			return true;
		case F_INT4RANGE_INT4_INT4:
		case F_INT4RANGE_INT4_INT4_TEXT:
		case F_INT8RANGE_INT8_INT8:
		case F_INT8RANGE_INT8_INT8_TEXT:
		case F_DATERANGE_DATE_DATE:
		case F_DATERANGE_DATE_DATE_TEXT:
			*continuous = false;
			return true;
		default:
			return false;
	}
}

/* Which bounds belong to it: '[)' or the like; false if that is not constant, or an error. */
static bool
read_flags(const Const *flags, MadeRange *range)
{
	const char *flag;

	if (!IsA(flags, Const) || flags->constisnull)
		return false;
	flag = TextDatumGetCString(flags->constvalue);
	range->with_lower = flag[0] == '[';
	range->with_upper = flag[0] != '\0' && flag[1] == ']';
	return strlen(flag) == 2 && (flag[0] == '[' || flag[0] == '(') && (flag[1] == ']' || flag[1] == ')');
}

static bool
lower_integer(GpucolLower *l, Expr *expr, uint16 *reg)
{
	GpucolValue v;

	if (!gpucol_lower_expr(l, expr, &v))
		return false;
	*reg = v.reg;
	return v.cls == GPUCOL_CLASS_I || gpucol_lower_decline(l, "its argument has no fixed-width form");
}

static bool
lower_range(GpucolLower *l, Expr *expr, MadeRange *range)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	bool		continuous;
	bool		days;

	*range = (MadeRange) {.with_lower = true};
	if (!IsA(expr, FuncExpr) || !makes_range(call->funcid, &continuous))
		return gpucol_lower_decline(l, "a range that is not made of two values");
	if (list_length(call->args) == 3 && !read_flags(lthird(call->args), range))
		return gpucol_lower_decline(l, "a range whose bounds are not told by a constant");
	days = call->funcid == F_DATERANGE_DATE_DATE_TEXT && range->with_upper;
	if (!continuous && (!range->with_lower || (range->with_upper && !days)))
		return gpucol_lower_decline(l, "a range of integers or dates that is brought to another form");
	if (!lower_integer(l, linitial(call->args), &range->lower) || !lower_integer(l, lsecond(call->args), &range->upper))
		return false;
	if (days)
	{
		uint16		one = gpucol_calendar_number(l, 1);
		uint16		next = gpucol_lower_emit(l, GPUCOL_OP_DATE_ADD_I, range->upper, one, GPUCOL_NO_REG, 1);

		range->upper = gpucol_lower_emit(l, GPUCOL_OP_DATE_ADD_I, next, one, GPUCOL_NO_REG, -1);
	}
	range->lower = emit(l, GPUCOL_OP_ORDERED_I, range->lower, range->upper);
	return true;
}

/* a < b, or a <= b */
static uint16
less(GpucolLower *l, uint16 a, uint16 b, bool or_equal)
{
	return emit(l, or_equal ? GPUCOL_OP_LE_I : GPUCOL_OP_LT_I, a, b);
}

/* Or a register is NULL. */
static uint16
or_null(GpucolLower *l, uint16 condition, uint16 reg)
{
	return emit(l, GPUCOL_OP_OR, condition, emit(l, GPUCOL_OP_IS_NULL_I, reg, GPUCOL_NO_REG));
}

bool
gpucol_lower_made_contains(GpucolLower *l, List *args, bool swap, GpucolValue *out)
{
	MadeRange	range;
	uint16		x;
	uint16		reg;

	if (!lower_range(l, list_nth(args, swap ? 1 : 0), &range) || !lower_integer(l, list_nth(args, swap ? 0 : 1), &x))
		return false;
	reg = emit(l, GPUCOL_OP_AND, or_null(l, less(l, range.lower, x, range.with_lower), range.lower),
			   or_null(l, less(l, x, range.upper, range.with_upper), range.upper));
	/* NULL where x is */
	return gpucol_lower_set_value(out, GPUCOL_CLASS_B, emit(l, GPUCOL_OP_AND, reg, emit(l, GPUCOL_OP_EQ_I, x, x)));
}

/* A range begins before another one ends. */
static uint16
begins_before(GpucolLower *l, const MadeRange *a, const MadeRange *b)
{
	uint16		reg = less(l, a->lower, b->upper, a->with_lower && b->with_upper);

	return or_null(l, or_null(l, reg, a->lower), b->upper);
}

bool
gpucol_lower_made_overlap(GpucolLower *l, List *args, GpucolValue *out)
{
	MadeRange	a;
	MadeRange	b;
	uint16		reg;

	if (!lower_range(l, linitial(args), &a) || !lower_range(l, lsecond(args), &b))
		return false;
	/* neither is empty: each begins before itself ends */
	reg = emit(l, GPUCOL_OP_AND, begins_before(l, &a, &b), begins_before(l, &b, &a));
	reg = emit(l, GPUCOL_OP_AND, reg, begins_before(l, &a, &a));
	return gpucol_lower_set_value(out, GPUCOL_CLASS_B, emit(l, GPUCOL_OP_AND, reg, begins_before(l, &b, &b)));
}
