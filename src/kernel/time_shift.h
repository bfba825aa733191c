/*-------------------------------------------------------------------------
 *
 * time_shift.h
 *	  Sums and differences of dates (days since 2000) and timestamps (microseconds since
 *	  2000), with PostgreSQL's ranges, infinities and errors; intervals and ages.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TIME_SHIFT_H
#define GPUCOL_KERNEL_TIME_SHIFT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel/status.h"

#define GPUCOL_DAY_USECS		INT64_C(86400000000)

/* 4714-11-24 BC to 5874897-12-31 as dates, to 294276-12-31 as timestamps */
#define GPUCOL_FIRST_DAY		INT64_C(-2451545)
#define GPUCOL_END_DATES		INT64_C(2145031949)
#define GPUCOL_END_STAMP_DAYS	INT64_C(106751983)
#define GPUCOL_FIRST_STAMP		INT64_C(-211813488000000000)
#define GPUCOL_END_STAMPS		INT64_C(9223371331200000000)

/* The months and days of an interval in one integer. */
#define GPUCOL_MONTHS_AND_DAYS(months, days) \
	((int64_t) ((uint64_t) (uint32_t) (months) << 32 | (uint32_t) (days)))
#define GPUCOL_MONTHS_OF(both)	((int32_t) ((both) >> 32))
#define GPUCOL_DAYS_OF(both)	((int32_t) (uint32_t) (uint64_t) (both))

/* The parts of an interval; the number of a part's bytes, months apart from days. */
#define GPUCOL_SPAN_USECS		8
#define GPUCOL_SPAN_DAYS		4
#define GPUCOL_SPAN_MONTHS		5

/* with a part: of an interval that may be infinite; what leaves its range is nothing that releases agree about */
#define GPUCOL_SPAN_ENDLESS		16
#define GPUCOL_SPAN_WRAPS		32

/* aux of SHIFT_I: what is shifted is a date; the interval is subtracted; by way of its negative, which may be out of
 * range; it may be infinite */
#define GPUCOL_SHIFT_DATE		1
#define GPUCOL_SHIFT_BACK		2
#define GPUCOL_SHIFT_NEGATIVE	4
#define GPUCOL_SHIFT_ENDLESS	8

typedef struct GpucolSpan
{
	int32_t		months;
	int32_t		days;
	int64_t		usecs;
} GpucolSpan;

static inline int64_t
gpucol_span_part(const GpucolSpan *span, int part)
{
	return part == GPUCOL_SPAN_USECS ? span->usecs : part == GPUCOL_SPAN_DAYS ? span->days : span->months;
}

/* Year, month 1 to 12 and day of the month of a timestamp's day. */
typedef struct GpucolCivil
{
	int64_t		year;
	int			month;
	int			day;
} GpucolCivil;

static inline GpucolStatus
gpucol_date_add(int64_t date, int64_t days, int64_t *r)
{
	*r = date;
	if (date == INT32_MIN || date == INT32_MAX)
		return GPUCOL_OK;
	*r = date + days;
	return *r < GPUCOL_FIRST_DAY || *r >= GPUCOL_END_DATES ? GPUCOL_DATE_OUT_OF_RANGE : GPUCOL_OK;
}

static inline GpucolStatus
gpucol_date_difference(int64_t x, int64_t y, int64_t *r)
{
	*r = x - y;
	return x == INT32_MIN || x == INT32_MAX || y == INT32_MIN || y == INT32_MAX ?
		GPUCOL_INFINITE_DATES : GPUCOL_OK;
}

