/*-------------------------------------------------------------------------
 *
 * coarse.c
 *	  How coarse a timestamp may be for what PostgreSQL makes of it.
 *
 * to_char(ts, 'YYYY-MM') is the same for all instants of a day.  So where PostgreSQL
 * evaluates it on the groups of an engine (lower/group.c), the engine may group by days
 * instead of by microseconds, and the expression is evaluated once a day.
 *
 * An expression is known to be that coarse where the column occurs only in calls of the
 * functions below, with constants beside.  What depends on a time zone is constant within
 * a unit that all of the zone's transitions and offsets are multiples of, which is an hour
 * or half of it in most zones today but was seconds once.  So timestamps are made coarse
 * within some years only and stay what they are outside, infinities too.
 *
 * What to_char(ts, 'HH24:MI') shows is the same on all days, so that timestamps may be moved to one of them: the units
 * of such have GPUCOL_COARSE_DAILY added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "lower/calendar.h"
#include "lower/coarse.h"

/* Timestamps that are made coarse: 1973-01-01 to 2100-01-01. */
#define FIRST_COARSE	(INT64CONST(-9861) * USECS_PER_DAY)
#define END_COARSE		(INT64CONST(36525) * USECS_PER_DAY)

/* Intervals may move them by so much, so often; zones are looked at a year beyond. */
#define MOST_SHIFT		(31 * USECS_PER_DAY)
#define MOST_SHIFTS		8
#define ZONE_MARGIN		INT64CONST(31622400)	/* seconds */

/* More transitions than any zone has in that time. */
#define MOST_TRANSITIONS	4000

/* Each divides the one before. */
static const int64 units[] = {
	USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_HOUR / 2, USECS_PER_HOUR / 4, USECS_PER_MINUTE,
	USECS_PER_SEC, 1000
};

static const char *const unit_names[] = {
	"day", "hour", "30 minutes", "15 minutes", "minute", "second", "millisecond"
};

/* Is a unit one of the time of day alone? */
static bool
is_daily(int64 unit)
{
	return unit % USECS_PER_SEC == GPUCOL_COARSE_DAILY && unit > USECS_PER_SEC;
}

/* The unit itself. */
static int64
plain_unit(int64 unit)
{
	return is_daily(unit) ? unit - GPUCOL_COARSE_DAILY : unit;
}

int64
gpucol_coarse_both(int64 a, int64 b)
{
	return is_daily(a) && is_daily(b) ? Min(a, b) : Min(plain_unit(a), plain_unit(b));
}

double
gpucol_coarse_most(int64 unit)
{
	return is_daily(unit) ? (double) USECS_PER_DAY / plain_unit(unit) : get_float8_infinity();
}

/*
 * The name of a unit.
 */
const char *
gpucol_coarse_name(int64 unit)
{
	if (is_daily(unit))
		return psprintf("%s of the day", gpucol_coarse_name(plain_unit(unit)));
	for (int i = 0; i < (int) lengthof(units); i++)
	{
		if (units[i] == unit)
			return unit_names[i];
	}
	return NULL;
}

/* The greatest unit that divides a time; 0 = none. */
static int64
unit_of(int64 time)
{
	for (int i = 0; i < (int) lengthof(units); i++)
	{
		if (time % units[i] == 0)
			return units[i];
	}
	return 0;
}

/* The unit of a time zone in the years of coarse timestamps and about them. */
static int64
find_zone_unit(const pg_tz *zone)
{
	int64		to_unix = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	pg_time_t	time = FIRST_COARSE / USECS_PER_SEC + to_unix - ZONE_MARGIN;
	pg_time_t	end = END_COARSE / USECS_PER_SEC + to_unix + ZONE_MARGIN;
	int64		unit = units[0];

	for (int i = 0; i < MOST_TRANSITIONS; i++)
	{
		pg_time_t	boundary;
		long		before;
		long		after;
		int			is_dst;
		int			found = pg_next_dst_boundary(&time, &before, &is_dst, &boundary, &after,
												 &is_dst, zone);

		if (found < 0)
			return 0;
		unit = Min(unit, unit_of(before * USECS_PER_SEC));
		if (found == 0 || boundary > end)
			return unit;
		unit = Min(unit, unit_of(boundary * USECS_PER_SEC));
		time = boundary;
	}
	return 0;
}

