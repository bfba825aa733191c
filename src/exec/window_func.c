/*-------------------------------------------------------------------------
 *
 * window_func.c
 *	  One window function over a partition, and its result for a row.
 *
 * A function whose result is a value of some row (lag, first_value, min, ...) yields the
 * number of that row.  Sums and counts of exact numbers are differences of those before
 * two places; numeric results are formed when a row is delivered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "columnar/typemap.h"
#include "exec/moments.h"
#include "exec/window_agg.h"
#include "exec/window_func.h"

bool
gpucol_window_scratch_init(GpucolWindowScratch *scratch, GpucolWindowRows *rows, uint32 largest, bool squares)
{
	Size		n = (Size) largest + 2;

	if (!gpucol_window_rows_fit(rows, n * ((squares ? 2 : 1) * sizeof(int128) + 4 * sizeof(uint32))))
		return false;
	scratch->squares = squares ? gpucol_window_rows_alloc(rows, n * sizeof(int128)) : NULL;
	scratch->sums = gpucol_window_rows_alloc(rows, n * sizeof(int128));
	scratch->counts = gpucol_window_rows_alloc(rows, n * sizeof(uint32));
	scratch->places = gpucol_window_rows_alloc(rows, n * sizeof(uint32));
	scratch->tree = gpucol_window_rows_alloc(rows, 2 * n * sizeof(uint32));
	return true;
}

void
gpucol_window_scratch_free(GpucolWindowScratch *scratch)
{
	if (scratch->squares != NULL)
		pfree(scratch->squares);
	pfree(scratch->sums);
	pfree(scratch->counts);
	pfree(scratch->places);
	pfree(scratch->tree);
}

bool
gpucol_window_func_framed(const GpucolWindowFunction *f)
{
	return f->kind >= GPUCOL_WINDOW_FIRST;
}

/* ------------------------------------------------------------------------
 * Before
 * ------------------------------------------------------------------------
 */

/* Room for results; false where memory does not suffice. */
static bool
make_results(GpucolWindowFunction *f, GpucolWindowRows *rows)
{
	Size		n = rows->nrows;

	if (!gpucol_window_rows_fit(rows, n * ((f->kind == GPUCOL_WINDOW_VAR_NUMERIC ? 2 : 1) * sizeof(int128) +
										   sizeof(uint32) + 1)))
		return false;
	if (f->kind == GPUCOL_WINDOW_VAR_NUMERIC)
		f->squares = gpucol_window_rows_alloc(rows, n * sizeof(int128));
	switch (f->kind)
	{
		case GPUCOL_WINDOW_LAG:
		case GPUCOL_WINDOW_LEAD:
		case GPUCOL_WINDOW_FIRST:
		case GPUCOL_WINDOW_LAST:
		case GPUCOL_WINDOW_NTH:
		case GPUCOL_WINDOW_EXTREME:
			f->source = gpucol_window_rows_alloc(rows, n * sizeof(uint32));
			break;
		case GPUCOL_WINDOW_SUM_NUMERIC:
		case GPUCOL_WINDOW_AVG_NUMERIC:
		case GPUCOL_WINDOW_VAR_NUMERIC:
			f->sums = gpucol_window_rows_alloc(rows, n * sizeof(int128));
			f->counts = gpucol_window_rows_alloc(rows, n * sizeof(uint32));
			if (f->shown != NULL)
				f->shown_scale = gpucol_window_rows_alloc(rows, n);
			break;
		default:
			f->values = gpucol_window_rows_alloc(rows, n * sizeof(Datum));
			f->isnull = gpucol_window_rows_alloc(rows, n * sizeof(bool));
			memset(f->isnull, 0, n);
			break;
	}
	return true;
}

