/*-------------------------------------------------------------------------
 *
 * bytes_order.c
 *	  Byte strings in the order of their bytes.
 *
 * Eight bytes at a time are a key without a comparison: strings are sorted by their first
 * eight, those that tie, where there are many, by the next eight, and so on.  So a string that
 * begins as many others do (URLs) is looked at once for each eight bytes of that, and not once
 * for each comparison.  A few that tie are compared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port.h"
#include "port/pg_bswap.h"

#include "exec/bytes_order.h"

#define FEW_TIES	512			/* are compared, */
#define DEEPEST		512			/* and all that have so many bytes in common */

/* Eight bytes of a string, zeros where it has ended, as a number in their order. */
static inline uint64
word_at(const GpucolBytes *value, uint32 depth)
{
	uint64		word = 0;

	if (value->len >= depth + sizeof(word))
		memcpy(&word, value->data + depth, sizeof(word));
	else if (value->len > depth)
		memcpy(&word, value->data + depth, value->len - depth);
	return pg_ntoh64(word);
}

static int
compare_bytes(const void *a, const void *b, void *arg)
{
	const GpucolBytes *values = arg;
	const GpucolBytes *x = &values[((const GpucolRadixItem *) a)->row];
	const GpucolBytes *y = &values[((const GpucolRadixItem *) b)->row];
	int			order = memcmp(x->data, y->data, Min(x->len, y->len));

	return order != 0 ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* Sort strings that have the bytes before `depth` in common. */
static void
sort_from(const GpucolBytes *values, GpucolRadixItem *items, GpucolRadixItem *scratch, uint32 n, uint32 depth)
{
	GpucolRadixItem *sorted;
	uint32		start = 0;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < n; i++)
		items[i].key = word_at(&values[items[i].row], depth);
	sorted = gpucol_radix_sort(items, scratch, n, 64);
	if (sorted != items)
		memcpy(items, sorted, n * sizeof(GpucolRadixItem));
	for (uint32 i = 1; i <= n; i++)
	{
		if (i < n && items[i].key == items[start].key)
			continue;
		if (i - start > FEW_TIES && depth < DEEPEST)
			sort_from(values, items + start, scratch, i - start, depth + sizeof(uint64));
		else if (i - start > 1)
			qsort_interruptible(items + start, i - start, sizeof(GpucolRadixItem), compare_bytes,
								unconstify(GpucolBytes *, values));
		start = i;
	}
}

void
gpucol_bytes_sort(const GpucolBytes *values, GpucolRadixItem *items, GpucolRadixItem *scratch, uint32 n)
{
	sort_from(values, items, scratch, n, 0);
}
