/*-------------------------------------------------------------------------
 *
 * encode_values.c
 *	  Choosing the coding of a chunk of 64-bit values (INT, DECIMAL, floats) and
 *	  packing it.
 *
 * One pass measures: least and greatest value, runs, a zone a vector.  That
 * gives the size under CONSTANT, FOR, RLE and RAW exactly.  A sample of rows
 * then says whether a dictionary or a decimal scale is worth a full pass, which
 * gives up as soon as it cannot win.  The smallest coding is chosen, after each
 * size is weighed by what reading it costs:
 *
 *	  FOR, SCALED, RAW	1
 *	  DICT				2 for INT and DECIMAL, whose predicates and sums work on
 *						FOR codes directly; 5/4 for floats, which gain a range
 *						test on codes
 *	  STEP				5/4: a multiplication a value
 *	  RLE				4: it is expanded before anything is computed with it
 *
 * STEP needs a common divisor of all distances from the least value.  A sample
 * proposes one; each value that it does not divide lowers it, until it is proven
 * or no longer pays.
 *
 * NULL rows take the value before them (the first value, if none), so that they
 * cost no width and break no run.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_values.h"

#define N GPUCOL_VECTOR_VALUES
#define RLE_WEIGHT 4
#define ZONE_VALUES 128			/* that are put in order together */

static void
widen_zone(GpucolZone *zone, int64_t min, int64_t max)
{
	zone->min = min < zone->min ? min : zone->min;
	zone->max = max > zone->max ? max : zone->max;
}

/* Zone of one vector of floats; notes a NaN. */
static GpucolZone
float_zone(GpucolChunkBuilder *b, const int64_t *values, uint32_t n)
{
	GpucolZone	zone = {INT64_MAX, INT64_MIN};

	for (uint32_t from = 0; from < n; from += ZONE_VALUES)
	{
		uint32_t	some = n - from < ZONE_VALUES ? n - from : ZONE_VALUES;
		int64_t		order[ZONE_VALUES];
		GpucolMeasure m;

		for (uint32_t i = 0; i < some; i++)
			order[i] = gpucol_float_order(gpucol_float_value(b->column->kind, values[from + i]));
		gpucol_bitpack_measure(order, some, &m);
		widen_zone(&zone, m.min, m.max);
	}
	if (zone.max == INT64_MAX)
		b->desc.flags |= GPUCOL_CHUNK_HAS_NAN;
	return zone;
}

static bool
vector_all_null(const GpucolChunkBuilder *b, uint32_t v)
{
	uint32_t	n = gpucol_chunk_vector_rows(b, v);

	for (uint32_t i = 0; i < n; i++)
		if (!gpucol_chunk_is_null(b, v * N + i))
			return false;
	return true;
}

/*
 * Zone of vector v.  A NULL row holds a value of the chunk but perhaps not of
 * this vector, which only makes the zone wider; a vector of NULLs alone gets the
 * empty zone.
 */
static GpucolZone
vector_zone(GpucolChunkBuilder *b, uint32_t v, const int64_t *values, uint32_t n,
			const GpucolMeasure *m)
{
	if ((b->desc.flags & GPUCOL_CHUNK_HAS_NULLS) && vector_all_null(b, v))
		return (GpucolZone) {INT64_MAX, INT64_MIN};
	if (is_float(b))
		return float_zone(b, values, n);
	return (GpucolZone) {m->min, m->max};
}

static GpucolStatus
measure(GpucolChunkBuilder *b, GpucolValueFacts *facts)
{
	GpucolValueReader		reader;
	uint32_t	row = 0;
	int64_t		last;

	facts->zones = gpucol_chunk_alloc(b, b->nvectors * sizeof(GpucolZone));
	if (facts->zones == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	while (gpucol_chunk_is_null(b, row))
		row++;
	facts->first = gpucol_chunk_int(b, row);
	facts->min = facts->max = last = facts->first;
	facts->runs = 1;
	facts->zone = (GpucolZone) {INT64_MAX, INT64_MIN};
	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);
		GpucolMeasure m;

		gpucol_bitpack_measure(values, n, &m);
		facts->min = m.min < facts->min ? m.min : facts->min;
		facts->max = m.max > facts->max ? m.max : facts->max;
		facts->runs += m.changes + (values[0] != last);
		last = values[n - 1];
		facts->zones[v] = vector_zone(b, v, values, n, &m);
		widen_zone(&facts->zone, facts->zones[v].min, facts->zones[v].max);
	}
	return GPUCOL_OK;
}

/*
 * ---- dictionary of 64-bit values ----
 */

/*
 * ---- common divisors ----
 */

/*
 * ---- floats that are decimals ----
 */

