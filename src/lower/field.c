/*-------------------------------------------------------------------------
 *
 * field.c
 *	  Fields of dates, timestamps and times: extract and date_part.
 *
 * A field is an integer, or one with decimals: extract gives it as numeric,
 * date_part by the same sums and quotients of doubles as PostgreSQL.
 *
 * Infinity: the cyclic fields of it are NULL, the others infinite.  No engine holds an
 * infinite numeric: the statement then falls back, which only aggregations can.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/float.h"

#include "lower/calendar.h"

/* The Unix epoch as timestamp. */
#define UNIX_EPOCH		((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)

/* Digits that a field has at most. */
#define FIELD_DIGITS	20

/* Is the field of an infinity infinite? */
static bool
is_endless(GpucolDateField field)
{
	switch (field)
	{
		case GPUCOL_FIELD_YEAR:
		case GPUCOL_FIELD_ISOYEAR:
		case GPUCOL_FIELD_DECADE:
		case GPUCOL_FIELD_CENTURY:
		case GPUCOL_FIELD_MILLENNIUM:
		case GPUCOL_FIELD_JULIAN:
		case GPUCOL_FIELD_EPOCH:
			return true;
		default:
			return false;
	}
}

/* Microseconds since midnight. */
static uint16
time_of(GpucolLower *l, const GpucolDateValue *v)
{
	return v->kind == GPUCOL_DATE_TIME ? v->value :
		gpucol_calendar_floor_mod(l, v->value, USECS_PER_DAY);
}

/* Microseconds since the minute. */
static uint16
second_of(GpucolLower *l, const GpucolDateValue *v)
{
	return gpucol_calendar_floor_mod(l, v->value, USECS_PER_MINUTE);
}

/* A field of the time of day, except what is finer than a minute; false if it is none. */
static bool
time_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, uint16 *reg)
{
	switch (field)
	{
		case GPUCOL_FIELD_MICROSECOND:
			*reg = second_of(l, v);
			return true;
		case GPUCOL_FIELD_MINUTE:
			*reg = gpucol_calendar_floor_mod(l, v->value, USECS_PER_HOUR);
			*reg = gpucol_calendar_quotient(l, *reg, USECS_PER_MINUTE);
			return true;
		case GPUCOL_FIELD_HOUR:
			*reg = gpucol_calendar_quotient(l, time_of(l, v), USECS_PER_HOUR);
			return true;
		default:
			return false;
	}
}

/* There is no year 0, and no such century or millennium: those before are one less. */
static uint16
skip_zero(GpucolLower *l, uint16 number)
{
	uint16		before = gpucol_calendar_op(l, GPUCOL_OP_LT_I, number, gpucol_calendar_number(l, 1));

	return gpucol_calendar_choose(l, before, gpucol_calendar_add(l, number, -1), number);
}

/* The number of a period of so many years, one of which starts with the year 1. */
static uint16
period_of(GpucolLower *l, uint16 year, int64 years)
{
	uint16		period = gpucol_calendar_floor_div(l, gpucol_calendar_add(l, year, -1), years);

	return skip_zero(l, gpucol_calendar_add(l, period, 1));
}

/* The day of the year, from 0. */
static uint16
year_day(GpucolLower *l, uint16 day, uint16 year)
{
	return gpucol_calendar_op(l, GPUCOL_OP_SUB_I, day,
							  gpucol_calendar_month_start(l, year, gpucol_calendar_number(l, 1)));
}

/* A field of the week or of its year, which are those of the week's Thursday. */
static uint16
week_field(GpucolLower *l, GpucolDateField field, uint16 day)
{
	uint16		thursday;
	GpucolCivilDate civil;

	thursday = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, gpucol_calendar_add(l, day, 3),
								  gpucol_calendar_weekday(l, day));
	gpucol_calendar_civil(l, thursday, &civil);
	if (field == GPUCOL_FIELD_ISOYEAR)
		return skip_zero(l, civil.year);
	return gpucol_calendar_add(l, gpucol_calendar_quotient(l, year_day(l, thursday, civil.year), 7), 1);
}

