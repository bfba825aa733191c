/*-------------------------------------------------------------------------
 *
 * listener.h
 *	  The socket that clients of the daemon connect to.
 *
 * A daemon takes the place of one that still listens there: that one, which may end
 * long after, leaves its successor's socket alone.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LISTENER_H
#define GPUCOL_CUDA_LISTENER_H

/*
 * Listen on a Unix socket at `path`, in place of what is there; the process's only one.
 * Its descriptor, or -1 and errno.
 */
extern int	listener_open(const char *path);

/*
 * Remove the socket, as long as it is the one that listener_open() made.  May be called
 * by a signal handler, at any time; waits for nobody.
 */
extern void listener_remove();

#endif
