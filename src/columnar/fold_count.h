/*-------------------------------------------------------------------------
 *
 * fold_count.h
 *	  The directory row that says when bitmaps changed last, and of how many rows indexes may
 *	  still have entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FOLD_COUNT_H
#define GPUCOL_COLUMNAR_FOLD_COUNT_H

#include "postgres.h"

#include "utils/snapshot.h"

#include "columnar/directory.h"

/*
 * This transaction is about to change bitmaps, and to fold so many rows before indexes are cleaned
 * of them, the last of which the newest transaction has deleted.
 */
extern void gpucol_fold_count_begin(GpucolDirectory *dir, uint64 early, TransactionId newest);

/*
 * How many rows have been folded since the indexes were last cleaned of such, or more?  Who sees what the newest
 * transaction did sees none of them.
 */
extern uint64 gpucol_fold_count_early(GpucolDirectory *dir, TransactionId *newest);

/*
 * Forget the newest of those transactions if every snapshot sees what it did, standbys' too: the TOAST relation has
 * since been frozen beyond it.
 */
extern void gpucol_fold_count_freeze(GpucolDirectory *dir);

/* The later of two transactions, each of which may be invalid. */
extern TransactionId gpucol_fold_count_later(TransactionId a, TransactionId b);

/* Indexes have no entries of those rows any more. */
extern void gpucol_fold_count_clean(GpucolDirectory *dir);

/*
 * Which bitmaps a snapshot sees: those that every snapshot sees for which this gives the same.  Generation 0
 * where that is not known: nothing was folded, or the last to do so may be running still for the snapshot.
 */
extern GpucolFoldState gpucol_fold_count_state(GpucolDirectory *dir, Snapshot snapshot);

#endif							/* GPUCOL_COLUMNAR_FOLD_COUNT_H */
