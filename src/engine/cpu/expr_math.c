/*-------------------------------------------------------------------------
 *
 * expr_math.c
 *	  Functions of floats, by the mathematical library that PostgreSQL's own call; and of packed
 *	  decimals (kernel/numeric_math.c).
 *
 * Results and errors are those of float.c of PostgreSQL.  The few functions that are an
 * instruction or two go through a vector in a loop; the others are called row by row.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "kernel/numeric_math.h"
#include "kernel/math_functions.h"

#define RADIANS_PER_DEGREE	0.0174532925199432957692

/* A result that no finite argument gives. */
static GpucolStatus
not_grown(double x, double r)
{
	return isinf(r) && !isinf(x) ? GPUCOL_FLOAT_OVERFLOW : GPUCOL_OK;
}

/* A root or a logarithm: zero of `zero` only. */
static GpucolStatus
finite_or_small(double x, double r, double zero)
{
	if (isinf(r) && !isinf(x))
		return GPUCOL_FLOAT_OVERFLOW;
	return r == 0 && x != zero ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

static GpucolStatus
exponential(double x, double *r)
{
	*r = x;
	if (isnan(x))
		return GPUCOL_OK;
	*r = exp(x);
	if (isinf(x))
		return GPUCOL_OK;
	return isinf(*r) ? GPUCOL_FLOAT_OVERFLOW : *r == 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

static GpucolStatus
logarithm(double (*function) (double), double x, double *r)
{
	if (x == 0)
		return GPUCOL_LOG_OF_ZERO;
	if (x < 0)
		return GPUCOL_LOG_OF_NEGATIVE;
	*r = function(x);
	return finite_or_small(x, *r, 1);
}

/* Of an angle: NaN of NaN, an error of an infinity or of what the library refuses. */
static GpucolStatus
trigonometric(double (*function) (double), double x, double *r)
{
	*r = x;
	if (isnan(x))
		return GPUCOL_OK;
	errno = 0;
	*r = function(x);
	return errno != 0 || isinf(x) ? GPUCOL_INPUT_OUT_OF_RANGE : GPUCOL_OK;
}

/* Of a number in [lo, hi]. */
static GpucolStatus
within(double (*function) (double), double x, double lo, double hi, double *r)
{
	*r = x;
	if (isnan(x))
		return GPUCOL_OK;
	if (x < lo || x > hi)
		return GPUCOL_INPUT_OUT_OF_RANGE;
	*r = function(x);
	return GPUCOL_OK;
}

static double
truncated(double x)
{
	return x >= 0 ? floor(x) : -floor(-x);
}

static GpucolStatus
call(int function, double x, double *r)
{
	GpucolStatus status;

	switch ((GpucolMathFunction) function)
	{
		case GPUCOL_MATH_SIGN:
			*r = x > 0 ? 1 : x < 0 ? -1 : 0;
			return GPUCOL_OK;
		case GPUCOL_MATH_CBRT:
			*r = cbrt(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_ATAN:
			*r = isnan(x) ? x : atan(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_SINH:
			*r = sinh(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_TANH:
			*r = tanh(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_ASINH:
			*r = asinh(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_SQRT:
			*r = sqrt(x);
			return x < 0 ? GPUCOL_ROOT_OF_NEGATIVE : finite_or_small(x, *r, 0);
		case GPUCOL_MATH_EXP:
			return exponential(x, r);
		case GPUCOL_MATH_LN:
			return logarithm(log, x, r);
		case GPUCOL_MATH_LOG10:
			return logarithm(log10, x, r);
		case GPUCOL_MATH_DEGREES:
			return gpucol_scalar_DIV_F(8, x, RADIANS_PER_DEGREE, r);
		case GPUCOL_MATH_RADIANS:
			return gpucol_scalar_MUL_F(8, x, RADIANS_PER_DEGREE, r);
		case GPUCOL_MATH_SIN:
			return trigonometric(sin, x, r);
		case GPUCOL_MATH_COS:
			return trigonometric(cos, x, r);
		case GPUCOL_MATH_TAN:
			return trigonometric(tan, x, r);
		case GPUCOL_MATH_COT:
			status = trigonometric(tan, x, r);
			*r = isnan(x) ? x : 1.0 / *r;
			return status;
		case GPUCOL_MATH_ASIN:
			return within(asin, x, -1, 1, r);
		case GPUCOL_MATH_ACOS:
			return within(acos, x, -1, 1, r);
		case GPUCOL_MATH_COSH:
			*r = cosh(x);
			return GPUCOL_OK;
		case GPUCOL_MATH_ACOSH:
			return within(acosh, x, 1, INFINITY, r);
		case GPUCOL_MATH_ATANH:
			return within(atanh, x, -1, 1, r);
		default:
			return GPUCOL_UNSUPPORTED;
	}
}

/* x ^ y where one of them is infinite and none is NaN; a negative x has an integer y. */
static double
infinite_power(double x, double y)
{
	bool		odd = floor(y / 2) != y / 2;

	if (isinf(y))
	{
		if (fabs(x) == 1)
			return 1;
		return (fabs(x) > 1) == (y > 0) ? INFINITY : 0;
	}
	if (y == 0)
		return 1;
	if (x > 0)
		return y > 0 ? x : 0;
	if (y > 0)
		return odd ? x : -x;
	return odd ? -0.0 : 0.0;
}

static GpucolStatus
power(double x, double y, double *r)
{
	if (isnan(x) || isnan(y))
	{
		*r = (isnan(x) && y == 0) || x == 1 ? 1 : NAN;
		return GPUCOL_OK;
	}
	if (x == 0 && y < 0)
		return GPUCOL_ZERO_TO_NEGATIVE;
	if (x < 0 && floor(y) != y)
		return GPUCOL_COMPLEX_POWER;
	*r = isinf(x) || isinf(y) ? infinite_power(x, y) : pow(x, y);
	if (isinf(x) || isinf(y))
		return GPUCOL_OK;
	return not_grown(0, *r) != GPUCOL_OK ? GPUCOL_FLOAT_OVERFLOW :
		*r == 0 && x != 0 ? GPUCOL_FLOAT_UNDERFLOW : GPUCOL_OK;
}

/*
 * x ^ 2 as pow() of the GNU C library gives it, where that follows from x * x; *known false elsewhere.
 *
 * That pow() is less than 0.54 units in the last place from the power (0.509 by the last step, the rest by the
 * logarithm, as e_pow.c says), with a fused multiply-add and without.  The product is the double next to the power, and
 * what it is off by is a double, too: the rest of a fused multiplication.  Where that is less than 0.45 units the next
 * doubles on both sides are more than 0.55 off, so pow() gives the product.  A double below a power of two is but half
 * a unit away: these are left out, and so are results near the ends of the range.
 */
#if defined(__x86_64__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 28)
#define SQUARES_ARE_KNOWN	__builtin_cpu_supports("fma")
#endif
#endif

#ifdef SQUARES_ARE_KNOWN
#define LEAST_SQUARE		0x1p-900
#define GREATEST_SQUARE		0x1p900

__attribute__((target("fma"))) static void
square(const double *xs, double *rs, uint8_t *known, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		double		product = xs[j] * xs[j];
		double		rest = __builtin_fma(xs[j], xs[j], -product);
		uint64_t	bits;
		uint64_t	unit;
		double		most;

		memcpy(&bits, &product, sizeof(bits));
		unit = (bits & UINT64_C(0x7ff0000000000000)) - (UINT64_C(52) << 52);
		memcpy(&most, &unit, sizeof(most));
		known[j] = product > LEAST_SQUARE && product < GREATEST_SQUARE && (bits & UINT64_C(0xfffffffffffff)) != 0 &&
			fabs(rest) < 0.45 * most;
		rs[j] = product;
	}
}
#else
#define SQUARES_ARE_KNOWN	false
static void
square(const double *xs GPUCOL_CPU_UNUSED, double *rs GPUCOL_CPU_UNUSED, uint8_t *known GPUCOL_CPU_UNUSED,
	   uint32_t n GPUCOL_CPU_UNUSED)
{
}
#endif

/* Is it x ^ 2 for all rows, many of which are found by a multiplication? */
static bool
is_square(const GpucolCpuFrame *f)
{
	return f->instr->aux == GPUCOL_MATH_POWER && f->rows == NULL && f->b->constant && f->b->nulls == NULL &&
		f->b->v.f[0] == 2 && SQUARES_ARE_KNOWN;
}

static GpucolStatus
call2(int function, double x, double y, double *r)
{
	if (function == GPUCOL_MATH_POWER)
		return power(x, y, r);
	if (function != GPUCOL_MATH_ATAN2)
		return GPUCOL_UNSUPPORTED;
	*r = isnan(x) || isnan(y) ? NAN : atan2(x, y);
	return GPUCOL_OK;
}

/* Functions of an instruction or two, in loops. */
GPUCOL_CPU_CLONES static bool
call_loop(int function, const double *xs, double *rs, uint32_t n)
{
	switch ((GpucolMathFunction) function)
	{
		case GPUCOL_MATH_CEIL:
			for (uint32_t j = 0; j < n; j++)
				rs[j] = ceil(xs[j]);
			return true;
		case GPUCOL_MATH_FLOOR:
			for (uint32_t j = 0; j < n; j++)
				rs[j] = floor(xs[j]);
			return true;
		case GPUCOL_MATH_ROUND:
			for (uint32_t j = 0; j < n; j++)
				rs[j] = rint(xs[j]);
			return true;
		case GPUCOL_MATH_TRUNC:
			for (uint32_t j = 0; j < n; j++)
				rs[j] = truncated(xs[j]);
			return true;
		default:
			return false;
	}
}

/* The number of rows that the function is called for; others become zero, of `size` bytes. */
static uint32_t
open_rows(GpucolCpuFrame *f, size_t size)
{
	if (f->rows == NULL)
		return f->n;
	memset(f->dst->v.any, 0, size * f->n);
	return f->nrows;
}

/*
 * A function of one float.
 */
GpucolStatus
gpucol_cpu_op_MATH_F(GpucolCpuFrame *f)
{
	const double *xs = f->a->v.f;
	double	   *rs = f->dst->v.f;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (call_loop(f->instr->aux, xs, rs, f->n))
		return GPUCOL_OK;
	for (uint32_t i = 0, n = open_rows(f, sizeof(double)); i < n; i++)
	{
		uint32_t	j = f->rows != NULL ? f->rows[i] : i;
		double		r = 0;
		GpucolStatus status = call(f->instr->aux, xs[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		rs[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/*
 * A function of two floats.
 */
GpucolStatus
gpucol_cpu_op_MATH2_F(GpucolCpuFrame *f)
{
	uint8_t		known[GPUCOL_VECTOR_VALUES];
	bool		squares = is_square(f);

	if (squares)
		square(f->a->v.f, f->dst->v.f, known, f->n);
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t i = 0, n = open_rows(f, sizeof(double)); i < n; i++)
	{
		uint32_t	j = f->rows != NULL ? f->rows[i] : i;
		double		r = 0;
		GpucolStatus status;

		if (squares && known[j])
			continue;
		status = call2(f->instr->aux, f->a->v.f[j], f->b->v.f[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.f[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/* A function of one packed decimal, or of two. */
static GpucolStatus
compute_packed(GpucolCpuFrame *f, bool binary)
{
	GpucolRun  *run = f->worker->run;
	uint32_t	n;

	gpucol_cpu_op_prepare_packed(f, binary);
	if (f->worker->numerics == NULL)
		f->worker->numerics = gpucol_cpu_alloc0(run, gpucol_numeric_math_size);
	if (f->worker->numerics == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	n = open_rows(f, sizeof(__int128));
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	j = f->rows != NULL ? f->rows[i] : i;
		GpucolStatus status;

		f->dst->v.d[j] = 0;
		if (GPUCOL_CPU_NULL_AT(f->dst, j))
			continue;
		status = gpucol_numeric_math(f->worker->numerics, run->host, f->instr->aux, f->a->v.d[j],
										 binary ? f->b->v.d[j] : 0, &f->dst->v.d[j]);
		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		if (status != GPUCOL_OK)
			f->dst->v.d[j] = 0;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_MATH_P(GpucolCpuFrame *f)
{
	return compute_packed(f, false);
}

GpucolStatus
gpucol_cpu_op_MATH2_P(GpucolCpuFrame *f)
{
	return compute_packed(f, true);
}
