/*-------------------------------------------------------------------------
 *
 * service/activity.h
 *	  What server processes of this cluster do for long, and how far they have
 *	  come: the recursions, merges and packings of gpucol.activity.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_ACTIVITY_H
#define GPUCOL_SERVICE_ACTIVITY_H

#include "postgres.h"

#define GPUCOL_ACTIVITY_NAME	32

typedef enum GpucolActivityKind
{
	GPUCOL_ACTIVITY_RECURSION = 1,
	GPUCOL_ACTIVITY_MERGE,
	GPUCOL_ACTIVITY_PACKING		/* of segments together */
} GpucolActivityKind;

/* How far one has come. */
typedef struct GpucolActivityState
{
	uint64		rows;			/* derived, or moved */
	uint64		bytes;			/* held */

	/* RECURSION */
	uint64		rounds;
	uint64		delta;			/* rows that the last round found */
	char		engine[GPUCOL_ACTIVITY_NAME];
	char		method[GPUCOL_ACTIVITY_NAME];

	/* MERGE, PACKING */
	Oid			relation;
	double		progress;		/* share of the delta, or of the rows, that has been read */
} GpucolActivityState;

/* A place in the list; 0 = none was free. */
typedef int GpucolActivity;

/*
 * One begins (an error only if shared memory is full), goes on, ends.  The end must come
 * whatever happens to the statement: by a callback of a memory context.
 */
extern GpucolActivity gpucol_activity_begin(GpucolActivityKind kind);
extern void gpucol_activity_update(GpucolActivity activity, const GpucolActivityState *state);
extern void gpucol_activity_end(GpucolActivity activity);

#endif							/* GPUCOL_SERVICE_ACTIVITY_H */
