/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Large blocks of memory, straight from the system.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define SYSTEM_PAGE		((size_t) 4096)
#define HUGE_PAGE		((size_t) 2 * 1024 * 1024)

size_t
gpucol_pages_round(size_t size)
{
	return (size + SYSTEM_PAGE - 1) & ~(SYSTEM_PAGE - 1);
}

/* Is a block large enough for huge pages? */
static bool
has_huge_pages(size_t size)
{
	return size >= 2 * HUGE_PAGE;
}

static char *
map(size_t size)
{
	char	   *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

/* Addresses for a block, from a huge page on if it has some; NULL if there are none. */
static char *
reserve(size_t size)
{
	size_t		all = size + HUGE_PAGE;
	char	   *start;
	char	   *block;

	if (!has_huge_pages(size))
		return map(size);
	start = map(all);
	if (start == NULL)
		return NULL;
	block = start + (-(uintptr_t) start & (HUGE_PAGE - 1));
	if (block > start)
		munmap(start, (size_t) (block - start));
	munmap(block + size, (size_t) (start + all - (block + size)));
	return block;
}

/* Ask for huge pages. */
static void *
advise(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
	if (has_huge_pages(size))
		(void) madvise(block, size, MADV_HUGEPAGE);
#else
	(void) size;
#endif
	return block;
}

void *
gpucol_pages_take(size_t size)
{
	char	   *block = reserve(gpucol_pages_round(size));

	return block == NULL ? NULL : advise(block, gpucol_pages_round(size));
}

void *
gpucol_pages_resize(void *block, size_t old, size_t new)
{
	void	   *got;
	char	   *place;

	old = gpucol_pages_round(old);
	new = gpucol_pages_round(new);
	got = mremap(block, old, new, 0);
	if (got != MAP_FAILED)
		return advise(got, new);
	place = reserve(new);
	if (place == NULL)
		return NULL;
	got = mremap(block, old, new, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (got != MAP_FAILED)
		return advise(got, new);
	munmap(place, new);
	return NULL;
}

void
gpucol_pages_free(void *block, size_t size)
{
	munmap(block, gpucol_pages_round(size));
}