/* A field of the date; false if it is none. */
static bool
date_field(GpucolLower *l, GpucolDateField field, uint16 day, uint16 *reg)
{
	GpucolCivilDate civil;

	switch (field)
	{
		case GPUCOL_FIELD_DOW:
			*reg = gpucol_calendar_weekday(l, gpucol_calendar_add(l, day, 1));
			return true;
		case GPUCOL_FIELD_ISODOW:
			*reg = gpucol_calendar_add(l, gpucol_calendar_weekday(l, day), 1);
			return true;
		case GPUCOL_FIELD_WEEK:
		case GPUCOL_FIELD_ISOYEAR:
			*reg = week_field(l, field, day);
			return true;
		default:
			break;
	}
	gpucol_calendar_civil(l, day, &civil);
	switch (field)
	{
		case GPUCOL_FIELD_DAY:
			*reg = civil.day;
			return true;
		case GPUCOL_FIELD_DOY:
			*reg = gpucol_calendar_add(l, year_day(l, day, civil.year), 1);
			return true;
		case GPUCOL_FIELD_MONTH:
			*reg = civil.month;
			return true;
		case GPUCOL_FIELD_QUARTER:
			*reg = gpucol_calendar_add(l, civil.month, 2);
			*reg = gpucol_calendar_quotient(l, *reg, 3);
			return true;
		case GPUCOL_FIELD_YEAR:
			*reg = skip_zero(l, civil.year);
			return true;
		case GPUCOL_FIELD_DECADE:
			*reg = gpucol_calendar_floor_div(l, civil.year, 10);
			return true;
		case GPUCOL_FIELD_CENTURY:
			*reg = period_of(l, civil.year, 100);
			return true;
		case GPUCOL_FIELD_MILLENNIUM:
			*reg = period_of(l, civil.year, 1000);
			return true;
		default:
			return false;
	}
}

/* A field that is an integer; false if it is none. */
static bool
integer_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, uint16 *reg)
{
	if (v->kind != GPUCOL_DATE_DAYS && time_field(l, field, v, reg))
		return true;
	if (v->kind == GPUCOL_DATE_TIME)
		return false;
	if (v->kind == GPUCOL_DATE_DAYS && field == GPUCOL_FIELD_JULIAN)
		*reg = gpucol_calendar_add(l, v->value, POSTGRES_EPOCH_JDATE);
	else if (v->kind == GPUCOL_DATE_DAYS && field == GPUCOL_FIELD_EPOCH)
		*reg = gpucol_calendar_mul(l, gpucol_calendar_add(l, v->value, POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE),
								   SECS_PER_DAY);
	else
		return date_field(l, field, gpucol_calendar_day(l, v), reg);
	return true;
}

static uint16
to_decimal(GpucolLower *l, uint16 reg)
{
	return gpucol_lower_emit(l, GPUCOL_OP_I_TO_D, reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
}

/* A field as decimal of *scale; false if it is none. */
static bool
decimal_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, uint16 *reg,
			  int *scale)
{
	bool		days = v->kind == GPUCOL_DATE_DAYS;

	*scale = 0;
	if (!days && (field == GPUCOL_FIELD_SECOND || field == GPUCOL_FIELD_MILLISECOND))
	{
		*scale = field == GPUCOL_FIELD_SECOND ? 6 : 3;
		*reg = second_of(l, v);
	}
	else if (!days && field == GPUCOL_FIELD_EPOCH)
	{
		*scale = 6;
		*reg = v->kind == GPUCOL_DATE_STAMP ? gpucol_calendar_add(l, v->value, -UNIX_EPOCH) : v->value;
	}
	else if (!integer_field(l, field, v, reg))
		return false;
	if (v->infinite != GPUCOL_NO_REG && !is_endless(field))
	{
		GpucolValue null;

		gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &null);
		*reg = gpucol_calendar_choose(l, v->infinite, null.reg, *reg);
	}
	*reg = to_decimal(l, *reg);
	return true;
}

/* A double, and operations of doubles. */
static uint16
real(GpucolLower *l, double x, bool isnull)
{
	GpucolValue v;

	gpucol_lower_load(l, FLOAT8OID, Float8GetDatum(x), isnull, true, &v);
	return v.reg;
}

static uint16
to_real(GpucolLower *l, uint16 reg)
{
	return gpucol_lower_emit(l, GPUCOL_OP_I_TO_F, reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 8);
}

static uint16
divide(GpucolLower *l, uint16 reg, double by)
{
	return gpucol_calendar_op(l, GPUCOL_OP_DIV_F, reg, real(l, by, false));
}

/* Is a timestamp so late that the microseconds since the Unix epoch exceed an int64? */
static uint16
has_wide_epoch(GpucolLower *l, uint16 value)
{
	return gpucol_calendar_op(l, GPUCOL_OP_LE_I, gpucol_calendar_number(l, PG_INT64_MAX + UNIX_EPOCH),
							  value);
}

/*
 * Seconds since the Unix epoch.  Where the difference exceeds an int64 PostgreSQL
 * takes that of doubles.
 */
