/*-------------------------------------------------------------------------
 *
 * expr_rounded.c
 *	  Decimals that are rounded out of quotients by a constant, and out of floats.
 *
 * PostgreSQL rounds a quotient to a number of digits that depends on how large it is, and
 * round(), floor() and the like then round that.  The number of digits is one step of a few for
 * all that lies between two limits.  Where the constant is so short that the first rounding
 * cannot reach a value at which the second changes, one division does for both; else two.  All
 * are of 64 bits.  What does not fit is computed as kernel/packed_decimal.h has it.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_ops.h"
#include "kernel/float_decimal.h"

#define MOST_STEPS	48
#define MOST_POWER	18			/* of ten that int64 holds */

/* Dividends of as many digits in the quotient, from `least` on. */
typedef struct Step
{
	uint64_t	least;
	uint64_t	direct;			/* dividends up to here take one division, */
	uint64_t	twice;			/* or up to here two */
	int			scale;			/* digits of the quotient */
} Step;

/* Division by one constant. */
typedef struct Divisor
{
	uint64_t	y;
	uint64_t	factor;			/* the dividend's, and the divisor's, of one division */
	uint64_t	divisor;
	bool		negative;
	int			aux;
	int			nsteps;
	Step		steps[MOST_STEPS];
} Divisor;

/* Begin a step at a dividend, if the number of digits changes there; they come in any order. */
static void
add_step(Divisor *d, uint64_t least)
{
	int			at = d->nsteps;

	while (at > 0 && d->steps[at - 1].least >= least)
		at--;
	if (least == 0 || d->nsteps == MOST_STEPS || (at < d->nsteps && d->steps[at].least == least))
		return;
	for (int i = d->nsteps++; i > at; i--)
		d->steps[i] = d->steps[i - 1];
	d->steps[at].least = least;
}

/* Weights begin at powers of ten; in each, quotients have fewer digits once the first digit is greater than y's. */
static void
find_limits(Divisor *d)
{
	int			weight;
	int			first;

	gpucol_packed_lead(d->y, GPUCOL_QUOTIENT_YS(d->aux), &weight, &first);
	first++;
	for (int i = 0; i <= MOST_POWER; i++)
	{
		uint64_t	power = (uint64_t) gpucol_power10(i);

		add_step(d, power);
		if ((unsigned __int128) power * (uint64_t) first <= INT64_MAX)
			add_step(d, power * (uint64_t) first);
		if (i > 0 && i < 4)
			add_step(d, ((uint64_t) first + power - 1) / power);
	}
}

/* Up to which dividends one or two divisions of 64 bits do. */
static void
set_step(const Divisor *d, Step *step)
{
	int			xs = GPUCOL_QUOTIENT_XS(d->aux);
	int			ys = GPUCOL_QUOTIENT_YS(d->aux);
	int			drop;
	int			more;

	step->direct = step->twice = 0;
	step->scale = gpucol_packed_quotient_scale(step->least, xs, d->y, ys);
	drop = step->scale - GPUCOL_QUOTIENT_SCALE(d->aux);
	more = step->scale + ys - xs;
	if (d->divisor != 0 && drop > 0 && (drop > MOST_POWER || d->divisor < (uint64_t) gpucol_power10(drop)))
		step->direct = (INT64_MAX - d->divisor) / d->factor / 2;
	if (drop >= 0 && drop <= MOST_POWER && more <= MOST_POWER)
		step->twice = INT64_MAX / (uint64_t) gpucol_power10(more);
}

/* False if the constant does not fit. */
static bool
find_divisor(Divisor *d, int aux, int64_t y)
{
	int			more = GPUCOL_QUOTIENT_SCALE(aux) + GPUCOL_QUOTIENT_YS(aux) - GPUCOL_QUOTIENT_XS(aux);

	d->aux = aux;
	d->negative = y < 0;
	d->y = (uint64_t) gpucol_magnitude(y);
	d->nsteps = 0;
	if (y == 0 || d->y > INT64_MAX / 2)
		return false;
	d->factor = more > 0 && more <= MOST_POWER ? (uint64_t) gpucol_power10(more) : 1;
	d->divisor = more > MOST_POWER || more < -MOST_POWER ? 0 : d->y;
	if ((more < 0 && more >= -MOST_POWER &&
		 __builtin_mul_overflow(d->divisor, (uint64_t) gpucol_power10(-more), &d->divisor)) ||
		d->divisor > INT64_MAX / 2)
		d->divisor = 0;
	find_limits(d);
	for (int i = 0; i < d->nsteps; i++)
		set_step(d, &d->steps[i]);
	return true;
}

/* What is left of a quotient's magnitude when its rest, of `divisor`, is dropped. */
static inline uint64_t
round_rest(uint64_t whole, uint64_t rest, uint64_t divisor, bool negative, GpucolPackedRounding how)
{
	switch (how)
	{
		case GPUCOL_PACKED_HALF:
			return whole + (rest >= divisor - rest);
		case GPUCOL_PACKED_DOWN:
			return whole + (negative && rest != 0);
		case GPUCOL_PACKED_UP:
			return whole + (!negative && rest != 0);
		default:
			return whole;
	}
}

