/*-------------------------------------------------------------------------
 *
 * feed_sample.c
 *	  Percentiles and modes of numbers and texts.
 *
 * What the engine delivers of an argument (integers, mantissas of decimals, floats, microseconds of
 * intervals) is an int64 in the order of its type.  The numbers of all rows are collected with their
 * groups; in the end they are parted by group.  Percentiles of a group are sought by their places, or, of
 * several, found in its order (feed_numbers.c).  Those of one expression share one sample.
 *
 * Few small numbers are only counted (feed_tally.c).
 *
 * Texts are numbers, too: as they come, numbers of the different ones (feed_words.c), then their places in
 * the order.
 *
 * The results are those of orderedsetaggs.c of PostgreSQL: the same positions and the same
 * arithmetic between two of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "exec/feed.h"
#include "exec/feed_numbers.h"
#include "exec/feed_tally.h"
#include "exec/feed_words.h"
#include "exec/item_table.h"
#include "kernel/float_order.h"

/* More percentiles of one sample have its groups sorted. */
#define MOST_SELECTED	4

/* No group. */
#define NO_GROUP	PG_UINT32_MAX

struct GpucolSample
{
	const GpucolFed *fed;		/* the first that it serves */
	GpucolOutput output;
	FmgrInfo	cast;			/* fn_oid InvalidOid: none */
	bool		descending;
	GpucolWords *words;			/* of texts, else NULL */
	GpucolTally *tally;			/* of few small numbers instead of all that follows; NULL: there are others */
	int64	   *values;
	uint32	   *groups;
	uint64		n;
	uint64		room;
	uint64	   *starts;			/* by group, once finished; then the end */
	int			nserved;		/* aggregates */
	int64	   *scratch;		/* for the largest group */
	uint32		sorted;			/* the group that was sorted last, or NO_GROUP */
};

GpucolSample *
gpucol_sample_create(const GpucolFed *fed)
{
	GpucolSample *sample = palloc0(sizeof(GpucolSample));
	Node	   *arg = (Node *) fed->args[0].expr;
	SortGroupClause *clause = linitial_node(SortGroupClause, fed->agg->aggorder);

	sample->fed = fed;
	sample->nserved = 1;
	sample->sorted = NO_GROUP;
	gpucol_output_init(&sample->output, exprType(arg), exprTypmod(arg), InvalidOid,
					   &fed->args[0].value);
	if (OidIsValid(fed->cast))
		fmgr_info(fed->cast, &sample->cast);
	/* of a cast, the operator is that of its result */
	sample->descending = clause->sortop ==
		lookup_type_cache(OidIsValid(fed->cast) ? FLOAT8OID : exprType(arg),
						  TYPECACHE_GT_OPR)->gt_opr;
	if (fed->args[0].value.cls == GPUCOL_CLASS_S)
		sample->words = gpucol_words_create(exprType(arg), exprCollation(arg));
	else
		sample->tally = gpucol_tally_create();
	return sample;
}

bool
gpucol_sample_serves(GpucolSample *sample, const GpucolFed *fed)
{
	const GpucolFed *own = sample->fed;

	if (!fed->sample || own->cast != fed->cast || !equal(own->agg->args, fed->agg->args) ||
		!equal(own->agg->aggorder, fed->agg->aggorder) ||
		!equal(own->agg->aggfilter, fed->agg->aggfilter))
		return false;
	sample->nserved++;
	return true;
}

/* Room for the numbers of so many rows more, those that are counted included. */
static uint64
wanted_room(const GpucolSample *sample, uint64 nrows)
{
	if (sample->tally != NULL)
		nrows += gpucol_tally_total(sample->tally);
	return sample->n + nrows <= sample->room ? sample->room :
		Max(Max(sample->room + sample->room / 2, sample->n + nrows), 4096);
}

Size
gpucol_sample_room(const GpucolSample *sample, uint64 nrows)
{
	uint64		room = wanted_room(sample, nrows);

	return (room == sample->room ? 0 : room * (sizeof(int64) + sizeof(uint32))) +
		(sample->words == NULL ? 0 : gpucol_words_room(sample->words, nrows));
}

/* A number of the engine's column as an int64 in order. */
static inline int64
number_of(const GpucolResultColumn *column, GpucolClass cls, uint32 row)
{
	switch (cls)
	{
		case GPUCOL_CLASS_D:
			return (int64) column->d[row];
		case GPUCOL_CLASS_F:
			return gpucol_float_order(column->f[row]);
		default:
			return column->i[row];
	}
}

