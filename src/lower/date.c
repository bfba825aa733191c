/*-------------------------------------------------------------------------
 *
 * date.c
 *	  Functions of dates, timestamps and times, as integer arithmetic: date_trunc,
 *	  fields (lower/field.c), casts, and sums with days and intervals.
 *
 * A timestamptz is computed with as a timestamp: moved to the session's time zone, which is
 * asked for again at the start of each scan, unless that is UTC (lower/zone.c).
 *
 * Infinity stays what it is, or becomes NULL as a time.  What PostgreSQL reports as out
 * of range makes the statement fall back, which only aggregations can.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"

#include "kernel/time_zone.h"
#include "lower/calendar.h"

/* The first day that no timestamp has. */
#define FIRST_DAY_WITHOUT_STAMP		(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)

/* 4000 BC, before which a millennium starts that no timestamp has the start of */
#define FIRST_YEAR_OF_PERIODS		(-3999)

/* What a function makes of a value. */
typedef enum DateFunctionKind
{
	TO_NUMERIC_FIELD,
	TO_REAL_FIELD,
	TO_TRUNCATED,
	TO_DATE,
	TO_TIME,
	TO_STAMP
} DateFunctionKind;

typedef struct DateFunction
{
	Oid			oid;
	DateFunctionKind result;
	GpucolDateKind kind;		/* of the argument */
	bool		zoned;			/* depends on the session's time zone */
} DateFunction;

static const DateFunction functions[] = {
	{F_EXTRACT_TEXT_DATE, TO_NUMERIC_FIELD, GPUCOL_DATE_DAYS, false},
	{F_EXTRACT_TEXT_TIME, TO_NUMERIC_FIELD, GPUCOL_DATE_TIME, false},
	{F_EXTRACT_TEXT_TIMESTAMP, TO_NUMERIC_FIELD, GPUCOL_DATE_STAMP, false},
	{F_EXTRACT_TEXT_TIMESTAMPTZ, TO_NUMERIC_FIELD, GPUCOL_DATE_STAMP, true},
	{F_DATE_PART_TEXT_TIME, TO_REAL_FIELD, GPUCOL_DATE_TIME, false},
	{F_DATE_PART_TEXT_TIMESTAMP, TO_REAL_FIELD, GPUCOL_DATE_STAMP, false},
	{F_DATE_PART_TEXT_TIMESTAMPTZ, TO_REAL_FIELD, GPUCOL_DATE_STAMP, true},
	{F_DATE_TRUNC_TEXT_TIMESTAMP, TO_TRUNCATED, GPUCOL_DATE_STAMP, false},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ, TO_TRUNCATED, GPUCOL_DATE_STAMP, true},
	{F_DATE_TIMESTAMP, TO_DATE, GPUCOL_DATE_STAMP, false},
	{F_DATE_TIMESTAMPTZ, TO_DATE, GPUCOL_DATE_STAMP, true},
	{F_TIME_TIMESTAMP, TO_TIME, GPUCOL_DATE_STAMP, false},
	{F_TIME_TIMESTAMPTZ, TO_TIME, GPUCOL_DATE_STAMP, true},
	{F_TIMESTAMP_DATE, TO_STAMP, GPUCOL_DATE_DAYS, false},
	{F_TIMESTAMPTZ_DATE, TO_STAMP, GPUCOL_DATE_DAYS, true},
	{F_TIMESTAMP_TIMESTAMPTZ, TO_STAMP, GPUCOL_DATE_STAMP, true},
	{F_TIMESTAMPTZ_TIMESTAMP, TO_STAMP, GPUCOL_DATE_STAMP, true},
};

static const DateFunction *
find_function(Oid oid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].oid == oid)
			return &functions[i];
	}
	return NULL;
}

/* A field by PostgreSQL's number of it. */
static GpucolDateField
field_of_unit(int unit)
{
	switch (unit)
	{
		case DTK_MICROSEC:
			return GPUCOL_FIELD_MICROSECOND;
		case DTK_MILLISEC:
			return GPUCOL_FIELD_MILLISECOND;
		case DTK_SECOND:
			return GPUCOL_FIELD_SECOND;
		case DTK_MINUTE:
			return GPUCOL_FIELD_MINUTE;
		case DTK_HOUR:
			return GPUCOL_FIELD_HOUR;
		case DTK_DAY:
			return GPUCOL_FIELD_DAY;
		case DTK_DOW:
			return GPUCOL_FIELD_DOW;
		case DTK_ISODOW:
			return GPUCOL_FIELD_ISODOW;
		case DTK_DOY:
			return GPUCOL_FIELD_DOY;
		case DTK_WEEK:
			return GPUCOL_FIELD_WEEK;
		case DTK_MONTH:
			return GPUCOL_FIELD_MONTH;
		case DTK_QUARTER:
			return GPUCOL_FIELD_QUARTER;
		case DTK_YEAR:
			return GPUCOL_FIELD_YEAR;
		case DTK_ISOYEAR:
			return GPUCOL_FIELD_ISOYEAR;
		case DTK_DECADE:
			return GPUCOL_FIELD_DECADE;
		case DTK_CENTURY:
			return GPUCOL_FIELD_CENTURY;
		case DTK_MILLENNIUM:
			return GPUCOL_FIELD_MILLENNIUM;
		case DTK_JULIAN:
			return GPUCOL_FIELD_JULIAN;
		default:
			return GPUCOL_FIELD_NONE;
	}
}

