/*-------------------------------------------------------------------------
 *
 * scalar.h
 *	  What the opcodes (opcodes.h) give for one row: PostgreSQL's result or its error.
 *
 * The one text of it: the device's interpreter and its compiled kernels call these
 * functions for each row; the CPU engine's vector loops compute the same without
 * branches, and call them for the rows that looked wrong.  `aux` is the instruction's.
 * Operands are not NULL, or the result does not count; where the result's type is narrower
 * than 64 bits so are the operands.
 *
 * Products and sums are rounded apart: compile without contraction (-fmad=false).
 *
 * Freestanding C: may be included by C, C++ and CUDA, run-time compilation too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_SCALAR_H
#define GPUCOL_KERNEL_SCALAR_H

#ifndef __CUDACC_RTC__
#include <math.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#include "kernel/checked.h"
#include "kernel/program.h"
#include "kernel/status.h"

/* ---- integers ---- */

static inline GPUCOL_DEVICE GpucolStatus
gpucol_range_error(int aux)
{
	if (aux == GPUCOL_WIDTH_NONE)
		return GPUCOL_UNSUPPORTED;
	return aux == 2 ? GPUCOL_INT2_OUT_OF_RANGE : aux == 4 ? GPUCOL_INT4_OUT_OF_RANGE : GPUCOL_INT8_OUT_OF_RANGE;
}

