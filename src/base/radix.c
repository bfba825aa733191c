/*-------------------------------------------------------------------------
 *
 * radix.c
 *	  Sorting row numbers by unsigned keys, without comparisons.
 *
 * Keys of few digits are sorted by the least digit first; each pass is a stable distribution, and a digit that all
 * keys share costs none.  Of longer keys the greatest digit comes first: the parts that it leaves, of a few items each
 * after one digit more or two, are in the cache when they are sorted by the next, and few of them need all digits.
 *
 *-------------------------------------------------------------------------
 */
#include <stdbool.h>
#include <string.h>

#include "base/radix.h"

/* A digit whose counts stay in the first-level cache. */
#define DIGIT_BITS	11
#define DIGITS		(1 << DIGIT_BITS)

/* Keys of more digits are sorted by the greatest first. */
#define MOST_PASSES	2

/* Fewer items are sorted by insertion. */
#define FEW			32

static inline uint32_t
digit(uint64_t key, int pass)
{
	return (uint32_t) (key >> (pass * DIGIT_BITS)) & (DIGITS - 1);
}

static void
insert_few(GpucolRadixItem *items, uint32_t n, uint64_t mask)
{
	for (uint32_t i = 1; i < n; i++)
	{
		GpucolRadixItem item = items[i];
		uint32_t	at = i;

		for (; at > 0 && (items[at - 1].key & mask) > (item.key & mask); at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* Take the items to where their digit's come to lie, which `counts` become. */
static void
distribute(const GpucolRadixItem *from, GpucolRadixItem *to, uint32_t n, int pass,
		   uint64_t mask, uint32_t *counts)
{
	uint32_t	at = 0;

	for (int i = 0; i < DIGITS; i++)
	{
		uint32_t	count = counts[i];

		counts[i] = at;
		at += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[counts[digit(from[i].key & mask, pass)]++] = from[i];
}

/* The lowest bits of two keys that differ, as a number of bits; 0 if all are the same. */
static int
differing_bits(const GpucolRadixItem *items, uint32_t n, uint64_t mask)
{
	uint64_t	any = 0;

	for (uint32_t i = 1; i < n; i++)
		any |= items[i].key ^ items[0].key;
	any &= mask;
	return any == 0 ? 0 : 64 - __builtin_clzll(any);
}

/* Bits of a digit that parts n items into parts of a few. */
static int
digit_bits(uint32_t n, int bits)
{
	int			wanted = 31 - __builtin_clz(n);

	wanted = wanted < DIGIT_BITS ? wanted : DIGIT_BITS;
	return wanted < bits ? wanted : bits;
}

/*
 * Sort by the greatest digit first, then the items of each part by the next.  The result lies in `other` if `moved`,
 * else in `items`.
 */
static void
sort_parts(GpucolRadixItem *items, GpucolRadixItem *other, uint32_t n, uint64_t mask, bool moved)
{
	uint32_t	ends[DIGITS];
	int			bits = n <= FEW ? 0 : differing_bits(items, n, mask);
	int			width = bits == 0 ? 0 : digit_bits(n, bits);
	int			shift = bits - width;
	uint32_t	start = 0;

	if (bits == 0)
	{
		if (n <= FEW)
			insert_few(items, n, mask);
		if (moved)
			memcpy(other, items, n * sizeof(GpucolRadixItem));
		return;
	}
	mask = ((uint64_t) 1 << shift) - 1;
	memset(ends, 0, sizeof(uint32_t) << width);
	for (uint32_t i = 0; i < n; i++)
		ends[(items[i].key >> shift) & ((1u << width) - 1)]++;
	for (uint32_t i = 0, at = 0; i < 1u << width; i++)
	{
		uint32_t	count = ends[i];

		ends[i] = at;
		at += count;
	}
	for (uint32_t i = 0; i < n; i++)
		other[ends[(items[i].key >> shift) & ((1u << width) - 1)]++] = items[i];
	for (uint32_t i = 0; i < 1u << width; start = ends[i++])
	{
		if (ends[i] - start > 1 && shift > 0)
			sort_parts(other + start, items + start, ends[i] - start, mask, !moved);
		else if (!moved)
			memcpy(items + start, other + start, (ends[i] - start) * sizeof(GpucolRadixItem));
	}
}

GpucolRadixItem *
gpucol_radix_sort(GpucolRadixItem *items, GpucolRadixItem *scratch, uint32_t n, int bits)
{
	uint32_t	counts[DIGITS];
	uint64_t	mask = bits >= 64 ? ~(uint64_t) 0 : ((uint64_t) 1 << bits) - 1;
	int			passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;

	if (n <= FEW)
	{
		insert_few(items, n, mask);
		return items;
	}
	if (passes > MOST_PASSES || n < DIGITS)
	{
		sort_parts(items, scratch, n, mask, false);
		return items;
	}
	for (int pass = 0; pass < passes; pass++)
	{
		GpucolRadixItem *sorted = scratch;

		memset(counts, 0, sizeof(counts));
		for (uint32_t i = 0; i < n; i++)
			counts[digit(items[i].key & mask, pass)]++;
		if (counts[digit(items[0].key & mask, pass)] == n)
			continue;
		distribute(items, scratch, n, pass, mask, counts);
		scratch = items;
		items = sorted;
	}
	return items;
}