/*
 * The field that a constant text names, as far as it is known here.
 */
GpucolDateField
gpucol_calendar_field(Expr *expr)
{
	text	   *name;
	char	   *lower;
	int			type;
	int			unit;

	if (!IsA(expr, Const) || ((Const *) expr)->constisnull)
		return GPUCOL_FIELD_NONE;
	name = DatumGetTextPP(((Const *) expr)->constvalue);
	lower = downcase_truncate_identifier(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), false);
	type = DecodeUnits(0, lower, &unit);
	if (type == UNKNOWN_FIELD)
		type = DecodeSpecial(0, lower, &unit);
	if (type == UNITS)
		return field_of_unit(unit);
	return type == RESERV && unit == DTK_EPOCH ? GPUCOL_FIELD_EPOCH : GPUCOL_FIELD_NONE;
}

/* Is the session's time zone UTC, always? */
bool
gpucol_calendar_session_is_utc(void)
{
	long		offset;

	return pg_get_timezone_offset(session_timezone, &offset) && offset == 0;
}

/* Set the infinities of a lowered value apart. */
static void
split_value(GpucolLower *l, GpucolDateKind kind, uint16 reg, GpucolDateValue *out)
{
	bool		days = kind == GPUCOL_DATE_DAYS;
	uint16		low;
	uint16		high;

	out->kind = kind;
	out->original = out->value = reg;
	out->infinite = GPUCOL_NO_REG;
	if (kind == GPUCOL_DATE_TIME)
		return;
	low = gpucol_calendar_number(l, days ? (int64) DATEVAL_NOBEGIN : DT_NOBEGIN);
	high = gpucol_calendar_number(l, days ? (int64) DATEVAL_NOEND : DT_NOEND);
	out->infinite = gpucol_calendar_op(l, GPUCOL_OP_OR,
									   gpucol_calendar_op(l, GPUCOL_OP_EQ_I, reg, low),
									   gpucol_calendar_op(l, GPUCOL_OP_EQ_I, reg, high));
	out->value = gpucol_calendar_choose(l, out->infinite, gpucol_calendar_number(l, 0), reg);
}

/*
 * The first year of a decade, century or millennium, which for the first years of all
 * has no timestamp.
 */
static uint16
period_start(GpucolLower *l, GpucolDateField unit, uint16 year)
{
	int64		years = unit == GPUCOL_FIELD_CENTURY ? 100 : 1000;
	uint16		early = gpucol_calendar_op(l, GPUCOL_OP_LT_I, year,
										   gpucol_calendar_number(l, FIRST_YEAR_OF_PERIODS));

	year = gpucol_calendar_refuse(l, early, year);
	if (unit == GPUCOL_FIELD_DECADE)
		return gpucol_calendar_floor_multiple(l, year, 10);
	year = gpucol_calendar_floor_multiple(l, gpucol_calendar_add(l, year, -1), years);
	return gpucol_calendar_add(l, year, 1);
}

/* Month 1, 4, 7 or 10 that starts the quarter of a month. */
static uint16
quarter_month(GpucolLower *l, uint16 month)
{
	uint16		quarter = gpucol_calendar_quotient(l, gpucol_calendar_add(l, month, -1), 3);

	return gpucol_calendar_add(l, gpucol_calendar_mul(l, quarter, 3), 1);
}

