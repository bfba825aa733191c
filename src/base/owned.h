/*-------------------------------------------------------------------------
 *
 * owned.h
 *	  Blocks of one owner, freed together: nothing is lost when the host leaves by
 *	  longjmp.
 *
 * All are counted in the owner's budget.  Safe in every thread, but for open and
 * free_all.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_OWNED_H
#define GPUCOL_BASE_OWNED_H

#include <pthread.h>

#include "base/budget.h"

typedef struct GpucolOwned
{
	GpucolBudget *budget;		/* NULL: counted nowhere */
	pthread_mutex_t lock;		/* of what follows */
	void	   *blocks;
} GpucolOwned;

extern void gpucol_owned_open(GpucolOwned *owned, GpucolBudget *budget);

/* So many threads take blocks from now on: so much of what they free is kept for them. */
extern void gpucol_owned_keep(int nthreads);

/* Aligned to 128 bytes, uninitialised; NULL beyond the limit. */
extern void *gpucol_owned_alloc(GpucolOwned *owned, size_t size);
extern void *gpucol_owned_alloc_zeroed(GpucolOwned *owned, size_t size);

/* Grow or shrink; NULL beyond the limit, and then the old block stays. */
extern void *gpucol_owned_realloc(GpucolOwned *owned, void *memory, size_t size);

/* NULL is nothing. */
extern void gpucol_owned_free(GpucolOwned *owned, void *memory);

/* Free every block; the owner may go on or be forgotten. */
extern void gpucol_owned_free_all(GpucolOwned *owned);

#endif							/* GPUCOL_BASE_OWNED_H */