/* Make room for the numbers of so many rows more. */
static void
reserve(GpucolSample *sample, uint64 nrows)
{
	uint64		room = wanted_room(sample, nrows);
	MemoryContext old;

	if (room == sample->room)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(sample));
	sample->values = gpucol_grow(sample->values, room * sizeof(int64));
	sample->groups = gpucol_grow(sample->groups, room * sizeof(uint32));
	sample->room = room;
	MemoryContextSwitchTo(old);
}

/* Is a row of a batch left out? */
static inline bool
is_left_out(const GpucolResultColumn *column, const bool *pass, uint32 row)
{
	return (pass != NULL && !pass[row]) || (column->nulls != NULL && column->nulls[row]);
}

/* Count the numbers of a batch; false where they are not small, or too many. */
static bool
count_rows(GpucolSample *sample, const GpucolFeedRows *rows, const bool *pass)
{
	GpucolClass cls = sample->fed->args[0].value.cls;
	const GpucolResultColumn *column = &rows->result->columns[sample->fed->args[0].output];
	uint32		nrows = rows->result->nrows;
	int64		least = PG_INT64_MAX;
	int64		greatest = PG_INT64_MIN;

	for (uint32 row = 0; row < nrows; row++)
	{
		int64		number;

		if (is_left_out(column, pass, row))
			continue;
		number = number_of(column, cls, row);
		least = Min(least, number);
		greatest = Max(greatest, number);
	}
	if (least > greatest)
		return true;
	if (!gpucol_tally_reserve(sample->tally, least, greatest, rows->ngroups, (uint64) nrows * rows->nsets))
		return false;
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		for (uint32 row = 0; row < nrows; row++)
		{
			if (!is_left_out(column, pass, row))
				gpucol_tally_count(sample->tally, rows->groups[(Size) set * nrows + row],
								   number_of(column, cls, row));
		}
	}
	return true;
}

/* Have the numbers that were counted be collected like others. */
static void
stop_counting(GpucolSample *sample)
{
	reserve(sample, 0);
	gpucol_tally_list(sample->tally, sample->values, sample->groups);
	sample->n = gpucol_tally_total(sample->tally);
	gpucol_tally_free(sample->tally);
	sample->tally = NULL;
}

void
gpucol_sample_rows(GpucolSample *sample, const GpucolFeedRows *rows, const bool *pass)
{
	const GpucolFedArg *arg = &sample->fed->args[0];
	const GpucolResultColumn *column = &rows->result->columns[arg->output];
	uint32		nrows = rows->result->nrows;
	uint64		n;
	int64	   *numbers = NULL;

	if (sample->tally != NULL)
	{
		if (count_rows(sample, rows, pass))
			return;
		stop_counting(sample);
	}
	reserve(sample, (uint64) nrows * rows->nsets);
	n = sample->n;
	if (sample->words != NULL)
	{
		numbers = palloc(Max(nrows, 1) * sizeof(int64));
		gpucol_words_number(sample->words, column, pass, nrows, numbers);
	}
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		for (uint32 row = 0; row < nrows; row++)
		{
			if (is_left_out(column, pass, row))
				continue;
			sample->values[n] = numbers != NULL ? numbers[row] : number_of(column, arg->value.cls, row);
			sample->groups[n++] = groups[row];
		}
	}
	sample->n = n;
}

Size
gpucol_sample_finish_room(const GpucolSample *sample)
{
	return sample->n * sizeof(int64) + (sample->words == NULL ? 0 : gpucol_words_sort_room(sample->words));
}

/* Part the numbers by group: into an array of their own, which takes their place. */
static void
part_by_group(GpucolSample *sample, uint32 ngroups, int64 *parted)
{
	for (uint64 i = 0; i < sample->n; i++)
		sample->starts[sample->groups[i] + 1]++;
	for (uint32 g = 0; g < ngroups; g++)
		sample->starts[g + 1] += sample->starts[g];
	for (uint64 i = 0; i < sample->n; i++)
		parted[sample->starts[sample->groups[i]]++] = sample->values[i];
	/* every start has moved to the next one's place */
	memmove(sample->starts + 1, sample->starts, ngroups * sizeof(uint64));
	sample->starts[0] = 0;
}

