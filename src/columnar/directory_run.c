/*-------------------------------------------------------------------------
 *
 * directory_run.c
 *	  All rows of a range of keys at once.
 *
 * A statement that deletes many rows leaves as many tombstones, one behind the other in the index and
 * on the pages that it leads to.  A scan (directory_scan.c) goes from the index to a row and
 * back, and locks the row's page for each.  Here a page of the index is read as a whole, then the
 * rows of its entries, those of one page under one lock.
 *
 * The same is checked as by a scan, and in the same order: pages of the index, that each
 * entry leads to a row of its key, and the row.  As there, the index page is pinned meanwhile, which holds
 * VACUUM off.  Entries of dead rows are not marked.
 *
 * Serializable transactions note what they look at, and so scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "columnar/directory.h"
#include "columnar/directory_index.h"
#include "columnar/directory_value.h"
#include "columnar/item.h"
#include "columnar/settled.h"

typedef struct Run
{
	GpucolDirectory *dir;
	Snapshot	snapshot;
	Oid			base;
	GpucolDirectoryTake take;
	void	   *arg;
	Buffer		buffer;			/* of the page that was looked at last */
	bool		any;			/* a row was seen, of this key: */
	GpucolRowKey seen;
	const char *problem;		/* of an entry */
} Run;

/* The same by a scan. */
static void
scan_rows(Run *run, uint64 from, uint64 to)
{
	GpucolDirectoryScan scan;
	GpucolDirectoryTuple row;

	gpucol_directory_scan_begin(&scan, run->dir, run->snapshot, run->base, from, to,
								ForwardScanDirection);
	while (gpucol_directory_scan_next(&scan, &row))
		run->take(gpucol_directory_number(run->base, row.id, row.seq), run->arg);
	gpucol_directory_scan_end(&scan);
}

/* Pin a page of the TOAST relation; false if that ends before. */
static bool
pin_page(Run *run, BlockNumber block)
{
	GpucolDirectory *dir = run->dir;

	if (block >= dir->nblocks)
		dir->nblocks = RelationGetNumberOfBlocks(dir->toast);
	if (block >= dir->nblocks)
		return false;
	run->buffer = ReleaseAndReadBuffer(run->buffer, dir->toast, block);
	return true;
}

/* Does the snapshot see a row whose page is locked? */
static bool
is_seen(const Run *run, const GpucolDirectoryTuple *row)
{
	return gpucol_settled_is_seen(row->tuple->t_data, run->snapshot->xmin) ||
		HeapTupleSatisfiesVisibility(row->tuple, run->snapshot, row->buffer);
}

/* Go where an index entry leads, on the locked page. */
static void
visit(Run *run, GpucolRowKey key, const ItemPointerData *place)
{
	HeapTupleData tuple;
	GpucolDirectoryTuple row;

	gpucol_item_ahead(BufferGetPage(run->buffer), ItemPointerGetOffsetNumberNoCheck(place));
	if (gpucol_directory_look(run->dir, run->buffer, unconstify(ItemPointerData *, place), key,
							  &tuple, &row, &run->problem) != GPUCOL_PLACE_ROW ||
		!is_seen(run, &row))
		return;
	if (run->any && run->seen.id == key.id && run->seen.seq == key.seq)
		run->problem = "stands there twice";
	run->any = true;
	run->seen = key;
	run->take(gpucol_directory_number(run->base, key.id, key.seq), run->arg);
}

/* Go where the entries of a page of the index lead. */
static void
visit_all(Run *run, const GpucolIndexLeaf *leaf)
{
	uint32		i = 0;

	while (i < leaf->n)
	{
		BlockNumber block = ItemPointerGetBlockNumberNoCheck(&leaf->tids[i]);
		uint32		first = i;

		if (!pin_page(run, block))
			run->problem = "lies behind the end of the relation";
		else
		{
			LockBuffer(run->buffer, BUFFER_LOCK_SHARE);
			for (; i < leaf->n && run->problem == NULL &&
				 ItemPointerGetBlockNumberNoCheck(&leaf->tids[i]) == block; i++)
				visit(run, leaf->keys[i], &leaf->tids[i]);
			LockBuffer(run->buffer, BUFFER_LOCK_UNLOCK);
			first = i - 1;
		}
		if (run->problem != NULL)
			gpucol_value_damaged(run->dir, &leaf->tids[first], leaf->keys[first].id,
								 leaf->keys[first].seq, run->problem);
	}
}

void
gpucol_directory_run(GpucolDirectory *dir, Snapshot snapshot, Oid base, uint64 from, uint64 to,
					 GpucolDirectoryTake take, void *arg)
{
	Run			run = {.dir = dir, .snapshot = snapshot, .base = base, .take = take, .arg = arg};
	GpucolIndexLeaf *leaf;
	GpucolRowKey first;
	GpucolRowKey last;
	Relation	index;
	MemoryContext old;

	if (!gpucol_settled_by_header(snapshot) || dir->note_damage != NULL)
	{
		scan_rows(&run, from, to);
		return;
	}
	(void) gpucol_directory_identity(dir);
	old = MemoryContextSwitchTo(dir->context);
	gpucol_directory_open_indexes(dir);
	MemoryContextSwitchTo(old);
	index = dir->indexes[dir->valid];
	gpucol_directory_key(base, from, &first.id, &first.seq);
	gpucol_directory_key(base, to, &last.id, &last.seq);
	leaf = palloc(sizeof(GpucolIndexLeaf));
	for (bool more = gpucol_index_first_leaf(dir, index, first, last, !snapshot->takenDuringRecovery, leaf);
		 more; more = gpucol_index_next_leaf(dir, index, first, last, leaf))
	{
		CHECK_FOR_INTERRUPTS();
		visit_all(&run, leaf);
	}
	if (BufferIsValid(run.buffer))
		ReleaseBuffer(run.buffer);
	pfree(leaf);
}
