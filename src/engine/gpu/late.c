/*-------------------------------------------------------------------------
 *
 * late.c
 *	  Byte strings that a scan only puts out: read here, of the rows that are in the result.
 *
 * Where a table has too many strings without a dictionary to number them (raw.c), the device
 * gets their NULLs alone, and tells which rows there are.  So a few rows of a large table, or the
 * first of an order, are found on the device.  Rows in many vectors are left to another engine,
 * which reads with many threads.
 *
 * What is read becomes numbers of a dictionary of the run, as if the device had sent them.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"
#include "kernel/decode.h"

#define MOST_VECTORS	256	/* that are read, of all columns */
#define MOST_STRINGS	65536
#define CHECKED_ROWS	64		/* between looks at memory and interrupts */

/* A row of the result, by where it is. */
typedef struct Place
{
	uint64_t	row;			/* segment << 32 | row */
	uint64_t	number;			/* in the result */
} Place;

/* A chunk that rows are read of. */
typedef struct Reader
{
	GpucolDecoder decoder;
	const GpucolSegment *segment;
	int			slot;
	int64_t		vector;			/* that is mapped; -1: none */
	GpucolRows	windows[GPUCOL_STREAM_COUNT];
} Reader;

bool
gpucol_gpu_late_may(const GpucolGpuRun *run, int slot)
{
	const GpucolProgram *p = run->program;
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const uint16_t *probe_keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, probe_keys);

	if (p->kind != GPUCOL_PROGRAM_SCAN || (run->shape != NULL && run->shape->kind != GPUCOL_SHAPE_TOP))
		return false;
	for (int i = 0; i < p->nranges; i++)
		if (ranges[i].op == GPUCOL_RANGE_HOST && ranges[i].column == slot)
			return false;
	for (int i = 0; i < p->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_HOST_TEST && gpucol_gpu_bytes_slot(p, in[i].a) == slot)
			return false;
	for (int k = 0; k < p->nprobe_keys; k++)
		if (gpucol_gpu_bytes_slot(p, probe_keys[k]) == slot)
			return false;
	for (uint32_t k = 0; run->shape != NULL && k < run->shape->nkeys; k++)
		if (gpucol_gpu_bytes_slot(p, keys[run->shape->keys[k].output]) == slot)
			return false;
	return true;
}

/* The column of strings that are read here that an output is; -1: it is none. */
static int
late_slot(const GpucolGpuRun *run, int k)
{
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, keys);
	int			slot = run->answer.columns[k].cls == GPUCOL_CLASS_S ? gpucol_gpu_bytes_slot(run->program, keys[k]) : -1;

	return slot >= 0 && slot < run->ncolumns && run->bytes[slot] == GPUCOL_BYTES_ROWS ? slot : -1;
}

static int
compare_places(const void *a, const void *b)
{
	uint64_t	x = ((const Place *) a)->row;
	uint64_t	y = ((const Place *) b)->row;

	return x < y ? -1 : x > y;
}

/* Give a row of the result a string, or none. */
static GpucolStatus
put_string(GpucolGpuRun *run, int k, uint64_t number, const GpucolBytes *value)
{
	uint32_t	given;

	if (!gpucol_gpu_dictionary_number(run->late.dictionaries[late_slot(run, k)], value->data, value->len, &given))
		return GPUCOL_OUT_OF_MEMORY;
	((int64_t *) run->answer.values[k])[number] = given;
	return GPUCOL_OK;
}

/* Does the memory still fit, with the result, and does nobody want an end? */
static GpucolStatus
check(GpucolGpuRun *run)
{
	run->source->ops->check_interrupts(run->source);
	return gpucol_gpu_run_fits(run, run->answer.result.bytes + sizeof(Place) * run->answer.result.nrows) ?
		GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;
}

/* ---- segments ---- */

static void
unmap(GpucolGpuRun *run, Reader *reader)
{
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (reader->windows[k].npages > 0)
		{
			run->source->ops->unmap(run->source, &reader->windows[k]);
			memset(&reader->windows[k], 0, sizeof(reader->windows[k]));
			gpucol_decode_map(&reader->decoder, (GpucolStreamKind) k, &reader->windows[k]);
		}
	reader->vector = -1;
}

