/*-------------------------------------------------------------------------
 *
 * delta_pages.c
 *	  Pages of the delta that are known to hold nothing.
 *
 * A merge leaves dead rows on the pages of the delta, and VACUUM empty pages, which
 * lie between the segments.  Reading some dozens of them takes as long as a device needs
 * for hundreds of millions of rows.  So a session keeps in mind which pages had no row
 * that its snapshot saw: that holds for as long as the page keeps its LSN, for
 * snapshots that find the rows settled (settled.h).  That a whole delta is empty holds
 * without a look at its pages as long as nothing is logged.
 *
 * A page that does hold rows is given up at the first one, so that looking for empty
 * pages costs little where there are none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/transam.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "columnar/delta_cache.h"
#include "columnar/delta_pages.h"
#include "columnar/item.h"
#include "columnar/settled.h"
#include "compat.h"

/* Pages that are kept in mind, and that are looked at for one scan. */
#define KNOWN_PAGES		1024

/* A page without rows. */
typedef struct KnownPage
{
	Oid			space;
	Oid			file;			/* invalid = nothing known */
	BlockNumber block;
	TransactionId newest;		/* that wrote or deleted a row which is still there */
	XLogRecPtr	lsn;
} KnownPage;

static KnownPage known_pages[KNOWN_PAGES];

/* A delta without rows. */
typedef struct KnownDelta
{
	uint64		version;		/* of the view; 0 = nothing known */
	uint64		npages;			/* beside the view's segments */
	TransactionId newest;		/* of all pages */
	XLogRecPtr	wal_end;
} KnownDelta;

#define KNOWN_DELTAS	64

static KnownDelta known_deltas[KNOWN_DELTAS];

/* Does the snapshot see no row of a page, and so no later snapshot? */
static bool
is_empty(Relation rel, Snapshot snapshot, Buffer buffer, TransactionId *newest)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		HeapTupleData tuple;

		if (!ItemIdIsNormal(PageGetItemId(page, i)))
			continue;
		if (!gpucol_item_find(page, i, &tuple))
			return false;
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), i);
		if (!gpucol_settled_tuple(tuple.t_data, snapshot->xmin, newest) ||
			HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			return false;
	}
	return true;
}

/* The later of two transactions, of which either may be none. */
static TransactionId
later_xid(TransactionId a, TransactionId b)
{
	return TransactionIdPrecedes(a, b) ? b : a;
}

/* The same, from memory if possible; *newest is raised. */
static bool
is_known_empty(Relation rel, Snapshot snapshot, BlockNumber block, TransactionId *newest)
{
	Oid			space = gpucol_compat_relation_space(rel);
	Oid			file = gpucol_compat_relation_file(rel);
	KnownPage  *known = &known_pages[(file * 31 + block) % KNOWN_PAGES];
	Buffer		buffer = ReadBuffer(rel, block);
	XLogRecPtr	lsn = BufferGetLSNAtomic(buffer);
	TransactionId last = InvalidTransactionId;
	bool		empty;

	if (known->file == file && known->space == space && known->block == block &&
		known->lsn == lsn && TransactionIdPrecedes(known->newest, snapshot->xmin))
	{
		ReleaseBuffer(buffer);
		*newest = later_xid(*newest, known->newest);
		return true;
	}
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = BufferGetLSNAtomic(buffer);
	empty = is_empty(rel, snapshot, buffer, &last);
	UnlockReleaseBuffer(buffer);
	if (empty && !XLogRecPtrIsInvalid(lsn))
		*known = (KnownPage)
		{
			space, file, block, last, lsn
		};
	*newest = later_xid(*newest, last);
	return empty;
}

/* Is a view's delta of so many pages known to be empty? */
static bool
is_known_delta(const GpucolView *view, uint64 npages, XLogRecPtr wal_end)
{
	const KnownDelta *known = &known_deltas[view->version % KNOWN_DELTAS];

	return view->version != 0 && known->version == view->version &&
		known->npages == npages && !XLogRecPtrIsInvalid(wal_end) &&
		known->wal_end == wal_end &&
		TransactionIdPrecedes(known->newest, view->snapshot->xmin);
}

/* Take the empty pages out of the ranges; *newest is raised. */
static void
skip_empty(const GpucolView *view, GpucolBlockRange **ranges, uint32 *nranges,
		   uint64 npages, TransactionId *newest)
{
	GpucolBlockRange *kept = palloc(npages * sizeof(GpucolBlockRange));
	uint32		n = 0;

	for (uint32 i = 0; i < *nranges; i++)
	{
		BlockNumber start = (*ranges)[i].start;
		bool		open = false;

		for (BlockNumber block = start; block < start + (*ranges)[i].nblocks; block++)
		{
			if (is_known_empty(view->table, view->snapshot, block, newest))
				open = false;
			else if (open)
				kept[n - 1].nblocks++;
			else
			{
				kept[n++] = (GpucolBlockRange) {block, 1};
				open = true;
			}
		}
	}
	pfree(*ranges);
	*ranges = kept;
	*nranges = n;
}

void
gpucol_delta_pages_skip(const GpucolView *view, GpucolBlockRange **ranges, uint32 *nranges)
{
	XLogRecPtr	wal_end = gpucol_settled_wal_end();
	TransactionId newest = InvalidTransactionId;
	uint64		npages = 0;

	for (uint32 i = 0; i < *nranges; i++)
		npages += (*ranges)[i].nblocks;
	if (npages == 0 || npages > KNOWN_PAGES ||
		!gpucol_settled_possible(view->table, view->snapshot))
		return;
	if (is_known_delta(view, npages, wal_end))
	{
		*nranges = 0;
		return;
	}
	/* a delta that is kept in columns is passed by sooner where it is empty */
	if (gpucol_delta_cache_has(view->table))
		return;
	skip_empty(view, ranges, nranges, npages, &newest);
	if (*nranges == 0 && view->version != 0)
		known_deltas[view->version % KNOWN_DELTAS] = (KnownDelta)
		{
			view->version, npages, newest, wal_end
		};
}
