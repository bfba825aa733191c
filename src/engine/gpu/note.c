/*-------------------------------------------------------------------------
 *
 * note.c
 *	  The first pass of a run on the device over its source: what the segments are, and
 *	  numbers for the byte strings of their dictionaries.
 *
 * Byte strings never travel: the device works with numbers that are given here
 * to the distinct entries of the dictionaries, and to strings without one where they are
 * few (raw.c).  Other columns of bytes, and those with a dictionary of more pages than may be
 * mapped at a time, are left to another engine, unless only their NULLs are asked for.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"
#include "kernel/decode.h"

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
	if (!gpucol_gpu_bytes_are_nulls(use))
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
device_rows(const GpucolGpuRun *run, int slot, const GpucolChunkDesc *desc, uint32_t nrows)
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

/* May the streams of a segment's dictionary be mapped together? */
static bool
may_map(const GpucolGpuRun *run, const GpucolChunkDesc *desc)
{
	return (uint64_t) desc->streams[GPUCOL_STREAM_DICT].nrows +
		desc->streams[GPUCOL_STREAM_DATA].nrows <= run->source->max_window_rows;
}

/* Map a whole stream into a decoder. */
static GpucolStatus
map_stream(GpucolGpuRun *run, const GpucolSegment *segment, int slot,
		   GpucolStreamKind stream, GpucolRows *rows, GpucolDecoder *decoder)
{
	const GpucolChunkDesc *desc = segment->chunks[slot];
	GpucolStatus status;

	if (desc->streams[stream].nrows == 0)
		return GPUCOL_OK;
	status = run->source->ops->map(run->source, segment, slot, stream, 0,
								   desc->streams[stream].nrows, rows);
	if (status == GPUCOL_OK)
		gpucol_decode_map(decoder, stream, rows);
	return status;
}

GpucolStatus
gpucol_gpu_number_dictionary(GpucolGpuRun *run, const GpucolSegment *segment, int slot, uint32_t *n)
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
	if (gpucol_gpu_raw_is(run, slot, desc))
		return gpucol_gpu_raw_number(run, segment, slot, n);
	if ((desc->coding != GPUCOL_CODING_DICT && desc->coding != GPUCOL_CODING_CONSTANT) ||
		!may_map(run, desc))
		return GPUCOL_UNSUPPORTED;
	*n = desc->coding == GPUCOL_CODING_CONSTANT ? 1 : desc->ndict;
	run->numbering.remap_bytes = sizeof(uint32_t) * (*n + UINT64_C(1));
	if (!gpucol_gpu_run_fits(run, sizeof(GpucolBytes) * (uint64_t) *n))
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_decode_init(&decoder, desc, segment->nrows, &gpucol_memory_malloc);
	status = map_stream(run, segment, slot, GPUCOL_STREAM_DICT, &dict, &decoder);
	if (status == GPUCOL_OK)
		status = map_stream(run, segment, slot, GPUCOL_STREAM_DATA, &data, &decoder);
	if (status == GPUCOL_OK)
		status = gpucol_decode_load(&decoder);
	numbers = realloc(run->numbering.remap, sizeof(uint32_t) * (*n + 1u));
	if (numbers == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	else
		run->numbering.remap = numbers;
	for (uint32_t i = 0; i < *n && status == GPUCOL_OK; i++)
		if (!gpucol_gpu_dictionary_number(run->manifest->dictionaries[slot], decoder.entries[i].data,
										  decoder.entries[i].len, &numbers[i]))
			status = GPUCOL_OUT_OF_MEMORY;
	gpucol_decode_free(&decoder);
	if (dict.npages > 0)
		run->source->ops->unmap(run->source, &dict);
	if (data.npages > 0)
		run->source->ops->unmap(run->source, &data);
	return status;
}

