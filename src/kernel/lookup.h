/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  A built table as arrays: what an engine that has not built it probes.
 *
 * Every key column is brought to a code, its value less the least one of the table
 * (strings are numbered first), and the codes of a row's key to one *word*: side by
 * side where they fit 64 bits, else a hash of them, and then the columns themselves
 * are compared.  Distinct words are numbered, and rows lie in the order of these
 * numbers, so that the rows of a key are adjacent:
 *
 *	  dense		a bit for each word that could be, and the number of bits before each
 *				64 of them: a key's number is two loads and a count of bits, and a bit
 *				and a half of memory a word; where every bit is set, the word is its number
 *	  hash		buckets of distinct words, ordered by hash.  A bucket's entry holds the
 *				number of its first word and a 16-bit tag in which each of its words
 *				has set one bit: most misses go no further
 *
 * Where keys are unique a key's number is its row; else first[] has where its rows begin.
 * Rows whose key is NULL lie behind all others.
 *
 * Columns are stored in the narrowest of 1, 2, 4 and 8 bytes, less their least value;
 * strings as numbers of entries.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_LOOKUP_H
#define GPUCOL_KERNEL_LOOKUP_H

#include "base/hash_table.h"
#include "kernel/float_order.h"
#include "kernel/program.h"

#define GPUCOL_LOOKUP_NONE	UINT32_MAX	/* no row */

typedef struct GpucolLookupColumn
{
	GpucolClass cls;
	int			width;			/* bytes of a value: 1, 2, 4, 8 */
	int64_t		reference;		/* added to it */
	int64_t		least;			/* of values that are not NULL: not of F */
	int64_t		greatest;
	void	   *values;
	int64_t    *highs;			/* D: upper halves of int128; NULL = none is needed */
	uint8_t    *nulls;			/* a byte a row; NULL = none */
	GpucolBytes *entries;		/* S: by value, of a key distinct; at least one */
	uint32_t	nentries;
} GpucolLookupColumn;

/* Key k is column k. */
typedef struct GpucolLookupKey
{
	int64_t		least;
	uint64_t	range;			/* of the codes: greatest less least */
	int			shift;			/* of a code in the word */
	GpucolHashTable table;		/* S: of entries */
} GpucolLookupKey;

/* The table's own arrays, good as long as it is. */
typedef struct GpucolLookupView
{
	uint32_t	nrows;
	uint32_t	nkeyed;			/* rows before those with a NULL key */
	uint32_t	ndistinct;		/* keys */
	int			ncolumns;
	int			nkeys;
	const GpucolLookupColumn *columns;
	const GpucolLookupKey *keys;
	bool		has_null;		/* a row with a NULL key was there */
	bool		unique;
	bool		dense;
	bool		wide;			/* words are hashes of codes */
	const uint32_t *first;		/* [ndistinct + 1], by number; NULL if unique */

	/* dense, where there are keys and rows */
	bool		gapless;		/* every word is there */
	uint64_t	greatest;		/* word */
	const uint64_t *bits;		/* by word */
	const uint32_t *before;		/* by 64 words: bits set before them */

	/* hash */
	const uint64_t *buckets;	/* [2^(64 - shift) + 1]: first number << 16 | tag; the end */
	int			shift;			/* of a hash, to its bucket */
	const uint64_t *words;		/* [ndistinct] */
} GpucolLookupView;

/* The values that an integer key of a table has; of so many keys, the first. */
#define GPUCOL_KEY_RANGES	4

typedef struct GpucolKeyRange
{
	bool		known;			/* in least .. greatest */
	int64_t		least;
	int64_t		greatest;
} GpucolKeyRange;

/* Note those of a table: ranges[GPUCOL_KEY_RANGES]. */
static inline void
gpucol_lookup_note_ranges(const GpucolLookupView *view, GpucolKeyRange *ranges)
{
	for (int k = 0; k < GPUCOL_KEY_RANGES; k++)
	{
		ranges[k].known = k < view->nkeys && view->columns[k].cls == GPUCOL_CLASS_I && view->nkeyed > 0;
		ranges[k].least = ranges[k].known ? view->keys[k].least : 0;
		ranges[k].greatest = ranges[k].known ? (int64_t) ((uint64_t) view->keys[k].least + view->keys[k].range) : 0;
	}
}

/* Hash of a word; the upper end is its bucket, the lower its tag. */
static inline GPUCOL_DEVICE uint64_t
gpucol_lookup_hash(uint64_t word)
{
	word ^= word >> 32;
	word *= UINT64_C(0x9e3779b97f4a7c15);
	word ^= word >> 29;
	word *= UINT64_C(0xbf58476d1ce4e5b9);
	return word ^ word >> 32;
}

/* A wide word: that of the codes before, and one code more. */
static inline GPUCOL_DEVICE uint64_t
gpucol_lookup_add_code(uint64_t word, uint64_t code)
{
	word = (word ^ code) * UINT64_C(0x9e3779b97f4a7c15);
	return word ^ word >> 31;
}

static inline GPUCOL_DEVICE uint64_t
gpucol_lookup_tag(uint64_t hash)
{
	return UINT64_C(1) << (hash & 15);
}

/* The code of a float of a key, by its bits: zeros are equal, and so are all NaN. */
static inline GPUCOL_DEVICE int64_t
gpucol_lookup_float_code(int64_t bits)
{
	uint64_t	magnitude = (uint64_t) bits << 1;

	if (magnitude == 0)
		return 0;
	return magnitude > UINT64_C(0xffe0000000000000) ? INT64_C(0x7ff8000000000000) : bits;
}

/* Does a table's column of class `cls` have the values that a payload column of `kind` is to have? */
static inline GPUCOL_DEVICE bool
gpucol_lookup_suits(int cls, int kind)
{
	switch (kind)
	{
		case GPUCOL_KIND_INT:
			return cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_B;
		case GPUCOL_KIND_DECIMAL:
			return cls == GPUCOL_CLASS_D || cls == GPUCOL_CLASS_I;
		case GPUCOL_KIND_BYTES:
			return cls == GPUCOL_CLASS_S;
		default:
			return cls == GPUCOL_CLASS_F;
	}
}

#endif							/* GPUCOL_KERNEL_LOOKUP_H */
