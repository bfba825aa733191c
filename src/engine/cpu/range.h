/*-------------------------------------------------------------------------
 *
 * range.h
 *	  What the files of range conjuncts share: sets of values in a domain's order
 *	  (range.c), tests of a segment's codes (range_plan.c), and their application to
 *	  vectors (range_apply.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_RANGE_H
#define GPUCOL_ENGINE_CPU_RANGE_H

#include "engine/cpu/cpu.h"
#include "kernel/float_order.h"

#define GPUCOL_CPU_MAP_BITS 16	/* widest code that an IN list maps by byte */
#define GPUCOL_CPU_SMALL_WIDTH	5	/* widest code of which a word has all verdicts */

/* Position of a float's 64-bit form in PostgreSQL's order. */
GPUCOL_CPU_INLINE int64_t
order_of_float(GpucolKind kind, int64_t bits)
{
	return gpucol_float_order(gpucol_float_value(kind, bits));
}

/* Index of the first of n ascending values that is >= x. */
GPUCOL_CPU_INLINE uint32_t
lower_bound(const int64_t *values, uint32_t n, int64_t x)
{
	uint32_t	lo = 0;

	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (values[lo + half] < x)
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

/* Does the domain accept a non-null value at this position of the order? */
GPUCOL_CPU_INLINE bool
accepts(const GpucolCpuDomain *domain, int64_t order)
{
	bool		inside = order >= domain->lo && order <= domain->hi;

	if (inside && domain->op == GPUCOL_CPU_SET)
	{
		uint32_t	at = lower_bound(domain->set, domain->nset, order);

		inside = at < domain->nset && domain->set[at] == order;
	}
	return inside != domain->negate;
}

/* Does some value of the domain lie within [lo, hi] of the order? */
GPUCOL_CPU_INLINE bool
touches(const GpucolCpuDomain *domain, int64_t lo, int64_t hi)
{
	if (domain->lo > hi || domain->hi < lo)
		return false;
	if (domain->op == GPUCOL_CPU_SET)
	{
		uint32_t	at = lower_bound(domain->set, domain->nset, lo);

		return at < domain->nset && domain->set[at] <= hi;
	}
	return true;
}

/* Does the domain (before negation) hold all of [lo, hi]? */
GPUCOL_CPU_INLINE bool
covers(const GpucolCpuDomain *domain, int64_t lo, int64_t hi)
{
	if (domain->op == GPUCOL_CPU_SET)
		return lo == hi && touches(domain, lo, hi);
	return domain->lo <= lo && domain->hi >= hi;
}

/* The hash of a code among those of a list. */
GPUCOL_CPU_INLINE uint64_t
filter_hash(const GpucolCpuTest *test, uint64_t code)
{
	return code * UINT64_C(0x9e3779b97f4a7c15) >> test->filter_shift;
}

/* May the code be in the list? */
GPUCOL_CPU_INLINE bool
filter_passes(const GpucolCpuTest *test, uint64_t code)
{
	uint64_t	hash = filter_hash(test, code);

	return (test->map[hash / 8] >> (hash % 8) & 1) != 0;
}

/* For qsort and bsearch of codes. */
extern int	gpucol_cpu_compare_codes(const void *a, const void *b);

#endif							/* GPUCOL_ENGINE_CPU_RANGE_H */
