/*-------------------------------------------------------------------------
 *
 * threads.h
 *	  How many threads work may use, and the whole server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_THREADS_H
#define GPUCOL_SERVICE_THREADS_H

/* Have every thread of this process counted against gpucol.max_cpu_threads. */
extern void gpucol_threads_init(void);

/* Processors of the machine. */
extern int	gpucol_threads_processors(void);

/*
 * Threads that some work may ask for, the caller's included: gpucol.cpu_threads, or where
 * that is 0 `most`, but no more than there are processors.  Must be called before any
 * thread is started; may raise an error if shared memory is full.
 */
extern int	gpucol_threads_wanted(int most);

#endif							/* GPUCOL_SERVICE_THREADS_H */
