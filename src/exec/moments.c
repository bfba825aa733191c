/*-------------------------------------------------------------------------
 *
 * moments.c
 *	  Averages and variances of exact sums, as PostgreSQL's numeric shows them.
 *
 * An average is sum / n, a variance is (n * squares - sum * sum) / (n * (n - 1)), each
 * divided to the scale that numeric's division chooses; a root is rounded to the scale of
 * its variance (numeric.c).  Integers of 128 bits do that where they can, numeric's own
 * functions else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "columnar/typemap.h"
#include "exec/moments.h"
#include "lower/lower.h"

/* Of numeric: its digits are of this base, and a quotient has so many significant decimal ones. */
#define NUMERIC_BASE_DIGITS	4
#define NUMERIC_SIGNIFICANT_DIGITS	16

/* Digits by which a root is computed beyond the wanted scale. */
#define ROOT_GUARD_DIGITS	30

/* Roots below are found by integers. */
#define LARGEST_ROOT	((unsigned __int128) 1 << 100)

/*
 * The weight of the first base-10000 digit of mantissa / 10^scale, and that digit; both are 0 of 0.  The mantissa
 * has less than GPUCOL_INT128_DIGITS digits.
 */
static int
first_digit(__int128 mantissa, int scale, int *digit)
{
	__int128	limit = 1;
	int			ndigits = 0;
	int			exponent;		/* of the first decimal digit */
	int			weight;
	int			behind;			/* decimal digits behind those of the first one */

	for (; mantissa >= limit; limit *= 10)
		ndigits++;
	exponent = ndigits == 0 ? 0 : ndigits - 1 - scale;
	weight = exponent >= 0 ? exponent / NUMERIC_BASE_DIGITS :
		-((NUMERIC_BASE_DIGITS - 1 - exponent) / NUMERIC_BASE_DIGITS);
	behind = ndigits - 1 - (exponent - weight * NUMERIC_BASE_DIGITS);
	*digit = (int) (behind >= 0 ? mantissa / gpucol_lower_power10(behind) : mantissa * gpucol_lower_power10(-behind));
	return weight;
}

/* The scale is the one that select_div_scale (numeric.c) chooses. */
bool
gpucol_divide_sum(__int128 sum, int scale, int64 count, __int128 *mantissa, int *result_scale)
{
	__int128	rest = sum < 0 ? -sum : sum;
	int			digit;
	int			count_digit;
	int			weight;

	if (rest < 0 || rest >= gpucol_lower_power10(GPUCOL_INT128_DIGITS - 1))
		return false;
	weight = first_digit(rest, scale, &digit) - first_digit(count, 0, &count_digit);
	weight -= digit <= count_digit;
	*result_scale = Max(NUMERIC_SIGNIFICANT_DIGITS - weight * NUMERIC_BASE_DIGITS, scale);
	*result_scale = Max(*result_scale, 0);
	if (*result_scale > NUMERIC_MAX_DISPLAY_SCALE || *result_scale - scale > GPUCOL_INT128_DIGITS - 1 ||
		__builtin_mul_overflow(rest, 2 * gpucol_lower_power10(*result_scale - scale), &rest))
		return false;
	rest = (rest / count + 1) / 2;
	*mantissa = sum < 0 ? -rest : rest;
	return true;
}

Datum
gpucol_average_datum(__int128 sum, int scale, int64 count)
{
	__int128	mantissa;
	int			result_scale;

	if (gpucol_divide_sum(sum, scale, count, &mantissa, &result_scale))
		return gpucol_typemap_numeric(mantissa, result_scale);
	return DirectFunctionCall2(numeric_div, gpucol_typemap_numeric(sum, scale),
							   NumericGetDatum(int64_to_numeric(count)));
}

/* The scale at which a numeric is displayed. */
static int
display_scale(Datum value)
{
	return DatumGetInt32(DirectFunctionCall1(numeric_scale, value));
}

/* The root of a variance, rounded to the variance's own scale. */
static Datum
root_numeric(Datum variance)
{
	int			scale = display_scale(variance);
	Datum		precise = DirectFunctionCall2(numeric_round, variance, Int32GetDatum(scale + ROOT_GUARD_DIGITS));

	return DirectFunctionCall2(numeric_round, DirectFunctionCall1(numeric_sqrt, precise), Int32GetDatum(scale));
}

/* A number of 256 bits that is not negative. */
typedef struct Wide
{
	unsigned __int128 high;
	unsigned __int128 low;
} Wide;

