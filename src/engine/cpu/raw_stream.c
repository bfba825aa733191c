/*-------------------------------------------------------------------------
 *
 * raw_stream.c
 *	  Raw bytes of a window: their word rows, held by the main thread, and their values, which
 *	  any thread decodes a vector at a time.
 *
 * Blocks of vectors that follow one another are lent in one piece.  A block that the source does not lend,
 * as long values have, is copied a part at a time by the main thread.
 *
 * Where nobody asks for the values once their vector is done, a thread decodes them into the same
 * memory, which stays in its processor's cache.  Otherwise each vector of the window has memory
 * of its own, which the next window uses again, and no value lies in a lent page.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/items.h"
#include "engine/cpu/window.h"
#include "kernel/decode_stream.h"

#define NO_PIECE UINT16_MAX

static const GpucolStreamKind raw_streams[GPUCOL_CPU_RAW_STREAMS] = {
	GPUCOL_STREAM_CODES, GPUCOL_STREAM_OFFSETS, GPUCOL_STREAM_NULLS
};

/* Are its values in blocks that have to be read, for them or for tests of elements? */
static bool
reads_blocks(const GpucolRun *run, const GpucolCpuColumn *column)
{
	return column->desc->coding != GPUCOL_CODING_NUMERIC &&
		((column->tested && !run->window.asked) ||
		 (gpucol_cpu_raw_is_unpacked(run, column) && !gpucol_cpu_column_has_sizes(column)));
}

/* ---- in the main thread: room ---- */

/* Let go of what the values of n vectors lie in, from one on. */
static void
free_data(GpucolRun *run, GpucolCpuColumn *column, uint32_t first, uint32_t n)
{
	for (uint32_t v = first; v < first + n; v++)
	{
		gpucol_cpu_free(run, column->raw_data[v].memory);
		column->raw_data[v] = (GpucolCpuRawData) {.memory = NULL};
	}
}

/* Room for values that are kept. */
static GpucolStatus
make_kept_room(GpucolRun *run, GpucolCpuColumn *column, uint32_t n)
{
	size_t		bytes = 0;

	for (uint32_t v = 0; v < column->raw_room; v++)
		bytes += column->raw_data[v].size;
	if (run->mem.window_limit > 0 && bytes > run->mem.window_limit / 4)
		free_data(run, column, 0, column->raw_room);
	if (n <= column->raw_room)
		return GPUCOL_OK;
	if (column->raw_room > 0)
		free_data(run, column, 0, column->raw_room);
	gpucol_cpu_free(run, column->raw);
	gpucol_cpu_free(run, column->raw_data);
	column->raw_room = 0;
	column->raw = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n * GPUCOL_VECTOR_VALUES);
	column->raw_data = gpucol_cpu_alloc0(run, sizeof(GpucolCpuRawData) * n);
	if (column->raw == NULL || column->raw_data == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	column->raw_room = n;
	return GPUCOL_OK;
}

