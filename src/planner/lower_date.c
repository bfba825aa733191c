/*-------------------------------------------------------------------------
 *
 * lower_date.c
 *	  date_trunc, extract and the cast to date, as integer arithmetic.
 *
 * Days are counted as PostgreSQL counts them, from 2000-01-01.  Year, month and
 * day come from a day number by the era method of Howard Hinnant's "chrono-
 * Compatible Low-Level Date Algorithms", with years that start in March; the
 * calendar is the proleptic Gregorian one, as PostgreSQL's.
 *
 * Infinity: date_trunc gives it back, the cyclic fields are NULL.  The year
 * would be an infinite numeric, which no engine holds: the computation then
 * exceeds every decimal, and the statement falls back.  A scan may have delivered
 * rows by then, so only aggregations take the year.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"

#include "planner/lower.h"

/* Days from 0000-03-01 to 2000-01-01. */
#define DAYS_TO_EPOCH	730425
#define DAYS_PER_ERA	146097	/* 400 years */

/* What a unit or field is made of. */
typedef enum DateField
{
	FIELD_NONE,
	FIELD_SECOND,
	FIELD_MINUTE,
	FIELD_HOUR,
	FIELD_DAY,
	FIELD_MONTH,
	FIELD_QUARTER,
	FIELD_YEAR,
	FIELD_DOW,
	FIELD_ISODOW,
	FIELD_DOY
} DateField;

static const struct
{
	const char *name;
	DateField	field;
}			field_names[] = {
	{"second", FIELD_SECOND},
	{"minute", FIELD_MINUTE},
	{"hour", FIELD_HOUR},
	{"day", FIELD_DAY},
	{"month", FIELD_MONTH},
	{"quarter", FIELD_QUARTER},
	{"year", FIELD_YEAR},
	{"dow", FIELD_DOW},
	{"isodow", FIELD_ISODOW},
	{"doy", FIELD_DOY},
};

/* A date or timestamp under computation. */
typedef struct DateValue
{
	uint16		infinite;		/* bool register */
	uint16		value;			/* ordinal, 0 where infinite */
	uint16		original;
	bool		is_date;
} DateValue;

/* Year, month and day, with the pieces that other fields need. */
typedef struct CivilDate
{
	uint16		year;
	uint16		month;
	uint16		day;
} CivilDate;

static uint16
number(GpucolLower *l, int64 i)
{
	GpucolValue v;

	gpucol_lower_load(l, INT8OID, Int64GetDatum(i), false, true, &v);
	return v.reg;
}

/* An operation of two registers that cannot fail on the values it gets. */
static uint16
op2(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, op, a, b, GPUCOL_NO_REG, 8);
}

static uint16
add(GpucolLower *l, uint16 a, int64 b)
{
	return op2(l, GPUCOL_OP_ADD_I, a, number(l, b));
}

static uint16
mul(GpucolLower *l, uint16 a, int64 b)
{
	return op2(l, GPUCOL_OP_MUL_I, a, number(l, b));
}

/* Division that truncates; for operands that are not negative. */
static uint16
quotient(GpucolLower *l, uint16 a, int64 b)
{
	return op2(l, GPUCOL_OP_DIV_I, a, number(l, b));
}

static uint16
subtract(GpucolLower *l, uint16 a, uint16 b)
{
	return op2(l, GPUCOL_OP_SUB_I, a, b);
}

static uint16
plus(GpucolLower *l, uint16 a, uint16 b)
{
	return op2(l, GPUCOL_OP_ADD_I, a, b);
}

/* a mod b, never negative */
static uint16
floor_mod(GpucolLower *l, uint16 a, int64 b)
{
	uint16		divisor = number(l, b);
	uint16		mod = op2(l, GPUCOL_OP_MOD_I, a, divisor);

	return op2(l, GPUCOL_OP_MOD_I, op2(l, GPUCOL_OP_ADD_I, mod, divisor), divisor);
}

/* The greatest multiple of b that is not above a. */
static uint16
floor_multiple(GpucolLower *l, uint16 a, int64 b)
{
	return subtract(l, a, floor_mod(l, a, b));
}

