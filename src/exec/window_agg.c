/*-------------------------------------------------------------------------
 *
 * window_agg.c
 *	  Aggregates over frames.
 *
 * Counts and exact sums are differences of those before two places, so that a frame costs
 * the same whatever its size.  Sums of floats are added from the frame's first row to its
 * last, and their squares, as PostgreSQL adds them, going on from the row before where the
 * frame only grows.
 * Least and greatest values come from a queue of the rows that can still be the result;
 * of frames with holes, from a tree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/numeric.h"

#include "columnar/typemap.h"
#include "exec/result.h"
#include "exec/window_agg.h"
#include "exec/window_fed.h"

/* PostgreSQL's average also squares its rows, which for larger ones might overflow. */
#define LARGEST_AVERAGED	1e100

/* Sums of squares below are those of 128 bits. */
#define LARGEST_SQUARES	1.6e38

#define ROW(place)	(part->items[place].row)
#define AT(place)	gpucol_window_at(part, place)

/* ------------------------------------------------------------------------
 * Arguments
 * ------------------------------------------------------------------------
 */

/* Numerics as integers at one scale. */
static const char *
prepare_numeric(GpucolWindowFunction *f, GpucolWindowRows *rows, const GpucolWindowInput *in)
{
	GpucolTypeMap map = {.type_oid = NUMERICOID,.kind = GPUCOL_KIND_DECIMAL};
	bool		varies = false;

	f->scale = gpucol_window_greatest_scale(rows, in, &varies);
	if (f->scale < 0)
		return "numerics that are no integers of 18 decimal places at most";
	map.scale = (int8) f->scale;
	if (varies)
	{
		if (!gpucol_window_rows_fit(rows, rows->nrows * sizeof(uint64)))
			return GPUCOL_WINDOW_MEMORY;
		f->shown = gpucol_window_rows_alloc(rows, rows->nrows * sizeof(uint64));
	}
	for (uint32 i = 0; i < rows->nrows; i++)
	{
		f->ints[i] = 0;
		if (in->isnull[i])
			continue;
		if (!gpucol_typemap_to_int64(&map, in->values[i], &f->ints[i]))
			return "numerics of more than 18 digits";
		if (varies)
			f->shown[i] = f->scale - gpucol_window_scale(in->values[i]);
	}
	return NULL;
}

const char *
gpucol_window_agg_prepare(GpucolWindowFunction *f, GpucolWindowRows *rows)
{
	const GpucolWindowInput *in;

	f->scale = 0;
	if (f->kind != GPUCOL_WINDOW_SUM && !gpucol_window_is_formed(f->kind))
		return NULL;
	in = &rows->inputs[f->input];
	if (in->mantissas)
	{
		f->ints = (int64 *) in->values;
		f->scale = in->scale;
		return NULL;
	}
	if (!gpucol_window_rows_fit(rows, rows->nrows * sizeof(int64)))
		return GPUCOL_WINDOW_MEMORY;
	f->ints = gpucol_window_rows_alloc(rows, rows->nrows * sizeof(int64));
	if (in->type == NUMERICOID)
		return prepare_numeric(f, rows, in);
	for (uint32 i = 0; i < rows->nrows; i++)
		f->ints[i] = in->isnull[i] ? 0 : gpucol_integer_of(in->type, in->values[i]);
	return NULL;
}

/* ------------------------------------------------------------------------
 * Counts and exact sums
 * ------------------------------------------------------------------------
 */

/* Is a row one that the aggregate takes?  All are of an input that is NULL. */
static inline bool
is_taken(const GpucolWindowInput *in, uint32 row)
{
	return in == NULL || !in->isnull[row];
}

/* Count, or sum, the rows before each place. */
static void
sum_before(const GpucolWindowFunction *f, const GpucolWindowPart *part,
		   const GpucolWindowScratch *scratch)
{
	const GpucolWindowInput *in = f->input < 0 || !part->rows->inputs[f->input].nulls ? NULL :
		&part->rows->inputs[f->input];
	uint32		count = 0;
	int128		sum = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		uint32		row = ROW(i);

		scratch->counts[i] = count;
		count += is_taken(in, row);
		if (f->ints == NULL)
			continue;
		scratch->sums[i] = sum;
		sum += f->ints[row];
	}
	scratch->counts[part->n] = count;
	scratch->sums[part->n] = sum;
}

