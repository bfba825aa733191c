/*-------------------------------------------------------------------------
 *
 * rank_memory.h
 *	  Memory of rankings over threads: malloc'ed, and accounted against one limit
 *	  for all that a query collects and ranks.
 *
 * Safe in every thread.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_UNCERTAIN_RANK_MEMORY_H
#define GPUCOL_UNCERTAIN_RANK_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct GpucolRankMemory
{
	_Atomic size_t used;
	size_t		limit;			/* bytes; 0 = none */
} GpucolRankMemory;

/* Account for so many bytes more; false, and nothing is, beyond the limit. */
static inline bool
gpucol_rank_memory_account(GpucolRankMemory *memory, size_t bytes)
{
	size_t		used = atomic_fetch_add(&memory->used, bytes) + bytes;

	if (memory->limit == 0 || used <= memory->limit)
		return true;
	atomic_fetch_sub(&memory->used, bytes);
	return false;
}

/* Grow *block from `old` to `new` bytes, keeping its contents. */
static inline bool
gpucol_rank_memory_grow(GpucolRankMemory *memory, void *block, size_t old, size_t new)
{
	void	  **at = (void **) block;
	void	   *got;

	if (!gpucol_rank_memory_account(memory, new - old))
		return false;
	got = realloc(*at, new > 0 ? new : 1);
	if (got == NULL)
	{
		atomic_fetch_sub(&memory->used, new - old);
		return false;
	}
	*at = got;
	return true;
}

/* Free a block of so many bytes. */
static inline void
gpucol_rank_memory_free(GpucolRankMemory *memory, void *block, size_t bytes)
{
	if (block != NULL)
		atomic_fetch_sub(&memory->used, bytes);
	free(block);
}

/* Bytes laid one behind another into blocks that never move. */
typedef struct GpucolRankArenaBlock
{
	struct GpucolRankArenaBlock *next;
} GpucolRankArenaBlock;

typedef struct GpucolRankArena
{
	GpucolRankArenaBlock *blocks;
	char	   *at;
	size_t		left;
} GpucolRankArena;

#define GPUCOL_RANK_ARENA_BLOCK ((size_t) 256 * 1024)

/* Memory from the arena, 8-byte aligned, or NULL; `bytes` may be 0. */
static inline void *
gpucol_rank_arena_take(GpucolRankArena *arena, GpucolRankMemory *memory, size_t bytes)
{
	void	   *got;

	bytes = bytes == 0 ? 8 : (bytes + 7) & ~(size_t) 7;
	if (bytes > arena->left)
	{
		size_t		size = bytes > GPUCOL_RANK_ARENA_BLOCK ? bytes : GPUCOL_RANK_ARENA_BLOCK;
		GpucolRankArenaBlock *block = NULL;

		if (!gpucol_rank_memory_grow(memory, &block, 0, sizeof(*block) + size))
			return NULL;
		block->next = arena->blocks;
		arena->blocks = block;
		arena->at = (char *) (block + 1);
		arena->left = size;
	}
	got = arena->at;
	arena->at += bytes;
	arena->left -= bytes;
	return got;
}

/* Free all of it; what was accounted stays so until the owner goes. */
static inline void
gpucol_rank_arena_free(GpucolRankArena *arena)
{
	while (arena->blocks != NULL)
	{
		GpucolRankArenaBlock *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->left = 0;
}

#endif							/* GPUCOL_UNCERTAIN_RANK_MEMORY_H */
