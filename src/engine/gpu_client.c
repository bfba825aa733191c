/*-------------------------------------------------------------------------
 *
 * gpu_client.c
 *	  The CUDA engine as a server process sees it: it gathers what a scan sees,
 *	  sends the daemon what is not resident, and reads the result.
 *
 * Everything happens in start, since the answer comes as a whole: note the segments
 * (or find them noted, gpu_noted.c) and read the delta rows, announce the request,
 * send delta rows and host test results, and what the daemon asks for: chunks, deleted
 * rows and the numbers of byte strings that are not resident (a second pass over the
 * source); and wait.  Until the
 * first batch is handed out every failure of the device is a status that another
 * engine can still answer.  An error of the user's expression is kept for next.
 *
 * Byte strings never travel: the device works with numbers that are given here
 * to the distinct entries of the dictionaries, and host tests are evaluated
 * here once per number.  A column of bytes that some segment keeps without a
 * dictionary is left to another engine, unless only its NULLs are asked for.
 *
 * Interrupts are checked while waiting and may unwind: *run is set first, so
 * that finish gets everything back.  Where that happens in the middle of a request
 * finish closes the connection, so that the daemon drops the request at once, and gives
 * back what it holds, however long this session is going to be idle.
 *
 * Freestanding C; service/service.h stands between this and the process.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/gpu_client.h"
#include "engine/gpu_dictionary.h"
#include "engine/gpu_noted.h"
#include "engine/gpu_rank.h"
#include "engine/gpu_wire.h"
#include "kernel/decode.h"
#include "kernel/float_order.h"
#include "service/service.h"

#define BATCH_ROWS		4096	/* rows handed out at a time */
#define MAX_BYTES_SLOT	16		/* slots of GpucolWireRun.distinct */
#define ROWS_PER_MAP	4096	/* word rows mapped at a time for sending */
#define MAX_RESULT_ROWS ((uint64_t) 1 << 40)	/* so that no size overflows */
#define MAX_RESULT_BYTES ((uint64_t) 1 << 46)	/* likewise */
#define SPARE_BYTES		((size_t) 4 << 20)	/* of a result's memory kept for the next */

/* Delta rows as columns of packed 64-bit vectors. */
typedef struct Delta
{
	uint64_t	nrows;
	uint64_t	space;			/* rows, whole vectors */
	uint64_t   *tids;
	uint32_t  **codes;			/* [ncolumns] */
	uint32_t  **nulls;			/* [ncolumns] */
	bool	   *has_nulls;
} Delta;

struct GpucolRun
{
	const GpucolProgram *program;
	int			ncolumns;		/* its; finish may come after it is gone */
	GpucolSource *source;
	const GpucolHost *host;
	const GpucolRowShape *shape;	/* NULL: rows as they are */
	GpucolWire *wire;
	GpucolBytesUse *bytes;		/* [ncolumns] */
	GpucolGpuNoted *noted;
	Delta		delta;
	const GpucolSegment *current;	/* the only one noted; NULL: all are */
	uint32_t	number;			/* of the first segment noted, in the table */
	uint32_t   *remap;			/* numbers of one dictionary's entries */
	void	   *scratch;		/* what a longjmp must not lose */
	void	   *payload;
	void	   *needed;
	uint64_t	memory_limit;	/* of this process; 0 = none */
	uint64_t	sent;			/* bytes of chunks that were missing */

	bool		asking;			/* the connection is in the middle of this request */
	bool		jit;
	bool		in_place;		/* as in GpucolRunOptions */
	GpucolStatus error;			/* of the user's expression */
	GpucolWireResult result;
	char	   *data;			/* result.bytes */
	size_t		sizeof_data;
	bool		lent;			/* the data lie in the wire's slab */
	uint64_t	at;				/* rows handed out */
	GpucolResultColumn *columns;
	const int64_t **values;		/* of each result column, in data */
	const uint8_t **nulls;
	__int128   *wide[64];		/* batch buffers of D columns */
	GpucolBytes *strings[64];	/* batch buffers of S columns */
	uint64_t   *tids;
	const uint64_t *rows;
	const GpucolAggState *states;
	GpucolGpuRanks *ranks;
	double		note_seconds;	/* where the time went */
	double		ask_seconds;
	double		fetch_seconds;
	char		reason[200];
};

static char reason[200];		/* outlives the run: *why points here */

static GpucolStatus
refuse(const char **why, GpucolStatus status, const char *text)
{
	snprintf(reason, sizeof(reason), "%s", text);
	*why = reason;
	return status;
}

static GpucolStatus
lost(const char **why)
{
	const char *text;
	GpucolStatus status = gpucol_wire_failure(&text);

	return refuse(why, status, text);
}

/* ---- what the program asks ---- */

/* Is register r used otherwise than by IS NULL? */
static bool
value_is_used(const GpucolProgram *p, uint16_t r)
{
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);

	for (int i = 0; i < p->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_HOST_TEST && in[i].a == r)
			return true;
	for (int i = 0; i < p->nkeys; i++)
		if (keys[i] == r)
			return true;
	for (int i = 0; i < p->naggs; i++)
		if (aggs[i].arg == r && aggs[i].op != GPUCOL_AGG_COUNT)
			return true;
	return false;
}

/* Decide what is needed of each column of bytes. */
static GpucolStatus
examine(GpucolRun *run, const char **why)
{
	const GpucolProgram *p = run->program;
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns);
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);

	if (p->nkeys > 64)
		return refuse(why, GPUCOL_UNSUPPORTED, "more output columns than the device takes");
	for (int c = 0; c < p->ncolumns; c++)
	{
		if (columns[c].kind != GPUCOL_KIND_BYTES)
			continue;
		run->bytes[c] = GPUCOL_BYTES_NULLS;
		for (int i = 0; i < p->ninstrs; i++)
			if (in[i].op == GPUCOL_OP_LOAD_S && in[i].aux == c && value_is_used(p, in[i].dst))
				run->bytes[c] = GPUCOL_BYTES_NUMBERS;
		for (int i = 0; i < p->nranges; i++)
			if (ranges[i].op == GPUCOL_RANGE_HOST && ranges[i].column == c)
				run->bytes[c] = GPUCOL_BYTES_NUMBERS;
		if (run->bytes[c] == GPUCOL_BYTES_NUMBERS && c >= MAX_BYTES_SLOT)
			return refuse(why, GPUCOL_UNSUPPORTED, "more columns of bytes than the device takes");
	}
	return GPUCOL_OK;
}

/* Slot of the column that a host test is about, or -1. */
static int
host_slot(const GpucolProgram *p, int id)
{
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);

	for (int i = 0; i < p->nranges; i++)
		if (ranges[i].op == GPUCOL_RANGE_HOST && (int) ranges[i].n == id)
			return ranges[i].column;
	for (int i = 0; i < p->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_HOST_TEST && in[i].aux == id)
			for (int j = 0; j < p->ninstrs; j++)
				if (in[j].op == GPUCOL_OP_LOAD_S && in[j].dst == in[i].a)
					return in[j].aux;
	return -1;
}

