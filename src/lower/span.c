/*-------------------------------------------------------------------------
 *
 * span.c
 *	  Intervals: months, days and microseconds in a register each.
 *
 * They come from columns and constants, constants times integers, make_interval, times, differences of
 * timestamps and times, ages, and sums of all these.  Engines compare them (as PostgreSQL does, by
 * months of thirty days), take fields, shift times, and sum each part.  The least and greatest they
 * find of differences of timestamps, which one integer has; equal intervals of other kinds look
 * different.
 *
 * What exceeds PostgreSQL's range is an error.  Infinite intervals, and what PostgreSQL's releases do not agree about,
 * make the statement fall back: outside of an aggregation, where it cannot once rows have left, such intervals are
 * declined.  A column's may shift times, which may be infinite, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "kernel/time_shift.h"
#include "lower/calendar.h"
#include "lower/span.h"

#define DAY_OF_USECS	USECS_PER_DAY

static bool lower_span(GpucolLower *l, Expr *expr, GpucolSpanValue *out);

static uint16
part_of(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b, int part)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, part);
}

static uint16
number(GpucolLower *l, int64 i, bool isnull)
{
	GpucolValue v;

	gpucol_lower_load(l, INT8OID, isnull ? (Datum) 0 : Int64GetDatum(i), isnull, true, &v);
	return v.reg;
}

/* Zero where a register is not NULL. */
static uint16
zero_unless_null(GpucolLower *l, uint16 reg)
{
	return gpucol_calendar_op(l, GPUCOL_OP_BIT_AND_I, reg, gpucol_calendar_number(l, 0));
}

static void
set_parts(uint16 months, uint16 days, uint16 usecs, GpucolSpanValue *out)
{
	out->months = months;
	out->days = days;
	out->usecs = usecs;
}

/* An interval without months and days, which are not NULL where it is. */
static void
set_clock(GpucolLower *l, uint16 usecs, GpucolSpanValue *out)
{
	set_parts(gpucol_calendar_number(l, 0), gpucol_calendar_number(l, 0), usecs, out);
	out->clock = true;
}

/* Only an aggregation may fall back at any row. */
static bool
check_may_fall_back(GpucolLower *l)
{
	return l->aggregating ||
		gpucol_lower_decline(l, "an interval that may be out of range, outside of an aggregation");
}