/* The same of rows that are true. */
static void
count_true(const GpucolWindowFunction *f, const GpucolWindowPart *part,
		   const GpucolWindowScratch *scratch)
{
	const GpucolWindowInput *in = &part->rows->inputs[f->input];
	uint32		count = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		uint32		row = ROW(i);

		scratch->places[i] = count;
		count += !in->isnull[row] && DatumGetBool(in->values[row]);
	}
	scratch->places[part->n] = count;
}

/* Sum the squares of the rows before each place; the largest one. */
static double
square_before(const GpucolWindowFunction *f, const GpucolWindowPart *part, const GpucolWindowScratch *scratch)
{
	double		largest = 0;
	uint128		sum = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		int64		value = f->ints[ROW(i)];

		scratch->squares[i] = sum;
		sum += (uint128) ((int128) value * value);
		largest = Max(largest, (double) value * (double) value);
	}
	scratch->squares[part->n] = sum;
	return largest;
}

/* The sums of squares of frames; NULL, or why there is none. */
static const char *
run_squares(GpucolWindowFunction *f, const GpucolWindowPart *part, GpucolWindowScratch *scratch)
{
	double		largest = square_before(f, part, scratch);

	for (uint32 i = 0; i < part->n; i++)
	{
		GpucolWindowSpan spans[3];
		uint32		at = AT(i);
		int			n = gpucol_window_spans(part, i, spans);
		uint128		sum = 0;

		if (f->counts[at] * largest > LARGEST_SQUARES)
			return "sums of squares of more than 128 bits";
		for (int k = 0; k < n; k++)
			sum += scratch->squares[spans[k].end] - scratch->squares[spans[k].start];
		f->squares[at] = (int128) sum;
	}
	return NULL;
}

