/*-------------------------------------------------------------------------
 *
 * final_zones.c
 *	  Zones of vectors, and what of each no other contains (final.c).
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/final_zones.h"

#define MANY			8			/* others that begin within a zone: it is in their way */
#define FEW_SHARE		8			/* of so many zones at most one is */

static int
compare_spans(const void *a, const void *b)
{
	const GpucolSpan *x = a;
	const GpucolSpan *y = b;

	return x->lo != y->lo ? (x->lo < y->lo ? -1 : 1) : (x->hi > y->hi) - (x->hi < y->hi);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t	x = ((const GpucolSpan *) a)->number;
	uint32_t	y = ((const GpucolSpan *) b)->number;

	return (x > y) - (x < y);
}

static void
exchange(GpucolSpan *a, GpucolSpan *b)
{
	GpucolSpan	span = *a;

	*a = *b;
	*b = span;
}

/* Bring spans into the order of their least values, in which they mostly are, or in its reverse. */
static void
sort_spans(GpucolSpan *spans, uint32_t n)
{
	uint32_t	rising = 1;
	uint32_t	falling = 1;

	while (rising < n && spans[rising - 1].lo <= spans[rising].lo)
		rising++;
	while (falling < n && spans[falling - 1].lo >= spans[falling].lo)
		falling++;
	if (rising >= n)
		return;
	if (falling < n)
	{
		qsort(spans, n, sizeof(GpucolSpan), compare_spans);
		return;
	}
	for (uint32_t i = 0; i < n / 2; i++)
		exchange(&spans[i], &spans[n - 1 - i]);
}

void
gpucol_cpu_spans_own(GpucolSpan *spans, uint32_t n)
{
	int64_t		greatest = INT64_MIN;

	sort_spans(spans, n);
	for (uint32_t i = 0; i < n; i++)
	{
		GpucolSpan *span = &spans[i];
		int64_t		top = span->hi;
		bool		none = i > 0 && greatest == INT64_MAX;

		if (i > 0 && !none && span->lo <= greatest)
			span->lo = greatest + 1;
		if (i + 1 < n && span->hi >= spans[i + 1].lo)
		{
			none |= spans[i + 1].lo == INT64_MIN;
			span->hi = none ? INT64_MIN : spans[i + 1].lo - 1;
		}
		if (none)
		{
			span->lo = 1;
			span->hi = 0;
		}
		if (i == 0 || top > greatest)
			greatest = top;
	}
}

/* Do many of the sorted spans behind number i begin within it? */
static bool
is_wide(const GpucolSpan *spans, uint32_t n, uint32_t i)
{
	return i + MANY < n && spans[i + MANY].lo <= spans[i].hi;
}

uint32_t
gpucol_cpu_spans_part(GpucolSpan *spans, uint32_t n)
{
	uint32_t	nwide = 0;
	uint32_t	rest = 0;

	sort_spans(spans, n);
	for (uint32_t i = 0; i < n; i++)
		nwide += is_wide(spans, n, i);
	if (nwide == 0 || nwide > n / FEW_SHARE)
		return n;
	/* what is behind number i has not been moved when it is looked at */
	for (uint32_t i = 0; i < n; i++)
	{
		if (!is_wide(spans, n, i))
			exchange(&spans[rest++], &spans[i]);
	}
	return rest;
}

void
gpucol_cpu_spans_number(GpucolSpan *spans, uint32_t n)
{
	qsort(spans, n, sizeof(GpucolSpan), compare_numbers);
}