static bool
lower_column(GpucolLower *l, Expr *expr, int endless, GpucolSpanValue *out)
{
	GpucolValue v;

	if (!gpucol_lower_expr(l, expr, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_S)
		return gpucol_lower_decline(l, "an interval of this kind");
	out->months = part_of(l, GPUCOL_OP_SPAN_S, v.reg, GPUCOL_NO_REG, GPUCOL_SPAN_MONTHS | endless);
	out->days = part_of(l, GPUCOL_OP_SPAN_S, v.reg, GPUCOL_NO_REG, GPUCOL_SPAN_DAYS | endless);
	out->usecs = part_of(l, GPUCOL_OP_SPAN_S, v.reg, GPUCOL_NO_REG, GPUCOL_SPAN_USECS | endless);
	return true;
}

/* Read a constant; false if it is infinite. */
static bool
read_span(const Interval *span, GpucolSpan *read)
{
	return gpucol_span_read((const char *) span, sizeof(*span), false, read) == GPUCOL_OK;
}

static bool
lower_constant(GpucolLower *l, Const *c, GpucolSpanValue *out)
{
	static const Interval none = {0};
	const Interval *span = c->constisnull ? &none : DatumGetIntervalP(c->constvalue);
	GpucolSpan	read;
	__int128	total;

	if (!read_span(span, &read))
		return gpucol_lower_decline(l, "an infinite interval");
	set_parts(number(l, read.months, c->constisnull), number(l, read.days, c->constisnull),
			  number(l, read.usecs, c->constisnull), out);
	out->clock = read.months == 0 && read.days == 0 && !c->constisnull;
	total = ((__int128) read.months * DAYS_PER_MONTH + read.days) * DAY_OF_USECS + read.usecs;
	if (total == (int64) total)
		out->total = number(l, (int64) total, c->constisnull);
	return true;
}

/* Two integers. */
static bool
lower_pair(GpucolLower *l, List *args, uint16 *a, uint16 *b)
{
	GpucolValue x;
	GpucolValue y;

	if (!gpucol_lower_expr(l, linitial(args), &x) || !gpucol_lower_expr(l, lsecond(args), &y))
		return false;
	*a = x.reg;
	*b = y.reg;
	return (x.cls == GPUCOL_CLASS_I && y.cls == GPUCOL_CLASS_I) ||
		gpucol_lower_decline(l, "its argument has no fixed-width form");
}

/* The difference of two timestamps, which has whole days apart. */
static bool
lower_difference(GpucolLower *l, List *args, GpucolSpanValue *out)
{
	uint16		a;
	uint16		b;

	if (!check_may_fall_back(l) || !lower_pair(l, args, &a, &b))
		return false;
	out->total = gpucol_lower_emit(l, GPUCOL_OP_TIME_DIFF_I, a, b, GPUCOL_NO_REG, 8);
	out->plain = true;
	out->months = zero_unless_null(l, out->total);
	out->days = gpucol_calendar_quotient(l, out->total, DAY_OF_USECS);
	out->usecs = gpucol_calendar_op(l, GPUCOL_OP_MOD_I, out->total, gpucol_calendar_number(l, DAY_OF_USECS));
	return true;
}

/* The difference of two times. */
static bool
lower_time_difference(GpucolLower *l, List *args, GpucolSpanValue *out)
{
	uint16		a;
	uint16		b;

	if (!lower_pair(l, args, &a, &b))
		return false;
	set_clock(l, gpucol_calendar_op(l, GPUCOL_OP_SUB_I, a, b), out);
	out->total = out->usecs;
	return true;
}

static bool
lower_age(GpucolLower *l, Oid funcid, List *args, GpucolSpanValue *out)
{
	uint16		a;
	uint16		b;

	if (funcid == F_AGE_TIMESTAMPTZ_TIMESTAMPTZ && !gpucol_calendar_session_is_utc())
		return gpucol_lower_decline(l, "function of a time zone other than UTC");
	if (!check_may_fall_back(l) || !lower_pair(l, args, &a, &b))
		return false;
	out->months = part_of(l, GPUCOL_OP_AGE_I, a, b, GPUCOL_SPAN_MONTHS);
	out->days = part_of(l, GPUCOL_OP_AGE_I, a, b, GPUCOL_SPAN_DAYS);
	out->usecs = part_of(l, GPUCOL_OP_AGE_I, a, b, GPUCOL_SPAN_USECS);
	return true;
}

/* Have months and days NULL where the interval is. */
static void
have_all_null(GpucolLower *l, GpucolSpanValue *v)
{
	if (v->clock)
		v->months = v->days = zero_unless_null(l, v->usecs);
	v->clock = false;
}

/* Each part of a sum (sign 1) or difference (-1). */
static void
combine(GpucolLower *l, int sign, const GpucolSpanValue *a, const GpucolSpanValue *b, GpucolSpanValue *out)
{
	uint16		usecs = part_of(l, GPUCOL_OP_SPAN_ADD_I, a->usecs, b->usecs, sign * GPUCOL_SPAN_USECS);
	bool		clock = a->clock && b->clock;
	GpucolSpanValue x = *a;
	GpucolSpanValue y = *b;

	memset(out, 0, sizeof(*out));
	out->total = GPUCOL_NO_REG;
	if (clock)
	{
		set_clock(l, usecs, out);
		return;
	}
	have_all_null(l, &x);
	have_all_null(l, &y);
	set_parts(part_of(l, GPUCOL_OP_SPAN_ADD_I, x.months, y.months, sign * GPUCOL_SPAN_MONTHS),
			  part_of(l, GPUCOL_OP_SPAN_ADD_I, x.days, y.days, sign * GPUCOL_SPAN_DAYS), usecs, out);
}

/* 0 */
static GpucolSpanValue
no_span(GpucolLower *l)
{
	GpucolSpanValue none = {.total = GPUCOL_NO_REG};

	set_clock(l, gpucol_calendar_number(l, 0), &none);
	return none;
}

static bool
lower_sum(GpucolLower *l, Oid funcid, List *args, GpucolSpanValue *out)
{
	GpucolSpanValue a;
	GpucolSpanValue b;

	if (!lower_span(l, linitial(args), &a))
		return false;
	if (funcid == F_INTERVAL_UM)
	{
		b = no_span(l);
		combine(l, -1, &b, &a, out);
		return true;
	}
	if (!lower_span(l, lsecond(args), &b))
		return false;
	combine(l, funcid == F_INTERVAL_MI ? -1 : 1, &a, &b, out);
	return true;
}

/* A time as an interval. */
static bool
lower_cast(GpucolLower *l, Expr *arg, GpucolSpanValue *out)
{
	GpucolValue v;

	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	set_clock(l, v.reg, out);
	out->total = v.reg;
	return true;
}

/* Parts that integers were multiplied for, where they do not exceed PostgreSQL's range. */
static void
set_checked(GpucolLower *l, uint16 months, uint16 days, uint16 usecs, GpucolSpanValue *out)
{
	GpucolSpanValue none = no_span(l);
	GpucolSpanValue all = {.months = months,.days = days,.usecs = usecs,.total = GPUCOL_NO_REG};

	combine(l, 1, &all, &none, out);
}

/* The integer that a float8 is cast from, of so many bits; NULL if it is no smallint or integer. */
static Expr *
integer_factor(Expr *expr, int *bits)
{
	FuncExpr   *cast = (FuncExpr *) expr;

	if (!IsA(cast, FuncExpr) || (cast->funcid != F_FLOAT8_INT2 && cast->funcid != F_FLOAT8_INT4))
		return NULL;
	*bits = cast->funcid == F_FLOAT8_INT2 ? 15 : 31;
	return linitial(cast->args);
}

/* Is the product with an integer of so many bits an exact float8, and an int64? */
static bool
multiplies_exactly(int64 usecs, int bits)
{
	uint64		odd = usecs < 0 ? -(uint64) usecs : (uint64) usecs;
	int			all = 0;
	int			low = 0;

	for (; odd >> all != 0; all++)
	{
		if (low == all && (odd >> all & 1) == 0)
			low++;
	}
	return all + bits <= 63 && all - low + bits <= DBL_MANT_DIG;
}

/* A constant interval times an integer, as float8. */
static bool
lower_product(GpucolLower *l, Expr *span, Expr *factor, GpucolSpanValue *out)
{
	int			bits = 0;
	Expr	   *arg = integer_factor(factor, &bits);
	Const	   *c = (Const *) span;
	GpucolSpan	read;
	GpucolValue v;

	if (arg == NULL || !IsA(c, Const) || c->constisnull || !read_span(DatumGetIntervalP(c->constvalue), &read) ||
		!multiplies_exactly(read.usecs, bits))
		return gpucol_lower_decline(l, "an interval of this kind");
	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	if (v.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	if (read.months == 0 && read.days == 0)
		set_clock(l, gpucol_calendar_mul(l, v.reg, read.usecs), out);
	else
		set_checked(l, gpucol_calendar_mul(l, v.reg, read.months), gpucol_calendar_mul(l, v.reg, read.days),
					gpucol_calendar_mul(l, v.reg, read.usecs), out);
	return true;
}

/* The parts of make_interval so far. */
typedef struct MadeSpan
{
	uint16		parts[3];		/* months, days, microseconds */
	int			nterms[3];
	bool		wraps;			/* months or days may leave their type, of which releases make different things */
	uint16		nulls;			/* NULL where an argument is */
} MadeSpan;

/* Add an argument of make_interval, so many units each, to a part. */
static void
add_units(GpucolLower *l, uint16 reg, int64 units, int part, MadeSpan *made)
{
	made->wraps |= part < 2 && (units != 1 || made->nterms[part] > 0);
	made->nterms[part]++;
	made->parts[part] = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, made->parts[part], gpucol_calendar_mul(l, reg, units));
	made->nulls = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, made->nulls, zero_unless_null(l, reg));
}

