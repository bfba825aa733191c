/*-------------------------------------------------------------------------
 *
 * compact.h
 *	  Small and much-deleted segments become fewer, beside readers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_COMPACT_H
#define GPUCOL_COLUMNAR_COMPACT_H

#include "postgres.h"

#include "utils/rel.h"

#include "columnar/view.h"

/* What whoever packs segments keeps to. */
typedef struct GpucolCompactPace
{
	int64		most;			/* rows that are written at most */
	bool		gradually;		/* small segments only with those of about their size */
	void		(*step) (Relation table);	/* called before each row; an error gives way */
	void		(*exclude) (Relation table);	/* take ExclusiveLock of the table, or raise an
												 * error; NULL = it is taken already */
} GpucolCompactPace;

/*
 * Is there anything to be packed of what a view of a table sees, gradually or not, and may it be?  What a table's
 * owner has said of automatic merges holds here, too.
 */
extern bool gpucol_compact_is_due(const GpucolView *view, bool gradually);

/*
 * Pack segments of a table that is locked (ShareUpdateExclusiveLock), as its owner and as part of
 * this transaction, which must be one that snapshots heed; returns how many segments were
 * there, 0 = nothing was to be done.  Ends with ExclusiveLock, which must last until the commit.
 */
extern uint32 gpucol_compact_segments(Relation table, const GpucolCompactPace *pace);

#endif							/* GPUCOL_COLUMNAR_COMPACT_H */
