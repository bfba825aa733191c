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

#include "access/multixact.h"
#include "nodes/lockoptions.h"

#include "columnar/directory.h"

/* Rows with numbers from a multiple of this on share a latch. */
#define GPUCOL_LATCH_ROWS	1024

/*
 * A row's latch, which stands for the lock of a heap row's page: to be held from a look at
 * what has become of the row and who has locked it until it is locked or deleted.
 * Whoever holds it waits for no transaction, and for no other latch.
 */
extern void gpucol_rowlock_latch(GpucolDirectory *dir, ItemPointer tid);
extern void gpucol_rowlock_unlatch(GpucolDirectory *dir, ItemPointer tid);

/*
 * Who has locked a latched row, whether or not they still run; returns their number.
 * They are allocated unless there are none (then NULL).
 */
extern int	gpucol_rowlock_holders(GpucolDirectory *dir, ItemPointer tid,
								   MultiXactMember **holders);

/* The same of a tuple's header: who has locked, updated or deleted it. */
extern int	gpucol_rowlock_xmax(const HeapTupleHeaderData *header,
								MultiXactMember **members);

/*
 * Lock a latched row, of which nobody has a lock that keeps this transaction from it.
 * Returns InvalidTransactionId, or a transaction to wait for without the latch before
 * it is tried again: a VACUUM that is taking the row's record away.
 */
extern TransactionId gpucol_rowlock_take(GpucolDirectory *dir, ItemPointer tid,
										 LockTupleMode mode);

/* Are there lock records at all? */
extern bool gpucol_rowlock_any(GpucolDirectory *dir);

/* Delete the lock records that nobody uses, as part of this transaction. */
extern void gpucol_rowlock_clean(GpucolDirectory *dir);

#endif							/* GPUCOL_COLUMNAR_ROWLOCK_H */
