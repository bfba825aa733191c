/*-------------------------------------------------------------------------
 *
 * lookup_place.c
 *	  Numbers of a table's keys, and places of its rows, by all threads.
 *
 * Rows of a key keep the order of the scan, so that the table, and with it each answer, is the
 * same however many threads make it.
 *
 *	  dense		bits are set by pieces, counted by slices, and then tell each row's number.
 *				Where numbers ascend with the rows, as in a table that lies in the order
 *				of its key, the rows are in their places already
 *	  hash		slices of rows are dealt, in order, to parts of the hash's range.  A
 *				part's rows are ordered by bucket, and its keys numbered, by one thread;
 *				when all parts' keys are counted, their numbers are known, and the places
 *
 * Rows of dense keys that repeat in no order are dealt to parts of the numbers in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/lookup_build.h"

#define DENSE_WORDS (UINT64_C(1) << 22) /* a table of bits may always have, */
#define DENSE_WORDS_PER_ROW 64	/* and this many for each row, */
#define DENSE_WORDS_IN_CACHE (UINT64_C(1) << 25)	/* or more up to so many: */
#define DENSE_WORDS_PER_ROW_IN_CACHE 512	/* a lookup by bits is some loads faster */

#define MOST_PART_BITS 8		/* of a hash or number, whose rows make a part */
#define PART_BUCKET_BITS 11		/* parts have so many buckets, or more */
#define SLICE_BLOCKS 4096		/* of 64 bits, at least */

/* A row with its word or number; of a part's list of keys, one with its first row and their number. */
typedef struct Entry
{
	uint64_t	word;
	uint32_t	row;
	uint32_t	n;
} Entry;

/* Rows dealt to parts. */
typedef struct Parts
{
	GpucolMaking *making;
	bool		hashed;			/* by hash; else by number, which places[] has */
	int			shift;			/* of either, to the part */
	uint32_t	n;
	uint32_t	nslices;
	uint32_t   *counts;			/* [slice * n + part]: rows, and then where the next one goes */
	uint32_t   *starts;			/* by part, and the end */
	Entry	   *entries;		/* by part; when its rows are ordered, its keys */
	uint32_t   *first;			/* by key's number; NULL = unique */

	/* hash */
	Entry	   *ordered;		/* by part and bucket; words become numbers in the part */
	uint32_t   *ends;			/* of buckets */
	uint32_t	nbuckets;		/* of a part */
	uint32_t   *keys;			/* by part: how many, and then how many before */
} Parts;

static bool
has_key(const GpucolMaking *making, uint32_t row)
{
	return making->null_keys == NULL || !making->null_keys[row];
}

/* ---- NULL, and no key ---- */

typedef struct Nulls
{
	GpucolMaking *making;
	uint32_t   *counts;			/* by piece: rows with a NULL key, and then the place of the first */
} Nulls;

static void
count_nulls(void *arg, uint64_t piece)
{
	Nulls	   *nulls = arg;
	const GpucolMaking *making = nulls->making;
	uint32_t	n = 0;

	for (uint32_t j = 0; j < making->pieces[piece].n; j++)
		n += making->null_keys[making->starts[piece] + j];
	nulls->counts[piece] = n;
}

static void
place_nulls(void *arg, uint64_t piece)
{
	Nulls	   *nulls = arg;
	const GpucolMaking *making = nulls->making;
	uint32_t	start = making->starts[piece];
	uint32_t	place = nulls->counts[piece];

	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
		if (making->null_keys[r])
			making->places[r] = place++;
}

