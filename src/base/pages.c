/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  Large blocks of pages, mapped of the system, and kept for the next ones when they are freed.
 *
 * The system clears a page when it is first touched.  A statement that makes a table of groups, grows it and
 * frees it, and makes another, would have that done for each of them: up to a fifth of its time.  So what was
 * freed last stays mapped, until the next block or until somebody needs the room (budget.c).
 *
 * A block is made of kept pieces, whatever their sizes: they are moved, by their addresses alone, to where it
 * begins, and new pages follow.  malloc could do that only where what it keeps lies together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PIECES 128

typedef struct Piece
{
	char	   *at;
	size_t		bytes;
} Piece;

static struct
{
	pthread_mutex_t lock;		/* of what follows */
	int			npieces;		/* the oldest first */
	Piece		pieces[MOST_PIECES];
	_Atomic size_t bytes;		/* of all of them */
	size_t		most;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER,.most = 64 * GPUCOL_HUGE_PAGE};

/* New pages, from an address on where huge pages begin; or NULL. */
static char *
map_new(size_t bytes)
{
	char	   *from = mmap(NULL, bytes + GPUCOL_HUGE_PAGE, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t		before;

	if (from == MAP_FAILED)
		return NULL;
	before = -(uintptr_t) from % GPUCOL_HUGE_PAGE;
	if (before > 0)
		munmap(from, before);
	munmap(from + before + bytes, GPUCOL_HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
	(void) madvise(from + before, bytes, MADV_HUGEPAGE);
#endif
	return from + before;
}

/* Take so many bytes of a kept piece, its last ones, the lock being held. */
static char *
cut_piece(int at, size_t bytes)
{
	Piece	   *piece = &kept.pieces[at];
	char	   *cut = piece->at + piece->bytes - bytes;

	piece->bytes -= bytes;
	kept.bytes -= bytes;
	if (piece->bytes == 0)
	{
		kept.npieces--;
		memmove(piece, piece + 1, (kept.npieces - at) * sizeof(Piece));
	}
	return cut;
}

/* The place of the smallest kept piece of at least so many bytes, or -1. */
static int
find_whole(size_t bytes)
{
	int			best = -1;

	for (int i = 0; i < kept.npieces; i++)
		if (kept.pieces[i].bytes >= bytes && (best < 0 || kept.pieces[i].bytes < kept.pieces[best].bytes))
			best = i;
	return best;
}

/*
 * Move kept pieces to a place, as far as there are any; the bytes that they have, or SIZE_MAX if the system
 * refused, so that nobody knows what is at the place then.
 */
static size_t
move_pieces(char *place, size_t bytes)
{
	size_t		moved = 0;

	pthread_mutex_lock(&kept.lock);
	while (moved < bytes && kept.npieces > 0)
	{
		int			last = kept.npieces - 1;
		size_t		some = kept.pieces[last].bytes < bytes - moved ? kept.pieces[last].bytes : bytes - moved;

		if (mremap(cut_piece(last, some), some, some, MREMAP_MAYMOVE | MREMAP_FIXED, place + moved) == MAP_FAILED)
		{
			moved = SIZE_MAX;
			break;
		}
		moved += some;
	}
	pthread_mutex_unlock(&kept.lock);
	return moved;
}

void *
gpucol_pages_take(size_t bytes, size_t *dirty)
{
	char	   *block = NULL;
	int			whole;

	*dirty = bytes;
	pthread_mutex_lock(&kept.lock);
	whole = find_whole(bytes);
	if (whole >= 0)
		block = cut_piece(whole, bytes);
	pthread_mutex_unlock(&kept.lock);
	if (block != NULL)
		return block;
	block = map_new(bytes);
	if (block == NULL)
		return NULL;
	*dirty = move_pieces(block, bytes);
	return *dirty == SIZE_MAX ? NULL : block;
}

void *
gpucol_pages_grow(void *block, size_t old, size_t bytes)
{
	char	   *place = map_new(bytes);

	if (place == NULL || move_pieces(place + old, bytes - old) == SIZE_MAX ||
		mremap(block, old, old, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		return NULL;
	return place;
}

/* Give back the oldest pieces until there are so many bytes at most, the lock being held. */
static void
shrink(size_t bytes)
{
	while (kept.bytes > bytes)
	{
		size_t		over = kept.bytes - bytes;
		size_t		pages = (over + GPUCOL_HUGE_PAGE - 1) / GPUCOL_HUGE_PAGE * GPUCOL_HUGE_PAGE;
		size_t		some = pages < kept.pieces[0].bytes ? pages : kept.pieces[0].bytes;

		munmap(cut_piece(0, some), some);
	}
}

void
gpucol_pages_drop(void *block, size_t bytes)
{
	pthread_mutex_lock(&kept.lock);
	shrink(bytes < kept.most ? kept.most - bytes : 0);
	if (kept.npieces == MOST_PIECES || bytes > kept.most)
		munmap(block, bytes);
	else
	{
		kept.pieces[kept.npieces++] = (Piece) {.at = block,.bytes = bytes};
		kept.bytes += bytes;
	}
	pthread_mutex_unlock(&kept.lock);
}

size_t
gpucol_pages_kept(void)
{
	return atomic_load_explicit(&kept.bytes, memory_order_relaxed);
}

void
gpucol_pages_keep(size_t bytes)
{
	pthread_mutex_lock(&kept.lock);
	kept.most = bytes;
	shrink(bytes);
	pthread_mutex_unlock(&kept.lock);
}

void
gpucol_pages_shrink(size_t bytes)
{
	pthread_mutex_lock(&kept.lock);
	shrink(bytes);
	pthread_mutex_unlock(&kept.lock);
}
