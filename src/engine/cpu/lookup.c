/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Looking up a built table: keys, payload, figures.
 *
 * A table of hashed keys that exceeds the caches is looked up a level at a time for some
 * keys of a vector, so that their cache lines are fetched together: the buckets, then the
 * words that the tags leave, then the comparison.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/lookup.h"
#include "kernel/hash.h"

#define PREFETCHED_WORDS 16384	/* smaller tables are in the cache anyway */
#define PREFETCH_STEP 64		/* keys fetched together: what they read stays in the first cache */

/* ---- keys ---- */

/* Numbers of words of a dense table. */
GPUCOL_CPU_CLONES static void
find_dense(const GpucolLookup *lookup, const uint64_t *words, const uint8_t *valid,
		   uint32_t n, uint32_t *numbers)
{
	uint64_t	greatest = lookup->greatest;

	for (uint32_t j = 0; j < n; j++)
	{
		bool		may = words[j] <= greatest && (valid == NULL || valid[j]);
		uint64_t	word = may ? words[j] : 0;
		bool		there = lookup->bits[word >> 6] >> (word & 63) & 1;
		uint32_t	number = gpucol_lookup_rank(lookup, word);

		numbers[j] = may && there ? number : GPUCOL_LOOKUP_NONE;
	}
}

/* The same where every word is there. */
GPUCOL_CPU_CLONES static void
find_gapless(const GpucolLookup *lookup, const uint64_t *words, const uint8_t *valid,
			 uint32_t n, uint32_t *numbers)
{
	uint64_t	greatest = lookup->greatest;

	if (valid == NULL)
		for (uint32_t j = 0; j < n; j++)
			numbers[j] = words[j] <= greatest ? (uint32_t) words[j] : GPUCOL_LOOKUP_NONE;
	else
		for (uint32_t j = 0; j < n; j++)
			numbers[j] = words[j] <= greatest && valid[j] ? (uint32_t) words[j] :
				GPUCOL_LOOKUP_NONE;
}

/* Has the key of number `number` these codes? */
static bool
same_codes(const GpucolLookup *lookup, uint32_t number, const uint64_t *const *codes,
		   uint32_t j)
{
	uint32_t	row = gpucol_lookup_first(lookup, number);

	for (int k = 0; k < lookup->nkeys; k++)
	{
		int64_t		value = gpucol_lookup_value(&lookup->columns[k], row);

		if (lookup->columns[k].cls == GPUCOL_CLASS_F)
		{
			double		f;

			memcpy(&f, &value, sizeof(f));
			value = gpucol_lookup_float(f);
		}
		if ((uint64_t) value - (uint64_t) lookup->keys[k].least != codes[k][j])
			return false;
	}
	return true;
}

/* Fetch what n look-ups will read. */
static void
prefetch_words(const GpucolLookup *lookup, const uint64_t *hashes, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		GPUCOL_PREFETCH(&lookup->buckets[hashes[j] >> lookup->shift]);
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	bucket = lookup->buckets[hashes[j] >> lookup->shift];

		if ((bucket & gpucol_lookup_tag(hashes[j])) != 0)
			GPUCOL_PREFETCH(&lookup->words[bucket >> 16]);
	}
}

GPUCOL_CPU_CLONES static void
hash_words(const uint64_t *words, uint32_t n, uint64_t *hashes)
{
	for (uint32_t j = 0; j < n; j++)
		hashes[j] = gpucol_lookup_hash(words[j]);
}

/* Numbers of words of a hash table. */
static void
find_hashed(const GpucolLookup *lookup, const uint64_t *words, const uint64_t *const *codes,
			const uint8_t *valid, uint32_t n, uint64_t *hashes, uint32_t *numbers)
{
	bool		large = lookup->ndistinct > PREFETCHED_WORDS;

	hash_words(words, n, hashes);
	for (uint32_t j = 0; j < n; j++)
	{
		const uint64_t *bucket = &lookup->buckets[hashes[j] >> lookup->shift];
		uint32_t	at;
		uint32_t	end;

		if (large && j % PREFETCH_STEP == 0)
			prefetch_words(lookup, hashes + j, n - j < PREFETCH_STEP ? n - j : PREFETCH_STEP);
		numbers[j] = GPUCOL_LOOKUP_NONE;
		if ((bucket[0] & gpucol_lookup_tag(hashes[j])) == 0 || (valid != NULL && !valid[j]))
			continue;
		end = (uint32_t) (bucket[1] >> 16);
		for (at = (uint32_t) (bucket[0] >> 16); at < end; at++)
			if (lookup->words[at] == words[j] &&
				(!lookup->wide || same_codes(lookup, at, codes, j)))
			{
				numbers[j] = at;
				break;
			}
	}
}

