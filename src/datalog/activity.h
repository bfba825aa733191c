/*-------------------------------------------------------------------------
 *
 * activity.h
 *	  Which recursions run in this cluster, and how far they have come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_DATALOG_ACTIVITY_H
#define GPUCOL_DATALOG_ACTIVITY_H

#include "postgres.h"

#include "engine/recursive.h"

/* A run's place in the list; 0 = none was free. */
typedef int GpucolActivity;

/* A run begins (an error only if shared memory is full), goes on, ends. */
extern GpucolActivity gpucol_activity_begin(void);
extern void gpucol_activity_update(GpucolActivity activity,
								   const GpucolRecProgress *progress);
extern void gpucol_activity_end(GpucolActivity activity);

#endif							/* GPUCOL_DATALOG_ACTIVITY_H */
