/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  The accountant: how many bytes some work holds, and may hold.
 *
 * malloc rather than memory contexts: the engines know no PostgreSQL, and threads may
 * allocate.  Large blocks come from the system (base/pages.h).
 *
 *-------------------------------------------------------------------------
 */
#include "base/budget.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

#define MALLOC_HEADER	16
#define MALLOC_LARGE	((size_t) 128 * 1024)	/* blocks that are pages of their own */
#define LEFT_SHARE		8		/* of what is left, an array takes this part */

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

bool
gpucol_budget_reserve(GpucolBudget *budget, size_t bytes)
{
	for (GpucolBudget *at = budget; at != NULL; at = at->parent)
		if (!count(at, bytes))
		{
			uncount(budget, at, bytes);
			return false;
		}
	return true;
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

/* What a block takes. */
static size_t
footprint(size_t size)
{
	if (size >= SIZE_MAX / 2)
		return SIZE_MAX / 2;
	if (size >= GPUCOL_LARGE_BLOCK)
		return gpucol_pages_round(size);
	if (size < MALLOC_LARGE)
		return (size + MALLOC_HEADER + MALLOC_HEADER - 1) / MALLOC_HEADER * MALLOC_HEADER;
	return gpucol_pages_round(size + MALLOC_HEADER);
}

/* A block, counted already, with zeroes or not. */
static void *
take(size_t size, bool zeroed)
{
	if (size >= GPUCOL_LARGE_BLOCK)
		return gpucol_pages_take(size);
	return zeroed ? calloc(size > 0 ? size : 1, 1) : malloc(size > 0 ? size : 1);
}

/* Count a block and take it. */
static void *
count_and_take(GpucolBudget *budget, size_t size, bool zeroed)
{
	void	   *block;

	if (!gpucol_budget_reserve(budget, footprint(size)))
		return NULL;
	block = take(size, zeroed);
	if (block == NULL)
		gpucol_budget_release(budget, footprint(size));
	return block;
}

void *
gpucol_budget_alloc(GpucolBudget *budget, size_t size)
{
	return count_and_take(budget, size, false);
}

void *
gpucol_budget_alloc_zeroed(GpucolBudget *budget, size_t size)
{
	return count_and_take(budget, size, true);
}

/* Give a block back, which is counted still. */
static void
give(void *block, size_t size)
{
	if (size >= GPUCOL_LARGE_BLOCK)
		gpucol_pages_free(block, size);
	else
		free(block);
}

void
gpucol_budget_free(GpucolBudget *budget, void *block, size_t size)
{
	if (block == NULL)
		return;
	give(block, size);
	gpucol_budget_release(budget, footprint(size));
}

/* The block in another size, of which the larger is counted; NULL, and it stays, without room. */
static void *
resize(void *block, size_t old, size_t new)
{
	void	   *got;

	if (block == NULL)
		return take(new, false);
	if (old >= GPUCOL_LARGE_BLOCK)
		return gpucol_pages_resize(block, old, new);
	if (new < GPUCOL_LARGE_BLOCK)
		return realloc(block, new > 0 ? new : 1);
	got = gpucol_pages_take(new);
	if (got != NULL)
	{
		memcpy(got, block, old);
		free(block);
	}
	return got;
}

bool
gpucol_budget_grow(GpucolBudget *budget, void *block, size_t old, size_t new)
{
	void	  **at = block;
	size_t		before = *at == NULL ? 0 : footprint(old);
	void	   *got;

	if (!gpucol_budget_reserve(budget, footprint(new) - before))
		return false;
	got = resize(*at, old, new);
	if (got == NULL)
	{
		gpucol_budget_release(budget, footprint(new) - before);
		return false;
	}
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
		want = needed + gpucol_budget_left(budget) / size / LEFT_SHARE;
		if (!gpucol_budget_grow(budget, array, *allocated * size, want * size) &&
			!gpucol_budget_grow(budget, array, *allocated * size, (want = needed) * size))
			return false;
	}
	*allocated = want;
	return true;
}
