/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  The accountant: how many bytes some work holds, and may hold.
 *
 * malloc rather than memory contexts: the engines know no PostgreSQL, threads may
 * allocate, and large blocks come from and go back to the system page by page.
 *
 * malloc keeps what was freed for blocks to come (owned.c), and so does pages.c: faults of fresh pages were a
 * fifth of a query's time.  What they keep and what is reserved are together no more than the limit: before
 * that, the system gets it back.  Of malloc it is counted what was freed, which is too much where that has
 * been taken again, so it is asked before that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/budget.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/mman.h>

#include "base/pages.h"

#define MALLOC_HEADER	16
#define MALLOC_LARGE	((size_t) 128 * 1024)	/* blocks that are pages of their own */
#define SYSTEM_PAGE		((size_t) 4096)
#define LEFT_SHARE		8		/* of what is left, an array takes this part */
#define LEAST_KEPT		((size_t) 512 * 1024)	/* by malloc, of which there is little to give back */
#define ROOM_SHARE		8		/* it is asked again once this part of what is left was freed */

/* Bytes that malloc was given since it was asked, or gave back, what it keeps, which is at most as much. */
static _Atomic size_t freed = 0;

/* ---- accounting ---- */

void
gpucol_budget_open(GpucolBudget *budget, size_t limit, GpucolBudget *parent)
{
	budget->parent = parent;
	budget->limit = limit;
	atomic_store(&budget->used, 0);
	atomic_store(&budget->peak, 0);
}

void
gpucol_budget_close(GpucolBudget *budget)
{
	gpucol_budget_release(budget, atomic_load(&budget->used));
}

/* Count bytes of one budget of the tree; false beyond its limit. */
static bool
count(GpucolBudget *budget, size_t bytes)
{
	size_t		used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	size_t		peak;

	do
		if (budget->limit != 0 && (bytes > budget->limit || used > budget->limit - bytes))
			return false;
	while (!atomic_compare_exchange_weak(&budget->used, &used, used + bytes));
	used += bytes;
	peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
	while (peak < used && !atomic_compare_exchange_weak(&budget->peak, &peak, used))
		;
	return true;
}

/* Take them off again, from this budget up to but not including `end`. */
static void
uncount(GpucolBudget *budget, const GpucolBudget *end, size_t bytes)
{
	for (; budget != end; budget = budget->parent)
		atomic_fetch_sub(&budget->used, bytes);
}

/* What malloc keeps at most, if that leaves room until it is asked again; else the system gets it back. */
static size_t
settle_malloc(size_t left)
{
	size_t		most = 0;

	if (atomic_exchange(&freed, 0) < LEAST_KEPT)
		return 0;
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
	most = mallinfo2().fordblks;
#else
	most = SIZE_MAX;
#endif
	if (most > left - left / ROOM_SHARE)
	{
		(void) malloc_trim(0);
		most = 0;
	}
	gpucol_budget_freed(most);
#else
	(void) left;
#endif
	return most;
}

void
gpucol_budget_fit(const GpucolBudget *budget)
{
	size_t		by_malloc = atomic_load_explicit(&freed, memory_order_relaxed);
	size_t		pages = gpucol_pages_kept();
	size_t		left;

	if (pages == 0 && by_malloc < LEAST_KEPT)
		return;
	left = gpucol_budget_left(budget);
	if (by_malloc >= LEAST_KEPT && by_malloc > left - (pages < left ? pages : left))
		by_malloc = settle_malloc(left);
	if (pages > 0 && pages > left - (by_malloc < left ? by_malloc : left))
		gpucol_pages_shrink(left - (by_malloc < left ? by_malloc : left));
}

bool
gpucol_budget_count(GpucolBudget *budget, size_t bytes)
{
	for (GpucolBudget *at = budget; at != NULL; at = at->parent)
		if (!count(at, bytes))
		{
			uncount(budget, at, bytes);
			return false;
		}
	return true;
}

bool
gpucol_budget_reserve(GpucolBudget *budget, size_t bytes)
{
	if (!gpucol_budget_count(budget, bytes))
		return false;
	gpucol_budget_fit(budget);
	return true;
}

void
gpucol_budget_freed(size_t bytes)
{
	atomic_fetch_add_explicit(&freed, bytes, memory_order_relaxed);
}