/* Add the seconds of make_interval: a constant, or an integer as float8. */
static bool
add_seconds(GpucolLower *l, Expr *arg, MadeSpan *made)
{
	Const	   *secs = (Const *) arg;
	int			bits;
	GpucolValue v;

	if (IsA(secs, Const))
	{
		if (secs->constisnull || !(fabs(DatumGetFloat8(secs->constvalue)) < SECS_PER_DAY))
			return gpucol_lower_decline(l, "an interval of this kind");
		made->parts[2] = gpucol_calendar_add(l, made->parts[2],
											 (int64) rint(DatumGetFloat8(secs->constvalue) * USECS_PER_SEC));
		return true;
	}
	arg = integer_factor(arg, &bits);
	if (arg == NULL)
		return gpucol_lower_decline(l, "an interval of this kind");
	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	add_units(l, v.reg, USECS_PER_SEC, 2, made);
	return v.cls == GPUCOL_CLASS_I || gpucol_lower_decline(l, "its argument has no fixed-width form");
}

/* make_interval(years, months, weeks, days, hours, mins, secs) */
static bool
lower_make(GpucolLower *l, List *args, GpucolSpanValue *out)
{
	static const int64 units[] = {MONTHS_PER_YEAR, 1, 7, 1, USECS_PER_HOUR, USECS_PER_MINUTE};
	uint16		zero = gpucol_calendar_number(l, 0);
	MadeSpan	made = {.parts = {zero, zero, zero},.nulls = zero};

	for (int i = 0; i < (int) lengthof(units); i++)
	{
		Const	   *arg = list_nth(args, i);
		GpucolValue v;

		if (IsA(arg, Const) && !arg->constisnull && DatumGetInt32(arg->constvalue) == 0)
			continue;
		if (!gpucol_lower_expr(l, (Expr *) arg, &v))
			return false;
		if (v.cls != GPUCOL_CLASS_I)
			return gpucol_lower_decline(l, "its argument has no fixed-width form");
		add_units(l, v.reg, units[i], i / 2, &made);
	}
	if (!add_seconds(l, llast(args), &made) || (made.wraps && !check_may_fall_back(l)))
		return false;
	made.parts[2] = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, made.parts[2], made.nulls);
	if (made.nterms[0] + made.nterms[1] == 0)
		set_clock(l, made.parts[2], out);
	else
		set_parts(part_of(l, GPUCOL_OP_SPAN_ADD_I, made.parts[0], made.nulls, GPUCOL_SPAN_MONTHS | GPUCOL_SPAN_WRAPS),
				  part_of(l, GPUCOL_OP_SPAN_ADD_I, made.parts[1], made.nulls, GPUCOL_SPAN_DAYS | GPUCOL_SPAN_WRAPS),
				  made.parts[2], out);
	return true;
}

