/*-------------------------------------------------------------------------
 *
 * delta_pages.c
 *	  Pages of the delta that are known to hold nothing.
 *
 * A merge leaves dead rows on the pages of the delta, and VACUUM empty pages, which
 * lie between the segments.  Reading some dozens of them takes as long as a device needs
 * for hundreds of millions of rows.  So a session keeps in mind which pages had no row
 * that its snapshot saw: that holds for as long as the page keeps its LSN, for
 * snapshots that find the rows settled (settled.h).
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

#include "columnar/delta_pages.h"
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

/* Does the snapshot see no row of a page, and so no later snapshot? */
static bool
is_empty(Relation rel, Snapshot snapshot, Buffer buffer, TransactionId *newest)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);

	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		ItemId		item = PageGetItemId(page, i);
		HeapTupleData tuple;

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), i);
		if (!gpucol_settled_tuple(tuple.t_data, snapshot->xmin, newest) ||
			HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			return false;
	}
	return true;
}

/* The same, from memory if possible. */
static bool
is_known_empty(Relation rel, Snapshot snapshot, BlockNumber block)
{
	Oid			space = gpucol_compat_relation_space(rel);
	Oid			file = gpucol_compat_relation_file(rel);
	KnownPage  *known = &known_pages[(file * 31 + block) % KNOWN_PAGES];
	Buffer		buffer = ReadBuffer(rel, block);
	XLogRecPtr	lsn = BufferGetLSNAtomic(buffer);
	TransactionId newest = InvalidTransactionId;
	bool		empty;

	if (known->file == file && known->space == space && known->block == block &&
		known->lsn == lsn && TransactionIdPrecedes(known->newest, snapshot->xmin))
	{
		ReleaseBuffer(buffer);
		return true;
	}
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = BufferGetLSNAtomic(buffer);
	empty = is_empty(rel, snapshot, buffer, &newest);
	UnlockReleaseBuffer(buffer);
	if (empty && !XLogRecPtrIsInvalid(lsn))
		*known = (KnownPage)
		{
			space, file, block, newest, lsn
		};
	return empty;
}

void
gpucol_delta_pages_skip(Relation rel, Snapshot snapshot, GpucolBlockRange **ranges,
						uint32 *nranges)
{
	GpucolBlockRange *kept;
	uint64		npages = 0;
	uint32		n = 0;

	for (uint32 i = 0; i < *nranges; i++)
		npages += (*ranges)[i].nblocks;
	if (npages == 0 || npages > KNOWN_PAGES || !gpucol_settled_possible(rel, snapshot))
		return;
	kept = palloc(npages * sizeof(GpucolBlockRange));
	for (uint32 i = 0; i < *nranges; i++)
	{
		BlockNumber start = (*ranges)[i].start;
		bool		open = false;

		for (BlockNumber block = start; block < start + (*ranges)[i].nblocks; block++)
		{
			if (is_known_empty(rel, snapshot, block))
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
