/*-------------------------------------------------------------------------
 *
 * settled.c
 *	  Is what a snapshot sees of a tuple what every later one sees?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"

#include "columnar/settled.h"
#include "compat.h"

bool
gpucol_settled_by_header(Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_MVCC && !IsolationIsSerializable() &&
		!gpucol_compat_snapshots_expire();
}

bool
gpucol_settled_possible(Relation rel, Snapshot snapshot)
{
	return gpucol_settled_by_header(snapshot) && RelationNeedsWAL(rel);
}

/*
 * Whoever changes a page logs that before the change can be visible: a transaction's
 * commit is logged later still.
 */
XLogRecPtr
gpucol_settled_wal_end(void)
{
	return RecoveryInProgress() ? InvalidXLogRecPtr : GetXLogInsertRecPtr();
}