static bool
lower_call(GpucolLower *l, Oid funcid, List *args, GpucolSpanValue *out)
{
	switch (funcid)
	{
		case F_TIMESTAMP_MI:
		case F_TIMESTAMPTZ_MI:
			return lower_difference(l, args, out);
		case F_TIME_MI_TIME:
			return lower_time_difference(l, args, out);
		case F_AGE_TIMESTAMP_TIMESTAMP:
		case F_AGE_TIMESTAMPTZ_TIMESTAMPTZ:
			return lower_age(l, funcid, args, out);
		case F_INTERVAL_PL:
		case F_INTERVAL_MI:
		case F_INTERVAL_UM:
			return lower_sum(l, funcid, args, out);
		case F_INTERVAL_TIME:
			return lower_cast(l, linitial(args), out);
		case F_INTERVAL_MUL:
			return lower_product(l, linitial(args), lsecond(args), out);
		case F_MUL_D_INTERVAL:
			return lower_product(l, lsecond(args), linitial(args), out);
		case F_MAKE_INTERVAL:
			return lower_make(l, args, out);
		default:
			return gpucol_lower_decline(l, "an interval of this kind");
	}
}

/* Lower an interval; one without months and days is marked. */
static bool
lower_span(GpucolLower *l, Expr *expr, GpucolSpanValue *out)
{
	memset(out, 0, sizeof(*out));
	out->total = GPUCOL_NO_REG;
	if (exprType((Node *) expr) != INTERVALOID)
		return gpucol_lower_decline(l, "an interval of this kind");
	if (IsA(expr, Var))
		return check_may_fall_back(l) && lower_column(l, expr, 0, out);
	if (IsA(expr, Const))
		return lower_constant(l, (Const *) expr, out);
	if (IsA(expr, OpExpr))
		return lower_call(l, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->args, out);
	if (IsA(expr, FuncExpr))
		return lower_call(l, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args, out);
	return gpucol_lower_decline(l, "an interval of this kind");
}

bool
gpucol_lower_span(GpucolLower *l, Expr *expr, GpucolSpanValue *out)
{
	if (!lower_span(l, expr, out))
		return false;
	have_all_null(l, out);
	return true;
}

