/*-------------------------------------------------------------------------
 *
 * view_cache.c
 *	  A backend's copies of segment directories that no longer change.
 *
 * A table of a billion rows has a thousand directory rows, which take longer to
 * read than a device needs to scan the table.  They lie on a few dozen pages.  A
 * copy of what one snapshot saw holds for another one as long as
 *
 *	  every page still has the LSN that it had, so that no row came, went or was
 *	  touched (every change of a heap page is logged, hint bits apart), and
 *
 *	  every row was settled for both: the transactions that wrote or deleted it had
 *	  ended before the snapshot's oldest running one began.
 *
 * Serializable transactions read the rows themselves, for their predicate locks;
 * tables that are not WAL-logged have no LSNs to go by, and a few directory rows among
 * many tombstones or TOAST pages are read sooner than the LSNs of the pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "columnar/view_cache.h"
#include "compat.h"

/*
 * Pages, TOAST values and tombstones included, beyond which a directory of a number of
 * segments is not kept: three times what their entries fill, and a few.
 */
#define MAX_BLOCKS(nsegments)	(8 + (nsegments) / 8)

typedef struct CacheKey
{
	Oid			space;
	Oid			file;			/* of the TOAST relation */
} CacheKey;

typedef struct CachedView
{
	CacheKey	key;
	MemoryContext context;		/* of what follows; NULL if nothing is kept */
	TransactionId newest;		/* that wrote or deleted a row */
	BlockNumber nblocks;
	XLogRecPtr *lsns;
	GpucolView	view;			/* its table and snapshot are gone */
} CachedView;

static HTAB *cache = NULL;

/* May a view come from the cache, or go there? */
static bool
cachable(const GpucolView *view, GpucolDirectory *dir)
{
	return view->snapshot->snapshot_type == SNAPSHOT_MVCC &&
		!IsolationIsSerializable() && RelationNeedsWAL(dir->toast);
}

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
		cached->context = NULL;
	return cached;
}

static void
forget(CachedView *cached)
{
	if (cached->context != NULL)
		MemoryContextDelete(cached->context);
	cached->context = NULL;
}

/* Do the pages have the LSNs that they had? */
static bool
unchanged(const CachedView *cached, GpucolDirectory *dir)
{
	if (RelationGetNumberOfBlocks(dir->toast) != cached->nblocks)
		return false;
	for (BlockNumber block = 0; block < cached->nblocks; block++)
	{
		Buffer		buffer = ReadBuffer(dir->toast, block);
		XLogRecPtr	lsn = BufferGetLSNAtomic(buffer);

		ReleaseBuffer(buffer);
		if (lsn != cached->lsns[block])
			return false;
	}
	return true;
}

bool
gpucol_view_cache_find(GpucolView *view, GpucolDirectory *dir)
{
	CachedView *cached;
	Size		size;

	if (!cachable(view, dir))
		return false;
	cached = look_up(dir, false);
	if (cached == NULL || cached->context == NULL ||
		!TransactionIdPrecedes(cached->newest, view->snapshot->xmin))
		return false;
	if (!unchanged(cached, dir))
	{
		forget(cached);
		return false;
	}
	size = Max(cached->view.nsegments, 1) * sizeof(GpucolViewSegment);
	view->segments = MemoryContextAllocHuge(CurrentMemoryContext, size);
	memcpy(view->segments, cached->view.segments, cached->view.nsegments * sizeof(GpucolViewSegment));
	view->nsegments = cached->view.nsegments;
	view->any_deleted = cached->view.any_deleted;
	view->rows = cached->view.rows;
	view->pages = cached->view.pages;
	view->version = cached->view.version;
	return true;
}

/* Had a transaction ended before the snapshot's oldest running one?  Note it. */
static bool
settled_xid(TransactionId xid, TransactionId xmin, TransactionId *newest)
{
	if (!TransactionIdIsNormal(xid))
		return true;
	if (!TransactionIdPrecedes(xid, xmin))
		return false;
	if (TransactionIdPrecedes(*newest, xid))
		*newest = xid;
	return true;
}

static bool
settled_tuple(HeapTupleHeader tuple, TransactionId xmin, TransactionId *newest)
{
	if (!HeapTupleHeaderXminFrozen(tuple) &&
		!settled_xid(HeapTupleHeaderGetRawXmin(tuple), xmin, newest))
		return false;
	if (tuple->t_infomask & HEAP_XMAX_INVALID)
		return true;
	return !(tuple->t_infomask & HEAP_XMAX_IS_MULTI) &&
		settled_xid(HeapTupleHeaderGetRawXmax(tuple), xmin, newest);
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
		ItemId		item = PageGetItemId(page, i);

		if (ItemIdIsNormal(item))
			settled = settled_tuple((HeapTupleHeader) PageGetItem(page, item), xmin, newest);
	}
	UnlockReleaseBuffer(buffer);
	return settled;
}

void
gpucol_view_cache_store(GpucolView *view, GpucolDirectory *dir)
{
	static uint64 last_version = 0;
	BlockNumber nblocks = RelationGetNumberOfBlocks(dir->toast);
	TransactionId newest = InvalidTransactionId;
	XLogRecPtr *lsns;
	CachedView *cached;
	MemoryContext context;

	if (!cachable(view, dir) || view->nsegments == 0 ||
		nblocks > MAX_BLOCKS(view->nsegments))
		return;
	lsns = palloc(Max(nblocks, 1) * sizeof(XLogRecPtr));
	for (BlockNumber block = 0; block < nblocks; block++)
	{
		if (!settled_page(dir, block, view->snapshot->xmin, &lsns[block], &newest))
		{
			pfree(lsns);
			return;
		}
	}
	cached = look_up(dir, true);
	forget(cached);
	context = AllocSetContextCreate(CacheMemoryContext, "gpucol view", ALLOCSET_DEFAULT_SIZES);
	view->version = ++last_version;
	cached->newest = newest;
	cached->nblocks = nblocks;
	cached->lsns = MemoryContextAlloc(context, Max(nblocks, 1) * sizeof(XLogRecPtr));
	memcpy(cached->lsns, lsns, nblocks * sizeof(XLogRecPtr));
	cached->view = *view;
	cached->view.segments = MemoryContextAllocHuge(context, view->nsegments * sizeof(GpucolViewSegment));
	memcpy(cached->view.segments, view->segments, view->nsegments * sizeof(GpucolViewSegment));
	cached->context = context;
	pfree(lsns);
}
