/*-------------------------------------------------------------------------
 *
 * space.h
 *	  Pages of the main fork that no segment has any more, and their reuse.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SPACE_H
#define GPUCOL_COLUMNAR_SPACE_H

#include "postgres.h"

#include "storage/lock.h"

#include "columnar/deadrows.h"
#include "columnar/directory.h"

/*
 * Who reserves row numbers or free pages, or gives numbers back, holds the table's
 * allocation lock until the segment's entry says so: AccessShareLock for row numbers,
 * which loaders share, AccessExclusiveLock for pages and for who wants to see all entries.
 */
extern void gpucol_space_lock(Relation table, LOCKMODE mode);
extern void gpucol_space_unlock(Relation table, LOCKMODE mode);

/*
 * Take free pages for a segment, at most entry->npages, into the extents of its
 * entry, which stands in the directory at `tid`.  The entry has no other extents
 * yet.
 */
extern void gpucol_space_claim(Relation table, GpucolSegmentEntry *entry,
							   ItemPointer tid);

/*
 * Make standby snapshots conflict that take transactions up to `horizon` for running, by
 * a record about a block, which must be a segment's.
 */
extern void gpucol_space_log_conflict(Relation table, BlockNumber block,
									  TransactionId horizon);

/* Is it worth looking for free pages? */
extern bool gpucol_space_is_due(const GpucolUpkeep *upkeep,
								const GpucolCoverage *coverage);

/*
 * Look for pages that no segment has and remember them; returns how many are
 * remembered.  The table is locked (ShareUpdateExclusiveLock), and the transaction one that snapshots heed.
 */
extern uint64 gpucol_space_reclaim(GpucolDirectory *dir,
								   const GpucolCoverage *coverage);

/* The same of a table, if it is worth it; else 0. */
extern uint64 gpucol_space_reclaim_due(Relation table);

#endif							/* GPUCOL_COLUMNAR_SPACE_H */