const char *
gpucol_window_func_prepare(GpucolWindowFunction *f, GpucolWindowRows *rows)
{
	const char *why;

	f->ints = NULL;
	f->shown = NULL;
	f->shown_scale = NULL;
	f->sums = NULL;
	f->squares = NULL;
	f->source = NULL;
	f->values = NULL;
	f->formed = (Datum) 0;
	if (f->kind == GPUCOL_WINDOW_NTILE && !f->number.isnull && DatumGetInt32(f->number.value) <= 0)
		return "a number of tiles that is not positive";
	if (f->kind == GPUCOL_WINDOW_EXTREME)
	{
		f->codes.input = f->input;
		f->codes.sortop = gpucol_window_extreme_order(f->func);
		f->codes.collation = f->func->inputcollid;
		f->oldest = rows->inputs[f->input].type == BPCHAROID;
		if (!gpucol_window_codes_make(rows, &f->codes))
			return GPUCOL_WINDOW_MEMORY;
	}
	else if ((why = gpucol_window_agg_prepare(f, rows)) != NULL)
		return why;
	return make_results(f, rows) ? NULL : GPUCOL_WINDOW_MEMORY;
}

/* ------------------------------------------------------------------------
 * Functions without frames
 * ------------------------------------------------------------------------
 */

#define ROW(place)	(part->items[place].row)
#define AT(place)	gpucol_window_at(part, place)

static void
run_row_number(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	for (uint32 i = 0; i < part->n; i++)
		f->values[AT(i)] = Int64GetDatum((int64) i + 1);
}

static void
run_rank(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	double		others = (double) part->n - 1;

	for (uint32 i = 0; i < part->n; i++)
	{
		uint32		group = part->group[i];
		int64		rank = (int64) part->group_start[group] + 1;

		if (f->kind == GPUCOL_WINDOW_RANK)
			f->values[AT(i)] = Int64GetDatum(rank);
		else if (f->kind == GPUCOL_WINDOW_DENSE_RANK)
			f->values[AT(i)] = Int64GetDatum((int64) group + 1);
		else if (f->kind == GPUCOL_WINDOW_PERCENT_RANK)
			f->values[AT(i)] = Float8GetDatum(part->n <= 1 ? 0 : (double) (rank - 1) / others);
		else
			f->values[AT(i)] = Float8GetDatum((double) part->group_start[group + 1] /
											   (double) part->n);
	}
}

/* The first tiles are larger by one where rows do not divide evenly. */
static void
run_ntile(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	uint32		tiles = f->number.isnull ? 1 : DatumGetInt32(f->number.value);
	uint32		each = part->n / tiles;
	uint32		larger = part->n % tiles;

	for (uint32 i = 0; i < part->n; i++)
	{
		uint32		in_larger = larger * (each + 1);

		f->isnull[AT(i)] = f->number.isnull;
		if (f->number.isnull)
			continue;
		f->values[AT(i)] = Int32GetDatum(i < in_larger ? i / (each + 1) + 1 :
										  larger + (i - in_larger) / each + 1);
	}
}

/* A number for a row; false where it is NULL. */
static inline bool
number_of(const GpucolWindowFunction *f, const GpucolWindowPart *part, uint32 row, int32 *number)
{
	const GpucolWindowInput *in;

	if (f->number.input < 0)
	{
		*number = DatumGetInt32(f->number.value);
		return !f->number.isnull;
	}
	in = &part->rows->inputs[f->number.input];
	*number = DatumGetInt32(in->values[row]);
	return !in->isnull[row];
}

static void
run_lag(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	for (uint32 i = 0; i < part->n; i++)
	{
		uint32		row = ROW(i);
		int32		offset;
		int64		at;

		f->source[AT(i)] = GPUCOL_WINDOW_NO_ROW;
		if (!number_of(f, part, row, &offset))
			continue;
		at = f->kind == GPUCOL_WINDOW_LAG ? (int64) i - offset : (int64) i + offset;
		if (at >= 0 && at < (int64) part->n)
			f->source[AT(i)] = ROW(at);
		else if (f->instead != NULL)
			f->source[AT(i)] = GPUCOL_WINDOW_DEFAULT_ROW;
	}
}

/* ------------------------------------------------------------------------
 * Rows of a frame
 * ------------------------------------------------------------------------
 */

