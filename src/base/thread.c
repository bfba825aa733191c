/*-------------------------------------------------------------------------
 *
 * thread.c
 *	  Starting threads: as a guest of a server process, and as many as are allowed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Bytes of stack that are left to whoever is told that it is deep. */
#define STACK_RESERVE	(256 * 1024)

/* What a thread is to do. */
typedef struct Start
{
	void		(*run) (void *arg);
	void	   *arg;
} Start;

static GpucolThreadGovernor governor;

void
gpucol_thread_govern(const GpucolThreadGovernor *new)
{
	governor = *new;
}

/* A thread has ended, or could not be started. */
static void
give_back(void)
{
	if (governor.give != NULL)
		governor.give();
}

static void *
thread_main(void *arg)
{
	Start		start = *(Start *) arg;

	free(arg);
	start.run(start.arg);
	give_back();
	return NULL;
}

/* pthread_create with all signals blocked in the thread. */
static bool
create(pthread_t *thread, Start *start)
{
	sigset_t	all;
	sigset_t	before;
	int			failed;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	failed = pthread_create(thread, NULL, thread_main, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed == 0;
}

bool
gpucol_thread_start(pthread_t *thread, void (*run) (void *arg), void *arg)
{
	pthread_t	started;
	Start	   *start;

	if (governor.take != NULL && !governor.take())
		return false;
	start = malloc(sizeof(Start));
	if (start != NULL)
	{
		start->run = run;
		start->arg = arg;
		if (create(&started, start))
		{
			if (thread != NULL)
				*thread = started;
			else
				pthread_detach(started);
			return true;
		}
	}
	free(start);
	give_back();
	return false;
}

bool
gpucol_thread_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	return pthread_cond_timedwait(condition, lock, &until) == 0;
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
gpucol_thread_is_deep(void)
{
	static __thread bool known;
	static __thread char *end;

	if (!known)
		end = find_stack_end();
	known = true;
	return (char *) __builtin_frame_address(0) < end;
}
