/*-------------------------------------------------------------------------
 *
 * refuse.h
 *	  An allocator, and a pthread_create, that refuse where a test wants it.
 *
 * The linker lets the library's calls come here (--wrap, test/unit/Makefile); a test's
 * own blocks are those of the C library, so that it is never refused anything.  Include
 * this before headers that allocate.
 *
 * A test runs something once as it is, counting its requests, and then again with each
 * of them refused, every second time with all after it (refuse_each): it must end in its
 * answer or in GPUCOL_OUT_OF_MEMORY, and hold nothing any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_REFUSE_H
#define GPUCOL_TEST_REFUSE_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/status.h"

#include "check.h"

#define REFUSE_ALL	40			/* requests that are each refused; of further ones so many */

static struct
{
	_Atomic bool on;
	_Atomic long requests;
	_Atomic long blocks;		/* that are held */
	long		at;				/* the request that is refused; 0 = none */
	bool		rest;			/* and all after it */
	bool		threads;		/* every thread is refused */
} refuse;

extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t n, size_t size);
extern void *__real_realloc(void *block, size_t size);
extern void *__real_aligned_alloc(size_t align, size_t size);
extern int	__real_posix_memalign(void **block, size_t align, size_t size);
extern void __real_free(void *block);
extern int	__real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
								  void *(*run) (void *), void *arg);

extern void *__wrap_malloc(size_t size);
extern void *__wrap_calloc(size_t n, size_t size);
extern void *__wrap_realloc(void *block, size_t size);
extern void *__wrap_aligned_alloc(size_t align, size_t size);
extern int	__wrap_posix_memalign(void **block, size_t align, size_t size);
extern void __wrap_free(void *block);
extern int	__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
								  void *(*run) (void *), void *arg);

static bool
refuses(void)
{
	long		request;

	if (!refuse.on)
		return false;
	request = ++refuse.requests;
	return refuse.at > 0 && (request == refuse.at || (refuse.rest && request > refuse.at));
}

static void *
refuse_count(void *block)
{
	refuse.blocks += block != NULL;
	return block;
}

void *
__wrap_malloc(size_t size)
{
	return refuses() ? NULL : refuse_count(__real_malloc(size));
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return refuses() ? NULL : refuse_count(__real_calloc(n, size));
}

void *
__wrap_realloc(void *block, size_t size)
{
	void	   *grown = refuses() ? NULL : __real_realloc(block, size);

	return block == NULL ? refuse_count(grown) : grown;
}

void *
__wrap_aligned_alloc(size_t align, size_t size)
{
	return refuses() ? NULL : refuse_count(__real_aligned_alloc(align, size));
}

int
__wrap_posix_memalign(void **block, size_t align, size_t size)
{
	int			failed = refuses() ? ENOMEM : __real_posix_memalign(block, align, size);

	refuse.blocks += failed == 0;
	return failed;
}

void
__wrap_free(void *block)
{
	refuse.blocks -= block != NULL;
	__real_free(block);
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
					  void *(*run) (void *), void *arg)
{
	return refuses() || refuse.threads ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

#define malloc(size)		__real_malloc(size)
#define calloc(n, size)		__real_calloc(n, size)
#define realloc(block, size)	__real_realloc(block, size)
#define free(block)			__real_free(block)

/* Blocks that are held once threads that have just begun have taken what is theirs. */
static long
refuse_held(long before)
{
	for (int i = 0; i < 2000 && refuse.blocks != before; i++)
		usleep(1000);
	return refuse.blocks;
}

/* One run, with its request `at` refused, and perhaps the rest. */
static GpucolStatus
refuse_once(GpucolStatus (*run) (void *arg, uint64_t *answer), void *arg, long at, bool rest,
			uint64_t *answer)
{
	GpucolStatus status;

	refuse.at = at;
	refuse.rest = rest;
	refuse.requests = 0;
	refuse.on = true;
	status = run(arg, answer);
	refuse.on = false;
	return status;
}

/*
 * Refuse each request of run(arg) in turn.  It computes *answer, the same whenever it
 * succeeds, and gives back all that it holds.
 */
static void
refuse_each(const char *name, GpucolStatus (*run) (void *arg, uint64_t *answer), void *arg)
{
	long		before = refuse.blocks;
	uint64_t	expected = 0;
	long		n;
	long		refused = 0;

	CHECK(refuse_once(run, arg, 0, false, &expected) == GPUCOL_OK, "%s", name);
	n = refuse.requests;
	for (long at = 1; at <= n; at += at < REFUSE_ALL || n < 2 * REFUSE_ALL ? 1 : 1 + n / REFUSE_ALL)
	{
		uint64_t	answer = 0;
		GpucolStatus status = refuse_once(run, arg, at, at % 2 == 0, &answer);

		CHECK(status == GPUCOL_OUT_OF_MEMORY || (status == GPUCOL_OK && answer == expected),
			  "%s without request %ld: status %d", name, at, status);
		refused += status != GPUCOL_OK;
		CHECK(refuse_held(before) == before, "%s without request %ld: %ld blocks are left",
			  name, at, refuse.blocks - before);
		before = refuse.blocks;
	}
	CHECK(n > 0 && refused > 0, "%s: %ld requests, %ld refused", name, n, refused);
}

#endif							/* GPUCOL_TEST_REFUSE_H */
