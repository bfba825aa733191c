/*-------------------------------------------------------------------------
 *
 * float_decimal.h
 *	  Floats as decimals, as PostgreSQL casts them to numeric.
 *
 * PostgreSQL writes a double with 15 significant digits, a real with 6, and reads them as a
 * numeric; numeric(p, s) rounds that to s digits, numeric does not.  Both roundings are done here on integers:
 * a product or quotient by an exact power of ten is exact together with its error (fma), and
 * so are ties.  Very large and small values are written with printf, as PostgreSQL does it.
 *
 * Freestanding C, for the host.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_FLOAT_DECIMAL_H
#define GPUCOL_KERNEL_FLOAT_DECIMAL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/packed_decimal.h"

/* Scale and precision (0: any) of a numeric, and whether the float is a real, in one number. */
#define GPUCOL_FLOAT_DECIMAL(scale, precision, real)	((scale) | (precision) << 8 | (real) << 16)

/* Doubles have powers of ten up to this one. */
#define GPUCOL_FLOAT_POWERS	22

/* x * 10^k and what it is off by, or, of a quotient, a number of that sign. */
static inline double
gpucol_float_shift(double x, int k, double *off)
{
	static const double powers[GPUCOL_FLOAT_POWERS + 1] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
		1e17, 1e18, 1e19, 1e20, 1e21, 1e22
	};
	double		shifted;

	if (k >= 0)
	{
		shifted = x * powers[k];
		*off = fma(x, powers[k], -shifted);
		return shifted;
	}
	shifted = x / powers[-k];
	*off = fma(-shifted, powers[-k], x);
	return shifted;
}

/* As printf has it: x is about *mantissa / 10^*k. */
static inline void
gpucol_float_print(double x, int digits, int64_t *mantissa, int *k)
{
	char		text[40];
	int64_t		value = 0;
	const char *c = text;

	snprintf(text, sizeof(text), "%.*e", digits - 1, x);
	for (; *c != 'e' && *c != 0; c++)
	{
		if (*c >= '0' && *c <= '9')
			value = value * 10 + (*c - '0');
	}
	*mantissa = value;
	*k = digits - 1 - (*c == 0 ? 0 : atoi(c + 1));
}

/* The first significant digits of a positive number, rounded: x is about *mantissa / 10^*k. */
static inline void
gpucol_float_digits(double x, int digits, int64_t *mantissa, int *k)
{
	double		least = digits == 6 ? 1e5 : 1e14;
	int			exponent;
	double		shifted;
	double		off;
	double		whole;
	uint64_t	bits;

	memcpy(&bits, &x, sizeof(bits));
	exponent = ((int) (bits >> 52) - 1023) * 1233 >> 12;	/* of ten, or one beside */
	*k = digits - 1 - exponent;
	if (*k > GPUCOL_FLOAT_POWERS - 1 || *k < 1 - GPUCOL_FLOAT_POWERS)
	{
		gpucol_float_print(x, digits, mantissa, k);
		return;
	}
	shifted = gpucol_float_shift(x, *k, &off);
	if (shifted > least * 10 || (shifted == least * 10 && off >= 0))
		shifted = gpucol_float_shift(x, --*k, &off);
	else if (shifted < least || (shifted == least && off < 0))
		shifted = gpucol_float_shift(x, ++*k, &off);
	whole = rint(shifted);
	/* half way but for what it is off by */
	if (off != 0 && fabs(shifted - whole) == 0.5)
		whole = off > 0 ? floor(shifted) + 1 : ceil(shifted) - 1;
	*mantissa = (int64_t) whole;
}

/* A float's mantissa at a scale (GPUCOL_FLOAT_DECIMAL). */
static inline GpucolStatus
gpucol_scalar_F_TO_D(int aux, double x, __int128 *r)
{
	int			scale = aux & 255;
	int			precision = aux >> 8 & 255;
	int64_t		mantissa;
	int			k;

	*r = 0;
	if (x == 0)
		return GPUCOL_OK;
	if (!isfinite(x))
		return GPUCOL_UNSUPPORTED;
	gpucol_float_digits(fabs(x), aux >> 16 != 0 ? 6 : 15, &mantissa, &k);
	if (k > scale)
	{
		int64_t		power = k - scale > 18 ? INT64_MAX : (int64_t) gpucol_power10(k - scale);

		*r = ((__int128) mantissa + power / 2) / power;
	}
	else if (scale - k > 22)
		return GPUCOL_UNSUPPORTED;
	else
		*r = (__int128) mantissa * (__int128) gpucol_power10(scale - k);
	if (precision != 0 && *r >= (__int128) gpucol_power10(precision))
		return GPUCOL_UNSUPPORTED;
	if (x < 0)
		*r = -*r;
	return GPUCOL_OK;
}

/* A float as a packed decimal: without zeros at the end, as printf's %g has none. */
static inline GpucolStatus
gpucol_scalar_F_TO_P(int aux, double x, __int128 *r)
{
	int64_t		mantissa;
	int			k;
	GpucolStatus status;

	*r = 0;
	if (x == 0)
		return GPUCOL_OK;
	if (!isfinite(x))
		return GPUCOL_UNSUPPORTED;
	gpucol_float_digits(fabs(x), aux == 4 ? 6 : 15, &mantissa, &k);
	if (k < -GPUCOL_PACKED_DIGITS)
		return GPUCOL_UNSUPPORTED;
	status = gpucol_packed_make((__int128) (x < 0 ? -mantissa : mantissa) * (__int128) gpucol_power10(k < 0 ? -k : 0),
								k < 0 ? 0 : k, r);
	*r = gpucol_packed_trim(*r);
	return status;
}

#endif							/* GPUCOL_KERNEL_FLOAT_DECIMAL_H */
