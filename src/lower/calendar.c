/*-------------------------------------------------------------------------
 *
 * calendar.c
 *	  The calendar as integer arithmetic of registers.
 *
 * Days are counted as PostgreSQL counts them, from 2000-01-01.  Year, month and
 * day come from a day number by the era method of Howard Hinnant's "chrono-
 * Compatible Low-Level Date Algorithms", with years that start in March; the
 * calendar is the proleptic Gregorian one, as PostgreSQL's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"

#include "lower/calendar.h"

/* Days from 0000-03-01 to 2000-01-01. */
#define DAYS_TO_EPOCH	730425
#define DAYS_PER_ERA	146097	/* 400 years */

uint16
gpucol_calendar_number(GpucolLower *l, int64 i)
{
	GpucolValue v;

	gpucol_lower_load(l, INT8OID, Int64GetDatum(i), false, true, &v);
	return v.reg;
}

uint16
gpucol_calendar_op(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 8);
}

uint16
gpucol_calendar_add(GpucolLower *l, uint16 a, int64 b)
{
	return gpucol_calendar_op(l, GPUCOL_OP_ADD_I, a, gpucol_calendar_number(l, b));
}

uint16
gpucol_calendar_mul(GpucolLower *l, uint16 a, int64 b)
{
	return gpucol_calendar_op(l, GPUCOL_OP_MUL_I, a, gpucol_calendar_number(l, b));
}

/* A decimal without fraction. */
static uint16
decimal_const(GpucolLower *l, __int128 mantissa)
{
	GpucolConst c;

	memset(&c, 0, sizeof(c));
	c.cls = GPUCOL_CLASS_D;
	c.v.d.lo = (uint64) mantissa;
	c.v.d.hi = (int64) (mantissa >> 64);
	return gpucol_lower_emit(l, GPUCOL_OP_CONST_D, GPUCOL_NO_REG, GPUCOL_NO_REG,
							 GPUCOL_NO_REG, gpucol_lower_add_const(l, &c));
}

/* The greatest decimal times itself is more than every decimal; of others this is 0. */
uint16
gpucol_calendar_refused(GpucolLower *l, uint16 bad)
{
	unsigned __int128 all = ~(unsigned __int128) 0;
	uint16		value = gpucol_lower_emit(l, GPUCOL_OP_CASE_D, bad, decimal_const(l, (__int128) (all >> 1)),
										  decimal_const(l, 0), 0);

	return gpucol_calendar_op(l, GPUCOL_OP_MUL_D, value, value);
}

uint16
gpucol_calendar_refuse(GpucolLower *l, uint16 bad, uint16 reg)
{
	uint16		none = gpucol_calendar_op(l, GPUCOL_OP_EQ_D, gpucol_calendar_refused(l, bad), decimal_const(l, 0));

	return gpucol_calendar_choose(l, none, reg, gpucol_calendar_number(l, 0));
}

uint16
gpucol_calendar_choose(GpucolLower *l, uint16 condition, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, GPUCOL_OP_CASE_I, condition, a, b, 0);
}

uint16
gpucol_calendar_quotient(GpucolLower *l, uint16 a, int64 b)
{
	return gpucol_calendar_op(l, GPUCOL_OP_DIV_I, a, gpucol_calendar_number(l, b));
}

/* Modulo a number, never negative, of integers of a width in bytes. */
static uint16
floor_mod(GpucolLower *l, uint16 a, int64 b, int width)
{
	uint16		divisor = gpucol_calendar_number(l, b);
	uint16		mod = gpucol_lower_emit(l, GPUCOL_OP_MOD_I, a, divisor, GPUCOL_NO_REG, width);

	mod = gpucol_lower_emit(l, GPUCOL_OP_ADD_I, mod, divisor, GPUCOL_NO_REG, width);
	return gpucol_lower_emit(l, GPUCOL_OP_MOD_I, mod, divisor, GPUCOL_NO_REG, width);
}

uint16
gpucol_calendar_floor_mod(GpucolLower *l, uint16 a, int64 b)
{
	return floor_mod(l, a, b, 8);
}

uint16
gpucol_calendar_floor_multiple(GpucolLower *l, uint16 a, int64 b)
{
	return gpucol_calendar_op(l, GPUCOL_OP_SUB_I, a, gpucol_calendar_floor_mod(l, a, b));
}

uint16
gpucol_calendar_floor_div(GpucolLower *l, uint16 a, int64 b)
{
	return gpucol_calendar_quotient(l, gpucol_calendar_floor_multiple(l, a, b), b);
}

