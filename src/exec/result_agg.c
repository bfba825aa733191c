/*-------------------------------------------------------------------------
 *
 * result_agg.c
 *	  The final step of aggregates: states as the datums that PostgreSQL's own
 *	  final functions would give.
 *
 * Numeric results are formed by numeric's SQL functions over the exact integer
 * state, in the way of PostgreSQL's final functions, so that they equal
 * PostgreSQL's digit for digit (moments.c: averages and variances).
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

#include "exec/moments.h"
#include "exec/result.h"
#include "kernel/agg_state.h"
#include "kernel/packed_decimal.h"
#include "lower/lower.h"

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
 * The mantissa of a sum that is not in parts, with the greatest number of fractional digits that one of
 * its rows had.
 */
static __int128
shown_sum(const GpucolFinal *final, const GpucolAggState *states, int *scale)
{
	__int128	sum = gpucol_agg_value128(&states[final->state]);

	*scale = final->scale;
	if (final->scale_state >= 0)
	{
		int			shown = (int) states[final->scale_state].v.value;

		for (; *scale > shown; (*scale)--)
			sum /= 10;
	}
	return sum;
}

/* A sum as numeric. */
static Datum
sum_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	__int128	sum;
	int			scale;

	if (final->low_state >= 0)
		return sum_packed(final, states);
	sum = shown_sum(final, states, &scale);
	return gpucol_typemap_numeric(sum, scale);
}

/* avg as the mantissa of a numeric, if it is one that is found quickly */
static bool
avg_mantissa(const GpucolFinal *final, const GpucolAggState *states, __int128 *mantissa, int *scale)
{
	__int128	sum;
	int			sum_scale;

	if (final->low_state >= 0)
		return false;
	sum = shown_sum(final, states, &sum_scale);
	return gpucol_divide_sum(sum, sum_scale, states[final->state].count, mantissa, scale);
}

/* avg as numeric */
static Datum
avg_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	int64		count = states[final->state].count;
	__int128	sum;
	int			scale;

	if (final->low_state >= 0)
		return DirectFunctionCall2(numeric_div, sum_packed(final, states), NumericGetDatum(int64_to_numeric(count)));
	sum = shown_sum(final, states, &scale);
	return gpucol_average_datum(sum, scale, count);
}

GpucolMoments
gpucol_final_moments(const GpucolFinal *final, const GpucolAggState *states)
{
	const GpucolAggState *state = &states[final->state];
	GpucolMoments moments = {.count = state->count,.sum = gpucol_agg_value128(state),
	.squares = gpucol_agg_squares128(state),.scale = final->scale,.sample = final->sample,.root = final->root};
	int			shown = final->scale_state >= 0 ? (int) states[final->scale_state].v.value : final->scale;

	/* no row has digits behind those that one of them displays */
	for (; moments.scale > shown; moments.scale--)
	{
		moments.sum /= 10;
		moments.squares /= 100;
	}
	moments.beyond = shown - moments.scale;
	return moments;
}

