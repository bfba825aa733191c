/*-------------------------------------------------------------------------
 *
 * packed_decimal.h
 *	  Decimals that carry their own display scale: what numeric's division gives, and
 *	  numerics whose type says nothing of digits.
 *
 * The scale of a quotient depends on the first digits of its operands, so that it differs
 * from row to row.  A packed decimal is a mantissa and, in the lowest eight bits, its
 * scale, in one int128.  Results are PostgreSQL's, scale and rounding included; what needs
 * more than 35 digits or a scale above 255 is UNSUPPORTED.
 *
 * Freestanding C, for the host.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_PACKED_DECIMAL_H
#define GPUCOL_KERNEL_PACKED_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel/status.h"

typedef unsigned __int128 GpucolMagnitude;

#define GPUCOL_PACKED_DIGITS	35	/* of any mantissa */
#define GPUCOL_PACKED_SCALE		255

/* Fractional digits of the two parts in which packed decimals are summed. */
#define GPUCOL_PACKED_HIGH		16
#define GPUCOL_PACKED_LOW		44

/* Of two packed decimals. */
typedef enum GpucolPackedFunction
{
	GPUCOL_PACKED_ADD,
	GPUCOL_PACKED_SUB,
	GPUCOL_PACKED_MUL,
	GPUCOL_PACKED_DIV,
	GPUCOL_PACKED_MOD,
	GPUCOL_PACKED_QUOTIENT		/* div() */
} GpucolPackedFunction;

/* Comparisons of two. */
typedef enum GpucolPackedComparison
{
	GPUCOL_PACKED_EQ,
	GPUCOL_PACKED_NE,
	GPUCOL_PACKED_LT,
	GPUCOL_PACKED_LE
} GpucolPackedComparison;

/* Of one; the last two give plain mantissas. */
typedef enum GpucolPackedPart
{
	GPUCOL_PACKED_NEG,
	GPUCOL_PACKED_ABS,
	GPUCOL_PACKED_SUM_HIGH,		/* cut to GPUCOL_PACKED_HIGH digits */
	GPUCOL_PACKED_SUM_LOW		/* what was cut, at GPUCOL_PACKED_LOW digits */
} GpucolPackedPart;

/*
 * Beside the scale of NUMERIC_D: each value must have a mantissa of 18 digits at most; and must display just so many
 * digits behind the point.
 */
#define GPUCOL_NUMERIC_EXACTLY	(1 << 8)
#define GPUCOL_NUMERIC_SHOWN_SO	(1 << 9)
#define GPUCOL_NUMERIC_AUX_SCALE(aux)	((aux) & 255)
#define GPUCOL_NUMERIC_MANTISSAS	INT64_C(1000000000000000000)	/* beyond those */

/* How digits are dropped. */
typedef enum GpucolPackedRounding
{
	GPUCOL_PACKED_HALF,			/* to the nearest, halves away from zero */
	GPUCOL_PACKED_ZERO,
	GPUCOL_PACKED_DOWN,
	GPUCOL_PACKED_UP,
	GPUCOL_PACKED_SIGN			/* -1, 0 or 1 */
} GpucolPackedRounding;

/* Rounding and the number of digits kept, which may be negative, in one number. */
#define GPUCOL_PACKED_ROUND(scale, rounding)	((((scale) + 64) << 3) | (int) (rounding))
#define GPUCOL_PACKED_ROUND_SCALE(aux)		((int) ((aux) >> 3) - 64)
#define GPUCOL_PACKED_ROUND_HOW(aux)		((GpucolPackedRounding) ((aux) & 7))
#define GPUCOL_PACKED_ROUND_MOST			38

static inline __int128
gpucol_packed_mantissa(__int128 x)
{
	return x >> 8;
}

static inline int
gpucol_packed_scale(__int128 x)
{
	return (int) (x & 255);
}

static inline GpucolMagnitude
gpucol_magnitude(__int128 x)
{
	return x < 0 ? 0 - (GpucolMagnitude) x : (GpucolMagnitude) x;
}

/* 10^n; n is 0 to 38 */
static inline GpucolMagnitude
gpucol_power10(int n)
{
	static const uint64_t powers[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
		UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000),
		UINT64_C(10000000000000), UINT64_C(100000000000000), UINT64_C(1000000000000000),
		UINT64_C(10000000000000000), UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
		UINT64_C(10000000000000000000)
	};

	return n < 20 ? powers[n] : (GpucolMagnitude) powers[19] * powers[n - 19];
}