void
gpucol_budget_release(GpucolBudget *budget, size_t bytes)
{
	uncount(budget, NULL, bytes);
}

size_t
gpucol_budget_left(const GpucolBudget *budget)
{
	size_t		left = SIZE_MAX;

	for (; budget != NULL; budget = budget->parent)
	{
		size_t		used = atomic_load(&budget->used);
		size_t		here = budget->limit == 0 ? SIZE_MAX :
			used < budget->limit ? budget->limit - used : 0;

		left = here < left ? here : left;
	}
	return left;
}

/* ---- blocks ---- */

/* What malloc takes for a block. */
static size_t
footprint(size_t size)
{
	if (size >= SIZE_MAX / 2)
		return SIZE_MAX / 2;
	if (size < MALLOC_LARGE)
		return (size + MALLOC_HEADER + MALLOC_HEADER - 1) / MALLOC_HEADER * MALLOC_HEADER;
	return (size + MALLOC_HEADER + SYSTEM_PAGE - 1) / SYSTEM_PAGE * SYSTEM_PAGE;
}

/*
 * Ask for huge pages under a large block: hash tables and bitmaps are read at
 * random, and a page walk would cost more than the read.
 */
static void
advise_huge(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	first = ((uintptr_t) block + GPUCOL_HUGE_PAGE - 1) & ~(GPUCOL_HUGE_PAGE - 1);
	uintptr_t	last = ((uintptr_t) block + size) & ~(GPUCOL_HUGE_PAGE - 1);

	if (last > first)
		(void) madvise((void *) first, last - first, MADV_HUGEPAGE);
#else
	(void) block;
	(void) size;
#endif
}

void *
gpucol_budget_alloc(GpucolBudget *budget, size_t size)
{
	void	   *block;

	if (!gpucol_budget_reserve(budget, footprint(size)))
		return NULL;
	block = malloc(size > 0 ? size : 1);
	if (block == NULL)
		gpucol_budget_release(budget, footprint(size));
	return block;
}

void *
gpucol_budget_alloc_zeroed(GpucolBudget *budget, size_t size)
{
	void	   *block;

	if (!gpucol_budget_reserve(budget, footprint(size)))
		return NULL;
	block = calloc(size > 0 ? size : 1, 1);
	if (block == NULL)
		gpucol_budget_release(budget, footprint(size));
	else
		advise_huge(block, size);
	return block;
}

void
gpucol_budget_free(GpucolBudget *budget, void *block, size_t size)
{
	if (block == NULL)
		return;
	free(block);
	gpucol_budget_freed(footprint(size));
	gpucol_budget_release(budget, footprint(size));
}

bool
gpucol_budget_grow(GpucolBudget *budget, void *block, size_t old, size_t new)
{
	void	  **at = block;
	size_t		before = *at == NULL ? 0 : footprint(old);
	uintptr_t	was = (uintptr_t) *at;
	void	   *got;

	if (!gpucol_budget_reserve(budget, footprint(new) - before))
		return false;
	got = realloc(*at, new > 0 ? new : 1);
	if (got == NULL)
	{
		gpucol_budget_release(budget, footprint(new) - before);
		return false;
	}
	if ((uintptr_t) got != was)
		gpucol_budget_freed(before);
	advise_huge(got, new);
	*at = got;
	return true;
}

bool
gpucol_budget_array(GpucolBudget *budget, void *array, uint64_t *allocated,
					uint64_t needed, size_t size)
{
	uint64_t	want = *allocated + *allocated / 2;

	if (needed <= *allocated)
		return true;
	want = want < needed ? needed : want;
	want = want < 64 ? 64 : want;
	/* near the limit a share of what is left, at last only what is needed */
	if (!gpucol_budget_grow(budget, array, *allocated * size, want * size))
	{
		uint64_t	share = gpucol_budget_left(budget) / size / LEFT_SHARE;

		want = needed + (share < want - needed ? share : (want - needed) / LEFT_SHARE);
		if (!gpucol_budget_grow(budget, array, *allocated * size, want * size) &&
			!gpucol_budget_grow(budget, array, *allocated * size, (want = needed) * size))
			return false;
	}
	*allocated = want;
	return true;
}
