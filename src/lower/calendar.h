/*-------------------------------------------------------------------------
 *
 * calendar.h
 *	  The calendar as integer arithmetic of registers.
 *
 * Operations here cannot fail on the values that they get: years, months, days and
 * microseconds of PostgreSQL's finite dates and timestamps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_CALENDAR_H
#define GPUCOL_LOWER_CALENDAR_H

#include "lower/lower.h"

/* What a unit or field is made of. */
typedef enum GpucolDateField
{
	GPUCOL_FIELD_NONE,
	GPUCOL_FIELD_MICROSECOND,
	GPUCOL_FIELD_MILLISECOND,
	GPUCOL_FIELD_SECOND,
	GPUCOL_FIELD_MINUTE,
	GPUCOL_FIELD_HOUR,
	GPUCOL_FIELD_DAY,
	GPUCOL_FIELD_DOW,
	GPUCOL_FIELD_ISODOW,
	GPUCOL_FIELD_DOY,
	GPUCOL_FIELD_WEEK,
	GPUCOL_FIELD_MONTH,
	GPUCOL_FIELD_QUARTER,
	GPUCOL_FIELD_YEAR,
	GPUCOL_FIELD_ISOYEAR,
	GPUCOL_FIELD_DECADE,
	GPUCOL_FIELD_CENTURY,
	GPUCOL_FIELD_MILLENNIUM,
	GPUCOL_FIELD_JULIAN,
	GPUCOL_FIELD_EPOCH
} GpucolDateField;

/* The types that have fields. */
typedef enum GpucolDateKind
{
	GPUCOL_DATE_DAYS,			/* date */
	GPUCOL_DATE_STAMP,			/* timestamp, and timestamptz where the time zone is UTC */
	GPUCOL_DATE_TIME			/* time */
} GpucolDateKind;

/* A date, timestamp or time under computation. */
typedef struct GpucolDateValue
{
	GpucolDateKind kind;
	uint16		infinite;		/* bool register; GPUCOL_NO_REG: none is */
	uint16		value;			/* ordinal, 0 where infinite */
	uint16		original;
} GpucolDateValue;

/* Year (0 is 1 BC), month and day. */
typedef struct GpucolCivilDate
{
	uint16		year;
	uint16		month;
	uint16		day;
} GpucolCivilDate;

/* lower/date.c: is timestamptz a timestamp to this session? */
extern bool gpucol_calendar_session_is_utc(void);

/* lower/date.c: the field that a constant text names; NONE where none that is known */
extern GpucolDateField gpucol_calendar_field(Expr *name);

/* The integer i, operations of two registers, and of one and a number. */
extern uint16 gpucol_calendar_number(GpucolLower *l, int64 i);
extern uint16 gpucol_calendar_op(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b);
extern uint16 gpucol_calendar_add(GpucolLower *l, uint16 a, int64 b);
extern uint16 gpucol_calendar_mul(GpucolLower *l, uint16 a, int64 b);

/*
 * reg, but make the program fall back where `bad` holds.  A scan may have delivered rows
 * by then, so this is for aggregations only.
 */
extern uint16 gpucol_calendar_refuse(GpucolLower *l, uint16 bad, uint16 reg);

/* A decimal that is 0, and makes the program fall back likewise. */
extern uint16 gpucol_calendar_refused(GpucolLower *l, uint16 bad);

/* condition ? a : b */
extern uint16 gpucol_calendar_choose(GpucolLower *l, uint16 condition, uint16 a, uint16 b);

/* Division that truncates; for operands that are not negative. */
extern uint16 gpucol_calendar_quotient(GpucolLower *l, uint16 a, int64 b);

/* Division that rounds down, its remainder, and a less that. */
extern uint16 gpucol_calendar_floor_div(GpucolLower *l, uint16 a, int64 b);
extern uint16 gpucol_calendar_floor_mod(GpucolLower *l, uint16 a, int64 b);
extern uint16 gpucol_calendar_floor_multiple(GpucolLower *l, uint16 a, int64 b);

/* The day number of a date or timestamp; days since Monday of a day. */
extern uint16 gpucol_calendar_day(GpucolLower *l, const GpucolDateValue *v);
extern uint16 gpucol_calendar_weekday(GpucolLower *l, uint16 day);

/* Year, month, day of a day number, and the number of the first day of month 1, 4, 7 or 10. */
extern void gpucol_calendar_civil(GpucolLower *l, uint16 day, GpucolCivilDate *out);
extern uint16 gpucol_calendar_month_start(GpucolLower *l, uint16 year, uint16 month);

/* lower/field.c: a field of a value, as numeric (extract) or double precision (date_part) */
extern bool gpucol_lower_field(GpucolLower *l, GpucolDateField field, const GpucolDateValue *v,
							   bool as_float, GpucolValue *out);

#endif							/* GPUCOL_LOWER_CALENDAR_H */
