/*-------------------------------------------------------------------------
 *
 * supervisor.h
 *	  The background worker that keeps gpucol_gpud running.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_SUPERVISOR_H
#define GPUCOL_SERVICE_SUPERVISOR_H

#include "postgres.h"

/* From _PG_init: with shared_preload_libraries the worker starts with the server. */
extern void gpucol_service_init(void);

/* A socket connected to a daemon that runs, or -1; starts nothing. */
extern int	gpucol_service_try_connect(void);

/*
 * Have the daemon that runs, if one does, give back the device memory of a table's
 * storage (protocol.h), of {0, 0} all; the bytes.
 */
extern int64 gpucol_service_evict(const uint64 storage[2]);

extern PGDLLEXPORT void gpucol_supervisor_main(Datum arg);

#endif							/* GPUCOL_SERVICE_SUPERVISOR_H */
