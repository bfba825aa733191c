/*-------------------------------------------------------------------------
 *
 * directory_run.c
 *	  All rows of a range of keys at once.
 *
 * A statement that deletes many rows leaves as many tombstones, one behind the other in the index and
 * on the pages that it leads to.  Those of many statements, each of a row or two, lie on the pages in the
 * order of time, and in the index in the order of rows.  A scan (directory_scan.c) goes from the index to a row and
 * back, and locks the row's page for each.  Here some pages of the index are read as a whole, then the
 * rows of their entries, in the order of the pages on which these lie: those of one page under one lock.
 *
 * The same is checked as by a scan: pages of the index, that each
 * entry leads to a row of its key, and the row.  As there, the index pages are pinned meanwhile, which holds
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

/* Pages of the index that are read before the rows of their entries are, */
#define MOST_LEAVES		64
/* and the share of all buffers that they are at most. */
#define LEAVES_SHARE	64

/* An entry of the index. */
typedef struct RunEntry
{
	GpucolRowKey key;
	ItemPointerData tid;
	bool		seen;			/* the snapshot sees its row */
} RunEntry;

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

	/* pages of the index, which are pinned, and their entries in the order of keys */
	uint32		nleaves;
	Buffer		leaves[MOST_LEAVES];
	uint32		n;
	uint32		room;
	RunEntry   *entries;
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

/* Raise the error of an entry. */
static void
raise_problem(const Run *run, RunEntry *entry, const char *problem)
{
	gpucol_value_damaged(run->dir, &entry->tid, entry->key.id, entry->key.seq, problem);
}

/* Go where an index entry leads, on the locked page; what is wrong with it, or NULL. */
static const char *
visit(Run *run, RunEntry *entry)
{
	const char *problem = NULL;
	HeapTupleData tuple;
	GpucolDirectoryTuple row;

	entry->seen = gpucol_directory_look(run->dir, run->buffer, &entry->tid, entry->key, &tuple, &row,
										&problem) == GPUCOL_PLACE_ROW && is_seen(run, &row);
	return problem;
}

static BlockNumber
block_of(const RunEntry *entry)
{
	return ItemPointerGetBlockNumberNoCheck(&entry->tid);
}

/*
 * The entries' numbers in the order of the pages that they lead to.  Where there are
 * far more pages than entries they stay as they are.
 */
static uint32 *
order_by_page(const Run *run)
{
	uint32	   *order = palloc(run->n * sizeof(uint32));
	BlockNumber first = block_of(&run->entries[0]);
	BlockNumber last = first;
	uint32	   *starts;

	for (uint32 i = 0; i < run->n; i++)
	{
		order[i] = i;
		first = Min(first, block_of(&run->entries[i]));
		last = Max(last, block_of(&run->entries[i]));
	}
	if (last - first >= run->n)
		return order;
	starts = palloc0((last - first + 2) * sizeof(uint32));
	for (uint32 i = 0; i < run->n; i++)
		starts[block_of(&run->entries[i]) - first + 1]++;
	for (BlockNumber i = 1; i <= last - first; i++)
		starts[i] += starts[i - 1];
	for (uint32 i = 0; i < run->n; i++)
		order[starts[block_of(&run->entries[i]) - first]++] = i;
	pfree(starts);
	return order;
}

/* Look at the rows of those entries, from the i-th in this order on, that lead to the same page; the next one's. */
static uint32
visit_page(Run *run, const uint32 *order, uint32 i)
{
	RunEntry   *entry = &run->entries[order[i]];
	BlockNumber block = block_of(entry);
	const char *problem = NULL;

	if (!pin_page(run, block))
		raise_problem(run, entry, "lies behind the end of the relation");
	LockBuffer(run->buffer, BUFFER_LOCK_SHARE);
	do
	{
		entry = &run->entries[order[i++]];
		if (i < run->n)
			gpucol_item_ahead(BufferGetPage(run->buffer),
							  ItemPointerGetOffsetNumberNoCheck(&run->entries[order[i]].tid));
		problem = visit(run, entry);
	} while (problem == NULL && i < run->n && block_of(&run->entries[order[i]]) == block);
	LockBuffer(run->buffer, BUFFER_LOCK_UNLOCK);
	if (problem != NULL)
		raise_problem(run, entry, problem);
	return i;
}

/* Take the rows that the snapshot sees, in the order of keys. */
static void
take_seen(Run *run)
{
	for (uint32 i = 0; i < run->n; i++)
	{
		RunEntry   *entry = &run->entries[i];

		if (!entry->seen)
			continue;
		if (run->any && run->seen.id == entry->key.id && run->seen.seq == entry->key.seq)
			raise_problem(run, entry, "stands there twice");
		run->any = true;
		run->seen = entry->key;
		run->take(gpucol_directory_number(run->base, entry->key.id, entry->key.seq), run->arg);
	}
}

/* Go where the entries that were read lead, and let go of their pages. */
static void
visit_all(Run *run)
{
	if (run->n > 0)
	{
		uint32	   *order = order_by_page(run);

		for (uint32 i = 0; i < run->n;)
			i = visit_page(run, order, i);
		take_seen(run);
		pfree(order);
	}
	for (uint32 i = 0; i < run->nleaves; i++)
		ReleaseBuffer(run->leaves[i]);
	run->nleaves = 0;
	run->n = 0;
}

/* Add the entries of a page of the index, which gets one more pin. */
static void
add_leaf(Run *run, const GpucolIndexLeaf *leaf)
{
	if (leaf->n == 0)
		return;
	if (run->n + leaf->n > run->room)
	{
		run->room = Max(2 * run->room, run->n + leaf->n);
		run->entries = run->entries == NULL ? palloc(run->room * sizeof(RunEntry)) :
			repalloc(run->entries, run->room * sizeof(RunEntry));
	}
	for (uint32 i = 0; i < leaf->n; i++)
		run->entries[run->n++] = (RunEntry) {.key = leaf->keys[i], .tid = leaf->tids[i]};
	IncrBufferRefCount(leaf->buffer);
	run->leaves[run->nleaves++] = leaf->buffer;
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
	uint32		most = Max(Min(MOST_LEAVES, NBuffers / LEAVES_SHARE), 1);

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
		add_leaf(&run, leaf);
		if (run.nleaves == most)
			visit_all(&run);
	}
	visit_all(&run);
	if (BufferIsValid(run.buffer))
		ReleaseBuffer(run.buffer);
	if (run.entries != NULL)
		pfree(run.entries);
	pfree(leaf);
}
