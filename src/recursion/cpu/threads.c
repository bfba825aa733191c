/*-------------------------------------------------------------------------
 *
 * threads.c
 *	  Threads of the recursion kernels.
 *
 * The threads are PostgreSQL's guests: they take no signal (the server's
 * handlers belong to the main thread), touch nothing but the run's memory, and
 * never outlive the call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "recursion/cpu/engine.h"

/* Between two looks for a cancel of a thread that waits. */
#define POLL_NSEC		20000000

/* Bytes of stack that are left to what a step calls. */
#define STACK_RESERVE	(256 * 1024)

typedef struct Worker
{
	pthread_t	thread;
	bool		started;
	int			number;
	void		(*work) (void *, int);
	void	   *context;
} Worker;

static void *
worker_main(void *argument)
{
	Worker	   *worker = argument;

	worker->work(worker->context, worker->number);
	return NULL;
}

void
gpucol_rec_parallel(int nthreads, void (*work) (void *, int),
					void (*missing) (void *, int), void *context)
{
	Worker		workers[GPUCOL_REC_MAX_THREADS];
	bool		failed = false;
	sigset_t	all;
	sigset_t	before;
	int			i;

	if (nthreads > GPUCOL_REC_MAX_THREADS)
		nthreads = GPUCOL_REC_MAX_THREADS;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	for (i = 1; i < nthreads; i++)
	{
		workers[i].number = i;
		workers[i].work = work;
		workers[i].context = context;
		workers[i].started = !failed &&
			pthread_create(&workers[i].thread, NULL, worker_main,
						   &workers[i]) == 0;
		failed = !workers[i].started;
		if (failed && missing != NULL)
			missing(context, i);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	work(context, 0);
	for (i = 1; i < nthreads; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
}

/* The lowest address that a thread's stack may reach, or NULL: not known. */
static char *
find_stack_end(void)
{
	pthread_attr_t attributes;
	void	   *lowest = NULL;
	size_t		size;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return NULL;
	if (pthread_attr_getstack(&attributes, &lowest, &size) != 0 || size <= STACK_RESERVE)
		lowest = NULL;
	pthread_attr_destroy(&attributes);
	return lowest == NULL ? NULL : (char *) lowest + STACK_RESERVE;
}

bool
gpucol_rec_stack_is_deep(void)
{
	static __thread bool known;
	static __thread char *end;

	if (!known)
		end = find_stack_end();
	known = true;
	return (char *) __builtin_frame_address(0) < end;
}

bool
gpucol_rec_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += POLL_NSEC;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(condition, lock, &until) == 0;
}