/* Room for the pieces of n vectors. */
static GpucolStatus
make_pieces_room(GpucolRun *run, GpucolCpuColumn *column, uint32_t n)
{
	GpucolCpuRawRows *rows = column->raw_rows;

	if (rows == NULL)
		rows = column->raw_rows = gpucol_cpu_alloc0(run, sizeof(GpucolCpuRawRows));
	if (rows == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (n <= rows->room)
		return GPUCOL_OK;
	gpucol_cpu_free(run, rows->pieces);
	gpucol_cpu_free(run, rows->piece);
	rows->room = 0;
	rows->pieces = gpucol_cpu_alloc0(run, sizeof(GpucolCpuHeld) * n);
	rows->piece = gpucol_cpu_alloc(run, sizeof(uint16_t) * n);
	if (rows->pieces == NULL || rows->piece == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	rows->room = n;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_raw_room(GpucolRun *run, GpucolCpuColumn *column, uint32_t n)
{
	for (int w = 0; w < run->nworkers; w++)
	{
		GpucolCpuWorker *worker = &run->workers[w];

		if (worker->decoders == NULL)
			worker->decoders = gpucol_cpu_alloc0(run, sizeof(GpucolDecoder) * run->program->ncolumns);
		if (worker->values == NULL)
			worker->values = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * GPUCOL_VECTOR_VALUES);
		if (worker->decoders == NULL || worker->values == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	column->window_row = run->window.first * GPUCOL_VECTOR_VALUES;
	if (make_pieces_room(run, column, n) != GPUCOL_OK ||
		(column->raw_kept && make_kept_room(run, column, n) != GPUCOL_OK))
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

void
gpucol_cpu_raw_reset(GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		for (int w = 0; w < run->nworkers; w++)
			if (run->workers[w].decoders != NULL && run->workers[w].decoders[c].desc != NULL)
			{
				gpucol_decode_free(&run->workers[w].decoders[c]);
				run->workers[w].decoders[c].desc = NULL;
			}
		if (column->raw_room > 0)
			free_data(run, column, 0, column->raw_room);
		gpucol_cpu_free(run, column->raw);
		gpucol_cpu_free(run, column->raw_data);
		column->raw = NULL;
		column->raw_data = NULL;
		column->raw_room = 0;
	}
}

/* ---- in the main thread: word rows ---- */

/* Blocks of vectors that follow one another, as they are gathered. */
typedef struct Gathered
{
	uint32_t	vector;			/* place in the window of the last one */
	uint32_t	row;
	uint32_t	end;			/* none: row */
} Gathered;

/* Hold what was gathered. */
static GpucolStatus
hold_piece(GpucolRun *run, GpucolCpuColumn *column, bool lend, Gathered *gathered)
{
	GpucolCpuRawRows *rows = column->raw_rows;
	GpucolStatus status;

	if (gathered->row == gathered->end)
		return GPUCOL_OK;
	status = gpucol_cpu_stream_hold(run, column->slot, gpucol_decode_block_stream(column->desc), gathered->row,
									gathered->end - gathered->row, lend,
									gpucol_cpu_window_spare(run, run->window.nvectors), &rows->pieces[rows->npieces]);
	rows->npieces++;
	gathered->row = gathered->end = 0;
	return status;
}

/* Hold the blocks of the window's vectors. */
static GpucolStatus
hold_blocks(GpucolRun *run, GpucolCpuColumn *column, bool lend)
{
	GpucolCpuRawRows *rows = column->raw_rows;
	uint64_t	counted = run->stats.packed_bytes;
	Gathered	gathered = {.row = 0};
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t v = 0; v < run->window.nvectors && status == GPUCOL_OK; v++)
	{
		uint32_t	row;
		uint32_t	n;

		rows->piece[v] = NO_PIECE;
		if (run->input.dead[run->window.first + v])
			continue;
		status = gpucol_decode_block_rows(&column->decoder, run->window.first + v, &row, &n);
		if (status != GPUCOL_OK || n == 0)
			continue;
		counted += (uint64_t) n * GPUCOL_ROW_BYTES;
		if (gathered.end > gathered.row &&
			(gathered.vector + 1 != v || row < gathered.row || row > gathered.end ||
			 row + n - gathered.row > gpucol_cpu_window_spare(run, run->window.nvectors)))
			status = hold_piece(run, column, lend, &gathered);
		if (gathered.end == gathered.row)
			gathered.row = gathered.end = row;
		gathered.end = row + n > gathered.end ? row + n : gathered.end;
		gathered.vector = v;
		rows->piece[v] = (uint16_t) rows->npieces;
	}
	if (status == GPUCOL_OK)
		status = hold_piece(run, column, lend, &gathered);
	/* a row in which two blocks meet counts for both, however they are held */
	run->stats.packed_bytes = counted;
	return status;
}

GpucolStatus
gpucol_cpu_raw_hold(GpucolRun *run, GpucolCpuColumn *column, bool lend)
{
	GpucolCpuRawRows *rows = column->raw_rows;
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < GPUCOL_CPU_RAW_STREAMS && status == GPUCOL_OK; i++)
	{
		uint32_t	row;
		uint32_t	n;

		gpucol_decode_extent(column->desc, raw_streams[i], run->window.first, run->window.nvectors, &row, &n);
		/* the main thread reads where blocks are */
		status = gpucol_cpu_stream_hold(run, column->slot, raw_streams[i], row, n,
										lend && raw_streams[i] != GPUCOL_STREAM_OFFSETS,
										gpucol_cpu_window_spare(run, run->window.nvectors), &rows->streams[i]);
		gpucol_decode_map(&column->decoder, raw_streams[i], &rows->streams[i].rows);
	}
	if (status == GPUCOL_OK && reads_blocks(run, column))
		status = hold_blocks(run, column, lend);
	return status;
}

void
gpucol_cpu_raw_release(GpucolRun *run)
{
	static const GpucolRows nothing;

	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];
		GpucolCpuRawRows *rows = column->raw_rows;

		if (rows == NULL)
			continue;
		for (int i = 0; i < GPUCOL_CPU_RAW_STREAMS; i++)
		{
			gpucol_cpu_stream_release(run, &rows->streams[i]);
			gpucol_decode_map(&column->decoder, raw_streams[i], &nothing);
		}
		while (rows->npieces > 0)
			gpucol_cpu_stream_release(run, &rows->pieces[--rows->npieces]);
	}
}