/* The number of decimal digits; of 0, none. */
static inline int
gpucol_count_digits(GpucolMagnitude x)
{
	uint64_t	high = (uint64_t) (x >> 64);
	int			bits = high != 0 ? 128 - __builtin_clzll(high) :
		(uint64_t) x != 0 ? 64 - __builtin_clzll((uint64_t) x) : 0;
	int			digits = (bits * 1233) >> 12;

	return digits + (x >= gpucol_power10(digits));
}

static inline GpucolStatus
gpucol_packed_make(__int128 mantissa, int scale, __int128 *r)
{
	if (scale > GPUCOL_PACKED_SCALE ||
		(mantissa != (int64_t) mantissa && gpucol_magnitude(mantissa) >= gpucol_power10(GPUCOL_PACKED_DIGITS)))
		return GPUCOL_UNSUPPORTED;
	*r = (__int128) ((GpucolMagnitude) mantissa << 8 | (GpucolMagnitude) scale);
	return GPUCOL_OK;
}

/* mantissa * 10^by */
static inline GpucolStatus
gpucol_shift_digits(__int128 mantissa, int by, __int128 *r)
{
	*r = mantissa;
	if (by == 0 || mantissa == 0)
		return GPUCOL_OK;
	/* one multiplication of two words, as nearly always */
	if (by <= 18 && mantissa == (int64_t) mantissa)
	{
		*r = (__int128) (int64_t) mantissa * (int64_t) gpucol_power10(by);
		return GPUCOL_OK;
	}
	if (by > 37 || __builtin_mul_overflow(mantissa, (__int128) gpucol_power10(by), r))
		return GPUCOL_UNSUPPORTED;
	return GPUCOL_OK;
}

/* Without zeros behind the point that are the last digits; equal decimals are the same then. */
static inline __int128
gpucol_packed_trim(__int128 x)
{
	__int128	mantissa = gpucol_packed_mantissa(x);
	int			scale = gpucol_packed_scale(x);

	if (mantissa == 0)
		return 0;
	for (; scale > 0 && mantissa != (int64_t) mantissa && mantissa % 10 == 0; scale--)
		mantissa /= 10;
	if (mantissa == (int64_t) mantissa)
	{
		int64_t		word = (int64_t) mantissa;

		for (; scale >= 8 && word % 100000000 == 0; scale -= 8)
			word /= 100000000;
		for (; scale >= 2 && word % 100 == 0; scale -= 2)
			word /= 100;
		if (scale >= 1 && word % 10 == 0)
		{
			word /= 10;
			scale--;
		}
		mantissa = word;
	}
	return (__int128) ((GpucolMagnitude) mantissa << 8 | (GpucolMagnitude) scale);
}

/* A mantissa at `scale`, whose display scale is `shown`; what is not shown is zeros. */
static inline GpucolStatus
gpucol_packed_pack(int scale, __int128 mantissa, int64_t shown, __int128 *r)
{
	int			drop = scale - (int) shown;

	if (shown < 0 || drop < 0)
		return GPUCOL_UNSUPPORTED;
	if (drop <= 18 && mantissa == (int64_t) mantissa)
		return gpucol_packed_make((int64_t) mantissa / (int64_t) gpucol_power10(drop), (int) shown, r);
	return gpucol_packed_make(drop > 38 ? 0 : mantissa / (__int128) gpucol_power10(drop), (int) shown, r);
}

/* The head of a numeric in PostgreSQL's format, and where its digits to base 10000 begin. */
typedef struct GpucolNumericHead
{
	bool		negative;
	int			scale;
	int			weight;
	size_t		digits;
} GpucolNumericHead;

/* False for NaN and infinities. */
static inline bool
gpucol_numeric_head(const char *data, size_t len, GpucolNumericHead *head)
{
	uint16_t	word = 0;
	int16_t		weight = 0;

	if (len < sizeof(word))
		return false;
	memcpy(&word, data, sizeof(word));
	switch (word & 0xc000)
	{
		case 0xc000:
			return false;
		case 0x8000:
			head->negative = (word & 0x2000) != 0;
			head->scale = (word & 0x1f80) >> 7;
			head->weight = (word & 0x3f) - (word & 0x40);
			head->digits = 2;
			return true;
		default:
			if (len < 4)
				return false;
			memcpy(&weight, data + 2, sizeof(weight));
			head->negative = (word & 0xc000) == 0x4000;
			head->scale = word & 0x3fff;
			head->weight = weight;
			head->digits = 4;
			return true;
	}
}

