/*-------------------------------------------------------------------------
 *
 * lookup_build.c
 *	  Making a table of the rows that a BUILD has kept.
 *
 *	  1. the workers' pieces, in the order of the scan, number the rows;
 *	  2. strings of all workers become entries of the table, those of keys once each;
 *	  3. every row gets the word of its key;
 *	  4. distinct words are numbered, by bits or by hash, and rows get their places;
 *	  5. columns are written in their narrow width to these places.
 *
 * What needs no order among rows (3, 5) is dealt to all threads by pieces.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/build.h"
#include "engine/cpu/lookup.h"
#include "kernel/hash.h"

#define DENSE_WORDS (UINT64_C(1) << 22) /* a table of bits may always have, */
#define DENSE_WORDS_PER_ROW 64	/* and this many for each row, */
#define DENSE_WORDS_IN_CACHE (UINT64_C(1) << 25)	/* or more up to so many: */
#define DENSE_WORDS_PER_ROW_IN_CACHE 512	/* a lookup by bits is some loads faster */

#define PART_BITS 8				/* of a hash, by which many rows are ordered first */
#define PARTS (1 << PART_BITS)

/* A row, and the word of its key. */
typedef struct Entry
{
	uint64_t	word;
	uint32_t	row;
} Entry;

/* A table in the making. */
typedef struct Making
{
	GpucolRun  *run;
	GpucolLookup *lookup;
	GpucolCpuPiece *pieces;
	uint32_t   *starts;			/* first row of each piece */
	uint64_t	npieces;
	uint32_t	nrows;
	uint32_t  **numbers;		/* [worker * columns + column]: entries of S columns */
	uint64_t   *words;			/* by row */
	uint64_t  **codes;			/* by key and row, of a wide table */
	uint8_t    *null_keys;		/* by row; NULL = none */
	uint32_t   *places;			/* by row: its row in the table */
	void		(*task) (struct Making *making, uint64_t piece);
	_Atomic uint64_t next;		/* piece to be dealt */
} Making;

/* ---- pieces ---- */

static int
compare_pieces(const void *a, const void *b)
{
	const GpucolCpuPiece *x = a;
	const GpucolCpuPiece *y = b;

	if (x->ordinal != y->ordinal)
		return x->ordinal < y->ordinal ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static GpucolStatus
collect_pieces(Making *making)
{
	GpucolRun  *run = making->run;
	uint64_t	nrows = 0;
	uint64_t	n = 0;

	for (int w = 0; w < run->nworkers; w++)
	{
		nrows += run->workers[w].built->nrows;
		making->npieces += run->workers[w].built->npieces;
		making->lookup->has_null |= run->workers[w].built->has_null;
		making->lookup->has_rows |= run->workers[w].built->has_rows;
	}
	if (nrows > GPUCOL_LOOKUP_MAX_ROWS)
		return GPUCOL_OUT_OF_MEMORY;
	making->nrows = making->lookup->nrows = (uint32_t) nrows;
	making->pieces = gpucol_cpu_alloc(run, sizeof(GpucolCpuPiece) * (making->npieces + 1));
	making->starts = gpucol_cpu_alloc(run, sizeof(uint32_t) * (making->npieces + 1));
	if (making->pieces == NULL || making->starts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int w = 0; w < run->nworkers; w++)
	{
		const GpucolCpuBuilt *built = run->workers[w].built;

		if (built->npieces > 0)
			memcpy(making->pieces + n, built->pieces, sizeof(GpucolCpuPiece) * built->npieces);
		n += built->npieces;
	}
	qsort(making->pieces, making->npieces, sizeof(GpucolCpuPiece), compare_pieces);
	nrows = 0;
	for (uint64_t p = 0; p < making->npieces; p++)
	{
		making->starts[p] = (uint32_t) nrows;
		nrows += making->pieces[p].n;
	}
	return GPUCOL_OK;
}

static void
do_pieces(void *arg, int index)
{
	Making	   *making = arg;
	uint64_t	piece;

	(void) index;
	while ((piece = atomic_fetch_add(&making->next, 1)) < making->npieces)
		making->task(making, piece);
}

/* Call task for every piece, by all threads. */
static void
for_pieces(Making *making, void (*task) (Making *making, uint64_t piece))
{
	making->task = task;
	atomic_store(&making->next, 0);
	if (making->npieces < 8)
		do_pieces(making, 0);
	else
		gpucol_pool_run(making->run->nworkers, do_pieces, making);
}

/* ---- strings ---- */

/* Is it a key, whose strings must differ? */
static bool
is_key(const Making *making, int column)
{
	return column < making->lookup->nkeys;
}

/* Number of a string among a key's, added if it is new; its bytes stay where they are. */
static uint32_t
number_string(GpucolLookupKey *key, GpucolLookupColumn *column, GpucolBytes value)
{
	uint64_t	hash = gpucol_hash_bytes(value.data, value.len);
	uint64_t	at = gpucol_hash_home(&key->table, hash);
	uint32_t	number;

	while (gpucol_hash_next(&key->table, hash, &at, &number))
		if (column->entries[number].len == value.len &&
			(value.len == 0 || memcmp(column->entries[number].data, value.data, value.len) == 0))
			return number;
	gpucol_hash_put(&key->table, at, hash, column->nentries);
	column->entries[column->nentries] = value;
	return column->nentries++;
}

/* Give the table its own bytes of a column's entries. */
static GpucolStatus
own_bytes(GpucolLookup *lookup, GpucolLookupColumn *column)
{
	size_t		size = 0;
	char	   *to;

	for (uint32_t i = 0; i < column->nentries; i++)
		size += column->entries[i].len;
	to = gpucol_owned_alloc(&lookup->memory, size + 1);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < column->nentries; i++)
	{
		if (column->entries[i].len > 0)
			memcpy(to, column->entries[i].data, column->entries[i].len);
		column->entries[i].data = to;
		to += column->entries[i].len;
	}
	return GPUCOL_OK;
}

