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
#include "columnar/encode_chunk.h"

#include <math.h>
#include <stdlib.h>

#include "kernel/float_order.h"

#define N GPUCOL_VECTOR_VALUES
#define SAMPLE_ROWS 4096
#define MAX_DICT 65536
#define RLE_WEIGHT 4
#define MAX_EXACT 9007199254740992.0	/* 2^53 */

/* Sequential reader of vectors with NULL rows filled in. */
typedef struct Reader
{
	const GpucolChunkBuilder *b;
	int64_t		carry;
	int64_t		filled[N];
} Reader;

/*
 * Exact division by multiplication with the inverse modulo 2^64 (Granlund and
 * Montgomery, 1994): with the divisor's power of two shifted out of x, x times
 * the inverse of the odd part is the quotient if there is no remainder, and
 * greater than UINT64_MAX / odd if there is.
 */
typedef struct Divisor
{
	uint64_t	value;
	int			shift;			/* its power of two */
	uint64_t	inverse;		/* of its odd part */
	uint64_t	limit;			/* greatest quotient by its odd part */
} Divisor;

/* What the measuring pass and the trials found. */
typedef struct Facts
{
	int64_t		first;			/* first non-null value */
	int64_t		min;			/* of values; bit patterns for floats */
	int64_t		max;
	uint32_t	runs;
	GpucolZone *zones;			/* one a vector, in the domain's order */
	GpucolZone	zone;			/* of the chunk */

	/* STEP: how to divide by the common divisor, which is 0 if none pays */
	Divisor divisor;

	/* SCALED: mantissas' bounds at `scale`, which is -1 if it does not apply */
	int			scale;
	int64_t		mantissa_min;
	int64_t		mantissa_max;

	/* DICT: provisional codes by row and ascending values; NULL if not tried */
	uint32_t   *codes;
	int64_t    *dict;
	uint32_t	ndict;
} Facts;

static bool
is_float(const GpucolChunkBuilder *b)
{
	return gpucol_kind_is_float(b->column->kind);
}

static void
reader_start(Reader *r, const GpucolChunkBuilder *b, const Facts *facts)
{
	r->b = b;
	r->carry = facts->first;
}

/* 32-bit values of a whole vector as 64-bit ones. */
static void
widen(const uint32_t *narrow, bool is_signed, int64_t *out)
{
	if (is_signed)
		for (int i = 0; i < N; i++)
			out[i] = (int32_t) narrow[i];
	else
		for (int i = 0; i < N; i++)
			out[i] = narrow[i];
}

/* Copy the n values of vector v to r->filled. */
static void
copy_vector(Reader *r, uint32_t v, uint32_t n)
{
	const GpucolEncodeColumn *column = r->b->column;

	if (column->narrow == NULL)
		memcpy(r->filled, column->values + (size_t) v * N, n * sizeof(int64_t));
	else if (n == N)
		widen(column->narrow + (size_t) v * N, column->narrow_signed, r->filled);
	else
		for (uint32_t i = 0; i < n; i++)
			r->filled[i] = gpucol_chunk_int(r->b, v * N + i);
}

