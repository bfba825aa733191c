/*-------------------------------------------------------------------------
 *
 * automerge.c
 *	  A worker that merges those tables of one database whose delta has grown, folds their tombstones,
 *	  and packs small and much-deleted segments together.
 *
 * The launcher (service/launcher.c) starts one in a database at each nap, and waits for it.
 * It looks at each table in turn (how many rows of the delta would be moved, on a sample
 * of its pages), merges it in transactions of its own, and ends, so that nobody waits
 * for a database.
 *
 * Tombstones are folded when there are as many as rows of the delta that have a table merged
 * (early_fold.h), for which no writer waits.  What that leaves of them on the pages and in the index of the
 * directory each scan would still go through, so the TOAST relation is vacuumed at once.
 *
 * Who is in the way of others.  A merge that a user asks for makes writers who come to a row
 * wait for all of it.  One that nobody asked for must not:
 *
 * - Rows that were written since the last nap are left alone, so rows that change
 *	 all the time are never moved.
 * - It gives way, with all that it has done undone, when anybody waits for its lock of the
 *	 table, for its transaction (a writer who has come to a row), or for the
 *	 database.
 * - Before it commits it takes a lock that excludes writers, within a moment or not at all.  So no
 *	 statement that has seen a row in the delta changes it behind the commit: who gets the
 *	 lock then takes its snapshot afterwards.
 * - A table that others are writing to is merged in small batches, with that lock from the
 *	 beginning: for some rows at a time, writers wait for a moment each.  Segments are packed together
 *	 beside writers, fewer where these come to their rows before the end.
 * - Where a transaction that has written to the table stays open, nothing is begun.
 *
 * What remains is a transaction whose snapshot is older than that (REPEATABLE READ,
 * SERIALIZABLE).
 *
 * Functions that do not end.  Indexes call what a table's owner likes.  The worker is the only one
 * of its database, and the launcher waits for it.  So after gpucol.automerge_timeout it commits
 * what it has merged of a table and turns to the next.  If it gets no row until that time
 * has passed once more, a timer cancels the merge, and ends the worker where a function has caught
 * that.  The owners of tables have their turns in random order, and a worker ends after some of
 * these times.  So tables of everybody are merged some time, however many one owner has.
 *
 * Cost.  PostgreSQL counts the cost of pages where a VACUUM would; between rows the worker
 * sleeps when the limit is spent.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/defrem.h"
#include "commands/vacuum.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"

#include "columnar/am.h"
#include "columnar/automerge.h"
#include "columnar/compact.h"
#include "columnar/delta_count.h"
#include "columnar/delta_pages.h"
#include "columnar/delta_space.h"
#include "columnar/early_fold.h"
#include "columnar/merge.h"
#include "columnar/merge_options.h"
#include "columnar/space.h"
#include "columnar/view.h"
#include "columnar/writer.h"
#include "compat.h"
#include "guc.h"

#define SAMPLED_PAGES	256		/* that are read to count the delta's rows */
#define STEP_ROWS		64		/* between looks at who waits, */
#define STEP_MS			50		/* and how long it takes at most */
#define WORKER_TIMES	10		/* gpucol.automerge_timeout until the worker ends */
#define LOCK_MS			50		/* for the lock that excludes writers */
#define EXCLUSIVE_MS	50		/* for a batch with that lock, */
#define BATCHES			8		/* of which there are so many a visit, */
#define PAUSE_MS		200		/* so far from each other */
#define FEW_ROWS		10000	/* of segments that are packed together, at least, where others come to them, */
#define FEWER			4		/* and by how much they are fewer each time */
#define WRITER_MS		100		/* for a transaction that has written to end */
#define LONGEST_SLEEP	4		/* times the delay */

/* Who writes to a table. */
typedef enum Writers
{
	NO_WRITERS,
	SHORT_WRITERS,				/* transactions that end soon */
	LONG_WRITERS				/* one that does not */
} Writers;

/* A table of the database. */
typedef struct Visit
{
	uint32		turn;			/* of its owner, this time, */
	uint32		place;			/* and of the table among the owner's */
	Oid			relid;
} Visit;

/* What became of an attempt. */
typedef enum Outcome
{
	DONE,						/* nothing more to do, or for now not to be done */
	MORE,						/* a batch is merged */
	GAVE_WAY,
	FAILED						/* with an error that the log has */
} Outcome;

