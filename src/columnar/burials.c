/*-------------------------------------------------------------------------
 *
 * burials.c
 *	  Tombstones that a statement writes together.
 *
 * Who changes one packed row opens the directory, latches the row, looks for its tombstone and its locks, inserts a
 * tombstone and its index entry, and lets go: several times the work that heap has with a row.  A
 * statement that changes row after row does it once for the rows of a latch (rowlock.h).  It keeps the latch,
 * knows which of the rows have a tombstone or a lock record, and only notes the others as they come: "claims".
 * Their tombstones are written
 *
 *	- before the statement comes to a row of another latch, to one that it has to do by itself, to a row of the
 *	  delta or to a new one, any of which it might have to wait for;
 *	- before a scan looks for its next batch of rows, which may take long;
 *	- before this backend looks into the table's directory, or latches anything;
 *	- and when the plan has run.
 *
 * So nobody waits for a transaction while holding the latch, as without.  Others who want a claimed row wait for
 * the latch, and then find the tombstone and wait for the transaction.
 *
 * ON CONFLICT DO UPDATE locks a row that it finds, and then updates it: claimed when it is locked, the row is "pending"
 * until it is updated, and if all is to be written in between, it gets a lock record.  A check of uniqueness finds that
 * a claimed row is deleted, and others of the latch are live, without a look into the directory.  If it finds one that
 * it might have to wait for, all is written before it does.
 *
 * Only statements between whose rows nothing else runs are allowed to (planner/steady.c): no function
 * that might wait, or begin a subtransaction to which the tombstones would belong.  Not by table either where
 * a trigger runs before each row, where an update changes a column of a unique index, or computes a
 * function for an index or a constraint; nor in serializable transactions, which look for predicate locks behind each
 * tombstone, nor while logical decoding wants each change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "columnar/burials.h"
#include "columnar/decoding.h"
#include "columnar/directory.h"
#include "columnar/fetch.h"
#include "columnar/rowlock.h"
#include "columnar/rownum.h"
#include "columnar/view.h"
#include "compat.h"

#define ROWS	GPUCOL_LATCH_ROWS

/* Is the statement that runs one that may claim rows? */
static bool steady = false;
static bool merging = false;	/* which may insert rows, too */
static Bitmapset *assigned = NULL;	/* columns that it updates, as the relcache numbers them */

/* The table that was asked about last in the statement, and the answers. */
static struct
{
	Oid			relid;
	bool		deletes;
	bool		updates;
}			asked;

/* Rows of one latch that have come one after another. */
static struct
{
	Oid			relid;
	uint64		latch;
	uint32		rows;
	uint32		before;			/* those of the latch before */
	uint32		begun;			/* how often rows of it were claimed */
}			run;

/* To claim is worth while if so many come, mostly. */
#define FEW_ROWS	4
#define MANY_ROWS	16

/* Rows that are claimed. */
static struct
{
	bool		active;			/* the latch is held */
	bool		held;			/* gpucol_burials_hold */
	GpucolDirectory dir;
	MemoryContext context;		/* of the directory; kept */
	CommandId	cid;
	ItemPointerData latch;
	uint64		first;			/* of the latch's rows */
	uint64		from;			/* those that may be claimed, */
	uint64		end;			/* which end here, */
	uint32		taken[ROWS / 32];	/* but these */
	uint32		mine[ROWS / 32];	/* those that are claimed */
	GpucolViewSegment segment;	/* in which they lie */
	bool		pending;		/* the row behind the last is locked, */
	LockTupleMode mode;			/* in this way */
	uint32		n;
	uint64		rows[ROWS];
	GpucolTombstone tombstones[ROWS];
}			claimed;

static void
take(uint64 row_number)
{
	uint64		i = row_number - claimed.first;

	if (i < ROWS)
		claimed.taken[i / 32] |= UINT32_C(1) << (i % 32);
}

static bool
is_taken(uint64 row_number)
{
	uint64		i = row_number - claimed.first;

	return (claimed.taken[i / 32] >> (i % 32)) & 1;
}

/* ------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------
 */

/* Are entries of an index entered without a function of a user, if its unique keys stay as they are? */
static bool
is_plain_index(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(relid));
	Form_pg_index index;
	bool		plain;

	if (!HeapTupleIsValid(tuple))
		return false;
	index = (Form_pg_index) GETSTRUCT(tuple);
	plain = !index->indisexclusion &&
		heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) && heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	ReleaseSysCache(tuple);
	return plain;
}

