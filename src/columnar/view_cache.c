/*-------------------------------------------------------------------------
 *
 * view_cache.c
 *	  A backend's copies of segment directories that no longer change.
 *
 * A table of a billion rows has a thousand directory rows, which take longer to
 * read than a device needs to scan the table.  They lie on a few dozen pages.  A
 * copy of what one snapshot saw holds for another one as long as
 *
 *	  every page still has the LSN that it had, which needs no look where nothing at
 *	  all was logged since the last one, and
 *
 *	  every row was settled for both (settled.h).
 *
 * A few directory rows among many TOAST pages are read sooner than the LSNs of the pages.  Many
 * tombstones are not: there are a hundred on a page, and each is found by the index.  Nor are bitmaps.  So where
 * pages are full of them, the copy is kept too, and with it the bitmaps that views
 * make of them.  (view_version.c tells what else is still the same.)
 *
 * Views share a copy rather than copy it again: it is never written, and counts its
 * users, of whom the cache is one.  A view lets go of it when its memory context is
 * reset, so a scan keeps what its snapshot saw though the cache has turned to a newer
 * copy.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/item.h"
#include "columnar/kept_words.h"
#include "columnar/settled.h"
#include "columnar/view_cache.h"
#include "columnar/view_version.h"
#include "compat.h"
#include "service/memory.h"

/*
 * Pages, TOAST values and tombstones included, beyond which a directory of a number of
 * segments is not kept: three times what their entries fill, and a few.
 */
#define MAX_BLOCKS(nsegments)	(8 + (nsegments) / 8)

/* The same where pages have so many directory rows, on the average of a sample of them. */
#define MAX_DENSE_BLOCKS	8192
#define DENSE_ROWS			16
#define SAMPLED_PAGES		16

typedef struct CacheKey
{
	Oid			space;
	Oid			file;			/* of the TOAST relation */
} CacheKey;

/* Deleted rows of a segment. */
typedef struct Deleted
{
	bool		known;
	uint32		n;
	uint32	   *words;			/* NULL if there is none */
} Deleted;

/* What a snapshot saw. */
typedef struct GpucolViewCopy
{
	MemoryContext context;		/* of the copy */
	uint32		users;
	TransactionId newest;		/* that wrote or deleted a row */
	BlockNumber nblocks;
	XLogRecPtr *lsns;
	XLogRecPtr	wal_end;		/* when they were last found unchanged */
	GpucolView	view;			/* its table and snapshot are gone */
	Deleted    *deleted;		/* by segment; NULL: of none is known */
	Size		bytes;			/* that they take */
} Copy;

typedef struct CachedView
{
	CacheKey	key;
	Copy	   *copy;			/* NULL if nothing is kept */
} CachedView;

static HTAB *cache = NULL;

/* Bytes that the bitmaps of all copies take. */
static Size kept_bytes = 0;

