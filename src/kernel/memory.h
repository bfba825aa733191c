/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  Where freestanding code gets memory from: a pair of callbacks.
 *
 * alloc returns memory aligned to 8 bytes or NULL (the caller then returns
 * GPUCOL_OUT_OF_MEMORY); it may also not return at all, as palloc does, which is
 * why code that uses it keeps everything it owns reachable from a struct of the
 * caller's or in the same memory context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_MEMORY_H
#define GPUCOL_KERNEL_MEMORY_H

#include <stddef.h>

typedef struct GpucolMemory
{
	void	   *(*alloc) (void *context, size_t size);
	void		(*free) (void *context, void *ptr);
	void	   *context;
} GpucolMemory;

/* malloc and free */
extern const GpucolMemory gpucol_memory_malloc;

#endif							/* GPUCOL_KERNEL_MEMORY_H */