static const char *
run_nth(GpucolWindowFunction *f, const GpucolWindowPart *part)
{
	for (uint32 i = 0; i < part->n; i++)
	{
		GpucolWindowSpan spans[3];
		uint32		at = AT(i);
		int			n = gpucol_window_spans(part, i, spans);
		int32		number = 1;
		uint32		skip;

		f->source[at] = GPUCOL_WINDOW_NO_ROW;
		if (f->kind == GPUCOL_WINDOW_NTH && !number_of(f, part, ROW(i), &number))
			continue;
		if (number <= 0)
			return "nth_value of a row whose number is not positive";
		if (n == 0)
			continue;
		if (f->kind == GPUCOL_WINDOW_LAST)
		{
			f->source[at] = ROW(spans[n - 1].end - 1);
			continue;
		}
		skip = (uint32) number - 1;
		for (int k = 0; k < n; k++)
		{
			uint32		length = spans[k].end - spans[k].start;

			if (skip < length)
			{
				f->source[at] = ROW(spans[k].start + skip);
				break;
			}
			skip -= length;
		}
	}
	return NULL;
}

const char *
gpucol_window_func_run(GpucolWindowFunction *f, const GpucolWindowPart *part,
					   GpucolWindowScratch *scratch)
{
	switch (f->kind)
	{
		case GPUCOL_WINDOW_ROW_NUMBER:
			run_row_number(f, part);
			return NULL;
		case GPUCOL_WINDOW_RANK:
		case GPUCOL_WINDOW_DENSE_RANK:
		case GPUCOL_WINDOW_PERCENT_RANK:
		case GPUCOL_WINDOW_CUME_DIST:
			run_rank(f, part);
			return NULL;
		case GPUCOL_WINDOW_NTILE:
			run_ntile(f, part);
			return NULL;
		case GPUCOL_WINDOW_LAG:
		case GPUCOL_WINDOW_LEAD:
			run_lag(f, part);
			return NULL;
		case GPUCOL_WINDOW_FIRST:
		case GPUCOL_WINDOW_LAST:
		case GPUCOL_WINDOW_NTH:
			return run_nth(f, part);
		default:
			return gpucol_window_agg_run(f, part, scratch);
	}
}

/* ------------------------------------------------------------------------
 * Results
 * ------------------------------------------------------------------------
 */

/* The result of sums at a scale. */
static Datum
result_of(const GpucolWindowFunction *f, int128 sum, int128 squares, uint32 count, int scale)
{
	GpucolMoments moments = {.count = count,.sum = sum,.squares = squares,.scale = scale,.sample = f->sample,
	.root = f->root};

	switch (f->kind)
	{
		case GPUCOL_WINDOW_AVG_NUMERIC:
			return gpucol_average_datum(sum, scale, count);
		case GPUCOL_WINDOW_VAR_NUMERIC:
			return gpucol_variance_datum(&moments);
		default:
			return gpucol_typemap_numeric(sum, scale);
	}
}

/* A sum, average or variance as numeric; it is kept for the next row, which often has the same. */
static Datum
form_numeric(GpucolWindowFunction *f, uint32 at)
{
	int128		sum = f->sums[at];
	int128		squares = f->squares == NULL ? 0 : f->squares[at];
	int			scale = f->shown_scale != NULL ? f->shown_scale[at] : f->scale;
	MemoryContext old;

	if (f->formed != (Datum) 0 && f->formed_sum == sum && f->formed_squares == squares &&
		f->formed_count == f->counts[at] && f->formed_scale == scale)
		return f->formed;
	f->nformed++;
	f->formed_sum = sum;
	f->formed_squares = squares;
	f->formed_count = f->counts[at];
	f->formed_scale = (uint8) scale;
	for (int i = f->scale; i > scale; i--)
	{
		sum /= 10;
		squares /= 100;
	}
	MemoryContextReset(f->formed_context);
	old = MemoryContextSwitchTo(f->formed_context);
	f->formed = result_of(f, sum, squares, f->formed_count, scale);
	MemoryContextSwitchTo(old);
	return f->formed;
}

Datum
gpucol_window_func_numeric(GpucolWindowFunction *f, uint32 at, bool *isnull)
{
	*isnull = f->counts[at] < (f->sample ? 2 : 1);
	return *isnull ? (Datum) 0 : form_numeric(f, at);
}
