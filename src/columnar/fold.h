/*-------------------------------------------------------------------------
 *
 * fold.h
 *	  Folding the tombstones of dead rows into bitmaps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FOLD_H
#define GPUCOL_COLUMNAR_FOLD_H

#include "postgres.h"

#include "columnar/deadrows.h"

/* What folding did. */
typedef struct GpucolFolded
{
	uint64		rows;			/* tombstones that became bits */
	uint32		segments;		/* segments removed, all of whose rows are dead */
	uint64		pages;			/* ... and their pages */
} GpucolFolded;

/*
 * Fold dead rows into the directory's bitmaps and remove segments that have no
 * other rows; forget deletions of numbers that no segment of the coverage has.  All is
 * part of the caller's transaction, which must hold ShareUpdateExclusiveLock on the table
 * and be one that snapshots heed.  `early`: indexes may have entries of the rows (early_fold.h).
 */
extern GpucolFolded gpucol_fold(GpucolDirectory *dir, const GpucolDeadRows *dead,
								const GpucolCoverage *coverage, bool early);

#endif							/* GPUCOL_COLUMNAR_FOLD_H */
