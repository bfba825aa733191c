/*-------------------------------------------------------------------------
 *
 * owned.c
 *	  Blocks of one owner, freed together.
 *
 * A block starts with a header of two cache lines.  Large blocks (hash tables and
 * states of many groups, read at random places) are mapped, in huge pages where the
 * system gives them to those who ask: fewer faults, and fewer look-ups of addresses.
 * They grow without being copied (pages.c).
 *
 * What was freed is kept for blocks to come, of the next query, too, as far as the budget
 * lets it (budget.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/owned.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

#define HUGE_BLOCK (2 * GPUCOL_HUGE_PAGE)	/* blocks in huge pages, at least */
#define KEPT_BYTES	(32 * GPUCOL_HUGE_PAGE)	/* that malloc keeps at its end at most, for each thread, */
#define KEPT_PAGES	(64 * GPUCOL_HUGE_PAGE)	/* and pages.c, */
#define KEPT_THREADS 8			/* of so many */

typedef union Block
{
	struct
	{
		union Block *next;
		union Block *prev;
		size_t		size;		/* header included */
		size_t		dirty;		/* what is not zero at first, header included */
	}			head;
	char		lines[128];
} Block;

/*
 * Have malloc serve blocks that are not mapped, keep what is freed, and give all threads blocks of one arena: what
 * one has freed another has then, and the end of no other arena could be given back.
 */
static void
keep_freed(void)
{
#ifdef __GLIBC__
	static bool done = false;

	if (!done)
	{
		(void) mallopt(M_ARENA_MAX, 1);
		(void) mallopt(M_MMAP_THRESHOLD, (int) (KEPT_BYTES / 2));
		(void) mallopt(M_TRIM_THRESHOLD, (int) KEPT_BYTES);
	}
	done = true;
#endif
}

void
gpucol_owned_keep(int nthreads)
{
	size_t		threads = nthreads < KEPT_THREADS ? nthreads : KEPT_THREADS;

#ifdef __GLIBC__
	(void) mallopt(M_TRIM_THRESHOLD, (int) (KEPT_BYTES * threads));
#endif
	gpucol_pages_keep(KEPT_PAGES * threads);
}

void
gpucol_owned_open(GpucolOwned *owned, GpucolBudget *budget)
{
	keep_freed();
	owned->budget = budget;
	owned->blocks = NULL;
	pthread_mutex_init(&owned->lock, NULL);
}

/* Bytes of a block with room for so many; 0 if there are too many. */
static size_t
block_size(size_t size)
{
	size_t		total;

	if (size > SIZE_MAX / 2)
		return 0;
	total = (size / sizeof(Block) + 2) * sizeof(Block);
	return total < HUGE_BLOCK ? total : (total + GPUCOL_HUGE_PAGE - 1) / GPUCOL_HUGE_PAGE * GPUCOL_HUGE_PAGE;
}

/* A block of so many bytes, which are counted; or NULL. */
static Block *
take_block(size_t total)
{
	size_t		dirty = total;
	Block	   *block = total < HUGE_BLOCK ? aligned_alloc(sizeof(Block), total) : gpucol_pages_take(total, &dirty);

	if (block == NULL)
		return NULL;
	block->head.size = total;
	block->head.dirty = dirty;
	return block;
}

/* Give it back. */
static void
drop_block(Block *block)
{
	size_t		size = block->head.size;

	if (size < HUGE_BLOCK)
	{
		free(block);
		gpucol_budget_freed(size);
	}
	else
		gpucol_pages_drop(block, size);
}

/* Add a block to the owner's. */
static void
link_block(GpucolOwned *owned, Block *block)
{
	block->head.prev = NULL;
	pthread_mutex_lock(&owned->lock);
	block->head.next = owned->blocks;
	if (owned->blocks != NULL)
		((Block *) owned->blocks)->head.prev = block;
	owned->blocks = block;
	pthread_mutex_unlock(&owned->lock);
}

/* Take it from them. */
static void
unlink_block(GpucolOwned *owned, Block *block)
{
	pthread_mutex_lock(&owned->lock);
	if (block->head.next != NULL)
		block->head.next->head.prev = block->head.prev;
	if (block->head.prev != NULL)
		block->head.prev->head.next = block->head.next;
	else
		owned->blocks = block->head.next;
	pthread_mutex_unlock(&owned->lock);
}

void *
gpucol_owned_alloc(GpucolOwned *owned, size_t size)
{
	size_t		total = block_size(size);
	Block	   *block;

	if (total == 0 || !gpucol_budget_count(owned->budget, total))
		return NULL;
	block = take_block(total);
	/* it may be made of what was kept */
	gpucol_budget_fit(owned->budget);
	if (block == NULL)
	{
		gpucol_budget_release(owned->budget, total);
		return NULL;
	}
	link_block(owned, block);
	return block + 1;
}

void *
gpucol_owned_alloc_zeroed(GpucolOwned *owned, size_t size)
{
	void	   *memory = gpucol_owned_alloc(owned, size);
	size_t		dirty = memory == NULL ? 0 : ((Block *) memory - 1)->head.dirty;

	if (dirty > sizeof(Block))
		memset(memory, 0, size < dirty - sizeof(Block) ? size : dirty - sizeof(Block));
	return memory;
}

/* Grow a mapped block by moving its pages; NULL where that cannot be. */
static void *
grow_mapped(GpucolOwned *owned, Block *block, size_t total)
{
	size_t		old = block->head.size;
	Block	   *grown;

	if (!gpucol_budget_count(owned->budget, total - old))
		return NULL;
	unlink_block(owned, block);
	grown = gpucol_pages_grow(block, old, total);
	gpucol_budget_fit(owned->budget);
	if (grown == NULL)
		gpucol_budget_release(owned->budget, total - old);
	else
		grown->head.size = total;
	link_block(owned, grown == NULL ? block : grown);
	return grown == NULL ? NULL : grown + 1;
}

void *
gpucol_owned_realloc(GpucolOwned *owned, void *memory, size_t size)
{
	Block	   *block = memory == NULL ? NULL : (Block *) memory - 1;
	size_t		total = block_size(size);
	void	   *grown = NULL;

	if (block != NULL && block->head.size >= HUGE_BLOCK && total > block->head.size)
		grown = grow_mapped(owned, block, total);
	if (grown != NULL)
		return grown;
	grown = gpucol_owned_alloc(owned, size);
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
	size_t		size;

	if (memory == NULL)
		return;
	block = (Block *) memory - 1;
	size = block->head.size;
	unlink_block(owned, block);
	drop_block(block);
	gpucol_budget_release(owned->budget, size);
}

void
gpucol_owned_free_all(GpucolOwned *owned)
{
	size_t		freed = 0;

	while (owned->blocks != NULL)
	{
		Block	   *block = owned->blocks;

		owned->blocks = block->head.next;
		freed += block->head.size;
		drop_block(block);
	}
	gpucol_budget_release(owned->budget, freed);
}
