/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  Compute threads: fork and join.
 *
 * A call's work is a number of shares.  Threads claim shares; the caller takes
 * the first and then whatever nobody has claimed yet, so it never waits for a
 * thread that has still to wake up, only for one that is at work.  A thread that
 * has found nothing to claim looks on for some microseconds before it sleeps,
 * because waking it costs more than most gaps between windows.
 *
 * All signals are blocked in the threads, so that PostgreSQL's handlers run in
 * the main thread only.  They call nothing but the task that they are given.
 * Starting threads costs as much as a short query: a pool that is given back is
 * kept, asleep, for the next run of the process.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "engine/cpu/cpu.h"

struct GpucolCpuPool
{
	/* the current call: its number << SHARE_BITS | the next share to claim */
	_Atomic uint64_t claim __attribute__((aligned(128)));
	void		(*task) (void *arg, int index);
	void	   *arg;
	_Atomic int finished __attribute__((aligned(128)));	/* shares */
	_Atomic bool waiting;		/* the caller sleeps until all are */

	_Atomic int sleeping __attribute__((aligned(128)));	/* threads */
	_Atomic bool stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_cond_t done;
	int			nshares;
	int			nstarted;
	pthread_t	threads[];
};

#define SHARE_BITS 16
#define SHARE_MASK ((UINT64_C(1) << SHARE_BITS) - 1)
#define SPINS 4000				/* some tens of microseconds */

/* The pool that no run uses. */
static GpucolCpuPool *spare = NULL;

static inline void
relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Is there a share to claim? */
static inline bool
has_share(GpucolCpuPool *pool)
{
	return (int) (pool->claim & SHARE_MASK) < pool->nshares;
}

/* Claim the next share of the current call; -1 if there is none. */
static int
claim_share(GpucolCpuPool *pool)
{
	uint64_t	claim = pool->claim;

	while ((int) (claim & SHARE_MASK) < pool->nshares)
		if (atomic_compare_exchange_weak(&pool->claim, &claim, claim + 1))
			return (int) (claim & SHARE_MASK);
	return -1;
}

/* Do this share and then others until there are none to claim. */
static void
do_shares(GpucolCpuPool *pool, int share)
{
	for (; share >= 0; share = claim_share(pool))
	{
		pool->task(pool->arg, share);
		if (atomic_fetch_add(&pool->finished, 1) + 1 == pool->nshares &&
			pool->waiting)
		{
			pthread_mutex_lock(&pool->lock);
			pthread_cond_signal(&pool->done);
			pthread_mutex_unlock(&pool->lock);
		}
	}
}

/* Work, look on, sleep, repeat. */
static void *
thread_main(void *arg)
{
	GpucolCpuPool *pool = arg;
	bool		worked = false;

	while (!pool->stop)
	{
		for (int i = 0; worked && i < SPINS && !has_share(pool) && !pool->stop; i++)
			relax();
		worked = has_share(pool);
		if (worked)
		{
			do_shares(pool, claim_share(pool));
			continue;
		}
		pthread_mutex_lock(&pool->lock);
		pool->sleeping++;
		while (!has_share(pool) && !pool->stop)
			pthread_cond_wait(&pool->wake, &pool->lock);
		pool->sleeping--;
		pthread_mutex_unlock(&pool->lock);
	}
	return NULL;
}

/* End the threads and free the pool. */
static void
free_pool(GpucolCpuPool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->nstarted; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Start nthreads - 1 threads; NULL if not all could be started. */
static GpucolCpuPool *
start_pool(int nthreads)
{
	size_t		size = sizeof(GpucolCpuPool) + sizeof(pthread_t) * (size_t) nthreads;
	GpucolCpuPool *pool = aligned_alloc(_Alignof(GpucolCpuPool),
										(size + _Alignof(GpucolCpuPool) - 1) /
										_Alignof(GpucolCpuPool) * _Alignof(GpucolCpuPool));
	sigset_t	all;
	sigset_t	old;

	if (pool == NULL)
		return NULL;
	memset(pool, 0, size);
	pool->nshares = nthreads;
	pool->claim = (uint64_t) nthreads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pthread_cond_init(&pool->done, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (pool->nstarted < nthreads - 1 &&
		   pthread_create(&pool->threads[pool->nstarted], NULL, thread_main, pool) == 0)
		pool->nstarted++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pool->nstarted < nthreads - 1)
	{
		free_pool(pool);
		return NULL;
	}
	return pool;
}

/*
 * A pool of nthreads - 1 threads and the caller.  NULL if not all could be
 * started: the caller then works alone.
 */
GpucolCpuPool *
gpucol_cpu_pool_create(int nthreads)
{
	GpucolCpuPool *pool = spare;

	spare = NULL;
	if (pool != NULL && pool->nshares == nthreads)
		return pool;
	free_pool(pool);
	return start_pool(nthreads);
}

void
gpucol_cpu_pool_run(GpucolCpuPool *pool, void (*task) (void *arg, int index),
					void *arg)
{
	if (pool == NULL)
	{
		task(arg, 0);
		return;
	}
	pool->task = task;
	pool->arg = arg;
	pool->finished = 0;
	pool->waiting = false;
	pool->claim = ((pool->claim >> SHARE_BITS) + 1) << SHARE_BITS | 1;
	if (pool->sleeping > 0)
	{
		pthread_mutex_lock(&pool->lock);
		pthread_cond_broadcast(&pool->wake);
		pthread_mutex_unlock(&pool->lock);
	}
	do_shares(pool, 0);
	for (int i = 0; i < SPINS && pool->finished < pool->nshares; i++)
		relax();
	if (pool->finished == pool->nshares)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->waiting = true;
	while (pool->finished < pool->nshares)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * Give a pool back; no call of it is in progress.
 */
void
gpucol_cpu_pool_destroy(GpucolCpuPool *pool)
{
	if (pool == NULL)
		return;
	free_pool(spare);
	spare = pool;
}
