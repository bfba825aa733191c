/*-------------------------------------------------------------------------
 *
 * recursion_values.h
 *	  Arithmetic and comparison of single values in recursion plans, with
 *	  PostgreSQL's rules: overflow and division by zero are errors, NaN equals
 *	  itself and sorts last, logic has three values.
 *
 * Freestanding C: may be included by C, C++ and CUDA; every engine computes with
 * these functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_RECURSION_VALUES_H
#define GPUCOL_KERNEL_RECURSION_VALUES_H

#include <math.h>
#include <string.h>

#include "kernel/float_order.h"
#include "kernel/recursion.h"
#include "kernel/status.h"

/* A nullable value. */
typedef struct GpucolRecValue
{
	int64_t		value;
	bool		isnull;
} GpucolRecValue;

static inline GPUCOL_DEVICE double
gpucol_rec_double(int64_t value)
{
	double		result;

	memcpy(&result, &value, sizeof(result));
	return result;
}

/* Bits of a float, with one zero and one NaN. */
static inline GPUCOL_DEVICE int64_t
gpucol_rec_bits(double value)
{
	int64_t		result;

	if (value != value)
		return INT64_C(0x7ff8000000000000);
	if (value == 0)
		return 0;
	memcpy(&result, &value, sizeof(result));
	return result;
}

/* Is this an infinity? */
static inline GPUCOL_DEVICE bool
gpucol_rec_infinite(double value)
{
	return value - value != 0 && value == value;
}

/*
 * A value as an unsigned number whose order is that of the type, and the value
 * that it stands for.
 */
static inline GPUCOL_DEVICE uint64_t
gpucol_rec_order(GpucolRecType type, int64_t value)
{
	if (type == GPUCOL_REC_UINT8)
		return (uint64_t) value;
	if (type == GPUCOL_REC_FLOAT8)
		value = gpucol_float_order(gpucol_rec_double(value));
	return (uint64_t) value ^ UINT64_C(0x8000000000000000);
}

static inline GPUCOL_DEVICE int64_t
gpucol_rec_unorder(GpucolRecType type, uint64_t order)
{
	int64_t		value = (int64_t) (order ^ UINT64_C(0x8000000000000000));

	if (type == GPUCOL_REC_UINT8)
		return (int64_t) order;
	if (type != GPUCOL_REC_FLOAT8)
		return value;
	if (value == INT64_MAX)
		return INT64_C(0x7ff8000000000000);
	return value < 0 ? value ^ INT64_MAX : value;
}

/* Does a sort before b in this type? */
static inline GPUCOL_DEVICE bool
gpucol_rec_less(GpucolRecType type, int64_t a, int64_t b)
{
	if (type == GPUCOL_REC_UINT8)
		return (uint64_t) a < (uint64_t) b;
	if (type == GPUCOL_REC_FLOAT8)
	{
		double		x = gpucol_rec_double(a);
		double		y = gpucol_rec_double(b);

		if (x != x)
			return false;
		return y != y || x < y;
	}
	return a < b;
}

