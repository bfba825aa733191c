/*-------------------------------------------------------------------------
 *
 * radix.c
 *	  Sorting row numbers by unsigned keys, without comparisons.
 *
 * Least digits first, so that each pass is a stable distribution; a digit that all keys
 * share costs none.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "base/radix.h"

/* A digit whose counts stay in the first-level cache. */
#define DIGIT_BITS	11
#define DIGITS		(1 << DIGIT_BITS)

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
