/*-------------------------------------------------------------------------
 *
 * pages.h
 *	  Large blocks of pages, mapped of the system, and kept for the next ones when they are freed.
 *
 * Sizes are multiples of GPUCOL_HUGE_PAGE, where blocks begin, too.  Safe in every thread.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_PAGES_H
#define GPUCOL_BASE_PAGES_H

#include <stddef.h>

#define GPUCOL_HUGE_PAGE ((size_t) 2 * 1024 * 1024)

/* A block, of which all but the first `dirty` bytes are zero; NULL if the system has no more. */
extern void *gpucol_pages_take(size_t bytes, size_t *dirty);

/* Grow a block without copying it, with anything behind what it had; NULL, and it stays as it is, likewise. */
extern void *gpucol_pages_grow(void *block, size_t old, size_t bytes);

/* Free a block: some of what was freed last is kept. */
extern void gpucol_pages_drop(void *block, size_t bytes);

/* How many bytes are kept?  Keep so many at most, from now on (128 MB at first), or just now. */
extern size_t gpucol_pages_kept(void);
extern void gpucol_pages_keep(size_t bytes);
extern void gpucol_pages_shrink(size_t bytes);

#endif							/* GPUCOL_BASE_PAGES_H */
