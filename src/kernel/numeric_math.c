/*-------------------------------------------------------------------------
 *
 * numeric_math.c
 *	  Roots, logarithms and powers of packed decimals with the digits of PostgreSQL's functions.
 *
 * PostgreSQL computes them digit by digit, in microseconds.  Here the value is computed to some
 * 34 digits (kernel/wide.h), roots exactly, and rounded to as many digits as PostgreSQL
 * gives.  Where it lies so near the middle of two results that its error, or PostgreSQL's, could
 * choose the other, PostgreSQL is asked: by the main thread (gpucol_pool_ask).
 *
 * How many digits behind the point PostgreSQL gives depends on those of the arguments and on the
 * powers of ten that arguments and results lie between.  It is learned from a result of
 * PostgreSQL's, once for each case.  Results that PostgreSQL was asked for are kept, too.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/numeric_math.h"

#include <math.h>

#include "base/pool.h"
#include "kernel/wide.h"
#include "kernel/hash.h"

#define CASES		1024		/* learned, */
#define RESULTS		512			/* and kept */
#define MOST_FACTORS	38			/* of an exact power */
#define SCALES		28			/* of arguments, from 0 */
#define LOG10_E		0.43429448190325182765
#define ROOT_BITS	61			/* of a root that 128 bits decide on */

/*
 * How far from a power of ten a logarithm must be, or that to base 10 of a power from an integer, for PostgreSQL's
 * estimate to see it on the same side.  Of a logarithm's argument that estimate has five digits, and is wrong by 1e-4
 * where the logarithm is 0.095 at least (estimate_ln_dweight).
 */
#define LOG_CLEARANCE	0.0012	/* as a share */
#define POWER_CLEARANCE	1e-5	/* the exponent of a power is estimated with eight digits */

/*
 * What PostgreSQL's result is wrong by before it is rounded, at most, in units of its last digit.  It computes with
 * eight digits more: half the last one at each of up to ten roots, doubled at each that follows, and at each of some
 * twenty terms of a series, is 1e-5 at most.  Products drop what lies eight digits behind, 1e4 of it for each of their
 * terms, so that one by a power of two ends wrong by 1e-4, and a square by more.
 */
#define POSTGRES_LOST	0.0005
#define SQUARE_LOST		0.015
#define ROOT_LOST		1e-9	/* exact before they are rounded */

/* Which results have as many digits behind the point: a case. */
typedef struct Case
{
	uint16_t	function;		/* + 1; 0: none */
	int16_t		scale;			/* of the argument */
	int16_t		decade;
	bool		near;			/* the decade is that of the distance from 1; or powers: the exponent is no integer */
	__int128	second;			/* what matters of the other argument */
} Case;

typedef struct Learned
{
	Case		of;
	int			scale;
} Learned;

typedef struct Result
{
	uint64_t	function;		/* + 1; 0: none */
	GpucolStatus status;
	__int128	x;
	__int128	y;
	__int128	r;
} Result;

struct GpucolNumericMath
{
	Learned		cases[CASES];
	Result		results[RESULTS];
	__int128	base;			/* packed, of the last logarithm; and */
	GpucolWide	unit;			/* 1 / ln(base) */
	GpucolWide	powers[GPUCOL_PACKED_SCALE + 1];	/* of ten; bits are 0 where not computed */
	GpucolMagnitude shares[SCALES]; /* 2^(127 + b) / 10^s, 2^b the power of two below 10^s; 0: not computed */
};

const size_t gpucol_numeric_math_size = sizeof(GpucolNumericMath);

/* One call. */
typedef struct Call
{
	GpucolNumericMath *known;
	const GpucolHost *host;
	int			function;
	__int128	x;				/* packed, in the order that PostgreSQL has them */
	__int128	y;
	GpucolStatus status;		/* that PostgreSQL's answer has */
	__int128	r;
} Call;

