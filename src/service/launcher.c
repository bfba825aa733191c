/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The background worker that has tables merged automatically.
 *
 * Once in gpucol.automerge_naptime it starts a worker in each database, one after the other
 * or as many at a time as gpucol.automerge_max_workers says (columnar/automerge.c), and
 * waits until they have ended.  A worker without anything to do ends at once.
 *
 * It is started by the postmaster where the library is preloaded, on a standby when that is
 * promoted.  It knows no database itself, so it is in nobody's way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "service/launcher.h"
#include "compat.h"

#define RESTART_S	10			/* after an error */
#define LOOK_MS		1000		/* between looks at workers, which also wake us */

/* Workers that are at work; NULL = a free place. */
static BackgroundWorkerHandle *workers[GPUCOL_AUTOMERGE_WORKERS];

/* What launcher and workers have in common. */
static void
describe(BackgroundWorker *worker, const char *function, const char *name)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	strlcpy(worker->bgw_library_name, "gpucol", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	strlcpy(worker->bgw_name, name, BGW_MAXLEN);
	strlcpy(worker->bgw_type, name, BGW_MAXLEN);
}

void
gpucol_launcher_init(void)
{
	BackgroundWorker worker;

	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;
	describe(&worker, "gpucol_launcher_main", "gpucol automerge launcher");
	worker.bgw_restart_time = RESTART_S;
	RegisterBackgroundWorker(&worker);
}

/* Wait for a signal, the end of a worker, or so long. */
static void
rest(long ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/* Workers that are at work. */
static int
count_workers(void)
{
	int			n = 0;

	for (int i = 0; i < GPUCOL_AUTOMERGE_WORKERS; i++)
	{
		pid_t		pid;

		if (workers[i] == NULL)
			continue;
		if (GetBackgroundWorkerPid(workers[i], &pid) == BGWH_STOPPED)
		{
			pfree(workers[i]);
			workers[i] = NULL;
		}
		else
			n++;
	}
	return n;
}

/* Start a worker in a database; false if the server has no place for one. */
static bool
start_worker(Oid database, TransactionId before)
{
	BackgroundWorker worker;
	int			place = 0;

	while (workers[place] != NULL)
		place++;
	describe(&worker, "gpucol_automerge_main", "gpucol automerge worker");
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	memcpy(worker.bgw_extra, &before, sizeof(before));
	return RegisterDynamicBackgroundWorker(&worker, &workers[place]);
}

/* Databases that can be connected to, in this memory context. */
static List *
list_databases(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *databases = NIL;
	Relation	catalog;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	catalog = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(catalog, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);
		MemoryContext old;

		/* -2: a DROP DATABASE that did not come to its end */
		if (!database->datallowconn || database->datconnlimit == -2)
			continue;
		old = MemoryContextSwitchTo(context);
		databases = lappend_oid(databases, database->oid);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(catalog, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return databases;
}

/* Have all databases looked at, and wait until they are. */
static void
visit_databases(TransactionId before)
{
	List	   *databases = list_databases();
	ListCell   *lc;

	foreach(lc, databases)
	{
		while (count_workers() >= gpucol_automerge_max_workers)
			rest(LOOK_MS);
		if (!gpucol_automerge)
			break;
		if (!start_worker(lfirst_oid(lc), before))
		{
			ereport(LOG,
					(errmsg("no background worker slot is free for automatic merges"),
					 errhint("Raise max_worker_processes.")));
			break;
		}
	}
	while (count_workers() > 0)
		rest(LOOK_MS);
	list_free(databases);
}

/* Sleep until the next look is due, however often something wakes us. */
static void
nap(void)
{
	TimestampTz start = GetCurrentTimestamp();
	long		left = gpucol_automerge_naptime * 1000L;

	while (left > 0)
	{
		rest(left);
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
											   start + gpucol_automerge_naptime * USECS_PER_SEC);
	}
}

/*
 * Main function of the launcher.
 */
void
gpucol_launcher_main(Datum arg pg_attribute_unused())
{
	TransactionId before;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	before = ReadNextTransactionId();
	for (;;)
	{
		TransactionId now;

		nap();
		now = ReadNextTransactionId();
		if (gpucol_automerge)
			visit_databases(before);
		before = now;
	}
}
