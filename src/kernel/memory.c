/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  The C library's allocator as a GpucolMemory.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/memory.h"

#include <stdlib.h>

static void *
malloc_alloc(void *context, size_t size)
{
	(void) context;
	return malloc(size > 0 ? size : 1);
}

static void
malloc_free(void *context, void *ptr)
{
	(void) context;
	free(ptr);
}

const GpucolMemory gpucol_memory_malloc = {malloc_alloc, malloc_free, NULL};