/* A value to be rounded. */
typedef struct Value
{
	GpucolWide	size;
	bool		negative;
	double		share_lost;		/* by which it may be wrong */
	double		lost;
	double		postgres_lost;
} Value;

/* ---- PostgreSQL's answer ---- */

static void
ask_host(void *arg)
{
	Call	   *c = arg;

	c->status = c->host->numeric(c->host->context, c->function, c->x, c->y, &c->r);
}

/* Have PostgreSQL compute it. */
static GpucolStatus
ask(Call *c, __int128 *r)
{
	uint64_t	hash = gpucol_hash_mix(gpucol_hash_mix((uint64_t) c->x, (uint64_t) (c->x >> 64)),
									   (uint64_t) c->y ^ (uint64_t) c->function);
	Result	   *kept = &c->known->results[hash % RESULTS];

	if (kept->function != (uint64_t) c->function + 1 || kept->x != c->x || kept->y != c->y)
	{
		if (c->host == NULL || c->host->numeric == NULL || !gpucol_pool_ask(ask_host, c))
			return GPUCOL_UNSUPPORTED;
		*kept = (Result) {(uint64_t) c->function + 1, c->status, c->x, c->y, c->r};
	}
	*r = kept->r;
	return kept->status;
}

/* ---- arguments ---- */

/* rest / 10^scale as a fixed number, rest below the power */
static GpucolMagnitude
fraction(GpucolNumericMath *known, GpucolMagnitude rest, int scale)
{
	GpucolMagnitude power = gpucol_power10(scale);
	int			bits = 127 - gpucol_wide_zeros(power);
	GpucolMagnitude r = 0;

	if (bits > 63)
	{
		for (int i = 0; i < GPUCOL_WIDE_BITS; i++)
		{
			rest <<= 1;
			r = r << 1 | (rest >= power);
			rest -= rest >= power ? power : 0;
		}
		return r;
	}
	if (known->shares[scale] == 0)
	{
		/* in two steps of 64 bits; of 10^0 it is 2^127 */
		GpucolMagnitude high = ((GpucolMagnitude) 1 << (63 + bits)) / power;
		GpucolMagnitude left = ((GpucolMagnitude) 1 << (63 + bits)) % power;

		known->shares[scale] = (high << 64) + (left << 64) / power;
	}
	/* the product has 127 + bits behind the point */
	return gpucol_wide_times(known->shares[scale], (uint64_t) rest, bits + 127 - GPUCOL_WIDE_BITS);
}

/* A packed decimal as a fixed number; false where it is too large. */
static bool
to_fixed(GpucolNumericMath *known, __int128 x, __int128 *r)
{
	GpucolMagnitude size = gpucol_magnitude(gpucol_packed_mantissa(x));
	GpucolMagnitude power = gpucol_power10(gpucol_packed_scale(x));
	GpucolMagnitude whole;
	GpucolMagnitude rest;

	if ((size | power) >> 64 == 0)
	{
		whole = (uint64_t) size / (uint64_t) power;
		rest = (uint64_t) size % (uint64_t) power;
	}
	else
	{
		whole = size / power;
		rest = size % power;
	}
	if (whole >= GPUCOL_WIDE_MOST)
		return false;
	*r = (__int128) (whole << GPUCOL_WIDE_BITS) + (__int128) fraction(known, rest, gpucol_packed_scale(x));
	if (x < 0)
		*r = -*r;
	return true;
}

/* ln of a packed decimal above 0 */
static __int128
to_logarithm(__int128 x)
{
	return gpucol_wide_ln((GpucolMagnitude) gpucol_packed_mantissa(x)) -
		(__int128) gpucol_wide_times(GPUCOL_WIDE_LN10, (uint64_t) gpucol_packed_scale(x), 125 - GPUCOL_WIDE_BITS);
}

static double
fixed_double(__int128 x)
{
	return (double) (int64_t) (x >> 64) * 0x1p-54;
}

