/*-------------------------------------------------------------------------
 *
 * decimal.c
 *	  Functions of a column of numeric(p,s), as integer arithmetic on its mantissas:
 *	  round, trunc, floor, ceil, width_bucket, and casts to integers and double precision.
 *
 * A mantissa has 18 digits at most, and what is made of it here stays within int64.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"

#include "lower/calendar.h"

/* Digits of an integer that a double holds, and the powers of ten that are one exactly. */
#define REAL_DIGITS			15

/*
 * PostgreSQL rounds the quotient of which a bucket's number is the integral part.  Up to
 * this product of buckets and width that takes none into the next bucket.
 */
#define MOST_BUCKETS		INT64CONST(10000000000)

/* How digits are dropped. */
typedef enum Rounding
{
	ROUND_HALF,					/* to the nearest, halves away from zero */
	ROUND_ZERO,
	ROUND_DOWN,
	ROUND_UP
} Rounding;

/* The mantissas of a column. */
typedef struct Mantissa
{
	uint16		reg;
	int			scale;
	int			digits;
} Mantissa;

/* Is the expression a column of decimals? */
static bool
find_column(GpucolLower *l, Expr *expr, Mantissa *m, int *number)
{
	Var		   *var = (Var *) expr;
	int			column;

	if (!IsA(expr, Var) || var->varno != (int) l->varno || var->varlevelsup != 0 ||
		var->varattno <= 0 || TupleDescAttr(l->desc, var->varattno - 1)->attisdropped)
		return false;
	column = gpucol_lower_column(l, var->varattno);
	if (l->maps[column].kind != GPUCOL_KIND_DECIMAL ||
		l->maps[column].digits > GPUCOL_INT64_DIGITS)
		return false;
	m->scale = l->maps[column].scale;
	m->digits = l->maps[column].digits;
	*number = column;
	return true;
}

/* Is a decimal shown with so many digits in each row that another's are not more? */
static bool
shows_most(const GpucolValue *v, const GpucolValue *other)
{
	return v->scale_reg == GPUCOL_NO_REG && v->scale >= other->scale;
}

bool
gpucol_lower_scale_is_fixed(GpucolOpcode op, const GpucolValue *a, const GpucolValue *b)
{
	if (a->scale_reg == GPUCOL_NO_REG && b->scale_reg == GPUCOL_NO_REG)
		return true;
	return (op == GPUCOL_OP_ADD_D || op == GPUCOL_OP_SUB_D) && (shows_most(a, b) || shows_most(b, a));
}

/* The quotient of mantissas and a power of ten. */
static uint16
drop_digits(GpucolLower *l, uint16 reg, int digits, Rounding rounding)
{
	int64		step = (int64) gpucol_lower_power10(digits);
	uint16		half;

	switch (rounding)
	{
		case ROUND_HALF:
			half = gpucol_calendar_op(l, GPUCOL_OP_LT_I, reg, gpucol_calendar_number(l, 0));
			half = gpucol_calendar_choose(l, half, gpucol_calendar_number(l, -step / 2),
										  gpucol_calendar_number(l, step / 2));
			reg = gpucol_calendar_op(l, GPUCOL_OP_ADD_I, reg, half);
			return gpucol_calendar_quotient(l, reg, step);
		case ROUND_ZERO:
			return gpucol_calendar_quotient(l, reg, step);
		case ROUND_UP:
			reg = gpucol_calendar_add(l, reg, step - 1);
			return gpucol_calendar_floor_div(l, reg, step);
		default:
			return gpucol_calendar_floor_div(l, reg, step);
	}
}

/* The column with `scale` fractional digits, or with so many zeros before the point. */
static bool
lower_rounded(GpucolLower *l, const Mantissa *m, int scale, Rounding rounding, GpucolValue *out)
{
	int			drop = m->scale - scale;
	uint16		reg = m->reg;

	if (drop > GPUCOL_INT64_DIGITS)
		return gpucol_lower_decline(l, "rounding to more digits than a value has");
	if (drop > 0)
		reg = drop_digits(l, reg, drop, rounding);
	if (scale < 0)
		reg = gpucol_calendar_mul(l, reg, (int64) gpucol_lower_power10(-scale));
	out->cls = GPUCOL_CLASS_D;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_I_TO_D, reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	out->scale = drop > 0 ? Max(scale, 0) : m->scale;
	out->digits = drop > 0 ? Max(m->digits - drop, 0) + 1 + Max(-scale, 0) : m->digits;
	return drop >= 0 || gpucol_lower_rescale(l, out, scale);
}

