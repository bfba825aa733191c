/*-------------------------------------------------------------------------
 *
 * owned.c
 *	  Blocks of one owner, freed together.
 *
 * A block starts with a header of two cache lines.  Large blocks come from the system
 * (base/pages.h).
 *
 *-------------------------------------------------------------------------
 */
#include "base/owned.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

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

/* What a block of so many bytes takes, its header included; 0: nothing has that size. */
static size_t
block_size(size_t size)
{
	size_t		total = (size / sizeof(Block) + 2) * sizeof(Block);

	if (size > SIZE_MAX / 2)
		return 0;
	return total < GPUCOL_LARGE_BLOCK ? total : gpucol_pages_round(total);
}

static Block *
take_block(size_t total)
{
	return total < GPUCOL_LARGE_BLOCK ? aligned_alloc(sizeof(Block), total) :
		gpucol_pages_take(total);
}

static void
give_block(Block *block)
{
	if (block->head.size < GPUCOL_LARGE_BLOCK)
		free(block);
	else
		gpucol_pages_free(block, block->head.size);
}

/* Put a block on the list. */
static void
list_block(GpucolOwned *owned, Block *block)
{
	pthread_mutex_lock(&owned->lock);
	block->head.prev = NULL;
	block->head.next = owned->blocks;
	if (owned->blocks != NULL)
		((Block *) owned->blocks)->head.prev = block;
	owned->blocks = block;
	pthread_mutex_unlock(&owned->lock);
}

/* Take it off. */
static void
unlist_block(GpucolOwned *owned, Block *block)
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

	if (total == 0 || !gpucol_budget_reserve(owned->budget, total))
		return NULL;
	block = take_block(total);
	if (block == NULL)
	{
		gpucol_budget_release(owned->budget, total);
		return NULL;
	}
	block->head.size = total;
	list_block(owned, block);
	return block + 1;
}

void *
gpucol_owned_alloc_zeroed(GpucolOwned *owned, size_t size)
{
	void	   *memory = gpucol_owned_alloc(owned, size);

	/* large blocks come as zeroes */
	if (memory != NULL && block_size(size) < GPUCOL_LARGE_BLOCK)
		memset(memory, 0, size);
	return memory;
}

/* Resize a large block, whose pages stay or move. */
static void *
resize_large(GpucolOwned *owned, Block *block, size_t total)
{
	size_t		old = block->head.size;
	Block	   *resized;

	if (total > old && !gpucol_budget_reserve(owned->budget, total - old))
		return NULL;
	unlist_block(owned, block);
	resized = gpucol_pages_resize(block, old, total);
	if (resized == NULL)
	{
		list_block(owned, block);
		if (total > old)
			gpucol_budget_release(owned->budget, total - old);
		return NULL;
	}
	if (total < old)
		gpucol_budget_release(owned->budget, old - total);
	resized->head.size = total;
	list_block(owned, resized);
	return resized + 1;
}

void *
gpucol_owned_realloc(GpucolOwned *owned, void *memory, size_t size)
{
	Block	   *block = memory == NULL ? NULL : (Block *) memory - 1;
	size_t		total = block_size(size);
	void	   *resized;

	if (block != NULL && total >= GPUCOL_LARGE_BLOCK && block->head.size >= GPUCOL_LARGE_BLOCK)
		return resize_large(owned, block, total);
	resized = gpucol_owned_alloc(owned, size);
	if (resized != NULL && block != NULL)
	{
		size_t		old = block->head.size - sizeof(Block);

		memcpy(resized, memory, old < size ? old : size);
		gpucol_owned_free(owned, memory);
	}
	return resized;
}

bool
gpucol_owned_grow(GpucolOwned *owned, void *block, size_t size)
{
	void	  **at = block;
	void	   *grown = gpucol_owned_realloc(owned, *at, size);

	if (grown == NULL)
		return false;
	*at = grown;
	return true;
}

void
gpucol_owned_free(GpucolOwned *owned, void *memory)
{
	Block	   *block;

	if (memory == NULL)
		return;
	block = (Block *) memory - 1;
	unlist_block(owned, block);
	gpucol_budget_release(owned->budget, block->head.size);
	give_block(block);
}

void
gpucol_owned_free_all(GpucolOwned *owned)
{
	while (owned->blocks != NULL)
	{
		Block	   *block = owned->blocks;

		owned->blocks = block->head.next;
		gpucol_budget_release(owned->budget, block->head.size);
		give_block(block);
	}
}
