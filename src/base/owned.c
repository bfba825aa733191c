/*-------------------------------------------------------------------------
 *
 * owned.c
 *	  Blocks of one owner, freed together.
 *
 * A block starts with a header of two cache lines.  Large blocks (hash tables and
 * states of many groups, read at random places) are asked of the system in huge
 * pages, where it gives them to those who ask: fewer faults, and fewer look-ups of
 * addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/owned.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t) 2 * 1024 * 1024)
#define HUGE_BLOCK (2 * HUGE_PAGE)	/* blocks in huge pages, at least */

typedef union Block
{
	struct
	{
		union Block *next;
		union Block *prev;
		size_t		size;		/* header included */
	}			head;
	char		lines[128];
} Block;

void
gpucol_owned_open(GpucolOwned *owned, GpucolBudget *budget)
{
	owned->budget = budget;
	owned->blocks = NULL;
	pthread_mutex_init(&owned->lock, NULL);
}

/* Address space for a block. */
static Block *
take_block(size_t total)
{
	Block	   *block;

	if (total < HUGE_BLOCK)
		return aligned_alloc(sizeof(Block), total);
	block = aligned_alloc(HUGE_PAGE, total);
#ifdef MADV_HUGEPAGE
	if (block != NULL)
		(void) madvise(block, total, MADV_HUGEPAGE);
#endif
	return block;
}

void *
gpucol_owned_alloc(GpucolOwned *owned, size_t size)
{
	size_t		total;
	Block	   *block;

	if (size > SIZE_MAX / 2)
		return NULL;
	total = (size / sizeof(Block) + 2) * sizeof(Block);
	if (total >= HUGE_BLOCK)
		total = (total + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (!gpucol_budget_reserve(owned->budget, total))
		return NULL;
	block = take_block(total);
	if (block == NULL)
	{
		gpucol_budget_release(owned->budget, total);
		return NULL;
	}
	block->head.size = total;
	block->head.prev = NULL;
	pthread_mutex_lock(&owned->lock);
	block->head.next = owned->blocks;
	if (owned->blocks != NULL)
		((Block *) owned->blocks)->head.prev = block;
	owned->blocks = block;
	pthread_mutex_unlock(&owned->lock);
	return block + 1;
}

void *
gpucol_owned_alloc_zeroed(GpucolOwned *owned, size_t size)
{
	void	   *memory = gpucol_owned_alloc(owned, size);

	if (memory != NULL)
		memset(memory, 0, size);
	return memory;
}

void *
gpucol_owned_realloc(GpucolOwned *owned, void *memory, size_t size)
{
	void	   *grown = gpucol_owned_alloc(owned, size);

	if (grown != NULL && memory != NULL)
	{
		size_t		old = ((Block *) memory - 1)->head.size - sizeof(Block);

		memcpy(grown, memory, old < size ? old : size);
		gpucol_owned_free(owned, memory);
	}
	return grown;
}

void
gpucol_owned_free(GpucolOwned *owned, void *memory)
{
	Block	   *block;

	if (memory == NULL)
		return;
	block = (Block *) memory - 1;
	pthread_mutex_lock(&owned->lock);
	if (block->head.next != NULL)
		block->head.next->head.prev = block->head.prev;
	if (block->head.prev != NULL)
		block->head.prev->head.next = block->head.next;
	else
		owned->blocks = block->head.next;
	pthread_mutex_unlock(&owned->lock);
	gpucol_budget_release(owned->budget, block->head.size);
	free(block);
}

void
gpucol_owned_free_all(GpucolOwned *owned)
{
	while (owned->blocks != NULL)
	{
		Block	   *block = owned->blocks;

		owned->blocks = block->head.next;
		gpucol_budget_release(owned->budget, block->head.size);
		free(block);
	}
}