static inline GpucolStatus
gpucol_stamp_difference(int64_t x, int64_t y, int64_t *r)
{
	if (x == INT64_MIN || x == INT64_MAX || y == INT64_MIN || y == INT64_MAX)
		return GPUCOL_UNSUPPORTED;	/* an error, from 17 on an infinity */
	return __builtin_sub_overflow(x, y, r) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

/* The difference of two timestamps that are finite, as date_bin takes it. */
static inline GpucolStatus
gpucol_finite_difference(int64_t x, int64_t y, int64_t *r)
{
	return __builtin_sub_overflow(x, y, r) ? GPUCOL_SPAN_OUT_OF_RANGE : GPUCOL_OK;
}

/* A date as the timestamp at its beginning. */
static inline GpucolStatus
gpucol_date_stamp(int64_t date, int64_t *r)
{
	*r = date == INT32_MIN ? INT64_MIN : date == INT32_MAX ? INT64_MAX : 0;
	if (*r != 0)
		return GPUCOL_OK;
	if (date >= GPUCOL_END_STAMP_DAYS)
		return GPUCOL_DATE_NO_STAMP;
	*r = date * GPUCOL_DAY_USECS;
	return GPUCOL_OK;
}

/* The day of the first of March of a year that begins then; years count from 2000. */
static inline int64_t
gpucol_march_day(int64_t year)
{
	int64_t		era = (year >= 0 ? year : year - 399) / 400;
	int64_t		of_era = year - era * 400;

	/* 2000-03-01 is day 60 */
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + 60;
}

/* Add months to a day; a day that the month has not becomes its last. */
static inline int64_t
gpucol_add_months(int64_t day, int64_t months)
{
	/* days from the first of March to that of each month */
	static const int16_t starts[13] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337, 366};
	int64_t		days = day - 60;
	int64_t		era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t		rest = days - era * 146097;
	int64_t		year = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
	int64_t		of_year = rest - (365 * year + year / 4 - year / 100);
	int			month = (int) ((5 * of_year + 2) / 153);
	int64_t		of_month = of_year - starts[month];
	int64_t		total = (era * 400 + year) * 12 + month + months;
	int64_t		length;

	year = (total >= 0 ? total : total - 11) / 12;
	month = (int) (total - year * 12);
	length = month == 11 ? gpucol_march_day(year + 1) - gpucol_march_day(year) - starts[11] :
		starts[month + 1] - starts[month];
	return gpucol_march_day(year) + starts[month] + (of_month < length ? of_month : length - 1);
}

static inline GpucolStatus
gpucol_stamp_check(__int128 stamp, int64_t *r)
{
	if (stamp < GPUCOL_FIRST_STAMP || stamp >= GPUCOL_END_STAMPS)
		return GPUCOL_STAMP_OUT_OF_RANGE;
	*r = (int64_t) stamp;
	return GPUCOL_OK;
}

static inline GpucolStatus
gpucol_stamp_shift(int64_t stamp, int32_t months, int32_t days, int64_t usecs, int64_t *r)
{
	GpucolStatus status = GPUCOL_OK;

	*r = stamp;
	if (stamp == INT64_MIN || stamp == INT64_MAX)
		return GPUCOL_OK;
	if (months != 0)
	{
		int64_t		day = (stamp >= 0 ? stamp : stamp - (GPUCOL_DAY_USECS - 1)) / GPUCOL_DAY_USECS;
		__int128	moved = (__int128) gpucol_add_months(day, months) * GPUCOL_DAY_USECS +
			(stamp - day * GPUCOL_DAY_USECS);

		status = gpucol_stamp_check(moved, r);
	}
	if (status == GPUCOL_OK && days != 0)
		status = gpucol_stamp_check((__int128) *r + (__int128) days * GPUCOL_DAY_USECS, r);
	if (status == GPUCOL_OK)
		status = gpucol_stamp_check((__int128) *r + usecs, r);
	return status;
}

static inline int
gpucol_days_of_month(int64_t year, int month)
{
	static const int8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
		return 29;
	return days[month - 1];
}

/* The calendar date of a day counted from 2000-01-01; the era method, years from March on. */
static inline GpucolCivil
gpucol_civil(int64_t day)
{
	int64_t		days = day + 730425;
	int64_t		era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t		rest = days - era * 146097;
	int64_t		year = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
	int64_t		of_year = rest - (365 * year + year / 4 - year / 100);
	int			month = (int) ((5 * of_year + 2) / 153);
	GpucolCivil c;

	c.day = (int) (of_year - (153 * month + 2) / 5) + 1;
	c.month = month < 10 ? month + 3 : month - 9;
	c.year = era * 400 + year + (month < 10 ? 0 : 1);
	return c;
}

/* age(x, y) where y is not after x: days are borrowed from the month of the earlier one. */
static inline void
gpucol_age_after(int64_t x, int64_t y, GpucolSpan *r)
{
	int64_t		xday = (x >= 0 ? x : x - (GPUCOL_DAY_USECS - 1)) / GPUCOL_DAY_USECS;
	int64_t		yday = (y >= 0 ? y : y - (GPUCOL_DAY_USECS - 1)) / GPUCOL_DAY_USECS;
	GpucolCivil late = gpucol_civil(xday);
	GpucolCivil early = gpucol_civil(yday);
	int64_t		usecs = (x - xday * GPUCOL_DAY_USECS) - (y - yday * GPUCOL_DAY_USECS);
	int			days = late.day - early.day;
	int64_t		months = (late.year - early.year) * 12 + late.month - early.month;

	if (usecs < 0)
	{
		usecs += GPUCOL_DAY_USECS;
		days--;
	}
	for (; days < 0; months--)
		days += gpucol_days_of_month(early.year, early.month);
	r->months = (int32_t) months;
	r->days = days;
	r->usecs = usecs;
}

