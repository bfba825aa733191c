/*-------------------------------------------------------------------------
 *
 * modify.h
 *	  DELETE, UPDATE and row locks: callbacks of the table access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_MODIFY_H
#define GPUCOL_COLUMNAR_MODIFY_H

#include "postgres.h"

#include "access/tableam.h"

#include "compat.h"

/* The routine's callbacks, as documented in access/tableam.h. */
extern TM_Result gpucol_modify_delete(Relation rel, ItemPointer tid, CommandId cid,
									  Snapshot snapshot, Snapshot crosscheck,
									  bool wait, TM_FailureData *tmfd,
									  bool changing_partition);
extern TM_Result gpucol_modify_update(Relation rel, ItemPointer otid,
									  TupleTableSlot *slot, CommandId cid,
									  Snapshot snapshot, Snapshot crosscheck,
									  bool wait, TM_FailureData *tmfd,
									  LockTupleMode *lockmode,
									  GpucolCompatUpdateIndexes *update_indexes);
extern TM_Result gpucol_modify_lock(Relation rel, ItemPointer tid, Snapshot snapshot,
									TupleTableSlot *slot, CommandId cid,
									LockTupleMode mode, LockWaitPolicy wait_policy,
									uint8 flags, TM_FailureData *tmfd);

#endif							/* GPUCOL_COLUMNAR_MODIFY_H */