/* Day number on which a unit of more than a day starts; false if it is no such unit. */
static bool
truncate_day(GpucolLower *l, GpucolDateField unit, uint16 day, uint16 *reg)
{
	GpucolCivilDate civil;
	uint16		before;

	if (unit == GPUCOL_FIELD_WEEK)
	{
		before = gpucol_calendar_weekday(l, day);
		*reg = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, day, before);
		return true;
	}
	gpucol_calendar_civil(l, day, &civil);
	switch (unit)
	{
		case GPUCOL_FIELD_MONTH:
			before = gpucol_calendar_add(l, civil.day, -1);
			*reg = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, day, before);
			return true;
		case GPUCOL_FIELD_QUARTER:
			*reg = gpucol_calendar_month_start(l, civil.year, quarter_month(l, civil.month));
			return true;
		case GPUCOL_FIELD_DECADE:
		case GPUCOL_FIELD_CENTURY:
		case GPUCOL_FIELD_MILLENNIUM:
			civil.year = period_start(l, unit, civil.year);
			break;
		case GPUCOL_FIELD_YEAR:
			break;
		default:
			return false;
	}
	*reg = gpucol_calendar_month_start(l, civil.year, gpucol_calendar_number(l, 1));
	return true;
}

/* Microseconds of a unit that has always as many; 0 if it has not. */
static int64
unit_length(GpucolDateField unit)
{
	switch (unit)
	{
		case GPUCOL_FIELD_MILLISECOND:
			return 1000;
		case GPUCOL_FIELD_SECOND:
			return USECS_PER_SEC;
		case GPUCOL_FIELD_MINUTE:
			return USECS_PER_MINUTE;
		case GPUCOL_FIELD_HOUR:
			return USECS_PER_HOUR;
		case GPUCOL_FIELD_DAY:
			return USECS_PER_DAY;
		default:
			return 0;
	}
}

/* Finish a date or timestamp: infinity is what it was. */
static bool
keep_infinite(GpucolLower *l, const GpucolDateValue *v, uint16 reg, GpucolValue *out)
{
	out->reg = gpucol_calendar_choose(l, v->infinite, v->original, reg);
	return true;
}

/* date_trunc(unit, timestamp) */
static bool
lower_trunc(GpucolLower *l, GpucolDateField unit, const GpucolDateValue *v, GpucolValue *out)
{
	int64		length = unit_length(unit);
	uint16		reg = v->value;

	if (unit >= GPUCOL_FIELD_DECADE && !l->aggregating)
		return gpucol_lower_decline(l, "date_trunc that may be out of range, outside of an aggregation");
	if (length > 0)
		reg = gpucol_calendar_floor_multiple(l, v->value, length);
	else if (truncate_day(l, unit, gpucol_calendar_day(l, v), &reg))
		reg = gpucol_calendar_mul(l, reg, USECS_PER_DAY);
	else if (unit != GPUCOL_FIELD_MICROSECOND)
		return gpucol_lower_decline(l, "date_trunc to this unit");
	return keep_infinite(l, v, reg, out);
}

/* One of two infinities, by the sign of a value. */
static uint16
infinity_like(GpucolLower *l, uint16 original, int64 low, int64 high)
{
	uint16		late = gpucol_calendar_op(l, GPUCOL_OP_LT_I, gpucol_calendar_number(l, 0), original);

	return gpucol_calendar_choose(l, late, gpucol_calendar_number(l, high),
								  gpucol_calendar_number(l, low));
}

/* timestamp to date */
static bool
lower_to_date(GpucolLower *l, const GpucolDateValue *v, GpucolValue *out)
{
	uint16		infinity = infinity_like(l, v->original, DATEVAL_NOBEGIN, DATEVAL_NOEND);

	out->reg = gpucol_calendar_choose(l, v->infinite, infinity, gpucol_calendar_day(l, v));
	return true;
}

/* timestamp to time */
static bool
lower_to_time(GpucolLower *l, const GpucolDateValue *v, GpucolValue *out)
{
	GpucolValue null;

	gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &null);
	out->reg = gpucol_calendar_choose(l, v->infinite, null.reg,
									  gpucol_calendar_floor_mod(l, v->value, USECS_PER_DAY));
	return true;
}

/* A date that may be out of range for timestamp, which is an error then. */
static bool
lower_checked_stamp(GpucolLower *l, uint16 date, GpucolValue *out)
{
	uint16		zero = gpucol_calendar_number(l, 0);

	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_I;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_SHIFT_I, date, zero, zero, GPUCOL_SHIFT_DATE);
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}

/* date or timestamp to timestamp, where the run may fall back */
static bool
lower_to_stamp(GpucolLower *l, const GpucolDateValue *v, GpucolValue *out)
{
	uint16		infinity;
	uint16		late;
	uint16		day;

	out->reg = v->original;
	if (v->kind == GPUCOL_DATE_STAMP)
		return true;
	infinity = infinity_like(l, v->original, DT_NOBEGIN, DT_NOEND);
	late = gpucol_calendar_op(l, GPUCOL_OP_LE_I, gpucol_calendar_number(l, FIRST_DAY_WITHOUT_STAMP),
							  v->value);
	day = gpucol_calendar_refuse(l, late, v->value);
	out->reg = gpucol_calendar_choose(l, v->infinite, infinity,
									  gpucol_calendar_mul(l, day, USECS_PER_DAY));
	return true;
}