static Value
from_fixed(__int128 x, double lost)
{
	return (Value) {x == 0 ? (GpucolWide) {0, 0} : gpucol_wide_make(gpucol_magnitude(x), -GPUCOL_WIDE_BITS), x < 0,
		0, lost, POSTGRES_LOST};
}

/* ---- results ---- */

/* The power of ten below a size whose logarithm to base 10 is given; false where it is too near one. */
static bool
find_decade(double logarithm, double clearance, Case *of)
{
	double		floored = floor(logarithm);

	of->decade = (int16_t) floored;
	return logarithm - floored > clearance && logarithm - floored < 1 - clearance;
}

/* The same of the size of a logarithm, 0.09 to 100. */
static bool
find_decade_of(double size, Case *of)
{
	double		above = 0.1;

	for (of->decade = -2; size >= above; of->decade++)
		above *= 10;
	return size > above / 10 * (1 + LOG_CLEARANCE) && size < above * (1 - LOG_CLEARANCE);
}

static GpucolWide
power_of_ten(GpucolNumericMath *known, int scale)
{
	if (known->powers[scale].bits == 0)
		known->powers[scale] = gpucol_wide_power10(scale);
	return known->powers[scale];
}

/* A value at a scale; GPUCOL_UNSUPPORTED: it is not decided how it is rounded. */
static GpucolStatus
round_value(GpucolNumericMath *known, const Value *v, int scale, __int128 *r)
{
	GpucolWide	power = power_of_ten(known, scale);
	GpucolWide	units = gpucol_wide_product(v->size, power);
	GpucolMagnitude whole;
	GpucolMagnitude rest;
	double		lost;
	double		distance;

	if (units.exponent > -10 || units.exponent <= -128)
		return GPUCOL_UNSUPPORTED;
	lost = gpucol_wide_double(units) * (v->share_lost + 0x1p-120) + v->lost * gpucol_wide_double(power);
	whole = units.bits >> -units.exponent;
	rest = units.bits << (128 + units.exponent);
	/* from the middle */
	distance = fabs((double) (uint64_t) (rest >> 64) * 0x1p-64 - 0.5);
	if (distance <= lost + v->postgres_lost)
		return GPUCOL_UNSUPPORTED;
	whole += rest >> 127;
	return gpucol_packed_make(v->negative ? -(__int128) whole : (__int128) whole, scale, r);
}

static uint64_t
hash_case(const Case *of)
{
	uint64_t	hash = gpucol_hash_mix(of->function * 2 + of->near, (uint64_t) of->scale << 32 ^ (uint64_t) of->decade);

	return gpucol_hash_mix(hash, (uint64_t) of->second ^ (uint64_t) (of->second >> 64));
}

static bool
same_case(const Case *a, const Case *b)
{
	return a->function == b->function && a->scale == b->scale && a->decade == b->decade && a->near == b->near &&
		a->second == b->second;
}

/* The digits of a case, learned from this call's result where they are not known: that is *r then, and *done true. */
static GpucolStatus
find_scale(Call *c, const Case *of, int *scale, __int128 *r, bool *done)
{
	Learned    *learned = &c->known->cases[hash_case(of) % CASES];
	GpucolStatus status;

	*done = false;
	if (!same_case(&learned->of, of))
	{
		*done = true;
		status = ask(c, r);
		if (status != GPUCOL_OK)
			return status;
		learned->of = *of;
		learned->scale = gpucol_packed_scale(*r);
	}
	*scale = learned->scale;
	return GPUCOL_OK;
}

/* A value as PostgreSQL rounds it, at a scale. */
static GpucolStatus
settle(Call *c, const Value *v, int scale, __int128 *r)
{
	return v->size.bits != 0 && round_value(c->known, v, scale, r) == GPUCOL_OK ? GPUCOL_OK : ask(c, r);
}

