/*-------------------------------------------------------------------------
 *
 * directory_pages.c
 *	  Pages of a TOAST relation, looked at before VACUUM relies upon them.
 *
 * VACUUM does what cannot be undone: it deletes the index entries of rows whose segment it
 * does not find, and gives their pages to other segments.  And heap's VACUUM of the TOAST
 * relation, which comes next, moves tuples about on their pages; a line pointer that
 * leads out of its page stops the server then.  So the pages are looked at before, as they
 * lie, without the index.
 *
 * Pages that are frozen in long runs are passed by, as heap's VACUUM does, unless row
 * numbers seem to be lost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "columnar/directory_pages.h"
#include "columnar/directory_value.h"

/* Frozen pages in a row that heap's VACUUM does not read (SKIP_PAGES_THRESHOLD). */
#define SKIPPED_PAGES	32

/* Directory rows have chunk_ids below this. */
#define FIRST_VALUE_ID	10000

/* The first block from `block` on behind a long run of frozen ones, if it begins one. */
static BlockNumber
skip_frozen(Relation toast, BlockNumber block, BlockNumber nblocks, Buffer *map)
{
	BlockNumber end = block;

	while (end < nblocks && VM_ALL_FROZEN(toast, end, map))
		end++;
	return end - block < SKIPPED_PAGES ? block : end;
}

/* Check a good row of a locked page that is a segment's entry. */
static const char *
entry_problem(const GpucolDirectoryTuple *row, const GpucolCoverage *coverage,
			  TransactionId oldest_xmin)
{
	if (gpucol_value_kind(row->id)->base != GPUCOL_ID_SEGMENT ||
		gpucol_coverage_has_row(coverage,
								gpucol_directory_number(GPUCOL_ID_SEGMENT, row->id, row->seq)))
		return NULL;
	if (HeapTupleSatisfiesVacuum(row->tuple, oldest_xmin, row->buffer) == HEAPTUPLE_DEAD)
		return NULL;
	return "is not found by the index";
}

/* Check a page; an error ends it. */
static void
check_page(GpucolDirectory *dir, BlockNumber block, const GpucolCoverage *coverage,
		   TransactionId oldest_xmin, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBufferExtended(dir->toast, MAIN_FORKNUM, block, RBM_NORMAL,
											strategy);
	Page		page = BufferGetPage(buffer);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	for (OffsetNumber i = FirstOffsetNumber;
		 !PageIsNew(page) && i <= PageGetMaxOffsetNumber(page); i++)
	{
		HeapTupleData tuple;
		GpucolDirectoryTuple row;
		ItemPointerData tid;
		const char *problem;

		if (!ItemIdHasStorage(PageGetItemId(page, i)))
			continue;
		ItemPointerSet(&tid, block, i);
		if (!gpucol_value_find(page, &tid, &tuple))
			gpucol_value_damaged(dir, &tid, InvalidOid, 0, "is no TOAST row");
		tuple.t_tableOid = RelationGetRelid(dir->toast);
		gpucol_value_read(&tuple, buffer, &row);
		if (row.id >= FIRST_VALUE_ID)
			continue;
		problem = gpucol_value_problem(dir->table, dir->identity, &row);
		if (problem == NULL)
			problem = entry_problem(&row, coverage, oldest_xmin);
		if (problem != NULL)
			gpucol_value_damaged(dir, &tid, row.id, row.seq, problem);
	}
	UnlockReleaseBuffer(buffer);
}

void
gpucol_directory_check_pages(GpucolDirectory *dir, const GpucolCoverage *coverage, bool all)
{
	TransactionId oldest_xmin = GetOldestNonRemovableTransactionId(dir->toast);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_VACUUM);
	BlockNumber nblocks = RelationGetNumberOfBlocks(dir->toast);
	Buffer		map = InvalidBuffer;
	BlockNumber block = 0;

	(void) gpucol_directory_identity(dir);
	while (block < nblocks)
	{
		BlockNumber next = all ? block : skip_frozen(dir->toast, block, nblocks, &map);

		CHECK_FOR_INTERRUPTS();
		if (next == block)
			check_page(dir, block++, coverage, oldest_xmin, strategy);
		else
			block = next;
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	FreeAccessStrategy(strategy);
}