/* A number without its last digits, of which there are 1 to 4. */
static inline int64_t
gpucol_drop_last(int64_t x, int n)
{
	switch (n)
	{
		case 1:
			return x / 10;
		case 2:
			return x / 100;
		case 3:
			return x / 1000;
		default:
			return x / 10000;
	}
}

/*
 * A numeric's digits as a mantissa, of which `more` are to be appended or, if negative, dropped;
 * they are so few that one word holds them before.
 */
static inline GpucolStatus
gpucol_packed_short(const char *digits, int n, int more, __int128 *mantissa)
{
	int64_t		value = 0;

	for (int i = 0; i < n; i++)
	{
		int16_t		digit;

		memcpy(&digit, digits + 2 * (size_t) i, sizeof(digit));
		value = value * 10000 + digit;
	}
	if (more < 0)
		value = gpucol_drop_last(value, more > -4 ? -more : 4);
	return gpucol_shift_digits(value, more > 0 ? more : 0, mantissa);
}

/* A numeric in PostgreSQL's format, without the head of a varlena. */
static inline GpucolStatus
gpucol_packed_read(const char *data, size_t len, __int128 *r)
{
	GpucolNumericHead head;
	__int128	mantissa = 0;
	int			n;
	int			more;			/* digits to append, or, if negative, to drop of the last */

	if (!gpucol_numeric_head(data, len, &head))
		return GPUCOL_UNSUPPORTED;
	n = (int) ((len - head.digits) / 2);
	more = 4 * (head.weight - n + 1) + head.scale;
	if (n <= 4)
	{
		if (gpucol_packed_short(data + head.digits, n, more, &mantissa) != GPUCOL_OK)
			return GPUCOL_UNSUPPORTED;
		return gpucol_packed_make(head.negative ? -mantissa : mantissa, head.scale, r);
	}
	for (int i = 0; i < n; i++)
	{
		int16_t		digit;
		int			drop = i == n - 1 && more < 0 ? (more > -4 ? -more : 4) : 0;

		memcpy(&digit, data + head.digits + 2 * (size_t) i, sizeof(digit));
		if (__builtin_mul_overflow(mantissa, (__int128) gpucol_power10(4 - drop), &mantissa) ||
			__builtin_add_overflow(mantissa, (__int128) (digit / (int) gpucol_power10(drop)), &mantissa))
			return GPUCOL_UNSUPPORTED;
	}
	if (more > 0 && gpucol_shift_digits(mantissa, more, &mantissa) != GPUCOL_OK)
		return GPUCOL_UNSUPPORTED;
	return gpucol_packed_make(head.negative ? -mantissa : mantissa, head.scale, r);
}

/* Both mantissas at the greater of two scales. */
static inline GpucolStatus
gpucol_packed_align(__int128 x, __int128 y, __int128 *a, __int128 *b, int *scale)
{
	int			xs = gpucol_packed_scale(x);
	int			ys = gpucol_packed_scale(y);
	GpucolStatus status;

	*scale = xs > ys ? xs : ys;
	status = gpucol_shift_digits(gpucol_packed_mantissa(x), *scale - xs, a);
	return status != GPUCOL_OK ? status : gpucol_shift_digits(gpucol_packed_mantissa(y), *scale - ys, b);
}

/* Weight, in digits of base 10000, and value of the first digit that is not 0; of 0, 0 and 0. */
static inline void
gpucol_packed_lead(GpucolMagnitude mantissa, int scale, int *weight, int *first)
{
	int			exponent = gpucol_count_digits(mantissa) - 1 - scale;
	int			below;

	*weight = *first = 0;
	if (mantissa == 0)
		return;
	*weight = exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
	below = scale + 4 * *weight;
	if (mantissa >> 64 == 0 && below >= 0 && below < 20)
		*first = (int) ((uint64_t) mantissa / (uint64_t) gpucol_power10(below));
	else
		*first = (int) (below >= 0 ? mantissa / gpucol_power10(below) : mantissa * gpucol_power10(-below));
}