/* The same, remembered for the zone that was asked for last. */
static int64
zone_unit(const pg_tz *zone)
{
	static const pg_tz *last;
	static int64 unit;

	if (zone == NULL)
		return 0;
	if (last != zone)
	{
		unit = find_zone_unit(zone);
		last = zone;
	}
	return unit;
}

/* The value of a constant that is not NULL. */
static bool
const_value(Expr *expr, Datum *value)
{
	if (!IsA(expr, Const) || ((Const *) expr)->constisnull)
		return false;
	*value = ((Const *) expr)->constvalue;
	return true;
}

/* Does a zone leave an instant as it is? */
static bool
is_utc_at(Datum zone, Timestamp time)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamptz_zone, zone, TimestampTzGetDatum(time))) == time;
}

/*
 * The unit of a zone by name.  A name without a slash may be an abbreviation, which the
 * configuration defines; that of UTC it can be expected to leave alone.
 */
static int64
named_zone_unit(Expr *name)
{
	Datum		value;
	char	   *zone;

	if (!const_value(name, &value))
		return 0;
	zone = TextDatumGetCString(value);
	if (pg_strcasecmp(zone, "UTC") == 0)
		return is_utc_at(value, 0) && is_utc_at(value, 182 * USECS_PER_DAY) ? units[0] : 0;
	return strchr(zone, '/') != NULL && isalpha((unsigned char) *zone) ?
		zone_unit(pg_tzset(zone)) : 0;
}

/* The time that an interval has always; false if it depends on the calendar. */
static bool
constant_time(Expr *expr, bool days, int64 *time)
{
	Datum		value;
	Interval   *interval;

	if (!const_value(expr, &value))
		return false;
	interval = DatumGetIntervalP(value);
	if (interval->month != 0 || (interval->day != 0 && !days) || abs(interval->day) > 31 ||
		interval->time < -MOST_SHIFT || interval->time > MOST_SHIFT)
		return false;
	*time = interval->day * USECS_PER_DAY + interval->time;
	return true;
}

/* The unit that an interval is a multiple of, as far as it may move a timestamp. */
static int64
shift_unit(Expr *interval, bool days)
{
	int64		time;

	return constant_time(interval, days, &time) && time >= -MOST_SHIFT && time <= MOST_SHIFT ?
		unit_of(time) : 0;
}

/*
 * Is the expression the column, or that moved by what is a multiple of a unit within
 * each unit?  Then it is as coarse as the column; *unit becomes that unit if it is less.
 */
static bool
is_shifted(Expr *expr, AttrNumber attnum, int64 *unit, int depth)
{
	Oid			funcid;
	List	   *args;

	if (IsA(expr, Var))
		return ((Var *) expr)->varattno == attnum;
	if (depth == MOST_SHIFTS)
		return false;
	if (IsA(expr, FuncExpr))
	{
		funcid = ((FuncExpr *) expr)->funcid;
		args = ((FuncExpr *) expr)->args;
	}
	else if (IsA(expr, OpExpr))
	{
		funcid = ((OpExpr *) expr)->opfuncid;
		args = ((OpExpr *) expr)->args;
	}
	else
		return false;
	switch (funcid)
	{
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
			*unit = Min(*unit, zone_unit(session_timezone));
			return is_shifted(linitial(args), attnum, unit, depth + 1);
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			*unit = Min(*unit, named_zone_unit(linitial(args)));
			return is_shifted(lsecond(args), attnum, unit, depth + 1);
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
			*unit = Min(*unit, shift_unit(lsecond(args), true));
			return is_shifted(linitial(args), attnum, unit, depth + 1);
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			*unit = Min(*unit, shift_unit(lsecond(args), false));
			return is_shifted(linitial(args), attnum, unit, depth + 1);
		default:
			return false;
	}
}