/* The rounded quotient of x, which is not 0, in 64 bits; false if it takes more. */
static inline bool
divide(const Divisor *d, int *at, int64_t x, GpucolPackedRounding how, int64_t *r)
{
	uint64_t	size = x < 0 ? 0 - (uint64_t) x : (uint64_t) x;
	bool		negative = (x < 0) != d->negative;
	const Step *step;
	uint64_t	value;

	while (*at + 1 < d->nsteps && size >= d->steps[*at + 1].least)
		++*at;
	while (size < d->steps[*at].least)
		--*at;
	step = &d->steps[*at];
	if (size <= step->direct)
	{
		uint64_t	dividend = size * d->factor;
		uint64_t	whole = dividend / d->divisor;

		value = round_rest(whole, dividend - whole * d->divisor, d->divisor, negative, how);
	}
	else if (size <= step->twice)
	{
		uint64_t	power = (uint64_t) gpucol_power10(step->scale - GPUCOL_QUOTIENT_SCALE(d->aux));
		uint64_t	dividend = size * (uint64_t) gpucol_power10(step->scale + GPUCOL_QUOTIENT_YS(d->aux) -
																  GPUCOL_QUOTIENT_XS(d->aux));
		uint64_t	whole = dividend / d->y;

		value = round_rest(whole, dividend - whole * d->y, d->y, false, GPUCOL_PACKED_HALF);
		whole = value / power;
		value = power == 1 ? value : round_rest(whole, value - whole * power, power, negative, how);
	}
	else
		return false;
	*r = negative ? -(int64_t) value : (int64_t) value;
	return true;
}

/* All of a vector, or false. */
static inline __attribute__((always_inline)) bool
divide_all(const Divisor *d, const int64_t *xs, int64_t *rs, uint32_t n, GpucolPackedRounding how)
{
	int			at = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		rs[j] = 0;
		if (xs[j] != 0 && !divide(d, &at, xs[j], how, &rs[j]))
			return false;
	}
	return true;
}

static bool
divide_short(const Divisor *d, const int64_t *xs, int64_t *rs, uint32_t n)
{
	switch (GPUCOL_QUOTIENT_HOW(d->aux))
	{
		case GPUCOL_PACKED_HALF:
			return divide_all(d, xs, rs, n, GPUCOL_PACKED_HALF);
		case GPUCOL_PACKED_ZERO:
			return divide_all(d, xs, rs, n, GPUCOL_PACKED_ZERO);
		case GPUCOL_PACKED_DOWN:
			return divide_all(d, xs, rs, n, GPUCOL_PACKED_DOWN);
		case GPUCOL_PACKED_UP:
			return divide_all(d, xs, rs, n, GPUCOL_PACKED_UP);
		default:
			return false;
	}
}

GpucolStatus
gpucol_cpu_op_QUOTIENT_D(GpucolCpuFrame *f)
{
	Divisor		d;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	f->dst->narrow = f->n == 0 || (f->a->narrow && f->b->narrow && f->b->constant && f->b->nulls == NULL &&
								   find_divisor(&d, f->instr->aux, f->b->n[0]) &&
								   divide_short(&d, f->a->n, f->dst->n, f->n));
	f->dst->wide = !f->dst->narrow;
	f->dst->alike = false;
	if (f->dst->narrow)
		return GPUCOL_OK;
	gpucol_cpu_expr_widen(f->a, f->n);
	gpucol_cpu_expr_widen(f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolStatus status = GPUCOL_OK;

		f->dst->v.d[j] = 0;
		if (!GPUCOL_CPU_NULL_AT(f->dst, j))
			status = gpucol_scalar_QUOTIENT_D(f->instr->aux, f->a->v.d[j], f->b->v.d[j], &f->dst->v.d[j]);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* A vector of floats, as far as they make decimals of 64 bits; the number of these. */
GPUCOL_CPU_CLONES static uint32_t
read_floats(int aux, const double *xs, int64_t *rs, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		__int128	r;

		if (gpucol_scalar_F_TO_D(aux, xs[j], &r) != GPUCOL_OK || r != (int64_t) r)
			return j;
		rs[j] = (int64_t) r;
	}
	return n;
}

GPUCOL_CPU_SLOW_UNARY(F_TO_D, d, __int128, f)
GPUCOL_CPU_SLOW_UNARY(F_TO_P, d, __int128, f)

GpucolStatus
gpucol_cpu_op_F_TO_D(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	f->dst->narrow = read_floats(f->instr->aux, f->a->v.f, f->dst->n, f->n) == f->n;
	f->dst->wide = !f->dst->narrow;
	f->dst->alike = false;
	return f->dst->wide ? slow_F_TO_D(f) : GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_F_TO_P(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	f->dst->narrow = f->dst->alike = false;
	f->dst->wide = true;
	return slow_F_TO_P(f);
}