bool
gpucol_lower_span_of_shift(GpucolLower *l, Expr *expr, GpucolSpanValue *out)
{
	if (!IsA(expr, Var) || exprType((Node *) expr) != INTERVALOID)
		return lower_span(l, expr, out);
	memset(out, 0, sizeof(*out));
	out->total = GPUCOL_NO_REG;
	out->endless = true;
	return lower_column(l, expr, GPUCOL_SPAN_ENDLESS, out);
}

/* ------------------------------------------------------------------------
 * Functions
 * ------------------------------------------------------------------------
 */

static uint16
to_decimal(GpucolLower *l, uint16 reg)
{
	return gpucol_lower_emit(l, GPUCOL_OP_I_TO_D, reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
}

static bool
set_value(GpucolValue *out, GpucolClass cls, uint16 reg, int scale)
{
	memset(out, 0, sizeof(*out));
	out->cls = cls;
	out->reg = reg;
	out->scale = scale;
	out->digits = cls == GPUCOL_CLASS_D ? 26 : 0;
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}

/* Days (an integer) and microseconds, as a decimal without fraction. */
static uint16
total_decimal(GpucolLower *l, uint16 days, uint16 usecs)
{
	uint16		day = to_decimal(l, gpucol_calendar_number(l, DAY_OF_USECS));

	day = gpucol_calendar_op(l, GPUCOL_OP_MUL_D, to_decimal(l, days), day);
	return gpucol_calendar_op(l, GPUCOL_OP_ADD_D, day, to_decimal(l, usecs));
}

/* All of an interval in microseconds, as PostgreSQL compares them. */
static uint16
comparable(GpucolLower *l, const GpucolSpanValue *v)
{
	uint16		days;

	if (v->total != GPUCOL_NO_REG)
		return to_decimal(l, v->total);
	days = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, gpucol_calendar_mul(l, v->months, DAYS_PER_MONTH), v->days);
	return total_decimal(l, days, v->usecs);
}

typedef struct SpanComparison
{
	Oid			oid;
	GpucolOpcode narrow;		/* of integers, */
	GpucolOpcode wide;			/* of decimals */
	bool		swap;
} SpanComparison;

static const SpanComparison comparisons[] = {
	{F_INTERVAL_EQ, GPUCOL_OP_EQ_I, GPUCOL_OP_EQ_D, false},
	{F_INTERVAL_NE, GPUCOL_OP_NE_I, GPUCOL_OP_NE_D, false},
	{F_INTERVAL_LT, GPUCOL_OP_LT_I, GPUCOL_OP_LT_D, false},
	{F_INTERVAL_LE, GPUCOL_OP_LE_I, GPUCOL_OP_LE_D, false},
	{F_INTERVAL_GT, GPUCOL_OP_LT_I, GPUCOL_OP_LT_D, true},
	{F_INTERVAL_GE, GPUCOL_OP_LE_I, GPUCOL_OP_LE_D, true},
};

static bool
lower_comparison(GpucolLower *l, const SpanComparison *c, List *args, GpucolValue *out)
{
	GpucolSpanValue a;
	GpucolSpanValue b;
	uint16		reg;

	if (!gpucol_lower_span(l, c->swap ? lsecond(args) : linitial(args), &a) ||
		!gpucol_lower_span(l, c->swap ? linitial(args) : lsecond(args), &b))
		return false;
	if (a.total != GPUCOL_NO_REG && b.total != GPUCOL_NO_REG)
		reg = gpucol_lower_emit(l, c->narrow, a.total, b.total, GPUCOL_NO_REG, 0);
	else
		reg = gpucol_lower_emit(l, c->wide, comparable(l, &a), comparable(l, &b), GPUCOL_NO_REG, 0);
	return set_value(out, GPUCOL_CLASS_B, reg, 0);
}

/* Quotient and remainder that have the sign of the dividend. */
static uint16
quotient(GpucolLower *l, uint16 reg, int64 by)
{
	return gpucol_calendar_quotient(l, reg, by);
}

static uint16
remainder_of(GpucolLower *l, uint16 reg, int64 by)
{
	return gpucol_calendar_op(l, GPUCOL_OP_MOD_I, reg, gpucol_calendar_number(l, by));
}