/* What an attempt does; it may end the transaction that it is called in, and begin another. */
typedef Outcome (*Work) (Oid relid);

static TransactionId before;	/* rows of this transaction and of later ones stay */
static bool gives_way;			/* the error that ends the attempt is no error */
static bool exclusive;			/* writers are excluded from the beginning of an attempt, */
static TimestampTz deadline;	/* which ends then */
static int64 packed_most;		/* rows that are packed together by one attempt */
static TimestampTz turn;		/* when the worker turns to the next table */
static TimeoutId timer;			/* for functions that do not end */
static volatile sig_atomic_t rung;	/* how often it went off for this table */

/* ------------------------------------------------------------------------
 * Time
 * ------------------------------------------------------------------------
 */

/* So many times gpucol.automerge_timeout from a point of time on. */
static TimestampTz
after(TimestampTz start, int times)
{
	return start + times * gpucol_automerge_timeout * USECS_PER_SEC;
}

/* Timeout handler: a function may catch the first of these errors, but not the second. */
static void
ring(void)
{
	if (rung++ == 0)
		StatementCancelHandler(SIGINT);
	else
		die(SIGTERM);
}

static void
start_timer(void)
{
	turn = after(GetCurrentTimestamp(), 1);
	rung = 0;
	enable_timeout_every(timer, after(turn, 1), gpucol_automerge_timeout * 1000);
}

static void
stop_timer(void)
{
	disable_timeout(timer, false);
	QueryCancelPending = false;
}

/* ------------------------------------------------------------------------
 * Who waits
 * ------------------------------------------------------------------------
 */

/* Does somebody have the database to drop it, to copy it, or to move it? */
static bool
is_database_wanted(void)
{
	LOCKTAG		tag;
	int			n;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	(void) GetLockConflicts(&tag, RowExclusiveLock, &n);
	return n > 0;
}

/* End the attempt, as if nothing had been done. */
static void
give_way(Relation table)
{
	gives_way = true;
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("automatic merge of table \"%s\" gives way", RelationGetRelationName(table))));
}

static void
look_around(Relation table)
{
	if (LockHasWaitersRelation(table, ShareUpdateExclusiveLock) || gpucol_merge_has_waiters() ||
		is_database_wanted())
		give_way(table);
}

/* Sleep if the cost limit is spent; true if that took a while. */
static bool
pay(void)
{
	int			limit = gpucol_automerge_cost_limit > 0 ? gpucol_automerge_cost_limit :
		VacuumCostLimit;
	double		ms;

	if (gpucol_automerge_cost_delay <= 0 || VacuumCostBalance < limit)
		return false;
	ms = gpucol_automerge_cost_delay * Min((double) VacuumCostBalance / limit, LONGEST_SLEEP);
	VacuumCostBalance = 0;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) Max(ms, 1), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* Before each row: go on? */
static bool
step(Relation table, int64 moved pg_attribute_unused())
{
	static TimestampTz looked = 0;
	static uint32 rows = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (now >= turn || (exclusive && now >= deadline))
		return false;
	if (!exclusive && (pay() || rows++ % STEP_ROWS == 0 || now - looked > STEP_MS * 1000))
	{
		look_around(table);
		looked = now;
	}
	return true;
}

/* ------------------------------------------------------------------------
 * Writers
 * ------------------------------------------------------------------------
 */

/* Transactions that have written to the table, or have locked rows of it; ended by an invalid one. */
static VirtualTransactionId *
list_writers(Relation table, int *n)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(table));
	return GetLockConflicts(&tag, ExclusiveLock, n);
}

/* Who writes to the table now, and still does so after a while? */
static Writers
find_writers(Relation table)
{
	int			nearlier;
	int			nlater;
	VirtualTransactionId *earlier = list_writers(table, &nearlier);
	VirtualTransactionId *later;

	if (nearlier == 0)
		return NO_WRITERS;
	/* GetLockConflicts has one array only */
	earlier = memcpy(palloc(nearlier * sizeof(*earlier)), earlier, nearlier * sizeof(*earlier));
	pg_usleep(WRITER_MS * 1000L);
	later = list_writers(table, &nlater);
	for (int i = 0; i < nearlier; i++)
	{
		for (int j = 0; j < nlater; j++)
		{
			if (VirtualTransactionIdEquals(earlier[i], later[j]))
				return LONG_WRITERS;
		}
	}
	return SHORT_WRITERS;
}

