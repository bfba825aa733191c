/*-------------------------------------------------------------------------
 *
 * agg_float.c
 *	  Sums of floats, of their squares, and of products of two, a vector at a time.
 *
 * Where all values are finite, eight interleaved sums are merged in order, so that
 * the compiler vectorises them and the result depends on the data alone.  What is
 * not finite is added row by row, for its infinities and errors.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/agg.h"
#include "kernel/agg_state.h"

void
gpucol_cpu_float_merge(GpucolCpuFloatSum *a, const GpucolCpuFloatSum *b)
{
	bool		finite = gpucol_cpu_float_finite(a->sum);

	gpucol_cpu_float_add(a, b->sum);
	if (gpucol_cpu_float_finite(b->sum))
		a->lost += b->lost;
	else if (finite)
		a->lost = b->lost;
}

/* Sum of n finite values in LANES interleaved sums, merged in order. */
#define LANES 8
GPUCOL_CPU_CLONES static void
sum_lanes(const double *x, uint32_t n, GpucolCpuFloatSum *out)
{
	double		sum[LANES];
	double		lost[LANES];

	for (int l = 0; l < LANES; l++)
	{
		sum[l] = -0.0;
		lost[l] = 0;
	}
	for (uint32_t j = 0; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++)
		{
			double		total = sum[l] + x[j + l];
			double		part = total - sum[l];

			lost[l] += (sum[l] - (total - part)) + (x[j + l] - part);
			sum[l] = total;
		}
	out->sum = -0.0;
	out->lost = 0;
	for (int l = 0; l < LANES; l++)
	{
		GpucolCpuFloatSum lane = {sum[l], lost[l]};

		gpucol_cpu_float_merge(out, &lane);
	}
	for (uint32_t j = n / LANES * LANES; j < n; j++)
		gpucol_cpu_float_add(out, x[j]);
}

/* Are all n values finite? */
GPUCOL_CPU_CLONES static bool
all_finite(const double *x, uint32_t n)
{
	uint64_t	bad = 0;

	for (uint32_t j = 0; j < n; j++)
		bad |= (uint64_t) !gpucol_cpu_float_finite(x[j]);
	return bad == 0;
}

/*
 * Add n values to one sum.  Only if all of them and the result are finite do
 * the lanes give it; else row by row, for its infinities and errors.
 */
void
gpucol_cpu_float_add_all(GpucolCpuFloatSum *state, const double *x, uint32_t n)
{
	GpucolCpuFloatSum vector;

	if (all_finite(x, n))
	{
		sum_lanes(x, n, &vector);
		if (gpucol_cpu_float_finite(vector.sum) && gpucol_cpu_float_finite(vector.lost))
		{
			gpucol_cpu_float_merge(state, &vector);
			return;
		}
	}
	for (uint32_t j = 0; j < n; j++)
		gpucol_cpu_float_add(state, x[j]);
}

/* PostgreSQL's float8_accum. */
GpucolStatus
gpucol_cpu_squares_add(GpucolCpuFloatSquares *state, double x)
{
	GpucolStatus status = gpucol_agg_add_deviation(state->n, &state->sum, &state->squares, x);

	state->n++;
	return status;
}

GpucolStatus
gpucol_cpu_squares_merge(GpucolCpuFloatSquares *a, const GpucolCpuFloatSquares *b)
{
	GpucolStatus status;

	if (b->n == 0)
		return GPUCOL_OK;
	if (a->n == 0)
	{
		*a = *b;
		return GPUCOL_OK;
	}
	status = gpucol_agg_merge_deviations(a->n, &a->sum, &a->squares, b->n, b->sum, b->squares);
	a->n += b->n;
	return status;
}

/* Deviations of n finite values from their mean, in two passes. */
GPUCOL_CPU_CLONES static double
sum_deviations(const double *x, uint32_t n, double mean)
{
	double		squares[LANES] = {0};
	double		total = 0;

	for (uint32_t j = 0; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++)
			squares[l] += (x[j + l] - mean) * (x[j + l] - mean);
	for (int l = 0; l < LANES; l++)
		total += squares[l];
	for (uint32_t j = n / LANES * LANES; j < n; j++)
		total += (x[j] - mean) * (x[j] - mean);
	return total;
}

