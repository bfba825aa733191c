/*-------------------------------------------------------------------------
 *
 * plain.c
 *	  Functions that take a few instructions each: bits, booleans and floats as money,
 *	  finite dates, comparisons of dates with timestamps, date_bin, a date and a time.
 *
 * A date beyond the last timestamp is later than all of these, and comparing it is no error.
 * A timestamptz is compared with dates and timestamps where the session's time zone is UTC.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "kernel/time_shift.h"
#include "kernel/time_zone.h"
#include "lower/calendar.h"
#include "lower/made_range.h"
#include "lower/overlaps.h"

typedef enum PlainKind
{
	BITS_NOT,					/* aux: width */
	INT_TO_BOOL,
	IS_FINITE,					/* aux: of a date */
	COMPARE_TIMES,				/* aux: GpucolOpcode */
	MONEY_OF_FLOAT,				/* aux: GpucolOpcode */
	MONEY_RATIO,
	BIN,
	BUCKET,
	OVERLAPS,
	RANGE_CONTAINS,				/* aux: the element comes first */
	RANGES_OVERLAP,
	DATE_AND_TIME
} PlainKind;

typedef struct PlainFunction
{
	Oid			oid;
	PlainKind	kind;
	int			aux;
	bool		swap;
	bool		zoned;
} PlainFunction;

