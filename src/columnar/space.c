/*-------------------------------------------------------------------------
 *
 * space.c
 *	  Pages of the main fork that no segment has any more, and their reuse.
 *
 * Loads that fail and segments that are gone leave segment pages behind, which
 * heap takes for full and never touches.  VACUUM looks for them, and automatic merges before they pack segments
 * together, wherever a page that names a dead segment lies outside every segment's extents, and lists them
 * in the table's upkeep record.  A writer takes pages from the list before it
 * extends the table.  The list is a hint: pages that fall out of it are found
 * again.  It has room for the longest runs; those left out are looked for when half of
 * the list has been used.
 *
 * A writer's claim stands in its entry's extents, logged before the first page is
 * overwritten, so that VACUUM knows pages in use; if the writer fails, its entry
 * is dead and the pages are lost and found as others are.  List and entries
 * change under the allocation lock, a heavyweight lock of the virtual TID that no
 * row has.
 *
 * A segment that snapshots once saw may be looked at on a standby still, by
 * snapshots older than its end, and so may single rows, by their index entries.  Before
 * pages are listed, or such entries deleted (vacuum.c), a record goes into
 * WAL that makes such snapshots conflict: visibility map bits set again with that
 * horizon, as heap's VACUUM logs them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"

#include "columnar/page.h"
#include "columnar/rownum.h"
#include "columnar/space.h"
#include "compat.h"

/* Claimed extents that one segment may consist of; the others are for growth. */
#define CLAIMED_EXTENTS	(GPUCOL_MAX_EXTENTS / 2)

/* The TID that stands for the table's allocation lock. */
static ItemPointerData
lock_tid(void)
{
	ItemPointerData tid;

	gpucol_tid_set(&tid, 0);
	return tid;
}

void
gpucol_space_lock(Relation table, LOCKMODE mode)
{
	ItemPointerData tid = lock_tid();

	LockTuple(table, &tid, mode);
}

void
gpucol_space_unlock(Relation table, LOCKMODE mode)
{
	ItemPointerData tid = lock_tid();

	UnlockTuple(table, &tid, mode);
}

/* ------------------------------------------------------------------------
 * Claiming
 * ------------------------------------------------------------------------
 */

/* Take the longest run of the list, at most `wanted` pages of it. */
static GpucolExtent
take_longest(GpucolUpkeep *upkeep, uint32 wanted)
{
	uint32		longest = 0;
	GpucolExtent *run;
	GpucolExtent taken;

	for (uint32 i = 1; i < upkeep->nfree; i++)
	{
		if (upkeep->free[i].npages > upkeep->free[longest].npages)
			longest = i;
	}
	run = &upkeep->free[longest];
	taken.start = run->start;
	taken.npages = Min(run->npages, wanted);
	run->start += taken.npages;
	run->npages -= taken.npages;
	if (run->npages == 0)
		*run = upkeep->free[--upkeep->nfree];
	return taken;
}

/*
 * Forget a list of which a page is a segment's, as an old copy of it would say; VACUUM will
 * look for free pages again.
 */
static void
check_list(GpucolDirectory *dir, GpucolUpkeep *upkeep)
{
	const GpucolCoverage *coverage = gpucol_coverage_read_locked(dir);

	for (uint32 i = 0; i < upkeep->nfree; i++)
	{
		if (gpucol_coverage_is_free(coverage, &upkeep->free[i]))
			continue;
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("list of free pages of table \"%s\" is corrupt",
						RelationGetRelationName(dir->table)),
				 errdetail("%u blocks from %u on are a segment's.", upkeep->free[i].npages,
						   upkeep->free[i].start),
				 errhint("The list is not used. VACUUM makes another.")));
		upkeep->nfree = 0;
		upkeep->left_out = 1;
	}
}

