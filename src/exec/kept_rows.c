/*-------------------------------------------------------------------------
 *
 * kept_rows.c
 *	  Rows of a plan that are kept to be read again.
 *
 * A batch is kept as one piece of memory (batch_values.c); those beyond work_mem take a share of what queries may
 * hold, and those beyond that go into a temporary file, each behind its length.  Tuples are gathered into batches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/datum.h"

#include "base/owned.h"
#include "exec/kept_rows.h"
#include "service/memory.h"
#include "service/temp_file.h"

/* Batches beyond work_mem take this part of the memory that is left when the first is kept, so many bytes at a time. */
#define MEMORY_SHARE	8
#define CHUNK	(4 * 1024 * 1024 - 256)

/* Tuples that make a batch, or as many as fill this memory. */
#define GATHERED_ROWS	1024
#define GATHERED_BYTES	((Size) 1024 * 1024)

/* A place in a file. */
typedef struct Place
{
	int			fileno;
	off_t		offset;
} Place;

/* Tuples on their way to a batch. */
typedef struct Gathered
{
	MemoryContext context;		/* of their values; NULL: there have been none */
	uint32		n;
	Datum	  **values;			/* by column */
	bool	  **isnull;
	GpucolBatch batch;
} Gathered;

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
	Place		end;			/* up to here */
	char	   *buffer;			/* one on its way there */
	Size		buffer_size;
	Gathered	gathered;
};

struct GpucolKeptReader
{
	GpucolKeptRows *kept;
	MemoryContext context;
	int			at;				/* in the list */
	uint64		file_at;		/* and in the file */
	Place		place;
	char	   *buffer;			/* the file's batch */
	Size		buffer_size;
	GpucolBatch batch;
};

/*
 * Memory context callback: let chunks and file go.  Of a transaction that has failed the file is closed
 * with what it owned.
 */
static void
let_go(void *arg)
{
	GpucolKeptRows *kept = arg;

	gpucol_owned_free_all(&kept->chunks);
	if (kept->file != NULL && IsTransactionState())
		BufFileClose(kept->file);
	kept->file = NULL;
}

/* Have what is beyond work_mem go with the context of that within it. */
static void
open_chunks(GpucolKeptRows *kept)
{
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	GpucolBudget *queries = gpucol_memory_queries();

	gpucol_owned_open(&kept->chunks, gpucol_memory_open(gpucol_budget_left(queries) / MEMORY_SHARE, queries));
	gpucol_memory_watch(kept->context, let_go, kept);
	MemoryContextSwitchTo(old);
}

/* Room for a batch of these columns, and what types they have. */
static void
init_batch(GpucolBatch *batch, TupleDesc desc)
{
	gpucol_batch_init(batch, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		gpucol_typemap_init(&batch->outputs[i].map, att->atttypid, att->atttypmod, att->attcollation);
	}
}

GpucolKeptRows *
gpucol_kept_rows_begin(TupleDesc desc)
{
	GpucolKeptRows *kept = palloc0(sizeof(GpucolKeptRows));

	kept->desc = desc;
	kept->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol kept rows", ALLOCSET_DEFAULT_SIZES);
	open_chunks(kept);
	return kept;
}

TupleDesc
gpucol_kept_rows_desc(const GpucolKeptRows *kept)
{
	return kept->desc;
}

