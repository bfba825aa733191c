/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  Streams that are read as a whole: dictionaries, runs and raw bytes.
 *
 * Their reading and checking is the decoder's (kernel/decode.h).  It takes
 * windows, which may be larger than a source lends at once; so the word rows
 * are copied piece by piece into memory of the run, laid out in pages as a
 * window is, and the decoder reads that.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_alike.h"
#include "engine/cpu/items.h"
#include "kernel/decode_stream.h"

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
					  uint32_t row, uint32_t nrows, GpucolRows *out)
{
	run->stats.packed_bytes += (uint64_t) nrows * GPUCOL_ROW_BYTES;
	return run->source->ops->map(run->source, &run->input.segment, slot, stream, row,
								 nrows, out);
}

/* Copy word rows [row, row + nrows) of a stream to `out`, `skip` word rows in. */
static GpucolStatus
copy_rows(GpucolRun *run, int slot, GpucolStreamKind stream, uint32_t row,
		  uint32_t nrows, char *out, uint32_t skip)
{
	const GpucolStream *where = &run->input.cols[slot].desc->streams[stream];
	uint32_t	most = run->source->max_window_rows < COPY_ROWS ?
		run->source->max_window_rows : COPY_ROWS;

	if (row > where->nrows || nrows > where->nrows - row)
		return GPUCOL_CORRUPT;
	out += (size_t) skip * GPUCOL_ROW_BYTES;
	while (nrows > 0)
	{
		uint32_t	take = nrows < most ? nrows : most;
		GpucolRows	window;
		GpucolStatus status = gpucol_cpu_stream_map(run, slot, stream, row, take, &window);

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

void
gpucol_cpu_stream_reset(GpucolRun *run)
{
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
		gpucol_cpu_free(run, column->raw);
		for (int v = 0; v < GPUCOL_CPU_RAW_WINDOW; v++)
		{
			gpucol_cpu_free(run, column->raw_data[v]);
			column->raw_data[v] = NULL;
		}
		column->dict = NULL;
		column->entries = NULL;
		column->lengths = NULL;
		column->mantissas = NULL;
		column->raw = NULL;
		column->raw_room = 0;
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

/* Vectors of raw bytes, or of numerics that have no bytes in the chunk, as threads decode them. */
typedef struct Decoding
{
	GpucolRun  *run;
	GpucolCpuColumn *column;
	uint32_t	first;			/* vector, of so many: */
	uint32_t	n;
	Copy		data[GPUCOL_CPU_RAW_WINDOW];	/* DATA or ITEMS of each */
	size_t		bytes[GPUCOL_CPU_RAW_WINDOW];	/* that its values lie in */
	GpucolStatus status[GPUCOL_CPU_RAW_WINDOW];
	atomic_uint next;			/* to be drawn */
} Decoding;

/* Copy the bytes of a vector's values, or their elements. */
static GpucolStatus
copy_data(Decoding *d, uint32_t v)
{
	uint32_t	row;
	uint32_t	nrows;
	GpucolStatus status = gpucol_decode_block_rows(&d->column->decoder, d->first + v, &row, &nrows);

	return status != GPUCOL_OK ? status :
		copy_stream(d->run, d->column, gpucol_decode_block_stream(d->column->desc), row, nrows, &d->data[v]);
}

/*
 * Copy a vector's values, of which the first that has bytes is known, to memory of their own
 * where whole pages would take much more; false where they do not, or there is none.
 */
static bool
move_values(Decoding *d, uint32_t v, uint32_t first, GpucolBytes *values)
{
	const char *from = values[first].data;
	uint32_t	last = GPUCOL_VECTOR_VALUES - 1;
	size_t		size;
	char	   *to;

	while (last > first && values[last].len == 0)
		last--;
	size = values[first].len == 0 ? 0 : (size_t) (values[last].data + values[last].len - from);
	if (d->bytes[v] - size <= size / 4)
		return false;
	to = gpucol_cpu_alloc(d->run, size + 1);
	if (to == NULL)
		return false;
	memcpy(to, from, size);
	for (uint32_t i = first; i <= last; i++)
		if (values[i].len > 0)
			values[i].data = to + (values[i].data - from);
	d->bytes[v] = size;
	d->column->raw_data[v] = to;
	return true;
}

/* Keep the memory that a vector's values lie in: the decoder's block, or what was copied of the chunk. */
static void
keep_memory(Decoding *d, GpucolDecoder *decoder, uint32_t v, GpucolBytes *values)
{
	uint32_t	first = 0;

	while (first < GPUCOL_VECTOR_VALUES - 1 && values[first].len == 0)
		first++;
	if (decoder->block != NULL && values[first].data >= decoder->block &&
		values[first].data < decoder->block + decoder->block_size)
	{
		d->bytes[v] = decoder->block_size;
		d->column->raw_data[v] = gpucol_decode_take_block(decoder);
		return;
	}
	d->bytes[v] = (size_t) d->data[v].rows.npages * PAGE_BYTES;
	if (move_values(d, v, first, values))
		return;
	d->column->raw_data[v] = d->data[v].memory;
	d->data[v].memory = NULL;
}

/* Unpack the elements of a vector's arrays, which the values say where to find, and keep them. */
static GpucolStatus
take_items(Decoding *d, GpucolDecoder *decoder, uint32_t v, GpucolBytes *values)
{
	const int64_t *items;
	const uint8_t *nulls;
	uint32_t	lengths[GPUCOL_VECTOR_VALUES];
	GpucolStatus status = gpucol_decode_items(decoder, d->first + v, lengths, &items, &nulls);

	if (status != GPUCOL_OK)
		return status;
	d->column->raw_items[v] = items;
	d->column->raw_nulls[v] = nulls;
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
	{
		values[i] = (GpucolBytes) {(const char *) items, lengths[i]};
		items += lengths[i];
	}
	d->bytes[v] = decoder->packed_size;
	d->column->raw_data[v] = decoder->packed;
	decoder->packed = NULL;
	decoder->packed_size = 0;
	return GPUCOL_OK;
}

/* Unpack how many elements a vector's arrays have, without them. */
static GpucolStatus
take_sizes(Decoding *d, const GpucolDecoder *decoder, uint32_t v, GpucolBytes *values)
{
	static const int64_t none;
	GpucolStreamScratch scratch;
	uint32_t	lengths[GPUCOL_VECTOR_VALUES];
	const void *words = gpucol_stream_vector(decoder, d->first + v, &scratch);

	if (words == NULL)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(decoder->desc->width, words, lengths);
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		values[i] = (GpucolBytes) {"", lengths[i]};
	d->column->raw_items[v] = &none;
	d->column->raw_nulls[v] = NULL;
	return GPUCOL_OK;
}

/* Decode the vectors that one thread draws. */
static void
decode_share(void *arg, int index)
{
	Decoding   *d = arg;
	GpucolDecoder decoder;

	(void) index;
	gpucol_decode_fork(&d->column->decoder, &decoder);
	for (uint32_t v; (v = atomic_fetch_add(&d->next, 1)) < d->n;)
	{
		GpucolBytes *values = d->column->raw + (size_t) v * GPUCOL_VECTOR_VALUES;

		if (d->run->input.dead[d->first + v])
			continue;
		gpucol_decode_map(&decoder, gpucol_decode_block_stream(d->column->desc), &d->data[v].rows);
		if (gpucol_cpu_column_has_sizes(d->column))
			d->status[v] = take_sizes(d, &decoder, v, values);
		else if (gpucol_cpu_column_has_items(d->column))
			d->status[v] = take_items(d, &decoder, v, values);
		else
			d->status[v] = gpucol_decode_bytes(&decoder, d->first + v, values);
		if (d->status[v] == GPUCOL_OK && !gpucol_cpu_column_has_items(d->column))
			keep_memory(d, &decoder, v, values);
	}
	gpucol_decode_free(&decoder);
}

/* Copy the bytes of n vectors in this thread, and decode them in all. */
static GpucolStatus
decode_vectors(GpucolRun *run, GpucolCpuColumn *column, uint32_t first, uint32_t n)
{
	Decoding	d = {.run = run,.column = column,.first = first,.n = n};
	uint32_t	live = 0;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t v = 0; v < n && status == GPUCOL_OK; v++)
		if (!run->input.dead[first + v])
		{
			live++;
			if (column->desc->coding != GPUCOL_CODING_NUMERIC && !gpucol_cpu_column_has_sizes(column))
				status = copy_data(&d, v);
		}
	if (status == GPUCOL_OK && live > 1)
		gpucol_pool_run(run->nworkers, decode_share, &d);
	else if (status == GPUCOL_OK)
		decode_share(&d, 0);
	for (uint32_t v = 0; v < n; v++)
	{
		run->window.raw_bytes += d.bytes[v];
		if (status == GPUCOL_OK)
			status = d.status[v];
		free_copy(run, &d.data[v]);
	}
	return status;
}

/* Room for the values of n vectors. */
static bool
make_raw_room(GpucolRun *run, GpucolCpuColumn *column, uint32_t n)
{
	if (n <= column->raw_room)
		return true;
	gpucol_cpu_free(run, column->raw);
	column->raw_room = 0;
	column->raw = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n * GPUCOL_VECTOR_VALUES);
	if (column->raw == NULL)
		return false;
	column->raw_room = n;
	return true;
}

GpucolStatus
gpucol_cpu_stream_raw(GpucolRun *run, GpucolCpuColumn *column, uint32_t first, uint32_t n)
{
	static const GpucolStreamKind streams[] = {
		GPUCOL_STREAM_CODES, GPUCOL_STREAM_OFFSETS, GPUCOL_STREAM_NULLS
	};
	Copy		copies[3];
	GpucolStatus status = GPUCOL_OK;

	for (int v = 0; v < GPUCOL_CPU_RAW_WINDOW; v++)
	{
		gpucol_cpu_free(run, column->raw_data[v]);
		column->raw_data[v] = NULL;
	}
	if (!make_raw_room(run, column, n))
		return GPUCOL_OUT_OF_MEMORY;
	column->window_row = first * GPUCOL_VECTOR_VALUES;
	memset(copies, 0, sizeof(copies));
	for (int i = 0; i < 3 && status == GPUCOL_OK; i++)
	{
		uint32_t	row;
		uint32_t	nrows;

		gpucol_decode_extent(column->desc, streams[i], first, n, &row, &nrows);
		status = copy_window(run, column, streams[i], row, nrows, &copies[i]);
	}
	if (status == GPUCOL_OK)
		status = decode_vectors(run, column, first, n);
	for (int i = 0; i < 3; i++)
		free_window(run, column, streams[i], &copies[i]);
	return status;
}