/* Does a format, in capitals, show nothing but the time of day? */
static bool
shows_time(const char *format)
{
	static const char *const patterns[] = {"HH24", "HH12", "HH", "MI", "SS", "AM", "PM", "A.M.", "P.M.", "FM"};

	while (*format != '\0')
	{
		Size		len = isalpha((unsigned char) *format) || *format == '"' || *format == '\\' ? 0 : 1;

		for (int i = 0; i < (int) lengthof(patterns) && len == 0; i++)
		{
			if (strncmp(format, patterns[i], strlen(patterns[i])) == 0)
				len = strlen(patterns[i]);
		}
		if (len == 0)
			return false;
		format += len;
	}
	return true;
}

/*
 * What to_char looks at.  Letters that only might be one of its patterns count, so quoted
 * texts need no care.
 */
static int64
format_unit(Expr *expr)
{
	static const struct
	{
		const char *pattern;
		int64		unit;
	}			patterns[] = {
		{"MS", 0}, {"US", 0}, {"FF", 0}, {"SS", USECS_PER_SEC}, {"MI", USECS_PER_MINUTE},
		{"HH", USECS_PER_HOUR}, {"AM", USECS_PER_HOUR}, {"PM", USECS_PER_HOUR},
		{"A.M.", USECS_PER_HOUR}, {"P.M.", USECS_PER_HOUR}
	};
	Datum		value;
	char	   *format;

	if (!const_value(expr, &value))
		return 0;
	format = TextDatumGetCString(value);
	for (char *p = format; *p; p++)
		*p = pg_ascii_toupper((unsigned char) *p);
	for (int i = 0; i < (int) lengthof(patterns); i++)
	{
		if (strstr(format, patterns[i].pattern) != NULL)
			return patterns[i].unit == 0 || !shows_time(format) ? patterns[i].unit :
				patterns[i].unit + GPUCOL_COARSE_DAILY;
	}
	return USECS_PER_DAY;
}

/* What a field, or (truncating) a truncation to it, depends on. */
static int64
field_unit(Expr *name, bool truncating)
{
	switch (gpucol_calendar_field(name))
	{
		case GPUCOL_FIELD_MILLISECOND:
			return truncating ? 1000 : 0;
		case GPUCOL_FIELD_SECOND:
			return truncating ? USECS_PER_SEC : 0;
		case GPUCOL_FIELD_MINUTE:
			return USECS_PER_MINUTE;
		case GPUCOL_FIELD_HOUR:
			return USECS_PER_HOUR;
		case GPUCOL_FIELD_NONE:
		case GPUCOL_FIELD_MICROSECOND:
		case GPUCOL_FIELD_JULIAN:
		case GPUCOL_FIELD_EPOCH:
			return 0;
		default:
			return USECS_PER_DAY;
	}
}

/*
 * The unit of date_bin: its bins start at an origin, and another each stride, before the
 * origin too, except in early minor versions of PostgreSQL.
 */
static int64
bin_unit(Expr *stride, Expr *origin)
{
	Datum		value;
	Timestamp	start;
	Timestamp	before;
	int64		time;

	if (!constant_time(stride, true, &time) || time <= 0 || !const_value(origin, &value))
		return 0;
	start = DatumGetTimestamp(value);
	if (!IS_VALID_TIMESTAMP(start) || !IS_VALID_TIMESTAMP(start - time))
		return 0;
	before = start - time;
	if (DatumGetTimestamp(DirectFunctionCall3(timestamp_bin, ((Const *) stride)->constvalue,
											  TimestampGetDatum(before), value)) != before)
		return 0;
	return Min(unit_of(time), unit_of(start));
}

