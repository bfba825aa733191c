/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  Streams that are read as a whole: dictionaries and runs; and word rows that are held for threads.
 *
 * Their reading and checking is the decoder's (kernel/decode.h).  It takes
 * windows, which may be larger than a source lends at once; so the word rows
 * are copied piece by piece into memory of the run, laid out in pages as a
 * window is, and the decoder reads that.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_alike.h"
#include "engine/cpu/window.h"

#define COPY_ROWS 1024			/* word rows mapped at a time */
#define PAGE_BYTES (GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES)

/* Word rows copied out of a stream, as a window. */
typedef struct Copy
{
	GpucolRows	rows;
	void	   *memory;
	const char **pages;
} Copy;

static void *
decoder_alloc(void *context, size_t size)
{
	return gpucol_cpu_alloc(context, size);
}

static void
decoder_free(void *context, void *memory)
{
	gpucol_cpu_free(context, memory);
}

bool
gpucol_cpu_stream_is_raw(const GpucolCpuColumn *column)
{
	return !(column->desc->flags & GPUCOL_CHUNK_ALL_NULL) &&
		column->desc->kind == GPUCOL_KIND_BYTES &&
		(gpucol_decode_has_blocks(column->desc) ||
		 column->desc->coding == GPUCOL_CODING_NUMERIC);
}

GpucolStatus
gpucol_cpu_stream_map(GpucolRun *run, int slot, GpucolStreamKind stream,
					  uint32_t row, uint32_t nrows, bool lend, GpucolRows *out)
{
	run->stats.packed_bytes += (uint64_t) nrows * GPUCOL_ROW_BYTES;
	return (lend ? run->source->ops->lend : run->source->ops->map) (run->source, &run->input.segment, slot,
																	 stream, row, nrows, out);
}