void
gpucol_sample_finish(GpucolSample *sample, uint32 ngroups, GpucolMeter *meter)
{
	MemoryContext old;
	int64	   *values;
	uint64		largest = 0;

	if (sample->tally != NULL)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(sample));
	values = gpucol_grow(NULL, Max(sample->n, 1) * sizeof(int64));
	if (sample->words != NULL)
	{
		gpucol_words_sort(sample->words, meter);
		gpucol_words_rank(sample->words, sample->values, sample->n);
	}
	sample->starts = gpucol_grow(NULL, ((Size) ngroups + 1) * sizeof(uint64));
	memset(sample->starts, 0, ((Size) ngroups + 1) * sizeof(uint64));
	part_by_group(sample, ngroups, values);
	for (uint32 g = 0; g < ngroups; g++)
		largest = Max(largest, sample->starts[g + 1] - sample->starts[g]);
	if (sample->values != NULL)
		pfree(sample->values);
	if (sample->groups != NULL)
		pfree(sample->groups);
	sample->values = values;
	sample->groups = NULL;
	sample->scratch = gpucol_grow(NULL, Max(largest, 1) * sizeof(int64));
	MemoryContextSwitchTo(old);
}

/* Sort a group. */
static void
sort_group(GpucolSample *sample, uint32 group)
{
	uint64		start = sample->starts[group];

	if (sample->sorted != group)
		gpucol_numbers_sort(sample->values + start, sample->scratch, sample->starts[group + 1] - start);
	sample->sorted = group;
}

/* The numbers at a place of a group's order and at the one behind it, if there is one. */
static int64
number_at(GpucolSample *sample, uint32 group, int64 place, int64 *next)
{
	const int64 *values;
	int64		n;
	int64		number;

	if (sample->tally != NULL)
		return gpucol_tally_at(sample->tally, group, place, sample->descending, next);
	values = sample->values + sample->starts[group];
	n = (int64) (sample->starts[group + 1] - sample->starts[group]);
	if (sample->nserved > MOST_SELECTED)
		sort_group(sample, group);
	if (sample->sorted == group)
	{
		*next = place + 1 == n ? 0 : sample->descending ? values[n - 2 - place] : values[place + 1];
		return values[sample->descending ? n - 1 - place : place];
	}
	if (!sample->descending)
		return gpucol_numbers_select(values, sample->scratch, n, place, next);
	if (place + 1 == n)
		return gpucol_numbers_select(values, sample->scratch, n, 0, next);
	*next = gpucol_numbers_select(values, sample->scratch, n, n - 2 - place, &number);
	return number;
}

/* A number as a datum of the aggregate's argument. */
static Datum
number_datum(GpucolSample *sample, int64 number)
{
	GpucolClass cls = sample->fed->args[0].value.cls;
	GpucolResultColumn column = {.cls = cls};
	__int128	mantissa = number;
	double		value;
	int64		bits = number < 0 ? number ^ PG_INT64_MAX : number;
	bool		isnull;
	Datum		datum;

	memcpy(&value, &bits, sizeof(value));
	if (sample->words != NULL)
		return gpucol_words_datum(sample->words, number);
	if (cls == GPUCOL_CLASS_D)
		column.d = &mantissa;
	else if (cls == GPUCOL_CLASS_F)
		column.f = &value;
	else
		column.i = &number;
	gpucol_output_datums(&sample->output, &column, 1, &datum, &isnull);
	return OidIsValid(sample->cast.fn_oid) ? FunctionCall1(&sample->cast, datum) : datum;
}

static void
check_fraction(double fraction)
{
	if (fraction < 0 || fraction > 1 || isnan(fraction))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile value %g is not between 0 and 1", fraction)));
}

/* Is it percentile_cont? */
static bool
is_continuous(const GpucolFed *fed)
{
	switch (fed->agg->aggfnoid)
	{
		case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
		case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
		case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
			return true;
		default:
			return false;
	}
}

/* Between two intervals, as percentile_cont has it. */
static Datum
between_spans(Datum lo, Datum hi, double share)
{
	Datum		part = DirectFunctionCall2(interval_mul, DirectFunctionCall2(interval_mi, hi, lo),
										   Float8GetDatum(share));

	return DirectFunctionCall2(interval_pl, part, lo);
}