/* Values of vector v (in sequence), its rows only. */
static const int64_t *
read_vector(Reader *r, uint32_t v)
{
	const GpucolEncodeColumn *column = r->b->column;
	bool		nulls = (r->b->desc.flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	uint32_t	n = gpucol_chunk_vector_rows(r->b, v);

	if (!nulls && column->narrow == NULL)
		return column->values + (size_t) v * N;
	copy_vector(r, v, n);
	for (uint32_t w = 0; nulls && w < (n + 31) / 32; w++)
	{
		uint32_t	bits = column->nulls[v * (N / 32) + w];

		for (; bits != 0; bits &= bits - 1)
		{
			uint32_t	i = w * 32 + (uint32_t) __builtin_ctz(bits);

			if (i < n)
				r->filled[i] = i > 0 ? r->filled[i - 1] : r->carry;
		}
	}
	r->carry = r->filled[n - 1];
	return r->filled;
}

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
	int64_t		order[N];
	GpucolMeasure m;

	for (uint32_t i = 0; i < n; i++)
		order[i] = gpucol_float_order(gpucol_float_value(b->column->kind, values[i]));
	gpucol_bitpack_measure(order, n, &m);
	if (m.max == INT64_MAX)
		b->desc.flags |= GPUCOL_CHUNK_HAS_NAN;
	return (GpucolZone) {m.min, m.max};
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
measure(GpucolChunkBuilder *b, Facts *facts)
{
	Reader		reader;
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
	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
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
 * Do zones of vectors exclude anything?  Yes if on average a vector spans less
 * than three quarters of the chunk's range.
 */
static bool
zones_pay(const GpucolChunkBuilder *b, const Facts *facts)
{
	double		range = (double) facts->zone.max - (double) facts->zone.min;
	double		sum = 0;

	if (b->nvectors < 2 || range <= 0)
		return false;
	for (uint32_t v = 0; v < b->nvectors; v++)
		if (facts->zones[v].max >= facts->zones[v].min)
			sum += (double) facts->zones[v].max - (double) facts->zones[v].min;
	return sum < 0.75 * range * b->nvectors;
}

/*
 * ---- dictionary of 64-bit values ----
 */

/* Open addressing, keys beside their codes; code 0 = free, else code + 1. */
typedef struct Slot
{
	int64_t		key;
	uint32_t	code;
} Slot;

static inline uint32_t
hash_slot(int64_t key, int bits)
{
	return (uint32_t) ((uint64_t) key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* Slot of a key, or the free one where it belongs. */
static inline Slot *
find_slot(Slot *table, int bits, int64_t key)
{
	uint32_t	mask = (UINT32_C(1) << bits) - 1;
	uint32_t	i = hash_slot(key, bits);

	while (table[i].code != 0 && table[i].key != key)
		i = (i + 1) & mask;
	return &table[i];
}

/* Distinct values among up to SAMPLE_ROWS rows spread over the chunk. */
static GpucolStatus
sample_distinct(const GpucolChunkBuilder *b, uint32_t *sampled, uint32_t *distinct)
{
	enum {BITS = 13};
	uint32_t	step = b->nrows / SAMPLE_ROWS + 1;
	Slot	   *table = gpucol_chunk_alloc(b, sizeof(Slot) << BITS);

	if (table == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(table, 0, sizeof(Slot) << BITS);
	*sampled = *distinct = 0;
	for (uint32_t row = 0; row < b->nrows; row += step)
	{
		Slot	   *slot;

		if (gpucol_chunk_is_null(b, row))
			continue;
		++*sampled;
		slot = find_slot(table, BITS, gpucol_chunk_int(b, row));
		if (slot->code == 0)
		{
			slot->key = gpucol_chunk_int(b, row);
			slot->code = ++*distinct;
		}
	}
	gpucol_chunk_free(b, table);
	return GPUCOL_OK;
}

static uint64_t
dict_bytes(const GpucolChunkBuilder *b, uint64_t ndict)
{
	return (uint64_t) b->nvectors * GPUCOL_ROW_BYTES *
		(uint64_t) gpucol_bitpack_width(ndict - 1) + 8 * ndict;
}

/* Weight of DICT in quarters; see the head of the file. */
static uint64_t
dict_weight(const GpucolChunkBuilder *b)
{
	return is_float(b) ? 5 : 8;
}

typedef struct Entry
{
	int64_t		value;
	int64_t		order;
	uint32_t	code;			/* provisional */
} Entry;

static int
compare_entries(const void *a, const void *b)
{
	const Entry *x = a;
	const Entry *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->value != y->value)
		return (uint64_t) x->value < (uint64_t) y->value ? -1 : 1;
	return 0;
}

/* Sort the distinct values and renumber the rows' codes. */
static GpucolStatus
sort_dict(const GpucolChunkBuilder *b, const Slot *table, int bits, Facts *facts)
{
	Entry	   *entries = gpucol_chunk_alloc(b, facts->ndict * sizeof(Entry));
	uint32_t   *rank = gpucol_chunk_alloc(b, facts->ndict * sizeof(uint32_t));
	uint32_t	n = 0;

	facts->dict = gpucol_chunk_alloc(b, facts->ndict * sizeof(int64_t));
	if (entries == NULL || rank == NULL || facts->dict == NULL)
	{
		gpucol_chunk_free(b, entries);
		gpucol_chunk_free(b, rank);
		return GPUCOL_OUT_OF_MEMORY;
	}
	for (uint32_t i = 0; i < UINT32_C(1) << bits; i++)
	{
		int64_t		key = table[i].key;

		if (table[i].code == 0)
			continue;
		entries[n].value = key;
		entries[n].order = !is_float(b) ? key :
			gpucol_float_order(gpucol_float_value(b->column->kind, key));
		entries[n++].code = table[i].code - 1;
	}
	qsort(entries, n, sizeof(Entry), compare_entries);
	for (uint32_t i = 0; i < n; i++)
	{
		facts->dict[i] = entries[i].value;
		rank[entries[i].code] = i;
	}
	for (uint32_t row = 0; row < b->nrows; row++)
		facts->codes[row] = rank[facts->codes[row]];
	gpucol_chunk_free(b, entries);
	gpucol_chunk_free(b, rank);
	return GPUCOL_OK;
}

/*
 * Number the distinct values in order of appearance; facts->ndict = 0 if there
 * are more than `limit`.
 */
static void
number_values(const GpucolChunkBuilder *b, Facts *facts, Slot *table, int bits,
			  uint32_t limit)
{
	Reader		reader;

	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
		{
			Slot	   *slot = find_slot(table, bits, values[i]);

			if (slot->code == 0)
			{
				if (facts->ndict == limit)
				{
					facts->ndict = 0;
					return;
				}
				slot->key = values[i];
				slot->code = ++facts->ndict;
			}
			facts->codes[(size_t) v * N + i] = slot->code - 1;
		}
	}
}

/* Greatest dictionary that still beats `best` bytes, at most MAX_DICT. */
static uint32_t
dict_limit(const GpucolChunkBuilder *b, uint64_t best)
{
	uint32_t	limit = MAX_DICT;

	while (limit > 1 && dict_bytes(b, limit) * dict_weight(b) >= best * 4)
		limit /= 2;
	return limit > 1 ? limit : 0;
}

/* Build a dictionary if a sample says that it may beat `best` bytes. */
static GpucolStatus
try_dict(const GpucolChunkBuilder *b, Facts *facts, uint64_t best)
{
	uint32_t	limit = dict_limit(b, best);
	uint32_t	sampled;
	uint32_t	distinct;
	int			bits;
	Slot	   *table;
	GpucolStatus status;

	if (limit == 0)
		return GPUCOL_OK;
	status = sample_distinct(b, &sampled, &distinct);
	if (status != GPUCOL_OK || distinct > limit || distinct > sampled / 2 + 16)
		return status;
	bits = gpucol_bitpack_width(limit) + 1;
	table = gpucol_chunk_alloc(b, sizeof(Slot) << bits);
	facts->codes = gpucol_chunk_alloc(b, (size_t) b->nrows * sizeof(uint32_t));
	status = GPUCOL_OUT_OF_MEMORY;
	if (table != NULL && facts->codes != NULL)
	{
		memset(table, 0, sizeof(Slot) << bits);
		number_values(b, facts, table, bits, limit);
		status = facts->ndict > 0 ? sort_dict(b, table, bits, facts) : GPUCOL_OK;
	}
	gpucol_chunk_free(b, table);
	return status;
}

/*
 * ---- common divisors ----
 */

static uint64_t
greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void
set_divisor(Divisor *divisor, uint64_t value)
{
	uint64_t	odd;
	uint64_t	inverse;

	divisor->value = value;
	divisor->shift = __builtin_ctzll(value);
	odd = value >> divisor->shift;
	inverse = odd;				/* right in the lowest 3 bits; each step doubles them */
	for (int bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - odd * inverse;
	divisor->inverse = inverse;
	divisor->limit = UINT64_MAX / odd;
}

/* Quotient of a multiple of the divisor. */
static inline uint64_t
divide(const Divisor *divisor, uint64_t x)
{
	return (x >> divisor->shift) * divisor->inverse;
}

static inline bool
divides(const Divisor *divisor, uint64_t x)
{
	return (x & ((UINT64_C(1) << divisor->shift) - 1)) == 0 &&
		divide(divisor, x) <= divisor->limit;
}

/* Is a divisor worth its multiplication, and no code beyond int64? */
static bool
step_pays(const Facts *facts, uint64_t step)
{
	uint64_t	range = (uint64_t) facts->max - (uint64_t) facts->min;
	int			width;

	if (step < 2 || step > INT64_MAX)
		return false;
	width = gpucol_bitpack_width(range / step);
	return width * 5 <= gpucol_bitpack_width(range) * 4 &&
		gpucol_bitpack_max(width) <=
		((uint64_t) INT64_MAX - (uint64_t) facts->min) / step;
}

/* Common divisor of a sample's distances from the least value, 0 if none pays. */
static uint64_t
sample_step(const GpucolChunkBuilder *b, const Facts *facts)
{
	uint32_t	step = b->nrows / (SAMPLE_ROWS / 16) + 1;
	uint64_t	divisor = (uint64_t) facts->max - (uint64_t) facts->min;

	for (uint32_t row = 0; row < b->nrows && divisor >= 2; row += step)
		if (!gpucol_chunk_is_null(b, row))
			divisor = greatest_common_divisor(divisor,
											  (uint64_t) gpucol_chunk_int(b, row) -
											  (uint64_t) facts->min);
	return step_pays(facts, divisor) ? divisor : 0;
}

/* Find the common divisor of all distances from the least value. */
static void
try_step(const GpucolChunkBuilder *b, Facts *facts)
{
	Divisor    *divisor = &facts->divisor;
	uint64_t	proposed = sample_step(b, facts);
	Reader		reader;

	if (proposed == 0)
		return;
	set_divisor(divisor, proposed);
	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	distance = (uint64_t) values[i] - (uint64_t) facts->min;

			if (divides(divisor, distance))
				continue;
			proposed = greatest_common_divisor(divisor->value, distance);
			if (!step_pays(facts, proposed))
			{
				divisor->value = 0;
				return;
			}
			set_divisor(divisor, proposed);
		}
	}
}

/*
 * ---- floats that are decimals ----
 */

/*
 * Mantissa of a value at a scale, if dividing it by the power of ten gives the
 * value back bit for bit.
 */
static inline bool
mantissa(GpucolKind kind, int64_t bits, double power, int64_t *out)
{
	double		scaled = gpucol_float_value(kind, bits) * power;
	int64_t		m;

	if (!(fabs(scaled) <= MAX_EXACT))
		return false;
	m = (int64_t) rint(scaled);
	*out = m;
	return gpucol_float_bits(kind, (double) m / power) == bits;
}

/* Least scale from `scale` on that fits the value, or -1. */
static int
scale_of(GpucolKind kind, int64_t bits, int scale)
{
	int64_t		m;

	for (; scale <= GPUCOL_MAX_FLOAT_SCALE; scale++)
		if (mantissa(kind, bits, gpucol_float_power10(scale), &m))
			return scale;
	return -1;
}

/* Greatest least scale of a sample of rows; -1 if some row has none. */
static int
sample_scale(const GpucolChunkBuilder *b)
{
	uint32_t	step = b->nrows / (SAMPLE_ROWS / 16) + 1;
	int			scale = 0;

	for (uint32_t row = 0; row < b->nrows && scale >= 0; row += step)
		if (!gpucol_chunk_is_null(b, row))
			scale = scale_of(b->column->kind, gpucol_chunk_int(b, row), scale);
	return scale;
}

/* Bounds of the mantissas at a scale; false at the first value that has none. */
static bool
mantissa_bounds(const GpucolChunkBuilder *b, Facts *facts, int scale,
				int64_t *failed)
{
	double		power = gpucol_float_power10(scale);
	Reader		reader;

	facts->mantissa_min = INT64_MAX;
	facts->mantissa_max = INT64_MIN;
	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
		{
			int64_t		m;

			if (!mantissa(b->column->kind, values[i], power, &m))
			{
				*failed = values[i];
				return false;
			}
			facts->mantissa_min = m < facts->mantissa_min ? m : facts->mantissa_min;
			facts->mantissa_max = m > facts->mantissa_max ? m : facts->mantissa_max;
		}
	}
	return true;
}

static void
try_scaled(const GpucolChunkBuilder *b, Facts *facts)
{
	int64_t		failed;
	int			scale = sample_scale(b);

	while (scale >= 0 && !mantissa_bounds(b, facts, scale, &failed))
		scale = scale < GPUCOL_MAX_FLOAT_SCALE ?
			scale_of(b->column->kind, failed, scale + 1) : -1;
	facts->scale = scale;
}

/*
 * ---- choice and packing ----
 */

static uint64_t
packed_bytes(uint64_t nvectors, int width)
{
	return nvectors * (uint64_t) width * GPUCOL_ROW_BYTES;
}

static uint64_t
run_bytes(const Facts *facts, int width)
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
consider_step(GpucolChunkBuilder *b, Facts *facts, uint64_t best)
{
	int			width;

	try_step(b, facts);
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
consider_scaled(GpucolChunkBuilder *b, Facts *facts, uint64_t best)
{
	int			width;

	try_scaled(b, facts);
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
consider_dict(GpucolChunkBuilder *b, Facts *facts, uint64_t *best)
{
	GpucolStatus status = try_dict(b, facts, *best);

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
choose(GpucolChunkBuilder *b, Facts *facts)
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

/* Copy the last, partly filled vector of codes with zeros behind. */
static const uint32_t *
code_vector(const GpucolChunkBuilder *b, const uint32_t *codes, uint32_t v,
			uint32_t *tail)
{
	uint32_t	n = gpucol_chunk_vector_rows(b, v);

	if (n == N)
		return codes + (size_t) v * N;
	memcpy(tail, codes + (size_t) v * N, n * sizeof(uint32_t));
	memset(tail + n, 0, (N - n) * sizeof(uint32_t));
	return tail;
}

static void
pack_dict(const GpucolChunkBuilder *b, const Facts *facts, char *words)
{
	uint32_t	tail[N];

	memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_DICT), facts->dict,
		   facts->ndict * sizeof(int64_t));
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		gpucol_bitpack_pack32(b->desc.width, code_vector(b, facts->codes, v, tail),
							  words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
}

/* Runs on their way into RUN_ENDS and CODES. */
typedef struct RunWriter
{
	const GpucolChunkBuilder *b;
	uint32_t   *ends;
	char	   *words;
	uint32_t	n;				/* runs so far */
	int64_t		pending[N];
} RunWriter;

/* Note a run's end; every N-th run, and the last, completes a packed vector. */
static void
put_run(RunWriter *w, int64_t value, uint32_t end)
{
	w->pending[w->n % N] = value;
	w->ends[w->n++] = end;
	if (w->n % N != 0 && end != w->b->nrows)
		return;
	gpucol_bitpack_pack_for(w->b->desc.width, w->pending, (w->n - 1) % N + 1,
							w->b->desc.reference, w->words);
	w->words += w->b->desc.width * GPUCOL_ROW_BYTES;
}

static void
pack_runs(const GpucolChunkBuilder *b, const Facts *facts, char *words)
{
	RunWriter	writer = {
		.b = b,
		.ends = gpucol_chunk_stream(b, GPUCOL_STREAM_RUN_ENDS),
		.words = words,
	};
	int64_t		value = facts->first;
	Reader		reader;

	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
		{
			if (values[i] == value)
				continue;
			put_run(&writer, value, v * N + i);
			value = values[i];
		}
	}
	put_run(&writer, value, b->nrows);
}

/* Replace float patterns by their mantissas. */
static const int64_t *
mantissas(const GpucolChunkBuilder *b, const int64_t *values, uint32_t n,
		  int64_t *out)
{
	double		power = gpucol_float_power10(b->desc.scale);

	for (uint32_t i = 0; i < n; i++)
		(void) mantissa(b->column->kind, values[i], power, &out[i]);
	return out;
}

/* Replace values by their distances from the least in steps. */
static const int64_t *
steps(const Divisor *divisor, int64_t reference, const int64_t *values, uint32_t n,
	  int64_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (int64_t) divide(divisor, (uint64_t) values[i] - (uint64_t) reference);
	return out;
}

static void
pack_values(const GpucolChunkBuilder *b, const Facts *facts, char *words)
{
	bool		stepped = b->desc.coding == GPUCOL_CODING_STEP;
	int64_t		changed[N];
	Reader		reader;

	reader_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = read_vector(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		if (b->desc.coding == GPUCOL_CODING_SCALED)
			values = mantissas(b, values, n, changed);
		else if (stepped)
			values = steps(&facts->divisor, b->desc.reference, values, n, changed);
		gpucol_bitpack_pack_for(b->desc.width, values, n,
								stepped ? 0 : b->desc.reference, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
}

static GpucolStatus
pack(GpucolChunkBuilder *b, const Facts *facts)
{
	bool		zones = zones_pay(b, facts);
	uint64_t	coded = b->desc.coding == GPUCOL_CODING_RLE ?
		GPUCOL_VECTORS((uint64_t) facts->runs) : b->nvectors;
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	char	   *words;
	GpucolStatus status;

	sizes[GPUCOL_STREAM_CODES] = packed_bytes(coded, b->desc.width);
	sizes[GPUCOL_STREAM_ZONES] = zones ? b->nvectors * sizeof(GpucolZone) : 0;
	sizes[GPUCOL_STREAM_DICT] = (uint64_t) b->desc.ndict * sizeof(int64_t);
	sizes[GPUCOL_STREAM_RUN_ENDS] = (uint64_t) b->desc.nruns * sizeof(uint32_t);
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK)
		return status;
	b->desc.zone = facts->zone;
	b->desc.flags |= GPUCOL_CHUNK_HAS_ZONE;
	if (zones)
		memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_ZONES), facts->zones,
			   b->nvectors * sizeof(GpucolZone));
	words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	if (b->desc.coding == GPUCOL_CODING_DICT)
		pack_dict(b, facts, words);
	else if (b->desc.coding == GPUCOL_CODING_RLE)
		pack_runs(b, facts, words);
	else if (b->desc.width > 0)
		pack_values(b, facts, words);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_chunk_encode_values(GpucolChunkBuilder *b)
{
	Facts		facts = {.scale = -1};
	GpucolStatus status = measure(b, &facts);

	if (status == GPUCOL_OK)
		status = choose(b, &facts);
	if (status == GPUCOL_OK)
		status = pack(b, &facts);
	gpucol_chunk_free(b, facts.zones);
	gpucol_chunk_free(b, facts.codes);
	gpucol_chunk_free(b, facts.dict);
	return status;
}
