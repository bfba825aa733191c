/*-------------------------------------------------------------------------
 *
 * thread.h
 *	  Starting threads: as a guest of a server process, and as many as are allowed.
 *
 * The threads take no signal (the server's handlers belong to the main thread).  They
 * may be refused, by the system or by whoever governs them; what wants them goes on
 * with fewer.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_THREAD_H
#define GPUCOL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Who says how many threads the process may have beside its own.  `take` is asked before
 * one more is started, in the thread that starts it; `give` is told that one has ended,
 * in that.  NULL, both: nobody, there is no limit.
 */
typedef struct GpucolThreadGovernor
{
	bool		(*take) (void);
	void		(*give) (void);
} GpucolThreadGovernor;

extern void gpucol_thread_govern(const GpucolThreadGovernor *governor);

/*
 * Start a thread that runs run(arg); false if there is none to be had.  Where `thread` is
 * NULL nobody joins it; else the caller must.
 */
extern bool gpucol_thread_start(pthread_t *thread, void (*run) (void *arg), void *arg);

/* Wait for a condition, but no longer than so many milliseconds: false if that long passed. */
extern bool gpucol_thread_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int milliseconds);

/* Has the calling thread so little stack left that a recursion may go no deeper? */
extern bool gpucol_thread_is_deep(void);

#endif							/* GPUCOL_BASE_THREAD_H */