/* Dispatch on what the function makes. */
static bool
lower_result(GpucolLower *l, const DateFunction *f, GpucolDateField field,
			 const GpucolDateValue *v, GpucolValue *out)
{
	out->cls = GPUCOL_CLASS_I;
	out->scale = 0;
	out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	switch (f->result)
	{
		case TO_TRUNCATED:
			return lower_trunc(l, field, v, out);
		case TO_DATE:
			return lower_to_date(l, v, out);
		case TO_TIME:
			return lower_to_time(l, v, out);
		case TO_STAMP:
			return lower_to_stamp(l, v, out);
		default:
			return gpucol_lower_field(l, field, v, f->result == TO_REAL_FIELD, out);
	}
}

/* Lower what nothing can fail of, under no mask. */
static bool
lower_unmasked(GpucolLower *l, const DateFunction *f, GpucolDateField field, uint16 arg,
			   GpucolValue *out)
{
	GpucolMask *mask = l->mask;
	bool		may_raise = l->may_raise;
	GpucolDateValue v;
	bool		ok;

	l->mask = NULL;
	split_value(l, f->kind, arg, &v);
	ok = lower_result(l, f, field, &v, out);
	l->mask = mask;
	l->may_raise = may_raise;
	return ok;
}

/*
 * date_trunc() of a local time as a timestamptz: a day and what is longer begins when the zone says; parts of a
 * day begin as long before the time as in the zone.
 */
static bool
trunc_to_zone(GpucolLower *l, GpucolDateField field, uint16 stamp, uint16 local, uint16 *reg)
{
	if (field >= GPUCOL_FIELD_DAY)
		return gpucol_lower_session_zone(l, GPUCOL_ZONE_TO_STAMP, reg);
	*reg = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, *reg, gpucol_calendar_op(l, GPUCOL_OP_SUB_I, local, stamp));
	return true;
}

/* A function of a timestamptz, or of what becomes one, in a time zone other than UTC. */
static bool
lower_zoned(GpucolLower *l, const DateFunction *f, GpucolDateField field, uint16 arg, GpucolValue *out)
{
	bool		makes_stamp = f->oid == F_TIMESTAMPTZ_DATE || f->oid == F_TIMESTAMPTZ_TIMESTAMP;
	uint16		local = arg;

	if (!makes_stamp && !gpucol_lower_session_zone(l, 0, &local))
		return false;
	if (f->kind == GPUCOL_DATE_DAYS && !l->aggregating)
	{
		if (!lower_checked_stamp(l, local, out))
			return false;
	}
	else if (!lower_unmasked(l, f, field, local, out))
		return false;
	if (makes_stamp)
		return gpucol_lower_session_zone(l, GPUCOL_ZONE_TO_STAMP, &out->reg);
	return f->result != TO_TRUNCATED || trunc_to_zone(l, field, arg, local, &out->reg);
}

/*
 * Lower a function of a date, a timestamp or a time, or AT TIME ZONE.  *matched says whether
 * the function is one that is known here.
 */
bool
gpucol_lower_date(GpucolLower *l, Oid funcid, List *args, bool *matched,
				  GpucolValue *out)
{
	const DateFunction *f = find_function(funcid);
	GpucolDateField field = GPUCOL_FIELD_NONE;
	GpucolValue v;

	*matched = f != NULL;
	if (f == NULL)
		return gpucol_lower_zone(l, funcid, args, matched, out);
	if (list_length(args) == 2)
	{
		field = gpucol_calendar_field(linitial(args));
		if (field == GPUCOL_FIELD_NONE)
			return gpucol_lower_decline(l, "this field of a date or timestamp");
	}
	/* seconds since the epoch do not depend on the time zone */
	if (!gpucol_lower_expr(l, llast(args), &v))
		return false;
	if (f->zoned && !(field == GPUCOL_FIELD_EPOCH && f->result != TO_TRUNCATED) &&
		!gpucol_calendar_session_is_utc())
		return lower_zoned(l, f, field, v.reg, out);
	if (f->result == TO_STAMP && f->kind == GPUCOL_DATE_DAYS && !l->aggregating)
		return lower_checked_stamp(l, v.reg, out);
	return lower_unmasked(l, f, field, v.reg, out);
}