/* The same, at the scale of its case. */
static GpucolStatus
finish(Call *c, const Case *of, const Value *v, __int128 *r)
{
	int			scale;
	bool		done;
	GpucolStatus status = find_scale(c, of, &scale, r, &done);

	return status != GPUCOL_OK || done ? status : settle(c, v, scale, r);
}

/* The case of a call of which the second argument does not matter. */
static Case
begin_case(const Call *c, __int128 x)
{
	return (Case) {.function = (uint16_t) (c->function + 1),.scale = (int16_t) gpucol_packed_scale(x)};
}

/* ---- functions ---- */

/* A root as a number of units that 128 bits decide on: of a number of digits that is not less than the argument's. */
static bool
exact_root(__int128 x, int scale, __int128 *r)
{
	int			more = 2 * scale - gpucol_packed_scale(x);
	GpucolMagnitude square;
	GpucolMagnitude root;

	if (more < 0 || more > 38 ||
		__builtin_mul_overflow((GpucolMagnitude) gpucol_packed_mantissa(x), gpucol_power10(more), &square) ||
		square >> (2 * ROOT_BITS) != 0)
		return false;
	root = (GpucolMagnitude) sqrt((double) square);
	/* a double's root is wrong by 2^-52 of it, the next by some units; (root + 1/2)^2 is no integer */
	root += (GpucolMagnitude) (__int128) ((double) (__int128) (square - root * root) / (2 * (double) root));
	while (root * root + root < square)
		root++;
	while (root * root - root >= square)
		root--;
	return gpucol_packed_make((__int128) root, scale, r) == GPUCOL_OK;
}

static GpucolStatus
root(Call *c, __int128 *r)
{
	Case		of = begin_case(c, c->x);
	Value		v;
	int			scale;
	bool		done;
	GpucolStatus status;

	if (gpucol_packed_mantissa(c->x) == 0)
		return ask(c, r);
	if (c->x < 0)
		return GPUCOL_ROOT_OF_NEGATIVE;
	of.decade = (int16_t) (gpucol_count_digits((GpucolMagnitude) gpucol_packed_mantissa(c->x)) - of.scale);
	status = find_scale(c, &of, &scale, r, &done);
	if (status != GPUCOL_OK || done || exact_root(c->x, scale, r))
		return status;
	v = (Value) {gpucol_wide_exp(to_logarithm(c->x) / 2), false, GPUCOL_WIDE_POWER_LOST + GPUCOL_WIDE_LOG_LOST, 0,
		ROOT_LOST};
	return settle(c, &v, scale, r);
}

static GpucolStatus
exponential(Call *c, __int128 *r)
{
	Case		of = begin_case(c, c->x);
	__int128	x;
	Value		v;

	if (!to_fixed(c->known, c->x, &x) || !find_decade(fixed_double(x) * LOG10_E, POWER_CLEARANCE, &of))
		return ask(c, r);
	v = (Value) {gpucol_wide_exp(x), false, GPUCOL_WIDE_POWER_LOST, 0, POSTGRES_LOST};
	return finish(c, &of, &v, r);
}

/* The case of a logarithm, which is estimated by the distance from 1 where that is small. */
static bool
logarithm_case(__int128 x, double logarithm, Case *of)
{
	double		tenth = logarithm < 0 ? 0.10536051565782630123 : 0.09531017980432486004;
	double		size = fabs(logarithm);
	__int128	distance = gpucol_packed_mantissa(x) - (__int128) gpucol_power10(of->scale);

	if (size > tenth + 1e-9)
		return find_decade_of(size, of);
	if (size > tenth - 1e-9)
		return false;
	of->near = true;
	of->decade = (int16_t) gpucol_count_digits(gpucol_magnitude(distance));
	return true;
}

/* The status of what has no logarithm; GPUCOL_OK if it has one. */
static GpucolStatus
has_logarithm(__int128 x)
{
	__int128	mantissa = gpucol_packed_mantissa(x);

	return mantissa == 0 ? GPUCOL_LOG_OF_ZERO : mantissa < 0 ? GPUCOL_LOG_OF_NEGATIVE : GPUCOL_OK;
}