static uint16
floor_div(GpucolLower *l, uint16 a, int64 b)
{
	return quotient(l, floor_multiple(l, a, b), b);
}

/* Year, month, day of a day number. */
static void
civil_from_days(GpucolLower *l, uint16 days, CivilDate *out)
{
	uint16		z = add(l, days, DAYS_TO_EPOCH);
	uint16		era = floor_div(l, z, DAYS_PER_ERA);
	uint16		doe = floor_mod(l, z, DAYS_PER_ERA);
	uint16		yoe;
	uint16		doy;
	uint16		mp;
	uint16		late;			/* 1 in January and February */

	yoe = subtract(l, doe, quotient(l, doe, 1460));
	yoe = plus(l, yoe, quotient(l, doe, 36524));
	yoe = subtract(l, yoe, quotient(l, doe, DAYS_PER_ERA - 1));
	yoe = quotient(l, yoe, 365);
	doy = subtract(l, doe, mul(l, yoe, 365));
	doy = subtract(l, doy, quotient(l, yoe, 4));
	doy = plus(l, doy, quotient(l, yoe, 100));
	mp = quotient(l, add(l, mul(l, doy, 5), 2), 153);
	late = quotient(l, mp, 10);
	out->day = add(l, subtract(l, doy,
							   quotient(l, add(l, mul(l, mp, 153), 2), 5)), 1);
	out->month = subtract(l, add(l, mp, 3), mul(l, late, 12));
	out->year = plus(l, plus(l, yoe, mul(l, era, 400)), late);
}

/* Day number of the first day of month 1, 4, 7 or 10 (a register). */
static uint16
days_from_month(GpucolLower *l, uint16 year, uint16 month)
{
	uint16		mp = floor_mod(l, add(l, month, 9), 12);
	uint16		early;			/* 1 in January and February */
	uint16		era;
	uint16		yoe;
	uint16		doe;

	early = quotient(l, mp, 10);
	year = subtract(l, year, early);
	era = floor_div(l, year, 400);
	yoe = floor_mod(l, year, 400);
	doe = mul(l, yoe, 365);
	doe = plus(l, doe, quotient(l, yoe, 4));
	doe = subtract(l, doe, quotient(l, yoe, 100));
	doe = plus(l, doe, quotient(l, add(l, mul(l, mp, 153), 2), 5));
	return add(l, plus(l, doe, mul(l, era, DAYS_PER_ERA)), -DAYS_TO_EPOCH);
}

/* Month 1, 4, 7 or 10 that starts the quarter of a month. */
static uint16
quarter_month(GpucolLower *l, uint16 month)
{
	return add(l, mul(l, quotient(l, add(l, month, -1), 3), 3), 1);
}

/* The field that a constant text names, as far as it is known here. */
static DateField
field_of(Expr *expr)
{
	char	   *name;

	if (!IsA(expr, Const) || ((Const *) expr)->constisnull)
		return FIELD_NONE;
	name = TextDatumGetCString(((Const *) expr)->constvalue);
	for (int i = 0; i < (int) lengthof(field_names); i++)
	{
		if (pg_strcasecmp(name, field_names[i].name) == 0)
			return field_names[i].field;
	}
	return FIELD_NONE;
}

/* Lower the date or timestamp and set its infinities apart. */
static bool
lower_value(GpucolLower *l, Expr *expr, bool is_date, DateValue *out)
{
	GpucolValue v;
	uint16		low;
	uint16		high;

	if (!gpucol_lower_expr(l, expr, &v))
		return false;
	out->is_date = is_date;
	out->original = v.reg;
	low = number(l, is_date ? (int64) DATEVAL_NOBEGIN : DT_NOBEGIN);
	high = number(l, is_date ? (int64) DATEVAL_NOEND : DT_NOEND);
	out->infinite = op2(l, GPUCOL_OP_OR, op2(l, GPUCOL_OP_EQ_I, v.reg, low),
						op2(l, GPUCOL_OP_EQ_I, v.reg, high));
	out->value = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, out->infinite,
								   number(l, 0), v.reg, 0);
	return true;
}

/* The day number of a value. */
static uint16
day_of(GpucolLower *l, const DateValue *v)
{
	return v->is_date ? v->value : floor_div(l, v->value, USECS_PER_DAY);
}

