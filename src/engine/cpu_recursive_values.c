/*-------------------------------------------------------------------------
 *
 * cpu_recursive_values.c
 *	  Arithmetic and comparison of single values in recursion plans, with
 *	  PostgreSQL's rules: overflow and division by zero are errors, NaN equals
 *	  itself and sorts last, logic has three values.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu_recursive.h"

static inline double
as_double(int64_t value)
{
	double		result;

	memcpy(&result, &value, sizeof(result));
	return result;
}

/* Bits of a float, with one zero and one NaN. */
static inline int64_t
from_double(double value)
{
	int64_t		result;

	if (isnan(value))
		value = (double) NAN;
	else if (value == 0)
		value = 0;
	memcpy(&result, &value, sizeof(result));
	return result;
}

bool
gpucol_rec_less(GpucolRecType type, int64_t a, int64_t b)
{
	if (type == GPUCOL_REC_UINT8)
		return (uint64_t) a < (uint64_t) b;
	if (type == GPUCOL_REC_FLOAT8)
	{
		double		x = as_double(a);
		double		y = as_double(b);

		if (isnan(x))
			return false;
		return isnan(y) || x < y;
	}
	return a < b;
}

/* Check an integer result against the range of its type. */
static GpucolStatus
fit(GpucolRecType type, bool overflow, int64_t value, GpucolRecValue *result)
{
	result->value = value;
	if (type == GPUCOL_REC_INT2 && (overflow || value != (int16_t) value))
		return GPUCOL_INT2_OUT_OF_RANGE;
	if (type == GPUCOL_REC_INT4 && (overflow || value != (int32_t) value))
		return GPUCOL_INT4_OUT_OF_RANGE;
	return overflow ? GPUCOL_INT8_OUT_OF_RANGE : GPUCOL_OK;
}

static GpucolStatus
integer_arithmetic(GpucolRecFunction function, GpucolRecType type, int64_t a,
				   int64_t b, GpucolRecValue *result)
{
	int64_t		r = 0;
	bool		overflow = false;

	switch (function)
	{
		case GPUCOL_REC_ADD:
			overflow = __builtin_add_overflow(a, b, &r);
			break;
		case GPUCOL_REC_SUB:
			overflow = __builtin_sub_overflow(a, b, &r);
			break;
		case GPUCOL_REC_MUL:
			overflow = __builtin_mul_overflow(a, b, &r);
			break;
		case GPUCOL_REC_NEG:
			overflow = __builtin_sub_overflow((int64_t) 0, a, &r);
			break;
		case GPUCOL_REC_DIV:
			if (b == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			overflow = b == -1 && __builtin_sub_overflow((int64_t) 0, a, &r);
			if (b != -1)
				r = a / b;
			break;
		default:				/* MOD */
			if (b == 0)
				return GPUCOL_DIVISION_BY_ZERO;
			r = b == -1 ? 0 : a % b;
			break;
	}
	return fit(type, overflow, r, result);
}

/* Unsigned numbers: an overflow is an error too. */
static GpucolStatus
unsigned_arithmetic(GpucolRecFunction function, uint64_t a, uint64_t b,
					GpucolRecValue *result)
{
	uint64_t	r = 0;
	bool		overflow = false;

	switch (function)
	{
		case GPUCOL_REC_ADD:
			overflow = __builtin_add_overflow(a, b, &r);
			break;
		case GPUCOL_REC_SUB:
			overflow = __builtin_sub_overflow(a, b, &r);
			break;
		case GPUCOL_REC_MUL:
			overflow = __builtin_mul_overflow(a, b, &r);
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
static GpucolStatus
float_arithmetic(GpucolRecFunction function, double a, double b,
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
			if (b == 0 && !isnan(a))
				return GPUCOL_DIVISION_BY_ZERO;
			r = function == GPUCOL_REC_DIV ? a / b : fmod(a, b);
			if (function == GPUCOL_REC_DIV && r == 0 && a != 0 && !isinf(b))
				return GPUCOL_FLOAT_UNDERFLOW;
			break;
	}
	if (isinf(r) && !isinf(a) && !isinf(b))
		return GPUCOL_FLOAT_OVERFLOW;
	result->value = from_double(r);
	return GPUCOL_OK;
}

/* AND and OR of SQL. */
static void
logic(bool is_or, GpucolRecValue a, GpucolRecValue b, GpucolRecValue *result)
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

/* Evaluate a function of two operands (b is ignored by unary ones). */
GpucolStatus
gpucol_rec_evaluate(GpucolRecFunction function, GpucolRecType type,
					GpucolRecValue a, GpucolRecValue b, GpucolRecValue *result)
{
	bool		unary = function == GPUCOL_REC_COPY ||
		function == GPUCOL_REC_NEG || function == GPUCOL_REC_NOT;

	switch (function)
	{
		case GPUCOL_REC_AND:
		case GPUCOL_REC_OR:
			logic(function == GPUCOL_REC_OR, a, b, result);
			return GPUCOL_OK;
		case GPUCOL_REC_ISNULL:
		case GPUCOL_REC_ISNOTNULL:
			result->isnull = false;
			result->value = a.isnull == (function == GPUCOL_REC_ISNULL);
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
		return float_arithmetic(function, as_double(a.value),
								as_double(b.value), result);
	if (type == GPUCOL_REC_UINT8)
		return unsigned_arithmetic(function, (uint64_t) a.value,
								   (uint64_t) b.value, result);
	return integer_arithmetic(function, type, a.value, b.value, result);
}
