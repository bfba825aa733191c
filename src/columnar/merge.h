/*-------------------------------------------------------------------------
 *
 * merge.h
 *	  Settled delta rows become segments.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_MERGE_H
#define GPUCOL_COLUMNAR_MERGE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "utils/rel.h"

/* What a merge keeps to. */
typedef struct GpucolMergePace
{
	int64		most;			/* rows that it moves at most */
	TransactionId before;		/* rows that this transaction or a later one wrote stay; invalid =
								 * none do */
	bool		(*step) (Relation table, int64 moved);	/* called before each row: false ends the
														 * merge here; may raise an error */
} GpucolMergePace;

/* Was a row of the delta written before a transaction began? */
static inline bool
gpucol_merge_is_older(HeapTupleHeader row, TransactionId before)
{
	return HeapTupleHeaderXminFrozen(row) ||
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(row), before);
}

/* Has somebody come to a row that this transaction has moved? */
extern bool gpucol_merge_has_waiters(void);

/*
 * Move rows of the delta of a table that is locked (ShareUpdateExclusiveLock, kept), as its
 * owner; returns how many.  An error if the
 * table's rows must stay in the delta.
 */
extern int64 gpucol_merge_rows(Relation table, const GpucolMergePace *pace);

#endif							/* GPUCOL_COLUMNAR_MERGE_H */
