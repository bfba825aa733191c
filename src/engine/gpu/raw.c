/*-------------------------------------------------------------------------
 *
 * raw.c
 *	  Byte strings of segments that have no dictionary: numbered row by row, where they are few.
 *
 * The device is told of such a chunk as of one with a dictionary, whose entries are the
 * segment's distinct strings by their first rows.  That is the same in every process, so that
 * the codes stay resident as other chunks do; what the entries' numbers are is a remap, as
 * always.  Every process reads all strings of the table once, and keeps them with the
 * manifest: so a table with many, or long ones, is left to another engine.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"
#include "kernel/bitpack.h"
#include "kernel/decode.h"

#define MOST_BYTES	(UINT64_C(30) << 20) /* of all such strings: a manifest with more is not kept */
#define ROW_BYTES	40			/* that a dictionary takes for a string beside its bytes */
#define MOST_LENGTH	12			/* bits of a string's length */

/* The streams that its strings are decoded from. */
static const GpucolStreamKind streams[] = {
	GPUCOL_STREAM_CODES, GPUCOL_STREAM_NULLS, GPUCOL_STREAM_OFFSETS, GPUCOL_STREAM_DATA
};

#define NSTREAMS	((int) (sizeof(streams) / sizeof(streams[0])))

/* A segment's strings while they are numbered. */
typedef struct Numbering
{
	GpucolDecoder decoder;
	GpucolBytes *values;		/* of a vector */
	uint32_t   *places;			/* entry + 1 of each number; 0: the segment has it not */
	uint32_t	n;				/* entries */
} Numbering;

bool
gpucol_gpu_raw_is(const GpucolGpuRun *run, int slot, const GpucolChunkDesc *desc)
{
	return run->bytes[slot] == GPUCOL_BYTES_NUMBERS && desc->coding == GPUCOL_CODING_RAW &&
		(desc->flags & GPUCOL_CHUNK_ALL_NULL) == 0;
}

/* About what the strings of a chunk take in a dictionary. */
static uint64_t
expected_bytes(const GpucolChunkDesc *desc, uint32_t nrows)
{
	if (desc->width > MOST_LENGTH)
		return MOST_BYTES + 1;
	return (uint64_t) nrows * ROW_BYTES + desc->data_bytes * (desc->flags & GPUCOL_CHUNK_DATA_LZ4 ? 2 : 1);
}

bool
gpucol_gpu_raw_any(const GpucolGpuRun *run, const GpucolSegment *segment)
{
	for (int c = 0; c < run->program->ncolumns; c++)
		if (gpucol_gpu_raw_is(run, c, segment->chunks[c]))
			return true;
	return false;
}

/* Do the strings that the source shows fit?  UNSUPPORTED if not. */
static GpucolStatus
measure(GpucolGpuRun *run)
{
	GpucolSegment segment;
	GpucolStatus status = GPUCOL_END;
	uint64_t	bytes = 0;

	run->source->ops->rescan(run->source);
	while (bytes <= MOST_BYTES && (status = run->source->ops->next_segment(run->source, &segment)) == GPUCOL_OK)
		for (int c = 0; c < run->program->ncolumns; c++)
			if (gpucol_gpu_raw_is(run, c, segment.chunks[c]))
				bytes += expected_bytes(segment.chunks[c], segment.nrows);
	run->source->ops->rescan(run->source);
	return status == GPUCOL_END ? GPUCOL_OK : status == GPUCOL_OK ? GPUCOL_UNSUPPORTED : status;
}

bool
gpucol_gpu_raw_leave(GpucolGpuRun *run)
{
	bool		any = false;

	for (int c = 0; c < run->program->ncolumns; c++)
		if (run->bytes[c] == GPUCOL_BYTES_NUMBERS && gpucol_gpu_late_may(run, c))
		{
			run->bytes[c] = GPUCOL_BYTES_ROWS;
			any = true;
		}
	return any;
}