static bool
has_plain_indexes(Relation table)
{
	List	   *indexes = RelationGetIndexList(table);
	bool		plain = true;
	ListCell   *lc;

	foreach(lc, indexes)
		plain &= is_plain_index(lfirst_oid(lc));
	list_free(indexes);
	return plain;
}

/* Does the statement leave the columns of all unique keys of a table alone? */
static bool
keeps_keys(Relation table)
{
	Bitmapset  *key = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY);
	bool		keeps = !bms_overlap(key, assigned);

	bms_free(key);
	return keeps;
}

/* May rows of a table be claimed? */
static bool
may_claim(Relation table, bool update)
{
	const TriggerDesc *triggers = table->trigdesc;
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	bool		computes = constraints != NULL && (constraints->num_check > 0 || constraints->has_generated_stored);

	if (asked.relid != RelationGetRelid(table))
	{
		asked.relid = RelationGetRelid(table);
		asked.deletes = !(merging && computes) &&
			(triggers == NULL || (!triggers->trig_delete_before_row && !triggers->trig_update_before_row &&
								  !triggers->trig_insert_before_row));
		asked.updates = asked.deletes && !computes && has_plain_indexes(table) && keeps_keys(table);
		if (gpucol_decoding_active(table))
			asked.deletes = asked.updates = false;
	}
	return update ? asked.updates : asked.deletes;
}

/* ------------------------------------------------------------------------
 * Claims
 * ------------------------------------------------------------------------
 */

/* Take the rows that have a directory row of a kind, by row. */
static void
take_having(Oid base, Snapshot snapshot)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, &claimed.dir, snapshot, base, claimed.first, claimed.first + ROWS - 1,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
		take(gpucol_directory_number(base, row.id, row.seq));
	gpucol_directory_scan_end(&scan);
}