void
gpucol_space_claim(Relation table, GpucolSegmentEntry *entry, ItemPointer tid)
{
	GpucolDirectory dir;
	GpucolUpkeep upkeep;
	ItemPointerData upkeep_tid;
	uint32		wanted = entry->npages;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		return;
	if (!gpucol_directory_find(&dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep),
							   &upkeep_tid) || upkeep.nfree == 0)
	{
		gpucol_directory_close(&dir);
		return;
	}
	gpucol_space_lock(table, AccessExclusiveLock);
	if (gpucol_directory_find(&dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep),
							  &upkeep_tid))
	{
		check_list(&dir, &upkeep);
		while (wanted > 0 && upkeep.nfree > 0 && entry->nextents < CLAIMED_EXTENTS)
		{
			GpucolExtent taken = take_longest(&upkeep, wanted);

			entry->extents[entry->nextents++] = taken;
			wanted -= taken.npages;
		}
		upkeep.generation++;
		gpucol_directory_overwrite(&dir, &upkeep_tid, &upkeep, sizeof(upkeep));
		gpucol_directory_overwrite(&dir, tid, entry, sizeof(*entry));
	}
	gpucol_space_unlock(table, AccessExclusiveLock);
	gpucol_directory_close(&dir);
}

/* ------------------------------------------------------------------------
 * Reclaiming
 * ------------------------------------------------------------------------
 */

/* A growing list of runs of pages. */
typedef struct Runs
{
	GpucolExtent *runs;
	uint32		n;
	uint32		capacity;
} Runs;

static void
add_page(Runs *runs, BlockNumber block)
{
	GpucolExtent *last = runs->n > 0 ? &runs->runs[runs->n - 1] : NULL;

	if (last != NULL && last->start + last->npages == block)
	{
		last->npages++;
		return;
	}
	if (runs->n == runs->capacity)
	{
		runs->capacity = Max(runs->capacity * 2, 64);
		runs->runs = runs->runs == NULL ?
			palloc(runs->capacity * sizeof(GpucolExtent)) :
			repalloc_huge(runs->runs, runs->capacity * sizeof(GpucolExtent));
	}
	runs->runs[runs->n].start = block;
	runs->runs[runs->n].npages = 1;
	runs->n++;
}

/* Is the block a page of a segment that is dead to everyone? */
static bool
is_lost_page(Relation table, BlockNumber block, const GpucolCoverage *coverage,
			 BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL,
											strategy);
	const GpucolPageTrailer *trailer;
	bool		lost;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	trailer = gpucol_page_identify(BufferGetPage(buffer));
	lost = trailer != NULL && trailer->identity == coverage->identity &&
		!gpucol_coverage_has_row(coverage, trailer->first_row);
	UnlockReleaseBuffer(buffer);
	return lost;
}

/*
 * Move *at to the first block from *at on that no extent has; *next is the first
 * extent that may end behind it.
 */
static BlockNumber
skip_extents(const GpucolCoverage *coverage, uint32 *next, BlockNumber at)
{
	while (*next < coverage->nextents && coverage->extents[*next].start <= at)
	{
		at = Max(at, coverage->extents[*next].start + coverage->extents[*next].npages);
		(*next)++;
	}
	return at;
}

/* Find the pages of dead segments outside the extents of the others. */
static Runs
find_lost_pages(Relation table, const GpucolCoverage *coverage)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_VACUUM);
	BlockNumber nblocks = RelationGetNumberOfBlocks(table);
	uint32		next = 0;
	Runs		lost = {NULL, 0, 0};

	for (BlockNumber block = skip_extents(coverage, &next, 0); block < nblocks;
		 block = skip_extents(coverage, &next, block + 1))
	{
		CHECK_FOR_INTERRUPTS();
		if (is_lost_page(table, block, coverage, strategy))
			add_page(&lost, block);
	}
	FreeAccessStrategy(strategy);
	return lost;
}

/* The pages of a list that no extent has. */
static Runs
without_extents(const Runs *all, const GpucolCoverage *coverage)
{
	Runs		rest = {NULL, 0, 0};
	uint32		next = 0;

	for (uint32 i = 0; i < all->n; i++)
	{
		BlockNumber end = all->runs[i].start + all->runs[i].npages;

		for (BlockNumber block = skip_extents(coverage, &next, all->runs[i].start);
			 block < end; block = skip_extents(coverage, &next, block + 1))
			add_page(&rest, block);
	}
	return rest;
}

