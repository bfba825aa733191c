/*-------------------------------------------------------------------------
 *
 * service.h
 *	  How the CUDA engine's client reaches the device daemon.
 *
 * The client (engine/gpu) is freestanding; what it needs of its host
 * is this table.  service/supervisor.c implements it in a server process.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_SERVICE_H
#define GPUCOL_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GpucolService
{
	/* Can there be a daemon here?  Cheap; *why says what is missing. */
	bool		(*available) (const char **why);

	/*
	 * A socket connected to the daemon, which is started if need be; -1 with
	 * *why set if there is none.  May raise an interrupt.
	 */
	int			(*connect) (const char **why);

	/*
	 * Sleep until the socket can be read (or written, if `writable`), or the
	 * process has something else to look at; the caller checks interrupts next.
	 */
	void		(*wait) (int fd, bool writable);

	/* A socket connected to a daemon that runs already, or -1; at once. */
	int			(*try_connect) (void);
} GpucolService;

extern const GpucolService gpucol_service;

#endif							/* GPUCOL_SERVICE_SERVICE_H */