#define COMPARISONS_OF(a, b, zoned) \
	{F_##a##_EQ_##b, COMPARE_TIMES, GPUCOL_OP_EQ_I, false, zoned}, \
	{F_##a##_NE_##b, COMPARE_TIMES, GPUCOL_OP_NE_I, false, zoned}, \
	{F_##a##_LT_##b, COMPARE_TIMES, GPUCOL_OP_LT_I, false, zoned}, \
	{F_##a##_LE_##b, COMPARE_TIMES, GPUCOL_OP_LE_I, false, zoned}, \
	{F_##a##_GT_##b, COMPARE_TIMES, GPUCOL_OP_LT_I, true, zoned}, \
	{F_##a##_GE_##b, COMPARE_TIMES, GPUCOL_OP_LE_I, true, zoned}

static const PlainFunction functions[] = {
	{F_INT2NOT, BITS_NOT, 2, false, false},
	{F_INT4NOT, BITS_NOT, 4, false, false},
	{F_INT8NOT, BITS_NOT, 8, false, false},
	{F_BOOL_INT4, INT_TO_BOOL, 0, false, false},
	{F_ISFINITE_DATE, IS_FINITE, true, false, false},
	{F_ISFINITE_TIMESTAMP, IS_FINITE, false, false, false},
	{F_ISFINITE_TIMESTAMPTZ, IS_FINITE, false, false, false},
	COMPARISONS_OF(DATE, TIMESTAMP, false),
	COMPARISONS_OF(TIMESTAMP, DATE, false),
	COMPARISONS_OF(DATE, TIMESTAMPTZ, true),
	COMPARISONS_OF(TIMESTAMPTZ, DATE, true),
	COMPARISONS_OF(TIMESTAMP, TIMESTAMPTZ, true),
	COMPARISONS_OF(TIMESTAMPTZ, TIMESTAMP, true),
	{F_CASH_MUL_FLT4, MONEY_OF_FLOAT, GPUCOL_OP_MUL_F, false, false},
	{F_CASH_MUL_FLT8, MONEY_OF_FLOAT, GPUCOL_OP_MUL_F, false, false},
	{F_FLT4_MUL_CASH, MONEY_OF_FLOAT, GPUCOL_OP_MUL_F, true, false},
	{F_FLT8_MUL_CASH, MONEY_OF_FLOAT, GPUCOL_OP_MUL_F, true, false},
	{F_CASH_DIV_FLT4, MONEY_OF_FLOAT, GPUCOL_OP_DIV_F, false, false},
	{F_CASH_DIV_FLT8, MONEY_OF_FLOAT, GPUCOL_OP_DIV_F, false, false},
	{F_CASH_DIV_CASH, MONEY_RATIO, 0, false, false},
	{F_OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP, OVERLAPS, 0, false, false},
	{F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ, OVERLAPS, 0, false, false},
	{F_OVERLAPS_TIME_TIME_TIME_TIME, OVERLAPS, 0, false, false},
	{F_RANGE_CONTAINS_ELEM, RANGE_CONTAINS, false, false, false},
	{F_ELEM_CONTAINED_BY_RANGE, RANGE_CONTAINS, true, false, false},
	{F_RANGE_OVERLAPS, RANGES_OVERLAP, 0, false, false},
	{F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, BIN, 0, false, false},
	{F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, BIN, 0, false, false},
	{F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, BUCKET, 0, false, false},
	{F_DATETIME_PL, DATE_AND_TIME, 0, false, false},
	{F_TIMESTAMP_DATE_TIME, DATE_AND_TIME, 0, false, false},
};

static const PlainFunction *
find_function(Oid oid)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].oid == oid)
			return &functions[i];
	}
	return NULL;
}

static bool
set_value(GpucolValue *out, GpucolClass cls, uint16 reg)
{
	memset(out, 0, sizeof(*out));
	out->cls = cls;
	out->reg = reg;
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}

/* An argument of a class. */
static bool
lower_argument(GpucolLower *l, Expr *arg, GpucolClass cls, uint16 *reg)
{
	GpucolValue v;

	if (!gpucol_lower_expr(l, arg, &v))
		return false;
	*reg = v.reg;
	return v.cls == cls || gpucol_lower_decline(l, "its argument has no fixed-width form");
}

/* Is a date or timestamp one of the infinities? */
static uint16
is_infinite(GpucolLower *l, uint16 reg, bool date)
{
	uint16		low = gpucol_calendar_number(l, date ? (int64) DATEVAL_NOBEGIN : DT_NOBEGIN);
	uint16		high = gpucol_calendar_number(l, date ? (int64) DATEVAL_NOEND : DT_NOEND);

	return gpucol_calendar_op(l, GPUCOL_OP_OR, gpucol_calendar_op(l, GPUCOL_OP_EQ_I, reg, low),
							  gpucol_calendar_op(l, GPUCOL_OP_EQ_I, reg, high));
}

/* Local times as moments of the session's time zone, if that is asked for. */
static bool
as_moment(GpucolLower *l, bool zoned, uint16 *reg)
{
	return !zoned || gpucol_lower_session_zone(l, GPUCOL_ZONE_TO_STAMP | GPUCOL_ZONE_COMPARED, reg);
}

/* A date as a timestamp, with or without time zone, that compares with others as the date does. */
static bool
comparable_stamp(GpucolLower *l, bool zoned, uint16 *reg)
{
	uint16		date = *reg;
	uint16		late = gpucol_calendar_op(l, GPUCOL_OP_LE_I,
										  gpucol_calendar_number(l, GPUCOL_END_STAMP_DAYS), date);
	uint16		endless = gpucol_calendar_op(l, GPUCOL_OP_EQ_I, date,
											 gpucol_calendar_number(l, DATEVAL_NOEND));
	uint16		bottomless = gpucol_calendar_op(l, GPUCOL_OP_EQ_I, date,
												gpucol_calendar_number(l, DATEVAL_NOBEGIN));
	uint16		day = gpucol_calendar_choose(l, gpucol_calendar_op(l, GPUCOL_OP_OR, late, bottomless),
											 gpucol_calendar_number(l, 0), date);
	uint16		stamp = gpucol_calendar_mul(l, day, USECS_PER_DAY);

	if (!as_moment(l, zoned, &stamp))
		return false;
	stamp = gpucol_calendar_choose(l, late, gpucol_calendar_number(l, GPUCOL_END_STAMPS), stamp);
	stamp = gpucol_calendar_choose(l, endless, gpucol_calendar_number(l, DT_NOEND), stamp);
	*reg = gpucol_calendar_choose(l, bottomless, gpucol_calendar_number(l, DT_NOBEGIN), stamp);
	return true;
}

/*
 * Make a date or timestamp comparable with timestamps, or, zoned, with such with time zone; nothing here can fail.
 */
bool
gpucol_lower_as_stamp(GpucolLower *l, Oid type, bool zoned, uint16 *reg)
{
	GpucolMask *mask = l->mask;
	bool		may_raise = l->may_raise;
	bool		ok = true;

	l->mask = NULL;
	if (type == DATEOID)
		ok = comparable_stamp(l, zoned, reg);
	else if (type == TIMESTAMPOID)
		ok = as_moment(l, zoned, reg);
	l->mask = mask;
	l->may_raise = may_raise;
	return ok;
}

static bool
lower_comparison(GpucolLower *l, const PlainFunction *f, List *args, GpucolValue *out)
{
	uint16		a;
	uint16		b;

	if (!lower_argument(l, linitial(args), GPUCOL_CLASS_I, &a) ||
		!lower_argument(l, lsecond(args), GPUCOL_CLASS_I, &b) ||
		!gpucol_lower_as_stamp(l, exprType(linitial(args)), f->zoned, &a) ||
		!gpucol_lower_as_stamp(l, exprType(lsecond(args)), f->zoned, &b))
		return false;
	return set_value(out, GPUCOL_CLASS_B, gpucol_lower_emit(l, (GpucolOpcode) f->aux, f->swap ? b : a,
															f->swap ? a : b, GPUCOL_NO_REG, 0));
}

/* Money times or by a float, or by money; PostgreSQL's range of money is that of bigint. */
static bool
lower_money(GpucolLower *l, const PlainFunction *f, List *args, GpucolValue *out)
{
	bool		ratio = f->kind == MONEY_RATIO;
	uint16		money;
	uint16		by;
	uint16		result;

	if (!lower_argument(l, f->swap ? lsecond(args) : linitial(args), GPUCOL_CLASS_I, &money) ||
		!lower_argument(l, f->swap ? linitial(args) : lsecond(args),
						ratio ? GPUCOL_CLASS_I : GPUCOL_CLASS_F, &by))
		return false;
	money = gpucol_calendar_op(l, GPUCOL_OP_I_TO_F, money, GPUCOL_NO_REG);
	if (ratio)
		by = gpucol_calendar_op(l, GPUCOL_OP_I_TO_F, by, GPUCOL_NO_REG);
	result = gpucol_calendar_op(l, ratio ? GPUCOL_OP_DIV_F : (GpucolOpcode) f->aux, money, by);
	if (ratio)
		return set_value(out, GPUCOL_CLASS_F, result);
	return set_value(out, GPUCOL_CLASS_I, gpucol_calendar_op(l, GPUCOL_OP_F_TO_I, result, GPUCOL_NO_REG));
}

/* The microseconds of a constant interval without months that date_bin takes. */
static bool
const_stride(Expr *arg, int64 *usecs)
{
	Const	   *c = (Const *) arg;
	Interval   *span;

	if (!IsA(c, Const) || c->constisnull || c->consttype != INTERVALOID)
		return false;
	span = DatumGetIntervalP(c->constvalue);
	return span->month == 0 && !pg_mul_s64_overflow(span->day, USECS_PER_DAY, usecs) &&
		!pg_add_s64_overflow(*usecs, span->time, usecs) && *usecs > 0 && *usecs < PG_INT64_MAX / 4;
}

/* date_bin(stride, timestamp, origin), the first and the last being constant */
static bool
lower_bin(GpucolLower *l, List *args, GpucolValue *out)
{
	Const	   *origin = lthird(args);
	int64		stride;
	uint16		stamp;
	uint16		infinite;
	uint16		finite;
	uint16		rest;

	if (!const_stride(linitial(args), &stride) || !IsA(origin, Const) || origin->constisnull ||
		TIMESTAMP_NOT_FINITE(DatumGetTimestamp(origin->constvalue)))
		return gpucol_lower_decline(l, "date_bin of a stride or origin that is not constant");

	if (!lower_argument(l, lsecond(args), GPUCOL_CLASS_I, &stamp))
		return false;
	infinite = is_infinite(l, stamp, false);
	finite = gpucol_calendar_choose(l, infinite, gpucol_calendar_number(l, 0), stamp);
	rest = gpucol_lower_emit(l, GPUCOL_OP_TIME_DIFF_I, finite,
							 gpucol_calendar_number(l, DatumGetTimestamp(origin->constvalue)),
							 GPUCOL_NO_REG, 9);
	rest = gpucol_calendar_floor_mod(l, rest, stride);
	rest = gpucol_calendar_op(l, GPUCOL_OP_SUB_I, gpucol_calendar_number(l, 0), rest);
	finite = gpucol_lower_emit(l, GPUCOL_OP_SHIFT_I, finite, rest, gpucol_calendar_number(l, 0), 0);
	return set_value(out, GPUCOL_CLASS_I, gpucol_calendar_choose(l, infinite, stamp, finite));
}

/* date + time */
static bool
lower_date_and_time(GpucolLower *l, List *args, GpucolValue *out)
{
	uint16		date;
	uint16		time;

	if (!lower_argument(l, linitial(args), GPUCOL_CLASS_I, &date) ||
		!lower_argument(l, lsecond(args), GPUCOL_CLASS_I, &time))
		return false;
	return set_value(out, GPUCOL_CLASS_I,
					 gpucol_lower_emit(l, GPUCOL_OP_SHIFT_I, date, time, gpucol_calendar_number(l, 0),
									   GPUCOL_SHIFT_DATE));
}

/* A function of one integer. */
static bool
lower_unary(GpucolLower *l, const PlainFunction *f, Expr *arg, GpucolValue *out)
{
	uint16		reg;

	if (!lower_argument(l, arg, GPUCOL_CLASS_I, &reg))
		return false;
	switch (f->kind)
	{
		case BITS_NOT:
			return set_value(out, GPUCOL_CLASS_I,
							 gpucol_lower_emit(l, GPUCOL_OP_BIT_XOR_I, reg, gpucol_calendar_number(l, -1),
											   GPUCOL_NO_REG, f->aux));
		case INT_TO_BOOL:
			return set_value(out, GPUCOL_CLASS_B, gpucol_calendar_op(l, GPUCOL_OP_NE_I, reg,
																	 gpucol_calendar_number(l, 0)));
		default:
			reg = is_infinite(l, reg, f->aux);
			return set_value(out, GPUCOL_CLASS_B, gpucol_lower_emit(l, GPUCOL_OP_NOT, reg, GPUCOL_NO_REG,
																	GPUCOL_NO_REG, 0));
	}
}

/*
 * Lower a function of this file.  *matched says whether the function is one.
 */
bool
gpucol_lower_plain(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	const PlainFunction *f = find_function(funcid);

	*matched = f != NULL;
	if (f == NULL)
		return false;
	switch (f->kind)
	{
		case COMPARE_TIMES:
			return lower_comparison(l, f, args, out);
		case MONEY_OF_FLOAT:
		case MONEY_RATIO:
			return lower_money(l, f, args, out);
		case BIN:
			return lower_bin(l, args, out);
		case BUCKET:
			return gpucol_lower_bucket(l, args, out);
		case OVERLAPS:
			return gpucol_lower_overlaps(l, args, out);
		case RANGE_CONTAINS:
			return gpucol_lower_made_contains(l, args, f->aux, out);
		case RANGES_OVERLAP:
			return gpucol_lower_made_overlap(l, args, out);
		case DATE_AND_TIME:
			return lower_date_and_time(l, args, out);
		default:
			return lower_unary(l, f, linitial(args), out);
	}
}

/* The class of a value that no row gets, as far as can be told; false if there is none of the type. */
static bool
seldom_class(Oid type, GpucolClass *cls)
{
	switch (type)
	{
		case FLOAT4OID:
		case FLOAT8OID:
			*cls = GPUCOL_CLASS_F;
			return true;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:		/* until it is known what it stands beside */
			*cls = GPUCOL_CLASS_I;
			return true;
		default:
			return false;
	}
}

bool
gpucol_lower_seldom(GpucolLower *l, const SubPlan *subplan, GpucolValue *out)
{
	GpucolConst c = {.cls = GPUCOL_CLASS_I,.v.i = PG_INT64_MAX};	/* which does not fit, as it must */

	if (subplan->startup_cost > 0 ||
		(subplan->per_call_cost > 0 && subplan->per_call_cost != GPUCOL_SELDOM_COST) ||
		(!l->aggregating && !l->seldom) || l->conditional == 0 || !seldom_class(subplan->firstColType, &out->cls))
		return gpucol_lower_decline(l, "it contains a subquery");
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_CONST_I, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG,
								 gpucol_lower_add_const(l, &c));
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_CHECK_I, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_WIDTH_NONE);
	if (out->cls == GPUCOL_CLASS_F)
		out->reg = gpucol_lower_emit(l, GPUCOL_OP_I_TO_F, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 8);
	out->scale = out->digits = 0;
	out->scale_reg = GPUCOL_NO_REG;
	out->packed = false;
	return true;
}

void
gpucol_lower_seldom_as(GpucolLower *l, const Expr *expr, const GpucolValue *as, GpucolValue *value)
{
	uint16		reg = value->reg;

	if (!IsA(expr, SubPlan) || as->cls != GPUCOL_CLASS_D || value->cls != GPUCOL_CLASS_I)
		return;
	*value = *as;
	value->reg = gpucol_lower_emit(l, GPUCOL_OP_I_TO_D, reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	value->scale_reg = GPUCOL_NO_REG;
}