GpucolStatus
gpucol_gpu_raw_measure(GpucolGpuRun *run)
{
	GpucolStatus status = measure(run);

	return status == GPUCOL_UNSUPPORTED && gpucol_gpu_raw_leave(run) ? measure(run) : status;
}

void
gpucol_gpu_raw_describe(GpucolChunkDesc *desc, uint32_t nrows, uint32_t n)
{
	desc->coding = n == 1 ? GPUCOL_CODING_CONSTANT : GPUCOL_CODING_DICT;
	desc->width = (uint8_t) gpucol_bitpack_width(n - 1);
	desc->ndict = n;
	desc->reference = 0;
	desc->flags &= (uint16_t) ~(GPUCOL_CHUNK_DATA_LZ4 | GPUCOL_CHUNK_DATA_PIECES);
	desc->streams[GPUCOL_STREAM_CODES].nrows = GPUCOL_VECTORS(nrows) * desc->width;
}

/* Map the streams of a chunk; as far as that goes they are in windows[]. */
static GpucolStatus
map_streams(GpucolGpuRun *run, const GpucolSegment *segment, int slot, GpucolRows *windows)
{
	const GpucolChunkDesc *desc = segment->chunks[slot];
	uint64_t	rows = 0;
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < NSTREAMS; i++)
		rows += desc->streams[streams[i]].nrows;
	if (rows > run->source->max_window_rows)
		return GPUCOL_UNSUPPORTED;
	for (int i = 0; i < NSTREAMS && status == GPUCOL_OK; i++)
		if (desc->streams[streams[i]].nrows > 0)
			status = run->source->ops->map(run->source, segment, slot, streams[i], 0,
										   desc->streams[streams[i]].nrows, &windows[i]);
	return status;
}

