/*-------------------------------------------------------------------------
 *
 * encode_trials.c
 *	  Codings of values that must be looked for: dictionaries, steps, decimal scales.
 *
 *-------------------------------------------------------------------------
 */
#include "base/hash_table.h"
#include "columnar/encode_values.h"

#define N GPUCOL_VECTOR_VALUES
#define SAMPLE_ROWS 4096
#define MAX_DICT 65536

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
	uint32_t	i;

	GPUCOL_PROBE(i, hash_slot(key, bits), UINT32_C(1) << bits,
				 table[i].code == 0 || table[i].key == key);
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
sort_dict(const GpucolChunkBuilder *b, const Slot *table, int bits, GpucolValueFacts *facts)
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
number_values(const GpucolChunkBuilder *b, GpucolValueFacts *facts, Slot *table, int bits,
			  uint32_t limit)
{
	GpucolValueReader		reader;

	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
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
GpucolStatus
gpucol_values_try_dict(const GpucolChunkBuilder *b, GpucolValueFacts *facts, uint64_t best)
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
set_divisor(GpucolDivisor *divisor, uint64_t value)
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

static inline bool
divides(const GpucolDivisor *divisor, uint64_t x)
{
	return (x & ((UINT64_C(1) << divisor->shift) - 1)) == 0 &&
		divide(divisor, x) <= divisor->limit;
}

/* Is a divisor worth its multiplication, and no code beyond int64? */
static bool
step_pays(const GpucolValueFacts *facts, uint64_t step)
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
sample_step(const GpucolChunkBuilder *b, const GpucolValueFacts *facts)
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
void
gpucol_values_try_step(const GpucolChunkBuilder *b, GpucolValueFacts *facts)
{
	GpucolDivisor    *divisor = &facts->divisor;
	uint64_t	proposed = sample_step(b, facts);
	GpucolValueReader		reader;

	if (proposed == 0)
		return;
	set_divisor(divisor, proposed);
	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
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
mantissa_bounds(const GpucolChunkBuilder *b, GpucolValueFacts *facts, int scale,
				int64_t *failed)
{
	double		power = gpucol_float_power10(scale);
	GpucolValueReader		reader;

	facts->mantissa_min = INT64_MAX;
	facts->mantissa_max = INT64_MIN;
	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
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

void
gpucol_values_try_scaled(const GpucolChunkBuilder *b, GpucolValueFacts *facts)
{
	int64_t		failed;
	int			scale = sample_scale(b);

	while (scale >= 0 && !mantissa_bounds(b, facts, scale, &failed))
		scale = scale < GPUCOL_MAX_FLOAT_SCALE ?
			scale_of(b->column->kind, failed, scale + 1) : -1;
	facts->scale = scale;
}