/* var_pop, var_samp, stddev_pop, stddev_samp over exact sums */
static Datum
variance_numeric(const GpucolFinal *final, const GpucolAggState *states)
{
	GpucolMoments moments = gpucol_final_moments(final, states);

	return gpucol_variance_datum(&moments);
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

/* min, max of decimals that carry their scale */
static Datum
packed_datum(const GpucolAggState *state)
{
	__int128	value = gpucol_agg_value128(state);

	return gpucol_typemap_numeric(gpucol_packed_mantissa(value), gpucol_packed_scale(value));
}

Datum
gpucol_span_datum(int64 usecs)
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
			return variance_numeric(final, states);
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
		case GPUCOL_FINAL_PACKED:
			for (uint32 i = 0; i < nrows; i++, state += nstates)
				values[i] = isnull[i] ? 0 : packed_datum(state);
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
				values[i] = isnull[i] ? 0 : gpucol_span_datum(state->v.value);
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

/* Results that are integers, in the states as they are. */
static bool
integer_column(const GpucolFinal *final, const GpucolAggState *state, int nstates, uint32 nrows,
			   GpucolResultColumn *column)
{
	int64	   *values;
	bool		counts = final->kind == GPUCOL_FINAL_COUNT;

	if (!counts && final->kind != GPUCOL_FINAL_DISTINCT &&
		!(final->kind == GPUCOL_FINAL_VALUE && (final->cls == GPUCOL_CLASS_I || final->cls == GPUCOL_CLASS_B)))
		return false;
	column->i = values = palloc(nrows * sizeof(int64));
	for (uint32 i = 0; i < nrows; i++, state += nstates)
		values[i] = counts ? state->count : state->v.value;
	return true;
}

/* The mantissa and scale of a result that has rows, if they are found quickly. */
static bool
scaled_mantissa(const GpucolFinal *final, const GpucolAggState *states, __int128 *mantissa, int *scale)
{
	__int128	packed;

	if (final->kind != GPUCOL_FINAL_PACKED)
		return avg_mantissa(final, states, mantissa, scale);
	packed = gpucol_agg_value128(&states[final->state]);
	*mantissa = gpucol_packed_mantissa(packed);
	*scale = gpucol_packed_scale(packed);
	return true;
}

/* Results with scales of their own as decimals of one scale; false if they are not. */
static bool
scaled_column(const GpucolFinal *final, const GpucolAggState *states, int nstates, uint32 nrows,
			  int *scale, __int128 *values)
{
	bool		any = false;

	*scale = 0;
	for (uint32 i = 0; i < nrows; i++, states += nstates)
	{
		int			own;

		values[i] = 0;
		if (states[final->state].count == 0)
			continue;
		if (!scaled_mantissa(final, states, &values[i], &own) || (any && own != *scale))
			return false;
		*scale = own;
		any = true;
	}
	return true;
}

/* Results that are decimals of one scale. */
static bool
decimal_column(const GpucolFinal *final, const GpucolAggState *states, int nstates, uint32 nrows,
			   int *scale, GpucolResultColumn *column)
{
	const GpucolAggState *state = states + final->state;
	bool		scaled = final->kind == GPUCOL_FINAL_AVG_NUMERIC || final->kind == GPUCOL_FINAL_PACKED;
	__int128   *values;

	if (!scaled &&
		!(final->kind == GPUCOL_FINAL_SUM_NUMERIC && final->low_state < 0 && final->scale_state < 0) &&
		!(final->kind == GPUCOL_FINAL_VALUE && final->cls == GPUCOL_CLASS_D))
		return false;
	column->d = values = gpucol_result_room(nrows * sizeof(__int128));
	if (scaled)
		return scaled_column(final, states, nstates, nrows, scale, values);
	*scale = final->scale;
	for (uint32 i = 0; i < nrows; i++, state += nstates)
		values[i] = gpucol_agg_value128(state);
	return true;
}

/*
 * The results of one aggregate as a column of an engine's result.
 */
void
gpucol_final_column(const GpucolFinal *final, const GpucolAggState *states, int nstates,
					uint32 nrows, GpucolOutput *output, GpucolResultColumn *column)
{
	bool	   *isnull = palloc(nrows * sizeof(bool));
	Datum	   *values;

	mark_nulls(final, states + final->state, nstates, nrows, isnull);
	*column = (GpucolResultColumn) {.cls = GPUCOL_CLASS_I};
	output->scale = 0;
	if (decimal_column(final, states, nstates, nrows, &output->scale, column))
		column->cls = GPUCOL_CLASS_D;
	else if (!integer_column(final, states + final->state, nstates, nrows, column))
	{
		values = palloc(nrows * sizeof(Datum));
		gpucol_final_datums(final, states, nstates, nrows, values, isnull);
		gpucol_result_column_of(values, isnull, nrows, output, column);
		return;
	}
	output->cls = column->cls;
	column->nulls = memchr(isnull, true, nrows) != NULL ? (const uint8_t *) isnull : NULL;
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