/* Slots for the strings of a key. */
static GpucolStatus
make_slots(GpucolLookup *lookup, GpucolLookupKey *key, uint64_t nentries)
{
	uint64_t	nslots = gpucol_hash_slots(0, nentries);
	uint64_t   *slots = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(uint64_t) * nslots);

	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_hash_set_slots(&key->table, slots, nslots);
	return GPUCOL_OK;
}

/* Number the strings of all workers. */
static GpucolStatus
number_strings(Making *making, int c)
{
	GpucolRun  *run = making->run;
	GpucolLookup *lookup = making->lookup;
	GpucolLookupColumn *column = &lookup->columns[c];
	uint64_t	total = 1;

	for (int w = 0; w < run->nworkers; w++)
		total += run->workers[w].built->columns[c].nentries;
	if (total > UINT32_MAX / 4)
		return GPUCOL_OUT_OF_MEMORY;
	column->entries = gpucol_owned_alloc(&lookup->memory, sizeof(GpucolBytes) * total);
	if (column->entries == NULL ||
		(is_key(making, c) && make_slots(lookup, &lookup->keys[c], total) != GPUCOL_OK))
		return GPUCOL_OUT_OF_MEMORY;
	for (int w = 0; w < run->nworkers; w++)
	{
		const GpucolCpuBuiltColumn *from = &run->workers[w].built->columns[c];
		uint32_t   *numbers = gpucol_cpu_alloc(run, sizeof(uint32_t) *
											   ((size_t) from->nentries + 1));

		if (numbers == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		making->numbers[w * lookup->ncolumns + c] = numbers;
		numbers[0] = 0;
		for (uint32_t i = 0; i < from->nentries; i++)
		{
			if (is_key(making, c))
				numbers[i] = number_string(&lookup->keys[c], column, from->entries[i]);
			else
			{
				numbers[i] = column->nentries;
				column->entries[column->nentries++] = from->entries[i];
			}
		}
	}
	if (column->nentries == 0)
		column->entries[column->nentries++] = (GpucolBytes) {"", 0};
	return own_bytes(lookup, column);
}

/* ---- columns ---- */

/* Bytes of the codes 0 .. range. */
static int
code_width(uint64_t range)
{
	return range <= UINT8_MAX ? 1 : range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
}

/* Frame, width and memory of a column; the frame of a key. */
static GpucolStatus
open_column(Making *making, int c)
{
	GpucolRun  *run = making->run;
	GpucolLookup *lookup = making->lookup;
	GpucolLookupColumn *column = &lookup->columns[c];
	size_t		nrows = (size_t) making->nrows + 1;
	int64_t		least = INT64_MAX;
	int64_t		greatest = INT64_MIN;
	bool		has_nulls = false;
	bool		wide = false;

	column->cls = (GpucolClass) run->code.classes[run->code.keys[c]];
	for (int w = 0; w < run->nworkers; w++)
	{
		const GpucolCpuBuiltColumn *from = &run->workers[w].built->columns[c];

		least = from->least < least ? from->least : least;
		greatest = from->greatest > greatest ? from->greatest : greatest;
		has_nulls |= from->has_nulls;
		wide |= from->wide;
	}
	if (column->cls == GPUCOL_CLASS_S)
	{
		GpucolStatus status = number_strings(making, c);

		if (status != GPUCOL_OK)
			return status;
		least = 0;
		greatest = (int64_t) column->nentries - 1;
	}
	if (column->cls == GPUCOL_CLASS_F || wide)
	{
		least = INT64_MIN;
		greatest = INT64_MAX;
	}
	if (least > greatest)
		least = greatest = 0;
	column->width = code_width((uint64_t) greatest - (uint64_t) least);
	column->reference = column->width == 8 ? 0 : least;
	column->least = least;
	column->greatest = greatest;
	column->values = gpucol_owned_alloc(&lookup->memory, (size_t) column->width * nrows);
	if (has_nulls)
		column->nulls = gpucol_owned_alloc(&lookup->memory, nrows);
	if (wide)
		column->highs = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(int64_t) * nrows);
	if (column->values == NULL || (has_nulls && column->nulls == NULL) ||
		(wide && column->highs == NULL))
		return GPUCOL_OUT_OF_MEMORY;
	memset(column->values, 0, (size_t) column->width);	/* where there are no rows */
	if (is_key(making, c))
	{
		lookup->keys[c].least = least;
		lookup->keys[c].range = (uint64_t) greatest - (uint64_t) least;
	}
	return GPUCOL_OK;
}