/* ---- in any thread ---- */

/* Verify n word rows of a stream that are about to be read. */
static GpucolStatus
verify_rows(GpucolRun *run, const GpucolCpuColumn *column, const GpucolCpuHeld *held, GpucolStreamKind stream,
			uint32_t row, uint32_t n)
{
	return !held->lent || n == 0 ? GPUCOL_OK :
		gpucol_cpu_rows_verify(run, &held->rows, column->desc->streams[stream].row + row, n);
}

GpucolStatus
gpucol_cpu_raw_point(GpucolCpuWorker *worker, const GpucolCpuColumn *column, uint32_t vector)
{
	GpucolRun  *run = worker->run;
	GpucolDecoder *decoder = &worker->decoders[column->slot];
	const GpucolCpuRawRows *rows = column->raw_rows;
	uint16_t	piece = reads_blocks(run, column) ? rows->piece[vector - run->window.first] : NO_PIECE;
	GpucolStatus status = GPUCOL_OK;
	uint32_t	row;
	uint32_t	n;

	if (decoder->desc == NULL)
		gpucol_decode_fork(&column->decoder, decoder);
	for (int i = 0; i < GPUCOL_CPU_RAW_STREAMS && status == GPUCOL_OK; i++)
	{
		gpucol_decode_map(decoder, raw_streams[i], &rows->streams[i].rows);
		gpucol_decode_extent(column->desc, raw_streams[i], vector, 1, &row, &n);
		status = verify_rows(run, column, &rows->streams[i], raw_streams[i], row, n);
	}
	if (status != GPUCOL_OK || piece == NO_PIECE)
		return status;
	gpucol_decode_map(decoder, gpucol_decode_block_stream(column->desc), &rows->pieces[piece].rows);
	status = gpucol_decode_block_rows(decoder, vector, &row, &n);
	return status != GPUCOL_OK ? status :
		verify_rows(run, column, &rows->pieces[piece], gpucol_decode_block_stream(column->desc), row, n);
}

/* Lend a decoder the memory that a vector has; give it back, with what the decoder made of it. */
static void
lend_memory(GpucolDecoder *decoder, GpucolCpuRawData *data, bool items)
{
	char	  **block = items ? &decoder->packed : &decoder->block;
	size_t	   *size = items ? &decoder->packed_size : &decoder->block_size;

	if (*block != NULL)
		decoder->memory.free(decoder->memory.context, *block);
	*block = data->memory;
	*size = data->size;
	decoder->block_vector = GPUCOL_STREAM_NO_VECTOR;
	data->memory = NULL;
	data->size = 0;
}

static void
keep_memory(GpucolRun *run, GpucolDecoder *decoder, GpucolCpuRawData *data, bool items)
{
	data->memory = items ? decoder->packed : decoder->block;
	data->size = items ? decoder->packed_size : decoder->block_size;
	if (items)
	{
		decoder->packed = NULL;
		decoder->packed_size = 0;
	}
	else
		(void) gpucol_decode_take_block(decoder);
	atomic_fetch_add(&run->window.raw_bytes, data->size);
}