/* Day number on which a unit of a day or more starts. */
static uint16
truncate_day(GpucolLower *l, DateField unit, uint16 day)
{
	CivilDate	civil;

	if (unit == FIELD_DAY)
		return day;
	civil_from_days(l, day, &civil);
	if (unit == FIELD_MONTH)
		return subtract(l, day, add(l, civil.day, -1));
	return days_from_month(l, civil.year,
						   unit == FIELD_YEAR ? number(l, 1) :
						   quarter_month(l, civil.month));
}

/* date_trunc(unit, timestamp) */
static bool
lower_trunc(GpucolLower *l, DateField unit, const DateValue *v, GpucolValue *out)
{
	uint16		reg;

	switch (unit)
	{
		case FIELD_SECOND:
			reg = floor_multiple(l, v->value, USECS_PER_SEC);
			break;
		case FIELD_MINUTE:
			reg = floor_multiple(l, v->value, USECS_PER_MINUTE);
			break;
		case FIELD_HOUR:
			reg = floor_multiple(l, v->value, USECS_PER_HOUR);
			break;
		case FIELD_DAY:
		case FIELD_MONTH:
		case FIELD_QUARTER:
		case FIELD_YEAR:
			reg = mul(l, truncate_day(l, unit, day_of(l, v)), USECS_PER_DAY);
			break;
		default:
			return gpucol_lower_decline(l, "date_trunc to this unit");
	}
	out->cls = GPUCOL_CLASS_I;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, v->infinite, v->original,
								 reg, 0);
	return true;
}

/* A field as integer; *scale digits of it are fractional. */
static bool
field_value(GpucolLower *l, DateField field, const DateValue *v, uint16 *reg,
			int *scale)
{
	CivilDate	civil;
	uint16		one = number(l, 1);
	uint16		day = day_of(l, v);

	*scale = 0;
	switch (field)
	{
		case FIELD_SECOND:
			*reg = floor_mod(l, v->value, USECS_PER_MINUTE);
			*scale = 6;
			return !v->is_date;
		case FIELD_MINUTE:
			*reg = quotient(l, floor_mod(l, v->value, USECS_PER_HOUR), USECS_PER_MINUTE);
			return !v->is_date;
		case FIELD_HOUR:
			*reg = quotient(l, floor_mod(l, v->value, USECS_PER_DAY), USECS_PER_HOUR);
			return !v->is_date;
		case FIELD_DOW:			/* 2000-01-01 was a Saturday */
			*reg = floor_mod(l, add(l, day, 6), 7);
			return true;
		case FIELD_ISODOW:
			*reg = add(l, floor_mod(l, add(l, day, 5), 7), 1);
			return true;
		default:
			break;
	}
	civil_from_days(l, day, &civil);
	switch (field)
	{
		case FIELD_DAY:
			*reg = civil.day;
			return true;
		case FIELD_MONTH:
			*reg = civil.month;
			return true;
		case FIELD_QUARTER:
			*reg = add(l, quotient(l, add(l, civil.month, -1), 3), 1);
			return true;
		case FIELD_DOY:
			*reg = add(l, subtract(l, day, days_from_month(l, civil.year, one)), 1);
			return true;
		case FIELD_YEAR:		/* there is no year 0 */
			*reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_I,
									 op2(l, GPUCOL_OP_LT_I, civil.year, one),
									 add(l, civil.year, -1), civil.year, 0);
			return true;
		default:
			return false;
	}
}

/*
 * Make the program fall back where `infinite` holds: 10^38 - 1 times 10 is
 * beyond every decimal.
 */
