/*-------------------------------------------------------------------------
 *
 * bucket.c
 *	  width_bucket() of floats, with bounds and a number of buckets that are constant.
 *
 * A bucket's number is trunc(n * ((x - low) / (high - low))) + 1, or n if it is more, from
 * PostgreSQL 16 on; and trunc(n * (x - low) / (high - low) + 1) before.  Which of them it is is asked of
 * PostgreSQL's function where buckets meet, when the expression is lowered.  NaN is an error, which is
 * PostgreSQL's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "kernel/math_functions.h"
#include "lower/calendar.h"

#define MOST_BUCKETS	1000
/* Widths at which no operation overflows or underflows, and a distance that is none. */
#define LEAST_WIDTH		1e-100
#define MOST_WIDTH		1e100
#define NO_DISTANCE		1e-150
/* How far from where two buckets meet PostgreSQL is asked, in parts of a double's last digit. */
#define NEAR			8

typedef struct Buckets
{
	double		low;
	double		high;
	int			n;
	bool		older;			/* PostgreSQL 15 */
} Buckets;

/* The number of a bucket as it is computed here. */
static int
number_of(const Buckets *b, double x)
{
	bool		up = b->low < b->high;
	double		part;
	int			result;

	if (up ? x < b->low : x > b->low)
		return 0;
	if (up ? x >= b->high : x <= b->high)
		return b->n + 1;
	part = up ? x - b->low : b->low - x;
	if (b->older)
		return (int) (b->n * part / fabs(b->high - b->low) + 1);
	result = (int) (b->n * (part / fabs(b->high - b->low)));
	return Min(result, b->n - 1) + 1;
}

/* Does PostgreSQL agree, near where two buckets meet? */
static bool
is_agreed(const Buckets *b)
{
	double		width = b->high - b->low;

	for (int i = 0; i <= b->n; i++)
	{
		for (int off = -NEAR; off <= NEAR; off++)
		{
			double		x = b->low + width * i / b->n + ldexp(width, -54) * off;

			if (DatumGetInt32(DirectFunctionCall4(width_bucket_float8, Float8GetDatum(x), Float8GetDatum(b->low),
												  Float8GetDatum(b->high), Int32GetDatum(b->n))) != number_of(b, x))
				return false;
		}
	}
	return true;
}

static bool
get_constant(Node *node, Oid type, Datum *value)
{
	if (!IsA(node, Const) || ((Const *) node)->constisnull || ((Const *) node)->consttype != type)
		return false;
	*value = ((Const *) node)->constvalue;
	return true;
}

static bool
find_buckets(List *args, Buckets *b)
{
	Datum		low;
	Datum		high;
	Datum		n;
	double		width;

	if (!get_constant(lsecond(args), FLOAT8OID, &low) || !get_constant(lthird(args), FLOAT8OID, &high) ||
		!get_constant(lfourth(args), INT4OID, &n))
		return false;
	*b = (Buckets) {DatumGetFloat8(low), DatumGetFloat8(high), DatumGetInt32(n), false};
	width = fabs(b->high - b->low);
	if (b->n <= 0 || b->n > MOST_BUCKETS || !(width >= LEAST_WIDTH && width <= MOST_WIDTH))
		return false;
	if (is_agreed(b))
		return true;
	b->older = true;
	return is_agreed(b);
}

static uint16
real_const(GpucolLower *l, double x)
{
	GpucolValue v;

	gpucol_lower_load(l, FLOAT8OID, Float8GetDatum(x), false, true, &v);
	return v.reg;
}

static uint16
choose_real(GpucolLower *l, uint16 condition, uint16 a, uint16 b)
{
	return gpucol_lower_emit(l, GPUCOL_OP_CASE_F, condition, a, b, 0);
}

/* The number of the bucket at a distance from the first one's bound. */
static uint16
lower_number(GpucolLower *l, const Buckets *b, uint16 distance)
{
	uint16		n = real_const(l, b->n);
	uint16		width = real_const(l, fabs(b->high - b->low));
	uint16		most = gpucol_calendar_number(l, b->n - 1);
	uint16		part;

	if (b->older)
	{
		part = gpucol_calendar_op(l, GPUCOL_OP_DIV_F, gpucol_calendar_op(l, GPUCOL_OP_MUL_F, n, distance), width);
		part = gpucol_calendar_op(l, GPUCOL_OP_ADD_F, part, real_const(l, 1));
	}
	else
		part = gpucol_calendar_op(l, GPUCOL_OP_MUL_F, n, gpucol_calendar_op(l, GPUCOL_OP_DIV_F, distance, width));
	part = gpucol_lower_emit(l, GPUCOL_OP_MATH_F, part, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_MATH_TRUNC);
	part = gpucol_lower_emit(l, GPUCOL_OP_F_TO_I, part, GPUCOL_NO_REG, GPUCOL_NO_REG, 4);
	if (b->older)
		return part;
	part = gpucol_calendar_choose(l, gpucol_calendar_op(l, GPUCOL_OP_LT_I, most, part), most, part);
	return gpucol_calendar_add(l, part, 1);
}

bool
gpucol_lower_bucket(GpucolLower *l, List *args, GpucolValue *out)
{
	Buckets		b;
	GpucolValue x;
	bool		up;
	uint16		low;
	uint16		high;
	uint16		below;
	uint16		above;
	uint16		real;
	uint16		reg;

	if (!l->aggregating || !find_buckets(args, &b))
		return gpucol_lower_decline(l, "width_bucket of other bounds, or outside of an aggregation");
	if (!gpucol_lower_expr(l, linitial(args), &x))
		return false;
	if (x.cls != GPUCOL_CLASS_F)
		return gpucol_lower_decline(l, "its argument has no fixed-width form");
	up = b.low < b.high;
	low = real_const(l, b.low);
	high = real_const(l, b.high);
	below = up ? gpucol_calendar_op(l, GPUCOL_OP_LT_F, x.reg, low) : gpucol_calendar_op(l, GPUCOL_OP_LT_F, low, x.reg);
	above = up ? gpucol_calendar_op(l, GPUCOL_OP_LE_F, high, x.reg) :
		gpucol_calendar_op(l, GPUCOL_OP_LE_F, x.reg, high);
	/* what lies outside has no distance, lest it overflow */
	real = choose_real(l, gpucol_calendar_op(l, GPUCOL_OP_OR, below, above), low, x.reg);
	real = up ? gpucol_calendar_op(l, GPUCOL_OP_SUB_F, real, low) : gpucol_calendar_op(l, GPUCOL_OP_SUB_F, low, real);
	real = choose_real(l, gpucol_calendar_op(l, GPUCOL_OP_LT_F, real, real_const(l, NO_DISTANCE)),
					   real_const(l, 0), real);
	reg = lower_number(l, &b, real);
	reg = gpucol_calendar_choose(l, above, gpucol_calendar_number(l, b.n + 1), reg);
	reg = gpucol_calendar_choose(l, below, gpucol_calendar_number(l, 0), reg);
	/* NaN is greater than infinity */
	reg = gpucol_calendar_refuse(l, gpucol_calendar_op(l, GPUCOL_OP_LT_F, real_const(l, INFINITY), x.reg), reg);
	memset(out, 0, sizeof(*out));
	out->cls = GPUCOL_CLASS_I;
	out->reg = reg;
	out->scale_reg = GPUCOL_NO_REG;
	return true;
}