/* The display scale of a quotient: PostgreSQL's select_div_scale. */
static inline int
gpucol_packed_quotient_scale(GpucolMagnitude x, int xs, GpucolMagnitude y, int ys)
{
	int			xweight;
	int			yweight;
	int			xfirst;
	int			yfirst;
	int			scale;

	gpucol_packed_lead(x, xs, &xweight, &xfirst);
	gpucol_packed_lead(y, ys, &yweight, &yfirst);
	scale = 16 - 4 * (xweight - yweight - (xfirst <= yfirst));
	scale = scale > xs ? scale : xs;
	scale = scale > ys ? scale : ys;
	return scale > 0 ? scale : 0;
}

/* A number of two words by one that exceeds the higher; *rest is what is left. */
static inline uint64_t
gpucol_two_words_division(GpucolMagnitude x, uint64_t y, uint64_t *rest)
{
	uint64_t	quotient;

#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("divq %4" : "=a"(quotient), "=d"(*rest) : "0"((uint64_t) x), "1"((uint64_t) (x >> 64)), "r"(y) : "cc");
#else
	quotient = (uint64_t) (x / y);
	*rest = (uint64_t) (x - (GpucolMagnitude) quotient * y);
#endif
	return quotient;
}

/* x * 10^more / y, rounded, of words, y not 0, and 0 to 38 digits: at most two divisions of two words. */
static inline GpucolStatus
gpucol_word_division(uint64_t x, uint64_t y, int more, GpucolMagnitude *r)
{
	GpucolMagnitude quotient = x / y;
	uint64_t	rest = x % y;

	for (int step; more > 0; more -= step)
	{
		uint64_t	power;

		step = more < 19 ? more : 19;
		power = (uint64_t) gpucol_power10(step);
		if (__builtin_mul_overflow(quotient, (GpucolMagnitude) power, &quotient) ||
			__builtin_add_overflow(quotient, gpucol_two_words_division((GpucolMagnitude) rest * power, y, &rest),
								   &quotient))
			return GPUCOL_UNSUPPORTED;
	}
	*r = quotient + (rest >= y - rest);
	return *r >= gpucol_power10(GPUCOL_PACKED_DIGITS) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

/* The same of any; y is not 0 and has fewer than 37 digits */
static inline GpucolStatus
gpucol_long_division(GpucolMagnitude x, GpucolMagnitude y, int more, GpucolMagnitude *r)
{
	int			most = 38 - gpucol_count_digits(y);
	GpucolMagnitude quotient = x / y;
	GpucolMagnitude rest = x - quotient * y;

	while (more > 0)
	{
		int			step = more < most ? more : most;
		GpucolMagnitude power = gpucol_power10(step);
		GpucolMagnitude next;

		rest *= power;
		next = rest / y;
		rest -= next * y;
		if (__builtin_mul_overflow(quotient, power, &quotient) ||
			__builtin_add_overflow(quotient, next, &quotient))
			return GPUCOL_UNSUPPORTED;
		more -= step;
	}
	*r = quotient + (rest >= y - rest);
	return *r >= gpucol_power10(GPUCOL_PACKED_DIGITS) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

/* The quotient of magnitudes, of which the first gets `more` digits, as a number that displays `scale` of them. */
static inline __attribute__((always_inline)) GpucolStatus
gpucol_packed_quotient(GpucolMagnitude a, GpucolMagnitude b, int more, int scale, bool negative, __int128 *r)
{
	GpucolMagnitude quotient;
	GpucolStatus status = (a | b) >> 64 == 0 && more >= 0 && more <= 38 ?
		gpucol_word_division((uint64_t) a, (uint64_t) b, more, &quotient) :
		gpucol_long_division(a, b, more, &quotient);

	if (status != GPUCOL_OK)
		return status;
	return gpucol_packed_make(negative ? -(__int128) quotient : (__int128) quotient, scale, r);
}

static inline GpucolStatus
gpucol_packed_divide(__int128 x, __int128 y, __int128 *r)
{
	__int128	xm = gpucol_packed_mantissa(x);
	__int128	ym = gpucol_packed_mantissa(y);
	int			xs = gpucol_packed_scale(x);
	int			ys = gpucol_packed_scale(y);
	GpucolMagnitude a = gpucol_magnitude(xm);
	GpucolMagnitude b = gpucol_magnitude(ym);
	int			scale;

	if (b == 0)
		return GPUCOL_DIVISION_BY_ZERO;
	scale = gpucol_packed_quotient_scale(a, xs, b, ys);
	return gpucol_packed_quotient(a, b, scale + ys - xs, scale, (xm < 0) != (ym < 0), r);
}

#define GPUCOL_WORD_DIGITS	20		/* of a word, at most */

/* Of words of so many digits: the weight of the first digit to base 10000, and where it is. */
typedef struct GpucolLead
{
	int			weight;
	uint64_t	unit;			/* it is the number by this; or, where this is 0, */
	uint64_t	times;			/* times this */
} GpucolLead;

/* Those of numbers that display `scale` digits, by how many digits they have. */
static inline void
gpucol_packed_leads(int scale, GpucolLead *leads)
{
	leads[0] = (GpucolLead) {0, 0, 0};
	for (int digits = 1; digits <= GPUCOL_WORD_DIGITS; digits++)
	{
		int			exponent = digits - 1 - scale;
		int			weight = exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
		int			below = scale + 4 * weight;

		leads[digits].weight = weight;
		leads[digits].unit = below > 0 ? (uint64_t) gpucol_power10(below) : 0;
		leads[digits].times = below < 0 ? (uint64_t) gpucol_power10(-below) : 1;
	}
}

static inline uint64_t
gpucol_lead_digit(const GpucolLead *lead, uint64_t x)
{
	return lead->unit != 0 ? x / lead->unit : x * lead->times;
}

/* The same quotient of words, by what is known of their scales. */
static inline __attribute__((always_inline)) GpucolStatus
gpucol_packed_divide_words(int64_t x, const GpucolLead *xleads, int xs, int64_t y, const GpucolLead *yleads, int ys,
						   __int128 *r)
{
	uint64_t	a = x < 0 ? 0 - (uint64_t) x : (uint64_t) x;
	uint64_t	b = y < 0 ? 0 - (uint64_t) y : (uint64_t) y;
	const GpucolLead *xlead = &xleads[gpucol_count_digits(a)];
	const GpucolLead *ylead = &yleads[gpucol_count_digits(b)];
	bool		below = gpucol_lead_digit(xlead, a) <= gpucol_lead_digit(ylead, b);
	int			scale;

	if (b == 0)
		return GPUCOL_DIVISION_BY_ZERO;
	scale = 16 - 4 * (xlead->weight - ylead->weight - below);
	scale = scale > xs ? scale : xs;
	scale = scale > ys ? scale : ys;
	scale = scale > 0 ? scale : 0;
	return gpucol_packed_quotient(a, b, scale + ys - xs, scale, (x < 0) != (y < 0), r);
}

/* The remainder, with the sign of x, and the integral quotient. */
static inline GpucolStatus
gpucol_packed_remainder(int function, __int128 x, __int128 y, __int128 *r)
{
	__int128	a = 0;
	__int128	b = 0;
	int			scale;
	GpucolStatus status;

	if (gpucol_packed_mantissa(y) == 0)
		return GPUCOL_DIVISION_BY_ZERO;
	status = gpucol_packed_align(x, y, &a, &b, &scale);
	if (status != GPUCOL_OK)
		return status;
	return function == GPUCOL_PACKED_MOD ? gpucol_packed_make(a % b, scale, r) :
		gpucol_packed_make(a / b, 0, r);
}

/* A function of two packed decimals (GpucolPackedFunction). */
static inline GpucolStatus
gpucol_scalar_ARITH_P(int aux, __int128 x, __int128 y, __int128 *r)
{
	__int128	a = 0;
	__int128	b = 0;
	int			scale;
	GpucolStatus status;

	switch (aux)
	{
		case GPUCOL_PACKED_DIV:
			return gpucol_packed_divide(x, y, r);
		case GPUCOL_PACKED_MOD:
		case GPUCOL_PACKED_QUOTIENT:
			return gpucol_packed_remainder(aux, x, y, r);
		case GPUCOL_PACKED_MUL:
			a = gpucol_packed_mantissa(x);
			b = gpucol_packed_mantissa(y);
			if (a == (int64_t) a && b == (int64_t) b)
				a = (__int128) (int64_t) a * (int64_t) b;
			else if (__builtin_mul_overflow(a, b, &a))
				return GPUCOL_UNSUPPORTED;
			return gpucol_packed_make(a, gpucol_packed_scale(x) + gpucol_packed_scale(y), r);
		default:
			status = gpucol_packed_align(x, y, &a, &b, &scale);
			if (status != GPUCOL_OK)
				return status;
			if (aux == GPUCOL_PACKED_ADD ? __builtin_add_overflow(a, b, &a) : __builtin_sub_overflow(a, b, &a))
				return GPUCOL_UNSUPPORTED;
			return gpucol_packed_make(a, scale, r);
	}
}

/* Mantissas of one word each, x having `by` digits fewer behind the point, 18 at most. */
static inline int
gpucol_words_order(int64_t x, int64_t y, int by)
{
	__int128	a = (__int128) x * (int64_t) gpucol_power10(by);

	return (a > y) - (a < y);
}

/* How x compares with y, whatever digits they display. */
static inline int
gpucol_packed_order(__int128 x, __int128 y)
{
	int			by = gpucol_packed_scale(x) - gpucol_packed_scale(y);
	__int128	a = gpucol_packed_mantissa(by >= 0 ? x : y);	/* the one of more digits */
	__int128	b = gpucol_packed_mantissa(by >= 0 ? y : x);
	int			drop = by < 0 ? -by : by;
	__int128	power;
	__int128	whole;
	__int128	rest;
	int			order;

	if (by == 0)
		return (x > y) - (x < y);
	if (a == (int64_t) a && b == (int64_t) b && drop <= 18)
		order = -gpucol_words_order((int64_t) b, (int64_t) a, drop);
	else
	{
		power = drop > 37 ? 0 : (__int128) gpucol_power10(drop);
		whole = power == 0 ? 0 : a / power;
		rest = power == 0 ? a : a - whole * power;
		order = whole != b ? (whole > b ? 1 : -1) : (rest > 0) - (rest < 0);
	}
	return by < 0 ? -order : order;
}

/* Does x compare with y as `aux` (GpucolPackedComparison) says? */
static inline bool
gpucol_packed_compare(int aux, __int128 x, __int128 y)
{
	int			order = gpucol_packed_order(x, y);

	switch (aux)
	{
		case GPUCOL_PACKED_EQ:
			return order == 0;
		case GPUCOL_PACKED_NE:
			return order != 0;
		case GPUCOL_PACKED_LT:
			return order < 0;
		default:
			return order <= 0;
	}
}

/* The two parts of a sum. */
static inline GpucolStatus
gpucol_packed_sum_part(int aux, __int128 x, __int128 *r)
{
	__int128	mantissa = gpucol_packed_mantissa(x);
	int			drop = gpucol_packed_scale(x) - GPUCOL_PACKED_HIGH;
	int			more = GPUCOL_PACKED_LOW - gpucol_packed_scale(x);
	__int128	power;

	if (drop <= 0)
	{
		*r = 0;
		return aux == GPUCOL_PACKED_SUM_LOW ? GPUCOL_OK : gpucol_shift_digits(mantissa, -drop, r);
	}
	/* one division of two words, as mostly */
	if (drop <= 19 && gpucol_magnitude(mantissa) >> 64 < gpucol_power10(drop))
	{
		uint64_t	part;
		uint64_t	whole = gpucol_two_words_division(gpucol_magnitude(mantissa), (uint64_t) gpucol_power10(drop),
														  &part);

		part = aux == GPUCOL_PACKED_SUM_HIGH ? whole : part;
		*r = mantissa < 0 ? -(__int128) part : (__int128) part;
		if (aux == GPUCOL_PACKED_SUM_HIGH)
			return GPUCOL_OK;
		return more >= 0 ? gpucol_shift_digits(*r, more, r) : *r == 0 ? GPUCOL_OK : GPUCOL_UNSUPPORTED;
	}
	power = drop > 37 ? 0 : (__int128) gpucol_power10(drop);
	if (aux == GPUCOL_PACKED_SUM_HIGH)
	{
		*r = power == 0 ? 0 : mantissa / power;
		return GPUCOL_OK;
	}
	*r = power == 0 ? mantissa : mantissa % power;
	return more >= 0 ? gpucol_shift_digits(*r, more, r) : *r == 0 ? GPUCOL_OK : GPUCOL_UNSUPPORTED;
}

/* GpucolPackedPart */
static inline GpucolStatus
gpucol_scalar_PART_P(int aux, __int128 x, __int128 *r)
{
	__int128	mantissa = gpucol_packed_mantissa(x);

	if (aux == GPUCOL_PACKED_SUM_HIGH || aux == GPUCOL_PACKED_SUM_LOW)
		return gpucol_packed_sum_part(aux, x, r);
	return gpucol_packed_make(aux == GPUCOL_PACKED_NEG || mantissa < 0 ? -mantissa : mantissa,
							  gpucol_packed_scale(x), r);
}

/* A quotient without its `drop` last digits. */
static inline __int128
gpucol_drop_digits(__int128 mantissa, int drop, GpucolPackedRounding how)
{
	__int128	power = drop > 37 ? 0 : (__int128) gpucol_power10(drop);
	__int128	whole = power == 0 ? 0 : mantissa / power;
	__int128	rest = power == 0 ? mantissa : mantissa - whole * power;

	switch (how)
	{
		case GPUCOL_PACKED_HALF:
			if (power != 0 && gpucol_magnitude(rest) >= gpucol_magnitude(power) / 2)
				whole += mantissa < 0 ? -1 : 1;
			return whole;
		case GPUCOL_PACKED_DOWN:
			return whole - (rest < 0);
		case GPUCOL_PACKED_UP:
			return whole + (rest > 0);
		default:
			return whole;
	}
}

/* Rounded to a plain mantissa (GPUCOL_PACKED_ROUND). */
static inline GpucolStatus
gpucol_scalar_ROUND_P(int aux, __int128 x, __int128 *r)
{
	__int128	mantissa = gpucol_packed_mantissa(x);
	int			scale = GPUCOL_PACKED_ROUND_SCALE(aux);
	int			drop = gpucol_packed_scale(x) - scale;

	if (GPUCOL_PACKED_ROUND_HOW(aux) == GPUCOL_PACKED_SIGN)
	{
		*r = (mantissa > 0) - (mantissa < 0);
		return GPUCOL_OK;
	}
	if (drop <= 0)
		return gpucol_shift_digits(mantissa, -drop, r);
	*r = gpucol_drop_digits(mantissa, drop, GPUCOL_PACKED_ROUND_HOW(aux));
	return scale >= 0 ? GPUCOL_OK : gpucol_shift_digits(*r, -scale, r);
}

/* Scales of two mantissas, the scale to which their quotient is rounded, and how, in one number; each is below 64. */
#define GPUCOL_QUOTIENT(xs, ys, scale, how)	((xs) | (ys) << 6 | (scale) << 12 | (int) (how) << 18)
#define GPUCOL_QUOTIENT_XS(aux)			((aux) & 63)
#define GPUCOL_QUOTIENT_YS(aux)			((aux) >> 6 & 63)
#define GPUCOL_QUOTIENT_SCALE(aux)		((aux) >> 12 & 63)
#define GPUCOL_QUOTIENT_HOW(aux)		((GpucolPackedRounding) ((aux) >> 18))

/* The quotient of two plain mantissas, rounded (GPUCOL_QUOTIENT). */
static inline GpucolStatus
gpucol_scalar_QUOTIENT_D(int aux, __int128 x, __int128 y, __int128 *r)
{
	GpucolStatus status = gpucol_packed_make(x, GPUCOL_QUOTIENT_XS(aux), &x);

	if (status == GPUCOL_OK)
		status = gpucol_packed_make(y, GPUCOL_QUOTIENT_YS(aux), &y);
	if (status == GPUCOL_OK)
		status = gpucol_packed_divide(x, y, r);
	return status != GPUCOL_OK ? status :
		gpucol_scalar_ROUND_P(GPUCOL_PACKED_ROUND(GPUCOL_QUOTIENT_SCALE(aux), GPUCOL_QUOTIENT_HOW(aux)), *r, r);
}

/* A plain integral mantissa as an integer of aux bytes. */
static inline GpucolStatus
gpucol_scalar_D_TO_I(int aux, __int128 x, int64_t *r)
{
	*r = (int64_t) x;
	if (x == *r && (aux == 8 || (aux == 4 ? *r == (int32_t) *r : *r == (int16_t) *r)))
		return GPUCOL_OK;
	return aux == 2 ? GPUCOL_INT2_OUT_OF_RANGE : aux == 4 ? GPUCOL_INT4_OUT_OF_RANGE :
		GPUCOL_INT8_OUT_OF_RANGE;
}

#endif							/* GPUCOL_KERNEL_PACKED_DECIMAL_H */