/* Write a piece's rows of one column to their places. */
static void
write_column(const Making *making, uint64_t piece, int c)
{
	const GpucolCpuPiece *from = &making->pieces[piece];
	const GpucolCpuChunk *chunk = from->chunk;
	GpucolLookupColumn *column = &making->lookup->columns[c];
	const uint32_t *places = making->places + making->starts[piece];
	const int64_t *values = chunk->values + (size_t) c * chunk->room + from->start;
	const uint8_t *nulls = chunk->nulls + (size_t) c * chunk->room + from->start;
	const uint32_t *numbers = making->numbers[chunk->worker * making->lookup->ncolumns + c];
	const int64_t *highs = chunk->highs == NULL || chunk->highs[c] == NULL ? NULL :
		chunk->highs[c] + from->start;

	for (uint32_t j = 0; j < from->n && column->highs != NULL; j++)
		column->highs[places[j]] = nulls[j] ? 0 : highs != NULL ? highs[j] : values[j] < 0 ? -1 : 0;
	for (uint32_t j = 0; j < from->n; j++)
	{
		uint64_t	value = column->cls == GPUCOL_CLASS_S ?
			numbers[values[j]] : (uint64_t) values[j];

		value = nulls[j] ? 0 : value - (uint64_t) column->reference;
		if (column->width == 1)
			((uint8_t *) column->values)[places[j]] = (uint8_t) value;
		else if (column->width == 2)
			((uint16_t *) column->values)[places[j]] = (uint16_t) value;
		else if (column->width == 4)
			((uint32_t *) column->values)[places[j]] = (uint32_t) value;
		else
			((uint64_t *) column->values)[places[j]] = value;
		if (column->nulls != NULL)
			column->nulls[places[j]] = nulls[j];
	}
}