static CachedView *
look_up(GpucolDirectory *dir, bool make)
{
	CacheKey	key = {gpucol_compat_relation_space(dir->toast), gpucol_compat_relation_file(dir->toast)};
	CachedView *cached;
	bool		found;

	if (cache == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(CacheKey), .entrysize = sizeof(CachedView)};

		cache = hash_create("gpucol views", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	cached = hash_search(cache, &key, make ? HASH_ENTER : HASH_FIND, &found);
	if (cached != NULL && !found)
		cached->copy = NULL;
	return cached;
}

/* One user less. */
static void
let_go(Copy *copy)
{
	if (--copy->users > 0)
		return;
	gpucol_kept_words_release(&kept_bytes, copy->bytes);
	MemoryContextDelete(copy->context);
}

/* Context callback: a view that shares a copy is gone. */
static void
let_go_of(void *arg)
{
	let_go(arg);
}

static void
forget(CachedView *cached)
{
	if (cached->copy != NULL)
		let_go(cached->copy);
	cached->copy = NULL;
}

/* Have a view share a copy, as long as the current memory context lasts. */
static void
share(GpucolView *view, Copy *copy)
{
	gpucol_memory_watch(CurrentMemoryContext, let_go_of, copy);
	copy->users++;
	view->nsegments = copy->view.nsegments;
	view->segments = copy->view.segments;
	view->ngaps = copy->view.ngaps;
	view->gaps = copy->view.gaps;
	view->any_deleted = copy->view.any_deleted;
	view->rows = copy->view.rows;
	view->pages = copy->view.pages;
	view->version = copy->view.version;
	view->copy = copy;
}

/* Do the pages have the LSNs that they had? */
static bool
unchanged(Copy *copy, GpucolDirectory *dir)
{
	XLogRecPtr	wal_end = gpucol_settled_wal_end();

	if (dir->nblocks != copy->nblocks)
		return false;
	if (!XLogRecPtrIsInvalid(wal_end) && wal_end == copy->wal_end)
		return true;
	for (BlockNumber block = 0; block < copy->nblocks; block++)
	{
		Buffer		buffer = ReadBuffer(dir->toast, block);
		XLogRecPtr	lsn = BufferGetLSNAtomic(buffer);

		ReleaseBuffer(buffer);
		if (lsn != copy->lsns[block])
			return false;
	}
	copy->wal_end = wal_end;
	return true;
}

bool
gpucol_view_cache_find(GpucolView *view, GpucolDirectory *dir)
{
	CachedView *cached;

	if (!gpucol_settled_possible(dir->toast, view->snapshot))
		return false;
	cached = look_up(dir, false);
	if (cached == NULL || cached->copy == NULL ||
		!TransactionIdPrecedes(cached->copy->newest, view->snapshot->xmin))
		return false;
	if (!unchanged(cached->copy, dir))
	{
		forget(cached);
		return false;
	}
	share(view, cached->copy);
	return true;
}

/* Note a page's LSN; false if some row of it is not settled. */
static bool
settled_page(GpucolDirectory *dir, BlockNumber block, TransactionId xmin,
			 XLogRecPtr *lsn, TransactionId *newest)
{
	Buffer		buffer = ReadBuffer(dir->toast, block);
	Page		page = BufferGetPage(buffer);
	bool		settled = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*lsn = BufferGetLSNAtomic(buffer);
	for (OffsetNumber i = FirstOffsetNumber; !PageIsNew(page) && settled &&
		 i <= PageGetMaxOffsetNumber(page); i++)
	{
		HeapTupleData tuple;

		gpucol_item_ahead(page, i);
		if (ItemIdIsNormal(PageGetItemId(page, i)))
			settled = gpucol_item_find(page, i, &tuple) &&
				gpucol_settled_tuple(tuple.t_data, xmin, newest);
	}
	UnlockReleaseBuffer(buffer);
	return settled;
}

/* Directory rows on a page, dead ones too; a bitmap counts as many. */
static uint32
count_rows(GpucolDirectory *dir, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(dir->toast, block);
	Page		page = BufferGetPage(buffer);
	uint32		rows = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	for (OffsetNumber i = FirstOffsetNumber; !PageIsNew(page) &&
		 i <= PageGetMaxOffsetNumber(page); i++)
	{
		HeapTupleData tuple;
		Oid			id;

		if (!ItemIdIsNormal(PageGetItemId(page, i)) || !gpucol_item_find(page, i, &tuple) ||
			tuple.t_len < tuple.t_data->t_hoff + sizeof(id))
			continue;
		memcpy(&id, (char *) tuple.t_data + tuple.t_data->t_hoff, sizeof(id));
		if (id < FirstNormalObjectId)
			rows += id >= GPUCOL_ID_BITMAP && id < GPUCOL_ID_BITMAP + GPUCOL_ID_SPAN ? DENSE_ROWS : 1;
	}
	UnlockReleaseBuffer(buffer);
	return rows;
}

/* Are so many pages worth a look at their LSNs? */
static bool
is_worth_it(GpucolDirectory *dir, const GpucolView *view, BlockNumber nblocks)
{
	uint32		rows = 0;

	if (nblocks <= MAX_BLOCKS(view->nsegments))
		return true;
	if (!view->any_deleted || nblocks > MAX_DENSE_BLOCKS)
		return false;
	for (uint32 i = 0; i < SAMPLED_PAGES; i++)
		rows += count_rows(dir, (BlockNumber) ((uint64) nblocks * i / SAMPLED_PAGES));
	return rows >= SAMPLED_PAGES * DENSE_ROWS;
}

/* A copy of a view, with one user. */
static Copy *
copy_view(const GpucolView *view)
{
	MemoryContext context = AllocSetContextCreate(CacheMemoryContext, "gpucol view",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Copy	   *copy = palloc(sizeof(Copy));
	Size		size = view->nsegments * sizeof(GpucolViewSegment);

	copy->context = context;
	copy->users = 1;
	copy->wal_end = InvalidXLogRecPtr;
	copy->view = *view;
	copy->view.tombstones = NULL;
	copy->deleted = NULL;
	copy->bytes = 0;
	copy->view.segments = MemoryContextAllocHuge(context, size);
	memcpy(copy->view.segments, view->segments, size);
	copy->view.gaps = gpucol_view_gaps(view, &copy->view.ngaps);
	MemoryContextSwitchTo(old);
	return copy;
}

void
gpucol_view_cache_store(GpucolView *view, GpucolDirectory *dir)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(dir->toast);
	TransactionId newest = InvalidTransactionId;
	XLogRecPtr *lsns;
	CachedView *cached;
	Copy	   *copy;

	if (!gpucol_settled_possible(dir->toast, view->snapshot) || view->nsegments == 0 ||
		!is_worth_it(dir, view, nblocks))
		return;
	lsns = palloc(Max(nblocks, 1) * sizeof(XLogRecPtr));
	/* the newest rows are on the last pages */
	for (BlockNumber block = nblocks; block-- > 0;)
	{
		if (!settled_page(dir, block, view->snapshot->xmin, &lsns[block], &newest))
		{
			pfree(lsns);
			return;
		}
	}
	cached = look_up(dir, true);
	forget(cached);
	copy = copy_view(view);
	copy->view.version = gpucol_view_version_new();
	copy->newest = newest;
	copy->nblocks = nblocks;
	copy->lsns = MemoryContextAlloc(copy->context, Max(nblocks, 1) * sizeof(XLogRecPtr));
	memcpy(copy->lsns, lsns, nblocks * sizeof(XLogRecPtr));
	pfree(lsns);
	cached->copy = copy;
	pfree(view->segments);
	share(view, copy);
}

/* The number of a view's segment in the copy that it shares, or -1. */
static int64
number_of(const GpucolView *view, const GpucolViewSegment *segment)
{
	if (view->copy == NULL || view->segments != view->copy->view.segments ||
		segment < view->segments || segment >= view->segments + view->nsegments)
		return -1;
	return segment - view->segments;
}

bool
gpucol_view_cache_deleted(const GpucolView *view, const GpucolViewSegment *segment,
						  const uint32 **deleted, uint32 *ndeleted)
{
	int64		number = number_of(view, segment);

	if (number < 0 || view->copy->deleted == NULL || !view->copy->deleted[number].known)
		return false;
	*deleted = view->copy->deleted[number].words;
	*ndeleted = view->copy->deleted[number].n;
	return true;
}

void
gpucol_view_cache_keep_deleted(const GpucolView *view, const GpucolViewSegment *segment,
							   const uint32 *deleted, uint32 nwords, uint32 ndeleted)
{
	int64		number = number_of(view, segment);
	Copy	   *copy = view->copy;
	uint32	   *words = NULL;

	if (number < 0)
		return;
	if (copy->deleted == NULL)
		copy->deleted = MemoryContextAllocExtended(copy->context,
												   copy->view.nsegments * sizeof(Deleted),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (ndeleted > 0)
	{
		words = gpucol_kept_words_copy(copy->context, &kept_bytes, deleted, nwords);
		if (words == NULL)
			return;
		copy->bytes += nwords * sizeof(uint32);
	}
	copy->deleted[number] = (Deleted) {true, ndeleted, words};
}