/* Add n values to one state of n, sum and squares. */
GpucolStatus
gpucol_cpu_squares_add_all(GpucolCpuFloatSquares *state, const double *x, uint32_t n)
{
	if (n >= LANES && all_finite(x, n))
	{
		GpucolCpuFloatSquares vector = {n, 0, 0};
		GpucolCpuFloatSum sum;

		sum_lanes(x, n, &sum);
		vector.sum = sum.sum + sum.lost;
		vector.squares = sum_deviations(x, n, vector.sum / n);
		if (gpucol_cpu_float_finite(vector.sum) && gpucol_cpu_float_finite(vector.squares))
			return gpucol_cpu_squares_merge(state, &vector);
	}
	for (uint32_t j = 0; j < n; j++)
	{
		GpucolStatus status = gpucol_cpu_squares_add(state, x[j]);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* One of the products of PostgreSQL's float8_regr_accum. */
static GpucolStatus
add_products(GpucolCpuFloatProducts *state, double x, double y)
{
	GpucolStatus status = gpucol_agg_add_product(state->n, gpucol_agg_product_scale(state->n), state->sums,
												 &state->products, x, y);

	state->n++;
	return status;
}

GpucolStatus
gpucol_cpu_products_add_odd(const GpucolCpuFloatPair *pair, double x, double y)
{
	GpucolStatus status = add_products(pair->xy, x, y);

	if (status == GPUCOL_OK && pair->xx != NULL)
		status = add_products(pair->xx, x, x);
	if (status == GPUCOL_OK && pair->xx != NULL)
		status = add_products(pair->yy, y, y);
	return status;
}

GpucolStatus
gpucol_cpu_products_merge(GpucolCpuFloatProducts *a, const GpucolCpuFloatProducts *b)
{
	GpucolStatus status;

	if (b->n == 0)
		return GPUCOL_OK;
	if (a->n == 0)
	{
		*a = *b;
		return GPUCOL_OK;
	}
	status = gpucol_agg_merge_products(a->n, a->sums, &a->products, b->n, b->sums, b->products);
	a->n += b->n;
	return status;
}

/* Products of the deviations of n finite pairs from their means. */
GPUCOL_CPU_CLONES static double
sum_products(const double *x, const double *y, uint32_t n, double x_mean, double y_mean)
{
	double		products[LANES] = {0};
	double		total = 0;

	for (uint32_t j = 0; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++)
			products[l] += (x[j + l] - x_mean) * (y[j + l] - y_mean);
	for (int l = 0; l < LANES; l++)
		total += products[l];
	for (uint32_t j = n / LANES * LANES; j < n; j++)
		total += (x[j] - x_mean) * (y[j] - y_mean);
	return total;
}

/* Merge the products of a vector's rows into a state, unless they are not finite. */
static bool
merge_vector(GpucolCpuFloatProducts *vector, const double *x, const double *y, double x_sum, double y_sum)
{
	gpucol_cpu_products_put(vector, vector->n, x_sum, y_sum,
							sum_products(x, y, (uint32_t) vector->n, x_sum / vector->n, y_sum / vector->n));
	return gpucol_cpu_float_finite(x_sum) && gpucol_cpu_float_finite(y_sum) &&
		gpucol_cpu_float_finite(vector->products);
}

/* Add n finite pairs to their states; *done false, and nothing is added, where a sum is not finite. */
static GpucolStatus
add_vector(const GpucolCpuFloatPair *pair, const double *x, const double *y, uint32_t n, bool *done)
{
	GpucolCpuFloatProducts xy = {.n = n};
	GpucolCpuFloatProducts xx = {.n = n};
	GpucolCpuFloatProducts yy = {.n = n};
	GpucolCpuFloatSum x_sum;
	GpucolCpuFloatSum y_sum;
	GpucolStatus status;

	sum_lanes(x, n, &x_sum);
	if (x == y)
		y_sum = x_sum;
	else
		sum_lanes(y, n, &y_sum);
	*done = merge_vector(&xy, x, y, x_sum.sum + x_sum.lost, y_sum.sum + y_sum.lost) &&
		(pair->xx == NULL || (merge_vector(&xx, x, x, xy.sums[0], xy.sums[0]) &&
							  merge_vector(&yy, y, y, xy.sums[1], xy.sums[1])));
	if (!*done)
		return GPUCOL_OK;
	status = gpucol_cpu_products_merge(pair->xy, &xy);
	if (status == GPUCOL_OK && pair->xx != NULL)
		status = gpucol_cpu_products_merge(pair->xx, &xx);
	if (status == GPUCOL_OK && pair->xx != NULL)
		status = gpucol_cpu_products_merge(pair->yy, &yy);
	return status;
}

/* Add n pairs to their states. */
GpucolStatus
gpucol_cpu_products_add_all(const GpucolCpuFloatPair *pair, const double *x, const double *y, uint32_t n)
{
	bool		done = false;

	if (n >= LANES && all_finite(x, n) && (x == y || all_finite(y, n)))
	{
		GpucolStatus status = add_vector(pair, x, y, n, &done);

		if (done)
			return status;
	}
	for (uint32_t j = 0; j < n; j++)
	{
		GpucolStatus status = gpucol_cpu_products_add(pair, x[j], y[j]);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}