uint16
gpucol_calendar_day(GpucolLower *l, const GpucolDateValue *v)
{
	return v->kind == GPUCOL_DATE_DAYS ? v->value :
		gpucol_calendar_floor_div(l, v->value, USECS_PER_DAY);
}

/*
 * The same of what 32 bits hold, which engines divide faster: numbers of days and years.
 */
static uint16
day_op(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 4);
}

static uint16
day_add(GpucolLower *l, uint16 a, int64 b)
{
	return day_op(l, GPUCOL_OP_ADD_I, a, gpucol_calendar_number(l, b));
}

static uint16
day_plus(GpucolLower *l, uint16 a, uint16 b)
{
	return day_op(l, GPUCOL_OP_ADD_I, a, b);
}

static uint16
day_subtract(GpucolLower *l, uint16 a, uint16 b)
{
	return day_op(l, GPUCOL_OP_SUB_I, a, b);
}

static uint16
day_mul(GpucolLower *l, uint16 a, int64 b)
{
	return day_op(l, GPUCOL_OP_MUL_I, a, gpucol_calendar_number(l, b));
}

static uint16
day_quotient(GpucolLower *l, uint16 a, int64 b)
{
	return day_op(l, GPUCOL_OP_DIV_I, a, gpucol_calendar_number(l, b));
}

static uint16
day_floor_mod(GpucolLower *l, uint16 a, int64 b)
{
	return floor_mod(l, a, b, 4);
}

static uint16
day_floor_div(GpucolLower *l, uint16 a, int64 b)
{
	return day_quotient(l, day_subtract(l, a, day_floor_mod(l, a, b)), b);
}

/* 2000-01-01 was a Saturday. */
uint16
gpucol_calendar_weekday(GpucolLower *l, uint16 day)
{
	return day_floor_mod(l, day_add(l, day, 5), 7);
}

void
gpucol_calendar_civil(GpucolLower *l, uint16 day, GpucolCivilDate *out)
{
	uint16		z = day_add(l, day, DAYS_TO_EPOCH);
	uint16		era = day_floor_div(l, z, DAYS_PER_ERA);
	uint16		doe = day_floor_mod(l, z, DAYS_PER_ERA);
	uint16		yoe;
	uint16		doy;
	uint16		mp;
	uint16		late;			/* 1 in January and February */

	yoe = day_subtract(l, doe, day_quotient(l, doe, 1460));
	yoe = day_plus(l, yoe, day_quotient(l, doe, 36524));
	yoe = day_subtract(l, yoe, day_quotient(l, doe, DAYS_PER_ERA - 1));
	yoe = day_quotient(l, yoe, 365);
	doy = day_subtract(l, doe, day_mul(l, yoe, 365));
	doy = day_subtract(l, doy, day_quotient(l, yoe, 4));
	doy = day_plus(l, doy, day_quotient(l, yoe, 100));
	mp = day_mul(l, doy, 5);
	mp = day_quotient(l, day_add(l, mp, 2), 153);
	late = day_quotient(l, mp, 10);
	out->day = day_add(l, day_mul(l, mp, 153), 2);
	out->day = day_subtract(l, doy, day_quotient(l, out->day, 5));
	out->day = day_add(l, out->day, 1);
	/* a remainder, whose bounds are known */
	out->month = day_op(l, GPUCOL_OP_MOD_I, day_add(l, mp, 2), gpucol_calendar_number(l, 12));
	out->month = day_add(l, out->month, 1);
	out->year = day_plus(l, day_plus(l, yoe, day_mul(l, era, 400)), late);
}

uint16
gpucol_calendar_month_start(GpucolLower *l, uint16 year, uint16 month)
{
	uint16		mp = day_floor_mod(l, day_add(l, month, 9), 12);
	uint16		early;			/* 1 in January and February */
	uint16		era;
	uint16		yoe;
	uint16		doe;
	uint16		doy;

	early = day_quotient(l, mp, 10);
	year = day_subtract(l, year, early);
	era = day_floor_div(l, year, 400);
	yoe = day_floor_mod(l, year, 400);
	doe = day_mul(l, yoe, 365);
	doe = day_plus(l, doe, day_quotient(l, yoe, 4));
	doe = day_subtract(l, doe, day_quotient(l, yoe, 100));
	doy = day_add(l, day_mul(l, mp, 153), 2);
	doe = day_plus(l, doe, day_quotient(l, doy, 5));
	return day_add(l, day_plus(l, doe, day_mul(l, era, DAYS_PER_ERA)),
							   -DAYS_TO_EPOCH);
}
