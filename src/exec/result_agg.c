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
 * What takes a few instructions a group is formed by loops over one aggregate's
 * states of many groups.
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
#include "utils/timestamp.h"

#include "exec/result.h"
#include "kernel/agg_state.h"
#include "kernel/packed_decimal.h"

/* Digits by which a root is computed beyond the wanted scale. */
#define ROOT_GUARD_DIGITS	30

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
	int64		sum = (int64) state->v.i.lo;

	if (state->v.i.hi != (sum < 0 ? -1 : 0))
		return int8_overflow();
	return Int64GetDatum(sum);
}

/* sum(money) */
static Datum
sum_money(const GpucolAggState *state)
{
	if (state->v.i.hi != ((int64) state->v.i.lo < 0 ? -1 : 0))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("money out of range")));
	return Int64GetDatum((int64) state->v.i.lo);
}

/* sum(float4) */
static Datum
sum_float4(const GpucolAggState *state)
{
	float4		sum = (float4) state->v.f;

	if (isinf(sum) && !isinf(state->v.f))
		float_overflow_error();
	return Float4GetDatum(sum);
}

/* A sum in two parts; behind the greatest scale of a row there are zeros only. */
static Datum
sum_packed(const GpucolFinal *final, const GpucolAggState *states)
{
	Datum		high = gpucol_typemap_numeric(gpucol_agg_value128(&states[final->state]), final->scale);
	Datum		low = gpucol_typemap_numeric(gpucol_agg_value128(&states[final->low_state]),
											 GPUCOL_PACKED_LOW);

	return DirectFunctionCall2(numeric_round, DirectFunctionCall2(numeric_add, high, low),
							   Int32GetDatum((int32) states[final->scale_state].v.value));
}

/*
 * A sum as numeric, with the greatest number of fractional digits that one of
 * its rows had.
 */
static Datum
sum_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	const GpucolAggState *state = &states[final->state];
	__int128	sum = gpucol_agg_value128(state);
	int			scale = final->scale;

	if (final->low_state >= 0)
		return sum_packed(final, states);
	if (final->scale_state >= 0)
	{
		int			shown = (int) states[final->scale_state].v.value;

		for (; scale > shown; scale--)
			sum /= 10;
	}
	return gpucol_typemap_numeric(sum, scale);
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
	Datum		sum = gpucol_typemap_numeric(gpucol_agg_value128(state), final->scale);
	Datum		sumsq = gpucol_typemap_numeric(gpucol_agg_squares128(state),
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

/* min, max: values of the argument's class */
static void
value_datums(const GpucolFinal *final, const GpucolAggState *state, int nstates,
			 uint32 nrows, Datum *values, const bool *isnull)
{
	if (final->cls == GPUCOL_CLASS_D)
	{
		for (uint32 i = 0; i < nrows; i++, state += nstates)
		{
			if (!isnull[i])
				values[i] = gpucol_typemap_numeric(gpucol_agg_value128(state), final->scale);
		}
		return;
	}
	if (final->cls == GPUCOL_CLASS_F)
	{
		for (uint32 i = 0; i < nrows; i++, state += nstates)
			values[i] = final->type == FLOAT4OID ?
				Float4GetDatum((float4) state->v.f) : Float8GetDatum(state->v.f);
		return;
	}
	if (final->cls == GPUCOL_CLASS_S)
	{
		for (uint32 i = 0; i < nrows; i++, state += nstates)
		{
			GpucolBytes bytes = {state->v.s.data, state->v.s.len};

			values[i] = isnull[i] ? 0 : gpucol_typemap_from_bytes(map_of(final->type), bytes);
		}
		return;
	}
	for (uint32 i = 0; i < nrows; i++, state += nstates)
		values[i] = isnull[i] ? 0 : (Datum) state->v.value;
	gpucol_output_ints(map_of(final->type), (const int64 *) values, nrows, values);
}

/* A difference of timestamps, days apart, as PostgreSQL shows it. */
static Datum
span_datum(int64 usecs)
{
	Interval   *span = palloc0(sizeof(Interval));

	span->day = (int32) (usecs / USECS_PER_DAY);
	span->time = usecs % USECS_PER_DAY;
	return IntervalPGetDatum(span);
}

/* sum(interval), avg(interval) */
static Datum
sum_span(const GpucolFinal *final, const GpucolAggState *states)
{
	__int128	usecs = gpucol_agg_value128(&states[final->state]);
	__int128	days = gpucol_agg_value128(&states[final->x_state]);
	__int128	months = gpucol_agg_value128(&states[final->y_state]);
	Interval   *span = palloc0(sizeof(Interval));

	span->time = (int64) usecs;
	span->day = (int32) days;
	span->month = (int32) months;
	if (span->time != usecs || span->day != days || span->month != months)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("interval out of range")));
	if (final->kind == GPUCOL_FINAL_SUM_SPAN)
		return IntervalPGetDatum(span);
	return DirectFunctionCall2(interval_div, IntervalPGetDatum(span),
							   Float8GetDatum((double) states[final->state].count));
}

