/*-------------------------------------------------------------------------
 *
 * burials.h
 *	  Tombstones that a statement writes together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_BURIALS_H
#define GPUCOL_COLUMNAR_BURIALS_H

#include "postgres.h"

#include "nodes/lockoptions.h"
#include "nodes/plannodes.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "columnar/view.h"

/*
 * Let the rows of a plan node that changes a table be buried together: nothing runs between two of its rows but
 * the plan, which calls no function that could wait for another transaction, or begin a subtransaction.
 */
extern void gpucol_burials_allow(ModifyTable *node);

/*
 * Is the statement that runs such a one?  A packed row that it fetches whatever became of it is one that its snapshot
 * sees, or that it has locked or deleted: it stays where it is.
 */
extern bool gpucol_burials_is_steady(void);

/*
 * Claim a packed row for its deletion, or an update that leaves all keys as they are.  True: nobody else has
 * deleted or locked it, and nobody will before its tombstone is in.  False: it is to be done by itself.
 */
extern bool gpucol_burials_claim(Relation table, const ItemPointerData *tid, CommandId cid, bool update);

/*
 * The same for a row that is locked, and will be updated next; what it is locked against is the mode.
 */
extern bool gpucol_burials_claim_lock(Relation table, const ItemPointerData *tid, CommandId cid, LockTupleMode mode);

/* What is known of a packed row without a look into the directory. */
typedef enum GpucolBurialsRow
{
	GPUCOL_BURIALS_UNKNOWN,
	GPUCOL_BURIALS_LIVE,		/* nobody deletes or locks it */
	GPUCOL_BURIALS_DELETED		/* it is claimed, and its new version is in */
} GpucolBurialsRow;

/* What is it, and if it is known, in which segment? */
extern GpucolBurialsRow gpucol_burials_look(Relation table, uint64 row_number, GpucolViewSegment *segment);

/* Have the row that was claimed last a tombstone with the place of its new version, or its own, and flags. */
extern void gpucol_burials_add(const ItemPointerData *new_tid, uint16 flags);

/* Write the tombstones of all claimed rows, and let others at the rows around them. */
extern void gpucol_burials_write(void);

/*
 * Do not have them written for a look into the directory, to which it is the same whether they are; returns what was so
 * before.
 */
extern bool gpucol_burials_hold(bool hold);

/* ... if they are those of a table. */
extern void gpucol_burials_write_for(Relation table);

/*
 * Have them written if a check of uniqueness has met a row for whose transaction it is going to wait, as its
 * dirty snapshot says: nobody is to wait for this one then.
 */
extern void gpucol_burials_write_before_wait(Snapshot snapshot);

/* Install the executor's hook; called once. */
extern void gpucol_burials_init(void);

#endif							/* GPUCOL_COLUMNAR_BURIALS_H */
