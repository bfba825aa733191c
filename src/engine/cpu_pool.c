/*-------------------------------------------------------------------------
 *
 * cpu_pool.c
 *	  The compute threads of a run: fork and join.
 *
 * The threads live as long as the run and sleep between windows.  All signals
 * are blocked in them, so that PostgreSQL's handlers run in the main thread
 * only.  They call nothing but the task that they are given.  A thread that has
 * finished a window looks for the next one for some microseconds before it
 * sleeps, because waking it costs more than most gaps between windows.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "engine/cpu.h"

typedef struct Thread
{
	GpucolCpuPool *pool;
	pthread_t	handle;
	int			index;
} Thread;

struct GpucolCpuPool
{
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_cond_t done;
	_Atomic uint64_t round;		/* advances with each run */
	_Atomic int busy;			/* threads still at work in this round */
	_Atomic bool stop;
	void		(*task) (void *arg, int index);
	void	   *arg;
	int			nstarted;
	Thread		threads[];
};

#define SPINS 2000				/* about 10 microseconds */

static inline void
relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Sleep, work, repeat. */
static void *
thread_main(void *arg)
{
	Thread	   *self = arg;
	GpucolCpuPool *pool = self->pool;
	uint64_t	seen = 0;

	for (;;)
	{
		void		(*task) (void *arg, int index);
		void	   *task_arg;

		for (int i = 0; i < SPINS && seen > 0 && pool->round == seen && !pool->stop; i++)
			relax();
		pthread_mutex_lock(&pool->lock);
		while (pool->round == seen && !pool->stop)
			pthread_cond_wait(&pool->wake, &pool->lock);
		seen = pool->round;
		task = pool->task;
		task_arg = pool->arg;
		pthread_mutex_unlock(&pool->lock);
		if (pool->stop)
			return NULL;
		task(task_arg, self->index);
		if (atomic_fetch_sub(&pool->busy, 1) == 1)
		{
			pthread_mutex_lock(&pool->lock);
			pthread_cond_signal(&pool->done);
			pthread_mutex_unlock(&pool->lock);
		}
	}
}

/*
 * Start nthreads - 1 threads.  NULL if not all could be started: the caller
 * then works alone.
 */
GpucolCpuPool *
gpucol_cpu_pool_create(int nthreads)
{
	GpucolCpuPool *pool;
	sigset_t	all;
	sigset_t	old;

	pool = calloc(1, sizeof(*pool) + sizeof(Thread) * (size_t) nthreads);
	if (pool == NULL)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pthread_cond_init(&pool->done, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < nthreads - 1; i++)
	{
		Thread	   *thread = &pool->threads[i];

		thread->pool = pool;
		thread->index = i + 1;
		if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0)
			break;
		pool->nstarted++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pool->nstarted < nthreads - 1)
	{
		gpucol_cpu_pool_destroy(pool);
		return NULL;
	}
	return pool;
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
	pthread_mutex_lock(&pool->lock);
	pool->task = task;
	pool->arg = arg;
	pool->busy = pool->nstarted;
	pool->round++;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	task(arg, 0);
	for (int i = 0; i < SPINS && pool->busy > 0; i++)
		relax();
	pthread_mutex_lock(&pool->lock);
	while (pool->busy > 0)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void
gpucol_cpu_pool_destroy(GpucolCpuPool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->nstarted; i++)
		pthread_join(pool->threads[i].handle, NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