/*
 * Wait until no other transaction has written to the table, and let none begin to.  An error
 * if that takes longer than a moment, or than one that waits for us takes to look
 * for a deadlock.
 */
static void
exclude_writers(Relation table)
{
	int			timeout = LockTimeout;

	LockTimeout = Max(1, Min(LOCK_MS, DeadlockTimeout / 2));
	gives_way = true;
	LockRelationOid(RelationGetRelid(table), ExclusiveLock);
	gives_way = false;
	LockTimeout = timeout;
}

/* ------------------------------------------------------------------------
 * One table
 * ------------------------------------------------------------------------
 */

/* Would a merge move this row? */
static bool
is_wanted(HeapTuple row, Buffer buffer, void *snapshot)
{
	return gpucol_merge_is_older(row->t_data, before) &&
		(row->t_data->t_infomask & HEAP_XMAX_INVALID) != 0 &&
		HeapTupleSatisfiesVisibility(row, snapshot, buffer);
}

/* So many rows that one of the table's thresholds is reached. */
static double
least_rows(const GpucolMergeOptions *options, double rows)
{
	return options->threshold + options->scale_factor * rows;
}

/* Are there so many rows in the delta that the table is merged? */
static bool
is_due(Relation table, const GpucolMergeOptions *options)
{
	GpucolView *view = gpucol_view_open(table, GetActiveSnapshot());
	uint32		nranges;
	GpucolBlockRange *ranges = gpucol_view_delta_ranges(view, RelationGetNumberOfBlocks(table),
														MaxBlockNumber, &nranges);
	double		rows;

	gpucol_delta_pages_skip(view, &ranges, &nranges);
	rows = gpucol_delta_count(table, ranges, nranges, SAMPLED_PAGES, NULL, is_wanted,
							  view->snapshot);
	return rows >= 1 &&
		rows >= least_rows(options, view->rows + rows);
}

/* Is the table, which is locked, to be merged? */
static bool
is_to_be_merged(Relation table)
{
	GpucolMergeOptions options;

	gpucol_merge_options(table, &options);
	return options.enabled && gpucol_writer_allowed(table) && is_due(table, &options);
}

/* Are segments of the table, which is locked, to be packed? */
static bool
is_to_be_compacted(Relation table)
{
	return gpucol_compact_is_due(gpucol_view_open(table, GetActiveSnapshot()), true);
}

/* Exclude short writers from the start, for a while; false where there are long ones. */
static bool
begin_with_writers(Relation table)
{
	Writers		writers = find_writers(table);

	if (writers == LONG_WRITERS)
		return false;
	exclusive |= writers == SHORT_WRITERS;
	if (exclusive)
	{
		exclude_writers(table);
		deadline = GetCurrentTimestamp() + EXCLUSIVE_MS * INT64CONST(1000);
	}
	return true;
}

/* Merge some rows of a table that is locked. */
static Outcome
merge_some(Relation table)
{
	GpucolMergePace pace = {.most = gpucol_segment_rows, .before = before, .step = step};
	int64		moved;

	/* what merges before have left */
	(void) gpucol_delta_space_list(gpucol_view_open(table, GetActiveSnapshot()));
	if (!begin_with_writers(table))
		return DONE;
	moved = gpucol_merge_rows(table, &pace);
	if (moved > 0 && !exclusive)
	{
		look_around(table);
		exclude_writers(table);
	}
	ereport(DEBUG1,
			(errmsg_internal("automatic merge of table \"%s\": " INT64_FORMAT " rows",
							 RelationGetRelationName(table), moved)));
	return moved == pace.most || (moved > 0 && exclusive && GetCurrentTimestamp() >= deadline) ? MORE : DONE;
}

/* Before each row that is packed with others: go on, or not at all? */
static void
step_or_give_way(Relation table)
{
	if (!step(table, 0))
		give_way(table);
}

/* Exclude writers at the end, if nobody waits; rows that were deleted meanwhile are no error. */
static void
exclude_at_end(Relation table)
{
	look_around(table);
	exclude_writers(table);
	gives_way = true;
}