static uint16
real_epoch(GpucolLower *l, uint16 value)
{
	uint16		wide = has_wide_epoch(l, value);
	uint16		exact = gpucol_calendar_choose(l, wide, gpucol_calendar_number(l, 0), value);
	uint16		rounded = gpucol_calendar_op(l, GPUCOL_OP_SUB_F, to_real(l, value),
											 real(l, (double) UNIX_EPOCH, false));

	exact = to_real(l, gpucol_calendar_add(l, exact, -UNIX_EPOCH));
	return divide(l, gpucol_lower_emit(l, GPUCOL_OP_CASE_F, wide, rounded, exact, 0), 1000000.0);
}

/* A field as double; false if it is none. */
static bool
real_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, uint16 *reg)
{
	uint16		seconds;
	uint16		rest;

	switch (field)
	{
		case GPUCOL_FIELD_SECOND:
		case GPUCOL_FIELD_MILLISECOND:
			if (v->kind == GPUCOL_DATE_DAYS)
				return false;
			seconds = to_real(l, gpucol_calendar_quotient(l, second_of(l, v), USECS_PER_SEC));
			rest = to_real(l, gpucol_calendar_floor_mod(l, v->value, USECS_PER_SEC));
			if (field == GPUCOL_FIELD_MILLISECOND)
				seconds = gpucol_calendar_op(l, GPUCOL_OP_MUL_F, seconds, real(l, 1000.0, false));
			rest = divide(l, rest, field == GPUCOL_FIELD_SECOND ? 1000000.0 : 1000.0);
			*reg = gpucol_calendar_op(l, GPUCOL_OP_ADD_F, seconds, rest);
			return true;
		case GPUCOL_FIELD_EPOCH:
			if (v->kind == GPUCOL_DATE_STAMP)
				*reg = real_epoch(l, v->value);
			else if (v->kind == GPUCOL_DATE_TIME)
				*reg = divide(l, to_real(l, v->value), 1000000.0);
			return v->kind != GPUCOL_DATE_DAYS;
		default:
			if (!integer_field(l, field, v, reg))
				return false;
			*reg = to_real(l, *reg);
			return true;
	}
}

/* What the field of an infinity is as double: NULL, or an infinity of the same sign. */
static uint16
real_infinity(GpucolLower *l, GpucolDateField field, uint16 original)
{
	uint16		late;

	if (!is_endless(field))
		return real(l, 0, true);
	late = gpucol_calendar_op(l, GPUCOL_OP_LT_I, gpucol_calendar_number(l, 0), original);
	return gpucol_lower_emit(l, GPUCOL_OP_CASE_F, late, real(l, get_float8_infinity(), false),
							 real(l, -get_float8_infinity(), false), 0);
}

/*
 * extract(field FROM value).  PostgreSQL rounds seconds since the epoch where in
 * microseconds they exceed an int64, so engines do not have these either.
 */
static bool
lower_numeric(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, GpucolValue *out)
{
	bool		endless = v->infinite != GPUCOL_NO_REG && is_endless(field);
	GpucolDateValue finite = *v;

	if (endless && !l->aggregating)
		return gpucol_lower_decline(l, "a numeric that is infinite for an infinite date, outside of an aggregation");
	if (endless && v->kind == GPUCOL_DATE_STAMP && field == GPUCOL_FIELD_EPOCH)
		finite.value = gpucol_calendar_refuse(l, gpucol_calendar_op(l, GPUCOL_OP_OR, v->infinite,
																	has_wide_epoch(l, v->value)), v->value);
	if (!decimal_field(l, field, &finite, &out->reg, &out->scale))
		return gpucol_lower_decline(l, "this field of a date or timestamp");
	/* other fields of the value are made of the same year, month and day */
	if (endless)
		out->reg = gpucol_calendar_op(l, GPUCOL_OP_ADD_D, out->reg, gpucol_calendar_refused(l, v->infinite));
	out->cls = GPUCOL_CLASS_D;
	out->digits = FIELD_DIGITS;
	return true;
}

/* date_part(field, value) */
static bool
lower_real(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v, GpucolValue *out)
{
	if (!real_field(l, field, v, &out->reg))
		return gpucol_lower_decline(l, "this field of a date or timestamp");
	if (v->infinite != GPUCOL_NO_REG)
		out->reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_F, v->infinite,
									 real_infinity(l, field, v->original), out->reg, 0);
	out->cls = GPUCOL_CLASS_F;
	return true;
}

bool
gpucol_lower_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v,
				   bool as_float, GpucolValue *out)
{
	out->scale = 0;
	out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	return as_float ? lower_real(l, field, v, out) : lower_numeric(l, field, v, out);
}