/* ---- first pass: segments ---- */

/* What must be equal for a resident chunk to be this one. */
static uint64_t
identity_of(const GpucolChunkDesc *d, bool nulls_only)
{
	uint64_t	h = (uint64_t) d->crc << 32 | d->null_count;

	h = (h ^ (uint64_t) d->reference ^ d->step << 1) * 0x9e3779b97f4a7c15u;
	h = (h ^ (uint64_t) d->streams[GPUCOL_STREAM_CODES].row << 32 ^ d->streams[GPUCOL_STREAM_NULLS].row ^
		 (uint64_t) d->width << 8 ^ d->coding ^ (uint64_t) d->flags << 16) * 0xbf58476d1ce4e5b9u;
	return (h ^ h >> 29) << 1 | nulls_only;
}

uint32_t
gpucol_gpu_chunk_streams(GpucolBytesUse use, const GpucolChunkDesc *desc)
{
	uint32_t	present = 0;
	uint32_t	wanted = 1u << GPUCOL_STREAM_NULLS;

	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return 0;
	if (use != GPUCOL_BYTES_NULLS)
		wanted |= 1u << GPUCOL_STREAM_CODES;
	if (use == GPUCOL_BYTES_UNUSED)
		wanted |= 1u << GPUCOL_STREAM_ZONES | 1u << GPUCOL_STREAM_DICT | 1u << GPUCOL_STREAM_RUN_ENDS;
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if ((wanted >> k & 1) && desc->streams[k].nrows > 0)
			present |= 1u << k;
	return present;
}

/* Word rows of a chunk's codes once the device has expanded runs and steps. */
static uint32_t
expanded_rows(const GpucolChunkDesc *desc, uint32_t nrows)
{
	uint64_t	last = desc->width == 0 ? 0 : UINT64_MAX >> (64 - desc->width);
	int			width = desc->width;

	if (desc->coding == GPUCOL_CODING_STEP && last != 0)
		width = last > UINT64_MAX / desc->step ? 64 : 64 - __builtin_clzll(last * desc->step);
	return GPUCOL_VECTORS(nrows) * width;
}

/* Word rows that a chunk takes in device memory, at most, while it is loaded. */
static uint32_t
device_rows(const GpucolRun *run, int slot, const GpucolChunkDesc *desc, uint32_t nrows)
{
	uint32_t	present = gpucol_gpu_chunk_streams(run->bytes[slot], desc);
	uint32_t	n = 0;

	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (present >> k & 1)
			n += desc->streams[k].nrows;
	if (run->bytes[slot] == GPUCOL_BYTES_UNUSED && n > 0 &&
		(desc->coding == GPUCOL_CODING_RLE || desc->coding == GPUCOL_CODING_STEP))
		n += expanded_rows(desc, nrows);
	return n;
}

/* Map a whole stream into a decoder. */
static GpucolStatus
map_stream(GpucolRun *run, const GpucolSegment *segment, int slot,
		   GpucolStreamKind stream, GpucolRows *rows, GpucolDecoder *decoder)
{
	const GpucolChunkDesc *desc = segment->chunks[slot];
	GpucolStatus status;

	if (desc->streams[stream].nrows == 0)
		return GPUCOL_OK;
	if (desc->streams[stream].nrows > run->source->max_window_rows)
		return GPUCOL_UNSUPPORTED;
	status = run->source->ops->map(run->source, segment, slot, stream, 0,
								   desc->streams[stream].nrows, rows);
	if (status == GPUCOL_OK)
		gpucol_decode_map(decoder, stream, rows);
	return status;
}

/*
 * Number the entries of a segment's dictionary, into run->remap; *n is 0 where the
 * segment has none and needs none.
 */