static GpucolStatus
natural(Call *c, __int128 *r)
{
	Case		of = begin_case(c, c->x);
	GpucolStatus status = has_logarithm(c->x);
	__int128	x;
	Value		v;

	if (status != GPUCOL_OK)
		return status;
	x = to_logarithm(c->x);
	if (!logarithm_case(c->x, fixed_double(x), &of))
		return ask(c, r);
	v = from_fixed(x, GPUCOL_WIDE_LOG_LOST);
	return finish(c, &of, &v, r);
}

/* 1 / x of a wide number */
static GpucolWide
inverse(GpucolWide x)
{
	/* bits of 2^254 / x one by one: x is above 2^127, so it is below 2^128 */
	GpucolMagnitude rest = (GpucolMagnitude) 1 << 127;
	GpucolMagnitude r = 0;

	if (x.bits == rest)
		return (GpucolWide) {rest, -254 - x.exponent};
	for (int i = 0; i < 128; i++)
	{
		bool		carry = rest >> 127 != 0;

		rest <<= 1;
		r <<= 1;
		if (carry || rest >= x.bits)
		{
			rest -= x.bits;
			r |= 1;
		}
	}
	/* 2^127 * 2^128 / bits */
	return gpucol_wide_make(r, -255 - x.exponent);
}

static GpucolStatus
to_base(Call *c, __int128 *r)
{
	GpucolNumericMath *known = c->known;
	Case		of = begin_case(c, c->y);
	__int128	y;
	double		logarithm;
	Value		v;

	/* errors of two arguments are PostgreSQL's to tell apart; so is a base near 1 */
	if (has_logarithm(c->x) != GPUCOL_OK || has_logarithm(c->y) != GPUCOL_OK)
		return GPUCOL_UNSUPPORTED;
	if (known->base != c->x)
	{
		__int128	base = to_logarithm(c->x);

		if (fixed_double(base) < 0.25)
			return ask(c, r);
		known->unit = inverse(gpucol_wide_make((GpucolMagnitude) base, -GPUCOL_WIDE_BITS));
		known->base = c->x;
	}
	of.second = c->x;
	y = to_logarithm(c->y);
	logarithm = fixed_double(y);
	if (y == 0 || !logarithm_case(c->y, logarithm, &of))
		return ask(c, r);
	v = from_fixed(y, 0);
	v.size = gpucol_wide_product(v.size, known->unit);
	v.share_lost = (1 / fabs(logarithm) + gpucol_wide_double(known->unit)) * GPUCOL_WIDE_LOG_LOST + 0x1p-118;
	return finish(c, &of, &v, r);
}

/* Is a packed decimal an integer? */
static bool
is_integer(__int128 x)
{
	int			scale = gpucol_packed_scale(x);

	return scale == 0 || gpucol_packed_mantissa(x) % (__int128) gpucol_power10(scale) == 0;
}

/* A fixed number times a packed decimal of 63 bits; false where the product is too large. */
static bool
times_packed(__int128 x, __int128 y, __int128 *r)
{
	GpucolMagnitude power = gpucol_power10(gpucol_packed_scale(y));
	GpucolMagnitude size = gpucol_magnitude(gpucol_packed_mantissa(y));
	GpucolMagnitude bits = gpucol_magnitude(x);
	GpucolMagnitude high;
	GpucolMagnitude low;
	GpucolMagnitude whole;

	if ((size | power) >> 63 != 0)
		return false;
	/* the product in three words, divided one by one */
	low = (GpucolMagnitude) (uint64_t) bits * (uint64_t) size;
	high = (bits >> 64) * size + (low >> 64);
	whole = power == 1 ? high : high / power;
	if (whole >= (GpucolMagnitude) GPUCOL_WIDE_MOST << (GPUCOL_WIDE_BITS - 64))
		return false;
	low = (high - whole * power) << 64 | (uint64_t) low;
	bits = (whole << 64) + (power == 1 ? low : low / power);
	*r = (x < 0) != (y < 0) ? -(__int128) bits : (__int128) bits;
	return true;
}