/* Memory for a batch of the file, aligned to 16 bytes: at least of this size. */
static char *
file_buffer(MemoryContext context, char **buffer, Size *buffer_size, Size size)
{
	size += 16;
	if (size > *buffer_size)
	{
		if (*buffer != NULL)
			pfree(*buffer);
		*buffer = MemoryContextAllocHuge(context, size);
		*buffer_size = size;
	}
	return (char *) TYPEALIGN(16, *buffer);
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

/* Pack a batch behind those of the file. */
static void
write_batch(GpucolKeptRows *kept, const GpucolBatch *batch, Size size)
{
	char	   *piece = file_buffer(kept->context, &kept->buffer, &kept->buffer_size, size);

	if (kept->file == NULL)
	{
		MemoryContextSwitchTo(GetMemoryChunkContext(kept));
		kept->file = BufFileCreateTemp(false);
	}
	else
		gpucol_temp_file_seek(kept->file, kept->end.fileno, kept->end.offset);
	gpucol_batch_pack(batch, piece);
	BufFileWrite(kept->file, &size, sizeof(size));
	BufFileWrite(kept->file, piece, size);
	BufFileTell(kept->file, &kept->end.fileno, &kept->end.offset);
	kept->nfile++;
}

/* Keep a batch. */
static void
keep(GpucolKeptRows *kept, const GpucolBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	Size		size = gpucol_batch_packed_size(batch);
	char	   *piece = take_memory(kept, size);

	if (piece == NULL)
		write_batch(kept, batch, size);
	else
	{
		gpucol_batch_pack(batch, piece);
		kept->batches = lappend(kept->batches, piece);
		kept->nbytes += size;
	}
	MemoryContextSwitchTo(old);
}

void
gpucol_kept_rows_add(GpucolKeptRows *kept, const GpucolBatch *batch)
{
	gpucol_kept_rows_all(kept);
	keep(kept, batch);
}

/* Have room for tuples. */
static void
begin_gathering(GpucolKeptRows *kept)
{
	Gathered   *gathered = &kept->gathered;
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	int			ncolumns = kept->desc->natts;

	gathered->context = AllocSetContextCreate(kept->context, "gpucol kept tuples", ALLOCSET_DEFAULT_SIZES);
	gathered->values = palloc(Max(ncolumns, 1) * sizeof(Datum *));
	gathered->isnull = palloc(Max(ncolumns, 1) * sizeof(bool *));
	for (int c = 0; c < ncolumns; c++)
	{
		gathered->values[c] = palloc(GATHERED_ROWS * sizeof(Datum));
		gathered->isnull[c] = palloc(GATHERED_ROWS * sizeof(bool));
	}
	init_batch(&gathered->batch, kept->desc);
	MemoryContextSwitchTo(old);
}

void
gpucol_kept_rows_add_tuple(GpucolKeptRows *kept, TupleTableSlot *slot)
{
	Gathered   *gathered = &kept->gathered;
	MemoryContext old;

	if (gathered->context == NULL)
		begin_gathering(kept);
	slot_getallattrs(slot);
	old = MemoryContextSwitchTo(gathered->context);
	for (int c = 0; c < kept->desc->natts; c++)
	{
		Form_pg_attribute att = TupleDescAttr(kept->desc, c);

		gathered->isnull[c][gathered->n] = slot->tts_isnull[c];
		gathered->values[c][gathered->n] = slot->tts_isnull[c] ? (Datum) 0 :
			datumCopy(slot->tts_values[c], att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
	if (++gathered->n == GATHERED_ROWS || MemoryContextMemAllocated(gathered->context, false) > GATHERED_BYTES)
		gpucol_kept_rows_all(kept);
}

void
gpucol_kept_rows_all(GpucolKeptRows *kept)
{
	Gathered   *gathered = &kept->gathered;
	MemoryContext old;

	if (gathered->n == 0)
		return;
	old = MemoryContextSwitchTo(gathered->context);
	for (int c = 0; c < kept->desc->natts; c++)
		gpucol_result_column_of(gathered->values[c], gathered->isnull[c], gathered->n, &gathered->batch.outputs[c],
								&gathered->batch.columns[c]);
	gathered->batch.nrows = gathered->n;
	gathered->n = 0;
	MemoryContextSwitchTo(old);
	keep(kept, &gathered->batch);
	MemoryContextReset(gathered->context);
}

GpucolKeptReader *
gpucol_kept_rows_open(GpucolKeptRows *kept)
{
	GpucolKeptReader *reader = palloc0(sizeof(GpucolKeptReader));

	reader->kept = kept;
	reader->context = CurrentMemoryContext;
	init_batch(&reader->batch, kept->desc);
	return reader;
}

void
gpucol_kept_rows_rescan(GpucolKeptReader *reader)
{
	reader->at = 0;
	reader->file_at = 0;
	reader->place = (Place) {0};
}

/* The next batch of the file. */
static char *
read_batch(GpucolKeptReader *reader)
{
	BufFile    *file = reader->kept->file;
	Size		size;
	char	   *piece;

	gpucol_temp_file_seek(file, reader->place.fileno, reader->place.offset);
	gpucol_temp_file_read(file, &size, sizeof(size));
	piece = file_buffer(reader->context, &reader->buffer, &reader->buffer_size, size);
	gpucol_temp_file_read(file, piece, size);
	BufFileTell(file, &reader->place.fileno, &reader->place.offset);
	reader->file_at++;
	return piece;
}

const GpucolBatch *
gpucol_kept_rows_next(GpucolKeptReader *reader)
{
	GpucolKeptRows *kept = reader->kept;

	if (reader->at < list_length(kept->batches))
		gpucol_batch_unpack(list_nth(kept->batches, reader->at++), false, &reader->batch);
	else if (reader->file_at < kept->nfile)
		gpucol_batch_unpack(read_batch(reader), true, &reader->batch);
	else
		return NULL;
	return &reader->batch;
}

void
gpucol_kept_rows_end(GpucolKeptRows *kept)
{
	MemoryContextDelete(kept->context);
	pfree(kept);
}
