/*-------------------------------------------------------------------------
 *
 * fold_count.c
 *	  The directory row that says when bitmaps changed last, and of how many rows indexes may
 *	  still have entries.
 *
 * It is changed in place and before what it tells of, whatever becomes of the transaction: a crash
 * keeps the order.  Whoever changes it holds ShareUpdateExclusiveLock of the table.
 *
 * Whoever has read bitmaps under a snapshot for which the transaction that the row names had ended
 * has what all those see for which it had ended, too, as long as the row is the same.  Who folds later names himself
 * first, and is running for the snapshots of before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "utils/snapmgr.h"

#include "columnar/fold_count.h"
#include "columnar/settled.h"

TransactionId
gpucol_fold_count_later(TransactionId a, TransactionId b)
{
	if (!TransactionIdIsValid(a) || !TransactionIdIsValid(b))
		return TransactionIdIsValid(a) ? a : b;
	return TransactionIdFollows(a, b) ? a : b;
}

/* Write the row in place of what it was. */
static void
write_count(GpucolDirectory *dir, GpucolFoldCount *count, ItemPointer tid)
{
	count->generation++;
	gpucol_directory_overwrite(dir, tid, count, sizeof(*count));
}

void
gpucol_fold_count_begin(GpucolDirectory *dir, uint64 early, TransactionId newest)
{
	GpucolFoldCount count = {0};
	ItemPointerData tid;

	gpucol_directory_make(dir, GPUCOL_ID_FOLD_COUNT, &count, sizeof(count), &tid);
	if (early > 0)
	{
		count.rows += early;
		count.newest = gpucol_fold_count_later(count.newest, newest);
	}
	count.folder = GetCurrentTransactionId();
	write_count(dir, &count, &tid);
}

uint64
gpucol_fold_count_early(GpucolDirectory *dir, TransactionId *newest)
{
	GpucolFoldCount count = {0};
	ItemPointerData tid;

	(void) gpucol_directory_find(dir, GPUCOL_ID_FOLD_COUNT, &count, sizeof(count), &tid);
	*newest = count.newest;
	return count.rows;
}

void
gpucol_fold_count_clean(GpucolDirectory *dir)
{
	GpucolFoldCount count;
	ItemPointerData tid;

	if (!gpucol_directory_find(dir, GPUCOL_ID_FOLD_COUNT, &count, sizeof(count), &tid) || count.rows == 0)
		return;
	count.rows = 0;
	count.newest = InvalidTransactionId;
	write_count(dir, &count, &tid);
}

void
gpucol_fold_count_freeze(GpucolDirectory *dir)
{
	GpucolFoldCount count;
	ItemPointerData tid;

	if (!gpucol_directory_find(dir, GPUCOL_ID_FOLD_COUNT, &count, sizeof(count), &tid) ||
		!TransactionIdIsNormal(count.newest) ||
		!TransactionIdPrecedes(count.newest, dir->toast->rd_rel->relfrozenxid))
		return;
	count.newest = InvalidTransactionId;
	write_count(dir, &count, &tid);
}

GpucolFoldState
gpucol_fold_count_state(GpucolDirectory *dir, Snapshot snapshot)
{
	const GpucolFoldState unknown = {0};
	GpucolFoldCount count;
	ItemPointerData tid;

	if (!gpucol_settled_possible(dir->toast, snapshot) || !gpucol_directory_is_lasting(dir->table) ||
		!gpucol_directory_find(dir, GPUCOL_ID_FOLD_COUNT, &count, sizeof(count), &tid) ||
		!TransactionIdPrecedes(count.folder, snapshot->xmin))
		return unknown;
	return (GpucolFoldState) {count.generation, count.folder};
}
