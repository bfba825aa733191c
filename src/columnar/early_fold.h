/*-------------------------------------------------------------------------
 *
 * early_fold.h
 *	  Folding tombstones before their rows' index entries are deleted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_EARLY_FOLD_H
#define GPUCOL_COLUMNAR_EARLY_FOLD_H

#include "postgres.h"

#include "columnar/deadrows.h"

/*
 * Fold the tombstones that every snapshot sees, if there are at least so many; returns their number.
 * The table is locked (ShareUpdateExclusiveLock), and the transaction one that snapshots heed.
 */
extern uint64 gpucol_early_fold(Relation table, double least);

/* The rows that bitmaps have, of which indexes may have entries. */
extern GpucolDeadRows *gpucol_early_fold_collect(GpucolDirectory *dir);

#endif							/* GPUCOL_COLUMNAR_EARLY_FOLD_H */