/* Memory for the numbers of a segment's rows; counted with what the decoder takes. */
static GpucolStatus
make_space(GpucolGpuRun *run, const GpucolSegment *segment, int slot, Numbering *numbering)
{
	uint64_t	ncodes = (uint64_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_VECTOR_VALUES;
	uint64_t	nplaces;
	uint32_t	nstrings;
	void	   *p;

	(void) gpucol_gpu_dictionary_strings(run->manifest->dictionaries[slot], &nstrings);
	nplaces = (uint64_t) nstrings + segment->nrows + 1;
	run->numbering.remap_bytes = sizeof(uint32_t) * (segment->nrows + UINT64_C(1) + nplaces + ncodes) +
		GPUCOL_VECTOR_VALUES * (sizeof(GpucolBytes) + (UINT64_C(2) << segment->chunks[slot]->width));
	if (!gpucol_gpu_run_fits(run, 0))
		return GPUCOL_OUT_OF_MEMORY;
	if ((p = realloc(run->numbering.remap, sizeof(uint32_t) * (segment->nrows + (size_t) 1))) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->numbering.remap = p;
	if ((p = realloc(run->numbering.codes, sizeof(uint32_t) * ncodes)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->numbering.codes = p;
	memset(p, 0, sizeof(uint32_t) * ncodes);
	numbering->places = calloc(nplaces, sizeof(uint32_t));
	numbering->values = malloc(sizeof(GpucolBytes) * GPUCOL_VECTOR_VALUES);
	return numbering->places == NULL || numbering->values == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* Number the strings of a vector: its codes, and the numbers of new entries. */
static GpucolStatus
number_vector(GpucolGpuRun *run, int slot, Numbering *numbering, uint32_t v)
{
	GpucolGpuDictionary *dictionary = run->manifest->dictionaries[slot];
	uint32_t	nulls[GPUCOL_VECTOR_VALUES / 32];
	uint32_t	start = v * GPUCOL_VECTOR_VALUES;
	uint32_t	rows = numbering->decoder.nrows - start;
	GpucolStatus status = gpucol_decode_nulls(&numbering->decoder, v, nulls);

	if (status == GPUCOL_OK)
		status = gpucol_decode_bytes(&numbering->decoder, v, numbering->values);
	if (status == GPUCOL_OK && !gpucol_gpu_run_fits(run, 0))
		status = GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < rows && i < GPUCOL_VECTOR_VALUES && status == GPUCOL_OK; i++)
	{
		const GpucolBytes *value = &numbering->values[i];
		uint32_t	number;

		if (nulls[i / 32] >> (i % 32) & 1)
			continue;
		if (!gpucol_gpu_dictionary_number(dictionary, value->data, value->len, &number))
			return GPUCOL_OUT_OF_MEMORY;
		if (numbering->places[number] == 0)
		{
			run->numbering.remap[numbering->n++] = number;
			numbering->places[number] = numbering->n;
		}
		run->numbering.codes[start + i] = numbering->places[number] - 1;
	}
	return status;
}

GpucolStatus
gpucol_gpu_raw_number(GpucolGpuRun *run, const GpucolSegment *segment, int slot, uint32_t *n)
{
	GpucolRows	windows[NSTREAMS] = {{0}};
	Numbering	numbering = {.n = 0};
	GpucolStatus status = map_streams(run, segment, slot, windows);

	/* from here on the source raises no error until all is freed */
	gpucol_decode_init(&numbering.decoder, segment->chunks[slot], segment->nrows, &gpucol_memory_malloc);
	for (int i = 0; i < NSTREAMS; i++)
		if (windows[i].npages > 0)
			gpucol_decode_map(&numbering.decoder, streams[i], &windows[i]);
	if (status == GPUCOL_OK)
		status = make_space(run, segment, slot, &numbering);
	for (uint32_t v = 0; v < GPUCOL_VECTORS(segment->nrows) && status == GPUCOL_OK; v++)
		status = number_vector(run, slot, &numbering, v);
	gpucol_decode_free(&numbering.decoder);
	free(numbering.places);
	free(numbering.values);
	for (int i = 0; i < NSTREAMS; i++)
		if (windows[i].npages > 0)
			run->source->ops->unmap(run->source, &windows[i]);
	*n = numbering.n;
	return status == GPUCOL_OK && numbering.n == 0 ? GPUCOL_CORRUPT : status;
}

GpucolStatus
gpucol_gpu_raw_send(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number, int slot,
					uint64_t total, uint64_t *offset)
{
	const GpucolWireColumnChunk *chunk = &run->manifest->chunks[(size_t) number * run->program->ncolumns + slot];
	uint32_t	width = (uint32_t) gpucol_bitpack_width(chunk->nentries - UINT64_C(1));
	uint32_t	words[GPUCOL_VECTOR_VALUES];
	uint64_t	size = (uint64_t) GPUCOL_VECTORS(segment->nrows) * width * GPUCOL_ROW_BYTES;
	uint32_t	n;
	GpucolStatus status = gpucol_gpu_raw_number(run, segment, slot, &n);

	if (status != GPUCOL_OK || n != chunk->nentries)
		return status == GPUCOL_OK ? GPUCOL_UNSUPPORTED : status;
	if (size == 0)
		return GPUCOL_OK;
	for (uint32_t v = 0; v < GPUCOL_VECTORS(segment->nrows); v++)
	{
		gpucol_bitpack_pack32((int) width, run->numbering.codes + (size_t) v * GPUCOL_VECTOR_VALUES, words);
		memcpy(run->numbering.codes + (size_t) v * width * GPUCOL_ROW_WORDS, words, width * (size_t) GPUCOL_ROW_BYTES);
	}
	if (!gpucol_wire_put(run->wire, GPUCOL_PUT_CHUNK, number, (uint32_t) slot, total, *offset, run->numbering.codes,
						 size))
		return GPUCOL_DEVICE_LOST;
	*offset += size;
	return GPUCOL_OK;
}