/* Microseconds of an interval; four times its days and months are a whole number. */
static uint16
epoch(GpucolLower *l, const GpucolSpanValue *v)
{
	uint16		quarters;
	uint16		rest;

	if (v->plain)
		return to_decimal(l, v->total);
	quarters = gpucol_calendar_mul(l, quotient(l, v->months, MONTHS_PER_YEAR), (int64) (4 * DAYS_PER_YEAR));
	rest = gpucol_calendar_mul(l, remainder_of(l, v->months, MONTHS_PER_YEAR), 4 * DAYS_PER_MONTH);
	quarters = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, quarters, rest);
	quarters = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, quarters, gpucol_calendar_mul(l, v->days, 4));
	return gpucol_calendar_op(l, GPUCOL_OP_ADD_D,
							  gpucol_calendar_op(l, GPUCOL_OP_MUL_D, to_decimal(l, quarters),
												 to_decimal(l, gpucol_calendar_number(l, DAY_OF_USECS / 4))),
							  to_decimal(l, v->usecs));
}

/* A field that is an integer; GPUCOL_NO_REG: none that is known here. */
static uint16
integer_field(GpucolLower *l, GpucolDateField field, const GpucolSpanValue *v)
{
	switch (field)
	{
		case GPUCOL_FIELD_MICROSECOND:
			return remainder_of(l, v->usecs, USECS_PER_MINUTE);
		case GPUCOL_FIELD_MINUTE:
			return quotient(l, remainder_of(l, v->usecs, USECS_PER_HOUR), USECS_PER_MINUTE);
		case GPUCOL_FIELD_HOUR:
			return quotient(l, v->usecs, USECS_PER_HOUR);
		case GPUCOL_FIELD_DAY:
			return v->days;
		case GPUCOL_FIELD_MONTH:
			return remainder_of(l, v->months, MONTHS_PER_YEAR);
		case GPUCOL_FIELD_YEAR:
			return quotient(l, v->months, MONTHS_PER_YEAR);
		case GPUCOL_FIELD_DECADE:
			return quotient(l, v->months, MONTHS_PER_YEAR * 10);
		case GPUCOL_FIELD_CENTURY:
			return quotient(l, v->months, MONTHS_PER_YEAR * 100);
		case GPUCOL_FIELD_MILLENNIUM:
			return quotient(l, v->months, MONTHS_PER_YEAR * 1000);
		default:
			return GPUCOL_NO_REG;
	}
}

/* extract(field FROM interval), and date_part where the field is an integer */
static bool
lower_field(GpucolLower *l, List *args, bool real, GpucolValue *out)
{
	GpucolDateField field = gpucol_calendar_field(linitial(args));
	GpucolSpanValue v;
	uint16		reg;

	if (!gpucol_lower_span(l, lsecond(args), &v))
		return false;
	if (!real && field == GPUCOL_FIELD_EPOCH)
		return set_value(out, GPUCOL_CLASS_D, epoch(l, &v), 6);
	if (!real && (field == GPUCOL_FIELD_SECOND || field == GPUCOL_FIELD_MILLISECOND))
		return set_value(out, GPUCOL_CLASS_D, to_decimal(l, remainder_of(l, v.usecs, USECS_PER_MINUTE)),
						 field == GPUCOL_FIELD_SECOND ? 6 : 3);
	reg = integer_field(l, field, &v);
	if (reg == GPUCOL_NO_REG)
		return gpucol_lower_decline(l, "this field of an interval");
	if (real)
		return set_value(out, GPUCOL_CLASS_F, gpucol_calendar_op(l, GPUCOL_OP_I_TO_F, reg, GPUCOL_NO_REG), 0);
	return set_value(out, GPUCOL_CLASS_D, to_decimal(l, reg), 0);
}

