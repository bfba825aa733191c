/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  VACUUM.
 *
 * Heap's VACUUM does the delta.  It must not truncate the main fork: it would
 * take segment pages, which have no line pointers, for empty ones.  The row count
 * that it leaves in pg_class is extrapolated from the pages that it read, so it
 * is set right afterwards.
 *
 * Then the segments.  Rows that are dead to everyone are collected (deadrows.c),
 * their index entries deleted, their tombstones folded into bitmaps (fold.c), and
 * pages that no segment has any more are listed for reuse (space.c).  Folded rows
 * are never again looked for in indexes, so nothing is folded before indexes are
 * cleaned, nor where VACUUM is told to leave them alone.  Of those that automatic merges have folded
 * before, bitmaps tell (early_fold.h).
 *
 * At last small and much-deleted segments are packed together (compact.c), if nobody is writing to
 * the table.  Who comes to do so meanwhile has it undone.
 *
 * Folding writes rows, so it needs a transaction that snapshots heed.  VACUUM's
 * is marked as one that they need not wait for; the mark is taken off first,
 * which makes it an ordinary transaction from there on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "columnar/compact.h"
#include "columnar/deadrows.h"
#include "columnar/delta_count.h"
#include "columnar/directory_pages.h"
#include "columnar/early_fold.h"
#include "columnar/fold.h"
#include "columnar/fold_count.h"
#include "columnar/forward.h"
#include "columnar/rowlock.h"
#include "columnar/space.h"
#include "columnar/vacuum.h"
#include "columnar/view.h"
#include "compat.h"
#include "guc.h"

/* Delta pages that are read to count the delta's rows. */
#define COUNTED_PAGES	1024

/*
 * Dead rows that are left for a later VACUUM if there are fewer, and fewer than
 * this share of all rows: each index would be read as a whole for them.
 */
#define FEW_DEAD_ROWS	8192
#define FEW_DEAD_SHARE	0.02

/* Rows that are packed between two looks at who waits. */
#define PACKED_ROWS		64

/* What VACUUM found and did beyond the delta. */
typedef struct SegmentVacuum
{
	Relation	rel;
	GpucolDirectory dir;
	GpucolCoverage *coverage;
	GpucolDeadRows *dead;
	uint64		early;			/* rows that were folded before indexes were cleaned, */
	TransactionId early_newest; /* the last of their deleters, */
	GpucolDeadRows *folded_early;	/* and what bitmaps have, if there are any */
	GpucolUpkeep upkeep;		/* as found; zeros where there is none */
	ItemPointerData upkeep_tid;
	int			nindexes;
	Relation   *indexes;
	int			elevel;
	double		entries;		/* index entries deleted */
	GpucolFolded folded;
	uint64		free_pages;
} SegmentVacuum;

/* Rows of the delta, counted on evenly spaced pages. */
static double
count_delta_rows(Relation rel, const GpucolView *view, BufferAccessStrategy strategy)
{
	uint32		nranges;
	GpucolBlockRange *ranges = gpucol_view_delta_ranges(view, RelationGetNumberOfBlocks(rel),
														MaxBlockNumber, &nranges);
	double		rows = gpucol_delta_count(rel, ranges, nranges, COUNTED_PAGES, strategy,
										  NULL, NULL);

	pfree(ranges);
	return rows;
}

/* Correct what heap's VACUUM has told the cumulative statistics. */
static void
correct_statistics(Relation rel, double rows, uint64 dead)
{
	PgStat_EntryRef *entry;
	PgStat_StatTabEntry *stats;

	if (!pgstat_track_counts)
		return;
	entry = pgstat_get_entry_ref_locked(PGSTAT_KIND_RELATION, MyDatabaseId,
										RelationGetRelid(rel), false);
	stats = &((PgStatShared_Relation *) entry->shared_stats)->stats;
	gpucol_compat_live_rows(stats) = (PgStat_Counter) rows;
	gpucol_compat_dead_rows(stats) += (PgStat_Counter) dead;
	pgstat_unlock_entry(entry);
}

/*
 * Set pg_class.reltuples to segment rows plus delta rows, and tell the statistics
 * how many segment rows are dead but not folded.
 */
