/*-------------------------------------------------------------------------
 *
 * delta_cache.h
 *	  Columns of delta pages that a backend keeps in memory.
 *
 * A unit is what every later snapshot sees of some consecutive pages whose rows are settled
 * (settled.h): row numbers, the LSNs that the pages had, and the columns that queries have
 * asked for.  It holds for a snapshot whose xmin is behind the unit's newest transaction, as
 * long as the pages keep their LSNs: that is for the caller to see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_CACHE_H
#define GPUCOL_COLUMNAR_DELTA_CACHE_H

#include "postgres.h"

#include "utils/rel.h"

#include "columnar/row_batch.h"
#include "columnar/settled.h"

/* Pages of a unit, at most: bits of of_segments. */
#define GPUCOL_DELTA_UNIT_PAGES	64

typedef struct GpucolDeltaCache GpucolDeltaCache;
typedef struct GpucolDeltaKept GpucolDeltaKept;

typedef struct GpucolDeltaUnit
{
	BlockNumber start;
	uint32		nblocks;
	TransactionId newest;		/* that wrote or deleted a row of these pages, */
	GpucolRecentXids recent;	/* but for these */
	XLogRecPtr	wal_end;		/* when the pages were last found unchanged */
	XLogRecPtr	lsns[GPUCOL_DELTA_UNIT_PAGES];
	uint64		of_segments;	/* bit i set: page i is one of a segment that no view of the unit's shows */
	uint32		nrows;
	uint64	   *tids;

	/* the cache's own */
	GpucolDeltaCache *cache;
	uint32		users;
	bool		dropped;		/* goes with its last user */
	GpucolDeltaKept *columns;
	Size		size;			/* of it, without columns */
} GpucolDeltaUnit;

/* The cache of a table, which lasts until the transaction ends at least. */
extern GpucolDeltaCache *gpucol_delta_cache_open(Relation table);

/* Does a session keep something of a table? */
extern bool gpucol_delta_cache_has(Relation table);

/* The unit that begins with a block, or NULL. */
extern GpucolDeltaUnit *gpucol_delta_cache_find(GpucolDeltaCache *cache, BlockNumber block);

/*
 * Keep a unit (a copy of it and of its tids), in the place of another one that begins with the
 * same block; NULL where there is no room.
 */
extern GpucolDeltaUnit *gpucol_delta_cache_add(GpucolDeltaCache *cache,
											   const GpucolDeltaUnit *unit);

/* The unit no longer holds. */
extern void gpucol_delta_cache_drop(GpucolDeltaUnit *unit);

/* Have a unit, and what it shows, stay until it is let go of. */
extern void gpucol_delta_cache_hold(GpucolDeltaUnit *unit);
extern void gpucol_delta_cache_let_go(GpucolDeltaUnit *unit);

/* Show a column slot of a batch from the unit; false if that column is not kept. */
extern bool gpucol_delta_cache_show(const GpucolDeltaUnit *unit, const GpucolRowBatch *rows,
									int c, GpucolDeltaColumn *out);

/* Keep a column slot of a batch, which has the unit's rows, if there is room. */
extern void gpucol_delta_cache_keep(GpucolDeltaUnit *unit, const GpucolRowBatch *rows, int c);

#endif							/* GPUCOL_COLUMNAR_DELTA_CACHE_H */