/* Map word rows of a stream; *left is how many more may be mapped. */
static GpucolStatus
map(GpucolGpuRun *run, Reader *reader, GpucolStreamKind stream, uint32_t row, uint32_t n, uint32_t *left)
{
	GpucolStatus status;

	if (n == 0)
		return GPUCOL_OK;
	if (n > *left)
		return GPUCOL_UNSUPPORTED;
	*left -= n;
	status = run->source->ops->map(run->source, reader->segment, reader->slot, stream, row, n,
								   &reader->windows[stream]);
	if (status == GPUCOL_OK)
		gpucol_decode_map(&reader->decoder, stream, &reader->windows[stream]);
	return status;
}

/* Map what a vector's values lie in, in the place of another's. */
static GpucolStatus
map_vector(GpucolGpuRun *run, Reader *reader, uint32_t v)
{
	const GpucolChunkDesc *desc = reader->segment->chunks[reader->slot];
	uint32_t	left = run->source->max_window_rows;
	GpucolStatus status = GPUCOL_OK;
	uint32_t	row;
	uint32_t	n;

	if (reader->vector == v)
		return GPUCOL_OK;
	unmap(run, reader);
	for (int k = 0; k < GPUCOL_STREAM_COUNT && status == GPUCOL_OK; k++)
	{
		if (desc->streams[k].nrows == 0)
			continue;
		gpucol_decode_extent(desc, (GpucolStreamKind) k, v, 1, &row, &n);
		status = map(run, reader, (GpucolStreamKind) k, row, n, &left);
	}
	if (status == GPUCOL_OK && gpucol_decode_has_blocks(desc))
	{
		status = gpucol_decode_block_rows(&reader->decoder, v, &row, &n);
		if (status == GPUCOL_OK && n > 0)
			status = map(run, reader, gpucol_decode_block_stream(desc), row, n, &left);
	}
	reader->vector = v;
	return status;
}

/* Read the strings of output k of rows of a segment. */
static GpucolStatus
read_column(GpucolGpuRun *run, const GpucolSegment *segment, int k, const Place *places, uint64_t n)
{
	Reader		reader = {.segment = segment,.slot = late_slot(run, k),.vector = -1};
	const GpucolChunkDesc *desc = segment->chunks[reader.slot];
	GpucolStatus status = GPUCOL_OK;

	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return GPUCOL_OK;
	if (desc->coding != GPUCOL_CODING_RAW && desc->coding != GPUCOL_CODING_DICT &&
		desc->coding != GPUCOL_CODING_CONSTANT)
		return GPUCOL_UNSUPPORTED;
	gpucol_decode_init(&reader.decoder, desc, segment->nrows, &run->late.memory);
	for (uint64_t i = 0; i < n && status == GPUCOL_OK; i++)
	{
		uint32_t	row = (uint32_t) places[i].row;
		GpucolBytes value;
		bool		null;

		if (run->answer.nulls[k][places[i].number])
			continue;
		if (i % CHECKED_ROWS == 0)
			status = check(run);
		if (status == GPUCOL_OK)
			status = map_vector(run, &reader, row / GPUCOL_VECTOR_VALUES);
		if (status == GPUCOL_OK)
			status = gpucol_decode_get_bytes(&reader.decoder, row, &value, &null);
		if (status == GPUCOL_OK)
			status = null ? GPUCOL_UNSUPPORTED : put_string(run, k, places[i].number, &value);
	}
	unmap(run, &reader);
	gpucol_decode_free(&reader.decoder);
	return status;
}

