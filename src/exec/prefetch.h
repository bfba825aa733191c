/*-------------------------------------------------------------------------
 *
 * prefetch.h
 *	  Loading a table's columns into device memory by several processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_PREFETCH_H
#define GPUCOL_EXEC_PREFETCH_H

#include "exec/run.h"

/*
 * Before a run starts on the device: where much of its columns is not resident
 * yet and fits, load it with parallel workers.  Does nothing where that is not
 * worth it or not possible; the run then loads what it lacks by itself.
 */
extern void gpucol_prefetch_for(GpucolExec *exec);

#endif							/* GPUCOL_EXEC_PREFETCH_H */
