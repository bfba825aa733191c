/*-------------------------------------------------------------------------
 *
 * feed_sample.c
 *	  Percentiles and modes of numbers and texts.
 *
 * What the engine delivers of an argument (integers, mantissas of decimals, floats) is an
 * int64 in the order of its type.  The numbers of all rows are collected with their
 * groups; in the end they are parted by group, and each group's are sorted, by radix where
 * there are many.  Several percentiles of one expression share one sample.
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
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "exec/feed.h"
#include "exec/feed_words.h"
#include "exec/item_table.h"
#include "kernel/float_order.h"

#define ST_SORT sort_numbers
#define ST_ELEMENT_TYPE int64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* From so many numbers on a radix sort is faster. */
#define RADIX_NUMBERS	1024

struct GpucolSample
{
	const GpucolFed *fed;		/* the first that it serves */
	GpucolOutput output;
	FmgrInfo	cast;			/* fn_oid InvalidOid: none */
	bool		descending;
	GpucolWords *words;			/* of texts, else NULL */
	int64	   *values;
	uint32	   *groups;
	uint64		n;
	uint64		room;
	uint64	   *starts;			/* by group, once finished; then the end */
};

GpucolSample *
gpucol_sample_create(const GpucolFed *fed)
{
	GpucolSample *sample = palloc0(sizeof(GpucolSample));
	Node	   *arg = (Node *) fed->args[0].expr;
	SortGroupClause *clause = linitial_node(SortGroupClause, fed->agg->aggorder);

	sample->fed = fed;
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
	return sample;
}

bool
gpucol_sample_serves(const GpucolSample *sample, const GpucolFed *fed)
{
	const GpucolFed *own = sample->fed;

	return fed->sample && own->cast == fed->cast && equal(own->agg->args, fed->agg->args) &&
		equal(own->agg->aggorder, fed->agg->aggorder) &&
		equal(own->agg->aggfilter, fed->agg->aggfilter);
}

/* Room for the numbers of so many rows more. */
static uint64
wanted_room(const GpucolSample *sample, uint64 nrows)
{
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

void
gpucol_sample_rows(GpucolSample *sample, const GpucolFeedRows *rows, const bool *pass)
{
	const GpucolFedArg *arg = &sample->fed->args[0];
	const GpucolResultColumn *column = &rows->result->columns[arg->output];
	uint32		nrows = rows->result->nrows;
	uint64		room = wanted_room(sample, (uint64) nrows * rows->nsets);
	uint64		n = sample->n;
	int64	   *numbers = NULL;

	if (room > sample->room)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(sample));

		sample->values = gpucol_grow(sample->values, room * sizeof(int64));
		sample->groups = gpucol_grow(sample->groups, room * sizeof(uint32));
		sample->room = room;
		MemoryContextSwitchTo(old);
	}
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
			if ((pass != NULL && !pass[row]) || (column->nulls != NULL && column->nulls[row]))
				continue;
			sample->values[n] = numbers != NULL ? numbers[row] : number_of(column, arg->value.cls, row);
			sample->groups[n++] = groups[row];
		}
	}
	sample->n = n;
}

/* Sort by eight bits at a time; digits that all numbers share cost nothing. */
static void
radix_sort(int64 *values, int64 *scratch, uint64 n)
{
	uint64	   *counts = palloc0(8 * 256 * sizeof(uint64));
	int64	   *from = values;
	int64	   *to = scratch;

	for (uint64 i = 0; i < n; i++)
	{
		uint64		v = (uint64) values[i] ^ (UINT64CONST(1) << 63);

		for (int digit = 0; digit < 8; digit++)
			counts[digit * 256 + (v >> (8 * digit) & 255)]++;
	}
	for (int digit = 0; digit < 8; digit++)
	{
		uint64	   *at = counts + digit * 256;
		uint64		first = ((uint64) from[0] ^ (UINT64CONST(1) << 63)) >> (8 * digit) & 255;
		uint64		sum = 0;
		int64	   *swap = from;

		if (at[first] == n)
			continue;
		for (int i = 0; i < 256; i++)
		{
			uint64		count = at[i];

			at[i] = sum;
			sum += count;
		}
		for (uint64 i = 0; i < n; i++)
		{
			uint64		v = (uint64) from[i] ^ (UINT64CONST(1) << 63);

			to[at[v >> (8 * digit) & 255]++] = from[i];
		}
		from = to;
		to = swap;
		CHECK_FOR_INTERRUPTS();
	}
	if (from != values)
		memcpy(values, from, n * sizeof(int64));
	pfree(counts);
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
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(sample));
	int64	   *scratch = gpucol_grow(NULL, Max(sample->n, 1) * sizeof(int64));
	int64	   *values = scratch;

	if (sample->words != NULL)
	{
		gpucol_words_sort(sample->words, meter);
		gpucol_words_rank(sample->words, sample->values, sample->n);
	}
	sample->starts = gpucol_grow(NULL, ((Size) ngroups + 1) * sizeof(uint64));
	memset(sample->starts, 0, ((Size) ngroups + 1) * sizeof(uint64));
	part_by_group(sample, ngroups, values);
	scratch = sample->values;
	sample->values = values;
	for (uint32 g = 0; g < ngroups; g++)
	{
		uint64		n = sample->starts[g + 1] - sample->starts[g];

		if (n >= RADIX_NUMBERS)
			radix_sort(values + sample->starts[g], scratch, n);
		else if (n > 1)
			sort_numbers(values + sample->starts[g], n);
	}
	if (scratch != NULL)
		pfree(scratch);
	if (sample->groups != NULL)
		pfree(sample->groups);
	sample->groups = NULL;
	MemoryContextSwitchTo(old);
}

/* The number at a place of a group's order. */
static int64
number_at(const GpucolSample *sample, uint32 group, int64 place)
{
	return sample->descending ? sample->values[sample->starts[group + 1] - 1 - place] :
		sample->values[sample->starts[group] + place];
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

/* Between two values, as percentile_cont has it. */
static Datum
continuous(GpucolSample *sample, uint32 group, int64 n, double fraction)
{
	int64		first = (int64) floor(fraction * (n - 1));
	int64		second = (int64) ceil(fraction * (n - 1));
	double		share = fraction * (n - 1) - first;
	double		lo = DatumGetFloat8(number_datum(sample, number_at(sample, group, first)));
	double		hi;

	if (first == second)
		return Float8GetDatum(lo);
	hi = DatumGetFloat8(number_datum(sample, number_at(sample, group, second)));
	return Float8GetDatum(lo + (share * (hi - lo)));
}

/* The first value that so large a share of all does not exceed: percentile_disc. */
static Datum
discrete(GpucolSample *sample, uint32 group, int64 n, double fraction)
{
	int64		place = (int64) ceil(fraction * n);

	return number_datum(sample, number_at(sample, group, Max(place, 1) - 1));
}

static Datum
percentile(GpucolSample *sample, const GpucolFed *fed, uint32 group, int64 n, double fraction)
{
	if (fed->agg->aggfnoid == F_PERCENTILE_CONT_FLOAT8_FLOAT8 ||
		fed->agg->aggfnoid == F_PERCENTILE_CONT__FLOAT8_FLOAT8)
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

	for (int64 i = 0; i < n; i++)
	{
		int64		number = number_at(sample, group, i);

		count = i > 0 && number == number_at(sample, group, i - 1) ? count + 1 : 1;
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
	int64		n = (int64) (sample->starts[group + 1] - sample->starts[group]);
	bool		several = fed->agg->aggfnoid == F_PERCENTILE_CONT__FLOAT8_FLOAT8 ||
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