void
gpucol_space_log_conflict(Relation table, BlockNumber block, TransactionId horizon)
{
	Buffer		map = InvalidBuffer;
	Buffer		buffer;

	if (!RelationNeedsWAL(table))
		return;
	visibilitymap_pin(table, block, &map);
	buffer = ReadBuffer(table, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	/* without the mark of a reader that verified it (page.c), here or there */
	START_CRIT_SECTION();
	GPUCOL_PAGE_TRAILER(BufferGetPage(buffer))->verified = 0;
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	visibilitymap_clear(table, block, map, VISIBILITYMAP_VALID_BITS);
	visibilitymap_set(table, block, buffer, InvalidXLogRecPtr, map, horizon,
					  VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN);
	UnlockReleaseBuffer(buffer);
	ReleaseBuffer(map);
}

/* Longer runs first. */
static int
compare_runs(const void *a, const void *b)
{
	const GpucolExtent *left = a;
	const GpucolExtent *right = b;

	return left->npages > right->npages ? -1 : left->npages < right->npages;
}

bool
gpucol_space_is_due(const GpucolUpkeep *upkeep, const GpucolCoverage *coverage)
{
	return coverage->lost != upkeep->reclaimed ||
		(upkeep->left_out > 0 && upkeep->nfree <= GPUCOL_FREE_EXTENTS / 2);
}

/* Replace the list; returns the number of its pages. */
static uint64
replace_list(GpucolUpkeep *upkeep, Runs *lost)
{
	uint64		pages = 0;

	qsort(lost->runs, lost->n, sizeof(GpucolExtent), compare_runs);
	upkeep->nfree = 0;
	for (uint32 i = 0; i < Min(lost->n, GPUCOL_FREE_EXTENTS); i++)
	{
		upkeep->free[upkeep->nfree++] = lost->runs[i];
		pages += lost->runs[i].npages;
	}
	upkeep->left_out = lost->n - upkeep->nfree;
	return pages;
}

uint64
gpucol_space_reclaim(GpucolDirectory *dir, const GpucolCoverage *coverage)
{
	TransactionId horizon = GetOldestNonRemovableTransactionId(dir->toast);
	Runs		lost = find_lost_pages(dir->table, coverage);
	GpucolUpkeep upkeep;
	ItemPointerData tid;
	uint64		pages;

	TransactionIdRetreat(horizon);
	if (lost.n > 0)
		gpucol_space_log_conflict(dir->table, lost.runs[0].start, horizon);
	gpucol_space_lock(dir->table, AccessExclusiveLock);
	memset(&upkeep, 0, sizeof(upkeep));
	gpucol_directory_make(dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep), &tid);
	lost = without_extents(&lost, gpucol_coverage_read_locked(dir));
	pages = replace_list(&upkeep, &lost);
	upkeep.reclaimed = coverage->lost;
	upkeep.generation++;
	gpucol_directory_overwrite(dir, &tid, &upkeep, sizeof(upkeep));
	gpucol_space_unlock(dir->table, AccessExclusiveLock);
	return pages;
}

uint64
gpucol_space_reclaim_due(Relation table)
{
	GpucolUpkeep upkeep = {0};
	uint64		pages = 0;
	GpucolDirectory dir;
	ItemPointerData tid;

	if (!gpucol_directory_open(&dir, table, RowExclusiveLock))
		return 0;
	if (gpucol_directory_next_row(&dir) > 0)
	{
		const GpucolCoverage *coverage = gpucol_coverage_read(&dir);

		(void) gpucol_directory_find(&dir, GPUCOL_ID_UPKEEP, &upkeep, sizeof(upkeep), &tid);
		if (gpucol_space_is_due(&upkeep, coverage))
			pages = gpucol_space_reclaim(&dir, coverage);
	}
	gpucol_directory_close(&dir);
	return pages;
}
