/*-------------------------------------------------------------------------
 *
 * replay.h
 *	  Rows of a node kept for the next scan of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_REPLAY_H
#define GPUCOL_EXEC_REPLAY_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

/* Zeroed: nothing is kept. */
typedef struct GpucolReplay
{
	bool		wanted;			/* the node will be scanned again with the same parameters */
	bool		complete;		/* all rows are kept */
	Tuplestorestate *store;
	TupleTableSlot *slot;
} GpucolReplay;

/* Fetches the next row of a node by running it. */
typedef TupleTableSlot *(*GpucolFetch) (CustomScanState *node);

/* Prepare for a node that is begun with these flags. */
extern void gpucol_replay_init(GpucolReplay *replay, int eflags);

/* The next row: one that is kept, or one that is fetched, and kept if that is wanted. */
extern TupleTableSlot *gpucol_replay_next(GpucolReplay *replay, CustomScanState *node,
										  GpucolFetch fetch);

/* Begin again with the rows that are kept; false if the node is to be run anew. */
extern bool gpucol_replay_rewind(GpucolReplay *replay, CustomScanState *node);

/* Let the rows go. */
extern void gpucol_replay_end(GpucolReplay *replay);

#endif							/* GPUCOL_EXEC_REPLAY_H */