/* The value of a constant integer. */
static bool
const_int(Expr *expr, int *i)
{
	if (!IsA(expr, Const) || ((Const *) expr)->constisnull || ((Const *) expr)->consttype != INT4OID)
		return false;
	*i = DatumGetInt32(((Const *) expr)->constvalue);
	return true;
}

/* round(column, digits), trunc(column, digits) */
static bool
lower_round(GpucolLower *l, const Mantissa *m, Expr *digits, Rounding rounding, GpucolValue *out)
{
	int			scale;

	if (!const_int(digits, &scale))
		return gpucol_lower_decline(l, "rounding to a number of digits that is not constant");
	if (scale > 2 * GPUCOL_INT64_DIGITS || scale < -GPUCOL_INT64_DIGITS)
		return gpucol_lower_decline(l, "rounding to more digits than a value has");
	return lower_rounded(l, m, scale, rounding, out);
}

/* column::double precision: the quotient of two integers that doubles hold. */
static bool
lower_real(GpucolLower *l, const Mantissa *m, GpucolValue *out)
{
	GpucolValue power;

	out->cls = GPUCOL_CLASS_F;
	out->scale = out->digits = 0;
	out->reg = gpucol_lower_emit(l, GPUCOL_OP_I_TO_F, m->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 8);
	if (m->scale == 0)
		return true;
	gpucol_lower_load(l, FLOAT8OID, Float8GetDatum((double) (int64) gpucol_lower_power10(m->scale)),
					  false, true, &power);
	out->reg = gpucol_calendar_op(l, GPUCOL_OP_DIV_F, out->reg, power.reg);
	return true;
}

/* A numeric constant as mantissa at a scale that it does not exceed. */
static bool
const_mantissa(GpucolLower *l, Expr *expr, int *scale, __int128 *mantissa)
{
	Const	   *value = (Const *) expr;
	GpucolConst c;
	int			digits;

	if (!IsA(expr, Const) || value->constisnull ||
		!gpucol_lower_datum(l, NUMERICOID, value->constvalue, false, true, &c, scale, &digits) ||
		digits > GPUCOL_INT64_DIGITS || *scale > GPUCOL_INT64_DIGITS)
		return false;
	*mantissa = ((__int128) c.v.d.hi << 64) | c.v.d.lo;
	return true;
}

/* The bounds of buckets and the column's mantissas, at one scale. */
typedef struct Buckets
{
	uint16		reg;
	int64		low;
	int64		high;
	int			count;
} Buckets;

static bool
find_buckets(GpucolLower *l, const Mantissa *m, List *args, Buckets *b)
{
	__int128	low;
	__int128	high;
	__int128	width;
	int			low_scale;
	int			high_scale;
	int			scale;

	if (!const_mantissa(l, lsecond(args), &low_scale, &low) ||
		!const_mantissa(l, lthird(args), &high_scale, &high) ||
		!const_int(lfourth(args), &b->count))
		return false;
	scale = Max(Max(low_scale, high_scale), m->scale);
	if (m->digits + scale - m->scale > GPUCOL_INT64_DIGITS || scale - low_scale > GPUCOL_INT64_DIGITS ||
		scale - high_scale > GPUCOL_INT64_DIGITS)
		return false;
	low *= gpucol_lower_power10(scale - low_scale);
	high *= gpucol_lower_power10(scale - high_scale);
	width = low < high ? high - low : low - high;
	if (width == 0 || b->count <= 0 || width * b->count > MOST_BUCKETS ||
		low != (int64) low || high != (int64) high)
		return false;
	b->low = (int64) low;
	b->high = (int64) high;
	b->reg = scale == m->scale ? m->reg :
		gpucol_calendar_mul(l, m->reg, (int64) gpucol_lower_power10(scale - m->scale));
	return true;
}

