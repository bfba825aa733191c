/*-------------------------------------------------------------------------
 *
 * feed_numbers.c
 *	  Numbers sorted; one of them by its place in the order, without; the most frequent.
 *
 * Many numbers are sorted by radix.  A place is sought among fewer and fewer numbers: those between
 * the least and the greatest fall into ranges of the same width, are counted by range, and only those
 * of the range with the place remain.  Nothing branches on a number.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "exec/feed_numbers.h"

#define ST_SORT sort_numbers
#define ST_ELEMENT_TYPE int64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* From so many numbers on a radix sort is faster. */
#define RADIX_NUMBERS	1024

/* So few are sorted to find a place. */
#define FEW_NUMBERS		48

/* Ranges are 2^bits: of fewer than so many numbers, and of more. */
#define MANY_NUMBERS	4096
#define FEW_BITS		6
#define MOST_BITS		10

/* Numbers are counted that are at most so far apart, or, of more, as far as there are numbers. */
#define COUNTED_RANGE	256
#define MOST_COUNTED	65536

/* Sort by eight bits at a time; digits that all numbers share cost nothing. */
static void
radix_sort(int64 *values, int64 *scratch, uint64 n)
{
	uint64	   *counts = palloc0(8 * 256 * sizeof(uint64));
	int64	   *from = values;
	int64	   *to = scratch;

	for (uint64 i = 0; i < n; i++)
	{
		uint64		v = (uint64) values[i] ^ (UINT64CONST(1) << 63);

		for (int digit = 0; digit < 8; digit++)
			counts[digit * 256 + (v >> (8 * digit) & 255)]++;
	}
	for (int digit = 0; digit < 8; digit++)
	{
		uint64	   *at = counts + digit * 256;
		uint64		first = ((uint64) from[0] ^ (UINT64CONST(1) << 63)) >> (8 * digit) & 255;
		uint64		sum = 0;
		int64	   *swap = from;

		if (at[first] == n)
			continue;
		for (int i = 0; i < 256; i++)
		{
			uint64		count = at[i];

			at[i] = sum;
			sum += count;
		}
		for (uint64 i = 0; i < n; i++)
		{
			uint64		v = (uint64) from[i] ^ (UINT64CONST(1) << 63);

			to[at[v >> (8 * digit) & 255]++] = from[i];
		}
		from = to;
		to = swap;
		CHECK_FOR_INTERRUPTS();
	}
	if (from != values)
		memcpy(values, from, n * sizeof(int64));
	pfree(counts);
}

void
gpucol_numbers_sort(int64 *values, int64 *scratch, uint64 n)
{
	if (n >= RADIX_NUMBERS)
		radix_sort(values, scratch, n);
	else if (n > 1)
		sort_numbers(values, n);
}

/* The least of some numbers, and how far the greatest is from it. */
static uint64
range_of(const int64 *values, uint64 n, int64 *least)
{
	int64		lo = values[0];
	int64		hi = values[0];

	for (uint64 i = 1; i < n; i++)
	{
		lo = Min(lo, values[i]);
		hi = Max(hi, values[i]);
	}
	*least = lo;
	return (uint64) hi - (uint64) lo;
}

/* The range that a number falls into. */
static inline uint32
range_at(int64 value, int64 least, int shift)
{
	return (uint32) (((uint64) value - (uint64) least) >> shift);
}

/* The range with a place, which becomes the one in it; how many numbers are in it. */
static uint32
find_range(const int64 *values, uint64 n, int64 least, uint64 apart, int shift, uint64 *place, uint64 *inside)
{
	uint64		counts[1 << MOST_BITS];
	uint32		range = 0;

	memset(counts, 0, ((apart >> shift) + 1) * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
		counts[range_at(values[i], least, shift)]++;
	while (*place >= counts[range])
		*place -= counts[range++];
	*inside = counts[range];
	return range;
}

/* The least number of those behind a range, if there is one. */
static void
find_behind(const int64 *values, uint64 n, int64 least, int shift, uint32 range, int64 *behind)
{
	int64		found = PG_INT64_MAX;
	bool		any = false;

	for (uint64 i = 0; i < n; i++)
	{
		bool		is = range_at(values[i], least, shift) > range;

		any |= is;
		found = is && values[i] < found ? values[i] : found;
	}
	if (any)
		*behind = found;
}

int64
gpucol_numbers_select(const int64 *values, int64 *scratch, uint64 n, uint64 place, int64 *next)
{
	int64		least;
	uint64		apart;

	while (n > FEW_NUMBERS && (apart = range_of(values, n, &least)) > 0)
	{
		int			bits = pg_leftmost_one_pos64(apart) + 1;
		int			shift = Max(bits - (n < MANY_NUMBERS ? FEW_BITS : MOST_BITS), 0);
		uint64		inside;
		uint32		range = find_range(values, n, least, apart, shift, &place, &inside);
		uint64		left = 0;

		if (place + 1 == inside)
			find_behind(values, n, least, shift, range, next);
		for (uint64 i = 0; left < inside; i++)
		{
			int64		value = values[i];

			scratch[left] = value;
			left += range_at(value, least, shift) == range;
		}
		values = scratch;
		n = inside;
		CHECK_FOR_INTERRUPTS();
	}
	if (n <= FEW_NUMBERS)
	{
		memmove(scratch, values, n * sizeof(int64));
		sort_numbers(scratch, n);
		values = scratch;
	}
	if (place + 1 < n)
		*next = values[place + 1];
	return values[place];
}

bool
gpucol_numbers_mode(const int64 *values, uint64 n, bool descending, int64 *mode)
{
	int64		least;
	uint64		apart = range_of(values, n, &least);
	uint64	   *counts;
	uint64		best = 0;

	if (apart >= Max(Min(n, MOST_COUNTED), COUNTED_RANGE))
		return false;
	counts = palloc0((apart + 1) * sizeof(uint64));
	for (uint64 i = 0; i < n; i++)
		counts[values[i] - least]++;
	for (uint64 i = 1; i <= apart; i++)
	{
		if (descending ? counts[i] >= counts[best] : counts[i] > counts[best])
			best = i;
	}
	*mode = least + (int64) best;
	pfree(counts);
	return true;
}
