/*-------------------------------------------------------------------------
 *
 * versions.h
 *	  Row locks of the versions in the delta that a segment row has been updated to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VERSIONS_H
#define GPUCOL_COLUMNAR_VERSIONS_H

#include "postgres.h"

#include "access/multixact.h"
#include "access/tableam.h"

/*
 * This transaction has updated a segment row to `tid` and kept its key: of those who
 * had locked the row, lock the new version for the others who still run (all of them
 * FOR KEY SHARE).
 */
extern void gpucol_versions_pass_on(Relation table, ItemPointer tid,
									const MultiXactMember *holders, int nholders);

/*
 * Lock FOR KEY SHARE the versions of a segment row from `tid` on, which `creator`,
 * another transaction, has inserted.  Returns TM_Ok; TM_BeingModified where one of them
 * is losing its key, then *blocker is whom to wait for before this is tried again;
 * TM_Updated or TM_Deleted where one has lost it.  The function for a creator that has
 * committed may wait itself, and leaves in *tid the version that it came to.
 */
extern TM_Result gpucol_versions_lock_new(Relation table, ItemPointerData tid,
										  TransactionId creator,
										  TransactionId *blocker);
extern TM_Result gpucol_versions_lock_committed(Relation table, ItemPointer tid,
												TransactionId *creator, CommandId cid,
												TransactionId *blocker,
												TM_FailureData *failure);

/*
 * A row lock has come upon a row that was updated, as tmfd says: find its latest version.
 * TM_Ok with its place in *tid, which is still to be locked; TM_Deleted, TM_WouldBlock;
 * TM_SelfModified, and tmfd, where this command or a later one has made it.
 */
extern TM_Result gpucol_versions_find_latest(Relation table, ItemPointer tid, CommandId cid,
											 LockWaitPolicy policy, TM_FailureData *tmfd);

/* Have heap lock a delta row. */
extern TM_Result gpucol_versions_lock_delta(Relation table, ItemPointer tid,
											Snapshot snapshot, TupleTableSlot *slot,
											CommandId cid, LockTupleMode mode,
											LockWaitPolicy policy, uint8 flags,
											TM_FailureData *tmfd);

/*
 * Wait for a transaction that keeps this one from a row; false if the policy is not to
 * (LockWaitError raises instead).
 */
extern bool gpucol_versions_wait(Relation table, ItemPointer tid, TransactionId xid,
								 LockWaitPolicy policy, XLTW_Oper oper);

/* Raise the error of LockWaitError. */
extern void gpucol_versions_not_available(Relation table);

#endif							/* GPUCOL_COLUMNAR_VERSIONS_H */
