/*-------------------------------------------------------------------------
 *
 * settled.c
 *	  Is what a snapshot sees of a tuple what every later one sees?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"

#include "columnar/settled.h"
#include "compat.h"

bool
gpucol_settled_possible(Relation rel, Snapshot snapshot)
{
	return snapshot->snapshot_type == SNAPSHOT_MVCC && !IsolationIsSerializable() &&
		RelationNeedsWAL(rel) && !gpucol_compat_snapshots_expire();
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

/* Had a transaction ended before the snapshot's oldest running one?  Note it. */
static bool
settled_xid(TransactionId xid, TransactionId xmin, TransactionId *newest)
{
	if (!TransactionIdIsNormal(xid))
		return true;
	if (!TransactionIdPrecedes(xid, xmin))
		return false;
	if (TransactionIdPrecedes(*newest, xid))
		*newest = xid;
	return true;
}

bool
gpucol_settled_tuple(HeapTupleHeader tuple, TransactionId xmin, TransactionId *newest)
{
	if (!HeapTupleHeaderXminFrozen(tuple) &&
		!settled_xid(HeapTupleHeaderGetRawXmin(tuple), xmin, newest))
		return false;
	if (tuple->t_infomask & HEAP_XMAX_INVALID)
		return true;
	return !(tuple->t_infomask & HEAP_XMAX_IS_MULTI) &&
		settled_xid(HeapTupleHeaderGetRawXmax(tuple), xmin, newest);
}
