/*-------------------------------------------------------------------------
 *
 * agg_state.h
 *	  The states of aggregates (GpucolAggState), and merging of two of them.
 *
 * Engines keep what they like while they aggregate; what they deliver is merged here,
 * whoever does it: the executor for groups that it makes of an engine's, the device's
 * daemon for parts of one request.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_AGG_STATE_H
#define GPUCOL_KERNEL_AGG_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/float_order.h"
#include "kernel/program.h"
#include "kernel/status.h"

static inline GPUCOL_DEVICE __int128
gpucol_int128(uint64_t lo, int64_t hi)
{
	return (__int128) ((unsigned __int128) (uint64_t) hi << 64 | lo);
}

/* The int128 of a sum or extreme, and that of a sum of squares. */
static inline GPUCOL_DEVICE __int128
gpucol_agg_value128(const GpucolAggState *state)
{
	return gpucol_int128(state->v.i.lo, state->v.i.hi);
}

static inline GPUCOL_DEVICE __int128
gpucol_agg_squares128(const GpucolAggState *state)
{
	return gpucol_int128(state->w.i.lo, state->w.i.hi);
}

static inline GPUCOL_DEVICE void
gpucol_agg_put_value128(GpucolAggState *state, __int128 value)
{
	state->v.i.lo = (uint64_t) value;
	state->v.i.hi = (int64_t) (value >> 64);
}

static inline GPUCOL_DEVICE void
gpucol_agg_put_squares128(GpucolAggState *state, __int128 value)
{
	state->w.i.lo = (uint64_t) value;
	state->w.i.hi = (int64_t) (value >> 64);
}

/* Is this an infinity? */
static inline bool
gpucol_is_infinite(double value)
{
	return value == value && value - value != 0;
}

/*
 * The sum and the squared deviations of n values into those of m others, neither of them
 * 0, by the rule of Chan, Golub and LeVeque: PostgreSQL's float8_combine.
 */
static inline GpucolStatus
gpucol_agg_merge_deviations(double m, double *sum, double *squares,
							double n, double other_sum, double other_squares)
{
	double		apart = *sum / m - other_sum / n;
	double		total = *sum + other_sum;

	*squares = *squares + other_squares + m * n * apart * apart / (m + n);

	/* of infinite values the squares are NaN */
	if (gpucol_is_infinite(*squares) ||
		(gpucol_is_infinite(total) && !gpucol_is_infinite(*sum) && !gpucol_is_infinite(other_sum)))
		return GPUCOL_FLOAT_OVERFLOW;
	*sum = total;
	return GPUCOL_OK;
}

/* The same of sums of products of the deviations of two arguments: float8_regr_combine. */
static inline GpucolStatus
gpucol_agg_merge_products(double m, double *sums, double *products,
						  double n, const double *other_sums, double other_products)
{
	double		x = sums[0] / m - other_sums[0] / n;
	double		y = sums[1] / m - other_sums[1] / n;
	double		merged = *products + other_products + m * n * x * y / (m + n);

	for (int i = 0; i < 2; i++)
	{
		double		total = sums[i] + other_sums[i];

		if (gpucol_is_infinite(total) && !gpucol_is_infinite(sums[i]) && !gpucol_is_infinite(other_sums[i]))
			return GPUCOL_FLOAT_OVERFLOW;
		sums[i] = total;
	}
	/* of infinite values the products are NaN */
	if (gpucol_is_infinite(merged))
		return GPUCOL_FLOAT_OVERFLOW;
	*products = merged;
	return GPUCOL_OK;
}

/* Is this neither an infinity nor a NaN? */
static inline bool
gpucol_is_finite(double value)
{
	return value - value == 0;
}

/* One value more for the sum and the squared deviations of n others: PostgreSQL's float8_accum. */
static inline GpucolStatus
gpucol_agg_add_deviation(double n, double *sum, double *squares, double x)
{
	double		before = *sum;
	double		delta;

	*sum += x;
	if (n == 0)
	{
		if (!gpucol_is_finite(x))
			*squares = __builtin_nan("");
		return GPUCOL_OK;
	}
	delta = x * (n + 1) - *sum;
	*squares += delta * delta / ((n + 1) * n);
	if (gpucol_is_infinite(*sum) || gpucol_is_infinite(*squares))
	{
		if (!gpucol_is_infinite(before) && !gpucol_is_infinite(x))
			return GPUCOL_FLOAT_OVERFLOW;
		*squares = __builtin_nan("");
	}
	return GPUCOL_OK;
}

/* What products of the deviations of one pair more than n are multiplied by. */
static inline double
gpucol_agg_product_scale(double n)
{
	return 1.0 / ((n + 1) * n);
}

/*
 * One pair more for the sums of n others and the sum of products of their deviations, with their
 * scale: PostgreSQL's float8_regr_accum.
 */