void
gpucol_lookup_find(const GpucolLookup *lookup, const uint64_t *words,
				   const uint64_t *const *codes, const uint8_t *valid, uint32_t n,
				   uint64_t *hashes, uint32_t *numbers)
{
	if (lookup->nkeyed == 0)
		memset(numbers, 0xff, sizeof(uint32_t) * n);
	else if (lookup->gapless)
		find_gapless(lookup, words, valid, n, numbers);
	else if (lookup->dense)
		find_dense(lookup, words, valid, n, numbers);
	else
		find_hashed(lookup, words, codes, valid, n, hashes, numbers);
}

uint32_t
gpucol_lookup_string(const GpucolLookup *lookup, int k, GpucolBytes value)
{
	const GpucolLookupKey *key = &lookup->keys[k];
	const GpucolBytes *entries = lookup->columns[k].entries;
	uint64_t	hash = gpucol_hash_bytes(value.data, value.len);
	uint64_t	at = gpucol_hash_home(&key->table, hash);
	uint32_t	number;

	if (key->table.nslots == 0)
		return GPUCOL_LOOKUP_NONE;
	while (gpucol_hash_next(&key->table, hash, &at, &number))
		if (entries[number].len == value.len &&
			(value.len == 0 || memcmp(entries[number].data, value.data, value.len) == 0))
			return number;
	return GPUCOL_LOOKUP_NONE;
}

/* ---- payload ---- */

/* Values of a column of T at rows[], 0 where there is no row. */
#define GATHER(T, OUT, EXPR) \
	for (uint32_t j = 0; j < n; j++) \
	{ \
		uint32_t	row = rows[j] == GPUCOL_LOOKUP_NONE ? 0 : rows[j]; \
		int64_t		x = (int64_t) (((const T *) column->values)[row] + reference); \
\
		OUT[j] = EXPR; \
	}

#define GATHER_WIDTHS(OUT, EXPR) \
	do \
	{ \
		if (column->width == 1) \
			GATHER(uint8_t, OUT, EXPR) \
		else if (column->width == 2) \
			GATHER(uint16_t, OUT, EXPR) \
		else if (column->width == 4) \
			GATHER(uint32_t, OUT, EXPR) \
		else \
			GATHER(uint64_t, OUT, EXPR) \
	} while (0)

GPUCOL_CPU_CLONES static void
gather_words(const GpucolLookupColumn *column, const uint32_t *rows, uint32_t n, int64_t *out)
{
	uint64_t	reference = (uint64_t) column->reference;

	GATHER_WIDTHS(out, x);
}

GPUCOL_CPU_CLONES static void
gather_codes(const GpucolLookupColumn *column, const uint32_t *rows, uint32_t n, uint32_t *out)
{
	uint64_t	reference = (uint64_t) column->reference;

	GATHER_WIDTHS(out, (uint32_t) x);
}

GPUCOL_CPU_CLONES static void
gather_bools(const GpucolLookupColumn *column, const uint32_t *rows, uint32_t n, uint8_t *out)
{
	uint64_t	reference = (uint64_t) column->reference;

	GATHER_WIDTHS(out, x != 0);
}

/* Mantissas that are int128. */
static void
gather_wide(const GpucolLookupColumn *column, const uint32_t *rows, uint32_t n, __int128 *out)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	row = rows[j] == GPUCOL_LOOKUP_NONE ? 0 : rows[j];

		out[j] = gpucol_cpu_int128(column->highs[row], ((const uint64_t *) column->values)[row]);
	}
}

/* Is there a row in every place? */
GPUCOL_CPU_CLONES static bool
all_there(const uint32_t *rows, uint32_t n)
{
	uint32_t	missing = 0;

	for (uint32_t j = 0; j < n; j++)
		missing += rows[j] == GPUCOL_LOOKUP_NONE;
	return missing == 0;
}