/* Copy word rows [row, row + nrows) of a stream to `out`, `skip` word rows in. */
static GpucolStatus
copy_rows(GpucolRun *run, int slot, GpucolStreamKind stream, uint32_t row,
		  uint32_t nrows, char *out, uint32_t skip)
{
	const GpucolStream *where = &run->input.cols[slot].desc->streams[stream];
	uint32_t	most = run->source->max_window_rows - run->window.held_rows;

	if (most > COPY_ROWS)
		most = COPY_ROWS;
	if (row > where->nrows || nrows > where->nrows - row)
		return GPUCOL_CORRUPT;
	out += (size_t) skip * GPUCOL_ROW_BYTES;
	while (nrows > 0)
	{
		uint32_t	take = nrows < most ? nrows : most;
		GpucolRows	window;
		GpucolStatus status = gpucol_cpu_stream_map(run, slot, stream, row, take, false, &window);

		if (status != GPUCOL_OK)
			return status;
		for (uint32_t i = 0; i < take; i++)
			memcpy(out + (size_t) i * GPUCOL_ROW_BYTES,
				   gpucol_rows_at(&window, where->row + row + i, 1, NULL),
				   GPUCOL_ROW_BYTES);
		run->source->ops->unmap(run->source, &window);
		out += (size_t) take * GPUCOL_ROW_BYTES;
		row += take;
		nrows -= take;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_stream_copy(GpucolRun *run, int slot, GpucolStreamKind stream,
					   uint64_t offset, uint64_t size, void *out)
{
	uint32_t	first = (uint32_t) (offset / GPUCOL_ROW_BYTES);
	uint32_t	last = (uint32_t) ((offset + size - 1) / GPUCOL_ROW_BYTES);
	char	   *memory = gpucol_cpu_alloc(run, (size_t) (last - first + 1) * GPUCOL_ROW_BYTES);
	GpucolStatus status;

	if (memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = copy_rows(run, slot, stream, first, last - first + 1, memory, 0);
	if (status == GPUCOL_OK)
		memcpy(out, memory + offset % GPUCOL_ROW_BYTES, size);
	gpucol_cpu_free(run, memory);
	return status;
}

/* Copy word rows of a stream. */
static GpucolStatus
copy_stream(GpucolRun *run, GpucolCpuColumn *column, GpucolStreamKind stream,
			uint32_t row, uint32_t nrows, Copy *copy)
{
	uint32_t	first = column->desc->streams[stream].row + row;
	uint32_t	skip = first % GPUCOL_PAGE_ROWS;
	uint32_t	npages = (skip + nrows + GPUCOL_PAGE_ROWS - 1) / GPUCOL_PAGE_ROWS;

	memset(copy, 0, sizeof(*copy));
	if (nrows == 0)
		return GPUCOL_OK;
	copy->memory = gpucol_cpu_alloc(run, (size_t) npages * PAGE_BYTES);
	copy->pages = gpucol_cpu_alloc(run, sizeof(char *) * npages);
	if (copy->memory == NULL || copy->pages == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t p = 0; p < npages; p++)
		copy->pages[p] = (char *) copy->memory + (size_t) p * PAGE_BYTES;
	copy->rows.pages = copy->pages;
	copy->rows.first_page = first / GPUCOL_PAGE_ROWS;
	copy->rows.npages = npages;
	return copy_rows(run, column->slot, stream, row, nrows, copy->memory, skip);
}

/* The same, and give them to the column's decoder. */
static GpucolStatus
copy_window(GpucolRun *run, GpucolCpuColumn *column, GpucolStreamKind stream,
			uint32_t row, uint32_t nrows, Copy *copy)
{
	GpucolStatus status = copy_stream(run, column, stream, row, nrows, copy);

	if (status == GPUCOL_OK && nrows > 0)
		gpucol_decode_map(&column->decoder, stream, &copy->rows);
	return status;
}

static void
free_copy(GpucolRun *run, Copy *copy)
{
	gpucol_cpu_free(run, copy->memory);
	gpucol_cpu_free(run, copy->pages);
}

static void
free_window(GpucolRun *run, GpucolCpuColumn *column, GpucolStreamKind stream, Copy *copy)
{
	static const GpucolRows nothing;

	gpucol_decode_map(&column->decoder, stream, &nothing);
	free_copy(run, copy);
}

GpucolStatus
gpucol_cpu_stream_hold(GpucolRun *run, int slot, GpucolStreamKind stream, uint32_t row, uint32_t nrows,
					   bool lend, uint32_t most, GpucolCpuHeld *held)
{
	const GpucolStream *where = &run->input.cols[slot].desc->streams[stream];
	Copy		copy;
	GpucolStatus status;

	memset(held, 0, sizeof(*held));
	if (nrows == 0)
		return GPUCOL_OK;
	if (row > where->nrows || nrows > where->nrows - row)
		return GPUCOL_CORRUPT;
	if (nrows <= most)
	{
		held->lent = lend && run->source->ops->lend != NULL;
		status = gpucol_cpu_stream_map(run, slot, stream, row, nrows, held->lent, &held->rows);
		held->mapped = status == GPUCOL_OK;
		held->nrows = held->mapped ? nrows : 0;
		run->window.held_rows += held->nrows;
		return status;
	}
	status = copy_stream(run, &run->input.cols[slot], stream, row, nrows, &copy);
	held->rows = copy.rows;
	held->memory = copy.memory;
	held->pages = copy.pages;
	return status;
}

void
gpucol_cpu_stream_release(GpucolRun *run, GpucolCpuHeld *held)
{
	if (held->mapped)
		run->source->ops->unmap(run->source, &held->rows);
	run->window.held_rows -= held->nrows;
	gpucol_cpu_free(run, held->memory);
	gpucol_cpu_free(run, held->pages);
	memset(held, 0, sizeof(*held));
}

void
gpucol_cpu_stream_reset(GpucolRun *run)
{
	gpucol_cpu_raw_reset(run);
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		if (column->decoder.desc != NULL)
			gpucol_decode_free(&column->decoder);
		column->decoder.desc = NULL;
		gpucol_cpu_free(run, column->dict);
		gpucol_cpu_free(run, column->entries);
		gpucol_cpu_free(run, column->lengths);
		gpucol_cpu_free(run, column->mantissas);
		gpucol_cpu_free(run, column->shows);
		column->dict = NULL;
		column->entries = NULL;
		column->lengths = NULL;
		column->mantissas = NULL;
		column->shows = NULL;
		column->run_ends = NULL;
		column->run_values = NULL;
		column->ndict = column->nruns = 0;
		column->codes_mapped = column->nulls_mapped = false;
	}
}

/* The decoder's dictionary, padded to 2^width so that any code can be looked up. */
static GpucolStatus
pad_dict(GpucolRun *run, GpucolCpuColumn *column)
{
	uint32_t	n = column->desc->ndict;
	size_t		space = (size_t) 1 << column->desc->width;

	column->ndict = n;
	if (column->desc->kind == GPUCOL_KIND_BYTES)
	{
		column->entries = gpucol_cpu_alloc0(run, sizeof(GpucolBytes) * space);
		if (column->measured)
			column->lengths = gpucol_cpu_alloc0(run, sizeof(uint32_t) * space);
		if (column->entries == NULL || (column->measured && column->lengths == NULL))
			return GPUCOL_OUT_OF_MEMORY;
		memcpy(column->entries, column->decoder.entries, sizeof(GpucolBytes) * n);
		return gpucol_cpu_alike_entries(run, column);
	}
	column->dict = gpucol_cpu_alloc0(run, sizeof(int64_t) * space);
	if (column->dict == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memcpy(column->dict, column->decoder.values, sizeof(int64_t) * n);
	return GPUCOL_OK;
}

/* Load one column's dictionary or runs. */
static GpucolStatus
load_table(GpucolRun *run, GpucolCpuColumn *column)
{
	static const GpucolStreamKind streams[] = {
		GPUCOL_STREAM_DICT, GPUCOL_STREAM_DATA, GPUCOL_STREAM_RUN_ENDS,
		GPUCOL_STREAM_CODES
	};
	const GpucolChunkDesc *desc = column->desc;
	bool		runs = desc->coding == GPUCOL_CODING_RLE;
	Copy		copies[4];
	GpucolStatus status = GPUCOL_OK;

	memset(copies, 0, sizeof(copies));
	for (int i = 0; i < 4 && status == GPUCOL_OK; i++)
		if ((i >= 2) == runs)
			status = copy_window(run, column, streams[i], 0,
								 desc->streams[streams[i]].nrows, &copies[i]);
	if (status == GPUCOL_OK)
		status = gpucol_decode_load(&column->decoder);
	for (int i = 0; i < 4; i++)
		free_window(run, column, streams[i], &copies[i]);
	if (status != GPUCOL_OK)
		return status;
	if (desc->coding == GPUCOL_CODING_ARRAY)
		return GPUCOL_OK;
	if (!runs)
		return pad_dict(run, column);
	column->nruns = desc->nruns;
	column->run_ends = column->decoder.run_ends;
	column->run_values = column->decoder.values;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_stream_tables(GpucolRun *run)
{
	GpucolMemory memory = {decoder_alloc, decoder_free, run};

	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];
		const GpucolChunkDesc *desc = column->desc;
		GpucolStatus status = GPUCOL_OK;

		if (!column->used || (desc->flags & GPUCOL_CHUNK_ALL_NULL))
			continue;
		gpucol_decode_init(&column->decoder, desc, run->input.segment.nrows, &memory);
		if (!column->unread && (desc->ndict > 0 || desc->coding == GPUCOL_CODING_RLE))
			status = load_table(run, column);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}