/* Does an int64 fit an integer of `aux` bytes? */
static inline GPUCOL_DEVICE bool
gpucol_fits(int64_t x, int aux)
{
	return aux == 8 || (aux == 4 ? x == (int32_t) x : x == (int16_t) x);
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_CHECK_I(int aux, int64_t x, int64_t *r)
{
	*r = x;
	return gpucol_fits(x, aux) ? GPUCOL_OK : gpucol_range_error(aux);
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ADD_I(int aux, int64_t x, int64_t y, int64_t *r)
{
	if (aux != 8)
		return gpucol_scalar_CHECK_I(aux, (int64_t) ((uint64_t) x + (uint64_t) y), r);
	return gpucol_add64(x, y, r) ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_SUB_I(int aux, int64_t x, int64_t y, int64_t *r)
{
	if (aux != 8)
		return gpucol_scalar_CHECK_I(aux, (int64_t) ((uint64_t) x - (uint64_t) y), r);
	return gpucol_sub64(x, y, r) ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_MUL_I(int aux, int64_t x, int64_t y, int64_t *r)
{
	if (aux != 8)
		return gpucol_scalar_CHECK_I(aux, (int64_t) (int32_t) x * (int32_t) y, r);
	return gpucol_mul64(x, y, r) ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_DIV_I(int aux, int64_t x, int64_t y, int64_t *r)
{
	if (aux != 8)
		y = (int32_t) y;
	if (y == 0)
		return GPUCOL_DIVISION_BY_ZERO;
	if (y == -1)
		return gpucol_scalar_SUB_I(aux, 0, x, r);
	*r = aux != 8 ? (int32_t) x / (int32_t) y : x / y;
	return GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_MOD_I(int aux, int64_t x, int64_t y, int64_t *r)
{
	if (aux != 8)
		y = (int32_t) y;
	if (y == 0)
		return GPUCOL_DIVISION_BY_ZERO;
	*r = y == -1 ? 0 : aux != 8 ? (int32_t) x % (int32_t) y : x % y;
	return GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_NEG_I(int aux, int64_t x, int64_t *r)
{
	return gpucol_scalar_SUB_I(aux, 0, x, r);
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ABS_I(int aux, int64_t x, int64_t *r)
{
	*r = x;
	return x < 0 ? gpucol_scalar_SUB_I(aux, 0, x, r) : GPUCOL_OK;
}

/* ---- decimals: beyond int128 is UNSUPPORTED ---- */

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ADD_D(int aux, __int128 x, __int128 y, __int128 *r)
{
	(void) aux;
	return gpucol_add128(x, y, r) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_SUB_D(int aux, __int128 x, __int128 y, __int128 *r)
{
	(void) aux;
	return gpucol_sub128(x, y, r) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_MUL_D(int aux, __int128 x, __int128 y, __int128 *r)
{
	(void) aux;
	return gpucol_mul128(x, y, r) ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_NEG_D(int aux, __int128 x, __int128 *r)
{
	return gpucol_scalar_SUB_D(aux, 0, x, r);
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ABS_D(int aux, __int128 x, __int128 *r)
{
	*r = x;
	return x < 0 ? gpucol_scalar_SUB_D(aux, 0, x, r) : GPUCOL_OK;
}

/* x * 10^aux */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_RESCALE_D(int aux, __int128 x, __int128 *r)
{
	*r = x;
	for (; aux > 0; aux--)
		if (gpucol_mul128(*r, 10, r))
			return GPUCOL_UNSUPPORTED;
	return GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_I_TO_D(int aux, int64_t x, __int128 *r)
{
	return gpucol_scalar_RESCALE_D(aux, x, r);
}

/* ---- floats ---- */

/*
 * Results as PostgreSQL checks them: infinite from finite operands is an overflow; zero
 * from non-zero ones, where the operation cannot give zero, is an underflow.  An operation
 * on float4 (aux = 4) rounds to it.
 */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ADD_F(int aux, double x, double y, double *r)
{
	*r = aux == 4 ? (double) ((float) x + (float) y) : x + y;
	return isinf(*r) && !isinf(x) && !isinf(y) ? GPUCOL_FLOAT_OVERFLOW : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_SUB_F(int aux, double x, double y, double *r)
{
	return gpucol_scalar_ADD_F(aux, x, -y, r);
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_MUL_F(int aux, double x, double y, double *r)
{
	*r = aux == 4 ? (double) ((float) x * (float) y) : x * y;
	if (isinf(*r) && !isinf(x) && !isinf(y))
		return GPUCOL_FLOAT_OVERFLOW;
	return *r == 0 && x != 0 && y != 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_DIV_F(int aux, double x, double y, double *r)
{
	if (y == 0 && x == x)
		return GPUCOL_DIVISION_BY_ZERO;
	*r = aux == 4 ? (double) ((float) x / (float) y) : x / y;
	if (isinf(*r) && !isinf(x))
		return GPUCOL_FLOAT_OVERFLOW;
	return *r == 0 && x != 0 && !isinf(y) ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

/* float8 to float4 */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_ROUND_F(int aux, double x, double *r)
{
	(void) aux;
	*r = (double) (float) x;
	if (isinf(*r) && !isinf(x))
		return GPUCOL_FLOAT_OVERFLOW;
	return *r == 0 && x != 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_scalar_F_TO_I(int aux, double x, int64_t *r)
{
	double		limit = ldexp(1.0, aux * 8 - 1);
	double		rounded = rint(x);

	if (!(rounded >= -limit && rounded < limit))
		return gpucol_range_error(aux);
	*r = (int64_t) rounded;
	return GPUCOL_OK;
}

static inline GPUCOL_DEVICE double
gpucol_scalar_I_TO_F(int aux, int64_t x)
{
	return aux == 4 ? (double) (float) x : (double) x;
}

/*
 * Comparisons in PostgreSQL's order of floats: NaN is greatest, and equal to itself.  No
 * branches: loops over them are vectorised.
 */
static inline GPUCOL_DEVICE bool
gpucol_scalar_EQ_F(double x, double y)
{
	return (x == y) | ((x != x) & (y != y));
}

static inline GPUCOL_DEVICE bool
gpucol_scalar_NE_F(double x, double y)
{
	return (x != y) & !((x != x) & (y != y));
}

static inline GPUCOL_DEVICE bool
gpucol_scalar_LT_F(double x, double y)
{
	return (x < y) | ((x == x) & (y != y));
}

static inline GPUCOL_DEVICE bool
gpucol_scalar_LE_F(double x, double y)
{
	return (x <= y) | (y != y);
}

/* ---- logic of three values ---- */

/*
 * The NULLs of AND and OR, bit by bit: x and y are operands that are true, xn and yn those
 * that are NULL.
 */
static inline GPUCOL_DEVICE uint32_t
gpucol_scalar_and_null(uint32_t x, uint32_t xn, uint32_t y, uint32_t yn)
{
	return (xn & yn) | (xn & y) | (x & yn);
}

static inline GPUCOL_DEVICE uint32_t
gpucol_scalar_or_null(uint32_t x, uint32_t xn, uint32_t y, uint32_t yn)
{
	return (xn | yn) & ~(x | y);
}

/* ---- membership ---- */

/*
 * Is x among n constants (IN_I)?  Without NULLs they ascend; a NULL among them makes a miss
 * NULL, *null.
 */
static inline GPUCOL_DEVICE bool
gpucol_scalar_in(const GpucolConst *list, uint32_t n, bool has_null, int64_t x, bool *null)
{
	uint32_t	first = 0;
	bool		found = false;

	*null = false;
	if (has_null)
	{
		for (uint32_t k = 0; k < n; k++)
			found |= !list[k].isnull && list[k].v.i == x;
		*null = !found;
		return found;
	}
	if (n == 0 || x > list[n - 1].v.i)
		return false;
	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (list[first + half].v.i < x)
		{
			first += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return list[first].v.i == x;
}

#endif							/* GPUCOL_KERNEL_SCALAR_H */