static Wide
multiply(unsigned __int128 a, unsigned __int128 b)
{
	unsigned __int128 ll = (unsigned __int128) (uint64) a * (uint64) b;
	unsigned __int128 lh = (unsigned __int128) (uint64) a * (uint64) (b >> 64);
	unsigned __int128 hl = (unsigned __int128) (uint64) (a >> 64) * (uint64) b;
	unsigned __int128 hh = (unsigned __int128) (uint64) (a >> 64) * (uint64) (b >> 64);
	unsigned __int128 middle = (ll >> 64) + (uint64) lh + (uint64) hl;

	return (Wide) {.high = hh + (lh >> 64) + (hl >> 64) + (middle >> 64),.low = middle << 64 | (uint64) ll};
}

/* a - b, modulo 2^256 */
static Wide
subtract(Wide a, Wide b)
{
	return (Wide) {.high = a.high - b.high - (a.low < b.low),.low = a.low - b.low};
}

static inline bool
is_negative(Wide a)
{
	return (__int128) a.high < 0;
}

/*
 * The root of value / 10^scale in units of 10^-scale, rounded half up: that of value * 10^scale.  False where it is
 * too large.  The first guess has 62 bits that are right, Newton's step from there makes it all of them but for the
 * last.
 */
static bool
root_mantissa(__int128 value, int scale, __int128 *mantissa)
{
	unsigned __int128 root;
	long double guess;
	Wide		square;
	Wide		rest;

	if (scale >= GPUCOL_INT128_DIGITS)
		return false;
	guess = sqrtl((long double) value) * sqrtl((long double) gpucol_lower_power10(scale));
	if (guess >= (long double) LARGEST_ROOT)
		return false;
	if (guess < 1)
		guess = 1;
	square = multiply((unsigned __int128) value, (unsigned __int128) gpucol_lower_power10(scale));
	root = (unsigned __int128) guess;
	rest = subtract(square, multiply(root, root));
	root += (__int128) (((long double) (__int128) rest.high * 0x1p128L + (long double) rest.low) / (2 * guess));
	while (is_negative(rest = subtract(square, multiply(root, root))))
		root--;
	while (rest.high > 0 || rest.low > 2 * root)
	{
		root++;
		rest = subtract(square, multiply(root, root));
	}
	*mantissa = (__int128) (root + (rest.low > root));
	return true;
}

/* A variance or its root as the mantissa of a numeric, if it is one that is found quickly. */
static bool
variance_mantissa(const GpucolMoments *m, __int128 *mantissa, int *scale)
{
	__int128	sum = m->sum;
	__int128	squares;
	int64		pairs;

	if (m->beyond > 0 || __builtin_mul_overflow(m->squares, (__int128) m->count, &squares) ||
		__builtin_mul_overflow(sum, sum, &sum) ||
		__builtin_mul_overflow(m->count, m->count - (m->sample ? 1 : 0), &pairs))
		return false;
	if (squares <= sum)
	{
		*mantissa = *scale = 0;
		return true;
	}
	return gpucol_divide_sum(squares - sum, 2 * m->scale, pairs, mantissa, scale) &&
		(!m->root || root_mantissa(*mantissa, *scale, mantissa));
}

/* The same by numeric's functions. */
static Datum
variance_by_functions(const GpucolMoments *m)
{
	Datum		n = NumericGetDatum(int64_to_numeric(m->count));
	Datum		divisor = NumericGetDatum(int64_to_numeric(m->count - (m->sample ? 1 : 0)));
	Datum		sum = gpucol_typemap_numeric(m->sum, m->scale);
	Datum		squares = gpucol_typemap_numeric(m->squares, 2 * m->scale);
	Datum		numerator;
	Datum		zero = NumericGetDatum(int64_to_numeric(0));

	if (m->beyond > 0)
	{
		sum = DirectFunctionCall2(numeric_round, sum, Int32GetDatum(m->scale + m->beyond));
		squares = DirectFunctionCall2(numeric_round, squares, Int32GetDatum(2 * (m->scale + m->beyond)));
	}
	numerator = DirectFunctionCall2(numeric_sub, DirectFunctionCall2(numeric_mul, n, squares),
									DirectFunctionCall2(numeric_mul, sum, sum));
	if (DatumGetBool(DirectFunctionCall2(numeric_le, numerator, zero)))
		return zero;
	numerator = DirectFunctionCall2(numeric_div, numerator, DirectFunctionCall2(numeric_mul, n, divisor));
	return m->root ? root_numeric(numerator) : numerator;
}

Datum
gpucol_variance_datum(const GpucolMoments *moments)
{
	__int128	mantissa;
	int			scale;

	return variance_mantissa(moments, &mantissa, &scale) ? gpucol_typemap_numeric(mantissa, scale) :
		variance_by_functions(moments);
}
