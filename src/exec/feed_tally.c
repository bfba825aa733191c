/*-------------------------------------------------------------------------
 *
 * feed_tally.c
 *	  How often each of few small numbers is there in each group.
 *
 * Percentiles and modes of ages, marks or amounts ask for nothing else: a number that comes is one count more, and
 * nothing is collected or sorted.  Counts are laid out anew when numbers come that are less or greater than those so
 * far, up to a limit of what stays in the processor's cache; then whoever counts has the numbers listed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/feed_tally.h"
#include "exec/item_table.h"

/* Numbers that are counted are so far apart at most, and so many counts there are. */
#define MOST_WIDTH	1024
#define MOST_COUNTS	(256 * 1024)

/* Groups that there is room for at first. */
#define FEW_GROUPS	64

GpucolTally *
gpucol_tally_create(void)
{
	return palloc0(sizeof(GpucolTally));
}

/* Lay the counts out for other numbers and more groups. */
static void
lay_out(GpucolTally *tally, int64 least, uint32 width, uint32 ngroups)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(tally));
	uint32	   *counts = palloc0((Size) ngroups * width * sizeof(uint32));

	for (uint32 group = 0; group < tally->ngroups && tally->width > 0; group++)
		memcpy(counts + (Size) group * width + (uint32) ((uint64) tally->least - (uint64) least),
			   tally->counts + (Size) group * tally->width, tally->width * sizeof(uint32));
	if (tally->counts != NULL)
		pfree(tally->counts);
	tally->counts = counts;
	tally->least = least;
	tally->width = width;
	tally->ngroups = ngroups;
	MemoryContextSwitchTo(old);
}

bool
gpucol_tally_reserve(GpucolTally *tally, int64 least, int64 greatest, uint32 ngroups, uint64 nrows)
{
	uint64		apart;

	if (tally->width > 0)
	{
		least = Min(least, tally->least);
		greatest = Max(greatest, tally->least + (tally->width - 1));
	}
	apart = (uint64) greatest - (uint64) least;
	if (apart >= MOST_WIDTH || (apart + 1) * Max(ngroups, 1) > MOST_COUNTS || tally->n + nrows > PG_UINT32_MAX)
		return false;
	if (ngroups > tally->ngroups || apart + 1 != tally->width)
		lay_out(tally, least, (uint32) apart + 1,
				ngroups <= tally->ngroups ? tally->ngroups : Max(FEW_GROUPS, Max(ngroups, tally->ngroups * 2)));
	return true;
}

void
gpucol_tally_list(const GpucolTally *tally, int64 *numbers, uint32 *groups)
{
	uint64		n = 0;

	for (uint32 group = 0; group < tally->ngroups; group++)
	{
		for (uint32 i = 0; i < tally->width; i++)
		{
			for (uint32 k = tally->counts[(Size) group * tally->width + i]; k > 0; k--)
			{
				numbers[n] = tally->least + i;
				groups[n++] = group;
			}
		}
	}
}

uint64
gpucol_tally_total(const GpucolTally *tally)
{
	return tally->n;
}

int64
gpucol_tally_numbers(const GpucolTally *tally, uint32 group)
{
	int64		n = 0;

	for (uint32 i = 0; group < tally->ngroups && i < tally->width; i++)
		n += tally->counts[(Size) group * tally->width + i];
	return n;
}

/* The next one, in an order, from i on that is there; the width if none is. */
static uint32
next_number(const GpucolTally *tally, const uint32 *counts, bool descending, uint32 i)
{
	while (i < tally->width && counts[descending ? tally->width - 1 - i : i] == 0)
		i++;
	return i;
}

int64
gpucol_tally_at(const GpucolTally *tally, uint32 group, int64 place, bool descending, int64 *next)
{
	const uint32 *counts = tally->counts + (Size) group * tally->width;
	uint32		i = next_number(tally, counts, descending, 0);
	uint32		behind;

	while (place >= counts[descending ? tally->width - 1 - i : i])
	{
		place -= counts[descending ? tally->width - 1 - i : i];
		i = next_number(tally, counts, descending, i + 1);
	}
	behind = place + 1 < counts[descending ? tally->width - 1 - i : i] ? i :
		next_number(tally, counts, descending, i + 1);
	if (behind < tally->width)
		*next = tally->least + (descending ? tally->width - 1 - behind : behind);
	return tally->least + (descending ? tally->width - 1 - i : i);
}

int64
gpucol_tally_mode(const GpucolTally *tally, uint32 group, bool descending)
{
	const uint32 *counts = tally->counts + (Size) group * tally->width;
	uint32		best = 0;

	for (uint32 i = 1; i < tally->width; i++)
	{
		if (descending ? counts[i] >= counts[best] : counts[i] > counts[best])
			best = i;
	}
	return tally->least + best;
}

void
gpucol_tally_free(GpucolTally *tally)
{
	if (tally->counts != NULL)
		pfree(tally->counts);
	pfree(tally);
}
