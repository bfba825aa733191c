/*-------------------------------------------------------------------------
 *
 * text_picture.h
 *	  Timestamps as texts by a picture: what to_char() makes of them, in English.
 *
 * A picture is a list of items, each a part of the timestamp or one byte that stands for itself.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TEXT_PICTURE_H
#define GPUCOL_KERNEL_TEXT_PICTURE_H

#include "kernel/text_form.h"

#define GPUCOL_PICTURE_MOST	60	/* items */
#define GPUCOL_PICTURE_ITEM	24	/* bytes that one makes at most */

/* Parts, by what to_char() calls them. */
typedef enum GpucolPicturePart
{
	GPUCOL_PICTURE_BYTE,		/* itself */
	GPUCOL_PICTURE_YYYY,
	GPUCOL_PICTURE_YYY,
	GPUCOL_PICTURE_YY,
	GPUCOL_PICTURE_Y,
	GPUCOL_PICTURE_IYYY,
	GPUCOL_PICTURE_Q,
	GPUCOL_PICTURE_MM,
	GPUCOL_PICTURE_MONTH,		/* names: with how letters are written */
	GPUCOL_PICTURE_MON,
	GPUCOL_PICTURE_WW,
	GPUCOL_PICTURE_IW,
	GPUCOL_PICTURE_W,
	GPUCOL_PICTURE_DDD,
	GPUCOL_PICTURE_DD,
	GPUCOL_PICTURE_D,
	GPUCOL_PICTURE_ID,
	GPUCOL_PICTURE_DAY,
	GPUCOL_PICTURE_DY,
	GPUCOL_PICTURE_HH24,
	GPUCOL_PICTURE_HH12,
	GPUCOL_PICTURE_MI,
	GPUCOL_PICTURE_SS,
	GPUCOL_PICTURE_SECONDS,		/* of the day */
	GPUCOL_PICTURE_MS,
	GPUCOL_PICTURE_US,
	GPUCOL_PICTURE_HALF			/* AM or PM */
} GpucolPicturePart;

/* How letters are written, */
#define GPUCOL_PICTURE_CAPITAL	0	/* the first a capital */
#define GPUCOL_PICTURE_UPPER	1
#define GPUCOL_PICTURE_LOWER	2
#define GPUCOL_PICTURE_CASE		3
#define GPUCOL_PICTURE_DOTS		4	/* A.M. */
#define GPUCOL_PICTURE_PLAIN	8	/* without zeros and blanks that fill */

typedef struct GpucolPictureItem
{
	uint8_t		part;			/* GpucolPicturePart */
	uint8_t		how;			/* of a byte: it */
} GpucolPictureItem;

typedef struct GpucolTextPicture
{
	uint32_t	nitems;
	GpucolPictureItem items[GPUCOL_PICTURE_MOST];
} GpucolTextPicture;

/* A timestamp taken apart. */
typedef struct GpucolPictureTime
{
	int64_t		day;			/* from 2000-01-01 */
	GpucolCivil civil;
	uint32_t	seconds;		/* of the day */
	uint32_t	usecs;			/* of the second */
} GpucolPictureTime;

static inline uint32_t
gpucol_picture_year(int64_t year)
{
	return (uint32_t) (year > 0 ? year : 1 - year);
}

/* The day of the week, Monday 0. */
static inline uint32_t
gpucol_picture_weekday(int64_t day)
{
	int64_t		r = (day + 5) % 7;

	return (uint32_t) (r < 0 ? r + 7 : r);
}

/* The day of a year, from 1. */
static inline uint32_t
gpucol_picture_year_day(int64_t day, int64_t year)
{
	return (uint32_t) (day - gpucol_march_day(year - 1 - 2000)) - 305;
}

/* The Thursday of a day's week, whose year is the week's, and that year. */
static inline int64_t
gpucol_picture_thursday(int64_t day, int64_t *year)
{
	int64_t		thursday = day - gpucol_picture_weekday(day) + 3;

	*year = gpucol_civil(thursday).year;
	return thursday;
}

/* A name, of at least `least` bytes, its letters as `how` says. */
static inline char *
gpucol_picture_name(char *to, const char *name, uint32_t len, uint32_t least, uint8_t how)
{
	for (uint32_t i = 0; i < len; i++)
	{
		bool		upper = (how & GPUCOL_PICTURE_CASE) == GPUCOL_PICTURE_UPPER ||
			((how & GPUCOL_PICTURE_CASE) == GPUCOL_PICTURE_CAPITAL && i == 0);

		*to++ = name[i] == '.' ? '.' : (char) (upper ? name[i] & ~0x20 : name[i]);
	}
	for (; len < least && (how & GPUCOL_PICTURE_PLAIN) == 0; len++)
		*to++ = ' ';
	return to;
}

static inline char *
gpucol_picture_month(char *to, int month, bool whole, uint8_t how)
{
	static const char names[12][10] = {
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december"
	};
	const char *name = names[month - 1];

	return gpucol_picture_name(to, name, whole ? (uint32_t) strlen(name) : 3, whole ? 9 : 0, how);
}

static inline char *
gpucol_picture_day(char *to, uint32_t weekday, bool whole, uint8_t how)
{
	static const char names[7][10] = {
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
	};
	const char *name = names[weekday];

	return gpucol_picture_name(to, name, whole ? (uint32_t) strlen(name) : 3, whole ? 9 : 0, how);
}

/* A number with zeros before it. */
static inline char *
gpucol_picture_number(char *to, uint32_t n, int least, uint8_t how)
{
	if (least == 2 && n < 100 && (how & GPUCOL_PICTURE_PLAIN) == 0)
		return gpucol_form_two(to, n);
	return gpucol_form_digits(to, n, (how & GPUCOL_PICTURE_PLAIN) != 0 ? 1 : least);
}

