/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  Bytes laid one behind another into blocks that never move, freed together.
 *
 * An arena serves one thread at a time.  All zero is an empty one.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_ARENA_H
#define GPUCOL_BASE_ARENA_H

#include "base/budget.h"

typedef struct GpucolArenaBlock
{
	struct GpucolArenaBlock *next;
	size_t		size;			/* of all of it */
} GpucolArenaBlock;

typedef struct GpucolArena
{
	GpucolArenaBlock *blocks;
	char	   *at;
	size_t		left;
} GpucolArena;

#define GPUCOL_ARENA_BLOCK ((size_t) 256 * 1024)

/* Memory from the arena, 8-byte aligned, or NULL; `bytes` may be 0. */
static inline void *
gpucol_arena_take(GpucolArena *arena, GpucolBudget *budget, size_t bytes)
{
	void	   *got;

	bytes = bytes == 0 ? 8 : (bytes + 7) & ~(size_t) 7;
	if (bytes > arena->left)
	{
		size_t		size = sizeof(GpucolArenaBlock) +
			(bytes > GPUCOL_ARENA_BLOCK ? bytes : GPUCOL_ARENA_BLOCK);
		GpucolArenaBlock *block = gpucol_budget_alloc(budget, size);

		if (block == NULL)
			return NULL;
		block->next = arena->blocks;
		block->size = size;
		arena->blocks = block;
		arena->at = (char *) (block + 1);
		arena->left = size - sizeof(GpucolArenaBlock);
	}
	got = arena->at;
	arena->at += bytes;
	arena->left -= bytes;
	return got;
}

/* Free all of it. */
static inline void
gpucol_arena_free(GpucolArena *arena, GpucolBudget *budget)
{
	while (arena->blocks != NULL)
	{
		GpucolArenaBlock *next = arena->blocks->next;

		gpucol_budget_free(budget, arena->blocks, arena->blocks->size);
		arena->blocks = next;
	}
	arena->left = 0;
}

#endif							/* GPUCOL_BASE_ARENA_H */
