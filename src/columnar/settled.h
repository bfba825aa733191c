/*-------------------------------------------------------------------------
 *
 * settled.h
 *	  Is what a snapshot sees of a tuple what every later one sees?
 *
 * As long as the tuple's page keeps its LSN, no tuple on it comes, goes or is touched:
 * every change of a heap page is logged, hint bits apart.  Then later snapshots see
 * the same of a tuple if the transactions that wrote or deleted it had ended
 * before the snapshot's oldest running one began.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SETTLED_H
#define GPUCOL_COLUMNAR_SETTLED_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * Is what a snapshot sees of a tuple a matter of the tuple's header alone?  Serializable
 * transactions note what they look at, and snapshots that may expire (old_snapshot_threshold)
 * are to be compared with the page.
 */
extern bool gpucol_settled_by_header(Snapshot snapshot);

/*
 * May what a snapshot sees of a relation be kept for later ones at all?  Serializable
 * transactions must look for themselves, for their predicate locks; relations that
 * are not WAL-logged have no LSNs to go by.  Where snapshots may expire (old_snapshot_threshold)
 * nothing is kept: who comes to a page with one must see that it has changed.
 */
extern bool gpucol_settled_possible(Relation rel, Snapshot snapshot);

/*
 * Where the WAL ends.  What was found on pages after one call holds as long as later
 * calls give the same: nothing that a snapshot may see has been logged since.
 * InvalidXLogRecPtr on a standby, where that is not known.
 */
extern XLogRecPtr gpucol_settled_wal_end(void);

/* Had a transaction ended before a snapshot's oldest running one?  Note it. */
static inline bool
gpucol_settled_xid(TransactionId xid, TransactionId xmin, TransactionId *newest)
{
	if (!TransactionIdIsNormal(xid) || xid == *newest)
		return true;
	if (!TransactionIdPrecedes(xid, xmin))
		return false;
	if (TransactionIdPrecedes(*newest, xid))
		*newest = xid;
	return true;
}

/*
 * Had whoever wrote or deleted a tuple ended before `xmin`, a snapshot's oldest running
 * transaction?  *newest, InvalidTransactionId at first, is raised to the newest of
 * them: what is seen holds for snapshots whose xmin is later.
 */
static inline bool
gpucol_settled_tuple(HeapTupleHeader tuple, TransactionId xmin, TransactionId *newest)
{
	if (!HeapTupleHeaderXminFrozen(tuple) &&
		!gpucol_settled_xid(HeapTupleHeaderGetRawXmin(tuple), xmin, newest))
		return false;
	if (tuple->t_infomask & HEAP_XMAX_INVALID)
		return true;
	return !(tuple->t_infomask & HEAP_XMAX_IS_MULTI) &&
		gpucol_settled_xid(HeapTupleHeaderGetRawXmax(tuple), xmin, newest);
}

/*
 * Does every snapshot of this `xmin` see a tuple, by what its header says?  Where it does
 * not say so the tuple may be visible as well.
 */
static inline bool
gpucol_settled_is_seen(HeapTupleHeader tuple, TransactionId xmin)
{
	const uint16 good = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

	return (tuple->t_infomask & good) == good &&
		(HeapTupleHeaderXminFrozen(tuple) ||
		 TransactionIdPrecedes(HeapTupleHeaderGetRawXmin(tuple), xmin));
}

/*
 * Transactions that a snapshot sees as ended though an older one is running for it: none is invalid.  A merge that
 * takes seconds must not have everything read again meanwhile.
 */
typedef struct GpucolRecentXids
{
	TransactionId oldest;
	TransactionId newest;
} GpucolRecentXids;

/* Widen a range by another. */
static inline void
gpucol_settled_widen(GpucolRecentXids *recent, GpucolRecentXids other)
{
	if (!TransactionIdIsValid(other.oldest))
		return;
	if (!TransactionIdIsValid(recent->oldest) || TransactionIdPrecedes(other.oldest, recent->oldest))
		recent->oldest = other.oldest;
	if (!TransactionIdIsValid(recent->newest) || TransactionIdPrecedes(recent->newest, other.newest))
		recent->newest = other.newest;
}

/*
 * As gpucol_settled_tuple, or else have those committed, as the tuple says, before the snapshot was taken?
 * Then they are noted, too: what is seen holds for snapshots that gpucol_settled_sees.
 */
extern bool gpucol_settled_or_committed(HeapTupleHeader tuple, Snapshot snapshot, TransactionId *newest,
										GpucolRecentXids *recent);

/* Had all transactions of a range ended for an MVCC snapshot? */
extern bool gpucol_settled_sees(Snapshot snapshot, GpucolRecentXids recent);

#endif							/* GPUCOL_COLUMNAR_SETTLED_H */