/* A time of day plus or minus an interval, of which months and days do not matter. */
static bool
lower_time(GpucolLower *l, List *args, bool minus, GpucolValue *out)
{
	GpucolSpanValue span;
	GpucolValue v;
	uint16		usecs;

	if (!gpucol_lower_expr(l, linitial(args), &v) || !gpucol_lower_span(l, lsecond(args), &span))
		return false;
	if (v.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	usecs = remainder_of(l, span.usecs, DAY_OF_USECS);
	usecs = gpucol_calendar_op(l, minus ? GPUCOL_OP_SUB_I : GPUCOL_OP_ADD_I, v.reg, usecs);
	return set_value(out, GPUCOL_CLASS_I, gpucol_calendar_floor_mod(l, usecs, DAY_OF_USECS), 0);
}

bool
gpucol_lower_span_function(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	*matched = true;
	for (int i = 0; i < (int) lengthof(comparisons); i++)
	{
		if (comparisons[i].oid == funcid)
			return lower_comparison(l, &comparisons[i], args, out);
	}
	switch (funcid)
	{
		case F_EXTRACT_TEXT_INTERVAL:
		case F_DATE_PART_TEXT_INTERVAL:
			return lower_field(l, args, funcid == F_DATE_PART_TEXT_INTERVAL, out);
		case F_TIME_PL_INTERVAL:
		case F_TIME_MI_INTERVAL:
			return lower_time(l, args, funcid == F_TIME_MI_INTERVAL, out);
		default:
			*matched = false;
			return false;
	}
}

/* ------------------------------------------------------------------------
 * Aggregates
 * ------------------------------------------------------------------------
 */

/* Lower the argument, under the mask of the filter's rows. */
static bool
lower_argument(GpucolLower *l, Expr *arg, uint16 filter, GpucolSpanValue *v)
{
	GpucolMask	mask;
	bool		ok;

	if (filter == GPUCOL_NO_REG)
		return gpucol_lower_span(l, arg, v);
	gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, filter);
	l->conditional++;
	ok = gpucol_lower_span(l, arg, v);
	gpucol_lower_pop_mask(l);
	l->conditional--;
	return ok;
}

static int
add_sum(GpucolLower *l, uint16 reg, uint16 filter)
{
	return gpucol_lower_agg(l, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, reg, filter);
}

/* Add the states of an aggregate of a lowered argument. */
static bool
add_states(GpucolLower *l, Oid funcid, const GpucolSpanValue *v, uint16 filter, GpucolFinal *final)
{
	final->cls = GPUCOL_CLASS_I;
	if (funcid == F_SUM_INTERVAL || funcid == F_AVG_INTERVAL)
	{
		final->kind = funcid == F_SUM_INTERVAL ? GPUCOL_FINAL_SUM_SPAN : GPUCOL_FINAL_AVG_SPAN;
		final->state = add_sum(l, v->usecs, filter);
		final->x_state = add_sum(l, v->days, filter);
		final->y_state = add_sum(l, v->months, filter);
		return true;
	}
	if (funcid == F_COUNT_ANY)
	{
		final->kind = GPUCOL_FINAL_COUNT;
		final->state = gpucol_lower_agg(l, GPUCOL_AGG_COUNT, GPUCOL_CLASS_I, v->usecs, filter);
		return true;
	}
	if (!v->plain)
		return gpucol_lower_decline(l, "equal intervals that look different");
	final->kind = GPUCOL_FINAL_SPAN;
	final->state = gpucol_lower_agg(l, funcid == F_MIN_INTERVAL ? GPUCOL_AGG_MIN : GPUCOL_AGG_MAX,
									GPUCOL_CLASS_I, v->total, filter);
	return true;
}

bool
gpucol_lower_span_agg(GpucolLower *l, Aggref *agg, bool *matched, GpucolFinal *final)
{
	bool		extreme = agg->aggfnoid == F_MIN_INTERVAL || agg->aggfnoid == F_MAX_INTERVAL;
	uint16		filter = GPUCOL_NO_REG;
	GpucolSpanValue v;
	Expr	   *arg;

	*matched = false;
	if (list_length(agg->args) != 1)
		return false;
	arg = ((TargetEntry *) linitial(agg->args))->expr;
	*matched = exprType((Node *) arg) == INTERVALOID &&
		(extreme || agg->aggfnoid == F_SUM_INTERVAL || agg->aggfnoid == F_AVG_INTERVAL ||
		 (agg->aggfnoid == F_COUNT_ANY && !IsA(arg, Var) && !IsA(arg, Const) && agg->aggdistinct == NIL));
	if (!*matched)
		return false;
	if ((agg->aggdistinct != NIL && !extreme) || agg->aggsplit != AGGSPLIT_SIMPLE || agg->agglevelsup != 0)
		return gpucol_lower_decline(l, "an aggregate of intervals has DISTINCT, or is computed in steps");
	if (agg->aggfilter != NULL && !gpucol_lower_bool(l, agg->aggfilter, &filter))
		return false;
	return lower_argument(l, arg, filter, &v) && add_states(l, agg->aggfnoid, &v, filter, final);
}