/* x to a power that is a small number, where it has as few digits behind the point as the result: it is exact. */
static bool
exact_power(__int128 x, int n, int scale, __int128 *r)
{
	__int128	mantissa = gpucol_packed_mantissa(x);
	__int128	product = mantissa;
	int			more = scale - n * gpucol_packed_scale(x);

	if (more < 0)
		return false;
	for (int i = 1; i < n; i++)
		if (__builtin_mul_overflow(product, mantissa, &product))
			return false;
	return gpucol_shift_digits(product, more, &product) == GPUCOL_OK &&
		gpucol_packed_make(product, scale, r) == GPUCOL_OK;
}

/* x to the power of an integer or another number, x above 0 but for `negative`, by its logarithm. */
static GpucolStatus
inexact_power(Call *c, const Case *of, __int128 x, double exponent, bool negative, __int128 *r)
{
	__int128	logarithm;
	Value		v;

	if (!times_packed(to_logarithm(x), c->y, &logarithm))
		return ask(c, r);
	v = (Value) {gpucol_wide_exp(logarithm), negative, 0, 0, !of->near && exponent == 2 ? SQUARE_LOST : POSTGRES_LOST};
	v.share_lost = GPUCOL_WIDE_POWER_LOST + 0x1p-118 + fabs(exponent) * GPUCOL_WIDE_LOG_LOST;
	return finish(c, of, &v, r);
}

static GpucolStatus
power(Call *c, __int128 *r)
{
	Case		of = begin_case(c, c->x);
	bool		integer = is_integer(c->y);
	bool		negative = c->x < 0;
	__int128	x = gpucol_packed_mantissa(c->x);
	double		exponent = (double) gpucol_packed_mantissa(c->y) / (double) gpucol_power10(gpucol_packed_scale(c->y));
	int			scale;
	bool		done;
	GpucolStatus status;

	if (x == 0 || (negative && !integer) || gpucol_packed_make(negative ? -x : x, of.scale, &x) != GPUCOL_OK)
		return ask(c, r);
	if (exponent != 0 &&
		!find_decade((log10((double) gpucol_packed_mantissa(x)) - of.scale) * exponent, POWER_CLEARANCE, &of))
		return ask(c, r);
	of.second = integer ? c->y : gpucol_packed_scale(c->y);
	of.near = !integer;
	negative &= fmod(exponent, 2) != 0;
	if (integer && exponent > 0 && exponent <= MOST_FACTORS)
	{
		status = find_scale(c, &of, &scale, r, &done);
		if (status != GPUCOL_OK || done || exact_power(c->x, (int) exponent, scale, r))
			return status;
	}
	return inexact_power(c, &of, x, exponent, negative, r);
}

GpucolStatus
gpucol_numeric_math(GpucolNumericMath *known, const GpucolHost *host, int function, __int128 x, __int128 y,
						__int128 *r)
{
	Call		c = {.known = known,.host = host,.function = function,.x = x,.y = y};

	if (gpucol_packed_scale(x) >= SCALES || gpucol_packed_scale(y) >= SCALES)
		return ask(&c, r);
	switch ((GpucolNumericFunction) function)
	{
		case GPUCOL_NUMERIC_SQRT:
			return root(&c, r);
		case GPUCOL_NUMERIC_LN:
			return natural(&c, r);
		case GPUCOL_NUMERIC_EXP:
			return exponential(&c, r);
		case GPUCOL_NUMERIC_LOG:
			return to_base(&c, r);
		case GPUCOL_NUMERIC_POWER:
			return power(&c, r);
		default:
			return GPUCOL_UNSUPPORTED;
	}
}