static inline GpucolStatus
gpucol_agg_add_product(double n, double scale, double *sums, double *products, double x, double y)
{
	bool		x_is = gpucol_is_infinite(sums[0]) || gpucol_is_infinite(x);
	bool		y_is = gpucol_is_infinite(sums[1]) || gpucol_is_infinite(y);

	sums[0] += x;
	sums[1] += y;
	if (n == 0)
	{
		if (!gpucol_is_finite(x) || !gpucol_is_finite(y))
			*products = __builtin_nan("");
		return GPUCOL_OK;
	}
	*products += (x * (n + 1) - sums[0]) * (y * (n + 1) - sums[1]) * scale;
	if ((gpucol_is_infinite(sums[0]) && !x_is) || (gpucol_is_infinite(sums[1]) && !y_is) ||
		(gpucol_is_infinite(*products) && !x_is && !y_is))
		return GPUCOL_FLOAT_OVERFLOW;
	if (gpucol_is_infinite(*products))
		*products = __builtin_nan("");
	return GPUCOL_OK;
}

/* Sums of two states that both have rows. */
static inline GpucolStatus
gpucol_agg_merge_sums(const GpucolAgg *agg, GpucolAggState *to, const GpucolAggState *from)
{
	__int128	sum;

	if (agg->cls == GPUCOL_CLASS_F && agg->op == GPUCOL_AGG_SUMSQ)
		return gpucol_agg_merge_deviations((double) to->count, &to->v.f, &to->w.f,
										   (double) from->count, from->v.f, from->w.f);
	if (agg->cls == GPUCOL_CLASS_F)
	{
		double		total = to->v.f + from->v.f;

		if (gpucol_is_infinite(total) && !gpucol_is_infinite(to->v.f) && !gpucol_is_infinite(from->v.f))
			return GPUCOL_FLOAT_OVERFLOW;
		to->v.f = total;
		return GPUCOL_OK;
	}
	if (__builtin_add_overflow(gpucol_agg_value128(to), gpucol_agg_value128(from), &sum))
		return GPUCOL_UNSUPPORTED;
	gpucol_agg_put_value128(to, sum);
	if (agg->op != GPUCOL_AGG_SUMSQ)
		return GPUCOL_OK;
	if (__builtin_add_overflow(gpucol_agg_squares128(to), gpucol_agg_squares128(from), &sum))
		return GPUCOL_UNSUPPORTED;
	gpucol_agg_put_squares128(to, sum);
	return GPUCOL_OK;
}

/* Is the first of two values of a class the lesser?  Not of byte strings and packed decimals. */
static inline bool
gpucol_agg_less(int cls, const GpucolAggState *a, const GpucolAggState *b)
{
	if (cls == GPUCOL_CLASS_F)
		return gpucol_float_order(a->v.f) < gpucol_float_order(b->v.f);
	if (cls == GPUCOL_CLASS_D)
		return gpucol_agg_value128(a) < gpucol_agg_value128(b);
	return a->v.value < b->v.value;
}

/*
 * Merge a state into another.  `order` says for the extreme of byte strings and packed decimals how
 * the value of `from` compares with that of `to` (< 0: it is less), where both have rows; it means
 * nothing of other aggregates.  UNSUPPORTED: beyond int128.
 */
static inline GpucolStatus
gpucol_agg_merge(const GpucolAgg *agg, GpucolAggState *to, const GpucolAggState *from, int order)
{
	GpucolStatus status = GPUCOL_OK;
	int64_t		count = to->count + from->count;
	bool		apart = agg->cls == GPUCOL_CLASS_S || gpucol_agg_is_packed(agg);

	if (from->count == 0)
		return GPUCOL_OK;
	if (to->count == 0)
	{
		*to = *from;
		return GPUCOL_OK;
	}
	switch (agg->op)
	{
		case GPUCOL_AGG_SUM:
		case GPUCOL_AGG_SUMSQ:
			status = gpucol_agg_merge_sums(agg, to, from);
			break;
		case GPUCOL_AGG_PRODUCTS:
			status = gpucol_agg_merge_products((double) to->count, to->v.sums, &to->w.f,
											   (double) from->count, from->v.sums, from->w.f);
			break;
		case GPUCOL_AGG_MIN:
			if (apart ? order < 0 : gpucol_agg_less(agg->cls, from, to))
				*to = *from;
			break;
		case GPUCOL_AGG_MAX:
			if (apart ? order > 0 : gpucol_agg_less(agg->cls, to, from))
				*to = *from;
			break;
		case GPUCOL_AGG_BOOL_AND:
			to->v.value &= from->v.value;
			break;
		case GPUCOL_AGG_BOOL_OR:
			to->v.value |= from->v.value;
			break;
		case GPUCOL_AGG_BIT_XOR:
			to->v.value ^= from->v.value;
			break;
		default:
			break;
	}
	to->count = count;
	return status;
}

#endif							/* GPUCOL_KERNEL_AGG_STATE_H */