size_t
gpucol_gpu_bitmap_words(const GpucolSegment *segment)
{
	return (size_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_WORDS;
}

GpucolStatus
gpucol_gpu_note_segment(GpucolGpuRun *run, const GpucolSegment *segment)
{
	bool		deleted = segment->deleted != NULL && segment->ndeleted > 0;
	const GpucolSource *table = gpucol_source_table(run->source);
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProgramColumn, columns);
	GpucolWireSegment wire = {
		{table->storage[0], table->storage[1]}, segment->id,
		deleted ? gpucol_gpu_manifest_identity(segment->deleted, gpucol_gpu_bitmap_words(segment)) : 0,
		segment->nrows, deleted ? segment->ndeleted : 0
	};
	GpucolWireColumnChunk *chunks;
	GpucolStatus status = gpucol_gpu_manifest_add(run->manifest, &wire, segment->first_row, &chunks);

	for (int c = 0; c < run->program->ncolumns && status == GPUCOL_OK; c++)
	{
		GpucolChunkDesc desc = *segment->chunks[c];

		if (run->bytes[c] == GPUCOL_BYTES_NUMBERS)
			status = gpucol_gpu_number_dictionary(run, segment, c, &chunks[c].nentries);
		if (status == GPUCOL_OK && chunks[c].nentries > 0)
			chunks[c].remap = gpucol_gpu_manifest_identity(run->numbering.remap, chunks[c].nentries);
		if (status == GPUCOL_OK && gpucol_gpu_raw_is(run, c, &desc))
			gpucol_gpu_raw_describe(&desc, segment->nrows, chunks[c].nentries);
		chunks[c].attnum = table->attnums != NULL ? table->attnums[c] : columns[c].attnum;
		chunks[c].identity = identity_of(&desc, gpucol_gpu_bytes_are_nulls(run->bytes[c]));
		chunks[c].nrows = device_rows(run, c, &desc, segment->nrows);
	}
	return status;
}

/* The budget above all others of this process, or NULL. */
static GpucolBudget *
session_of(const GpucolGpuRun *run)
{
	GpucolBudget *budget = run->memory.parent;

	while (budget != NULL && budget->parent != NULL)
		budget = budget->parent;
	return budget;
}

/* Count the rows of segments that were noted before, a table at a time. */
static void
count_rows(const GpucolGpuRun *run)
{
	const GpucolGpuManifest *manifest = run->manifest;
	uint64_t	rows = 0;

	for (uint32_t s = 0; s < manifest->nsegments; s++)
	{
		const GpucolWireSegment *segment = &manifest->segments[s];

		rows += segment->nrows - segment->ndeleted;
		if (s + 1 < manifest->nsegments &&
			memcmp(segment->storage, segment[1].storage, sizeof(segment->storage)) == 0)
			continue;
		run->source->ops->count_rows(run->source, segment->storage, rows);
		rows = 0;
	}
}

/* What was noted before, of strings as numbers or, where they were too many, as rows; NULL: nothing. */
static GpucolGpuManifest *
find_manifest(GpucolGpuRun *run)
{
	const GpucolProgram *p = run->program;
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns);
	GpucolGpuManifest *manifest = gpucol_gpu_manifest_find(run->source, columns, p->ncolumns, run->bytes);
	GpucolBytesUse uses[GPUCOL_GPU_BYTES_SLOTS];
	int			n = p->ncolumns < GPUCOL_GPU_BYTES_SLOTS ? p->ncolumns : GPUCOL_GPU_BYTES_SLOTS;

	if (manifest != NULL)
		return manifest;
	memcpy(uses, run->bytes, sizeof(GpucolBytesUse) * (size_t) n);
	if (!gpucol_gpu_raw_leave(run))
		return NULL;
	manifest = gpucol_gpu_manifest_find(run->source, columns, p->ncolumns, run->bytes);
	if (manifest == NULL)
		memcpy(run->bytes, uses, sizeof(GpucolBytesUse) * (size_t) n);
	return manifest;
}

/* Begin to note, nothing so far. */
static GpucolStatus
begin(GpucolGpuRun *run)
{
	const GpucolProgram *p = run->program;

	gpucol_gpu_manifest_release(run->manifest);
	run->manifest = gpucol_gpu_manifest_create(run->source, GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns),
											   p->ncolumns, run->bytes);
	return run->manifest == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_note_segments(GpucolGpuRun *run)
{
	GpucolSegment segment;
	GpucolStatus status;
	bool		measured = false;

	run->manifest = find_manifest(run);
	if (run->manifest != NULL)
	{
		count_rows(run);
		return GPUCOL_OK;
	}
	status = begin(run);
	while (status == GPUCOL_OK && (status = run->source->ops->next_segment(run->source, &segment)) == GPUCOL_OK)
		if (!measured && gpucol_gpu_raw_any(run, &segment))
		{
			/* what becomes of such columns goes for all segments */
			measured = true;
			status = gpucol_gpu_raw_measure(run);
			if (status == GPUCOL_OK)
				status = begin(run);
		}
		else
		{
			status = gpucol_gpu_note_segment(run, &segment);
			if (status == GPUCOL_OK && !gpucol_gpu_run_fits(run, 0))
				status = GPUCOL_OUT_OF_MEMORY;
		}
	if (status != GPUCOL_END)
		return status;
	gpucol_gpu_manifest_keep(run->manifest, session_of(run));
	return GPUCOL_OK;
}