/* How coarse may a timestamp be for this function?  0 = not at all; *arg is its number. */
static int64
call_unit(Oid funcid, List *args, int *arg)
{
	*arg = 1;
	switch (funcid)
	{
		case F_TO_CHAR_TIMESTAMP_TEXT:
			*arg = 0;
			return format_unit(lsecond(args));
		case F_TO_CHAR_TIMESTAMPTZ_TEXT:
			*arg = 0;
			return Min(plain_unit(format_unit(lsecond(args))), zone_unit(session_timezone));
		case F_DATE_TIMESTAMP:
			*arg = 0;
			return USECS_PER_DAY;
		case F_DATE_TIMESTAMPTZ:
			*arg = 0;
			return zone_unit(session_timezone);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return field_unit(linitial(args), true);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return Min(field_unit(linitial(args), true), zone_unit(session_timezone));
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return Min(field_unit(linitial(args), true), named_zone_unit(lthird(args)));
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMP:
			return field_unit(linitial(args), false);
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return Min(field_unit(linitial(args), false), zone_unit(session_timezone));
		case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
		case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
			return bin_unit(linitial(args), lthird(args));
		default:
			return 0;
	}
}

/* What is sought in an expression. */
typedef struct Search
{
	AttrNumber	attnum;
	int64		unit;			/* -1: none yet */
} Search;

/* Is a call one for which the column may be coarse?  Notes how much. */
static bool
note_call(FuncExpr *call, Search *search)
{
	int			arg;
	int64		unit = call_unit(call->funcid, call->args, &arg);

	if (unit > 0 && !IsA(list_nth(call->args, arg), Var))
		unit = plain_unit(unit);
	if (unit == 0 || !is_shifted(list_nth(call->args, arg), search->attnum, &unit, 0) ||
		unit == 0)
		return false;
	search->unit = search->unit < 0 ? unit : gpucol_coarse_both(search->unit, unit);
	return true;
}

/* Does the column occur elsewhere? */
static bool
unit_walker(Node *node, void *context)
{
	Search	   *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == search->attnum;
	if (IsA(node, NullTest) && IsA(((NullTest *) node)->arg, Var))
		return false;
	if (IsA(node, FuncExpr) && note_call((FuncExpr *) node, search))
		return false;
	return expression_tree_walker(node, unit_walker, context);
}

/*
 * The unit of which a column's values may be multiples for an expression; 0 = their own.
 */
int64
gpucol_coarse_unit(TupleDesc desc, Expr *expr, AttrNumber attnum)
{
	Oid			type = TupleDescAttr(desc, attnum - 1)->atttypid;
	Search		search = {.attnum = attnum,.unit = -1};

	if ((type != TIMESTAMPOID && type != TIMESTAMPTZOID) ||
		unit_walker((Node *) expr, &search))
		return 0;
	return search.unit < 0 ? units[0] : search.unit;
}

/*
 * Make a timestamp a multiple of a unit, the one before.
 */
int64
gpucol_coarse_cut(int64 value, int64 unit)
{
	int64		plain = plain_unit(unit);
	int64		rest = value % plain;

	if (value < FIRST_COARSE || value >= END_COARSE)
		return value;
	value -= rest < 0 ? rest + plain : rest;
	if (!is_daily(unit))
		return value;
	rest = value % USECS_PER_DAY;
	return rest < 0 ? rest + USECS_PER_DAY : rest;
}

void
gpucol_coarse_lower(GpucolLower *l, int64 unit, GpucolValue *v)
{
	uint16		within = gpucol_calendar_op(l, GPUCOL_OP_AND,
											gpucol_calendar_op(l, GPUCOL_OP_LE_I,
															   gpucol_calendar_number(l, FIRST_COARSE),
															   v->reg),
											gpucol_calendar_op(l, GPUCOL_OP_LT_I, v->reg,
															   gpucol_calendar_number(l, END_COARSE)));
	uint16		value = gpucol_calendar_choose(l, within, v->reg, gpucol_calendar_number(l, 0));

	value = gpucol_calendar_floor_multiple(l, value, plain_unit(unit));
	if (is_daily(unit))
		value = gpucol_calendar_floor_mod(l, value, USECS_PER_DAY);
	v->reg = gpucol_calendar_choose(l, within, value, v->reg);
}
