/*-------------------------------------------------------------------------
 *
 * source.h
 *	  Opens a GpucolSource (kernel/batch.h): what one scan under one snapshot
 *	  sees of one table, as engines read it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SOURCE_H
#define GPUCOL_COLUMNAR_SOURCE_H

#include "postgres.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "kernel/program.h"

/*
 * Open a source over the columns of a program, in the current memory context.
 * `columns` must live as long as the source.  `parallel` is NULL, or the state
 * in shared memory through which workers share one scan; then every worker gets
 * parts of segments and delta ranges of its own, and the same ones again after a rescan
 * of its source (a fallback to another engine), but not after opening another.
 *
 * next_segment is GPUCOL_UNSUPPORTED where a chunk's domain is not the program
 * column's (NaN in a numeric column, a type changed without a rewrite).  The
 * functions of the source raise errors for corrupt pages.
 */
extern GpucolSource *gpucol_source_open(Relation table, Snapshot snapshot,
										const GpucolProgramColumn *columns,
										int ncolumns, void *parallel);

/*
 * Sources over the same columns of several tables as one (source_parts.c), which owns
 * the array and the parts from now on.  All were opened by gpucol_source_open in one memory
 * context.
 */
extern GpucolSource *gpucol_source_join(GpucolSource **parts, int nparts);

/*
 * Size of the shared state, its start (`whole`: workers take whole segments, which a
 * device wants), and its start for another scan.  It is the
 * state of the table's parallel row scan as well: a worker may go on with that
 * instead (table_beginscan_parallel) if it has not taken a segment yet.
 */
extern Size gpucol_source_parallel_size(Relation table, Snapshot snapshot);
extern void gpucol_source_parallel_init(void *parallel, Relation table,
										Snapshot snapshot, bool whole);
extern void gpucol_source_parallel_rescan(void *parallel, Relation table);

#endif							/* GPUCOL_COLUMNAR_SOURCE_H */
