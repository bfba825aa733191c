/*-------------------------------------------------------------------------
 *
 * cluster.h
 *	  CLUSTER and VACUUM FULL: segment rows in the order of an index, or their own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_CLUSTER_H
#define GPUCOL_COLUMNAR_CLUSTER_H

#include "postgres.h"

#include "access/htup.h"
#include "nodes/pg_list.h"
#include "utils/hsearch.h"

#include "columnar/deadrows.h"
#include "columnar/directory.h"

/* New segments in place of one that was written by itself. */
typedef struct GpucolReplaced
{
	HeapTuple	old;			/* its directory row, a copy */
	List	   *entries;		/* GpucolSegmentEntry, not in the directory yet */
} GpucolReplaced;

/* What has been written. */
typedef struct GpucolClustered
{
	uint32		nranges;		/* segments that were rewritten */
	GpucolRowRange *ranges;		/* ascending */
	HTAB	   *moved;			/* new numbers of rows that some snapshot misses */
	List	   *replaced;		/* GpucolReplaced */
	double		rows;			/* written */
	double		dead;			/* left behind */
} GpucolClustered;

/*
 * Write the rows of all segments to new segments of `new_table`, which may have
 * none yet, in the order of an index of the old table: those that every snapshot
 * sees together, every other by itself, whose new entries the caller has to put
 * into the directory with the transaction of the old one.  The new table's row counter
 * must be beyond all numbers of the old one.  Without an index only segments are
 * written that have few rows left, together, and those that cannot be copied, by themselves.
 */
extern GpucolClustered *gpucol_cluster_segments(GpucolDirectory *from,
												Relation new_table, Relation index,
												TransactionId oldest_xmin);

/* Has a segment few rows left, or lost many? */
extern bool gpucol_cluster_is_small(uint32 live);
extern bool gpucol_cluster_is_holed(uint32 live, uint32 nrows);

/* Is it either, so that VACUUM FULL packs it with others? */
extern bool gpucol_cluster_is_sparse(uint32 live, uint32 nrows);

/* Has the table been clustered by an index, whose order VACUUM FULL keeps? */
extern bool gpucol_cluster_keeps_order(Relation table);

/* Was the segment of a row rewritten? */
extern bool gpucol_cluster_has_row(const GpucolClustered *clustered, uint64 row);

/* The new number of a row that has a tombstone; false if it was left behind. */
extern bool gpucol_cluster_new_row(const GpucolClustered *clustered, uint64 row,
								   uint64 *new_row);

#endif							/* GPUCOL_COLUMNAR_CLUSTER_H */