/* Between two values, as percentile_cont has it. */
static Datum
continuous(GpucolSample *sample, uint32 group, int64 n, double fraction)
{
	int64		first = (int64) floor(fraction * (n - 1));
	int64		second = (int64) ceil(fraction * (n - 1));
	double		share = fraction * (n - 1) - first;
	int64		next;
	Datum		low = number_datum(sample, number_at(sample, group, first, &next));
	double		lo;
	double		hi;

	if (first == second)
		return low;
	if (sample->fed->args[0].span)
		return between_spans(low, number_datum(sample, next), share);
	lo = DatumGetFloat8(low);
	hi = DatumGetFloat8(number_datum(sample, next));
	return Float8GetDatum(lo + (share * (hi - lo)));
}

/* The first value that so large a share of all does not exceed: percentile_disc. */
static Datum
discrete(GpucolSample *sample, uint32 group, int64 n, double fraction)
{
	int64		place = (int64) ceil(fraction * n);
	int64		next;

	return number_datum(sample, number_at(sample, group, Max(place, 1) - 1, &next));
}

static Datum
percentile(GpucolSample *sample, const GpucolFed *fed, uint32 group, int64 n, double fraction)
{
	if (is_continuous(fed))
		return continuous(sample, group, n, fraction);
	return discrete(sample, group, n, fraction);
}

/* The most frequent value, of several the first. */
static Datum
mode(GpucolSample *sample, uint32 group, int64 n)
{
	int64		best = 0;
	int64		best_count = 0;
	int64		count = 0;
	int64		before = 0;

	if (sample->tally != NULL)
		return number_datum(sample, gpucol_tally_mode(sample->tally, group, sample->descending));
	if (gpucol_numbers_mode(sample->values + sample->starts[group], n, sample->descending, &best))
		return number_datum(sample, best);
	sort_group(sample, group);
	for (int64 i = 0; i < n; i++)
	{
		int64		next;
		int64		number = number_at(sample, group, i, &next);

		count = i > 0 && number == before ? count + 1 : 1;
		before = number;
		if (count > best_count)
		{
			best = number;
			best_count = count;
		}
	}
	return number_datum(sample, best);
}

/* An array of percentiles. */
static Datum
percentiles(GpucolSample *sample, const GpucolFed *fed, uint32 group, int64 n, Datum fractions)
{
	ArrayType  *array = DatumGetArrayTypeP(fractions);
	Oid			type = get_element_type(fed->agg->aggtype);
	Datum	   *values;
	bool	   *isnull;
	int			count;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &values, &isnull, &count);
	if (count == 0)
		return PointerGetDatum(construct_empty_array(type));
	for (int i = 0; i < count; i++)
	{
		if (!isnull[i])
			check_fraction(DatumGetFloat8(values[i]));
	}
	if (count > MOST_SELECTED && sample->tally == NULL)
		sort_group(sample, group);
	for (int i = 0; i < count; i++)
	{
		if (!isnull[i])
			values[i] = percentile(sample, fed, group, n, DatumGetFloat8(values[i]));
	}
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	return PointerGetDatum(construct_md_array(values, isnull, ARR_NDIM(array), ARR_DIMS(array),
											  ARR_LBOUND(array), type, typlen, typbyval,
											  typalign));
}

Datum
gpucol_sample_result(GpucolSample *sample, const GpucolFed *fed, uint32 group, Datum fraction,
					 bool fraction_null, bool *isnull)
{
	int64		n = sample->tally != NULL ? gpucol_tally_numbers(sample->tally, group) :
		(int64) (sample->starts[group + 1] - sample->starts[group]);
	bool		several = fed->agg->aggfnoid == F_PERCENTILE_CONT__FLOAT8_FLOAT8 ||
		fed->agg->aggfnoid == F_PERCENTILE_CONT__FLOAT8_INTERVAL ||
		fed->agg->aggfnoid == F_PERCENTILE_DISC__FLOAT8_ANYELEMENT;

	*isnull = fed->agg->aggfnoid != F_MODE && fraction_null;
	if (*isnull)
		return (Datum) 0;
	if (fed->agg->aggfnoid != F_MODE && !several)
		check_fraction(DatumGetFloat8(fraction));
	*isnull = n == 0;
	if (n == 0)
		return (Datum) 0;
	if (fed->agg->aggfnoid == F_MODE)
		return mode(sample, group, n);
	return several ? percentiles(sample, fed, group, n, fraction) :
		percentile(sample, fed, group, n, DatumGetFloat8(fraction));
}