/* Put rows with a NULL key behind the others. */
static GpucolStatus
place_null_keys(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;
	Nulls		nulls = {.making = making};
	uint32_t	n = 0;

	lookup->nkeyed = making->nrows;
	if (making->null_keys == NULL)
		return GPUCOL_OK;
	nulls.counts = gpucol_cpu_alloc(making->run, sizeof(uint32_t) * (making->npieces + 1));
	if (nulls.counts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_lookup_share_pieces(making, count_nulls, &nulls);
	for (uint64_t p = 0; p < making->npieces; p++)
		n += nulls.counts[p];
	lookup->nkeyed -= n;
	n = lookup->nkeyed;
	for (uint64_t p = 0; p < making->npieces; p++)
	{
		uint32_t	count = nulls.counts[p];

		nulls.counts[p] = n;
		n += count;
	}
	gpucol_lookup_share_pieces(making, place_nulls, &nulls);
	gpucol_cpu_free(making->run, nulls.counts);
	return GPUCOL_OK;
}

/* Rows that are in their places. */
static void
keep_places(void *arg, uint64_t piece)
{
	GpucolMaking *making = arg;
	uint32_t	start = making->starts[piece];

	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
		making->places[r] = r;
}

/* Without a key, every row is of the one that all have. */
static GpucolStatus
place_keyless(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;

	lookup->dense = true;
	lookup->unique = lookup->nkeyed <= 1;
	lookup->ndistinct = lookup->nkeyed > 0;
	gpucol_lookup_share_pieces(making, keep_places, making);
	if (lookup->unique)
		return GPUCOL_OK;
	lookup->first = gpucol_owned_alloc(&lookup->memory, sizeof(uint32_t) * 2);
	if (lookup->first == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	lookup->first[0] = 0;
	lookup->first[1] = lookup->nkeyed;
	return GPUCOL_OK;
}

/* ---- parts ---- */

GPUCOL_CPU_INLINE uint64_t
part_of(const Parts *parts, uint32_t row)
{
	return (parts->hashed ? gpucol_lookup_hash(parts->making->words[row]) : parts->making->places[row]) >> parts->shift;
}

static void
count_slice(void *arg, uint64_t slice)
{
	const Parts *parts = arg;
	const GpucolMaking *making = parts->making;
	uint32_t   *counts = parts->counts + slice * parts->n;
	uint32_t	end = (uint32_t) gpucol_lookup_share_start(making->nrows, slice + 1, parts->nslices);

	memset(counts, 0, sizeof(uint32_t) * parts->n);
	for (uint32_t r = (uint32_t) gpucol_lookup_share_start(making->nrows, slice, parts->nslices); r < end; r++)
		if (has_key(making, r))
			counts[part_of(parts, r)]++;
}

static void
deal_slice(void *arg, uint64_t slice)
{
	const Parts *parts = arg;
	const GpucolMaking *making = parts->making;
	uint32_t   *next = parts->counts + slice * parts->n;
	uint32_t	end = (uint32_t) gpucol_lookup_share_start(making->nrows, slice + 1, parts->nslices);

	for (uint32_t r = (uint32_t) gpucol_lookup_share_start(making->nrows, slice, parts->nslices); r < end; r++)
		if (has_key(making, r))
		{
			Entry	   *entry = &parts->entries[next[part_of(parts, r)]++];

			entry->word = parts->hashed ? making->words[r] : making->places[r];
			entry->row = r;
		}
}

/* Deal the rows with a key to parts->n parts, in each of which they are in their order. */
static GpucolStatus
deal_rows(Parts *parts)
{
	GpucolMaking *making = parts->making;
	uint32_t	next = 0;

	parts->nslices = making->npieces < GPUCOL_LOOKUP_FEW_PIECES ? 1 : (uint32_t) making->run->nworkers;
	parts->counts = gpucol_cpu_alloc(making->run, sizeof(uint32_t) * parts->n * parts->nslices);
	parts->starts = gpucol_cpu_alloc(making->run, sizeof(uint32_t) * (parts->n + 1));
	parts->entries = gpucol_cpu_alloc(making->run, sizeof(Entry) * ((size_t) making->lookup->nkeyed + 1));
	if (parts->counts == NULL || parts->starts == NULL || parts->entries == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_lookup_share(making, parts->nslices, count_slice, parts);
	for (uint32_t p = 0; p < parts->n; p++)
	{
		parts->starts[p] = next;
		for (uint32_t s = 0; s < parts->nslices; s++)
		{
			uint32_t   *count = &parts->counts[(size_t) s * parts->n + p];
			uint32_t	rows = *count;

			*count = next;
			next += rows;
		}
	}
	parts->starts[parts->n] = next;
	gpucol_lookup_share(making, parts->nslices, deal_slice, parts);
	return GPUCOL_OK;
}

static void
free_parts(Parts *parts)
{
	GpucolRun  *run = parts->making->run;

	gpucol_cpu_free(run, parts->counts);
	gpucol_cpu_free(run, parts->starts);
	gpucol_cpu_free(run, parts->entries);
	gpucol_cpu_free(run, parts->ordered);
	gpucol_cpu_free(run, parts->ends);
	gpucol_cpu_free(run, parts->keys);
}

/* ---- dense ---- */

/* Are all words those of an array of bits that is not too sparse? */
static bool
is_dense(const GpucolLookup *lookup)
{
	return !lookup->wide && (lookup->greatest < DENSE_WORDS ||
							 lookup->greatest / DENSE_WORDS_PER_ROW < lookup->nkeyed ||
							 (lookup->greatest < DENSE_WORDS_IN_CACHE &&
							  lookup->greatest / DENSE_WORDS_PER_ROW_IN_CACHE < lookup->nkeyed));
}

/* The bits of a dense table, in slices of blocks. */
typedef struct Slices
{
	GpucolLookup *lookup;
	size_t		nblocks;
	uint32_t	n;
	uint32_t	before[GPUCOL_POOL_MAX_THREADS];	/* bits set in a slice, and then before it */
} Slices;

static void
clear_bits(void *arg, uint64_t slice)
{
	const Slices *slices = arg;
	size_t		from = gpucol_lookup_share_start(slices->nblocks, slice, slices->n);
	size_t		end = gpucol_lookup_share_start(slices->nblocks, slice + 1, slices->n);

	memset(slices->lookup->bits + from, 0, sizeof(uint64_t) * (end - from));
}

/* Count the bits before each block of a slice. */
GPUCOL_CPU_CLONES static void
count_bits(void *arg, uint64_t slice)
{
	Slices	   *slices = arg;
	const uint64_t *bits = slices->lookup->bits;
	uint32_t   *before = slices->lookup->before;
	size_t		end = gpucol_lookup_share_start(slices->nblocks, slice + 1, slices->n);
	uint32_t	n = 0;

	for (size_t b = gpucol_lookup_share_start(slices->nblocks, slice, slices->n); b < end; b++)
	{
		before[b] = n;
		n += (uint32_t) __builtin_popcountll(bits[b]);
	}
	slices->before[slice] = n;
}

/* Add those before the slice. */
static void
add_before(void *arg, uint64_t slice)
{
	const Slices *slices = arg;
	size_t		end = gpucol_lookup_share_start(slices->nblocks, slice + 1, slices->n);

	for (size_t b = gpucol_lookup_share_start(slices->nblocks, slice, slices->n); b < end; b++)
		slices->lookup->before[b] += slices->before[slice];
}

/* Set the bits of the keys of a piece's rows, those of rows that follow each other at once. */
static void
set_bits(void *arg, uint64_t piece)
{
	const GpucolMaking *making = arg;
	uint64_t   *blocks = making->lookup->bits;
	uint32_t	start = making->starts[piece];
	uint32_t	end = start + making->pieces[piece].n;
	uint64_t	block = 0;
	uint64_t	bits = 0;

	for (uint32_t r = start; r < end; r++)
	{
		uint64_t	word = making->words[r];

		if (!has_key(making, r))
			continue;
		if (word >> 6 != block && bits != 0)
		{
			__atomic_fetch_or(&blocks[block], bits, __ATOMIC_RELAXED);
			bits = 0;
		}
		block = word >> 6;
		bits |= UINT64_C(1) << (word & 63);
	}
	if (bits != 0)
		__atomic_fetch_or(&blocks[block], bits, __ATOMIC_RELAXED);
}

/* The numbers of the keys of a piece's rows. */
GPUCOL_CPU_CLONES static void
number_dense(void *arg, uint64_t piece)
{
	const GpucolMaking *making = arg;
	const GpucolLookup *lookup = making->lookup;
	uint32_t	start = making->starts[piece];

	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
		if (has_key(making, r))
			making->places[r] = gpucol_lookup_rank(lookup, making->words[r]);
}

/* Set the bits of all words, and count them. */
static GpucolStatus
find_bits(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;
	Slices		slices = {.lookup = lookup,.nblocks = (size_t) (lookup->greatest / 64) + 1};
	uint32_t	all = 0;

	slices.n = slices.nblocks < SLICE_BLOCKS ? 1 : (uint32_t) making->run->nworkers;
	lookup->dense = true;
	lookup->bits = gpucol_owned_alloc(&lookup->memory, sizeof(uint64_t) * slices.nblocks);
	lookup->before = gpucol_owned_alloc(&lookup->memory, sizeof(uint32_t) * slices.nblocks);
	if (lookup->bits == NULL || lookup->before == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_lookup_share(making, slices.n, clear_bits, &slices);
	gpucol_lookup_share_pieces(making, set_bits, making);
	gpucol_lookup_share(making, slices.n, count_bits, &slices);
	for (uint32_t s = 0; s < slices.n; s++)
	{
		uint32_t	n = slices.before[s];

		slices.before[s] = all;
		all += n;
	}
	if (slices.n > 1)
		gpucol_lookup_share(making, slices.n, add_before, &slices);
	lookup->ndistinct = all;
	lookup->unique = lookup->ndistinct == lookup->nkeyed;
	lookup->gapless = lookup->ndistinct - UINT64_C(1) == lookup->greatest;
	return GPUCOL_OK;
}

/* Rows whose words ascend with them. */
typedef struct Ascent
{
	GpucolMaking *making;
	uint32_t   *first;
	_Atomic bool broken;
} Ascent;

/* The word before a row. */
static uint64_t
word_before(const GpucolMaking *making, uint32_t row)
{
	return row == 0 ? 0 : making->words[row - 1];
}

static void
look_for_descent(void *arg, uint64_t piece)
{
	Ascent	   *ascent = arg;
	const GpucolMaking *making = ascent->making;
	uint32_t	start = making->starts[piece];
	uint64_t	before = word_before(making, start);
	bool		broken = false;

	if (atomic_load_explicit(&ascent->broken, memory_order_relaxed))
		return;
	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
	{
		broken |= making->words[r] < before;
		before = making->words[r];
	}
	if (broken)
		atomic_store_explicit(&ascent->broken, true, memory_order_relaxed);
}

static void
place_ascending(void *arg, uint64_t piece)
{
	Ascent	   *ascent = arg;
	const GpucolMaking *making = ascent->making;
	uint32_t	start = making->starts[piece];
	uint64_t	before = word_before(making, start);

	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
	{
		if (r == 0 || making->words[r] != before)
			ascent->first[making->places[r]] = r;
		before = making->words[r];
		making->places[r] = r;
	}
}

/*
 * Rows' places from the numbers of their keys, [low, high), which are those of a part's
 * entries, or of all rows without entries; their places begin at `start`.
 */
GPUCOL_CPU_INLINE void
place_numbers(const GpucolMaking *making, uint32_t *first, uint32_t low, uint32_t high, uint32_t start,
			  const Entry *entries, uint32_t n)
{
	memset(first + low, 0, sizeof(uint32_t) * (high - low));
	for (uint32_t i = 0; i < n; i++)
		if (entries != NULL || has_key(making, i))
			first[entries != NULL ? entries[i].word : making->places[i]]++;
	for (uint32_t d = low; d < high; d++)
		first[d] = start += first[d];
	/* ends become beginnings */
	for (uint32_t i = n; i-- > 0;)
		if (entries != NULL || has_key(making, i))
			making->places[entries != NULL ? entries[i].row : i] =
				--first[entries != NULL ? entries[i].word : making->places[i]];
}

static void
place_numbered_part(void *arg, uint64_t part)
{
	const Parts *parts = arg;
	uint64_t	high = (part + 1) << parts->shift;
	uint32_t	start = parts->starts[part];

	if (high > parts->making->lookup->ndistinct)
		high = parts->making->lookup->ndistinct;
	place_numbers(parts->making, parts->first, (uint32_t) (part << parts->shift), (uint32_t) high, start,
				  parts->entries + start, parts->starts[part + 1] - start);
}

/* The same for rows in any order: in parts, where there are threads and memory for that. */
static void
place_any_order(GpucolMaking *making, uint32_t *first)
{
	GpucolLookup *lookup = making->lookup;
	Parts		parts = {.making = making,.first = first};
	uint32_t	last = lookup->ndistinct - 1;

	while (last >> parts.shift >> MOST_PART_BITS != 0)
		parts.shift++;
	parts.n = (last >> parts.shift) + 1;
	if (making->run->nworkers == 1 || making->npieces < GPUCOL_LOOKUP_FEW_PIECES || deal_rows(&parts) != GPUCOL_OK)
		place_numbers(making, first, 0, lookup->ndistinct, 0, NULL, making->nrows);
	else
		gpucol_lookup_share(making, parts.n, place_numbered_part, &parts);
	free_parts(&parts);
}

/* Number the words by their bits. */
static GpucolStatus
place_dense(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;
	Ascent		ascent = {.making = making};
	GpucolStatus status = find_bits(making);

	if (status != GPUCOL_OK)
		return status;
	gpucol_lookup_share_pieces(making, number_dense, making);
	if (lookup->unique)
		return GPUCOL_OK;
	lookup->first = gpucol_owned_alloc(&lookup->memory, sizeof(uint32_t) * ((size_t) lookup->ndistinct + 1));
	if (lookup->first == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	ascent.first = lookup->first;
	ascent.broken = making->null_keys != NULL;
	gpucol_lookup_share_pieces(making, look_for_descent, &ascent);
	if (!ascent.broken)
		gpucol_lookup_share_pieces(making, place_ascending, &ascent);
	gpucol_cpu_free(making->run, making->words);
	making->words = NULL;
	if (ascent.broken)
		place_any_order(making, lookup->first);
	lookup->first[lookup->ndistinct] = lookup->nkeyed;
	return GPUCOL_OK;
}

/* ---- hash ---- */

/* Have two rows of a wide table the same key? */
static bool
same_key(const GpucolMaking *making, uint32_t a, uint32_t b)
{
	for (int k = 0; k < making->lookup->nkeys; k++)
		if (making->codes[k][a] != making->codes[k][b])
			return false;
	return true;
}

/* Order a part's rows by bucket, those of one as they were. */
static void
order_part(const Parts *parts, uint64_t part)
{
	uint32_t	start = parts->starts[part];
	uint32_t	end = parts->starts[part + 1];
	int			shift = parts->making->lookup->shift;
	uint32_t   *ends = parts->ends + part * parts->nbuckets;
	uint32_t	mask = parts->nbuckets - 1;
	uint32_t	before = start;

	memset(ends, 0, sizeof(uint32_t) * parts->nbuckets);
	for (uint32_t i = start; i < end; i++)
		ends[gpucol_lookup_hash(parts->entries[i].word) >> shift & mask]++;
	for (uint32_t b = 0; b < parts->nbuckets; b++)
	{
		uint32_t	count = ends[b];

		ends[b] = before;
		before += count;
	}
	for (uint32_t i = start; i < end; i++)
		parts->ordered[ends[gpucol_lookup_hash(parts->entries[i].word) >> shift & mask]++] = parts->entries[i];
}

/*
 * Number the keys of a part's bucket, rows [start, end), from n on, and list them; returns
 * the number of the next one.
 */
static uint32_t
number_bucket(const Parts *parts, uint64_t bucket, uint32_t start, uint32_t end, Entry *keys, uint32_t n)
{
	const GpucolMaking *making = parts->making;
	uint32_t	begin = n;
	uint64_t	tag = 0;

	for (uint32_t i = start; i < end; i++)
	{
		Entry	   *entry = &parts->ordered[i];
		uint32_t	k = begin;

		while (k < n && (keys[k].word != entry->word ||
						 (making->lookup->wide && !same_key(making, keys[k].row, entry->row))))
			k++;
		if (k == n)
		{
			keys[n++] = (Entry) {entry->word, entry->row, 0};
			tag |= gpucol_lookup_tag(gpucol_lookup_hash(entry->word));
		}
		keys[k].n++;
		entry->word = k;
	}
	making->lookup->buckets[bucket] = (uint64_t) begin << 16 | tag;
	return n;
}

/* Number a part's keys, from 0 on. */
static void
number_part(void *arg, uint64_t part)
{
	const Parts *parts = arg;
	uint64_t	bucket = part * parts->nbuckets;
	uint32_t	start = parts->starts[part];
	Entry	   *keys = parts->entries + start;
	uint32_t	n = 0;

	order_part(parts, part);
	for (uint32_t b = 0; b < parts->nbuckets; b++)
	{
		uint32_t	end = parts->ends[bucket + b];

		n = number_bucket(parts, bucket + b, start, end, keys, n);
		start = end;
	}
	parts->keys[part] = n;
}

/* Give a part's keys their numbers, and its rows their places. */
static void
place_hashed_part(void *arg, uint64_t part)
{
	const Parts *parts = arg;
	GpucolLookup *lookup = parts->making->lookup;
	uint32_t	start = parts->starts[part];
	uint32_t	end = parts->starts[part + 1];
	uint32_t	base = parts->keys[part];
	uint32_t	n = parts->keys[part + 1] - base;
	Entry	   *keys = parts->entries + start;
	uint32_t	place = start;

	for (uint64_t b = part * parts->nbuckets; b < (part + 1) * parts->nbuckets; b++)
		lookup->buckets[b] += (uint64_t) base << 16;
	for (uint32_t k = 0; k < n; k++)
	{
		uint32_t	rows = keys[k].n;

		lookup->words[base + k] = keys[k].word;
		if (parts->first != NULL)
			parts->first[base + k] = place;
		keys[k].n = place;
		place += rows;
	}
	for (uint32_t i = start; i < end; i++)
		parts->making->places[parts->ordered[i].row] = keys[parts->ordered[i].word].n++;
}

/* The keys before each part's, and memory for what they are to be written to. */
static GpucolStatus
count_keys(Parts *parts)
{
	GpucolLookup *lookup = parts->making->lookup;
	uint32_t	all = 0;

	for (uint32_t p = 0; p < parts->n; p++)
	{
		uint32_t	n = parts->keys[p];

		parts->keys[p] = all;
		all += n;
	}
	parts->keys[parts->n] = lookup->ndistinct = all;
	lookup->unique = all == lookup->nkeyed;
	lookup->words = gpucol_owned_alloc(&lookup->memory, sizeof(uint64_t) * all);
	if (!lookup->unique)
		lookup->first = parts->first = gpucol_owned_alloc(&lookup->memory, sizeof(uint32_t) * ((size_t) all + 1));
	if (lookup->words == NULL || (!lookup->unique && lookup->first == NULL))
		return GPUCOL_OUT_OF_MEMORY;
	lookup->buckets[(size_t) parts->n * parts->nbuckets] = (uint64_t) all << 16;
	if (!lookup->unique)
		lookup->first[all] = lookup->nkeyed;
	return GPUCOL_OK;
}

/* Number the words by hash. */
static GpucolStatus
place_hashed(GpucolMaking *making)
{
	GpucolRun  *run = making->run;
	GpucolLookup *lookup = making->lookup;
	Parts		parts = {.making = making,.hashed = true,.n = 2};
	size_t		nbuckets = 16;
	GpucolStatus status;

	while (nbuckets < lookup->nkeyed && nbuckets < UINT32_C(1) << 31)
		nbuckets *= 2;
	while (parts.n < 1 << MOST_PART_BITS && nbuckets / parts.n > 1 << PART_BUCKET_BITS)
		parts.n *= 2;
	parts.nbuckets = (uint32_t) (nbuckets / parts.n);
	parts.shift = 64 - __builtin_ctz(parts.n);
	lookup->shift = 64 - __builtin_ctzll(nbuckets);
	lookup->buckets = gpucol_owned_alloc(&lookup->memory, sizeof(uint64_t) * (nbuckets + 1));
	parts.ends = gpucol_cpu_alloc(run, sizeof(uint32_t) * nbuckets);
	parts.keys = gpucol_cpu_alloc(run, sizeof(uint32_t) * (parts.n + 1));
	if (lookup->buckets == NULL || parts.ends == NULL || parts.keys == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = deal_rows(&parts);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_free(run, making->words);
	making->words = NULL;
	parts.ordered = gpucol_cpu_alloc(run, sizeof(Entry) * lookup->nkeyed);
	if (parts.ordered == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->source->ops->check_interrupts(run->source);
	gpucol_lookup_share(making, parts.n, number_part, &parts);
	status = count_keys(&parts);
	if (status != GPUCOL_OK)
		return status;
	gpucol_lookup_share(making, parts.n, place_hashed_part, &parts);
	free_parts(&parts);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_lookup_place(GpucolMaking *making)
{
	GpucolLookup *lookup = making->lookup;
	GpucolStatus status = place_null_keys(making);

	if (status != GPUCOL_OK)
		return status;
	if (lookup->nkeys == 0)
		return place_keyless(making);
	if (lookup->nkeyed == 0)
	{
		lookup->dense = lookup->unique = true;
		return GPUCOL_OK;
	}
	return is_dense(lookup) ? place_dense(making) : place_hashed(making);
}
