/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  Rows of a plan that are kept to be read again.
 *
 * A batch is kept as one piece of memory (batch_values.c); those beyond work_mem take a share of what queries may
 * hold, and those beyond that go into a temporary file, each behind its length.  Tuples are a tuplestore's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/tuplestore.h"

#include "base/owned.h"
#include "exec/kept_rows.h"
#include "exec/plan_rows.h"
#include "service/memory.h"
#include "service/temp_file.h"

/* Batches beyond work_mem take this part of the memory that is left when the first is kept, so many bytes at a time. */
#define MEMORY_SHARE	8
#define CHUNK	(4 * 1024 * 1024 - 256)

struct GpucolKeptRows
{
	TupleDesc	desc;
	MemoryContext context;		/* of the batches within work_mem, */
	GpucolOwned chunks;			/* and of those beyond: */
	char	   *chunk;			/* where the next may begin, */
	Size		left;			/* with so many bytes */
	List	   *batches;		/* of char *: in memory, */
	Size		nbytes;			/* so many bytes, */
	BufFile    *file;			/* then those in a file, or NULL, */
	uint64		nfile;			/* so many, */
	Tuplestorestate *store;		/* and tuples, or NULL */

	/* reading */
	int			at;				/* in the list */
	uint64		file_at;		/* and in the file */
	char	   *buffer;			/* the file's batch */
	Size		buffer_size;
	GpucolBatch batch;
	TupleTableSlot *slot;
};

/* Memory context callback: let the chunks go. */
static void
free_chunks(void *arg)
{
	gpucol_owned_free_all(arg);
}

/* Have memory beyond work_mem go with the context of that within it. */
static void
open_chunks(GpucolKeptRows *kept)
{
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	GpucolBudget *queries = gpucol_memory_queries();
	MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));

	gpucol_owned_open(&kept->chunks, gpucol_memory_open(gpucol_budget_left(queries) / MEMORY_SHARE, queries));
	callback->func = free_chunks;
	callback->arg = &kept->chunks;
	MemoryContextRegisterResetCallback(kept->context, callback);
	MemoryContextSwitchTo(old);
}

GpucolKeptRows *
gpucol_kept_rows_begin(TupleDesc desc)
{
	GpucolKeptRows *kept = palloc0(sizeof(GpucolKeptRows));

	kept->desc = desc;
	kept->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol kept rows", ALLOCSET_DEFAULT_SIZES);
	open_chunks(kept);
	gpucol_batch_init(&kept->batch, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		gpucol_typemap_init(&kept->batch.outputs[i].map, att->atttypid, att->atttypmod, att->attcollation);
	}
	return kept;
}

TupleDesc
gpucol_kept_rows_desc(const GpucolKeptRows *kept)
{
	return kept->desc;
}

/* Memory for a batch of the file. */
static char *
file_buffer(GpucolKeptRows *kept, Size size)
{
	if (size > kept->buffer_size)
	{
		if (kept->buffer != NULL)
			pfree(kept->buffer);
		kept->buffer = MemoryContextAllocHuge(kept->context, size);
		kept->buffer_size = size;
	}
	return kept->buffer;
}

/* Memory for a batch, aligned to 16 bytes; NULL where there is no more. */
static char *
take_memory(GpucolKeptRows *kept, Size size)
{
	char	   *piece;

	if (kept->file != NULL)
		return NULL;
	if (kept->nbytes + size <= (Size) work_mem * 1024)
		return (char *) TYPEALIGN(16, MemoryContextAllocHuge(kept->context, size + 15));
	size = TYPEALIGN(16, size);
	if (size > kept->left)
	{
		piece = gpucol_owned_alloc(&kept->chunks, Max(size, CHUNK));
		if (piece == NULL)
			return NULL;
		kept->chunk = piece;
		kept->left = Max(size, CHUNK);
	}
	piece = kept->chunk;
	kept->chunk += size;
	kept->left -= size;
	return piece;
}

void
gpucol_kept_rows_add(GpucolKeptRows *kept, const GpucolBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	Size		size = gpucol_batch_packed_size(batch);
	char	   *piece = take_memory(kept, size);

	if (piece != NULL)
	{
		gpucol_batch_pack(batch, piece);
		kept->batches = lappend(kept->batches, piece);
		kept->nbytes += size;
	}
	else
	{
		piece = file_buffer(kept, size + 16);
		if (kept->file == NULL)
		{
			MemoryContextSwitchTo(GetMemoryChunkContext(kept));
			kept->file = BufFileCreateTemp(false);
		}
		piece = (char *) TYPEALIGN(16, piece);
		gpucol_batch_pack(batch, piece);
		BufFileWrite(kept->file, &size, sizeof(size));
		BufFileWrite(kept->file, piece, size);
		kept->nfile++;
	}
	MemoryContextSwitchTo(old);
}

void
gpucol_kept_rows_add_tuple(GpucolKeptRows *kept, TupleTableSlot *slot)
{
	if (kept->store == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(kept));

		kept->store = tuplestore_begin_heap(false, false, work_mem);
		tuplestore_set_eflags(kept->store, EXEC_FLAG_REWIND);
		kept->slot = MakeSingleTupleTableSlot(kept->desc, &TTSOpsMinimalTuple);
		MemoryContextSwitchTo(old);
	}
	tuplestore_puttupleslot(kept->store, slot);
}

void
gpucol_kept_rows_rescan(GpucolKeptRows *kept)
{
	kept->at = 0;
	kept->file_at = 0;
	if (kept->store != NULL)
		tuplestore_rescan(kept->store);
}

/* The next batch of the file. */
static char *
read_batch(GpucolKeptRows *kept)
{
	Size		size;
	char	   *piece;

	if (kept->file_at++ == 0)
		gpucol_temp_file_rewind(kept->file);
	gpucol_temp_file_read(kept->file, &size, sizeof(size));
	piece = (char *) TYPEALIGN(16, file_buffer(kept, size + 16));
	gpucol_temp_file_read(kept->file, piece, size);
	return piece;
}

bool
gpucol_kept_rows_next(GpucolKeptRows *kept, const GpucolBatch **batch, TupleTableSlot **slot)
{
	char	   *piece = NULL;

	if (kept->at < list_length(kept->batches))
		piece = list_nth(kept->batches, kept->at++);
	else if (kept->file_at < kept->nfile)
		piece = read_batch(kept);
	*batch = NULL;
	*slot = NULL;
	if (piece != NULL)
	{
		gpucol_batch_unpack(piece, &kept->batch);
		*batch = &kept->batch;
		return true;
	}
	if (kept->store == NULL || !gpucol_plan_rows_stored(kept->store, kept->slot))
		return false;
	*slot = kept->slot;
	return true;
}

void
gpucol_kept_rows_end(GpucolKeptRows *kept)
{
	if (kept->file != NULL)
		BufFileClose(kept->file);
	if (kept->store != NULL)
	{
		ExecDropSingleTupleTableSlot(kept->slot);
		tuplestore_end(kept->store);
	}
	MemoryContextDelete(kept->context);
	pfree(kept);
}