/* width_bucket(column, low, high, count); the bounds may be the other way about */
static bool
lower_buckets(GpucolLower *l, const Mantissa *m, List *args, GpucolValue *out)
{
	Buckets		b;
	uint16		low;
	uint16		high;
	uint16		below;
	uint16		above;
	uint16		distance;
	bool		up;

	if (!find_buckets(l, m, args, &b))
		return gpucol_lower_decline(l, "width_bucket of bounds that are not constant, or wide");
	up = b.low < b.high;
	low = gpucol_calendar_number(l, b.low);
	high = gpucol_calendar_number(l, b.high);
	below = up ? gpucol_calendar_op(l, GPUCOL_OP_LT_I, b.reg, low) :
		gpucol_calendar_op(l, GPUCOL_OP_LT_I, low, b.reg);
	above = up ? gpucol_calendar_op(l, GPUCOL_OP_LE_I, high, b.reg) :
		gpucol_calendar_op(l, GPUCOL_OP_LE_I, b.reg, high);
	/* what lies outside is the first of all, lest it overflow */
	distance = gpucol_calendar_choose(l, gpucol_calendar_op(l, GPUCOL_OP_OR, below, above), low, b.reg);
	distance = up ? gpucol_calendar_op(l, GPUCOL_OP_SUB_I, distance, low) :
		gpucol_calendar_op(l, GPUCOL_OP_SUB_I, low, distance);
	distance = gpucol_calendar_quotient(l, gpucol_calendar_mul(l, distance, b.count),
										up ? b.high - b.low : b.low - b.high);
	distance = gpucol_calendar_add(l, distance, 1);
	distance = gpucol_calendar_choose(l, above, gpucol_calendar_number(l, (int64) b.count + 1), distance);
	out->reg = gpucol_calendar_choose(l, below, gpucol_calendar_number(l, 0), distance);
	out->cls = GPUCOL_CLASS_I;
	out->scale = out->digits = 0;
	return true;
}

/* Dispatch on the function; nothing here can fail. */
static bool
lower_result(GpucolLower *l, Oid funcid, const Mantissa *m, List *args, GpucolValue *out)
{
	out->scale_reg = GPUCOL_NO_REG;
	switch (funcid)
	{
		case F_ROUND_NUMERIC_INT4:
			return lower_round(l, m, lsecond(args), ROUND_HALF, out);
		case F_TRUNC_NUMERIC_INT4:
			return lower_round(l, m, lsecond(args), ROUND_ZERO, out);
		case F_FLOOR_NUMERIC:
			return lower_rounded(l, m, 0, ROUND_DOWN, out);
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
			return lower_rounded(l, m, 0, ROUND_UP, out);
		case F_FLOAT8_NUMERIC:
			return lower_real(l, m, out);
		case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
			return lower_buckets(l, m, args, out);
		default:
			return lower_rounded(l, m, 0, ROUND_HALF, out);
	}
}

/* Is it one of the functions here, for mantissas such as these? */
static bool
is_known(Oid funcid, const Mantissa *m)
{
	switch (funcid)
	{
		case F_FLOAT8_NUMERIC:
			return m->digits <= REAL_DIGITS && m->scale <= REAL_DIGITS;
		case F_ROUND_NUMERIC_INT4:
		case F_TRUNC_NUMERIC_INT4:
		case F_FLOOR_NUMERIC:
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
		case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4:
		case F_INT2_NUMERIC:
		case F_INT4_NUMERIC:
		case F_INT8_NUMERIC:
			return true;
		default:
			return false;
	}
}

/*
 * Lower a function of a decimal column.  *matched says whether it is one that is known
 * here.  Of a cast to an integer this is the rounded numeric, of which the caller makes
 * the integer.
 */
bool
gpucol_lower_decimal(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	GpucolMask *mask = l->mask;
	bool		may_raise = l->may_raise;
	Mantissa	m;
	int			column;
	bool		ok;

	*matched = args != NIL && find_column(l, linitial(args), &m, &column) && is_known(funcid, &m);
	if (!*matched)
		return false;
	m.reg = gpucol_lower_emit(l, GPUCOL_OP_LOAD_I, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, column);
	l->mask = NULL;
	ok = lower_result(l, funcid, &m, args, out);
	l->mask = mask;
	l->may_raise = may_raise;
	return ok;
}
