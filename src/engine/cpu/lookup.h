/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  A built table: what the probes of later runs look up.
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
 * Rows whose key is NULL (KEEP_NULL_KEYS) lie behind all others.
 *
 * Columns are stored in the narrowest of 1, 2, 4 and 8 bytes, less their least value;
 * strings as numbers of entries, which the table owns.  Decimals that exceed 8 bytes, of
 * which there are no keys, have their upper halves beside them.
 *
 * A table is read-only once it is built: any thread may look it up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_LOOKUP_H
#define GPUCOL_ENGINE_CPU_LOOKUP_H

#include "engine/cpu/cpu.h"
#include "kernel/lookup.h"

#define GPUCOL_LOOKUP_MAX_ROWS	(UINT32_MAX - 16)

extern const char gpucol_lookup_no_string[1];

struct GpucolLookup
{
	GpucolBudget budget;
	GpucolOwned memory;

	uint32_t	nrows;
	uint32_t	nkeyed;			/* rows before those with a NULL key */
	uint32_t	ndistinct;		/* keys */
	int			ncolumns;
	int			nkeys;
	GpucolLookupColumn *columns;
	GpucolLookupKey *keys;
	bool		has_null;
	bool		has_rows;		/* rows were there, in any of its parts */
	bool		parted;			/* it is one part of several: */
	GpucolTablePart	part;
	bool		unique;
	bool		dense;
	bool		wide;			/* words are hashes of codes */
	uint32_t   *first;			/* by key's number, and the end; NULL if unique */

	/* dense */
	bool		gapless;		/* every word is there */
	uint64_t	greatest;		/* word */
	uint64_t   *bits;			/* by word */
	uint32_t   *before;			/* by 64 words: bits set before them */

	/* hash */
	uint64_t   *buckets;		/* first number << 16 | tag; and the end */
	int			shift;			/* of a hash, to its bucket */
	uint64_t   *words;			/* by number */
};

/* The code of a float of a key. */
GPUCOL_CPU_INLINE int64_t
gpucol_lookup_float(double value)
{
	int64_t		bits;

	memcpy(&bits, &value, sizeof(bits));
	return gpucol_lookup_float_code(bits);
}

/* The int64 form of a value of a column: floats as their bits, strings as numbers. */
GPUCOL_CPU_INLINE int64_t
gpucol_lookup_value(const GpucolLookupColumn *column, uint32_t row)
{
	uint64_t	value;

	switch (column->width)
	{
		case 1:
			value = ((const uint8_t *) column->values)[row];
			break;
		case 2:
			value = ((const uint16_t *) column->values)[row];
			break;
		case 4:
			value = ((const uint32_t *) column->values)[row];
			break;
		default:
			value = ((const uint64_t *) column->values)[row];
	}
	return (int64_t) (value + (uint64_t) column->reference);
}

/*
 * Find the numbers of n keys, GPUCOL_LOOKUP_NONE where there is none or a byte of `valid`
 * is 0 (NULL = all valid).  words[] are their words; of a wide table codes[k] the codes
 * of key k.  hashes is scratch for n; n is at most 1,024.
 */
extern void gpucol_lookup_find(const GpucolLookup *lookup, const uint64_t *words,
							   const uint64_t *const *codes, const uint8_t *valid,
							   uint32_t n, uint64_t *hashes, uint32_t *numbers);

/* The number of a word that is there; the table is dense. */
GPUCOL_CPU_INLINE uint32_t
gpucol_lookup_rank(const GpucolLookup *lookup, uint64_t word)
{
	uint64_t	below = (UINT64_C(1) << (word & 63)) - 1;

	return lookup->before[word >> 6] +
		(uint32_t) __builtin_popcountll(lookup->bits[word >> 6] & below);
}

/* Number of a string among the entries of key column k, GPUCOL_LOOKUP_NONE if it is not there. */
extern uint32_t gpucol_lookup_string(const GpucolLookup *lookup, int k, GpucolBytes value);

/* The rows of a key's number. */
GPUCOL_CPU_INLINE uint32_t
gpucol_lookup_first(const GpucolLookup *lookup, uint32_t number)
{
	return lookup->first == NULL ? number : lookup->first[number];
}

GPUCOL_CPU_INLINE uint32_t
gpucol_lookup_count(const GpucolLookup *lookup, uint32_t number)
{
	return lookup->first == NULL ? 1 : lookup->first[number + 1] - lookup->first[number];
}

/*
 * Fill a register with a column's values at rows[], NULL where there is no row.  A register
 * of class S becomes codes of the entries; its column is left to the caller.
 */
extern void gpucol_lookup_gather(const GpucolLookupColumn *column, const uint32_t *rows,
								 uint32_t n, GpucolCpuReg *reg);

/* The same where all n rows are one row of the table, or GPUCOL_LOOKUP_NONE. */
extern void gpucol_lookup_spread(const GpucolLookupColumn *column, uint32_t row, uint32_t n, GpucolCpuReg *reg);

/* The operations of the engine. */
extern void gpucol_lookup_view(const GpucolLookup *lookup, GpucolLookupView *out);
extern void gpucol_lookup_figures(const GpucolLookup *lookup, GpucolLookupFigures *out);
extern void gpucol_lookup_free(GpucolLookup *lookup);

#endif							/* GPUCOL_ENGINE_CPU_LOOKUP_H */
