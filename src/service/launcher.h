/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  The background worker that has tables merged automatically.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_LAUNCHER_H
#define GPUCOL_SERVICE_LAUNCHER_H

#include "postgres.h"

/* From _PG_init: with shared_preload_libraries the launcher starts with the server. */
extern void gpucol_launcher_init(void);

extern PGDLLEXPORT void gpucol_launcher_main(Datum arg);

#endif							/* GPUCOL_SERVICE_LAUNCHER_H */