static void
correct_counts(Relation rel, uint64 dead, BufferAccessStrategy strategy)
{
	GpucolView *view = gpucol_view_open(rel, GetActiveSnapshot());
	double		rows;
	BlockNumber all_visible;
	BlockNumber all_frozen;

	if (view->nsegments == 0 && dead == 0)
		return;
	rows = count_delta_rows(rel, view, strategy);
	for (uint32 i = 0; i < view->nsegments; i++)
		rows += view->segments[i].entry.nrows -
			gpucol_view_count_deleted(view, &view->segments[i]);
	visibilitymap_count(rel, &all_visible, &all_frozen);
	gpucol_compat_update_relstats(rel, RelationGetNumberOfBlocks(rel), rows,
								  all_visible, all_frozen);
	correct_statistics(rel, rows, dead);
}

/* ------------------------------------------------------------------------
 * Segments
 * ------------------------------------------------------------------------
 */

/* index_bulk_delete's question: does the entry point to a dead segment row? */
static bool
is_dead_entry(ItemPointer tid, void *state)
{
	SegmentVacuum *vacuum = state;
	uint64		row;

	if (!gpucol_tid_is_virtual(tid))
		return false;
	row = gpucol_tid_row(tid);
	return !gpucol_coverage_has_row(vacuum->coverage, row) ||
		gpucol_deadrows_has(vacuum->dead, row) ||
		(vacuum->folded_early != NULL && gpucol_deadrows_has(vacuum->folded_early, row));
}

/*
 * Make VACUUM's transaction one that snapshots heed, with a snapshot of its own
 * on the stack in place of the one that it was begun with.
 */
static void
become_ordinary(void)
{
	PopActiveSnapshot();
	InvalidateCatalogSnapshot();
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags &= ~PROC_IN_VACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
	PushActiveSnapshot(GetLatestSnapshot());
}

/*
 * SP-GiST follows entries that were moved since the snapshot of VACUUM's transaction, by
 * marks that it removes when they are older than every snapshot.  It must not find one
 * removed under way ("unexpected SPGiST tuple state"), so the snapshot has to be heeded.
 */
static void
prepare_for_spgist(const SegmentVacuum *vacuum)
{
	for (int i = 0; i < vacuum->nindexes; i++)
	{
		if (vacuum->indexes[i]->rd_rel->relam == SPGIST_AM_OID)
		{
			become_ordinary();
			return;
		}
	}
}

/*
 * Delete the entries of dead segment rows from all indexes.  Snapshots of a standby may
 * still see rows that nobody here sees, and nothing else that is logged tells it so.
 */
static void
clean_indexes(SegmentVacuum *vacuum, BufferAccessStrategy strategy)
{
	TransactionId newest;

	if (vacuum->early > 0)
		vacuum->folded_early = gpucol_early_fold_collect(&vacuum->dir);
	newest = gpucol_fold_count_later(vacuum->dead->newest, vacuum->coverage->newest);
	newest = gpucol_fold_count_later(newest, vacuum->early_newest);
	if (TransactionIdIsValid(newest) && vacuum->coverage->block != InvalidBlockNumber)
		gpucol_space_log_conflict(vacuum->rel, vacuum->coverage->block, newest);
	prepare_for_spgist(vacuum);
	for (int i = 0; i < vacuum->nindexes; i++)
	{
		Relation	index = vacuum->indexes[i];
		IndexVacuumInfo info = {
			.index = index,
			.message_level = vacuum->elevel,
			.num_heap_tuples = vacuum->rel->rd_rel->reltuples,
			.estimated_count = true,
			.strategy = strategy
		};
		IndexBulkDeleteResult *result;

		gpucol_compat_set_heaprel(info, vacuum->rel);
		result = index_bulk_delete(&info, NULL, is_dead_entry, vacuum);
		result = index_vacuum_cleanup(&info, result);
		if (result == NULL)
			continue;
		vacuum->entries += result->tuples_removed;
		if (!result->estimated_count)
			gpucol_compat_update_relstats(index, result->num_pages,
										  result->num_index_tuples, 0, 0);
		pfree(result);
	}
}

/*
 * Are the indexes to be cleaned?  If not because VACUUM is told so, or there is
 * too little to do, *leave is set: dead rows must then keep their tombstones.
 */
