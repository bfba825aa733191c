/*-------------------------------------------------------------------------
 *
 * patience.h
 *	  Waiting for a table's lock with a snapshot, as long as nobody waits for us.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_PATIENCE_H
#define GPUCOL_COLUMNAR_PATIENCE_H

#include "postgres.h"

#include "storage/lockdefs.h"

/*
 * Lock a table, or return false, without the lock, when anybody waits for a lock of this
 * backend meanwhile.
 */
extern bool gpucol_patience_lock(Oid relid, LOCKMODE lock);

#endif							/* GPUCOL_COLUMNAR_PATIENCE_H */