/*
 * ---- choice and packing ----
 */

static uint64_t
run_bytes(const GpucolValueFacts *facts, int width)
{
	return packed_bytes(GPUCOL_VECTORS((uint64_t) facts->runs), width) +
		4 * (uint64_t) facts->runs;
}

static int
range_width(int64_t min, int64_t max)
{
	return gpucol_bitpack_width((uint64_t) max - (uint64_t) min);
}

/* Take a coding. */
static void
take(GpucolChunkDesc *desc, GpucolCoding coding, int width, int64_t reference)
{
	desc->coding = (uint8_t) coding;
	desc->width = (uint8_t) width;
	desc->reference = reference;
	desc->step = 0;
}

/* Take STEP where distances have a divisor that pays; returns the new best. */
static uint64_t
consider_step(GpucolChunkBuilder *b, GpucolValueFacts *facts, uint64_t best)
{
	int			width;

	gpucol_values_try_step(b, facts);
	if (facts->divisor.value == 0)
		return best;
	width = gpucol_bitpack_width(((uint64_t) facts->max - (uint64_t) facts->min) /
								 facts->divisor.value);
	take(&b->desc, GPUCOL_CODING_STEP, width, facts->min);
	b->desc.step = facts->divisor.value;
	return packed_bytes(b->nvectors, width);
}

/* Take SCALED where it is smaller than `best` bytes; returns the new best. */
static uint64_t
consider_scaled(GpucolChunkBuilder *b, GpucolValueFacts *facts, uint64_t best)
{
	int			width;

	gpucol_values_try_scaled(b, facts);
	if (facts->scale < 0)
		return best;
	width = range_width(facts->mantissa_min, facts->mantissa_max);
	if (packed_bytes(b->nvectors, width) >= best)
		return best;
	take(&b->desc, GPUCOL_CODING_SCALED, width, facts->mantissa_min);
	b->desc.scale = (int8_t) facts->scale;
	return packed_bytes(b->nvectors, width);
}

/* Take DICT where it is clearly smaller than *best bytes. */
static GpucolStatus
consider_dict(GpucolChunkBuilder *b, GpucolValueFacts *facts, uint64_t *best)
{
	GpucolStatus status = gpucol_values_try_dict(b, facts, *best);

	if (status != GPUCOL_OK || facts->ndict == 0 ||
		dict_bytes(b, facts->ndict) * dict_weight(b) >= *best * 4)
		return status;
	take(&b->desc, GPUCOL_CODING_DICT, gpucol_bitpack_width(facts->ndict - 1), 0);
	b->desc.scale = b->column->scale;
	b->desc.ndict = facts->ndict;
	*best = dict_bytes(b, facts->ndict);
	return GPUCOL_OK;
}

/*
 * Set coding, width, reference and scale; facts may gain a dictionary.  Where
 * runs win by far, nothing else is tried.
 */
static GpucolStatus
choose(GpucolChunkBuilder *b, GpucolValueFacts *facts)
{
	int			range = range_width(facts->min, facts->max);
	uint64_t	runs = run_bytes(facts, range) * RLE_WEIGHT;
	uint64_t	best;
	GpucolStatus status = GPUCOL_OK;

	if (range == 0)
	{
		take(&b->desc, GPUCOL_CODING_CONSTANT, 0, facts->min);
		return GPUCOL_OK;
	}
	if (!is_float(b))
		take(&b->desc, GPUCOL_CODING_FOR, range, facts->min);
	else
		take(&b->desc, GPUCOL_CODING_RAW,
			 b->column->kind == GPUCOL_KIND_FLOAT4 ? 32 : 64, 0);
	best = packed_bytes(b->nvectors, b->desc.width);
	if (runs * RLE_WEIGHT >= best)
	{
		best = is_float(b) ? consider_scaled(b, facts, best) :
			consider_step(b, facts, best);
		status = consider_dict(b, facts, &best);
	}
	if (runs < best)
	{
		take(&b->desc, GPUCOL_CODING_RLE, range, facts->min);
		b->desc.scale = b->column->scale;
		b->desc.ndict = 0;
		b->desc.nruns = facts->runs;
	}
	return status;
}

GpucolStatus
gpucol_chunk_encode_values(GpucolChunkBuilder *b)
{
	GpucolValueFacts		facts = {.scale = -1};
	GpucolStatus status = measure(b, &facts);

	if (status == GPUCOL_OK)
		status = choose(b, &facts);
	if (status == GPUCOL_OK)
		status = gpucol_values_pack(b, &facts);
	gpucol_chunk_free(b, facts.zones);
	gpucol_chunk_free(b, facts.codes);
	gpucol_chunk_free(b, facts.dict);
	return status;
}