/* Read the strings of rows of segments, from places[] on; *i becomes the first row of none. */
static GpucolStatus
read_segments(GpucolGpuRun *run, const Place *places, uint64_t *i)
{
	uint64_t	n = run->answer.result.nrows;
	GpucolSegment segment;
	GpucolStatus status = GPUCOL_OK;
	uint32_t	number = 0;

	run->source->ops->rescan(run->source);
	for (; number < run->manifest->nsegments && *i < n && status == GPUCOL_OK; number++)
	{
		uint64_t	end = *i;

		status = run->source->ops->next_segment(run->source, &segment);
		if (status != GPUCOL_OK || segment.id != run->manifest->segments[number].id ||
			segment.nrows != run->manifest->segments[number].nrows)
			return status == GPUCOL_OK || status == GPUCOL_END ? GPUCOL_UNSUPPORTED : status;
		while (end < n && places[end].row >> 32 == number)
			end++;
		for (int k = 0; k < run->answer.noutputs && *i < end && status == GPUCOL_OK; k++)
			if (late_slot(run, k) >= 0)
				status = read_column(run, &segment, k, places + *i, end - *i);
		*i = end;
	}
	return status;
}

/* ---- delta rows ---- */

/* Read the strings of delta rows, from places[i] on. */
static GpucolStatus
read_delta(GpucolGpuRun *run, const Place *places, uint64_t i)
{
	uint64_t	n = run->answer.result.nrows;
	uint64_t	before = 0;
	GpucolSegment segment;
	GpucolDelta batch;
	GpucolStatus status;

	if (i == n || places[i].row >> 32 != run->manifest->nsegments)
		return GPUCOL_OK;
	status = run->source->ops->next_segment(run->source, &segment);
	if (status != GPUCOL_END)
		return status == GPUCOL_OK ? GPUCOL_UNSUPPORTED : status;
	for (; i < n && places[i].row >> 32 == run->manifest->nsegments; before += batch.nrows)
	{
		status = run->source->ops->next_delta(run->source, &batch);
		if (status != GPUCOL_OK)
			return status == GPUCOL_END ? GPUCOL_UNSUPPORTED : status;
		for (; i < n && places[i].row >> 32 == run->manifest->nsegments &&
			 (uint32_t) places[i].row < before + batch.nrows; i++)
			for (int k = 0; k < run->answer.noutputs; k++)
			{
				int			slot = late_slot(run, k);

				if (slot < 0 || run->answer.nulls[k][places[i].number])
					continue;
				status = put_string(run, k, places[i].number,
									&batch.columns[slot].bytes[(uint32_t) places[i].row - before]);
				if (status != GPUCOL_OK)
					return status;
			}
		status = check(run);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* ---- the result ---- */

/* Vectors that the rows lie in. */
static uint64_t
count_vectors(const Place *places, uint64_t n)
{
	uint64_t	vectors = 0;

	for (uint64_t i = 0; i < n; i++)
		vectors += i == 0 || places[i].row / GPUCOL_VECTOR_VALUES != places[i - 1].row / GPUCOL_VECTOR_VALUES;
	return vectors;
}

/* Make the dictionaries; *n: how many outputs are read. */
static GpucolStatus
make_dictionaries(GpucolGpuRun *run, int *n)
{
	*n = 0;
	for (int k = 0; k < run->answer.noutputs; k++)
	{
		int			slot = late_slot(run, k);

		if (slot < 0)
			continue;
		(*n)++;
		if (run->late.dictionaries[slot] == NULL &&
			(run->late.dictionaries[slot] = gpucol_gpu_dictionary_create()) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_late_read(GpucolGpuRun *run)
{
	uint64_t	n = run->answer.result.nrows;
	int			noutputs;
	uint64_t	i = 0;
	Place	   *places;
	GpucolStatus status = n == 0 ? GPUCOL_OK : make_dictionaries(run, &noutputs);

	if (n == 0 || status != GPUCOL_OK || noutputs == 0)
		return status;
	if (n > (uint64_t) MOST_STRINGS / (uint32_t) noutputs)
		return GPUCOL_UNSUPPORTED;
	status = check(run);
	if (status != GPUCOL_OK)
		return status;
	run->scratch = places = malloc(sizeof(Place) * n);
	if (places == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint64_t r = 0; r < n; r++)
		places[r] = (Place) {run->answer.rows[r], r};
	qsort(places, n, sizeof(Place), compare_places);
	status = count_vectors(places, n) * (uint64_t) noutputs > MOST_VECTORS ? GPUCOL_UNSUPPORTED :
		read_segments(run, places, &i);
	if (status == GPUCOL_OK)
		status = read_delta(run, places, i);
	free(places);
	run->scratch = NULL;
	return status;
}
