/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  Fetching single rows by TID, for indexes, triggers and row locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FETCH_H
#define GPUCOL_COLUMNAR_FETCH_H

#include "postgres.h"

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "utils/snapshot.h"

#include "columnar/directory.h"

/*
 * Is the segment row visible to the snapshot?  A dirty snapshot learns of the
 * transactions that are inserting or deleting it, as heap's rows tell it.
 */
extern bool gpucol_fetch_visible(Relation table, uint64 row_number, Snapshot snapshot);

/* Tell the owner of a dirty snapshot of no transaction. */
extern void gpucol_fetch_clear_dirty(Snapshot snapshot);

/*
 * Fetch a segment row into a slot if the snapshot sees it (SnapshotAny: if it
 * exists, deleted or not).
 */
extern bool gpucol_fetch_row(Relation table, uint64 row_number, Snapshot snapshot,
							 TupleTableSlot *slot);

/*
 * The latter, through a directory that is open.  `locked`: this transaction has a lock of
 * the row.
 */
extern bool gpucol_fetch_any(GpucolDirectory *dir, uint64 row_number, bool locked,
							 TupleTableSlot *slot);

/* Put a row that this statement has claimed to lock it (burials.h) into a slot. */
extern void gpucol_fetch_claimed(Relation table, uint64 row_number, TupleTableSlot *slot);

/*
 * Is this the row that an MVCC snapshot saw last, under the horizon of the active
 * one?  Then its deletion, if there is one, has not been folded into a bitmap.
 */
extern bool gpucol_fetch_is_last_seen(Relation table, uint64 row_number);

/* This transaction's command `cid` has inserted the row's tombstone. */
extern void gpucol_fetch_note_buried(Relation table, uint64 row_number,
									 CommandId cid);

/* Segment rows that a scan fetches by probes before it looks for a view that the session has kept, */
#define GPUCOL_PROBED_FETCHES	4

/*
 * and before it reads one of its own: as many as the directory has pages, but not more than some.  A key that is
 * updated and packed again and again has many entries, and then the directory changes all the time.
 */
extern int	gpucol_fetch_count_probes(Relation rel);

/* The routine's callbacks, as documented in access/tableam.h. */
extern IndexFetchTableData *gpucol_index_fetch_begin(Relation rel);
extern void gpucol_index_fetch_reset(IndexFetchTableData *data);
extern void gpucol_index_fetch_end(IndexFetchTableData *data);
extern bool gpucol_index_fetch_tuple(IndexFetchTableData *data, ItemPointer tid,
									 Snapshot snapshot, TupleTableSlot *slot,
									 bool *call_again, bool *all_dead);
extern bool gpucol_fetch_row_version(Relation rel, ItemPointer tid,
									 Snapshot snapshot, TupleTableSlot *slot);
extern bool gpucol_fetch_tid_valid(TableScanDesc scan, ItemPointer tid);
extern void gpucol_fetch_latest_tid(TableScanDesc scan, ItemPointer tid);
extern bool gpucol_fetch_satisfies_snapshot(Relation rel, TupleTableSlot *slot,
											Snapshot snapshot);

#endif							/* GPUCOL_COLUMNAR_FETCH_H */