/* Pack some segments of a table that is locked.  That hinders short writers at its end only. */
static Outcome
compact_some(Relation table)
{
	GpucolCompactPace pace = {
		.most = packed_most,
		.gradually = true,
		.step = step_or_give_way,
		.exclude = exclude_at_end
	};
	uint32		packed;

	if (find_writers(table) == LONG_WRITERS)
		return DONE;
	packed = gpucol_compact_segments(table, &pace);
	gives_way = false;
	ereport(DEBUG1,
			(errmsg_internal("automatic packing of table \"%s\": %u segments",
							 RelationGetRelationName(table), packed)));
	return packed > 0 ? MORE : DONE;
}

/* Open a table, if its lock is to be had at once; NULL if not, or it is gone, or another's by now. */
static Relation
open_table(Oid relid)
{
	Relation	table;

	if (!ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
		return NULL;
	table = try_table_open(relid, NoLock);
	if (table == NULL)
		return NULL;
	if (!gpucol_am_is_table(table) || table->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
	{
		table_close(table, NoLock);
		return NULL;
	}
	pgstat_report_activity(STATE_RUNNING,
						   psprintf("automerge %s.%s", get_namespace_name(RelationGetNamespace(table)),
									RelationGetRelationName(table)));
	return table;
}

/* Fold the tombstones of a table that is locked, if there are enough of them; how many. */
static uint64
fold_some(Relation table)
{
	GpucolMergeOptions options;
	uint64		folded;

	gpucol_merge_options(table, &options);
	if (!options.enabled)
		return 0;
	folded = gpucol_early_fold(table, least_rows(&options, gpucol_view_open(table, GetActiveSnapshot())->rows));
	if (folded > 0)
		ereport(DEBUG1,
				(errmsg_internal("automatic folding of table \"%s\": " UINT64_FORMAT " rows",
								 RelationGetRelationName(table), folded)));
	return folded;
}

/* Vacuum a TOAST relation, if its lock is to be had at once, by transactions of its own. */
static void
vacuum_toast(Oid toast)
{
	VacuumParams params = {
		.options = VACOPT_VACUUM | VACOPT_SKIP_LOCKED,
		.freeze_min_age = -1,
		.freeze_table_age = -1,
		.multixact_freeze_min_age = -1,
		.multixact_freeze_table_age = -1,
		.log_min_duration = -1,
		.index_cleanup = VACOPTVALUE_ENABLED,
		.truncate = VACOPTVALUE_DISABLED,
		.nworkers = -1
	};
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "gpucol toast", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	gpucol_compat_vacuum(list_make1(makeVacuumRelation(NULL, toast, NIL)), &params, context);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Look at a table and fold its tombstones. */
static Outcome
fold_table(Oid relid)
{
	Relation	table = open_table(relid);
	Oid			toast;
	uint64		folded;

	if (table == NULL)
		return DONE;
	folded = fold_some(table);
	toast = table->rd_rel->reltoastrelid;
	table_close(table, NoLock);
	if (folded == 0)
		return DONE;
	PopActiveSnapshot();
	CommitTransactionCommand();
	StartTransactionCommand();
	vacuum_toast(toast);
	return DONE;
}

/* Look at a table and merge some of its rows. */
static Outcome
merge_table(Oid relid)
{
	Relation	table = open_table(relid);
	Outcome		outcome = DONE;

	if (table == NULL)
		return DONE;
	if (is_to_be_merged(table))
		outcome = merge_some(table);
	table_close(table, NoLock);
	return outcome;
}

/* Look at a table and pack some of its segments. */
static Outcome
compact_table(Oid relid)
{
	Relation	table = open_table(relid);
	Outcome		outcome = DONE;

	if (table == NULL)
		return DONE;
	if (is_to_be_compacted(table))
	{
		(void) gpucol_space_reclaim_due(table);
		outcome = compact_some(table);
	}
	table_close(table, NoLock);
	return outcome;
}

/* The one or the other in a transaction of its own, whatever happens. */
static Outcome
attempt(Work work, Oid relid)
{
	MemoryContext context = CurrentMemoryContext;
	int			timeout = LockTimeout;
	volatile Outcome outcome = FAILED;

	gives_way = false;
	PG_TRY();
	{
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		VacuumCostBalance = 0;
		VacuumCostActive = true;
		outcome = work(relid);
		VacuumCostActive = false;
		if (ActiveSnapshotSet())
			PopActiveSnapshot();
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		VacuumCostActive = false;
		LockTimeout = timeout;
		outcome = gives_way ? GAVE_WAY : FAILED;
		if (gives_way)
		{
			ErrorData  *error;

			MemoryContextSwitchTo(context);
			error = CopyErrorData();
			elog(DEBUG1, "automatic merge of table %u gives way: %s", relid, error->message);
			FreeErrorData(error);
		}
		else
		{
			errcontext(rung > 0 ? "automatic merge of table %u in database %u, longer than gpucol.automerge_timeout allows" :
					   "automatic merge of table %u in database %u", relid, MyDatabaseId);
			EmitErrorReport();
		}
		AbortOutOfAnyTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		QueryCancelPending = false;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return outcome;
}

/* Do what is due of some work, in as many transactions as it takes, or as others allow. */
static void
work_off(Work work, Oid relid)
{
	int			batches = 0;
	bool		hindered = false;

	exclusive = false;
	packed_most = gpucol_segment_rows;
	for (;;)
	{
		Outcome		outcome = attempt(work, relid);

		CHECK_FOR_INTERRUPTS();
		if (outcome == DONE || outcome == FAILED || is_database_wanted() ||
			GetCurrentTimestamp() >= turn)
			return;
		/* a writer has come, or is still there */
		if (outcome == GAVE_WAY)
		{
			hindered = true;
			exclusive = work == merge_table;
			packed_most = Max(packed_most / FEWER, FEW_ROWS);
		}
		if (!hindered && !exclusive)
			continue;
		if (++batches > BATCHES)
			return;
		pg_usleep(PAUSE_MS * 1000L);
	}
}

/* All that is due for a table.  Work that is due at each visit is no reason to leave out other work. */
static void
visit_table(Oid relid)
{
	work_off(fold_table, relid);
	work_off(merge_table, relid);
	work_off(compact_table, relid);
}

/* ------------------------------------------------------------------------
 * One database
 * ------------------------------------------------------------------------
 */

static int
compare_visits(const ListCell *left, const ListCell *right)
{
	const Visit *a = lfirst(left);
	const Visit *b = lfirst(right);

	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Add a table of an owner; the order is a matter of chance. */
static List *
add_visit(List *visits, Oid relid, Oid owner, uint32 chance)
{
	Visit	   *visit = palloc(sizeof(Visit));

	visit->turn = murmurhash32(owner ^ chance);
	visit->place = murmurhash32(relid ^ chance);
	visit->relid = relid;
	return lappend(visits, visit);
}

/* Tables of the access method as they have their turns, in a list of this memory context. */
static List *
list_tables(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *tables = NIL;
	uint32		chance = pg_prng_uint32(&pg_global_prng_state);
	Oid			am;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	am = get_am_oid("gpucol", true);
	if (OidIsValid(am) && gpucol_am_is_method(am))
	{
		Relation	classes = table_open(RelationRelationId, AccessShareLock);
		TableScanDesc scan = table_beginscan_catalog(classes, 0, NULL);
		HeapTuple	tuple;

		while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
		{
			Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);
			MemoryContext old;

			if (class->relam != am || class->relpersistence == RELPERSISTENCE_TEMP)
				continue;
			old = MemoryContextSwitchTo(context);
			tables = add_visit(tables, class->oid, class->relowner, chance);
			MemoryContextSwitchTo(old);
		}
		table_endscan(scan);
		table_close(classes, AccessShareLock);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	list_sort(tables, compare_visits);
	return tables;
}

/* Settings of the database that must not matter, as in autovacuum. */
static void
settle_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", ""},
		{"zero_damaged_pages", "false"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "false"},
		{"synchronous_commit", "local"},
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

/* Merge tables one after the other, as long as time allows. */
static void
merge_tables(const List *tables)
{
	TimestampTz start = GetCurrentTimestamp();
	ListCell   *lc;

	timer = RegisterTimeout(USER_TIMEOUT, ring);
	foreach(lc, tables)
	{
		const Visit *visit = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (!gpucol_automerge || is_database_wanted() ||
			GetCurrentTimestamp() >= after(start, WORKER_TIMES))
			break;
		start_timer();
		visit_table(visit->relid);
		stop_timer();
	}
}

void
gpucol_automerge_main(Datum arg)
{
	memcpy(&before, MyBgworkerEntry->bgw_extra, sizeof(before));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	settle_settings();
	merge_tables(list_tables());
}