/* age(x, y) of timestamps; of infinities it is an error, from 17 on an infinity. */
static inline GpucolStatus
gpucol_stamp_age(int64_t x, int64_t y, GpucolSpan *r)
{
	if (x == INT64_MIN || x == INT64_MAX || y == INT64_MIN || y == INT64_MAX)
		return GPUCOL_UNSUPPORTED;
	gpucol_age_after(x < y ? y : x, x < y ? x : y, r);
	if (x < y)
	{
		r->months = -r->months;
		r->days = -r->days;
		r->usecs = -r->usecs;
	}
	return GPUCOL_OK;
}

/*
 * 1 or -1 of an infinite interval, as there are from PostgreSQL 17 on, else 0.
 */
static inline int
gpucol_span_end(const GpucolSpan *span)
{
	if (span->usecs == INT64_MAX && span->days == INT32_MAX && span->months == INT32_MAX)
		return 1;
	return span->usecs == INT64_MIN && span->days == INT32_MIN && span->months == INT32_MIN ? -1 : 0;
}

/*
 * Add an interval to a timestamp or, with GPUCOL_SHIFT_BACK among the flags, subtract it.  What cannot change its sign
 * keeps it, but with GPUCOL_SHIFT_NEGATIVE.
 */
static inline GpucolStatus
gpucol_stamp_move(int64_t stamp, GpucolSpan span, int flags, int64_t *r)
{
	int			end = flags & GPUCOL_SHIFT_ENDLESS ? gpucol_span_end(&span) : 0;

	if (end != 0)
	{
		*r = (flags & GPUCOL_SHIFT_BACK ? -end : end) > 0 ? INT64_MAX : INT64_MIN;
		return (stamp == INT64_MIN || stamp == INT64_MAX) && stamp != *r ? GPUCOL_STAMP_OUT_OF_RANGE : GPUCOL_OK;
	}
	if (flags & GPUCOL_SHIFT_BACK)
	{
		if ((flags & GPUCOL_SHIFT_NEGATIVE) &&
			(span.months == INT32_MIN || span.days == INT32_MIN || span.usecs == INT64_MIN))
			return GPUCOL_SPAN_OUT_OF_RANGE;
		span.months = (int32_t) (0 - (uint32_t) span.months);
		span.days = (int32_t) (0 - (uint32_t) span.days);
		span.usecs = (int64_t) (0 - (uint64_t) span.usecs);
	}
	return gpucol_stamp_shift(stamp, span.months, span.days, span.usecs, r);
}

/* Part of a sum (sign 1) or difference (-1) of intervals. */
static inline GpucolStatus
gpucol_span_add(int part, int sign, int64_t x, int64_t y, int64_t *r)
{
	__int128	sum = (__int128) x + (__int128) sign * y;
	int64_t		limit = (part & ~GPUCOL_SPAN_WRAPS) == GPUCOL_SPAN_USECS ? INT64_MAX : INT32_MAX;

	if (sum > limit || sum < -(__int128) limit - 1)
		return part & GPUCOL_SPAN_WRAPS ? GPUCOL_UNSUPPORTED : GPUCOL_SPAN_OUT_OF_RANGE;
	*r = (int64_t) sum;
	return GPUCOL_OK;
}

/* Read an interval; infinite ones, which there are from 17 on, are refused unless it may be `endless`. */
static inline GpucolStatus
gpucol_span_read(const char *bytes, uint32_t len, bool endless, GpucolSpan *r)
{
	if (len != 16)
		return GPUCOL_UNSUPPORTED;
	memcpy(&r->usecs, bytes, 8);
	memcpy(&r->days, bytes + 8, 4);
	memcpy(&r->months, bytes + 12, 4);
	return endless || gpucol_span_end(r) == 0 ? GPUCOL_OK : GPUCOL_UNSUPPORTED;
}

#endif							/* GPUCOL_KERNEL_TIME_SHIFT_H */
