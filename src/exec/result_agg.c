/*-------------------------------------------------------------------------
 *
 * result_agg.c
 *	  The final step of aggregates: states as the datums that PostgreSQL's own
 *	  final functions would give.
 *
 * Numeric results are formed by numeric's SQL functions over the exact integer
 * state, in the way of PostgreSQL's final functions, so that they equal
 * PostgreSQL's digit for digit: an average is sum / n, a variance is
 * (n * sumsq - sum * sum) / (n * (n - 1)), each by numeric division.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "exec/result.h"

/* Digits by which a root is computed beyond the wanted scale. */
#define ROOT_GUARD_DIGITS	30

static __int128
int128_of(uint64 lo, int64 hi)
{
	return (__int128) ((unsigned __int128) (uint64) hi << 64 | lo);
}

/* The sum of an I or D state as int128. */
static __int128
state_sum(const GpucolAggState *state)
{
	return int128_of(state->v.i.lo, state->v.i.hi);
}

static Datum
int8_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("bigint out of range")));
}

/* sum(int2), sum(int4) */
static Datum
sum_int8(const GpucolAggState *state)
{
	__int128	sum = state_sum(state);

	if (sum < PG_INT64_MIN || sum > PG_INT64_MAX)
		return int8_overflow();
	return Int64GetDatum((int64) sum);
}

/*
 * A sum as numeric, with the greatest number of fractional digits that one of
 * its rows had.
 */
static Datum
sum_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	const GpucolAggState *state = &states[final->state];
	__int128	sum = state_sum(state);
	int			scale = final->scale;

	if (final->scale_state >= 0)
	{
		int			shown = (int) states[final->scale_state].v.value;

		for (; scale > shown; scale--)
			sum /= 10;
	}
	return gpucol_numeric_from_int128(sum, scale);
}

/* avg as numeric */
static Datum
avg_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	return DirectFunctionCall2(numeric_div, sum_numeric(final, states),
							   NumericGetDatum(int64_to_numeric(states[final->state].count)));
}

/* The scale at which a numeric is displayed. */
static int
display_scale(Datum value)
{
	return DatumGetInt32(DirectFunctionCall1(numeric_scale, value));
}

/* The root of a variance, rounded to the variance's own scale. */
static Datum
root_numeric(Datum variance)
{
	int			scale = display_scale(variance);
	Datum		precise;

	precise = DirectFunctionCall2(numeric_round, variance,
								  Int32GetDatum(scale + ROOT_GUARD_DIGITS));
	return DirectFunctionCall2(numeric_round,
							   DirectFunctionCall1(numeric_sqrt, precise),
							   Int32GetDatum(scale));
}

/* var_pop, var_samp, stddev_pop, stddev_samp over exact sums */
static Datum
variance_numeric(const GpucolFinal *final, const GpucolAggState *state)
{
	Datum		n = NumericGetDatum(int64_to_numeric(state->count));
	Datum		m = NumericGetDatum(int64_to_numeric(state->count -
													 (final->sample ? 1 : 0)));
	Datum		sum = gpucol_numeric_from_int128(state_sum(state), final->scale);
	Datum		sumsq = gpucol_numeric_from_int128(int128_of(state->w.i.lo,
															 state->w.i.hi),
												   2 * final->scale);
	Datum		numerator;
	Datum		zero = NumericGetDatum(int64_to_numeric(0));

	numerator = DirectFunctionCall2(numeric_sub,
									DirectFunctionCall2(numeric_mul, n, sumsq),
									DirectFunctionCall2(numeric_mul, sum, sum));
	if (DatumGetBool(DirectFunctionCall2(numeric_le, numerator, zero)))
		return zero;
	numerator = DirectFunctionCall2(numeric_div, numerator,
									DirectFunctionCall2(numeric_mul, n, m));
	return final->root ? root_numeric(numerator) : numerator;
}

/* The same over floats: squares is the sum of squared deviations. */
static Datum
variance_float8(const GpucolFinal *final, const GpucolAggState *state)
{
	double		n = (double) state->count;
	double		variance = state->w.f / (final->sample ? n - 1.0 : n);

	return Float8GetDatum(final->root ? sqrt(variance) : variance);
}

/* The map of a type; that of the last one is kept. */
static const GpucolTypeMap *
map_of(Oid type)
{
	static GpucolTypeMap map;
	static Oid	known = InvalidOid;

	if (type != known)
	{
		known = InvalidOid;
		gpucol_typemap_init(&map, type, -1, InvalidOid);
		known = type;
	}
	return &map;
}

/* min, max: a value of the argument's class */
static Datum
value_datum(const GpucolFinal *final, const GpucolAggState *state)
{
	if (final->cls == GPUCOL_CLASS_D)
		return gpucol_numeric_from_int128(state_sum(state), final->scale);
	if (final->cls == GPUCOL_CLASS_F)
		return final->type == FLOAT4OID ?
			Float4GetDatum((float4) state->v.f) : Float8GetDatum(state->v.f);
	return gpucol_typemap_from_int64(map_of(final->type), state->v.value);
}

/*
 * The result of one aggregate for one group.
 */
Datum
gpucol_final_datum(const GpucolFinal *final, const GpucolAggState *states,
				   bool *isnull)
{
	const GpucolAggState *state = &states[final->state];

	*isnull = false;
	if (final->kind == GPUCOL_FINAL_COUNT)
		return Int64GetDatum(state->count);
	if (final->kind == GPUCOL_FINAL_DISTINCT)
		return Int64GetDatum(state->v.value);
	*isnull = state->count == 0 ||
		((final->kind == GPUCOL_FINAL_VAR_NUMERIC ||
		  final->kind == GPUCOL_FINAL_VAR_FLOAT8) &&
		 final->sample && state->count == 1);
	if (*isnull)
		return (Datum) 0;
	switch (final->kind)
	{
		case GPUCOL_FINAL_SUM_INT8:
			return sum_int8(state);
		case GPUCOL_FINAL_SUM_NUMERIC:
			return sum_numeric(final, states);
		case GPUCOL_FINAL_SUM_FLOAT8:
			return Float8GetDatum(state->v.f);
		case GPUCOL_FINAL_AVG_NUMERIC:
			return avg_numeric(final, states);
		case GPUCOL_FINAL_AVG_FLOAT8:
			return Float8GetDatum(state->v.f / (double) state->count);
		case GPUCOL_FINAL_VALUE:
			return value_datum(final, state);
		case GPUCOL_FINAL_BOOL:
			return BoolGetDatum(state->v.value != 0);
		case GPUCOL_FINAL_VAR_NUMERIC:
			return variance_numeric(final, state);
		default:
			return variance_float8(final, state);
	}
}