/* Results that PostgreSQL's numeric functions form. */
static Datum
numeric_datum(const GpucolFinal *final, const GpucolAggState *states)
{
	switch (final->kind)
	{
		case GPUCOL_FINAL_SUM_NUMERIC:
			return sum_numeric(final, states);
		case GPUCOL_FINAL_AVG_NUMERIC:
			return avg_numeric(final, states);
		default:
			return variance_numeric(final, &states[final->state]);
	}
}

/* Mark the groups that have too few rows for a result. */
static void
mark_nulls(const GpucolFinal *final, const GpucolAggState *state, int nstates,
		   uint32 nrows, bool *isnull)
{
	int64		least = 1;

	if (final->kind == GPUCOL_FINAL_COUNT || final->kind == GPUCOL_FINAL_DISTINCT)
	{
		memset(isnull, 0, nrows);
		return;
	}
	if (final->sample && (final->kind == GPUCOL_FINAL_VAR_NUMERIC ||
						  final->kind == GPUCOL_FINAL_VAR_FLOAT8))
		least = 2;
	for (uint32 i = 0; i < nrows; i++, state += nstates)
		isnull[i] = state->count < least;
}

/*
 * The results of one aggregate for `nrows` groups.
 */
void
gpucol_final_datums(const GpucolFinal *final, const GpucolAggState *states, int nstates,
					uint32 nrows, Datum *values, bool *isnull)
{
	const GpucolAggState *state = &states[final->state];

	mark_nulls(final, state, nstates, nrows, isnull);
	switch (final->kind)
	{
		case GPUCOL_FINAL_COUNT:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = Int64GetDatum(state->count);
			break;
		case GPUCOL_FINAL_DISTINCT:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = Int64GetDatum(state->v.value);
			break;
		case GPUCOL_FINAL_SUM_INT8:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : sum_int8(state);
			break;
		case GPUCOL_FINAL_SUM_MONEY:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : sum_money(state);
			break;
		case GPUCOL_FINAL_SUM_FLOAT4:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : sum_float4(state);
			break;
		case GPUCOL_FINAL_SUM_FLOAT8:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = Float8GetDatum(state->v.f);
			break;
		case GPUCOL_FINAL_AVG_FLOAT8:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 :
					Float8GetDatum(state->v.f / (double) state->count);
			break;
		case GPUCOL_FINAL_VALUE:
			value_datums(final, state, nstates, nrows, values, isnull);
			break;
		case GPUCOL_FINAL_BOOL:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = BoolGetDatum(state->v.value != 0);
			break;
		case GPUCOL_FINAL_REGRESSION:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = gpucol_final_regression(final, states + (Size) i * nstates, &isnull[i]);
			break;
		case GPUCOL_FINAL_SUM_SPAN:
		case GPUCOL_FINAL_AVG_SPAN:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = isnull[i] ? 0 : sum_span(final, states + (Size) i * nstates);
			break;
		case GPUCOL_FINAL_SPAN:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : span_datum(state->v.value);
			break;
		case GPUCOL_FINAL_VAR_FLOAT8:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : variance_float8(final, state);
			break;
		default:
			for (uint32 i = 0; i < nrows; i++)
				values[i] = isnull[i] ? 0 :
					numeric_datum(final, states + (Size) i * nstates);
			break;
	}
}

/*
 * The result of one aggregate for one group.
 */
Datum
gpucol_final_datum(const GpucolFinal *final, const GpucolAggState *states,
				   bool *isnull)
{
	Datum		value;

	gpucol_final_datums(final, states, 0, 1, &value, isnull);
	return *isnull ? (Datum) 0 : value;
}
