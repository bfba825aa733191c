/*-------------------------------------------------------------------------
 *
 * rights.h
 *	  Tables that SQL functions are called with: rights, then locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_RIGHTS_H
#define GPUCOL_COLUMNAR_RIGHTS_H

#include "postgres.h"

#include "storage/lockdefs.h"
#include "utils/rel.h"

/* What a caller must be allowed to do with a table. */
typedef enum GpucolRight
{
	GPUCOL_RIGHT_NONE,			/* the right to call the function is enough */
	GPUCOL_RIGHT_SELECT,
	GPUCOL_RIGHT_ALL_ROWS,		/* SELECT, and no policy hides rows from them */
	GPUCOL_RIGHT_OWNER
} GpucolRight;

/* What came of an attempt to open one. */
typedef enum GpucolOpened
{
	GPUCOL_OPENED_TABLE,
	GPUCOL_OPENED_NONE,			/* it is gone */
	GPUCOL_OPENED_WAITED_FOR	/* not locked: somebody waits for us */
} GpucolOpened;

/*
 * Open a gpucol table under a lock.  An error, raised before there is any lock, where
 * the caller lacks the right, or it is something else, or another session's temporary
 * table.  What was true before the lock is checked again behind it.
 */
extern Relation gpucol_rights_open(Oid relid, GpucolRight right, LOCKMODE lock);

/*
 * The same of a table that may be gone, waiting for the lock as long as nobody waits for this
 * backend (columnar/patience.h).
 */
extern GpucolOpened gpucol_rights_open_patiently(Oid relid, GpucolRight right, LOCKMODE lock,
												 Relation *table);

/*
 * The gpucol tables (OIDs) of a relation, locked: itself, or of a partitioned table, a right to which is one
 * to its partitions, those that are such.
 */
extern List *gpucol_rights_lock_tables(Oid relid, GpucolRight right, LOCKMODE lock);

/* Raise the error where the caller lacks the right to any relation; takes no lock. */
extern void gpucol_rights_check(Oid relid, GpucolRight right);

/* Is there a gpucol table of this OID?  Takes no lock. */
extern bool gpucol_rights_is_table(Oid relid);

#endif							/* GPUCOL_COLUMNAR_RIGHTS_H */