static const char *
run_sums(GpucolWindowFunction *f, const GpucolWindowPart *part, GpucolWindowScratch *scratch)
{
	bool		logical = f->kind == GPUCOL_WINDOW_ALL || f->kind == GPUCOL_WINDOW_ANY;

	sum_before(f, part, scratch);
	if (logical)
		count_true(f, part, scratch);
	for (uint32 i = 0; i < part->n; i++)
	{
		GpucolWindowSpan spans[3];
		uint32		at = AT(i);
		int			n = gpucol_window_spans(part, i, spans);
		uint32		count = 0;
		uint32		count_of_true = 0;
		int128		sum = 0;

		for (int k = 0; k < n; k++)
		{
			count += scratch->counts[spans[k].end] - scratch->counts[spans[k].start];
			if (f->ints != NULL)
				sum += scratch->sums[spans[k].end] - scratch->sums[spans[k].start];
			if (logical)
				count_of_true += scratch->places[spans[k].end] - scratch->places[spans[k].start];
		}
		if (f->kind == GPUCOL_WINDOW_COUNT)
			f->values[at] = Int64GetDatum((int64) count);
		else if (logical)
		{
			f->isnull[at] = count == 0;
			f->values[at] = BoolGetDatum(f->kind == GPUCOL_WINDOW_ALL ? count_of_true == count :
										  count_of_true > 0);
		}
		else if (f->kind == GPUCOL_WINDOW_SUM)
		{
			if (sum != (int64) sum)
				return "a sum that is out of range";
			f->isnull[at] = count == 0;
			f->values[at] = Int64GetDatum((int64) sum);
		}
		else
		{
			f->sums[at] = sum;
			f->counts[at] = count;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------
 * Sums of floats
 * ------------------------------------------------------------------------
 */

/* What has been added so far of a frame. */
typedef struct FloatSum
{
	double		sum;
	double		squares;		/* of deviations */
	uint32		count;
	bool		failed;			/* PostgreSQL would raise an error, or might */
} FloatSum;

/* The next row of a variance, by the algorithm of Youngs and Cramer, as PostgreSQL's float8_accum has it. */
static inline void
add_deviation(double value, FloatSum *state)
{
	double		n = (double) state->count + 1;
	double		sum = state->sum + value;
	double		deviation;

	if (state->count == 0)
	{
		if (isnan(value) || isinf(value))
			state->squares = NAN;
	}
	else
	{
		deviation = value * n - sum;
		state->squares += deviation * deviation / (n * (n - 1));
		if (isinf(sum) || isinf(state->squares))
		{
			state->failed |= !isinf(state->sum) && !isinf(value);
			state->squares = NAN;
		}
	}
	state->sum = sum;
}

static inline void
add_float(const GpucolWindowFunction *f, const GpucolWindowInput *in, uint32 row, FloatSum *state)
{
	double		value;
	double		sum;

	if (in->isnull[row])
		return;
	value = in->type == FLOAT4OID ? DatumGetFloat4(in->values[row]) : DatumGetFloat8(in->values[row]);
	if (f->kind == GPUCOL_WINDOW_VAR_FLOAT)
		add_deviation(value, state);
	else if (f->kind == GPUCOL_WINDOW_AVG_FLOAT)
	{
		state->sum += value;
		state->failed |= fabs(value) > LARGEST_AVERAGED && !isinf(value);
	}
	else if (state->count == 0)
		state->sum = value;
	else
	{
		sum = in->type == FLOAT4OID ? (float) state->sum + (float) value : state->sum + value;
		state->failed |= isinf(sum) && !isinf(value) && !isinf(state->sum);
		state->sum = sum;
	}
	state->count++;
}

/* What is made of a frame's sums. */
static Datum
float_result(const GpucolWindowFunction *f, Oid type, const FloatSum *state)
{
	double		n = (double) state->count;
	double		variance;

	switch (f->kind)
	{
		case GPUCOL_WINDOW_AVG_FLOAT:
			return Float8GetDatum(state->count == 0 ? 0 : state->sum / n);
		case GPUCOL_WINDOW_VAR_FLOAT:
			variance = state->count == 0 ? 0 : state->squares / (f->sample ? n - 1 : n);
			return Float8GetDatum(f->root ? sqrt(variance) : variance);
		default:
			return type == FLOAT4OID ? Float4GetDatum((float) state->sum) : Float8GetDatum(state->sum);
	}
}

static const char *
run_floats(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	const GpucolWindowInput *in = &part->rows->inputs[f->input];
	bool		excludes = (part->frames->options & FRAMEOPTION_EXCLUSION) != 0;
	FloatSum	state = {0};
	uint32		from = 0;		/* what has been added */
	uint32		to = 0;
	uint32		work = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		GpucolWindowSpan spans[3];
		uint32		result = AT(i);
		int			n = gpucol_window_spans(part, i, spans);

		if (excludes || n == 0 || spans[0].start != from || spans[0].end < to)
		{
			state = (FloatSum) {.failed = state.failed};
			from = to = n == 0 ? 0 : spans[0].start;
		}
		for (int k = 0; k < n; k++)
		{
			for (uint32 at = k == 0 ? to : spans[k].start; at < spans[k].end; at++, work++)
				add_float(f, in, ROW(at), &state);
			if (k == 0)
				to = spans[0].end;
		}
		if (work > 1000000)
		{
			CHECK_FOR_INTERRUPTS();
			work = 0;
		}
		if (state.failed)
			return "a sum of floats that may be out of range";
		f->isnull[result] = state.count < (f->sample ? 2 : 1);
		f->values[result] = float_result(f, in->type, &state);
	}
	return NULL;
}

/* ------------------------------------------------------------------------
 * Least codes
 * ------------------------------------------------------------------------
 */

/* What is least by codes of rows that are not NULL. */
typedef struct Least
{
	const GpucolWindowPart *part;
	const uint64 *codes;
	const bool *isnull;
	bool		oldest;
} Least;

#define NO_PLACE	PG_UINT32_MAX

/* Which of two places has the result, the second being behind the first? */
static inline uint32
better(const Least *l, uint32 first, uint32 second)
{
	uint64		a;
	uint64		b;

	if (first == NO_PLACE || second == NO_PLACE)
		return first == NO_PLACE ? second : first;
	a = l->codes[l->part->items[first].row];
	b = l->codes[l->part->items[second].row];
	return a < b || (a == b && l->oldest) ? first : second;
}

/* Frames without holes, whose bounds never move back. */
static void
least_of_spans(const Least *l, GpucolWindowScratch *scratch, uint32 *result)
{
	const GpucolWindowPart *part = l->part;
	uint32	   *queue = scratch->places;
	uint32		first = 0;
	uint32		n = 0;
	uint32		to = 0;

	for (uint32 i = 0; i < part->n; i++)
	{
		for (; to < part->high[i]; to++)
		{
			if (l->isnull[ROW(to)])
				continue;
			while (n > first && better(l, queue[n - 1], to) == to)
				n--;
			queue[n++] = to;
		}
		while (first < n && queue[first] < part->low[i])
			first++;
		result[i] = first < n && part->low[i] < part->high[i] ? queue[first] : NO_PLACE;
	}
}

/* The result of places from `from` to before `to` of a tree of n leaves. */
static uint32
ask_tree(const Least *l, const uint32 *tree, uint32 n, uint32 from, uint32 to)
{
	uint32		left = NO_PLACE;
	uint32		right = NO_PLACE;
	uint64		a = (uint64) from + n;
	uint64		b = (uint64) to + n;

	for (; a < b; a /= 2, b /= 2)
	{
		if (a % 2 == 1)
			left = better(l, left, tree[a++]);
		if (b % 2 == 1)
			right = better(l, tree[--b], right);
	}
	return better(l, left, right);
}

/* Frames with holes. */
static void
least_of_holes(const Least *l, GpucolWindowScratch *scratch, uint32 *result)
{
	const GpucolWindowPart *part = l->part;
	uint32	   *tree = scratch->tree;
	uint32		n = part->n;

	for (uint32 i = 0; i < n; i++)
		tree[n + i] = l->isnull[ROW(i)] ? NO_PLACE : i;
	for (uint32 i = n - 1; i > 0; i--)
	{
		uint32		a = tree[2 * i];
		uint32		b = tree[2 * i + 1];

		/* where n is no power of two some nodes have their children the other way round */
		tree[i] = a != NO_PLACE && b != NO_PLACE && a > b ? better(l, b, a) : better(l, a, b);
	}
	for (uint32 i = 0; i < n; i++)
	{
		GpucolWindowSpan spans[3];
		int			nspans = gpucol_window_spans(part, i, spans);

		result[i] = NO_PLACE;
		for (int k = 0; k < nspans; k++)
			result[i] = better(l, result[i], ask_tree(l, tree, n, spans[k].start, spans[k].end));
	}
}

/* The place of the least code in each frame. */
static void
find_least(const Least *l, GpucolWindowScratch *scratch, uint32 *result)
{
	if ((l->part->frames->options & FRAMEOPTION_EXCLUSION) != 0)
		least_of_holes(l, scratch, result);
	else
		least_of_spans(l, scratch, result);
}

static void
run_extreme(GpucolWindowFunction *f, const GpucolWindowPart *part, GpucolWindowScratch *scratch)
{
	Least		least = {.part = part,.codes = f->codes.codes,
	.isnull = part->rows->inputs[f->input].isnull,.oldest = f->oldest};
	uint32	   *result = scratch->counts;

	find_least(&least, scratch, result);
	for (uint32 i = 0; i < part->n; i++)
		f->source[AT(i)] = result[i] == NO_PLACE ? GPUCOL_WINDOW_NO_ROW : ROW(result[i]);
}

/* How many digits each sum shows: as many as a row of the frame that shows the most. */
static void
run_shown(GpucolWindowFunction *f, const GpucolWindowPart *part, GpucolWindowScratch *scratch)
{
	Least		least = {.part = part,.codes = f->shown,
	.isnull = part->rows->inputs[f->input].isnull};
	uint32	   *result = scratch->counts;

	find_least(&least, scratch, result);
	for (uint32 i = 0; i < part->n; i++)
		f->shown_scale[AT(i)] = result[i] == NO_PLACE ? 0 :
			(uint8) (f->scale - f->shown[ROW(result[i])]);
}

const char *
gpucol_window_agg_run(GpucolWindowFunction *f, const GpucolWindowPart *part,
					  GpucolWindowScratch *scratch)
{
	const char *why;

	CHECK_FOR_INTERRUPTS();
	switch (f->kind)
	{
		case GPUCOL_WINDOW_EXTREME:
			run_extreme(f, part, scratch);
			return NULL;
		case GPUCOL_WINDOW_SUM_FLOAT:
		case GPUCOL_WINDOW_AVG_FLOAT:
		case GPUCOL_WINDOW_VAR_FLOAT:
			return run_floats(f, part);
		case GPUCOL_WINDOW_FED:
			return gpucol_window_fed_run(f, part);
		default:
			why = run_sums(f, part, scratch);
			if (why == NULL && f->squares != NULL)
				why = run_squares(f, part, scratch);
			if (why == NULL && f->shown != NULL)
				run_shown(f, part, scratch);
			return why;
	}
}