static bool
indexes_need_cleaning(const SegmentVacuum *vacuum, const VacuumParams *params,
					  bool *leave)
{
	bool		lost = vacuum->coverage->lost != vacuum->upkeep.cleaned;
	uint64		nrows = vacuum->dead->nrows + vacuum->early;

	*leave = false;
	if (vacuum->nindexes == 0)
		return false;
	/* without a segment page there is nothing to log a conflict with; the TOAST relation's VACUUM does so, soon */
	if (params->index_cleanup == VACOPTVALUE_DISABLED ||
		(vacuum->coverage->block == InvalidBlockNumber && TransactionIdIsValid(vacuum->coverage->newest)))
		*leave = true;
	else if (params->index_cleanup != VACOPTVALUE_ENABLED && !lost &&
			 nrows < FEW_DEAD_ROWS && nrows < vacuum->coverage->rows * FEW_DEAD_SHARE)
		*leave = true;
	return !*leave && (lost || nrows > 0);
}

/* Remember that the indexes have no entries of lost rows, nor of folded ones. */
static void
note_cleaned(SegmentVacuum *vacuum)
{
	GpucolUpkeep upkeep;

	memset(&upkeep, 0, sizeof(upkeep));
	gpucol_space_lock(vacuum->rel, AccessExclusiveLock);
	gpucol_directory_make(&vacuum->dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep),
						  &vacuum->upkeep_tid);
	upkeep.cleaned = vacuum->coverage->lost;
	upkeep.generation++;
	gpucol_directory_overwrite(&vacuum->dir, &vacuum->upkeep_tid, &upkeep,
							   sizeof(upkeep));
	gpucol_space_unlock(vacuum->rel, AccessExclusiveLock);
	gpucol_fold_count_clean(&vacuum->dir);
	vacuum->early = 0;
}

/* Say what was done. */
static void
report(const SegmentVacuum *vacuum)
{
	ereport(vacuum->elevel,
			(errmsg("segments of table \"%s\": " UINT64_FORMAT " dead rows folded, %.0f index entries removed, %u segments removed, " UINT64_FORMAT " pages free for reuse",
					RelationGetRelationName(vacuum->rel), vacuum->folded.rows,
					vacuum->entries, vacuum->folded.segments, vacuum->free_pages),
			 errdetail(UINT64_FORMAT " deleted rows remain, " UINT64_FORMAT " of which some snapshot may still see.",
					   vacuum->dead->nrows - vacuum->folded.rows + vacuum->dead->recent,
					   vacuum->dead->recent)));
}

/* Pages that are listed as free. */
static uint64
count_free(const GpucolUpkeep *upkeep)
{
	uint64		pages = 0;

	for (uint32 i = 0; i < Min(upkeep->nfree, GPUCOL_FREE_EXTENTS); i++)
		pages += upkeep->free[i].npages;
	return pages;
}

/* Clean, fold and reclaim, with the directory open. */
static void
vacuum_directory(SegmentVacuum *vacuum, const VacuumParams *params,
				 BufferAccessStrategy strategy)
{
	bool		clean;
	bool		leave;

	vacuum->coverage = gpucol_coverage_read(&vacuum->dir);
	vacuum->dead = gpucol_deadrows_collect(&vacuum->dir,
										   GetOldestNonRemovableTransactionId(vacuum->dir.toast));
	gpucol_directory_find(&vacuum->dir, GPUCOL_ID_UPKEEP, &vacuum->upkeep,
						  sizeof(vacuum->upkeep), &vacuum->upkeep_tid);
	vacuum->free_pages = count_free(&vacuum->upkeep);
	gpucol_fold_count_freeze(&vacuum->dir);
	/* without indexes there are no entries, and those that are made later have none of these rows */
	if (vacuum->nindexes > 0)
		vacuum->early = gpucol_fold_count_early(&vacuum->dir, &vacuum->early_newest);
	clean = indexes_need_cleaning(vacuum, params, &leave);
	gpucol_directory_check_pages(&vacuum->dir, vacuum->coverage,
								 clean || (params->options & VACOPT_DISABLE_PAGE_SKIPPING) != 0 ||
								 gpucol_space_is_due(&vacuum->upkeep, vacuum->coverage));
	if (clean)
		clean_indexes(vacuum, strategy);
	if (!clean && !gpucol_space_is_due(&vacuum->upkeep, vacuum->coverage) &&
		(leave || vacuum->dead->nrows == 0) && !gpucol_rowlock_any(&vacuum->dir) &&
		!gpucol_forward_any(&vacuum->dir))
		return;

	become_ordinary();
	if (clean)
		note_cleaned(vacuum);
	if (!leave && (vacuum->dead->nrows > 0 ||
				   gpucol_space_is_due(&vacuum->upkeep, vacuum->coverage)))
		vacuum->folded = gpucol_fold(&vacuum->dir, vacuum->dead, vacuum->coverage, false);
	if (gpucol_space_is_due(&vacuum->upkeep, vacuum->coverage))
		vacuum->free_pages = gpucol_space_reclaim(&vacuum->dir, vacuum->coverage);
	gpucol_rowlock_clean(&vacuum->dir);
	gpucol_forward_clean(&vacuum->dir, GetOldestNonRemovableTransactionId(vacuum->rel));
	PopActiveSnapshot();
	PushActiveSnapshot(GetLatestSnapshot());
}

