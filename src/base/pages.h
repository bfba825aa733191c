/*-------------------------------------------------------------------------
 *
 * pages.h
 *	  Large blocks of memory, straight from the system.
 *
 * Hash tables, states of many groups and bitmaps are read at random places, so a block of
 * some huge pages begins at one and asks for them: fewer faults, and fewer look-ups of
 * addresses.  It grows where it lies, or its pages move, but nothing is copied; freed, it
 * is the system's at once.  malloc would copy a block whose pages were asked for in part,
 * and keep many that were freed: then a process holds more than it counts.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_PAGES_H
#define GPUCOL_BASE_PAGES_H

#include <stddef.h>

/* Blocks from this size on are large. */
#define GPUCOL_LARGE_BLOCK	((size_t) 1024 * 1024)

/* What a large block takes. */
extern size_t gpucol_pages_round(size_t size);

/* A block of zeroes, or NULL. */
extern void *gpucol_pages_take(size_t size);

/* Grow or shrink a block, which may move; NULL, and it stays, if there is no memory. */
extern void *gpucol_pages_resize(void *block, size_t old, size_t new);

extern void gpucol_pages_free(void *block, size_t size);

#endif							/* GPUCOL_BASE_PAGES_H */