void
gpucol_lookup_gather(const GpucolLookupColumn *column, const uint32_t *rows, uint32_t n,
					 GpucolCpuReg *reg)
{
	bool		there = all_there(rows, n);

	reg->nulls = column->nulls == NULL && there ? NULL : reg->null_space;
	if (column->nulls != NULL)
		for (uint32_t j = 0; j < n; j++)
			reg->null_space[j] = rows[j] == GPUCOL_LOOKUP_NONE || column->nulls[rows[j]];
	else if (!there)
		for (uint32_t j = 0; j < n; j++)
			reg->null_space[j] = rows[j] == GPUCOL_LOOKUP_NONE;
	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			gather_bools(column, rows, n, reg->v.b);
			break;
		case GPUCOL_CLASS_D:
			reg->narrow = column->highs == NULL;
			reg->wide = !reg->narrow;
			if (reg->narrow)
				gather_words(column, rows, n, reg->n);
			else
				gather_wide(column, rows, n, reg->v.d);
			break;
		case GPUCOL_CLASS_S:
			reg->coded = true;
			gather_codes(column, rows, n, reg->codes);
			break;
		default:
			gather_words(column, rows, n, reg->v.i);
	}
	if (reg->nulls == NULL)
		return;
	/* three-valued logic relies on a NULL's value */
	if (reg->cls == GPUCOL_CLASS_B)
		for (uint32_t j = 0; j < n; j++)
			reg->v.b[j] = (uint8_t) (reg->v.b[j] & !reg->nulls[j]);
	else if (reg->cls == GPUCOL_CLASS_S)
		for (uint32_t j = 0; j < n; j++)
			reg->codes[j] = reg->nulls[j] ? 0 : reg->codes[j];
}

#define SPREAD(TYPE, FIELD) \
	do { \
		TYPE	   *to = reg->FIELD; \
		const TYPE	value = to[0]; \
		for (uint32_t j = 1; j < n; j++) \
			to[j] = value; \
	} while (0)

GPUCOL_CPU_CLONES void
gpucol_lookup_spread(const GpucolLookupColumn *column, uint32_t row, uint32_t n, GpucolCpuReg *reg)
{
	gpucol_lookup_gather(column, &row, 1, reg);
	if (reg->nulls != NULL)
		memset(reg->null_space, reg->null_space[0], n);
	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			memset(reg->v.b, reg->v.b[0], n);
			break;
		case GPUCOL_CLASS_D:
			if (reg->narrow)
				SPREAD(int64_t, n);
			else
				SPREAD(__int128, v.d);
			break;
		case GPUCOL_CLASS_S:
			SPREAD(uint32_t, codes);
			break;
		default:
			SPREAD(int64_t, v.i);
	}
}

/* ---- the operations of the engine ---- */

void
gpucol_lookup_figures(const GpucolLookup *lookup, GpucolLookupFigures *out)
{
	GpucolLookupView view;

	memset(out, 0, sizeof(*out));
	out->rows = lookup->nkeyed;
	out->bytes = atomic_load(&lookup->budget.used);
	out->dense = lookup->dense;
	out->unique = lookup->unique;
	out->has_null = lookup->has_null;
	gpucol_lookup_view(lookup, &view);
	gpucol_lookup_note_ranges(&view, out->ranges);
}

void
gpucol_lookup_view(const GpucolLookup *lookup, GpucolLookupView *out)
{
	*out = (GpucolLookupView) {
		.nrows = lookup->nrows, .nkeyed = lookup->nkeyed, .ndistinct = lookup->ndistinct,
		.ncolumns = lookup->ncolumns, .nkeys = lookup->nkeys,
		.columns = lookup->columns, .keys = lookup->keys,
		.has_null = lookup->has_null, .unique = lookup->unique,
		.dense = lookup->dense, .wide = lookup->wide, .first = lookup->first,
		.gapless = lookup->gapless, .greatest = lookup->greatest,
		.bits = lookup->bits, .before = lookup->before,
		.buckets = lookup->buckets, .shift = lookup->shift, .words = lookup->words
	};
}

void
gpucol_lookup_free(GpucolLookup *lookup)
{
	if (lookup == NULL)
		return;
	gpucol_owned_free_all(&lookup->memory);
	gpucol_budget_close(&lookup->budget);
	free(lookup);
}
