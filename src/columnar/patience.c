/*-------------------------------------------------------------------------
 *
 * patience.c
 *	  Waiting for a table's lock with a snapshot, as long as nobody waits for us.
 *
 * gpucol.merge is a function: the statement that calls it has a snapshot already when it comes to
 * the table.  CREATE INDEX CONCURRENTLY, which has the table then, waits for all transactions
 * with older snapshots.  Each would wait for the other, and PostgreSQL would end one of them,
 * which leaves an invalid index if it is the index's.  VACUUM has no such trouble: it waits without
 * a snapshot.
 *
 * A deadlock has somebody who waits for us.  So the lock is waited for in slices, too short for
 * PostgreSQL's look for deadlocks (deadlock_timeout), and between two of them we look whether anybody does.
 * A lock that is not had in time is an error, which a subtransaction undoes.
 *
 * Who waits so cancels no autovacuum of the table, as PostgreSQL does that together with its look.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "columnar/patience.h"

#define LONGEST_SLICE	50		/* ms */

/* Does any other backend wait for a lock that this one has? */
static bool
is_waited_for(void)
{
	LockData   *data = GetLockStatusData();
	bool		found = false;

	for (int i = 0; i < data->nelements && !found; i++)
	{
		if (data->locks[i].waitLockMode == NoLock || data->locks[i].pid == MyProcPid)
			continue;
		for (int j = 0; j < data->nelements && !found; j++)
			found = data->locks[j].pid == MyProcPid && data->locks[j].holdMask != 0 &&
				memcmp(&data->locks[i].locktag, &data->locks[j].locktag, sizeof(LOCKTAG)) == 0;
	}
	pfree(data->locks);
	pfree(data);
	return found;
}

/* Forget the error that ended a slice, or raise it if it is another than that time is over. */
static void
end_slice(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
}

/* Wait for the lock, but not longer than a slice. */
static bool
wait_slice(Oid relid, LOCKMODE lock, int slice)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			timeout = LockTimeout;
	volatile bool locked = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		LockTimeout = slice;
		LockRelationOid(relid, lock);
		LockTimeout = timeout;
		ReleaseCurrentSubTransaction();
		locked = true;
	}
	PG_CATCH();
	{
		LockTimeout = timeout;
		end_slice(context);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return locked;
}

bool
gpucol_patience_lock(Oid relid, LOCKMODE lock)
{
	TimestampTz start = GetCurrentTimestamp();
	int			slice = Max(1, Min(LONGEST_SLICE, DeadlockTimeout / 2));

	if (ConditionalLockRelationOid(relid, lock))
		return true;
	while (!is_waited_for())
	{
		CHECK_FOR_INTERRUPTS();
		if (wait_slice(relid, lock, slice))
			return true;
		if (LockTimeout > 0 && TimestampDifferenceExceeds(start, GetCurrentTimestamp(), LockTimeout))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("canceling statement due to lock timeout")));
	}
	return false;
}
