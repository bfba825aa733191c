/*-------------------------------------------------------------------------
 *
 * cpu_recursive_memory.c
 *	  Memory of a recursion run, under its budget.
 *
 * malloc rather than memory contexts: the engine knows no PostgreSQL, and
 * large blocks come from and go back to the system page by page.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/cpu_recursive.h"

/* Account for `size` more bytes, if the budget allows it. */
static bool
charge(GpucolRecMemory *memory, size_t size)
{
	if (memory->limit != 0 &&
		(size > memory->limit || memory->used > memory->limit - size))
		return false;
	memory->used += size;
	if (memory->used > memory->peak)
		memory->peak = memory->used;
	return true;
}

/*
 * Ask for huge pages under a large block: hash tables and bitmaps are read at
 * random, and a page walk would cost more than the read.
 */
static void
advise_huge(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
	uintptr_t	page = (uintptr_t) 2 << 20;
	uintptr_t	first = ((uintptr_t) block + page - 1) & ~(page - 1);
	uintptr_t	last = ((uintptr_t) block + size) & ~(page - 1);

	if (last > first)
		(void) madvise((void *) first, last - first, MADV_HUGEPAGE);
#else
	(void) block;
	(void) size;
#endif
}

void *
gpucol_rec_alloc(GpucolRecMemory *memory, size_t size)
{
	void	   *block;

	if (!charge(memory, size))
		return NULL;
	block = malloc(size > 0 ? size : 1);
	if (block == NULL)
		memory->used -= size;
	return block;
}

void *
gpucol_rec_alloc_zeroed(GpucolRecMemory *memory, size_t size)
{
	void	   *block;

	if (!charge(memory, size))
		return NULL;
	block = calloc(size > 0 ? size : 1, 1);
	if (block == NULL)
		memory->used -= size;
	else
		advise_huge(block, size);
	return block;
}

void
gpucol_rec_free(GpucolRecMemory *memory, void *block, size_t size)
{
	if (block == NULL)
		return;
	free(block);
	memory->used -= size;
}

GpucolStatus
gpucol_rec_reserve(GpucolRecMemory *memory, void **array, uint64_t *allocated,
				   uint64_t needed, size_t size)
{
	uint64_t	want;
	void	   *block;

	if (needed <= *allocated)
		return GPUCOL_OK;
	want = *allocated + *allocated / 2;
	if (want < needed)
		want = needed;
	if (want < 64)
		want = 64;
	/* Near the budget, take only what is needed. */
	if (!charge(memory, (want - *allocated) * size))
	{
		want = needed;
		if (!charge(memory, (want - *allocated) * size))
			return GPUCOL_OUT_OF_MEMORY;
	}
	block = realloc(*array, want * size);
	if (block == NULL)
	{
		memory->used -= (want - *allocated) * size;
		return GPUCOL_OUT_OF_MEMORY;
	}
	advise_huge(block, want * size);
	*array = block;
	*allocated = want;
	return GPUCOL_OK;
}
