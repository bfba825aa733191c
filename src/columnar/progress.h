/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  How far work on a table's storage has come, in gpucol.activity.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_PROGRESS_H
#define GPUCOL_COLUMNAR_PROGRESS_H

#include "postgres.h"

#include "utils/rel.h"

#include "service/activity.h"

/* Rows that are read between two notes. */
#define GPUCOL_PROGRESS_ROWS	1024

typedef struct GpucolProgress GpucolProgress;

/* List some work on a table; it goes with the current memory context, whatever ended it, or before. */
extern GpucolProgress *gpucol_progress_begin(Relation table, GpucolActivityKind kind);
extern void gpucol_progress_end(GpucolProgress *progress);

/* List how many rows it has moved, and the share of its rows or pages that it has read. */
extern void gpucol_progress_note(GpucolProgress *progress, uint64 moved, double share);

#endif							/* GPUCOL_COLUMNAR_PROGRESS_H */