/* Take the rows that have been folded into bitmaps. */
static void
take_folded(void)
{
	uint64		bitmap = claimed.first / GPUCOL_BITMAP_ROWS;
	SnapshotData dirty;
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	InitDirtySnapshot(dirty);
	gpucol_directory_scan_begin(&scan, &claimed.dir, &dirty, GPUCOL_ID_BITMAP, bitmap, bitmap, ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
	{
		const uint8 *bits = (const uint8 *) row.data + claimed.first % GPUCOL_BITMAP_ROWS / 8;

		for (uint32 i = 0; i < ROWS; i++)
		{
			if ((bits[i / 8] >> (i % 8)) & 1)
				take(claimed.first + i);
		}
	}
	gpucol_directory_scan_end(&scan);
}

/* Look, with the latch, which rows are as a change by itself would want them. */
static void
look_at_rows(uint64 row_number)
{
	GpucolDirectory *dir = &claimed.dir;
	GpucolViewSegment segment;
	SnapshotData dirty;
	uint64		lacks;

	memset(claimed.taken, 0, sizeof(claimed.taken));
	memset(claimed.mine, 0, sizeof(claimed.mine));
	claimed.from = claimed.end = 0;
	InitDirtySnapshot(dirty);
	take_having(GPUCOL_ID_TOMBSTONE, &dirty);
	/* asked behind that look, see gpucol_directory_lacks */
	lacks = gpucol_directory_lacks(dir);
	if (!(lacks & GPUCOL_LACKS_BITMAPS))
		take_folded();
	if (!(lacks & GPUCOL_LACKS_LOCKS))
		take_having(GPUCOL_ID_LOCK, SnapshotSelf);
	if (lacks & GPUCOL_LACKS_TOMBSTONES)
		gpucol_directory_admit(dir, GPUCOL_LACKS_TOMBSTONES);
	/* none has been packed elsewhere where their segment is the one that there is */
	if (gpucol_view_lookup(dir, SnapshotSelf, row_number, &segment))
	{
		claimed.segment = segment;
		claimed.from = segment.entry.first_row;
		claimed.end = segment.entry.first_row + segment.entry.nrows;
	}
}

/* Begin to claim rows of a row's latch. */
static void
begin(Relation table, uint64 row_number, CommandId cid)
{
	MemoryContext old;

	if (claimed.context == NULL)
		claimed.context = AllocSetContextCreate(TopMemoryContext, "gpucol burials", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(claimed.context);
	old = MemoryContextSwitchTo(claimed.context);
	if (!gpucol_directory_open(&claimed.dir, table, RowExclusiveLock))
	{
		MemoryContextSwitchTo(old);
		return;
	}
	claimed.first = row_number / ROWS * ROWS;
	claimed.cid = cid;
	claimed.n = 0;
	claimed.pending = false;
	gpucol_tid_set(&claimed.latch, row_number);
	gpucol_rowlock_latch(&claimed.dir, &claimed.latch);
	look_at_rows(row_number);
	claimed.active = true;
	MemoryContextSwitchTo(old);
}

/* Note that a row comes. */
static void
count_run(Relation table, uint64 row_number)
{
	uint64		latch = row_number / ROWS;

	if (run.latch != latch || run.relid != RelationGetRelid(table))
	{
		run.relid = RelationGetRelid(table);
		run.latch = latch;
		run.before = run.rows;
		run.rows = 0;
		run.begun = 0;
	}
	run.rows++;
}

/*
 * Is it worth while to look at all rows of a latch?  Not where rows come in any order; nor again and again where others
 * between them are locked.
 */
static bool
is_worthwhile(uint32 few)
{
	return run.begun == 0 ? run.before >= few || run.rows >= few : run.rows >= MANY_ROWS * run.begun;
}

/* gpucol_burials_claim, which is worth while once so few rows have come. */
static bool
claim(Relation table, const ItemPointerData *tid, CommandId cid, bool update, uint32 few)
{
	uint64		row_number = gpucol_tid_row(tid);

	if (!steady || IsolationIsSerializable() || !may_claim(table, update))
		return false;
	if (claimed.active && claimed.pending && claimed.dir.table == table && claimed.rows[claimed.n] == row_number)
	{
		claimed.pending = false;
		return true;
	}
	count_run(table, row_number);
	if (!claimed.active || claimed.dir.table != table || claimed.cid != cid || row_number - claimed.first >= ROWS)
	{
		gpucol_burials_write();
		if (!is_worthwhile(few))
			return false;
		run.begun++;
		begin(table, row_number, cid);
	}
	if (!claimed.active || row_number < claimed.from || row_number >= claimed.end || is_taken(row_number))
		return false;
	take(row_number);
	claimed.rows[claimed.n] = row_number;
	return true;
}

bool
gpucol_burials_claim(Relation table, const ItemPointerData *tid, CommandId cid, bool update)
{
	return claim(table, tid, cid, update, FEW_ROWS);
}

/* One that is locked by itself is counted twice; and of the second in a row, lock records of others are made ahead. */
bool
gpucol_burials_claim_lock(Relation table, const ItemPointerData *tid, CommandId cid, LockTupleMode mode)
{
	if (!claim(table, tid, cid, true, FEW_ROWS - 1))
		return false;
	claimed.pending = true;
	claimed.mode = mode;
	return true;
}

GpucolBurialsRow
gpucol_burials_look(Relation table, uint64 row_number, GpucolViewSegment *segment)
{
	uint64		i = row_number - claimed.first;

	if (likely(!claimed.active) || RelationGetRelid(claimed.dir.table) != RelationGetRelid(table) || i >= ROWS ||
		row_number < claimed.from || row_number >= claimed.end)
		return GPUCOL_BURIALS_UNKNOWN;
	*segment = claimed.segment;
	if ((claimed.mine[i / 32] >> (i % 32)) & 1)
		return GPUCOL_BURIALS_DELETED;
	if (claimed.pending && claimed.rows[claimed.n] == row_number)
		return GPUCOL_BURIALS_LIVE;
	return is_taken(row_number) ? GPUCOL_BURIALS_UNKNOWN : GPUCOL_BURIALS_LIVE;
}

void
gpucol_burials_add(const ItemPointerData *new_tid, uint16 flags)
{
	uint64		i = claimed.rows[claimed.n] - claimed.first;
	GpucolTombstone *tombstone = &claimed.tombstones[claimed.n++];

	claimed.mine[i / 32] |= UINT32_C(1) << (i % 32);
	tombstone->new_tid = *new_tid;
	tombstone->flags = flags;
}

void
gpucol_burials_write(void)
{
	MemoryContext old;

	if (likely(!claimed.active))
		return;
	/* what writing opens is not to write again */
	claimed.active = false;
	old = MemoryContextSwitchTo(claimed.context);
	if (claimed.n > 0)
	{
		gpucol_directory_insert_many(&claimed.dir, GPUCOL_ID_TOMBSTONE, claimed.rows, claimed.tombstones,
									 sizeof(GpucolTombstone), claimed.n, claimed.cid);
		gpucol_fetch_note_buried(claimed.dir.table, claimed.rows[claimed.n - 1], claimed.cid);
	}
	if (claimed.pending)
	{
		ItemPointerData tid;

		/* nobody has a lock of it, which was looked for under the latch */
		gpucol_tid_set(&tid, claimed.rows[claimed.n]);
		(void) gpucol_rowlock_take(&claimed.dir, &tid, claimed.mode);
	}
	gpucol_rowlock_unlatch(&claimed.dir, &claimed.latch);
	gpucol_directory_close(&claimed.dir);
	MemoryContextSwitchTo(old);
}

void
gpucol_burials_write_before_wait(Snapshot snapshot)
{
	if (snapshot->snapshot_type == SNAPSHOT_DIRTY &&
		(TransactionIdIsValid(snapshot->xmin) || TransactionIdIsValid(snapshot->xmax)))
		gpucol_burials_write();
}

bool
gpucol_burials_hold(bool hold)
{
	bool		before = claimed.held;

	claimed.held = hold;
	return before;
}

void
gpucol_burials_write_for(Relation table)
{
	if (unlikely(claimed.active) && !claimed.held && RelationGetRelid(claimed.dir.table) == RelationGetRelid(table))
		gpucol_burials_write();
}

/* ------------------------------------------------------------------------
 * Statements
 * ------------------------------------------------------------------------
 */

static ExecutorRun_hook_type previous_run = NULL;

/* A condition on no row of a node that has no conditions is the mark. */
void
gpucol_burials_allow(ModifyTable *node)
{
	node->plan.qual = list_make1(makeBoolConst(true, false));
}

static bool
is_allowed(const Plan *plan)
{
	return plan != NULL && IsA(plan, ModifyTable) && plan->qual != NIL;
}

/* The plan node by which a statement may claim rows, or NULL. */
static const ModifyTable *
find_allowed(const PlannedStmt *stmt)
{
	ListCell   *lc;

	if (stmt->commandType == CMD_SELECT && !stmt->hasModifyingCTE)
		return NULL;
	if (is_allowed(stmt->planTree))
		return (const ModifyTable *) stmt->planTree;
	foreach(lc, stmt->subplans)
	{
		if (is_allowed(lfirst(lc)))
			return lfirst(lc);
	}
	return NULL;
}

/* Add columns that a list has the numbers of to those that the statement updates. */
static void
note_columns(const List *attnums)
{
	ListCell   *lc;

	foreach(lc, attnums)
		assigned = bms_add_member(assigned, lfirst_int(lc) - FirstLowInvalidHeapAttributeNumber);
}

/* Note which columns a plan node updates. */
static void
note_assigned(const ModifyTable *node)
{
	ListCell   *lc;

	assigned = NULL;
	note_columns(node->onConflictCols);
	foreach(lc, node->updateColnosLists)
		note_columns(lfirst(lc));
	foreach(lc, node->mergeActionLists)
	{
		ListCell   *action;

		foreach(action, lfirst_node(List, lc))
			note_columns(lfirst_node(MergeAction, action)->updateColnos);
	}
}

bool
gpucol_burials_is_steady(void)
{
	return steady;
}

/* Run a statement, and have its tombstones written when it has run. */
static void
run_query(QueryDesc *query, ScanDirection direction, uint64 count GPUCOL_COMPAT_RUN_ONCE)
{
	const ModifyTable *volatile node = find_allowed(query->plannedstmt);

	if (!steady && node == NULL)
	{
		gpucol_compat_run_next(previous_run, query, direction, count GPUCOL_COMPAT_RUN_ONCE_ARG);
		return;
	}
	gpucol_burials_write();
	PG_TRY();
	{
		steady = node != NULL;
		if (steady)
			note_assigned(node);
		merging = query->operation == CMD_MERGE;
		claimed.held = false;	/* by what an error ended */
		asked.relid = run.relid = InvalidOid;
		run.rows = 0;
		gpucol_compat_run_next(previous_run, query, direction, count GPUCOL_COMPAT_RUN_ONCE_ARG);
		gpucol_burials_write();
	}
	PG_FINALLY();
	{
		/* after an error the latch goes with the transaction's locks; a statement around begins none again */
		claimed.active = claimed.held = false;
		steady = false;
	}
	PG_END_TRY();
}

void
gpucol_burials_init(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_query;
}