/* Copy values that lie in word rows, side by side, into the decoder's block. */
static GpucolStatus
move_values(GpucolDecoder *decoder, GpucolBytes *values)
{
	uint32_t	first = 0;
	uint32_t	last = GPUCOL_VECTOR_VALUES - 1;
	const char *from;
	size_t		size;

	while (first < last && values[first].len == 0)
		first++;
	while (last > first && values[last].len == 0)
		last--;
	from = values[first].data;
	if (values[first].len == 0 ||
		(decoder->block != NULL && from >= decoder->block && from < decoder->block + decoder->block_size))
		return GPUCOL_OK;
	size = (size_t) (values[last].data + values[last].len - from);
	if (gpucol_decode_reserve(decoder, &decoder->block, &decoder->block_size, size) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	memcpy(decoder->block, from, size);
	for (uint32_t i = first; i <= last; i++)
		if (values[i].len > 0)
			values[i].data = decoder->block + (values[i].data - from);
	return GPUCOL_OK;
}

/* Unpack the elements of a vector's arrays, which the values say where to find. */
static GpucolStatus
decode_items(GpucolDecoder *decoder, uint32_t vector, GpucolCpuRawData *data, GpucolBytes *values)
{
	const int64_t *items;
	uint32_t	lengths[GPUCOL_VECTOR_VALUES];
	GpucolStatus status = gpucol_decode_items(decoder, vector, lengths, &items, &data->nulls);

	if (status != GPUCOL_OK)
		return status;
	data->items = items;
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
	{
		values[i] = (GpucolBytes) {(const char *) items, lengths[i]};
		items += lengths[i];
	}
	return GPUCOL_OK;
}

/* Unpack how many elements a vector's arrays have, without them. */
static GpucolStatus
decode_sizes(const GpucolDecoder *decoder, uint32_t vector, GpucolCpuRawData *data, GpucolBytes *values)
{
	static const int64_t none;
	GpucolStreamScratch scratch;
	uint32_t	lengths[GPUCOL_VECTOR_VALUES];
	const void *words = gpucol_stream_vector(decoder, vector, &scratch);

	if (words == NULL)
		return GPUCOL_CORRUPT;
	gpucol_bitpack_unpack32(decoder->desc->width, words, lengths);
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		values[i] = (GpucolBytes) {"", lengths[i]};
	data->items = &none;
	data->nulls = NULL;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_raw_decode(GpucolCpuWorker *worker, GpucolCpuColumn *column, uint32_t vector, GpucolBytes **values)
{
	GpucolDecoder *decoder = &worker->decoders[column->slot];
	uint32_t	at = vector - worker->run->window.first;
	GpucolCpuRawData *data = column->raw_kept ? &column->raw_data[at] : NULL;
	bool		items = gpucol_cpu_column_has_items(column);
	GpucolStatus status = gpucol_cpu_raw_point(worker, column, vector);

	*values = column->raw_kept ? column->raw + (size_t) at * GPUCOL_VECTOR_VALUES : worker->values;
	if (status != GPUCOL_OK)
		return status;
	if (gpucol_cpu_column_has_sizes(column))
		return decode_sizes(decoder, vector, data, *values);
	if (data != NULL)
		lend_memory(decoder, data, items);
	status = items ? decode_items(decoder, vector, data, *values) : gpucol_decode_bytes(decoder, vector, *values);
	if (status == GPUCOL_OK && !items && data != NULL)
		status = move_values(decoder, *values);
	if (status == GPUCOL_OK && data != NULL)
		keep_memory(worker->run, decoder, data, items);
	return status;
}

const uint32_t *
gpucol_cpu_raw_nulls(const GpucolDecoder *decoder, uint32_t vector, uint32_t *space)
{
	if (!(decoder->desc->flags & GPUCOL_CHUNK_HAS_NULLS) ||
		gpucol_decode_nulls(decoder, vector, space) != GPUCOL_OK)
		return NULL;
	return space;
}
