/*-------------------------------------------------------------------------
 *
 * feed_seen.h
 *	  Which values, or rows of values, groups have had.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_SEEN_H
#define GPUCOL_EXEC_FEED_SEEN_H

#include "postgres.h"

#include "engine/engine.h"
#include "lower/agg.h"

typedef struct GpucolSeen GpucolSeen;

/* None yet, of a fed aggregate with DISTINCT, below the current context. */
extern GpucolSeen *gpucol_seen_create(const GpucolFed *fed);
extern void gpucol_seen_free(GpucolSeen *seen);

/* Bytes that so many rows may take, but for texts. */
extern Size gpucol_seen_room(const GpucolSeen *seen, uint64 nrows);

/* Turn to the arguments of a batch; of rows whose `pass` is set (NULL: all). */
extern void gpucol_seen_load(GpucolSeen *seen, const GpucolResult *result, const bool *pass);

/* Turn to the groups of the batch's rows in a set. */
extern void gpucol_seen_turn(GpucolSeen *seen, const uint32 *groups);

/* Has the row's group not had its values?  They are noted. */
extern bool gpucol_seen_is_new(GpucolSeen *seen, uint32 row);

#endif							/* GPUCOL_EXEC_FEED_SEEN_H */
