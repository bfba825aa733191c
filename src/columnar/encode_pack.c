/*-------------------------------------------------------------------------
 *
 * encode_pack.c
 *	  Values of fixed width, packed in the coding that was chosen.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_values.h"

#define N GPUCOL_VECTOR_VALUES

/*
 * Do zones of vectors exclude anything?  Yes if on average a vector spans less
 * than three quarters of the chunk's range.
 */
static bool
zones_pay(const GpucolChunkBuilder *b, const GpucolValueFacts *facts)
{
	double		range = (double) facts->zone.max - (double) facts->zone.min;
	double		sum = 0;

	if (b->nvectors < 2 || range <= 0)
		return false;
	for (uint32_t v = 0; v < b->nvectors; v++)
		if (facts->zones[v].max >= facts->zones[v].min)
			sum += (double) facts->zones[v].max - (double) facts->zones[v].min;
	return sum < 0.75 * range * b->nvectors;
}

/* Copy the last, partly filled vector of codes with zeros behind. */
static const uint32_t *
code_vector(const GpucolChunkBuilder *b, const uint32_t *codes, uint32_t v,
			uint32_t *tail)
{
	uint32_t	n = gpucol_chunk_vector_rows(b, v);

	if (n == N)
		return codes + (size_t) v * N;
	memcpy(tail, codes + (size_t) v * N, n * sizeof(uint32_t));
	memset(tail + n, 0, (N - n) * sizeof(uint32_t));
	return tail;
}

static void
pack_dict(const GpucolChunkBuilder *b, const GpucolValueFacts *facts, char *words)
{
	uint32_t	tail[N];

	memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_DICT), facts->dict,
		   facts->ndict * sizeof(int64_t));
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		gpucol_bitpack_pack32(b->desc.width, code_vector(b, facts->codes, v, tail),
							  words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
}

/* Runs on their way into RUN_ENDS and CODES. */
typedef struct RunWriter
{
	const GpucolChunkBuilder *b;
	uint32_t   *ends;
	char	   *words;
	uint32_t	n;				/* runs so far */
	int64_t    *pending;		/* N values */
} RunWriter;

/* Note a run's end; every N-th run, and the last, completes a packed vector. */
static void
put_run(RunWriter *w, int64_t value, uint32_t end)
{
	w->pending[w->n % N] = value;
	w->ends[w->n++] = end;
	if (w->n % N != 0 && end != w->b->nrows)
		return;
	gpucol_bitpack_pack_for(w->b->desc.width, w->pending, (w->n - 1) % N + 1,
							w->b->desc.reference, w->words);
	w->words += w->b->desc.width * GPUCOL_ROW_BYTES;
}

static GpucolStatus
pack_runs(const GpucolChunkBuilder *b, const GpucolValueFacts *facts, char *words)
{
	RunWriter	writer = {
		.b = b,
		.ends = gpucol_chunk_stream(b, GPUCOL_STREAM_RUN_ENDS),
		.words = words,
		.pending = gpucol_chunk_alloc(b, N * sizeof(int64_t)),
	};
	int64_t		value = facts->first;
	GpucolValueReader		reader;

	if (writer.pending == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		for (uint32_t i = 0; i < n; i++)
		{
			if (values[i] == value)
				continue;
			put_run(&writer, value, v * N + i);
			value = values[i];
		}
	}
	put_run(&writer, value, b->nrows);
	gpucol_chunk_free(b, writer.pending);
	return GPUCOL_OK;
}

/* Replace float patterns by their mantissas; `out` may be `values`. */
static const int64_t *
mantissas(const GpucolChunkBuilder *b, const int64_t *values, uint32_t n,
		  int64_t *out)
{
	double		power = gpucol_float_power10(b->desc.scale);

	for (uint32_t i = 0; i < n; i++)
		(void) mantissa(b->column->kind, values[i], power, &out[i]);
	return out;
}

/* Replace values by their distances from the least in steps; `out` may be `values`. */
static const int64_t *
steps(const GpucolDivisor *divisor, int64_t reference, const int64_t *values, uint32_t n,
	  int64_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (int64_t) divide(divisor, (uint64_t) values[i] - (uint64_t) reference);
	return out;
}

static void
pack_values(const GpucolChunkBuilder *b, const GpucolValueFacts *facts, char *words)
{
	bool		stepped = b->desc.coding == GPUCOL_CODING_STEP;
	GpucolValueReader		reader;

	gpucol_values_start(&reader, b, facts);
	for (uint32_t v = 0; v < b->nvectors; v++)
	{
		const int64_t *values = gpucol_values_read(&reader, v);
		uint32_t	n = gpucol_chunk_vector_rows(b, v);

		if (b->desc.coding == GPUCOL_CODING_SCALED)
			values = mantissas(b, values, n, reader.filled);
		else if (stepped)
			values = steps(&facts->divisor, b->desc.reference, values, n, reader.filled);
		gpucol_bitpack_pack_for(b->desc.width, values, n,
								stepped ? 0 : b->desc.reference, words);
		words += b->desc.width * GPUCOL_ROW_BYTES;
	}
}

GpucolStatus
gpucol_values_pack(GpucolChunkBuilder *b, const GpucolValueFacts *facts)
{
	bool		zones = zones_pay(b, facts);
	uint64_t	coded = b->desc.coding == GPUCOL_CODING_RLE ?
		GPUCOL_VECTORS((uint64_t) facts->runs) : b->nvectors;
	uint64_t	sizes[GPUCOL_STREAM_COUNT] = {0};
	char	   *words;
	GpucolStatus status;

	sizes[GPUCOL_STREAM_CODES] = packed_bytes(coded, b->desc.width);
	sizes[GPUCOL_STREAM_ZONES] = zones ? b->nvectors * sizeof(GpucolZone) : 0;
	sizes[GPUCOL_STREAM_DICT] = (uint64_t) b->desc.ndict * sizeof(int64_t);
	sizes[GPUCOL_STREAM_RUN_ENDS] = (uint64_t) b->desc.nruns * sizeof(uint32_t);
	status = gpucol_chunk_layout(b, sizes);
	if (status != GPUCOL_OK)
		return status;
	b->desc.zone = facts->zone;
	b->desc.flags |= GPUCOL_CHUNK_HAS_ZONE;
	if (zones)
		memcpy(gpucol_chunk_stream(b, GPUCOL_STREAM_ZONES), facts->zones,
			   b->nvectors * sizeof(GpucolZone));
	words = gpucol_chunk_stream(b, GPUCOL_STREAM_CODES);
	if (b->desc.coding == GPUCOL_CODING_DICT)
		pack_dict(b, facts, words);
	else if (b->desc.coding == GPUCOL_CODING_RLE)
		status = pack_runs(b, facts, words);
	else if (b->desc.width > 0)
		pack_values(b, facts, words);
	return status;
}
