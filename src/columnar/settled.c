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

/* One of a tuple's transactions, which has committed if the tuple says so. */
static bool
is_ended(TransactionId xid, bool committed, Snapshot snapshot, TransactionId *newest, GpucolRecentXids *recent)
{
	if (gpucol_settled_xid(xid, snapshot->xmin, newest))
		return true;
	if (!committed || XidInMVCCSnapshot(xid, snapshot))
		return false;
	gpucol_settled_widen(recent, (GpucolRecentXids) {xid, xid});
	return true;
}

bool
gpucol_settled_or_committed(HeapTupleHeader tuple, Snapshot snapshot, TransactionId *newest, GpucolRecentXids *recent)
{
	const uint16 infomask = tuple->t_infomask;

	if (!HeapTupleHeaderXminFrozen(tuple) &&
		!is_ended(HeapTupleHeaderGetRawXmin(tuple), (infomask & HEAP_XMIN_COMMITTED) != 0, snapshot, newest, recent))
		return false;
	if (infomask & HEAP_XMAX_INVALID)
		return true;
	return !(infomask & HEAP_XMAX_IS_MULTI) &&
		is_ended(HeapTupleHeaderGetRawXmax(tuple), (infomask & HEAP_XMAX_COMMITTED) != 0, snapshot, newest, recent);
}

/* Is one of some transactions in a range? */
static bool
any_within(const TransactionId *xids, uint32 n, GpucolRecentXids range)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (!TransactionIdPrecedes(xids[i], range.oldest) && !TransactionIdFollows(xids[i], range.newest))
			return true;
	}
	return false;
}

bool
gpucol_settled_sees(Snapshot snapshot, GpucolRecentXids recent)
{
	if (!TransactionIdIsValid(recent.oldest) || TransactionIdPrecedes(recent.newest, snapshot->xmin))
		return true;
	/* of some subtransactions an overflowed snapshot does not tell */
	return TransactionIdPrecedes(recent.newest, snapshot->xmax) && !snapshot->suboverflowed &&
		!any_within(snapshot->xip, snapshot->xcnt, recent) &&
		!any_within(snapshot->subxip, (uint32) Max(snapshot->subxcnt, 0), recent);
}
