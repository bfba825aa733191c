/*-------------------------------------------------------------------------
 *
 * cpu_memory.c
 *	  Memory of a run of the CPU engine: accounted against its limit, and
 *	  listed, so that nothing is lost when the host leaves by longjmp.
 *
 * A block starts with a header of two cache lines.  Large blocks (hash tables and
 * states of many groups, read at random places) are asked of the system in huge
 * pages, where it gives them to those who ask: fewer faults, and fewer look-ups of
 * addresses.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/cpu.h"

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

/* Take `size` bytes from the budget; false if that exceeds the limit. */
static bool
reserve(GpucolRun *run, size_t size)
{
	bool		fits;

	pthread_mutex_lock(&run->memory_lock);
	fits = run->memory_limit == 0 || run->memory_used + size <= run->memory_limit;
	if (fits)
		run->memory_used += size;
	pthread_mutex_unlock(&run->memory_lock);
	return fits;
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
gpucol_cpu_alloc(GpucolRun *run, size_t size)
{
	size_t		total;
	Block	   *block;

	if (size > SIZE_MAX / 2)
		return NULL;
	total = (size / sizeof(Block) + 2) * sizeof(Block);
	if (total >= HUGE_BLOCK)
		total = (total + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (!reserve(run, total))
		return NULL;
	block = take_block(total);
	pthread_mutex_lock(&run->memory_lock);
	if (block == NULL)
		run->memory_used -= total;
	else
	{
		block->head.size = total;
		block->head.prev = NULL;
		block->head.next = run->blocks;
		if (run->blocks != NULL)
			((Block *) run->blocks)->head.prev = block;
		run->blocks = block;
	}
	pthread_mutex_unlock(&run->memory_lock);
	return block == NULL ? NULL : block + 1;
}

void *
gpucol_cpu_alloc0(GpucolRun *run, size_t size)
{
	void	   *memory = gpucol_cpu_alloc(run, size);

	if (memory != NULL)
		memset(memory, 0, size);
	return memory;
}

/* On failure the old block stays and NULL is returned. */
void *
gpucol_cpu_realloc(GpucolRun *run, void *memory, size_t size)
{
	void	   *grown = gpucol_cpu_alloc(run, size);

	if (grown != NULL && memory != NULL)
	{
		size_t		old = ((Block *) memory - 1)->head.size - sizeof(Block);

		memcpy(grown, memory, old < size ? old : size);
		gpucol_cpu_free(run, memory);
	}
	return grown;
}

void
gpucol_cpu_free(GpucolRun *run, void *memory)
{
	Block	   *block;

	if (memory == NULL)
		return;
	block = (Block *) memory - 1;
	pthread_mutex_lock(&run->memory_lock);
	run->memory_used -= block->head.size;
	if (block->head.next != NULL)
		block->head.next->head.prev = block->head.prev;
	if (block->head.prev != NULL)
		block->head.prev->head.next = block->head.next;
	else
		run->blocks = block->head.next;
	pthread_mutex_unlock(&run->memory_lock);
	free(block);
}

void
gpucol_cpu_free_all(GpucolRun *run)
{
	while (run->blocks != NULL)
	{
		Block	   *next = ((Block *) run->blocks)->head.next;

		free(run->blocks);
		run->blocks = next;
	}
}