/* Vacuum the segments; returns how many of their rows are dead but not folded. */
static uint64
vacuum_segments(Relation rel, const VacuumParams *params, BufferAccessStrategy strategy)
{
	SegmentVacuum vacuum = {.rel = rel};
	MemoryContext context;
	MemoryContext old;
	uint64		left;

	if (!gpucol_directory_open(&vacuum.dir, rel, AccessShareLock))
		return 0;
	if (gpucol_directory_next_row(&vacuum.dir) == 0)
	{
		gpucol_directory_close(&vacuum.dir);
		return 0;
	}
	gpucol_directory_close(&vacuum.dir);
	gpucol_directory_open(&vacuum.dir, rel, RowExclusiveLock);
	context = AllocSetContextCreate(CurrentMemoryContext, "gpucol vacuum",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	vacuum.elevel = (params->options & VACOPT_VERBOSE) ? INFO : DEBUG2;
	vac_open_indexes(rel, RowExclusiveLock, &vacuum.nindexes, &vacuum.indexes);
	vacuum_directory(&vacuum, params, strategy);
	vac_close_indexes(vacuum.nindexes, vacuum.indexes, NoLock);
	report(&vacuum);
	left = vacuum.dead->nrows - vacuum.folded.rows + vacuum.dead->recent + vacuum.early;
	gpucol_directory_close(&vacuum.dir);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return left;
}

/* ------------------------------------------------------------------------
 * Packing
 * ------------------------------------------------------------------------
 */

static bool gives_way;			/* the error that ends it is no error */

/* Before each row: does somebody wait for the table? */
static void
look_around(Relation rel)
{
	static uint32 rows = 0;

	if (rows++ % PACKED_ROWS != 0 || !LockHasWaitersRelation(rel, ExclusiveLock))
		return;
	gives_way = true;
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("packing of table \"%s\" gives way", RelationGetRelationName(rel))));
}

/* Pack some segments, if nobody is writing to the table; returns how many there were. */
static uint32
pack_if_idle(Relation rel)
{
	GpucolCompactPace pace = {.most = gpucol_segment_rows, .step = look_around};

	if (!ConditionalLockRelationOid(RelationGetRelid(rel), ExclusiveLock))
		return 0;
	return gpucol_compact_segments(rel, &pace);
}

/* The same as a subtransaction that gives way to whoever waits for the table. */
static uint32
pack_some(Relation rel)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile uint32 packed = 0;

	gives_way = false;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		packed = pack_if_idle(rel);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		if (!gives_way)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		packed = 0;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return packed;
}

/*
 * Pack segments as long as there are any to be packed, unless indexes are to be left alone.
 * Autovacuum leaves it to automatic merges.
 */
static void
pack_segments(Relation rel, const VacuumParams *params)
{
	uint32		packed;

	if (MyBackendType == B_AUTOVAC_WORKER || params->index_cleanup == VACOPTVALUE_DISABLED)
		return;
	do
	{
		if (!gpucol_compact_is_due(gpucol_view_open(rel, GetActiveSnapshot()), false))
			break;
		become_ordinary();
		packed = pack_some(rel);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		if (packed > 0)
			ereport((params->options & VACOPT_VERBOSE) ? INFO : DEBUG2,
					(errmsg("segments of table \"%s\": %u packed together",
							RelationGetRelationName(rel), packed)));
	} while (packed > 0);
}

void
gpucol_vacuum_rel(Relation rel, struct VacuumParams *params,
				  BufferAccessStrategy strategy)
{
	VacuumParams own = *params;
	uint64		dead;

	own.truncate = VACOPTVALUE_DISABLED;
	heap_vacuum_rel(rel, &own, strategy);
	dead = vacuum_segments(rel, params, strategy);
	pack_segments(rel, params);
	correct_counts(rel, dead, strategy);
}
