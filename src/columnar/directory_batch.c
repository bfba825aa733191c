/*-------------------------------------------------------------------------
 *
 * directory_batch.c
 *	  Many directory rows of one kind, inserted at once.
 *
 * heap_multi_insert cannot be told that rows are not to be decoded.  So the first row of a page is inserted by
 * heap_insert, which finds the page, or makes it, and clears what says that all on it are visible.  Others of the
 * same transaction follow on the page, as many as it has room for, and are logged by heap's own record of several
 * rows, without what decoding asks for: it passes over them.
 *
 * Entries go to the index a page at a time (directory_index.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heapam_xlog.h"
#include "access/hio.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "columnar/directory.h"
#include "columnar/directory_index.h"
#include "columnar/directory_value.h"

/* Rows that are inserted at a time. */
#define BATCH	128

/* Bytes of such a row at most. */
#define ROW_BYTES	64

typedef struct Batch
{
	GpucolDirectory *dir;
	uint32		n;
	GpucolRowKey keys[BATCH];
	HeapTuple	tuples[BATCH];
	ItemPointerData tids[BATCH];
} Batch;

/* Mark a tuple as this transaction's, as heap_insert does. */
static void
own_tuple(Relation toast, HeapTuple tuple, CommandId cid)
{
	HeapTupleHeader header = tuple->t_data;

	header->t_infomask &= ~HEAP_XACT_MASK;
	header->t_infomask2 &= ~HEAP2_XACT_MASK;
	header->t_infomask |= HEAP_XMAX_INVALID;
	HeapTupleHeaderSetXmin(header, GetCurrentTransactionId());
	HeapTupleHeaderSetCmin(header, cid);
	HeapTupleHeaderSetXmax(header, 0);
	tuple->t_tableOid = RelationGetRelid(toast);
}

/* Log n rows that have been put on a page. */
static void
log_rows(Buffer buffer, const HeapTuple *tuples, uint32 n)
{
	union
	{
		xl_heap_multi_insert head;
		char		space[SizeOfHeapMultiInsert + BATCH * sizeof(OffsetNumber)];
	}			record;
	char		data[BATCH * ROW_BYTES];
	char	   *end = data;
	XLogRecPtr	at;

	record.head.flags = 0;
	record.head.ntuples = n;
	for (uint32 i = 0; i < n; i++)
	{
		const HeapTupleHeaderData *header = tuples[i]->t_data;
		uint32		length = tuples[i]->t_len - SizeofHeapTupleHeader;
		xl_multi_insert_tuple *row = (xl_multi_insert_tuple *) SHORTALIGN(end);

		record.head.offsets[i] = ItemPointerGetOffsetNumber(&tuples[i]->t_self);
		row->datalen = length;
		row->t_infomask2 = header->t_infomask2;
		row->t_infomask = header->t_infomask;
		row->t_hoff = header->t_hoff;
		end = (char *) row + SizeOfMultiInsertTuple;
		memcpy(end, (const char *) header + SizeofHeapTupleHeader, length);
		end += length;
	}
	XLogBeginInsert();
	XLogRegisterData((char *) &record, SizeOfHeapMultiInsert + n * sizeof(OffsetNumber));
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
	XLogRegisterBufData(0, data, end - data);
	at = XLogInsert(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT);
	PageSetLSN(BufferGetPage(buffer), at);
}

/* Put tuples on a page that has one of this transaction, as many as there is room for. */
static uint32
fill_page(Relation toast, BlockNumber block, HeapTuple *tuples, uint32 n)
{
	Buffer		buffer = ReadBuffer(toast, block);
	Page		page = BufferGetPage(buffer);
	uint32		done = 0;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	while (done < n && PageGetHeapFreeSpace(page) >= MAXALIGN(tuples[done]->t_len))
		RelationPutHeapTuple(toast, buffer, tuples[done++], false);
	if (done > 0)
	{
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(toast))
			log_rows(buffer, tuples, done);
	}
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
	pgstat_count_heap_insert(toast, done);
	return done;
}

static void
insert_rows(Batch *batch, CommandId cid)
{
	Relation	toast = batch->dir->toast;
	uint32		done = 0;

	while (done < batch->n)
	{
		HeapTuple	first = batch->tuples[done++];

		heap_insert(toast, first, cid, HEAP_INSERT_NO_LOGICAL, NULL);
		if (done < batch->n)
			done += fill_page(toast, ItemPointerGetBlockNumber(&first->t_self), &batch->tuples[done],
							  batch->n - done);
	}
	for (uint32 i = 0; i < batch->n; i++)
		batch->tids[i] = batch->tuples[i]->t_self;
}

static void
enter_rows(Batch *batch, int number)
{
	GpucolDirectory *dir = batch->dir;
	Relation	index = dir->indexes[number];
	uint32		done = 0;

	while (done < batch->n)
	{
		const GpucolRowKey *key = &batch->keys[done];
		uint32		entered = gpucol_index_enter(dir, index, key, &batch->tids[done], batch->n - done);

		/* go to the page of the next one, if that is another */
		if (entered == 0 && gpucol_index_lacks(dir, index, *key))
			entered = gpucol_index_enter(dir, index, key, &batch->tids[done], batch->n - done);
		if (entered == 0)
		{
			gpucol_directory_enter(dir, number, *key, &batch->tids[done], true);
			entered = 1;
		}
		done += entered;
	}
}

static void
insert_batch(GpucolDirectory *dir, Oid base, const uint64 *numbers, const char *data, Size size, uint32 n,
			 CommandId cid)
{
	Batch		batch = {.dir = dir, .n = n};
	uint64		identity = gpucol_directory_identity(dir);

	for (uint32 i = 0; i < n; i++)
	{
		GpucolRowKey *key = &batch.keys[i];

		gpucol_directory_key(base, numbers[i], &key->id, &key->seq);
		batch.tuples[i] = gpucol_value_form(dir->toast, identity, key->id, key->seq, data + i * size, size);
		own_tuple(dir->toast, batch.tuples[i], cid);
	}
	insert_rows(&batch, cid);
	gpucol_directory_open_indexes(dir);
	for (int i = 0; i < dir->nindexes; i++)
	{
		if (dir->indexes[i]->rd_index->indisready)
			enter_rows(&batch, i);
	}
	for (uint32 i = 0; i < n; i++)
		heap_freetuple(batch.tuples[i]);
}

void
gpucol_directory_insert_many(GpucolDirectory *dir, Oid base, const uint64 *numbers, const void *data, Size size,
							 uint32 n, CommandId cid)
{
	Assert(MAXALIGN(SizeofHeapTupleHeader) + 2 * size < ROW_BYTES);
	for (uint32 i = 0; i < n; i += BATCH)
		insert_batch(dir, base, numbers + i, (const char *) data + i * size, size, Min(n - i, BATCH), cid);
}