/* Sums, differences and products with a say on overflow, for device code too. */
static inline GPUCOL_DEVICE bool
gpucol_rec_add(int64_t a, int64_t b, int64_t *r)
{
	*r = (int64_t) ((uint64_t) a + (uint64_t) b);
	return ((a ^ *r) & (b ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_rec_sub(int64_t a, int64_t b, int64_t *r)
{
	*r = (int64_t) ((uint64_t) a - (uint64_t) b);
	return ((a ^ b) & (a ^ *r)) < 0;
}

static inline GPUCOL_DEVICE bool
gpucol_rec_mul(int64_t a, int64_t b, int64_t *r)
{
	__int128	product = (__int128) a * b;

	*r = (int64_t) product;
	return product != *r;
}

/* Check an integer result against the range of its type. */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_rec_fit(GpucolRecType type, bool overflow, int64_t value, GpucolRecValue *result)
{
	result->value = value;
	if (type == GPUCOL_REC_INT2 && (overflow || value != (int16_t) value))
		return GPUCOL_INT2_OUT_OF_RANGE;
	if (type == GPUCOL_REC_INT4 && (overflow || value != (int32_t) value))
		return GPUCOL_INT4_OUT_OF_RANGE;
	return overflow ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

static inline GPUCOL_DEVICE GpucolStatus
gpucol_rec_integer(GpucolRecFunction function, GpucolRecType type, int64_t a,
				   int64_t b, GpucolRecValue *result)
{
	int64_t		r = 0;
	bool		overflow = false;

	switch (function)
	{
		case GPUCOL_REC_ADD:
			overflow = gpucol_rec_add(a, b, &r);
			break;
		case GPUCOL_REC_SUB:
			overflow = gpucol_rec_sub(a, b, &r);
			break;
		case GPUCOL_REC_MUL:
			overflow = gpucol_rec_mul(a, b, &r);
			break;
		case GPUCOL_REC_NEG:
			overflow = gpucol_rec_sub(0, a, &r);
			break;
		case GPUCOL_REC_DIV:
			if (b == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			overflow = b == -1 && gpucol_rec_sub(0, a, &r);
			if (b != -1)
				r = a / b;
			break;
		default:				/* MOD */
			if (b == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			r = b == -1 ? 0 : a % b;
			break;
	}
	return gpucol_rec_fit(type, overflow, r, result);
}

/* Unsigned numbers: an overflow is an error too. */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_rec_unsigned(GpucolRecFunction function, uint64_t a, uint64_t b,
					GpucolRecValue *result)
{
	uint64_t	r = 0;
	bool		overflow = false;

	switch (function)
	{
		case GPUCOL_REC_ADD:
			r = a + b;
			overflow = r < a;
			break;
		case GPUCOL_REC_SUB:
			r = a - b;
			overflow = b > a;
			break;
		case GPUCOL_REC_MUL:
			r = a * b;
			overflow = a != 0 && r / a != b;
			break;
		case GPUCOL_REC_NEG:
			overflow = a != 0;
			break;
		default:				/* DIV, MOD */
			if (b == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			r = function == GPUCOL_REC_DIV ? a / b : a % b;
			break;
	}
	result->value = (int64_t) r;
	return overflow ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

/* Floats, with the errors of PostgreSQL's float8 operators. */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_rec_float(GpucolRecFunction function, double a, double b,
				 GpucolRecValue *result)
{
	double		r = 0;

	switch (function)
	{
		case GPUCOL_REC_ADD:
			r = a + b;
			break;
		case GPUCOL_REC_SUB:
			r = a - b;
			break;
		case GPUCOL_REC_MUL:
			r = a * b;
			if (r == 0 && a != 0 && b != 0)
				return GPUCOL_FLOAT_UNDERFLOW;
			break;
		case GPUCOL_REC_NEG:
			r = -a;
			break;
		default:				/* DIV, MOD */
			if (b == 0 && a == a)
				return GPUCOL_DIVISION_BY_ZERO;
			r = function == GPUCOL_REC_DIV ? a / b : fmod(a, b);
			if (function == GPUCOL_REC_DIV && r == 0 && a != 0 && !gpucol_rec_infinite(b))
				return GPUCOL_FLOAT_UNDERFLOW;
			break;
	}
	if (gpucol_rec_infinite(r) && !gpucol_rec_infinite(a) && !gpucol_rec_infinite(b))
		return GPUCOL_FLOAT_OVERFLOW;
	result->value = gpucol_rec_bits(r);
	return GPUCOL_OK;
}

/* AND and OR of SQL. */
static inline GPUCOL_DEVICE void
gpucol_rec_logic(bool is_or, GpucolRecValue a, GpucolRecValue b, GpucolRecValue *result)
{
	int64_t		decisive = is_or ? 1 : 0;

	if ((!a.isnull && a.value == decisive) || (!b.isnull && b.value == decisive))
	{
		result->value = decisive;
		result->isnull = false;
		return;
	}
	result->isnull = a.isnull || b.isnull;
	result->value = result->isnull ? 0 : !decisive;
}

/* One of two values, or NULL: WHEN, UNLESS and EITHER. */
static inline GPUCOL_DEVICE GpucolRecValue
gpucol_rec_branch(GpucolRecFunction function, bool is_true, GpucolRecValue a, GpucolRecValue b)
{
	GpucolRecValue none = {0, true};

	if (function == GPUCOL_REC_EITHER)
		return a.isnull ? b : a;
	return is_true == (function == GPUCOL_REC_WHEN) ? b : none;
}

/* Evaluate a function of two operands (b is ignored by unary ones). */
static inline GPUCOL_DEVICE GpucolStatus
gpucol_rec_evaluate(GpucolRecFunction function, GpucolRecType type,
					GpucolRecValue a, GpucolRecValue b, GpucolRecValue *result)
{
	bool		unary = function == GPUCOL_REC_COPY ||
		function == GPUCOL_REC_NEG || function == GPUCOL_REC_NOT;

	switch (function)
	{
		case GPUCOL_REC_AND:
		case GPUCOL_REC_OR:
			gpucol_rec_logic(function == GPUCOL_REC_OR, a, b, result);
			return GPUCOL_OK;
		case GPUCOL_REC_ISNULL:
		case GPUCOL_REC_ISNOTNULL:
			result->isnull = false;
			result->value = a.isnull == (function == GPUCOL_REC_ISNULL);
			return GPUCOL_OK;
		case GPUCOL_REC_WHEN:
		case GPUCOL_REC_UNLESS:
		case GPUCOL_REC_EITHER:
			*result = gpucol_rec_branch(function, !a.isnull && a.value != 0, a, b);
			return GPUCOL_OK;
		default:
			break;
	}
	result->value = 0;
	result->isnull = a.isnull || (!unary && b.isnull);
	if (result->isnull)
		return GPUCOL_OK;
	switch (function)
	{
		case GPUCOL_REC_COPY:
			result->value = a.value;
			return GPUCOL_OK;
		case GPUCOL_REC_NOT:
			result->value = !a.value;
			return GPUCOL_OK;
		case GPUCOL_REC_EQ:
			result->value = a.value == b.value;
			return GPUCOL_OK;
		case GPUCOL_REC_NE:
			result->value = a.value != b.value;
			return GPUCOL_OK;
		case GPUCOL_REC_LT:
			result->value = gpucol_rec_less(type, a.value, b.value);
			return GPUCOL_OK;
		case GPUCOL_REC_LE:
			result->value = !gpucol_rec_less(type, b.value, a.value);
			return GPUCOL_OK;
		case GPUCOL_REC_GT:
			result->value = gpucol_rec_less(type, b.value, a.value);
			return GPUCOL_OK;
		case GPUCOL_REC_GE:
			result->value = !gpucol_rec_less(type, a.value, b.value);
			return GPUCOL_OK;
		case GPUCOL_REC_MIN2:
			result->value = gpucol_rec_less(type, b.value, a.value) ?
				b.value : a.value;
			return GPUCOL_OK;
		case GPUCOL_REC_MAX2:
			result->value = gpucol_rec_less(type, a.value, b.value) ?
				b.value : a.value;
			return GPUCOL_OK;
		default:
			break;
	}
	if (type == GPUCOL_REC_FLOAT8)
		return gpucol_rec_float(function, gpucol_rec_double(a.value),
								gpucol_rec_double(b.value), result);
	if (type == GPUCOL_REC_UINT8)
		return gpucol_rec_unsigned(function, (uint64_t) a.value,
								   (uint64_t) b.value, result);
	return gpucol_rec_integer(function, type, a.value, b.value, result);
}

#endif							/* GPUCOL_KERNEL_RECURSION_VALUES_H */