/* What an item makes of the date. */
static inline char *
gpucol_picture_date(char *to, const GpucolPictureTime *t, uint8_t part, uint8_t how)
{
	uint32_t	year = gpucol_picture_year(t->civil.year);
	uint32_t	weekday = gpucol_picture_weekday(t->day);
	int64_t		week_year = 0;
	int64_t		thursday = 0;

	if (part == GPUCOL_PICTURE_IYYY || part == GPUCOL_PICTURE_IW)
		thursday = gpucol_picture_thursday(t->day, &week_year);
	switch (part)
	{
		case GPUCOL_PICTURE_YYYY:
			return gpucol_picture_number(to, year, 4, how);
		case GPUCOL_PICTURE_YYY:
			return gpucol_picture_number(to, year % 1000, 3, how);
		case GPUCOL_PICTURE_YY:
			return gpucol_picture_number(to, year % 100, 2, how);
		case GPUCOL_PICTURE_Y:
			return gpucol_picture_number(to, year % 10, 1, how);
		case GPUCOL_PICTURE_IYYY:
			return gpucol_picture_number(to, gpucol_picture_year(week_year), 4, how);
		case GPUCOL_PICTURE_Q:
			return gpucol_picture_number(to, (uint32_t) (t->civil.month - 1) / 3 + 1, 1, how);
		case GPUCOL_PICTURE_MM:
			return gpucol_picture_number(to, (uint32_t) t->civil.month, 2, how);
		case GPUCOL_PICTURE_MONTH:
		case GPUCOL_PICTURE_MON:
			return gpucol_picture_month(to, t->civil.month, part == GPUCOL_PICTURE_MONTH, how);
		case GPUCOL_PICTURE_WW:
			return gpucol_picture_number(to, (gpucol_picture_year_day(t->day, t->civil.year) - 1) / 7 + 1, 2, how);
		case GPUCOL_PICTURE_IW:
			return gpucol_picture_number(to, (gpucol_picture_year_day(thursday, week_year) - 1) / 7 + 1, 2, how);
		case GPUCOL_PICTURE_W:
			return gpucol_picture_number(to, (uint32_t) (t->civil.day - 1) / 7 + 1, 1, how);
		case GPUCOL_PICTURE_DDD:
			return gpucol_picture_number(to, gpucol_picture_year_day(t->day, t->civil.year), 3, how);
		case GPUCOL_PICTURE_DD:
			return gpucol_picture_number(to, (uint32_t) t->civil.day, 2, how);
		case GPUCOL_PICTURE_D:
			return gpucol_picture_number(to, (weekday + 1) % 7 + 1, 1, how);
		case GPUCOL_PICTURE_ID:
			return gpucol_picture_number(to, weekday + 1, 1, how);
		default:
			return gpucol_picture_day(to, weekday, part == GPUCOL_PICTURE_DAY, how);
	}
}

/* What an item makes of the time of day. */
static inline char *
gpucol_picture_clock(char *to, const GpucolPictureTime *t, uint8_t part, uint8_t how)
{
	uint32_t	hour = t->seconds / 3600;

	switch (part)
	{
		case GPUCOL_PICTURE_HH24:
			return gpucol_picture_number(to, hour, 2, how);
		case GPUCOL_PICTURE_HH12:
			return gpucol_picture_number(to, hour % 12 == 0 ? 12 : hour % 12, 2, how);
		case GPUCOL_PICTURE_MI:
			return gpucol_picture_number(to, t->seconds / 60 % 60, 2, how);
		case GPUCOL_PICTURE_SS:
			return gpucol_picture_number(to, t->seconds % 60, 2, how);
		case GPUCOL_PICTURE_SECONDS:
			return gpucol_form_digits(to, t->seconds, 1);
		case GPUCOL_PICTURE_MS:
			return gpucol_form_digits(to, t->usecs / 1000, 3);
		case GPUCOL_PICTURE_US:
			return gpucol_form_digits(to, t->usecs, 6);
		default:
			return (how & GPUCOL_PICTURE_DOTS) != 0 ? gpucol_picture_name(to, hour < 12 ? "a.m." : "p.m.", 4, 0, how) :
				gpucol_picture_name(to, hour < 12 ? "am" : "pm", 2, 0, how);
	}
}

/*
 * Write a finite timestamp at `to`, which has GPUCOL_PICTURE_ITEM bytes for each item; returns the end.
 */
static inline char *
gpucol_picture_stamp(char *to, const GpucolTextPicture *picture, int64_t stamp)
{
	GpucolPictureTime t;
	int64_t		rest;

	t.day = (stamp >= 0 ? stamp : stamp - (GPUCOL_DAY_USECS - 1)) / GPUCOL_DAY_USECS;
	t.civil = gpucol_civil(t.day);
	rest = stamp - t.day * GPUCOL_DAY_USECS;
	t.seconds = (uint32_t) (rest / 1000000);
	t.usecs = (uint32_t) (rest % 1000000);
	for (uint32_t i = 0; i < picture->nitems; i++)
	{
		GpucolPictureItem item = picture->items[i];

		if (item.part == GPUCOL_PICTURE_BYTE)
			*to++ = (char) item.how;
		else if (item.part < GPUCOL_PICTURE_HH24)
			to = gpucol_picture_date(to, &t, item.part, item.how);
		else
			to = gpucol_picture_clock(to, &t, item.part, item.how);
	}
	return to;
}

#endif							/* GPUCOL_KERNEL_TEXT_PICTURE_H */
