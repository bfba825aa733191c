/*-------------------------------------------------------------------------
 *
 * send.c
 *	  What a run on the device sends the daemon: the pieces of segments that are not
 *	  resident, in a second pass over the source, delta rows, and results of host tests,
 *	  which are evaluated here once for each number of a byte string.  Tables of probes:
 *	  lookup.c.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"

#define ROWS_PER_MAP	4096	/* word rows mapped at a time for sending */

/* ---- pieces ---- */

/* Send one stream of a chunk; *offset is where it goes in the object. */
static GpucolStatus
send_stream(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number, int slot,
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
send_chunk(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number, int slot)
{
	GpucolWireChunk head;
	uint64_t	total = sizeof(head);
	uint64_t	offset = sizeof(head);
	bool		raw = gpucol_gpu_raw_is(run, slot, segment->chunks[slot]);
	GpucolStatus status = GPUCOL_OK;

	memset(&head, 0, sizeof(head));
	head.desc = *segment->chunks[slot];
	if (raw)
		gpucol_gpu_raw_describe(&head.desc, segment->nrows,
								run->manifest->chunks[(size_t) number * run->program->ncolumns + slot].nentries);
	head.present = gpucol_gpu_chunk_streams(run->bytes[slot], &head.desc);
	if (gpucol_gpu_bytes_are_nulls(run->bytes[slot]))
	{
		/* no value of it is looked at: one entry, where not all are NULL */
		head.desc.coding = GPUCOL_CODING_CONSTANT;
		head.desc.width = 0;
		head.desc.hidden = head.desc.shown = 0;
		head.desc.item_width = head.desc.item_bytes = 0;
		head.desc.item_type = 0;
		head.desc.nitems = 0;
		head.desc.ndict = head.desc.flags & GPUCOL_CHUNK_ALL_NULL ? 0 : 1;
		head.desc.flags &= (uint16_t) ~(GPUCOL_CHUNK_DATA_LZ4 | GPUCOL_CHUNK_DATA_PIECES | GPUCOL_CHUNK_ITEM_NULLS);
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
			status = raw && k == GPUCOL_STREAM_CODES ?
				gpucol_gpu_raw_send(run, segment, number, slot, total, &offset) :
				send_stream(run, segment, number, slot, k, total, &offset);
	return status;
}

static bool
send_object(GpucolGpuRun *run, GpucolPutKind kind, uint32_t a, uint32_t b,
			const void *data, uint64_t size)
{
	return size == 0 || gpucol_wire_put(run->wire, kind, a, b, size, 0, data, size);
}

/* Send the bitmap of a segment's deleted rows. */
static GpucolStatus
send_deleted(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number)
{
	size_t		n = gpucol_gpu_bitmap_words(segment);

	if (segment->deleted == NULL ||
		gpucol_gpu_manifest_identity(segment->deleted, n) != run->manifest->segments[number].deleted)
		return GPUCOL_UNSUPPORTED;
	return send_object(run, GPUCOL_PUT_DELETED, number, 0, segment->deleted, n * 4) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send the numbers of a dictionary's entries. */
static GpucolStatus
send_remap(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number, int slot)
{
	const GpucolWireColumnChunk *chunk = &run->manifest->chunks[(size_t) number * run->program->ncolumns + slot];
	uint32_t	n;
	GpucolStatus status = run->bytes[slot] == GPUCOL_BYTES_NUMBERS ?
		gpucol_gpu_number_dictionary(run, segment, slot, &n) : GPUCOL_DEVICE_LOST;

	if (status != GPUCOL_OK)
		return status;
	if (n != chunk->nentries || gpucol_gpu_manifest_identity(run->numbering.remap, n) != chunk->remap)
		return GPUCOL_UNSUPPORTED;
	return send_object(run, GPUCOL_PUT_REMAP, number, (uint32_t) slot, run->numbering.remap, (uint64_t) n * 4) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send one piece of a segment. */
static GpucolStatus
send_piece(GpucolGpuRun *run, const GpucolSegment *segment, const GpucolWireNeed *need)
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
send_current(GpucolGpuRun *run, const GpucolWireNeed *need, size_t n)
{
	GpucolStatus status = GPUCOL_OK;

	for (size_t i = 0; i < n && status == GPUCOL_OK; i++)
		status = need[i].segment == 0 ? send_piece(run, run->numbering.current, &need[i]) : GPUCOL_DEVICE_LOST;
	return status;
}

GpucolStatus
gpucol_gpu_send_missing(GpucolGpuRun *run, const GpucolWireNeed *need, size_t n)
{
	GpucolSegment segment;
	GpucolStatus status;
	uint32_t	number = 0;
	size_t		i = 0;

	if (n == 0)
		return GPUCOL_OK;
	if (run->numbering.current != NULL)
		return send_current(run, need, n);
	run->source->ops->rescan(run->source);
	for (; i < n; number++)
	{
		status = run->source->ops->next_segment(run->source, &segment);
		if (status != GPUCOL_OK)
			return status == GPUCOL_END ? GPUCOL_UNSUPPORTED : status;
		if (number >= run->manifest->nsegments || segment.id != run->manifest->segments[number].id ||
			segment.nrows != run->manifest->segments[number].nrows)
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

/* ---- objects ---- */

uint32_t
gpucol_gpu_count_objects(const GpucolGpuRun *run)
{
	uint32_t	n = 0;

	for (int c = 0; run->delta.nrows > 0 && c < run->program->ncolumns; c++)
		n += 1 + run->delta.has_nulls[c];
	for (int id = 0; id < GPUCOL_WIRE_MAX_HOST; id++)
		n += gpucol_gpu_host_slot(run->program, id) >= 0;
	return n + (uint32_t) run->norders + gpucol_gpu_count_lookups(run);
}

/* Evaluate a host test on every number and on NULL, and send the results. */
static GpucolStatus
send_host_test(GpucolGpuRun *run, int id)
{
	int			slot = gpucol_gpu_host_slot(run->program, id);
	const GpucolBytes *strings;
	GpucolBytes none = {NULL, 0};
	bool		isnull = true;
	uint32_t	n;
	uint8_t    *results;

	if (slot < 0)
		return GPUCOL_OK;
	strings = gpucol_gpu_slot_strings(run, slot, &n);
	if (!gpucol_gpu_run_fits(run, (uint64_t) n + 1))
		return GPUCOL_OUT_OF_MEMORY;
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

/* Sort the numbers of a column, and send the place of each. */
static GpucolStatus
send_order(GpucolGpuRun *run, GpucolGpuOrder *order)
{
	GpucolGpuDictionary *dictionary = run->manifest->dictionaries[order->slot];
	GpucolStatus status;
	uint32_t   *places;
	uint32_t	n;

	gpucol_gpu_dictionary_strings(dictionary, &n);
	if (!gpucol_gpu_run_fits(run, gpucol_gpu_order_bytes(n)))
		return GPUCOL_OUT_OF_MEMORY;
	status = gpucol_gpu_order_sort(order, dictionary, run->host, &run->scratch);
	places = run->scratch;
	if (status != GPUCOL_OK)
		return status;
	for (uint32_t i = 0; i < order->n; i++)
		places[order->numbers[i]] = i;
	places[order->n] = 0;		/* so that there is something to send */
	if (!send_object(run, GPUCOL_PUT_ORDER, order->order, (uint32_t) order->slot, places,
					 ((uint64_t) order->n + 1) * sizeof(uint32_t)))
		return GPUCOL_DEVICE_LOST;
	free(places);
	run->scratch = NULL;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_send_objects(GpucolGpuRun *run)
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
	for (int i = 0; i < run->norders; i++)
	{
		status = send_order(run, &run->orders[i]);
		if (status != GPUCOL_OK)
			return status;
	}
	return gpucol_gpu_send_lookups(run);
}