static GpucolStatus
number_dictionary(GpucolRun *run, const GpucolSegment *segment, int slot, uint32_t *n)
{
	const GpucolChunkDesc *desc = segment->chunks[slot];
	GpucolRows	dict = {0};
	GpucolRows	data = {0};
	GpucolDecoder decoder;
	GpucolStatus status;
	uint32_t   *numbers;

	*n = 0;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return GPUCOL_OK;
	if (desc->coding != GPUCOL_CODING_DICT && desc->coding != GPUCOL_CODING_CONSTANT)
		return GPUCOL_UNSUPPORTED;
	gpucol_decode_init(&decoder, desc, segment->nrows, &gpucol_memory_malloc);
	status = map_stream(run, segment, slot, GPUCOL_STREAM_DICT, &dict, &decoder);
	if (status == GPUCOL_OK)
		status = map_stream(run, segment, slot, GPUCOL_STREAM_DATA, &data, &decoder);
	if (status == GPUCOL_OK)
		status = gpucol_decode_load(&decoder);
	*n = desc->coding == GPUCOL_CODING_CONSTANT ? 1 : desc->ndict;
	numbers = realloc(run->remap, sizeof(uint32_t) * (*n + 1u));
	if (numbers == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	else
		run->remap = numbers;
	for (uint32_t i = 0; i < *n && status == GPUCOL_OK; i++)
		if (!gpucol_gpu_dictionary_number(run->noted->dictionaries[slot], decoder.entries[i].data,
										  decoder.entries[i].len, &numbers[i]))
			status = GPUCOL_OUT_OF_MEMORY;
	gpucol_decode_free(&decoder);
	if (dict.npages > 0)
		run->source->ops->unmap(run->source, &dict);
	if (data.npages > 0)
		run->source->ops->unmap(run->source, &data);
	return status;
}

/* Words of a segment's bitmap of deleted rows. */
static size_t
bitmap_words(const GpucolSegment *segment)
{
	return (size_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_WORDS;
}

/* Note one segment. */
static GpucolStatus
note_segment(GpucolRun *run, const GpucolSegment *segment)
{
	bool		deleted = segment->deleted != NULL && segment->ndeleted > 0;
	GpucolWireSegment wire = {
		segment->id,
		deleted ? gpucol_gpu_noted_identity(segment->deleted, bitmap_words(segment)) : 0,
		segment->nrows, deleted ? segment->ndeleted : 0
	};
	GpucolWireColumnChunk *chunks;
	GpucolStatus status = gpucol_gpu_noted_add(run->noted, &wire, segment->first_row, &chunks);

	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		chunks[c].identity = identity_of(segment->chunks[c], run->bytes[c] == GPUCOL_BYTES_NULLS);
		chunks[c].nrows = device_rows(run, c, segment->chunks[c], segment->nrows);
		if (run->bytes[c] != GPUCOL_BYTES_NUMBERS)
			continue;
		status = number_dictionary(run, segment, c, &chunks[c].nentries);
		if (status == GPUCOL_OK && chunks[c].nentries > 0)
			chunks[c].remap = gpucol_gpu_noted_identity(run->remap, chunks[c].nentries);
	}
	return status;
}

/* Find the segments noted, or note them. */
static GpucolStatus
read_segments(GpucolRun *run)
{
	const GpucolProgram *p = run->program;
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns);
	GpucolSegment segment;
	GpucolStatus status;

	run->noted = gpucol_gpu_noted_find(run->source, columns, p->ncolumns, run->bytes);
	if (run->noted != NULL)
	{
		run->source->ops->count_rows(run->source, run->noted->rows);
		return GPUCOL_OK;
	}
	run->noted = gpucol_gpu_noted_create(run->source, columns, p->ncolumns, run->bytes);
	if (run->noted == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	while ((status = run->source->ops->next_segment(run->source, &segment)) == GPUCOL_OK)
	{
		status = note_segment(run, &segment);
		if (status != GPUCOL_OK)
			return status;
	}
	if (status != GPUCOL_END)
		return status;
	gpucol_gpu_noted_keep(run->noted);
	return GPUCOL_OK;
}

/* ---- second pass: what is not resident ---- */

/* Send one stream of a chunk; *offset is where it goes in the object. */
static GpucolStatus
send_stream(GpucolRun *run, const GpucolSegment *segment, uint32_t number, int slot,
			GpucolStreamKind stream, uint64_t total, uint64_t *offset)
{
	uint32_t	nrows = segment->chunks[slot]->streams[stream].nrows;
	uint32_t	step = run->source->max_window_rows < ROWS_PER_MAP ?
		run->source->max_window_rows : ROWS_PER_MAP;

	for (uint32_t row = 0; row < nrows;)
	{
		uint32_t	n = nrows - row < step ? nrows - row : step;
		GpucolRows	window;
		GpucolStatus status;
		bool		ok;

		status = run->source->ops->map(run->source, segment, slot, stream, row, n, &window);
		if (status != GPUCOL_OK)
			return status;
		ok = gpucol_wire_put_rows(run->wire, GPUCOL_PUT_CHUNK, number, (uint32_t) slot, total, offset, &window,
								  segment->chunks[slot]->streams[stream].row + row, n);
		run->source->ops->unmap(run->source, &window);
		if (!ok)
			return GPUCOL_DEVICE_LOST;
		row += n;
	}
	return GPUCOL_OK;
}

/* Send a chunk. */
static GpucolStatus
send_chunk(GpucolRun *run, const GpucolSegment *segment, uint32_t number, int slot)
{
	GpucolWireChunk head;
	uint64_t	total = sizeof(head);
	uint64_t	offset = sizeof(head);
	GpucolStatus status = GPUCOL_OK;

	memset(&head, 0, sizeof(head));
	head.desc = *segment->chunks[slot];
	head.present = gpucol_gpu_chunk_streams(run->bytes[slot], &head.desc);
	if (run->bytes[slot] == GPUCOL_BYTES_NULLS)
	{
		/* no value of it is looked at: one entry, where not all are NULL */
		head.desc.coding = GPUCOL_CODING_CONSTANT;
		head.desc.width = 0;
		head.desc.ndict = head.desc.flags & GPUCOL_CHUNK_ALL_NULL ? 0 : 1;
		head.desc.flags &= ~GPUCOL_CHUNK_DATA_LZ4;
	}
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (head.present >> k & 1)
			total += (uint64_t) head.desc.streams[k].nrows * GPUCOL_ROW_BYTES;
	run->sent += total - sizeof(head);
	if (!gpucol_wire_put(run->wire, GPUCOL_PUT_CHUNK, number, (uint32_t) slot, total, 0,
						 &head, sizeof(head)))
		return GPUCOL_DEVICE_LOST;
	for (int k = 0; k < GPUCOL_STREAM_COUNT && status == GPUCOL_OK; k++)
		if (head.present >> k & 1)
			status = send_stream(run, segment, number, slot, k, total, &offset);
	return status;
}

static bool
send_object(GpucolRun *run, GpucolPutKind kind, uint32_t a, uint32_t b,
			const void *data, uint64_t size)
{
	return size == 0 || gpucol_wire_put(run->wire, kind, a, b, size, 0, data, size);
}

/* Send the bitmap of a segment's deleted rows. */
static GpucolStatus
send_deleted(GpucolRun *run, const GpucolSegment *segment, uint32_t number)
{
	size_t		n = bitmap_words(segment);

	if (segment->deleted == NULL ||
		gpucol_gpu_noted_identity(segment->deleted, n) != run->noted->segments[number].deleted)
		return GPUCOL_UNSUPPORTED;
	return send_object(run, GPUCOL_PUT_DELETED, number, 0, segment->deleted, n * 4) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send the numbers of a dictionary's entries. */
static GpucolStatus
send_remap(GpucolRun *run, const GpucolSegment *segment, uint32_t number, int slot)
{
	const GpucolWireColumnChunk *chunk = &run->noted->chunks[(size_t) number * run->program->ncolumns + slot];
	uint32_t	n;
	GpucolStatus status = run->bytes[slot] == GPUCOL_BYTES_NUMBERS ?
		number_dictionary(run, segment, slot, &n) : GPUCOL_DEVICE_LOST;

	if (status != GPUCOL_OK)
		return status;
	if (n != chunk->nentries || gpucol_gpu_noted_identity(run->remap, n) != chunk->remap)
		return GPUCOL_UNSUPPORTED;
	return send_object(run, GPUCOL_PUT_REMAP, number, (uint32_t) slot, run->remap, (uint64_t) n * 4) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send one piece of a segment. */
static GpucolStatus
send_piece(GpucolRun *run, const GpucolSegment *segment, const GpucolWireNeed *need)
{
	if (need->kind == GPUCOL_PUT_DELETED)
		return send_deleted(run, segment, need->segment);
	if (need->slot >= run->program->ncolumns)
		return GPUCOL_DEVICE_LOST;
	if (need->kind == GPUCOL_PUT_REMAP)
		return send_remap(run, segment, need->segment, need->slot);
	return send_chunk(run, segment, need->segment, need->slot);
}

/* Send what the daemon needs of the one segment that the source stands at. */
static GpucolStatus
send_current(GpucolRun *run, const GpucolWireNeed *need, size_t n)
{
	GpucolStatus status = GPUCOL_OK;

	for (size_t i = 0; i < n && status == GPUCOL_OK; i++)
		status = need[i].segment == 0 ? send_piece(run, run->current, &need[i]) : GPUCOL_DEVICE_LOST;
	return status;
}

/* Send what the daemon needs, in the order of the segments. */
static GpucolStatus
send_missing(GpucolRun *run, const GpucolWireNeed *need, size_t n)
{
	GpucolSegment segment;
	GpucolStatus status;
	uint32_t	number = 0;
	size_t		i = 0;

	if (n == 0)
		return GPUCOL_OK;
	if (run->current != NULL)
		return send_current(run, need, n);
	run->source->ops->rescan(run->source);
	for (; i < n; number++)
	{
		status = run->source->ops->next_segment(run->source, &segment);
		if (status != GPUCOL_OK)
			return status == GPUCOL_END ? GPUCOL_UNSUPPORTED : status;
		if (number >= run->noted->nsegments || segment.id != run->noted->segments[number].id ||
			segment.nrows != run->noted->segments[number].nrows)
			return GPUCOL_UNSUPPORTED;
		for (; i < n && need[i].segment == number; i++)
		{
			status = send_piece(run, &segment, &need[i]);
			if (status != GPUCOL_OK)
				return status;
		}
		if (i < n && need[i].segment < number)
			return GPUCOL_DEVICE_LOST;
	}
	return GPUCOL_OK;
}

/* ---- delta ---- */

/* Make room for n more delta rows. */
static GpucolStatus
grow_delta(GpucolRun *run, uint32_t n)
{
	Delta	   *d = &run->delta;
	uint64_t	space = d->space == 0 ? GPUCOL_VECTOR_VALUES : d->space;
	void	   *p;

	while (space < d->nrows + n)
		space *= 2;
	if (space == d->space)
		return GPUCOL_OK;
	if ((p = realloc(d->tids, sizeof(uint64_t) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	d->tids = p;
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		if ((p = realloc(d->codes[c], space * 8)) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		d->codes[c] = p;
		memset((char *) p + d->space * 8, 0, (space - d->space) * 8);
		if ((p = realloc(d->nulls[c], space / 8)) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		d->nulls[c] = p;
		memset((char *) p + d->space / 8, 0, (space - d->space) / 8);
	}
	d->space = space;
	return GPUCOL_OK;
}

/* Append one batch.  A vector of width 64 is its low words, then its high. */
static GpucolStatus
append_delta(GpucolRun *run, const GpucolDelta *batch)
{
	Delta	   *d = &run->delta;
	GpucolStatus status = grow_delta(run, batch->nrows);

	if (status != GPUCOL_OK)
		return status;
	for (uint32_t i = 0; i < batch->nrows; i++)
		d->tids[d->nrows + i] = batch->tids != NULL ? batch->tids[i] : 0;
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolDeltaColumn *column = &batch->columns[c];

		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			uint64_t	row = d->nrows + i;
			uint32_t   *vector = d->codes[c] + row / 1024 * 2048;
			uint64_t	x = 0;

			if (column->nulls != NULL && (column->nulls[i / 32] >> (i % 32) & 1))
			{
				d->nulls[c][row / 32] |= UINT32_C(1) << (row % 32);
				d->has_nulls[c] = true;
				continue;
			}
			if (run->bytes[c] == GPUCOL_BYTES_UNUSED)
				x = (uint64_t) column->values[i];
			else if (run->bytes[c] == GPUCOL_BYTES_NUMBERS)
			{
				uint32_t	number;

				if (!gpucol_gpu_dictionary_number(run->noted->dictionaries[c], column->bytes[i].data,
												  column->bytes[i].len, &number))
					return GPUCOL_OUT_OF_MEMORY;
				x = number;
			}
			vector[row % 1024] = (uint32_t) x;
			vector[1024 + row % 1024] = (uint32_t) (x >> 32);
		}
	}
	d->nrows += batch->nrows;
	return GPUCOL_OK;
}

static GpucolStatus
read_delta(GpucolRun *run)
{
	GpucolDelta batch;
	GpucolStatus status;

	while ((status = run->source->ops->next_delta(run->source, &batch)) == GPUCOL_OK)
	{
		status = append_delta(run, &batch);
		if (status != GPUCOL_OK)
			return status;
	}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

/* ---- sending the rest ---- */

/* Objects that send_objects will send. */
static uint32_t
count_objects(const GpucolRun *run)
{
	uint32_t	n = 0;

	for (int c = 0; run->delta.nrows > 0 && c < run->program->ncolumns; c++)
		n += 1 + run->delta.has_nulls[c];
	for (int id = 0; id < GPUCOL_WIRE_MAX_HOST; id++)
		n += host_slot(run->program, id) >= 0;
	return n;
}

/* Evaluate a host test on every number and on NULL, and send the results. */
static GpucolStatus
send_host_test(GpucolRun *run, int id)
{
	int			slot = host_slot(run->program, id);
	const GpucolBytes *strings;
	GpucolBytes none = {NULL, 0};
	bool		isnull = true;
	uint32_t	n;
	uint8_t    *results;

	if (slot < 0)
		return GPUCOL_OK;
	strings = gpucol_gpu_dictionary_strings(run->noted->dictionaries[slot], &n);
	run->scratch = results = malloc((size_t) n + 1);
	if (results == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (n > 0)
		run->host->test(run->host->context, id, (int) n, strings, NULL, results);
	run->host->test(run->host->context, id, 1, &none, &isnull, results + n);
	if (!send_object(run, GPUCOL_PUT_HOST, (uint32_t) id, 0, results, (uint64_t) n + 1))
		return GPUCOL_DEVICE_LOST;
	free(results);
	run->scratch = NULL;
	return GPUCOL_OK;
}

static GpucolStatus
send_objects(GpucolRun *run)
{
	const GpucolProgram *p = run->program;
	uint64_t	vectors = GPUCOL_VECTORS(run->delta.nrows);
	GpucolStatus status;

	for (int c = 0; c < p->ncolumns; c++)
		if (!send_object(run, GPUCOL_PUT_DELTA_CODES, 0, (uint32_t) c, run->delta.codes[c],
						 vectors * 64 * GPUCOL_ROW_BYTES) ||
			(run->delta.has_nulls[c] &&
			 !send_object(run, GPUCOL_PUT_DELTA_NULLS, 0, (uint32_t) c, run->delta.nulls[c],
						  vectors * GPUCOL_ROW_BYTES)))
			return GPUCOL_DEVICE_LOST;
	for (int id = 0; id < GPUCOL_WIRE_MAX_HOST; id++)
	{
		status = send_host_test(run, id);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* ---- the result ---- */

/* The memory of a large result, for the next one. */
static char *spare = NULL;
static size_t sizeof_spare = 0;

static void
free_data(GpucolRun *run)
{
	if (run->lent)
		gpucol_wire_give_back(run->wire);
	else if (run->sizeof_data > sizeof_spare && run->sizeof_data <= SPARE_BYTES)
	{
		free(spare);
		spare = run->data;
		sizeof_spare = run->sizeof_data;
	}
	else
		free(run->data);
}

/* Copy the data out of the slab: somebody else needs it. */
static void
move_data(void *arg)
{
	GpucolRun  *run = arg;
	const char *from = run->data;

	run->lent = false;
	run->data = malloc(run->result.bytes + 1);
	run->sizeof_data = run->result.bytes;
	if (run->data == NULL)
	{
		run->error = GPUCOL_OUT_OF_MEMORY;
		return;
	}
	memcpy(run->data, from, run->result.bytes);
	for (int k = 0; run->values != NULL && k < run->program->nkeys; k++)
	{
		if (run->values[k] == NULL)
			continue;
		run->values[k] = (const int64_t *) (run->data + ((const char *) run->values[k] - from));
		run->nulls[k] = (const uint8_t *) (run->data + ((const char *) run->nulls[k] - from));
	}
	if (run->states != NULL)
		run->states = (const GpucolAggState *) (run->data + ((const char *) run->states - from));
}

/* Read the data of a result whose head is in run->result. */
static GpucolStatus
read_data(GpucolRun *run)
{
	uint64_t	at = 0;

	if (run->result.in_slab && run->in_place)
	{
		run->data = (char *) gpucol_wire_lend(run->wire, run->result.bytes, move_data, run);
		run->lent = run->data != NULL;
		return run->lent ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
	}
	if (run->result.bytes > GPUCOL_WIRE_INLINE && run->result.bytes <= sizeof_spare)
	{
		run->data = spare;
		spare = NULL;
		run->sizeof_data = sizeof_spare;
		sizeof_spare = 0;
	}
	else
	{
		run->data = malloc(run->result.bytes + 1);
		run->sizeof_data = run->result.bytes;
	}
	if (run->data == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (run->result.in_slab)
		return gpucol_wire_take(run->wire, run->data, run->result.bytes) ?
			GPUCOL_OK : GPUCOL_DEVICE_LOST;
	while (at < run->result.bytes)
	{
		size_t		size;

		if (!gpucol_wire_receive_into(run->wire, GPUCOL_WIRE_RESULT_PART, run->data + at,
									  run->result.bytes - at, &size) || size == 0)
			return GPUCOL_DEVICE_LOST;
		at += size;
	}
	return gpucol_wire_expect_results(run->wire, run->result.bytes) ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Are groups with rankings what comes back? */
static bool
is_ranked(const GpucolRun *run)
{
	return run->shape != NULL && run->shape->kind == GPUCOL_SHAPE_RANKED;
}

/* Columns of the result. */
static int
result_columns(const GpucolRun *run)
{
	return is_ranked(run) ? (int) run->shape->nkeys : run->program->nkeys;
}

/* Is every row that a scan found one of the table? */
static bool
rows_exist(const GpucolRun *run)
{
	for (uint64_t i = 0; i < run->result.nrows; i++)
	{
		uint32_t	segment = (uint32_t) (run->rows[i] >> 32);
		uint32_t	row = (uint32_t) run->rows[i];

		if (segment < run->noted->nsegments ? row >= run->noted->segments[segment].nrows :
			row >= run->delta.nrows)
			return false;
	}
	return true;
}

/*
 * Find the arrays in the data, and make the buffers of a batch.  GPUCOL_DEVICE_LOST for
 * data that no sound daemon sends.
 */
static GpucolStatus
find_arrays(GpucolRun *run)
{
	const GpucolProgram *p = run->program;
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(p, const uint8_t, reg_classes);
	uint64_t	n = run->result.nrows;
	uint64_t	at = 0;

	run->columns = calloc(p->nkeys + 1u, sizeof(GpucolResultColumn));
	run->values = calloc(p->nkeys + 1u, sizeof(int64_t *));
	run->nulls = calloc(p->nkeys + 1u, sizeof(uint8_t *));
	run->tids = malloc(sizeof(uint64_t) * BATCH_ROWS);
	if (run->columns == NULL || run->values == NULL || run->nulls == NULL || run->tids == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (n == 0)
		return GPUCOL_OK;
	if (n > MAX_RESULT_ROWS)
		return GPUCOL_DEVICE_LOST;
	if (p->kind == GPUCOL_PROGRAM_SCAN && !is_ranked(run))
	{
		run->rows = (const uint64_t *) run->data;
		at += n * 8;
	}
	for (int k = 0; k < result_columns(run); k++)
	{
		GpucolClass cls = classes[keys[k]];

		run->columns[k].cls = cls;
		run->values[k] = (const int64_t *) (run->data + at);
		at += n * (cls == GPUCOL_CLASS_D ? 16 : 8);
		run->nulls[k] = (const uint8_t *) (run->data + at);
		at += (n + 7) / 8 * 8;
		if (cls == GPUCOL_CLASS_D)
			run->wide[k] = aligned_alloc(16, sizeof(__int128) * BATCH_ROWS);
		if (cls == GPUCOL_CLASS_S)
			run->strings[k] = malloc(sizeof(GpucolBytes) * BATCH_ROWS);
		if ((cls == GPUCOL_CLASS_D && run->wide[k] == NULL) ||
			(cls == GPUCOL_CLASS_S && run->strings[k] == NULL))
			return GPUCOL_OUT_OF_MEMORY;
	}
	if (p->kind == GPUCOL_PROGRAM_AGG)
	{
		run->states = (const GpucolAggState *) (run->data + at);
		at += n * p->naggs * sizeof(GpucolAggState);
	}
	if (is_ranked(run))
		return at > run->result.bytes ? GPUCOL_DEVICE_LOST :
			gpucol_gpu_ranks_find(run->shape, n, run->data + at,
								  run->result.bytes - at, &run->ranks);
	return at == run->result.bytes && (run->rows == NULL || rows_exist(run)) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* ---- the run ---- */

static bool
cuda_available(const char **why)
{
	return gpucol_service.available(why);
}

static void
cuda_finish(GpucolRun *run)
{
	if (run == NULL)
		return;
	free_data(run);
	if (run->asking)
		gpucol_wire_drop();
	gpucol_gpu_noted_release(run->noted);
	for (int c = 0; c < run->ncolumns; c++)
	{
		if (run->delta.codes != NULL)
			free(run->delta.codes[c]);
		if (run->delta.nulls != NULL)
			free(run->delta.nulls[c]);
	}
	for (int k = 0; k < 64; k++)
	{
		free(run->wide[k]);
		free(run->strings[k]);
	}
	free(run->bytes);
	free(run->remap);
	free(run->delta.tids);
	free(run->delta.codes);
	free(run->delta.nulls);
	free(run->delta.has_nulls);
	free(run->scratch);
	free(run->payload);
	free(run->needed);
	free(run->columns);
	free(run->values);
	free(run->nulls);
	free(run->tids);
	gpucol_gpu_ranks_free(run->ranks);
	free(run);
}

static GpucolRun *
create_run(const GpucolProgram *program, GpucolSource *source, const GpucolHost *host)
{
	GpucolRun  *run = calloc(1, sizeof(GpucolRun));
	size_t		n = program->ncolumns + 1u;

	if (run == NULL)
		return NULL;
	run->program = program;
	run->ncolumns = program->ncolumns;
	run->source = source;
	run->host = host;
	run->bytes = calloc(n, sizeof(GpucolBytesUse));
	run->delta.codes = calloc(n, sizeof(void *));
	run->delta.nulls = calloc(n, sizeof(void *));
	run->delta.has_nulls = calloc(n, sizeof(bool));
	if (run->bytes == NULL || run->delta.codes == NULL ||
		run->delta.nulls == NULL || run->delta.has_nulls == NULL)
	{
		cuda_finish(run);
		return NULL;
	}
	return run;
}

/* Bytes of the program and the shape in a RUN. */
static size_t
program_size(const GpucolRun *run)
{
	return (run->program->size + 7u) / 8 * 8 + (run->shape != NULL ? sizeof(GpucolRowShape) : 0);
}

/*
 * Write the body of a RUN: program, shape and, unless the daemon has them, the
 * segments.  NULL without memory.
 */
static char *
make_body(GpucolRun *run, bool listed, size_t *size)
{
	const GpucolProgram *p = run->program;
	const GpucolGpuNoted *noted = run->noted;
	size_t		segments = listed ? 0 : noted->nsegments * sizeof(GpucolWireSegment);
	size_t		chunks = listed ? 0 : sizeof(GpucolWireColumnChunk) * noted->nsegments * p->ncolumns;
	size_t		at = program_size(run);
	char	   *body = malloc(at + segments + chunks + 1);

	if (body == NULL)
		return NULL;
	memset(body, 0, at);
	memcpy(body, p, p->size);
	if (run->shape != NULL)
		memcpy(body + at - sizeof(GpucolRowShape), run->shape, sizeof(GpucolRowShape));
	if (segments > 0)
		memcpy(body + at, noted->segments, segments);
	if (chunks > 0)
		memcpy(body + at + segments, noted->chunks, chunks);
	*size = at + segments + chunks;
	return body;
}

/*
 * Announce the request.  What came back is in run->payload: NEED, what the daemon
 * lacks, or, if *answered, the RESULT.
 */
static bool
announce(GpucolRun *run, uint32_t flags, bool *answered, size_t *size)
{
	const GpucolProgram *p = run->program;
	bool		listed = false;
	int			list = gpucol_gpu_noted_listable(run->noted) ?
		gpucol_wire_list(run->wire, run->noted->id, &listed) : -1;
	GpucolWireRun head = {.storage = {run->source->storage[0], run->source->storage[1]},
		.result_limit = run->memory_limit, .delta_rows = run->delta.nrows, .program_size = p->size,
		.nsegments = run->noted->nsegments, .ncolumns = p->ncolumns, .flags = flags,
		.turn = run->number};
	char	   *body = make_body(run, listed, size);
	bool		ok;

	run->scratch = body;
	if (body == NULL)
		return false;
	if (list >= 0)
	{
		head.flags |= listed ? GPUCOL_WIRE_RUN_LIST : GPUCOL_WIRE_RUN_KEEP;
		head.list = (uint32_t) list;
	}
	head.nobjects = flags & GPUCOL_WIRE_RUN_PREFETCH ? 0 : count_objects(run);
	for (int c = 0; c < p->ncolumns && c < MAX_BYTES_SLOT; c++)
		if (run->noted->dictionaries[c] != NULL)
			gpucol_gpu_dictionary_strings(run->noted->dictionaries[c], &head.distinct[c]);
	ok = gpucol_wire_send(run->wire, GPUCOL_WIRE_RUN, &head, sizeof(head), body, *size) &&
		gpucol_wire_receive_either(run->wire, GPUCOL_WIRE_NEED, GPUCOL_WIRE_RESULT, answered,
								   &run->payload, size);
	free(body);
	run->scratch = NULL;
	return ok;
}

/* Send what the daemon asked for, and receive the result's head. */
static GpucolStatus
send_needed(GpucolRun *run, bool prefetch, size_t *size, const char **why)
{
	size_t		nneed = *size / sizeof(GpucolWireNeed);
	void	   *need = run->payload;
	GpucolStatus status = GPUCOL_OK;

	run->needed = need;			/* a longjmp must not lose it */
	run->payload = NULL;
	if (!prefetch)
		status = send_objects(run);
	if (status == GPUCOL_OK)
		status = send_missing(run, need, nneed);
	free(need);
	run->needed = NULL;
	if (status == GPUCOL_DEVICE_LOST || (status == GPUCOL_OK && !gpucol_wire_flush(run->wire)))
		return lost(why);
	if (status != GPUCOL_OK)
		return refuse(why, status, "the table could not be read for the device");
	return gpucol_wire_receive(run->wire, GPUCOL_WIRE_RESULT, &run->payload, size) ?
		GPUCOL_OK : lost(why);
}

/* Announce the run on a connection of its own; as announce(). */
static GpucolStatus
acquire_and_announce(GpucolRun *run, uint32_t flags, bool *answered, size_t *size,
					 const char **why)
{
	run->asking = true;			/* an interrupt may unwind from here on */
	run->wire = gpucol_wire_acquire(run->source, why);
	if (run->wire == NULL)
	{
		run->asking = false;
		return refuse(why, GPUCOL_DEVICE_LOST, *why);
	}
	return announce(run, flags, answered, size) ? GPUCOL_OK : lost(why);
}

/* Take the result's head out of the message that came. */
static GpucolStatus
take_result(GpucolRun *run, size_t size, const char **why)
{
	if (size != sizeof(run->result))
		return lost(why);
	memcpy(&run->result, run->payload, size);
	run->result.reason[sizeof(run->result.reason) - 1] = '\0';
	free(run->payload);
	run->payload = NULL;
	return GPUCOL_OK;
}

/* Announce, send, and receive the result's head into run->result. */
static GpucolStatus
exchange(GpucolRun *run, uint32_t flags, const char **why)
{
	bool		prefetch = (flags & GPUCOL_WIRE_RUN_PREFETCH) != 0;
	bool		answered;
	GpucolStatus status;
	size_t		size;

	status = acquire_and_announce(run, flags, &answered, &size, why);
	if (status == GPUCOL_OK && !answered)
		status = send_needed(run, prefetch, &size, why);
	return status == GPUCOL_OK ? take_result(run, size, why) : status;
}

/* The result is read: the connection is free, unless the daemon gives it up. */
static void
end_exchange(GpucolRun *run)
{
	run->asking = false;
	if (run->result.closing)
	{
		gpucol_wire_drop();
		return;
	}
	if (run->result.status != GPUCOL_OK)
		gpucol_wire_unlist(run->wire, run->noted->id);
	gpucol_wire_release(run->wire);
}

/* Would the run's memory with so much more be within its limit? */
static bool
fits(const GpucolRun *run, uint64_t more)
{
	uint64_t	held = more + BATCH_ROWS * (8 + sizeof(GpucolBytes) * (uint64_t) run->program->nkeys) +
		run->delta.space * 8 * (uint64_t) (run->program->ncolumns + 1);

	for (int c = 0; c < run->program->ncolumns; c++)
		if (run->noted->dictionaries[c] != NULL)
			held += gpucol_gpu_dictionary_bytes(run->noted->dictionaries[c]);
	return run->memory_limit == 0 || held <= run->memory_limit;
}

/* Seconds since some time. */
static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Do the whole request. */
static GpucolStatus
request(GpucolRun *run, const char **why)
{
	double		start = seconds();
	GpucolStatus status;

	status = examine(run, why);
	if (status != GPUCOL_OK)
		return status;
	status = read_segments(run);
	if (status != GPUCOL_OK)
		return refuse(why, status, status == GPUCOL_UNSUPPORTED ?
					  "a column of bytes has no dictionary in some segment" : "segments could not be read");
	status = read_delta(run);
	if (status != GPUCOL_OK)
		return refuse(why, status, "the table could not be read for the device");
	if (!fits(run, 0))
		return refuse(why, GPUCOL_OUT_OF_MEMORY, "dictionaries and delta rows do not fit the query's memory limit");
	run->note_seconds = seconds() - start;
	status = exchange(run, (run->jit ? GPUCOL_WIRE_RUN_JIT : 0) |
					  (run->shape != NULL ? GPUCOL_WIRE_RUN_SHAPE : 0), why);
	run->ask_seconds = seconds() - start - run->note_seconds;
	if (status != GPUCOL_OK)
		return status;
	if (run->result.status != GPUCOL_OK)
		status = run->result.status;
	else if (run->result.bytes > MAX_RESULT_BYTES)
		return refuse(why, GPUCOL_DEVICE_LOST, "the device's answer makes no sense");
	else if (!fits(run, run->result.bytes))
		return refuse(why, GPUCOL_OUT_OF_MEMORY, "the result does not fit the query's memory limit");
	else
		status = read_data(run);
	run->fetch_seconds = seconds() - start - run->note_seconds - run->ask_seconds;
	if (status == GPUCOL_DEVICE_LOST)
		return lost(why);
	end_exchange(run);
	if (status != GPUCOL_OK)
		return refuse(why, status, run->result.reason);
	status = find_arrays(run);
	if (status == GPUCOL_OK)
		return GPUCOL_OK;
	gpucol_wire_drop();
	return refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ? "out of memory" :
				  "the device's answer makes no sense");
}

/* Device memory of the noted segments. */
static uint64_t
noted_bytes(const GpucolRun *run)
{
	size_t		n = (size_t) run->noted->nsegments * run->program->ncolumns;
	uint64_t	bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += (uint64_t) run->noted->chunks[i].nrows * GPUCOL_ROW_BYTES;
	return bytes;
}

/* Ask what is missing of the noted segments, and then take the request back. */
static GpucolStatus
ask_missing(GpucolRun *run, GpucolGpuLacking *lacking, const char **why)
{
	bool		answered;
	GpucolStatus status;
	size_t		size;

	status = acquire_and_announce(run, GPUCOL_WIRE_RUN_PREFETCH, &answered, &size, why);
	if (status != GPUCOL_OK)
		return status;
	if (!answered)
	{
		lacking->need = run->payload;
		lacking->n = size / sizeof(GpucolWireNeed);
		run->payload = NULL;
		if (!gpucol_wire_send(run->wire, GPUCOL_WIRE_CANCEL, NULL, 0, NULL, 0) ||
			!gpucol_wire_receive(run->wire, GPUCOL_WIRE_RESULT, &run->payload, &size))
			return lost(why);
	}
	status = take_result(run, size, why);
	if (status != GPUCOL_OK)
		return status;
	if (!answered)
		run->result.status = GPUCOL_OK;
	end_exchange(run);
	return run->result.status == GPUCOL_OK ? GPUCOL_OK :
		refuse(why, (GpucolStatus) run->result.status, run->result.reason);
}

/* Begin a run that computes nothing, in place of one that an error ended. */
static GpucolStatus
begin_loading(GpucolRun **run, const GpucolProgram *program, GpucolSource *source,
			  const char **why)
{
	cuda_finish(*run);
	*run = create_run(program, source, NULL);
	if (*run == NULL)
		return refuse(why, GPUCOL_OUT_OF_MEMORY, "out of memory");
	return examine(*run, why);
}

GpucolStatus
gpucol_gpu_ask(const GpucolProgram *program, GpucolSource *source,
			   GpucolGpuLacking *lacking, const char **why)
{
	static GpucolRun *run = NULL;	/* of a call that an error ended */
	GpucolStatus status = begin_loading(&run, program, source, why);

	if (run == NULL)
		return status;
	if (status == GPUCOL_OK && (status = read_segments(run)) != GPUCOL_OK)
		refuse(why, status, "segments could not be read");
	if (status == GPUCOL_OK)
		status = ask_missing(run, lacking, why);
	lacking->noted = run->noted;
	run->noted = NULL;
	cuda_finish(run);
	run = NULL;
	return status;
}

void
gpucol_gpu_lacking_free(GpucolGpuLacking *lacking)
{
	gpucol_gpu_noted_release(lacking->noted);
	free(lacking->need);
	memset(lacking, 0, sizeof(*lacking));
}

/* Note one segment alone. */
static GpucolStatus
note_alone(GpucolRun *run, const GpucolSegment *segment, GpucolGpuPrefetch *figures)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProgramColumn, columns);
	GpucolStatus status;

	run->noted = gpucol_gpu_noted_create(run->source, columns, run->program->ncolumns, run->bytes);
	if (run->noted == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = note_segment(run, segment);
	if (status == GPUCOL_OK)
		__atomic_fetch_add(&figures->resident, noted_bytes(run), __ATOMIC_RELAXED);
	return status;
}

GpucolStatus
gpucol_gpu_note(const GpucolProgram *program, GpucolSource *source,
				const GpucolSegment *segment, GpucolGpuPrefetch *figures,
				GpucolGpuNoted **noted)
{
	GpucolRun  *run = create_run(program, source, NULL);
	GpucolStatus status;

	*noted = NULL;
	if (run == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = note_alone(run, segment, figures);
	*noted = run->noted;
	run->noted = NULL;
	cuda_finish(run);
	return status;
}

/* Load what is missing of one segment; the daemon computes nothing. */
static GpucolStatus
load_segment(GpucolRun *run, const GpucolSegment *segment, GpucolGpuPrefetch *figures,
			 const char **why)
{
	GpucolStatus status = note_alone(run, segment, figures);

	if (status != GPUCOL_OK)
		return refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ? "out of memory" : "segments could not be read");
	run->current = segment;
	run->sent = 0;
	status = exchange(run, GPUCOL_WIRE_RUN_PREFETCH, why);
	if (status != GPUCOL_OK)
		return status;
	end_exchange(run);
	__atomic_fetch_add(&figures->sent, run->sent, __ATOMIC_RELAXED);
	gpucol_gpu_noted_release(run->noted);
	run->noted = NULL;
	run->number++;
	return run->result.status == GPUCOL_OK ? GPUCOL_OK :
		refuse(why, (GpucolStatus) run->result.status, run->result.reason);
}

bool
gpucol_gpu_is_full(const GpucolGpuPrefetch *figures)
{
	uint64_t	memory = gpucol_wire_device_memory();

	return memory > 0 && __atomic_load_n(&figures->resident, __ATOMIC_RELAXED) > memory - memory / 8;
}

GpucolStatus
gpucol_gpu_prefetch(const GpucolProgram *program, GpucolSource *source,
					GpucolGpuPrefetch *figures, const char **why)
{
	static GpucolRun *run = NULL;	/* of a call that an error ended */
	GpucolSegment segment;
	GpucolStatus status;

	status = begin_loading(&run, program, source, why);
	if (run == NULL)
		return status;
	while (status == GPUCOL_OK && !gpucol_gpu_is_full(figures) &&
		   (status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
		status = load_segment(run, &segment, figures, why);
	if (status == GPUCOL_UNSUPPORTED && run->noted == NULL)
		refuse(why, status, "segments could not be read");
	cuda_finish(run);
	run = NULL;
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

static GpucolStatus
cuda_start(const GpucolProgram *program, GpucolSource *source,
		   const GpucolHost *host, const GpucolRunOptions *options,
		   GpucolRun **run, const char **why)
{
	GpucolStatus status;

	*run = create_run(program, source, host);
	if (*run == NULL)
		return refuse(why, GPUCOL_OUT_OF_MEMORY, "out of memory");
	(*run)->shape = options->shape;
	(*run)->jit = options->jit;
	(*run)->in_place = options->in_place && program->kind == GPUCOL_PROGRAM_AGG;
	(*run)->memory_limit = options->memory_limit;
	status = request(*run, why);
	if (status != GPUCOL_OK && !GPUCOL_STATUS_IS_FALLBACK(status))
	{
		(*run)->error = status;
		return GPUCOL_OK;
	}
	if (status != GPUCOL_OK)
	{
		cuda_finish(*run);
		*run = NULL;
	}
	return status;
}

/* Virtual TID of a segment row, as src/columnar/rownum.h defines it. */
static uint64_t
virtual_tid(uint64_t row)
{
	return (UINT64_C(0x80000000) + row / 256) << 16 | (1 + row % 256);
}

/* The byte strings whose numbers output k holds; NULL if it holds none. */
static const GpucolBytes *
output_strings(const GpucolRun *run, int k, uint32_t *n)
{
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, keys);
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolInstr, instrs);

	*n = 0;
	for (int i = 0; i < run->program->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_LOAD_S && in[i].dst == keys[k] &&
			run->noted->dictionaries[in[i].aux] != NULL)
			return gpucol_gpu_dictionary_strings(run->noted->dictionaries[in[i].aux], n);
	return NULL;
}

/* Fill one column of a batch of n rows from row `at`. */
static void
fill_column(GpucolRun *run, int k, uint64_t at, uint32_t n)
{
	GpucolResultColumn *column = &run->columns[k];
	const GpucolBytes *strings;
	uint32_t	nstrings;

	column->nulls = run->nulls[k] + at;
	column->i = run->values[k] + at;
	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			memcpy(run->wide[k], run->values[k] + 2 * at, sizeof(__int128) * n);
			column->d = run->wide[k];
			break;
		case GPUCOL_CLASS_F:
			column->f = (const double *) run->values[k] + at;
			break;
		case GPUCOL_CLASS_S:
			strings = output_strings(run, k, &nstrings);
			for (uint32_t i = 0; i < n; i++)
			{
				uint64_t	number = (uint64_t) run->values[k][at + i];

				run->strings[k][i] = !column->nulls[i] && number < nstrings ?
					strings[number] : (GpucolBytes) {"", 0};
			}
			column->s = run->strings[k];
			break;
		default:
			break;
	}
}

/* Tell what byte strings the labels of rankings are numbers of. */
static void
set_label_strings(GpucolRun *run)
{
	const GpucolRowShape *shape = run->shape;

	for (uint32_t r = 0; r < shape->nrankings; r++)
	{
		int32_t		label = shape->sets[shape->rankings[r].set].label;
		uint32_t	n = 0;
		const GpucolBytes *strings = label < 0 ? NULL : output_strings(run, label, &n);

		gpucol_gpu_ranks_set_strings(run->ranks, r, strings, n);
	}
}

static GpucolStatus
cuda_next(GpucolRun *run, GpucolResult *out)
{
	const GpucolProgram *p = run->program;
	uint64_t	left = run->result.nrows - run->at;
	uint32_t	most = run->in_place ? GPUCOL_IN_PLACE_ROWS : BATCH_ROWS;
	uint32_t	n = left < most ? (uint32_t) left : most;

	if (run->error != GPUCOL_OK)
		return run->error;
	if (n == 0)
		return GPUCOL_END;
	memset(out, 0, sizeof(*out));
	out->nrows = n;
	out->columns = run->columns;
	for (int k = 0; k < result_columns(run); k++)
		fill_column(run, k, run->at, n);
	if (run->ranks != NULL)
	{
		set_label_strings(run);
		out->ranked = gpucol_gpu_ranks_at(run->ranks, run->at);
	}
	else if (run->rows != NULL)
	{
		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	row = run->rows[run->at + i];
			uint32_t	segment = (uint32_t) (row >> 32);

			run->tids[i] = segment >= run->noted->nsegments ? run->delta.tids[(uint32_t) row] :
				virtual_tid(run->noted->first_rows[segment] + (uint32_t) row);
		}
		out->tids = run->tids;
	}
	else
		out->states = run->states + run->at * p->naggs;
	run->at += n;
	return GPUCOL_OK;
}

static void
cuda_stats(const GpucolRun *run, GpucolRunStats *out)
{
	memset(out, 0, sizeof(*out));
	out->segments_read = run->result.nsegments;
	out->segments_skipped = run->result.segments_skipped;
	out->delta_rows = run->delta.nrows;
	out->packed_bytes = run->result.packed_bytes;
	out->device_seconds = run->result.device_seconds;
	out->daemon_seconds = run->result.daemon_seconds;
	out->lookup_seconds = run->result.lookup_seconds;
	out->plan_seconds = run->result.plan_seconds;
	out->work_seconds = run->result.work_seconds;
	out->begin_seconds = run->result.begin_seconds;
	out->end_seconds = run->result.end_seconds;
	out->note_seconds = run->note_seconds;
	out->ask_seconds = run->ask_seconds;
	out->fetch_seconds = run->fetch_seconds;
	out->devices = (int) run->result.ndevices;
	out->batches = (int) run->result.nbatches;
	out->threads = 1;
	memcpy(out->kernel, run->result.kernel, sizeof(out->kernel) - 1);
	memcpy(out->note, run->result.note, sizeof(out->note) - 1);
}

const GpucolEngine gpucol_engine_cuda = {
	.name = "cuda",
	.available = cuda_available,
	.start = cuda_start,
	.next = cuda_next,
	.stats = cuda_stats,
	.finish = cuda_finish,
};