static uint16
refuse_infinite(GpucolLower *l, uint16 infinite, uint16 decimal)
{
	GpucolConst c;
	unsigned __int128 nines = (unsigned __int128) gpucol_lower_power10(38) - 1;
	uint16		huge;
	uint16		zero;

	memset(&c, 0, sizeof(c));
	c.cls = GPUCOL_CLASS_D;
	zero = gpucol_lower_emit(l, GPUCOL_OP_CONST_D, GPUCOL_NO_REG, GPUCOL_NO_REG,
							 GPUCOL_NO_REG, gpucol_lower_add_const(l, &c));
	c.v.d.lo = (uint64) nines;
	c.v.d.hi = (int64) (nines >> 64);
	huge = gpucol_lower_emit(l, GPUCOL_OP_CONST_D, GPUCOL_NO_REG, GPUCOL_NO_REG,
							 GPUCOL_NO_REG, gpucol_lower_add_const(l, &c));
	huge = gpucol_lower_emit(l, GPUCOL_OP_CASE_D, infinite, huge, zero, 0);
	huge = gpucol_lower_emit(l, GPUCOL_OP_RESCALE_D, huge, GPUCOL_NO_REG,
							 GPUCOL_NO_REG, 1);
	return gpucol_lower_emit(l, GPUCOL_OP_ADD_D, decimal, huge, GPUCOL_NO_REG, 0);
}

/* extract(field FROM value) as numeric */
static bool
lower_extract(GpucolLower *l, DateField field, const DateValue *v,
			  GpucolValue *out)
{
	uint16		reg;
	uint16		null;
	GpucolValue nothing;

	if (field == FIELD_YEAR && !l->aggregating)
		return gpucol_lower_decline(l, "year of a date that may be infinite, outside of an aggregation");
	if (!field_value(l, field, v, &reg, &out->scale))
		return gpucol_lower_decline(l, "this field of a date or timestamp");
	if (field != FIELD_YEAR)
	{
		gpucol_lower_load(l, INT8OID, (Datum) 0, true, true, &nothing);
		null = nothing.reg;
		reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, v->infinite, null, reg, 0);
	}
	reg = gpucol_lower_emit(l, GPUCOL_OP_I_TO_D, reg, GPUCOL_NO_REG,
							GPUCOL_NO_REG, 0);
	if (field == FIELD_YEAR)
		reg = refuse_infinite(l, v->infinite, reg);
	out->cls = GPUCOL_CLASS_D;
	out->reg = reg;
	out->digits = 10;
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}

/* timestamp to date; infinities keep theirs */
static bool
lower_cast(GpucolLower *l, const DateValue *v, GpucolValue *out)
{
	uint16		late = op2(l, GPUCOL_OP_LT_I, number(l, 0), v->original);
	uint16		infinity;

	infinity = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, late,
								 number(l, DATEVAL_NOEND),
								 number(l, DATEVAL_NOBEGIN), 0);
	out->cls = GPUCOL_CLASS_I;
	out->scale_reg = GPUCOL_NO_REG;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_CASE_I, v->infinite, infinity,
								 day_of(l, v), 0);
	return true;
}

/* Dispatch on the function. */
static bool
lower_field(GpucolLower *l, Oid funcid, DateField field, const DateValue *v,
			GpucolValue *out)
{
	switch (funcid)
	{
		case F_DATE_TIMESTAMP:
			return lower_cast(l, v, out);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return lower_trunc(l, field, v, out);
		default:
			return lower_extract(l, field, v, out);
	}
}

/*
 * Lower date_trunc, extract, or the cast of a timestamp to date.  *matched says
 * whether the function is one of them.
 */
bool
gpucol_lower_date(GpucolLower *l, Oid funcid, List *args, bool *matched,
				  GpucolValue *out)
{
	bool		is_date = funcid == F_EXTRACT_TEXT_DATE;
	bool		may_raise;
	GpucolMask *mask = l->mask;
	DateField	field;
	DateValue	v;
	bool		ok;

	*matched = is_date || funcid == F_EXTRACT_TEXT_TIMESTAMP ||
		funcid == F_DATE_TRUNC_TEXT_TIMESTAMP || funcid == F_DATE_TIMESTAMP;
	if (!*matched)
		return false;
	field = list_length(args) == 2 ? field_of(linitial(args)) : FIELD_DAY;
	if (field == FIELD_NONE)
		return gpucol_lower_decline(l, "this field of a date or timestamp");
	if (!lower_value(l, llast(args), is_date, &v))
		return false;
	may_raise = l->may_raise;
	l->mask = NULL;				/* nothing below can fail */
	ok = lower_field(l, funcid, field, &v, out);
	l->mask = mask;
	l->may_raise = may_raise;
	return ok;
}
