/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  The compute threads of a process: fork and join.
 *
 * There is one pool, which grows as it is asked for and whose threads end when nobody has
 * had work for them for a while.  It is the main thread's, which alone may call it and
 * works with it.
 *
 *		n = gpucol_pool_ready(n);			how many can work at once
 *		... give each of n what it works with ...
 *		gpucol_pool_run(n, task, arg);		any number of times
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_POOL_H
#define GPUCOL_BASE_POOL_H

#include <stdbool.h>

/* Threads that work at once, the caller's included, at most. */
#define GPUCOL_POOL_MAX_THREADS	256

/* Milliseconds after which a thread without work ends. */
#define GPUCOL_POOL_IDLE_MS		1000

/*
 * Have threads for n shares, starting them if need be.  How many can work at once: at
 * least 1, the caller, and fewer than n where threads are refused.
 */
extern int	gpucol_pool_ready(int n);

/*
 * The same, and as many shares as it says run at once in the next call of run, so that
 * one may wait for another: it must follow before anything else can happen.
 */
extern int	gpucol_pool_hold(int n);

/*
 * Call task(arg, i) once for each i below n, i = 0 in the caller and the others in
 * whichever thread comes first, the caller included; returns when all have returned.
 */
extern void gpucol_pool_run(int n, void (*task) (void *arg, int index), void *arg);

/*
 * Have the main thread call call(arg), at once where it is the caller, else when it answers next: in
 * gpucol_pool_answer, or while it waits in run for shares; returns then.  False: it answers no more, as it has left
 * its task.  The main thread must not wait for the caller otherwise.  The call may longjmp, after gpucol_pool_abandon.
 */
extern bool gpucol_pool_ask(void (*call) (void *arg), void *arg);

/* In the main thread, in a task: answer who asks. */
extern void gpucol_pool_answer(void);

/*
 * For who is about to leave a task or an answer by longjmp, in the main thread: no share is begun any more; returns
 * when those that were have returned.  Nothing where the caller is in no task.
 */
extern void gpucol_pool_abandon(void);

#endif							/* GPUCOL_BASE_POOL_H */
