/*-------------------------------------------------------------------------
 *
 * rowlock.h
 *	  Row locks of segment rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ROWLOCK_H
#define GPUCOL_COLUMNAR_ROWLOCK_H

#include "postgres.h"

#include "nodes/lockoptions.h"

#include "columnar/directory.h"

/*
 * Take the row lock of a segment row for this transaction; false if it would have
 * to wait and may not (LockWaitError raises instead).  Without `make` the caller
 * holds the heavyweight lock of the virtual TID exclusively, so that nobody can
 * lock the row for the first time meanwhile, and needs no lock of its own where
 * there is none: nothing is written then.  *locked says whether the row has a lock
 * record; where it has none, nobody's locks need to be passed on either.
 */
extern bool gpucol_rowlock_take(GpucolDirectory *dir, ItemPointer tid,
								LockTupleMode mode, LockWaitPolicy policy, bool make,
								bool *locked);

/*
 * The row has been updated to `new_tid` by this transaction, without a change of
 * its key: pass the locks of others (all FOR KEY SHARE) on to the new version.
 */
extern void gpucol_rowlock_pass_on(GpucolDirectory *dir, ItemPointer tid,
								   ItemPointer new_tid);

/*
 * Lock a new version in the delta, which transaction `creator` is inserting, FOR
 * KEY SHARE on behalf of this transaction.  False if it has been changed or locked
 * again, so that this transaction has to wait for the creator.
 */
extern bool gpucol_rowlock_new_version(Relation table, ItemPointer tid,
									   TransactionId creator);

/* Raise the error of LockWaitError. */
extern void gpucol_rowlock_not_available(Relation table);

/* Are there lock records at all? */
extern bool gpucol_rowlock_any(GpucolDirectory *dir);

/* Delete the lock records that nobody uses, as part of this transaction. */
extern void gpucol_rowlock_clean(GpucolDirectory *dir);

#endif							/* GPUCOL_COLUMNAR_ROWLOCK_H */
