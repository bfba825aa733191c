/*-------------------------------------------------------------------------
 *
 * shift.c
 *	  Dates and timestamps plus or minus days and intervals, and their differences.
 *
 * A timestamptz takes months and days as a timestamp does where the session's time zone is
 * UTC; hours and less do not depend on it.  Intervals themselves: lower/span.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "kernel/time_shift.h"
#include "lower/calendar.h"
#include "lower/span.h"

typedef enum ShiftKind
{
	ADD_DAYS,
	ADD_DAYS_FIRST,				/* the number, then the date */
	SUBTRACT_DAYS,
	DATE_DIFFERENCE,
	ADD_INTERVAL,
	SUBTRACT_INTERVAL
} ShiftKind;

typedef struct ShiftFunction
{
	Oid			oid;
	ShiftKind	kind;
	bool		of_date;
	bool		zoned;
} ShiftFunction;

static const ShiftFunction functions[] = {
	{F_DATE_PLI, ADD_DAYS, true, false},
	{F_INTEGER_PL_DATE, ADD_DAYS_FIRST, true, false},
	{F_DATE_MII, SUBTRACT_DAYS, true, false},
	{F_DATE_MI, DATE_DIFFERENCE, true, false},
	{F_DATE_PL_INTERVAL, ADD_INTERVAL, true, false},
	{F_DATE_MI_INTERVAL, SUBTRACT_INTERVAL, true, false},
	{F_TIMESTAMP_PL_INTERVAL, ADD_INTERVAL, false, false},
	{F_TIMESTAMP_MI_INTERVAL, SUBTRACT_INTERVAL, false, false},
	{F_TIMESTAMPTZ_PL_INTERVAL, ADD_INTERVAL, false, true},
	{F_TIMESTAMPTZ_MI_INTERVAL, SUBTRACT_INTERVAL, false, true},
};

static bool
set_int(GpucolValue *out, uint16 reg)
{
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_I;
	out->reg = reg;
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}

/* An argument as integers. */
static bool
lower_int(GpucolLower *l, Expr *arg, GpucolValue *v)
{
	return gpucol_lower_expr(l, arg, v) &&
		(v->cls == GPUCOL_CLASS_I || gpucol_lower_decline(l, "its argument has no fixed-width form"));
}

/* A constant interval, negated if it is subtracted; false if it has no plain fields. */
static bool
const_interval(Expr *arg, bool negate, Interval *out)
{
	Const	   *c = (Const *) arg;

	if (!IsA(c, Const) || c->constisnull || c->consttype != INTERVALOID)
		return false;
	*out = *DatumGetIntervalP(c->constvalue);
	/* the ends are infinities from 17 on, and cannot be negated */
	if (out->month == PG_INT32_MIN || out->day == PG_INT32_MIN || out->time == PG_INT64_MIN ||
		out->month == PG_INT32_MAX || out->day == PG_INT32_MAX || out->time == PG_INT64_MAX)
		return false;
	if (negate)
	{
		out->month = -out->month;
		out->day = -out->day;
		out->time = -out->time;
	}
	return true;
}

/* A date or timestamp and an interval that an engine computes. */
static bool
lower_varying(GpucolLower *l, const ShiftFunction *f, List *args, GpucolValue *out)
{
	GpucolSpanValue span;
	GpucolValue v;
	uint16		both;
	int			flags;

	if (!lower_int(l, linitial(args), &v) || !gpucol_lower_span_of_shift(l, lsecond(args), &span))
		return false;
	if (f->zoned && !span.clock && !gpucol_calendar_session_is_utc())
		return gpucol_lower_decline(l, "months and days of a time zone other than UTC");
	if (span.clock)
		both = gpucol_calendar_number(l, 0);
	else
	{
		both = gpucol_calendar_mul(l, span.months, INT64CONST(1) << 32);
		both = gpucol_calendar_op(l, GPUCOL_OP_BIT_OR_I, both,
								  gpucol_calendar_op(l, GPUCOL_OP_BIT_AND_I, span.days,
													 gpucol_calendar_number(l, PG_UINT32_MAX)));
	}
	flags = (f->of_date ? GPUCOL_SHIFT_DATE : 0) | (f->kind == SUBTRACT_INTERVAL ? GPUCOL_SHIFT_BACK : 0);
	if (GPUCOL_COMPAT_ENDLESS_SPANS)
		flags |= GPUCOL_SHIFT_NEGATIVE | (span.endless ? GPUCOL_SHIFT_ENDLESS : 0);
	return set_int(out, gpucol_lower_emit(l, GPUCOL_OP_SHIFT_I, v.reg, span.usecs, both, flags));
}

/* A date or timestamp and an interval. */
static bool
lower_interval(GpucolLower *l, const ShiftFunction *f, List *args, GpucolValue *out)
{
	GpucolValue v;
	Interval	span;

	if (!const_interval(lsecond(args), f->kind == SUBTRACT_INTERVAL, &span))
		return lower_varying(l, f, args, out);
	if (f->zoned && (span.month != 0 || span.day != 0) && !gpucol_calendar_session_is_utc())
		return gpucol_lower_decline(l, "months and days of a time zone other than UTC");
	return lower_int(l, linitial(args), &v) &&
		set_int(out, gpucol_lower_emit(l, GPUCOL_OP_SHIFT_I, v.reg, gpucol_calendar_number(l, span.time),
									   gpucol_calendar_number(l, GPUCOL_MONTHS_AND_DAYS(span.month, span.day)),
									   f->of_date ? GPUCOL_SHIFT_DATE : 0));
}

/* A date and days, or two dates. */
static bool
lower_days(GpucolLower *l, const ShiftFunction *f, List *args, GpucolValue *out)
{
	bool		swap = f->kind == ADD_DAYS_FIRST;
	GpucolValue a;
	GpucolValue b;

	if (!lower_int(l, swap ? lsecond(args) : linitial(args), &a) ||
		!lower_int(l, swap ? linitial(args) : lsecond(args), &b))
		return false;
	if (f->kind == DATE_DIFFERENCE)
		return set_int(out, gpucol_lower_emit(l, GPUCOL_OP_TIME_DIFF_I, a.reg, b.reg, GPUCOL_NO_REG, 4));
	return set_int(out, gpucol_lower_emit(l, GPUCOL_OP_DATE_ADD_I, a.reg, b.reg, GPUCOL_NO_REG,
										  f->kind == SUBTRACT_DAYS ? -1 : 1));
}

/*
 * Lower a sum or difference of dates and times.  *matched says whether the function is one
 * that is known here.
 */
bool
gpucol_lower_shift(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	*matched = false;
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		const ShiftFunction *f = &functions[i];

		if (f->oid != funcid)
			continue;
		*matched = true;
		return f->kind >= ADD_INTERVAL ? lower_interval(l, f, args, out) : lower_days(l, f, args, out);
	}
	return false;
}