static void
write_piece(Making *making, uint64_t piece)
{
	for (int c = 0; c < making->lookup->ncolumns; c++)
		write_column(making, piece, c);
}

/* ---- words ---- */

/* Bits of the codes 0 .. range. */
static int
code_bits(uint64_t range)
{
	return range == 0 ? 0 : 64 - __builtin_clzll(range);
}

/* Where codes lie in words, and the greatest word; wide if they do not fit. */
static GpucolStatus
plan_words(Making *making)
{
	GpucolLookup *lookup = making->lookup;
	size_t		nrows = (size_t) making->nrows + 1;
	int			bits = 0;

	for (int k = 0; k < lookup->nkeys; k++)
	{
		GpucolLookupKey *key = &lookup->keys[k];

		key->shift = bits < 64 ? bits : 0;
		bits += code_bits(key->range);
		if (bits <= 64)
			lookup->greatest |= key->range << key->shift;
	}
	lookup->wide = bits > 64;
	making->words = gpucol_cpu_alloc(making->run, sizeof(uint64_t) * nrows);
	making->places = gpucol_cpu_alloc(making->run, sizeof(uint32_t) * nrows);
	making->codes = gpucol_cpu_alloc0(making->run, sizeof(uint64_t *) *
									  ((size_t) lookup->nkeys + 1));
	if (making->words == NULL || making->places == NULL || making->codes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (lookup->has_null && (making->run->program->flags & GPUCOL_PROGRAM_KEEP_NULL_KEYS))
	{
		making->null_keys = gpucol_cpu_alloc0(making->run, nrows);
		if (making->null_keys == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int k = 0; k < lookup->nkeys && lookup->wide; k++)
	{
		making->codes[k] = gpucol_cpu_alloc(making->run, sizeof(uint64_t) * nrows);
		if (making->codes[k] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* The code of a value of a key. */
GPUCOL_CPU_INLINE uint64_t
code_of(GpucolClass cls, const GpucolLookupKey *key, const uint32_t *numbers, int64_t value)
{
	if (cls == GPUCOL_CLASS_S)
		return numbers[value];
	if (cls == GPUCOL_CLASS_F)
	{
		double		f;

		memcpy(&f, &value, sizeof(f));
		value = gpucol_lookup_float(f);
	}
	return (uint64_t) value - (uint64_t) key->least;
}

/* The words of a piece's rows. */
static void
word_piece(Making *making, uint64_t piece)
{
	const GpucolLookup *lookup = making->lookup;
	const GpucolCpuPiece *from = &making->pieces[piece];
	const GpucolCpuChunk *chunk = from->chunk;
	uint32_t	start = making->starts[piece];
	uint64_t   *words = making->words + start;

	memset(words, 0, sizeof(uint64_t) * from->n);
	for (int k = 0; k < lookup->nkeys; k++)
	{
		const int64_t *values = chunk->values + (size_t) k * chunk->room + from->start;
		const uint8_t *nulls = chunk->nulls + (size_t) k * chunk->room + from->start;
		const uint32_t *numbers = making->numbers[chunk->worker * lookup->ncolumns + k];

		for (uint32_t j = 0; j < from->n; j++)
		{
			uint64_t	code = nulls[j] ? 0 :
				code_of(lookup->columns[k].cls, &lookup->keys[k], numbers, values[j]);

			if (making->null_keys != NULL)
				making->null_keys[start + j] |= nulls[j];
			if (lookup->wide)
			{
				making->codes[k][start + j] = code;
				words[j] = gpucol_lookup_add_code(words[j], code);
			}
			else
				words[j] |= code << lookup->keys[k].shift;
		}
	}
}

/* ---- numbers and places ---- */

static bool
has_key(const Making *making, uint32_t row)
{
	return making->null_keys == NULL || !making->null_keys[row];
}

/* Put rows with a NULL key behind the others. */
static void
place_null_keys(Making *making)
{
	GpucolLookup *lookup = making->lookup;
	uint32_t	n = 0;

	for (uint32_t r = 0; r < making->nrows && making->null_keys != NULL; r++)
		n += making->null_keys[r];
	lookup->nkeyed = making->nrows - n;
	n = lookup->nkeyed;
	for (uint32_t r = 0; r < making->nrows && making->null_keys != NULL; r++)
		if (making->null_keys[r])
			making->places[r] = n++;
}

/*
 * Rows' places from the numbers of their keys, which places[] has, and the number of rows
 * of each key, which first[number + 2] has (of ndistinct + 2).
 */
static void
place_numbers(Making *making, uint32_t *first)
{
	GpucolLookup *lookup = making->lookup;

	for (uint32_t d = 0; d < lookup->ndistinct; d++)
		first[d + 2] += first[d + 1];
	for (uint32_t r = 0; r < making->nrows; r++)
		if (has_key(making, r))
			making->places[r] = first[making->places[r] + 1]++;
	lookup->first = first;
}

/* Room for place_numbers. */
static uint32_t *
make_first(GpucolLookup *lookup, uint32_t n)
{
	return gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(uint32_t) * ((size_t) n + 2));
}

/* Are all words those of an array of bits that is not too sparse? */
static bool
is_dense(const GpucolLookup *lookup)
{
	return !lookup->wide && (lookup->greatest < DENSE_WORDS ||
							 lookup->greatest / DENSE_WORDS_PER_ROW < lookup->nkeyed ||
							 (lookup->greatest < DENSE_WORDS_IN_CACHE &&
							  lookup->greatest / DENSE_WORDS_PER_ROW_IN_CACHE < lookup->nkeyed));
}

/* Count the bits before each block; returns all. */
GPUCOL_CPU_CLONES static uint32_t
count_before(GpucolLookup *lookup, size_t nblocks)
{
	uint32_t	before = 0;

	for (size_t b = 0; b < nblocks; b++)
	{
		lookup->before[b] = before;
		before += (uint32_t) __builtin_popcountll(lookup->bits[b]);
	}
	return before;
}

/* Set the bits of the keys of a piece's rows, those of rows that follow each other at once. */
static void
set_bits(Making *making, uint64_t piece)
{
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
number_dense(Making *making, uint64_t piece)
{
	const GpucolLookup *lookup = making->lookup;
	uint32_t	start = making->starts[piece];

	for (uint32_t r = start; r < start + making->pieces[piece].n; r++)
		if (has_key(making, r))
			making->places[r] = gpucol_lookup_rank(lookup, making->words[r]);
}

/* Number the words by their bits. */
static GpucolStatus
place_dense(Making *making)
{
	GpucolLookup *lookup = making->lookup;
	size_t		nblocks = (size_t) (lookup->greatest / 64) + 1;
	uint32_t   *first = NULL;

	lookup->dense = true;
	lookup->bits = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(uint64_t) * nblocks);
	lookup->before = gpucol_owned_alloc(&lookup->memory, sizeof(uint32_t) * nblocks);
	if (lookup->bits == NULL || lookup->before == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for_pieces(making, set_bits);
	lookup->ndistinct = count_before(lookup, nblocks);
	lookup->unique = lookup->ndistinct == lookup->nkeyed;
	lookup->gapless = lookup->ndistinct - UINT64_C(1) == lookup->greatest;
	for_pieces(making, number_dense);
	if (lookup->unique)
		return GPUCOL_OK;
	first = make_first(lookup, lookup->ndistinct);
	if (first == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t r = 0; r < making->nrows; r++)
		if (has_key(making, r))
			first[making->places[r] + 2]++;
	place_numbers(making, first);
	return GPUCOL_OK;
}

/* Have two rows of a wide table the same key? */
static bool
same_key(const Making *making, uint32_t a, uint32_t b)
{
	for (int k = 0; k < making->lookup->nkeys; k++)
		if (making->codes[k][a] != making->codes[k][b])
			return false;
	return true;
}

/* Collect the rows of keys; returns their number. */
static uint32_t
collect_entries(const Making *making, Entry *entries)
{
	uint32_t	n = 0;

	for (uint32_t r = 0; r < making->nrows; r++)
	{
		entries[n].word = making->words[r];
		entries[n].row = r;
		n += has_key(making, r);
	}
	return n;
}

/* Order entries by a hash's bits from `shift` on, those that are equal as they were. */
static void
order_entries(const Entry *from, uint32_t n, int shift, uint32_t *ends, uint32_t nends,
			  Entry *to)
{
	uint32_t	before = 0;

	memset(ends, 0, sizeof(uint32_t) * (size_t) nends);
	for (uint32_t i = 0; i < n; i++)
		ends[gpucol_lookup_hash(from[i].word) >> shift]++;
	for (uint32_t b = 0; b < nends; b++)
	{
		uint32_t	count = ends[b];

		ends[b] = before;
		before += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[ends[gpucol_lookup_hash(from[i].word) >> shift]++] = from[i];
}

/*
 * The rows of keys, ordered by bucket; ends[] becomes the end of each bucket's.  Many are
 * ordered by the upper end of their hash first, so that the caches hold the buckets that
 * entries go to one after another.
 */
static GpucolStatus
order_rows(Making *making, uint32_t *ends, uint32_t nbuckets, Entry **ordered)
{
	GpucolRun  *run = making->run;
	size_t		size = sizeof(Entry) * ((size_t) making->nrows + 1);
	Entry	   *entries = gpucol_cpu_alloc(run, size);
	Entry	   *other = gpucol_cpu_alloc(run, size);
	uint32_t	parts[PARTS];
	uint32_t	n;

	*ordered = other;
	if (entries == NULL || other == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	n = collect_entries(making, entries);
	if (nbuckets > PARTS * PARTS)
	{
		order_entries(entries, n, 64 - PART_BITS, parts, PARTS, other);
		*ordered = entries;
		entries = other;
	}
	order_entries(entries, n, making->lookup->shift, ends, nbuckets, *ordered);
	gpucol_cpu_free(run, entries);
	return GPUCOL_OK;
}

/* Number the keys of a bucket, of entries[start .. end). */
static void
number_bucket(Making *making, uint32_t bucket, const Entry *entries, uint32_t start,
			  uint32_t end, uint32_t *first, uint32_t *samples)
{
	GpucolLookup *lookup = making->lookup;
	uint32_t	begin = lookup->ndistinct;
	uint64_t	tag = 0;

	for (uint32_t i = start; i < end; i++)
	{
		uint32_t	row = entries[i].row;
		uint64_t	word = entries[i].word;
		uint32_t	d;

		for (d = begin; d < lookup->ndistinct; d++)
			if (lookup->words[d] == word &&
				(!lookup->wide || same_key(making, samples[d], row)))
				break;
		if (d == lookup->ndistinct)
		{
			lookup->words[d] = word;
			samples[d] = row;
			lookup->ndistinct++;
			tag |= gpucol_lookup_tag(gpucol_lookup_hash(word));
		}
		making->places[row] = d;
		first[d + 2]++;
	}
	lookup->buckets[bucket] = (uint64_t) begin << 16 | tag;
}

/* Number the words by hash. */
static GpucolStatus
place_hashed(Making *making)
{
	GpucolRun  *run = making->run;
	GpucolLookup *lookup = making->lookup;
	size_t		n = lookup->nkeyed;
	uint32_t	nbuckets = 16;
	int			bits = 4;
	uint32_t   *ends;
	Entry	   *entries;
	uint32_t   *samples;
	uint32_t   *first;

	while (nbuckets < n && bits < 31)
	{
		nbuckets *= 2;
		bits++;
	}
	lookup->shift = 64 - bits;
	lookup->buckets = gpucol_owned_alloc(&lookup->memory,
										 sizeof(uint64_t) * ((size_t) nbuckets + 1));
	lookup->words = gpucol_owned_alloc(&lookup->memory, sizeof(uint64_t) * n);
	first = make_first(lookup, (uint32_t) n);
	ends = gpucol_cpu_alloc(run, sizeof(uint32_t) * (size_t) nbuckets);
	samples = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
	if (lookup->buckets == NULL || lookup->words == NULL || first == NULL ||
		ends == NULL || samples == NULL ||
		order_rows(making, ends, nbuckets, &entries) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t b = 0; b < nbuckets; b++)
		number_bucket(making, b, entries, b == 0 ? 0 : ends[b - 1], ends[b], first, samples);
	lookup->buckets[nbuckets] = (uint64_t) lookup->ndistinct << 16;
	lookup->unique = lookup->ndistinct == lookup->nkeyed;
	if (lookup->unique)
		gpucol_owned_free(&lookup->memory, first);
	else
		place_numbers(making, first);
	gpucol_cpu_free(run, ends);
	gpucol_cpu_free(run, entries);
	gpucol_cpu_free(run, samples);
	return GPUCOL_OK;
}

/* Without a key, every row is of the one that all have. */
static GpucolStatus
place_keyless(Making *making)
{
	GpucolLookup *lookup = making->lookup;

	lookup->dense = true;
	lookup->unique = lookup->nkeyed <= 1;
	lookup->ndistinct = lookup->nkeyed > 0;
	for (uint32_t r = 0; r < making->nrows; r++)
		making->places[r] = r;
	if (lookup->unique)
		return GPUCOL_OK;
	lookup->first = make_first(lookup, 1);
	if (lookup->first == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	lookup->first[1] = lookup->nkeyed;
	return GPUCOL_OK;
}

static GpucolStatus
place_rows(Making *making)
{
	GpucolLookup *lookup = making->lookup;

	place_null_keys(making);
	if (lookup->nkeys == 0)
		return place_keyless(making);
	if (lookup->nkeyed == 0)
	{
		lookup->dense = lookup->unique = true;
		return GPUCOL_OK;
	}
	return is_dense(lookup) ? place_dense(making) : place_hashed(making);
}

/* ---- all of it ---- */

/* An empty table, which the run owns until it is handed over. */
static GpucolStatus
open_lookup(GpucolRun *run, GpucolLookup **result)
{
	GpucolLookup *lookup = calloc(1, sizeof(GpucolLookup));
	size_t		used = atomic_load(&run->mem.budget.used);

	*result = run->join.lookup = lookup;
	if (lookup == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_budget_open(&lookup->budget, run->mem.limit == 0 ? 0 :
					   used < run->mem.limit ? run->mem.limit - used : 1, run->mem.parent);
	gpucol_owned_open(&lookup->memory, &lookup->budget);
	lookup->ncolumns = run->program->nkeys;
	lookup->nkeys = run->program->njoin_keys;
	lookup->parted = run->join.part != NULL;
	if (lookup->parted)
		lookup->part = *run->join.part;
	lookup->columns = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(GpucolLookupColumn) *
												((size_t) lookup->ncolumns + 1));
	lookup->keys = gpucol_owned_alloc_zeroed(&lookup->memory, sizeof(GpucolLookupKey) *
											 ((size_t) lookup->nkeys + 1));
	return lookup->columns == NULL || lookup->keys == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_lookup_build(GpucolRun *run)
{
	Making		making = {.run = run};
	GpucolStatus status = open_lookup(run, &making.lookup);

	if (status == GPUCOL_OK)
		status = collect_pieces(&making);
	if (status != GPUCOL_OK)
		return status;
	making.numbers = gpucol_cpu_alloc0(run, sizeof(uint32_t *) * (size_t)
									   (run->nworkers * making.lookup->ncolumns + 1));
	if (making.numbers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < making.lookup->ncolumns && status == GPUCOL_OK; c++)
		status = open_column(&making, c);
	if (status == GPUCOL_OK)
		status = plan_words(&making);
	if (status != GPUCOL_OK)
		return status;
	run->source->ops->check_interrupts(run->source);
	for_pieces(&making, word_piece);
	status = place_rows(&making);
	if (status != GPUCOL_OK)
		return status;
	run->source->ops->check_interrupts(run->source);
	for_pieces(&making, write_piece);
	return GPUCOL_OK;
}
