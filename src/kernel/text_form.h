/*-------------------------------------------------------------------------
 *
 * text_form.h
 *	  Numbers, dates and times as texts, as PostgreSQL's output functions write them (dates in the
 *	  style ISO).
 *
 * Each function writes at `to`, which has GPUCOL_FORM_ROOM bytes (of decimals, and their scale),
 * and returns the end.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TEXT_FORM_H
#define GPUCOL_KERNEL_TEXT_FORM_H

#include "kernel/time_shift.h"

#define GPUCOL_FORM_ROOM	64

/* What a value of class I is; aux of FORM_I */
typedef enum GpucolTextForm
{
	GPUCOL_FORM_INTEGER,
	GPUCOL_FORM_BOOL,			/* true, false */
	GPUCOL_FORM_LETTER,			/* t, f */
	GPUCOL_FORM_DATE,
	GPUCOL_FORM_TIME,
	GPUCOL_FORM_STAMP
} GpucolTextForm;

/* aux of BOTH_S: NULL if either is, if both are (then of one that is not, that alone), or never */
typedef enum GpucolBothNull
{
	GPUCOL_BOTH_STRICT,
	GPUCOL_BOTH_ANY,
	GPUCOL_BOTH_NEVER
} GpucolBothNull;

static inline char *
gpucol_form_copy(char *to, const char *from, uint32_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* Two digits of 0 to 99. */
static inline char *
gpucol_form_two(char *to, uint32_t n)
{
	static const char digits[201] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
		"555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

	return gpucol_form_copy(to, digits + 2 * n, 2);
}

/* A number of at least `least` digits. */
static inline char *
gpucol_form_digits(char *to, uint64_t n, int least)
{
	char		space[24];
	char	   *at = space + sizeof(space);

	while (n >= 100)
	{
		at -= 2;
		gpucol_form_two(at, (uint32_t) (n % 100));
		n /= 100;
	}
	if (n >= 10)
	{
		at -= 2;
		gpucol_form_two(at, (uint32_t) n);
	}
	else
		*--at = (char) ('0' + n);
	while (space + sizeof(space) - at < least)
		*--at = '0';
	return gpucol_form_copy(to, at, (uint32_t) (space + sizeof(space) - at));
}

static inline char *
gpucol_form_integer(char *to, int64_t n)
{
	if (n < 0)
		*to++ = '-';
	return gpucol_form_digits(to, n < 0 ? 0 - (uint64_t) n : (uint64_t) n, 1);
}

/* A mantissa with `scale` digits behind the point. */
static inline char *
gpucol_form_decimal(char *to, __int128 mantissa, int scale)
{
	unsigned __int128 n = mantissa < 0 ? 0 - (unsigned __int128) mantissa : (unsigned __int128) mantissa;
	char		space[40];
	char	   *end = space + sizeof(space);
	char	   *at = end;
	int			digits;

	for (; n > UINT64_MAX; n /= 10)
		*--at = (char) ('0' + (int) (n % 10));
	for (uint64_t low = (uint64_t) n; low > 0; low /= 10)
		*--at = (char) ('0' + low % 10);
	digits = (int) (end - at);
	if (mantissa < 0)
		*to++ = '-';
	if (digits <= scale)
		*to++ = '0';
	else
		to = gpucol_form_copy(to, at, (uint32_t) (digits - scale));
	if (scale == 0)
		return to;
	*to++ = '.';
	for (int zeros = scale - digits; zeros > 0; zeros--)
		*to++ = '0';
	return gpucol_form_copy(to, end - (digits < scale ? digits : scale), (uint32_t) (digits < scale ? digits : scale));
}

/* The date of a day; *before_christ where it is one. */
static inline char *
gpucol_form_day(char *to, int64_t day, bool *before_christ)
{
	GpucolCivil c = gpucol_civil(day);

	*before_christ = c.year <= 0;
	to = gpucol_form_digits(to, (uint64_t) (c.year > 0 ? c.year : 1 - c.year), 4);
	*to++ = '-';
	to = gpucol_form_two(to, (uint32_t) c.month);
	*to++ = '-';
	return gpucol_form_two(to, (uint32_t) c.day);
}

static inline char *
gpucol_form_clock(char *to, int64_t usecs)
{
	uint32_t	seconds = (uint32_t) (usecs / 1000000);
	uint32_t	rest = (uint32_t) (usecs % 1000000);

	to = gpucol_form_two(to, seconds / 3600);
	*to++ = ':';
	to = gpucol_form_two(to, seconds / 60 % 60);
	*to++ = ':';
	to = gpucol_form_two(to, seconds % 60);
	if (rest == 0)
		return to;
	*to++ = '.';
	to = gpucol_form_digits(to, rest, 6);
	while (to[-1] == '0')
		to--;
	return to;
}

static inline char *
gpucol_form_infinity(char *to, bool below)
{
	if (below)
		*to++ = '-';
	return gpucol_form_copy(to, "infinity", 8);
}

static inline char *
gpucol_form_date(char *to, int64_t date)
{
	bool		before_christ;

	if (date == INT32_MIN || date == INT32_MAX)
		return gpucol_form_infinity(to, date < 0);
	to = gpucol_form_day(to, date, &before_christ);
	return before_christ ? gpucol_form_copy(to, " BC", 3) : to;
}

/* A timestamp; with `zoned` the local time of one that is `offset` seconds east of Greenwich. */
static inline char *
gpucol_form_stamp(char *to, int64_t stamp, bool zoned, int64_t offset)
{
	int64_t		day = (stamp >= 0 ? stamp : stamp - (GPUCOL_DAY_USECS - 1)) / GPUCOL_DAY_USECS;
	uint32_t	east = (uint32_t) (offset < 0 ? -offset : offset);
	bool		before_christ;

	if (stamp == INT64_MIN || stamp == INT64_MAX)
		return gpucol_form_infinity(to, stamp < 0);
	to = gpucol_form_day(to, day, &before_christ);
	*to++ = ' ';
	to = gpucol_form_clock(to, stamp - day * GPUCOL_DAY_USECS);
	if (zoned)
	{
		*to++ = offset < 0 ? '-' : '+';
		to = gpucol_form_two(to, east / 3600);
		if (east % 3600 != 0)
		{
			*to++ = ':';
			to = gpucol_form_two(to, east / 60 % 60);
		}
		if (east % 60 != 0)
		{
			*to++ = ':';
			to = gpucol_form_two(to, east % 60);
		}
	}
	return before_christ ? gpucol_form_copy(to, " BC", 3) : to;
}

/* The sixteen bytes of a uuid. */
static inline char *
gpucol_form_uuid(char *to, const unsigned char *bytes)
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = hex[bytes[i] >> 4];
		*to++ = hex[bytes[i] & 15];
	}
	return to;
}

static inline char *
gpucol_form_value(char *to, int form, int64_t value)
{
	switch (form)
	{
		case GPUCOL_FORM_BOOL:
			return value != 0 ? gpucol_form_copy(to, "true", 4) : gpucol_form_copy(to, "false", 5);
		case GPUCOL_FORM_LETTER:
			*to = value != 0 ? 't' : 'f';
			return to + 1;
		case GPUCOL_FORM_DATE:
			return gpucol_form_date(to, value);
		case GPUCOL_FORM_TIME:
			return gpucol_form_clock(to, value);
		case GPUCOL_FORM_STAMP:
			return gpucol_form_stamp(to, value, false, 0);
		default:
			return gpucol_form_integer(to, value);
	}
}

#endif							/* GPUCOL_KERNEL_TEXT_FORM_H */
